/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/compile/code_scan.h"
#include "runtime/compile/template.h"
#include "runtime/plan/launch.h"
#include "runtime/plan/option_list.h"
#include "tuner/config/config_parts.h"

/* All but the space: what is frozen, steps, pipelines, options, the reference and metrics. */

/* A list of words out of those that are known. */
static void read_words(struct hn_reader *reader, const struct hn_yaml *node, const char *what,
                       char *const *known, size_t known_count, char ***words, size_t *count)
{
    const char *const *names = (const char *const *)known;
    char expected[64];
    snprintf(expected, sizeof expected, "a list of %ss", what);
    const struct hn_yaml *item = hn_config_list(reader, node, expected);
    snprintf(expected, sizeof expected, "the name of a %s", what);
    if (node != NULL)
        *words = hn_need(node->count, sizeof **words);
    for (; item != NULL && !hn_failed(reader->err); item = item->next) {
        hn_config_read_word(reader, item, expected, &(*words)[(*count)++]);
        hn_config_expect_known(reader, item, what, item->text, names, known_count);
    }
}

static const char expected_entry[] =
    "the name of an extern \"C\" kernel, or a C++ name expression such as \"f<TILE>\"";

static void read_entry(struct hn_reader *reader, const struct hn_yaml *node, void *owner)
{
    hn_config_read_text(reader, node, expected_entry, &((struct hn_step *)owner)->entry);
}

static const struct hn_config_form step_forms[] = {{"entry", read_entry}, {NULL, NULL}};
static const struct hn_config_mapping step_mapping = {&hn_step_structure, step_forms, NULL, NULL};

/* A step that lists no arguments takes all of the plan's that are in no structure, but the
 * reference no tensor maps. */
static void complete_arguments(struct hn_reader *reader, struct hn_step *step, bool maps)
{
    if (step->arguments != NULL)
        return;
    step->arguments = hn_need(reader->plan->argument_count, sizeof *step->arguments);
    for (size_t i = 0; i < reader->plan->argument_count; i++)
        if (reader->plan->arguments[i].role != HN_ROLE_SYMBOL && !reader->plan->arguments[i].held &&
            (maps || reader->plan->arguments[i].role != HN_ROLE_TENSOR_MAP))
            step->arguments[step->argument_count++] = i;
}

static void read_step(struct hn_reader *reader, const struct hn_yaml *node, struct hn_step *step)
{
    const struct hn_yaml *window = hn_yaml_get(node, "l2_window");
    const struct hn_yaml *entry = hn_yaml_get(reader->root, "entry");
    hn_config_read_mapping(reader, node, &step_mapping, step);
    /* A step without an entry of its own takes the config's. */
    if (step->entry == NULL && entry == NULL)
        hn_config_fail(reader, reader->root, "key 'entry' is missing, expected %s", expected_entry);
    else if (step->entry == NULL)
        read_entry(reader, entry, step);
    complete_arguments(reader, step, true);
    if (window == NULL || hn_failed(reader->err) ||
        hn_argument_is_buffer(&reader->plan->arguments[step->geometry.window.argument]))
        return;
    const struct hn_yaml *argument = hn_yaml_get(window, "argument");
    hn_config_fail(reader, argument, "'%s' is no buffer, which a window lies over", argument->text);
}

static size_t find_buffer(struct hn_reader *reader, const struct hn_yaml *node)
{
    return hn_config_find_among(reader, node, "buffer", hn_argument_is_buffer,
                                "no buffer, so it cannot be in a pipeline");
}

/* The table would take any argument. */
static void read_copy_arguments(struct hn_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_copy_step *copy = owner;
    const struct hn_yaml *item = hn_config_list(reader, node, "a list of arguments' names");
    copy->arguments = hn_need(node->count, sizeof *copy->arguments);
    for (; item != NULL && !hn_failed(reader->err); item = item->next) {
        size_t argument = find_buffer(reader, item);
        copy->arguments[copy->argument_count++] = argument;
        reader->plan->pipeline->parts[argument] |= HN_PART_COPY;
    }
}

