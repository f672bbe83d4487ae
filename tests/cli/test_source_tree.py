"""Source files are located by name and content."""

import json
from pathlib import Path

import pytest

from irlens.cli.writing import SourceTree

pytestmark = pytest.mark.stored

CODE = {2: "x = tl.load(p)", 4: "return x"}
TEXT = "def k():\n    x = tl.load(p)\n\n    return x\n"


def put(root: Path, path: str, text: str = TEXT) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_the_only_file_of_the_name_whose_lines_agree(tmp_path: Path) -> None:
    put(tmp_path, "a/k.py")
    put(tmp_path, "b/k.py", TEXT.replace("load", "store"))
    put(tmp_path, "c/other.py")
    assert SourceTree(tmp_path).locate("k.py", CODE) == "a/k.py"
    assert SourceTree(tmp_path / "a").locate("k.py", CODE) == "k.py"


def test_a_file_that_was_edited_since_is_another(tmp_path: Path) -> None:
    put(tmp_path, "k.py", "import os\n" + TEXT)
    assert SourceTree(tmp_path).locate("k.py", CODE) is None
    put(tmp_path, "k.py", "short\n")
    assert SourceTree(tmp_path).locate("k.py", CODE) is None


def test_of_two_that_agree_neither_is_it(tmp_path: Path) -> None:
    put(tmp_path, "a/k.py")
    put(tmp_path, "b/k.py")
    assert SourceTree(tmp_path).locate("k.py", CODE) is None


def test_a_name_alone_will_do_where_no_line_is_known(tmp_path: Path) -> None:
    put(tmp_path, "a/k.py")
    assert SourceTree(tmp_path).locate("k.py", {}) == "a/k.py"
    assert SourceTree(tmp_path).locate("standard.py", {}) is None


def test_copies_and_other_peoples_code_are_not_looked_at(tmp_path: Path) -> None:
    put(tmp_path, "kernels/k.py")
    put(tmp_path, ".venv/k.py")
    put(tmp_path, "env/lib/site-packages/k.py")
    put(tmp_path, "captures/one/python/k.py")
    put(tmp_path, "captures/one/irlens.json", json.dumps({}))
    assert SourceTree(tmp_path).locate("k.py", CODE) == "kernels/k.py"
