/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "calls.h"

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

/* params.cu */
static CUresult apply(const struct double_launch *launch)
{
    struct params {
        const float *in;
        int n;
        bool negate;
        float *out;
        short which;
        struct {
            float slope, offsets[2];
        } line;
        double bias;
        unsigned int *turns;
    } p;
    const int *table = launch->function->module->table;
    memcpy(&p, launch->parameters[0], sizeof p);
    ++*p.turns;
    for (int i = 0; i < p.n; i++) {
        float y = p.line.slope * p.in[i] + p.line.offsets[p.which] + (float)p.bias;
        p.out[i] = p.negate ? -y : y;
    }
    return double_took(launch, *p.turns != 1 ? 1000.0 : 20.0 + table[0] / 64.0);
}

static CUresult params_reference(const struct double_launch *launch)
{
    float sign = TAKE(int, 3) != 0 ? -1.0f : 1.0f;
    for (int i = 0; i < TAKE(int, 2); i++)
        TAKE(float *, 1)[i] = sign * (0.5f * TAKE(const float *, 0)[i] + TAKE(float, 4));
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
    return double_took(launch, 2.0);
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

/* The kernels of border.yaml (tests/data/double.txt) in C: outputs that are written in part. */

enum {
    FAULT_WRITES_BORDER = 1,
    FAULT_LEAVES_OUT,
    FAULT_WRONG,
    FAULT_IDLE,
    FAULT_LATE,
    FAULT_WHOLE
};

static void add_neighbours(const float *x, float *y, int n, int fault, bool late)
{
    bool leaves_out = fault == FAULT_LEAVES_OUT || (fault == FAULT_LATE && late);
    for (int i = 1; i < n - 1; i++)
        if (!leaves_out || (i != 5 && i != 6))
            y[i] = x[i - 1] + x[i + 1] + (fault == FAULT_WRONG && i < 4 ? 1.0f : 0.0f);
    if (fault == FAULT_WRITES_BORDER)
        y[0] = y[n - 1] = 7.0f;
}

static void write_even(int *z, int n, int fault)
{
    for (int i = 0; i < n; i += 2)
        if (fault != FAULT_WHOLE || (i != 8 && i != 10))
            z[i] = i;
}

static CUresult run_border(const struct double_launch *launch, int fault, bool late)
{
    int n = TAKE(int, 3);
    launch->device->now_us += 20.0 * double_noise(launch->device);
    if (fault == FAULT_IDLE)
        return CUDA_SUCCESS;
    add_neighbours(TAKE(const float *, 0), TAKE(float *, 1), n, fault, late);
    write_even(TAKE(int *, 2), n, fault);
    return CUDA_SUCCESS;
}

static CUresult border(const struct double_launch *launch)
{
    return run_border(launch, launch->function->module->table[0], launch->function->launches > 1);
}

static CUresult border_reference(const struct double_launch *launch)
{
    return run_border(launch, 0, false);
}

/* The kernels of pipeline.cu (tests/data/double.txt) in C. */

static CUresult gather(const struct double_launch *launch)
{
    float *x = TAKE(float *, 0);
    int radius = TAKE(int, 2);
    int begin = TAKE(int, 3);
    int count = TAKE(int, 4);
    for (int i = 0; i < count; i++) {
        float sum = 0.0f;
        for (int d = -radius; d <= radius; d++)
            if (begin + i + d >= 0 && begin + i + d < TAKE(int, 5))
                sum += x[i + d];
        TAKE(float *, 1)[i] = sum;
    }
    if (launch->function->module->table[0] == 1 && begin <= 5 && 5 < begin + count)
        x[5 - begin] = 0.0f;
    return double_took(launch, 5.0 + 0.01 * count);
}

static CUresult window_sum(const struct double_launch *launch)
{
    int count = TAKE(int, 3);
    for (int i = 0; i < count; i++) {
        float sum = 0.0f;
        for (int d = 0; d <= TAKE(int, 2); d++)
            sum += TAKE(const float *, 0)[i + d];
        TAKE(float *, 1)[i] = sum;
    }
    return double_took(launch, 5.0 + 0.01 * count);
}

static void add_to(float *y, int i, float value)
{
    y[2 * i] += value;
    y[2 * i + 1] -= value;
}

static CUresult add(const struct double_launch *launch)
{
    const float *table = TAKE(const float *, 2);
    float *y = TAKE(float *, 1);
    int fault = launch->function->module->table[0];
    int begin = TAKE(int, 4);
    int count = TAKE(int, 5);
    int size = TAKE(int, 6);
    for (int i = 0; i < count; i++) {
        float value = TAKE(const float *, 0)[i] * table[(begin + i) % 16];
        bool at_end = begin + i == size - 1;
        if (fault == 2 && begin + i == size / 2)
            value += 1.0f;
        if (fault == 3 && at_end)
            y[2 * (i + 1)] = 1.0f;
        if (fault == 4 && begin + i == 7)
            continue;
        add_to(y, i, value);
        for (int k = 0; at_end && k < 4; k++)
            TAKE(float *, 3)[k] = value + table[k];
    }
    return double_took(launch, 5.0 + 0.01 * count);
}

static CUresult smooth_reference(const struct double_launch *launch)
{
    const float *x = TAKE(const float *, 0);
    float *y = TAKE(float *, 1);
    const float *table = TAKE(const float *, 2);
    int radius = TAKE(int, 4);
    int size = TAKE(int, 5);
    for (int i = 0; i < size; i++) {
        double sum = 0.0;
        for (int d = -radius; d <= radius; d++)
            if (i + d >= 0 && i + d < size)
                sum += (double)x[i + d];
        double value = sum * (double)table[i % 16];
        y[2 * i] = (float)((double)y[2 * i] + value);
        y[2 * i + 1] = (float)((double)y[2 * i + 1] - value);
        for (int k = 0; i == size - 1 && k < 4; k++)
            TAKE(float *, 3)[k] = (float)(value + (double)table[k]);
    }
    return double_took_exactly(launch, 200.0);
}

/* The kernels of docs/tutorial.md and docs/own-kernel.md in C. */

struct picture {
    const float *in;
    float *out;
    int width, height;
};

static int clamp(int value, int limit)
{
    return value < 0 ? 0 : value < limit ? value : limit - 1;
}

/* Of three rows, in a column and beside it. Whether out had another one. */
static inline bool write_mean(const float *const rows[3], float *out, int left, int x, int right)
{
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum = sum + (double)rows[i][left] + (double)rows[i][x] + (double)rows[i][right];
    float mean = (float)(sum / 9);
    bool changed = !(out[x] == mean);
    out[x] = mean;
    return changed;
}

/* False when it was as computed already. Between the borders the compiler takes many columns at
 * once. */
static bool write_row(const struct picture *picture, int y, int count)
{
    const int last = picture->width - 1;
    const float *rows[3];
    for (int i = 0; i < 3; i++)
        rows[i] = &picture->in[(size_t)clamp(y + i - 1, picture->height) * (size_t)picture->width];
    float *out = &picture->out[(size_t)y * (size_t)picture->width];
    bool changed = write_mean(rows, out, 0, 0, clamp(1, picture->width));
    for (int x = 1; x < count && x < last; x++)
        changed |= write_mean(rows, out, x - 1, x, x + 1);
    if (last > 0 && count > last)
        changed |= write_mean(rows, out, last - 1, last, last);
    return changed;
}

/* Measuring launches it a thousand times: what the last launch left is not computed again. What
 * poisons an output poisons all of it. */
static void write_picture(const struct picture *picture)
{
    if (!write_row(picture, picture->height / 2, 64))
        return;
    for (int y = 0; y < picture->height; y++)
        write_row(picture, y, picture->width);
}

static struct picture take_picture(const struct double_launch *launch)
{
    return (struct picture){TAKE(const float *, 0), TAKE(float *, 1), TAKE(int, 2), TAKE(int, 3)};
}

/* The best is a block of 64 x 4 with four rows a thread; every factor of two away from it costs
 * some percent. */
static CUresult blur(const struct double_launch *launch)
{
    struct picture picture = take_picture(launch);
    double threads = (double)launch->geometry->grid[1] * launch->geometry->block[1];
    double rows = fmax(1, (double)picture.height / threads);
    double away = 0.12 * fabs(log2(launch->geometry->block[0]) - 6) +
                  0.07 * fabs(log2(launch->geometry->block[1]) - 2) + 0.09 * fabs(log2(rows) - 2);
    write_picture(&picture);
    return double_took(launch, 40.0 * (1.0 + away));
}

static CUresult blur_reference(const struct double_launch *launch)
{
    struct picture picture = take_picture(launch);
    write_picture(&picture);
    return double_took_exactly(launch, 100.0);
}

/* One step of heat over a plate; as above, what the last launch left is not computed again. */
static bool heat_row(const struct picture *plate, int y, int count, float alpha)
{
    const float *in = plate->in + (size_t)y * (size_t)plate->width;
    float *out = plate->out + (size_t)y * (size_t)plate->width;
    bool changed = false;
    for (int x = 0; x < count; x++) {
        float left = x > 0 ? in[x - 1] : in[x];
        float right = x < plate->width - 1 ? in[x + 1] : in[x];
        float above = y > 0 ? in[x - plate->width] : in[x];
        float below = y < plate->height - 1 ? in[x + plate->width] : in[x];
        float then = in[x] + alpha * (left + right + above + below - 4 * in[x]);
        changed = changed || !(out[x] == then);
        out[x] = then;
    }
    return changed;
}

/* The best is a block of 64 x 4. */
static CUresult heat(const struct double_launch *launch)
{
    struct picture plate = take_picture(launch);
    float alpha = TAKE(float, 4);
    double away = 0.12 * fabs(log2(launch->geometry->block[0]) - 6) +
                  0.07 * fabs(log2(launch->geometry->block[1]) - 2);
    bool changed = heat_row(&plate, plate.height / 2, 64, alpha);
    for (int y = 0; changed && y < plate.height; y++)
        heat_row(&plate, y, plate.width, alpha);
    return double_took(launch, 20.0 * (1.0 + away));
}

/* Kernels of templates/ in C, for programs that use them. A kernel that finishes what another one
 * began does nothing: that one has done it all. */

enum { PLAIN_BYTES = 5 * 8 + 3 * 4 }; /* of the parameters of sgemm.cu */

static CUresult nothing(const struct double_launch *launch)
{
    return double_took(launch, 1.5);
}

/* reduce.cu */
static CUresult reduce(const struct double_launch *launch)
{
    const float *in = TAKE(const float *, 0);
    double sum = 0;
    for (int64_t i = 0; i < TAKE(int64_t, 2); i++)
        sum += in[i];
    *TAKE(float *, 1) = (float)sum;
    return double_took(launch, 20.0);
}

/* How many floats there are behind an address. */
static double extent(const float *first)
{
    size_t low = 0;
    size_t high = (size_t)1 << 40;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (double_is_valid((CUdeviceptr)(uintptr_t)first, middle))
            low = middle;
        else
            high = middle;
    }
    return (double)(low / sizeof *first);
}

