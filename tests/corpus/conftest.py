"""Tokenizers small enough to count by hand, a writer of small folders, and a reader of documents for a whole module."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from search.corpus import Skipped, SourceFile, documents, load, table, walk
from search.corpus.parsing import Request
from search.corpus.parsing import parsed as parsed_here
from search.corpus.sources import kind_of
from search.errors import ReadError
from search.records.documents import ParsedDocument

__all__ = ["ParsedDocument", "Skipped", "SourceFile", "walk"]

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def shared(*parts: str) -> Path:
    """A folder of the public development data; the test is skipped where it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"development data is not here: {path}")
    return path


def word_piece() -> Tokenizer:
    """WordPiece tokenizer that lower-cases: nearly one token a letter, [UNK] beyond ASCII; 2 special tokens."""
    letters = string.ascii_lowercase + string.digits + string.punctuation
    words = [
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[PAD]",
        *letters,
        *("##" + letter for letter in letters),
        "the",
        "heading",
    ]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=64, pad_id=3, pad_token="[PAD]")
    return tokenizer


def byte_pairs() -> Tokenizer:
    """Byte-level BPE tokenizer, as GPT-2's, with few merges: nearly one token a byte; no special tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=270, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(["the then there\nthe\nthe heading of the text"] * 4, trainer)
    return tokenizer


def unigram() -> Tokenizer:
    """SentencePiece tokenizer: spaces and line ends belong to the tokens around them; 1 special token."""
    pieces = [("<unk>", 0.0), ("</s>", 0.0), ("▁", -2.0), ("▁the", -1.0), ("the", -1.5), ("\n", -3.0)]
    pieces += [(letter, -4.0) for letter in string.ascii_letters + string.digits + ".,#=-é漢"]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return tokenizer


TOKENIZERS = {"word_piece": word_piece(), "byte_pairs": byte_pairs(), "unigram": unigram()}


@pytest.fixture(params=sorted(TOKENIZERS))
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    """Each of the three kinds of tokenizer in turn."""
    return TOKENIZERS[request.param]


@pytest.fixture
def tree(tmp_path: Path) -> Callable[[Mapping[str, str | bytes]], Path]:
    """Writes files by relative path, without touching line ends, and returns their folder."""

    def write(files: Mapping[str, str | bytes]) -> Path:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path

    return write


def source_file(path: Path) -> SourceFile:
    """The file as the walk would hand it on, were it alone in its folder."""
    status = path.stat()
    return SourceFile(path.name, path, status.st_size, status.st_mtime_ns, status.st_ino)


def read(file: SourceFile, **fields: str) -> Iterator[ParsedDocument | Skipped]:
    """The documents in a file."""
    return documents(file, load(file), **fields)


def items(folder: Path, name: str, content: str | bytes) -> list[ParsedDocument | Skipped]:
    """The documents in a file of this name and content, and what is left out of it."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read(source_file(path)))


def parsed_text(kind: str, text: str) -> ParsedDocument:
    """A text with markup as a document, parsed in this process."""
    (document,) = parsed_here(Request("name", kind, text))
    assert isinstance(document, ParsedDocument)
    return document


def records(name: str, source: str, **fields: str | None) -> list[ParsedDocument | Skipped]:
    """The records of a table of this name and content."""
    columns = fields.get("text_field"), fields.get("title_field")
    return list(table.documents(name, kind_of(name), source, *columns))


def parsed(folder: Path, name: str, content: str | bytes) -> ParsedDocument:
    """The one document in a file of this name and content."""
    (document,) = items(folder, name, content)
    assert isinstance(document, ParsedDocument)
    return document


def outline(document: ParsedDocument) -> list[tuple[tuple[str, ...], str]]:
    """Each section's trail and text."""
    return [(section.trail, document.text[section.start : section.end]) for section in document.sections]


@pytest.fixture
def parse(tmp_path: Path) -> Callable[[str, bytes], ParsedDocument]:
    """Read a file of this name and content, which has one document."""
    return lambda name, raw: parsed(tmp_path, name, raw)


@pytest.fixture
def failure(tmp_path: Path) -> Callable[[str, bytes], ReadError]:
    """The error that reading a file of this name and content raises."""

    def read(name: str, raw: bytes) -> ReadError:
        with pytest.raises(ReadError) as caught:
            parsed(tmp_path, name, raw)
        assert caught.value.path == name
        return caught.value

    return read
