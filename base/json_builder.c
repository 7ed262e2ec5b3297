/* SPDX-License-Identifier: MIT */
#include "base/json_builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct hn_builder hn_build_object(void)
{
    json_t *json = json_object();
    return (struct hn_builder){json, json == NULL};
}

struct hn_builder hn_build_array(void)
{
    json_t *json = json_array();
    return (struct hn_builder){json, json == NULL};
}

json_t *hn_build_finish(struct hn_builder *builder)
{
    if (!builder->failed)
        return builder->json;
    json_decref(builder->json);
    return NULL;
}

void hn_build_set(struct hn_builder *object, const char *key, json_t *value)
{
    if (json_object_set_new(object->json, key, value) != 0)
        object->failed = true;
}

void hn_build_append(struct hn_builder *array, json_t *value)
{
    if (json_array_append_new(array->json, value) != 0)
        array->failed = true;
}

void hn_build_string(struct hn_builder *object, const char *key, const char *string)
{
    if (string != NULL)
        hn_build_set(object, key, json_string(string));
}

json_t *hn_real_to_json(double real)
{
    if (isfinite(real))
        return json_real(real);
    return json_pack("{s:s}", "real", isnan(real) ? "nan" : real > 0 ? "inf" : "-inf");
}

json_t *hn_string_to_json(const char *string)
{
    json_t *json = json_string(string);
    char *ascii = json == NULL ? strdup(string) : NULL;
    if (ascii == NULL)
        return json;
    for (char *c = ascii; *c != '\0'; c++) {
        if ((*c & 0x80) != 0)
            *c = '?';
    }
    json = json_string(ascii);
    free(ascii);
    return json;
}
