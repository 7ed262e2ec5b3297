/* SPDX-License-Identifier: MIT */
#include "runtime/device/context.h"

enum hn_status hn_context_init(struct hn_context *context, const struct hn_driver *driver,
                               const struct hn_device *device, struct hn_error *err)
{
    *context = (struct hn_context){.driver = driver, .device = device};
    CUresult result = driver->p_cuDeviceGet(&context->handle, device->ordinal);
    enum hn_status status = hn_context_check(context, result, "cuDeviceGet", err);
    if (status != HN_OK)
        return status;
    result = driver->p_cuDevicePrimaryCtxRetain(&context->primary, context->handle);
    status = hn_context_check(context, result, "cuDevicePrimaryCtxRetain", err);
    if (status != HN_OK) {
        context->primary = NULL;
        return status;
    }
    status = hn_context_check(context, driver->p_cuCtxSetCurrent(context->primary),
                              "cuCtxSetCurrent", err);
    if (status != HN_OK)
        goto release_context;
    result = driver->p_cuStreamCreate(&context->stream, CU_STREAM_DEFAULT);
    status = hn_context_check(context, result, "cuStreamCreate", err);
    if (status != HN_OK)
        goto release_context;
    return HN_OK;

release_context:
    driver->p_cuDevicePrimaryCtxRelease(context->handle);
    context->primary = NULL;
    context->stream = NULL;
    return status;
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

enum hn_status hn_context_check(struct hn_context *context, CUresult result, const char *what,
                                struct hn_error *err)
{
    if (hn_driver_result_is_fatal(result))
        context->dead = true;
    return hn_driver_check(context->driver, result, what, err);
}

enum hn_status hn_context_synchronize(struct hn_context *context, const char *what,
                                      struct hn_error *err)
{
    return hn_context_check(context, context->driver->p_cuStreamSynchronize(context->stream), what,
                            err);
}
