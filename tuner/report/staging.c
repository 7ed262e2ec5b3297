/* SPDX-License-Identifier: MIT */
#include "tuner/report/staging.h"

#include <math.h>

#include "tuner/report/format.h"

static double limit_us(const struct hn_staging *staging, double transfers_us)
{
    if (staging->copy_engines <= 0)
        return staging->kernels_us + transfers_us;
    if (staging->copy_engines == 1)
        return fmax(staging->kernels_us, transfers_us);
    return fmax(staging->kernels_us, fmax(staging->upload_us, staging->download_us));
}

struct hn_staging hn_staging_of(const struct hn_bindings *observed)
{
    struct hn_staging staging = {
        .chunks = hn_observed(observed, "staging.chunks"),
        .streams = hn_observed(observed, "staging.streams"),
        .register_ms = hn_observed(observed, "staging.register_ms"),
        .copy_engines = hn_observed(observed, "staging.copy_engines"),
        .kernels_us = hn_observed(observed, "staging.kernels_us"),
        .upload_us = hn_observed(observed, "staging.upload_us"),
        .download_us = hn_observed(observed, "staging.download_us"),
        .sequential_us = hn_observed(observed, "staging.sequential_us"),
    };
    double transfers_us = staging.upload_us + staging.download_us;
    staging.measured = staging.chunks > 0 && staging.sequential_us > 0;
    staging.overlapping = staging.streams > 1 ? staging.chunks : 1;
    staging.compute_bound_us = staging.kernels_us + transfers_us / staging.overlapping;
    staging.transfer_bound_us = transfers_us + staging.kernels_us / staging.overlapping;
    staging.limit_us = limit_us(&staging, transfers_us);
    return staging;
}

static void print_clocks(const struct hn_record *record, const struct hn_staging *staging,
                         const char *indent, FILE *file)
{
    char host[HN_FORMAT_SIZE];
    char more[HN_FORMAT_SIZE];
    fprintf(file, "%s%.0f chunk%s in %.0f stream%s", indent, staging->chunks,
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

static void print_limit(const struct hn_record *record, const struct hn_staging *staging,
                        const char *indent, FILE *file)
{
    char compute[HN_FORMAT_SIZE];
    char transfer[HN_FORMAT_SIZE];
    char limit[HN_FORMAT_SIZE];
    hn_format_time(staging->compute_bound_us, compute);
    hn_format_time(staging->transfer_bound_us, transfer);
    hn_format_time(staging->limit_us, limit);
    fprintf(file,
            "%sestimates: tE + tT/%.0f %s, tT + tE/%.0f %s; limit with %.0f copy engine%s %s\n",
            indent, staging->overlapping, compute, staging->overlapping, transfer,
            staging->copy_engines, staging->copy_engines == 1 ? "" : "s", limit);
    if (!(record->timing.median_us > 0))
        return;
    char measured[HN_FORMAT_SIZE];
    hn_format_time(record->timing.median_us, measured);
    fprintf(file, "%smeasured: %s, at %.1f%% of the limit; %.3g times as fast as sequential\n",
            indent, measured, 100 * staging->limit_us / record->timing.median_us,
            staging->sequential_us / record->timing.median_us);
}

void hn_staging_print(const struct hn_record *record, const char *indent, FILE *file)
{
    const struct hn_staging staging = hn_staging_of(&record->observed);
    if (staging.chunks == 0)
        return;
    print_clocks(record, &staging, indent, file);
    if (!staging.measured)
        return;
    print_parts(&staging, indent, file);
    print_limit(record, &staging, indent, file);
}

void hn_staging_add_json(const struct hn_record *record, json_t *json)
{
    const struct hn_staging staging = hn_staging_of(&record->observed);
    json_t *object = json_object_get(json, "staging");
    if (object == NULL || !staging.measured)
        return;
    json_object_update_new(object,
                           json_pack("{sf sf sf}", "compute_bound_us", staging.compute_bound_us,
                                     "transfer_bound_us", staging.transfer_bound_us, "limit_us",
                                     staging.limit_us));
}
