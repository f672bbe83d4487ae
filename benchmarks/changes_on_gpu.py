"""Whether the changes that explain findings take the time on an H200 that irlens says.

    python benchmarks/changes_on_gpu.py compile FOLDER
    python benchmarks/changes_on_gpu.py time FOLDER

``compile`` needs no GPU: it explains the findings of ``tests/session/test_why.py`` for an H200, and
writes the binary before each change that removes one, that after it, and what irlens says that
both take to FOLDER. ``time`` needs an H200 and PyTorch, and no part of irlens: it launches both
binaries with the same tensors, prints what they took beside what was said, and writes
``times.json``.

Tensors of floating-point numbers are random, those of integers zero. A pair runs in a process of
its own, since a change may claim what is not true of the arguments, such as an alignment.
"""

import ctypes
import json
import multiprocessing
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_PARAMETER = re.compile(r"\.param \.(?:align \d+ )?\.?(\w+)")
_TENSOR = re.compile(r"\*?(\w+)\[([\d, ]*)\]")
#: Types of parameters that are passed as they are; a descriptor has 128 bytes.
_PASSED = {"u64", "u32", "u16", "u8", "f32", "f64", "b64", "b32", "b16", "s64", "s32"}
#: Elements beyond a tensor's end that a masked vector may touch.
_MARGIN = 4096
#: Bytes of shared memory that every launch may have; this attribute of a function allows more.
_ANY, _MOST_DYNAMIC_SHARED = 48 << 10, 8


def explain(folder: Path) -> None:
    """Write the binaries of all changes, with what irlens says of them."""
    folder.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(ROOT))
    from irlens.model.errors import IrlensError
    from irlens.session import why
    from irlens.session.session import Session
    from tests.session.test_why import LIKELY, TABLE, _configurations

    tried: list[tuple[Any, Any, Any]] = []
    original = why._Laboratory._try

    def _try(laboratory: Any, finding: Any, change: Any, *, passes: bool) -> Any:
        found = original(laboratory, finding, change, passes=passes)
        if found is not None and found.gone:
            tried.append((laboratory._capture, laboratory._recompile(change), found))
        return found

    why._Laboratory._try = _try  # type: ignore[assignment,method-assign]
    pairs: list[dict[str, Any]] = []
    seen = set()
    for kernel, target, settings, args, code, *_ in (*TABLE, *LIKELY):
        row = kernel, tuple(settings.items()), tuple(args.items()), code
        if target.startswith("gfx") or row in seen:
            continue
        seen.add(row)
        tried.clear()
        try:
            why.why(kernel, _configurations("h200", settings, args), Session(), (code,))
        except IrlensError:
            continue  # it has no such finding on an H200
        for before, after, change in tried:
            pairs.append({
                "kernel": kernel.rpartition("/")[2], "settings": settings, "args": args,
                "code": code, "change": change.change,
                "said": [change.before_us, change.after_us],
                "binaries": [_written(folder, before), _written(folder, after)],
            })  # fmt: skip
        (folder / "pairs.json").write_text(json.dumps(pairs, indent=1))


def _written(folder: Path, capture: Any) -> dict[str, Any]:
    from irlens.report.inspection import Inspection

    ptx = capture.stages["ptx"].text()
    entry = re.search(r"\.entry (\S+?)\((.*?)\)", ptx, re.DOTALL)
    threads = re.search(r"\.(?:reqntid|maxntid) (\d+)", ptx)
    assert entry is not None
    assert threads is not None
    name = f"{capture.stages['cubin'].sha256[:16]}.cubin"
    (folder / name).write_bytes(capture.stages["cubin"].read())
    return {
        "file": name, "entry": entry[1], "parameters": _PARAMETER.findall(entry[2]),
        "threads": int(threads[1]), "args": capture.manifest.args,
        "grid": Inspection(capture)._capture.config.grid, "shared": capture.metadata.shared,
        "ctas": capture.metadata.num_ctas, "scratch": capture.metadata.global_scratch_size or 0,
    }  # fmt: skip


def measure(folder: Path) -> None:
    """Print and write what the binaries of all changes take."""
    import triton.testing  # noqa: F401  # once, with PyTorch, and not in each process

    fork = multiprocessing.get_context("fork")
    measured = []
    for pair in json.loads((folder / "pairs.json").read_text()):
        answers = fork.SimpleQueue()
        process = fork.Process(target=_time, args=(folder, pair["binaries"], answers))
        process.start()
        process.join(25)
        process.kill()
        took = "no answer" if answers.empty() else answers.get()
        measured.append({**pair, "took": took})
        print(pair["kernel"], pair["code"], pair["change"], pair["said"], took, flush=True)
        (folder / "times.json").write_text(json.dumps(measured, indent=1))


