"""x."""


def reproduce() -> None:
    """Todo."""
