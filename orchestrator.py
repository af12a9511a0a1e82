# SPDX-License-Identifier: MIT OR Apache-2.0
"""Marklab's entry: `python orchestrator.py --scheme ecn-sharp --load 0.8`.

Any Python can run this file, from any folder, hence the old-fashioned syntax. It starts the Python of the environment
that `make setup` makes.
"""

import os
import signal
import sys


def main():
    """Run the package `marklab` in the folder `orchestrator` beside this file, with the lab's own Python."""
    here = os.path.dirname(os.path.realpath(__file__))
    environment = os.path.join(here, ".venv")
    python = os.path.join(environment, "bin", "python")
    if os.path.realpath(sys.prefix) != os.path.realpath(environment):
        if not os.access(python, os.X_OK):
            sys.exit("error: the lab is not set up\n  try: run `make setup` in " + here)
        # Values that were set for the other Python would mislead the lab's own.
        for name in ("PYTHONHOME", "PYTHONPATH"):
            os.environ.pop(name, None)
        os.execv(python, [python, os.path.realpath(__file__)] + sys.argv[1:])  # noqa: RUF005
    sys.path.insert(0, os.path.join(here, "orchestrator"))
    # Until the command line is loaded and can report it, Ctrl-C simply ends the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        from marklab.cli.main import main as run  # noqa: PLC0415
    except ImportError as error:
        sys.exit("error: the lab's environment is not complete (%s)\n  try: run `make setup` in %s" % (error, here))
    run()


if __name__ == "__main__":
    main()