/* sgemm_blas.cu. What is transposed is part of the program, which is not known here: it follows
 * from the leading dimensions where k is more than rows and columns, gaps included. */
static CUresult product(const struct double_launch *launch)
{
    const float *a = TAKE(const float *, 0);
    const float *b = TAKE(const float *, 1);
    float *c = TAKE(float *, 2);
    const size_t m = (size_t)TAKE(int, 5), n = (size_t)TAKE(int, 6), k = (size_t)TAKE(int, 7);
    const size_t lda = (size_t)TAKE(int, 8), ldb = (size_t)TAKE(int, 9);
    const size_t ldc = (size_t)TAKE(int, 10);
    const float alpha = TAKE(float, 11), beta = TAKE(float, 12);
    const bool trans_a = lda < k, trans_b = ldb >= k;
    for (size_t i = 0; i < m * n; i++) {
        const size_t row = i / n, column = i % n;
        float *to = &c[row * ldc + column];
        double sum = 0;
        for (size_t j = 0; j < k; j++)
            sum += (double)a[trans_a ? j * lda + row : row * lda + j] *
                   b[trans_b ? column * ldb + j : j * ldb + column];
        *to = (float)(alpha * sum + (beta == 0 ? 0.0 : (double)beta * *to));
    }
    return double_took(launch, 50.0);
}

