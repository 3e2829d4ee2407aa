"""What is encoded in front of a passage: the document's title and the headings above it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence


class Contexts:
    """The contexts of one document's passages.

    Args:
        title: the document's.
        most: tokens that a context may have, its line end included.
        count: tells the tokens of a text, without special ones.
    """

    def __init__(self, title: str, most: int, count: Callable[[str], int]) -> None:
        self._title, self._most, self._count = title, most, count
        self._costs: dict[str, int] = {"": 0}

    def of(self, trail: Sequence[str], shown: Sequence[str] = ()) -> str:
        """The fullest context that is short enough, for a passage that begins with the headings `shown`."""
        if self._most == 0:
            return ""
        return next(text for text in choices(self._title, trail, shown) if self.cost(text) <= self._most)

    def cost(self, context: str) -> int:
        """Tokens that a context takes from the room for text."""
        if context not in self._costs:
            self._costs[context] = self._count(context + "\n")
        return self._costs[context]


def choices(title: str, trail: Sequence[str], shown: Sequence[str] = ()) -> Iterator[str]:
    """The contexts that a passage could have, from the fullest to none.

    Title and all headings; title and innermost heading; that heading alone; the title alone; "".
    Each part stands on a line of its own. A title that the outermost heading repeats is there once.

    Args:
        title: the document's.
        trail: the headings above the passage, outermost first.
        shown: headings that the passage's own text begins with, which are left out, as title too.

    Example:
        >>> list(choices("Guide", ("Guide", "Keys", "Rotation")))
        ['Guide\\nKeys\\nRotation', 'Guide\\nRotation', 'Rotation', 'Guide', '']
    """
    said = {_folded(words) for words in shown}
    headings = [words for words in trail if _folded(words) not in said]
    if headings and _folded(headings[0]) == _folded(title):
        headings = headings[1:]
    titles = [title] if title and _folded(title) not in said else []
    innermost = headings[-1:]
    offered: tuple[list[str], ...] = (titles + headings, titles + innermost, innermost, titles, [])
    yield from dict.fromkeys("\n".join(parts) for parts in offered)


def _folded(words: str) -> str:
    return " ".join(words.split()).casefold()
