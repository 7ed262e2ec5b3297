/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_internal.h"
#include "base/expression/expression_terms.h"
#include "base/memory.h"
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
    struct hn_error *err;
    struct part *parts; /* by operation */
    /* the one at hand, and its operands */
    const struct hn_operation *operation;
    struct part *part;
    struct part *a, *b, *c;
};

/* Functions without a value are sticky. */
static void fail(struct generator *generator, enum hn_status status, const char *reason)
{
    if (!hn_failed(generator->err))
        hn_fail(generator->err, status, "'%s', column %u: %s%s", generator->expression->text,
                generator->operation->column,
                status == HN_ECONFIG ? "cannot be written as C: " : "", reason);
}

static void set_constant(struct generator *generator, struct hn_value value)
{
    generator->part->kind = CONSTANT;
    generator->part->value = value;
}

static bool is_word(const struct part *part)
{
    return part->kind == WORD || (part->kind == CONSTANT && part->value.type == HN_WORD);
}

static bool is_real(const struct part *part)
{
    return part->kind == REAL || (part->kind == CONSTANT && part->value.type == HN_REAL);
}

static bool is_equality(const struct hn_operation *operation)
{
    return operation->code == HN_OP_EQUAL || operation->code == HN_OP_NOT_EQUAL;
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

/* C has no literals for what is not finite. */
static void append_real(struct hn_text *text, double real)
{
    const struct hn_value number = hn_real(real < 0 ? -real : real);
    hn_text_append(text, real < 0 ? "(-" : "");
    if (isfinite(real))
        hn_value_append(text, &number);
    else
        hn_text_append(text, isnan(real) ? "(1e308 * 10 * 0)" : "(1e308 * 10)");
    hn_text_append(text, real < 0 ? ")" : "");
}

static void append_code(struct hn_text *text, const struct part *part)
{
    hn_text_append(text, part->code.failed ? "" : part->code.data);
    text->failed = text->failed || part->code.failed;
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
        append_code(text, part);
    } else if (!real && part->value.type != HN_REAL) {
        append_integer(text,
                       part->value.type == HN_BOOLEAN ? part->value.boolean : part->value.integer);
    } else {
        append_real(text, hn_value_number(&part->value));
    }
}

/* The truth of the part, as a C condition. */
static void append_condition(struct hn_text *text, const struct part *part)
{
    if (part->kind == CONSTANT || part->kind == WORD) {
        hn_text_append(text, part->kind == WORD || hn_value_truth(&part->value) ? "1" : "0");
        return;
    }
    hn_text_append(text, part->kind == CHOICE ? "" : "(");
    append_code(text, part);
    hn_text_append(text, part->kind == CHOICE ? "" : " != 0)");
}

/* The operation is this one of its operands, whose code it takes. */
static void move(struct generator *generator, struct part *from)
{
    bool as_condition = generator->part->as_condition;
    *generator->part = *from;
    generator->part->as_condition = as_condition;
    from->code = (struct hn_text){0};
}

/* "(a operation b)" with an operator, "prefix_helper(a, b)" else. */
static void set_operation(struct generator *generator, enum part_kind kind, bool real)
{
    const struct hn_operation_form *form = &hn_operation_forms[generator->operation->code];
    struct hn_text *code = &generator->part->code;
    bool helper = hn_is_letter(*form->in_c);
    bool widen = !helper && kind == INTEGER;
    generator->part->kind = kind;
    if (helper)
        hn_text_printf(code, "%s_%s%s", generator->prefix, form->in_c,
                       real && generator->operation->code != HN_OP_LOG2 ? "_real" : "");
    hn_text_append(code, "(");
    hn_text_append(code, form->operands == 1 && !helper ? form->in_c : "");
    append_number(code, generator->a, real, widen);
    if (form->operands == 2) {
        hn_text_printf(code, helper ? ", " : " %s ", form->in_c);
        append_number(code, generator->b, real, widen);
    }
    hn_text_append(code, ")");
}

