/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "cache/family/rule.h"

#include "tests/unit/rule_fixture.h"

struct choice {
    const char *problem;
    int unusable; /* a bit for each configuration */
    int configuration;
    bool sure;
};

static bool is_usable(int configuration, void *context)
{
    return (*(const int *)context >> configuration & 1) == 0;
}

static void expect_choice(const struct hn_rule *rule, const struct choice *choice)
{
    struct hn_bindings problem ENDED_BY(hn_bindings_finish);
    int unusable = choice->unusable;
    bool sure = !choice->sure;
    const struct hn_value nan = hn_real(NAN);
    assert_ok(hn_bindings_parse(choice->problem, &problem, NULL));
    if (strncmp(choice->problem, "M=nan,", 6) == 0)
        assert_ok(hn_bindings_set(&problem, "M", &nan, NULL));
    int found = hn_rule_choose(rule, &problem, is_usable, &unusable, &sure);
    if (found != choice->configuration || sure != choice->sure)
        fail_msg("%s: found %d (sure %d), expected %d (sure %d)", choice->problem, found, sure,
                 choice->configuration, choice->sure);
}

TEST(the_leaf_is_taken_or_the_next_that_can_be_used)
{
    static const struct choice choices[] = {
        {"M=64,N=64,ORDER=row", 0, 0, true},
        {"M=64,N=1024,ORDER=row", 0, 0, true},
        {"M=65,N=1024,ORDER=row", 0, 2, true},
        {"M=65,N=1024,ORDER=column", 0, 1, false},
        {"M=65,N=1024,ORDER=diagonal", 0, 2, false},
        {"M=0,N=64,ORDER=row", 0, 0, false},
        {"M=8192,N=64,ORDER=row", 0, 2, false},
        {"M=9223372036854775807,N=9223372036854775807,ORDER=row", 0, 2, false},
        {"M=-9223372036854775808,N=64,ORDER=row", 0, 0, false},
        {"M=nan,N=64,ORDER=row", 0, 0, false}, /* the number, not the word */
        {"M=64.0,N=64,ORDER=row", 0, 0, true},
        {"M=64,N=64,ORDER=row", 1, 1, false},
        {"M=64,N=64,ORDER=row", 3, 2, false},
        {"M=64,N=64,ORDER=row", 7, -1, false},
        {"M=64,N=64", 0, -1, false},
        {"M=64,N=64,OTHER=row", 0, -1, false},
        {"M=64,N=64,ORDER=1", 0, -1, false},
        {"M=much,N=64,ORDER=row", 0, -1, false},
    };
    struct hn_rule rule ENDED_BY(hn_rule_finish);
    read_rule(rule_text, &rule);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        expect_choice(&rule, &choices[i]);
}

TEST(features_are_those_of_the_nearest_inside)
{
    struct hn_rule rule ENDED_BY(hn_rule_finish);
    struct hn_bindings problem ENDED_BY(hn_bindings_finish);
    int64_t features[HN_RULE_FEATURES_MOST];
    bool inside = true;
    read_rule(rule_text, &rule);
    assert_ok(hn_bindings_parse("M=5000,N=30,ORDER=row", &problem, NULL));
    assert_true(hn_rule_evaluate(&rule, &problem, features, &inside));
    assert_false(inside);
    assert_int_equal(features[0], 4096 * 30);
    assert_int_equal(features[1], 1);
    assert_int_equal(features[2], 2);
}

