/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPORT_EXPORT_SKELETON_PARTS_H
#define HONE_TUNER_EXPORT_EXPORT_SKELETON_PARTS_H

#include "tuner/export/export.h"

/* What is written, and the first failure, after which nothing counts. */
struct hn_export_writer {
    const struct hn_export *export;
    struct hn_text *text;
    char **preludes; /* of each configuration: the #defines that its code was compiled with */
    char **others;   /* and those that the header has besides */
    enum hn_status status;
    struct hn_error *err;     /* of the first failure; then `ignored`, since whoever is called begins afresh */
    struct hn_error *ignored;
};
void hn_export_note(struct hn_export_writer *writer, enum hn_status status);

/* Exported C is a skeleton (header.h.in, driver.h.in, embedded.h.in) that is filled in. HONE_NAME and hone_NAME become the
 * prefix; {{name}} a part's text, and the line goes with it where it holds nothing else; lines from {{#name}} to {{/name}} stay
 * where the part counts something, those from {{^name}} where it does not; the lines of a part behind " * " become a comment's. */
struct hn_export_part {
    const char *name;
    size_t (*count)(const struct hn_export *export); /* its text too, where there is no other */
    void (*write)(struct hn_export_writer *writer);
};

/* Defines count_<name> of a part. */
#define HN_EXPORT_COUNT(name, number)                              \
    static size_t count_##name(const struct hn_export *export)     \
    {                                                              \
        return number;                                             \
    }

extern const char hn_export_header_skeleton[], hn_export_driver_skeleton[], hn_export_embedded_skeleton[];

/* The parts of a header by what they say; each list ends with a part without a name. */
extern const struct hn_export_part hn_export_head_parts[], hn_export_macro_parts[], hn_export_function_parts[],
    hn_export_result_parts[], hn_export_rule_parts[], hn_export_driver_parts[], hn_export_image_parts[],
    hn_export_tensor_parts[];

/* Fills a skeleton in. */
void hn_export_fill(struct hn_export_writer *writer, const char *skeleton);
/* The same with a writer of its own. */
enum hn_status hn_export_write(const struct hn_export *export, const char *skeleton, struct hn_text *text,
                               struct hn_error *err);
/* Appends text for the inside of a comment, each line behind `start`: names and paths could hold the marks of one. */
void hn_export_append_comment(struct hn_text *text, const char *start, const char *string);
/* What `others` holds of a configuration, beside its prelude: words of problem values, and where and for what it was tuned. */
void hn_export_append_others(const struct hn_export *export, size_t config, const char *prelude, struct hn_text *text);

#endif
