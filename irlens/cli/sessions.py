"""The session of a command."""

from irlens import cli
from irlens.cli import output
from irlens.session.session import Session


def session() -> Session:
    """Return a session whose messages go to stderr, and which survives a crash of the compiler."""
    return Session(output.note, forks=cli.owns_process)
