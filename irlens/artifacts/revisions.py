"""Python files of a git revision or of a recording, so that a kernel compiles as it was then.

Only the repository's Python files are written, and each revision once. Git's own data is read,
never changed: there is no checkout and no worktree.
"""

import io
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

from irlens.artifacts import inventory, store
from irlens.model.errors import ArtifactError

FOLDER = "revisions"
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def _name(path: Path) -> str | None:
    return path.name if _COMMIT.fullmatch(path.name) and path.is_dir() else None


REVISIONS = inventory.Kind("revisions", folder=FOLDER, name=_name)


def export(file: Path, revision: str) -> Path:
    """Return the path of a file as it was in a revision of its repository.

    Args:
        file: A Python file in a git repository.
        revision: A commit, branch, tag, or anything else that git resolves to a commit.

    Raises:
        ArtifactError: The file is in no repository, the revision does not exist or does not have
            the file, or git is missing.
    """
    file = file.resolve()
    root = Path(_git(file.parent, "rev-parse", "--show-toplevel").rstrip("\n"))
    destination = store.root() / FOLDER / _commit(root, revision)
    _publish(destination, lambda: _files_of(root, destination.name))
    exported = destination / file.relative_to(root)
    if not exported.is_file():
        raise ArtifactError(f"{file.relative_to(root)} does not exist in {revision}")
    return exported


def kept_path(name: str, digest: str) -> Path:
    """Return where the store keeps a file of which a recording has the only copy.

    Args:
        digest: SHA-256 of its content, in hex.
    """
    return store.root() / FOLDER / digest / name


def keep(name: str, content: bytes, digest: str) -> Path:
    """Return the path of such a file, which is written if the store does not have it."""
    path = kept_path(name, digest)
    _publish(path.parent, lambda: [(name, content)])
    return path


def is_kept(path: str) -> bool:
    """Whether a path is that of a file which ``keep`` wrote, or of an exported one."""
    return Path(path).is_relative_to(store.root() / FOLDER)


def _commit(repository: Path, revision: str) -> str:
    """Return the hash of a revision's commit."""
    try:
        return _git(
            repository, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}"
        ).strip()
    except ArtifactError as error:
        raise ArtifactError(f"{repository} has no revision '{revision}'") from error


def _files_of(repository: Path, commit: str) -> Iterator[tuple[str, bytes]]:
    """Yield the Python files of a commit."""
    import tarfile  # what keeps single files needs none

    archive = _run(repository, "archive", "--format=tar", commit, "--", "*.py")
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            content = files.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, content.read()


def _publish(destination: Path, files: Callable[[], Iterable[tuple[str, bytes]]]) -> None:
    """Write files into a folder of the store in one step, unless it is there."""
    if destination.is_dir():
        store.touch(destination)
        return
    with store.workspace(destination) as workspace:
        build = workspace / "build"
        build.mkdir()
        for name, content in files():
            inside = PurePosixPath(name)
            if inside.is_absolute() or ".." in inside.parts:
                continue
            path = build / inside
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        try:
            build.rename(destination)
        except OSError as error:
            if not destination.is_dir():  # otherwise another process was first
                raise ArtifactError(f"cannot write {destination}: {error.strerror}") from error


def _git(folder: Path, *arguments: str) -> str:
    return _run(folder, *arguments).decode("utf-8", "surrogateescape")


def _run(folder: Path, *arguments: str) -> bytes:
    """Return what git prints."""
    try:
        done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, check=True)
    except FileNotFoundError as error:
        raise ArtifactError("git is not installed", hint="--git needs it") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = said[-1].removeprefix("fatal: ") if said else f"exit code {error.returncode}"
        raise ArtifactError(f"git {arguments[0]} in {folder}: {reason}") from error
    return done.stdout
