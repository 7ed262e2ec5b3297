/* SPDX-License-Identifier: MIT */
#include "family_fixture.h"

#include "base/run.h"
#include "cache/store/database.h"
#include "runtime/libhone/library.h"

/* Sizes of `scale` that nobody tuned, by a rule: of two configurations one has machine code for all
 * sizes. The cache has one tuned size, 24576, on the driver double. */

enum { TUNED = 24576 };

static const char rule_of_scale[] =
    "{'goal': 'mean', 'values': [{'name': 'n', 'low': 1, 'high': 1048576}], 'features': ['n'],"
    " 'nodes': [{'feature': 0, 'threshold': 4096, 'left': 1, 'right': 2},"
    "           {'feature': 0, 'threshold': 16, 'left': 3, 'right': 4},"
    "           {'configuration': 0, 'sure': true}, {'configuration': 0, 'sure': false},"
    "           {'configuration': 1, 'sure': true}],"
    " 'configurations': [{'BLOCK': 256, 'FAULT': 0, 'ITEMS': 4},"
    "                    {'BLOCK': 64, 'FAULT': 0, 'ITEMS': 2}],"
    " 'predicted': {'mean': 0.019, 'worst': 0.07, 'sizes': 24},"
    " 'measured': {'mean': 0.021, 'worst': 0.09, 'sizes': 40},"
    " 'parts': {'choice': {'mean': 0.004, 'worst': 0.03, 'sizes': 40},"
    "           'coverage': {'mean': 0.011, 'worst': 0.052, 'sizes': 40},"
    "           'freezing': {'mean': 0.006, 'worst': 0.04, 'sizes': 40}}}";

/* With scratch, and counters that launches leave at zero. */
static const char rule_of_sum[] =
    "{'goal': 'mean', 'values': [{'name': 'n', 'low': 1, 'high': 100000}], 'features': ['n'],"
    " 'nodes': [{'configuration': 0, 'sure': true}],"
    " 'configurations': [{'BLOCKS': 4, 'FINISH': 'last_block'}],"
    " 'predicted': {'mean': 0, 'worst': 0, 'sizes': 0},"
    " 'measured': {'mean': 0, 'worst': 0, 'sizes': 0}}";

/* A step that is another one from 5000 on. */
static const char rule_of_ways[] =
    "{'goal': 'mean', 'values': [{'name': 'n', 'low': 1, 'high': 100000}], 'features': ['n'],"
    " 'nodes': [{'configuration': 0, 'sure': true}],"
    " 'configurations': [{'BLOCKS': 4, 'FINISH': 'two_pass'}],"
    " 'predicted': {'mean': 0, 'worst': 0, 'sizes': 0},"
    " 'measured': {'mean': 0, 'worst': 0, 'sizes': 0}}";

/* Much shared memory below 5000, clusters of 16 blocks from there on. */
static const char rule_of_wide[] =
    "{'goal': 'mean', 'values': [{'name': 'n', 'low': 1, 'high': 100000}], 'features': ['n'],"
    " 'nodes': [{'configuration': 0, 'sure': true}],"
    " 'configurations': [{'CARVEOUT': -1, 'CLUSTER': 1, 'COOPERATIVE': false, 'SHARED': 1024}],"
    " 'predicted': {'mean': 0, 'worst': 0, 'sizes': 0},"
    " 'measured': {'mean': 0, 'worst': 0, 'sizes': 0}}";

static const char rule_of_tensor[] =
    "{'goal': 'mean', 'values': [{'name': 'COLUMNS', 'low': 4, 'high': 1000},"
    "                            {'name': 'ROWS', 'low': 1, 'high': 1000}], 'features': ['ROWS'],"
    " 'nodes': [{'configuration': 0, 'sure': true}],"
    " 'configurations': [{'BOX': 32, 'FAULT': 0, 'PROMOTION': 0, 'SWIZZLE': 128}],"
    "  'predicted': {'mean': 0, 'worst': 0, 'sizes': 0},"
    " 'measured': {'mean': 0, 'worst': 0, 'sizes': 0}}";

static int set_up_family(void **state)
{
    learn_on("scale", rule_of_scale, 1, NULL);
    learn_on("sum_once", rule_of_sum, 1, NULL);
    learn_on("sum_ways", rule_of_ways, 1, NULL);
    learn_on("wide", rule_of_wide, 1, NULL);
    learn_on("tensor", rule_of_tensor, 1, NULL);
    return set_up(state);
}

ALL_TESTS(set_up_family, tear_down)

