/* SPDX-License-Identifier: MIT */
#include "base/json_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum hn_status hn_json_fail(struct hn_error *err, const char *what, const char *expected)
{
    return hn_fail(err, HN_EFORMAT, "plan: '%s' is not %s", what, expected);
}

enum hn_status hn_json_string(const json_t *object, const char *key, bool optional, char **to,
                              struct hn_error *err)
{
    const json_t *json = json_object_get(object, key);
    if (json == NULL && optional)
        return HN_OK;
    if (!json_is_string(json) || json_string_length(json) == 0)
        return hn_json_fail(err, key, "a string");
    *to = strdup(json_string_value(json));
    return *to == NULL ? hn_fail_memory(err) : HN_OK;
}

enum hn_status hn_json_word(const json_t *object, const char *key, char **to, struct hn_error *err)
{
    enum hn_status status = hn_json_string(object, key, false, to, err);
    if (status == HN_OK && !hn_text_is_word(*to))
        return hn_json_fail(err, key, "a name");
    return status;
}

enum hn_status hn_json_list(const json_t *object, const char *key, size_t size,
                            const json_t **array, void *to, struct hn_error *err)
{
    *array = json_object_get(object, key);
    if (!json_is_array(*array))
        return hn_json_fail(err, key, "a list");
    void *items = calloc(json_array_size(*array) + 1, size);
    if (items == NULL)
        return hn_fail_memory(err);
    memcpy(to, &items, sizeof items);
    return HN_OK;
}

enum hn_status hn_json_words(const json_t *object, const char *key, char ***words, size_t *count,
                             struct hn_error *err)
{
    const json_t *array = NULL;
    enum hn_status status = hn_json_list(object, key, sizeof **words, &array, words, err);
    for (size_t i = 0; status == HN_OK && i < json_array_size(array); i++) {
        const char *word = json_string_value(json_array_get(array, i));
        if (word == NULL || !hn_text_is_word(word))
            return hn_json_fail(err, key, "a list of names");
        (*words)[i] = strdup(word);
        if ((*words)[i] == NULL)
            return hn_fail_memory(err);
        *count = i + 1;
    }
    return status;
}

bool hn_json_contains(char *const *words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

enum hn_status hn_json_finite(const json_t *object, const char *key, double *to,
                              struct hn_error *err)
{
    const json_t *json = json_object_get(object, key);
    if (!json_is_number(json) || !isfinite(json_number_value(json)))
        return hn_json_fail(err, key, "a number");
    *to = json_number_value(json);
    return HN_OK;
}

int hn_json_choice_of(const json_t *json, const char *const *names, int count)
{
    const char *name = json_string_value(json);
    for (int i = 0; name != NULL && i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

int hn_json_choice(const json_t *object, const char *key, const char *const *names, int count)
{
    return hn_json_choice_of(json_object_get(object, key), names, count);
}
