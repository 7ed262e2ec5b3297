/* SPDX-License-Identifier: MIT */
#include "bench_fixture.h"
#include "tests/unit/unit.h"

/* What a config can say of arguments and launches, on a GPU and (unit/launches) on the driver
 * double. */

ONLY_WHERE(bench_fixture_find_device)

struct expectation {
    const char *point;
    enum hn_outcome outcome;
    const char *part; /* of the message; NULL: any */
};

static struct hn_verdict check(struct bench_fixture *fixture, const struct expectation *expected)
{
    const struct hn_record *record =
        bench_fixture_mentions(fixture, expected->point, &measured, expected->outcome,
                               expected->part == NULL ? "" : expected->part);
    printf("%s: %s, %.2f us, %d clusters at once %s\n", expected->point,
           hn_outcome_names[record->outcome], record->timing.median_us, record->active_clusters,
           record->message == NULL ? "" : record->message);
    if (record->outcome == HN_OUTCOME_OK &&
        !(record->verdict.max_error <= record->verdict.tolerance))
        fail_msg("%s: an error of %g", expected->point, record->verdict.max_error);
    return record->verdict;
}

/* Every point in turn on one bench. */
static void check_all(const char *config, enum hn_regime regime, const struct expectation *expected,
                      size_t count)
{
    struct bench_fixture fixture;
    bench_fixture_load(&fixture, config, bench_fixture_capability);
    if (bench_fixture_open(&fixture, regime, &said) != HN_OK)
        fail_msg("%s", said.message);
    for (size_t i = 0; i < count; i++)
        check(&fixture, &expected[i]);
    bench_fixture_close(&fixture);
    bench_fixture_unload(&fixture);
}

#define CHECK_ALL_IN(regime, config, expected)                                                     \
    check_all(config, regime, expected, sizeof(expected) / sizeof(expected)[0])
#define CHECK_ALL(config, expected) CHECK_ALL_IN(HN_COLD, config, expected)

/* SET_ASIDE of 1 GiB is more than any device has. The double's kernel is right only with the
 * window and set-aside that its point says, and a launch without a window only where nothing
 * persists. */
TEST(windows_are_over_the_cache)
{
    static const struct expectation expected[] = {
        {"HIT=persisting,HIT_PERCENT=100,MISS=streaming,SET_ASIDE=0,WINDOW_BYTES=0", HN_OUTCOME_OK,
         NULL},
        {"HIT=persisting,HIT_PERCENT=100,MISS=streaming,SET_ASIDE=65536,WINDOW_BYTES=16384",
         HN_OUTCOME_OK, NULL},
        {"HIT=persisting,HIT_PERCENT=100,MISS=streaming,SET_ASIDE=65536,WINDOW_BYTES=0",
         HN_OUTCOME_OK, NULL},
        {"HIT=persisting,HIT_PERCENT=100,MISS=streaming,SET_ASIDE=0,WINDOW_BYTES=0", HN_OUTCOME_OK,
         NULL},
        {"HIT=persisting,HIT_PERCENT=50,MISS=normal,SET_ASIDE=65536,WINDOW_BYTES=4096",
         HN_OUTCOME_OK, NULL},
        {"HIT=normal,HIT_PERCENT=100,MISS=streaming,SET_ASIDE=0,WINDOW_BYTES=16384", HN_OUTCOME_OK,
         NULL},
        {"HIT=persisting,HIT_PERCENT=50,MISS=streaming,SET_ASIDE=65536,WINDOW_BYTES=16384",
         HN_OUTCOME_OK, NULL},
        {"HIT=normal,HIT_PERCENT=100,MISS=normal,SET_ASIDE=0,WINDOW_BYTES=4096", HN_OUTCOME_OK,
         NULL},
        {"HIT=persisting,HIT_PERCENT=100,MISS=normal,SET_ASIDE=1073741824,WINDOW_BYTES=4096",
         HN_OUTCOME_INVALID_LAUNCH, "a set-aside of 1073741824 bytes of L2 cache; "},
        {"HIT=persisting,HIT_PERCENT=100,MISS=normal,SET_ASIDE=0,WINDOW_BYTES=32768",
         HN_OUTCOME_INVALID_LAUNCH, "an L2 window of 32768 bytes over 'x', which has 16384"},
    };
    CHECK_ALL("double/windows.yaml", expected);
}

