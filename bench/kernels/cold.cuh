// SPDX-License-Identifier: MIT
// Medians of cold launches: between samples a kernel reads more than the L2 cache holds, and what is measured is queued
// behind it, so that neither cached data nor the host's launch latency is part of the time.
#ifndef HONE_BENCH_COLD_CUH
#define HONE_BENCH_COLD_CUH

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call) check(call, #call, __FILE__, __LINE__)

static inline void check(cudaError_t status, const char *call, const char *file, int line)
{
    if (status == cudaSuccess)
        return;
    std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(status));
    std::exit(1);
}

static __global__ void read_all(const float4 *data, size_t count, float *sink)
{
    float sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        sum += data[i].x + data[i].y + data[i].z + data[i].w;
    if (sum == 0.5f) // never: keeps the reads alive
        *sink = sum;
}

// Values that differ from element to element: zeros draw less power and time too well.
static __global__ void fill(float *data, size_t count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        data[i] = (float)((unsigned)i * 2654435761u >> 8) * 0x1p-23f - 1;
}

static __global__ void count_differences(const float *a, const float *b, size_t count, unsigned long long *differences)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        if (__float_as_uint(a[i]) != __float_as_uint(b[i]))
            atomicAdd(differences, 1ull);
}

static inline bool equal(const float *a, const float *b, size_t count)
{
    unsigned long long *differences, found;
    CHECK(cudaMalloc(&differences, sizeof *differences));
    CHECK(cudaMemset(differences, 0, sizeof *differences));
    count_differences<<<1024, 256>>>(a, b, count, differences);
    CHECK(cudaMemcpy(&found, differences, sizeof found, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(differences));
    return found == 0;
}

// Microseconds; the runs of all candidates are interleaved, so that a change of the clocks meets each of them.
template <typename... Candidates> std::vector<double> cold_medians(int rounds, Candidates... candidates)
{
    const size_t flush_bytes = (size_t)256 << 20;
    float4 *flush;
    cudaEvent_t start, stop;
    CHECK(cudaMalloc(&flush, flush_bytes));
    CHECK(cudaMemset(flush, 0, flush_bytes));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));

    std::vector<std::vector<double>> samples(sizeof...(candidates));
    auto measure = [&](auto candidate, std::vector<double> &times, bool keep) {
        float ms = 0;
        read_all<<<1024, 256>>>(flush, flush_bytes / sizeof *flush, (float *)flush);
        CHECK(cudaEventRecord(start));
        candidate();
        CHECK(cudaEventRecord(stop));
        CHECK(cudaGetLastError());
        CHECK(cudaEventSynchronize(stop));
        CHECK(cudaEventElapsedTime(&ms, start, stop));
        if (keep)
            times.push_back(ms * 1000.0);
    };
    for (int round = -3; round < rounds; round++) { // the first three warm up
        size_t i = 0;
        (measure(candidates, samples[i++], round >= 0), ...);
    }

    std::vector<double> medians;
    for (auto &times : samples) {
        std::sort(times.begin(), times.end());
        medians.push_back(times[times.size() / 2]);
    }
    CHECK(cudaEventDestroy(stop));
    CHECK(cudaEventDestroy(start));
    CHECK(cudaFree(flush));
    return medians;
}

static inline void print_bandwidth(const char *name, double bytes, double us, double memcpy_us)
{
    std::printf("%-24s %10.1f us %8.0f GB/s  %.3f of memcpy\n", name, us, bytes / us / 1000, memcpy_us / us);
}

#endif
