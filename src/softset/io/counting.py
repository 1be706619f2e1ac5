"""Numbers of things in sentences."""

__all__ = ["counted", "there_are"]


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, in the plural where that is right.

    >>> counted(1, "text"), counted(2000, "text"), counted(0, "text")
    ('1 text', '2,000 texts', '0 texts')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def there_are(n: int, noun: str) -> str:
    """Return a sentence's beginning that says how many there are.

    >>> there_are(1, "text"), there_are(2, "text")
    ('there is 1 text', 'there are 2 texts')
    """
    return f"there {'is' if n == 1 else 'are'} {counted(n, noun)}"
