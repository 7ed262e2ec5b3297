/* SPDX-License-Identifier: MIT */
#include "tuner/strategy/schedule.h"

#include "tests/unit/unit.h"

static struct hn_schedule make(unsigned look_ahead)
{
    struct hn_schedule schedule;
    hn_schedule_init(&schedule, look_ahead);
    return schedule;
}

static void propose(struct hn_schedule *schedule, uint64_t number, double compile_ms)
{
    hn_schedule_propose(schedule, number, number);
    if (compile_ms > 0)
        hn_schedule_note(schedule, number, compile_ms, true);
}

/* What is told next: as 10 * ticket, and 1 more when it is finished; -1: nothing. */
static int tell(struct hn_schedule *schedule, double evaluate_ms)
{
    uint64_t number;
    enum hn_schedule_event event = hn_schedule_next(schedule, &number);
    if (event == HN_SCHEDULE_NONE)
        return -1;
    hn_schedule_tell(schedule, event, number, evaluate_ms);
    return (int)number * 10 + (event == HN_SCHEDULE_FINISHED);
}

static void check(struct hn_schedule *schedule, const int *expected, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(tell(schedule, 0), expected[i]);
}

TEST(the_fastest_is_told_first)
{
    struct hn_schedule schedule ENDED_BY(hn_schedule_finish) = make(8);
    static const double compile_ms[] = {5000, 900, 400, 900};
    for (uint64_t t = 0; t < 4; t++)
        propose(&schedule, t, compile_ms[t]);
    assert_false(hn_schedule_has_room(&schedule));
    assert_int_equal(tell(&schedule, 0), 20);
    propose(&schedule, 4, 450); /* from 400 on: to 850 */
    static const int expected[] = {21, 40, 10, 30, 41, 11, 31, 0, 1, -1};
    check(&schedule, expected, 10);
}

/* What takes no time worth speaking of: before each proposal half of the look-ahead is not
 * compiled, and all of it not finished. */
TEST(noise_changes_no_order)
{
    for (unsigned look_ahead = 1; look_ahead <= 32; look_ahead++) {
        struct hn_schedule schedule = make(look_ahead);
        uint64_t t = 0;
        uint64_t compiled = 0;
        uint64_t finished = 0;
        while (t < 100) {
            if (hn_schedule_has_room(&schedule)) {
                uint64_t half = look_ahead > 1 ? look_ahead / 2 : 1;
                assert_int_equal(compiled, t + 1 > half ? t + 1 - half : 0);
                assert_int_equal(finished, t + 1 > look_ahead ? t + 1 - look_ahead : 0);
                propose(&schedule, t, (double)(t * 7919 % 300 + 1));
                t++;
                continue;
            }
            int told = tell(&schedule, (double)(t * 104729 % 299));
            assert_int_equal(told, told % 10 == 0 ? compiled * 10 : finished * 10 + 1);
            compiled += told % 10 == 0;
            finished += told % 10 == 1;
        }
        hn_schedule_finish(&schedule);
    }
}

TEST(what_is_not_known_is_waited_for_as_long_as_it_may_be_first)
{
    struct hn_schedule schedule ENDED_BY(hn_schedule_finish) = make(8);
    propose(&schedule, 0, 0);
    propose(&schedule, 1, 1000);
    assert_int_equal(tell(&schedule, 0), -1);
    assert_true(schedule.held_ms == 1000 - HN_SCHEDULE_LEAST_MS);
    hn_schedule_note(&schedule, 0, 900, false);
    assert_int_equal(tell(&schedule, 0), -1);
    assert_true(schedule.held_ms == 100);
    hn_schedule_note(&schedule, 0, 1001, false);
    assert_int_equal(tell(&schedule, 0), 10);
    /* What it says is less than was seen: what was told stays so. */
    hn_schedule_note(&schedule, 0, 950, true);
    static const int expected[] = {0, 11, 1, -1};
    check(&schedule, expected, 4);
}

TEST(a_point_again_is_told_with_its_first_ticket)
{
    struct hn_schedule schedule ENDED_BY(hn_schedule_finish) = make(16);
    propose(&schedule, 0, 2000);
    propose(&schedule, 1, 700);
    hn_schedule_propose(&schedule, 2, 0);
    hn_schedule_propose(&schedule, 3, 1);
    static const int expected[] = {10, 30, 11, 31, 0, 20, 1, 21, -1};
    check(&schedule, expected, 9);
}

/* While the GPU is at a long evaluation what compiles goes on. */
TEST(evaluations_take_their_time)
{
    struct hn_schedule schedule ENDED_BY(hn_schedule_finish) = make(8);
    propose(&schedule, 0, 3000);
    propose(&schedule, 1, 400);
    assert_int_equal(tell(&schedule, 0), 10);
    assert_int_equal(tell(&schedule, 2500), 11); /* to 2900 */
    propose(&schedule, 2, 350);
    assert_int_equal(tell(&schedule, 0), 0);
}

TEST(only_so_many_cores_compile)
{
    struct hn_schedule schedule ENDED_BY(hn_schedule_finish) = make(128);
    for (uint64_t t = 0; t < HN_SCHEDULE_CORES; t++)
        propose(&schedule, t, 1000 + (double)t);
    propose(&schedule, HN_SCHEDULE_CORES, 500); /* from 1000 on */
    for (int t = 0; t < HN_SCHEDULE_CORES; t++)
        assert_int_equal(tell(&schedule, 0), 10 * t);
    assert_int_equal(tell(&schedule, 0), 1);
}