/* Problems that are inside, and some that are not. */
TEST(a_program_finds_the_same_leaf)
{
    static const char *const words[] = {"row", "column", "diagonal"};
    struct hn_rule rule ENDED_BY(hn_rule_finish);
    int inside = 0;
    read_rule(rule_text, &rule);
    struct hn_rule_program *program = keep(hn_rule_program_make(&rule), hn_rule_program_destroy);
    double order[HN_RULE_CONFIGURATIONS_MOST];
    assert_non_null(program);
    for (int i = 0; i < 20000; i++) {
        struct hn_bindings problem ENDED_BY(hn_bindings_finish);
        char text[80];
        bool sure;
        snprintf(text, sizeof text, "M=%d,N=%d,ORDER=%s", i * 7919 % 4200, 10 + i * 31 % 1030,
                 words[i % 50 == 0 ? 2 : i % 2]);
        assert_ok(hn_bindings_parse(text, &problem, NULL));
        int expected = hn_rule_choose(&rule, &problem, NULL, NULL, &sure);
        const struct hn_rule_node *leaf = hn_rule_program_find(program, &problem, order);
        if (leaf == NULL ? sure : hn_rule_take(&rule, order) != expected || leaf->sure != sure)
            fail_msg("%s: configuration %d (sure %d) is not found", text, expected, sure);
        inside += leaf != NULL;
    }
    assert_true(inside > 18000 && inside < 20000);
}

static const char with_costs[] =
    "'cost': '100 / BLOCK + M * N * BLOCK / 100000 * (2 if ORDER == column else 1)',"
    " 'corrections': [0, 0, 0, 5, -0.5, 0, 0, 5, -0.1, 0, 0, 5], 'predicted'";

TEST(what_costs_least_is_taken_of_what_can_be_used)
{
    static const struct choice choices[] = {
        {"M=1,N=16,ORDER=row", 0, 2, true},    {"M=64,N=64,ORDER=row", 0, 1, true},
        {"M=64,N=64,ORDER=row", 2, 0, true},   {"M=64,N=64,ORDER=row", 3, 2, true},
        {"M=64,N=64,ORDER=row", 7, -1, false}, {"M=4096,N=1024,ORDER=column", 0, 0, false},
        {"M=0,N=16,ORDER=row", 0, 2, false},
    };
    struct hn_rule rule ENDED_BY(hn_rule_finish);
    read_rule(replaced(rule_text, "'predicted'", with_costs), &rule);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        expect_choice(&rule, &choices[i]);
    struct hn_rule_program *program = keep(hn_rule_program_make(&rule), hn_rule_program_destroy);
    assert_non_null(program);
    for (int i = 0; i < 2000; i++) {
        struct hn_bindings problem ENDED_BY(hn_bindings_finish);
        double order[HN_RULE_CONFIGURATIONS_MOST];
        int unusable = 1 << i % 3;
        bool sure;
        char sizes[80];
        snprintf(sizes, sizeof sizes, "M=%d,N=%d,ORDER=%s", 1 + i * 7 % 4096, 16 + i * 31 % 64,
                 i % 2 == 0 ? "row" : "column");
        assert_ok(hn_bindings_parse(sizes, &problem, NULL));
        assert_non_null(hn_rule_program_find(program, &problem, order));
        int first = hn_rule_take(&rule, order), second = hn_rule_take(&rule, order);
        assert_int_equal(first, hn_rule_choose(&rule, &problem, NULL, NULL, &sure));
        assert_int_equal(first == i % 3 ? second : first,
                         hn_rule_choose(&rule, &problem, is_usable, &unusable, &sure));
    }
    json_auto_t *json = hn_fields_to_json(&hn_rule_structure, &rule);
    struct hn_rule again ENDED_BY(hn_rule_finish) = {0};
    assert_ok(rule_from_json(json, &again, &said));
    assert_string_equal(hn_expression_text(again.cost), hn_expression_text(rule.cost));
    assert_true(again.correction_count == 12 && again.corrections[4] == -0.5);
}