static const struct hn_config_form copy_forms[] = {
    {"before", NULL}, {"arguments", read_copy_arguments}, {NULL, NULL}};
static const struct hn_config_mapping copy_mapping = {&hn_copy_structure, copy_forms, NULL, NULL};

static void read_copy(struct hn_reader *reader, const struct hn_yaml *node)
{
    hn_config_need(reader, node, "arguments");
    if (reader->plan->pipeline == NULL)
        hn_config_fail(reader, hn_yaml_get(node, "copy"),
                       "a step that copies needs a 'pipeline', which the config lacks");
    if (hn_failed(reader->err))
        return;
    struct hn_pipeline *pipeline = reader->plan->pipeline;
    struct hn_copy_step *copy = HN_NEXT(pipeline->copies, pipeline->copy_count);
    copy->before = reader->plan->step_count;
    hn_config_read_mapping(reader, node, &copy_mapping, copy);
}

static void read_launch(struct hn_reader *reader)
{
    enum { STEPS_MOST = 64 };
    const struct hn_yaml *node = hn_config_need(reader, reader->root, "launch");
    if (node == NULL)
        return;
    bool list = node->kind == HN_YAML_SEQUENCE;
    size_t room = list ? node->count : 1;
    if (!hn_config_expect(reader, node->kind != HN_YAML_SCALAR && room > 0 && room <= STEPS_MOST,
                          node, "a mapping with grid and block, or a list of 1 to 64 steps"))
        return;
    reader->plan->steps = hn_need(room, sizeof *reader->plan->steps);
    const struct hn_yaml *step = list ? node->child : node;
    for (size_t i = 0; i < room && !hn_failed(reader->err); i++, step = step->next)
        if (list && hn_yaml_get(step, "copy") != NULL)
            read_copy(reader, step);
        else
            read_step(reader, step, &reader->plan->steps[reader->plan->step_count++]);
    if (reader->plan->step_count == 0)
        hn_config_fail(reader, node, "no step launches a kernel");
}

/* The lists of buffers, in the order in which they are read: uploads and downloads are known before
 * what of them is padded or whole. */
static const struct part {
    const char *key;
    enum hn_role role; /* that it has, or inout; HN_ROLE_COUNT: any */
    unsigned char sets, clears;
} parts[] = {
    {"upload", HN_ROLE_INPUT, HN_PART_UPLOAD | HN_PART_CUT, 0},
    {"download", HN_ROLE_OUTPUT, HN_PART_DOWNLOAD | HN_PART_CUT, 0},
    {"cut", HN_ROLE_COUNT, HN_PART_CUT, 0},
    {"padded", HN_ROLE_COUNT, HN_PART_PADDED, 0},
    {"whole", HN_ROLE_COUNT, 0, HN_PART_CUT},
};

enum { BOTH_WAYS = HN_PART_UPLOAD | HN_PART_DOWNLOAD };

/* A buffer in a list needs one of these parts before, and excludes those. */
static const struct part_rule {
    const char *key;
    unsigned char needs; /* 0: nothing */
    unsigned char excludes;
    const char *why;
} part_rules[] = {
    {"cut", 0, BOTH_WAYS,
     "is uploaded or downloaded, and so cut unless it is under 'whole'; "
     "'cut' is for buffers that stay on the device"},
    {"padded", HN_PART_UPLOAD, HN_PART_DOWNLOAD | HN_PART_PADDED,
     "is not what is only uploaded and cut; only that can be padded"},
    {"whole", BOTH_WAYS, 0,
     "is neither uploaded nor downloaded; what is not listed is not cut anyway"},
    {"whole", 0, HN_PART_PADDED, "is padded, and so cut"},
};

