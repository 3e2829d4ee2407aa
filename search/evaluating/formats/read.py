"""A file or a folder -> what is evaluated on, by its format."""

from __future__ import annotations

from pathlib import Path

from search.errors import InputError
from search.evaluating.dataset import Dataset
from search.evaluating.formats import beir, spans, sts
from search.evaluating.formats.judgements import read_judgements
from search.evaluating.formats.squad import read_squad
from search.evaluating.formats.strict import rows
from search.records.evaluations import Task

_FORMATS = (
    "Known are: a folder in BEIR layout (corpus.jsonl, queries.jsonl, qrels/); a folder with corpora/ and "
    "questions.jsonl; SQuAD's JSON; a CSV or TSV file with the columns query and path (and relevance), or sentence1, "
    "sentence2 and score. For CoNLL there is seewhy eval-ner."
)


def read_dataset(source: Path, *, task: Task | None = None, split: str = "test") -> Dataset:
    """Read judged data.

    Args:
        task: only to make sure; None takes what the format says.
        split: which judgements of a folder in BEIR layout.

    Raises:
        InputError: nothing known, something malformed, or data for another task.
    """
    found = _task_of(source)
    if task is not None and task != found:
        raise InputError(f"'{source}' is data for the task '{found}', not for '{task}'. Leave out --task.")
    if found == "sts":
        return sts.read_sts(source)
    if found == "spans":
        return spans.read_spans(source)
    if source.is_dir():
        return beir.read_beir(source, split)
    return read_squad(source) if _is_json(source) else read_judgements(source)


def _task_of(source: Path) -> Task:
    if not source.exists():
        raise InputError(f"there is no '{source}'. Name the file or folder that holds the judged data.")
    if source.is_dir():
        if beir.is_beir(source):
            return "retrieval"
        if spans.is_spans(source):
            return "spans"
    elif _is_json(source):
        return "retrieval"
    elif source.suffix.lower() in (".csv", ".tsv", ".tab"):
        _, header = next(rows(source, quoted=False), (1, []))
        names = {name.strip().strip('"').lower() for name in header}
        return "sts" if names.intersection(sts.COLUMNS[:2]) else "retrieval"
    raise InputError(f"'{source}' is in no format that can be evaluated on. {_FORMATS}")


def _is_json(source: Path) -> bool:
    return source.suffix.lower() == ".json"
