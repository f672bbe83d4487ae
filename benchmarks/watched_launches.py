"""Sees each launch of Triton's in this process, and times or profiles it.

For ``others_on_gpu.py``. A launch is new if its code, its grid, or the shape, strides or alignment
of an argument is. Needs a GPU, PyTorch and Triton.
"""

import base64
import hashlib
import json
import traceback
from statistics import median, quantiles
from typing import Any

#: Configurations of each autotuner that are tried.
CONFIGURATIONS = 3
#: Bytes written between launches, more than any L2 holds.
FLUSHED = 1 << 28
#: The largest tensor of integers whose values are kept.
VALUES = 4096


class Watch:
    """Sees each launch, and times, counts or only runs it.

    Attributes:
        rows: A row for each launch that was timed.
        last_us: The time of the last launch.
    """

    def __init__(self, mode: str, chosen: set[str] | None = None) -> None:
        self.mode, self.chosen = mode, chosen
        self.rows: list[dict[str, Any]] = []
        self.last_us: dict[str, float] = {}
        self.recent = 1.0
        self.where = ""
        self.profiled: list[str] = []
        self.busy = False
        self.flushed: Any = None

    def install(self) -> None:
        """Wrap the launcher of Triton's driver."""
        from triton.runtime import driver

        launcher = driver.active.launcher_cls
        create, call, watch = launcher.__init__, launcher.__call__, self

        def created(this: Any, src: Any, metadata: Any) -> None:
            this.watched = (src, metadata)
            create(this, src, metadata)

        def called(this: Any, *args: Any, **kwargs: Any) -> None:
            watch.launch(this, lambda: call(this, *args, **kwargs), args)

        launcher.__init__, launcher.__call__ = created, called

    def launch(self, launcher: Any, run: Any, args: tuple[Any, ...]) -> None:
        """Run a launch; time or profile it if it is new."""
        if self.busy or self.mode == "compile":
            run()
            return
        src, metadata = launcher.watched
        grid, given = list(args[:3]), args[9:]
        key = hashlib.sha256(
            json.dumps([metadata.hash, grid, [_signature(each) for each in given]]).encode()
        ).hexdigest()[:20]
        if self.mode == "profile":
            self._profile(key, run)
            return
        if key in self.last_us:
            run()
        else:
            row = self._described(src, metadata, grid, given)
            run()
            self.busy = True
            try:
                row.update(self._timed(run))
            finally:
                self.busy = False
            row["key"] = key
            self.last_us[key] = row["us"]
            self.rows.append(row)
        self.recent = self.last_us[key]

    def _profile(self, key: str, run: Any) -> None:
        import torch

        assert self.chosen is not None
        if key not in self.chosen:
            run()
            return
        self.chosen.discard(key)
        self.profiled.append(key)
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStart()
        run()
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()

    def _timed(self, run: Any) -> dict[str, Any]:
        import torch

        if self.flushed is None:
            self.flushed = torch.empty(FLUSHED // 4, dtype=torch.int32, device="cuda")
        first = self._times(run, 3)
        count = 31 if first[1] < 300 else 15 if first[1] < 3000 else 5
        times = sorted(self._times(run, count))
        cuts = quantiles(times, n=10)
        return {
            "us": round(median(times), 3),
            "p10": round(cuts[0], 3),
            "p90": round(cuts[-1], 3),
            "least": round(times[0], 3),
        }

    def _times(self, run: Any, count: int) -> list[float]:
        import torch

        events = [
            (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
            for _ in range(count)
        ]
        for start, end in events:
            self.flushed.zero_()
            start.record()
            run()
            end.record()
        torch.cuda.synchronize()
        return [1e3 * start.elapsed_time(end) for start, end in events]

    def _described(
        self, src: Any, metadata: Any, grid: list[int], given: tuple[Any, ...]
    ) -> dict[str, Any]:
        names = list(src.fn.arg_names) if hasattr(src, "fn") else []
        constants = {
            names[k[0]] if isinstance(k, tuple) else k: v
            for k, v in getattr(src, "constants", {}).items()
            if not isinstance(k, tuple) or len(k) == 1
        }
        if len(given) != len(names):
            names = [each for each in names if each not in constants]
        args = {name: _argument(value) for name, value in zip(names, given, strict=False)}
        return {
            "name": metadata.name,
            "entry": base64.b32encode(bytes.fromhex(metadata.hash)).decode().rstrip("="),
            "where": self.where,
            "args": args,
            "constants": {name: _plain(value) for name, value in constants.items()},
            "grid": grid,
            "num_warps": metadata.num_warps,
            "num_stages": metadata.num_stages,
        }


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | bool | str | None) else str(value)


def _signature(value: Any) -> Any:
    """Return what tells an argument from another for the purpose of timing."""
    if hasattr(value, "data_ptr"):
        return [str(value.dtype), list(value.shape), list(value.stride()), value.data_ptr() % 16]
    if isinstance(value, tuple):
        return [_signature(each) for each in value]
    if hasattr(value, "block_shape"):
        return [_signature(value.base), list(value.shape), list(value.block_shape)]
    return _plain(value)


def _argument(value: Any) -> Any:
    if hasattr(value, "data_ptr"):
        found: dict[str, Any] = {
            "dtype": str(value.dtype).removeprefix("torch."),
            "shape": list(value.shape),
            "stride": list(value.stride()),
        }
        if not value.dtype.is_floating_point and value.numel() <= VALUES:
            found["values"] = value.detach().cpu().reshape(-1).tolist()
        return found
    if isinstance(value, tuple):
        return [_argument(each) for each in value]
    if hasattr(value, "block_shape"):
        return {
            "descriptor": _argument(value.base),
            "shape": list(value.shape),
            "strides": list(value.strides),
            "block": list(value.block_shape),
        }
    return _plain(value)


def limit_autotuners(watch: Watch) -> None:
    """Let autotuners try few configurations, each once."""
    from triton.runtime.autotuner import Autotuner

    prune = Autotuner.prune_configs

    def pruned(this: Any, kwargs: Any) -> Any:
        found = sorted(prune(this, kwargs), key=str)
        step = max(1, len(found) // CONFIGURATIONS)
        return found[step // 2 :: step][:CONFIGURATIONS]

    def once(call: Any, quantiles: Any = None) -> Any:
        call()
        return [watch.recent] * 3 if quantiles else watch.recent

    Autotuner.prune_configs = pruned
    Autotuner.do_bench = property(lambda this: once, lambda this, value: None)
    try:
        from torch._inductor.runtime import benchmarking

        for name in ("benchmark", "benchmark_gpu"):
            for holder in vars(benchmarking).values():
                if isinstance(holder, type) and name in vars(holder):
                    setattr(holder, name, _inductor_bench(watch, name))
    except ImportError:
        traceback.print_exc()


def _inductor_bench(watch: Watch, name: str) -> Any:
    if name == "benchmark_gpu":
        return lambda this, call, *args, **kwargs: (call(), watch.recent * 1e-3)[1]

    def bench(this: Any, fn: Any, fn_args: Any = (), fn_kwargs: Any = None, **kwargs: Any) -> float:
        fn(*(fn_args or ()), **(fn_kwargs or {}))
        return watch.recent * 1e-3

    return bench
