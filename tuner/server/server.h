/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SERVER_SERVER_H
#define HONE_TUNER_SERVER_SERVER_H

#include "cache/store/store.h"

/* A site's cache in PostgreSQL, and the copy of it on this machine: a cache file, which is what everybody reads and writes.
 * What is committed there is sent from a thread of its own; a server that is away costs nothing but that it is sent later,
 * by this command or by the next one that opens the server from here. */
struct hn_server;

/* A URI of PostgreSQL without its password, for messages. Free it. */
char *hn_server_name(const char *uri);

/* Connects, and makes the tables where there are none. HN_ERUN: no libpq, no server, no right to; the message says which. */
enum hn_status hn_server_open(const char *uri, struct hn_server **server, struct hn_error *err);
/* Its URI without a password. */
const char *hn_server_shown(const struct hn_server *server);
/* Where the copy is. */
const char *hn_server_copy(const struct hn_server *server);

struct hn_fetched {
    int64_t sessions; /* of which there was something to fetch */
    int64_t records;
    int64_t refused;  /* sessions, images and roofs that were left out */
    bool left;        /* there is more, for the next call */
    char reason[512]; /* of the first of them */
};
/* Makes copy and server alike: sends all that the server lacks, and fetches what the copy lacks of a kernel (NULL: of all),
 * machine code only with `images`. store: the copy, open for writing. While it is followed a lost connection is no
 * failure: then nothing is fetched. */
enum hn_status hn_server_sync(struct hn_server *server, struct hn_store *store, const char *kernel, bool images,
                              struct hn_fetched *fetched, struct hn_error *err);

/* From now on sends what is committed to the copy, each time that it is told of it. */
enum hn_status hn_server_follow(struct hn_server *server, struct hn_error *err);
void hn_server_tell(void *server);

/* Claims a problem, or says who has it; a claim is renewed until it is released. Where the connection is lost it is the
 * caller's for want of an answer, and claimed once it is back. What this command claimed before it gets again. From any thread. */
enum hn_claim_state {
    HN_CLAIM_OWN,   /* it is the caller's now */
    HN_CLAIM_TAKEN, /* another is at it */
    HN_CLAIM_DONE,  /* another finished it since this command began; still free for whoever wants more */
};
/* The other of TAKEN and DONE. */
struct hn_claim_holder {
    char machine[65];
    double for_s; /* since when it tunes, or how long ago it finished */
};
struct hn_server_claim;
/* again: also what another finished meanwhile. *claim: NULL but for HN_CLAIM_OWN. */
enum hn_claim_state hn_server_claim(struct hn_server *server, const struct hn_identity *identity,
                                    const struct hn_version *version, bool again, struct hn_server_claim **claim,
                                    struct hn_claim_holder *holder);
/* Sends what was recorded, then releases the claim. Returns whether the claim was held all the time: another may have begun
 * the same where it was not. */
bool hn_server_release(struct hn_server *server, struct hn_server_claim *claim, bool finished);

/* How it went, for messages. */
struct hn_server_end {
    int losses;         /* of the connection */
    int64_t waiting;    /* records that are in the copy alone */
    int64_t unkept;     /* records that the server was sent and has not */
    char server[256];   /* its name, and where the copy is */
    char copy[4096];
    char reason[512];   /* of the last loss */
};
/* Sends what is left, for some seconds where the server is away; frees the server. */
void hn_server_close(struct hn_server *server, struct hn_server_end *end);

#endif
