/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/text.h"
#include "tuner/server/server_internal.h"

/* What a user waits for at the start; what the thread gives a server before it takes it for lost;
 * how long the end waits. */
static const double patience_ms = 60000;
static const double connect_ms = 10000;
static const double short_patience_ms = 5000;
static const double end_ms = 5000;
/* Between tries to connect, doubled up to the latter. */
static const double first_pause_ms = 250;
static const double longest_pause_ms = 8000;
enum { TICK_MS = 500 };
/* After a turn the thread rests for so many times what it took: it is to take a twentieth of a
 * processor, and a server that is slow is to be sent more at a time. */
static const double rest_times = 20;
static const double longest_rest_ms = 200;

/* Who tunes what, so that nobody begins what another is at: a row of the server, which is its
 * owner's until its lease ends. All times are the server's. A lease is as long as a lost connection
 * may last without another beginning the same, and as a dead tuner keeps others waiting. */
#define LEASE "now() + interval '15 seconds'"
/* One that ends later than any lease that is begun now is none, and does not hold anybody up. */
#define LONGEST "now() + interval '60 seconds'"
enum { RENEW_MS = 4000 };

struct hn_server_claim {
    struct hn_hash hash; /* of the subject */
    struct hn_subject subject;
    char device[128];
    bool held; /* all the time */
    struct hn_server_claim *next;
};

struct hn_server {
    char *uri;
    char *name;
    char *copy;

    pthread_t thread;
    bool follows;
    pthread_mutex_t signal_lock; /* of the next two, held for a moment only */
    pthread_cond_t wake;
    bool news;
    bool stops;

    pthread_mutex_t lock;             /* of all below, held while the server is asked */
    struct hn_connection *connection; /* NULL: lost */
    struct hn_store *outgoing;        /* the copy, once it is followed */
    int64_t sent;                     /* id of the last record that was looked at */
    int64_t own_after;
    double retry_at_ms;
    double pause_ms;
    struct hn_server_end end;
    /* This tuner: a name that was drawn, where it is, and since when it is there. */
    char tuner[33];
    char machine[65];
    char since[64];
    struct hn_server_claim *claims;
    double renewed_ms;
};

/* In the user's folder, and of this host alone, since hosts may share that folder. */
static char *copy_path(const char *id)
{
    char host[256] = "";
    struct hn_text text = {0};
    (void)gethostname(host, sizeof host - 1);
    const struct hn_hash place = hn_hash_string(host);
    hn_store_append_folder(&text);
    hn_text_printf(&text, "/postgresql-%.12s-%.8s.db", id, place.hex);
    return hn_needed(hn_text_take(&text));
}

/* Draws a name for this tuner. */
static void enter(struct hn_server *server, struct hn_error *err)
{
    const char *now = "", *name = "";
    json_t *rows = hn_connection_read(
        server->connection, err,
        "SELECT now()::text AS now, replace(gen_random_uuid()::text, '-', '') AS name", "");
    (void)gethostname(server->machine, sizeof server->machine - 1);
    (void)json_unpack(json_array_get(rows, 0), "{s:s, s:s}", "now", &now, "name", &name);
    snprintf(server->tuner, sizeof server->tuner, "%s", name);
    snprintf(server->since, sizeof server->since, "%s", now);
    json_decref(rows);
}

enum hn_status hn_server_open(const char *uri, struct hn_server **server, struct hn_error *err)
{
    char id[33] = "";
    pthread_condattr_t attributes;
    struct hn_server *own = hn_need(1, sizeof *own);
    hn_error_init(err);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&own->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&own->signal_lock, NULL);
    pthread_mutex_init(&own->lock, NULL);
    own->pause_ms = first_pause_ms;
    own->own_after = INT64_MAX;
    own->uri = hn_need_copy(uri);
    own->name = hn_server_name(uri);
    own->connection = hn_connection_open(own->uri, own->name, true, connect_ms, err);
    if (own->connection != NULL)
        hn_connection_set_patience(own->connection, patience_ms);
    hn_tables_open(own->connection, own->name, id, err);
    enter(own, err);
    own->copy = copy_path(id);
    *server = hn_failed(err) ? NULL : own;
    if (hn_failed(err))
        hn_server_close(own, &(struct hn_server_end){.losses = 0});
    return err->status;
}

