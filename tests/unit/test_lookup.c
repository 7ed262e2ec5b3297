/* SPDX-License-Identifier: MIT */
#include "cache/store/lookup.c"

#include "tests/unit/bindings_fixture.h"

static const struct hn_device_identity h200 = {"NVIDIA H200", 90, 132, ""};
static const struct hn_device_identity h100 = {"NVIDIA H100 PCIe", 90, 114, ""};
static const struct hn_device_identity a100 = {"NVIDIA A100", 80, 108, ""};

struct entry {
    const struct hn_device_identity *device;
    const char *problem;
};

enum { MOST = 8 };
struct fixture {
    struct hn_tuned tuned[MOST];
    size_t count;
};

static struct fixture *make(const struct entry *entries, size_t count)
{
    struct fixture *fixture = keep(calloc(1, sizeof *fixture), free);
    for (size_t i = 0; i < count; i++) {
        fixture->tuned[fixture->count++] =
            (struct hn_tuned){.session_id = (int64_t)i,
                              .identity = {.kernel = (char *)"k",
                                           .signature = (char *)"",
                                           .regime = (char *)"cold",
                                           .objective = (char *)"time",
                                           .problem = *parsed(entries[i].problem),
                                           .device = *entries[i].device}};
    }
    return fixture;
}

/* The same results as a list and as an index. */
struct both {
    struct hn_tuned_list list, of_index;
    struct hn_lookup_index index;
};

static void copy_list(struct hn_tuned_list *list, const struct hn_tuned *tuned, size_t count)
{
    *list = (struct hn_tuned_list){malloc(count * sizeof *tuned), count};
    assert_non_null(list->items);
    memcpy(list->items, tuned, count * sizeof *tuned);
}

static void make_both(struct both *both, const struct hn_tuned *tuned, size_t count)
{
    copy_list(&both->list, tuned, count);
    copy_list(&both->of_index, tuned, count);
    assert_ok(hn_lookup_index_make(&both->index, &both->of_index, &said));
}

static void finish_both(struct both *both)
{
    hn_lookup_index_finish(&both->index);
    free(both->list.items);
    free(both->of_index.items);
}

/* The number of what both find, who agree; -1: nothing. */
static int ask(struct both *both, const struct hn_lookup_query *query, struct hn_lookup_rank *rank)
{
    struct hn_lookup_rank own;
    const struct hn_tuned *one = hn_lookup(&both->list, query, rank);
    const struct hn_tuned *other = hn_lookup_index_find(&both->index, query, &own);
    assert_int_equal(hn_lookup_rank_compare(rank, &own), 0);
    assert_int_equal(one == NULL ? -1 : one->session_id, other == NULL ? -1 : other->session_id);
    return one == NULL ? -1 : (int)one->session_id;
}

/* The result of that number is found, -1 for none, of that grade. */
static void expect(const struct fixture *fixture, struct hn_lookup_query query, const char *problem,
                   int found, enum hn_grade grade)
{
    struct hn_lookup_rank rank;
    struct both both;
    query.problem = parsed(problem);
    make_both(&both, fixture->tuned, fixture->count);
    assert_int_equal(ask(&both, &query, &rank), found);
    assert_int_equal(rank.grade, grade);
    finish_both(&both);
}

static const struct hn_lookup_query on_h200 = {
    .device_name = "NVIDIA H200", .capability = 90, .sm_count = 132};

TEST(grades)
{
    static const struct entry entries[] = {
        {&h200, "K=32,M=64"}, {&h200, "K=32,M=4096"}, {&h100, "K=32,M=1000"}, {&a100, "K=32,M=7"}};
    struct fixture *fixture = make(entries, 4);
    expect(fixture, on_h200, "K=32,M=64", 0, HN_GRADE_EXACT);
    expect(fixture, on_h200, "K=32,M=1000", 1, HN_GRADE_PROBLEM);
    struct hn_lookup_query query = {.device_name = "NVIDIA GH200", .capability = 90};
    expect(fixture, query, "K=32,M=1000", 2, HN_GRADE_ARCHITECTURE);
    query.capability = 100;
    expect(fixture, query, "K=32,M=8", 3, HN_GRADE_ANY);
    expect(fixture, on_h200, "K=32,N=64", -1, HN_GRADE_NONE);
}

