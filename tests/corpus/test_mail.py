"""Mail: messages, mailboxes, attachments and quotations."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from search.corpus.cut import without_markup
from search.errors import ReadError

from .conftest import ParsedDocument, Skipped, items, parsed
from .making import pdf

LETTER = """\
From: =?utf-8?q?J=C3=BCrgen?= <j@example.org>
To: "Doe, Ann" <ann@example.org>, bob@example.org
Cc: Carl <carl@example.org>
Subject: =?utf-8?b?RGVy?=
 =?utf-8?q?_Schl=C3=BCssel?=
Date: Mon, 3 Jun 2024 08:41:52 +0200
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

The key is under the mat.

>From now on, ring.
"""


def test_a_message_has_its_text_and_headers(tmp_path: Path) -> None:
    message = parsed(tmp_path, "a.eml", LETTER)
    assert (message.name, message.kind, message.title) == ("a.eml", "mail", "Der Schlüssel")
    assert message.text == "The key is under the mat.\n\nFrom now on, ring.\n"
    assert message.metadata == {
        "from": "Jürgen",
        "to": ["Doe, Ann", "bob@example.org", "Carl"],
        "date": "2024-06-03",
        "subject": "Der Schlüssel",
    }
    assert [message.lines.span(offset, offset + 1) for offset in (0, 27)] == [(10, 10), (12, 12)]


def test_each_message_of_a_mailbox_is_a_document_at_its_line(tmp_path: Path) -> None:
    start = "From j@example.org Mon Jun  3 08:41:52 2024\n"
    whole = f"{start}{LETTER}\nFrom here we walked.\n{start}{LETTER}\n{start}Subject: Only this\n\n"
    first, second, third = items(tmp_path, "a.mbox", whole)
    assert isinstance(first, ParsedDocument)
    assert isinstance(second, ParsedDocument)
    assert isinstance(third, ParsedDocument)
    assert [document.name for document in (first, second, third)] == ["a.mbox#1", "a.mbox#2", "a.mbox#3"]
    assert first.text.endswith("ring.\n\nFrom here we walked.\n")
    alone = parsed(tmp_path, "a.eml", LETTER)
    assert (second.text.strip(), second.metadata) == (alone.text.strip(), alone.metadata)
    assert [document.lines.span(0, 1)[0] for document in (first, second, third)] == [11, 26, 31]
    assert third.text == "Only this"


QUOTES = """\
Subject: Re: Roof

> is it dry?
Yes.

On Monday, Ann Example
wrote:
> Dear Bob,
>> a word of Bob
> three
> four
> five
> six

