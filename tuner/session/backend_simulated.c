/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tuner/session/backend.h"
#include "tuner/session/find_recording.h"
#include "tuner/session/points.h"

/* Measurements from a recording: every compile and evaluate ends at once with what was recorded. */
struct simulated {
    struct hn_backend base;
    struct hn_recording recording;
    struct hn_points points;   /* those recorded */
    uint32_t *record_of_point; /* by their number */
    uint16_t *choice;
    struct hn_backend_event *events; /* a queue */
    size_t event_count;
    size_t event_next;
    size_t event_capacity;
};

/* A space counts as recorded when at least this part of it is. */
static const double coverage_limit = 0.95;

static struct simulated *simulated_of(struct hn_backend *backend)
{
    return (struct simulated *)backend;
}

static void drop_events(struct simulated *simulated)
{
    for (size_t i = simulated->event_next; i < simulated->event_count; i++)
        hn_backend_event_finish(&simulated->events[i]);
    free(simulated->events);
}

static void destroy(struct hn_backend *backend)
{
    struct simulated *simulated = simulated_of(backend);
    drop_events(simulated);
    hn_recording_finish(&simulated->recording);
    hn_points_finish(&simulated->points);
    free(simulated->record_of_point);
    free(simulated->choice);
    free(simulated);
}

static enum hn_status prepare(struct hn_backend *backend, double *noise, struct hn_error *err)
{
    (void)backend;
    (void)err;
    *noise = 0;
    return HN_OK;
}

static const struct hn_record *find(struct simulated *simulated, const struct hn_bindings *point)
{
    const struct hn_space *space = simulated->base.task->space;
    if (hn_space_choice(space, point, simulated->choice, NULL) != HN_OK)
        return NULL;
    uint32_t number = hn_points_find(&simulated->points, simulated->choice);
    return number != HN_NO_KEY
               ? &simulated->recording.records.items[simulated->record_of_point[number]]
               : NULL;
}

/* Moves what is still queued to the front, once that is less than what was taken. */
static void compact(struct simulated *simulated)
{
    size_t left = simulated->event_count - simulated->event_next;
    if (left > simulated->event_next)
        return;
    memmove(simulated->events, simulated->events + simulated->event_next,
            left * sizeof *simulated->events);
    simulated->event_next = 0;
    simulated->event_count = left;
}

/* Takes the event over, also when it fails. */
static enum hn_status push(struct simulated *simulated, struct hn_backend_event *event,
                           struct hn_error *err)
{
    if (simulated->event_next > 0)
        compact(simulated);
    if (simulated->event_count == simulated->event_capacity) {
        size_t capacity = simulated->event_capacity * 2 + 16;
        struct hn_backend_event *events = realloc(simulated->events, capacity * sizeof *events);
        if (events == NULL) {
            hn_backend_event_finish(event);
            return hn_fail_memory(err);
        }
        simulated->events = events;
        simulated->event_capacity = capacity;
    }
    simulated->events[simulated->event_count++] = *event;
    return HN_OK;
}

static bool failed_to_compile(enum hn_outcome outcome)
{
    return outcome == HN_OUTCOME_COMPILE_ERROR || outcome == HN_OUTCOME_COMPILE_TIMEOUT ||
           outcome == HN_OUTCOME_COMPILE_CRASH;
}

static enum hn_status compile(struct hn_backend *backend, uint64_t ticket,
                              const struct hn_bindings *point, double patience_ms,
                              struct hn_error *err)
{
    struct simulated *simulated = simulated_of(backend);
    (void)patience_ms;
    struct hn_backend_event event = {.kind = HN_EVENT_COMPILED, .ticket = ticket};
    const struct hn_record *record = find(simulated, point);
    hn_image_init(&event.image);
    event.image.outcome = HN_OUTCOME_OK;
    if (record == NULL) {
        event.image.outcome = HN_OUTCOME_SKIPPED;
        event.image.message = strdup("not in the recording");
        return push(simulated, &event, err);
    }
    event.image.resources = record->resources;
    event.image.compile_ms = record->costs.compile_ms;
    snprintf(event.image.code_hash, sizeof event.image.code_hash, "%s", record->code_hash);
    if (failed_to_compile(record->outcome)) {
        event.image.outcome = record->outcome;
        event.image.message = record->message != NULL ? strdup(record->message) : NULL;
    }
    return push(simulated, &event, err);
}

static enum hn_status evaluate(struct hn_backend *backend, uint64_t ticket,
                               const struct hn_bindings *point, const struct hn_image *image,
                               const struct hn_bench_request *request, struct hn_error *err)
{
    struct simulated *simulated = simulated_of(backend);
    struct hn_backend_event event = {.kind = HN_EVENT_EVALUATED, .ticket = ticket};
    (void)image;
    (void)request;
    hn_record_init(&event.record);
    enum hn_status status = hn_record_copy(&event.record, find(simulated, point), err);
    if (status != HN_OK)
        return status;
    /* Its original was not proposed here: the time of the same machine code is its own. */
    if (event.record.outcome == HN_OUTCOME_DUPLICATE) {
        event.record.outcome = HN_OUTCOME_OK;
        free(event.record.message);
        free(event.record.original);
        event.record.message = NULL;
        event.record.original = NULL;
    }
    return push(simulated, &event, err);
}

/* A recording holds the occupancy and the key itself. */
static enum hn_status complete(struct hn_backend *backend, const struct hn_bindings *point,
                               struct hn_image *image, char key[33], struct hn_error *err)
{
    (void)backend;
    (void)point;
    (void)err;
    memcpy(key, image->code_hash, sizeof image->code_hash);
    return HN_OK;
}

