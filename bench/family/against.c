/* SPDX-License-Identifier: MIT */
/* What libhone chooses for problems, beside other caches and the vendor's function, in one process.
 *
 *   bench_family KERNEL NAME=CACHE... [--peers LIBRARY] [--rounds N] [--seconds S] <PROBLEMS
 *
 * PROBLEMS has a JSON object a line. Nothing is compiled. A cache named raced races points of its
 * rule first, in launches with a cold L2 cache. For each, one JSON line comes out: what each cache
 * chose, how long hone_get took, medians of times with their 95% intervals, with a cold L2 cache
 * and with a warm one, and of the ratios of the others' times to the first cache's, by rounds. Not
 * more than S seconds (1) are spent on the rounds of one problem, and not more than N (41) of them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sides.h"

enum { MOST_ROUNDS = 401, LEAST_ROUNDS = 5 };

struct bench {
    struct sides sides;
    int rounds;
    double seconds;
    CUcontext context;
    CUevent start, stop;
    CUdeviceptr flush;
    size_t flush_bytes;
};

struct times {
    double us[MOST_SIDES][MOST_ROUNDS];
    int count;
    char kernels[512]; /* of the vendor */
};

static void require(CUresult result, const char *what)
{
    const char *text = "unknown error";
    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorString(result, &text);
    fprintf(stderr, "bench_family: %s: %s\n", what, text);
    exit(result == CUDA_ERROR_NO_DEVICE ? 77 : 1);
}

static void make_buffers(struct bench *bench)
{
    require(cuEventCreate(&bench->start, CU_EVENT_DEFAULT), "cuEventCreate");
    require(cuEventCreate(&bench->stop, CU_EVENT_DEFAULT), "cuEventCreate");
    require(cuMemAlloc(&bench->flush, bench->flush_bytes), "cuMemAlloc");
    require(cuMemsetD8Async(bench->flush, 0, bench->flush_bytes, NULL), "cuMemsetD8Async");
}

