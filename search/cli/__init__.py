"""The command `seewhy`: parse, call the library, render, translate errors.

    app.py          the commands, the way out for errors, exit codes
    options.py      how a function becomes a command; options that several commands share
    output.py       options of what is printed and drawn, files that are written and read, the progress bar
    saving.py       tensors as files

    index.py        index, status, list, check, models
    query.py        query, similar                      ask.py          ask
    explain.py      explain, contrast, why-not          label.py        tag; label train, apply, explain, remove
    similarity.py   similarity, duplicates              train.py        train
    inspect.py      inspect; looking.py what it shows   eval.py         eval
    fill.py         fill, next                          vocabulary.py   vocabulary

Only here is anything printed: results to stdout, everything else to stderr.
"""
