/* SPDX-License-Identifier: MIT */
#include "runtime/plan/launch.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char expected_access[] = "normal, streaming or persisting";

void hn_l2_window_evaluate(const struct hn_window_plan *plan, const struct hn_value *values,
                           struct hn_l2_window *window, struct hn_error *err)
{
    struct hn_expression *const *parts = plan->parts;
    int hit = HN_ACCESS_PERSISTING, miss = HN_ACCESS_STREAMING;
    *window = (struct hn_l2_window){.hit_ratio = 1.0};
    if (parts[HN_WINDOW_BYTES] != NULL) {
        hn_expression_integer(parts[HN_WINDOW_BYTES], values, &window->bytes, err);
        hn_expression_number(parts[HN_WINDOW_HIT_RATIO], values, &window->hit_ratio, err);
        hn_evaluate_word(values, parts[HN_WINDOW_HIT], hn_access_names, HN_ACCESS_COUNT,
                         expected_access, &hit, err);
        hn_evaluate_word(values, parts[HN_WINDOW_MISS], hn_access_names, HN_ACCESS_COUNT,
                         expected_access, &miss, err);
        hn_expression_integer(parts[HN_WINDOW_SET_ASIDE], values, &window->set_aside, err);
    }
    window->hit = (enum hn_access)hit;
    window->miss = (enum hn_access)miss;
}

/* False, with why a point is an invalid launch. */
#define REFUSE(record, ...)                                                                        \
    (hn_record_fail((record), HN_OUTCOME_INVALID_LAUNCH, __VA_ARGS__), false)

/* A launch of a kind that came with a later compute capability. */
static bool refuse_kind(const char *kind, const char *from, const struct hn_device *device,
                        struct hn_record *record)
{
    int capability = device->identity.capability;
    return REFUSE(record, "%s; %.80s has none (compute capability %d.%d, from %s on)", kind,
                  device->identity.name, capability / 10, capability % 10, from);
}

static bool check_bytes(const char *before, int64_t bytes, const char *behind, int limit,
                        const struct hn_device *device, struct hn_record *record)
{
    return (bytes >= 0 && bytes <= limit) ||
           REFUSE(record, "%s%lld bytes%s; %s takes 0 to %d", before, (long long)bytes, behind,
                  device->identity.name, limit);
}

/* Windows came with compute capability 8.0; in MIG mode nothing can be set aside (CUDA C++ Best
 * Practices Guide, "L2 Cache Set-Aside for Persisting Accesses"). False with the message, as "a
 * set-aside of 41943040 bytes of L2 cache; NVIDIA H200 takes 0 to 39321600". */
static bool check_window(const struct hn_l2_window *window, const struct hn_device *device,
                         struct hn_record *record)
{
    if (window->bytes == 0 && window->set_aside == 0)
        return true;
    if (device->max_access_window_bytes == 0)
        return refuse_kind("an L2 window", "8.0", device, record);
    if (window->set_aside > 0 && device->identity.mig_profile[0] != '\0')
        return REFUSE(record,
                      "a set-aside of %lld bytes of L2 cache; %s MIG %s takes none: MIG mode "
                      "does not allow it",
                      (long long)window->set_aside, device->identity.name,
                      device->identity.mig_profile);
    if (!check_bytes("an L2 window of ", window->bytes, "", device->max_access_window_bytes, device,
                     record) ||
        !check_bytes("a set-aside of ", window->set_aside, " of L2 cache",
                     device->max_persisting_l2_bytes, device, record))
        return false;
    if (!(window->hit_ratio >= 0.0 && window->hit_ratio <= 1.0))
        return REFUSE(record, "a hit ratio of %g of an L2 window; expected 0 to 1",
                      window->hit_ratio);
    return window->miss != HN_ACCESS_PERSISTING ||
           REFUSE(record, "misses of an L2 window are persisting; expected normal or streaming");
}

