/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "runtime/compile/cubin.h"
#include "tuner/workers/compile_pool_part.h"

/* A worker may be killed from outside while it starts; one that ends each time has a reason. */
static const int start_failures_most = 3;

/* A worker says at once who it is. */
static const double mute_limit_ms = 15e3;

/* NVRTC 13.0 keeps some KiB of every program: 4 for a kernel of one line. A worker is replaced
 * after so many, which takes less than 1% of even their time. */
static const int compiled_most = 1000;

/* What a job was begun with ends; false: nobody wants it any more, and it is destroyed. */
static bool leave_job(struct hn_compile_worker *worker)
{
    struct hn_compile_job *job = worker->job;
    worker->job = NULL;
    if (job->pool != NULL)
        hn_meter_end(&job->pool->meter, hn_now_ms());
    if (!job->cancelled)
        return true;
    hn_compile_job_destroy(job);
    return false;
}

static void finish_job(struct hn_compile_worker *worker)
{
    struct hn_compile_job *job = worker->job;
    struct hn_compile_pool *pool = job->pool;
    double now = hn_now_ms();
    job->image.compile_ms = now - worker->started_ms;
    if (!leave_job(worker))
        return;
    if (pool->timeline != NULL)
        hn_timeline_add(pool->timeline, "compile", worker->started_ms, now);
    if (job->remembered)
        hn_compile_memory_add(&pool->memory, &job->key.hash, &job->image);
    pool->unfinished -= !job->ahead;
    hn_compile_queue_push(&pool->finished, job);
    hn_compile_pool_spread(pool, job);
    hn_compile_pool_tell(pool);
}

static void fail_job(struct hn_compile_worker *worker, enum hn_outcome outcome, const char *message)
{
    hn_image_finish(&worker->job->image);
    hn_image_init(&worker->job->image);
    worker->job->image.outcome = outcome;
    worker->job->image.message = strdup(message);
    finish_job(worker);
}

/* The worker is gone: its job is tried once more, then it is the compiler's crash. */
static enum hn_status replace_worker(struct hn_compile_staff *staff,
                                     struct hn_compile_worker *worker, struct hn_error *err)
{
    char end[512];
    bool was_ready = worker->ready;
    hn_process_describe_end(&worker->process, hn_process_kill(&worker->process), end, sizeof end);
    worker->ready = false;
    if (worker->process.lost && worker->job != NULL)
        worker->job->attempts--;
    if (!worker->process.lost && !was_ready && ++staff->start_failures >= start_failures_most)
        return hn_fail(err, HN_ERUN, "compile workers do not start: %s", end);
    if (worker->job == NULL)
        return HN_OK;
    if (worker->job->attempts >= 2) {
        char message[600];
        snprintf(message, sizeof message, "the compiler crashed twice: %s", end);
        fail_job(worker, HN_OUTCOME_COMPILE_CRASH, message);
        return HN_OK;
    }
    struct hn_compile_job *job = worker->job;
    if (leave_job(worker))
        hn_compile_queue_push_front(&job->pool->waiting, job);
    return HN_OK;
}

static enum hn_status take_ready(struct hn_compile_staff *staff, struct hn_compile_worker *worker,
                                 const struct hn_message *message, struct hn_error *err)
{
    const char *version = json_string_value(json_object_get(message->json, "nvrtc"));
    if (version == NULL)
        return hn_fail(err, HN_EFORMAT, "a compile worker did not say its version of NVRTC");
    if (worker->host != NULL && staff->nvrtc[0] != '\0' && strcmp(version, staff->nvrtc) != 0) {
        char reason[128];
        snprintf(reason, sizeof reason,
                 "its NVRTC is %.20s, that of the others %s: give it the same, or 'compile: 0'",
                 version, staff->nvrtc);
        hn_host_fail(worker->host->host, true, reason);
        return HN_OK;
    }
    snprintf(staff->nvrtc, sizeof staff->nvrtc, "%s", version);
    worker->ready = true;
    worker->compiled = 0;
    staff->start_failures = 0;
    worker->started_ms = hn_now_ms();
    return HN_OK;
}

/* A host may send anything in the place of machine code. */
static enum hn_status check_image(struct hn_image *image, struct hn_error *err)
{
    struct hn_parameters parameters;
    enum hn_status status = HN_OK;
    bool compiled = image->outcome == HN_OUTCOME_OK;
    for (size_t i = 0; compiled && status == HN_OK && i < image->entry_count; i++) {
        status = hn_cubin_read_parameters(image->cubin, image->size, image->entries[i], &parameters,
                                          err);
        hn_parameters_finish(&parameters);
    }
    if (status != HN_OK)
        hn_image_finish(image);
    return status;
}

