/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/c_locale.h"
#include "tuner/config/config_read.h"

static const char expected_fill[] =
    "uniform(low, high), normal(mean, deviation), iota(start, step), constant(value), "
    "permutation(), skewed(n, share) or zipf(n, exponent)";

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
static enum hn_status read_number(struct hn_config_reader *reader, const struct hn_yaml *node,
                                  const char *text, size_t length, struct hn_fill *fill, int index)
{
    char *end = NULL;
    size_t blanks = strspn(text, " ");
    blanks = blanks < length ? blanks : length;
    char *number = strndup(text + blanks, length - blanks);
    if (number == NULL)
        return hn_fail_memory(reader->err);
    enum hn_status status = HN_OK;
    fill->numbers[index] = hn_c_strtod(number, &end);
    bool blank = end == number;
    while (hn_is_space(*end))
        end++;
    if (blank || *end != '\0' || !isfinite(fill->numbers[index])) {
        struct hn_error reason = {""};
        fill->numbers[index] = 0;
        status = hn_expression_parse(number, &fill->expressions[index], &reason);
        if (status == HN_ENOMEM)
            hn_fail_memory(reader->err);
        else if (status != HN_OK)
            status = hn_config_fail(reader, node, "in '%.60s': %s", number, reason.message);
        else
            status = hn_config_remember(reader, fill->expressions[index], node);
    }
    free(number);
    return status;
}

/* "name(a, b)" into its parts. */
static enum hn_status split_fill(struct hn_config_reader *reader, const struct hn_yaml *node,
                                 struct hn_fill *fill)
{
    char name[16];
    const char *text = node->text;
    size_t length = strcspn(text, "( ");
    int numbers = 0;
    if (length >= sizeof name)
        return hn_config_fail_found(reader, node, expected_fill);
    memcpy(name, text, length);
    name[length] = '\0';
    if (!hn_fill_kind_parse(name, &fill->kind, &numbers) || fill->kind == HN_FILL_FILE)
        return hn_config_fail_found(reader, node, expected_fill);

    const char *at = text + length + strspn(text + length, " ");
    for (int i = 0; i < numbers; i++) {
        if (*at != (i == 0 ? '(' : ','))
            return hn_config_fail_found(reader, node, expected_fill);
        size_t size = number_length(at + 1);
        enum hn_status status = read_number(reader, node, at + 1, size, fill, i);
        if (status != HN_OK)
            return status;
        at += 1 + size;
    }
    if (numbers == 0 && *at == '\0')
        return HN_OK;
    if (numbers == 0 && *at == '(')
        at += 1 + strspn(at + 1, " ");
    return strcmp(at, ")") == 0 ? HN_OK : hn_config_fail_found(reader, node, expected_fill);
}

static enum hn_status read_file(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                struct hn_fill *fill)
{
    char *written = NULL;
    enum hn_status status = hn_config_read_text(reader, node, "the path of a data file", &written);
    if (status != HN_OK)
        return status;
    fill->kind = HN_FILL_FILE;
    fill->file = hn_config_resolve_path(reader, written);
    free(written);
    return fill->file == NULL ? hn_fail_memory(reader->err) : HN_OK;
}

enum hn_status hn_config_read_fill(struct hn_config_reader *reader, const struct hn_yaml *parent,
                                   struct hn_argument *argument)
{
    const struct hn_yaml *node = hn_yaml_get(parent, "fill");
    const struct hn_yaml *file = hn_yaml_get(parent, "file");
    if (node != NULL && file != NULL)
        return hn_config_fail(reader, file->key, "'%s' has a 'fill', so it can not have a 'file'",
                              argument->name);
    if (file != NULL)
        return read_file(reader, file, &argument->fill);
    argument->fill = (struct hn_fill){.kind = HN_FILL_UNIFORM};
    argument->fill.numbers[0] = hn_element_is_real(argument->element) ? -1 : 0;
    argument->fill.numbers[1] = hn_element_is_real(argument->element) ? 1 : 100;
    if (node == NULL)
        return HN_OK;
    enum hn_status status = hn_config_check_cut(reader, node);
    if (status != HN_OK)
        return status;
    if (node->kind != HN_YAML_SCALAR)
        return hn_config_fail_found(reader, node, expected_fill);
    return split_fill(reader, node, &argument->fill);
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

enum hn_status hn_config_check_fill(const struct hn_config_reader *reader,
                                    const struct hn_argument *argument,
                                    const struct hn_value *values, const char *where)
{
    const struct hn_yaml *node = fill_node(reader, argument->name);
    struct hn_fill fill;
    struct hn_error reason = {""};
    char why[128];
    int64_t count = 0;
    for (int i = 0; i < 2; i++) {
        const char *parameter =
            hn_plan_parameter_used(reader->config->plan, argument->fill.expressions[i]);
        if (parameter != NULL)
            return hn_config_fail(
                reader, node,
                "found '%s', which uses the parameter '%s'; contents can only depend "
                "on the problem",
                node->text, parameter);
    }
    if (hn_fill_resolve(&argument->fill, values, &fill, &reason) != HN_OK ||
        hn_expression_integer(argument->count, values, &count, &reason) != HN_OK)
        return hn_config_fail(reader, node, "%s (at the default point: %s)", reason.message, where);
    if (hn_fill_check(&fill, argument->element, (uint64_t)count * argument->lanes, why, sizeof why))
        return HN_OK;
    return hn_config_fail(
        reader, node, "found '%s', %s%s%s%s",
        node->text == NULL ? hn_fill_kind_name(fill.kind) : node->text, why,
        argument->fill.expressions[0] || argument->fill.expressions[1] ? " (at the default point: "
                                                                       : "",
        argument->fill.expressions[0] || argument->fill.expressions[1] ? where : "",
        argument->fill.expressions[0] || argument->fill.expressions[1] ? ")" : "");
}
