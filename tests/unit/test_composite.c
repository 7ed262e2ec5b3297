/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "bench_fixture.h"
#include "tests/unit/unit.h"

static struct bench_fixture composite;

static int open_bench(void **state)
{
    return bench_fixture_use(&composite, "double/composite.yaml") ||
           bench_fixture_start(&composite, HN_COLD);
}

ALL_TESTS(open_bench, NULL)

static void expect_time(const char *point, double time_us)
{
    const struct hn_record *record =
        bench_fixture_record(&composite, point, &both, HN_OUTCOME_OK, NULL);
    if (fabs(record->timing.median_us - time_us) > 0.02)
        fail_msg("%s: %g us, expected %g", point, record->timing.median_us, time_us);
    assert_true(record->timing.batch > 1);
}

TEST(a_point_launches_the_steps_that_apply)
{
    expect_time("BLOCKS=8,FINISH=two_pass", 4 + 2);
    expect_time("BLOCKS=4,FINISH=two_pass", 4 + 2);
}

/* Zeroing takes 1 us, is in every launch of a batch, and only where a step takes the counter. */
TEST(a_counter_may_be_zeroed_within_the_time)
{
    expect_time("BLOCKS=8,FINISH=last_block", 4 + 1);
}

TEST(a_counter_is_else_zeroed_outside)
{
    composite.config->plan->arguments[3].zero = HN_ZERO_OUTSIDE;
    const struct hn_record *record =
        bench_fixture_record(&composite, "BLOCKS=8,FINISH=last_block", &both, HN_OUTCOME_OK, NULL);
    composite.config->plan->arguments[3].zero = HN_ZERO_INSIDE;
    assert_int_equal(record->timing.batch, 1);
    assert_true(fabs(record->timing.median_us - 4) < 0.02);
}

/* With 4 blocks the kernel leaves the counter at zero, with 8 it does not. */
TEST(a_counter_may_be_zeroed_once)
{
    composite.config->plan->arguments[3].zero = HN_ZERO_ONCE;
    expect_time("BLOCKS=4,FINISH=last_block", 4);
    const struct hn_record *record = bench_fixture_record(&composite, "BLOCKS=8,FINISH=last_block",
                                                          &both, HN_OUTCOME_WRONG_RESULT, NULL);
    assert_string_equal(record->message, "left counter 'done' other than zero; with 'zero: once' a "
                                         "launch leaves it as it found it");
    expect_time("BLOCKS=4,FINISH=last_block", 4);
    expect_time("BLOCKS=8,FINISH=two_pass", 4 + 2); /* does not take it */
    composite.config->plan->arguments[3].zero = HN_ZERO_INSIDE;
}

/* What is not launched is not looked for in the program. */
TEST(only_what_is_launched_is_compiled_for)
{
    struct hn_image image ENDED_BY(hn_image_finish), pair ENDED_BY(hn_image_finish);
    bench_fixture_compile(&composite, "BLOCKS=8,FINISH=last_block", &image);
    assert_int_equal(image.entry_count, 1);
    assert_string_equal(image.entries[0], "sum_blocks");
    bench_fixture_compile(&composite, "BLOCKS=8,FINISH=two_pass", &pair);
    assert_int_equal(pair.entry_count, 2);
    assert_string_equal(pair.entries[1], "sum_partial");
}