static enum hn_status take_message(struct hn_compile_staff *staff, struct hn_compile_worker *worker,
                                   struct hn_message *message, struct hn_error *err)
{
    double cpu_ms = 0;
    enum hn_status status = hn_message_gate(message, err);
    const char *type = hn_message_type(message);
    if (status != HN_OK)
        return status;
    if (!worker->process.greeted)
        return hn_process_greet(&worker->process, message, err);
    if (strcmp(type, "failed") == 0) {
        json_int_t code = json_integer_value(json_object_get(message->json, "status"));
        const char *text = json_string_value(json_object_get(message->json, "message"));
        return hn_fail(err, code == HN_ECONFIG ? HN_ECONFIG : HN_ERUN, "%s",
                       text != NULL ? text : "a compile worker failed");
    }
    if (strcmp(type, "ready") == 0)
        return take_ready(staff, worker, message, err);
    if (worker->job == NULL)
        return HN_OK;
    status = hn_message_amount(message, "cpu_ms", &cpu_ms, err);
    if (worker->job->pool != NULL)
        worker->job->pool->cpu_ms += cpu_ms;
    const json_t *json = json_object_get(message->json, "image");
    if (status == HN_OK)
        status = hn_message_get_image(message, json, &worker->job->image, err);
    if (status == HN_OK && worker->host != NULL)
        status = check_image(&worker->job->image, err);
    if (status == HN_OK)
        finish_job(worker);
    worker->compiled++;
    return status;
}

enum hn_status hn_compile_worker_listen(struct hn_compile_staff *staff,
                                        struct hn_compile_worker *worker, struct hn_error *err)
{
    struct hn_message message;
    struct hn_error lost;
    if (hn_process_is_quiet(&worker->process))
        return HN_OK;
    hn_process_drain(&worker->process);
    for (;;) {
        switch (hn_channel_receive(&worker->process.channel, false, &message, &lost)) {
        case HN_RECEIVED_NOTHING:
            return HN_OK;
        case HN_RECEIVED_CLOSED:
            return replace_worker(staff, worker, err);
        case HN_RECEIVED_MESSAGE:
            break;
        }
        enum hn_status status = take_message(staff, worker, &message, err);
        hn_message_finish(&message);
        if (status != HN_OK)
            return status;
    }
}

enum hn_status hn_compile_worker_start(struct hn_compile_worker *worker, struct hn_error *err)
{
    worker->started_ms = hn_now_ms();
    return hn_process_start(&worker->process, NULL, "compile", err);
}

static enum hn_status fail_start(const struct hn_compile_staff *staff,
                                 const struct hn_compile_worker *worker, struct hn_error *err)
{
    char output[400];
    hn_process_describe_output(&worker->process, output, sizeof output);
    return hn_fail(err, HN_ERUN,
                   "a compile worker did not start within %g s: NVRTC, which it loads, hangs or is "
                   "very slow to read; see that $HONE_NVRTC, where it is set, names the library%s",
                   staff->start_limit_ms / 1e3, output);
}

enum hn_status hn_compile_worker_enforce_limit(struct hn_compile_staff *staff,
                                               struct hn_compile_worker *worker,
                                               struct hn_error *err)
{
    double past_ms = hn_now_ms() - worker->started_ms;
    bool mute = worker->host != NULL && worker->process.pid != 0 && !worker->process.greeted;
    if (mute && worker->host->view.sends)
        worker->started_ms = hn_now_ms();
    else if (mute && past_ms > mute_limit_ms)
        hn_host_fail(worker->host->host, true, "a compile worker there said nothing for 15 s");
    if (worker->process.pid != 0 && !worker->ready)
        return past_ms < staff->start_limit_ms ? HN_OK : fail_start(staff, worker, err);
    if (worker->job == NULL || past_ms < hn_compile_job_limit_ms(worker->job))
        return HN_OK;
    char message[128];
    bool late = past_ms >= worker->job->timeout_ms;
    if (late)
        snprintf(message, sizeof message, "the compiler was stopped after %g s (--compile-timeout)",
                 worker->job->timeout_ms / 1e3);
    else
        snprintf(message, sizeof message,
                 "the compiler was stopped after %.1f s, in which other points promise more",
                 worker->job->patience_ms / 1e3);
    hn_process_kill(&worker->process);
    worker->ready = false;
    fail_job(worker, late ? HN_OUTCOME_COMPILE_TIMEOUT : HN_OUTCOME_COMPILE_STOPPED, message);
    return HN_OK;
}

void hn_compile_worker_halt(struct hn_compile_worker *worker)
{
    if (worker->job == NULL)
        return;
    hn_process_kill(&worker->process);
    worker->ready = false;
    finish_job(worker);
}

void hn_compile_worker_retire(struct hn_compile_worker *worker)
{
    if (worker->job != NULL || worker->compiled < compiled_most)
        return;
    hn_process_kill(&worker->process);
    worker->ready = false;
    worker->compiled = 0;
}

void hn_compile_worker_give_job(struct hn_compile_staff *staff, struct hn_compile_worker *worker)
{
    if (!worker->ready || worker->job != NULL)
        return;
    worker->job = hn_compile_pool_next_job(staff);
    if (worker->job == NULL)
        return;
    worker->job->attempts++;
    worker->started_ms = hn_now_ms();
    hn_meter_begin(&worker->job->pool->meter, worker->started_ms);
    /* A worker that does not take it has closed its channel, which the next process() sees; but
     * what is too long for a message never gets there. */
    struct hn_error reason;
    if (hn_channel_send(&worker->process.channel, &worker->job->request, &reason) == HN_EFORMAT)
        fail_job(worker, HN_OUTCOME_COMPILE_ERROR, reason.message);
}
