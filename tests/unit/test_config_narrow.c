/* SPDX-License-Identifier: MIT */
#include "bindings_fixture.h"
#include "config_fixture.h"

/* Of frozen.yaml in tests/data/family.txt: FROZEN 1 or 0, TILE 8, 16 or 32, WORD 1 or 4. WORD has
 * to divide M, and a TILE of twice M and more is not promising. */

static int set_up(void **state)
{
    return chdir(HONE_TEST_DATA "/family");
}

ALL_TESTS(set_up, NULL)

static void take_problem(struct hn_config *config, const char *text)
{
    assert_ok(hn_config_take_problem(config, parsed(text), &said));
}

static struct hn_space *build(const struct hn_config *config)
{
    struct hn_space *space = NULL;
    assert_ok(hn_config_space(config, 0, false, &space, NULL));
    return keep(space, hn_space_destroy);
}

static uint64_t count_points(const struct hn_config *config)
{
    return hn_space_size(build(config));
}

static bool is_in_space(const struct hn_config *config, const char *text)
{
    uint16_t choice[8];
    struct hn_space *space = build(config);
    return hn_space_has(space, parsed(text), choice);
}

static bool is_allowed(const struct hn_config *config, const char *text)
{
    return hn_plan_allows(config->plan, &config->problems[0], parsed(text), NULL);
}

static void assert_default(const struct hn_config *config, const char *expected)
{
    struct hn_bindings point ENDED_BY(hn_bindings_finish);
    hn_config_default_point(config, build(config), &point);
    char *text FREED = hn_bindings_text(&point);
    assert_string_equal(text, expected);
}

TEST(a_space_has_promising_points_only)
{
    struct hn_config *config = load("frozen.yaml");
    take_problem(config, "M=8,N=64,S=3");
    assert_int_equal(count_points(config), 4);
    assert_true(is_in_space(config, "FROZEN=0,TILE=8,WORD=4"));
    assert_false(is_in_space(config, "FROZEN=0,TILE=16,WORD=4"));
    take_problem(config, "M=1000,N=64,S=3");
    assert_int_equal(count_points(config), 12);
}

/* What is launched for a problem need not have been worth a search there. */
TEST(a_plan_allows_what_is_not_promising)
{
    struct hn_config *config = load("frozen.yaml");
    assert_int_equal(config->constraint_count, 2);
    assert_int_equal(config->plan->constraint_count, 1);
    take_problem(config, "M=6,N=64,S=3");
    assert_true(is_allowed(config, "FROZEN=0,TILE=32,WORD=1"));
    assert_false(is_allowed(config, "FROZEN=0,TILE=8,WORD=4"));
}

TEST(thawed_is_what_serves_any_size)
{
    struct hn_config *config = load("frozen.yaml");
    assert_default(config, "FROZEN=1,TILE=8,WORD=1");
    assert_ok(hn_config_thaw(config, &said));
    take_problem(config, "M=1000,N=64,S=3");
    assert_int_equal(count_points(config), 6);
    assert_false(is_in_space(config, "FROZEN=1,TILE=8,WORD=1"));
    assert_default(config, "FROZEN=0,TILE=16,WORD=1");
    /* The ladder's entry was written for the config's own default point. */
    assert_true(hn_bindings_equal(&config->ladder[0], parsed("FROZEN=0,TILE=8,WORD=1")));
}

/* One of two is no more than a fixed one: a program for each. */
TEST(what_does_not_vary_may_be_frozen)
{
    static const char *const paths[] = {"frozen_fixed.yaml", "frozen_two.yaml"};
    for (size_t i = 0; i < 2; i++) {
        struct hn_config *config = load(paths[i]);
        assert_ok(hn_config_thaw(config, &said));
        take_problem(config, "M=1000,N=64,S=3");
        assert_int_equal(count_points(config), 12);
        assert_default(config, "FROZEN=1,TILE=16,WORD=1");
    }
}

TEST(what_is_always_frozen_can_not_be_thawed)
{
    static const char *const paths[] = {"frozen_always.yaml", "frozen_by_two.yaml"};
    for (size_t i = 0; i < 2; i++) {
        struct hn_config *config = load(paths[i]);
        assert_mentions(hn_config_thaw(config, &said), HN_ECONFIG,
                        "'freeze' makes M a constant of the program");
    }
}

static void keep_all(struct hn_config *config, const char *first, const char *second)
{
    const struct hn_bindings points[] = {*parsed(first), *parsed(second)};
    hn_config_keep_points(config, points, 2);
}

TEST(kept_points_are_all_that_there_is)
{
    struct hn_config *config = load("frozen.yaml");
    keep_all(config, "FROZEN=0,TILE=32,WORD=1", "FROZEN=0,TILE=8,WORD=4");
    take_problem(config, "M=6,N=64,S=3");
    assert_int_equal(count_points(config), 1);
    assert_true(is_in_space(config, "FROZEN=0,TILE=32,WORD=1"));
    take_problem(config, "M=8,N=128,S=3");
    assert_int_equal(count_points(config), 2);
    assert_true(is_in_space(config, "FROZEN=0,TILE=8,WORD=4"));
}

TEST(where_none_of_the_kept_is_valid_is_no_space)
{
    struct hn_config *config = load("frozen.yaml");
    struct hn_space *space = NULL;
    keep_all(config, "FROZEN=0,TILE=16,WORD=4", "FROZEN=0,TILE=8,WORD=4");
    take_problem(config, "M=6,N=64,S=3");
    assert_error(hn_config_space(config, 0, false, &space, &said), HN_ENOTFOUND,
                 "none of the points is valid for the problem");
}
