/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "family_fixture.h"

#include "runtime/libhone/library.h"

/* Points that take turns in the launches of `scale` for sizes that its rule is not sure of: of
 * three configurations, all with machine code, the rule takes the slowest there, and the second is
 * the best for each size. */

enum { UNSURE = 5000, SURE = 70001, MOST_LAUNCHES = 60 };

static char slow[64], others[64];
static const char best[] = "BLOCK=256,FAULT=0,ITEMS=4";

/* Of the tuned points with machine code the slowest and another one, which is not the best. */
static void find_points(void)
{
    struct hn_store *store;
    struct hn_tuned_list list ENDED_BY(hn_tuned_list_free);
    struct hn_records records ENDED_BY(hn_records_free);
    double slow_us = 0;
    assert_ok(hn_store_open(getenv("HONE_TEST_CACHE"), HN_STORE_READ, &store, &said));
    assert_ok(hn_store_list(store, HN_STORE_RESULTS, "scale", NULL, &list, &said));
    const struct hn_tuned *tuned = &list.items[0];
    assert_ok(hn_store_load(store, &tuned->identity, &tuned->version, false, &records, &said));
    for (size_t i = 0; i < records.count; i++) {
        const struct hn_record *record = &records.items[i];
        void *cubin FREED = NULL;
        char *entry FREED = NULL;
        size_t size = 0;
        bool kept = hn_store_get_image(store, &tuned->identity, &tuned->version, &record->point,
                                       &cubin, &size, &entry, &said) == HN_OK;
        char *text FREED = hn_bindings_text(&record->point);
        if (kept && strcmp(text, best) != 0 && record->timing.median_us > slow_us) {
            snprintf(others, sizeof others, "%s", slow);
            snprintf(slow, sizeof slow, "%s", text);
            slow_us = record->timing.median_us;
        } else if (kept && strcmp(text, best) != 0 && others[0] == '\0') {
            snprintf(others, sizeof others, "%s", text);
        }
    }
    hn_store_close(store);
    assert_true(slow[0] != '\0' && others[0] != '\0');
}

/* "BLOCK=256,FAULT=0,ITEMS=4" as JSON with ' for ". */
static void append_point(struct hn_text *text, const char *point)
{
    int block = 0, items = 0;
    assert_int_equal(sscanf(point, "BLOCK=%d,FAULT=0,ITEMS=%d", &block, &items), 2);
    hn_text_printf(text, "{'BLOCK': %d, 'FAULT': 0, 'ITEMS': %d}", block, items);
}

/* One configuration, whose program with the size as a constant is faster. */
static const char rule_of_frozen[] =
    "{'goal': 'mean', 'values': [{'name': 'N', 'low': 1, 'high': 1048576}], 'features': [],"
    " 'nodes': [{'configuration': 0, 'sure': true}],"
    " 'configurations': [{'BLOCK': 128, 'FAULT': 0, 'FROZEN': 0, 'ITEMS': 1}],"
    " 'predicted': {'mean': 0, 'worst': 0, 'sizes': 0},"
    " 'measured': {'mean': 0, 'worst': 0, 'sizes': 0}}";

/* Of what adds to its `inout` argument. */
static const char rule_of_adds[] =
    "{'goal': 'mean', 'values': [{'name': 'n', 'low': 1, 'high': 1048576}], 'features': [],"
    " 'nodes': [{'configuration': 0, 'sure': false}],"
    " 'configurations': [{'SCRATCH': 4096}, {'SCRATCH': 1024}],"
    " 'predicted': {'mean': 0, 'worst': 0, 'sizes': 0},"
    " 'measured': {'mean': 0, 'worst': 0, 'sizes': 0}}";

static int set_up_race(void **state)
{
    struct hn_text rule ENDED_BY(hn_text_finish) = {0};
    find_points();
    hn_text_append(&rule, "{'goal': 'mean', 'values': [{'name': 'n', 'low': 1, 'high': 1048576}],"
                          " 'features': ['n'], 'nodes': [{'feature': 0, 'threshold': 10000,"
                          " 'left': 1, 'right': 2}, {'configuration': 0, 'sure': false},"
                          " {'configuration': 1, 'sure': true}], 'configurations': [");
    append_point(&rule, slow);
    hn_text_append(&rule, ", ");
    append_point(&rule, best);
    hn_text_append(&rule, ", ");
    append_point(&rule, others);
    hn_text_append(&rule, "], 'predicted': {'mean': 0.2, 'worst': 0.7, 'sizes': 9},"
                          " 'measured': {'mean': 0.2, 'worst': 0.9, 'sizes': 4}}");
    learn_on("scale", rule.data, 3, NULL);
    learn_on("frozen", rule_of_frozen, 1, NULL);
    learn_on("adds", rule_of_adds, 2, NULL);
    return set_up(state);
}

