// SPDX-License-Identifier: MIT
// The tuned pipeline, from host memory to host memory, beside what bounds it and what is written by hand: plain copies of
// as much, the kernel alone, all in one stream, and the best of some chunks and streams. All of it is pinned memory.
#include "paired.cuh"

#define HONE_PIPELINE_APPLY
#include "pipeline_tuned.h"
#include "../../templates/pipeline.cu"

#if HOST_MEMORY != HOST_MEMORY_pinned && HOST_MEMORY != HOST_MEMORY_write_combined
#error "the pipeline was tuned to other than pinned memory"
#endif

static constexpr int64_t size = HONE_PIPELINE_TUNED_SIZE;
static constexpr int work = HONE_PIPELINE_TUNED_WORK;
static constexpr int64_t granule = 1024;
static constexpr int most_streams = 32;

struct buffers {
    float *host_in, *host_out, *in, *out;
    cudaStream_t streams[most_streams];
    cudaEvent_t start, stop;
};

struct plan {
    int chunks, streams;
    bool breadth_first;
};

static void upload(const buffers &b, int64_t begin, int64_t count, cudaStream_t stream)
{
    CHECK(cudaMemcpyAsync(b.in + begin, b.host_in + begin, count * sizeof(float), cudaMemcpyHostToDevice, stream));
}

static void download(const buffers &b, int64_t begin, int64_t count, cudaStream_t stream)
{
    CHECK(cudaMemcpyAsync(b.host_out + begin, b.out + begin, count * sizeof(float), cudaMemcpyDeviceToHost, stream));
}

static void compute(const buffers &b, int64_t begin, int64_t count, cudaStream_t stream)
{
    const int64_t elements = (int64_t)BLOCK * items;
    pipeline<<<(unsigned)((count + elements - 1) / elements), BLOCK, 0, stream>>>(b.in + begin, b.out + begin, count, work);
}

static int64_t bound(const plan &p, int chunk)
{
    const int64_t granules = (size + granule - 1) / granule;
    return std::min(size, granules * chunk / p.chunks * granule);
}

// One round through the streams after another; depth first: a chunk's three stages together.
static void issue(const buffers &b, const plan &p)
{
    using stage = void (*)(const buffers &, int64_t, int64_t, cudaStream_t);
    static constexpr stage stages[] = {upload, compute, download};
    for (int first = 0; first < p.chunks; first += p.streams) {
        const int last = std::min(first + p.streams, p.chunks);
        const auto run = [&](stage what, int c) {
            what(b, bound(p, c), bound(p, c + 1) - bound(p, c), b.streams[c % p.streams]);
        };
        if (p.breadth_first)
            for (const stage what : stages)
                for (int c = first; c < last; ++c)
                    run(what, c);
        else
            for (int c = first; c < last; ++c)
                for (const stage what : stages)
                    run(what, c);
    }
}

// Milliseconds from an event before the first to one behind the last of all streams: the default stream waits for the
// others, and they for it.
template <typename Work> static double measure(const buffers &b, Work work_of)
{
    float ms;
    CHECK(cudaEventRecord(b.start));
    work_of();
    CHECK(cudaEventRecord(b.stop));
    CHECK(cudaGetLastError());
    CHECK(cudaEventSynchronize(b.stop));
    CHECK(cudaEventElapsedTime(&ms, b.start, b.stop));
    return ms;
}

static void check_result(const buffers &b)
{
    for (int64_t i = 0; i < size; i += size / 61) {
        double value = 0;
        for (int step = 0; step < work; ++step)
            value = (double)0.9995f * value + b.host_in[i];
        require(std::fabs(b.host_out[i] - value) <= 1.5e-4 * 2000, "pipeline");
    }
}

static plan best_by_hand(const buffers &b)
{
    plan best = {};
    double least = INFINITY;
    for (const int streams : {2, 3, 4, 8})
        for (const int chunks : {8, 16, 32, 64}) {
            const plan p = {chunks, streams, false};
            std::vector<double> times;
            for (int round = 0; round < 3; ++round)
                times.push_back(measure(b, [&] { issue(b, p); }));
            const double ms = median_of(times).median;
            if (ms < least) {
                least = ms;
                best = p;
            }
        }
    return best;
}

