/* SPDX-License-Identifier: MIT */
#include "runtime/counters/profiler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/counters/cupti.h"

/* All steps of a launch are one range. */
enum { RANGES = 1, LEVELS = 1 };

static const char *const metrics[HN_COUNTER_COUNT] = {
#define X(id, name, metric) metric,
    HN_COUNTERS(X)
#undef X
};

struct hn_profiler {
    struct hn_context *context;
    struct hn_cupti cupti;
    bool initialized;
    void *host;
    uint8_t *availability;
    uint8_t *config;
    size_t config_size;
    enum hn_counter counters[HN_COUNTER_COUNT]; /* those that the device can tell */
    const char *names[HN_COUNTER_COUNT];        /* what CUPTI calls them */
    size_t count;
    void *held; /* CUPTI's hold on the device, from begin to read or stop */
    uint8_t *data;
    size_t data_size;
};

#define PARAMETERS(type, last, ...)                                                                \
    (struct type)                                                                                  \
    {                                                                                              \
        .size = HN_CUPTI_SIZE(type, last), __VA_ARGS__                                             \
    }

static enum hn_status check(const struct hn_profiler *profiler, int result, const char *what,
                            struct hn_error *err)
{
    return hn_cupti_check(&profiler->cupti, result, what, err);
}

/* Permission to count shows here first. */
static enum hn_status ask_availability(struct hn_profiler *profiler, struct hn_error *err)
{
    struct hn_cupti_availability asked =
        PARAMETERS(hn_cupti_availability, image, .context = profiler->context->primary);
    int result = profiler->cupti.availability(&asked);
    if (result == HN_CUPTI_SUCCESS) {
        profiler->availability = calloc(1, asked.image_size + 1);
        if (profiler->availability == NULL)
            return hn_fail_memory(err);
        asked.image = profiler->availability;
        result = profiler->cupti.availability(&asked);
    }
    return check(profiler, result, "asking which counters there are", err);
}

static enum hn_status open_host(struct hn_profiler *profiler, struct hn_error *err)
{
    struct hn_cupti_chip chip =
        PARAMETERS(hn_cupti_chip, name, .device = (size_t)profiler->context->device->ordinal);
    int result = profiler->cupti.chip_name(&chip);
    if (result != HN_CUPTI_SUCCESS)
        return check(profiler, result, "asking for the chip's name", err);
    struct hn_cupti_host host =
        PARAMETERS(hn_cupti_host, host, .kind = HN_CUPTI_RANGES, .chip = chip.name,
                   .availability = profiler->availability);
    result = profiler->cupti.host_begin(&host);
    profiler->host = host.host;
    return check(profiler, result, "making the host's part of the profiler", err);
}

static int add_metrics(struct hn_profiler *profiler, const char **names, size_t count)
{
    struct hn_cupti_metrics wanted =
        PARAMETERS(hn_cupti_metrics, count, .host = profiler->host, .names = names, .count = count);
    return profiler->cupti.add_metrics(&wanted);
}

static void close_host(struct hn_profiler *profiler)
{
    struct hn_cupti_host_end host = PARAMETERS(hn_cupti_host_end, host, .host = profiler->host);
    if (profiler->host != NULL)
        (void)profiler->cupti.host_end(&host);
    profiler->host = NULL;
}

/* What this chip counts, in profiler->names. */
static void list_metrics(struct hn_profiler *profiler, bool one_by_one)
{
    profiler->count = 0;
    for (int i = 0; i < HN_COUNTER_COUNT; i++) {
        const char *name = metrics[i];
        if (one_by_one && add_metrics(profiler, &name, 1) != HN_CUPTI_SUCCESS)
            continue;
        profiler->names[profiler->count] = name;
        profiler->counters[profiler->count++] = (enum hn_counter)i;
    }
}

/* All in one call, since each call gets laps of its own. Where the chip does not have one of them
 * they are tried one by one, and those that it has added anew. */
