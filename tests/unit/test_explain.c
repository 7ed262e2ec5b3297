/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"
#include "tuner/explain/effects.c"
#include "tuner/explain/evidence.c"
#include "tuner/report/summary.c"

static void assert_near(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("found %.12g, expected %.12g", found, expected);
}

/* A space with records of a function of its points, and what follows from them. */
struct fixture {
    struct hn_space *space;
    struct hn_records records;
    struct hn_evidence evidence;
    struct hn_effects effects;
};

/* 4 by 4 by 3 points. */
static struct hn_space *make_space(void)
{
    struct hn_space *space = hn_space_create();
    const struct hn_value a[] = {hn_integer(1), hn_integer(2), hn_integer(4), hn_integer(8)};
    const struct hn_value b[] = {hn_integer(0), hn_integer(1), hn_integer(2), hn_integer(3)};
    const struct hn_value c[] = {hn_word("plain"), hn_word("ldg"), hn_word("cs")};
    hn_space_add_parameter(space, "A", a, 4);
    hn_space_add_parameter(space, "B", b, 4);
    hn_space_add_parameter(space, "C", c, 3);
    assert_ok(hn_space_build(space, &said));
    return keep(space, hn_space_destroy);
}

typedef double log_time(const uint16_t *choice);

/* Every stride-th point. */
static void record(struct fixture *fixture, log_time *function, uint64_t stride)
{
    uint64_t size = hn_space_size(fixture->space);
    fixture->records.items = calloc(size, sizeof *fixture->records.items);
    for (uint64_t i = 0; i < size; i += stride) {
        uint16_t choice[3];
        struct hn_record *record = &fixture->records.items[fixture->records.count++];
        *record = (struct hn_record){0};
        hn_space_point(fixture->space, i, choice);
        hn_space_bindings(fixture->space, choice, &record->point);
        record->outcome = HN_OUTCOME_OK;
        record->objective = exp(function(choice));
        record->timing.median_us = record->objective;
    }
}

static void end(struct fixture *fixture)
{
    hn_blocks_finish(&fixture->effects.memory);
    hn_blocks_finish(&fixture->evidence.memory);
    hn_records_free(&fixture->records);
    free(fixture);
}

static struct fixture *begin_fixture(struct hn_space *space, log_time *function, uint64_t stride)
{
    struct fixture *fixture = keep(calloc(1, sizeof *fixture), end);
    fixture->space = space;
    record(fixture, function, stride);
    return fixture;
}

static double additive(const uint16_t *choice)
{
    return 0.4 * choice[0] + 0.2 * choice[1] + (choice[2] == 1 ? 0 : 0.1);
}

static double crossed(const uint16_t *choice)
{
    return additive(choice) + (choice[0] == 3 && choice[1] == 3 ? 1 : 0);
}

static const struct hn_evidence *find_evidence(struct fixture *fixture)
{
    hn_evidence_make(fixture->space, &fixture->records, false, &fixture->evidence);
    return &fixture->evidence;
}

static const struct hn_effect *effect_of(const struct hn_effects *effects, size_t parameter)
{
    size_t p = 0;
    while (effects->mains[p].parameter != parameter)
        p++;
    return &effects->mains[p];
}

static const struct hn_effects *find(struct fixture *fixture)
{
    hn_effects_find(find_evidence(fixture), 1, &fixture->effects);
    return &fixture->effects;
}

/* Variances of the terms: 0.4^2 * 1.25, 0.2^2 * 1.25, 0.1^2 * 2/9. */
TEST(test_exact_shares_of_a_sum)
{
    const struct hn_effects *effects = find(begin_fixture(make_space(), additive, 1));
    double a = 0.16 * 1.25;
    double b = 0.04 * 1.25;
    double c = 0.01 * 2 / 9;
    assert_true(effects->known && effects->exact);
    assert_int_equal(effects->points, 48);
    assert_near(effect_of(effects, 0)->share, a / (a + b + c), 1e-9);
    assert_near(effect_of(effects, 1)->share, b / (a + b + c), 1e-9);
    assert_near(effect_of(effects, 2)->share, c / (a + b + c), 1e-9);
    for (size_t i = 0; i < effects->pair_count; i++)
        assert_near(effects->pairs[i].share, 0, 1e-9);
    assert_int_equal(effects->mains[0].parameter, 0);
    assert_int_equal(effect_of(effects, 0)->alone, 3);
    assert_near(effect_of(effects, 0)->worst_alone, exp(1.2), 1e-9);
}

