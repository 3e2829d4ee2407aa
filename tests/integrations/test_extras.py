"""What is said where a framework is not installed."""

import re

import pytest

from search import OptionalDependency
from search.integrations import extra


def test_a_framework_that_is_not_installed_is_named_with_what_installs_it() -> None:
    said = (
        "the adapter for LangChain needs the package 'no_such_framework'. Install it with: "
        "pip install 'seewhy[langchain]'"
    )
    with pytest.raises(OptionalDependency, match=re.escape(said)), extra("langchain", "LangChain"):
        import no_such_framework  # noqa: F401
