/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "double.h"

/* The first block does the work of all, in the order of memory: in strides it would take several
 * times as long. */
#include "runtime/bench/support_host.h"

#include "runtime/bench/support.cu"

#define TAKE(type, index) (*(type *)parameters[index])
#define TAKE_COUNT(index) (blockIdx.x == 0 ? TAKE(u64, index) : 0)

static void fill(void **parameters)
{
    hone_fill(TAKE(void *, 0), TAKE_COUNT(1), TAKE(u64, 2), TAKE(u64, 3), TAKE(int, 4),
              TAKE(struct hone_recipe, 5));
}

static void poison(void **parameters)
{
    hone_poison(TAKE(void *, 0), TAKE_COUNT(1), TAKE(u64, 2), TAKE(u64, 3), TAKE(int, 4),
                TAKE(u64, 5));
}

static void write_zones(void **parameters)
{
    hone_write_zones(TAKE(const struct hone_zone *, 0));
}

static void check_zones(void **parameters)
{
    hone_check_zones(TAKE(const struct hone_zone *, 0), TAKE(struct hone_damage *, 1));
}

static void checksum(void **parameters)
{
    hone_checksum(TAKE(const void *, 0), TAKE_COUNT(1), TAKE(u64 *, 2));
}

static void veil_elements(void **parameters)
{
    hone_veil(TAKE(const void *, 0), TAKE(void *, 1), TAKE_COUNT(2), TAKE(unsigned int, 3),
              TAKE(u64, 4));
}

static void compare(void **parameters)
{
    hone_compare(TAKE(const void *, 0), TAKE(const void *, 1), TAKE(u64, 2), TAKE_COUNT(3),
                 TAKE(u64, 4), TAKE(u64, 5), TAKE(int, 6), TAKE(double, 7),
                 TAKE(const unsigned int *, 8), TAKE(u64, 9), TAKE(u64, 10),
                 TAKE(struct hone_difference *, 11));
}

static void written(void **parameters)
{
    hone_written(TAKE(const void *, 0), TAKE(const void *, 1), TAKE(u64, 2), TAKE_COUNT(3),
                 TAKE(u64, 4), TAKE(u64, 5), TAKE(int, 6), TAKE(unsigned int, 7), TAKE(u64, 8),
                 TAKE(u64, 9), TAKE(unsigned int *, 10), TAKE(u64 *, 11));
}

static void multiset(void **parameters)
{
    hone_multiset(TAKE(const void *, 0), TAKE(const void *, 1), TAKE(u64, 2), TAKE_COUNT(3),
                  TAKE(u64, 4), TAKE(u64, 5), TAKE(int, 6), TAKE(unsigned int, 7),
                  TAKE(struct hone_bags *, 8));
}

static void sum(void **parameters)
{
    hone_sum(TAKE(const void *, 0), TAKE_COUNT(1), TAKE(int, 2), TAKE(double *, 3));
}

/* The support kernels whose text runs here, block by block. */
static const struct {
    const char *name;
    void (*run)(void **parameters);
} support_kernels[] = {
    {"hone_fill", fill},
    {"hone_poison", poison},
    {"hone_write_zones", write_zones},
    {"hone_check_zones", check_zones},
    {"hone_checksum", checksum},
    {"hone_veil", veil_elements},
    {"hone_compare", compare},
    {"hone_multiset", multiset},
    {"hone_written", written},
    {"hone_sum", sum},
};

double double_noise(struct double_device *device)
{
    uint64_t word = mix(++device->events);
    return (device->slowness > 0 ? device->slowness : 1.0) *
               (device->pace > 0 ? device->pace : 1.0) +
           0.002 * ((double)(word >> 11) * 0x1p-53 - 0.5);
}

static CUresult flush(struct double_device *device, void **parameters)
{
    (void)parameters;
    device->flushed = true;
    device->now_us += 32.0;
    return CUDA_SUCCESS;
}

static CUresult spin(struct double_device *device, void **parameters)
{
    u64 nanoseconds = TAKE(u64, 0);
    u64 *stamp = TAKE(u64 *, 1);
    bool slow = device->throttle > 0 && ++device->spins % (u64)device->throttle == 0;
    stamp[0] = nanoseconds * (slow ? 990 : 1980) / 1000;
    stamp[1] = nanoseconds;
    device->now_us += (double)nanoseconds * 1e-3;
    device->after_poison = device->poisoned;
    device->poisoned = false;
    return CUDA_SUCCESS;
}

