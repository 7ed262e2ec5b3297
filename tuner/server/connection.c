/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/text.h"
#include "cache/record/gate.h"
#include "runtime/device/library.h"
#include "tuner/server/server_internal.h"

/* PostgreSQL's client library, loaded when it is needed. Its header is not: what is used of it is
 * declared here, as PostgreSQL's documentation has it
 * (https://www.postgresql.org/docs/current/libpq.html). */
struct pg_conn;
struct pg_result;
struct hn_pq_option { /* PQconninfoOption; value is NULL where the URI does not set it */
    const char *keyword, *variable, *compiled, *value, *label, *shown_as;
    int shown_size;
};

/* Values of its enums that are part of its ABI. */
enum {
    HN_PQ_POLLING_FAILED = 0,
    HN_PQ_POLLING_READING = 1,
    HN_PQ_POLLING_WRITING = 2,
    HN_PQ_POLLING_OK = 3
};
enum { HN_PQ_COMMAND_OK = 1, HN_PQ_TUPLES_OK = 2 };

/* X(result, name, arguments) */
#define HN_LIBPQ_FUNCTIONS(X)                                                                      \
    X(struct pg_conn *, PQconnectStartParams,                                                      \
      (const char *const *names, const char *const *values, int expand))                           \
    X(struct hn_pq_option *, PQconninfoParse, (const char *uri, char **message))                   \
    X(void, PQconninfoFree, (struct hn_pq_option *))                                               \
    X(int, PQconnectPoll, (struct pg_conn *))                                                      \
    X(int, PQstatus, (const struct pg_conn *))                                                     \
    X(int, PQsocket, (const struct pg_conn *))                                                     \
    X(char *, PQerrorMessage, (const struct pg_conn *))                                            \
    X(void, PQfinish, (struct pg_conn *))                                                          \
    X(int, PQsetnonblocking, (struct pg_conn *, int on))                                           \
    X(int, PQsendQueryParams,                                                                      \
      (struct pg_conn *, const char *sql, int count, const unsigned *types,                        \
       const char *const *values, const int *lengths, const int *formats, int format))             \
    X(int, PQflush, (struct pg_conn *))                                                            \
    X(int, PQconsumeInput, (struct pg_conn *))                                                     \
    X(int, PQisBusy, (struct pg_conn *))                                                           \
    X(struct pg_result *, PQgetResult, (struct pg_conn *))                                         \
    X(int, PQresultStatus, (const struct pg_result *))                                             \
    X(char *, PQresultErrorMessage, (const struct pg_result *))                                    \
    X(int, PQntuples, (const struct pg_result *))                                                  \
    X(char *, PQgetvalue, (const struct pg_result *, int row, int column))                         \
    X(int, PQgetlength, (const struct pg_result *, int row, int column))                           \
    X(void, PQclear, (struct pg_result *))                                                         \
    X(void *, PQsetNoticeReceiver,                                                                 \
      (struct pg_conn *, void (*receive)(void *context, const struct pg_result *), void *context))

struct hn_libpq {
    void *library;
#define X(result, name, arguments) result(*name) arguments;
    HN_LIBPQ_FUNCTIONS(X)
#undef X
};

static void open_libpq(struct hn_libpq *pq, struct hn_error *err)
{
    static const char *const names[] = {"libpq.so.5"};
    *pq = (struct hn_libpq){.library = NULL};
    const struct hn_symbol symbols[] = {
#define X(result, name, arguments) {#name, (void *)&pq->name, false},
        HN_LIBPQ_FUNCTIONS(X)
#undef X
    };
    struct hn_error reason;
    if (hn_library_open(names, 1, symbols, sizeof symbols / sizeof *symbols, &pq->library,
                        &reason) != HN_OK)
        hn_fail(err, HN_ERUN,
                "a cache in PostgreSQL needs its client library: %.3000s; install it (Debian: "
                "apt-get install libpq5), or use a cache file",
                reason.message);
}

/* All that is shown. A password with one of the URI's own signs in it is cut there, and its rest
 * taken for a host, a port or a database: then one of them has a sign that none needs. */
#define WORD "-_.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
enum { USER, HOST, PORT, DBNAME, SHOWN };
static const struct {
    const char *keyword;
    const char *signs;
} shown[SHOWN] = {{"user", WORD}, {"host", WORD ",:/"}, {"port", "0123456789,"}, {"dbname", WORD}};

