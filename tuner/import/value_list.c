/* SPDX-License-Identifier: MIT */
#include "tuner/import/value_list.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression.h"
#include "base/text.h"

/* A part of the text. */
struct part {
    const char *begin;
    const char *end;
};

/* The name that a comprehension counts with, and its value; NULL: none. */
struct counter {
    const char *name;
    struct hn_value value;
};

static const int deepest = 16;
/* A comprehension's text is read again for each of its values. */
static const ptrdiff_t longest_comprehension = 1024;

static enum hn_status fail_part(struct hn_error *err, struct part part, const char *expected)
{
    int length = part.end - part.begin < 60 ? (int)(part.end - part.begin) : 60;
    return hn_fail(err, HN_ECONFIG, "found '%.*s', expected %s", length, part.begin, expected);
}

static enum hn_status add(struct hn_value_list *list, struct hn_value value, struct hn_error *err)
{
    for (size_t i = 0; i < list->count; i++)
        if (hn_value_equal(&list->values[i], &value))
            return HN_OK;
    if (list->count == HN_VALUE_LIST_MOST)
        return hn_fail(err, HN_ECONFIG, "found more than %d values", HN_VALUE_LIST_MOST);
    /* Doubled at powers of two. */
    if ((list->count & (list->count - 1)) == 0) {
        size_t room = list->count == 0 ? 1 : 2 * list->count;
        struct hn_value *grown = realloc(list->values, room * sizeof *grown);
        if (grown == NULL)
            return hn_fail_memory(err);
        list->values = grown;
    }
    if (value.type == HN_WORD) {
        char *word = strdup(value.word);
        if (word == NULL)
            return hn_fail_memory(err);
        value.word = word;
    }
    list->values[list->count++] = value;
    return HN_OK;
}

static struct part trim(struct part part)
{
    while (part.begin < part.end && hn_is_space(*part.begin))
        part.begin++;
    while (part.end > part.begin && hn_is_space(part.end[-1]))
        part.end--;
    return part;
}

/* Goes over one character, or a string in quotes; counts brackets. */
static const char *step(const char *at, const char *end, int *depth)
{
    if (*at == '\'' || *at == '"') {
        const char *quote = memchr(at + 1, *at, (size_t)(end - at - 1));
        return quote != NULL ? quote + 1 : end;
    }
    *depth += (strchr("([{", *at) != NULL) - (strchr(")]}", *at) != NULL);
    return at + 1;
}

/* Where a character stands outside of brackets; the end when it does not. */
static const char *find_mark(struct part part, char mark)
{
    int depth = 0;
    for (const char *at = part.begin; at < part.end; at = step(at, part.end, &depth))
        if (depth == 0 && *at == mark)
            return at;
    return part.end;
}

/* The same of a word. */
static const char *find_word(struct part part, const char *word)
{
    size_t length = strlen(word);
    int depth = 0;
    for (const char *at = part.begin; at < part.end; at = step(at, part.end, &depth)) {
        if (depth != 0 || (size_t)(part.end - at) < length || strncmp(at, word, length) != 0)
            continue;
        bool begins = at == part.begin || !hn_is_word_char(at[-1]);
        bool ends = at + length == part.end || !hn_is_word_char(at[length]);
        if (begins && ends)
            return at;
    }
    return part.end;
}

static enum hn_status evaluate(struct part part, const struct counter *counter,
                               struct hn_expression **expression, struct hn_value *value,
                               struct hn_error *err)
{
    char *text = strndup(part.begin, (size_t)(part.end - part.begin));
    const char *names[] = {counter->name};
    struct hn_scope scope = {.names = names, .name_count = counter->name != NULL};
    *expression = NULL;
    if (text == NULL)
        return hn_fail_memory(err);
    enum hn_status status = hn_expression_parse(text, expression, err);
    if (status == HN_OK)
        status = hn_expression_bind(*expression, &scope, err);
    if (status == HN_OK)
        status = hn_expression_evaluate(*expression, &counter->value, value, err);
    free(text);
    return status;
}

