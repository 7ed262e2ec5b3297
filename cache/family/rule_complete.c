/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cache/family/rule.h"

/* Beyond this a double does not tell integers apart. */
static const double WHOLE_MOST = 0x1p53;

/* Corners of a feature of more values than this: only the all-low and the all-high ones. */
enum { CORNER_VALUES_MOST = 10 };

static enum hn_status check_value(const struct hn_rule *rule, size_t place, struct hn_error *err)
{
    const struct hn_rule_value *value = &rule->values[place];
    if (value->name == NULL || !hn_text_is_word(value->name))
        return hn_fail(err, HN_ECONFIG, "rule: value %zu has no name that is a word", place);
    if (place > 0 && strcmp(rule->values[place - 1].name, value->name) >= 0)
        return hn_fail(err, HN_ECONFIG,
                       "rule: value '%s' stands behind '%s', expected them by name", value->name,
                       rule->values[place - 1].name);
    if (value->word_count > HN_RULE_WORDS_MOST)
        return hn_fail(err, HN_ECONFIG, "rule: value '%s' has %zu words, expected at most %d",
                       value->name, value->word_count, HN_RULE_WORDS_MOST);
    for (size_t i = 0; i < value->word_count; i++)
        if (value->words[i].type != HN_WORD || !hn_text_is_word(value->words[i].word))
            return hn_fail(err, HN_ECONFIG,
                           "rule: value '%s' has something among its words that "
                           "is none",
                           value->name);
    if (value->word_count == 0 && !(value->low <= value->high && fabs(value->low) <= WHOLE_MOST &&
                                    fabs(value->high) <= WHOLE_MOST))
        return hn_fail(err, HN_ECONFIG,
                       "rule: value '%s' is from %g to %g, expected low and high within 2^53",
                       value->name, value->low, value->high);
    return HN_OK;
}

static enum hn_status check_count(const char *what, size_t count, size_t least, size_t most,
                                  struct hn_error *err)
{
    return count >= least && count <= most
               ? HN_OK
               : hn_fail(err, HN_ECONFIG, "rule: it has %zu %s, expected %zu to %zu", count, what,
                         least, most);
}

static enum hn_status check_counts(const struct hn_rule *rule, struct hn_error *err)
{
    const struct {
        const char *what;
        size_t count, least, most;
    } counts[] = {
        {"values", rule->value_count, 1, HN_RULE_VALUES_MOST},
        {"features", rule->feature_count, 0, HN_RULE_FEATURES_MOST},
        {"nodes", rule->node_count, 1, HN_RULE_NODES_MOST},
        {"configurations", rule->configuration_count, 1, HN_RULE_CONFIGURATIONS_MOST},
        {"configurations in its fallback", rule->fallback_count, rule->configuration_count,
         rule->configuration_count},
    };
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < sizeof counts / sizeof *counts; i++)
        status = check_count(counts[i].what, counts[i].count, counts[i].least, counts[i].most, err);
    return status;
}

static bool is_below(int64_t index, size_t count)
{
    return index >= 0 && (uint64_t)index < count;
}

/* Counts the parents of a child. */
static enum hn_status take_child(const struct hn_rule *rule, size_t parent, int32_t child,
                                 unsigned char *parents, struct hn_error *err)
{
    if (child <= (int64_t)parent || !is_below(child, rule->node_count))
        return hn_fail(err, HN_ECONFIG,
                       "rule: node %zu has child %d, expected one behind it, of %zu nodes", parent,
                       (int)child, rule->node_count);
    if (parents[child]++ > 0)
        return hn_fail(err, HN_ECONFIG, "rule: node %d has two parents, expected a tree",
                       (int)child);
    return HN_OK;
}

static enum hn_status check_node(const struct hn_rule *rule, size_t place, unsigned char *parents,
                                 struct hn_error *err)
{
    const struct hn_rule_node *node = &rule->nodes[place];
    if (place > 0 && parents[place] == 0)
        return hn_fail(err, HN_ECONFIG, "rule: node %zu has no parent, expected a tree", place);
    if (node->feature < 0)
        return is_below(node->configuration, rule->configuration_count)
                   ? HN_OK
                   : hn_fail(err, HN_ECONFIG,
                             "rule: node %zu names configuration %d, expected one of %zu", place,
                             (int)node->configuration, rule->configuration_count);
    if (!is_below(node->feature, rule->feature_count))
        return hn_fail(err, HN_ECONFIG, "rule: node %zu names feature %d, expected one of %zu",
                       place, node->feature, rule->feature_count);
    enum hn_status status = take_child(rule, place, node->left, parents, err);
    return status == HN_OK ? take_child(rule, place, node->right, parents, err) : status;
}

static enum hn_status check_tree(const struct hn_rule *rule, struct hn_error *err)
{
    unsigned char parents[HN_RULE_NODES_MOST] = {0};
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < rule->node_count; i++)
        status = check_node(rule, i, parents, err);
    return status;
}