static void check_part(struct hn_reader *reader, const struct hn_yaml *node,
                       const struct part *part, enum hn_role role, unsigned char has)
{
    HN_EACH_OF(rule, part_rules, sizeof part_rules / sizeof *part_rules) {
        if (strcmp(rule->key, part->key) == 0 &&
            ((rule->needs != 0 && (has & rule->needs) == 0) || (has & rule->excludes) != 0))
            hn_config_fail(reader, node, "'%s' %s", node->text, rule->why);
    }
    if (part->role != HN_ROLE_COUNT && role != part->role && role != HN_ROLE_INOUT)
        hn_config_fail(reader, node, "'%s' is %s; only %s and inout can be %sed", node->text,
                       hn_role_names[role], hn_role_names[part->role], part->key);
}

static void read_part(struct hn_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_pipeline *pipeline = owner;
    const struct part *part = parts;
    while (strcmp(part->key, node->key->text) != 0)
        part++;
    const struct hn_yaml *item = hn_config_list(reader, node, "a list of arguments' names");
    for (; item != NULL && !hn_failed(reader->err); item = item->next) {
        size_t argument = find_buffer(reader, item);
        unsigned char *has = &pipeline->parts[argument];
        if (hn_failed(reader->err))
            return;
        check_part(reader, item, part, reader->plan->arguments[argument].role, *has);
        *has = (unsigned char)((*has | part->sets) & ~part->clears);
    }
}

static const struct hn_config_form pipeline_forms[] = {
    {"upload", read_part}, {"download", read_part}, {"cut", read_part}, {"whole", read_part},
    {"padded", read_part}, {"copies", NULL},        {NULL, NULL}};
static const struct hn_config_mapping pipeline_mapping = {&hn_pipeline_structure, pipeline_forms,
                                                          NULL, NULL};

static void read_pipeline(struct hn_reader *reader)
{
    struct hn_plan *plan = reader->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "pipeline");
    if (node == NULL)
        return;
    for (size_t i = 0; i < HN_CHUNK_NAMES; i++)
        if (hn_plan_has_name(plan, hn_chunk_names[i]))
            hn_config_fail(reader, node->key,
                           "with a pipeline '%s' is what expressions know of a chunk; rename "
                           "the parameter or problem value",
                           hn_chunk_names[i]);
    if (hn_failed(reader->err))
        return;
    plan->pipeline = hn_need(1, sizeof *plan->pipeline);
    plan->pipeline->argument_count = plan->argument_count;
    plan->pipeline->parts = hn_need(plan->argument_count, 1);
    hn_config_read_mapping(reader, node, &pipeline_mapping, plan->pipeline);
    for (size_t i = 0; i < plan->argument_count; i++)
        if ((plan->pipeline->parts[i] & BOTH_WAYS) != 0)
            return;
    hn_config_fail(reader, node, "the pipeline neither uploads nor downloads anything");
}

/* A text, or {if: ..., option: ...}. A control file, whose key is `file`, is an option of ptxas. */
static void read_option(struct hn_reader *reader, const struct hn_yaml *node, bool controls,
                        struct hn_option *option)
{
    struct hn_error reason = {0};
    struct hn_text whole HN_ENDED_BY(hn_text_finish) = {0};
    const struct hn_yaml *text = node;
    if (node->kind != HN_YAML_SCALAR) {
        hn_config_check_keys(reader, node, controls ? "if file" : "if option");
        text = hn_config_need(reader, node, controls ? "file" : "option");
        hn_config_read_expression(reader, hn_config_need(reader, node, "if"), &option->condition);
    }
    if (text == NULL ||
        !hn_config_expect(reader,
                          text->kind == HN_YAML_SCALAR && (controls || text->text[0] == '-'), text,
                          controls ? "the path of a control file of ptxas"
                                   : "a compile option such as \"--use_fast_math\""))
        return;
    hn_text_append(&whole, controls ? "--ptxas-options=--" HN_OPTION_CONTROLS "=" : "");
    hn_text_append(&whole, text->text);
    option->text = hn_config_expand(reader, text, hn_needed(whole.data), true);
    if (!hn_failed(reader->err))
        hn_option_read_holes(option, &reason);
    hn_config_take(reader, text, NULL, &reason);
    for (size_t i = 0; i < option->hole_count; i++)
        *HN_NEXT(reader->places, reader->place_count) =
            (struct hn_config_place){option->holes[i], text};
}

