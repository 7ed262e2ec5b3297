/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_internal.h"
#include "base/text.h"

/* The most C for one expression. */
enum { CODE_BYTES = 65536 };

enum part_kind {
    CONSTANT, /* value */
    CHOICE,   /* code gives an int that is 0 or 1 */
    INTEGER,  /* code gives an int64_t, or an int where narrow */
    REAL,     /* code gives a double */
    WORD,     /* code gives the number of one of the slot's words */
};

/* An operation in C. Owns code. */
struct part {
    enum part_kind kind;
    bool narrow;
    bool as_condition; /* only its truth is wanted */
    struct hn_value value;
    const struct hn_c_slot *slot;
    struct hn_text code;
};

struct generator {
    const struct hn_expression *expression;
    const struct hn_c_slot *slots;
    const char *prefix;
    struct part *parts; /* by operation */
    enum hn_status status;
    struct hn_error *err;
};

static void fail(struct generator *generator, const struct hn_operation *operation,
                 enum hn_status status, const char *reason)
{
    generator->status =
        hn_fail(generator->err, status, "'%s', column %u: %s%s", generator->expression->text,
                operation->column, status == HN_ECONFIG ? "can not be written as C: " : "", reason);
}

static void set_constant(struct part *part, struct hn_value value)
{
    part->kind = CONSTANT;
    part->value = value;
}

static bool is_word(const struct part *part)
{
    return part->kind == WORD || (part->kind == CONSTANT && part->value.type == HN_WORD);
}

static bool is_real(const struct part *part)
{
    return part->kind == REAL || (part->kind == CONSTANT && part->value.type == HN_REAL);
}

static void append_integer(struct hn_text *text, int64_t integer)
{
    if (integer == INT64_MIN)
        hn_text_append(text, "(-INT64_C(9223372036854775807) - 1)");
    else if (integer >= INT32_MIN + 1 && integer <= INT32_MAX)
        hn_text_printf(text, integer < 0 ? "(%" PRId64 ")" : "%" PRId64, integer);
    else
        hn_text_printf(text, integer < 0 ? "(-INT64_C(%" PRId64 "))" : "INT64_C(%" PRId64 ")",
                       integer < 0 ? -integer : integer);
}

/* The part as a number; as a double where `real`. widen: what C has as an int becomes an int64_t,
 * because int arithmetic overflows sooner. */
static void append_number(struct hn_text *text, const struct part *part, bool real, bool widen)
{
    if (part->kind != CONSTANT) {
        if (real && part->kind != REAL)
            hn_text_append(text, "(double)");
        else if (widen && (part->kind == CHOICE || part->narrow))
            hn_text_append(text, "(int64_t)");
        hn_text_append(text, part->code.failed ? "" : part->code.data);
        text->failed = text->failed || part->code.failed;
        return;
    }
    if (!real && part->value.type != HN_REAL) {
        append_integer(text,
                       part->value.type == HN_BOOLEAN ? part->value.boolean : part->value.integer);
        return;
    }
    struct hn_value number = hn_real(hn_value_number(&part->value));
    bool negative = number.real < 0;
    hn_text_append(text, negative ? "(" : "");
    hn_value_append(text, &number);
    hn_text_append(text, negative ? ")" : "");
}

/* The truth of the part, as a C condition. */
static void append_condition(struct hn_text *text, const struct part *part)
{
    if (part->kind == CONSTANT || part->kind == WORD) {
        bool truth = part->kind == WORD || hn_value_truth(&part->value);
        hn_text_append(text, truth ? "1" : "0");
        return;
    }
    if (part->kind == CHOICE)
        append_number(text, part, false, false);
    else
        hn_text_printf(text, "(%s != 0)", part->code.failed ? "" : part->code.data);
    text->failed = text->failed || part->code.failed;
}

/* Takes the code of another part. */
static void move(struct part *to, struct part *from)
{
    bool as_condition = to->as_condition;
    *to = *from;
    to->as_condition = as_condition;
    from->code = (struct hn_text){0};
}

