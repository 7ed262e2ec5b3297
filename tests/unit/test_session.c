/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "scripted_backend.h"

#include "tests/unit/unit.h"
#include "tuner/session/session_internal.h"

TEST(every_point_is_accounted_for)
{
    struct hn_session_options options = exhaustive();
    uint64_t expected[HN_OUTCOME_COUNT] = {0};
    struct grid *grid = make_grid(NULL);
    options.full = true;
    for (int i = 0; i < GRID_POINTS; i++) {
        struct fate *fate = &grid->backend.fates[i];
        bool too_large = i >= GRID_POINTS - GRID_TOO_LARGE;
        if (i % 17 == 5)
            fate->compiled = HN_OUTCOME_COMPILE_ERROR;
        else if (i % 23 == 7)
            fate->measured = HN_OUTCOME_WRONG_RESULT;
        else if (i % 29 == 11)
            fate->measured = HN_OUTCOME_DEVICE_FAULT;
        if (too_large)
            expected[HN_OUTCOME_INVALID_LAUNCH]++;
        else
            expected[fate->compiled != HN_OUTCOME_OK ? fate->compiled : fate->measured]++;
    }
    struct hn_session *session = run_session(grid, NULL, &options);
    const struct hn_session_state *end = hn_session_state(session);
    assert_int_equal(end->points, GRID_POINTS);
    assert_int_equal(end->proposed, GRID_POINTS);
    assert_int_equal(end->finished, GRID_POINTS);
    assert_int_equal(end->reused, 0);
    assert_int_equal(sum_of_counts(end), GRID_POINTS);
    for (int i = 0; i < HN_OUTCOME_COUNT; i++)
        assert_int_equal(end->counts[i], expected[i]);
    for (int i = 0; i < GRID_POINTS; i++)
        assert_non_null(record_of(session, i));
    assert_int_equal(grid->backend.compiled_count, GRID_POINTS - GRID_TOO_LARGE);
    assert_int_equal(grid->backend.prepared, 1);
    assert_string_equal(record_of(session, GRID_POINTS - 1)->message,
                        "block 2048 has 2048 in x; sm_90 takes 1 to 1024");
}

TEST(the_fastest_is_the_best)
{
    struct grid *grid = make_grid(NULL);
    grid->backend.fates[333].us = 42;
    grid->backend.fates[111].us = 41;
    grid->backend.fates[111].measured = HN_OUTCOME_WRONG_RESULT;
    struct hn_session *session = run_session(grid, NULL, NULL);
    const struct hn_record *best = hn_session_state(session)->best;
    assert_int_equal(point_number(&best->point), 333);
    assert_int_equal(best->outcome, HN_OUTCOME_OK);
    assert_true(best->final);
    assert_int_equal(best->verdict.seeds, 2);
    assert_int_equal(best->verdict.seed, grid->backend.seed);
    assert_near(best->objective, 42, 0.01);
    assert_near(hn_value_number(hn_bindings_get(&best->metrics, "gbps")), 4096 / 42e3, 1e-4);
}

TEST(ranking_starts_with_the_best_and_counts_the_tied)
{
    struct hn_ranking ranking ENDED_BY(hn_ranking_finish);
    struct grid *grid = make_grid(NULL);
    grid->backend.fates[70].us = 50;
    grid->backend.fates[60].us = 50.001;
    grid->backend.fates[50].us = 50.2;
    struct hn_session *session = run_session(grid, NULL, NULL);
    assert_ok(hn_session_ranking(session, &ranking, &said));
    assert_int_equal(ranking.count, GRID_POINTS);
    assert_int_equal(point_number(&keep_record(session, ranking.tickets[0])->point), 70);
    assert_int_equal(point_number(&keep_record(session, ranking.tickets[1])->point), 60);
    assert_int_equal(point_number(&keep_record(session, ranking.tickets[2])->point), 50);
    assert_int_equal(ranking.tied, 2);
    assert_int_equal(grid->backend.races, 1);
    assert_false(keep_record(session, ranking.tickets[3])->final);
    assert_int_not_equal(hn_session_outcome(session, ranking.tickets[ranking.count - 1]),
                         HN_OUTCOME_OK);
}

static void expect_duplicate(const struct hn_session *session, int point, double us)
{
    const struct hn_record *record = record_of(session, point);
    assert_int_equal(record->outcome, HN_OUTCOME_DUPLICATE);
    assert_string_equal(record->original, "A=1,B=0");
    assert_string_equal(record->message, "same machine code and launch as A=1,B=0");
    assert_near(record->timing.median_us, us, 0);
    assert_near(record->objective, us, 0);
    assert_false(record->final);
}