char *hn_server_name(const char *uri)
{
    struct hn_libpq pq;
    struct hn_text text = {0};
    struct hn_error err = {.status = HN_OK};
    const char *parts[SHOWN] = {"", "", "", ""};
    open_libpq(&pq, &err);
    struct hn_pq_option *const options = hn_failed(&err) ? NULL : pq.PQconninfoParse(uri, NULL);
    bool told = options != NULL; /* what is a password and what is none */
    for (const struct hn_pq_option *at = options; told && at->keyword != NULL; at++)
        for (int i = 0; at->value != NULL && i < SHOWN; i++)
            if (strcmp(at->keyword, shown[i].keyword) == 0) {
                parts[i] = at->value;
                told = told && parts[i][strspn(parts[i], shown[i].signs)] == '\0';
            }
    /* Sockets, several hosts and IPv6 are legible as options only. */
    bool apart = strpbrk(parts[HOST], "/:,") != NULL;
    const char *host = apart ? "" : parts[HOST], *port = apart ? "" : parts[PORT];
    if (!told)
        hn_text_append(&text, HN_SERVER_HIDDEN);
    else
        hn_text_printf(&text, "postgresql://%s%s%s%s%s/%s", parts[USER],
                       *parts[USER] != '\0' ? "@" : "", host, *port != '\0' ? ":" : "", port,
                       parts[DBNAME]);
    if (told && apart)
        hn_text_printf(&text, "?host=%s%s%s", parts[HOST], *parts[PORT] != '\0' ? "&port=" : "",
                       parts[PORT]);
    if (options != NULL)
        pq.PQconninfoFree(options);
    hn_library_close(pq.library);
    return hn_needed(hn_text_take(&text));
}

struct hn_connection {
    struct hn_libpq pq;
    struct pg_conn *handle;
    const char *name;
    double patience_ms;
    double deadline_ms; /* of what is under way */
};

/* The first line of what the server says. */
static void fail_server(const struct hn_connection *connection, const char *said,
                        struct hn_error *err)
{
    static const char *const beginnings[] = {"ERROR:  ", "FATAL:  "};
    for (size_t i = 0; i < 2; i++)
        if (strncmp(said, beginnings[i], strlen(beginnings[i])) == 0)
            said += strlen(beginnings[i]);
    if (strcmp(connection->name, HN_SERVER_HIDDEN) == 0)
        said = "its password cannot be told apart, so nothing is shown of either: write / : ? # @ "
               "% in names and passwords as %2F %3A %3F %23 %40 %25";
    size_t length = strcspn(said, "\r\n");
    hn_fail(err, HN_ERUN, "%s: %.*s", connection->name, (int)(length < 2000 ? length : 2000),
            length > 0 ? said : "the connection was closed");
}

static void fail_handle(const struct hn_connection *connection, struct hn_error *err)
{
    fail_server(connection, connection->pq.PQerrorMessage(connection->handle), err);
}

/* Until one of the events (of poll) is there. */
static void wait_for(const struct hn_connection *connection, short events, struct hn_error *err)
{
    for (int found = 0; found <= 0 && !hn_failed(err);) {
        struct pollfd place = {connection->pq.PQsocket(connection->handle), events, 0};
        double left_ms = connection->deadline_ms - hn_now_ms();
        found = left_ms > 0 ? poll(&place, 1, (int)left_ms + 1) : 0;
        if (left_ms <= 0)
            hn_fail(err, HN_ERUN, "%s: no answer in %.0f s", connection->name,
                    connection->patience_ms / 1000);
        else if (found < 0 && errno != EINTR)
            hn_fail(err, HN_ERUN, "%s: %s", connection->name, strerror(errno));
    }
}

static const char unreachable[] =
    "the cache cannot be reached: %.3000s; is the server up, and the URI right? A cache file "
    "(--cache FILE) needs none";

/* A notice is nothing that a user has to read. */
static void ignore_notice(void *context, const struct pg_result *result)
{
    (void)context;
    (void)result;
}

