/* SPDX-License-Identifier: MIT */
#include "cache/family/rule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_terms.h"
#include "base/memory.h"
#include "cache/record/record.h"

bool hn_rule_value_is_whole(const struct hn_rule_value *value)
{
    return !value->real && value->low == floor(value->low) && value->high == floor(value->high);
}

struct hn_value hn_rule_value_end(const struct hn_rule_value *value, bool high)
{
    double end = high ? value->high : value->low;
    return value->word_count > 0           ? value->words[0]
           : hn_rule_value_is_whole(value) ? hn_integer((int64_t)end)
                                           : hn_real(end);
}

void hn_rule_set_end(const struct hn_rule *rule, bool high, struct hn_bindings *problem,
                     struct hn_error *err)
{
    for (size_t i = 0; i < rule->value_count && !hn_failed(err); i++) {
        const struct hn_value end = hn_rule_value_end(&rule->values[i], high);
        hn_bindings_set(problem, rule->values[i].name, &end, err);
    }
}

/* What is no number is brought to the low end, an unknown word to the first. */
static bool clamp_value(const struct hn_rule_value *value, const struct hn_value *given,
                        struct hn_value *clamped, bool *inside)
{
    if ((given->type == HN_WORD) != (value->word_count > 0))
        return false;
    if (given->type == HN_WORD) {
        bool known = false;
        for (size_t i = 0; i < value->word_count; i++)
            known = known || strcmp(value->words[i].word, given->word) == 0;
        *clamped = known ? *given : value->words[0];
        *inside = *inside && known;
        return true;
    }
    bool whole = given->type != HN_REAL && hn_rule_value_is_whole(value);
    int64_t integer = given->type == HN_BOOLEAN ? given->boolean : given->integer;
    struct hn_value number = whole ? hn_integer(integer) : hn_real(hn_value_number(given));
    struct hn_value low = whole ? hn_integer((int64_t)value->low) : hn_real(value->low);
    struct hn_value high = whole ? hn_integer((int64_t)value->high) : hn_real(value->high);
    bool below = hn_value_compare(&number, &low) < 0 || isnan(hn_value_number(&number));
    bool above = hn_value_compare(&number, &high) > 0;
    *clamped = below ? low : above ? high : number;
    *inside = *inside && !below && !above;
    return true;
}

static bool clamp_problem(const struct hn_rule *rule, const struct hn_bindings *problem,
                          struct hn_value *clamped, bool *inside)
{
    *inside = true;
    if (problem->count != rule->value_count)
        return false;
    for (size_t i = 0; i < problem->count; i++)
        if (strcmp(problem->names[i], rule->values[i].name) != 0 ||
            !clamp_value(&rule->values[i], &problem->values[i], &clamped[i], inside))
            return false;
    return true;
}

static int64_t evaluate_feature(const struct hn_rule_feature *feature,
                                const struct hn_value *clamped)
{
    int64_t result;
    return hn_expression_integer(feature->expression, clamped, &result, NULL) ? result : 0;
}

bool hn_rule_evaluate(const struct hn_rule *rule, const struct hn_bindings *problem,
                      int64_t *features, bool *inside)
{
    struct hn_value clamped[HN_RULE_VALUES_MOST];
    if (!clamp_problem(rule, problem, clamped, inside))
        return false;
    for (size_t i = 0; i < rule->feature_count; i++)
        features[i] = evaluate_feature(&rule->features[i], clamped);
    return true;
}

/* The configuration to compare as the i-th one at a leaf; -1: there are no more, or it is alone. */
static int compared(const struct hn_rule *rule, const struct hn_rule_node *leaf, size_t i)
{
    if (rule->cost == NULL || leaf->among_count == 1 || i >= rule->configuration_count)
        return -1;
    return leaf->among_count == 0 ? (int)i : i < leaf->among_count ? leaf->among[i] : -1;
}

/* The order in which configurations are tried, the least first: the leaf's, and the others by their
 * numbers. Before them come those that are compared: place_of says where, by the logs of values. */
