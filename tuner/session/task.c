/* SPDX-License-Identifier: MIT */
#include "tuner/session/task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/compile/code_scan.h"
#include "runtime/compile/cubin.h"
#include "runtime/device/device.h"
#include "runtime/plan/launch.h"
#include "tuner/config/config_files.h"

static void identify(struct hn_task *task, struct hn_error *err)
{
    const struct hn_plan *plan = task->plan;
    struct hn_identity *identity = &task->identity;
    struct hn_text objective = {0};
    if (hn_failed(err))
        return;
    identity->kernel = hn_need_copy(plan->kernel);
    identity->signature = hn_needed(hn_plan_signature(plan));
    /* What the L2 cache holds is a program's own affair. */
    identity->regime =
        hn_need_copy(plan->program != NULL ? HN_REGIME_UNKNOWN : hn_regime_names[task->regime]);
    hn_text_append(&objective, plan->objective);
    if (strcmp(plan->objective, "time") != 0)
        hn_text_append(&objective, plan->maximize ? " maximize" : " minimize");
    identity->objective = hn_needed(hn_text_take(&objective));
    hn_bindings_copy(&identity->problem, task->problem, err);
}

/* The cubin does not tell the kind of a number, and const. NULL: all is well. */
static const char *find_mismatch(const struct hn_argument *argument,
                                 const struct hn_declared_parameter *declared, bool only_step)
{
    char type[HN_TYPE_SIZE];
    bool passes_buffer = hn_argument_is_buffer(argument) && declared->pointer;
    enum hn_element element;
    unsigned lanes;
    if (passes_buffer && hn_argument_is_compared(argument) && declared->constant && only_step)
        return "which it cannot write to";
    if (!hn_type_of_c(declared->type, type) || !hn_type_parse(type, &element, &lanes))
        return NULL;
    bool real = hn_element_is_real(element), given_real = hn_element_is_real(argument->element);
    if (passes_buffer && real && given_real && argument->lanes == 1 &&
        hn_element_size(element) != hn_element_size(argument->element))
        return "whose elements have another size";
    if (argument->value != NULL && !declared->pointer && real != given_real &&
        !hn_element_is_narrow(argument->element))
        return "which is another kind of number";
    return NULL;
}

/* Types that are not spelled out in the source are not judged. */
static void check_types(const struct hn_plan *plan, const struct hn_template *source,
                        const struct hn_step *steps, size_t count, struct hn_error *err)
{
    const char *of = steps == &plan->reference.step ? "the reference's " : "";
    HN_EACH_OF(step, steps, count) {
        const char *entry = step->entry == NULL ? "" : step->entry;
        const char *end = entry + strcspn(entry, "<"), *name = end;
        struct hn_declared declared;
        while (name > entry && name[-1] != ':')
            name--;
        if (hn_failed(err) ||
            !hn_declared_find(source->files->text, name, (size_t)(end - name), &declared) ||
            declared.count != step->argument_count)
            continue;
        for (size_t i = 0; i < declared.count && !hn_failed(err); i++) {
            const struct hn_argument *argument = &plan->arguments[step->arguments[i]];
            const struct hn_declared_parameter *parameter = &declared.parameters[i];
            const char *why = find_mismatch(argument, parameter, count == 1);
            if (why != NULL)
                hn_fail(err, HN_ECONFIG,
                        "argument '%s' is %s%s; parameter %zu of %skernel '%.*s' is '%s', %s",
                        argument->name, hn_element_name(argument->element),
                        hn_argument_is_compared(argument) ? ", an output" : "", i + 1, of,
                        (int)(end - name), name, parameter->spelled, why);
        }
    }
}

