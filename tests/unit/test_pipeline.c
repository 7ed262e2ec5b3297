/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "runtime/plan/launch.h"

#include "bench_fixture.h"
#include "plan_fixture.h"
#include "tests/unit/unit.h"

static struct bench_fixture smooth;

static int load(void **state)
{
    return bench_fixture_use(&smooth, "double/pipeline.yaml");
}

ALL_TESTS(load, NULL)

static int open_bench(void **state)
{
    return bench_fixture_start(&smooth, HN_COLD);
}

/* A point in canonical text, of which `changes` says what is not as usual. */
static void make_point(const char *changes, char text[256])
{
    struct hn_bindings point ENDED_BY(hn_bindings_finish), other ENDED_BY(hn_bindings_finish);
    struct hn_text whole ENDED_BY(hn_text_finish) = {0};
    assert_ok(hn_bindings_parse("CHUNKS=3,FAULT=0,GRANULE=1,HOST_MEMORY=pinned,"
                                "ORDER=depth_first,PIECES=1,STAGES_ON=device,STREAMS=2",
                                &point, NULL));
    assert_ok(hn_bindings_parse(changes, &other, NULL));
    assert_ok(hn_bindings_merge(&point, &other, NULL));
    hn_bindings_append(&whole, &point);
    snprintf(text, 256, "%s", whole.data);
}

static struct hn_record evaluate(const char *changes, const struct hn_bench_request *request)
{
    char point[256];
    make_point(changes, point);
    return bench_fixture_evaluate(&smooth, point, request);
}

static void expect(const char *changes, enum hn_outcome outcome, const char *message)
{
    struct hn_record record ENDED_BY(hn_record_finish) = evaluate(changes, &both);
    bench_fixture_check(&record, outcome, message);
}

/* The double copies and computes as late as it may: what does not wait finds poison. */
TEST_WITH(every_memory_and_order_gives_the_right_result, open_bench, NULL)
{
    static const char *const memories[] = {"pageable",       "registered", "pinned",
                                           "write_combined", "mapped",     "managed"};
    static const char *const cuts[] = {"CHUNKS=1,STREAMS=1", "CHUNKS=8,STREAMS=3",
                                       "CHUNKS=40,STREAMS=2,PIECES=3,GRANULE=250"};
    char changes[160];
    setenv("HONE_DOUBLE_LATE", "1", 1);
    for (size_t m = 0; m < sizeof memories / sizeof memories[0]; m++)
        for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++) {
            snprintf(changes, sizeof changes, "HOST_MEMORY=%s,ORDER=%s,STAGES_ON=%s,%s",
                     memories[m], (m + c) % 2 == 0 ? "depth_first" : "breadth_first",
                     c == 1 ? "host" : "device", cuts[c]);
            expect(changes, HN_OUTCOME_OK, NULL);
        }
    unsetenv("HONE_DOUBLE_LATE");
}

TEST_WITH(what_goes_wrong_is_found_in_every_memory, open_bench, NULL)
{
    static const char *const memories[] = {"pinned", "mapped", "managed", "pageable"};
    char changes[160];
    for (size_t m = 0; m < sizeof memories / sizeof memories[0]; m++) {
        const char *memory = memories[m];
        bool in_place = m == 1 || m == 2;
        snprintf(changes, sizeof changes, "FAULT=1,HOST_MEMORY=%s", memory);
        expect(changes, HN_OUTCOME_OUT_OF_BOUNDS, "wrote into input 'x'");
        snprintf(changes, sizeof changes, "FAULT=3,HOST_MEMORY=%s", memory);
        expect(changes, HN_OUTCOME_OUT_OF_BOUNDS,
               in_place ? "wrote at byte 80000 of the host buffer of 'y', which has 80000 bytes"
                        : "wrote at byte 80000 of 'y', which has 80000 bytes");
        snprintf(changes, sizeof changes, "FAULT=2,HOST_MEMORY=%s", memory);
        expect(changes, HN_OUTCOME_WRONG_RESULT, NULL);
        snprintf(changes, sizeof changes, "FAULT=4,HOST_MEMORY=%s", memory);
        expect(changes, HN_OUTCOME_WRONG_RESULT, NULL);
        snprintf(changes, sizeof changes, "HOST_MEMORY=%s", memory);
        expect(changes, HN_OUTCOME_OK, NULL);
    }
}