static void begin_order(const struct hn_rule *rule, const struct hn_rule_node *leaf,
                        const struct hn_value *values, double *order, double *logs)
{
    size_t all = rule->configuration_count;
    for (size_t i = 0; i < rule->value_count && rule->cost != NULL; i++)
        logs[i] = values[i].type == HN_WORD ? 0 : log(fmax(1, hn_value_number(&values[i])));
    for (size_t c = 0; c < all; c++)
        order[c] = 1e300 * (double)(c > 0 ? c : all);
    if (rule->cost == NULL || leaf->among_count == 1)
        order[rule->cost == NULL ? leaf->configuration : leaf->among[0]] = 0;
}

/* The logarithm of what it costs, corrected. */
static double place_of(const struct hn_rule *rule, int configuration, double cost,
                       const double *logs)
{
    const double *own = rule->corrections + (size_t)configuration * (rule->value_count + 1);
    double correction = own[0];
    for (size_t v = 0; v < rule->value_count; v++)
        correction += own[1 + v] * logs[v];
    return cost > 0 ? log(cost) + correction : 1e299;
}

int hn_rule_take(const struct hn_rule *rule, double *order)
{
    size_t least = 0;
    double cost = order[0];
    for (size_t c = 1; c < rule->configuration_count; c++) {
        least = order[c] < cost ? c : least;
        cost = order[least];
    }
    order[least] = INFINITY;
    return (int)least;
}

int hn_rule_choose(const struct hn_rule *rule, const struct hn_bindings *problem,
                   bool (*usable)(int configuration, void *context), void *context, bool *sure)
{
    struct hn_value values[HN_RULE_VALUES_MOST + HN_RULE_PARAMETERS_MOST]; /* parameters last */
    double order[HN_RULE_CONFIGURATIONS_MOST], logs[HN_RULE_VALUES_MOST], cost;
    bool inside;
    *sure = false;
    if (!clamp_problem(rule, problem, values, &inside))
        return -1;
    const struct hn_rule_node *leaf = rule->nodes;
    while (leaf->feature >= 0) {
        bool left = evaluate_feature(&rule->features[leaf->feature], values) <= leaf->threshold;
        leaf = &rule->nodes[left ? leaf->left : leaf->right];
    }
    begin_order(rule, leaf, values, order, logs);
    for (int c, i = 0; (c = compared(rule, leaf, (size_t)i)) >= 0; i++) {
        const struct hn_bindings *point = &rule->configurations[c];
        memcpy(values + rule->value_count, point->values, point->count * sizeof *values);
        cost = 0;
        hn_expression_number(rule->cost, values, &cost, NULL);
        order[c] = place_of(rule, c, cost, logs);
    }
    for (size_t i = 0; i < rule->configuration_count; i++) {
        int next = hn_rule_take(rule, order);
        if (usable == NULL || usable(next, context)) {
            *sure = inside && leaf->sure && (i == 0 || rule->cost != NULL);
            return next;
        }
    }
    return -1;
}

struct hn_rule_program {
    const struct hn_rule *rule;
    struct hn_value ends[HN_RULE_VALUES_MOST][2];
    struct hn_domain domains[HN_RULE_VALUES_MOST + HN_RULE_PARAMETERS_MOST];
    struct hn_program program;
    struct rule_term {
        int term;                               /* -1: it cannot be compiled */
        struct hn_program_part part;            /* no instructions: it was not asked for */
    } features[HN_RULE_FEATURES_MOST], costs[]; /* of each configuration */
};

/* A number with a fraction is compiled where there is only one. */
static bool fill_domains(const struct hn_rule *rule, struct hn_value (*ends)[2],
                         struct hn_domain *domains)
{
    bool known = true;
    for (size_t i = 0; known && i < rule->value_count; i++) {
        const struct hn_rule_value *value = &rule->values[i];
        bool whole = hn_rule_value_is_whole(value);
        ends[i][0] = hn_rule_value_end(value, false);
        ends[i][1] = hn_rule_value_end(value, true);
        domains[i] = value->word_count > 0 ? (struct hn_domain){value->words, value->word_count}
                                           : (struct hn_domain){ends[i], whole ? 0 : 1};
        known = value->word_count > 0 || whole || value->low == value->high;
    }
    return known;
}

