/* SPDX-License-Identifier: MIT */
#include "tuner/config/config.h"

#include "bindings_fixture.h"
#include "config_fixture.h"

static int set_up(void **state)
{
    return chdir(HONE_TEST_DATA "/config/good");
}

ALL_TESTS(set_up, NULL)

static void assert_text(const struct hn_bindings *bindings, const char *expected)
{
    char *text FREED = hn_bindings_text(bindings);
    assert_string_equal(text, expected);
}

static void assert_has(const struct hn_family *family, const char *text, bool expected)
{
    if (hn_family_has(family, parsed(text), NULL) != expected)
        fail_msg("%s: expected to be %s", text, expected ? "of the family" : "of none");
}

TEST(all_keys_are_read)
{
    struct hn_config *config = load("family.yaml");
    const struct hn_family *family = config->family;
    assert_int_equal(family->value_count, 5);
    assert_string_equal(family->values[0].name, "M");
    assert_int_equal(family->values[0].high, 16384);
    assert_true(family->values[0].log);
    assert_int_equal(family->values[2].low, 0);
    assert_int_equal(family->values[2].high, 100);
    assert_false(family->values[2].log);
    assert_int_equal(family->values[3].count, 2);
    assert_int_equal(family->size_count, 2);
    assert_text(&family->sizes[0], "K=0,LAYOUT=row,M=16,N=4096,SKEW=0.0");
    assert_true(family->weights[0] == 4);
    assert_true(family->weights[1] == 1);
    assert_true(family->worst);
    assert_int_equal(family->configurations, 8);
    assert_int_equal(family->bytes, 4 << 20);
    assert_true(family->loss == 0.05);
    assert_int_equal(config->problem_count, 1);
    assert_true(hn_bindings_equal(&config->problems[0], &family->sizes[0]));
    assert_int_equal(config->plan->word_lists[0].count, 2);
}

TEST(what_is_left_out_has_a_default)
{
    struct hn_config *config = load("family_file.yaml");
    const struct hn_family *family = config->family;
    assert_false(family->worst);
    assert_int_equal(family->configurations, HN_FAMILY_CONFIGURATIONS);
    assert_int_equal(family->bytes, 0);
    assert_true(family->loss == HN_FAMILY_LOSS);
    assert_int_equal(family->values[0].multiple_of, 1);
    assert_int_equal(config->problem_count, 2);
    assert_text(&config->problems[1], "M=128,N=64");
    drop(config);
    config = load("problem_list.yaml");
    assert_null(config->family);
}

TEST(sizes_stand_in_files)
{
    struct hn_config *config = load("family_file.yaml");
    assert_int_equal(config->family->size_count, 2);
    assert_text(&config->family->sizes[0], "M=16,N=1024");
    assert_text(&config->family->sizes[1], "M=17,N=64");
    assert_true(config->family->weights[0] == 3.5);
    drop(config);
    config = load("family_table.yaml");
    assert_int_equal(config->family->size_count, 2);
    assert_text(&config->family->sizes[0], "M=16,N=64");
    assert_true(config->family->weights[0] == 3);
    assert_text(&config->family->sizes[1], "M=1,N=1024");
}

TEST(the_middle_stands_for_the_family)
{
    struct hn_config *config = load("family_middle.yaml");
    struct hn_bindings middle ENDED_BY(hn_bindings_finish);
    /* M=128, N=50 and K=1024 are too many: M and N move together towards their lower ends. */
    assert_text(&config->problems[0], "K=1024,M=28,N=34");
    size_t conditions = config->family->where_count;
    config->family->where_count = 0;
    assert_ok(hn_family_middle(config->family, &middle, &said));
    assert_text(&middle, "K=1024,M=128,N=50");
    config->family->where_count = conditions;
}

TEST(what_a_family_has)
{
    struct hn_config *config = load("family.yaml");
    const struct hn_family *family = config->family;
    assert_has(family, "K=10,LAYOUT=row,M=1,N=8,SKEW=0.0", true);
    assert_has(family, "K=10,LAYOUT=row,M=1,N=8,SKEW=0", true);
    assert_has(family, "K=10,LAYOUT=row,M=1,N=8,SKEW=0.0,sm_count=132", true);
    assert_has(family, "K=10,LAYOUT=column,M=1,N=8,SKEW=0.0", false);
    assert_has(family, "K=10,LAYOUT=row,M=16384,N=16384,SKEW=0.0", false);
    assert_has(family, "K=10,LAYOUT=diagonal,M=1,N=8,SKEW=0.0", false);
    assert_has(family, "K=10,LAYOUT=row,M=1,N=9,SKEW=0.0", false);
    assert_has(family, "K=110,LAYOUT=row,M=1,N=8,SKEW=0.0", false);
    assert_has(family, "K=10,LAYOUT=row,M=1.5,N=8,SKEW=0.0", false);
    assert_has(family, "K=10,LAYOUT=row,M=1,N=8", false);
}

static struct hn_bindings draw(const struct hn_config *config, uint64_t seed, uint64_t *at)
{
    const struct hn_bindings none = {0};
    hn_error_init(&said);
    struct hn_bindings problem = hn_family_draw(config->family, &none, seed, at, &said);
    assert_ok(said.status);
    return problem;
}

TEST(draws_are_of_the_family_and_repeatable)
{
    struct hn_config *config = load("family.yaml");
    uint64_t at = 0, again_at = 0, other_at = 0;
    int alike = 0;
    for (int i = 0; i < 500; i++) {
        struct hn_bindings problem ENDED_BY(hn_bindings_finish) = draw(config, 7, &at);
        struct hn_bindings again ENDED_BY(hn_bindings_finish) = draw(config, 7, &again_at);
        struct hn_bindings other ENDED_BY(hn_bindings_finish) = draw(config, 8, &other_at);
        assert_true(hn_family_has(config->family, &problem, NULL));
        assert_true(hn_bindings_equal(&problem, &again));
        alike += hn_bindings_equal(&problem, &other);
    }
    assert_int_equal(at, again_at);
    assert_true(at > 500); /* `where` turned some away */
    assert_true(alike < 50);
}

/* Sets the bit of each octave of M and N that 200 draws hit, and of each word. */
TEST(draws_reach_everywhere)
{
    struct hn_config *config = load("family.yaml");
    size_t conditions = config->family->where_count;
    config->family->where_count = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        uint64_t at = 0, m = 0, n = 0, layouts = 0, k = 0;
        for (int i = 0; i < 200; i++) {
            struct hn_bindings problem ENDED_BY(hn_bindings_finish) = draw(config, seed, &at);
            m |= 1ull << (63 - __builtin_clzll((uint64_t)hn_bindings_get(&problem, "M")->integer));
            n |= 1ull << (63 - __builtin_clzll((uint64_t)hn_bindings_get(&problem, "N")->integer));
            k |= 1ull << hn_bindings_get(&problem, "K")->integer / 10;
            layouts |= strcmp(hn_bindings_get(&problem, "LAYOUT")->word, "row") == 0 ? 1 : 2;
        }
        assert_int_equal(m & 0x3fff, 0x3fff); /* 1 to 8192; 16384 is one value of its octave */
        assert_int_equal(n & 0x3ff8, 0x3ff8);
        assert_int_equal(k, 0x7ff); /* 0, 10, ... 100 */
        assert_int_equal(layouts, 3);
    }
    config->family->where_count = conditions;
}
