/* SPDX-License-Identifier: MIT */
#include "random_space.h"

#include "tests/unit/unit.h"

enum { MOST_COMBINATIONS = 600 };

static const struct random_kind kinds[] = {
    {"1 2 4 8 16", false},
    {"0 1 2 3", false},
    {"-2 -1 0 1 2 5", false},
    {"1 2 3 4 5 6 7", false},
    {"8 4 2 1", false},
    {"0.5 1.0 1.5 2.0", false},
    {"0.25 1 2 0", false},
    {"false true", false},
    {"x y z", true},
    {"y float32 int8", true},
    {"16 32 64 128", false},
    {"3", false},
    {"7 -3 0 9", false},
    {"-1.5 0.0 2.5", false},
    {"4611686018427387904 9223372036854775807 3 -9223372036854775808", false},
    {"x", true},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const char *const names[MOST_PARAMETERS + 2] = {"A", "B", "C", "D", "E", "F", "N", "W"};

static uint64_t state;

void random_seed(uint64_t seed)
{
    state = seed;
}

size_t random_below(size_t limit)
{
    struct hn_random random = {state};
    uint64_t number = hn_random_below(&random, limit);
    state = random.state;
    return (size_t)number;
}

static const char *pick(const char *const *list, size_t count)
{
    return list[random_below(count)];
}
#define PICK(...)                                                                                  \
    pick((const char *const[]){__VA_ARGS__},                                                       \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void write_condition(const struct random_space *space, struct hn_text *text, int depth);

/* A parameter, seldom one that does not fit. */
static const char *name_of(const struct random_space *space, bool is_word)
{
    for (int tries = 0; tries < 8; tries++) {
        size_t i = random_below(space->parameter_count + 1);
        if (i == space->parameter_count) {
            if (is_word || random_below(3) > 0)
                return is_word ? "W" : "N";
        } else if (space->kinds[i]->is_word == is_word || random_below(60) == 0) {
            return names[i];
        }
    }
    return is_word ? "W" : "N";
}

static void write_word(const struct random_space *space, struct hn_text *text)
{
    if (random_below(2) == 0)
        hn_text_append(text, name_of(space, true));
    else
        hn_text_append(text, PICK("x", "y", "'z'", "'other'", "float32", "int8"));
}

static void write_number(const struct random_space *space, struct hn_text *text, int depth);

static void write_call(const struct random_space *space, struct hn_text *text, int depth)
{
    const char *function =
        PICK("min", "max", "abs", "ceil_div", "is_power_of_2", "log2", "min", "max");
    if (random_below(12) == 0) {
        hn_text_printf(text, "sizeof(%s)", PICK("float32", "int8", "W", "double"));
        return;
    }
    hn_text_printf(text, "%s(", function);
    write_number(space, text, depth);
    size_t more = strcmp(function, "ceil_div") == 0           ? 1
                  : strlen(function) == 3 && *function == 'm' ? 1 + random_below(2)
                                                              : 0;
    for (size_t i = 0; i < more; i++) {
        hn_text_append(text, ", ");
        write_number(space, text, depth);
    }
    hn_text_append(text, ")");
}

static void write_number(const struct random_space *space, struct hn_text *text, int depth)
{
    size_t form = depth <= 0 ? random_below(6) : random_below(16);
    if (form < 4) {
        hn_text_append(text, name_of(space, false));
    } else if (form < 6) {
        hn_text_append(
            text, PICK("1", "2", "3", "0", "4", "16", "-1", "0.5", "1.5", "32", "100", "true"));
    } else if (form < 13) {
        hn_text_append(text, "(("); /* 1 ^ 2 is refused, (1) ^ 2 is not */
        write_number(space, text, depth - 1);
        hn_text_printf(text, ") %s ",
                       PICK("+", "-", "*", "*", "//", "%", "/", "+", "*", "%", "<<", ">>", "&", "|",
                            "^", "**"));
        write_number(space, text, depth - 1);
        hn_text_append(text, ")");
    } else if (form == 13) {
        hn_text_append(text, PICK("-", "+", "~", "-"));
        write_number(space, text, depth - 1);
    } else if (form == 14) {
        write_call(space, text, depth - 1);
    } else {
        hn_text_append(text, "(");
        if (random_below(3) == 0) {
            write_condition(space, text, depth - 1);
        } else {
            write_number(space, text, depth - 1);
            hn_text_append(text, PICK(" if ", " if ", " or ", " and "));
            if (strcmp(text->data + text->length - 4, " if ") == 0) {
                write_condition(space, text, depth - 1);
                hn_text_append(text, " else ");
            }
            write_number(space, text, depth - 1);
        }
        hn_text_append(text, ")");
    }
}

static void write_comparison(const struct random_space *space, struct hn_text *text, int depth)
{
    write_number(space, text, depth - 1);
    for (size_t links = 1 + (random_below(4) == 0); links > 0; links--) {
        hn_text_printf(text, " %s ", PICK("<", "<=", ">", ">=", "==", "!=", "<=", "=="));
        write_number(space, text, depth - 1);
    }
}

static void write_membership(const struct random_space *space, struct hn_text *text, int depth)
{
    bool words = random_below(3) == 0;
    if (words)
        write_word(space, text);
    else
        write_number(space, text, depth - 1);
    hn_text_append(text, PICK(" in [", " not in ["));
    for (size_t i = random_below(4); i > 0; i--) {
        if (words && random_below(6) > 0)
            write_word(space, text);
        else
            write_number(space, text, depth - 2);
        hn_text_append(text, ", ");
    }
    hn_text_append(text, "1]");
}

static void write_condition(const struct random_space *space, struct hn_text *text, int depth)
{
    size_t form = depth <= 0 ? random_below(7) : random_below(14);
    if (form < 6) {
        write_comparison(space, text, depth);
    } else if (form == 6) {
        write_word(space, text);
        hn_text_printf(text, " %s ", PICK("==", "!=", "==", "!=", "<"));
        write_word(space, text);
    } else if (form == 7) {
        write_membership(space, text, depth);
    } else if (form == 8) {
        hn_text_append(text, "not (");
        write_condition(space, text, depth - 1);
        hn_text_append(text, ")");
    } else if (form == 9) {
        write_number(space, text, depth);
    } else if (form == 10) {
        hn_text_append(text, "(");
        write_condition(space, text, depth - 1);
        hn_text_append(text, " if ");
        write_condition(space, text, depth - 1);
        hn_text_append(text, " else ");
        write_condition(space, text, depth - 1);
        hn_text_append(text, ")");
    } else {
        hn_text_append(text, "(");
        write_condition(space, text, depth - 1);
        hn_text_append(text, PICK(" or ", " or ", " and "));
        write_condition(space, text, depth - 1);
        hn_text_append(text, ")");
    }
}

/* Guards make errors rarer, and are what people write. */
static void write_constraint(const struct random_space *space, struct hn_text *text)
{
    size_t form = random_below(6);
    const char *a = name_of(space, false);
    const char *b = name_of(space, false);
    if (form == 0)
        hn_text_printf(text, "%s == 0 or %s %% %s == 0", b, a, b);
    else if (form == 1)
        hn_text_printf(text, "%s > %s", a, PICK("0", "-1", "1"));
    else if (form == 2)
        hn_text_printf(text, "%s != 0 and %s %% %s %s 1", b, a, b, PICK("<", "==", "!="));
    else
        write_condition(space, text, 1 + (int)random_below(3));
    if (random_below(8) == 0) {
        hn_text_append(text, " and ");
        write_condition(space, text, 1);
    }
}

static void add_parameter(struct random_space *made)
{
    size_t number = made->parameter_count;
    const struct random_kind *kind = &kinds[random_below(KINDS)];
    char copy[128];
    snprintf(copy, sizeof copy, "%s", kind->values);
    char *save = NULL;
    size_t count = 0;
    for (char *word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
        struct hn_value value;
        assert_ok(hn_value_parse(word, &value, NULL));
        if (random_below(5) == 0 && count > 0)
            continue;
        made->values[number][count++] = value;
    }
    hn_space_add_parameter(made->space, names[number], made->values[number], count);
    for (size_t i = 0; i < count; i++)
        made->values[number][i] = hn_space_parameter(made->space, number)->values[i];
    made->kinds[number] = kind;
    made->counts[number] = count;
    made->parameter_count++;
}

/* first, first + step, ... as integers, or as reals; backwards at times. */
static void add_long_parameter(struct random_space *made, size_t count)
{
    static const struct random_kind kind = {"a long list of numbers", false};
    size_t number = made->parameter_count;
    int64_t first = (int64_t)random_below(12) - 3;
    int64_t step = 1 + (int64_t)random_below(3);
    bool is_real = random_below(8) == 0;
    bool backwards = random_below(6) == 0;
    for (size_t i = 0; i < count; i++) {
        int64_t value = first + step * (int64_t)(backwards ? count - i : i);
        made->values[number][i] = is_real ? hn_real((double)value / 2) : hn_integer(value);
    }
    hn_space_add_parameter(made->space, names[number], made->values[number], count);
    made->kinds[number] = &kind;
    made->counts[number] = count;
    made->parameter_count++;
}

/* What tuning problems have: products and sums against limits, divisibility, order. */
static void write_usual_constraint(const struct random_space *space, struct hn_text *text)
{
    const char *a = name_of(space, false);
    const char *b = name_of(space, false);
    const char *c = name_of(space, false);
    size_t limit = 1 + random_below(400);
    switch (random_below(9)) {
    case 0:
        hn_text_printf(text, "%s * %s * %s <= %zu", a, b, c, limit);
        break;
    case 1:
        hn_text_printf(text, "%zu <= %s * %s + %s < %zu", limit / 8, a, b, c, limit);
        break;
    case 2:
        hn_text_printf(text, "%s %s %s %% %s == 0", b, PICK("== 0 or", "> 0 and"), a, b);
        break;
    case 3:
        hn_text_printf(text, "(%s + %s) * (%s + 2) %s %zu", a, b, c, PICK("==", "!=", ">", ">="),
                       limit);
        break;
    case 4:
        hn_text_printf(text, "%s == %s * %s", a, b, c);
        break;
    case 5:
        hn_text_printf(text, "%s <= %s or %s == %zu", a, b, c, limit % 8);
        break;
    case 6:
        hn_text_printf(text, "%zu %% (%s * %s + 1) == 0", limit * 24, a, b);
        break;
    case 7:
        hn_text_printf(text, "%s / (%s * %s + 400) < %zu", a, b, c, limit);
        break;
    default:
        hn_text_printf(text, "(%s - %s) // 3 + max(%s, 5) >= %zu", a, b, c, limit / 10);
        break;
    }
}

static void add_constraint(struct random_space *made, bool usual)
{
    static const char *const words[] = {"x", "y", "z", "float32", "int8"};
    const char *scope_names[MOST_PARAMETERS + 2];
    struct hn_text text ENDED_BY(hn_text_finish) = {0};
    if (usual)
        write_usual_constraint(made, &text);
    else
        write_constraint(made, &text);
    for (size_t i = 0; i < made->parameter_count; i++)
        scope_names[i] = names[i];
    scope_names[made->parameter_count] = "N";
    scope_names[made->parameter_count + 1] = "W";
    const struct hn_scope scope = {scope_names, made->parameter_count + 2, words, 5};
    struct hn_expression **constraint = &made->constraints[made->constraint_count++];
    assert_ok(hn_expression_parse(text.data, constraint, NULL));
    hn_space_add_expression(made->space, *constraint, NULL);
    assert_ok(hn_expression_bind(*constraint, &scope, NULL));
}

static void add_names(struct random_space *made)
{
    static const char *const words[] = {"x", "y", "z", "float32", "int8"};
    struct hn_value n = hn_integer(12);
    struct hn_value w = hn_word("float32");
    hn_space_add_constant(made->space, "N", &n);
    hn_space_add_constant(made->space, "W", &w);
    for (size_t i = 0; i < 5; i++)
        hn_space_add_word(made->space, words[i]);
    made->current[made->parameter_count] = n;
    made->current[made->parameter_count + 1] = w;
}

void random_space_make(struct random_space *made)
{
    *made = (struct random_space){.space = hn_space_create()};
    size_t combinations = 1;
    for (size_t i = 1 + random_below(MOST_PARAMETERS);
         i > 0 && combinations < MOST_COMBINATIONS / 4; i--) {
        add_parameter(made);
        combinations *= made->counts[made->parameter_count - 1];
    }
    add_names(made);
    for (size_t i = random_below(MOST_CONSTRAINTS + 1); i > 0; i--)
        add_constraint(made, false);
}

void random_space_make_large(struct random_space *made)
{
    *made = (struct random_space){.space = hn_space_create()};
    size_t shape = random_below(3);
    static const size_t counts[3][5] = {{140, 25, 12, 1, 1}, {9, 70, 8, 7, 1}, {6, 5, 8, 9, 14}};
    for (size_t i = 0; i < 5; i++)
        add_long_parameter(made, counts[shape][i]);
    add_names(made);
    for (size_t i = 1 + random_below(4); i > 0; i--)
        add_constraint(made, random_below(5) > 0);
}

struct hn_space *random_space_again(const struct random_space *made)
{
    struct random_space again = *made;
    again.space = hn_space_create();
    for (size_t i = 0; i < made->parameter_count; i++)
        hn_space_add_parameter(again.space, names[i], made->values[i], made->counts[i]);
    add_names(&again);
    for (size_t i = 0; i < made->constraint_count; i++)
        hn_space_add_expression(again.space, made->constraints[i], NULL);
    return again.space;
}

void random_space_finish(struct random_space *made)
{
    for (size_t i = 0; i < made->constraint_count; i++)
        hn_expression_destroy(made->constraints[i]);
    hn_space_destroy(made->space);
}

const char *random_space_name(size_t parameter)
{
    return names[parameter];
}
