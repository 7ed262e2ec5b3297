/* SPDX-License-Identifier: MIT */
#ifndef HONE_BASE_SCHEMA_H
#define HONE_BASE_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Reading JSON that nobody vouches for: sticky (base/error.h), so that a sequence of reads is a sequence of lines. */
struct hn_json_reader {
    const char *what; /* begins messages: "plan" */
    struct hn_error *err;
    const void *root; /* for those that need to know what they are a part of; may be NULL */
};

/* "<what>: '<key>' is not <expected>" where `holds` is false, with HN_EFORMAT. Returns whether all is well so far. */
bool hn_json_expect(struct hn_json_reader *reader, bool holds, const char *key, const char *expected);
/* What it is, for messages: "an object"; "nothing" for NULL. */
const char *hn_json_type_name(const json_t *json);

/* A number, or as hn_real_to_json writes it. */
bool hn_real_from_json(const json_t *json, double *real);

/* Fill an object or array, sticky: they take the value, and free the whole, which is NULL from then on, where that is NULL or memory
 * ends. */
void hn_build_set(json_t **object, const char *key, json_t *value);
void hn_build_append(json_t **array, json_t *value);

/* Takes the folder off a path in an object: elsewhere it says nothing, and a checkout there is the same. */
void hn_json_drop_folder(json_t *object, const char *key);

/* Takes the JSON, and gives its text as json_dumps writes it, to be freed; NULL where there is none. */
char *hn_json_text(json_t *json, size_t flags);

/* A number; {"real": "nan"}, "inf" or "-inf" for what JSON cannot say. */
json_t *hn_real_to_json(double real);
/* null for NULL. Compiler logs may hold any bytes, JSON holds UTF-8 only: of a string that is not UTF-8, '?' for all that is not ASCII. */
json_t *hn_string_to_json(const char *string);

/* The members of a struct, spelled once: a table says where each lies, what it is called in JSON and what it holds, and
 * reading, writing, freeing and walking go by the table. A new key costs a row. */

enum hn_field_kind {
    HN_FIELD_TEXT,       /* char *: a string that is not empty */
    HN_FIELD_WORD,       /* char *: a name */
    HN_FIELD_STRING,     /* char *: any string; null: none; hn_string_to_json writes it */
    HN_FIELD_CHARS,      /* char[most + 1]: a string of at most so many bytes */
    HN_FIELD_HASH,       /* char[33]: 32 hexadecimal digits, or "" */
    HN_FIELD_INDEX,      /* size_t */
    HN_FIELD_INTEGER,    /* int64_t */
    HN_FIELD_COUNT,      /* int from least to most; most = 0: to INT_MAX */
    HN_FIELD_REAL,       /* double; {"real": "nan"} for what JSON cannot say */
    HN_FIELD_FINITE,     /* double */
    HN_FIELD_AMOUNT,     /* double, finite and not negative */
    HN_FIELD_FLAG,       /* bool */
    HN_FIELD_CHOICE,     /* an enum that starts at 0, by its name */
    HN_FIELD_NAMED_FLAG, /* bool, by the name of each: false first */
    HN_FIELD_STRUCT,     /* inside of the owner */
    HN_FIELD_POINTER,    /* to a struct; NULL: not there */
    HN_FIELD_LIST,       /* pointer to structs, or to values, and their count */
    HN_FIELD_OBJECT,     /* json_t *: an object that stays one */
    HN_FIELD_OWN,        /* by functions of its own */
};

/* Whether a choice of the owner is one of some, by the bits of their numbers; no bits: always. */
struct hn_among {
    size_t offset;
    unsigned bits;
};

