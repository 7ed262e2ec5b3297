/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/report/report.h"

/* What the page is given figures with: six digits tell times apart that the measurement can. */
enum { DIGITS = 6 };

/* Where the template wants the data. */
static const char mark[] = "@HONE_DATA@";

/* In JSON a '<' stands in strings only. Written as an escape, no text of a kernel, message or
 * parameter can end the element that the data stands in, nor open another. */
static void append_escaped(struct hn_text *page, const char *json)
{
    const char *rest = json;
    for (const char *c = strchr(rest, '<'); c != NULL; c = strchr(rest, '<')) {
        hn_text_append_bytes(page, rest, (size_t)(c - rest));
        hn_text_append(page, "\\u003c");
        rest = c + 1;
    }
    hn_text_append(page, rest);
}

enum hn_status hn_report_page(const struct hn_report *report, struct hn_text *page,
                              struct hn_error *err)
{
    const char *place = strstr(hn_report_template, mark);
    json_t *document = hn_report_to_json(report);
    char *json =
        document == NULL ? NULL : json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
    json_decref(document);
    if (json == NULL)
        return hn_fail_memory(err);
    hn_text_append_bytes(page, hn_report_template, (size_t)(place - hn_report_template));
    append_escaped(page, json);
    hn_text_append(page, place + sizeof mark - 1);
    free(json);
    return page->failed ? hn_fail_memory(err) : HN_OK;
}
