# SPDX-License-Identifier: MIT OR Apache-2.0
"""The entry point in the image, where the lab is installed without a source tree."""

from marklab.cli.main import main

if __name__ == "__main__":
    main()
