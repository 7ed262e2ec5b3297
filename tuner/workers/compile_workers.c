/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/compile/cubin.h"
#include "tuner/workers/compile_pool_part.h"

/* NVRTC is loaded then, which a cold file system may make slow. */
static const double start_limit_ms = 60e3;
/* Room for those of a host, which says how many it allows once it is up. */
enum { HOST_WORKERS_MOST = 256 };

/* A worker may be killed from outside while it starts; one that ends each time has a reason. */
static const int start_failures_most = 3;

/* A worker says at once who it is. */
static const double mute_limit_ms = 15e3;

/* NVRTC 13.0 keeps some KiB of every program: 4 for a kernel of one line. A worker is replaced
 * after so many, which takes less than 1% of even their time. */
static const int compiled_most = 1000;

struct hn_compile_workers *hn_compile_workers_create(int count)
{
    struct hn_compile_workers *workers = hn_need(1, sizeof *workers);
    workers->items = hn_need((size_t)count, sizeof *workers->items);
    pthread_mutex_init(&workers->lock, NULL);
    workers->count = count;
    workers->start_limit_ms = start_limit_ms;
    workers->wake = -1;
    hn_error_init(&workers->failure);
    for (int i = 0; i < count; i++)
        hn_process_init(&workers->items[i].process);
    return workers;
}

void hn_compile_workers_destroy(struct hn_compile_workers *workers)
{
    for (int i = 0; i < workers->count; i++)
        hn_process_end(&workers->items[i].process);
    for (int i = 0; i < workers->count; i++)
        hn_process_kill(&workers->items[i].process);
    hn_compile_queue_finish(&workers->queue);
    if (workers->wake >= 0)
        close(workers->wake);
    pthread_mutex_destroy(&workers->lock);
    free(workers->items);
    free(workers->hosts);
    free(workers);
}

void hn_compile_workers_lend(struct hn_compile_workers *workers, struct hn_hosts *hosts)
{
    size_t count = hn_hosts_count(hosts);
    size_t most = (size_t)workers->count + count * HOST_WORKERS_MOST;
    workers->items = hn_need_more(workers->items, most, sizeof *workers->items);
    workers->hosts = hn_need(count, sizeof *workers->hosts);
    workers->host_count = count;
    for (size_t i = 0; i < count; i++) {
        struct hn_compile_host *host = &workers->hosts[i];
        host->host = hn_hosts_at(hosts, i);
        hn_host_look(host->host, &host->view);
        for (int n = 0; n < HOST_WORKERS_MOST; n++) {
            struct hn_compile_worker *worker = &workers->items[workers->count++];
            *worker = (struct hn_compile_worker){.host = host, .index = n};
            hn_process_init(&worker->process);
            worker->process.place = hn_host_place(host->host);
        }
    }
}

static bool is_usable(const struct hn_compile_worker *worker)
{
    const struct hn_compile_host *host = worker->host;
    return host == NULL || (host->view.state == HN_HOST_UP && worker->index < host->view.compile);
}

int hn_compile_workers_usable(const struct hn_compile_workers *workers)
{
    int count = 0;
    for (int i = 0; i < workers->count; i++)
        count += is_usable(&workers->items[i]);
    return count > 0 ? count : 1;
}

/* The worker's job is no more its own. */
static struct hn_job *leave_job(struct hn_compile_worker *worker)
{
    struct hn_job *job = worker->job;
    worker->job = NULL;
    if (job->client != NULL)
        hn_meter_end(&job->client->meter, hn_now_ms());
    return job;
}

static void finish_job(struct hn_compile_workers *workers, struct hn_compile_worker *worker)
{
    double now = hn_now_ms();
    struct hn_job *job = leave_job(worker);
    job->image.compile_ms = now - worker->started_ms;
    if (job->client != NULL && job->wants != NULL && job->client->timeline != NULL)
        hn_timeline_add(job->client->timeline, "compile", worker->started_ms, now);
    hn_compile_queue_end(&workers->queue, job);
}

