/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/launch.h"

const char *const hn_order_names[HN_ORDER_COUNT] = {
    [HN_DEPTH_FIRST] = "depth_first",
    [HN_BREADTH_FIRST] = "breadth_first",
};
const char *const hn_host_memory_names[HN_HOST_MEMORY_COUNT] = {
    [HN_HOST_PAGEABLE] = "pageable", [HN_HOST_REGISTERED] = "registered",
    [HN_HOST_PINNED] = "pinned",     [HN_HOST_WRITE_COMBINED] = "write_combined",
    [HN_HOST_MAPPED] = "mapped",     [HN_HOST_MANAGED] = "managed",
};
const char *const hn_pipeline_keys[HN_PIPELINE_FIELD_COUNT] = {
#define X(identifier, key) [identifier] = key,
    HN_PIPELINE_FIELDS(X)
#undef X
};
const char *const hn_chunk_names[HN_CHUNK_NAMES] = {
    [HN_CHUNK_BEGIN] = "chunk_begin",
    [HN_CHUNK_COUNT] = "chunk_count",
    [HN_CHUNK_INDEX] = "chunk_index",
};

void hn_flow_destroy(struct hn_flow *flow)
{
    if (flow == NULL)
        return;
    for (size_t i = 0; flow->chunks != NULL && i < flow->chunk_count; i++)
        free(flow->chunks[i].steps);
    free(flow->chunks);
    free(flow->copies);
    free(flow);
}

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
        hn_evaluate_integer(values, rows ? argument->shape.height : argument->count, &count, err);
        if (hn_failed(err) || count % hn_flow_units(flow, i) == 0)
            continue;
        snprintf(flow->why, sizeof flow->why,
                 "the %lld %s of '%.60s' can not be cut into %lld equal units ('over'%s",
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
        hn_evaluate_integer(values, fields[numbers[i].field], numbers[i].to, err);
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

/* A buffer that is not cut is copied once or not at all. */
static void check_copies(const struct hn_plan *plan, struct hn_flow *flow)
{
    for (size_t i = 0; flow->chunk_count > 1 && i < flow->pipeline->copy_count; i++) {
        const struct hn_copy_step *copy = &flow->pipeline->copies[i];
        for (size_t j = 0; flow->copies[i] && j < copy->argument_count; j++)
            if ((flow->pipeline->parts[copy->arguments[j]] & HN_PART_CUT) == 0)
                snprintf(flow->why, sizeof flow->why,
                         "a step copies all of '%.60s' for each of %zu chunks; list it under 'cut'",
                         plan->arguments[copy->arguments[j]].name, flow->chunk_count);
    }
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
    flow->chunks = calloc(flow->chunk_count, sizeof *flow->chunks);
    if (flow->chunks == NULL) {
        hn_fail_memory(err);
        return;
    }
    cut(flow, granule);
    for (size_t c = 0; c < flow->chunk_count && !hn_failed(err); c++) {
        struct hn_chunk *chunk = &flow->chunks[c];
        hn_plan_set_chunk(plan, values, chunk->begin, chunk->count, (int64_t)c);
        chunk->steps = calloc(step_count + 1, sizeof *chunk->steps);
        if (chunk->steps == NULL)
            hn_fail_memory(err);
        for (size_t s = 0; s < step_count && !hn_failed(err); s++)
            hn_launch_evaluate_step(steps[s].step, values, &chunk->steps[s], err);
    }
    hn_plan_set_chunk(plan, values, 0, flow->over, 0);
}

struct hn_flow *hn_flow_make(const struct hn_plan *plan, struct hn_value *values, bool sequential,
                             const struct hn_launch_step *steps, size_t step_count,
                             struct hn_error *err)
{
    const struct hn_pipeline *pipeline = plan->pipeline;
    int64_t granule = 1;
    struct hn_flow *flow = calloc(1, sizeof *flow);
    if (flow != NULL)
        flow->copies = calloc(pipeline->copy_count + 1, sizeof *flow->copies);
    if (flow == NULL || flow->copies == NULL) {
        hn_fail_memory(err);
        return flow;
    }
    flow->pipeline = pipeline;
    evaluate_fields(plan, values, sequential, flow, &granule, err);
    for (size_t i = 0; i < pipeline->copy_count; i++) {
        flow->copies[i] = true;
        hn_evaluate_truth(values, pipeline->copies[i].condition, &flow->copies[i], err);
    }
    if (hn_failed(err))
        return flow;
    int64_t granules = flow->why[0] == '\0' ? (flow->over - 1) / granule + 1 : 0;
    if (flow->why[0] == '\0' && (int64_t)flow->chunk_count > granules)
        snprintf(flow->why, sizeof flow->why,
                 "%zu chunks of an extent of %lld, which has %lld granule%s of %lld",
                 flow->chunk_count, (long long)flow->over, (long long)granules,
                 granules == 1 ? "" : "s", (long long)granule);
    if (flow->why[0] == '\0')
        check_copies(plan, flow);
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

bool hn_flow_shares_uploads(const struct hn_flow *flow)
{
    return (flow->halo > 0 || flow->padding > 0) && flow->streams > 1;
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
