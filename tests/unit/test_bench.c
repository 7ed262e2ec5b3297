/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "runtime/bench/bench.h"

#include "bench_fixture.h"
#include "tests/unit/unit.h"

static struct bench_fixture scale;

static int load(void **state)
{
    return bench_fixture_use(&scale, "double/scale.yaml");
}

ALL_TESTS(load, NULL)

static int open_scale(void **state)
{
    return bench_fixture_start(&scale, HN_COLD);
}

/* What the double's events step by. */
static bool is_step(double us)
{
    return fabs(us - 0.032) < 0.001;
}

static const char best[] = "BLOCK=256,FAULT=0,ITEMS=4";

static struct hn_record *evaluate(const char *point, const struct hn_bench_request *request,
                                  enum hn_outcome outcome, const char *message)
{
    return bench_fixture_record(&scale, point, request, outcome, message);
}

static struct hn_record *measure(void)
{
    return evaluate(best, &both, HN_OUTCOME_OK, NULL);
}

TEST_WITH(a_right_variant_is_verified_and_measured, open_scale, NULL)
{
    struct hn_record *record = measure();
    assert_int_equal(record->verdict.kind, HN_VERIFIED);
    assert_int_equal(record->verdict.seeds, 1);
    assert_true(record->verdict.max_error <= record->verdict.tolerance);
    assert_true(record->verdict.max_reference > 2.4 && record->verdict.max_reference <= 2.5);
    /* 51 us by the double's formula, with noise of 0.1%. */
    assert_true(fabs(record->timing.median_us - 51.0) < 0.1);
    assert_true(record->timing.low_us <= record->timing.median_us);
    assert_true(is_step(record->timing.resolution_us));
    assert_true(record->timing.high_us - record->timing.low_us >= record->timing.resolution_us);
    assert_int_equal(record->timing.batch, 1);
    assert_int_equal(record->timing.sample_count, 6);
    assert_int_equal(record->timing.dropped, 0);
    assert_false(record->timing.unstable);
    assert_true(fabs(record->timing.clock_mhz - 1980.0) < 1.0);
    assert_ok(hn_metrics_evaluate(scale.config->plan, &scale.config->problems[0], record, &said));
    const struct hn_value *gbps = hn_bindings_get(&record->metrics, "gbps");
    assert_non_null(gbps);
    assert_true(fabs(gbps->real - 8 * 24576 / record->timing.median_us / 1000) < 1e-9);
    assert_true(record->objective == record->timing.median_us);
    record = evaluate("BLOCK=64,FAULT=0,ITEMS=1", &both, HN_OUTCOME_OK, NULL);
    assert_true(fabs(record->timing.median_us - 51.0 * 1.3) < 0.1);
}

static const struct {
    const char *point;
    enum hn_outcome outcome;
    const char *message;
} failures[] = {
    {"BLOCK=128,FAULT=1,ITEMS=4", HN_OUTCOME_LAUNCH_ERROR,
     "scale <<<(48, 1, 1), (128, 1, 1), 0 B>>>: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many "
     "resources requested for launch"},
    {"BLOCK=128,FAULT=4,ITEMS=4", HN_OUTCOME_WRONG_RESULT, NULL},
    {"BLOCK=128,FAULT=5,ITEMS=4", HN_OUTCOME_OUT_OF_BOUNDS,
     "wrote at byte 98304 of 'y', which has 98304 bytes"},
    {"BLOCK=128,FAULT=6,ITEMS=4", HN_OUTCOME_OUT_OF_BOUNDS,
     "wrote 4 bytes before the start of 'y' (98304 bytes)"},
    {"BLOCK=128,FAULT=7,ITEMS=4", HN_OUTCOME_OUT_OF_BOUNDS, "wrote into input 'x'"},
    {"BLOCK=128,FAULT=8,ITEMS=4", HN_OUTCOME_WRONG_RESULT, NULL},
    {"BLOCK=128,FAULT=10,ITEMS=4", HN_OUTCOME_WRONG_RESULT, NULL},
    {"BLOCK=2048,FAULT=0,ITEMS=4", HN_OUTCOME_INVALID_LAUNCH, NULL},
};

