/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_parts.h"

/* What the grammar of expressions keeps for itself. */
static bool is_reserved(const char *word)
{
    static const char *const reserved[] = {"and",  "or",    "not",  "in",    "if",  "else",
                                           "True", "False", "true", "false", "null"};
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (strcmp(reserved[i], word) == 0)
            return true;
    return false;
}

static struct hn_value read_quoted(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    struct hn_value plain = {.type = HN_INTEGER};
    bool word = hn_text_is_word(node->text) && !is_reserved(node->text) &&
                hn_value_parse(node->text, &plain, NULL) == HN_OK && plain.type == HN_WORD;
    hn_config_expect(reader, word, node,
                     "a word ([A-Za-z_][A-Za-z0-9_]*), which quotes mean here; "
                     "numbers and booleans are not quoted");
    return word ? hn_word(node->text) : hn_integer(0);
}

struct hn_value hn_config_read_value(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    static const char expected[] = "an integer, a real, a boolean or a word";
    struct hn_value value = hn_integer(0);
    struct hn_error reason = {0};
    if (reader->status != HN_OK ||
        !hn_config_expect(reader, node->kind == HN_YAML_SCALAR && node->text[0] != '\0', node,
                          expected))
        return hn_integer(0);
    if (node->quoted)
        return read_quoted(reader, node);
    enum hn_status status = hn_value_parse(node->text, &value, &reason);
    if (status != HN_OK && reason.message[0] != '\0')
        hn_config_fail(reader, node, "%s", reason.message);
    hn_config_expect(reader, status == HN_OK && (value.type != HN_WORD || !is_reserved(value.word)),
                     node, expected);
    hn_config_expect(reader, value.type != HN_REAL || isfinite(value.real), node,
                     "a finite number");
    return reader->status == HN_OK ? value : hn_integer(0);
}

void hn_config_free_values(struct hn_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i].type == HN_WORD)
            free((char *)values[i].word);
    free(values);
}

const struct hn_value *hn_config_find_value(const struct hn_value *values, size_t count,
                                            const struct hn_value *value)
{
    bool number = value->type == HN_INTEGER || value->type == HN_REAL;
    for (size_t i = 0; i < count; i++)
        if (hn_value_equal(&values[i], value))
            return &values[i];
    for (size_t i = 0; number && i < count; i++) {
        bool also = values[i].type == HN_INTEGER || values[i].type == HN_REAL;
        if (also && hn_value_number(&values[i]) == hn_value_number(value))
            return &values[i];
    }
    return NULL;
}

void hn_config_append_values(struct hn_text *text, const struct hn_value *values, size_t count)
{
    enum { LISTED = 16 };
    for (size_t i = 0; i < count && i < LISTED; i++) {
        hn_text_append(text, i == 0 ? "" : ", ");
        hn_value_append(text, &values[i]);
    }
    if (count > LISTED)
        hn_text_printf(text, ", ... (%zu in all)", count);
}

struct ranked {
    const struct hn_value *value;
    const struct hn_yaml *node;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;
    int order = hn_value_compare(x->value, y->value);
    if (order != 0)
        return order;
    return x->value < y->value ? -1 : x->value > y->value;
}

static void check_repeats(struct hn_config_reader *reader, const struct hn_yaml *list,
                          const struct hn_value *values, size_t count)
{
    struct ranked *ranked = hn_config_allocate(reader, count, sizeof *ranked);
    if (ranked == NULL)
        return;
    size_t i = 0;
    for (const struct hn_yaml *node = list->child; i < count; node = node->next, i++)
        ranked[i] = (struct ranked){&values[i], node};
    qsort(ranked, count, sizeof *ranked, compare_ranked);
    for (i = 1; i < count; i++)
        if (hn_value_equal(ranked[i - 1].value, ranked[i].value))
            hn_config_fail(reader, ranked[i].node, "value '%s' is in the list twice",
                           ranked[i].node->text);
    free(ranked);
}

static const char *kind_of(const struct hn_value *value)
{
    return value->type == HN_WORD ? "words" : value->type == HN_BOOLEAN ? "booleans" : "numbers";
}

static void read_item(struct hn_config_reader *reader, const struct hn_yaml *node,
                      struct hn_value *values, size_t *count)
{
    struct hn_value value = hn_config_read_value(reader, node);
    if (*count > 0 && strcmp(kind_of(&value), kind_of(&values[0])) != 0)
        hn_config_fail(reader, node, "found '%s' in a list of %s, expected values of one kind",
                       node->text, kind_of(&values[0]));
    if (value.type == HN_WORD)
        hn_config_copy(reader, value.word, (char **)&value.word);
    if (reader->status == HN_OK)
        values[(*count)++] = value;
}

static void read_list(struct hn_config_reader *reader, const struct hn_yaml *node,
                      struct hn_value **values, size_t *count)
{
    if (node->count == 0)
        hn_config_fail(reader, node, "found an empty list, expected at least one value");
    if (node->count > HN_CONFIG_VALUES_MOST)
        hn_config_fail(reader, node, "found %zu values, expected at most %d", node->count,
                       HN_CONFIG_VALUES_MOST);
    *values = hn_config_allocate(reader, node->count, sizeof **values);
    for (const struct hn_yaml *item = hn_config_first(reader, node); item != NULL;
         item = hn_config_next(reader, item))
        read_item(reader, item, *values, count);
    check_repeats(reader, node, *values, *count);
}

