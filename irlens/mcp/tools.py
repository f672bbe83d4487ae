"""What agents may ask: each public method of ``Tools`` is a tool, its docstring the description.

The server describes the tools by their signatures; a worker process calls them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import re2
from msgspec import Meta
from msgspec.structs import replace

from irlens import gpus
from irlens.analyze.capture_code import CaptureCode
from irlens.artifacts.entries import Broken
from irlens.compiler.sources.lookup import known_files
from irlens.mcp.answers import Answer, record_answer, text_answer
from irlens.mcp.parameters import (
    ROWS,
    Args,
    Filters,
    FormatName,
    Grid,
    Kernel,
    ReportFormat,
    Sass,
    Settings,
    StageName,
    Targets,
    Where,
    axes,
    ranges,
)
from irlens.mcp.roots import Roots
from irlens.model.capture import BINARY_STAGES, Capture, Disassembly
from irlens.model.errors import IrlensError
from irlens.model.limits import LimitSearch
from irlens.model.report import Report
from irlens.model.text import count, plural, split_list
from irlens.render import Detail, Kind, Options, render
from irlens.render.text_listing import annotated, line_text
from irlens.render.text_page import Page
from irlens.render.view.memory_traffic import traffic_cells
from irlens.session import Configurations, is_compiled, names_a_source
from irlens.session.explain import explain
from irlens.session.reports import Needs, report_of
from irlens.session.session import Session
from irlens.session.sides import Sides, between_revisions
from irlens.session.stages import check_stage, check_text, find_line, listed, read_stage
from irlens.session.wording import worded

#: Lines of a stage, reports, and entries that a scan skipped, in one answer.
MAX_LINES, MAX_REPORTS, MAX_SKIPPED = 1000, 20, 20
_MAX_LINE = 2000


class Tools:
    """The tools, for one call.

    Args:
        compiles: Whether they may compile, which loads the Python file of a kernel.
        skip: Items of the answer that the agent has had.
    """

    def __init__(self, *, compiles: bool, roots: Roots, skip: int = 0) -> None:
        self._compiles = compiles
        self._roots = roots
        self._skip = skip
        self.notes: list[str] = []
        self._session = Session(self._note, recompiles=False)

    def inspect(
        self,
        kernel: Kernel,
        targets: Targets = None,
        settings: Settings = None,
        args: Args = None,
        grid: Grid = None,
        format: ReportFormat = "markdown",  # noqa: A002
        details: Annotated[
            list[Detail] | None,
            Meta(description="Sections in full: pipelines, pressure, memory, time, mix, figures"),
        ] = None,
        sass: Sass = None,
    ) -> Answer:
        """Report time, registers, spills, shared memory, pipelining, occupancy and findings.

        The time, the bytes of global memory and the roofline need the launch. Samples and captures
        of irlens have one; a Triton cache entry gets it from `args` and `grid`, and the product
        from `targets`.

        Compiles the kernel if it is not compiled yet; a directory may hold many captures.
        """
        selection = self._configurations(kernel, targets, settings, args, grid, completes=True)
        selected: Sequence[Capture | Report]
        if selection.is_empty or not is_compiled(kernel):
            selected = self._session.select(kernel, selection)
        elif (launched := self._session.launched(kernel, selection)) is None:
            raise names_a_source(kernel)
        else:  # captures with the launch that is given: none is compiled again
            selected = launched
        chosen = selected if format in ROWS else selected[self._skip :][:MAX_REPORTS]
        reports = [report for _, report in self._session.inspect(kernel, chosen, Disassembly(sass))]
        others: dict[str, Any] = {"notes": self.notes, "skip": self._skip}
        if (end := self._skip + len(chosen)) < len(selected):
            others["rest"] = {"cursor": f"{end}-0-"}
        if format == "json":
            decoded = [msgspec.json.decode(render("json", "reports", [each])) for each in reports]
            return record_answer("reports", decoded, **others)
        options = Options(details=frozenset(details or ()), subject=None)
        return text_answer(render(format, "reports", reports, options), **others)

    def capture(
        self,
        kernel: Kernel,
        targets: Targets = None,
        settings: Settings = None,
        args: Args = None,
    ) -> Answer:
        """Compile a kernel, and list its captures: directory, config, and stages with line counts.

        The directory is a KERNEL for the other tools.
        """
        selection = self._configurations(kernel, targets, settings, args)
        captures = self._session.captures(kernel, selection)
        return record_answer("captures", [_capture(each) for each in captures], notes=self.notes)

    def diff(
        self,
        before: Kernel,
        after: Annotated[
            str | None,
            Meta(description="The other side; without it, a list of values makes the sides"),
        ] = None,
        targets: Targets = None,
        settings: Settings = None,
        args: Args = None,
        stages: Annotated[
            list[str] | None,
            Meta(description='Compare the code of these stages instead: ["ttgir", "ptx"]'),
        ] = None,
        revision: Annotated[
            str | None,
            Meta(description='Compare a git revision of the kernel with the file now: "HEAD"'),
        ] = None,
        sass: Sass = None,
        format: FormatName = "markdown",  # noqa: A002
    ) -> Answer:
        """Compare two captures or configurations by meaning, or the code of their stages.

        Options apply to the side that is not compiled yet.
        """
        kernels = [before] if after is None else [before, after]
        for each in kernels:
            self._roots.check_kernel(each)
        source = next((each for each in kernels if not is_compiled(each)), before)
        selection = self._configurations(source, targets, settings, args)
        if revision is None:
            sides = Sides(before, after, selection, self._session)
        elif after is None:
            sides = between_revisions(before, revision, selection, self._session)
        else:
            raise IrlensError("`after` and `revision` each name the other side: give one")
        if stages:
            return self._rendered(format, "code", sides.compare_code(",".join(stages), context=3))
        return self._rendered(format, "comparisons", sides.compare(Needs(Disassembly(sass))))

    def scan(
        self,
        directories: Annotated[
            list[str], Meta(description="Triton caches, trees of caches, directories of captures")
        ],
        columns: Annotated[
            list[str] | None,
            Meta(description='Figures by name: ["time", "local_bytes"]; see `explain`'),
        ] = None,
        where: Annotated[
            list[str] | None, Meta(description='Show only matching captures: ["local_bytes > 0"]')
        ] = None,
        sort: Annotated[
            list[str] | None,
            Meta(description='Columns to sort by; a minus sorts the largest first: ["-time"]'),
        ] = None,
        rows: Annotated[int, Meta(description="Rows to show; json has all", ge=1)] = 30,
        format: FormatName = "markdown",  # noqa: A002
    ) -> Answer:
        """List the captures of directories with a row of figures for each, and sum them up.

        Compiles nothing. Without `sort`, the kernel that is estimated to take longest comes first.
        A path in the column `path` is a KERNEL for the other tools.
        """
        from irlens.session.scan import Request, Scanner
        from irlens.session.scan.columns import PATH, SUMMED_UP

        if not directories:
            raise IrlensError("scan takes at least one directory")
        paths = [Path(each).expanduser() for each in directories]
        for path in paths:
            self._roots.check_path(path)
        names, conditions = columns or (*SUMMED_UP, PATH), tuple(where or ())
        request = Request.parse(paths, names, conditions, sort or (), sums_up=True)
        skipped = list[Broken]()
        found = Scanner(request, skipped.append).document(conditions)
        for each in skipped[:MAX_SKIPPED]:
            self._note(f"skipped {each.path}: {each.reason}")
        if len(skipped) > MAX_SKIPPED:
            self._note(f"{count(len(skipped))} skipped, {count(MAX_SKIPPED)} of them shown")
        return self._rendered(format, "scan", found, rows)

    def suggest(
        self,
        kernel: Kernel,
        targets: Targets = None,
        settings: Settings = None,
        args: Args = None,
        grid: Grid = None,
        most: Annotated[int, Meta(description="Neighbours to compile at most", ge=1, le=200)] = 40,
        budget: Annotated[
            float, Meta(description="Seconds to compile in; then the best so far is returned", gt=0)
        ] = 60.0,
        format: FormatName = "markdown",  # noqa: A002
    ) -> Answer:
        """Compile the neighbours of a configuration and return the fastest by estimated time.

        Takes one configuration: one target, and one value of each setting.
        """
        from irlens.session.suggest import requests_near, suggest_near

        selection = self._configurations(kernel, targets, settings, args, grid)
        requests = requests_near(kernel, selection, self._session)
        return self._rendered(
            format,
            "suggestion",
            suggest_near(requests, self._session, most=most, seconds=budget),
        )

    def variants(
        self,
        kernel: Kernel,
        targets: Targets = None,
        settings: Settings = None,
        ranges: Annotated[
            dict[str, str] | None,
            Meta(description='What arguments and sizes take: {"n": "1..131072", "m": "1,16"}'),
        ] = None,
        most: Annotated[int, Meta(description="Variants to compile at most", ge=1, le=200)] = 40,
        format: FormatName = "markdown",  # noqa: A002
    ) -> Answer:
        """List the variants that Triton compiles of a kernel, why, and what would leave fewer.

        Of captures, a recording or a cache: those that are there.
        """
        from irlens.session.variants import variants_of

        selection = self._configurations(kernel, targets, settings, None)
        taken = tuple((name, tuple(split_list(text))) for name, text in (ranges or {}).items())
        chosen = replace(selection, args=taken)
        return self._rendered(
            format, "variants", variants_of(self._session, [kernel], chosen, most=most)
        )

    def why(
        self,
        kernel: Kernel,
        findings: Annotated[
            list[str] | None,
            Meta(description='Codes or names: ["IRL203", "narrow-access"]; all if left out'),
        ] = None,
        targets: Targets = None,
        settings: Settings = None,
        args: Args = None,
        grid: Grid = None,
        format: FormatName = "markdown",  # noqa: A002
    ) -> Answer:
        """Explain why a kernel has its findings: the pass, the operation, the proof.

        Takes one configuration of a kernel's source, and compiles it again with the blamed cause
        alone changed: a finding that goes is proved, and the effect on the time is said.
        """
        from irlens.session.why import why

        selection = self._configurations(kernel, targets, settings, args, grid)
        found = why(kernel, selection, self._session, tuple(findings or ()))
        return self._rendered(format, "explanations", found)

    def limits(
        self,
        kernel: Kernel,
        targets: Targets = None,
        settings: Settings = None,
        along: Annotated[
            list[str] | None,
            Meta(description='Sizes to vary, each alone: ["tokens", "batch=1..4096"]; all if none'),
        ] = None,
        args: Args = None,
        grid: Grid = None,
        format: FormatName = "markdown",  # noqa: A002
    ) -> Answer:
        """Find the smallest sizes at which a kernel breaks: overflows, grids, CTAs that do not fit.

        Takes one configuration of a kernel's source. A size that another follows is an argument:
        {"seq": "2 * tokens"}.
        """
        from irlens.session.limits import limits_of, read_along

        selection = self._configurations(kernel, targets, settings, args, grid)
        found = limits_of(self._session, kernel, selection, read_along(along or ()), LimitSearch())
        return self._rendered(format, "limits", found)

    def sweep(
        self,
        kernel: Kernel,
        targets: Targets = None,
        settings: Settings = None,
        args: Args = None,
        grid: Grid = None,
        where: Where = None,
        filters: Filters = None,
        rank: Annotated[
            str | None, Meta(description='Rank the results by a figure: "time", "occupancy"')
        ] = None,
        top: Annotated[
            int | None,
            Meta(description="Configurations to keep for each target, of those that fit", ge=1),
        ] = None,
        format: ReportFormat = "markdown",  # noqa: A002
    ) -> Answer:
        """Compile a grid of configurations, and list which fit, with their figures.

        Every setting or argument with several values is an axis. A range of one argument with more
        than 64 values gives the estimated time over that size, what binds it, and which
        configuration is the fastest where, unless `where`, `filters` or `top` is given:
        {"n": "256..16384"}.
        """
        from irlens.session.grids import sweep
        from irlens.sweeps.selection import Selection

        selection = self._configurations(kernel, targets, settings, None, grid)
        self._roots.check_values(args or {})
        selection = replace(selection, args=ranges(args))
        chosen = Selection(
            where=tuple(where or ()), filters=tuple(filters or ()), rank=rank, top=top
        )
        return self._rendered(format, "sweep", sweep(self._session, kernel, selection, chosen))

    def check(
        self,
        kernels: Annotated[
            list[str] | None,
            Meta(description="KERNELs; all that the project and its baseline name if left out"),
        ] = None,
        targets: Targets = None,
        settings: Settings = None,
        args: Args = None,
        strict: Annotated[
            bool, Meta(description="Fail if any figure differs from the baseline")
        ] = False,
        format: FormatName = "markdown",  # noqa: A002
    ) -> Answer:
        """Compare kernels with the project's baseline and budgets, as `irlens check` does in CI.

        Writes no baseline.
        """
        from irlens.session.baselines import CheckRequest, run_check

        if not self._compiles:
            raise _only_reads("a check compiles what the baseline names")
        selection = self._selection(targets, settings, args)
        for kernel in kernels or ():
            self._roots.check_kernel(kernel)
        request = CheckRequest(
            kernels=tuple(kernels or ()), configurations=selection, strict=strict
        )
        return self._rendered(format, "check", run_check(request, self._session).check)

    def read_stage(
        self,
        kernel: Kernel,
        stage: StageName,
        first: Annotated[int, Meta(description="First line to return", ge=1)] = 1,
        lines: Annotated[
            int, Meta(description="Number of lines to return", ge=1, le=MAX_LINES)
        ] = 200,
        annotate: Annotated[
            bool,
            Meta(description="Add live registers, pipeline roles and loops to each line"),
        ] = False,
        targets: Targets = None,
        settings: Settings = None,
        args: Args = None,
    ) -> Answer:
        """Return lines of one stage of a kernel, numbered."""
        check_stage(stage)
        capture = self._one_capture(kernel, targets, settings, args)
        head, shown = (_annotated if annotate else _numbered)(capture, stage)
        if first > len(shown):
            raise IrlensError(
                f"{capture.kernel}: {stage} has {plural(len(shown), 'line')}, so no line {first}"
            )
        last = min(first + lines - 1, len(shown))
        title = f"{capture.kernel} {stage}: lines {first} to {last} of {len(shown)}"
        text = "\n".join(filter(None, (title, head, *shown[first - 1 : last]))) + "\n"
        rest = {"first": last + 1} if last < len(shown) else None
        return text_answer(text, rest=rest, notes=self.notes)

    def search_stage(
        self,
        kernel: Kernel,
        stage: StageName,
        pattern: Annotated[str, Meta(description="Regular expression of RE2's syntax")],
        targets: Targets = None,
        settings: Settings = None,
        args: Args = None,
    ) -> Answer:
        """Return the lines of a stage that match a pattern, numbered."""
        check_stage(stage)
        capture = self._one_capture(kernel, targets, settings, args)
        expression = _compiled(pattern)
        lines = _text(capture, stage)
        matches = [
            f"{n:>6}  {line[:_MAX_LINE]}"
            for n, line in enumerate(lines, 1)
            if expression.search(line)
        ]
        title = f"{capture.kernel} {stage}: {plural(len(matches), 'matching line')} of {len(lines)}"
        return text_answer("\n".join((title, *matches)) + "\n", notes=self.notes)

    def source_line(
        self,
        kernel: Kernel,
        line: Annotated[str, Meta(description='"51" of the kernel\'s file, or "standard.py:170"')],
        targets: Targets = None,
        settings: Settings = None,
        args: Args = None,
    ) -> Answer:
        """Return the code that a line of Python became, at every stage."""
        capture = self._one_capture(kernel, targets, settings, args)
        found = find_line(CaptureCode(capture), line)
        return text_answer(line_text(found, Page(width=0, color=False)), notes=self.notes)

    def explain(
        self,
        name: Annotated[
            str,
            Meta(
                description="IRL201, pipeline-shallower, groups-in-flight, bank-conflict",
                max_length=200,
            ),
        ],
    ) -> Answer:
        """Explain a finding, a figure or a term."""
        return text_answer(explain(name), trusted=True)

    def kernels(self) -> Answer:
        """List the kernels that can be named without a path: irlens's samples and the project's."""
        return text_answer("\n".join(sorted(known_files())) + "\n", trusted=True)

    def targets(self) -> Answer:
        """List the GPUs that can be compiled for."""
        rows = (f"{gpu.name}: {gpu.arch.name}, {gpu.arch.family}" for gpu in gpus.gpus())
        return text_answer("\n".join(rows) + "\n", trusted=True)

    def _note(self, message: str) -> None:
        self.notes.append(worded(message, "agent"))

    def _rendered(self, form: str, kind: Kind, record: object, rows: int | None = None) -> Answer:
        if form == "json":
            document = msgspec.json.decode(render("json", kind, record))
            return record_answer("documents", [document], notes=self.notes)
        options = Options(rows=rows, subject=None)
        return text_answer(render(form, kind, record, options), notes=self.notes)

    def _one_capture(
        self, kernel: str, targets: Targets, settings: Settings, args: Args
    ) -> Capture:
        """Return the only capture that is asked for."""
        selection = self._configurations(kernel, targets, settings, args)
        captures = self._session.captures(kernel, selection)
        if len(captures) > 1:
            raise IrlensError(
                f"{kernel} has {len(captures)} captures: name one",
                hint="`capture` lists their directories",
            )
        return captures[0]

    def _configurations(
        self,
        kernel: str,
        targets: Targets,
        settings: Settings,
        args: Args,
        grid: Grid = None,
        *,
        completes: bool = False,
    ) -> Configurations:
        """Return the configurations that are asked for; nothing is ever launched.

        Args:
            completes: Whether options may complete the launch of something compiled.

        Raises:
            IrlensError: KERNEL is outside of the roots, takes no options, or has to be compiled,
                which is not allowed.
        """
        self._roots.check_kernel(kernel)
        chosen = self._selection(targets, settings, args, grid)
        if is_compiled(kernel):
            if not chosen.is_empty and not completes:
                raise names_a_source(kernel)
            return chosen
        if not self._compiles:
            raise _only_reads(f"{kernel} is not compiled")
        return chosen

    def _selection(
        self, targets: Targets, settings: Settings, args: Args, grid: Grid = None
    ) -> Configurations:
        for named in (settings, args):
            self._roots.check_values(named or {})
        several = targets.split(",") if isinstance(targets, str) else targets or ()
        return Configurations(
            targets=tuple(each.strip() for each in several),
            settings=axes(settings),
            args=axes(args),
            grid=tuple(map(str, grid or ())),
            run=False,
        )


def _numbered(capture: Capture, stage: str) -> tuple[str, list[str]]:
    """Return no head, and a stage's lines with their numbers."""
    lines = enumerate(_text(capture, stage), 1)
    return "", [f"{n:>6}  {line[:_MAX_LINE]}" for n, line in lines]


