/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "bench_fixture.h"
#include "runtime/plan/contents.h"
#include "tests/unit/unit.h"

/* A reference of files: what y = 2.5 x is for an x that counts. */

enum { N = 24576 };

static struct bench_fixture scale;
static float factor = 2.5f;
static char path[] = "/tmp/hone-expected-XXXXXX";

static void write_expected(float first)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int i = 0; i < N; i++) {
        float y = i == 0 ? first : factor * (float)i;
        assert_int_equal(fwrite(&y, sizeof y, 1, file), 1);
    }
    assert_int_equal(fclose(file), 0);
}

static int load(void **state)
{
    bench_fixture_load(&scale, "double/scale.yaml", 90);
    struct hn_plan *plan = scale.config->plan;
    plan->arguments[0].fill = (struct hn_fill){.kind = HN_FILL_IOTA, .numbers = {0, 1}};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    hn_reference_finish(&plan->reference);
    hn_error_init(&said);
    hn_reference_add_file(&plan->reference, 1, path, &said);
    assert_false(hn_failed(&said));
    write_expected(0);
    return 0;
}

static int unload(void **state)
{
    bench_fixture_unload(&scale);
    return unlink(path);
}

ALL_TESTS(load, unload)

static void expect(const char *point, enum hn_outcome outcome, const char *part)
{
    const struct hn_record *record = bench_fixture_mentions(&scale, point, &both, outcome, part);
    assert_int_equal(record->verdict.kind, HN_VERIFIED);
    assert_int_equal(record->verdict.seeds, outcome == HN_OUTCOME_OK);
}

TEST(results_are_compared_with_what_files_hold)
{
    bench_fixture_start(&scale, HN_COLD);
    expect("BLOCK=128,FAULT=0,ITEMS=4", HN_OUTCOME_OK, "");
    expect("BLOCK=128,FAULT=4,ITEMS=4", HN_OUTCOME_WRONG_RESULT,
           "y[12288] is 30721; expected 30720");
    expect("BLOCK=128,FAULT=10,ITEMS=4", HN_OUTCOME_WRONG_RESULT, "y[24575] is never written");
    expect("BLOCK=128,FAULT=5,ITEMS=4", HN_OUTCOME_OUT_OF_BOUNDS, "");
    expect("BLOCK=256,FAULT=0,ITEMS=4", HN_OUTCOME_OK, "");
}

TEST(what_is_read_again_has_to_be_the_same)
{
    bench_fixture_start(&scale, HN_COLD);
    assert_ok(hn_bench_reseed(scale.bench, 1, &said));
    expect("BLOCK=128,FAULT=0,ITEMS=4", HN_OUTCOME_OK, "");
    write_expected(1);
    assert_error(hn_bench_reseed(scale.bench, 1, &said), HN_ERUN,
                 "a data file of the reference changed while it was in use; run again");
    bench_fixture_close(&scale);
    bench_fixture_start(&scale, HN_COLD);
    expect("BLOCK=128,FAULT=0,ITEMS=4", HN_OUTCOME_WRONG_RESULT, "y[0] is 0; expected 1");
    write_expected(0);
}

TEST(what_is_nan_in_a_file_is_not_compared)
{
    struct hn_compare *compare = &scale.config->plan->compare;
    write_expected(NAN);
    bench_fixture_start(&scale, HN_COLD);
    expect("BLOCK=128,FAULT=0,ITEMS=4", HN_OUTCOME_WRONG_RESULT, "y[0] is 0; expected nan");
    bench_fixture_close(&scale);
    compare->partial = true;
    bench_fixture_start(&scale, HN_COLD);
    assert_ok(hn_bench_reseed(scale.bench, 1, &said));
    const struct hn_record *record =
        bench_fixture_record(&scale, "BLOCK=128,FAULT=0,ITEMS=4", &both, HN_OUTCOME_OK, NULL);
    assert_int_equal(record->verdict.compared, N - 1);
    expect("BLOCK=128,FAULT=4,ITEMS=4", HN_OUTCOME_WRONG_RESULT, "y[12288] is 30721");
    bench_fixture_close(&scale);
    compare->partial = false;
    write_expected(0);
}

TEST(a_file_without_a_number_is_refused)
{
    factor = INFINITY;
    write_expected(NAN);
    assert_error(bench_fixture_open(&scale, HN_COLD, &said), HN_ECONFIG,
                 "the reference's file of 'y' holds nothing but NaN and infinities, which tell no "
                 "two variants apart");
    bench_fixture_close(&scale);
    factor = 2.5f;
    write_expected(0);
}

TEST(a_file_that_is_not_there_is_named)
{
    assert_int_equal(unlink(path), 0);
    assert_mentions(bench_fixture_open(&scale, HN_COLD, &said), HN_ECONFIG, path);
    bench_fixture_close(&scale);
    write_expected(0);
}

TEST(a_name_may_have_the_problem_in_it)
{
    struct hn_plan *plan = scale.config->plan;
    struct hn_value *values FREED = NULL;
    char *found = NULL;
    assert_ok(hn_plan_values(plan, &scale.config->problems[0], &plan->defaults, &values, &said));
    assert_ok(hn_plan_data_path(plan, "/a{n}/b-{n}.{n}npy", values, &found, &said));
    assert_string_equal(found, "/a{n}/b-24576.24576npy");
    free(found);
    static const char *const bad[] = {"/x{BLOCK}", "/x{n", "/x{}", "/x{n + 1}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_mentions(hn_plan_data_path(plan, bad[i], values, &found, &said), HN_ECONFIG,
                        ", expected the name of a problem value in {}");
    }
}
