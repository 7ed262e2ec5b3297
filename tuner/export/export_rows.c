/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "base/text.h"
#include "tuner/export/export_parts.h"

/* A text of the user's, where lines beside each other that hold "@{NAME}" are a row: it stands once
 * for each result. */

enum { TEXT_MOST = 16 << 20 };

struct filling {
    const struct hn_export *export;
    const char *path;
    size_t line; /* that is filled, from 1 */
    const json_t *result;
    bool is_last;
    struct hn_text *text;
    struct hn_error *err;
};

/* The field whose "@{" comes first within the line; NULL: there is none. */
static const char *next_field(const char *line, size_t length)
{
    return memmem(line, length, "@{", 2);
}

/* A parameter or problem value by its name, anything else by its place: "device.name". */
static const json_t *find_value(const json_t *result, char *name)
{
    const char *const own[] = {"parameters", "problem"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        const json_t *value = json_object_get(json_object_get(result, own[i]), name);
        if (value != NULL)
            return value;
    }
    for (char *end = name; result != NULL && end != NULL; name = end + 1) {
        end = strchr(name, '.');
        if (end != NULL)
            *end = '\0';
        result = json_object_get(result, name);
        if (end == NULL)
            break;
    }
    return result;
}

static void append_value(struct filling *filling, const char *name, size_t length)
{
    char *key = hn_needed(strndup(name, length));
    const json_t *value = find_value(filling->result, key);
    free(key);
    if (json_is_string(value))
        hn_text_append(filling->text, json_string_value(value));
    else if (value != NULL && !json_is_object(value)) {
        char *text = hn_needed(json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9)));
        hn_text_append(filling->text, text);
        free(text);
    } else
        hn_fail(filling->err, HN_ECONFIG,
                "%s:%zu: found '@{%.*s}', expected a parameter, a problem value, or a value of "
                "`hone export %s --format json`, as device.name or time_us.median",
                filling->path, filling->line, (int)length, name, filling->export->kernel);
}

static void fill_line(struct filling *filling, const char *line, size_t length)
{
    const char *field;
    while (!hn_failed(filling->err) && (field = next_field(line, length)) != NULL) {
        const char *name = field + 2, *end = memchr(name, '}', length - (size_t)(name - line));
        hn_text_append_bytes(filling->text, line, (size_t)(field - line));
        if (end == NULL) {
            hn_fail(filling->err, HN_ECONFIG, "%s:%zu: '@{' without '}'", filling->path,
                    filling->line);
            return;
        }
        if (end - name == 1 && *name == ',')
            hn_text_append(filling->text, filling->is_last ? "" : ",");
        else
            append_value(filling, name, (size_t)(end - name));
        length -= (size_t)(end + 1 - line);
        line = end + 1;
    }
    hn_text_append_bytes(filling->text, line, length);
    hn_text_append(filling->text, "\n");
}

/* Where the lines that hold fields end; `row`: the first holds none. */
static const char *find_end(const char *row)
{
    const char *at = row, *end = row, *line;
    size_t length;
    while (hn_text_line(&at, &line, &length) && next_field(line, length) != NULL)
        end = at;
    return end;
}

static void fill_row(struct filling *filling, const char *row, const char *end,
                     const json_t *results)
{
    size_t first = filling->line, count = json_array_size(results);
    for (size_t i = 0; i < count; i++) {
        const char *at = row, *line;
        size_t length;
        filling->line = first;
        filling->result = json_array_get(results, i);
        filling->is_last = i + 1 == count;
        for (; at < end && hn_text_line(&at, &line, &length); filling->line++)
            fill_line(filling, line, length);
    }
}

static void fill(struct filling *filling, const char *at, const json_t *results)
{
    bool has_row = false;
    const char *line;
    size_t length;
    filling->line = 1;
    while (*at != '\0' && !hn_failed(filling->err)) {
        const char *end = find_end(at);
        if (end > at) {
            fill_row(filling, at, end, results);
            has_row = true;
            at = end;
        } else {
            hn_text_line(&at, &line, &length);
            hn_text_append_bytes(filling->text, line, length);
            hn_text_append(filling->text, "\n");
            filling->line++;
        }
    }
    if (!has_row && !hn_failed(filling->err))
        hn_fail(filling->err, HN_ECONFIG,
                "'%s' has no line with '@{NAME}', which stands once for each result",
                filling->path);
}

static enum hn_status write_rows(const struct hn_export *export, struct hn_text *text,
                                 struct hn_error *err)
{
    struct filling filling = {.export = export, .path = export->rows, .text = text, .err = err};
    char *rows = NULL;
    hn_error_init(err);
    json_t *results = hn_export_results_to_json(export, err);
    if (!hn_failed(err) && hn_file_read(export->rows, TEXT_MOST, &rows, NULL, err) == HN_OK)
        fill(&filling, rows, results);
    free(rows);
    json_decref(results);
    return err->status;
}

const struct hn_export_format hn_export_rows = {.name = "--template", .write = write_rows};
