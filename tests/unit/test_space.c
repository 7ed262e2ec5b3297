/* SPDX-License-Identifier: MIT */
#include "tuner/space/space.h"

#include "base/expression/expression.h"
#include "tests/unit/space_fixture.h"
#include "tuner/config/yaml.h"

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
    assert_ok(hn_space_build(space, NULL));
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
    assert_ok(hn_space_build(space, NULL));
    size_t found = 0;
    for (uint16_t i = 0; i < 3 * 3 * 2 * 4; i++) {
        /* one index beyond each list too */
        uint16_t choice[] = {i % 3, (uint16_t)(i / 3 % 3), (uint16_t)(i / 9 % 2),
                             (uint16_t)(i / 18)};
        uint64_t index = hn_space_find(space, choice);
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
        assert_int_equal(hn_space_find(space, choice), i);
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
    assert_int_equal(hn_space_find(space, choice), 0);
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
    assert_ok(hn_space_build(space, NULL));
    static const struct {
        const char *point;
        const char *message; /* NULL: is one */
    } cases[] = {
        {"LOAD=ldg,TILE=32,ONE=7,PAD=4", NULL}, /* not valid, but a choice */
        {"LOAD=ldg,TILE=32,ONE=7", "parameter 'PAD' is missing"},
        {"LOAD=ldg,TILE=32,ONE=7,PAT=0", "unknown parameter 'PAT'; nearest is 'PAD'"},
        {"LOAD=ldg,TILE=32,ONE=7,PAD=0,WARPS=1", "unknown parameter 'WARPS'"},
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

/* Random small spaces against brute force: every combination, every constraint as written. */
static const char *const pool[] = {
    "A <= B",
    "A % B == 0",
    "C // A < 3",
    "B > 0",
    "A > 0",
    "A != 0 and C % A == 0",
    "A + B + C < 12",
    "D == x or C > 1",
    "D != y or A * B < 20",
    "E / C >= 0.5",
    "C != 0",
    "E in [1, 2, 4, 8]",
    "not (D == z and E == 1)",
    "(A + C) // (B - 2) >= 0",
    "B != 2",
    "E << A < 100",
    "A >= 0",
    "1 // B if E == 8 else True",
    "N % (A + 1) == 0",
    "A > B + 2 and B > 0",
    "C == 0 and E > 2",
    "D + 1 > 0 if A == 7 else D in ['x', 'y']",
};
enum { POOL = sizeof pool / sizeof pool[0], PARAMETERS = 5 };
static const char *const lists[PARAMETERS] = {"-1 0 1 2 3", "0 1 2 5", "0 1 2 3 7", "x y z",
                                              "1 2 8"};
static const char *const names[PARAMETERS + 1] = {"A", "B", "C", "D", "E", "N"};

static unsigned next_random(unsigned *random)
{
    *random = *random * 1103515245u + 12345u;
    return *random >> 16;
}

/* 1 valid, 0 not, -1 when an error counts */
static int brute_force(struct hn_expression *const *constraints, size_t count,
                       const struct hn_value *values)
{
    for (size_t i = 0; i < count; i++) {
        struct hn_value result;
        if (hn_expression_evaluate(constraints[i], values, &result, NULL) != HN_OK)
            return -1;
        if (!hn_value_truth(&result))
            return 0;
    }
    return 1;
}

/* The number of valid points, each of which must be found; -1 when an error counts. */
static int64_t count_valid(const struct hn_space *space, struct hn_expression *const *constraints,
                           size_t count)
{
    int64_t valid = 0;
    for (unsigned i = 0; i < 5 * 4 * 5 * 3 * 3; i++) {
        const unsigned indices[] = {i % 5, i / 5 % 4, i / 20 % 5, i / 100 % 3, i / 300};
        struct hn_value values[PARAMETERS + 1];
        uint16_t choice[PARAMETERS];
        for (size_t j = 0; j < PARAMETERS; j++) {
            choice[j] = (uint16_t)indices[j];
            values[j] = hn_space_parameter(space, j)->values[indices[j]];
        }
        values[PARAMETERS] = hn_integer(12);
        int outcome = brute_force(constraints, count, values);
        if (outcome < 0)
            return -1;
        if (hn_space_size(space) > 0)
            assert_int_equal(hn_space_find(space, choice) != UINT64_MAX, outcome);
        valid += outcome;
    }
    return valid;
}

TEST(agrees_with_brute_force)
{
    static const char *const words[] = {"x", "y", "z"};
    const struct hn_scope scope = {names, PARAMETERS + 1, words, 3};
    unsigned random = 2026;
    size_t seen[3] = {0};
    for (int round = 0; round < 1500; round++) {
        struct hn_space *space = hn_space_create();
        for (size_t i = 0; i < PARAMETERS; i++)
            add(space, names[i], lists[i]);
        struct hn_value n = hn_integer(12);
        hn_space_add_constant(space, "N", &n);
        struct hn_expression *constraints[6];
        size_t count = next_random(&random) % 7;
        for (size_t i = 0; i < count; i++) {
            const char *text = pool[next_random(&random) % POOL];
            constrain(space, text);
            assert_ok(hn_expression_parse(text, &constraints[i], NULL));
            assert_ok(hn_expression_bind(constraints[i], &scope, NULL));
        }
        enum hn_status status = hn_space_build(space, NULL);
        int64_t valid = count_valid(space, constraints, count);
        assert_int_equal(status, valid < 0 ? HN_ECONFIG : valid == 0 ? HN_ENOTFOUND : HN_OK);
        assert_int_equal(hn_space_size(space), valid < 0 ? 0 : valid);
        seen[valid < 0 ? 0 : valid == 0 ? 1 : 2]++;
        for (size_t i = 0; i < count; i++)
            hn_expression_destroy(constraints[i]);
        hn_space_destroy(space);
    }
    assert_true(seen[0] > 50 && seen[1] > 50 && seen[2] > 50);
}

static struct hn_space *load_space(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/spaces/%s", HONE_TEST_DATA, name);
    struct hn_yaml *root;
    assert_ok(hn_yaml_load(path, &root, &said));
    struct hn_space *space = hn_space_create();
    const struct hn_yaml *parameters = hn_yaml_get(root, "parameters");
    for (const struct hn_yaml *node = parameters->child; node != NULL; node = node->next) {
        struct hn_text text ENDED_BY(hn_text_finish) = {0};
        for (const struct hn_yaml *value = node->child; value != NULL; value = value->next)
            hn_text_printf(&text, "%s ", value->text);
        add(space, node->key->text, text.data);
    }
    const struct hn_yaml *constraints = hn_yaml_get(root, "constraints");
    for (const struct hn_yaml *node = constraints->child; node != NULL; node = node->next)
        constrain(space, node->text);
    hn_yaml_destroy(root);
    return space;
}

TEST(published_spaces_have_their_counts)
{
    static const struct {
        const char *name;
        double combinations;
        uint64_t points;
    } spaces[] = {
        {"dedispersion.yaml", 22272, 11130},
        {"gemm.yaml", 663552, 116928},
        {"hotspot.yaml", 22200000, 349853},
        {"atf_prl_4x4.yaml", 9437184, 10800},
    };
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
        struct hn_space *space = load_space(spaces[i].name);
        if (hn_space_build(space, &said) != HN_OK)
            fail_msg("%s: %s", spaces[i].name, said.message);
        assert_true(hn_space_cartesian(space) == spaces[i].combinations);
        assert_int_equal(hn_space_size(space), spaces[i].points);
        uint16_t choice[32];
        for (uint64_t j = 0; j < hn_space_size(space); j += 97) {
            hn_space_point(space, j, choice);
            assert_int_equal(hn_space_find(space, choice), j);
        }
        hn_space_destroy(space);
    }
}
