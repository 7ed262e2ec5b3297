/* SPDX-License-Identifier: MIT */
/* A bench of plans with several roles, steps and references, and of drivers that fail. */
#include <math.h>

#include "runtime/bench/bench.h"

#include "bench_fixture.h"
#include "tests/unit/unit.h"

static struct bench_fixture scale;
static struct bench_fixture accumulate;
static struct bench_fixture twice;
static struct bench_fixture early;

static int load(void **state)
{
    return bench_fixture_use(&scale, "double/scale.yaml") ||
           bench_fixture_use(&accumulate, "double/accumulate.yaml") ||
           bench_fixture_use(&twice, "double/scale_twice.yaml") ||
           bench_fixture_use(&early, "double/attributes_twice.yaml");
}

ALL_TESTS(load, NULL)

TEST(every_role_is_restored_between_launches)
{
    bench_fixture_start(&accumulate, HN_COLD);
    struct hn_record *record =
        bench_fixture_record(&accumulate, "SCRATCH=4096", &both, HN_OUTCOME_OK, NULL);
    assert_int_equal(record->verdict.kind, HN_SELF_VERIFIED);
    assert_int_equal(record->timing.batch, 1);
    assert_true(fabs(record->timing.resolution_us - 0.032) < 0.001); /* what the events step by */
    assert_ok(hn_metrics_evaluate(accumulate.config->plan, &accumulate.config->problems[0], record,
                                  &said));
    assert_true(hn_value_number(hn_bindings_get(&record->metrics, "mean")) == 1.5);
    assert_true(hn_value_number(hn_bindings_get(&record->metrics, "doubled")) == 3.0);
    bench_fixture_record(&accumulate, "SCRATCH=1073741824", &both, HN_OUTCOME_OUT_OF_MEMORY,
                         "its scratch needs 1.000 GiB, more than is free on the device");
    bench_fixture_record(&accumulate, "SCRATCH=1024", &both, HN_OUTCOME_OK, NULL);
}

/* What is right for FACTOR 3 is another reference than for the default, FACTOR 2. */
TEST(steps_and_a_reference_that_depends_on_a_parameter)
{
    struct hn_image image ENDED_BY(hn_image_finish);
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    struct hn_bindings three ENDED_BY(hn_bindings_finish) = {0};
    bench_fixture_start(&twice, HN_COLD);
    const struct hn_record *two = bench_fixture_record(&twice, "BLOCK=128,FACTOR=2,FAULT=0,ITEMS=1",
                                                       &both, HN_OUTCOME_OK, NULL);
    assert_true(two->verdict.max_reference == 4 * 4095 * 0.25);

    hn_bindings_parse("BLOCK=128,FACTOR=3,FAULT=0,ITEMS=1", &record.point, NULL);
    bench_fixture_compile(&twice, "BLOCK=128,FACTOR=3,FAULT=0,ITEMS=1", &image);
    assert_error(hn_bench_evaluate(twice.bench, &image, &both, &record, &said), HN_ERUN,
                 "no reference was computed for 'FACTOR=3'");

    hn_bindings_parse("FACTOR=3", &three, NULL);
    assert_ok(hn_bench_set_reference(twice.bench, &three, &twice.reference, &said));
    assert_ok(hn_bench_evaluate(twice.bench, &image, &both, &record, &said));
    bench_fixture_check(&record, HN_OUTCOME_OK, NULL);
    assert_true(record.verdict.max_reference == 9 * 4095 * 0.25);

    bench_fixture_record(&twice, "BLOCK=128,FACTOR=3,FAULT=4,ITEMS=1", &both,
                         HN_OUTCOME_WRONG_RESULT, NULL);
}

static double measure_us(enum hn_regime regime, const char *point)
{
    bench_fixture_start(&twice, regime);
    const struct hn_timing timing =
        bench_fixture_record(&twice, point, &both, HN_OUTCOME_OK, NULL)->timing;
    assert_true(regime == HN_COLD || timing.batch >= 10);
    bench_fixture_expect(&twice, "BLOCK=128,FACTOR=2,FAULT=4,ITEMS=1", &both,
                         HN_OUTCOME_WRONG_RESULT, NULL);
    bench_fixture_close(&twice);
    return timing.median_us;
}

