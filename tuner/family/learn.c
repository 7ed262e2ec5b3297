/* SPDX-License-Identifier: MIT */
#include "tuner/family/learn.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* The share of the mean time that one more configuration has to save. */
static const double least_gain = 0.0005;
/* Enough to tell which points go together well. */
enum { SAMPLES_OF_ALL = 4000 };

static void pick(struct hn_learning *learning)
{
    const struct hn_forecast *forecast = &learning->all.forecast;
    size_t points = learning->all.matrix->point_count, samples = forecast->places.count;
    size_t most = learning->kernel->family->configurations;
    double *costs = hn_need(points * samples, sizeof *costs);
    hn_learning_costs(learning, &learning->all, costs);
    const struct hn_costs_table table = {points, samples, costs, forecast->weights};
    learning->count = hn_pick(&table, most < HN_MATRIX_POINTS ? most : HN_MATRIX_POINTS, least_gain,
                              learning->learnt->picked);
    free(costs);
}

/* By what they cost, and the default point where they can not be used: so what serves few problems
 * comes late. The default point is last, since it serves all. */
static void order_fallback(struct hn_learning *learning)
{
    struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_forecast *forecast = &learning->picked.forecast;
    size_t samples = forecast->places.count, count = learning->count;
    double *sums = hn_need(count, sizeof *sums);
    rule->fallback = hn_need(count, sizeof *rule->fallback);
    for (size_t c = 0; c < count; c++)
        for (size_t s = 0; s < samples; s++) {
            double own = learning->costs[c * samples + s], instead = learning->costs[s];
            double cost = !isinf(own) ? own : isinf(instead) ? 0 : instead;
            sums[c] += forecast->weights[s] * cost;
        }
    sums[0] = INFINITY;
    for (size_t c = 0; c < count; c++) {
        size_t place = c;
        for (; place > 0 && sums[c] < sums[rule->fallback[place - 1]]; place--)
            rule->fallback[place] = rule->fallback[place - 1];
        rule->fallback[place] = (int)c;
    }
    rule->fallback_count = count;
    free(sums);
}

/* The questions that a rule may ask of a problem: each size and what 2 and 4 leave of it, products
 * and quotients of two, the product of all, which value of a list it has, and how many blocks a
 * configuration has for it. */

/* The range or the words of a value. */
static void set_value(const struct hn_family *family, const char *name,
                      const struct hn_value *example, struct hn_rule_value *value)
{
    const struct hn_family_value *own = NULL;
    for (size_t i = 0; i < family->value_count; i++)
        if (strcmp(family->values[i].name, name) == 0)
            own = &family->values[i];
    value->name = hn_need_copy(name);
    if (own != NULL && own->kind == HN_FAMILY_RANGE) {
        value->low = (double)own->low;
        value->high = (double)own->high;
        return;
    }
    size_t count = own != NULL ? own->count : 1;
    const struct hn_value *values = own != NULL ? own->values : example;
    if (values[0].type == HN_WORD) {
        value->words = hn_need(count, sizeof *value->words);
        for (; value->word_count < count; value->word_count++)
            value->words[value->word_count] = hn_word(hn_need_copy(values[value->word_count].word));
        return;
    }
    value->low = value->high = hn_value_number(&values[0]);
    for (size_t i = 1; i < count; i++) {
        double number = hn_value_number(&values[i]);
        value->low = number < value->low ? number : value->low;
        value->high = number > value->high ? number : value->high;
    }
}

/* Whether an expression can be asked of any problem that the rule is for. */
static bool can_ask(const struct hn_rule *rule, const char *text)
{
    struct hn_error ignored;
    struct hn_rule_feature feature = {.text = (char *)text};
    struct hn_rule_node leaf = {.feature = -1};
    struct hn_bindings none;
    int fallback = 0;
    hn_bindings_init(&none);
    struct hn_rule alone = {
        .values = rule->values,
        .value_count = rule->value_count,
        .features = &feature,
        .feature_count = 1,
        .nodes = &leaf,
        .node_count = 1,
        .configurations = &none,
        .configuration_count = 1,
        .fallback = &fallback,
        .fallback_count = 1,
    };
    bool can = hn_rule_complete(&alone, &ignored) == HN_OK;
    hn_expression_destroy(feature.expression);
    return can;
}

/* Adds a question, unless it is there or can not be asked. */
__attribute__((format(printf, 2, 3))) static void add(struct hn_rule *rule, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    hn_needed(length < 0 ? NULL : text);
    bool is_new = rule->feature_count < HN_RULE_FEATURES_MOST;
    for (size_t i = 0; is_new && i < rule->feature_count; i++)
        is_new = strcmp(rule->features[i].text, text) != 0;
    if (!is_new || !can_ask(rule, text)) {
        free(text);
        return;
    }
    rule->features = hn_need_more(rule->features, rule->feature_count + 1, sizeof *rule->features);
    rule->features[rule->feature_count++] = (struct hn_rule_feature){.text = text};
}

