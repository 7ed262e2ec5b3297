/* SPDX-License-Identifier: MIT */
#include "tuner/report/roof.h"

#include <string.h>
#include <time.h>

/* Those of a pipeline are what crosses the bus. */
bool hn_roof_is_known(const struct hn_plan *plan)
{
    if (plan->pipeline != NULL)
        return false;
    for (size_t i = 0; i < plan->metric_count; i++)
        if (strcmp(plan->metrics[i].name, "bytes") == 0 ||
            strcmp(plan->metrics[i].name, "flops") == 0)
            return true;
    return false;
}

static double metric(const struct hn_record *record, const char *name)
{
    const struct hn_value *value = hn_bindings_get(&record->metrics, name);
    double number = value == NULL ? 0.0 : hn_value_number(value);
    return number > 0.0 ? number : 0.0;
}

/* What an amount takes at so many thousands in a microsecond; 0 when that is not known. */
static double time_us(double amount, double thousands)
{
    return thousands > 0.0 ? amount / thousands / 1e3 : 0.0;
}

/* Keeps whatever takes longest. */
static void keep_longer(const char **name, double *bound_us, const char *other, double other_us)
{
    if (other_us <= *bound_us)
        return;
    *name = other;
    *bound_us = other_us;
}

bool hn_roof_of(const struct hn_roofs *roofs, const struct hn_backend *backend,
                const struct hn_record *record, struct hn_roof *roof)
{
    double bytes = metric(record, "bytes");
    double flops = metric(record, "flops");
    bool cached = backend->task->regime == HN_WARM && bytes <= backend->device.l2_bytes / 2.0;
    double bound_us = 0.0;
    if ((bytes == 0.0 && flops == 0.0) || !(record->timing.median_us > 0.0))
        return false;
    keep_longer(&roof->name, &bound_us, "launch", roofs->launch_us);
    keep_longer(&roof->name, &bound_us, cached ? "L2" : "copy",
                time_us(bytes, cached ? roofs->l2_gb_per_s : roofs->copy_gb_per_s));
    keep_longer(&roof->name, &bound_us, "FP32", time_us(flops, roofs->fp32_gflops));
    roof->share = bound_us / record->timing.median_us;
    return bound_us > 0.0;
}

void hn_roofs_append(struct hn_text *text, const struct hn_roofs *roofs)
{
    time_t seconds = (time_t)roofs->measured;
    struct tm utc;
    char date[16] = "?";
    if (gmtime_r(&seconds, &utc) != NULL)
        strftime(date, sizeof date, "%Y-%m-%d", &utc);
    hn_text_printf(text,
                   "copy %.0f GB/s, L2 %.0f GB/s, FP32 %.3g TFLOP/s, launch %.3g us, measured %s "
                   "with driver %s",
                   roofs->copy_gb_per_s, roofs->l2_gb_per_s, roofs->fp32_gflops / 1e3,
                   roofs->launch_us, date, roofs->driver);
}
