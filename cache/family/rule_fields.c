/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "cache/family/rule.h"
#include "cache/record/bindings_json.h"

/* Far more than any feature takes, small enough to refuse nonsense. */
enum { FEATURE_BYTES_MOST = 1024 };

static void read_name(struct hn_json_reader *reader, const struct hn_field *field,
                      const json_t *json, void *member)
{
    char *word = NULL;
    hn_json_word(reader, json, "words", &word);
    (void)field;
    *(struct hn_value *)member = hn_word(word);
}

static void build_name(struct hn_builder *object, const struct hn_field *field, const void *member)
{
    hn_build_set(object, field->key, hn_value_to_json(member));
}

static void finish_name(void *member)
{
    free((char *)((struct hn_value *)member)->word);
}

static const struct hn_field_own name_value = {read_name, build_name, finish_name};
static const struct hn_field name_fields[] = {
    {.key = "", .needed = true, .kind = HN_FIELD_OWN, .of = &name_value}};
static const struct hn_structure name_list = {sizeof(struct hn_value), name_fields, 1, NULL, NULL};

static bool is_number(const void *value)
{
    return ((const struct hn_rule_value *)value)->word_count == 0;
}

static const struct hn_field value_fields[] = {
    {.key = "name", .needed = true, .kind = HN_FIELD_WORD, HN_AT(hn_rule_value, name)},
    {.key = "words",
     .most = HN_RULE_WORDS_MOST,
     HN_LIST(hn_rule_value, words, word_count, name_list)},
    {.key = "low",
     .needed = true,
     .when = is_number,
     .kind = HN_FIELD_REAL,
     HN_AT(hn_rule_value, low)},
    {.key = "high",
     .needed = true,
     .when = is_number,
     .kind = HN_FIELD_REAL,
     HN_AT(hn_rule_value, high)},
};
static const struct hn_structure value_structure = HN_STRUCTURE(hn_rule_value, value_fields, NULL);

static void read_feature(struct hn_json_reader *reader, const struct hn_field *field,
                         const json_t *json, void *member)
{
    struct hn_rule_feature *feature = member;
    (void)field;
    if (hn_json_expect(reader, json_string_length(json) <= FEATURE_BYTES_MOST, "features",
                       "a list of short expressions"))
        hn_json_text(reader, json, "features", &feature->text);
}

static void build_feature(struct hn_builder *object, const struct hn_field *field,
                          const void *member)
{
    const struct hn_rule_feature *feature = member;
    hn_build_set(object, field->key, json_string(feature->text));
}

static void finish_feature(void *member)
{
    struct hn_rule_feature *feature = member;
    hn_expression_destroy(feature->expression);
    free(feature->text);
}

static const struct hn_field_own feature_text = {read_feature, build_feature, finish_feature};
static const struct hn_field feature_fields[] = {
    {.key = "", .needed = true, .kind = HN_FIELD_OWN, .of = &feature_text}};
static const struct hn_structure feature_list = {sizeof(struct hn_rule_feature), feature_fields, 1,
                                                 NULL, NULL};

/* Without one it is a leaf. */
static void read_feature_of_node(struct hn_json_reader *reader, const struct hn_field *field,
                                 const json_t *json, void *member)
{
    int *feature = member;
    *feature = -1;
    if (json != NULL)
        hn_json_count(reader, json, field->key, HN_RULE_FEATURES_MOST, feature);
}

static void build_feature_of_node(struct hn_builder *object, const struct hn_field *field,
                                  const void *member)
{
    hn_build_set(object, field->key, json_integer(*(const int *)member));
}

static const struct hn_field_own feature_of_node = {read_feature_of_node, build_feature_of_node,
                                                    NULL};

static void read_threshold(struct hn_json_reader *reader, const struct hn_field *field,
                           const json_t *json, void *member)
{
    if (hn_json_expect(reader, json_is_integer(json), field->key, "an integer"))
        *(int64_t *)member = json_integer_value(json);
}

static void build_threshold(struct hn_builder *object, const struct hn_field *field,
                            const void *member)
{
    hn_build_set(object, field->key, json_integer(*(const int64_t *)member));
}

static const struct hn_field_own threshold = {read_threshold, build_threshold, NULL};

static bool is_leaf(const void *node)
{
    return ((const struct hn_rule_node *)node)->feature < 0;
}

static bool is_inner(const void *node)
{
    return !is_leaf(node);
}

