/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "tuner/space/space.h"

#include "base/expression/expression.h"
#include "tests/unit/space_fixture.h"

/* Adds "NAME: v v v". */
static void add(struct hn_space *space, const char *name, const char *values)
{
    struct hn_value list[64];
    size_t count = 0;
    char copy[512];
    snprintf(copy, sizeof copy, "%s", values);
    char *save = NULL;
    for (char *word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save))
        assert_ok(hn_value_parse(word, &list[count++], NULL));
    hn_space_add_parameter(space, name, list, count);
}

static struct hn_space *small_space(void)
{
    struct hn_space *space = hn_space_create();
    add(space, "LOAD", "plain ldg");
    add(space, "TILE", "16 32");
    add(space, "ONE", "7");
    add(space, "PAD", "0 1 4");
    return keep(space, hn_space_destroy);
}

static char *point_text(const struct hn_space *space, uint64_t index)
{
    uint16_t choice[32];
    hn_space_point(space, index, choice);
    struct hn_bindings point ENDED_BY(hn_bindings_finish);
    hn_space_bindings(space, choice, &point);
    struct hn_text text = {0};
    hn_bindings_append(&text, &point);
    return hn_text_take(&text);
}

TEST(points_have_estimates)
{
    struct hn_space *space = small_space();
    struct hn_value n = hn_integer(64);
    struct hn_expression *good, *bad;
    assert_ok(hn_expression_parse("(N / TILE - 2) * (3 if LOAD == ldg else 1)", &good, NULL));
    assert_ok(hn_expression_parse("TIEL", &bad, NULL));
    hn_space_add_constant(space, "N", &n);
    assert_false(hn_space_has_estimate(space));
    assert_error(hn_space_set_estimate(space, bad, &said), HN_ECONFIG,
                 "unknown name 'TIEL'; nearest is 'TILE'");
    assert_ok(hn_space_set_estimate(space, good, NULL));
    hn_expression_destroy(good);
    hn_expression_destroy(bad);
    assert_true(hn_space_has_estimate(space));
    const uint16_t small[] = {1, 0, 0, 2};
    const uint16_t large[] = {0, 1, 0, 0};
    assert_float_equal(hn_space_estimate(space, small), log(6), 1e-12);
    assert_true(isnan(hn_space_estimate(space, large))); /* not above 0 */
}

TEST(points_come_in_declared_order)
{
    struct hn_space *space = small_space();
    struct hn_value n = hn_integer(32);
    hn_space_add_constant(space, "N", &n);
    constrain(space, "PAD == 0 or LOAD == ldg");
    constrain(space, "TILE + PAD <= N");
    assert_ok(hn_space_build(space, &said));
    static const char *const expected[] = {
        "LOAD=plain,ONE=7,PAD=0,TILE=16", "LOAD=plain,ONE=7,PAD=0,TILE=32",
        "LOAD=ldg,ONE=7,PAD=0,TILE=16",   "LOAD=ldg,ONE=7,PAD=1,TILE=16",
        "LOAD=ldg,ONE=7,PAD=4,TILE=16",   "LOAD=ldg,ONE=7,PAD=0,TILE=32",
    };
    assert_int_equal(hn_space_size(space), 6);
    assert_true(hn_space_cartesian(space) == 12);
    for (uint64_t i = 0; i < 6; i++) {
        char *text FREED = point_text(space, i);
        assert_string_equal(text, expected[i]);
    }
    assert_int_equal(hn_space_parameter_count(space), 4);
    assert_string_equal(hn_space_parameter(space, 3)->name, "PAD");
    assert_int_equal(hn_space_parameter(space, 3)->count, 3);
    assert_int_equal(hn_space_parameter(space, 3)->values[2].integer, 4);
    hn_space_destroy(NULL);
}

TEST(finds_its_points_and_no_others)
{
    struct hn_space *space = small_space();
    constrain(space, "PAD == 0 or LOAD == ldg");
    assert_ok(hn_space_build(space, &said));
    size_t found = 0;
    for (uint16_t i = 0; i < 3 * 3 * 2 * 4; i++) {
        /* one index beyond each list too */
        uint16_t choice[] = {i % 3, (uint16_t)(i / 3 % 3), (uint16_t)(i / 9 % 2),
                             (uint16_t)(i / 18)};
        uint64_t index = number_of_point(space, choice);
        bool valid = choice[0] < 2 && choice[1] < 2 && choice[2] == 0 && choice[3] < 3 &&
                     (choice[3] == 0 || choice[0] == 1);
        assert_int_equal(index != UINT64_MAX, valid);
        if (!valid)
            continue;
        uint16_t back[4];
        hn_space_point(space, index, back);
        assert_memory_equal(back, choice, sizeof choice);
        found++;
    }
    assert_int_equal(found, hn_space_size(space));
}

TEST(long_lists_take_two_bytes)
{
    struct hn_space *space = hn_space_create();
    struct hn_value values[1000];
    for (int i = 0; i < 1000; i++)
        values[i] = hn_integer(1000 - i);
    hn_space_add_parameter(space, "A", values, 1000);
    add(space, "B", "2 3");
    constrain(space, "A % B == 0");
    build(space);
    assert_int_equal(hn_space_size(space), 500 + 333);
    uint64_t last = 0;
    for (uint64_t i = 0; i < hn_space_size(space); i++) {
        uint16_t choice[2];
        hn_space_point(space, i, choice);
        assert_int_equal(number_of_point(space, choice), i);
        uint64_t key = (uint64_t)choice[0] * 2 + choice[1];
        assert_true(i == 0 || key > last);
        last = key;
    }
}

