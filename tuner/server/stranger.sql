-- SPDX-License-Identifier: MIT
-- Trusted are whoever asks, who owns the database, and superusers. A table runs its owner's code, and the triggers of whoever
-- may make them, with the rights of whoever writes to it.
WITH part AS (SELECT n.oid, n.nspowner AS owner, n.nspacl AS acl, 'the schema hone' AS name FROM pg_namespace n WHERE
    n.nspname = 'hone' UNION ALL SELECT c.oid, c.relowner, c.relacl, 'hone.' || c.relname FROM pg_class c JOIN
    pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'hone'), hand AS (SELECT name || ' is owned by ' AS
    what, owner AS role FROM part UNION ALL SELECT name || ': ' || privilege_type || ' is granted to ', grantee FROM
    part, aclexplode(acl) WHERE privilege_type IN ('TRIGGER', 'CREATE') UNION ALL SELECT name || ' has a trigger by ',
    CASE WHEN tgqual IS NULL THEN proowner ELSE 0 END FROM part JOIN pg_trigger ON tgrelid = part.oid JOIN pg_proc f
    ON f.oid = tgfoid WHERE NOT tgisinternal) SELECT to_regclass('hone.format') IS NOT NULL AS there, (SELECT min(what
    || coalesce(rolname, 'anybody')) FROM hand LEFT JOIN pg_roles r ON r.oid = role WHERE NOT coalesce(rolsuper OR
    rolname = current_user OR r.oid = (SELECT datdba FROM pg_database WHERE datname = current_database()), false)) AS
    stranger
