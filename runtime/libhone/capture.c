/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/text.h"
#include "cache/record/record.h"
#include "runtime/plan/capture_file.h"

static struct hone_kernel *make_kernel(struct hone_kernel *kernel, struct hn_error *err)
{
    struct hn_image image;
    static const struct hone_options options = {.on_miss = HONE_MISS_DEFAULT};
    const struct hn_lib_question asked = {kernel->cache,    kernel->context, kernel->name,
                                          &kernel->problem, &options,        kernel->device};
    const struct hn_lib_choice choice = {
        .asked = &asked, .plan = kernel->plan, .point = &kernel->plan->plan->defaults};
    if (!hn_plan_allows(kernel->plan->plan, &kernel->problem, choice.point, err)) {
        if (!hn_failed(err))
            hn_fail(err, HN_ECONFIG, "the default point is not valid for this problem");
        return NULL;
    }
    pthread_mutex_lock(&kernel->cache->lock);
    struct hone_kernel *made = hn_lib_load(&choice, &image, err);
    pthread_mutex_unlock(&kernel->cache->lock);
    hn_image_finish(&image);
    return made;
}

/* From the variables of the launched kernel, or the buffers that they take their contents from. */
static void copy_symbols(const struct hone_kernel *kernel, const struct hone_kernel *to,
                         CUstream stream, const uint64_t *values, struct hn_error *err)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    for (size_t i = 0; i < to->symbol_count && !hn_failed(err); i++) {
        const struct hn_lib_symbol *symbol = &to->symbols[i];
        CUdeviceptr from = 0;
        for (size_t s = 0; s < kernel->symbol_count; s++)
            if (strcmp(kernel->symbols[s].name, symbol->name) == 0)
                from = kernel->symbols[s].address;
        for (size_t s = 0; from == 0 && s < kernel->slot_count; s++)
            if (kernel->slots[s].kind == HONE_BUFFER &&
                strcmp(kernel->slots[s].name, symbol->from) == 0)
                from = values[s];
        if (symbol->zeroed)
            continue;
        if (from == 0)
            hn_fail(err, HN_ECONFIG, "the default point needs symbol '%s', which is not set",
                    symbol->name);
        else
            hn_driver_check(
                driver, driver->p_cuMemcpyDtoDAsync(symbol->address, from, symbol->bytes, stream),
                symbol->name, err);
    }
}

/* A buffer of the default run's own for what kernels write and is compared. */
static CUdeviceptr make_output(const struct hone_kernel *kernel, size_t slot, CUstream stream,
                               const uint64_t *values, struct hn_error *err)
{
    const struct hn_driver *driver = &kernel->cache->driver;
    uint64_t bytes = kernel->slots[slot].bytes;
    bool is_inout = kernel->plan->plan->arguments[slot].role == HN_ROLE_INOUT;
    CUdeviceptr output = 0;
    if (hn_driver_check(driver, driver->p_cuMemAlloc(&output, bytes),
                        "memory for the default point's output", err) != HN_OK)
        return 0;
    CUresult result = is_inout ? driver->p_cuMemcpyDtoDAsync(output, values[slot], bytes, stream)
                               : driver->p_cuMemsetD8Async(output, 0, bytes, stream);
    hn_driver_check(driver, result, "the default point's output", err);
    return output;
}

/* outputs: 0 of the slots that are not compared. */
static void choose_values(const struct hone_kernel *kernel, CUstream stream, const uint64_t *values,
                          struct hone_kernel *to, CUdeviceptr *outputs, uint64_t *own,
                          struct hn_error *err)
{
    CUdeviceptr base = 0;
    if (!hn_failed(err) && to->workspace_bytes > 0)
        base = hn_lib_workspace_get(to, stream, err);
    for (size_t i = 0; !hn_failed(err) && i < to->slot_count; i++) {
        const struct hn_lib_slot *slot = &to->slots[i];
        const struct hn_argument *argument = &kernel->plan->plan->arguments[i];
        own[i] = values[i];
        if (slot->need == HONE_FIXED || (argument->value != NULL && !kernel->slots[i].taken))
            own[i] = slot->preset;
        else if (slot->mapped)
            own[i] = 0;
        else if (slot->need == HONE_OWNED)
            own[i] = base + slot->preset;
        else if (hn_argument_is_compared(argument) && slot->taken)
            own[i] = outputs[i] = make_output(kernel, i, stream, values, err);
        else if (slot->taken && values[i] == 0 && argument->value == NULL)
            hn_fail(err, HN_ECONFIG, "the default point takes '%s', which is not given",
                    slot->name);
    }
}

