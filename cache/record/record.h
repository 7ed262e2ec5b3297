/* SPDX-License-Identifier: MIT */
#ifndef HONE_CACHE_RECORD_RECORD_H
#define HONE_CACHE_RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bindings.h"
#include "base/schema.h"
#include "base/text.h"

/* Values, and names with values, as JSON. Words are JSON strings; a real always reads back as a real ({"real": "nan"} for
 * what JSON cannot say). Reading trusts nothing (HN_EFORMAT). */

/* New references; NULL when out of memory. */
json_t *hn_value_to_json(const struct hn_value *value);
json_t *hn_bindings_to_json(const struct hn_bindings *bindings);
/* A word is borrowed from the JSON string. */
enum hn_status hn_value_from_json(const json_t *json, struct hn_value *value, struct hn_error *err);
/* Into an empty struct; on failure it can still be finished. */
enum hn_status hn_bindings_from_json(const json_t *json, struct hn_bindings *bindings, struct hn_error *err);
/* Bindings as a field of a struct. */
extern const struct hn_field_own hn_bindings_field;

/* The device as far as it decides whether a time can be compared. */
struct hn_device_identity {
    char name[128];        /* "NVIDIA H200" */
    int capability;        /* 90 for 9.0 */
    int sm_count;
    char mig_profile[64];  /* "" when the GPU is not divided */
};

bool hn_device_identity_equal(const struct hn_device_identity *a, const struct hn_device_identity *b);

/* What was measured, apart from the point: two records with equal identities and points can be compared. Owns its
 * strings and the problem. Begin with all zero. */
struct hn_identity {
    char *kernel;
    char *signature; /* argument names, types and roles in order */
    struct hn_bindings problem;
    char *regime;    /* a name of regime.h, or HN_REGIME_UNKNOWN */
    char *objective; /* "time" or "<metric> minimize|maximize" */
    struct hn_device_identity device;
};

/* Of files of Kernel Tuner, which do not say how launches found the L2 cache. */
#define HN_REGIME_UNKNOWN "unknown"

/* With what it was measured: a record of an equal identity but another version is stale. Owns nothing. */
struct hn_version {
    char template_hash[33]; /* template with its quoted includes */
    char options_hash[33];  /* compile options */
    char plan_hash[33];     /* launch, arguments, reference, comparison */
    char driver[32];        /* "580.159.04", or the driver's CUDA version where that is all there is */
    char nvrtc[16];         /* "13.0" */
    int protocol;           /* how Hone verifies and measures; raised when times of old and new cannot be compared */
};

#define HN_MEASURING_PROTOCOL 1
/* Not Hone but Kernel Tuner measured: means of plain launches; what was verified is not known. */
#define HN_KERNEL_TUNER_PROTOCOL 1000

void hn_identity_finish(struct hn_identity *identity);
enum hn_status hn_identity_copy(struct hn_identity *to, const struct hn_identity *from, struct hn_error *err);
bool hn_identity_equal(const struct hn_identity *a, const struct hn_identity *b);
bool hn_version_equal(const struct hn_version *a, const struct hn_version *b);
/* Of the same template, options and plan, whatever compiled and ran them. */
bool hn_version_same_source(const struct hn_version *a, const struct hn_version *b);
/* Whether it says of which template it is. What Kernel Tuner measured does not: then equal versions may be of any two
 * kernels, and none of them has a plan. */
bool hn_version_knows_template(const struct hn_version *version);
/* "driver 580.82 -> 580.159, template": the parts that differ, for messages; "" when equal. */
void hn_version_append_difference(struct hn_text *text, const struct hn_version *was, const struct hn_version *is);

/* Where the measurements of a session come from: they were taken by the Hone that keeps the cache, or imported into it. What
 * is imported leads searches and serves look-ups, marked as such; `hone tune` measures again what it takes from it. */
