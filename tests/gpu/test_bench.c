/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "bench_fixture.h"
#include "tests/unit/unit.h"

static struct bench_fixture scale;
static struct bench_fixture accumulate;
ONLY_WHERE(bench_fixture_find_device)

static int load(void **state)
{
    return bench_fixture_use(&scale, "double/scale.yaml") ||
           bench_fixture_use(&accumulate, "double/accumulate.yaml");
}

ALL_TESTS(load, NULL)

static void print_timing(const char *what, const struct hn_record *record)
{
    const struct hn_timing *timing = &record->timing;
    printf("%s: %.3f us [%.3f, %.3f], %zu samples of %d, %d dropped, %.0f MHz, verify %.1f ms, "
           "measure %.1f ms%s\n",
           what, timing->median_us, timing->low_us, timing->high_us, timing->sample_count,
           timing->batch, timing->dropped, timing->clock_mhz, record->costs.verify_ms,
           record->costs.measure_ms, timing->unstable ? ", unstable" : "");
}

TEST(right_and_wrong_variants_are_told_apart)
{
    static const struct {
        const char *point;
        enum hn_outcome outcome;
    } cases[] = {
        {"BLOCK=256,FAULT=0,ITEMS=4", HN_OUTCOME_OK},
        {"BLOCK=128,FAULT=1,ITEMS=4", HN_OUTCOME_LAUNCH_ERROR},
        {"BLOCK=128,FAULT=4,ITEMS=4", HN_OUTCOME_WRONG_RESULT},
        {"BLOCK=128,FAULT=5,ITEMS=4", HN_OUTCOME_OUT_OF_BOUNDS},
        {"BLOCK=128,FAULT=6,ITEMS=4", HN_OUTCOME_OUT_OF_BOUNDS},
        {"BLOCK=128,FAULT=7,ITEMS=4", HN_OUTCOME_OUT_OF_BOUNDS},
        {"BLOCK=128,FAULT=8,ITEMS=4", HN_OUTCOME_WRONG_RESULT},
        {"BLOCK=128,FAULT=10,ITEMS=4", HN_OUTCOME_WRONG_RESULT},
        {"BLOCK=1024,FAULT=0,ITEMS=1", HN_OUTCOME_OK},
    };
    bench_fixture_set_problem(&scale, "n=1000003");
    bench_fixture_start(&scale, HN_COLD);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct hn_record *record =
            bench_fixture_record(&scale, cases[i].point, &measured, cases[i].outcome, NULL);
        printf("%s: %s: %s\n", cases[i].point, hn_outcome_names[record->outcome],
               record->message == NULL ? "" : record->message);
    }
}

TEST(every_role_is_restored)
{
    bench_fixture_start(&accumulate, HN_COLD);
    const struct hn_record *record =
        bench_fixture_record(&accumulate, "SCRATCH=4096", &measured, HN_OUTCOME_OK, NULL);
    print_timing("accumulate", record);
    assert_true(hn_value_number(hn_bindings_get(&record->metrics, "metric")) == 1.5);
}

static double measure_us(const char *problem, enum hn_regime regime)
{
    bench_fixture_set_problem(&scale, problem);
    bench_fixture_start(&scale, regime);
    const struct hn_record *record =
        bench_fixture_record(&scale, "BLOCK=256,FAULT=0,ITEMS=4", &measured, HN_OUTCOME_OK, NULL);
    print_timing(hn_regime_names[regime], record);
    double median_us = record->timing.median_us;
    assert_true(record->timing.low_us <= median_us && median_us <= record->timing.high_us);
    bench_fixture_close(&scale);
    return median_us;
}

/* Their times are printed: what launches cost and caches save is for bench/run to compare. */
TEST(each_regime_measures)
{
    for (int regime = HN_COLD; regime <= HN_GRAPH10; regime++) {
        measure_us("n=65536", (enum hn_regime)regime);
        measure_us("n=1048576", (enum hn_regime)regime);
    }
    bench_fixture_start(&scale, HN_GRAPH10);
    bench_fixture_expect(&scale, "BLOCK=128,FAULT=4,ITEMS=4", &measured, HN_OUTCOME_WRONG_RESULT,
                         NULL);
}

TEST(a_copy_is_measured)
{
    double rate = 0.0;
    double median_us = measure_us("n=67108864", HN_COLD);
    bench_fixture_start(&scale, HN_COLD);
    assert_ok(hn_bench_copy_bandwidth(scale.bench, (size_t)67108864 * 4, &rate, &said));
    printf("scale %.0f GB/s, copy %.0f GB/s, device %s\n", 8.0 * 67108864 / median_us / 1e3, rate,
           scale.device.identity.name);
    assert_true(rate > 0.0 && isfinite(rate));
}

TEST(warm_up_tells_the_noise)
{
    struct hn_bindings point ENDED_BY(hn_bindings_finish) = {0};
    struct hn_image image ENDED_BY(hn_image_finish);
    double noise = 0.0;
    bench_fixture_set_problem(&scale, "n=16777216");
    bench_fixture_start(&scale, HN_COLD);
    hn_bindings_parse("BLOCK=256,FAULT=0,ITEMS=4", &point, NULL);
    bench_fixture_compile(&scale, "BLOCK=256,FAULT=0,ITEMS=4", &image);
    assert_ok(hn_bench_warm_up(scale.bench, &point, &image, false, &noise, &said));
    printf("noise %.4f%%\n", 100.0 * noise);
    assert_true(noise >= 0.0 && isfinite(noise));
}

/* A data centre's card under a plain kernel; other cards may have no counter. */
TEST(a_launch_costs_joules)
{
    const struct hn_bench_request request = {
        .verify = true, .measure = true, .observe = "energy=0.5"};
    bench_fixture_set_problem(&scale, "n=67108864");
    bench_fixture_start(&scale, HN_COLD);
    const struct hn_record *record =
        bench_fixture_record(&scale, "BLOCK=256,FAULT=0,ITEMS=4", &request, HN_OUTCOME_OK, NULL);
    const struct hn_bindings *seen = &record->observed;
    double power_w = hn_observed(seen, "energy.power_w");
    double launch_us = hn_observed(seen, "energy.launch_us");
    double idle_w = hn_observed(seen, "energy.idle_w");
    double found = hn_observed(seen, "energy.joules");
    printf("energy %.4g J a launch of %.1f us, at %.0f W, idle %.0f W, %.0f degrees\n", found,
           launch_us, power_w, idle_w, hn_observed(seen, "energy.temperature_c"));
    if (hn_observed_any(seen, "energy")) {
        assert_true(power_w > 0.0 && idle_w > 0.0);
        assert_true(fabs(found / (power_w * launch_us * 1e-6) - 1) < 0.05);
    }
}

/* Last: after it the process can use the device no more. */
TEST(an_illegal_address_is_a_device_fault)
{
    bench_fixture_set_problem(&scale, "n=65536");
    bench_fixture_start(&scale, HN_COLD);
    const struct hn_record *record = bench_fixture_record(&scale, "BLOCK=128,FAULT=2,ITEMS=4",
                                                          &measured, HN_OUTCOME_DEVICE_FAULT, NULL);
    printf("%s\n", record->message);
    assert_true(hn_bench_is_dead(scale.bench));
}