enum hn_status hn_task_make(const struct hn_config *config, size_t problem, enum hn_regime regime,
                            enum hn_task_purpose purpose, struct hn_task *task,
                            struct hn_error *err)
{
    *task = (struct hn_task){.config = config,
                             .plan = config->plan,
                             .problem = &config->problems[problem],
                             .regime = regime};
    hn_config_make_plan(config, task->problem, &task->own_plan, err);
    if (task->own_plan != NULL)
        task->plan = task->own_plan;
    if (purpose != HN_TASK_COMPILES)
        hn_config_check_data(config, problem, err);
    hn_config_load_templates(config, task->plan, task->problem, &task->template, &task->reference,
                             purpose != HN_TASK_COMPILES ? &task->version : NULL, err);
    check_types(task->plan, &task->reference, &task->plan->reference.step,
                task->reference.files != NULL, err);
    if (!hn_failed(err) &&
        hn_config_space(config, problem, purpose == HN_TASK_SEARCHES, &task->space, err) == HN_OK)
        hn_config_default_point(config, task->space, &task->start);
    identify(task, err);
    if (hn_failed(err))
        hn_task_finish(task);
    return err->status;
}

void hn_task_finish(struct hn_task *task)
{
    hn_space_destroy(task->space);
    hn_bindings_finish(&task->start);
    hn_template_finish(&task->template);
    hn_template_finish(&task->reference);
    hn_identity_finish(&task->identity);
    hn_plan_destroy(task->own_plan);
    *task = (struct hn_task){0};
}

void hn_task_set_device(struct hn_task *task, const struct hn_device_identity *device,
                        const char *driver, const char *nvrtc)
{
    task->identity.device = *device;
    snprintf(task->version.driver, sizeof task->version.driver, "%s", driver);
    snprintf(task->version.nvrtc, sizeof task->version.nvrtc, "%s", nvrtc);
}

void hn_task_set_measured(struct hn_task *task, const struct hn_identity *measured)
{
    free(task->identity.regime);
    task->identity.regime = hn_need_copy(measured->regime);
    task->identity.device = measured->device;
}

enum hn_status hn_task_begin(const struct hn_task *task, struct hn_store *store,
                             const char *command, const struct hn_origin *recorded,
                             int64_t *session, struct hn_error *err)
{
    const struct hn_template *template = &task->template;
    struct hn_stored_plan plan = {hn_needed(hn_plan_to_json(task->plan)), template->files,
                                  template->file_count};
    struct hn_store_session begun = {.identity = &task->identity,
                                     .version = &task->version,
                                     .plan = task->stale ? NULL : &plan,
                                     .command = command,
                                     .simulated = recorded != NULL,
                                     .from = recorded};
    enum hn_status status = hn_store_begin(store, &begun, NULL, session, err);
    json_decref(plan.json);
    return status;
}

enum hn_status hn_task_source(const struct hn_task *task, const struct hn_bindings *point,
                              struct hn_source *source, struct hn_error *err)
{
    return hn_source_make(task->plan, &task->template, task->problem, point, source, err);
}

enum hn_status hn_task_reference_source(const struct hn_task *task, const struct hn_bindings *point,
                                        struct hn_source *source, struct hn_error *err)
{
    const bool own = task->reference.files == NULL;
    return hn_source_make_reference(task->plan, own ? &task->template : &task->reference,
                                    task->problem, point, source, err);
}

/* The least of the steps, which launch one kernel: the last carve-out asked for is that of all. */
static double occupancy_of(const struct hn_launch *launch, const struct hn_device *device,
                           const struct hn_resources *resources)
{
    double least = 1;
    int64_t carveout = HN_NO_CARVEOUT;
    for (size_t i = 0; i < launch->step_count; i++)
        if (launch->steps[i].carveout != HN_NO_CARVEOUT)
            carveout = launch->steps[i].carveout;
    HN_EACH_OF(step, launch->steps, launch->step_count) {
        int64_t threads = step->block[0] * step->block[1] * step->block[2];
        least = fmin(least, hn_occupancy(device, resources, threads, step->shared_bytes, carveout));
    }
    return least;
}

static void refuse(struct hn_image *image, enum hn_outcome outcome, const char *why)
{
    image->outcome = outcome;
    free(image->message);
    image->message = hn_need_copy(why);
}

