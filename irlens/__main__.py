"""``irlens``, and ``python -m irlens``."""

# `signal` makes classes of its constants, for milliseconds.
import _signal  # type: ignore[import-not-found]


def main() -> None:
    """Run ``irlens``; an interrupt while it is imported ends it without a traceback."""
    raises = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
    if raises:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    from irlens import cli

    if raises:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    cli.main()


if __name__ == "__main__":
    main()
