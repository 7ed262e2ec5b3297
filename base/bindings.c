/* SPDX-License-Identifier: MIT */
#include "base/bindings.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Far more than anybody tunes, and few enough to be inserted one by one. */
enum { MOST_NAMES = 1024 };

void hn_bindings_init(struct hn_bindings *bindings)
{
    *bindings = (struct hn_bindings){0};
}

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
    hn_bindings_init(bindings);
}

/* Where the name is, or where it belongs. */
static bool find(const struct hn_bindings *bindings, const char *name, size_t *position)
{
    size_t low = 0;
    size_t high = bindings->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(bindings->names[middle], name);
        if (order == 0) {
            *position = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *position = low;
    return false;
}

const struct hn_value *hn_bindings_get(const struct hn_bindings *bindings, const char *name)
{
    size_t position;
    return find(bindings, name, &position) ? &bindings->values[position] : NULL;
}

static bool copy_value(const struct hn_value *value, struct hn_value *copy)
{
    *copy = *value;
    if (value->type == HN_WORD)
        copy->word = strdup(value->word);
    return value->type != HN_WORD || copy->word != NULL;
}

static bool grow(struct hn_bindings *bindings)
{
    size_t count = bindings->count + 1;
    char **names = realloc(bindings->names, count * sizeof *names);
    if (names == NULL)
        return false;
    bindings->names = names;
    struct hn_value *values = realloc(bindings->values, count * sizeof *values);
    if (values == NULL)
        return false;
    bindings->values = values;
    return true;
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
    struct hn_value copy;
    if (!copy_value(value, &copy))
        return hn_fail_memory(err);
    size_t position;
    if (find(bindings, name, &position)) {
        free_word(&bindings->values[position]);
        bindings->values[position] = copy;
        return HN_OK;
    }
    if (bindings->count == MOST_NAMES) {
        free_word(&copy);
        return hn_fail(err, HN_EFORMAT, "found more than %d names with values", MOST_NAMES);
    }
    char *own_name = strdup(name);
    if (own_name == NULL || !grow(bindings)) {
        free(own_name);
        free_word(&copy);
        return hn_fail_memory(err);
    }
    insert(bindings, position, own_name, copy);
    return HN_OK;
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
    for (size_t i = 0; i < from->count; i++) {
        enum hn_status status = hn_bindings_set(into, from->names[i], &from->values[i], err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

enum hn_status hn_bindings_copy(struct hn_bindings *to, const struct hn_bindings *from,
                                struct hn_error *err)
{
    hn_bindings_init(to);
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
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->names[i], b->names[i]) != 0 || !hn_value_equal(&a->values[i], &b->values[i]))
            return false;
    }
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
    char *copy = strdup(string);
    if (copy == NULL)
        return hn_fail_memory(err);
    enum hn_status status = HN_OK;
    char *next = copy;
    while (status == HN_OK && next != NULL) {
        char *pair = strsep(&next, ",");
        status = parse_pair(pair, bindings, err);
    }
    free(copy);
    return status;
}

enum hn_status hn_bindings_parse(const char *string, struct hn_bindings *bindings,
                                 struct hn_error *err)
{
    hn_bindings_init(bindings);
    enum hn_status status = *string == '\0' ? HN_OK : hn_bindings_add(bindings, string, err);
    if (status != HN_OK)
        hn_bindings_finish(bindings);
    return status;
}
