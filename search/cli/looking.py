"""What `seewhy lab inspect` looks at: each is asked of the library, then saved, drawn or printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import search.bert as bert
from search.cli.output import DrawnOutput, save
from search.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from search.cli.inspect import AttentionOptions, TextsOptions, VectorOptions
    from search.records.attention import Attention, View


@dataclass(frozen=True)
class Found:
    """Where a result goes: a file of NumPy, if that was asked for, and what `DrawnOutput` writes and prints."""

    output: DrawnOutput
    numbers: VectorOptions

    def show(
        self,
        record: Any,
        text: Callable[..., str],
        *,
        data: Callable[[], str] | None = None,
        arrays: Callable[[], Mapping[str, NDArray[Any]]] | None = None,
        main: str = "",
        png: Callable[[], bytes] | None = None,
        html: Callable[[], str] | None = None,
    ) -> None:
        """
        Args:
            arrays: what is saved, where that is not simply the record's.
            main: of them the one that a .npy file holds.
        """
        path: Path | None = self.numbers.save
        if path:
            self.output.note(save(path, arrays() if arrays else record.arrays, main))
        if self.output.files and png:
            self.output.result(record, text, data=data, png=png, html=html)
        elif self.output.as_json or not path:
            self.output.show(record, text, data=data)


def show_passages(file: str, model: str | None, offline: bool, output: DrawnOutput) -> None:
    from search.indexing.cutting import passages_of
    from search.render import inspection as tables

    found = passages_of(file, model=model, offline=offline)
    output.show(found, tables.passages, data=lambda: tables.passages_json(found))


def show_model(mode: str, every: bool, found: Found, which: dict[str, Any]) -> None:
    from search.render import models as draw

    if mode == "--modules":
        found.show(bert.modules(**which), partial(draw.modules, every=every))
    else:
        drawn = partial(draw.parameters, every=every, values=found.numbers.values)
        found.show(bert.parameters(**which), drawn)


def show_inspection(text: str, text2: str | None, found: Found, which: dict[str, Any]) -> None:
    from search.render import inspection as tables

    inspected = bert.inspect(text, text2, **which)
    found.show(
        inspected,
        partial(tables.inspection, values=found.numbers.values),
        data=lambda: tables.as_json(inspected, vectors=found.numbers.vectors),
        main="hidden_states",
    )


def show_head(
    asked: AttentionOptions, text: str, text2: str | None, found: Found, which: dict[str, Any]
) -> None:
    from search.render.attending import head_at_work

    token = str(asked.token)
    work = bert.work_through(
        text,
        text2,
        layer=asked.layer or 0,
        head=asked.head or 0,
        token=int(token) if token.isdecimal() else token,
        **which,
    )
    found.show(work, partial(head_at_work, values=found.numbers.values), main="weights")


def show_attention(
    asked: AttentionOptions, text: str, text2: str | None, found: Found, which: dict[str, Any]
) -> None:
    from search.bert.attending import require_there
    from search.render import heatmap, picture

    attention, view = bert.attention(text, text2, **which), asked.view
    require_there("layer", asked.layer or 1, attention.layers, attention.model)
    require_there("head", asked.head or 1, attention.heads, attention.model)
    seen = view.matrix(attention)
    found.show(
        attention,
        partial(heatmap.attention, view=view),
        data=lambda: heatmap.attention_json(attention, view),
        arrays=lambda: attention.arrays if seen is None else {"weights": seen},
        main="attentions" if seen is None else "weights",
        png=lambda: picture.attention(attention, view),
        html=lambda: _page(attention, view),
    )


def _page(attention: Attention, view: View) -> str:
    """The page of attention, opened at what was asked for.

    Raises:
        InputError: it would be too large for a browser.
    """
    from search.render import page

    size = attention.weights.size
    if size > page.MOST_WEIGHTS:
        raise InputError(
            f"{size:,} weights are more than the {page.MOST_WEIGHTS:,} that a page can hold. "
            "Take a shorter text, or --png or --json with --layer."
        )
    return page.document(page.attention(attention, view))


def show_contexts(compared: TextsOptions, texts: list[str], found: Found, which: dict[str, Any]) -> None:
    from search.render import contexts as draw
    from search.render import picture

    words = compared.word or []
    contexts = bert.in_contexts(
        words[0] if len(words) == 1 else words, texts, compared.against or [], **which
    )
    found.show(
        contexts,
        draw.contexts,
        data=lambda: draw.contexts_json(contexts),
        main="between",
        png=lambda: picture.contexts(contexts),
    )


def show_equal_rows(text: str, text2: str, found: Found, which: dict[str, Any]) -> None:
    from search.render.contexts import equal_rows

    found.show(bert.equal_rows(text, text2, **which), equal_rows, main="cosines")
