"""`python -m headcount`: the command line, if the program is not on the path."""

from __future__ import annotations

import sys

from headcount.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
