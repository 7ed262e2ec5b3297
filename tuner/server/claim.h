/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SERVER_CLAIM_H
#define HONE_TUNER_SERVER_CLAIM_H

#include <stdbool.h>

#include "base/hash.h"
#include "cache/record/identity.h"
#include "tuner/server/connection.h"

/* Who tunes what, so that nobody begins what another is at: a row of the server, which is its owner's until its lease ends.
 * All times are the server's. */

/* A lease, and after what part of it it is renewed: as long as a lost connection may last without another beginning the
 * same, and as a dead tuner keeps others waiting. */
enum { HN_CLAIM_LEASE_S = 15, HN_CLAIM_RENEW_MS = 4000 };

/* What somebody tunes. */
struct hn_claim {
    struct hn_hash subject;
    char *kernel;
    char *problem;
    char device[128];
};
/* Copies. */
enum hn_status hn_claim_make(const struct hn_identity *identity, const struct hn_version *version,
                             struct hn_claim *claim, struct hn_error *err);
void hn_claim_finish(struct hn_claim *claim);

/* A tuner: where, and since when it is there, by the clock of the server. */
struct hn_claimant {
    char name[33]; /* drawn */
    char machine[65];
    char since[64];
};
enum hn_status hn_claimant_make(struct hn_connection *connection, struct hn_claimant *claimant, struct hn_error *err);

enum hn_claim_state {
    HN_CLAIM_OWN,    /* it is the claimant's now */
    HN_CLAIM_TAKEN,  /* another is at it */
    HN_CLAIM_DONE,   /* another finished it since the claimant is there; still free for whoever wants more */
};
/* The other of TAKEN and DONE. */
struct hn_claim_holder {
    char machine[65];
    double for_s; /* since when it tunes, or how long ago it finished */
};
/* again: not DONE but OWN. */
enum hn_status hn_claim_try(struct hn_connection *connection, const struct hn_claimant *claimant,
                            const struct hn_claim *claim, bool again, enum hn_claim_state *state,
                            struct hn_claim_holder *holder, struct hn_error *err);
/* *held is false when the lease had ended and another took it; else it is one's own again. */
enum hn_status hn_claim_renew(struct hn_connection *connection, const struct hn_claimant *claimant,
                              const struct hn_claim *claim, bool *held, struct hn_error *err);
/* finished: it was tuned to its end; false: another may begin it. */
enum hn_status hn_claim_release(struct hn_connection *connection, const struct hn_claimant *claimant,
                                const struct hn_claim *claim, bool finished, struct hn_error *err);

#endif
