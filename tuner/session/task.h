/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_SESSION_TASK_H
#define HONE_TUNER_SESSION_TASK_H

#include "cache/store/store.h"
#include "runtime/bench/bench.h"
#include "runtime/compile/source.h"
#include "tuner/config/config.h"

/* One problem of a config, ready to be worked on: space, templates, identity and version. Borrows the config. */
struct hn_task {
    const struct hn_config *config;
    const struct hn_plan *plan; /* the config's, or its own */
    struct hn_plan *own_plan;
    const struct hn_bindings *problem;
    enum hn_regime regime;
    struct hn_space *space;
    struct hn_bindings start; /* the default point; asked for once, as it takes long to find in a large space */
    struct hn_template template;
    struct hn_template reference; /* path NULL: the config names none */
    struct hn_identity identity; /* device and version are filled in by hn_task_set_device */
    struct hn_version version;
    bool stale; /* the version is that of a recording of another state of template, options or plan */
};

enum hn_task_purpose {
    HN_TASK_MEASURES,
    HN_TASK_SEARCHES, /* on live workers, by a strategy that draws points, which waits for the space (hn_space_wait) when it needs its
                       * points: until then as hn_space_begin says */
    HN_TASK_COMPILES, /* only: data files need not be there, and it has no version */
};

/* HN_ECONFIG: no template in the config, a file that is missing; HN_ENOTFOUND: an empty space. */
enum hn_status hn_task_make(const struct hn_config *config, size_t problem, enum hn_regime regime,
                            enum hn_task_purpose purpose, struct hn_task *task, struct hn_error *err);
void hn_task_finish(struct hn_task *task);

/* The parts of identity and version that only device, driver and compiler know. */
void hn_task_set_device(struct hn_task *task, const struct hn_device_identity *device, const char *driver,
                        const char *nvrtc);

/* Device and regime of what was measured elsewhere. */
void hn_task_set_measured(struct hn_task *task, const struct hn_identity *measured);

/* Opens a session in the store, with the plan and the template's files beside the version where it is theirs. */
enum hn_status hn_task_begin(const struct hn_task *task, struct hn_store *store, const char *command,
                             const struct hn_origin *recorded, int64_t *session, struct hn_error *err);

/* Instantiates the template for a point, or the reference for what it depends on. */
enum hn_status hn_task_source(const struct hn_task *task, const struct hn_bindings *point,
                              struct hn_source *source, struct hn_error *err);
enum hn_status hn_task_reference_source(const struct hn_task *task, const struct hn_bindings *point,
                                        struct hn_source *source, struct hn_error *err);

/* Fills in theoretical occupancy, dynamic shared memory and the hash of code, launch, arguments and what the reference
 * depends on, which is equal for points that do the same. A launch that the device cannot hold, or whose arguments are not
 * those that the kernels declare, makes the image's outcome invalid_launch. What did not compile gets
 * advice where the config can help, which hn_task_advise gives alone. HN_EVALUE, HN_ECONFIG as hn_launch_make. */
enum hn_status hn_task_complete_image(const struct hn_task *task, const struct hn_device *device,
                                      const struct hn_bindings *point, struct hn_image *image, char key[33],
                                      struct hn_error *err);
void hn_task_advise(const struct hn_task *task, bool of_reference, struct hn_image *image);

/* Whether the kernels of the default point take the plan's arguments: where not, hardly any point's do, and the config is
 * to be mended (HN_ECONFIG) before anything is measured. */
enum hn_status hn_task_check_default(const struct hn_task *task, const struct hn_bindings *point,
                                     const struct hn_image *image, struct hn_error *err);

#endif
