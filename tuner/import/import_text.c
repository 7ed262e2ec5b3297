/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression.h"
#include "base/text.h"
#include "tuner/import/import_part.h"

const char *hn_import_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

char *hn_import_number_text(const json_t *json)
{
    struct hn_text text = {0};
    if (json_is_string(json)) {
        hn_text_append(&text, json_string_value(json));
    } else if (json_is_number(json)) {
        struct hn_value value = json_is_integer(json) ? hn_integer(json_integer_value(json))
                                                      : hn_real(json_real_value(json));
        hn_value_append(&text, &value);
    } else {
        return NULL;
    }
    return hn_text_take(&text);
}

bool hn_import_holds(const struct hn_import *import, const char *expression, bool with_parameters,
                     struct hn_error *err)
{
    struct hn_expression *parsed = NULL;
    size_t hidden = with_parameters ? 0 : import->parameter_count;
    struct hn_scope scope = {.names = import->names + hidden,
                             .name_count = import->name_count - hidden};
    bool holds = hn_expression_parse(expression, &parsed, err) == HN_OK &&
                 hn_expression_bind(parsed, &scope, err) == HN_OK;
    hn_expression_destroy(parsed);
    return holds;
}

/* YAML takes it for a text as it stands, within brackets too; what looks like a key, a comment or a
 * list does not. */
static bool is_plain(const char *string)
{
    if (!hn_is_letter_or_digit(string[0]) && string[0] != '(' && string[0] != '_')
        return false;
    for (const char *c = string; *c != '\0'; c++)
        if (!hn_is_letter_or_digit(*c) && strchr("_ +-*/%()<>=!.", *c) == NULL)
            return false;
    return string[strlen(string) - 1] != ' ';
}

void hn_import_append_quoted(struct hn_text *text, const char *string)
{
    hn_text_append(text, "\"");
    for (const char *c = string; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            hn_text_printf(text, "\\%c", *c);
        else if ((unsigned char)*c < 0x20 || *c == 0x7f)
            hn_text_printf(text, "\\x%02x", (unsigned char)*c);
        else
            hn_text_append_bytes(text, c, 1);
    }
    hn_text_append(text, "\"");
}

void hn_import_append(struct hn_text *text, const char *expression)
{
    if (is_plain(expression))
        hn_text_append(text, expression);
    else
        hn_import_append_quoted(text, expression);
}

void hn_import_append_comment(struct hn_text *text, const char *string)
{
    size_t length = 0;
    for (; string[length] != '\0' && length < 160; length++) {
        unsigned char c = (unsigned char)string[length];
        hn_text_printf(text, "%c", c < 0x20 || c > 0x7e ? ' ' : c);
    }
    if (string[length] != '\0')
        hn_text_append(text, "...");
}