/* Each has the one value of the configuration. */
static void set_parameters(struct hn_rule_program *made, int configuration)
{
    const struct hn_bindings *point = &made->rule->configurations[configuration];
    for (size_t i = 0; made->rule->cost != NULL && i < point->count; i++)
        made->domains[made->rule->value_count + i] = (struct hn_domain){&point->values[i], 1};
}

struct hn_rule_program *hn_rule_program_make(const struct hn_rule *rule)
{
    struct hn_rule_program *made =
        calloc(1, sizeof *made + rule->configuration_count * sizeof *made->costs);
    if (made == NULL)
        return NULL;
    made->rule = rule;
    size_t parameters = rule->cost == NULL ? 0 : rule->configurations[0].count;
    bool known = fill_domains(rule, made->ends, made->domains);
    set_parameters(made, 0);
    hn_program_init(&made->program, made->domains, known ? rule->value_count + parameters : 0);
    for (size_t i = 0; known && i < rule->feature_count; i++) {
        struct rule_term *feature = &made->features[i];
        feature->term = hn_program_number(&made->program, rule->features[i].expression, true);
        hn_program_want(&made->program, feature->term);
        known = hn_program_compile(&made->program, &feature->part);
    }
    if (known && !made->program.failed)
        return made;
    hn_rule_program_destroy(made);
    return NULL;
}

void hn_rule_program_destroy(struct hn_rule_program *program)
{
    if (program != NULL)
        hn_program_finish(&program->program);
    free(program);
}

static const struct rule_term *make_cost(struct hn_rule_program *made, int configuration)
{
    struct rule_term *cost = &made->costs[configuration];
    if (cost->term < 0 || cost->part.instructions != NULL)
        return cost;
    set_parameters(made, configuration);
    cost->term = hn_program_real(&made->program, made->rule->cost);
    if (cost->term >= 0) {
        hn_program_want(&made->program, cost->term);
        cost->term = hn_program_compile(&made->program, &cost->part) ? cost->term : -1;
    }
    return cost;
}

/* Whether it is one of those that the rule was learnt for; it is set then. */
static bool set_value(struct hn_rule_program *made, size_t place, const struct hn_value *given)
{
    const struct hn_rule_value *value = &made->rule->values[place];
    if (value->word_count == 0 && !hn_rule_value_is_whole(value))
        return given->type == HN_REAL && given->real == value->low;
    if (value->word_count == 0) {
        if (given->type != HN_INTEGER || given->integer < (int64_t)value->low ||
            given->integer > (int64_t)value->high)
            return false;
        hn_program_set(&made->program, place, given->integer);
        return true;
    }
    size_t word = 0;
    while (given->type == HN_WORD && word < value->word_count &&
           strcmp(value->words[word].word, given->word) != 0)
        word++;
    hn_program_set(&made->program, place, (int64_t)word);
    return given->type == HN_WORD && word < value->word_count;
}

const struct hn_rule_node *hn_rule_program_find(struct hn_rule_program *made,
                                                const struct hn_bindings *problem, double *order)
{
    const struct hn_rule *rule = made->rule;
    double logs[HN_RULE_VALUES_MOST];
    bool inside = problem->count == rule->value_count;
    for (size_t i = 0; inside && i < problem->count; i++)
        inside = strcmp(problem->names[i], rule->values[i].name) == 0 &&
                 set_value(made, i, &problem->values[i]);
    if (!inside)
        return NULL;
    const struct hn_rule_node *node = rule->nodes;
    while (node->feature >= 0) {
        const struct rule_term *feature = &made->features[node->feature];
        hn_program_run(&made->program, &feature->part);
        bool left = hn_program_result(&made->program, feature->term) <= node->threshold;
        node = &rule->nodes[left ? node->left : node->right];
    }
    begin_order(rule, node, problem->values, order, logs);
    for (int c, i = 0; (c = compared(rule, node, (size_t)i)) >= 0; i++) {
        const struct rule_term *cost = make_cost(made, c);
        if (cost->term < 0)
            return NULL;
        hn_program_run(&made->program, &cost->part);
        order[c] = place_of(rule, c, made->program.cells[cost->term].real, logs);
    }
    return node;
}

