/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/text.h"
#include "cache/record/gate.h"
#include "cache/store/store_roofs.h"
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
    LIST_ENTRY(hn_server_claim) next;
};

struct hn_server {
    char *uri;
    char *name;
    char *copy;

    pthread_t thread;
    bool follows;
    int news, stops; /* eventfds: it is to send, it is to end */

    pthread_mutex_t lock;             /* of all below, held while the server is asked */
    struct hn_connection *connection; /* NULL: lost */
    struct hn_store *outgoing;        /* the copy, once it is followed */
    int64_t sent;                     /* id of the last record that was looked at */
    int64_t own_after;
    double retry_at_ms;
    double pause_ms;
    /* How it went, for messages. */
    int losses;       /* of the connection */
    char reason[512]; /* of the last one */
    int64_t unkept;   /* records that the server was sent and has not */
    /* This tuner: a name that was drawn, where it is, and since when it is there. */
    char tuner[33];
    char machine[65];
    char since[64];
    LIST_HEAD(, hn_server_claim) claims;
    double renewed_ms;
};

const char *hn_server_copy(const struct hn_server *server)
{
    return server->copy;
}

/* The rest goes on without it. */
static void drop(struct hn_server *server, const struct hn_error *reason)
{
    if (server->connection != NULL) {
        server->losses++;
        snprintf(server->reason, sizeof server->reason, "%.500s", reason->message);
    }
    hn_connection_close(server->connection);
    server->connection = NULL;
    server->retry_at_ms = hn_now_ms() + server->pause_ms;
    server->pause_ms =
        2 * server->pause_ms < longest_pause_ms ? 2 * server->pause_ms : longest_pause_ms;
}

/* Making the copy and the server alike. Each statement can be sent twice and does nothing the
 * second time, so that what a lost connection leaves open is sent again. Both hold the same
 * documents: a head for each session, and its lines (records from position 0 on, at -1 the rule of
 * a family). Of two that have a session the one with fewer records lacks the last ones. */

enum { BATCH = 500, SESSIONS_MOST = 10000, ROOFS_MOST = 500 };
/* Sessions of one look at what the server has; of more others each time. */
#define LOOK_MOST "100000"
enum { LOOKED_AT_MOST = 100000 };
/* Bytes of an answer. */
#define MOST "16777216"
static const double most_ms = 120000;

/* A session here and on the server. */
struct pair {
    struct hn_server *server;
    struct hn_store *store;
    const char *origin;
    int64_t id;           /* here; 0: it is not here */
    int64_t ours, theirs; /* records; -1: the server has no such session */
    bool our_rule, their_rule;
};

/* A column of a row, "" where it is NULL. */
static const char *text_of(const json_t *row, const char *column)
{
    const char *text = json_string_value(json_object_get(row, column));
    return text == NULL ? "" : text;
}

static int64_t integer_of(const json_t *row, const char *column)
{
    return json_integer_value(json_object_get(row, column));
}

/* Of a line, or of a head, which is at -2. */
static struct hn_hash checksum(const char *origin, int64_t position, const char *text)
{
    char place[24];
    snprintf(place, sizeof place, "%lld", (long long)position);
    const struct hn_hash name = hn_hash_string(origin);
    const struct hn_hash at = hn_hash_string(place);
    const struct hn_hash where = hn_hash_join(&name, &at);
    const struct hn_hash what = hn_hash_string(text);
    return hn_hash_join(&where, &what);
}
enum { HEAD = -2, RULE = -1 };

static struct hn_hash hash_subject(const struct hn_subject *subject)
{
    const struct hn_hash task = hn_hash_string(subject->task);
    const struct hn_hash version = hn_hash_string(subject->version);
    return hn_hash_join(&task, &version);
}