/* Each in turn on one bench, a right variant after each: nothing that one did is left for the next.
 */
TEST_WITH(a_failing_variant_leaves_the_bench_as_it_was, open_scale, NULL)
{
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        const struct hn_record *record =
            evaluate(failures[i].point, &both, failures[i].outcome, failures[i].message);
        assert_non_null(record->message);
        assert_false(hn_bench_is_dead(scale.bench));
        evaluate(best, &verify_only, HN_OUTCOME_OK, NULL);
    }
}

TEST_WITH(messages_of_wrong_results_tell_index_and_values, open_scale, NULL)
{
    const struct hn_record *record =
        evaluate("BLOCK=128,FAULT=4,ITEMS=4", &both, HN_OUTCOME_WRONG_RESULT, "y[12288] is ");
    assert_non_null(strstr(record->message, ": an error of 1, more than the tolerance of 2.5e-06"));
    assert_true(fabs(record->verdict.max_error - 1.0) < 1e-6);
    evaluate("BLOCK=128,FAULT=8,ITEMS=4", &both, HN_OUTCOME_WRONG_RESULT,
             "in a timed launch: y[0] is ");
    evaluate("BLOCK=128,FAULT=10,ITEMS=4", &both, HN_OUTCOME_WRONG_RESULT,
             "y[24575] is never written; expected ");
    /* What is measured to its end is compared after its last launch, too. */
    evaluate("BLOCK=256,FAULT=11,ITEMS=4", &both, HN_OUTCOME_OUT_OF_BOUNDS,
             "in a timed launch: wrote into input 'x'");
}

static void expect_slower(double censor_us, size_t samples)
{
    struct hn_bench_request request = both;
    request.censor_us = censor_us;
    const struct hn_record *record =
        evaluate(best, &request, samples > 0 ? HN_OUTCOME_SLOWER : HN_OUTCOME_OK, NULL);
    if (samples > 0) {
        assert_int_equal(record->timing.sample_count, samples);
        assert_true(record->timing.median_us == record->timing.low_us);
    }
}

TEST_WITH(the_slower_the_sooner_it_stops, open_scale, NULL)
{
    /* 51 us: the verification launch, two, four and six samples. */
    expect_slower(20.0, 1);
    expect_slower(40.0, 2);
    expect_slower(48.0, 4);
    expect_slower(49.7, 6);
    expect_slower(50.9, 0);
    struct hn_bench_request request = both;
    request.censor_us = 20.0;
    request.full = true;
    evaluate(best, &request, HN_OUTCOME_OK, NULL);
}

/* A variant that damages what belongs to others only after it was checked, and is stopped early. */
static void damage_late(const char *point)
{
    struct hn_bench_request request = both;
    request.censor_us = 40.0;
    assert_int_equal(evaluate(point, &request, HN_OUTCOME_SLOWER, NULL)->timing.sample_count, 2);
}

TEST_WITH(what_is_stopped_early_harms_no_other, open_scale, NULL)
{
    static const char *const late[] = {"BLOCK=256,FAULT=11,ITEMS=4", "BLOCK=256,FAULT=12,ITEMS=4"};
    for (int i = 0; i < 2; i++) {
        damage_late(late[i]);
        assert_int_equal(measure()->verdict.seeds, 1);
        /* One that is wrong itself stays wrong. */
        damage_late(late[i]);
        evaluate("BLOCK=256,FAULT=4,ITEMS=4", &both, HN_OUTCOME_WRONG_RESULT, NULL);
        /* Nor does a reference that is computed just then fail. */
        damage_late(late[i]);
        assert_ok(hn_bench_reseed(scale.bench, 7 + (uint64_t)i, &said));
        measure();
    }
}

TEST_WITH(an_illegal_address_kills_the_bench, open_scale, NULL)
{
    evaluate("BLOCK=128,FAULT=2,ITEMS=4", &both, HN_OUTCOME_DEVICE_FAULT,
             "scale <<<(48, 1, 1), (128, 1, 1), 0 B>>>: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal "
             "memory access was encountered");
    assert_true(hn_bench_is_dead(scale.bench));
}

