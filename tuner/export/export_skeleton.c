/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/export/export_parts.h"

static const struct hn_export_part *find_part(const char *name)
{
    static const struct hn_export_part *const lists[] = {
        hn_export_head_parts,   hn_export_macro_parts, hn_export_function_parts,
        hn_export_result_parts, hn_export_rule_parts,  hn_export_driver_parts,
        hn_export_tensor_parts};
    size_t length = strcspn(name, "}");
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const struct hn_export_part *part = lists[i]; part->name != NULL; part++)
            if (strlen(part->name) == length && memcmp(part->name, name, length) == 0)
                return part;
    assert(false && "a skeleton names a part that there is not");
    return NULL;
}

static void write_part(struct hn_export_writer *writer, const char *name)
{
    const struct hn_export_part *part = find_part(name);
    if (part->write != NULL)
        part->write(writer);
    else
        hn_text_printf(writer->text, "%zu", part->count(writer->export));
}

/* Replaces the token at `here`. Returns the length of what was read. */
static size_t write_token(struct hn_export_writer *writer, const char *here)
{
    static const char prefix[] = "HONE_NAME";
    if (strncmp(here, prefix, strlen(prefix)) == 0) {
        hn_text_append(writer->text, writer->export->upper);
        return strlen(prefix);
    }
    if (strncmp(here, "hone_NAME", strlen(prefix)) == 0) {
        hn_text_append(writer->text, writer->export->lower);
        return strlen(prefix);
    }
    if (strncmp(here, "{{", 2) == 0 && here[2] >= 'a' && here[2] <= 'z') {
        write_part(writer, here + 2);
        return strcspn(here, "}") + strlen("}}");
    }
    hn_text_append_bytes(writer->text, here, 1);
    return 1;
}

void hn_export_append_comment(struct hn_text *text, const char *start, const char *string)
{
    for (const char *c = string; *c != '\0'; c++) {
        bool begins = c == string || c[-1] == '\n';
        hn_text_append_bytes(text, start,
                             !begins      ? 0
                             : *c == '\n' ? strcspn(start, "*") + 1
                                          : strlen(start));
        hn_text_append_bytes(text, c, 1);
        if ((c[0] == '*' && c[1] == '/') || (c[0] == '/' && c[1] == '*'))
            hn_text_append(text, " ");
    }
}

static void write_line(struct hn_export_writer *writer, const char *line, size_t length)
{
    static const char commented[] = " * {{";
    struct hn_text lines = {0}, *text = writer->text;
    size_t token = 0;
    if (strncmp(line, commented, strlen(commented)) == 0) {
        writer->text = &lines;
        write_part(writer, line + strlen(commented));
        writer->text = text;
        hn_export_append_comment(text, " * ", lines.length == 0 ? "" : lines.data);
        hn_text_finish(&lines);
        return;
    }
    for (size_t at = 0; at < length; at += token)
        token = write_token(writer, line + at);
    bool is_part = strncmp(line, "{{", 2) == 0 && token == length;
    hn_text_append(text, is_part ? "" : "\n");
}

/* '#', '^' or '/' of a line that begins or ends a section; else 0. */
static char section_kind(const char *line)
{
    return strncmp(line, "{{", 2) == 0 && strchr("#^/", line[2]) != NULL ? line[2] : '\0';
}

void hn_export_fill(struct hn_export_writer *writer, const char *skeleton)
{
    int depth = 0, hidden = 0; /* the depth from which on nothing is shown; 0: all is */
    for (const char *line = skeleton; *line != '\0' && !hn_failed(writer->err);) {
        size_t length = strcspn(line, "\n");
        char kind = section_kind(line);
        if (kind == '/') {
            hidden = hidden == depth ? 0 : hidden;
            depth--;
        } else if (kind != '\0') {
            depth++;
            if (hidden == 0 && (find_part(line + 3)->count(writer->export) > 0) != (kind == '#'))
                hidden = depth;
        } else if (hidden == 0) {
            write_line(writer, line, length);
        }
        line += length + 1;
    }
}

void hn_export_write(const struct hn_export *export, const char *skeleton, struct hn_text *text,
                     struct hn_error *err)
{
    struct hn_export_writer writer = {export, export->plan, NULL, text, err};
    if (hn_failed(err))
        return;
    writer.codes = hn_need(export->body_count, sizeof *writer.codes);
    for (size_t i = 0; i < export->body_count; i++)
        hn_export_code_make(&writer, i, &writer.codes[i]);
    hn_export_fill(&writer, skeleton);
    for (size_t i = 0; i < export->body_count; i++)
        hn_export_code_finish(&writer.codes[i]);
    free(writer.codes);
}
