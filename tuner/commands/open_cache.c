/* SPDX-License-Identifier: MIT */
#include "tuner/commands/open_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/store/store_base.h"

/* Of a copy that is written to: who sends it. */
struct sender {
    struct hn_server *server;
    char *copy;
};

static void tell_server(void *context)
{
    hn_server_tell(context);
}

static void tell(void *context)
{
    tell_server(((const struct sender *)context)->server);
}

static void finish(void *context)
{
    struct sender *sender = context;
    struct hn_server_end end = {.losses = 0};
    hn_server_close(sender->server, &end);
    if (end.waiting > 0)
        fprintf(stderr,
                "hone: warning: the cache's server is away (%s): %lld record%s in '%s' alone, "
                "until a hone opens this cache here again\n",
                end.reason, (long long)end.waiting, end.waiting == 1 ? " is" : "s are",
                sender->copy);
    else if (end.losses > 0)
        fprintf(stderr,
                "hone: warning: the connection to the cache's server was lost %d time%s (%s); all "
                "records were sent\n",
                end.losses, end.losses == 1 ? "" : "s", end.reason);
    free(sender->copy);
    free(sender);
}

static void tell_refused(const struct hn_fetched *fetched)
{
    if (fetched->refused > 0)
        fprintf(stderr,
                "hone: warning: the cache's server has %lld session%s that can not be used: %s\n",
                (long long)fetched->refused, fetched->refused == 1 ? "" : "s", fetched->reason);
}

/* Takes the server over, also after a failure. */
static enum hn_status follow(struct hn_server *server, struct hn_store *store, struct hn_error *err)
{
    struct sender *sender = calloc(1, sizeof *sender);
    char *copy = strdup(hn_server_copy(server));
    enum hn_status status =
        sender == NULL || copy == NULL ? hn_fail_memory(err) : hn_server_follow(server, err);
    if (status != HN_OK) {
        hn_server_close(server, &(struct hn_server_end){.losses = 0});
        free(sender);
        free(copy);
        return status;
    }
    *sender = (struct sender){server, copy};
    hn_store_follow(store, &(struct hn_store_follower){tell, finish, sender});
    return HN_OK;
}

static enum hn_status open_copy(struct hn_server *server, const struct hn_cache_place *place,
                                struct hn_store **store, struct hn_error *err)
{
    struct hn_fetched fetched;
    const struct hn_sync sync = {place->kernel, place->images};
    enum hn_status status = hn_store_open(hn_server_copy(server), HN_STORE_WRITE, store, err);
    if (status == HN_OK)
        status = hn_server_sync(server, *store, &sync, &fetched, err);
    if (status == HN_OK)
        tell_refused(&fetched);
    return status;
}

/* What is only read needs the server no longer. */
static enum hn_status open_server(const char *uri, const struct hn_cache_place *place,
                                  enum hn_store_mode mode, struct hn_store **store,
                                  struct hn_server **server, struct hn_error *err)
{
    struct hn_server *own;
    enum hn_status status = hn_server_open(uri, &own, err);
    if (status != HN_OK)
        return status;
    status = open_copy(own, place, store, err);
    if (status == HN_OK && mode == HN_STORE_READ) {
        hn_store_close(*store);
        status = hn_store_open(hn_server_copy(own), mode, store, err);
        if (status == HN_OK)
            status = hn_store_set_name(*store, hn_server_shown(own), err);
    } else if (status == HN_OK) {
        *server = own;
        status = follow(own, *store, err);
        own = NULL;
    }
    hn_server_close(own, &(struct hn_server_end){.losses = 0});
    if (status != HN_OK) {
        hn_store_close(*store);
        *store = NULL;
        *server = NULL;
    }
    return status;
}

static enum hn_status open_alone(const char *path, const struct hn_cache_place *place,
                                 enum hn_store_mode mode, struct hn_store **store,
                                 struct hn_server **server, struct hn_error *err)
{
    return hn_store_is_server(path) ? open_server(path, place, mode, store, server, err)
                                    : hn_store_open(path, mode, store, err);
}

static enum hn_status add_base(const char *path, const char *kernel, struct hn_store *store,
                               struct hn_error *err)
{
    struct hn_store *base;
    struct hn_server *none;
    const struct hn_cache_place place = {.kernel = kernel};
    if (path == NULL)
        return HN_OK;
    enum hn_status status = open_alone(path, &place, HN_STORE_READ, &base, &none, err);
    if (status == HN_OK)
        hn_store_set_base(store, base);
    return status;
}

enum hn_status hn_cache_open_place(const struct hn_cache_place *place, enum hn_store_mode mode,
                                   struct hn_store **store, struct hn_server **server,
                                   struct hn_error *err)
{
    struct hn_server *unasked;
    struct hn_server **own = server == NULL ? &unasked : server;
    char *path = hn_store_default_path(place->path);
    *store = NULL;
    *own = NULL;
    if (path == NULL)
        return hn_fail_memory(err);
    enum hn_status status = open_alone(path, place, mode, store, own, err);
    free(path);
    /* Where nothing was tuned yet the base is all there is to read. */
    if (status == HN_ENOTFOUND && mode == HN_STORE_READ && place->base != NULL)
        return open_alone(place->base, place, mode, store, own, err);
    if (status == HN_OK)
        status = add_base(place->base, place->kernel, *store, err);
    if (status != HN_OK) {
        hn_store_close(*store);
        *store = NULL;
        *own = NULL;
        return status;
    }
    if (hn_store_warning(*store) != NULL && !place->quiet)
        fprintf(stderr, "hone: warning: %s\n", hn_store_warning(*store));
    return HN_OK;
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
    char *path =
        server == NULL ? hn_store_default_path(options->cache) : strdup(hn_server_copy(server));
    if (path == NULL)
        return hn_fail_memory(err);
    enum hn_status status = hn_store_open(path, HN_STORE_WRITE, store, err);
    if (status == HN_OK && server != NULL)
        hn_store_follow(*store,
                        &(struct hn_store_follower){.committed = tell_server, .context = server});
    free(path);
    if (status == HN_OK)
        status = add_base(options->base, NULL, *store, err);
    if (status != HN_OK) {
        hn_store_close(*store);
        *store = NULL;
    }
    return status;
}

char *hn_cache_shown(const char *path)
{
    return hn_store_is_server(path) ? hn_server_name(path) : strdup(path);
}

enum hn_status hn_cache_refresh(struct hn_server *server, struct hn_store *store,
                                const char *kernel, struct hn_error *err)
{
    struct hn_fetched fetched;
    const struct hn_sync sync = {kernel, false};
    enum hn_status status = hn_server_sync(server, store, &sync, &fetched, err);
    if (status == HN_OK)
        tell_refused(&fetched);
    return status;
}