TEST_WITH(reseeding_keeps_right_variants_right, open_scale, NULL)
{
    struct hn_record *record = evaluate(best, &verify_only, HN_OUTCOME_OK, NULL);
    assert_ok(hn_bench_reseed(scale.bench, 2, &said));
    double before = record->verdict.max_reference;
    struct hn_image image ENDED_BY(hn_image_finish);
    bench_fixture_compile(&scale, best, &image);
    assert_ok(hn_bench_evaluate(scale.bench, &image, &verify_only, record, &said));
    bench_fixture_check(record, HN_OUTCOME_OK, NULL);
    assert_int_equal(record->verdict.seeds, 2);
    assert_true(record->verdict.max_reference != before);
}

/* One sum of many may be small by chance, and its rounding error is not. */
TEST_WITH(a_tolerance_goes_by_the_largest_of_all_inputs, open_scale, NULL)
{
    double largest = 0.0;
    bool smaller = false;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        assert_ok(hn_bench_reseed(scale.bench, seed, &said));
        const struct hn_record *record = evaluate(best, &verify_only, HN_OUTCOME_OK, NULL);
        smaller = smaller || record->verdict.max_reference < largest;
        largest = fmax(largest, record->verdict.max_reference);
        assert_true(fabs(record->verdict.tolerance - 1e-6 * largest) < 1e-12);
    }
    assert_true(smaller);
}

TEST(the_largest_of_few_results_is_of_many_inputs)
{
    bench_fixture_set_problem(&scale, "n=1");
    bench_fixture_start(&scale, HN_COLD);
    const struct hn_verdict first = evaluate(best, &verify_only, HN_OUTCOME_OK, NULL)->verdict;
    double largest = 0.0;
    for (uint64_t seed = 1; seed <= 16; seed++) {
        assert_ok(hn_bench_reseed(scale.bench, seed, &said));
        const struct hn_record *record = evaluate(best, &verify_only, HN_OUTCOME_OK, NULL);
        assert_true(record->verdict.tolerance == first.tolerance);
        largest = fmax(largest, record->verdict.max_reference);
    }
    assert_true(fabs(first.tolerance - 1e-6 * largest) < 1e-12);
    assert_true(first.max_reference < largest);
    drop(&scale);
    bench_fixture_set_problem(&scale, "n=24576");
}

TEST_WITH(race_interleaves_and_drops_what_fails, open_scale, NULL)
{
    static const char *const points[] = {best, "BLOCK=128,FAULT=0,ITEMS=4",
                                         "BLOCK=256,FAULT=8,ITEMS=4"};
    enum { COUNT = 3, ROUNDS = 5 };
    struct hn_record records[COUNT];
    struct hn_image images[COUNT];
    struct hn_bench_candidate candidates[COUNT];
    for (int i = 0; i < COUNT; i++) {
        records[i] = (struct hn_record){0};
        hn_bindings_parse(points[i], &records[i].point, NULL);
        bench_fixture_compile(&scale, points[i], &images[i]);
        candidates[i] = (struct hn_bench_candidate){&records[i].point, &images[i]};
    }
    struct hn_race_rules rules = {3, ROUNDS, 1e6};
    assert_ok(hn_bench_race(scale.bench, candidates, COUNT, &rules, records, &said));
    /* A tenth apart: the least rounds show it. */
    assert_int_equal(records[0].timing.sample_count, 3);
    assert_int_equal(records[1].timing.sample_count, 3);
    assert_int_equal(records[2].timing.sample_count, 0);
    for (int r = 0; r < 3; r++) {
        assert_true(fabs(records[0].timing.samples_us[r] - 51.0) < 0.1);
        assert_true(fabs(records[1].timing.samples_us[r] - 56.1) < 0.1);
    }
    bench_fixture_check(&records[0], HN_OUTCOME_OK, NULL);
    bench_fixture_check(&records[1], HN_OUTCOME_OK, NULL);
    bench_fixture_check(&records[2], HN_OUTCOME_WRONG_RESULT, NULL);
    rules = (struct hn_race_rules){3, ROUNDS, 0.0};
    assert_ok(hn_bench_race(scale.bench, candidates, 2, &rules, records, &said));
    assert_int_equal(records[1].timing.sample_count, 3);
    for (int i = 0; i < COUNT; i++) {
        hn_image_finish(&images[i]);
        hn_record_finish(&records[i]);
    }
}

