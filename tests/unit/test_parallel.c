/* SPDX-License-Identifier: MIT */
#include "base/run.h"

#include "tests/unit/unit.h"

static enum hn_status count_up(void *context, size_t task, struct hn_error *err)
{
    int *counts = context;
    counts[task]++;
    return task == 150 || task == 170 ? hn_fail(err, HN_ERUN, "task %zu", task) : HN_OK;
}

TEST(tasks_are_done_once_each)
{
    int counts[300] = {0};
    const struct hn_parallel parallel = {
        .count = 150, .jobs = 7, .run = count_up, .context = counts};
    assert_ok(hn_parallel_do(&parallel, &said));
    for (size_t i = 0; i < 150; i++)
        assert_int_equal(counts[i], 1);
}

TEST(the_first_failure_counts)
{
    int counts[300] = {0};
    const struct hn_parallel parallel = {
        .count = 300, .jobs = 2, .run = count_up, .context = counts};
    assert_error(hn_parallel_do(&parallel, &said), HN_ERUN, "task 150");
}
