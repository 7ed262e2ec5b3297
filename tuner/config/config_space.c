/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/device/device.h"
#include "tuner/config/config_parts.h"

/* Parameters, problems and constraints, and the names that they give to expressions. */

enum { PROBLEMS_MOST = 10000 };

/* Names with their values: lists, or scalars where they may be. */
static void read_lists(struct hn_reader *reader, const struct hn_yaml *mapping, bool scalars,
                       struct hn_config_parameter **lists, size_t *count)
{
    *lists = hn_need_block(&reader->config->blocks, mapping->count, sizeof **lists);
    const struct hn_yaml *child = mapping->child;
    for (; child != NULL && !hn_failed(reader->err); child = child->next) {
        struct hn_config_parameter *list = &(*lists)[(*count)++];
        hn_config_check_name(reader, child->key);
        list->name = child->key->text;
        if (!scalars && hn_config_is_computed(reader, child))
            list->recipe = hn_need_block(&reader->config->blocks, 1, sizeof *list->recipe);
        else
            hn_config_read_values(reader, child, scalars, &list->values, &list->count);
    }
}

static void read_parameters(struct hn_reader *reader)
{
    const struct hn_yaml *node = hn_config_need(reader, reader->root, "parameters");
    if (!hn_config_expect_kind(reader, node, HN_YAML_MAPPING,
                               "a mapping of names to lists of values"))
        return;
    if (node->count == 0)
        hn_config_fail(reader, node, "found no parameters, expected at least one");
    read_lists(reader, node, false, &reader->config->parameters, &reader->config->parameter_count);
}

struct hn_config_parameter *hn_config_find_parameter(const struct hn_config *config,
                                                     const char *name)
{
    for (size_t i = 0; i < config->parameter_count; i++)
        if (strcmp(config->parameters[i].name, name) == 0)
            return &config->parameters[i];
    return NULL;
}

/* Begins the problems, of which there will be so many, with an empty one. */
static struct hn_bindings *start_problems(struct hn_reader *reader, size_t count)
{
    reader->config->problems = hn_need(count, sizeof *reader->config->problems);
    return &reader->config->problems[reader->config->problem_count++];
}

static void check_problem_count(struct hn_reader *reader, size_t count)
{
    if (count > PROBLEMS_MOST)
        hn_config_fail(reader, hn_yaml_get(reader->root, "problem"),
                       "found more than %d problems, expected fewer", PROBLEMS_MOST);
}

/* Each problem once for each value of a list; the values vary fastest. */
static void multiply_problems(struct hn_reader *reader, const struct hn_config_parameter *list)
{
    size_t total = reader->config->problem_count * list->count;
    if (hn_failed(reader->err))
        return;
    struct hn_bindings *all = hn_need(total, sizeof *all);
    for (size_t i = 0; i < total; i++) {
        hn_bindings_copy(&all[i], &reader->config->problems[i / list->count], reader->err);
        hn_bindings_set(&all[i], list->name, &list->values[i % list->count], reader->err);
    }
    HN_FREE_EACH(problem, reader->config->problems, reader->config->problem_count,
                 hn_bindings_finish(problem));
    reader->config->problems = all;
    reader->config->problem_count = total;
}

/* A problem in a list has the names of the first, each with a value of the same kind. */
static void read_problem_value(struct hn_reader *reader, const struct hn_yaml *node,
                               struct hn_bindings *problem)
{
    const struct hn_bindings *first = &reader->config->problems[0];
    const struct hn_value *model = hn_bindings_get(first, node->key->text);
    hn_config_check_name(reader, node->key);
    struct hn_value value = hn_config_read_value(reader, node);
    const char *kind = hn_config_value_kind(&value);
    if (problem != first && model == NULL)
        hn_config_fail(reader, node->key, "the first problem has no '%s'", node->key->text);
    else if (problem != first && strcmp(hn_config_value_kind(model), kind) != 0)
        hn_config_fail(reader, node, "found a %s, expected a %s as in the first problem", kind,
                       hn_config_value_kind(model));
    if (!hn_failed(reader->err))
        hn_bindings_set(problem, node->key->text, &value, reader->err);
}

