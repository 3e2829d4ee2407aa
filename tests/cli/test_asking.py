"""What is asked while somebody types, and which replies count."""

from __future__ import annotations

from search.cli.interactive.asking import Asked, Asking
from tests.render.test_render import HIT


def asking(mode: str = "hybrid", ready: bool = True) -> Asking:
    made = Asking(mode)  # type: ignore[arg-type]
    made.ready = ready
    return made


def test_words_are_asked_for_at_once_and_meaning_after_a_pause() -> None:
    now = asking()
    now.type(" key ")
    assert now.due() == [Asked(1, "key", "lexical", last=False)]
    now.pause(1)
    assert now.due() == [Asked(1, "key", "hybrid")]


def test_a_pause_before_the_last_key_asks_nothing() -> None:
    now = asking()
    now.type("ke")
    now.type("key")
    now.pause(1)
    assert [asked.text for asked in now.due()] == ["key"]


def test_late_replies_do_not_count() -> None:
    now = asking()
    now.type("ke")
    (first,) = now.due()
    now.type("key")
    assert now.due() == []  # one is under way
    assert not now.counts(first, 3)
    (second,) = now.due()
    assert now.counts(second, 3)


def test_words_that_come_after_the_meaning_do_not_count() -> None:
    now = asking()
    now.type("key")
    now.pause(1)
    words, meaning = now.due()
    assert now.counts(meaning, 3)
    assert now.settled
    assert not now.counts(words, 3)


def test_of_what_waits_only_the_newest_is_asked() -> None:
    now = asking()
    now.type("k")
    (first,) = now.due()
    for text in ("ke", "key", "keys"):
        now.type(text)
    now.counts(first, 0)
    assert [asked.text for asked in now.due()] == ["keys"]


def test_a_slow_model_holds_up_no_words() -> None:
    now = asking()
    now.type("key")
    now.pause(1)
    _, meaning = now.due()
    now.counts(Asked(1, "key", "lexical", last=False), 1)
    now.type("keys")
    assert [asked.mode for asked in now.due()] == ["lexical"]
    now.pause(2)
    assert now.due() == []
    assert not now.counts(meaning, 3)
    assert [(asked.text, asked.mode) for asked in now.due()] == [("keys", "hybrid")]


def test_no_words_found_leaves_the_list_as_long_as_meaning_is_to_come() -> None:
    now = asking()
    now.type("key")
    now.pause(1)
    words, meaning = now.due()
    assert not now.counts(words, 0)
    assert now.counts(meaning, 0)


def test_until_the_model_is_there_words_alone_are_asked_for() -> None:
    for mode in ("hybrid", "dense"):
        now = asking(mode, ready=False)
        now.type("key")
        now.pause(1)
        assert [asked.mode for asked in now.due()] == ["lexical"]
        now.model_is_there()
        assert [asked.mode for asked in now.due()] == [mode]


def test_each_mode_asks_what_it_ranks_by() -> None:
    now = asking("dense")
    now.type("key")
    assert now.due() == []
    now.pause(1)
    assert [asked.mode for asked in now.due()] == ["dense"]


def test_the_mode_goes_round_and_asks_again() -> None:
    now = asking()
    now.type("key")
    modes = []
    for _ in range(3):
        now.next_mode()
        modes.append(now.mode)
    assert modes == ["dense", "lexical", "hybrid"]
    last = asking("lexical")
    last.type("key")
    (words,) = last.due()
    assert words.last
    last.pause(1)
    assert last.due() == []


def test_similar_passages_are_shown_until_something_is_typed() -> None:
    now = asking()
    now.type("key")
    now.similar(HIT)
    (like,) = (asked for asked in now.due() if asked.last)
    assert like.like == HIT
    assert now.counts(like, 2)
    now.type("keys")
    assert not now.counts(like, 2)


def test_nothing_typed_asks_nothing() -> None:
    now = asking()
    now.type("key")
    now.type("  ")
    now.pause(2)
    assert now.due() == []
    assert now.settled
