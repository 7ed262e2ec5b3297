/* SPDX-License-Identifier: MIT */
#include "cache/record/warning.h"

#include <string.h>

const char *const hn_warning_names[HN_WARNING_COUNT] = {
#define X(identifier, name, meaning) [identifier] = name,
    HN_WARNINGS(X)
#undef X
};

static const char *const meanings[HN_WARNING_COUNT] = {
#define X(identifier, name, meaning) [identifier] = meaning,
    HN_WARNINGS(X)
#undef X
};

const char *hn_warning_meaning(enum hn_warning warning)
{
    return meanings[warning];
}

void hn_warnings_append(struct hn_text *text, unsigned warnings)
{
    const char *separator = "";
    for (int i = 0; i < HN_WARNING_COUNT; i++) {
        if ((warnings >> i & 1) == 0)
            continue;
        hn_text_printf(text, "%s%s", separator, hn_warning_names[i]);
        separator = ", ";
    }
}

static void read_warnings(struct hn_json_reader *reader, const struct hn_field *field,
                          const json_t *json, void *member)
{
    size_t index;
    const json_t *item;
    if (!hn_json_expect(reader, json_is_array(json), field->key, "a list of warnings"))
        return;
    json_array_foreach(json, index, item) for (int i = 0; i < HN_WARNING_COUNT; i++)
    {
        const char *name = json_string_value(item);
        if (name != NULL && strcmp(name, hn_warning_names[i]) == 0)
            *(unsigned *)member |= 1u << i;
    }
}

static void build_warnings(struct hn_builder *object, const struct hn_field *field,
                           const void *member)
{
    unsigned warnings = *(const unsigned *)member;
    if (warnings == 0)
        return;
    struct hn_builder array = hn_build_array();
    for (int i = 0; i < HN_WARNING_COUNT; i++)
        if ((warnings >> i & 1) != 0)
            hn_build_append(&array, json_string(hn_warning_names[i]));
    hn_build_set(object, field->key, hn_build_finish(&array));
}

const struct hn_field_own hn_warnings_field = {read_warnings, build_warnings, NULL};
