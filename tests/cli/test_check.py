"""``irlens check`` from the command line."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from irlens.checks.baseline import BASELINE_SCHEMA, Baseline, Entry, written
from irlens.compiler import find_kernel
from irlens.model.check import Check
from irlens.model.report import Report
from irlens.session.recipes import KernelNames, canonicalize
from tests import running
from tests.running import Ran, inline

__all__ = ["inline"]

pytestmark = pytest.mark.usefixtures("inline")

SAMPLES = Path(__file__).parents[2] / "samples"
NAME = "irlens.baseline.json"


def irlens(folder: Path, *arguments: str) -> Ran:
    return running.irlens(*arguments, cwd=folder)


@pytest.fixture
def captured(tmp_path: Path) -> Path:
    """A project with a capture, and a baseline of it: nothing in it needs compiling."""
    shutil.copytree(SAMPLES / "captures" / "spill-h100", tmp_path / "captured")
    (tmp_path / "pyproject.toml").write_text('[tool.irlens.budgets]\n"*" = "launchable"\n')
    ran = irlens(tmp_path, "check", "captured", "--update")
    assert f"wrote {NAME}: 1 added" in ran.out, ran.err
    return tmp_path


@pytest.fixture
def project(captured: Path) -> Path:
    """The same with a kernel of its own."""
    (captured / "mine").mkdir()
    shutil.copy(find_kernel("softmax").path, captured / "mine" / "soft.py")
    options = ("-t", "h100", "--num-stages", "2,4", "--update")
    ran = irlens(captured, "check", "mine/soft.py:softmax_kernel", *options)
    assert ran.code == 0, ran.err
    assert f"wrote {NAME}: 2 added" in ran.out
    return captured


def edit(project: Path, old: str, new: str) -> None:
    path = project / "mine" / "soft.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_all_that_the_baseline_has_is_made_again(project: Path) -> None:
    written = (project / NAME).read_bytes()
    ran = irlens(project, "check", "--strict")
    assert ran.code == 0, ran
    assert ran.out.startswith("✓ check passed: 3 configurations\n")
    below = irlens(project / "mine", "check", "--strict")
    assert (below.code, below.out) == (0, ran.out)
    assert irlens(project, "check", "--update").code == 0
    assert (project / NAME).read_bytes() == written
    text = written.decode()
    assert str(project) not in text
    assert '"kernel": "mine/soft.py:softmax_kernel"' in text
    assert '"kernel": "./captured"' in text


def test_the_command_that_creates_a_baseline_has_the_options_as_typed(tmp_path: Path) -> None:
    typed = ["check", "softmax", "-t", "h100", "--set", "BLOCK_SIZE=512", "--arg", "n_cols=512"]
    ran = irlens(tmp_path, *typed)
    assert ran.code == 2
    assert f"create a baseline with `irlens {' '.join(typed)} --update`" in ran.err
    assert "`irlens check KERNEL --update`" in irlens(tmp_path, "check").err


def test_an_edit_that_loses_stages_fails_and_an_update_accepts_it(project: Path) -> None:
    edit(project, "row_step, num_stages=num_stages)", "row_step, num_stages=2)")
    edit(project, '"""Row-wise', '"""A line more.\n\nRow-wise')
    ran = irlens(project, "check", "mine/soft.py:softmax_kernel", "--format", "json")
    assert ran.code == 1, ran
    found = msgspec.json.decode(ran.out, type=Check)
    kernel, other = found.kernels
    assert (kernel.outcome, kernel.side.label) == ("failed", "num_stages=4")
    assert other.outcome == "passed"
    lost = kernel.movements[0]
    assert (lost.delta.path, lost.delta.before, lost.delta.after) == ("achieved_stages", 4, 2)
    assert str(lost.source) == "soft.py:50"
    assert "num_stages=2" in kernel.code["soft.py:50"]
    assert [side.kernel for side in found.unchecked] == ["spill_kernel"]
    ran = irlens(project, "check", "--update")
    assert (ran.code, ran.err) == (0, "")
    assert "changed" in ran.out
    assert irlens(project, "check", "--strict").code == 0


def test_a_renamed_file_keeps_its_entries(project: Path) -> None:
    """One that was copied, and is still there, does not hand them over."""
    named = ("mine/rows.py:softmax_kernel", "-t", "h100", "--num-stages", "2,4")
    shutil.copy(project / "mine" / "soft.py", project / "mine" / "rows.py")
    copied = irlens(project, "check", *named)
    assert "2 configurations of softmax_kernel" in " ".join(copied.out.split())
    (project / "mine" / "soft.py").unlink()
    bare = irlens(project, "check")
    assert bare.code == 1
    told = "mine/rows.py has softmax_kernel: `irlens check mine/rows.py` compares it"
    assert told in " ".join(bare.out.split())
    ran = irlens(project, "check", *named, "--strict")
    assert ran.code == 0, ran
    assert "mine/soft.py is gone: its entries are those of mine/rows.py" in ran.err
    assert ran.out.startswith("✓ check passed: 2 configurations\n")
    assert irlens(project, "check", *named, "--update").code == 0
    written = (project / NAME).read_text()
    assert written.count('"kernel": "mine/rows.py:softmax_kernel"') == 2
    assert "mine/soft.py" not in written


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file that cannot be read")
def test_a_file_of_the_project_that_cannot_be_read_has_no_kernel(project: Path) -> None:
    shutil.move(project / "mine" / "soft.py", project / "mine" / "rows.py")
    (project / "mine" / "broken.py").symlink_to("/proc/self/mem")
    told = irlens(project, "check")
    assert told.code == 1
    assert "mine/rows.py has softmax_kernel" in " ".join(told.out.split())


def test_two_files_with_the_kernel_are_not_told_apart(project: Path) -> None:
    for name in ("rows.py", "columns.py"):
        shutil.copy(project / "mine" / "soft.py", project / "mine" / name)
    (project / "mine" / "soft.py").unlink()
    assert "compares it" not in irlens(project, "check").out
    both = irlens(project, "check", "mine/rows.py", "mine/columns.py", "-t", "h100")
    assert "is gone" not in both.err


def test_what_is_gone_fails_and_an_update_removes_it(project: Path) -> None:
    (project / "mine" / "soft.py").unlink()
    ran = irlens(project, "check")
    assert ran.code == 1
    assert "2 not checked" in ran.out
    assert "no such file: mine/soft.py" in " ".join(ran.out.split())
    ran = irlens(project, "check", "--update")
    assert ran.code == 0, ran
    assert "2 removed" in ran.out
    kept = msgspec.json.decode((project / NAME).read_bytes(), type=Baseline)
    assert [one.kernel for one in kept.entries] == ["spill_kernel"]


def test_what_does_not_compile_fails_and_an_update_leaves_the_baseline_alone(
    project: Path,
) -> None:
    written = (project / NAME).read_bytes()
    edit(project, "tl.max(row, axis=0)", "tl.no_such_function(row)")
    ran = irlens(project, "check")
    assert ran.code == 1, ran
    assert "cannot be checked" in ran.out
    ran = irlens(project, "check", "--update")
    assert (ran.code, ran.out) == (2, "")
    assert (project / NAME).read_bytes() == written


def test_budgets_without_a_baseline(tmp_path: Path) -> None:
    captured = str(SAMPLES / "captures" / "spill-h100")
    text = '[tool.irlens.budgets]\n"spill*".h100 = ["local_bytes == 0", "launchable"]\n'
    (tmp_path / "pyproject.toml").write_text(text)
    ran = irlens(tmp_path, "check", captured)
    assert ran.code == 1
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert lines[0] == "✗ check failed: 1 of 1 configuration failed"
    assert any(line.startswith("✗ local_bytes == 0 304 B") for line in lines)
    (tmp_path / "pyproject.toml").write_text(text.replace("== 0", "<= 304"))
    assert irlens(tmp_path, "check", captured).code == 0


def test_the_project_names_what_to_check(captured: Path) -> None:
    (captured / NAME).unlink()
    text = '[tool.irlens.check]\nkernels = ["captured"]\ntargets = ["h100"]\nbaseline = "b.json"\n'
    (captured / "pyproject.toml").write_text(text)
    (captured / "below").mkdir()
    ran = irlens(captured / "below", "check", "--update")
    assert (ran.code, ran.err) == (0, ""), ran
    kept = msgspec.json.decode((captured / "b.json").read_bytes(), type=Baseline)
    assert [one.recipe.kernel for one in kept.entries] == ["./captured"]
    assert irlens(captured, "check", "--strict").code == 0


@pytest.fixture
def named(tmp_path: Path) -> Path:
    """A project whose kernel has a name, and budgets that call it by different ones."""
    (tmp_path / "kernels").mkdir()
    shutil.copy(find_kernel("vector_add").path, tmp_path / "kernels" / "mine.py")
    (tmp_path / "pyproject.toml").write_text(
        '[tool.irlens]\nkernels = "kernels"\n'
        '[tool.irlens.budgets]\nmine = "launchable"\n"kernels/*" = "local_bytes == 0"\n'
    )
    return tmp_path


SPELLINGS = ("mine", "mine:vector_add_kernel", "kernels/mine.py", "./kernels/../kernels/mine.py",
             "kernels/mine.py:vector_add_kernel")  # fmt: skip


def entries(project: Path) -> list[Entry]:
    return msgspec.json.decode((project / NAME).read_bytes(), type=Baseline).entries


def write_entries(project: Path, found: list[Entry]) -> None:
    (project / NAME).write_bytes(written(Baseline(schema=BASELINE_SCHEMA, entries=found)))


def spelled(one: Entry, kernel: str, **changes: object) -> Entry:
    recipe = msgspec.structs.replace(one.recipe, kernel=kernel)
    return msgspec.structs.replace(one, recipe=recipe, **changes)


def test_a_name_that_no_file_can_have_is_an_unknown_kernel(named: Path) -> None:
    assert irlens(named, "check", "mine", "-t", "h100", "--update").code == 0
    (one,) = entries(named)
    write_entries(named, [spelled(one, "x" * 5000)])
    ran = irlens(named, "check")
    assert ran.code != 0
    assert "unknown kernel" in ran.out + ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("first", ["mine", "kernels/mine.py:vector_add_kernel"])
def test_a_kernel_has_one_entry_whatever_it_is_called(named: Path, first: str) -> None:
    assert irlens(named, "check", first, "-t", "h100", "--update").code == 0
    absolute = str(named / "kernels" / "mine.py")
    for spelling in (*SPELLINGS, absolute):
        ran = irlens(named, "check", spelling, "-t", "h100", "--update")
        assert (ran.code, ran.err) == (0, "")
        assert f"wrote {NAME}: 1 unchanged" in ran.out
        assert "as in the baseline, 2 budgets held" in ran.out
    assert irlens(named / "kernels", "check", "mine.py").out.count("as in the baseline") == 1
    both = irlens(named, "check", *SPELLINGS, "-t", "h100,a100", "--update")
    assert f"wrote {NAME}: 1 added, 1 unchanged" in both.out
    assert {one.recipe.kernel for one in entries(named)} == {first}
    assert len(entries(named)) == 2


def test_a_kernel_that_an_old_baseline_has_under_two_names_counts_once(named: Path) -> None:
    assert irlens(named, "check", "mine", "-t", "h100", "--update").code == 0
    (one,) = entries(named)
    path = "kernels/mine.py:vector_add_kernel"
    write_entries(named, [spelled(one, path, triton_version="3.0.0"), one])
    ran = irlens(named, "check")
    assert ran.code == 0, ran
    assert ran.out.startswith("! check passed: 1 configuration\n")
    assert (
        "irlens: the baseline lists the same kernels under several names; entries under mine"
        in ran.err
    )
    assert irlens(named, "check", "--update").code == 0
    assert [each.recipe.kernel for each in entries(named)] == [path]
    assert irlens(named, "check", "--strict").err == "", "and it is told no more"


def test_of_two_names_with_other_figures_one_is_out_of_date(named: Path) -> None:
    assert irlens(named, "check", "mine", "-t", "h100", "--update").code == 0
    (one,) = entries(named)
    stale = {**one.resources, "registers": one.resources["registers"] + 1}
    write_entries(named, [spelled(one, "kernels/mine.py", resources=stale), one])
    ran = irlens(named, "check")
    assert ran.code == 1, ran
    told = " ".join(ran.out.split())
    assert "the baseline has 2 of it, kernels/mine.py makes 1" in told
    assert irlens(named, "check", "--update").code == 0
    assert [each.resources for each in entries(named)] == [one.resources]
    assert irlens(named, "check", "--strict").code == 0


def test_captures_that_were_asked_for_alike_stay_as_many(named: Path) -> None:
    assert irlens(named, "check", "mine", "-t", "h100", "--update").code == 0
    (one,) = entries(named)
    twins = Baseline(schema=BASELINE_SCHEMA, entries=[one, one, spelled(one, "mine.py")])
    assert canonicalize(twins, KernelNames(named)) == twins


def test_the_target_that_is_chosen_for_a_kernel_is_no_other_one(named: Path) -> None:
    with (named / "pyproject.toml").open("a") as file:
        file.write('[tool.irlens.check]\nkernels = ["mine"]\n')
    for told in ("1 added", "1 unchanged"):
        ran = irlens(named, "check", "--update")
        assert ran.code == 0, ran
        assert f"wrote {NAME}: {told}\n" in ran.out
    assert len(entries(named)) == 1


class TestTrouble:
    def fails(self, folder: Path, *arguments: str) -> str:
        ran = irlens(folder, "check", *arguments)
        assert (ran.code, ran.out) == (2, ""), ran
        assert "Traceback" not in ran.err
        return ran.err

    def test_nothing_to_do(self, tmp_path: Path) -> None:
        assert "--update" in self.fails(tmp_path)
        refused = self.fails(tmp_path, "softmax", "vector_add", "-t", "h100")
        assert "nothing to check against" in refused
        assert "irlens check softmax vector_add -t h100 --update" in refused
        assert not list(tmp_path.iterdir())

    def test_options_and_names(self, captured: Path) -> None:
        assert "name one" in self.fails(captured, "-t", "h100")
        (captured / "captured" / "irlens.json").unlink()
        assert "already compiled" in self.fails(captured, "captured", "--num-warps", "4")
        assert "stdin" in self.fails(captured, "-")
        assert "unknown kernel" in self.fails(captured, "nope")

    def test_a_baseline_that_is_named_and_not_there(self, captured: Path) -> None:
        """That there are budgets, too, does not make it one that all is compared with."""
        told = self.fails(captured, "captured", "--baseline", "typo.json")
        assert "there is no typo.json\n" in told
        (captured / "pyproject.toml").write_text('[tool.irlens.check]\nbaseline = "ci/base.json"\n')
        assert f"there is no {Path('ci', 'base.json')}\n" in self.fails(captured, "captured")
        assert irlens(captured, "check", "captured", "--baseline", "new.json", "--update").code == 0
        assert (captured / "new.json").is_file()

    def test_a_triton_that_is_not_there_is_no_kernel_s_fault(self, project: Path) -> None:
        before = (project / NAME).read_bytes()
        for update in ((), ("--update",)):
            told = self.fails(project, "--python", "/nowhere/python", *update)
            assert "no such interpreter: /nowhere/python" in told
        assert (project / NAME).read_bytes() == before

    @pytest.mark.parametrize(
        ("damage", "told"),
        [
            (lambda text: text.replace('"schema": 1', '"schema": 9', 1), "schema 9"),
            (lambda text: text[:-20], "not JSON"),
            (lambda text: "", "not JSON"),
            (lambda text: text.replace('"launchable": true', '"launchable": "x"'), "launchable"),
        ],
    )
    def test_a_damaged_baseline(
        self, damage: Callable[[str], str], told: str, captured: Path
    ) -> None:
        path = captured / NAME
        path.write_text(damage(path.read_text()))
        damaged = path.read_bytes()
        assert told in self.fails(captured)
        assert told in self.fails(captured, "--update")
        assert path.read_bytes() == damaged

    def test_a_budget_on_nothing_known(self, captured: Path) -> None:
        text = '[tool.irlens.budgets]\n"*" = [\n  "occupency >= 0.5",\n]\n'
        (captured / "pyproject.toml").write_text(text)
        told = self.fails(captured)
        assert "pyproject.toml:3:4: unknown figure 'occupency': did you mean occupancy" in told
        assert '\n    "occupency >= 0.5",\n     ^\n' in told


def test_the_regression_of_layer_norm_on_what_is_installed(tmp_path: Path) -> None:
    """Figures of Triton 3.6: since then the compiler takes registers that cost a block per SM."""
    baseline = json.loads((SAMPLES / "checks" / NAME).read_text())
    entries = [one for one in baseline["entries"] if one["kernel"] == "layer_norm_kernel"]
    assert [one["resources"]["registers"] for one in entries] == [64]
    (tmp_path / NAME).write_text(json.dumps({"schema": 1, "entries": entries}))
    ran = irlens(tmp_path, "inspect", "layer_norm", "-t", "b200", "--format", "json")
    now = msgspec.json.decode(ran.out, type=Report)
    if now.triton_version is None or now.triton_version.split(".")[:2] <= ["3", "6"]:
        pytest.skip(f"Triton {now.triton_version} is from before the regression")
    ran = irlens(tmp_path, "check")
    assert ran.code == 1, ran
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert any(line.startswith("✗ occupancy 50 % 25 % −25 points") for line in lines)
    assert "the baseline is of Triton 3.6.0" in " ".join(lines)
    ran = irlens(tmp_path, "check", "--format", "markdown")
    assert ran.code == 1
    (line,) = (line for line in ran.out.splitlines() if line.startswith("- ✗ "))
    assert line.startswith("- ✗ layer_norm_kernel on b200: ")
    assert " more time (" in line
    assert "occupancy 50 % → 25 %" in line


COPIED = """
import triton
import triton.language as tl

