/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "double.h"

/* The kernels of <feature>.cu (tests/data/double.txt) in C. */

/* symbols.cu */
static CUresult look_up(const struct double_launch *launch)
{
    const struct double_module *module = launch->function->module;
    const int *x = TAKE(const int *, 0);
    const int *weights = TAKE(const int *, 1);
    int *y = TAKE(int *, 2);
    int n = TAKE(int, 3);
    if (module->table[0])
        weights = double_global(module, "constant_weights");
    const int *offsets = double_global(module, "offsets");
    const int *scale = double_global(module, "scale");
    unsigned int *turns = double_global(module, "turns");
    if (weights == NULL || offsets == NULL || scale == NULL || turns == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < n; i++)
        y[i] = *scale * weights[x[i] & 15] + offsets[x[i] & 3] + (int)*turns;
    ++*turns;
    return double_took(launch, 30.0);
}

static CUresult look_up_reference(const struct double_launch *launch)
{
    const int *x = TAKE(const int *, 0);
    const int *weights = TAKE(const int *, 1);
    const int *offsets = double_global(launch->function->module, "offsets");
    for (int i = 0; i < TAKE(int, 3); i++)
        TAKE(int *, 2)[i] = 3 * weights[x[i] & 15] + offsets[x[i] & 3];
    return double_took_exactly(launch, 100.0);
}

static unsigned int keep_above(const float *x, float *out, float threshold, int n, bool forward)
{
    unsigned int count = 0;
    for (int i = 0; i < n; i++) {
        float value = x[forward ? i : n - 1 - i];
        if (value > threshold)
            out[count++] = value;
    }
    return count;
}

/* keep.cu */
static CUresult keep(const struct double_launch *launch)
{
    const int *table = launch->function->module->table;
    float *out = TAKE(float *, 1);
    unsigned int count =
        keep_above(TAKE(const float *, 0), out, TAKE(float, 3), TAKE(int, 4), table[0] != 0);
    if (table[1] == 1)
        out[count / 2] = 0.25f;
    if (table[1] == 2)
        out[0] = out[1];
    *TAKE(unsigned int *, 2) = count + (table[1] == 3);
    return double_took(launch, 30.0);
}

static CUresult keep_reference(const struct double_launch *launch)
{
    *TAKE(unsigned int *, 2) =
        keep_above(TAKE(const float *, 0), TAKE(float *, 1), TAKE(float, 3), TAKE(int, 4), true);
    return double_took_exactly(launch, 100.0);
}

/* y[i] = x[i] + more, for kernels of x, y and n. */
static void add_to_all(const struct double_launch *launch, int more)
{
    const int *restrict x = TAKE(const int *, 0);
    int *restrict y = TAKE(int *, 1);
    int n = TAKE(int, 2);
    for (int i = 0; i < n; i++)
        y[i] = x[i] + more;
}

/* attributes.cu; says by its result what it was launched with. What begins early takes less time.
 */
static CUresult attributes(const struct double_launch *launch)
{
    const int *table = launch->function->module->table;
    bool right = launch->geometry->cooperative == (table[1] != 0);
    if (launch->function->module->table_count > 3)
        right = right && launch->function->carveout == table[3];
    add_to_all(launch, right ? (int)launch->geometry->cluster[0] : -1);
    return double_took(launch, (launch->geometry->programmatic ? 20.0 : 30.0));
}

static CUresult attributes_reference(const struct double_launch *launch)
{
    add_to_all(launch, launch->function->module->table[0]);
    return double_took_exactly(launch, 100.0);
}

static bool is_window_of(const CUaccessPolicyWindow *window, const int *table)
{
    const CUaccessProperty hit =
        table[2] ? CU_ACCESS_PROPERTY_PERSISTING : CU_ACCESS_PROPERTY_NORMAL;
    const CUaccessProperty miss =
        table[3] ? CU_ACCESS_PROPERTY_STREAMING : CU_ACCESS_PROPERTY_NORMAL;
    if (window->num_bytes != (size_t)table[0])
        return false;
    return table[0] == 0 || (window->hitRatio == (float)table[1] / 100 && window->hitProp == hit &&
                             window->missProp == miss);
}

/* windows.cu; its result is right with the window that its table says. What an earlier launch left
 * in the L2 cache saves a third of its time, and spoils the result of a launch without a window. */
