/* SPDX-License-Identifier: MIT */
#include "scripted_backend.h"
#include "store_fixture.h"

#include <sys/wait.h>

#include "base/run.h"
#include "tuner/session/session_internal.h"

EACH_TEST(set_up, tear_down)

static struct grid *make_mixed(void)
{
    struct grid *grid = make_grid(NULL);
    for (int i = 0; i < GRID_POINTS; i++) {
        struct fate *fate = &grid->backend.fates[i];
        if (i % 17 == 5)
            fate->compiled = HN_OUTCOME_COMPILE_ERROR;
        else if (i % 23 == 7)
            fate->measured = HN_OUTCOME_WRONG_RESULT;
        else if (i % 10 == 8)
            fate->code = 1 + i / 100;
    }
    return grid;
}

/* Tunes the mixed grid once and lets go of it; the best point. */
static int tune_once(struct hn_store *store, const struct hn_session_options *options)
{
    struct grid *grid = make_mixed();
    struct hn_session *session = run_session(grid, store, options);
    int best = point_number(&hn_session_state(session)->best->point);
    drop(session);
    drop(grid);
    return best;
}

static void expect_no_work(const struct scripted *backend)
{
    assert_int_equal(backend->compiled_count, 0);
    assert_int_equal(backend->evaluated_count, 0);
    assert_int_equal(backend->prepared, 0);
    assert_int_equal(backend->races, 0);
    assert_int_equal(backend->reseeds, 0);
}

TEST(second_session_does_no_work)
{
    struct hn_session_options options = exhaustive();
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    int best = tune_once(store, &options);
    for (int i = 0; i < 2; i++) {
        options.strategy = hn_strategy_find(i == 0 ? "exhaustive" : "random");
        struct grid *grid = make_mixed();
        struct hn_session *session = run_session(grid, store, &options);
        const struct hn_session_state *end = hn_session_state(session);
        expect_no_work(&grid->backend);
        assert_int_equal(end->reused, GRID_POINTS);
        assert_int_equal(end->finished, GRID_POINTS);
        assert_int_equal(sum_of_counts(end), GRID_POINTS);
        assert_int_equal(point_number(&end->best->point), best);
        assert_true(end->best->final);
    }
    assert_int_equal(query(cache.path, "SELECT COUNT(*) FROM session"), 1);
}

/* Times of the race lie above those of the search: one that was left out is now before them all,
 * which is no reason to race again. */
TEST(a_race_that_shifts_times_is_not_repeated)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    for (int i = 0; i < 2; i++) {
        struct grid *grid = make_grid(NULL);
        grid->backend.race_factor = 1.02;
        struct hn_session *session = run_session(grid, store, NULL);
        assert_int_equal(grid->backend.races, i == 0);
        assert_int_equal(point_number(&hn_session_state(session)->best->point), GRID_BEST);
        assert_near(hn_session_state(session)->best->timing.median_us, 102, 0.01);
    }
}

/* A child that gets SIGINT with its evaluation `at`. */
static void tune_interrupted(const char *path, int at)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct hn_session *session;
        struct hn_session_options options = exhaustive();
        struct hn_store *store;
        struct hn_error err;
        hn_interrupt_install();
        struct grid *grid = make_mixed();
        grid->backend.interrupt_at = at;
        grid->backend.seed = grid->backend.first_seed = 1;
        bool fine =
            hn_store_open(path, HN_STORE_WRITE, &store, &err) == HN_OK &&
            hn_session_create(&grid->backend.base, store, &options, &session, &err) == HN_OK &&
            hn_session_run(session, NULL, NULL, &err) == HN_OK &&
            hn_session_state(session)->interrupted && grid->backend.evaluated_count == at;
        _exit(fine ? 0 : 1);
    }
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
}

TEST(an_interrupted_session_goes_on)
{
    tune_interrupted(cache.path, 60);
    int64_t kept = query(cache.path, "SELECT COUNT(DISTINCT point) FROM record");
    assert_true(kept >= 59 && kept < 120);

    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    struct grid *grid = make_mixed();
    struct hn_session *session = run_session(grid, store, NULL);
    const struct hn_session_state *end = hn_session_state(session);
    assert_int_equal(end->reused, kept);
    assert_int_equal(end->finished, GRID_POINTS);
    assert_int_equal(sum_of_counts(end), GRID_POINTS);
    assert_int_equal(point_number(&end->best->point), GRID_BEST);
    assert_int_equal(grid->backend.races, 1);
}

