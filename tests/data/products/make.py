"""Compile the kernels of the table to ``captures.tar.xz``: python make.py [KERNEL ...]."""

import sys
import tarfile
from io import BytesIO
from pathlib import Path

from irlens.compiler import Request, capture
from irlens.model.config import Target

HERE = Path(__file__).parent
GPUS = ("sm_90", "sm_100")
#: What the table needs.
STAGES = ("ptx", "cubin")
#: File, kernel, architectures, and settings, with the version of Triton where it is not this one.
CONFIGURATIONS = [
    *(("kernels", "matmul", GPUS, {"num_stages": n}) for n in (1, 2, 3, 4)),
    ("kernels", "matmul_eight", GPUS, {"num_stages": 3}),
    ("kernels", "unrolled", GPUS, {"num_stages": 3}),
    ("kernels", "static", GPUS, {"num_stages": 3}),
    *(("kernels", "w8a16", GPUS, {"num_stages": n}) for n in (1, 3)),
    ("kernels", "w8a16", GPUS[:1], {"num_stages": 3, "BK": 128}),
    ("kernels", "w8a16_right", GPUS, {"num_stages": 3}),
    *(("kernels", "mxfp4", GPUS, {"num_stages": n}) for n in (1, 3)),
    ("kernels", "mxfp4", GPUS[:1], {"num_stages": 3, "BK": 64}),
    *(
        ("kernels", name, GPUS[:1], {"num_stages": 3, "triton": "3.6.0"})
        for name in ("mxfp4", "w8a16")
    ),
    ("kernels", "mxfp8", GPUS, {"num_stages": 2}),
    *(("kernels", "attention", GPUS, {"num_stages": n}) for n in (1, 2, 3)),
    ("kernels", "causal", GPUS, {"num_stages": 3}),
    ("kernels", "backward_keys", GPUS, {"num_stages": 2}),
    ("kernels", "backward_queries", GPUS, {"num_stages": 2}),
    *(("kernels", "mlp", GPUS, {"num_stages": n}) for n in (2, 3)),
    ("kernels", "gated", GPUS, {"num_stages": 2}),
    ("kernels", "two_sums", GPUS, {"num_stages": 3}),
    ("kernels", "chain", GPUS, {"num_stages": 3}),
    ("kernels", "branch", GPUS, {"num_stages": 3}),
    ("kernels", "persistent", GPUS, {"num_stages": 3}),
    ("kernels", "persistent_flat", GPUS, {"num_stages": 3}),
    ("kernels", "tma", GPUS, {"num_stages": 3}),
    ("kernels", "specialized", GPUS[1:], {"num_stages": 3}),
    ("kernels", "specialized_persistent", GPUS[1:], {"num_stages": 3}),
    *(("gluon_kernels", "outstanding", GPUS[:1], {"pending": n}) for n in (0, 1, 2)),
    *(("gluon_kernels", "two_chains", GPUS[:1], {"pending": n}) for n in (0, 1, 2, 3)),
    *(("gluon_kernels", "blackwell", GPUS[1:], {"ahead": n}) for n in (1, 2)),
    ("gluon_kernels", "one_commit", GPUS[1:], {}),
]


def name_of(kernel: str, arch: str, settings: dict[str, int | str]) -> str:
    """Return "matmul-sm_90-num_stages=3": the folder of a capture."""
    return "-".join([kernel, arch, *(f"{name}={value}" for name, value in settings.items())])


def main(wanted: list[str]) -> None:
    """Write the archive, or a folder for the kernels that are named."""
    made: dict[str, bytes] = {}
    for file, kernel, archs, settings in CONFIGURATIONS:
        for arch in archs:
            if wanted and kernel not in wanted:
                continue
            name = name_of(kernel, arch, settings)
            request = Request(
                kernel=f"{HERE / file}.py:{kernel}",
                target=Target(vendor="nvidia", arch=arch, warp_size=32),
                settings={n: value for n, value in settings.items() if n != "triton"},
                triton=settings.get("triton"),
            )
            (found,) = capture(request)
            for stage in STAGES:
                made[f"{name}/{kernel}.{stage}"] = found.stages[stage].read()
            print(name, flush=True)
    with tarfile.open(HERE / "captures.tar.xz", "w:xz", preset=9) as tar:
        for path, data in sorted(made.items()):
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            tar.addfile(entry, BytesIO(data))


if __name__ == "__main__":
    main(sys.argv[1:])
