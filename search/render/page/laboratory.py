"""Forms of the server for texts of one's own: how alike they are, and what a model makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from search.render.page.document import Page, hidden, kept, link, options, text
from search.render.page.why import choices
from search.render.units import By

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


def sentences(given: Given, most: int, answer: Page | None) -> Page:
    """Sentences to be compared with each other, one a line."""
    typed = "\n".join(given.texts)
    fields = f"""{_area("text", "Sentences, one a line", typed, 7)}{_model(given)}
<button>Compare</button>
<span class="faint">At most {most}, and {LONGEST:,} characters in all.</span>"""
    form = f'<form class="controls" action="/similarity">{fields}</form>'
    return _page(
        "How alike are these sentences?", _ways(given, tokens=False) + _live(form, given, answer), answer
    )


def pair(given: Given, layers: int, layer: int, by: By, tables: bool, answer: Page | None) -> Page:
    """Two texts to be compared token by token."""
    fields = f"""{hidden(tokens=1)}{_area("text", "First text", given.text(0), 3)}
{_area("text", "Second text", given.text(1), 3)}{_model(given)}
{choices(layers, layer, by, tables)}<button>Compare</button>"""
    form = f'<form class="controls" action="/similarity">{fields}</form>'
    return _page("Which token is like which?", _ways(given, tokens=True) + _live(form, given, answer), answer)


def inside(given: Given, show: str, word: str, against: str, answer: Page | None) -> Page:
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