/* Interrupted so many evaluations before the last: all is measured, the race is still to be held.
 */
static void interrupt_final(int before_last)
{
    struct grid *grid = make_mixed();
    struct hn_session *session = run_session(grid, NULL, NULL);
    int evaluations = grid->backend.evaluated_count - before_last;

    tune_interrupted(cache.path, evaluations);
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    grid = make_mixed();
    session = run_session(grid, store, NULL);
    assert_int_equal(hn_session_state(session)->reused, GRID_POINTS);
    assert_int_equal(grid->backend.races, 1);
    assert_int_equal(grid->backend.compiled_count, 4);
    assert_int_equal(grid->backend.evaluated_count, 5);
    assert_true(hn_session_state(session)->best->final);
}

TEST(an_interrupted_final_is_held_again)
{
    interrupt_final(1);
}

/* The last evaluation is that of the winner after the race: cut short, the race counts for nothing.
 */
TEST(an_interrupted_audit_is_held_again)
{
    interrupt_final(0);
}

TEST(a_run_failure_keeps_what_was_finished)
{
    struct hn_session *session;
    struct hn_session_options options = exhaustive();
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    struct grid *grid = make_grid(NULL);
    grid->backend.fail_at = 100;
    grid->backend.seed = grid->backend.first_seed = 1;
    assert_ok(hn_session_create(&grid->backend.base, store, &options, &session, &said));
    assert_error(hn_session_run(session, NULL, NULL, &said), HN_ERUN, "the GPU is gone");
    assert_int_equal(hn_session_state(session)->finished, 99);
    assert_int_equal(query(cache.path, "SELECT COUNT(*) FROM record"), 99);
    hn_session_destroy(session);

    grid = make_grid(NULL);
    session = run_session(grid, store, &options);
    assert_int_equal(hn_session_state(session)->reused, 99);
    assert_int_equal(hn_session_state(session)->finished, GRID_POINTS);
}

TEST(retry_failed_tries_failures_alone)
{
    struct hn_session_options options = exhaustive();
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    tune_once(store, &options);
    options.retry_failed = true;
    struct grid *grid = make_grid(NULL);
    struct hn_session *session = run_session(grid, store, &options);
    assert_true(grid->backend.compiled_count > 30);
    for (int i = 0; i < grid->backend.compiled_count; i++) {
        int point = grid->backend.compiled[i];
        bool failed = point % 17 == 5 || point % 23 == 7;
        /* A finalist that came from the cache is compiled for the race. */
        assert_true(failed || record_of(session, point)->final);
    }
    assert_int_equal(hn_session_state(session)->counts[HN_OUTCOME_COMPILE_ERROR], 0);
    assert_int_equal(hn_session_state(session)->counts[HN_OUTCOME_WRONG_RESULT], 0);
}

TEST(full_measures_early_stops_again)
{
    struct hn_session_options options = exhaustive();
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    struct grid *grid = make_grid(NULL);
    struct hn_session *session = run_session(grid, store, &options);
    int stopped = (int)hn_session_state(session)->counts[HN_OUTCOME_SLOWER];
    assert_true(stopped > 100);

    options.full = true;
    grid = make_grid(NULL);
    session = run_session(grid, store, &options);
    assert_int_equal(hn_session_state(session)->counts[HN_OUTCOME_SLOWER], 0);
    assert_int_equal(hn_session_state(session)->reused, GRID_POINTS - stopped);
}

/* What a duplicate or an early stop was held against is outside of the restricted space: they are
 * measured on their own there, and one of them wins. */
TEST(a_part_of_the_space_has_its_own_best)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    for (int i = 0; i < 2; i++) {
        struct grid *grid = make_grid(i == 0 ? NULL : "A=15");
        grid->backend.fates[40] = (struct fate){.us = 30, .code = 9};
        grid->backend.fates[310] = (struct fate){.us = 30, .code = 9};
        struct hn_session *session = run_session(grid, store, NULL);
        const struct hn_session_state *end = hn_session_state(session);
        assert_int_equal(point_number(&end->best->point), i == 0 ? 40 : 310);
        if (i == 1)
            assert_int_equal(end->counts[HN_OUTCOME_DUPLICATE], 0);
    }
}