TEST_WITH(what_can_not_be_cut_is_no_launch, open_bench, NULL)
{
    expect("CHUNKS=50,GRANULE=256", HN_OUTCOME_INVALID_LAUNCH,
           "50 chunks of an extent of 10000, which has 40 granules of 256");
}

static double time_of(const char *changes, double *host_us)
{
    struct hn_record record ENDED_BY(hn_record_finish) = evaluate(changes, &both);
    double time_us = record.timing.median_us;
    assert_int_equal(record.outcome, HN_OUTCOME_OK);
    assert_int_equal(record.timing.batch, 1);
    assert_true(hn_observed(&record.observed, "staging.chunks") > 0);
    if (host_us != NULL)
        *host_us = record.timing.host_us;
    return time_us;
}

/* x and y: 120 kB up in 2 copies of 50 GB/s, 80 kB down, two kernels of 105 us, and the whole ones.
 */
TEST_WITH(copies_and_kernels_overlap, open_bench, NULL)
{
    double host_us = 0.0;
    double sequential_us = time_of("CHUNKS=1,STREAMS=1", &host_us);
    assert_true(host_us > 0.0);
    assert_true(fabs(sequential_us - (1 + 2 * 1 + 2.4 + 210 + 1 + 1.6 + 1)) < 3.0);
    double pageable_us = time_of("CHUNKS=1,STREAMS=1,HOST_MEMORY=pageable", NULL);
    assert_true(pageable_us > sequential_us + 12.0);
    double mapped_us = time_of("CHUNKS=1,STREAMS=1,HOST_MEMORY=mapped", NULL);
    assert_true(mapped_us < sequential_us);
}

/* Both clocks of a record are of the same launches. */
TEST_WITH(a_race_reads_the_hosts_clock_too, open_bench, NULL)
{
    enum { COUNT = 2, ROUNDS = 5 };
    static const char *const changes[COUNT] = {"CHUNKS=1,STREAMS=1", "CHUNKS=4,STREAMS=2"};
    struct hn_record records[COUNT];
    struct hn_image images[COUNT];
    struct hn_bench_candidate candidates[COUNT];
    for (int i = 0; i < COUNT; i++) {
        char text[256];
        make_point(changes[i], text);
        records[i] = (struct hn_record){0};
        assert_ok(hn_bindings_parse(text, &records[i].point, NULL));
        bench_fixture_compile(&smooth, text, &images[i]);
        candidates[i] = (struct hn_bench_candidate){&records[i].point, &images[i]};
    }
    assert_ok(hn_bench_race(smooth.bench, candidates, COUNT,
                            &(struct hn_race_rules){3, ROUNDS, 0.0}, records, &said));
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(records[i].outcome, HN_OUTCOME_OK);
        assert_int_equal(records[i].timing.sample_count, 3);
        assert_true(records[i].timing.host_us > 0.0);
        hn_image_finish(&images[i]);
        hn_record_finish(&records[i]);
    }
}

static void make_launch(const char *changes, struct hn_launch *launch)
{
    char text[256];
    struct hn_bindings point ENDED_BY(hn_bindings_finish);
    make_point(changes, text);
    assert_ok(hn_bindings_parse(text, &point, NULL));
    assert_ok(
        hn_launch_make(smooth.config->plan, &smooth.config->problems[0], &point, launch, &said));
}

