/* SPDX-License-Identifier: MIT */
#include "hostile_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/unit/ended.h"

enum { QUERY = 400 };

static const char columns_from[] =
    " FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'"
    " AND c.name NOT IN ('cubin', 'checksum') ORDER BY 1";

/* "UPDATE record SET point = " of any column; NULL without memory. */
static char *pick_column(const char *format, struct fuzz_random *random)
{
    char sql[QUERY];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM (SELECT m.name%s)", columns_from);
    char *count FREED = fuzz_ask_base(sql);
    size_t columns = count == NULL ? 1 : strtoul(count, NULL, 10);
    snprintf(sql, sizeof sql, "SELECT %s%s LIMIT 1 OFFSET %zu", format, columns_from,
             fuzz_below(random, columns == 0 ? 1 : columns));
    return fuzz_ask_base(sql);
}

static const char *pick_value(struct fuzz_random *random)
{
    static const char *const values[] = {
        "NULL",
        "0",
        "-1",
        "1",
        "2",
        "3",
        "9223372036854775807",
        "-9223372036854775808",
        "1e308",
        "-1e308",
        "1e-320",
        "0.5",
        "-0.0",
        "1763697600.0",
        "3976000000.0",
        "''",
        "'x'",
        "'ok'",
        "'cold'",
        "'time'",
        "'gbps maximize'",
        "'mode=fast,n=4096'",
        "'n=4096,mode=fast'",
        "'BLOCK=64,WIDE=0'",
        "x'00ff'",
        "CAST(x'ff9b31' AS TEXT)",
        "'a' || char(10) || 'b'",
        "char(27) || '[2J'",
        "char(0)",
        "zeroblob(70000)",
        "printf('%.*c', 70000, 'a')",
        "printf('%.*c', 400, 'b')",
        "'00000000000000000000000000000000'",
        "'idle'",
        "'sgemm_sum'",
        "'sgemm_sum' || char(10) || 'sgemm_clear'",
        "char(10)",
        "'k */ #error'",
        "'../../x'",
        "'/dev/zero'",
        "'{'",
        "'[]'",
        "'{}'",
        "'null'",
    };
    return values[fuzz_below(random, sizeof values / sizeof *values)];
}

static void add_where(struct hn_text *line, struct fuzz_random *random)
{
    static const char *const places[] = {"", " WHERE rowid = 1", " WHERE rowid = 2",
                                         " WHERE rowid = 3", " WHERE rowid > 3"};
    hn_text_append(line, places[fuzz_below(random, sizeof places / sizeof *places)]);
}

static void set_column(struct hn_text *line, struct fuzz_random *random)
{
    char *head FREED = pick_column("'UPDATE ' || m.name || ' SET ' || c.name || ' = '", random);
    char *other FREED = pick_column("'(SELECT ' || c.name || ' FROM ' || m.name", random);
    if (head != NULL && other != NULL && fuzz_below(random, 4) == 0)
        hn_text_printf(line, "%s%s LIMIT 1 OFFSET %zu)", head, other, fuzz_below(random, 3));
    else if (head != NULL)
        hn_text_printf(line, "%s%s", head, pick_value(random));
    add_where(line, random);
}

/* The JSON of a record, a plan or a session as another. */
static void set_json(struct hn_text *line, struct fuzz_random *random)
{
    char sql[QUERY];
    static const struct {
        const char *table, *column;
        size_t rows;
    } places[] = {{"record", "json", 9},
                  {"record", "json", 9},
                  {"plan", "json", 1},
                  {"session", "task", 3},
                  {"session", "version", 3}};
    const size_t place = fuzz_below(random, sizeof places / sizeof *places);
    const char *table = places[place].table;
    snprintf(sql, sizeof sql, "SELECT %s FROM %s ORDER BY rowid LIMIT 1 OFFSET %zu",
             places[place].column, table, fuzz_below(random, places[place].rows));
    char *json FREED = fuzz_ask_base(sql);
    char *mutated FREED = json == NULL ? NULL : fuzz_mutate_json(json, strlen(json), random);
    hn_text_printf(line, "UPDATE %s SET %s = '", table, places[place].column);
    for (const char *c = mutated == NULL ? "" : mutated; *c != '\0'; c++) {
        hn_text_append_bytes(line, c, 1);
        if (*c == '\'')
            hn_text_append(line, "'");
    }
    hn_text_append(line, "'");
    add_where(line, random);
}

