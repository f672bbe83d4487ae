"""``irlens diff --git`` and ``--last-save``: versions of a kernel's file."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from irlens.cli.root import root
from irlens.model.errors import IrlensError
from tests.artifacts.test_revisions import git

BEFORE = """
import triton, triton.language as tl
from helper import double

@triton.jit
def scale(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, double(tl.load(x_ptr + offsets)))
"""
AFTER = BEFORE.replace("double(tl.load(x_ptr + offsets))", "tl.sqrt(tl.load(x_ptr + offsets))")
HELPER = "import triton\n\n@triton.jit\ndef double(x):\n    return x + x\n"
OPTIONS = ("-t", "h100", "--no-run", "-a", "x_ptr=fp32[128]", "-s", "BLOCK=128")


def diff(*arguments: str) -> Result:
    return CliRunner().invoke(root, ["diff", *arguments, *OPTIONS], catch_exceptions=False)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    git(folder, "init", "-q")
    (folder / "kernel.py").write_text(BEFORE)
    (folder / "helper.py").write_text(HELPER)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.mark.parametrize("words", [("kernel.py", "--git"), ("--git", "kernel.py")])
def test_git_alone_is_the_last_commit(repository: Path, words: tuple[str, ...]) -> None:
    (repository / "kernel.py").write_text(AFTER)
    assert diff(*words).output == diff("kernel.py", "--git", "HEAD").output


def test_errors_name_what_the_user_named(repository: Path) -> None:
    """The store keeps a revision's files, and its paths mean nothing to the user."""

    def refused(*words: str) -> IrlensError:
        with pytest.raises(IrlensError) as error:
            CliRunner().invoke(
                root, ["diff", *words], catch_exceptions=False, standalone_mode=False
            )
        return error.value

    missing = refused("kernel.py:scale", "--git")
    assert missing.message == "scale needs a value for x_ptr, BLOCK"
    assert "for example  irlens diff kernel.py:scale --git HEAD --arg" in str(missing.hint)
    (repository / "kernel.py").write_text("import = 3")
    git(repository, "commit", "-qam", "broken")
    (repository / "kernel.py").write_text(BEFORE)
    assert refused("kernel.py", "--git").message.startswith("HEAD:kernel.py:1: invalid syntax")
    assert str(repository.parent) not in refused("kernel.py", "--git").joined(" ")


@pytest.mark.parametrize("words", [("--git",), ("--git", "HEAD"), ()])
def test_git_needs_a_kernel(repository: Path, words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(root, ["diff", *words])
    assert (result.exit_code, "Missing argument 'BEFORE'" in result.output) == (2, True)


def test_git_compares_a_revision_with_the_working_tree(repository: Path) -> None:
    (repository / "kernel.py").write_text(AFTER)
    result = diff("kernel.py", "--git", "HEAD")
    assert "HEAD → working tree" in result.output
    code = diff("kernel.py", "--git", "HEAD", "--stage", "ttir")
    assert "HEAD → working tree" in code.output
    assert "math.sqrt" in code.output


def test_the_imports_are_the_revisions_too(repository: Path) -> None:
    (repository / "helper.py").write_text(HELPER.replace("x + x", "x * x * x"))
    code = diff("kernel.py", "--git", "HEAD", "--stage", "ttir")
    assert "arith.mulf" in code.output
    git(repository, "commit", "-qam", "second")
    between = diff("kernel.py", "--git", "HEAD~1..HEAD", "--stage", "ttir")
    assert "HEAD~1 → HEAD" in between.output
    assert "arith.mulf" in between.output
    assert diff("kernel.py", "--git", "HEAD", "--stage", "ttir").exit_code == 0


def test_several_configurations_are_compared_each_with_itself(repository: Path) -> None:
    (repository / "kernel.py").write_text(AFTER)
    result = diff("kernel.py", "--git", "HEAD", "--num-warps", "2,4", "--format", "json")
    document = json.loads(result.stdout)
    assert [pair["setting"] for pair in document["pairs"]] == ["num_warps=2", "num_warps=4"]
    assert {pair["before"]["label"] for pair in document["pairs"]} == {"HEAD"}


def test_last_save_compares_with_the_version_inspected_before(repository: Path) -> None:
    with pytest.raises(IrlensError, match="no earlier version"):
        diff("kernel.py", "--last-save")
    (repository / "kernel.py").write_text(AFTER)
    code = diff("kernel.py", "--last-save", "--stage", "ttir")
    assert "last save → now" in code.output
    assert "math.sqrt" in code.output
    assert '"last save"' in diff("kernel.py", "--last-save", "--format", "json").output


def test_another_file_of_the_same_name_is_no_earlier_version(repository: Path) -> None:
    diff("kernel.py", "--git", "HEAD")  # stores the kernel of the revision's file, too
    other = repository / "other"
    other.mkdir()
    (other / "kernel.py").write_text(AFTER)
    (other / "helper.py").write_text(HELPER)
    with pytest.raises(IrlensError, match="no earlier version"):
        diff("other/kernel.py", "--last-save")


@pytest.mark.parametrize(
    "arguments",
    [("kernel.py", "other.py", "--git", "HEAD"), ("kernel.py", "--git", "HEAD", "--last-save")],
)
def test_only_one_other_side(repository: Path, arguments: tuple[str, ...]) -> None:
    result = diff(*arguments)
    assert result.exit_code == 2
    assert "give one" in result.output


def test_a_recording_is_compiled_from_both_versions(repository: Path) -> None:
    inspected = CliRunner().invoke(root, ["inspect", "kernel.py", *OPTIONS])
    assert inspected.exit_code == 0, inspected.output
    (entry,) = (repository.parent / "store" / "captures").rglob("scale.ttir")
    shutil.copytree(entry.parent, repository / "recorded")
    (repository / "kernel.py").write_text(AFTER)
    result = CliRunner().invoke(root, ["diff", "recorded", "--git", "-f", "json"])
    found = json.loads(result.stdout)
    assert found["different"]
    assert found["programs"] == []
    (pair,) = found["pairs"]
    assert (pair["before"]["label"], pair["after"]["label"]) == ("HEAD", "working tree")
    same = CliRunner().invoke(root, ["diff", "recorded", "--git", "HEAD..HEAD"])
    assert "no difference" in same.output


def test_notes_about_several_kernels_name_what_the_user_named(repository: Path) -> None:
    second = "\n\n@triton.jit\ndef other(y_ptr, n):\n    tl.store(y_ptr, n)\n"
    (repository / "kernel.py").write_text(BEFORE + second)
    git(repository, "commit", "-qam", "second")
    refused = CliRunner().invoke(root, ["diff", "kernel.py", "--git"])
    assert "irlens diff kernel.py:other --git HEAD --arg" in refused.stderr
    assert "revisions" not in refused.stderr


def test_a_capture_without_its_file_has_no_revisions(repository: Path) -> None:
    sample = Path(__file__).parents[2] / "samples" / "captures" / "softmax-t4"
    shutil.copytree(sample, repository / "cached", ignore=shutil.ignore_patterns("irlens.json"))
    with pytest.raises(IrlensError, match="its source is unknown"):
        CliRunner().invoke(root, ["diff", "cached", "--git"], catch_exceptions=False)
