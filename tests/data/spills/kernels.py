"""The kernels of the ptx files beside this one, compiled by Triton 3.6.0 for sm_80."""

import triton
import triton.language as tl


@triton.jit
def trig(src, dst, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(src + i)
    w = tl.load(src + i + n)
    for k in range(0, 16):
        v = tl.sin(v) * w + tl.cos(v * w)
        w = w * v + tl.cos(w)
    tl.store(dst + i, v)
    tl.store(dst + i + n, w)


@triton.jit(noinline=True)
def wave(src, dst, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(src + i)
    w = tl.load(src + i + n)
    for k in range(0, 16):
        v = tl.sin(v) * w + tl.cos(v * w)
        w = w * v + tl.cos(w)
    tl.store(dst + i, v)
    tl.store(dst + i + n, w)

@triton.jit
def calls_wave(src, dst, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    u = tl.sin(tl.load(src + i))
    wave(src, dst, n, BLOCK)
    tl.store(dst + i, u)

@triton.jit
def asm_array(src, dst, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(src + i)
    w = tl.load(src + i + n)
    acc = v
    for k in range(0, n):
        x = tl.inline_asm_elementwise("""{
            .local .align 4 .b8 buf[64];
            .reg .b32 a, b;
            mov.u32 a, buf;
            and.b32 b, $2, 60;
            add.u32 a, a, b;
            st.local.b32 [a], $1;
            st.local.b32 [buf+4], $2;
            ld.local.b32 $0, [a];
        }""", "=r,r,r", [v.to(tl.int32, bitcast=True), w.to(tl.int32, bitcast=True)], dtype=tl.int32, is_pure=True, pack=1)
        acc += x.to(tl.float32, bitcast=True) * v
        w = w * acc + v
    tl.store(dst + i, acc)
    tl.store(dst + i + n, w)

IRLENS_KERNELS = {
    'calls_wave': {'sizes': {'n': 4096}, 'args': {'src': 'fp32[n, 2]', 'dst': 'fp32[n, 2]', 'n': 'n'}, 'constexprs': {'BLOCK': 2048}, 'grid': [1], 'outputs': ['dst']},
    'asm_array': {'sizes': {'n': 4096}, 'args': {'src': 'fp32[n, 2]', 'dst': 'fp32[n, 2]', 'n': 'n'}, 'constexprs': {'BLOCK': 4096}, 'grid': [1], 'outputs': ['dst']},
    'trig': {'sizes': {'n': 2048}, 'args': {'src': 'fp32[n, 2]', 'dst': 'fp32[n, 2]', 'n': 'n'}, 'constexprs': {'BLOCK': 2048}, 'grid': [1], 'outputs': ['dst']},
}
