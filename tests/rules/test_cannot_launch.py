from collections.abc import Callable

import irlens
from irlens.model.report import Finding

CODE = "IRL101"
Look = Callable[..., list[Finding]]


def test_shows_shared_memory_that_no_cta_of_the_gpu_can_have(look: Look) -> None:
    (finding,) = look(CODE, "tile_sum.py", "a100", SIZE=16384, STAGES=4)
    assert finding.severity == "error"
    # Three buffers of 16,384 fp32 against the 163 KiB of the CUDA Programming Guide.
    assert finding.message == "shared memory: 196,608 bytes/CTA requested, a100 has 166,912"
    assert finding.hint == "use fewer stages or smaller tiles"


def test_silent_where_the_same_kernel_fits(look: Look) -> None:
    assert look(CODE, "tile_sum.py", "h100", SIZE=16384, STAGES=4) == []
    assert look(CODE, "tile_sum.py", "a100", SIZE=16384, STAGES=3) == []


def test_speaks_as_amd_does(look: Look) -> None:
    (finding,) = look(CODE, "dots.py", "mi300x", M=32, N=32, BLOCK_K=256)
    assert finding.message == "LDS: 131,072 bytes/workgroup requested, mi300x has 65,536"


def test_more_waves_than_a_code_object_states_are_no_contradiction() -> None:
    """LLVM writes 1,024 threads where 2,048 are asked for."""
    capture = irlens.capture("vector_add", target="mi300x", num_warps=32)
    findings = irlens.inspect(capture).findings
    assert "IRL601" not in {each.code for each in findings}
    (finding,) = [each for each in findings if each.code == CODE]
    assert "2,048 threads/workgroup requested" in finding.message


def test_shows_a_grid_that_the_gpu_refuses() -> None:
    """The CUDA Programming Guide: 65,535 CTAs in y and z, 2^31 - 1 in x."""
    capture = irlens.capture("vector_add", target="h100", num_warps=4)
    args = dict.fromkeys(("x_ptr", "y_ptr", "output_ptr"), "fp32[1024]") | {"n_elements": 1024}
    for grid, refused in (([70_000, 1, 1], False), ([1, 65_535, 1], False), ([1, 70_000, 1], True)):
        report = irlens.inspect(capture, launch={"args": args, "grid": grid}, target="h100")
        assert report.occupancy is not None
        assert report.occupancy.launchable is not refused
        assert (report.time is None or report.time.estimate_us is None) is refused
        messages = [each.message for each in report.findings if each.code == CODE]
        assert messages == ["grid: 70,000 CTAs in y requested, h100 takes 65,535"] * refused
