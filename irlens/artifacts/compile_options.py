"""The compile options in Triton's metadata that differ from the compiler's defaults.

Triton writes every option into ``NAME.json``, with the environment variables that it knows to
change its output, but not which of them somebody chose. irlens asks the compiler for its defaults
when it makes a capture; a bare cache entry is compared with the releases' defaults, noted here.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path, PurePath

from irlens.model.config import LAUNCH_OPTIONS, ConstexprValue

#: Releases of which the defaults below were taken from the backends' option classes.
_OLDEST, _NEWEST = (3, 2), (3, 9)
#: Options that have a field of their own in a configuration, or follow from it or the target.
_ELSEWHERE = frozenset(
    {*LAUNCH_OPTIONS, "warp_size", "arch", "base_arch", "backend_name", "cluster_dims"}
)
_DEFAULTS: Mapping[str, object] = {
    "allow_flush_denorm": False,
    "clc": False,
    "debug": False,
    "enable_fp_fusion": True,
    "enable_reflect_ftz": True,
    "fpsan_homomorphic_casts": False,
    "instrumentation_mode": "",
    "ir_override": None,
    "kpack": 1,
    "launch_cooperative_grid": False,
    "launch_pdl": False,
    "llvm_fn_attrs": [],
    "matrix_instr_nonkdim": 0,
    "min_shared_mem": None,
    "num_buffers_warp_spec": 0,
    "num_consumer_groups": 0,
    "ptx_options": None,
    "ptx_version": None,
    "reg_dec_producer": 0,
    "reg_inc_consumer": 0,
    "sanitize_overflow": True,
    "sched4reg": False,
    "wgp_cu_mode": "wgp",
}
#: Pattern of the environment variables that Triton, LLVM or MLIR read while compiling. Not compiled
#: here: reading a capture needs none of these patterns, and all of them take a millisecond.
_VARIABLE = r"(TRITON|MLIR|LLVM|NVPTX|AMDGCN|DISABLE|ENABLE|ALLOW|PTXAS)_\w+|USE_IR_LOC"
#: Those of them that only affect caches, printing and other tools, or that a capture overrides.
_NO_EFFECT = (
    r"TRITON_(HOME|\w*_DIR|KERNEL_(DUMP|OVERRIDE)|ALWAYS_COMPILE|STORE_BINARY_ONLY|INTERPRET"
    r"|OVERRIDE_ARCH|CACHE_\w+|REMOTE_CACHE_BACKEND|REDIS_\w+|PRINT_AUTOTUNING|DEFAULT_BACKEND"
    r"|BACKENDS_IN_TREE"
    r"|(NVDISASM|CUOBJDUMP|CUPTI\w*|CUDART|CUDACRT|LIBCUDA|LIBHIP)_PATH|PROTON_\w+|DUMP_\w+"
    r"|PARTITION_SCHEDULING_\w*DUMP\w*|ENABLE_NVTX)"
    r"|\w+_ENABLE_(DUMP|TIMING|DIAGNOSTICS)|MLIR_(DISABLE_MULTITHREADING|DUMP_PATH)"
)
#: Variables that change the output although Triton's metadata leaves them out. Others of the same
#: prefixes may belong to any program: they are in the store's keys and not in a configuration.
_LEFT_OUT = (
    r"PTXAS_OPTIONS|AMDGCN_(ANALYZE_SMALL_TENSOR_RANGE|SCALARIZE_PACKED_FOPS)"
    r"|TRITON_(PTXAS(_BLACKWELL)?_PATH|LIBDEVICE_PATH|AMD_CODEGEN_PATH|MOCK_PTX_VERSION|SWAP_MIR\w*)"
)
_MAX_LENGTH = 200  # characters of a value
_DIGEST_LENGTH = 8  # hex digits that tell versions of a file apart


def changed_options(
    metadata: Mapping[str, object],
    defaults: Mapping[str, object],
    digest: Callable[[str], str] = lambda _: "",
) -> dict[str, ConstexprValue]:
    """Return compile options with other than default values, and set environment variables.

    Args:
        metadata: Triton's metadata; of a name that is neither an option nor a variable, nothing is
            returned.
        digest: Returns the digest of a file that an option names, where it is the one that was
            compiled with: it becomes part of the value, "b.ptx@3fdba35f"; empty for none.
    """
    return {
        name: _text(name, value, digest)
        for name, value in metadata.items()
        if name not in _ELSEWHERE
        and (
            value != defaults[name] and _plain(name, value) != _plain(name, defaults[name])
            if name in defaults
            else changes_output(name)
        )
    }


@lru_cache(maxsize=64)
def release_defaults(version: str | None, backend: str, arch: int | str) -> Mapping[str, object]:
    """Return the defaults of a release of Triton; of the nearest one if it is not known.

    The options that irlens cannot derive, such as the dtypes that a target supports, are left out.

    Args:
        backend: "cuda" or "hip".
        arch: 90, or "gfx942".
    """
    release = _release(version) or _OLDEST
    amd = backend == "hip"
    return {
        **_DEFAULTS,
        "default_dot_input_precision": "ieee" if amd else "tf32",
        "extern_libs": [["ocml", "ocml.bc"], ["ockl", "ockl.bc"]]
        if amd
        else [["libdevice", "libdevice.10.bc"]],
        "instruction_sched_variant": "default" if release < (3, 3) else "none",
        "max_num_imprecise_acc_default": 0 if amd or arch != _HOPPER else 1 << 30,
        "schedule_hint": "none" if release < (3, 8) else "",
        "waves_per_eu": 1 if release < (3, 6) else 0,
    }


_HOPPER = 90


def is_known_release(version: str | None) -> bool:
    """Whether ``release_defaults`` has the defaults of a version."""
    release = _release(version)
    return release is not None and _OLDEST <= release <= _NEWEST


@lru_cache(maxsize=1024)  # the metadata of a cache's entries have the same names
def changes_output(variable: str) -> bool:
    """Whether an environment variable of this name may change the compiler's output."""
    return bool(re.fullmatch(_VARIABLE, variable)) and not re.fullmatch(_NO_EFFECT, variable)


