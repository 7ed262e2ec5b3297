/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

/* Something that a stream has not done yet: a kernel, waiting until another stream has done so
 * much, or a copy. */
struct task {
    struct double_function *function;
    struct double_geometry geometry;
    struct double_values values;
    void *to;
    const void *from;
    size_t bytes;
    struct CUstream_st *other;
    uint64_t done;
};

struct CUstream_st {
    struct CUstream_st *next;
    double now_us;
    struct task *tasks;
    uint64_t given, done;
};

struct CUevent_st {
    struct CUevent_st *next;
    double time_us;
    struct CUstream_st *stream; /* NULL: all before it is done */
    uint64_t given;
    uint64_t waits; /* of the host, when it was recorded */
};

/* The first stream does everything at once; its time is the device's. */
static struct CUstream_st first;
static struct CUstream_st *streams;
static struct CUevent_st *events;
static struct {
    double upload_us, download_us;
} engines;

static void run_kernel(struct task *task)
{
    void *parameters[DOUBLE_KEPT_PARAMETERS];
    double_values_point(&task->values, parameters);
    double_kernel_run(
        &(struct double_launch){double_the_device(), task->function, &task->geometry, parameters});
}

static void move(const struct task *task)
{
    memmove(task->to, task->from, task->bytes);
    double_memory_written();
}

static void drain(struct CUstream_st *stream, uint64_t until)
{
    while (stream->done < until) {
        struct task task = stream->tasks[stream->done++];
        if (task.function != NULL)
            run_kernel(&task);
        else if (task.other != NULL)
            drain(task.other, task.done);
        else
            move(&task);
    }
    if (stream->done == stream->given)
        for (struct CUevent_st *event = events; event != NULL; event = event->next)
            if (event->stream == stream)
                event->stream = NULL;
}

void double_streams_drain(void)
{
    for (struct CUstream_st *one = streams; one != NULL; one = one->next)
        drain(one, one->given);
}

static CUresult give(struct CUstream_st *stream, struct task task)
{
    if (stream == &first) {
        if (task.other != NULL)
            drain(task.other, task.done);
        else
            move(&task);
        return CUDA_SUCCESS;
    }
    if ((stream->given & (stream->given - 1)) == 0) { /* full: room for twice as many */
        struct task *grown = realloc(stream->tasks, (2 * stream->given + 1) * sizeof *grown);
        if (grown == NULL)
            return CUDA_ERROR_OUT_OF_MEMORY;
        stream->tasks = grown;
    }
    stream->tasks[stream->given++] = task;
    return CUDA_SUCCESS;
}

/* Of the device, or of a thread: threads of the double are one behind the other. */
static bool is_default(CUstream stream)
{
    return stream == NULL || stream == CU_STREAM_PER_THREAD;
}

bool double_stream_defer(CUstream stream, struct double_function *function,
                         const struct double_geometry *geometry, void **parameters)
{
    struct task task = {.function = function, .geometry = *geometry};
    if (is_default(stream) || stream == &first || getenv("HONE_DOUBLE_LATE") == NULL)
        return false;
    double_values_keep(&task.values, function, parameters);
    return give(stream, task) == CUDA_SUCCESS;
}

static double *clock_of(struct CUstream_st *stream)
{
    return stream == &first ? &double_the_device()->now_us : &stream->now_us;
}

void double_stream_begin(CUstream stream)
{
    struct double_device *device = double_the_device();
    if (is_default(stream) || stream == &first)
        return;
    drain(stream, stream->given);
    device->now_us = fmax(device->now_us, stream->now_us);
}

void double_stream_end(CUstream stream)
{
    if (!is_default(stream))
        *clock_of(stream) = double_the_device()->now_us;
}

bool double_streams_left(void)
{
    return events != NULL || streams != NULL;
}

static void free_stream(struct CUstream_st *stream)
{
    for (struct CUevent_st *event = events; event != NULL; event = event->next)
        if (event->stream == stream)
            event->stream = NULL;
    free(stream->tasks);
    free(stream);
}

void double_streams_free(void)
{
    while (events != NULL) {
        struct CUevent_st *next = events->next;
        free(events);
        events = next;
    }
    while (streams != NULL) {
        struct CUstream_st *next = streams->next;
        free_stream(streams);
        streams = next;
    }
}

