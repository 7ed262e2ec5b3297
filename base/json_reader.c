/* SPDX-License-Identifier: MIT */
#include "base/json_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

bool hn_json_expect(struct hn_json_reader *reader, bool holds, const char *key,
                    const char *expected)
{
    if (reader->status == HN_OK && !holds)
        reader->status =
            hn_fail(reader->err, HN_EFORMAT, "%s: '%s' is not %s", reader->what, key, expected);
    return reader->status == HN_OK;
}

bool hn_json_take(struct hn_json_reader *reader, enum hn_status status)
{
    if (reader->status == HN_OK)
        reader->status = status == HN_ECONFIG ? HN_EFORMAT : status;
    return reader->status == HN_OK;
}

static void copy(struct hn_json_reader *reader, const json_t *json, char **to)
{
    *to = strdup(json_string_value(json));
    if (*to == NULL)
        reader->status = hn_fail_memory(reader->err);
}

void hn_json_text(struct hn_json_reader *reader, const json_t *json, const char *key, char **to)
{
    if (hn_json_expect(reader, json_is_string(json) && json_string_length(json) > 0, key,
                       "a string"))
        copy(reader, json, to);
}

void hn_json_word(struct hn_json_reader *reader, const json_t *json, const char *key, char **to)
{
    if (hn_json_expect(reader, json_is_string(json) && hn_text_is_word(json_string_value(json)),
                       key, "a name"))
        copy(reader, json, to);
}

void hn_json_index(struct hn_json_reader *reader, const json_t *json, const char *key, size_t *to)
{
    if (hn_json_expect(reader, json_is_integer(json) && json_integer_value(json) >= 0, key,
                       "a number from 0 on"))
        *to = (size_t)json_integer_value(json);
}

void hn_json_finite(struct hn_json_reader *reader, const json_t *json, const char *key, double *to)
{
    if (hn_json_expect(reader, json_is_number(json) && isfinite(json_number_value(json)), key,
                       "a number"))
        *to = json_number_value(json);
}

void hn_json_choice(struct hn_json_reader *reader, const json_t *json, const char *key,
                    const char *const *names, int count, int *to)
{
    const char *name = json_string_value(json);
    for (int i = 0; name != NULL && i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            *to = i;
            return;
        }
    }
    struct hn_text list;
    hn_text_init(&list);
    for (int i = 0; i < count; i++)
        hn_text_printf(&list, "%s%s", i == 0 ? "one of " : ", ", names[i]);
    hn_json_expect(reader, false, key, list.data == NULL ? "a known word" : list.data);
    hn_text_finish(&list);
}
