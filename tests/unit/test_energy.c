/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "cache/record/record.h"
#include "runtime/bench/observe/observers.h"
#include "tests/unit/unit.h"

static void set(struct hn_bindings *observed, const char *name, double value)
{
    struct hn_error err;
    hn_error_init(&err);
    hn_observed_set(observed, name, hn_real(value), &err);
    assert_false(hn_failed(&err));
}

TEST(windows_are_averaged)
{
    static const double joules[] = {1.00, 1.02, 1.04}, power_w[] = {400, 408, 416};
    static const double idle_w[] = {70, 70, 71};
    struct hn_bindings all ENDED_BY(hn_bindings_finish) = {0};
    struct hn_bindings window ENDED_BY(hn_bindings_finish) = {0};
    struct hn_error err = {0};
    for (int i = 0; i < 3; i++) {
        set(&window, "energy.joules", joules[i]);
        set(&window, "energy.power_w", power_w[i]);
        set(&window, "energy.launch_us", 10);
        set(&window, "energy.idle_w", idle_w[i]);
        set(&window, "energy.seconds", 2);
        set(&window, "energy.windows", 1);
        hn_energy_add(&all, &window, &err);
        assert_false(hn_failed(&err));
    }
    assert_true(fabs(hn_observed(&all, "energy.joules") - 1.02) < 1e-12 &&
                fabs(hn_observed(&all, "energy.power_w") - 408) < 1e-9);
    assert_true(fabs(hn_observed(&all, "energy.spread") - 0.02 / 1.02) < 1e-12);
    assert_true(hn_observed(&all, "energy.windows") == 3 &&
                hn_observed(&all, "energy.seconds") == 6 &&
                hn_observed(&all, "energy.idle_w") == 71);
}

static struct hn_record made(enum hn_outcome outcome, double us, double joules)
{
    struct hn_record record = {.outcome = outcome};
    record.timing.median_us = us;
    set(&record.observed, "energy.joules", joules);
    return record;
}

TEST(the_front_is_what_nobody_beats_in_both)
{
    struct hn_record records[] = {
        made(HN_OUTCOME_OK, 10, 5), made(HN_OUTCOME_OK, 11, 4), made(HN_OUTCOME_OK, 12, 4.5),
        made(HN_OUTCOME_OK, 13, 4), made(HN_OUTCOME_OK, 9, 0),  made(HN_OUTCOME_WRONG_RESULT, 1, 1),
        made(HN_OUTCOME_OK, 20, 3),
    };
    const bool expected[] = {true, true, false, false, false, false, true};
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(hn_front_has(records, 7, i), expected[i]);
    assert_true(hn_front_cost(&records[1], HN_FRONT_ENERGY_DELAY) == 44);
    assert_true(isinf(hn_front_cost(&records[4], HN_FRONT_ENERGY)));
    assert_true(isinf(hn_front_cost(&records[5], HN_FRONT_TIME)));
    for (size_t i = 0; i < 7; i++)
        hn_record_finish(&records[i]);
}

TEST(an_objective_is_reckoned_until_it_is_measured)
{
    struct hn_record record ENDED_BY(hn_record_finish) = {.timing = {.median_us = 1e6}};
    struct hn_record other ENDED_BY(hn_record_finish) = {.objective = 101.9};
    set(&other.observed, "energy.windows", 2);
    set(&other.observed, "energy.spread", 0.01);
    assert_false(hn_front_parse("time") || hn_front_parse("energies"));
    assert_true(hn_front_parse("energy_delay") == HN_FRONT_ENERGY_DELAY);
    assert_true(hn_front_parse("energy") == HN_FRONT_ENERGY);
    assert_true(isnan(hn_front_objective(&record, HN_FRONT_ENERGY)));
    record.estimated_w = 200;
    assert_true(hn_front_objective(&record, HN_FRONT_ENERGY) == 200);
    set(&record.observed, "energy.joules", 100);
    set(&record.observed, "energy.windows", 2);
    set(&record.observed, "energy.spread", 0.005);
    record.timing.median_us = 2e6;
    record.objective = hn_front_objective(&record, HN_FRONT_ENERGY);
    assert_true(record.objective == 100);
    assert_true(hn_front_objective(&record, HN_FRONT_ENERGY_DELAY) == 200);
    /* The least half-width is that of the counter. */
    set(&record.observed, "energy.spread", 0);
    assert_false(hn_front_is_tied(&record, &other));
    other.objective = 101.1;
    assert_true(hn_front_is_tied(&record, &other));
    set(&other.observed, "energy.windows", 0);
    assert_false(hn_front_is_tied(&record, &other));
}
