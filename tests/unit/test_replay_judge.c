/* SPDX-License-Identifier: MIT */
#include "tuner/commands/command_replay.c"

#include "tests/unit/unit.h"

/* A median known to 0.51%, in one process. */
static struct hn_timing alone(double us)
{
    return (struct hn_timing){
        .median_us = us, .low_us = us * 0.9949, .high_us = us * 1.0051, .clock_mhz = 1980};
}

static struct hn_timing in_processes(double us, int count, double fastest_us, double slowest_us,
                                     double copy_gb_per_s)
{
    struct hn_timing timing = alone(us);
    timing.processes = count;
    timing.fastest_us = fastest_us;
    timing.middle_us = us;
    timing.slowest_us = slowest_us;
    timing.copy_gb_per_s = copy_gb_per_s;
    return timing;
}

static enum hn_replay_verdict judge_times(struct hn_timing was, struct hn_timing now)
{
    return replay_judge_time(&was, &now, 0.05);
}

/* A record of one process says nothing of how much processes differ. */
TEST(records_of_one_process_are_given_a_tenth)
{
    assert_int_equal(judge_times(alone(10.09), alone(10.58)), HN_REPLAY_HOLDS);
    assert_int_equal(judge_times(alone(10.09), alone(10.70)),
                     HN_REPLAY_SLOWER); /* others are asked */
    assert_int_equal(judge_times(alone(10.09), in_processes(10.70, 7, 10.6, 10.8, 0)),
                     HN_REPLAY_HOLDS);
    assert_int_equal(judge_times(alone(10.09), in_processes(11.20, 7, 11.1, 11.3, 0)),
                     HN_REPLAY_SLOWER);
    assert_int_equal(
        judge_times(in_processes(10.09, 1, 10.09, 10.09, 0), in_processes(11.00, 7, 10.9, 11.1, 0)),
        HN_REPLAY_HOLDS);
}

TEST(half_of_the_processes_decide)
{
    const struct hn_timing was = in_processes(10.09, 2, 10.08, 10.12, 2400);
    /* One process finds it slower, which is no verdict yet; seven do. */
    assert_int_equal(judge_times(was, alone(10.70)), HN_REPLAY_SLOWER);
    assert_int_equal(judge_times(was, in_processes(10.12, 7, 10.10, 10.70, 2400)), HN_REPLAY_HOLDS);
    assert_int_equal(judge_times(was, in_processes(10.58, 7, 10.10, 10.70, 2400)), HN_REPLAY_HOLDS);
    assert_int_equal(judge_times(was, in_processes(10.89, 7, 9.85, 10.99, 2390)), HN_REPLAY_SLOWER);
    assert_int_equal(judge_times(was, alone(10.30)), HN_REPLAY_HOLDS);
    assert_int_equal(judge_times(was, alone(9.00)), HN_REPLAY_HOLDS);
    const struct hn_timing now = in_processes(16, 7, 15.9, 16.1, 2400);
    assert_int_equal(replay_judge_time(&was, &now, 0.6), HN_REPLAY_HOLDS);
}

/* Processes that were fast by chance are not what a replay is held against. */
TEST(the_longer_of_race_and_processes_is_the_record)
{
    struct hn_timing was = in_processes(9.10, 5, 9.08, 10.12, 2400);
    const struct hn_timing now = in_processes(10.12, 7, 10.08, 10.19, 2400);
    assert_int_equal(judge_times(was, now), HN_REPLAY_SLOWER);
    was.median_us = 10.09;
    assert_int_equal(judge_times(was, now), HN_REPLAY_HOLDS);
    was = in_processes(10.09, 5, 9.08, 12.12, 2400);
    was.median_us = 9.90;
    assert_int_equal(judge_times(was, now), HN_REPLAY_HOLDS);
    assert_int_equal(judge_times(was, in_processes(10.90, 7, 10.8, 11.0, 2400)), HN_REPLAY_SLOWER);
}

/* Half an interval of 4% beside a limit of nothing. */
TEST(intervals_have_to_be_apart)
{
    struct hn_timing was = in_processes(100, 2, 100, 100, 0);
    struct hn_timing now = alone(103);
    was.high_us = 102;
    now.low_us = 101;
    assert_int_equal(replay_judge_time(&was, &now, 0), HN_REPLAY_HOLDS);
    now.low_us = 102.5;
    assert_int_equal(replay_judge_time(&was, &now, 0), HN_REPLAY_SLOWER);
    /* Recordings of others have none. */
    was.high_us = 0;
    assert_int_equal(replay_judge_time(&was, &now, 0), HN_REPLAY_SLOWER);
}

TEST(what_the_machine_lost_is_not_the_kernels)
{
    const struct hn_timing was = in_processes(10.09, 2, 10.08, 10.12, 2400);
    assert_int_equal(judge_times(was, in_processes(11.50, 7, 11.4, 11.6, 2100)), HN_REPLAY_MACHINE);
    /* The copy explains 2% of 13%. */
    assert_int_equal(judge_times(was, in_processes(11.50, 7, 11.4, 11.6, 2353)), HN_REPLAY_SLOWER);
    /* A faster copy excuses nothing, and is held against nobody. */
    assert_int_equal(judge_times(was, in_processes(10.50, 7, 10.5, 10.6, 2800)), HN_REPLAY_HOLDS);
    struct hn_timing capped = in_processes(11.50, 7, 11.4, 11.6, 2400);
    capped.clock_mhz = 1755;
    assert_int_equal(judge_times(was, capped), HN_REPLAY_MACHINE);
    capped.clock_mhz = 0;
    assert_int_equal(judge_times(was, capped), HN_REPLAY_SLOWER);
}

TEST(processes_are_gathered)
{
    struct hn_timing timing = alone(10.09);
    const struct hn_timing slow = {.median_us = 10.7, .copy_gb_per_s = 2400, .clock_mhz = 1990};
    const struct hn_timing fast = {.median_us = 10.1, .copy_gb_per_s = 2300};
    const struct hn_timing middle = {.median_us = 10.3};
    double medians_us[3];
    hn_timing_add_process(&timing, &slow, medians_us);
    assert_true(timing.processes == 1 && timing.fastest_us == 10.7 && timing.slowest_us == 10.7);
    hn_timing_add_process(&timing, &fast, medians_us);
    hn_timing_add_process(&timing, &middle, medians_us);
    assert_true(timing.processes == 3 && timing.fastest_us == 10.1 && timing.slowest_us == 10.7);
    assert_true(timing.middle_us == 10.3);
    assert_true(timing.copy_gb_per_s == 2400 && timing.clock_mhz == 1990);
    assert_true(timing.median_us == 10.09);
}