static int stored_best(struct hn_store *store)
{
    struct hn_tuned_list list ENDED_BY(hn_tuned_list_free);
    assert_ok(hn_store_list(store, HN_STORE_RESULTS, NULL, NULL, &list, &said));
    assert_int_equal(list.count, 1);
    int best = point_number(&list.items[0].best.point);
    return best;
}

/* Runs a session of the whole space or of A=15, where the best is point 310 with 101 us;
 * what the cache names the best then. */
static int tune_part(struct hn_store *store, const char *restriction, bool elsewhere)
{
    struct grid *grid = make_grid(restriction);
    grid->backend.fates[310].us = 101;
    grid->config->restricted = elsewhere;
    const struct hn_session_state *end = hn_session_state(run_session(grid, store, NULL));
    assert_int_equal(point_number(&end->best->point), restriction != NULL ? 310 : GRID_BEST);
    assert_int_equal(end->elsewhere != NULL, elsewhere);
    return stored_best(store);
}

/* Whoever looks at a part of the space alone leaves the best of the whole in its place. */
TEST(a_part_of_the_space_does_not_hide_the_best)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    assert_int_equal(tune_part(store, "A=15", false), 310);
    assert_int_equal(tune_part(store, NULL, false), GRID_BEST);
    for (int i = 0; i < 2; i++)
        assert_int_equal(tune_part(store, "A=15", true), GRID_BEST);
    assert_int_equal(tune_part(store, NULL, false), GRID_BEST);
}

/* A config that says less than it did leaves its best out on purpose, until it says that again. */
TEST(a_narrower_config_has_its_own_best)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    for (int i = 0; i < 3; i++)
        assert_int_equal(tune_part(store, i == 1 ? "A=15" : NULL, false), i == 1 ? 310 : GRID_BEST);
}

TEST(a_part_of_the_space_may_have_the_best)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    run_session(make_grid("A=10"), store, NULL);
    struct grid *grid = make_grid("A=15");
    grid->backend.fates[310].us = 99;
    run_session(grid, store, NULL);
    assert_int_equal(stored_best(store), 310);
}

/* A tune of another process, which is begun and ends while this one is in a phase. */
struct beside {
    struct hn_store *store;
    struct grid *grid;
    const char *phase; /* NULL: it has ended */
};

static void run_beside(void *watcher, const struct hn_session_state *state)
{
    struct beside *beside = watcher;
    if (beside->phase == NULL || strncmp(state->phase, beside->phase, strlen(beside->phase)) != 0)
        return;
    beside->phase = NULL;
    run_session(beside->grid, beside->store, NULL);
}

/* Whichever of two tunes is begun first, ends first and has the best, that is the cache's; also
 * where one of the whole space has not looked at it. */
TEST(tunes_side_by_side_leave_the_best_of_both)
{
    static const char *const phases[] = {"preparing", "verifying the finalists", "racing"};
    for (int i = 0; i < 24; i++) {
        const int best = i / 6 % 2 == 0 ? GRID_BEST : 310;
        const bool whole = i / 3 % 2 == 1, brief = whole && best == 310;
        struct hn_session_options options = exhaustive();
        struct grid *grid = make_grid(whole ? NULL : "A=10");
        char path[200];
        snprintf(path, sizeof path, "%s/%d.db", cache.folder, i);
        struct hn_store *store = open_store(path, HN_STORE_WRITE);
        struct beside beside = {store, make_grid("A=15"), phases[i % 3]};
        beside.grid->config->restricted = i / 12 == 0;
        beside.grid->backend.fates[310].us = best == 310 ? 99 : 101;
        grid->config->restricted = !whole;
        grid->backend.seed = grid->backend.first_seed = options.seed;
        options.budget_count = brief ? 20 : 0;
        struct hn_session *session;
        assert_ok(hn_session_create(&grid->backend.base, store, &options, &session, &said));
        keep(session, hn_session_destroy);
        assert_ok(hn_session_run(session, run_beside, &beside, &said));
        assert_null(beside.phase);
        assert_int_equal(stored_best(store), best);
        if (brief)
            assert_null(record_of(session, 310));
        drop(store);
    }
}

/* A better point found since the last race is not outranked by the winner of that race, whose own
 * race it has to win first. */
TEST(what_is_new_races_the_best_so_far)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    struct grid *grid = make_grid("A=10");
    run_session(grid, store, NULL);

    grid = make_grid(NULL);
    grid->backend.fates[30].us = 99.9;
    struct hn_session *session = run_session(grid, store, NULL);
    assert_int_equal(point_number(&hn_session_state(session)->best->point), 30);
    assert_true(record_of(session, GRID_BEST)->final);
    assert_int_equal(measured_count(&grid->backend, GRID_BEST), 0);
}

