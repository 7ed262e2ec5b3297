/* SPDX-License-Identifier: MIT */
#include "tuner/workers/compile_pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"

/* Images beyond that are compiled each time. */
static const size_t kept_bytes_most = (size_t)512 << 20;

static struct hn_job **bucket_of(struct hn_compile_queue *queue, const struct hn_hash *key)
{
    return &queue->buckets[hn_hash_number(key->hex, sizeof key->hex) % HN_QUEUE_BUCKETS];
}

static void free_want(struct hn_want *want)
{
    hn_image_finish(&want->image);
    free(want);
}

static void append(struct hn_want **link, struct hn_want *want)
{
    while (*link != NULL)
        link = &(*link)->next;
    want->next = NULL;
    *link = want;
}

static void free_job(struct hn_job *job)
{
    while (job->wants != NULL) {
        struct hn_want *want = job->wants;
        job->wants = want->next;
        free_want(want);
    }
    hn_message_finish(&job->request);
    hn_image_finish(&job->image);
    free(job);
}

void hn_compile_queue_finish(struct hn_compile_queue *queue)
{
    for (size_t i = 0; i < HN_QUEUE_BUCKETS; i++) {
        while (queue->buckets[i] != NULL) {
            struct hn_job *job = queue->buckets[i];
            queue->buckets[i] = job->same;
            free_job(job);
        }
    }
    *queue = (struct hn_compile_queue){.clients = NULL};
}

/* It is of no more use to anybody. */
static bool is_idle(const struct hn_job *job)
{
    return job->wants == NULL && job->state != HN_JOB_RUNNING &&
           !(job->state == HN_JOB_DONE && job->kept);
}

static void remove_job(struct hn_compile_queue *queue, struct hn_job *job)
{
    struct hn_job **link = bucket_of(queue, &job->key);
    while (*link != job)
        link = &(*link)->same;
    *link = job->same;
    link = &queue->waiting;
    while (*link != NULL && *link != job)
        link = &(*link)->next;
    if (*link != NULL)
        *link = job->next;
    free_job(job);
}

void hn_compile_queue_add_client(struct hn_compile_queue *queue, struct hn_compile_pool *client)
{
    struct hn_compile_pool **link = &queue->clients;
    client->queue = queue;
    while (*link != NULL)
        link = &(*link)->next;
    client->next = NULL;
    *link = client;
}

static void unlink_client(const struct hn_compile_pool *client)
{
    struct hn_compile_pool **link = &client->queue->clients;
    while (*link != client)
        link = &(*link)->next;
    *link = client->next;
}

void hn_compile_queue_remove_client(struct hn_compile_pool *client)
{
    hn_compile_queue_forget(client, HN_RANK_SETUP, NULL);
    unlink_client(client);
    for (size_t i = 0; i < HN_QUEUE_BUCKETS; i++)
        for (struct hn_job *job = client->queue->buckets[i]; job != NULL; job = job->same)
            if (job->client == client)
                job->client = NULL;
}

/* Gives the want the job's image, which is the job's last use of it where `moves`. */
static void finish_want(struct hn_job *job, struct hn_want *want, bool moves)
{
    if (moves) {
        want->image = job->image;
        hn_image_init(&job->image);
    } else if (hn_image_copy(&want->image, &job->image, NULL) != HN_OK) {
        hn_needed(NULL);
    }
    if (job->paid)
        want->image.compile_ms = 0;
    job->paid = true;
    append(&want->client->finished, want);
    want->client->unfinished--;
    hn_event_signal(want->client->wakeup);
}

void hn_compile_queue_ask(const struct hn_want *asked, const struct hn_hash *key,
                          struct hn_message *request, double timeout_ms, bool kept)
{
    struct hn_compile_queue *queue = asked->client->queue;
    struct hn_job **bucket = bucket_of(queue, key), *job = *bucket;
    while (job != NULL && strcmp(job->key.hex, key->hex) != 0)
        job = job->same;
    struct hn_want *want = hn_need(1, sizeof *want);
    *want = *asked;
    hn_image_init(&want->image);
    if (job == NULL) {
        struct hn_job **link = &queue->waiting;
        job = hn_need(1, sizeof *job);
        *job = (struct hn_job){.key = *key, .request = *request, .same = *bucket};
        *request = (struct hn_message){0};
        hn_image_init(&job->image);
        *bucket = job;
        while (*link != NULL)
            link = &(*link)->next;
        *link = job;
    }
    job->timeout_ms = fmax(job->timeout_ms, timeout_ms);
    job->kept = job->kept || (kept && job->state != HN_JOB_DONE);
    want->client->pending += want->rank != HN_RANK_GUESSED;
    want->client->unfinished += want->rank != HN_RANK_GUESSED;
    if (job->state == HN_JOB_DONE && want->rank != HN_RANK_GUESSED)
        finish_want(job, want, false);
    else
        append(&job->wants, want);
}

/* id NULL: all of the rank, and those behind it. */
static bool is_meant(const struct hn_want *want, const struct hn_compile_pool *client,
                     enum hn_rank first, const uint64_t *id)
{
    return want->client == client && want->rank >= first && (id == NULL || want->id == *id);
}

/* Returns how many of them were no guesses. */
static size_t drop_wants(struct hn_want **link, const struct hn_compile_pool *client,
                         enum hn_rank first, const uint64_t *id)
{
    size_t asked = 0;
    while (*link != NULL) {
        struct hn_want *want = *link;
        if (!is_meant(want, client, first, id)) {
            link = &want->next;
            continue;
        }
        *link = want->next;
        asked += want->rank != HN_RANK_GUESSED;
        free_want(want);
    }
    return asked;
}

