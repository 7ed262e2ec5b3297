// SPDX-License-Identifier: MIT
// The tuned reduction as part of a CUDA program: the template itself, compiled by nvcc with the constants of the header,
// and its launch geometry as functions. It adds up twice, the second time by a graph.  usage: sum [how many]
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
                   unsigned *done, cudaStream_t stream)
{
    const hone_step sum = hone_reduce_step(HONE_REDUCE_CONFIG, 0, problem);
    const hone_step finish = hone_reduce_step(HONE_REDUCE_CONFIG, 1, problem);
    reduce<<<sum.grid, sum.block, sum.shared_bytes, stream>>>(in, out, problem.SIZE, partial, total, done);
    if (finish.runs)
        reduce_partial<<<finish.grid, finish.block, finish.shared_bytes, stream>>>(
            partial, out, hone_reduce_size(HONE_REDUCE_CONFIG, problem).blocks_value);
}

// What the launches put into a stream, as a graph over the same arguments.
template <typename Launches> static cudaGraphExec_t capture(Launches launches, cudaStream_t stream)
{
    cudaGraph_t captured;
    cudaGraphExec_t graph;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    launches();
    check(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture");
    check(cudaGraphInstantiateWithFlags(&graph, captured, 0), "cudaGraphInstantiateWithFlags");
    check(cudaGraphDestroy(captured), "cudaGraphDestroy");
    return graph;
}

// Whether the sum that the stream ends with is right.
static bool judge(const char *what, const float *out, double expected, int64_t count, cudaStream_t stream)
{
    float sum = 0;
    check(cudaMemcpyAsync(&sum, out, sizeof sum, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream), "the kernel");
    const bool right = std::fabs(sum - expected) <= 1e-5 * static_cast<double>(count);
    printf("%s %.9g, expected %.9g: %s\n", what, sum, expected, right ? "right" : "WRONG");
    return right;
}

int main(int argc, char **argv)
{
    cudaDeviceProp device;
    check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
    hone_reduce_problem problem;
    problem.SIZE = argc > 1 ? atoll(argv[1]) : 1 << 20;
    problem.SM_COUNT = device.multiProcessorCount;
    if (problem.SIZE < 1 || !hone_reduce_usable(HONE_REDUCE_CONFIG, 10 * device.major + device.minor, problem)) {
        fprintf(stderr, "this configuration cannot add up %lld numbers on %s\n", (long long)problem.SIZE, device.name);
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

    cudaStream_t stream; // not the default one, which cannot be captured
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    const auto launches = [&] { launch(problem, in, out, partial, total, done, stream); };
    launches();
    check(cudaGetLastError(), "launch");
    printf("tuned on %s; ", HONE_REDUCE_TUNED_DEVICE);
    bool right = judge("sum", out, expected, problem.SIZE, stream);

    cudaGraphExec_t graph = capture(launches, stream);
    check(cudaMemsetAsync(out, 0, size.out_size, stream), "cudaMemsetAsync");
    check(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
    right = judge("sum by a graph", out, expected, problem.SIZE, stream) && right;
    check(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
    return right ? 0 : 1;
}
