"""From a capture back to a request: the settings that can be changed, and how to recompile it.

The request repeats everything that the capture records about its compilation, so that a difference
between the two captures comes from the changed settings alone.
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

import msgspec
from msgspec.structs import replace

from irlens import gpus
from irlens.artifacts.revisions import keep
from irlens.compiler import Request, find_kernel, known_files, parse_value
from irlens.compiler.calls.argument_values import Descriptor, Tensor, format_value, parse_argument
from irlens.compiler.calls.binding import evaluate_formula
from irlens.compiler.calls.pointers import Addresses
from irlens.compiler.calls.program_ids import ProgramIds
from irlens.compiler.capture_files import is_own, sha256
from irlens.compiler.sources.index_names import function_of
from irlens.compiler.sources.launch_grids import launch_grid
from irlens.compiler.toolchains import triton_version
from irlens.model.capture import PYTHON_FOLDER, Capture, Manifest, SourceFile
from irlens.model.config import Config, ConstexprValue, GridFormula
from irlens.model.errors import CaptureError
from irlens.session import Configurations
from irlens.session.arguments import (
    Derivation,
    argument_settings,
    derive_constexprs,
    find_derivation,
    requested_arguments,
    require_extents,
)
from irlens.session.exchange import Setting

_MAX_THREADS = 1024
#: A Python file that a location of ttir names.
_NAMED_FILE = re.compile(r'loc\("(?P<path>/[^"]+\.py)":\d')
_TRITON, _TARGET = "triton", "target"
#: Options with text that names neither files nor arguments of a tool: safe to take from a capture.
_SAFE_TEXT = frozenset(
    {
        "default_dot_input_precision", "instruction_sched_variant", "instrumentation_mode",
        "schedule_hint", "wgp_cu_mode",
    }
)  # fmt: skip


def source_of(capture: Capture, named: str | None) -> str | None:
    """Return the kernel that a capture was compiled from, as the command line names it.

    Compiling executes the file, and a capture is untrusted data: the file that it names is taken
    only if this user's irlens sealed the capture, and where it is gone, the capture's copy only if
    it is what was sealed. Otherwise one of its name is looked up among the kernels that irlens
    already knows.

    Args:
        named: What the user named, if the capture was compiled from that.

    Returns:
        ``None`` if unknown.

    Raises:
        CaptureError: The file is gone, or no longer has the kernel.
    """
    kernel = _trusted_source(capture) if named is None else named
    if kernel is not None:
        find_kernel(kernel)
    return kernel


def _trusted_source(capture: Capture) -> str | None:
    manifest, source = capture.manifest, capture.source
    if manifest is None:
        return None
    if source is not None and is_own(source, capture.kernel):
        return f"{_kept_copy(capture, source) or source.path}:{capture.kernel}"
    path = next((path for path in known_files().values() if path.name == manifest.file), None)
    return f"{path}:{capture.kernel}" if path is not None else None


def _kept_copy(capture: Capture, source: SourceFile) -> Path | None:
    """Return a capture's copy of a sealed source that is gone, as the store holds it."""
    path = Path(source.path)
    content = b"" if path.exists() else (capture.python(path.name) or "").encode()
    if sha256(content) != source.sha256:
        return None
    return keep(path.name, content, source.sha256)


def is_edited(capture: Capture, kernel: str) -> bool:
    """Whether a capture's source has changed since it was compiled."""
    source = capture.source
    return source is not None and sha256(find_kernel(kernel).content) != source.sha256


