/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/bench/audit.h"

enum { PAIRS = 20 };

/* Pairs of 100 us and what again_us says, with so much noise in both, microseconds. */
static enum hn_audit_verdict judge(size_t pairs, double again_us, double noise_us)
{
    static const double shape[5] = {-1.0, 0.4, 0.0, 1.0, -0.4};
    double fresh[PAIRS], again[PAIRS], difference_us;
    for (size_t i = 0; i < pairs; i++) {
        fresh[i] = 100.0 + noise_us * shape[i % 5];
        again[i] = again_us + noise_us * shape[(i + 2) % 5];
    }
    return hn_audit_judge(fresh, again, pairs, 0.1, &difference_us);
}

static void an_honest_variant_takes_as_long(void **state)
{
    (void)state;
    assert_int_equal(judge(6, 100.0, 0.5), HN_AUDIT_ALIKE);
    assert_int_equal(judge(6, 99.0, 0.5), HN_AUDIT_ALIKE);
    assert_int_equal(judge(20, 101.5, 1.0), HN_AUDIT_ALIKE);
}

static void one_that_remembers_does_not(void **state)
{
    (void)state;
    assert_int_equal(judge(6, 50.0, 0.5), HN_AUDIT_DIFFERS);
    assert_int_equal(judge(20, 95.0, 0.5), HN_AUDIT_DIFFERS);
    /* Nor one that is slower where it finds its work done. */
    assert_int_equal(judge(20, 110.0, 0.5), HN_AUDIT_DIFFERS);
}

/* On a device that somebody else uses, six pairs are too few, and twenty do not accuse. */
static void noise_is_a_doubt(void **state)
{
    (void)state;
    assert_int_equal(judge(6, 97.5, 3.0), HN_AUDIT_DOUBT);
    assert_int_equal(judge(20, 99.0, 12.0), HN_AUDIT_DOUBT);
}

/* What single launches differ by is no difference, however short they are. */
static void the_slack_of_samples_counts(void **state)
{
    const double fresh[6] = {2.0, 2.0, 2.0, 2.0, 2.0, 2.0};
    const double again[6] = {1.5, 1.5, 1.5, 1.5, 1.5, 1.5};
    double difference_us = 0.0;
    (void)state;
    assert_int_equal(hn_audit_judge(fresh, again, 6, 0.5, &difference_us), HN_AUDIT_ALIKE);
    assert_int_equal(hn_audit_judge(fresh, again, 6, 0.4, &difference_us), HN_AUDIT_DIFFERS);
    assert_true(difference_us == 0.5);
}

/* The bound that the fastest compared launch must not pass: 5% over the others' interval. */
static void compared_launches_may_be_a_little_slower(void **state)
{
    double others[] = {10.4, 10.0, 10.1, 10.2, 10.3, 10.5};
    (void)state;
    assert_true(fabs(hn_measure_suspicious_us(others, 6, 0.1) - (1.05 * 10.5 + 0.1)) < 1e-9);
}

/* Over outputs that are rewritten as they were an honest variant takes as long as over poison. */
static void a_suspect_is_guilty_where_content_tells(void **state)
{
    (void)state;
    double as_slow[] = {11.2, 11.0, 11.1, 11.3};
    assert_false(hn_measure_is_guilty(11.4, as_slow, 4, 10.0, 0.1));
    double as_fast[] = {10.2, 10.0, 10.1, 10.3};
    assert_true(hn_measure_is_guilty(11.4, as_fast, 4, 10.0, 0.1));
    /* Nothing honest is twice as slow for what came before it. */
    double far[] = {20.2, 20.0, 20.1, 20.3};
    assert_true(hn_measure_is_guilty(20.2, far, 4, 10.0, 0.1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_honest_variant_takes_as_long),
        cmocka_unit_test(one_that_remembers_does_not),
        cmocka_unit_test(noise_is_a_doubt),
        cmocka_unit_test(the_slack_of_samples_counts),
        cmocka_unit_test(compared_launches_may_be_a_little_slower),
        cmocka_unit_test(a_suspect_is_guilty_where_content_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
