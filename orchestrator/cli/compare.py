"""x."""


def compare() -> None:
    """Todo."""
