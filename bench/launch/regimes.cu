// SPDX-License-Identifier: MIT
// A program that launches the tuned copy as programs do, and times it by the host's clock: in a stream, so many launches
// before it waits, and as graphs of 1, 10 and 20 launches. bench/launch/regimes.py builds it and sets it beside `hone run`.
//   regimes NAME FLOATS    stream20000, stream2000, stream200, graph, graph10, graph20: prints microseconds a launch
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define HONE_COPY_APPLY
#include "copy_tuned.h"
// The template stands on the constants of the header.
#include "copy.cu"
#define HONE_COPY_UNAPPLY
#include "copy_tuned.h"

static void check(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s\n", cudaGetErrorString(error));
    exit(1);
}

// The median of 61 samples, or of as many as take half a second, of `count` calls each, the device idle before and behind;
// over `launches` a call.
template <typename Call> static double time_us(Call call, int count, int launches)
{
    std::vector<double> samples;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    while (samples.size() < 5 || (samples.size() < 61 && std::chrono::steady_clock::now() < end)) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < count; ++i)
            call();
        check(cudaDeviceSynchronize());
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
        samples.push_back(took.count() / count / launches);
    }
    std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
    return samples[samples.size() / 2];
}

int main(int argc, char **argv)
{
    hone_copy_problem problem = HONE_COPY_TUNED_PROBLEM;
    problem.SIZE = argc > 2 ? atoll(argv[2]) : problem.SIZE;
    const hone_step step = hone_copy_step(HONE_COPY_CONFIG, 0, problem);
    const auto size = hone_copy_size(HONE_COPY_CONFIG, problem);
    const char *name = argc > 1 ? argv[1] : "";
    float *in, *out;
    cudaStream_t stream;
    check(cudaMalloc(&in, size.in_size));
    check(cudaMalloc(&out, size.out_size));
    check(cudaMemset(in, 0, size.in_size));
    check(cudaStreamCreate(&stream));
    const auto launch = [&] { copy<<<step.grid, step.block, step.shared_bytes, stream>>>(in, out, problem.SIZE); };
    for (int i = 0; i < 2000; ++i)
        launch();
    check(cudaDeviceSynchronize());

    if (strncmp(name, "stream", 6) == 0 && atoi(name + 6) > 0) {
        printf("%.3f\n", time_us(launch, atoi(name + 6), 1));
        return 0;
    }
    const int length = strcmp(name, "graph") == 0 ? 1 : strncmp(name, "graph", 5) == 0 ? atoi(name + 5) : 0;
    if (length < 1) {
        fprintf(stderr, "expected streamN or graphN, with N launches, found '%s'\n", name);
        return 2;
    }
    cudaGraph_t captured;
    cudaGraphExec_t graph;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < length; ++i)
        launch();
    check(cudaStreamEndCapture(stream, &captured));
    check(cudaGraphInstantiateWithFlags(&graph, captured, 0));
    printf("%.3f\n", time_us([&] { check(cudaGraphLaunch(graph, stream)); }, 2000 / length, length));
    return 0;
}
