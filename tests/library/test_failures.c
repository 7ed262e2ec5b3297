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

static void try_with(int call, const char *kernel, const char *output, struct outcome *outcome)
{
    char number[16];
    static const float zeros[N];
    CUdeviceptr x, y;
    struct hone_error err = {.message = ""};
    snprintf(number, sizeof number, "%d", call);
    setenv("HONE_DOUBLE_FAIL", number, 1);
    if (start_program(zeros, sizeof zeros, &x, &y)) {
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
    end_program(x, y);
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
