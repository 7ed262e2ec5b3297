/* SPDX-License-Identifier: MIT */
#include "runtime/bench/observe/counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/bench/bench_parts.h"
#include "runtime/bench/observe/cupti.h"
#include "runtime/bench/observe/observers.h"
#include "runtime/device/library.h"

/* What the GPU counts of a launch (counters.h), each from the state that a sample
 * begins with. Nothing is timed or compared. Where there are no counters to be had, the record's
 * message says in one line why. */

/* The sizes that the headers of CUDA 12.6 to 13.0 give on 64-bit machines. */
#define HAS_SIZE(type, last, bytes)                                                                \
    _Static_assert(HN_CUPTI_SIZE(type, last) == (bytes), "not the layout of CUPTI")
HAS_SIZE(hn_cupti_plain, private_data, 16);
HAS_SIZE(hn_cupti_chip, name, 32);
HAS_SIZE(hn_cupti_availability, image, 40);
HAS_SIZE(hn_cupti_host, host, 48);
HAS_SIZE(hn_cupti_metrics, count, 40);
HAS_SIZE(hn_cupti_config, config, 40);
HAS_SIZE(hn_cupti_values, values, 72);
HAS_SIZE(hn_cupti_enable, profiler, 32);
HAS_SIZE(hn_cupti_handle, handle, 24);
HAS_SIZE(hn_cupti_data_size, data_size, 64);
HAS_SIZE(hn_cupti_data, data, 40);
HAS_SIZE(hn_cupti_plan, level, 90);
HAS_SIZE(hn_cupti_range, name, 32);
HAS_SIZE(hn_cupti_stop, all_submitted, 41);
HAS_SIZE(hn_cupti_decode, dropped, 32);

/* CUDA 12.6; from 13.0 on versions have six digits. */
enum { OLDEST = 24 };

/* Looked for where it is set at $HONE_CUPTI (a file) alone; else where toolkit and wheels are. */
static const struct hn_toolkit_library toolkit_library = {
    .variable = "HONE_CUPTI",
    .file = "libcupti.so",
    .wheel = "nvidia/{cu13,cuda_cupti}/lib",
    .aside = "/extras/CUPTI/lib64",
};

/* All steps of a launch are one range. */
enum { RANGES = 1, LEVELS = 1 };

const char *const hn_counter_names[HN_COUNTER_COUNT] = {
#define X(id, name, metric) [HN_COUNTER_##id] = "counters." name,
    HN_COUNTERS(X)
#undef X
};

static const char *const metrics[HN_COUNTER_COUNT] = {
#define X(id, name, metric) metric,
    HN_COUNTERS(X)
#undef X
};

/* Reads the counters. It has room for a few at a time, so that the same has to be launched again
 * for each of several laps. While it holds the device the device counts, which slows launches. */