def unknown_source(capture: Capture) -> CaptureError:
    """Return the error that says why a capture's source is unknown, and how to name it."""
    manifest, source = capture.manifest, capture.source
    named = manifest.file if manifest is not None else None
    file = named or next(iter(capture.python_files), None)
    text = capture.python(file) if file else None
    is_generated = file and "triton_heuristics" in (text or "")
    compiled = known = source.path if source is not None else _compiled_file(capture)
    if not (known and Path(known).is_file()):  # of generated files there is no other
        kept = f"{capture.directory}/{PYTHON_FOLDER}/{file}"
        known = kept if is_generated and capture.directory is not None else None
    hint = f"name the source instead: {f'FOLDER/{file}' if file else 'FILE.py'}:{capture.kernel}"
    if known is not None:
        hint = f"if you trust the file, name it yourself: irlens inspect {known}:{capture.kernel}"
    if source is not None:
        foreign = f"irlens does not load {source.path}, which a capture of somebody else names"
        return CaptureError(foreign, hint=hint)
    if is_generated:
        return CaptureError(f"TorchInductor generated {file} for one run", hint=hint)
    if file is None and known is None and compiled is not None:  # a bare entry of a cache
        return CaptureError(
            f"{capture.kernel} is already compiled, and its source is gone: {compiled}",
            hint="restore the file, or record the program that launches the kernel:"
            " irlens record PROGRAM.py",
        )
    where = f": irlens cannot locate {file}" if file and known is None else ""
    return CaptureError(
        f"{capture.kernel} is already compiled, and its source is unknown{where}", hint=hint
    )


def _compiled_file(capture: Capture) -> str | None:
    """Return the file that a capture's ttir names first, the kernel's own."""
    ttir = capture.stages.get("ttir")
    found = _NAMED_FILE.search(ttir.text()) if ttir is not None else None
    return found["path"] if found is not None else None


def settings_of(capture: Capture, kernel: str) -> list[Setting]:
    """Return the settings that can be changed; empty if the target is unknown.

    Args:
        kernel: Its source, see ``source_of``.
    """
    derivation = find_derivation(capture, find_kernel(kernel).description)
    compile_settings = (*_compile_settings(capture, derivation), *_triton_setting(capture))
    settings = {each.name: each for each in compile_settings}
    if _TARGET not in settings:
        return []
    # An argument with the name of an option cannot be changed.
    arguments = argument_settings(capture, derivation)
    return [*settings.values(), *(each for each in arguments if each.name not in settings)]


