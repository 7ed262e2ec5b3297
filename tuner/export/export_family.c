/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/schema.h"
#include "runtime/plan/launch.h"
#include "tuner/export/export_parts.h"
#include "tuner/session/rule_code.h"

/* A header is compiled: more than this is no family but a mistake. */
enum { ROWS_MOST = 1024 };

void hn_export_family_finish(struct hn_export_family *family)
{
    for (size_t i = 0; family != NULL && family->problems != NULL && i < family->variants; i++)
        hn_bindings_finish(&family->problems[i]);
}

/* The rule of the same kernel that fits best, at the same regime and objective: one of that device,
 * else of one of its compute capability. */
static void find_rule(struct hn_export_family *family, const struct hn_tuned_list *rules,
                      const struct hn_identity *chosen)
{
    int best = 0;
    for (size_t i = 0; i < rules->count; i++) {
        const struct hn_identity *own = &rules->items[i].identity;
        int rank = hn_device_identity_equal(&own->device, &chosen->device)
                       ? 2
                       : own->device.capability == chosen->device.capability;
        if (rank <= best || strcmp(own->signature, chosen->signature) != 0 ||
            strcmp(own->regime, chosen->regime) != 0 ||
            strcmp(own->objective, chosen->objective) != 0)
            continue;
        family->stored = &rules->items[i];
        best = rank;
    }
}

static bool is_configuration(const struct hn_rule *rule, const struct hn_bindings *point)
{
    for (size_t i = 0; i < rule->configuration_count; i++)
        if (hn_bindings_equal(&rule->configurations[i], point))
            return true;
    return false;
}

/* The first of the chosen result's device that is a configuration of the rule; else the chosen one,
 * which stays though it is none. */
static const struct hn_tuned *find_first(const struct hn_export *export, const struct hn_rule *rule)
{
    const struct hn_tuned *chosen = export->results[0];
    for (size_t i = 0; i < export->result_count; i++)
        if (hn_device_identity_equal(&export->results[i]->identity.device,
                                     &chosen->identity.device) &&
            is_configuration(rule, &export->results[i]->best.point))
            return export->results[i];
    return chosen;
}

/* The variant itself, or where the configuration cannot serve it, one that it can: its row stands
 * twice, and nothing is compiled for what never is launched. */
static size_t served_variant(const struct hn_plan *plan, const struct hn_export_family *family,
                             const struct hn_bindings *point, size_t variant)
{
    if (hn_rule_can_serve(plan, point, &family->problems[variant]))
        return variant;
    for (size_t other = 0; other < family->variants; other++)
        if (hn_rule_can_serve(plan, point, &family->problems[other]))
            return other;
    return variant;
}

static void make_rows(struct hn_export *export, const struct hn_tuned *first,
                      struct hn_export_family *family, struct hn_error *err)
{
    const struct hn_plan *plan = export->plan;
    const struct hn_tuned *stored = family->stored;
    family->row_count = stored->rule->configuration_count * family->variants;
    family->rows = hn_need_block(&export->memory, family->row_count, sizeof *family->rows);
    family->config_of =
        hn_need_block(&export->memory, family->row_count, sizeof *family->config_of);
    family->problems = hn_need_block(&export->memory, family->variants, sizeof *family->problems);
    for (size_t i = 0; i < family->variants && !hn_failed(err); i++) {
        hn_bindings_copy(&family->problems[i], &first->identity.problem, err);
        hn_rule_set_variant(plan, stored->rule, i, &family->problems[i], err);
    }
    for (size_t i = 0; i < family->row_count; i++) {
        struct hn_tuned *row = &family->rows[i];
        row->identity = first->identity;
        row->identity.device = stored->identity.device;
        row->best.point = stored->rule->configurations[i / family->variants];
        row->identity.problem =
            family->problems[served_variant(plan, family, &row->best.point, i % family->variants)];
        row->version = stored->version;
        row->origin = stored->origin;
        row->simulated = stored->simulated;
        row->best.time = stored->begun;
    }
}

/* Whether the rule goes with the plan; then results that are none of its configurations are left
 * out. */
static bool take(struct hn_export *export, struct hn_export_family *family, struct hn_error *err)
{
    const struct hn_rule *rule = family->stored->rule;
    const struct hn_tuned *first = find_first(export, rule);
    const struct hn_bindings *problem = &first->identity.problem;
    bool same = rule->value_count == problem->count;
    for (size_t i = 0; same && i < problem->count; i++)
        same = strcmp(rule->values[i].name, problem->names[i]) == 0 &&
               (rule->values[i].word_count > 0) == (problem->values[i].type == HN_WORD);
    if (!same)
        return false;
    family->variants = hn_rule_variants(export->plan, rule);
    if (family->variants * rule->configuration_count > ROWS_MOST)
        return false;
    make_rows(export, first, family, err);
    for (size_t i = 0; i < family->row_count; i++)
        if (!hn_export_is_compatible(export, &family->rows[i], err) || hn_failed(err))
            return false;
    size_t all = export->result_count;
    export->result_count = 0;
    for (size_t i = 0; i < all; i++)
        if (export->results[i] == first || is_configuration(rule, &export->results[i]->best.point))
            export->results[export->result_count++] = export->results[i];
    export->outside_family = all - export->result_count;
    return !hn_failed(err);
}

