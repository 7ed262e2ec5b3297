/* SPDX-License-Identifier: MIT */
/* What a launch through libhone costs beside the driver's own.
 *
 *   bench_launch CACHE [N]
 *
 * CACHE holds `scale` (examples/c_driver_api/scale.yaml) tuned for n = N (65536). Both sides launch
 * the same function with the same geometry in turns, and the host's time for a call is taken over
 * rounds short enough to fit into the stream's queue. The first launch is measured in processes of
 * its own: what the program does is timed from when a context is there.
 *
 * With `sum` (composite.yaml of tests/data/double.txt, two steps) in the CACHE its launches are
 * timed plain and with options.graph, until they have run. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/libhone/library.h"

enum {
    ROUNDS = 2001,
    CALLS = 100,
    PROCESSES = 21,
    GRAPH_ROUNDS = 31,
    GRAPH_CALLS = 2000,
    SETS = 8
};

struct bench {
    const char *path;
    int n;
    CUcontext context;
    CUdeviceptr x, y;
    CUstream stream;
};

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void check_cuda(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "%s: CUDA error %d\n", what, (int)result);
    exit(result == CUDA_ERROR_NO_DEVICE ? 77 : 1);
}

static void check(enum hone_status status, const struct hone_error *err)
{
    if (status == HONE_OK)
        return;
    fprintf(stderr, "%s: %s\n", hone_status_name(status), err->message);
    exit(1);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts. */
static double quantile(double *numbers, size_t count, double part)
{
    qsort(numbers, count, sizeof *numbers, compare);
    return numbers[(size_t)(part * (double)(count - 1))];
}

static void make_context(struct bench *bench)
{
    CUdevice device;
    size_t bytes = (size_t)bench->n * sizeof(float);
    check_cuda(cuInit(0), "cuInit");
    check_cuda(cuDeviceGet(&device, 0), "cuDeviceGet");
    check_cuda(cuDevicePrimaryCtxRetain(&bench->context, device), "cuDevicePrimaryCtxRetain");
    check_cuda(cuCtxSetCurrent(bench->context), "cuCtxSetCurrent");
    check_cuda(cuMemAlloc(&bench->x, bytes), "cuMemAlloc");
    check_cuda(cuMemAlloc(&bench->y, bytes), "cuMemAlloc");
    check_cuda(cuStreamCreate(&bench->stream, CU_STREAM_DEFAULT), "cuStreamCreate");
}

static void get(const struct bench *bench, struct hone_cache *cache, struct hone_kernel **kernel)
{
    struct hone_error err;
    const struct hone_value problem[] = {hone_integer("n", bench->n)};
    const struct hone_options options = {.on_miss = HONE_MISS_FAIL, .forbid_compile = 1};
    check(hone_get(cache, "scale", problem, 1, &options, kernel, &err), &err);
}

/* In a process of its own: milliseconds for opening, getting, launching, and until the kernel has
 * run. */
static void launch_first(struct bench *bench, FILE *out)
{
    struct hone_cache *cache;
    struct hone_kernel *kernel;
    struct hone_error err;
    make_context(bench);
    const struct hone_argument arguments[] = {hone_buffer("x", bench->x),
                                              hone_buffer("y", bench->y)};
    double start = now_us();
    check(hone_open(bench->path, &cache, &err), &err);
    double opened = now_us();
    get(bench, cache, &kernel);
    double got = now_us();
    check(hone_launch(kernel, bench->stream, arguments, 2, &err), &err);
    double launched = now_us();
    check_cuda(cuStreamSynchronize(bench->stream), "cuStreamSynchronize");
    fprintf(out, "%.1f %.1f %.1f %.1f %.1f\n", opened - start, got - opened, launched - got,
            now_us() - launched, now_us() - start);
    fflush(out);
}

static void measure_first(const struct bench *bench)
{
    static const char *const names[] = {"hone_open", "hone_get", "hone_launch", "until it has run",
                                        "all of it"};
    double us[5][PROCESSES];
    for (int p = 0; p < PROCESSES; p++) {
        int ends[2];
        int status = 0;
        if (pipe(ends) != 0)
            exit(1);
        pid_t pid = fork();
        if (pid == 0) {
            struct bench own = *bench;
            launch_first(&own, fdopen(ends[1], "w"));
            _exit(0);
        }
        close(ends[1]);
        FILE *in = fdopen(ends[0], "r");
        int read = fscanf(in, "%lf %lf %lf %lf %lf", &us[0][p], &us[1][p], &us[2][p], &us[3][p],
                          &us[4][p]);
        fclose(in);
        waitpid(pid, &status, 0);
        if (read != 5)
            exit(WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : 1);
    }
    printf("first launch of a cached image, %d processes, with a context there\n", PROCESSES);
    for (int i = 0; i < 5; i++) {
        double median = quantile(us[i], PROCESSES, 0.5);
        printf("  %-18s median %8.3f ms, worst %8.3f ms\n", names[i], median / 1000,
               us[i][PROCESSES - 1] / 1000);
    }
}

static double launch_bare(const struct bench *bench, const struct hone_kernel *kernel)
{
    const struct hn_lib_step *step = &kernel->steps[0];
    const CUlaunchConfig *config = &step->shape.config;
    CUdeviceptr x = bench->x, y = bench->y;
    float a = 2.5f;
    int n = bench->n;
    double start = now_us();
    for (int i = 0; i < CALLS; i++) {
        void *parameters[] = {&x, &y, &a, &n};
        check_cuda(cuLaunchKernel(step->function, config->gridDimX, config->gridDimY,
                                  config->gridDimZ, config->blockDimX, config->blockDimY,
                                  config->blockDimZ, config->sharedMemBytes, bench->stream,
                                  parameters, NULL),
                   "cuLaunchKernel");
    }
    return (now_us() - start) / CALLS;
}

