/* SPDX-License-Identifier: MIT */
#include "bench_fixture.h"
#include "cache/record/record.h"
#include "tests/unit/unit.h"
#include "tuner/report/bounds.h"

/* Pipelines on a GPU: every kind of host memory and both orders, right and wrong. */

ONLY_WHERE(bench_fixture_find_device)

static struct bench_fixture smooth;

static const char *const memories[] = {"pageable",       "registered", "pinned",
                                       "write_combined", "mapped",     "managed"};
static const char *const orders[] = {"depth_first", "breadth_first"};
enum { MEMORIES = 6, ORDERS = 2 };

static void open_with(const char *config, const char *size)
{
    struct hn_bindings problem ENDED_BY(hn_bindings_finish);
    bench_fixture_use(&smooth, config);
    assert_ok(hn_bindings_parse(size, &problem, &said));
    assert_ok(hn_config_take_problem(smooth.config, &problem, &said));
    bench_fixture_start(&smooth, HN_COLD);
}

struct cut {
    int chunks, streams, granule, pieces;
    const char *stages_on;
};

static struct hn_record evaluate(const struct cut *cut, const char *memory, const char *order,
                                 int fault, bool measure)
{
    struct hn_bench_request request = {
        .verify = true, .measure = measure, .full = true, .observe = "staging"};
    if (!measure)
        request.observe[0] = '\0';
    char point[256];
    snprintf(point, sizeof point,
             "CHUNKS=%d,FAULT=%d,GRANULE=%d,HOST_MEMORY=%s,ORDER=%s,PIECES=%d,STAGES_ON=%s,"
             "STREAMS=%d",
             cut->chunks, fault, cut->granule, memory, order, cut->pieces, cut->stages_on,
             cut->streams);
    struct hn_record record = bench_fixture_evaluate(&smooth, point, &request);
    json_t *shown = hn_record_to_json(&record), *staging = json_object_get(shown, "staging");
    hn_staging_add_json(shown);
    printf("%s: %s%s%s\n", point, hn_outcome_names[record.outcome],
           record.message == NULL ? "" : ": ", record.message == NULL ? "" : record.message);
    if (measure)
        printf("  %.2f us, host %.2f us; kernels %.2f, up %.2f, down %.2f, sequential %.2f, limit "
               "%.2f us; registering %.2f ms\n",
               record.timing.median_us, record.timing.host_us,
               json_number_value(json_object_get(staging, "kernels_us")),
               json_number_value(json_object_get(staging, "upload_us")),
               json_number_value(json_object_get(staging, "download_us")),
               json_number_value(json_object_get(staging, "sequential_us")),
               json_number_value(json_object_get(staging, "limit_us")),
               json_number_value(json_object_get(staging, "register_ms")));
    json_decref(shown);
    return record;
}

static void expect(const struct cut *cut, const char *memory, const char *order, int fault,
                   enum hn_outcome outcome, const char *message)
{
    struct hn_record record ENDED_BY(hn_record_finish) = evaluate(cut, memory, order, fault, false);
    bench_fixture_check(&record, outcome, message);
}

TEST(every_cut_gives_the_right_result)
{
    static const struct cut cuts[] = {{1, 1, 1, 1, "device"},
                                      {8, 3, 1, 1, "host"},
                                      {40, 2, 250, 3, "device"},
                                      {40, 3, 256, 1, "host"}};
    open_with("double/pipeline.yaml", "SIZE=10000");
    for (size_t m = 0; m < MEMORIES; m++)
        for (size_t o = 0; o < ORDERS; o++)
            for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++)
                expect(&cuts[c], memories[m], orders[o], 0, HN_OUTCOME_OK, NULL);
}

TEST(padded_inputs_arrive_before_they_are_read)
{
    const struct hn_bench_request request = {.verify = true, .measure = true, .full = true};
    open_with("double/padded.yaml", "SIZE=4194304");
    for (size_t m = 0; m < MEMORIES; m++)
        for (size_t o = 0; o < ORDERS; o++) {
            char point[128];
            snprintf(point, sizeof point, "CHUNKS=8,HOST_MEMORY=%s,ORDER=%s,STREAMS=3", memories[m],
                     orders[o]);
            const struct hn_record *record =
                bench_fixture_record(&smooth, point, &request, HN_OUTCOME_OK, NULL);
            printf("%s: %.2f us\n", point, record->timing.median_us);
        }
}

TEST(what_goes_wrong_is_found)
{
    static const struct cut cut = {3, 2, 1, 1, "device"};
    open_with("double/pipeline.yaml", "SIZE=10000");
    for (size_t m = 0; m < MEMORIES; m++) {
        bool in_place = m >= 4;
        expect(&cut, memories[m], orders[0], 1, HN_OUTCOME_OUT_OF_BOUNDS, "wrote into input 'x'");
        expect(&cut, memories[m], orders[0], 2, HN_OUTCOME_WRONG_RESULT, "y[1000");
        expect(&cut, memories[m], orders[1], 3, HN_OUTCOME_OUT_OF_BOUNDS,
               in_place ? "wrote at byte 80000 of the host buffer of 'y'"
                        : "wrote at byte 80000 of 'y'");
        expect(&cut, memories[m], orders[0], 4, HN_OUTCOME_WRONG_RESULT, "y[1");
        expect(&cut, memories[m], orders[0], 0, HN_OUTCOME_OK, NULL);
    }
}

/* 48 MiB up, 32 MiB down. How far they overlap is printed; bench/run pipeline holds it against
 * others. */
TEST(large_ones_are_right)
{
    static const struct cut whole = {1, 1, 1, 1, "device"};
    static const struct cut cut = {8, 3, 1, 1, "device"};
    open_with("double/pipeline.yaml", "SIZE=4194304");
    for (size_t m = 0; m < MEMORIES; m++)
        for (size_t o = 0; o < ORDERS; o++) {
            struct hn_record record = evaluate(&cut, memories[m], orders[o], 0, true);
            assert_int_equal(record.outcome, HN_OUTCOME_OK);
            assert_true(record.timing.host_us > 0.0);
            assert_true(hn_observed(&record.observed, "staging.kernels_us") > 0.0);
            assert_true((hn_observed(&record.observed, "staging.register_ms") > 0.0) == (m == 1));
            hn_record_finish(&record);
        }
    struct hn_record record = evaluate(&whole, "pinned", orders[0], 0, true);
    assert_int_equal(record.outcome, HN_OUTCOME_OK);
    hn_record_finish(&record);
}
