"""Kinds of files by name, and files of secrets, which are never opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from search.corpus.sources import kind_of

from .conftest import walk

Tree = Callable[[Mapping[str, "str | bytes"]], Path]


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
def test_the_kind_of_a_file_follows_its_name(path: str, kind: str) -> None:
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
def test_a_file_of_secrets_is_never_opened(tree: Tree, name: str) -> None:
    (item,) = walk(tree({name: "text"}), include=(name,))
    assert (item.path, getattr(item, "reason", "read")) == (name, "secret")


@pytest.mark.parametrize(
    "name", ["id_rsa.md", "environment.txt", "keys.md", "credentials.md", "env", "id_rsa.pub"]
)
def test_a_file_about_secrets_is_read(tree: Tree, name: str) -> None:
    (item,) = walk(tree({name: "text"}))
    assert (item.path, getattr(item, "reason", "read")) == (name, "read")


@pytest.mark.parametrize(
    ("name", "reason", "detail"),
    [
        ("a.tar.gz", "binary", ""),
        ("a.doc", "document format", "unsupported format; save it as .docx"),
        ("a.png", "binary", ""),
    ],
)
def test_a_file_without_text_is_not_opened(tree: Tree, name: str, reason: str, detail: str) -> None:
    (item,) = walk(tree({name: "text"}))
    assert (getattr(item, "reason", "read"), getattr(item, "detail", "")) == (reason, detail)