bool hn_rule_program_append_cost(struct hn_rule_program *made, size_t configuration,
                                 const struct hn_c_slot *slots, const char *prefix,
                                 struct hn_text *text)
{
    const struct rule_term *cost = make_cost(made, (int)configuration);
    return cost->term >= 0 &&
           hn_program_append_c(&made->program, cost->term, slots, prefix, "cost", text);
}

void hn_rule_append_values(struct hn_text *text, const struct hn_rule *rule)
{
    for (size_t i = 0; i < rule->value_count; i++) {
        const struct hn_rule_value *value = &rule->values[i];
        hn_text_printf(text, "%s%s", i > 0 ? ", " : "", value->name);
        if (value->word_count == 0)
            hn_text_printf(text, " %.15g", value->low);
        if (value->word_count == 0 && value->high > value->low)
            hn_text_printf(text, " to %.15g", value->high);
        for (size_t j = 0; j < value->word_count; j++)
            hn_text_printf(text, "%s%s", j == 0 ? " " : " or ", value->words[j].word);
    }
}

void hn_rule_append_parts(struct hn_text *text, const struct hn_rule_parts *parts)
{
    if (parts->choice.sizes > 0)
        hn_text_printf(text,
                       "choice %.1f%%, %.1f%% at worst; coverage %.1f%%, %.1f%%; freezing %.1f%%, "
                       "%.1f%%",
                       100 * parts->choice.mean, 100 * parts->choice.worst,
                       100 * parts->coverage.mean, 100 * parts->coverage.worst,
                       100 * parts->freezing.mean, 100 * parts->freezing.worst);
}

void hn_rule_append_loss(struct hn_text *text, const struct hn_rule *rule)
{
    bool is_measured = rule->measured.sizes > 0;
    const struct hn_rule_loss *loss = is_measured ? &rule->measured : &rule->predicted;
    if (loss->sizes == 0)
        return;
    hn_text_printf(text,
                   "%s %zu size%s not used: %.1f%% slower than tuned for each in the mean, %.1f%% "
                   "at worst",
                   is_measured ? "at" : "predicted for", loss->sizes,
                   loss->sizes == 1 ? " that was" : "s that were", 100 * loss->mean,
                   100 * loss->worst);
    if (!is_measured || rule->parts.choice.sizes == 0)
        return;
    hn_text_append(text, " (");
    hn_rule_append_parts(text, &rule->parts);
    hn_text_append(text, ")");
}

/* What a rule is checked for, whoever made it, and its JSON. */

/* Beyond this a double does not tell integers apart. */
static const double WHOLE_MOST = 0x1p53;

/* Corners of a feature of more values than this: only the all-low and the all-high ones. */
enum { CORNER_VALUES_MOST = 10 };

/* Far more than any feature or cost takes, small enough to refuse nonsense. */
enum { FEATURE_BYTES_MOST = 1024, COST_BYTES_MOST = 65536 };

static void check_value(const struct hn_rule *rule, size_t place, struct hn_error *err)
{
    const struct hn_rule_value *value = &rule->values[place];
    bool are_words = true;
    for (size_t i = 0; i < value->word_count && i < HN_RULE_WORDS_MOST; i++)
        are_words =
            are_words && value->words[i].type == HN_WORD && hn_text_is_word(value->words[i].word);
    if (value->name == NULL || !hn_text_is_word(value->name))
        hn_fail(err, HN_ECONFIG, "rule: value %zu has no name that is a word", place);
    else if (place > 0 && strcmp(rule->values[place - 1].name, value->name) >= 0)
        hn_fail(err, HN_ECONFIG, "rule: value '%s' stands behind '%s', expected them by name",
                value->name, rule->values[place - 1].name);
    else if (value->word_count > HN_RULE_WORDS_MOST)
        hn_fail(err, HN_ECONFIG, "rule: value '%s' has %zu words, expected at most %d", value->name,
                value->word_count, HN_RULE_WORDS_MOST);
    else if (!are_words)
        hn_fail(err, HN_ECONFIG, "rule: value '%s' has something among its words that is none",
                value->name);
    else if (value->word_count == 0 &&
             !(value->low <= value->high && fabs(value->low) <= WHOLE_MOST &&
               fabs(value->high) <= WHOLE_MOST))
        hn_fail(err, HN_ECONFIG,
                "rule: value '%s' is from %g to %g, expected low and high within 2^53", value->name,
                value->low, value->high);
}

