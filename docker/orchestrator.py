# SPDX-License-Identifier: MIT OR Apache-2.0
"""The lab's entry in the image, where it is installed and there is no tree."""

from marklab.cli.main import main

if __name__ == "__main__":
    main()
