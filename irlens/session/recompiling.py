"""From a capture back to what asks for it: the settings that can be chosen anew, and a request.

Everything that the capture tells of its making is asked for again, so that what moves between the
two captures comes from what was chosen.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from irlens import gpus as arch
from irlens.compiler import Request, find_kernel, known_files, parse_value
from irlens.compiler.request import triton_version
from irlens.compiler.values import written
from irlens.model.capture import Capture
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError, UnknownNameError
from irlens.session.arguments import Recipe, argument_settings, arguments_of, following, recipe_of
from irlens.session.workbench import Setting

_MOST_THREADS = 1024
_TRITON, _TARGET = "triton", "target"
#: Compile options that a capture's metadata tells and irlens's own record does not. What else is
#: there follows from the target, or changes nothing of the code.
_KEPT_OPTIONS = (
    "enable_fp_fusion", "enable_reflect_ftz", "ptx_options", "sanitize_overflow", "launch_pdl",
    "max_num_imprecise_acc_default", "instrumentation_mode", "waves_per_eu", "kpack",
    "matrix_instr_nonkdim", "schedule_hint", "allow_flush_denorm",
)  # fmt: skip


def source_of(capture: Capture, named: str | None) -> str | None:
    """Return which kernel a capture was made of, as the command line names it.

    A capture is data that may come from anywhere: the file that it names is found only among
    those that irlens has been told of.

    Args:
        capture: The capture.
        named: What the user named, if the capture was made of that.

    Returns:
        ``None`` where that is not known.

    Raises:
        CaptureError: The file is gone, or does not have the kernel any more.
    """
    if named is not None:
        find_kernel(named)
        return named
    if capture.manifest is None:
        return None
    for path in known_files().values():
        if path.name == capture.manifest.file:
            kernel = f"{path}:{capture.kernel}"
            find_kernel(kernel)
            return kernel
    return None


def unknown_source(capture: Capture) -> CaptureError:
    """Return what tells that a capture's source is not known, and what it is called."""
    named = capture.manifest.file if capture.manifest is not None else None
    file = named or next(iter(capture.python_files), None)
    return CaptureError(
        "the kernel's source is not known" + (f": where {file} lies" if file else ""),
        hint=f"open it as irlens tui {f'FOLDER/{file}' if file else 'FILE.py'}:{capture.kernel}",
    )


def settings_of(capture: Capture, kernel: str) -> list[Setting]:
    """Return what can be chosen anew, with what was chosen; empty where the target is unknown.

    Args:
        capture: The capture.
        kernel: Its source, see ``source_of``.
    """
    recipe = recipe_of(capture, find_kernel(kernel).description)
    chosen = {each.name: each for each in (*_compile_settings(capture, recipe), *_tritons(capture))}
    if _TARGET not in chosen:
        return []
    # An argument that is called like an option stays as it was.
    arguments = argument_settings(capture, recipe)
    return [*chosen.values(), *(each for each in arguments if each.name not in chosen)]


def _compile_settings(capture: Capture, recipe: Recipe) -> list[Setting]:
    """Return the options, the constexprs and the target."""
    config, target = capture.config, capture.target
    if target is None:
        return []
    nvidia = target.vendor == "nvidia"
    warps = _powers(_MOST_THREADS // target.warp_size)
    options = [
        _setting("num_stages", config.num_stages),
        _setting("num_warps", config.num_warps, warps),
        *([_setting("num_ctas", config.num_ctas, _powers(16))] if nvidia else []),
        *([_setting("maxnreg", config.maxnreg)] if nvidia else []),
    ]
    constexprs = [
        replace(
            _setting(name, value, ("false", "true") if isinstance(value, bool) else ()),
            follows=recipe.follows.get(name, ""),
        )
        for name, value in config.constexprs.items()
    ]
    gpus = tuple(gpu.name for gpu in arch.gpus())
    target_setting = Setting(name=_TARGET, value=target.name, choices=gpus)
    # A constexpr may be called like an option; then it is what decides.
    named = {each.name: each for each in (*options, *constexprs, target_setting)}
    return list(named.values())


def request_of(capture: Capture, kernel: str, changes: Mapping[str, str]) -> Request:
    """Return what asks for the same capture but for some changes.

    Args:
        capture: The capture.
        kernel: Its source, see ``source_of``.
        changes: Settings by name, as written.

    Raises:
        UnknownNameError: There is no such setting or target.
        CaptureError: What it was compiled for is not known.
    """
    offered = {setting.name: setting for setting in settings_of(capture, kernel)}
    for name in changes:
        if name not in offered:
            raise UnknownNameError("setting", name, offered)
    if _TARGET not in offered:
        raise CaptureError("what it was compiled for is not known")
    chosen = {
        name: changes.get(name, setting.value)
        for name, setting in offered.items()
        if not setting.is_argument
    }
    gpu = arch.find(chosen.pop(_TARGET))
    triton = chosen.pop(_TRITON, None)
    values = {name: parse_value(value) for name, value in chosen.items()}
    same_compiler = changes.keys().isdisjoint((_TARGET, _TRITON))
    description = find_kernel(kernel).description
    recipe = recipe_of(capture, description)
    others = {name: changes[name] for name in changes if offered[name].is_argument}
    args = arguments_of(capture, recipe, others)
    machine = {"sm_count": gpu.sm_count} if gpu.sm_count is not None else {}
    values |= following(recipe, description, args, {**values, **machine}, changes)
    return Request(
        kernel=kernel,
        target=gpu.target,
        sm_count=gpu.sm_count,
        settings={
            **(_kept_options(capture) if same_compiler else {}),
            # What was not chosen then is not chosen now.
            **{n: v for n, v in values.items() if v is not None or n in capture.config.constexprs},
        },
        args=args,
        # Where it is not known how the grid came about, it stays as it was.
        grid=() if recipe.grid else capture.config.grid or (),
        triton=None if triton == _installed() else triton,
    )


def _tritons(capture: Capture) -> list[Setting]:
    """Return which Triton compiles: the one that did, or the one that is here."""
    made_by = capture.manifest.triton_version if capture.manifest is not None else None
    here = _installed()
    if made_by is None or made_by == here:
        return []
    return [Setting(name=_TRITON, value=made_by, choices=tuple(filter(None, (made_by, here))))]


def _installed() -> str | None:
    try:
        return triton_version()
    except CaptureError:
        return None


def _kept_options(capture: Capture) -> dict[str, ConstexprValue]:
    path = capture.metadata_path
    try:
        told = msgspec.json.decode(path.read_bytes(), type=dict[str, object]) if path else {}
    except (OSError, msgspec.DecodeError):
        return {}
    kept = {name: told.get(name) for name in _KEPT_OPTIONS}
    return {name: value for name, value in kept.items() if isinstance(value, bool | int | str)}


def _setting(name: str, value: ConstexprValue, choices: Sequence[str] = ()) -> Setting:
    return Setting(name=name, value=written(value), choices=tuple(choices))


def _powers(most: int) -> list[str]:
    return [str(1 << power) for power in range(most.bit_length())]