static void fail_job(struct hn_compile_workers *workers, struct hn_compile_worker *worker,
                     enum hn_outcome outcome, const char *message)
{
    struct hn_image *image = &worker->job->image;
    hn_image_finish(image);
    hn_image_init(image);
    image->outcome = outcome;
    image->message = hn_need_copy(message);
    finish_job(workers, worker);
}

static int kill_worker(struct hn_compile_worker *worker)
{
    worker->ready = false;
    worker->compiled = 0;
    return hn_process_kill(&worker->process);
}

void hn_compile_worker_halt(struct hn_compile_workers *workers, struct hn_compile_worker *worker)
{
    kill_worker(worker);
    worker->job->kept = false;
    finish_job(workers, worker);
}

/* The worker is gone: its job is tried once more, then it is the compiler's crash. */
static void replace_worker(struct hn_compile_workers *workers, struct hn_compile_worker *worker,
                           struct hn_error *err)
{
    char end[512];
    bool was_ready = worker->ready;
    hn_process_describe_end(&worker->process, kill_worker(worker), end, sizeof end);
    if (worker->process.lost && worker->job != NULL)
        worker->job->attempts--;
    if (!worker->process.lost && !was_ready && ++workers->start_failures >= start_failures_most) {
        hn_fail(err, HN_ERUN, "compile workers do not start: %s", end);
    } else if (worker->job != NULL && worker->job->attempts >= 2) {
        char message[600];
        snprintf(message, sizeof message, "the compiler crashed twice: %s", end);
        fail_job(workers, worker, HN_OUTCOME_COMPILE_CRASH, message);
    } else if (worker->job != NULL) {
        hn_compile_queue_retry(&workers->queue, leave_job(worker));
    }
}

static void take_ready(struct hn_compile_workers *workers, struct hn_compile_worker *worker,
                       const struct hn_message *message, struct hn_error *err)
{
    const char *version = json_string_value(json_object_get(message->json, "nvrtc"));
    if (version == NULL) {
        hn_fail(err, HN_EFORMAT, "a compile worker did not say its version of NVRTC");
        return;
    }
    if (worker->host != NULL && workers->nvrtc[0] != '\0' && strcmp(version, workers->nvrtc) != 0) {
        char reason[128];
        snprintf(reason, sizeof reason,
                 "its NVRTC is %.20s, that of the others %s: give it the same, or 'compile: 0'",
                 version, workers->nvrtc);
        hn_host_fail(worker->host->host, true, reason);
        return;
    }
    snprintf(workers->nvrtc, sizeof workers->nvrtc, "%s", version);
    worker->ready = true;
    workers->start_failures = 0;
    worker->started_ms = hn_now_ms();
}

/* A host may send anything in the place of machine code. */
static void check_image(struct hn_image *image, struct hn_error *err)
{
    bool compiled = image->outcome == HN_OUTCOME_OK;
    for (size_t i = 0; compiled && !hn_failed(err) && i < image->entry_count; i++) {
        struct hn_parameters parameters;
        hn_cubin_read_parameters(image->cubin, image->size, image->entries[i], &parameters, err);
        hn_parameters_finish(&parameters);
    }
}

static void take_image(struct hn_compile_workers *workers, struct hn_compile_worker *worker,
                       const struct hn_message *message, struct hn_error *err)
{
    double cpu_ms = 0;
    struct hn_job *job = worker->job;
    const json_t *json = json_object_get(message->json, "image");
    hn_message_amount(message, "cpu_ms", &cpu_ms, err);
    if (job->client != NULL)
        job->client->cpu_ms += cpu_ms;
    if (hn_failed(err) || hn_message_get_image(message, json, &job->image, err) != HN_OK)
        return;
    if (worker->host != NULL)
        check_image(&job->image, err);
    if (!hn_failed(err)) {
        finish_job(workers, worker);
    } else {
        hn_image_finish(&job->image);
        hn_image_init(&job->image);
    }
    worker->compiled++;
}

