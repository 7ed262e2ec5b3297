/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/c_locale.h"
#include "runtime/plan/recipe.h"
#include "tuner/config/config_parts.h"

static const char expected_fill[] =
    "uniform(low, high), normal(mean, deviation), iota(start, step), constant(value), "
    "permutation(), skewed(n, share), zipf(n, exponent), sorted(low, high), arange, "
    "csr_rows(entries, "
    "spread), csr_columns(rows, columns) or transposed(input, rows)";

/* The end of one number of a fill: the comma or the closing parenthesis that belongs to it. */
static size_t number_length(const char *text)
{
    int open = 0;
    size_t length = 0;
    for (; text[length] != '\0'; length++) {
        char c = text[length];
        if (open == 0 && (c == ',' || c == ')'))
            return length;
        open += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    }
    return length;
}

/* A number that is written out is one; all else is an expression. */
static void read_number(struct hn_config_reader *reader, const struct hn_yaml *node,
                        const char *text, size_t length, struct hn_fill *fill, int index)
{
    char *end = NULL;
    struct hn_error reason = {0};
    size_t blanks = strspn(text, " ");
    blanks = blanks < length ? blanks : length;
    char *number = strndup(text + blanks, length - blanks);
    if (number == NULL) {
        hn_config_take(reader, hn_fail_memory(reader->err));
        return;
    }
    fill->numbers[index] = hn_c_strtod(number, &end);
    bool blank = end == number;
    while (hn_is_space(*end))
        end++;
    if (blank || *end != '\0' || !isfinite(fill->numbers[index])) {
        fill->numbers[index] = 0;
        char *expanded = hn_config_expand(reader, node, number, false);
        if (expanded != NULL &&
            hn_config_take_in(reader, node, number,
                              hn_expression_parse(expanded, &fill->expressions[index], &reason),
                              &reason))
            hn_config_remember(reader, fill->expressions[index], node);
        free(expanded);
    }
    free(number);
}

/* The numbers of "(a, b)" from `at` on; NULL where these are not as many as expected. */
static const char *read_numbers(struct hn_config_reader *reader, const struct hn_yaml *node,
                                const char *at, int numbers, struct hn_fill *fill)
{
    for (int i = 0; i < numbers && reader->status == HN_OK; i++) {
        if (*at != (i == 0 && fill->of == NULL ? '(' : ','))
            return NULL;
        size_t size = number_length(at + 1);
        read_number(reader, node, at + 1, size, fill, i);
        at += 1 + size;
    }
    if (numbers == 0 && *at == '(')
        at += 1 + strspn(at + 1, " ");
    return at;
}

/* "(name, " of a fill from another input; what follows as if it began there. */
static const char *read_source(struct hn_config_reader *reader, const char *at,
                               struct hn_fill *fill)
{
    if (*at != '(')
        return NULL;
    at += 1 + strspn(at + 1, " ");
    size_t length = strcspn(at, " ,()");
    const char *end = at + length + strspn(at + length, " ");
    if (length == 0 || *end != ',')
        return NULL;
    fill->of = strndup(at, length);
    if (fill->of == NULL)
        hn_config_take(reader, hn_fail_memory(reader->err));
    return end;
}

void hn_config_default_fill(struct hn_argument *argument)
{
    bool real = hn_element_is_real(argument->element);
    argument->fill =
        (struct hn_fill){.kind = HN_FILL_UNIFORM, .numbers = {real ? -1 : 0, real ? 1 : 100}};
}

/* "name(a, b)". A number that the kind does not take stays what it is by default, as hashes have
 * it. */
void hn_config_read_fill(struct hn_config_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_fill *fill = &((struct hn_argument *)owner)->fill;
    char name[16];
    int numbers = 0;
    hn_config_default_fill(owner);
    if (!hn_config_check_cut(reader, node) ||
        !hn_config_expect_kind(reader, node, HN_YAML_SCALAR, expected_fill))
        return;
    size_t length = strcspn(node->text, "( ");
    bool known = length < sizeof name;
    snprintf(name, sizeof name, "%.*s", (int)length, node->text);
    if (strcmp(node->text, "arange") == 0) {
        fill->kind = HN_FILL_IOTA;
        fill->numbers[0] = 0;
        return;
    }
    known = known && hn_fill_kind_parse(name, &fill->kind, &numbers) && fill->kind != HN_FILL_FILE;
    if (!hn_config_expect(reader, known, node, expected_fill))
        return;
    const char *at = node->text + length + strspn(node->text + length, " ");
    if (hn_fill_has_source(fill->kind)) {
        at = read_source(reader, at, fill);
        hn_config_expect(reader, at != NULL, node, expected_fill);
    }
    bool bare = numbers == 0 && *at == '\0';
    at = read_numbers(reader, node, at, numbers, fill);
    hn_config_expect(reader, bare || (at != NULL && strcmp(at, ")") == 0), node, expected_fill);
}

void hn_config_read_file(struct hn_config_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_fill *fill = &((struct hn_argument *)owner)->fill;
    fill->kind = HN_FILL_FILE;
    hn_config_read_path(reader, node, "the path of a data file", &fill->file);
}

/* The fill, or what else there is, of an argument or symbol of that name. */
static const struct hn_yaml *fill_node(const struct hn_config_reader *reader, const char *name)
{
    static const char *const lists[] = {"arguments", "symbols"};
    for (int i = 0; i < 2; i++) {
        const struct hn_yaml *list = hn_yaml_get(reader->root, lists[i]);
        for (const struct hn_yaml *item = list == NULL ? NULL : list->child; item != NULL;
             item = item->next) {
            const struct hn_yaml *fill = hn_yaml_get(item, "fill");
            if (strcmp(hn_yaml_get(item, "name")->text, name) == 0)
                return fill == NULL ? item : fill;
        }
    }
    return reader->root;
}

void hn_config_check_fill(struct hn_config_reader *reader, const struct hn_argument *argument,
                          const struct hn_value *values, const char *where)
{
    const struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = fill_node(reader, argument->name);
    const struct hn_fill *fill = &argument->fill;
    struct hn_recipe recipe;
    struct hn_error reason = {0};
    enum hn_status status =
        hn_recipe_make(plan, (size_t)(argument - plan->arguments), values, &recipe, &reason);
    if (status == HN_OK)
        return;
    bool evaluated =
        status != HN_ECONFIG && (fill->expressions[0] != NULL || fill->expressions[1] != NULL);
    hn_config_fail(reader, node, "found '%s', %s%s%s%s",
                   node->text == NULL ? hn_fill_kind_name(fill->kind) : node->text, reason.message,
                   evaluated ? " (at the default point: " : "", evaluated ? where : "",
                   evaluated ? ")" : "");
}
