/* SPDX-License-Identifier: MIT */
#include "cache/store/lookup.h"

#include "tests/unit/unit.h"

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

static void add(struct fixture *fixture, const struct hn_device_identity *device,
                const char *problem)
{
    struct hn_tuned *tuned = &fixture->tuned[fixture->count++];
    *tuned = (struct hn_tuned){.identity = {.kernel = (char[]){"k"},
                                            .signature = (char[]){""},
                                            .regime = (char *)"cold",
                                            .objective = (char *)"time",
                                            .device = *device}};
    assert_int_equal(hn_bindings_parse(problem, &tuned->identity.problem, NULL), HN_OK);
}

static void make(struct fixture *fixture, const struct entry *entries, size_t count)
{
    *fixture = (struct fixture){.count = 0};
    for (size_t i = 0; i < count; i++)
        add(fixture, entries[i].device, entries[i].problem);
}

static void finish(struct fixture *fixture)
{
    for (size_t i = 0; i < fixture->count; i++)
        hn_bindings_finish(&fixture->tuned[i].identity.problem);
}

/* The number of the result found, and its grade; -1 for none. */
static int find(const struct fixture *fixture, struct hn_lookup_query query, const char *problem,
                enum hn_grade *grade)
{
    struct hn_bindings asked;
    struct hn_lookup_rank rank;
    assert_int_equal(hn_bindings_parse(problem, &asked, NULL), HN_OK);
    query.problem = &asked;
    const struct hn_tuned *found = hn_lookup(fixture->tuned, fixture->count, &query, &rank);
    hn_bindings_finish(&asked);
    *grade = rank.grade;
    return found == NULL ? -1 : (int)(found - fixture->tuned);
}

static const struct hn_lookup_query on_h200 = {
    .device_name = "NVIDIA H200", .capability = 90, .sm_count = 132};

TEST(grades)
{
    static const struct entry entries[] = {
        {&h200, "K=32,M=64"}, {&h200, "K=32,M=4096"}, {&h100, "K=32,M=1000"}, {&a100, "K=32,M=7"}};
    struct fixture fixture;
    enum hn_grade grade;
    make(&fixture, entries, 4);
    assert_int_equal(find(&fixture, on_h200, "K=32,M=64", &grade), 0);
    assert_int_equal(grade, HN_GRADE_EXACT);
    assert_int_equal(find(&fixture, on_h200, "K=32,M=1000", &grade), 1);
    assert_int_equal(grade, HN_GRADE_PROBLEM);
    struct hn_lookup_query query = {.device_name = "NVIDIA GH200", .capability = 90};
    assert_int_equal(find(&fixture, query, "K=32,M=1000", &grade), 2);
    assert_int_equal(grade, HN_GRADE_ARCHITECTURE);
    query.capability = 100;
    assert_int_equal(find(&fixture, query, "K=32,M=8", &grade), 3);
    assert_int_equal(grade, HN_GRADE_ANY);
    assert_int_equal(find(&fixture, on_h200, "K=32,N=64", &grade), -1);
    assert_int_equal(grade, HN_GRADE_NONE);
    finish(&fixture);
}

TEST(what_is_not_known_counts_as_equal)
{
    static const struct entry entries[] = {{&a100, "M=64"}, {&h200, "M=64"}};
    struct fixture fixture;
    enum hn_grade grade;
    make(&fixture, entries, 2);
    const struct hn_lookup_query query = {.capability = 90};
    assert_int_equal(find(&fixture, query, "M=64", &grade), 1);
    assert_int_equal(grade, HN_GRADE_EXACT);
    finish(&fixture);
}

TEST(distance_is_in_log_space)
{
    static const struct entry entries[] = {{&h200, "M=1024,N=1024"}, {&h200, "M=4096,N=4096"}};
    struct fixture fixture;
    enum hn_grade grade;
    make(&fixture, entries, 2);
    assert_int_equal(find(&fixture, on_h200, "M=1900,N=2000", &grade), 0);
    assert_int_equal(find(&fixture, on_h200, "M=2200,N=2100", &grade), 1);
    assert_int_equal(find(&fixture, on_h200, "M=512,N=16384", &grade), 1);
    assert_true(hn_lookup_ratio(3, 7) > 1.999 && hn_lookup_ratio(7, 3) < 2.001);
    assert_true(hn_lookup_ratio(-3, 3) > 15.9 && hn_lookup_ratio(0, 0) < 1.1);
    finish(&fixture);
}

TEST(words_before_numbers)
{
    static const struct entry entries[] = {{&h200, "LAYOUT=row,M=4096"},
                                           {&h200, "LAYOUT=column,M=16"}};
    struct fixture fixture;
    enum hn_grade grade;
    make(&fixture, entries, 2);
    assert_int_equal(find(&fixture, on_h200, "LAYOUT=column,M=4096", &grade), 1);
    assert_int_equal(grade, HN_GRADE_PROBLEM);
    assert_int_equal(find(&fixture, on_h200, "LAYOUT=diagonal,M=4000", &grade), 0);
    finish(&fixture);
}

