"""Plain text of entries: diaries, changelogs and chats are cut where an entry or a conversation begins."""

from pathlib import Path

import pytest

import search
from search import Document
from search.corpus.cut import Cutter
from tests.conftest import Run
from tests.corpus.conftest import parsed_text
from tests.corpus.test_cut import TOKENIZERS

WORDS = (
    "the people of the house open the door to the water and look at the cold river in the sun with a key "
)


def cut(document: Document) -> list[tuple[str, str]]:
    """Heading and first line of each passage."""
    passages = Cutter(TOKENIZERS["word_piece"], max_tokens=256).cut(document)
    return [(passage.heading, passage.text.splitlines()[0]) for passage in passages]


DATES = {
    "iso": "2024-03-0{}", "numbers": "0{}.03.2024", "slashes": "03/0{}/24", "english": "{} March 2024",
    "weekday": "Sunday, {} March 2024", "american": "March {}, 2024", "no year": "Friday, {} March",
    "german": "{}. März 2024", "spanish": "{} de marzo de 2024", "marks": "== 2024-03-0{} ==",
    "title": "2024-03-0{}: the ridge", "colon": "2024-03-0{}:",
}  # fmt: skip
VERSIONS = {
    "version": "Version 1.{}", "name": "seewhy 2.{}.1 (2024-03-01)", "v": "v0.{}", "brackets": "[1.{}.0] - 2024-03-01",
    "words": "Noteworthy changes in release 1.{} (2022-04-07) [stable]",
    "debian": "exim4 (4.9{}-1) unstable; urgency=low",
    "gnu": "2024-03-0{}  Ann Other  <ann@example.org>", "ruled": "Exim version 4.9{}\n----------------",
}  # fmt: skip


@pytest.mark.parametrize("heading", [*DATES.values(), *VERSIONS.values()], ids=[*DATES, *VERSIONS])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_each_entry_below_a_date_or_version_is_a_section(heading: str, end: str) -> None:
    lines = [heading.format(number) for number in range(1, 7)]
    text = "\n\n".join(f"{line}\n\n{WORDS}{number}." for number, line in enumerate(lines)).replace(
        "\n", end
    )
    document = parsed_text("text", f"What this is.{end}{end}{text}")
    assert document.records == 6
    names = [line.splitlines()[0].strip("= ").rstrip(":") for line in lines]
    assert [section.trail for section in document.sections] == [(), *((name,) for name in names)]
    assert [heading for heading, _ in cut(document)] == ["", *names]
    whole = "".join(document.text[section.start : section.end] for section in document.sections)
    assert whole == document.text


def test_short_entries_are_joined() -> None:
    text = "\n\n".join(f"2024-03-0{number}\n\nCold water." for number in range(1, 7))
    document = parsed_text("text", text)
    assert document.records == 6
    ((heading, _),) = cut(document)
    assert heading.split(" \u00b7 ") == [f"2024-03-0{number}" for number in range(1, 7)]


def test_a_long_entry_has_its_date_in_each_passage() -> None:
    text = "\n\n".join(f"2024-03-0{number}\n\n{WORDS * 24}" for number in range(1, 7))
    headings = [heading for heading, _ in cut(parsed_text("text", text))]
    assert len(headings) > 12 and set(headings) == {f"2024-03-0{number}" for number in range(1, 7)}


NO_ENTRIES = {
    "few": "\n\n".join(f"2024-03-0{number}\n\n{WORDS}" for number in range(1, 5)),
    "a list of dates": "\n\n".join(f"2024-03-0{number}" for number in range(1, 9)) + f"\n\n{WORDS}\n" * 9,
    "within paragraphs": "\n".join(f"{WORDS}\n2024-03-0{number}\n{WORDS}" for number in range(1, 9)),
    "sentences": "\n\n".join(
        f"Python 3.{number} is the first that has it.\n\n{WORDS}" for number in range(1, 9)
    ),
    "numbers": "\n\n".join(f"{number}. Look at the river\n\n{WORDS}" for number in range(1, 9)),
    "lists": "\n\n".join(f"{number}. Added: the river\n\n{WORDS}" for number in range(1, 9)),
    "addresses": "\n".join(f"10.0.0.{number} host{number}" for number in range(1, 9)),
    "prose with times": "\n\n".join(f"{WORDS * 2}\nAt 10:{number}0 {WORDS}" for number in range(1, 6)),
    "a log": "".join(
        f"2024-06-0{day}T{hour}:{minute}:01.824Z INFO [http] GET /door/{day}/{hour}?key={minute} 200 0.31\n"
        for day in (1, 2, 3)
        for hour in (10, 12)
        for minute in (10, 15)
    ),
    "verses": "\n".join(f"3:{number} {WORDS}" for number in range(10, 40)),
    "no times": "\n".join(f"2{number}:7{number} {WORDS}" for number in range(4, 9)),
    "one conversation": "\n".join(f"2024-03-01 10:0{number} Ann: {WORDS}" for number in range(9)),
}


