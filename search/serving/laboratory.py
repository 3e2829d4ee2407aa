"""Pages that compare texts and look inside them, with the model of an index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, model_validator
from starlette.requests import Request
from starlette.responses import HTMLResponse

from search.encoding import Encoder
from search.errors import InputError, OptionalDependency
from search.records.explanations import middle_layer
from search.render import page as drawn
from search.render.page import laboratory
from search.render.page.document import Page
from search.render.page.laboratory import LONGEST, Given, in_contexts, inspection
from search.render.units import units
from search.serving.pages import answered
from search.serving.parameters import MOST_TEXTS, DeskHere, IndexName, ServedHere
from search.serving.served import Served
from search.texts import compare, explain

router = APIRouter()

Typed = Annotated[str, Field(max_length=LONGEST)]


class OfTexts(BaseModel):
    """What a form sends; what it leaves empty says nothing."""

    index: IndexName = None

    @model_validator(mode="before")
    @classmethod
    def taken(cls, given: Any) -> Any:
        """What was sent without what a form leaves empty."""
        return {name: value for name, value in given.items() if value != ""}


class Compared(OfTexts):
    """Sentences; or two texts, token by token."""

    text: Annotated[list[Typed], Field(max_length=MOST_TEXTS)] = Field(default_factory=list)
    tokens: bool = False
    by: Literal["word", "token"] = "token"
    layer: Annotated[int | None, Field(ge=0, le=1000)] = None
    tables: bool = False


class Inside(OfTexts):
    """A text or a pair, and what is shown of it."""

    text: Typed = ""
    text2: Typed = ""
    show: Literal["tokens", "attention", "word"] = "tokens"
    word: Annotated[str, Field(max_length=100)] = ""
    against: Annotated[str, Field(max_length=400)] = ""


@router.get("/similarity", include_in_schema=False)
async def similarity(
    request: Request, asked: Annotated[Compared, Query()], served: ServedHere, desk: DeskHere
) -> HTMLResponse:
    """How alike sentences are, or the tokens of two texts."""

    def answer() -> tuple[Page, int]:
        given = _given(served, asked, asked.text)
        encoder = served.index(given.index).encoder
        if asked.tokens:
            layer = middle_layer(encoder.n_layers) if asked.layer is None else asked.layer
            found, given = _answer(given, lambda: _explained(asked, encoder))
            shown = laboratory.pair(given, encoder.n_layers, layer, asked.by, asked.tables, found)
        else:
            found, given = _answer(given, lambda: _compared(asked, encoder))
            shown = laboratory.sentences(given, MOST_TEXTS, found)
        return shown, 400 if given.problem else 200

    shown, status = await desk.run(answer)
    return answered(request, shown, asked.index or served.first, status=status)


@router.get("/inspect", include_in_schema=False)
async def inspect(
    request: Request, asked: Annotated[Inside, Query()], served: ServedHere, desk: DeskHere
) -> HTMLResponse:
    """What a model makes of a text."""

    def answer() -> tuple[Page, int]:
        given = _given(served, asked, [asked.text, asked.text2])
        found, given = _answer(given, lambda: _looked(asked, served.index(given.index).encoder.model))
        return laboratory.inside(
            given, asked.show, asked.word, asked.against, found
        ), 400 if given.problem else 200

    shown, status = await desk.run(answer)
    return answered(request, shown, asked.index or served.first, status=status)


def _given(served: Served, asked: OfTexts, texts: list[str]) -> Given:
    return Given(tuple(served.indexes), asked.index or served.first, texts)


def _answer(given: Given, work: Callable[[], Page]) -> tuple[Page | None, Given]:
    """What came of the texts in a form; nothing where there are none, or where it cannot be: the form says why."""
    if not any(text.strip() for text in given.texts):
        return None, given
    try:
        return work(), given
    except (InputError, OptionalDependency) as error:
        problem = str(error)
    return None, replace(given, problem=problem)


def _compared(asked: Compared, encoder: Encoder) -> Page:
    """Raise InputError for too few sentences, and too many."""
    lines = [line for text in asked.text for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        raise InputError("two sentences at least are needed to compare. Write each on a line of its own.")
    if len(lines) > MOST_TEXTS:
        raise InputError(
            f"there are {len(lines)} sentences, and {MOST_TEXTS} are compared here. Take fewer, or run: "
            "seewhy similarity --file FILE --html PAGE"
        )
    return drawn.sentences(compare(lines, model=encoder))


def _explained(asked: Compared, encoder: Encoder) -> Page:
    texts = [text for text in asked.text if text.strip()]
    if len(texts) != 2:
        raise InputError("two texts are compared token by token. Fill in both.")
    why = explain(*texts, layer=asked.layer, model=encoder)
    return drawn.explanation(why, units(why, asked.by), tables=asked.tables)


def _looked(asked: Inside, model: str) -> Page:
    """Raise InputError for what the model cannot read, or what would be too much for a browser."""
    from search import bert

    if asked.show == "word":
        texts = [text for text in (asked.text, asked.text2) if text.strip()]
        others = [one.strip() for one in asked.against.split(",") if one.strip()]
        return in_contexts(bert.in_contexts(asked.word, texts, others, model=model, offline=True))
    looked = bert.inspect(asked.text, asked.text2 or None, model=model, offline=True)
    if asked.show == "tokens":
        return inspection(looked)
    looked.attention.require_at_most(drawn.MOST_WEIGHTS)
    return drawn.attention(looked.attention)
