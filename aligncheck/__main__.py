"""`python -m aligncheck`."""

from aligncheck.cli import main

if __name__ == "__main__":
    main(prog_name="aligncheck")
