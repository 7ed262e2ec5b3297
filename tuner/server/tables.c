/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "cache/record/gate.h"
#include "tuner/server/server_internal.h"

enum { FORMAT = 2 }; /* in make(), too */

/* The documents of a cache file (docs/formats.md): heads of sessions with their lines, plans,
 * images, roofs; and who tunes what. A session is named by its origin, and `subject` is a hash of
 * its task and version. */
static const char *const tables[] = {
    /* Of all who make the tables at once, one does. */
    "BEGIN",
    "SELECT pg_advisory_xact_lock(1213156933)",
    "CREATE SCHEMA IF NOT EXISTS hone",
    "CREATE TABLE IF NOT EXISTS hone.session(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    " origin text COLLATE \"C\" NOT NULL UNIQUE, subject text NOT NULL, kernel text NOT NULL,"
    " problem text NOT NULL, json text NOT NULL, checksum text NOT NULL,"
    " records bigint NOT NULL DEFAULT 0)",
    "CREATE INDEX IF NOT EXISTS session_of_kernel ON hone.session(kernel)",
    "CREATE TABLE IF NOT EXISTS hone.record(session_id bigint NOT NULL REFERENCES hone.session"
    " ON DELETE CASCADE, position bigint NOT NULL, json text NOT NULL, checksum text NOT NULL,"
    " PRIMARY KEY(session_id, position))",
    "CREATE TABLE IF NOT EXISTS hone.plan(hash text PRIMARY KEY, json text NOT NULL)",
    "CREATE TABLE IF NOT EXISTS hone.image(subject text NOT NULL, point text NOT NULL,"
    " entry text NOT NULL, cubin bytea NOT NULL, hash text NOT NULL, PRIMARY KEY(subject, point))",
    "CREATE TABLE IF NOT EXISTS hone.roof(device text NOT NULL, driver text NOT NULL,"
    " measured double precision NOT NULL, json text NOT NULL, PRIMARY KEY(device, driver))",
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
static bool look(struct hn_connection *connection, const char *name, struct hn_error *err)
{
    json_t *rows = hn_connection_read(connection, looking, NULL, 0, err);
    const json_t *row = json_array_get(rows, 0);
    const char *stranger = json_string_value(json_object_get(row, "stranger"));
    bool there = json_is_true(json_object_get(row, "there"));
    if (stranger != NULL)
        hn_fail(err, HN_EFORMAT,
                "%s: %.200s, whose code would run with your rights: you, the database's "
                "owner or a superuser is to own it, and nobody else to have such a right",
                name, stranger);
    json_decref(rows);
    return there;
}

static void make(struct hn_connection *connection, const char *name, struct hn_error *err)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        hn_connection_run(connection, tables[i], NULL, 0, err);
    (void)look(connection, name, err);
    hn_connection_run(connection,
                      "INSERT INTO hone.format SELECT 2,"
                      " replace(gen_random_uuid()::text, '-', '')"
                      " WHERE NOT EXISTS (SELECT 1 FROM hone.format)",
                      NULL, 0, err);
    hn_connection_run(connection, "COMMIT", NULL, 0, err);
}

void hn_tables_open(struct hn_connection *connection, const char *name, char id[33],
                    struct hn_error *err)
{
    int version = 0;
    const char *text = "";
    if (!look(connection, name, err))
        make(connection, name, err);
    json_t *rows = hn_connection_read(
        connection, "SELECT version, left(id, 33) AS id FROM hone.format LIMIT 1", NULL, 0, err);
    (void)json_unpack(json_array_get(rows, 0), "{s:i, s:s}", "version", &version, "id", &text);
    if (!hn_failed(err) && version != FORMAT)
        hn_fail(err, HN_EFORMAT, "%s has tables of format %d, this Hone knows %d: use %s", name,
                version, FORMAT, version > FORMAT ? "the newer Hone" : "another database");
    hn_gate_hash("the id of the server's tables", text, err);
    snprintf(id, 33, "%.32s", text);
    json_decref(rows);
}
