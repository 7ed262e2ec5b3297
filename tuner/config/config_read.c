/* SPDX-License-Identifier: MIT */
#include "tuner/config/config_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 60 }; /* characters of a text that a message shows */

enum hn_status hn_config_fail(const struct hn_config_reader *reader, const struct hn_yaml *node,
                              const char *format, ...)
{
    char message[3072];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return hn_fail(reader->err, HN_ECONFIG, "%s:%d:%d: %s", reader->path, node->line, node->column,
                   message);
}

static bool is_nothing(const struct hn_yaml *node)
{
    return node->kind == HN_YAML_SCALAR && !node->quoted &&
           (node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
            strcmp(node->text, "null") == 0);
}

enum hn_status hn_config_fail_found(const struct hn_config_reader *reader,
                                    const struct hn_yaml *node, const char *expected)
{
    if (node->kind != HN_YAML_SCALAR)
        return hn_config_fail(reader, node, "found %s, expected %s", hn_yaml_kind_name(node->kind),
                              expected);
    if (is_nothing(node))
        return hn_config_fail(reader, node, "found nothing, expected %s", expected);
    return hn_config_fail(reader, node, "found '%.*s%s', expected %s", SHOWN, node->text,
                          strlen(node->text) > SHOWN ? "..." : "", expected);
}

enum hn_status hn_config_fail_unknown(const struct hn_config_reader *reader,
                                      const struct hn_yaml *node, const char *what,
                                      const char *found, const char *const *known, size_t count)
{
    const char *nearest = hn_text_nearest(found, known, count);
    if (nearest != NULL)
        return hn_config_fail(reader, node, "unknown %s '%.*s'; nearest is '%s'", what, SHOWN,
                              found, nearest);
    struct hn_text list;
    hn_text_init(&list);
    for (size_t i = 0; i < count; i++)
        hn_text_printf(&list, "%s%s", i == 0 ? "" : ", ", known[i]);
    enum hn_status status =
        hn_config_fail(reader, node, "unknown %s '%.*s'; there %s %s", what, SHOWN, found,
                       count == 1 ? "is only" : "are", list.data == NULL ? "none" : list.data);
    hn_text_finish(&list);
    return status;
}

enum hn_status hn_config_check_kind(const struct hn_config_reader *reader,
                                    const struct hn_yaml *node, enum hn_yaml_kind kind,
                                    const char *expected)
{
    return node->kind == kind ? HN_OK : hn_config_fail_found(reader, node, expected);
}

static bool contains(const char *const *keys, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

enum hn_status hn_config_check_keys(const struct hn_config_reader *reader,
                                    const struct hn_yaml *node, const char *const *keys)
{
    size_t count = 0;
    while (keys[count] != NULL)
        count++;
    enum hn_status status = hn_config_check_kind(reader, node, HN_YAML_MAPPING, "a mapping");
    const struct hn_yaml *before = NULL;
    for (const struct hn_yaml *child = node->child; child != NULL && status == HN_OK;
         child = child->next) {
        if (!contains(keys, count, child->key->text)) {
            /* {count: max(M, N)} has a key "N)": the value before it is to blame. */
            if (before != NULL)
                status = hn_config_check_cut(reader, before);
            if (status == HN_OK)
                status = hn_config_fail_unknown(reader, child->key, "key", child->key->text, keys,
                                                count);
        }
        before = child;
    }
    return status;
}

enum hn_status hn_config_need(const struct hn_config_reader *reader, const struct hn_yaml *mapping,
                              const char *key, const struct hn_yaml **child)
{
    *child = hn_yaml_get(mapping, key);
    return *child != NULL ? HN_OK : hn_config_fail(reader, mapping, "key '%s' is missing", key);
}

enum hn_status hn_config_read_text(const struct hn_config_reader *reader,
                                   const struct hn_yaml *node, const char *expected, char **to)
{
    if (node->kind != HN_YAML_SCALAR || is_nothing(node) || node->text[0] == '\0')
        return hn_config_fail_found(reader, node, expected);
    *to = strdup(node->text);
    return *to == NULL ? hn_fail_memory(reader->err) : HN_OK;
}

enum hn_status hn_config_read_word(const struct hn_config_reader *reader,
                                   const struct hn_yaml *node, const char *expected, char **to)
{
    if (node->kind != HN_YAML_SCALAR || !hn_text_is_word(node->text))
        return hn_config_fail_found(reader, node, expected);
    return hn_config_read_text(reader, node, expected, to);
}

enum hn_status hn_config_check_cut(const struct hn_config_reader *reader,
                                   const struct hn_yaml *node)
{
    if (node->kind != HN_YAML_SCALAR || node->quoted || !node->flow)
        return HN_OK;
    int open = 0;
    for (const char *c = node->text; *c != '\0'; c++)
        open += *c == '(' ? 1 : *c == ')' ? -1 : 0;
    if (open <= 0)
        return HN_OK;
    return hn_config_fail(reader, node,
                          "found '%.*s' with a parenthesis left open, since a comma inside [] or "
                          "{} ends it; quote this: \"%.*s, ...\"",
                          SHOWN, node->text, SHOWN, node->text);
}

enum hn_status hn_config_remember(struct hn_config_reader *reader,
                                  const struct hn_expression *expression,
                                  const struct hn_yaml *node)
{
    /* Grows at every power of two. */
    size_t count = reader->place_count;
    if ((count & (count - 1)) == 0) {
        size_t room = count == 0 ? 1 : 2 * count;
        struct hn_config_place *grown = realloc(reader->places, room * sizeof *grown);
        if (grown == NULL)
            return hn_fail_memory(reader->err);
        reader->places = grown;
    }
    reader->places[reader->place_count++] = (struct hn_config_place){expression, node};
    return HN_OK;
}

enum hn_status hn_config_read_expression(struct hn_config_reader *reader,
                                         const struct hn_yaml *node, struct hn_expression **to)
{
    if (node->kind != HN_YAML_SCALAR || is_nothing(node) || node->text[0] == '\0')
        return hn_config_fail_found(reader, node, "an expression");
    enum hn_status status = hn_config_check_cut(reader, node);
    if (status != HN_OK)
        return status;
    struct hn_error reason = {""};
    status = hn_expression_parse(node->text, to, &reason);
    if (status == HN_ENOMEM)
        return hn_fail_memory(reader->err);
    if (status != HN_OK)
        return hn_config_fail(reader, node, "in '%.*s%s': %s", SHOWN, node->text,
                              strlen(node->text) > SHOWN ? "..." : "", reason.message);
    return hn_config_remember(reader, *to, node);
}

const struct hn_yaml *hn_config_place(const struct hn_config_reader *reader,
                                      const struct hn_expression *expression)
{
    for (size_t i = 0; i < reader->place_count; i++)
        if (reader->places[i].expression == expression)
            return reader->places[i].node;
    return NULL;
}

char *hn_config_resolve_path(const struct hn_config_reader *reader, const char *path)
{
    char *joined = NULL;
    if (path[0] == '/')
        joined = strdup(path);
    else if (asprintf(&joined, "%s/%s", reader->folder, path) < 0)
        return NULL;
    char *real = joined == NULL ? NULL : realpath(joined, NULL);
    if (real == NULL)
        return joined;
    free(joined);
    return real;
}