static void read_problem_list(struct hn_reader *reader, const struct hn_yaml *node)
{
    hn_config_expect(reader, node->count > 0, node, "at least one problem");
    check_problem_count(reader, node->count);
    const struct hn_yaml *item = node->child;
    for (; item != NULL && !hn_failed(reader->err); item = item->next) {
        struct hn_bindings *problem =
            item == node->child ? start_problems(reader, node->count)
                                : &reader->config->problems[reader->config->problem_count++];
        const struct hn_yaml *child = hn_config_pairs(reader, item, "a mapping of names to values");
        for (; child != NULL && !hn_failed(reader->err); child = child->next)
            read_problem_value(reader, child, problem);
        if (problem->count != reader->config->problems[0].count)
            hn_config_fail(reader, item, "found %zu values, expected the %zu of the first problem",
                           problem->count, reader->config->problems[0].count);
        for (size_t i = 0; i + 1 < reader->config->problem_count; i++)
            if (hn_bindings_equal(&reader->config->problems[i], problem))
                hn_config_fail(reader, item, "the problem is in the list twice");
    }
}

/* The names of problem values as in the first problem or, where there is none, in the family. */
static void name_problem_values(struct hn_reader *reader, const struct hn_yaml *first)
{
    const struct hn_family *family = first == NULL ? reader->config->family : NULL;
    size_t most = HN_DEVICE_LIMITS + hn_config_count(first) +
                  (family == NULL ? 0 : family->value_count) +
                  hn_config_count(hn_yaml_get(reader->root, "parameters"));
    if (hn_failed(reader->err))
        return;
    reader->plan->problem = hn_need(most, sizeof *reader->plan->problem);
    for (first = first == NULL ? NULL : first->child; first != NULL; first = first->next)
        reader->plan->problem[reader->plan->problem_count++] = hn_need_copy(first->key->text);
    for (size_t i = 0; family != NULL && i < family->value_count; i++)
        reader->plan->problem[reader->plan->problem_count++] = hn_need_copy(family->values[i].name);
}

/* That problems and family have the same values. */
static void match_family(struct hn_reader *reader)
{
    const struct hn_value number = hn_integer(0);
    const struct hn_family *family = reader->config->family;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "family");
    if (hn_failed(reader->err) || family == NULL)
        return;
    const struct hn_bindings *problem = &reader->config->problems[0];
    HN_EACH_OF(value, family->values, family->value_count) {
        const struct hn_yaml *child = hn_yaml_get(node, value->name);
        const struct hn_value *given = hn_bindings_get(problem, value->name);
        const char *kind = hn_config_value_kind(value->count > 0 ? &value->values[0] : &number);
        if (given == NULL)
            hn_config_fail(reader, child->key,
                           "the family has '%s', which `problem` has not; "
                           "add it there or remove it here",
                           value->name);
        else if (strcmp(kind, hn_config_value_kind(given)) != 0)
            hn_config_fail(reader, child, "found %ss, expected %ss as under `problem`", kind,
                           hn_config_value_kind(given));
    }
    for (size_t i = 0; i < problem->count; i++)
        if (hn_yaml_get(node, problem->names[i]) == NULL)
            hn_config_fail(reader, node,
                           "the family has no '%s', which `problem` has; add it, as "
                           "a range, a list or a fixed value",
                           problem->names[i]);
}

static void read_problem(struct hn_reader *reader)
{
    struct hn_config *config = reader->config;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "problem");
    struct hn_config_parameter *lists = NULL;
    size_t count = 0;
    if (hn_failed(reader->err))
        return;
    if (node == NULL && config->family != NULL) {
        hn_family_middle(config->family, start_problems(reader, 1), reader->err);
    } else if (node == NULL) {
        start_problems(reader, 1);
    } else if (node->kind == HN_YAML_MAPPING) {
        /* All combinations of the lists; the last one varies fastest. */
        read_lists(reader, node, true, &lists, &count);
        start_problems(reader, 1);
        for (size_t i = 0; i < count; i++) {
            check_problem_count(reader, config->problem_count * lists[i].count);
            multiply_problems(reader, &lists[i]);
        }
    } else if (node->kind == HN_YAML_SEQUENCE) {
        read_problem_list(reader, node);
    } else {
        hn_config_expect(reader, false, node, "a mapping of names to values, or a list of them");
    }
    name_problem_values(reader, node == NULL || node->kind == HN_YAML_MAPPING ? node : node->child);
    match_family(reader);
}

