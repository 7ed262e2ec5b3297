/* SPDX-License-Identifier: MIT */
#include "sides.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const uint64_t align_to = 512;
/* Of the root of the mean of squares; rounding to 16 bits makes 2e-3 of it at most. */
static const double most_error[] = {[INT32] = 1e-4, [FLOAT32] = 1e-4, [BFLOAT16] = 3e-3};

double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

__attribute__((format(printf, 2, 3))) static int fail(struct sides *sides, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sides->failure, sizeof sides->failure, format, arguments);
    va_end(arguments);
    return 0;
}

int sides_check(struct sides *sides, CUresult result, const char *what)
{
    const char *text = "unknown error";
    if (result == CUDA_SUCCESS)
        return 1;
    cuGetErrorString(result, &text);
    return fail(sides, "%s: %s", what, text);
}

/* --- memory
 * ----------------------------------------------------------------------------------------------------
 */

static int grow(struct sides *sides, CUdeviceptr *address, uint64_t *has, uint64_t bytes)
{
    if (bytes <= *has)
        return 1;
    if (*address != 0)
        cuMemFree(*address);
    *address = 0;
    *has = 0;
    if (!sides_check(sides, cuMemAlloc(address, bytes), "cuMemAlloc"))
        return 0;
    *has = bytes;
    return 1;
}

static double draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 40) * 0x1p-24;
}

static uint16_t bfloat16_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x8000) >> 16);
}

static void draw_part(enum element element, float *part, size_t count)
{
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < count; i++) {
        if (element != BFLOAT16) {
            part[i] = (float)(2 * draw(&state) - 1);
            continue;
        }
        double radius = sqrt(-2 * log(1 - draw(&state))), angle = 2 * acos(-1) * draw(&state);
        uint16_t pair[] = {bfloat16_of((float)(radius * cos(angle))),
                           bfloat16_of((float)(radius * sin(angle)))};
        memcpy(&part[i], pair, sizeof pair);
    }
}

/* Random numbers of a part, and copies of it, which differ from one place in a matrix to the next.
 */
static int fill(struct sides *sides, const struct memory *memory)
{
    enum { PART = 1 << 22 };
    uint64_t bytes = memory->input_bytes;
    uint64_t first = bytes < sizeof(float) * PART ? bytes : sizeof(float) * (PART - 61);
    float *part = malloc(sizeof(float) * PART);
    if (part == NULL)
        return fail(sides, "out of memory");
    draw_part(memory->element, part, PART);
    int done = sides_check(sides, cuMemcpyHtoD(memory->inputs, part, first), "cuMemcpyHtoD");
    free(part);
    while (done && first < bytes) {
        uint64_t more = bytes - first < first ? bytes - first : first;
        done = sides_check(sides,
                           cuMemcpyDtoDAsync(memory->inputs + first, memory->inputs, more, NULL),
                           "cuMemcpyDtoDAsync");
        first += more;
    }
    return done;
}

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + align_to - 1) / align_to * align_to;
}

static int reserve(struct sides *sides, uint64_t input_bytes, uint64_t output_bytes,
                   enum element element)
{
    struct memory *memory = &sides->memory;
    uint64_t had = memory->element == element ? memory->input_bytes : 0;
    memory->element = element;
    return grow(sides, &memory->outputs, &memory->output_bytes, output_bytes) &&
           grow(sides, &memory->inputs, &memory->input_bytes, input_bytes) &&
           (memory->input_bytes == had || fill(sides, memory));
}

/* --- arguments
 * ----------------------------------------------------------------------------------------------------
 */

static int is_output(const struct hone_argument_info *info)
{
    return strcmp(info->role, "output") == 0 || strcmp(info->role, "inout") == 0;
}

static enum element element_of(const struct hone_argument_info *info)
{
    return strcmp(info->type, "float32") == 0    ? FLOAT32
           : strcmp(info->type, "bfloat16") == 0 ? BFLOAT16
                                                 : INT32;
}

/* And of what the inputs are. */
static enum element add_bytes(const struct hone_kernel *kernel, uint64_t *inputs, uint64_t *outputs)
{
    struct hone_argument_info info;
    enum element element = FLOAT32;
    *inputs = *outputs = 0;
    for (size_t i = 0; i < hone_kernel_argument_count(kernel); i++) {
        if (hone_kernel_argument(kernel, i, &info) != HONE_OK || info.kind != HONE_BUFFER ||
            info.need != HONE_REQUIRED)
            continue;
        *(is_output(&info) ? outputs : inputs) += aligned(info.bytes);
        if (element_of(&info) == BFLOAT16)
            element = BFLOAT16;
    }
    return element;
}

