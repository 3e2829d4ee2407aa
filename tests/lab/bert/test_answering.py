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
    """Reader whose tokenizer works on bytes, as RoBERTa's: a character can be several tokens."""
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


def check(result: Any, text: str) -> None:
    """Assert that every answer from one text is a span of it, on its line, the best first."""
    candidates = [*result.answers, *([result.nearest] if result.nearest else [])]
    for span in candidates:
        assert text[span.start : span.end] == span.text != ""
        assert span.text.strip() == span.text
        assert span.start_logit + span.end_logit - span.null_score == pytest.approx(span.margin)
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        assert span.text.splitlines()[0].split("\u2028")[0].split("\x1c")[0] in lines[span.line_start - 1]
    spans = sorted((span.start, span.end) for span in result.answers)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert [span.margin for span in result.answers] == sorted(
        (span.margin for span in result.answers), reverse=True
    )


def logits_of(reader: str, question: str, text: str) -> tuple[Any, Any, Any]:
    """Encoding of one input, and its start and end logits, by transformers."""
    import torch
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(reader)
    model = AutoModelForQuestionAnswering.from_pretrained(reader).eval()
    encoding = tokenizer(question, text, return_tensors="pt", return_token_type_ids=True)
    with torch.no_grad():
        output = model(
            **{name: encoding[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
        )
    return encoding, output.start_logits[0].numpy(), output.end_logits[0].numpy()


@pytest.mark.parametrize("sure", [True, False])
def test_answers_are_the_best_of_all_spans_by_the_logits_of_transformers(
    reader: str, sure: bool, tmp_path: Path
) -> None:
    """Greedily: the best span, then the best one that shares no token with a better one; equal texts count once."""
    reader = reader if sure else str(save_tiny_head(tmp_path, "answer", positions=128))
    encoding, start, end = logits_of(reader, QUESTION, TEXT)
    ours = [i for i, source in enumerate(encoding.sequence_ids(0)) if source == 1]
    spans = [(start[i] + end[j], i, j) for i in ours for j in ours if i <= j < i + 30]
    apart: list[tuple[int, int]] = []
    expected: dict[str, tuple[int, int, float]] = {}
    for score, i, j in sorted(spans, key=lambda span: (-span[0], span[2] - span[1], span[1])):
        over = score - start[0] - end[0]
        if over >= 0 and all(j < a or i > b for a, b in apart):
            apart.append((i, j))
            first, last = encoding.token_to_chars(i).start, encoding.token_to_chars(j).end
            expected.setdefault(TEXT[first:last].casefold(), (first, last, float(over)))
    assert expected
    result = answer(QUESTION, TEXT, model=reader, answers=200)
    assert [(span.start, span.end) for span in result.answers] == [span[:2] for span in expected.values()]
    for span, (first, last, over) in zip(result.answers, expected.values(), strict=True):
        assert span.text == TEXT[first:last]
        assert span.margin == pytest.approx(over, abs=1e-4)
        assert span.score == pytest.approx(1 / (1 + math.exp(-over)), abs=1e-5)
        i, j = encoding.char_to_token(0, first, 1), encoding.char_to_token(0, last - 1, 1)
        softmaxes = [
            np.exp(logits[k]) / np.exp(logits[[0, *ours]]).sum() for logits, k in ((start, i), (end, j))
        ]
        assert span.probability == pytest.approx(math.prod(softmaxes), rel=1e-4)
    few = answer(QUESTION, TEXT, model=reader, answers=1)
    assert (len(few.answers) + few.more, few.windows) == (len(result.answers), 1)
    check(result, TEXT)


def test_a_window_has_the_logits_of_every_token(reader: str) -> None:
    """Logits by transformers, and their softmax over [CLS] and the tokens of the text by PyTorch."""
    import torch

    encoding, *sides = logits_of(reader, QUESTION, TEXT)
    for span in answer(QUESTION, TEXT, model=reader, answers=5).answers:
        window = span.window
        assert list(window.tokens) == encoding.tokens()
        ours = [0, *(i for i, source in enumerate(encoding.sequence_ids(0)) if source == 1)]
        assert window.candidates == ours
        assert [window.spans[i] for i in ours[1:]] == [
            tuple(encoding.token_to_chars(i)) for i in ours[1:]
        ]
        for own, probabilities, logits in (
            (window.start_logits, window.start_probabilities, sides[0]),
            (window.end_logits, window.end_probabilities, sides[1]),
        ):
            np.testing.assert_allclose(own, logits, atol=1e-6)
            likely = torch.tensor(logits[ours]).double().softmax(0)
            np.testing.assert_allclose(probabilities[ours], likely, atol=1e-6)
            assert probabilities.sum() == pytest.approx(1)
        assert (span.start_logit, span.end_logit) == (
            window.start_logits[span.first],
            window.end_logits[span.last],
        )
        (start, _), (_, end) = window.spans[span.first], window.spans[span.last]  # type: ignore[misc]
        assert TEXT[start:end].strip() == span.text


def test_a_long_text_is_read_in_windows(reader: str) -> None:
    lines = [f"{i} {TEXT}" for i in range(12)]
    result = answer(QUESTION, "\n".join(lines), model=reader, answers=50)
    assert result.windows > 3
    check(result, "\n".join(lines))
    best = result.answers[0]
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
@pytest.mark.parametrize("fixture", ["reader", "byte_reader"])
def test_answers_are_spans_of_any_text(text: str, fixture: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(fixture)
    if not text.strip():
        with pytest.raises(InputError, match="the text is empty"):
            answer("a key?", text, model=model)
        return
    result = answer("a key?", text, model=model, answers=9)
    check(result, text)


def test_answers_from_nasty_texts_are_spans_of_them(reader: str, byte_reader: str) -> None:
    for model in (reader, byte_reader):
        result = answer("a key?", NASTY * 4, model=model, answers=99)
        assert len(result.answers) + result.more > 4
        check(result, NASTY * 4)


def test_no_answer_comes_with_the_nearest_span(reader: str, tmp_path: Path) -> None:
    result = answer(QUESTION, TEXT, model=str(save_reader(tmp_path, null=4.0)))
    assert (result.answers, result.passages) == ((), 1)
    assert result.nearest is not None and result.nearest.rank == 0 and result.nearest.margin < 0
    nothing = answer(QUESTION, "\x00", model=reader)
    assert (nothing.answers, nothing.nearest) == ((), None)


def test_bad_input_is_refused_with_a_reason(reader: str, tmp_path: Path) -> None:
    for arguments, message in (
        ({"question": " "}, "the question is empty"),
        ({"text": "\n"}, "the text is empty"),
        ({"question": "key " * 200}, "leaves no room for the text"),
        ({"question": "key " * 90, "text": TEXT * 9}, "the question is too long: "),
        ({"model": ""}, "deepset/roberta-base-squad2"),
        ({"answers": 0}, "the minimum is 1"),
    ):
        with pytest.raises(InputError, match=message):
            answer(**{"question": QUESTION, "text": TEXT, "model": reader, **arguments})  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="has no head for answer spans"):
        answer(QUESTION, TEXT, model=str(save_tiny(tmp_path / "plain", "bert")))


def test_a_model_whose_logits_are_nan_is_refused(tmp_path: Path) -> None:
    import torch
    from transformers import BertForQuestionAnswering

    folder = save_tiny_head(tmp_path / "nan", "answer")
    model = BertForQuestionAnswering.from_pretrained(folder)
    with torch.no_grad():
        model.qa_outputs.bias.fill_(float("nan"))
    model.save_pretrained(folder)
    with pytest.raises(ModelError, match="are NaN or infinite"):
        answer(QUESTION, TEXT, model=str(folder))


def test_a_score_is_the_sigmoid_of_its_margin_at_any_size(reader: str) -> None:
    best = answer(QUESTION, TEXT, model=reader).answers[0]
    for start, probability in ((0.0, 0.5), (1e6, 1.0), (2.0, 1 / (1 + math.exp(-2)))):
        score = replace(best, start_logit=start, end_logit=0.0, null_score=0.0).score
        assert score == pytest.approx(probability)
    assert 0 <= replace(best, start_logit=-1e6).score < 1e-300


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


def test_answers_from_an_index_are_spans_of_its_hits_and_files(index: search.Index, reader: str) -> None:
    states: list[search.Progress] = []
    result = search.bert.ask(index, QUESTION, model=reader, k=30, answers=200, progress=states.append)
    hits = {hit.passage_id: hit for hit in index.query(QUESTION, k=30)}
    assert result.passages == len(hits)
    assert (states[-1].done, states[-1].total) == (result.passages, result.passages)
    kinds = set()
    for span in result.answers:
        assert span.hit is not None
        hit = hits[span.hit.passage_id]
        assert hit.start <= span.start < span.end <= hit.end
        assert hit.text[span.start - hit.start : span.end - hit.start] == span.text
        assert hit.line_start <= span.line_start <= span.line_end <= hit.line_end
        source = Path(span.path).read_text(encoding="utf-8").split("\n")
        stretch = "\n".join(source[span.line_start - 1 : span.line_end])
        first, last = span.text.split()[0], span.text.split()[-1]
        if hit.kind != "html":  # a page's lines are those of the passage
            assert first in source[span.line_start - 1], (span.text, span.path, span.line_start)
            assert last in stretch.split("\n")[-1]
        kinds.add(Path(span.path).suffix)
        assert span.hit == hit
    assert kinds == {".txt", ".md", ".html", ".csv"}


def test_nothing_to_read_has_no_answer(index: search.Index, reader: str) -> None:
    result = search.bert.ask(index, QUESTION, model=reader, where="path:gone.md")
    assert (result.passages, result.answers, result.nearest) == (0, (), None)


def test_the_published_example_is_reproduced() -> None:
    """p(start) p(end) is the score of transformers' former pipeline."""
    model, expected = named_checkpoint("roberta-base-squad2"), figures()["question_answering"]
    result = answer(expected["question"], expected["context"], model=model)
    best = result.answers[0]
    assert (best.text, best.start, best.end) == (expected["answer"], expected["start"], expected["end"])
    assert best.probability == pytest.approx(expected["score"], abs=1e-3)