ALL_TESTS(set_up_race, tear_down)

static struct hone_race race_of(const struct hone_kernel *kernel)
{
    struct hone_race race;
    assert_int_equal(hone_kernel_race(kernel, &race), HONE_OK);
    return race;
}

/* Until the race has ended; each launch is checked, and waited for. */
static struct hone_race run_race(struct hone_kernel *kernel, int64_t n)
{
    struct hone_race race = race_of(kernel);
    int launches = 0;
    for (; !race.finished && launches < MOST_LAUNCHES; launches++) {
        expect_launch(kernel, n);
        race = race_of(kernel);
    }
    assert_true(race.finished);
    assert_in_range(race.launches, 3 * 4, MOST_LAUNCHES);
    return race;
}

static const struct hone_options racing = {.on_miss = HONE_MISS_RACE, .forbid_compile = 1};

TEST(the_fastest_is_found_and_stays)
{
    struct shared *shared = *state;
    struct hone_kernel *kernel = get_kernel(shared->cache, "scale", "n", UNSURE, &racing);
    struct hone_race race = race_of(kernel);
    assert_int_equal(race.points, 3);
    assert_string_equal(race.point, slow);
    assert_string_equal(hone_kernel_info(kernel)->point, slow);
    assert_int_equal(hone_kernel_info(kernel)->grade, HONE_GRADE_FAMILY);
    race = run_race(kernel, UNSURE);
    assert_string_equal(race.point, best);
    assert_true(race.median_us > 0 && !race.recorded);
    assert_string_equal(race.message, "");
    for (int i = 0; i < 5; i++)
        expect_launch(kernel, UNSURE);
    assert_int_equal(race_of(kernel).launches, race.launches);
    assert_ptr_equal(get_kernel(shared->cache, "scale", "n", UNSURE, &racing), kernel);
}

TEST(who_did_not_ask_is_not_raced)
{
    struct shared *shared = *state;
    struct hone_race race;
    static const enum hone_miss others_than_race[] = {HONE_MISS_NEAREST, HONE_MISS_DEFAULT};
    for (size_t i = 0; i < 2; i++) {
        const struct hone_options options = {.on_miss = others_than_race[i]};
        struct hone_kernel *kernel = get_kernel(shared->cache, "scale", "n", UNSURE, &options);
        assert_int_equal(hone_kernel_race(kernel, &race), HONE_NOT_FOUND);
        assert_false(kernel->is_watched);
    }
    struct hone_kernel *sure = get_kernel(shared->cache, "scale", "n", SURE, &racing);
    assert_int_equal(hone_kernel_race(sure, &race), HONE_NOT_FOUND);
    struct hone_kernel *exact = get_kernel(shared->cache, "scale", "n", 24576, &racing);
    assert_int_equal(hone_kernel_race(exact, &race), HONE_NOT_FOUND);
    assert_int_equal(hone_kernel_info(exact)->grade, HONE_GRADE_EXACT);
    assert_int_equal(hone_kernel_race(NULL, &race), HONE_INVALID);
    assert_int_equal(hone_kernel_race(sure, NULL), HONE_INVALID);
}

static bool can_be_raced(struct hone_kernel *kernel, const struct hn_tuned *tuned)
{
    const struct hn_lib_question asked = {.options = &racing};
    const struct hn_lib_choice choice = {.asked = &asked, .tuned = tuned};
    struct hn_image image = HN_NO_IMAGE;
    struct hn_lib_race *race = hn_lib_race_make(kernel, &choice, NULL, &image);
    bool can = race != NULL;
    hn_lib_race_destroy(race);
    return can;
}

TEST(what_has_metrics_or_another_objective_is_not_raced)
{
    struct shared *shared = *state;
    struct hone_kernel *scale = get_kernel(shared->cache, "scale", "n", UNSURE, NULL);
    struct hone_kernel *metric = get_kernel(shared->cache, "accumulate", "n", UNSURE, NULL);
    struct hn_tuned by_time = scale->configuration->tuned, by_energy = by_time;
    by_energy.identity.objective = (char *)"energy minimize";
    assert_true(can_be_raced(scale, &by_time));
    assert_false(can_be_raced(scale, &by_energy));
    assert_false(can_be_raced(metric, &by_time));
}

