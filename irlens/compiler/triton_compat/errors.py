"""Triton's exceptions that not every version has."""

try:
    from triton.runtime.errors import PTXASError
except ImportError:  # Triton 3.2 raises a RuntimeError

    class PTXASError(Exception):  # type: ignore[no-redef]  # it stands for what is never raised
        """Stands for an exception that this Triton does not raise."""


__all__ = ["PTXASError"]
