/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
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

char *hn_config_expand(struct hn_config_reader *reader, const struct hn_yaml *node,
                       const char *text, bool holes)
{
    struct hn_text expanded;
    bool inside = !holes;
    hn_text_init(&expanded);
    for (const char *at = text; *at != '\0';) {
        size_t length = inside ? token_length(at) : 1;
        bool name = inside && at[length + strspn(at + length, " ")] != '('; /* of no function */
        const char *let = name ? find_let(reader, at, length) : NULL;
        if (holes && (*at == '{' || *at == '}'))
            inside = *at == '{';
        if (let != NULL)
            hn_text_append(&expanded, let);
        else
            hn_text_printf(&expanded, "%.*s", (int)length, at);
        at += length;
        if (expanded.length > EXPANDED_MOST) {
            hn_config_fail(reader, node,
                           "written out, what `let` names here has more than %d characters",
                           EXPANDED_MOST);
            break;
        }
    }
    char *taken = hn_text_take(&expanded);
    if (taken == NULL)
        hn_config_take(reader, hn_fail_memory(reader->err));
    if (reader->status == HN_OK)
        return taken;
    free(taken);
    return NULL;
}

/* A name that is nothing else yet. */
static void check_free(struct hn_config_reader *reader, const struct hn_yaml *key,
                       const char *const *words, size_t word_count)
{
    const struct hn_plan *plan = reader->config->plan;
    hn_config_check_name(reader, key);
    for (size_t i = 0; i < plan->name_count; i++)
        if (strcmp(plan->names[i], key->text) == 0)
            hn_config_fail(reader, key, "'%s' is a parameter or a problem value already",
                           key->text);
    for (size_t i = 0; i < word_count; i++)
        if (strcmp(words[i], key->text) == 0)
            hn_config_fail(reader, key, "'%s' is a word already", key->text);
}

/* Bound here, so that what is wrong is said here, and where nothing uses it. */
static void read_one(struct hn_config_reader *reader, const struct hn_yaml *node,
                     const struct hn_scope *scope)
{
    struct hn_config_let *let = &reader->lets[reader->let_count];
    struct hn_expression *expression = NULL;
    struct hn_error reason = {0};
    struct hn_text text;
    check_free(reader, node->key, scope->words, scope->word_count);
    hn_config_read_expression(reader, node, &expression);
    if (reader->status == HN_OK)
        hn_config_take_in(reader, node, node->text, hn_expression_bind(expression, scope, &reason),
                          &reason);
    hn_text_init(&text);
    if (reader->status == HN_OK) {
        hn_text_printf(&text, "(%s)", hn_expression_text(expression));
        hn_config_copy(reader, node->key->text, &let->name);
        let->text = hn_text_take(&text);
        if (let->text == NULL)
            hn_config_take(reader, hn_fail_memory(reader->err));
        reader->let_count++;
    }
    hn_expression_destroy(expression);
}

void hn_config_read_let(struct hn_config_reader *reader)
{
    const struct hn_yaml *node = hn_yaml_get(reader->root, "let");
    if (node == NULL ||
        !hn_config_expect_kind(reader, node, HN_YAML_MAPPING, "a mapping of names to expressions"))
        return;
    size_t word_count = 0;
    const char **words = hn_config_words(reader, &word_count);
    reader->lets = hn_config_allocate(reader, node->count, sizeof *reader->lets);
    /* What one of a grid may name it may name, too. */
    const struct hn_plan *plan = reader->config->plan;
    const char **names = hn_config_allocate(reader, plan->name_count + 1, sizeof *names);
    for (size_t i = 0; names != NULL && i < plan->name_count; i++)
        names[i] = plan->names[i];
    if (names != NULL)
        names[plan->name_count] = hn_clusters_name;
    const struct hn_scope scope = {names, names == NULL ? 0 : plan->name_count + 1, words,
                                   word_count};
    for (const struct hn_yaml *child = hn_config_first(reader, node); child != NULL;
         child = hn_config_next(reader, child))
        read_one(reader, child, &scope);
    free(names);
    free(words);
}

void hn_config_finish_lets(struct hn_config_reader *reader)
{
    for (size_t i = 0; i < reader->let_count; i++) {
        free(reader->lets[i].name);
        free(reader->lets[i].text);
    }
    free(reader->lets);
}