static double launch_hone(const struct bench *bench, struct hone_kernel *kernel)
{
    struct hone_error err;
    double start = now_us();
    for (int i = 0; i < CALLS; i++) {
        const struct hone_argument arguments[] = {
            hone_buffer("x", bench->x), hone_buffer("y", bench->y), hone_float32("a", 2.5f),
            hone_int32("n", bench->n)};
        check(hone_launch(kernel, bench->stream, arguments, 4, &err), &err);
    }
    return (now_us() - start) / CALLS;
}

static double ask_again(const struct bench *bench, struct hone_cache *cache)
{
    struct hone_kernel *kernel;
    double start = now_us();
    for (int i = 0; i < CALLS; i++)
        get(bench, cache, &kernel);
    return (now_us() - start) / CALLS;
}

static void measure_overhead(const struct bench *bench)
{
    static double bare[ROUNDS], ours[ROUNDS], differences[ROUNDS], again[ROUNDS];
    struct hone_cache *cache;
    struct hone_kernel *kernel;
    struct hone_error err;
    check(hone_open(bench->path, &cache, &err), &err);
    get(bench, cache, &kernel);
    for (int r = -20; r < ROUNDS; r++) {
        double first = r % 2 == 0 ? launch_bare(bench, kernel) : launch_hone(bench, kernel);
        check_cuda(cuStreamSynchronize(bench->stream), "cuStreamSynchronize");
        double second = r % 2 == 0 ? launch_hone(bench, kernel) : launch_bare(bench, kernel);
        check_cuda(cuStreamSynchronize(bench->stream), "cuStreamSynchronize");
        if (r < 0)
            continue;
        bare[r] = r % 2 == 0 ? first : second;
        ours[r] = r % 2 == 0 ? second : first;
        differences[r] = ours[r] - bare[r];
        again[r] = ask_again(bench, cache);
    }
    printf("a launch of %s, %d rounds of %d calls, host time\n", hone_kernel_info(kernel)->point,
           ROUNDS, CALLS);
    printf("  cuLaunchKernel     median %7.1f ns, 99%% %7.1f ns\n",
           1000 * quantile(bare, ROUNDS, 0.5), 1000 * quantile(bare, ROUNDS, 0.99));
    printf("  hone_launch        median %7.1f ns, 99%% %7.1f ns\n",
           1000 * quantile(ours, ROUNDS, 0.5), 1000 * quantile(ours, ROUNDS, 0.99));
    printf("  difference         median %7.1f ns, 95%% %7.1f ns\n",
           1000 * quantile(differences, ROUNDS, 0.5), 1000 * quantile(differences, ROUNDS, 0.95));
    printf("  hone_get, again    median %7.1f ns, 99%% %7.1f ns\n",
           1000 * quantile(again, ROUNDS, 0.5), 1000 * quantile(again, ROUNDS, 0.99));
    hone_close(cache);
}

/* Microseconds a launch; `sets` sets of arguments in turn. */
static double launch_sums(const struct bench *bench, struct hone_kernel *kernel, int sets)
{
    struct hone_error err;
    double start = now_us();
    for (int i = 0; i < GRAPH_CALLS; i++) {
        CUdeviceptr x = bench->x + (CUdeviceptr)(i % sets) * 4096 * sizeof(int);
        const struct hone_argument arguments[] = {hone_buffer("x", x),
                                                  hone_buffer("sum", bench->y)};
        check(hone_launch(kernel, bench->stream, arguments, 2, &err), &err);
    }
    check_cuda(cuStreamSynchronize(bench->stream), "cuStreamSynchronize");
    return (now_us() - start) / GRAPH_CALLS;
}

static void measure_graphs(const struct bench *bench)
{
    static double us[2][GRAPH_ROUNDS];
    struct hone_cache *cache;
    struct hone_kernel *kernels[2];
    struct hone_error err;
    const struct hone_value problem[] = {hone_integer("n", 4096)};
    check(hone_open(bench->path, &cache, &err), &err);
    for (int graph = 0; graph < 2; graph++) {
        const struct hone_options options = {.on_miss = HONE_MISS_FAIL, .graph = graph};
        enum hone_status status =
            hone_get(cache, "sum", problem, 1, &options, &kernels[graph], &err);
        if (status == HONE_NOT_FOUND) {
            hone_close(cache);
            return;
        }
        check(status, &err);
    }
    printf("a launch of two steps (%s), %d rounds of %d until they have run\n",
           hone_kernel_info(kernels[0])->point, GRAPH_ROUNDS, GRAPH_CALLS);
    for (int sets = 1; sets <= SETS; sets *= 2) {
        for (int r = 0; r < GRAPH_ROUNDS; r++)
            for (int graph = 0; graph < 2; graph++)
                us[graph][r] = launch_sums(bench, kernels[graph], sets);
        printf("  %d sets of arguments in turn: plain median %6.3f us, as graphs %6.3f us\n", sets,
               quantile(us[0], GRAPH_ROUNDS, 0.5), quantile(us[1], GRAPH_ROUNDS, 0.5));
    }
    hone_close(cache);
}

int main(int argc, char **argv)
{
    struct bench bench = {.path = argc > 1 ? argv[1] : NULL, .n = argc > 2 ? atoi(argv[2]) : 65536};
    if (argc < 2 || bench.n < SETS * 4096) {
        fprintf(stderr, "usage: %s CACHE [N]      N: at least %d\n", argv[0], SETS * 4096);
        return 2;
    }
    measure_first(&bench); /* before this process has a context, which does not survive a fork */
    make_context(&bench);
    measure_overhead(&bench);
    measure_graphs(&bench);
    return 0;
}
