/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "double.h"

/* The first block does the work of all, in the order of memory: in strides it would take several
 * times as long. */
#include "runtime/bench/support_host.h"

#include "runtime/bench/support.cu"

#define TAKE_COUNT(index) (blockIdx.x == 0 ? TAKE(u64, index) : 0)

/* The last fills, by their seeds: a tune asks for the same ones again and again, for each set of a
 * batch others, which would be most of its time on the double. Few of the large ones are kept. */
enum { SMALL_FILL = 64 << 10, SMALL_FILLS = 512, LARGE_FILLS = 32 };
static struct kept_fill {
    struct hone_recipe recipe;
    int element;
    u64 bytes; /* 0: none */
    void *data;
} small_fills[SMALL_FILLS], large_fills[LARGE_FILLS];

/* Most fills are of these elements and kind. With them known and all that it calls in place, the
 * compiler leaves out what others need and takes many elements at once. */
__attribute__((flatten)) static void fill_floats(float *data, u64 count, struct hone_recipe recipe)
{
    recipe.kind = UNIFORM;
    recipe.integer = 0;
    recipe.turned = 0;
    hone_fill(data, count, 0, 0, FLOAT32, recipe);
}

__attribute__((flatten)) static void fill_integers(int *data, u64 count, struct hone_recipe recipe)
{
    recipe.kind = UNIFORM;
    recipe.integer = 1;
    recipe.turned = 0;
    hone_fill(data, count, 0, 0, INT32, recipe);
}

static void fill_elements(void *data, u64 count, u64 row, u64 pitch, int element,
                          const struct hone_recipe *recipe)
{
    bool simple = row == 0 && recipe->kind == UNIFORM && recipe->turned == 0;
    if (simple && element == FLOAT32 && !recipe->integer)
        fill_floats(data, count, *recipe);
    else if (simple && element == INT32 && recipe->integer == 1)
        fill_integers(data, count, *recipe);
    else
        hone_fill(data, count, row, pitch, element, *recipe);
}

static void fill(const struct double_launch *launch)
{
    void *data = TAKE(void *, 0);
    u64 count = TAKE_COUNT(1), row = TAKE(u64, 2);
    int element = TAKE(int, 4);
    const struct hone_recipe *recipe = &TAKE(struct hone_recipe, 5);
    static const unsigned char sizes[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 2, 2, 1};
    u64 bytes = row == 0 ? count * sizes[element] : 0;
    if (bytes < 4096 || bytes > 4 << 20) {
        fill_elements(data, count, row, TAKE(u64, 3), element, recipe);
        return;
    }
    struct kept_fill *kept = bytes <= SMALL_FILL ? &small_fills[recipe->seed % SMALL_FILLS]
                                                 : &large_fills[recipe->seed % LARGE_FILLS];
    if (kept->bytes == bytes && kept->element == element &&
        memcmp(&kept->recipe, recipe, sizeof *recipe) == 0) {
        memcpy(data, kept->data, bytes);
        return;
    }
    fill_elements(data, count, 0, 0, element, recipe);
    free(kept->data);
    *kept = (struct kept_fill){*recipe, element, bytes, malloc(bytes)};
    if (kept->data == NULL)
        kept->bytes = 0;
    else
        memcpy(kept->data, data, bytes);
}

__attribute__((flatten)) static void poison_floats(float *data, u64 count, u64 seed)
{
    hone_poison(data, count, 0, 0, FLOAT32, seed);
}

/* Rows one by one, so that no place is divided by their length: words of a later row are those of
 * another seed. */
static void poison(const struct double_launch *launch)
{
    void *data = TAKE(void *, 0);
    u64 count = TAKE_COUNT(1), row = TAKE(u64, 2), pitch = TAKE(u64, 3), seed = TAKE(u64, 5);
    int element = TAKE(int, 4);
    if (element != FLOAT32)
        hone_poison(data, count, row, pitch, element, seed);
    else if (row == 0)
        poison_floats(data, count, seed);
    for (u64 i = 0; element == FLOAT32 && row > 0 && i < count; i += row)
        poison_floats((float *)data + i / row * pitch, count - i < row ? count - i : row,
                      seed == 0 ? 0 : seed + i * 0x9e3779b97f4a7c15ull);
}

/* Guards are words of eight bytes, which a zone may begin and end within: these ends are bytes. */
static u64 bytes_before_words(struct hone_zone zone)
{
    u64 bytes = -zone.start & 7;
    return bytes < zone.bytes ? bytes : zone.bytes;
}

static void write_zones(const struct double_launch *launch)
{
    struct hone_zone zone = TAKE(const struct hone_zone *, 0)[blockIdx.x];
    u64 i = 0;
    for (; i < bytes_before_words(zone); i++)
        *(unsigned char *)(zone.start + i) = guard_byte(zone.start + i);
    const u64 words = (zone.bytes - i) / 8, start = zone.start + i;
    for (u64 word = 0; word < words; word++)
        ((u64 *)start)[word] = mix((start >> 3) + word);
    i += 8 * words;
    for (; i < zone.bytes; i++)
        *(unsigned char *)(zone.start + i) = guard_byte(zone.start + i);
}

