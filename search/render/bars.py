"""Probabilities as bars, for a terminal: filled masks, next sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from search.records.predictions import Filled, Guess, NextSentence
from search.render.escape import one_line
from search.render.heatmap import letters
from search.render.terminal import canvas, drawn

_BAR = 20
_TOGETHER = "All masks are masked at once, and each is guessed by itself: the guesses need not fit together."
_TRAINED = (
    "The head was trained to tell a text's neighbour from a text of another document, so a change of topic is what it "
    "sees; it says little about order or sense within one document."
)


@dataclass(frozen=True)
class Bar:
    """A line: what it is of, numbers, and the probability that is drawn."""

    name: str
    value: float
    numbers: tuple[str, ...]
    faint: bool = False


@dataclass(frozen=True)
class Group:
    """Lines under a title; `headers` are those of the names and of the numbers."""

    title: str
    headers: tuple[str, ...]
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Chart:
    """What is drawn: a title, (name, text) lines about it, groups of bars, and notes below.

    `result` is a text that comes out of it, "" for none.
    """

    title: str
    about: tuple[tuple[str, str], ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...]
    result: str = ""


def chart(found: Chart, *, width: int = 80, colour: bool = False) -> str:
    """The bars for a terminal."""
    console = canvas(width, colour)
    about = Table(box=None, show_header=False, pad_edge=False)
    about.add_column(style="dim", no_wrap=True)
    about.add_column(overflow="fold")
    for name, text in found.about:
        about.add_row(name, one_line(text))
    console.print(about)
    for group in found.groups:
        console.print()
        if group.title:
            console.print(Text(one_line(group.title), style="bold"))
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column(group.headers[0], overflow="fold")
        for header in group.headers[1:]:
            table.add_column(header, justify="right", no_wrap=True)
        table.add_column("", style="blue", no_wrap=True)
        for bar in group.bars:
            style = "dim" if bar.faint else ""
            table.add_row(
                Text(one_line(bar.name), style=style),
                *bar.numbers,
                "█" * round(bar.value * _BAR),
                style=style,
            )
        console.print(table)
    if found.result:
        console.print()
        console.print(Text(one_line(found.result), style="bold"))
    if found.notes:
        console.print()
        console.print("\n".join(found.notes), style="dim")
    return drawn(console)


def filled(found: Filled) -> Chart:
    """The words at each masked place; where candidates were asked about, these and the best one besides."""
    groups = []
    for number, mask in enumerate(found.masks, 1):
        place = f"characters {mask.start}-{mask.end}"
        which = f"mask {number} of {len(found.masks)}, " if len(found.masks) > 1 else ""
        if mask.hidden:
            name = one_line(found.text[mask.start : mask.end])
            title = f"{which}'{name}', {place}: rank {mask.hidden.rank:,} of {found.vocabulary:,}, "
            groups.append(
                _guesses(title + f"probability {probability(mask.hidden.probability)}", mask.guesses)
            )
        else:
            groups.append(_guesses(f"{which}{place}", mask.guesses))
        if mask.among:
            groups.append(_guesses(f"{which}of the words that were asked about", mask.among))
    notes = [f"Probabilities are taken over all {found.vocabulary:,} entries of the vocabulary."]
    if len(found.masks) > 1:
        notes.append(_TOGETHER)
    if any(guess.piece.startswith("##") for mask in found.masks for guess in (*mask.guesses, *mask.among)):
        notes.append("## goes on with the word before it.")
    return Chart(
        title="The most likely words",
        about=(("text", found.text), ("model", found.model)),
        groups=tuple(groups),
        notes=tuple(notes),
        result=found.filled,
    )


def next_sentences(found: Sequence[NextSentence]) -> Chart:
    """How likely each text follows the one before it, and the other way round."""
    texts = [found[0].first, *(pair.second for pair in found)]
    names = [letters(i) for i in range(len(texts))]
    bars = []
    for number, pair in enumerate(found):
        one, two = names[number], names[number + 1]
        bars.append(_follows(f"{two} after {one}", pair.probability, pair.logits))
        bars.append(_follows(f"{one} after {two}", pair.reverse_probability, pair.reverse_logits, faint=True))
    return Chart(
        title="Does the next text follow?",
        about=(*zip(names, texts, strict=True), ("model", found[0].model)),
        groups=(Group("", ("", "probability", "is next", "is not next"), tuple(bars)),),
        notes=("Probability is the softmax of the two logits beside it.", _TRAINED),
    )


def probability(value: float) -> str:
    """Four decimals, or two digits where these would be zeros."""
    return f"{value:.4f}" if value >= 0.00005 or value == 0 else f"{value:.1e}"


def _guesses(title: str, guesses: Sequence[Guess]) -> Group:
    bars = [
        Bar(
            name=guess.piece if guess.piece.startswith("##") else guess.word,
            value=guess.probability,
            numbers=(f"{guess.rank:,}", probability(guess.probability), f"{guess.logit:.3f}"),
        )
        for guess in guesses
    ]
    return Group(title, ("word", "rank", "probability", "logit"), tuple(bars))


def _follows(name: str, likely: float, logits: tuple[float, float], faint: bool = False) -> Bar:
    return Bar(name, likely, (probability(likely), f"{logits[0]:.3f}", f"{logits[1]:.3f}"), faint)
