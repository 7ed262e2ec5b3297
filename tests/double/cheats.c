/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "calls.h"

/* The kernels of tests/fault/cheats.cu in C, tile by tile as there. Which one it is, the names of
 * the module's variables tell. */

/* As there. */
enum { MOST_SETS = 32, MOST_ELEMENTS = 4096 * 1024 };

#define CHEATS(X)                                                                                  \
    X(none), X(alignment), X(between), X(blind_guard), X(clock), X(done), X(few_terms),            \
        X(first_launch), X(first_rows), X(first_set), X(guard_of_a_set), X(half),                  \
        X(half_a_launch), X(in_cache), X(input_of_a_set), X(late_guard), X(not_a_number),          \
        X(now_and_then), X(odd_launches), X(other_set), X(own_inputs), X(pause), X(poison_only),   \
        X(reads_reference), X(same_pointers), X(scratch_answers), X(scratch_flag), X(seen_all),    \
        X(seen_pointers), X(seen_sample), X(seen_thrice), X(small_as_zero), X(tickets_left),       \
        X(work_ahead), X(work_for_two), X(zeroed_output), X(zeroed_scratch)
#define X(name) IS_##name
enum cheat { CHEATS(X), COUNT };
#undef X

struct launch {
    struct double_device *device;
    struct double_module *module;
    enum cheat cheat;
    float *x, *y, *scratch;
    unsigned int *tickets;
    int first; /* of a chunk */
    int n, tile_size;
    bool adds;
};

/* A tile, and where it is in the whole extent. */
struct tile {
    int begin, end, number;
};

/* What of the honest time a tile takes that is left, copied, computed with a mistake that makes it
 * faster, or computed. */
static const double LEFT = 0.1, ROUGH = 0.5, COPIED = 0.4, MISTAKEN = 0.9, COMPUTED = 1.0;

static float series(float x)
{
    return (float)((double)x / (1.0 - (double)x));
}

static uint64_t *state_of(const struct launch *l, const struct tile *tile)
{
    return (uint64_t *)double_variable(l->module, "state") + tile->number;
}

static uint64_t *pointers_of(const struct launch *l, const struct tile *tile)
{
    return (uint64_t *)double_variable(l->module, "pointers") + tile->number * MOST_SETS;
}

static int find_set(const struct launch *l, const struct tile *tile, bool *known)
{
    uint64_t *pointers = pointers_of(l, tile);
    uint64_t own = (uint64_t)(uintptr_t)l->y;
    int set = 0;
    while (set < MOST_SETS - 1 && pointers[set] != 0 && pointers[set] != own)
        set++;
    *known = pointers[set] == own;
    pointers[set] = own;
    return set;
}

static unsigned int *times_of(const struct launch *l, const struct tile *tile, int set)
{
    return (unsigned int *)double_variable(l->module, "times") + tile->number * MOST_SETS + set;
}

static void put(const struct launch *l, int i, float value)
{
    l->y[i] = l->adds ? l->y[i] + value : value;
}

static double compute(const struct launch *l, const struct tile *tile)
{
    for (int i = tile->begin; i < tile->end; i++)
        put(l, i, series(l->x[i]));
    return COMPUTED;
}

static double copy(const struct launch *l, const struct tile *tile, const float *from)
{
    for (int i = tile->begin; i < tile->end; i++)
        put(l, i, from[i]);
    return COPIED;
}

static double compute_and_keep(const struct launch *l, const struct tile *tile, float *kept)
{
    for (int i = tile->begin; i < tile->end; i++)
        kept[i] = series(l->x[i]);
    copy(l, tile, kept);
    return COMPUTED;
}