static void open_gpu(struct bench *bench)
{
    CUdevice device;
    int l2_bytes = 0;
    char name[128];
    require(cuInit(0), "cuInit");
    require(cuDeviceGet(&device, 0), "cuDeviceGet");
    require(cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName");
    require(cuDeviceGetAttribute(&l2_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device),
            "cuDeviceGetAttribute");
    require(cuDevicePrimaryCtxRetain(&bench->context, device), "cuDevicePrimaryCtxRetain");
    require(cuCtxSetCurrent(bench->context), "cuCtxSetCurrent");
    bench->flush_bytes = 2 * (size_t)l2_bytes;
    make_buffers(bench);
    fprintf(stderr, "bench_family: on %s\n", name);
}

/* In front of each launch, so that it is queued before the GPU comes to it. */
static int flush(struct bench *bench)
{
    if (bench->sides.peer.read != NULL)
        return bench->sides.peer.read((void *)(uintptr_t)bench->flush, bench->flush_bytes) == 0;
    return sides_check(&bench->sides, cuMemsetD8Async(bench->flush, 0, bench->flush_bytes, NULL),
                       "cuMemsetD8Async");
}

/* A CUDA runtime that does not find what it needs of the driver leaves nothing as it was. */
static void choose_flush(struct bench *bench)
{
    struct peer *peer = &bench->sides.peer;
    if (peer->read != NULL && flush(bench) && cuCtxSynchronize() == CUDA_SUCCESS)
        return;
    if (peer->read != NULL)
        peer_give_up(peer, "the CUDA runtime does not run here");
    peer->read = NULL;
    require(cuCtxSetCurrent(bench->context), "cuCtxSetCurrent");
    make_buffers(bench);
    fprintf(stderr, "bench_family: THE L2 CACHE IS FLUSHED BY WRITES, which leaves lines to be "
                    "written back: peers.cu's library is not there, or does not run here\n");
}

/* Below 0: it failed. A launch of its own comes first in either regime: a kernel that follows
 * another takes 0.7 us longer on an H200, and the order of the sides would say which does. */
static double time_side(struct bench *bench, struct side *side, int warm)
{
    float milliseconds = 0;
    struct sides *sides = &bench->sides;
    if ((!warm && !side_launch(sides, side)) || !flush(bench) ||
        (warm && !side_launch(sides, side)) ||
        !sides_check(sides, cuEventRecord(bench->start, NULL), "cuEventRecord") ||
        !side_launch(sides, side) ||
        !sides_check(sides, cuEventRecord(bench->stop, NULL), "cuEventRecord") ||
        !sides_check(sides, cuEventSynchronize(bench->stop), "a launch") ||
        !sides_check(sides, cuEventElapsedTime(&milliseconds, bench->start, bench->stop),
                     "cuEventElapsedTime"))
        return -1;
    return milliseconds * 1000.0;
}

/* What the last side launched last agrees with all others. */
static int is_right(struct sides *sides)
{
    for (size_t i = 0; i + 1 < sides->count; i++)
        if (!sides_agree(sides, &sides->items[i]))
            return 0;
    return 1;
}

/* Of the algorithms that the vendor has for a problem the fastest of those whose results are right,
 * the best of five runs each. */
static int choose_way(struct bench *bench, int warm)
{
    enum { RUNS = 5 };
    struct peer *peer = &bench->sides.peer;
    double best = INFINITY;
    int fastest = 0;
    peer->way = 0;
    do {
        double least = INFINITY;
        for (int run = 0; run < RUNS; run++) {
            double us = time_side(bench, &bench->sides.items[bench->sides.count - 1], warm);
            if (us < 0)
                return 0;
            least = fmin(least, us);
        }
        if (least < best && is_right(&bench->sides)) {
            best = least;
            fastest = peer->way;
        }
    } while (++peer->way < peer->ways);
    peer->way = fastest;
    return isfinite(best);
}

static int finish_race(struct bench *bench, struct side *side)
{
    enum { MOST_LAUNCHES = 200 };
    struct hone_race race;
    for (int i = 0; i < MOST_LAUNCHES; i++) {
        if (hone_kernel_race(side->kernel, &race) != HONE_OK || race.finished)
            return 1;
        if (time_side(bench, side, 0) < 0)
            return 0;
    }
    snprintf(bench->sides.failure, sizeof bench->sides.failure,
             "a race did not end within %d launches", MOST_LAUNCHES);
    return 0;
}

/* All sides in every round, in an order that turns. The first two rounds warm up. */
static int measure(struct bench *bench, int warm, struct times *times)
{
    struct sides *sides = &bench->sides;
    if (!choose_way(bench, warm))
        return 0;
    double began = now_us();
    times->count = 0;
    for (int round = -2; round < bench->rounds; round++) {
        for (size_t i = 0; i < sides->count; i++) {
            size_t turn = (i + (size_t)(round + 2)) % sides->count;
            double us = time_side(bench, &sides->items[turn], warm);
            if (us < 0)
                return 0;
            if (round >= 0)
                times->us[turn][round] = us;
        }
        times->count = round < 0 ? 0 : round + 1;
        if (times->count >= LEAST_ROUNDS && now_us() - began > bench->seconds * 0.5e6)
            break;
    }
    peer_describe(&sides->peer, times->kernels, sizeof times->kernels);
    return 1;
}

/* Of the median, 95%: the order statistics whose ranks lie 0.98 sqrt(n) from the middle. */
static json_t *median_of(const double *values, int count)
{
    double sorted[MOST_ROUNDS];
    double middle = (count - 1) / 2.0, reach = 0.98 * sqrt(count);
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_reals);
    return json_pack("[f,f,f]", sorted[(int)fmax(0, floor(middle - reach))],
                     (sorted[(int)floor(middle)] + sorted[(int)ceil(middle)]) / 2,
                     sorted[(int)fmin(count - 1, ceil(middle + reach))]);
}

static json_t *ratio_of(const struct times *times, size_t side)
{
    double ratios[MOST_ROUNDS];
    for (int round = 0; round < times->count; round++)
        ratios[round] = times->us[side][round] / times->us[0][round];
    return median_of(ratios, times->count);
}

static json_t *describe(const struct side *side, size_t index, const struct times *cold,
                        const struct times *warm)
{
    json_t *json = json_pack("{s:o, s:o}", "cold_us", median_of(cold->us[index], cold->count),
                             "warm_us", median_of(warm->us[index], warm->count));
    if (index > 0) {
        json_object_set_new(json, "cold_ratio", ratio_of(cold, index));
        json_object_set_new(json, "warm_ratio", ratio_of(warm, index));
    }
    if (side->cache == NULL) {
        json_object_set_new(json, "cold_kernels", json_string(cold->kernels));
        json_object_set_new(json, "warm_kernels", json_string(warm->kernels));
        return json;
    }
    struct hone_race race;
    const struct hone_info *info = hone_kernel_info(side->kernel);
    int raced = hone_kernel_race(side->kernel, &race) == HONE_OK;
    json_object_set_new(json, "grade", json_integer(info->grade));
    json_object_set_new(json, "sure", json_boolean(info->sure));
    json_object_set_new(json, "point", json_string(raced ? race.point : info->point));
    json_object_set_new(json, "learnt_on", json_string(info->device));
    json_object_set_new(json, "get_us", json_real(side->get_us));
    json_object_set_new(json, "again_ns", json_real(side->again_ns));
    json_object_set_new(json, "next_us", json_real(side->next_us));
    json_object_set_new(json, "launch_us", json_real(side->launch_us));
    return json;
}

