"""What the TUI lists without a KERNEL."""

import os
import shutil
from pathlib import Path

import pytest

from irlens.artifacts import store
from irlens.artifacts.entries import Broken
from irlens.model.capture import Capture
from irlens.session import Configurations, opening
from irlens.session.interactive import open_session
from irlens.session.listed_entries import Uncompiled
from irlens.session.opening import Opening
from irlens.session.session import Session

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
KERNEL = """
import triton

raise SystemExit("this file is not to be executed")

@triton.jit
def {name}(x):
    pass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, with an empty store."""
    monkeypatch.setenv(store.ROOT_VARIABLE, str(tmp_path / "store"))
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return project


def write(folder: Path, name: str, text: str = "") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or KERNEL.format(name=path.stem))


def names(folder: Path, section: str) -> list[str]:
    found = Opening(folder)
    return [
        item.name
        for item in found.items()
        if isinstance(item, Uncompiled) and found.group(item).section == section
    ]


def test_the_folder_s_kernels_are_found_without_executing_anything(folder: Path) -> None:
    write(folder, "mine.py")
    write(folder, "ops/deeper/rope.py")
    write(folder, "plain.py", "import triton\nprint('no kernel')\n")
    write(folder, "numba_only.py", "import numba\n@numba.jit\ndef f(): pass\n")
    write(
        folder, "test_ops.py", "import triton\ndef test():\n    @triton.jit\n    def k(x): pass\n"
    )
    for foreign in (".git/a.py", "env/lib/b.py", "node_modules/c.py", "a/b/c/d/e.py"):
        write(folder, foreign)
    write(folder, "env/pyvenv.cfg", "home = /usr")
    assert names(folder, "project") == ["mine.py:mine", "ops/deeper/rope.py:rope"]
    assert "softmax" in names(folder, "samples")
    assert [item for item in Opening(folder).items() if isinstance(item, Broken)] == []


def test_a_broken_kernel_file_says_why(folder: Path) -> None:
    write(folder, "broken.py", "import triton\n@triton.jit\ndef k(:\n")
    (item,) = (item for item in Opening(folder).items() if isinstance(item, Broken))
    assert item.path == folder / "broken.py"
    assert "broken.py:3: " in item.reason
    assert Opening(folder).group(item).section == "project"


def test_the_kernels_of_the_settings_come_first_and_once(folder: Path) -> None:
    write(folder, "mine/several.py", KERNEL.format(name="one") + KERNEL.format(name="two"))
    write(folder, "mine/single.py")
    write(folder, "other.py")
    (folder / "pyproject.toml").write_text(
        '[tool.irlens]\nkernels = "mine"\n[tool.irlens.check]\nkernels = ["other.py"]\n'
    )
    assert names(folder, "project") == ["several:one", "several:two", "single", "other.py"]


def test_invalid_settings_hide_nothing(folder: Path) -> None:
    write(folder, "mine.py")
    (folder / "pyproject.toml").write_text('[tool.irlens]\nkernels = "nowhere"\n')
    items = list(Opening(folder).items())
    assert any("'nowhere'" in item.reason for item in items if isinstance(item, Broken))
    assert names(folder, "project") == ["mine.py:mine"]
    assert "softmax" in names(folder, "samples")


def test_a_large_folder_is_not_searched_forever(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_MOST_FILES", 3)
    for number in range(5):
        write(folder, f"k{number}.py")
    (item,) = (item for item in Opening(folder).items() if isinstance(item, Broken))
    assert "first 3 Python files" in item.reason
    assert names(folder, "project") == ["k0.py:k0", "k1.py:k1", "k2.py:k2"]


def test_captures_come_from_the_newest(folder: Path) -> None:
    for age, name in enumerate(("softmax-t4", "spill-h100", "softmax-h100")):
        shutil.copytree(CAPTURES / name, store.captures() / f"{age}" / "000")
        os.utime(store.captures() / f"{age}" / "000", (1e9 - age, 1e9 - age))
    os.utime(store.captures() / "1" / "000")
    captures = [item for item in Opening(folder).items() if isinstance(item, Capture)]
    assert [each.kernel for each in captures] == [
        "spill_kernel",
        "softmax_kernel",
        "softmax_kernel",
    ]
    targets = [each.target.product for each in captures if each.target is not None]
    assert targets == ["h100", "t4", "h100"]


def test_a_capture_of_the_folder_s_kernel_stands_with_it(folder: Path) -> None:
    shutil.copy(CAPTURES.parents[1] / "kernels" / "softmax.py", folder / "mine.py")
    session = open_session(None, Configurations(), Session())
    (entry,) = (each for each in session.entries() if each.place == "mine.py")
    assert entry.config is None
    session.report(entry.key)  # compiles it
    assert session.entry(entry.key).group == entry.group
    again = {each.key: each for each in open_session(None, Configurations(), Session()).entries()}
    alike = [each for each in again.values() if each.group == entry.group]
    assert {each.config is None for each in alike} == {True, False}