TEST(what_changes_its_inputs_is_changed_once_by_each_launch)
{
    struct shared *shared = *state;
    struct hone_kernel *kernel = get_kernel(shared->cache, "adds", "n", N, &racing);
    float x[N], y[N];
    int launches = 0;
    for (int i = 0; i < N; i++)
        x[i] = y[i] = (float)i;
    CUdeviceptr device_x = new_buffer(x, sizeof x), device_y = new_buffer(y, sizeof y);
    assert_int_equal(race_of(kernel).points, 2);
    for (; !race_of(kernel).finished && launches < MOST_LAUNCHES; launches++) {
        assert_int_equal(launch(kernel, device_x, device_y), HONE_OK);
        CHECK_CUDA(cuCtxSynchronize());
    }
    assert_true(race_of(kernel).finished);
    CHECK_CUDA(cuMemcpyDtoH(y, device_y, sizeof y));
    for (int i = 0; i < N; i++)
        assert_float_equal(y[i], (float)(i * (1 + launches)), 0);
}

/* Between its steps a launch may fail, with half of the work done. */
TEST(what_changes_its_inputs_is_not_raced_in_two_steps)
{
    struct shared *shared = *state;
    struct hone_kernel *adds = get_kernel(shared->cache, "adds", "n", UNSURE, NULL);
    struct hone_kernel two_steps = *adds;
    const struct hn_lib_question asked = {.options = &racing};
    const struct hn_lib_choice choice = {.asked = &asked, .tuned = &adds->configuration->tuned};
    struct hn_image image = HN_NO_IMAGE;
    struct hn_lib_race *race = hn_lib_race_make(adds, &choice, NULL, &image);
    assert_non_null(race);
    two_steps.step_count = 2;
    assert_false(hn_lib_race_add(race, &two_steps, &image));
    hn_lib_race_destroy(race);
}

/* Into the very cache, or into one of its own: who asks next finds what was found. */
TEST(results_are_recorded)
{
    struct shared *shared = *state;
    const char *const paths[] = {getenv("HONE_TEST_CACHE"), "raced.db"};
    for (int i = 0; i < 2; i++) {
        struct hone_options options = racing;
        options.race_cache = paths[i];
        struct hone_kernel *kernel =
            get_kernel(shared->cache, "scale", "n", UNSURE + 1 + i, &options);
        struct hone_race race = run_race(kernel, UNSURE + 1 + i);
        if (!race.recorded)
            fail_msg("%s", race.message);
        assert_string_equal(race.message, "");
        kernel = get_kernel(open_at(paths[i]), "scale", "n", UNSURE + 1 + i, &racing);
        const struct hone_info *info = hone_kernel_info(kernel);
        assert_int_equal(info->grade, HONE_GRADE_EXACT);
        assert_string_equal(info->point, best);
        assert_string_equal(info->regime, "unknown");
        assert_string_equal(info->verification, "unverified");
        assert_true(info->low_us <= race.median_us && race.median_us <= info->high_us);
        expect_launch(kernel, UNSURE + 1 + i);
    }
}

TEST(a_cache_that_can_not_be_written_is_told)
{
    struct shared *shared = *state;
    struct hone_options options = racing;
    options.race_cache = "/dev/null/raced.db";
    struct hone_kernel *kernel = get_kernel(shared->cache, "scale", "n", UNSURE + 10, &options);
    struct hone_race race = run_race(kernel, UNSURE + 10);
    assert_false(race.recorded);
    assert_non_null(strstr(race.message, "/dev/null"));
}

TEST(nothing_is_timed_while_a_graph_is_captured)
{
    struct shared *shared = *state;
    struct hone_kernel *kernel = get_kernel(shared->cache, "scale", "n", UNSURE + 20, &racing);
    expect_launch(kernel, UNSURE + 20);
    expect_launch(kernel, UNSURE + 20);
    uint64_t before = race_of(kernel).launches;
    setenv("HONE_DOUBLE_CAPTURING", "1", 1);
    for (int i = 0; i < 5; i++)
        expect_launch(kernel, UNSURE + 20);
    unsetenv("HONE_DOUBLE_CAPTURING");
    assert_int_equal(race_of(kernel).launches, before);
    run_race(kernel, UNSURE + 20);
}

/* --- frozen programs, compiled later */

static const char thawed[] = "BLOCK=128,FAULT=0,FROZEN=0,ITEMS=1";
static const char frozen[] = "BLOCK=128,FAULT=0,FROZEN=1,ITEMS=1";