/* "(a operation b)" with an operator, "prefix_helper(a, b)" else; b NULL: of one operand. */
static void set_operation(const struct generator *generator, const char *name, enum part_kind kind,
                          const struct part *a, const struct part *b, bool real, struct part *part)
{
    bool helper = hn_is_letter(*name);
    bool widen = !helper && kind == INTEGER;
    part->kind = kind;
    if (helper)
        hn_text_printf(&part->code, "%s_%s%s", generator->prefix, name,
                       real && strcmp(name, "log2") != 0 ? "_real" : "");
    hn_text_append(&part->code, "(");
    if (b == NULL && !helper)
        hn_text_append(&part->code, name);
    append_number(&part->code, a, real, widen);
    if (b != NULL) {
        hn_text_printf(&part->code, helper ? ", " : " %s ", name);
        append_number(&part->code, b, real, widen);
    }
    hn_text_append(&part->code, ")");
}

static void set_both(const char *operation, const struct part *a, const struct part *b,
                     struct part *part)
{
    part->kind = CHOICE;
    hn_text_append(&part->code, "(");
    append_condition(&part->code, a);
    hn_text_printf(&part->code, " %s ", operation);
    append_condition(&part->code, b);
    hn_text_append(&part->code, ")");
}

/* Joins two conditions, without constants. */
static void join(const char *operation, bool decides, struct part *a, struct part *b,
                 struct part *part)
{
    if (a->kind == CONSTANT)
        move(part, hn_value_truth(&a->value) == decides ? a : b);
    else if (b->kind == CONSTANT)
        move(part, hn_value_truth(&b->value) == decides ? b : a);
    else
        set_both(operation, a, b, part);
}

/* "(condition ? a : b)", of the wider of both types. */
static void set_conditional(struct generator *generator, const struct hn_operation *operation,
                            const struct part *condition, const struct part *a,
                            const struct part *b, struct part *part)
{
    if (is_word(a) || is_word(b)) {
        fail(generator, operation, HN_ECONFIG, "a word is not a number");
        return;
    }
    bool real = is_real(a) || is_real(b);
    part->kind = real ? REAL : INTEGER;
    hn_text_append(&part->code, "(");
    append_condition(&part->code, condition);
    hn_text_append(&part->code, " ? ");
    append_number(&part->code, a, real, true);
    hn_text_append(&part->code, " : ");
    append_number(&part->code, b, real, true);
    hn_text_append(&part->code, ")");
    part->narrow = !real && a->kind == CONSTANT && b->kind == CONSTANT;
}

static void set_name(struct generator *generator, const struct hn_operation *operation,
                     struct part *part)
{
    if (operation->slot == HN_SLOT_UNBOUND) {
        fail(generator, operation, HN_EVALUE, "the name is not bound");
        return;
    }
    const struct hn_c_slot *slot = operation->slot < 0 ? NULL : &generator->slots[operation->slot];
    if (slot == NULL || slot->constant != NULL) {
        set_constant(part, slot == NULL ? operation->constant : *slot->constant);
        return;
    }
    part->kind = slot->words != NULL ? WORD : slot->real ? REAL : INTEGER;
    part->slot = slot;
    hn_text_append(&part->code, slot->name);
}

static void set_logical(struct generator *generator, const struct hn_operation *operation,
                        struct part *a, struct part *b, struct part *part)
{
    bool is_or = operation->code == HN_OP_OR;
    const char *name = is_or ? "||" : "&&";
    if (a->kind == CONSTANT)
        move(part, hn_value_truth(&a->value) == is_or ? a : b);
    else if (part->as_condition)
        join(name, is_or, a, b, part);
    else if (a->kind == CHOICE && b->kind == CHOICE)
        set_both(name, a, b, part);
    else
        set_conditional(generator, operation, a, is_or ? a : b, is_or ? b : a, part);
}

