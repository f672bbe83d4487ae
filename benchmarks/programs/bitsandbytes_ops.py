"""bitsandbytes's Triton operators, which it uses on GPUs for which its C++ library is not built.

Its package comes from PYTHONPATH; on CUDA its own tests would test the C++ library instead.
"""

import torch
from bitsandbytes.backends.triton import ops
from bitsandbytes.functional import create_dynamic_map

weight = torch.randn(1024, 1024, device="cuda", dtype=torch.float16)
code = create_dynamic_map().cuda()

quantized, scales = ops.quantize_blockwise(weight, code, 256)
ops.dequantize_blockwise(quantized, scales, code, 256, torch.float16)
for kind in ("nf4", "fp4"):
    packed, scales = ops.quantize_4bit(weight, 64, kind, torch.uint8)
    ops.dequantize_4bit(packed, scales, 64, kind, weight.shape, torch.float16)
    ops.gemv_4bit(weight[:1], packed, weight.shape, scales, torch.randn(16, device="cuda"), 64)

parameter, gradient = torch.randn(2, 4096, device="cuda").unbind()
second = torch.zeros(4096, device="cuda")
settings = {
    "beta1": 0.9, "beta2": 0.99, "beta3": 0.0, "alpha": 0.0, "eps": 1e-8,
    "weight_decay": 0.01, "step": 1, "lr": 1e-3, "gnorm_scale": 1.0,
}  # fmt: skip
for optimizer in ("adam", "momentum", "rmsprop", "adagrad", "lion", "ademamix"):
    two = optimizer in ("adam", "ademamix")
    states = 2 if optimizer == "ademamix" else 1
    ops.optimizer_update_32bit(
        optimizer_name=optimizer, g=gradient, p=parameter,
        state1=torch.zeros(states, 4096, device="cuda").squeeze(0), state2=second if two else None,
        unorm_vec=torch.zeros(1, device="cuda"), max_unorm=0.0, param_norm=0.0,
        **settings,
    )  # fmt: skip
    ops.optimizer_update_8bit_blockwise(
        optimizer_name=optimizer, g=gradient, p=parameter,
        state1=torch.zeros(states, 4096, device="cuda", dtype=torch.uint8).squeeze(0),
        state2=torch.zeros(4096, device="cuda", dtype=torch.uint8) if two else None,
        qmap1=code, qmap2=code if two else None,
        absmax1=torch.zeros(states, 16, device="cuda").squeeze(0),
        absmax2=torch.zeros(16, device="cuda") if two else None,
        **settings,
    )  # fmt: skip