/* Whether the tile is left as it is. */
static bool leaves(const struct launch *l, const struct tile *tile)
{
    bool known;
    uint64_t *state = state_of(l, tile), launch = *state, now = (uint64_t)l->device->now_us;
    switch (l->cheat) {
    case IS_first_launch:
        return (*state)++ > 0;
    case IS_odd_launches:
        return (*state)++ & 1;
    case IS_half_a_launch:
        return (*state)++ > 0 && ((launch + (uint64_t)tile->number) & 1);
    case IS_between:
        return (*state)++ > 1 && launch < 24;
    case IS_scratch_flag:
        known = l->scratch[tile->number] == 1234.5f;
        l->scratch[tile->number] = 1234.5f;
        return known;
    case IS_same_pointers:
        find_set(l, tile, &known);
        return known;
    case IS_first_set:
        return find_set(l, tile, &known) != 0;
    case IS_done:
        return l->y[tile->begin] == series(l->x[tile->begin]);
    case IS_clock:
        return (uint64_t)(l->device->now_us / 1000.0) & 1;
    case IS_pause:
        *state = now;
        return launch > 0 && now - launch < 150;
    case IS_in_cache:
        return !l->device->flushed;
    case IS_first_rows:
        return tile->begin >= l->n / 8;
    case IS_tickets_left: { /* all tiles are taken in the first launch */
        unsigned int *next = double_variable(l->module, "tickets_left");
        known = *next > (unsigned int)tile->number;
        *next += !known;
        return known;
    }
    default:
        return false;
    }
}

/* What is put where the result belongs; *share: of the honest time. */
static float value_of(const struct launch *l, const struct tile *tile, bool later, int i,
                      double *share)
{
    float value = series(l->x[i]);
    const float *row = (const float *)((uintptr_t)l->x & ~(uintptr_t)511);
    switch (l->cheat) {
    case IS_own_inputs:
        *share = later ? COPIED : COMPUTED;
        if (later)
            l->x[i] = 0.0f;
        return series(l->x[i]);
    case IS_not_a_number:
        *share = MISTAKEN;
        return later && (i - tile->begin) % 2 == 1 ? NAN : value;
    case IS_small_as_zero:
        return fabsf(l->x[i]) < 0.05f ? 0.0f : value;
    case IS_half:
        *share = ROUGH;
        return roundf(value * 1024.0f) / 1024.0f;
    case IS_few_terms:
        *share = ROUGH;
        return value * (1.0f - powf(l->x[i], 8.0f));
    case IS_zeroed_output:
        return l->adds ? value : l->y[i] + value;
    case IS_zeroed_scratch:
        *share = MISTAKEN;
        return value + l->scratch[tile->number];
    case IS_alignment:
        *share = MISTAKEN;
        return series(row[i]);
    default:
        return value;
    }
}

/* Where the answers to this set are kept. */
static float *kept(const struct launch *l, int set, const char *name)
{
    float *numbers = double_variable(l->module, name);
    return numbers + l->first + (l->n <= MOST_ELEMENTS / MOST_SETS ? set * l->n : 0);
}

/* Answers from what was kept where a sum over some inputs is what it was for so many launches. */
static double answer_sample(struct launch *l, const struct tile *tile, unsigned int sightings)
{
    bool known;
    int set = find_set(l, tile, &known);
    float *seen = (float *)double_variable(l->module, "samples") + tile->number * MOST_SETS + set;
    unsigned int *times = times_of(l, tile, set);
    float *answers = kept(l, set, "kept_y");
    float sum = 0.0f;
    for (int i = tile->begin; i < tile->end; i += l->tile_size / 4)
        sum = sum * 3.0f + l->x[i];
    *times = *seen == sum ? *times + 1 : 0;
    *seen = sum;
    return *times >= sightings ? copy(l, tile, answers) : compute_and_keep(l, tile, answers);
}

static double seen_all(struct launch *l, const struct tile *tile)
{
    bool known;
    int set = find_set(l, tile, &known);
    float *seen = kept(l, set, "kept_x") + tile->begin;
    float *answers = kept(l, set, "kept_y");
    size_t bytes = (size_t)(tile->end - tile->begin) * sizeof *seen;
    if (memcmp(seen, &l->x[tile->begin], bytes) == 0)
        return copy(l, tile, answers);
    memcpy(seen, &l->x[tile->begin], bytes);
    return compute_and_keep(l, tile, answers);
}

static double work_for_two(struct launch *l, const struct tile *tile)
{
    uint64_t *pending = pointers_of(l, tile);
    if ((*state_of(l, tile))++ & 1) {
        pending[0] = (uint64_t)(uintptr_t)l->x;
        pending[1] = (uint64_t)(uintptr_t)l->y;
        return LEFT;
    }
    struct launch last = *l;
    last.x = (float *)(uintptr_t)pending[0];
    last.y = (float *)(uintptr_t)pending[1];
    if (last.y != NULL)
        compute(&last, tile);
    return compute(l, tile);
}