void hn_l2_window_append(struct hn_text *text, const struct hn_l2_window *window)
{
    struct hn_value ratio = hn_real(window->hit_ratio);
    if (window->bytes > 0) {
        hn_text_printf(text, " window %lld ", (long long)window->bytes);
        hn_value_append(text, &ratio);
        hn_text_printf(text, " %s %s", hn_access_names[window->hit], hn_access_names[window->miss]);
    }
    if (window->set_aside > 0)
        hn_text_printf(text, " set-aside %lld", (long long)window->set_aside);
}

bool hn_launch_step_has_clusters(const struct hn_launch_step *step)
{
    return step->cluster[0] != 1 || step->cluster[1] != 1 || step->cluster[2] != 1;
}

static void evaluate_dimensions(const struct hn_value *values,
                                struct hn_expression *const *expressions, int64_t *dimensions,
                                struct hn_error *err)
{
    for (size_t i = 0; i < 3; i++) {
        dimensions[i] = 1;
        hn_expression_integer(expressions[i], values, &dimensions[i], err);
    }
}

static void evaluate_step(const struct hn_step *step, const struct hn_value *values,
                          struct hn_launch_step *launch, struct hn_error *err)
{
    const struct hn_geometry *geometry = &step->geometry;
    *launch = (struct hn_launch_step){.step = step, .carveout = HN_NO_CARVEOUT};
    evaluate_dimensions(values, geometry->grid, launch->grid, err);
    evaluate_dimensions(values, geometry->block, launch->block, err);
    evaluate_dimensions(values, geometry->cluster, launch->cluster, err);
    hn_expression_integer(geometry->shared_bytes, values, &launch->shared_bytes, err);
    hn_expression_integer(geometry->carveout, values, &launch->carveout, err);
    launch->cooperative =
        geometry->cooperative != NULL && hn_expression_holds(geometry->cooperative, values, err);
    launch->programmatic =
        geometry->programmatic != NULL && hn_expression_holds(geometry->programmatic, values, err);
    hn_l2_window_evaluate(&geometry->window, values, &launch->window, err);
}

const char *const hn_order_names[HN_ORDER_COUNT] = {
    [HN_DEPTH_FIRST] = "depth_first",
    [HN_BREADTH_FIRST] = "breadth_first",
};
const char *const hn_host_memory_names[HN_HOST_MEMORY_COUNT] = {
    [HN_HOST_PAGEABLE] = "pageable", [HN_HOST_REGISTERED] = "registered",
    [HN_HOST_PINNED] = "pinned",     [HN_HOST_WRITE_COMBINED] = "write_combined",
    [HN_HOST_MAPPED] = "mapped",     [HN_HOST_MANAGED] = "managed",
};
const char *const hn_pipeline_keys[HN_PIPELINE_FIELD_COUNT] = {HN_PIPELINE_FIELDS(HN_NAMED)};
const char *const hn_chunk_names[HN_CHUNK_NAMES] = {
    [HN_CHUNK_BEGIN] = "chunk_begin",
    [HN_CHUNK_COUNT] = "chunk_count",
    [HN_CHUNK_INDEX] = "chunk_index",
};

/* A buffer that is cut has the same number of elements, or of rows, for each unit. */
static void check_counts(const struct hn_plan *plan, const struct hn_value *values,
                         struct hn_flow *flow, struct hn_error *err)
{
    for (size_t i = 0; i < plan->argument_count && flow->why[0] == '\0'; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        unsigned char parts = flow->pipeline->parts[i];
        bool rows = argument->shape.height != NULL;
        int64_t count = 0;
        if ((parts & HN_PART_CUT) == 0)
            continue;
        hn_expression_integer(rows ? argument->shape.height : argument->count, values, &count, err);
        if (hn_failed(err) || count % hn_flow_units(flow, i) == 0)
            continue;
        snprintf(flow->why, sizeof flow->why,
                 "the %lld %s of '%.60s' cannot be cut into %lld equal units ('over'%s",
                 (long long)count, rows ? "rows" : "elements", argument->name,
                 (long long)hn_flow_units(flow, i),
                 (parts & HN_PART_PADDED) != 0   ? " and 'padding')"
                 : (parts & HN_PART_UPLOAD) != 0 ? "); an input with a border is 'padded'"
                                                 : ")");
    }
}

