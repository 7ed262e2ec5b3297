/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_H
#define HONE_RUNTIME_PLAN_H

#include <jansson.h>

#include "base/bindings.h"
#include "base/expression.h"
#include "base/hash.h"

/* Everything that a config says except the space: what to compile, launch, fill, compare and compute. It is the same
 * for all problems of a config: expressions see problem values and parameters by name. Owns all it points to. Made by
 * tuner/config from YAML or by hn_plan_from_json. */

/* Element types: X(identifier, YAML name, bytes, C name). */
#define HN_ELEMENTS(X)                                                                                                 \
    X(HN_INT8, "int8", 1, "int8_t")                                                                                    \
    X(HN_INT16, "int16", 2, "int16_t")                                                                                 \
    X(HN_INT32, "int32", 4, "int32_t")                                                                                 \
    X(HN_INT64, "int64", 8, "int64_t")                                                                                 \
    X(HN_UINT8, "uint8", 1, "uint8_t")                                                                                 \
    X(HN_UINT16, "uint16", 2, "uint16_t")                                                                              \
    X(HN_UINT32, "uint32", 4, "uint32_t")                                                                              \
    X(HN_UINT64, "uint64", 8, "uint64_t")                                                                              \
    X(HN_FLOAT32, "float32", 4, "float")                                                                               \
    X(HN_FLOAT64, "float64", 8, "double")

enum hn_element {
#define X(identifier, name, bytes, c_name) identifier,
    HN_ELEMENTS(X)
#undef X
        HN_ELEMENT_COUNT
};

size_t hn_element_size(enum hn_element element);
const char *hn_element_name(enum hn_element element);
const char *hn_element_c_name(enum hn_element element);
bool hn_element_parse(const char *name, enum hn_element *element);

/* X(identifier, name): what a kernel does with a buffer. */
#define HN_ROLES(X)                                                                                                    \
    X(HN_ROLE_VALUE, "value")     /* a scalar, passed by value */                                                      \
    X(HN_ROLE_INPUT, "input")     /* must not change */                                                                \
    X(HN_ROLE_OUTPUT, "output")   /* poisoned before, compared after */                                                \
    X(HN_ROLE_INOUT, "inout")     /* restored before every launch, compared after */                                   \
    X(HN_ROLE_SCRATCH, "scratch") /* contents do not matter; may depend on parameters */                               \
    X(HN_ROLE_COUNTER, "counter") /* zeroed before every launch, outside the time */                                   \
    X(HN_ROLE_METRIC, "metric")   /* zeroed before; read by metric expressions as the mean of its elements */

enum hn_role {
#define X(identifier, name) identifier,
    HN_ROLES(X)
#undef X
        HN_ROLE_COUNT
};

const char *hn_role_name(enum hn_role role);
bool hn_role_parse(const char *name, enum hn_role *role);

enum hn_fill_kind { HN_FILL_UNIFORM, HN_FILL_NORMAL, HN_FILL_IOTA, HN_FILL_CONSTANT };

/* uniform(low, high), normal(mean, deviation), iota(start, step), constant(value): a and b in that order. Integers of
 * uniform are low..high inclusive. Element i depends on the seed, the argument's index and i only. */
struct hn_fill {
    enum hn_fill_kind kind;
    double a;
    double b;
};

const char *hn_fill_kind_name(enum hn_fill_kind kind);
/* `numbers` is how many the kind takes: 1 or 2. */
bool hn_fill_kind_parse(const char *name, enum hn_fill_kind *kind, int *numbers);

struct hn_argument {
    char *name;
    enum hn_role role;
    enum hn_element element;
    struct hn_expression *count; /* elements of a buffer; NULL for a scalar */
    struct hn_expression *value; /* of a scalar; NULL for a buffer */
    struct hn_fill fill;         /* of input and inout */
};

/* Launch geometry; unused dimensions are NULL (1). shared_bytes NULL is 0. */
struct hn_geometry {
    struct hn_expression *grid[3];
    struct hn_expression *block[3];
    struct hn_expression *shared_bytes;
};

/* One kernel of the plan. arguments are indices into the plan's arguments, in the order of its signature. */
struct hn_step {
    char *entry; /* extern "C" name, or a C++ name expression whose parameter names are replaced by their values */
    struct hn_geometry geometry;
    size_t *arguments;
    size_t argument_count;
};

/* A compile option, given where the condition holds (NULL: always). {expression} in the text is replaced. */
struct hn_option {
    struct hn_expression *condition;
    char *text;
    struct hn_expression **holes; /* of the text, in order */
    size_t hole_count;
};