/* Words compare as their numbers; only for equality, and only where the numbers mean the same. */
static void compare_words(struct generator *generator, const struct hn_operation *operation,
                          const struct part *a, const struct part *b, struct part *part)
{
    const struct part *slot = a->kind == WORD ? a : b;
    const struct part *other = slot == a ? b : a;
    if (operation->code != HN_OP_EQUAL && operation->code != HN_OP_NOT_EQUAL) {
        fail(generator, operation, HN_ECONFIG, "words have no order in C");
        return;
    }
    if (other->kind == WORD && other->slot->words != slot->slot->words) {
        fail(generator, operation, HN_ECONFIG, "two names with different words are compared");
        return;
    }
    size_t words = slot->slot->word_count, number = words;
    if (other->kind == CONSTANT && other->value.type == HN_WORD)
        number = hn_text_place(other->value.word, slot->slot->words, words);
    if (other->kind != WORD && number == words) {
        set_constant(part, hn_boolean(operation->code == HN_OP_NOT_EQUAL));
        return;
    }
    part->kind = CHOICE;
    hn_text_printf(&part->code, "(%s %s ", slot->slot->name,
                   hn_operation_forms[operation->code].text);
    if (other->kind == WORD)
        hn_text_printf(&part->code, "%s)", other->slot->name);
    else
        hn_text_printf(&part->code, "%zu)", number + 1);
}

static void set_comparison(struct generator *generator, const struct hn_operation *operation,
                           const struct part *a, const struct part *b, struct part *part)
{
    bool equality = operation->code == HN_OP_EQUAL || operation->code == HN_OP_NOT_EQUAL;
    if (a->kind == WORD || b->kind == WORD)
        compare_words(generator, operation, a, b, part);
    else if (!is_word(a) && !is_word(b))
        set_operation(generator, hn_operation_forms[operation->code].in_c, CHOICE, a, b,
                      is_real(a) || is_real(b), part);
    else if (equality)
        set_constant(part, hn_boolean(operation->code == HN_OP_NOT_EQUAL));
    else
        fail(generator, operation, HN_EVALUE, "a word and a number have no order");
}

/* b NULL: of one operand. */
static void set_arithmetic(struct generator *generator, const struct hn_operation *operation,
                           const struct part *a, const struct part *b, struct part *part)
{
    enum hn_operator code = operation->code;
    bool real = is_real(a) || (b != NULL && is_real(b)) || code == HN_OP_DIVIDE ||
                code == HN_OP_LOG2 ||
                (code == HN_OP_POWER && b->kind == CONSTANT && b->value.type == HN_INTEGER &&
                 b->value.integer < 0);
    bool of_integers = code == HN_OP_INVERT || (code >= HN_OP_BIT_OR && code <= HN_OP_SHIFT_RIGHT);
    if (is_word(a) || (b != NULL && is_word(b)) || (real && of_integers))
        fail(generator, operation, HN_ECONFIG,
             code == HN_OP_MIN || code == HN_OP_MAX ? "words have no order in C"
             : code > HN_OP_MAX                     ? "a word where a number is needed"
                                                    : "a word or real where a number is needed");
    else if (code == HN_OP_SIZEOF)
        fail(generator, operation, HN_ECONFIG, "sizeof needs the name of a type");
    else
        set_operation(generator, hn_operation_forms[code].in_c,
                      code == HN_OP_IS_POWER_OF_2 ? CHOICE
                      : real                      ? REAL
                                                  : INTEGER,
                      a, b, real, part);
}

