"""The tools of ``irlens mcp``, and the server that offers them."""

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Annotated, Literal, ParamSpec, TypeAlias

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from irlens import gpus
from irlens.compiler.sources.lookup import known_files
from irlens.mcp import documents
from irlens.model.capture import Capture
from irlens.model.errors import IrlensError
from irlens.render import DETAILS, Detail, Options, render
from irlens.session.compilation import Compiler
from irlens.session.explain import explain
from irlens.session.session import Session
from irlens.session.sides import Sides
from irlens.session.source_lines import line_report
from irlens.session.stages import check_stage
from irlens.session.subject import Configurations, is_compiled
from irlens.version import VERSION

P = ParamSpec("P")

_INSTRUCTIONS = """irlens shows what the compiler made of a Triton kernel, for any NVIDIA or AMD \
GPU, without needing one: registers, spills, shared memory, software pipelining, occupancy, \
findings, and the code of every stage. Start with `inspect`. After an edit of the kernel's file, \
`inspect` it again, or `diff` two configurations. `explain` documents findings (IRL201), figures \
and terms. Every number is the compiler's or the vendor's; what cannot be known is "unknown"."""

#: One value, or several to ask for each.
_Value: TypeAlias = str | int | float | bool
_Values: TypeAlias = dict[str, _Value | list[_Value]]

_Kernel = Annotated[
    str,
    Field(
        description="A sample's name (softmax), path/file.py:kernel, package.module:kernel, a "
        "capture or Triton cache directory, an artifact (x.ptx, x.cubin), or a saved report"
    ),
]
_Targets = Annotated[
    list[str] | None,
    Field(description='GPUs to compile for: ["h100"], ["sm_90", "gfx942"]; see `targets`'),
]
_Settings = Annotated[
    _Values | None,
    Field(
        description='Constexprs and compile options: {"num_stages": [2, 4], "BLOCK_SIZE": 1024}; '
        "a list asks for each of its values"
    ),
]
_Args = Annotated[
    _Values | None,
    Field(description='Arguments and sizes: {"n_cols": 781, "x_ptr": "fp16[1024, 1024]"}'),
]
_Grid = Annotated[
    list[int | str] | None,
    Field(description='CTAs in x, y and z: [4096], ["cdiv(n, BLOCK)", 8]'),
]
_First = Annotated[int, Field(ge=1, description="First line to return")]
_Count = Annotated[
    int, Field(ge=1, le=documents.MAX_LINES, description="Number of lines to return")
]

#: Nothing is written but irlens's own cache.
_READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)


def make_server(*, compiles: bool = True) -> MCPServer:
    """Return a server with irlens's tools.

    Args:
        compiles: Whether tools may compile kernels. Compiling loads the Python file of the kernel,
            as ``irlens inspect`` does; captures are read and never executed.
    """
    server = MCPServer("irlens", version=VERSION, instructions=_INSTRUCTIONS, log_level="WARNING")
    tools = Tools(compiles=compiles)
    for tool in (
        tools.inspect, tools.capture, tools.diff, tools.read_stage, tools.search_stage,
        tools.source_line, tools.explain, tools.kernels, tools.targets,
    ):  # fmt: skip
        server.tool(annotations=_READS, structured_output=False)(_reporting_errors(tool))
    return server


def _reporting_errors(tool: Callable[P, str]) -> Callable[P, str]:
    """Return a tool whose errors reach the agent as one message."""

    @functools.wraps(tool)
    def call(*args: P.args, **kwargs: P.kwargs) -> str:
        try:
            return tool(*args, **kwargs)
        except IrlensError as error:
            hint = f"\nhint: {error.hint}" if error.hint else ""
            raise ToolError(documents.clipped(f"{error.message}{hint}")) from error

    return call


