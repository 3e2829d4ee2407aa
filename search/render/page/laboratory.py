"""What a model makes of texts: attention and cosines of sentences, also as files; on the server forms and tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from search.records.comparisons import Similarities
from search.records.inspections import Attention, ContextualCosines, InputToken, Inspection
from search.render.format import letters, one_line
from search.render.heatmap import CAVEATS, By, rows_line
from search.render.inspection import (
    compared,
    embedding_lengths,
    model_line,
    pooler_line,
    turned_rows,
    what_was_compared,
)
from search.render.page.document import (
    Page,
    about,
    bar,
    data,
    hidden,
    isolated,
    kept,
    link,
    options,
    shade,
    text,
)
from search.render.page.why import choices

if TYPE_CHECKING:
    from search.records.tokens import Matrix

LONGEST = 8_000  # characters of all texts, which go into an address
SHOWN = {"tokens": "tokens and layers", "attention": "who reads whom", "word": "a word in its contexts"}


@dataclass(frozen=True)
class Given:
    """What stands in a form.

    Attributes:
        indexes: names of those whose model may be asked; `index` is the one that is.
        texts: as they were typed.
        problem: why there is no answer; "" for none.
    """

    indexes: Sequence[str]
    index: str
    texts: Sequence[str] = ()
    problem: str = ""

    def text(self, number: int) -> str:
        return self.texts[number] if number < len(self.texts) else ""


def sentences_form(given: Given, most: int, answer: Page | None) -> Page:
    """Sentences to be compared with each other, one a line."""
    typed = "\n".join(given.texts)
    fields = f"""{_area("text", "Sentences, one a line", typed, 7)}{_model(given)}
<button>Compare</button>
<span class="faint">At most {most}, and {LONGEST:,} characters in all.</span>"""
    form = f'<form class="controls" action="/similarity">{fields}</form>'
    return _page(
        "How alike are these sentences?", _ways(given, tokens=False) + _live(form, given, answer), answer
    )


def pair_form(given: Given, layers: int, layer: int, by: By, tables: bool, answer: Page | None) -> Page:
    """Two texts to be compared token by token."""
    fields = f"""{hidden(tokens=1)}{_area("text", "First text", given.text(0), 3)}
{_area("text", "Second text", given.text(1), 3)}{_model(given)}
{choices(layers, layer, by, tables)}<button>Compare</button>"""
    form = f'<form class="controls" action="/similarity">{fields}</form>'
    return _page("Which token is like which?", _ways(given, tokens=True) + _live(form, given, answer), answer)


def inside_form(given: Given, show: str, word: str, against: str, answer: Page | None) -> Page:
    """A text or a pair to be looked at inside the model."""
    fields = f"""{_area("text", "Text", given.text(0), 2)}
{_area("text2", "Second text, if there is one", given.text(1), 2)}{_model(given)}
<label>Show <select name="show">{options(SHOWN, show)}</select></label>
<label>Word <input name="word" value="{kept(word)}" size="12" maxlength="100"></label>
<label>compared with <input name="against" value="{kept(against)}" size="24" maxlength="400"></label>
<button>Look</button>
<span class="faint">The word is for its contexts, which are the two texts; what it is compared with stands between
commas. The first look loads PyTorch, which takes some seconds.</span>"""
    form = f'<form class="controls" action="/inspect">{fields}</form>'
    return _page("What does the model make of a text?", _live(form, given, answer), answer)


def _page(title: str, body: str, answer: Page | None) -> Page:
    uses = ("live.js", "sentences.js", "explanation.js", "attention.js", "attention.css")
    shown = Page(title, title, "", body, uses)
    return shown if answer is None else replace(shown, title=answer.title)


def _live(form: str, given: Given, answer: Page | None) -> str:
    """A form, and what came of it."""
    found = f'<p role="alert">{text(given.problem)}</p>' if given.problem else ""
    if answer is not None:
        found = f"<h2>{answer.heading}</h2>{answer.about}{answer.body}"
    return f"<live-part>{form}{found}</live-part>"


def _ways(given: Given, *, tokens: bool) -> str:
    """From sentences to tokens, and back."""
    ways = (("Sentences", "", not tokens), ("Two texts, token by token", "1", tokens))
    current = ' aria-current="page"'
    listed = "".join(
        f'<a href="{link("/similarity", index=given.index, tokens=value)}"{current if here else ""}>{name}</a>'
        for name, value, here in ways
    )
    return f'<nav class="ways" aria-label="What is compared">{listed}</nav>'


def _area(name: str, label: str, typed: str, rows: int) -> str:
    return (
        f'<label class="wide">{label}<textarea name="{name}" rows="{rows}" maxlength="{LONGEST}" dir="auto">\n'
        f"{kept(typed)}</textarea></label>"
    )


def _model(given: Given) -> str:
    """Whose model is asked, where there are several."""
    if len(given.indexes) < 2:
        return hidden(index=given.index)
    names = {name: name for name in given.indexes}
    return f'<label>Model of the index <select name="index">{options(names, given.index)}</select></label>'


def inspection(inspected: Inspection) -> Page:
    """The page of a text or a pair that a model read."""
    tokens = inspected.tokens
    special = sum(token.special for token in tokens)
    names, lengths = embedding_lengths(inspected)
    turned = turned_rows(inspected)
    body = f"""<h3>{len(tokens)} tokens, {special} of them special</h3>
