// SPDX-License-Identifier: MIT
// What a launch through hone.hpp costs beside hone_launch.
//
//   bench_launch_cpp CACHE [N]
//
// CACHE holds `scale` (examples/c_driver_api/scale.yaml) tuned for n = N (65536). All launch the same kernel with the same
// arguments in turns, and the host's time for a call is taken over rounds short enough to fit into the stream's queue.
#include <hone.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace {

constexpr int ROUNDS = 2001, CALLS = 100;

void check(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    std::fprintf(stderr, "%s: CUDA error %d\n", what, static_cast<int>(result));
    std::exit(result == CUDA_ERROR_NO_DEVICE ? 77 : 1);
}

template <typename F> double time_calls(F launch)
{
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < CALLS; ++i)
        launch();
    const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
    check(cuCtxSynchronize(), "cuCtxSynchronize");
    return elapsed.count() / CALLS;
}

double quantile(std::vector<double> numbers, double part)
{
    std::sort(numbers.begin(), numbers.end());
    return numbers[static_cast<std::size_t>(part * static_cast<double>(numbers.size() - 1))];
}

void measure(const char *path, int n)
{
    CUdeviceptr x, y;
    CUstream stream;
    check(cuMemAlloc(&x, static_cast<std::size_t>(n) * sizeof(float)), "cuMemAlloc");
    check(cuMemAlloc(&y, static_cast<std::size_t>(n) * sizeof(float)), "cuMemAlloc");
    check(cuStreamCreate(&stream, CU_STREAM_DEFAULT), "cuStreamCreate");
    const hone::cache cache(path);
    const hone::kernel scale = cache.kernel("scale", {{"n", n}});
    constexpr hone::name X{"x"}, Y{"y"}, A{"a"}, N{"n"};
    const std::function<double()> ways[] = {
        [&] {
            return time_calls([&] {
                hone_error err;
                const hone_argument arguments[] = {hone_buffer("x", x), hone_buffer("y", y), hone_float32("a", 2.5f),
                                                   hone_int32("n", n)};
                if (hone_launch(scale.get(), stream, arguments, 4, &err) != HONE_OK)
                    std::exit(1);
            });
        },
        [&] { return time_calls([&] { scale(stream, x, y, 2.5f, N = n); }); },
        [&] { return time_calls([&] { scale(stream, N = n, A = 2.5f, Y = y, X = x); }); },
    };
    const char *const names[] = {"hone_launch", "hone.hpp, in order", "hone.hpp, by name, in reverse"};
    std::vector<double> times[3];
    for (int round = -20; round < ROUNDS; ++round)
        for (std::size_t turn = 0; turn < 3; ++turn) {
            const std::size_t way = (turn + static_cast<std::size_t>(round + 20)) % 3;
            const double ns = ways[way]();
            if (round >= 0)
                times[way].push_back(ns);
        }
    std::printf("a launch of %s through hone.hpp, %d rounds of %d calls, host time\n", scale.info().point, ROUNDS, CALLS);
    for (std::size_t way = 0; way < 3; ++way)
        std::printf("  %-30s median %7.1f ns, 99%% %7.1f ns, %+5.1f ns\n", names[way], quantile(times[way], 0.5),
                    quantile(times[way], 0.99), quantile(times[way], 0.5) - quantile(times[0], 0.5));
    cuMemFree(x);
    cuMemFree(y);
    cuStreamDestroy(stream);
}

} // namespace

int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    const int n = argc > 2 ? std::atoi(argv[2]) : 65536;
    if (argc < 2 || n < 1) {
        std::fprintf(stderr, "usage: %s CACHE [N]\n", argv[0]);
        return 2;
    }
    check(cuInit(0), "cuInit");
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    try {
        measure(argv[1], n);
    } catch (const hone::error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
