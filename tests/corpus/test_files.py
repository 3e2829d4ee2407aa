from __future__ import annotations

import pytest

from search.corpus.files import is_secret, kind_of, unreadable


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a/b.md", "markdown"),
        ("README.MARKDOWN", "markdown"),
        ("x.mdx", "markdown"),
        ("x.rst", "rst"),
        ("x.htm", "html"),
        ("x.tsv", "csv"),
        ("x.ndjson", "jsonl"),
        ("a.b/x.py", "code"),
        ("src/Dockerfile", "code"),
        ("notes.txt", "text"),
        ("data.json", "text"),
        ("LICENSE", "text"),
        ("folder.md/plain", "text"),
        ("a.PDF", "pdf"),
        ("a.docm", "docx"),
        ("a.ppsx", "pptx"),
        ("a.xlsm", "xlsx"),
        ("a.epub", "epub"),
        (".md", "text"),
    ],
)
def test_kind(path: str, kind: str) -> None:
    assert kind_of(path) == kind


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        ".env.local",
        "prod.env",
        "Server.PEM",
        "tls.key",
        "id_rsa",
        "ID_ED25519",
        ".netrc",
        "credentials",
    ],
)
def test_secret(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["id_rsa.md", "environment.txt", "keys.md", "credentials.md", "env", "id_rsa.pub"]
)
def test_not_secret(name: str) -> None:
    assert not is_secret(name)


def test_what_is_not_opened() -> None:
    assert unreadable("a.tar.gz") == ("binary", "")
    assert unreadable("a.txt") is None
    assert unreadable("a") is None
    assert unreadable("a.PDF") is None
    assert unreadable("a.PDF", {"docx"}) == ("needs seewhy[documents]", "")
    assert unreadable("a.docm", {"docx"}) is None
    assert unreadable("a.doc") == ("document format", "not read; save it as .docx")
