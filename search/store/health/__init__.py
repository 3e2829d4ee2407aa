"""Is an index what was written, and if not, what can be done about it?

kinds.py      what can be wrong, by kind, and how often each was found
check.py      all of the checks, in order; examine*.py make them: rows, vectors, source files
repair.py     the way in; repair_run.py one repair with the lock held
mend.py       damaged rows: encode again, or mark the file to be read again
salvage.py    a database that SQLite cannot read -> a new one with what can be read of it
proof.py      which model made the embeddings of an index that no longer says so
"""
