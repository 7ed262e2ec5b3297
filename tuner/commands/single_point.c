/* SPDX-License-Identifier: MIT */
#include "tuner/commands/single_point.h"

enum hn_status hn_single_point_config(const struct hn_options *options, const char *path,
                                      struct hn_config **config, struct hn_error *err)
{
    struct hn_options unrestricted = *options;
    unrestricted.restriction_count = 0;
    return hn_options_config(&unrestricted, path, config, err);
}

enum hn_status hn_single_point(const struct hn_options *options, const struct hn_task *task,
                               struct hn_bindings *point, struct hn_error *err)
{
    struct hn_bindings partial;
    enum hn_status status = HN_OK;
    const struct hn_bindings *own = hn_plan_default(task->plan, task->problem);
    /* Which may be worth no search. */
    if (options->restriction_count == 0 && own != &task->plan->defaults)
        return hn_bindings_copy(point, own, err);
    hn_bindings_init(&partial);
    for (size_t i = 0; status == HN_OK && i < options->restriction_count; i++) {
        struct hn_bindings given;
        hn_bindings_init(&given);
        status = hn_bindings_parse(options->restrictions[i], &given, err);
        if (status == HN_OK)
            status = hn_bindings_merge(&partial, &given, err);
        hn_bindings_finish(&given);
    }
    if (status == HN_OK)
        status = hn_config_complete(task->config, task->space, &partial, point, err);
    hn_bindings_finish(&partial);
    return status;
}