TEST(chunks_cover_the_extent)
{
    struct hn_launch launch ENDED_BY(hn_launch_finish);
    make_launch("CHUNKS=8,GRANULE=256", &launch);
    const struct hn_flow *flow = launch.flow;
    int64_t end = 0;
    int64_t uploaded = 0;
    assert_int_equal(flow->chunk_count, 8);
    for (size_t c = 0; c < flow->chunk_count; c++) {
        const struct hn_chunk *chunk = &flow->chunks[c];
        int64_t from, to;
        assert_int_equal(chunk->begin, end);
        assert_int_equal(chunk->begin % 256, 0);
        assert_int_equal(chunk->steps[0].grid[0], (chunk->count + 127) / 128);
        end = chunk->begin + chunk->count;
        hn_flow_upload_range(flow, 0, c, &from, &to);
        assert_int_equal(from, uploaded);
        assert_int_equal(to, end + 3 < 10000 ? end + 3 : 10000);
        uploaded = to;
        assert_true(c == 0 || hn_flow_needs_upload(flow, c, c - 1));
        assert_true(c < 2 || !hn_flow_needs_upload(flow, c, c - 2));
    }
    assert_int_equal(end, 10000);
    assert_int_equal(launch.steps[0].grid[0], 79);
}

/* 10000 units and 16 behind them: a chunk uploads to 16 behind its own. */
TEST(padded_inputs_are_cut)
{
    static struct bench_fixture padded; /* closed once more behind the test */
    struct hn_bindings point ENDED_BY(hn_bindings_finish);
    struct hn_launch launch ENDED_BY(hn_launch_finish);
    bench_fixture_load(&padded, "double/padded.yaml", 90);
    const struct hn_config *config = padded.config;
    assert_ok(
        hn_bindings_parse("CHUNKS=8,HOST_MEMORY=pinned,ORDER=depth_first,STREAMS=3", &point, NULL));
    assert_ok(hn_launch_make(config->plan, &config->problems[0], &point, &launch, &said));
    const struct hn_flow *flow = launch.flow;
    int64_t uploaded = 0;
    assert_string_equal(flow->why, "");
    for (size_t c = 0; c < flow->chunk_count; c++) {
        int64_t from, to;
        hn_flow_upload_range(flow, 0, c, &from, &to);
        assert_int_equal(from, uploaded);
        assert_int_equal(to, flow->chunks[c].begin + flow->chunks[c].count + 16);
        uploaded = to;
        assert_true(c == 0 || hn_flow_needs_upload(flow, c, c - 1));
        assert_true(c < 2 || !hn_flow_needs_upload(flow, c, c - 2));
    }
    assert_int_equal(uploaded, hn_flow_units(flow, 0));
    assert_int_equal(hn_flow_units(flow, 1), 10000);
    bench_fixture_unload(&padded);
}

TEST(plans_with_pipelines_read_back)
{
    json_t *json = keep(hn_plan_to_json(smooth.config->plan), json_decref);
    struct hn_plan *plan = plan_of(json);
    json_t *again = keep(hn_plan_to_json(plan), json_decref);
    assert_true(json_equal(json, again));
    assert_string_equal(hn_plan_hash(plan).hex, hn_plan_hash(smooth.config->plan).hex);
    assert_non_null(json_object_get(json, "pipeline"));
}

TEST(too_much_managed_memory_is_refused)
{
    setenv("HONE_DOUBLE_MEMORY", "3165000", 1);
    bench_fixture_start(&smooth, HN_COLD);
    struct hn_record record ENDED_BY(hn_record_finish) =
        evaluate("HOST_MEMORY=managed", &verify_only);
    assert_int_equal(record.outcome, HN_OUTCOME_OUT_OF_MEMORY);
    assert_non_null(strstr(record.message, "GiB of managed memory; at most a quarter of the "));
    expect("", HN_OUTCOME_OK, NULL);
    bench_fixture_close(&smooth);
    unsetenv("HONE_DOUBLE_MEMORY");
}

TEST(every_failing_call_ends_cleanly)
{
    static const char *const memories[] = {"HOST_MEMORY=registered,STAGES_ON=host",
                                           "HOST_MEMORY=managed", "HOST_MEMORY=mapped"};
    char point[256];
    bench_fixture_set_problem(&smooth, "RADIUS=3,SIZE=1000");
    for (size_t i = 0; i < 3; i++) {
        make_point(memories[i], point);
        assert_true(bench_fixture_fail_calls(&smooth, HN_COLD, point, &verify_only, 100, 60) > 260);
    }
    bench_fixture_set_problem(&smooth, "RADIUS=3,SIZE=10000");
}
