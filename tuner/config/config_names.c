/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_read.h"

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum hn_status append_name(const struct hn_config_reader *reader, char **names,
                                  size_t *count, const char *name)
{
    names[*count] = strdup(name);
    if (names[*count] == NULL)
        return hn_fail_memory(reader->err);
    ++*count;
    return HN_OK;
}

/* Where a parameter's key stands. */
static const struct hn_yaml *parameter_key(const struct hn_config_reader *reader, const char *name)
{
    return hn_yaml_get(hn_yaml_get(reader->root, "parameters"), name)->key;
}

static enum hn_status collect_names(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    struct hn_plan *plan = config->plan;
    plan->parameters = calloc(config->parameter_count + 1, sizeof *plan->parameters);
    plan->names = calloc(config->parameter_count + plan->problem_count + 1, sizeof *plan->names);
    if (plan->parameters == NULL || plan->names == NULL)
        return hn_fail_memory(reader->err);
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < config->parameter_count && status == HN_OK; i++) {
        const char *name = config->parameters[i].name;
        if (hn_bindings_get(&config->problems[0], name) != NULL)
            return hn_config_fail(reader, parameter_key(reader, name),
                                  "'%s' is a parameter and a problem value", name);
        status = append_name(reader, plan->parameters, &plan->parameter_count, name);
        if (status == HN_OK)
            status = append_name(reader, plan->names, &plan->name_count, name);
    }
    for (size_t i = 0; i < plan->problem_count && status == HN_OK; i++)
        status = append_name(reader, plan->names, &plan->name_count, plan->problem[i]);
    qsort(plan->names, plan->name_count, sizeof *plan->names, compare_names);
    return status;
}

static bool has_word(const struct hn_word_list *list, const char *word)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->words[i], word) == 0)
            return true;
    return false;
}

/* Starts a list with room for `most` words. */
static struct hn_word_list *start_list(struct hn_plan *plan, const char *name, size_t most)
{
    struct hn_word_list *list = &plan->word_lists[plan->word_list_count++];
    list->name = strdup(name);
    list->words = calloc(most, sizeof *list->words);
    return list->name == NULL || list->words == NULL ? NULL : list;
}

static enum hn_status list_parameter_words(struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    for (size_t i = 0; i < reader->config->parameter_count; i++) {
        const struct hn_config_parameter *parameter = &reader->config->parameters[i];
        if (parameter->values[0].type != HN_WORD)
            continue;
        struct hn_word_list *list = start_list(plan, parameter->name, parameter->count);
        if (list == NULL)
            return hn_fail_memory(reader->err);
        for (size_t v = 0; v < parameter->count; v++) {
            enum hn_status status =
                append_name(reader, list->words, &list->count, parameter->values[v].word);
            if (status != HN_OK)
                return status;
        }
    }
    return HN_OK;
}

static enum hn_status list_problem_words(struct hn_config_reader *reader)
{
    const struct hn_config *config = reader->config;
    struct hn_plan *plan = config->plan;
    for (size_t i = 0; i < plan->problem_count; i++) {
        const char *name = plan->problem[i];
        if (hn_bindings_get(&config->problems[0], name)->type != HN_WORD)
            continue;
        struct hn_word_list *list = start_list(plan, name, config->problem_count);
        if (list == NULL)
            return hn_fail_memory(reader->err);
        for (size_t p = 0; p < config->problem_count; p++) {
            const char *word = hn_bindings_get(&config->problems[p], name)->word;
            if (has_word(list, word))
                continue;
            enum hn_status status = append_name(reader, list->words, &list->count, word);
            if (status != HN_OK)
                return status;
        }
    }
    return HN_OK;
}

/* The first node under `node` that gives this word as a value. */
static const struct hn_yaml *find_word(const struct hn_yaml *node, const char *word)
{
    if (node->kind == HN_YAML_SCALAR)
        return strcmp(node->text, word) == 0 ? node : NULL;
    const struct hn_yaml *found = NULL;
    for (const struct hn_yaml *child = node->child; child != NULL && found == NULL;
         child = child->next)
        found = find_word(child, word);
    return found;
}

