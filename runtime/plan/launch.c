/* SPDX-License-Identifier: MIT */
#include "runtime/plan/launch.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/plan/flow.h"

static enum hn_status make_steps(const struct hn_plan *plan, const struct hn_value *values,
                                 struct hn_launch *launch, struct hn_error *err)
{
    launch->steps = calloc(plan->step_count > 0 ? plan->step_count : 1, sizeof *launch->steps);
    enum hn_status status = launch->steps == NULL ? hn_fail_memory(err) : HN_OK;
    for (size_t i = 0; status == HN_OK && i < plan->step_count; i++) {
        bool applies = false;
        status = hn_step_applies(&plan->steps[i], values, &applies, err);
        if (status == HN_OK && applies)
            status = hn_launch_evaluate_step(&plan->steps[i], values,
                                             &launch->steps[launch->step_count++], err);
    }
    return status;
}

static bool is_passed(const struct hn_launch *launch, size_t argument)
{
    for (size_t s = 0; s < launch->step_count; s++)
        for (size_t i = 0; i < launch->steps[s].step->argument_count; i++)
            if (launch->steps[s].step->arguments[i] == argument)
                return true;
    return false;
}

bool hn_launch_takes(const struct hn_launch *launch, size_t argument)
{
    for (size_t i = 0; i < launch->tensor_count; i++)
        if (launch->tensors[i].buffer == argument)
            return true;
    return is_passed(launch, argument);
}

static enum hn_status make_tensors(const struct hn_plan *plan, const struct hn_value *values,
                                   struct hn_launch *launch, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    if (!hn_plan_has_role(plan, HN_ROLE_TENSOR_MAP))
        return HN_OK;
    launch->tensors = calloc(plan->argument_count, sizeof *launch->tensors);
    if (launch->tensors == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < plan->argument_count && status == HN_OK; i++) {
        if (plan->arguments[i].role != HN_ROLE_TENSOR_MAP || !is_passed(launch, i))
            continue;
        struct hn_tensor *tensor = &launch->tensors[launch->tensor_count++];
        size_t buffer = hn_plan_source(plan, i);
        status = hn_argument_evaluate_tensor(&plan->arguments[i], &plan->arguments[buffer], values,
                                             tensor, err);
        tensor->argument = i;
        tensor->buffer = buffer;
    }
    return status;
}

static enum hn_status make_from(const struct hn_plan *plan, struct hn_value *values,
                                bool sequential, struct hn_launch *launch, struct hn_error *err)
{
    *launch = (struct hn_launch){.steps = NULL};
    enum hn_status status = make_steps(plan, values, launch, err);
    if (status == HN_OK)
        status = make_tensors(plan, values, launch, err);
    if (status == HN_OK && plan->pipeline != NULL)
        status = hn_flow_make(plan, values, sequential, launch->steps, launch->step_count,
                              &launch->flow, err);
    if (status != HN_OK)
        hn_launch_finish(launch);
    return status;
}

static enum hn_status make(const struct hn_plan *plan, const struct hn_bindings *problem,
                           const struct hn_bindings *point, int64_t clusters, bool sequential,
                           struct hn_launch *launch, struct hn_error *err)
{
    struct hn_value *values = NULL;
    *launch = (struct hn_launch){.steps = NULL};
    enum hn_status status = hn_plan_values(plan, problem, point, &values, err);
    if (status == HN_OK && clusters > 0)
        hn_plan_set_clusters(plan, values, clusters);
    if (status == HN_OK)
        status = make_from(plan, values, sequential, launch, err);
    free(values);
    return status;
}

enum hn_status hn_launch_make(const struct hn_plan *plan, const struct hn_bindings *problem,
                              const struct hn_bindings *point, struct hn_launch *launch,
                              struct hn_error *err)
{
    return make(plan, problem, point, 0, false, launch, err);
}

