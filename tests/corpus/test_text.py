"""Encodings, lines, sections and values."""

from __future__ import annotations

import codecs
import datetime
import io
import json
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.corpus.text import (
    KEPT_LINE,
    Heading,
    decode,
    json_values,
    line_map,
    sections,
    whole_characters,
)
from search.errors import ReadError
from search.records.documents import Section

from .conftest import shared

# Line ends, and characters that only look like them to str.splitlines.
TEXTS = st.text(st.sampled_from("ab \t\r\n\v\f\x1c\x85\u2028é"), max_size=60)


def python_lines(text: str) -> list[str]:
    """The lines that open(..., newline="") gives: universal newlines, line ends kept."""
    return list(io.StringIO(text, newline=""))


@given(TEXTS)
def test_lines_are_those_of_universal_newlines(text: str) -> None:
    assert KEPT_LINE.findall(text) == python_lines(text)


@given(TEXTS)
def test_every_offset_is_on_the_line_that_holds_it(text: str) -> None:
    lines = line_map(text)
    offset = 0
    for number, line in enumerate(python_lines(text), 1):
        for _ in line:
            assert lines.span(offset, offset + 1) == (number, number)
            offset += 1


def test_a_heading_closes_those_of_its_level_and_below() -> None:
    headings = [
        Heading(5, 1, "A"),
        Heading(10, 3, "A.x"),
        Heading(20, 2, "A.b"),
        Heading(30, 3, ""),
        Heading(40, 1, "B"),
    ]
    assert sections(headings, 2, 50) == (
        Section(2, 5, ()),
        Section(5, 10, ("A",)),
        Section(10, 20, ("A", "A.x")),
        Section(20, 30, ("A", "A.b")),
        Section(30, 40, ("A", "A.b")),
        Section(40, 50, ("B",)),
    )


@given(
    st.lists(
        st.tuples(st.integers(0, 99), st.integers(1, 6)), max_size=12, unique_by=lambda item: item[0]
    )
)
def test_sections_cover_everything_once(items: list[tuple[int, int]]) -> None:
    parts = sections([Heading(start, level, f"h{start}") for start, level in sorted(items)], 0, 100)
    assert parts[0].start == 0
    assert parts[-1].end == 100
    assert all(left.end == right.start and left.start < left.end for left, right in pairwise(parts))


def test_dates_keys_and_odd_numbers_become_json() -> None:
    values = {
        1: datetime.date(2024, 2, 29),
        "at": datetime.datetime(2024, 2, 29, 12, 30),
        "clock": datetime.time(7, 5),
        "nested": {"pair": (1, 2.5), None: True},
        "odd": [float("nan"), float("inf")],
        "raw": b"\x00",
    }
    copy = json_values(values)
    assert copy == {
        "1": "2024-02-29",
        "at": "2024-02-29T12:30:00",
        "clock": "07:05:00",
        "nested": {"pair": [1, 2.5], "None": True},
        "odd": ["nan", "inf"],
        "raw": "b'\\x00'",
    }
    assert json.loads(json.dumps(copy, allow_nan=False)) == copy


def test_a_value_that_holds_itself_is_refused() -> None:
    ring: list[object] = []
    ring.append(ring)
    with pytest.raises((ValueError, RecursionError)):
        json_values({"ring": ring})


def test_lone_surrogates_are_replaced_one_for_one() -> None:
    assert whole_characters("a\ud800b\udfffc") == "a\ufffdb\ufffdc"
    assert json_values({"\ud800": "\ud800"}) == {"\ufffd": "\ufffd"}


PROSE = "Größe, naïve façade — 漢字 и кириллица.\r\nSecond line\x0cstill second\u2028and still\rthird\n"


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (b"", "utf-8"),
        (b"", "utf-16-le"),
        (b"", "utf-16-be"),
        (b"", "utf-32-le"),
        (b"", "utf-32-be"),
    ],
)
def test_unicode_is_decoded_with_and_without_a_byte_order_mark(mark: bytes, encoding: str) -> None:
    assert decode("a", mark + PROSE.encode(encoding)) == PROSE


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(lambda text: text.strip())
)
def test_utf8_is_decoded_exactly(text: str) -> None:
    raw = text.encode()
    if not raw.startswith(codecs.BOM_UTF8) and text.replace("\ufeff", "").strip():
        assert decode("a", raw) == text


