"""python -m search"""

from search.cli.app import main

if __name__ == "__main__":
    try:
        main()
    finally:
        # CPython notes a KeyboardInterrupt that leaves exec(), as it does where Ctrl-C meets a dataclass being
        # made, and under -m it then dies by the signal in place of our exit code. The next exec() clears the note.
        exec("")
