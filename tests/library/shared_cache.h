/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_SHARED_CACHE_H
#define HONE_TESTS_SHARED_CACHE_H

#include <pthread.h>

#include "library_fixture.h"

/* What launches of `scale` share: a context, a cache, and N numbers. */
enum { N = 256 };

struct shared {
    CUcontext context;
    struct hone_cache *cache;
    CUdeviceptr x;
};

static inline int set_up(void **state)
{
    static struct shared shared;
    CUdevice device;
    CHECK_CUDA(cuInit(0));
    CHECK_CUDA(cuDeviceGet(&device, 0));
    CHECK_CUDA(cuDevicePrimaryCtxRetain(&shared.context, device));
    CHECK_CUDA(cuCtxSetCurrent(shared.context));
    shared.cache = open_cache();
    shared.x = new_buffer(NULL, N * sizeof(float));
    *state = &shared;
    return 0;
}

static inline int tear_down(void **state)
{
    struct shared *shared = *state;
    if (shared->cache == NULL) /* a test did this */
        return 0;
    drop((void *)(uintptr_t)shared->x);
    drop(shared->cache);
    shared->cache = NULL;
    CHECK_CUDA(cuDevicePrimaryCtxRelease(0));
    return 0;
}

static inline enum hone_status launch(struct hone_kernel *kernel, CUdeviceptr x, CUdeviceptr y)
{
    const struct hone_argument arguments[] = {hone_buffer("x", x), hone_buffer("y", y)};
    return hone_launch(kernel, NULL, arguments, 2, NULL);
}

/* Several threads at once, all of which end well: with the context. */
static inline void in_threads(void *(*work)(void *), void *context)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, context), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, context);
    }
}

#endif