/* One cell of 16 is 1 higher: its interaction has variance 1/16 - 2 * (1/64 - 1/256) - 1/256. */
TEST(test_exact_share_of_an_interaction)
{
    struct fixture *fixture = begin_fixture(make_space(), crossed, 1);
    const struct hn_effects *effects = find(fixture);
    const struct hn_evidence *evidence = &fixture->evidence;
    double total = 0;
    double mean = 0;
    for (size_t i = 0; i < evidence->count; i++)
        mean += evidence->values[i] / 48;
    for (size_t i = 0; i < evidence->count; i++)
        total += (evidence->values[i] - mean) * (evidence->values[i] - mean) / 48;
    assert_int_equal(effects->pairs[0].parameters[0], 0);
    assert_int_equal(effects->pairs[0].parameters[1], 1);
    assert_near(effects->pairs[0].share,
                (1.0 / 16 - 2 * (1.0 / 64 - 1.0 / 256) - 1.0 / 256) / total, 1e-6);
    assert_near(effects->pairs[1].share, 0, 1e-9);
}

/* Half of the points, by a forest: the order and about the size of the shares. */
TEST(test_forest_stands_in)
{
    const struct hn_effects *effects = find(begin_fixture(make_space(), additive, 2));
    assert_true(effects->known && !effects->exact && !effects->sampled);
    assert_int_equal(effects->points, 48);
    assert_int_equal(effects->unmeasured, 24);
    assert_true(effects->explained > 0.5);
    assert_int_equal(effects->mains[0].parameter, 0);
    assert_int_equal(effects->mains[1].parameter, 1);
    assert_true(effects->mains[0].share > 0.6);
}

/* The slower half is known by a bound only: shares stay near, where taking the bound for the time
 * would make A = 4 and A = 8 alike. */
TEST(test_lower_bounds)
{
    struct fixture *fixture = begin_fixture(make_space(), additive, 1);
    size_t bounded = 0;
    double bound = exp(0.9);
    for (size_t i = 0; i < fixture->records.count; i++) {
        struct hn_record *record = &fixture->records.items[i];
        if (record->objective <= bound)
            continue;
        record->outcome = HN_OUTCOME_SLOWER;
        record->objective = bound;
        bounded++;
    }
    const struct hn_evidence *evidence = find_evidence(fixture);
    assert_int_equal(evidence->bounded, bounded);
    struct forest *forest = keep(forest_grow(evidence, 1), forest_destroy);
    double mean = 0;
    for (size_t i = 0; i < evidence->count; i++) {
        if (!evidence->lower_bounds[i])
            continue;
        assert_true(forest_value(forest, i) >= evidence->values[i]);
        mean += (forest_value(forest, i) - evidence->values[i]) / (double)bounded;
    }
    assert_true(mean > 0.02);
}

/* 32 by 32 by 32 points, all measured: a sample stands for them, in which nothing is unknown. */
TEST(test_sample_of_what_was_measured)
{
    static const char *const names[] = {"A", "B", "C"};
    struct hn_value values[32];
    struct hn_space *space = keep(hn_space_create(), hn_space_destroy);
    for (int v = 0; v < 32; v++)
        values[v] = hn_integer(v);
    for (int p = 0; p < 3; p++)
        hn_space_add_parameter(space, names[p], values, 32);
    assert_ok(hn_space_build(space, &said));
    const struct hn_effects *effects = find(begin_fixture(space, additive, 1));
    assert_true(effects->known && effects->sampled && !effects->exact);
    assert_int_equal(effects->points, 20000);
    assert_int_equal(effects->unmeasured, 0);
    assert_true(effects->explained > 0.99);
}

TEST(test_too_few)
{
    assert_false(find(begin_fixture(make_space(), additive, 6))->known);
}