static int run_problem(struct bench *bench, const json_t *problem, json_t *line)
{
    static struct times cold, warm;
    struct sides *sides = &bench->sides;
    if (!sides_set(sides, problem))
        return 0;
    for (size_t i = 0; i + 1 < sides->count; i++)
        if (!finish_race(bench, &sides->items[i]))
            return 0;
    if (!measure(bench, 0, &cold) || !measure(bench, 1, &warm))
        return 0;
    json_t *all = json_object();
    for (size_t i = 0; i < sides->count; i++)
        json_object_set_new(all, sides->items[i].name, describe(&sides->items[i], i, &cold, &warm));
    json_object_set_new(line, "rounds", json_integer(cold.count));
    json_object_set_new(line, "sides", all);
    return 1;
}

/* 0: it failed. A kernel that failed leaves a context behind in which nothing works. */
static int run_line(struct bench *bench, const char *text)
{
    json_error_t place;
    json_auto_t *problem = json_loads(text, 0, &place);
    if (!json_is_object(problem)) {
        fprintf(stderr, "bench_family: expected a JSON object a line, found %s", text);
        exit(2);
    }
    json_auto_t *line = json_pack("{s:O}", "problem", problem);
    bench->sides.failure[0] = '\0';
    int done = run_problem(bench, problem, line);
    if (!done)
        json_object_set_new(line, "failure", json_string(bench->sides.failure));
    json_dumpf(line, stdout, JSON_COMPACT);
    putchar('\n');
    fflush(stdout);
    return done;
}

static void add_cache(struct sides *sides, char *argument)
{
    struct hone_error err;
    char *equals = strchr(argument, '=');
    if (equals == NULL || sides->count + 1 == MOST_SIDES) {
        fprintf(stderr, "bench_family: found '%s', expected at most %d caches as NAME=CACHE\n",
                argument, MOST_SIDES - 1);
        exit(2);
    }
    *equals = '\0';
    struct side *side = &sides->items[sides->count++];
    side->name = argument;
    side->races = strcmp(argument, "raced") == 0;
    if (hone_open(equals + 1, &side->cache, &err) != HONE_OK) {
        fprintf(stderr, "bench_family: %s\n", err.message);
        exit(1);
    }
}

static void parse(struct bench *bench, int argc, char **argv, const char **library)
{
    for (int i = 2; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--peers") == 0)
            *library = value;
        else if (strcmp(argv[i], "--rounds") == 0)
            bench->rounds = atoi(value);
        else if (strcmp(argv[i], "--seconds") == 0)
            bench->seconds = atof(value);
        else {
            add_cache(&bench->sides, argv[i]);
            continue;
        }
        i++;
    }
    if (bench->sides.count == 0 || bench->rounds < LEAST_ROUNDS || bench->rounds > MOST_ROUNDS) {
        fprintf(stderr,
                "usage: bench_family KERNEL NAME=CACHE... [--peers LIBRARY] [--rounds N] "
                "[--seconds S] <PROBLEMS; N from %d to %d\n",
                LEAST_ROUNDS, MOST_ROUNDS);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    static struct bench bench = {.rounds = 41, .seconds = 1};
    static char text[4096];
    const char *library = NULL;
    int failed = 0;
    bench.sides.kernel = argc > 1 ? argv[1] : "";
    parse(&bench, argc, argv, &library);
    open_gpu(&bench);
    peer_open(&bench.sides.peer, bench.sides.kernel, library);
    choose_flush(&bench);
    if (bench.sides.peer.kind != NULL)
        bench.sides.items[bench.sides.count++].name = bench.sides.peer.name;
    else
        fprintf(stderr, "bench_family: NO PEER: %s\n", bench.sides.peer.missing);
    while (fgets(text, sizeof text, stdin) != NULL)
        failed += !run_line(&bench, text);
    for (size_t i = 0; i < bench.sides.count; i++)
        hone_close(bench.sides.items[i].cache);
    return failed > 0;
}
