/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_CONFIG_CONFIG_H
#define HONE_TUNER_CONFIG_CONFIG_H

#include "base/memory.h"
#include "runtime/device/device.h"
#include "runtime/plan/plan.h"
#include "tuner/space/space.h"

/* A condition as a config says it. */
struct hn_config_constraint {
    const char *text;
    struct hn_expression *expression;
    const char *where; /* "configs/matmul.yaml:24:5" */
    bool promising; /* says what is worth a search, not what is valid */
};

/* A family: the problems for which a kernel is to be good, tuned or not, as `family` of a config says. */

enum {
    HN_FAMILY_CONFIGURATIONS = 32,       /* without the key */
    HN_FAMILY_CONFIGURATIONS_MOST = 255, /* of a rule */
    HN_FAMILY_SIZES_MOST = 10000
};
#define HN_FAMILY_LOSS 0.01 /* without the key */

struct hn_family_value {
    const char *name;
    enum hn_family_kind { HN_FAMILY_RANGE, HN_FAMILY_LIST } kind;
    int64_t low, high, multiple_of; /* RANGE: low, low + multiple_of, ... high, all of them multiples of it */
    bool log;                       /* as likely to be in one octave as in another; low is at least 1 */
    struct hn_value *values;        /* LIST: a value that is fixed is a list of one */
    size_t count;
};

struct hn_family {
    struct hn_family_value *values; /* in declared order */
    size_t value_count;
    struct hn_config_constraint *where; /* bound to the values: slot i is values[i] */
    size_t where_count;
    struct hn_bindings *sizes; /* those that matter most, complete, each once; maybe none */
    double *weights;           /* of the sizes, above 0 */
    size_t size_count;
    struct hn_bindings defaults; /* values of parameters that its default point has instead of the config's */
    struct hn_bindings *ladder;  /* points, as written, that only the tuning of the family begins with */
    size_t ladder_count;
    bool worst; /* the worst ratio is what is to be good, not the mean */
    int64_t configurations;
    int64_t bytes; /* of their machine code, at most; 0: any */
    double loss; /* 0.01: a mean ratio of time to the best time of 1.01 is good enough */
};

/* Whether it has an order and so many values that some are neighbours: a range, or a list of more than two integers, all
 * above 0. */
bool hn_family_is_size(const struct hn_family_value *value);
/* Whether each value of the family is among the problem's and allowed, and `where` holds, which a condition without a
 * value does not. Other values of the problem, as limits of a device, are not looked at. HN_ECONFIG says what is not so. */
bool hn_family_has(const struct hn_family *family, const struct hn_bindings *problem, struct hn_error *err);
/* The first problem at or behind place *at of a sequence that `where` lets through, as bindings of their own; *at moves
 * behind it. A sequence spreads evenly from its start on (Roberts' R sequence, moved by what the seed says), is the same on
 * every machine, and may repeat itself where there is little to choose from. Sizes are rounded where `where` takes round
 * ones only, and of each second place to multiples of 16, as most programs have them and what is drawn hardly ever is. It
 * has what `whole` has beside the family's values. HN_ECONFIG: none was found. To be finished in any case; draws nothing
 * once err has failed. */
struct hn_bindings hn_family_draw(const struct hn_family *family, const struct hn_bindings *whole, uint64_t seed, uint64_t *at,
                                  struct hn_error *err);

/* The problem that stands for the family where one is asked for: the first of its sizes, or a problem in the middle of its
 * ranges (of logarithms where the scale is log), and of lists of numbers, with the first of other lists; nearer to their
 * lower ends where `where` says so. HN_ECONFIG: none was found. */
enum hn_status hn_family_middle(const struct hn_family *family, struct hn_bindings *problem, struct hn_error *err);

/* Proposals that a search makes before it knows the result of one: without the key, and at most, since as many compiled
 * images may wait for the GPU. */
#define HN_LOOK_AHEAD 32
#define HN_LOOK_AHEAD_MOST 4096

enum { HN_CONFIG_VALUES_MOST = 65535 }; /* of a parameter */

/* How values follow from a problem: the items of a list, or lower and upper bound and, of a range, the step (without: 1). */
struct hn_config_recipe {
    enum { HN_CONFIG_LIST, HN_CONFIG_RANGE, HN_CONFIG_POWERS } kind;
    struct hn_expression **items; /* bound to the plan's problem values */
    size_t count;
    const char *where; /* as of a constraint */
};

/* A search space as read from YAML and checked as a whole. Owns all. */
struct hn_config_parameter {
    const char *name;
    struct hn_value *values;
    size_t count;
    bool restricted;     /* by -s */
    struct hn_config_recipe *recipe; /* of values that depend on the problem: then they are those of all problems, and a
                                        constraint says which are of one. NULL: as written */
};

