/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_OPEN_CACHE_H
#define HONE_TUNER_COMMANDS_OPEN_CACHE_H

#include "cache/store/store.h"
#include "tuner/commands/command.h"
#include "tuner/server/server.h"

/* The cache that the options name, or the default one: a file, or the copy of a PostgreSQL server, which is brought up to
 * date before. What is written to a copy is sent while it is open, and the last of it when the store is closed. Says on stderr
 * what the user should know, also then. */
enum hn_status hn_cache_open(const struct hn_options *options, enum hn_store_mode mode, struct hn_store **store,
                             struct hn_error *err);

/* The same in parts. */
struct hn_cache_place {
    const char *path;   /* of a file, or a URI; NULL: the default */
    const char *base;   /* a cache to be read under it, as path is; NULL: none */
    const char *kernel; /* of a server: only what it has of it; NULL: of all */
    bool images;        /* of a server: machine code, too */
    bool quiet;
};
/* *server is the store's, for as long as that is open; NULL where it is a file, or is only read. server may be NULL. */
enum hn_status hn_cache_open_place(const struct hn_cache_place *place, enum hn_store_mode mode, struct hn_store **store,
                                   struct hn_server **server, struct hn_error *err);

/* Another handle of the cache that is open with the options, for another thread; server may be NULL. */
enum hn_status hn_cache_open_again(const struct hn_options *options, struct hn_server *server, struct hn_store **store,
                                   struct hn_error *err);

/* What stands for a path in messages and in what is kept: without a password. NULL when out of memory; free it. */
char *hn_cache_shown(const char *path);

/* Brings the copy up to date again, with what others found of a kernel meanwhile. */
enum hn_status hn_cache_refresh(struct hn_server *server, struct hn_store *store, const char *kernel,
                                struct hn_error *err);

#endif