static void expect_info(const struct hone_kernel *kernel, enum hone_grade grade, int sure,
                        int compiled, const char *point)
{
    const struct hone_info *info = hone_kernel_info(kernel);
    assert_int_equal(info->grade, grade);
    assert_int_equal(info->sure, sure);
    assert_int_equal(info->compiled, compiled);
    assert_string_equal(info->point, point);
}

static const char kept[] = "BLOCK=256,FAULT=0,ITEMS=4", other[] = "BLOCK=64,FAULT=0,ITEMS=2";

TEST(a_size_that_nobody_tuned_needs_no_compiler)
{
    struct shared *shared = *state;
    const struct hone_options strict = {.on_miss = HONE_MISS_FAIL, .forbid_compile = 1};
    struct hone_kernel *kernel = get_kernel(shared->cache, "scale", "n", 70001, &strict);
    const struct hone_info *info = hone_kernel_info(kernel);
    expect_info(kernel, HONE_GRADE_FAMILY, 1, 0, kept);
    assert_true(info->measured.mean == 0.021 && info->measured.worst == 0.09);
    assert_int_equal(info->measured.sizes, 40);
    assert_int_equal(info->predicted.sizes, 24);
    assert_true(info->choice.mean == 0.004 && info->coverage.worst == 0.052);
    assert_true(info->freezing.mean == 0.006 && info->freezing.sizes == 40);
    assert_string_equal(info->problem, "n=70001");
    assert_string_equal(info->record, "{}");
    assert_true(info->median_us == 0 && info->recorded > 0);
    expect_launch(kernel, 70001);
    kernel = get_kernel(shared->cache, "scale", "n", TUNED, &strict);
    expect_info(kernel, HONE_GRADE_EXACT, 0, 0, hone_kernel_info(kernel)->point);
}

/* A cache that has the rule of `scale` and nothing else, as after an import. */
static void keep_rule_alone(const char *path)
{
    struct hn_store *from, *store;
    struct hn_tuned_list list ENDED_BY(hn_tuned_list_free);
    struct hn_stored_plan plan ENDED_BY(hn_stored_plan_free);
    struct hn_rule rule ENDED_BY(hn_rule_finish);
    int64_t session = 0;
    read_rule(rule_of_scale, &rule);
    assert_ok(hn_store_open(getenv("HONE_TEST_CACHE"), HN_STORE_READ, &from, &said));
    assert_ok(hn_store_list(from, HN_STORE_RULES, "scale", NULL, &list, &said));
    const struct hn_tuned *stored = &list.items[0];
    struct hn_identity identity = stored->identity;
    identity.problem = (struct hn_bindings){0};
    assert_ok(hn_store_get_plan(from, "scale", &stored->version, &plan, &said));
    assert_ok(hn_store_open(path, HN_STORE_WRITE, &store, &said));
    const struct hn_store_session begun = {.identity = &identity,
                                           .version = &stored->version,
                                           .plan = &plan,
                                           .command = "hone cache import",
                                           .rule = &rule};
    assert_ok(hn_store_begin(store, &begun, NULL, &session, &said));
    hn_store_close(store);
    hn_store_close(from);
}

TEST(a_rule_alone_is_enough)
{
    keep_rule_alone("alone.db");
    struct hone_cache *cache = open_at("alone.db");
    const struct hone_value sizes[] = {hone_integer("n", 70001), hone_integer("m", 1)};
    const struct hone_options strict = {.forbid_compile = 1};
    const struct hone_options careful = {.on_miss = HONE_MISS_DEFAULT};
    expect_no_kernel(cache, "scale", sizes, 1, &strict, HONE_NEEDS_COMPILER, "hone cache compile");
    expect_no_kernel(cache, "scale", sizes, 2, NULL, HONE_INVALID,
                     "'m' of scale is unknown: it is tuned for n 1 to 1048576");
    struct hone_kernel *kernel = get_kernel(cache, "scale", "n", 70001, NULL);
    expect_info(kernel, HONE_GRADE_FAMILY, 1, 1, kept);
    expect_launch(kernel, 70001);
    kernel = get_kernel(cache, "scale", "n", 16, &careful);
    expect_info(kernel, HONE_GRADE_DEFAULT, 0, 1, "BLOCK=128,FAULT=0,ITEMS=1");
    expect_launch(kernel, 16);
}