/* {THREADS: constexpr, BLOCK: define} */
static void read_overrides(struct hn_reader *reader)
{
    struct hn_plan *plan = reader->plan;
    const char *const *names = (const char *const *)plan->parameters;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "override");
    const struct hn_yaml *item = hn_config_pairs(
        reader, node, "parameters and how the source declares them, as {BLOCK: define}");
    if (item == NULL)
        return;
    plan->overrides = hn_need(node->count, sizeof *plan->overrides);
    for (; item != NULL && !hn_failed(reader->err); item = item->next) {
        struct hn_override *override = &plan->overrides[plan->override_count++];
        hn_config_read_word(reader, item->key, "the name of a parameter", &override->name);
        hn_config_expect_known(reader, item->key, "parameter", item->key->text, names,
                               plan->parameter_count);
        override->of =
            (enum hn_override_of)hn_config_read_choice(reader, item, hn_override_names, 2);
    }
}

static void read_compile(struct hn_reader *reader)
{
    struct hn_plan *plan = reader->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "compile");
    if (node == NULL)
        return;
    hn_config_check_keys(reader, node, "compiler arch_specific refuse options controls");
    plan->compiler = (enum hn_compiler)hn_config_read_choice(reader, hn_yaml_get(node, "compiler"),
                                                             hn_compiler_names, 2);
    plan->arch_specific = hn_config_read_flag(reader, hn_yaml_get(node, "arch_specific"));
    const struct hn_yaml *item =
        hn_config_list(reader, hn_yaml_get(node, "refuse"), "a list of warnings, as [serialised]");
    for (; item != NULL; item = item->next)
        plan->refused |=
            1u << hn_config_read_choice(reader, item, hn_warning_names, HN_WARNING_COUNT);
    const struct hn_yaml *options = hn_yaml_get(node, "options");
    const struct hn_yaml *controls = hn_yaml_get(node, "controls");
    item = hn_config_list(reader, options,
                          "a list of options, each a string or {if: ..., option: ...}");
    plan->options = hn_need((options != NULL ? options->count : 0) + 1, sizeof *plan->options);
    for (; item != NULL && !hn_failed(reader->err); item = item->next)
        read_option(reader, item, false, &plan->options[plan->option_count++]);
    if (controls != NULL && !hn_failed(reader->err))
        read_option(reader, controls, true, &plan->options[plan->option_count++]);
}

/* The step of a reference stands beside its other keys. */

static const struct hn_config_form reference_step_forms[] = {
    {"entry", read_entry}, {"if", NULL}, {"l2_window", NULL}, {NULL, NULL}};
static const struct hn_config_mapping reference_step_mapping = {&hn_step_structure,
                                                                reference_step_forms, NULL, "step"};

static void read_template(struct hn_reader *reader, const struct hn_yaml *node, void *owner)
{
    hn_config_read_path(reader, node, "the path of a .cu file",
                        &((struct hn_reference *)owner)->template_path);
}

static void read_depends(struct hn_reader *reader, const struct hn_yaml *node, void *owner)
{
    struct hn_reference *reference = owner;
    read_words(reader, node, "parameter", reader->plan->parameters, reader->plan->parameter_count,
               &reference->depends, &reference->depends_count);
}

static const struct hn_config_form reference_forms[] = {
    {"kind", NULL},  {"template", read_template}, {"step", NULL},
    {"files", NULL}, {"depends", read_depends},   {NULL, NULL}};
static const struct hn_config_mapping reference_mapping = {&hn_reference_structure, reference_forms,
                                                           &reference_step_mapping, NULL};

