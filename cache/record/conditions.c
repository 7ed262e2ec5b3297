/* SPDX-License-Identifier: MIT */
#include "cache/record/conditions.h"

#include <stdio.h>
#include <string.h>

/* The names are written to caches and files: never change one. */
static const struct {
    unsigned bit;
    const char *name;
    const char *meaning;
} slowdowns[] = {
    {0x04, "power_cap", "the power cap"},       {0x08, "hardware", "a hardware slowdown"},
    {0x20, "temperature", "the temperature"},   {0x40, "hot", "the temperature"},
    {0x80, "power_supply", "the power supply"},
};
enum { SLOWDOWN_COUNT = sizeof slowdowns / sizeof *slowdowns };

unsigned hn_slowdowns_of(unsigned long long reasons)
{
    unsigned slow = 0;
    for (size_t i = 0; i < SLOWDOWN_COUNT; i++)
        slow |= (unsigned)reasons & slowdowns[i].bit;
    return slow;
}

void hn_slowdowns_describe(unsigned set, char *text, size_t size)
{
    size_t length = 0;
    const char *last = "";
    text[0] = '\0';
    for (size_t i = 0; i < SLOWDOWN_COUNT; i++) {
        if ((set & slowdowns[i].bit) == 0 || strcmp(slowdowns[i].meaning, last) == 0)
            continue;
        int n = snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "",
                         slowdowns[i].meaning);
        last = slowdowns[i].meaning;
        length += n > 0 ? (size_t)n : 0;
        if (length >= size)
            return;
    }
}

static void read_slowdowns(struct hn_json_reader *reader, const struct hn_field *field,
                           const json_t *json, void *member)
{
    size_t index;
    const json_t *item;
    if (!hn_json_expect(reader, json_is_array(json), field->key, "a list of names"))
        return;
    json_array_foreach(json, index, item) for (size_t i = 0; i < SLOWDOWN_COUNT; i++)
    {
        const char *name = json_string_value(item);
        if (name != NULL && strcmp(name, slowdowns[i].name) == 0)
            *(unsigned *)member |= slowdowns[i].bit;
    }
}

static void build_slowdowns(struct hn_builder *object, const struct hn_field *field,
                            const void *member)
{
    unsigned set = *(const unsigned *)member;
    if (set == 0)
        return;
    struct hn_builder array = hn_build_array();
    for (size_t i = 0; i < SLOWDOWN_COUNT; i++)
        if ((set & slowdowns[i].bit) != 0)
            hn_build_append(&array, json_string(slowdowns[i].name));
    hn_build_set(object, field->key, hn_build_finish(&array));
}

static const struct hn_field_own slowdowns_field = {read_slowdowns, build_slowdowns, NULL};

#define IF_ANY(member, what) .key = #member, .kind = (what), HN_AT(hn_conditions, member)
static const struct hn_field fields[] = {
    {IF_ANY(sm_mhz, HN_FIELD_COUNT)},
    {IF_ANY(memory_mhz, HN_FIELD_COUNT)},
    {IF_ANY(power_w, HN_FIELD_AMOUNT)},
    {IF_ANY(temperature_c, HN_FIELD_COUNT)},
    {.key = "held_down_by", HN_OWN(hn_conditions, held_down, slowdowns_field)},
};
const struct hn_structure hn_conditions_structure = HN_STRUCTURE(hn_conditions, fields, NULL);

bool hn_conditions_are_known(const struct hn_conditions *conditions)
{
    return conditions->sm_mhz != 0 || conditions->memory_mhz != 0 || conditions->power_w > 0 ||
           conditions->temperature_c != 0 || conditions->held_down != 0;
}

void hn_conditions_append(struct hn_text *text, const struct hn_conditions *conditions)
{
    const struct {
        const char *format;
        double value;
    } parts[] = {
        {"SM at %.0f MHz", conditions->sm_mhz},
        {"memory at %.0f MHz", conditions->memory_mhz},
        {"%.0f W", conditions->power_w},
        {"%.0f °C", conditions->temperature_c},
    };
    const char *separator = "";
    char held[128];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char part[48];
        if (!(parts[i].value > 0))
            continue;
        snprintf(part, sizeof part, parts[i].format, parts[i].value);
        hn_text_printf(text, "%s%s", separator, part);
        separator = ", ";
    }
    hn_slowdowns_describe(conditions->held_down, held, sizeof held);
    if (held[0] != '\0')
        hn_text_printf(text, "%sheld down by %s", separator[0] != '\0' ? "; " : "", held);
}
