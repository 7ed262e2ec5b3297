/* SPDX-License-Identifier: MIT */
#include "tuner/commands/try_compile.h"

#include <stdlib.h>

#include "base/interrupt.h"

static const double timeout_s = 20;

void hn_try_compile_finish(struct hn_try_compile *trial)
{
    hn_compile_pool_destroy(trial->pool);
    *trial = (struct hn_try_compile){0};
}

static enum hn_status submit(struct hn_compile_pool *pool, const struct hn_task *task,
                             const struct hn_bindings *point, struct hn_error *err)
{
    struct hn_source source;
    char architecture[32];
    snprintf(architecture, sizeof architecture, "sm_%d", task->identity.device.capability);
    enum hn_status status = hn_task_source(task, point, &source, err);
    if (status != HN_OK)
        return status;
    status = hn_compile_pool_submit(pool, 0, &source, architecture, 0, err);
    hn_source_finish(&source);
    return status;
}

static enum hn_status wait_for(struct hn_compile_pool *pool, struct hn_image *image,
                               struct hn_error *err)
{
    struct pollfd *fds = calloc((size_t)hn_compile_pool_jobs(pool) * 2, sizeof *fds);
    enum hn_status status = fds == NULL ? hn_fail_memory(err) : HN_OK;
    bool taken = false;
    while (status == HN_OK && !taken) {
        uint64_t number;
        status = hn_compile_pool_process(pool, err);
        taken = status == HN_OK && hn_compile_pool_take(pool, &number, image);
        if (status == HN_OK && hn_interrupted() != 0)
            status = hn_fail(err, HN_EINTERRUPTED, "interrupted");
        if (status == HN_OK && !taken)
            poll(fds, hn_compile_pool_poll(pool, fds), 200);
    }
    free(fds);
    return status;
}

enum hn_compiles hn_try_compile(void *context, const struct hn_task *task,
                                const struct hn_bindings *point)
{
    struct hn_try_compile *trial = context;
    struct hn_image image;
    struct hn_error ignored;
    enum hn_status status =
        trial->failed || task->identity.device.capability <= 0 ? HN_ERUN : HN_OK;
    if (status == HN_OK && trial->pool == NULL)
        status = hn_compile_pool_create(1, timeout_s, &trial->pool, &ignored);
    if (status == HN_OK)
        status = submit(trial->pool, task, point, &ignored);
    hn_image_init(&image);
    if (status == HN_OK)
        status = wait_for(trial->pool, &image, &ignored);
    trial->failed = status != HN_OK;
    enum hn_compiles compiles = status != HN_OK                  ? HN_COMPILES_UNKNOWN
                                : image.outcome == HN_OUTCOME_OK ? HN_COMPILES
                                                                 : HN_COMPILES_NOT;
    hn_image_finish(&image);
    return compiles;
}
