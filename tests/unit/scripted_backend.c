/* SPDX-License-Identifier: MIT */
#include "scripted_backend.h"

#include <math.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "tuner/session/session_internal.h"

static struct scripted *scripted_of(const struct hn_backend *backend)
{
    return (struct scripted *)(uintptr_t)backend;
}

static void destroy(struct hn_backend *backend)
{
    struct scripted *scripted = scripted_of(backend);
    for (size_t i = 0; i < scripted->queue_count; i++)
        hn_backend_event_finish(&scripted->queue[i].event);
    free(scripted->queue);
    scripted->queue = NULL;
    scripted->queue_count = 0;
}

static enum hn_status prepare(struct hn_backend *backend, double *noise, struct hn_error *err)
{
    (void)err;
    scripted_of(backend)->prepared++;
    *noise = 0.001;
    return HN_OK;
}

static void start(struct scripted *scripted, const struct hn_backend_event *event, int point,
                  int delay)
{
    struct scripted_job *queue =
        realloc(scripted->queue, (scripted->queue_count + 1) * sizeof *queue);
    assert_non_null(queue);
    scripted->queue = queue;
    queue[scripted->queue_count++] =
        (struct scripted_job){*event, point, scripted->clock + 1 + delay, 0};
}

static enum hn_status compile(struct hn_backend *backend, uint64_t ticket,
                              const struct hn_bindings *point, double patience_ms,
                              struct hn_error *err)
{
    struct scripted *scripted = scripted_of(backend);
    struct hn_backend_event event = {.kind = HN_EVENT_COMPILED, .ticket = ticket};
    int number = point_number(point);
    const struct fate *fate = &scripted->fates[number];
    if (scripted->fail_seeded && scripted->reseeds > 0)
        return hn_fail(err, HN_ERUN, "no more compilers");
    assert_true(scripted->compiled_count < LOG_LIMIT);
    scripted->compiled[scripted->compiled_count++] = number;
    hn_image_init(&event.image);
    event.image.outcome = fate->compiled;
    event.image.resources.registers = number;
    event.image.resources.known = true;
    event.image.compile_ms = fate->compile_ms > 0 ? fate->compile_ms : 10;
    if (event.image.compile_ms > patience_ms) {
        event.image.outcome = HN_OUTCOME_COMPILE_STOPPED;
        event.image.resources = (struct hn_resources){.known = false};
        event.image.message = strdup("it takes too long");
        event.image.compile_ms = patience_ms;
    } else if (fate->compiled == HN_OUTCOME_OK) {
        event.image.cubin = strdup("cubin");
        event.image.size = 5;
    } else {
        event.image.message = strdup("it does not compile");
    }
    if (ticket < LOG_LIMIT)
        scripted->ages_ms[ticket] = fate->age_ms;
    if (fate->stuck)
        hn_backend_event_finish(&event);
    else
        start(scripted, &event, number, fate->delay);
    return HN_OK;
}

static double compiling_ms(const struct hn_backend *backend, uint64_t ticket)
{
    const struct scripted *scripted = scripted_of(backend);
    return ticket < LOG_LIMIT ? scripted->ages_ms[ticket] : 0;
}

static enum hn_status complete(struct hn_backend *backend, const struct hn_bindings *point,
                               struct hn_image *image, char key[33], struct hn_error *err)
{
    int number = point_number(point);
    int code = scripted_of(backend)->fates[number].code;
    (void)err;
    image->resources.occupancy = 0.5;
    snprintf(key, 33, "%032x", code != 0 ? GRID_POINTS + (unsigned)code : (unsigned)number);
    return HN_OK;
}

static size_t room(const struct hn_backend *backend)
{
    const struct scripted *scripted = scripted_of(backend);
    size_t limit = (size_t)scripted->jobs * 2;
    return scripted->queue_count < limit ? limit - scripted->queue_count : 0;
}

static bool idle(const struct hn_backend *backend)
{
    return !scripted_of(backend)->evaluating;
}

static void measure(const struct fate *fate, const struct hn_bench_request *request,
                    struct hn_record *record)
{
    bool stopped = !request->full && request->censor_us > 0 && fate->us > 1.2 * request->censor_us;
    if (stopped)
        record->outcome = HN_OUTCOME_SLOWER;
    record->timing = (struct hn_timing){.median_us = fate->us,
                                        .low_us = fate->us * 0.998,
                                        .high_us = fate->us * 1.002,
                                        .resolution_us = 0.01,
                                        .batch = 1};
    record->costs.measure_ms = stopped ? 1 : 10;
}