/* Where the leaf names some, others come behind, whatever they cost. */
TEST(what_the_leaf_names_is_compared)
{
    static const struct choice choices[] = {
        {"M=4096,N=1024,ORDER=column", 0, 1, false},
        {"M=4096,N=1024,ORDER=column", 2, 2, false},
        {"M=4096,N=1024,ORDER=column", 6, 0, false},
        {"M=4096,N=1024,ORDER=row", 0, 0, true},
    };
    struct hn_rule rule ENDED_BY(hn_rule_finish);
    const char *costs = replaced(rule_text, "'predicted'", with_costs);
    read_rule(replaced(costs, "'sure': false}", "'sure': false, 'among': [1, 2]}"), &rule);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        expect_choice(&rule, &choices[i]);
    struct hn_rule_program *program = keep(hn_rule_program_make(&rule), hn_rule_program_destroy);
    struct hn_bindings problem ENDED_BY(hn_bindings_finish);
    double order[HN_RULE_CONFIGURATIONS_MOST];
    assert_ok(hn_bindings_parse("M=4096,N=1024,ORDER=column", &problem, NULL));
    assert_non_null(hn_rule_program_find(program, &problem, order));
    for (int i = 1; i <= 3; i++)
        assert_int_equal(hn_rule_take(&rule, order), i % 3);
    json_auto_t *json = hn_fields_to_json(&hn_rule_structure, &rule);
    const json_t *leaf = json_array_get(json_object_get(json, "nodes"), 3);
    assert_int_equal(json_array_size(json_object_get(leaf, "among")), 2);
}

TEST(costs_that_are_none_are_refused)
{
    static const struct {
        const char *part, *with, *message;
    } costs[] = {
        {"-0.5, ", "", "rule: it has 11 corrections of costs, expected 12 to 12"},
        {"-0.5", "{'real': 'nan'}", "rule: correction 4 is nan, expected a number"},
        {"'cost'", "'more'", "rule: it has 12 corrections of costs, expected 0 to 0"},
        {"{'BLOCK': 128}", "{'BLOCKS': 128}",
         "rule: configuration 1 has other parameters than the first"},
        {"100 / BLOCK", "100 / )", "column 7: found ')', expected a value"},
    };
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        struct hn_rule rule ENDED_BY(hn_rule_finish) = {0};
        const char *whole = replaced(rule_text, "'predicted'", with_costs);
        json_auto_t *json = parse_quoted(replaced(whole, costs[i].part, costs[i].with));
        assert_error(rule_from_json(json, &rule, &said), HN_EFORMAT, costs[i].message);
    }
}

TEST(a_range_that_is_not_whole_has_reals)
{
    static const struct choice choices[] = {
        {"SKEW=0", 0, 0, false},   {"SKEW=0.5", 0, 0, true}, {"SKEW=1", 0, 0, true},
        {"SKEW=2", 0, 1, true},    {"SKEW=2.5", 0, 1, true}, {"SKEW=3", 0, 1, false},
        {"SKEW=true", 0, 0, true},
    };
    struct hn_rule rule ENDED_BY(hn_rule_finish);
    read_rule("{'goal': 'worst', 'values': [{'name': 'SKEW', 'low': 0.5, 'high': 2.5}],"
              " 'features': ['SKEW > 1.5'], 'nodes': [{'feature': 0, 'threshold': 0, 'left': 1,"
              " 'right': 2}, {'configuration': 0, 'sure': true}, {'configuration': 1, 'sure':"
              " true}], 'configurations': [{}, {'A': 1}],"
              " 'predicted': {'mean': 0, 'worst': 0, 'sizes': 0},"
              " 'measured': {'mean': 0, 'worst': 0, 'sizes': 0}}",
              &rule);
    assert_true(rule.worst);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        expect_choice(&rule, &choices[i]);
}