/* Types of arguments. A result of one type is none of another, so that such a type is part of the
 * problem: each is tuned on its own, with inputs and a reference of its own. */

static bool is_type_of_argument(const struct hn_reader *reader, const char *name)
{
    static const char *const lists[] = {"arguments", "symbols"};
    for (int i = 0; i < 2; i++) {
        const struct hn_yaml *list = hn_yaml_get(reader->root, lists[i]);
        for (const struct hn_yaml *item = list == NULL ? NULL : list->child; item != NULL;
             item = item->next) {
            const struct hn_yaml *type = hn_yaml_get(item, "type");
            if (type != NULL && type->kind == HN_YAML_SCALAR && strcmp(type->text, name) == 0)
                return true;
        }
    }
    return false;
}

/* Makes parameters that are the type of an argument problem values. */
static void move_types(struct hn_reader *reader)
{
    struct hn_config *config = reader->config;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "parameters");
    for (size_t i = 0; i < config->parameter_count && !hn_failed(reader->err);) {
        struct hn_config_parameter *parameter = &config->parameters[i];
        const char *name = parameter->name;
        if (parameter->count == 0 || parameter->values[0].type != HN_WORD ||
            !is_type_of_argument(reader, name)) {
            i++;
            continue;
        }
        if (hn_bindings_get(&config->problems[0], name) != NULL)
            hn_config_fail(reader, node, "'%s' is a parameter and a problem value", name);
        if (config->family != NULL)
            hn_config_fail(reader, node,
                           "'%s' is the type of an argument, and so a problem value; in a config "
                           "with a family it stands there, as a list",
                           name);
        if (config->problem_count * parameter->count > PROBLEMS_MOST)
            hn_config_fail(reader, node,
                           "found more than %d problems, since '%s' is the type of an argument; "
                           "expected fewer",
                           PROBLEMS_MOST, name);
        multiply_problems(reader, parameter);
        config->plan->problem[config->plan->problem_count++] = hn_need_copy(name);
        HN_DROP(config->parameters, config->parameter_count, i);
    }
    if (config->parameter_count == 0)
        hn_config_fail(reader, node,
                       "found no parameter beside those that are types of arguments, which each "
                       "make a problem of its own; expected at least one");
}

static void collect_names(struct hn_reader *reader)
{
    const struct hn_yaml *parameters = hn_yaml_get(reader->root, "parameters");
    size_t count = reader->config->parameter_count;
    if (hn_failed(reader->err))
        return;
    reader->plan->parameters = hn_need(count, sizeof *reader->plan->parameters);
    for (size_t i = 0; i < count; i++) {
        const char *name = reader->config->parameters[i].name;
        if (hn_bindings_get(&reader->config->problems[0], name) != NULL)
            hn_config_fail(reader, hn_yaml_get(parameters, name)->key,
                           "'%s' is a parameter and a problem value", name);
        reader->plan->parameters[reader->plan->parameter_count++] = hn_need_copy(name);
    }
    if (!hn_failed(reader->err))
        hn_plan_collect_names(reader->plan, reader->err);
    reader->plan->word_lists = hn_need(reader->plan->name_count, sizeof *reader->plan->word_lists);
}

