"""Documents that a program gives to an index, in contrast to files of a folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from search.errors import InputError
from search.records.own_embedding import decoded, encoded, is_embedding, own_embedding
from search.records.rows import Table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class PassageSpan:
    """A passage that a program cuts itself.

    Attributes:
        start, end: half-open span in the document's text.
        vector: (d,) its embedding; None to encode it.
    """

    start: int
    end: int
    vector: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Document:
    """A document from memory.

    Attributes:
        id: any text but ""; hits have it as `document`. Slashes make folders, for filters like "path:web/**".
        text: text to search. A document without text and title is stored, but never found.
        title: title, which is encoded with each passage; "" for none.
        metadata: JSON values to filter by.
        kind: "text", or "markdown" to use headings and front matter, and to ignore markup.
        vector: (d,) embedding of the whole text, of any length, from the model of the index: the text is a single
            passage, however long, and is not encoded. None to cut and encode it.
        passages: the text's passages, in order; () to cut it. Each is its text, its span (start, end), or a mapping
            with `text` or with `start` and `end`, and maybe a `vector`. Without a vector, a passage that is longer than
            the model reads is cut. Text outside of the passages is kept, but not searched.
    """

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    kind: Literal["text", "markdown"] = "text"
    vector: ArrayLike | None = None
    passages: Sequence[PassageSpan | str | tuple[int, int] | Mapping[str, Any]] = ()

    @classmethod
    def of(cls, source: Document | Mapping[str, Any]) -> Document:
        """Return a checked document; keys of a mapping that are not fields become metadata, as in JSON Lines.

        Raises:
            InputError: a field is missing or has a wrong type.
        """
        if isinstance(source, Mapping):
            values = dict(source)
            own = {name: values.pop(name) for name in _FIELDS & values.keys()}
            if own.get("vector") is None and is_embedding(values.get("embedding")):
                own["vector"] = values.pop("embedding")
            metadata = own.get("metadata")
            if values and (metadata is None or isinstance(metadata, Mapping)):
                own["metadata"] = {**values, **(metadata or {})}
            if "id" in own:
                own["id"] = document_id(own["id"])
            if "passages" in own:
                own["passages"] = _as_list(own["passages"], f"document {own.get('id')!r}")
            if "text" not in own and own.get("passages"):
                own["text"] = _joined(own["passages"])
            missing = [name for name in ("id", "text") if name not in own]
            if missing:
                raise InputError(f"a document has no '{missing[0]}': {str(source)[:80]}")
            source = cls(**own)
        if not isinstance(source, cls):
            raise InputError(f"{str(source)[:80]!r} is neither a Document nor a mapping.")
        source._check()
        return source._with_spans()

    @classmethod
    def stored(cls, id_: str, content: str) -> Document:
        """Return a checked document from its ID and its `content`.

        Raises:
            ValueError, TypeError: the content is not that of a document.
        """
        values = json.loads(content)
        if "vector" in values:
            values["vector"] = decoded(values["vector"])
        if "passages" in values:
            values["passages"] = tuple(
                PassageSpan(start, end, vector and decoded(vector))
                for start, end, vector in values["passages"]
            )
        document = cls(id_, **values)
        document._check()
        return document

    def _with_spans(self) -> Document:
        """Return the document with a vector of numbers, and with the spans of its own passages.

        Raises:
            InputError: a vector is none, or a passage is not part of the text.
        """
        name = f"document {self.id!r}"
        items = _as_list(self.passages, name)
        if self.vector is None and not items:
            return self if self.passages == () else replace(self, passages=())
        if self.vector is not None and items:
            raise InputError(f"{name} has a vector and passages. Give each passage its vector.")
        if not (self.text.strip() or self.title.strip()):
            raise InputError(f"{name} has a vector, but neither a text nor a title by which it is shown.")
        vector = None if self.vector is None else own_embedding(self.vector, name)
        return replace(self, vector=vector, passages=tuple(_spans(self.text, items, name)))

    def _check(self) -> None:
        for name in ("id", "text", "title"):
            if not isinstance(value := getattr(self, name), str):
                raise InputError(f"the {name} of {self.id!r} is of type {type(value).__name__}.")
        if not isinstance(self.metadata, Mapping):
            raise InputError(f"the metadata of document {self.id!r} are not a mapping.")
        if self.kind not in ("text", "markdown"):
            raise InputError(f"kind={self.kind!r} is unknown. Choose from: text, markdown.")
        if not self.id or self.id.encode(errors="replace").decode() != self.id:
            raise InputError(f"{self.id!r} cannot be the ID of a document: it is empty or not Unicode.")

    @property
    def content(self) -> str:
        """Everything but the ID, as JSON; an embedding is Base64 of little-endian float32."""
        values = {name: value for name, value in vars(self).items() if name in _ALWAYS_STORED}
        if self.vector is not None:
            values["vector"] = encoded(self.vector)
        if self.passages:
            values["passages"] = [
                (span.start, span.end, span.vector and encoded(span.vector)) for span in self.spans
            ]
        return json.dumps(values, ensure_ascii=False, sort_keys=True)

    @property
    def spans(self) -> tuple[PassageSpan, ...]:
        """The own passages of a document that `of` or `stored` has returned; one of the whole text for a `vector`."""
        if self.vector is not None:
            text = self.text if self.text.strip() else self.title
            return (PassageSpan(0, len(text), cast("tuple[float, ...]", self.vector)),)
        return cast("tuple[PassageSpan, ...]", tuple(self.passages))

    @property
    def record(self) -> dict[str, Any]:
        """The document as a mapping that `of` reads back; what is empty or the default is left out."""
        values: dict[str, Any] = {
            "id": self.id,
            "text": self.text,
            "title": self.title,
            "metadata": dict(self.metadata),
        }
        values |= {"kind": self.kind} if self.kind != "text" else {}
        if self.vector is not None:
            values["vector"] = list(cast("tuple[float, ...]", self.vector))
        if self.passages:
            values["passages"] = [_record_of(span) for span in self.spans]
        return {name: value for name, value in values.items() if value or name in ("id", "text")}


def document_id(value: Any) -> Any:
    """Return a whole number, also one of NumPy, as the ID of a document; other values are returned as they are.

    Example:
        >>> document_id(12), document_id("T-1")
        ('12', 'T-1')
    """
    return str(int(value)) if isinstance(value, Integral) and not isinstance(value, bool) else value


@dataclass(frozen=True)
class DamagedDocument:
    """A document from memory that its index does not give back as it was stored.

    Attributes:
        id: its ID; the number of its row if the ID cannot be read.
        problem: what is wrong with it.
        document: the document as it is now, if it can still be read; None if not.
    """

    id: str
    problem: str
    document: Document | None = None

    def __str__(self) -> str:
        return f"'{self.id}': {self.problem}"


def _joined(passages: Any) -> str:
    """Return the text of a document that is given by the texts of its passages."""
    items = [item.get("text") if isinstance(item, Mapping) else item for item in passages]
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) < len(items):
        raise InputError(
            "a document without 'text' needs passages that are texts, or have the key 'text'."
        )
    return "\n\n".join(texts)


def _as_list(passages: Any, name: str) -> list[Any]:
    """Return own passages as a list; [] for None.

    Raises:
        InputError: they are no list.
    """
    if hasattr(passages, "tolist"):
        passages = passages.tolist()
    if passages is None:
        return []
    if isinstance(passages, str | bytes | Mapping) or not isinstance(passages, Iterable):
        raise InputError(f"the passages of {name} are no list: {str(passages)[:60]!r}")
    return list(passages)


def _spans(text: str, passages: Iterable[Any], name: str) -> Iterator[PassageSpan]:
    """Yield the spans of own passages.

    Texts are sought one after the other, without overlap where that is possible. If one is not found so, each is taken
    where it comes first after the beginning of the previous one.
    """
    values = [_passage_values(item) for item in passages]
    places = list(_places(text, values, apart=True))
    if None in places and None not in (closer := list(_places(text, values, apart=False))):
        places = closer
    for number, (item, value, place) in enumerate(zip(passages, values, places, strict=True), 1):
        owner = f"passage {number} of {name}"
        if place is None:
            part = value["text"][:60]
            raise InputError(f"{owner} is not in its text after the previous passage: {part!r}")
        start, end = place
        if not 0 <= start < end <= len(text):
            raise InputError(
                f"{owner} is neither a text nor a span of its {len(text):,} characters: {str(item)[:60]}"
            )
        vector = value.get("vector", value.get("embedding"))
        yield PassageSpan(start, end, None if vector is None else own_embedding(vector, owner))


def _places(
    text: str, passages: Sequence[Mapping[str, Any]], *, apart: bool
) -> Iterator[tuple[int, int] | None]:
    """Yield the beginning and end of own passages; None for one that is not in the text.

    None begins before the previous one; if `apart`, it begins after its end where that is possible.
    """
    before = after = 0  # beginning and end of the previous passage
    for values in passages:
        part = values.get("text")
        if isinstance(part, str):
            start = text.find(part, after) if apart else -1
            start = text.find(part, before) if start < 0 else start
            if (start, start + len(part)) == (before, after):  # the previous passage once more
                start = text.find(part, before + 1)
            place = (start, start + len(part)) if start >= 0 else None
        else:
            place = _place(values.get("start")), _place(values.get("end"))
        before, after = place or (before, after)
        yield place


def _place(value: Any) -> int:
    """Return a place in a text as a number; -1 if it is none."""
    return int(value) if isinstance(value, Integral) else -1


def _passage_values(item: Any) -> Mapping[str, Any]:
    """Return an own passage as a mapping; an empty one if it is none."""
    if isinstance(item, PassageSpan):
        return vars(item)
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, list | tuple) and len(item) == 2:
        return dict(zip(("start", "end"), item, strict=True))
    return item if isinstance(item, Mapping) else {}


def _record_of(span: PassageSpan) -> dict[str, Any]:
    place: dict[str, Any] = {"start": span.start, "end": span.end}
    return place if span.vector is None else {**place, "vector": list(span.vector)}


_FIELDS = {item.name for item in fields(Document)}
_ALWAYS_STORED = ("text", "title", "metadata", "kind")
Documents: TypeAlias = "Iterable[Document | Mapping[str, Any]] | Document | Mapping[str, Any] | Table"
"""Documents, mappings, a single one of these, or a table: see `Index.upsert`."""