static void evaluate_fields(const struct hn_plan *plan, const struct hn_value *values,
                            bool sequential, struct hn_flow *flow, int64_t *granule,
                            struct hn_error *err)
{
    struct hn_expression *const *fields = flow->pipeline->fields;
    int64_t chunks = 1, streams = 1;
    int order = HN_DEPTH_FIRST, memory = HN_HOST_PINNED;
    const struct {
        enum hn_pipeline_field field;
        int64_t *to, least, most;
    } numbers[] = {
        {HN_PIPELINE_OVER, &flow->over, 1, INT64_MAX / 2},
        {HN_PIPELINE_GRANULE, granule, 1, INT64_MAX / 2},
        {HN_PIPELINE_HALO, &flow->halo, 0, INT64_MAX / 2},
        {HN_PIPELINE_PADDING, &flow->padding, 0, INT64_MAX / 4},
        {HN_PIPELINE_PIECES, &flow->pieces, 1, 1 << 20},
        {HN_PIPELINE_CHUNKS, &chunks, 1, HN_MAX_CHUNKS},
        {HN_PIPELINE_STREAMS, &streams, 1, HN_MAX_STREAMS},
    };
    size_t count = sizeof numbers / sizeof *numbers;
    flow->pieces = 1;
    for (size_t i = 0; i < (sequential ? count - 2 : count); i++)
        hn_expression_integer(fields[numbers[i].field], values, numbers[i].to, err);
    hn_evaluate_word(values, fields[HN_PIPELINE_ORDER], hn_order_names, HN_ORDER_COUNT,
                     "an order of the pipeline: depth_first or breadth_first", &order, err);
    hn_evaluate_word(values, fields[HN_PIPELINE_HOST_MEMORY], hn_host_memory_names,
                     HN_HOST_MEMORY_COUNT,
                     "a host_memory of the pipeline: pageable, registered, pinned, "
                     "write_combined, mapped or managed",
                     &memory, err);
    if (hn_failed(err))
        return;
    flow->order = (enum hn_order)order;
    flow->host_memory = (enum hn_host_memory)memory;
    for (size_t i = 0; i < count; i++) {
        int64_t found = *numbers[i].to;
        if (found >= numbers[i].least && found <= numbers[i].most)
            continue;
        snprintf(flow->why, sizeof flow->why,
                 "the pipeline has a '%s' of %lld; expected %lld to %lld",
                 hn_pipeline_keys[numbers[i].field], (long long)found, (long long)numbers[i].least,
                 (long long)numbers[i].most);
        return;
    }
    /* Streams without chunks make no difference and are not told apart. */
    flow->streams = (size_t)(streams < chunks ? streams : chunks);
    if (flow->streams == 1)
        flow->order = HN_DEPTH_FIRST;
    flow->chunk_count = (size_t)chunks;
    check_counts(plan, values, flow, err);
}

/* Granules are dealt out so that chunks differ by one at most. */
static void cut(struct hn_flow *flow, int64_t granule)
{
    int64_t granules = (flow->over - 1) / granule + 1, count = (int64_t)flow->chunk_count;
    int64_t each = granules / count, more = granules % count, begin = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t end = begin + (each + (i < more)) * granule;
        if (i == count - 1)
            end = flow->over;
        flow->chunks[i].begin = begin;
        flow->chunks[i].count = end - begin;
        begin = end;
    }
}

static void make_chunks(const struct hn_plan *plan, struct hn_value *values, int64_t granule,
                        const struct hn_launch_step *steps, size_t step_count, struct hn_flow *flow,
                        struct hn_error *err)
{
    flow->chunks = hn_allocate(flow->chunk_count, sizeof *flow->chunks, err);
    if (flow->chunks == NULL)
        return;
    cut(flow, granule);
    for (size_t c = 0; c < flow->chunk_count && !hn_failed(err); c++) {
        struct hn_chunk *chunk = &flow->chunks[c];
        hn_plan_set_chunk(plan, values, chunk->begin, chunk->count, (int64_t)c);
        chunk->steps = hn_allocate(step_count, sizeof *chunk->steps, err);
        for (size_t s = 0; s < step_count && !hn_failed(err); s++)
            evaluate_step(steps[s].step, values, &chunk->steps[s], err);
    }
    hn_plan_set_chunk(plan, values, 0, flow->over, 0);
}

