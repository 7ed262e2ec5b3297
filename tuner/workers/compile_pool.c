/* SPDX-License-Identifier: MIT */
#include "tuner/workers/compile_pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "runtime/compile/cubin.h"
#include "runtime/process/process.h"

/* Room for those of a host, which says how many it allows once it is up. */
enum { HOST_WORKERS_MOST = 256 };

/* A worker may be killed from outside while it starts; one that ends each time has a reason. */
static const int start_failures_most = 3;

/* A worker says at once who it is. */
static const double mute_limit_ms = 15e3;

/* NVRTC 13.0 keeps some KiB of every program: 4 for a kernel of one line. A worker is replaced
 * after so many, which takes less than 1% of even their time. */
static const int compiled_most = 1000;

/* The limit of a program on which the whole run depends. */
static const double setup_timeout_ms = 60e3;
static const int sleep_limit_ms = 200;

/* Images beyond that are compiled each time. */
static const size_t kept_bytes_most = (size_t)512 << 20;

/* A host and how it does, as of the last look. */
struct hn_compile_host {
    struct hn_host *host;
    struct hn_host_view view;
};

struct hn_compile_worker {
    struct hn_process process;
    struct hn_compile_host *host; /* NULL: this process's own child */
    int index;                    /* among those of its host */
    struct hn_job *job;
    bool ready; /* said its NVRTC version */
    int compiled;
};

/* The workers, the hosts where they run, and their queue: of one pool or of several. */
struct hn_compile_workers {
    struct hn_compile_pool *owner;
    struct hn_compile_queue queue;
    int count;
    struct hn_compile_worker *items;
    struct hn_compile_host *hosts;
    size_t host_count;
    int start_failures; /* workers in a row that ended before they were ready */
    double start_limit_ms;
    char nvrtc[16];
    bool asked;              /* somebody has asked for something */
    struct hn_error failure; /* why it came to an end, for the others */
};

static void drop_want(struct hn_wants *wants, struct hn_want *want)
{
    TAILQ_REMOVE(wants, want, next);
    hn_image_finish(&want->image);
    free(want);
}

/* It is of no more use to anybody. */
static bool is_idle(const struct hn_job *job)
{
    return TAILQ_EMPTY(&job->wants) && job->state != HN_JOB_RUNNING &&
           !(job->state == HN_JOB_DONE && job->kept);
}

static void remove_job(struct hn_compile_queue *queue, struct hn_job *job)
{
    LIST_REMOVE(job, same);
    if (job->state == HN_JOB_WAITING)
        TAILQ_REMOVE(&queue->waiting, job, next);
    while (!TAILQ_EMPTY(&job->wants))
        drop_want(&job->wants, TAILQ_FIRST(&job->wants));
    hn_message_finish(&job->request);
    hn_image_finish(&job->image);
    free(job);
}

/* The queue, for the pool and its test. */
static void compile_queue_finish(struct hn_compile_queue *queue)
{
    for (size_t i = 0; i < HN_QUEUE_BUCKETS; i++)
        while (!LIST_EMPTY(&queue->buckets[i]))
            remove_job(queue, LIST_FIRST(&queue->buckets[i]));
}

static void compile_queue_add_client(struct hn_compile_queue *queue, struct hn_compile_pool *client)
{
    client->queue = queue;
    TAILQ_INIT(&client->finished);
    TAILQ_INSERT_TAIL(&queue->clients, client, next);
}

/* Gives the want the job's image, which is the job's last use of it where `moves`. */
static void finish_want(struct hn_job *job, struct hn_want *want, bool moves)
{
    if (moves) {
        want->image = job->image;
        job->image = HN_NO_IMAGE;
    } else if (hn_image_copy(&want->image, &job->image, NULL) != HN_OK) {
        hn_needed(NULL);
    }
    if (job->paid)
        want->image.compile_ms = 0;
    job->paid = true;
    TAILQ_INSERT_TAIL(&want->client->finished, want, next);
    want->client->unfinished--;
    hn_event_signal(want->client->wakeup);
}

