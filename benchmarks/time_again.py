"""Time the configurations whose times on an H200 are known on this machine's GPU.

    python benchmarks/time_again.py FILE

Writes the median time of each configuration of ``spaces.json`` and ``kinds.json`` in
``tests/data/h200`` to FILE, as ``tests/data/h100/times.json`` has them.
``time_model.py`` compares such times with the estimates.
"""

import sys
from pathlib import Path

import msgspec
from time_counts import earlier  # type: ignore[import-not-found]  # beside this script
from time_model import OTHERS, SPACES, Again  # type: ignore[import-not-found]

from irlens.compiler import Request, find_device
from irlens.compiler.compile_request import measure
from irlens.session.session import known_gpu


def main() -> int:
    """Time all of them."""
    device = find_device()
    if device is None:
        sys.exit("this machine has no GPU")
    gpu = known_gpu(device)
    rows = []
    for each in [*earlier(OTHERS), *earlier(SPACES)]:
        request = Request(
            kernel=each.spec, target=gpu.target, sm_count=gpu.sm_count, settings=each.config
        )
        us = round(measure(request).timing.median_ms * 1e3, 3)
        print(f"{each.problem} {each.config}: {us} µs, {each.us} µs on an H200", flush=True)
        rows.append(Again(problem=each.problem, config=each.config, us=us))
    lines = ",\n".join(msgspec.json.encode(row).decode() for row in rows)
    Path(sys.argv[1]).write_text(f"[\n{lines}\n]\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
