/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPORT_EXPORT_PARTS_H
#define HONE_TUNER_EXPORT_EXPORT_PARTS_H

#include "base/expression/expression.h"
#include "base/memory.h"
#include "base/text.h"
#include "cache/store/store.h"
#include "tuner/config/config.h"
#include "tuner/export/export.h"
#include "tuner/report/render.h"

/* The files of the room share this. Whatever takes an err, or a writer that has one, does nothing once it has
 * failed. */

/* The rule of a family in a header. Words of the problem are part of compiled code, so that each configuration of the
 * rule is there once for each way to choose them: a variant. */
struct hn_export_family {
    const struct hn_tuned *stored; /* the one of the device */
    size_t variants;
    struct hn_bindings *problems; /* of each variant: the chosen result's with the variant's words */
    size_t row_count;             /* configurations of the rule times variants, a configuration's side by side */
    struct hn_tuned *rows;        /* borrow problem and point: no results, without a time */
    size_t *config_of;            /* the number of each row's configuration in the header */
};

/* Takes of the export's rules that of the chosen result's device, else of one of its compute capability, and leaves
 * out results that are none of the rule's configurations. Nothing happens where there is no rule, or it is of another state of the config. */
void hn_export_take_family(struct hn_export *export, struct hn_error *err);
void hn_export_family_finish(struct hn_export_family *family); /* NULL is fine */

/* Whether the plan has all names of a result, whose words it learns; without a plan: those of the first. */
bool hn_export_is_compatible(const struct hn_export *export, const struct hn_tuned *result, struct hn_error *err);

/* HN_ENOTFOUND when the cache keeps no plan (results that were imported). */
enum hn_status hn_export_need_plan(const struct hn_export *export, struct hn_error *err);
/* Entries and options of a result's configuration, without the template's text. Finish it. */
enum hn_status hn_export_make_source(const struct hn_export *export, const struct hn_tuned *tuned,
                                     struct hn_source *source, struct hn_error *err);

/* The machine code of an export: an image for each configuration and architecture. */
struct hn_export_image {
    size_t config;
    char architecture[16]; /* "sm_90", "sm_90a" */
    int capability;
    struct hn_image image; /* with its entries */
    bool missing;          /* the cache does not keep it */
};

struct hn_export_images {
    struct hn_export_image *items; /* by configuration, then in the order of the architectures */
    size_t count;
};

/* Machine code, in the last one, is in one C file with the header, all images and what loads them. */
extern const struct hn_export_format hn_export_header, hn_export_json, hn_export_source, hn_export_patch, hn_export_rows,
    hn_export_cubin_header;

/* Appends the types of an argument of export->plan in C, "float or int". */
void hn_export_append_types(const struct hn_export *export, const struct hn_argument *argument, struct hn_text *text);
/* HN_ECONFIG: configurations have it of several types, which no C can have. */
void hn_export_need_one_type(const struct hn_export *export, const struct hn_argument *argument, struct hn_error *err);

/* The part of an export that is being written, and where it goes. */
struct hn_export_writer {
    const struct hn_export *export;
    const struct hn_plan *plan; /* the export's */
    struct hn_export_code *codes; /* of the configurations and the fallback */
    struct hn_export_rule *rule;  /* NULL: the export has none */
    json_t *document; /* that the holes of skeletons are filled from */
    const json_t *item; /* of it, where the line is */
    struct hn_text *text;
    struct hn_error *err;
    struct hn_blocks memory; /* of what is made on the way */
};

/* Definitions of macros, values by names. */
enum hn_export_macros {
    HN_EXPORT_PRELUDE, /* that a configuration was compiled with */
    HN_EXPORT_OTHERS,  /* that the header has besides: words of problem values, and where and for what it was tuned */
    HN_EXPORT_MACROS
};

