"""The command `seewhy`: parse, call the library, render, translate errors.

    app.py          the commands, the way out for errors, exit codes
    commands.py     how a function becomes a command: groups of options, help in panels
    options.py      options that several commands share; output.py those of what is printed and drawn
    files.py        files that are written because somebody asked, and texts that are read
    progress.py     a progress bar on stderr

    index.py        index                               ask.py          ask
    query.py        query, similar                      heads.py        fill, next
    explain.py      explain, contrast, why-not          tag.py          tag
    similarity.py   similarity, duplicates              label.py        label train, apply, explain, remove
    inspect.py      inspect                             train.py        train
    eval.py         eval, eval-qa, eval-ner             manage.py       status, list, check, repair, models

Only here is anything printed: results to stdout, everything else to stderr.
"""