/* COLUMNS and ROWS are no multiples of the boxes. */
TEST(kernels_are_given_tensor_maps)
{
    static const struct expectation expected[] = {
        {"BOX=32,FAULT=0,PROMOTION=0,SWIZZLE=128", HN_OUTCOME_OK, NULL},
        {"BOX=16,FAULT=0,PROMOTION=256,SWIZZLE=64", HN_OUTCOME_OK, NULL},
        {"BOX=64,FAULT=0,PROMOTION=0,SWIZZLE=0", HN_OUTCOME_OK, NULL},
        {"BOX=32,FAULT=1,PROMOTION=0,SWIZZLE=128", HN_OUTCOME_WRONG_RESULT, "elements differ"},
        {"BOX=64,FAULT=0,PROMOTION=0,SWIZZLE=128", HN_OUTCOME_INVALID_LAUNCH,
         "tensor map 'x_map' over 'x': box[0] is 64 elements of float32, 256 bytes; expected at "
         "most the 128 bytes of swizzle"},
    };
    CHECK_ALL("double/tensor.yaml", expected);
}

TEST(symbols_are_set)
{
    static const struct expectation expected[] = {
        {"MEMORY=constant,MISSING=0", HN_OUTCOME_OK, NULL},
        {"MEMORY=global,MISSING=1", HN_OUTCOME_LAUNCH_ERROR,
         "symbol 'offsets' is not in the module: the template has no global variable of this "
         "name, outside of namespaces; where only some variants have it, give it an 'if' in the "
         "config"},
        {"MEMORY=global,MISSING=2", HN_OUTCOME_LAUNCH_ERROR,
         "symbol 'offsets' has 8 bytes in the module; the config gives it 16"},
        {"MEMORY=global,MISSING=0", HN_OUTCOME_OK, NULL},
    };
    CHECK_ALL("double/symbols.yaml", expected);
}

/* A kernel that changes a symbol is launched once for each time that it is set. */
TEST(another_seed_reaches_the_symbols)
{
    static struct bench_fixture symbols;
    bench_fixture_use(&symbols, "double/symbols.yaml");
    bench_fixture_start(&symbols, HN_COLD);
    for (unsigned seed = 1; seed <= 2; seed++) {
        assert_ok(hn_bench_reseed(symbols.bench, seed, &said));
        const struct hn_record *record =
            bench_fixture_record(&symbols, "MEMORY=constant,MISSING=0", &both, HN_OUTCOME_OK, NULL);
        assert_int_equal(record->timing.batch, 1);
    }
}

TEST(unordered_results_of_some_length_are_compared)
{
    static const struct expectation expected[] = {
        {"FAULT=0,ORDER=forward", HN_OUTCOME_OK, NULL},
        {"FAULT=0,ORDER=backward", HN_OUTCOME_OK, NULL},
        {"FAULT=1,ORDER=backward", HN_OUTCOME_WRONG_RESULT,
         "out holds '0.25' 1 times among its 2499 elements; expected 0 (in any order)"},
        {"FAULT=2,ORDER=forward", HN_OUTCOME_WRONG_RESULT,
         "out holds '0.500999987' 0 times among its 2499 elements; expected 1 (in any order)"},
        {"FAULT=3,ORDER=forward", HN_OUTCOME_WRONG_RESULT,
         "kept[0] is 2500; expected 2499: an error of 1, more than the tolerance of 0"},
    };
    CHECK_ALL("double/keep.yaml", expected);
}

