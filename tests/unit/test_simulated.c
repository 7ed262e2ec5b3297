/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "cache/recording/recording.h"
#include "scripted_backend.h"
#include "store_fixture.h"

EACH_TEST(set_up, tear_down)

static const struct hn_device_identity h200 = {"NVIDIA H200", 90, 132, ""};

/* What was recorded of a point: every 50th did not compile, every 41st was wrong, 21 is a duplicate
 * of 20; the best is 333. */
static void record_point(struct hn_record *record, int point)
{
    char text[32];
    *record = (struct hn_record){0};
    assert_ok(hn_bindings_parse(point_text(point, text), &record->point, NULL));
    snprintf(record->code_hash, sizeof record->code_hash, "%032x", point == 21 ? 20 : point);
    record->resources = (struct hn_resources){.known = true, .registers = 32, .occupancy = 0.5};
    record->verdict = (struct hn_verdict){.kind = HN_VERIFIED, .seeds = 1};
    record->time = 1763697600 + point;
    if (point % 50 == 49) {
        record->code_hash[0] = '\0';
        hn_record_fail(record, HN_OUTCOME_COMPILE_ERROR, "grid.cu(3): error: no");
        return;
    }
    if (point % 41 == 40) {
        hn_record_fail(record, HN_OUTCOME_WRONG_RESULT, "off by one");
        return;
    }
    double us = point == 333 ? 50 : point == 21 ? 120 : 100 + point;
    record->timing = (struct hn_timing){
        .median_us = us, .low_us = us * 0.999, .high_us = us * 1.001, .batch = 1};
    record->objective = us;
    if (point == 21) {
        hn_record_fail(record, HN_OUTCOME_DUPLICATE, "same machine code and launch as A=1,B=0");
        record->original = strdup("A=1,B=0");
    }
}

/* A recording of all points but the first `missing`. */
static void save_recording(const struct grid *grid, const char *path, int missing,
                           const char *kernel, int n, const char *regime)
{
    struct hn_value value = hn_integer(n);
    struct hn_recording recording ENDED_BY(hn_recording_finish) = {
        .from_hone = true, .version = grid->task.version, .date = strdup("2025-11-21T04:00:00Z")};
    assert_ok(hn_identity_copy(&recording.identity, &grid->task.identity, &said));
    assert_ok(hn_bindings_set(&recording.identity.problem, "n", &value, NULL));
    free(recording.identity.kernel);
    free(recording.identity.regime);
    recording.identity.kernel = strdup(kernel);
    recording.identity.regime = strdup(regime);
    recording.identity.device = h200;
    recording.parameters = calloc(2, sizeof *recording.parameters);
    recording.records.items = calloc(GRID_POINTS, sizeof *recording.records.items);
    assert_non_null(recording.parameters);
    assert_non_null(recording.records.items);
    recording.parameters[0] = strdup("A");
    recording.parameters[1] = strdup("B");
    recording.parameter_count = 2;
    for (int i = missing; i < GRID_POINTS; i++)
        record_point(&recording.records.items[recording.records.count++], i);
    assert_ok(hn_recording_save(path, &recording, &said));
}

/* A finished session over the recording. */
static struct hn_session *run_simulated(struct grid *grid, const char *path, struct hn_store *store,
                                        struct hn_backend **backend)
{
    struct hn_session *session;
    struct hn_session_options options = exhaustive();
    assert_ok(hn_backend_simulated(&grid->task, path, backend, &said));
    keep(*backend, hn_backend_destroy);
    assert_ok(hn_session_create(*backend, store, &options, &session, &said));
    keep(session, hn_session_destroy);
    assert_ok(hn_session_run(session, NULL, NULL, &said));
    return session;
}

TEST(a_recording_plays)
{
    struct hn_backend *backend;
    struct grid *grid = make_grid(NULL);
    save_recording(grid, in_folder("a.json"), 0, "grid", 1024, "cold");
    struct hn_session *session = run_simulated(grid, in_folder("a.json"), NULL, &backend);
    const struct hn_session_state *end = hn_session_state(session);
    assert_true(backend->simulated);
    assert_string_equal(grid->task.identity.device.name, "NVIDIA H200");
    assert_int_equal(backend->device.identity.sm_count, 132);
    assert_int_equal(end->finished, GRID_POINTS);
    assert_int_equal(sum_of_counts(end), GRID_POINTS);
    assert_int_equal(point_number(&end->best->point), 333);
    assert_near(end->best->timing.median_us, 50, 0);
    assert_int_equal(end->counts[HN_OUTCOME_COMPILE_ERROR], 7);
    assert_int_equal(end->counts[HN_OUTCOME_WRONG_RESULT], 9);
    assert_int_equal(end->counts[HN_OUTCOME_DUPLICATE], 1);
    assert_int_equal(end->counts[HN_OUTCOME_INVALID_LAUNCH], GRID_TOO_LARGE);
    assert_string_equal(record_of(session, 49)->message, "grid.cu(3): error: no");
    assert_int_equal(record_of(session, 21)->outcome, HN_OUTCOME_DUPLICATE);
    assert_near(record_of(session, 21)->timing.median_us, 120, 0);
}

