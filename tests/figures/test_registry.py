"""The registry: it has every number of a report, and every row can be named, read and shown."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec import inspect

from irlens import figures
from irlens.figures import COLUMNS, FIGURES, Figure
from irlens.figures.derived import shared_bytes
from irlens.model.estimate import BOUND_NAMES
from irlens.model.report import Report
from irlens.model.resources import Resources
from irlens.model.text import microseconds
from tests.tables import each_row

#: Numbers of a report that are no figures, as patterns of their paths, with the reason.
NOT_FIGURES = {
    r"schema": "version of the interface",
    r".*(line|column|offset|loop_depth)": "says where something is",
    r"target\.warp_size": "a property of the target",
    r"config\.(constexprs|args|grid|options)\b.*": "what was requested, named by the kernel",
    r"stages\{\}\..*": "size of an artifact: it changes with a comment",
    r"time\.steps\[\].*": "a what-if, not a fact of the kernel",
    r"occupancy\.(next_step|refusals|curves)\[\].*": "a what-if, not a fact of the kernel",
    r"pressure\.\w+\.(chain|lines|innermost|live|curve)\[\].*": "a figure of one line",
    r"memory\.buffers\[\].*": "a figure of one buffer",
    r"loads\[\]\.shape\[\]": "an element of a shape, whose row is loads[].shape",
    r"conversions\[\].*": "a figure of one conversion",
    r"shared_accesses\[\].*": "a figure of one line",
    r"findings\[\]\.blame\..*": "what a finding blames, not how much",
    r"spills\[\]\.bytes": "a figure of one instruction; spills.instructions counts them",
    r"local_arrays\[\]\.bytes": "a figure of one array, in resources.local_bytes",
    r"traffic\.accesses\[\].*": "a figure of one access; the traffic's own figures are their sums",
    r"traffic\.arguments\[\].*": "a figure of one argument; the traffic's own are their sums",
    r"products\[\]\..*": "a figure of one product; summary.product_slowdown is the largest",
    r"traffic\.\w*flops\{\}": "a count by type; summary.flops has the total",
    r"run\.timing\.\w+": "measured, differently each time: the ratio of two sides is compared",
    r"time\.parts\{\}": "a time of one unit; time.estimate_us combines them",
    r"mix\[\]\..*": "a count by class; summary.instructions is their total",
    r"pipelines\[\]\.loads\[\]\..*": "one load's; pipelines[].achieved_stages is that of the worst",
}  # fmt: skip


def _numbers(kind: inspect.Type, path: str) -> Iterator[str]:
    """Yield the paths of all numbers and truths in a type."""
    if isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _numbers(each, path)
    elif isinstance(kind, inspect.StructType):
        for field in kind.fields:
            yield from _numbers(field.type, f"{path}.{field.name}" if path else field.name)
    elif isinstance(kind, inspect.ListType | inspect.VarTupleType):
        yield from _numbers(kind.item_type, f"{path}[]")
    elif isinstance(kind, inspect.TupleType):
        for each in kind.item_types:
            yield from _numbers(each, f"{path}[]")
    elif isinstance(kind, inspect.DictType):
        yield from _numbers(kind.value_type, f"{path}{{}}")
    elif isinstance(kind, inspect.IntType | inspect.FloatType | inspect.BoolType):
        yield path


def test_every_number_of_a_report_is_a_figure_or_says_why_not() -> None:
    rows = {figure.path for figure in FIGURES}
    homeless = {
        path
        for path in _numbers(inspect.type_info(Report), "")
        if path not in rows and not any(re.fullmatch(known, path) for known in NOT_FIGURES)
    }
    assert not homeless


def test_every_exception_is_needed() -> None:
    paths = set(_numbers(inspect.type_info(Report), ""))
    for pattern in NOT_FIGURES:
        assert any(re.fullmatch(pattern, path) for path in paths), pattern


class TestPaths:
    def row(self, path: str, *, computed: bool) -> Figure:
        compute = (lambda _: 1) if computed else None
        return Figure(path=path, title="t", unit="count", documentation="D.", compute=compute)

    def test_the_registry_agrees_with_the_records(self) -> None:
        figures.check_paths()
        for path in ("summary.warmth", "spills.warmth"):
            figures.check_paths([self.row(path, computed=True)])

    @pytest.mark.parametrize(
        ("path", "computed", "message"),
        [
            ("resources.warmth", False, "Resources has no field warmth"),
            ("resources.warmth", True, r"in the record Resources: add a field 'warmth' .*summary"),
            ("occupancy.limits.warmth", True, "in the record OccupancyLimits"),
            ("pipelines[].warmth", True, "reads a report, not a pipeline"),
        ],
    )
    def test_a_contradiction_is_named(self, path: str, computed: bool, message: str) -> None:
        with pytest.raises(LookupError, match=message):
            figures.check_paths([self.row(path, computed=computed)])

    def test_importing_the_registry_inspects_no_record(self) -> None:
        code = "from irlens import figures; print(figures._fields.cache_info().misses)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        assert done.stdout.strip() == b"0"


EVERY = each_row("figure", FIGURES)


class TestRow:
    @EVERY
    def test_it_has_a_title_and_one_sentence_of_documentation(self, figure: Figure) -> None:
        assert figure.title
        assert not figure.documentation[0].islower()
        assert figure.documentation.endswith(".")
        assert ". " not in figure.documentation

    @EVERY
    def test_it_is_found_by_its_names(self, figure: Figure) -> None:
        for name in figures.names(figure):
            assert figures.find(name) is figure
        assert figures.find(figure.path) is figure

    @EVERY
    def test_it_is_found_by_its_title(self, figure: Figure) -> None:
        named = figures.find(figure.title.replace(" ", "-"))
        assert named is not None
        assert named.title.lower() == figure.title.lower() or named.field == figure.title
        assert figures.find(f"{figure.scope} {figure.title}") is figure

    @EVERY
    def test_its_path_leads_back_to_it(self, figure: Figure) -> None:
        assert figures.get(figure.path) is figure
        assert figures.get(figure.field, figure.scope) is figure
        assert figures.get(figures.names(figure)[0]) is figure


class TestNames:
    @pytest.mark.parametrize(
        ("name", "path"),
        [
            ("groups-in-flight", "pipelines[].groups_during_compute"),
            ("Groups in flight", "pipelines[].groups_during_compute"),
            ("achieved", "pipelines[].achieved_stages"),
            ("occupancy", "occupancy.theoretical"),
            ("registers", "resources.registers"),
            ("LDS", "resources.shared_dynamic_bytes"),
            ("live_registers", "summary.live_registers"),
            ("pipelines.bytes_in_flight", "pipelines[].bytes_in_flight"),
        ],
    )
    def test_find(self, name: str, path: str) -> None:
        found = figures.find(name)
        assert found is not None
        assert found.path == path

    def test_an_unknown_name_finds_nothing(self) -> None:
        assert figures.find("warmth") is None

    def test_a_figure_of_a_warp_group_names_the_group(self) -> None:
        path = "warp_groups.partition0.num_warps"
        assert figures.title(path) == "warps of partition0"
        assert figures.title(path, vendor="amd") == "waves of partition0"

    def test_amd_has_its_own_terms(self) -> None:
        path = "occupancy.blocks_per_sm"
        assert figures.title(path) == "blocks per SM"
        assert figures.title(path, vendor="amd", multiprocessor="WGP") == "workgroups per WGP"

    def test_a_path_without_a_row_reads_as_its_last_name(self) -> None:
        assert figures.title("classes.matrix_multiply") == "matrix multiply"


class TestValues:
    def test_values_have_their_unit(self) -> None:
        assert figures.format_value(12320, "bytes") == "12,320 B"
        assert figures.format_value(0.5, "ratio") == "50 %"
        assert figures.format_value(None, "count") == "–"
        assert figures.format_value(True, "word") == "yes"
        assert figures.format_value("", "word") == "none"

    def test_times_have_the_digits_of_every_sentence(self) -> None:
        for us in (0.4321, 16.7472541, 999.6, 12345.6):
            assert figures.format_value(us, "us") == microseconds(us)
        assert figures.format_value(16.7472541, "us") == "16.7 µs"
        assert figures.format_change(16.7472541, 12.3, "us") == "−4.45 µs"

    def test_changes_have_a_sign(self) -> None:
        assert figures.format_change(4128, 12320, "bytes") == "+8,192 B"
        assert figures.format_change(1.0, 0.5, "ratio") == "−50 points"
        assert figures.format_change(4, 4, "count") == "~"
        assert figures.format_change(None, 4, "count") == ""
        assert figures.format_change("a", "b", "word") == ""

    def test_words_are_in_the_vendors_terms(self) -> None:
        figure = figures.find("occupancy.limited_by")
        assert figure is not None
        assert figure.format("warps, shared_memory") == "warps, shared memory"
        assert figure.format("warps, shared_memory", "amd") == "waves, LDS"

    @pytest.mark.parametrize(
        ("name", "before", "after", "verdict"),
        [
            ("occupancy", 0.5, 1.0, "better"),
            ("occupancy.launchable", True, False, "worse"),
            ("registers", 32, 64, "worse"),
            ("registers", 32, 32, "neutral"),
            ("registers", None, 32, "unknown"),
            ("machine-code", 1024, 2048, "neutral"),
            ("mechanism", "cp.async", "tma", "neutral"),
            ("time.estimate_us", 100.0, 102.9, "neutral"),
            ("time.estimate_us", 102.9, 100.0, "neutral"),
            ("time.estimate_us", 100.0, 104.0, "worse"),
            ("time.estimate_us", 100.0, 96.0, "better"),
        ],
    )
    def test_better_or_worse(
        self, name: str, before: float | str | None, after: float | str | None, verdict: str
    ) -> None:
        figure = figures.find(name)
        assert figure is not None
        assert figures.better_or_worse(figure, before, after) == verdict

    def test_it_is_read_from_its_record(self) -> None:
        record = msgspec.defstruct("Record", [("kind", str | None), ("stages", list[int])])
        assert figures.read_path(record(kind=None, stages=[1, 2]), "kind.name") is None
        assert figures.read_path(record(kind="tma", stages=[1, 2]), "stages") == "1, 2"
        with pytest.raises(TypeError, match="not a figure"):
            figures.read_path(record(kind=record("a", []), stages=[]), "kind")


class TestFacts:
    def report(self, name: str) -> Report:
        path = Path(__file__).parents[2] / "samples" / "reports" / f"{name}.json"
        return msgspec.json.decode(path.read_bytes(), type=Report)

    def listed(self, report: Report) -> dict[str, tuple[list[str], str]]:
        return {figure.path: (texts, why) for figure, texts, why in figures.facts(report)}

    def test_tensor_memory(self) -> None:
        found = self.report("matmul-b200")
        assert self.listed(found)["resources.tensor_memory_columns"] == (["64"], "")
        assert self.listed(found)["resources.tensor_memory_bytes"] == (["32,768 B"], "")
        for name in ("layer_norm-b200-3.7", "softmax-h100", "softmax-mi300x"):
            assert not self.listed(self.report(name))

    def test_an_unknown_figure_has_its_reason_once(self) -> None:
        found = self.report("matmul-b200")
        names = ("tensor_memory_columns", "tensor_memory_bytes")
        resources = msgspec.structs.replace(found.resources, **dict.fromkeys(names))
        unknown = {f"resources.{name}": "for a reason" for name in names}
        missing = msgspec.structs.replace(found, resources=resources, unknown=unknown)
        assert self.listed(missing) == {"resources.tensor_memory_columns": ([], "for a reason")}

    def test_warp_groups_have_their_figures(self) -> None:
        found = self.report("specialized-h100-4")
        (groups,) = (texts for path, (texts, _) in self.listed(found).items())
        assert groups == ["default 4 warps, 256 registers", "partition0 1 warp, 24 registers"]


def test_a_bound_is_called_the_same_everywhere() -> None:
    figure = figures.find("time.bound")
    assert figure is not None
    for bound, name in BOUND_NAMES.items():
        assert {figure.format(bound), figure.format(bound, "amd"), figure.cell(bound)} == {name}
    assert (figure.format(None), BOUND_NAMES["l2"]) == (figures.UNKNOWN, "L2")


def test_tables_show_what_a_cta_takes_of_shared_memory() -> None:
    """The dynamic part alone is nothing for CUDA's kernels, whose arrays are static."""
    (column,) = (each for each in COLUMNS if each.short == "shared")
    resources = Resources(
        registers=1, shared_dynamic_bytes=16, shared_static_bytes=1024, local_bytes=0, stack_bytes=0
    )
    assert resources.shared_bytes == 1040
    assert column.compute is shared_bytes
    assert column.of_binary
