"""The check that a row of a table makes of itself."""

from collections.abc import Mapping


def require(checks: Mapping[str, object], row: str = "") -> None:
    """Raise ``ValueError`` about a row, with the complaint of every check that does not hold."""
    failed = "; ".join(complaint for complaint, holds in checks.items() if not holds)
    if failed:
        raise ValueError(f"{row}: {failed}" if row else failed)