struct profiler {
    struct hn_bench *bench;
    bool is_open;
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

/* HN_ERUN: what could not be done, why, and where it helps, how it is allowed. */
static void check(const struct profiler *profiler, int result, const char *what,
                  struct hn_error *err)
{
    const char *text = NULL;
    if (hn_failed(err) || result == HN_CUPTI_SUCCESS)
        return;
    if (result == HN_CUPTI_INSUFFICIENT_PRIVILEGES ||
        result == HN_CUPTI_VIRTUAL_DEVICE_INSUFFICIENT_PRIVILEGES) {
        hn_fail(err, HN_ERUN,
                "the driver lets only administrators read the GPU's counters: run as root, "
                "or have 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' put into a "
                "file of /etc/modprobe.d and the driver loaded again");
        return;
    }
    if (result == HN_CUPTI_HARDWARE_BUSY || result == HN_CUPTI_MULTIPLE_SUBSCRIBERS) {
        hn_fail(err, HN_ERUN,
                "another profiler is reading the GPU's counters (%s: CUPTI's error %d)", what,
                result);
        return;
    }
    if (profiler->cupti.message != NULL)
        (void)profiler->cupti.message(result, &text);
    hn_fail(err, HN_ERUN, "the GPU's counters cannot be read: %s: CUPTI's error %d%s%s", what,
            result, text != NULL ? ", " : "", text != NULL ? text : "");
}

/* Calls a function of CUPTI's, where err has not failed. */
#define CALL(function, parameters, what)                                                           \
    (hn_failed(err) ? (void)0 : check(profiler, profiler->cupti.function(parameters), what, err))

static void open_cupti(struct hn_cupti *cupti, struct hn_error *err)
{
    const struct hn_symbol symbols[] = {{"cuptiGetVersion", &cupti->version, false},
                                        {"cuptiGetErrorMessage", &cupti->message, true},
#define X(member, function, structure) {#function, &cupti->member, false},
                                        HN_CUPTI_FUNCTIONS(X)
#undef X
    };
    struct hn_error reason = {.message = ""};
    uint32_t version = 0;
    if (hn_toolkit_open(&toolkit_library, symbols, sizeof symbols / sizeof *symbols,
                        &cupti->library, &reason) != HN_OK)
        hn_fail(err, HN_ERUN,
                "CUPTI of CUDA 12.6 or later, which reads the GPU's counters, was not found; it "
                "comes with the CUDA toolkit and with 'pip install nvidia-cuda-cupti', and "
                "HONE_CUPTI names its file (%.300s)",
                reason.message);
    else if (cupti->version(&version) != HN_CUPTI_SUCCESS || version < OLDEST)
        hn_fail(err, HN_ERUN,
                "CUPTI says that it is version %u, expected that of CUDA 12.6 (%d) or later",
                version, OLDEST);
    if (hn_failed(err))
        return;
    /* wheels are in no path, and CUPTI looks for these by their names */
    void *function = NULL;
    memcpy(&function, &cupti->version, sizeof function);
    hn_toolkit_load_beside(function, "libnvperf_host.so");
    hn_toolkit_load_beside(function, "libnvperf_target.so");
}

/* Permission to count shows here first. */
static void ask_availability(struct profiler *profiler, struct hn_error *err)
{
    static const char what[] = "asking which counters there are";
    struct hn_cupti_availability asked =
        PARAMETERS(hn_cupti_availability, image, .context = profiler->bench->context.primary);
    CALL(availability, &asked, what);
    if (hn_failed(err))
        return;
    profiler->availability = hn_need(1, asked.image_size + 1);
    asked.image = profiler->availability;
    CALL(availability, &asked, what);
}

static void open_host(struct profiler *profiler, struct hn_error *err)
{
    struct hn_cupti_chip chip =
        PARAMETERS(hn_cupti_chip, name, .device = (size_t)profiler->bench->context.device->ordinal);
    CALL(chip_name, &chip, "asking for the chip's name");
    struct hn_cupti_host host =
        PARAMETERS(hn_cupti_host, host, .kind = HN_CUPTI_RANGES, .chip = chip.name,
                   .availability = profiler->availability);
    CALL(host_begin, &host, "making the host's part of the profiler");
    profiler->host = host.host;
}

static int add_metrics(struct profiler *profiler, const char **names, size_t count)
{
    struct hn_cupti_metrics wanted =
        PARAMETERS(hn_cupti_metrics, count, .host = profiler->host, .names = names, .count = count);
    return profiler->cupti.add_metrics(&wanted);
}

static void close_host(struct profiler *profiler)
{
    struct hn_cupti_handle host = PARAMETERS(hn_cupti_handle, handle, .handle = profiler->host);
    if (profiler->host != NULL)
        (void)profiler->cupti.host_end(&host);
    profiler->host = NULL;
}

/* What this chip counts, in profiler->names. */
static void list_metrics(struct profiler *profiler, bool one_by_one)
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
static void choose_metrics(struct profiler *profiler, struct hn_error *err)
{
    list_metrics(profiler, false);
    if (add_metrics(profiler, profiler->names, profiler->count) == HN_CUPTI_SUCCESS)
        return;
    list_metrics(profiler, true);
    close_host(profiler);
    open_host(profiler, err);
    if (!hn_failed(err) && profiler->count == 0)
        hn_fail(err, HN_ERUN, "CUPTI knows no counters of this GPU");
    if (!hn_failed(err))
        check(profiler, add_metrics(profiler, profiler->names, profiler->count),
              "choosing what to count", err);
}

static void make_config(struct profiler *profiler, struct hn_error *err)
{
    static const char what[] = "planning what to count";
    if (!hn_failed(err))
        choose_metrics(profiler, err);
    struct hn_cupti_config config =
        PARAMETERS(hn_cupti_config, config_size, .host = profiler->host);
    CALL(config_size, &config, what);
    if (hn_failed(err))
        return;
    profiler->config_size = config.config_size;
    profiler->config = config.config = hn_need(1, config.config_size + 1);
    config.size = HN_CUPTI_SIZE(hn_cupti_config, config);
    CALL(config, &config, what);
}

static void stop(struct profiler *profiler)
{
    struct hn_cupti_handle held = PARAMETERS(hn_cupti_handle, handle, .handle = profiler->held);
    if (profiler->held != NULL)
        (void)profiler->cupti.disable(&held);
    profiler->held = NULL;
    free(profiler->data);
    profiler->data = NULL;
}

static void close_profiler(struct profiler *profiler)
{
    struct hn_cupti_plain plain = {.size = sizeof plain};
    stop(profiler);
    close_host(profiler);
    if (profiler->initialized)
        (void)profiler->cupti.deinitialize(&plain);
    hn_library_close(profiler->cupti.library);
    free(profiler->availability);
    free(profiler->config);
    *profiler = (struct profiler){.bench = profiler->bench};
}

/* HN_ERUN says in one line what is missing and how it is got: the library, a permission, a device
 * that can be counted. */
static void open_profiler(struct profiler *profiler, struct hn_error *err)
{
    struct hn_cupti_plain plain = {.size = sizeof plain};
    open_cupti(&profiler->cupti, err);
    CALL(initialize, &plain, "starting CUPTI");
    profiler->initialized = !hn_failed(err);
    ask_availability(profiler, err);
    open_host(profiler, err);
    make_config(profiler, err);
    profiler->is_open = !hn_failed(err);
    if (hn_failed(err))
        close_profiler(profiler);
}

/* Takes hold of the device's counters, until `stop`. */
static void begin(struct profiler *profiler, struct hn_error *err)
{
    static const char making[] = "making room for the counters";
    struct hn_cupti_enable enable =
        PARAMETERS(hn_cupti_enable, profiler, .context = profiler->bench->context.primary);
    CALL(enable, &enable, "taking hold of the counters");
    if (hn_failed(err))
        return;
    profiler->held = enable.profiler;
    struct hn_cupti_data_size asked = PARAMETERS(
        hn_cupti_data_size, data_size, .profiler = profiler->held, .names = profiler->names,
        .count = profiler->count, .ranges = RANGES, .nodes = RANGES);
    CALL(data_size, &asked, making);
    if (hn_failed(err))
        return;
    profiler->data_size = asked.data_size;
    profiler->data = hn_need(1, asked.data_size + 1);
    struct hn_cupti_data data =
        PARAMETERS(hn_cupti_data, data, .profiler = profiler->held,
                   .data_size = profiler->data_size, .data = profiler->data);
    CALL(data, &data, making);
    struct hn_cupti_plan plan = PARAMETERS(
        hn_cupti_plan, level, .profiler = profiler->held, .config_size = profiler->config_size,
        .config = profiler->config, .data_size = profiler->data_size, .data = profiler->data,
        .range = HN_CUPTI_USER_RANGE, .replay = HN_CUPTI_USER_REPLAY, .ranges_a_pass = RANGES,
        .levels = LEVELS, .least_level = 1, .level = 1);
    CALL(plan, &plan, "saying what to count");
}

static void start_lap(struct profiler *profiler, struct hn_error *err)
{
    static const char what[] = "starting to count";
    struct hn_cupti_handle start = PARAMETERS(hn_cupti_handle, handle, .handle = profiler->held);
    struct hn_cupti_range range =
        PARAMETERS(hn_cupti_range, name, .profiler = profiler->held, .name = "launch");
    CALL(start, &start, what);
    CALL(push, &range, what);
}

/* True: do another lap. */
static bool end_lap(struct profiler *profiler, struct hn_error *err)
{
    struct hn_cupti_handle pop = PARAMETERS(hn_cupti_handle, handle, .handle = profiler->held);
    struct hn_cupti_stop stop =
        PARAMETERS(hn_cupti_stop, all_submitted, .profiler = profiler->held);
    CALL(pop, &pop, "counting");
    CALL(stop, &stop, "counting");
    return !hn_failed(err) && stop.all_submitted == 0;
}

/* What was counted in all laps. */
static void read_counters(struct profiler *profiler, struct hn_bindings *observed,
                          struct hn_error *err)
{
    double values[HN_COUNTER_COUNT] = {0};
    struct hn_cupti_decode decode =
        PARAMETERS(hn_cupti_decode, dropped, .profiler = profiler->held);
    CALL(decode, &decode, "collecting the counters");
    if (!hn_failed(err) && decode.dropped > 0)
        hn_fail(err, HN_ERUN, "the GPU lost counters of %zu launches", decode.dropped);
    struct hn_cupti_values wanted =
        PARAMETERS(hn_cupti_values, values, .host = profiler->host, .data = profiler->data,
                   .data_size = profiler->data_size, .names = profiler->names,
                   .count = profiler->count, .values = values);
    CALL(values, &wanted, "reading the counters");
    for (size_t i = 0; i < profiler->count; i++) {
        /* Nothing over nothing: of a unit that was not used. */
        if (isfinite(values[i]) && values[i] >= 0)
            hn_observed_set(observed, hn_counter_names[profiler->counters[i]], hn_real(values[i]),
                            err);
    }
}

/* Far more laps than any set of counters takes. */
enum { MOST_LAPS = 200 };

/* As a sample finds it: unless the cache is flushed, what a launch finds is what one before it
 * left. What CUPTI refuses is no failure of the bench: `obstacle` has its message then. */
static void do_laps(struct profiler *profiler, const struct hn_work *work,
                    struct hn_bindings *observed, struct hn_error *obstacle, struct hn_error *err)
{
    struct hn_bench *bench = profiler->bench;
    bool more = true;
    begin(profiler, obstacle);
    for (int lap = 0; more && !hn_failed(obstacle) && lap < MOST_LAPS; lap++) {
        if (bench->options.regime != HN_COLD) {
            hn_sampler_prepare(work, 1, HN_OUTPUTS_LEFT, err);
            work->launch(work->subject, 0, err);
        }
        hn_sampler_prepare(work, 1, HN_OUTPUTS_LEFT, err);
        hn_context_synchronize(&bench->context, work->what, err);
        if (!hn_failed(err))
            start_lap(profiler, obstacle);
        if (hn_failed(err) || hn_failed(obstacle))
            break;
        work->launch(work->subject, 0, err);
        hn_context_synchronize(&bench->context, work->what, err);
        more = !hn_failed(err) && end_lap(profiler, obstacle);
    }
    if (!hn_failed(err))
        read_counters(profiler, observed, obstacle);
    stop(profiler);
}

static void *open_counters(struct hn_bench *bench)
{
    struct profiler *profiler = hn_need(1, sizeof *profiler);
    profiler->bench = bench;
    return profiler;
}

static void close_counters(void *own)
{
    close_profiler(own);
    free(own);
}

static void run(void *own, struct hn_variant *variant, double asked, struct hn_error *err)
{
    struct profiler *profiler = own;
    struct hn_record *record = variant->record;
    struct hn_error obstacle = {.status = HN_OK};
    const struct hn_work work = hn_bench_work(profiler->bench, variant);
    (void)asked;
    if (work.issued)
        hn_fail(&obstacle, HN_ERUN,
                "a pipeline's launches and copies run side by side, and are not counted");
    else if (!profiler->is_open)
        open_profiler(profiler, &obstacle);
    hn_observed_drop(&record->observed, "counters");
    if (profiler->is_open && !work.issued) {
        do_laps(profiler, &work, &record->observed, &obstacle, err);
        profiler->bench->unchecked = true;
    }
    if (!hn_failed(err) && hn_failed(&obstacle)) {
        hn_observed_drop(&record->observed, "counters");
        hn_record_fail(record, HN_OUTCOME_OK, "%s", obstacle.message);
    }
}

const struct hn_observer hn_counters_observer = {
    .name = "counters", .open = open_counters, .run = run, .close = close_counters};
