/* SPDX-License-Identifier: MIT */
#ifndef HONE_BENCH_FAMILY_PEER_H
#define HONE_BENCH_FAMILY_PEER_H

#include <cuda.h>
#include <jansson.h>
#include <stddef.h>

/* The vendor's function that does what a kernel does. cuBLAS, cublasLt and peers.cu's library are loaded when the program runs,
 * so that it builds, and runs without a peer, where they are not. */

struct peer_kind;

struct peer {
    const struct peer_kind *kind; /* NULL: there is none */
    char name[64];                /* "cuBLAS 13.0.2 cublasSgemm" */
    char missing[256];            /* why there is none */
    void *function;
    void *set, *describe; /* of cublasLt: gives it a problem; says what it launches */
    void *blas;
    CUdeviceptr storage; /* of CUB */
    size_t storage_bytes;
    long long values[3]; /* of the problem */
    int transposed[2];   /* inputs of products */
    int ways, way;       /* algorithms that there are for the problem, 0: it has its own; which is launched */
    CUdeviceptr inputs[2], output;
    int (*read)(void *data, size_t bytes); /* NULL: peers.cu's library is not there */
};

/* library: path of peers.cu's, or NULL. */
void peer_open(struct peer *peer, const char *kernel, const char *library);
/* From now on there is none but the driver's own. */
void peer_give_up(struct peer *peer, const char *why);
/* Takes what is launched from now on. 0: done. The buffers are in the order of the kernel's arguments. */
int peer_set(struct peer *peer, const json_t *problem, const CUdeviceptr *inputs, size_t input_count, CUdeviceptr output);
/* 0: queued on the NULL stream. */
int peer_launch(struct peer *peer);
/* Which kernels the way that is taken launches, with grids; "" where that is not known. */
void peer_describe(struct peer *peer, char *text, size_t size);

#endif
