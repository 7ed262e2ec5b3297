/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_EXPRESSION_EXPRESSION_JSON_H
#define HONE_BASE_EXPRESSION_EXPRESSION_JSON_H

#include "base/expression/expression.h"
#include "base/json_builder.h"
#include "base/json_reader.h"

/* Expressions as strings of a JSON document. */

json_t *hn_expression_to_json(const struct hn_expression *expression);
/* NULL leaves the key out. */
void hn_build_expression(struct hn_builder *object, const char *key, const struct hn_expression *expression);

/* Each fails with HN_EFORMAT, or HN_ENOMEM. */
enum hn_status hn_json_parse_expression(const json_t *json, const char *key, struct hn_expression **to,
                                        struct hn_error *err);
/* A missing one is NULL. */
enum hn_status hn_json_expression(const json_t *object, const char *key, struct hn_expression **to,
                                  struct hn_error *err);

#endif