/* What is passed, and what the point is compiled with. */
static enum hn_status check_values(const struct hn_plan *plan, const struct hn_value *values,
                                   struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        bool applies = false;
        uint64_t ignored;
        status = hn_argument_applies(argument, values, &applies, err);
        if (status == HN_OK && applies && argument->value != NULL)
            status = hn_argument_evaluate_scalar(argument, values, &ignored, err);
        if (status == HN_OK && applies && argument->count != NULL)
            status = hn_argument_buffer_bytes(argument, values, &ignored, err);
        if (status == HN_OK && applies)
            status = hn_argument_evaluate_align(argument, values, &ignored, err);
    }
    for (size_t i = 0; status == HN_OK && i < plan->option_count; i++) {
        const struct hn_option *option = &plan->options[i];
        struct hn_value value = hn_boolean(true);
        if (option->condition != NULL)
            status = hn_expression_evaluate(option->condition, values, &value, err);
        bool given = hn_value_truth(&value);
        for (size_t h = 0; status == HN_OK && given && h < option->hole_count; h++)
            status = hn_expression_evaluate(option->holes[h], values, &value, err);
    }
    return status;
}

enum hn_status hn_launch_make_checked(const struct hn_plan *plan, const struct hn_device *device,
                                      const struct hn_bindings *problem,
                                      const struct hn_bindings *point, struct hn_launch *launch,
                                      struct hn_record *record, struct hn_error *err)
{
    struct hn_value *values = NULL;
    struct hn_error reason;
    *launch = (struct hn_launch){.steps = NULL};
    enum hn_status status = hn_plan_values(plan, problem, point, &values, &reason);
    if (status == HN_OK)
        status = check_values(plan, values, &reason);
    if (status == HN_OK)
        status = make_from(plan, values, false, launch, &reason);
    free(values);
    if (status == HN_EVALUE)
        hn_record_fail(record, HN_OUTCOME_INVALID_LAUNCH, "%s", reason.message);
    else if (status != HN_OK)
        return hn_fail(err, status, "%s", reason.message);
    else
        hn_launch_check(launch, device, record);
    return HN_OK;
}

enum hn_status hn_launch_make_recorded(const struct hn_plan *plan,
                                       const struct hn_bindings *problem,
                                       const struct hn_record *record, struct hn_launch *launch,
                                       struct hn_error *err)
{
    return make(plan, problem, &record->point, record->active_clusters, false, launch, err);
}

enum hn_status hn_launch_make_sequential(const struct hn_plan *plan,
                                         const struct hn_bindings *problem,
                                         const struct hn_bindings *point, struct hn_launch *launch,
                                         struct hn_error *err)
{
    return make(plan, problem, point, 0, true, launch, err);
}

void hn_launch_finish(struct hn_launch *launch)
{
    hn_flow_destroy(launch->flow);
    free(launch->tensors);
    free(launch->steps);
    *launch = (struct hn_launch){.steps = NULL};
}

enum hn_status hn_launch_make_step(const struct hn_plan *plan, const struct hn_step *step,
                                   const struct hn_bindings *problem,
                                   const struct hn_bindings *point, struct hn_launch_step *launch,
                                   struct hn_error *err)
{
    struct hn_value *values = NULL;
    enum hn_status status = hn_plan_values(plan, problem, point, &values, err);
    if (status == HN_OK)
        status = hn_launch_evaluate_step(step, values, launch, err);
    free(values);
    return status;
}

/* "64x32", without trailing ones. */
static void append_dimensions(struct hn_text *text, const int64_t *dimensions)
{
    int last = dimensions[2] != 1 ? 2 : dimensions[1] != 1 ? 1 : 0;
    for (int i = 0; i <= last; i++)
        hn_text_printf(text, "%s%lld", i > 0 ? "x" : "", (long long)dimensions[i]);
}

/* False, with why a point is an invalid launch. */
#define REFUSE(record, ...)                                                                        \
    (hn_record_fail((record), HN_OUTCOME_INVALID_LAUNCH, __VA_ARGS__), false)

static bool check_dimensions(const char *what, const int64_t *dimensions, const int *limits,
                             const struct hn_device *device, struct hn_record *record)
{
    int axis = 0;
    while (axis < 3 && dimensions[axis] >= 1 && dimensions[axis] <= limits[axis])
        axis++;
    if (axis == 3)
        return true;
    struct hn_text text;
    hn_text_init(&text);
    append_dimensions(&text, dimensions);
    (void)REFUSE(record, "%s %s has %lld in %c; %s takes 1 to %d", what,
                 text.data != NULL ? text.data : "", (long long)dimensions[axis], "xyz"[axis],
                 device -> identity.name, limits[axis]);
    hn_text_finish(&text);
    return false;
}

