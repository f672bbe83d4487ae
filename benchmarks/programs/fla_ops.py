"""flash-linear-attention's operators, forward and backward.

Its own tests compare values in Python, which only a GPU has, and compute slow references.
"""

import torch
from fla import modules, ops
from fla.modules.l2norm import l2norm
from fla.modules.token_shift import token_shift
from fla.ops.rwkv7.channel_mixing import channel_mixing_rwkv7
from operator_runs import run, size
from torch.nn import functional

BATCH, LENGTH = size("BATCH", 2), size("LENGTH", 256)
HEADS, SIZE = size("HEADS", 4), size("SIZE", 64)
HEAD = (BATCH, LENGTH, HEADS)
WIDTH = HEADS * SIZE


def tensor(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """Return random numbers with a gradient."""
    return torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True)


def vectors() -> torch.Tensor:
    """Return a vector for each head."""
    return tensor(*HEAD, SIZE)


def gates(*shape: int) -> torch.Tensor:
    """Return logarithms of decays."""
    return leaf(functional.logsigmoid(tensor(*shape, dtype=torch.float32)))


def leaf(computed: torch.Tensor) -> torch.Tensor:
    """Return a tensor with a gradient of its own, for several backward passes."""
    return computed.detach().requires_grad_()


q, k, v, w, a, b = (vectors() for _ in range(6))
unit, other = (leaf(functional.normalize(vectors(), dim=-1)) for _ in range(2))
beta, scalar = leaf(torch.sigmoid(tensor(*HEAD))), gates(*HEAD)
gate, slots = gates(*HEAD, SIZE), tensor(*HEAD, 32)
many = tensor(BATCH, LENGTH, 16, SIZE)
one = tensor(BATCH, LENGTH, 1, SIZE)
x = tensor(BATCH, LENGTH, WIDTH)
blocks = torch.zeros(BATCH, LENGTH, 1, 4, device="cuda", dtype=torch.long)
classes = torch.randint(4096, (BATCH * LENGTH,), device="cuda")
convolution = modules.ShortConvolution(WIDTH, 4, activation="silu").cuda().bfloat16()
rotary = modules.RotaryEmbedding(SIZE).cuda()
levels = tensor(*HEAD, LENGTH.bit_length())

run(
    {
        "abc": lambda: ops.chunk_abc(q, k, v, slots),
        "attn": lambda: ops.parallel_attn(q, k, v),
        "attnres": lambda: ops.fused_attnres(
            tensor(WIDTH), [tensor(BATCH, LENGTH, WIDTH) for _ in range(4)], tensor(WIDTH)
        ),
        "based": lambda: ops.parallel_based(q[..., :16], k[..., :16], v),
        "comba": lambda: ops.chunk_comba(q, unit, v, other, scalar, beta),
        "delta_rule": lambda: ops.chunk_delta_rule(q, unit, v, beta),
        "delta_rule, recurrent": lambda: ops.fused_recurrent_delta_rule(q, unit, v, beta),
        "dplr_delta_rule": lambda: ops.chunk_dplr_delta_rule(q, k, v, unit, -unit, gate),
        "forgetting_attn": lambda: ops.parallel_forgetting_attn(q, k, v, scalar),
        "gated_delta_rule": lambda: ops.chunk_gated_delta_rule(q, unit, v, scalar, beta),
        "gla": lambda: ops.chunk_gla(q, k, v, gate),
        "gla, recurrent": lambda: ops.fused_recurrent_gla(q, k, v, gate),
        "gsa": lambda: ops.chunk_gsa(q, k, v, slots, gates(*HEAD, 32)),
        "hgrn": lambda: ops.fused_recurrent_hgrn(x, gates(BATCH, LENGTH, WIDTH)),
        # It has no backward pass.
        "iplr_delta_rule": lambda: ops.chunk_iplr_delta_rule(q, k, v, unit, -unit)[0].detach(),
        "kda": lambda: ops.chunk_kda(q, unit, v, gate, beta),
        "lightning_attn": lambda: ops.chunk_lightning_attn(q, k, v, 1, 12),
        "linear_attn": lambda: ops.chunk_linear_attn(q, k, v),
        "log_linear_attn": lambda: ops.chunk_log_linear_attn(one, one, v, scalar, levels),
        "mesa_net": lambda: ops.chunk_mesa_net(
            q, unit, v, scalar, beta, tensor(HEADS, SIZE).sigmoid()
        ),
        "nsa": lambda: ops.parallel_nsa(
            many, one, one, *(tensor(BATCH, LENGTH, 16) for _ in range(2)),
            block_indices=blocks, block_counts=4, block_size=64,
        ),
        "parallax": lambda: ops.parallel_parallax(q, w, k, v),
        "path_attn": lambda: ops.parallel_path_attn(q, k, v, unit.float(), beta.float(), scalar),
        "precond_gated_delta_rule": lambda: ops.chunk_precond_gated_delta_rule(
            q, k, v, gates(*HEAD), scalar, beta, beta
        ),
        "retention": lambda: ops.chunk_retention(q, k, v),
        "retention, parallel": lambda: ops.parallel_retention(q, k, v),
        "rwkv6": lambda: ops.chunk_rwkv6(q, k, v, gate, tensor(HEADS, SIZE)),
        "rwkv7": lambda: ops.chunk_rwkv7(q, gate, k, v, unit, -unit),
        "rwkv7, channels": lambda: channel_mixing_rwkv7(
            x, tensor(BATCH, WIDTH), tensor(1, 1, WIDTH), tensor(WIDTH, 512), tensor(512, WIDTH)
        ),
        "simple_gla": lambda: ops.chunk_simple_gla(q, k, v, scalar),
        "wall_attn": lambda: ops.parallel_wall_attn(q, k, v, gates(*HEAD, SIZE).bfloat16()),
        "layer norm": lambda: modules.LayerNorm(WIDTH).cuda().bfloat16()(x),
        "rms norm": lambda: modules.RMSNorm(WIDTH).cuda().bfloat16()(x),
        "gated rms norm": lambda: modules.FusedRMSNormGated(SIZE).cuda().bfloat16()(q, k),
        "l2 norm": lambda: l2norm(q),
        "convolution": lambda: convolution(x)[0],
        "rotary": lambda: rotary(q, k),
        "cross entropy": lambda: modules.FusedCrossEntropyLoss()(tensor(512, 4096), classes),
        "linear cross entropy": lambda: modules.FusedLinearCrossEntropyLoss()(
            tensor(512, WIDTH), classes, tensor(4096, WIDTH)
        ),
        "kl divergence": lambda: modules.FusedKLDivLoss()(
            tensor(512, WIDTH), tensor(512, WIDTH).detach(),
            tensor(4096, WIDTH), tensor(4096, WIDTH).detach(),
        ),
        "token shift": lambda: token_shift(x),
        "swiglu": lambda: modules.GatedMLP(WIDTH).cuda().bfloat16()(x),
    }
)  # fmt: skip
