/* SPDX-License-Identifier: MIT */
#include "tuner/server/server_tables.h"

#include <stdio.h>
#include <stdlib.h>

#include "cache/record/gate.h"

enum { FORMAT = 1 }; /* in make(), too */

/* As those of a cache file, but that a row is named by what it says and not by a number of the
 * file's own: task and version are columns of their sessions, records are counted within theirs.
 * `subject` is the hash of task and version together. */
static const char *const tables[] = {
    /* Of all who make the tables at once, one does. */
    "BEGIN",
    "SELECT pg_advisory_xact_lock(1213156933)",
    "CREATE SCHEMA IF NOT EXISTS hone",
    "CREATE TABLE IF NOT EXISTS hone.plan(hash text PRIMARY KEY, json text NOT NULL,"
    " files text NOT NULL)",
    "CREATE TABLE IF NOT EXISTS hone.session(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    " origin text COLLATE \"C\" NOT NULL UNIQUE, subject text NOT NULL, kernel text NOT NULL,"
    " signature text NOT NULL, problem text NOT NULL, regime text NOT NULL,"
    " objective text NOT NULL, device text NOT NULL, capability integer NOT NULL,"
    " sm_count integer NOT NULL, mig_profile text NOT NULL, template_hash text NOT NULL,"
    " options_hash text NOT NULL, plan_hash text NOT NULL, driver text NOT NULL,"
    " nvrtc text NOT NULL, protocol integer NOT NULL, started double precision NOT NULL,"
    " command text NOT NULL, simulated boolean NOT NULL, machine text NOT NULL,"
    " source text NOT NULL, imported double precision NOT NULL,"
    " plan text REFERENCES hone.plan, checksum text NOT NULL, records bigint NOT NULL DEFAULT 0)",
    "CREATE INDEX IF NOT EXISTS session_of_kernel ON hone.session(kernel)",
    "CREATE TABLE IF NOT EXISTS hone.record(session_id bigint NOT NULL REFERENCES hone.session"
    " ON DELETE CASCADE, position bigint NOT NULL, point text NOT NULL, outcome text NOT NULL,"
    " verification integer NOT NULL, final boolean NOT NULL, objective double precision,"
    " json text NOT NULL, checksum text NOT NULL, PRIMARY KEY(session_id, position))",
    "CREATE TABLE IF NOT EXISTS hone.rule(session_id bigint PRIMARY KEY REFERENCES hone.session"
    " ON DELETE CASCADE, json text NOT NULL, checksum text NOT NULL)",
    "CREATE TABLE IF NOT EXISTS hone.image(subject text NOT NULL, point text NOT NULL,"
    " entry text NOT NULL, cubin bytea NOT NULL, hash text NOT NULL, PRIMARY KEY(subject, point))",
    "CREATE TABLE IF NOT EXISTS hone.roof(device text NOT NULL, capability integer NOT NULL,"
    " sm_count integer NOT NULL, mig_profile text NOT NULL, driver text NOT NULL,"
    " measured double precision NOT NULL, copy_gb_per_s double precision NOT NULL,"
    " l2_gb_per_s double precision NOT NULL, fp32_gflops double precision NOT NULL,"
    " launch_us double precision NOT NULL,"
    " PRIMARY KEY(device, capability, sm_count, mig_profile, driver))",
    "CREATE TABLE IF NOT EXISTS hone.claim(subject text PRIMARY KEY, kernel text NOT NULL,"
    " problem text NOT NULL, device text NOT NULL, machine text NOT NULL, owner text NOT NULL,"
    " since timestamptz NOT NULL, until timestamptz NOT NULL, finished timestamptz)",
    "CREATE TABLE IF NOT EXISTS hone.format(version integer NOT NULL, id text NOT NULL)",
};

/* Trusted are whoever asks, who owns the database, and superusers. A table runs its owner's code,
 * and the triggers of whoever may make them, with the rights of whoever writes to it. */
