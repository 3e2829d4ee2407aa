"""Occurrences of a word in a sense: against brute force over the model's own token vectors."""

import json
import re
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import search
from search import Encoder, InputError
from search.errors import IndexDamaged
from search.store.token_vectors import packed
from tests.conftest import Run

TEXT = "open the lock with a key"
ROUNDING = 0.005  # vectors are stored as 8-bit integers


@pytest.fixture
def index(notes: Path, tiny_model: Path) -> search.Index:
    (notes / "more.md").write_text(
        "# Key\n\nA **key** for Monkeys, the KEY, and a keyhole.\n", encoding="utf-8"
    )
    return search.Index.build(notes, model=str(tiny_model), token_vectors=True)


def vector_of(encoder: Encoder, start: int, end: int, text: str, context: str = "") -> np.ndarray:
    """The mean of the unit vectors of the tokens of a word, of unit length."""
    (encoded,) = encoder.tokens([text], contexts=[context], role="document")
    rows = [
        row / np.linalg.norm(row)
        for token, row in zip(encoded.tokens, encoded.vectors, strict=True)
        if token.part == "text" and token.start < end and token.end > start
    ]
    assert rows
    mean = np.mean(rows, axis=0)
    return np.asarray(mean / np.linalg.norm(mean))


def by_hand(
    index: search.Index, encoder: Encoder, word: str, pattern: str
) -> list[tuple[float, str, int]]:
    """Cosine, document and offset in the visible text of every match of a pattern in the passages."""
    begin = TEXT.index(word)
    query = vector_of(encoder, begin, begin + len(word), TEXT)
    return sorted(
        (
            (
                float(query @ vector_of(encoder, *match.span(), hit.visible_text, hit.context)),
                hit.document,
                match.start(),
            )
            for hit in index.query("a", k=100, per_document=0, mode="dense", all_copies=True)
            for match in re.finditer(pattern, hit.visible_text, re.IGNORECASE)
        ),
        key=lambda item: -item[0],
    )


@pytest.mark.parametrize("word", ["key", "lock", "the"])
def test_occurrences_are_all_places_of_the_whole_word(
    index: search.Index, tiny: Encoder, word: str
) -> None:
    expected = by_hand(index, tiny, word, rf"\b{word}\b")
    nearest = index.occurrences(word.upper(), TEXT, 100, per_document=0)
    assert len(nearest) == len(expected) > 1
    assert [item.rank for item in nearest] == [*range(1, len(expected) + 1)]
    np.testing.assert_allclose(
        [item.cosine for item in nearest], [cosine for cosine, *_ in expected], atol=ROUNDING
    )
    assert {item.word.lower() for item in nearest} == {word}
    assert {item.text[item.word_start : item.word_end].lower() for item in nearest} == {word}
    assert index.occurrences(word, TEXT, 2, per_document=0) == nearest[:2]


def test_any_word_compares_every_word_of_the_passages(index: search.Index, tiny: Encoder) -> None:
    expected = by_hand(index, tiny, "key", r"\w+")
    nearest = index.occurrences("key", TEXT, 1000, any_word=True, per_document=0)
    assert len(nearest) == len(expected)
    np.testing.assert_allclose(
        [item.cosine for item in nearest], [cosine for cosine, *_ in expected], atol=ROUNDING
    )
    assert {"lock", "time", "keyhole", "Monkeys"} <= {item.word for item in nearest}


