/* SPDX-License-Identifier: MIT */
#include "tuner/commands/device_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "runtime/device/health.h"
#include "tuner/commands/output.h"

static const double second_ms = 1000;
/* A signal is not waited for any longer. */
static const double nap_ms = 50;

struct watched {
    struct hn_device device;
    struct hn_health_watch *watch;
};

static enum hn_status open_one(const struct hn_driver *driver, int ordinal, struct watched *one,
                               struct hn_error *err)
{
    enum hn_status status = hn_driver_device(driver, ordinal, &one->device, err);
    if (status != HN_OK)
        return status;
    one->watch = hn_health_watch_create(one->device.uuid);
    return one->watch != NULL
               ? HN_OK
               : hn_fail(err, HN_ERUN,
                         "NVML (libnvidia-ml.so.1, of the driver) is not there or does not know "
                         "GPU %d (%s): there is nothing to watch it with",
                         ordinal, one->device.uuid);
}

static enum hn_status print_json(int ordinal, const struct watched *one,
                                 const struct hn_conditions *seen, struct hn_error *err)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    json_t *line = hn_fields_to_json(&hn_conditions_structure, seen);
    json_t *place =
        json_pack("{s:f, s:i, s:s}", "time", (double)now.tv_sec + 1e-9 * (double)now.tv_nsec,
                  "device", ordinal, "uuid", one->device.uuid);
    int failed = json_object_update(line, place);
    char *text = failed == 0 ? json_dumps(line, JSON_COMPACT) : NULL;
    json_decref(place);
    json_decref(line);
    if (text == NULL)
        return hn_fail_memory(err);
    enum hn_status status = hn_output_data(text, strlen(text), err);
    free(text);
    return status == HN_OK ? hn_output_data("\n", 1, err) : status;
}

static void print_text(int ordinal, const struct hn_conditions *seen)
{
    char clock[16] = "";
    struct tm parts;
    time_t now = time(NULL);
    struct hn_text text;
    hn_text_init(&text);
    hn_conditions_append(&text, seen);
    if (localtime_r(&now, &parts) != NULL)
        snprintf(clock, sizeof clock, "%02d:%02d:%02d", parts.tm_hour % 100, parts.tm_min % 100,
                 parts.tm_sec % 100);
    printf("%s  GPU %d  %s\n", clock, ordinal,
           text.length > 0 && !text.failed ? text.data : "NVML says nothing of it");
    hn_text_finish(&text);
}

static enum hn_status print_all(struct watched *all, int count, bool json, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (int i = 0; status == HN_OK && i < count; i++) {
        struct hn_health ignored = {.checks = 0};
        hn_health_look(all[i].watch, &ignored);
        const struct hn_conditions seen = hn_health_conditions(all[i].watch);
        if (json)
            status = print_json(i, &all[i], &seen, err);
        else
            print_text(i, &seen);
    }
    if (!json && (fflush(stdout) != 0 || ferror(stdout)))
        return hn_fail(err, HN_ERUN, "standard output takes no more");
    return status;
}

static enum hn_status wait_until(double until_ms, struct hn_error *err)
{
    while (hn_now_ms() < until_ms) {
        const struct timespec nap = {.tv_nsec = (long)(nap_ms * 1e6)};
        enum hn_status status = hn_interrupt_check(err);
        if (status != HN_OK)
            return status;
        nanosleep(&nap, NULL);
    }
    return hn_interrupt_check(err);
}

static enum hn_status watch_all(struct watched *all, int count, double seconds, bool json,
                                struct hn_error *err)
{
    double started_ms = hn_now_ms();
    enum hn_status status = HN_OK;
    for (double next_ms = started_ms; status == HN_OK; next_ms += second_ms) {
        status = print_all(all, count, json, err);
        if (seconds > 0 && next_ms + second_ms >= started_ms + 1e3 * seconds)
            break;
        if (status == HN_OK)
            status = wait_until(next_ms + second_ms, err);
    }
    return status;
}

enum hn_status hn_device_watch(const struct hn_driver *driver, double seconds, bool json,
                               struct hn_error *err)
{
    int count = 0;
    enum hn_status status = hn_driver_count(driver, &count, err);
    if (status == HN_OK && count == 0)
        status = hn_fail(err, HN_ERUN, "the CUDA driver finds no GPU");
    if (status != HN_OK)
        return status;
    struct watched *all = calloc((size_t)count, sizeof *all);
    if (all == NULL)
        return hn_fail_memory(err);
    for (int i = 0; status == HN_OK && i < count; i++)
        status = open_one(driver, i, &all[i], err);
    hn_interrupt_install();
    if (status == HN_OK)
        status = watch_all(all, count, seconds, json, err);
    for (int i = 0; i < count; i++)
        hn_health_watch_destroy(all[i].watch);
    free(all);
    return status;
}
