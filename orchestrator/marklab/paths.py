# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where the lab's own data is, independent of the current directory.

All of it is in the package's folder `data`: in the source tree as links to the folders at its top, in a wheel as
copies.
"""

from pathlib import Path

from marklab.errors import SetupError

PACKAGE = Path(__file__).resolve().parent
_DATA = PACKAGE / "data"

# Top folder of the source tree, if the package is in one.
REPOSITORY = PACKAGE.parent.parent
IN_TREE = (REPOSITORY / "orchestrator.py").is_file()

# The schemes of the lab; `include` has the code that they share.
PROGRAMS = (_DATA / "p4src").resolve() / "v1model"

# Their twins for Tofino.
TWINS = PROGRAMS.parent / "tna"

TRAFFIC = (_DATA / "traffic").resolve()
EXPERIMENTS = (_DATA / "experiments").resolve()
CONTROLLERS = (_DATA / "controllers").resolve()

# The commit of a wheel or of source without git, as noted by `make wheel` or `artifact`.
NOTED_COMMIT = _DATA / "commit"

# Folders that commands write: at the top of a source tree, or in the current directory if the lab is installed.
_OUT = REPOSITORY if IN_TREE else Path()
RESULTS = _OUT / "results"
PROMOTED = _OUT / "promoted"
ARTIFACTS = _OUT / "artifacts"

# How a user starts the lab, for messages that name a command.
COMMAND = "python orchestrator.py" if IN_TREE else "marklab"


def require_tree(what: str) -> None:
    """Raise SetupError in an installed lab, for operations that need files of the source tree."""
    if not IN_TREE:
        raise SetupError(f"{what} is not part of an installed lab", "run it in a clone of the repository")
