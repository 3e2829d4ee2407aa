"""Draw a comparison of two encoders for a terminal."""

from __future__ import annotations

from search.lab.records.encoder_comparisons import (
    EncoderComparison,
    EncoderSetting,
    NeighbourChange,
    QueryComparison,
)
from search.records.evaluations import Estimate
from search.render.format import counted, one_line, shortened, where
from search.render.terminal import Canvas, as_text

_EXAMPLES, _CHANGES = 3, 2
_FEWEST_FOR_INTERVAL = 10  # queries


@as_text
def encoder_comparison(canvas: Canvas, comparison: EncoderComparison) -> None:
    """Draw the overlap and the rank correlation, then the queries with the least overlap."""
    of = f" of {comparison.total:,}" if comparison.total > comparison.passages else ""
    kind = "given" if comparison.queries[0].passage is None else "each of them a passage"
    n = len(comparison.queries)
    queries = "query" if n == 1 else "queries"
    canvas.facts(
        [
            ("A", setting_line(comparison.first)),
            ("B", setting_line(comparison.second)),
            ("passages", f"{comparison.passages:,}{of}"),
            ("queries", f"{n:,} {queries}, {kind}"),
            (
                f"first {comparison.k}",
                f"{mean_with_interval(comparison.overlap, n)} in both; by chance {comparison.by_chance:.2f}",
            ),
            ("all ranks", f"{mean_with_interval(comparison.correlation, n)} correlation (Spearman)"),
        ]
    )
    canvas.title("Queries with the fewest passages in both:")
    for query in comparison.queries[:_EXAMPLES]:
        _draw_query(canvas, query, comparison.k)


def _draw_query(canvas: Canvas, query: QueryComparison, k: int) -> None:
    both = k - len(query.gained)
    place = f"{where(query.passage)}  " if query.passage else ""
    canvas.gap()
    canvas.line((place, "cyan"), f"{both} of {k} in both", style="bold", whole=True)
    canvas.line(_cut(canvas, query.query, 2), indent=2)
    for name, style, changes in (("only A", "red", query.lost), ("only B", "green", query.gained)):
        for change in changes[:_CHANGES]:
            _draw_change(canvas, change, name, style)


def _draw_change(canvas: Canvas, change: NeighbourChange, name: str, style: str) -> None:
    passage = change.passage
    canvas.line(
        (f"  {name}", style),
        f"  rank {change.before:,} in A, {change.after:,} in B  ",
        (where(passage), "cyan"),
        whole=True,
    )
    canvas.dim(_cut(canvas, passage.visible_text, 10), indent=10)


def _cut(canvas: Canvas, text: str, indent: int) -> str:
    return shortened(one_line(text), canvas.width - indent - 2)


def mean_with_interval(estimate: Estimate, n: int) -> str:
    """Return a mean over n queries with its interval, which says nothing for a few."""
    if n < _FEWEST_FOR_INTERVAL:
        return f"{estimate.mean:.2f}"
    return f"{estimate.mean:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


def setting_line(setting: EncoderSetting) -> str:
    """Return a setting in one line: "all-MiniLM-L6-v2, mean pooling, layer 6 of 6"."""
    layer = setting.layer if ":" in setting.layer else f"{setting.layer} of {setting.n_layers}"
    cut = f" ({counted(setting.truncated, 'passage')} truncated)" if setting.truncated else ""
    return f"{one_line(setting.model)}, {setting.pooling} pooling, layer {layer}{cut}"