/* The double takes 2 us for each launch of a graph. */
TEST(regimes_of_programs_have_launches_in_their_time)
{
    const char *point = "BLOCK=128,FACTOR=2,FAULT=0,ITEMS=1";
    double stream_us = measure_us(HN_STREAM, point);
    double graph_us = measure_us(HN_GRAPH, point);
    double chained_us = measure_us(HN_GRAPH10, point);
    assert_true(fabs(graph_us - stream_us - 2.0) < 0.05);
    assert_true(fabs(chained_us - stream_us - 0.2) < 0.05);
}

/* The double gains a third where the second step begins before the first has ended. */
TEST(early_steps_are_early_in_streams_and_graphs)
{
    static const enum hn_regime regimes[] = {HN_WARM, HN_STREAM, HN_GRAPH, HN_GRAPH10};
    for (size_t i = 0; i < sizeof regimes / sizeof *regimes; i++) {
        double times_us[2];
        bench_fixture_start(&early, regimes[i]);
        for (int e = 0; e < 2; e++) {
            const char *point = e == 0 ? "EARLY=none,SHARED=65536" : "EARLY=second,SHARED=65536";
            times_us[e] =
                bench_fixture_record(&early, point, &both, HN_OUTCOME_OK, NULL)->timing.median_us;
        }
        bench_fixture_close(&early);
        assert_true(fabs(times_us[0] - times_us[1] - 10.0) < 1.0);
    }
}

/* Arguments that a launch changes are restored before each graph, and not within. */
TEST(a_graph_of_what_has_to_be_restored_is_one_launch)
{
    bench_fixture_start(&accumulate, HN_GRAPH);
    for (int i = 0; i < 2; i++) {
        const char *points[] = {"SCRATCH=1024", "SCRATCH=4096"};
        const struct hn_record *record =
            bench_fixture_record(&accumulate, points[i], &both, HN_OUTCOME_OK, NULL);
        assert_int_equal(record->timing.batch, 1);
    }
    bench_fixture_close(&accumulate);
    assert_mentions(bench_fixture_open(&accumulate, HN_GRAPH10, &said), HN_ECONFIG,
                    "argument 'y' has to be as it was");
    assert_true(bench_fixture_fail_calls(&accumulate, HN_GRAPH, "SCRATCH=4096", &both, 200, 100) >
                300);
}

TEST(a_plan_that_does_not_fit_gets_a_table)
{
    setenv("HONE_DOUBLE_MEMORY", "600000", 1);
    assert_int_equal(bench_fixture_open(&scale, HN_COLD, &said), HN_ERUN);
    unsetenv("HONE_DOUBLE_MEMORY");
    assert_non_null(strstr(said.message, "the buffers do not fit: 0.00"));
    assert_non_null(strstr(said.message, "0.001 GiB are free on Hone Double"));
    assert_non_null(strstr(said.message, "\n  y                    reference           0.000 GiB"));
    assert_non_null(strstr(said.message, "\n  (flush)              L2 cache            0.000 GiB"));
    assert_null(scale.bench);
}

TEST(a_faulty_reference_is_a_run_failure)
{
    struct hn_image image ENDED_BY(hn_image_finish);
    struct hn_bindings point ENDED_BY(hn_bindings_finish) = {0};
    bench_fixture_start(&accumulate, HN_COLD);
    hn_bindings_parse("SCRATCH=1073741824", &point, NULL);
    bench_fixture_compile(&accumulate, "SCRATCH=1073741824", &image);
    assert_error(
        hn_bench_set_reference(accumulate.bench, &point, &image, &said), HN_ERUN,
        "the default point, which is the reference, failed: out_of_memory: its scratch needs 1.000 "
        "GiB, more than is free on the device");
}

TEST(every_failing_call_ends_cleanly)
{
    assert_true(bench_fixture_fail_calls(&accumulate, HN_COLD, "SCRATCH=4096", &both, 1, 100) >
                300);
}