static struct hn_flow *make_flow(const struct hn_plan *plan, struct hn_value *values,
                                 bool sequential, const struct hn_launch_step *steps,
                                 size_t step_count, struct hn_error *err)
{
    const struct hn_pipeline *pipeline = plan->pipeline;
    int64_t granule = 1;
    struct hn_flow *flow = hn_allocate(1, sizeof *flow, err);
    if (flow == NULL)
        return NULL;
    flow->copies = hn_allocate(pipeline->copy_count, sizeof *flow->copies, err);
    flow->pipeline = pipeline;
    evaluate_fields(plan, values, sequential, flow, &granule, err);
    for (size_t i = 0; flow->copies != NULL && i < pipeline->copy_count; i++)
        flow->copies[i] = hn_expression_holds(pipeline->copies[i].condition, values, err);
    if (hn_failed(err))
        return flow;
    int64_t granules = flow->why[0] == '\0' ? (flow->over - 1) / granule + 1 : 0;
    if (flow->why[0] == '\0' && (int64_t)flow->chunk_count > granules)
        snprintf(flow->why, sizeof flow->why,
                 "%zu chunks of an extent of %lld, which has %lld granule%s of %lld",
                 flow->chunk_count, (long long)flow->over, (long long)granules,
                 granules == 1 ? "" : "s", (long long)granule);
    /* A buffer that is not cut is copied once or not at all. */
    bool often = flow->why[0] == '\0' && flow->chunk_count > 1;
    for (size_t i = 0; often && i < pipeline->copy_count; i++) {
        const struct hn_copy_step *copy = &pipeline->copies[i];
        for (size_t j = 0; flow->copies[i] && j < copy->argument_count; j++)
            if ((pipeline->parts[copy->arguments[j]] & HN_PART_CUT) == 0)
                snprintf(flow->why, sizeof flow->why,
                         "a step copies all of '%.60s' for each of %zu chunks; list it under 'cut'",
                         plan->arguments[copy->arguments[j]].name, flow->chunk_count);
    }
    if (flow->why[0] == '\0')
        make_chunks(plan, values, granule, steps, step_count, flow, err);
    else
        flow->chunk_count = 0;
    return flow;
}

static int64_t upload_end(const struct hn_flow *flow, size_t chunk)
{
    int64_t end = flow->chunks[chunk].begin + flow->chunks[chunk].count;
    return flow->halo < flow->over - end ? end + flow->halo : flow->over;
}

static int64_t padding_of(const struct hn_flow *flow, size_t argument)
{
    return (flow->pipeline->parts[argument] & HN_PART_PADDED) != 0 ? flow->padding : 0;
}

int64_t hn_flow_units(const struct hn_flow *flow, size_t argument)
{
    return flow->over + padding_of(flow, argument);
}

void hn_flow_upload_range(const struct hn_flow *flow, size_t argument, size_t chunk, int64_t *from,
                          int64_t *to)
{
    int64_t padding = padding_of(flow, argument);
    *from = chunk == 0 ? 0 : upload_end(flow, chunk - 1) + padding;
    *to = upload_end(flow, chunk) + padding;
}

bool hn_flow_needs_upload(const struct hn_flow *flow, size_t chunk, size_t earlier)
{
    return upload_end(flow, earlier) + flow->padding > flow->chunks[chunk].begin - flow->halo;
}