static bool check_threads(const int64_t *block, const struct hn_device *device,
                          struct hn_record *record)
{
    int64_t threads = block[0] * block[1] * block[2];
    if (threads <= device->max_threads_per_block)
        return true;
    struct hn_text text;
    hn_text_init(&text);
    append_dimensions(&text, block);
    (void)REFUSE(record, "block %s has %lld threads; %s takes %d",
                 text.data != NULL ? text.data : "", (long long)threads, device->identity.name,
                 device->max_threads_per_block);
    hn_text_finish(&text);
    return false;
}

static bool check_shared(int64_t bytes, const struct hn_device *device, struct hn_record *record)
{
    return (bytes >= 0 && bytes <= device->shared_per_block_optin) ||
           REFUSE(record, "%lld bytes of dynamic shared memory; %s takes 0 to %d", (long long)bytes,
                  device->identity.name, device->shared_per_block_optin);
}

/* Blocks of a cluster: 8 on every device that has clusters, 16 where a kernel may have more (CUDA
 * C++ Programming Guide, "Thread Block Clusters"). */
static bool check_cluster(const struct hn_launch_step *step, const struct hn_device *device,
                          struct hn_record *record)
{
    static const int limits[3] = {HN_MAX_CLUSTER, HN_MAX_CLUSTER, HN_MAX_CLUSTER};
    const int64_t *cluster = step->cluster;
    if (!hn_launch_step_has_clusters(step))
        return true;
    if (!device->cluster_launch)
        return REFUSE(record,
                      "a launch in clusters; %s has none (compute capability %d.%d, from 9.0 on)",
                      device->identity.name, device->identity.capability / 10,
                      device->identity.capability % 10);
    if (!check_dimensions("cluster", cluster, limits, device, record))
        return false;
    int64_t blocks = cluster[0] * cluster[1] * cluster[2];
    if (blocks > HN_MAX_CLUSTER)
        return REFUSE(record, "a cluster of %lld blocks; the largest has %d", (long long)blocks,
                      HN_MAX_CLUSTER);
    for (int i = 0; i < 3; i++)
        if (step->grid[i] % cluster[i] != 0)
            return REFUSE(record,
                          "a grid of %lld blocks in %c is no multiple of its clusters' %lld",
                          (long long)step->grid[i], "xyz"[i], (long long)cluster[i]);
    return true;
}

/* Such launches came with compute capability 9.0 (CUDA C++ Programming Guide, "Programmatic
 * Dependent Launch and Synchronization"). What a program launched before is none of ours. */
static bool check_programmatic(const struct hn_launch_step *step, bool first,
                               const struct hn_device *device, struct hn_record *record)
{
    if (!step->programmatic)
        return true;
    if (first)
        return REFUSE(record, "the first step is programmatic; there is none before it");
    return device->identity.capability >= 90 ||
           REFUSE(record,
                  "a programmatic launch; %s has none (compute capability %d.%d, from 9.0 on)",
                  device->identity.name, device->identity.capability / 10,
                  device->identity.capability % 10);
}

static bool check_step(const struct hn_launch_step *step, bool first,
                       const struct hn_device *device, struct hn_record *record)
{
    if (step->carveout < HN_NO_CARVEOUT || step->carveout > 100)
        return REFUSE(record, "a carve-out of %lld percent; expected 0 to 100, or -1 for none",
                      (long long)step->carveout);
    return check_dimensions("block", step->block, device->max_block, device, record) &&
           check_threads(step->block, device, record) &&
           check_dimensions("grid", step->grid, device->max_grid, device, record) &&
           check_cluster(step, device, record) && check_programmatic(step, first, device, record) &&
           check_shared(step->shared_bytes, device, record) &&
           hn_l2_window_check(&step->window, device, record);
}

/* What a chunk launches; of a plan without a pipeline there is only the whole. */
static bool check_chunks(const struct hn_launch *launch, const struct hn_device *device,
                         struct hn_record *record)
{
    const struct hn_flow *flow = launch->flow;
    if (flow->why[0] != '\0')
        return REFUSE(record, "%s", flow->why);
    for (size_t c = 0; c < flow->chunk_count; c++)
        for (size_t s = 0; s < launch->step_count; s++)
            if (!check_step(&flow->chunks[c].steps[s], s == 0, device, record))
                return false;
    return true;
}

