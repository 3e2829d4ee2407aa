"""A folder and an index -> the index of that folder as it is now.

update.py   the whole of it, from the lock to the report; run.py one run, with the lock held
plan.py     what a walk finds, against what is stored
batches.py  changed files -> documents and passages, a batch ahead of the model
preview.py  what a run would do; watch.py when files change
"""