static void generate(struct generator *generator, const struct hn_operation *operation,
                     struct part *part)
{
    struct part *a = &generator->parts[operation->operand[0]];
    struct part *b = &generator->parts[operation->operand[1]];
    enum hn_operator code = operation->code;
    bool is_binary = hn_operation_forms[code].operands == 2;
    switch (code) {
    case HN_OP_CONSTANT:
        set_constant(part, operation->constant);
        return;
    case HN_OP_NAME:
        set_name(generator, operation, part);
        return;
    case HN_OP_AND:
    case HN_OP_OR:
        set_logical(generator, operation, a, b, part);
        return;
    case HN_OP_CHAIN:
    case HN_OP_ALL:
        join("&&", false, a, b, part);
        return;
    case HN_OP_ANY:
        join("||", true, a, b, part);
        return;
    case HN_OP_NEVER:
    case HN_OP_ALWAYS:
        set_constant(part, hn_boolean(code == HN_OP_ALWAYS));
        return;
    case HN_OP_SELECT: {
        struct part *c = &generator->parts[operation->operand[2]];
        if (a->kind == CONSTANT)
            move(part, hn_value_truth(&a->value) ? b : c);
        else
            set_conditional(generator, operation, a, b, c, part);
        return;
    }
    default:
        break;
    }
    if (a->kind == CONSTANT && (!is_binary || b->kind == CONSTANT)) {
        struct hn_value value;
        const char *reason = hn_apply(code, &a->value, &b->value, &value);
        if (reason != NULL)
            fail(generator, operation, HN_EVALUE, reason);
        else
            set_constant(part, value);
    } else if (code == HN_OP_NOT) {
        part->kind = CHOICE;
        hn_text_append(&part->code, "(!");
        append_condition(&part->code, a);
        hn_text_append(&part->code, ")");
    } else if (code >= HN_OP_LESS && code <= HN_OP_NOT_EQUAL) {
        set_comparison(generator, operation, a, b, part);
    } else {
        set_arithmetic(generator, operation, a, is_binary ? b : NULL, part);
    }
}

/* Marks of which operations from `first` to `root` only the truth is wanted. */
static void mark_conditions(struct generator *generator, int first, int root, bool as_condition)
{
    generator->parts[root].as_condition = as_condition;
    for (int i = root; i >= first; i--) {
        const struct hn_operation *operation = &generator->expression->list[i];
        enum hn_operator code = operation->code;
        bool same = code == HN_OP_AND || code == HN_OP_OR;
        bool truth = code == HN_OP_NOT || code == HN_OP_SELECT;
        for (int j = 0; j < hn_operation_forms[code].operands; j++)
            generator->parts[operation->operand[j]].as_condition =
                same || (code == HN_OP_SELECT && j > 0) ? generator->parts[i].as_condition : truth;
    }
}

/* The parts of all operations that count: what a constant decides is left out. The last one is the
 * result. */
static struct part *generate_all(struct generator *generator, bool as_condition)
{
    const struct hn_expression *expression = generator->expression;
    int root = expression->count - 1;
    generator->parts = calloc((size_t)root + 1, sizeof *generator->parts);
    if (generator->parts == NULL) {
        generator->status = hn_fail_memory(generator->err);
        return NULL;
    }
    mark_conditions(generator, 0, root, as_condition);
    for (int i = 0; i <= root && generator->status == HN_OK; i++) {
        const struct hn_operation *operation = &expression->list[i];
        bool skips_if = operation->code == HN_OP_SKIP_IF;
        if (!skips_if && operation->code != HN_OP_SKIP_UNLESS) {
            struct part *part = &generator->parts[i];
            generate(generator, operation, part);
            /* An operand that the C needs twice is written twice: nested, that doubles with every
             * level. */
            if (generator->status == HN_OK && part->code.length > CODE_BYTES)
                fail(generator, operation, HN_ECONFIG, "too long; nest less");
            /* the operands of comparisons may be those of others, too */
            bool shares = operation->code >= HN_OP_LESS && operation->code <= HN_OP_NOT_EQUAL;
            for (int j = 0; j < hn_operation_forms[operation->code].operands && !shares; j++)
                hn_text_finish(&generator->parts[operation->operand[j]].code);
            continue;
        }
        const struct part *condition = &generator->parts[operation->operand[0]];
        int target = operation->operand[1];
        enum hn_operator after = expression->list[target].code;
        if (condition->kind != CONSTANT) {
            /* what is chosen at run time is chosen as a value */
            if (after == HN_OP_SKIP_IF || after == HN_OP_SELECT)
                mark_conditions(generator, i + 1, target - 1, false);
        } else if (hn_value_truth(&condition->value) == skips_if) {
            i = target - 1;
        }
    }
    return &generator->parts[root];
}

static void finish_all(struct generator *generator)
{
    for (int i = 0; i < generator->expression->count && generator->parts != NULL; i++)
        hn_text_finish(&generator->parts[i].code);
    free(generator->parts);
}