static size_t room(const struct hn_backend *backend)
{
    (void)backend;
    return 1;
}

static bool idle(const struct hn_backend *backend)
{
    (void)backend;
    return true;
}

static enum hn_status wait_event(struct hn_backend *backend, int timeout_ms,
                                 struct hn_backend_event *event, struct hn_error *err)
{
    struct simulated *simulated = simulated_of(backend);
    (void)timeout_ms;
    (void)err;
    if (simulated->event_next < simulated->event_count)
        *event = simulated->events[simulated->event_next++];
    else
        *event = (struct hn_backend_event){.kind = HN_EVENT_NONE};
    return HN_OK;
}

static enum hn_status reseed(struct hn_backend *backend, uint64_t seed, struct hn_error *err)
{
    (void)backend;
    (void)seed;
    (void)err;
    return HN_OK;
}

static double busy_ms(const struct hn_backend *backend)
{
    (void)backend;
    return 0;
}

static const struct hn_backend_kind simulated_kind = {
    .destroy = destroy,
    .prepare = prepare,
    .compile = compile,
    .complete = complete,
    .room = room,
    .idle = idle,
    .evaluate = evaluate,
    .wait = wait_event,
    .reseed = reseed,
    .busy_ms = busy_ms,
};

static enum hn_status index_points(struct simulated *simulated, const char *path,
                                   struct hn_error *err)
{
    const struct hn_space *space = simulated->base.task->space;
    const struct hn_records *records = &simulated->recording.records;
    uint64_t size = hn_space_size(space);
    enum hn_status status = hn_points_init(&simulated->points, space, err);
    simulated->record_of_point = calloc(records->count + 1, sizeof *simulated->record_of_point);
    simulated->choice = calloc(hn_space_parameter_count(space) + 1, sizeof *simulated->choice);
    if (simulated->record_of_point == NULL || simulated->choice == NULL)
        status = hn_fail_memory(err);
    for (size_t i = 0; status == HN_OK && i < records->count; i++) {
        uint32_t number;
        if (hn_space_choice(space, &records->items[i].point, simulated->choice, NULL) != HN_OK ||
            !hn_space_contains(space, simulated->choice))
            continue;
        status = hn_points_add(&simulated->points, simulated->choice, &number, err);
        if (status == HN_OK)
            simulated->record_of_point[number] = (uint32_t)i;
    }
    if (status != HN_OK)
        return status;
    uint64_t covered = hn_points_count(&simulated->points);
    if ((double)covered < coverage_limit * (double)size)
        return hn_fail(err, HN_ECONFIG,
                       "%s records %llu of the %llu valid points; at least %g%% are needed for a "
                       "simulation (restrict the space with -s; `hone explain --simulate` and "
                       "`hone report` show a part of one)",
                       path, (unsigned long long)covered, (unsigned long long)size,
                       coverage_limit * 100);
    return HN_OK;
}

/* The limits of the recorded device, as far as its architecture tells. */
static enum hn_status describe_device(struct simulated *simulated, struct hn_error *err)
{
    char architecture[16];
    struct hn_device *device = &simulated->base.device;
    const struct hn_device_identity *identity = &simulated->recording.identity.device;
    snprintf(architecture, sizeof architecture, "sm_%d", identity->capability);
    if (hn_device_for_architecture(architecture, device, NULL) != HN_OK) {
        enum hn_status status = hn_device_for_architecture("sm_90", device, err);
        if (status != HN_OK)
            return status;
    }
    device->identity = *identity;
    return HN_OK;
}

/* The times are those of the kernel as it was recorded, which may no longer be the kernel of the
 * config. A recording that does not say which template it is of is taken for the config's. */
static void set_version(struct simulated *simulated)
{
    struct hn_task *task = simulated->base.task;
    const struct hn_version *recorded = &simulated->recording.version;
    const struct hn_version own = task->version;
    task->stale = hn_recording_is_stale(task, &simulated->recording);
    task->version = *recorded;
    if (task->stale)
        snprintf(simulated->base.note, sizeof simulated->base.note,
                 "the recording is stale: template, options or plan have changed since");
    if (hn_version_knows_template(recorded))
        return;
    memcpy(task->version.template_hash, own.template_hash, sizeof own.template_hash);
    memcpy(task->version.options_hash, own.options_hash, sizeof own.options_hash);
    memcpy(task->version.plan_hash, own.plan_hash, sizeof own.plan_hash);
}

enum hn_status hn_backend_simulated(struct hn_task *task, const char *path,
                                    struct hn_backend **backend, struct hn_error *err)
{
    struct simulated *simulated = calloc(1, sizeof *simulated);
    if (simulated == NULL)
        return hn_fail_memory(err);
    simulated->base = (struct hn_backend){.kind = &simulated_kind, .task = task, .simulated = true};
    enum hn_status status = hn_find_recording(task, path, &simulated->recording, err);
    if (status != HN_OK) {
        free(simulated);
        return status;
    }
    status = index_points(simulated, path, err);
    if (status == HN_OK)
        status = describe_device(simulated, err);
    if (status != HN_OK) {
        destroy(&simulated->base);
        return status;
    }
    status = hn_task_set_measured(task, &simulated->recording.identity, err);
    if (status != HN_OK) {
        destroy(&simulated->base);
        return status;
    }
    set_version(simulated);
    *backend = &simulated->base;
    return HN_OK;
}