/* All of a want but its image and list is given; the request is taken over, and of no use where the
 * job is there already. What is kept, or was guessed and is done, is finished at once. */
static void compile_queue_ask(const struct hn_want *asked, const struct hn_hash *key,
                              struct hn_message *request, double timeout_ms, bool kept)
{
    struct hn_compile_queue *queue = asked->client->queue;
    const size_t number = hn_hash_number(key->hex, sizeof key->hex);
    struct hn_jobs *bucket = &queue->buckets[number % HN_QUEUE_BUCKETS];
    struct hn_job *job = LIST_FIRST(bucket);
    while (job != NULL && strcmp(job->key.hex, key->hex) != 0)
        job = LIST_NEXT(job, same);
    struct hn_want *want = hn_need(1, sizeof *want);
    *want = *asked;
    want->image = HN_NO_IMAGE;
    if (job == NULL) {
        job = hn_need(1, sizeof *job);
        *job = (struct hn_job){.key = *key, .request = *request};
        *request = (struct hn_message){0};
        job->image = HN_NO_IMAGE;
        TAILQ_INIT(&job->wants);
        LIST_INSERT_HEAD(bucket, job, same);
        TAILQ_INSERT_TAIL(&queue->waiting, job, next);
    }
    job->timeout_ms = fmax(job->timeout_ms, timeout_ms);
    job->kept = job->kept || (kept && job->state != HN_JOB_DONE);
    want->client->pending += want->rank != HN_RANK_GUESSED;
    want->client->unfinished += want->rank != HN_RANK_GUESSED;
    if (job->state == HN_JOB_DONE && want->rank != HN_RANK_GUESSED)
        finish_want(job, want, false);
    else
        TAILQ_INSERT_TAIL(&job->wants, want, next);
}

/* id NULL: all of the rank, and those behind it. */
static bool is_meant(const struct hn_want *want, const struct hn_compile_pool *client,
                     enum hn_rank first, const uint64_t *id)
{
    return want->client == client && want->rank >= first && (id == NULL || want->id == *id);
}

/* Returns how many of them were no guesses. */
static size_t drop_wants(struct hn_wants *wants, const struct hn_compile_pool *client,
                         enum hn_rank first, const uint64_t *id)
{
    size_t asked = 0;
    for (struct hn_want *want = TAILQ_FIRST(wants), *next; want != NULL; want = next) {
        next = TAILQ_NEXT(want, next);
        if (!is_meant(want, client, first, id))
            continue;
        asked += want->rank != HN_RANK_GUESSED;
        drop_want(wants, want);
    }
    return asked;
}

/* Jobs that wait for nobody are gone, and those that are being compiled come to nothing. */
void hn_compile_pool_forget(struct hn_compile_pool *client, enum hn_rank first, const uint64_t *id)
{
    struct hn_compile_queue *queue = client->queue;
    client->pending -= drop_wants(&client->finished, client, first, id);
    for (size_t i = 0; i < HN_QUEUE_BUCKETS; i++) {
        for (struct hn_job *job = LIST_FIRST(&queue->buckets[i]), *same; job != NULL; job = same) {
            same = LIST_NEXT(job, same);
            size_t dropped = drop_wants(&job->wants, client, first, id);
            client->pending -= dropped;
            client->unfinished -= dropped;
            if (is_idle(job))
                remove_job(queue, job);
        }
    }
}

/* With all its wants; what is compiled for it goes on. */
static void compile_queue_remove_client(struct hn_compile_pool *client)
{
    struct hn_job *job;
    hn_compile_pool_forget(client, HN_RANK_SETUP, NULL);
    TAILQ_REMOVE(&client->queue->clients, client, next);
    for (size_t i = 0; i < HN_QUEUE_BUCKETS; i++)
        LIST_FOREACH(job, &client->queue->buckets[i], same)
            if (job->client == client)
                job->client = NULL;
}

