/* SPDX-License-Identifier: MIT */
#include "runtime/plan/launch_step.h"

bool hn_launch_step_has_clusters(const struct hn_launch_step *step)
{
    return step->cluster[0] != 1 || step->cluster[1] != 1 || step->cluster[2] != 1;
}

static enum hn_status evaluate_dimensions(struct hn_expression *const *expressions,
                                          const struct hn_value *values, int64_t *dimensions,
                                          struct hn_error *err)
{
    for (size_t i = 0; i < 3; i++) {
        dimensions[i] = 1;
        if (expressions[i] == NULL)
            continue;
        enum hn_status status = hn_expression_integer(expressions[i], values, &dimensions[i], err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

enum hn_status hn_launch_evaluate_step(const struct hn_step *step, const struct hn_value *values,
                                       struct hn_launch_step *launch, struct hn_error *err)
{
    *launch = (struct hn_launch_step){.step = step, .carveout = HN_NO_CARVEOUT};
    const struct hn_geometry *geometry = &step->geometry;
    struct hn_value cooperative = hn_boolean(false), programmatic = hn_boolean(false);
    enum hn_status status = evaluate_dimensions(geometry->grid, values, launch->grid, err);
    if (status == HN_OK)
        status = evaluate_dimensions(geometry->block, values, launch->block, err);
    if (status == HN_OK)
        status = evaluate_dimensions(geometry->cluster, values, launch->cluster, err);
    if (status == HN_OK && geometry->shared_bytes != NULL)
        status = hn_expression_integer(geometry->shared_bytes, values, &launch->shared_bytes, err);
    if (status == HN_OK && geometry->carveout != NULL)
        status = hn_expression_integer(geometry->carveout, values, &launch->carveout, err);
    if (status == HN_OK && geometry->cooperative != NULL)
        status = hn_expression_evaluate(geometry->cooperative, values, &cooperative, err);
    if (status == HN_OK && geometry->programmatic != NULL)
        status = hn_expression_evaluate(geometry->programmatic, values, &programmatic, err);
    if (status == HN_OK)
        status = hn_l2_window_evaluate(&geometry->window, values, &launch->window, err);
    launch->cooperative = hn_value_truth(&cooperative);
    launch->programmatic = hn_value_truth(&programmatic);
    return status;
}

enum hn_status hn_launch_evaluate_grid(const struct hn_value *values, struct hn_launch_step *launch,
                                       struct hn_error *err)
{
    return evaluate_dimensions(launch->step->geometry.grid, values, launch->grid, err);
}
