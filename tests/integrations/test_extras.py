"""The error where a framework is not installed."""

import re

import pytest

from search import OptionalDependency
from search.integrations import extra
from tests.conftest import HAS_ALL


def test_a_missing_framework_is_named_with_the_command_that_installs_it() -> None:
    message = (
        "the adapter for LangChain needs the package 'no_such_framework'. Install it with: "
        "pip install 'seewhy[langchain]'"
    )
    with pytest.raises(OptionalDependency, match=re.escape(message)), extra("langchain", "LangChain"):
        import no_such_framework  # noqa: F401


def test_earlier_names_of_adapters_still_work() -> None:
    from search.integrations import llama_index

    assert llama_index.SeewhyNodeStore is llama_index.SeewhyVectorStore
    assert llama_index.SeewhyNodeRetriever is llama_index.SeewhyRetriever
    if HAS_ALL:
        from search.integrations import haystack

        assert haystack.SeewhyTextRetriever is haystack.SeewhyRetriever
