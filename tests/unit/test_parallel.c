/* SPDX-License-Identifier: MIT */
#include "base/run.h"

#include "tests/unit/unit.h"

static void count_up(void *context, size_t task)
{
    int *counts = context;
    counts[task]++;
}

TEST(tasks_are_done_once_each)
{
    int counts[300] = {0};
    hn_parallel_do(300, 7, count_up, counts);
    for (size_t i = 0; i < 300; i++)
        assert_int_equal(counts[i], 1);
}
