// SPDX-License-Identifier: MIT
// The tuned reduction as part of a CUDA program: the template itself, compiled by nvcc with the constants of the header,
// and its launch geometry as functions.  usage: sum [how many]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define HONE_REDUCE_APPLY // BLOCK, ITEMS, FINISH, ... as tuned: what the template reads
#include "reduce_tuned.h"
#include "reduce.cu"
#define HONE_REDUCE_UNAPPLY // and away with them: other code may have names like these
#include "reduce_tuned.h"

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

// Device memory for `bytes` bytes, zeroed: counters begin at zero.
template <typename T> static T *allocate(size_t bytes)
{
    void *buffer = nullptr;
    check(cudaMalloc(&buffer, bytes), "cudaMalloc");
    check(cudaMemset(buffer, 0, bytes), "cudaMemset");
    return static_cast<T *>(buffer);
}

// out[0] = the sum of in. The second kernel is there for configurations that need one.
static void launch(const hone_reduce_problem &problem, const float *in, float *out, float *partial, float *total,
                   unsigned *done)
{
    const hone_step sum = hone_reduce_step(HONE_REDUCE_CONFIG, 0, problem);
    const hone_step finish = hone_reduce_step(HONE_REDUCE_CONFIG, 1, problem);
    reduce<<<sum.grid, sum.block, sum.shared_bytes>>>(in, out, problem.SIZE, partial, total, done);
    if (finish.runs)
        reduce_partial<<<finish.grid, finish.block, finish.shared_bytes>>>(
            partial, out, hone_reduce_size(HONE_REDUCE_CONFIG, problem).blocks_value);
}

int main(int argc, char **argv)
{
    cudaDeviceProp device;
    check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
    hone_reduce_problem problem;
    problem.SIZE = argc > 1 ? atoll(argv[1]) : 1 << 20;
    problem.SM_COUNT = device.multiProcessorCount;
    if (problem.SIZE < 1 || !hone_reduce_usable(HONE_REDUCE_CONFIG, 10 * device.major + device.minor, problem)) {
        fprintf(stderr, "this configuration can not add up %lld numbers on %s\n", (long long)problem.SIZE, device.name);
        return 1;
    }

    std::vector<float> numbers(static_cast<size_t>(problem.SIZE));
    double expected = 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = static_cast<float>(i % 7) - 2.5f;
        expected += numbers[i];
    }
    const auto size = hone_reduce_size(HONE_REDUCE_CONFIG, problem);
    float *in = allocate<float>(size.in_size), *out = allocate<float>(size.out_size);
    float *partial = allocate<float>(size.partial_size), *total = allocate<float>(size.total_size);
    unsigned *done = allocate<unsigned>(size.done_size);
    check(cudaMemcpy(in, numbers.data(), numbers.size() * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy");

    float sum = 0;
    launch(problem, in, out, partial, total, done);
    check(cudaGetLastError(), "launch");
    check(cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost), "the kernel");

    const bool right = std::fabs(sum - expected) <= 1e-5 * static_cast<double>(problem.SIZE);
    printf("tuned on %s; sum %.9g, expected %.9g: %s\n", HONE_REDUCE_TUNED_DEVICE, sum, expected, right ? "right" : "WRONG");
    return right ? 0 : 1;
}
