// The cycles of a fence of the GPU, alone and behind a store or a relaxed atomic addition.
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

int main() {
    float *data;
    long long *cycles;
    cudaMalloc(&data, 64 << 20);
    cudaMallocHost(&cycles, 528 * sizeof *cycles);
    time<ADD>("addition", data, cycles);
    time<STORE>("store", data, cycles);
    time<FENCE>("fence", data, cycles);
    time<ADD | FENCE>("addition, fence", data, cycles);
    time<STORE | FENCE>("store, fence", data, cycles);
}
