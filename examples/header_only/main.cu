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
static void launch(const float *in, float *out, int64_t size, int sms, float *partial, float *total, unsigned *done)
{
    reduce<<<hone_reduce_step1_grid(size, sms), hone_reduce_step1_block(size, sms), hone_reduce_step1_shared_bytes(size, sms)>>>(
        in, out, size, partial, total, done);
    if (hone_reduce_step2_runs(size, sms))
        reduce_partial<<<hone_reduce_step2_grid(size, sms), hone_reduce_step2_block(size, sms),
                         hone_reduce_step2_shared_bytes(size, sms)>>>(partial, out, hone_reduce_blocks_value(size, sms));
}

int main(int argc, char **argv)
{
    const int64_t size = argc > 1 ? atoll(argv[1]) : 1 << 20;
    cudaDeviceProp device;
    check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
    const int sms = device.multiProcessorCount, capability = 10 * device.major + device.minor;
    if (size < 1 || !hone_reduce_usable(HONE_REDUCE_CONFIG, capability, size, sms)) {
        fprintf(stderr, "this configuration can not add up %lld numbers on %s\n", (long long)size, device.name);
        return 1;
    }

    std::vector<float> numbers(static_cast<size_t>(size));
    double expected = 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = static_cast<float>(i % 7) - 2.5f;
        expected += numbers[i];
    }
    float *in = allocate<float>(hone_reduce_in_size(size, sms)), *out = allocate<float>(hone_reduce_out_size(size, sms));
    float *partial = allocate<float>(hone_reduce_partial_size(size, sms));
    float *total = allocate<float>(hone_reduce_total_size(size, sms));
    unsigned *done = allocate<unsigned>(hone_reduce_done_size(size, sms));
    check(cudaMemcpy(in, numbers.data(), numbers.size() * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy");

    float sum = 0;
    launch(in, out, size, sms, partial, total, done);
    check(cudaGetLastError(), "launch");
    check(cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost), "the kernel");

    const bool right = std::fabs(sum - expected) <= 1e-5 * static_cast<double>(size);
    printf("tuned on %s; sum %.9g, expected %.9g: %s\n", HONE_REDUCE_TUNED_DEVICE, sum, expected, right ? "right" : "WRONG");
    return right ? 0 : 1;
}