<ol class="tokens">{"".join(map(_chip, tokens))}</ol>
<p class="faint">Below a token its id, the row of its vector in the vocabulary.{_spelled(inspected)}</p>
<details><summary>As a table</summary>{_table("Tokens", ("token", *_FACTS), map(_facts, tokens), tokens)}</details>
<h3>Embedding layer: what each token brings before any other has been read</h3>
{_table("Lengths of the vectors in the embedding layer", ("token", *names), map(_plain, lengths), tokens)}
<p class="faint">Lengths of the vectors. Put together here, the layer differs from the model's own output by at most
{inspected.embedding.difference:.1e}.</p>
<h3>Each token through the layers</h3>
{_table("Cosines with the layer before", ("token", *_layers(inspected)), _shaded(turned), tokens)}
<p class="faint">The cosine of a token's vector with itself one layer before; the deeper the shade, the farther it
turned.</p>
<h3>Pooler</h3><p>{text(pooler_line(inspected))}</p>"""
    said = text(model_line(inspected.model))
    return Page(f"Inside: {inspected.texts[0]}", "What the model makes of it", about(said=said), body)


def in_contexts(cosines: ContextualCosines) -> Page:
    """The page of words in several contexts, layer by layer."""
    facts = (
        (letters(i), _marked(*one)) for i, one in enumerate(zip(cosines.texts, cosines.found, strict=True))
    )
    names, columns = compared(cosines)
    heads = "".join(f'<th scope="col">{isolated(name)}</th><td></td>' for name in names)
    rows = "".join(
        f'<tr><th scope="row">{layer}</th>'
        + "".join(f"<td>{value:.4f}</td><td>{bar(value, 1.0)}</td>" for value in values)
        + "</tr>"
        for layer, values in enumerate(zip(*columns, strict=True))
    )
    body = f"""<div class="scroll" role="region" aria-label="Cosines by layer" tabindex="0"><table class="numbers bars">
<thead><tr><th scope="col">layer</th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>
<p class="faint">{text(what_was_compared(cosines))}</p>"""
    return Page("A word in contexts", "The same word in other company", about(facts), body)


_FACTS = ("id", "characters", "word", "segment")


def _facts(token: InputToken) -> str:
    span = "" if token.special else f"{token.start}\u2013{token.end}"
    word = "" if token.word is None else token.word
    return "".join(f"<td>{value}</td>" for value in (token.id, span, word, token.segment))


def _chip(token: InputToken) -> str:
    kinds = {"special": token.special, "unknown": token.unknown, "second": token.segment}
    classes = " ".join(name for name, there in kinds.items() if there)
    return f'<li class="{classes}">{isolated(token.text)} <small>{token.id}</small></li>'


def _spelled(inspected: Inspection) -> str:
    """Words that are no entries."""
    split = dict.fromkeys(word.text for word in inspected.words if word.split)
    unknown = dict.fromkeys(word.text for word in inspected.words if word.unknown)
    said = (
        f" No entries of their own, so spelled with several: {', '.join(map(isolated, split))}."
        if split
        else ""
    )
    return f"{said} Unknown: {', '.join(map(isolated, unknown))}." if unknown else said


def _layers(inspected: Inspection) -> list[str]:
    return [f"layer {layer}" for layer in range(1, len(inspected.states))]


def _plain(values: Sequence[float]) -> str:
    return "".join(f"<td>{value:.3f}</td>" for value in values)


def _shaded(rows: Sequence[Sequence[float]]) -> Iterable[str]:
    """Cells of cosines, shaded by how far they are from 1."""
    end = max((1 - value for row in rows for value in row), default=1.0)
    return ("".join(f'<td class="{shade(1 - value, end)}">{value:.3f}</td>' for value in row) for row in rows)


def _table(name: str, heads: Iterable[str], rows: Iterable[str], tokens: Sequence[InputToken]) -> str:
    """A line for each token."""
    shown = "".join(
        f'<tr><th scope="row">{isolated(token.text)}</th>{cells}</tr>'
        for token, cells in zip(tokens, rows, strict=True)
    )
    columns = "".join(f'<th scope="col">{head}</th>' for head in heads)
    return f"""<div class="scroll" role="region" aria-label="{name}" tabindex="0">
