/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/compile/cubin.h"
#include "runtime/device/device.h"
#include "runtime/plan/launch.h"
#include "tuner/init/find_kernels.h"
#include "tuner/session/task.h"

/* The least of the steps, which launch one kernel: the last carve-out that one of them asks for is
 * that of all. */
static double occupancy_of(const struct hn_launch *launch, const struct hn_device *device,
                           const struct hn_resources *resources)
{
    double least = 1;
    int64_t carveout = HN_NO_CARVEOUT;
    for (size_t i = 0; i < launch->step_count; i++)
        if (launch->steps[i].carveout != HN_NO_CARVEOUT)
            carveout = launch->steps[i].carveout;
    for (size_t i = 0; i < launch->step_count; i++) {
        const struct hn_launch_step *step = &launch->steps[i];
        double occupancy =
            hn_occupancy(device, resources, step->block[0] * step->block[1] * step->block[2],
                         step->shared_bytes, carveout);
        if (occupancy < least)
            least = occupancy;
    }
    return least;
}

/* The numbers are those of one kernel only where all steps launch the same. */
static bool has_one_kernel(const struct hn_image *image)
{
    for (size_t i = 1; i < image->entry_count; i++)
        if (strcmp(image->entries[i], image->entries[0]) != 0)
            return false;
    return image->entry_count > 0 && image->resources.known;
}

static void refuse(struct hn_image *image, enum hn_outcome outcome, const char *why)
{
    image->outcome = outcome;
    free(image->message);
    image->message = hn_need_copy(why);
}

/* What the config says of the compiler's warnings. */
static void check_warnings(const struct hn_plan *plan, struct hn_image *image)
{
    unsigned refused = plan->refused & image->resources.warnings;
    struct hn_text why;
    if (refused == 0 || image->outcome != HN_OUTCOME_OK)
        return;
    hn_text_init(&why);
    hn_text_append(&why, "the compiler warns of what the config's 'refuse' lists: ");
    hn_warnings_append(&why, refused);
    refuse(image, HN_OUTCOME_SKIPPED, why.data == NULL ? "" : why.data);
    hn_text_finish(&why);
}

/* Turns an image that with its launch does not fit on a multiprocessor into an invalid launch. */
static void check_fit(const struct hn_launch *launch, const struct hn_device *device,
                      struct hn_image *image)
{
    for (size_t i = 0; has_one_kernel(image) && i < launch->step_count; i++) {
        const struct hn_launch_step *step = &launch->steps[i];
        int64_t threads = step->block[0] * step->block[1] * step->block[2];
        char why[256];
        if (image->outcome == HN_OUTCOME_OK &&
            hn_occupancy_exceeds(device, &image->resources, threads, step->shared_bytes, why,
                                 sizeof why))
            refuse(image, HN_OUTCOME_INVALID_LAUNCH, why);
    }
}

/* The kernel of a step as the template's text declares it; NULL: not there, or more than one
 * reading. */
static const struct hn_kernel *find_declared(const struct hn_source_text *source,
                                             const struct hn_kernels *kernels,
                                             const struct hn_step *step)
{
    const struct hn_kernel *found = NULL;
    const char *end = step->entry + strcspn(step->entry, "<"), *name = end;
    while (name > step->entry && name[-1] != ':')
        name--;
    for (size_t i = 0; i < kernels->count; i++) {
        const struct hn_kernel *kernel = &kernels->items[i];
        if (strncmp(kernel->name, name, (size_t)(end - name)) != 0 ||
            kernel->name[end - name] != '\0')
            continue;
        size_t plain = strspn(source->directives + kernel->head, " \t\r\n");
        if (found != NULL || kernel->argument_count != step->argument_count ||
            plain < kernel->body - kernel->head)
            return NULL;
        found = kernel;
    }
    return found;
}

/* What the cubin does not tell of a parameter: the kind of a number, and const. NULL: all is well.
 */