static void send_head(const struct pair *pair, struct hn_error *err)
{
    struct hn_store_head head HN_ENDED_BY(hn_store_head_finish) = {0};
    struct hn_connection *connection = pair->server->connection;
    if (hn_failed(err) || hn_store_get_head(pair->store, pair->id, &head, err) != HN_OK)
        return;
    if (head.plan != NULL) {
        const struct hn_hash hash = hn_hash_string(head.plan);
        hn_connection_run(connection, err,
                          "INSERT INTO hone.plan VALUES($1, $2) ON CONFLICT (hash) DO NOTHING",
                          "tt", hash.hex, head.plan);
        free(head.plan);
        head.plan = hn_need_copy(hash.hex);
    }
    char *text HN_FREED =
        hn_needed(hn_json_text(hn_fields_to_json(&hn_store_head_structure, &head), JSON_COMPACT));
    const struct hn_hash sum = checksum(pair->origin, HEAD, text);
    const struct hn_hash subject = hash_subject(&head.subject);
    hn_connection_run(connection, err,
                      "INSERT INTO hone.session(origin, subject, kernel, problem, json, checksum)"
                      " VALUES($1, $2, $3, $4, $5, $6) ON CONFLICT (origin) DO NOTHING",
                      "tttttt", pair->origin, subject.hex, head.subject.kernel,
                      head.subject.problem, text, sum.hex);
}

/* What the server has of the session. */
static void look_up(struct pair *pair, struct hn_error *err)
{
    json_auto_t *rows =
        hn_connection_read(pair->server->connection, err,
                           "SELECT records FROM hone.session WHERE origin = $1", "t", pair->origin);
    const json_t *row = json_array_get(rows, 0);
    pair->theirs = row == NULL ? -1 : integer_of(row, "records");
}

/* Sends lines from `first` on; returns how many. A rule that another sent is newer than what was
 * fetched of it. */
static int64_t send_lines(const struct pair *pair, int64_t first, int64_t most,
                          struct hn_error *err)
{
#define INSERT                                                                                     \
    "INSERT INTO hone.record SELECT s.id, r.position, r.json, r.checksum FROM hone.session s,"     \
    " json_populate_recordset(NULL::hone.record, $2::json) r WHERE s.origin = $1"                  \
    " ON CONFLICT (session_id, position) DO "
    json_t *rows = hn_needed(json_array());
    json_auto_t *lines = hn_store_get_lines(pair->store, pair->id, first, most, err);
    const int64_t count = (int64_t)json_array_size(lines);
    for (int64_t i = 0; i < count; i++) {
        const char *line = json_string_value(json_array_get(lines, (size_t)i));
        const struct hn_hash sum = checksum(pair->origin, first + i, line);
        json_array_append_new(
            rows, hn_needed(json_pack("{s:I, s:s, s:s}", "position", (json_int_t)(first + i),
                                      "json", line, "checksum", sum.hex)));
    }
    char *text HN_FREED = hn_needed(hn_json_text(rows, JSON_COMPACT));
    hn_gate_expect(err, count > 0, "session '%.64s' has lost records", pair->origin);
    const char *insert = first == RULE && pair->id > pair->server->own_after ? INSERT
                             "UPDATE SET json = excluded.json, checksum = excluded.checksum"
                                                                             : INSERT "NOTHING";
    hn_connection_run(pair->server->connection, err, insert, "tt", pair->origin, text);
    return count;
}

/* From pair->theirs on. What a server drops is left to it: the rest goes on. */
static void send_records(struct pair *pair, struct hn_error *err)
{
    int64_t next = pair->theirs + send_lines(pair, pair->theirs, BATCH, err);
    json_auto_t *kept = hn_connection_read(
        pair->server->connection, err,
        "UPDATE hone.session s SET records = greatest(records, $3::bigint) WHERE origin = $1"
        " AND (SELECT count(*) FROM hone.record WHERE session_id = s.id AND position >="
        " $2::bigint AND position < $3::bigint) = $3::bigint - $2::bigint RETURNING id",
        "tii", pair->origin, pair->theirs, next);
    if (!hn_failed(err) && json_array_size(kept) == 0) {
        pair->server->unkept += pair->ours - pair->theirs;
        next = pair->ours;
    }
    pair->theirs = next;
}

/* Makes the session on the server where it is missing, and sends the records that it lacks. */
static void send_session(struct pair *pair, struct hn_error *err)
{
    look_up(pair, err);
    if (pair->theirs < 0) {
        send_head(pair, err);
        look_up(pair, err);
    }
    if (pair->theirs < 0 && !hn_failed(err))
        pair->server->unkept += pair->ours;
    while (!hn_failed(err) && pair->theirs >= 0 && pair->theirs < pair->ours)
        send_records(pair, err);
}

/* ours: the extent of the session in the cache file, NULL: it is not there. */
static struct pair pair_of(struct hn_server *server, struct hn_store *store, const char *origin,
                           const json_t *ours)
{
    return (struct pair){.server = server,
                         .store = store,
                         .origin = origin,
                         .id = integer_of(ours, "id"),
                         .ours = integer_of(ours, "records"),
                         .theirs = -1,
                         .our_rule = json_is_true(json_object_get(ours, "rule"))};
}

