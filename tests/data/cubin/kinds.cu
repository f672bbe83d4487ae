// What Triton does not emit, so that the reader meets it: several kernels in one file, static
// shared memory, called functions with frames of their own, a recursion, high barrier numbers,
// launch bounds, a register cap, a cluster, parameters of 20 KB, a mangled name.
struct Big { char bytes[20000]; };
__constant__ float table[100];

__device__ __noinline__ float framed(float x) {
  volatile float values[40];
  values[((int)x) % 40] = x;
  return values[3] + table[((int)x) % 100];
}
__device__ int recursive(int n) {
  if (n < 2) return n;
  volatile int values[7];
  values[n % 7] = n;
  return recursive(n - 1) + recursive(n - 2) + values[n % 5];
}

extern "C" __global__ void __launch_bounds__(256, 2) shared(float *p) {
  __shared__ float values[64];
  values[threadIdx.x % 64] = p[threadIdx.x];
  __syncthreads();
  p[0] = values[3];
}
extern "C" __global__ void caller(float *p) {
  volatile float values[24];
  values[((int)p[2]) % 24] = p[3];
  p[0] = framed(p[1]) + values[((int)p[4]) % 24];
}
extern "C" __global__ void recursion(int *p) { p[0] = recursive(p[1]); }
extern "C" __global__ void barriers() {
  asm volatile("bar.sync 3, 64;");
  asm volatile("bar.sync 9;");
}
extern "C" __global__ void __maxnreg__(40) capped(float *p, double d) { p[0] = d * table[threadIdx.x % 100]; }
extern "C" __global__ void big(Big b, int *p) { p[0] = b.bytes[p[1]]; }
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster(int *p) { p[0] = 1; }
#endif
template <int N> __global__ void templated(int *p) { p[0] = N; }
template __global__ void templated<3>(int *);