static void add_sizes(const struct hn_family *family, struct hn_rule *rule)
{
    struct hn_text all = {0};
    size_t sizes = 0;
    for (size_t i = 0; i < family->value_count; i++) {
        const struct hn_family_value *value = &family->values[i];
        const char *name = value->name;
        for (size_t k = 0; value->kind == HN_FAMILY_LIST && value->count > 1 && k < value->count;
             k++) {
            struct hn_text text = {0};
            hn_value_append(&text, &value->values[k]);
            add(rule, "%s == %s", name, text.data);
            hn_text_finish(&text);
        }
        if (value->kind == HN_FAMILY_LIST)
            continue;
        hn_text_printf(&all, "%s%s", sizes++ > 0 ? " * " : "", name);
        add(rule, "%s", name);
        for (int power = 2; power <= 4; power *= 2)
            add(rule, "%s %% %d", name, power);
        for (size_t k = 0; k < i; k++) {
            const char *other = family->values[k].name;
            if (family->values[k].kind != HN_FAMILY_RANGE)
                continue;
            add(rule, "%s * %s", other, name);
            add(rule, "%s // %s", other, name);
            add(rule, "%s // %s", name, other);
        }
    }
    if (sizes > 2)
        add(rule, "%s", all.data);
    hn_text_finish(&all);
}

/* The text of an expression with a point's values in the place of its parameters. */
static char *write_with(const char *expression, const struct hn_bindings *point)
{
    struct hn_text text;
    hn_text_init(&text);
    while (*expression != '\0') {
        char name[64];
        size_t length = 0;
        while (hn_is_word_char(expression[length]))
            length++;
        snprintf(name, sizeof name, "%.*s", (int)length, expression);
        const struct hn_value *value =
            length > 0 && length < sizeof name ? hn_bindings_get(point, name) : NULL;
        length += length == 0;
        if (value != NULL)
            hn_value_append(&text, value);
        else
            hn_text_printf(&text, "%.*s", (int)length, expression);
        expression += length;
    }
    return hn_needed(hn_text_take(&text));
}

/* How many blocks a configuration has along each side of its grid: where waves of blocks end, its
 * times jump. A side that has conditions is no question that somebody could read. */
static void add_grids(const struct hn_plan *plan, struct hn_rule *rule)
{
    for (size_t c = 0; c < rule->configuration_count; c++)
        for (size_t k = 0; k < 3 * plan->step_count; k++) {
            const struct hn_expression *side = plan->steps[k / 3].geometry.grid[k % 3];
            if (side == NULL || hn_expression_slots(side) == 0 ||
                strstr(hn_expression_text(side), " if ") != NULL)
                continue;
            char *text = write_with(hn_expression_text(side), &rule->configurations[c]);
            add(rule, "%s", text);
            free(text);
        }
}

/* Features of all samples, then of all sizes. */
static void evaluate_features(struct hn_learning *learning, struct hn_error *err)
{
    const struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_places *samples = &learning->picked.forecast.places;
    const struct hn_places *sizes = &learning->picked.sizes;
    size_t all = samples->count + sizes->count;
    int64_t own[HN_RULE_FEATURES_MOST];
    bool inside;
    learning->features = hn_need(rule->feature_count * all, sizeof *learning->features);
    int64_t *of_sizes = learning->features + rule->feature_count * samples->count;
    for (size_t i = 0; i < all && !hn_failed(err); i++) {
        bool is_sample = i < samples->count;
        size_t place = is_sample ? i : i - samples->count;
        const struct hn_places *places = is_sample ? samples : sizes;
        if (!hn_rule_evaluate(rule, &places->problems[place], own, &inside))
            hn_fail(err, HN_ECONFIG, "the problems of the family have different names");
        for (size_t f = 0; f < rule->feature_count && !hn_failed(err); f++)
            (is_sample ? learning->features : of_sizes)[f * places->count + place] = own[f];
    }
}

/* Features that no node asks for are left out. */
static void drop_unused(struct hn_rule *rule)
{
    int *renamed = hn_need(rule->feature_count, sizeof *renamed);
    size_t kept = 0;
    for (size_t n = 0; n < rule->node_count; n++)
        if (rule->nodes[n].feature >= 0)
            renamed[rule->nodes[n].feature] = 1;
    for (size_t f = 0; f < rule->feature_count; f++) {
        struct hn_rule_feature feature = rule->features[f];
        if (renamed[f] == 0) {
            free(feature.text);
            hn_expression_destroy(feature.expression);
            continue;
        }
        renamed[f] = (int)kept;
        rule->features[kept++] = feature;
    }
    rule->feature_count = kept;
    for (size_t n = 0; n < rule->node_count; n++)
        if (rule->nodes[n].feature >= 0)
            rule->nodes[n].feature = renamed[rule->nodes[n].feature];
    free(renamed);
}

