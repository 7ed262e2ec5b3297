/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/launch_program.h"
#include "tuner/export/export_parts.h"

/* The rule of cache/family/rule.h as C: the same choice, told by the same loss. */

static const struct hn_rule *rule_of(const struct hn_export *export)
{
    return &export->family->stored->rule;
}

/* Deeper than this, branches stand below one another. */
enum { INDENT_MOST = 40 };

struct rule_writer {
    struct hn_export_writer *writer;
    const struct hn_rule *rule;
    struct hn_c_slot slots[HN_RULE_VALUES_MOST];
    char *names[HN_RULE_VALUES_MOST];        /* that the slots borrow */
    char *features[HN_RULE_FEATURES_MOST];   /* as C */
    bool is_truth[HN_RULE_FEATURES_MOST];    /* of a feature: its value is a truth, 0 or 1 */
    unsigned char depth[HN_RULE_NODES_MOST]; /* below a node, at most 255 */
    struct hn_text usable[HN_RULE_CONFIGURATIONS_MOST]; /* as C, for problems inside; "": nobody
                                                           knows, or not all the same */
};

static bool is_real(const struct rule_writer *out, size_t value)
{
    return hn_export_problem_is_real(out->writer->export, out->rule->values[value].name) ||
           !hn_rule_value_is_whole(&out->rule->values[value]);
}

/* "own_M", for numbers, which are brought inside, as for words, which stay as they are. */
static void name_slots(struct rule_writer *out)
{
    for (size_t i = 0; i < out->rule->value_count; i++) {
        const struct hn_rule_value *value = &out->rule->values[i];
        const struct hn_word_list *list = hn_plan_find_words(out->writer->plan, value->name);
        struct hn_text name = {0};
        hn_text_printf(&name, "own_%s", value->name);
        out->names[i] = hn_needed(hn_text_take(&name));
        out->slots[i] = (struct hn_c_slot){
            .name = out->names[i],
            .real = value->word_count == 0 && is_real(out, i),
            .words = list == NULL ? NULL : (const char *const *)list->words,
            .word_count = list == NULL ? 0 : list->count,
        };
    }
}

static bool is_truth(const struct hn_rule *rule, const struct hn_rule_feature *feature)
{
    struct hn_value values[HN_RULE_VALUES_MOST], result;
    for (size_t i = 0; i < rule->value_count; i++)
        values[i] = hn_rule_value_end(&rule->values[i], false);
    return hn_expression_evaluate(feature->expression, values, &result, NULL) == HN_OK &&
           result.type == HN_BOOLEAN;
}

static void write_features(struct rule_writer *out)
{
    struct hn_export_writer *writer = out->writer;
    for (size_t i = 0; i < out->rule->feature_count && !hn_failed(writer->err); i++) {
        const struct hn_rule_feature *feature = &out->rule->features[i];
        struct hn_text text = {0};
        out->is_truth[i] = is_truth(out->rule, feature);
        hn_expression_append_c(feature->expression, out->slots, writer->export->lower, NULL, &text,
                               writer->err);
        out->features[i] = hn_needed(hn_text_take(&text));
    }
}

/* Problems at one end of all that the rule was learnt for. False: their words differ. */
static bool make_end(const struct hn_rule *rule, bool high, struct hn_bindings *problem)
{
    bool made = true;
    hn_bindings_init(problem);
    for (size_t i = 0; made && i < rule->value_count; i++) {
        const struct hn_rule_value *value = &rule->values[i];
        const struct hn_value own = hn_rule_value_end(value, high);
        made = value->word_count <= 1 && hn_bindings_set(problem, value->name, &own, NULL) == HN_OK;
    }
    return made;
}

