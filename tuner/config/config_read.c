/* SPDX-License-Identifier: MIT */
#include "tuner/config/config_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 60 }; /* characters of a text that a message shows */

void hn_config_fail(struct hn_config_reader *reader, const struct hn_yaml *node, const char *format,
                    ...)
{
    char message[3072];
    va_list arguments;
    if (reader->status != HN_OK)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    reader->status = hn_fail(reader->err, HN_ECONFIG, "%s:%d:%d: %s", reader->path, node->line,
                             node->column, message);
}

static bool is_nothing(const struct hn_yaml *node)
{
    return node->kind == HN_YAML_SCALAR && !node->quoted &&
           (node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
            strcmp(node->text, "null") == 0);
}

static const char *dots_behind(const char *text)
{
    return strlen(text) > SHOWN ? "..." : "";
}

void hn_config_fail_found(struct hn_config_reader *reader, const struct hn_yaml *node,
                          const char *expected)
{
    if (reader->status != HN_OK)
        return;
    if (node->kind != HN_YAML_SCALAR)
        hn_config_fail(reader, node, "found %s, expected %s", hn_yaml_kind_name(node->kind),
                       expected);
    else if (is_nothing(node))
        hn_config_fail(reader, node, "found nothing, expected %s", expected);
    else
        hn_config_fail(reader, node, "found '%.*s%s', expected %s", SHOWN, node->text,
                       dots_behind(node->text), expected);
}

static void append_list(struct hn_text *list, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hn_text_printf(list, "%s%s", i == 0 ? "" : ", ", names[i]);
}

void hn_config_fail_unknown(struct hn_config_reader *reader, const struct hn_yaml *node,
                            const char *what, const char *found, const char *const *known,
                            size_t count)
{
    const char *nearest = hn_text_nearest(found, known, count);
    struct hn_text list;
    if (nearest != NULL)
        hn_config_fail(reader, node, "unknown %s '%.*s'; nearest is '%s'", what, SHOWN, found,
                       nearest);
    hn_text_init(&list);
    append_list(&list, known, count);
    hn_config_fail(reader, node, "unknown %s '%.*s'; there %s %s", what, SHOWN, found,
                   count == 1 ? "is only" : "are", list.data == NULL ? "none" : list.data);
    hn_text_finish(&list);
}

bool hn_config_expect(struct hn_config_reader *reader, bool holds, const struct hn_yaml *node,
                      const char *expected)
{
    if (!holds)
        hn_config_fail_found(reader, node, expected);
    return reader->status == HN_OK;
}

bool hn_config_expect_kind(struct hn_config_reader *reader, const struct hn_yaml *node,
                           enum hn_yaml_kind kind, const char *expected)
{
    return hn_config_expect(reader, node == NULL || node->kind == kind, node, expected);
}

bool hn_config_take(struct hn_config_reader *reader, enum hn_status status)
{
    if (reader->status == HN_OK)
        reader->status = status;
    return reader->status == HN_OK;
}

bool hn_config_take_in(struct hn_config_reader *reader, const struct hn_yaml *node,
                       const char *text, enum hn_status status, const struct hn_error *reason)
{
    if (status == HN_ENOMEM)
        hn_config_take(reader, hn_fail_memory(reader->err));
    else if (status != HN_OK)
        hn_config_fail(reader, node, "in '%.*s%s': %s", SHOWN, text, dots_behind(text),
                       reason->message);
    return reader->status == HN_OK;
}

void *hn_config_allocate(struct hn_config_reader *reader, size_t count, size_t size)
{
    if (reader->status != HN_OK)
        return NULL;
    void *made = calloc(count + 1, size);
    if (made == NULL)
        reader->status = hn_fail_memory(reader->err);
    return made;
}

void hn_config_copy(struct hn_config_reader *reader, const char *text, char **to)
{
    if (reader->status != HN_OK)
        return;
    *to = strdup(text);
    if (*to == NULL)
        reader->status = hn_fail_memory(reader->err);
}