/* The lowest ticket is the original, also when it is compiled last. */
TEST(duplicates_take_the_time_of_the_lowest_ticket)
{
    for (int delay = 0; delay <= 60; delay += 30) {
        struct grid *grid = make_grid(NULL);
        grid->backend.fates[20] = (struct fate){.us = 77, .code = 1, .delay = delay};
        grid->backend.fates[21] = (struct fate){.us = 1, .code = 1};
        grid->backend.fates[300] = (struct fate){.us = 2, .code = 1};
        struct hn_session *session = run_session(grid, NULL, NULL);
        expect_duplicate(session, 21, 77);
        expect_duplicate(session, 300, 77);
        assert_int_equal(measured_count(&grid->backend, 20), 1);
        assert_int_equal(measured_count(&grid->backend, 21), 0);
        assert_int_equal(measured_count(&grid->backend, 300), 0);
        assert_int_equal(point_number(&hn_session_state(session)->best->point), 20);
        assert_int_equal(hn_session_state(session)->counts[HN_OUTCOME_DUPLICATE], 2);
    }
}

/* The place of a point among those measured. */
static int turn_of(const struct scripted *backend, int point)
{
    for (int i = 0; i < backend->evaluated_count; i++)
        if (backend->evaluated[i].point == point && backend->evaluated[i].request.measure)
            return i;
    return -1;
}

/* Where nobody is told of the sequence, the GPU does not wait for a slow compilation; what has its
 * code and was measured meanwhile is the original. */
TEST(a_slow_compilation_holds_up_nobody)
{
    struct grid *grid = make_grid(NULL);
    grid->backend.jobs = 16;
    grid->backend.fates[20].delay = 2000;
    grid->backend.fates[30] = (struct fate){.us = 77, .code = 1, .delay = 2000};
    grid->backend.fates[31] = (struct fate){.us = 77, .code = 1};
    struct hn_session *session = run_session(grid, NULL, NULL);
    assert_true(turn_of(&grid->backend, 20) > turn_of(&grid->backend, 40));
    assert_true(turn_of(&grid->backend, 20) >= 0);
    assert_int_equal(turn_of(&grid->backend, 30), -1);
    assert_int_equal(record_of(session, 30)->outcome, HN_OUTCOME_DUPLICATE);
    assert_string_equal(record_of(session, 30)->original, "A=1,B=11");
}

/* Nor does the ladder hold up itself where somebody is told of what comes behind it, which waits
 * for all of it. */
TEST(a_slow_step_of_the_ladder_holds_up_no_other)
{
    struct hn_session_options options = exhaustive();
    options.strategy = hn_strategy_find("model");
    options.budget_count = 6;
    struct grid *grid = make_grid(NULL);
    grid->backend.fates[0].delay = 200;
    run_session(grid, NULL, &options);
    assert_int_equal(grid->backend.evaluated[0].point, 380);
    assert_int_equal(grid->backend.evaluated[1].point, 0);
}

TEST(duplicates_of_a_failure_fail)
{
    struct grid *grid = make_grid(NULL);
    grid->backend.fates[20] =
        (struct fate){.us = 7, .code = 1, .measured = HN_OUTCOME_WRONG_RESULT, .delay = 25};
    grid->backend.fates[21] = (struct fate){.us = 7, .code = 1};
    struct hn_session *session = run_session(grid, NULL, NULL);
    const struct hn_record *record = record_of(session, 21);
    assert_int_equal(record->outcome, HN_OUTCOME_WRONG_RESULT);
    assert_string_equal(record->original, "A=1,B=0");
    assert_string_equal(record->message, "it fails");
    assert_int_equal(measured_count(&grid->backend, 21), 0);
    assert_int_equal(hn_session_state(session)->counts[HN_OUTCOME_WRONG_RESULT], 2);
}

/* The point evaluated before evaluation `end` whose time is `us`; fails when there is none. */
static int find_censor(const struct scripted *backend, int end, double us)
{
    for (int i = 0; i < end; i++) {
        const struct scripted_evaluation *other = &backend->evaluated[i];
        if (other->request.measure && backend->fates[other->point].us == us)
            return other->point;
    }
    fail_msg("evaluation %d is held against %g us, which none before it took", end, us);
    return -1;
}

