/* SPDX-License-Identifier: MIT */
#include "base/expression/expression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_internal.h"
#include "base/memory.h"

void hn_expression_destroy(struct hn_expression *expression)
{
    if (expression == NULL)
        return;
    if (!expression->borrows) {
        free(expression->strings);
        free(expression->text);
        free(expression->place);
    }
    free(expression->list);
    free(expression);
}

enum hn_status hn_expression_copy(const struct hn_expression *expression,
                                  struct hn_expression **copy, struct hn_error *err)
{
    enum hn_status status = hn_expression_parse(expression->text, copy, err);
    if (status != HN_OK)
        return status;
    for (int i = 0; i < expression->count; i++)
        (*copy)->list[i].slot = expression->list[i].slot;
    if (expression->place != NULL)
        hn_expression_set_place(*copy, expression->place);
    return HN_OK;
}

const char *hn_expression_text(const struct hn_expression *expression)
{
    return expression->text;
}

void hn_expression_set_place(struct hn_expression *expression, const char *place)
{
    free(expression->place);
    expression->place = strdup(place);
}

static enum hn_status fail_unknown(const char *name, const struct hn_scope *scope,
                                   struct hn_error *err)
{
    struct hn_text known HN_ENDED_BY(hn_text_finish) = {0};
    bool word = hn_text_nearest(name, scope->names, scope->name_count) == NULL &&
                hn_text_nearest(name, scope->words, scope->word_count) != NULL;
    hn_text_append_known(&known, name, word ? scope->words : scope->names,
                         word ? scope->word_count : scope->name_count);
    return hn_fail(err, HN_ECONFIG, "unknown name '%s'%s", name, known.failed ? "" : known.data);
}

/* sizeof(float32): a type is no name of the configuration, but stands for itself here. */
static bool is_type_argument(const struct hn_expression *expression, int name)
{
    for (int i = name + 1; i < expression->count; i++)
        if (expression->list[i].code == HN_OP_SIZEOF && expression->list[i].operand[0] == name)
            return hn_type_bytes(expression->list[name].constant.word) > 0;
    return false;
}

enum hn_status hn_expression_bind(struct hn_expression *expression, const struct hn_scope *scope,
                                  struct hn_error *err)
{
    for (int i = 0; i < expression->count; i++) {
        struct hn_operation *operation = &expression->list[i];
        const char *name = operation->constant.word;
        if (operation->code != HN_OP_NAME)
            continue;
        size_t slot = hn_text_place(name, scope->names, scope->name_count);
        if (slot < scope->name_count)
            operation->slot = (int)slot;
        else if (scope->word_count == HN_ANY_WORD ||
                 hn_text_is_among(name, scope->words, scope->word_count) ||
                 is_type_argument(expression, i))
            operation->slot = HN_SLOT_WORD;
        else
            return fail_unknown(name, scope, err);
    }
    return HN_OK;
}

bool hn_expression_uses(const struct hn_expression *expression, size_t slot)
{
    for (int i = 0; i < expression->count; i++)
        if (expression->list[i].slot >= 0 && (size_t)expression->list[i].slot == slot)
            return true;
    return false;
}

size_t hn_expression_slots(const struct hn_expression *expression)
{
    size_t slots = 0;
    for (int i = 0; i < expression->count; i++)
        if (expression->list[i].slot >= 0 && (size_t)expression->list[i].slot >= slots)
            slots = (size_t)expression->list[i].slot + 1;
    return slots;
}

