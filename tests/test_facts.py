"""Numbers of the program that pages repeat are current."""

import re
import sys
from typing import Any

import yaml

import search
from search.store.database import SCHEMA_VERSION
from tests.conftest import REPOSITORY
from tests.notebooks import NOTEBOOKS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HANDBOOK = REPOSITORY / "corpora" / "handbook"
NOTE = HANDBOOK / "79-a-note-on-traced-contributions.md"
BENCHMARKS = REPOSITORY / "benchmarks" / "README.md"
_INTERVAL = re.compile(r"-?\d\.\d+ \(-?\d\.\d+ to -?\d\.\d+\)")


def test_the_page_of_the_index_describes_its_format() -> None:
    page = (REPOSITORY / "indexes" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"describes\s+format (\d+)", page) == [str(SCHEMA_VERSION)]
    assert re.findall(r"`schema_version` \| (\d+) ", page) == [str(SCHEMA_VERSION)]


def citation() -> dict[str, Any]:
    return yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))


def test_the_citation_has_what_the_citation_file_format_requires() -> None:
    assert {"cff-version", "message", "title", "authors"} <= citation().keys()
    assert citation()["cff-version"] == "1.2.0"
    assert citation()["type"] == "software"


def test_the_citation_repeats_the_project() -> None:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    cited = citation()
    assert cited["version"] == search.__version__
    assert [{"name": author["name"]} for author in project["authors"]] == cited["authors"]
    assert cited["license"] == project["license"]
    assert cited["keywords"] == project["keywords"]


def test_the_date_of_the_citation_is_that_of_its_version() -> None:
    changes = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {citation()['version']} - {citation()['date-released']}" in changes


def test_figures_of_the_method_note_are_those_of_the_benchmarks() -> None:
    note, measured = (path.read_text(encoding="utf-8") for path in (NOTE, BENCHMARKS))
    figures = _INTERVAL.findall(" ".join(note.split()))
    assert len(figures) >= 20
    assert [figure for figure in figures if figure not in measured] == []
    residuals = re.findall(r"\d\.\de-\d\d", note)
    assert len(residuals) >= 8
    assert [residual for residual in residuals if residual not in measured] == []


def test_the_method_note_has_two_pages() -> None:
    body = NOTE.read_text(encoding="utf-8").split("\n---\n", 1)[1].partition("## References")[0]
    words = [word for line in body.split("\n") if not line.startswith("|") for word in line.split()]
    assert 900 <= len(words) <= 1200


def test_the_page_for_teachers_has_a_row_for_each_notebook() -> None:
    page = (HANDBOOK / "77-for-teachers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) .* \| \d+ s \| [\d.]+ GB \|$", page, re.MULTILINE)
    assert rows == [path.stem[0] for path in NOTEBOOKS]


def test_the_table_of_probes_has_the_figures_of_the_transcripts() -> None:
    page = (HANDBOOK / "48-probing-layers.md").read_text(encoding="utf-8")
    for name, label in (("pos.conll", "part of speech"), ("tense.csv", "tense")):
        transcript = page[page.index(f"$ seewhy lab probe corpora/lab/{name}") :].partition("\n```")[0]
        accuracies = dict(re.findall(r"^ +(\d)  +(0\.\d{3}) ", transcript, re.MULTILINE))
        assert len(accuracies) == 7
        row = re.search(
            rf"^\| {label} \| (.*) \| (\d): (.*?) \(.*\) \| (.*) \| (.*) \|$", page, re.MULTILINE
        )
        assert row
        first, best, highest, last, majority = row.groups()
        assert [first, highest, last] == [accuracies[layer] for layer in ("0", best, "6")]
        assert highest == max(accuracies.values())
        assert f" {majority}: always" in transcript
