#include <cstdio>
#include <cuda_pipeline.h>
template <typename T, int N> __device__ __noinline__ T reduce_add(const T* p) { T s = 0; for (int i = 0; i < N; ++i) s += p[i]; return s; }
extern __shared__ float dynamic_shared[];
__device__ int table[4] = {3, 1, 4, 1};
__constant__ float weights[8];
__device__ __noinline__ int pick(int op, int a, int b) {
  switch (op) {
    case 0: return a + b; case 1: return a * b; case 2: return a - b; case 3: return a & b;
    case 4: return a | b; case 5: return a ^ b; case 6: return a << (b & 31); case 7: return min(a, b) * 3;
    default: return 0;
  }
}
__global__ void __launch_bounds__(128, 4) features(float* out, const float* in, int n, int op) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  dynamic_shared[threadIdx.x] = i < n ? in[i] : 0.f;
  __syncthreads();
  unsigned lane; asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 32; mov.u32 %0, %laneid; @p add.u32 %0, %0, 1; }" : "=r"(lane) : "r"(n));
  float s = reduce_add<float, 4>(dynamic_shared + (threadIdx.x & ~3));
  if (lane == 0 && s > 3.5f) printf("%d: %f \"quoted\"; {brace} // no comment\n", i, s);
  out[i] = s * weights[i & 7] + table[i & 3] + pick(op, i, n);
}
