"""Captures whose files are written, replaced or removed while irlens reads them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from irlens.artifacts import store
from irlens.artifacts.load import load
from irlens.cli.root import root
from irlens.model import files
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError
from irlens.session.reports import report_of
from irlens.session.scan.entry_rows import Wanted, read_rows

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
#: The same kernel for the same GPU, by two versions of the compiler.
OLD, NEW = (CAPTURES / f"layer_norm-b200-{each}" for each in ("3.6", "3.7"))
REGISTERS = 64  # of the old one; the new one has 72


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the old capture, and a store of its own."""
    monkeypatch.setenv(store.ROOT_VARIABLE, str(tmp_path / "store"))
    return shutil.copytree(OLD, tmp_path / "entry")


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[], object]], None]:
    """A function that changes something once a file with some ending has been read."""

    def after(ending: str, do: Callable[[], object]) -> None:
        read, waiting = files.read, [do]

        def changing(path: Path, **options: object) -> bytes:
            content: bytes = read(path, **options)  # type: ignore[arg-type]  # as it was called
            if str(path).endswith(ending) and waiting:
                waiting.pop()()
            return content

        monkeypatch.setattr(files, "read", changing)

    return after


Change = Callable[[str, Callable[[], object]], None]


def only(path: Path) -> Capture:
    (capture,) = load(path)
    assert isinstance(capture, Capture)
    return capture


def renew(entry: Path) -> None:
    """Replace the capture by the one of the newer compiler, written now as a compiler does."""
    shutil.rmtree(entry)
    shutil.copytree(NEW, entry, copy_function=shutil.copyfile)


@pytest.mark.parametrize("ending", [".json", ".ttgir", ".ptx", ".cubin"])
def test_a_report_of_two_compilations_is_neither_shown_nor_kept(
    entry: Path, change: Change, ending: str
) -> None:
    change(ending, lambda: renew(entry))
    with pytest.raises(ArtifactError, match="changed while irlens read it"):
        report_of(only(entry))
    shutil.rmtree(entry)
    shutil.copytree(OLD, entry)
    assert report_of(only(entry)).resources.registers == REGISTERS
    renew(entry)
    assert report_of(only(entry)).resources.registers == REGISTERS + 8


def test_a_remembered_report_is_not_that_of_a_capture_that_changed(
    entry: Path, change: Change
) -> None:
    report_of(only(entry))
    capture = only(entry)
    renew(entry)
    with pytest.raises(ArtifactError, match="changed while irlens read it"):
        report_of(capture)


def test_a_copy_of_the_source_that_changes_has_no_report(entry: Path, change: Change) -> None:
    (copied,) = (entry / "python").iterdir()
    change(".ptx", lambda: copied.write_text("# other\n" + copied.read_text()))
    with pytest.raises(ArtifactError, match=r"\.py changed while irlens read it"):
        report_of(only(entry))
    change(".ptx", lambda: (entry / "python" / "other.py").write_text(""))
    with pytest.raises(ArtifactError, match="python changed while irlens read it"):
        report_of(only(entry))


def test_a_row_of_two_compilations_is_reported_as_broken(entry: Path, change: Change) -> None:
    change(".ttgir", lambda: renew(entry))
    (read,) = read_rows([Wanted(entry, ("resources.registers", "findings"))])
    assert read.rows == []
    assert "changed while irlens read it" in read.broken[0].reason


def test_an_entry_that_disappears_is_reported_as_broken(entry: Path, change: Change) -> None:
    change(".ttgir", lambda: shutil.rmtree(entry))
    (read,) = read_rows([Wanted(entry, ("resources.registers", "findings"))])
    assert read.rows == []
    assert len(read.broken) == 1


def test_a_single_file_that_is_truncated_meanwhile_has_no_report(
    entry: Path, change: Change
) -> None:
    path = entry / "layer_norm_kernel.ptx"
    text = path.read_text()
    change(".ptx", lambda: path.write_text(text[: len(text) // 2]))
    with pytest.raises(ArtifactError, match="changed while irlens read it"):
        report_of(only(path))


@pytest.mark.parametrize("more", [["--stage", "ptx"], ["--stage", "ptx", "--annotate"]])
def test_a_stage_is_not_shown_beside_facts_of_another_compilation(
    entry: Path, change: Change, more: list[str]
) -> None:
    change(".ptx", lambda: renew(entry))
    result = CliRunner().invoke(root, ["inspect", str(entry), *more])
    assert result.stdout == ""
    assert "changed while irlens read it" in str(result.exception) + result.stderr


def test_stages_of_two_compilations_are_not_compared(entry: Path, change: Change) -> None:
    change(".ttgir", lambda: renew(entry))
    result = CliRunner().invoke(root, ["diff", str(entry), str(NEW), "--stage", "ttgir,ptx"])
    assert result.stdout == ""
    assert "changed while irlens read it" in str(result.exception) + result.stderr
