"""seewhy models"""

from __future__ import annotations

from search.cli.output import Output


def models(output: Output) -> None:
    """List embedding models to choose from, with published figures, and what each is best for.

    Any other sentence-transformers or BERT-like model works as well: seewhy index FOLDER --model NAME
    """
    from search.encoding.catalogue import CATALOGUE
    from search.render import models as render

    output.show(CATALOGUE, render.models)
