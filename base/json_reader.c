/* SPDX-License-Identifier: MIT */
#include "base/json_reader.h"

#include <math.h>
#include <stdio.h>
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

const char *hn_json_type_name(const json_t *json)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object",   [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
        [JSON_INTEGER] = "an integer", [JSON_REAL] = "a real",    [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",        [JSON_NULL] = "null",
    };
    return json == NULL ? "nothing" : names[json_typeof(json)];
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

void hn_json_string(struct hn_json_reader *reader, const json_t *json, const char *key, char **to)
{
    if (hn_json_expect(reader, json_is_string(json), key, "a string"))
        copy(reader, json, to);
}

void hn_json_chars(struct hn_json_reader *reader, const json_t *json, const char *key, size_t most,
                   char *to)
{
    char expected[64];
    snprintf(expected, sizeof expected, "a string of at most %zu bytes", most);
    if (hn_json_expect(reader, json_is_string(json) && json_string_length(json) <= most, key,
                       expected))
        strcpy(to, json_string_value(json));
}

void hn_json_hash(struct hn_json_reader *reader, const json_t *json, const char *key, char to[33])
{
    size_t length = json_string_length(json);
    if (hn_json_expect(reader,
                       json_is_string(json) && (length == 0 || length == 32) &&
                           strspn(json_string_value(json), "0123456789abcdef") == length,
                       key, "a hash of 32 hexadecimal digits"))
        strcpy(to, json_string_value(json));
}

void hn_json_count(struct hn_json_reader *reader, const json_t *json, const char *key, int most,
                   int *to)
{
    char expected[64];
    json_int_t count = json_integer_value(json);
    snprintf(expected, sizeof expected, "an integer of 0 to %d", most);
    if (hn_json_expect(reader, json_is_integer(json) && count >= 0 && count <= most, key, expected))
        *to = (int)count;
}

bool hn_real_from_json(const json_t *json, double *real)
{
    if (json_is_number(json)) {
        *real = json_number_value(json);
        return true;
    }
    const char *word = json_string_value(json_object_get(json, "real"));
    if (word == NULL || json_object_size(json) != 1)
        return false;
    if (strcmp(word, "nan") == 0)
        *real = NAN;
    else if (strcmp(word, "inf") == 0)
        *real = INFINITY;
    else if (strcmp(word, "-inf") == 0)
        *real = -INFINITY;
    else
        return false;
    return true;
}

void hn_json_real(struct hn_json_reader *reader, const json_t *json, const char *key, double *to)
{
    double real = 0;
    if (hn_json_expect(reader, hn_real_from_json(json, &real), key, "a number"))
        *to = real;
}

void hn_json_amount(struct hn_json_reader *reader, const json_t *json, const char *key, double *to)
{
    double amount = json_number_value(json);
    if (hn_json_expect(reader, json_is_number(json) && isfinite(amount) && amount >= 0, key,
                       "a number from 0 on"))
        *to = amount;
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