/* The words of each name that has some. */
static void list_words(struct hn_reader *reader)
{
    const struct hn_config *config = reader->config;
    const struct hn_family *family = config->family;
    if (hn_failed(reader->err))
        return;
    HN_EACH_OF(parameter, config->parameters, config->parameter_count) {
        if (parameter->count == 0 || parameter->values[0].type != HN_WORD)
            continue;
        struct hn_word_list *list = &config->plan->word_lists[config->plan->word_list_count++];
        *list = (struct hn_word_list){.name = hn_need_copy(parameter->name),
                                      .words = hn_need(parameter->count, sizeof *list->words)};
        for (size_t v = 0; v < parameter->count; v++)
            list->words[list->count++] = hn_need_copy(parameter->values[v].word);
    }
    for (size_t i = 0; i < config->plan->problem_count; i++) {
        const char *name = config->plan->problem[i];
        if (hn_bindings_get(&config->problems[0], name)->type != HN_WORD)
            continue;
        struct hn_word_list *list = &config->plan->word_lists[config->plan->word_list_count++];
        list->name = hn_need_copy(name);
        for (size_t p = 0; p < config->problem_count; p++)
            hn_word_list_add(list, hn_bindings_get(&config->problems[p], name)->word, reader->err);
        for (size_t f = 0; family != NULL && f < family->value_count; f++)
            for (size_t v = 0;
                 strcmp(family->values[f].name, name) == 0 && v < family->values[f].count; v++)
                hn_word_list_add(list, family->values[f].values[v].word, reader->err);
    }
}

/* The first scalar under `node` that is the name, or (mentions) has it in it. */
static const struct hn_yaml *find_scalar(const struct hn_yaml *node, const char *name,
                                         bool mentions)
{
    const struct hn_yaml *found = NULL;
    if (node != NULL && node->kind == HN_YAML_SCALAR)
        return (mentions ? hn_text_find_word(node->text, name, strlen(name)) != NULL
                         : strcmp(node->text, name) == 0)
                   ? node
                   : NULL;
    for (const struct hn_yaml *child = node == NULL ? NULL : node->child;
         child != NULL && found == NULL; child = child->next)
        found = find_scalar(child, name, mentions);
    return found;
}

static void check_words(struct hn_reader *reader)
{
    HN_EACH_OF(list, reader->plan->word_lists, reader->plan->word_list_count) {
        for (size_t w = 0; w < list->count; w++) {
            const char *word = list->words[w];
            if (!hn_plan_has_name(reader->plan, word))
                continue;
            /* The list of this name's words is under parameters, or somewhere under problem. */
            const struct hn_yaml *root = reader->root;
            const struct hn_yaml *parameters = hn_yaml_get(root, "parameters");
            const struct hn_yaml *own = hn_yaml_get(parameters, list->name);
            const struct hn_yaml *node =
                find_scalar(own != NULL ? own : hn_yaml_get(root, "problem"), word, false);
            if (node == NULL)
                node = find_scalar(hn_yaml_get(root, "family"), word, false);
            hn_config_fail(
                reader, node == NULL ? parameters : node,
                "'%s' is a word of '%s' and the name of a %s; rename one", word, list->name,
                hn_bindings_get(&reader->config->problems[0], word) == NULL ? "parameter"
                                                                            : "problem value");
        }
    }
}

struct hn_scope hn_config_scope(struct hn_config *config, char *const *more, size_t more_count)
{
    const struct hn_plan *plan = config->plan;
    size_t word_count = 0, count = 0;
    for (size_t i = 0; i < plan->word_list_count; i++)
        word_count += plan->word_lists[i].count;
    const char **names =
        hn_need_block(&config->blocks, plan->name_count + more_count, sizeof *names);
    const char **words = hn_need_block(&config->blocks, word_count, sizeof *words);
    for (size_t i = 0; i < plan->name_count + more_count; i++)
        names[i] = i < plan->name_count ? plan->names[i] : more[i - plan->name_count];
    for (size_t i = 0; i < plan->word_list_count; i++)
        for (size_t w = 0; w < plan->word_lists[i].count; w++)
            words[count++] = plan->word_lists[i].words[w];
    return (struct hn_scope){names, plan->name_count + more_count, words, word_count};
}

void hn_config_read_condition(struct hn_reader *reader, const struct hn_yaml *node,
                              const char *text, const struct hn_scope *scope,
                              struct hn_config_constraint *condition)
{
    condition->where = hn_config_where(reader, node);
    condition->text = text != NULL ? text : node->text;
    if (text == NULL)
        hn_config_read_expression(reader, node, &condition->expression);
    else
        hn_config_parse(reader, node, text, &condition->expression);
    if (text != NULL && condition->expression != NULL)
        condition->text = hn_expression_text(condition->expression);
    hn_config_bind(reader, node, condition->text, condition->expression, scope);
}