static CUresult windows(const struct double_launch *launch)
{
    const int *table = launch->function->module->table;
    uint64_t base = (uint64_t)(uintptr_t)TAKE(const int *, 0);
    bool right = is_window_of(&launch->geometry->window, table) &&
                 launch->device->set_aside == (size_t)table[4];
    right = right && (table[0] != 0 || launch->device->persisting == 0);
    add_to_all(launch, right ? 1 : -1);
    launch->device->now_us +=
        (launch->device->persisting == base ? 40.0 : 60.0) * double_noise(launch->device);
    launch->device->flushed = false;
    if (table[0] != 0 && table[2] && launch->device->set_aside > 0)
        launch->device->persisting = base;
    return CUDA_SUCCESS;
}

static CUresult windows_reference(const struct double_launch *launch)
{
    add_to_all(launch, 1);
    return double_took_exactly(launch, 100.0);
}

/* aligned.cu */
static CUresult aligned(const struct double_launch *launch)
{
    for (int i = 0; i < 4; i++) {
        uintptr_t address = TAKE(uintptr_t, i) | 512;
        TAKE(int *, 1)[i] = (int)(address & (0 - address));
    }
    return CUDA_SUCCESS;
}

static CUresult aligned_reference(const struct double_launch *launch)
{
    int *y = TAKE(int *, 0);
    y[0] = TAKE(int, 1);
    y[1] = 8;
    y[2] = TAKE(int, 2);
    y[3] = 256;
    return CUDA_SUCCESS;
}

