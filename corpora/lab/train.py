"""Train small task heads on the default model, offline, so that every command of `seewhy lab` can be tried.

    python corpora/lab/train.py [HEAD ...]        (make lab)

| head | for | learns from |
|---|---|---|
| masks | fill | sentences of the handbook, the household, and the three sets below |
| order | next | neighbouring sentences of the handbook, the household and the notes, and as many pairs from two texts |
| topics | label apply | topics.csv: 600 sentences of six topics |
| entities | tag | entities.conll: 400 sentences, 70 of them without a person, place or organisation |
| answers | ask | questions.json: 425 questions about 75 short notes, which do not answer 150 of them |

The heads are saved in the cache, in the folder `lab`, where the commands look for them if no --model is given. Printed
are their metrics on rows, or documents, that were held out. How often a head is right is stored with it, in
training.json; the commands print it under each answer.

All takes less than ten minutes of processor time. Three things save most of it: the embeddings are frozen, texts in a
batch have a similar length, and there is no dropout. Layers are frozen only where a head has enough of the others: an
epoch is shorter then, but masked words and answers are learned more slowly, second for second.
"""

from __future__ import annotations

import argparse
import csv
import json
import logging
import random
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import compress, pairwise
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence
from transformers import (
    AutoTokenizer,
    BertForMaskedLM,
    BertForNextSentencePrediction,
    BertForQuestionAnswering,
    get_linear_schedule_with_warmup,
)

from search import bert
from search.encoding.models import DEFAULT_MODEL, find_model
from search.evaluating.formats import read_questions
from search.files import cache_folder
from search.lab.bert.checkpoint import TRAINING
from search.lab.evaluating.formats import Sentence, read_conll, read_examples
from search.lab.evaluating.metrics import answer_values
from search.lab.evaluating.readers import best_answer
from search.lab.records.training import HeldOut

HERE = Path(__file__).parent
LONGEST, BATCH, MASKED, IGNORED = 64, 16, 0.15, -100
MASKINGS = 3  # of each held-out text
Pair = tuple[str, str, int]  # two sentences, and 0 if the second follows the first


class Example(NamedTuple):
    """Tokens of a text or a pair with their segments, and the targets of a head."""

    ids: list[int]
    segments: list[int]
    target: Any


def main() -> None:
    heads = {
        "masks": masks,
        "order": order,
        "topics": topics,
        "entities": entities,
        "answers": answers,
    }
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "heads", nargs="*", metavar="HEAD", help=f"any of {', '.join(heads)}; all by default"
    )
    names = parser.parse_args().heads or list(heads)
    if unknown := set(names) - heads.keys():
        parser.error(f"unknown head {', '.join(sorted(unknown))}. Choose from {', '.join(heads)}.")
    # Warnings about new heads, which this script trains.
    logging.getLogger("transformers").setLevel(logging.ERROR)
    # On a busy machine, two threads wait for each other with a processor each: up to seven times the time.
    torch.set_num_threads(1)
    folder = cache_folder("lab")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        report(name, heads[name], folder)
    print(f"Saved in {folder}. Processor time: {time.process_time():.0f} s")


def report(name: str, train: Callable[[Path], str], folder: Path) -> None:
    """Train a head in a new folder, print its metrics, and put it into the place of an older one."""
    started, new = time.process_time(), folder / f"{name}.new"
    shutil.rmtree(new, ignore_errors=True)
    metrics = train(new)
    shutil.rmtree(folder / name, ignore_errors=True)
    new.rename(folder / name)
    print(f"{name:9} {metrics} ({time.process_time() - started:.0f} s)", flush=True)


# Texts


def sentences_of(text: str) -> list[str]:
    """Split prose into sentences at a full stop and a capital letter."""
    return [sentence.strip() for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])", text)]


def prose(folder: str) -> list[list[str]]:
    """Return the sentences of each text of a folder of corpora."""
    texts = []
    files = [
        path
        for path in sorted((HERE.parent / folder).rglob("*"))
        if path.suffix in (".md", ".txt", ".eml")
    ]
    for path in files:
        text = re.sub(r"(?s)\A---.*?\n---|```.*?```|~~~.*?~~~", " ", path.read_text(encoding="utf-8"))
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
        blocks = (" ".join(block.split()) for block in re.split(r"\n\s*\n", text))
        paragraphs = (block for block in blocks if block[:1].isalpha() and block.count("|") < 2)
        sentences = [sentence for block in paragraphs for sentence in sentences_of(block)]
        texts.append([sentence for sentence in sentences if len(sentence.split()) >= 4])
    return texts