static void set_both(struct generator *generator, const char *name)
{
    struct hn_text *code = &generator->part->code;
    generator->part->kind = CHOICE;
    hn_text_append(code, "(");
    append_condition(code, generator->a);
    hn_text_printf(code, " %s ", name);
    append_condition(code, generator->b);
    hn_text_append(code, ")");
}

/* Joins two conditions, without constants. */
static void join(struct generator *generator, bool is_or)
{
    struct part *a = generator->a;
    struct part *b = generator->b;
    if (a->kind == CONSTANT)
        move(generator, hn_value_truth(&a->value) == is_or ? a : b);
    else if (b->kind == CONSTANT)
        move(generator, hn_value_truth(&b->value) == is_or ? b : a);
    else
        set_both(generator, is_or ? "||" : "&&");
}

/* "(condition ? a : b)", of the wider of both types. */
static void set_conditional(struct generator *generator, const struct part *a, const struct part *b)
{
    struct part *part = generator->part;
    bool real = is_real(a) || is_real(b);
    if (is_word(a) || is_word(b)) {
        fail(generator, HN_ECONFIG, "a word is not a number");
        return;
    }
    part->kind = real ? REAL : INTEGER;
    hn_text_append(&part->code, "(");
    append_condition(&part->code, generator->a);
    hn_text_append(&part->code, " ? ");
    append_number(&part->code, a, real, true);
    hn_text_append(&part->code, " : ");
    append_number(&part->code, b, real, true);
    hn_text_append(&part->code, ")");
    part->narrow = !real && a->kind == CONSTANT && b->kind == CONSTANT;
}

static void set_name(struct generator *generator)
{
    int number = generator->operation->slot;
    const struct hn_c_slot *slot = number < 0 ? NULL : &generator->slots[number];
    struct part *part = generator->part;
    if (number == HN_SLOT_UNBOUND)
        fail(generator, HN_EVALUE, "the name is not bound");
    if (slot == NULL || slot->constant != NULL) {
        set_constant(generator, slot == NULL ? generator->operation->constant : *slot->constant);
        return;
    }
    part->kind = slot->words != NULL ? WORD : slot->real ? REAL : INTEGER;
    part->slot = slot;
    hn_text_append(&part->code, slot->name);
}

static void set_logical(struct generator *generator)
{
    bool is_or = generator->operation->code == HN_OP_OR;
    struct part *a = generator->a;
    struct part *b = generator->b;
    if (a->kind == CONSTANT || generator->part->as_condition)
        join(generator, is_or);
    else if (a->kind == CHOICE && b->kind == CHOICE)
        set_both(generator, is_or ? "||" : "&&");
    else
        set_conditional(generator, is_or ? a : b, is_or ? b : a);
}