class Tools:
    """What agents may ask; each method is a tool, and its docstring the tool's description.

    Args:
        compiles: See ``make_server``.
    """

    def __init__(self, *, compiles: bool) -> None:
        self._compiles = compiles
        # In a child process: what the compiler or a kernel's file prints must not reach stdout,
        # which carries the protocol.
        self._session = Session(compile=Compiler().compile)
        #: Calls come in threads, and the compiler serves one at a time.
        self._lock = threading.Lock()

    def inspect(
        self,
        kernel: _Kernel,
        targets: _Targets = None,
        settings: _Settings = None,
        args: _Args = None,
        grid: _Grid = None,
        format: Literal["markdown", "text", "json", "csv"] = "markdown",  # noqa: A002
        details: Annotated[
            list[Detail] | None, Field(description=f"Sections in full: {', '.join(DETAILS)}")
        ] = None,
        sass: Annotated[
            bool | None,
            Field(description="Disassemble the machine code, too; by default that of few captures"),
        ] = None,
    ) -> str:
        """Report registers, spills, shared memory, pipelining, occupancy and findings.

        With the launch also bytes of global memory, the roofline and the estimated time. Samples
        and captures of irlens have one; a Triton cache entry gets it from `args` and `grid`, and
        the product from `targets`.

        Compiles the kernel if it is not compiled yet; a directory may hold many captures, of which
        csv gives one row each.
        """
        with self._lock:
            selection = self._configurations(kernel, targets, settings, args, grid, completes=True)
            if selection.is_empty or not is_compiled(kernel):
                reports = self._session.reports(kernel, selection, sass=sass)
            else:
                launched = self._launched(kernel, selection)
                inspected = self._session.inspect(kernel, launched, sass=sass)
                reports = [report for _, report in inspected]
        options = Options(details=frozenset(details or ()))
        shown = reports if format == "csv" else reports[: documents.MAX_REPORTS]
        written = render(format, "reports", shown, options)
        if format == "json" or len(shown) == len(reports):
            return documents.clipped(written)
        more = f"{len(reports) - len(shown)} more captures; csv lists all\n"
        return documents.clipped(written) + more

    def capture(
        self,
        kernel: _Kernel,
        targets: _Targets = None,
        settings: _Settings = None,
        args: _Args = None,
    ) -> str:
        """Compile a kernel, and list its captures: directory, config, and stages with line counts.

        The directory is a KERNEL for the other tools.
        """
        return documents.captures(self._captures(kernel, targets, settings, args))

    def diff(
        self,
        before: _Kernel,
        after: Annotated[
            str | None,
            Field(description="The other side; without it, a list of values makes the sides"),
        ] = None,
        targets: _Targets = None,
        settings: _Settings = None,
        args: _Args = None,
        stages: Annotated[
            list[str] | None,
            Field(description='Compare the code of these stages instead: ["ttgir", "ptx"]'),
        ] = None,
    ) -> str:
        """Compare two captures or configurations by meaning, or the code of their stages.

        Options apply to the side that is not compiled yet.
        """
        with self._lock:
            kernels = [before] if after is None else [before, after]
            source = next((each for each in kernels if not is_compiled(each)), before)
            selection = self._configurations(source, targets, settings, args)
            sides = Sides(before, after, selection, self._session)
            if stages:
                code = sides.compare_code(",".join(stages), context=3)
                return documents.clipped(render("markdown", "code", code))
            return documents.clipped(render("markdown", "comparisons", sides.compare(sass=None)))

    def read_stage(
        self,
        kernel: _Kernel,
        stage: Annotated[
            str,
            Field(description="source, ttir, ttgir, llir, ptx, sass, amdgcn or metadata"),
        ],
        first: _First = 1,
        lines: _Count = 200,
        annotate: Annotated[
            bool,
            Field(description="Add live registers, pipeline roles and loops to each line"),
        ] = False,
        targets: _Targets = None,
        settings: _Settings = None,
        args: _Args = None,
    ) -> str:
        """Return lines of one stage of a kernel, numbered."""
        check_stage(stage)
        capture = self._one_capture(kernel, targets, settings, args)
        return documents.stage_lines(capture, stage, first, lines, annotate=annotate)

    def search_stage(
        self,
        kernel: _Kernel,
        stage: Annotated[str, Field(description="source, ttir, ttgir, llir, ptx, sass or amdgcn")],
        pattern: Annotated[str, Field(description="Regular expression of RE2's syntax")],
        targets: _Targets = None,
        settings: _Settings = None,
        args: _Args = None,
    ) -> str:
        """Return the lines of a stage that match a pattern, numbered."""
        check_stage(stage)
        capture = self._one_capture(kernel, targets, settings, args)
        return documents.matching_lines(capture, stage, pattern)

    def source_line(
        self,
        kernel: _Kernel,
        line: Annotated[str, Field(description='"51" of the kernel\'s file, or "standard.py:170"')],
        targets: _Targets = None,
        settings: _Settings = None,
        args: _Args = None,
    ) -> str:
        """Return the code that a line of Python became, at every stage."""
        capture = self._one_capture(kernel, targets, settings, args)
        return documents.clipped(line_report(capture, line, color=False))

    def explain(
        self,
        name: Annotated[
            str, Field(description="IRL201, pipeline-shallower, groups-in-flight, bank-conflict")
        ],
    ) -> str:
        """Explain a finding, a figure or a term."""
        return explain(name)

    def kernels(self) -> str:
        """List the kernels that can be named without a path: irlens's samples and the project's."""
        return "\n".join(sorted(known_files())) + "\n"

    def targets(self) -> str:
        """List the GPUs that can be compiled for."""
        rows = (f"{gpu.name}: {gpu.arch.name}, {gpu.arch.family}" for gpu in gpus.gpus())
        return "\n".join(rows) + "\n"

    def _captures(
        self, kernel: str, targets: _Targets, settings: _Settings, args: _Args
    ) -> Sequence[Capture]:
        with self._lock:
            selection = self._configurations(kernel, targets, settings, args)
            return self._session.captures(kernel, selection)

    def _one_capture(
        self, kernel: str, targets: _Targets, settings: _Settings, args: _Args
    ) -> Capture:
        """Return the only capture that is asked for.

        Raises:
            IrlensError: There are several.
        """
        captures = self._captures(kernel, targets, settings, args)
        if len(captures) > 1:
            raise IrlensError(
                f"{kernel} has {len(captures)} captures: name one",
                hint="`capture` lists their directories",
            )
        return captures[0]

    def _launched(self, kernel: str, selection: Configurations) -> list[Capture]:
        """Return captures with the launch that is given; none is compiled again.

        Raises:
            IrlensError: They have a launch of their own, or cannot be launched so.
        """
        launched = self._session.launched(kernel, selection)
        if launched is None:
            raise _already_compiled(kernel)
        return launched

    def _configurations(
        self,
        kernel: str,
        targets: _Targets,
        settings: _Settings,
        args: _Args,
        grid: _Grid = None,
        *,
        completes: bool = False,
    ) -> Configurations:
        """Return the configurations that are asked for; nothing is ever launched.

        Args:
            kernel: KERNEL.
            targets: GPUs.
            settings: Constexprs and compile options.
            args: Arguments and sizes.
            grid: CTAs in x, y and z.
            completes: Whether options may complete the launch of something compiled.

        Raises:
            IrlensError: KERNEL takes no options, or has to be compiled, which is not allowed.
        """
        chosen = Configurations(
            targets=tuple(targets or ()),
            settings=_axes(settings),
            args=_axes(args),
            grid=tuple(map(str, grid or ())),
            run=False,
        )
        if is_compiled(kernel):
            if not chosen.is_empty and not completes:
                raise _already_compiled(kernel)
            return chosen
        if not self._compiles:
            raise IrlensError(
                f"{kernel} is not compiled, and this server only reads captures",
                hint="start it without --no-compile",
            )
        return chosen


def _already_compiled(kernel: str) -> IrlensError:
    return IrlensError(
        f"{kernel} is already compiled, and this server executes nothing that a capture names",
        hint="leave out the options, or name the kernel's source; `inspect` takes the launch of a"
        " Triton cache entry",
    )


def _axes(values: _Values | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each name with its values as they are written on a command line."""
    return tuple(
        (name, tuple(map(str, value if isinstance(value, list) else [value])))
        for name, value in (values or {}).items()
    )
