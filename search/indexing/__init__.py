"""A folder and an index -> the index of that folder as it is now.

options.py  what it is made with: as asked for, else as before, else the defaults
update.py   the whole of it, from the lock to the report; run.py one run, with the lock held
plan.py     what a walk finds, against what is stored
batches.py  changed files -> documents and passages, a batch ahead of the model
preview.py  what a run would do; watch.py when files change
check.py    whether the index is what was written, and up to date; repair.py what can be done about it
"""