void hn_flow_describe(const struct hn_flow *flow, char *text, size_t size)
{
    snprintf(text, size, "%zu chunk%s in %zu stream%s, %s, %s", flow->chunk_count,
             flow->chunk_count == 1 ? "" : "s", flow->streams, flow->streams == 1 ? "" : "s",
             hn_order_names[flow->order], hn_host_memory_names[flow->host_memory]);
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

static void make_tensors(const struct hn_plan *plan, const struct hn_value *values,
                         struct hn_launch *launch, struct hn_error *err)
{
    if (hn_failed(err) || !hn_plan_has_role(plan, HN_ROLE_TENSOR_MAP))
        return;
    launch->tensors = hn_allocate(plan->argument_count, sizeof *launch->tensors, err);
    for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++) {
        if (plan->arguments[i].role != HN_ROLE_TENSOR_MAP || !is_passed(launch, i))
            continue;
        struct hn_tensor *tensor = &launch->tensors[launch->tensor_count++];
        size_t buffer = hn_plan_source(plan, i);
        hn_argument_evaluate_tensor(&plan->arguments[i], &plan->arguments[buffer], values, tensor,
                                    err);
        tensor->argument = i;
        tensor->buffer = buffer;
    }
}

static void make_from(const struct hn_plan *plan, struct hn_value *values, bool sequential,
                      struct hn_launch *launch, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    launch->steps = hn_allocate(plan->step_count, sizeof *launch->steps, err);
    for (size_t i = 0; i < plan->step_count; i++)
        if (hn_expression_holds(plan->steps[i].condition, values, err))
            evaluate_step(&plan->steps[i], values, &launch->steps[launch->step_count++], err);
    make_tensors(plan, values, launch, err);
    if (plan->pipeline != NULL && !hn_failed(err))
        launch->flow = make_flow(plan, values, sequential, launch->steps, launch->step_count, err);
    if (hn_failed(err))
        hn_launch_finish(launch);
}

enum hn_status hn_launch_make_as(const struct hn_plan *plan, const struct hn_bindings *problem,
                                 const struct hn_bindings *point, int64_t clusters, bool sequential,
                                 struct hn_launch *launch, struct hn_error *err)
{
    struct hn_value *values HN_FREED = NULL;
    struct hn_error own;
    err = hn_error_begin(err, &own);
    *launch = (struct hn_launch){.steps = NULL};
    if (hn_plan_values(plan, problem, point, &values, err) == HN_OK && clusters > 0)
        values[hn_plan_slot_count(plan)] = hn_integer(clusters);
    make_from(plan, values, sequential, launch, err);
    return err->status;
}

enum hn_status hn_launch_make(const struct hn_plan *plan, const struct hn_bindings *problem,
                              const struct hn_bindings *point, struct hn_launch *launch,
                              struct hn_error *err)
{
    return hn_launch_make_as(plan, problem, point, 0, false, launch, err);
}

/* Checks the values that are passed, and those that the point is compiled with. */
static void check_values(const struct hn_plan *plan, const struct hn_value *values,
                         struct hn_error *err)
{
    for (size_t i = 0; i < plan->argument_count && !hn_failed(err); i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        bool applies = hn_expression_holds(argument->condition, values, err);
        uint64_t ignored;
        if (applies && argument->value != NULL)
            hn_argument_evaluate_scalar(argument, values, &ignored, err);
        if (applies && argument->count != NULL)
            hn_argument_buffer_bytes(argument, values, &ignored, err);
        if (applies)
            hn_argument_evaluate_align(argument, values, &ignored, err);
    }
    for (size_t i = 0; i < plan->option_count && !hn_failed(err); i++) {
        const struct hn_option *option = &plan->options[i];
        struct hn_value value;
        bool given = hn_expression_holds(option->condition, values, err);
        for (size_t h = 0; given && h < option->hole_count && !hn_failed(err); h++)
            hn_expression_evaluate(option->holes[h], values, &value, err);
    }
}