/* Words compare as their numbers; only for equality, and only where the numbers mean the same. */
static void compare_words(struct generator *generator)
{
    const struct part *slot = generator->a->kind == WORD ? generator->a : generator->b;
    const struct part *other = slot == generator->a ? generator->b : generator->a;
    const struct hn_operation *operation = generator->operation;
    struct part *part = generator->part;
    if (!is_equality(operation))
        fail(generator, HN_ECONFIG, "words have no order in C");
    if (other->kind == WORD && other->slot->words != slot->slot->words)
        fail(generator, HN_ECONFIG, "two names with different words are compared");
    size_t words = slot->slot->word_count, number = words;
    if (other->kind == CONSTANT && other->value.type == HN_WORD)
        number = hn_text_place(other->value.word, slot->slot->words, words);
    if (other->kind != WORD && number == words) {
        set_constant(generator, hn_boolean(operation->code == HN_OP_NOT_EQUAL));
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

static void set_comparison(struct generator *generator)
{
    const struct part *a = generator->a;
    const struct part *b = generator->b;
    if (a->kind == WORD || b->kind == WORD)
        compare_words(generator);
    else if (!is_word(a) && !is_word(b))
        set_operation(generator, CHOICE, is_real(a) || is_real(b));
    else if (is_equality(generator->operation))
        set_constant(generator, hn_boolean(generator->operation->code == HN_OP_NOT_EQUAL));
    else
        fail(generator, HN_EVALUE, "a word and a number have no order");
}

static void set_arithmetic(struct generator *generator)
{
    enum hn_operator code = generator->operation->code;
    const struct part *a = generator->a;
    const struct part *b = hn_operation_forms[code].operands == 2 ? generator->b : a;
    /* 2 ** -N is one, and none without the sign. */
    bool negative =
        b->kind == CONSTANT
            ? b->value.type == HN_INTEGER && b->value.integer < 0
            : generator->expression->list[generator->operation->operand[1]].code == HN_OP_NEGATIVE;
    bool real = is_real(a) || is_real(b) || code == HN_OP_DIVIDE || code == HN_OP_LOG2 ||
                (code == HN_OP_POWER && negative);
    bool of_integers = code == HN_OP_INVERT || (code >= HN_OP_BIT_OR && code <= HN_OP_SHIFT_RIGHT);
    if (is_word(a) || is_word(b) || (real && of_integers))
        fail(generator, HN_ECONFIG,
             code == HN_OP_MIN || code == HN_OP_MAX ? "words have no order in C"
             : code > HN_OP_MAX                     ? "a word where a number is needed"
                                                    : "a word or real where a number is needed");
    else if (code == HN_OP_SIZEOF)
        fail(generator, HN_ECONFIG, "sizeof needs the name of a type");
    else
        set_operation(generator,
                      code == HN_OP_IS_POWER_OF_2 ? CHOICE
                      : real                      ? REAL
                                                  : INTEGER,
                      real);
}

static void generate(struct generator *generator)
{
    struct part *a = generator->a;
    struct part *b = generator->b;
    enum hn_operator code = generator->operation->code;
    bool is_binary = hn_operation_forms[code].operands == 2;
    if (code == HN_OP_CONSTANT) {
        set_constant(generator, generator->operation->constant);
    } else if (code == HN_OP_NAME) {
        set_name(generator);
    } else if (code == HN_OP_AND || code == HN_OP_OR) {
        set_logical(generator);
    } else if (code == HN_OP_CHAIN || code == HN_OP_ALL || code == HN_OP_ANY) {
        join(generator, code == HN_OP_ANY);
    } else if (code == HN_OP_NEVER || code == HN_OP_ALWAYS) {
        set_constant(generator, hn_boolean(code == HN_OP_ALWAYS));
    } else if (code == HN_OP_SELECT && a->kind == CONSTANT) {
        move(generator, hn_value_truth(&a->value) ? b : generator->c);
    } else if (code == HN_OP_SELECT) {
        set_conditional(generator, b, generator->c);
    } else if (a->kind == CONSTANT && (!is_binary || b->kind == CONSTANT)) {
        const char *reason = hn_apply(code, &a->value, &b->value, &generator->part->value);
        if (reason != NULL)
            fail(generator, HN_EVALUE, reason);
    } else if (code == HN_OP_NOT) {
        generator->part->kind = CHOICE;
        hn_text_append(&generator->part->code, "(!");
        append_condition(&generator->part->code, a);
        hn_text_append(&generator->part->code, ")");
    } else if (code >= HN_OP_LESS && code <= HN_OP_NOT_EQUAL) {
        set_comparison(generator);
    } else {
        set_arithmetic(generator);
    }
}

/* Marks of which operations from `first` to `root` only the truth is wanted. */
static void mark_conditions(struct generator *generator, int first, int root, bool as_condition)
{
    generator->parts[root].as_condition = as_condition;
    for (int i = root; i >= first; i--) {
        const struct hn_operation *operation = &generator->expression->list[i];
        for (int j = 0; j < hn_operation_forms[operation->code].operands; j++)
            generator->parts[operation->operand[j]].as_condition =
                hn_wants_truth(operation->code, j, generator->parts[i].as_condition);
    }
}

/* One operation as C. */
static void make_part(struct generator *generator, int number)
{
    const struct hn_operation *operation = &generator->expression->list[number];
    generator->operation = operation;
    generator->part = &generator->parts[number];
    generator->a = &generator->parts[operation->operand[0]];
    generator->b = &generator->parts[operation->operand[1]];
    generator->c = &generator->parts[operation->operand[2]];
    generate(generator);
    /* An operand that the C needs twice is written twice: nested, that doubles with every level. */
    if (generator->part->code.length > CODE_BYTES)
        fail(generator, HN_ECONFIG, "too long; nest less");
    /* the operands of comparisons may be those of others, too */
    bool shares = operation->code >= HN_OP_LESS && operation->code <= HN_OP_NOT_EQUAL;
    for (int i = 0; i < hn_operation_forms[operation->code].operands && !shares; i++)
        hn_text_finish(&generator->parts[operation->operand[i]].code);
}

/* The parts of all operations that count: what a constant decides is left out. The last one is the
 * result; NULL after a failure. */
static const struct part *generate_all(struct generator *generator, bool as_condition)
{
    const struct hn_expression *expression = generator->expression;
    int root = expression->count - 1;
    generator->parts = hn_allocate((size_t)root + 1, sizeof *generator->parts, generator->err);
    if (generator->parts != NULL)
        mark_conditions(generator, 0, root, as_condition);
    for (int i = 0; i <= root && !hn_failed(generator->err); i++) {
        const struct hn_operation *operation = &expression->list[i];
        bool skips_if = operation->code == HN_OP_SKIP_IF;
        if (!skips_if && operation->code != HN_OP_SKIP_UNLESS) {
            make_part(generator, i);
            continue;
        }
        const struct part *condition = &generator->parts[operation->operand[0]];
        int target = operation->operand[1];
        enum hn_operator after = expression->list[target].code;
        if (condition->kind == CONSTANT && hn_value_truth(&condition->value) == skips_if)
            i = target - 1;
        else if (condition->kind != CONSTANT && (after == HN_OP_SKIP_IF || after == HN_OP_SELECT))
            /* what is chosen at run time is chosen as a value */
            mark_conditions(generator, i + 1, target - 1, false);
    }
    return hn_failed(generator->err) ? NULL : &generator->parts[root];
}

static enum hn_status finish(struct generator *generator)
{
    for (int i = 0; i < generator->expression->count && generator->parts != NULL; i++)
        hn_text_finish(&generator->parts[i].code);
    free(generator->parts);
    return generator->err->status;
}

enum hn_status hn_expression_append_c(const struct hn_expression *expression,
                                      const struct hn_c_slot *slots, const char *prefix,
                                      enum hn_c_form form, bool *real, struct hn_text *text,
                                      struct hn_error *err)
{
    struct generator generator = {expression, slots, prefix, .err = err};
    hn_error_init(err);
    const struct part *part = generate_all(&generator, form == HN_C_CONDITION);
    if (part == NULL)
        return finish(&generator);
    if (form == HN_C_NUMBER)
        *real = is_real(part);
    if (form == HN_C_CONDITION) {
        append_condition(text, part);
    } else if (is_word(part)) {
        fail(&generator, HN_ECONFIG, "a word is not a number");
    } else if (form == HN_C_NUMBER || !is_real(part)) {
        append_number(text, part, is_real(part), false);
    } else if (part->kind == REAL) {
        hn_text_printf(text, "%s_integer(", prefix);
        append_number(text, part, true, false);
        hn_text_append(text, ")");
    } else if (part->value.real == floor(part->value.real) && fabs(part->value.real) < 0x1p63) {
        append_integer(text, (int64_t)part->value.real);
    } else {
        fail(&generator, HN_EVALUE, "not an integer");
    }
    return finish(&generator);
}

/* A function of helpers.h.in. */
struct helper {
    const char *code, *name;
    size_t size, name_size;
    bool needed, math;
};

enum { HELPERS_MOST = 32 };

static size_t find_helpers(struct helper *helpers)
{
    size_t count = 0;
    bool math = false;
    const char *at = hn_expression_helpers, *code;
    while (count < HELPERS_MOST && (code = strstr(at, "static inline ")) != NULL) {
        math = math || memmem(at, (size_t)(code - at), "#include", strlen("#include")) != NULL;
        at = strstr(code, "\n}\n") + strlen("\n}\n");
        const char *name = strchr(code, '@') + 1;
        helpers[count++] =
            (struct helper){code, name, (size_t)(at - code), strcspn(name, "(") + 1, false, math};
    }
    return count;
}

static bool calls(const char *code, size_t size, const char *prefix, const struct helper *helper)
{
    struct hn_text call HN_ENDED_BY(hn_text_finish) = {0};
    hn_text_append(&call, prefix);
    hn_text_append_bytes(&call, helper->name, helper->name_size);
    return !call.failed && memmem(code, size, call.data, call.length) != NULL;
}

void hn_expression_append_c_helpers(const char *code, const char *prefix, struct hn_text *text,
                                    bool *needs_math)
{
    struct helper helpers[HELPERS_MOST];
    size_t count = find_helpers(helpers);
    *needs_math = false;
    for (size_t i = count; i-- > 0;) {
        struct helper *own = &helpers[i];
        own->needed = calls(code, strlen(code), prefix, own);
        for (size_t user = i + 1; user < count && !own->needed; user++)
            own->needed =
                helpers[user].needed && calls(helpers[user].code, helpers[user].size, "@", own);
        *needs_math = *needs_math || (own->needed && own->math);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < helpers[i].size && helpers[i].needed; k++)
            if (helpers[i].code[k] == '@')
                hn_text_append(text, prefix);
            else
                hn_text_append_bytes(text, &helpers[i].code[k], 1);
        hn_text_append(text, helpers[i].needed ? "\n" : "");
    }
}

/* Terms in C. */
struct term_writer {
    const struct hn_terms *terms;
    const struct hn_c_slot *slots;
    const char *prefix;
    unsigned *uses; /* of each term */
    int *names;     /* of each term: the number of its variable; 0: it has none */
    struct hn_text *text;
};

/* Of integers. */
static bool is_arithmetic(int operation)
{
    return operation >= HN_OP_NEGATIVE && operation < HN_OP_LESS && operation != HN_OP_NOT;
}

static bool append_operation(const struct term_writer *writer, const struct hn_term *term);

static bool append_term(const struct term_writer *writer, int number)
{
    const struct hn_term *term = &writer->terms->items[number];
    if (term->operation == HN_OP_TABLE || writer->text->failed || writer->text->length > CODE_BYTES)
        return false;
    if (term->operation == HN_OP_CONSTANT && term->real)
        append_real(writer->text, term->low.real);
    else if (term->operation == HN_OP_CONSTANT)
        append_integer(writer->text, term->low.integer);
    else if (term->operation == HN_OP_NAME)
        hn_text_append(writer->text, writer->slots[term->slot].name);
    else if (writer->names[number] > 0)
        hn_text_printf(writer->text, "t%d", writer->names[number]);
    else
        return append_operation(writer, term);
    return true;
}

/* Whether C gives what the term has, where it divides by zero, too. */
static bool divides_well(const struct term_writer *writer, const struct hn_term *term)
{
    if (term->operation % HN_OF_REALS != HN_OP_DIVIDE)
        return true;
    const struct hn_term *by = &writer->terms->items[term->operand[1]];
    return by->real ? hn_term_is_finite(by) && by->low.real > 0 : by->low.integer > 0;
}

/* "(a ? b : c)", "(a operation b)" or "prefix_helper(a, b)". What is not negative is divided
 * without a helper, and what C has as an int is widened, because int arithmetic overflows sooner.
 */
static bool append_operation(const struct term_writer *writer, const struct hn_term *term)
{
    bool reals = term->operation >= HN_OF_REALS;
    int code = term->operation % HN_OF_REALS;
    const struct hn_operation_form *form = &hn_operation_forms[code];
    const struct hn_term *items = writer->terms->items;
    const char *between[2] = {form->in_c, ":"};
    bool can = divides_well(writer, term), helper = hn_is_letter(*form->in_c);
    if (!reals && (code == HN_OP_MODULO || code == HN_OP_FLOOR_DIVIDE) &&
        items[term->operand[0]].low.integer >= 0 && items[term->operand[1]].low.integer > 0) {
        between[0] = code == HN_OP_MODULO ? "%" : "/";
        helper = false;
    }
    if (helper)
        hn_text_printf(writer->text, "%s_%s%s", writer->prefix, form->in_c, reals ? "_real" : "");
    hn_text_append(writer->text, code == HN_OP_POSITIVE           ? "(double)"
                                 : form->operands == 1 && !helper ? form->in_c
                                                                  : "");
    hn_text_append(writer->text, "(");
    for (int i = 0; i < form->operands && can; i++) {
        const struct hn_term *operand = &items[term->operand[i]];
        if (i > 0)
            hn_text_printf(writer->text, helper ? ", " : " %s ", between[i - 1]);
        if (term->real && !operand->real && code == HN_OP_DIVIDE)
            hn_text_append(writer->text, "(double)");
        else if (is_arithmetic(term->operation) && !is_arithmetic(operand->operation) &&
                 operand->operation > HN_OP_NAME && writer->names[term->operand[i]] == 0)
            hn_text_append(writer->text, "(int64_t)");
        can = append_term(writer, term->operand[i]);
    }
    hn_text_append(writer->text, ")");
    return can;
}

/* Each on a line. */
static bool append_conjuncts(const struct term_writer *writer, int number)
{
    const struct hn_term *term = &writer->terms->items[number];
    if (term->operation != HN_OP_AND || writer->names[number] > 0)
        return append_term(writer, number);
    bool can = append_conjuncts(writer, term->operand[0]);
    hn_text_append(writer->text, " &&\n            ");
    return can && append_conjuncts(writer, term->operand[1]);
}

bool hn_program_append_c(const struct hn_program *program, int term, const struct hn_c_slot *slots,
                         const char *prefix, const char *result, struct hn_text *text)
{
    const struct hn_terms *terms = &program->terms;
    struct term_writer writer = {terms, slots, prefix, NULL, NULL, text};
    int count = 0;
    bool can = true, real = terms->items[term].real != 0;
    writer.uses = hn_need(terms->count, sizeof *writer.uses);
    writer.names = hn_need(terms->count, sizeof *writer.names);
    writer.uses[term] = 1;
    for (int i = term; i >= 0; i--)
        for (int k = 0; k < 3 && writer.uses[i] > 0 && terms->items[i].operand[k] >= 0; k++)
            writer.uses[terms->items[i].operand[k]]++;
    for (int i = 0; i < term && can; i++) {
        if (writer.uses[i] < 2 || terms->items[i].operation <= HN_OP_NAME)
            continue;
        hn_text_printf(text, "        const %s t%d = ", terms->items[i].real ? "double" : "int64_t",
                       ++count);
        can = append_term(&writer, i);
        writer.names[i] = count;
        hn_text_append(text, ";\n");
    }
    hn_text_printf(text, "        %s = %s(", result, real ? "" : "(int)");
    can = can && append_conjuncts(&writer, term);
    hn_text_append(text, ");\n");
    free(writer.uses);
    free(writer.names);
    return can;
}
