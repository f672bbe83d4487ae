"""Launches on a fake GPU: Triton's real code on a fake driver.

The fake launcher computes the sum on the CPU, correctly or not.
"""

import gc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from irlens.compiler import Request, capture, launching, reference
from irlens.compiler.compile_request import measure
from irlens.compiler.local_gpu import FunctionFacts
from irlens.compiler.triton_compat import execution
from irlens.model.capture import Timing
from irlens.model.config import Target
from irlens.model.errors import CaptureError

torch = pytest.importorskip("torch", reason="launching is PyTorch's")

SMALL = {"n_elements": 3000}


class Launcher:
    """Adds like vector_add; adds ``spoil`` to the last element, raises ``refusal``."""

    spoil = 0.0
    refusal: Exception | None = None
    grids: list[tuple[int, int, int]]

    def __init__(self, src: object, metadata: object) -> None:
        pass

    def __call__(self, x: int, y: int, z: int, *rest: Any) -> None:
        if Launcher.refusal is not None:
            raise Launcher.refusal
        Launcher.grids.append((x, y, z))
        a, b, out, _, _ = rest[-5:]
        torch.add(a, b, out=out)
        out[-1] += Launcher.spoil


@pytest.fixture
def fake_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase

    device = SimpleNamespace(name="Fake", multi_processor_count=3, major=9, minor=0)

    class Driver(DriverBase):  # type: ignore[misc]  # mypy does not follow triton's imports
        launcher_cls = Launcher
        utils = SimpleNamespace(
            get_device_properties=lambda index: {"max_shared_mem": 232_448},
            load_binary=lambda name, kernel, shared, index: (1, 2, 33, 0, 1024),
            unload_module=lambda module: None,
        )

        @classmethod
        def is_active(cls) -> bool:
            return True

        def get_current_target(self) -> GPUTarget:
            return GPUTarget("cuda", 90, 32)

        def get_current_device(self) -> int:
            return 0

        def get_current_stream(self, index: int) -> int:
            return 0

        map_python_to_cpp_type = get_active_torch_device = get_benchmarker = get_current_device

    monkeypatch.setattr(triton.runtime.driver, "_active", Driver())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: device)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.version, "hip", None)

    def on_cpu(description: Any, module: Any, _: str) -> reference.Reference:
        return reference.Reference(description, module, "cpu")

    def facts(handle: int, threads: int, shared: int) -> FunctionFacts:
        assert (handle, threads, shared) == (2, 128, 0)
        return FunctionFacts(33, 8, 16)

    monkeypatch.setattr(launching, "Reference", on_cpu)
    monkeypatch.setattr(launching, "nvidia_function", facts)
    monkeypatch.setattr(execution, "do_bench", lambda call, quantiles: [9.0 + e for e in quantiles])
    monkeypatch.setattr(Launcher, "spoil", 0.0)
    monkeypatch.setattr(Launcher, "grids", [], raising=False)
    yield device
    gc.collect()  # the driver that loaded the kernels must unload them


@pytest.fixture
def request_to_run(sm_90: Target) -> Request:
    return Request(kernel="vector_add", target=sm_90, args={**SMALL}, run=True)


def test_a_launch_with_correct_outputs(fake_gpu: SimpleNamespace, request_to_run: Request) -> None:
    (found,) = capture(request_to_run)
    assert found.manifest is not None
    run = found.manifest.run
    assert run is not None
    assert (run.device, run.matches_reference, run.max_abs_error) == ("Fake", True, 0.0)
    assert (run.registers, run.local_bytes, run.blocks_per_sm) == (33, 8, 16)
    assert run.timing == Timing(median_ms=9.5, fast_ms=9.2, slow_ms=9.8)
    assert Launcher.grids == [(3, 1, 1)]
    assert found.config.grid == (3, 1, 1)
    assert list(found.stages) == ["source", "ttir", "ttgir", "llir", "ptx", "cubin"]


@pytest.mark.parametrize(("spoil", "error"), [(0.5, 0.5), (float("nan"), None)])
def test_a_launch_with_wrong_outputs(
    spoil: float,
    error: float | None,
    fake_gpu: SimpleNamespace,
    request_to_run: Request,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Launcher, "spoil", spoil)
    (found,) = capture(request_to_run)
    assert found.manifest is not None
    assert found.manifest.run is not None
    assert found.manifest.run.matches_reference is False
    assert found.manifest.run.max_abs_error == (pytest.approx(error) if error else None)
    assert found.manifest.run.timing is None, "what is wrong has no time"