static void take_message(struct hn_compile_workers *workers, struct hn_compile_worker *worker,
                         struct hn_message *message, struct hn_error *err)
{
    if (hn_message_gate(message, err) != HN_OK)
        return;
    const char *type = hn_message_type(message);
    if (!worker->process.greeted) {
        hn_process_greet(&worker->process, message, err);
    } else if (strcmp(type, "failed") == 0) {
        json_int_t code = json_integer_value(json_object_get(message->json, "status"));
        const char *text = json_string_value(json_object_get(message->json, "message"));
        hn_fail(err, code == HN_ECONFIG ? HN_ECONFIG : HN_ERUN, "%s",
                text != NULL ? text : "a compile worker failed");
    } else if (strcmp(type, "ready") == 0) {
        take_ready(workers, worker, message, err);
    } else if (worker->job != NULL) {
        take_image(workers, worker, message, err);
    }
}

/* Takes what the worker has sent; where it has died, its job is tried once more by another. */
static void listen_to(struct hn_compile_workers *workers, struct hn_compile_worker *worker,
                      struct hn_error *err)
{
    if (hn_process_is_quiet(&worker->process))
        return;
    hn_process_drain(&worker->process);
    while (!hn_failed(err)) {
        struct hn_message message;
        struct hn_error lost;
        switch (hn_channel_receive(&worker->process.channel, false, &message, &lost)) {
        case HN_RECEIVED_NOTHING:
            return;
        case HN_RECEIVED_CLOSED:
            replace_worker(workers, worker, err);
            return;
        case HN_RECEIVED_MESSAGE:
            take_message(workers, worker, &message, err);
            hn_message_finish(&message);
            break;
        }
    }
}

/* One at a host that has said nothing since all that was sent to it got there. */
static void check_mute(struct hn_compile_worker *worker, double past_ms)
{
    if (worker->host == NULL || worker->process.pid == 0 || worker->process.greeted)
        return;
    if (worker->host->view.sends)
        worker->started_ms = hn_now_ms();
    else if (past_ms > mute_limit_ms)
        hn_host_fail(worker->host->host, true, "a compile worker there said nothing for 15 s");
}

/* Kills one that takes too long over its job; one that takes too long to start ends the run, as all
 * then would. */
static void enforce_limit(struct hn_compile_workers *workers, struct hn_compile_worker *worker,
                          struct hn_error *err)
{
    if (hn_failed(err))
        return;
    double past_ms = hn_now_ms() - worker->started_ms;
    check_mute(worker, past_ms);
    if (worker->process.pid != 0 && !worker->ready) {
        char output[400];
        if (past_ms < workers->start_limit_ms)
            return;
        hn_process_describe_output(&worker->process, output, sizeof output);
        hn_fail(err, HN_ERUN,
                "a compile worker did not start within %g s: NVRTC, which it loads, hangs or is "
                "very slow to read; see that $HONE_NVRTC, where it is set, names the library%s",
                workers->start_limit_ms / 1e3, output);
        return;
    }
    if (worker->job == NULL)
        return;
    double limit_ms = worker->job->timeout_ms;
    double patience_ms = hn_job_patience_ms(worker->job);
    bool late = past_ms >= limit_ms;
    char message[128];
    if (!late && past_ms < patience_ms)
        return;
    if (late)
        snprintf(message, sizeof message, "the compiler was stopped after %g s (--compile-timeout)",
                 limit_ms / 1e3);
    else
        snprintf(message, sizeof message,
                 "the compiler was stopped after %.1f s, in which other points promise more",
                 patience_ms / 1e3);
    kill_worker(worker);
    fail_job(workers, worker, late ? HN_OUTCOME_COMPILE_TIMEOUT : HN_OUTCOME_COMPILE_STOPPED,
             message);
}

static void give_job(struct hn_compile_workers *workers, struct hn_compile_worker *worker)
{
    if (!worker->ready || worker->job != NULL)
        return;
    struct hn_job *job = hn_compile_queue_next(&workers->queue, workers->count);
    if (job == NULL)
        return;
    job->attempts++;
    worker->job = job;
    worker->started_ms = hn_now_ms();
    hn_meter_begin(&job->client->meter, worker->started_ms);
    /* A worker that does not take it has closed its channel, which the next process() sees; but
     * what is too long for a message never gets there. */
    struct hn_error reason;
    if (hn_channel_send(&worker->process.channel, &job->request, &reason) == HN_EFORMAT)
        fail_job(workers, worker, HN_OUTCOME_COMPILE_ERROR, reason.message);
}

