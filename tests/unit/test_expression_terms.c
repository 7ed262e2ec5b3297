/* SPDX-License-Identifier: MIT */
#include "base/expression/expression_terms.h"

#include "random_space.h"
#include "tests/unit/unit.h"

/* Terms of random constraints against the evaluator, for every combination of the parameters. */

enum { SLOTS = MOST_PARAMETERS + 2 };

struct fixture {
    struct random_space made; /* of a random one */
    size_t parameter_count;
    struct hn_value current[SLOTS];
    struct hn_domain domains[SLOTS];
    size_t slot_count;
    struct hn_conjuncts conjuncts;
    struct hn_terms terms;
    const struct hn_conjunct *conjunct; /* the one at hand */
    struct hn_said condition;
    uint16_t positions[SLOTS];
};

/* Constants are the last two slots, with one value. */
static void set_up_random(struct fixture *fixture, uint64_t seed)
{
    *fixture = (struct fixture){.slot_count = 0};
    random_seed(seed);
    random_space_make(&fixture->made);
    struct random_space *made = &fixture->made;
    for (size_t i = 0; i < made->parameter_count; i++)
        fixture->domains[i] = (struct hn_domain){made->values[i], made->counts[i]};
    for (size_t i = 0; i < 2; i++)
        fixture->domains[made->parameter_count + i] =
            (struct hn_domain){&made->current[made->parameter_count + i], 1};
    memcpy(fixture->current, made->current, sizeof fixture->current);
    fixture->parameter_count = made->parameter_count;
    fixture->slot_count = made->parameter_count + 2;
    for (size_t i = 0; i < made->constraint_count; i++)
        assert_true(hn_conjuncts_add(&fixture->conjuncts, made->constraints[i], i));
    assert_true(hn_terms_init(&fixture->terms, fixture->domains, fixture->slot_count));
}

static void tear_down(struct fixture *fixture)
{
    hn_terms_finish(&fixture->terms);
    hn_conjuncts_finish(&fixture->conjuncts);
}

static void fail_conjunct(const struct fixture *fixture, const char *what)
{
    for (size_t i = 0; i < fixture->parameter_count; i++)
        print_message("  %s at %u\n", random_space_name(i), fixture->positions[i]);
    print_message("  %s\n", hn_expression_text(fixture->conjunct->expression));
    fail_msg("%s", what);
}

/* Steps like an odometer; false after the last combination. */
static bool next(struct fixture *fixture)
{
    for (size_t i = fixture->parameter_count; i-- > 0;) {
        if (++fixture->positions[i] < fixture->domains[i].count)
            return true;
        fixture->positions[i] = 0;
    }
    return false;
}

/* The value of a term at the positions. */
static int64_t value_of(const struct fixture *fixture, int term)
{
    const struct hn_terms *terms = &fixture->terms;
    union hn_cell *cells = calloc(terms->count, sizeof *cells);
    hn_terms_set_constants(terms, cells);
    for (int i = 0; i <= term; i++) {
        if (terms->items[i].operation == HN_OP_CONSTANT)
            continue;
        struct hn_instruction instruction = hn_terms_instruction(terms, i);
        hn_instructions_run(&instruction, 1, fixture->positions, cells);
    }
    int64_t value = cells[term].integer;
    free(cells);
    return value;
}

static enum hn_truth truth_of(struct fixture *fixture)
{
    for (size_t i = 0; i < fixture->parameter_count; i++)
        fixture->current[i] = fixture->domains[i].values[fixture->positions[i]];
    return hn_expression_truth(fixture->conjunct->expression, fixture->current);
}

static void check_values(struct fixture *fixture)
{
    do {
        enum hn_truth truth = truth_of(fixture);
        if (value_of(fixture, fixture->condition.value) != (truth == HN_TRUE))
            fail_conjunct(fixture, "the term has another value");
        if (value_of(fixture, fixture->condition.fails) != (truth == HN_NO_VALUE))
            fail_conjunct(fixture, "the term fails elsewhere");
    } while (next(fixture));
}

/* What has to be possible where the term is 1, and depends on nothing that is not bound. */
static void check_possible(struct fixture *fixture)
{
    uint64_t bound = 0;
    for (size_t i = 0; i < fixture->parameter_count; i++)
        bound |= (uint64_t)(random_below(3) > 0) << i;
    int possible = hn_terms_possible(&fixture->terms, fixture->condition.value, &bound);
    assert_true(possible >= 0);
    assert_true((fixture->terms.items[possible].slots[0] & ~bound) == 0);
    do {
        if (truth_of(fixture) == HN_TRUE && value_of(fixture, possible) != 1)
            fail_conjunct(fixture, "what holds is said not to be possible");
    } while (next(fixture));
}