/* What has no value of its own is what makes the vendor's work of it: alpha 1, beta 0. */
static int bind_scalar(struct sides *sides, struct side *side,
                       const struct hone_argument_info *info)
{
    if (info->kind != HONE_FLOAT32 ||
        (strcmp(info->name, "alpha") != 0 && strcmp(info->name, "beta") != 0))
        return fail(sides, "argument '%s' of %s has to be given, and is not known here", info->name,
                    sides->kernel);
    side->arguments[side->count++] = hone_float32(info->name, strcmp(info->name, "alpha") == 0);
    return 1;
}

static int bind(struct sides *sides, struct side *side, CUdeviceptr outputs, CUdeviceptr *inputs,
                size_t *input_count)
{
    CUdeviceptr input = sides->memory.inputs;
    struct hone_argument_info info;
    side->count = 0;
    side->output = 0;
    *input_count = 0;
    for (size_t i = 0; i < hone_kernel_argument_count(side->kernel); i++) {
        if (hone_kernel_argument(side->kernel, i, &info) != HONE_OK || info.need != HONE_REQUIRED)
            continue;
        if (info.kind != HONE_BUFFER) {
            if (!bind_scalar(sides, side, &info))
                return 0;
            continue;
        }
        CUdeviceptr *next = is_output(&info) ? &outputs : &input;
        side->arguments[side->count++] = hone_buffer(info.name, *next);
        if (!is_output(&info)) {
            inputs[(*input_count)++] = *next;
        } else if (side->output == 0) {
            side->output = *next;
            sides->output_bytes = info.bytes;
            sides->output_element = element_of(&info);
        }
        *next += aligned(info.bytes);
    }
    return 1;
}

/* --- a problem
 * ----------------------------------------------------------------------------------------------------
 */

static int take_problem(struct sides *sides, const json_t *problem)
{
    const char *name;
    json_t *json;
    sides->problem_count = 0;
    json_object_foreach((json_t *)problem, name, json)
    {
        struct hone_value *value = &sides->problem[sides->problem_count++];
        if (sides->problem_count == MOST_VALUES)
            return fail(sides, "the problem has more than %d values", MOST_VALUES - 1);
        *value = json_is_integer(json)   ? hone_integer(name, json_integer_value(json))
                 : json_is_real(json)    ? hone_real(name, json_real_value(json))
                 : json_is_boolean(json) ? hone_boolean(name, json_is_true(json))
                                         : hone_word(name, json_string_value(json));
    }
    return 1;
}

static const struct hone_options forbidding = {.forbid_compile = 1, .trust = HONE_TRUST_ANY};
static const struct hone_options racing = {
    .forbid_compile = 1, .trust = HONE_TRUST_ANY, .on_miss = HONE_MISS_RACE};

int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sizes that differ in the first number of the problem. */
static void get_next(const struct sides *sides, struct side *side)
{
    enum { NEXT = 63, APART = 8 };
    struct hone_value problem[MOST_VALUES];
    struct hone_kernel *kernel;
    double us[NEXT];
    size_t first = 0;
    memcpy(problem, sides->problem, sides->problem_count * sizeof *problem);
    while (first < sides->problem_count && problem[first].kind != HONE_INTEGER)
        first++;
    if (first == sides->problem_count)
        return;
    for (int i = 0; i < NEXT; i++) {
        problem[first].as.integer += APART;
        double before = now_us();
        hone_get(side->cache, sides->kernel, problem, sides->problem_count, &forbidding, &kernel,
                 NULL);
        us[i] = now_us() - before;
    }
    qsort(us, NEXT, sizeof *us, compare_reals);
    side->next_us = us[NEXT / 2];
}

static int get(struct sides *sides, struct side *side)
{
    enum { AGAIN = 100 };
    struct hone_error err;
    const struct hone_options *options = side->races ? &racing : &forbidding;
    double before = now_us();
    enum hone_status status = hone_get(side->cache, sides->kernel, sides->problem,
                                       sides->problem_count, options, &side->kernel, &err);
    side->get_us = now_us() - before;
    if (status != HONE_OK)
        return fail(sides, "%s, %s: %s", side->name, hone_status_name(status), err.message);
    before = now_us();
    for (int i = 0; i < AGAIN; i++)
        hone_get(side->cache, sides->kernel, sides->problem, sides->problem_count, options,
                 &side->kernel, NULL);
    side->again_ns = (now_us() - before) * 1000 / AGAIN;
    if (!side->races)
        get_next(sides, side);
    return 1;
}