static void add_other(struct hn_text *line, struct fuzz_random *random)
{
    static const char *const lines[] = {
        "!apart",
        "!unsealed",
        "PRAGMA user_version = -1",
        "PRAGMA user_version = 8",
        "PRAGMA application_id = 0",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE t(a)",
        "CREATE INDEX i ON record(json)",
        "CREATE TRIGGER r AFTER INSERT ON record BEGIN DELETE FROM record; END",
        "DROP INDEX record_by_objective",
        "DROP TABLE roof",
        "DELETE FROM plan",
        "UPDATE plan SET json = json_remove(json, '$.files')",
        "DELETE FROM session WHERE rowid = 1",
        "DELETE FROM record WHERE rowid < 3",
        "DELETE FROM image WHERE rowid = 2",
        "UPDATE sqlite_schema SET rootpage = 2 WHERE name = 'record'",
        "UPDATE sqlite_schema SET rootpage = 99999 WHERE name = 'image'",
        "UPDATE sqlite_schema SET name = 'session' WHERE name = 'plan'",
        "INSERT INTO record SELECT NULL, session_id, point, outcome, 2, 1, objective, json, 0"
        " FROM record",
        "INSERT INTO session SELECT NULL, origin || id, kernel, problem, task, version, plan, rule,"
        " started + 1, command, 1, machine, '', 0, 0 FROM session",
        "UPDATE plan SET json = json_set(json, '$.files[#]', json_extract(json, '$.files[0]'))",
        "INSERT INTO session SELECT NULL, origin || 'x', kernel || '2', problem,"
        " json_set(task, '$.kernel', kernel || '2'), version, plan, rule, started, command,"
        " simulated, machine, source, imported, 0 FROM session",
        "UPDATE record SET json = json_set(json, '$.final', json('true'), '$.objective', 0.001,"
        " '$.timing.median_us', 0.001, '$.timing.low_us', 0.001, '$.timing.high_us', 0.001)",
    };
    size_t pick = fuzz_below(random, 1 + sizeof lines / sizeof *lines);
    if (pick < sizeof lines / sizeof *lines)
        hn_text_append(line, lines[pick]);
    else
        hn_text_printf(line, "#%zu %zu", fuzz_below(random, 1 << fuzz_below(random, 17)),
                       fuzz_below(random, 256));
}

static void add_line(struct hn_text *text, struct fuzz_random *random)
{
    switch (fuzz_below(random, 8)) {
    case 0:
        add_other(text, random);
        break;
    case 1:
    case 2:
    case 3:
        set_column(text, random);
        break;
    default:
        set_json(text, random);
    }
    hn_text_append(text, "\n");
}

size_t fuzz_mutate_script(uint8_t *script, size_t size, size_t most, struct fuzz_random *random)
{
    struct hn_text text ENDED_BY(hn_text_finish) = {0};
    size_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += script[i] == '\n';
    size_t chosen = fuzz_below(random, lines + 1);
    size_t keep = fuzz_below(random, 3);
    const char *at = (const char *)script;
    const char *end = at + size;
    for (size_t i = 0; i < lines && at < end; i++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline == NULL ? end : newline) - at);
        if (i != chosen)
            hn_text_append_bytes(&text, at, length);
        if (i != chosen && length > 0)
            hn_text_append(&text, "\n");
        if (i == chosen && keep > 0)
            add_line(&text, random);
        at += length + 1;
    }
    if (chosen >= lines)
        add_line(&text, random);
    size_t length = text.failed || text.length > most ? 0 : text.length;
    if (length > 0)
        memcpy(script, text.data, length);
    return length;
}
