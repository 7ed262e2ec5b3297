/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device.h"
#include "tuner/config/config_parts.h"

/* Parameters, problems and constraints, and the names that they give to expressions. */

enum { PROBLEMS_MOST = 10000 };

/* What expressions or the results call something else. */
void hn_config_check_name(struct hn_config_reader *reader, const struct hn_yaml *key)
{
    static const char *const taken[] = {"and",  "or",      "not",   "in",    "if",
                                        "else", "True",    "true",  "False", "false",
                                        "null", "time_us", "sizeof"};
    hn_config_expect(reader, hn_text_is_word(key->text), key, "a name ([A-Za-z_][A-Za-z0-9_]*)");
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (strcmp(taken[i], key->text) == 0)
            hn_config_fail(reader, key, "'%s' can not be a name: expressions use it", key->text);
}

static void read_one_value(struct hn_config_reader *reader, const struct hn_yaml *node,
                           struct hn_config_parameter *parameter)
{
    struct hn_value value = hn_config_read_value(reader, node);
    if (value.type == HN_WORD)
        hn_config_copy(reader, value.word, (char **)&value.word);
    parameter->values = hn_config_allocate(reader, 1, sizeof *parameter->values);
    if (parameter->values != NULL)
        parameter->values[parameter->count++] = value;
    else if (value.type == HN_WORD)
        free((char *)value.word);
}

/* Names with their values: lists, or scalars where they may be. */
static void read_lists(struct hn_config_reader *reader, const struct hn_yaml *mapping, bool scalars,
                       struct hn_config_parameter **lists, size_t *count)
{
    *lists = hn_config_allocate(reader, mapping->count, sizeof **lists);
    for (const struct hn_yaml *child = hn_config_first(reader, mapping); child != NULL;
         child = hn_config_next(reader, child)) {
        struct hn_config_parameter *list = &(*lists)[(*count)++];
        hn_config_check_name(reader, child->key);
        hn_config_copy(reader, child->key->text, &list->name);
        if (scalars && child->kind == HN_YAML_SCALAR)
            read_one_value(reader, child, list);
        else if (!scalars && hn_config_is_computed(reader, child))
            list->recipe = hn_config_allocate(reader, 1, sizeof *list->recipe);
        else
            hn_config_read_values(reader, child, &list->values, &list->count);
    }
}

void hn_config_read_parameters(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    const struct hn_yaml *node = hn_config_need(reader, reader->root, "parameters");
    if (!hn_config_expect_kind(reader, node, HN_YAML_MAPPING,
                               "a mapping of names to lists of values"))
        return;
    if (node->count == 0)
        hn_config_fail(reader, node, "found no parameters, expected at least one");
    read_lists(reader, node, false, &config->parameters, &config->parameter_count);
}

/* Makes room for that many problems; there have to be fewer. */
static void make_room(struct hn_config_reader *reader, size_t count)
{
    if (count > PROBLEMS_MOST)
        hn_config_fail(reader, hn_yaml_get(reader->root, "problem"),
                       "found more than %d problems, expected fewer", PROBLEMS_MOST);
    reader->config->problems = hn_config_allocate(reader, count, sizeof *reader->config->problems);
}

static struct hn_bindings *add_problem(struct hn_config *config)
{
    struct hn_bindings *problem = &config->problems[config->problem_count++];
    hn_bindings_init(problem);
    return problem;
}

/* All combinations of the lists; the last one varies fastest. */
static void multiply_out(struct hn_config_reader *reader, const struct hn_config_parameter *lists,
                         size_t count)
{
    size_t total = 1;
    for (size_t i = 0; i < count && total <= PROBLEMS_MOST; i++)
        total *= lists[i].count;
    make_room(reader, total);
    for (size_t p = 0; p < total && reader->status == HN_OK; p++) {
        struct hn_bindings *problem = add_problem(reader->config);
        size_t rest = p;
        for (size_t i = count; i-- > 0 && reader->status == HN_OK; rest /= lists[i].count)
            hn_config_take(reader,
                           hn_bindings_set(problem, lists[i].name,
                                           &lists[i].values[rest % lists[i].count], reader->err));
    }
}

static void free_lists(struct hn_config_parameter *lists, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(lists[i].name);
        hn_config_free_values(lists[i].values, lists[i].count);
    }
    free(lists);
}

static void read_one_mapping(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    struct hn_config_parameter *lists = NULL;
    size_t count = 0;
    read_lists(reader, node, true, &lists, &count);
    multiply_out(reader, lists, count);
    free_lists(lists, count);
}