static enum hn_status evaluate(struct hn_backend *backend, uint64_t ticket,
                               const struct hn_bindings *point, const struct hn_image *image,
                               const struct hn_bench_request *request, struct hn_error *err)
{
    struct scripted *scripted = scripted_of(backend);
    struct hn_backend_event event = {.kind = HN_EVENT_EVALUATED, .ticket = ticket};
    int number = point_number(point);
    const struct fate *fate = &scripted->fates[number];
    assert_false(scripted->evaluating);
    assert_non_null(image->cubin);
    assert_true(scripted->evaluated_count < LOG_LIMIT);
    scripted->evaluated[scripted->evaluated_count++] =
        (struct scripted_evaluation){ticket, number, *request};
    if (scripted->evaluated_count == scripted->fail_at)
        return hn_fail(err, HN_ERUN, "the GPU is gone");
    if (scripted->evaluated_count == scripted->interrupt_at) {
        raise(SIGINT);
        scripted->evaluating = true;
        return HN_OK; /* it comes to no end before the session's */
    }
    hn_record_init(&event.record);
    assert_int_equal(hn_bindings_copy(&event.record.point, point, err), HN_OK);
    event.record.outcome = scripted->seed == scripted->first_seed ? fate->measured : fate->second;
    event.record.verdict = (struct hn_verdict){.kind = HN_VERIFIED, .seeds = 1};
    event.record.costs.verify_ms = 1;
    if (event.record.outcome != HN_OUTCOME_OK)
        hn_record_fail(&event.record, event.record.outcome, "it fails");
    else if (request->measure)
        measure(fate, request, &event.record);
    scripted->evaluating = true;
    start(scripted, &event, number, 0);
    if (fate->slow_ms > 0)
        scripted->queue[scripted->queue_count - 1].due_ms = hn_now_ms() + fate->slow_ms;
    return HN_OK;
}

/* The next job that is due; when none is, time goes on to the first that will be. */
static size_t choose(struct scripted *scripted)
{
    size_t first = 0;
    if (scripted->shuffle != 0) {
        scripted->shuffle = scripted->shuffle * 1664525u + 1013904223u;
        return (scripted->shuffle >> 8) % scripted->queue_count;
    }
    for (size_t i = 0; i < scripted->queue_count; i++) {
        if (scripted->queue[i].due <= scripted->clock)
            return i;
        if (scripted->queue[i].due < scripted->queue[first].due)
            first = i;
    }
    return first;
}

static enum hn_status wait_event(struct hn_backend *backend, int timeout_ms,
                                 struct hn_backend_event *event, struct hn_error *err)
{
    struct scripted *scripted = scripted_of(backend);
    (void)err;
    scripted->clock++;
    *event = (struct hn_backend_event){.kind = HN_EVENT_NONE};
    if (scripted->queue_count == 0) {
        scripted->waits_in_vain++;
        poll(NULL, 0, timeout_ms);
        return HN_OK;
    }
    size_t chosen = choose(scripted);
    struct scripted_job *job = &scripted->queue[chosen];
    if (job->due_ms > hn_now_ms()) {
        poll(NULL, 0, 1);
        return HN_OK;
    }
    *event = job->event;
    if (event->kind == HN_EVENT_EVALUATED)
        scripted->evaluating = false;
    memmove(job, job + 1, (--scripted->queue_count - chosen) * sizeof *job);
    return HN_OK;
}

static enum hn_status reseed(struct hn_backend *backend, uint64_t seed, struct hn_error *err)
{
    (void)err;
    scripted_of(backend)->seed = seed;
    scripted_of(backend)->reseeds++;
    return HN_OK;
}

static enum hn_status race(struct hn_backend *backend, const struct hn_racer *racers, size_t count,
                           struct hn_race_result *result, struct hn_error *err)
{
    enum { ROUNDS = 15 };
    struct scripted *scripted = scripted_of(backend);
    (void)err;
    assert_int_not_equal(scripted->seed, scripted->first_seed);
    scripted->races++;
    *result = (struct hn_race_result){0};
    if (scripted->race_hangs)
        return HN_OK;
    result->samples = calloc(count * ROUNDS, sizeof *result->samples);
    result->records = calloc(count, sizeof *result->records);
    assert_non_null(result->samples);
    assert_non_null(result->records);
    result->count = count;
    for (size_t i = 0; i < count; i++) {
        const struct fate *fate = &scripted->fates[point_number(racers[i].point)];
        assert_non_null(racers[i].image->cubin);
        hn_record_init(&result->records[i]);
        if (fate->raced != HN_OUTCOME_OK)
            hn_record_fail(&result->records[i], fate->raced, "it fails");
        for (int r = 0; r < ROUNDS; r++)
            result->samples[i * ROUNDS + (size_t)r] =
                fate->us * scripted->race_factor * (1 + 1e-5 * (r % 3));
    }
    result->rounds = ROUNDS;
    return HN_OK;
}

/* Each process takes 1% longer than the one before. */
static enum hn_status measure_now(struct hn_backend *backend, const struct hn_racer *variant,
                                  bool anew, struct hn_record *record, struct hn_error *err)
{
    struct scripted *scripted = scripted_of(backend);
    const struct fate *fate = &scripted->fates[point_number(variant->point)];
    (void)err;
    assert_true(anew);
    assert_non_null(variant->image->cubin);
    record->timing.median_us = fate->us * (1 + 0.01 * scripted->processes++);
    record->timing.copy_gb_per_s = 2000;
    if (fate->anew != HN_OUTCOME_OK)
        hn_record_fail(record, fate->anew, "it fails");
    return HN_OK;
}

