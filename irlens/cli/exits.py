"""Exit codes."""

from enum import IntEnum

from irlens.model import errors


class Exit(IntEnum):
    """What the process tells its caller."""

    OK = 0
    DIFFERENCE = 1  # a difference was found, a budget is broken, or nothing fits
    TROUBLE = errors.TROUBLE  # the question could not be answered
    INTERRUPTED = 130  # as a shell reports SIGINT