static void check_direction(struct fixture *fixture)
{
    for (size_t i = 0; i < fixture->parameter_count; i++) {
        enum hn_direction direction =
            hn_terms_direction(&fixture->terms, fixture->condition.value, i);
        if (direction == HN_UNKNOWN)
            continue;
        do {
            if (fixture->positions[i] == 0)
                continue;
            int64_t value = value_of(fixture, fixture->condition.value);
            fixture->positions[i]--;
            int64_t before = value_of(fixture, fixture->condition.value);
            fixture->positions[i]++;
            if ((value > before && (direction & HN_RISES) == 0) ||
                (value < before && (direction & HN_FALLS) == 0))
                fail_conjunct(fixture, "the term goes the other way");
        } while (next(fixture));
    }
}

/* False where terms cannot say. */
static bool check_conjunct(struct fixture *fixture, const struct hn_conjunct *conjunct)
{
    fixture->conjunct = conjunct;
    fixture->condition = hn_terms_add(&fixture->terms, conjunct->expression, true);
    assert_false(fixture->terms.out_of_memory);
    if (fixture->condition.value < 0)
        return false;
    check_values(fixture);
    check_possible(fixture);
    check_direction(fixture);
    return true;
}

TEST(random_terms_agree_with_the_evaluator)
{
    size_t told = 0;
    size_t unsaid = 0;
    int rounds = getenv("HONE_ROUNDS") == NULL ? 1 : atoi(getenv("HONE_ROUNDS"));
    for (int round = 0; round < 2500 * rounds; round++) {
        struct fixture fixture;
        set_up_random(&fixture, (uint64_t)round * 31 + 7);
        for (size_t i = 0; i < fixture.conjuncts.count; i++) {
            bool is_said = check_conjunct(&fixture, &fixture.conjuncts.items[i]);
            told += is_said;
            unsaid += !is_said;
        }
        tear_down(&fixture);
        random_space_finish(&fixture.made);
    }
    /* what terms cannot say has errors nearly everywhere, or is far-fetched */
    assert_true(told > 3 * unsaid);
}

static void set_up_text(struct fixture *fixture, const char *text, const struct hn_domain *domains)
{
    struct hn_expression *expression = NULL;
    static const char *const names[] = {"A", "B", "C", "D"};
    static const char *const words[] = {"x", "y", "z"};
    const struct hn_scope scope = {names, 4, words, 3};
    *fixture = (struct fixture){.parameter_count = 4, .slot_count = 4};
    memcpy(fixture->domains, domains, 4 * sizeof *domains);
    assert_ok(hn_expression_parse(text, &expression, NULL));
    keep(expression, hn_expression_destroy);
    assert_ok(hn_expression_bind(expression, &scope, NULL));
    assert_true(hn_conjuncts_add(&fixture->conjuncts, expression, 0));
    assert_true(hn_terms_init(&fixture->terms, fixture->domains, 4));
}

/* What is seldom drawn at random; all of it can be said in terms. */
TEST(conditions_agree_with_the_evaluator)
{
    static const char *const texts[] = {
        "not (A > 1 and B > 2 and A < 5 and C > 0)",
        "not (A > 1 and B > 2 and A < 2 and C > 0)",
        "not (1 < A < B % C)",
        "not (B < A <= 10 // C < B)",
        "A == 0 or B % A == 0 or C // A > 2",
        "(A == 0 and B == 0) or (A != 0 and C % A <= B)",
        "(A if B > C else B) * 2 > C + A",
        "A in [B, 6 // C, C + 1]",
        "A not in [B, C] or C == A",
        "A * B * C <= 4 or A * B * C >= 20",
        "(A or B) + (B and C) < 5",
        "D == x or A * B < 4",
        "(D == y) + (A > B) + (B > C) == 2",
        "(A * 0.5 if D != z else B * 0.25) <= C",
        "A / B >= C if B > 0 else True",
        "abs(A - B) != C and max(A, B, C) - min(A, B) <= 4",
        "ceil_div(A + 7, B) >= C if B != 0 else C > 0",
        "is_power_of_2(A * B + C) or A >> 1 == B",
        "A << max(B, 0) < 1 << max(C, 0)",
        "(A & B) | (C ^ B) != ~A",
        "max(A, 0) ** max(B, 0) > C",
        "-A // 3 < B % 4 <= C + 2.5",
        "A < B or C",
        "max(C, A * 0.5) * B + min(B, C * 0.5) > A",
        "(A * 1.5 if A > B else C) / 2 >= -max(A * 0.5, B) + C",
        "(A or B * 0.5) != max(C, A * 0.25) * 2",
        "not A and not B or D > x and C > A",
        "1.0 * (A * 0.5 + 0.0) + (0 + B) > 0.0 + C * 1.0",
    };
    const struct hn_value integers[] = {hn_integer(-2), hn_integer(0), hn_integer(1),
                                        hn_integer(2),  hn_integer(3), hn_integer(5)};
    const struct hn_value words[] = {hn_word("x"), hn_word("y"), hn_word("z")};
    const struct hn_domain domains[] = {
        {integers, 6}, {integers, 5}, {integers + 1, 5}, {words, 3}};
    random_seed(3);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct fixture fixture;
        set_up_text(&fixture, texts[i], domains);
        for (size_t j = 0; j < fixture.conjuncts.count; j++) {
            if (!check_conjunct(&fixture, &fixture.conjuncts.items[j]))
                fail_conjunct(&fixture, "terms cannot say this");
        }
        tear_down(&fixture);
    }
}

