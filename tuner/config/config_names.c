/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/device/device.h"
#include "tuner/config/config_parts.h"

/* Names for expressions. Each stands for its text in brackets, which it is replaced by where an
 * expression is read: what comes behind knows nothing of it, and a config means the same with and
 * without. */

/* What names stand for grows by the product where each names the last one several times. */
enum { EXPANDED_MOST = 16384 };

static const char *find_let(const struct hn_config_reader *reader, const char *name, size_t length)
{
    for (size_t i = 0; i < reader->let_count; i++)
        if (strncmp(reader->lets[i].name, name, length) == 0 &&
            reader->lets[i].name[length] == '\0')
            return reader->lets[i].text;
    return NULL;
}

/* The token at `text`: a quoted text, a name, a number, or one character. */
static size_t token_length(const char *text)
{
    size_t length = 1;
    if (*text == '\'' || *text == '"') {
        const char *end = strchr(text + 1, *text);
        return end == NULL ? strlen(text) : (size_t)(end - text) + 1;
    }
    if (hn_is_word_char(*text))
        while (hn_is_word_char(text[length]) || (hn_is_digit(*text) && text[length] == '.'))
            length++;
    return length;
}

bool hn_config_mentions(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = text; *at != '\0'; at += token_length(at))
        if (strncmp(at, name, length) == 0 && token_length(at) == length)
            return true;
    return false;
}

void hn_config_finish_lets(struct hn_config_reader *reader)
{
    for (size_t i = 0; i < reader->let_count; i++) {
        free(reader->lets[i].name);
        free(reader->lets[i].text);
    }
    free(reader->lets);
}

char *hn_config_expand(struct hn_config_reader *reader, const struct hn_yaml *node,
                       const char *text, bool holes)
{
    struct hn_text expanded;
    bool inside = !holes;
    hn_text_init(&expanded);
    hn_text_append(&expanded, "");
    for (const char *at = text; *at != '\0' && expanded.length <= EXPANDED_MOST;) {
        size_t length = inside ? token_length(at) : 1;
        bool name = inside && at[length + strspn(at + length, " ")] != '('; /* of no function */
        const char *let = name ? find_let(reader, at, length) : NULL;
        if (holes && (*at == '{' || *at == '}'))
            inside = *at == '{';
        if (let != NULL)
            hn_text_append(&expanded, let);
        else
            hn_text_append_bytes(&expanded, at, length);
        at += length;
    }
    if (expanded.length > EXPANDED_MOST)
        hn_config_fail(reader, node,
                       "written out, what `let` names here has more than %d characters",
                       EXPANDED_MOST);
    return hn_needed(hn_text_take(&expanded));
}

/* A name that is nothing else yet. */
static void check_free(struct hn_config_reader *reader, const struct hn_yaml *key,
                       const struct hn_scope *scope)
{
    const struct hn_plan *plan = reader->config->plan;
    hn_config_check_name(reader, key);
    if (hn_plan_has_name(plan, key->text))
        hn_config_fail(reader, key, "'%s' is a parameter or a problem value already", key->text);
    for (size_t i = 0; i < scope->word_count; i++)
        if (strcmp(scope->words[i], key->text) == 0)
            hn_config_fail(reader, key, "'%s' is a word already", key->text);
}

/* Bound here, so that what is wrong is said here, and where nothing uses it. */
static void read_one(struct hn_config_reader *reader, const struct hn_yaml *node,
                     const struct hn_scope *scope)
{
    struct hn_expression *expression = NULL;
    struct hn_text text;
    check_free(reader, node->key, scope);
    hn_config_read_expression(reader, node, &expression);
    hn_config_bind(reader, node, node->text, expression, scope);
    hn_text_init(&text);
    if (!hn_failed(reader->err)) {
        hn_text_printf(&text, "(%s)", hn_expression_text(expression));
        reader->lets[reader->let_count++] =
            (struct hn_config_let){hn_need_copy(node->key->text), hn_needed(hn_text_take(&text))};
    }
    hn_expression_destroy(expression);
}

