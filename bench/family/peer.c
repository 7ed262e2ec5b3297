/* SPDX-License-Identifier: MIT */
#include "peer.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int (*cub_sum)(void *, size_t *, const float *, float *, int64_t);
typedef int (*blas_gemm)(void *, int, int, int, int, int, const float *, const float *, int,
                         const float *, int, const float *, float *, int);
typedef int (*blas_geam)(void *, int, int, int, int, const float *, const float *, int,
                         const float *, const float *, int, float *, int);
typedef int (*lt_set)(const void *, const void *, void *, int64_t, int64_t, int64_t, int);
typedef int (*lt_run)(int);
typedef void (*lt_describe)(int, char *, size_t);
typedef int (*blas_dot)(void *, int, const float *, int, const float *, int, float *);

enum { OP_N = 0, OP_T = 1, POINTER_MODE_HOST = 0, POINTER_MODE_DEVICE = 1 };

static const float one = 1, zero = 0;

struct peer_kind {
    const char *kernel;
    const char *says; /* what it is called */
    const char *symbol;
    enum { DRIVER, CUBLAS, CUB, CUBLASLT } from;
    size_t inputs;
    const char *values[3]; /* of the problem */
    int (*launch)(struct peer *peer);
};

static float *at(CUdeviceptr address)
{
    return (float *)(uintptr_t)address;
}

/* ISO C has no cast from an object's pointer to a function's. */
#define FUNCTION(type, peer)                                                                       \
    type call;                                                                                     \
    memcpy(&call, &(peer)->function, sizeof call)

/* Row-major: the transposed product of column-major matrices. */
static int launch_gemm(struct peer *peer)
{
    FUNCTION(blas_gemm, peer);
    int m = (int)peer->values[0], n = (int)peer->values[1], k = (int)peer->values[2];
    const int *transposed = peer->transposed;
    return call(peer->blas, transposed[1] ? OP_T : OP_N, transposed[0] ? OP_T : OP_N, n, m, k, &one,
                at(peer->inputs[1]), transposed[1] ? k : n, at(peer->inputs[0]),
                transposed[0] ? m : k, &zero, at(peer->output), n);
}

static int launch_geam(struct peer *peer)
{
    FUNCTION(blas_geam, peer);
    int rows = (int)peer->values[0], columns = (int)peer->values[1];
    return call(peer->blas, OP_T, OP_N, rows, columns, &one, at(peer->inputs[0]), columns, &zero,
                at(peer->output), rows, at(peer->output), rows);
}

static int launch_dot(struct peer *peer)
{
    FUNCTION(blas_dot, peer);
    return call(peer->blas, (int)peer->values[0], at(peer->inputs[0]), 1, at(peer->inputs[1]), 1,
                at(peer->output));
}

static int launch_sum(struct peer *peer)
{
    FUNCTION(cub_sum, peer);
    return call(at(peer->storage), &peer->storage_bytes, at(peer->inputs[0]), at(peer->output),
                peer->values[0]);
}

static int launch_lt(struct peer *peer)
{
    FUNCTION(lt_run, peer);
    return call(peer->way);
}

static int launch_copy(struct peer *peer)
{
    return (int)cuMemcpyDtoDAsync(peer->output, peer->inputs[0],
                                  (size_t)peer->values[0] * sizeof(float), NULL);
}

static const struct peer_kind kinds[] = {
    {"sgemm", "cublasSgemm", "cublasSgemm_v2", CUBLAS, 2, {"M", "N", "K"}, launch_gemm},
    {"sgemm_blas", "cublasSgemm", "cublasSgemm_v2", CUBLAS, 2, {"M", "N", "K"}, launch_gemm},
    {"bgemm", "best of what it proposes", "peers_lt_run", CUBLASLT, 2, {"M", "N", "K"}, launch_lt},
    {"transpose", "cublasSgeam", "cublasSgeam", CUBLAS, 1, {"ROWS", "COLUMNS", NULL}, launch_geam},
    {"dot", "cublasSdot", "cublasSdot_v2", CUBLAS, 2, {"SIZE", NULL, NULL}, launch_dot},
    {"reduce", "DeviceReduce::Sum", "peers_sum", CUB, 1, {"SIZE", NULL, NULL}, launch_sum},
    {"copy", "cuMemcpyDtoDAsync", NULL, DRIVER, 1, {"SIZE", NULL, NULL}, launch_copy},
};