TEST(what_is_not_known_counts_as_equal)
{
    static const struct entry entries[] = {{&a100, "M=64"}, {&h200, "M=64"}};
    struct fixture *fixture = make(entries, 2);
    const struct hn_lookup_query query = {.capability = 90};
    expect(fixture, query, "M=64", 1, HN_GRADE_EXACT);
}

TEST(distance_is_in_log_space)
{
    static const struct entry entries[] = {{&h200, "M=1024,N=1024"}, {&h200, "M=4096,N=4096"}};
    struct fixture *fixture = make(entries, 2);
    expect(fixture, on_h200, "M=1900,N=2000", 0, HN_GRADE_PROBLEM);
    expect(fixture, on_h200, "M=2200,N=2100", 1, HN_GRADE_PROBLEM);
    expect(fixture, on_h200, "M=512,N=16384", 1, HN_GRADE_PROBLEM);
    assert_true(lookup_ratio(3, 7) > 1.999 && lookup_ratio(7, 3) < 2.001);
    assert_true(lookup_ratio(-3, 3) > 15.9 && lookup_ratio(0, 0) < 1.1);
}

TEST(words_before_numbers)
{
    static const struct entry entries[] = {{&h200, "LAYOUT=row,M=4096"},
                                           {&h200, "LAYOUT=column,M=16"}};
    struct fixture *fixture = make(entries, 2);
    expect(fixture, on_h200, "LAYOUT=column,M=4096", 1, HN_GRADE_PROBLEM);
    expect(fixture, on_h200, "LAYOUT=diagonal,M=4000", 0, HN_GRADE_PROBLEM);
}

static bool is_not_first(const struct hn_tuned *tuned, void *context)
{
    return tuned->session_id != ((const struct hn_tuned *)context)->session_id;
}

TEST(only_what_can_be_used)
{
    static const struct entry entries[] = {{&h200, "M=64"}, {&h200, "M=4096"}};
    struct fixture *fixture = make(entries, 2);
    struct hn_lookup_query query = on_h200;
    query.usable = is_not_first;
    query.context = &fixture->tuned[0];
    expect(fixture, query, "M=64", 1, HN_GRADE_PROBLEM);
    fixture->tuned[1].best.outcome = HN_OUTCOME_SLOWER;
    expect(fixture, query, "M=64", -1, HN_GRADE_NONE);
}

/* What is equally good is taken by a rule of its own, whatever the order of the list. */
TEST(ties)
{
    static const struct entry entries[] = {
        {&h200, "M=4,N=1"}, {&h200, "M=1,N=4"}, {&h100, "M=1,N=1"}, {&a100, "M=1,N=1"}};
    static const struct entry turned[] = {
        {&a100, "M=1,N=1"}, {&h200, "M=1,N=4"}, {&h200, "M=4,N=1"}, {&h100, "M=1,N=1"}};
    struct fixture *fixture = make(entries, 4);
    expect(fixture, on_h200, "M=2,N=2", 1, HN_GRADE_PROBLEM);
    struct hn_lookup_query other = {.device_name = "other", .capability = 70, .sm_count = 110};
    expect(fixture, other, "M=1,N=1", 3, HN_GRADE_ANY);
    other.sm_count = 112;
    expect(fixture, other, "M=1,N=1", 2, HN_GRADE_ANY);
    fixture = make(turned, 4);
    expect(fixture, on_h200, "M=2,N=2", 1, HN_GRADE_PROBLEM);
}

TEST(preferences_within_a_task)
{
    static const struct entry entries[] = {
        {&h200, "M=1"}, {&h200, "M=1"}, {&h200, "M=1"}, {&h200, "M=1"}};
    struct fixture *fixture = make(entries, 4);
    fixture->tuned[0].simulated = true;
    fixture->tuned[1].identity.regime = (char *)"warm";
    fixture->tuned[2].best.time = 5;
    fixture->tuned[3].best.time = 7;
    expect(fixture, on_h200, "M=1", 3, HN_GRADE_EXACT);
    struct hn_lookup_query query = on_h200;
    query.regime = "warm";
    expect(fixture, query, "M=1", 1, HN_GRADE_EXACT);
    query.objective = "gflops maximize";
    expect(fixture, query, "M=1", -1, HN_GRADE_NONE);
    fixture->count = 2;
    expect(fixture, on_h200, "M=1", 1, HN_GRADE_EXACT);
    fixture->count = 4;
    /* where the preferred one cannot be used, none can */
    query = on_h200;
    query.usable = is_not_first;
    query.context = &fixture->tuned[3];
    expect(fixture, query, "M=1", -1, HN_GRADE_NONE);
    fixture->tuned[3].best.outcome = HN_OUTCOME_SLOWER;
    expect(fixture, query, "M=1", 2, HN_GRADE_EXACT);
}