struct hn_origin {
    char machine[65]; /* the host on which they were taken; "" where that is not known */
    char source[256]; /* the file that they were imported from, or are read from; "": they were taken here */
    double imported;  /* when, seconds since the epoch; 0 where they are read from a recording */
};

void hn_origin_of_file(const char *path, struct hn_origin *origin);
bool hn_origin_is_foreign(const struct hn_origin *origin);
/* "measured on node7", "imported from a.json.gz on 2026-11-22", "imported from b.db on 2026-11-22, measured on node7". NULL when out of memory; free
 * it. */
char *hn_origin_text(const struct hn_origin *origin);
json_t *hn_origin_to_json(const struct hn_origin *origin);

/* What became of a variant: X(identifier, name, meaning). The names are written to caches and files: never change one.
 * docs/outcomes.md says more of each. */
#define HN_OUTCOMES(X) \
    X(HN_OUTCOME_OK, "ok", "verified and measured")                                                         \
    X(HN_OUTCOME_SLOWER, "slower", "stopped early, since it cannot win: its time is a lower bound")        \
    X(HN_OUTCOME_DUPLICATE, "duplicate", "the same machine code and launch as another point")               \
    X(HN_OUTCOME_SKIPPED, "skipped", "compiled, and not worth measuring")                                   \
    X(HN_OUTCOME_COMPILE_STOPPED, "compile_stopped", "stopped compiling: that took longer than it is worth") \
    X(HN_OUTCOME_INVALID_LAUNCH, "invalid_launch", "beyond a limit of the device, or not as declared") \
    X(HN_OUTCOME_COMPILE_ERROR, "compile_error", "did not compile")                                         \
    X(HN_OUTCOME_COMPILE_TIMEOUT, "compile_timeout", "compiling took too long")                             \
    X(HN_OUTCOME_COMPILE_CRASH, "compile_crash", "the compiler crashed")                                    \
    X(HN_OUTCOME_LAUNCH_ERROR, "launch_error", "the driver refused to launch it")                           \
    X(HN_OUTCOME_WRONG_RESULT, "wrong_result", "computed something else than the reference")                \
    X(HN_OUTCOME_OUT_OF_BOUNDS, "out_of_bounds", "wrote where it must not")                                 \
    X(HN_OUTCOME_DEVICE_FAULT, "device_fault", "an illegal address or the like")                            \
    X(HN_OUTCOME_RUN_TIMEOUT, "run_timeout", "did not end in time")                                         \
    X(HN_OUTCOME_OUT_OF_MEMORY, "out_of_memory", "memory ran out")                                          \
    X(HN_OUTCOME_WORKER_CRASH, "worker_crash", "ended its process, or told no time")

enum hn_outcome {
    HN_OUTCOMES(HN_IDENTIFIER)
    HN_OUTCOME_COUNT
};

extern const char *const hn_outcome_names[HN_OUTCOME_COUNT];
/* Whether it says neither how fast the variant is nor that it fails. */
bool hn_outcome_is_open(enum hn_outcome outcome);
/* What each means, in some words. */
extern const char *const hn_outcome_meanings[HN_OUTCOME_COUNT];

/* What a launch finds and what is in its time. Cold and warm: the kernels alone, with an L2 cache that was flushed, or as
 * the launch before left it. The others are as programs launch, one behind the other, and what launching costs is in the
 * time: by stream; as a graph of one launch that is replayed; as a graph of HN_GRAPH_CHAIN launches, a part of it. */
enum hn_regime { HN_COLD, HN_WARM, HN_STREAM, HN_GRAPH, HN_GRAPH10 };
enum { HN_GRAPH_CHAIN = 10 };

/* For options and messages. */
#define HN_REGIMES "cold|warm|stream|graph|graph10"
#define HN_REGIMES_EXPECTED "cold, warm, stream, graph or graph10"