TEST(launches_have_their_attributes)
{
    static const struct expectation expected[] = {
        {"CARVEOUT=-1,CLUSTER=1,COOPERATIVE=false,SHARED=1024", HN_OUTCOME_OK, NULL},
        {"CARVEOUT=0,CLUSTER=2,COOPERATIVE=false,SHARED=1024", HN_OUTCOME_OK, NULL},
        {"CARVEOUT=-1,CLUSTER=8,COOPERATIVE=true,SHARED=1024", HN_OUTCOME_OK, NULL},
        {"CARVEOUT=100,CLUSTER=16,COOPERATIVE=false,SHARED=65536", HN_OUTCOME_OK, NULL},
        {"CARVEOUT=100,CLUSTER=16,COOPERATIVE=true,SHARED=65536", HN_OUTCOME_OK, NULL},
        {"CARVEOUT=-1,CLUSTER=1,COOPERATIVE=true,SHARED=1024", HN_OUTCOME_OK, NULL},
        {"CARVEOUT=-1,CLUSTER=3,COOPERATIVE=false,SHARED=1024", HN_OUTCOME_INVALID_LAUNCH, NULL},
    };
    CHECK_ALL("double/attributes.yaml", expected);
}

/* Blocks of a cooperative launch wait for one another: it succeeds only where all of them run at
 * once. With so much shared memory a multiprocessor has one block, and not every one is in a
 * cluster of four. */
TEST(grids_are_as_large_as_clusters_that_run_at_once)
{
    static const struct expectation expected[] = {
        {"CLUSTER=1,COOPERATIVE=true,SHARED=1024,SPARED=0", HN_OUTCOME_OK, NULL},
        {"CLUSTER=4,COOPERATIVE=true,SHARED=1024,SPARED=1", HN_OUTCOME_OK, NULL},
        {"CLUSTER=2,COOPERATIVE=true,SHARED=196608,SPARED=0", HN_OUTCOME_OK, NULL},
        {"CLUSTER=4,COOPERATIVE=true,SHARED=196608,SPARED=0", HN_OUTCOME_OK, NULL},
        {"CLUSTER=4,COOPERATIVE=false,SHARED=196608,SPARED=-100", HN_OUTCOME_OK, NULL},
        {"CLUSTER=4,COOPERATIVE=true,SHARED=196608,SPARED=-100", HN_OUTCOME_LAUNCH_ERROR,
         "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"},
    };
    CHECK_ALL("double/clusters.yaml", expected);
}

TEST(a_kernel_of_several_steps_gets_the_most)
{
    static const struct expectation expected[] = {
        {"EARLY=none,SHARED=65536", HN_OUTCOME_OK, NULL},
        {"EARLY=second,SHARED=65536", HN_OUTCOME_OK, NULL},
        {"EARLY=both,SHARED=65536", HN_OUTCOME_INVALID_LAUNCH,
         "the first step is programmatic; there is none before it"}};
    CHECK_ALL("double/attributes_twice.yaml", expected);
    CHECK_ALL_IN(HN_STREAM, "double/attributes_twice.yaml", expected);
    CHECK_ALL_IN(HN_GRAPH, "double/attributes_twice.yaml", expected);
}

TEST(narrow_types_and_vectors_are_compared)
{
    static const struct expectation expected[] = {
        {"FAULT=0,ORDER=0", HN_OUTCOME_OK, NULL},
        {"FAULT=0,ORDER=1", HN_OUTCOME_OK, NULL},
        {"FAULT=1,ORDER=0", HN_OUTCOME_OK, NULL},
        {"FAULT=2,ORDER=0", HN_OUTCOME_WRONG_RESULT, "turned[7] is 10; expected "},
        {"FAULT=3,ORDER=0", HN_OUTCOME_WRONG_RESULT, "wide[5].z is "},
        {"FAULT=4,ORDER=1", HN_OUTCOME_WRONG_RESULT, "pairs holds '(0, "},
        {"FAULT=5,ORDER=0", HN_OUTCOME_WRONG_RESULT, "turned[9] is nan; expected "},
    };
    CHECK_ALL("double/types.yaml", expected);
}

TEST(inputs_come_from_files_and_by_value)
{
    static const struct expectation expected[] = {{"BLOCK=256", HN_OUTCOME_OK, NULL}};
    CHECK_ALL("double/inputs.yaml", expected);
}

