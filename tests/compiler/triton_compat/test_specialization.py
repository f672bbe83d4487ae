"""Specializations, against the keys of Triton's own JIT and the entries of its cache."""

import itertools
import random
from pathlib import Path

import msgspec
import pytest

from irlens import gpus
from irlens.analyze.specialization import specialization_of
from irlens.compiler import Request, capture, find_kernel
from irlens.compiler.calls.binding import bind
from irlens.compiler.kernel_session import open_kernel
from irlens.compiler.planning import plan
from irlens.sweeps.launch_classes import class_of

LAUNCHES = [
    ("vector_add", {"n_elements": (1, 2, 16, 17, 1024, 1040, 4096)}),
    ("softmax", {"n_rows": (1, 7, 16, 48), "n_cols": (781, 1024, 2000)}),
    ("matmul_bias_relu", {"M": (1, 16, 17, 640)}),
    ("matmul_tma", {"M": (1, 512, 513)}),
    ("layer_norm", {"n_rows": (1, 64), "n_cols": (1000, 1008, 1024)}),
    ("transpose", {"n_rows": (1, 60, 64), "n_cols": (96, 100)}),
]


@pytest.mark.compiled_to("ttir")
@pytest.mark.parametrize("target", ["h100", "mi300x"])
@pytest.mark.parametrize(("kernel", "axes"), LAUNCHES, ids=[name for name, _ in LAUNCHES])
def test_variants_are_those_of_the_jit(
    kernel: str, axes: dict[str, tuple[int, ...]], target: str, tmp_path: Path
) -> None:
    gpu, source = gpus.find(target), find_kernel(kernel)
    requests = [
        Request(kernel=kernel, target=gpu.target, args=dict(zip(axes, values, strict=True)))
        for values in itertools.product(*axes.values())
    ]
    variants = {
        msgspec.msgpack.encode((each.specialization, sorted(each.options.items())))
        for each in plan(requests).variants
    }
    with open_kernel(source, tmp_path, gpu.target) as session:
        from irlens.compiler.triton_compat import jit, tensors

        function = session.kernel.function
        for request in requests:
            call, expanded = session.expand(request, tensors.placeholders)
            for settings in expanded:
                args = bind(call, jit.manifest_values(settings))
                values = tensors.with_descriptors(session.kernel, tensors.placeholders(args), args)
                function.run(grid=(1, 1, 1), warmup=True, **values, **settings)
        keys = sum(len(each[0]) for each in function.device_caches.values())
    entries = {each.parent for each in (tmp_path / "cache").rglob("*.ttir")}
    assert len(variants) == keys == len(entries) > 1


def test_integers_fall_into_the_classes_that_ranges_are_split_by(tmp_path: Path) -> None:
    file = tmp_path / "numbers.py"
    file.write_text("import triton\n\n@triton.jit\ndef kernel(n):\n    pass\n")
    picked = random.Random(7)
    numbers = [0, 1, 2, 16, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**63 + 16, -1, -16, -(2**31) - 1]
    numbers += [picked.randint(-(2**40), 2**40) for _ in range(40)]
    numbers += [16 * picked.randint(-(2**30), 2**30) for _ in range(20)]
    h100 = gpus.find("h100").target
    requests = [Request(kernel=f"{file}:kernel", target=h100, args={"n": each}) for each in numbers]
    found = [each.specialization for each in plan(requests).variants]
    for (one, first), (other, second) in itertools.combinations(
        zip(numbers, found, strict=True), 2
    ):
        if class_of(one) == class_of(other):
            assert first == second, (one, other)


@pytest.mark.parametrize("n", [1, 17, 4096])
@pytest.mark.parametrize("target", ["h100", "mi300x"])
def test_a_capture_says_what_the_binder_said(n: int, target: str) -> None:
    request = Request(kernel="vector_add", target=gpus.find(target).target, args={"n_elements": n})
    (planned,) = plan([request]).variants
    (compiled,) = capture(request)
    read = specialization_of(compiled)
    assert read is not None
    assert read.is_whole
    assert read.parameters == list(planned.specialization)