static void start(struct hn_connection *connection, const char *uri, struct hn_error *err)
{
    const struct hn_libpq *pq = &connection->pq;
    /* Those before the URI are what it may say otherwise. */
    static const char *const names[] = {"fallback_application_name", "keepalives_idle", "dbname",
                                        "client_encoding", NULL};
    const char *const values[] = {"hone", "20", uri, "UTF8", NULL};
    connection->handle = hn_needed(pq->PQconnectStartParams(names, values, 1));
    connection->deadline_ms = hn_now_ms() + connection->patience_ms;
    /* 1: CONNECTION_BAD, before anything was tried */
    int wanted =
        pq->PQstatus(connection->handle) == 1 ? HN_PQ_POLLING_FAILED : HN_PQ_POLLING_WRITING;
    while (!hn_failed(err) && wanted != HN_PQ_POLLING_OK && wanted != HN_PQ_POLLING_FAILED) {
        wait_for(connection, wanted == HN_PQ_POLLING_READING ? POLLIN : POLLOUT, err);
        wanted = hn_failed(err) ? wanted : pq->PQconnectPoll(connection->handle);
    }
    if (hn_failed(err))
        return;
    pq->PQsetNoticeReceiver(connection->handle, ignore_notice, NULL);
    if (wanted == HN_PQ_POLLING_FAILED || pq->PQsetnonblocking(connection->handle, 1) != 0)
        fail_handle(connection, err);
}

struct hn_connection *hn_connection_open(const char *uri, const char *name, bool first,
                                         double patience_ms, struct hn_error *err)
{
    struct hn_error reason = {.status = HN_OK};
    if (hn_failed(err))
        return NULL;
    struct hn_connection *own = hn_need(1, sizeof *own);
    own->patience_ms = patience_ms;
    own->name = name;
    open_libpq(&own->pq, err);
    if (!hn_failed(err))
        start(own, uri, &reason);
    /* Before all else: no name is looked up where others can make functions and operators. */
    if (!hn_failed(err))
        hn_connection_run(own, &reason,
                          "SELECT pg_catalog.set_config('search_path', '', false),"
                          " pg_catalog.set_config('statement_timeout', '60s', false)",
                          "");
    if (hn_failed(&reason))
        hn_fail(err, reason.status, first ? unreachable : "%.3000s", reason.message);
    if (!hn_failed(err))
        return own;
    hn_connection_close(own);
    return NULL;
}

void hn_connection_close(struct hn_connection *connection)
{
    if (connection == NULL)
        return;
    if (connection->handle != NULL)
        connection->pq.PQfinish(connection->handle);
    hn_library_close(connection->pq.library);
    free(connection);
}

void hn_connection_set_patience(struct hn_connection *connection, double patience_ms)
{
    connection->patience_ms = patience_ms;
}

/* What is sent is large at times, and a server that does not read must not hold us up. */
static void send_query(struct hn_connection *connection, const char *sql, const char *const *values,
                       size_t count, struct hn_error *err)
{
    const struct hn_libpq *pq = &connection->pq;
    if (pq->PQsendQueryParams(connection->handle, sql, (int)count, NULL, values, NULL, NULL, 0) ==
        0)
        fail_handle(connection, err);
    while (!hn_failed(err)) {
        int left = pq->PQflush(connection->handle);
        if (left == 0)
            return;
        if (left > 0)
            wait_for(connection, POLLIN | POLLOUT, err);
        if (!hn_failed(err) && (left < 0 || pq->PQconsumeInput(connection->handle) == 0))
            fail_handle(connection, err);
    }
}

/* NULL at the end of results. */
static struct pg_result *receive(struct hn_connection *connection, struct hn_error *err)
{
    const struct hn_libpq *pq = &connection->pq;
    while (!hn_failed(err) && pq->PQisBusy(connection->handle) != 0) {
        wait_for(connection, POLLIN, err);
        if (!hn_failed(err) && pq->PQconsumeInput(connection->handle) == 0)
            fail_handle(connection, err);
    }
    return hn_failed(err) ? NULL : pq->PQgetResult(connection->handle);
}

/* The result of the one statement, to be cleared also after a failure; the end of results is read,
 * too. */
static struct pg_result *ask(struct hn_connection *connection, const char *sql, const char *kinds,
                             va_list given, struct hn_error *err)
{
    enum { VALUES_MOST = 8 };
    const char *values[VALUES_MOST] = {NULL};
    char numbers[VALUES_MOST][24];
    size_t count = strlen(kinds);
    if (hn_failed(err))
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (kinds[i] == 't') {
            values[i] = va_arg(given, const char *);
        } else {
            snprintf(numbers[i], sizeof *numbers, "%lld", (long long)va_arg(given, int64_t));
            values[i] = numbers[i];
        }
    const struct hn_libpq *pq = &connection->pq;
    connection->deadline_ms = hn_now_ms() + connection->patience_ms;
    send_query(connection, sql, values, count, err);
    struct pg_result *result = receive(connection, err);
    if (result == NULL && !hn_failed(err))
        fail_handle(connection, err);
    pq->PQclear(receive(connection, err));
    int code = hn_failed(err) ? HN_PQ_COMMAND_OK : pq->PQresultStatus(result);
    if (code != HN_PQ_COMMAND_OK && code != HN_PQ_TUPLES_OK)
        fail_server(connection, pq->PQresultErrorMessage(result), err);
    return result;
}

