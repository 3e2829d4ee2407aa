"""Numbers of the program that pages repeat are current."""

import re

from search.store.database import SCHEMA_VERSION
from tests.conftest import REPOSITORY


def test_the_page_of_the_index_describes_its_format() -> None:
    page = (REPOSITORY / "indexes" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"describes\s+format (\d+)", page) == [str(SCHEMA_VERSION)]
    assert re.findall(r"`schema_version` \| (\d+) ", page) == [str(SCHEMA_VERSION)]
