/* SPDX-License-Identifier: MIT */
#ifndef HONE_RUNTIME_DEVICE_DRIVER_H
#define HONE_RUNTIME_DEVICE_DRIVER_H

#include <cuda.h>

#include "base/error.h"
#include "runtime/device/device.h"

/* The driver's functions that Hone calls, by their subjects: X(name). cuda.h renames some to versioned symbols (cuMemAlloc_v2); the
 * loader looks up the name that cuda.h gives. */
#define HN_DRIVER_FUNCTIONS(X)                                                                                         \
    X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString)                                              \
    X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetUuid) X(cuDeviceGetAttribute) X(cuDeviceTotalMem) \
    X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuCtxGetCurrent) X(cuCtxGetDevice) X(cuCtxSetCurrent)   \
    X(cuCtxSynchronize) X(cuCtxSetLimit) X(cuCtxGetLimit) X(cuCtxResetPersistingL2Cache)                               \
    X(cuMemGetInfo) X(cuMemAlloc) X(cuMemFree) X(cuMemAllocManaged) X(cuMemPrefetchAsync_v2)                           \
    X(cuMemHostAlloc) X(cuMemHostGetDevicePointer) X(cuMemFreeHost) X(cuMemHostRegister) X(cuMemHostUnregister)        \
    X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemsetD8Async)  \
    X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction) X(cuModuleGetGlobal)                                \
    X(cuFuncSetAttribute) X(cuOccupancyMaxActiveClusters) X(cuLaunchKernel) X(cuLaunchKernelEx)                        \
    X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuStreamIsCapturing) X(cuThreadExchangeStreamCaptureMode)          \
    X(cuGraphInstantiate) X(cuGraphLaunch) X(cuGraphExecDestroy) X(cuGraphDestroy)                                     \
    X(cuTexObjectCreate) X(cuTexObjectDestroy) X(cuTensorMapEncodeTiled)                                               \
    X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamWaitEvent)                                   \
    X(cuGetProcAddress_v2) X(cuFuncGetName) X(cuFuncGetParamInfo) X(cuKernelGetFunction) X(cuMemGetAddressRange)       \
    X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventQuery) X(cuEventSynchronize) X(cuEventElapsedTime)

/* The member for one. */
#define HN_DRIVER_MEMBER(name) __typeof__(&name) p_##name;

/* Passed to whoever calls the driver, so that a test can pass another table. */
struct hn_driver {
    void *library;
    HN_DRIVER_FUNCTIONS(HN_DRIVER_MEMBER)
};

/* Opens libcuda.so.1, for who works in a context that is there already. HN_ERUN. */
enum hn_status hn_driver_load(struct hn_driver *driver, struct hn_error *err);
/* Opens libcuda.so.1 and calls cuInit. HN_ERUN: "no CUDA driver: libcuda.so.1 was not found. …" and the like. */
enum hn_status hn_driver_open(struct hn_driver *driver, struct hn_error *err);
void hn_driver_close(struct hn_driver *driver);

/* HN_OK for CUDA_SUCCESS; otherwise HN_ERUN with "<what>: <name>: <description>". */
enum hn_status hn_driver_check(const struct hn_driver *driver, CUresult result, const char *what,
                               struct hn_error *err);

/* After this result the process can use the device no more and has to be replaced (cuda.h names them). Anything not
 * on the list of ordinary rejections counts. */
bool hn_driver_result_is_fatal(CUresult result);

/* Identity and limits of device `ordinal`; creates no context. */
enum hn_status hn_driver_device(const struct hn_driver *driver, int ordinal, struct hn_device *device,
                                struct hn_error *err);
/* "0", "GPU-…" (a unique beginning is enough), or NULL for device 0. HN_EUSAGE lists the devices that are there. */
enum hn_status hn_driver_select(const struct hn_driver *driver, const char *selector, struct hn_device *device,
                                struct hn_error *err);

/* What of the L2 cache is set aside, and for whom: hn_l2_use. */
struct hn_l2_state {
    const void *user;
    int64_t set_aside;
};

/* The device's primary context, made current, and the one stream that all work of a bench goes through. The stream
 * synchronises with the default stream, so that a plain cuMemcpy waits for what was launched before it. */
struct hn_context {
    const struct hn_driver *driver;
    const struct hn_device *device;
    CUdevice handle;
    CUcontext primary;
    CUstream stream;
    struct hn_l2_state l2;
    bool dead; /* a call returned what cuda.h calls the end of the process */
};

enum hn_status hn_context_init(struct hn_context *context, const struct hn_driver *driver,
                               const struct hn_device *device, struct hn_error *err);
void hn_context_finish(struct hn_context *context);

/* hn_driver_check that also remembers whether the context is dead. All of these are sticky. */
void hn_context_check(struct hn_context *context, CUresult result, const char *what, struct hn_error *err);
void hn_context_synchronize(struct hn_context *context, const char *what, struct hn_error *err);
/* HN_CALL(context, cuEventRecord, (event, stream), "cuEventRecord", err) calls the driver, where err has not failed. */
#define HN_CALL(context, function, arguments, what, err)                                                               \
    (hn_failed(err) ? (void)0 : hn_context_check(context, (context)->driver->p_##function arguments, what, err))

/* What of the L2 cache is set aside for persisting accesses belongs to the context, and what persists stays in the
 * cache after a launch. So the cache has one user at a time, who finds nothing in it that another one made persist. */

/* Makes the cache as this user (any address) wants it; NULL with 0 for one that has no wish. Nothing happens when it is
 * so already; else waits for what was launched. A CUresult, so that the caller can judge a refusal. */
CUresult hn_l2_use(struct hn_context *context, const void *user, int64_t set_aside);
/* Nothing persists any more; the user stays. Waits for what was launched. */
CUresult hn_l2_reset(const struct hn_context *context);

#endif
