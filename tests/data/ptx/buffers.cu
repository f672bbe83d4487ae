#include <cuda_pipeline.h>
// Hand-written multistage copies: STAGES buffers, commit the next tile, then wait for the current.
template <int STAGES> __device__ __forceinline__ void stream(float* out, const float4* in, int tiles) {
  __shared__ float4 buffer[STAGES][128];
  int lane = threadIdx.x;
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s < tiles) __pipeline_memcpy_async(&buffer[s][lane], in + s * 128 + lane, 16);
    __pipeline_commit();
  }
  float sum = 0.f;
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
    int next = t + STAGES - 1;
    if (next < tiles) __pipeline_memcpy_async(&buffer[next % STAGES][lane], in + next * 128 + lane, 16);
    __pipeline_commit();
    __pipeline_wait_prior(STAGES - 1);
    __syncthreads();
    float4 v = buffer[t % STAGES][127 - lane];
    sum += v.x + v.y * v.z + v.w;
    __syncthreads();
  }
  out[blockIdx.x * 128 + lane] = sum;
}
extern "C" __global__ void __launch_bounds__(128) double_buffer(float* out, const float4* in, int tiles) { stream<2>(out, in, tiles); }
extern "C" __global__ void __launch_bounds__(128) triple_buffer(float* out, const float4* in, int tiles) { stream<3>(out, in, tiles); }
// Waits for what it has just committed: asynchronous copies, and no pipeline.
extern "C" __global__ void __launch_bounds__(128) no_overlap(float* out, const float4* in, int tiles) {
  __shared__ float4 buffer[128];
  int lane = threadIdx.x;
  float sum = 0.f;
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
    __pipeline_memcpy_async(&buffer[lane], in + t * 128 + lane, 16);
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    sum += buffer[127 - lane].x;
    __syncthreads();
  }
  out[blockIdx.x * 128 + lane] = sum;
}
// The commit stands under the branch: what is outstanding depends on the path.
extern "C" __global__ void __launch_bounds__(128) commit_under_branch(float* out, const float4* in, int tiles) {
  __shared__ float4 buffer[2][128];
  int lane = threadIdx.x;
  __pipeline_memcpy_async(&buffer[0][lane], in + lane, 16);
  __pipeline_commit();
  float sum = 0.f;
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) {
      __pipeline_memcpy_async(&buffer[(t + 1) & 1][lane], in + (t + 1) * 128 + lane, 16);
      __pipeline_commit();
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
    sum += buffer[t & 1][127 - lane].x;
    __syncthreads();
  }
  out[blockIdx.x * 128 + lane] = sum;
}
// A persistent outer loop around a pipelined inner one.
extern "C" __global__ void __launch_bounds__(128) persistent(float* out, const float4* in, int rows, int tiles) {
  __shared__ float4 buffer[2][128];
  int lane = threadIdx.x;
#pragma unroll 1
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    const float4* from = in + row * tiles * 128 + lane;
    __pipeline_memcpy_async(&buffer[0][lane], from, 16);
    __pipeline_commit();
    float sum = 0.f;
#pragma unroll 1
    for (int t = 0; t < tiles; ++t) {
      if (t + 1 < tiles) __pipeline_memcpy_async(&buffer[(t + 1) & 1][lane], from + (t + 1) * 128, 16);
      __pipeline_commit();
      __pipeline_wait_prior(1);
      __syncthreads();
      sum += buffer[t & 1][127 - lane].x;
      __syncthreads();
    }
    __pipeline_wait_prior(0);
    out[row * 128 + lane] = sum;
  }
}
// The compiler unrolls this one four times.
extern "C" __global__ void __launch_bounds__(128) unrolled(float* out, const float4* in, int tiles) {
  __shared__ float4 buffer[4][128];
  int lane = threadIdx.x;
  for (int s = 0; s < 2; ++s) { __pipeline_memcpy_async(&buffer[s][lane], in + s * 128 + lane, 16); __pipeline_commit(); }
  float sum = 0.f;
#pragma unroll 4
  for (int t = 0; t < tiles * 4; ++t) {
    __pipeline_memcpy_async(&buffer[(t + 2) & 3][lane], in + (t + 2) * 128 + lane, 16);
    __pipeline_commit();
    __pipeline_wait_prior(2);
    __syncthreads();
    sum += buffer[t & 3][127 - lane].x;
  }
  out[blockIdx.x * 128 + lane] = sum;
}
