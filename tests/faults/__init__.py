"""Harnesses that break things on purpose and look whether the index still tells the truth.

    double.py      an encoder that can be predicted and needs no model
    contents.py    seeded files, and seeded edits of a folder
    oracle.py      what an index must hold and answer, worked out without search/index
    history.py     what each file held, and what was reported as committed: the expected-state file
    steps.py       the steps of the protocol, numbered; something may happen before or after each
    processes.py   child processes: started ahead, spoken to in lines of JSON, killed by id
    child.py       such a process, for which few passages are many
    worker.py      the child that edits and indexes, until it is killed
    reader.py      the child that asks, and checks every answer
    editor.py      the child that edits a folder, while others index it

    kill.py        1. SIGKILL at random moments, and at every named step
    failing.py     2. the n-th write, fsync or rename fails; with shim.py and shim.c below Python, too
    ordering.py       what was not forced to disk is lost; disk.py is such a disk
    machine.py     3. Hypothesis: any sequence of edits and runs, against a dictionary; edits.py has the edits
    readers.py     4. readers against a writer that never stops, and beside a removal; an editor beside runs and repairs
    mutate.py      5. flipped bits in segments, damaged input files and models; damage.py and packages.py make them
    defects.py     6. ways to break `search` that each harness must notice

Every harness is a function that takes a seed and a size and gives an Outcome. The suite runs them small,
`python benchmarks/faults.py --full` large.
"""