/* The constraints that a problem inside can break, as C. */
static void append_constraints(struct rule_writer *out, const struct hn_launch_program *program,
                               const struct hn_bindings *point, struct hn_text *text)
{
    const struct hn_plan *plan = out->writer->export->plan;
    struct hn_c_slot *slots = calloc(plan->name_count + 1, sizeof *slots);
    struct hn_error ignored;
    bool known = slots != NULL;
    for (size_t i = 0; known && i < plan->name_count; i++) {
        slots[i].constant = hn_bindings_get(point, plan->names[i]);
        for (size_t v = 0; v < out->rule->value_count && slots[i].constant == NULL; v++)
            if (strcmp(plan->names[i], out->rule->values[v].name) == 0)
                slots[i] = out->slots[v];
        known = slots[i].constant != NULL || slots[i].name != NULL;
    }
    for (size_t i = 0; known && i < plan->constraint_count; i++) {
        if (hn_terms_is(&program->program.terms, program->constraints[i], 1))
            continue;
        hn_text_append(text, text->length > 0 ? " && " : "");
        known =
            hn_expression_append_c_condition(plan->constraints[i], slots,
                                             out->writer->export->lower, text, &ignored) == HN_OK;
    }
    free(slots);
    if (known && text->length == 0)
        hn_text_append(text, "1");
    if (!known)
        hn_text_finish(text);
}

/* What is left to ask of a problem inside, whether a configuration can be used for it, on the
 * device of the family. */
static void write_usable(struct rule_writer *out, size_t configuration,
                         const struct hn_device *device, const struct hn_bindings *low,
                         const struct hn_bindings *high)
{
    const struct hn_plan *plan = out->writer->export->plan;
    const struct hn_bindings *point = &out->rule->configurations[configuration];
    struct hn_launch launch;
    struct hn_launch_program program;
    struct hn_record record;
    if (hn_launch_make(plan, low, point, &launch, NULL) != HN_OK)
        return;
    hn_record_init(&record);
    if (hn_launch_program_make(&program, plan, device, point, low, high, &launch) &&
        hn_launch_check(&launch, device, &record) &&
        hn_terms_is(&program.program.terms, program.limits, 1))
        append_constraints(out, &program, point, &out->usable[configuration]);
    hn_record_finish(&record);
    hn_launch_program_finish(&program);
    hn_launch_finish(&launch);
}

static void write_all_usable(struct rule_writer *out)
{
    const struct hn_export_family *family = out->writer->export->family;
    struct hn_bindings low, high;
    struct hn_device device;
    char name[16];
    snprintf(name, sizeof name, "%d", family->stored->identity.device.capability);
    bool made = make_end(out->rule, false, &low);
    made = make_end(out->rule, true, &high) && made;
    if (made && out->writer->export->plan != NULL &&
        hn_device_for_architecture(name, &device, NULL) == HN_OK)
        for (size_t i = 0; i < out->rule->configuration_count; i++)
            write_usable(out, i, &device, &low, &high);
    hn_bindings_finish(&low);
    hn_bindings_finish(&high);
}

static void append_integer(struct hn_text *text, int64_t integer)
{
    if (integer == INT64_MIN)
        hn_text_append(text, "(-INT64_C(9223372036854775807) - 1)");
    else if (integer > INT32_MAX || integer < -INT32_MAX)
        hn_text_printf(text, "INT64_C(%" PRId64 ")", integer);
    else
        hn_text_printf(text, "%" PRId64, integer);
}

static char *end_text(double end, bool real)
{
    struct hn_text text = {0};
    const struct hn_value value = hn_real(end);
    if (real)
        hn_value_append(&text, &value);
    else
        append_integer(&text, (int64_t)end);
    return hn_needed(hn_text_take(&text));
}

static const char *type_of(const struct rule_writer *out, size_t place)
{
    return out->slots[place].real ? "double" : "int64_t";
}

/* "    const int64_t own_M = problem.M >= 1 ? problem.M <= 4096 ? problem.M : 4096 : 1;" */
static void write_number(const struct rule_writer *out, size_t place)
{
    struct hn_text *text = out->writer->text;
    const struct hn_rule_value *value = &out->rule->values[place];
    bool real = out->slots[place].real;
    const char *cast = real ? "(double)" : "";
    if (value->word_count > 0) {
        hn_text_printf(text, "    const int64_t own_%s = problem.%s;\n", value->name, value->name);
        return;
    }
    char *low = end_text(value->low, real), *high = end_text(value->high, real);
    hn_text_printf(text, "    const %s own_%s = %sproblem.%s >= %s ? %sproblem.%s <= %s ? ",
                   type_of(out, place), value->name, cast, value->name, low, cast, value->name,
                   high);
    hn_text_printf(text, "%sproblem.%s : %s : %s;\n", cast, value->name, high, low);
    free(low);
    free(high);
}

