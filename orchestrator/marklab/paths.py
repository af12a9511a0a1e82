# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where the lab's own data lies, whatever the current directory.

All of it lies in the package's folder `data`: in the source tree as links to the folders at its top, in a wheel as
copies.
"""

from pathlib import Path

from marklab.errors import SetupError

PACKAGE = Path(__file__).resolve().parent
_DATA = PACKAGE / "data"

# Where the source tree begins, if the package lies in one.
REPOSITORY = PACKAGE.parent.parent
IN_TREE = (REPOSITORY / "orchestrator.py").is_file()

# The schemes of the lab, and in `include` what they share.
PROGRAMS = (_DATA / "p4src").resolve() / "v1model"

# What of them runs on Tofino.
TWINS = PROGRAMS.parent / "tna"

TOPOLOGIES = (_DATA / "topologies").resolve()
TRAFFIC = (_DATA / "traffic").resolve()
EXPERIMENTS = (_DATA / "experiments").resolve()

# The commit of a wheel, or of source without git: what `make wheel` or `artifact` notes of the tree.
NOTED_COMMIT = _DATA / "commit"

# What commands leave: in a source tree it is kept there, with an installed lab in the current directory.
_OUT = REPOSITORY if IN_TREE else Path()
RESULTS = _OUT / "results"
PROMOTED = _OUT / "promoted"
ARTIFACTS = _OUT / "artifacts"

# How a user starts the lab, for messages that say what to run.
COMMAND = "python orchestrator.py" if IN_TREE else "marklab"


def require_tree(what: str) -> None:
    """Refuse what only the source tree has the files for."""
    if not IN_TREE:
        raise SetupError(f"{what} is not part of an installed lab", "run it in a clone of the repository")