struct hn_expression *hn_expression_part(const struct hn_expression *whole, int root)
{
    struct hn_expression *part = malloc(sizeof *part);
    /* by operation: 0 where it is not needed, else its place in the part, from 1 */
    int *places HN_FREED = calloc((size_t)root + 1, sizeof *places);
    struct hn_operation *list = NULL;
    int first = root, count = 0;
    for (int i = root; i >= first && places != NULL; i--) {
        const struct hn_operation *operation = &whole->list[i];
        places[root] = 1;
        if (operation->code == HN_OP_SKIP_IF || operation->code == HN_OP_SKIP_UNLESS)
            places[i] = operation->operand[1] <= root ? places[operation->operand[1]] : 0;
        for (int j = 0; j < hn_operation_forms[operation->code].operands && places[i] != 0; j++) {
            int operand = operation->operand[j];
            places[operand] = 1;
            first = operand < first ? operand : first;
        }
    }
    for (int i = first; i <= root && places != NULL; i++)
        if (places[i] != 0)
            places[i] = ++count;
    if (part != NULL && places != NULL)
        list = malloc((size_t)count * sizeof *list);
    if (list == NULL) {
        free(part);
        return NULL;
    }
    for (int i = first; i <= root; i++) {
        struct hn_operation operation = whole->list[i];
        for (int j = 0; j < 3; j++) {
            int place = operation.operand[j] <= root ? places[operation.operand[j]] : 0;
            operation.operand[j] = place > 0 ? place - 1 : 0;
        }
        if (places[i] != 0)
            list[places[i] - 1] = operation;
    }
    *part = *whole;
    part->borrows = true;
    part->list = list;
    part->count = count;
    return part;
}

/* The conditions that an operation demands: both operands of an `and` or of the links of a chain
 * do. */
static bool add_conjuncts(struct hn_conjuncts *conjuncts, const struct hn_expression *expression,
                          int root, size_t source)
{
    const struct hn_operation *operation = &expression->list[root];
    if (operation->code == HN_OP_AND || operation->code == HN_OP_CHAIN)
        return add_conjuncts(conjuncts, expression, operation->operand[0], source) &&
               add_conjuncts(conjuncts, expression, operation->operand[1], source);
    struct hn_conjunct *items = realloc(conjuncts->items, (conjuncts->count + 1) * sizeof *items);
    conjuncts->items = items != NULL ? items : conjuncts->items;
    struct hn_expression *part = items != NULL ? hn_expression_part(expression, root) : NULL;
    if (part != NULL)
        items[conjuncts->count++] = (struct hn_conjunct){part, source};
    return part != NULL;
}

bool hn_conjuncts_add(struct hn_conjuncts *conjuncts, const struct hn_expression *expression,
                      size_t source)
{
    return add_conjuncts(conjuncts, expression, expression->count - 1, source);
}

void hn_conjuncts_finish(struct hn_conjuncts *conjuncts)
{
    for (size_t i = 0; i < conjuncts->count; i++)
        hn_expression_destroy(conjuncts->items[i].expression);
    free(conjuncts->items);
    *conjuncts = (struct hn_conjuncts){0};
}

bool hn_value_truth(const struct hn_value *value)
{
    return value->type == HN_WORD ? value->word[0] != '\0' : hn_value_number(value) != 0;
}

static void append_operand(struct hn_text *text, const struct hn_value *value)
{
    const char *quote = value->type == HN_WORD ? "'" : "";
    hn_text_append(text, quote);
    hn_value_append(text, value);
    hn_text_append(text, quote);
}

/* Where the expression was written, for a message to begin with: place and separator. */
#define PLACE(expression)                                                                          \
    (expression)->place != NULL ? (expression)->place : "", (expression)->place != NULL ? ": " : ""

/* "'A % B == 0', column 3: 7 % 0: division by zero", "... log2(0): expected a positive number" */
static enum hn_status fail_operation(const struct hn_expression *expression,
                                     const struct hn_operation *operation, const struct hn_value *a,
                                     const struct hn_value *b, const char *reason,
                                     struct hn_error *err)
{
    if (err == NULL)
        return HN_EVALUE;
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    const char *name = hn_operation_forms[operation->code].text;
    bool is_call = operation->code >= HN_OP_MIN;
    bool is_unary = hn_operation_forms[operation->code].operands == 1;
    if (is_call || is_unary)
        hn_text_printf(&text, "%s%s", name, is_call ? "(" : "");
    append_operand(&text, a);
    if (!is_unary) {
        hn_text_printf(&text, is_call ? ", " : " %s ", name);
        append_operand(&text, b);
    }
    hn_text_append(&text, is_call ? ")" : "");
    hn_fail(err, HN_EVALUE, "%s%s'%s', column %u: %s: %s", PLACE(expression), expression->text,
            operation->column, text.failed ? "" : text.data, reason);
    return HN_EVALUE;
}