/* "(problem.ORDER == HONE_MATMUL_ROW || …)", or that a number stayed what it was. */
static void append_inside(const struct rule_writer *out, size_t place, struct hn_text *condition)
{
    const struct hn_rule_value *value = &out->rule->values[place];
    if (value->word_count == 0)
        hn_text_printf(condition, "own_%s == %sproblem.%s", value->name,
                       out->slots[place].real ? "(double)" : "", value->name);
    for (size_t i = 0; i < value->word_count; i++) {
        hn_text_printf(condition, "%sproblem.%s == ", i == 0 ? "(" : " || ", value->name);
        hn_export_append_value(out->writer->export, value->name, &value->words[i], condition);
    }
    hn_text_append(condition, value->word_count > 0 ? ")" : "");
}

static void write_inside(struct rule_writer *out)
{
    struct hn_text *text = out->writer->text;
    for (size_t i = 0; i < out->rule->value_count; i++) {
        struct hn_text condition = {0};
        append_inside(out, i, &condition);
        hn_export_append_wrapped(text, "\n                       ", "%s%s", i > 0 ? " && " : "",
                                 condition.failed ? "" : condition.data);
        text->failed = text->failed || condition.failed;
        hn_text_finish(&condition);
    }
}

/* "own_N % 4 == 0 ? 10 : ": the choice where the configuration can be used. False: whatever comes
 * behind it does not count, since it always can, or nobody knows. */
static bool append_choice(const struct rule_writer *out, int configuration, int choice, int leaf)
{
    const struct hn_text *usable = &out->usable[configuration];
    bool goes_on = usable->length > 0 && strcmp(usable->data, "1") != 0;
    if (goes_on)
        hn_text_printf(out->writer->text, "%s ? %d : ", usable->data, choice);
    else
        hn_text_printf(out->writer->text, "%d", usable->length > 0 ? choice : ~leaf);
    return goes_on;
}

/* The leaf, or the first of the fallback that can be used, where that is one of the first. */
static void write_leaf(const struct rule_writer *out, const struct hn_rule_node *node, int indent)
{
    enum { FALLBACK_MOST = 3 };
    const struct hn_rule *rule = out->rule;
    const int leaf = 2 * (int)node->configuration + node->sure;
    hn_text_printf(out->writer->text, "%*sreturn ", indent, "");
    bool goes_on = append_choice(out, node->configuration, leaf, leaf);
    for (size_t i = 0; goes_on && i < rule->fallback_count && i < FALLBACK_MOST; i++)
        if (rule->fallback[i] != node->configuration)
            goes_on = append_choice(out, rule->fallback[i], 2 * rule->fallback[i], leaf);
    if (goes_on)
        hn_text_printf(out->writer->text, "%d", ~leaf);
    hn_text_append(out->writer->text, ";\n");
}

static void measure_depths(struct rule_writer *out)
{
    for (size_t i = out->rule->node_count; i-- > 0;) {
        const struct hn_rule_node *node = &out->rule->nodes[i];
        if (node->feature < 0)
            continue;
        unsigned char left = out->depth[node->left], right = out->depth[node->right];
        unsigned char most = left > right ? left : right;
        out->depth[i] = (unsigned char)(most + (most < UINT8_MAX));
    }
}