static enum hn_status evaluate_integer(struct part part, const struct counter *counter,
                                       int64_t *number, struct hn_error *err)
{
    struct hn_expression *expression;
    struct hn_value value;
    enum hn_status status = evaluate(part, counter, &expression, &value, err);
    if (status == HN_OK && value.type != HN_INTEGER)
        status = fail_part(err, part, "a whole number");
    if (status == HN_OK)
        *number = value.integer;
    hn_expression_destroy(expression);
    return status;
}

static enum hn_status add_element(struct part part, const struct counter *counter,
                                  struct hn_value_list *list, struct hn_error *err)
{
    struct hn_expression *expression;
    struct hn_value value;
    enum hn_status status = evaluate(part, counter, &expression, &value, err);
    if (status == HN_OK)
        status = add(list, value, err);
    hn_expression_destroy(expression);
    return status;
}

static enum hn_status add_sum(struct part part, const struct counter *counter, int depth,
                              struct hn_value_list *list, struct hn_error *err);

/* "expression for name in list if condition" */
static enum hn_status add_comprehension(struct part part, const char *keyword, int depth,
                                        struct hn_value_list *list, struct hn_error *err)
{
    struct part rest = {keyword + strlen("for"), part.end};
    const char *in = find_word(rest, "in");
    if (part.end - part.begin > longest_comprehension)
        return fail_part(err, part, "a shorter expression");
    struct part name = trim((struct part){rest.begin, in});
    if (in == rest.end || name.begin == name.end)
        return fail_part(err, part, "'VALUE for NAME in LIST'");
    struct part over = {in + strlen("in"), part.end};
    const char *filter = find_word(over, "if");
    struct part condition = trim((struct part){filter + strlen("if"), part.end});
    bool filtered = filter < over.end;
    over.end = filter;
    struct hn_value_list counted = {.count = 0};
    struct counter counter = {.name = strndup(name.begin, (size_t)(name.end - name.begin))};
    enum hn_status status =
        counter.name == NULL || !hn_text_is_word(counter.name)
            ? fail_part(err, name, "a name to count with")
            : add_sum(over, &(struct counter){.name = NULL}, depth + 1, &counted, err);
    for (size_t i = 0; status == HN_OK && i < counted.count; i++) {
        struct hn_expression *expression = NULL;
        struct hn_value holds = hn_boolean(true);
        counter.value = counted.values[i];
        if (filtered)
            status = evaluate(condition, &counter, &expression, &holds, err);
        if (status == HN_OK && hn_value_truth(&holds))
            status = add_element((struct part){part.begin, keyword}, &counter, list, err);
        hn_expression_destroy(expression);
    }
    hn_value_list_finish(&counted);
    free((char *)counter.name);
    return status;
}

/* What stands between brackets. */
static enum hn_status add_elements(struct part part, const struct counter *counter, int depth,
                                   struct hn_value_list *list, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    const char *keyword = find_word(part, "for");
    if (keyword < part.end)
        return add_comprehension(part, keyword, depth, list, err);
    while (status == HN_OK) {
        const char *comma = find_mark(part, ',');
        struct part element = trim((struct part){part.begin, comma});
        if (element.begin == element.end && comma == part.end)
            break;
        status = add_element(element, counter, list, err);
        if (comma == part.end)
            break;
        part.begin = comma + 1;
    }
    return status;
}