static float widen(unsigned short half)
{
    unsigned int word = (unsigned int)half << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* types.cu */
static CUresult types(const struct double_launch *launch)
{
    const int *table = launch->function->module->table;
    const unsigned short *a = TAKE(const unsigned short *, 0);
    const unsigned short *b = TAKE(const unsigned short *, 1);
    unsigned short *turned = TAKE(unsigned short *, 2);
    float *wide = TAKE(float *, 3);
    unsigned int *pairs = TAKE(unsigned int *, 4);
    int n = TAKE(int, 5);
    for (int i = 0; i < n; i++) {
        int place = table[0] ? n - 1 - i : i;
        turned[i] = (unsigned short)(a[i] ^ 0x8000);
        wide[i] = widen(b[i]) + (table[1] == 3 && i == 4 * 5 + 2 ? 1.0f : 0.0f);
        pairs[2 * place] = (unsigned int)i / 2;
        pairs[2 * place + 1] = a[i];
    }
    unsigned int kept = pairs[1];
    if (table[1] == 1)
        turned[7] ^= 1;
    if (table[1] == 2)
        turned[7] = 0x4900;
    if (table[1] == 4) {
        pairs[1] = pairs[2 * n - 1];
        pairs[2 * n - 1] = kept;
    }
    if (table[1] == 5)
        turned[9] = 0x7e00;
    return double_took(launch, 30.0);
}

static CUresult add_inputs(const struct double_launch *launch, const int *weights)
{
    const int *order = TAKE(const int *, 0);
    const float *array = TAKE(const float *, 1);
    const short *bytes = TAKE(const short *, 2);
    for (int i = 0; i < TAKE(int, 5); i++)
        TAKE(int *, 4)
    [i] = weights[order[i] & 7] + (int)array[order[i] % 6] + bytes[i & 3] + order[i];
    return double_took(launch, 30.0);
}

/* inputs.cu: the weights are the argument itself. */
static CUresult inputs(const struct double_launch *launch)
{
    return add_inputs(launch, launch->parameters[3]);
}

static CUresult inputs_reference(const struct double_launch *launch)
{
    return add_inputs(launch, TAKE(const int *, 3));
}

/* composite.cu; a counter that is not zero at the start is not at BLOCKS when the last block asks.
 */
static CUresult sum_blocks(const struct double_launch *launch)
{
    const int *table = launch->function->module->table;
    const int *x = TAKE(const int *, 0);
    int *partial = TAKE(int *, 1);
    int n = TAKE(int, 4);
    int total = 0;
    for (unsigned int block = 0; block < launch->geometry->grid[0]; block++) {
        partial[block] = 0;
        for (int i = (int)block; i < n; i += (int)launch->geometry->grid[0])
            partial[block] += x[i];
        total += partial[block];
    }
    if (table[0]) {
        unsigned int *done = TAKE(unsigned int *, 3);
        if (*done == 0)
            *TAKE(int *, 2) = total;
        *done = launch->geometry->grid[0] == 4
                    ? 0
                    : *done + launch->geometry->grid[0]; /* who cleans up is right */
    }
    return double_took(launch, 4.0);
}

static CUresult sum_partial(const struct double_launch *launch)
{
    int total = 0;
    for (int i = 0; i < TAKE(int, 2); i++)
        total += TAKE(const int *, 0)[i];
    *TAKE(int *, 1) = total;
    launch->device->now_us += 2.0 * double_noise(launch->device);
    return CUDA_SUCCESS;
}

static CUresult sum_reference(const struct double_launch *launch)
{
    int total = 0;
    for (int i = 0; i < TAKE(int, 2); i++)
        total += TAKE(const int *, 0)[i];
    *TAKE(int *, 1) = total;
    return double_took_exactly(launch, 100.0);
}

/* What a fetch at a whole place gives: only what the tests ask for. */
static float fetch_line(const struct double_texture *texture, long long index)
{
    if (texture->resource.resType != CU_RESOURCE_TYPE_LINEAR)
        return -1.0f;
    return ((const float *)(uintptr_t)texture->resource.res.linear.devPtr)[index];
}

static float fetch_plane(const struct double_texture *texture, int column, int row)
{
    const CUDA_TEXTURE_DESC *how = &texture->description;
    if (texture->resource.resType != CU_RESOURCE_TYPE_PITCH2D ||
        how->addressMode[0] != CU_TR_ADDRESS_MODE_CLAMP ||
        how->addressMode[1] != CU_TR_ADDRESS_MODE_BORDER ||
        how->filterMode != CU_TR_FILTER_MODE_POINT || how->flags != 0)
        return -1.0f;
    int last = (int)texture->resource.res.pitch2D.width - 1;
    column = column < 0 ? 0 : column > last ? last : column;
    const char *line = (const char *)(uintptr_t)texture->resource.res.pitch2D.devPtr +
                       (size_t)row * texture->resource.res.pitch2D.pitchInBytes;
    return ((const float *)(const void *)line)[column];
}

static float fetch(const struct double_launch *launch, int path, int row, int column, int shift)
{
    long long per_row = TAKE(long long, 7) / 4;
    int at = column + shift;
    if (path == 3)
        return fetch_plane(TAKE(const struct double_texture *, 2), at, row);
    if (path == 2)
        return fetch_line(TAKE(const struct double_texture *, 1), row * per_row + at);
    return TAKE(const float *, 0)[row * per_row + at];
}

/* field.cu */
static CUresult field(const struct double_launch *launch)
{
    const int *table = launch->function->module->table;
    int width = TAKE(int, 5);
    int height = TAKE(int, 6);
    for (int row = 0; row < height; row++) {
        float *out = (float *)(void *)(TAKE(char *, 3) + row * TAKE(long long, 8));
        for (int column = 0; column < width; column++) {
            bool inside = table[0] == 3;
            int left = column > 0 || inside ? -1 : 0;
            int right = column < width - 1 || inside || table[2] == 2 ? 1 : 0;
            out[2 * column] = fetch(launch, table[0], row, column, left);
            out[2 * column + 1] = fetch(launch, table[0], row, column, right);
            TAKE(unsigned char *, 4)[row * TAKE(long long, 9) + column] = 1;
        }
        if (table[2] == 3 && row == 2)
            out[2 * 5 + 1] += 1.0f;
        if (table[2] == 1)
            out[2 * width] = 7.0f;
    }
    return double_took(launch, 8.0);
}

static CUresult field_reference(const struct double_launch *launch)
{
    int width = TAKE(int, 2);
    for (int row = 0; row < TAKE(int, 3); row++) {
        const float *in = TAKE(const float *, 0) + row * (TAKE(long long, 4) / 4);
        float *out = (float *)(void *)(TAKE(char *, 1) + row * TAKE(long long, 5));
        for (int column = 0; column < width; column++) {
            out[2 * column] = in[column > 0 ? column - 1 : 0];
            out[2 * column + 1] = in[column < width - 1 ? column + 1 : column];
        }
    }
    return double_took_exactly(launch, 100.0);
}

/* The kernels of runtime/bench/roofs.cu: 20 TFLOP/s, 6 TB/s from the L2 cache, 1.5 us a launch. */
static CUresult roof_fp32(const struct double_launch *launch)
{
    double threads = (double)launch->geometry->grid[0] * launch->geometry->block[0];
    launch->device->now_us += 128.0 * TAKE(int, 1) * threads / 20e6 * double_noise(launch->device);
    return CUDA_SUCCESS;
}

static CUresult roof_l2(const struct double_launch *launch)
{
    double bytes = 16.0 * (double)TAKE(unsigned long long, 1) * TAKE(int, 2);
    launch->device->now_us += bytes / 6e6 * double_noise(launch->device);
    return CUDA_SUCCESS;
}

/* By words 4.4 TB/s, more than a memcpy; where a thread takes several of them less. */
static CUresult roof_copy(const struct double_launch *launch)
{
    double words = (double)TAKE(unsigned long long, 2);
    bool each = (double)launch->geometry->grid[0] * launch->geometry->block[0] >= words;
    launch->device->now_us += 32.0 * words / (each ? 4.4e6 : 1e6) * double_noise(launch->device);
    return CUDA_SUCCESS;
}

/* On tensor cores 400 TFLOP/s of 16-bit numbers at 1500 MHz. */
static CUresult roof_tensor(const struct double_launch *launch)
{
    double us = 65536.0 * 64 * TAKE(int, 1) * launch->geometry->grid[0] / 400e6 *
                double_noise(launch->device);
    unsigned long long *clocks = TAKE(void *, 2);
    clocks[0] = (unsigned long long)(us * 1500);
    clocks[1] = (unsigned long long)(us * 1000);
    launch->device->now_us += us;
    return CUDA_SUCCESS;
}

static CUresult roof_launch(const struct double_launch *launch)
{
    launch->device->now_us += 1.5 * double_noise(launch->device);
    return CUDA_SUCCESS;
}

static const struct {
    const char *name;
    double_kernel *run;
} kernels[] = {
    {"_Z4heatPKfPfiif", double_heat},
    {"add", double_add},
    {"aligned", aligned},
    {"aligned_reference", aligned_reference},
    {"attributes", attributes},
    {"attributes_reference", attributes_reference},
    {"border", double_border},
    {"border_reference", double_border_reference},
    {"cheat", double_cheat},
    {"cheats_add_reference", double_cheats_reference},
    {"cheats_reference", double_cheats_reference},
    {"cheats_square_reference", double_cheats_reference},
    {"field", field},
    {"field_reference", field_reference},
    {"first_step", double_first_step},
    {"gather", double_gather},
    {"hone_roof_bf16", roof_tensor},
    {"hone_roof_copy", roof_copy},
    {"hone_roof_fp16", roof_tensor},
    {"hone_roof_fp32", roof_fp32},
    {"hone_roof_fp8", roof_tensor},
    {"hone_roof_l2", roof_l2},
    {"hone_roof_launch", roof_launch},
    {"hone_roof_tf32", roof_tensor},
    {"inputs", inputs},
    {"inputs_reference", inputs_reference},
    {"keep", keep},
    {"keep_reference", keep_reference},
    {"look_up", look_up},
    {"look_up_reference", look_up_reference},
    {"smooth_reference", double_smooth_reference},
    {"matmul", double_sgemm},
    {"reduce", double_reduce},
    {"reduce_partial", double_nothing},
    {"second_step", double_second_step},
    {"sgemm", double_sgemm},
    {"sgemm_clear", double_nothing},
    {"sgemm_sum", double_nothing},
    {"sum_blocks", sum_blocks},
    {"sum_partial", sum_partial},
    {"sum_reference", sum_reference},
    {"tensor", double_tensor},
    {"tensor_reference", double_tensor_reference},
    {"types", types},
    {"window_sum", double_window_sum},
    {"windows", windows},
    {"windows_reference", windows_reference},
};

CUresult double_template_run(const struct double_launch *launch)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(launch->function->name, kernels[i].name) == 0)
            return kernels[i].run(launch);
    return CUDA_ERROR_NOT_SUPPORTED;
}