struct hn_config {
    char *path;             /* as given */
    struct hn_blocks blocks; /* of the file, whose names, words and texts all of this borrows, of all lists of fixed length, and of
                                what is made of texts */
    struct hn_plan *plan;   /* template_path NULL when the config has only kernel, parameters and constraints */
    struct hn_config_parameter *parameters;
    size_t parameter_count;
    struct hn_config_constraint *constraints; /* bound to the names of the plan */
    size_t constraint_count;
    struct hn_bindings *problems; /* every one is tuned on its own; a config without problem has one: the middle
                                  of its family, or without that an empty one */
    size_t problem_count;
    struct hn_family *family; /* NULL: none */
    const struct hn_yaml *run; /* a program as what is measured: as written, and no part of the plan, so that no cache, recording or
                                * message brings one along; NULL: kernels are measured */
    const char *folder;        /* of the file, with `run` */
    struct hn_bindings *ladder; /* as written: completed by hn_config_complete */
    size_t ladder_count;
    struct hn_bindings defaults; /* as written, maybe empty */
    struct hn_config_typed {
        size_t argument; /* of the plan, which has the type that the first word says */
        const char *name; /* the problem value whose word is its type */
    } *typed;
    size_t typed_count;
    struct hn_bindings *only; /* points of which alone spaces are made, as far as the plan allows them; NULL: all */
    size_t only_count;
    struct hn_expression *prior; /* estimates what a point costs; no part of the plan, as look_ahead; NULL: none */
    struct hn_bindings prior_limits; /* of the device, that it names and problems do not have */
    int64_t look_ahead; /* of a search; no part of the plan, since it says nothing of what is measured */
    bool restricted;    /* by -s: the space is a part of what the file says */
};

/* For which device a config is read. A config that names a limit of the device (runtime/device/device.h) has it as one more
 * problem value: as `problem` says, else that of the device that is found, which is asked for only then. */
struct hn_config_for {
    const struct hn_bindings *problem; /* some values, which the config is to be given as well */
    enum hn_status (*find_device)(void *context, struct hn_device *device, struct hn_error *err); /* NULL: none */
    void *context;
};

/* Reads and checks the whole file: syntax, keys, types, names, expressions, that the default point is valid for each
 * problem. The template need not exist (hn_config_check_files asks). `use` NULL: for who wants nothing that depends on the
 * device. HN_ECONFIG: "path:line:column: what". */
enum hn_status hn_config_load(const char *path, const struct hn_config_for *use, struct hn_config **config,
                                  struct hn_error *err);
void hn_config_destroy(struct hn_config *config);

/* The plan of a problem where types of arguments are problem values: a plan of its own, for hn_plan_destroy. NULL where the
 * config's serves all. */
enum hn_status hn_config_make_plan(const struct hn_config *config, const struct hn_bindings *problem,
                                   struct hn_plan **plan, struct hn_error *err);

/* -p NAME=VALUE,... and -s NAME=VALUE,...: replaces problem values in all problems (dropping repeats), or restricts a
 * parameter to these values of its list ("A=1,2,B=4" restricts two), which comes after. HN_EUSAGE names what is there. */
enum hn_status hn_config_take_problem(struct hn_config *config, const struct hn_bindings *problem, struct hn_error *err);
enum hn_status hn_config_restrict(struct hn_config *config, const char *assignment, struct hn_error *err);

/* --reference NAME=FILE ...: files in place of the config's reference, from the current folder, one for each argument that
 * is compared, named as those of `reference: {files: ...}`. HN_EUSAGE. */
enum hn_status hn_config_set_reference(struct hn_config *config, const char *const *assignments, size_t count,
                                       struct hn_error *err);

/* Leaves of the space what can serve a whole family: no value that varies within it is a constant of the program. HN_ECONFIG
 * where there is nothing else. */
enum hn_status hn_config_thaw(struct hn_config *config, struct hn_error *err);
/* Leaves of the space these points, promising or not, where they are valid; of none: all, as before. */
void hn_config_keep_points(struct hn_config *config, const struct hn_bindings *points, size_t count);

/* The space of one problem, built; HN_ENOTFOUND when it is empty. In haste (hn_space_begin), and where the default point is known
 * to be valid without it, it is only begun, for who has something to do until hn_space_wait(). */
enum hn_status hn_config_space(const struct hn_config *config, size_t problem, bool in_haste, struct hn_space **space,
                               struct hn_error *err);
/* What `prior` says that a point costs; 0: there is none, or it failed. */
double hn_config_estimate(const struct hn_config *config, const struct hn_bindings *problem,
                          const struct hn_bindings *point, struct hn_error *err);
/* The default point: the first valid point in declared order that has the `defaults`; where -p or -s left none
 * that has them, which false says, one that has of them, in declared order, what it can. */
bool hn_config_default_point(const struct hn_config *config, const struct hn_space *space, struct hn_bindings *point);
/* The first constraint that a point does not satisfy for a problem, of those that say what is promising, too; NULL: there is none.
 * HN_ECONFIG when one has no value there, which without err is one that does not hold. */
const struct hn_config_constraint *hn_config_find_broken(const struct hn_config *config, const struct hn_bindings *problem,
                                                         const struct hn_bindings *point, struct hn_error *err);
/* Gives a parameter of a point another value by chance and, where that breaks a constraint, one that this asks for, and so on: tiles
 * and what they are made of differ together. False: the point is not valid then. */
bool hn_config_mutate(const struct hn_config *config, const struct hn_bindings *problem, struct hn_random *random,
                      struct hn_bindings *point);
/* A partial point (ladder entry, run -s) completed from another one, as the default point. HN_ECONFIG when it is not valid in space
 * (names the constraint). */
enum hn_status hn_config_complete(const struct hn_config *config, const struct hn_space *space, const struct hn_bindings *from,
                                  const struct hn_bindings *partial, struct hn_bindings *point, struct hn_error *err);

#endif