/* A program with 0.0 as a constant is another one than with 0. */
TEST(a_whole_number_may_be_real)
{
    static const struct choice choices[] = {{"BETA=0.0", 0, 0, true}, {"BETA=0", 0, 0, true}};
    struct hn_rule rule ENDED_BY(hn_rule_finish);
    read_rule(
        "{'goal': 'mean', 'values': [{'name': 'BETA', 'low': 0.0, 'high': 0.0, 'real': true}],"
        " 'features': [], 'nodes': [{'configuration': 0, 'sure': true}],"
        " 'configurations': [{}],"
        " 'predicted': {'mean': 0, 'worst': 0, 'sizes': 0},"
        " 'measured': {'mean': 0, 'worst': 0, 'sizes': 0}}",
        &rule);
    struct hn_value end = hn_rule_value_end(&rule.values[0], true);
    assert_int_equal(end.type, HN_REAL);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        expect_choice(&rule, &choices[i]);
    struct hn_rule_program *program = keep(hn_rule_program_make(&rule), hn_rule_program_destroy);
    double order[HN_RULE_CONFIGURATIONS_MOST];
    assert_non_null(program);
    struct hn_bindings problem ENDED_BY(hn_bindings_finish);
    assert_ok(hn_bindings_parse("BETA=0.0", &problem, NULL));
    assert_non_null(hn_rule_program_find(program, &problem, order));
    json_auto_t *json = hn_fields_to_json(&hn_rule_structure, &rule);
    assert_true(
        json_is_true(json_object_get(json_array_get(json_object_get(json, "values"), 0), "real")));
}

TEST(json_is_exact_both_ways)
{
    struct hn_rule rule;
    json_t *given = keep(parse_quoted(rule_text), json_decref);
    read_rule(rule_text, &rule);
    json_t *written = keep(hn_fields_to_json(&hn_rule_structure, &rule), json_decref);
    /* Whole numbers of values are reals in the struct. */
    char *a = keep(json_dumps(written, JSON_SORT_KEYS), free);
    hn_rule_finish(&rule);
    assert_ok(rule_from_json(written, &rule, &said));
    json_t *again = keep(hn_fields_to_json(&hn_rule_structure, &rule), json_decref);
    char *b = keep(json_dumps(again, JSON_SORT_KEYS), free);
    assert_string_equal(a, b);
    assert_true(json_equal(json_object_get(given, "nodes"), json_object_get(written, "nodes")));
    assert_true(json_equal(json_object_get(given, "configurations"),
                           json_object_get(written, "configurations")));
    hn_rule_finish(&rule);
}

/* One part of the rule above, replaced. */
struct broken {
    const char *part, *with, *message;
};

static const struct broken broken[] = {
    {"'right': 2", "'right': 7", "rule: node 0 has child 7, expected one behind it, of 7 nodes"},
    {"'right': 2", "'right': 0", "rule: node 0 has child 0, expected one behind it, of 7 nodes"},
    {"'right': 2", "'right': 1", "rule: node 1 has two parents, expected a tree"},
    {"'right': 2", "'right': 6", "rule: node 2 has no parent, expected a tree"},
    {"'right': 2", "'right': -1", "rule: 'right' is not an integer of 0 to 2147483647"},
    {"'feature': 2, ", "'feature': 3, ", "rule: node 4 names feature 3, expected one of 3"},
    {"'threshold': -1", "'threshold': 0.5", "rule: 'threshold' is not an integer"},
    {"'threshold': 65536, ", "", "rule: 'threshold' is not an integer"},
    {"{'configuration': 2", "{'configuration': 3",
     "rule: node 6 names configuration 3, expected one of 3"},
    {"'sure': false}", "'sure': false, 'among': [2, 3]}",
     "rule: node 3 names configuration 3, expected one of 3"},
    {"'sure': false}", "'sure': false, 'among': [2, 1, 2, 1]}",
     "rule: node 3 names configuration 3, expected one of 3"},
    {"'low': 16", "'low': 2000",
     "rule: value 'N' is from 2000 to 1024, expected low and high within 2^53"},
    {"'high': 4096", "'high': 1e300",
     "rule: value 'M' is from 1 to 1e+300, expected low and high within 2^53"},
    {"'high': 4096", "'high': {'real': 'nan'}",
     "rule: value 'M' is from 1 to nan, expected low and high within 2^53"},
    {"'name': 'N'", "'name': 'L'", "rule: value 'L' stands behind 'M', expected them by name"},
    {"'column']", "4]", "rule: 'words' is not a name"},
    {"'M * N'", "'M * P'", "rule: feature 'M * P': unknown name 'P'; there are M, N, ORDER"},
    {"'M * N'", "'M *'",
     "rule: feature 'M *': column 4: found the end of the expression, expected a value"},
    {"'M * N'", "'M / 3'",
     "rule: feature 'M / 3' has no value: 'M / 3' gives 0.3333333333333333, expected an integer: "
     "// rounds down, ceil_div up"},
    {"'M * N'", "'M // (N - 16)'",
     "rule: feature 'M // (N - 16)' has no value: 'M // (N - 16)', column 3: 1 // 0: division by "
     "zero"},
    {"'M * N'", "'M ** 6'",
     "rule: feature 'M ** 6' has no value: 'M ** 6', column 3: 4096 ** 6: beyond 64 bits"},
    {"'worst': 0.09", "'worst': {'real': 'inf'}",
     "rule: the measured loss is 0.021 in the mean, inf at worst, expected shares above -1"},
    {"'goal': 'mean'", "'goal': 'best'", "rule: 'goal' is not one of mean, worst"},
};

