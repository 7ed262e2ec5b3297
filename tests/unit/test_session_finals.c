/* SPDX-License-Identifier: MIT */
#include "scripted_backend.h"
#include "store_fixture.h"

static int count_held_against(const struct hn_session *session, int point, enum hn_outcome outcome)
{
    char text[32];
    int count = 0;
    point_text(point, text);
    for (int i = 0; i < GRID_POINTS; i++) {
        const struct hn_record *record = record_of(session, i);
        count += record != NULL && record->outcome == outcome && record->original != NULL &&
                 strcmp(record->original, text) == 0;
    }
    return count;
}

static void check_counts(const struct hn_session *session)
{
    const struct hn_session_state *end = hn_session_state(session);
    uint64_t counts[HN_OUTCOME_COUNT] = {0};
    for (int i = 0; i < GRID_POINTS; i++)
        counts[record_of(session, i)->outcome]++;
    assert_int_equal(end->finished, GRID_POINTS);
    for (int i = 0; i < HN_OUTCOME_COUNT; i++)
        assert_int_equal(end->counts[i], counts[i]);
}

/* Point 10 is right on one seed only, after it stopped most of the others early; two more are as
 * fast, so that there are finalists to verify while what it stopped is compiled again. */
static struct grid *make_liar(void)
{
    struct grid *grid = make_grid(NULL);
    grid->backend.fates[10] = (struct fate){.us = 50, .second = HN_OUTCOME_WRONG_RESULT, .code = 3};
    grid->backend.fates[12] = (struct fate){.us = 50, .code = 3};
    grid->backend.fates[11].us = 50.1;
    grid->backend.fates[390] = (struct fate){.us = 50.2};
    return grid;
}

TEST(a_liar_falls_on_the_second_seed)
{
    for (unsigned shuffle = 0; shuffle < 4; shuffle++) {
        struct grid *grid = make_liar();
        grid->backend.shuffle = shuffle;
        struct hn_session *session = run_session(grid, NULL, NULL);
        const struct hn_record *liar = record_of(session, 10);
        assert_int_equal(liar->outcome, HN_OUTCOME_WRONG_RESULT);
        assert_memory_equal(liar->message, "it fails (on the second seed, ", 30);
        assert_false(liar->final);
        /* Its duplicate lied with it. */
        assert_int_equal(record_of(session, 12)->outcome, HN_OUTCOME_WRONG_RESULT);
        assert_int_equal(measured_count(&grid->backend, 12), 0);
        assert_int_equal(point_number(&hn_session_state(session)->best->point), 11);
        check_counts(session);
    }
}

TEST(what_a_liar_stopped_is_measured_after_all)
{
    struct grid *grid = make_liar();
    /* Two points of the same code, stopped by the liar, and one that fails when run to its end. */
    grid->backend.fates[200] = (struct fate){.us = 99, .code = 4};
    grid->backend.fates[201] = (struct fate){.us = 99, .code = 4};
    struct hn_session *session = run_session(grid, NULL, NULL);
    assert_int_equal(count_held_against(session, 10, HN_OUTCOME_SLOWER), 0);
    assert_int_equal(measured_count(&grid->backend, 200), 2);
    assert_int_equal(measured_count(&grid->backend, 201), 0);
    assert_int_equal(record_of(session, 200)->outcome, HN_OUTCOME_OK);
    assert_int_equal(record_of(session, 201)->outcome, HN_OUTCOME_DUPLICATE);
    assert_string_equal(record_of(session, 201)->original, "A=10,B=0");
    for (int i = 60; i < GRID_POINTS - GRID_TOO_LARGE; i++)
        assert_int_not_equal(record_of(session, i)->outcome, HN_OUTCOME_SLOWER);
    check_counts(session);
}

/* The cache has the liar as wrong, and nothing that is stopped by it. */
TEST_WITH(a_fall_is_remembered, set_up, tear_down)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    struct grid *grid = make_liar();
    run_session(grid, store, NULL);
    grid = make_liar();
    struct hn_session *session = run_session(grid, store, NULL);
    assert_int_equal(grid->backend.compiled_count, 0);
    assert_int_equal(record_of(session, 10)->outcome, HN_OUTCOME_WRONG_RESULT);
    assert_int_equal(record_of(session, 12)->outcome, HN_OUTCOME_WRONG_RESULT);
    assert_int_equal(point_number(&hn_session_state(session)->best->point), 11);
}

/* The run ends between the fall and the measurements that it calls for: the next one makes them. */
TEST_WITH(a_fall_is_made_good_by_the_next_session, set_up, tear_down)
{
    struct hn_session *session;
    struct hn_session_options options = exhaustive();
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    struct grid *grid = make_liar();
    grid->backend.fail_seeded = true;
    grid->backend.seed = grid->backend.first_seed = 1;
    assert_ok(hn_session_create(&grid->backend.base, store, &options, &session, &said));
    assert_error(hn_session_run(session, NULL, NULL, &said), HN_ERUN, "no more compilers");
    assert_true(count_held_against(session, 10, HN_OUTCOME_SLOWER) > 100);
    hn_session_destroy(session);

    grid = make_liar();
    session = run_session(grid, store, &options);
    assert_int_equal(count_held_against(session, 10, HN_OUTCOME_SLOWER), 0);
    assert_true(grid->backend.compiled_count > 100);
    assert_int_equal(measured_count(&grid->backend, 10), 0);
    assert_int_equal(point_number(&hn_session_state(session)->best->point), 11);
    check_counts(session);
}

