/* SPDX-License-Identifier: MIT */
#include "bench_fixture.h"
#include "tests/unit/unit.h"

/* Outputs that are written in part, and elements that may differ: n of y but two, and every second
 * of z. */

enum { N = 4096, COMPARED = N - 2 + N / 2 };

static struct bench_fixture border;

static int load(void **state)
{
    return bench_fixture_use(&border, "double/border.yaml");
}

ALL_TESTS(load, NULL)

static int open_border(void **state)
{
    return bench_fixture_start(&border, HN_COLD);
}

static void expect(const char *point, enum hn_outcome outcome, const char *part, size_t differed)
{
    const struct hn_record *record = bench_fixture_mentions(&border, point, &both, outcome, part);
    assert_int_equal(record->verdict.compared, COMPARED);
    assert_int_equal(record->verdict.differed, differed);
    if (outcome == HN_OUTCOME_OK)
        assert_true(record->verdict.max_error <= record->verdict.tolerance);
}

TEST_WITH(a_share_counts_of_what_is_compared, open_border, NULL)
{
    struct hn_compare *compare = &border.config->plan->compare;
    struct hn_expression *mismatches = compare->mismatches;
    compare->mismatches = NULL;
    compare->mismatch_share = 3.0 / 4094;
    expect("ALLOWED=0,FAULT=3", HN_OUTCOME_OK, "", 3);
    compare->mismatch_share = 2.9 / 4094;
    expect("ALLOWED=0,FAULT=3", HN_OUTCOME_WRONG_RESULT,
           "; 3 of 4094 elements differ, and 'mismatches' allows 2", 3);
    compare->mismatch_share = 0;
    compare->mismatches = mismatches;
}

/* What is not compared may be another for other inputs, and the bits may be damaged. */
TEST_WITH(what_is_written_is_found_again, open_border, NULL)
{
    assert_ok(hn_bench_reseed(border.bench, 2, &said));
    expect("ALLOWED=0,FAULT=1", HN_OUTCOME_OK, "", 0);
    assert_ok(hn_bench_reseed(border.bench, 1, &said));
}

TEST(a_reference_says_how_it_may_be_in_part)
{
    border.config->plan->compare.partial = false;
    assert_mentions(bench_fixture_open(&border, HN_COLD, &said), HN_ERUN,
                    "y[0] is never written; expected ");
    assert_non_null(strstr(said.message, "on purpose: compare: {partial: true}"));
    bench_fixture_close(&border);
    border.config->plan->compare.partial = true;
}

/* The variant's own first launches are what its later ones are compared with. */
TEST(without_a_reference_what_is_left_is_not_compared)
{
    struct hn_plan *plan = border.config->plan;
    plan->reference.kind = HN_REFERENCE_NONE;
    bench_fixture_start(&border, HN_COLD);
    expect("ALLOWED=0,FAULT=0", HN_OUTCOME_OK, "", 0);
    bench_fixture_close(&border);
    plan->reference.kind = HN_REFERENCE_TEMPLATE;
}