/* The faults that a variant of scale.cu (tests/data/double.txt) plants, by its parameter FAULT. */
enum fault {
    FAULT_NONE,
    FAULT_REFUSED,
    FAULT_ILLEGAL_ADDRESS,
    FAULT_ENDLESS,
    FAULT_WRONG_ELEMENT,
    FAULT_PAST_END,
    FAULT_BEFORE_START,
    FAULT_INPUT,
    FAULT_UNSTEADY,
    FAULT_CRASH,
    FAULT_UNWRITTEN,
    FAULT_LATE_INPUT,
    FAULT_LATE_PAST_END,
};

static CUresult start_fault(struct double_device *device, int fault)
{
    switch (fault) {
    case FAULT_REFUSED:
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    case FAULT_ILLEGAL_ADDRESS:
        device->pending = CUDA_ERROR_ILLEGAL_ADDRESS;
        return CUDA_SUCCESS;
    case FAULT_ENDLESS:
        device->hangs = true;
        return CUDA_SUCCESS;
    case FAULT_CRASH:
        abort();
    default:
        return CUDA_SUCCESS;
    }
}

static void write_outputs(int fault, uint64_t launches, float *x, float *y, float a, int n)
{
    int written = fault == FAULT_UNWRITTEN ? n - 1 : n;
    for (int i = 0; i < written; i++)
        y[i] = a * x[i];
    if (fault == FAULT_WRONG_ELEMENT)
        y[n / 2] += 1.0f;
    if (fault == FAULT_PAST_END)
        y[n] = 1.0f;
    if (fault == FAULT_BEFORE_START)
        y[-1] = 1.0f;
    if (fault == FAULT_INPUT)
        x[0] += 1.0f;
    if (fault == FAULT_LATE_INPUT && launches > 1)
        x[0] += 1.0f;
    if (fault == FAULT_LATE_PAST_END && launches > 1)
        y[n] = 1.0f;
    if (fault == FAULT_UNSTEADY && launches > 1)
        y[0] += (float)launches;
}

/* The best is BLOCK 256 with ITEMS 4; every factor of two away from it costs 10% or 5%. A cache
 * that still holds x saves a fifth. */
static double scale_time_us(const struct double_device *device, const int *table, const float *x,
                            int n)
{
    double block = fabs(log2(table[0]) - 8.0);
    double items = fabs(log2(table[1]) - 2.0);
    double cold_us = 1.0 + 50.0 * (double)n / 65536.0;
    bool warm = !device->flushed && device->cached == (uint64_t)(uintptr_t)x;
    return cold_us * (1.0 + 0.1 * block + 0.05 * items) * (warm ? 0.8 : 1.0);
}

static CUresult scale(struct double_device *device, struct double_function *function,
                      const struct double_geometry *geometry, void **parameters)
{
    const int *table = function->module->table;
    float *x = TAKE(float *, 0);
    float *y = TAKE(float *, 1);
    float a = TAKE(float, 2);
    int n = TAKE(int, 3);
    if (function->module->table_count < 3)
        return CUDA_ERROR_INVALID_IMAGE;
    uint64_t covered = (uint64_t)geometry->grid[0] * geometry->block[0] * (uint64_t)table[1];
    if (covered < (uint64_t)n)
        n = (int)covered;
    CUresult result = start_fault(device, table[2]);
    if (result != CUDA_SUCCESS || device->pending != CUDA_SUCCESS || device->hangs)
        return result;
    write_outputs(table[2], function->launches, x, y, a, n);
    device->now_us += scale_time_us(device, table, x, n) * double_noise(device);
    device->flushed = false;
    device->cached = (uint64_t)(uintptr_t)x;
    return CUDA_SUCCESS;
}

/* README.md's kernel, y = 2 x: with N in the table's third place. */
static CUresult double_of_x(struct double_device *device, struct double_function *function,
                            void **parameters)
{
    const int *table = function->module->table;
    const float *x = TAKE(const float *, 0);
    float *y = TAKE(float *, 1);
    if (function->module->table_count < 3)
        return CUDA_ERROR_INVALID_IMAGE;
    for (int i = 0; i < table[2]; i++)
        y[i] = 2 * x[i];
    device->now_us += scale_time_us(device, table, x, table[2]) * double_noise(device);
    device->flushed = false;
    device->cached = (uint64_t)(uintptr_t)x;
    return CUDA_SUCCESS;
}