void hn_export_take_family(struct hn_export *export, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    struct hn_export_family *family = hn_need_block(&export->memory, 1, sizeof *family);
    find_rule(family, &export->rules, &export->results[0]->identity);
    if (family->stored == NULL || !take(export, family, err)) {
        hn_export_family_finish(family);
        return;
    }
    export->family = family;
    export->rule = family->stored->rule;
}

/* The rule of cache/family/rule.h as C: the same choice, told by the same loss. */

/* Deeper than this, branches stand below one another. */
enum { INDENT_MOST = 40 };

struct hn_export_rule {
    struct hn_export_writer *writer;
    const struct hn_rule *rule;
    struct hn_c_slot slots[HN_RULE_VALUES_MOST];
    const char *features[HN_RULE_FEATURES_MOST]; /* as C */
    unsigned char depth[HN_RULE_NODES_MOST];     /* below a node, at most 255 */
    int answer[HN_RULE_NODES_MOST]; /* of a leaf: its configuration, or where it says what to
                                       compare */
    const char *usable[HN_RULE_CONFIGURATIONS_MOST]; /* "serves = …;" for problems inside; "":
                                                        nobody knows */
};

/* "own_M": a problem's value, brought inside. */
static void name_slots(struct hn_export_rule *out)
{
    for (size_t i = 0; i < out->rule->value_count; i++) {
        const struct hn_rule_value *value = &out->rule->values[i];
        const struct hn_word_list *list = hn_plan_find_words(out->writer->plan, value->name);
        out->slots[i] = (struct hn_c_slot){
            .name = hn_need_format(&out->writer->memory, "own_%s", value->name),
            .real = value->word_count == 0 &&
                    (!hn_rule_value_is_whole(value) ||
                     hn_export_problem_is_real(out->writer->export, value->name)),
            .words = list == NULL ? NULL : (const char *const *)list->words,
            .word_count = list == NULL ? 0 : list->count,
        };
    }
}

/* What is left to ask of a problem inside, whether a configuration can be used for it, on the
 * device of the family. */
static void write_usable(struct hn_export_rule *out, size_t configuration,
                         const struct hn_device *device, const struct hn_bindings *low,
                         const struct hn_bindings *high)
{
    const struct hn_plan *plan = out->writer->export->plan;
    const struct hn_bindings *point = &out->rule->configurations[configuration];
    struct hn_c_slot *slots = hn_need_block(&out->writer->memory, plan->name_count, sizeof *slots);
    struct hn_launch_program program HN_ENDED_BY(hn_launch_program_finish) = {0};
    struct hn_text text = {0};
    for (size_t i = 0; i < plan->name_count; i++)
        for (size_t v = 0; v < out->rule->value_count; v++)
            if (strcmp(plan->names[i], out->rule->values[v].name) == 0)
                slots[i] = out->slots[v];
    hn_text_append(&text, "    {\n");
    bool known = hn_launch_program_make(&program, plan, device, point, low, high) &&
                 hn_program_append_c(&program.program, program.program.valid, slots,
                                     out->writer->export->lower, "serves", &text);
    hn_text_append(&text, "    }\n");
    const char *written = hn_need_kept(&out->writer->memory, hn_text_take(&text));
    out->usable[configuration] = known ? written : "";
}

static void write_all_usable(struct hn_export_writer *writer)
{
    struct hn_export_rule *out = writer->rule;
    const struct hn_export_family *family = writer->export->family;
    struct hn_bindings low HN_ENDED_BY(hn_bindings_finish) = {0};
    struct hn_bindings high HN_ENDED_BY(hn_bindings_finish) = {0};
    struct hn_device device;
    char name[16];
    bool alike = true; /* their words do not differ */
    for (size_t i = 0; i < out->rule->value_count; i++)
        alike = alike && out->rule->values[i].word_count <= 1;
    snprintf(name, sizeof name, "%d", family->stored->identity.device.capability);
    hn_rule_set_end(out->rule, false, &low, writer->err);
    hn_rule_set_end(out->rule, true, &high, writer->err);
    if (alike && !hn_failed(writer->err) && writer->export->plan != NULL &&
        hn_device_for_architecture(name, &device, NULL) == HN_OK)
        for (size_t i = 0; i < out->rule->configuration_count; i++)
            write_usable(out, i, &device, &low, &high);
    hn_export_append_switch("configuration", out->usable, out->rule->configuration_count,
                            writer->text);
}