/* One capture on its way, beside its path until it is whole. */
struct capture {
    struct hone_kernel *kernel;
    const uint64_t *values;
    FILE *stream;
    char *path;
    char *temporary;
    uint64_t written;
    json_t *inputs;
    json_t *expected;
    json_t *scalars;
};

static void write_bytes(struct capture *capture, const void *bytes, size_t size,
                        struct hn_error *err)
{
    if (hn_failed(err))
        return;
    if (fwrite(bytes, 1, size, capture->stream) != size)
        hn_fail(err, HN_ERUN, "'%s' cannot be written: %s", capture->temporary, strerror(errno));
    capture->written += size;
}

/* Contents that are packed: on the device or, for structures, on the host. */
struct contents {
    const struct hone_cache *cache;
    CUdeviceptr device;
    const unsigned char *host; /* NULL: on the device */
};

static void read_contents(const struct contents *contents, uint64_t offset, void *to, size_t bytes,
                          struct hn_error *err)
{
    const struct hn_driver *driver = &contents->cache->driver;
    if (contents->host != NULL)
        memcpy(to, contents->host + offset, bytes);
    else
        hn_driver_check(driver, driver->p_cuMemcpyDtoH(to, contents->device + offset, bytes),
                        "cuMemcpyDtoH", err);
}

static void create(struct capture *capture, struct hn_error *err)
{
    if (asprintf(&capture->temporary, "%s.%ld", capture->path, (long)getpid()) < 0) {
        capture->temporary = NULL;
        hn_fail_memory(err);
        return;
    }
    capture->stream = fopen(capture->temporary, "wbe");
    if (capture->stream == NULL)
        hn_fail(err, HN_ERUN, "'%s' cannot be written: %s", capture->temporary, strerror(errno));
    write_bytes(capture, HN_CAPTURE_MAGIC, strlen(HN_CAPTURE_MAGIC), err);
}

