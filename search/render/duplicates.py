"""Passages that say the same, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.padding import Padding
from rich.text import Text

from search.records.hits import Cluster
from search.render.escape import one_line
from search.render.terminal import canvas, drawn, where

_SHOWN = 160


def duplicates(found: Sequence[Cluster], threshold: float, *, width: int = 80, colour: bool = False) -> str:
    """Clusters, each with its passages by place; "=" marks a text that came before in the cluster."""
    if not found:
        return f"No two passages have a cosine of {threshold:g} or more."
    console = canvas(width, colour)
    for number, cluster in enumerate(found, 1):
        alike = "the same text" if cluster.exact else f"cosine {cluster.lowest:.3f} or more with the nearest"
        console.print(Text(f"{number:>2}  {len(cluster.passages)} passages, {alike}", style="bold"))
        for copy in cluster.passages:
            same = copy.same_text_as is not None
            mark = "=     " if same else f"{copy.cosine:.3f} "
            line = Text.assemble(f"    {mark} ", (where(copy), "cyan"), (f"  p{copy.passage_id}", "dim"))
            console.print(line, soft_wrap=True)
            if same:
                continue
            text = one_line(copy.text)
            shown = text if len(text) <= _SHOWN else text[:_SHOWN].rsplit(" ", 1)[0] + " …"
            console.print(Padding(Text(shown, style="dim"), (0, 0, 0, 11)))
        console.print()
    total = sum(len(cluster.passages) for cluster in found)
    exact = sum(copy.same_text_as is not None for cluster in found for copy in cluster.passages)
    console.print(
        f"{total:,} passages in {len(found):,} cluster{'' if len(found) == 1 else 's'}, "
        f"{exact:,} of them with a text that came before (=).",
        style="dim",
    )
    return drawn(console)
