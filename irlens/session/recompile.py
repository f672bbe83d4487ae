"""From a capture back to a request: the settings that can be changed, and how to recompile it.

The request repeats everything that the capture records about its compilation, so that a difference
between the two captures comes from the changed settings alone.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from irlens import gpus
from irlens.compiler import Request, find_kernel, known_files, parse_value
from irlens.compiler.calls.argument_values import format_value
from irlens.compiler.toolchains.versions import triton_version
from irlens.model.capture import Capture
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError, UnknownNameError
from irlens.session.arguments import (
    Derivation,
    argument_settings,
    derive_constexprs,
    find_derivation,
    requested_arguments,
)
from irlens.session.workbench import Setting

_MAX_THREADS = 1024
_TRITON, _TARGET = "triton", "target"
#: Compile options that a capture's metadata records and irlens's manifest does not. The other
#: options in it follow from the target, or do not affect the code.
_METADATA_OPTIONS = (
    "enable_fp_fusion", "enable_reflect_ftz", "ptx_options", "sanitize_overflow", "launch_pdl",
    "max_num_imprecise_acc_default", "instrumentation_mode", "waves_per_eu", "kpack",
    "matrix_instr_nonkdim", "schedule_hint", "allow_flush_denorm",
)  # fmt: skip


def source_of(capture: Capture, named: str | None) -> str | None:
    """Return the kernel that a capture was compiled from, as the command line names it.

    A capture is untrusted data: the file that it names is looked up only among the kernels that
    irlens already knows.

    Args:
        capture: The capture.
        named: What the user named, if the capture was compiled from that.

    Returns:
        ``None`` if unknown.

    Raises:
        CaptureError: The file is gone, or no longer has the kernel.
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
    """Return the error that says how to name a capture's source."""
    named = capture.manifest.file if capture.manifest is not None else None
    file = named or next(iter(capture.python_files), None)
    return CaptureError(
        "the kernel's source is unknown" + (f": irlens cannot locate {file}" if file else ""),
        hint=f"open it as irlens tui {f'FOLDER/{file}' if file else 'FILE.py'}:{capture.kernel}",
    )


def settings_of(capture: Capture, kernel: str) -> list[Setting]:
    """Return the settings that can be changed; empty if the target is unknown.

    Args:
        capture: The capture.
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
    ]
    constexprs = [
        replace(
            _setting(name, value, ("false", "true") if isinstance(value, bool) else ()),
            follows=derivation.expressions.get(name, ""),
        )
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
        capture: The capture.
        kernel: Its source, see ``source_of``.
        changes: Settings by name, as written.

    Raises:
        UnknownNameError: A setting or the target does not exist.
        CaptureError: The capture's target is unknown.
    """
    settings = {setting.name: setting for setting in settings_of(capture, kernel)}
    for name in changes:
        if name not in settings:
            raise UnknownNameError("setting", name, settings)
    if _TARGET not in settings:
        raise CaptureError("the target of the capture is unknown")
    chosen = {n: changes.get(n, each.value) for n, each in settings.items() if not each.is_argument}
    gpu = gpus.find(chosen.pop(_TARGET))
    triton = chosen.pop(_TRITON, None)
    values = {name: parse_value(value) for name, value in chosen.items()}
    description = find_kernel(kernel).description
    derivation = find_derivation(capture, description)
    argument_changes = {name: changes[name] for name in changes if settings[name].is_argument}
    args = requested_arguments(capture, derivation, argument_changes)
    machine = {"sm_count": gpu.sm_count} if gpu.sm_count is not None else {}
    values |= derive_constexprs(derivation, description, args, {**values, **machine}, changes)
    same_compiler = changes.keys().isdisjoint((_TARGET, _TRITON))
    # An option that was left to the compiler before is left to it again.
    constexprs = capture.config.constexprs
    values = {n: value for n, value in values.items() if value is not None or n in constexprs}
    return Request(
        kernel=kernel,
        target=gpu.target,
        sm_count=gpu.sm_count,
        settings={**(_metadata_options(capture) if same_compiler else {}), **values},
        args=args,
        # A grid of unknown origin stays as it was.
        grid=() if derivation.grid else capture.config.grid or (),
        triton=None if triton == _installed_triton() else triton,
    )


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


def _metadata_options(capture: Capture) -> dict[str, ConstexprValue]:
    path = capture.metadata_path
    try:
        metadata = msgspec.json.decode(path.read_bytes(), type=dict[str, object]) if path else {}
    except (OSError, msgspec.DecodeError):
        return {}
    options = {name: metadata.get(name) for name in _METADATA_OPTIONS}
    return {name: value for name, value in options.items() if isinstance(value, bool | int | str)}


def _setting(name: str, value: ConstexprValue, choices: Sequence[str] = ()) -> Setting:
    return Setting(name=name, value=format_value(value), choices=tuple(choices))


def _powers_of_two(largest: int) -> list[str]:
    return [str(1 << power) for power in range(largest.bit_length())]
