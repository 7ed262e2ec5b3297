/* SPDX-License-Identifier: MIT */
#include "runtime/device/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "runtime/device/library.h"

/* Two steps, so that cuda.h's renaming (cuMemAlloc to cuMemAlloc_v2) takes place before the name
 * becomes a string. */
#define STRING_OF(name) #name
#define SYMBOL_NAME(name) STRING_OF(name)

/* cuEventElapsedTime_v2 came with CUDA 12.8; older drivers have the plain name with the same
 * signature. cuMemPrefetchAsync_v2 came with CUDA 12.2; without it there is no managed memory.
 * cuTensorMapEncodeTiled came with CUDA 12.0; without it there are no tensor maps.
 * cuFuncGetParamInfo came with CUDA 12.4; without it nothing is captured of a program. */
enum hn_status hn_driver_load(struct hn_driver *driver, struct hn_error *err)
{
    static const char *const names[] = {"libcuda.so.1"};
    __typeof__(&cuEventElapsedTime) plain = NULL;
    struct hn_symbol symbols[] = {
#define X(name) {SYMBOL_NAME(name), (void *)&driver->p_##name, false},
        HN_DRIVER_FUNCTIONS(X)
#undef X
            {"cuEventElapsedTime", (void *)&plain, true},
    };
    const void *const optional[] = {
        &driver->p_cuEventElapsedTime,     &driver->p_cuMemPrefetchAsync_v2,
        &driver->p_cuTensorMapEncodeTiled, &driver->p_cuOccupancyMaxActiveClusters,
        &driver->p_cuGetProcAddress_v2,    &driver->p_cuFuncGetName,
        &driver->p_cuFuncGetParamInfo,     &driver->p_cuKernelGetFunction,
        &driver->p_cuMemGetAddressRange};
    size_t count = sizeof symbols / sizeof symbols[0];
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < sizeof optional / sizeof *optional; j++)
            symbols[i].optional |= symbols[i].address == optional[j];
    struct hn_error reason;
    *driver = (struct hn_driver){0};
    if (hn_library_open(names, 1, symbols, count, &driver->library, &reason) != HN_OK)
        return hn_fail(err, HN_ERUN,
                       "no CUDA driver: %.3000s; install NVIDIA's driver, or run this on a machine "
                       "with a GPU (`hone tune --simulate FILE`, `hone compile --all` and "
                       "`hone export --defaults` need none)",
                       reason.message);
    if (driver->p_cuEventElapsedTime == NULL)
        driver->p_cuEventElapsedTime = plain;
    if (driver->p_cuEventElapsedTime != NULL)
        return HN_OK;
    hn_driver_close(driver);
    return hn_fail(err, HN_ERUN, "no CUDA driver: libcuda.so.1 has no cuEventElapsedTime");
}

enum hn_status hn_driver_open(struct hn_driver *driver, struct hn_error *err)
{
    enum hn_status status = hn_driver_load(driver, err);
    if (status == HN_OK)
        status = hn_driver_check(driver, driver->p_cuInit(0), "cuInit", err);
    if (status != HN_OK)
        hn_driver_close(driver);
    return status;
}

void hn_driver_close(struct hn_driver *driver)
{
    if (driver == NULL)
        return;
    hn_library_close(driver->library);
    *driver = (struct hn_driver){0};
}

enum hn_status hn_driver_check(const struct hn_driver *driver, CUresult result, const char *what,
                               struct hn_error *err)
{
    if (result == CUDA_SUCCESS)
        return HN_OK;
    const char *name = NULL;
    const char *description = NULL;
    driver->p_cuGetErrorName(result, &name);
    driver->p_cuGetErrorString(result, &description);
    if (name == NULL)
        return hn_fail(err, HN_ERUN, "%s: CUDA error %d", what, (int)result);
    return hn_fail(err, HN_ERUN, "%s: %s: %s", what, name,
                   description == NULL ? "no description" : description);
}

bool hn_driver_result_is_fatal(CUresult result)
{
    static const CUresult ordinary[] = {CUDA_SUCCESS,
                                        CUDA_ERROR_INVALID_VALUE,
                                        CUDA_ERROR_OUT_OF_MEMORY,
                                        CUDA_ERROR_INVALID_IMAGE,
                                        CUDA_ERROR_NO_BINARY_FOR_GPU,
                                        CUDA_ERROR_INVALID_PTX,
                                        CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                                        CUDA_ERROR_INVALID_SOURCE,
                                        CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
                                        CUDA_ERROR_NOT_FOUND,
                                        CUDA_ERROR_NOT_READY,
                                        CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                                        CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING,
                                        CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                                        CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                                        CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
                                        CUDA_ERROR_NOT_PERMITTED,
                                        CUDA_ERROR_NOT_SUPPORTED,
                                        CUDA_ERROR_INVALID_CLUSTER_SIZE,
                                        CUDA_ERROR_UNSUPPORTED_LIMIT};
    for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++)
        if (ordinary[i] == result)
            return false;
    return true;
}

