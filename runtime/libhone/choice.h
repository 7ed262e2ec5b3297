/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_LIBHONE_CHOICE_H
#define HONE_RUNTIME_LIBHONE_CHOICE_H

#include "runtime/compile/image.h"
#include "runtime/libhone/library.h"

struct hn_lib_configuration;
struct hn_lib_module;
struct hn_lib_rule;
struct hn_launch;

/* From what is asked for to a kernel: which point serves, its machine code, the kernel itself. */

/* What a kernel is to be made from. All is borrowed. */
struct hn_lib_choice {
    const char *kernel; /* as asked for: kernels that differ in nothing but their names share a plan */
    const struct hn_lib_plan *plan;
    const struct hn_tuned *tuned; /* NULL: the default point */
    enum hn_grade grade;
    const struct hn_bindings *problem;
    const struct hn_bindings *point;
    const struct hn_device *device;
    CUcontext context;
        const struct hone_options *options;
    const struct hn_lib_rule *rule;             /* of a family, that chose it; NULL: none did */
    struct hn_lib_configuration *configuration; /* of that rule; `tuned` is its */
    bool sure;                                  /* what the rule says of it */
    struct hn_launch *launch; /* made for it already, and taken; NULL: it is not */
    struct hn_value *values;  /* that the launch was made with */
};

/* The kernel for a problem, by what the cache holds and the options say. With the lock held, as all that
 * follows. */
enum hone_status hn_lib_choose(struct hone_cache *cache, CUcontext context, const char *kernel,
                               const struct hn_bindings *problem, const struct hone_options *options,
                               struct hone_kernel **handle, struct hone_error *err);

/* Whether all kernels have plain names: then they are in the machine code for every problem, launched or not. */
bool hn_lib_names_are_plain(const struct hn_plan *plan);
/* Whether the kernels that the choice's problem launches are those of the image, which has its program. */
bool hn_lib_image_launches(const struct hn_image *image, const struct hn_lib_choice *choice);
/* Whether the program of the choice's point is the same for two problems: what is frozen of them is in its text. */
bool hn_lib_program_is_same(const struct hn_lib_choice *choice, const struct hn_bindings *a,
                            const struct hn_bindings *b);
/* Machine code for it: the cache's, or compiled. */
enum hone_status hn_lib_image_get(struct hone_cache *cache, const struct hn_lib_choice *choice,
                                  struct hn_image *image, bool *compiled, struct hone_error *err);
/* Whether the cache has machine code that was compiled from the same text. */
bool hn_lib_image_is_kept(struct hone_cache *cache, const struct hn_lib_choice *choice);

/* Loads the image into the current context, or takes the module that is there (shared, whose image it is; NULL: none).
 * *kernel belongs to the caller until it is put into the cache's list. */
enum hone_status hn_lib_kernel_make(struct hone_cache *cache, const struct hn_lib_choice *choice,
                                    const struct hn_image *image, struct hn_lib_module *shared,
                                    struct hone_kernel **kernel, struct hone_error *err);
/* What callers are told of it. Of what a rule chose that is made when it is asked for: programs ask for many sizes, and about few. */
enum hone_status hn_lib_info_make(struct hone_kernel *kernel, const struct hn_lib_choice *choice, bool compiled,
                                  struct hone_error *err);

#endif