/* A whole number counts as equal to the same real one, and large integers by all their bits. */
TEST(numbers)
{
    static const struct entry entries[] = {{&h200, "M=2.0"}, {&h200, "M=9007199254740993"}};
    struct fixture *fixture = make(entries, 2);
    expect(fixture, on_h200, "M=2", 0, HN_GRADE_EXACT);
    expect(fixture, on_h200, "M=9007199254740992", 1, HN_GRADE_PROBLEM);
}

/* Random results and questions: what an index finds is what the list gives. */

enum { RESULTS = 300, QUERIES = 10000 };

static uint64_t random_state = 42;

static uint64_t draw(uint64_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % below;
}

static void draw_problem(struct hn_bindings *problem)
{
    static const char *const words[] = {"row", "column"};
    struct hn_value values[] = {
        hn_integer((int64_t)draw(40) * (draw(2) == 0 ? 1 : 64) - 20), hn_integer((int64_t)draw(5)),
        draw(30) == 0 ? hn_integer(3) : hn_word(words[draw(2)]), hn_real((double)draw(3) / 2)};
    static const char *const names[] = {"M", "N", "ORDER", "SKEW"};
    size_t count = draw(20) == 0 ? 3 : 4;
    *problem = (struct hn_bindings){0};
    for (size_t i = 0; i < count; i++)
        assert_ok(hn_bindings_set(problem, names[i], &values[i], NULL));
}

static const struct hn_device_identity *draw_device(void)
{
    static const struct hn_device_identity *const devices[] = {&h200, &h100, &a100};
    return devices[draw(3)];
}

static bool is_even(const struct hn_tuned *tuned, void *context)
{
    return tuned->identity.problem.values[0].integer % 2 == 0;
}

TEST(an_index_answers_as_the_list_does)
{
    static struct hn_tuned tuned[RESULTS];
    struct both both;
    int found_count = 0;
    for (size_t i = 0; i < RESULTS; i++) {
        tuned[i] = (struct hn_tuned){
            .session_id = (int64_t)i,
            .identity = {.regime = (char *)(draw(4) == 0 ? "warm" : "cold"),
                         .objective = (char *)(draw(6) == 0 ? "gflops maximize" : "time"),
                         .device = *draw_device()},
            .best = {.outcome = draw(10) == 0 ? HN_OUTCOME_WRONG_RESULT : HN_OUTCOME_OK,
                     .time = (double)draw(50)},
            .simulated = draw(5) == 0};
        draw_problem(&tuned[i].identity.problem);
    }
    make_both(&both, tuned, RESULTS);
    for (int i = 0; i < QUERIES; i++) {
        const struct hn_device_identity *device = draw_device();
        struct hn_lookup_rank rank;
        struct hn_bindings problem ENDED_BY(hn_bindings_finish);
        draw_problem(&problem);
        const struct hn_lookup_query query = {
            .device_name = draw(5) == 0 ? NULL : device->name,
            .capability = draw(9) == 0 ? 75 : device->capability,
            .sm_count = draw(5) == 0 ? 0 : device->sm_count,
            .problem = &problem,
            .regime = draw(3) == 0 ? "warm" : NULL,
            .objective = draw(3) == 0 ? "time" : NULL,
            .usable = draw(2) == 0 ? is_even : NULL,
        };
        found_count += ask(&both, &query, &rank) >= 0;
    }
    assert_true(found_count > QUERIES / 2);
    finish_both(&both);
    for (size_t i = 0; i < RESULTS; i++)
        hn_bindings_finish(&tuned[i].identity.problem);
}