/* The list of this name's words is under parameters, or somewhere under problem. */
static const struct hn_yaml *place_of_word(const struct hn_config_reader *reader, const char *name,
                                           const char *word)
{
    const struct hn_yaml *parameters = hn_yaml_get(reader->root, "parameters");
    const struct hn_yaml *list = hn_yaml_get(parameters, name);
    if (list == NULL)
        list = hn_yaml_get(reader->root, "problem");
    const struct hn_yaml *node = list == NULL ? NULL : find_word(list, word);
    return node == NULL ? parameters : node;
}

static enum hn_status check_words(const struct hn_config_reader *reader)
{
    const struct hn_plan *plan = reader->config->plan;
    for (size_t i = 0; i < plan->word_list_count; i++) {
        const struct hn_word_list *list = &plan->word_lists[i];
        for (size_t w = 0; w < list->count; w++) {
            const char *word = list->words[w];
            if (bsearch(&word, plan->names, plan->name_count, sizeof *plan->names, compare_names) ==
                NULL)
                continue;
            return hn_config_fail(
                reader, place_of_word(reader, list->name, word),
                "'%s' is a word of '%s' and the name of a %s; rename one", word, list->name,
                hn_bindings_get(&reader->config->problems[0], word) == NULL ? "parameter"
                                                                            : "problem value");
        }
    }
    return HN_OK;
}

enum hn_status hn_config_read_names(struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    enum hn_status status = collect_names(reader);
    if (status != HN_OK)
        return status;
    plan->word_lists = calloc(plan->name_count + 1, sizeof *plan->word_lists);
    if (plan->word_lists == NULL)
        return hn_fail_memory(reader->err);
    status = list_parameter_words(reader);
    if (status == HN_OK)
        status = list_problem_words(reader);
    if (status == HN_OK)
        status = check_words(reader);
    return status;
}

static enum hn_status read_constraint(struct hn_config_reader *reader, const struct hn_yaml *item,
                                      const struct hn_scope *scope)
{
    struct hn_config *config = reader->config;
    struct hn_config_constraint *constraint = &config->constraints[config->constraint_count++];
    struct hn_error reason = {""};
    enum hn_status status = hn_config_read_expression(reader, item, &constraint->expression);
    if (status == HN_OK) {
        status = hn_expression_bind(constraint->expression, scope, &reason);
        if (status == HN_ENOMEM)
            hn_fail_memory(reader->err);
        else if (status != HN_OK)
            status = hn_config_fail(reader, item, "in '%.60s': %s", item->text, reason.message);
    }
    if (status != HN_OK)
        return status;
    constraint->text = strdup(item->text);
    if (asprintf(&constraint->where, "%s:%d:%d", reader->path, item->line, item->column) < 0)
        constraint->where = NULL;
    return constraint->text == NULL || constraint->where == NULL ? hn_fail_memory(reader->err)
                                                                 : HN_OK;
}

const char **hn_config_words(const struct hn_plan *plan, size_t *count)
{
    size_t most = 1;
    for (size_t i = 0; i < plan->word_list_count; i++)
        most += plan->word_lists[i].count;
    const char **words = calloc(most, sizeof *words);
    for (size_t i = 0; words != NULL && i < plan->word_list_count; i++)
        for (size_t w = 0; w < plan->word_lists[i].count; w++)
            words[(*count)++] = plan->word_lists[i].words[w];
    return words;
}

enum hn_status hn_config_read_constraints(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "constraints");
    if (node == NULL)
        return HN_OK;
    enum hn_status status =
        hn_config_check_kind(reader, node, HN_YAML_SEQUENCE, "a list of expressions");
    if (status != HN_OK)
        return status;
    size_t word_count = 0;
    const char **words = hn_config_words(config->plan, &word_count);
    config->constraints = calloc(node->count + 1, sizeof *config->constraints);
    if (words == NULL || config->constraints == NULL) {
        free(words);
        return hn_fail_memory(reader->err);
    }
    const struct hn_scope scope = {(const char *const *)config->plan->names,
                                   config->plan->name_count, words, word_count};
    for (const struct hn_yaml *item = node->child; item != NULL && status == HN_OK;
         item = item->next)
        status = read_constraint(reader, item, &scope);
    free(words);
    return status;
}
