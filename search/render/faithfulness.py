"""The check of an explanation, drawn for a terminal, or as JSON."""

from __future__ import annotations

import json as standard_json
from typing import Any

from rich.padding import Padding
from rich.text import Text

from search.records.comparisons import Faithfulness, Removal
from search.records.explanations import Explanation
from search.records.hits import Hit
from search.render import json
from search.render.escape import one_line
from search.render.terminal import canvas, drawn

_NAMED = 10


def faithfulness(found: Faithfulness, *, width: int = 80, colour: bool = False) -> str:
    """What is lost without the words that count most, in sentences; `width` characters wide."""
    console = canvas(width, colour)
    what = "score" if found.is_score else "cosine"
    console.print(Text(f"Does the {what} need the words that count most?", style="bold"))
    for removal in found.removals:
        console.print(Padding(_sentence(removal, found.words, what), (0, 0, 0, 2)))
        words = ", ".join(one_line(word.text) for word in removal.words[:_NAMED])
        more = f" and {len(removal.words) - _NAMED} more" if len(removal.words) > _NAMED else ""
        console.print(Padding(Text(f"cut out: {words}{more}", style="dim"), (0, 0, 0, 4)))
    console.print(Padding(Text(_verdict(found, what)), (0, 0, 0, 2)))
    console.print(Padding(Text(f"({_how(found)})", style="dim"), (0, 0, 0, 2)))
    return drawn(console)


def _sentence(removal: Removal, words: int, what: str) -> Text:
    count, draws = len(removal.words), len(removal.random)
    if count == words:
        which = "its only word" if count == 1 else f"all its {count} words"
        return Text.assemble(f"Without {which} the {what} ", _change(removal.drop), ".")
    most = "its word that counts most" if count == 1 else f"its {count} words that count most"
    times = "draw" if draws == 1 else "draws"
    return Text.assemble(
        f"Without {most} the {what} ",
        _change(removal.drop),
        f"; without {count} random word{'s' if count > 1 else ''} it ",
        _change(removal.random_mean),
        f" ± {removal.random_spread:.3f} ({draws} {times}, {removal.as_much or 'none'} as much).",
    )


def _change(drop: float) -> tuple[str, str]:
    """What happens to the score, and its style."""
    if abs(drop) < 0.0005:
        return "does not change", ""
    return (f"falls by {drop:.3f}", "bold green") if drop > 0 else (f"rises by {-drop:.3f}", "bold red")


def _verdict(found: Faithfulness, what: str) -> str:
    if not found.removals:
        return "The passage has no word that could be cut out."
    if found.holds is None:
        return "The passage has too few words to tell whether it is these that count."
    if found.holds:
        return f"So the {what} does rest on the words that add most to it."
    return f"Random words do as much too often: the {what} does not rest on the words that add most to it."


def _how(found: Faithfulness) -> str:
    rest = "" if found.is_score else "; the word part of the score is no matter of this check"
    return (
        f"what is left was encoded again; the whole passage has the cosine {found.cosine:.4f}{rest}; "
        "± is the standard deviation of the draws"
    )


def as_json(why: Explanation, hit: Hit | None, found: Faithfulness) -> str:
    """An explanation with its check under the key "faithfulness", as one JSON document."""
    explained = standard_json.loads(json.explanation(why, hit))
    return json.document({**explained, "faithfulness": _plain(found)})


def _plain(found: Faithfulness) -> dict[str, Any]:
    """The check with what it derives, less the texts, which the explanation has."""
    return {
        "cosine": found.cosine,
        "words": found.words,
        "removals": [
            {
                **vars(removal),
                "random_mean": removal.random_mean,
                "random_spread": removal.random_spread,
                "as_much": removal.as_much,
            }
            for removal in found.removals
        ],
        "holds": found.holds,
        "seed": found.seed,
    }
