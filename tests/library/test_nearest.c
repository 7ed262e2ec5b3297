/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/libhone/nearest.h"

enum { RESULTS = 300, QUERIES = 10000 };

static uint64_t state = 42;

static uint64_t draw(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

static void draw_problem(struct hn_bindings *problem)
{
    static const char *const words[] = {"row", "column"};
    struct hn_value values[] = {
        hn_integer((int64_t)draw(40) * (draw(2) == 0 ? 1 : 64) - 20), hn_integer((int64_t)draw(5)),
        draw(30) == 0 ? hn_integer(3) : hn_word(words[draw(2)]), hn_real((double)draw(3) / 2)};
    static const char *const names[] = {"M", "N", "ORDER", "SKEW"};
    size_t count = draw(20) == 0 ? 3 : 4;
    hn_bindings_init(problem);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(hn_bindings_set(problem, names[i], &values[i], NULL), HN_OK);
}

static void draw_device(struct hn_device_identity *device)
{
    static const struct hn_device_identity devices[] = {
        {"NVIDIA H200", 90, 132, ""}, {"NVIDIA H100", 90, 114, ""}, {"NVIDIA A100", 80, 108, ""}};
    *device = devices[draw(3)];
}

static void draw_results(struct hn_tuned_list *list)
{
    list->items = calloc(RESULTS, sizeof *list->items);
    list->count = RESULTS;
    for (size_t i = 0; i < RESULTS; i++) {
        struct hn_tuned *tuned = &list->items[i];
        hn_identity_init(&tuned->identity);
        hn_record_init(&tuned->best);
        tuned->identity.kernel = strdup("k");
        tuned->identity.signature = strdup("");
        tuned->identity.regime = strdup(draw(4) == 0 ? "warm" : "cold");
        tuned->identity.objective = strdup(draw(6) == 0 ? "gflops maximize" : "time");
        draw_device(&tuned->identity.device);
        draw_problem(&tuned->identity.problem);
        tuned->best.outcome = draw(10) == 0 ? HN_OUTCOME_WRONG_RESULT : HN_OUTCOME_OK;
        tuned->best.time = (double)draw(50);
        tuned->simulated = draw(5) == 0;
    }
}

static bool is_even(const struct hn_tuned *tuned, void *context)
{
    (void)context;
    return tuned->identity.problem.values[0].integer % 2 == 0;
}

/* It may leave a question to the rule, but not answer otherwise. */
static void the_fast_way_answers_as_the_rule_does(void **unused)
{
    (void)unused;
    struct hn_tuned_list list;
    size_t answered = 0;
    draw_results(&list);
    struct hn_lib_nearest *nearest = hn_lib_nearest_make(&list);
    assert_non_null(nearest);
    for (int i = 0; i < QUERIES; i++) {
        struct hn_device_identity device;
        struct hn_bindings problem;
        struct hn_lookup_rank expected, found;
        draw_device(&device);
        draw_problem(&problem);
        const struct hn_lookup_query query = {
            .device_name = draw(5) == 0 ? NULL : device.name,
            .capability = draw(9) == 0 ? 75 : device.capability,
            .sm_count = draw(5) == 0 ? 0 : device.sm_count,
            .problem = &problem,
            .regime = draw(3) == 0 ? "warm" : NULL,
            .objective = draw(3) == 0 ? "time" : NULL,
            .usable = draw(2) == 0 ? is_even : NULL,
        };
        const struct hn_tuned *rule = hn_lookup(list.items, list.count, &query, &expected);
        const struct hn_tuned *fast = hn_lib_nearest_find(nearest, &query, &found);
        if (expected.grade != HN_GRADE_EXACT && fast != NULL) {
            assert_ptr_equal(fast, rule);
            assert_int_equal(hn_lookup_rank_compare(&found, &expected), 0);
            answered++;
        }
        hn_bindings_finish(&problem);
    }
    assert_true(answered > QUERIES / 3);
    hn_lib_nearest_destroy(nearest);
    hn_tuned_list_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_fast_way_answers_as_the_rule_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
