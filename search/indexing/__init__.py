"""A folder and an index -> the index of that folder, up to date.

update.py   settings, and the whole update, from the lock to the report, and again when files change; the index of a
            folder that was renamed or moved
run.py      one run, with the lock held
plan.py     a walk compared with the stored files; documents and passages, a batch ahead of the model
check.py    checks that the index is intact and up to date; repairs derived files
"""
