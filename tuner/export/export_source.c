/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/compile/code_scan.h"
#include "runtime/compile/source.h"
#include "tuner/export/export_parts.h"

enum { INCLUDE_DEPTH = 32 };

static const char *find_file(const struct hn_stored_plan *stored, const char *name, size_t length)
{
    for (size_t i = 0; i < stored->file_count; i++) {
        if (strlen(stored->files[i].name) == length &&
            memcmp(stored->files[i].name, name, length) == 0)
            return stored->files[i].text;
    }
    return NULL;
}

const char *hn_export_template(const struct hn_export *export, struct hn_error *err)
{
    const char *path = export->plan->template_path;
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    const char *text = find_file(&export->stored, path, strlen(path));
    if (text == NULL)
        text = find_file(&export->stored, base, strlen(base));
    if (text == NULL && !hn_failed(err))
        hn_fail(err, HN_EFORMAT, "the cache keeps a plan of '%s', but not its template %s",
                export->kernel, path);
    return text;
}

static bool has_pragma_once(const char *text)
{
    const char *pragma = strstr(text, "#pragma once");
    return pragma != NULL && (pragma == text || pragma[-1] == '\n');
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
            bool once = has_pragma_once(included);
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

static void append_measurement(const struct hn_export *export, struct hn_text *text)
{
    const struct hn_tuned *tuned = export->configs[0];
    char capability[16], name[HN_ARCHITECTURE_SIZE];
    snprintf(capability, sizeof capability, "%d", tuned->identity.device.capability);
    hn_architecture_name(capability, export->plan->arch_specific, name);
    hn_text_printf(text, "// %s as tuned by Hone for %s", export->kernel,
                   tuned->identity.device.name);
    hn_text_append(text, tuned->identity.problem.count > 0 ? ", " : "");
    hn_bindings_append(text, &tuned->identity.problem);
    hn_text_printf(text, ": %.6g us%s, ", tuned->best.timing.median_us,
                   tuned->simulated ? " (simulated)" : "");
    hn_export_append_date(text, tuned->best.time);
    hn_text_append(text, " ("); /* a line that ends in \\ would take the next one along */
    hn_origin_append(text, &tuned->origin);
    hn_text_append(text, ")");
    hn_text_printf(text, "\n// nvcc -arch=%s", name);
}

static void append_head(const struct hn_export *export, struct hn_text *text, struct hn_error *err)
{
    struct hn_source source;
    if (hn_failed(err) || hn_export_make_source(export, export->configs[0], &source, err) != HN_OK)
        return;
    if (export->untuned)
        hn_text_printf(text, "// %s, NOT TUNED: at the defaults of its config\n// nvcc",
                       export->kernel);
    else
        append_measurement(export, text);
    for (size_t i = 0; i < source.option_count; i++)
        hn_text_printf(text, " %s", source.options[i]);
    for (size_t i = 0; i < source.entry_count; i++)
        hn_text_printf(text, "%s%s", i == 0 ? "; launch " : ", ", source.entries[i]);
    hn_text_append(text, "\n");
    hn_source_finish(&source);
}

enum hn_status hn_export_source(const struct hn_export *export, struct hn_text *text,
                                struct hn_error *err)
{
    const struct hn_tuned *tuned = export->configs[0];
    if (hn_export_need_plan(export, err) != HN_OK)
        return err->status;
    hn_error_init(err);
    const char *template = hn_export_template(export, err);
    append_head(export, text, err);
    if (!hn_failed(err))
        hn_source_append_prelude(export->plan, &tuned->identity.problem, &tuned->best.point, text,
                                 err);
    if (!hn_failed(err))
        append_inlined(export, template, 0, text);
    return err->status;
}