TEST_WITH(warm_up_and_copy_bandwidth, open_scale, NULL)
{
    struct hn_bindings point ENDED_BY(hn_bindings_finish) = {0};
    struct hn_image image ENDED_BY(hn_image_finish);
    double noise = -1.0, rate = 0.0;
    hn_bindings_parse(best, &point, NULL);
    bench_fixture_compile(&scale, best, &image);
    assert_ok(hn_bench_warm_up(scale.bench, &point, &image, false, &noise, &said));
    assert_true(noise >= 0.0 && noise < 0.002);
    assert_ok(hn_bench_copy_bandwidth(scale.bench, 64 << 20, &rate, &said));
    assert_true(rate > 3500.0 && rate < 4000.0);
}

TEST(warm_regime_is_faster)
{
    bench_fixture_set_problem(&scale, "n=6144");
    bench_fixture_start(&scale, HN_WARM);
    assert_true(fabs(measure()->timing.median_us - 0.8 * 13.5) < 0.1);
}

TEST(a_short_kernel_is_timed_in_cold_batches)
{
    bench_fixture_set_problem(&scale, "n=1536");
    bench_fixture_start(&scale, HN_COLD);
    const struct hn_record *record = measure();
    /* 1 + 50 / 16 us, and no launch of a batch finds what another left in the cache. */
    assert_true(fabs(record->timing.median_us - 4.125) < 0.01);
    assert_int_equal(record->timing.batch, 13);
    assert_true(is_step(record->timing.resolution_us * 13));
    drop(&scale);
    bench_fixture_set_problem(&scale, "n=24576");
}

/* With every so many of the samples at a lower clock. */
static const struct hn_record *measure_throttled(const char *every)
{
    setenv("HONE_DOUBLE_THROTTLE", every, 1);
    bench_fixture_start(&scale, HN_COLD);
    const struct hn_record *record = measure();
    unsetenv("HONE_DOUBLE_THROTTLE");
    return record;
}

TEST(throttled_samples_are_dropped_unless_they_are_most)
{
    const struct hn_record *record = measure_throttled("4");
    assert_true(record->timing.dropped >= 1);
    assert_true(record->timing.sample_count >= 6);
    assert_false(record->timing.unstable);
    drop(&scale);
    record = measure_throttled("1");
    assert_int_equal(record->timing.dropped, 0);
    assert_true(record->timing.unstable);
    assert_true(fabs(record->timing.clock_mhz - 990.0) < 1.0);
}

TEST_WITH(the_clocks_of_samples_are_observed, open_scale, NULL)
{
    const struct hn_bench_request request = {
        .verify = true, .measure = true, .full = true, .observe = "clocks"};
    const struct hn_record *record = evaluate(best, &request, HN_OUTCOME_OK, NULL);
    double least = hn_observed(&record->observed, "clocks.sm_min_mhz");
    double median = hn_observed(&record->observed, "clocks.sm_median_mhz");
    double most = hn_observed(&record->observed, "clocks.sm_max_mhz");
    assert_true(least > 0 && least <= median && median <= most);
    assert_true(fabs(median - record->timing.clock_mhz) < 0.1 * median);
    /* Nobody looks unasked. */
    assert_false(hn_observed_any(&measure()->observed, "clocks"));
    assert_true(hn_bench_asked("energy=2.5,clocks", "energy") == 2.5);
    assert_true(hn_bench_asked("energy=2.5,clocks", "clocks") == 1);
    assert_true(hn_bench_asked("energy=2.5,clocks", "clock") == 0);
}