const char *hn_server_shown(const struct hn_server *server)
{
    return server->name;
}

const char *hn_server_copy(const struct hn_server *server)
{
    return server->copy;
}

/* The rest goes on without it. */
static void drop(struct hn_server *server, const struct hn_error *reason)
{
    if (server->connection != NULL) {
        server->end.losses++;
        snprintf(server->end.reason, sizeof server->end.reason, "%.500s", reason->message);
    }
    hn_connection_close(server->connection);
    server->connection = NULL;
    server->retry_at_ms = hn_now_ms() + server->pause_ms;
    server->pause_ms =
        2 * server->pause_ms < longest_pause_ms ? 2 * server->pause_ms : longest_pause_ms;
}

static struct hn_peers peers_of(struct hn_server *server, struct hn_store *store)
{
    return (struct hn_peers){server->connection, store, server->own_after, &server->end.unkept};
}

enum hn_status hn_server_sync(struct hn_server *server, struct hn_store *store,
                              const struct hn_sync *sync, struct hn_fetched *fetched,
                              struct hn_error *err)
{
    hn_error_init(err);
    *fetched = (struct hn_fetched){.sessions = 0};
    pthread_mutex_lock(&server->lock);
    if (server->connection != NULL) {
        const struct hn_peers peers = peers_of(server, store);
        hn_connection_set_patience(server->connection, patience_ms);
        hn_send_all(&peers, err);
        hn_fetch(&peers, sync, fetched, err);
    }
    if (hn_failed(err) && server->follows) {
        drop(server, err);
        hn_error_init(err);
    }
    if (server->connection != NULL && server->follows)
        hn_connection_set_patience(server->connection, short_patience_ms);
    pthread_mutex_unlock(&server->lock);
    return err->status;
}

/* Whether another has it, or finished it since this tuner is there. */
static enum hn_claim_state look(const struct hn_server *server, const struct hn_server_claim *claim,
                                struct hn_claim_holder *holder, struct hn_error *err)
{
    const char *machine = "";
    int done = 0;
    json_t *rows = hn_connection_read(
        server->connection, err,
        "SELECT left(machine, 64) AS machine, finished IS NOT NULL AS done,"
        " extract(epoch FROM now() - coalesce(finished, since))::double precision AS age"
        " FROM hone.claim WHERE subject = $1 AND owner <> $2"
        " AND isfinite(since) AND CASE WHEN finished IS NULL THEN until > now() AND until <"
        " " LONGEST " ELSE finished > $3::timestamptz AND finished < " LONGEST " END",
        "ttt", claim->hash.hex, server->tuner, server->since);
    *holder = (struct hn_claim_holder){.machine = ""};
    bool found = json_unpack(json_array_get(rows, 0), "{s:s, s:b, s:F}", "machine", &machine,
                             "done", &done, "age", &holder->for_s) == 0;
    snprintf(holder->machine, sizeof holder->machine, "%.64s", machine);
    json_decref(rows);
    return !found ? HN_CLAIM_OWN : done != 0 ? HN_CLAIM_DONE : HN_CLAIM_TAKEN;
}

/* False when the lease had ended and another took it; else it is one's own again. */
static bool renew(const struct hn_server *server, const struct hn_server_claim *claim,
                  struct hn_error *err)
{
    json_t *rows = hn_connection_read(
        server->connection, err,
        "INSERT INTO hone.claim AS c VALUES($1, $2, $3, $4, $5, $6, now(), " LEASE ", NULL)"
        " ON CONFLICT (subject) DO UPDATE SET machine = excluded.machine, owner = excluded.owner,"
        " since = excluded.since, until = excluded.until, finished = NULL"
        " WHERE c.until < now() OR c.until > " LONGEST " OR c.finished IS NOT NULL"
        " OR c.owner = excluded.owner"
        " RETURNING 1 AS own",
        "tttttt", claim->hash.hex, claim->subject.kernel, claim->subject.problem, claim->device,
        server->machine, server->tuner);
    bool held = json_array_size(rows) > 0;
    json_decref(rows);
    return held;
}

static void renew_claims(struct hn_server *server, struct hn_error *err)
{
    for (struct hn_server_claim *claim = server->claims; claim != NULL && !hn_failed(err);
         claim = claim->next) {
        bool held = renew(server, claim, err);
        claim->held = claim->held && (held || hn_failed(err));
    }
    server->renewed_ms = hn_now_ms();
}