static void send_images(const struct pair *pair, struct hn_error *err)
{
    struct hn_store_image image;
    struct hn_store *store = pair->store;
    json_auto_t *rows = hn_connection_read(
        pair->server->connection, err,
        "SELECT s.subject, (SELECT json_object_agg(i.point, i.hash) FROM hone.image i WHERE"
        " i.subject = s.subject) AS images FROM hone.session s WHERE s.origin = $1",
        "t", pair->origin);
    const json_t *row = json_array_get(rows, 0);
    const json_t *known = json_object_get(row, "images");
    struct hn_statement *images = row == NULL ? NULL : hn_store_get_images(store, pair->id, err);
    while (hn_store_next_image(store, &images, &image, err)) {
        if (strcmp(text_of(known, image.point), image.hash) == 0)
            continue;
        const unsigned char *bytes = image.cubin;
        char *hex HN_FREED = hn_need(2 * image.size + 1, 1);
        for (size_t i = 0; i < image.size; i++)
            snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
        hn_connection_run(
            pair->server->connection, err,
            "INSERT INTO hone.image VALUES($1, $2, $3, decode($4, 'hex'), $5) ON CONFLICT"
            " (subject, point) DO UPDATE SET entry = excluded.entry, cubin = excluded.cubin,"
            " hash = excluded.hash",
            "ttttt", text_of(row, "subject"), image.point, image.entry, hex, image.hash);
    }
}

/* Those that the server has none of, or older ones. Nothing is written where nothing is new: a role
 * may have the right to read only. */
static void send_roofs(struct hn_server *server, struct hn_store *store, struct hn_error *err)
{
#define LACKING                                                                                    \
    "SELECT n.* FROM json_populate_recordset(NULL::hone.roof, $1::json) n WHERE NOT EXISTS"        \
    " (SELECT 1 FROM hone.roof r WHERE r.device = n.device AND r.driver = n.driver AND"            \
    " r.measured >= n.measured)"
    char *text HN_FREED = hn_needed(hn_json_text(hn_store_get_all_roofs(store, err), JSON_COMPACT));
    json_auto_t *lacking = hn_connection_read(server->connection, err, LACKING, "t", text);
    if (json_array_size(lacking) > 0)
        hn_connection_run(server->connection, err,
                          "INSERT INTO hone.roof AS r " LACKING
                          " ON CONFLICT (device, driver) DO UPDATE SET"
                          " measured = excluded.measured, json = excluded.json"
                          " WHERE r.measured < excluded.measured",
                          "t", text);
}

/* What the server has: "origin", "records" and "rule" (whether it has one) of each session. An
 * origin that is longer than any is found to be nobody's. */
static json_t *list_sessions(struct hn_connection *connection, const char *kernel,
                             struct hn_error *err)
{
    return hn_connection_read(
        connection, err,
        "SELECT left(s.origin, 257) AS origin, s.records, EXISTS(SELECT 1 FROM hone.record r WHERE"
        " r.session_id = s.id AND r.position = -1) AS rule FROM (SELECT id, origin, records"
        " FROM hone.session WHERE $1::text IS NULL OR kernel = $1 ORDER BY random()"
        " LIMIT " LOOK_MOST ") s",
        "t", kernel);
}

/* Everything that the server lacks. */
static void send_all(struct hn_server *server, struct hn_store *store, struct hn_error *err)
{
    const char *origin;
    json_t *ours;
    json_auto_t *all = hn_store_get_extents(store, 0, err);
    json_auto_t *rows = list_sessions(server->connection, NULL, err);
    json_auto_t *theirs = hn_needed(json_object());
    for (size_t i = 0; i < json_array_size(rows); i++)
        (void)json_object_set(theirs, text_of(json_array_get(rows, i), "origin"),
                              json_array_get(rows, i));
    server->unkept = hn_failed(err) ? server->unkept : 0;
    json_object_foreach(all, origin, ours)
    {
        struct pair pair = pair_of(server, store, origin, ours);
        const json_t *there = json_object_get(theirs, origin);
        bool own = pair.id > server->own_after;
        bool lacks = there == NULL || integer_of(there, "records") < pair.ours;
        bool lacks_rule = pair.our_rule && (own || !json_is_true(json_object_get(there, "rule")));
        if (hn_failed(err))
            break;
        if (lacks || lacks_rule)
            send_session(&pair, err);
        if (lacks_rule && pair.theirs >= 0)
            (void)send_lines(&pair, RULE, 1, err);
        if (lacks || own)
            send_images(&pair, err);
    }
    send_roofs(server, store, err);
}