def test_a_launch_that_cannot_be_timed_is_kept(
    fake_gpu: SimpleNamespace, request_to_run: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Timing needs memory of its own, to empty the L2."""

    def full(call: object, quantiles: list[float]) -> list[float]:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(execution, "do_bench", full)
    (found,) = capture(request_to_run)
    assert found.manifest is not None
    assert found.manifest.run is not None
    assert (found.manifest.run.matches_reference, found.manifest.run.timing) == (True, None)


@pytest.fixture
def benched(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Results of what is timed, one for each call; every launch takes a millisecond."""
    results: list[object] = []

    def do_bench(call: Any, quantiles: list[float]) -> list[float]:
        results.append(call())
        return [1.0 + quantile for quantile in quantiles]

    monkeypatch.setattr(execution, "do_bench", do_bench)
    return results


def test_times_against_the_reference(
    fake_gpu: SimpleNamespace, request_to_run: Request, benched: list[object]
) -> None:
    measured = measure(request_to_run, ("eager", "naive"))
    assert measured.timing == Timing(median_ms=1.5, fast_ms=1.2, slow_ms=1.8)
    assert measured.max_abs_error == 0.0
    eager, naive = measured.against
    assert (eager.name, eager.timing, eager.reason) == ("eager", measured.timing, "")
    assert (naive.name, naive.timing) == ("naive", None)
    assert naive.reason == "the description names no such function"
    assert benched[0] is None  # a launch
    (sums,) = benched[1:]
    assert isinstance(sums, list)
    assert sums[0].shape == (3000,)


def test_wrong_results_are_not_timed(
    fake_gpu: SimpleNamespace, request_to_run: Request, benched: list[object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(Launcher, "spoil", 0.5)
    with pytest.raises(CaptureError, match="differ from the reference's by up to"):
        measure(request_to_run, ("eager",))
    assert not benched


def test_a_provider_that_fails_or_is_wrong_has_no_time(
    fake_gpu: SimpleNamespace, request_to_run: Request, benched: list[object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def provider(_: object, name: str, arguments: dict[str, Any]) -> Any:
        if name == "compile":
            raise RuntimeError("out of memory\nand more")
        return lambda: [arguments["x_ptr"]]

    monkeypatch.setattr(reference.Reference, "provider", provider)
    eager, compiled = measure(request_to_run, ("eager", "compile")).against
    assert (eager.timing, eager.reason) == (None, "its results differ from the reference's")
    assert (compiled.timing, compiled.reason) == (None, "RuntimeError: out of memory")


def test_a_view_of_an_input_has_no_time(
    fake_gpu: SimpleNamespace, request_to_run: Request, benched: list[object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def provider(_: object, name: str, arguments: dict[str, Any]) -> Any:
        x, y = arguments["x_ptr"], arguments["y_ptr"]
        calls = {"eager": lambda: [x[:]], "compile": lambda: [x.add_(y)], "naive": lambda: [x + y]}
        return calls[name]

    monkeypatch.setattr(reference.Reference, "provider", provider)
    monkeypatch.setattr(reference.Reference, "matches", lambda *_: True)
    view, in_place, sums = measure(request_to_run, ("eager", "compile", "naive")).against
    assert (view.timing, view.reason) == (None, "moves nothing: returns views")
    assert in_place.timing is not None
    assert sums.timing is not None


def test_a_run_is_never_answered_from_the_store(
    fake_gpu: SimpleNamespace, request_to_run: Request
) -> None:
    capture(request_to_run)
    capture(request_to_run)
    assert len(Launcher.grids) == 2


def test_a_gpu_that_is_not_the_target_is_an_error(
    fake_gpu: SimpleNamespace, request_to_run: Request
) -> None:
    fake_gpu.major, fake_gpu.minor = 8, 6
    with pytest.raises(CaptureError, match=r"cannot run for sm_90: .* is sm_86") as raised:
        capture(request_to_run)
    assert "--target sm_86" in (raised.value.hint or "")


def test_a_kernel_that_exceeds_the_gpu_is_an_error(
    fake_gpu: SimpleNamespace, request_to_run: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triton.runtime.errors import OutOfResources

    monkeypatch.setattr(Launcher, "refusal", OutOfResources(300_000, 232_448, "shared memory"))
    with pytest.raises(CaptureError, match="cannot be launched: out of resource: shared memory"):
        capture(request_to_run)


def test_a_kernel_gets_its_scratch_memory(
    fake_gpu: SimpleNamespace, sm_90: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    import triton
    from triton.runtime import _allocation

    def current() -> Any:  # itself in 3.4, a context variable in later versions
        kept = _allocation._allocator
        return kept.get() if hasattr(kept, "get") else kept

    class Asking:
        def __init__(self, src: object, metadata: Any) -> None:
            self.size = metadata.global_scratch_size

        def __call__(self, *rest: object) -> None:
            assert self.size > 0
            assert current()(self.size, 128, None) == "scratch"

    asked = []

    def empty(size: int, dtype: object, device: str) -> str:
        asked.append((size, dtype, device))
        return "scratch"

    monkeypatch.setattr(torch, "empty", empty)
    monkeypatch.setattr(launching, "nvidia_function", lambda *_: FunctionFacts(33, 8, 16))
    monkeypatch.setattr(triton.runtime.driver.active, "launcher_cls", Asking)
    before = current()
    sizes = {"M": 64, "N": 64, "K": 64}
    capture(Request(kernel="matmul_tma", target=sm_90, args={**sizes}, run=True))
    assert asked == [(3 * 128, torch.int8, "cuda")]  # a tensor map of 128 bytes for A, B and C
    assert current() is before


def test_a_kernel_without_a_grid_cannot_run(
    fake_gpu: SimpleNamespace, request_to_run: Request, write: Any
) -> None:
    path = write("@triton.jit\ndef k(x_ptr):\n    tl.store(x_ptr, 1.0)\n")
    bare = msgspec.structs.replace(request_to_run, kernel=str(path), args={"x_ptr": "fp32[1]"})
    with pytest.raises(CaptureError, match="its grid is not known"):
        capture(bare)
