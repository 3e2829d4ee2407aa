"""The command `seewhy`: parse, call the library, render, translate errors.

    app.py          the table of commands, translation of errors, exit codes
    options.py      how a function becomes a command; options that several commands share
    output.py       output options, reading and writing files, the progress bar
    hits_output.py  printing hits; matrices.py: options of token matrices
    editor.py       opening a hit in the editor

    query.py        query, similar, duplicates             search_as_you_type.py  search; interactive.py: its screens
    explain.py      explain, contrast, why-not, similarity map.py         map
    index.py        index, upsert, export, status, list, check, move, remove, models
    serve.py        serve, mcp                             config.py      config
    eval.py         eval

Only this package prints: results to stdout, everything else to stderr.
"""