TEST(a_module_serves_all_sizes)
{
    struct shared *shared = *state;
    const struct hone_options separate = {.separate = 1};
    struct hone_kernel *one = get_kernel(shared->cache, "scale", "n", 5000, NULL);
    struct hone_kernel *two = get_kernel(shared->cache, "scale", "n", 12345, NULL);
    struct hone_kernel *own = get_kernel(shared->cache, "scale", "n", 12345, &separate);
    assert_ptr_not_equal(one, two);
    assert_ptr_equal(one->module, two->module);
    assert_ptr_not_equal(own->module, two->module);
    expect_launch(two, 12345);
    expect_launch(one, 5000);
    expect_launch(own, 12345);
    assert_ptr_equal(get_kernel(shared->cache, "scale", "n", 5000, NULL), one);
}

/* What is made like the first of a configuration is what is made for itself. */
TEST(sizes_are_made_like_others)
{
    struct shared *shared = *state;
    const struct hone_options separate = {.separate = 1};
    get_kernel(shared->cache, "scale", "n", 4097, NULL);
    for (int64_t n = 4098; n < 1048576; n += n / 3) {
        struct hone_kernel *like = get_kernel(shared->cache, "scale", "n", n, NULL);
        struct hone_kernel *own = get_kernel(shared->cache, "scale", "n", n, &separate);
        assert_true(like->is_piece && !own->is_piece);
        assert_memory_equal(like->grids, own->grids, sizeof *own->grids);
        assert_int_equal(like->slot_count, own->slot_count);
        for (size_t i = 0; i < own->slot_count; i++) {
            assert_int_equal(like->slots[i].preset, own->slots[i].preset);
            assert_int_equal(like->slots[i].bytes, own->slots[i].bytes);
        }
        assert_true(hn_bindings_equal(&like->problem, &own->problem));
        assert_string_equal(hone_kernel_info(like)->problem, hone_kernel_info(own)->problem);
        expect_info(like, HONE_GRADE_FAMILY, 1, 0, hone_kernel_info(own)->point);
        expect_launch(like, n);
    }
}

static void expect_sum(struct hone_kernel *kernel, CUdeviceptr x, CUdeviceptr sum, int expected)
{
    int host = -1;
    const struct hone_argument arguments[] = {hone_buffer("x", x), hone_buffer("sum", sum)};
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(hone_launch(kernel, NULL, arguments, 2, NULL), HONE_OK);
        fetch(&host, sum, sizeof host);
        assert_int_equal(host, expected);
    }
}

/* The first launch of a size calls for no memory of the device. */
TEST(scratch_of_sizes_lies_together)
{
    enum { FIRST = 5000, SIZES = 40 };
    struct shared *shared = *state;
    size_t before = 0, after = 0, total = 0;
    int *ones FREED = calloc(FIRST + SIZES, sizeof *ones);
    for (int i = 0; i < FIRST + SIZES; i++)
        ones[i] = 1;
    CUdeviceptr x = new_buffer(ones, (FIRST + SIZES) * sizeof *ones);
    CUdeviceptr sum = new_buffer(NULL, sizeof(int));
    for (int i = 0; i < SIZES; i++) {
        struct hone_kernel *kernel = get_kernel(shared->cache, "sum_once", "n", FIRST + i, NULL);
        assert_true(kernel->is_piece == (i > 0) && kernel->workspace_bytes > 0);
        expect_sum(kernel, x, sum, FIRST + i);
        CHECK_CUDA(cuMemGetInfo(i < 2 ? &before : &after, &total));
        assert_true(i < 2 || after == before);
    }
}

TEST(sizes_that_launch_the_same_steps_are_made_like_others)
{
    static const struct {
        int size;
        bool is_like;
    } asked[] = {{4100, false}, {4200, true}, {5000, false}, {4999, true}, {5001, true}};
    struct shared *shared = *state;
    int ones[5001];
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        ones[i] = 1;
    CUdeviceptr x = new_buffer(ones, sizeof ones);
    CUdeviceptr sum = new_buffer(NULL, sizeof(int));
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const int size = asked[i].size;
        struct hone_kernel *kernel = get_kernel(shared->cache, "sum_ways", "n", size, NULL);
        assert_true(kernel->is_piece == asked[i].is_like && kernel->step_count == 2);
        assert_int_equal(kernel->steps[0].of - kernel->plan->plan->steps, size < 5000 ? 1 : 2);
        expect_sum(kernel, x, sum, size);
    }
}

TEST(a_size_takes_no_shared_memory_from_others)
{
    struct shared *shared = *state;
    CUdeviceptr x = new_buffer(NULL, 5000 * sizeof(int)), y = new_buffer(NULL, 5000 * sizeof(int));
    const struct hone_argument arguments[] = {hone_buffer("x", x), hone_buffer("y", y)};
    struct hone_kernel *much = get_kernel(shared->cache, "wide", "n", 4999, NULL);
    struct hone_kernel *large = get_kernel(shared->cache, "wide", "n", 5000, NULL);
    assert_non_null(much->shared);
    assert_ptr_equal(much->shared, large->shared);
    launch_ok(large, NULL, arguments, 2);
    launch_ok(much, NULL, arguments, 2);
}

