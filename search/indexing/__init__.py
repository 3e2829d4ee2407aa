"""Build and update the index of a folder.

start.py            builds, updates, previews and creates an index, from the arguments that users give
update.py           updates an index, from the lock to the report
build_settings.py   encoder, source, passage settings and server of an index: chosen, stored or default
run.py              one run, with the lock held
compare.py          compares a walk of the folders with the stored files: what to read, what is gone
read.py             reads and cuts the changed files, one batch ahead of the run
encode_pending.py   the second phase of a run: encodes the passages that the first has stored
background.py       completes an index in a child process of idle priority
preview.py          lists the changes that a run would make
sampling.py         null distribution of scores
token_vectors.py    encodes the token vectors of passages that lack them
watch.py            watches the folders for changes
document_changes.py  reports which documents of an index have changed
update_check.py     finds out if an update is due and would take less than a second
move.py             points an index to the new path of its folder
check.py            checks that the index is intact and up to date; repairs derived files
memory.py           indexes documents from memory
"""
