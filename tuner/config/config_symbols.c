/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/config/config_read.h"

/* What a symbol holds. */
enum source { SOURCE_COUNT, SOURCE_VALUE, SOURCE_FROM, SOURCES };
static const char *const source_keys[SOURCES] = {"count", "value", "from"};

/* Which of count, value and from is there: exactly one. */
static enum hn_status find_source(const struct hn_config_reader *reader, const struct hn_yaml *node,
                                  const char *name, enum source *source)
{
    const struct hn_yaml *first = NULL;
    for (int i = 0; i < SOURCES; i++) {
        const struct hn_yaml *child = hn_yaml_get(node, source_keys[i]);
        if (child != NULL && first != NULL)
            return hn_config_fail(reader, child->key,
                                  "symbol '%s' has a '%s', so it can not have a '%s'", name,
                                  first->key->text, child->key->text);
        if (child == NULL)
            continue;
        first = child;
        *source = (enum source)i;
    }
    if (first == NULL)
        return hn_config_fail(reader, node,
                              "symbol '%s' has neither 'count' (a buffer), 'value' (one element) "
                              "nor 'from' (the contents of an input)",
                              name);
    return HN_OK;
}

/* Counters are filled with zeros. */
static enum hn_status read_role(struct hn_config_reader *reader, const struct hn_yaml *node,
                                struct hn_argument *symbol)
{
    static const char *const roles[] = {"input", "inout", "counter"};
    const struct hn_yaml *role = hn_yaml_get(node, "role");
    static const char *const fills[] = {"fill", "file", NULL};
    bool counter =
        role != NULL && role->kind == HN_YAML_SCALAR && strcmp(role->text, "counter") == 0;
    bool inout = role != NULL && role->kind == HN_YAML_SCALAR && strcmp(role->text, "inout") == 0;
    if (role != NULL && !counter && !inout &&
        (role->kind != HN_YAML_SCALAR || strcmp(role->text, "input") != 0))
        return role->kind != HN_YAML_SCALAR
                   ? hn_config_fail_found(reader, role, "a role such as input")
                   : hn_config_fail_unknown(reader, role, "role of a symbol", role->text, roles, 3);
    symbol->changes = counter || inout;
    if (counter) {
        enum hn_status status =
            hn_config_refuse(reader, node, fills, "is zero before every launch");
        if (status != HN_OK)
            return status;
    }
    if (!counter)
        return hn_config_read_fill(reader, node, symbol);
    symbol->fill = (struct hn_fill){.kind = HN_FILL_CONSTANT};
    return HN_OK;
}

static enum hn_status read_contents(struct hn_config_reader *reader, const struct hn_yaml *node,
                                    enum source source, struct hn_argument *symbol)
{
    static const char *const for_buffers[] = {"fill", "file", "role", NULL};
    static const char *const for_others[] = {"type", NULL};
    const struct hn_yaml *type = NULL;
    enum hn_status status = HN_OK;
    if (source != SOURCE_COUNT)
        status = hn_config_refuse(reader, node, for_buffers,
                                  source == SOURCE_VALUE ? "has a 'value'" : "has a 'from'");
    if (status == HN_OK && source == SOURCE_FROM) {
        status = hn_config_refuse(reader, node, for_others, "has a 'from'");
        if (status == HN_OK)
            status = hn_config_read_word(reader, hn_yaml_get(node, "from"), "the name of an input",
                                         &symbol->from);
        return status == HN_OK ? hn_config_find_source(reader, node, symbol) : status;
    }
    if (status == HN_OK)
        status = hn_config_need(reader, node, "type", &type);
    if (status == HN_OK)
        status = hn_config_read_type(reader, type, symbol);
    if (status == HN_OK && source == SOURCE_VALUE)
        status = hn_config_check_scalar(reader, type, symbol);
    if (status == HN_OK && source == SOURCE_VALUE)
        return hn_config_read_expression(reader, hn_yaml_get(node, "value"), &symbol->value);
    if (status == HN_OK)
        status = hn_config_read_expression(reader, hn_yaml_get(node, "count"), &symbol->count);
    return status == HN_OK ? read_role(reader, node, symbol) : status;
}

static enum hn_status read_symbol(struct hn_config_reader *reader, const struct hn_yaml *node,
                                  struct hn_argument *symbol)
{
    static const char *const keys[] = {"name", "type", "count", "value", "from",
                                       "fill", "file", "role",  "if",    NULL};
    const struct hn_yaml *name = NULL;
    const struct hn_yaml *condition = NULL;
    enum source source = SOURCE_COUNT;
    symbol->role = HN_ROLE_SYMBOL;
    enum hn_status status = hn_config_check_keys(reader, node, keys);
    if (status == HN_OK)
        status = hn_config_need(reader, node, "name", &name);
    if (status == HN_OK)
        status = hn_config_read_word(reader, name, "the name of a variable", &symbol->name);
    if (status == HN_OK)
        status = find_source(reader, node, symbol->name, &source);
    if (status == HN_OK)
        status = read_contents(reader, node, source, symbol);
    if (status == HN_OK && (condition = hn_yaml_get(node, "if")) != NULL)
        status = hn_config_read_expression(reader, condition, &symbol->condition);
    return status;
}

/* Symbols are kept behind the arguments. */
enum hn_status hn_config_read_symbols(struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "symbols");
    if (node == NULL)
        return HN_OK;
    enum hn_status status =
        hn_config_check_kind(reader, node, HN_YAML_SEQUENCE, "a list of symbols");
    if (status == HN_OK && plan->argument_count + node->count > HN_CONFIG_ARGUMENTS)
        status = hn_config_fail(reader, node,
                                "found %zu symbols and %zu arguments, expected at most %d in all",
                                node->count, plan->argument_count, HN_CONFIG_ARGUMENTS);
    if (status != HN_OK)
        return status;
    size_t total = plan->argument_count + node->count + 1;
    struct hn_argument *grown = realloc(plan->arguments, total * sizeof *grown);
    if (grown == NULL)
        return hn_fail_memory(reader->err);
    plan->arguments = grown;
    for (const struct hn_yaml *item = node->child; item != NULL && status == HN_OK;
         item = item->next) {
        struct hn_argument *symbol = &plan->arguments[plan->argument_count++];
        *symbol = (struct hn_argument){0};
        status = read_symbol(reader, item, symbol);
        if (status == HN_OK)
            status = hn_config_check_unique(reader, item);
    }
    return status;
}
