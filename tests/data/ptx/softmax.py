"""The softmax of the Triton tutorial, compiled for any NVIDIA target without a GPU."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.runtime.jit import MockTensor


class CompileOnly(DriverBase):
    """Claims that a GPU of the given compute capability is there."""

    def __init__(self, capability):
        self.target = GPUTarget("cuda", capability, 32)

    @classmethod
    def is_active(cls):
        return True

    def get_current_target(self):
        return self.target

    def get_current_device(self):
        # A kernel keeps the target it first saw for each device.
        return self.target.arch

    def get_current_stream(self, device=None):
        return 0

    def get_active_torch_device(self):
        return None

    def get_benchmarker(self):
        return None

    def map_python_to_cpp_type(self, name):
        return name


@triton.jit
def softmax_kernel(
    output_ptr,
    input_ptr,
    input_row_stride,
    output_row_stride,
    n_rows,
    n_cols,
    BLOCK_SIZE: tl.constexpr,
    num_stages: tl.constexpr,
):
    row_start = tl.program_id(0)
    row_step = tl.num_programs(0)
    for row_idx in tl.range(row_start, n_rows, row_step, num_stages=num_stages):  # the loop
        col_offsets = tl.arange(0, BLOCK_SIZE)
        mask = col_offsets < n_cols
        row_ptrs = input_ptr + row_idx * input_row_stride + col_offsets
        row = tl.load(row_ptrs, mask=mask, other=-float("inf"))
        numerator = tl.exp(row - tl.max(row, axis=0))
        denominator = tl.sum(numerator, axis=0)
        out_ptrs = output_ptr + row_idx * output_row_stride + col_offsets
        tl.store(out_ptrs, numerator / denominator, mask=mask)


def compile_softmax(capability, num_stages, n_cols):
    """Return the PTX and the bytes of shared memory."""
    triton.runtime.driver.set_active(CompileOnly(capability))
    tensor = MockTensor(tl.float32)
    kernel = softmax_kernel.warmup(
        tensor,
        tensor,
        n_cols,
        n_cols,
        4096,
        n_cols,
        BLOCK_SIZE=1024,
        num_stages=num_stages,
        num_warps=8,
        grid=(1,),
    )
    return kernel.asm["ptx"], kernel.metadata.shared
