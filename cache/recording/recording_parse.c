/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cache/record/gate.h"
#include "cache/recording/recording_parts.h"

/* Parses text[0..length) without white space and a comma at its end, and with the closing braces
 * that Kernel Tuner writes last. NULL when that is no JSON either. */
static json_t *parse_open_end(const char *text, size_t length)
{
    struct hn_text closed;
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL)
        length--;
    if (length > 0 && text[length - 1] == ',')
        length--;
    hn_text_init(&closed);
    hn_text_append_bytes(&closed, text, length);
    hn_text_append(&closed, "}}");
    json_t *root = closed.failed ? NULL : json_loadb(closed.data, closed.length, 0, NULL);
    hn_text_finish(&closed);
    return root;
}

/* An interrupted Kernel Tuner leaves its file without the end, maybe within a row, which is then
 * dropped. */
static json_t *parse_unfinished(const char *text, size_t length)
{
    json_t *root = parse_open_end(text, length);
    while (root == NULL && length > 0 && text[length - 1] != '\n')
        length--;
    return root == NULL && length > 0 ? parse_open_end(text, length) : root;
}

static enum hn_status parse(const char *text, size_t size, json_t **root, struct hn_error *err)
{
    json_error_t place;
    *root = json_loadb(text, size, 0, &place);
    if (*root != NULL)
        return HN_OK;
    json_t *unfinished = parse_unfinished(text, size);
    if (unfinished != NULL && json_object_get(unfinished, "hone") == NULL) {
        *root = unfinished;
        return HN_OK;
    }
    bool truncated =
        unfinished != NULL || json_error_code(&place) == json_error_premature_end_of_input;
    json_decref(unfinished);
    return hn_fail(err, HN_EFORMAT, "%sline %d, column %d: %s",
                   truncated ? "it is truncated: " : "it is no JSON: ", place.line, place.column,
                   place.text);
}

/* The position behind the string that starts with the quote at `from`. */
static size_t string_end(const char *text, size_t size, size_t from)
{
    size_t i = from + 1;
    while (i < size && text[i] != '"')
        i += text[i] == '\\' ? 2 : 1;
    return i < size ? i + 1 : size;
}

/* The position of the bracket that closes the one at `from`, or `from` when there is none. */
static size_t array_end(const char *text, size_t size, size_t from)
{
    int depth = 0;
    for (size_t i = from; i < size; i++) {
        depth += (text[i] == '[') - (text[i] == ']');
        if (depth == 0)
            return i;
    }
    return from;
}

/* How long the number at `from` is that Python writes and JSON does not know; 0 when it is none. */
static size_t python_number(const char *text, size_t size, size_t from)
{
    static const char *const numbers[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        size_t length = strlen(numbers[i]);
        if (size - from >= length && memcmp(text + from, numbers[i], length) == 0)
            return length;
    }
    return 0;
}

static void relax(const char *text, size_t size, bool drop_samples, struct hn_text *relaxed)
{
    size_t copied = 0;
    bool samples = false; /* the last string was "times" */
    for (size_t i = 0; i < size;) {
        size_t length = 0;
        if (text[i] == '"') {
            size_t end = string_end(text, size, i);
            samples = end - i == 7 && memcmp(text + i, "\"times\"", 7) == 0;
            i = end;
        } else if (text[i] == '[' && samples && drop_samples) {
            size_t end = array_end(text, size, i);
            hn_text_append_bytes(relaxed, text + copied, i + 1 - copied);
            drop_samples = end > i; /* not to look for an end again where there is none */
            i = drop_samples ? end : i + 1;
            copied = i;
        } else if ((text[i] == 'N' || text[i] == 'I' || text[i] == '-') &&
                   (length = python_number(text, size, i)) > 0) {
            hn_text_append_bytes(relaxed, text + copied, i - copied);
            hn_text_append(relaxed, "null");
            i += length;
            copied = i;
        } else {
            i++;
        }
    }
    hn_text_append_bytes(relaxed, text + copied, size - copied);
}

enum hn_status hn_recording_parse(const char *text, size_t size, bool samples, json_t **root,
                                  struct hn_error *err)
{
    struct hn_text relaxed;
    struct hn_error original = {0};
    enum hn_status gate = hn_gate_json(text, size, err);
    if (gate != HN_OK)
        return gate;
    enum hn_status status = samples ? parse(text, size, root, &original) : HN_EFORMAT;
    if (status != HN_OK &&
        (!samples || strstr(text, "NaN") != NULL || strstr(text, "Infinity") != NULL)) {
        hn_text_init(&relaxed);
        relax(text, size, !samples, &relaxed);
        status = relaxed.failed
                     ? hn_fail_memory(&original)
                     : parse(relaxed.data != NULL ? relaxed.data : "", relaxed.length, root, NULL);
        hn_text_finish(&relaxed);
    }
    /* Places are told in the file as it is. */
    if (status == HN_EFORMAT && !samples)
        return hn_recording_parse(text, size, true, root, err);
    return status == HN_OK ? HN_OK : hn_fail(err, status, "%.3000s", original.message);
}
