"""The list of embedding models to choose from, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from search.records.model_cards import ModelCard
from search.render.terminal import Canvas, as_text


@as_text
def models(canvas: Canvas, cards: Sequence[ModelCard]) -> None:
    """Draw two lines for each model: its name and what it is best for, and what is known about it."""
    for card in cards:
        best_for = f": {card.best_for}" if card.best_for else ""
        canvas.line(f"{card.name}{best_for}", style="bold", whole=True)
        canvas.line(", ".join(_facts(card)), indent=2)
    canvas.gap()
    canvas.dim(
        "nDCG: published mean nDCG@10 of the English retrieval sets of MTEB (--json has the sources)."
    )
    canvas.dim("cost: processor time of encoding; the default model costs 1.")
    canvas.dim(
        "Prompts are applied by seewhy. Scores are explained exactly; loading PyTorch takes seconds."
    )
    canvas.line("To use a model: seewhy index FOLDER --model NAME", whole=True)


def _facts(card: ModelCard) -> list[str]:
    facts = [card.languages]
    if card.retrieval is not None:
        facts.append(f"nDCG {card.retrieval:.2f}")
    if card.cost is not None:
        facts.append(f"cost {card.cost:g}")
    return [
        *facts,
        f"{card.parameters:g} M parameters",
        f"{card.dimension:,} dimensions",
        f"{card.tokens:,} tokens" if card.tokens else "any length",
        card.licence,
        *(["prompts"] if card.prompts else []),
        f"explained with {card.tracing}",
    ]