@pytest.mark.parametrize("text", NO_ENTRIES.values(), ids=NO_ENTRIES)
def test_other_texts_stay_as_they_are(text: str) -> None:
    document = parsed_text("text", text)
    assert (document.records, document.apart, len(document.sections)) == (0, (), 1)


CHATS = {
    "whatsapp": "0{day}/06/2024, {hour}:{minute} - Ann: {text}\n",
    "whatsapp on a phone": "[0{day}.06.24, {hour}:{minute}:09] Ann: {text}\n",
    "slack": "ann.o  2024-06-0{day} {hour}:{minute}\n{text}\n\n",
    "signal": "From: Ann\nSent: Mon, 0{day} Jun 2024 {hour}:{minute}:00 +0100\n{text}\n\n",
    "irc": "{hour}:{minute} < ann> {text}\n",
}
TIMES = [(day, hour, minute) for day in (1, 2, 3) for hour in (10, 12) for minute in (10, 15, 40)]


@pytest.mark.parametrize("form", CHATS.values(), ids=CHATS)
def test_a_chat_is_cut_at_its_pauses(form: str) -> None:
    """Three messages within an hour belong together; another conversation begins two hours later, or on another day."""
    text = "".join(
        form.format(
            day=day,
            hour=hour,
            minute=minute,
            text=f"open the door {number} to the cold water of the river",
        )
        for number, (day, hour, minute) in enumerate(TIMES)
    )
    document = parsed_text("text", text)
    assert document.records == 6
    passages = Cutter(TOKENIZERS["word_piece"], max_tokens=512, passage_tokens=400).cut(document)
    assert [passage.text.count("open the door") for passage in passages] == [3] * 6


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_message_of_several_paragraphs_stays_whole(end: str) -> None:
    text = "\n".join(
        f"[0{day}.06.24, 10:0{minute}:09] Ann: first of {day}.{minute} {WORDS}\n\nand second of {day}.{minute} {WORDS}"
        for day in range(1, 7)
        for minute in (1, 2)
    ).replace("\n", end)
    document = parsed_text("text", text)
    parts = [
        document.text[start:stop]
        for start, stop in zip(document.apart[::2], document.apart[1::2], strict=True)
    ]
    assert len(parts) == 6
    for day, part in enumerate(parts, 1):
        assert part.lstrip().startswith(f"[0{day}.06.24") and part.count(f"second of {day}.") == 2


def test_hours_of_half_a_day_are_told_apart() -> None:
    times = [
        "11:50 AM",
        "12:10 PM",
        "1:05 PM",
        "11:50 PM",
        "12:10 AM",
        "12:20 AM",
        "5:00 AM",
        "9:00 AM",
        "9:59 a.m.",
    ]
    document = parsed_text("text", "".join(f"ann 2024-06-01 {time}\n{WORDS}\n\n" for time in times))
    starts = [
        document.text[start : start + 40].split("2024-06-01 ")[1].split("\n")[0]
        for start in document.apart[::2]
    ]
    assert starts == ["11:50 AM", "11:50 PM", "12:10 AM", "5:00 AM", "9:00 AM"]


def test_the_status_names_the_files_and_their_records(
    tmp_path: Path, tiny: search.Encoder, run: Run
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, count in (("a diary.txt", 7), ("sayings", 6), ("more", 5), ("others", 5)):
        separator = "\n%\n" if name != "a diary.txt" else "\n\n"
        entry = "{}" if separator == "\n%\n" else "2024-03-0{}\n\nx "
        texts = (entry.format(number) + WORDS for number in range(1, count + 1 + (separator == "\n%\n")))
        (folder / name).write_text(separator.join(texts), encoding="utf-8")
    (folder / "plain.txt").write_text(WORDS, encoding="utf-8")
    index = search.Index.build(folder, encoder=tiny)
    counts = {"a diary.txt": 7, "sayings": 7, "more": 6, "others": 6}
    assert dict(index.status().records) == counts
    assert "records      a diary.txt: 7; sayings: 7; more: 6; and 1 more file\n" in run("status")[1]
    (folder / "sayings").unlink()
    index.update()
    assert set(index.status().records) == counts.keys() - {"sayings"}