/* {y: expected.npy}: a file for each argument that is compared. */
static void read_files(struct hn_reader *reader, const struct hn_yaml *node)
{
    struct hn_plan *plan = reader->plan;
    const struct hn_yaml *item =
        hn_config_pairs(reader, node, "a mapping of outputs to files, as {y: expected.npy}");
    plan->reference.kind = HN_REFERENCE_FILES;
    for (; item != NULL && !hn_failed(reader->err); item = item->next) {
        char *path HN_FREED = NULL;
        size_t argument = hn_config_find_argument(reader, item->key);
        if (!hn_failed(reader->err) && !hn_argument_is_compared(&plan->arguments[argument]))
            hn_config_fail(reader, item->key,
                           "'%s' has role %s; only output and inout are compared", item->key->text,
                           hn_role_names[plan->arguments[argument].role]);
        hn_config_read_path(reader, item, "the path of a data file", &path);
        if (path != NULL)
            hn_reference_add_file(&plan->reference, argument, path, reader->err);
    }
    for (size_t i = 0; i < plan->argument_count; i++)
        if (hn_argument_is_compared(&plan->arguments[i]) &&
            hn_yaml_get(node, plan->arguments[i].name) == NULL)
            hn_config_fail(reader, node, "'%s' is compared and has no file here; expected one",
                           plan->arguments[i].name);
}

static void read_reference(struct hn_reader *reader)
{
    struct hn_plan *plan = reader->plan;
    struct hn_reference *reference = &plan->reference;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "reference");
    if (node == NULL)
        return;
    if (node->kind == HN_YAML_SCALAR && strcmp(node->text, "none") == 0) {
        reference->kind = HN_REFERENCE_NONE;
        return;
    }
    if (!hn_config_expect_kind(reader, node, HN_YAML_MAPPING,
                               "a mapping with template and entry, or with files, or none"))
        return;
    if (hn_yaml_get(node, "files") != NULL) {
        hn_config_check_keys(reader, node, "files");
        read_files(reader, hn_yaml_get(node, "files"));
        return;
    }
    reference->kind = HN_REFERENCE_TEMPLATE;
    hn_config_need(reader, node, "template");
    hn_config_need(reader, node, "entry");
    hn_config_read_mapping(reader, node, &reference_mapping, reference);
    complete_arguments(reader, &reference->step, false);
    for (size_t i = 0; i < reference->step.argument_count && !hn_failed(reader->err); i++) {
        const struct hn_argument *argument = &plan->arguments[reference->step.arguments[i]];
        if (argument->role == HN_ROLE_TENSOR_MAP)
            hn_config_fail(reader, hn_yaml_get(node, "arguments"),
                           "'%s' is a tensor map, which a reference is not given; expected '%s', "
                           "the buffer",
                           argument->name, argument->from);
    }
}

static void read_metric(struct hn_reader *reader, const struct hn_yaml *node,
                        struct hn_metric *metric)
{
    const char *name = node->key->text;
    hn_config_expect(reader, hn_text_is_word(name), node->key, "a name for a metric");
    if (strcmp(name, "time") == 0 || strcmp(name, "time_us") == 0)
        hn_config_fail(reader, node->key, "'%s' is measured, it cannot be a metric", name);
    if (hn_plan_is_taken(reader->plan, name))
        hn_config_fail(reader, node->key,
                       "metric '%s' has the name of a parameter, problem value, word or metric "
                       "argument; rename it",
                       name);
    metric->name = hn_need_copy(name);
    hn_config_read_expression(reader, node, &metric->expression);
}

static const char *const measured[] = {"time", "energy", "energy_delay"};
enum { MEASURED_COUNT = sizeof measured / sizeof *measured };