/* Of a configuration, whose parameters are constants. One whose cost C cannot say costs 0. */
static void write_cost(struct hn_export_rule *out, size_t configuration,
                       struct hn_rule_program *program, struct hn_text *text)
{
    const struct hn_rule *rule = out->rule;
    const struct hn_bindings *point = &rule->configurations[configuration];
    const double *own = rule->corrections + configuration * (rule->value_count + 1);
    const char *prefix = out->writer->export->lower;
    struct hn_c_slot slots[HN_RULE_VALUES_MOST + HN_RULE_PARAMETERS_MOST];
    struct hn_error reason;
    bool real;
    hn_text_printf(text, "    {\n        correction = %.17g", own[0]);
    for (size_t i = 0; i < rule->value_count; i++)
        if (own[1 + i] != 0)
            hn_text_printf(text, " + %.17g * logs[%zu]", own[1 + i], i);
    hn_text_append(text, ";\n");
    memcpy(slots, out->slots, rule->value_count * sizeof *slots);
    for (size_t i = 0; i < point->count; i++)
        slots[rule->value_count + i] = (struct hn_c_slot){.constant = &point->values[i]};
    struct hn_text code HN_ENDED_BY(hn_text_finish) = {0};
    bool written = program != NULL &&
                   hn_rule_program_append_cost(program, configuration, slots, prefix, &code);
    if (!written) {
        hn_text_finish(&code);
        hn_text_append(&code, "        cost = (double)(");
        written = hn_expression_append_c(rule->cost, slots, prefix, HN_C_NUMBER, &real, &code,
                                         &reason) == HN_OK;
        hn_text_append(&code, ");\n");
    }
    hn_text_append(text, written ? code.data : "        cost = 0;\n");
    hn_text_append(text, "    }\n");
}

static void write_costs(struct hn_export_writer *writer)
{
    const struct hn_rule *rule = writer->rule->rule;
    struct hn_rule_program *program = hn_rule_program_make(rule);
    const char **bodies = hn_need_block(&writer->memory, rule->configuration_count, sizeof *bodies);
    for (size_t c = 0; c < rule->configuration_count; c++) {
        struct hn_text text = {0};
        write_cost(writer->rule, c, program, &text);
        bodies[c] = hn_need_kept(&writer->memory, hn_text_take(&text));
    }
    hn_export_append_switch("configuration", bodies, rule->configuration_count, writer->text);
    hn_rule_program_destroy(program);
}

/* The shallower side stands in braces, which return; the other one follows, so that nothing is
 * nested deeper than a balanced tree is. */
static void write_node(const struct hn_export_rule *out, size_t place, int indent)
{
    const struct hn_rule_node *node = &out->rule->nodes[place];
    struct hn_text *text = out->writer->text;
    int inner = indent < INDENT_MOST ? indent + 4 : indent;
    while (node->feature >= 0) {
        bool left = out->depth[node->left] <= out->depth[node->right];
        const struct hn_value threshold = hn_integer(node->threshold);
        hn_text_printf(text, "%*sif (%s %s ", indent, "", out->features[node->feature],
                       left ? "<=" : ">");
        hn_export_append_value(out->writer->export, "", &threshold, text);
        hn_text_append(text, ") {\n");
        write_node(out, (size_t)(left ? node->left : node->right), inner);
        hn_text_printf(text, "%*s}\n", indent, "");
        node = &out->rule->nodes[left ? node->right : node->left];
    }
    hn_text_printf(text, "%*sreturn %d;\n", indent, "",
                   2 * out->answer[node - out->rule->nodes] + node->sure);
}

struct hn_export_rule *hn_export_rule_make(struct hn_export_writer *writer)
{
    if (writer->export->family == NULL || hn_failed(writer->err))
        return NULL;
    struct hn_export_rule *out = hn_need_block(&writer->memory, 1, sizeof *out);
    out->writer = writer;
    out->rule = writer->export->rule;
    name_slots(out);
    for (size_t i = 0; i < out->rule->feature_count && !hn_failed(writer->err); i++) {
        const struct hn_rule_feature *feature = &out->rule->features[i];
        struct hn_text text = {0};
        hn_expression_append_c(feature->expression, out->slots, writer->export->lower, HN_C_INTEGER,
                               NULL, &text, writer->err);
        /* Compilers warn of a truth that is compared with anything but 0 and 1. */
        hn_text_append(&text, strpbrk(feature->text, "=<>") != NULL ? " * 1" : "");
        out->features[i] = hn_need_kept(&writer->memory, hn_text_take(&text));
    }
    for (size_t i = out->rule->node_count; i-- > 0;) {
        const struct hn_rule_node *node = &out->rule->nodes[i];
        if (node->feature < 0)
            continue;
        unsigned char left = out->depth[node->left], right = out->depth[node->right];
        unsigned char most = left > right ? left : right;
        out->depth[i] = (unsigned char)(most + (most < UINT8_MAX));
    }
    return out;
}

