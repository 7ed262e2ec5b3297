/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_PLAN_PLAN_H
#define HONE_RUNTIME_PLAN_PLAN_H

#include <jansson.h>

#include "base/bindings.h"
#include "base/schema.h"
#include "base/hash.h"
#include "cache/record/record.h"
#include "runtime/plan/argument.h"

/* Everything that a config says except the space: what to compile, launch, fill, compare and compute. It is the same
 * for all problems of a config, but where the type of an argument is one of their values: expressions see problem
 * values and parameters by name. Owns all it points to. Made by tuner/config from YAML or by hn_plan_from_json. */

/* A window over a buffer, through which a launch tells the L2 cache what is worth keeping (CUDA C++ Programming Guide,
 * "Device Memory L2 Access Management"): a share of the accesses that fall into it has the property `hit`, the rest
 * `miss`. Data that persists is kept in a part of the cache that is set aside for it. */

/* As the driver's CUaccessProperty counts them. */
enum hn_access {
    HN_ACCESS_NORMAL,
    HN_ACCESS_STREAMING,
    HN_ACCESS_PERSISTING,
    HN_ACCESS_COUNT,
};
extern const char *const hn_access_names[HN_ACCESS_COUNT];

enum hn_window_part {
    HN_WINDOW_BYTES,
    HN_WINDOW_HIT_RATIO,
    HN_WINDOW_HIT,
    HN_WINDOW_MISS,
    HN_WINDOW_SET_ASIDE,
    HN_WINDOW_PARTS,
};

/* As a plan has it: no window where there is no expression for the bytes; the others may be NULL. */
struct hn_window_plan {
    size_t argument; /* the buffer: its place among the plan's arguments */
    struct hn_expression *parts[HN_WINDOW_PARTS];
};

/* Launch geometry and attributes; unused dimensions are NULL (1), and so may be all of `cluster`. */
struct hn_geometry {
    struct hn_expression *grid[3];
    struct hn_expression *block[3];
    struct hn_expression *cluster[3];   /* blocks of a cluster */
    struct hn_expression *shared_bytes; /* dynamic; NULL: 0 */
    struct hn_expression *carveout;     /* percent of the SM's memory that is to be shared memory; NULL: as the driver likes */
    struct hn_expression *cooperative;  /* all blocks are resident at once; NULL: no */
    struct hn_expression *programmatic; /* it may begin before the step before it has ended; NULL: no */
    struct hn_window_plan window;       /* of the L2 cache */
};