bool hn_compile_pool_take(struct hn_compile_pool *client, const uint64_t *wanted, uint64_t *id,
                          struct hn_image *image)
{
    struct hn_want *want = TAILQ_FIRST(&client->finished);
    while (want != NULL && wanted != NULL && want->id != *wanted)
        want = TAILQ_NEXT(want, next);
    if (want == NULL)
        return false;
    TAILQ_REMOVE(&client->finished, want, next);
    *id = want->id;
    *image = want->image;
    free(want);
    client->pending--;
    return true;
}

/* The client's want on a job; NULL: it has none. id NULL: any. */
static const struct hn_want *job_want(const struct hn_job *job,
                                      const struct hn_compile_pool *client, const uint64_t *id)
{
    const struct hn_want *want = TAILQ_FIRST(&job->wants);
    while (want != NULL && !is_meant(want, client, HN_RANK_SETUP, id))
        want = TAILQ_NEXT(want, next);
    return want;
}

/* The client's next job of this rank; NULL: there is none. */
static struct hn_job *find_next(struct hn_compile_queue *queue, struct hn_compile_pool *client,
                                enum hn_rank rank, int limit)
{
    struct hn_job *oldest = NULL, *heaviest = NULL, *job;
    const struct hn_want *want;
    double most = -1;
    TAILQ_FOREACH(job, &queue->waiting, next) {
        double weight = -1; /* the client has no want of this rank */
        TAILQ_FOREACH(want, &job->wants, next)
            if (want->client == client && want->rank == rank)
                weight = fmax(weight, want->weight);
        if (weight < 0)
            continue;
        oldest = oldest != NULL ? oldest : job;
        if (!client->prefers_heavy)
            break;
        if (weight > most) {
            most = weight;
            heaviest = job;
        }
    }
    if (oldest == NULL || !client->prefers_heavy)
        return oldest;
    bool passes_over = heaviest != oldest && client->passed_over < limit;
    client->passed_over = passes_over ? client->passed_over + 1 : 0;
    return passes_over ? heaviest : oldest;
}

/* Takes out the job that is to be begun next: by rank, then whose turn it is, then the oldest or
 * the heaviest, which passes over the oldest `limit` times in a row at most, since those behind
 * that may wait for it. NULL: none waits. */
static struct hn_job *compile_queue_next(struct hn_compile_queue *queue, int limit)
{
    struct hn_compile_pool *client;
    for (enum hn_rank rank = HN_RANK_SETUP; rank < HN_RANK_COUNT; rank++) {
        TAILQ_FOREACH(client, &queue->clients, next) {
            struct hn_job *job = find_next(queue, client, rank, limit);
            if (job == NULL)
                continue;
            TAILQ_REMOVE(&queue->waiting, job, next);
            job->state = HN_JOB_RUNNING;
            job->client = client;
            TAILQ_REMOVE(&queue->clients, client, next);
            TAILQ_INSERT_TAIL(&queue->clients, client, next);
            return job;
        }
    }
    return NULL;
}

/* The first want that is no guess; NULL: there is none. */
static struct hn_want *find_asked(const struct hn_job *job)
{
    struct hn_want *want = TAILQ_FIRST(&job->wants);
    while (want != NULL && want->rank == HN_RANK_GUESSED)
        want = TAILQ_NEXT(want, next);
    return want;
}

/* It waits again, before all others. */
static void retry(struct hn_compile_queue *queue, struct hn_job *job)
{
    job->state = HN_JOB_WAITING;
    TAILQ_INSERT_HEAD(&queue->waiting, job, next);
    if (is_idle(job))
        remove_job(queue, job);
}

/* Has an image now. Where that came by chance (a crash, the time limit) it is only the first
 * want's, and the others wait again. */