static void write_tree(struct hn_export_writer *writer)
{
    write_node(writer->rule, 0, 4);
}

static json_t *end_to_json(const struct hn_export_rule *out, const struct hn_rule_value *value,
                           bool high, bool real)
{
    struct hn_text text = {0};
    const double end = high ? value->high : value->low;
    const struct hn_value number = real ? hn_real(end) : hn_integer((int64_t)end);
    hn_export_append_value(out->writer->export, value->name,
                           value->word_count > 0 ? &value->words[0] : &number, &text);
    return hn_render_text(&text);
}

/* How the rule takes the values of a problem: they are brought inside of what it was learnt for. */
static json_t *inputs_to_json(const struct hn_export_rule *out)
{
    json_t *inputs = json_array();
    for (size_t i = 0; i < out->rule->value_count; i++) {
        const struct hn_rule_value *value = &out->rule->values[i];
        bool real = out->slots[i].real;
        struct hn_text known = {0}; /* "problem.ORDER == HONE_MATMUL_ROW || …" */
        for (size_t k = 0; k < value->word_count; k++) {
            hn_text_printf(&known, "%sproblem.%s == ", k > 0 ? " || " : "", value->name);
            hn_export_append_value(out->writer->export, value->name, &value->words[k], &known);
        }
        json_array_append_new(
            inputs,
            json_pack(
                "{ss ss so so so so* so}", "name", value->name, "type", real ? "double" : "int64_t",
                "given", json_sprintf("%sproblem.%s", real ? "(double)" : "", value->name), "low",
                end_to_json(out, value, false, real), "high", end_to_json(out, value, true, real),
                "known", hn_render_text(&known), "log",
                value->low == value->high ? json_sprintf("%.17g", log(fmax(1, value->low)))
                                          : json_sprintf("log(own_%s > 1 ? (double)own_%s : 1.0)",
                                                         value->name, value->name)));
    }
    return inputs;
}

json_t *hn_export_family_to_json(const struct hn_export_writer *writer)
{
    const struct hn_export *export = writer->export;
    const struct hn_export_family *family = export->family;
    struct hn_text values = {0}, loss = {0}, literal = {0};
    if (family == NULL)
        return json_null();
    const struct hn_tuned *stored = family->stored;
    json_t *among = json_array(), *members = json_array();
    for (size_t i = 0; i < family->row_count; i++)
        json_array_append_new(
            members, hn_export_row_to_json(export, &family->rows[i], family->config_of[i]));
    for (size_t i = 0; i < stored->rule->node_count; i++) {
        const struct hn_rule_node *node = &stored->rule->nodes[i];
        writer->rule->answer[i] =
            stored->rule->cost == NULL ? node->configuration : (int)json_array_size(among);
        if (node->feature < 0)
            json_array_append_new(among, json_sprintf("%zu", node->among_count));
        for (size_t k = 0; k < node->among_count; k++)
            json_array_append_new(among, json_sprintf("%d", node->among[k]));
    }
    hn_rule_append_values(&values, stored->rule);
    hn_rule_append_loss(&loss, stored->rule);
    hn_export_append_literal(&literal, loss.length > 0 ? loss.data : "not known");
    return hn_needed(
        json_pack("{sI so* so* so so sf so so so sb sb sb sI sI si so so so}", "configurations",
                  (json_int_t)stored->rule->configuration_count, "values", hn_render_text(&values),
                  "loss", hn_render_text(&loss), "literal", hn_render_text(&literal), "device",
                  hn_string_to_json(stored->identity.device.name), "learnt", stored->begun,
                  "predicted", hn_fields_to_json(&hn_rule_loss_structure, &stored->rule->predicted),
                  "measured", hn_fields_to_json(&hn_rule_loss_structure, &stored->rule->measured),
                  "parts", hn_fields_to_json(&hn_rule_parts_structure, &stored->rule->parts),
                  "stale", strcmp(stored->version.template_hash, export->template_hash) != 0,
                  "simulated", stored->simulated, "costs", stored->rule->cost != NULL, "rows",
                  (json_int_t)family->row_count, "variants", (json_int_t)family->variants,
                  "capability", stored->identity.device.capability, "members", members, "inputs",
                  inputs_to_json(writer->rule), "among", among));
}

const struct hn_export_part hn_export_rule_parts[] = {
    {"rule_serves", write_all_usable},
    {"rule_body", write_tree},
    {"rule_costs", write_costs},
    {0},
};
