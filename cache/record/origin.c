/* SPDX-License-Identifier: MIT */
#include "cache/record/origin.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

void hn_origin_of_file(const char *path, struct hn_origin *origin)
{
    const char *slash = strrchr(path, '/');
    *origin = (struct hn_origin){.imported = 0};
    snprintf(origin->source, sizeof origin->source, "%s", slash == NULL ? path : slash + 1);
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