/* The same points again, as simulated ones of the recorded device, apart from measured ones. */
TEST(simulated_records_are_kept_apart)
{
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    for (int i = 0; i < 2; i++) {
        struct hn_backend *backend;
        struct hn_records records;
        struct grid *grid = make_grid(NULL);
        save_recording(grid, in_folder("a.json"), 0, "grid", 1024, "cold");
        struct hn_session *session = run_simulated(grid, in_folder("a.json"), store, &backend);
        assert_int_equal(hn_session_state(session)->reused, i == 0 ? 0 : GRID_POINTS);
        assert_int_equal(point_number(&hn_session_state(session)->best->point), 333);
        assert_ok(
            hn_store_load(store, &grid->task.identity, &grid->task.version, true, &records, &said));
        assert_int_equal(records.count, GRID_POINTS);
        hn_records_free(&records);
        assert_ok(hn_store_load(store, &grid->task.identity, &grid->task.version, false, &records,
                                &said));
        assert_int_equal(records.count, 0);
        hn_records_free(&records);
    }
}

TEST(what_was_not_recorded_is_skipped_and_not_kept)
{
    struct hn_backend *backend;
    struct hn_store *store = open_store(cache.path, HN_STORE_WRITE);
    struct grid *grid = make_grid(NULL);
    save_recording(grid, in_folder("a.json.gz"), 20, "grid", 1024, "cold");
    struct hn_session *session = run_simulated(grid, in_folder("a.json.gz"), store, &backend);
    assert_int_equal(hn_session_state(session)->counts[HN_OUTCOME_SKIPPED], 20);
    assert_int_equal(sum_of_counts(hn_session_state(session)), GRID_POINTS);
    assert_string_equal(record_of(session, 0)->message, "not in the recording");
    assert_int_equal(query(cache.path, "SELECT COUNT(*) FROM record"), GRID_POINTS - 20);
}

static void expect_refusal(struct grid *grid, const char *path, enum hn_status status,
                           const char *format, ...)
{
    struct hn_backend *backend = NULL;
    char expected[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    assert_int_equal(hn_backend_simulated(&grid->task, path, &backend, &said), status);
    assert_string_equal(said.message, expected);
    assert_null(backend);
}

TEST(too_little_is_recorded)
{
    const char *path = in_folder("a.json");
    struct grid *grid = make_grid(NULL);
    save_recording(grid, path, 21, "grid", 1024, "cold");
    expect_refusal(grid, path, HN_ECONFIG,
                   "%s records 379 of the 400 valid points; at least 95%% are needed for a "
                   "simulation (restrict the space with -s; `hone explain --simulate` and `hone "
                   "report` show a part of one)",
                   path);
    /* All that is left by a restriction is recorded. */
    struct hn_backend *backend;
    grid = make_grid("A=2");
    struct hn_session *session = run_simulated(grid, path, NULL, &backend);
    assert_int_equal(hn_session_state(session)->finished, GRID_SIDE);
}

TEST(a_file_of_something_else_is_refused)
{
    const char *path = in_folder("a.json");
    struct grid *grid = make_grid(NULL);
    save_recording(grid, path, 0, "copy", 1024, "cold");
    expect_refusal(grid, path, HN_ECONFIG,
                   "%s records copy (n=1024, cold); asked for is grid (n=1024, cold)", path);
    save_recording(grid, path, 0, "grid", 4096, "cold");
    expect_refusal(grid, path, HN_ECONFIG,
                   "%s records grid (n=4096, cold); asked for is grid (n=1024, cold)", path);
    save_recording(grid, path, 0, "grid", 1024, "warm");
    expect_refusal(grid, path, HN_ECONFIG,
                   "%s records grid (n=1024, warm); asked for is grid (n=1024, cold)", path);
}

TEST(a_folder_is_searched_for_the_problem)
{
    struct hn_backend *backend;
    struct grid *grid = make_grid(NULL);
    expect_refusal(grid, cache.folder, HN_ERUN, "%s holds no recording of grid for n=1024 (cold)",
                   cache.folder);
    save_recording(grid, in_folder("a.json"), 0, "copy", 1024, "cold");
    save_recording(grid, in_folder("b.json"), 0, "grid", 4096, "cold");
    save_recording(grid, in_folder("c.txt"), 0, "grid", 1024, "cold");
    expect_refusal(grid, cache.folder, HN_ERUN, "%s holds no recording of grid for n=1024 (cold)",
                   cache.folder);
    save_recording(grid, in_folder("d.json.gz"), 0, "grid", 1024, "cold");
    struct hn_session *session = run_simulated(grid, cache.folder, NULL, &backend);
    assert_int_equal(point_number(&hn_session_state(session)->best->point), 333);
}