/* The config may refuse warnings of the compiler. */
static void check_warnings(const struct hn_plan *plan, struct hn_image *image)
{
    unsigned refused = plan->refused & image->resources.warnings;
    const char *separator = "the compiler warns of what the config's 'refuse' lists: ";
    struct hn_text why HN_ENDED_BY(hn_text_finish) = {0};
    if (refused == 0 || image->outcome != HN_OUTCOME_OK)
        return;
    for (int i = 0; i < HN_WARNING_COUNT; i++) {
        if ((refused >> i & 1) == 0)
            continue;
        hn_text_printf(&why, "%s%s", separator, hn_warning_names[i]);
        separator = ", ";
    }
    refuse(image, HN_OUTCOME_SKIPPED, why.data == NULL ? "" : why.data);
}

/* Turns an image that with its launch does not fit on a multiprocessor into an invalid launch. */
static void check_fit(const struct hn_launch *launch, const struct hn_device *device,
                      struct hn_image *image)
{
    /* The numbers are those of one kernel only where all steps launch the same. */
    bool one = image->entry_count > 0 && image->resources.known;
    for (size_t i = 1; one && i < image->entry_count; i++)
        one = strcmp(image->entries[i], image->entries[0]) == 0;
    for (size_t i = 0; one && i < launch->step_count; i++) {
        const struct hn_launch_step *step = &launch->steps[i];
        int64_t threads = step->block[0] * step->block[1] * step->block[2];
        char why[256];
        if (image->outcome == HN_OUTCOME_OK &&
            hn_occupancy_exceeds(device, &image->resources, threads, step->shared_bytes, why,
                                 sizeof why))
            refuse(image, HN_OUTCOME_INVALID_LAUNCH, why);
    }
}

static void check_arguments(const struct hn_task *task, const struct hn_launch *launch,
                            const struct hn_bindings *point, const struct hn_image *image,
                            struct hn_error *err)
{
    struct hn_value *values HN_FREED = NULL;
    if (hn_plan_values(task->plan, task->problem, point, &values, err) == HN_OK)
        hn_signature_check(task->plan, values, launch, image, err);
    check_types(task->plan, &task->template, task->plan->steps, task->plan->step_count, err);
}

/* Points may differ in nothing but which of the steps they launch. */
static void append_geometry(struct hn_text *text, const struct hn_plan *plan,
                            const struct hn_launch *launch, const struct hn_bindings *point)
{
    HN_EACH_OF(step, launch->steps, launch->step_count) {
        if (step->step > plan->steps)
            hn_text_printf(text, " step %td", step->step - plan->steps);
        for (int d = 0; d < 3; d++)
            hn_text_printf(text, " %lld %lld", (long long)step->grid[d], (long long)step->block[d]);
        if (hn_launch_step_has_clusters(step))
            hn_text_printf(text, " cluster %lld %lld %lld", (long long)step->cluster[0],
                           (long long)step->cluster[1], (long long)step->cluster[2]);
        if (step->carveout != HN_NO_CARVEOUT)
            hn_text_printf(text, " carveout %lld", (long long)step->carveout);
        hn_text_append(text, step->cooperative ? " cooperative" : "");
        hn_text_append(text, step->programmatic ? " programmatic" : "");
        hn_l2_window_append(text, &step->window);
        hn_text_printf(text, " %lld;", (long long)step->shared_bytes);
        /* They have grids of their own where these depend on what the device has room for. */
        if (hn_plan_asks_clusters(plan, step->step))
            hn_bindings_append(text, point);
    }
}

/* Copies are issued as it says, and chunks follow from it. */
static void append_flow(struct hn_text *text, const struct hn_launch *launch)
{
    const struct hn_flow *flow = launch->flow;
    if (flow == NULL)
        return;
    hn_text_printf(text, " %s %s %zu %lld %lld", hn_order_names[flow->order],
                   hn_host_memory_names[flow->host_memory], flow->streams, (long long)flow->halo,
                   (long long)flow->pieces);
    if (flow->padding > 0)
        hn_text_printf(text, " padding %lld", (long long)flow->padding);
    for (size_t i = 0; i < flow->pipeline->copy_count; i++)
        hn_text_append(text, flow->copies[i] ? " copies" : " -");
    for (size_t i = 0; i < flow->chunk_count; i++)
        hn_text_printf(text, " %lld", (long long)flow->chunks[i].begin);
    hn_text_append(text, ";");
}

