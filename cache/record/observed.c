/* SPDX-License-Identifier: MIT */
#include "cache/record/observed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/record/bindings_json.h"

enum { NAME_SIZE = 160, WORD_MOST = 60 };

double hn_observed(const struct hn_bindings *observed, const char *name)
{
    const struct hn_value *value = hn_bindings_get(observed, name);
    return value == NULL ? 0 : hn_value_number(value);
}

static bool is_in(const char *name, const char *group)
{
    size_t length = strlen(group);
    return strncmp(name, group, length) == 0 && name[length] == '.';
}

size_t hn_observed_range(const struct hn_bindings *observed, const char *group, size_t *end)
{
    size_t begin = 0;
    while (begin < observed->count && !is_in(observed->names[begin], group))
        begin++;
    *end = begin;
    while (*end < observed->count && is_in(observed->names[*end], group))
        ++*end;
    return begin;
}

bool hn_observed_any(const struct hn_bindings *observed, const char *group)
{
    size_t end;
    return hn_observed_range(observed, group, &end) < end;
}

static void set(struct hn_bindings *observed, const char *name, struct hn_value value,
                struct hn_error *err)
{
    if (!hn_failed(err))
        hn_bindings_set(observed, name, &value, err);
}

void hn_observed_set(struct hn_bindings *observed, const char *name, double value,
                     struct hn_error *err)
{
    set(observed, name, hn_real(value), err);
}

void hn_observed_count(struct hn_bindings *observed, const char *name, int64_t count,
                       struct hn_error *err)
{
    set(observed, name, hn_integer(count), err);
}

void hn_observed_flag(struct hn_bindings *observed, const char *name, struct hn_error *err)
{
    set(observed, name, hn_boolean(true), err);
}

void hn_observed_drop(struct hn_bindings *observed, const char *group)
{
    size_t end;
    size_t begin = hn_observed_range(observed, group, &end);
    for (size_t i = begin; i < end; i++)
        free(observed->names[i]);
    size_t behind = observed->count - end;
    if (begin == end)
        return;
    memmove(observed->names + begin, observed->names + end, behind * sizeof *observed->names);
    memmove(observed->values + begin, observed->values + end, behind * sizeof *observed->values);
    observed->count -= end - begin;
}

void hn_observed_replace(struct hn_bindings *observed, const char *group,
                         const struct hn_bindings *from, struct hn_error *err)
{
    size_t end;
    size_t begin = hn_observed_range(from, group, &end);
    if (hn_failed(err))
        return;
    hn_observed_drop(observed, group);
    for (size_t i = begin; i < end && !hn_failed(err); i++)
        hn_bindings_set(observed, from->names[i], &from->values[i], err);
}

/* In files these come first, in this order; all others by their names. */
static const char *const first[] = {
    "staging.chunks",
    "staging.streams",
    "staging.register_ms",
    "staging.copy_engines",
    "staging.kernels_us",
    "staging.upload_us",
    "staging.download_us",
    "staging.sequential_us",
    "energy.joules",
    "energy.spread",
    "energy.power_w",
    "energy.launch_us",
    "energy.idle_w",
    "energy.seconds",
    "energy.windows",
    "energy.temperature_c",
    "conditions.sm_mhz",
    "conditions.memory_mhz",
    "conditions.power_w",
    "conditions.temperature_c",
    "conditions.held_down_by.power_cap",
    "conditions.held_down_by.hardware",
    "conditions.held_down_by.temperature",
    "conditions.held_down_by.hot",
};

static void build_value(struct hn_builder *object, const char *name, const struct hn_value *value)
{
    char key[NAME_SIZE];
    const char *own = strchr(name, '.') + 1;
    const char *word = strchr(own, '.');
    if (word == NULL) {
        hn_build_set(object, own, hn_value_to_json(value));
        return;
    }
    snprintf(key, sizeof key, "%.*s", (int)(word - own), own);
    if (json_object_get(object->json, key) == NULL)
        hn_build_set(object, key, json_array());
    struct hn_builder list = {json_object_get(object->json, key), object->failed};
    hn_build_append(&list, json_string(word + 1));
    object->failed = list.failed;
}

json_t *hn_observed_to_json(const struct hn_bindings *observed, const char *group)
{
    size_t end;
    size_t begin = hn_observed_range(observed, group, &end);
    struct hn_builder object = hn_build_object();
    bool written[sizeof first / sizeof *first] = {false};
    for (size_t i = 0; begin < end && i < sizeof first / sizeof *first; i++) {
        const struct hn_value *value = hn_bindings_get(observed, first[i]);
        written[i] = value != NULL && is_in(first[i], group);
        if (written[i])
            build_value(&object, first[i], value);
    }
    for (size_t i = begin; i < end; i++) {
        bool again = false;
        for (size_t k = 0; k < sizeof first / sizeof *first; k++)
            again = again || (written[k] && strcmp(first[k], observed->names[i]) == 0);
        if (!again)
            build_value(&object, observed->names[i], &observed->values[i]);
    }
    return hn_build_finish(&object);
}

static void read_later(struct hn_json_reader *reader, const struct hn_field *field,
                       const json_t *json, void *member)
{
    (void)reader;
    (void)field;
    (void)json;
    (void)member;
}

static void build_group(struct hn_builder *object, const struct hn_field *field, const void *member)
{
    if (hn_observed_any(member, field->key))
        hn_build_set(object, field->key, hn_observed_to_json(member, field->key));
}

const struct hn_field_own hn_observed_field = {read_later, build_group, NULL};

static void read_set(struct hn_bindings *observed, const char *name, const json_t *list,
                     struct hn_error *err)
{
    size_t index;
    const json_t *item;
    char flag[NAME_SIZE + WORD_MOST + 2];
    json_array_foreach(list, index, item)
    {
        const char *word = json_string_value(item);
        if (word == NULL || !hn_text_is_word(word) || strlen(word) > WORD_MOST)
            continue;
        snprintf(flag, sizeof flag, "%s.%.*s", name, (int)WORD_MOST, word);
        hn_observed_flag(observed, flag, err);
    }
}

void hn_observed_read(struct hn_bindings *observed, const char *group, const json_t *object,
                      struct hn_error *err)
{
    const char *key;
    json_t *item;
    json_object_foreach((json_t *)(uintptr_t)object, key, item)
    {
        char name[NAME_SIZE];
        struct hn_value value;
        if (hn_failed(err))
            return;
        if (!hn_text_is_word(group) || !hn_text_is_word(key) ||
            snprintf(name, sizeof name, "%s.%s", group, key) >= (int)sizeof name)
            hn_fail(err, HN_EFORMAT, "record: found '%.60s' in '%.60s', expected words", key,
                    group);
        else if (json_is_array(item))
            read_set(observed, name, item, err);
        else if (!json_is_number(item) || hn_value_from_json(item, &value, err) != HN_OK)
            hn_fail(err, HN_EFORMAT, "record: '%s' is not a number", key);
        else
            set(observed, name, value, err);
    }
}
