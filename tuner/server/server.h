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

/* Connects, makes the tables where there are none, and brings the copy up to date, which is returned, open; after a failure it may
 * be, too. *server: NULL where that is only read; else it is sent what is committed to the copy each time that it is told of it. HN_ERUN:
 * no libpq, no server, no right to; the message says which. kernel, images: as of hn_server_sync. Sticky, as the next. */
struct hn_store *hn_server_open(const char *uri, enum hn_store_mode mode, const char *kernel, bool images,
                                struct hn_server **server, struct hn_error *err);
/* Makes copy and server alike: sends all that the server lacks, and fetches what the copy lacks of a kernel (NULL: of all),
 * machine code only with `images`; says on stderr what could not be. store: the copy, open for writing. While it is followed a
 * lost connection is no failure: then nothing is fetched. */
void hn_server_sync(struct hn_server *server, struct hn_store *store, const char *kernel, bool images,
                    struct hn_error *err);
/* Where the copy is. */
const char *hn_server_copy(const struct hn_server *server);
/* For a follower of the copy. The latter sends what is left, for some seconds where the server is away, says on stderr how it went,
 * and frees the server. */
void hn_server_tell(void *server);
void hn_server_close(void *server);

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

#endif
