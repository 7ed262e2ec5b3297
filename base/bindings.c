/* SPDX-License-Identifier: MIT */
#include "base/bindings.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Far more than anybody tunes, and few enough to be inserted one by one. */
enum { MOST_NAMES = 1024 };

static void free_word(struct hn_value *value)
{
    if (value->type == HN_WORD)
        free((char *)value->word);
}

void hn_bindings_finish(struct hn_bindings *bindings)
{
    if (bindings == NULL)
        return;
    for (size_t i = 0; i < bindings->count; i++) {
        free(bindings->names[i]);
        free_word(&bindings->values[i]);
    }
    free(bindings->names);
    free(bindings->values);
    *bindings = (struct hn_bindings){0};
}

/* Where the name is, or where it belongs. */
static bool find(const struct hn_bindings *bindings, const char *name, size_t *position)
{
    size_t low = 0, high = bindings->count;
    int order = 1;
    while (low < high && order != 0) {
        *position = low + (high - low) / 2;
        order = strcmp(bindings->names[*position], name);
        if (order < 0)
            low = *position + 1;
        else
            high = *position;
    }
    if (order != 0)
        *position = low;
    return order == 0;
}

const struct hn_value *hn_bindings_get(const struct hn_bindings *bindings, const char *name)
{
    size_t position;
    return find(bindings, name, &position) ? &bindings->values[position] : NULL;
}

static bool grow(struct hn_bindings *bindings)
{
    size_t count = bindings->count + 1;
    char **names = realloc(bindings->names, count * sizeof *names);
    bindings->names = names != NULL ? names : bindings->names;
    struct hn_value *values = realloc(bindings->values, count * sizeof *values);
    bindings->values = values != NULL ? values : bindings->values;
    return names != NULL && values != NULL;
}

/* Takes name and value; there is room. */
static void insert(struct hn_bindings *bindings, size_t at, char *name, struct hn_value value)
{
    size_t behind = bindings->count - at;
    memmove(bindings->names + at + 1, bindings->names + at, behind * sizeof *bindings->names);
    memmove(bindings->values + at + 1, bindings->values + at, behind * sizeof *bindings->values);
    bindings->names[at] = name;
    bindings->values[at] = value;
    bindings->count++;
}

enum hn_status hn_bindings_set(struct hn_bindings *bindings, const char *name,
                               const struct hn_value *value, struct hn_error *err)
{
    struct hn_value copy = *value;
    size_t position;
    if (value->type == HN_WORD && (copy.word = strdup(value->word)) == NULL)
        return hn_fail_memory(err);
    if (find(bindings, name, &position)) {
        free_word(&bindings->values[position]);
        bindings->values[position] = copy;
        return HN_OK;
    }
    bool full = bindings->count == MOST_NAMES;
    char *own_name = full ? NULL : strdup(name);
    if (own_name != NULL && grow(bindings)) {
        insert(bindings, position, own_name, copy);
        return HN_OK;
    }
    free(own_name);
    free_word(&copy);
    return full ? hn_fail(err, HN_EFORMAT, "found more than %d names with values", MOST_NAMES)
                : hn_fail_memory(err);
}

bool hn_bindings_lend(struct hn_bindings *bindings, const char *name, const struct hn_value *value)
{
    size_t position;
    if (find(bindings, name, &position))
        return false;
    insert(bindings, position, (char *)(uintptr_t)name, *value);
    return true;
}

enum hn_status hn_bindings_merge(struct hn_bindings *into, const struct hn_bindings *from,
                                 struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < from->count && status == HN_OK; i++)
        status = hn_bindings_set(into, from->names[i], &from->values[i], err);
    return status;
}

enum hn_status hn_bindings_copy(struct hn_bindings *to, const struct hn_bindings *from,
                                struct hn_error *err)
{
    *to = (struct hn_bindings){0};
    enum hn_status status = hn_bindings_merge(to, from, err);
    if (status != HN_OK)
        hn_bindings_finish(to);
    return status;
}

struct hn_bindings hn_need_bindings(const struct hn_bindings *from, const struct hn_bindings *with)
{
    struct hn_bindings copy;
    bool made = hn_bindings_copy(&copy, from, NULL) == HN_OK &&
                (with == NULL || hn_bindings_merge(&copy, with, NULL) == HN_OK);
    if (!made)
        hn_needed(NULL);
    return copy;
}

bool hn_bindings_equal(const struct hn_bindings *a, const struct hn_bindings *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->names[i], b->names[i]) != 0 || !hn_value_equal(&a->values[i], &b->values[i]))
            return false;
    return true;
}

void hn_bindings_append(struct hn_text *text, const struct hn_bindings *bindings)
{
    for (size_t i = 0; i < bindings->count; i++) {
        if (i > 0)
            hn_text_append(text, ",");
        hn_text_append(text, bindings->names[i]);
        hn_text_append(text, "=");
        hn_value_append(text, &bindings->values[i]);
    }
}

char *hn_bindings_text(const struct hn_bindings *bindings)
{
    struct hn_text text = {0};
    hn_bindings_append(&text, bindings);
    return hn_text_take(&text);
}

/* Cuts `pair` at its '='. */
static enum hn_status parse_pair(char *pair, struct hn_bindings *bindings, struct hn_error *err)
{
    char *equals = strchr(pair, '=');
    if (equals == NULL)
        return hn_fail(err, HN_ECONFIG, "found '%s', expected NAME=VALUE", pair);
    *equals = '\0';
    if (!hn_text_is_word(pair))
        return hn_fail(err, HN_ECONFIG, "found '%s', expected a name before '='", pair);
    if (hn_bindings_get(bindings, pair) != NULL)
        return hn_fail(err, HN_ECONFIG, "'%s' is given twice", pair);
    if (equals[1] == '\0')
        return hn_fail(err, HN_ECONFIG, "'%s' has no value; expected %s=VALUE", pair, pair);
    struct hn_value value;
    enum hn_status status = hn_value_parse(equals + 1, &value, err);
    return status == HN_OK ? hn_bindings_set(bindings, pair, &value, err) : status;
}

enum hn_status hn_bindings_add(struct hn_bindings *bindings, const char *string,
                               struct hn_error *err)
{
    char *copy HN_FREED = strdup(string);
    if (copy == NULL)
        return hn_fail_memory(err);
    enum hn_status status = HN_OK;
    char *next = copy;
    while (status == HN_OK && next != NULL) {
        char *pair = strsep(&next, ",");
        status = parse_pair(pair, bindings, err);
    }
    return status;
}

enum hn_status hn_bindings_parse(const char *string, struct hn_bindings *bindings,
                                 struct hn_error *err)
{
    *bindings = (struct hn_bindings){0};
    enum hn_status status = *string == '\0' ? HN_OK : hn_bindings_add(bindings, string, err);
    if (status != HN_OK)
        hn_bindings_finish(bindings);
    return status;
}