static void compile_queue_end(struct hn_compile_queue *queue, struct hn_job *job)
{
    enum hn_outcome outcome = job->image.outcome;
    bool by_chance = outcome == HN_OUTCOME_COMPILE_TIMEOUT || outcome == HN_OUTCOME_COMPILE_CRASH;
    job->state = HN_JOB_DONE;
    job->kept = job->kept && outcome == HN_OUTCOME_OK &&
                queue->kept_bytes + job->image.size <= kept_bytes_most;
    queue->kept_bytes += job->kept ? job->image.size : 0;
    struct hn_want *want;
    while ((want = find_asked(job)) != NULL) {
        TAILQ_REMOVE(&job->wants, want, next);
        finish_want(job, want, TAILQ_EMPTY(&job->wants) && !job->kept);
        if (by_chance)
            break;
    }
    if (is_idle(job)) {
        remove_job(queue, job);
    } else if (find_asked(job) != NULL) {
        hn_image_finish(&job->image);
        job->attempts = 0;
        job->paid = false;
        retry(queue, job);
    }
}

static bool is_usable(const struct hn_compile_worker *worker)
{
    const struct hn_compile_host *host = worker->host;
    return host == NULL || (host->view.state == HN_HOST_UP && worker->index < host->view.compile);
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
    job->image.compile_ms = now - worker->process.since_ms;
    if (job->client != NULL && !TAILQ_EMPTY(&job->wants) && job->client->timeline != NULL)
        hn_timeline_add(job->client->timeline, "compile", worker->process.since_ms, now);
    compile_queue_end(&workers->queue, job);
}