TEST(steps_apply_where_they_should)
{
    static const struct expectation expected[] = {
        {"BLOCKS=8,FINISH=two_pass", HN_OUTCOME_OK, NULL},
        {"BLOCKS=8,FINISH=last_block", HN_OUTCOME_OK, NULL},
        {"BLOCKS=4,FINISH=last_block", HN_OUTCOME_OK, NULL},
        {"BLOCKS=4,FINISH=two_pass", HN_OUTCOME_OK, NULL},
        {"BLOCKS=4,FINISH=none", HN_OUTCOME_INVALID_LAUNCH, "no step is launched: no 'if' holds"},
    };
    CHECK_ALL("double/composite.yaml", expected);
}

/* n of y but two are written, and every second of z. What the reference leaves may be left or
 * written; what it writes has to be written, however many may differ. */
TEST(outputs_may_be_written_in_part)
{
    enum { N = 4096, ALL = N - 2 + N / 2 };
    static const struct {
        struct expectation expected;
        size_t differed;
    } cases[] = {
        {{"ALLOWED=0,FAULT=0", HN_OUTCOME_OK, NULL}, 0},
        {{"ALLOWED=0,FAULT=1", HN_OUTCOME_OK, NULL}, 0},
        {{"ALLOWED=0,FAULT=2", HN_OUTCOME_WRONG_RESULT, "y[5] is never written; expected "}, 0},
        {{"ALLOWED=0,FAULT=3", HN_OUTCOME_WRONG_RESULT,
          "; 3 of 4094 elements differ (where so few may: 'mismatches' in compare)"},
         3},
        {{"ALLOWED=0,FAULT=4", HN_OUTCOME_WRONG_RESULT, "y[1] is never written; expected "}, N / 2},
        {{"ALLOWED=0,FAULT=5", HN_OUTCOME_WRONG_RESULT, "in a timed launch: y["}, 2},
        {{"ALLOWED=0,FAULT=6", HN_OUTCOME_WRONG_RESULT,
          "; 2 of 2048 elements differ, 2 of them never written"},
         2},
        {{"ALLOWED=3,FAULT=2", HN_OUTCOME_WRONG_RESULT, "y[5] is never written"}, 0},
        {{"ALLOWED=3,FAULT=3", HN_OUTCOME_OK, NULL}, 3},
        {{"ALLOWED=3,FAULT=6", HN_OUTCOME_WRONG_RESULT, "2 of them never written"}, 2},
        {{"ALLOWED=100000,FAULT=4", HN_OUTCOME_WRONG_RESULT, "y[1] is never written; expected "},
         N / 2},
        {{"ALLOWED=100000,FAULT=5", HN_OUTCOME_WRONG_RESULT,
          "; 2 of 4094 elements differ, 2 of them never written, which 'mismatches' never allows"},
         2},
    };
    static struct bench_fixture border;
    bench_fixture_use(&border, "double/border.yaml");
    bench_fixture_start(&border, HN_COLD);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hn_verdict verdict = check(&border, &cases[i].expected);
        if (verdict.compared != ALL || verdict.differed != cases[i].differed)
            fail_msg("%s: %zu of %zu elements differ", cases[i].expected.point, verdict.differed,
                     verdict.compared);
    }
}

TEST(textures_read_rows)
{
    static const struct expectation expected[] = {
        {"FAULT=0,PAD=0,PATH=global", HN_OUTCOME_OK, NULL},
        {"FAULT=0,PAD=28,PATH=texture_1d", HN_OUTCOME_OK, NULL},
        {"FAULT=0,PAD=0,PATH=texture_2d", HN_OUTCOME_OK, NULL},
        {"FAULT=1,PAD=0,PATH=global", HN_OUTCOME_OUT_OF_BOUNDS,
         "wrote at byte 800 of 'out', between two of its rows"},
        {"FAULT=2,PAD=0,PATH=global", HN_OUTCOME_WRONG_RESULT,
         "out[0][99].y is 3.39615136e+38; expected "},
        {"FAULT=2,PAD=0,PATH=texture_1d", HN_OUTCOME_WRONG_RESULT,
         "out[0][99].y is 3.39615136e+38; expected "},
        {"FAULT=3,PAD=0,PATH=texture_2d", HN_OUTCOME_WRONG_RESULT, "out[2][5].y is "},
    };
    CHECK_ALL("double/field.yaml", expected);
}
