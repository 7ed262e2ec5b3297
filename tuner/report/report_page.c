/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/report/report.h"

/* What the page is given figures with: six digits tell times apart that the measurement can. */
enum { DIGITS = 6 };

/* Where the template wants the data. */
static const char mark[] = "@HONE_DATA@";

/* Base64 (RFC 4648). No text of a kernel, message or parameter can end the element that the data
 * stands in. */
static void append_base64(struct hn_text *page, const unsigned char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        unsigned all = bytes[i] * 0x10000u;
        all += (i + 1 < size ? bytes[i + 1] * 0x100u : 0) + (i + 2 < size ? bytes[i + 2] : 0);
        char four[4] = {digits[all >> 18], digits[all >> 12 & 63], digits[all >> 6 & 63],
                        digits[all & 63]};
        if (i + 2 >= size)
            four[3] = '=';
        if (i + 1 >= size)
            four[2] = '=';
        hn_text_append_bytes(page, four, sizeof four);
    }
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
    unsigned char *packed = NULL;
    size_t size = 0;
    enum hn_status status = hn_gzip_pack(json, strlen(json), &packed, &size, err);
    free(json);
    if (status != HN_OK)
        return status;
    hn_text_append_bytes(page, hn_report_template, (size_t)(place - hn_report_template));
    append_base64(page, packed, size);
    hn_text_append(page, place + sizeof mark - 1);
    free(packed);
    return page->failed ? hn_fail_memory(err) : HN_OK;
}