/* range(end), range(begin, end), range(begin, end, step) */
static enum hn_status add_range(struct part part, const struct counter *counter,
                                struct hn_value_list *list, struct hn_error *err)
{
    int64_t numbers[3] = {0, 0, 1};
    struct part rest = part;
    size_t count = 0;
    enum hn_status status = HN_OK;
    for (; status == HN_OK && count < 3 && rest.begin < rest.end; count++) {
        const char *comma = find_mark(rest, ',');
        status =
            evaluate_integer(trim((struct part){rest.begin, comma}), counter, &numbers[count], err);
        rest.begin = comma < rest.end ? comma + 1 : rest.end;
    }
    if (status == HN_OK && (count == 0 || rest.begin < rest.end || numbers[2] == 0))
        return fail_part(err, part, "range(BEGIN, END, STEP)");
    int64_t first = count > 1 ? numbers[0] : 0;
    int64_t end = count > 1 ? numbers[1] : numbers[0];
    for (int64_t i = first; status == HN_OK && (numbers[2] > 0 ? i < end : i > end);) {
        status = add(list, hn_integer(i), err);
        if (__builtin_add_overflow(i, numbers[2], &i))
            break;
    }
    return status;
}

/* One term of a sum: "[...]", "(...)", "list(...)", "range(...)". */
static enum hn_status add_term(struct part part, const struct counter *counter, int depth,
                               struct hn_value_list *list, struct hn_error *err)
{
    part = trim(part);
    const char *open = part.begin;
    while (open < part.end && hn_is_word_char(*open))
        open++;
    struct part name = {part.begin, open};
    struct part inside = trim((struct part){open + 1, part.end - 1});
    size_t length = (size_t)(name.end - name.begin);
    bool brackets = open < part.end - 1 && ((*open == '[' && part.end[-1] == ']' && length == 0) ||
                                            (*open == '(' && part.end[-1] == ')'));
    if (!brackets || depth > deepest)
        return fail_part(err, part, "a list: [1, 2, 4], range(1, 9) or [2**i for i in range(6)]");
    if (length == 5 && strncmp(name.begin, "range", 5) == 0)
        return add_range(inside, counter, list, err);
    if (length == 4 && strncmp(name.begin, "list", 4) == 0)
        return add_sum(inside, counter, depth + 1, list, err);
    if (length > 0)
        return fail_part(err, part, "a list, list() or range()");
    return add_elements(inside, counter, depth, list, err);
}

static enum hn_status add_sum(struct part part, const struct counter *counter, int depth,
                              struct hn_value_list *list, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    while (status == HN_OK) {
        const char *plus = find_mark(part, '+');
        status = add_term((struct part){part.begin, plus}, counter, depth, list, err);
        if (plus == part.end)
            break;
        part.begin = plus + 1;
    }
    return status;
}

static enum hn_status complete(struct hn_value_list *list, enum hn_status status,
                               struct hn_error *err)
{
    if (status == HN_OK && list->count == 0)
        status = hn_fail(err, HN_ECONFIG, "found no value, expected at least one");
    if (status != HN_OK)
        hn_value_list_finish(list);
    return status;
}

enum hn_status hn_value_list_parse(const char *text, struct hn_value_list *list,
                                   struct hn_error *err)
{
    *list = (struct hn_value_list){.values = NULL};
    return complete(list,
                    add_sum((struct part){text, text + strlen(text)},
                            &(struct counter){.name = NULL}, 0, list, err),
                    err);
}

enum hn_status hn_value_list_read(const json_t *array, struct hn_value_list *list,
                                  struct hn_error *err)
{
    enum hn_status status = HN_OK;
    *list = (struct hn_value_list){.values = NULL};
    for (size_t i = 0; status == HN_OK && i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        if (json_is_integer(item))
            status = add(list, hn_integer(json_integer_value(item)), err);
        else if (json_is_real(item))
            status = add(list, hn_real(json_real_value(item)), err);
        else if (json_is_boolean(item))
            status = add(list, hn_boolean(json_is_true(item)), err);
        else if (json_is_string(item))
            status = add(list, hn_word(json_string_value(item)), err);
        else
            status = hn_fail(err, HN_ECONFIG, "found a value that is no number, boolean or text");
    }
    return complete(list, status, err);
}

void hn_value_list_finish(struct hn_value_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->values[i].type == HN_WORD)
            free((char *)list->values[i].word);
    free(list->values);
    *list = (struct hn_value_list){.values = NULL};
}