IRLENS_KERNELS = {
    "copy_rows": {
        "sizes": {"tokens": 64, "hidden": 64},
        "args": {
            "x": "fp32[tokens, hidden]", "y": "fp32[tokens, hidden]", "tokens": "tokens",
            "hidden": "hidden",
        },
        "constexprs": {"BLOCK": 64},
        "grid": ["tokens"],
    },
}

@triton.jit
def copy_rows(x, y, tokens, hidden, BLOCK: tl.constexpr):
    at = tl.program_id(0) * hidden + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < hidden
    tl.store(y + at, tl.load(x + at, mask=mask), mask=mask)
"""
PROJECT = """
[tool.irlens.check]
kernels = ["served.py:copy_rows"]
targets = ["h100"]

[tool.irlens.budgets]
copy_rows = ["variants <= {most}"]
{launches}
[tool.irlens.limits]
copy_rows = {{ {size} = {number} }}
"""
LAUNCHES = '[tool.irlens.launches]\ncopy_rows = { tokens = "1..131072", hidden = 64 }\n'


def served(folder: Path, **values: object) -> Check:
    (folder / "served.py").write_text(COPIED)
    chosen = {"most": 3, "launches": LAUNCHES, "size": "tokens", "number": 1_000, **values}
    (folder / "pyproject.toml").write_text(PROJECT.format(**chosen))
    ran = irlens(folder, "check", "--format", "json")
    assert ran.code in (0, 1), ran
    return msgspec.json.decode(ran.out, type=Check)


def test_budgets_on_launches_hold(tmp_path: Path) -> None:
    found = served(tmp_path)
    told = {one.expression: one.state for one in found.kernels[0].budgets}
    assert told == {"variants <= 3": "held", "limits.tokens > 1000": "held"}
    assert (found.outcome != "failed", found.problems) == (True, [])


def test_a_broken_budget_on_launches_names_the_argument_and_the_size(tmp_path: Path) -> None:
    found = served(tmp_path, most=2, number=50_000_000)
    sizes, variants = sorted(found.kernels[0].budgets, key=lambda one: one.expression)
    assert (variants.state, variants.figures[0].value) == ("broken", 3)
    assert 'do_not_specialize=["tokens"] leaves 1 variant' in variants.reason
    line = next(n for n, text in enumerate(COPIED.splitlines(), 1) if "def copy_rows" in text)
    assert variants.source is not None
    assert (variants.source.file, variants.source.line) == ("served.py", line)
    # 64 columns a row: the first row whose offset exceeds 2^31 - 1.
    first = next(n for n in range(2**25, 2**25 + 9) if (n - 1) * 64 > 2**31 - 1)
    assert (sizes.state, sizes.figures[0].value) == ("broken", first)
    assert f"program ({first - 1:,}, 0, 0)" in sizes.reason
    assert sizes.source is not None
    assert sizes.source.line == line + 1
    lines = irlens(tmp_path, "check", "--format", "github").out.splitlines()
    assert sum("served.py,line=" in each for each in lines) == 2


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"launches": ""}, "[tool.irlens.launches] has no ranges of copy_rows"),
        ({"size": "token"}, "unknown size 'token'"),
    ],
)
def test_what_is_not_known_of_launches_fails(
    tmp_path: Path, values: dict[str, object], reason: str
) -> None:
    found = served(tmp_path, **values)
    assert found.outcome == "failed"
    (unknown,) = [one for one in found.kernels[0].budgets if one.state == "unknown"]
    assert (unknown.fails, reason in unknown.reason) == (True, True)


def test_variants_of_captures_are_those_that_are_there(tmp_path: Path) -> None:
    for name in ("specialized-h100-4", "specialized-h100-8"):
        shutil.copytree(SAMPLES / "captures" / name, tmp_path / "kept" / name)
    (tmp_path / "pyproject.toml").write_text('[tool.irlens.budgets]\n"*" = "variants < 2"\n')
    found = msgspec.json.decode(irlens(tmp_path, "check", "./kept", "-f", "json").out, type=Check)
    (verdict,) = [one for kernel in found.kernels for one in kernel.budgets]
    assert (verdict.state, verdict.figures[0].value) == ("broken", 2)
    assert verdict.reason == "told apart by loader_registers, num_warps: 24 | 40"
