/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "plan_fixture.h"
#include "runtime/plan/launch.h"
#include "tests/unit/unit.h"

struct fixture {
    struct hn_plan *plan;
    struct hn_bindings problem;
    struct hn_record record;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture.plan = load_plan("tiled.json");
    parse_bindings("K=16,LAYOUT=row,M=1024,N=2048", &fixture.problem);
    fixture.record = (struct hn_record){0};
    assert_ok(hn_bindings_parse("PAD=0,TILE=8", &fixture.record.point, NULL));
    fixture.record.timing.median_us = 50;
    const struct hn_value clocks = hn_real(4000);
    assert_ok(hn_bindings_set(&fixture.record.metrics, "clocks", &clocks, NULL));
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    hn_bindings_finish(&fixture->problem);
    hn_record_finish(&fixture->record);
    return 0;
}

EACH_TEST(set_up, tear_down)

static void set_objective(struct fixture *fixture, const char *name, bool maximize)
{
    free(fixture->plan->objective);
    fixture->plan->objective = strdup(name);
    fixture->plan->maximize = maximize;
}

static enum hn_status evaluate(struct fixture *fixture, struct hn_error *err)
{
    return hn_metrics_evaluate(fixture->plan, &fixture->problem, &fixture->record, err);
}

TEST(evaluates_in_order)
{
    struct fixture *fixture = *state;
    assert_ok(evaluate(fixture, &said));
    const struct hn_bindings *metrics = &fixture->record.metrics;
    assert_int_equal(metrics->count, 4); /* the metric argument is one of them */
    const struct hn_value *flops = hn_bindings_get(metrics, "flops");
    assert_int_equal(flops->type, HN_INTEGER);
    assert_int_equal(flops->integer, 67108864);
    const struct hn_value *gflops = hn_bindings_get(metrics, "gflops");
    assert_int_equal(gflops->type, HN_REAL);
    assert_true(gflops->real == 67108864.0 / 50 / 1000);
    assert_true(hn_bindings_get(metrics, "clocks_per_tile")->real == 500);
}

TEST(a_maximised_metric_is_negated)
{
    struct fixture *fixture = *state;
    assert_ok(evaluate(fixture, &said));
    assert_true(fixture->record.objective == -67108864.0 / 50 / 1000);
}

TEST(time_or_a_minimised_metric_is_not)
{
    struct fixture *fixture = *state;
    set_objective(fixture, "time", false);
    assert_ok(evaluate(fixture, &said));
    assert_true(fixture->record.objective == 50);
    set_objective(fixture, "clocks_per_tile", false);
    assert_ok(evaluate(fixture, &said));
    assert_true(fixture->record.objective == 500);
}

TEST(a_metric_without_a_value_is_nan)
{
    struct fixture *fixture = *state;
    fixture->record.timing.median_us = 0;
    set_objective(fixture, "time", false);
    assert_ok(evaluate(fixture, &said));
    assert_true(isnan(hn_bindings_get(&fixture->record.metrics, "gflops")->real));
    assert_int_equal(fixture->record.outcome, HN_OUTCOME_OK);
}

TEST(an_objective_without_a_value_is_skipped)
{
    struct fixture *fixture = *state;
    fixture->record.timing.median_us = 0;
    set_objective(fixture, "gflops", true);
    assert_ok(evaluate(fixture, &said));
    assert_int_equal(fixture->record.outcome, HN_OUTCOME_SKIPPED);
    assert_int_equal(
        strncmp(fixture->record.message, "the objective has no value: metric gflops: ", 43), 0);
    assert_non_null(strstr(fixture->record.message, "zero"));
}

TEST(an_objective_that_is_made_of_one_without_a_value_is_skipped)
{
    struct fixture *fixture = *state;
    const struct hn_value none = hn_real((double)NAN);
    assert_ok(hn_bindings_set(&fixture->record.metrics, "clocks", &none, NULL));
    set_objective(fixture, "clocks_per_tile", false);
    assert_ok(evaluate(fixture, &said));
    assert_int_equal(fixture->record.outcome, HN_OUTCOME_SKIPPED);
    assert_string_equal(
        fixture->record.message,
        "the objective has no value: metric clocks_per_tile: it is made of one without");
}

TEST(an_objective_that_is_infinite_wins_nothing)
{
    struct fixture *fixture = *state;
    const struct hn_value most = hn_real((double)INFINITY);
    assert_ok(hn_bindings_set(&fixture->record.metrics, "clocks", &most, NULL));
    set_objective(fixture, "clocks_per_tile", true);
    assert_ok(evaluate(fixture, &said));
    assert_int_equal(fixture->record.outcome, HN_OUTCOME_SKIPPED);
    assert_string_equal(fixture->record.message,
                        "the objective has no value: metric clocks_per_tile: it is infinite");
}

TEST(an_unknown_objective_is_an_error)
{
    struct fixture *fixture = *state;
    set_objective(fixture, "speed", false);
    assert_error(evaluate(fixture, &said), HN_ECONFIG, "objective 'speed' is no metric");
}