static void race_twice(const char *path, double factor, int races)
{
    struct hn_store *store = open_store(path, HN_STORE_WRITE);
    for (int run = 0; run < 2; run++) {
        struct grid *grid = make_grid(NULL);
        grid->backend.race_factor = factor;
        struct hn_session *session = run_session(grid, store, NULL);
        assert_int_equal(point_number(&hn_session_state(session)->best->point), GRID_BEST);
        races -= grid->backend.races;
    }
    assert_int_equal(races, 0);
}

/* A race slows all down alike: by a little it is settled. */
TEST(a_slower_race_is_settled)
{
    race_twice(cache.path, 1.08, 1);
}

/* By more, those who look better by their times of the search meet the winner in another race. */
TEST(who_looks_better_meets_the_winner)
{
    race_twice(cache.path, 1.2, 2);
}

/* Records are read back when they are asked for: a session holds those of the best few, in the
 * first run as in one over the cache. */
TEST(what_is_in_the_cache_is_not_held)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    for (int run = 0; run < 2; run++) {
        size_t held = 0;
        struct grid *grid = make_mixed();
        struct hn_session *session = run_session(grid, store, NULL);
        for (size_t i = 0; i < session->tickets.count; i++)
            held += session->tickets.items[i].flight != NULL;
        assert_in_range(held, 1, HN_KEPT_CLOSE + 1);
        for (int i = 0; i < GRID_POINTS; i++) {
            const struct hn_record *record = record_of(session, i);
            assert_non_null(record);
            assert_int_equal(point_number(&record->point), i);
        }
    }
}

/* All that a stranger says of the whole space spares no measurement. */
TEST(what_is_imported_is_measured)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    int best = tune_once(store, NULL);
    drop(store);
    run_sql(cache.path, "UPDATE session SET source = 'x.json', imported = 1.0;"
                        "UPDATE session SET " SUM_OF_SESSION);
    store = open_store(cache.path, HN_STORE_WRITE);
    struct grid *grid = make_mixed();
    struct hn_session *session = run_session(grid, store, NULL);
    const struct hn_session_state *end = hn_session_state(session);
    assert_int_equal(end->reused, 0);
    assert_int_equal(end->finished, GRID_POINTS);
    assert_int_equal(point_number(&end->best->point), best);
}

static double impatience(const struct hn_strategy *strategy)
{
    (void)strategy;
    return 1000;
}

/* It is no failure: whoever looks again may have more time. */
TEST(what_was_stopped_is_compiled_again)
{
    struct hn_strategy_kind hurried = *hn_strategy_find("exhaustive");
    struct hn_session_options options = exhaustive();
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    options.strategy = &hurried;
    hurried.patience = impatience;
    for (int i = 0; i < 3; i++) {
        struct grid *grid = make_grid(NULL);
        for (int p = 3; i < 2 && p < GRID_POINTS; p += 10)
            grid->backend.fates[p].compile_ms = 1500;
        struct hn_session *session = run_session(grid, store, &options);
        const struct hn_session_state *end = hn_session_state(session);
        const struct hn_record *record = record_of(session, 13);
        assert_int_equal(end->counts[HN_OUTCOME_COMPILE_STOPPED], i < 2 ? GRID_POINTS / 10 : 0);
        if (i > 0) /* and some finalists */
            assert_in_range(grid->backend.compiled_count, GRID_POINTS / 10, GRID_POINTS / 5);
        assert_int_equal(end->finished, GRID_POINTS);
        assert_near(record->costs.compile_ms, i < 2 ? 1000 : 10, 0);
        assert_true(i < 2
                        ? record->outcome == HN_OUTCOME_COMPILE_STOPPED
                        : record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_SLOWER);
        drop(session);
    }
}

/* Somebody may prune the cache meanwhile. */
TEST(a_record_that_is_gone_is_said)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    struct hn_record record;
    size_t lost = 0;
    struct grid *grid = make_grid(NULL);
    struct hn_session *session = run_session(grid, store, NULL);
    while (session->tickets.items[lost].flight != NULL)
        lost++;
    run_sql(cache.path, "DELETE FROM record");
    assert_mentions(hn_session_record(session, lost, &record, &said), HN_ENOTFOUND,
                    "a record is gone that was there before");
}
