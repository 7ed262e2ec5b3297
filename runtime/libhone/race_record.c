/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/statistics.h"
#include "runtime/libhone/race.h"

/* What became of a race, as a session of its problem. How launches of a program find the L2 cache
 * is not known, so that its regime is of neither kind, and no tuning takes its times for their own.
 */

static const double EVENT_US = 0.5; /* the resolution of the driver's events */

static enum hn_status put(struct hn_store *store, int64_t session, const struct hn_lib_raced *raced,
                          struct hn_error *err)
{
    struct hn_record record;
    hn_record_init(&record);
    const struct hn_interval interval =
        hn_interval_widen(hn_interval_of(raced->samples_us, raced->sample_count), EVENT_US);
    enum hn_status status = hn_bindings_copy(&record.point, raced->point, err);
    record.outcome = HN_OUTCOME_OK;
    record.verdict.kind = HN_UNVERIFIED;
    record.timing = (struct hn_timing){.median_us = interval.median,
                                       .low_us = interval.low,
                                       .high_us = interval.high,
                                       .resolution_us = EVENT_US,
                                       .batch = 1};
    record.objective = interval.median;
    record.final = true;
    record.time = (double)time(NULL);
    if (status == HN_OK)
        status = hn_store_put(store, session, &record, err);
    hn_record_finish(&record);
    return status;
}

static enum hn_status put_image(struct hn_store *store, int64_t session,
                                const struct hn_lib_raced *raced, struct hn_error *err)
{
    const struct hn_image *image = raced->image;
    if (image == NULL || image->cubin == NULL)
        return HN_OK;
    char *entries = hn_image_entry_lines(image);
    enum hn_status status = entries == NULL
                                ? hn_fail_memory(err)
                                : hn_store_put_image(store, session, raced->point, image->cubin,
                                                     image->size, entries, err);
    free(entries);
    return status;
}

static enum hn_status begin(struct hn_store *store, const struct hn_identity *identity,
                            const struct hn_version *version, const struct hn_lib_plan *plan,
                            int64_t *session, struct hn_error *err)
{
    const struct hn_template *template = &plan->template;
    struct hn_store_file *files = calloc(template->include_count + 1, sizeof *files);
    if (files == NULL)
        return hn_fail_memory(err);
    files[0] = (struct hn_store_file){template->path, template->text};
    for (size_t i = 0; i < template->include_count; i++)
        files[i + 1] =
            (struct hn_store_file){template->includes[i].name, template->includes[i].text};
    const struct hn_store_plan stored = {plan->json, files, template->include_count + 1};
    const struct hn_store_session begun = {
        .identity = identity, .version = version, .plan = &stored, .command = "libhone: a race"};
    enum hn_status status = hn_store_begin(store, &begun, session, err);
    free(files);
    return status;
}

enum hn_status hn_lib_race_record(const char *path, const struct hn_identity *identity,
                                  const struct hn_version *version, const struct hn_lib_plan *plan,
                                  const struct hn_lib_raced *raced, size_t count,
                                  struct hn_error *err)
{
    struct hn_store *store = NULL;
    int64_t session = 0;
    enum hn_status status = hn_store_open(path, HN_STORE_WRITE, &store, err);
    if (status == HN_OK)
        status = begin(store, identity, version, plan, &session, err);
    for (size_t i = 0; i < count && status == HN_OK; i++) {
        status = put(store, session, &raced[i], err);
        if (status == HN_OK)
            status = put_image(store, session, &raced[i], err);
    }
    if (status == HN_OK)
        status = hn_store_commit(store, err);
    hn_store_close(store);
    return status;
}
