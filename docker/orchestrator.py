"""The lab's entry in the image, where it is installed and there is no tree."""

from marklab.cli import main

if __name__ == "__main__":
    main()
