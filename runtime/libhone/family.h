/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_LIBHONE_FAMILY_H
#define HONE_RUNTIME_LIBHONE_FAMILY_H

#include "cache/family/rule_program.h"
#include "cache/store/known.h"
#include "cache/store/store_rules.h"
#include "runtime/compile/image.h"
#include "runtime/libhone/library.h"
#include "runtime/plan/launch.h"
/* What was learnt of families: rules, and the modules that problems of a family share. With the lock held. */

struct hn_lib_choice;

struct hn_lib_pattern;

/* A module that was loaded for one problem and serves others. Its functions allow as much dynamic shared memory as was
 * asked for so far. */
struct hn_lib_module {
    struct hn_lib_module *next;
    const struct hone_cache *cache;
    CUcontext context;
    struct hn_bindings values; /* of the problem: part of its program */
    struct hn_image image;
        CUmodule module;
    bool is_checked; /* its kernels take what the plan passes */
    struct hn_lib_pattern *pattern; /* sizes.h; NULL: there is none */
    bool has_pattern;               /* it was tried to make one */
    struct hn_lib_function {
        CUfunction function; /* NULL: not found yet */
        int64_t shared_bytes;
        int64_t carveout;
        bool has_large_clusters;
    } *functions; /* of each step */
};

/* A configuration of a rule. */
struct hn_lib_configuration {
    struct hn_tuned tuned;             /* no result: identity without a problem, version, point; borrows */
    enum { HN_PROGRAM_UNKNOWN, HN_PROGRAM_SHARED, HN_PROGRAM_OWN } program;
    struct hn_lib_module *modules;
};

struct hn_lib_rule {
    const struct hn_stored_rule *stored;
    const char *kernel;       /* as asked for */
    const struct hn_lib_plan *plan; /* NULL: not looked up yet */
    struct hn_bindings names; /* of the problem's values, each 0 */
    bool names_limits;        /* some of them are of the device */
    struct hn_known_problems known; /* that may have results of their own */
    bool has_known;                 /* they were read */
    struct hn_lib_configuration *configurations;
    struct hn_rule_program program;
    bool has_program; /* it can be run */
};

/* The rules of a kernel, which may be none. */
struct hn_lib_family {
    struct hn_lib_family *next;
    char *kernel;
    struct hn_stored_rules stored;
    struct hn_lib_rule *rules; /* of each stored one */
};

enum hone_status hn_lib_family_get(struct hone_cache *cache, const char *kernel, struct hn_lib_family **family,
                                   struct hone_error *err);
/* The rule of that device, else of one of its compute capability, else of any, for the regime and objective of the options;
 * NULL: there is none. *own: it is of that device. */
struct hn_lib_rule *hn_lib_family_find(const struct hn_lib_family *family, const struct hn_device *device,
                                       const struct hone_options *options, bool *own);
/* Whether there may be a result of this very problem: a kernel with a rule is asked for many that have none. */
enum hone_status hn_lib_rule_may_be_tuned(struct hone_cache *cache, struct hn_lib_rule *rule,
                                          const struct hn_bindings *problem, bool *may_be, struct hone_error *err);
/* Which problems have results is read again: one was tuned. */
void hn_lib_family_forget_known(struct hone_cache *cache, const char *kernel);
void hn_lib_family_finish(struct hn_lib_family *family);

/* The choice's problem with the low end of all numbers that are no part of its program, or with so much more than the high one. */
enum hn_status hn_lib_corner_make(const struct hn_lib_choice *choice, bool high, int beyond, struct hn_bindings *corner,
                                  struct hn_error *err);
/* Whether one program serves all problems of the family that have the same words and frozen values (hn_plan_program_values).
 * It is kept for all of them as the image of a task that has these alone as its problem. */
bool hn_lib_program_is_shared(const struct hn_lib_choice *choice);

/* The module that was loaded for another problem with the choice's program, or NULL; and one that has a pattern. */
struct hn_lib_module *hn_lib_module_find(const struct hn_lib_choice *choice);
struct hn_lib_module *hn_lib_module_find_pattern(const struct hn_lib_choice *choice);
/* Loads one for the configuration. Takes what is in the image. */
enum hone_status hn_lib_module_add(struct hone_cache *cache, const struct hn_lib_choice *choice,
                                   struct hn_image *image, struct hn_lib_module **module, struct hone_error *err);
/* Whether a launch asks for nothing that its functions can not be for others at the same time. */
bool hn_lib_module_serves(const struct hn_lib_module *module, const struct hn_launch *launch);
/* As hn_module_find, for all launches so far. */
CUresult hn_lib_module_find_function(struct hn_lib_module *module, const struct hn_launch *launch, size_t step,
                                     CUfunction *function, char what[96]);
void hn_lib_module_destroy(struct hn_lib_module *module);

#endif