@pytest.mark.parametrize(
    "encoding", ["iso2022_jp", "shift_jis", "euc_jp", "cp1251", "cp1252", "koi8_r", "big5"]
)
def test_a_declared_encoding_is_used(encoding: str) -> None:
    words = {"cp1252": "déjà vu", "cp1251": "привет", "koi8_r": "привет", "big5": "漢字"}.get(
        encoding, "かな漢字"
    )
    for declaration in (
        f'<?xml version="1.0" encoding="{encoding}"?><a>',
        f"<html><head><META charset={encoding}>",
        f"<meta http-equiv=Content-Type content='text/html; charset={encoding}'>",
        f"#!/usr/bin/python\n# -*- coding: {encoding} -*-\n",
    ):
        assert decode("a", (declaration + words).encode(encoding)) == declaration + words


@pytest.mark.parametrize("codec", ["utf-7", "unicode_escape", "rot13", "hex", "no-such-codec"])
def test_a_declared_codec_that_is_no_text_encoding_is_ignored(codec: str) -> None:
    french = "Les élèves ont été très étonnés : la forêt, l'été, n'est guère fréquentée après le dîner."
    raw = f"# coding: {codec}\n".encode() + french.encode("cp1252")
    assert decode("a", raw).endswith(french)


def refusal(raw: bytes) -> str:
    with pytest.raises(ReadError) as caught:
        decode("folder/file", raw)
    assert caught.value.path == "folder/file"
    return caught.value.reason


def test_binary_content_is_refused() -> None:
    assert refusal(b"text\0text") == "binary"
    assert refusal(bytes(range(256))) == "binary"
    assert refusal(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR") == "binary"
    assert refusal(b"\x01\x02\x03 abc") == "binary"
    assert refusal(random.Random(1).randbytes(5000)) == "binary"


@pytest.mark.parametrize(
    "raw", [b"", b" \r\n\t", codecs.BOM_UTF8, codecs.BOM_UTF16_LE + b"\n\0", "\u00a0\u2003".encode()]
)
def test_a_blank_file_is_refused_as_empty(raw: bytes) -> None:
    assert refusal(raw) == "empty"


@pytest.mark.parametrize(
    "first_line",
    [
        b"-----BEGIN RSA PRIVATE KEY-----",
        b"-----BEGIN PRIVATE KEY-----",
        b"-----BEGIN OPENSSH PRIVATE KEY-----",
        b"\xef\xbb\xbf\n-----BEGIN ENCRYPTED PRIVATE KEY-----",
        b"-----BEGIN PGP PRIVATE KEY BLOCK-----",
        b"PuTTY-User-Key-File-3: ssh-ed25519",
    ],
)
def test_private_keys_are_refused_as_secrets(first_line: bytes) -> None:
    assert refusal(first_line + b"\nMIIEpAIBAAKCAQEA\n") == "secret"


# The folder's name is the encoding; Python has no codec for EUC-TW, and one "ascii" file holds a NUL.
LANGUAGES = "croatian czech hungarian polish slovak slovene bulgarian russian arabic greek turkish romanian hebrew"
PYTHON_NAMES = {"MacRoman": "mac_roman", "MacCyrillic": "mac_cyrillic"}


def test_real_files_in_45_encodings_are_decoded() -> None:
    right = total = 0
    for file in sorted(shared("folders", "encodings").glob("*/*"))[::3]:
        name, _, language = file.parent.name.rpartition("-")
        encoding = name if language in LANGUAGES.split() else file.parent.name
        raw = file.read_bytes()
        total += 1
        try:
            expected = raw.decode(PYTHON_NAMES.get(encoding, encoding)).removeprefix("\ufeff")
            right += decode(file.name, raw) == expected
        except (LookupError, ReadError):
            continue
    assert total == 142
    assert right >= 138


def test_a_declaration_does_not_beat_utf8_or_a_mark() -> None:
    text = "<meta charset=windows-1252>é"
    assert decode("a", text.encode()) == text
    assert decode("a", codecs.BOM_UTF16_LE + text.encode("utf-16-le")) == text


@pytest.mark.parametrize("seed", range(4))
def test_random_bytes_are_never_taken_for_utf16(seed: int) -> None:
    choose = random.Random(seed)
    assert refusal(choose.randbytes(2 * choose.randint(20, 400)) + b"\0\0") == "binary"


def test_public_keys_and_text_about_keys_are_no_secret() -> None:
    for text in ("-----BEGIN PUBLIC KEY-----\nMII", "It begins with -----BEGIN PRIVATE KEY-----, then"):
        assert decode("a", text.encode()) == text


def test_no_byte_is_replaced_silently() -> None:
    raw = b"plain words " * 30_000 + b"\xff\xfe\xfd"
    try:
        assert "\ufffd" not in decode("a", raw)
    except ReadError as error:
        assert error.reason == "undecodable"
