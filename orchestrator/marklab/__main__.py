# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m marklab`."""

from marklab.cli.main import main

# Processes that a sweep starts import the main module again.
if __name__ == "__main__":
    main()