static const char *find_mismatch(const struct hn_argument *argument,
                                 const struct hn_kernel_argument *declared, bool only_step)
{
    char type[HN_TYPE_SIZE];
    bool passes_buffer = hn_argument_is_buffer(argument) && declared->pointer;
    enum hn_element element;
    unsigned lanes;
    if (passes_buffer && hn_argument_is_compared(argument) && declared->constant && only_step)
        return "which it can not write to";
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

/* Reads the template as `init` does; types that are not spelled out there are not judged. */
static enum hn_status check_types(const struct hn_task *task, const struct hn_launch *launch,
                                  struct hn_error *err)
{
    struct hn_source_text source;
    struct hn_kernels kernels;
    char *text = hn_need_copy(task->template.text);
    enum hn_status status = hn_source_text_make(task->template.path, text, &source, err);
    if (status != HN_OK)
        return status;
    status = hn_kernels_find(&source, &kernels, err);
    for (size_t s = 0; s < launch->step_count && status == HN_OK; s++) {
        const struct hn_step *step = launch->steps[s].step;
        const struct hn_kernel *kernel = find_declared(&source, &kernels, step);
        for (size_t i = 0; kernel != NULL && i < step->argument_count && status == HN_OK; i++) {
            const struct hn_argument *argument = &task->plan->arguments[step->arguments[i]];
            const char *why =
                find_mismatch(argument, &kernel->arguments[i], launch->step_count == 1);
            if (why != NULL)
                status = hn_fail(err, HN_ECONFIG,
                                 "argument '%s' is %s%s; parameter %zu of kernel '%s' is '%s', %s",
                                 argument->name, hn_element_name(argument->element),
                                 hn_argument_is_compared(argument) ? ", an output" : "", i + 1,
                                 kernel->name, kernel->arguments[i].spelled, why);
        }
    }
    hn_kernels_finish(&kernels);
    hn_source_text_finish(&source);
    return status;
}

static enum hn_status check_arguments(const struct hn_task *task, const struct hn_launch *launch,
                                      const struct hn_bindings *point, const struct hn_image *image,
                                      struct hn_error *err)
{
    struct hn_value *values = NULL;
    enum hn_status status = hn_plan_values(task->plan, task->problem, point, &values, err);
    if (status == HN_OK)
        status = hn_signature_check(task->plan, values, launch, image, err);
    free(values);
    return status == HN_OK ? check_types(task, launch, err) : status;
}

static void append_geometry(struct hn_text *text, const struct hn_launch *launch)
{
    for (size_t i = 0; i < launch->step_count; i++) {
        const struct hn_launch_step *step = &launch->steps[i];
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
    }
}

static void append_tensors(struct hn_text *text, const struct hn_launch *launch)
{
    for (size_t i = 0; i < launch->tensor_count; i++)
        hn_tensor_append(text, &launch->tensors[i]);
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

/* Scalars and the sizes of buffers are not in the code but decide what it does. */
static enum hn_status append_arguments(struct hn_text *text, const struct hn_task *task,
                                       const struct hn_bindings *point, struct hn_error *err)
{
    const struct hn_plan *plan = task->plan;
    struct hn_value *values;
    enum hn_status status = hn_plan_values(plan, task->problem, point, &values, err);
    if (status != HN_OK)
        return status;
    for (size_t i = 0; status == HN_OK && i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        const struct hn_expression *expression =
            argument->count != NULL ? argument->count : argument->value;
        struct hn_value value = hn_boolean(true);
        bool applies = false;
        status = hn_expression_holds(argument->condition, values, &applies, err);
        if (status == HN_OK && applies && expression != NULL)
            status = hn_expression_evaluate(expression, values, &value, err);
        if (status == HN_OK) {
            hn_text_append(text, applies ? " " : " -");
            hn_value_append(text, &value);
        }
    }
    free(values);
    return status;
}

/* What is right may depend on the point. */
static enum hn_status append_depends(struct hn_text *text, const struct hn_task *task,
                                     const struct hn_bindings *point, struct hn_error *err)
{
    struct hn_bindings depends;
    enum hn_status status = hn_task_depends(task, point, &depends, err);
    if (status != HN_OK)
        return status;
    hn_text_append(text, " ");
    hn_bindings_append(text, &depends);
    hn_bindings_finish(&depends);
    return HN_OK;
}

/* Points have grids of their own where these depend on what the device has room for. */
static void append_clusters(struct hn_text *text, const struct hn_task *task,
                            const struct hn_launch *launch, const struct hn_bindings *point)
{
    for (size_t i = 0; i < launch->step_count; i++) {
        if (!hn_plan_asks_clusters(task->plan, launch->steps[i].step))
            continue;
        hn_text_append(text, " ");
        hn_bindings_append(text, point);
    }
}

static enum hn_status make_key(const struct hn_task *task, const struct hn_launch *launch,
                               const struct hn_bindings *point, const struct hn_image *image,
                               char key[33], struct hn_error *err)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_text_append(&text, image->code_hash);
    append_geometry(&text, launch);
    append_tensors(&text, launch);
    append_flow(&text, launch);
    append_clusters(&text, task, launch, point);
    enum hn_status status = append_arguments(&text, task, point, err);
    if (status == HN_OK)
        status = append_depends(&text, task, point, err);
    char *whole = hn_needed(hn_text_take(&text));
    if (status == HN_OK) {
        struct hn_hash hash = hn_hash_string(whole);
        memcpy(key, hash.hex, sizeof hash.hex);
    }
    free(whole);
    return status;
}

enum hn_status hn_task_complete_image(const struct hn_task *task, const struct hn_device *device,
                                      const struct hn_bindings *point, struct hn_image *image,
                                      char key[33], struct hn_error *err)
{
    struct hn_launch launch;
    struct hn_record record;
    hn_record_init(&record);
    enum hn_status status =
        hn_launch_make_checked(task->plan, device, task->problem, point, &launch, &record, err);
    if (record.outcome != HN_OUTCOME_OK)
        refuse(image, record.outcome, record.message != NULL ? record.message : "no message");
    hn_record_finish(&record);
    key[0] = '\0';
    if (launch.step_count == 0)
        return status;
    image->resources.occupancy = occupancy_of(&launch, device, &image->resources);
    hn_launch_note_shared(&launch, &image->resources);
    check_fit(&launch, device, image);
    struct hn_error reason = {0};
    status = check_arguments(task, &launch, point, image, &reason);
    if (status == HN_ECONFIG) {
        refuse(image, HN_OUTCOME_INVALID_LAUNCH, reason.message);
        status = HN_OK;
    }
    check_warnings(task->plan, image);
    status = status == HN_OK ? make_key(task, &launch, point, image, key, err)
                             : hn_fail(err, status, "%s", reason.message);
    hn_launch_finish(&launch);
    return status;
}

enum hn_status hn_task_check_default(const struct hn_task *task, const struct hn_bindings *point,
                                     const struct hn_image *image, struct hn_error *err)
{
    struct hn_launch launch;
    struct hn_error reason;
    enum hn_status status = hn_launch_make(task->plan, task->problem, point, &launch, &reason);
    if (status == HN_EVALUE)
        return HN_OK;
    if (status != HN_OK)
        return hn_fail(err, status, "%s", reason.message);
    status = check_arguments(task, &launch, point, image, &reason);
    hn_launch_finish(&launch);
    return status == HN_OK ? HN_OK
                           : hn_fail(err, status, "%s: %s (at the default point)",
                                     task->config->path, reason.message);
}
