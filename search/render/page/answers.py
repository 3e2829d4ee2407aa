"""Answers to a question as a page: each marked in the passage that it was read in."""

from __future__ import annotations

from search.records.predictions import Answer, Answers
from search.render.answers import also_line, no_answer_line, place_of, reading_line
from search.render.page.document import bar, document, isolated, signed, text
from search.render.terminal import headings

_FOOT = """<footer><p>Margin: start and end logit of the span, less those of [CLS] in the same window, which stand
for no answer. Probability: of the span against no answer, 1 / (1 + exp(\u2212margin)). Logits say how sure a model
is, not whether it is right.</p></footer>"""


def answers(found: Answers) -> str:
    """The page, as the text of an HTML file."""
    parts = [_answer(one) for one in found.answers]
    if not found.answers:
        parts.append(f"<p><b>{text(no_answer_line(found))}</b></p>")
        if found.nearest:
            parts.append(f"<p>The nearest:</p>{_answer(found.nearest)}")
    notes = "".join(f'<p class="faint">note: {text(note)}</p>' for note in found.notes)
    body = f"""<header><div class="title"><h1>{isolated(found.question)}</h1>
<button type="button" id="theme" hidden>Dark or light</button></div>
<p class="faint">{text(reading_line(found))}</p></header>
<main>{"".join(parts)}</main>{notes}{_FOOT}"""
    return document(f"Answers: {found.question}", body, {}, style="answers.css")


def _answer(one: Answer) -> str:
    start, end = one.start - one.passage_start, one.end - one.passage_start
    marked = (
        f"{text(one.passage[:start])}<mark>{text(one.passage[start:end])}</mark>{text(one.passage[end:])}"
    )
    number = f"{one.rank}  " if one.rank else ""
    id_ = f", p{one.passage_id}" if one.passage_id is not None else ""
    above = f"<p><b>{isolated(headings(one.hit))}</b></p>" if one.hit and headings(one.hit) else ""
    also = f'<p class="faint">{text(also_line(one))}</p>' if also_line(one) else ""
    window = f", window {one.window.number} of {one.window.of}" if one.window.of > 1 else ""
    place = f'<p>{isolated(place_of(one))} <span class="faint">({one.score:.3f}{id_}{window})</span></p>'
    return f"""<section class="panel" aria-label="answer"><h2>{number}{isolated(one.text)}</h2>
{place}
{above}<p class="text" dir="auto">{marked}</p>{also}
<details><summary>How the score is made up</summary>{_sum(one)}</details></section>"""


def _sum(one: Answer) -> str:
    rows = [
        ("start logit", one.start_logit),
        ("end logit", one.end_logit),
        ("less no answer", -one.null_score),
        ("margin", one.margin),
    ]
    end = max(abs(value) for _, value in rows)
    lines = "".join(_row(name, value, end) for name, value in rows)
    parts = [("probability" if one.weight == 1 else f"{one.weight:g} × probability", one.reader_part)]
    if one.weight < 1 and one.hit:
        parts.append((f"{1 - one.weight:g} × score of the passage", one.retrieval_part))
    lines += "".join(_row(name, value, 1.0) for name, value in parts)
    aside = ""
    if one.hit:
        aside = f'<p class="faint">The passage itself ranks {one.hit.rank} with {one.hit.score:.4f}.</p>'
    return f"""<table class="added"><tbody>{lines}</tbody>
<tfoot><tr><th scope="row">score</th><td>{signed(one.score)}</td><td></td></tr></tfoot></table>{aside}"""


def _row(name: str, value: float, end: float) -> str:
    return f'<tr><th scope="row">{name}</th><td>{signed(value)}</td><td>{bar(value, end)}</td></tr>'