/* Piece by piece, as a stream of the file. */
static void pack(struct capture *capture, const struct contents *contents, uint64_t bytes,
                 struct hn_error *err)
{
    z_stream stream = {.next_in = NULL};
    unsigned char *piece = malloc(2 * (size_t)HN_CAPTURE_PIECE);
    if (piece == NULL || deflateInit(&stream, Z_BEST_SPEED) != Z_OK) {
        free(piece);
        hn_fail_memory(err);
        return;
    }
    for (uint64_t at = 0; !hn_failed(err) && at < bytes;) {
        uint64_t left = bytes - at;
        size_t size = left < HN_CAPTURE_PIECE ? (size_t)left : HN_CAPTURE_PIECE;
        read_contents(contents, at, piece, size, err);
        at += size;
        stream.next_in = piece;
        stream.avail_in = (uInt)size;
        while (!hn_failed(err)) {
            stream.next_out = piece + HN_CAPTURE_PIECE;
            stream.avail_out = HN_CAPTURE_PIECE;
            if (deflate(&stream, at == bytes ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR)
                hn_fail(err, HN_ERUN, "zlib cannot pack");
            write_bytes(capture, piece + HN_CAPTURE_PIECE, HN_CAPTURE_PIECE - stream.avail_out,
                        err);
            if (stream.avail_out != 0)
                break;
        }
    }
    deflateEnd(&stream);
    free(piece);
}

/* Writes the end and gives the file its name. */
static void commit(struct capture *capture, const json_t *head, struct hn_error *err)
{
    char *text = hn_made(head == NULL ? NULL : json_dumps(head, JSON_COMPACT), err);
    if (text == NULL)
        return;
    uint64_t size = strlen(text);
    write_bytes(capture, text, size, err);
    write_bytes(capture, &size, sizeof size, err);
    write_bytes(capture, HN_CAPTURE_MAGIC, strlen(HN_CAPTURE_MAGIC), err);
    free(text);
    int closed = fclose(capture->stream);
    capture->stream = NULL;
    if (!hn_failed(err) && (closed != 0 || rename(capture->temporary, capture->path) != 0))
        hn_fail(err, HN_ERUN, "'%s' cannot be written: %s", capture->path, strerror(errno));
}

/* What was not committed is removed. */
static void finish(struct capture *capture)
{
    if (capture->stream != NULL)
        fclose(capture->stream);
    if (capture->temporary != NULL)
        unlink(capture->temporary);
    free(capture->temporary);
    free(capture->path);
    json_decref(capture->inputs);
    json_decref(capture->expected);
    json_decref(capture->scalars);
}

/* Files hold rows without what lies between them. argument: NULL of what has none. */
static void add(struct capture *capture, json_t *list, const char *name,
                const struct hn_argument *argument, const struct contents *contents, uint64_t bytes,
                struct hn_error *err)
{
    uint64_t offset = capture->written;
    if (hn_failed(err))
        return;
    if (argument != NULL && argument->shape.width != NULL &&
        (argument->shape.pitch != NULL || argument->shape.device)) {
        hn_fail(err, HN_ECONFIG, "argument '%s' has a pitch, which captures do not hold", name);
        return;
    }
    pack(capture, contents, bytes, err);
    if (hn_failed(err))
        return;
    json_t *item =
        json_pack("{s:s, s:I, s:I, s:I}", "name", name, "bytes", (json_int_t)bytes, "offset",
                  (json_int_t)offset, "packed", (json_int_t)(capture->written - offset));
    if (item == NULL || json_array_append_new(list, item) != 0)
        hn_fail_memory(err);
}

static void add_scalar(struct capture *capture, size_t index, struct hn_error *err)
{
    const struct hn_lib_slot *slot = &capture->kernel->slots[index];
    const struct hn_argument *argument = &capture->kernel->plan->plan->arguments[index];
    struct hn_value value = hn_integer((int64_t)capture->values[index]);
    if (slot->need == HONE_FIXED || !slot->taken)
        return;
    if (hn_element_is_real(argument->element))
        value = hn_real(hn_element_decode(&capture->values[index], argument->element));
    else if (argument->element <= HN_INT32) /* the sign */
        value = hn_integer((int64_t)(capture->values[index] << (64 - 8 * slot->value_bytes)) >>
                           (64 - 8 * slot->value_bytes));
    if (value.type == HN_REAL && !isfinite(value.real))
        hn_fail(err, HN_EVALUE, "argument '%s' is no finite number, which captures cannot hold",
                slot->name);
    else if (json_object_set_new(capture->scalars, slot->name, hn_value_to_json(&value)) != 0)
        hn_fail_memory(err);
}

/* What a slot holds before the launch. A structure is the contents of its input. */
static void add_slot(struct capture *capture, size_t index, struct hn_error *err)
{
    const struct hone_kernel *kernel = capture->kernel;
    const struct hn_plan *plan = kernel->plan->plan;
    const struct hn_lib_slot *slot = &kernel->slots[index];
    const struct hn_argument *argument = &plan->arguments[index];
    const size_t source = hn_plan_source(plan, index);
    const uint64_t value = capture->values[index];
    struct contents contents = {.cache = kernel->cache, .device = value};
    bool is_input = argument->role == HN_ROLE_INPUT || argument->role == HN_ROLE_INOUT;
    if (argument->value != NULL) {
        add_scalar(capture, index, err);
    } else if (slot->kind == HONE_BYTES && !slot->mapped && value != 0) {
        contents.host = (const unsigned char *)(uintptr_t)value;
        add(capture, capture->inputs, plan->arguments[source].name, NULL, &contents,
            slot->value_bytes, err);
    } else if (slot->kind == HONE_TEXTURE && slot->taken && capture->values[source] == 0) {
        hn_fail(err, HN_ECONFIG,
                "a capture needs the buffer '%s' behind texture '%s' among the arguments",
                argument->from, argument->name);
    } else if (slot->kind == HONE_BUFFER && is_input && value != 0) {
        add(capture, capture->inputs, argument->name, argument, &contents, slot->bytes, err);
    }
}

/* What symbols take from inputs is there with these, where the launch is given them. */
static void add_symbol(struct capture *capture, const struct hn_lib_symbol *symbol,
                       struct hn_error *err)
{
    const struct contents contents = {.cache = capture->kernel->cache, .device = symbol->address};
    bool has = symbol->zeroed;
    size_t i;
    const json_t *item;
    json_array_foreach(capture->inputs, i, item)
    {
        has = has || strcmp(json_string_value(json_object_get(item, "name")), symbol->from) == 0;
    }
    if (!has)
        add(capture, capture->inputs, symbol->from, NULL, &contents, symbol->bytes, err);
}

/* What the default point makes of the launch's arguments, in memory of its own. */
static void add_expected(struct capture *capture, CUstream stream, struct hn_error *err)
{
    struct hone_kernel *kernel = capture->kernel;
    const struct hn_driver *driver = &kernel->cache->driver;
    struct hone_kernel *to = hn_failed(err) ? NULL : make_kernel(kernel, err);
    CUdeviceptr outputs[HN_LIB_MAX_ARGUMENTS] = {0}; /* of the slots that are compared */
    uint64_t own[HN_LIB_MAX_ARGUMENTS];
    if (to != NULL) {
        copy_symbols(kernel, to, stream, capture->values, err);
        choose_values(kernel, stream, capture->values, to, outputs, own, err);
        hn_lib_launch_steps(to, stream, own, err);
    }
    if (!hn_failed(err))
        hn_driver_check(driver, driver->p_cuStreamSynchronize(stream), "running the default point",
                        err);
    for (size_t i = 0; i < kernel->slot_count; i++) {
        const struct hn_argument *argument = &kernel->plan->plan->arguments[i];
        const struct contents contents = {.cache = kernel->cache, .device = outputs[i]};
        if (outputs[i] == 0)
            continue;
        add(capture, capture->expected, argument->name, argument, &contents, kernel->slots[i].bytes,
            err);
        driver->p_cuMemFree(outputs[i]);
    }
    hn_lib_kernel_destroy(to);
}

/* Into "DIR/scale-0.honecap", with the first number that is free. */
static void capture_into(struct capture *capture, CUstream stream, struct hn_error *err)
{
    const struct hone_kernel *kernel = capture->kernel;
    struct hone_cache *cache = kernel->cache;
    const struct hn_driver *driver = &cache->driver;
    const char *config = kernel->plan->plan->config;
    (void)mkdir(cache->capture_folder, 0777);
    do {
        free(capture->path);
        if (asprintf(&capture->path, "%s/%s-%ld.honecap", cache->capture_folder, kernel->name,
                     atomic_fetch_add(&cache->captures, 1)) < 0) {
            capture->path = NULL;
            hn_fail_memory(err);
            return;
        }
    } while (access(capture->path, F_OK) == 0);
    create(capture, err);
    if (!hn_failed(err))
        hn_driver_check(driver, driver->p_cuStreamSynchronize(stream), "waiting for the stream",
                        err);
    for (size_t i = 0; i < kernel->slot_count && !hn_failed(err); i++)
        add_slot(capture, i, err);
    for (size_t i = 0; i < kernel->symbol_count && !hn_failed(err); i++)
        add_symbol(capture, &kernel->symbols[i], err);
    add_expected(capture, stream, err);
    if (hn_failed(err))
        return;
    json_t *head = json_pack(
        "{s:i, s:s, s:s, s:o, s:o, s:s, s:O, s:O, s:O}", "format", HN_CAPTURE_FORMAT, "kernel",
        kernel->name, "config", config == NULL ? "" : config, "plan",
        json_deep_copy(kernel->plan->json), "problem", hn_bindings_to_json(&kernel->problem),
        "point", hone_kernel_info(kernel)->point, "scalars", capture->scalars, "inputs",
        capture->inputs, "expected", capture->expected);
    commit(capture, head, err);
    json_decref(head);
}

void hn_lib_capture(struct hone_kernel *kernel, CUstream stream, const uint64_t *values,
                    struct hn_error *err)
{
    struct hn_c_locale locale;
    hn_error_init(err);
    if (atomic_fetch_add(&kernel->captured, 1) >= kernel->cache->capture_launches)
        return;
    struct capture capture = {.kernel = kernel,
                              .values = values,
                              .inputs = json_array(),
                              .expected = json_array(),
                              .scalars = json_object()};
    hn_c_locale_enter(&locale);
    capture_into(&capture, stream, err);
    finish(&capture);
    hn_c_locale_leave(&locale);
    if (hn_failed(err)) {
        struct hn_error why = *err;
        hn_lib_fail(err, HONE_CAPTURE_FAILED, "%s was launched, but not captured: %.900s",
                    kernel->name, why.message);
    }
}
