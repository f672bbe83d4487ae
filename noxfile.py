"""The project's tasks: ``nox -s quick``, ``test``, ``lint``, ``docs``, ``bench``.

They run in the environment that nox runs in (``pip install -e '.[test,docs]'``), so that nothing is
installed twice.
"""

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["quick", "lint"]

#: Tests that need no compiler, no browser and no terminal: under a minute on two cores.
QUICK = (
    "tests/model", "tests/figures", "tests/gpus", "tests/isa", "tests/diff", "tests/render",
    "tests/checks", "tests/test_architecture.py",
)  # fmt: skip


@nox.session
def quick(session: nox.Session) -> None:
    """Run the tests that need no compiler."""
    session.run("python", "-m", "pytest", "-q", "-n", "2", "-m", "not slow", *QUICK)


@nox.session
def test(session: nox.Session) -> None:
    """Run every test, and list the slowest 20; arguments go to pytest."""
    every = ("--extent", "all", "--durations=20")
    session.run("python", "-m", "pytest", "-q", "-n", "auto", *every, *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types and the direction of imports."""
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation site into site/; warnings are errors."""
    session.run("python", "-m", "mkdocs", "build", "--strict", env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session
def outputs(session: nox.Session) -> None:
    """Renew the output blocks of the README and the guide, the samples and the pictures."""
    session.run("python", "samples/make.py")
    session.run("python", "docs/outputs.py")
    session.run("python", "docs/measured.py")
    session.run("python", "docs/screenshots.py")


@nox.session
def bench(session: nox.Session) -> None:
    """Run a benchmark by name: ``nox -s bench -- startup``."""
    names = session.posargs or ["startup"]
    for name in names:
        session.run("python", f"benchmarks/{name}.py")
