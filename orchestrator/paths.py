"""Where the lab's own data lies, whatever the current directory."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

# The schemes of the lab, and in `include` what they share.
PROGRAMS = REPOSITORY / "p4src" / "v1model"

# What of them runs on Tofino.
TWINS = REPOSITORY / "p4src" / "tna"