void hn_compile_queue_forget(struct hn_compile_pool *client, enum hn_rank first, const uint64_t *id)
{
    struct hn_compile_queue *queue = client->queue;
    client->pending -= drop_wants(&client->finished, client, first, id);
    for (size_t i = 0; i < HN_QUEUE_BUCKETS; i++) {
        struct hn_job *job = queue->buckets[i];
        while (job != NULL) {
            struct hn_job *same = job->same;
            size_t dropped = drop_wants(&job->wants, client, first, id);
            client->pending -= dropped;
            client->unfinished -= dropped;
            if (is_idle(job))
                remove_job(queue, job);
            job = same;
        }
    }
}

void hn_compile_pool_drop(struct hn_compile_pool *client, uint64_t id)
{
    hn_compile_queue_forget(client, HN_RANK_SETUP, &id);
}

bool hn_compile_pool_take(struct hn_compile_pool *client, const uint64_t *wanted, uint64_t *id,
                          struct hn_image *image)
{
    struct hn_want **link = &client->finished;
    while (*link != NULL && wanted != NULL && (*link)->id != *wanted)
        link = &(*link)->next;
    struct hn_want *want = *link;
    if (want == NULL)
        return false;
    *link = want->next;
    *id = want->id;
    *image = want->image;
    free(want);
    client->pending--;
    return true;
}

const struct hn_want *hn_job_want(const struct hn_job *job, const struct hn_compile_pool *client,
                                  const uint64_t *id)
{
    const struct hn_want *want = job->wants;
    while (want != NULL && !is_meant(want, client, HN_RANK_SETUP, id))
        want = want->next;
    return want;
}

/* The weight of the client's want of this rank; -1: it has none. */
static double weight_for(const struct hn_job *job, const struct hn_compile_pool *client,
                         enum hn_rank rank)
{
    double weight = -1;
    for (const struct hn_want *want = job->wants; want != NULL; want = want->next)
        if (want->client == client && want->rank == rank)
            weight = fmax(weight, want->weight);
    return weight;
}

/* Where the client's next job of this rank stands; where there is none, the end. */
static struct hn_job **find_next(struct hn_compile_queue *queue, struct hn_compile_pool *client,
                                 enum hn_rank rank, int limit)
{
    struct hn_job **oldest = NULL, **heaviest = NULL;
    double most = -1;
    struct hn_job **link = &queue->waiting;
    for (; *link != NULL; link = &(*link)->next) {
        double weight = weight_for(*link, client, rank);
        if (weight < 0)
            continue;
        oldest = oldest != NULL ? oldest : link;
        if (!client->prefers_heavy)
            break;
        if (weight > most) {
            most = weight;
            heaviest = link;
        }
    }
    if (oldest == NULL || !client->prefers_heavy)
        return oldest != NULL ? oldest : link;
    bool passes_over = heaviest != oldest && client->passed_over < limit;
    client->passed_over = passes_over ? client->passed_over + 1 : 0;
    return passes_over ? heaviest : oldest;
}

struct hn_job *hn_compile_queue_next(struct hn_compile_queue *queue, int limit)
{
    for (enum hn_rank rank = HN_RANK_SETUP; rank < HN_RANK_COUNT; rank++) {
        for (struct hn_compile_pool *client = queue->clients; client != NULL;
             client = client->next) {
            struct hn_job **link = find_next(queue, client, rank, limit);
            struct hn_job *job = *link;
            if (job == NULL)
                continue;
            *link = job->next;
            job->next = NULL;
            job->state = HN_JOB_RUNNING;
            job->client = client;
            unlink_client(client);
            hn_compile_queue_add_client(queue, client);
            return job;
        }
    }
    return NULL;
}

/* The first want that is no guess; where there is none, the end. */
static struct hn_want **find_asked(struct hn_job *job)
{
    struct hn_want **link = &job->wants;
    while (*link != NULL && (*link)->rank == HN_RANK_GUESSED)
        link = &(*link)->next;
    return link;
}

void hn_compile_queue_end(struct hn_compile_queue *queue, struct hn_job *job)
{
    enum hn_outcome outcome = job->image.outcome;
    bool by_chance = outcome == HN_OUTCOME_COMPILE_TIMEOUT || outcome == HN_OUTCOME_COMPILE_CRASH;
    job->state = HN_JOB_DONE;
    job->kept = job->kept && outcome == HN_OUTCOME_OK &&
                queue->kept_bytes + job->image.size <= kept_bytes_most;
    queue->kept_bytes += job->kept ? job->image.size : 0;
    queue->kept_count += job->kept;
    struct hn_want **link;
    while (*(link = find_asked(job)) != NULL) {
        struct hn_want *want = *link;
        *link = want->next;
        finish_want(job, want, job->wants == NULL && !job->kept);
        if (by_chance)
            break;
    }
    if (is_idle(job)) {
        remove_job(queue, job);
    } else if (*find_asked(job) != NULL) {
        hn_image_finish(&job->image);
        job->attempts = 0;
        job->paid = false;
        hn_compile_queue_retry(queue, job);
    }
}

void hn_compile_queue_retry(struct hn_compile_queue *queue, struct hn_job *job)
{
    job->state = HN_JOB_WAITING;
    job->next = queue->waiting;
    queue->waiting = job;
    if (is_idle(job))
        remove_job(queue, job);
}
