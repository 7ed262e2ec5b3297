/* SPDX-License-Identifier: MIT */
#include "tuner/commands/open_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static void tell(void *server)
{
    hn_server_tell(server);
}

/* Closes the server, and says how it went. */
static void finish(void *server)
{
    struct hn_server_end end = {.losses = 0};
    hn_server_close(server, &end);
    if (end.waiting > 0)
        fprintf(stderr,
                "hone: warning: the cache's server is away (%s): %lld record%s in '%s' alone, "
                "until a hone opens this cache here again\n",
                end.reason, (long long)end.waiting, end.waiting == 1 ? " is" : "s are", end.copy);
    else if (end.losses > 0)
        fprintf(stderr,
                "hone: warning: the connection to the cache's server was lost %d time%s (%s); all "
                "records were sent\n",
                end.losses, end.losses == 1 ? "" : "s", end.reason);
    if (end.unkept > 0)
        fprintf(stderr,
                "hone: warning: %s: %lld record%s sent and not kept: does a trigger, rule or "
                "policy there drop rows? They are in '%s' alone\n",
                end.server, (long long)end.unkept, end.unkept == 1 ? " was" : "s were", end.copy);
}

/* Brings the copy up to date, and says what could not be. */
static enum hn_status sync_copy(struct hn_server *server, struct hn_store *store,
                                const struct hn_sync *sync, struct hn_error *err)
{
    struct hn_fetched fetched;
    const char *name = hn_server_shown(server);
    enum hn_status status = hn_server_sync(server, store, sync, &fetched, err);
    if (status != HN_OK)
        return status;
    if (fetched.refused > 0)
        fprintf(stderr, "hone: warning: %s: %lld row%s can not be used and %s left out: %s\n", name,
                (long long)fetched.refused, fetched.refused == 1 ? "" : "s",
                fetched.refused == 1 ? "is" : "are", fetched.reason);
    if (fetched.left)
        fprintf(stderr,
                "hone: warning: %s: there is more than one command fetches; the next ones go on\n",
                name);
    return HN_OK;
}

/* What is only read needs the server no longer. */
static enum hn_status open_server(const char *uri, const struct hn_cache_place *place,
                                  enum hn_store_mode mode, struct hn_store **store,
                                  struct hn_server **server, struct hn_error *err)
{
    struct hn_server *own;
    const struct hn_sync sync = {place->kernel, place->images};
    if (hn_server_open(uri, &own, err) != HN_OK)
        return err->status;
    if (hn_store_open(hn_server_copy(own), HN_STORE_WRITE, store, err) == HN_OK)
        sync_copy(own, *store, &sync, err);
    if (!hn_failed(err) && mode == HN_STORE_WRITE && hn_server_follow(own, err) == HN_OK) {
        *server = own;
        hn_store_follow(*store, &(struct hn_store_follower){tell, finish, own});
        return HN_OK;
    }
    if (!hn_failed(err)) {
        hn_store_close(*store);
        if (hn_store_open(hn_server_copy(own), mode, store, err) == HN_OK)
            hn_store_set_name(*store, hn_server_shown(own), err);
    }
    finish(own);
    return err->status;
}

static enum hn_status open_alone(const char *path, const struct hn_cache_place *place,
                                 enum hn_store_mode mode, struct hn_store **store,
                                 struct hn_server **server, struct hn_error *err)
{
    return hn_store_is_server(path) ? open_server(path, place, mode, store, server, err)
                                    : hn_store_open(path, mode, store, err);
}

/* Puts the base under the store, which is closed and NULL after a failure. */
static enum hn_status add_base(const char *path, const char *kernel, struct hn_store **store,
                               enum hn_status status, struct hn_error *err)
{
    struct hn_store *base = NULL;
    struct hn_server *none;
    const struct hn_cache_place place = {.kernel = kernel};
    if (status == HN_OK && path != NULL)
        status = open_alone(path, &place, HN_STORE_READ, &base, &none, err);
    if (status == HN_OK && base != NULL) {
        hn_store_set_base(*store, base);
    } else if (status != HN_OK) {
        hn_store_close(base);
        hn_store_close(*store);
        *store = NULL;
    }
    return status;
}

enum hn_status hn_cache_open_place(const struct hn_cache_place *place, enum hn_store_mode mode,
                                   struct hn_store **store, struct hn_server **server,
                                   struct hn_error *err)
{
    struct hn_server *unasked;
    struct hn_server **own = server == NULL ? &unasked : server;
    char *path = hn_needed(hn_store_default_path(place->path));
    *store = NULL;
    *own = NULL;
    enum hn_status status = open_alone(path, place, mode, store, own, err);
    free(path);
    /* Where nothing was tuned yet the base is all there is to read. */
    if (status == HN_ENOTFOUND && mode == HN_STORE_READ && place->base != NULL)
        return add_base(NULL, NULL, store, open_alone(place->base, place, mode, store, own, err),
                        err);
    status = add_base(place->base, place->kernel, store, status, err);
    if (status != HN_OK)
        *own = NULL;
    else if (hn_store_warning(*store) != NULL && !place->quiet)
        fprintf(stderr, "hone: warning: %s\n", hn_store_warning(*store));
    return status;
}

enum hn_status hn_cache_open(const struct hn_options *options, enum hn_store_mode mode,
                             struct hn_store **store, struct hn_error *err)
{
    const struct hn_cache_place place = {
        .path = options->cache, .base = options->base, .quiet = options->quiet};
    return hn_cache_open_place(&place, mode, store, NULL, err);
}

enum hn_status hn_cache_open_again(const struct hn_options *options, struct hn_server *server,
                                   struct hn_store **store, struct hn_error *err)
{
    char *path = server == NULL ? hn_needed(hn_store_default_path(options->cache))
                                : hn_need_copy(hn_server_copy(server));
    enum hn_status status = hn_store_open(path, HN_STORE_WRITE, store, err);
    if (status == HN_OK && server != NULL)
        hn_store_follow(*store, &(struct hn_store_follower){.committed = tell, .context = server});
    free(path);
    return add_base(options->base, NULL, store, status, err);
}

char *hn_cache_shown(const char *path)
{
    return hn_store_is_server(path) ? hn_server_name(path) : strdup(path);
}

enum hn_status hn_cache_refresh(struct hn_server *server, struct hn_store *store,
                                const char *kernel, struct hn_error *err)
{
    const struct hn_sync sync = {kernel, false};
    return sync_copy(server, store, &sync, err);
}