/* "if (own_M <= 64) {", or the opposite. */
static void write_branch(const struct rule_writer *out, const struct hn_rule_node *node, bool left,
                         int indent)
{
    struct hn_text *text = out->writer->text;
    hn_text_printf(text, "%*sif (", indent, "");
    if (out->is_truth[node->feature]) {
        hn_text_printf(text, "%s%s", left ? "!" : "", out->features[node->feature]);
    } else {
        hn_text_printf(text, "%s %s ", out->features[node->feature], left ? "<=" : ">");
        append_integer(text, node->threshold);
    }
    hn_text_append(text, ") {\n");
}

/* The shallower side stands in braces, which return; the other one follows, so that nothing is
 * nested deeper than a balanced tree is. */
static void write_node(const struct rule_writer *out, size_t place, int indent)
{
    const struct hn_rule_node *node = &out->rule->nodes[place];
    int inner = indent < INDENT_MOST ? indent + 4 : indent;
    while (node->feature >= 0) {
        bool left = out->depth[node->left] <= out->depth[node->right];
        bool decided = out->is_truth[node->feature] && node->threshold != 0;
        if (!decided) {
            write_branch(out, node, left, indent);
            write_node(out, (size_t)(left ? node->left : node->right), inner);
            hn_text_printf(out->writer->text, "%*s}\n", indent, "");
        }
        bool next_left = decided ? node->threshold > 0 : !left;
        node = &out->rule->nodes[next_left ? node->left : node->right];
    }
    write_leaf(out, node, indent);
}

/* With what the rule's values and features are in C. */
static void write_with(struct hn_export_writer *writer, void (*write)(struct rule_writer *out))
{
    struct rule_writer *out = hn_need(1, sizeof *out);
    out->writer = writer;
    out->rule = rule_of(writer->export);
    name_slots(out);
    write_features(out);
    measure_depths(out);
    if (!hn_failed(writer->err))
        write(out);
    for (size_t i = 0; i < HN_RULE_CONFIGURATIONS_MOST; i++)
        hn_text_finish(&out->usable[i]);
    for (size_t i = 0; i < HN_RULE_VALUES_MOST; i++)
        free(out->names[i]);
    for (size_t i = 0; i < HN_RULE_FEATURES_MOST; i++)
        free(out->features[i]);
    free(out);
}

static void write_tree(struct rule_writer *out)
{
    write_all_usable(out);
    for (size_t i = 0; i < out->rule->value_count; i++)
        hn_text_printf(out->writer->text, "    (void)own_%s;\n", out->rule->values[i].name);
    write_node(out, 0, 4);
}

static void write_numbers(struct rule_writer *out)
{
    for (size_t i = 0; i < out->rule->value_count; i++)
        write_number(out, i);
}

static void write_parameters(struct rule_writer *out)
{
    for (size_t i = 0; i < out->rule->value_count; i++)
        hn_export_append_wrapped(out->writer->text, "\n    ", "%s%s own_%s", i > 0 ? ", " : "",
                                 type_of(out, i), out->rule->values[i].name);
}

static void write_arguments(struct rule_writer *out)
{
    for (size_t i = 0; i < out->rule->value_count; i++)
        hn_export_append_wrapped(out->writer->text, "\n        ", "%sown_%s", i > 0 ? ", " : "",
                                 out->rule->values[i].name);
}

static void write_rule_tree(struct hn_export_writer *writer)
{
    write_with(writer, write_tree);
}

static void write_rule_numbers(struct hn_export_writer *writer)
{
    write_with(writer, write_numbers);
}

static void write_rule_inside(struct hn_export_writer *writer)
{
    write_with(writer, write_inside);
}

static void write_rule_parameters(struct hn_export_writer *writer)
{
    write_with(writer, write_parameters);
}

static void write_rule_arguments(struct hn_export_writer *writer)
{
    write_with(writer, write_arguments);
}

static void write_fallback(struct hn_export_writer *writer)
{
    const struct hn_rule *rule = rule_of(writer->export);
    for (size_t i = 0; i < rule->fallback_count; i++)
        hn_export_append_wrapped(writer->text, "\n       ", "%s%d", i > 0 ? ", " : "",
                                 rule->fallback[i]);
}

