/* SPDX-License-Identifier: MIT */
#include "tuner/report/roof.h"

#include <math.h>
#include <string.h>

/* Where several are given, the first counts. */
static const struct {
    const char *metric;
    enum hn_tensor_pipe pipe; /* HN_PIPE_COUNT: none of the tensor cores' */
} computing[] = {
#define X(identifier, key, name, bytes) {"flops_" key, identifier},
    HN_TENSOR_PIPES(X)
#undef X
        {"flops", HN_PIPE_COUNT},
};
enum { COMPUTING = sizeof computing / sizeof *computing };

static bool has_metric(const struct hn_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->metric_count; i++)
        if (strcmp(plan->metrics[i].name, name) == 0)
            return true;
    return false;
}

/* Those of a pipeline are what crosses the bus. */
bool hn_roof_is_known(const struct hn_plan *plan)
{
    bool known = has_metric(plan, "bytes");
    for (int i = 0; i < COMPUTING; i++)
        known = known || has_metric(plan, computing[i].metric);
    return known && plan->pipeline == NULL;
}

enum hn_tensor_pipe hn_roof_pipe(const struct hn_plan *plan)
{
    int i = 0;
    while (i < COMPUTING - 1 && !has_metric(plan, computing[i].metric))
        i++;
    return computing[i].pipe;
}

static double metric(const struct hn_record *record, const char *name)
{
    const struct hn_value *value = hn_bindings_get(&record->metrics, name);
    double number = value == NULL ? 0.0 : hn_value_number(value);
    return number > 0.0 ? number : 0.0;
}

/* Of a roof that allows so many thousands in a microsecond. */
static double share_of(double amount, double rate, double time_us)
{
    return rate > 0.0 ? amount / rate / 1e3 / time_us : 0.0;
}

/* What the device needs at least is less than what a roof says: see roof.h. */
static const double roof_margin = 1.1;

/* The place among what computes; what a launch of it computes, by whom, how fast at best. */
static int find_computing(const struct hn_roofs *roofs, const struct hn_record *record,
                          struct hn_roof_shares *shares)
{
    int i = 0;
    while (i < COMPUTING - 1 && metric(record, computing[i].metric) == 0.0)
        i++;
    enum hn_tensor_pipe pipe = computing[i].pipe;
    bool is_tensor = pipe < HN_PIPE_COUNT;
    shares->flops = metric(record, computing[i].metric);
    shares->flops_name = is_tensor ? hn_tensor_pipe_names[pipe] : "FP32";
    if (roofs != NULL)
        shares->flops_rate = is_tensor ? roofs->tensor.pipes[pipe].gflops : roofs->fp32_gflops;
    return i;
}

static const char *find_beyond(const struct hn_roofs *roofs, const struct hn_device *device,
                               const struct hn_roof_shares *shares, const char *flops,
                               enum hn_regime regime, const struct hn_record *record)
{
    double high_us = record->timing.high_us * roof_margin;
    double moved = fmax(shares->bytes - (double)device->l2_bytes, 0.0);
    if (regime != HN_COLD || record->outcome != HN_OUTCOME_OK || !(high_us > 0.0))
        return NULL;
    if (share_of(moved, roofs->copy_gb_per_s, high_us) > 1.0 ||
        share_of(shares->bytes, roofs->l2_gb_per_s, high_us) > 1.0)
        return "bytes";
    return share_of(shares->flops, shares->flops_rate, high_us) > 1.0 ? flops : NULL;
}

bool hn_roof_shares_find(const struct hn_roofs *roofs, const struct hn_device *device,
                         enum hn_regime regime, const struct hn_record *record,
                         struct hn_roof_shares *shares)
{
    double time_us = record->timing.median_us;
    double bytes = metric(record, "bytes");
    *shares = (struct hn_roof_shares){.bytes = bytes};
    int who = find_computing(roofs, record, shares);
    if (roofs == NULL || (bytes == 0.0 && shares->flops == 0.0) || !(time_us > 0.0))
        return false;
    shares->cached = regime != HN_COLD && bytes <= device->l2_bytes / 2.0;
    shares->bytes_share =
        share_of(bytes, shares->cached ? roofs->l2_gb_per_s : roofs->copy_gb_per_s, time_us);
    shares->flops_share = share_of(shares->flops, shares->flops_rate, time_us);
    shares->launch_share = roofs->launch_us / time_us;
    shares->beyond = find_beyond(roofs, device, shares, computing[who].metric, regime, record);
    return true;
}

void hn_roof_nearest(const struct hn_roof_shares *shares, struct hn_roof *roof)
{
    const struct hn_roof roofs[] = {
        {"launch", shares->launch_share, shares->beyond},
        {shares->cached ? "L2" : "copy", shares->bytes_share, shares->beyond},
        {shares->flops_name, shares->flops_share, shares->beyond}};
    *roof = (struct hn_roof){.name = NULL};
    for (size_t i = 0; i < sizeof roofs / sizeof *roofs; i++)
        if (roofs[i].share > roof->share)
            *roof = roofs[i];
}

bool hn_roof_of(const struct hn_roofs *roofs, const struct hn_backend *backend,
                const struct hn_record *record, struct hn_roof *roof)
{
    struct hn_roof_shares shares;
    *roof = (struct hn_roof){.name = NULL};
    if (!hn_roof_shares_find(roofs, &backend->device, backend->task->regime, record, &shares))
        return false;
    hn_roof_nearest(&shares, roof);
    return roof->share > 0.0;
}

void hn_staging_add_json(json_t *record)
{
    static const char *const keys[] = {"chunks",    "streams",     "copy_engines", "kernels_us",
                                       "upload_us", "download_us", "sequential_us"};
    enum { CHUNKS, STREAMS, ENGINES, KERNELS, UPLOAD, DOWNLOAD, SEQUENTIAL, COUNT };
    json_t *staging = json_object_get(record, "staging");
    double of[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        of[i] = json_number_value(json_object_get(staging, keys[i]));
    if (!(of[CHUNKS] > 0 && of[SEQUENTIAL] > 0))
        return;
    double transfers_us = of[UPLOAD] + of[DOWNLOAD];
    double overlapping = of[STREAMS] > 1 ? of[CHUNKS] : 1;
    double limit_us = of[ENGINES] <= 0   ? of[KERNELS] + transfers_us
                      : of[ENGINES] == 1 ? fmax(of[KERNELS], transfers_us)
                                         : fmax(of[KERNELS], fmax(of[UPLOAD], of[DOWNLOAD]));
    json_object_update_new(
        staging, json_pack("{sf sf sf sf}", "overlapping", overlapping, "compute_bound_us",
                           of[KERNELS] + transfers_us / overlapping, "transfer_bound_us",
                           transfers_us + of[KERNELS] / overlapping, "limit_us", limit_us));
}
