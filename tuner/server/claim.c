/* SPDX-License-Identifier: MIT */
#include "tuner/server/claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tuner/server/session_row.h"

/* SQL's: a lease that begins now. */
#define STRING_OF(number) #number
#define SECONDS(number) "interval '" STRING_OF(number) " seconds'"
#define LEASE "now() + " SECONDS(15)
_Static_assert(HN_CLAIM_LEASE_S == 15, "the lease is spelled in SQL, too");
/* One that ends later than any lease that is begun now is none, and does not hold anybody up. */
#define LONGEST "now() + " SECONDS(60)

enum hn_status hn_claim_make(const struct hn_identity *identity, const struct hn_version *version,
                             struct hn_claim *claim, struct hn_error *err)
{
    struct hn_text problem;
    *claim = (struct hn_claim){.kernel = strdup(identity->kernel)};
    hn_text_init(&problem);
    hn_bindings_append(&problem, &identity->problem);
    claim->problem = hn_text_take(&problem);
    snprintf(claim->device, sizeof claim->device, "%s", identity->device.name);
    if (claim->kernel == NULL || claim->problem == NULL)
        return hn_fail_memory(err);
    return hn_subject_of(identity, version, &claim->subject, err);
}

void hn_claim_finish(struct hn_claim *claim)
{
    free(claim->kernel);
    free(claim->problem);
    *claim = (struct hn_claim){.kernel = NULL};
}

enum hn_status hn_claimant_make(struct hn_connection *connection, struct hn_claimant *claimant,
                                struct hn_error *err)
{
    json_t *rows;
    const char *now;
    const char *name;
    *claimant = (struct hn_claimant){.name = ""};
    (void)gethostname(claimant->machine, sizeof claimant->machine - 1);
    enum hn_status status = hn_connection_read(
        connection, "SELECT now()::text AS now, replace(gen_random_uuid()::text, '-', '') AS name",
        NULL, 0, &rows, err);
    if (status == HN_OK &&
        json_unpack(json_array_get(rows, 0), "{s:s, s:s}", "now", &now, "name", &name) == 0) {
        snprintf(claimant->name, sizeof claimant->name, "%s", name);
        snprintf(claimant->since, sizeof claimant->since, "%s", now);
    }
    json_decref(rows);
    return status;
}

/* Whoever has it, or finished it since the claimant is there. */
static enum hn_status look(struct hn_connection *connection, const struct hn_claimant *claimant,
                           const struct hn_claim *claim, enum hn_claim_state *state,
                           struct hn_claim_holder *holder, struct hn_error *err)
{
    json_t *rows;
    const char *machine = "";
    int done = 0;
    const char *const values[] = {claim->subject.hex, claimant->name, claimant->since};
    enum hn_status status = hn_connection_read(
        connection,
        "SELECT left(machine, 64) AS machine, finished IS NOT NULL AS done,"
        " extract(epoch FROM now() - coalesce(finished, since))::double precision AS age"
        " FROM hone.claim WHERE subject = $1 AND owner <> $2"
        " AND isfinite(since) AND CASE WHEN finished IS NULL THEN until > now() AND until <"
        " " LONGEST " ELSE finished > $3::timestamptz AND finished < " LONGEST " END",
        values, 3, &rows, err);
    if (status != HN_OK)
        return status;
    *state = HN_CLAIM_OWN;
    json_t *row = json_array_get(rows, 0);
    *holder = (struct hn_claim_holder){.machine = ""};
    if (row != NULL && json_unpack(row, "{s:s, s:b, s:F}", "machine", &machine, "done", &done,
                                   "age", &holder->for_s) == 0) {
        snprintf(holder->machine, sizeof holder->machine, "%.64s", machine);
        *state = done != 0 ? HN_CLAIM_DONE : HN_CLAIM_TAKEN;
    }
    json_decref(rows);
    return HN_OK;
}

enum hn_status hn_claim_renew(struct hn_connection *connection, const struct hn_claimant *claimant,
                              const struct hn_claim *claim, bool *held, struct hn_error *err)
{
    json_t *rows;
    const char *const values[] = {claim->subject.hex, claim->kernel,     claim->problem,
                                  claim->device,      claimant->machine, claimant->name};
    enum hn_status status = hn_connection_read(
        connection,
        "INSERT INTO hone.claim AS c VALUES($1, $2, $3, $4, $5, $6, now(), " LEASE ", NULL)"
        " ON CONFLICT (subject) DO UPDATE SET machine = excluded.machine, owner = excluded.owner,"
        " since = excluded.since, until = excluded.until, finished = NULL"
        " WHERE c.until < now() OR c.until > " LONGEST " OR c.finished IS NOT NULL"
        " OR c.owner = excluded.owner"
        " RETURNING 1 AS own",
        values, 6, &rows, err);
    if (status != HN_OK)
        return status;
    *held = json_array_size(rows) > 0;
    json_decref(rows);
    return HN_OK;
}

enum hn_status hn_claim_try(struct hn_connection *connection, const struct hn_claimant *claimant,
                            const struct hn_claim *claim, bool again, enum hn_claim_state *state,
                            struct hn_claim_holder *holder, struct hn_error *err)
{
    bool own = false;
    enum hn_status status = look(connection, claimant, claim, state, holder, err);
    if (status != HN_OK || *state == HN_CLAIM_TAKEN || (*state == HN_CLAIM_DONE && !again))
        return status;
    status = hn_claim_renew(connection, claimant, claim, &own, err);
    if (status != HN_OK || own) {
        *state = HN_CLAIM_OWN;
        return status;
    }
    /* Another was faster, just now. */
    status = look(connection, claimant, claim, state, holder, err);
    if (*state == HN_CLAIM_OWN)
        *state = HN_CLAIM_TAKEN;
    return status;
}

enum hn_status hn_claim_release(struct hn_connection *connection,
                                const struct hn_claimant *claimant, const struct hn_claim *claim,
                                bool finished, struct hn_error *err)
{
    const char *const values[] = {claim->subject.hex, claimant->name};
    return hn_connection_run(connection,
                             finished ? "UPDATE hone.claim SET finished = now(), until = now()"
                                        " WHERE subject = $1 AND owner = $2"
                                      : "DELETE FROM hone.claim WHERE subject = $1 AND owner = $2",
                             values, 2, err);
}