<table class="numbers"><thead><tr>{columns}</tr></thead><tbody>{shown}</tbody></table></div>"""


def _marked(source: str, span: tuple[int, int]) -> str:
    start, end = span
    return f"<bdi>{text(source[:start])}<b>{text(source[start:end])}</b>{text(source[end:])}</bdi>"


_PLACES = 1000  # weights are rounded to thousandths
_DIGITS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", dtype=np.uint8)

_CONTROLS = """<div class="controls" hidden>
<label>Layer <select data-part="layer">{layers}</select></label>
<label>Show <select data-part="head">{heads}</select></label></div>"""

_DETAIL = """<section class="detail" aria-live="polite">
<p>Point at a token on the left to see what it reads, on the right to see who reads it. Tab and the arrow keys do it
too; Escape shows all again.</p></section>"""

_MORE = """<p>Heads often put most of their weight on [CLS], [SEP] or a full stop; Clark et al. 2019 take that for a
way to do nothing. After the first layer a position holds a mixture of tokens.</p>"""


def attention(attention: Attention, layer: int | None = None, head: int | None = None) -> Page:
    """The page of a text's attention. It opens at a layer and head, else at the last layer's mean."""
    opened = layer or attention.layers, head or attention.heads + 1
    body = "\n".join(
        (
            "<attention-view>",
            _controls(attention, opened),
            f'<div class="heads"><div class="view">{_tokens(attention, "from", "reads")}'
            f'<svg class="lines" aria-hidden="true"></svg>{_tokens(attention, "to", "is read")}</div>{_DETAIL}</div>',
            f'<p class="faint">{text(rows_line(attention))} On this page weights are rounded to thousandths. '
            '<span data-part="drawn"></span></p>',
            '<section data-part="all" hidden><h2>Every head of every layer</h2><div class="scroll"></div>'
            '<p class="faint">A row reads, a column is read; the colour grows with the square root of the '
            "weight.</p></section>",
            f"<section><h2>What attention does not tell</h2>{''.join(f'<p>{text(caveat)}</p>' for caveat in CAVEATS)}"
            f"{_MORE}</section>",
            f"{data(_values(attention, opened))}</attention-view>",
        )
    )
    title = f"Attention: {attention.texts[0]}"
    return Page(title, "Which token reads which", _about(attention), body, ("attention.js", "attention.css"))


def _values(attention: Attention, opened: tuple[int, int]) -> dict[str, Any]:
    """What the script works on."""
    return {
        "layers": attention.layers,
        "heads": attention.heads,
        "tokens": [token.text for token in attention.tokens],
        "special": [int(token.special) for token in attention.tokens],
        "weights": [_layer(attention, number) for number in range(1, attention.layers + 1)],
        "places": _PLACES,
        "opened": opened,
    }


def encoded(weights: Matrix) -> str:
    """Two characters for each weight of a matrix, row by row: thousandths, in base 64."""
    rounded = np.rint(np.asarray(weights, dtype=np.float64) * _PLACES).astype(np.int64).ravel()
    pairs = np.stack([_DIGITS[rounded >> 6], _DIGITS[rounded & 63]], axis=1)
    return pairs.tobytes().decode("ascii")


def _layer(attention: Attention, layer: int) -> list[str]:
    """The heads of a layer, and their mean."""
    heads = [encoded(attention.matrix(layer, head)) for head in range(1, attention.heads + 1)]
    return [*heads, encoded(attention.matrix(layer))]


def _about(attention: Attention) -> str:
    names = ("Text",) if len(attention.texts) == 1 else ("First", "Second")
    texts = [(name, f"<b>{isolated(given)}</b>") for name, given in zip(names, attention.texts, strict=True)]
    return about((*texts, ("Model", isolated(attention.model))))


def _controls(attention: Attention, opened: tuple[int, int]) -> str:
    heads = {str(head): f"head {head}" for head in range(1, attention.heads + 1)}
    heads[str(attention.heads + 1)] = "mean of the heads"
    layers = {str(layer): str(layer) for layer in range(1, attention.layers + 1)}
    layer, head = map(str, opened)
    return _CONTROLS.format(layers=options(layers, layer), heads=options(heads, head))


def _tokens(attention: Attention, side: str, said: str) -> str:
    """The tokens one below the other, as things to point at."""
    lines = "".join(
        f'<li><span class="unit{" special" if token.special else ""}" data-token="{i}" tabindex="-1" '
        f'role="button">{isolated(token.text)}</span></li>'
        for i, token in enumerate(attention.tokens)
    )
    return f'<div class="side" data-side="{side}"><h2>{said}</h2><ol>{lines}</ol></div>'


MOST_CELLS = 40_000  # more make a page that no browser scrolls well


def sentences(similarities: Similarities) -> Page:
    """The page of a matrix of sentences.

    Raises:
        ValueError: it has more than MOST_CELLS cells.
    """
    n, m = similarities.cosines.shape
    if n * m > MOST_CELLS:
        raise ValueError(f"{n} x {m} cosines are more than the {MOST_CELLS:,} that a page can hold")
    names = [str(j + 1) if similarities.itself else letters(j) for j in range(m)]
    heads = "".join(
        f'<th scope="col" data-column="{j}"><span class="unit" tabindex="-1" role="button">{name}</span></th>'
        for j, name in enumerate(names)
    )
    rows = "".join(
        f'<tr><th scope="row" data-row="{i}"><span class="unit" tabindex="-1" role="button">'
        f"<i>{i + 1}</i> {isolated(sentence)}</span></th>{_cells(i, cosines)}</tr>"
        for i, (sentence, cosines) in enumerate(
            zip(similarities.rows, similarities.cosines.tolist(), strict=True)
        )
    )
    made = f"{isolated(similarities.model)}, {text(similarities.pooling)} pooling"
    said = f"{n} \u00d7 {m} cosines of sentence embeddings: {made}"
    values = {
        "rows": [one_line(sentence) for sentence in similarities.rows],
        "columns": [one_line(sentence) for sentence in similarities.columns],
        "names": names,
        "itself": similarities.itself,
        "cosine": [[round(cell, 4) for cell in row] for row in similarities.cosines.tolist()],
    }
    body = f"""<sentence-matrix>
<div class="scroll"><table class="matrix">
<thead><tr><td></td>{heads}</tr></thead><tbody>{rows}</tbody></table></div>
<section class="detail" aria-live="polite">
<p>Point at a cell or a sentence, or go from cell to cell with Tab and the arrow keys.</p></section>
{_legend(similarities, names)}
{data(values)}</sentence-matrix>"""
    title = "How alike these sentences are"
    return Page(title, title, about(said=said), body, ("sentences.js",))


def _cells(row: int, cosines: list[float]) -> str:
    return "".join(
        f'<td class="{shade(value, 1.0)}" data-row="{row}" data-column="{j}" tabindex="-1">'
        f"{value:.2f}</td>".replace(">-", ">\u2212")
        for j, value in enumerate(cosines)
    )


def _legend(similarities: Similarities, names: list[str]) -> str:
    """The sentences of the columns, where they are not those of the rows."""
    if similarities.itself:
        return ""
    lines = "".join(
        f"<div><dt>{name}</dt><dd>{isolated(sentence)}</dd></div>"
        for name, sentence in zip(names, similarities.columns, strict=True)
    )
    return f'<h2>Columns</h2><dl class="legend">{lines}</dl>'