/* The session itself, without its lines. */
static void fetch_head(const struct pair *pair, struct hn_error *err)
{
    struct hn_store_head head HN_ENDED_BY(hn_store_head_finish) = {.origin = NULL};
    json_auto_t *rows =
        hn_connection_read(pair->server->connection, err,
                           "SELECT json, checksum FROM hone.session WHERE origin = $1"
                           " AND octet_length(json) + octet_length(checksum) <= 262144",
                           "t", pair->origin);
    const json_t *row = json_array_get(rows, 0);
    const char *text = text_of(row, "json");
    bool whole = strcmp(checksum(pair->origin, HEAD, text).hex, text_of(row, "checksum")) == 0;
    hn_gate_expect(err, row != NULL, "its row is missing or too large");
    hn_gate_expect(err, whole, "its row is not what was written");
    if (!hn_failed(err) && hn_store_head_from_json(text, &head, err) == HN_OK)
        hn_gate_expect(err, strcmp(head.origin, pair->origin) == 0,
                       "its row is of another session");
    if (head.plan != NULL) { /* the hash of its text so far */
        json_auto_t *plans = hn_connection_read(
            pair->server->connection, err,
            "SELECT json FROM hone.plan WHERE hash = $1 AND octet_length(json) <= " MOST, "t",
            head.plan);
        char *plan = hn_need_copy(text_of(json_array_get(plans, 0), "json"));
        hn_gate_expect(err, strcmp(hn_hash_string(plan).hex, head.plan) == 0,
                       "its plan is missing, too large or not what was written");
        free(head.plan);
        head.plan = plan;
    }
    if (!hn_failed(err))
        (void)hn_store_add(pair->store, &head, err);
}

/* Fetches lines from `first` on, at most to `end`; returns how many. */
static int64_t fetch_lines(const struct pair *pair, int64_t first, int64_t end,
                           struct hn_error *err)
{
    json_auto_t *rows = hn_connection_read(
        pair->server->connection, err,
        /* No join: how many rows one gives a server without statistics guesses wrong. */
        "SELECT position, json, checksum FROM (SELECT position, json, checksum,"
        " sum(octet_length(json)::bigint + octet_length(checksum)) OVER (ORDER BY position) AS"
        " bytes FROM (SELECT position, json, checksum FROM hone.record WHERE session_id ="
        " (SELECT id FROM hone.session WHERE origin = $1) AND position >= $2::bigint AND"
        " position < $3::bigint ORDER BY position LIMIT 2000) r) r WHERE bytes <= " MOST
        " ORDER BY position",
        "tii", pair->origin, first, end);
    const size_t count = json_array_size(rows);
    const char **lines HN_FREED = hn_need(count, sizeof *lines);
    hn_gate_expect(err, count > 0, "a record is missing, or larger than " MOST " bytes");
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(rows, i);
        const int64_t position = first + (int64_t)i;
        lines[i] = text_of(row, "json");
        const struct hn_hash sum = checksum(pair->origin, position, lines[i]);
        hn_gate_expect(err, integer_of(row, "position") == position, "a record is missing");
        hn_gate_expect(err, strcmp(sum.hex, text_of(row, "checksum")) == 0,
                       "a record is not what was written");
    }
    if (!hn_failed(err))
        (void)hn_store_extend(pair->store, pair->origin, first, lines, count, err);
    return hn_failed(err) ? 0 : (int64_t)count;
}

/* What came of a call that fetches. */
struct fetched {
    int64_t sessions; /* of which there was something to fetch */
    int64_t refused;  /* sessions, images and roofs that were left out */
    bool left;        /* there is more, for the next call */
    char reason[512]; /* of the first of them */
};

/* HN_EFORMAT counts as refused: what was fetched is bad, and the rest goes on. */
static void count_refused(const struct hn_error *reason, struct fetched *fetched,
                          struct hn_error *err)
{
    if (hn_failed(reason) && reason->status != HN_EFORMAT)
        *err = *reason;
    else if (hn_failed(reason) && fetched->refused++ == 0)
        snprintf(fetched->reason, sizeof fetched->reason, "%.500s", reason->message);
}

