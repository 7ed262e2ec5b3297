/* SPDX-License-Identifier: MIT */
#include "tuner/commands/try_compile.h"

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
    status = hn_compile_pool_submit(pool, 0, &source, architecture, err);
    hn_source_finish(&source);
    return status;
}

static enum hn_status wait_for(struct hn_compile_pool *pool, struct hn_image *image,
                               struct hn_error *err)
{
    enum hn_status status = HN_OK;
    bool taken = false;
    while (status == HN_OK && !taken) {
        uint64_t number;
        status = hn_compile_pool_process(pool, err);
        taken = status == HN_OK && hn_compile_pool_take(pool, &number, image);
        if (status == HN_OK && !taken)
            status = hn_compile_pool_sleep(pool, err);
    }
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
        trial->pool = hn_compile_pool_create(1, timeout_s);
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