struct hn_field {
    const char *key; /* NULL: no part of the JSON; "": the element of a list of values */
    enum hn_field_kind kind;
    bool needed; /* to read: there has to be one. To write: always */
    bool always; /* to write: also where it is false, 0, "", no element or a struct of nothing but these. To read: where there
                    is none, it stays so */
    size_t offset;
    size_t count_offset;             /* of a list: of its count, a size_t */
    const void *of;                  /* hn_structure of a struct or list, hn_field_own, or the names of a choice */
    int choices;                     /* how many names */
    int least;                       /* of a count: the smallest */
    size_t most;                     /* of a string, count or list: the largest; of a list 0: any */
    bool (*when)(const void *owner); /* whether the owner has it, by the fields before it; NULL: always */
    struct hn_among among;           /* the same, by a choice before it */
    const char *why;                 /* who has it, where one that has it not may not give the key: "counter has it" */
    bool (*told)(const void *owner); /* whether it is written, where all fields are known; NULL: always. A struct that has
                                        it is written also where it is empty */
    int tag;                         /* for its own functions and for those that walk */
};

struct hn_structure {
    size_t size;
    const struct hn_field *fields;
    size_t count;
    /* What fields have to be beside one another, and what follows from them; NULL: nothing. After all were read. */
    void (*check)(struct hn_json_reader *reader, void *owner);
};

/* For tables, of what is called `struct type`. */
#define HN_NEEDED(name) .key = name, .needed = true
#define HN_AMONG(type, member, choices) .among = {offsetof(struct type, member), choices}
#define HN_AT(type, member) .offset = offsetof(struct type, member)
#define HN_CHARS(type, member) \
    .kind = HN_FIELD_CHARS, .most = sizeof((struct type *)NULL)->member - 1, HN_AT(type, member)
#define HN_OWN(type, member, functions) .kind = HN_FIELD_OWN, .of = &(functions), HN_AT(type, member)
#define HN_CHOICE(type, member, names) \
    .kind = HN_FIELD_CHOICE, .of = (names), .choices = sizeof(names) / sizeof *(names), HN_AT(type, member)
#define HN_NAMED_FLAG(type, member, names) .kind = HN_FIELD_NAMED_FLAG, .of = (names), .choices = 2, HN_AT(type, member)
#define HN_STRUCT(type, member, structure) .kind = HN_FIELD_STRUCT, .of = &(structure), HN_AT(type, member)
#define HN_POINTER(type, member, structure) .kind = HN_FIELD_POINTER, .of = &(structure), HN_AT(type, member)
#define HN_LIST(type, member, counter, structure) \
    .kind = HN_FIELD_LIST, .of = &(structure), HN_AT(type, member), .count_offset = offsetof(struct type, counter)
#define HN_STRUCTURE(type, fields, check) {sizeof(struct type), fields, sizeof(fields) / sizeof *(fields), check}

/* `member` is where the field lies. read NULL: it is read elsewhere. build gives null for what is not written, and NULL when out
 * of memory. */
struct hn_field_own {
    void (*read)(struct hn_json_reader *reader, const struct hn_field *field, const json_t *json, void *member);
    json_t *(*build)(const struct hn_field *field, const void *member);
    void (*finish)(void *member);
};

/* What lies at an offset in a struct: a member, or the count of a list. */
static inline void *hn_field_at(const void *owner, size_t offset)
{
    return (char *)owner + offset;
}

/* Whether its owner has it. */
bool hn_field_applies(const struct hn_field *field, const void *owner);

/* Copies one value to where the field says that it lies in its owner. */
void hn_field_read(struct hn_json_reader *reader, const struct hn_field *field, const json_t *json, void *owner);
/* Into a zeroed struct, which owns what was read also after a failure, and is the reader's root. Sticky; HN_ECONFIG of what is
 * in it becomes HN_EFORMAT. what: begins messages. */
void hn_fields_read(const char *what, const struct hn_structure *structure, const json_t *json, void *owner,
                    struct hn_error *err);
json_t *hn_fields_to_json(const struct hn_structure *structure, const void *owner); /* NULL when out of memory */
/* Frees what the members own, not the struct itself. */
void hn_fields_finish(const struct hn_structure *structure, void *owner);

/* Calls `visit` for each field that has functions of its own, in the order of the tables. */
void hn_fields_walk(const struct hn_structure *structure, void *owner,
                    void (*visit)(void *context, const struct hn_field *field, void *member), void *context);

#endif
