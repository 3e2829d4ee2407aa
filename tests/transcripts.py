"""Compare what the pages show with what the command prints.

    python tests/transcripts.py [--write] [PAGE...]

A transcript is a fenced block with lines `$ seewhy ...`, each followed by what it prints; a line of `…` alone stands
for lines that are left out. Each is run again, from the repository, 80 columns wide, on an index of pages 01 to 28 of
the handbook: no page with transcripts of an index is in it, so writing them changes no score. The question of the
README is asked of an index of the household. Digits, bars, percentiles and the sign of what is rounding may differ, all
else is compared. `--write` puts in what is printed now. What cannot be run here is listed. `~/` is an empty folder, but
for `~/tiny-bert`, a checkpoint whose weights were drawn at random, and the checkpoints of `BY_HAND`, whose weights say
what each word is.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from difflib import SequenceMatcher, ndiff
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from markdown_it import MarkdownIt

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = [REPOSITORY / "README.md", *sorted(REPOSITORY.glob("docs/*.md"))]
PAGES += sorted(REPOSITORY.glob("corpora/handbook/*.md"))
HOUSEHOLD = "seewhy index corpora/household"
_OF_HOUSEHOLD = "the deposit back"  # in the commands that ask an index of the household instead
WITH_TOKEN_VECTORS = f"{HOUSEHOLD} --token-vectors"
_OF_TOKEN_VECTORS = (WITH_TOKEN_VECTORS, "--word light")  # in the commands that ask this index
_OF_A_FOLDER = "tax return"  # in the commands that ask a folder that was never indexed
INDEX = "seewhy index corpora/handbook --include '[01]*.md' --include '2[0-8]*.md'"
# What a command cannot be run here for, by what it names.
LEFT_OUT = {
    "papers": "made-up documents",
    **dict.fromkeys(("entities.conll", "--modules"), "what versions of PyTorch print otherwise"),
    "index notes": "made-up notes",
    "how often are keys": "a damaged index of made-up notes",
    "judged.csv": "judgements of the reader's",
    "topic": "an index of pages 01 to 42",
    **dict.fromkeys(("stsb_train.tsv", "tweets", "wnut17", "xquad"), "data that are not at hand"),
}
# Heads whose answers are plain: class of transformers, names of the classes or logits, and the entries of the
# vocabulary with their weights for them. All other entries have the last class alone.
Weights = dict[str, dict[str, float]]
BY_HAND: dict[str, tuple[str, tuple[str, ...], Weights]] = {
    "tiny-ner": (
        "TokenClassification",
        ("B-PER", "I-PER", "B-LOC", "I-LOC", "O"),
        {
            "sin": {"B-PER": 1.0},
            "##an": {"I-PER": 0.8, "B-PER": 0.5},
            "me": {"I-PER": 0.9, "O": 0.3},
            "##hdi": {"B-LOC": 0.7, "I-PER": 0.6},
            "calgary": {"B-LOC": 1.0},
        },
    ),
    "tiny-pos": (
        "TokenClassification",
        ("NOUN", "PROPN", "VERB", "ADP", "DET", "PUNCT", "X"),
        {
            "sin": {"PROPN": 0.9, "NOUN": 0.4},
            "##an": {"NOUN": 0.7, "PROPN": 0.6},
            "repairs": {"VERB": 0.9, "NOUN": 0.5},
            "the": {"DET": 1.0},
            "snow": {"NOUN": 1.0},
            "##board": {"VERB": 0.7, "NOUN": 0.6},
            "in": {"ADP": 1.0},
            "calgary": {"PROPN": 1.0},
            ".": {"PUNCT": 1.0},
        },
    ),
    "tiny-classifier": ("SequenceClassification", ("positive", "negative", "neutral"), {}),
    "tiny-reader": (
        "QuestionAnswering",
        ("start", "end", "other"),
        {
            "14": {"start": 1.0},
            "16": {"start": 0.9, "other": 0.4},
            "95": {"start": 0.8, "other": 0.6},
            "until": {"start": 0.6, "other": 0.8},
            "30": {"end": 1.0},
            "00": {"end": 0.9, "other": 0.4},
            "euros": {"end": 0.7, "other": 0.7},
            "friday": {"end": 0.5, "other": 0.8},
        },
    ),
}
_PROMPT = re.compile(r"\$ (?:\.venv/bin/)?(?=seewhy )")
_ROUNDING = re.compile(r"([+-] ?)?\d+\.\d+e[+-]\d+")
_SHARE = re.compile(r"\d[\d.]* %|(?<=closer than )any of [\d,]+(?= random)")
_TIME = re.compile(r"(?:\d+ h )?\d+ min(?: \d+ s)?")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(\.\d+)?")
_BAR = re.compile(r"[█▓▒░·]+ *")


@dataclass(frozen=True)
class Transcript:
    """A block of a page: its lines, which begin at the line `start` of the page, counted from 0."""

    page: Path
    start: int
    lines: list[str]

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(REPOSITORY).as_posix()}:{self.start + 1}"

    @property
    def steps(self) -> Iterator[tuple[str, list[str]]]:
        """Each line with a command, and the lines that it prints."""
        starts = [n for n, line in enumerate(self.lines) if line.startswith("$ ")]
        for start, end in zip(starts, [*starts[1:], len(self.lines)], strict=True):
            yield self.lines[start], self.lines[start + 1 : end]

    @property
    def left_out(self) -> str:
        """Reason why it cannot be run here; empty if it can."""
        if not any(output for _, output in self.steps):
            return "shows no output"
        commands = "\n".join(line for line, _ in self.steps)
        return next((why for name, why in LEFT_OUT.items() if name in commands), "")


def transcripts(page: Path) -> list[Transcript]:
    """The transcripts of a page."""
    fences = [
        token for token in MarkdownIt().parse(page.read_text(encoding="utf-8")) if token.type == "fence"
    ]
    blocks = [(token.map[0] + 1, token.content.splitlines()) for token in fences if token.map]
    return [Transcript(page, *block) for block in blocks if any(map(_PROMPT.match, block[1]))]


@contextmanager
def terminal(source: Path | None = None) -> Iterator[Callable[[str], list[str]]]:
    """Yield a function: command to the lines that it prints, in a data folder with the index of the handbook.

    Args:
        source: such a data folder, which is copied; without it the index is made.
    """
    before = Path.cwd()
    with TemporaryDirectory(prefix="seewhy-") as folder, patch.dict(os.environ):
        home = str(Path(folder).resolve())
        for name in ("SEEWHY_INDEX", "SEEWHY_UPDATE", "FORCE_COLOR"):
            os.environ.pop(name, None)
        config = str(Path(home) / "config.toml")
        os.environ |= {
            "SEEWHY_HOME": home,
            "SEEWHY_CONFIG": config,
            "COLUMNS": "80",
            "HF_HUB_OFFLINE": "1",
        }
        try:
            os.chdir(REPOSITORY)
            index_output = Path(home, "indexed.txt")
            if source:
                shutil.copytree(source, home, dirs_exist_ok=True)
            else:
                index_output.write_text("\n".join(_output_of(INDEX, home)), encoding="utf-8")
            lines = index_output.read_text(encoding="utf-8").split("\n")
            yield lambda command: lines if command == INDEX else _output_of(command, home)
        finally:
            os.chdir(before)


def _output_of(command: str, home: str) -> list[str]:
    from search.cli.app import main

    if _OF_HOUSEHOLD in command and Path(home).name != "household":
        household = Path(home, "household")
        with patch.dict(os.environ, {"SEEWHY_HOME": str(household)}):
            if not household.is_dir():
                _output_of(HOUSEHOLD, str(household))
            return _output_of(command, str(household))
    if any(part in command for part in _OF_TOKEN_VECTORS) and Path(home).name != "tokens":
        tokens = Path(home, "tokens")
        with patch.dict(os.environ, {"SEEWHY_HOME": str(tokens)}):
            if not tokens.is_dir() and command != WITH_TOKEN_VECTORS:
                _output_of(WITH_TOKEN_VECTORS, str(tokens))
            return _output_of(command, str(tokens))
    if _OF_A_FOLDER in command and Path(home).name != "folder":
        folder = Path(
            home, "folder"
        )  # a data folder without an index, as other commands choose the only one
        with patch.dict(os.environ, {"SEEWHY_HOME": str(folder)}):
            return _output_of(command, str(folder))
    if "~/tiny-bert" in command:
        save_random_bert(Path(home, "tiny-bert"))
    for name in BY_HAND:
        if f"~/{name}" in command:
            save_by_hand(Path(home, name), *BY_HAND[name])
    command = command.replace("~/", home.replace("\\", "/") + "/")
    screen = io.StringIO()
    with (
        patch("sys.argv", shlex.split(command)),
        patch("search.encoding.engines._may_have_gpu", lambda: False),
        redirect_stdout(screen),
        redirect_stderr(screen),
        suppress(SystemExit),
    ):
        main()
    text = screen.getvalue()
    for folder in (home, str(REPOSITORY)):  # a long path goes on in the next line
        text = re.sub(r"(?:\n +)?".join(map(re.escape, folder + os.sep)), "…/", text)
    return [line.rstrip() for line in text.rstrip().splitlines()]


def save_random_bert(folder: Path) -> None:
    """Save the model of page 52: BERT with both heads, the vocabulary of the default model, random weights."""
    import torch
    from transformers import BertConfig, BertForPreTraining
    from transformers.utils import logging

    from search.encoding.models import find_model

    logging.disable_progress_bar()
    torch.manual_seed(0)
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    BertForPreTraining(BertConfig(hidden_size=16, **sizes)).save_pretrained(folder)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(find_model(offline=True).folder / file, folder)


def save_by_hand(folder: Path, head: str, names: tuple[str, ...], weights: Weights) -> None:
    """Save a BERT with a head, whose logits are weights of the token, normalised: its layer passes them on as they are.

    Args:
        head: end of transformers' class, such as "TokenClassification".
        names: the classes of tokens; for "QuestionAnswering" the logits and a last name for other tokens.
        weights: entry of the default model's vocabulary -> name -> weight.
    """
    import torch
    import transformers
    from tokenizers import Tokenizer

    from search.encoding.models import find_model

    source = find_model(offline=True).folder
    vocabulary = Tokenizer.from_file(str(source / "tokenizer.json")).get_vocab()
    transformers.utils.logging.disable_progress_bar()
    config = transformers.BertConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    if head != "QuestionAnswering":
        config.id2label = dict(enumerate(names))
        config.label2id = {name: number for number, name in enumerate(names)}
    model = getattr(transformers, f"BertFor{head}")(config)
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            tensor.fill_(1.0 if name.endswith("LayerNorm.weight") else 0.0)
        table = model.bert.embeddings.word_embeddings.weight
        table[:, len(names) - 1] = 1.0
        for entry, of_entry in weights.items():
            table[vocabulary[entry]] = torch.tensor(
                [of_entry.get(name, 0.0) for name in names] + [0.0] * (16 - len(names))
            )
        if head == "SequenceClassification":
            model.bert.pooler.dense.weight.copy_(torch.eye(16))
        output = model.qa_outputs if head == "QuestionAnswering" else model.classifier
        output.weight.copy_(torch.eye(16)[: output.out_features])
    model.save_pretrained(folder)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(source / file, folder)


def rerun(transcript: Transcript, run: Callable[[str], list[str]]) -> list[str]:
    """The lines of a transcript as the commands print them now."""
    Path(os.environ["SEEWHY_CONFIG"]).unlink(missing_ok=True)
    lines = []
    for prompt, excerpt in transcript.steps:
        output = run(_PROMPT.sub("", prompt))
        lines += [prompt, *(_shorten(output, excerpt) or _excerpts(output, excerpt))]
    return lines


def _shorten(output: list[str], excerpt: list[str]) -> list[str] | None:
    """The output without what an excerpt of it leaves out; None if the excerpt is of something else."""
    if not excerpt:
        return None if output else []
    if excerpt[0] == "…":
        # It may end at several lines, as rows of a table have one pattern: first at the line most like the next one.
        after = "".join(excerpt[1:2])
        starts = sorted(
            range(len(output) + 1), key=lambda n: -_similarity("".join(output[n : n + 1]), after)
        )
        ends = (_shorten(output[n:], excerpt[1:]) for n in starts)
        return next((["…", *end] for end in ends if end is not None), None)
    if not output or pattern(output[0]) != pattern(excerpt[0]):
        return None
    end = _shorten(output[1:], excerpt[1:])
    return None if end is None else [output[0], *end]


def _excerpts(output: list[str], excerpt: list[str]) -> list[str]:
    """For each run of lines between "…" in an excerpt, as many lines of the output, where they are most alike."""
    lines: list[str] = []
    segments = [list(group) for is_line, group in groupby(excerpt, lambda line: line != "…") if is_line]
    if "…" not in excerpt or not segments:
        return output
    start = 0
    for segment in segments:
        places = range(start, max(start, len(output) - len(segment)) + 1)
        best = max(
            places, key=lambda n: _similarity("\n".join(output[n : n + len(segment)]), "\n".join(segment))
        )
        lines += ["…"] * (best > start) + output[best : best + len(segment)]
        start = best + len(segment)
    return lines + ["…"] * (start < len(output))


def _similarity(text: str, other: str) -> float:
    return SequenceMatcher(None, text, other).ratio()


def pattern(line: str) -> str:
    """A line without what differs from machine to machine, and what a small change of another page changes."""
    line = _BAR.sub("█", _ROUNDING.sub("0e-0", _SHARE.sub("0 %", _TIME.sub("0.0 s", line))))
    return _NUMBER.sub(lambda number: "0" + re.sub(r"\d", "0", number[1] or "")[:9], line)


def differences(transcript: Transcript, lines: list[str]) -> list[str]:
    """Lines in which a transcript differs from those that it should have; empty if it does not."""
    if [pattern(line) for line in transcript.lines] == [pattern(line) for line in lines]:
        return []
    return [line for line in ndiff(transcript.lines, lines) if not line.startswith("?")]


def write(page: Path, blocks: list[tuple[Transcript, list[str]]]) -> None:
    """Put new lines in place of transcripts of a page."""
    text = page.read_text(encoding="utf-8").split("\n")
    for block, lines in sorted(blocks, key=lambda pair: -pair[0].start):
        text[block.start : block.start + len(block.lines)] = lines
    page.write_text("\n".join(text), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="*", type=lambda name: Path(name).resolve(), default=PAGES)
    parser.add_argument("--write", action="store_true", help="put in what is printed now")
    arguments = parser.parse_args()
    wrong = 0
    with terminal() as run:
        for page in arguments.pages:
            blocks = []
            for transcript in transcripts(page):
                if transcript.left_out:
                    print(f"{transcript.place}  left out: {transcript.left_out}")
                    continue
                lines = rerun(transcript, run)
                blocks.append((transcript, lines))
                findings = differences(transcript, lines)
                wrong += bool(findings)
                print(
                    f"{transcript.place}  {'differs' if findings else 'as printed'}",
                    *findings,
                    sep="\n  ",
                )
            if arguments.write:
                write(page, blocks)
    return int(bool(wrong) and not arguments.write)


if __name__ == "__main__":
    sys.exit(main())