static const char *kind_of(const struct hn_value *value)
{
    return value->type == HN_WORD ? "word" : value->type == HN_BOOLEAN ? "boolean" : "number";
}

/* A problem in a list has the names of the first, each with a value of the same kind. */
static void read_problem_value(struct hn_config_reader *reader, const struct hn_yaml *node,
                               struct hn_bindings *problem)
{
    const struct hn_bindings *first = &reader->config->problems[0];
    hn_config_check_name(reader, node->key);
    struct hn_value value = hn_config_read_value(reader, node);
    const struct hn_value *model = hn_bindings_get(first, node->key->text);
    if (problem != first && model == NULL)
        hn_config_fail(reader, node->key, "the first problem has no '%s'", node->key->text);
    else if (problem != first && strcmp(kind_of(model), kind_of(&value)) != 0)
        hn_config_fail(reader, node, "found a %s, expected a %s as in the first problem",
                       kind_of(&value), kind_of(model));
    if (reader->status == HN_OK)
        hn_config_take(reader, hn_bindings_set(problem, node->key->text, &value, reader->err));
}

static void read_problem_item(struct hn_config_reader *reader, const struct hn_yaml *item)
{
    const struct hn_config *config = reader->config;
    if (!hn_config_expect_kind(reader, item, HN_YAML_MAPPING, "a mapping of names to values"))
        return;
    struct hn_bindings *problem = add_problem(reader->config);
    for (const struct hn_yaml *child = hn_config_first(reader, item); child != NULL;
         child = hn_config_next(reader, child))
        read_problem_value(reader, child, problem);
    if (problem->count != config->problems[0].count)
        hn_config_fail(reader, item, "found %zu values, expected the %zu of the first problem",
                       problem->count, config->problems[0].count);
    for (size_t i = 0; i + 1 < config->problem_count && reader->status == HN_OK; i++)
        if (hn_bindings_equal(&config->problems[i], problem))
            hn_config_fail(reader, item, "the problem is in the list twice");
}

static void read_problem_list(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    if (node->count == 0)
        hn_config_fail(reader, node, "found an empty list, expected at least one problem");
    make_room(reader, node->count);
    for (const struct hn_yaml *item = hn_config_first(reader, node); item != NULL;
         item = hn_config_next(reader, item))
        read_problem_item(reader, item);
}

/* The names of problem values as they stand in the first problem, or in the family where there is
 * no problem. */
static void name_problem_values(struct hn_config_reader *reader, const struct hn_yaml *first)
{
    struct hn_plan *plan = reader->config->plan;
    const struct hn_family *family = first == NULL ? reader->config->family : NULL;
    const struct hn_yaml *parameters = hn_yaml_get(reader->root, "parameters");
    size_t most = HN_DEVICE_LIMITS + (first == NULL ? 0 : first->count) +
                  (family == NULL ? 0 : family->value_count) +
                  (parameters == NULL ? 0 : parameters->count);
    plan->problem = hn_config_allocate(reader, most, sizeof *plan->problem);
    for (const struct hn_yaml *child = hn_config_first(reader, first); child != NULL;
         child = hn_config_next(reader, child))
        hn_config_copy(reader, child->key->text, &plan->problem[plan->problem_count++]);
    for (size_t i = 0; family != NULL && i < family->value_count && reader->status == HN_OK; i++)
        hn_config_copy(reader, family->values[i].name, &plan->problem[plan->problem_count++]);
}

static void take_middle(struct hn_config_reader *reader)
{
    make_room(reader, 1);
    if (reader->status == HN_OK)
        hn_config_take(reader, hn_family_middle(reader->config->family, add_problem(reader->config),
                                                reader->err));
}

void hn_config_read_problem(struct hn_config_reader *reader)
{
    const struct hn_yaml *node = hn_yaml_get(reader->root, "problem");
    if (node == NULL && reader->config->family != NULL)
        take_middle(reader);
    else if (node == NULL)
        multiply_out(reader, NULL, 0);
    else if (node->kind == HN_YAML_MAPPING)
        read_one_mapping(reader, node);
    else if (node->kind == HN_YAML_SEQUENCE)
        read_problem_list(reader, node);
    else
        hn_config_fail_found(reader, node, "a mapping of names to values, or a list of them");
    name_problem_values(reader, node == NULL || node->kind == HN_YAML_MAPPING ? node : node->child);
    hn_config_match_family(reader);
}