def left_out_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that change the output and that Triton's metadata leaves out."""
    return {n: value for n, value in sorted(environment.items()) if re.fullmatch(_LEFT_OUT, n)}


def named_files(values: Iterable[object]) -> dict[str, str]:
    """Return the SHA-256 of every file that options or variables name, by absolute path."""
    texts = (value for value in values if isinstance(value, str))
    words = {word for text in texts for word in (text, *re.split(r"[\s,=]+", text)) if word}
    files: dict[str, str] = {}
    for word in sorted(words):
        try:
            path = Path(word)
            if path.is_file():
                files[str(path.absolute())] = hashlib.sha256(path.read_bytes()).hexdigest()
        except (OSError, ValueError):  # too long for a name, a null byte, not readable
            continue
    return files


def _release(version: str | None) -> tuple[int, int] | None:
    numbers = re.match(r"(\d{1,4})\.(\d{1,4})", version or "")
    return (int(numbers[1]), int(numbers[2])) if numbers else None


def _plain(name: str, value: object) -> object:
    """Return a value as JSON has it; of libraries, the names of their files."""
    if isinstance(value, Mapping):
        value = list(value.items())
    if not isinstance(value, list | tuple):
        return value
    if name == "extern_libs":
        return [
            [str(library[0]), PurePath(str(library[-1])).name]
            if isinstance(library, list | tuple) and library
            else str(library)
            for library in value
        ]
    return [_plain("", each) for each in value]


def digest_now(path: str) -> str:
    """Return the digest of a file as it is now; empty if it cannot be read."""
    return named_files([path]).get(str(Path(path).absolute()), "")


def _text(name: str, value: object, digest: Callable[[str], str]) -> ConstexprValue:
    """Return a value as configurations hold it: a scalar, or a text without absolute paths."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        file = digest(value)
        is_path = file or name == "ir_override" or name.endswith("_PATH")
        text = PurePath(value).name if is_path else value
        text += f"@{file[:_DIGEST_LENGTH]}" if file else ""
    else:
        items = _plain(name, value)
        parts = items if isinstance(items, list) else [items]
        text = ", ".join(
            "=".join(map(str, part)) if isinstance(part, list) else str(part) for part in parts
        )
    return text if len(text) <= _MAX_LENGTH else text[:_MAX_LENGTH] + "…"