static void fetch_session(struct pair *pair, struct fetched *fetched, struct hn_error *err)
{
    struct hn_error reason = {.status = HN_OK};
    bool lacks = pair->id == 0 || pair->ours < pair->theirs;
    if (pair->id == 0)
        fetch_head(pair, &reason);
    while (!hn_failed(&reason) && pair->ours < pair->theirs)
        pair->ours += fetch_lines(pair, pair->ours, pair->theirs, &reason);
    if (!hn_failed(&reason) && pair->their_rule && !pair->our_rule)
        (void)fetch_lines(pair, RULE, 0, &reason);
    fetched->sessions += lacks;
    const struct hn_error own = reason;
    if (own.status == HN_EFORMAT)
        hn_fail(&reason, HN_EFORMAT, "session '%.64s': %.1000s", pair->origin, own.message);
    count_refused(&reason, fetched, err);
}

static void take_image(struct hn_store *store, const json_t *row, struct hn_error *err)
{
    struct hn_bindings point HN_ENDED_BY(hn_bindings_finish) = {0};
    const char *entry = text_of(row, "entry"), *hex = text_of(row, "cubin");
    const size_t size = strlen(hex) / 2;
    unsigned char *bytes HN_FREED = hn_need(size, 1);
    /* The hash tells what is no hexadecimal number, too. */
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)strtoul((char[]){hex[2 * i], hex[2 * i + 1], '\0'}, NULL, 16);
    hn_gate_expect(err, hn_bindings_parse(text_of(row, "point"), &point, NULL) == HN_OK,
                   "the point of an image is not one");
    hn_gate_expect(err, strcmp(hn_hash_bytes(bytes, size).hex, text_of(row, "hash")) == 0,
                   "an image is too large or not what was written");
    hn_gate_line("the entry of an image", entry, HN_NAME_MOST, err);
    int64_t id = hn_store_find_session(store, text_of(row, "origin"), NULL, err);
    if (id != 0 && hn_store_put_image(store, id, &point, bytes, size, entry, err) == HN_OK)
        (void)hn_store_commit(store, err);
}

/* One at a time, as they may be large. */
static void fetch_images(struct hn_server *server, struct hn_store *store, const char *kernel,
                         double until_ms, struct fetched *fetched, struct hn_error *err)
{
    json_auto_t *places = hn_connection_read(
        server->connection, err,
        "SELECT i.subject, i.point, min(s.origin) AS origin FROM hone.image i JOIN hone.session s"
        " ON s.subject = i.subject WHERE ($1::text IS NULL OR s.kernel = $1) AND"
        " octet_length(i.subject) + octet_length(i.point) <= 4096 AND octet_length(s.origin) <= 256"
        " GROUP BY i.subject, i.point LIMIT 10000",
        "t", kernel);
    for (size_t i = 0; !hn_failed(err) && !fetched->left && i < json_array_size(places); i++) {
        struct hn_error reason = {.status = HN_OK};
        const json_t *place = json_array_get(places, i);
        json_auto_t *rows = hn_connection_read(
            server->connection, err,
            "SELECT point, left(entry, 4097) AS entry, left(hash, 33) AS hash, CASE WHEN"
            " octet_length(cubin) <= 4 * " MOST " THEN encode(cubin, 'hex') END AS cubin,"
            " $3::text AS origin FROM hone.image WHERE subject = $1 AND point = $2",
            "ttt", text_of(place, "subject"), text_of(place, "point"), text_of(place, "origin"));
        if (json_array_size(rows) == 1)
            take_image(store, json_array_get(rows, 0), &reason);
        count_refused(&reason, fetched, err);
        fetched->left = hn_now_ms() > until_ms;
    }
}

static void fetch_roofs(struct hn_server *server, struct hn_store *store, struct fetched *fetched,
                        struct hn_error *err)
{
    json_auto_t *rows =
        hn_connection_read(server->connection, err,
                           "SELECT left(device, 4096) AS device, left(json, 16384) AS"
                           " json FROM hone.roof ORDER BY random() LIMIT 500",
                           "");
    for (size_t i = 0; !hn_failed(err) && i < json_array_size(rows); i++) {
        struct hn_error reason = {.status = HN_OK};
        const json_t *row = json_array_get(rows, i);
        hn_store_add_roofs(store, text_of(row, "device"), text_of(row, "json"), &reason);
        count_refused(&reason, fetched, err);
    }
    fetched->left = fetched->left || json_array_size(rows) == ROOFS_MOST;
}