TEST(what_is_no_rule_is_refused)
{
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct hn_rule rule ENDED_BY(hn_rule_finish) = {0};
        json_auto_t *json = parse_quoted(replaced(rule_text, broken[i].part, broken[i].with));
        assert_error(rule_from_json(json, &rule, &said), HN_EFORMAT, broken[i].message);
    }
}

TEST(what_it_is_for_is_told)
{
    struct hn_rule rule ENDED_BY(hn_rule_finish);
    struct hn_text text ENDED_BY(hn_text_finish) = {0};
    read_rule(rule_text, &rule);
    rule.values[1].high = 16;
    hn_rule_append_values(&text, &rule);
    assert_string_equal(text.data, "M 1 to 4096, N 16, ORDER row or column");
}

TEST(both_losses_are_told)
{
    struct hn_rule rule ENDED_BY(hn_rule_finish);
    struct hn_text text ENDED_BY(hn_text_finish) = {0};
    read_rule(rule_text, &rule);
    hn_rule_append_loss(&text, &rule);
    rule.parts = (struct hn_rule_parts){{.004, .03, 40}, {.011, .052, 40}, {.006, .04, 40}};
    hn_text_append(&text, "\n");
    hn_rule_append_loss(&text, &rule);
    rule.measured.sizes = 0;
    hn_text_append(&text, "\n");
    hn_rule_append_loss(&text, &rule);
    rule.predicted.sizes = 0;
    hn_rule_append_loss(&text, &rule);
    assert_string_equal(text.data,
                        "at 40 sizes that were not used: 2.1% slower than tuned for each in the "
                        "mean, 9.0% at worst\n"
                        "at 40 sizes that were not used: 2.1% slower than tuned for each in the "
                        "mean, 9.0% at worst (choice 0.4%, 3.0% at worst; coverage 1.1%, 5.2%; "
                        "freezing 0.6%, 4.0%)\n"
                        "predicted for 24 sizes that were not used: 1.9% slower than tuned for "
                        "each in the mean, 7.0% at worst");
}

TEST(the_parts_of_the_loss_are_kept_where_they_are_known)
{
    struct hn_rule rule ENDED_BY(hn_rule_finish), again ENDED_BY(hn_rule_finish) = {0};
    read_rule(rule_text, &rule);
    json_auto_t *without = hn_fields_to_json(&hn_rule_structure, &rule);
    assert_null(json_object_get(without, "parts"));
    rule.parts = (struct hn_rule_parts){{.004, .03, 40}, {0, 0, 40}, {.006, .04, 40}};
    json_auto_t *json = hn_fields_to_json(&hn_rule_structure, &rule);
    assert_ok(rule_from_json(json, &again, &said));
    assert_true(again.parts.choice.worst == .03 && again.parts.freezing.mean == .006);
    assert_int_equal(again.parts.coverage.sizes, 40);
}