static struct hone_cache *open_freezing(const char *after)
{
    setenv("HONE_FREEZE_AFTER", after, 1);
    struct hone_cache *cache = open_cache();
    unsetenv("HONE_FREEZE_AFTER");
    return cache;
}

/* A compilation takes as long as it takes. */
static struct hone_race launch_until_known(struct hone_kernel *kernel, int64_t n)
{
    enum { TURNS = 6000, TURN_US = 10000 };
    struct hone_race race = race_of(kernel);
    for (int turn = 0; !race.finished && turn < TURNS; turn++) {
        expect_launch(kernel, n);
        usleep(TURN_US);
        race = race_of(kernel);
    }
    assert_true(race.finished);
    return race;
}

TEST(a_frozen_program_is_taken_where_it_is_faster)
{
    struct hone_cache *cache = open_freezing("3");
    const struct hone_options options = {.race_cache = "frozen.db"};
    struct hone_kernel *kernel = get_kernel(cache, "frozen", "N", 5000, &options);
    assert_string_equal(hone_kernel_info(kernel)->point, thawed);
    assert_int_equal(race_of(kernel).points, 1);
    expect_launch(kernel, 5000);
    expect_launch(kernel, 5000);
    assert_false(atomic_load(&cache->is_freezing));
    expect_launch(kernel, 5000);
    assert_true(atomic_load(&cache->is_freezing));
    const struct hone_race race = launch_until_known(kernel, 5000);
    assert_string_equal(race.message, "");
    assert_string_equal(race.point, frozen);
    assert_int_equal(race.points, 2);
    assert_true(race.recorded && !atomic_load(&cache->is_freezing));
    expect_launch(kernel, 5000);
    const struct hone_options strict = {.on_miss = HONE_MISS_FAIL, .forbid_compile = 1};
    kernel = get_kernel(open_at("frozen.db"), "frozen", "N", 5000, &strict);
    assert_string_equal(hone_kernel_info(kernel)->point, frozen);
    expect_launch(kernel, 5000);
}

TEST(what_can_not_be_compiled_stays_as_it_is)
{
    struct hone_cache *cache = open_freezing("1");
    const struct hone_options options = {.tune_command = "/nowhere/hone"};
    struct hone_kernel *kernel = get_kernel(cache, "frozen", "N", 6000, &options);
    const struct hone_race race = launch_until_known(kernel, 6000);
    assert_string_equal(race.point, thawed);
    assert_non_null(strstr(race.message, "/nowhere/hone"));
    assert_false(race.recorded || atomic_load(&cache->is_freezing));
    expect_launch(kernel, 6000);
}