/* Names. */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Where a parameter's key stands. */
static const struct hn_yaml *parameter_key(const struct hn_config_reader *reader, const char *name)
{
    return hn_yaml_get(hn_yaml_get(reader->root, "parameters"), name)->key;
}

static void collect_names(struct hn_config_reader *reader)
{
    const struct hn_config *config = reader->config;
    struct hn_plan *plan = config->plan;
    size_t count = config->parameter_count;
    plan->parameters = hn_config_allocate(reader, count, sizeof *plan->parameters);
    plan->names = hn_config_allocate(reader, count + plan->problem_count, sizeof *plan->names);
    for (size_t i = 0; i < count && reader->status == HN_OK; i++) {
        const char *name = config->parameters[i].name;
        if (hn_bindings_get(&config->problems[0], name) != NULL)
            hn_config_fail(reader, parameter_key(reader, name),
                           "'%s' is a parameter and a problem value", name);
        hn_config_copy(reader, name, &plan->parameters[plan->parameter_count++]);
        hn_config_copy(reader, name, &plan->names[plan->name_count++]);
    }
    for (size_t i = 0; i < plan->problem_count && reader->status == HN_OK; i++)
        hn_config_copy(reader, plan->problem[i], &plan->names[plan->name_count++]);
    if (reader->status == HN_OK)
        qsort(plan->names, plan->name_count, sizeof *plan->names, compare_names);
}

/* The words of a name, `model` being one of its values: nothing where that is no word. */
static struct hn_word_list *start_list(struct hn_config_reader *reader, const char *name,
                                       const struct hn_value *model, size_t most)
{
    struct hn_plan *plan = reader->config->plan;
    if (reader->status != HN_OK || model->type != HN_WORD)
        return NULL;
    struct hn_word_list *list = &plan->word_lists[plan->word_list_count++];
    hn_config_copy(reader, name, &list->name);
    list->words = hn_config_allocate(reader, most, sizeof *list->words);
    return list->words == NULL ? NULL : list;
}

static const struct hn_family_value *find_in_family(const struct hn_config *config,
                                                    const char *name)
{
    const struct hn_family *family = config->family;
    for (size_t i = 0; family != NULL && i < family->value_count; i++)
        if (strcmp(family->values[i].name, name) == 0)
            return &family->values[i];
    return NULL;
}

static void list_words(struct hn_config_reader *reader)
{
    const struct hn_config *config = reader->config;
    const struct hn_plan *plan = config->plan;
    for (size_t i = 0; i < config->parameter_count; i++) {
        const struct hn_config_parameter *parameter = &config->parameters[i];
        struct hn_word_list *list =
            parameter->count == 0
                ? NULL
                : start_list(reader, parameter->name, &parameter->values[0], parameter->count);
        for (size_t v = 0; list != NULL && v < parameter->count; v++)
            hn_config_copy(reader, parameter->values[v].word, &list->words[list->count++]);
    }
    for (size_t i = 0; i < plan->problem_count; i++) {
        const char *name = plan->problem[i];
        const struct hn_family_value *family = find_in_family(config, name);
        struct hn_word_list *list =
            start_list(reader, name, hn_bindings_get(&config->problems[0], name),
                       config->problem_count + (family == NULL ? 0 : family->count));
        for (size_t p = 0; list != NULL && p < config->problem_count; p++)
            hn_config_take(reader,
                           hn_word_list_add(list, hn_bindings_get(&config->problems[p], name)->word,
                                            reader->err));
        for (size_t v = 0; list != NULL && family != NULL && v < family->count; v++)
            hn_config_take(reader, hn_word_list_add(list, family->values[v].word, reader->err));
    }
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
    if (list == NULL || find_word(list, word) == NULL)
        list = hn_yaml_get(reader->root, "family");
    const struct hn_yaml *node = list == NULL ? NULL : find_word(list, word);
    return node == NULL ? parameters : node;
}

static void check_words(struct hn_config_reader *reader)
{
    const struct hn_plan *plan = reader->config->plan;
    for (size_t i = 0; i < plan->word_list_count; i++) {
        const struct hn_word_list *list = &plan->word_lists[i];
        for (size_t w = 0; w < list->count; w++) {
            const char *word = list->words[w];
            if (bsearch(&word, plan->names, plan->name_count, sizeof *plan->names, compare_names) !=
                NULL)
                hn_config_fail(
                    reader, place_of_word(reader, list->name, word),
                    "'%s' is a word of '%s' and the name of a %s; rename one", word, list->name,
                    hn_bindings_get(&reader->config->problems[0], word) == NULL ? "parameter"
                                                                                : "problem value");
        }
    }
}