/* Looks at the points of a matrix, at so many samples. `like` has the lengths and terms of the
 * models. */
static void look_out(const struct hn_learning *learning, const struct hn_matrix *matrix,
                     size_t samples, const struct hn_models *like, struct hn_outlook *outlook,
                     struct hn_error *err)
{
    const struct hn_family_kernel *kernel = learning->kernel;
    outlook->matrix = matrix;
    hn_places_init(&outlook->sizes, kernel->family, matrix->point_count, matrix->size_count);
    for (size_t s = 0; s < matrix->size_count; s++)
        hn_places_add(&outlook->sizes, &matrix->sizes[s].problem);
    hn_places_see(&outlook->sizes, kernel, matrix);
    outlook->models = hn_models_make(kernel->family, matrix, &outlook->sizes, NULL, like);
    hn_forecast_init(&outlook->forecast, kernel, matrix, learning->options->seed, samples, err);
    hn_forecast_make(&outlook->forecast, outlook->models, matrix, NULL);
}

static void finish_outlook(struct hn_outlook *outlook)
{
    hn_places_finish(&outlook->sizes);
    hn_forecast_finish(&outlook->forecast);
    hn_models_destroy(outlook->models);
}

/* Up to where features can be evaluated: a rule of one leaf. */
static void begin_rule(struct hn_learning *learning, struct hn_error *err)
{
    struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_bindings *example = &learning->picked.sizes.problems[0];
    rule->worst = learning->kernel->family->worst;
    rule->configurations = hn_need(learning->count, sizeof *rule->configurations);
    for (size_t i = 0; i < learning->count; i++)
        rule->configurations[i] =
            hn_need_bindings(&learning->picked.matrix->points[i].values, NULL);
    rule->configuration_count = learning->count;
    rule->nodes = hn_need(1, sizeof *rule->nodes);
    rule->nodes[0] = (struct hn_rule_node){.feature = -1};
    rule->node_count = 1;
    learning->costs =
        hn_need(learning->count * learning->picked.forecast.places.count, sizeof *learning->costs);
    hn_learning_costs(learning, &learning->picked, learning->costs);
    order_fallback(learning);
    rule->values = hn_need(example->count, sizeof *rule->values);
    for (size_t i = 0; i < example->count; i++)
        set_value(learning->kernel->family, example->names[i], &example->values[i],
                  &rule->values[i]);
    rule->value_count = example->count;
    add_sizes(learning->kernel->family, rule);
    add_grids(learning->kernel->plan, rule);
    if (hn_rule_complete(rule, err) == HN_OK)
        evaluate_features(learning, err);
}

/* From what is picked to the rule. */
static void learn(struct hn_learning *learning, struct hn_error *err)
{
    struct hn_rule *rule = &learning->learnt->rule;
    begin_rule(learning, err);
    if (hn_failed(err))
        return;
    hn_learning_predict_loss(learning);
    free(rule->nodes);
    rule->nodes = hn_learning_tree(learning, NULL, &rule->node_count);
    hn_learning_mark_sure(learning);
    hn_learning_find_wanted(learning);
    hn_learning_find_search(learning);
    drop_unused(rule);
    hn_rule_complete(rule, err);
}

enum hn_status hn_learn(const struct hn_family_kernel *kernel, const struct hn_matrix *matrix,
                        const struct hn_learn_options *options, struct hn_learnt *learnt,
                        struct hn_error *err)
{
    struct hn_learning learning = {.kernel = kernel, .options = options, .learnt = learnt};
    struct hn_matrix *picked = NULL;
    size_t some = options->samples < SAMPLES_OF_ALL ? options->samples : SAMPLES_OF_ALL;
    *learnt = (struct hn_learnt){.wanted_count = 0};
    hn_rule_init(&learnt->rule);
    hn_error_init(err);
    look_out(&learning, matrix, some, NULL, &learning.all, err);
    if (!hn_failed(err)) {
        pick(&learning);
        picked = hn_matrix_pick(matrix, learnt->picked, learning.count);
        look_out(&learning, picked, options->samples, learning.all.models, &learning.picked, err);
    }
    if (!hn_failed(err))
        learn(&learning, err);
    finish_outlook(&learning.all);
    finish_outlook(&learning.picked);
    hn_matrix_destroy(picked);
    free(learning.features);
    free(learning.costs);
    if (hn_failed(err))
        hn_learnt_finish(learnt);
    return err->status;
}

void hn_learnt_finish(struct hn_learnt *learnt)
{
    hn_rule_finish(&learnt->rule);
    for (size_t i = 0; i < learnt->wanted_count; i++)
        hn_bindings_finish(&learnt->wanted[i]);
    free(learnt->wanted);
    if (learnt->has_search)
        hn_bindings_finish(&learnt->search);
    *learnt = (struct hn_learnt){.wanted_count = 0};
}
