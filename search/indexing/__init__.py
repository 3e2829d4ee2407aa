"""A folder and an index -> the index of that folder as it is now.

update.py   what it is made with, and the whole of it, from the lock to the report, and again when files change; the
            index of a folder that has another name or place now
run.py      one run, with the lock held
plan.py     what a walk finds, against what is stored; documents and passages, a batch ahead of the model
check.py    whether the index is intact and up to date; makes what is derived again
"""