It was new.
--
Bob, 12 Long Lane
"""


def test_quotations_and_signatures_are_set_apart(tmp_path: Path) -> None:
    message = parsed(tmp_path, "a.eml", QUOTES)
    pairs = zip(message.apart[::2], message.apart[1::2], strict=True)
    quotation, signature = (message.text[start:end] for start, end in pairs)
    assert quotation.startswith("On Monday, Ann Example\nwrote:\n> Dear Bob,")
    assert quotation.endswith("> six\n")
    assert signature == "--\nBob, 12 Long Lane\n"
    visible, _ = without_markup(message)
    assert "is it dry?\nYes." in visible.text
    assert ">" not in visible.text
    assert "Dear Bob,\na word of Bob\nthree" in visible.text


def test_a_message_that_is_nested_too_deeply_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(ReadError) as caught:
        items(tmp_path, "a.eml", "To: " + "(" * 100_000 + "\n\ntext")
    assert (caught.value.reason, caught.value.path) == ("damaged", "a.eml")


def multipart(kind: str, *parts: str) -> str:
    inner = "".join(f"--{kind}\n{part}\n" for part in parts)
    return f"Content-Type: multipart/{kind}; boundary={kind}\n\n{inner}--{kind}--\n"


def attachment(name: str, raw: bytes, kind: str = "application/octet-stream") -> str:
    head = f'Content-Type: {kind}\nContent-Disposition: attachment; filename="{name}"'
    return f"{head}\nContent-Transfer-Encoding: base64\n\n{b64encode(raw).decode()}"


def test_the_plain_text_of_alternatives_is_read(tmp_path: Path) -> None:
    plain = "Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\nCaf=E9 =\nbar"
    html = "Content-Type: text/html\n\n<h1>News</h1><p>in <b>HTML</b>"
    blank = "Content-Type: text/plain\n\n \n"
    first = "Subject: Two\n"
    assert parsed(tmp_path, "a.eml", first + multipart("alternative", plain, html)).text == "Café bar"
    message = parsed(tmp_path, "a.eml", first + multipart("alternative", blank, html))
    assert (message.text, message.title) == ("News\n\nin HTML", "Two")
    assert [section.trail for section in message.sections] == [("News",)]
    both = parsed(tmp_path, "a.eml", first + multipart("mixed", plain, html)).text
    assert both == "Café bar\n\nNews\n\nin HTML"


def test_attachments_are_documents_and_unreadable_ones_are_named(tmp_path: Path) -> None:
    forward = f"Content-Type: message/rfc822\n\n{LETTER}"
    source = "Subject: Lease\nFrom: Ann <a@b>\n" + multipart(
        "mixed",
        "Content-Type: text/plain\n\nSee below.",
        attachment("lease.pdf", pdf([["Rent is due", "on Friday"]])),
        attachment("=?utf-8?q?=C3=BCber.md?=", b"# Rules\n\nNo *smoking*"),
        attachment("roof.jpg", b"\xff\xd8"),
        attachment("broken.docx", b"PK"),
        attachment("signature.asc", b"iQ", "application/pgp-signature"),
        forward,
    )
    message, lease, rules, *left_out, letter = items(tmp_path, "a.eml", source)
    assert isinstance(message, ParsedDocument)
    assert isinstance(lease, ParsedDocument)
    assert isinstance(rules, ParsedDocument)
    assert isinstance(letter, ParsedDocument)
    assert (message.name, message.text) == ("a.eml", "See below.")
    assert (lease.name, lease.kind, lease.title) == ("a.eml#1", "mail", "Lease: lease")
    assert (lease.text.split(), lease.page(0)) == (["Rent", "is", "due", "on", "Friday"], 1)
    own = {"author": "Ada", "created": "2024-02-29", "date": "2024-02-29"}
    assert lease.metadata == {"from": "Ann", "subject": "Lease", "attachment": "lease.pdf", **own}
    assert (rules.title, rules.metadata["attachment"]) == ("Lease: Rules", "über.md")
    assert rules.lines.span(0, 5) == (source[: source.index("IyBSdWxlcw")].count("\n") + 1,) * 2
    assert (letter.title, letter.metadata["from"]) == ("Lease: Der Schlüssel", "Jürgen")
    assert left_out == [
        Skipped("a.eml#3", "binary", "attachment 'roof.jpg'"),
        Skipped("a.eml#4", "damaged", "attachment 'broken.docx' not a valid zip archive"),
        Skipped("a.eml#5", "binary", "attachment 'signature.asc'"),
    ]


@pytest.mark.parametrize(
    ("source", "text", "title"),
    [
        (
            b"Subject: caf\xc3\xa9\n\nDer Schl\xfcssel f\xfcr die T\xfcr\n",
            "Der Schlüssel für die Tür\n",
            "café",
        ),
        (b"Subject: =?no-such?q?a?=\nDate: never\n\ntext", "text", "=?no-such?q?a?="),
        (b"Content-Type: multipart/mixed; boundary=b\nSubject: cut\n\ntext", "text", "cut"),
        (b"Content-Type: text/plain; charset=nonsense\nTo: ,;<\n\ntext", "text", "a"),
        (b"Content-Transfer-Encoding: base64\n\ndGV4dA", "text", "a"),
        (b"no mail at all", "no mail at all", "a"),
    ],
)
def test_broken_messages_are_read_as_far_as_possible(
    tmp_path: Path, source: bytes, text: str, title: str
) -> None:
    message = parsed(tmp_path, "a.eml", source)
    assert (message.text, message.title) == (text, title)


def test_an_unreadable_message_is_named_and_the_next_is_read(tmp_path: Path) -> None:
    deep = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(2000))
    start = "From a@b Mon Jun  3 08:41:52 2024\n"
    [left_out, after, empty] = items(
        tmp_path, "a.mbox", f"{start}{deep}\n\n{start}A: b\n\ntext\n{start}A: b\n\n"
    )
    assert isinstance(left_out, Skipped)
    assert isinstance(after, ParsedDocument)
    assert (left_out.path, left_out.reason, after.text) == ("a.mbox#1", "damaged", "text\n")
    assert empty == Skipped("a.mbox#3", "no text", "line 6009")
    with pytest.raises(ReadError, match="a.eml: no text"):
        items(tmp_path, "a.eml", b"From: a@b\n\n")