def test_blocks_of_passages_change_nothing(index: search.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = index.occurrences("key", TEXT, 7, any_word=True, per_document=2)
    monkeypatch.setattr("search.ranking.occurrences._BATCH_PASSAGES", 1)
    assert index.occurrences("key", TEXT, 7, any_word=True, per_document=2) == whole


def test_the_best_of_each_document_are_kept(index: search.Index) -> None:
    every = index.occurrences("key", TEXT, 100, per_document=0)
    kept = [item for i, item in enumerate(every) if item.document not in {e.document for e in every[:i]}]
    assert len(kept) < len(every)
    limited = index.occurrences("key", TEXT, 100, per_document=1)
    assert [(item.passage_id, item.word_start) for item in limited] == [
        (item.passage_id, item.word_start) for item in kept
    ]


def test_the_line_and_the_span_of_the_word_in_it(index: search.Index) -> None:
    for item in index.occurrences("key", TEXT, 100, per_document=0):
        start, end = item.span
        assert item.line[start:end] == item.text[item.word_start : item.word_end]
        if item.document.endswith(".md"):
            lines = Path(item.path).read_text(encoding="utf-8").splitlines()
            assert item.line == lines[item.line_number - 1]
    (bold, _) = sorted(
        (i for i in index.occurrences("key", TEXT, 9, where="path:more.md") if i.line_number == 3),
        key=lambda i: i.word_start,
    )
    assert (bold.line, bold.span) == ("A **key** for Monkeys, the KEY, and a keyhole.", (4, 7))
    assert bold.before.endswith("A")
    assert bold.after == "for Monkeys, the KEY, and a keyhole."


def test_a_phrase_is_a_word_of_several_tokens(index: search.Index, tiny: Encoder) -> None:
    expected = by_hand(index, tiny, "the lock", r"\bthe lock\b")
    nearest = index.occurrences("the  lock", TEXT, 9)
    assert [item.word for item in nearest] == ["the lock"] * len(expected)
    np.testing.assert_allclose([i.cosine for i in nearest], [c for c, *_ in expected], atol=ROUNDING)


def test_words_of_a_script_without_spaces(notes: Path, tiny_model: Path) -> None:
    """Each Chinese character is a word of the tokenizer, so a word may stand between letters."""
    (notes / "bank.txt").write_text("他去银行。银行在河边。", encoding="utf-8")
    index = search.Index.build(notes, model=str(tiny_model), token_vectors=True)
    nearest = index.occurrences("银行", "我在银行工作", 9)
    assert sorted((item.word, item.word_start) for item in nearest) == [("银行", 2), ("银行", 5)]


def test_only_passages_that_pass_the_filter(index: search.Index) -> None:
    assert {item.document for item in index.occurrences("the", TEXT, 99, where="kind=csv")} == {
        "table.csv#1"
    }


@pytest.mark.parametrize(
    ("word", "text", "options", "reason"),
    [
        ("keys", TEXT, {}, "'keys' is not a whole word of 'open the lock with a key'"),
        ("ey", TEXT, {}, "'ey' is not a whole word"),
        (" ", TEXT, {}, "the word is empty"),
        ("key", "key " * 100, {}, "the text has 102 tokens, but the model reads at most"),
        ("key", TEXT, {"k": 0}, "k is 0; it must be at least 1"),
        ("key", TEXT, {"per_document": -1}, "per_document is -1; the minimum is 0"),
    ],
)
def test_wrong_arguments(
    index: search.Index, word: str, text: str, options: dict[str, int], reason: str
) -> None:
    with pytest.raises(InputError, match=re.escape(reason)):
        index.occurrences(word, text, **options)  # type: ignore[arg-type]


def test_an_index_without_token_vectors_names_the_command_that_stores_them(
    run: Run, indexed: Path
) -> None:
    code, _, err = run("similar", "--word", "key", "--in", TEXT, "-i", "notes")
    advice = f"seewhy index {indexed} --index notes --token-vectors"
    assert (code, err) == (1, f"seewhy: the index stores no token vectors. Store them with: {advice}\n")
    assert run(*advice.split()[1:])[0] == 0
    assert run("similar", "--word", "key", "--in", TEXT, "-i", "notes")[0] == 0


def test_documents_from_memory_have_no_token_vectors(tiny_model: Path) -> None:
    with search.Index.create(model=str(tiny_model)) as index:
        index.upsert([{"id": "a", "text": "the key"}])
        with pytest.raises(InputError, match="documents from memory, whose token vectors are not stored"):
            index.occurrences("key", TEXT)


def test_vectors_of_other_tokens_are_damage(index: search.Index) -> None:
    dimension = index.encoder.dimension
    with sqlite3.connect(index.path / "index.db") as connection:
        connection.execute(
            "UPDATE token_vectors SET vectors = ?", (packed(np.eye(1, dimension, dtype=np.float32)),)
        )
    with pytest.raises(IndexDamaged, match="tokens and 1 stored vectors"):
        index.occurrences("key", TEXT)


def test_fewer_dimensions_of_embeddings_than_of_token_vectors(notes: Path, tiny_model: Path) -> None:
    whole = search.Index.build(notes, index="whole", model=str(tiny_model), token_vectors=True)
    cut = search.Index.build(notes, index="cut", model=str(tiny_model), token_vectors=True, dim=8)
    assert [item.cosine for item in cut.occurrences("key", TEXT)] == [
        item.cosine for item in whole.occurrences("key", TEXT)
    ]
    assert cut.query("the key", rerank="late")[0].reranked is not None


def test_the_concordance_has_the_word_in_a_column(
    run: Run, index: search.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    nearest = index.occurrences("key", TEXT, 3)
    arguments = ("similar", "--word", "key", "--in", TEXT, "-k", 3)
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    for item, head, line in zip(nearest, lines[0::2], lines[1::2], strict=False):
        assert head.startswith(f" {item.rank}  {item.cosine:.3f}  ")
        assert head.endswith(f"  p{item.passage_id}")
        assert line[30:33].lower() == "key" and line[28:30] == line[33:35].ljust(2) == "  "
        assert len(line) <= 60
    assert lines[-1] == "3 occurrences in 2 documents"
    assert re.search(r"\x1b\[1;32m(key|KEY|Key)\x1b\[0m", run(*arguments, "--color", "always")[1])
    records = json.loads(run(*arguments, "--json")[1])
    assert [record["cosine"] for record in records] == [item.cosine for item in nearest]
    assert [record["line"] for record in records] == [item.line for item in nearest]
    assert [json.loads(line) for line in run(*arguments, "--jsonl")[1].splitlines()] == records


def test_a_word_that_does_not_occur(run: Run, index: search.Index) -> None:
    arguments = ("similar", "--word", "zebra", "--in", "a zebra")
    assert run(*arguments) == (0, "'zebra' does not occur. Try: --any-word\n", "")
    assert run(*arguments, "--json")[:2] == (0, "[]\n")
    assert run(*arguments, "--where", "kind=csv")[1] == (
        "'zebra' does not occur in a passage that passes --where. Try: --any-word\n"
    )
    assert "10 occurrences" in run(*arguments, "--any-word", "--per-document", 0)[1]


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("", "give a path or a passage ID, or a word: --word WORD --in TEXT."),
        ("--word key", "a word needs a text that contains it: --word WORD --in TEXT."),
        ("--in key", "a word needs a text that contains it: --word WORD --in TEXT."),
        ("p1 --word key --in key", "a path or passage ID is for similar passages."),
        ("--word key --in key --group", "--group is for similar passages."),
        ("--word key --in key --same-document", "--same-document is for similar passages."),
        ("--word key --in key -f line", "--format is for similar passages."),
        ("--word key --in key -C 2", "--context is for similar passages."),
    ],
)
def test_wrong_usage(run: Run, index: search.Index, typed: str, reason: str) -> None:
    code, _, err = run("similar", *typed.split())
    assert code == 2
    assert reason in err
