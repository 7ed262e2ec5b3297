/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_DOUBLE_CALLS_H
#define HONE_TESTS_DOUBLE_CALLS_H

#include "double.h"

/* What the files with the driver's functions share. */

/* One call at a time: programs may call from several threads. */
bool double_hold(void);
void double_let_go(const bool *held);
/* Counts the call; the result of one that is to fail, or of any after a fault. */
CUresult double_enter(void);

/* Holds the lock until the function returns. */
#define ENTER()                                                                                                        \
    const bool held __attribute__((unused, cleanup(double_let_go))) = double_hold();                                           \
    do {                                                                                                               \
        CUresult entered = double_enter();                                                                             \
        if (entered != CUDA_SUCCESS)                                                                                   \
            return entered;                                                                                            \
    } while (0)

/* Waiting for an endless kernel takes for ever; a fault shows at the first wait after it. */
CUresult double_wait(void);
uint64_t double_waits(void); /* how often the host has waited so far */
struct double_device *double_the_device(void);

/* memory.c: device memory, of which there are `bytes`. */
void double_memory_init(size_t bytes);
size_t double_memory_total(void);
/* By whatever is not one of its calls. */
void double_memory_written(void);
CUresult double_allocate(CUdeviceptr *address, size_t bytes);
CUresult double_release(CUdeviceptr address);
/* Whether all of it lies in one allocation. */
bool double_is_valid(CUdeviceptr address, size_t bytes);
/* Where in all memory, at a multiple of 256 bytes, these numbers are, or nearly; NULL: nowhere but at `besides`. */
const float *double_find(const float *numbers, size_t count, const float *besides);
bool double_memory_left(void);
void double_memory_free(void);

/* module.c, texture.c */
bool double_modules_left(void);
void double_modules_free(void);
bool double_textures_left(void);
void double_textures_free(void);

/* streams.c. All but the first stream do as late as they may what they are given to copy, so that who does not wait for
 * it finds what was there before. A kernel runs at once, behind all that its stream has to do before. */
void double_streams_drain(void);
/* With HONE_DOUBLE_LATE kernels wait too, where nothing of what follows is done: then true. There are at most 16
 * parameters of up to 8 bytes, and behind the last is NULL. */
bool double_stream_defer(CUstream stream, struct double_function *function, const struct double_geometry *geometry,
                         void **parameters);
/* Before a kernel of this stream runs, and behind it. */
void double_stream_begin(CUstream stream);
void double_stream_end(CUstream stream);
bool double_streams_left(void);
void double_streams_free(void);

/* graph.c. Whether the stream is being captured, and so the graph has taken it. Parameters as of double_stream_defer:
 * the bench's are so, those of libhone are not. */
bool double_graph_takes_kernel(CUstream stream, struct double_function *function,
                               const struct double_geometry *geometry, void **parameters);
bool double_graph_takes_memset(CUstream stream, void *to, unsigned char value, size_t bytes);
bool double_graphs_left(void);
bool double_graph_captures(CUstream stream);

/* host.c: page-locked memory. */
bool double_is_pinned(const void *data, size_t bytes);
bool double_host_left(void);
void double_host_free(void);

/* Kernels that ran so far, for the double of CUPTI, which finds it by its name. */
extern uint64_t hone_double_launches;

#endif