void hn_connection_run(struct hn_connection *connection, struct hn_error *err, const char *sql,
                       const char *kinds, ...)
{
    va_list values;
    va_start(values, kinds);
    struct pg_result *result = ask(connection, sql, kinds, values, err);
    va_end(values);
    if (result != NULL)
        connection->pq.PQclear(result);
}

static json_t *parse(const struct hn_connection *connection, const struct pg_result *result,
                     struct hn_error *err)
{
    const struct hn_libpq *pq = &connection->pq;
    struct hn_error reason = {.status = HN_OK};
    json_error_t place = {.text = ""};
    int count = pq->PQntuples(result);
    hn_gate_expect(err, count == 1, "%s: found %d answers, expected one", connection->name, count);
    if (hn_failed(err))
        return NULL;
    const char *text = pq->PQgetvalue(result, 0, 0);
    size_t size = (size_t)pq->PQgetlength(result, 0, 0);
    hn_gate_json(text, size, &reason);
    hn_gate_expect(err, !hn_failed(&reason), "%s: %.2000s", connection->name, reason.message);
    json_t *rows = hn_failed(err) ? NULL : json_loadb(text, size, 0, &place);
    hn_gate_expect(err, json_is_array(rows), "%s: an answer is no list of rows: %s",
                   connection->name, place.text);
    if (!hn_failed(err))
        return rows;
    json_decref(rows);
    return NULL;
}

json_t *hn_connection_read(struct hn_connection *connection, struct hn_error *err, const char *sql,
                           const char *kinds, ...)
{
    struct hn_text whole HN_ENDED_BY(hn_text_finish) = {0};
    va_list values;
    hn_text_printf(&whole, "WITH x AS (%s) SELECT coalesce(json_agg(x), '[]'::json) FROM x", sql);
    va_start(values, kinds);
    struct pg_result *result = ask(connection, hn_needed(whole.data), kinds, values, err);
    va_end(values);
    json_t *rows = hn_failed(err) ? NULL : parse(connection, result, err);
    if (result != NULL)
        connection->pq.PQclear(result);
    return rows;
}

enum { FORMAT = 2 }; /* in hn_tables_open(), too */

/* Whether the tables are there; a failure where others could have their code run there. */
static bool look_at_tables(struct hn_connection *connection, struct hn_error *err)
{
    json_auto_t *rows = hn_connection_read(connection, err, hn_server_stranger, "");
    const json_t *row = json_array_get(rows, 0);
    const char *stranger = json_string_value(json_object_get(row, "stranger"));
    bool there = json_is_true(json_object_get(row, "there"));
    if (stranger != NULL)
        hn_fail(err, HN_EFORMAT,
                "%s: %.200s, whose code would run with your rights: you, the database's "
                "owner or a superuser is to own it, and nobody else to have such a right",
                connection->name, stranger);
    return there;
}

void hn_tables_open(struct hn_connection *connection, char id[33], struct hn_error *err)
{
    int version = 0;
    const char *text = "";
    if (!look_at_tables(connection, err)) {
        hn_connection_run(connection, err, "BEGIN", "");
        hn_connection_run(connection, err, hn_server_tables, "");
        (void)look_at_tables(connection, err);
        hn_connection_run(connection, err,
                          "INSERT INTO hone.format SELECT 2,"
                          " replace(gen_random_uuid()::text, '-', '')"
                          " WHERE NOT EXISTS (SELECT 1 FROM hone.format)",
                          "");
        hn_connection_run(connection, err, "COMMIT", "");
    }
    json_auto_t *rows = hn_connection_read(
        connection, err, "SELECT version, left(id, 33) AS id FROM hone.format LIMIT 1", "");
    (void)json_unpack(json_array_get(rows, 0), "{s:i, s:s}", "version", &version, "id", &text);
    if (!hn_failed(err) && version != FORMAT)
        hn_fail(err, HN_EFORMAT, "%s has tables of format %d, this Hone knows %d: use %s",
                connection->name, version, FORMAT,
                version > FORMAT ? "the newer Hone" : "another database");
    hn_gate_hash("the id of the server's tables", text, err);
    snprintf(id, 33, "%.32s", text);
}