/* They are written to caches and files: never change one. */
extern const char *const hn_regime_names[HN_GRAPH10 + 1];
bool hn_regime_parse(const char *name, enum hn_regime *regime);
/* What launching costs is in the time. */
bool hn_regime_is_deployed(enum hn_regime regime);

/* What the device's compiler says that costs speed: X(identifier, name, meaning). The names are written to caches and
 * files: never change one. Sets of them are bits, 1 << identifier. */
#define HN_WARNINGS(X)                                                                                                 \
    X(HN_WARNING_SERIALISED, "serialised", "wgmma instructions wait for one another")                                  \
    X(HN_WARNING_INJECTED, "injected", "the compiler put waits or fences of its own among wgmma instructions")         \
    X(HN_WARNING_SETMAXNREG, "setmaxnreg_ignored", "setmaxnreg has no effect")                                         \
    X(HN_WARNING_OTHER, "performance_loss", "another loss of performance that the compiler's log tells of")            \
    X(HN_WARNING_SPILLS, "spills", "registers are spilled to memory")

enum hn_warning {
    HN_WARNINGS(HN_IDENTIFIER)
    HN_WARNING_COUNT
};

extern const char *const hn_warning_names[HN_WARNING_COUNT];
extern const char *const hn_warning_meanings[HN_WARNING_COUNT];

/* An `unsigned` with a set of them, in JSON a list of names, which is not there for none. Names that are not known, as of a
 * newer Hone, are left out. */
extern const struct hn_field_own hn_warnings_field;

/* What the compiler made of a variant; bytes are a thread's (local, stack, spills) or a block's (shared_bytes, static;
 * dynamic_shared_bytes, which the launch asks for). For a plan of several kernels or launches, the largest of each. known
 * is false where nothing was compiled. */
struct hn_resources {
    bool known;
    int registers;
    int shared_bytes;
    int dynamic_shared_bytes; /* 0 too in records that older versions made */
    int local_bytes;
    int stack_bytes;
    int spill_store_bytes;
    int spill_load_bytes;
    double occupancy; /* theoretical, 0 to 1: resident warps of an SM over its limit; 0 when the launch cannot run */
    unsigned warnings; /* a set of hn_warning; none in records that older versions made */
    int max_threads;  /* of a block, by __launch_bounds__; 0 when not bounded or not known. Not kept in records */
};

enum hn_verification {
    HN_UNVERIFIED,    /* reference: none */
    HN_SELF_VERIFIED, /* against the template at its defaults */
    HN_VERIFIED,      /* against the reference of the config */
    HN_NOT_RECORDED,  /* who measured it does not say: files of Kernel Tuner */
};
enum { HN_VERIFICATION_COUNT = HN_NOT_RECORDED + 1 };
/* They are written to caches and files: never change one. */
extern const char *const hn_verification_names[HN_VERIFICATION_COUNT];

/* Whether times said that it does less where it is not checked, and how the trial ended (runtime/bench/trial.h). From CHECKED on
 * it has yet to be held, or the outcome says that it was guilty. They are written to caches and files: never change a name. */
enum hn_suspicion {
    HN_SUSPICION_NONE,
    HN_SUSPICION_ACQUITTED,
    HN_SUSPICION_CHECK_FAILED, /* the control looked guilty, too */
    HN_SUSPICION_CHECKED,      /* in launches that may be compared */
    HN_SUSPICION_AGAIN,        /* on inputs that it has seen */
};
enum { HN_SUSPICION_COUNT = HN_SUSPICION_AGAIN + 1 };
extern const char *const hn_suspicion_names[HN_SUSPICION_COUNT];

/* The comparison with the reference: passes if max_error <= tolerance, tolerance = absolute + relative * max|r|. */
struct hn_verdict {
    enum hn_verification kind;
    double max_error;     /* max |x - r| over all outputs, without elements that may differ and do */
    double tolerance;
    double max_reference; /* max |r| */
    int seeds;            /* how many input seeds it was verified on */
    int64_t seed;         /* the second, on whose inputs finalists are raced, too; 0: there was none */
    int launches;         /* how many launches were compared; 0: not known */
    size_t compared;      /* elements of all outputs that were, in the last of them; 0: not known */
    size_t differed;      /* of these, beyond the tolerance */
    size_t empty;         /* outputs of which zeros, NaN or what they held would pass: the reference had no others, by the tolerance */
};