static void halt(struct hn_backend *backend)
{
    scripted_of(backend)->halts++;
}

static double busy_ms(const struct hn_backend *backend)
{
    (void)backend;
    return 0;
}

static const struct hn_backend_kind scripted_kind = {
    .destroy = destroy,
    .prepare = prepare,
    .compile = compile,
    .complete = complete,
    .room = room,
    .idle = idle,
    .evaluate = evaluate,
    .wait = wait_event,
    .compiling_ms = compiling_ms,
    .reseed = reseed,
    .race = race,
    .measure = measure_now,
    .halt = halt,
    .busy_ms = busy_ms,
};

void make_grid(struct grid *grid, const char *restriction)
{
    struct hn_error err = {0};
    struct scripted *backend = &grid->backend;
    *grid = (struct grid){0};
    if (hn_config_load(HONE_TEST_DATA "/session/grid.yaml", &grid->config, &err) != HN_OK ||
        (restriction != NULL && hn_config_restrict(grid->config, restriction, &err) != HN_OK) ||
        hn_task_make(grid->config, 0, HN_COLD, &grid->task, &err) != HN_OK)
        fail_msg("%s", err.message);
    backend->base = (struct hn_backend){.kind = &scripted_kind, .task = &grid->task};
    assert_int_equal(hn_device_for_architecture("sm_90", &backend->base.device, &err), HN_OK);
    hn_task_set_device(&grid->task, &backend->base.device.identity, "580.1", "13.0");
    backend->jobs = 4;
    backend->race_factor = 1;
    for (int i = 0; i < GRID_POINTS; i++)
        backend->fates[i].us = 100 + (7 * i + GRID_BEST) % GRID_POINTS;
}

/* What tests have read; finish_grid lets go of it. */
static struct hn_record read_records[4096];
static size_t read_count;

void finish_grid(struct grid *grid)
{
    while (read_count > 0)
        hn_record_finish(&read_records[--read_count]);
    hn_backend_destroy(&grid->backend.base);
    hn_task_finish(&grid->task);
    hn_config_destroy(grid->config);
}

int point_number(const struct hn_bindings *point)
{
    const struct hn_value *a = hn_bindings_get(point, "A");
    const struct hn_value *b = hn_bindings_get(point, "B");
    assert_non_null(a);
    assert_non_null(b);
    return (int)(a->integer * GRID_SIDE + b->integer);
}

const char *point_text(int number, char text[32])
{
    snprintf(text, 32, "A=%d,B=%d", number / GRID_SIDE, number % GRID_SIDE);
    return text;
}

const struct hn_record *keep_record(const struct hn_session *session, size_t ticket)
{
    assert_true(read_count < sizeof read_records / sizeof *read_records);
    struct hn_record *record = &read_records[read_count++];
    struct hn_error err = {0};
    if (hn_session_record(session, ticket, record, &err) != HN_OK)
        fail_msg("%s", err.message);
    return record;
}

const struct hn_record *record_of(const struct hn_session *session, int point)
{
    const struct hn_record *found = NULL;
    for (size_t i = 0; i < session->tickets.count; i++) {
        const struct hn_ticket *ticket = &session->tickets.items[i];
        struct hn_bindings bindings;
        if (ticket->state != HN_TICKET_FINISHED || ticket->replayed)
            continue;
        assert_int_equal(hn_session_point(session, ticket->point, &bindings, NULL), HN_OK);
        bool same = point_number(&bindings) == point;
        hn_bindings_finish(&bindings);
        if (!same)
            continue;
        assert_null(found);
        found = keep_record(session, i);
    }
    return found;
}

int measured_count(const struct scripted *backend, int point)
{
    int count = 0;
    for (int i = 0; i < backend->evaluated_count; i++)
        count += backend->evaluated[i].point == point && backend->evaluated[i].request.measure;
    return count;
}

struct hn_session *run_session(struct grid *grid, struct hn_store *store,
                               const struct hn_session_options *options)
{
    struct hn_session *session;
    struct hn_error err = {0};
    grid->backend.seed = grid->backend.first_seed = options->seed;
    if (hn_session_create(&grid->backend.base, store, options, &session, &err) != HN_OK ||
        hn_session_run(session, NULL, NULL, &err) != HN_OK)
        fail_msg("%s", err.message);
    return session;
}

void assert_near(double value, double expected, double margin)
{
    if (!(fabs(value - expected) <= margin))
        fail_msg("%.17g, not %.17g within %g", value, expected, margin);
}

uint64_t sum_of_counts(const struct hn_session_state *state)
{
    uint64_t sum = 0;
    for (int i = 0; i < HN_OUTCOME_COUNT; i++)
        sum += state->counts[i];
    return sum;
}
