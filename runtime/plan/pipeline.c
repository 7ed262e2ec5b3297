/* SPDX-License-Identifier: MIT */
#include "runtime/plan/pipeline.h"

#include <stdlib.h>

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

struct hn_pipeline *hn_pipeline_create(size_t argument_count)
{
    struct hn_pipeline *pipeline = calloc(1, sizeof *pipeline);
    if (pipeline == NULL)
        return NULL;
    pipeline->argument_count = argument_count;
    pipeline->parts = calloc(argument_count + 1, 1);
    if (pipeline->parts != NULL)
        return pipeline;
    free(pipeline);
    return NULL;
}

struct hn_copy_step *hn_pipeline_add_copy(struct hn_pipeline *pipeline)
{
    struct hn_copy_step *grown =
        realloc(pipeline->copies, (pipeline->copy_count + 1) * sizeof *grown);
    if (grown == NULL)
        return NULL;
    pipeline->copies = grown;
    grown[pipeline->copy_count] = (struct hn_copy_step){0};
    return &grown[pipeline->copy_count++];
}