/* cells[i] becomes the value of operation i. */
static enum hn_status run(const struct hn_expression *expression, const struct hn_value *values,
                          struct hn_value *cells, struct hn_error *err)
{
    for (int i = 0; i < expression->count; i++) {
        const struct hn_operation *operation = &expression->list[i];
        const struct hn_value *a = &cells[operation->operand[0]];
        const struct hn_value *b = &cells[operation->operand[1]];
        const char *reason;
        switch (operation->code) {
        case HN_OP_CONSTANT:
            cells[i] = operation->constant;
            break;
        case HN_OP_NAME:
            if (operation->slot == HN_SLOT_UNBOUND)
                return hn_fail(err, HN_EVALUE, "'%s', column %u: '%s' is not bound",
                               expression->text, operation->column, operation->constant.word);
            cells[i] = operation->slot >= 0 ? values[operation->slot] : operation->constant;
            break;
        case HN_OP_SKIP_UNLESS:
        case HN_OP_SKIP_IF:
            if (hn_value_truth(a) == (operation->code == HN_OP_SKIP_IF))
                i = operation->operand[1] - 1;
            break;
        case HN_OP_AND:
        case HN_OP_OR:
            cells[i] = hn_value_truth(a) == (operation->code == HN_OP_AND) ? *b : *a;
            break;
        case HN_OP_SELECT:
            cells[i] = hn_value_truth(a) ? *b : cells[operation->operand[2]];
            break;
        case HN_OP_CHAIN:
        case HN_OP_ALL:
            cells[i] = hn_boolean(a->boolean && b->boolean);
            break;
        case HN_OP_ANY:
            cells[i] = hn_boolean(a->boolean || b->boolean);
            break;
        case HN_OP_NEVER:
        case HN_OP_ALWAYS:
            cells[i] = hn_boolean(operation->code == HN_OP_ALWAYS);
            break;
        default:
            reason = hn_apply(operation->code, a, b, &cells[i]);
            if (reason != NULL)
                return fail_operation(expression, operation, a, b, reason, err);
            break;
        }
    }
    return HN_OK;
}

enum hn_status hn_expression_evaluate(const struct hn_expression *expression,
                                      const struct hn_value *values, struct hn_value *result,
                                      struct hn_error *err)
{
    enum { FEW = 128 };
    struct hn_value few[FEW];
    struct hn_value *cells = few;
    if (expression->count > FEW)
        cells = malloc((size_t)expression->count * sizeof *cells);
    if (cells == NULL)
        return hn_fail_memory(err);
    enum hn_status status = run(expression, values, cells, err);
    if (status == HN_OK)
        *result = cells[expression->count - 1];
    if (cells != few)
        free(cells);
    return status;
}

enum hn_truth hn_expression_truth(const struct hn_expression *expression,
                                  const struct hn_value *values)
{
    struct hn_value result;
    if (hn_expression_evaluate(expression, values, &result, NULL) != HN_OK)
        return HN_NO_VALUE;
    return hn_value_truth(&result) ? HN_TRUE : HN_FALSE;
}

/* Without an expression *value stays as it is. */
static bool evaluate(const struct hn_expression *expression, const struct hn_value *values,
                     struct hn_value *value, struct hn_error *err)
{
    return (err == NULL || !hn_failed(err)) &&
           (expression == NULL || hn_expression_evaluate(expression, values, value, err) == HN_OK);
}

bool hn_expression_holds(const struct hn_expression *condition, const struct hn_value *values,
                         struct hn_error *err)
{
    struct hn_value value = hn_boolean(true);
    return evaluate(condition, values, &value, err) && hn_value_truth(&value);
}

static bool fail_result(const struct hn_expression *expression, const struct hn_value *value,
                        const char *expected, struct hn_error *err)
{
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    append_operand(&text, value);
    hn_fail(err, HN_EVALUE, "%s%s'%s' gives %s, expected %s", PLACE(expression), expression->text,
            text.failed ? "" : text.data, expected);
    return false;
}