/* Asks the driver, where err has not failed. */
#define ASK(function, arguments)                                                                   \
    (hn_failed(err)                                                                                \
         ? (void)0                                                                                 \
         : (void)hn_driver_check(driver, driver->p_##function arguments, #function, err))

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue ...": the first word of digits
 * and dots. */
static void read_driver_version(const struct hn_driver *driver, char version[32],
                                struct hn_error *err)
{
    char line[256] = "";
    int number = 0;
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (file != NULL && fgets(line, sizeof line, file) == NULL)
        line[0] = '\0';
    if (file != NULL)
        fclose(file);
    for (char *word, *rest = line; (word = strsep(&rest, " \t\n")) != NULL;) {
        size_t length = strspn(word, "0123456789.");
        if (word[length] == '\0' && strchr(word, '.') != NULL && length < 32) {
            memcpy(version, word, length + 1);
            return;
        }
    }
    ASK(cuDriverGetVersion, (&number));
    snprintf(version, 32, "CUDA %d.%d", number / 1000, number % 1000 / 10);
}

static void read_limits(const struct hn_driver *driver, CUdevice handle, struct hn_device *device,
                        struct hn_error *err)
{
    int major = 0, minor = 0, cluster = 0, integrated = 0;
    const struct {
        CUdevice_attribute attribute;
        int *where;
    } limits[] = {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
                  {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
                  {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &device->identity.sm_count},
                  {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, &cluster},
                  {CU_DEVICE_ATTRIBUTE_INTEGRATED, &integrated},
#define X(key, member, attribute) {CU_DEVICE_ATTRIBUTE_##attribute, &device->member},
                  HN_DEVICE_NUMBERS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        ASK(cuDeviceGetAttribute, (limits[i].where, limits[i].attribute, handle));
    device->identity.capability = 10 * major + minor;
    device->cluster_launch = cluster != 0;
    device->integrated = integrated != 0;
}

static void read_identity(const struct hn_driver *driver, CUdevice handle, struct hn_device *device,
                          struct hn_error *err)
{
    CUuuid uuid = {{0}};
    size_t bytes = 0;
    char *name = device->identity.name;
    ASK(cuDeviceGetName, (name, (int)sizeof device->identity.name, handle));
    name[sizeof device->identity.name - 1] = '\0';
    /* a MIG instance is named "NVIDIA H200 MIG 1g.18gb": the profile is taken off the name */
    char *mark = strstr(name, " MIG ");
    if (mark != NULL) {
        snprintf(device->identity.mig_profile, sizeof device->identity.mig_profile, "%.63s",
                 mark + 5);
        *mark = '\0';
    }
    ASK(cuDeviceGetUuid, (&uuid, handle));
    bool mig = device->identity.mig_profile[0] != '\0';
    int length = snprintf(device->uuid, sizeof device->uuid, mig ? "MIG-" : "GPU-");
    for (int i = 0; i < 16; i++) {
        bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        length += snprintf(device->uuid + length, sizeof device->uuid - (size_t)length,
                           dash ? "-%02x" : "%02x", (unsigned char)uuid.bytes[i]);
    }
    ASK(cuDeviceTotalMem, (&bytes, handle));
    device->memory_bytes = (int64_t)bytes;
}

enum hn_status hn_driver_device(const struct hn_driver *driver, int ordinal,
                                struct hn_device *device, struct hn_error *err)
{
    CUdevice handle = 0;
    hn_error_init(err);
    *device = (struct hn_device){.ordinal = ordinal};
    ASK(cuDeviceGet, (&handle, ordinal));
    read_identity(driver, handle, device, err);
    read_limits(driver, handle, device, err);
    read_driver_version(driver, device->driver, err);
    return err->status;
}

static bool selector_matches(const char *selector, const struct hn_device *device)
{
    char *end = NULL;
    long ordinal = strtol(selector, &end, 10);
    if (end != selector && *end == '\0')
        return ordinal == device->ordinal;
    size_t length = strlen(selector);
    return length > 4 && strncmp(selector, device->uuid, length) == 0;
}

enum hn_status hn_driver_select(const struct hn_driver *driver, const char *selector,
                                struct hn_device *device, struct hn_error *err)
{
    int count = 0;
    int matches = 0;
    struct hn_text list HN_ENDED_BY(hn_text_finish) = {0};
    hn_error_init(err);
    ASK(cuDeviceGetCount, (&count));
    if (!hn_failed(err) && count == 0)
        hn_fail(err, HN_ERUN, "the CUDA driver finds no GPU");
    if (hn_failed(err) || selector == NULL)
        return hn_failed(err) ? err->status : hn_driver_device(driver, 0, device, err);
    for (int i = 0; i < count; i++) {
        struct hn_device candidate;
        if (hn_driver_device(driver, i, &candidate, err) != HN_OK)
            break;
        hn_text_printf(&list, "\n  %d  %s  %s", i, candidate.uuid, candidate.identity.name);
        if (selector_matches(selector, &candidate)) {
            *device = candidate;
            matches++;
        }
    }
    if (!hn_failed(err) && matches != 1)
        hn_fail(err, HN_EUSAGE, "%s '%s'; expected one of:%.3000s",
                matches == 0 ? "no such device:" : "more than one device is called", selector,
                list.failed ? "" : list.data);
    return err->status;
}

enum hn_status hn_context_init(struct hn_context *context, const struct hn_driver *driver,
                               const struct hn_device *device, struct hn_error *err)
{
    hn_error_init(err);
    *context = (struct hn_context){.driver = driver, .device = device};
    HN_CALL(context, cuDeviceGet, (&context->handle, device->ordinal), "cuDeviceGet", err);
    HN_CALL(context, cuDevicePrimaryCtxRetain, (&context->primary, context->handle),
            "cuDevicePrimaryCtxRetain", err);
    bool retained = !hn_failed(err);
    HN_CALL(context, cuCtxSetCurrent, (context->primary), "cuCtxSetCurrent", err);
    HN_CALL(context, cuStreamCreate, (&context->stream, CU_STREAM_DEFAULT), "cuStreamCreate", err);
    if (!hn_failed(err))
        return HN_OK;
    if (retained)
        driver->p_cuDevicePrimaryCtxRelease(context->handle);
    context->primary = NULL;
    context->stream = NULL;
    return err->status;
}

void hn_context_finish(struct hn_context *context)
{
    if (context->primary == NULL)
        return;
    context->driver->p_cuStreamDestroy(context->stream);
    context->driver->p_cuCtxSetCurrent(NULL);
    context->driver->p_cuDevicePrimaryCtxRelease(context->handle);
    context->primary = NULL;
}

void hn_context_check(struct hn_context *context, CUresult result, const char *what,
                      struct hn_error *err)
{
    if (hn_failed(err))
        return;
    if (hn_driver_result_is_fatal(result))
        context->dead = true;
    hn_driver_check(context->driver, result, what, err);
}

void hn_context_synchronize(struct hn_context *context, const char *what, struct hn_error *err)
{
    HN_CALL(context, cuStreamSynchronize, (context->stream), what, err);
}

CUresult hn_l2_reset(const struct hn_context *context)
{
    const struct hn_driver *driver = context->driver;
    CUresult result = driver->p_cuStreamSynchronize(context->stream);
    return result == CUDA_SUCCESS ? driver->p_cuCtxResetPersistingL2Cache() : result;
}

/* The driver may round, and where it cannot set anything aside it may also say nothing. */
static CUresult set_limit(struct hn_context *context, int64_t set_aside)
{
    const struct hn_driver *driver = context->driver;
    size_t granted = 0;
    CUresult result = driver->p_cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, (size_t)set_aside);
    if (result != CUDA_SUCCESS)
        return result;
    context->l2.set_aside = set_aside;
    if (set_aside == 0)
        return CUDA_SUCCESS;
    result = driver->p_cuCtxGetLimit(&granted, CU_LIMIT_PERSISTING_L2_CACHE_SIZE);
    return result == CUDA_SUCCESS && granted == 0 ? CUDA_ERROR_UNSUPPORTED_LIMIT : result;
}

CUresult hn_l2_use(struct hn_context *context, const void *user, int64_t set_aside)
{
    struct hn_l2_state *l2 = &context->l2;
    if (l2->user == user && l2->set_aside == set_aside)
        return CUDA_SUCCESS;
    CUresult result = hn_l2_reset(context);
    if (result == CUDA_SUCCESS && l2->set_aside != set_aside)
        result = set_limit(context, set_aside);
    if (result == CUDA_SUCCESS)
        l2->user = user;
    return result;
}
