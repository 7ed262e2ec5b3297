/* SPDX-License-Identifier: MIT */
#include "tuner/server/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/run.h"
#include "base/text.h"
#include "cache/record/gate.h"

struct hn_connection {
    const struct hn_libpq *pq;
    struct pg_conn *handle;
    char *name;
    double patience_ms;
    double deadline_ms; /* of what is under way */
};

/* The first line of what the server says. */
static enum hn_status fail_server(const struct hn_connection *connection, const char *said,
                                  struct hn_error *err)
{
    static const char *const beginnings[] = {"ERROR:  ", "FATAL:  "};
    for (size_t i = 0; i < 2; i++)
        if (strncmp(said, beginnings[i], strlen(beginnings[i])) == 0)
            said += strlen(beginnings[i]);
    if (strcmp(connection->name, HN_SERVER_HIDDEN) == 0)
        said = "its password can not be told apart, so nothing is shown of either: write / : ? # @ "
               "% in names and passwords as %2F %3A %3F %23 %40 %25";
    size_t length = strcspn(said, "\r\n");
    return hn_fail(err, HN_ERUN, "%s: %.*s", connection->name, (int)(length < 2000 ? length : 2000),
                   length > 0 ? said : "the connection was closed");
}

static enum hn_status fail_handle(const struct hn_connection *connection, struct hn_error *err)
{
    return fail_server(connection, connection->pq->PQerrorMessage(connection->handle), err);
}

/* Until one of the events (of poll) is there. */
static enum hn_status wait_for(const struct hn_connection *connection, short events,
                               struct hn_error *err)
{
    for (;;) {
        struct pollfd place = {connection->pq->PQsocket(connection->handle), events, 0};
        double left_ms = connection->deadline_ms - hn_now_ms();
        if (left_ms <= 0)
            return hn_fail(err, HN_ERUN, "%s: no answer in %.0f s", connection->name,
                           connection->patience_ms / 1000);
        int found = poll(&place, 1, (int)left_ms + 1);
        if (found > 0)
            return HN_OK;
        if (found < 0 && errno != EINTR)
            return hn_fail(err, HN_ERUN, "%s: %s", connection->name, strerror(errno));
    }
}

static enum hn_status connect_in_time(struct hn_connection *connection, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    int wanted = HN_PQ_POLLING_WRITING;
    connection->deadline_ms = hn_now_ms() + connection->patience_ms;
    while (status == HN_OK && wanted != HN_PQ_POLLING_OK) {
        if (wanted == HN_PQ_POLLING_FAILED)
            return fail_handle(connection, err);
        status = wait_for(connection, wanted == HN_PQ_POLLING_READING ? POLLIN : POLLOUT, err);
        if (status == HN_OK)
            wanted = connection->pq->PQconnectPoll(connection->handle);
    }
    return status;
}

/* A notice is nothing that a user has to read. */
static void ignore_notice(void *context, const struct pg_result *result)
{
    (void)context;
    (void)result;
}

static enum hn_status start(struct hn_connection *connection, const char *uri, struct hn_error *err)
{
    const struct hn_libpq *pq = connection->pq;
    /* Those before the URI are what it may say otherwise. */
    static const char *const names[] = {"fallback_application_name", "keepalives_idle", "dbname",
                                        "client_encoding", NULL};
    const char *const values[] = {"hone", "20", uri, "UTF8", NULL};
    connection->handle = pq->PQconnectStartParams(names, values, 1);
    if (connection->handle == NULL)
        return hn_fail_memory(err);
    /* 1: CONNECTION_BAD, before anything was tried */
    if (pq->PQstatus(connection->handle) == 1)
        return fail_handle(connection, err);
    enum hn_status status = connect_in_time(connection, err);
    if (status != HN_OK)
        return status;
    pq->PQsetNoticeReceiver(connection->handle, ignore_notice, NULL);
    return pq->PQsetnonblocking(connection->handle, 1) == 0 ? HN_OK : fail_handle(connection, err);
}

enum hn_status hn_connection_open(const struct hn_address *address, double patience_ms,
                                  struct hn_connection **connection, struct hn_error *err)
{
    *connection = NULL;
    struct hn_connection *own = calloc(1, sizeof *own);
    if (own == NULL)
        return hn_fail_memory(err);
    own->pq = address->pq;
    own->patience_ms = patience_ms;
    own->name = strdup(address->name);
    enum hn_status status = own->name == NULL ? hn_fail_memory(err) : start(own, address->uri, err);
    /* Before all else: no name is looked up where others can make functions and operators. Doubles
     * are written so that they read back as the same, with servers before 12 too. */
    if (status == HN_OK)
        status = hn_connection_run(own,
                                   "SELECT pg_catalog.set_config('search_path', '', false),"
                                   " pg_catalog.set_config('statement_timeout', '60s', false),"
                                   " pg_catalog.set_config('extra_float_digits', '3', false)",
                                   NULL, 0, err);
    if (status == HN_OK)
        *connection = own;
    else
        hn_connection_close(own);
    return status;
}

