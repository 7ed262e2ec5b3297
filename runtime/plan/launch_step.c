/* SPDX-License-Identifier: MIT */
#include "runtime/plan/launch_step.h"

/* Windows of the L2 cache. */

static const char expected_access[] = "normal, streaming or persisting";

enum hn_status hn_l2_window_evaluate(const struct hn_window_plan *plan,
                                     const struct hn_value *values, struct hn_l2_window *window,
                                     struct hn_error *err)
{
    struct hn_expression *const *parts = plan->parts;
    struct hn_evaluation evaluation = {values, err, HN_OK};
    int hit = HN_ACCESS_PERSISTING, miss = HN_ACCESS_STREAMING;
    *window = (struct hn_l2_window){.hit_ratio = 1.0};
    if (parts[HN_WINDOW_BYTES] != NULL) {
        hn_evaluate_integer(&evaluation, parts[HN_WINDOW_BYTES], &window->bytes);
        hn_evaluate_number(&evaluation, parts[HN_WINDOW_HIT_RATIO], &window->hit_ratio);
        hn_evaluate_word(&evaluation, parts[HN_WINDOW_HIT], hn_access_names, HN_ACCESS_COUNT,
                         expected_access, &hit);
        hn_evaluate_word(&evaluation, parts[HN_WINDOW_MISS], hn_access_names, HN_ACCESS_COUNT,
                         expected_access, &miss);
        hn_evaluate_integer(&evaluation, parts[HN_WINDOW_SET_ASIDE], &window->set_aside);
    }
    window->hit = (enum hn_access)hit;
    window->miss = (enum hn_access)miss;
    return evaluation.status;
}

static bool check_bytes(const char *before, int64_t bytes, const char *behind, int limit,
                        const struct hn_device *device, struct hn_record *record)
{
    if (bytes >= 0 && bytes <= limit)
        return true;
    hn_record_fail(record, HN_OUTCOME_INVALID_LAUNCH, "%s of %lld bytes%s; %s takes 0 to %d",
                   before, (long long)bytes, behind, device->identity.name, limit);
    return false;
}

/* Windows came with compute capability 8.0; in MIG mode nothing can be set aside (CUDA C++ Best
 * Practices Guide, "L2 Cache Set-Aside for Persisting Accesses"). */
static bool check_support(const struct hn_l2_window *window, const struct hn_device *device,
                          struct hn_record *record)
{
    if (device->max_access_window_bytes == 0) {
        hn_record_fail(record, HN_OUTCOME_INVALID_LAUNCH,
                       "an L2 window; %s has none (compute capability %d.%d, from 8.0 on)",
                       device->identity.name, device->identity.capability / 10,
                       device->identity.capability % 10);
        return false;
    }
    if (window->set_aside > 0 && device->identity.mig_profile[0] != '\0') {
        hn_record_fail(record, HN_OUTCOME_INVALID_LAUNCH,
                       "a set-aside of %lld bytes of L2 cache; %s MIG %s takes none: MIG mode "
                       "does not allow it",
                       (long long)window->set_aside, device->identity.name,
                       device->identity.mig_profile);
        return false;
    }
    return true;
}

bool hn_l2_window_check(const struct hn_l2_window *window, const struct hn_device *device,
                        struct hn_record *record)
{
    if (window->bytes == 0 && window->set_aside == 0)
        return true;
    if (!check_support(window, device, record) ||
        !check_bytes("an L2 window", window->bytes, "", device->max_access_window_bytes, device,
                     record) ||
        !check_bytes("a set-aside", window->set_aside, " of L2 cache",
                     device->max_persisting_l2_bytes, device, record))
        return false;
    if (!(window->hit_ratio >= 0.0 && window->hit_ratio <= 1.0))
        hn_record_fail(record, HN_OUTCOME_INVALID_LAUNCH,
                       "a hit ratio of %g of an L2 window; expected 0 to 1", window->hit_ratio);
    else if (window->miss == HN_ACCESS_PERSISTING)
        hn_record_fail(record, HN_OUTCOME_INVALID_LAUNCH,
                       "misses of an L2 window are persisting; expected normal or streaming");
    else
        return true;
    return false;
}

bool hn_l2_window_counts(const struct hn_l2_window *window)
{
    return window->bytes > 0 || window->set_aside > 0;
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

/* Steps. */

bool hn_launch_step_has_clusters(const struct hn_launch_step *step)
{
    return step->cluster[0] != 1 || step->cluster[1] != 1 || step->cluster[2] != 1;
}

static void evaluate_dimensions(struct hn_evaluation *evaluation,
                                struct hn_expression *const *expressions, int64_t *dimensions)
{
    for (size_t i = 0; i < 3; i++) {
        dimensions[i] = 1;
        hn_evaluate_integer(evaluation, expressions[i], &dimensions[i]);
    }
}

enum hn_status hn_launch_evaluate_step(const struct hn_step *step, const struct hn_value *values,
                                       struct hn_launch_step *launch, struct hn_error *err)
{
    const struct hn_geometry *geometry = &step->geometry;
    struct hn_evaluation evaluation = {values, err, HN_OK};
    *launch = (struct hn_launch_step){.step = step, .carveout = HN_NO_CARVEOUT};
    evaluate_dimensions(&evaluation, geometry->grid, launch->grid);
    evaluate_dimensions(&evaluation, geometry->block, launch->block);
    evaluate_dimensions(&evaluation, geometry->cluster, launch->cluster);
    hn_evaluate_integer(&evaluation, geometry->shared_bytes, &launch->shared_bytes);
    hn_evaluate_integer(&evaluation, geometry->carveout, &launch->carveout);
    hn_evaluate_truth(&evaluation, geometry->cooperative, &launch->cooperative);
    hn_evaluate_truth(&evaluation, geometry->programmatic, &launch->programmatic);
    return evaluation.status == HN_OK
               ? hn_l2_window_evaluate(&geometry->window, values, &launch->window, err)
               : evaluation.status;
}

enum hn_status hn_launch_evaluate_grid(const struct hn_value *values, struct hn_launch_step *launch,
                                       struct hn_error *err)
{
    struct hn_evaluation evaluation = {values, err, HN_OK};
    evaluate_dimensions(&evaluation, launch->step->geometry.grid, launch->grid);
    return evaluation.status;
}
