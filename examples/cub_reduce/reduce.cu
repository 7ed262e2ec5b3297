// SPDX-License-Identifier: MIT
// cub::DeviceReduce::Sum of 2^26 floats with a tuning of our own: the median time of launches on a cold L2 cache, as
// JSON. With an argument it compares the sum instead.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <cub/cub.cuh>

struct Hub {
    struct Policy : cub::ChainedPolicy<500, Policy, Policy> {
        using ReducePolicy = cub::AgentReducePolicy<THREADS, ITEMS, float, VECTOR, cub::BLOCK_REDUCE_WARP_REDUCTIONS,
                                                    cub::LOAD_LDG>;
        using SingleTilePolicy = ReducePolicy;
        using SegmentedReducePolicy = ReducePolicy;
    };
    using MaxPolicy = Policy;
};

using Sum = cub::DispatchReduce<const float *, float *, int, ::cuda::std::plus<>, float, float, ::cuda::std::identity, Hub>;

static void must(cudaError_t error)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "error: %s\n", cudaGetErrorString(error));
        exit(1);
    }
}

int main(int argc, char **)
{
    const int n = 1 << 26, runs = 31;
    const size_t flushed = 256 << 20;
    std::vector<float> numbers(n), times(runs);
    for (int i = 0; i < n; i++)
        numbers[i] = static_cast<float>(i % 4);
    float *x, *sum, result;
    void *scratch = nullptr, *flush;
    size_t bytes = 0;
    cudaEvent_t start, end;
    must(cudaMalloc(&x, n * sizeof(float)));
    must(cudaMalloc(&sum, sizeof(float)));
    must(cudaMalloc(&flush, flushed));
    must(cudaMemcpy(x, numbers.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    must(Sum::Dispatch(nullptr, bytes, x, sum, n, {}, 0.0f, nullptr));
    must(cudaMalloc(&scratch, bytes));
    must(cudaEventCreate(&start));
    must(cudaEventCreate(&end));
    for (float &time : times) {
        must(cudaMemset(flush, 0, flushed));
        must(cudaEventRecord(start));
        must(Sum::Dispatch(scratch, bytes, x, sum, n, {}, 0.0f, nullptr));
        must(cudaEventRecord(end));
        must(cudaEventSynchronize(end));
        must(cudaEventElapsedTime(&time, start, end));
    }
    must(cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost));
    std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
    if (argc > 1)
        return std::fabs(result - 1.5f * n) > 1e-4f * n;
    printf("{\"median_ms\": %.6f, \"sum\": %.9g}\n", times[runs / 2], result);
}
