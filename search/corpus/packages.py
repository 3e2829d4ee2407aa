"""Which package reads which kind of document, and whether the extra that brings it is installed."""

from __future__ import annotations

from importlib.util import find_spec

from search.errors import OptionalDependency

EXTRA = "documents"

# kind -> the package that reads it. EPUB takes the HTML reader as well, which is always there.
PACKAGES = {
    "pdf": "pypdfium2",
    "docx": "lxml",
    "pptx": "lxml",
    "xlsx": "openpyxl",
    "epub": "lxml",
}


def readable() -> frozenset[str]:
    """The kinds of documents that can be read here and now."""
    there = {package for package in set(PACKAGES.values()) if find_spec(package) is not None}
    return frozenset(kind for kind, package in PACKAGES.items() if package in there)


def require(kind: str, path: str) -> None:
    """
    Raises:
        OptionalDependency: the package for a kind is missing.
    """
    package = PACKAGES[kind]
    if find_spec(package) is None:
        raise OptionalDependency(package, EXTRA, f"reading '{path}'")