/* Without a branch the compiler takes many words at once. */
static bool is_whole(struct hone_zone zone)
{
    u64 wrong = 0, i = 0;
    for (; i < bytes_before_words(zone); i++)
        wrong |= *(const unsigned char *)(zone.start + i) ^ guard_byte(zone.start + i);
    const u64 words = (zone.bytes - i) / 8, start = zone.start + i;
    for (u64 word = 0; word < words; word++)
        wrong |= ((const u64 *)start)[word] ^ mix((start >> 3) + word);
    i += 8 * words;
    for (; i < zone.bytes; i++)
        wrong |= *(const unsigned char *)(zone.start + i) ^ guard_byte(zone.start + i);
    return wrong == 0;
}

static void check_zones(const struct double_launch *launch)
{
    const struct hone_zone *zones = TAKE(const struct hone_zone *, 0);
    struct hone_damage *damage = TAKE(struct hone_damage *, 1);
    if (is_whole(zones[blockIdx.x]))
        damage[blockIdx.x] = (struct hone_damage){NOWHERE, 0};
    else
        hone_check_zones(zones, damage);
}

static void checksum(const struct double_launch *launch)
{
    hone_checksum(TAKE(const void *, 0), TAKE_COUNT(1), TAKE(u64 *, 2));
}

static void veil_elements(const struct double_launch *launch)
{
    hone_veil(TAKE(const void *, 0), TAKE(void *, 1), TAKE_COUNT(2), TAKE(unsigned int, 3),
              TAKE(u64, 4));
}

static void compare(const struct double_launch *launch)
{
    hone_compare(TAKE(const void *, 0), TAKE(const void *, 1), TAKE(u64, 2), TAKE_COUNT(3),
                 TAKE(u64, 4), TAKE(u64, 5), TAKE(int, 6), TAKE(double, 7),
                 TAKE(const unsigned int *, 8), TAKE(u64, 9), TAKE(u64, 10), TAKE(u64, 11),
                 TAKE(const void *, 12), TAKE(struct hone_difference *, 13));
}

static void written(const struct double_launch *launch)
{
    hone_written(TAKE(const void *, 0), TAKE(const void *, 1), TAKE(u64, 2), TAKE_COUNT(3),
                 TAKE(u64, 4), TAKE(u64, 5), TAKE(int, 6), TAKE(unsigned int, 7), TAKE(u64, 8),
                 TAKE(u64, 9), TAKE(unsigned int *, 10), TAKE(u64 *, 11));
}

static void multiset(const struct double_launch *launch)
{
    hone_multiset(TAKE(const void *, 0), TAKE(const void *, 1), TAKE(u64, 2), TAKE_COUNT(3),
                  TAKE(u64, 4), TAKE(u64, 5), TAKE(int, 6), TAKE(unsigned int, 7),
                  TAKE(struct hone_bags *, 8));
}

static void sum(const struct double_launch *launch)
{
    hone_sum(TAKE(const void *, 0), TAKE_COUNT(1), TAKE(int, 2), TAKE(double *, 3));
}