static void read_conditions(struct hn_reader *reader, const struct hn_yaml *item,
                            const struct hn_scope *scope, bool promising)
{
    struct hn_config *config = reader->config;
    for (; item != NULL && !hn_failed(reader->err); item = item->next) {
        struct hn_config_constraint *constraint = &config->constraints[config->constraint_count++];
        constraint->promising = promising;
        hn_config_read_condition(reader, item, NULL, scope, constraint);
    }
}

static void read_constraints(struct hn_reader *reader)
{
    static const char expected[] = "a list of expressions";
    const struct hn_yaml *constraints = hn_yaml_get(reader->root, "constraints");
    const struct hn_yaml *promising = hn_yaml_get(reader->root, "promising");
    const struct hn_yaml *first = hn_config_list(reader, constraints, expected);
    const struct hn_yaml *second = hn_config_list(reader, promising, expected);
    if (hn_failed(reader->err))
        return;
    /* And one of each parameter whose values are computed. */
    size_t most =
        hn_config_count(constraints) + hn_config_count(promising) + reader->config->parameter_count;
    reader->config->constraints =
        hn_need_block(&reader->config->blocks, most, sizeof *reader->config->constraints);
    struct hn_scope scope = hn_config_scope(reader->config, NULL, 0);
    read_conditions(reader, first, &scope, false);
    read_conditions(reader, second, &scope, true);
}

/* Names for expressions. Each stands for its text in brackets, which it is replaced by where an
 * expression is read: what comes behind knows nothing of it, and a config means the same with and
 * without. */

/* Texts that names stand for grow by the product where each names the last one several times. */
enum { EXPANDED_MOST = 32768 };

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

char *hn_config_expand(struct hn_reader *reader, const struct hn_yaml *node, const char *text,
                       bool holes)
{
    struct hn_text expanded = {0};
    bool inside = !holes;
    hn_text_append(&expanded, "");
    for (const char *at = text; *at != '\0' && expanded.length <= EXPANDED_MOST;) {
        size_t length = inside ? token_length(at) : 1;
        bool name = inside && at[length + strspn(at + length, " ")] != '('; /* of no function */
        const char *let = NULL;
        for (size_t i = 0; name && let == NULL && i < reader->let_count; i++)
            if (strncmp(reader->lets[i].name, at, length) == 0 &&
                reader->lets[i].name[length] == '\0')
                let = reader->lets[i].text;
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
                       "written out, with what `let` names, it has more than %d characters",
                       EXPANDED_MOST);
    return hn_needed(hn_text_take(&expanded));
}

/* Bound here, so that what is wrong is said here, and where nothing uses it. */
static void read_one_let(struct hn_reader *reader, const struct hn_yaml *node,
                         const struct hn_scope *scope)
{
    struct hn_expression *expression = NULL;
    const struct hn_yaml *key = node->key;
    hn_config_check_name(reader, key);
    if (hn_plan_has_name(reader->plan, key->text))
        hn_config_fail(reader, key, "'%s' is a parameter or a problem value already", key->text);
    if (hn_text_is_among(key->text, scope->words, scope->word_count))
        hn_config_fail(reader, key, "'%s' is a word already", key->text);
    hn_config_read_expression(reader, node, &expression);
    hn_config_bind(reader, node, node->text, expression, scope);
    if (!hn_failed(reader->err)) {
        struct hn_config_let *let = &reader->lets[reader->let_count++];
        let->name = key->text;
        let->text = hn_need_format(&reader->config->blocks, "(%s)", hn_expression_text(expression));
    }
    hn_expression_destroy(expression);
}

static void read_let(struct hn_reader *reader)
{
    const struct hn_yaml *node = hn_yaml_get(reader->root, "let");
    const struct hn_yaml *child =
        hn_config_pairs(reader, node, "a mapping of names to expressions");
    if (child == NULL)
        return;
    reader->lets = hn_need_block(&reader->config->blocks, node->count, sizeof *reader->lets);
    /* Names that one of a grid may have, too. */
    char *const more[] = {(char *)hn_clusters_name};
    struct hn_scope scope = hn_config_scope(reader->config, more, 1);
    for (; child != NULL && !hn_failed(reader->err); child = child->next)
        read_one_let(reader, child, &scope);
}

