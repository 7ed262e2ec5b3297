/* SPDX-License-Identifier: MIT */
#include "tuner/export/export_skeleton_parts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct hn_export_part *find_part(const char *name, size_t length)
{
    static const struct hn_export_part *const lists[] = {
        hn_export_head_parts,   hn_export_macro_parts,  hn_export_function_parts,
        hn_export_result_parts, hn_export_driver_parts, hn_export_image_parts};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const struct hn_export_part *part = lists[i]; part->name != NULL; part++)
            if (strlen(part->name) == length && memcmp(part->name, name, length) == 0)
                return part;
    assert(!"a skeleton names a part that there is not");
    return NULL;
}

static enum hn_status append_part(const struct hn_export *export, const struct hn_export_part *part,
                                  struct hn_text *text, struct hn_error *err)
{
    if (part->append != NULL)
        return part->append(export, text, err);
    hn_text_printf(text, "%zu", part->count(export));
    return HN_OK;
}

/* What stands at `here` is replaced; *length becomes that of what was read. */
static enum hn_status append_token(const struct hn_export *export, const char *here, size_t *length,
                                   struct hn_text *text, struct hn_error *err)
{
    static const char prefix[] = "HONE_NAME";
    *length = strlen(prefix);
    if (strncmp(here, prefix, *length) == 0) {
        hn_text_append(text, export->upper);
    } else if (strncmp(here, "hone_NAME", *length) == 0) {
        hn_text_append(text, export->lower);
    } else if (strncmp(here, "{{", 2) == 0 && here[2] >= 'a' && here[2] <= 'z') {
        size_t name = strcspn(here + 2, "}");
        *length = name + strlen("{{}}");
        return append_part(export, find_part(here + 2, name), text, err);
    } else {
        *length = 1;
        hn_text_append_bytes(text, here, 1);
    }
    return HN_OK;
}

static enum hn_status append_line(const struct hn_export *export, const char *line, size_t length,
                                  struct hn_text *text, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    size_t token = 0;
    for (size_t at = 0; at < length && status == HN_OK; at += token)
        status = append_token(export, line + at, &token, text, err);
    bool is_part = length > 2 && strncmp(line, "{{", 2) == 0 && token == length;
    hn_text_append(text, is_part ? "" : "\n");
    return status;
}

/* '#', '^' or '/' of a line that begins or ends a section; else 0. */
static char section_kind(const char *line)
{
    return strncmp(line, "{{", 2) == 0 && strchr("#^/", line[2]) != NULL ? line[2] : '\0';
}

enum hn_status hn_export_fill(const struct hn_export *export, const char *skeleton,
                              struct hn_text *text, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    int depth = 0, hidden = 0; /* the depth from which on nothing is shown; 0: all is */
    for (const char *line = skeleton; *line != '\0' && status == HN_OK;) {
        size_t length = strcspn(line, "\n");
        char kind = section_kind(line);
        if (kind == '/') {
            hidden = hidden == depth ? 0 : hidden;
            depth--;
        } else if (kind != '\0') {
            bool counts = find_part(line + 3, strcspn(line + 3, "}"))->count(export) > 0;
            depth++;
            if (hidden == 0 && counts != (kind == '#'))
                hidden = depth;
        } else if (hidden == 0) {
            status = append_line(export, line, length, text, err);
        }
        line += length + 1;
    }
    return status;
}