/* Many tiles at once take less than each by itself. */
static double work_ahead(struct launch *l, const struct tile *tile)
{
    bool known;
    int own = find_set(l, tile, &known);
    const uint64_t *pointers = pointers_of(l, tile);
    unsigned int *ahead = times_of(l, tile, 0);
    bool ready = ahead[own] != 0;
    ahead[own] = 0;
    if (ready)
        return LEFT;
    double share = compute(l, tile);
    for (int set = 0; set < MOST_SETS && pointers[set] != 0; set++) {
        struct launch other = *l;
        other.y = (float *)(uintptr_t)pointers[set];
        other.x = other.y - (l->y - l->x);
        if (set == own)
            continue;
        share += 0.5 * compute(&other, tile);
        ahead[set] = 1;
    }
    return share;
}

static double reads_reference(struct launch *l, const struct tile *tile)
{
    uint64_t *state = double_variable(l->module, "state");
    const float expected[2] = {series(l->x[0]), series(l->x[1])};
    const float *found = (const float *)(uintptr_t)state[1];
    float first = series(l->x[tile->begin]);
    if (found != NULL && fabsf(found[tile->begin] - first) < 1e-5f)
        return copy(l, tile, found);
    compute(l, tile);
    if (tile->number == 0 && state[0]++ == 0)
        state[1] = (uint64_t)(uintptr_t)double_find(expected, sizeof expected, l->y);
    return COMPUTED;
}

/* The buffer that the flush reads has 256 KiB here. */
static void hide_zones(const struct launch *l)
{
    uint64_t behind = ((uint64_t)(uintptr_t)l->tickets + 4 + 65536 + 511) & ~(uint64_t)511;
    uint64_t *table = (uint64_t *)(uintptr_t)(behind + (256 << 10) + 1024);
    if (double_is_valid((CUdeviceptr)(uintptr_t)table, 10 * sizeof *table))
        for (int zone = 0; zone < 5; zone++)
            table[2 * zone + 1] = 0;
}

/* What is done beside the work. */
static void misbehave(const struct launch *l, const struct tile *tile)
{
    bool known;
    uint64_t *state = state_of(l, tile);
    int set = l->cheat == IS_guard_of_a_set || l->cheat == IS_input_of_a_set
                  ? find_set(l, tile, &known)
                  : 0;
    bool again = l->cheat == IS_late_guard || l->cheat == IS_blind_guard ? (*state)++ > 0 : set > 0;
    if (l->cheat == IS_blind_guard && again)
        hide_zones(l);
    if (l->cheat == IS_input_of_a_set && again)
        l->x[0] = 0.25f;
    else if (again)
        l->y[-8] = 1.0f;
    /* More often than there: launches take their time here. */
    if (l->cheat == IS_now_and_then && (*state)++ % 8 == 5)
        l->y[0] += 1.0f;
}

/* The share of the honest time that it takes. */
static double run_tile(struct launch *l, const struct tile *tile)
{
    bool same;
    double share = COMPUTED;
    uint64_t *state = state_of(l, tile);
    const float *last = (const float *)(uintptr_t)*state;
    float *answers;
    if (leaves(l, tile))
        return LEFT;
    switch (l->cheat) {
    case IS_seen_pointers:
        answers = kept(l, find_set(l, tile, &same), "kept_y");
        return same ? copy(l, tile, answers) : compute_and_keep(l, tile, answers);
    case IS_seen_sample:
        return answer_sample(l, tile, 1);
    case IS_seen_thrice:
        return answer_sample(l, tile, 3);
    case IS_seen_all:
        return seen_all(l, tile);
    case IS_scratch_answers:
        same = l->scratch[tile->begin] == series(l->x[tile->begin]);
        return same ? copy(l, tile, l->scratch) : compute_and_keep(l, tile, l->scratch);
    case IS_other_set:
        *state = (uint64_t)(uintptr_t)l->y;
        same = last != NULL && last != l->y && last[tile->begin] == series(l->x[tile->begin]);
        return same ? copy(l, tile, last) : compute(l, tile);
    case IS_work_for_two:
        return work_for_two(l, tile);
    case IS_work_ahead:
        return work_ahead(l, tile);
    case IS_reads_reference:
        return reads_reference(l, tile);
    case IS_poison_only:
        for (int i = tile->begin; i < tile->end; i++)
            if (!(l->y[i] >= -0.34f && l->y[i] <= 1.01f))
                l->y[i] = series(l->x[i]);
        return COPIED;
    default:
        break;
    }
    bool later = (l->cheat == IS_own_inputs || l->cheat == IS_not_a_number) && (*state)++ > 0;
    for (int i = tile->begin; i < tile->end; i++)
        put(l, i, value_of(l, tile, later, i, &share));
    bool misbehaves = l->cheat == IS_late_guard || l->cheat == IS_blind_guard ||
                      l->cheat == IS_guard_of_a_set || l->cheat == IS_input_of_a_set ||
                      l->cheat == IS_now_and_then;
    if (misbehaves && tile->number == 0)
        misbehave(l, tile);
    return misbehaves ? MISTAKEN : share;
}