/* Times of one launch of the whole plan, in microseconds. */
struct hn_timing {
    double median_us;
    double low_us; /* the 95% interval of the median, never narrower than the timer's resolution */
    double high_us;
    double resolution_us; /* of one sample */
    int batch;            /* launches a sample */
    int dropped;          /* samples dropped for a changed clock */
    double clock_mhz;     /* median SM clock during the samples, 0 when not known */
    double host_us;       /* median by the host's clock; 0: not taken, as it is only of plans with a pipeline */
    bool unstable;        /* the interval did not get narrow enough, or too many samples were dropped */
    double *samples_us;   /* in the order taken; NULL when not kept */
    size_t sample_count;
    /* Measured again in processes that began anew: how many, the least, the median and the greatest of their medians, and
     * the rate of the best copy beside them; clock_mhz is the highest of all then. 0: it was not, or by an older version. */
    int processes;
    double fastest_us;
    double middle_us;
    double slowest_us;
    double copy_gb_per_s;
};

/* How long the steps of evaluating a variant took, in milliseconds. */
struct hn_costs {
    double compile_ms;
    double verify_ms;
    double measure_ms;
};

/* All that is known of one variant. Owns its point, message, metrics, what was observed and samples. Begin with all
 * zero. */
struct hn_record {
    struct hn_bindings point; /* parameters only, not the problem */
    enum hn_outcome outcome;
    char *message;      /* what went wrong, or which point it duplicates; NULL when there is nothing to say */
    enum hn_suspicion suspicion;
    char *original;     /* canonical text of the point that this one duplicates, or that censored it; else NULL */
    char code_hash[33]; /* of the launched machine code with its launch; "" when not compiled */
    struct hn_resources resources;
    struct hn_verdict verdict;
    struct hn_timing timing;
    struct hn_costs costs;
    struct hn_bindings observed; /* what observers saw, by name: hn_observed */
    double estimated_w; /* where energy is the objective, until it is measured: what the GPU may draw; else 0 */
    struct hn_bindings metrics; /* name = number, as evaluated; time is not among them */
    double objective;           /* the value that is compared: lower is better, whatever the direction */
    int active_clusters;        /* that run at once, where a grid asks for it; 0: none does */
    bool final;                 /* took part in the final race: the timing is that of the race */
    double time;                /* seconds since the epoch, UTC, when the record was made */
    /* Of a tuning on several cards, or elsewhere: where it was measured, "" where that is not told; and how much longer that card
     * takes than the first, by which its times are divided already. 0: they are as measured. */
    char host[64];
    char card[48]; /* its UUID */
    double ratio;
};

/* What observers (runtime/bench/observe) saw of a variant beside its time: numbers that are not negative, by
 * "observer.name", as "energy.joules". In JSON each observer has an object of its own; a list of words in it is a set, and
 * the flag "conditions.held_down_by.power_cap" says that a word is in it. Names are written to caches and files: never
 * change one. */

/* 0 where it was not seen. */
double hn_observed(const struct hn_bindings *observed, const char *name);
bool hn_observed_any(const struct hn_bindings *observed, const char *group);
/* Sticky, as all below. A flag is true. */
void hn_observed_set(struct hn_bindings *observed, const char *name, struct hn_value value, struct hn_error *err);
/* What one observer saw, in the place of what it saw before. */
void hn_observed_replace(struct hn_bindings *observed, const char *group, const struct hn_bindings *from,
                         struct hn_error *err);