/* The support kernels whose text runs here, block by block. */
static const struct {
    const char *name;
    void (*run)(const struct double_launch *launch);
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

CUresult double_took(const struct double_launch *launch, double us)
{
    launch->device->now_us += us * double_noise(launch->device);
    launch->device->flushed = false;
    return CUDA_SUCCESS;
}

CUresult double_took_exactly(const struct double_launch *launch, double us)
{
    launch->device->now_us += us;
    return CUDA_SUCCESS;
}

static CUresult flush(const struct double_launch *launch)
{
    launch->device->flushed = true;
    return double_took_exactly(launch, 32.0);
}

static CUresult spin(const struct double_launch *launch)
{
    u64 nanoseconds = TAKE(u64, 0);
    u64 *stamp = TAKE(u64 *, 1);
    bool slow = launch->device->throttle > 0 &&
                ++launch->device->spins % (u64)launch->device->throttle == 0;
    stamp[0] = nanoseconds * (slow ? 990 : 1980) / 1000;
    stamp[1] = nanoseconds;
    launch->device->now_us += (double)nanoseconds * 1e-3;
    launch->device->after_poison = launch->device->poisoned;
    launch->device->poisoned = false;
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

/* The best is BLOCK 256 with ITEMS 4; every factor of two away from it costs 10% or 5%. An L2
 * cache that both fit into and that still holds x saves a fifth. */
static CUresult took_scale(const struct double_launch *launch, const float *x, int n)
{
    struct double_device *device = launch->device;
    const int *table = launch->function->module->table;
    double shape = 1.0 + 0.1 * fabs(log2(table[0]) - 8.0) + 0.05 * fabs(log2(table[1]) - 2.0);
    int l2_bytes = 0;
    double_attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2_bytes);
    bool fits = 2 * (size_t)n * sizeof *x <= (size_t)l2_bytes;
    bool warm = fits && !device->flushed && device->cached == (uint64_t)(uintptr_t)x;
    device->cached = (uint64_t)(uintptr_t)x;
    return double_took(launch, (1.0 + 50.0 * (double)n / 24576.0) * shape * (warm ? 0.8 : 1.0));
}

/* README.md's kernel, y = 2 x: with N in the table's third place. */
static CUresult double_of_x(const struct double_launch *launch)
{
    const int *table = launch->function->module->table;
    const float *x = TAKE(const float *, 0);
    float *y = TAKE(float *, 1);
    if (launch->function->module->table_count < 3)
        return CUDA_ERROR_INVALID_IMAGE;
    for (int i = 0; i < table[2]; i++)
        y[i] = 2 * x[i];
    return took_scale(launch, x, table[2]);
}

static CUresult scale(const struct double_launch *launch)
{
    if (launch->function->parameter_count == 2)
        return double_of_x(launch);
    const int *table = launch->function->module->table;
    float *x = TAKE(float *, 0);
    float *y = TAKE(float *, 1);
    float a = TAKE(float, 2);
    int n = TAKE(int, 3);
    if (launch->function->module->table_count < 3)
        return CUDA_ERROR_INVALID_IMAGE;
    uint64_t covered =
        (uint64_t)launch->geometry->grid[0] * launch->geometry->block[0] * (uint64_t)table[1];
    if (covered < (uint64_t)n)
        n = (int)covered;
    CUresult result = start_fault(launch->device, table[2]);
    if (result != CUDA_SUCCESS || launch->device->pending != CUDA_SUCCESS || launch->device->hangs)
        return result;
    write_outputs(table[2], launch->function->launches, x, y, a, n);
    return took_scale(launch, x, n);
}

static void write_reference(const float *x, float *y, float a, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = (float)((double)a * (double)x[i]);
}

static CUresult fault_reference(const struct double_launch *launch)
{
    write_reference(TAKE(const float *, 0), TAKE(float *, 1), TAKE(float, 3), TAKE(int, 4));
    return double_took_exactly(launch, 200.0);
}

static CUresult scale_reference(const struct double_launch *launch)
{
    write_reference(TAKE(const float *, 0), TAKE(float *, 1), TAKE(float, 2), TAKE(int, 3));
    return double_took_exactly(launch, 200.0);
}

static CUresult scale_twice_reference(const struct double_launch *launch)
{
    const float *x = TAKE(const float *, 0);
    float *y = TAKE(float *, 2);
    double a = (double)TAKE(float, 3);
    for (int i = 0; i < TAKE(int, 4); i++)
        y[i] = (float)(a * a * (double)x[i]);
    return double_took_exactly(launch, 200.0);
}

/* accumulate.cu (tests/data/double.txt): needs y restored and the counter zeroed before each
 * launch. */
static CUresult accumulate(const struct double_launch *launch)
{
    const float *x = TAKE(const float *, 0);
    float *y = TAKE(float *, 1);
    int *counter = TAKE(int *, 2);
    unsigned int *metric = TAKE(unsigned int *, 3);
    unsigned char *scratch = TAKE(unsigned char *, 4);
    long long n = TAKE(long long, 5);
    if (launch->function->module->table_count < 1)
        return CUDA_ERROR_INVALID_IMAGE;
    memset(scratch, 1, (size_t)launch->function->module->table[0]);
    for (long long i = 0; i < n; i++)
        y[i] += x[i] + (float)*counter;
    ++*counter;
    for (unsigned int i = 0; i < 4; i++)
        metric[i] += i;
    return double_took(launch, 10.0);
}

static CUresult run_support(const struct double_launch *launch, size_t kernel)
{
    for (blockIdx.x = 0; blockIdx.x < launch->geometry->grid[0]; blockIdx.x++)
        support_kernels[kernel].run(launch);
    return double_took_exactly(launch, 2.0);
}

static const struct {
    const char *name;
    double_kernel *run;
} kernels[] = {
    {"accumulate", accumulate},
    {"fault", double_fault_run},
    {"fault_reference", fault_reference},
    {"hone_flush", flush},
    {"hone_spin", spin},
    {"scale", scale},
    {"scale_reference", scale_reference},
    {"scale_twice_reference", scale_twice_reference},
};

CUresult double_kernel_run(const struct double_launch *launch)
{
    const char *name = launch->function->name;
    struct double_device *device = launch->device;
    launch->function->launches++;
    if (strcmp(name, "hone_flush") != 0 && strcmp(name, "hone_spin") != 0)
        double_memory_written();
    device->poisoned = device->poisoned || strcmp(name, "hone_poison") == 0;
    device->now_us += device->after_poison ? double_poison_us() : 0.0;
    for (size_t i = 0; i < sizeof support_kernels / sizeof support_kernels[0]; i++)
        if (strcmp(name, support_kernels[i].name) == 0)
            return run_support(launch, i);
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(name, kernels[i].name) == 0)
            return kernels[i].run(launch);
    return double_template_run(launch);
}