TEST(frozen_values_have_to_be_equal)
{
    static const struct entry entries[] = {{&h200, "K=32,M=4096"}, {&a100, "K=4096,M=64"}};
    static const char *const frozen[] = {"K"};
    struct fixture fixture;
    enum hn_grade grade;
    make(&fixture, entries, 2);
    struct hn_lookup_query query = on_h200;
    assert_int_equal(find(&fixture, query, "K=4096,M=4096", &grade), 0);
    query.frozen = frozen;
    query.frozen_count = 1;
    assert_int_equal(find(&fixture, query, "K=4096,M=4096", &grade), 1);
    assert_int_equal(grade, HN_GRADE_ANY);
    assert_int_equal(find(&fixture, query, "K=33,M=4096", &grade), -1);
    finish(&fixture);
}

static bool is_not_first(const struct hn_tuned *tuned, void *context)
{
    return tuned != context;
}

TEST(only_what_can_be_used)
{
    static const struct entry entries[] = {{&h200, "M=64"}, {&h200, "M=4096"}};
    struct fixture fixture;
    enum hn_grade grade;
    make(&fixture, entries, 2);
    struct hn_lookup_query query = on_h200;
    query.usable = is_not_first;
    query.context = &fixture.tuned[0];
    assert_int_equal(find(&fixture, query, "M=64", &grade), 1);
    assert_int_equal(grade, HN_GRADE_PROBLEM);
    fixture.tuned[1].best.outcome = HN_OUTCOME_SLOWER;
    assert_int_equal(find(&fixture, query, "M=64", &grade), -1);
    finish(&fixture);
}

/* What is equally good is taken by a rule of its own, whatever the order of the list. */
TEST(ties)
{
    static const struct entry entries[] = {
        {&h200, "M=4,N=1"}, {&h200, "M=1,N=4"}, {&h100, "M=1,N=1"}, {&a100, "M=1,N=1"}};
    static const struct entry turned[] = {
        {&a100, "M=1,N=1"}, {&h200, "M=1,N=4"}, {&h200, "M=4,N=1"}, {&h100, "M=1,N=1"}};
    struct fixture fixture;
    enum hn_grade grade;
    make(&fixture, entries, 4);
    assert_int_equal(find(&fixture, on_h200, "M=2,N=2", &grade), 1);
    struct hn_lookup_query other = {.device_name = "other", .capability = 70, .sm_count = 110};
    assert_int_equal(find(&fixture, other, "M=1,N=1", &grade), 3);
    other.sm_count = 112;
    assert_int_equal(find(&fixture, other, "M=1,N=1", &grade), 2);
    finish(&fixture);
    make(&fixture, turned, 4);
    assert_int_equal(find(&fixture, on_h200, "M=2,N=2", &grade), 1);
    finish(&fixture);
}

TEST(preferences_within_a_task)
{
    static const struct entry entries[] = {
        {&h200, "M=1"}, {&h200, "M=1"}, {&h200, "M=1"}, {&h200, "M=1"}};
    struct fixture fixture;
    enum hn_grade grade;
    make(&fixture, entries, 4);
    fixture.tuned[0].simulated = true;
    fixture.tuned[1].identity.regime = (char *)"warm";
    fixture.tuned[2].best.time = 5;
    fixture.tuned[3].best.time = 7;
    assert_int_equal(find(&fixture, on_h200, "M=1", &grade), 3);
    struct hn_lookup_query query = on_h200;
    query.regime = "warm";
    assert_int_equal(find(&fixture, query, "M=1", &grade), 1);
    query.objective = "gflops maximize";
    assert_int_equal(find(&fixture, query, "M=1", &grade), -1);
    fixture.count = 2;
    assert_int_equal(find(&fixture, on_h200, "M=1", &grade), 1);
    fixture.count = 4;
    /* where the preferred one can not be used, none can */
    query = on_h200;
    query.usable = is_not_first;
    query.context = &fixture.tuned[3];
    assert_int_equal(find(&fixture, query, "M=1", &grade), -1);
    fixture.tuned[3].best.outcome = HN_OUTCOME_SLOWER;
    assert_int_equal(find(&fixture, query, "M=1", &grade), 2);
    finish(&fixture);
}

/* A whole number counts as equal to the same real one, and large integers by all their bits. */
TEST(numbers)
{
    static const struct entry entries[] = {{&h200, "M=2.0"}, {&h200, "M=9007199254740993"}};
    struct fixture fixture;
    enum hn_grade grade;
    make(&fixture, entries, 2);
    assert_int_equal(find(&fixture, on_h200, "M=2", &grade), 0);
    assert_int_equal(grade, HN_GRADE_EXACT);
    assert_int_equal(find(&fixture, on_h200, "M=9007199254740992", &grade), 1);
    assert_int_equal(grade, HN_GRADE_PROBLEM);
    finish(&fixture);
}
