"""Build and update the index of a folder.

update.py   updates an index, from the lock to the report; watches for changes; moves an index
run.py      one run, with the lock held
plan.py     compares a walk with the stored files; reads and cuts files one batch ahead of the model
    quick.py    finds out if an update is due and would take less than a second
check.py    checks that the index is intact and up to date; repairs derived files
    sampling.py null distribution of scores
"""