static void set_up(buffers &b)
{
    const size_t bytes = size * sizeof(float);
    CHECK(cudaMallocHost(&b.host_in, bytes));
    CHECK(cudaMallocHost(&b.host_out, bytes));
    b.in = allocate<float>(size);
    b.out = allocate<float>(size);
    CHECK(cudaEventCreate(&b.start));
    CHECK(cudaEventCreate(&b.stop));
    for (cudaStream_t &stream : b.streams)
        CHECK(cudaStreamCreate(&stream));
    fill_reals<<<1024, 256>>>(b.in, size);
    CHECK(cudaMemcpy(b.host_in, b.in, bytes, cudaMemcpyDeviceToHost));
    std::memset(b.host_out, 0xFF, bytes);
}

enum kind { UP, DOWN, BOTH, KERNEL, SEQUENTIAL, HAND, TUNED, KINDS };

static const plan sequential = {1, 1, false};
static const plan tuned = {CHUNKS, STREAMS, ORDER == ORDER_breadth_first};

static double measure_kind(const buffers &b, int kind, const plan &hand)
{
    return measure(b, [&] {
        if (kind == UP || kind == BOTH)
            upload(b, 0, size, b.streams[0]);
        if (kind == DOWN || kind == BOTH)
            download(b, 0, size, b.streams[1]);
        if (kind == KERNEL)
            compute(b, 0, size, b.streams[0]);
        if (kind >= SEQUENTIAL)
            issue(b, kind == SEQUENTIAL ? sequential : kind == HAND ? hand : tuned);
    });
}

struct measured {
    std::vector<double> times[KINDS], of_hand, of_sequential;
};

// In turns, every second round backwards; the first one does not count.
static measured measure_all(const buffers &b, const plan &hand)
{
    static constexpr int rounds = 15;
    measured all;
    for (int round = -1; round < rounds; ++round) {
        double ms[KINDS];
        for (int i = 0; i < KINDS; ++i) {
            const int kind = round % 2 == 0 ? i : KINDS - 1 - i;
            ms[kind] = measure_kind(b, kind, hand);
        }
        if (round < 0)
            continue;
        for (int i = 0; i < KINDS; ++i)
            all.times[i].push_back(ms[i]);
        all.of_hand.push_back(ms[TUNED] / ms[HAND]);
        all.of_sequential.push_back(ms[SEQUENTIAL] / ms[TUNED]);
    }
    return all;
}

static void print(const measured &all, const plan &hand)
{
    static const char *const names[] = {"copy up", "copy down", "both at once", "kernel alone",
                                        "all in one stream", "by hand", "tuned"};
    const size_t bytes = size * sizeof(float);
    const double mib = bytes / 0x1p20;
    std::printf("pipeline, %.0f MiB up and down, %d steps; tuned: %d chunks, %d streams, %s; by hand: %d chunks, %d streams\n",
                mib, work, tuned.chunks, tuned.streams, tuned.breadth_first ? "breadth first" : "depth first", hand.chunks,
                hand.streams);
    double median[KINDS];
    for (int i = 0; i < KINDS; ++i) {
        median[i] = median_of(all.times[i]).median;
        const double moved = (i == UP || i == DOWN ? 1.0 : i == KERNEL ? 0.0 : 2.0) * bytes;
        std::printf("  %-18s %8.3f ms %7.2f GB/s\n", names[i], median[i], moved / median[i] / 1e6);
    }
    std::printf("  %-18s %8.3f ms, when it was tuned\n", "tuned", HONE_PIPELINE_TUNED_TIME_US / 1000);
    const double limit = std::max({median[UP], median[DOWN], median[KERNEL]});
    const interval hand_ratio = median_of(all.of_hand), gain = median_of(all.of_sequential);
    std::printf("  limit %.3f ms, reached to %.4f, at least 0.95: %s\n", limit, limit / median[TUNED],
                limit / median[TUNED] >= 0.95 ? "met" : "MISSED");
    std::printf("  %.3f [%.3f, %.3f] times faster than in one stream, at least 1.8: %s\n", gain.median, gain.low, gain.high,
                gain.low >= 1.8 ? "met" : "MISSED");
    std::printf("  ratio of the tuned time to that by hand %.4f [%.4f, %.4f], at most 1.01: %s\n", hand_ratio.median,
                hand_ratio.low, hand_ratio.high, hand_ratio.high <= 1.01 ? "met" : "MISSED");
}

int main()
{
    buffers b;
    set_up(b);
    issue(b, tuned);
    CHECK(cudaDeviceSynchronize());
    check_result(b);
    const plan hand = best_by_hand(b);
    const measured all = measure_all(b, hand);
    check_result(b);
    print(all, hand);
    return 0;
}
