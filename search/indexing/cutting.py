"""A file as it would be indexed: its documents and passages, without an index."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from search.corpus import Cutter, Skipped, SourceFile, documents, load
from search.encoding.encoder import Encoder
from search.errors import InputError
from search.records.documents import Passage
from search.store.settings import PassageSettings


def room_for(encoder: Encoder) -> int:
    """How many tokens an encoder reads besides the prompt that it puts before each passage."""
    prompt = encoder.prompt("document")
    n_prompt = len(encoder.tokenizer.encode(prompt, add_special_tokens=False).ids) if prompt else 0
    return encoder.max_tokens - n_prompt


def cutter_for(
    encoder: Encoder, settings: PassageSettings, boilerplate: frozenset[int] = frozenset()
) -> Cutter:
    """What cuts documents for an encoder."""
    return Cutter(
        encoder.tokenizer, max_tokens=room_for(encoder), boilerplate=boilerplate, **asdict(settings)
    )


def passages_of(
    file: str | Path, *, model: str | None = None, offline: bool = False
) -> list[tuple[str, list[Passage]]]:
    """The passages of each document in a file, by the document's name, as a new index of its folder would have them.

    But for boilerplate, which only a folder tells.

    Args:
        model: whose tokens are counted; None for the default model.

    Raises:
        InputError: there is no such file.
        ReadError: it cannot be read.
    """
    path = Path(file).expanduser()
    if not path.is_file():
        raise InputError(f"there is no file '{file}'. Name one whose passages are to be shown.")
    facts = path.stat()
    source = SourceFile(path.name, path, facts.st_size, facts.st_mtime_ns, facts.st_ino)
    cutter = cutter_for(
        Encoder(model, offline=offline) if model else Encoder(offline=offline), PassageSettings()
    )
    return [
        (document.name, cutter.cut(document))
        for document in documents(source, load(source))
        if not isinstance(document, Skipped)
    ]
