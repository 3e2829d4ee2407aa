"""Haystack: a component that retrieves passages of an index.

pipeline.add_component("retriever", SeewhyTextRetriever(index="notes", top_k=5))
"""

from __future__ import annotations

from typing import Any

from search.index import Index
from search.indexes import name_of
from search.integrations import Opens, described, extra, hits_of, id_of, opened

with extra("haystack", "Haystack"):
    from haystack import Document, component, default_to_dict


@component
class SeewhyTextRetriever:
    """Retriever of the best passages of an index.

    Args:
        index: an open index, or its folder, path or name; a list of these, to search several indexes together; or None,
            for the index that `search.Index.open()` opens.
        top_k: maximum number of passages.
        options: options of `search.Index.query`: mode, weight, where, since, rerank, per_document, explain ...
        figures: add score, addends, percentile, verdict and rank to the meta.

    `search.integrations.described` documents the meta. The `id` of a document consists of index and passage, and is
    valid as long as the passage is in the index.

    Raises:
        IndexNotFound: the index does not exist.
    """

    def __init__(
        self,
        index: Opens = None,
        top_k: int = 10,
        options: dict[str, Any] | None = None,
        figures: bool = False,
    ) -> None:
        self.index = opened(index)
        self.top_k, self.options, self.figures = top_k, options, figures

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component; the index is saved by name."""
        index = (
            name_of(self.index) if isinstance(self.index, Index) else list(map(name_of, self.index.all))
        )
        options = {name: getattr(self, name) for name in ("top_k", "options", "figures")}
        return default_to_dict(self, index=index, **options)

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, where: str | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Retrieve the best passages for a query; `where` and `top_k` override the component's own."""
        options = {**(self.options or {}), **({"where": where} if where else {})}
        hits = hits_of(self.index, query, self.top_k if top_k is None else top_k, **options)
        return {
            "documents": [
                Document(
                    id=id_of(hit), content=hit.text, meta=described(hit, self.figures), score=hit.score
                )
                for hit in hits
            ]
        }