/* For all that is loaded from now on. NULL: peer->missing says why not. */
static void *load(struct peer *peer, const char *name)
{
    static const char *const versions[] = {".13", ".12", ""};
    void *library = NULL;
    for (size_t i = 0; library == NULL && i < sizeof versions / sizeof versions[0]; i++) {
        char file[64];
        snprintf(file, sizeof file, "lib%s.so%s", name, versions[i]);
        library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    }
    if (library == NULL)
        snprintf(peer->missing, sizeof peer->missing, "%s cannot be loaded: %.200s", name,
                 dlerror());
    return library;
}

static int open_cublas(struct peer *peer)
{
    int (*create)(void **handle) = NULL;
    int (*get_version)(void *handle, int *version) = NULL;
    int (*set_mode)(void *handle, int mode) = NULL;
    int version = 0;
    void *library = load(peer, "cublas");
    if (library == NULL)
        return 0;
    void *symbols[] = {dlsym(library, "cublasCreate_v2"), dlsym(library, "cublasGetVersion_v2"),
                       dlsym(library, "cublasSetPointerMode_v2")};
    peer->function = dlsym(library, peer->kind->symbol);
    memcpy(&create, &symbols[0], sizeof create);
    memcpy(&get_version, &symbols[1], sizeof get_version);
    memcpy(&set_mode, &symbols[2], sizeof set_mode);
    if (create == NULL || get_version == NULL || set_mode == NULL || peer->function == NULL ||
        create(&peer->blas) != 0 || get_version(peer->blas, &version) != 0 ||
        set_mode(peer->blas,
                 peer->kind->launch == launch_dot ? POINTER_MODE_DEVICE : POINTER_MODE_HOST) != 0) {
        snprintf(peer->missing, sizeof peer->missing, "cuBLAS does not start");
        return 0;
    }
    snprintf(peer->name, sizeof peer->name, "cuBLAS %d.%d.%d %s", version / 10000,
             version / 100 % 100, version % 100, peer->kind->says);
    return 1;
}

/* Of peers.cu's library. Below 0: it is not there. */
static int version_of(struct peer *peer, void *library, const char *function)
{
    int (*get_version)(void) = NULL;
    void *symbol = library == NULL ? NULL : dlsym(library, function);
    if (symbol == NULL) {
        snprintf(peer->missing, sizeof peer->missing,
                 "the library that bench/family/CMakeLists.txt has built by nvcc is not there");
        return -1;
    }
    memcpy(&get_version, &symbol, sizeof get_version);
    peer->function = dlsym(library, peer->kind->symbol);
    return get_version();
}

static int open_cub(struct peer *peer, void *library)
{
    int version = version_of(peer, library, "peers_cub_version");
    snprintf(peer->name, sizeof peer->name, "CUB %d.%d.%d %s", version / 100000,
             version / 100 % 1000, version % 100, peer->kind->says);
    return peer->function != NULL;
}

static int open_cublaslt(struct peer *peer, void *library)
{
    if (load(peer, "cublas") == NULL || load(peer, "cublasLt") == NULL)
        return 0;
    int version = version_of(peer, library, "peers_lt_version");
    peer->set = version < 0 ? NULL : dlsym(library, "peers_lt_set");
    peer->describe = version < 0 ? NULL : dlsym(library, "peers_lt_describe");
    snprintf(peer->name, sizeof peer->name, "cublasLt %d.%d.%d, %s", version / 10000,
             version / 100 % 100, version % 100, peer->kind->says);
    return peer->function != NULL;
}

