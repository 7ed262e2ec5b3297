/* SPDX-License-Identifier: MIT */
#include "cache/record/origin.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

void hn_origin_of_file(const char *path, struct hn_origin *origin)
{
    int length = (int)strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    const char *slash = memrchr(path, '/', (size_t)length);
    const char *name = slash == NULL ? path : slash + 1;
    *origin = (struct hn_origin){.imported = 0};
    snprintf(origin->source, sizeof origin->source, "%.*s", length - (int)(name - path), name);
}

bool hn_origin_is_foreign(const struct hn_origin *origin)
{
    return origin->source[0] != '\0';
}

void hn_origin_append(struct hn_text *text, const struct hn_origin *origin)
{
    time_t seconds = (time_t)origin->imported;
    struct tm utc;
    char date[40] = "";
    if (origin->imported > 0 && gmtime_r(&seconds, &utc) != NULL)
        snprintf(date, sizeof date, "%04d-%02d-%02d", utc.tm_year + 1900, utc.tm_mon + 1,
                 utc.tm_mday);
    bool foreign = hn_origin_is_foreign(origin);
    if (foreign)
        hn_text_printf(text, "%s %s%s%s", origin->imported > 0 ? "imported from" : "read from",
                       origin->source, date[0] == '\0' ? "" : " on ", date);
    if (!foreign || origin->machine[0] != '\0')
        hn_text_printf(text, "%smeasured on %s", foreign ? ", " : "", origin->machine);
}

char *hn_origin_text(const struct hn_origin *origin)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_origin_append(&text, origin);
    return hn_text_take(&text);
}

json_t *hn_origin_to_json(const struct hn_origin *origin)
{
    return json_pack("{s:s, s:s, s:f}", "machine", origin->machine, "source", origin->source,
                     "imported", origin->imported);
}
