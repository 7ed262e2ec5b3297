/* SPDX-License-Identifier: MIT */
#include "runtime/device/l2_set_aside.h"

static CUresult reset_lines(struct hn_context *context)
{
    const struct hn_driver *driver = context->driver;
    CUresult result = driver->p_cuStreamSynchronize(context->stream);
    return result == CUDA_SUCCESS ? driver->p_cuCtxResetPersistingL2Cache() : result;
}

/* The driver may round, and where it can not set anything aside it may also say nothing. */
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
    CUresult result = reset_lines(context);
    if (result == CUDA_SUCCESS && l2->set_aside != set_aside)
        result = set_limit(context, set_aside);
    if (result == CUDA_SUCCESS)
        l2->user = user;
    return result;
}

CUresult hn_l2_reset(struct hn_context *context)
{
    return context->l2.user == NULL ? CUDA_SUCCESS : reset_lines(context);
}

void hn_l2_leave(struct hn_context *context, const void *user)
{
    if (context->l2.user == user && user != NULL && !context->dead)
        hn_l2_use(context, NULL, 0);
}
