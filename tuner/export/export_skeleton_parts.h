/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPORT_EXPORT_SKELETON_PARTS_H
#define HONE_TUNER_EXPORT_EXPORT_SKELETON_PARTS_H

#include "tuner/export/export.h"

/* Exported C is a skeleton (header.h.in, driver.h.in, embedded.h.in) that is filled in. HONE_NAME and hone_NAME become the prefix;
 * {{name}} a part's text, and the line goes with it where it holds nothing else; lines from {{#name}} to {{/name}} stay
 * where the part counts something, those from {{^name}} where it does not. */
struct hn_export_part {
    const char *name;
    size_t (*count)(const struct hn_export *export); /* its text too, where there is no append */
    enum hn_status (*append)(const struct hn_export *export, struct hn_text *text, struct hn_error *err);
};

extern const char hn_export_header_skeleton[], hn_export_driver_skeleton[], hn_export_embedded_skeleton[];

/* The parts of a header by what they say; each list ends with a part without a name. */
extern const struct hn_export_part hn_export_head_parts[], hn_export_macro_parts[], hn_export_function_parts[],
    hn_export_result_parts[], hn_export_driver_parts[], hn_export_image_parts[];

/* Appends the skeleton, filled. */
enum hn_status hn_export_fill(const struct hn_export *export, const char *skeleton, struct hn_text *text,
                              struct hn_error *err);

#endif