static const char looking[] =
    "WITH part AS (SELECT n.oid, n.nspowner AS owner, n.nspacl AS acl, 'the schema hone' AS name"
    " FROM pg_namespace n WHERE n.nspname = 'hone' UNION ALL SELECT c.oid, c.relowner, c.relacl,"
    " 'hone.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE"
    " n.nspname = 'hone'), hand AS (SELECT name || ' is owned by ' AS what, owner AS role FROM"
    " part UNION ALL SELECT name || ': ' || privilege_type || ' is granted to ', grantee FROM"
    " part, aclexplode(acl) WHERE privilege_type IN ('TRIGGER', 'CREATE') UNION ALL SELECT name ||"
    " ' has a trigger by ', CASE WHEN tgqual IS NULL THEN proowner ELSE 0 END FROM part JOIN"
    " pg_trigger ON tgrelid = part.oid JOIN pg_proc f ON f.oid = tgfoid WHERE NOT tgisinternal)"
    " SELECT to_regclass('hone.format') IS NOT NULL AS there, (SELECT min(what ||"
    " coalesce(rolname, 'anybody')) FROM hand LEFT JOIN pg_roles r ON r.oid = role WHERE NOT"
    " coalesce(rolsuper OR rolname = current_user OR r.oid = (SELECT datdba FROM pg_database WHERE"
    " datname = current_database()), false)) AS stranger";

/* Whether the tables are there; a failure where others could have their code run there. */
static enum hn_status look(struct hn_connection *connection, const char *name, bool *there,
                           struct hn_error *err)
{
    json_t *rows;
    enum hn_status status = hn_connection_read(connection, looking, NULL, 0, &rows, err);
    const json_t *row = json_array_get(rows, 0);
    const char *stranger = json_string_value(json_object_get(row, "stranger"));
    *there = json_is_true(json_object_get(row, "there"));
    if (stranger != NULL)
        status = hn_fail(err, HN_EFORMAT,
                         "%s: %.200s, whose code would run with your rights: you, the database's "
                         "owner or a superuser is to own it, and nobody else to have such a right",
                         name, stranger);
    json_decref(rows);
    return status;
}

static enum hn_status make(struct hn_connection *connection, const char *name, struct hn_error *err)
{
    bool there;
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < sizeof tables / sizeof *tables; i++)
        status = hn_connection_run(connection, tables[i], NULL, 0, err);
    if (status == HN_OK)
        status = look(connection, name, &there, err);
    if (status == HN_OK)
        status = hn_connection_run(connection,
                                   "INSERT INTO hone.format SELECT 1,"
                                   " replace(gen_random_uuid()::text, '-', '')"
                                   " WHERE NOT EXISTS (SELECT 1 FROM hone.format)",
                                   NULL, 0, err);
    return status == HN_OK ? hn_connection_run(connection, "COMMIT", NULL, 0, err) : status;
}

static enum hn_status read_format(struct hn_connection *connection, const char *name,
                                  struct hn_server_id *id, struct hn_error *err)
{
    json_t *rows;
    int version = 0;
    const char *text = "";
    enum hn_status status = hn_connection_read(
        connection, "SELECT version, left(id, 33) AS id FROM hone.format LIMIT 1", NULL, 0, &rows,
        err);
    if (status != HN_OK)
        return status;
    (void)json_unpack(json_array_get(rows, 0), "{s:i, s:s}", "version", &version, "id", &text);
    if (version != FORMAT)
        status =
            hn_fail(err, HN_EFORMAT, "%s has tables of format %d, this Hone knows %d: use %s", name,
                    version, FORMAT, version > FORMAT ? "the newer Hone" : "another database");
    if (status == HN_OK)
        status = hn_gate_hash("the id of the server's tables", text, err);
    snprintf(id->text, sizeof id->text, "%.32s", text);
    json_decref(rows);
    return status;
}

enum hn_status hn_server_tables_open(struct hn_connection *connection, const char *name,
                                     struct hn_server_id *id, struct hn_error *err)
{
    bool there;
    enum hn_status status = look(connection, name, &there, err);
    if (status == HN_OK && !there)
        status = make(connection, name, err);
    return status == HN_OK ? read_format(connection, name, id, err) : status;
}
