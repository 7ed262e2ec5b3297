/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/compile/code_scan.h"
#include "runtime/compile/source.h"
#include "tuner/export/export_parts.h"

enum { INCLUDE_DEPTH = 32 };

static const char *find_file(const struct hn_stored_plan *stored, const char *name, size_t length)
{
    for (size_t i = 0; i < stored->file_count; i++)
        if (strlen(stored->files[i].name) == length &&
            memcmp(stored->files[i].name, name, length) == 0)
            return stored->files[i].text;
    return NULL;
}

const char *hn_export_template(const struct hn_export *export, struct hn_error *err)
{
    const char *path = export->plan->template_path;
    const char *base = basename(path);
    const char *text = find_file(&export->stored, path, strlen(path));
    if (text == NULL)
        text = find_file(&export->stored, base, strlen(base));
    if (text == NULL && !hn_failed(err))
        hn_fail(err, HN_EFORMAT, "the cache keeps a plan of '%s', but not its template %s",
                export->kernel, path);
    return text;
}

/* A copy of text with its quoted includes in place: one file that compiles by itself. Guards of the
 * included files work as ever; #pragma once of a file in the middle of another does not, so it
 * becomes a guard. */
static void append_inlined(const struct hn_export *export, const char *text, int depth,
                           struct hn_text *out)
{
    struct hn_include_scan scan = {.next = text};
    struct hn_include include;
    bool more = depth < INCLUDE_DEPTH && hn_include_next(&scan, &include);
    while (*text != '\0') {
        const char *end = text + strcspn(text, "\n"), *included = NULL;
        bool is_pragma_once = strncmp(text, "#pragma once", strlen("#pragma once")) == 0;
        if (more && include.name < end) {
            if (include.quoted)
                included = find_file(&export->stored, include.name, include.length);
            more = hn_include_next(&scan, &include);
        }
        if (included != NULL) {
            const char *pragma = strstr(included, "#pragma once");
            bool once = pragma != NULL && (pragma == included || pragma[-1] == '\n');
            struct hn_hash hash = hn_hash_string(included);
            if (once)
                hn_text_printf(out, "#ifndef %s_FILE_%.16s\n#define %s_FILE_%.16s\n", export->upper,
                               hash.hex, export->upper, hash.hex);
            append_inlined(export, included, depth + 1, out);
            hn_text_append(out, once ? "\n#endif\n" : "");
        } else if (depth == 0 || !is_pragma_once) {
            hn_text_append_bytes(out, text, (size_t)(end - text));
        }
        hn_text_append(out, "\n");
        text = end + (*end == '\n');
    }
}

static void append_head(const struct hn_export *export, struct hn_text *text, struct hn_error *err)
{
    char capability[16], architecture[HN_ARCHITECTURE_SIZE];
    if (hn_failed(err))
        return;
    json_auto_t *json = hn_export_tuned_to_json(export, err);
    snprintf(capability, sizeof capability, "%d", export->configs[0]->identity.device.capability);
    hn_architecture_name(capability, export->plan->arch_specific, architecture);
    json_object_set_new(json, "architecture", json_string(architecture));
    /* What comes from elsewhere stands in parentheses: a line that ends in \ would take the next
     * one along. */
    hn_render_line(text, json,
                   export->untuned
                       ? "// {kernel}, NOT TUNED: at the defaults of its config\n// nvcc"
                       : "// {kernel} as tuned by Hone for [{device.name}][, {problem}]: "
                         "{timing.median_us:.6g} us[ (simulated){?simulated}], {time:date} "
                         "({origin:origin})\n// nvcc -arch={architecture}");
    hn_render_line(text, json, "[ {options:words}][; launch {entries}]\n");
}

static enum hn_status write_source(const struct hn_export *export, struct hn_text *text,
                                   struct hn_error *err)
{
    const struct hn_tuned *tuned = export->configs[0];
    if (hn_export_need_plan(export, err) != HN_OK)
        return err->status;
    const char *template = hn_export_template(export, err);
    append_head(export, text, err);
    hn_source_append_macros(export->plan, &tuned->identity.problem, &tuned->best.point, text, NULL,
                            err);
    char *body HN_FREED = hn_source_body(export->plan, template, &tuned->best.point, err);
    if (!hn_failed(err))
        append_inlined(export, body, 0, text);
    return err->status;
}

const struct hn_export_format hn_export_source = {
    .name = "source", .write = write_source, .takes_defaults = true};

/* A line of two texts that have as many. */
struct pair {
    const char *was, *is;
    size_t was_length, is_length;
};

static bool differs(const struct pair *pair)
{
    return pair->was_length != pair->is_length || memcmp(pair->was, pair->is, pair->is_length) != 0;
}

static void append_marked(struct hn_text *text, char mark, const char *line, size_t length)
{
    hn_text_printf(text, "%c%.*s\n%s", mark, (int)length, line,
                   line[length] == '\0' ? "\\ No newline at end of file\n" : "");
}

/* The lines that differ as a unified diff, with as many lines around them as git and patch want;
 * the first not as one of these: a file may have the mark of UTF-8 there, which its text lacks. */
static void append_diff(struct hn_text *text, const char *was, const char *is)
{
    enum { AROUND = 3 };
    struct pair *pairs HN_FREED = NULL, pair;
    size_t count = 0;
    while (hn_text_line(&was, &pair.was, &pair.was_length) &&
           hn_text_line(&is, &pair.is, &pair.is_length))
        *HN_NEXT(pairs, count) = pair;
    const size_t begin = count > 0 && differs(pairs) ? 0 : 1;
    for (size_t first, i = begin, end = begin; i < count; i++) {
        if (!differs(&pairs[i]))
            continue;
        first = i - end < AROUND ? end : i - AROUND;
        for (end = i + 1; i < count && i <= end + 2 * AROUND - 1; i++)
            end = differs(&pairs[i]) ? i + 1 : end;
        end = end + AROUND < count ? end + AROUND : count;
        hn_text_printf(text, "@@ -%zu,%zu +%zu,%zu @@\n", first + 1, end - first, first + 1,
                       end - first);
        for (i = first; i < end; i++) {
            const bool changed = differs(&pairs[i]);
            append_marked(text, changed ? '-' : ' ', pairs[i].was, pairs[i].was_length);
            if (changed)
                append_marked(text, '+', pairs[i].is, pairs[i].is_length);
        }
        i--;
    }
}

static enum hn_status write_patch(const struct hn_export *export, struct hn_text *text,
                                  struct hn_error *err)
{
    if (hn_export_need_plan(export, err) != HN_OK)
        return err->status;
    if (export->plan->override_count == 0)
        return hn_fail(
            err, HN_ECONFIG,
            "'%s' changes no line of its source: its parameters are macros, which the "
            "header defines; 'override' in its config names those that the source declares",
            export->kernel);
    const char *template = hn_export_template(export, err);
    char *body HN_FREED =
        hn_source_body(export->plan, template, &export->configs[0]->best.point, err);
    const char *path = basename(export->plan->template_path);
    const char *tab = strchr(path, ' ') != NULL ? "\t" : "";
    if (!hn_failed(err)) {
        append_head(export, text, err);
        if (strcmp(template, body) == 0)
            fprintf(stderr, "hone: the patch is empty: %s has these values already\n", path);
        else /* a name with blanks ends where a tab stands, as git and diff write it */
            hn_text_printf(text, "--- a/%s%s\n+++ b/%s%s\n", path, tab, path, tab);
        append_diff(text, template, body);
    }
    return err->status;
}

const struct hn_export_format hn_export_patch = {
    .name = "patch", .write = write_patch, .takes_defaults = true};