TEST(a_finalist_falls_in_the_race)
{
    struct grid *grid = make_grid(NULL);
    grid->backend.fates[10] = (struct fate){.us = 50, .raced = HN_OUTCOME_OUT_OF_BOUNDS};
    grid->backend.fates[11].us = 50.1;
    struct hn_session *session = run_session(grid, NULL, NULL);
    assert_int_equal(record_of(session, 10)->outcome, HN_OUTCOME_OUT_OF_BOUNDS);
    assert_string_equal(record_of(session, 10)->message, "it fails (in the final race)");
    assert_int_equal(count_held_against(session, 10, HN_OUTCOME_SLOWER), 0);
    assert_int_equal(point_number(&hn_session_state(session)->best->point), 11);
    assert_true(hn_session_state(session)->best->final);
    assert_int_equal(grid->backend.races, 2);
    check_counts(session);
}

/* Nobody else's interval overlaps that of what was measured at high clocks. */
TEST(who_is_near_races_the_best)
{
    struct grid *grid = make_grid(NULL);
    grid->backend.fates[10] = (struct fate){.us = 92, .raced_us = 101};
    struct hn_session *session = run_session(grid, NULL, NULL);
    assert_int_equal(point_number(&hn_session_state(session)->best->point), GRID_BEST);
    assert_true(record_of(session, 10)->final);
    assert_near(record_of(session, 10)->timing.median_us, 101, 0.01);
    check_counts(session);
}

TEST(times_stand_when_a_race_comes_to_no_end)
{
    struct grid *grid = make_grid(NULL);
    grid->backend.fates[10].us = 50.1;
    grid->backend.fates[11].us = 50;
    grid->backend.race_hangs = true;
    struct hn_session *session = run_session(grid, NULL, NULL);
    assert_int_equal(point_number(&hn_session_state(session)->best->point), 11);
    assert_false(hn_session_state(session)->best->final);
    assert_near(record_of(session, 11)->timing.median_us, 50, 0);
    check_counts(session);
}

TEST(everything_fails_on_the_second_seed)
{
    struct grid *grid = make_grid(NULL);
    for (int i = 0; i < GRID_POINTS; i++)
        grid->backend.fates[i].second = HN_OUTCOME_RUN_TIMEOUT;
    struct hn_session *session = run_session(grid, NULL, NULL);
    assert_null(hn_session_state(session)->best);
    assert_int_equal(hn_session_state(session)->counts[HN_OUTCOME_RUN_TIMEOUT],
                     GRID_POINTS - GRID_TOO_LARGE);
    assert_int_equal(grid->backend.races, 0);
    check_counts(session);
}

/* The best and the summary's first are the same point, however the strategy came to it. */
TEST(equals_have_one_order)
{
    for (uint64_t seed = 1; seed < 6; seed++) {
        struct hn_ranking ranking ENDED_BY(hn_ranking_finish);
        struct hn_session_options options = {
            .strategy = hn_strategy_find("random"), .seed = seed, .command = "hone tune"};
        struct grid *grid = make_grid(NULL);
        for (int point = 7; point < 397; point += 50)
            grid->backend.fates[point].us = 50;
        struct hn_session *session = run_session(grid, NULL, &options);
        const struct hn_record *best = hn_session_state(session)->best;
        assert_int_equal(point_number(&best->point), 7);
        assert_ok(hn_session_ranking(session, &ranking, &said));
        assert_int_equal(point_number(&keep_record(session, ranking.tickets[0])->point), 7);
    }
}

/* Point 200 takes 100 us, also in the race. */
TEST(the_best_is_measured_in_other_processes)
{
    struct hn_session_options options = exhaustive();
    struct grid *grid = make_grid(NULL);
    struct hn_session *session = run_session(grid, NULL, &options);
    const struct hn_timing *timing = &record_of(session, GRID_BEST)->timing;
    assert_int_equal(timing->processes, 2);
    assert_near(timing->fastest_us, 100, 1e-9);
    assert_near(timing->middle_us, 100.5, 1e-9);
    assert_near(timing->slowest_us, 101, 1e-9);
    assert_near(timing->copy_gb_per_s, 2000, 1e-9);
    assert_near(timing->median_us, 100, 0.01);
    assert_int_equal(record_of(session, 10)->timing.processes, 0);
    options.brief = true;
    session = run_session(grid, NULL, &options);
    assert_int_equal(record_of(session, GRID_BEST)->timing.processes, 0);
}

TEST(who_fails_in_another_process_falls)
{
    struct grid *grid = make_grid(NULL);
    grid->backend.fates[GRID_BEST].anew = HN_OUTCOME_WRONG_RESULT;
    struct hn_session *session = run_session(grid, NULL, NULL);
    assert_int_equal(record_of(session, GRID_BEST)->outcome, HN_OUTCOME_WRONG_RESULT);
    assert_int_not_equal(point_number(&hn_session_state(session)->best->point), GRID_BEST);
    assert_int_equal(hn_session_state(session)->best->timing.processes, 2);
    check_counts(session);
}

TEST_WITH(images_of_the_best_are_kept, set_up, tear_down)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    void *cubin FREED;
    size_t size;
    char *entry FREED;
    struct grid *grid = make_grid(NULL);
    struct hn_session *session = run_session(grid, store, NULL);
    assert_ok(hn_store_get_image(store, &grid->task.identity, &grid->task.version,
                                 &hn_session_state(session)->best->point, &cubin, &size, &entry,
                                 &said));
    assert_int_equal(size, 5);
    assert_memory_equal(cubin, "cubin", 5);
    assert_int_equal(query(cache.path, "SELECT COUNT(*) FROM image"), 3);
}