static void read_objective(struct hn_reader *reader)
{
    static const char *const directions[] = {"minimize", "maximize"};
    struct hn_plan *plan = reader->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "objective");
    const struct hn_yaml *direction = hn_yaml_get(reader->root, "direction");
    size_t count = plan->metric_count + MEASURED_COUNT;
    const char **known = hn_need_block(&reader->config->blocks, count, sizeof *known);
    for (size_t i = 0; i < count; i++)
        known[i] = i < MEASURED_COUNT ? measured[i] : plan->metrics[i - MEASURED_COUNT].name;
    hn_config_expect_kind(reader, node, HN_YAML_SCALAR,
                          "time, energy, energy_delay or the name of a metric");
    plan->objective = hn_need_copy(known[hn_config_read_choice(reader, node, known, count)]);
    bool least = strcmp(plan->objective, "time") == 0 || hn_plan_weighs(plan);
    if (direction == NULL && !least)
        hn_config_fail(reader, node,
                       "objective '%s' needs 'direction: minimize' or 'direction: maximize'",
                       plan->objective);
    plan->maximize = hn_config_read_choice(reader, direction, directions, 2) == 1;
    if (least && plan->maximize)
        hn_config_fail(reader, direction, "%s can only be minimized", plan->objective);
}

static void read_metrics(struct hn_reader *reader)
{
    struct hn_plan *plan = reader->plan;
    const struct hn_yaml *node = hn_yaml_get(reader->root, "metrics");
    const struct hn_yaml *child =
        hn_config_pairs(reader, node, "a mapping of names to expressions");
    if (hn_failed(reader->err))
        return;
    plan->metrics = hn_need(hn_config_count(node), sizeof *plan->metrics);
    for (; child != NULL; child = child->next)
        read_metric(reader, child, &plan->metrics[plan->metric_count++]);
    read_objective(reader);
}

/* The text of a template decides: whether words are its types or numbers of its macros, and
 * which names are parameters of its C++ templates. */

static bool are_types(const struct hn_word_list *list)
{
    enum hn_element element;
    unsigned lanes;
    for (size_t i = 0; i < list->count; i++) {
        bool of_configs = hn_type_parse(list->words[i], &element, &lanes);
        if (hn_type_bytes(list->words[i]) == 0 || of_configs)
            return false;
    }
    return true;
}

/* "T_float" in the source asks for the numbers. */
static bool asks_for_numbers(const struct hn_template *template, const struct hn_word_list *list)
{
    bool asks = false;
    for (size_t i = 0; i < list->count && !asks; i++) {
        struct hn_text number HN_ENDED_BY(hn_text_finish) = {0};
        hn_text_printf(&number, "%s_%s", list->name, list->words[i]);
        for (size_t s = 0; s < template->file_count && !asks && !number.failed; s++)
            asks = hn_text_find_word(template->files[s].text, number.data, number.length);
    }
    return asks;
}

/* Whether an entry has the name among its template arguments, and the template declares it. */
static bool is_template_parameter(const struct hn_plan *plan, const struct hn_template *template,
                                  const char *name)
{
    bool used = false, declared = false;
    for (size_t i = 0; i < plan->step_count && !used; i++) {
        const char *entry = plan->steps[i].entry;
        used = entry != NULL && !hn_text_is_word(entry) &&
               hn_text_find_word(entry, name, strlen(name));
    }
    for (size_t s = 0; used && s < template->file_count; s++)
        declared = declared || hn_template_parameter_is_declared(template->files[s].text, name);
    return declared;
}

/* Takes what the template says of names and words, once the entries are read. */
static void read_types(struct hn_reader *reader)
{
    struct hn_plan *plan = reader->plan;
    struct hn_template template HN_ENDED_BY(hn_template_finish) = {0};
    for (size_t i = 0; i < reader->config->typed_count; i++) {
        const struct hn_argument *argument = &plan->arguments[reader->config->typed[i].argument];
        if (argument->fill.kind == HN_FILL_FILE)
            hn_config_fail(
                reader, hn_yaml_get(reader->root, "arguments"),
                "argument '%s' has the type '%s', and contents from a file, which are of "
                "one type; expected that one",
                argument->name, reader->config->typed[i].name);
    }
    /* Whether it is there is asked by others. */
    if (hn_failed(reader->err) ||
        hn_template_load(plan->template_path, &template, plan, NULL) != HN_OK)
        return;
    for (size_t i = 0; i < plan->word_list_count; i++)
        plan->word_lists[i].types =
            are_types(&plan->word_lists[i]) && !asks_for_numbers(&template, &plan->word_lists[i]);
    plan->template_parameters = hn_need(plan->name_count, sizeof *plan->template_parameters);
    for (size_t i = 0; i < plan->name_count; i++)
        if (is_template_parameter(plan, &template, plan->names[i]))
            plan->template_parameters[plan->template_parameter_count++] =
                hn_need_copy(plan->names[i]);
}