static void expect_moved(struct hone_kernel *kernel, int rows, int columns)
{
    size_t count = (size_t)rows * (size_t)columns;
    float *host FREED = calloc(count, sizeof *host);
    for (size_t i = 0; i < count; i++)
        host[i] = (float)i;
    CUdeviceptr x = new_buffer(host, count * sizeof *host);
    CUdeviceptr y = new_buffer(NULL, count * sizeof *host);
    assert_int_equal(launch(kernel, x, y), HONE_OK);
    fetch(host, y, count * sizeof *host);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            bool inside = i + 1 < rows && j + 4 < columns;
            float expected = inside ? (float)((i + 1) * columns + j + 4) : 0;
            assert_true(host[i * columns + j] == expected);
        }
    drop((void *)(uintptr_t)y);
    drop((void *)(uintptr_t)x);
}

/* Each has tensor maps of its own extents. */
TEST(sizes_with_tensor_maps_are_made_like_others)
{
    static const int sizes[][2] = {{60, 64}, {1, 4}, {7, 128}, {1000, 1000}, {64, 60}};
    struct shared *shared = *state;
    const struct hone_options separate = {.separate = 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct hone_value size[] = {hone_integer("ROWS", sizes[i][0]),
                                          hone_integer("COLUMNS", sizes[i][1])};
        struct hone_kernel *like = get(shared->cache, "tensor", size, 2, NULL);
        struct hone_kernel *own = get(shared->cache, "tensor", size, 2, &separate);
        assert_true(like->is_piece == (i > 0) && !own->is_piece);
        assert_int_equal(like->launch.tensor_count, 2);
        for (size_t k = 0; k < 2; k++) {
            const struct hn_tensor *a = &like->launch.tensors[k], *b = &own->launch.tensors[k];
            assert_memory_equal(a->dims, b->dims, sizeof a->dims);
            assert_memory_equal(a->strides, b->strides, sizeof a->strides);
            assert_int_equal(a->bytes, b->bytes);
        }
        expect_moved(like, sizes[i][0], sizes[i][1]);
    }
    /* Lines of maps are multiples of 16 bytes. */
    const struct hone_value wrong[] = {hone_integer("ROWS", 60), hone_integer("COLUMNS", 101)};
    expect_no_kernel(shared->cache, "tensor", wrong, 2, NULL, HONE_NOT_FOUND, "is not valid");
}

TEST(what_has_no_machine_code_is_compiled_once)
{
    struct shared *shared = *state;
    const struct hone_options strict = {.forbid_compile = 1};
    struct hone_kernel *kernel = get_kernel(shared->cache, "scale", "n", 1000, &strict);
    expect_info(kernel, HONE_GRADE_FAMILY, 0, 0, kept);
    kernel = get_kernel(shared->cache, "scale", "n", 1000, NULL);
    expect_info(kernel, HONE_GRADE_FAMILY, 1, 1, other);
    expect_launch(kernel, 1000);
    kernel = get_kernel(shared->cache, "scale", "n", 1001, NULL);
    expect_info(kernel, HONE_GRADE_FAMILY, 1, 0, other);
    expect_launch(kernel, 1001);
    kernel = get_kernel(shared->cache, "scale", "n", 1002, &strict);
    expect_info(kernel, HONE_GRADE_FAMILY, 1, 0, other);
}

TEST(what_is_not_sure_is_a_miss)
{
    struct shared *shared = *state;
    static const int64_t sizes[] = {10, 2000000};
    for (size_t i = 0; i < 2; i++) {
        const struct hone_value problem[] = {hone_integer("n", sizes[i])};
        struct hone_options options = {.on_miss = HONE_MISS_FAIL};
        expect_no_kernel(shared->cache, "scale", problem, 1, &options, HONE_NOT_FOUND,
                         "nothing is tuned of scale");
        options.on_miss = HONE_MISS_DEFAULT;
        struct hone_kernel *kernel = get_kernel(shared->cache, "scale", "n", sizes[i], &options);
        assert_int_equal(hone_kernel_info(kernel)->grade, HONE_GRADE_DEFAULT);
        options.on_miss = HONE_MISS_TUNE;
        options.tune_command = "/bin/false";
        expect_no_kernel(shared->cache, "scale", problem, 1, &options, HONE_TUNE_FAILED,
                         "exit code 1");
        kernel = get_kernel(shared->cache, "scale", "n", sizes[i], NULL);
        expect_info(kernel, HONE_GRADE_FAMILY, 0, 0, kept);
        expect_launch(kernel, sizes[i]);
    }
}