static void check_counts(const struct hn_rule *rule, struct hn_error *err)
{
    bool costs = rule->cost != NULL && rule->configuration_count > 0;
    size_t corrections = costs ? rule->configuration_count * (rule->value_count + 1) : 0;
    size_t parameters = costs ? rule->configurations[0].count : 0;
    const struct {
        const char *what;
        size_t count, least, most;
    } counts[] = {
        {"values", rule->value_count, 1, HN_RULE_VALUES_MOST},
        {"features", rule->feature_count, 0, HN_RULE_FEATURES_MOST},
        {"nodes", rule->node_count, 1, HN_RULE_NODES_MOST},
        {"configurations", rule->configuration_count, 1, HN_RULE_CONFIGURATIONS_MOST},
        {"corrections of costs", rule->correction_count, corrections, corrections},
        {"parameters", parameters, 0, HN_RULE_PARAMETERS_MOST},
    };
    for (size_t i = 0; !hn_failed(err) && i < sizeof counts / sizeof *counts; i++)
        if (counts[i].count < counts[i].least || counts[i].count > counts[i].most)
            hn_fail(err, HN_ECONFIG, "rule: it has %zu %s, expected %zu to %zu", counts[i].count,
                    counts[i].what, counts[i].least, counts[i].most);
}

static bool is_below(int64_t index, size_t count)
{
    return index >= 0 && (uint64_t)index < count;
}

/* Counts the parents of a child. */
static void take_child(const struct hn_rule *rule, size_t parent, int32_t child,
                       unsigned char *parents, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    if (child <= (int64_t)parent || !is_below(child, rule->node_count))
        hn_fail(err, HN_ECONFIG,
                "rule: node %zu has child %d, expected one behind it, of %zu nodes", parent,
                (int)child, rule->node_count);
    else if (parents[child]++ > 0)
        hn_fail(err, HN_ECONFIG, "rule: node %d has two parents, expected a tree", (int)child);
}

static void check_tree(const struct hn_rule *rule, struct hn_error *err)
{
    unsigned char parents[HN_RULE_NODES_MOST] = {0};
    const size_t all = rule->configuration_count;
    for (size_t i = 0; !hn_failed(err) && i < rule->node_count; i++) {
        const struct hn_rule_node *node = &rule->nodes[i];
        if (i > 0 && parents[i] == 0) {
            hn_fail(err, HN_ECONFIG, "rule: node %zu has no parent, expected a tree", i);
        } else if (node->feature < 0) {
            int named = node->configuration;
            for (size_t k = 0; k < node->among_count && is_below(named, all); k++)
                named = k < all ? node->among[k] : (int)all;
            if (!is_below(named, all))
                hn_fail(err, HN_ECONFIG,
                        "rule: node %zu names configuration %d, expected one of %zu", i, named,
                        all);
        } else if (!is_below(node->feature, rule->feature_count)) {
            hn_fail(err, HN_ECONFIG, "rule: node %zu names feature %d, expected one of %zu", i,
                    node->feature, rule->feature_count);
        } else {
            take_child(rule, i, node->left, parents, err);
            take_child(rule, i, node->right, parents, err);
        }
    }
}

static void check_loss(const char *what, const struct hn_rule_loss *loss, struct hn_error *err)
{
    if (!hn_failed(err) &&
        !(isfinite(loss->mean) && loss->mean >= -1 && isfinite(loss->worst) && loss->worst >= -1))
        hn_fail(err, HN_ECONFIG,
                "rule: the %s loss is %g in the mean, %g at worst, expected shares above -1", what,
                loss->mean, loss->worst);
}

/* Products and quotients of sizes are largest and smallest at the corners, so that what has a value
 * there has one between them. A corner is of each value its low end or its high one, by its bits;
 * words have one. */
