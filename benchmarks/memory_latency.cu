// The latency of a GPU's memory: one thread chases pointers through more than the caches hold.
//
//   nvcc -O3 -o memory_latency benchmarks/memory_latency.cu && ./memory_latency
//
// Prints the median over runs of 100,000 dependent loads, each from another 128-byte line in random
// order, for several footprints. What the L2 holds shows the L2's latency.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

__global__ void chase(const unsigned *next, int loads, unsigned *place, long long *nanoseconds) {
    unsigned p = *place;
    long long begun, ended;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begun));
    for (int i = 0; i < loads; i++) p = __ldcg(next + size_t(p) * 32);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ended));
    *place = p;  // the next run goes on from here, and meets lines that no cache has
    *nanoseconds = ended - begun;
}

int main() {
    const int loads = 100000, runs = 9;
    for (size_t mebibytes : {16ul, 256ul, 512ul, 1024ul, 4096ul}) {
        size_t lines = mebibytes * 1024 * 1024 / 128;
        std::vector<unsigned> order(lines), host(lines * 32);
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin() + 1, order.end(), std::mt19937_64(1));
        for (size_t i = 0; i < lines; i++) host[size_t(order[i]) * 32] = order[(i + 1) % lines];
        unsigned *next, *place;
        long long *device_time, time;
        cudaMalloc(&next, lines * 128);
        cudaMalloc(&place, sizeof *place);
        cudaMalloc(&device_time, sizeof time);
        cudaMemset(place, 0, sizeof *place);
        cudaMemcpy(next, host.data(), lines * 128, cudaMemcpyHostToDevice);
        std::vector<double> each;
        for (int run = 0; run < runs; run++) {
            chase<<<1, 1>>>(next, loads, place, device_time);
            cudaMemcpy(&time, device_time, sizeof time, cudaMemcpyDeviceToHost);
            each.push_back(double(time) / loads);
        }
        if (cudaGetLastError() != cudaSuccess) return 1;
        std::sort(each.begin(), each.end());
        printf("%5zu MiB: median %.1f ns, %.1f to %.1f\n", mebibytes, each[runs / 2], each[0],
               each[runs - 1]);
        cudaFree(next);
        cudaFree(place);
        cudaFree(device_time);
    }
}
