/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include "tests/unit/unit.h"

static enum hn_status count_up(void *context, size_t task, struct hn_error *err)
{
    int *counts = context;
    counts[task]++;
    return task == 150 || task == 170 ? hn_fail(err, HN_ERUN, "task %zu", task) : HN_OK;
}

static void tasks_are_done_once_each(void **state)
{
    int counts[300] = {0};
    struct hn_error err = {0};
    const struct hn_parallel parallel = {
        .count = 150, .jobs = 7, .run = count_up, .context = counts};
    assert_int_equal(hn_parallel_do(&parallel, &err), HN_OK);
    for (size_t i = 0; i < 150; i++)
        assert_int_equal(counts[i], 1);
}

static void the_first_failure_counts(void **state)
{
    int counts[300] = {0};
    struct hn_error err = {0};
    const struct hn_parallel parallel = {
        .count = 300, .jobs = 2, .run = count_up, .context = counts};
    assert_int_equal(hn_parallel_do(&parallel, &err), HN_ERUN);
    assert_string_equal(err.message, "task 150");
}

int test_parallel(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_done_once_each),
        cmocka_unit_test(the_first_failure_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