static void check_corners(const struct hn_rule *rule, const struct hn_rule_feature *feature,
                          struct hn_error *err)
{
    struct hn_value values[HN_RULE_VALUES_MOST];
    size_t used[HN_RULE_VALUES_MOST], used_count = 0;
    for (size_t i = 0; i < rule->value_count; i++)
        if (hn_expression_uses(feature->expression, i))
            used[used_count++] = i;
    size_t corners = (size_t)1 << used_count;
    size_t step = used_count > CORNER_VALUES_MOST ? corners - 1 : 1;
    for (size_t corner = 0; !hn_failed(err) && corner < corners; corner += step) {
        int64_t ignored;
        struct hn_error reason = {0};
        for (size_t i = 0; i < used_count; i++)
            values[used[i]] = hn_rule_value_end(&rule->values[used[i]], (corner >> i & 1) != 0);
        if (!hn_expression_integer(feature->expression, values, &ignored, &reason))
            hn_fail(err, HN_ECONFIG, "rule: feature '%.200s' has no value: %.1000s", feature->text,
                    reason.message);
    }
}

static void complete_feature(const struct hn_rule *rule, const struct hn_scope *scope,
                             struct hn_rule_feature *feature, struct hn_error *err)
{
    struct hn_error reason = {0};
    enum hn_status status = HN_OK;
    if (feature->text == NULL || strlen(feature->text) > FEATURE_BYTES_MOST) {
        hn_fail(err, HN_ECONFIG, "rule: 'features' is not a list of short expressions");
        return;
    }
    if (feature->expression == NULL)
        status = hn_expression_parse(feature->text, &feature->expression, &reason);
    if (status == HN_OK)
        status = hn_expression_bind(feature->expression, scope, &reason);
    if (status == HN_ECONFIG)
        hn_fail(err, status, "rule: feature '%.200s': %.1000s", feature->text, reason.message);
    else if (status != HN_OK)
        hn_fail_memory(err);
    else
        check_corners(rule, feature, err);
}

static void complete_cost(struct hn_rule *rule, const char **names, struct hn_error *err)
{
    struct hn_error reason = {0};
    const struct hn_bindings *first = &rule->configurations[0];
    if (hn_failed(err) || rule->cost == NULL)
        return;
    for (size_t c = 0; c < rule->configuration_count && !hn_failed(err); c++) {
        const struct hn_bindings *point = &rule->configurations[c];
        bool same = point->count == first->count;
        for (size_t i = 0; same && i < point->count; i++)
            same = strcmp(point->names[i], first->names[i]) == 0;
        if (!same)
            hn_fail(err, HN_ECONFIG, "rule: configuration %zu has other parameters than the first",
                    c);
    }
    for (size_t i = 0; i < rule->correction_count && !hn_failed(err); i++)
        if (!isfinite(rule->corrections[i]))
            hn_fail(err, HN_ECONFIG, "rule: correction %zu is %g, expected a number", i,
                    rule->corrections[i]);
    if (hn_failed(err))
        return;
    for (size_t i = 0; i < first->count; i++)
        names[rule->value_count + i] = first->names[i];
    const struct hn_scope scope = {names, rule->value_count + first->count, NULL, HN_ANY_WORD};
    if (strlen(hn_expression_text(rule->cost)) > COST_BYTES_MOST)
        hn_fail(err, HN_ECONFIG, "rule: its cost is no expression of at most %d bytes",
                COST_BYTES_MOST);
    else if (hn_expression_bind(rule->cost, &scope, &reason) != HN_OK)
        hn_fail(err, HN_ECONFIG, "rule: its cost: %.1000s", reason.message);
}

static void complete_expressions(struct hn_rule *rule, struct hn_error *err)
{
    const char *names[HN_RULE_VALUES_MOST + HN_RULE_PARAMETERS_MOST];
    size_t word_count = 0;
    const char **words HN_FREED =
        hn_allocate(rule->value_count * HN_RULE_WORDS_MOST, sizeof *words, err);
    if (words == NULL)
        return;
    for (size_t i = 0; i < rule->value_count; i++) {
        names[i] = rule->values[i].name;
        for (size_t j = 0; j < rule->values[i].word_count; j++)
            words[word_count++] = rule->values[i].words[j].word;
    }
    const struct hn_scope scope = {names, rule->value_count, words, word_count};
    for (size_t i = 0; !hn_failed(err) && i < rule->feature_count; i++)
        complete_feature(rule, &scope, &rule->features[i], err);
    complete_cost(rule, names, err);
}

