"""Extractive question answering: against transformers itself, on texts that are hard to point into, from an index."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import search
from search.bert import answer
from search.bert.answering import merged
from search.bert.checkpoint import load_head
from search.errors import InputError, ModelError
from search.records.hits import Hit
from search.records.predictions import Answer, Answers
from tests.bert.conftest import named_checkpoint, save_tiny, save_tiny_head
from tests.conftest import DATA, REFERENCE

QUESTION = "what is in the water?"
TEXT = "Many people say that the key is in the water. The door is open, and the first lock is long."
NASTY = (
    "# Kéys \U0001f511\r\n\r\n| a | b |\r\n|---|---|\r\n| cafe\u0301 | \U0001f469\u200d\U0001f4bb |\r\n"
    "\x00\x1b[31mred\x07 \u202eevil\u2066 \u2028 漢字 שלום ﬁn \xa0 ½ Ⅷ İ ß \tend\r"
)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_head(tmp_path_factory.mktemp("readers") / "bert", "answer", positions=128))


@pytest.fixture(scope="module")
def byte_reader(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One whose tokenizer works on bytes, as RoBERTa's: a character can be several tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    folder = save_tiny_head(
        tmp_path_factory.mktemp("readers") / "roberta", "answer", kind="roberta", positions=130
    )
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    entries = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({entry: i for i, entry in enumerate(entries)}, [], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    return str(folder)


def check(found: Answers, text: str) -> None:
    """What holds for every answer from one text."""
    shown = [*found.answers, *([found.nearest] if found.nearest else [])]
    for one in shown:
        assert text[one.start : one.end] == one.text != ""
        assert one.text.strip() == one.text
        assert one.span_score - one.null_score == pytest.approx(one.margin)
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        assert one.text.splitlines()[0].split("\u2028")[0].split("\x1c")[0] in lines[one.line_start - 1]
    spans = sorted((one.start, one.end) for one in found.answers)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert [one.margin for one in found.answers] == sorted(
        (one.margin for one in found.answers), reverse=True
    )


def test_the_same_as_transformers_and_a_look_at_every_span(reader: str) -> None:
    import torch
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(reader)
    model = AutoModelForQuestionAnswering.from_pretrained(reader).eval()
    made = tokenizer(
        QUESTION, TEXT, return_offsets_mapping=True, return_tensors="pt", return_token_type_ids=True
    )
    offsets = made.pop("offset_mapping")[0].tolist()
    with torch.no_grad():
        output = model(**{name: made[name] for name in ("input_ids", "attention_mask", "token_type_ids")})
    start, end = output.start_logits[0].numpy(), output.end_logits[0].numpy()
    ours = [i for i, source in enumerate(made.sequence_ids(0)) if source == 1]
    score, i, j = max((start[i] + end[j], i, j) for i in ours for j in ours if i <= j < i + 5)
    found = answer(QUESTION, TEXT, model=reader, max_answer=5, no_answer_margin=-1000, device="cpu")
    best = found.answers[0]
    assert best.text == TEXT[offsets[i][0] : offsets[j][1]]
    assert (best.start, best.end) == (offsets[i][0], offsets[j][1])
    assert best.start_logit == pytest.approx(start[i], abs=1e-5)
    assert best.end_logit == pytest.approx(end[j], abs=1e-5)
    assert best.margin == pytest.approx(score - start[0] - end[0], abs=1e-5)
    # The probability against no answer, from softmaxes over the whole input: their sums cancel.
    starts, ends = (np.exp(v) / np.exp(v).sum() for v in (start, end))
    span, null = starts[i] * ends[j], starts[0] * ends[0]
    assert best.probability == pytest.approx(span / (span + null), abs=1e-5)
    assert best.score == best.probability
    assert (found.windows, best.window) == (1, (1, 1))
    check(found, TEXT)


def test_long_texts_in_windows(reader: str) -> None:
    text = "\n".join(f"{i} {TEXT}" for i in range(12))
    found = answer(QUESTION, text, model=reader, max_answer=6, answers=50, no_answer_margin=-1, device="cpu")
    assert found.windows > 3
    check(found, text)
    head = load_head("answer", reader, device="cpu")
    windows = head.windows(text, first=QUESTION, overlap=64)
    margins = []
    for window, said in zip(windows, head.run(windows), strict=True):
        start, end = said["start_logits"], said["end_logits"]
        ours = [i for i, source in enumerate(window.sequence_ids) if source == 1]
        best = max(float(start[i]) + float(end[j]) for i in ours for j in ours if i <= j < i + 6)
        margins.append(best - float(start[0]) - float(end[0]))
    assert found.answers[0].margin == pytest.approx(max(margins), abs=1e-4)
    assert found.windows == len(windows)


@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(
    text=st.lists(
        st.sampled_from([*NASTY, "the key ", "\r\n", "a\u0301", "\U0001f469\u200d\U0001f4bb"]), max_size=90
    ).map("".join)
)
@pytest.mark.parametrize("which", ["reader", "byte_reader"])
def test_answers_are_spans_of_any_text(text: str, which: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(which)
    if not text.strip():
        with pytest.raises(InputError, match="the text is empty"):
            answer("a key?", text, model=model)
        return
    found = answer("a key?", text, model=model, max_answer=4, answers=9, no_answer_margin=-1, device="cpu")
    check(found, text)


def test_nasty_texts(reader: str, byte_reader: str) -> None:
    for model in (reader, byte_reader):
        found = answer(
            "a key?", NASTY * 4, model=model, max_answer=8, answers=99, no_answer_margin=-9, device="cpu"
        )
        assert len(found.answers) + found.more > 4
        check(found, NASTY * 4)


def test_no_answer(reader: str) -> None:
    found = answer(QUESTION, TEXT, model=reader, no_answer_margin=1000, device="cpu")
    assert (found.answers, found.unanswered, found.passages) == ((), 1, 1)
    assert found.nearest is not None
    assert found.nearest.rank == 0
    margin = found.nearest.margin
    just = answer(QUESTION, TEXT, model=reader, no_answer_margin=margin, device="cpu")
    assert [one.text for one in just.answers] == [found.nearest.text]
    assert (just.nearest, just.unanswered) == (None, 0)
    nothing = answer(QUESTION, "\x00", model=reader, device="cpu")
    assert (nothing.answers, nothing.nearest, nothing.unanswered) == ((), None, 1)


def test_bad_input(reader: str, tmp_path: Path) -> None:
    for given_, message in (
        ({"question": " "}, "the question is empty"),
        ({"text": "\n"}, "the text is empty"),
        ({"question": "key " * 200}, "leaves no room for a text"),
        (
            {"question": "key " * 90, "text": TEXT * 9},
            r"leaves room for \d+ tokens .* allow answers of \d+ tokens",
        ),
        ({"model": ""}, "deepset/roberta-base-squad2"),
        ({"answers": 0}, "answers is 0"),
        ({"max_answer": 0}, "max_answer is 0"),
        ({"no_answer_margin": math.nan}, "margin"),
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
    with pytest.raises(ModelError, match="logits that are no numbers"):
        answer(QUESTION, TEXT, model=str(folder), device="cpu")


def candidate(text: str, start: int, margin: float, document: str = "a.md", **other: Any) -> Answer:
    return Answer(
        rank=0, text=text, start=start, end=start + len(text), path=f"/{document}", document=document, line_start=1,
        line_end=1, passage="", passage_start=0, hit=None, start_logit=margin, end_logit=0.0, null_score=0.0, **other,
    )  # fmt: skip


def test_what_repeats_is_merged_and_kept() -> None:
    found = [
        candidate("The Key", 4, 3.0),
        candidate("the  key", 50, 1.0, "b.md"),  # the same text elsewhere
        candidate("The Key", 4, 2.5),  # the same span, from another window
        candidate("Key to", 8, 2.0),  # shares characters
        candidate("a lock", 90, 2.2),
        candidate("door", 30, 0.5),
    ]
    made = [[(one.text, one.document, one.margin) for one in group] for group in merged(found)]
    assert made == [
        [("The Key", "a.md", 3.0), ("Key to", "a.md", 2.0), ("the  key", "b.md", 1.0)],
        [("a lock", "a.md", 2.2)],
        [("door", "a.md", 0.5)],
    ]
    windows = [  # an answer, a longer span read twice, and one that only the longer one touches
        candidate("1998", 0, 5.0),
        candidate("1998 and 2003", 0, 4.0),
        candidate("1998 and 2003", 0, 3.9),
        candidate("2003", 9, 3.0),
    ]
    assert [[one.text for one in group] for group in merged(windows)] == [["1998", "1998 and 2003"], ["2003"]]
    sure = [candidate("one", 0, 50.0), candidate("two", 9, 60.0)]  # both have a probability of 1.0
    assert [best.text for best, *_ in merged(sure)] == ["two", "one"]


def test_probability_at_the_ends() -> None:
    assert candidate("a", 0, 0.0).probability == 0.5
    assert candidate("a", 0, 1e6).probability == 1.0
    assert 0 <= candidate("a", 0, -1e6).probability < 1e-300
    assert candidate("a", 0, 2.0).probability == pytest.approx(1 / (1 + math.exp(-2)))


@pytest.fixture
def index(tmp_path: Path, tiny_model: Path) -> search.Index:
    folder = tmp_path / "texts"
    folder.mkdir()
    lines = "".join(f"line {i}: the key of door {i} is in the water\r\n" for i in range(12))
    (folder / "lines.txt").write_bytes(lines.encode())
    (folder / "keys.md").write_bytes(
        "# Keys\r\n\r\nThe cafe\u0301 key \U0001f511\r\nis in the water.\r\n".encode()
    )
    page = (
        "<html><body>\n<h1>Keys</h1>\n\n<p>The key is\nin the <b>water</b></p>\n\n\n<p>The door is open</p>"
    )
    (folder / "page.html").write_text(page, encoding="utf-8")
    (folder / "table.csv").write_text(
        "name,text\nfirst,the key is in the water\nsecond,a door\n", encoding="utf-8"
    )
    return search.Index.build(folder, model=str(tiny_model))


def test_answers_from_an_index(index: search.Index, reader: str) -> None:
    states: list[search.Progress] = []
    found = index.ask(
        QUESTION, model=reader, k=30, answers=200, max_answer=4, no_answer_margin=-1000, device="cpu",
        progress=states.append,
    )  # fmt: skip
    hits = {hit.passage_id: hit for hit in index.query(QUESTION, k=30)}
    assert found.passages == len(hits)
    assert (states[-1].done, states[-1].total) == (found.windows, found.windows)
    kinds = set()
    for one in found.answers:
        assert one.passage_id is not None
        hit = hits[one.passage_id]
        assert hit.start <= one.start < one.end <= hit.end
        assert hit.text[one.start - hit.start : one.end - hit.start] == one.text
        assert hit.line_start <= one.line_start <= one.line_end <= hit.line_end
        source = Path(one.path).read_text(encoding="utf-8").split("\n")
        stretch = "\n".join(source[one.line_start - 1 : one.line_end])
        first, last = one.text.split()[0], one.text.split()[-1]
        assert first in source[one.line_start - 1], (one.text, one.path, one.line_start)
        assert last in stretch.split("\n")[-1]
        kinds.add(Path(one.path).suffix)
        assert one.hit == hits[one.passage_id]
        assert one.score == one.probability
    assert kinds == {".txt", ".md", ".html", ".csv"}
    assert found.notes == ()


def test_lines_of_a_page_that_has_changed_are_those_of_the_passage(index: search.Index, reader: str) -> None:
    hits = [hit for hit in index.query(QUESTION, k=30) if hit.document == "page.html"]
    assert any(hit.line_start < hit.line_end for hit in hits)
    Path(hits[0].path).write_text("<p>another</p>", encoding="utf-8")
    found = index.ask(
        QUESTION,
        model=reader,
        where="path:page.html",
        answers=99,
        max_answer=4,
        no_answer_margin=-1000,
        device="cpu",
    )
    assert "page.html is not as it was indexed" in found.notes[0]
    for one in found.answers:
        assert one.hit is not None
        assert (one.line_start, one.line_end) == (one.hit.line_start, one.hit.line_end)


def test_nothing_to_read_has_no_answer(index: search.Index, reader: str) -> None:
    nowhere = index.ask(QUESTION, model=reader, where="path:gone.md")
    assert (nowhere.passages, nowhere.answers, nowhere.nearest) == (0, (), None)


def xquad() -> list[tuple[str, str]]:
    """(question, paragraph), the first question of every twelfth paragraph."""
    path = DATA / "qa" / "xquad-en-squad-format.json"
    if not path.is_file():
        pytest.skip("XQuAD is not at hand")
    data = json.loads(path.read_text(encoding="utf-8"))["data"]
    paragraphs = [paragraph for article in data for paragraph in article["paragraphs"]]
    return [(one["qas"][0]["question"], one["context"]) for one in paragraphs[::12]]


def test_spans_lie_inside_the_passages_of_xquad(tmp_path: Path, tiny_model: Path) -> None:
    asked = xquad()
    reader = str(save_tiny_head(tmp_path / "reader", "answer", positions=512))
    folder = tmp_path / "paragraphs"
    folder.mkdir()
    for number, (_, context) in enumerate(asked):
        (folder / f"{number}.txt").write_bytes(context.encode())
    index = search.Index.build(folder, model=str(tiny_model))
    answered = 0
    for question, _ in asked[::3]:
        found = index.ask(question, model=reader, k=4, mode="lexical", max_answer=20, device="cpu")
        for one in found.answers:
            hit: Hit | None = one.hit
            assert hit is not None
            assert hit.start <= one.start < one.end <= hit.end
            assert Path(one.path).read_bytes().decode()[one.start : one.end] == one.text
            answered += 1
    for question, context in asked[1::3]:
        whole = answer(question, context, model=reader, device="cpu")
        check(whole, context)
        answered += len(whole.answers)
    assert answered > len(asked)


def test_the_published_example() -> None:
    """Its score is the product of two softmaxes over [CLS] and the passage, as transformers' pipeline had it."""
    model = named_checkpoint("roberta-base-squad2")
    expected = json.loads((REFERENCE / "bert_figures.json").read_text(encoding="utf-8"))["question_answering"]
    found = answer(expected["question"], expected["context"], model=model, no_answer_margin=-1000)
    one = found.answers[0]
    assert (one.text, one.start, one.end) == (expected["answer"], expected["start"], expected["end"])
    head = load_head("answer", model)
    (window,) = head.windows(expected["context"], first=expected["question"])
    (logits,) = head.run([window])
    seen = [0, *(i for i, source in enumerate(window.sequence_ids) if source == 1)]
    starts, ends = (logits[name][seen] for name in ("start_logits", "end_logits"))
    shares = [
        np.exp(logit) / np.exp(logits).sum()
        for logit, logits in ((one.start_logit, starts), (one.end_logit, ends))
    ]
    assert shares[0] * shares[1] == pytest.approx(expected["score"], abs=1e-3)
