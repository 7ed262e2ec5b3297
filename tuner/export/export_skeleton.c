/* SPDX-License-Identifier: MIT */
#include "tuner/export/export_skeleton_parts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/compile/source.h"

static const struct hn_export_part *find_part(const char *name, size_t length)
{
    static const struct hn_export_part *const lists[] = {
        hn_export_head_parts,   hn_export_macro_parts, hn_export_function_parts,
        hn_export_result_parts, hn_export_rule_parts,  hn_export_driver_parts,
        hn_export_tensor_parts, hn_export_image_parts};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const struct hn_export_part *part = lists[i]; part->name != NULL; part++)
            if (strlen(part->name) == length && memcmp(part->name, name, length) == 0)
                return part;
    assert(false && "a skeleton names a part that there is not");
    return NULL;
}

void hn_export_note(struct hn_export_writer *writer, enum hn_status status)
{
    if (writer->status != HN_OK || status == HN_OK)
        return;
    writer->status = status;
    writer->err = writer->ignored;
}

static void write_part(struct hn_export_writer *writer, const char *name)
{
    const struct hn_export_part *part = find_part(name, strcspn(name, "}"));
    if (part->write != NULL)
        part->write(writer);
    else
        hn_text_printf(writer->text, "%zu", part->count(writer->export));
}

/* What stands at `here` is replaced. Returns the length of what was read. */
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

/* " * {{name}}" alone: each line of the part becomes one of the comment. */
static void write_commented(struct hn_export_writer *writer, const char *name)
{
    struct hn_text lines = {0}, *text = writer->text;
    writer->text = &lines;
    write_part(writer, name);
    writer->text = text;
    hn_export_append_comment(text, " * ", lines.length == 0 ? "" : lines.data);
    text->failed = text->failed || lines.failed;
    hn_text_finish(&lines);
}

static void write_line(struct hn_export_writer *writer, const char *line, size_t length)
{
    size_t token = 0;
    if (strncmp(line, " * {{", strlen(" * {{")) == 0) {
        write_commented(writer, line + strlen(" * {{"));
        return;
    }
    for (size_t at = 0; at < length; at += token)
        token = write_token(writer, line + at);
    bool is_part = strncmp(line, "{{", 2) == 0 && token == length;
    hn_text_append(writer->text, is_part ? "" : "\n");
}

/* '#', '^' or '/' of a line that begins or ends a section; else 0. */
static char section_kind(const char *line)
{
    return strncmp(line, "{{", 2) == 0 && strchr("#^/", line[2]) != NULL ? line[2] : '\0';
}

void hn_export_fill(struct hn_export_writer *writer, const char *skeleton)
{
    int depth = 0, hidden = 0; /* the depth from which on nothing is shown; 0: all is */
    for (const char *line = skeleton; *line != '\0' && writer->status == HN_OK;) {
        size_t length = strcspn(line, "\n");
        char kind = section_kind(line);
        if (kind == '/') {
            hidden = hidden == depth ? 0 : hidden;
            depth--;
        } else if (kind != '\0') {
            const struct hn_export_part *part = find_part(line + 3, strcspn(line + 3, "}"));
            depth++;
            if (hidden == 0 && (part->count(writer->export) > 0) != (kind == '#'))
                hidden = depth;
        } else if (hidden == 0) {
            write_line(writer, line, length);
        }
        line += length + 1;
    }
}

static void make_prelude(struct hn_export_writer *writer, size_t config)
{
    const struct hn_export *export = writer->export;
    const struct hn_tuned *tuned = export->configs[config];
    struct hn_text prelude = {0}, others = {0};
    hn_export_note(writer, hn_source_append_prelude(export->plan, &tuned->identity.problem,
                                                    &tuned->best.point, &prelude, writer->err));
    writer->preludes[config] = hn_text_take(&prelude);
    hn_export_note(writer, hn_source_append_hidden(export->plan, &tuned->identity.problem,
                                                   &tuned->best.point, &others, writer->err));
    if (writer->preludes[config] != NULL)
        hn_export_append_others(export, config, writer->preludes[config], &others);
    writer->others[config] = hn_text_take(&others);
    if (writer->preludes[config] == NULL || writer->others[config] == NULL)
        hn_export_note(writer, hn_fail_memory(writer->err));
}

enum hn_status hn_export_write(const struct hn_export *export, const char *skeleton,
                               struct hn_text *text, struct hn_error *err)
{
    char **texts = calloc(2 * export->body_count, sizeof *texts);
    struct hn_error ignored;
    struct hn_export_writer writer = {export, text, texts,   texts + export->body_count,
                                      HN_OK,  err,  &ignored};
    if (texts == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < export->body_count && writer.status == HN_OK; i++)
        make_prelude(&writer, i);
    hn_export_fill(&writer, skeleton);
    if (text->failed)
        hn_export_note(&writer, hn_fail_memory(err));
    for (size_t i = 0; i < 2 * export->body_count; i++)
        free(texts[i]);
    free(texts);
    return writer.status;
}