/* What arrives is as little trusted as a recording: what does not pass the gate is left out and
 * counted. No statement fetches much, and a call ends after 10,000 sessions or two minutes. */
static void fetch(struct hn_server *server, struct hn_store *store, const char *kernel, bool images,
                  struct fetched *fetched, struct hn_error *err)
{
    const double begin_ms = hn_now_ms();
    json_auto_t *own = hn_store_get_extents(store, 0, err);
    json_auto_t *theirs = list_sessions(server->connection, kernel, err);
    /* They come in any order, so that bad ones do not stand before the good ones each time. */
    const size_t count = json_array_size(theirs);
    for (size_t i = 0; !hn_failed(err) && !fetched->left && i < count; i++) {
        const json_t *row = json_array_get(theirs, i);
        const char *origin = text_of(row, "origin");
        struct pair pair = pair_of(server, store, origin, json_object_get(own, origin));
        pair.theirs = integer_of(row, "records");
        pair.their_rule = json_is_true(json_object_get(row, "rule"));
        fetch_session(&pair, fetched, err);
        fetched->left = fetched->sessions > SESSIONS_MOST || hn_now_ms() > begin_ms + most_ms;
    }
    fetched->left = fetched->left || count == LOOKED_AT_MOST;
    if (images)
        fetch_images(server, store, kernel, begin_ms + most_ms, fetched, err);
    fetch_roofs(server, store, fetched, err);
}

void hn_server_sync(struct hn_server *server, struct hn_store *store, const char *kernel,
                    bool images, struct hn_error *err)
{
    struct fetched fetched = {.sessions = 0};
    if (hn_failed(err))
        return;
    pthread_mutex_lock(&server->lock);
    if (server->connection != NULL) {
        hn_connection_set_patience(server->connection, patience_ms);
        send_all(server, store, err);
        fetch(server, store, kernel, images, &fetched, err);
    }
    if (hn_failed(err) && server->follows) {
        drop(server, err);
        hn_error_init(err);
    }
    if (server->connection != NULL)
        hn_connection_set_patience(server->connection, short_patience_ms);
    pthread_mutex_unlock(&server->lock);
    if (!hn_failed(err) && fetched.refused > 0)
        fprintf(stderr, "hone: warning: %s: %lld row%s cannot be used and %s left out: %s\n",
                server->name, (long long)fetched.refused, hn_plural((uint64_t)fetched.refused),
                fetched.refused == 1 ? "is" : "are", fetched.reason);
    if (!hn_failed(err) && fetched.left)
        fprintf(stderr,
                "hone: warning: %s: there is more than one command fetches; the next ones go on\n",
                server->name);
}

