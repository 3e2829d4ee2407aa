"""The error where a framework is not installed."""

import re

import pytest

from search import OptionalDependency
from search.integrations import extra


def test_a_missing_framework_is_named_with_the_command_that_installs_it() -> None:
    message = (
        "the adapter for LangChain needs the package 'no_such_framework'. Install it with: "
        "pip install 'seewhy[langchain]'"
    )
    with pytest.raises(OptionalDependency, match=re.escape(message)), extra("langchain", "LangChain"):
        import no_such_framework  # noqa: F401
