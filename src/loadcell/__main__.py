"""`python -m loadcell` is `loadcell`."""

from loadcell.cli import main

if __name__ == "__main__":
    main(prog_name="loadcell")
