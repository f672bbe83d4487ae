// The cycles of one instruction where a loop is larger than what caches of instructions hold.
//
//   nvcc -O3 -arch=native -o instruction_fetch benchmarks/instruction_fetch.cu && ./instruction_fetch
//
// Prints for each size of a loop's code, with a CTA of four warps on each of 8 and of all SMs, the
// cycles between two instructions of a warp: the median of nine runs of the slowest CTA.
#include <algorithm>
#include <cstdio>
#include <vector>

#define FOUR a = fmaf(a, b, c); d = fmaf(d, b, c); e = fmaf(e, b, c); f = fmaf(f, b, c);
#define SIXTEEN FOUR FOUR FOUR FOUR
#define K1 SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN \
    SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN \
    SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN \
    SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN \
    SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN \
    SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN
#define LOOP(name, body)                                                                 \
    __global__ void name(float *x, int rounds, long long *cycles) {                      \
        float a = x[threadIdx.x], b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5; \
        long long begun = clock64();                                                     \
        _Pragma("unroll 1") for (int i = 0; i < rounds; i++) { body }                    \
        x[threadIdx.x] = a + d + e + f;                                                  \
        if (threadIdx.x == 0) cycles[blockIdx.x] = clock64() - begun;                    \
    }
LOOP(loop2, K1 K1)
LOOP(loop3, K1 K1 K1)
LOOP(loop5, K1 K1 K1 K1 K1)
LOOP(loop7, K1 K1 K1 K1 K1 K1 K1)
LOOP(loop9, K1 K1 K1 K1 K1 K1 K1 K1 K1)
LOOP(loop16, K1 K1 K1 K1 K1 K1 K1 K1 K1 K1 K1 K1 K1 K1 K1 K1)

int main() {
    void (*loops[])(float *, int, long long *) = {loop2, loop3, loop5, loop7, loop9, loop16};
    const int sizes[] = {2, 3, 5, 7, 9, 16};
    float *x;
    long long *cycles;
    int sms;
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    cudaMalloc(&x, 128 * sizeof *x);
    cudaMemset(x, 0, 128 * sizeof *x);
    cudaMallocManaged(&cycles, sms * sizeof *cycles);
    for (int i = 0; i < 6; i++)
        for (int ctas : {8, sms}) {
            long long taken[2];
            for (int longer : {0, 1}) {
                std::vector<long long> runs;
                for (int run = 0; run < 9; run++) {
                    loops[i]<<<ctas, 128>>>(x, longer ? 12 : 4, cycles);
                    cudaDeviceSynchronize();
                    runs.push_back(*std::max_element(cycles, cycles + ctas));
                }
                std::sort(runs.begin(), runs.end());
                taken[longer] = runs[4];
            }
            double each = double(taken[1] - taken[0]) / 8 / (sizes[i] * 1024);
            printf("%d KB, %d CTAs: %.2f cycles\n", sizes[i] * 16, ctas, each);
        }
}
