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

static void evaluate_word(struct hn_evaluation *evaluation, const struct hn_flow *flow,
                          enum hn_pipeline_field field, const char *const *names, int count,
                          int *choice)
{
    const struct hn_expression *expression = flow->pipeline->fields[field];
    struct hn_value word;
    struct hn_text known;
    if (expression == NULL || evaluation->status != HN_OK)
        return;
    evaluation->status =
        hn_expression_evaluate(expression, evaluation->values, &word, evaluation->err);
    if (evaluation->status != HN_OK)
        return;
    *choice = word.type == HN_WORD ? (int)hn_text_place(word.word, names, (size_t)count) : count;
    if (*choice < count)
        return;
    hn_text_init(&known);
    for (int i = 0; i < count; i++)
        hn_text_printf(&known, "%s%s", i == 0 ? "" : ", ", names[i]);
    evaluation->status =
        hn_fail(evaluation->err, HN_EVALUE, "%s of the pipeline is '%.60s', expected one of %s",
                hn_pipeline_keys[field], word.type == HN_WORD ? word.word : "a number",
                known.failed ? "its words" : known.data);
    hn_text_finish(&known);
}

/* A buffer that is cut has the same number of elements, or of rows, for each unit. */
static enum hn_status check_counts(const struct hn_plan *plan, const struct hn_value *values,
                                   struct hn_flow *flow, struct hn_error *err)
{
    for (size_t i = 0; i < plan->argument_count; i++) {
        const struct hn_argument *argument = &plan->arguments[i];
        const struct hn_expression *extent =
            argument->shape.height != NULL ? argument->shape.height : argument->count;
        int64_t count = 0;
        if ((flow->pipeline->parts[i] & HN_PART_CUT) == 0)
            continue;
        enum hn_status status = hn_expression_integer(extent, values, &count, err);
        if (status != HN_OK)
            return status;
        if (count % hn_flow_units(flow, i) == 0)
            continue;
        unsigned char parts = flow->pipeline->parts[i];
        snprintf(flow->why, sizeof flow->why,
                 "the %lld %s of '%.60s' can not be cut into %lld equal units ('over'%s",
                 (long long)count, argument->shape.height != NULL ? "rows" : "elements",
                 argument->name, (long long)hn_flow_units(flow, i),
                 (parts & HN_PART_PADDED) != 0   ? " and 'padding')"
                 : (parts & HN_PART_UPLOAD) != 0 ? "); an input with a border is 'padded'"
                                                 : ")");
        return HN_OK;
    }
    return HN_OK;
}

static enum hn_status evaluate_fields(const struct hn_plan *plan, const struct hn_value *values,
                                      bool sequential, struct hn_flow *flow, int64_t *granule,
                                      struct hn_error *err)
{
    struct hn_expression *const *fields = flow->pipeline->fields;
    struct hn_evaluation evaluation = {values, err, HN_OK};
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
        hn_evaluate_integer(&evaluation, fields[numbers[i].field], numbers[i].to);
    evaluate_word(&evaluation, flow, HN_PIPELINE_ORDER, hn_order_names, HN_ORDER_COUNT, &order);
    evaluate_word(&evaluation, flow, HN_PIPELINE_HOST_MEMORY, hn_host_memory_names,
                  HN_HOST_MEMORY_COUNT, &memory);
    if (evaluation.status != HN_OK)
        return evaluation.status;
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
        return HN_OK;
    }
    /* Streams without chunks make no difference and are not told apart. */
    flow->streams = (size_t)(streams < chunks ? streams : chunks);
    if (flow->streams == 1)
        flow->order = HN_DEPTH_FIRST;
    flow->chunk_count = (size_t)chunks;
    return check_counts(plan, values, flow, err);
}

static enum hn_status evaluate_copies(const struct hn_value *values, struct hn_flow *flow,
                                      struct hn_error *err)
{
    struct hn_evaluation evaluation = {values, err, HN_OK};
    for (size_t i = 0; i < flow->pipeline->copy_count; i++) {
        flow->copies[i] = true;
        hn_evaluate_truth(&evaluation, flow->pipeline->copies[i].condition, &flow->copies[i]);
    }
    return evaluation.status;
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
    int64_t granules = (flow->over - 1) / granule + 1;
    int64_t count = (int64_t)flow->chunk_count;
    int64_t each = granules / count;
    int64_t more = granules % count;
    int64_t begin = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t end = begin + (each + (i < more)) * granule;
        if (i == count - 1)
            end = flow->over;
        flow->chunks[i].begin = begin;
        flow->chunks[i].count = end - begin;
        begin = end;
    }
}

static enum hn_status make_chunks(const struct hn_plan *plan, struct hn_value *values,
                                  int64_t granule, const struct hn_launch_step *steps,
                                  size_t step_count, struct hn_flow *flow, struct hn_error *err)
{
    flow->chunks = calloc(flow->chunk_count, sizeof *flow->chunks);
    if (flow->chunks == NULL)
        return hn_fail_memory(err);
    cut(flow, granule);
    enum hn_status status = HN_OK;
    for (size_t c = 0; c < flow->chunk_count && status == HN_OK; c++) {
        struct hn_chunk *chunk = &flow->chunks[c];
        hn_plan_set_chunk(plan, values, chunk->begin, chunk->count, (int64_t)c);
        chunk->steps = calloc(step_count + 1, sizeof *chunk->steps);
        if (chunk->steps == NULL)
            status = hn_fail_memory(err);
        for (size_t s = 0; s < step_count && status == HN_OK; s++)
            status = hn_launch_evaluate_step(steps[s].step, values, &chunk->steps[s], err);
    }
    hn_plan_set_chunk(plan, values, 0, flow->over, 0);
    return status;
}

enum hn_status hn_flow_make(const struct hn_plan *plan, struct hn_value *values, bool sequential,
                            const struct hn_launch_step *steps, size_t step_count,
                            struct hn_flow **made, struct hn_error *err)
{
    int64_t granule = 1;
    struct hn_flow *flow = calloc(1, sizeof *flow);
    *made = flow;
    if (flow == NULL)
        return hn_fail_memory(err);
    flow->pipeline = plan->pipeline;
    flow->copies = calloc(plan->pipeline->copy_count + 1, sizeof *flow->copies);
    if (flow->copies == NULL)
        return hn_fail_memory(err);
    enum hn_status status = evaluate_fields(plan, values, sequential, flow, &granule, err);
    if (status == HN_OK)
        status = evaluate_copies(values, flow, err);
    if (status != HN_OK)
        return status;
    int64_t granules = flow->why[0] == '\0' ? (flow->over - 1) / granule + 1 : 0;
    if (flow->why[0] == '\0' && (int64_t)flow->chunk_count > granules)
        snprintf(flow->why, sizeof flow->why,
                 "%zu chunks of an extent of %lld, which has %lld granule%s of %lld",
                 flow->chunk_count, (long long)flow->over, (long long)granules,
                 granules == 1 ? "" : "s", (long long)granule);
    if (flow->why[0] == '\0')
        check_copies(plan, flow);
    if (flow->why[0] != '\0') {
        flow->chunk_count = 0;
        return HN_OK;
    }
    return make_chunks(plan, values, granule, steps, step_count, flow, err);
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