struct key {
    struct hn_text *text;
    const struct hn_value *values;
};

static void append_value(void *context, struct hn_expression *expression,
                         const struct hn_field *field)
{
    const struct key *key = context;
    struct hn_value value = hn_word("-"); /* of a map that no step takes there may be none */
    (void)field;
    (void)hn_expression_evaluate(expression, key->values, &value, NULL);
    hn_text_append(key->text, " ");
    hn_value_append(key->text, &value);
}

/* Scalars, and the sizes and places of buffers, are not in the code but decide what it does;
 * tolerances and the metric that is the objective decide what that is worth. */
static void append_judgement(struct hn_text *text, const struct hn_task *task,
                             const struct hn_bindings *point, struct hn_error *err)
{
    const struct hn_plan *plan = task->plan;
    struct hn_value *values HN_FREED = NULL;
    if (hn_plan_values(plan, task->problem, point, &values, err) != HN_OK)
        return;
    struct key key = {text, values};
    for (size_t i = 0; i < plan->argument_count; i++)
        hn_expressions_walk(&hn_argument_structure, &plan->arguments[i], append_value, &key);
    hn_expressions_walk(&hn_compare_structure, (void *)(uintptr_t)&plan->compare, append_value,
                        &key);
    const bool own = strcmp(plan->objective, "time") != 0 && !hn_plan_weighs(plan);
    for (size_t m = 0; own && m < plan->metric_count; m++)
        for (size_t i = 0; i < plan->name_count; i++)
            if (hn_expression_uses(plan->metrics[m].expression, i)) {
                hn_text_append(text, " ");
                hn_value_append(text, &values[i]);
            }
}

static void make_key(const struct hn_task *task, const struct hn_launch *launch,
                     const struct hn_bindings *point, const struct hn_image *image, char key[33],
                     struct hn_error *err)
{
    struct hn_text text = {0};
    struct hn_bindings depends HN_ENDED_BY(hn_bindings_finish) = {0};
    hn_text_append(&text, image->code_hash);
    append_geometry(&text, task->plan, launch, point);
    HN_EACH_OF(tensor, launch->tensors, launch->tensor_count) {
        hn_text_printf(&text, " map %zu %s", tensor->buffer, hn_element_name(tensor->element));
        for (int n = 0; n < tensor->rank; n++)
            hn_text_printf(&text, " %lld %lld %lld %lld", (long long)tensor->dims[n],
                           (long long)tensor->strides[n], (long long)tensor->box[n],
                           (long long)tensor->element_strides[n]);
        for (int n = 0; n < HN_TENSOR_SETTING_COUNT; n++)
            hn_text_printf(&text, " %lld", (long long)tensor->settings[n]);
        hn_text_append(&text, ";");
    }
    append_flow(&text, launch);
    append_judgement(&text, task, point, err);
    /* The right result may depend on the point. */
    if (!hn_failed(err) && hn_plan_depends(task->plan, point, &depends, err) == HN_OK) {
        hn_text_append(&text, " ");
        hn_bindings_append(&text, &depends);
    }
    char *whole HN_FREED = hn_needed(hn_text_take(&text));
    if (!hn_failed(err))
        memcpy(key, hn_hash_string(whole).hex, 33);
}