enum hn_status hn_launch_make_checked(const struct hn_plan *plan, const struct hn_device *device,
                                      const struct hn_bindings *problem,
                                      const struct hn_bindings *point, struct hn_launch *launch,
                                      struct hn_record *record, struct hn_error *err)
{
    struct hn_value *values HN_FREED = NULL;
    struct hn_error reason;
    hn_error_init(&reason);
    *launch = (struct hn_launch){.steps = NULL};
    if (hn_plan_values(plan, problem, point, &values, &reason) == HN_OK)
        check_values(plan, values, &reason);
    make_from(plan, values, false, launch, &reason);
    if (reason.status == HN_EVALUE)
        hn_record_fail(record, HN_OUTCOME_INVALID_LAUNCH, "%s", reason.message);
    else if (hn_failed(&reason))
        return hn_fail(err, reason.status, "%s", reason.message);
    else if (plan->program == NULL)
        hn_launch_check(launch, device, record);
    return HN_OK;
}

void hn_launch_finish(struct hn_launch *launch)
{
    struct hn_flow *flow = launch->flow;
    if (flow != NULL) {
        HN_FREE_EACH(chunk, flow->chunks, flow->chunk_count, free(chunk->steps));
        free(flow->copies);
    }
    free(flow);
    free(launch->tensors);
    free(launch->steps);
    *launch = (struct hn_launch){.steps = NULL};
}

enum hn_status hn_launch_make_step(const struct hn_plan *plan, const struct hn_step *step,
                                   const struct hn_bindings *problem,
                                   const struct hn_bindings *point, struct hn_launch_step *launch,
                                   struct hn_error *err)
{
    struct hn_value *values HN_FREED = NULL;
    hn_error_init(err);
    if (hn_plan_values(plan, problem, point, &values, err) == HN_OK)
        evaluate_step(step, values, launch, err);
    return err->status;
}

/* "64x32", without trailing ones. */
enum { DIMENSIONS_TEXT = 72 };
static const char *dimensions_text(const int64_t *dimensions, char text[DIMENSIONS_TEXT])
{
    int last = dimensions[2] != 1 ? 2 : dimensions[1] != 1 ? 1 : 0, used = 0;
    for (int i = 0; i <= last; i++)
        used += snprintf(text + used, (size_t)(DIMENSIONS_TEXT - used), "%s%lld", i > 0 ? "x" : "",
                         (long long)dimensions[i]);
    return text;
}

