/* SPDX-License-Identifier: MIT */
#include <sys/stat.h>

#include "shared_cache.h"

/* Built twice: as it is, and with the sources of libhone under ThreadSanitizer. */

ALL_TESTS(set_up, tear_down)

static void *work(void *pointer)
{
    struct shared *shared = pointer;
    struct hone_kernel *first[4] = {NULL};
    if (cuCtxSetCurrent(shared->context) != CUDA_SUCCESS)
        return NULL;
    CUdeviceptr y = 0;
    if (cuMemAlloc(&y, N * sizeof(float)) != CUDA_SUCCESS)
        return NULL;
    bool good = true;
    for (int i = 0; i < 40; i++) {
        const struct hone_value problem[] = {hone_integer("n", 100 + i % 4)};
        struct hone_kernel *kernel = NULL;
        good = hone_get(shared->cache, "scale", problem, 1, NULL, &kernel, NULL) == HONE_OK &&
               launch(kernel, shared->x, y) == HONE_OK && good;
        good = good && (first[i % 4] == NULL || first[i % 4] == kernel);
        first[i % 4] = kernel;
    }
    cuMemFree(y);
    return good ? shared : NULL;
}

TEST(threads_may_get_and_launch_at_once)
{
    in_threads(work, *state);
}

TEST(threads_have_scratch_of_their_own_in_their_streams)
{
    struct shared *shared = *state;
    struct hone_error err = {.message = ""};
    struct hone_kernel *kernel = get_kernel(shared->cache, "sum_two_pass", "n", 4096, NULL);
    size_t before = 0, after = 0, total = 0;
    expect_ok(hone_prepare(kernel, CU_STREAM_PER_THREAD, &err), &err);
    CHECK_CUDA(cuMemGetInfo(&before, &total));
    expect_ok(hone_prepare(kernel, CU_STREAM_PER_THREAD, &err), &err);
    CHECK_CUDA(cuMemGetInfo(&after, &total));
    assert_int_equal(before, after);
    expect_ok(hone_prepare(kernel, CU_STREAM_LEGACY, &err), &err);
    CHECK_CUDA(cuMemGetInfo(&after, &total));
    assert_true(after < before);
}

/* A `hone` that says when it was started and waits for leave to go on. */
static void write_slow_command(void)
{
    FILE *file = fopen("slow-hone", "w");
    assert_non_null(file);
    fputs("#!/bin/sh\n"
          "echo \"$*\" >>started\n"
          "while [ ! -e go ]; do sleep 0.01; done\n"
          "exec \"$HONE_COMMAND\" \"$@\"\n",
          file);
    fclose(file);
    assert_int_equal(chmod("slow-hone", 0755), 0);
}

static void *tune_on_a_miss(void *pointer)
{
    struct shared *shared = pointer;
    const struct hone_value problem[] = {hone_integer("n", 3000)};
    const struct hone_options options = {
        .on_miss = HONE_MISS_TUNE, .tune_seconds = 60, .tune_command = "./slow-hone"};
    struct hone_kernel *kernel = NULL;
    struct hone_error err = {.message = ""};
    if (cuCtxSetCurrent(shared->context) != CUDA_SUCCESS)
        return NULL;
    if (hone_get(shared->cache, "scale", problem, 1, &options, &kernel, &err) != HONE_OK)
        print_error("%s\n", err.message);
    return kernel;
}

static int count_lines(const char *path)
{
    int lines = 0;
    FILE *file = fopen(path, "r");
    for (int c = 0; file != NULL && (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    if (file != NULL)
        fclose(file);
    return lines;
}

TEST(others_go_on_while_one_tunes)
{
    enum { THREADS = 3 };
    struct shared *shared = *state;
    pthread_t threads[THREADS];
    void *kernels[THREADS] = {NULL};
    write_slow_command();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, tune_on_a_miss, shared), 0);
    for (int i = 0; i < 6000 && count_lines("started") == 0; i++)
        usleep(10000);
    assert_int_equal(count_lines("started"), 1);
    alarm(120); /* what waits for the tuning, waits for ever */
    get_kernel(shared->cache, "scale", "n", 3001, NULL);
    alarm(0);
    fclose(fopen("go", "w"));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], &kernels[i]);
    assert_non_null(kernels[0]);
    assert_ptr_equal(kernels[1], kernels[0]);
    assert_ptr_equal(kernels[2], kernels[0]);
    assert_int_equal(count_lines("started"), 1);
}