def _annotated(capture: Capture, stage: str) -> tuple[str, list[str]]:
    """Return the head of a stage's gutter, and its lines with their gutter."""
    code = CaptureCode(capture)
    report = report_of(code, Disassembly(stage == "sass"))
    listing, numbered = listed(code, stage, report)
    rows = annotated(listing, numbered, report.pipelines, traffic_cells(report, stage))
    head, *shown = [f"{gutter}{line[:_MAX_LINE]}".rstrip() for gutter, line in rows]
    return head, shown


def _compiled(pattern: str) -> Any:
    """Return a pattern of RE2, which takes linear time."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        text = reason.decode() if isinstance(reason, bytes) else str(reason)
        raise IrlensError(f"invalid pattern '{pattern}': {text}") from error


def _capture(capture: Capture) -> dict[str, object]:
    config = capture.config
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages, **config.constexprs}
    stages = {}
    for name, artifact in capture.stages.items():
        content = artifact.read()
        kind = "binary" if name in BINARY_STAGES else plural(content.count(b"\n"), "line")
        stages[name] = f"{count(len(content))} B, {kind}"
    return {
        "kernel": capture.kernel,
        "target": capture.target.name if capture.target is not None else None,
        "config": {name: value for name, value in options.items() if value is not None},
        "directory": str(capture.directory) if capture.directory is not None else None,
        "stages": stages,
    }


def _text(capture: Capture, stage: str) -> list[str]:
    check_text(stage)
    return read_stage(CaptureCode(capture), stage).decode("utf-8", "replace").splitlines()


def _only_reads(reason: str) -> IrlensError:
    return IrlensError(
        f"{reason}, and this server only reads captures", hint="start it without --no-compile"
    )
