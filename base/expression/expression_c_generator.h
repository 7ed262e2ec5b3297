/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_C_GENERATOR_H
#define HONE_BASE_EXPRESSION_EXPRESSION_C_GENERATOR_H

#include "base/expression/expression_c_part.h"

/* What expression_c.c and expression_c_compare.c ask of each other. */

struct hn_node;

struct hn_c_generator {
    const struct hn_expression *expression;
    const struct hn_c_slot *slots;
    const char *prefix;
    struct hn_error *err;
};

/* Writes a part that holds nothing yet; the caller finishes it, whatever comes back. as_condition:
 * only the truth of the result is wanted. */
enum hn_status hn_c_generate(const struct hn_c_generator *generator, const struct hn_node *node,
                             bool as_condition, struct hn_c_part *part);
/* Of a comparison, chained or not, and of membership in a list. */
enum hn_status hn_c_generate_compare(const struct hn_c_generator *generator,
                                     const struct hn_node *node, struct hn_c_part *part);

/* HN_EVALUE: a constant part has no value. */
enum hn_status hn_c_fail_value(const struct hn_c_generator *generator, const struct hn_node *node,
                               const char *reason);
/* HN_ECONFIG: C can not say it. */
enum hn_status hn_c_fail_form(const struct hn_c_generator *generator, const struct hn_node *node,
                              const char *reason);

#endif
