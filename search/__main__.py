"""The command, as `python -m search` and as `seewhy`."""

import gc


def main() -> None:
    """Run the command line with rare garbage collections, and none at exit.

    Nearly all loaded objects stay alive; collecting as often as by default took a quarter of a cold query.
    """
    gc.set_threshold(500_000, 20, 20)
    from search.cli.app import main as run

    try:
        run()
    finally:
        gc.freeze()


if __name__ == "__main__":
    try:
        main()
    finally:
        # CPython notes a KeyboardInterrupt that leaves exec(), as it does where Ctrl-C meets a dataclass being
        # made, and under -m it then dies by the signal in place of our exit code. The next exec() clears the note.
        exec("")
