"""How good a trained head is, and what the logits of a text are made of, as pages."""

from __future__ import annotations

from collections.abc import Sequence

from search.records.predictions import LabelExplanation, LabelReport, LabelTraining
from search.render.label_report import (
    calibration_line,
    comparison_line,
    confusion_title,
    count,
    examples_line,
    figure_rows,
    judged_line,
)
from search.render.labels import explained_line, sum_rows
from search.render.page.document import bar, document, isolated, shade, signed, text

_BUTTON = '<button type="button" id="theme" hidden>Dark or light</button>'


def labels(found: LabelTraining) -> str:
    """The page of a trained head's report, as the text of an HTML file."""
    notes = "".join(f'<p class="faint">note: {isolated(note)}</p>' for note in found.notes)
    compared = "".join(f"<p>{isolated(comparison_line(one))}</p>" for one in found.comparisons)
    sections = "".join(_report(report, len(found.reports) > 1) for report in found.reports)
    body = f"""<header><div class="title"><h1>How good are these labels: {isolated(found.name)}</h1>{_BUTTON}</div>
<p class="faint">{isolated(examples_line(found))}</p></header>
<main>{compared}{sections}</main>
<footer>{notes}<p>Every example was judged by heads that had not seen it. Intervals are 95 % bootstrap intervals over
examples.</p></footer>"""
    return document(f"Labels: {found.name}", body, {}, style="attention.css")


def _report(report: LabelReport, several: bool) -> str:
    title = f"<h1>{text(report.pooling)}</h1>" if several else ""
    figures = "".join(
        f'<tr><th scope="row">{text(name)}</th><td>{figure}</td><td>{isolated(rest)}</td></tr>'
        for name, figure, rest in figure_rows(report)
    )
    classes = "".join(
        f'<tr><th scope="row">{isolated(one.label)}</th><td>{one.precision:.3f}</td><td>{one.recall:.3f}</td>'
        f"<td>{one.f1:.3f}</td><td>{one.support:,}</td></tr>"
        for one in report.by_class
    )
    return f"""<section class="panel">{title}<p class="faint">{isolated(judged_line(report))}</p>
<table class="plain"><thead><tr><th></th><th>figure</th><th>95 % interval</th></tr></thead>
<tbody>{figures}</tbody></table></section>
<section class="panel"><h2>By class</h2><table class="plain"><thead><tr><th>label</th><th>precision</th><th>recall</th>
<th>F1</th><th>examples</th></tr></thead><tbody>{classes}</tbody></table></section>
<section class="panel"><h2>Confusion</h2>{_confusion(report)}</section>
<section class="panel"><h2>Calibration</h2>{_calibration(report)}</section>"""


def _confusion(report: LabelReport) -> str:
    heads = "".join(f'<th scope="col">{isolated(name)}</th>' for name in report.classes)
    rows = ""
    for name, row in zip(report.classes, report.confusion.tolist(), strict=True):
        total = sum(row) or 1.0
        cells = "".join(f'<td class="{shade(cell, total)}">{count(cell)}</td>' for cell in row)
        rows += f'<tr><th scope="row">{isolated(name)}</th>{cells}</tr>'
    return f"""<div class="scroll"><table class="matrix narrow"><thead><tr><td></td>{heads}</tr></thead>
<tbody>{rows}</tbody></table></div><p class="faint">{text(confusion_title(report))}. Colours: share of the row.</p>"""


def _calibration(report: LabelReport) -> str:
    total = sum(one.count for one in report.calibration.bins)
    rows = "".join(
        f'<tr><th scope="row">{one.low:.1f} to {one.high:.1f}: said {one.confidence:.3f}, '
        f"{one.count / total:.1%} of the predictions</th>"
        f"<td>{one.accuracy:.3f}</td><td>{bar(one.accuracy, 1.0)}</td></tr>"
        for one in report.calibration.bins
    )
    return f"""<table class="added"><thead><tr><th>probability</th><td>right</td><td></td></tr></thead>
<tbody>{rows}</tbody></table><p class="faint">{text(calibration_line(report))}: the mean distance of said and right
(Guo et al. 2017).</p>"""


def label_explanation(found: Sequence[LabelExplanation]) -> str:
    """The page of what the logits of texts are made of, as the text of an HTML file."""
    sections = "".join(_explained(one) for one in found)
    body = f"""<header><div class="title"><h1>Why this label: {isolated(found[0].head)}</h1>{_BUTTON}</div></header>
<main>{sections}</main>"""
    return document(f"Why this label: {found[0].head}", body, {}, style="attention.css")


def _explained(one: LabelExplanation) -> str:
    by_word = one.by_word
    largest = float(abs(by_word).max()) or 1.0
    number = one.classes.index(one.label)
    marked, at = "", 0
    for word, added in zip(one.words, by_word.tolist(), strict=True):
        if word.kind not in ("word", "punctuation"):
            continue
        level = shade(added[number], largest)
        marked += text(one.text[at : word.start])
        marked += f'<span class="unit {level}">{text(one.text[word.start : word.end])}</span>'
        at = word.end
    marked += text(one.text[at:])
    heads = "".join(f'<th scope="col">{isolated(name)}</th>' for name in one.classes)
    rows = "".join(
        _row(isolated(word.text), added, largest)
        for word, added in zip(one.words, by_word.tolist(), strict=True)
    )
    rows += "".join(_row(text(name), row, 0.0) for name, row in sum_rows(one))
    rows += _row("<b>logit</b>", one.logits.tolist(), 0.0)
    chances = "".join(f"<td>{value:.4f}</td>" for value in one.probabilities.tolist())
    return f"""<section class="panel"><h2>What speaks for {isolated(one.label)}</h2>
<p class="text" dir="auto">{marked}</p></section>
<div class="scroll"><table class="matrix narrow"><thead><tr><td></td>{heads}</tr></thead><tbody>{rows}
<tr><th scope="row">probability</th>{chances}</tr></tbody></table></div>
<p class="faint">{isolated(explained_line(one))}</p>"""


def _row(name: str, values: list[float], end: float) -> str:
    cells = "".join(f'<td class="{shade(value, end)}">{signed(value)}</td>' for value in values)
    return f'<tr><th scope="row">{name}</th>{cells}</tr>'