void hn_config_read_names(struct hn_config_reader *reader)
{
    struct hn_plan *plan = reader->config->plan;
    collect_names(reader);
    plan->word_lists = hn_config_allocate(reader, plan->name_count, sizeof *plan->word_lists);
    if (reader->status != HN_OK)
        return;
    list_words(reader);
    check_words(reader);
}

/* Constraints. */

void hn_config_note_place(struct hn_config_reader *reader, const struct hn_yaml *node, char **to)
{
    if (asprintf(to, "%s:%d:%d", reader->path, node->line, node->column) < 0) {
        *to = NULL;
        hn_config_take(reader, hn_fail_memory(reader->err));
    }
}

static struct hn_config_constraint *next_constraint(struct hn_config_reader *reader,
                                                    const struct hn_yaml *node)
{
    struct hn_config *config = reader->config;
    struct hn_config_constraint *constraint = &config->constraints[config->constraint_count++];
    hn_config_note_place(reader, node, &constraint->where);
    return constraint;
}

static void bind_constraint(struct hn_config_reader *reader, const struct hn_yaml *node,
                            const struct hn_scope *scope,
                            const struct hn_config_constraint *constraint)
{
    struct hn_error reason = {0};
    if (reader->status == HN_OK)
        hn_config_take_in(reader, node, constraint->text,
                          hn_expression_bind(constraint->expression, scope, &reason), &reason);
}

void hn_config_add_constraint(struct hn_config_reader *reader, const struct hn_yaml *node,
                              const char *text)
{
    const struct hn_plan *plan = reader->config->plan;
    const struct hn_scope scope = {(const char *const *)plan->names, plan->name_count, NULL, 0};
    struct hn_error reason = {0};
    struct hn_config_constraint *constraint = next_constraint(reader, node);
    hn_config_copy(reader, text, &constraint->text);
    hn_config_take_in(reader, node, text,
                      hn_expression_parse(text, &constraint->expression, &reason), &reason);
    bind_constraint(reader, node, &scope, constraint);
}

const char **hn_config_words(struct hn_config_reader *reader, size_t *count)
{
    const struct hn_plan *plan = reader->config->plan;
    size_t most = 0;
    for (size_t i = 0; i < plan->word_list_count; i++)
        most += plan->word_lists[i].count;
    const char **words = hn_config_allocate(reader, most, sizeof *words);
    for (size_t i = 0; words != NULL && i < plan->word_list_count; i++)
        for (size_t w = 0; w < plan->word_lists[i].count; w++)
            words[(*count)++] = plan->word_lists[i].words[w];
    return words;
}

static bool expect_expressions(struct hn_config_reader *reader, const struct hn_yaml *node)
{
    return node == NULL ||
           hn_config_expect_kind(reader, node, HN_YAML_SEQUENCE, "a list of expressions");
}

static void read_conditions(struct hn_config_reader *reader, const struct hn_yaml *node,
                            const struct hn_scope *scope, bool promising)
{
    for (const struct hn_yaml *item = hn_config_first(reader, node); item != NULL;
         item = hn_config_next(reader, item)) {
        struct hn_config_constraint *constraint = next_constraint(reader, item);
        constraint->promising = promising;
        hn_config_read_expression(reader, item, &constraint->expression);
        hn_config_copy(reader, item->text, &constraint->text);
        bind_constraint(reader, item, scope, constraint);
    }
}

void hn_config_read_constraints(struct hn_config_reader *reader)
{
    struct hn_config *config = reader->config;
    const struct hn_yaml *constraints = hn_yaml_get(reader->root, "constraints");
    const struct hn_yaml *promising = hn_yaml_get(reader->root, "promising");
    size_t word_count = 0;
    if (!expect_expressions(reader, constraints) || !expect_expressions(reader, promising))
        return;
    /* And one of each parameter whose values are computed. */
    size_t most = (constraints == NULL ? 0 : constraints->count) +
                  (promising == NULL ? 0 : promising->count) + config->parameter_count;
    const char **words = hn_config_words(reader, &word_count);
    config->constraints = hn_config_allocate(reader, most, sizeof *config->constraints);
    const struct hn_scope scope = {(const char *const *)config->plan->names,
                                   config->plan->name_count, words, word_count};
    read_conditions(reader, constraints, &scope, false);
    read_conditions(reader, promising, &scope, true);
    free(words);
}