/* Slots X, from 1 to 100, W, a or b, and P, which is a constant that another part has another one
 * of. */
TEST(parts_of_a_program_are_computed_anew_where_a_value_is_set)
{
    const char *names[] = {"X", "W", "P"};
    const struct hn_scope scope = {names, 3, NULL, HN_ANY_WORD};
    const struct hn_value ends[] = {hn_integer(1), hn_integer(100)};
    const struct hn_value words[] = {hn_word("a"), hn_word("b")};
    const struct hn_value constants[] = {hn_word("b"), hn_word("c")};
    struct hn_domain domains[] = {{ends, 0}, {words, 2}, {constants, 1}};
    struct hn_expression *expression = NULL;
    struct hn_program program ENDED_BY(hn_program_finish);
    struct hn_program_part parts[2];
    int terms[2];
    assert_ok(hn_expression_parse("X * X + (1000 if W == P else X)", &expression, NULL));
    assert_ok(hn_expression_bind(expression, &scope, NULL));
    hn_program_init(&program, domains, 3);
    for (size_t i = 0; i < 2; i++) {
        domains[2].values = &constants[i];
        terms[i] = hn_program_number(&program, expression, true);
        hn_program_want(&program, terms[i]);
        assert_true(hn_program_compile(&program, &parts[i]));
    }
    for (int x = 1; x <= 100; x++)
        for (int w = 0; w < 2; w++) {
            hn_program_set(&program, 0, x);
            hn_program_set(&program, 1, w);
            assert_true(hn_program_run(&program, &parts[0]));
            assert_int_equal(hn_program_result(&program, terms[0]), x * x + (w == 1 ? 1000 : x));
            assert_true(hn_program_run(&program, &parts[1]));
            assert_int_equal(hn_program_result(&program, terms[1]), x * x + x);
        }
    hn_expression_destroy(expression);
}

/* What is not taken says nothing of the type: an integer that a real may not stand for. */
TEST(a_decided_condition_takes_the_type_of_what_it_takes)
{
    static const char *const factors[] = {"(17 if P == b or X == 5 else 8.5)",
                                          "(P == c and X * 0.5 or 17)", "(17 or X * 0.5)"};
    const char *names[] = {"X", "P"};
    const struct hn_scope scope = {names, 2, NULL, HN_ANY_WORD};
    const struct hn_value ends[] = {hn_integer(1), hn_integer(1 << 19)}, word = hn_word("b");
    struct hn_domain domains[] = {{ends, 0}, {&word, 1}};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        char text[80];
        struct hn_expression *expression = NULL;
        struct hn_program program ENDED_BY(hn_program_finish);
        struct hn_program_part part;
        snprintf(text, sizeof text, "X * X * X * %s", factors[i]);
        assert_ok(hn_expression_parse(text, &expression, NULL));
        assert_ok(hn_expression_bind(expression, &scope, NULL));
        hn_program_init(&program, domains, 2);
        int term = hn_program_want(&program, hn_program_real(&program, expression));
        assert_true(term >= 0);
        assert_true(hn_program_compile(&program, &part));
        hn_program_set(&program, 0, 10);
        assert_true(hn_program_run(&program, &part));
        assert_true(program.cells[term].real == 17000.0);
        hn_expression_destroy(expression);
    }
}

/* a < b < c is two conjuncts, and so is what `and` joins at the top, not below `or`. */
TEST(conjuncts_are_split_at_the_top)
{
    static const struct {
        const char *text;
        size_t count;
    } cases[] = {
        {"A < B", 1},
        {"A < B < C", 2},
        {"A < B and B < C <= 4 and A in [1, 2]", 4},
        {"A < B or B < C <= 4 and A > 0", 1},
        {"(A > 0 and (B > 0 and C > 0))", 3},
        {"not (A > 0 and B > 0)", 1},
    };
    const struct hn_value one = hn_integer(1);
    const struct hn_domain domains[] = {{&one, 1}, {&one, 1}, {&one, 1}, {&one, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture fixture;
        set_up_text(&fixture, cases[i].text, domains);
        assert_int_equal(fixture.conjuncts.count, cases[i].count);
        tear_down(&fixture);
    }
}