static void read_choice(struct hn_reader *reader, const struct hn_yaml *node,
                        struct hn_bindings *point)
{
    const struct hn_config *config = reader->config;
    const struct hn_config_parameter *parameter = hn_config_find_parameter(config, node->key->text);
    if (parameter == NULL) {
        hn_config_expect_known(reader, node->key, "parameter", node->key->text,
                               (const char *const *)config->plan->parameters,
                               config->plan->parameter_count);
        return;
    }
    struct hn_value value = hn_config_read_value(reader, node);
    if (hn_failed(reader->err))
        return;
    const struct hn_value *listed =
        hn_config_find_value(parameter->values, parameter->count, &value);
    if (listed != NULL) {
        hn_bindings_set(point, parameter->name, listed, reader->err);
        return;
    }
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    hn_values_append(&text, parameter->values, parameter->count);
    hn_config_fail(reader, node, "found '%s', expected a value of '%s': %s", node->text,
                   parameter->name, text.data == NULL ? "" : text.data);
}

/* A point, maybe partial, without `beside`, which says something of it. */
static void read_point(struct hn_reader *reader, const struct hn_yaml *node,
                       const struct hn_yaml *beside, struct hn_bindings *point)
{
    const struct hn_yaml *child =
        hn_config_pairs(reader, node, "a mapping of parameters to values");
    for (; child != NULL && !hn_failed(reader->err); child = child->next)
        if (child != beside)
            read_choice(reader, child, point);
}

/* A point, or a list of points with conditions, of which the last has none. */
static void read_defaults(struct hn_reader *reader, const struct hn_yaml *node)
{
    struct hn_plan *plan = reader->plan;
    if (node == NULL || node->kind != HN_YAML_SEQUENCE) {
        read_point(reader, node, NULL, &reader->config->defaults);
        return;
    }
    plan->other_defaults = hn_need(node->count, sizeof *plan->other_defaults);
    const struct hn_yaml *item = node->child;
    for (; item != NULL && !hn_failed(reader->err); item = item->next) {
        const struct hn_yaml *condition = hn_yaml_get(item, "if");
        struct hn_bindings *point = &reader->config->defaults;
        if (item->next != NULL) {
            struct hn_default *other = &plan->other_defaults[plan->other_default_count++];
            point = &other->point;
            hn_config_read_expression(reader, condition, &other->condition);
        }
        if (item->next != NULL && condition == NULL)
            hn_config_fail(reader, item,
                           "expected 'if' here: of several default points only the last is for all "
                           "problems of which no condition holds");
        if (item->next == NULL && condition != NULL)
            hn_config_fail(reader, condition->key,
                           "the last of several default points is for all other problems; put one "
                           "without 'if' behind it");
        read_point(reader, item, condition, point);
    }
}

static void read_ladder(struct hn_reader *reader, const struct hn_yaml *node,
                        struct hn_bindings **ladder, size_t *count)
{
    const struct hn_yaml *item = hn_config_list(reader, node, "a list of points");
    *ladder = hn_need(hn_config_count(node), sizeof **ladder);
    for (; item != NULL && !hn_failed(reader->err); item = item->next) {
        struct hn_bindings *point = &(*ladder)[(*count)++];
        read_point(reader, item, NULL, point);
    }
}

/* A config that names a limit of the device has it as one more problem value: results are of that
 * value, too, and whoever reads them need not know where it came from. */

/* For who wants nothing that depends on the device: those of an H200. */
static const int64_t nominal[HN_DEVICE_LIMITS] = {132, 1024, 232448, 52428800};

