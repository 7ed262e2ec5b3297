/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "shared_cache.h"

/* Built twice: as it is, and with the sources of libhone under ThreadSanitizer. */

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

static void threads_may_get_and_launch_at_once(void **state)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, *state), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, *state);
    }
}

static void threads_have_scratch_of_their_own_in_their_streams(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_may_get_and_launch_at_once),
        cmocka_unit_test(threads_have_scratch_of_their_own_in_their_streams),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