/* One kernel of the plan. arguments are indices into the plan's arguments, in the order of its signature. */
struct hn_step {
    char *entry; /* name of a kernel, or a C++ name expression whose parameter names are replaced by their values */
    struct hn_expression *condition; /* it is launched where this holds; NULL: always */
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

/* Parses the holes of the text. Sticky; HN_ECONFIG: a brace without its partner, an expression that cannot be parsed, or an option
 * that is not allowed (runtime/plan/option_list.h). The option owns all that was made so far. */
void hn_option_read_holes(struct hn_option *option, struct hn_error *err);

/* The way from host memory to host memory: which arguments are uploaded and downloaded, and how the
 * work is cut into chunks that go through several streams. docs/config.md says what it means. */

enum hn_order { HN_DEPTH_FIRST, HN_BREADTH_FIRST, HN_ORDER_COUNT };
enum hn_host_memory {
    HN_HOST_PAGEABLE,
    HN_HOST_REGISTERED,
    HN_HOST_PINNED,
    HN_HOST_WRITE_COMBINED,
    HN_HOST_MAPPED,
    HN_HOST_MANAGED,
    HN_HOST_MEMORY_COUNT
};
extern const char *const hn_order_names[HN_ORDER_COUNT];
extern const char *const hn_host_memory_names[HN_HOST_MEMORY_COUNT];

/* How an argument takes part. */
enum hn_part {
    HN_PART_UPLOAD = 1,
    HN_PART_DOWNLOAD = 2,
    HN_PART_CUT = 4,  /* a chunk sees its part; else the whole */
    HN_PART_COPY = 8, /* a step copies it to the host or back */
    HN_PART_PADDED = 16, /* of what is uploaded and cut: has `padding` units behind the extent, and a chunk reads so many
                          * behind its own */
};
#define HN_PARTS_ON_HOST (HN_PART_UPLOAD | HN_PART_DOWNLOAD | HN_PART_COPY)

/* A step of the launch that copies, in the stream of its chunk. */
struct hn_copy_step {
    size_t before; /* the plan's step before which it stands; their number: behind the last */
    bool to_host;
    struct hn_expression *condition; /* NULL: always */
    size_t *arguments;
    size_t argument_count;
};

/* X(identifier, key) */
#define HN_PIPELINE_FIELDS(X)                                                                                          \
    X(HN_PIPELINE_OVER, "over")                                                                                        \
    X(HN_PIPELINE_GRANULE, "granule")                                                                                  \
    X(HN_PIPELINE_HALO, "halo")                                                                                        \
    X(HN_PIPELINE_PADDING, "padding")                                                                                  \
    X(HN_PIPELINE_CHUNKS, "chunks")                                                                                    \
    X(HN_PIPELINE_STREAMS, "streams")                                                                                  \
    X(HN_PIPELINE_PIECES, "pieces")                                                                                    \
    X(HN_PIPELINE_ORDER, "order")                                                                                      \
    X(HN_PIPELINE_HOST_MEMORY, "host_memory")

enum hn_pipeline_field {
    HN_PIPELINE_FIELDS(HN_IDENTIFIER)
    HN_PIPELINE_FIELD_COUNT
};
extern const char *const hn_pipeline_keys[HN_PIPELINE_FIELD_COUNT];

struct hn_pipeline {
    unsigned char *parts; /* hn_part, one an argument of the plan */
    size_t argument_count;
    struct hn_expression *fields[HN_PIPELINE_FIELD_COUNT]; /* all but `over` may be NULL */
    struct hn_copy_step *copies;
    size_t copy_count;
};

/* Names of a chunk that expressions know, in their slots' order. */
enum { HN_CHUNK_BEGIN, HN_CHUNK_COUNT, HN_CHUNK_INDEX, HN_CHUNK_NAMES };
extern const char *const hn_chunk_names[HN_CHUNK_NAMES];

/* Who compiles template and reference. */
enum hn_compiler {
    HN_COMPILER_NVRTC, /* within the worker */
    HN_COMPILER_NVCC,  /* a program of the toolkit, for sources with host code */
};

extern const char *const hn_compiler_names[2];

enum hn_reference_kind {
    HN_REFERENCE_SELF, /* none given: the template at its defaults */
    HN_REFERENCE_NONE, /* "none": everything stays unverified */
    HN_REFERENCE_TEMPLATE,
    HN_REFERENCE_FILES, /* what the outputs are to be for the inputs of one seed */
};

/* The contents that one of the compared arguments is to have. */
struct hn_expected_file {
    size_t argument;
    char *file; /* as of an input: hn_plan_data_path */
};

/* A kernel with the same arguments that computes what is right, accumulating in float64: it sees frozen values and the
 * parameters in depends. Or files, one for each argument that is compared. */
struct hn_reference {
    enum hn_reference_kind kind;
    char *template_path;
    struct hn_step step;
    char **depends;
    size_t depends_count;
    struct hn_expected_file *files;
    size_t file_count;
};

void hn_reference_finish(struct hn_reference *reference);
/* Whether it is a kernel that is compiled and launched. */
bool hn_reference_is_kernel(const struct hn_reference *reference);
/* Makes it one of files, copying the path. */
void hn_reference_add_file(struct hn_reference *reference, size_t argument, const char *file,
                           struct hn_error *err);

/* Sees problem, parameters, pitches, time_us, metric arguments and the metrics before it. Slots after the plan's names
 * and pitches: time_us, then the metric arguments in order, then the metrics in order. */
struct hn_metric {
    char *name;
    struct hn_expression *expression;
};

/* A name whose values are words, with all words that it can have in declared order: LOAD=ldg gives LOAD_plain 1,
 * LOAD_ldg 2, LOAD 2; of types T=float gives T float. */
struct hn_word_list {
    char *name;
    char **words;
    size_t count;
    bool types; /* the words are types of CUDA C++, and stand in the program for themselves */
};

/* A parameter whose value stands in the source itself, where a program has another in its place. */
enum hn_override_of { HN_OVERRIDE_CONSTEXPR, HN_OVERRIDE_DEFINE };
extern const char *const hn_override_names[2];

struct hn_override {
    char *name;
    enum hn_override_of of; /* the declaration: a constant of C++, or a macro */
};

/* A default point for problems of which a condition holds. */
struct hn_default {
    struct hn_expression *condition; /* of problem values */
    struct hn_bindings point;        /* complete */
};

struct hn_plan {
    char *kernel;
    char *template_path; /* absolute */
    char **names;        /* parameters and problem values, sorted: slot i of every expression */
    size_t name_count;
    char **pitches;      /* "in_pitch" of each argument with rows, in their order: the slots behind the names; those of
                            a chunk (hn_chunk_names) follow where there is a pipeline */
    size_t pitch_count;
    char **parameters;   /* names of the parameters, declared order */
    size_t parameter_count;
    char **problem;      /* names of the problem values, declared order */
    size_t problem_count;
    char **freeze;       /* problem values that the template sees as constants (words always) */
    size_t freeze_count;
    struct hn_expression *freeze_if; /* of parameters: the points at which it does; NULL: all */
    char **template_parameters; /* of the names those that the template declares as parameters of C++ templates: they reach
                                   it by entries, and a macro would be in their way */
    size_t template_parameter_count;
    struct hn_override *overrides; /* no macros either */
    size_t override_count;
    struct hn_word_list *word_lists;
    size_t word_list_count;
    struct hn_argument *arguments;
    size_t argument_count;
    struct hn_step *steps;
    size_t step_count;
    struct hn_pipeline *pipeline; /* from host memory to host memory; NULL: buffers are and stay on the device */
    enum hn_compiler compiler;
    bool arch_specific; /* compiled for what only the device's very architecture has: sm_90a */
    unsigned refused; /* warnings (hn_warning) of the compiler with which a point is not measured */
    struct hn_option *options;
    size_t option_count;
    struct hn_reference reference;
    struct hn_compare compare;
    struct hn_metric *metrics;
    size_t metric_count;
    char *objective; /* "time" or the name of a metric */
    bool maximize;
    struct hn_bindings defaults; /* the default point, complete: the self reference's */
    struct hn_default *other_defaults; /* in the order in which they are asked */
    size_t other_default_count;
    struct hn_expression **constraints; /* that points have to satisfy; none in plans that were kept before they were */
    size_t constraint_count;
    char *program; /* of a program that is measured (the config's `run`, which no plan brings along): its hash; NULL: kernels are */
    bool given;   /* data, numbers or reference are not the config's: --capture or --reference gave them */
    char *config; /* absolute path of the config that it was read from; NULL: not known */
};

/* The members of a plan and of its parts, spelled once: their JSON, who frees them, which expressions there are. */
extern const struct hn_structure hn_plan_structure;
extern const struct hn_structure hn_argument_structure;
extern const struct hn_structure hn_compare_structure;
extern const struct hn_structure hn_fill_structure;
extern const struct hn_structure hn_step_structure;
extern const struct hn_structure hn_reference_structure;
extern const struct hn_structure hn_pipeline_structure;
extern const struct hn_structure hn_copy_structure;
extern const struct hn_structure hn_texture_structure;
extern const struct hn_structure hn_tensor_map_structure;

/* The names that an expression sees: the tag of its field. */
enum hn_plan_scope {
    HN_SEES_ALL,     /* names, pitches and, with a pipeline, the chunk */
    HN_SEES_NAMES,   /* parameters and problem values: pitches are made of them, so that there is an order */
    HN_SEES_PITCHES, /* these and the pitches: how the extent is cut is not for a chunk to say */
    HN_SEES_METRICS, /* all, what was measured, and the metrics before it */
    HN_SEES_CLUSTERS, /* all, and how many clusters run at once: hn_clusters_name */
};

/* A name that the grid of a step may use: how many of its clusters the device has room for at once, which is known once the kernel
 * is loaded there. Its slot is the one behind all others. */
extern const char hn_clusters_name[];

/* A plan begins as all zero. */
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

/* Makes `names` of parameters and problem values. HN_EFORMAT: one is there twice. */
enum hn_status hn_plan_collect_names(struct hn_plan *plan, struct hn_error *err);
/* Whether it is the name of a parameter or problem value. */
bool hn_plan_has_name(const struct hn_plan *plan, const char *name);
/* The same, or one of their words, or an argument that metrics read. */
bool hn_plan_is_taken(const struct hn_plan *plan, const char *name);
/* Names the pitches of the arguments, once all are there. HN_ECONFIG when one has the name of something else. */
enum hn_status hn_plan_name_pitches(struct hn_plan *plan, struct hn_error *err);
/* Whether the value of an expression depends on that name, be it through a pitch. */
bool hn_plan_uses(const struct hn_plan *plan, const struct hn_expression *expression, size_t slot);
/* A parameter, or a problem value, on which its value depends, or NULL. */
const char *hn_plan_parameter_used(const struct hn_plan *plan, const struct hn_expression *expression);
const char *hn_plan_problem_used(const struct hn_plan *plan, const struct hn_expression *expression);

/* The values of a point that the reference depends on (all of the default point for a self reference). */
enum hn_status hn_plan_depends(const struct hn_plan *plan, const struct hn_bindings *point,
                               struct hn_bindings *depends, struct hn_error *err);
/* The default point for a problem: the first of the others whose condition holds and which the constraints allow, else
 * `defaults`. Borrowed from the plan. */
const struct hn_bindings *hn_plan_default(const struct hn_plan *plan, const struct hn_bindings *problem);

/* The values of plan->names and pitches for a point of a problem, in slot order, with room for the extra slots of metrics
 * (time_us, metric arguments, metrics). A name that neither point nor problem has takes the plan's default (a reference
 * is given only what it depends on). Words are borrowed from the bindings and the plan. Free it. HN_ECONFIG when a name
 * has no value. */
enum hn_status hn_plan_values(const struct hn_plan *plan, const struct hn_bindings *problem,
                              const struct hn_bindings *point, struct hn_value **values, struct hn_error *err);
/* Whether one of its arguments and symbols has that role. */
bool hn_plan_has_role(const struct hn_plan *plan, enum hn_role role);
/* Whether a point satisfies the constraints for a problem; not where one of them has no value, or hn_plan_values fails. */
bool hn_plan_allows(const struct hn_plan *plan, const struct hn_bindings *problem, const struct hn_bindings *point,
                    struct hn_error *err);
/* The same of values that are there already. */
bool hn_plan_allows_values(const struct hn_plan *plan, const struct hn_value *values);
/* How many slots there are before those of metrics: names, pitches, and with a pipeline those of a chunk. */
size_t hn_plan_slot_count(const struct hn_plan *plan);
/* Which chunk expressions see; hn_plan_values has made it the whole extent. Only with a pipeline. */
void hn_plan_set_chunk(const struct hn_plan *plan, struct hn_value *values, int64_t begin, int64_t count,
                       int64_t index);
/* Whether the grid of a step names the clusters that run at once, whose number has the slot behind all others; hn_plan_values has
 * made it more than any device has. */
bool hn_plan_asks_clusters(const struct hn_plan *plan, const struct hn_step *step);
/* The argument of that name, or NULL; its index is its place in plan->arguments. */
const struct hn_argument *hn_plan_find_argument(const struct hn_plan *plan, const char *name);
/* Whether the `length` of an argument names one: another that is compared, of integers, without a length of its own. */
bool hn_plan_is_length(const struct hn_plan *plan, const struct hn_argument *argument);
/* What has to be named by an argument that takes its contents from another, or lies over it; NULL: it is. */
const char *hn_plan_wrong_source(const struct hn_plan *plan, const struct hn_argument *argument);
/* How it is compared, where it is: as it says itself, or as the plan says for all. */
const struct hn_compare *hn_plan_comparison(const struct hn_plan *plan, const struct hn_argument *argument);
/* The argument whose contents this one takes; itself where it has its own. */
size_t hn_plan_source(const struct hn_plan *plan, size_t argument);
/* Adds a copy of the word behind the others; nothing when it is there. */
void hn_word_list_add(struct hn_word_list *list, const char *word, struct hn_error *err);
/* The list of that name; NULL: its values are no words. */
const struct hn_word_list *hn_plan_find_words(const struct hn_plan *plan, const char *name);
/* Whether the values of `freeze` are constants at a point; NULL: of a reference, which sees them always. */
bool hn_plan_freezes(const struct hn_plan *plan, const struct hn_bindings *point);
/* Whether one program of the point is for any problem: none of its values is a constant of it, where the point decides. */
bool hn_plan_serves_all(const struct hn_plan *plan, const struct hn_bindings *point);
/* Whether the template sees this problem value as a constant at that point (then it is no kernel argument by convention). */
bool hn_plan_is_frozen(const struct hn_plan *plan, const struct hn_bindings *point, const char *name,
                       const struct hn_value *value);
/* Those values of a problem that are so, with copies of their words: problems that share them share the program, as far as
 * `freeze` and words decide. */
enum hn_status hn_plan_program_values(const struct hn_plan *plan, const struct hn_bindings *point,
                                      const struct hn_bindings *problem, struct hn_bindings *values,
                                      struct hn_error *err);

#endif
