/* SPDX-License-Identifier: MIT */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A program that knows nothing of Hone: launcher CUBIN HOW loads the kernel `scale` of
 * tests/data/double.txt and launches it with the factors 3, 4 and 5 on 5000 numbers, which lie 256
 * bytes behind the beginning of their memory. It is linked with the driver, or (RUNTIME) asks the
 * driver for its functions as the runtime of CUDA does. HOW is `array`, `packed` (parameters in one
 * piece), `thread` (the default stream of the thread), `clusters` (of two blocks), or `structure`:
 * of a cubin of `apply`, which has its pointers in one. */

enum { N = 5000, BEHIND = 256, BLOCK = 128 };

#define FUNCTIONS(X)                                                                               \
    X(cuInit)                                                                                      \
    X(cuDeviceGet)                                                                                 \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuCtxSetCurrent)                                                                             \
    X(cuModuleLoadDataEx)                                                                          \
    X(cuModuleGetFunction)                                                                         \
    X(cuMemAlloc)                                                                                  \
    X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuLaunchKernel) X(cuLaunchKernelEx) X(cuCtxSynchronize)

static struct {
#define X(name) __typeof__(&name) p_##name;
    FUNCTIONS(X)
#undef X
} driver;

static void find_functions(int per_thread)
{
#ifdef RUNTIME
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    __typeof__(&cuGetProcAddress) get = NULL;
    void *address = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&get, &address, sizeof get);
    cuuint64_t flags =
        per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_DEFAULT;
#define X(name)                                                                                    \
    if (get(#name, &address, CUDA_VERSION, flags, NULL) != CUDA_SUCCESS)                           \
        exit(2);                                                                                   \
    memcpy(&driver.p_##name, &address, sizeof address);
    FUNCTIONS(X)
#undef X
#else
    (void)per_thread;
#define X(name) driver.p_##name = &name;
    FUNCTIONS(X)
#undef X
#endif
}

static void check(CUresult result)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "CUDA says %d\n", (int)result);
        exit(1);
    }
}

static CUfunction load(const char *path, const char *kernel)
{
    static char cubin[1 << 20];
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fread(cubin, 1, sizeof cubin, file) == 0)
        exit(2);
    fclose(file);
    check(driver.p_cuInit(0));
    check(driver.p_cuDeviceGet(&device, 0));
    check(driver.p_cuDevicePrimaryCtxRetain(&context, device));
    check(driver.p_cuCtxSetCurrent(context));
    check(driver.p_cuModuleLoadDataEx(&module, cubin, 0, NULL, NULL));
    check(driver.p_cuModuleGetFunction(&function, module, kernel));
    return function;
}

static void launch(CUfunction function, const char *how, CUdeviceptr x, CUdeviceptr y,
                   CUdeviceptr turns, float a)
{
    struct {
        CUdeviceptr x, y;
        float a;
        int n;
    } packed = {x, y, a, N};
    size_t bytes = sizeof packed;
    void *parameters[] = {&packed.x, &packed.y, &packed.a, &packed.n};
    struct {
        CUdeviceptr x;
        int n, negate;
        CUdeviceptr y;
        int which;
        float line[3];
        double bias;
        CUdeviceptr turns;
    } structure = {x, N, 0, y, 0, {a, 0, 0}, 0, turns};
    void *one[] = {&structure};
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    if (strcmp(how, "clusters") == 0) {
        CUlaunchAttribute clusters = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                      .value.clusterDim = {2, 1, 1}};
        const CUlaunchConfig config = {
            (N + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, &clusters, 1};
        check(driver.p_cuLaunchKernelEx(&config, function, parameters, NULL));
    } else if (strcmp(how, "packed") == 0) {
        const CUlaunchConfig config = {
            (N + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, NULL, 0};
        check(driver.p_cuLaunchKernelEx(&config, function, NULL, extra));
    } else {
        check(driver.p_cuLaunchKernel(function, (N + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL,
                                      strcmp(how, "structure") == 0 ? one : parameters, NULL));
    }
    check(driver.p_cuCtxSynchronize());
}

int main(int argc, char **argv)
{
    static float numbers[N];
    CUdeviceptr x, y, turns;
    if (argc != 3)
        return 2;
    find_functions(strcmp(argv[2], "thread") == 0);
    CUfunction function = load(argv[1], strcmp(argv[2], "structure") == 0 ? "apply" : "scale");
    for (int i = 0; i < N; i++)
        numbers[i] = (float)(i % 1000);
    check(driver.p_cuMemAlloc(&x, sizeof numbers + BEHIND));
    check(driver.p_cuMemAlloc(&y, sizeof numbers));
    check(driver.p_cuMemAlloc(&turns, sizeof turns));
    check(driver.p_cuMemcpyHtoD(x + BEHIND, numbers, sizeof numbers));
    for (int factor = 3; factor <= 5; factor++)
        launch(function, argv[2], x + BEHIND, y, turns, (float)factor);
    check(driver.p_cuMemcpyDtoH(numbers, y, sizeof numbers));
    printf("the last is %g\n", (double)numbers[N - 1]);
    return 0;
}