static enum hn_status choose_metrics(struct hn_profiler *profiler, struct hn_error *err)
{
    list_metrics(profiler, false);
    if (add_metrics(profiler, profiler->names, profiler->count) == HN_CUPTI_SUCCESS)
        return HN_OK;
    list_metrics(profiler, true);
    close_host(profiler);
    enum hn_status status = open_host(profiler, err);
    if (status != HN_OK || profiler->count == 0)
        return status;
    return check(profiler, add_metrics(profiler, profiler->names, profiler->count),
                 "choosing what to count", err);
}

static enum hn_status make_config(struct hn_profiler *profiler, struct hn_error *err)
{
    struct hn_cupti_config_size asked =
        PARAMETERS(hn_cupti_config_size, config_size, .host = profiler->host);
    enum hn_status status = choose_metrics(profiler, err);
    if (status != HN_OK)
        return status;
    if (profiler->count == 0)
        return hn_fail(err, HN_ERUN, "CUPTI knows no counters of this GPU");
    int result = profiler->cupti.config_size(&asked);
    if (result != HN_CUPTI_SUCCESS)
        return check(profiler, result, "planning what to count", err);
    profiler->config_size = asked.config_size;
    profiler->config = calloc(1, asked.config_size + 1);
    if (profiler->config == NULL)
        return hn_fail_memory(err);
    struct hn_cupti_config config =
        PARAMETERS(hn_cupti_config, config, .host = profiler->host,
                   .config_size = profiler->config_size, .config = profiler->config);
    return check(profiler, profiler->cupti.config(&config), "planning what to count", err);
}

static enum hn_status open_profiler(struct hn_profiler *profiler, struct hn_error *err)
{
    struct hn_cupti_plain plain = PARAMETERS(hn_cupti_plain, private_data, .private_data = NULL);
    enum hn_status status = hn_cupti_open(&profiler->cupti, err);
    if (status != HN_OK)
        return status;
    status = check(profiler, profiler->cupti.initialize(&plain), "starting CUPTI", err);
    profiler->initialized = status == HN_OK;
    if (status == HN_OK)
        status = ask_availability(profiler, err);
    if (status == HN_OK)
        status = open_host(profiler, err);
    return status == HN_OK ? make_config(profiler, err) : status;
}

enum hn_status hn_profiler_create(struct hn_context *context, struct hn_profiler **profiler,
                                  struct hn_error *err)
{
    struct hn_profiler *made = calloc(1, sizeof *made);
    *profiler = NULL;
    if (made == NULL)
        return hn_fail_memory(err);
    made->context = context;
    enum hn_status status = open_profiler(made, err);
    if (status != HN_OK) {
        hn_profiler_destroy(made);
        return status;
    }
    *profiler = made;
    return HN_OK;
}

void hn_profiler_destroy(struct hn_profiler *profiler)
{
    if (profiler == NULL)
        return;
    struct hn_cupti_plain plain = PARAMETERS(hn_cupti_plain, private_data, .private_data = NULL);
    hn_profiler_stop(profiler);
    close_host(profiler);
    if (profiler->initialized)
        (void)profiler->cupti.deinitialize(&plain);
    hn_cupti_close(&profiler->cupti);
    free(profiler->availability);
    free(profiler->config);
    free(profiler);
}

static enum hn_status make_data(struct hn_profiler *profiler, struct hn_error *err)
{
    struct hn_cupti_data_size asked = PARAMETERS(
        hn_cupti_data_size, data_size, .profiler = profiler->held, .names = profiler->names,
        .count = profiler->count, .ranges = RANGES, .nodes = RANGES);
    int result = profiler->cupti.data_size(&asked);
    if (result != HN_CUPTI_SUCCESS)
        return check(profiler, result, "making room for the counters", err);
    profiler->data_size = asked.data_size;
    profiler->data = calloc(1, asked.data_size + 1);
    if (profiler->data == NULL)
        return hn_fail_memory(err);
    struct hn_cupti_data data =
        PARAMETERS(hn_cupti_data, data, .profiler = profiler->held,
                   .data_size = profiler->data_size, .data = profiler->data);
    return check(profiler, profiler->cupti.data(&data), "making room for the counters", err);
}

