"""Questions and gold spans: how much of these the passages that an index finds cover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from search.evaluating.asking import Found, OpenIndex, Plan, measure
from search.evaluating.coverage import span_values
from search.evaluating.dataset import Query, Span, Spans
from search.records.evaluations import Evaluation, Setting


def evaluate_spans(data: Spans, index: OpenIndex, settings: Sequence[Setting], plan: Plan) -> Evaluation:
    """The k best passages of all documents count, several of one document too."""
    status = index.status()

    def find(setting: Setting) -> Callable[[Query], Found]:
        def found(query: Query) -> Found:
            hits = index.query(query.text, k=plan.k, **setting.options)
            spans = [Span(hit.document, hit.start, hit.end) for hit in hits]
            names = tuple(f"{span.document}:{span.start}-{span.end}" for span in spans)
            return Found(span_values(spans, data.gold[query.id], plan.k), names)

        return found

    done, compared, notes = measure(
        data.queries,
        settings,
        find,
        lambda setting: partial(index.query, k=plan.k, **setting.options),
        plan,
        passages=status.passages,
    )
    return Evaluation(
        dataset=data.name,
        source=str(data.source),
        task="spans",
        split="",
        index=str(index.path),
        model=status.model,
        pooling=status.pooling,
        documents=status.documents,
        passages=status.passages,
        judgements=sum(map(len, data.gold.values())),
        primary=f"recall@{plan.k}",
        settings=done,
        comparisons=compared,
        notes=(*notes, *index.notes),
    )