static enum hn_status check_fallback(const struct hn_rule *rule, struct hn_error *err)
{
    bool found[HN_RULE_CONFIGURATIONS_MOST] = {false};
    for (size_t i = 0; i < rule->fallback_count; i++) {
        int configuration = rule->fallback[i];
        if (!is_below(configuration, rule->configuration_count) || found[configuration])
            return hn_fail(err, HN_ECONFIG,
                           "rule: its fallback names configuration %d, expected each of %zu once",
                           configuration, rule->configuration_count);
        found[configuration] = true;
    }
    return HN_OK;
}

static bool is_share(double share)
{
    return isfinite(share) && share >= -1;
}

static enum hn_status check_loss(const char *what, const struct hn_rule_loss *loss,
                                 struct hn_error *err)
{
    return is_share(loss->mean) && is_share(loss->worst)
               ? HN_OK
               : hn_fail(err, HN_ECONFIG,
                         "rule: the %s loss is %g in the mean, %g at worst, expected shares above "
                         "-1",
                         what, loss->mean, loss->worst);
}

/* Of each value its low end or its high one, by the bits of the corner; words have one. */
static void place_corner(const struct hn_rule *rule, const size_t *used, size_t used_count,
                         size_t corner, struct hn_value *values)
{
    for (size_t i = 0; i < used_count; i++) {
        const struct hn_rule_value *value = &rule->values[used[i]];
        double end = corner >> i & 1 ? value->high : value->low;
        if (value->word_count > 0)
            values[used[i]] = value->words[0];
        else
            values[used[i]] =
                hn_rule_value_is_whole(value) ? hn_integer((int64_t)end) : hn_real(end);
    }
}

/* Products and quotients of sizes are largest and smallest at the corners, so that what has a value
 * there has one between them. */
static enum hn_status check_corners(const struct hn_rule *rule,
                                    const struct hn_rule_feature *feature, struct hn_error *err)
{
    struct hn_value values[HN_RULE_VALUES_MOST];
    size_t used[HN_RULE_VALUES_MOST];
    size_t used_count = 0;
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < rule->value_count; i++)
        if (hn_expression_uses(feature->expression, i))
            used[used_count++] = i;
    size_t corners = (size_t)1 << used_count;
    size_t step = used_count > CORNER_VALUES_MOST ? corners - 1 : 1;
    for (size_t corner = 0; status == HN_OK && corner < corners; corner += step) {
        int64_t ignored;
        struct hn_error reason;
        place_corner(rule, used, used_count, corner, values);
        if (hn_expression_integer(feature->expression, values, &ignored, &reason) != HN_OK)
            status = hn_fail(err, HN_ECONFIG, "rule: feature '%.200s' has no value: %.1000s",
                             feature->text, reason.message);
    }
    return status;
}

static enum hn_status complete_feature(const struct hn_rule *rule, const struct hn_scope *scope,
                                       struct hn_rule_feature *feature, struct hn_error *err)
{
    struct hn_error reason = {0};
    enum hn_status status = HN_OK;
    if (feature->text == NULL)
        return hn_fail(err, HN_ECONFIG, "rule: a feature has no text");
    if (feature->expression == NULL)
        status = hn_expression_parse(feature->text, &feature->expression, &reason);
    if (status == HN_OK)
        status = hn_expression_bind(feature->expression, scope, &reason);
    if (status == HN_ECONFIG)
        return hn_fail(err, status, "rule: feature '%.200s': %.1000s", feature->text,
                       reason.message);
    return status == HN_OK ? check_corners(rule, feature, err) : hn_fail_memory(err);
}

static size_t count_words(const struct hn_rule *rule)
{
    size_t count = 0;
    for (size_t i = 0; i < rule->value_count; i++)
        count += rule->values[i].word_count;
    return count;
}

static enum hn_status complete_features(struct hn_rule *rule, struct hn_error *err)
{
    const char *names[HN_RULE_VALUES_MOST];
    enum hn_status status = HN_OK;
    size_t word_count = 0;
    const char **words = calloc(count_words(rule) + 1, sizeof *words);
    if (words == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < rule->value_count; i++) {
        names[i] = rule->values[i].name;
        for (size_t j = 0; j < rule->values[i].word_count; j++)
            words[word_count++] = rule->values[i].words[j].word;
    }
    const struct hn_scope scope = {names, rule->value_count, words, word_count};
    for (size_t i = 0; status == HN_OK && i < rule->feature_count; i++)
        status = complete_feature(rule, &scope, &rule->features[i], err);
    free(words);
    return status;
}

enum hn_status hn_rule_complete(struct hn_rule *rule, struct hn_error *err)
{
    enum hn_status status = check_counts(rule, err);
    for (size_t i = 0; status == HN_OK && i < rule->value_count; i++)
        status = check_value(rule, i, err);
    if (status == HN_OK)
        status = complete_features(rule, err);
    if (status == HN_OK)
        status = check_tree(rule, err);
    if (status == HN_OK)
        status = check_fallback(rule, err);
    if (status == HN_OK)
        status = check_loss("predicted", &rule->predicted, err);
    return status == HN_OK ? check_loss("measured", &rule->measured, err) : status;
}
