"""The laboratory: inside BERT, task heads and training. Public as `search.bert`.

The core does not need it, and knows only the table in `plugin.py`. Each folder may import those before it:

    records/      what inspections, predictions and training runs return
    bert/         views into a model: tokens, the embedding layer, layers, attention; and the task heads
    annotating/   labels, entities and parts of speech for all passages of an index; linear heads on embeddings
    evaluating/   readers on questions, taggers on entities; comparison of two encoders; probes of layers
    training/     examples -> a fine-tuned encoder or head
    render/       drawings for a terminal, a notebook and a page
    cli/          the commands `seewhy lab ...`
    serving.py    the pages of `seewhy serve` that look into a model
"""