/* That each ${NAME} is told; a shell's script, which has blanks, may have names of its own. */
static void check_command(struct hn_reader *reader, const struct hn_yaml *node,
                          const char *const *told, size_t count)
{
    static const char expected[] = "a list of a program and its arguments";
    const struct hn_yaml *word = hn_config_list(reader, node, expected);
    hn_config_expect(reader, node == NULL || word != NULL, node, expected);
    for (; word != NULL; word = word->next) {
        hn_config_expect_kind(reader, word, HN_YAML_SCALAR, "an argument");
        const char *hole = hn_failed(reader->err) || strchr(word->text, ' ') ? "" : word->text;
        for (; (hole = strstr(hole, "${")) != NULL; hole += 2) {
            char *name HN_FREED = hn_needed(strndup(hole + 2, hn_word_length(hole + 2)));
            if (hole[2 + strlen(name)] == '}')
                hn_config_expect_known(reader, word, "name", name, told, count);
        }
    }
}

/* What commands are told beside a point: of a workload its name and values; of a build nothing. */
static const char **find_told(struct hn_reader *reader, const struct hn_yaml *workload,
                              size_t *count)
{
    static const char *const paths[] = {"BUILD_DIR", "CONFIG_DIR", "SOURCE"};
    const struct hn_plan *plan = reader->plan;
    size_t known = *count = plan->name_count + 3;
    const char **told =
        hn_need_block(&reader->config->blocks, known + 1 + hn_config_count(workload), sizeof *told);
    for (size_t i = 0; i < known; i++)
        told[i] = i < 3 ? paths[i] : plan->names[i - 3];
    if (workload != NULL)
        told[(*count)++] = "WORKLOAD";
    for (size_t i = 3; i < *count; i++)
        if (hn_text_is_among(told[i], told, i))
            hn_config_fail(reader, hn_yaml_get(reader->root, "run"),
                           "'%s' is a value, and what commands are told beside it; name it "
                           "otherwise",
                           told[i]);
    const struct hn_yaml *at = hn_config_pairs(reader, workload, "a mapping of names to values");
    for (; at != NULL && !hn_failed(reader->err); at = at->next) {
        hn_config_check_name(reader, at->key);
        if (hn_text_is_among(at->key->text, told, *count))
            hn_config_fail(reader, at->key, "'%s' is a name already", at->key->text);
        if (hn_config_expect_kind(reader, at, HN_YAML_SCALAR, "a value") &&
            strcmp(at->key->text, "weight") == 0) {
            const struct hn_value weight = hn_config_read_value(reader, at);
            double number = weight.type <= HN_REAL ? hn_value_number(&weight) : 0;
            hn_config_expect(reader, number >= 1e-9 && number <= 1e9, at,
                             "a number above 0, 1e9 at most");
        }
        told[(*count)++] = at->key->text;
    }
    return told;
}

static void check_commands(struct hn_reader *reader, const struct hn_yaml *run)
{
    static const char expected[] = "a mapping of names to workloads, as {small: {SIZE: 1024}}";
    const struct hn_yaml *workloads = hn_yaml_get(run, "workloads");
    const struct hn_yaml *workload = hn_config_pairs(reader, workloads, expected);
    size_t count;
    const char **told = find_told(reader, NULL, &count);
    hn_config_expect(reader, workloads == NULL || workload != NULL, workloads, expected);
    check_command(reader, hn_yaml_get(run, "build"), told, count);
    do {
        told = find_told(reader, workload, &count);
        check_command(reader, hn_config_need(reader, run, "command"), told, count);
        check_command(reader, hn_yaml_get(run, "check"), told, count);
        if (workload != NULL)
            hn_config_check_name(reader, workload->key);
    } while (workload != NULL && (workload = workload->next) != NULL);
}

