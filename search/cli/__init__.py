"""The command `seewhy`: parse, call the library, render, translate errors.

    app.py          the commands, the way out for errors, exit codes
    commands.py     how a function becomes a command: groups of options, help in panels
    options.py      options that several commands share
    output.py       options of what is printed and drawn, and the files that are written and read
    progress.py     a progress bar on stderr

    index.py        index                               ask.py          ask
    query.py        query, similar                      tag.py          tag
    explain.py      explain, contrast, why-not          label.py        label train, apply, explain, remove
    similarity.py   similarity, duplicates              train.py        train
    inspect.py      inspect, fill, next                 manage.py       status, list, check, repair, models
    eval.py         eval, eval-qa, eval-ner

Only here is anything printed: results to stdout, everything else to stderr.
"""
