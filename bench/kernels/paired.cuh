// SPDX-License-Identifier: MIT
// A tuned kernel beside the vendor's, in pairs: both run in every round, one after the other, each with a cold L2 cache
// and queued behind the kernel that flushes it, so that neither cached data, nor the host's launch latency, nor a change
// of the clocks is part of what is compared. Told is the median of the rounds' ratios with its 95% interval, which order
// statistics give without a model of the noise.
#ifndef HONE_BENCH_PAIRED_CUH
#define HONE_BENCH_PAIRED_CUH

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) check(call, #call, __FILE__, __LINE__)

static inline void check(cudaError_t status, const char *call, const char *file, int line)
{
    if (status == cudaSuccess)
        return;
    std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(status));
    std::exit(1);
}

template <typename T> T *allocate(size_t count)
{
    T *data;
    CHECK(cudaMalloc(&data, count * sizeof(T)));
    CHECK(cudaMemset(data, 0, count * sizeof(T)));
    return data;
}

template <typename T> std::vector<T> from_device(const T *data, size_t count)
{
    std::vector<T> copy(count);
    CHECK(cudaMemcpy(copy.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
    return copy;
}

static __global__ void read_all(const float4 *data, size_t count, float *sink)
{
    float sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        sum += data[i].x + data[i].y + data[i].z + data[i].w;
    if (sum == 0.5f) // never: keeps the reads alive
        *sink = sum;
}

// The bits of a hash of each index: what draws as much power as any data, unlike zeros.
static __device__ unsigned scrambled(size_t i)
{
    unsigned bits = (unsigned)i * 2654435761u;
    bits ^= bits >> 15;
    bits *= 2246822519u;
    return bits ^ bits >> 13;
}

static __global__ void fill_reals(float *data, size_t count, size_t salt = 0) // from -1 to 1
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        data[i] = (float)(scrambled(i + salt) >> 8) * 0x1p-23f - 1;
}

static __global__ void fill_words(unsigned *data, size_t count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        data[i] = scrambled(i);
}

static __global__ void count_differences(const unsigned *a, const unsigned *b, size_t count,
                                         unsigned long long *differences)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        if (a[i] != b[i])
            atomicAdd(differences, 1ull);
}

// Whether `count` words of 4 bytes are equal to the bit.
static inline bool equal(const void *a, const void *b, size_t count)
{
    auto *differences = allocate<unsigned long long>(1);
    count_differences<<<1024, 256>>>((const unsigned *)a, (const unsigned *)b, count, differences);
    const bool same = from_device(differences, 1)[0] == 0;
    CHECK(cudaFree(differences));
    return same;
}

static __global__ void sum_hashes(const unsigned *data, size_t count, unsigned long long *sum)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        atomicAdd(sum, (unsigned long long)scrambled(data[i]) * scrambled(~data[i]));
}

// Whether `count` words of 4 bytes are the same in some order, as far as a sum of hashes tells.
static inline bool equal_in_any_order(const void *a, const void *b, size_t count)
{
    auto *sums = allocate<unsigned long long>(2);
    sum_hashes<<<1024, 256>>>((const unsigned *)a, count, sums);
    sum_hashes<<<1024, 256>>>((const unsigned *)b, count, sums + 1);
    const auto found = from_device(sums, 2);
    CHECK(cudaFree(sums));
    return found[0] == found[1];
}

static inline void require(bool right, const char *what)
{
    if (right)
        return;
    std::fprintf(stderr, "wrong result: %s\n", what);
    std::exit(1);
}

struct interval {
    double low, median, high;
};

// Of the median, 95%: the order statistics whose ranks lie 0.98 sqrt(n) from the middle.
static inline interval median_of(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    const double n = (double)values.size(), reach = 0.98 * std::sqrt(n);
    const auto at = [&](double rank) { return values[(size_t)std::clamp(rank, 0.0, n - 1)]; };
    return {at(std::floor((n - 1) / 2 - reach)), at(std::floor((n - 1) / 2)), at(std::ceil((n - 1) / 2 + reach))};
}

// The clock of a multiprocessor, over 50 us.
static __global__ void read_clock(double *mhz)
{
    unsigned long long start_ns, now_ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start_ns));
    const long long start = clock64();
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now_ns));
    while (now_ns - start_ns < 50000);
    *mhz = (double)(clock64() - start) * 1e3 / (double)(now_ns - start_ns);
}

class pairing
{
  public:
    explicit pairing(int rounds = 101) : rounds(rounds)
    {
        flush = allocate<float4>(flush_count);
        clock_mhz = allocate<double>(1);
        CHECK(cudaEventCreate(&start));
        CHECK(cudaEventCreate(&stop));
    }
    ~pairing()
    {
        cudaEventDestroy(stop);
        cudaEventDestroy(start);
        cudaFree(clock_mhz);
        cudaFree(flush);
    }

    // Prints a line: the peer's time, the tuned kernel's, the clock behind a last launch of that, and the ratio of the tuned time
    // to the peer's, which is to stay within `most`. bytes are what one launch has to move.
    template <typename Peer, typename Tuned>
    void compare(const char *what, const char *peer_name, double bytes, double most, Peer peer, Tuned tuned, bool warm = false)
    {
        std::vector<double> peer_us, tuned_us, ratio;
        for (int round = -3; round < rounds; ++round) { // the first three warm up
            double of_peer, of_tuned;
            if (round % 2 == 0) {
                of_peer = measure(peer, warm);
                of_tuned = measure(tuned, warm);
            } else {
                of_tuned = measure(tuned, warm);
                of_peer = measure(peer, warm);
            }
            if (round < 0)
                continue;
            peer_us.push_back(of_peer);
            tuned_us.push_back(of_tuned);
            ratio.push_back(of_tuned / of_peer);
        }
        tuned();
        read_clock<<<1, 1>>>(clock_mhz);
        const double mhz = from_device(clock_mhz, 1)[0];
        const double theirs = median_of(peer_us).median, ours = median_of(tuned_us).median;
        const interval r = median_of(ratio);
        std::printf("%-30s | %-38s | %9.1f us %5.0f GB/s | tuned %9.1f us %5.0f GB/s, %4.0f MHz | ratio %.4f [%.4f, %.4f], at most "
                    "%.3f: %s\n",
                    what, peer_name, theirs, bytes / theirs / 1000, ours, bytes / ours / 1000, mhz, r.median, r.low, r.high,
                    most, r.high <= most ? "met" : "MISSED");
        std::fflush(stdout);
    }

    // Microseconds that one run takes, with a cold L2 cache; or warm one of ten behind another, queued while the flush runs.
    template <typename Candidate> double measure(Candidate candidate, bool warm = false)
    {
        const int runs = warm ? 10 : 1;
        float ms = 0;
        read_all<<<1024, 256>>>(flush, flush_count, (float *)flush);
        if (warm)
            candidate();
        CHECK(cudaEventRecord(start));
        for (int i = 0; i < runs; ++i)
            candidate();
        CHECK(cudaEventRecord(stop));
        CHECK(cudaGetLastError());
        CHECK(cudaEventSynchronize(stop));
        CHECK(cudaEventElapsedTime(&ms, start, stop));
        return ms * 1000.0 / runs;
    }

  private:
    static constexpr size_t flush_count = (256u << 20) / sizeof(float4);
    const int rounds;
    float4 *flush;
    double *clock_mhz;
    cudaEvent_t start, stop;
};

#endif