def _compile_settings(capture: Capture, derivation: Derivation) -> list[Setting]:
    """Return the options, the constexprs and the target."""
    config, target = capture.config, capture.target
    if target is None:
        return []
    nvidia = target.vendor == "nvidia"
    warps = _powers_of_two(_MAX_THREADS // target.warp_size)
    options = [
        _setting("num_stages", config.num_stages),
        _setting("num_warps", config.num_warps, warps),
        *([_setting("num_ctas", config.num_ctas, _powers_of_two(16))] if nvidia else []),
        *([_setting("maxnreg", config.maxnreg)] if nvidia else []),
        *(_setting(name, value) for name, value in _chosen_options(capture).items()),
    ]
    constexprs = [
        replace(_setting(name, value), follows=derivation.expressions.get(name, ""))
        for name, value in config.constexprs.items()
    ]
    target_setting = Setting(
        name=_TARGET, value=target.name, choices=tuple(gpu.name for gpu in gpus.gpus())
    )
    # A constexpr with the name of an option takes precedence.
    named = {each.name: each for each in (*options, *constexprs, target_setting)}
    return list(named.values())


def request_of(capture: Capture, kernel: str, changes: Mapping[str, str]) -> Request:
    """Return the request that compiles a capture again with some changes.

    Args:
        kernel: Its source, see ``source_of``.

    Raises:
        UnknownNameError: The target does not exist.
        CaptureError: The capture's target is unknown, or an option cannot be repeated.
    """
    settings = {setting.name: setting for setting in settings_of(capture, kernel)}
    if _TARGET not in settings:
        raise CaptureError("the target of the capture is unknown")
    chosen = {n: changes.get(n, each.value) for n, each in settings.items() if not each.is_argument}
    # The compiler knows more options than a capture records, and checks their names.
    chosen |= {name: value for name, value in changes.items() if name not in settings}
    gpu = gpus.find(chosen.pop(_TARGET))
    triton = chosen.pop(_TRITON, None)
    values = {name: parse_value(value) for name, value in chosen.items()}
    options = _chosen_options(capture)
    description = find_kernel(kernel).description
    derivation = find_derivation(capture, description)
    arguments = {name for name, each in settings.items() if each.is_argument}
    argument_changes = {name: changes[name] for name in changes if name in arguments}
    args = requested_arguments(capture, derivation, argument_changes)
    machine = {"sm_count": gpu.sm_count} if gpu.sm_count is not None else {}
    args |= _following_blocks(capture, kernel, changes, args)
    values |= derive_constexprs(derivation, description, args, {**values, **machine}, changes)
    if _TRITON in changes or capture.target is None or gpu.arch.vendor != capture.target.vendor:
        # Another compiler has options and defaults of its own.
        values = {n: v for n, v in values.items() if n in changes or n not in options}
    else:
        _require_repeatable(capture, changes)
    constexprs = capture.config.constexprs
    # A program computes its grid from any of these, and a capture may only tell how it follows
    # from the constexprs: sizes and numbers of SMs are numbers there.
    moved = {n for n, value in changes.items() if n not in settings or settings[n].value != value}
    keeps_sizes = moved.isdisjoint((*arguments, _TARGET))
    moves_grid = (_TARGET in moved and _may_follow_machine(capture, gpu)) or _may_move_grid(
        capture.config, kernel, moved.intersection((*constexprs, *arguments))
    )
    grid: tuple[int | str, ...] = () if moves_grid else capture.config.grid or ()
    if (formula := _grid_formula(capture)) and keeps_sizes:
        grid = formula
    # An option that was left to the compiler before is left to it again.
    values = {n: value for n, value in values.items() if value is not None or n in constexprs}
    return Request(
        kernel=kernel,
        target=gpu.target,
        sm_count=gpu.sm_count,
        settings=values,
        args=args,
        grid=() if derivation.grid else grid,
        triton=None if triton == _installed_triton() else triton,
        fixed=tuple(name for name in capture.config.fixed if name not in changes),
        contents={n: each.read() for n, each in capture.contents.items() if n not in changes},
        told={n: each for n, each in capture.config.contents.items() if n not in changes},
    )


def _following_blocks(
    capture: Capture,
    kernel: str,
    changes: Collection[str],
    args: Mapping[str, ConstexprValue],
) -> dict[str, ConstexprValue]:
    """Return descriptors whose blocks are constexprs that change, as the kernel's loads tell.

    Programs make them so: a load of another block than the kernel's tile does not compile.
    """
    constexprs, recorded = capture.config.constexprs, capture.config.args
    # The same for all configurations of a sweep, whose launches are then of one problem.
    function = None if constexprs.keys().isdisjoint(changes) else function_of(find_kernel(kernel))
    found: dict[str, ConstexprValue] = {}
    if function is None:
        return found
    from irlens.compiler.calls.examples import block_extents  # its patterns take milliseconds

    for name, extents in block_extents(function, [*constexprs]).items():
        given = parse_argument(args.get(name, 0), {}, name)
        if isinstance(given, Descriptor) and args[name] == recorded.get(name):
            block = tuple(
                extent if extent is not None and str(constexprs[extent]) == str(number) else number
                for extent, number in zip_longest(extents, given.block)
            )
            if None not in block and not constexprs.keys().isdisjoint(block):
                found[name] = str(Descriptor(given.tensor, block, given.layout))
    return found


def followed_blocks(capture: Capture, request: Request) -> list[str]:
    """Return the descriptors whose blocks follow what a request changes."""
    before = capture.config.args
    described = (name for name, value in request.args.items() if ":block[" in str(value))
    return [name for name in described if request.args[name] != before.get(name)]


def dropped_grid(capture: Capture, request: Request) -> str:
    """Return the grid of a capture as --grid takes it, where its recompilation has none; or "".

    The program may have computed it from what the request changes, so that it is not taken.
    """
    grid = capture.config.grid
    if grid is None or request.grid or find_kernel(request.kernel).description is not None:
        return ""
    return _as_written(grid)


def grid_of_another_gpu(capture: Capture, request: Request) -> str:
    """Return the recorded grid as --grid takes it, where another GPU's request has it; or ""."""
    grid = capture.config.grid
    moved = capture.target is not None and capture.target.arch != request.target.arch
    return _as_written(grid) if moved and grid is not None and request.grid == grid else ""


def _as_written(grid: Sequence[int]) -> str:
    *others, last = grid
    while last == 1 and others:
        *others, last = others
    return ",".join(map(str, (*others, last)))


def covering_grid(manifest: Manifest, request: Request) -> str:
    """Return the grid that covers a launch's tensors, as the kernel tells; "" if it has one."""
    function = None
    if manifest.grid is None and manifest.grid_formula is None and not request.grid:
        function = function_of(find_kernel(request.kernel))
    if function is None:
        return ""
    pointers = Addresses(function, {*manifest.args}, set()).pointers
    tensors = {n: parse_argument(v, {}, n) for n, v in manifest.args.items() if n in pointers}
    dimensions = [
        dict(zip(pointers[name].strides, each.shape, strict=False))
        for name, each in tensors.items()
        if isinstance(each, Tensor)
    ]
    extents = ProgramIds(function, manifest.constexprs).extents(dimensions)
    return ",".join(extents) if all(extents) else ""


def launched_grid(manifest: Manifest, request: Request) -> str:
    """Return the grid that the kernel's file launches it with; "" if the request has one."""
    if manifest.grid is not None or manifest.grid_formula is not None or request.grid:
        return ""
    source = find_kernel(request.kernel)
    function = function_of(source)
    if function is None:
        return ""
    names = [each.arg for each in (*function.args.args, *function.args.kwonlyargs)]
    extents = launch_grid(source.path, source.function, names)
    values = {**manifest.constexprs, **manifest.args}
    try:
        known = evaluate_formula(GridFormula(tuple(extents), values))
    except CaptureError:
        return ""
    return ",".join(extents) if known is not None else ""


def evident_grid(capture: Capture, request: Request) -> str:
    """Return how a capture's grid follows from sizes and constexprs, as its source tells; or ""."""
    config = capture.config
    if config.grid is None:
        return ""
    return ",".join(evident_extents(request.kernel, config.constexprs, config.args, config.grid))


def evident_extents(
    kernel: str,
    constexprs: Mapping[str, ConstexprValue],
    args: Mapping[str, ConstexprValue],
    grid: tuple[int, ...],
) -> list[str]:
    """Return how a grid follows from sizes and constexprs, as the kernel's source tells, if so.

    The source tells what the program IDs number, and not what the program computes: only what
    makes the recorded grid is evident.
    """
    function = function_of(find_kernel(kernel))
    if function is None:
        return []
    told = ProgramIds(function, constexprs).extents([])
    extents = [one or str(number) for one, number in zip_longest(told, grid)]
    try:
        known = evaluate_formula(GridFormula(tuple(extents), {**constexprs, **args}))
    except CaptureError:
        return []
    while extents[-1:] == ["1"]:
        extents.pop()
    return extents if known == grid and any(told) else []


def kept_grid(capture: Capture, request: Request) -> list[str]:
    """Return the names of what changes in spite of which a recorded grid is taken."""
    config = capture.config
    if config.grid is None or request.grid != config.grid:
        return []
    before = {**config.constexprs, **config.args}
    after = {**request.settings, **request.args}
    followed = followed_blocks(capture, request)
    return [n for n, v in before.items() if after.get(n, v) != v and n not in followed]


def _may_move_grid(config: Config, kernel: str, moved: Collection[str]) -> bool:
    """Whether the program may compute another grid after constexprs and arguments have changed."""
    args, extents = config.args, {extent for extent in config.grid or () if extent > 1}
    # A program computes it from a tensor's shape, and it may be an argument that it equals.
    if any(isinstance(args[n], str) or args[n] in extents for n in args.keys() & moved):
        return True
    function = function_of(find_kernel(kernel)) if moved else None
    if function is None:
        return bool(moved)
    return ProgramIds(function, config.constexprs).decide(moved, config.grid or ())


def _may_follow_machine(capture: Capture, gpu: gpus.Gpu) -> bool:
    """Whether the program may compute another grid for another GPU.

    A program that does launches a multiple of the number of SMs, or fewer programs than that where
    there is less work; its kernel asks for their number, or has it as a constexpr.
    """
    grid = capture.config.grid or ()
    count = gpus.find(capture.target.name).sm_count if capture.target is not None else None
    if count is None or gpu.sm_count is None or "ttir" not in capture.stages:
        return True
    programs = math.prod(grid)
    return (
        any(number % count == 0 for number in (programs, *grid))
        or gpu.sm_count < programs < count
        or (programs > 1 and programs in capture.config.constexprs.values())
        or "tt.get_num_programs" in capture.stages["ttir"].text()
    )


def _grid_formula(capture: Capture) -> tuple[int | str, ...]:
    """Return how a grid follows from constexprs and arguments, as recorded or as --grid wrote it.

    Empty if unknown.
    """
    formula = capture.manifest.grid_formula if capture.manifest is not None else None
    if formula is None or capture.config.grid is None:
        return ()
    try:  # a manifest may say anything
        names = {**capture.config.args, **capture.config.constexprs}
        known = evaluate_formula(replace(formula, names=names))
    except CaptureError:
        return ()
    return formula.extents if known == capture.config.grid else ()


def _triton_setting(capture: Capture) -> list[Setting]:
    """Return the choice between the capture's Triton and the installed one, if they differ."""
    version = capture.manifest.triton_version if capture.manifest is not None else None
    installed = _installed_triton()
    if version is None or version == installed:
        return []
    choices = tuple(filter(None, (version, installed)))
    return [Setting(name=_TRITON, value=version, choices=choices)]


def _installed_triton() -> str | None:
    try:
        return triton_version()
    except CaptureError:
        return None


def _chosen_options(capture: Capture) -> dict[str, ConstexprValue]:
    """Return the options of a capture that differ from the default and can be repeated."""
    return {n: value for n, value in _options(capture).items() if _is_repeatable(capture, n, value)}


def _require_repeatable(capture: Capture, changes: Mapping[str, str]) -> None:
    """Raise ``CaptureError`` for an option that is neither repeated nor chosen anew."""
    for name, value in _options(capture).items():
        if name not in changes and not _is_repeatable(capture, name, value):
            raise CaptureError(
                f"the capture was compiled with {name}={value}, which irlens does not take from it",
                hint=f"set it again: --set {name}=VALUE",
            )


def _options(capture: Capture) -> dict[str, ConstexprValue]:
    """Return the options of a capture without environment variables, which are not options."""
    options = capture.config.options or {}
    return {name: value for name, value in options.items() if not name.isupper()}


def _is_repeatable(capture: Capture, name: str, value: ConstexprValue) -> bool:
    """Whether an option may be taken from a capture.

    A text may name a file, or tell a tool which one to write: such an option is taken only from a
    capture of this user, and only if the compiler takes it as text.
    """
    if not isinstance(value, str) or name in _SAFE_TEXT:
        return True
    source = capture.source
    own = source is not None and is_own(source, capture.kernel)
    return own and name == "ptx_options"


def _setting(name: str, value: ConstexprValue, choices: Sequence[str] = ()) -> Setting:
    if isinstance(value, bool):
        choices = ("false", "true")
    return Setting(name=name, value=format_value(value), choices=tuple(choices))


def _powers_of_two(largest: int) -> list[str]:
    return [str(1 << power) for power in range(largest.bit_length())]


def recompilations(
    captures: Sequence[Capture], configurations: Configurations
) -> Iterator[tuple[Capture, Request]]:
    """Yield a request for each capture and each selected configuration, with the capture.

    Captures that differ in nothing but what the options change are requested once.

    Raises:
        CaptureError: The source of a capture is unknown or gone.
    """
    known: set[bytes] = set()
    for capture in captures:
        kernel = source_of(capture, None)
        if kernel is None:
            raise unknown_source(capture)
        for triton in configurations.tritons or (None,):
            for target, settings, args in configurations.as_written():
                compiler = {_TARGET: target, _TRITON: triton}
                changes = {name: value for name, value in compiler.items() if value is not None}
                request = request_of(capture, kernel, {**settings, **args, **changes})
                require_extents(capture.config.args, request.args)
                grid = configurations.grid or request.grid
                request = replace(request, grid=grid, run=configurations.run or False)
                if (encoded := msgspec.json.encode(request)) not in known:
                    known.add(encoded)
                    yield capture, request