static void append_result(struct generator *generator, const struct part *part, bool *real,
                          struct hn_text *text)
{
    const struct hn_operation *root =
        &generator->expression->list[generator->expression->count - 1];
    if (real != NULL)
        *real = is_real(part);
    if (real == NULL && part->kind == REAL) {
        hn_text_printf(text, "%s_integer(", generator->prefix);
        append_number(text, part, true, false);
        hn_text_append(text, ")");
    } else if (real == NULL && is_real(part)) {
        double number = part->value.real;
        const struct part whole = {.value =
                                       hn_integer(fabs(number) < 0x1p63 ? (int64_t)number : 0)};
        if (number == floor(number) && fabs(number) < 0x1p63)
            append_number(text, &whole, false, false);
        else
            fail(generator, root, HN_EVALUE, "not an integer");
    } else {
        append_number(text, part, is_real(part), false);
    }
}

enum hn_status hn_expression_append_c(const struct hn_expression *expression,
                                      const struct hn_c_slot *slots, const char *prefix, bool *real,
                                      struct hn_text *text, struct hn_error *err)
{
    struct generator generator = {expression, slots, prefix, NULL, HN_OK, err};
    const struct part *part = generate_all(&generator, false);
    if (generator.status == HN_OK && is_word(part))
        fail(&generator, &expression->list[expression->count - 1], HN_ECONFIG,
             "a word is not a number");
    if (generator.status == HN_OK)
        append_result(&generator, part, real, text);
    finish_all(&generator);
    return generator.status;
}

enum hn_status hn_expression_append_c_condition(const struct hn_expression *expression,
                                                const struct hn_c_slot *slots, const char *prefix,
                                                struct hn_text *text, struct hn_error *err)
{
    struct generator generator = {expression, slots, prefix, NULL, HN_OK, err};
    const struct part *part = generate_all(&generator, true);
    if (generator.status == HN_OK)
        append_condition(text, part);
    finish_all(&generator);
    return generator.status;
}

/* '@' stands for the prefix. A helper comes after those that it calls. The reals follow the
 * evaluator's own formulas (expression_operations.c), so that both round alike. */