/* Copies the text into the option and parses its holes. HN_ECONFIG: a brace without its partner, or an expression that
 * can not be parsed. What was made so far is owned by the option. */
enum hn_status hn_option_set_text(struct hn_option *option, const char *text, struct hn_error *err);
/* HN_ECONFIG for an option, its holes filled in or not yet, with which the compiler would write files or load
 * precompiled headers: what a config says must not change the machine. */
enum hn_status hn_option_check(const char *text, struct hn_error *err);

enum hn_reference_kind {
    HN_REFERENCE_SELF, /* none given: the template at its defaults */
    HN_REFERENCE_NONE, /* "none": everything stays unverified */
    HN_REFERENCE_TEMPLATE,
};

/* A kernel with the same arguments that computes what is right, accumulating in float64. It sees frozen values and the
 * parameters in depends. */
struct hn_reference {
    enum hn_reference_kind kind;
    char *template_path;
    struct hn_step step;
    char **depends;
    size_t depends_count;
};

enum hn_compare_mode { HN_COMPARE_MAX_NORM, HN_COMPARE_EXACT };

struct hn_compare {
    enum hn_compare_mode mode;
    struct hn_expression *relative; /* NULL: 0 */
    struct hn_expression *absolute; /* NULL: 0 */
};

/* Sees problem, parameters, time_us, metric arguments and the metrics before it. Slots after the plan's names: time_us,
 * then the metric arguments in order, then the metrics in order. */
struct hn_metric {
    char *name;
    struct hn_expression *expression;
};

/* A name whose values are words, with all words that it can have in declared order: LOAD=ldg gives LOAD_plain 1,
 * LOAD_ldg 2, LOAD 2. */
struct hn_word_list {
    char *name;
    char **words;
    size_t count;
};

struct hn_plan {
    char *kernel;
    char *template_path; /* absolute */
    char **names;        /* parameters and problem values, sorted: slot i of every expression */
    size_t name_count;
    char **parameters;   /* names of the parameters, declared order */
    size_t parameter_count;
    char **problem;      /* names of the problem values, declared order */
    size_t problem_count;
    char **freeze;       /* problem values that the template sees as constants (words always) */
    size_t freeze_count;
    struct hn_word_list *word_lists;
    size_t word_list_count;
    struct hn_argument *arguments;
    size_t argument_count;
    struct hn_step *steps;
    size_t step_count;
    struct hn_option *options;
    size_t option_count;
    struct hn_reference reference;
    struct hn_compare compare;
    struct hn_metric *metrics;
    size_t metric_count;
    char *objective; /* "time" or the name of a metric */
    bool maximize;
    struct hn_bindings defaults; /* the default point, complete: the self reference's */
};

struct hn_plan *hn_plan_create(void); /* all empty; NULL when out of memory */
void hn_plan_destroy(struct hn_plan *plan);

/* Binds every expression to names, words and metrics. *failed, where failed is not NULL, becomes the expression that
 * could not be bound, so that a caller can say the line. */
enum hn_status hn_plan_bind(struct hn_plan *plan, const struct hn_expression **failed, struct hn_error *err);

/* Canonical JSON (sorted keys, expressions as their text). From JSON: bound and ready; HN_EFORMAT. */
json_t *hn_plan_to_json(const struct hn_plan *plan);
enum hn_status hn_plan_from_json(const json_t *json, struct hn_plan **plan, struct hn_error *err);

/* The parts of the version that come from the plan: launch, arguments, reference, comparison (not metrics, not words
 * of the space), and the compile options. */
struct hn_hash hn_plan_hash(const struct hn_plan *plan);
struct hn_hash hn_plan_options_hash(const struct hn_plan *plan);
/* "A:float32:input,...,M:int32:value": the identity's argument signature. NULL when out of memory. */
char *hn_plan_signature(const struct hn_plan *plan);

/* The values of plan->names for a point of a problem, in slot order, with room for the extra slots of metrics
 * (time_us, metric arguments, metrics). A name that neither point nor problem has takes the plan's default (a reference
 * is given only what it depends on). Words are borrowed from the bindings and the plan. Free it. HN_ECONFIG when a name
 * has no value. */
enum hn_status hn_plan_values(const struct hn_plan *plan, const struct hn_bindings *problem,
                              const struct hn_bindings *point, struct hn_value **values, struct hn_error *err);
/* Adds a copy of the word behind the others; nothing when it is there. */
enum hn_status hn_word_list_add(struct hn_word_list *list, const char *word, struct hn_error *err);
/* Whether the template sees this problem value as a constant (then it is no kernel argument by convention). */
bool hn_plan_is_frozen(const struct hn_plan *plan, const char *name, const struct hn_value *value);

#endif
