/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tuner/server/server_internal.h"

/* SQL's: a lease that begins now. */
#define STRING_OF(number) #number
#define SECONDS(number) "interval '" STRING_OF(number) " seconds'"
#define LEASE "now() + " SECONDS(15)
_Static_assert(HN_CLAIM_LEASE_S == 15, "the lease is spelled in SQL, too");
/* One that ends later than any lease that is begun now is none, and does not hold anybody up. */
#define LONGEST "now() + " SECONDS(60)

void hn_claimant_make(struct hn_connection *connection, struct hn_claimant *claimant,
                      struct hn_error *err)
{
    const char *now = "";
    const char *name = "";
    json_t *rows = hn_connection_read(
        connection, "SELECT now()::text AS now, replace(gen_random_uuid()::text, '-', '') AS name",
        NULL, 0, err);
    *claimant = (struct hn_claimant){.name = ""};
    (void)gethostname(claimant->machine, sizeof claimant->machine - 1);
    (void)json_unpack(json_array_get(rows, 0), "{s:s, s:s}", "now", &now, "name", &name);
    snprintf(claimant->name, sizeof claimant->name, "%s", name);
    snprintf(claimant->since, sizeof claimant->since, "%s", now);
    json_decref(rows);
}

/* Whether another has it, or finished it since the claimant is there. */
static enum hn_claim_state look(struct hn_connection *connection,
                                const struct hn_claimant *claimant, const struct hn_claim *claim,
                                struct hn_claim_holder *holder, struct hn_error *err)
{
    const char *machine = "";
    int done = 0;
    const char *const values[] = {claim->hash.hex, claimant->name, claimant->since};
    json_t *rows = hn_connection_read(
        connection,
        "SELECT left(machine, 64) AS machine, finished IS NOT NULL AS done,"
        " extract(epoch FROM now() - coalesce(finished, since))::double precision AS age"
        " FROM hone.claim WHERE subject = $1 AND owner <> $2"
        " AND isfinite(since) AND CASE WHEN finished IS NULL THEN until > now() AND until <"
        " " LONGEST " ELSE finished > $3::timestamptz AND finished < " LONGEST " END",
        values, 3, err);
    *holder = (struct hn_claim_holder){.machine = ""};
    bool found = json_unpack(json_array_get(rows, 0), "{s:s, s:b, s:F}", "machine", &machine,
                             "done", &done, "age", &holder->for_s) == 0;
    snprintf(holder->machine, sizeof holder->machine, "%.64s", machine);
    json_decref(rows);
    return !found ? HN_CLAIM_OWN : done != 0 ? HN_CLAIM_DONE : HN_CLAIM_TAKEN;
}

bool hn_claim_renew(struct hn_connection *connection, const struct hn_claimant *claimant,
                    const struct hn_claim *claim, struct hn_error *err)
{
    const char *const values[] = {claim->hash.hex, claim->subject.kernel, claim->subject.problem,
                                  claim->device,   claimant->machine,     claimant->name};
    json_t *rows = hn_connection_read(
        connection,
        "INSERT INTO hone.claim AS c VALUES($1, $2, $3, $4, $5, $6, now(), " LEASE ", NULL)"
        " ON CONFLICT (subject) DO UPDATE SET machine = excluded.machine, owner = excluded.owner,"
        " since = excluded.since, until = excluded.until, finished = NULL"
        " WHERE c.until < now() OR c.until > " LONGEST " OR c.finished IS NOT NULL"
        " OR c.owner = excluded.owner"
        " RETURNING 1 AS own",
        values, 6, err);
    bool held = json_array_size(rows) > 0;
    json_decref(rows);
    return held;
}

enum hn_claim_state hn_claim_try(struct hn_connection *connection,
                                 const struct hn_claimant *claimant, const struct hn_claim *claim,
                                 bool again, struct hn_claim_holder *holder, struct hn_error *err)
{
    enum hn_claim_state state = look(connection, claimant, claim, holder, err);
    if (state == HN_CLAIM_TAKEN || (state == HN_CLAIM_DONE && !again))
        return state;
    if (hn_claim_renew(connection, claimant, claim, err) || hn_failed(err))
        return HN_CLAIM_OWN;
    /* Another was faster, just now. */
    state = look(connection, claimant, claim, holder, err);
    return state == HN_CLAIM_OWN ? HN_CLAIM_TAKEN : state;
}

void hn_claim_release(struct hn_connection *connection, const struct hn_claimant *claimant,
                      const struct hn_claim *claim, bool finished, struct hn_error *err)
{
    const char *const values[] = {claim->hash.hex, claimant->name};
    hn_connection_run(connection,
                      finished ? "UPDATE hone.claim SET finished = now(), until = now()"
                                 " WHERE subject = $1 AND owner = $2"
                               : "DELETE FROM hone.claim WHERE subject = $1 AND owner = $2",
                      values, 2, err);
}