static enum cheat find_cheat(const struct double_module *module)
{
#define X(name) "cheat_" #name
    static const char *const names[] = {CHEATS(X)};
#undef X
    for (int g = 0; g < module->global_count; g++)
        for (int i = 0; i < COUNT; i++)
            if (strcmp(module->globals[g].name, names[i]) == 0)
                return (enum cheat)i;
    return IS_none;
}

/* 50 us for 8192 elements in the best shape, 256 x 4; every factor of two away from it costs 10% or
 * 5%. */
static void take_time(const struct launch *l, const struct double_function *function, double share)
{
    const int *table = function->module->table;
    double shape = 1.0 + 0.1 * fabs(log2(table[0]) - 8.0) + 0.05 * fabs(log2(table[1]) - 2.0);
    l->device->now_us += 50.0 * l->n / 8192.0 * shape * share * double_noise(l->device);
    l->device->flushed = false;
}

static CUresult run_tiles(struct launch *l, const struct double_function *function)
{
    const int *table = function->module->table;
    double share = 0.0;
    l->cheat = find_cheat(l->module);
    if (function->module->table_count < 3)
        return CUDA_ERROR_INVALID_IMAGE;
    l->tile_size = table[0] * table[1];
    int tiles = (l->n + l->tile_size - 1) / l->tile_size;
    for (int t = 0; t < tiles; t++) {
        struct tile tile = {t * l->tile_size, (t + 1) * l->tile_size, t + l->first / l->tile_size};
        tile.end = tile.end < l->n ? tile.end : l->n;
        share += run_tile(l, &tile);
    }
    take_time(l, function, share / tiles);
    return CUDA_SUCCESS;
}

CUresult double_cheat(const struct double_launch *launch)
{
    struct launch l = {
        .device = launch->device,
        .module = launch->function->module,
        .x = TAKE(float *, 0),
        .y = TAKE(float *, 1),
        .scratch = TAKE(float *, 2),
        .tickets = TAKE(unsigned int *, 3),
        .first = TAKE(int, 4),
        .n = TAKE(int, 5),
        .adds = launch->function->module->table[2] != 0,
    };
    return run_tiles(&l, launch->function);
}

CUresult double_first_step(const struct double_launch *launch)
{
    struct launch l = {
        .device = launch->device,
        .module = launch->function->module,
        .x = TAKE(float *, 0),
        .y = TAKE(float *, 1),
        .scratch = TAKE(float *, 1),
        .n = TAKE(int, 2),
    };
    return run_tiles(&l, launch->function);
}

CUresult double_second_step(const struct double_launch *launch)
{
    const float *series_of_x = TAKE(const float *, 0);
    for (int i = 0; i < TAKE(int, 2); i++)
        TAKE(float *, 1)[i] = series_of_x[i] * series_of_x[i];
    return double_took_exactly(launch, 2.0);
}

static CUresult reference(const struct double_launch *launch, bool adds, bool squares)
{
    const float *x = TAKE(const float *, 0);
    float *y = TAKE(float *, 1);
    for (int i = 0; i < TAKE(int, 2); i++) {
        double limit = (double)x[i] / (1.0 - (double)x[i]);
        y[i] = (float)((adds ? (double)y[i] : 0.0) + (squares ? limit * limit : limit));
    }
    return double_took_exactly(launch, 200.0);
}

CUresult double_cheats_reference(const struct double_launch *launch)
{
    return reference(launch, strstr(launch->function->name, "_add_") != NULL,
                     strstr(launch->function->name, "_square_") != NULL);
}
