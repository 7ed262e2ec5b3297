/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SERVER_SESSION_ROW_H
#define HONE_TUNER_SERVER_SESSION_ROW_H

#include <jansson.h>

#include "base/hash.h"
#include "cache/store/store.h"

/* A session as a row of the server, under the names of its columns. */
struct hn_session_row {
    char *origin;
    char *subject;
    char *problem; /* canonical text of head.identity.problem */
    char *plan;    /* hash of what it was measured by; NULL: not kept */
    char *checksum; /* of all the others */
    struct hn_store_head head;
};

/* The columns of the row, for an INSERT. */
#define HN_SESSION_ROW_COLUMNS                                                                                       \
    "origin, subject, kernel, signature, problem, regime, objective, device, capability, sm_count, mig_profile,"     \
    " template_hash, options_hash, plan_hash, driver, nvrtc, protocol, started, command, simulated, machine, source," \
    " imported, plan, checksum"

/* Those columns that may be of any length, for octet_length() in a WHERE. */
#define HN_SESSION_ROW_LONGEST                                                                                          \
    "greatest(octet_length(subject), octet_length(signature), octet_length(problem), octet_length(regime),"             \
    " octet_length(objective), octet_length(device), octet_length(mig_profile), octet_length(template_hash),"           \
    " octet_length(options_hash), octet_length(plan_hash), octet_length(driver), octet_length(nvrtc),"                  \
    " octet_length(command), octet_length(machine), octet_length(source), octet_length(checksum), octet_length(kernel))"

/* What is tuned and with what, in one word: two tuners of one subject measure the same. */
enum hn_status hn_subject_of(const struct hn_identity *identity, const struct hn_version *version,
                             struct hn_hash *subject, struct hn_error *err);

/* Fills in what follows from the head. Takes head over, also after a failure. plan may be NULL. */
enum hn_status hn_session_row_make(const char *origin, struct hn_store_head *head, const char *plan,
                                   struct hn_session_row *row, struct hn_error *err);
/* NULL when out of memory. */
json_t *hn_session_row_to_json(const struct hn_session_row *row);
/* Through the gate; HN_EFORMAT also where it is not what was sent. To be finished also after a failure. */
enum hn_status hn_session_row_read(const json_t *json, struct hn_session_row *row, struct hn_error *err);
void hn_session_row_finish(struct hn_session_row *row);

/* The checksum of a text that belongs to a session: a record at its position, or a rule at -1. */
struct hn_hash hn_row_checksum(const char *origin, int64_t position, const char *text);
struct hn_hash hn_plan_name(const char *json, const char *files); /* plans are named by what they say */

#endif