enum hn_status hn_profiler_begin(struct hn_profiler *profiler, struct hn_error *err)
{
    struct hn_cupti_enable enable =
        PARAMETERS(hn_cupti_enable, profiler, .context = profiler->context->primary);
    int result = profiler->cupti.enable(&enable);
    if (result != HN_CUPTI_SUCCESS)
        return check(profiler, result, "taking hold of the counters", err);
    profiler->held = enable.profiler;
    enum hn_status status = make_data(profiler, err);
    struct hn_cupti_plan plan = PARAMETERS(
        hn_cupti_plan, level, .profiler = profiler->held, .config_size = profiler->config_size,
        .config = profiler->config, .data_size = profiler->data_size, .data = profiler->data,
        .range = HN_CUPTI_USER_RANGE, .replay = HN_CUPTI_USER_REPLAY, .ranges_a_pass = RANGES,
        .levels = LEVELS, .least_level = 1, .level = 1);
    if (status == HN_OK)
        status = check(profiler, profiler->cupti.plan(&plan), "saying what to count", err);
    if (status != HN_OK)
        hn_profiler_stop(profiler);
    return status;
}

enum hn_status hn_profiler_start_lap(struct hn_profiler *profiler, struct hn_error *err)
{
    struct hn_cupti_profiler start =
        PARAMETERS(hn_cupti_profiler, profiler, .profiler = profiler->held);
    struct hn_cupti_range range =
        PARAMETERS(hn_cupti_range, name, .profiler = profiler->held, .name = "launch");
    int result = profiler->cupti.start(&start);
    if (result == HN_CUPTI_SUCCESS)
        result = profiler->cupti.push(&range);
    return check(profiler, result, "starting to count", err);
}

enum hn_status hn_profiler_end_lap(struct hn_profiler *profiler, bool *more, struct hn_error *err)
{
    struct hn_cupti_profiler pop =
        PARAMETERS(hn_cupti_profiler, profiler, .profiler = profiler->held);
    struct hn_cupti_stop stop =
        PARAMETERS(hn_cupti_stop, all_submitted, .profiler = profiler->held);
    int result = profiler->cupti.pop(&pop);
    if (result == HN_CUPTI_SUCCESS)
        result = profiler->cupti.stop(&stop);
    *more = stop.all_submitted == 0;
    return check(profiler, result, "counting", err);
}

static enum hn_status evaluate(struct hn_profiler *profiler, struct hn_bindings *observed,
                               struct hn_error *err)
{
    double values[HN_COUNTER_COUNT] = {0};
    struct hn_cupti_values wanted =
        PARAMETERS(hn_cupti_values, values, .host = profiler->host, .data = profiler->data,
                   .data_size = profiler->data_size, .names = profiler->names,
                   .count = profiler->count, .values = values);
    enum hn_status status =
        check(profiler, profiler->cupti.values(&wanted), "reading the counters", err);
    for (size_t i = 0; status == HN_OK && i < profiler->count; i++) {
        struct hn_value value = hn_real(values[i]);
        /* Nothing over nothing: of a unit that was not used. */
        if (isfinite(values[i]) && values[i] >= 0)
            status =
                hn_bindings_set(observed, hn_counter_names[profiler->counters[i]], &value, err);
    }
    return status;
}

enum hn_status hn_profiler_read(struct hn_profiler *profiler, struct hn_bindings *observed,
                                struct hn_error *err)
{
    struct hn_cupti_decode decode =
        PARAMETERS(hn_cupti_decode, dropped, .profiler = profiler->held);
    enum hn_status status =
        check(profiler, profiler->cupti.decode(&decode), "collecting the counters", err);
    if (status == HN_OK && decode.dropped > 0)
        status = hn_fail(err, HN_ERUN, "the GPU lost counters of %zu launches", decode.dropped);
    if (status == HN_OK)
        status = evaluate(profiler, observed, err);
    hn_profiler_stop(profiler);
    return status;
}

void hn_profiler_stop(struct hn_profiler *profiler)
{
    struct hn_cupti_profiler held =
        PARAMETERS(hn_cupti_profiler, profiler, .profiler = profiler->held);
    if (profiler->held != NULL)
        (void)profiler->cupti.disable(&held);
    profiler->held = NULL;
    free(profiler->data);
    profiler->data = NULL;
}