static void check_time(struct hn_reader *reader, const struct hn_yaml *node)
{
    static const char *const units[] = {"us", "ns", "ms", "s"};
    const struct hn_yaml *json = hn_yaml_get(node, "json"), *regex = hn_yaml_get(node, "regex");
    hn_config_check_keys(reader, node, "json regex unit");
    hn_config_read_choice(reader, hn_yaml_get(node, "unit"), units, 4);
    hn_config_expect(reader, (json == NULL) != (regex == NULL), node,
                     "either 'json' or 'regex', which finds the time in what is printed");
    hn_config_expect_kind(reader, json, HN_YAML_SCALAR, "a place, as results.0.time");
    hn_config_expect_kind(reader, regex, HN_YAML_SCALAR, "a regular expression");
    if (!hn_failed(reader->err) && regex != NULL)
        hn_config_expect(reader, strchr(regex->text, '(') && !strstr(regex->text, "\\d"), regex,
                         "a regular expression of POSIX with a group, as 'time: ([0-9.]+)'");
}

/* Results that were measured in another way are stale. */
static void append_node(struct hn_text *text, const struct hn_yaml *node)
{
    for (; node != NULL; node = node->next) {
        hn_text_printf(text, "%s: %s\n", node->key != NULL ? node->key->text : "",
                       node->text != NULL ? node->text : "");
        append_node(text, node->child);
        hn_text_append(text, "\t");
    }
}

static void read_program(struct hn_reader *reader, const struct hn_yaml *node)
{
    struct hn_plan *plan = reader->plan;
    struct hn_text text = {0};
    hn_config_check_keys(reader, reader->root,
                         "hone kernel template run problem parameters defaults let constraints "
                         "promising ladder metrics objective direction look_ahead prior");
    hn_config_check_keys(reader, node, "build command time check workloads");
    check_commands(reader, node);
    if (hn_config_need(reader, node, "time") != NULL)
        check_time(reader, hn_yaml_get(node, "time"));
    reader->config->run = node;
    reader->config->folder = hn_need_kept(&reader->config->blocks, hn_need_copy(reader->folder));
    plan->reference.kind = HN_REFERENCE_NONE;
    append_node(&text, node->child);
    char *whole HN_FREED = hn_needed(hn_text_take(&text));
    plan->program = hn_need_copy(hn_hash_string(whole).hex);
}

void hn_config_read_kernel(struct hn_reader *reader, const struct hn_yaml *template)
{
    struct hn_plan *plan = reader->plan;
    const struct hn_yaml *run = hn_yaml_get(reader->root, "run");
    hn_config_read_path(reader, template, "the path of a source", &plan->template_path);
    if (run != NULL) {
        read_program(reader, run);
        hn_config_read_compare(reader);
        read_metrics(reader);
        return;
    }
    /* [M, N], or {values: [M, N], if: FROZEN}. */
    const struct hn_yaml *node = hn_yaml_get(reader->root, "freeze"), *values = node;
    if (node != NULL && node->kind == HN_YAML_MAPPING) {
        hn_config_check_keys(reader, node, "values if");
        values = hn_config_need(reader, node, "values");
        hn_config_read_expression(reader, hn_yaml_get(node, "if"), &plan->freeze_if);
    }
    read_words(reader, values, "problem value", plan->problem, plan->problem_count, &plan->freeze,
               &plan->freeze_count);
    hn_config_read_arguments(reader);
    read_pipeline(reader);
    read_launch(reader);
    read_compile(reader);
    read_overrides(reader);
    read_reference(reader);
    hn_config_read_compare(reader);
    read_metrics(reader);
    read_types(reader);
}