/* The accelerator came with compute capability 9.0 (CUDA C++ Programming Guide, "Asynchronous Data
 * Copies using the Tensor Memory Accelerator"). */
static bool check_tensors(const struct hn_launch *launch, const struct hn_device *device,
                          struct hn_record *record)
{
    for (size_t i = 0; i < launch->tensor_count; i++) {
        char why[HN_TENSOR_WHY];
        if (device->identity.capability < 90)
            snprintf(why, sizeof why,
                     "tensor map '%.60s'; %.80s has none (compute capability %d.%d, from 9.0 on)",
                     launch->tensors[i].name, device->identity.name,
                     device->identity.capability / 10, device->identity.capability % 10);
        else if (hn_tensor_check(&launch->tensors[i], why))
            continue;
        return REFUSE(record, "%s", why);
    }
    return true;
}

bool hn_launch_check(const struct hn_launch *launch, const struct hn_device *device,
                     struct hn_record *record)
{
    if (launch->step_count == 0)
        return REFUSE(record, "no step is launched: no 'if' holds");
    if (!check_tensors(launch, device, record))
        return false;
    if (launch->flow != NULL)
        return check_chunks(launch, device, record);
    for (size_t i = 0; i < launch->step_count; i++)
        if (!check_step(&launch->steps[i], i == 0, device, record))
            return false;
    return true;
}

void hn_launch_fit_clusters(const struct hn_plan *plan, const struct hn_device *device,
                            struct hn_value *values, int64_t clusters, struct hn_launch_step *step,
                            struct hn_record *record)
{
    struct hn_error reason;
    record->active_clusters = (int)clusters;
    hn_plan_set_clusters(plan, values, clusters);
    if (hn_launch_evaluate_grid(values, step, &reason) != HN_OK)
        hn_record_fail(record, HN_OUTCOME_INVALID_LAUNCH, "%s", reason.message);
    else
        check_step(step, !step->programmatic, device, record);
}

bool hn_launch_try(const struct hn_plan *plan, const struct hn_device *device,
                   const struct hn_bindings *problem, const struct hn_bindings *point,
                   struct hn_launch *launch, struct hn_value **values)
{
    struct hn_record record;
    struct hn_value *own = NULL;
    *launch = (struct hn_launch){.steps = NULL};
    if (hn_plan_values(plan, problem, point, &own, NULL) != HN_OK)
        return false;
    hn_record_init(&record);
    bool can = hn_plan_allows_values(plan, own) &&
               make_from(plan, own, false, launch, NULL) == HN_OK &&
               hn_launch_check(launch, device, &record);
    hn_record_finish(&record);
    if (!can)
        hn_launch_finish(launch);
    if (can && values != NULL)
        *values = own;
    else
        free(own);
    return can;
}

static int64_t most_shared(const struct hn_launch_step *steps, size_t count, int64_t most)
{
    for (size_t i = 0; i < count; i++)
        if (steps[i].shared_bytes > most)
            most = steps[i].shared_bytes;
    return most;
}

void hn_launch_note_shared(const struct hn_launch *launch, struct hn_resources *resources)
{
    const struct hn_flow *flow = launch->flow;
    int64_t most = 0;
    if (flow == NULL)
        most = most_shared(launch->steps, launch->step_count, most);
    for (size_t c = 0; flow != NULL && c < flow->chunk_count; c++)
        most = most_shared(flow->chunks[c].steps, launch->step_count, most);
    resources->dynamic_shared_bytes = most < INT_MAX ? (int)most : INT_MAX;
}

static bool asks_for_shared(const struct hn_plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].geometry.shared_bytes != NULL)
            return true;
    return false;
}

void hn_launch_recall_shared(const struct hn_plan *plan, const struct hn_bindings *problem,
                             struct hn_record *record)
{
    struct hn_launch launch;
    struct hn_error ignored;
    if (!record->resources.known || record->resources.dynamic_shared_bytes != 0 ||
        !asks_for_shared(plan) ||
        hn_launch_make(plan, problem, &record->point, &launch, &ignored) != HN_OK)
        return;
    hn_launch_note_shared(&launch, &record->resources);
    hn_launch_finish(&launch);
}