void hn_task_advise(const struct hn_task *task, bool of_reference, struct hn_image *image)
{
    const struct hn_plan *plan = task->plan;
    const char *const *freeze = (const char *const *)plan->freeze;
    const char *const *parameters = (const char *const *)plan->parameters;
    const char *message = image->message != NULL ? image->message : "";
    const char *begin = strstr(message, "identifier \""), *end = strstr(message, "\" is undefined");
    const bool declares = strstr(message, "error: expected a") != NULL;
    const char *source = task->template.files->text;
    char lacks[HN_WORD_MOST + 1] = "";
    struct hn_text text = {0}, templates HN_ENDED_BY(hn_text_finish) = {0};
    hn_text_append(&text, message);
    const size_t said = text.length;
    if (begin != NULL && end > begin)
        snprintf(lacks, sizeof lacks, "%.*s", (int)(end - begin - 12), begin + 12);
    if (hn_text_is_among(lacks, (const char *const *)plan->problem, plan->problem_count) &&
        !hn_text_is_among(lacks, freeze, plan->freeze_count))
        hn_text_printf(&text, "; '%s' is a value of the problem: `freeze: [%s]` makes it a macro",
                       lacks, lacks);
    else if (of_reference && plan->reference.kind == HN_REFERENCE_TEMPLATE &&
             hn_text_is_among(lacks, parameters, plan->parameter_count))
        hn_text_printf(&text, "; '%s' is a parameter: `depends: [%s]` makes it a macro there",
                       lacks, lacks);
    for (size_t i = 0; i < plan->argument_count && declares && text.length == said; i++) {
        const char *name = plan->arguments[i].name;
        if (hn_text_is_among(name, freeze, plan->freeze_count) ||
            hn_text_is_among(name, parameters, plan->parameter_count))
            hn_text_printf(&text, "; '%s' is a macro: the kernel's argument needs another name",
                           name);
    }
    for (size_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].entry != NULL)
            hn_kernel_templates_append(source, plan->steps[i].entry, &templates);
    for (size_t i = 0; i < plan->parameter_count && declares && text.length == said; i++) {
        const char *name = plan->parameters[i], *at = source;
        struct hn_code_text value;
        bool overrides = false;
        for (size_t n = 0; n < plan->override_count; n++)
            overrides = overrides || strcmp(plan->overrides[n].name, name) == 0;
        if (!overrides && hn_code_next_value(&at, name, false, &value))
            hn_text_printf(&text,
                           "; the source declares '%s', which is a macro, too: `override: {%s: "
                           "constexpr}` gives it its values",
                           name, name);
        else if (templates.length > 0 && hn_template_parameter_is_declared(source, name))
            hn_text_printf(&text,
                           "; '%s' is a parameter of a C++ template, and a macro, too: an entry "
                           "with arguments, as %s, gives it its values",
                           name, templates.data);
    }
    free(image->message);
    image->message = hn_needed(hn_text_take(&text));
}

enum hn_status hn_task_complete_image(const struct hn_task *task, const struct hn_device *device,
                                      const struct hn_bindings *point, struct hn_image *image,
                                      char key[33], struct hn_error *err)
{
    struct hn_launch launch HN_ENDED_BY(hn_launch_finish) = {0};
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    hn_error_init(err);
    key[0] = '\0';
    if (image->outcome != HN_OUTCOME_OK) {
        hn_task_advise(task, false, image);
        return HN_OK;
    }
    hn_launch_make_checked(task->plan, device, task->problem, point, &launch, &record, err);
    if (record.outcome != HN_OUTCOME_OK)
        refuse(image, record.outcome, record.message != NULL ? record.message : "no message");
    if (launch.step_count == 0)
        return err->status;
    image->resources.occupancy = occupancy_of(&launch, device, &image->resources);
    hn_launch_note_shared(&launch, &image->resources);
    check_fit(&launch, device, image);
    check_arguments(task, &launch, point, image, err);
    if (err->status == HN_ECONFIG) {
        refuse(image, HN_OUTCOME_INVALID_LAUNCH, err->message);
        hn_error_init(err);
    }
    check_warnings(task->plan, image);
    if (!hn_failed(err))
        make_key(task, &launch, point, image, key, err);
    return err->status;
}

enum hn_status hn_task_check_default(const struct hn_task *task, const struct hn_bindings *point,
                                     const struct hn_image *image, struct hn_error *err)
{
    struct hn_launch launch HN_ENDED_BY(hn_launch_finish) = {0};
    struct hn_error reason;
    if (hn_launch_make(task->plan, task->problem, point, &launch, &reason) == HN_OK)
        check_arguments(task, &launch, point, image, &reason);
    if (!hn_failed(&reason) || reason.status == HN_EVALUE)
        return HN_OK;
    return hn_fail(err, reason.status, "%s: %s (at the default point)", task->config->path,
                   reason.message);
}