def _time(folder: Path, binaries: list[dict[str, Any]], answers: Any) -> None:
    try:
        import torch
        from triton.testing import do_bench

        torch.manual_seed(0)
        tensors: dict[tuple[str, str], Any] = {}
        launches = [_prepared(folder, each, tensors) for each in binaries]
        for launch in launches:
            launch()
            torch.cuda.synchronize()
        times = [
            [do_bench(each, warmup=10, rep=60, return_mode="median") * 1e3 for each in launches]
            for _ in range(2)
        ]
        answers.put([min(each) for each in zip(*times, strict=True)])
    except Exception as error:  # any that the driver reports
        answers.put(repr(error).splitlines()[0])


def _prepared(
    folder: Path, binary: dict[str, Any], tensors: dict[tuple[str, str], Any]
) -> Callable[[], None]:
    """Return what launches a binary."""
    import torch

    if (binary["ctas"] or 1) > 1:
        raise RuntimeError("clusters are not launched")
    torch.zeros(1, device="cuda")  # makes a context
    cuda = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    _check(cuda.cuModuleLoadData(ctypes.byref(module), (folder / binary["file"]).read_bytes()))
    _check(cuda.cuModuleGetFunction(ctypes.byref(function), module, binary["entry"].encode()))
    if binary["shared"] > _ANY:
        _check(cuda.cuFuncSetAttribute(function, _MOST_DYNAMIC_SHARED, binary["shared"]))
    x, y, z = binary["grid"]
    # Triton compiles for a 1 and passes none; after the arguments it passes scratch memory.
    passed = {
        name: value
        for name, value in binary["args"].items()
        if not (type(value) is int and value == 1)
    }
    scratches = len(binary["parameters"]) - len(passed)
    if scratches not in (1, 2) or not {*binary["parameters"]} <= _PASSED:
        raise RuntimeError(f"{binary['parameters']} are not the arguments {[*passed]}")
    scratch = torch.empty(binary["scratch"] * x * y * z + 256, dtype=torch.uint8, device="cuda")
    tensors[binary["file"], ""] = scratch
    values: list[Any] = []
    for (name, value), kind in zip(passed.items(), binary["parameters"][:-scratches], strict=True):
        if isinstance(value, str):
            if (name, value) not in tensors:
                tensors[name, value] = _tensor(value)
            values.append(ctypes.c_uint64(tensors[name, value].data_ptr()))
        elif isinstance(value, float):
            values.append(ctypes.c_double(value) if kind == "f64" else ctypes.c_float(value))
        else:
            values.append(ctypes.c_int64(value) if "64" in kind else ctypes.c_int32(value))
    values += [ctypes.c_uint64(scratch.data_ptr()), ctypes.c_uint64(0)][:scratches]
    pointers = [ctypes.cast(ctypes.byref(each), ctypes.c_void_p) for each in values]
    given = (ctypes.c_void_p * len(values))(*pointers)

    def launch() -> None:
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        size = x, y, z, binary["threads"], 1, 1, binary["shared"]
        _check(cuda.cuLaunchKernel(function, *size, stream, given, None))

    launch.kept = values  # type: ignore[attr-defined]  # for as long as the launch
    return launch


def _tensor(described: str) -> Any:
    import torch

    matched = _TENSOR.match(described)
    assert matched is not None
    types = {
        "fp8e4nv": torch.float8_e4m3fn, "fp8e5": torch.float8_e5m2, "fp16": torch.float16,
        "bf16": torch.bfloat16, "fp32": torch.float32, "fp64": torch.float64,
    }  # fmt: skip
    elements = _MARGIN
    sizes = [int(size) for size in matched[2].split(",") if size.strip()]
    elements += int(torch.tensor(sizes).prod()) if sizes else 1
    if matched[1] in types:
        return torch.randn(elements, device="cuda").to(types[matched[1]])
    integers = {"32": torch.int32, "64": torch.int64, "16": torch.int16}
    kind = integers.get(re.sub(r"\D", "", matched[1]), torch.int8)
    return torch.zeros(elements, dtype=kind, device="cuda")


def _check(result: int) -> None:
    if result:
        raise RuntimeError(f"the driver answers with error {result}")


if __name__ == "__main__":
    {"compile": explain, "time": measure}[sys.argv[1]](Path(sys.argv[2]))
