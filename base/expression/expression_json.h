/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_JSON_H
#define HONE_BASE_EXPRESSION_EXPRESSION_JSON_H

#include "base/expression/expression.h"
#include "base/schema.h"

/* Expressions as strings of a JSON document, and as members of structs (base/schema.h). */

/* One that must be there. */
void hn_json_expression(struct hn_json_reader *reader, const json_t *json, const char *key, struct hn_expression **to);

/* struct hn_expression *; NULL is left out. */
extern const struct hn_field_own hn_expression_field;
/* struct hn_expression *[3]: a list of 1 to 3; left out where the first is NULL. */
extern const struct hn_field_own hn_dimensions_field;
/* struct hn_expression *, as the elements of a list. */
extern const struct hn_structure hn_expression_list;

/* Calls `visit` for each expression among the members of a struct. */
typedef void hn_expression_visit(void *context, struct hn_expression *expression, const struct hn_field *field,
                                 size_t item);
void hn_expressions_walk(const struct hn_structure *structure, void *owner, hn_expression_visit *visit, void *context);

#endif
