/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/text.h"
#include "tuner/server/server.h"

/* user:password@host: nothing between the colon and the last @ before the path. */
static void append_authority(struct hn_text *text, const char *authority, size_t length)
{
    const char *at = memrchr(authority, '@', length);
    const char *colon = at == NULL ? NULL : memchr(authority, ':', (size_t)(at - authority));
    if (colon == NULL) {
        hn_text_append_bytes(text, authority, length);
        return;
    }
    hn_text_append_bytes(text, authority, (size_t)(colon - authority));
    hn_text_append_bytes(text, at, length - (size_t)(at - authority));
}

/* name=value&…, without what is secret. */
static void append_query(struct hn_text *text, const char *query)
{
    static const char *const secrets[] = {"password=", "sslpassword="};
    char before = '?';
    while (*query != '\0') {
        size_t length = strcspn(query, "&");
        bool is_secret = false;
        for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
            is_secret = is_secret || strncmp(query, secrets[i], strlen(secrets[i])) == 0;
        if (!is_secret) {
            hn_text_append_bytes(text, &before, 1);
            hn_text_append_bytes(text, query, length);
            before = '&';
        }
        query += length + (query[length] == '&');
    }
}

char *hn_server_name(const char *uri)
{
    struct hn_text text;
    const char *authority = strstr(uri, "://") + strlen("://");
    size_t length = strcspn(authority, "/?");
    const char *path = authority + length;
    hn_text_init(&text);
    hn_text_append_bytes(&text, uri, (size_t)(authority - uri));
    append_authority(&text, authority, length);
    hn_text_append_bytes(&text, path, strcspn(path, "?"));
    if (strchr(path, '?') != NULL)
        append_query(&text, strchr(path, '?') + 1);
    return hn_text_take(&text);
}