TEST(who_did_not_ask_has_no_frozen_program)
{
    struct shared *shared = *state;
    struct hone_race race;
    const struct hone_options strict = {.forbid_compile = 1};
    struct hone_kernel *kernels[] = {
        get_kernel(shared->cache, "frozen", "N", 5000, NULL),
        get_kernel(open_freezing("1"), "frozen", "N", 5000, &strict),
        get_kernel(open_freezing("1"), "scale", "n", SURE, NULL),
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        assert_int_equal(hone_kernel_race(kernels[i], &race), HONE_NOT_FOUND);
}

TEST(a_cache_is_closed_while_a_program_is_compiled)
{
    struct hone_cache *cache = open_freezing("1");
    expect_launch(get_kernel(cache, "frozen", "N", 7000, NULL), 7000);
    assert_true(atomic_load(&cache->is_freezing));
    drop(cache);
}

/* --- many threads */

static void *launch_often(void *pointer)
{
    struct shared *shared = pointer;
    struct hone_kernel *kernel = NULL;
    const struct hone_value problem[] = {hone_integer("n", N)};
    CUdeviceptr y = 0;
    float host[N];
    bool good = cuCtxSetCurrent(shared->context) == CUDA_SUCCESS &&
                cuMemAlloc(&y, sizeof host) == CUDA_SUCCESS &&
                hone_get(shared->cache, "scale", problem, 1, &racing, &kernel, NULL) == HONE_OK;
    for (int i = 0; good && i < MOST_LAUNCHES; i++)
        good = cuMemsetD8Async(y, 0xff, sizeof host, NULL) == CUDA_SUCCESS &&
               launch(kernel, shared->x, y) == HONE_OK &&
               cuMemcpyDtoH(host, y, sizeof host) == CUDA_SUCCESS && host[N - 1] == 2.5f * 3;
    cuMemFree(y);
    return good ? shared : NULL;
}

TEST(threads_launch_what_is_raced)
{
    struct shared *shared = *state;
    float host[N];
    for (int i = 0; i < N; i++)
        host[i] = 3;
    CHECK_CUDA(cuMemcpyHtoD(shared->x, host, sizeof host));
    in_threads(launch_often, shared);
    assert_true(race_of(get_kernel(shared->cache, "scale", "n", N, &racing)).finished);
}

static void *launch_frozen(void *pointer)
{
    struct hone_kernel *kernel = pointer;
    CUdeviceptr x = 0, y = 0;
    float host[N];
    struct hone_race race = {.finished = 0};
    bool good = cuCtxSetCurrent(kernel->context) == CUDA_SUCCESS &&
                cuMemAlloc(&x, sizeof host) == CUDA_SUCCESS &&
                cuMemAlloc(&y, sizeof host) == CUDA_SUCCESS &&
                cuMemsetD8Async(x, 0, sizeof host, NULL) == CUDA_SUCCESS;
    while (good && !race.finished) {
        good = launch(kernel, x, y) == HONE_OK && hone_prepare(kernel, NULL, NULL) == HONE_OK &&
               hone_kernel_race(kernel, &race) == HONE_OK && cuCtxSynchronize() == CUDA_SUCCESS;
        usleep(100);
    }
    cuMemFree(x);
    cuMemFree(y);
    return good ? kernel : NULL;
}

static void *launch_once(void *kernel)
{
    expect_launch(kernel, 8000);
    return NULL;
}

/* What compiles ends with the thread that started it. */
TEST(another_thread_starts_what_ended)
{
    pthread_t thread;
    struct hone_cache *cache = open_freezing("1");
    struct hone_kernel *kernel = get_kernel(cache, "frozen", "N", 8000, NULL);
    assert_int_equal(pthread_create(&thread, NULL, launch_once, kernel), 0);
    pthread_join(thread, NULL);
    assert_true(atomic_load(&cache->is_freezing));
    assert_string_equal(launch_until_known(kernel, 8000).point, frozen);
}

/* They disturb each other's times: either program may win. */
TEST(threads_launch_what_is_frozen_later)
{
    struct hone_kernel *kernel = get_kernel(open_freezing("3"), "frozen", "N", N, NULL);
    in_threads(launch_frozen, kernel);
    assert_int_equal(race_of(kernel).finished, 1);
}

/* --- who is raced */

static struct hn_tuned tuned_of(int64_t n, int64_t block)
{
    struct hn_tuned tuned = {.identity = {.regime = "cold", .objective = "time"}};
    const struct hn_value values[] = {hn_integer(n), hn_integer(block)};
    tuned.identity.problem = (struct hn_bindings){0};
    assert_ok(hn_bindings_set(&tuned.identity.problem, "n", &values[0], NULL));
    tuned.best.point = (struct hn_bindings){0};
    assert_ok(hn_bindings_set(&tuned.best.point, "BLOCK", &values[1], NULL));
    tuned.best.outcome = HN_OUTCOME_OK;
    tuned.best.verdict.kind = HN_VERIFIED;
    return tuned;
}

TEST(the_nearest_that_were_verified_are_raced)
{
    enum { COUNT = 8 };
    struct hn_tuned tuned[COUNT] = {tuned_of(1000, 64),  tuned_of(9000, 128), tuned_of(1100, 256),
                                    tuned_of(1001, 512), tuned_of(1002, 32),  tuned_of(1003, 1024),
                                    tuned_of(1004, 96),  tuned_of(1200, 256)};
    struct hn_tuned_list list = {tuned, COUNT};
    const struct hn_tuned *racers[HN_LIB_RACERS_LIKELY];
    struct hn_bindings problem ENDED_BY(hn_bindings_finish) = {0};
    const struct hn_value n = hn_integer(1000);
    assert_ok(hn_bindings_set(&problem, "n", &n, NULL));
    const struct hn_lookup_query query = {.problem = &problem};
    tuned[3].best.verdict.kind = HN_UNVERIFIED;
    tuned[4].simulated = true;
    tuned[5].version.template_hash[0] = 'x';
    tuned[6].identity.device.capability = 80;
    assert_int_equal(hn_lib_racers_of_results(&list, &query, &tuned[0], racers), 2);
    assert_ptr_equal(racers[0], &tuned[2]);
    assert_ptr_equal(racers[1], &tuned[1]);
    for (size_t i = 0; i < COUNT; i++) {
        hn_bindings_finish(&tuned[i].identity.problem);
        hn_bindings_finish(&tuned[i].best.point);
    }
}

static struct hn_bindings problem_of(int64_t m, int64_t n)
{
    struct hn_bindings problem = {0};
    const struct hn_value values[] = {hn_integer(m), hn_integer(n), hn_word("row")};
    static const char *const names[] = {"M", "N", "ORDER"};
    for (size_t i = 0; i < 3; i++)
        assert_ok(hn_bindings_set(&problem, names[i], &values[i], NULL));
    return problem;
}

TEST(what_the_rule_says_beside_comes_first)
{
    struct hn_rule rule ENDED_BY(hn_rule_finish);
    int configurations[HN_LIB_RACERS_LIKELY];
    struct hn_bindings problem ENDED_BY(hn_bindings_finish) = problem_of(300, 200);
    read_rule(rule_text, &rule);
    /* 60,000 elements are of configuration 0, twice as many of 2; the others come in their order.
     */
    assert_int_equal(hn_lib_racers_of_rule(&rule, &problem, 0, configurations), 2);
    assert_int_equal(configurations[0], 2);
    assert_int_equal(configurations[1], 1);
}

TEST(what_costs_least_is_raced_first)
{
    struct hn_rule rule ENDED_BY(hn_rule_finish);
    int configurations[HN_LIB_RACERS_LIKELY];
    struct hn_bindings problem ENDED_BY(hn_bindings_finish) = problem_of(300, 200);
    read_rule(rule_text, &rule);
    /* 136, 72 and 56: the tree says 0 beside. */
    assert_ok(hn_expression_parse("1.0 * abs(BLOCK - 200)", &rule.cost, &said));
    rule.correction_count = 3 * 4;
    rule.corrections = calloc(rule.correction_count, sizeof *rule.corrections);
    assert_ok(hn_rule_complete(&rule, &said));
    assert_int_equal(hn_lib_racers_of_rule(&rule, &problem, 2, configurations), 2);
    assert_int_equal(configurations[0], 1);
    assert_int_equal(configurations[1], 0);
    /* A leaf that compares one leaves room for what the rule says beside. */
    for (size_t n = 0; n < rule.node_count; n++)
        if (rule.nodes[n].feature < 0)
            *HN_NEXT(rule.nodes[n].among, rule.nodes[n].among_count) = rule.nodes[n].configuration;
    assert_int_equal(hn_lib_racers_of_rule(&rule, &problem, 2, configurations), 2);
    assert_int_equal(configurations[0], 0);
    assert_int_equal(configurations[1], 1);
}

/* --- each call of the driver fails in turn; HONE_DOUBLE_STRICT sees to what is left behind */

/* As far as calls let. *good: how many launches could be looked at. */
static bool launch_some(struct hone_cache *cache, CUdeviceptr x, CUdeviceptr y, int *good)
{
    float host[N];
    struct hone_kernel *kernel = NULL;
    const struct hone_value problem[] = {hone_integer("n", N)};
    bool right = true;
    if (hone_get(cache, "scale", problem, 1, &racing, &kernel, NULL) != HONE_OK)
        return true;
    for (int i = 0; i < 20; i++)
        if (cuMemsetD8Async(y, 0xff, sizeof host, NULL) == CUDA_SUCCESS &&
            launch(kernel, x, y) == HONE_OK && cuMemcpyDtoH(host, y, sizeof host) == CUDA_SUCCESS) {
            right = right && host[0] == 2.5f * 3 && host[N - 1] == 2.5f * 3;
            ++*good;
        }
    return right;
}

TEST(whatever_fails_nothing_is_wrong)
{
    enum { CALLS = 170 }; /* fewer than there are before the cache is closed */
    int good = 0;
    float host[N];
    for (int i = 0; i < N; i++)
        host[i] = 3;
    tear_down(state);
    for (int call = 1; call < CALLS; call++) {
        CUdeviceptr x, y;
        char number[16];
        snprintf(number, sizeof number, "%d", call);
        setenv("HONE_DOUBLE_FAIL", number, 1);
        bool started = start_program(host, sizeof host, &x, &y);
        struct hone_cache *cache = open_cache();
        bool right = !started || launch_some(cache, x, y, &good);
        drop(cache);
        end_program(x, y);
        if (!right)
            fail_msg("a launch is wrong where call %d of the driver fails", call);
    }
    unsetenv("HONE_DOUBLE_FAIL");
    assert_in_range(good, 10 * CALLS, 20 * CALLS);
}
