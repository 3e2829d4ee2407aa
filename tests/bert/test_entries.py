"""The vocabulary asked, against transformers' tokenizers and NumPy."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from search.bert import decode, find_entries, ids_of, neighbours, parameters, vocabulary
from search.encoding import Encoder
from search.errors import InputError
from search.render import vocabulary as draw


@pytest.fixture(scope="module")
def bytes_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny RoBERTa with a byte-level vocabulary, as its own tokenizers have it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from tokenizers.trainers import BpeTrainer

    from tests.bert.conftest import save_tiny

    folder = save_tiny(tmp_path_factory.mktemp("bytes") / "m", "roberta")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=380, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"], show_progress=False
    )
    tokenizer.train_from_iterator(["turn the key and lock the door, the keys turn"] * 9, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    return str(folder)


def test_numbers_and_entries_are_those_of_transformers(tiny_model: Path) -> None:
    from transformers import AutoTokenizer

    known = AutoTokenizer.from_pretrained(tiny_model)
    name = str(tiny_model)
    pieces = ["key", "##ing", "[MASK]", "a"]
    numbers = list(ids_of(pieces, model=name))
    assert numbers == known.convert_tokens_to_ids(pieces)
    found = decode(numbers, model=name)
    assert [entry.piece for entry in found.entries] == known.convert_ids_to_tokens(numbers) == pieces
    assert [entry.word for entry in found.entries] == ["key", "ing", "[MASK]", "a"]
    assert found.text == known._tokenizer.decode(numbers, skip_special_tokens=False)
    said = vocabulary(name)
    assert (said.kind, said.entries) == ("WordPiece", len(known.get_vocab()))
    assert said.continuing == sum(p.startswith("##") and len(p) > 2 for p in known.get_vocab())


def test_the_vocabulary_of_the_real_model(real: Encoder) -> None:
    found = vocabulary(offline=True)
    assert (found.entries, found.continuing, found.characters) == (30522, 5828, 997)
    assert [entry.id for entry in found.special] == [0, 100, 101, 102, 103]
    assert decode([101, 8254, 2319, 102], offline=True).text == "[CLS] sinan [SEP]"
    assert [entry.id for entry in find_entries(begins="python", offline=True)] == [18750]


@pytest.mark.parametrize(
    ("asked", "way_out"),
    [(lambda: ids_of("snow"), "ids_of(['key', '##ing'])"), (lambda: decode("101 102"), "decode([101, 102])")],
)
def test_a_text_is_no_list(asked: Callable[[], object], way_out: str) -> None:
    with pytest.raises(InputError, match=re.escape(way_out)):
        asked()


def test_entries_by_their_spelling(tiny_model: Path, bytes_model: str) -> None:
    name = str(tiny_model)
    known = json.loads((tiny_model / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    for begins, contains in (("th", ""), ("##", ""), ("", "ing"), ("t", "e")):
        expected = [piece for piece in known if piece.startswith(begins) and contains in piece]
        found = find_entries(begins=begins, contains=contains, model=name)
        assert [entry.piece for entry in found] == expected
    assert not find_entries(begins="Th", model=name)
    by_bytes = {entry.piece for entry in find_entries(begins="the", model=bytes_model)}
    assert "Ġthe" in by_bytes  # which reads "the", and begins a word
    assert vocabulary(bytes_model).continuing is None


def test_a_vocabulary_of_special_tokens_alone(bytes_model: str, tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models

    for file in Path(bytes_model).iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    empty = Tokenizer(models.BPE())
    empty.add_special_tokens(["<s>"])
    empty.save(str(tmp_path / "tokenizer.json"))
    found = vocabulary(str(tmp_path))
    assert (found.entries, found.longest) == (1, None)
    assert "longest" not in draw.vocabulary(found)


@pytest.mark.parametrize("word", ["key", "##ing", "keys"])
def test_neighbours_are_those_of_numpy(tiny_model: Path, word: str) -> None:
    name = str(tiny_model)
    rows = parameters(name).arrays["embeddings.word_embeddings.weight"].astype(np.float64)
    own = list(ids_of(["key", "##s"] if word == "keys" else [word], model=name))
    mean = rows[own].mean(axis=0)
    cosines = rows @ mean / np.linalg.norm(rows, axis=1).clip(1e-9) / np.linalg.norm(mean)
    entries = vocabulary(name).entries
    best = [i for i in np.argsort(-cosines) if i not in own and i < entries][:5]
    found = neighbours(word, k=5, model=name)
    assert [entry.id for entry in found.spelled] == own
    assert [entry.id for entry in found.entries] == best
    np.testing.assert_allclose(found.cosines, cosines[best], atol=1e-6)


def test_neighbours_by_bytes(bytes_model: str) -> None:
    found = neighbours("key", k=3, model=bytes_model)
    assert len(found.entries) == 3
    assert "".join(entry.piece for entry in found.spelled) == "key"


def test_what_is_not_there_is_said(tiny_model: Path) -> None:
    name = str(tiny_model)
    with pytest.raises(InputError, match=r"no entry 'keyed'. A text spells it with 2: key ##ed"):
        ids_of(["keyed"], model=name)
    for number in (-1, 99_999):
        with pytest.raises(InputError, match=f"no number {number}: it has those from 0 to"):
            decode([number], model=name)
    with pytest.raises(InputError, match="say what entries begin with"):
        find_entries(model=name)
    with pytest.raises(InputError, match="the word is empty"):
        neighbours(" ", model=name)
    with pytest.raises(InputError, match="leaves nothing"):
        neighbours("\x07", model=name)
    with pytest.raises(InputError, match="cannot spell '☃'"):
        neighbours("☃", model=name)
    assert neighbours("[UNK]", model=name).spelled[0].piece == "[UNK]"
    with pytest.raises(InputError, match="k=0"):
        neighbours("key", k=0, model=name)
