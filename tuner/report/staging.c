/* SPDX-License-Identifier: MIT */
#include "tuner/report/staging.h"

#include "tuner/report/format.h"

static void print_clocks(const struct hn_record *record, const char *indent, FILE *file)
{
    const struct hn_staging *staging = &record->staging;
    char host[HN_FORMAT_SIZE];
    char more[HN_FORMAT_SIZE];
    fprintf(file, "%s%d chunk%s in %d stream%s", indent, staging->chunks,
            staging->chunks == 1 ? "" : "s", staging->streams, staging->streams == 1 ? "" : "s");
    if (record->timing.host_us > 0) {
        double events_us = record->timing.median_us;
        hn_format_time(record->timing.host_us, host);
        hn_format_time(record->timing.host_us - events_us, more);
        fprintf(file, "; %s by the host's clock, %s more than by events", host, more);
    }
    if (staging->register_ms > 0)
        fprintf(file, "; registering its host memory took %.3g ms, once", staging->register_ms);
    fputc('\n', file);
}

static void print_parts(const struct hn_staging *staging, const char *indent, FILE *file)
{
    char kernels[HN_FORMAT_SIZE];
    char upload[HN_FORMAT_SIZE];
    char download[HN_FORMAT_SIZE];
    char sequential[HN_FORMAT_SIZE];
    hn_format_time(staging->kernels_us, kernels);
    hn_format_time(staging->upload_us, upload);
    hn_format_time(staging->download_us, download);
    hn_format_time(staging->sequential_us, sequential);
    fprintf(file, "%salone: kernels tE %s, transfers tT %s up and %s down; one after another %s\n",
            indent, kernels, upload, download, sequential);
}

static void print_limit(const struct hn_record *record, const char *indent, FILE *file)
{
    const struct hn_staging *staging = &record->staging;
    double limit_us = hn_staging_limit_us(staging);
    char compute[HN_FORMAT_SIZE];
    char transfer[HN_FORMAT_SIZE];
    char limit[HN_FORMAT_SIZE];
    hn_format_time(hn_staging_compute_bound_us(staging), compute);
    hn_format_time(hn_staging_transfer_bound_us(staging), transfer);
    hn_format_time(limit_us, limit);
    fprintf(file, "%sestimates: tE + tT/%d %s, tT + tE/%d %s; limit with %d copy engine%s %s\n",
            indent, hn_staging_overlapping(staging), compute, hn_staging_overlapping(staging),
            transfer, staging->copy_engines, staging->copy_engines == 1 ? "" : "s", limit);
    if (!(record->timing.median_us > 0))
        return;
    char measured[HN_FORMAT_SIZE];
    hn_format_time(record->timing.median_us, measured);
    fprintf(file, "%smeasured: %s, at %.1f%% of the limit; %.3g times as fast as sequential\n",
            indent, measured, 100 * limit_us / record->timing.median_us,
            staging->sequential_us / record->timing.median_us);
}

void hn_staging_print(const struct hn_record *record, const char *indent, FILE *file)
{
    if (record->staging.chunks == 0)
        return;
    print_clocks(record, indent, file);
    if (!hn_staging_is_measured(&record->staging))
        return;
    print_parts(&record->staging, indent, file);
    print_limit(record, indent, file);
}

void hn_staging_add_json(const struct hn_record *record, json_t *json)
{
    const struct hn_staging *staging = &record->staging;
    json_t *object = json_object_get(json, "staging");
    if (object == NULL || !hn_staging_is_measured(staging))
        return;
    json_object_update_new(
        object, json_pack("{sf sf sf}", "compute_bound_us", hn_staging_compute_bound_us(staging),
                          "transfer_bound_us", hn_staging_transfer_bound_us(staging), "limit_us",
                          hn_staging_limit_us(staging)));
}
