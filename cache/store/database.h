/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_STORE_DATABASE_H
#define HONE_CACHE_STORE_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* A thin layer over SQLite: the only user of sqlite3.h. It turns SQLite's codes into messages that
 * name the file: HN_ERUN for what the machine denies (disk full, read-only, locked), HN_EFORMAT for
 * what the file denies (corrupt, truncated, no database, tables that are not there).
 *
 * Each file is opened as if an enemy had made it: views and triggers do not run, lengths and
 * depths are bounded, and a statement that reads ends after a minute. SQL has checksum(…), the
 * CRC-32 of its arguments. */
struct hn_database;
struct hn_statement;

enum hn_database_mode {
    HN_DATABASE_READ,
    HN_DATABASE_WRITE, /* made when missing */
};

/* All that takes an err and returns no status is sticky: it does nothing where err has failed. */
struct hn_database *hn_database_open(const char *path, enum hn_database_mode mode, struct hn_error *err);
void hn_database_close(struct hn_database *database); /* NULL is fine */

/* Runs statements that give no rows. */
void hn_database_run(struct hn_database *database, const char *sql, struct hn_error *err);
/* One with parameters. kinds: of its values as for hn_statement_bind, and behind a '>' of the first columns of its first row as for
 * hn_statement_read. Whether there is a row. */
bool hn_database_do(struct hn_database *database, struct hn_error *err, const char *sql, const char *kinds, ...);
/* The first column of the first row; 0 where there is none. */
int64_t hn_database_integer(struct hn_database *database, const char *sql, struct hn_error *err);
/* Commits what was begun, or takes all of it back where err has failed; returns err's status. */
enum hn_status hn_database_commit(struct hn_database *database, struct hn_error *err);

/* Switches the journal and says whether it is so now. A database that others use just then is waited for. */
bool hn_database_set_wal(struct hn_database *database, bool wal, struct hn_error *err);
/* How long a statement that reads may take inside SQLite, from the next one on; INFINITY: as long as it takes. */
void hn_database_set_patience(struct hn_database *database, double patience_ms);

/* Whether the file is no longer at its path: deleted, moved, or another is there. */
bool hn_database_has_moved(const struct hn_database *database);
/* All of it, into a file that is empty. */
void hn_database_copy(struct hn_database *database, const char *path, struct hn_error *err);

/* The statement belongs to the caller; finish before the database is closed. NULL after a failure, which all below takes. Its first
 * parameters are bound, as hn_statement_bind does it. */
struct hn_statement *hn_database_prepare(struct hn_database *database, struct hn_error *err, const char *sql,
                                         const char *kinds, ...);
void hn_statement_finish(struct hn_statement *statement);

/* The same as hn_statement_step, where there is no row more the statement is finished, and NULL. */
bool hn_statement_next(struct hn_statement **statement, struct hn_error *err);
/* Copies columns of the current row from `first` on, for each a letter and where it goes: t a char * (n: NULL for ""), c characters
 * and their size_t, where HN_EFORMAT says that it is longer, i an int64_t, b a bool, r a double; p bytes
 * and their size_t, which are valid until the next step. */
void hn_statement_read(struct hn_statement *statement, int first, struct hn_error *err, const char *kinds, ...);

/* Binds the next parameters, for each a letter and a value: t a text (NULL: SQL's NULL), i an int64_t, r a double, b bytes and their
 * size_t. Texts and bytes are borrowed until the statement has run; a failure shows when it is stepped. */
void hn_statement_bind(struct hn_statement *statement, const char *kinds, ...);

/* Whether there is a row more. After the last one the statement can be bound anew. */
bool hn_statement_step(struct hn_statement *statement, struct hn_error *err);
/* Steps to the end. */
void hn_statement_run(struct hn_statement *statement, struct hn_error *err);

/* Columns of the current row, from 0; valid until the next step. Text is never NULL. */
const char *hn_column_text(struct hn_statement *statement, int column);
int64_t hn_column_integer(struct hn_statement *statement, int column);

#endif
