"""The command `seewhy`: parse, call the library, render, translate errors.

    app.py          the table of commands, translation of errors, exit codes
    options.py      how a function becomes a command; options that several commands share
    output.py       output options, reading and writing files, the progress bar
    hits_output.py  printing hits, opening the editor

    query.py        query, similar, duplicates, search     interactive.py the screens of search
    explain.py      explain, contrast, why-not, similarity index.py       index, status, list, check, move, remove
    serve.py        serve, mcp                             config.py      config
    eval.py         eval                                   inspect.py     lab inspect, vocabulary
    predict.py      lab fill, next, ask                    label.py       lab tag, label
    train.py        lab train

Only this package prints: results to stdout, everything else to stderr.
"""