#define OF_NODE(member, condition)                                                                 \
    .key = #member, .needed = true, .when = (condition), HN_AT(hn_rule_node, member)

static const struct hn_field node_fields[] = {
    {.key = "feature",
     .needed = true,
     .told = is_inner,
     HN_OWN(hn_rule_node, feature, feature_of_node)},
    {.kind = HN_FIELD_OWN, .of = &threshold, OF_NODE(threshold, is_inner)},
    {.kind = HN_FIELD_COUNT, OF_NODE(left, is_inner)},
    {.kind = HN_FIELD_COUNT, OF_NODE(right, is_inner)},
    {.kind = HN_FIELD_COUNT, OF_NODE(configuration, is_leaf)},
    {.kind = HN_FIELD_FLAG, OF_NODE(sure, is_leaf)},
};
static const struct hn_structure node_structure = HN_STRUCTURE(hn_rule_node, node_fields, NULL);

static const struct hn_field point_fields[] = {
    {.key = "", .needed = true, .kind = HN_FIELD_OWN, .of = &hn_bindings_field}};
static const struct hn_structure point_list = {sizeof(struct hn_bindings), point_fields, 1, NULL,
                                               NULL};
static const struct hn_field place_fields[] = {{.key = "", .needed = true, .kind = HN_FIELD_COUNT}};
static const struct hn_structure place_list = {sizeof(int), place_fields, 1, NULL, NULL};

static const struct hn_field loss_fields[] = {
    {.key = "mean", .needed = true, .kind = HN_FIELD_REAL, HN_AT(hn_rule_loss, mean)},
    {.key = "worst", .needed = true, .kind = HN_FIELD_REAL, HN_AT(hn_rule_loss, worst)},
    {.key = "sizes", .needed = true, .kind = HN_FIELD_INDEX, HN_AT(hn_rule_loss, sizes)},
};
static const struct hn_structure loss_structure = HN_STRUCTURE(hn_rule_loss, loss_fields, NULL);

static const char *const goals[] = {"mean", "worst"};

static void check_rule(struct hn_json_reader *reader, void *owner)
{
    hn_json_take(reader, hn_rule_complete(owner, reader->err));
}

static const struct hn_field rule_fields[] = {
    {.key = "goal", .needed = true, HN_NAMED_FLAG(hn_rule, worst, goals)},
    {.key = "values",
     .needed = true,
     .most = HN_RULE_VALUES_MOST,
     HN_LIST(hn_rule, values, value_count, value_structure)},
    {.key = "features",
     .needed = true,
     .most = HN_RULE_FEATURES_MOST,
     HN_LIST(hn_rule, features, feature_count, feature_list)},
    {.key = "nodes",
     .needed = true,
     .most = HN_RULE_NODES_MOST,
     HN_LIST(hn_rule, nodes, node_count, node_structure)},
    {.key = "configurations",
     .needed = true,
     .most = HN_RULE_CONFIGURATIONS_MOST,
     HN_LIST(hn_rule, configurations, configuration_count, point_list)},
    {.key = "fallback",
     .needed = true,
     .most = HN_RULE_CONFIGURATIONS_MOST,
     HN_LIST(hn_rule, fallback, fallback_count, place_list)},
    {.key = "predicted", .needed = true, HN_STRUCT(hn_rule, predicted, loss_structure)},
    {.key = "measured", .needed = true, HN_STRUCT(hn_rule, measured, loss_structure)},
};
static const struct hn_structure rule_structure = HN_STRUCTURE(hn_rule, rule_fields, check_rule);

void hn_rule_init(struct hn_rule *rule)
{
    *rule = (struct hn_rule){.values = NULL};
}

void hn_rule_finish(struct hn_rule *rule)
{
    hn_fields_finish(&rule_structure, rule);
    hn_rule_init(rule);
}

json_t *hn_rule_loss_to_json(const struct hn_rule_loss *loss)
{
    return hn_fields_to_json(&loss_structure, loss);
}

json_t *hn_rule_to_json(const struct hn_rule *rule)
{
    return hn_fields_to_json(&rule_structure, rule);
}

enum hn_status hn_rule_from_json(const json_t *json, struct hn_rule *rule, struct hn_error *err)
{
    struct hn_json_reader reader = {"rule", HN_OK, err, NULL};
    hn_fields_read(&reader, &rule_structure, json, rule);
    return reader.status;
}