/* That of the device that the reader reads for; that of an H200 where it is not known, and why. */
static int64_t find_limit(struct hn_reader *reader, size_t limit, struct hn_error *reason)
{
    const struct hn_config_for *use = reader->use;
    if (use == NULL)
        return nominal[limit];
    const struct hn_value *given = hn_bindings_get(use->problem, hn_device_limit_names[limit]);
    if (given == NULL && reader->device.identity.capability == 0 && use->find_device != NULL &&
        use->find_device(use->context, &reader->device, reason) != HN_OK)
        reader->device = (struct hn_device){0};
    int64_t found = given == NULL               ? hn_device_limit(&reader->device, limit)
                    : given->type == HN_INTEGER ? given->integer
                                                : 0;
    if (found > 0)
        return found;
    if (!hn_failed(reason))
        hn_fail(reason, HN_ENOTFOUND, "%s", "");
    return nominal[limit];
}

/* Limits that it names, as problem values. `prior` changes nothing of what is measured, so that
 * those that it alone names are none, and may be unknown. */
static void read_device(struct hn_reader *reader)
{
    static const char *const users[] = {"parameters", "let",     "constraints", "promising",
                                        "arguments",  "launch",  "pipeline",    "compile",
                                        "reference",  "compare", "metrics"};
    struct hn_config *config = reader->config;
    for (size_t i = 0; i < HN_DEVICE_LIMITS && !hn_failed(reader->err); i++) {
        const char *name = hn_device_limit_names[i];
        struct hn_error reason = {0};
        const struct hn_yaml *node = NULL;
        for (size_t k = 0; node == NULL && k < sizeof users / sizeof *users; k++)
            node = find_scalar(hn_yaml_get(reader->root, users[k]), name, true);
        if (hn_yaml_get(hn_yaml_get(reader->root, "parameters"), name) != NULL ||
            hn_yaml_get(hn_yaml_get(reader->root, "let"), name) != NULL ||
            hn_bindings_get(&config->problems[0], name) != NULL ||
            (node == NULL && find_scalar(hn_yaml_get(reader->root, "prior"), name, true) == NULL))
            continue;
        const struct hn_value value = hn_integer(find_limit(reader, i, &reason));
        if (node == NULL) {
            hn_bindings_set(&config->prior_limits, name, &value, reader->err);
            continue;
        }
        if (hn_failed(&reason))
            hn_config_fail(reader, node,
                           "'%s' is the device's, which is not known here%s%s; give it by -p "
                           "%s=%lld, which is what an H200 has",
                           name, reason.message[0] == '\0' ? "" : ": ", reason.message, name,
                           (long long)value.integer);
        for (size_t p = 0; p < config->problem_count && !hn_failed(reader->err); p++)
            hn_bindings_set(&config->problems[p], name, &value, reader->err);
        config->plan->problem[config->plan->problem_count++] = hn_need_copy(name);
    }
}

void hn_config_read_space(struct hn_reader *reader)
{
    struct hn_config *config = reader->config;
    hn_config_read_word(reader, hn_config_need(reader, reader->root, "kernel"),
                        "a name ([A-Za-z_][A-Za-z0-9_]*)", &reader->plan->kernel);
    hn_config_read_family(reader);
    read_problem(reader);
    read_device(reader);
    read_parameters(reader);
    move_types(reader);
    collect_names(reader);
    list_words(reader);
    check_words(reader);
    read_let(reader);
    read_constraints(reader);
    hn_config_read_computed(reader);
    struct hn_family *family = config->family;
    read_defaults(reader, hn_yaml_get(reader->root, "defaults"));
    if (family != NULL) {
        const struct hn_yaml *node = hn_yaml_get(reader->root, "family");
        read_point(reader, hn_yaml_get(node, "defaults"), NULL, &family->defaults);
        read_ladder(reader, hn_yaml_get(node, "ladder"), &family->ladder, &family->ladder_count);
    }
    read_ladder(reader, hn_yaml_get(reader->root, "ladder"), &config->ladder,
                &config->ladder_count);
    _Static_assert(HN_LOOK_AHEAD_MOST == 4096, "as the message says");
    hn_config_read_whole(reader, hn_yaml_get(reader->root, "look_ahead"), 1, HN_LOOK_AHEAD_MOST,
                         "a whole number from 1 to 4096", &config->look_ahead);
}
