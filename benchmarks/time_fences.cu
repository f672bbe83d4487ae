// The cycles of a fence of the GPU: alone, behind a store or a relaxed atomic addition, and while
// other warps of the SM read from the L2.
//
//   nvcc -O3 -arch=native -o time_fences benchmarks/time_fences.cu && ./time_fences
//
// Prints the mean over CTAs of one round of 256, for several numbers of CTAs and of threads.
#include <cstdio>
#include <utility>

enum { FENCE = 1, ADD = 2, STORE = 4 };

template <int steps> __global__ void rounds(float *data, long long *cycles) {
    float *own = data + blockIdx.x * blockDim.x + threadIdx.x;
    long long begun = clock64();
    for (int i = 0; i < 256; i++) {
        float *p = own + i % 16 * 262144;
        if (steps & ADD) asm volatile("red.relaxed.gpu.global.add.f32 [%0], 1.0;" ::"l"(p) : "memory");
        if (steps & STORE) asm volatile("st.global.f32 [%0], 1.0;" ::"l"(p) : "memory");
        if (steps & FENCE) asm volatile("fence.acq_rel.gpu;" ::: "memory");
    }
    if (!threadIdx.x) cycles[blockIdx.x] = clock64() - begun;
}

template <int steps> void time(const char *name, float *data, long long *cycles) {
    for (auto [ctas, threads] : {std::pair{1, 32}, {1, 128}, {132, 128}, {396, 128}, {528, 256}}) {
        for (int run = 0; run < 3; run++) rounds<steps><<<ctas, threads>>>(data, cycles);
        cudaDeviceSynchronize();
        double sum = 0;
        for (int i = 0; i < ctas; i++) sum += cycles[i];
        printf("%-16s %3d CTAs x %3d threads  %4.0f cycles\n", name, ctas, threads, sum / ctas / 256);
    }
}

// The first 128 threads of a CTA add and fence, all others read until these have done so.
__global__ void rounds_beside_readers(float *data, const float4 *read, long long *cycles) {
    __shared__ volatile int done;
    if (!threadIdx.x) done = 0;
    __syncthreads();
    if (threadIdx.x < 128) {
        float *own = data + blockIdx.x * 128 + threadIdx.x;
        __nanosleep(5000);
        long long begun = clock64();
        for (int i = 0; i < 64; i++) {
            asm volatile("red.relaxed.gpu.global.add.f32 [%0], 1.0;" ::"l"(own) : "memory");
            asm volatile("fence.acq_rel.gpu;" ::: "memory");
        }
        if (!threadIdx.x) cycles[blockIdx.x] = clock64() - begun;
        asm volatile("bar.sync 1, 128;");
        done = 1;
        return;
    }
    float sum = 0;
    for (unsigned at = blockIdx.x * 4096 + threadIdx.x; !done; at += 8 * blockDim.x) {
        float4 values[8];
        for (int i = 0; i < 8; i++) values[i] = __ldcg(read + (at + i * blockDim.x) % (1 << 20));
        for (int i = 0; i < 8; i++) sum += values[i].x;
    }
    if (sum == 1.5f) *data = sum;
}

int main() {
    float *data;
    float4 *read;
    long long *cycles;
    cudaMalloc(&data, 64 << 20);
    cudaMalloc(&read, 16 << 20);
    cudaMemset(read, 0, 16 << 20);
    cudaMallocHost(&cycles, 528 * sizeof *cycles);
    time<ADD>("addition", data, cycles);
    time<STORE>("store", data, cycles);
    time<FENCE>("fence", data, cycles);
    time<ADD | FENCE>("addition, fence", data, cycles);
    time<STORE | FENCE>("store, fence", data, cycles);
    for (int ctas : {132, 264, 396})
        for (int readers : {0, 32, 128, 256}) {
            for (int run = 0; run < 3; run++)
                rounds_beside_readers<<<ctas, 128 + readers>>>(data, read, cycles);
            cudaDeviceSynchronize();
            double sum = 0;
            for (int i = 0; i < ctas; i++) sum += cycles[i];
            printf("addition, fence  %3d CTAs beside %3d reading threads each  %4.0f cycles\n", ctas, readers,
                   sum / ctas / 64);
        }
}