/* Whether another has it, or finished it since this tuner is there. */
static enum hn_claim_state look(const struct hn_server *server, const struct hn_server_claim *claim,
                                struct hn_claim_holder *holder, struct hn_error *err)
{
    const char *machine = "";
    int done = 0;
    json_auto_t *rows = hn_connection_read(
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
    return !found ? HN_CLAIM_OWN : done != 0 ? HN_CLAIM_DONE : HN_CLAIM_TAKEN;
}

/* False when the lease had ended and another took it; else it is one's own again. */
static bool renew(const struct hn_server *server, const struct hn_server_claim *claim,
                  struct hn_error *err)
{
    json_auto_t *rows = hn_connection_read(
        server->connection, err,
        "INSERT INTO hone.claim AS c VALUES($1, $2, $3, $4, $5, $6, now(), " LEASE ", NULL)"
        " ON CONFLICT (subject) DO UPDATE SET machine = excluded.machine, owner = excluded.owner,"
        " since = excluded.since, until = excluded.until, finished = NULL"
        " WHERE c.until < now() OR c.until > " LONGEST " OR c.finished IS NOT NULL"
        " OR c.owner = excluded.owner"
        " RETURNING 1 AS own",
        "tttttt", claim->hash.hex, claim->subject.kernel, claim->subject.problem, claim->device,
        server->machine, server->tuner);
    return json_array_size(rows) > 0;
}

/* Records of sessions that got one after the last that was looked at, or everything that the server
 * lacks. */
static void send_news(struct hn_server *server, bool everything, struct hn_error *err)
{
    const int64_t last = hn_store_last_record(server->outgoing, NULL, err);
    const char *origin;
    json_t *ours, *all = NULL;
    if (hn_failed(err))
        return;
    if (everything)
        send_all(server, server->outgoing, err);
    else if (last > server->sent)
        all = hn_store_get_extents(server->outgoing, server->sent, err);
    json_object_foreach(all, origin, ours)
    {
        struct pair pair = pair_of(server, server->outgoing, origin, ours);
        send_session(&pair, err);
    }
    json_decref(all);
    if (!hn_failed(err)) {
        server->sent = last;
        server->pause_ms = first_pause_ms;
    }
}

/* What the thread does at each of its turns; `last`: its last one. */
static void take_turn(struct hn_server *server, bool last)
{
    struct hn_error reason = {.status = HN_OK};
    struct hn_server_claim *at;
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
    if (!hn_failed(&reason) && (back || hn_now_ms() - server->renewed_ms >= RENEW_MS)) {
        LIST_FOREACH(at, &server->claims, next) {
            bool held = renew(server, at, &reason);
            at->held = at->held && (held || hn_failed(&reason));
        }
        server->renewed_ms = hn_now_ms();
    }
    if (hn_failed(&reason))
        drop(server, &reason);
}

/* Until so long has passed or it is to stop, which is returned; and, where it is waited for, until
 * there is news. */
static bool wait_for(struct hn_server *server, bool news, double ms)
{
    struct pollfd places[] = {{.fd = server->stops, .events = POLLIN},
                              {.fd = server->news, .events = POLLIN}};
    poll(places, news ? 2 : 1, (int)ms);
    if (news)
        hn_event_clear(server->news);
    return places[0].revents != 0;
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

/* From now on sends what is committed to the copy, each time that it is told of it. */
static void begin_following(struct hn_server *server, struct hn_error *err)
{
    if (hn_store_open(server->copy, HN_STORE_READ, &server->outgoing, err) == HN_OK)
        server->sent = hn_store_last_record(server->outgoing, &server->own_after, err);
    if (hn_failed(err))
        return;
    server->renewed_ms = hn_now_ms();
    server->follows = hn_thread_start(&server->thread, follow, server, err);
}

void hn_server_tell(void *own)
{
    const struct hn_server *server = own;
    hn_event_signal(server->news);
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

enum hn_claim_state hn_server_claim(struct hn_server *server, const struct hn_identity *identity,
                                    const struct hn_version *version, bool again,
                                    struct hn_server_claim **claim, struct hn_claim_holder *holder)
{
    struct hn_error reason = {.status = HN_OK};
    struct hn_server_claim *made = hn_need(1, sizeof *made);
    enum hn_claim_state state = HN_CLAIM_OWN;
    made->held = true;
    hn_subject_make(&made->subject, identity, version, &reason);
    (void)hn_needed(made->subject.task);
    made->hash = hash_subject(&made->subject);
    snprintf(made->device, sizeof made->device, "%s", identity->device.name);
    pthread_mutex_lock(&server->lock);
    *claim = LIST_FIRST(&server->claims);
    while (*claim != NULL && strcmp((*claim)->hash.hex, made->hash.hex) != 0)
        *claim = LIST_NEXT(*claim, next);
    if (*claim == NULL && server->connection != NULL)
        state = claim_now(server, made, again, holder, &reason);
    if (hn_failed(&reason)) {
        drop(server, &reason);
        state = HN_CLAIM_OWN;
    }
    if (*claim == NULL && state == HN_CLAIM_OWN) {
        LIST_INSERT_HEAD(&server->claims, made, next);
        *claim = made;
    } else {
        free_claim(made);
    }
    pthread_mutex_unlock(&server->lock);
    return state;
}

bool hn_server_release(struct hn_server *server, struct hn_server_claim *claim, bool finished)
{
    struct hn_error reason = {.status = HN_OK};
    pthread_mutex_lock(&server->lock);
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
    LIST_REMOVE(claim, next);
    bool held = claim->held;
    free_claim(claim);
    pthread_mutex_unlock(&server->lock);
    return held;
}

/* Says how it went. waiting: records that are in the copy alone. */
static void tell_end(const struct hn_server *server, int64_t waiting)
{
    if (waiting > 0)
        fprintf(stderr,
                "hone: warning: the cache's server is away (%s): %lld record%s in '%s' alone, "
                "until a hone opens this cache here again\n",
                server->reason, (long long)waiting, waiting == 1 ? " is" : "s are", server->copy);
    else if (server->losses > 0)
        fprintf(stderr,
                "hone: warning: the connection to the cache's server was lost %d time%s (%s); all "
                "records were sent\n",
                server->losses, server->losses == 1 ? "" : "s", server->reason);
    if (server->unkept > 0)
        fprintf(stderr,
                "hone: warning: %s: %lld record%s sent and not kept: does a trigger, rule or "
                "policy there drop rows? They are in '%s' alone\n",
                server->name, (long long)server->unkept, server->unkept == 1 ? " was" : "s were",
                server->copy);
}

void hn_server_close(void *own)
{
    struct hn_server *server = own;
    int64_t waiting = 0;
    if (server->follows) {
        hn_event_signal(server->stops);
        pthread_join(server->thread, NULL);
        double until_ms = hn_now_ms() + end_ms;
        take_turn(server, true);
        /* Some tries more where the server is away. */
        while (server->connection == NULL && hn_now_ms() < until_ms) {
            nanosleep(&(struct timespec){.tv_nsec = TICK_MS * 1000000L / 2}, NULL);
            take_turn(server, true);
        }
        struct hn_error ignored = {.status = HN_OK};
        const int64_t last = hn_store_last_record(server->outgoing, NULL, &ignored);
        if (server->connection == NULL && !hn_failed(&ignored))
            waiting = last - server->sent;
    }
    while (!LIST_EMPTY(&server->claims))
        hn_server_release(server, LIST_FIRST(&server->claims), false);
    tell_end(server, waiting);
    hn_store_close(server->outgoing);
    hn_connection_close(server->connection);
    close(server->news);
    close(server->stops);
    pthread_mutex_destroy(&server->lock);
    free(server->uri);
    free(server->name);
    free(server->copy);
    free(server);
}

static struct hn_server *connect_to(const char *uri, struct hn_error *err)
{
    char id[33] = "";
    const char *now = "", *name = "";
    struct hn_text copy = {0};
    struct hn_server *own = hn_need(1, sizeof *own);
    pthread_mutex_init(&own->lock, NULL);
    own->news = hn_event_make(err);
    own->stops = hn_event_make(err);
    own->pause_ms = first_pause_ms;
    own->own_after = INT64_MAX;
    own->uri = hn_need_copy(uri);
    own->name = hn_server_name(uri);
    own->connection = hn_connection_open(own->uri, own->name, true, connect_ms, err);
    if (own->connection != NULL)
        hn_connection_set_patience(own->connection, patience_ms);
    hn_tables_open(own->connection, id, err);
    /* Draws a name for this tuner. */
    json_auto_t *rows = hn_connection_read(
        own->connection, err,
        "SELECT now()::text AS now, replace(gen_random_uuid()::text, '-', '') AS name", "");
    (void)json_unpack(json_array_get(rows, 0), "{s:s, s:s}", "now", &now, "name", &name);
    snprintf(own->tuner, sizeof own->tuner, "%s", name);
    snprintf(own->since, sizeof own->since, "%s", now);
    /* In the user's folder, and of this host alone, since hosts may share that folder. */
    (void)gethostname(own->machine, sizeof own->machine - 1);
    const struct hn_hash place = hn_hash_string(own->machine);
    hn_cache_folder_append(&copy);
    hn_text_printf(&copy, "/postgresql-%.12s-%.8s.db", id, place.hex);
    own->copy = hn_needed(hn_text_take(&copy));
    return own;
}

/* A copy that is only read needs the server no longer. */
struct hn_store *hn_server_open(const char *uri, enum hn_store_mode mode, const char *kernel,
                                bool images, struct hn_server **server, struct hn_error *err)
{
    struct hn_store *store = NULL;
    struct hn_server *own = connect_to(uri, err);
    if (!hn_failed(err) && hn_store_open(own->copy, HN_STORE_WRITE, &store, err) == HN_OK)
        hn_server_sync(own, store, kernel, images, err);
    if (!hn_failed(err) && mode == HN_STORE_WRITE)
        begin_following(own, err);
    if (!hn_failed(err) && mode == HN_STORE_READ) {
        hn_store_close(store);
        if (hn_store_open(own->copy, mode, &store, err) == HN_OK)
            hn_store_set_name(store, own->name, err);
    }
    *server = own->follows ? own : NULL;
    if (!own->follows)
        hn_server_close(own);
    return store;
}
