"""seewhy eval DATASET --task qa"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from search.records.evaluations import Evaluation
    from search.records.reports import Progress

Retrieve = Annotated[
    bool,
    typer.Option(
        "--retrieve",
        help="qa: answer from an index of all paragraphs, too, -k of which are read; --mode says how they are found.",
    ),
]
Encoder = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="NAME|FOLDER",
        help="qa, with --retrieve: the encoder of the index. Default: all-MiniLM-L6-v2.",
        show_default=False,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit", metavar="N", min=1, help="qa, ner: only N of the data, spread evenly.", show_default=False
    ),
]
Margin = Annotated[
    float | None,
    typer.Option(
        "--no-answer-margin",
        metavar="M",
        help="qa: by how much a span has to score more than no answer. Default: 0 where some questions have no "
        "answer, else the best span always counts.",
        show_default=False,
    ),
]
MaxAnswer = Annotated[
    int, typer.Option("--max-answer", metavar="N", min=1, help="qa: most tokens of an answer.")
]


@dataclass(frozen=True)
class Asked:
    """What was typed that a reader's task has a use for."""

    dataset: Path
    model: str | None
    retrieve: bool
    encoder: str | None
    modes: list[str]
    index: str | None
    k: int
    limit: int | None
    no_answer_margin: float | None
    max_answer: int
    offline: bool
    engine: str

    def evaluation(self, progress: Callable[[Progress], None]) -> Evaluation:
        from search.bert.answering import READERS
        from search.evaluation import evaluate_answers

        if not self.model:
            raise typer.BadParameter(f"--model is needed: a checkpoint trained for answer spans ({READERS})")
        if (self.modes or self.index or self.encoder or self.k != 10) and not self.retrieve:
            raise typer.BadParameter(
                "for qa, -k, --mode, --index and --encoder say how to retrieve: add --retrieve"
            )
        return evaluate_answers(
            self.dataset,
            model=self.model,
            retrieve=self.retrieve,
            encoder=self.encoder,
            settings=self.modes,
            index=self.index,
            k=self.k,
            limit=self.limit,
            no_answer_margin=self.no_answer_margin,
            max_answer=self.max_answer,
            offline=self.offline,
            engine=self.engine,
            progress=progress,
        )