TEST(test_failures_and_others_points)
{
    struct fixture *fixture = begin_fixture(make_space(), additive, 1);
    struct hn_value odd = hn_integer(3);
    hn_record_fail(&fixture->records.items[0], HN_OUTCOME_COMPILE_ERROR, "no");
    hn_record_fail(&fixture->records.items[1], HN_OUTCOME_SKIPPED, "no");
    assert_ok(hn_bindings_set(&fixture->records.items[2].point, "A", &odd, &said));
    const struct hn_evidence *evidence = find_evidence(fixture);
    assert_int_equal(evidence->count, 45);
    assert_int_equal(evidence->failed, 1);
    assert_int_equal(evidence->foreign, 1);
}

/* Of 10 with 4 marked, 2 drawn: both 6/45, one or more 1 - 15/45. */
TEST(test_chance)
{
    assert_near(common_chance(2, 2, 4, 10), 6.0 / 45, 1e-12);
    assert_near(common_chance(1, 2, 4, 10), 30.0 / 45, 1e-12);
    assert_near(common_chance(0, 2, 4, 10), 1, 1e-12);
}

TEST(test_common)
{
    json_t *common =
        keep(hn_common_find(find_evidence(begin_fixture(make_space(), additive, 1))), json_decref);
    const char *name;
    int best, among_best, among_all, value;
    assert_int_equal(json_unpack(common, "{s:i, s:[{s:s, s:i, s:i, s:i}!]}", "best", &best,
                                 "values", "name", &name, "value", &value, "among_best",
                                 &among_best, "among_all", &among_all),
                     0);
    assert_int_equal(best, 5);
    assert_string_equal(name, "A");
    assert_int_equal(value, 1);
    assert_int_equal(among_best, 5);
    assert_int_equal(among_all, 12);
}

/* Of points that failed, too, and of the same parameter whatever the objective says. */
TEST(test_compile_times)
{
    struct fixture *fixture = begin_fixture(make_space(), additive, 1);
    struct hn_evidence *evidence = &fixture->evidence;
    struct hn_effects *effects = &fixture->effects;
    for (size_t i = 0; i < fixture->records.count; i++) {
        struct hn_record *record = &fixture->records.items[i];
        double b = (double)hn_bindings_get(&record->point, "B")->integer;
        record->outcome = i % 3 == 0 ? HN_OUTCOME_INVALID_LAUNCH : HN_OUTCOME_OK;
        record->costs.compile_ms = i == 5 ? 0 : 100 * exp(b);
    }
    hn_evidence_make(fixture->space, &fixture->records, true, evidence);
    assert_int_equal(evidence->count, fixture->records.count - 1);
    assert_near(exp(evidence->values[evidence->best]), 100, 1e-9);
    hn_effects_find(evidence, 1, effects);
    assert_true(effects->known);
    assert_int_equal(effects->mains[0].parameter, 1);
    assert_true(effects->mains[0].share > 0.9 && effects->mains[1].share < 0.1);
}

static void expect_next(struct hn_value edge, struct hn_value behind, struct hn_value third,
                        double expected)
{
    struct hn_value next;
    bool found = edge_continue(&edge, &behind, &third, &next);
    assert_int_equal(found, !isnan(expected));
    if (found)
        assert_near(hn_value_number(&next), expected, 1e-12);
}

TEST(test_what_would_follow)
{
    expect_next(hn_integer(8), hn_integer(4), hn_integer(2), 16);
    expect_next(hn_integer(6), hn_integer(4), hn_integer(2), 8);
    expect_next(hn_integer(64), hn_integer(128), hn_integer(256), 32);
    expect_next(hn_integer(1), hn_integer(2), hn_integer(4), NAN);
    expect_next(hn_integer(0), hn_integer(1), hn_integer(2), NAN);
    expect_next(hn_integer(3), hn_integer(9), hn_integer(27), 1);
    expect_next(hn_integer(2), hn_integer(6), hn_integer(8), NAN);
    expect_next(hn_real(0.5), hn_real(0.25), hn_real(0.125), 1);
}
