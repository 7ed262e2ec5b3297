/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/text.h"
#include "tuner/server/server.h"

/* All that is shown. A password with one of the URI's own signs in it is cut there, and its rest
 * taken for a host, a port or a database: then one of them has a sign that none needs. */
#define WORD "-_.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
enum { USER, HOST, PORT, DBNAME, SHOWN };
static const struct {
    const char *keyword;
    const char *signs;
} shown[SHOWN] = {{"user", WORD}, {"host", WORD ",:/"}, {"port", "0123456789,"}, {"dbname", WORD}};

static void append(struct hn_text *text, const char *const parts[SHOWN])
{
    /* Sockets, several hosts and IPv6 are legible as options only. */
    const bool apart = strpbrk(parts[HOST], "/:,") != NULL;
    const char *const host = apart ? "" : parts[HOST];
    const char *const port = apart ? "" : parts[PORT];
    hn_text_printf(text, "postgresql://%s%s%s%s%s/%s", parts[USER], *parts[USER] != '\0' ? "@" : "",
                   host, *port != '\0' ? ":" : "", port, parts[DBNAME]);
    if (apart)
        hn_text_printf(text, "?host=%s%s%s", parts[HOST], *parts[PORT] != '\0' ? "&port=" : "",
                       parts[PORT]);
}

char *hn_server_name(const char *uri)
{
    struct hn_libpq pq;
    struct hn_text text;
    const char *parts[SHOWN] = {"", "", "", ""};
    const bool can_parse = hn_libpq_open(&pq, NULL) == HN_OK;
    struct hn_pq_option *const options = can_parse ? pq.PQconninfoParse(uri, NULL) : NULL;
    bool told = options != NULL; /* what is a password and what is none */
    for (const struct hn_pq_option *at = options; told && at->keyword != NULL; at++)
        for (int i = 0; at->value != NULL && i < SHOWN; i++)
            if (strcmp(at->keyword, shown[i].keyword) == 0) {
                parts[i] = at->value;
                told = told && parts[i][strspn(parts[i], shown[i].signs)] == '\0';
            }
    hn_text_init(&text);
    if (told)
        append(&text, parts);
    else
        hn_text_append(&text, HN_SERVER_HIDDEN);
    if (options != NULL)
        pq.PQconninfoFree(options);
    hn_libpq_close(&pq);
    return hn_text_take(&text);
}