void hn_config_read_let(struct hn_config_reader *reader)
{
    const struct hn_yaml *node = hn_yaml_get(reader->root, "let");
    const struct hn_yaml *child =
        hn_config_pairs(reader, node, "a mapping of names to expressions");
    if (child == NULL)
        return;
    reader->lets = hn_need(node->count, sizeof *reader->lets);
    /* Names that one of a grid may have, too. */
    char *const more[] = {(char *)hn_clusters_name};
    struct hn_scope scope = hn_config_scope(reader->config->plan, more, 1);
    for (; child != NULL && !hn_failed(reader->err); child = child->next)
        read_one(reader, child, &scope);
    hn_config_finish_scope(&scope);
}

/* A config that names a limit of the device has it as one more problem value: results are of that
 * value, too, and whoever reads them need not know where it came from. */

/* For who wants nothing that depends on the device: those of an H200. */
static const int64_t nominal[HN_DEVICE_LIMITS] = {132, 1024, 232448, 52428800};

int64_t hn_config_nominal_limit(size_t limit)
{
    return nominal[limit];
}

/* The first scalar below that has the name in it. */
static const struct hn_yaml *find_use(const struct hn_yaml *node, const char *name)
{
    if (node->kind == HN_YAML_SCALAR)
        return hn_config_mentions(node->text, name) ? node : NULL;
    const struct hn_yaml *found = NULL;
    for (const struct hn_yaml *child = node->child; child != NULL && found == NULL;
         child = child->next)
        found = find_use(child, name);
    return found;
}

static const struct hn_yaml *find_use_in_config(const struct hn_config_reader *reader,
                                                const char *name)
{
    static const char *const keys[] = {"parameters", "let",     "constraints", "promising",
                                       "arguments",  "launch",  "pipeline",    "compile",
                                       "reference",  "compare", "metrics"};
    const struct hn_yaml *found = NULL;
    if (hn_yaml_get(hn_yaml_get(reader->root, "parameters"), name) != NULL ||
        hn_yaml_get(hn_yaml_get(reader->root, "let"), name) != NULL ||
        hn_bindings_get(&reader->config->problems[0], name) != NULL)
        return NULL;
    for (size_t i = 0; found == NULL && i < sizeof keys / sizeof keys[0]; i++) {
        const struct hn_yaml *node = hn_yaml_get(reader->root, keys[i]);
        found = node == NULL ? NULL : find_use(node, name);
    }
    return found;
}

/* 0: not known. */
int64_t hn_config_find_limit(struct hn_config_reader *reader, size_t limit, struct hn_error *reason)
{
    const struct hn_config_for *use = reader->use;
    const struct hn_value *given = hn_bindings_get(use->problem, hn_device_limit_names[limit]);
    if (given != NULL)
        return given->type == HN_INTEGER ? given->integer : 0;
    if (reader->device.identity.capability == 0 && use->find_device != NULL &&
        use->find_device(use->context, &reader->device, reason) != HN_OK)
        reader->device = (struct hn_device){0};
    return hn_device_limit(&reader->device, limit);
}

static int64_t find_value(struct hn_config_reader *reader, const struct hn_yaml *node, size_t limit)
{
    const char *name = hn_device_limit_names[limit];
    struct hn_error reason = {0};
    if (reader->use == NULL)
        return nominal[limit];
    int64_t value = hn_config_find_limit(reader, limit, &reason);
    if (value <= 0)
        hn_config_fail(reader, node,
                       "'%s' is the device's, which is not known here%s%s; give it by -p %s=%lld, "
                       "which is what an H200 has",
                       name, reason.message[0] == '\0' ? "" : ": ", reason.message, name,
                       (long long)nominal[limit]);
    return value;
}

void hn_config_read_device(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    for (size_t i = 0; i < HN_DEVICE_LIMITS && !hn_failed(reader->err); i++) {
        const char *name = hn_device_limit_names[i];
        const struct hn_yaml *node = find_use_in_config(reader, name);
        const struct hn_value value = hn_integer(node == NULL ? 0 : find_value(reader, node, i));
        if (node == NULL || hn_failed(reader->err))
            continue;
        for (size_t p = 0; p < config->problem_count; p++)
            hn_bindings_set(&config->problems[p], name, &value, reader->err);
        config->plan->problem[config->plan->problem_count++] = hn_need_copy(name);
    }
}