enum hn_status hn_rule_complete(struct hn_rule *rule, struct hn_error *err)
{
    hn_error_init(err);
    check_counts(rule, err);
    for (size_t i = 0; !hn_failed(err) && i < rule->value_count; i++)
        check_value(rule, i, err);
    complete_expressions(rule, err);
    check_tree(rule, err);
    check_loss("predicted", &rule->predicted, err);
    check_loss("measured", &rule->measured, err);
    check_loss("choice's", &rule->parts.choice, err);
    check_loss("coverage's", &rule->parts.coverage, err);
    check_loss("freezing's", &rule->parts.freezing, err);
    return err->status;
}

static const struct hn_field word_fields[] = {
    {HN_NEEDED(""), .kind = HN_FIELD_WORD, HN_AT(hn_value, word)}};
static const struct hn_structure word_list = {sizeof(struct hn_value), word_fields, 1, NULL};

static void check_words(struct hn_json_reader *reader, void *owner)
{
    struct hn_rule_value *value = owner;
    (void)reader;
    for (size_t i = 0; i < value->word_count; i++)
        value->words[i].type = HN_WORD;
}

static bool is_number(const void *value)
{
    return ((const struct hn_rule_value *)value)->word_count == 0;
}

static const struct hn_field value_fields[] = {
    {HN_NEEDED("name"), .kind = HN_FIELD_WORD, HN_AT(hn_rule_value, name)},
    {.key = "words",
     .most = HN_RULE_WORDS_MOST,
     HN_LIST(hn_rule_value, words, word_count, word_list)},
    {HN_NEEDED("low"), .when = is_number, .kind = HN_FIELD_REAL, HN_AT(hn_rule_value, low)},
    {HN_NEEDED("high"), .when = is_number, .kind = HN_FIELD_REAL, HN_AT(hn_rule_value, high)},
    {.key = "real", .kind = HN_FIELD_FLAG, HN_AT(hn_rule_value, real)},
};
static const struct hn_structure value_structure =
    HN_STRUCTURE(hn_rule_value, value_fields, check_words);

static const struct hn_field feature_fields[] = {
    {HN_NEEDED(""), .kind = HN_FIELD_TEXT, HN_AT(hn_rule_feature, text)},
    {HN_OWN(hn_rule_feature, expression, hn_expression_field)},
};
static const struct hn_structure feature_list = {sizeof(struct hn_rule_feature), feature_fields, 2,
                                                 NULL};

/* Without children, whose feature is below 0 then. */
static bool is_leaf(const void *node)
{
    return ((const struct hn_rule_node *)node)->left == 0;
}

static bool is_inner(const void *node)
{
    return !is_leaf(node);
}

static const struct hn_field place_fields[] = {{HN_NEEDED(""), .kind = HN_FIELD_COUNT}};
static const struct hn_structure place_list = {sizeof(int), place_fields, 1, NULL};

