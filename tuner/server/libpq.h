/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SERVER_LIBPQ_H
#define HONE_TUNER_SERVER_LIBPQ_H

#include "base/error.h"

/* PostgreSQL's client library, loaded when it is needed. Its header is not: what is used of it is declared here, as
 * PostgreSQL's documentation has it (https://www.postgresql.org/docs/current/libpq.html). */
struct pg_conn;
struct pg_result;
struct hn_pq_option { /* PQconninfoOption; value is NULL where the URI does not set it */
    const char *keyword, *variable, *compiled, *value, *label, *shown_as;
    int shown_size;
};

/* Values of its enums that are part of its ABI. */
enum { HN_PQ_POLLING_FAILED = 0, HN_PQ_POLLING_READING = 1, HN_PQ_POLLING_WRITING = 2, HN_PQ_POLLING_OK = 3 };
enum { HN_PQ_COMMAND_OK = 1, HN_PQ_TUPLES_OK = 2 };

/* X(result, name, arguments) */
#define HN_LIBPQ_FUNCTIONS(X)                                                                                              \
    X(struct pg_conn *, PQconnectStartParams, (const char *const *names, const char *const *values, int expand))           \
    X(struct hn_pq_option *, PQconninfoParse, (const char *uri, char **message))                                           \
    X(void, PQconninfoFree, (struct hn_pq_option *))                                                                       \
    X(int, PQconnectPoll, (struct pg_conn *))                                                                              \
    X(int, PQstatus, (const struct pg_conn *))                                                                             \
    X(int, PQsocket, (const struct pg_conn *))                                                                             \
    X(char *, PQerrorMessage, (const struct pg_conn *))                                                                    \
    X(void, PQfinish, (struct pg_conn *))                                                                                  \
    X(int, PQsetnonblocking, (struct pg_conn *, int on))                                                                   \
    X(int, PQsendQueryParams,                                                                                              \
      (struct pg_conn *, const char *sql, int count, const unsigned *types, const char *const *values, const int *lengths, \
       const int *formats, int format))                                                                                    \
    X(int, PQflush, (struct pg_conn *))                                                                                    \
    X(int, PQconsumeInput, (struct pg_conn *))                                                                             \
    X(int, PQisBusy, (struct pg_conn *))                                                                                   \
    X(struct pg_result *, PQgetResult, (struct pg_conn *))                                                                 \
    X(int, PQresultStatus, (const struct pg_result *))                                                                     \
    X(char *, PQresultErrorMessage, (const struct pg_result *))                                                            \
    X(int, PQntuples, (const struct pg_result *))                                                                          \
    X(char *, PQgetvalue, (const struct pg_result *, int row, int column))                                                 \
    X(int, PQgetlength, (const struct pg_result *, int row, int column))                                                   \
    X(void, PQclear, (struct pg_result *))                                                                                 \
    X(void *, PQsetNoticeReceiver,                                                                                         \
      (struct pg_conn *, void (*receive)(void *context, const struct pg_result *), void *context))

struct hn_libpq {
    void *library;
#define X(result, name, arguments) result(*name) arguments;
    HN_LIBPQ_FUNCTIONS(X)
#undef X
};

/* HN_ERUN says that it is missing and which package has it. */
enum hn_status hn_libpq_open(struct hn_libpq *pq, struct hn_error *err);
void hn_libpq_close(struct hn_libpq *pq);

#endif
