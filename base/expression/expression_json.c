/* SPDX-License-Identifier: MIT */
#include "base/expression/expression_json.h"

json_t *hn_expression_to_json(const struct hn_expression *expression)
{
    return json_string(hn_expression_text(expression));
}

void hn_build_expression(struct hn_builder *object, const char *key,
                         const struct hn_expression *expression)
{
    if (expression != NULL)
        hn_build_set(object, key, hn_expression_to_json(expression));
}

enum hn_status hn_json_parse_expression(const json_t *json, const char *key,
                                        struct hn_expression **to, struct hn_error *err)
{
    if (!json_is_string(json))
        return hn_json_fail(err, key, "an expression");
    enum hn_status status = hn_expression_parse(json_string_value(json), to, err);
    return status == HN_ECONFIG ? HN_EFORMAT : status;
}

enum hn_status hn_json_expression(const json_t *object, const char *key, struct hn_expression **to,
                                  struct hn_error *err)
{
    const json_t *json = json_object_get(object, key);
    return json == NULL ? HN_OK : hn_json_parse_expression(json, key, to, err);
}
