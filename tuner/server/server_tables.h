/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SERVER_SERVER_TABLES_H
#define HONE_TUNER_SERVER_SERVER_TABLES_H

#include "tuner/server/connection.h"

/* The tables of a site's cache, in the schema `hone` of its database. docs/formats.md describes them. */

/* A database's own name, drawn when the tables were made. */
struct hn_server_id {
    char text[33];
};

/* Looks whether the tables are there, and makes them where there are none. HN_EFORMAT: they are of a newer Hone. */
enum hn_status hn_server_tables_open(struct hn_connection *connection, const char *name, struct hn_server_id *id,
                                     struct hn_error *err);

#endif
