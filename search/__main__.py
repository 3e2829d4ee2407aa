"""The command, as `python -m search` and as `seewhy`."""

import gc
import os
import sys

_EXPLAINING = ("explain", "contrast", "why-not", "similarity", "serve", "mcp")


def main() -> None:
    """Run the command line with few garbage collections, and none at exit.

    Nearly all loaded objects stay alive, so a collection frees little. At the default rate, collections took a quarter
    of a cold query's time.

    Commands that explain, and the servers, multiply small matrices, in a single thread: threads that share a small
    product wait for each other in a loop, which on a busy machine takes more than twice the processor time.
    """
    gc.set_threshold(500_000, 20, 20)
    if sys.argv[1:2] and sys.argv[1] in _EXPLAINING:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported
    from search.cli.app import main as run

    try:
        run()
    finally:
        gc.freeze()


if __name__ == "__main__":
    try:
        main()
    finally:
        # If Ctrl-C interrupts an exec(), which dataclasses use, CPython sets a flag: under -m the process then dies by
        # the signal, and our exit code is lost. The next exec() clears the flag.
        exec("")