static struct hn_value read_number(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    struct hn_value value = hn_config_read_value(reader, node);
    hn_config_expect(reader, value.type == HN_INTEGER || value.type == HN_REAL, node, "a number");
    return reader->status == HN_OK ? value : hn_integer(0);
}

static void read_bounds(struct hn_config_reader *reader, const struct hn_yaml *node,
                        struct hn_value *low, struct hn_value *high)
{
    if (!hn_config_expect(reader, node->kind == HN_YAML_SEQUENCE && node->count == 2, node,
                          "[low, high]"))
        return;
    *low = read_number(reader, node->child);
    *high = read_number(reader, node->child->next);
    if (hn_value_number(low) > hn_value_number(high))
        hn_config_fail(reader, node, "found [%s, %s], expected the lower bound first",
                       node->child->text, node->child->next->text);
}

static struct hn_value step_value(const struct hn_value *low, const struct hn_value *step,
                                  size_t index)
{
    /* Modulo 2^64: the product may be beyond int64 where the sum is not. */
    if (low->type == HN_INTEGER && step->type == HN_INTEGER)
        return hn_integer((int64_t)((uint64_t)low->integer + (uint64_t)step->integer * index));
    return hn_real(hn_value_number(low) + hn_value_number(step) * (double)index);
}

/* Steps from low that stay within high. A real step may miss it by rounding only: 0.1 to 0.3 by 0.1
 * has three values. */
static double count_steps(const struct hn_value *low, const struct hn_value *high,
                          const struct hn_value *step)
{
    if (low->type == HN_INTEGER && high->type == HN_INTEGER && step->type == HN_INTEGER)
        return (double)(((uint64_t)high->integer - (uint64_t)low->integer) /
                        (uint64_t)step->integer);
    double steps = (hn_value_number(high) - hn_value_number(low)) / hn_value_number(step);
    return floor(steps * (1 + 1e-12) + 1e-12);
}

static void read_range(struct hn_config_reader *reader, const struct hn_yaml *node,
                       struct hn_value **values, size_t *count)
{
    static const char *const keys[] = {"range", "step"};
    struct hn_value low = hn_integer(0), high = hn_integer(0), step = hn_integer(1);
    const struct hn_yaml *step_node = hn_yaml_get(node, "step");
    hn_config_check_keys(reader, node, keys, 2);
    read_bounds(reader, hn_yaml_get(node, "range"), &low, &high);
    if (step_node != NULL) {
        step = read_number(reader, step_node);
        hn_config_expect(reader, hn_value_number(&step) > 0, step_node, "a step of more than 0");
    }
    if (reader->status != HN_OK)
        return;
    double most = count_steps(&low, &high, &step);
    if (most >= HN_CONFIG_VALUES_MOST) {
        hn_config_fail(reader, node, "the range has %.0f values, expected at most %d", most + 1,
                       HN_CONFIG_VALUES_MOST);
        return;
    }
    *values = hn_config_allocate(reader, (size_t)most, sizeof **values);
    for (*count = 0; *values != NULL && *count < (size_t)most + 1; ++*count)
        (*values)[*count] = step_value(&low, &step, *count);
}

static bool is_power(const struct hn_value *value)
{
    return value->type == HN_INTEGER && value->integer > 0 &&
           (value->integer & (value->integer - 1)) == 0;
}

static void read_powers(struct hn_config_reader *reader, const struct hn_yaml *node,
                        struct hn_value **values, size_t *count)
{
    static const char *const keys[] = {"powers_of_two"};
    const struct hn_yaml *bounds = hn_yaml_get(node, "powers_of_two");
    struct hn_value low = hn_integer(0), high = hn_integer(0);
    hn_config_check_keys(reader, node, keys, 1);
    read_bounds(reader, bounds, &low, &high);
    if (reader->status != HN_OK ||
        !hn_config_expect(reader, is_power(&low), bounds->child, "a power of two") ||
        !hn_config_expect(reader, is_power(&high), bounds->child->next, "a power of two"))
        return;
    *values = hn_config_allocate(reader, 64, sizeof **values);
    for (uint64_t power = (uint64_t)low.integer; *values != NULL && power <= (uint64_t)high.integer;
         power *= 2)
        (*values)[(*count)++] = hn_integer((int64_t)power);
}

void hn_config_read_values(struct hn_config_reader *reader, const struct hn_yaml *node,
                           struct hn_value **values, size_t *count)
{
    if (node->kind == HN_YAML_SEQUENCE)
        read_list(reader, node, values, count);
    else if (node->kind == HN_YAML_MAPPING && hn_yaml_get(node, "range") != NULL)
        read_range(reader, node, values, count);
    else if (node->kind == HN_YAML_MAPPING && hn_yaml_get(node, "powers_of_two") != NULL)
        read_powers(reader, node, values, count);
    else
        hn_config_fail_found(reader, node,
                             "a list of values, {range: [low, high], step: s} or "
                             "{powers_of_two: [low, high]}");
}
