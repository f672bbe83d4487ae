"""Exporting a revision's Python files from git."""

import subprocess
from pathlib import Path

import pytest

from irlens.artifacts.inventory import list_items
from irlens.artifacts.revisions import REVISIONS, export
from irlens.model.errors import ArtifactError


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    return subprocess.run(
        ["git", "-C", folder, *identity, *arguments], check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    folder = tmp_path / "repository"
    (folder / "package").mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "package" / "kernel.py").write_text("first\n")
    (folder / "package" / "helper.py").write_text("helper\n")
    (folder / "data.bin").write_text("not Python\n")
    (folder / "link.py").symlink_to("/etc/passwd")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    (folder / "package" / "kernel.py").write_text("second\n")
    return folder


def test_a_revision_has_the_repositorys_python_files(repository: Path) -> None:
    exported = export(repository / "package" / "kernel.py", "HEAD")
    assert exported.read_text() == "first\n"
    assert (exported.parent / "helper.py").read_text() == "helper\n"
    root = exported.parents[1]
    assert not (root / "data.bin").exists()
    assert not (root / "link.py").is_symlink()
    assert not (root / "link.py").exists(), "a link may lead out of the repository"
    assert [item.path for item in list_items(REVISIONS)] == [root]
    assert git(repository, "status", "--short") == " M package/kernel.py\n", "git is only read"


def test_a_revision_is_exported_once(repository: Path) -> None:
    file = repository / "package" / "kernel.py"
    exported = export(file, "HEAD")
    exported.write_text("kept\n")
    assert export(file, git(repository, "rev-parse", "HEAD").strip()).read_text() == "kept\n"


@pytest.mark.parametrize(
    ("file", "revision", "message"),
    [
        ("package/kernel.py", "nonesuch", "has no revision 'nonesuch'"),
        ("package/kernel.py", "--all", "has no revision '--all'"),
        ("package/new.py", "HEAD", "package/new.py does not exist in HEAD"),
    ],
)
def test_a_mistake_is_named(repository: Path, file: str, revision: str, message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        export(repository / file, revision)


def test_a_file_outside_any_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with pytest.raises(ArtifactError, match="not a git repository"):
        export(tmp_path / "kernel.py", "HEAD")