bool hn_expression_integer(const struct hn_expression *expression, const struct hn_value *values,
                           int64_t *result, struct hn_error *err)
{
    struct hn_value value = {.type = HN_INTEGER};
    bool well = evaluate(expression, values, &value, err);
    if (!well || expression == NULL)
        return well;
    const bool is_real = value.type == HN_REAL;
    const bool is_part = is_real && value.real != floor(value.real);
    if (value.type == HN_WORD || is_part || (is_real && !(fabs(value.real) < 0x1p63)))
        return fail_result(expression, &value,
                           is_part ? "an integer: // rounds down, ceil_div up" : "an integer", err);
    *result = is_real                    ? (int64_t)value.real
              : value.type == HN_INTEGER ? value.integer
                                         : value.boolean;
    return true;
}

bool hn_expression_number(const struct hn_expression *expression, const struct hn_value *values,
                          double *result, struct hn_error *err)
{
    struct hn_value value = {.type = HN_INTEGER};
    bool well = evaluate(expression, values, &value, err);
    if (well && value.type == HN_WORD)
        return fail_result(expression, &value, "a number", err);
    if (well && expression != NULL)
        *result = hn_value_number(&value);
    return well;
}

static void read_expression(struct hn_json_reader *reader, const struct hn_field *field,
                            const json_t *json, void *member)
{
    if (hn_json_expect(reader, json_is_string(json), field->key, "an expression"))
        (void)hn_expression_parse(json_string_value(json), member, reader->err);
}

static json_t *build_expression(const struct hn_field *field, const void *member)
{
    const struct hn_expression *const *expression = member;
    (void)field;
    return *expression != NULL ? json_string(hn_expression_text(*expression)) : json_null();
}

static void finish_expression(void *member)
{
    struct hn_expression **expression = member;
    hn_expression_destroy(*expression);
}

const struct hn_field_own hn_expression_field = {read_expression, build_expression,
                                                 finish_expression};

static void read_dimensions(struct hn_json_reader *reader, const struct hn_field *field,
                            const json_t *json, void *member)
{
    struct hn_expression **dimensions = member;
    size_t count = json_array_size(json);
    hn_json_expect(reader, count >= 1 && count <= 3, field->key, "a list of 1 to 3 expressions");
    for (size_t i = 0; !hn_failed(reader->err) && i < count; i++)
        read_expression(reader, field, json_array_get(json, i), &dimensions[i]);
}

static json_t *build_dimensions(const struct hn_field *field, const void *member)
{
    struct hn_expression *const *dimensions = member;
    json_t *array = dimensions[0] != NULL ? json_array() : json_null();
    (void)field;
    for (size_t i = 0; i < 3 && dimensions[i] != NULL; i++)
        hn_build_append(&array, json_string(hn_expression_text(dimensions[i])));
    return array;
}

static void finish_dimensions(void *member)
{
    struct hn_expression **dimensions = member;
    for (size_t i = 0; i < 3; i++)
        hn_expression_destroy(dimensions[i]);
}

const struct hn_field_own hn_dimensions_field = {read_dimensions, build_dimensions,
                                                 finish_dimensions};

static const struct hn_field element[] = {
    {HN_NEEDED(""), .kind = HN_FIELD_OWN, .of = &hn_expression_field}};
const struct hn_structure hn_expression_list = {sizeof(struct hn_expression *), element, 1, NULL};

struct walk {
    void (*visit)(void *context, struct hn_expression *expression, const struct hn_field *field);
    void *context;
};

static void walk_field(void *context, const struct hn_field *field, void *member)
{
    const struct walk *walk = context;
    struct hn_expression **expressions = member;
    size_t count = field->of == &hn_expression_field   ? 1
                   : field->of == &hn_dimensions_field ? 3
                                                       : 0;
    for (size_t i = 0; i < count; i++)
        if (expressions[i] != NULL)
            walk->visit(walk->context, expressions[i], field);
}

void hn_expressions_walk(const struct hn_structure *structure, void *owner,
                         void (*visit)(void *context, struct hn_expression *expression,
                                       const struct hn_field *field),
                         void *context)
{
    struct walk walk = {visit, context};
    hn_fields_walk(structure, owner, walk_field, &walk);
}
