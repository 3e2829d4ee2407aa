"""The model card of a result: README.md in its folder."""

from __future__ import annotations

from search.records.evaluations import TrainingReport
from search.training.model import shown_name

_DONE = {
    "pairs": "pairs of a query and a passage that answers it",
    "triplets": "queries, each with a passage that answers it and passages that do not",
    "graded": "pairs of sentences that were given a score for how alike they are",
    "mlm": "the words that stand behind masks in passages without labels",
    "denoising": "passages without labels, to be written again from the embedding of what is left of them",
}


def card(report: TrainingReport) -> str:
    """Markdown with the head that model hubs read. File names stand without folders."""
    base = shown_name(report.base)
    lines = [
        "---",
        "library_name: sentence-transformers",
        "pipeline_tag: sentence-similarity",
        "tags: [sentence-transformers, sentence-similarity, feature-extraction, seewhy]",
        "---",
        "",
        f"# {_plain(base)}, trained further",
        "",
        f"A sentence encoder that `seewhy train` made. It learned {_DONE[report.objective]}.",
        "",
        "```python",
        "import search",
        "",
        'encoder = search.Encoder("this/folder")  # or sentence_transformers.SentenceTransformer("this/folder")',
        "```",
        "",
        "## Figures",
        "",
        f"On {report.counts['held_out']:,} examples that nothing was learned from, with 95 % bootstrap intervals.",
        "",
        "| metric | before | after | difference |",
        "|---|---|---|---|",
    ]
    for name, before in report.before.items():
        after, gap = report.after[name], report.difference[name]
        lines.append(
            f"| {name} | {before.mean:.4f} ({before.low:.3f} to {before.high:.3f}) "
            f"| {after.mean:.4f} ({after.low:.3f} to {after.high:.3f}) "
            f"| {gap.mean:+.4f} ({gap.low:+.3f} to {gap.high:+.3f}) |"
        )
    lines += ["", *(f"- {_sentence(note)}" for note in report.notes)]
    lines += [
        "",
        "## Base",
        "",
        f"- {_plain(base)}",
        f"- sha256 of its weights: `{report.base_sha256}`",
        f"- sha256 of these weights: `{report.sha256}`",
        "",
        "## Data",
        "",
        "| for | name | rows | sha256 |",
        "|---|---|---|---|",
        *(
            f"| {file.role} | {_plain(file.name)} | {file.rows:,} | `{file.sha256}` |"
            for file in report.files
        ),
        "",
        ", ".join(f"{name.replace('_', ' ')}: {count:,}" for name, count in report.counts.items()),
        "",
        "## Training",
        "",
        f"- objective: {report.objective}, loss: {report.loss}",
        f"- steps: {report.steps:,} of {report.planned:,} planned; the weights are those of step {report.kept:,}",
        *(f"- {name}: {value}" for name, value in report.settings.items() if value is not None),
        f"- {report.seconds:.0f} s on {report.device}",
        f"- {', '.join(f'{name} {number}' for name, number in report.versions.items())}",
        "",
    ]
    return "\n".join(lines)


def _sentence(text: str) -> str:
    return _plain(text[:1].upper() + text[1:]) + "."


def _plain(text: str) -> str:
    """On one line, and without what a table or a heading would be broken by."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
