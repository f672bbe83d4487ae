"""Kernels of different names: the name is no difference, and hides none."""

import re
from pathlib import Path

import pytest

from irlens.artifacts import tools
from irlens.diff.code import compare_code
from irlens.model.errors import ToolError
from tests.diff.code.stage_texts import code_of_text

CAPTURES = Path(__file__).parents[3] / "samples" / "captures"
SAMPLES = {"softmax-h100": "softmax_kernel", "softmax-mi300x": "softmax_kernel",
           "matmul-b200": "matmul_kernel"}  # fmt: skip


def text_of(sample: str, stage: str) -> str:
    kernel = SAMPLES[sample]
    if stage == "metadata":
        return (CAPTURES / sample / f"{kernel}.json").read_text()
    if stage == "sass":
        try:
            return tools.disassemble((CAPTURES / sample / f"{kernel}.cubin").read_bytes())
        except ToolError:
            pytest.skip("no nvdisasm here")
    return (CAPTURES / sample / f"{kernel}.{stage}").read_text()


@pytest.mark.parametrize(
    ("sample", "stage"),
    [
        *(("softmax-h100", stage) for stage in ("source", "ttir", "ttgir", "llir", "ptx", "sass")),
        ("matmul-b200", "sass"),  # its subroutines return to it by name
        ("softmax-h100", "metadata"),
        ("softmax-mi300x", "amdgcn"),
        ("softmax-mi300x", "llir"),
    ],
)
@pytest.mark.parametrize("name", ["renamed_thing", "add", "global", "text"])
def test_another_name_is_no_difference(sample: str, stage: str, name: str) -> None:
    kernel, text = SAMPLES[sample], text_of(sample, stage)
    assert kernel in text
    # Names of functions within functions, as of subroutines, hold the kernel's.
    after = re.sub(rf"(?<![A-Za-z0-9_]){kernel}(?=_param_|(?![A-Za-z0-9_]))", name, text)
    found = compare_code(code_of_text(stage, text, kernel), code_of_text(stage, after, name), stage)
    assert not found.different, [row for hunk in found.hunks for row in hunk.rows][:6]


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir", "ptx", "amdgcn", "sass"])
def test_a_kernel_named_as_an_operation_hides_none(stage: str) -> None:
    """Kernels called "add" and "sub", which differ in one addition."""
    sample = "softmax-mi300x" if stage == "amdgcn" else "softmax-h100"
    kernel, text = SAMPLES[sample], text_of(sample, stage)
    operation, other = {
        "ttir": ("arith.muli", "arith.subi"), "ttgir": ("arith.addi", "arith.subi"),
        "llir": ("add i32", "sub i32"), "ptx": ("add.s32", "sub.s32"),
        "amdgcn": ("s_add_i32", "s_sub_i32"), "sass": ("FADD", "FMUL"),
    }[stage]  # fmt: skip
    names = [re.split(r"[. ]", word)[-1 if "arith" in word else 0] for word in (operation, other)]
    one, two = (text.replace(kernel, name) for name in names)
    assert operation in two
    two = two.replace(operation, other, 1)
    found = compare_code(
        code_of_text(stage, one, names[0]), code_of_text(stage, two, names[1]), stage
    )
    assert found.different
