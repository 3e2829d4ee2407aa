"""Draw a comparison of two encoders for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Column
from rich.text import Text

from search.lab.records.encoder_comparisons import (
    CosineShares,
    EncoderComparison,
    EncoderSetting,
    NeighbourChange,
    QueryComparison,
    TextComparison,
    UnrelatedPairs,
)
from search.records.evaluations import Estimate
from search.render.format import counted, one_line, shortened, where
from search.render.terminal import Canvas, as_text, grid, number
from search.render.why import REST, signed_bar

_EXAMPLES, _CHANGES = 3, 2
_WORDS, _WORDS_OF_QUERY = 20, 3  # of a table; the others are counted together
_FEWEST_FOR_INTERVAL = 10  # queries


@as_text
def text_comparison(canvas: Canvas, compared: TextComparison) -> None:
    """Draw both cosines, each among unrelated pairs, then the words with the largest differences first."""
    canvas.facts(
        [
            ("A", setting_line(compared.first)),
            ("B", setting_line(compared.second)),
            ("text 1", one_line(compared.texts[0])),
            ("text 2", one_line(compared.texts[1])),
            *standings(compared),
        ]
    )
    canvas.title("Contributions of the words of text 1, the largest differences first:")
    _draw_shares(canvas, compared.shares, _WORDS, bars=True)


def standings(compared: TextComparison) -> Iterator[tuple[str, str]]:
    """Yield the cosine of each encoder, and where it is among those of unrelated pairs."""
    for name, cosine, pairs in zip("AB", compared.shares.totals, compared.unrelated, strict=True):
        yield f"cosine {name}", f"{cosine:.4f}; {_standing(pairs)}"


def _standing(pairs: UnrelatedPairs) -> str:
    return (
        f"higher than {100 * pairs.below:.1f} % of {pairs.pairs:,} unrelated pairs, whose mean is "
        f"{pairs.mean:.3f}"
    )


def share_rows(shares: CosineShares, most: int) -> list[tuple[str, float, float]]:
    """Return a name and both addends for words with the largest differences, then for all others together."""
    words = shares.by_difference
    rows = [(one_line(word.text), word.first, word.second) for word in words[:most]]
    if others := words[most:]:
        rows.append((REST, sum(word.first for word in others), sum(word.second for word in others)))
    return rows


def _draw_shares(canvas: Canvas, shares: CosineShares, most: int, *, bars: bool, indent: int = 0) -> None:
    """Draw both addends of each word and their difference, and the sums, which are the cosines."""
    rows = share_rows(shares, most)
    largest = max((abs(addend) for _, *addends in rows for addend in addends), default=0.0)
    sides = [number("in A"), Column(no_wrap=True), number("in B"), Column(no_wrap=True)]
    margin = " " * indent
    table = grid(f"{margin}word", *(sides if bars else sides[::2]), number("B - A"))
    for name, *addends in rows:
        cells: list[str | Text] = [margin + name]
        for addend in addends:
            cells.append(f"{addend:+.4f}")
            if bars:
                cells.append(signed_bar(addend, largest))
        table.add_row(*cells, f"{addends[1] - addends[0]:+.4f}")
    sums = [sum(addends) for addends in zip(*(row[1:] for row in rows), strict=True)]
    cells = [f"{margin}sum"]
    for total in sums:
        cells += [f"{total:+.4f}", ""] if bars else [f"{total:+.4f}"]
    table.add_row(*cells, f"{sums[1] - sums[0]:+.4f}", style="bold")
    canvas.table(table)


@as_text
def encoder_comparison(canvas: Canvas, comparison: EncoderComparison) -> None:
    """Draw the overlap and the rank correlation, then the queries with the least overlap."""
    canvas.facts(facts_of(comparison))
    canvas.title("Queries with the fewest passages in both:")
    for query in comparison.queries[:_EXAMPLES]:
        _draw_query(canvas, query, comparison.k)


def facts_of(comparison: EncoderComparison) -> list[tuple[str, str]]:
    """Return names and values: both settings, the size of the comparison, overlap and rank correlation."""
    of = f" of {comparison.total:,}" if comparison.total > comparison.passages else ""
    kind = "given" if comparison.queries[0].passage is None else "each of them a passage"
    n = len(comparison.queries)
    queries = "query" if n == 1 else "queries"
    return [
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


def _draw_query(canvas: Canvas, query: QueryComparison, k: int) -> None:
    both = k - len(query.gained)
    place = f"{where(query.passage)}  " if query.passage else ""
    canvas.gap()
    canvas.line((place, "cyan"), f"{both} of {k} in both", style="bold", whole=True)
    canvas.line(_cut(canvas, query.query, 2), indent=2)
    for name, style, changes in (("only A", "red", query.lost), ("only B", "green", query.gained)):
        for change in changes[:_CHANGES]:
            _draw_change(canvas, change, name, style)
    if query.most_changed and query.above_mean:
        _draw_words(canvas, query.most_changed, query.above_mean)


def moved_line(change: NeighbourChange, shares: CosineShares) -> str:
    """Return the ranks of the passage that moves most, and how far its cosine is above the mean."""
    first, second = shares.totals
    return (
        f"Most moved: {where(change.passage)}, rank {change.before:,} in A, {change.after:,} in B; above the mean of "
        f"all passages by {first:+.3f} in A, {second:+.3f} in B."
    )


def _draw_words(canvas: Canvas, change: NeighbourChange, shares: CosineShares) -> None:
    """Draw what each word of a query adds to the distance of a passage from the mean of all passages."""
    first, second = shares.totals
    canvas.line(
        ("  most moved", "bold"),
        f"  rank {change.before:,} in A, {change.after:,} in B  ",
        (where(change.passage), "cyan"),
        whole=True,
    )
    canvas.line(f"above the mean of all passages by {first:+.3f} in A, {second:+.3f} in B", indent=10)
    _draw_shares(canvas, shares, _WORDS_OF_QUERY, bars=False, indent=10)


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