static const struct helper {
    const char *name;
    bool math;
    const char *code;
} helpers[] = {
    {"floor_div", false,
     "int64_t @_floor_div(int64_t a, int64_t b)\n"
     "{\n"
     "    int64_t away = b != 0 && b != -1 && a % b != 0 && (a % b < 0) != (b < 0);\n"
     "    return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b - away;\n"
     "}\n"},
    {"modulo", false,
     "int64_t @_modulo(int64_t a, int64_t b)\n"
     "{\n"
     "    return b == 0 || b == -1 ? 0 : a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);\n"
     "}\n"},
    {"ceil_div", false,
     "int64_t @_ceil_div(int64_t a, int64_t b)\n"
     "{\n"
     "    int64_t away = b != 0 && b != -1 && a % b != 0 && (a % b < 0) == (b < 0);\n"
     "    return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b + away;\n"
     "}\n"},
    {"power", false,
     "int64_t @_power(int64_t base, int64_t exponent)\n"
     "{\n"
     "    uint64_t power = 1, square = (uint64_t)base;\n"
     "    for (; exponent > 0; exponent >>= 1) {\n"
     "        power *= (exponent & 1) != 0 ? square : 1;\n"
     "        square *= square;\n"
     "    }\n"
     "    return (int64_t)power;\n"
     "}\n"},
    {"shift_left", false,
     "int64_t @_shift_left(int64_t a, int64_t count)\n"
     "{\n"
     "    return count < 0 || count > 63 ? 0 : (int64_t)((uint64_t)a << count);\n"
     "}\n"},
    {"shift_right", false,
     "int64_t @_shift_right(int64_t a, int64_t count)\n"
     "{\n"
     "    return count < 0 ? 0 : a >> (count > 63 ? 63 : count);\n"
     "}\n"},
    {"min", false, "int64_t @_min(int64_t a, int64_t b)\n{\n    return b < a ? b : a;\n}\n"},
    {"max", false, "int64_t @_max(int64_t a, int64_t b)\n{\n    return b > a ? b : a;\n}\n"},
    {"abs", false,
     "int64_t @_abs(int64_t a)\n{\n    return a < 0 ? (int64_t)(0 - (uint64_t)a) : a;\n}\n"},
    {"is_power_of_2", false,
     "int @_is_power_of_2(int64_t n)\n{\n    return n > 0 && (n & (n - 1)) == 0;\n}\n"},
    {"min_real", false, "double @_min_real(double a, double b)\n{\n    return b < a ? b : a;\n}\n"},
    {"max_real", false, "double @_max_real(double a, double b)\n{\n    return b > a ? b : a;\n}\n"},
    {"abs_real", true, "double @_abs_real(double a)\n{\n    return fabs(a);\n}\n"},
    {"modulo_real", true,
     "double @_modulo_real(double a, double b)\n"
     "{\n"
     "    double remainder = fmod(a, b);\n"
     "    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;\n"
     "}\n"},
    {"floor_div_real", true,
     "double @_floor_div_real(double a, double b)\n"
     "{\n"
     "    double remainder = fmod(a, b);\n"
     "    double quotient = (a - remainder) / b;\n"
     "    return round(remainder != 0 && (remainder < 0) != (b < 0) ? quotient - 1 : quotient);\n"
     "}\n"},
    {"ceil_div_real", true,
     "double @_ceil_div_real(double a, double b)\n"
     "{\n"
     "    return @_floor_div_real(a, b) + (fmod(a, b) != 0 ? 1 : 0);\n"
     "}\n"},
    {"is_power_of_2_real", true,
     "int @_is_power_of_2_real(double n)\n"
     "{\n"
     "    int exponent;\n"
     "    return n >= 1 && frexp(n, &exponent) == 0.5;\n"
     "}\n"},
    {"power_real", true,
     "double @_power_real(double base, double exponent)\n{\n    return pow(base, exponent);\n}\n"},
    {"log2", true, "double @_log2(double a)\n{\n    return log2(a);\n}\n"},
    {"integer", false,
     "int64_t @_integer(double a)\n"
     "{\n"
     "    return a > -9.2e18 && a < 9.2e18 ? (int64_t)a : 0;\n"
     "}\n"},
    {"whole", false, /* a size that is not whole is none */
     "int64_t @_whole(double a)\n"
     "{\n"
     "    int64_t whole = a >= -9e18 && a <= 9e18 ? (int64_t)a : -1;\n"
     "    return a > (double)whole || a < (double)whole ? -1 : whole;\n"
     "}\n"},
};

enum { HELPER_COUNT = sizeof helpers / sizeof helpers[0] };

static bool calls(const char *code, const char *prefix, const char *name)
{
    struct hn_text call = {0};
    hn_text_printf(&call, "%s_%s(", prefix, name);
    bool found = !call.failed && strstr(code, call.data) != NULL;
    hn_text_finish(&call);
    return found;
}

static void append_helper(struct hn_text *text, const char *code, const char *prefix)
{
    hn_text_append(text, "static inline ");
    while (*code != '\0') {
        size_t length = strcspn(code, "@");
        hn_text_append_bytes(text, code, length);
        code += length;
        if (*code == '@') {
            hn_text_append(text, prefix);
            code++;
        }
    }
    hn_text_append(text, "\n");
}

void hn_expression_append_c_helpers(const char *code, const char *prefix, struct hn_text *text,
                                    bool *needs_math)
{
    bool needed[HELPER_COUNT] = {false};
    *needs_math = false;
    for (size_t i = HELPER_COUNT; i-- > 0;) {
        needed[i] = calls(code, prefix, helpers[i].name);
        for (size_t user = i + 1; user < HELPER_COUNT && !needed[i]; user++)
            needed[i] = needed[user] && calls(helpers[user].code, "@", helpers[i].name);
        *needs_math = *needs_math || (needed[i] && helpers[i].math);
    }
    for (size_t i = 0; i < HELPER_COUNT; i++) {
        if (needed[i])
            append_helper(text, helpers[i].code, prefix);
    }
}