#define OF_NODE(member, condition)                                                                 \
    HN_NEEDED(#member), .when = (condition), HN_AT(hn_rule_node, member)

static const struct hn_field node_fields[] = {
    {.key = "left", .kind = HN_FIELD_COUNT, HN_AT(hn_rule_node, left)},
    {.kind = HN_FIELD_COUNT, OF_NODE(right, is_inner)},
    {.kind = HN_FIELD_COUNT, .most = HN_RULE_FEATURES_MOST, OF_NODE(feature, is_inner)},
    {.kind = HN_FIELD_INTEGER, OF_NODE(threshold, is_inner)},
    {.kind = HN_FIELD_COUNT, OF_NODE(configuration, is_leaf)},
    {.kind = HN_FIELD_FLAG, OF_NODE(sure, is_leaf)},
    {.key = "among",
     .when = is_leaf,
     .most = HN_RULE_CONFIGURATIONS_MOST,
     HN_LIST(hn_rule_node, among, among_count, place_list)},
};
static void check_node(struct hn_json_reader *reader, void *owner)
{
    struct hn_rule_node *node = owner;
    (void)reader;
    node->feature = is_leaf(node) ? -1 : node->feature;
}

static const struct hn_structure node_structure =
    HN_STRUCTURE(hn_rule_node, node_fields, check_node);

static const struct hn_field point_fields[] = {
    {HN_NEEDED(""), .kind = HN_FIELD_OWN, .of = &hn_bindings_field}};
static const struct hn_structure point_list = {sizeof(struct hn_bindings), point_fields, 1, NULL};
static const struct hn_field number_fields[] = {{HN_NEEDED(""), .kind = HN_FIELD_REAL}};
static const struct hn_structure number_list = {sizeof(double), number_fields, 1, NULL};

static const struct hn_field loss_fields[] = {
    {HN_NEEDED("mean"), .kind = HN_FIELD_REAL, HN_AT(hn_rule_loss, mean)},
    {HN_NEEDED("worst"), .kind = HN_FIELD_REAL, HN_AT(hn_rule_loss, worst)},
    {HN_NEEDED("sizes"), .kind = HN_FIELD_INDEX, HN_AT(hn_rule_loss, sizes)},
};
const struct hn_structure hn_rule_loss_structure = HN_STRUCTURE(hn_rule_loss, loss_fields, NULL);
static const struct hn_field part_fields[] = {
    {HN_NEEDED("choice"), HN_STRUCT(hn_rule_parts, choice, hn_rule_loss_structure)},
    {HN_NEEDED("coverage"), HN_STRUCT(hn_rule_parts, coverage, hn_rule_loss_structure)},
    {HN_NEEDED("freezing"), HN_STRUCT(hn_rule_parts, freezing, hn_rule_loss_structure)},
};
const struct hn_structure hn_rule_parts_structure = HN_STRUCTURE(hn_rule_parts, part_fields, NULL);

static const char *const goals[] = {"mean", "worst"};

static void check_rule(struct hn_json_reader *reader, void *owner)
{
    (void)hn_rule_complete(owner, reader->err);
}

static const struct hn_field rule_fields[] = {
    {HN_NEEDED("goal"), HN_NAMED_FLAG(hn_rule, worst, goals)},
    {HN_NEEDED("values"), .most = HN_RULE_VALUES_MOST,
     HN_LIST(hn_rule, values, value_count, value_structure)},
    {HN_NEEDED("features"), .most = HN_RULE_FEATURES_MOST,
     HN_LIST(hn_rule, features, feature_count, feature_list)},
    {HN_NEEDED("nodes"), .most = HN_RULE_NODES_MOST,
     HN_LIST(hn_rule, nodes, node_count, node_structure)},
    {HN_NEEDED("configurations"), .most = HN_RULE_CONFIGURATIONS_MOST,
     HN_LIST(hn_rule, configurations, configuration_count, point_list)},
    {.key = "cost", HN_OWN(hn_rule, cost, hn_expression_field)},
    {.key = "corrections",
     .most = HN_RULE_CONFIGURATIONS_MOST * (HN_RULE_VALUES_MOST + 1),
     HN_LIST(hn_rule, corrections, correction_count, number_list)},
    {HN_NEEDED("predicted"), HN_STRUCT(hn_rule, predicted, hn_rule_loss_structure)},
    {HN_NEEDED("measured"), HN_STRUCT(hn_rule, measured, hn_rule_loss_structure)},
    {.key = "bytes", .kind = HN_FIELD_INDEX, HN_AT(hn_rule, bytes)},
    /* Rules that were learnt before the loss was told apart have none. */
    {.key = "parts", HN_STRUCT(hn_rule, parts, hn_rule_parts_structure)},
};
const struct hn_structure hn_rule_structure = HN_STRUCTURE(hn_rule, rule_fields, check_rule);

void hn_rule_finish(struct hn_rule *rule)
{
    hn_fields_finish(&hn_rule_structure, rule);
    *rule = (struct hn_rule){0};
}