void peer_open(struct peer *peer, const char *kernel, const char *library_path)
{
    *peer = (struct peer){.kind = NULL};
    void *library = library_path == NULL ? NULL : dlopen(library_path, RTLD_LAZY);
    void *symbol = library == NULL ? NULL : dlsym(library, "peers_read");
    memcpy(&peer->read, &symbol, sizeof peer->read);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].kernel, kernel) == 0)
            peer->kind = &kinds[i];
    if (peer->kind == NULL) {
        snprintf(peer->missing, sizeof peer->missing, "no library is known to do what %.100s does",
                 kernel);
        return;
    }
    snprintf(peer->name, sizeof peer->name, "%s", peer->kind->says);
    if ((peer->kind->from == CUBLAS && !open_cublas(peer)) ||
        (peer->kind->from == CUB && !open_cub(peer, library)) ||
        (peer->kind->from == CUBLASLT && !open_cublaslt(peer, library)))
        peer->kind = NULL;
}

void peer_give_up(struct peer *peer, const char *why)
{
    if (peer->kind == NULL || peer->kind->from == DRIVER)
        return;
    peer->kind = NULL;
    snprintf(peer->missing, sizeof peer->missing, "%s", why);
}

static int has_word(const json_t *problem, const char *name, const char *expected)
{
    const char *word = json_string_value(json_object_get(problem, name));
    return word != NULL && strcmp(word, expected) == 0;
}

static int set_sum(struct peer *peer)
{
    FUNCTION(cub_sum, peer);
    size_t bytes = 0;
    int failed = call(NULL, &bytes, at(peer->inputs[0]), at(peer->output), peer->values[0]);
    if (failed == 0 && bytes > peer->storage_bytes) {
        if (peer->storage != 0)
            cuMemFree(peer->storage);
        failed = (int)cuMemAlloc(&peer->storage, bytes);
        peer->storage_bytes = bytes;
    }
    return failed;
}

/* Of bfloat16 alone. */
static int set_lt(struct peer *peer, const json_t *problem)
{
    lt_set call;
    memcpy(&call, &peer->set, sizeof call);
    peer->way = 0;
    peer->ways =
        has_word(problem, "TYPE", "__nv_bfloat16") && has_word(problem, "OUT", "__nv_bfloat16")
            ? call(at(peer->inputs[0]), at(peer->inputs[1]), at(peer->output), peer->values[0],
                   peer->values[1], peer->values[2], peer->transposed[1])
            : 0;
    return peer->ways > 0 ? 0 : -1;
}

int peer_set(struct peer *peer, const json_t *problem, const CUdeviceptr *inputs,
             size_t input_count, CUdeviceptr output)
{
    if (input_count < peer->kind->inputs || output == 0)
        return -1;
    for (size_t i = 0; i < peer->kind->inputs; i++)
        peer->inputs[i] = inputs[i];
    for (size_t i = 0; i < 3 && peer->kind->values[i] != NULL; i++)
        peer->values[i] = json_integer_value(json_object_get(problem, peer->kind->values[i]));
    peer->transposed[0] = has_word(problem, "TRANS_A", "t");
    peer->transposed[1] = has_word(problem, "TRANS_B", "t");
    peer->output = output;
    return peer->kind->from == CUB        ? set_sum(peer)
           : peer->kind->from == CUBLASLT ? set_lt(peer, problem)
                                          : 0;
}

int peer_launch(struct peer *peer)
{
    return peer->kind->launch(peer);
}

void peer_describe(struct peer *peer, char *text, size_t size)
{
    lt_describe call;
    memcpy(&call, &peer->describe, sizeof call);
    text[0] = '\0';
    if (call != NULL)
        call(peer->way, text, size);
}