static void serve(struct hn_compile_workers *workers, struct hn_compile_worker *worker,
                  struct hn_error *err)
{
    listen_to(workers, worker, err);
    enforce_limit(workers, worker, err);
    /* What can not work at one host may at another. Who says what can not be is asked no more. */
    bool may_differ =
        err->status != HN_ENOMEM && (err->status != HN_ECONFIG || workers->host_count > 1);
    if (hn_failed(err) && worker->host != NULL && may_differ) {
        hn_host_fail(worker->host->host, err->status == HN_EFORMAT, err->message);
        hn_error_init(err);
        return;
    }
    if (hn_failed(err))
        return;
    if (worker->job == NULL && worker->compiled >= compiled_most)
        kill_worker(worker);
    give_job(workers, worker);
}

/* Whether somebody compiles, or will: a host that is not up yet may. */
static void check_hosts(const struct hn_compile_workers *workers, struct hn_error *err)
{
    char reasons[2048] = "";
    for (size_t i = 0; i < workers->host_count; i++) {
        const struct hn_host_view *view = &workers->hosts[i].view;
        if (view->state == HN_HOST_STARTING || (view->state == HN_HOST_UP && view->compile > 0))
            return;
        size_t length = strlen(reasons);
        snprintf(reasons + length, sizeof reasons - length, "; %s: %s", view->name,
                 view->state == HN_HOST_OUT ? view->reason : "compiles nothing ('compile: 0')");
    }
    if (workers->host_count > 0 && !hn_failed(err))
        hn_fail(err, HN_ERUN, "there is no host left that compiles%s", reasons);
}

void hn_compile_workers_start(struct hn_compile_workers *workers, uint64_t wanted,
                              struct hn_error *err)
{
    for (int i = 0; i < workers->count; i++)
        if (workers->items[i].process.pid != 0 && workers->items[i].job == NULL && wanted > 0)
            wanted--;
    for (int i = 0; i < workers->count && wanted > 0 && !hn_failed(err); i++) {
        struct hn_compile_worker *worker = &workers->items[i];
        if (worker->process.pid != 0 || !is_usable(worker))
            continue;
        worker->started_ms = hn_now_ms();
        hn_process_start(&worker->process, NULL, "compile", err);
        wanted--;
    }
}

void hn_compile_workers_process(struct hn_compile_workers *workers, struct hn_error *err)
{
    for (size_t i = 0; i < workers->host_count; i++)
        hn_host_look(workers->hosts[i].host, &workers->hosts[i].view);
    for (int i = 0; i < workers->count && !hn_failed(err); i++)
        if (workers->items[i].process.pid != 0)
            serve(workers, &workers->items[i], err);
    check_hosts(workers, err);
    uint64_t waiting = 0;
    for (const struct hn_job *job = workers->queue.waiting; job != NULL; job = job->next)
        waiting++;
    hn_compile_workers_start(workers, waiting, err);
}

int hn_compile_workers_timeout_ms(const struct hn_compile_workers *workers)
{
    double least = -1;
    for (int i = 0; i < workers->count; i++) {
        const struct hn_compile_worker *worker = &workers->items[i];
        const struct hn_job *job = worker->job;
        bool starts = worker->process.pid != 0 && !worker->ready;
        if (job == NULL && !starts)
            continue;
        double limit = starts                                      ? workers->start_limit_ms
                       : hn_job_patience_ms(job) < job->timeout_ms ? hn_job_patience_ms(job)
                                                                   : job->timeout_ms;
        double left = worker->started_ms + limit - hn_now_ms();
        if (least < 0 || left < least)
            least = left > 0 ? left : 0;
    }
    return least < 0 ? -1 : (int)least + 1;
}
