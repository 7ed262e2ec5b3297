/* SPDX-License-Identifier: MIT */
#include "bench_fixture.h"
#include "tests/unit/unit.h"
#include "tuner/report/roof.h"

/* Pipelines on a GPU: every kind of host memory and both orders, right and wrong. */

static int capability;

static int find_device(void)
{
    capability = bench_fixture_find_device();
    return capability;
}

ONLY_WHERE(find_device)
static struct bench_fixture smooth;

static const char *const memories[] = {"pageable",       "registered", "pinned",
                                       "write_combined", "mapped",     "managed"};
static const char *const orders[] = {"depth_first", "breadth_first"};
enum { MEMORIES = 6, ORDERS = 2 };

static enum hn_status set_size(struct hn_config *config, const char *size, struct hn_error *err)
{
    struct hn_bindings problem ENDED_BY(hn_bindings_finish);
    enum hn_status status = hn_bindings_parse(size, &problem, err);
    if (status == HN_OK)
        status = hn_config_take_problem(config, &problem, err);
    return status;
}

static void open_with(const char *size)
{
    bench_fixture_load(&smooth, "double/pipeline.yaml", capability);
    if (set_size(smooth.config, size, &said) != HN_OK ||
        bench_fixture_open(&smooth, HN_COLD, &said) != HN_OK)
        fail_msg("%s", said.message);
}

static int open_small(void **state)
{
    open_with("SIZE=10000");
    return 0;
}

static int open_large(void **state)
{
    open_with("SIZE=4194304");
    return 0;
}

static int close_bench(void **state)
{
    bench_fixture_close(&smooth);
    bench_fixture_unload(&smooth);
    return 0;
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
    const struct hn_staging staging = hn_staging_of(&record.observed);
    printf("%s: %s%s%s\n", point, hn_outcome_name(record.outcome),
           record.message == NULL ? "" : ": ", record.message == NULL ? "" : record.message);
    if (measure)
        printf("  %.2f us, host %.2f us; kernels %.2f, up %.2f, down %.2f, sequential %.2f, limit "
               "%.2f us; registering %.2f ms\n",
               record.timing.median_us, record.timing.host_us, staging.kernels_us,
               staging.upload_us, staging.download_us, staging.sequential_us, staging.limit_us,
               staging.register_ms);
    return record;
}

static void expect(const struct cut *cut, const char *memory, const char *order, int fault,
                   enum hn_outcome outcome, const char *message)
{
    struct hn_record record ENDED_BY(hn_record_finish) = evaluate(cut, memory, order, fault, false);
    bench_fixture_check(&record, outcome, message);
}

TEST_WITH(every_cut_gives_the_right_result, open_small, close_bench)
{
    static const struct cut cuts[] = {{1, 1, 1, 1, "device"},
                                      {8, 3, 1, 1, "host"},
                                      {40, 2, 250, 3, "device"},
                                      {40, 3, 256, 1, "host"}};
    for (size_t m = 0; m < MEMORIES; m++)
        for (size_t o = 0; o < ORDERS; o++)
            for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++)
                expect(&cuts[c], memories[m], orders[o], 0, HN_OUTCOME_OK, NULL);
}

TEST(padded_inputs_arrive_before_they_are_read)
{
    struct bench_fixture padded;
    const char *size = "SIZE=4194304";
    const struct hn_bench_request request = {.verify = true, .measure = true, .full = true};
    bench_fixture_load(&padded, "double/padded.yaml", capability);
    if (set_size(padded.config, size, &said) != HN_OK ||
        bench_fixture_open(&padded, HN_COLD, &said) != HN_OK)
        fail_msg("%s", said.message);
    for (size_t m = 0; m < MEMORIES; m++)
        for (size_t o = 0; o < ORDERS; o++) {
            char point[128];
            snprintf(point, sizeof point, "CHUNKS=8,HOST_MEMORY=%s,ORDER=%s,STREAMS=3", memories[m],
                     orders[o]);
            struct hn_record record ENDED_BY(hn_record_finish) =
                bench_fixture_evaluate(&padded, point, &request);
            printf("%s: %s, %.2f us\n", point, hn_outcome_name(record.outcome),
                   record.timing.median_us);
            bench_fixture_check(&record, HN_OUTCOME_OK, NULL);
        }
    bench_fixture_close(&padded);
    bench_fixture_unload(&padded);
}

TEST_WITH(what_goes_wrong_is_found, open_small, close_bench)
{
    static const struct cut cut = {3, 2, 1, 1, "device"};
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
TEST_WITH(large_ones_are_right, open_large, close_bench)
{
    static const struct cut whole = {1, 1, 1, 1, "device"};
    static const struct cut cut = {8, 3, 1, 1, "device"};
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