int side_launch(struct sides *sides, struct side *side)
{
    struct hone_error err;
    if (side->cache == NULL) {
        int failed = peer_launch(&sides->peer);
        return failed == 0 ? 1 : fail(sides, "%s: status %d", sides->peer.name, failed);
    }
    enum hone_status status = hone_launch(side->kernel, NULL, side->arguments, side->count, &err);
    return status == HONE_OK ||
           fail(sides, "%s, %s: %s", side->name, hone_status_name(status), err.message);
}

static int launch_first(struct sides *sides, struct side *side)
{
    double before = now_us();
    int done = side_launch(sides, side);
    side->launch_us = now_us() - before;
    return done;
}

/* The vendor is the last. */
int sides_set(struct sides *sides, const json_t *problem)
{
    uint64_t input_bytes = 0, output_bytes = 0;
    CUdeviceptr inputs[MOST_ARGUMENTS];
    size_t input_count = 0;
    if (!take_problem(sides, problem))
        return 0;
    for (size_t i = 0; i < sides->count; i++)
        if (sides->items[i].cache != NULL && !get(sides, &sides->items[i]))
            return 0;
    enum element element = add_bytes(sides->items[0].kernel, &input_bytes, &output_bytes);
    if (!reserve(sides, input_bytes, output_bytes * sides->count, element))
        return 0;
    for (size_t i = 0; i < sides->count; i++) {
        struct side *side = &sides->items[i];
        CUdeviceptr outputs = sides->memory.outputs + i * output_bytes;
        if (side->cache != NULL && !bind(sides, side, outputs, inputs, &input_count))
            return 0;
        side->output = outputs;
        if (side->cache == NULL &&
            peer_set(&sides->peer, problem, inputs, input_count, outputs) != 0)
            return fail(sides, "%s cannot be given this problem", sides->peer.name);
    }
    if (!sides_check(
            sides, cuMemsetD8Async(sides->memory.outputs, 0xff, output_bytes * sides->count, NULL),
            "cuMemsetD8Async") ||
        !sides_check(sides, cuCtxSynchronize(), "cuCtxSynchronize"))
        return 0;
    for (size_t i = 0; i < sides->count; i++)
        if (!launch_first(sides, &sides->items[i]))
            return 0;
    return sides_check(sides, cuCtxSynchronize(), "a first launch");
}

/* --- results
 * ----------------------------------------------------------------------------------------------------
 */

static double number(enum element element, const void *data, size_t i)
{
    float value;
    if (element == INT32)
        return ((const int32_t *)data)[i];
    if (element == FLOAT32)
        return (double)((const float *)data)[i];
    uint32_t bits = (uint32_t)((const uint16_t *)data)[i] << 16;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static void compare(enum element element, const void *a, const void *b, size_t bytes,
                    double sums[2])
{
    size_t size = element == BFLOAT16 ? sizeof(uint16_t) : sizeof(float);
    for (size_t i = 0; i < bytes / size; i++) {
        double x = number(element, a, i), y = number(element, b, i);
        sums[0] += (x - y) * (x - y);
        sums[1] += y * y;
    }
}

int sides_agree(struct sides *sides, const struct side *side)
{
    enum { PARTS = 16, PART = 16384 };
    static _Alignas(float) unsigned char a[PART], b[PART];
    const struct side *last = &sides->items[sides->count - 1];
    double sums[2] = {0, 0};
    uint64_t step = sides->output_bytes / PARTS / sizeof(float) * sizeof(float);
    for (uint64_t part = 0; part < PARTS; part++) {
        uint64_t from = part * step;
        uint64_t bytes = sides->output_bytes - from < PART ? sides->output_bytes - from : PART;
        if (cuMemcpyDtoH(a, side->output + from, bytes) != CUDA_SUCCESS ||
            cuMemcpyDtoH(b, last->output + from, bytes) != CUDA_SUCCESS)
            return fail(sides, "results cannot be copied from the GPU");
        compare(sides->output_element, a, b, bytes, sums);
    }
    double error = sums[1] > 0 ? sqrt(sums[0] / sums[1]) : sqrt(sums[0]);
    return error <= most_error[sides->output_element] ||
           fail(sides, "wrong result: %s differs from %s by %.3g", side->name, last->name, error);
}