/* At 50 GB/s each way, 10 GB/s where the host's memory is not page-locked: then the call waits. */
static CUresult copy(CUstream stream, double *engine_us, void *to, const void *from, bool pinned,
                     size_t bytes)
{
    if (stream == NULL)
        stream = &first;
    double *now_us = clock_of(stream);
    *engine_us = fmax(*engine_us, *now_us) + 1.0 + (double)bytes / (pinned ? 50e3 : 10e3);
    *now_us = *engine_us;
    CUresult result = give(stream, (struct task){.to = to, .from = from, .bytes = bytes});
    if (!pinned && stream != &first)
        drain(stream, stream->given);
    return result;
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    ENTER();
    if (!double_is_valid(to, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    return copy(stream, &engines.upload_us, (void *)(uintptr_t)to, from,
                double_is_pinned(from, bytes), bytes);
}

CUresult CUDAAPI cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    ENTER();
    if (!double_is_valid(from, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    return copy(stream, &engines.download_us, to, (const void *)(uintptr_t)from,
                double_is_pinned(to, bytes), bytes);
}

CUresult CUDAAPI cuMemPrefetchAsync_v2(CUdeviceptr data, size_t bytes, CUmemLocation location,
                                       unsigned int flags, CUstream stream)
{
    ENTER();
    if (!double_is_valid(data, bytes) || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    double *engine_us =
        location.type == CU_MEM_LOCATION_TYPE_DEVICE ? &engines.upload_us : &engines.download_us;
    double *now_us = clock_of(stream);
    *engine_us = fmax(*engine_us, *now_us) + 1.0 + (double)bytes / 20e3;
    *now_us = *engine_us;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned int flags)
{
    ENTER();
    *stream = &first;
    if (flags != CU_STREAM_NON_BLOCKING)
        return CUDA_SUCCESS;
    struct CUstream_st *made = calloc(1, sizeof *made);
    if (made == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->next = streams;
    streams = made;
    *stream = made;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream)
{
    ENTER();
    struct CUstream_st **link = &streams;
    if (stream == &first)
        return CUDA_SUCCESS;
    while (*link != NULL && *link != stream)
        link = &(*link)->next;
    if (*link == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    double_streams_drain();
    *link = stream->next;
    free_stream(stream);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream)
{
    ENTER();
    if (!is_default(stream))
        drain(stream, stream->given);
    return double_wait();
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    ENTER();
    (void)flags;
    if (stream == NULL)
        stream = &first;
    *clock_of(stream) = fmax(*clock_of(stream), event->time_us);
    if (event->stream == NULL || event->stream == stream)
        return CUDA_SUCCESS;
    return give(stream, (struct task){.other = event->stream, .done = event->given});
}

/* HONE_DOUBLE_CAPTURING, which tests set and unset: streams are being captured. */
CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    ENTER();
    bool captured = getenv("HONE_DOUBLE_CAPTURING") != NULL || double_graph_captures(stream);
    *status = captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    static _Thread_local CUstreamCaptureMode own = CU_STREAM_CAPTURE_MODE_GLOBAL;
    ENTER();
    const CUstreamCaptureMode former = own;
    own = *mode;
    *mode = former;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned int flags)
{
    ENTER();
    (void)flags;
    struct CUevent_st *made = calloc(1, sizeof *made);
    if (made == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->next = events;
    events = made;
    *event = made;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventDestroy(CUevent event)
{
    ENTER();
    struct CUevent_st **link = &events;
    while (*link != NULL && *link != event)
        link = &(*link)->next;
    if (*link == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    *link = event->next;
    free(event);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream)
{
    ENTER();
    if (stream == NULL)
        stream = &first;
    /* The step of an H200's events. */
    event->time_us = floor(*clock_of(stream) / 0.032) * 0.032;
    event->stream = stream->done == stream->given ? NULL : stream;
    event->given = stream->given;
    event->waits = double_waits();
    return CUDA_SUCCESS;
}

/* The double works while the host waits: what was queued since has not begun. */
CUresult CUDAAPI cuEventQuery(CUevent event)
{
    ENTER();
    return event->waits == double_waits() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
    ENTER();
    if (event->stream != NULL)
        drain(event->stream, event->given);
    return double_wait();
}

CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    ENTER();
    *milliseconds = (float)((end->time_us - start->time_us) * 1e-3);
    return CUDA_SUCCESS;
}