TEST(early_stops_look_back)
{
    struct grid *grid = make_grid(NULL);
    grid->backend.shuffle = 5;
    grid->backend.jobs = 16;
    struct hn_session *session = run_session(grid, NULL, NULL);
    int stopped = 0;
    for (int i = 0; i < grid->backend.evaluated_count; i++) {
        const struct scripted_evaluation *evaluated = &grid->backend.evaluated[i];
        char text[32];
        if (evaluated->request.censor_us == 0)
            continue;
        int censor = find_censor(&grid->backend, i, evaluated->request.censor_us);
        const struct hn_record *record = record_of(session, evaluated->point);
        if (record->outcome != HN_OUTCOME_SLOWER)
            continue;
        assert_string_equal(record->original, point_text(censor, text));
        stopped++;
    }
    assert_true(stopped > 100);
    assert_int_equal(hn_session_state(session)->counts[HN_OUTCOME_SLOWER], stopped);
    assert_int_equal(point_number(&hn_session_state(session)->best->point), GRID_BEST);
}

TEST(full_stops_nothing)
{
    struct hn_session_options options = exhaustive();
    options.full = true;
    struct grid *grid = make_grid(NULL);
    struct hn_session *session = run_session(grid, NULL, &options);
    for (int i = 0; i < grid->backend.evaluated_count; i++)
        assert_true(grid->backend.evaluated[i].request.full ||
                    !grid->backend.evaluated[i].request.measure);
    assert_int_equal(hn_session_state(session)->counts[HN_OUTCOME_SLOWER], 0);
    assert_int_equal(hn_session_state(session)->counts[HN_OUTCOME_OK], 397);
}

TEST(ladder_is_first_and_measured_in_full)
{
    uint32_t *ladder FREED;
    size_t count;
    struct grid *grid = make_grid(NULL);
    grid->backend.fates[380].us = 9999;
    struct hn_session *session = run_session(grid, NULL, NULL);
    assert_int_equal(grid->backend.compiled[0], 0);
    assert_int_equal(grid->backend.compiled[1], 380);
    ladder = hn_session_ladder(session, &count);
    assert_int_equal(count, GRID_LADDER);
    const struct hn_record *last = keep_record(session, ladder[1]);
    assert_int_equal(point_number(&keep_record(session, ladder[0])->point), 0);
    assert_int_equal(point_number(&last->point), 380);
    assert_int_equal(last->outcome, HN_OUTCOME_OK);
    assert_near(last->timing.median_us, 9999, 0);
    assert_true(grid->backend.evaluated[1].request.full);
    assert_int_equal(measured_count(&grid->backend, 380), 1);
}

TEST(budget_counts_evaluations)
{
    static const uint64_t budgets[] = {1, 2, 50, 399, 1000};
    for (size_t i = 0; i < sizeof budgets / sizeof budgets[0]; i++) {
        struct hn_session_options options = exhaustive();
        uint64_t expected = budgets[i] < GRID_POINTS ? budgets[i] : GRID_POINTS;
        options.strategy = hn_strategy_find("random");
        options.budget_count = budgets[i];
        struct grid *grid = make_grid(NULL);
        struct hn_session *session = run_session(grid, NULL, &options);
        const struct hn_session_state *end = hn_session_state(session);
        /* The ladder is measured whatever the budget. */
        assert_int_equal(end->proposed, expected > GRID_LADDER ? expected : GRID_LADDER);
        assert_int_equal(end->finished, end->proposed);
        assert_int_equal(sum_of_counts(end), end->proposed);
    }
}

TEST(budget_of_time_ends_the_search)
{
    struct hn_session_options options = exhaustive();
    options.budget_s = 1e-9;
    struct grid *grid = make_grid(NULL);
    struct hn_session *session = run_session(grid, NULL, &options);
    assert_int_equal(hn_session_state(session)->proposed, GRID_LADDER);
    assert_int_equal(hn_session_state(session)->cut, GRID_LADDER);
    assert_int_equal(hn_session_state(session)->finished, 0);
    assert_null(hn_session_state(session)->best);
    assert_int_equal(grid->backend.compiled_count + grid->backend.races, GRID_LADDER);
}

/* What was compiled in time is the result of a search that would have none. */
TEST(the_first_result_is_waited_for)
{
    struct hn_session_options options = exhaustive();
    options.budget_s = 0.1;
    struct grid *grid = make_grid(NULL);
    for (int i = 0; i < GRID_POINTS; i++)
        grid->backend.fates[i].slow_ms = 300;
    struct hn_session *session = run_session(grid, NULL, &options);
    const struct hn_session_state *end = hn_session_state(session);
    assert_int_equal(end->finished, 1);
    assert_non_null(end->best);
    assert_true(end->unraced);
    assert_int_equal(grid->backend.races, 0);
    assert_true(end->elapsed_s > 0.3);
}

