/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_read.h"

/* [low, high] of an integer type, as doubles; the ends of 64 bits are rounded inwards by the use of
 * < 2^63. */
static void integer_bounds(enum hn_element element, double *low, double *high)
{
    bool is_unsigned = hn_element_name(element)[0] == 'u';
    int bits = 8 * (int)hn_element_size(element);
    *low = is_unsigned ? 0 : -ldexp(1, bits - 1);
    *high = ldexp(1, is_unsigned ? bits : bits - 1) - 1;
}

static enum hn_status check_fill(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                 enum hn_element element, const struct hn_fill *fill)
{
    if (fill->kind == HN_FILL_UNIFORM && fill->a > fill->b)
        return hn_config_fail_found(reader, node, "uniform(low, high) with the lower bound first");
    if (fill->kind == HN_FILL_NORMAL && fill->b < 0)
        return hn_config_fail_found(reader, node, "a deviation of at least 0");
    if (hn_element_is_real(element))
        return HN_OK;
    double low, high;
    integer_bounds(element, &low, &high);
    if (fill->a != floor(fill->a) || (fill->kind != HN_FILL_NORMAL && fill->b != floor(fill->b)))
        return hn_config_fail(reader, node, "found '%s' for elements of %s, expected whole numbers",
                              node->text, hn_element_name(element));
    bool fits = fill->a >= low && fill->a <= high;
    if (fill->kind == HN_FILL_UNIFORM)
        fits = fits && fill->b >= low && fill->b <= high;
    if (!fits)
        return hn_config_fail(reader, node, "found '%s', which does not fit into %s", node->text,
                              hn_element_name(element));
    return HN_OK;
}

/* "name(a, b)" into its parts; false when it is something else. */
static bool split_fill(const char *text, struct hn_fill *fill)
{
    char name[16];
    size_t length = strcspn(text, "( ");
    int numbers = 0;
    if (length >= sizeof name)
        return false;
    memcpy(name, text, length);
    name[length] = '\0';
    if (!hn_fill_kind_parse(name, &fill->kind, &numbers))
        return false;

    const char *at = text + length + strspn(text + length, " ");
    double values[2] = {0, 0};
    for (int i = 0; i < numbers; i++) {
        char *end = NULL;
        if (*at != (i == 0 ? '(' : ','))
            return false;
        values[i] = strtod(at + 1, &end);
        if (end == at + 1 || !isfinite(values[i]))
            return false;
        at = end + strspn(end, " ");
    }
    fill->a = values[0];
    fill->b = values[1];
    return strcmp(at, ")") == 0;
}

enum hn_status hn_config_read_fill(const struct hn_config_reader *reader,
                                   const struct hn_yaml *node, struct hn_argument *argument)
{
    if (node == NULL) {
        argument->fill = hn_element_is_real(argument->element)
                             ? (struct hn_fill){HN_FILL_UNIFORM, -1, 1}
                             : (struct hn_fill){HN_FILL_UNIFORM, 0, 100};
        return HN_OK;
    }
    enum hn_status status = hn_config_check_cut(reader, node);
    if (status != HN_OK)
        return status;
    if (node->kind != HN_YAML_SCALAR || !split_fill(node->text, &argument->fill))
        return hn_config_fail_found(reader, node,
                                    "uniform(low, high), normal(mean, deviation), "
                                    "iota(start, step) or constant(value)");
    return check_fill(reader, node, argument->element, &argument->fill);
}