const struct hn_yaml *hn_config_need(struct hn_config_reader *reader, const struct hn_yaml *mapping,
                                     const char *key)
{
    if (reader->status != HN_OK)
        return NULL;
    const struct hn_yaml *child = hn_yaml_get(mapping, key);
    if (child == NULL)
        hn_config_fail(reader, mapping, "key '%s' is missing", key);
    return child;
}

const struct hn_yaml *hn_config_first(const struct hn_config_reader *reader,
                                      const struct hn_yaml *node)
{
    return reader->status == HN_OK && node != NULL ? node->child : NULL;
}

const struct hn_yaml *hn_config_next(const struct hn_config_reader *reader,
                                     const struct hn_yaml *child)
{
    return reader->status == HN_OK ? child->next : NULL;
}

static bool contains(const char *const *keys, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

void hn_config_check_keys(struct hn_config_reader *reader, const struct hn_yaml *node,
                          const char *const *keys, size_t count)
{
    hn_config_expect_kind(reader, node, HN_YAML_MAPPING, "a mapping");
    const struct hn_yaml *before = NULL;
    for (const struct hn_yaml *child = hn_config_first(reader, node); child != NULL;
         child = hn_config_next(reader, child)) {
        /* {count: max(M, N)} has a key "N)": the value before it is to blame. */
        if (!contains(keys, count, child->key->text) &&
            (before == NULL || hn_config_check_cut(reader, before)))
            hn_config_fail_unknown(reader, child->key, "key", child->key->text, keys, count);
        before = child;
    }
}

bool hn_config_check_cut(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    int open = 0;
    if (node->kind == HN_YAML_SCALAR && !node->quoted && node->flow)
        for (const char *c = node->text; *c != '\0'; c++)
            open += *c == '(' ? 1 : *c == ')' ? -1 : 0;
    if (open > 0)
        hn_config_fail(reader, node,
                       "found '%.*s' with a parenthesis left open, since a comma inside [] or {} "
                       "ends it; quote this: \"%.*s, ...\"",
                       SHOWN, node->text, SHOWN, node->text);
    return reader->status == HN_OK;
}

void hn_config_read_text(struct hn_config_reader *reader, const struct hn_yaml *node,
                         const char *expected, char **to)
{
    if (node != NULL &&
        hn_config_expect(reader,
                         node->kind == HN_YAML_SCALAR && !is_nothing(node) && node->text[0] != '\0',
                         node, expected))
        hn_config_copy(reader, node->text, to);
}

void hn_config_read_word(struct hn_config_reader *reader, const struct hn_yaml *node,
                         const char *expected, char **to)
{
    if (node != NULL &&
        hn_config_expect(reader, node->kind == HN_YAML_SCALAR && hn_text_is_word(node->text), node,
                         expected))
        hn_config_read_text(reader, node, expected, to);
}

void hn_config_remember(struct hn_config_reader *reader, const struct hn_expression *expression,
                        const struct hn_yaml *node)
{
    if (reader->status != HN_OK)
        return;
    /* Grows at every power of two. */
    size_t count = reader->place_count;
    if ((count & (count - 1)) == 0) {
        size_t room = count == 0 ? 1 : 2 * count;
        struct hn_config_place *grown = realloc(reader->places, room * sizeof *grown);
        if (grown == NULL) {
            reader->status = hn_fail_memory(reader->err);
            return;
        }
        reader->places = grown;
    }
    reader->places[reader->place_count++] = (struct hn_config_place){expression, node};
}

const struct hn_yaml *hn_config_place(const struct hn_config_reader *reader,
                                      const struct hn_expression *expression)
{
    for (size_t i = 0; i < reader->place_count; i++)
        if (reader->places[i].expression == expression)
            return reader->places[i].node;
    return reader->root;
}

void hn_config_read_expression(struct hn_config_reader *reader, const struct hn_yaml *node,
                               struct hn_expression **to)
{
    struct hn_error reason = {0};
    if (node == NULL ||
        !hn_config_expect(
            reader, node->kind == HN_YAML_SCALAR && !is_nothing(node) && node->text[0] != '\0',
            node, "an expression") ||
        !hn_config_check_cut(reader, node))
        return;
    char *text = hn_config_expand(reader, node, node->text, false);
    if (text == NULL)
        return;
    enum hn_status status = hn_expression_parse(text, to, &reason);
    if (hn_config_take_in(reader, node, node->text, status, &reason))
        hn_config_remember(reader, *to, node);
    free(text);
}

void hn_config_read_dimensions(struct hn_config_reader *reader, const struct hn_yaml *node,
                               struct hn_expression **to)
{
    if (node == NULL || node->kind == HN_YAML_SCALAR) {
        hn_config_read_expression(reader, node, to);
        return;
    }
    const struct hn_yaml *item;
    for (item = hn_config_first(reader, node); item != NULL; item = hn_config_next(reader, item))
        hn_config_check_cut(reader, item);
    hn_config_expect(reader, node->kind == HN_YAML_SEQUENCE && node->count >= 1 && node->count <= 3,
                     node, "an expression, or a list of 1 to 3: x, y, z");
    for (item = hn_config_first(reader, node); item != NULL; item = hn_config_next(reader, item))
        hn_config_read_expression(reader, item, to++);
}

/* "one of a, b, c", or "a or b". */
static void fail_choice(struct hn_config_reader *reader, const struct hn_yaml *node,
                        const char *const *choices, size_t count)
{
    struct hn_text list;
    hn_text_init(&list);
    hn_text_append(&list, count == 2 ? "" : "one of ");
    if (count == 2)
        hn_text_printf(&list, "%s or %s", choices[0], choices[1]);
    else
        append_list(&list, choices, count);
    hn_config_fail_found(reader, node, list.data == NULL ? "another word" : list.data);
    hn_text_finish(&list);
}

int hn_config_read_choice(struct hn_config_reader *reader, const struct hn_yaml *node,
                          const char *what, const char *const *choices, size_t count)
{
    if (reader->status != HN_OK || node == NULL)
        return 0;
    for (size_t i = 0; node->kind == HN_YAML_SCALAR && i < count; i++)
        if (strcmp(node->text, choices[i]) == 0)
            return (int)i;
    if (node->kind != HN_YAML_SCALAR ||
        (count == 2 && hn_text_nearest(node->text, choices, count) == NULL))
        fail_choice(reader, node, choices, count);
    else
        hn_config_fail_unknown(reader, node, what, node->text, choices, count);
    return 0;
}

void hn_config_read_words(struct hn_config_reader *reader, const struct hn_yaml *node,
                          const char *what, char *const *known, size_t known_count, char ***words,
                          size_t *count)
{
    const char *const *names = (const char *const *)known;
    char expected[64];
    snprintf(expected, sizeof expected, "a list of %ss", what);
    if (node == NULL || !hn_config_expect_kind(reader, node, HN_YAML_SEQUENCE, expected))
        return;
    snprintf(expected, sizeof expected, "the name of a %s", what);
    *words = hn_config_allocate(reader, node->count, sizeof **words);
    for (const struct hn_yaml *item = hn_config_first(reader, node); item != NULL;
         item = hn_config_next(reader, item)) {
        hn_config_read_word(reader, item, expected, &(*words)[(*count)++]);
        if (reader->status == HN_OK && !contains(names, known_count, item->text))
            hn_config_fail_unknown(reader, item, what, item->text, names, known_count);
    }
}

void hn_config_read_path(struct hn_config_reader *reader, const struct hn_yaml *node,
                         const char *expected, char **to)
{
    char *written = NULL;
    hn_config_read_text(reader, node, expected, &written);
    if (written == NULL)
        return;
    if (written[0] == '/')
        *to = strdup(written);
    else if (asprintf(to, "%s/%s", reader->folder, written) < 0)
        *to = NULL;
    free(written);
    char *real = *to == NULL ? NULL : realpath(*to, NULL);
    if (real != NULL) {
        free(*to);
        *to = real;
    }
    if (*to == NULL)
        reader->status = hn_fail_memory(reader->err);
}