static bool check_dimensions(const char *what, const int64_t *dimensions, const int *limits,
                             const struct hn_device *device, struct hn_record *record)
{
    char text[DIMENSIONS_TEXT];
    int axis = 0;
    while (axis < 3 && dimensions[axis] >= 1 && dimensions[axis] <= limits[axis])
        axis++;
    return axis == 3 || REFUSE(record, "%s %s has %lld in %c; %s takes 1 to %d", what,
                               dimensions_text(dimensions, text), (long long)dimensions[axis],
                               "xyz"[axis], device -> identity.name, limits[axis]);
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
        return refuse_kind("a launch in clusters", "9.0", device, record);
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

static bool check_step(const struct hn_launch_step *step, bool first,
                       const struct hn_device *device, struct hn_record *record)
{
    char text[DIMENSIONS_TEXT];
    const int64_t *block = step->block;
    if (step->carveout < HN_NO_CARVEOUT || step->carveout > 100)
        return REFUSE(record, "a carve-out of %lld percent; expected 0 to 100, or -1 for none",
                      (long long)step->carveout);
    if (!check_dimensions("block", block, device->max_block, device, record))
        return false;
    int64_t threads = block[0] * block[1] * block[2];
    if (threads > device->max_threads_per_block)
        return REFUSE(record, "block %s has %lld threads; %s takes %d",
                      dimensions_text(block, text), (long long)threads, device->identity.name,
                      device->max_threads_per_block);
    if (!check_dimensions("grid", step->grid, device->max_grid, device, record) ||
        !check_cluster(step, device, record))
        return false;
    /* Such launches came with compute capability 9.0 (CUDA C++ Programming Guide, "Programmatic
     * Dependent Launch and Synchronization"). Launches of the program before ours do not count. */
    if (step->programmatic && first)
        return REFUSE(record, "the first step is programmatic; there is none before it");
    if (step->programmatic && device->identity.capability < 90)
        return refuse_kind("a programmatic launch", "9.0", device, record);
    return check_bytes("", step->shared_bytes, " of dynamic shared memory",
                       device->shared_per_block_optin, device, record) &&
           check_window(&step->window, device, record);
}

/* The steps of a chunk, the first being all where there is no pipeline; NULL behind the last. */
static const struct hn_launch_step *steps_of(const struct hn_launch *launch, size_t chunk)
{
    if (launch->flow == NULL)
        return chunk == 0 ? launch->steps : NULL;
    return chunk < launch->flow->chunk_count ? launch->flow->chunks[chunk].steps : NULL;
}

bool hn_launch_check(const struct hn_launch *launch, const struct hn_device *device,
                     struct hn_record *record)
{
    if (launch->step_count == 0)
        return REFUSE(record, "no step is launched: no 'if' holds");
    /* The accelerator came with compute capability 9.0 (CUDA C++ Programming Guide, "Asynchronous
     * Data Copies using the Tensor Memory Accelerator"). */
    for (size_t i = 0; i < launch->tensor_count; i++) {
        char why[HN_TENSOR_WHY];
        snprintf(why, sizeof why, "tensor map '%.60s'", launch->tensors[i].name);
        if (device->identity.capability < 90)
            return refuse_kind(why, "9.0", device, record);
        if (!hn_tensor_check(&launch->tensors[i], why))
            return REFUSE(record, "%s", why);
    }
    if (launch->flow != NULL && launch->flow->why[0] != '\0')
        return REFUSE(record, "%s", launch->flow->why);
    for (size_t c = 0; steps_of(launch, c) != NULL; c++)
        for (size_t i = 0; i < launch->step_count; i++)
            if (!check_step(&steps_of(launch, c)[i], i == 0, device, record))
                return false;
    return true;
}

void hn_launch_fit_clusters(const struct hn_plan *plan, const struct hn_device *device,
                            struct hn_value *values, int64_t clusters, struct hn_launch_step *step,
                            struct hn_record *record)
{
    struct hn_error reason;
    hn_error_init(&reason);
    record->active_clusters = (int)clusters;
    values[hn_plan_slot_count(plan)] = hn_integer(clusters);
    evaluate_dimensions(values, step->step->geometry.grid, step->grid, &reason);
    if (hn_failed(&reason))
        hn_record_fail(record, HN_OUTCOME_INVALID_LAUNCH, "%s", reason.message);
    else
        check_step(step, !step->programmatic, device, record);
}

bool hn_launch_try(const struct hn_plan *plan, const struct hn_device *device,
                   const struct hn_bindings *problem, const struct hn_bindings *point,
                   struct hn_launch *launch, struct hn_value **values)
{
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    struct hn_launch made = {.steps = NULL};
    struct hn_value *own = NULL;
    struct hn_error reason;
    hn_error_init(&reason);
    if (hn_plan_values(plan, problem, point, &own, NULL) != HN_OK)
        return false;
    bool can = hn_plan_allows_values(plan, own);
    if (can)
        make_from(plan, own, false, &made, &reason);
    can = can && !hn_failed(&reason) &&
          (device == NULL || plan->program != NULL || hn_launch_check(&made, device, &record));
    if (can && launch != NULL)
        *launch = made;
    else
        hn_launch_finish(&made);
    if (can && values != NULL)
        *values = own;
    else
        free(own);
    return can;
}

void hn_launch_note_shared(const struct hn_launch *launch, struct hn_resources *resources)
{
    int64_t most = 0;
    for (size_t c = 0; steps_of(launch, c) != NULL; c++)
        for (size_t i = 0; i < launch->step_count; i++)
            if (steps_of(launch, c)[i].shared_bytes > most)
                most = steps_of(launch, c)[i].shared_bytes;
    resources->dynamic_shared_bytes = most < INT_MAX ? (int)most : INT_MAX;
}

void hn_launch_recall_shared(const struct hn_plan *plan, const struct hn_bindings *problem,
                             struct hn_record *record)
{
    struct hn_launch launch HN_ENDED_BY(hn_launch_finish) = {0};
    bool asks = false;
    for (size_t i = 0; i < plan->step_count; i++)
        asks = asks || plan->steps[i].geometry.shared_bytes != NULL;
    if (!asks || !record->resources.known || record->resources.dynamic_shared_bytes != 0 ||
        hn_launch_make(plan, problem, &record->point, &launch, NULL) != HN_OK)
        return;
    hn_launch_note_shared(&launch, &record->resources);
}

/* A metric sees those before it by their slots. One without a value for this variant is NaN; where
 * it is the objective, the variant cannot be compared, nor with an infinite one. */
static void evaluate_metrics(const struct hn_plan *plan, struct hn_value *values, size_t first_slot,
                             struct hn_record *record, struct hn_error *err)
{
    for (size_t i = 0; i < plan->metric_count && !hn_failed(err); i++) {
        const struct hn_metric *metric = &plan->metrics[i];
        struct hn_value *value = &values[first_slot + i];
        struct hn_error reason;
        double number = NAN;
        hn_error_init(&reason);
        hn_expression_number(metric->expression, values, &number, &reason);
        if (!hn_failed(&reason))
            hn_expression_evaluate(metric->expression, values, value, &reason);
        if (reason.status == HN_EVALUE)
            *value = hn_real((double)NAN);
        if (!isfinite(number) && plan->objective != NULL &&
            strcmp(plan->objective, metric->name) == 0)
            hn_record_fail(record, HN_OUTCOME_SKIPPED,
                           "the objective has no value: metric %s: %.3000s", metric->name,
                           hn_failed(&reason) ? reason.message
                           : isnan(number)    ? "it is made of one without"
                                              : "it is infinite");
        if (hn_failed(&reason) && reason.status != HN_EVALUE)
            hn_fail(err, reason.status, "metric %s: %.3000s", metric->name, reason.message);
        else
            hn_bindings_set(&record->metrics, metric->name, value, err);
    }
}

enum hn_front_by hn_plan_weighs(const struct hn_plan *plan)
{
    for (size_t i = 0; i < plan->metric_count && plan->objective != NULL; i++)
        if (strcmp(plan->metrics[i].name, plan->objective) == 0)
            return HN_FRONT_TIME;
    return plan->objective == NULL ? HN_FRONT_TIME : hn_front_parse(plan->objective);
}

static enum hn_status set_objective(const struct hn_plan *plan, struct hn_record *record,
                                    struct hn_error *err)
{
    double value = record->timing.median_us;
    const enum hn_front_by by = hn_plan_weighs(plan);
    if (by != HN_FRONT_TIME) {
        value = hn_front_objective(record, by);
    } else if (plan->objective != NULL && strcmp(plan->objective, "time") != 0) {
        const struct hn_value *metric = hn_bindings_get(&record->metrics, plan->objective);
        if (metric == NULL)
            return hn_fail(err, HN_ECONFIG, "objective '%s' is no metric", plan->objective);
        value = hn_value_number(metric);
    }
    if (record->outcome != HN_OUTCOME_SKIPPED)
        record->objective = plan->maximize ? -value : value;
    return HN_OK;
}

enum hn_status hn_metrics_evaluate(const struct hn_plan *plan, const struct hn_bindings *problem,
                                   struct hn_record *record, struct hn_error *err)
{
    struct hn_value *values HN_FREED = NULL;
    hn_error_init(err);
    if (hn_plan_values(plan, problem, &record->point, &values, err) != HN_OK)
        return err->status;
    size_t slot = hn_plan_slot_count(plan);
    values[slot++] = hn_real(record->timing.median_us);
    for (size_t i = 0; i < plan->argument_count; i++) {
        if (plan->arguments[i].role != HN_ROLE_METRIC)
            continue;
        const struct hn_value *mean = hn_bindings_get(&record->metrics, plan->arguments[i].name);
        values[slot++] = hn_real(mean != NULL ? hn_value_number(mean) : (double)NAN);
    }
    evaluate_metrics(plan, values, slot, record, err);
    return hn_failed(err) ? err->status : set_objective(plan, record, err);
}