/* Compilations that have no end are killed in time for the final race, and are no failures. */
TEST(the_race_has_its_part_of_the_budget)
{
    enum { STUCK = 4 };
    struct hn_session_options options = exhaustive();
    options.budget_s = 1;
    struct grid *grid = make_grid(NULL);
    for (int i = 0; i < STUCK; i++)
        grid->backend.fates[300 + i].stuck = true;
    struct hn_session *session = run_session(grid, NULL, &options);
    const struct hn_session_state *end = hn_session_state(session);
    assert_int_equal(grid->backend.halts, 1);
    assert_int_equal(grid->backend.races, 1);
    assert_true(end->best->final);
    assert_false(end->unraced);
    assert_int_equal(end->cut, STUCK);
    assert_int_equal(end->finished, GRID_POINTS - STUCK);
    assert_int_equal(sum_of_counts(end), end->finished);
    for (int i = 0; i < STUCK; i++)
        assert_null(record_of(session, 300 + i));
}

TEST(seed_alone_gives_the_random_points)
{
    struct grid *grids[3];
    for (int i = 0; i < 3; i++) {
        struct hn_session_options options = exhaustive();
        options.strategy = hn_strategy_find("random");
        options.seed = i < 2 ? 1 : 2;
        options.budget_count = 60;
        grids[i] = make_grid(NULL);
        grids[i]->backend.jobs = i == 0 ? 1 : 16;
        run_session(grids[i], NULL, &options);
    }
    assert_memory_equal(grids[0]->backend.compiled, grids[1]->backend.compiled, 60 * sizeof(int));
    assert_memory_not_equal(grids[0]->backend.compiled, grids[2]->backend.compiled,
                            60 * sizeof(int));
}

TEST(nothing_valid_is_no_failure_of_the_run)
{
    struct grid *grid = make_grid(NULL);
    for (int i = 0; i < GRID_POINTS; i++)
        grid->backend.fates[i].compiled = HN_OUTCOME_COMPILE_ERROR;
    struct hn_session *session = run_session(grid, NULL, NULL);
    assert_null(hn_session_state(session)->best);
    assert_int_equal(hn_session_state(session)->finished, GRID_POINTS);
    assert_int_equal(grid->backend.races, 0);
}

/* A session over four given points, the third of which is the best. */
static struct hn_session *run_points(const struct hn_session_options *options)
{
    static const double us[] = {100, 300, 90, 500};
    struct hn_session_options given = *options;
    struct hn_bindings points[4];
    struct grid *grid = make_grid(NULL);
    grid->backend.jobs = 1;
    for (int i = 0; i < 4; i++) {
        char text[32];
        grid->backend.fates[100 + i].us = us[i];
        assert_ok(hn_bindings_parse(point_text(100 + i, text), &points[i], NULL));
    }
    given.points = points;
    given.point_count = 4;
    struct hn_session *session = run_session(grid, NULL, &given);
    for (int i = 0; i < 4; i++)
        hn_bindings_finish(&points[i]);
    return session;
}

static enum hn_outcome outcome_of(const struct hn_session *session, int point)
{
    return record_of(session, point)->outcome;
}

TEST(given_points_are_measured_in_full_unless_they_are_hasty)
{
    static const char *const strategies[] = {"exhaustive", "model"};
    for (int i = 0; i < 4; i++) {
        struct hn_session_options options = exhaustive();
        bool hasty = i % 2 == 1;
        options.strategy = hn_strategy_find(strategies[i / 2]);
        options.hasty = hasty;
        struct hn_session *session = run_points(&options);
        assert_int_equal(hn_session_state(session)->finished, 4);
        assert_int_equal(outcome_of(session, 100), HN_OUTCOME_OK);
        assert_int_equal(outcome_of(session, 101), hasty ? HN_OUTCOME_SLOWER : HN_OUTCOME_OK);
        assert_int_equal(outcome_of(session, 102), HN_OUTCOME_OK);
        assert_int_equal(outcome_of(session, 103), hasty ? HN_OUTCOME_SLOWER : HN_OUTCOME_OK);
        const struct hn_timing *timing = &record_of(session, 100)->timing;
        double half = (timing->high_us - timing->low_us) / 2 / timing->median_us;
        assert_true(fabs(half - (hasty ? 0.02 : 0.002)) < 1e-6);
    }
}

/* 90 and 100 us can be told apart, and 500 us is far behind. */
TEST(who_is_wanted_in_the_race_is_in_it)
{
    static const double within[] = {0, 0.2, INFINITY};
    static const int raced[] = {1, 2, 4};
    for (int i = 0; i < 3; i++) {
        struct hn_session_options options = exhaustive();
        options.race_within = within[i];
        struct hn_session *session = run_points(&options);
        int final = 0;
        for (int point = 100; point < 104; point++)
            final += record_of(session, point)->final;
        assert_int_equal(final, raced[i]);
        assert_int_equal(point_number(&hn_session_state(session)->best->point), 102);
    }
}