void hn_connection_close(struct hn_connection *connection)
{
    if (connection == NULL)
        return;
    if (connection->handle != NULL)
        connection->pq->PQfinish(connection->handle);
    free(connection->name);
    free(connection);
}

void hn_connection_set_patience(struct hn_connection *connection, double patience_ms)
{
    connection->patience_ms = patience_ms;
}

/* What is sent is large at times, and a server that does not read must not hold us up. */
static enum hn_status send_all(struct hn_connection *connection, const char *sql,
                               const char *const *values, size_t count, struct hn_error *err)
{
    const struct hn_libpq *pq = connection->pq;
    if (pq->PQsendQueryParams(connection->handle, sql, (int)count, NULL, values, NULL, NULL, 0) ==
        0)
        return fail_handle(connection, err);
    for (;;) {
        int left = pq->PQflush(connection->handle);
        if (left == 0)
            return HN_OK;
        enum hn_status status =
            left < 0 ? fail_handle(connection, err) : wait_for(connection, POLLIN | POLLOUT, err);
        if (status != HN_OK)
            return status;
        if (pq->PQconsumeInput(connection->handle) == 0)
            return fail_handle(connection, err);
    }
}

static enum hn_status receive(struct hn_connection *connection, struct pg_result **result,
                              struct hn_error *err)
{
    const struct hn_libpq *pq = connection->pq;
    while (pq->PQisBusy(connection->handle) != 0) {
        enum hn_status status = wait_for(connection, POLLIN, err);
        if (status != HN_OK)
            return status;
        if (pq->PQconsumeInput(connection->handle) == 0)
            return fail_handle(connection, err);
    }
    *result = pq->PQgetResult(connection->handle);
    return HN_OK;
}

/* The result of the one statement; the end of results is read, too. */
static enum hn_status ask(struct hn_connection *connection, const char *sql,
                          const char *const *values, size_t count, struct pg_result **result,
                          struct hn_error *err)
{
    const struct hn_libpq *pq = connection->pq;
    struct pg_result *end = NULL;
    *result = NULL;
    connection->deadline_ms = hn_now_ms() + connection->patience_ms;
    enum hn_status status = send_all(connection, sql, values, count, err);
    if (status == HN_OK)
        status = receive(connection, result, err);
    if (status == HN_OK && *result == NULL)
        status = fail_handle(connection, err);
    if (status == HN_OK)
        status = receive(connection, &end, err);
    pq->PQclear(end);
    if (status != HN_OK)
        return status;
    int code = pq->PQresultStatus(*result);
    if (code == HN_PQ_COMMAND_OK || code == HN_PQ_TUPLES_OK)
        return HN_OK;
    return fail_server(connection, pq->PQresultErrorMessage(*result), err);
}

enum hn_status hn_connection_run(struct hn_connection *connection, const char *sql,
                                 const char *const *values, size_t count, struct hn_error *err)
{
    struct pg_result *result;
    enum hn_status status = ask(connection, sql, values, count, &result, err);
    connection->pq->PQclear(result);
    return status;
}

static enum hn_status parse(const struct hn_connection *connection, const struct pg_result *result,
                            json_t **rows, struct hn_error *err)
{
    const struct hn_libpq *pq = connection->pq;
    struct hn_error reason = {0};
    json_error_t place = {.text = ""};
    if (pq->PQntuples(result) != 1)
        return hn_fail(err, HN_EFORMAT, "%s: found %d answers, expected one", connection->name,
                       pq->PQntuples(result));
    const char *text = pq->PQgetvalue(result, 0, 0);
    size_t size = (size_t)pq->PQgetlength(result, 0, 0);
    if (hn_gate_json(text, size, &reason) != HN_OK)
        return hn_fail(err, HN_EFORMAT, "%s: %.2000s", connection->name, reason.message);
    *rows = json_loadb(text, size, 0, &place);
    return json_is_array(*rows) ? HN_OK
                                : hn_fail(err, HN_EFORMAT, "%s: an answer is no list of rows: %s",
                                          connection->name, place.text);
}

enum hn_status hn_connection_read(struct hn_connection *connection, const char *sql,
                                  const char *const *values, size_t count, json_t **rows,
                                  struct hn_error *err)
{
    struct hn_text whole;
    struct pg_result *result = NULL;
    *rows = NULL;
    hn_text_init(&whole);
    hn_text_printf(&whole, "WITH x AS (%s) SELECT coalesce(json_agg(x), '[]'::json) FROM x", sql);
    enum hn_status status = whole.failed ? hn_fail_memory(err)
                                         : ask(connection, whole.data, values, count, &result, err);
    if (status == HN_OK)
        status = parse(connection, result, rows, err);
    connection->pq->PQclear(result);
    hn_text_finish(&whole);
    if (status != HN_OK) {
        json_decref(*rows);
        *rows = NULL;
    }
    return status;
}