static void write_family_rows(struct hn_export_writer *writer)
{
    const struct hn_export_family *family = writer->export->family;
    for (size_t i = 0; i < family->row_count; i++)
        hn_export_append_row(writer->export, &family->rows[i], family->config_of[i], writer->text);
}

static void append_loss(const char *what, const struct hn_rule_loss *loss, const char *upper,
                        struct hn_text *text)
{
    const struct hn_value mean = hn_real(loss->mean), worst = hn_real(loss->worst);
    if (loss->sizes == 0)
        return;
    hn_text_printf(text, "#define %s_%s_LOSS_MEAN ", upper, what);
    hn_value_append(text, &mean);
    hn_text_printf(text, "\n#define %s_%s_LOSS_WORST ", upper, what);
    hn_value_append(text, &worst);
    hn_text_printf(text, "\n#define %s_%s_LOSS_SIZES %zu\n", upper, what, loss->sizes);
}

static void write_losses(struct hn_export_writer *writer)
{
    const struct hn_rule *rule = rule_of(writer->export);
    struct hn_text sentence = {0};
    hn_rule_append_loss(&sentence, rule);
    hn_text_printf(writer->text, "#define %s_LOSS ", writer->export->upper);
    hn_export_append_literal(writer->text, sentence.length > 0 ? sentence.data : "not known");
    hn_text_append(writer->text, "\n");
    append_loss("PREDICTED", &rule->predicted, writer->export->upper, writer->text);
    append_loss("MEASURED", &rule->measured, writer->export->upper, writer->text);
    hn_text_finish(&sentence);
}

/* The lines of the comment on top. */
static void write_family(struct hn_export_writer *writer)
{
    const struct hn_export *export = writer->export;
    const struct hn_stored_rule *stored = export->family->stored;
    const struct hn_rule *rule = &stored->rule;
    struct hn_text *text = writer->text;
    hn_text_printf(text, "  family     %zu configuration%s for ", rule->configuration_count,
                   hn_plural(rule->configuration_count));
    hn_rule_append_values(text, rule);
    hn_text_printf(text, "\n             chosen by a rule learnt on %s, ",
                   stored->identity.device.name);
    hn_export_append_date(text, stored->learnt);
    hn_text_append(text, "\n  loss       ");
    hn_rule_append_loss(text, rule);
    if (rule->measured.sizes == 0)
        hn_text_append(text, rule->predicted.sizes > 0 ? "; not measured" : "not known");
    else if (rule->predicted.sizes > 0)
        hn_text_printf(text, "\n             predicted: %.1f%% in the mean, %.1f%% at worst",
                       100 * rule->predicted.mean, 100 * rule->predicted.worst);
    hn_text_append(text, "\n");
    if (strcmp(stored->version.template_hash, export->template_hash) != 0)
        hn_text_append(text, "  STALE: the template has changed since the rule was learnt; tune "
                             "the family again\n");
    if (stored->simulated)
        hn_text_append(text, "  SIMULATED: the rule was learnt from recorded measurements\n");
}

static size_t count_family(const struct hn_export *export)
{
    return export->family != NULL;
}

HN_EXPORT_COUNT(rows, export->family->row_count)
HN_EXPORT_COUNT(variants, export->family->variants)
HN_EXPORT_COUNT(configurations, rule_of(export)->configuration_count)
HN_EXPORT_COUNT(capability, (size_t) export->family->stored->identity.device.capability)

const struct hn_export_part hn_export_rule_parts[] = {
    {"family", .count = count_family, .write = write_family},
    {"family_rows", .write = write_family_rows},
    {"family_row_count", .count = count_rows},
    {"family_variants", .count = count_variants},
    {"family_capability", .count = count_capability},
    {"rule_configurations", .count = count_configurations},
    {"rule_body", .write = write_rule_tree},
    {"rule_numbers", .write = write_rule_numbers},
    {"rule_inside", .write = write_rule_inside},
    {"rule_parameters", .write = write_rule_parameters},
    {"rule_arguments", .write = write_rule_arguments},
    {"rule_fallback", .write = write_fallback},
    {"losses", .write = write_losses},
    {0},
};
