"""Documents ranked whole: title and text as one, cut at what the model reads, compared in memory.

This is how BEIR and most published figures have it. An index cuts documents into passages instead, so its figures
differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from search.encoding import Encoder
from search.encoding.encoder import Role
from search.encoding.tokenizer import encode_ids
from search.evaluating.asking import Found, Plan, measure
from search.evaluating.collection import require_documents
from search.evaluating.dataset import Entry, Query, Retrieval
from search.evaluating.metrics import DEPTH, ranking_values
from search.evaluating.retrieval import about_judgements
from search.records.evaluations import Evaluation, Setting
from search.records.reports import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray


def evaluate_whole(
    data: Retrieval, encoder: Encoder, plan: Plan, *, allow_missing: bool = False
) -> Evaluation:
    """The documents of a collection with one embedding each, ranked by cosine.

    Raises:
        InputError: relevant documents are not in the collection.
    """
    relevant = {name for grades in data.judgements.values() for name, grade in grades.items() if grade > 0}
    missing = require_documents(
        sorted(relevant - data.entries.keys()), len(relevant), data.source, allow_missing
    )
    whole = WholeDocuments(encoder, data.entries, plan)
    cut = f"{whole.cut:,} of {len(data.entries):,} documents were cut at {encoder.max_tokens} tokens"
    asked = too_long(encoder, [query.text for query in data.queries], "query")

    def find(query: Query) -> Found:
        ranked = whole.rank(query.text, max(DEPTH, plan.k))
        return Found(ranking_values(ranked, data.judgements[query.id], plan.k), tuple(ranked))

    done, _, notes = measure(
        data.queries,
        [Setting("whole documents")],
        lambda setting: find,
        lambda setting: lambda text: whole.rank(text, plan.k),
        plan,
        passages=len(data.entries),
    )
    return Evaluation(
        dataset=data.name,
        source=str(data.source),
        task="retrieval",
        split=data.split,
        index="",
        model=encoder.model,
        pooling=encoder.pooling,
        documents=len(data.entries),
        passages=len(data.entries),
        judgements=sum(map(len, data.judgements.values())),
        primary=f"ndcg@{plan.k}",
        settings=done,
        notes=(
            cut,
            *([f"{asked:,} queries were cut, too"] if asked else []),
            *([missing] if missing else []),
            *about_judgements(data),
            *notes,
        ),
    )


class WholeDocuments:
    """Documents with one embedding each.

    Args:
        entries: title and text are joined by a space; a document without either has an embedding too.

    Attributes:
        cut: how many documents are longer than the model reads.
    """

    def __init__(self, encoder: Encoder, entries: Mapping[str, Entry], plan: Plan) -> None:
        self._encoder, self._names, self._show = encoder, list(entries), plan.progress
        texts = [entry.whole for entry in entries.values()]
        self.cut = too_long(encoder, texts, "document")
        self._vectors = encoder.encode(texts, role="document", truncate=True, progress=self._progress)

    def rank(self, query: str, depth: int) -> list[str]:
        """The `depth` documents nearest to a query, best first; of equals the earlier one."""
        scores = self._vectors @ self._embedded(query)
        return [self._names[i] for i in np.argsort(-scores, kind="stable")[:depth].tolist()]

    def _embedded(self, query: str) -> NDArray[np.float32]:
        return self._encoder.encode([query], role="query", truncate=True)[0]

    def _progress(self, done: int, total: int) -> None:
        if self._show:
            self._show(Progress("encoding", done, total, passages=len(self._names), tokens=done))


def too_long(encoder: Encoder, texts: Sequence[str], role: Role | None = None) -> int:
    """How many of the texts have more tokens than the model reads."""
    prompt = encoder.prompt(role)
    encoded = encode_ids(encoder.tokenizer, [prompt + text for text in texts], encoder.max_tokens)
    return sum(text.dropped > 0 for text in encoded)