static void write_reference(const float *x, float *y, float a, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = (float)((double)a * (double)x[i]);
}

static CUresult fault_reference(struct double_device *device, void **parameters)
{
    write_reference(TAKE(const float *, 0), TAKE(float *, 1), TAKE(float, 3), TAKE(int, 4));
    device->now_us += 200.0;
    return CUDA_SUCCESS;
}

static CUresult scale_reference(struct double_device *device, void **parameters)
{
    write_reference(TAKE(const float *, 0), TAKE(float *, 1), TAKE(float, 2), TAKE(int, 3));
    device->now_us += 200.0;
    return CUDA_SUCCESS;
}

static CUresult scale_twice_reference(struct double_device *device, void **parameters)
{
    const float *x = TAKE(const float *, 0);
    float *y = TAKE(float *, 2);
    double a = (double)TAKE(float, 3);
    for (int i = 0; i < TAKE(int, 4); i++)
        y[i] = (float)(a * a * (double)x[i]);
    device->now_us += 200.0;
    return CUDA_SUCCESS;
}

/* accumulate.cu (tests/data/double.txt): needs y restored and the counter zeroed before each
 * launch. */
static CUresult accumulate(struct double_device *device, struct double_function *function,
                           void **parameters)
{
    const float *x = TAKE(const float *, 0);
    float *y = TAKE(float *, 1);
    int *counter = TAKE(int *, 2);
    unsigned int *metric = TAKE(unsigned int *, 3);
    unsigned char *scratch = TAKE(unsigned char *, 4);
    long long n = TAKE(long long, 5);
    if (function->module->table_count < 1)
        return CUDA_ERROR_INVALID_IMAGE;
    memset(scratch, 1, (size_t)function->module->table[0]);
    for (long long i = 0; i < n; i++)
        y[i] += x[i] + (float)*counter;
    ++*counter;
    for (unsigned int i = 0; i < 4; i++)
        metric[i] += i;
    device->now_us += 10.0 * double_noise(device);
    device->flushed = false;
    return CUDA_SUCCESS;
}

static CUresult run_support(struct double_device *device, size_t kernel,
                            const struct double_geometry *geometry, void **parameters)
{
    for (blockIdx.x = 0; blockIdx.x < geometry->grid[0]; blockIdx.x++)
        support_kernels[kernel].run(parameters);
    device->now_us += 2.0;
    return CUDA_SUCCESS;
}

CUresult double_kernel_run(struct double_device *device, struct double_function *function,
                           const struct double_geometry *geometry, void **parameters)
{
    const char *name = function->name;
    function->launches++;
    device->poisoned = device->poisoned || strcmp(name, "hone_poison") == 0;
    device->now_us += device->after_poison ? double_poison_us() : 0.0;
    for (size_t i = 0; i < sizeof support_kernels / sizeof support_kernels[0]; i++)
        if (strcmp(name, support_kernels[i].name) == 0)
            return run_support(device, i, geometry, parameters);
    if (strcmp(name, "hone_flush") == 0)
        return flush(device, parameters);
    if (strcmp(name, "hone_spin") == 0)
        return spin(device, parameters);
    if (strcmp(name, "scale") == 0 && function->parameter_count == 2)
        return double_of_x(device, function, parameters);
    if (strcmp(name, "scale") == 0)
        return scale(device, function, geometry, parameters);
    if (strcmp(name, "fault") == 0)
        return double_fault_run(device, function, geometry, parameters);
    if (strcmp(name, "fault_reference") == 0)
        return fault_reference(device, parameters);
    if (strcmp(name, "scale_reference") == 0)
        return scale_reference(device, parameters);
    if (strcmp(name, "scale_twice_reference") == 0)
        return scale_twice_reference(device, parameters);
    if (strcmp(name, "accumulate") == 0)
        return accumulate(device, function, parameters);
    if (strcmp(name, "blur") == 0)
        return double_blur(device, function, geometry, parameters);
    if (strcmp(name, "blur_reference") == 0)
        return double_blur_reference(device, function, geometry, parameters);
    return double_template_run(device, function, geometry, parameters);
}
