__device__ __noinline__ float leaf(float x) { return x * x; }
extern "C" __global__ void jump(float* out, const float* in, const int* op, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], y;
  switch (op[i]) {
    case 0: y = __sinf(x) * in[i + 1]; break;
    case 1: y = __cosf(x) / in[i + 2]; break;
    case 2: y = sqrtf(x); out[i + n] = y; break;
    case 3: y = leaf(x); break;
    case 4: y = __expf(x); atomicAdd(out, y); break;
    case 5: asm volatile("{ .reg .pred p; setp.gt.f32 p, %1, 0f00000000; @!p bra skip; mov.f32 %0, %1; bra done; skip: mov.f32 %0, 0f3F800000; done: }" : "=f"(y) : "f"(x)); break;
    case 6: y = __logf(x); __threadfence(); break;
    case 7: y = in[n - i]; __syncwarp(); break;
    case 8: if (x > 1e30f) __trap(); y = x; break;
    default: y = 0.f;
  }
  out[i] = y;
}
