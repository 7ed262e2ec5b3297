/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_MODULE_MODULE_H
#define HONE_RUNTIME_MODULE_MODULE_H

#include "runtime/compile/image.h"
#include "runtime/device/driver.h"
#include "runtime/plan/launch.h"

/* Finds the kernel of a step in the module that was loaded of its image, and asks the driver for what its launches need:
 * so much dynamic shared memory in place of what was asked for before, the carve-out, clusters of more than 8 blocks.
 * `what` is the call that failed, for messages. */
CUresult hn_module_find(const struct hn_driver *driver, CUmodule module, const char *entry,
                        const struct hn_launch_step *shape, int64_t shared_bytes, CUfunction *function, char what[96]);

/* Dynamic shared memory that the kernel of a step has to be allowed: the most that one of its steps wants. */
int64_t hn_module_shared_bytes(const struct hn_launch *launch, const struct hn_image *image, size_t step);

/* How a kernel is launched, without stream and arguments. */
struct hn_module_step {
    CUlaunchConfig config;
    CUlaunchAttribute attributes[4];
    size_t window; /* the attribute that is the L2 window, whose base every launch gives; SIZE_MAX: none */
};
struct hn_module_step hn_module_step_of(const struct hn_launch_step *step);
/* How many of its clusters the device has room for at once, with nothing beside them; of blocks where it has none. */
CUresult hn_module_active_clusters(const struct hn_driver *driver, const struct hn_launch_step *step, CUfunction function,
                                   int *clusters);
/* grid: in place of its own; NULL: that one. */
CUresult hn_module_launch(const struct hn_module_step *step, const unsigned int *grid, const struct hn_driver *driver,
                          CUfunction function, CUstream stream, CUdeviceptr window_base, void **parameters);

/* Encodes what hn_tensor_check has passed, over the buffer at that address. CUDA_ERROR_NOT_SUPPORTED: the driver has no
 * tensor maps. */
CUresult hn_tensor_encode(const struct hn_driver *driver, const struct hn_tensor *tensor, CUdeviceptr address,
                          CUtensorMap *map);

#endif
