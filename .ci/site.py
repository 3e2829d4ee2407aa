#!/usr/bin/env python3
"""Put the pages of the site into a folder, for MkDocs: the repository's pages at the same paths, and a reference.

    python .ci/site.py build/pages && mkdocs build --strict

A link to a file that is no page leads to the repository.
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("*.md", "docs/*", "benchmarks/README.md", "indexes/README.md", "corpora/README.md", "corpora/handbook/*.md",
         "corpora/notebooks/*.ipynb", "skills/*/SKILL.md")  # fmt: skip
REFERENCE = {
    "library": "Index Indexes Question Encoder similarity compare explain evaluate",
    "records": "records.hits.Hit records.hits.Hits records.explanations.Explanation records.comparisons.Contrast "
    "records.comparisons.WhyNot records.comparisons.Similarities records.evaluations.Evaluation",
    "laboratory": "bert.inspect bert.work_through bert.in_contexts bert.equal_rows bert.padded bert.positions "
    "bert.parameters bert.modules bert.vocabulary bert.tokenize bert.fill bert.next_sentence bert.answer bert.tag "
    "bert.label bert.explain_label bert.ask lab.annotating.passages.tag_index lab.annotating.passages.label_index "
    "lab.annotating.labels.train_labels lab.training.train lab.training.train_classifier "
    "lab.training.train_tagger lab.training.train_reader",
    "errors": "errors",
}
_LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\((?!https?:|#|mailto:)([^)\s#]*)(#[^)\s]*)?\)")


def main() -> None:
    out = Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    files = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern)) if path.suffix != ".py"]
    pages = {path.resolve() for path in files}
    for path in files:
        place = out / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            place.write_text(linked(path, pages), encoding="utf-8")
        else:
            shutil.copyfile(path, place)
    for name, names in REFERENCE.items():
        place = out / "reference" / f"{name}.md"
        place.parent.mkdir(exist_ok=True)
        entries = "\n\n".join(f"::: search.{one}" for one in names.split())
        place.write_text(f"# {name.capitalize()}\n\n{entries}\n", encoding="utf-8")


def linked(path: Path, pages: set[Path]) -> str:
    """Return a page whose links to anything but pages lead nowhere: their text stays."""

    def followed(match: re.Match[str]) -> str:
        target = (path.parent / match[2]).resolve()
        if target.is_dir() and (target / "README.md").resolve() in pages:
            return f"[{match[1]}]({match[2].rstrip('/')}/README.md{match[3] or ''})"
        return match[0] if target in pages else match[1]

    return _LINK.sub(followed, path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
