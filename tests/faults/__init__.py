"""Harnesses that break things on purpose and look whether the index still tells the truth.

    double.py      an encoder that can be predicted and needs no model
    contents.py    seeded files, and seeded edits of a folder
    oracle.py      content and answers that an index must have, worked out without search/index
    history.py     what each file held, and what was reported as committed: the expected-state file
    steps.py       the steps of the protocol, numbered; something may happen before or after each
    processes.py   child processes: started ahead, spoken to in lines of JSON, killed by id
    child.py       such a process, for which few passages are many
    worker.py      the child that edits and indexes, until it is killed
    reader.py      the child that asks, and checks every answer

    kill.py        1. SIGKILL at random moments, and at every named step
    failing.py     2. the n-th write, fsync or rename fails
    ordering.py    3. what was not forced to disk is lost; disk.py is such a disk, shim.py and shim.c see the writes
    readers.py     4. readers against a writer that never stops
    mutate.py      5. flipped bits in segments, damaged inputs and models; damage.py, packages.py, models.py make them

Every harness is a function that takes a seed and a size and gives an Outcome. The suite runs them small,
`python benchmarks/faults.py --full` large.
"""
