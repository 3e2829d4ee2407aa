"""The command `seewhy`: parse, call the library, render, translate errors.

    app.py       the commands, the way out for errors, exit codes
    options.py   options that several commands share, and what they mean for output
    progress.py  a progress bar on stderr
    index.py  query.py  explain.py  status.py   one command or two each

Only here is anything printed: results to stdout, everything else to stderr.
"""