void hn_observed_drop(struct hn_bindings *observed, const char *group);
/* What one observer saw; NULL when out of memory. */
json_t *hn_observed_to_json(const struct hn_bindings *observed, const char *group);

/* What another process has measured. The medians of those before are in `medians_us`, which is sorted and has room for one more. */
void hn_timing_add_process(struct hn_timing *timing, const struct hn_timing *process, double *medians_us);

void hn_record_finish(struct hn_record *record);
enum hn_status hn_record_copy(struct hn_record *to, const struct hn_record *from, struct hn_error *err);
/* Whether `a` rather than `b` (NULL: none yet) is the best of a tuning: it is ok and has an objective, and the times of a
 * final race count before others, then the lower objective, then the shorter text of a point, then the first by strcmp:
 * wherever exact ties are told or taken, they are in this order. */
bool hn_record_beats(const struct hn_record *a, const struct hn_record *b);
/* For qsort: what is ok before what is not, the best first. */
int hn_record_compare(const void *a, const void *b);
/* Sets outcome and message (printf). An allocation failure leaves message NULL. */
void hn_record_fail(struct hn_record *record, enum hn_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Records and versions as JSON, for the worker protocol, --json, the store and the file formats. docs/formats.md says what
 * each member means; their order is that of the files. Reading trusts nothing: types, ranges and sizes are checked
 * (HN_EFORMAT). */

/* A new reference; NULL when out of memory. */
json_t *hn_record_to_json(const struct hn_record *record);
/* Into an empty record; on failure it can still be finished. What it gives has passed the gate (gate.h);
 * objective: of the identity, NULL: not known. */
enum hn_status hn_record_from_json(const json_t *json, const char *objective, struct hn_record *record,
                                   struct hn_error *err);

/* What every identity and record passes that is read, as gate.h has it. The kernel is a word, regime and objective are ones that there
 * are, all else is text of one line. */
void hn_gate_identity(const struct hn_identity *identity, struct hn_error *err);
/* Times are of 1 ns to a year, within their interval, and there where the outcome is a time; shares, costs and errors are
 * what they can be. `objective` is the identity's, to which the record's has to fit; NULL: it is not known, and the record
 * may be one that was not timed. */
void hn_gate_record(const struct hn_record *record, const char *objective, struct hn_error *err);

/* Of those that have them. Reading resources makes them known; they and versions pass the gate. */
extern const struct hn_structure hn_resources_structure;
extern const struct hn_structure hn_device_identity_structure;
extern const struct hn_structure hn_identity_structure;
extern const struct hn_structure hn_version_structure;
/* Of struct hn_text_file, whose names are of one line. */
extern const struct hn_structure hn_text_file_structure;

/* What is chosen by, of records whose energy was measured. */
enum hn_front_by { HN_FRONT_TIME, HN_FRONT_ENERGY, HN_FRONT_ENERGY_DELAY };

/* Joules, or joules times microseconds, of a launch; the time in microseconds. INFINITY of what is not ok, or was not
 * measured. */
double hn_front_cost(const struct hn_record *record, enum hn_front_by by);

/* The objectives "energy" and "energy_delay"; HN_FRONT_TIME for any other name. */
enum hn_front_by hn_front_parse(const char *objective);
/* What is compared where that is a tuning's objective: joules, or joules times seconds, of a launch. Of a record whose energy was
 * not measured, what the most that the GPU may draw makes of its time; NAN where there is neither. */
double hn_front_objective(const struct hn_record *record, enum hn_front_by by);

/* Of two whose energy was measured, the first of which is the better one by it: whether they cannot be told apart, by what
 * their windows differ by, and at least what the counter leaves open. */
bool hn_front_is_tied(const struct hn_record *better, const struct hn_record *other);

/* Whether no other of the records is at once as fast and as frugal, and better in one of the two (Pareto). False of those
 * whose energy was not measured. */
bool hn_front_has(const struct hn_record *records, size_t count, size_t record);

#endif
