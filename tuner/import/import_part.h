/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_IMPORT_IMPORT_PART_H
#define HONE_TUNER_IMPORT_IMPORT_PART_H

#include <jansson.h>

#include "base/bindings.h"
#include "base/memory.h"
#include "base/text.h"
#include "tuner/import/import.h"
#include "tuner/init/unit.h"

/* Shared by the parts of an import. */

/* Values as other tuners list them. Owns the words. */
struct hn_value_list {
    struct hn_value *values;
    size_t count;
};

enum { HN_VALUE_LIST_MOST = 4096 };

/* Reads Python's text, of which nothing runs: lists, tuples, range(), list(), comprehensions over one of them with an
 * optional condition, and sums of these; elements are expressions as configs have them. A value that is listed twice is
 * kept once. HN_ECONFIG: something else, or too much. */
enum hn_status hn_value_list_parse(const char *text, struct hn_value_list *list, struct hn_error *err);
void hn_value_list_finish(struct hn_value_list *list);

struct hn_import_parameter {
    const char *name; /* borrowed from the file */
    struct hn_value_list list;
    struct hn_value preset; /* the default, if has_preset */
    bool has_preset;
};

struct hn_import {
    const json_t *space; /* ConfigurationSpace */
    const json_t *kernel; /* KernelSpecification */
    const struct hn_import_place *place;
    struct hn_unit source; /* path NULL: there is none, or none that could be read */
    const struct hn_kernel *declared; /* in the source; NULL: not found */
    struct hn_import_parameter *parameters;
    size_t parameter_count;
    struct hn_bindings problem;
    const char **names; /* of parameters, then of the problem */
    size_t name_count;
    struct hn_text text;
    struct hn_blocks *memory; /* of texts that are made on the way */
};

const struct hn_import_parameter *hn_import_find(const struct hn_import *import, const char *name);
/* import_kernel.c: the problem, arguments, launch and compile options. */
void hn_import_read_problem(struct hn_import *import);
void hn_import_write_kernel(struct hn_import *import);

/* A member that is a text; NULL: it is none. */
const char *hn_import_text(const json_t *object, const char *key);
/* Whether the expression means something where these names are known, the problem's only or the parameters' too; else
 * err says why not. */
bool hn_import_holds(const struct hn_import *import, const char *expression, bool with_parameters,
                     struct hn_error *err);
/* As a scalar within brackets, in quotes if need be. */
void hn_import_append(struct hn_text *text, const char *expression);
/* Both in one. */
void hn_import_append_quoted(struct hn_text *text, const char *string, const char *rest);
/* Appends a text of the file as part of a comment, between two others: in one line, of at most 160 bytes. */
void hn_import_append_comment(struct hn_import *import, const char *before, const char *found, const char *behind);

#endif