TEST(single_values_make_one_point)
{
    struct hn_space *space = hn_space_create();
    add(space, "A", "1");
    add(space, "B", "word");
    build(space);
    assert_int_equal(hn_space_size(space), 1);
    uint16_t choice[2] = {9, 9};
    hn_space_point(space, 0, choice);
    assert_int_equal(choice[0] + choice[1], 0);
    assert_int_equal(number_of_point(space, choice), 0);
}

TEST(parameters_have_many_values_of_any_kind)
{
    struct hn_space *space = hn_space_create();
    const struct hn_value kinds[] = {hn_integer(1), hn_real(1), hn_boolean(true)};
    hn_space_add_parameter(space, "A", kinds, 3);

    struct hn_value *many = keep(calloc(65535, sizeof *many), free);
    for (int i = 0; i < 65535; i++)
        many[i] = hn_integer(i);
    hn_space_add_parameter(space, "B", many, 65535);
    build(space);
    assert_int_equal(hn_space_size(space), 3 * 65535);
}

TEST(wrong_constraints_say_where)
{
    struct hn_space *space = small_space();
    constrain_at(space, "TILES > 1", "a.yaml:3:5");
    assert_error(hn_space_build(space, &said), HN_ECONFIG,
                 "a.yaml:3:5: constraint 'TILES > 1': unknown name 'TILES'; nearest is 'TILE'");
    assert_int_equal(hn_space_size(space), 0);
}

TEST(empty_space_names_the_worst_constraint)
{
    struct hn_space *space = small_space();
    constrain(space, "PAD < 4");
    constrain_at(space, "TILE + PAD > 99", "a.yaml:3:5");
    assert_error(hn_space_build(space, &said), HN_ENOTFOUND,
                 "a.yaml:3:5: no point is valid: the constraint 'TILE + PAD > "
                 "99' rejects most, 8 of 12 combinations");
    drop(space);

    space = small_space();
    constrain(space, "1 > 2");
    assert_error(hn_space_build(space, &said), HN_ENOTFOUND,
                 "no point is valid: the constraint '1 > 2' rejects most, 12 "
                 "of 12 combinations");
}

TEST(error_counts_only_where_earlier_ones_hold)
{
    struct hn_space *guarded = small_space();
    constrain(guarded, "PAD > 0");
    constrain(guarded, "TILE % PAD == 0");
    assert_ok(hn_space_build(guarded, &said));
    assert_int_equal(hn_space_size(guarded), 8);

    struct hn_space *late = small_space();
    constrain_at(late, "TILE % PAD == 0", "a.yaml:9:5");
    constrain(late, "PAD > 0");
    assert_error(hn_space_build(late, &said), HN_ECONFIG,
                 "a.yaml:9:5: constraint 'TILE % PAD == 0', column 6: 16 % 0: division by "
                 "zero, at the point LOAD=plain,ONE=7,PAD=0,TILE=16; a constraint written "
                 "before it can exclude such points");
    assert_int_equal(hn_space_size(late), 0);

    /* a guard over several parameters, and one that does not reach */
    struct hn_space *several = small_space();
    constrain(several, "TILE + PAD > 16 and (PAD > 0 or LOAD == plain)");
    constrain(several, "ONE % (TILE + PAD - 16) >= 0");
    assert_ok(hn_space_build(several, &said));
    assert_int_equal(hn_space_size(several), 9);
    several = small_space();
    constrain(several, "TILE + PAD > 16 or LOAD == ldg");
    constrain(several, "ONE % (TILE + PAD - 16) >= 0");
    assert_mentions(hn_space_build(several, &said), HN_ECONFIG,
                    "at the point LOAD=ldg,ONE=7,PAD=0,TILE=16");

    /* the guard is bound after the failing constraint */
    struct hn_space *deep = small_space();
    constrain(deep, "PAD > 0 and TILE * ONE > 0 and (LOAD == ldg or PAD == 1)");
    constrain(deep, "ONE // PAD >= 0");
    assert_ok(hn_space_build(deep, &said));
    assert_int_equal(hn_space_size(deep), 6);
}

TEST(choice_is_checked)
{
    struct hn_space *space = small_space();
    constrain(space, "PAD == 0");
    assert_ok(hn_space_build(space, &said));
    static const struct {
        const char *point;
        const char *message; /* NULL: is one */
    } cases[] = {
        {"LOAD=ldg,TILE=32,ONE=7,PAD=4", NULL}, /* not valid, but a choice */
        {"LOAD=ldg,TILE=32,ONE=7", "parameter 'PAD' is missing"},
        {"LOAD=ldg,TILE=32,ONE=7,PAT=0", "unknown parameter 'PAT'; nearest is 'PAD'"},
        {"LOAD=ldg,TILE=32,ONE=7,PAD=0,WARPS=1",
         "unknown parameter 'WARPS'; there are LOAD, TILE, ONE, PAD"},
        {"LOAD=ldg,TILE=32,ONE=7,PAD=2", "'PAD' has no value 2; it has 0, 1, 4"},
        {"LOAD=ldg,TILE=32.0,ONE=7,PAD=0", "'TILE' has no value 32.0; it has 16, 32"},
        {"LOAD=async,TILE=32,ONE=7,PAD=0", "'LOAD' has no value async; it has plain, ldg"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hn_bindings point ENDED_BY(hn_bindings_finish);
        uint16_t choice[4];
        assert_ok(hn_bindings_parse(cases[i].point, &point, NULL));
        enum hn_status status = hn_space_choice(space, &point, choice, &said);
        assert_int_equal(status, cases[i].message == NULL ? HN_OK : HN_ECONFIG);
        if (cases[i].message != NULL)
            assert_string_equal(said.message, cases[i].message);
        else
            assert_int_equal(choice[3], 2);
    }
}