TEST(unseen_sizes_are_fast)
{
    enum { SIZES = 1000 };
    const struct hone_options strict = {.forbid_compile = 1};
    double start = hn_now_ms();
    struct hone_cache *cache = open_cache();
    double opened = hn_now_ms();
    get_kernel(cache, "scale", "n", 100000, &strict);
    double first = hn_now_ms();
    for (int i = 1; i <= SIZES; i++)
        get_kernel(cache, "scale", "n", 100000 + i, &strict);
    double rest = hn_now_ms();
    print_message("opened in %.2f ms, the first size took %.2f ms, %d more %.1f us each\n",
                  opened - start, first - opened, SIZES, 1000 * (rest - first) / SIZES);
}

/* Handles are found again among thousands, and what a rule chose is told to all who ask at once. */
static void *ask_for_sizes(void *pointer)
{
    enum { SIZES = 1500 };
    struct shared *shared = pointer;
    struct hone_kernel **handles = calloc(SIZES, sizeof *handles);
    bool good = handles != NULL && cuCtxSetCurrent(shared->context) == CUDA_SUCCESS;
    const struct hone_options strict = {.forbid_compile = 1};
    for (int i = 0; good && i < 2 * SIZES; i++) {
        struct hone_kernel *kernel = NULL;
        const struct hone_value problem[] = {hone_integer("n", 200000 + i % SIZES)};
        char expected[32];
        good = hone_get(shared->cache, "scale", problem, 1, &strict, &kernel, NULL) == HONE_OK &&
               (i < SIZES || handles[i % SIZES] == kernel);
        handles[i % SIZES] = kernel;
        snprintf(expected, sizeof expected, "n=%d", 200000 + i % SIZES);
        good = good && strcmp(hone_kernel_info(kernel)->problem, expected) == 0 &&
               strcmp(hone_kernel_info(kernel)->point, kept) == 0;
    }
    free(handles);
    return good ? shared : NULL;
}

TEST(threads_ask_for_thousands_of_sizes)
{
    in_threads(ask_for_sizes, *state);
}

/* What a cache has of those is of another device now. */
static void move_elsewhere(const char *path, const char *condition)
{
    struct hn_error err = {.status = HN_OK};
    char sql[1024];
    struct hn_database *database = hn_database_open(path, HN_DATABASE_WRITE, &err);
    snprintf(sql, sizeof sql,
             "UPDATE session SET task = json_set(task, '$.device.name', 'Another') WHERE %s;"
             "UPDATE image SET task = json_set(task, '$.device.name', 'Another') WHERE %s;"
             "UPDATE session SET checksum = checksum(origin, kernel, problem, task, version, plan,"
             " rule, started, command, simulated, machine, source, imported);"
             "UPDATE image SET checksum = checksum(kernel, problem, task, version, point, entry,"
             " hash)",
             condition, condition);
    hn_database_run(database, sql, &err);
    if (hn_failed(&err))
        fail_msg("%s", err.message);
    hn_database_close(database);
}

/* On a device that has results of its own, a rule of another one does not count; where it has none,
 * it does, and is not sure. */
TEST(a_rule_of_another_device_comes_after_what_was_tuned_here)
{
    char path[512], command[1200];
    snprintf(path, sizeof path, "%s.other", getenv("HONE_TEST_CACHE"));
    snprintf(command, sizeof command, "cp '%s' '%s'", getenv("HONE_TEST_CACHE"), path);
    assert_int_equal(system(command), 0);
    move_elsewhere(path, "kernel = 'scale' AND problem = ''");
    struct hone_cache *cache = open_at(path);
    struct hone_kernel *kernel = NULL;
    for (int64_t n = 70001; n < 70004; n++) {
        kernel = get_kernel(cache, "scale", "n", n, NULL);
        assert_int_equal(hone_kernel_info(kernel)->grade, HONE_GRADE_PROBLEM);
    }

    move_elsewhere(path, "kernel = 'scale'");
    cache = open_at(path);
    for (int64_t n = 70001; n < 70004; n++) {
        kernel = get_kernel(cache, "scale", "n", n, NULL);
        expect_info(kernel, HONE_GRADE_FAMILY, 0, 0, kept);
        assert_string_equal(hone_kernel_info(kernel)->device, "Another");
        expect_launch(kernel, n);
    }
    assert_true(kernel->is_piece);
}
