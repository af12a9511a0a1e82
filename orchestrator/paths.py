"""Where the lab's own data lies, whatever the current directory."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