/* sgemm.cu and matmul.cu with a row-major B, where sizes are constants: they follow from those of
 * the buffers. */
static CUresult sgemm(const struct double_launch *launch)
{
    if (launch->function->parameter_bytes > PLAIN_BYTES)
        return product(launch);
    const float *a = TAKE(const float *, 0);
    const float *b = TAKE(const float *, 1);
    float *c = TAKE(float *, 2);
    double mk = extent(a);
    double kn = extent(b);
    double mn = extent(c);
    size_t m = (size_t)(sqrt(mk * mn / kn) + 0.5);
    size_t n = (size_t)(mn / (double)m + 0.5);
    size_t k = (size_t)(mk / (double)m + 0.5);
    for (size_t i = 0; i < m * n; i++) {
        double sum = 0;
        for (size_t j = 0; j < k; j++)
            sum += (double)a[i / n * k + j] * b[j * n + i % n];
        c[i] = (float)sum;
    }
    return double_took(launch, 50.0);
}

/* The kernels of runtime/bench/roofs.cu: 20 TFLOP/s, 6 TB/s from the L2 cache, 1.5 us a launch. */
static CUresult roof_fp32(const struct double_launch *launch)
{
    double threads = (double)launch->geometry->grid[0] * launch->geometry->block[0];
    return double_took(launch, 128.0 * TAKE(int, 1) * threads / 20e6);
}

