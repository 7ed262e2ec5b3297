/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stddef.h>

#include "double.h"

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

static float mean_of_nine(const struct picture *picture, int x, int y)
{
    double sum = 0;
    for (int j = y - 1; j <= y + 1; j++)
        for (int i = x - 1; i <= x + 1; i++)
            sum += (double)picture->in[(size_t)clamp(j, picture->height) * (size_t)picture->width +
                                       (size_t)clamp(i, picture->width)];
    return (float)(sum / 9);
}

/* False when it was as computed already. */
static bool write_row(const struct picture *picture, int y, int count)
{
    bool changed = false;
    for (int x = 0; x < count; x++) {
        float mean = mean_of_nine(picture, x, y);
        float *out = &picture->out[(size_t)y * (size_t)picture->width + (size_t)x];
        changed = changed || !(*out == mean);
        *out = mean;
    }
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
CUresult double_blur(const struct double_launch *launch)
{
    struct picture picture = take_picture(launch);
    double threads = (double)launch->geometry->grid[1] * launch->geometry->block[1];
    double rows = fmax(1, (double)picture.height / threads);
    double away = 0.12 * fabs(log2(launch->geometry->block[0]) - 6) +
                  0.07 * fabs(log2(launch->geometry->block[1]) - 2) + 0.09 * fabs(log2(rows) - 2);
    write_picture(&picture);
    return double_took(launch, 40.0 * (1.0 + away));
}

CUresult double_blur_reference(const struct double_launch *launch)
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
CUresult double_heat(const struct double_launch *launch)
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
