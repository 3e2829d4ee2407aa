"""Extractive question answering: against transformers itself, on texts that are hard to point into, from an index."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import search
from search.bert import answer
from search.errors import InputError, ModelError
from tests.lab.bert.conftest import figures, named_checkpoint, save_reader, save_tiny, save_tiny_head

QUESTION = "what is in the water?"
TEXT = "Many people say that the key is in the water. The door is open, and the first lock is long."
NASTY = (
    "# Kéys \U0001f511\r\n\r\n| a | b |\r\n|---|---|\r\n| cafe\u0301 | \U0001f469\u200d\U0001f4bb |\r\n"
    "\x00\x1b[31mred\x07 \u202eevil\u2066 \u2028 漢字 שלום ﬁn \xa0 ½ Ⅷ İ ß \tend\r"
)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_reader(tmp_path_factory.mktemp("readers") / "bert"))


@pytest.fixture(scope="module")
def byte_reader(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One whose tokenizer works on bytes, as RoBERTa's: a character can be several tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    folder = save_reader(tmp_path_factory.mktemp("readers") / "roberta", kind="roberta")
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    entries = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(
        models.BPE({entry: i for i, entry in enumerate(entries)}, [], unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    return str(folder)


def check(found: Any, text: str) -> None:
    """What holds for every answer from one text."""
    shown = [*found.answers, *([found.nearest] if found.nearest else [])]
    for one in shown:
        assert text[one.start : one.end] == one.text != ""
        assert one.text.strip() == one.text
        assert one.start_logit + one.end_logit - one.null_score == pytest.approx(one.margin)
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        assert one.text.splitlines()[0].split("\u2028")[0].split("\x1c")[0] in lines[one.line_start - 1]
    spans = sorted((one.start, one.end) for one in found.answers)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert [one.margin for one in found.answers] == sorted(
        (one.margin for one in found.answers), reverse=True
    )


def logits_of(reader: str, question: str, text: str) -> tuple[Any, Any, Any]:
    """Encoding of one input, and its start and end logits, by transformers."""
    import torch
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(reader)
    model = AutoModelForQuestionAnswering.from_pretrained(reader).eval()
    made = tokenizer(question, text, return_tensors="pt", return_token_type_ids=True)
    with torch.no_grad():
        output = model(**{name: made[name] for name in ("input_ids", "attention_mask", "token_type_ids")})
    return made, output.start_logits[0].numpy(), output.end_logits[0].numpy()


@pytest.mark.parametrize("sure", [True, False])
def test_the_same_as_transformers_and_a_look_at_every_span(
    reader: str, sure: bool, tmp_path: Path
) -> None:
    """Greedily: the best span, then the best one that shares no token with a better one; equal texts count once."""
    reader = reader if sure else str(save_tiny_head(tmp_path, "answer", positions=128))
    made, start, end = logits_of(reader, QUESTION, TEXT)
    ours = [i for i, source in enumerate(made.sequence_ids(0)) if source == 1]
    spans = [(start[i] + end[j], i, j) for i in ours for j in ours if i <= j < i + 30]
    apart: list[tuple[int, int]] = []
    expected: dict[str, tuple[int, int, float]] = {}
    for score, i, j in sorted(spans, key=lambda one: (-one[0], one[2] - one[1], one[1])):
        over = score - start[0] - end[0]
        if over >= 0 and all(j < a or i > b for a, b in apart):
            apart.append((i, j))
            first, last = made.token_to_chars(i).start, made.token_to_chars(j).end
            expected.setdefault(TEXT[first:last].casefold(), (first, last, float(over)))
    assert expected
    found = answer(QUESTION, TEXT, model=reader, answers=200)
    assert [(one.start, one.end) for one in found.answers] == [one[:2] for one in expected.values()]
    for one, (first, last, over) in zip(found.answers, expected.values(), strict=True):
        assert one.text == TEXT[first:last]
        assert one.margin == pytest.approx(over, abs=1e-4)
        assert one.score == pytest.approx(1 / (1 + math.exp(-over)), abs=1e-5)
        i, j = made.char_to_token(0, first, 1), made.char_to_token(0, last - 1, 1)
        softmaxes = [
            np.exp(logits[k]) / np.exp(logits[[0, *ours]]).sum() for logits, k in ((start, i), (end, j))
        ]
        assert one.probability == pytest.approx(math.prod(softmaxes), rel=1e-4)
    few = answer(QUESTION, TEXT, model=reader, answers=1)
    assert (len(few.answers) + few.more, few.windows) == (len(found.answers), 1)
    check(found, TEXT)


def test_long_texts_in_windows(reader: str) -> None:
    lines = [f"{i} {TEXT}" for i in range(12)]
    found = answer(QUESTION, "\n".join(lines), model=reader, answers=50)
    assert found.windows > 3
    check(found, "\n".join(lines))
    best = found.answers[0]
    _, start, end = logits_of(reader, QUESTION, lines[0])
    assert best.margin > float(start[0] + end[0]) - 1000


@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(
    text=st.lists(
        st.sampled_from([*NASTY, "the key ", "\r\n", "a\u0301", "\U0001f469\u200d\U0001f4bb"]),
        max_size=90,
    ).map("".join)
)
@pytest.mark.parametrize("which", ["reader", "byte_reader"])
def test_answers_are_spans_of_any_text(text: str, which: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(which)
    if not text.strip():
        with pytest.raises(InputError, match="the text is empty"):
            answer("a key?", text, model=model)
        return
    found = answer("a key?", text, model=model, answers=9)
    check(found, text)


def test_nasty_texts(reader: str, byte_reader: str) -> None:
    for model in (reader, byte_reader):
        found = answer("a key?", NASTY * 4, model=model, answers=99)
        assert len(found.answers) + found.more > 4
        check(found, NASTY * 4)


def test_no_answer(reader: str, tmp_path: Path) -> None:
    found = answer(QUESTION, TEXT, model=str(save_reader(tmp_path, null=4.0)))
    assert (found.answers, found.passages) == ((), 1)
    assert found.nearest is not None and found.nearest.rank == 0 and found.nearest.margin < 0
    nothing = answer(QUESTION, "\x00", model=reader)
    assert (nothing.answers, nothing.nearest) == ((), None)


def test_bad_input(reader: str, tmp_path: Path) -> None:
    for given_, message in (
        ({"question": " "}, "the question is empty"),
        ({"text": "\n"}, "the text is empty"),
        ({"question": "key " * 200}, "leaves no room for the text"),
        ({"question": "key " * 90, "text": TEXT * 9}, "the question is too long: "),
        ({"model": ""}, "deepset/roberta-base-squad2"),
        ({"answers": 0}, "the minimum is 1"),
    ):
        with pytest.raises(InputError, match=message):
            answer(**{"question": QUESTION, "text": TEXT, "model": reader, **given_})  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="has no head for answer spans"):
        answer(QUESTION, TEXT, model=str(save_tiny(tmp_path / "plain", "bert")))


def test_a_damaged_model_is_no_oracle(tmp_path: Path) -> None:
    import torch
    from transformers import BertForQuestionAnswering

    folder = save_tiny_head(tmp_path / "nan", "answer")
    model = BertForQuestionAnswering.from_pretrained(folder)
    with torch.no_grad():
        model.qa_outputs.bias.fill_(float("nan"))
    model.save_pretrained(folder)
    with pytest.raises(ModelError, match="are NaN or infinite"):
        answer(QUESTION, TEXT, model=str(folder))


def test_probability_at_the_ends(reader: str) -> None:
    one = answer(QUESTION, TEXT, model=reader).answers[0]
    for start, probability in ((0.0, 0.5), (1e6, 1.0), (2.0, 1 / (1 + math.exp(-2)))):
        known = replace(one, start_logit=start, end_logit=0.0, null_score=0.0).score
        assert known == pytest.approx(probability)
    assert 0 <= replace(one, start_logit=-1e6).score < 1e-300


@pytest.fixture
def index(tmp_path: Path, tiny_model: Path) -> search.Index:
    folder = tmp_path / "texts"
    folder.mkdir()
    lines = "".join(f"line {i}: the key of door {i} is in the water\r\n" for i in range(12))
    (folder / "lines.txt").write_bytes(lines.encode())
    (folder / "keys.md").write_bytes(
        "# Keys\r\n\r\nThe cafe\u0301 key \U0001f511\r\nis in the water.\r\n".encode()
    )
    page = "<html><body>\n<h1>Keys</h1>\n\n<p>The key is\nin the <b>water</b></p>\n\n\n<p>The door is open</p>"
    (folder / "page.html").write_text(page, encoding="utf-8")
    (folder / "table.csv").write_text(
        "name,text\nfirst,the key is in the water\nsecond,a door\n", encoding="utf-8"
    )
    return search.Index.build(folder, model=str(tiny_model))


def test_answers_from_an_index(index: search.Index, reader: str) -> None:
    states: list[search.Progress] = []
    found = search.bert.ask(index, QUESTION, model=reader, k=30, answers=200, progress=states.append)
    hits = {hit.passage_id: hit for hit in index.query(QUESTION, k=30)}
    assert found.passages == len(hits)
    assert (states[-1].done, states[-1].total) == (found.passages, found.passages)
    kinds = set()
    for one in found.answers:
        assert one.hit is not None
        hit = hits[one.hit.passage_id]
        assert hit.start <= one.start < one.end <= hit.end
        assert hit.text[one.start - hit.start : one.end - hit.start] == one.text
        assert hit.line_start <= one.line_start <= one.line_end <= hit.line_end
        source = Path(one.path).read_text(encoding="utf-8").split("\n")
        stretch = "\n".join(source[one.line_start - 1 : one.line_end])
        first, last = one.text.split()[0], one.text.split()[-1]
        if hit.kind != "html":  # a page's lines are those of the passage
            assert first in source[one.line_start - 1], (one.text, one.path, one.line_start)
            assert last in stretch.split("\n")[-1]
        kinds.add(Path(one.path).suffix)
        assert one.hit == hit
    assert kinds == {".txt", ".md", ".html", ".csv"}


def test_nothing_to_read_has_no_answer(index: search.Index, reader: str) -> None:
    nowhere = search.bert.ask(index, QUESTION, model=reader, where="path:gone.md")
    assert (nowhere.passages, nowhere.answers, nowhere.nearest) == (0, (), None)


def test_the_published_example() -> None:
    """p(start) p(end) is the score of transformers' former pipeline."""
    model, expected = named_checkpoint("roberta-base-squad2"), figures()["question_answering"]
    found = answer(expected["question"], expected["context"], model=model)
    one = found.answers[0]
    assert (one.text, one.start, one.end) == (expected["answer"], expected["start"], expected["end"])
    assert one.probability == pytest.approx(expected["score"], abs=1e-3)
