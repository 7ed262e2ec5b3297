-- SPDX-License-Identifier: MIT
-- The documents of a cache file (docs/formats.md): heads of sessions with their lines, plans, images, roofs; and who tunes
-- what. A session is named by its origin, and `subject` is a hash of its task and version.
DO $tables$ BEGIN
    -- Of all who make the tables at once, one does.
    PERFORM pg_advisory_xact_lock(1213156933);
    CREATE SCHEMA IF NOT EXISTS hone;
    CREATE TABLE IF NOT EXISTS hone.session(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, origin text COLLATE
        "C" NOT NULL UNIQUE, subject text NOT NULL, kernel text NOT NULL, problem text NOT NULL, json text NOT NULL,
        checksum text NOT NULL, records bigint NOT NULL DEFAULT 0);
    CREATE INDEX IF NOT EXISTS session_of_kernel ON hone.session(kernel);
    CREATE TABLE IF NOT EXISTS hone.record(session_id bigint NOT NULL REFERENCES hone.session ON DELETE CASCADE,
        position bigint NOT NULL, json text NOT NULL, checksum text NOT NULL, PRIMARY KEY(session_id, position));
    CREATE TABLE IF NOT EXISTS hone.plan(hash text PRIMARY KEY, json text NOT NULL);
    CREATE TABLE IF NOT EXISTS hone.image(subject text NOT NULL, point text NOT NULL, entry text NOT NULL, cubin bytea
        NOT NULL, hash text NOT NULL, PRIMARY KEY(subject, point));
    CREATE TABLE IF NOT EXISTS hone.roof(device text NOT NULL, driver text NOT NULL, measured double precision NOT
        NULL, json text NOT NULL, PRIMARY KEY(device, driver));
    CREATE TABLE IF NOT EXISTS hone.claim(subject text PRIMARY KEY, kernel text NOT NULL, problem text NOT NULL,
        device text NOT NULL, machine text NOT NULL, owner text NOT NULL, since timestamptz NOT NULL, until
        timestamptz NOT NULL, finished timestamptz);
    CREATE TABLE IF NOT EXISTS hone.format(version integer NOT NULL, id text NOT NULL);
END $tables$
