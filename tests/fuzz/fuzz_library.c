/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "hostile_cache.h"
#include "runtime/libhone/hone.h"

/* A program that opens what somebody else wrote and launches what it finds, on the driver double
 * and without a compiler. An input is a recording where it begins as JSON does, else the script of
 * a cache (hostile_cache.h). The kernels of base/idle.json do nothing on the double: what a kernel
 * does is its author's. */

enum { BUFFER_BYTES = 1 << 20, ARGUMENTS_MOST = 64 };

static CUdeviceptr buffer;
static unsigned char contents[1 << 16];

static void require_message(enum hone_status status, const struct hone_error *err)
{
    if (status == HONE_OK)
        return;
    fuzz_require(err->message[0] != '\0', "a failure has a message");
    fuzz_require(strcmp(hone_status_name(status), "unknown status") != 0, "a status has a name");
    for (const char *c = err->message; *c != '\0'; c++)
        fuzz_require((unsigned char)*c >= ' ' || *c == '\n', "a message has no control bytes");
}

/* Whether the launch can be given it. */
static bool give(const struct hone_argument_info *info, struct hone_argument *argument)
{
    *argument = (struct hone_argument){.name = info->name, .kind = info->kind};
    if (info->kind == HONE_BUFFER)
        argument->as.buffer = buffer;
    if (info->kind == HONE_BYTES) {
        argument->bytes = (uint32_t)info->bytes;
        argument->as.host = contents;
    }
    return info->kind != HONE_BYTES || info->bytes <= sizeof contents;
}

static bool set_symbols(struct hone_kernel *kernel)
{
    struct hone_argument arguments[ARGUMENTS_MOST];
    struct hone_error err = {.message = ""};
    size_t count = hone_kernel_symbol_count(kernel);
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = 0;
        const char *name = NULL;
        require_message(hone_kernel_symbol(kernel, i, &name, &bytes), &err);
        if (i >= ARGUMENTS_MOST || bytes > sizeof contents)
            return false;
        arguments[i] = hone_bytes(name, contents, (uint32_t)bytes);
    }
    enum hone_status status =
        count == 0 ? HONE_OK : hone_set_symbols(kernel, NULL, arguments, count, &err);
    require_message(status, &err);
    return status == HONE_OK;
}

static void launch(struct hone_kernel *kernel)
{
    struct hone_argument arguments[ARGUMENTS_MOST];
    struct hone_error err = {.message = ""};
    size_t given = 0;
    size_t count = hone_kernel_argument_count(kernel);
    for (size_t i = 0; i < count; i++) {
        struct hone_argument_info info;
        fuzz_require(hone_kernel_argument(kernel, i, &info) == HONE_OK, "an argument is known");
        if (info.need != HONE_REQUIRED)
            continue;
        if (given == ARGUMENTS_MOST || !give(&info, &arguments[given++]))
            return;
    }
    if (!set_symbols(kernel))
        return;
    for (int i = 0; i < 2; i++)
        require_message(hone_launch(kernel, NULL, arguments, given, &err), &err);
}

static void look_at_info(const struct hone_info *info)
{
    fuzz_require(info->kernel != NULL && info->problem != NULL && info->point != NULL &&
                     info->stale_because != NULL && info->tuned_problem != NULL &&
                     info->device != NULL && info->regime != NULL && info->objective != NULL &&
                     info->verification != NULL && info->driver != NULL && info->nvrtc != NULL &&
                     info->record != NULL && info->origin != NULL,
                 "no string of a handle is NULL");
    fuzz_require(info->grade == HONE_GRADE_DEFAULT || info->grade == HONE_GRADE_FAMILY ||
                     info->median_us > 0,
                 "a record has a time");
    fuzz_require(!info->compiled, "nothing was compiled");
}

/* True for what was launched. */
static bool get(struct hone_cache *cache, int64_t n, enum hone_miss on_miss)
{
    struct hone_kernel *kernel = NULL;
    struct hone_error err = {.message = ""};
    const struct hone_value problem[] = {hone_integer("n", n), hone_word("mode", "fast")};
    const struct hone_options options = {.on_miss = on_miss, .forbid_compile = 1};
    enum hone_status status = hone_get(cache, "idle", problem, 2, &options, &kernel, &err);
    require_message(status, &err);
    fuzz_require((status == HONE_OK) == (kernel != NULL), "a handle or a failure");
    if (kernel == NULL)
        return false;
    look_at_info(hone_kernel_info(kernel));
    launch(kernel);
    return true;
}

static const char *write_input(const uint8_t *data, size_t size)
{
    static char folder[256];
    if (size == 0 || data[0] != '{')
        return fuzz_hostile_cache(data, size);
    strncpy(folder, fuzz_write_file("recording.json", data, size), sizeof folder - 1);
    *strrchr(folder, '/') = '\0';
    return folder;
}

static void use(const uint8_t *data, size_t size)
{
    struct hone_cache *cache = NULL;
    struct hone_error err = {.message = ""};
    enum hone_status status = hone_open(write_input(data, size), &cache, &err);
    require_message(status, &err);
    if (status != HONE_OK)
        return;
    bool launched = get(cache, 4096, HONE_MISS_NEAREST);
    fuzz_require(launched || size > 0, "what nobody changed can be launched");
    get(cache, 5000, HONE_MISS_NEAREST);
    get(cache, 4096, HONE_MISS_FAIL);
    get(cache, 1, HONE_MISS_DEFAULT);
    hone_close(cache);
}

/* Nothing may be left in the context, which the double sees to. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CUcontext context;
    (void)setenv("HONE_DOUBLE_STRICT", "1", 1);
    (void)setenv("HONE_DOUBLE_MEMORY", "67108864", 1);
    fuzz_require(cuInit(0) == CUDA_SUCCESS &&
                     cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
                     cuCtxSetCurrent(context) == CUDA_SUCCESS &&
                     cuMemAlloc(&buffer, BUFFER_BYTES) == CUDA_SUCCESS,
                 "the double is there");
    use(data, size);
    cuMemFree(buffer);
    cuDevicePrimaryCtxRelease(0);
    return 0;
}
