"""Explained findings of a kernel, for ``irlens explain`` and ``irlens inspect --why``."""

from irlens.cli import Exit
from irlens.cli.writing import Writing, write
from irlens.render import check_format
from irlens.session.subject import Configurations


def show(
    kernel: str, selection: Configurations, writing: Writing, codes: tuple[str, ...] = ()
) -> Exit:
    """Write why a kernel has its findings.

    Args:
        selection: The options, which select one configuration.
        codes: Codes or names of findings; all by default.
    """
    check_format(writing.form, "explanations")
    from irlens.cli import sessions
    from irlens.session.why import why

    write(why(kernel, selection, sessions.session(), codes), "explanations", writing)
    return Exit.OK