static void send_news(struct hn_server *server, bool everything, struct hn_error *err)
{
    const struct hn_peers peers = peers_of(server, server->outgoing);
    const int64_t last = hn_store_last_record(server->outgoing, err);
    if (hn_failed(err))
        return;
    if (everything)
        hn_send_all(&peers, err);
    else if (last > server->sent)
        hn_send_news(&peers, server->sent, err);
    if (!hn_failed(err)) {
        server->sent = last;
        server->pause_ms = first_pause_ms;
    }
}

/* What the thread does at each of its turns; `last`: its last one. */
static void take_turn(struct hn_server *server, bool last)
{
    struct hn_error reason = {.status = HN_OK};
    bool back = false;
    if (server->connection == NULL && (last || hn_now_ms() >= server->retry_at_ms)) {
        server->connection =
            hn_connection_open(server->uri, server->name, false, short_patience_ms, &reason);
        back = server->connection != NULL;
    } else if (server->connection == NULL) {
        return;
    }
    if (server->connection != NULL)
        send_news(server, back || last, &reason);
    if (!hn_failed(&reason) && (back || hn_now_ms() - server->renewed_ms >= RENEW_MS))
        renew_claims(server, &reason);
    if (hn_failed(&reason))
        drop(server, &reason);
}

static struct timespec time_in(double ms)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_nsec += (long)(ms * 1e6);
    time.tv_sec += time.tv_nsec / 1000000000L;
    time.tv_nsec %= 1000000000L;
    return time;
}

/* Until so long has passed or it is to stop, which is returned; and, where it is waited for, until
 * there is news. */
static bool wait_for(struct hn_server *server, bool news, double ms)
{
    const struct timespec until = time_in(ms);
    pthread_mutex_lock(&server->signal_lock);
    while (!server->stops && !(news && server->news) &&
           pthread_cond_timedwait(&server->wake, &server->signal_lock, &until) == 0)
        ;
    bool stops = server->stops;
    server->news = server->news && !news;
    pthread_mutex_unlock(&server->signal_lock);
    return stops;
}

static void *follow(void *pointer)
{
    struct hn_server *server = pointer;
    while (!wait_for(server, true, TICK_MS)) {
        double before_ms = hn_now_ms();
        pthread_mutex_lock(&server->lock);
        take_turn(server, false);
        pthread_mutex_unlock(&server->lock);
        (void)wait_for(server, false,
                       fmin(rest_times * (hn_now_ms() - before_ms), longest_rest_ms));
    }
    return NULL;
}

enum hn_status hn_server_follow(struct hn_server *server, struct hn_error *err)
{
    if (hn_store_open(server->copy, HN_STORE_READ, &server->outgoing, err) != HN_OK)
        return err->status;
    server->sent = hn_store_last_record(server->outgoing, err);
    server->own_after = hn_store_last_session(server->outgoing, err);
    if (hn_failed(err))
        return err->status;
    hn_connection_set_patience(server->connection, short_patience_ms);
    server->renewed_ms = hn_now_ms();
    int failure = hn_thread_start(&server->thread, follow, server);
    if (failure != 0)
        return hn_fail(err, HN_ERUN, "no thread can be started to send what is recorded: %s",
                       strerror(failure));
    server->follows = true;
    return HN_OK;
}

void hn_server_tell(struct hn_server *server)
{
    pthread_mutex_lock(&server->signal_lock);
    server->news = true;
    pthread_cond_signal(&server->wake);
    pthread_mutex_unlock(&server->signal_lock);
}

static void free_claim(struct hn_server_claim *claim)
{
    hn_subject_finish(&claim->subject);
    free(claim);
}

/* With the lock. */
static enum hn_claim_state claim_now(const struct hn_server *server,
                                     const struct hn_server_claim *claim, bool again,
                                     struct hn_claim_holder *holder, struct hn_error *err)
{
    enum hn_claim_state state = look(server, claim, holder, err);
    if (state == HN_CLAIM_TAKEN || (state == HN_CLAIM_DONE && !again))
        return state;
    if (renew(server, claim, err) || hn_failed(err))
        return HN_CLAIM_OWN;
    /* Another was faster, just now. */
    state = look(server, claim, holder, err);
    return state == HN_CLAIM_OWN ? HN_CLAIM_TAKEN : state;
}