static CUresult roof_l2(const struct double_launch *launch)
{
    double bytes = 16.0 * (double)TAKE(unsigned long long, 1) * TAKE(int, 2);
    return double_took(launch, bytes / 6e6);
}

/* By words 4.4 TB/s, more than a memcpy; where a thread takes several of them less. */
static CUresult roof_copy(const struct double_launch *launch)
{
    double words = (double)TAKE(unsigned long long, 2);
    bool each = (double)launch->geometry->grid[0] * launch->geometry->block[0] >= words;
    return double_took(launch, 32.0 * words / (each ? 4.4e6 : 1e6));
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
    return double_took(launch, 1.5);
}

static const struct {
    const char *name;
    double_kernel *run;
} kernels[] = {
    {"_Z4heatPKfPfiif", heat},
    {"add", add},
    {"aligned", aligned},
    {"aligned_reference", aligned_reference},
    {"apply", apply},
    {"attributes", attributes},
    {"attributes_reference", attributes_reference},
    {"blur", blur},
    {"blur_reference", blur_reference},
    {"border", border},
    {"border_reference", border_reference},
    {"cheat", double_cheat},
    {"cheats_add_reference", double_cheats_reference},
    {"cheats_reference", double_cheats_reference},
    {"cheats_square_reference", double_cheats_reference},
    {"field", field},
    {"field_reference", field_reference},
    {"first_step", double_first_step},
    {"gather", gather},
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
    {"smooth_reference", smooth_reference},
    {"matmul", sgemm},
    {"params_reference", params_reference},
    {"reduce", reduce},
    {"reduce_partial", nothing},
    {"second_step", double_second_step},
    {"sgemm", sgemm},
    {"sgemm_clear", nothing},
    {"sgemm_sum", nothing},
    {"sum_blocks", sum_blocks},
    {"sum_partial", sum_partial},
    {"sum_reference", sum_reference},
    {"tensor", double_tensor},
    {"tensor_reference", double_tensor_reference},
    {"types", types},
    {"window_sum", window_sum},
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