/* A configuration in C. */
struct hn_export_code {
    struct hn_export_writer *writer;
    size_t config;
    const struct hn_plan *plan; /* its own */
    json_t *macros[HN_EXPORT_MACROS];
    struct hn_value *values; /* of its own problem and point; NULL where the plan is a pipeline, which C does not launch */
    struct hn_c_slot *slots; /* names, then the pitches of arguments, then the clusters that run at once */
    struct hn_value clusters;
};

/* The truth of a condition, "1" where it is NULL or known to hold, which lives as long as the writer. A condition that C cannot say (words of
 * two lists compared) counts as true for the problem that was tuned alone. */
const char *hn_export_condition(const struct hn_export_code *code, const struct hn_expression *condition);

/* Appends a piece of a list, behind `line_break` ("\n    " and the like) where it would pass the 110th column. */
void hn_export_append_wrapped(struct hn_text *text, const char *line_break, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Appends a switch over bodies by their numbers, of which equal ones stand once, and none that is NULL or "". */
void hn_export_append_switch(const char *over, const char **bodies, size_t count, struct hn_text *text);
/* A string as a C literal (NULL: as NULL), and a time with a point or an exponent. */
void hn_export_append_literal(struct hn_text *text, const char *string);
/* A value as C: words as their prefixed macros. */
void hn_export_append_value(const struct hn_export *export, const char *name, const struct hn_value *value,
                            struct hn_text *text);
/* A result, or what could be one, as the header's tables have it. */
json_t *hn_export_row_to_json(const struct hn_export *export, const struct hn_tuned *tuned, size_t config);

/* Exported C is a skeleton (header.h.in, embedded.h.in) that is filled in from a document. HONE_NAME and
 * hone_NAME become the prefix. A line is one of tuner/report/render.h, with double braces and brackets; {{name}} may be a
 * part, too, which is written by C. Lines from {{#name}} to {{/name}} stay, for each item where it is an array, where the
 * document has something; those from {{^name}} where it has not. {{array;separator;piece;blanks}} is a list. Lines behind " * " become a comment's. */
struct hn_export_part {
    const char *name;
    void (*write)(struct hn_export_writer *writer);
};

extern const char hn_export_header_skeleton[], hn_export_embedded_skeleton[];

/* Each list ends with a part without a name. */
extern const struct hn_export_part hn_export_function_parts[], hn_export_rule_parts[],
    hn_export_driver_parts[];

/* What was measured of the first configuration, and how it is compiled, as a document. */
json_t *hn_export_tuned_to_json(const struct hn_export *export, struct hn_error *err);
/* What the document says of the family. */
json_t *hn_export_family_to_json(const struct hn_export_writer *writer);
/* And of the arguments that the caller gives to the launch of the driver. */
json_t *hn_export_parameters_to_json(const struct hn_export_writer *writer);
/* The rule of the family as C, which lives as long as the writer; NULL: there is none. */
struct hn_export_rule *hn_export_rule_make(struct hn_export_writer *writer);

/* Fills a skeleton in. */
void hn_export_write(const struct hn_export *export, const char *skeleton, struct hn_text *text, struct hn_error *err);

/* Whether an argument, or a tensor map over it, is passed to a kernel; and whether the caller gives it: scalars that
 * follow from problem and point are computed. */
bool hn_export_is_taken(const struct hn_plan *plan, size_t argument);
bool hn_export_is_given(const struct hn_argument *argument);
/* How many members hone_…_sizes has. */
size_t hn_export_count_sizes(const struct hn_plan *plan);
/* The number of a tensor map among those of the plan. */
size_t hn_export_map_number(const struct hn_plan *plan, size_t argument);
/* Whether a problem value is passed as a double (some configuration has it real). */
bool hn_export_problem_is_real(const struct hn_export *export, const char *name);
/* The template's text. HN_EFORMAT: the cache has none. It is stored under its own name: as the cache was told, its
 * path or the end of it. */
const char *hn_export_template(const struct hn_export *export, struct hn_error *err);

#endif
