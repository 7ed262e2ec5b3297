/* SPDX-License-Identifier: MIT */
#include "library_fixture.h"

/* Every call of the driver fails in turn: a status with a message comes back, and nothing is left
 * in the context, which the double sees to when it is released (HONE_DOUBLE_STRICT). */

enum { N = 4096, MOST = 200 };

struct outcome {
    int failed, passed;
};

static enum hone_status use(struct hone_cache *cache, const char *kernel, const char *output,
                            CUdeviceptr x, CUdeviceptr y, struct hone_error *err)
{
    const struct hone_value problem[] = {hone_integer("n", N)};
    const struct hone_argument arguments[] = {hone_buffer("x", x), hone_buffer(output, y)};
    struct hone_kernel *handle = NULL;
    enum hone_status status = hone_get(cache, kernel, problem, 1, NULL, &handle, err);
    if (status == HONE_OK)
        status = hone_launch(handle, NULL, arguments, 2, err);
    if (status == HONE_OK)
        status = hone_launch(handle, NULL, arguments, 2, err);
    return status;
}

/* The program's own calls may be the ones that fail. */
static bool start(CUcontext *context, CUdeviceptr *x, CUdeviceptr *y)
{
    *x = *y = 0;
    return cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(context, 0) == CUDA_SUCCESS &&
           cuCtxSetCurrent(*context) == CUDA_SUCCESS && cuMemAlloc(x, N * 4) == CUDA_SUCCESS &&
           cuMemAlloc(y, N * 4) == CUDA_SUCCESS &&
           cuMemsetD8Async(*x, 0, N * 4, NULL) == CUDA_SUCCESS;
}

static void try_with(int call, const char *kernel, const char *output, struct outcome *outcome)
{
    char number[16];
    CUcontext context;
    CUdeviceptr x, y;
    struct hone_error err = {.message = ""};
    snprintf(number, sizeof number, "%d", call);
    setenv("HONE_DOUBLE_FAIL", number, 1);
    if (start(&context, &x, &y)) {
        struct hone_cache *cache = open_cache();
        enum hone_status status = use(cache, kernel, output, x, y, &err);
        outcome->passed += status == HONE_OK;
        outcome->failed += status != HONE_OK;
        if (status != HONE_OK) {
            assert_int_equal(status, HONE_CUDA);
            assert_int_not_equal(err.message[0], '\0');
        }
        unsetenv("HONE_DOUBLE_FAIL");
        drop(cache);
    }
    if (x != 0)
        cuMemFree(x);
    if (y != 0)
        cuMemFree(y);
    cuDevicePrimaryCtxRelease(0);
}

TEST(every_call_of_the_driver_may_fail)
{
    static const char *const kernels[][2] = {{"sum_two_pass", "sum"}, {"sum_last_block", "sum"}};
    for (size_t k = 0; k < 2; k++) {
        /* Beyond these calls a failure would hit what cleans up. */
        struct outcome outcome = {0, 0};
        int calls = 0;
        unsetenv("HONE_DOUBLE_STRICT");
        while (outcome.passed == 0 && calls < MOST)
            try_with(++calls, kernels[k][0], kernels[k][1], &outcome);
        assert_in_range(calls, 20, MOST - 1);
        outcome = (struct outcome){0, 0};
        setenv("HONE_DOUBLE_STRICT", "1", 1);
        for (int call = 1; call < calls; call++)
            try_with(call, kernels[k][0], kernels[k][1], &outcome);
        assert_true(outcome.failed > 20);
        assert_int_equal(outcome.passed, 0);
    }
}
