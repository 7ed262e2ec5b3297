/* SPDX-License-Identifier: MIT */
#include "runtime/measure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const double MAX_MHZ = 2000.0;

static void only_a_changed_clock_drops_a_sample(void **state)
{
    (void)state;
    /* The second is slow at full clock and stays; the third ran at under 75% and goes; the clock of
     * the fourth is not known. */
    const struct hn_sample samples[] = {
        {10.0, 2000.0}, {99.0, 1900.0}, {10.1, 1499.0}, {10.2, 0.0}};
    double kept[4];
    bool trusted = false;
    assert_int_equal(hn_measure_keep(samples, 4, MAX_MHZ, kept, &trusted), 3);
    assert_true(kept[0] == 10.0 && kept[1] == 99.0 && kept[2] == 10.2);
    assert_true(trusted);
}

static void few_samples_may_all_be_dropped(void **state)
{
    (void)state;
    struct hn_sample samples[11];
    double kept[11];
    bool trusted = false;
    for (int i = 0; i < 11; i++)
        samples[i] = (struct hn_sample){10.0, 1000.0};
    assert_int_equal(hn_measure_keep(samples, 11, MAX_MHZ, kept, &trusted), 0);
    assert_true(trusted);
}

static void too_many_drops_keep_all_and_trust_none(void **state)
{
    (void)state;
    struct hn_sample samples[13];
    double kept[13];
    bool trusted = true;
    for (int i = 0; i < 13; i++)
        samples[i] = (struct hn_sample){10.0 + i, i < 6 ? 2000.0 : 1000.0};
    assert_int_equal(hn_measure_keep(samples, 13, MAX_MHZ, kept, &trusted), 13);
    assert_false(trusted);
    assert_true(kept[12] == 22.0);
    assert_int_equal(hn_measure_keep(samples, 12, MAX_MHZ, kept, &trusted), 6);
    assert_true(trusted);
}

static void an_unknown_maximum_drops_nothing(void **state)
{
    (void)state;
    const struct hn_sample samples[] = {{10.0, 345.0}, {10.1, 1980.0}};
    double kept[2];
    bool trusted = false;
    assert_int_equal(hn_measure_keep(samples, 2, 0.0, kept, &trusted), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_changed_clock_drops_a_sample),
        cmocka_unit_test(few_samples_may_all_be_dropped),
        cmocka_unit_test(too_many_drops_keep_all_and_trust_none),
        cmocka_unit_test(an_unknown_maximum_drops_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
