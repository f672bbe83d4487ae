"""Log-softmax over a vocabulary, a whole row in registers: more than fit, so it spills.

50,304 logits (GPT-2's vocabulary, rounded up) are padded to 65,536 values. Held as fp32 that is
256 KiB, an NVIDIA SM's entire register file: 16 warps have 128 registers a thread for 128 values,
and need some for everything else. What does not fit goes to local memory and comes back.

A row half as long fits: ``--arg n_cols=32000``. Looking at a long row twice, a part at a time,
is the cure: it costs another read, which the caches soften.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "spill_kernel": {
        "sizes": {"n_rows": 4096, "n_cols": 50_304},
        "args": {
            "output_ptr": "fp16[n_rows, n_cols]",
            "input_ptr": "fp16[n_rows, n_cols]",
            "output_row_stride": "n_cols",
            "input_row_stride": "n_cols",
            "n_cols": "n_cols",
        },
        "constexprs": {"BLOCK_SIZE": "next_power_of_2(n_cols)"},
        "options": {"num_warps": 16},
        "grid": ["n_rows"],
        "outputs": ["output_ptr"],
        "reference": "log_softmax_reference",
        "tolerance": {"rtol": 2e-3, "atol": 1e-3},
    }
}


@triton.jit
def spill_kernel(
    output_ptr, input_ptr, output_row_stride, input_row_stride, n_cols, BLOCK_SIZE: tl.constexpr
):
    """Store the log-softmax of one row; ``BLOCK_SIZE`` must cover all of it."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    logits = tl.load(input_ptr + row * input_row_stride + cols, mask=mask, other=-float("inf"))
    logits = logits.to(tl.float32)
    shifted = logits - tl.max(logits, axis=0)
    log_sum = tl.log(tl.sum(tl.exp(shifted), axis=0))
    tl.store(output_ptr + row * output_row_stride + cols, shifted - log_sum, mask=mask)


def log_softmax_reference(input_ptr):
    """Return what ``output_ptr`` should hold."""
    return input_ptr.log_softmax(dim=-1)
