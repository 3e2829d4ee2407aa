"""Train small task heads on the default model, offline, so that every command of `seewhy lab` can be tried.

    python corpora/lab/train.py [--epochs N]        (make lab)

| head | for | learns from |
|---|---|---|
| pretraining | fill, next | sentences of the handbook and the household: masked words, and pairs in and out of order |
| topics | label apply | topics.csv: 300 sentences of six topics |
| entities | tag | entities.conll: 200 sentences with persons, places and organisations |
| answers | ask | questions.json: 150 questions about 50 short notes, and 100 that the notes do not answer |

The heads are saved in the cache, in the folder `lab`, where the commands look for them if no --model is given. Printed
are their metrics on rows, or documents, that were held out. How often a head is right is stored with it, in
training.json; the commands print it under each answer.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import compress, pairwise
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import torch
from torch.nn.functional import cross_entropy
from transformers import (
    AutoTokenizer,
    BertForPreTraining,
    BertForQuestionAnswering,
    get_linear_schedule_with_warmup,
)

from search import bert
from search.encoding.models import DEFAULT_MODEL, find_model
from search.evaluating.formats import read_questions
from search.files import cache_folder
from search.lab.bert.checkpoint import TRAINING
from search.lab.evaluating.metrics import answer_values
from search.lab.evaluating.readers import best_answer

HERE = Path(__file__).parent
LONGEST, BATCH, MASKED, IGNORED = 96, 16, 0.15, -100
Pair = tuple[str, str, int]  # two sentences, and 0 if the second follows the first


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8, help="epochs of the head for fill and next")
    args = parser.parse_args()
    logging.getLogger("transformers").setLevel(
        logging.ERROR
    )  # about new heads, which are what this trains
    folder = cache_folder("lab")
    folder.mkdir(parents=True, exist_ok=True)
    report("pretraining", lambda out: pretrained(out, args.epochs), folder)
    for name, trainer, data, epochs in (
        ("topics", bert.train_classifier, "topics.csv", 6),
        ("entities", bert.train_tagger, "entities.conll", 12),
    ):

        def trained(out: Path, train: Any = trainer, file: Path = HERE / data, n: int = epochs) -> str:
            found = train(file, out, epochs=n, offline=True)
            metrics = (f"{name} {value.mean:.3f}" for name, value in found.after.items())
            return f"{', '.join(metrics)} on {found.counts['held_out']} held-out rows"

        report(name, trained, folder)
    report("answers", answering, folder)
    print(f"Saved in {folder}")


def report(name: str, train: Any, folder: Path) -> None:
    """Train a head in a new folder, print its metrics, and put it into the place of an older one."""
    started, new = time.perf_counter(), folder / f"{name}.new"
    shutil.rmtree(new, ignore_errors=True)
    metrics = train(new)
    shutil.rmtree(folder / name, ignore_errors=True)
    new.rename(folder / name)
    print(f"{name:12} {metrics} ({time.perf_counter() - started:.0f} s)", flush=True)


def documents() -> list[list[str]]:
    """Return the sentences of each text file of the handbook and the household."""
    files = [path for path in sorted(HERE.parent.rglob("*")) if path.suffix in (".md", ".txt", ".eml")]
    texts = []
    for path in files:
        text = re.sub(r"(?s)\A---.*?\n---|```.*?```|~~~.*?~~~", " ", path.read_text(encoding="utf-8"))
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
        blocks = (" ".join(block.split()) for block in re.split(r"\n\s*\n", text))
        prose = (block for block in blocks if block[:1].isalpha() and block.count("|") < 2)
        sentences = [one.strip() for block in prose for one in re.split(r"(?<=[.!?])\s+(?=[A-Z])", block)]
        texts.append([one for one in sentences if len(one.split()) >= 4])
    return [sentences for sentences in texts if len(sentences) > 1]


def pairs_of(texts: list[list[str]], chance: random.Random) -> list[Pair]:
    """Return each sentence with the next one, or half of the time with one of another document."""
    pairs = []
    for here, sentences in enumerate(texts):
        for first, second in pairwise(sentences):
            if chance.random() < 0.5:
                pairs.append((first, second, 0))
            else:
                other = chance.choice([i for i in range(len(texts)) if i != here])
                pairs.append((first, chance.choice(texts[other]), 1))
    return pairs


def pretrained(out: Path, epochs: int) -> str:
    """Train both heads of BERT's pre-training together with the encoder (Devlin et al. 2018, 3.1)."""
    torch.manual_seed(0)
    chance = random.Random(0)
    source = find_model(DEFAULT_MODEL, offline=True).folder
    tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=True)
    model = BertForPreTraining.from_pretrained(source, local_files_only=True)
    texts = documents()
    chance.shuffle(texts)
    test, texts = texts[: len(texts) // 10], texts[len(texts) // 10 :]
    steps = epochs * (len(pairs_of(texts, random.Random(0))) // BATCH + 1)

    def loss_of(batch: dict[str, Any]) -> Any:
        words, labels, order, is_other = predicted(model, batch)
        return cross_entropy(words, labels) + cross_entropy(order, is_other)

    fit(
        model,
        (batches(pairs_of(texts, chance), tokenizer, chance) for _ in range(epochs)),
        loss_of,
        steps,
    )
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    return measured(model, tokenizer, test, out)


def fit(model: Any, epochs: Iterable[Iterable[Any]], loss_of: Callable[[Any], Any], steps: int) -> None:
    """Train a model on the batches of some epochs; the learning rate rises for a tenth of the steps, then falls."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, weight_decay=0.01)
    schedule = get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
    for epoch, some in enumerate(epochs, 1):
        losses = []
        model.train()
        for batch in some:
            loss = loss_of(batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            losses.append(loss.item())
        print(f"  epoch {epoch}: mean training loss {sum(losses) / len(losses):.3f}", flush=True)
    model.eval()


def measured(model: Any, tokenizer: Any, texts: list[list[str]], out: Path) -> str:
    """Count the predicted masked tokens and next sentences of held-out documents; store both figures in `out`."""
    chance, first, five, words, right, pairs = random.Random(1), 0, 0, 0, 0, 0
    for batch in batches(pairs_of(texts, chance), tokenizer, chance):
        with torch.inference_mode():
            logits, truth, order, is_other = predicted(model, batch)
        best = logits.topk(5).indices
        first += int((best[:, 0] == truth).sum())
        five += int((best == truth[:, None]).sum())
        words += len(truth)
        right += int((order.argmax(dim=1) == is_other).sum())
        pairs += len(is_other)
    store(out, fill=(first, words), next=(right, pairs))
    return (
        f"masked tokens {first / words:.3f}, among the first five {five / words:.3f} of {words:,}; "
        f"next sentences {right / pairs:.3f} of {pairs:,} pairs, of {len(texts)} held-out documents"
    )


def store(out: Path, **figures: tuple[int, int]) -> None:
    """Store with a head, for each task, how many held-out examples it is right for, of how many."""
    held_out = {task: {"right": right, "total": total} for task, (right, total) in figures.items()}
    (out / TRAINING).write_text(json.dumps({"held_out": held_out}, indent=2), encoding="utf-8")


def predicted(model: Any, batch: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Return logits and tokens at the masked places alone, and logits and classes of the pairs."""
    labels, is_other = batch.pop("labels"), batch.pop("next_sentence_label")
    output, at = model.bert(**batch), labels != IGNORED
    words = model.cls.predictions(output.last_hidden_state[at])
    return words, labels[at], model.cls.seq_relationship(output.pooler_output), is_other


def batches(pairs: list[Pair], tokenizer: Any, chance: random.Random) -> Iterator[dict[str, Any]]:
    """Yield shuffled batches, with 15 % of the tokens to predict: 80 % of them masked, 10 % replaced."""
    chance.shuffle(pairs)
    for start in range(0, len(pairs), BATCH):
        some = pairs[start : start + BATCH]
        batch = tokenizer(
            [first for first, _, _ in some],
            [second for _, second, _ in some],
            truncation=True,
            max_length=LONGEST,
            padding=True,
            return_tensors="pt",
            return_special_tokens_mask=True,
        )
        special = batch.pop("special_tokens_mask").bool()
        ids, labels = batch["input_ids"], torch.full_like(batch["input_ids"], IGNORED)
        chosen = (torch.rand(ids.shape) < MASKED) & ~special
        labels[chosen] = ids[chosen]
        how = torch.rand(ids.shape)
        ids[chosen & (how < 0.8)] = tokenizer.mask_token_id
        ids[chosen & (how > 0.9)] = torch.randint(len(tokenizer), (int((chosen & (how > 0.9)).sum()),))
        yield {**batch, "labels": labels, "next_sentence_label": torch.tensor([one[2] for one in some])}


class Question(NamedTuple):
    """A question about a text; `start` is the offset of its answer, which is "" if the text has none."""

    question: str
    text: str
    answer: str = ""
    start: int = 0


def notes() -> list[list[Question]]:
    """Return the questions of each note of questions.json."""
    questions, paragraphs = read_questions(HERE / "questions.json")
    by_note: dict[str, list[Question]] = {}
    for one in questions:
        found = (one.answers[0], one.starts[0]) if one.answers else ("", 0)
        text = paragraphs.entries[one.paragraph].text
        by_note.setdefault(one.paragraph, []).append(Question(one.text, text, *found))
    return list(by_note.values())


def strangers(some: list[list[Question]], chance: random.Random, each: int) -> list[Question]:
    """Return for each note questions about other notes, which it does not answer."""
    rows = []
    for i, note in enumerate(some):
        for other in chance.sample([questions for j, questions in enumerate(some) if j != i], each):
            asked = chance.choice([one for one in other if one.answer])
            rows.append(Question(asked.question, note[0].text))
    return rows


def joined(some: list[list[Question]], chance: random.Random, size: int) -> list[list[Question]]:
    """Return longer texts, each of several notes in a row, with the questions of all of them."""
    texts = []
    order = chance.sample(some, len(some))
    for group in (order[i : i + size] for i in range(0, len(order), size)):
        text, rows = "", []
        for note in group:
            text += " " * bool(text)
            rows += [(one, len(text)) for one in note]
            text += note[0].text
        texts.append([one._replace(text=text, start=one.start + before) for one, before in rows])
    return texts


def answering(out: Path) -> str:
    """Train a reader: at first on questions with an answer, then also on others, for which `[CLS]` is the target.

    With both from the start, a model this small learns to answer nothing.
    """
    torch.manual_seed(0)
    chance = random.Random(0)
    source = find_model(DEFAULT_MODEL, offline=True).folder
    tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=True)
    model = BertForQuestionAnswering.from_pretrained(source, local_files_only=True)
    some = notes()
    chance.shuffle(some)
    test, some = some[: len(some) // 5], some[len(some) // 5 :]
    answered = [one for note in some for one in note if one.answer]
    half = 12  # epochs

    def mixed() -> list[Question]:
        longer = joined(some, chance, 3)
        rows = [one for note in (*some, *longer) for one in note]
        return [*rows, *strangers(some, chance, 2), *strangers(longer, chance, 4)]

    def epochs() -> Iterator[Iterator[Any]]:
        for epoch in range(2 * half):
            rows = answered if epoch < half else mixed()
            chance.shuffle(rows)
            yield (asked(rows[i : i + BATCH], tokenizer) for i in range(0, len(rows), BATCH))

    steps = half * sum(-(-len(rows) // BATCH) for rows in (answered, mixed()))
    fit(model, epochs(), lambda batch: model(**batch).loss, steps)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    rows = [one for note in test for one in note]
    return measured_answers(out, [*rows, *strangers(test, chance, 1)])


def asked(rows: list[Question], tokenizer: Any) -> Any:
    """Return a batch of questions with the positions of the first and the last token of each answer."""
    batch = tokenizer(
        [one.question for one in rows], [one.text for one in rows], padding=True, return_tensors="pt"
    )
    places = [
        [batch.char_to_token(i, at, 1) for at in (one.start, one.start + len(one.answer) - 1)]
        if one.answer
        else [0, 0]
        for i, one in enumerate(rows)
    ]
    begins, ends = torch.tensor(places).T
    return {**batch, "start_positions": begins, "end_positions": ends}


def measured_answers(out: Path, rows: list[Question]) -> str:
    """Count the held-out questions that are answered rightly or rightly not answered; store the sum."""
    values = []
    for one in rows:
        best = bert.answer(one.question, one.text, model=str(out), answers=1, offline=True)
        values.append(answer_values(best_answer(best, False), [one.answer] if one.answer else []))
    exact, f1 = ([row[name] for row in values] for name in ("exact_match", "f1"))
    has = [bool(one.answer) for one in rows]
    store(out, answer=(int(sum(exact)), len(rows)))
    return (
        f"of {sum(has)} questions with an answer exact match {mean(compress(exact, has)):.3f}, "
        f"f1 {mean(compress(f1, has)):.3f}; no answer for "
        f"{int(sum(value for value, yes in zip(exact, has, strict=True) if not yes))} of {len(rows) - sum(has)} others"
    )


if __name__ == "__main__":
    main()
