/* SPDX-License-Identifier: MIT */
#include "runtime/plan/l2_window.h"

#include <string.h>

const char *const hn_access_names[HN_ACCESS_COUNT] = {
    [HN_ACCESS_NORMAL] = "normal",
    [HN_ACCESS_STREAMING] = "streaming",
    [HN_ACCESS_PERSISTING] = "persisting",
};

const char *const hn_window_keys[HN_WINDOW_PARTS] = {
    [HN_WINDOW_BYTES] = "bytes", [HN_WINDOW_HIT_RATIO] = "hit_ratio", [HN_WINDOW_HIT] = "hit",
    [HN_WINDOW_MISS] = "miss",   [HN_WINDOW_SET_ASIDE] = "set_aside",
};

static enum hn_status evaluate_access(const struct hn_expression *expression,
                                      const struct hn_value *values, enum hn_access *access,
                                      struct hn_error *err)
{
    struct hn_value value;
    if (expression == NULL)
        return HN_OK;
    enum hn_status status = hn_expression_evaluate(expression, values, &value, err);
    if (status != HN_OK)
        return status;
    for (int i = 0; value.type == HN_WORD && i < HN_ACCESS_COUNT; i++) {
        if (strcmp(value.word, hn_access_names[i]) != 0)
            continue;
        *access = (enum hn_access)i;
        return HN_OK;
    }
    struct hn_text text;
    hn_text_init(&text);
    hn_value_append(&text, &value);
    status = hn_fail(err, HN_EVALUE, "'%.60s' is %s, expected normal, streaming or persisting",
                     hn_expression_text(expression), text.data == NULL ? "" : text.data);
    hn_text_finish(&text);
    return status;
}

enum hn_status hn_l2_window_evaluate(const struct hn_window_plan *plan,
                                     const struct hn_value *values, struct hn_l2_window *window,
                                     struct hn_error *err)
{
    struct hn_expression *const *parts = plan->parts;
    *window = (struct hn_l2_window){
        .hit_ratio = 1.0, .hit = HN_ACCESS_PERSISTING, .miss = HN_ACCESS_STREAMING};
    if (parts[HN_WINDOW_BYTES] == NULL)
        return HN_OK;
    enum hn_status status =
        hn_expression_integer(parts[HN_WINDOW_BYTES], values, &window->bytes, err);
    if (status == HN_OK && parts[HN_WINDOW_HIT_RATIO] != NULL)
        status = hn_expression_number(parts[HN_WINDOW_HIT_RATIO], values, &window->hit_ratio, err);
    if (status == HN_OK)
        status = evaluate_access(parts[HN_WINDOW_HIT], values, &window->hit, err);
    if (status == HN_OK)
        status = evaluate_access(parts[HN_WINDOW_MISS], values, &window->miss, err);
    if (status == HN_OK && parts[HN_WINDOW_SET_ASIDE] != NULL)
        status = hn_expression_integer(parts[HN_WINDOW_SET_ASIDE], values, &window->set_aside, err);
    return status;
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
