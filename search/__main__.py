"""The command, as `python -m search` and as `seewhy`."""

import gc


def main() -> None:
    """Run the command line, looking for no garbage until a command begins that runs long.

    Nearly all that is loaded stays to the end. To look through it again and again, and once more at the end, took a
    quarter of a cold query.
    """
    gc.disable()
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
