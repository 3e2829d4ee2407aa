"""Addresses that are none are refused in words, and none is shown with its password; so is a missing extra."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from search import Index
from search.errors import IdMissing, InputError, OptionalDependency
from search.store.milvus.address import Address


@pytest.mark.parametrize(
    "text",
    ["milvus://[::1", "milvus://h\u2100/x", "milvus://h /x", "milvus://1.2.3.4%00/x", "milvus://h:0/x",
     "milvus://h:x/x", "milvus:///x"],
)  # fmt: skip
def test_what_is_no_address_is_said_to_be_none(text: str) -> None:
    with pytest.raises(InputError, match="is no address of an index"):
        Address.parse(text)


def test_a_password_is_not_shown() -> None:
    for text in ("milvus://u:secret@[::1/x", "milvus://u:secret@h/x"):
        with pytest.raises(InputError, match="hold no password") as refused:
            Address.parse(text)
        assert "secret" not in str(refused.value)


def test_hosts_that_are_addresses() -> None:
    texts = ["milvus://[::1]:19530/x", "milvus+tls://a-b.example:1/x", "milvus://10.0.0.1:19530/x"]
    assert [str(Address.parse(text)) for text in texts] == texts


def test_without_the_extra_its_install_line_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(OptionalDependency, match=r"seewhy\[milvus\]"):
        Index.open("milvus://127.0.0.1:1/f").query("fox")


@pytest.mark.usefixtures("_any_mean")
def test_a_number_that_no_row_can_have_is_missing(notes: Path, tiny_model: Path, milvus: str) -> None:
    here = Index.build(notes, model=str(tiny_model), store=milvus)
    for index in (here, Index.open(milvus)):
        for id_ in (2**63, -(2**63) - 1):
            with pytest.raises(IdMissing):
                index.passage(id_)
            with pytest.raises(IdMissing):
                index.document(id_)
