"""Words that a masked-language head says for the rare words of a query."""

from pathlib import Path

import numpy as np
import pytest

from search import Index, InputError, ModelError
from search.bert.expansion import GUESSES, MOST
from search.bert.heads import load_head
from search.ranking.ranking import EXPANSION_SHARE
from search.store.terms import Stemmer
from tests.bert.conftest import save_tiny_head
from tests.conftest import WORDS

QUERY = "find the zebra"


@pytest.fixture(scope="module")
def filler(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny_head(tmp_path_factory.mktemp("filler"), "fill"))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Index:
    """Passages with all the words that the tiny models can spell, so that many are there to be looked for."""
    folder = tmp_path_factory.mktemp("words")
    for number, word in enumerate(WORDS):
        (folder / f"{number}.txt").write_text(
            f"{word} {WORDS[number - 1]} {WORDS[number - 2]}", encoding="utf-8"
        )
    place = tmp_path_factory.mktemp("place") / "index"
    return Index.build(folder, model=str(tiny_model), index=str(place))


def by_hand(filler: str) -> list[tuple[str, float]]:
    """The head's likeliest words with their probabilities, by transformers alone."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer, model = (
        AutoTokenizer.from_pretrained(filler),
        AutoModelForMaskedLM.from_pretrained(filler).eval(),
    )
    given = tokenizer(QUERY, QUERY.replace("zebra", "[MASK]"), return_tensors="pt", truncation=False)
    ids = given["input_ids"][0].tolist()
    given["token_type_ids"] = torch.tensor([[int(i > ids.index(3)) for i in range(len(ids))]])
    with torch.no_grad():
        row = model(**{name: given[name] for name in ("input_ids", "token_type_ids")}).logits[0, ids.index(4)]
    likely = row.double().softmax(-1).numpy()
    best = np.argsort(-likely, kind="stable")[:GUESSES].tolist()
    return [(tokenizer.convert_ids_to_tokens(i), float(likely[i])) for i in best]


def test_expansions_are_the_likeliest_words_that_are_there(index: Index, filler: str) -> None:
    hits = index.query(QUERY, expand=filler, k=5)
    found = hits[0].expansions
    assert all(hit.expansions == found and hit.percentile is None for hit in hits)
    stems = Stemmer().stems(["find the"])[0]
    expected = []
    for word, probability in by_hand(filler):
        if word in WORDS and not {stem for (stem,) in Stemmer().stems([word]) if stem} & set(stems):
            expected.append((word, probability))
    expected = expected[:MOST]
    assert expected, "the tiny head says no word that is there: take another seed"
    assert [one.word for one in found] == [word for word, _ in expected]
    total = sum(probability for _, probability in expected)
    assert [one.weight for one in found] == pytest.approx(
        [EXPANSION_SHARE * p / total for _, p in expected], rel=1e-4
    )
    assert {(one.of, QUERY[one.start : one.end]) for one in found} == {("zebra", "zebra")}


def test_every_hit_is_explained_with_its_expansions(index: Index, filler: str) -> None:
    for mode in ("hybrid", "lexical"):
        hits = index.query(QUERY, expand=filler, mode=mode, k=20)
        words = {term.term for why in index.explain_all(QUERY, hits) for term in why.terms}
        assert any(word.startswith("zebra → ") for word in words)
        for why in index.explain_all(QUERY, hits):
            assert abs(why.residual) < 1e-6
        first = hits[0]
        assert index.explain(QUERY, first.passage_id, mode=mode, expand=filler).score == first.score
        assert index.hit(QUERY, first.passage_id, mode=mode, expand=filler).score == first.score
    answer = index.why_not(QUERY, hits[1].passage_id, expand=filler, mode="lexical")
    assert answer.hit is not None and (answer.hit.rank, answer.hit.score) == (2, hits[1].score)


def test_words_that_are_found_are_not_expanded(index: Index, filler: str) -> None:
    assert index.query("find the water", expand=filler)[0].expansions == ()
    assert index.query("find 12 ...", expand=filler)[0].expansions == ()


def test_a_mode_without_words_is_refused(index: Index, filler: str) -> None:
    for mode in ("dense", "rrf"):
        with pytest.raises(InputError, match=f"which the mode '{mode}' has no place for"):
            index.query(QUERY, expand=filler, mode=mode)


def test_a_typed_mask_is_refused(index: Index, filler: str) -> None:
    with pytest.raises(InputError, match="stands for a masked word"):
        index.query("zebra [MASK] water", expand=filler)


def test_a_model_without_the_head_is_refused(index: Index, tiny_model: Path) -> None:
    with pytest.raises(ModelError, match="no head for masked words"):
        index.query(QUERY, expand=str(tiny_model))


def test_a_query_that_fits_once_but_not_twice_is_refused(index: Index, filler: str) -> None:
    assert load_head("fill", filler).files.max_tokens == 64
    with pytest.raises(InputError, match="reads a query twice to find words for 'zebra'"):
        index.query("zebra " + "water " * 40, expand=filler)


def test_a_weight_of_one_is_refused(index: Index, filler: str) -> None:
    with pytest.raises(InputError, match="with a weight of 1 words do not count"):
        index.query(QUERY, expand=filler, weight=1.0)


def test_a_wrong_name_is_told_where_no_word_is_rare(index: Index) -> None:
    with pytest.raises(ModelError):
        index.query("find the water", expand="./no/such/model")


def test_alone_they_count_no_more_than_their_share(index: Index, filler: str) -> None:
    hits = index.query("zebra", expand=filler, mode="lexical")
    assert hits[0].expansions and hits[0].score == pytest.approx(EXPANSION_SHARE)


def test_pieces_that_go_on_with_a_word_are_left_out(index: Index, tmp_path: Path) -> None:
    """Of byte-level BPE, where only whole words begin with a space."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    folder = save_tiny_head(tmp_path, "fill", kind="roberta")
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    whole = [f"\u0120{word}" for word in WORDS]
    entries = list(dict.fromkeys(["<s>", "<pad>", "</s>", "<unk>", "<mask>", *alphabet, *whole]))[:400]
    merges = []
    for word in whole:
        for end in range(2, len(word) + 1):
            merges.append((word[: end - 1], word[end - 1]))
            entries.append(word[:end])
    vocabulary = {entry: number for number, entry in enumerate(dict.fromkeys(entries))}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.add_special_tokens(["<mask>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text('{"mask_token": "<mask>"}', encoding="utf-8")
    whole_words = {entry.removeprefix("\u0120") for entry in vocabulary if entry.startswith("\u0120")}
    found = index.query(QUERY, expand=str(folder))[0].expansions
    assert {one.word for one in found} <= whole_words
