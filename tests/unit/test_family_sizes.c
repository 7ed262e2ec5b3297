/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "tuner/family/learn.h"

#include "bindings_fixture.h"
#include "config_fixture.h"

static struct hn_bindings next(const struct hn_config *config, uint64_t seed, uint64_t *at)
{
    struct hn_error err = {0};
    struct hn_bindings none = {0};
    struct hn_bindings problem = hn_family_draw(config->family, &none, seed, at, &err);
    assert_ok(err.status);
    return problem;
}

static int64_t size_of(const struct hn_bindings *problem, const char *name)
{
    return hn_bindings_get(problem, name)->integer;
}

TEST(every_other_size_is_rounded)
{
    enum { SIZES = 400 };
    struct hn_config *config = load(HONE_TEST_DATA "/family/tiles.yaml");
    uint64_t at = 0;
    int odd[2] = {0, 0};
    for (int i = 0; i < SIZES; i++) {
        bool rounds = at % 2 == 1;
        struct hn_bindings problem ENDED_BY(hn_bindings_finish) = next(config, 1, &at);
        assert_true(hn_family_has(config->family, &problem, NULL));
        for (const char *const *name = (const char *const[]){"M", "N", "K", NULL}; *name; name++) {
            int64_t size = size_of(&problem, *name);
            odd[rounds] += size >= 16 && size % 16 != 0;
        }
    }
    assert_int_equal(odd[1], 0);
    assert_in_range(odd[0], SIZES / 2, 3 * SIZES);
}

/* N has to be a multiple of 8, and of K only those of 10 are there: 16 divides few of them. */
TEST(what_rounding_would_take_out_of_the_family_stays)
{
    struct hn_config *config = load(HONE_TEST_DATA "/config/good/family.yaml");
    uint64_t at = 0;
    for (int i = 0; i < 200; i++) {
        struct hn_bindings problem ENDED_BY(hn_bindings_finish) = next(config, 3, &at);
        assert_true(hn_family_has(config->family, &problem, NULL));
    }
}

/* Of numbers that are drawn few large ones are powers of two. */
TEST(what_only_round_numbers_meet_is_met_at_all_sizes)
{
    struct hn_config *config = load(HONE_TEST_DATA "/family/powers.yaml");
    uint64_t at = 0;
    int64_t powers = 0;
    int odd = 0;
    for (int i = 0; i < 300; i++) {
        struct hn_bindings problem ENDED_BY(hn_bindings_finish) = next(config, 1, &at);
        assert_true(hn_family_has(config->family, &problem, NULL));
        powers |= size_of(&problem, "N");
        odd += size_of(&problem, "BATCH") % 2 != 0;
    }
    assert_int_equal(powers & 0xffffff, 0xffffff);
    assert_true(odd > 100);
}

/* -1 and 1 have no logarithms that tell them apart. */
TEST(lists_that_may_be_choices_are_no_sizes)
{
    struct hn_value sizes[] = {hn_integer(64), hn_integer(1), hn_integer(128)};
    struct hn_value choices[] = {hn_integer(-1), hn_integer(0), hn_integer(1)};
    struct hn_value words[] = {hn_word("row"), hn_word("column"), hn_word("tile")};
    struct hn_family_value value = {.kind = HN_FAMILY_LIST, .values = sizes, .count = 3};
    assert_true(hn_family_is_size(&value));
    value.count = 2;
    assert_false(hn_family_is_size(&value));
    value = (struct hn_family_value){.kind = HN_FAMILY_LIST, .values = choices, .count = 3};
    assert_false(hn_family_is_size(&value));
    value.values = words;
    assert_false(hn_family_is_size(&value));
    value = (struct hn_family_value){.kind = HN_FAMILY_RANGE, .low = -1, .high = 1};
    assert_true(hn_family_is_size(&value));
}

TEST(a_seed_gives_a_sequence)
{
    struct hn_config *config = load(HONE_TEST_DATA "/family/tiles.yaml");
    uint64_t at[3] = {0, 0, 0};
    static const uint64_t seeds[3] = {1, 1, 2};
    int same = 0;
    for (int i = 0; i < 50; i++) {
        struct hn_bindings problems[3];
        for (int k = 0; k < 3; k++)
            problems[k] = next(config, seeds[k], &at[k]);
        assert_true(hn_bindings_equal(&problems[0], &problems[1]));
        same += hn_bindings_equal(&problems[0], &problems[2]);
        for (int k = 0; k < 3; k++)
            hn_bindings_finish(&problems[k]);
    }
    assert_in_range(same, 0, 5);
}

TEST(a_matrix_has_each_size_and_point_once)
{
    struct hn_matrix *matrix = keep(hn_matrix_create(), hn_matrix_destroy);
    char text[32];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i <= HN_MATRIX_SIZES; i++) {
            snprintf(text, sizeof text, "M=%d", i);
            struct hn_bindings *problem = parsed(text);
            assert_true(hn_matrix_add_size(matrix, problem, false) ==
                        (i < HN_MATRIX_SIZES ? (size_t)i : SIZE_MAX));
            drop(problem);
        }
    for (int i = 0; i <= HN_MATRIX_POINTS; i++) {
        snprintf(text, sizeof text, "TILE=%d", i);
        struct hn_bindings *point = parsed(text);
        assert_true(hn_matrix_add_point(matrix, point) ==
                    (i < HN_MATRIX_POINTS ? (size_t)i : SIZE_MAX));
        drop(point);
    }
    assert_int_equal(matrix->size_count, HN_MATRIX_SIZES);
    assert_int_equal(matrix->point_count, HN_MATRIX_POINTS);
}

TEST(the_best_at_a_size_is_of_any_point_or_its_own_search)
{
    struct hn_matrix *matrix = keep(hn_matrix_create(), hn_matrix_destroy);
    assert_int_equal(hn_matrix_add_size(matrix, parsed("M=1"), false), 0);
    assert_int_equal(hn_matrix_add_point(matrix, parsed("TILE=1")), 0);
    assert_int_equal(hn_matrix_add_point(matrix, parsed("TILE=2")), 1);
    assert_true(isinf(hn_matrix_best(matrix, 0)));
    matrix->times[0][0] = INFINITY;
    assert_true(isinf(hn_matrix_best(matrix, 0)));
    matrix->times[1][0] = 7;
    assert_true(hn_matrix_best(matrix, 0) == 7);
    matrix->sizes[0].tuned_us = 5;
    assert_true(hn_matrix_best(matrix, 0) == 5);
}