enum hn_claim_state hn_server_claim(struct hn_server *server, const struct hn_server_wish *wish,
                                    struct hn_server_claim **claim, struct hn_claim_holder *holder)
{
    struct hn_error reason;
    struct hn_server_claim *made = hn_need(1, sizeof *made);
    enum hn_claim_state state = HN_CLAIM_OWN;
    made->held = true;
    if (hn_subject_make(&made->subject, wish->identity, wish->version, &reason) != HN_OK)
        (void)hn_needed(NULL);
    made->hash = hn_subject_hash(&made->subject);
    snprintf(made->device, sizeof made->device, "%s", wish->identity->device.name);
    pthread_mutex_lock(&server->lock);
    *claim = server->claims;
    while (*claim != NULL && strcmp((*claim)->hash.hex, made->hash.hex) != 0)
        *claim = (*claim)->next;
    if (*claim == NULL && server->connection != NULL)
        state = claim_now(server, made, wish->again, holder, &reason);
    if (hn_failed(&reason)) {
        drop(server, &reason);
        state = HN_CLAIM_OWN;
    }
    if (*claim == NULL && state == HN_CLAIM_OWN) {
        made->next = server->claims;
        server->claims = made;
        *claim = made;
    } else {
        free_claim(made);
    }
    pthread_mutex_unlock(&server->lock);
    return state;
}

/* With the lock. */
static bool release(struct hn_server *server, struct hn_server_claim *claim, bool finished)
{
    struct hn_error reason = {.status = HN_OK};
    if (server->connection != NULL) {
        /* Whoever waits for it finds the records when it is released. */
        send_news(server, false, &reason);
        hn_connection_run(server->connection, &reason,
                          finished ? "UPDATE hone.claim SET finished = now(), until = now()"
                                     " WHERE subject = $1 AND owner = $2"
                                   : "DELETE FROM hone.claim WHERE subject = $1 AND owner = $2",
                          "tt", claim->hash.hex, server->tuner);
    }
    if (hn_failed(&reason))
        drop(server, &reason);
    struct hn_server_claim **at = &server->claims;
    while (*at != claim)
        at = &(*at)->next;
    *at = claim->next;
    bool held = claim->held;
    free_claim(claim);
    return held;
}

bool hn_server_release(struct hn_server *server, struct hn_server_claim *claim, bool finished)
{
    pthread_mutex_lock(&server->lock);
    bool held = release(server, claim, finished);
    pthread_mutex_unlock(&server->lock);
    return held;
}

/* Some tries more where the server is away. */
static void send_rest(struct hn_server *server)
{
    double until_ms = hn_now_ms() + end_ms;
    take_turn(server, true);
    while (server->connection == NULL && hn_now_ms() < until_ms) {
        nanosleep(&(struct timespec){.tv_nsec = TICK_MS * 1000000L / 2}, NULL);
        take_turn(server, true);
    }
    struct hn_error ignored;
    hn_error_init(&ignored);
    const int64_t last = hn_store_last_record(server->outgoing, &ignored);
    if (server->connection == NULL && !hn_failed(&ignored))
        server->end.waiting = last - server->sent;
}

void hn_server_close(struct hn_server *server, struct hn_server_end *end)
{
    if (server == NULL)
        return;
    if (server->follows) {
        pthread_mutex_lock(&server->signal_lock);
        server->stops = true;
        pthread_cond_signal(&server->wake);
        pthread_mutex_unlock(&server->signal_lock);
        pthread_join(server->thread, NULL);
        send_rest(server);
    }
    while (server->claims != NULL)
        release(server, server->claims, false);
    *end = server->end;
    snprintf(end->server, sizeof end->server, "%s", server->name);
    snprintf(end->copy, sizeof end->copy, "%s", server->copy);
    hn_store_close(server->outgoing);
    hn_connection_close(server->connection);
    pthread_cond_destroy(&server->wake);
    pthread_mutex_destroy(&server->signal_lock);
    pthread_mutex_destroy(&server->lock);
    free(server->uri);
    free(server->name);
    free(server->copy);
    free(server);
}
