/* SPDX-License-Identifier: MIT */
#include "runtime/bench/variant.h"

#include "bench_fixture.h"
#include "tests/unit/unit.h"

static struct bench_fixture symbols;
static const struct hn_bench_request both = {.verify = true, .measure = true};

static int open_bench(void **state)
{
    return bench_fixture_use(&symbols, "double/symbols.yaml") ||
           bench_fixture_start(&symbols, HN_COLD);
}

ALL_TESTS(open_bench, NULL)

static void expect(const char *point, enum hn_outcome outcome, const char *message)
{
    struct hn_record record ENDED_BY(hn_record_finish) =
        bench_fixture_evaluate(&symbols, point, &both);
    if (record.outcome != outcome)
        fail_msg("%s: found %s (%s)", point, hn_outcome_name(record.outcome),
                 record.message == NULL ? "" : record.message);
    if (message != NULL)
        assert_string_equal(record.message, message);
    /* A kernel that changes a symbol is launched once for each time that it is set. */
    assert_true(outcome != HN_OUTCOME_OK || record.timing.batch == 1);
}

TEST(symbols_are_set_before_every_launch)
{
    expect("MEMORY=constant,MISSING=0", HN_OUTCOME_OK, NULL);
    expect("MEMORY=global,MISSING=0", HN_OUTCOME_OK, NULL);
}

TEST(a_symbol_that_is_not_there_is_the_variants_failure)
{
    expect("MEMORY=global,MISSING=1", HN_OUTCOME_LAUNCH_ERROR,
           "symbol 'offsets' is not in the module: the template has no global variable of this "
           "name, outside of namespaces; where only some variants have it, give it an 'if' in the "
           "config");
    expect("MEMORY=global,MISSING=0", HN_OUTCOME_OK, NULL);
}

TEST(a_symbol_that_is_too_small_is_the_variants_failure)
{
    expect("MEMORY=global,MISSING=2", HN_OUTCOME_LAUNCH_ERROR,
           "symbol 'offsets' has 8 bytes in the module; the config gives it 16");
}

TEST(another_seed_reaches_the_symbols)
{
    assert_ok(hn_bench_reseed(symbols.bench, 2, &said));
    expect("MEMORY=constant,MISSING=0", HN_OUTCOME_OK, NULL);
}
