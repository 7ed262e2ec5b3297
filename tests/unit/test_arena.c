/* SPDX-License-Identifier: MIT */
#include "runtime/bench/arena.h"

#include "bench_fixture.h"
#include "tests/unit/unit.h"

static struct bench_fixture inputs;

static int load(void **state)
{
    return bench_fixture_use(&inputs, "double/inputs.yaml");
}

ALL_TESTS(load, NULL)

static void expect_right(void)
{
    bench_fixture_record(&inputs, "BLOCK=128", &verify_only, HN_OUTCOME_OK, NULL);
}

TEST(inputs_come_from_files_and_by_value)
{
    bench_fixture_start(&inputs, HN_COLD);
    expect_right();
    /* Another seed draws other weights, and passes these. */
    assert_ok(hn_bench_reseed(inputs.bench, 7, &said));
    expect_right();
}

static void write_shorts(const char *path, int16_t first)
{
    const int16_t shorts[4] = {first, 2, 3, 4};
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(shorts, 1, sizeof shorts, file), sizeof shorts);
    fclose(file);
}

/* The references were computed from what it held before. */
TEST(a_file_that_changes_ends_the_run)
{
    char path[] = "/tmp/hone-arena-XXXXXX";
    char **file = &inputs.config->plan->arguments[3].fill.file;
    char *kept = *file;
    close(mkstemp(path));
    *file = path;
    write_shorts(path, 1);
    bench_fixture_start(&inputs, HN_COLD);
    assert_ok(hn_bench_reseed(inputs.bench, 2, &said));
    write_shorts(path, 9);
    assert_mentions(hn_bench_reseed(inputs.bench, 3, &said), HN_ERUN,
                    "changed while it was in use; run again");
    bench_fixture_close(&inputs);
    unlink(path);
    assert_mentions(bench_fixture_open(&inputs, HN_COLD, &said), HN_ECONFIG,
                    "No such file or directory");
    bench_fixture_close(&inputs);
    *file = kept;
}

TEST(fills_follow_the_problem)
{
    bench_fixture_set_problem(&inputs, "BINS=1,n=5000");
    assert_error(bench_fixture_open(&inputs, HN_COLD, &said), HN_ECONFIG,
                 "argument 'weights': found 'zipf(0.5, 1.5)', expected a whole "
                 "number of values, at least 1");
    bench_fixture_close(&inputs);
    bench_fixture_set_problem(&inputs, "BINS=40,n=5000");
}

TEST(what_is_passed_by_value_is_bounded)
{
    struct hn_argument *by_value = &inputs.config->plan->arguments[4];
    char *kept = by_value->from;
    by_value->from = strdup("order");
    bench_fixture_set_problem(&inputs, "BINS=40,n=9000");
    assert_error(bench_fixture_open(&inputs, HN_COLD, &said), HN_ECONFIG,
                 "argument 'by_value' passes the 36000 bytes of 'order' by "
                 "value; a kernel takes 32764");
    bench_fixture_close(&inputs);
    free(by_value->from);
    by_value->from = kept;
    bench_fixture_set_problem(&inputs, "BINS=40,n=5000");
}

/* The kernel tells of what its buffers' addresses are multiples, and the reference what is right.
 */
TEST(buffers_are_aligned_as_the_config_says)
{
    static const char *const problems[] = {"OWN=4", "OWN=16", "OWN=256", "OWN=512"};
    static struct bench_fixture aligned; /* closed once more behind the test */
    bench_fixture_load(&aligned, "double/aligned.yaml", 90);
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        bench_fixture_set_problem(&aligned, problems[i]);
        assert_ok(bench_fixture_open(&aligned, HN_COLD, &said));
        bench_fixture_expect(&aligned, "WIDTH=8", &verify_only, HN_OUTCOME_OK, NULL);
        bench_fixture_expect(&aligned, "WIDTH=64", &verify_only, HN_OUTCOME_OK, NULL);
        bench_fixture_close(&aligned);
    }
    bench_fixture_set_problem(&aligned, "OWN=48");
    assert_error(bench_fixture_open(&aligned, HN_COLD, &said), HN_EVALUE,
                 "argument 'x' has an align of 48; expected a power of two "
                 "from 4 to 512");
    bench_fixture_close(&aligned);
    bench_fixture_unload(&aligned);
}