def documents() -> list[list[str]]:
    """Return the sentences of each text of the handbook and the household, and of each note of questions.json."""
    texts = [*prose("handbook"), *prose("household"), *(sentences_of(note[0].text) for note in notes())]
    return [sentences for sentences in texts if len(sentences) > 1]


def divided(rows: Sequence[Any], parts: int) -> tuple[list[Any], list[Any]]:
    """Hold out one of so many parts of the rows, at random but always the same; return the others and this part."""
    shuffled = random.Random(0).sample(rows, len(rows))
    return shuffled[len(rows) // parts :], shuffled[: len(rows) // parts]


# Training


def pretrained(kind: Any) -> tuple[Any, Any]:
    """Return the default model with a new head, without dropout, and its tokenizer."""
    torch.manual_seed(0)
    source = find_model(DEFAULT_MODEL, offline=True).folder
    model = kind.from_pretrained(source, local_files_only=True)
    return model.eval(), AutoTokenizer.from_pretrained(source, local_files_only=True)


def padded(rows: Sequence[Example]) -> dict[str, torch.Tensor]:
    """Return a batch of examples: three (examples, longest) arrays."""
    columns = {
        "input_ids": [row.ids for row in rows],
        "token_type_ids": [row.segments for row in rows],
        "attention_mask": [[1] * len(row.ids) for row in rows],
    }
    return {
        name: pad_sequence([torch.tensor(row) for row in some], True) for name, some in columns.items()
    }


def by_length(rows: Sequence[Example], chance: random.Random) -> list[list[int]]:
    """Return the numbers of the examples in batches of similar length, in random order."""
    numbers = sorted(range(len(rows)), key=lambda i: len(rows[i].ids) + chance.uniform(-3, 3))
    groups = [numbers[i : i + BATCH] for i in range(0, len(numbers), BATCH)]
    chance.shuffle(groups)
    return groups


def fit(
    model: Any,
    epochs: Sequence[Sequence[Example]],
    loss_of: Callable[[dict[str, torch.Tensor], list[Any]], torch.Tensor],
    *,
    rate: float,
    head_rate: float,
    frozen: int = 0,
) -> None:
    """Train a model and its head on the examples of each epoch; the embeddings and the first layers are frozen.

    The learning rates, `head_rate` for the head, rise for a tenth of the steps, then fall.

    Args:
        frozen: number of frozen layers.
    """
    model.bert.embeddings.requires_grad_(False)
    model.bert.encoder.layer[:frozen].requires_grad_(False)
    layers = list(model.bert.encoder.layer[frozen:].parameters())
    head = [
        parameter
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and not name.startswith("bert.encoder")
    ]
    groups = [{"params": layers, "lr": rate}, {"params": head, "lr": head_rate}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01, fused=True)
    steps = sum(-(-len(rows) // BATCH) for rows in epochs)
    schedule = get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
    chance = random.Random(0)
    for number, rows in enumerate(epochs, 1):
        losses = []
        for numbers in by_length(rows, chance):
            some = [rows[i] for i in numbers]
            loss = loss_of(padded(some), [row.target for row in some])
            loss.backward()
            torch.nn.utils.clip_grad_norm_([*layers, *head], 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            losses.append(loss.item())
        print(f"  epoch {number}: mean training loss {mean(losses):.3f}", flush=True)


def save(model: Any, tokenizer: Any, out: Path, task: str, held_out: HeldOut) -> None:
    """Save a head with how often it is right, of how many held-out examples, with the 95 % interval."""
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    figures: dict[str, Any] = {
        "right": held_out.right,
        "total": held_out.total,
        "interval": held_out.interval,
    }
    if held_out.unanswerable:
        figures |= {"unanswerable": held_out.unanswerable, "refused": held_out.refused}
    (out / TRAINING).write_text(json.dumps({"held_out": {task: figures}}, indent=2), encoding="utf-8")


def share(held_out: HeldOut) -> str:
    """Return the share of right predictions with its 95 % interval."""
    low, high = held_out.interval
    return f"{held_out.right / held_out.total:.3f} ({low:.3f} to {high:.3f}) of {held_out.total:,} {held_out.unit}"


# Masked words


def masks(out: Path, epochs: int = 3) -> str:
    """Train the head for masked words (Devlin et al. 2018, 3.1)."""
    model, tokenizer = pretrained(BertForMaskedLM)
    texts, test = divided(documents(), 7)
    tables = [example.text or "" for example in read_examples(HERE / "topics.csv")]
    words = [sentence.text for sentence in read_conll(HERE / "entities.conll")]
    pieces = chunks([*texts, tables, words], tokenizer)
    counts = Counter(token for piece in pieces for token in piece)
    # A new head begins as a table of frequencies: without it, the first epoch learns little else.
    model.cls.predictions.bias.data = (
        torch.tensor([counts[i] + 0.1 for i in range(len(tokenizer))]).div(counts.total()).log()
    )
    chance = random.Random(0)

    def loss_of(batch: dict[str, torch.Tensor], targets: list[Any]) -> torch.Tensor:
        labels = pad_sequence([torch.tensor(row) for row in targets], True, IGNORED)
        return cross_entropy(*predicted(model, batch, labels))

    sets = [masked(pieces, tokenizer, chance) for _ in range(epochs)]
    fit(model, sets, loss_of, rate=4e-4, head_rate=1e-3)
    return measured_masks(model, tokenizer, test, out)


def chunks(texts: Iterable[list[str]], tokenizer: Any) -> list[list[int]]:
    """Return the tokens of the texts in pieces of whole sentences; only longer sentences are cut."""
    pieces = []
    for sentences in texts:
        piece: list[int] = []
        for sentence in sentences:
            ids = tokenizer(sentence, add_special_tokens=False)["input_ids"][: LONGEST - 2]
            if len(piece) + len(ids) > LONGEST - 2:
                pieces.append(piece)
                piece = []
            piece = piece + ids
        pieces.append(piece)
    return pieces


def masked(pieces: list[list[int]], tokenizer: Any, chance: random.Random) -> list[Example]:
    """Return the pieces with 15 % of their tokens to predict: 80 % of them masked, 10 % replaced."""
    rows = []
    for piece in pieces:
        ids, targets = [*piece], [IGNORED] * len(piece)
        for i in (i for i in range(len(piece)) if chance.random() < MASKED):
            targets[i], how = piece[i], chance.random()
            if how < 0.8:
                ids[i] = tokenizer.mask_token_id
            elif how < 0.9:
                ids[i] = chance.randrange(len(tokenizer))
        ids = [tokenizer.cls_token_id, *ids, tokenizer.sep_token_id]
        rows.append(Example(ids, [0] * len(ids), [IGNORED, *targets, IGNORED]))
    return rows


def predicted(model: Any, batch: dict[str, torch.Tensor], labels: torch.Tensor) -> tuple[Any, Any]:
    """Return logits and tokens at the masked places alone."""
    at = labels != IGNORED
    return model.cls.predictions(model.bert(**batch).last_hidden_state[at]), labels[at]


def measured_masks(model: Any, tokenizer: Any, texts: list[list[str]], out: Path) -> str:
    """Count the predicted tokens of held-out documents in several maskings; save the head with the figure."""
    rows = masked(chunks(texts, tokenizer) * MASKINGS, tokenizer, random.Random(1))
    right = near = total = 0
    for numbers in by_length(rows, random.Random(0)):
        some = [rows[i] for i in numbers]
        labels = pad_sequence([torch.tensor(row.target) for row in some], True, IGNORED)
        with torch.inference_mode():
            logits, truth = predicted(model, padded(some), labels)
        best = logits.topk(5).indices
        right += int((best[:, 0] == truth).sum())
        near += int((best == truth[:, None]).sum())
        total += len(truth)
    held_out = HeldOut(right, total, "masked tokens")
    save(model, tokenizer, out, "fill", held_out)
    return f"right for {share(held_out)}; among the first five {near / total:.3f}; {len(texts)} held-out documents"


# Order of sentences


def order(out: Path, epochs: int = 1) -> str:
    """Train the head for the next sentence (Devlin et al. 2018, 3.1), by itself.

    Trained together with masked words, as BERT was, a model this small on so few texts only guesses.
    """
    model, tokenizer = pretrained(BertForNextSentencePrediction)
    texts, test = divided(documents(), 7)
    chance = random.Random(0)

    def loss_of(batch: dict[str, torch.Tensor], targets: list[Any]) -> torch.Tensor:
        return cross_entropy(model(**batch).logits, torch.tensor(targets))

    sets = [joined_pairs(pairs_of(texts, chance), tokenizer) for _ in range(epochs)]
    fit(model, sets, loss_of, rate=2e-4, head_rate=5e-4, frozen=2)
    return measured_order(model, tokenizer, test, out)


def pairs_of(texts: list[list[str]], chance: random.Random) -> list[Pair]:
    """Return each sentence with the next one, and with a sentence of another document."""
    pairs = []
    for i, sentences in enumerate(texts):
        others = [j for j in range(len(texts)) if j != i]
        for first, second in pairwise(sentences):
            pairs.append((first, second, 0))
            pairs.append((first, chance.choice(texts[chance.choice(others)]), 1))
    return pairs


def joined_pairs(pairs: list[Pair], tokenizer: Any) -> list[Example]:
    """Return the tokens of pairs, cut to the same length."""
    rows = []
    for first, second, is_other in pairs:
        encoded = tokenizer(
            first, second, truncation=True, max_length=LONGEST, return_token_type_ids=True
        )
        rows.append(Example(encoded["input_ids"], encoded["token_type_ids"], is_other))
    return rows


def measured_order(model: Any, tokenizer: Any, texts: list[list[str]], out: Path) -> str:
    """Count the pairs of held-out documents that are told apart; save the head with the figure."""
    rows, right = joined_pairs(pairs_of(texts, random.Random(1)), tokenizer), 0
    for numbers in by_length(rows, random.Random(0)):
        some = [rows[i] for i in numbers]
        with torch.inference_mode():
            best = model(**padded(some)).logits.argmax(dim=1)
        right += int((best == torch.tensor([row.target for row in some])).sum())
    held_out = HeldOut(right, len(rows), "pairs of sentences")
    save(model, tokenizer, out, "next", held_out)
    return f"right for {share(held_out)}; {len(texts)} held-out documents"


# Topics and entities


def topics(out: Path) -> str:
    """Train the classifier of texts; a quarter of the sentences of each topic is held out."""
    by_topic: dict[str, list[str]] = {}
    for example in read_examples(HERE / "topics.csv"):
        by_topic.setdefault(example.label, []).append(example.text or "")
    parts: tuple[list[Any], list[Any]] = ([], [])
    for label, texts in by_topic.items():
        for part, some in zip(parts, divided(texts, 4), strict=True):
            part += [(label, text) for text in some]

    def write(path: Path, rows: list[Any]) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("label", "text"), *rows])

    return trained(bert.train_classifier, out, write, parts, epochs=5, freeze=3)


def entities(out: Path) -> str:
    """Train the tagger of entities."""

    def write(path: Path, rows: list[Sentence]) -> None:
        blocks = ("\n".join(map(" ".join, zip(row.words, row.labels, strict=True))) for row in rows)
        path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")

    return trained(bert.train_tagger, out, write, sentences_apart(), epochs=8, lr=2e-4)


def sentences_apart() -> tuple[list[Sentence], list[Sentence]]:
    """Hold out sentences with entities; each has a name that no sentence to learn from has, unless it has no name."""
    train, test = divided(read_conll(HERE / "entities.conll"), 4)
    seen = {name for sentence in train for name in names_of(sentence)}
    unseen = [not names_of(sentence) or bool(names_of(sentence) - seen) for sentence in test]
    return train + [row for row, new in zip(test, unseen, strict=True) if not new], list(
        compress(test, unseen)
    )


def names_of(sentence: Sentence) -> set[str]:
    """Return the names of a sentence: words from each label B- to the last I- after it."""
    names: list[list[str]] = []
    for word, label in zip(sentence.words, sentence.labels, strict=True):
        if label.startswith("B-"):
            names.append([])
        if label != "O":
            names[-1].append(word)
    return set(map(" ".join, names))


def trained(
    train: Any,
    out: Path,
    write: Callable[[Path, list[Any]], None],
    parts: tuple[list[Any], list[Any]],
    **options: Any,
) -> str:
    """Train a head by the library, on files in its format, and return its metrics."""
    work = out.with_suffix(".data")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    suffix = ".conll" if train is bert.train_tagger else ".csv"
    files = [work / f"{name}{suffix}" for name in ("train", "held-out")]
    for path, rows in zip(files, parts, strict=True):
        write(path, rows)
    done = train(files[0], out, dev=files[1], offline=True, **options)
    shutil.rmtree(work)
    metrics = (
        f"{name} {value.mean:.3f} ({value.low:.3f} to {value.high:.3f})"
        for name, value in done.after.items()
    )
    (held_out,) = done.held_out.values()
    return f"right for {share(held_out)}; {', '.join(metrics)}"


# Questions


class Question(NamedTuple):
    """A question about a text.

    Attributes:
        answer: the answer to learn; "" if the text has none.
        start: offset of the answer in the text.
        accepted: all answers that are right, such as "in March" and "March".
    """

    question: str
    text: str
    answer: str = ""
    start: int = 0
    accepted: tuple[str, ...] = ()


def notes() -> list[list[Question]]:
    """Return the questions of each note of questions.json."""
    questions, paragraphs = read_questions(HERE / "questions.json")
    by_note: dict[str, list[Question]] = {}
    for question in questions:
        row = Question(question.text, paragraphs.entries[question.paragraph].text)
        if question.answers:
            answers = tuple(question.answers)
            row = row._replace(answer=answers[0], start=question.starts[0], accepted=answers)
        by_note.setdefault(question.paragraph, []).append(row)
    return list(by_note.values())


def strangers(some: list[list[Question]], chance: random.Random, number: int) -> list[Question]:
    """Return for each note so many questions about other notes, which it does not answer."""
    rows = []
    for i, note in enumerate(some):
        for other in chance.sample([questions for j, questions in enumerate(some) if j != i], number):
            stranger = chance.choice([question for question in other if question.answer])
            rows.append(Question(stranger.question, note[0].text))
    return rows


def elsewhere(some: list[list[Question]], chance: random.Random) -> list[Question]:
    """Return for each note one of its questions about four sentences of the handbook, which do not answer it."""
    pages = [page for page in prose("handbook") if len(page) > 4]
    rows = []
    for note in some:
        page = chance.choice(pages)
        start = chance.randrange(len(page) - 4)
        own = chance.choice([question for question in note if question.answer])
        rows.append(Question(own.question, " ".join(page[start : start + 4])))
    return rows


def joined(some: list[list[Question]], chance: random.Random, size: int) -> list[list[Question]]:
    """Return longer texts, each of several notes in a row, with the questions of all of them."""
    texts = []
    shuffled = chance.sample(some, len(some))
    for group in (shuffled[i : i + size] for i in range(0, len(shuffled), size)):
        text, rows = "", []
        for note in group:
            text += " " * bool(text)
            rows += [(question, len(text)) for question in note]
            text += note[0].text
        texts.append([row._replace(text=text, start=row.start + before) for row, before in rows])
    return texts


def answers(out: Path) -> str:
    """Train a reader: at first on questions with an answer, then also on others, for which `[CLS]` is the target.

    With both from the start, a model this small learns to answer nothing. Notes alone take turns with pairs of them, in
    another order each time, so that an answer may be anywhere in a text.
    """
    model, tokenizer = pretrained(BertForQuestionAnswering)
    some, test = divided(notes(), 4)
    chance = random.Random(0)

    def loss_of(batch: dict[str, torch.Tensor], targets: list[Any]) -> torch.Tensor:
        begins, ends = torch.tensor(targets).T
        return model(**batch, start_positions=begins, end_positions=ends).loss

    def rows(size: int) -> list[Question]:
        return [row for text in joined(some, chance, size) for row in text]

    answered = [[row for row in rows(size) if row.answer] for size in (1, 2, 1, 2)]
    mixed = [
        [*rows(size), *strangers(some, chance, 1), *elsewhere(some, chance), *answered[0]]
        for size in (2, 1, 2)
    ]
    epochs = [encoded_questions(epoch, tokenizer) for epoch in (*answered, *mixed)]
    fit(model, epochs, loss_of, rate=3e-4, head_rate=1e-3)
    return measured_answers(model, tokenizer, [row for note in test for row in note], out)


def encoded_questions(rows: Sequence[Question], tokenizer: Any) -> list[Example]:
    """Return questions with their texts; targets are the positions of the first and the last token of the answer."""
    examples = []
    for row in rows:
        encoded = tokenizer(row.question, row.text)
        target = [0, 0]
        if row.answer:
            ends = (row.start, row.start + len(row.answer) - 1)
            target = [encoded.char_to_token(0, at, 1) for at in ends]
        examples.append(Example(encoded["input_ids"], encoded["token_type_ids"], target))
    return examples


def measured_answers(model: Any, tokenizer: Any, rows: Sequence[Question], out: Path) -> str:
    """Count the held-out questions that are answered rightly or rightly not answered; save the head with the sum."""
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    values = []
    for row in rows:
        best = bert.answer(row.question, row.text, model=str(out), answers=1, offline=True)
        values.append(answer_values(best_answer(best, False), row.accepted))
    exact, f1 = ([row[name] for row in values] for name in ("exact_match", "f1"))
    answerable = [bool(row.answer) for row in rows]
    unanswerable = len(rows) - sum(answerable)
    refused = int(sum(compress(exact, (not answer for answer in answerable))))
    held_out = HeldOut(
        int(sum(exact)), len(rows), "questions", unanswerable=unanswerable, refused=refused
    )
    save(model, tokenizer, out, "answer", held_out)
    answered = HeldOut(held_out.right - refused, sum(answerable), "questions with an answer")
    refusals = HeldOut(refused, unanswerable, "others")
    return (
        f"right for {share(held_out)}; exact match {share(answered)}, f1 {mean(compress(f1, answerable)):.3f}; "
        f"no answer for {share(refusals)}"
    )


if __name__ == "__main__":
    main()