static void fail_job(struct hn_compile_workers *workers, struct hn_compile_worker *worker,
                     enum hn_outcome outcome, const char *message)
{
    struct hn_image *image = &worker->job->image;
    hn_image_finish(image);
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

/* The worker is gone: its job is tried once more, then it is the compiler's crash. */
static void replace_worker(struct hn_compile_workers *workers, struct hn_compile_worker *worker,
                           struct hn_error *err)
{
    bool was_ready = worker->ready;
    const char *end = hn_process_describe_end(&worker->process, kill_worker(worker));
    if (worker->process.lost && worker->job != NULL)
        worker->job->attempts--;
    if (!worker->process.lost && !was_ready && ++workers->start_failures >= start_failures_most) {
        hn_fail(err, HN_ERUN, "compile workers do not start: %s", end);
    } else if (worker->job != NULL && worker->job->attempts >= 2) {
        char message[600];
        snprintf(message, sizeof message, "the compiler crashed twice: %s", end);
        fail_job(workers, worker, HN_OUTCOME_COMPILE_CRASH, message);
    } else if (worker->job != NULL) {
        retry(&workers->queue, leave_job(worker));
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
    /* A host may send anything in the place of machine code. */
    bool checks = worker->host != NULL && job->image.outcome == HN_OUTCOME_OK;
    for (size_t i = 0; checks && !hn_failed(err) && i < job->image.entry_count; i++) {
        struct hn_parameters parameters HN_ENDED_BY(hn_parameters_finish) = {0};
        hn_cubin_read_parameters(job->image.cubin, job->image.size, job->image.entries[i],
                                 &parameters, err);
    }
    if (!hn_failed(err))
        finish_job(workers, worker);
    else
        hn_image_finish(&job->image);
    worker->compiled++;
}

/* Takes what the worker has sent; where it has died, its job is tried once more by another. */
static void listen_to(struct hn_compile_workers *workers, struct hn_compile_worker *worker,
                      struct hn_error *err)
{
    struct hn_message message;
    enum hn_received received;
    while ((received = hn_process_listen(&worker->process, &message, err)) == HN_RECEIVED_MESSAGE) {
        if (strcmp(hn_message_type(&message), "ready") == 0)
            take_ready(workers, worker, &message, err);
        else if (worker->job != NULL)
            take_image(workers, worker, &message, err);
        hn_message_finish(&message);
    }
    if (received == HN_RECEIVED_CLOSED)
        replace_worker(workers, worker, err);
}

/* For how long it is worth compiling. */
static double patience_of(const struct hn_job *job)
{
    const struct hn_want *want;
    double patience_ms = TAILQ_EMPTY(&job->wants) ? INFINITY : 0;
    TAILQ_FOREACH(want, &job->wants, next)
        patience_ms = fmax(patience_ms, want->patience_ms);
    return patience_ms;
}

/* Kills one that takes too long over its job; one that takes too long to start ends the run, as all
 * then would. */
static void enforce_limit(struct hn_compile_workers *workers, struct hn_compile_worker *worker,
                          struct hn_error *err)
{
    if (hn_failed(err))
        return;
    double past_ms = worker->process.seen_ms - worker->process.since_ms;
    /* One at a host that has said nothing since all that was sent to it got there. */
    if (worker->host != NULL && worker->process.pid != 0 && !worker->process.greeted) {
        if (worker->host->view.sends)
            worker->process.since_ms = hn_now_ms();
        else if (past_ms > mute_limit_ms)
            hn_host_fail(worker->host->host, true, "a compile worker there said nothing for 15 s");
    }
    if (worker->process.pid != 0 && !worker->ready) {
        if (past_ms < workers->start_limit_ms)
            return;
        hn_fail(err, HN_ERUN,
                "a compile worker did not start within %g s: NVRTC, which it loads, hangs or is "
                "very slow to read; see that $HONE_NVRTC, where it is set, names the library%s",
                workers->start_limit_ms / 1e3, hn_process_describe_output(&worker->process));
        return;
    }
    if (worker->job == NULL)
        return;
    double limit_ms = worker->job->timeout_ms;
    double patience_ms = patience_of(worker->job);
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
    struct hn_job *job = compile_queue_next(&workers->queue, workers->count);
    if (job == NULL)
        return;
    job->attempts++;
    worker->job = job;
    worker->process.since_ms = hn_now_ms();
    hn_meter_begin(&job->client->meter, worker->process.since_ms);
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
    /* A job that fails at one host may succeed at another. A host that lies is asked no more. */
    bool may_differ = err->status != HN_ECONFIG || workers->host_count > 1;
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

static void start_workers(struct hn_compile_workers *workers, uint64_t wanted, struct hn_error *err)
{
    for (int i = 0; i < workers->count; i++)
        if (workers->items[i].process.pid != 0 && workers->items[i].job == NULL && wanted > 0)
            wanted--;
    for (int i = 0; i < workers->count && wanted > 0 && !hn_failed(err); i++) {
        struct hn_compile_worker *worker = &workers->items[i];
        if (worker->process.pid != 0 || !is_usable(worker))
            continue;
        hn_process_start(&worker->process, NULL, "compile", err);
        wanted--;
    }
}

static struct hn_compile_pool *make_pool(struct hn_compile_workers *workers, double timeout_ms,
                                         int wakeup)
{
    struct hn_compile_pool *pool = hn_need(1, sizeof *pool);
    *pool = (struct hn_compile_pool){.wakeup = wakeup,
                                     .workers = workers,
                                     .timeout_ms = timeout_ms,
                                     .nvrtc = workers->nvrtc,
                                     .keeps_shared = true};
    compile_queue_add_client(&workers->queue, pool);
    return pool;
}

struct hn_compile_pool *hn_compile_pool_create(int jobs, double timeout_s, double start_limit_s)
{
    struct hn_compile_workers *workers = hn_need(1, sizeof *workers);
    workers->items = hn_need((size_t)jobs, sizeof *workers->items);
    workers->count = jobs;
    workers->start_limit_ms = start_limit_s * 1e3;
    for (int i = 0; i < jobs; i++)
        hn_process_init(&workers->items[i].process);
    TAILQ_INIT(&workers->queue.waiting);
    TAILQ_INIT(&workers->queue.clients);
    workers->owner = make_pool(workers, timeout_s * 1e3, -1);
    return workers->owner;
}

struct hn_compile_pool *hn_compile_pool_share(struct hn_compile_pool *owner, int wakeup)
{
    return make_pool(owner->workers, owner->timeout_ms, wakeup);
}

void hn_compile_pool_lend(struct hn_compile_pool *pool, struct hn_hosts *hosts)
{
    struct hn_compile_workers *workers = pool->workers;
    size_t count = hn_hosts_count(hosts);
    size_t most = (size_t)workers->count + count * HOST_WORKERS_MOST;
    workers->items = hn_need_more(workers->items, most, sizeof *workers->items);
    workers->hosts = hn_need(count, sizeof *workers->hosts);
    workers->host_count = count;
    for (size_t i = 0; i < count; i++) {
        struct hn_compile_host *host = &workers->hosts[i];
        host->host = hn_hosts_at(hosts, i);
        host->view = hn_host_look(host->host);
        for (int n = 0; n < HOST_WORKERS_MOST; n++) {
            struct hn_compile_worker *worker = &workers->items[workers->count++];
            *worker = (struct hn_compile_worker){.host = host, .index = n};
            hn_process_init(&worker->process);
            worker->process.place = hn_host_place(host->host);
        }
    }
}

void hn_compile_pool_end(const struct hn_compile_pool *pool)
{
    for (int i = 0; i < pool->workers->count; i++)
        hn_process_end(&pool->workers->items[i].process);
}

void hn_compile_pool_destroy(struct hn_compile_pool *pool)
{
    if (pool == NULL)
        return;
    struct hn_compile_workers *workers = pool->workers;
    compile_queue_remove_client(pool);
    if (pool == workers->owner) {
        hn_compile_pool_end(pool);
        for (int i = 0; i < workers->count; i++)
            hn_process_kill(&workers->items[i].process);
        compile_queue_finish(&workers->queue);
        free(workers->items);
        free(workers->hosts);
        free(workers);
    }
    free(pool);
}

struct hn_compile_load hn_compile_pool_load(const struct hn_compile_pool *pool, const uint64_t *id)
{
    struct hn_compile_load load = {.jobs = 0};
    double now_ms = hn_now_ms();
    HN_EACH(worker, *pool->workers) {
        double past_ms = now_ms - worker->process.since_ms;
        load.jobs += is_usable(worker);
        load.busy += worker->job != NULL;
        if (worker->job == NULL || job_want(worker->job, pool, NULL) == NULL)
            continue;
        load.own++;
        load.longest_ms = fmax(load.longest_ms, past_ms);
        if (id != NULL && worker->ready && job_want(worker->job, pool, id) != NULL)
            load.age_ms = past_ms;
    }
    load.jobs = load.jobs > 0 ? load.jobs : 1;
    return load;
}

enum hn_status hn_compile_pool_ask(const struct hn_want *want, const struct hn_source *source,
                                   const char *architecture, struct hn_error *err)
{
    const struct hn_compile_pool *pool = want->client;
    struct hn_message request HN_ENDED_BY(hn_message_finish) = {
        .json = hn_message_of_source(source, architecture, err)};
    struct hn_source_key key;
    bool sets_up = want->rank == HN_RANK_SETUP;
    pool->workers->asked = true;
    if (request.json == NULL)
        return err->status;
    enum hn_status status = hn_source_key(source, architecture, &key, err);
    if (status == HN_OK) {
        compile_queue_ask(want, &key.hash, &request,
                          sets_up ? fmax(pool->timeout_ms, setup_timeout_ms) : pool->timeout_ms,
                          sets_up || pool->keeps_all || (pool->keeps_shared && key.leaves_out));
        hn_event_signal(pool->workers->owner->wakeup);
    }
    return status;
}

enum hn_status hn_compile_pool_submit(struct hn_compile_pool *pool, uint64_t id,
                                      const struct hn_source *source, const char *architecture,
                                      struct hn_error *err)
{
    const struct hn_want want = {
        .client = pool, .id = id, .rank = HN_RANK_ASKED, .patience_ms = INFINITY};
    return hn_compile_pool_ask(&want, source, architecture, err);
}

void hn_compile_pool_stop(struct hn_compile_pool *pool)
{
    struct hn_compile_workers *workers = pool->workers;
    hn_compile_pool_forget(pool, HN_RANK_SETUP, NULL);
    for (int i = 0; i < workers->count; i++) {
        struct hn_compile_worker *worker = &workers->items[i];
        if (worker->job == NULL || !TAILQ_EMPTY(&worker->job->wants))
            continue;
        kill_worker(worker);
        worker->job->kept = false;
        finish_job(workers, worker);
    }
}

enum hn_status hn_compile_pool_process(struct hn_compile_pool *pool, struct hn_error *err)
{
    struct hn_compile_workers *workers = pool->workers;
    struct hn_error *failure = &workers->failure;
    const struct hn_compile_pool *client;
    const struct hn_job *job;
    if (pool == workers->owner && !hn_failed(failure)) {
        uint64_t waiting = 0;
        for (size_t i = 0; i < workers->host_count; i++)
            workers->hosts[i].view = hn_host_look(workers->hosts[i].host);
        for (int i = 0; i < workers->count && !hn_failed(failure); i++)
            if (workers->items[i].process.pid != 0)
                serve(workers, &workers->items[i], failure);
        check_hosts(workers, failure);
        TAILQ_FOREACH(job, &workers->queue.waiting, next)
            waiting++;
        /* Who waits for nothing else is told which NVRTC there is. */
        if (waiting == 0 && !workers->asked)
            waiting = (uint64_t)pool->early;
        if (waiting == 0 && workers->nvrtc[0] == '\0')
            waiting = 1;
        start_workers(workers, waiting, failure);
        /* The others hear of it when they look. */
        if (hn_failed(failure))
            TAILQ_FOREACH(client, &workers->queue.clients, next)
                hn_event_signal(client->wakeup);
    }
    if (hn_failed(failure) && err != NULL)
        *err = *failure;
    return failure->status;
}

size_t hn_compile_pool_poll(const struct hn_compile_pool *pool, struct pollfd *fds, bool polled)
{
    size_t count = fds != NULL ? 0 : 2 * (size_t)pool->workers->count;
    for (int i = 0; fds != NULL && i < pool->workers->count; i++) {
        struct hn_process *process = &pool->workers->items[i].process;
        if (process->pid != 0)
            count += polled ? hn_process_polled(process, fds + count)
                            : hn_process_poll(process, fds + count);
    }
    return count;
}

int hn_compile_pool_timeout_ms(const struct hn_compile_pool *pool)
{
    const struct hn_compile_workers *workers = pool->workers;
    double least = -1;
    HN_EACH(worker, *workers) {
        const struct hn_job *job = worker->job;
        bool starts = worker->process.pid != 0 && !worker->ready;
        if (job == NULL && !starts)
            continue;
        double limit_ms =
            starts ? workers->start_limit_ms : fmin(patience_of(job), job->timeout_ms);
        double left = fmax(worker->process.since_ms + limit_ms - hn_now_ms(), 0);
        least = least < 0 ? left : fmin(least, left);
    }
    return least < 0 ? -1 : (int)least + 1;
}

bool hn_compile_pool_wait(struct hn_compile_pool *pool, const uint64_t *wanted, uint64_t *id,
                          struct hn_image *image, struct hn_error *err)
{
    while (!hn_failed(err) && pool->pending > 0) {
        if (hn_compile_pool_process(pool, err) != HN_OK)
            return false;
        if (hn_compile_pool_take(pool, wanted, id, image))
            return true;
        struct pollfd *fds HN_FREED = hn_need(hn_compile_pool_poll(pool, NULL, false), sizeof *fds);
        int timeout = hn_compile_pool_timeout_ms(pool);
        if (poll(fds, hn_compile_pool_poll(pool, fds, false),
                 timeout >= 0 && timeout < sleep_limit_ms ? timeout : sleep_limit_ms) >= 0)
            hn_compile_pool_poll(pool, fds, true);
        hn_interrupt_check(err);
    }
    return false;
}
