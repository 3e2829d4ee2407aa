"""What is asked of an index while somebody types, and which replies count. Knows no terminal, thread or clock.

Words are asked for at every change, meaning after a pause; each kind has a lane of its own, in which one question is
under way and only the newest waits. So a slow model holds up no words, and no row of outdated questions builds up.
"""

from __future__ import annotations

from dataclasses import dataclass

from search.records.hits import Hit
from search.records.options import MODES, Mode


@dataclass(frozen=True)
class Asked:
    """One question.

    Attributes:
        turn: which state of the input it belongs to.
        like: the hit that others shall be similar to, in place of the text.
        last: nothing better follows in this turn.
    """

    turn: int
    text: str
    mode: Mode
    like: Hit | None = None
    last: bool = True


class Asking:
    """The state of a search that stays open.

    Attributes:
        text, mode: what is looked for, and how.
        ready: the model is there; until then words alone are asked for.
        turn: goes up with everything that is changed.
        settled: the best reply of this turn has come.
    """

    def __init__(self, mode: Mode) -> None:
        self.text, self.mode = "", mode
        self.ready, self.turn, self.settled = False, 0, True
        self._waiting: dict[bool, Asked] = {}
        self._under_way: set[bool] = set()

    def type(self, text: str) -> None:
        """Another text: its words are asked for, unless only meaning is wanted and will come."""
        self.text = text.strip()
        self._begin()
        if self.mode != "dense" or not self.ready:
            self._ask("lexical", last=self.mode == "lexical")

    def pause(self, turn: int) -> None:
        """Nothing was typed for a while since a turn: meaning is asked for, where it is wanted and the model there."""
        if turn == self.turn and self.ready and self.mode != "lexical" and not self.settled:
            self._ask(self.mode, last=True)

    def choose(self, mode: Mode) -> None:
        """Another ranking of the same text."""
        self.mode = mode
        self.type(self.text)
        self.pause(self.turn)

    def next_mode(self) -> None:
        """The ranking after this one."""
        self.choose(MODES[(MODES.index(self.mode) + 1) % len(MODES)])

    def model_is_there(self) -> None:
        """From now on meaning can be asked for, first of what was typed until now."""
        self.ready = True
        self.pause(self.turn)

    def similar(self, hit: Hit) -> None:
        """What is like a hit, until something else is typed."""
        self._begin()
        self._waiting[True] = Asked(self.turn, self.text, "dense", like=hit)
        self.settled = False

    def due(self) -> list[Asked]:
        """What is to be asked now; each is answered by `counts`."""
        due = [asked for lane, asked in self._waiting.items() if lane not in self._under_way]
        for asked in due:
            del self._waiting[asked.last]
            self._under_way.add(asked.last)
        return due

    def counts(self, asked: Asked, found: int) -> bool:
        """Whether a reply is shown: not one that is late; and no empty one as long as a better one is to come.

        Args:
            found: how many hits it has.
        """
        self._under_way.discard(asked.last)
        if asked.turn != self.turn or self.settled:
            return False
        self.settled = asked.last
        return asked.last or found > 0

    def _begin(self) -> None:
        self.turn += 1
        self.settled = not self.text
        self._waiting.clear()

    def _ask(self, mode: Mode, last: bool) -> None:
        if self.text:
            self._waiting[last] = Asked(self.turn, self.text, mode, last=last)
