/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "calls.h"

/* The kernels of tests/fault/cheats.cu in C, tile by tile as there. Which one it is, the names of
 * the module's variables tell. */

/* As there. */
enum { MOST_SETS = 32, MOST_ELEMENTS = 4096 * 1024 };

struct launch {
    struct double_device *device;
    struct double_module *module;
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
static const double LEFT = 0.1;
static const double COPIED = 0.4;
static const double MISTAKEN = 0.9;
static const double COMPUTED = 1.0;

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

static double unless(const struct launch *l, const struct tile *tile, bool left)
{
    return left ? LEFT : compute(l, tile);
}

static double first_launch(struct launch *l, const struct tile *tile)
{
    return unless(l, tile, (*state_of(l, tile))++ > 0);
}

static double odd_launches(struct launch *l, const struct tile *tile)
{
    return unless(l, tile, (*state_of(l, tile))++ & 1);
}

static double half_a_launch(struct launch *l, const struct tile *tile)
{
    uint64_t launch = (*state_of(l, tile))++;
    return unless(l, tile, launch > 0 && ((launch + (uint64_t)tile->number) & 1));
}

static double between(struct launch *l, const struct tile *tile)
{
    uint64_t launch = (*state_of(l, tile))++;
    return unless(l, tile, launch > 1 && launch < 24);
}

static double scratch_flag(struct launch *l, const struct tile *tile)
{
    float *flag = &l->scratch[tile->number];
    bool left = *flag == 1234.5f;
    *flag = 1234.5f;
    return unless(l, tile, left);
}

static double same_pointers(struct launch *l, const struct tile *tile)
{
    bool known;
    find_set(l, tile, &known);
    return unless(l, tile, known);
}

static double first_set(struct launch *l, const struct tile *tile)
{
    bool known;
    return unless(l, tile, find_set(l, tile, &known) != 0);
}

static double done(struct launch *l, const struct tile *tile)
{
    return unless(l, tile, l->y[tile->begin] == series(l->x[tile->begin]));
}

static double by_clock(struct launch *l, const struct tile *tile)
{
    return unless(l, tile, (uint64_t)(l->device->now_us / 1000.0) & 1);
}

static double pause(struct launch *l, const struct tile *tile)
{
    uint64_t *last = state_of(l, tile);
    uint64_t now = (uint64_t)l->device->now_us;
    bool left = *last > 0 && now - *last < 150;
    *last = now;
    return unless(l, tile, left);
}

static double in_cache(struct launch *l, const struct tile *tile)
{
    return unless(l, tile, !l->device->flushed);
}

static double first_rows(struct launch *l, const struct tile *tile)
{
    return unless(l, tile, tile->begin >= l->n / 8);
}

/* All tiles are taken in the first launch. */
static double tickets_left(struct launch *l, const struct tile *tile)
{
    unsigned int *next = double_variable(l->module, "tickets_left");
    bool left = *next > (unsigned int)tile->number;
    *next += !left;
    return unless(l, tile, left);
}

/* Where the answers to this set are kept. */
static float *kept(const struct launch *l, int set, const char *name)
{
    float *numbers = double_variable(l->module, name);
    return numbers + l->first + (l->n <= MOST_ELEMENTS / MOST_SETS ? set * l->n : 0);
}

static double seen_pointers(struct launch *l, const struct tile *tile)
{
    bool same;
    float *answers = kept(l, find_set(l, tile, &same), "kept_y");
    return same ? copy(l, tile, answers) : compute_and_keep(l, tile, answers);
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

static double seen_sample(struct launch *l, const struct tile *tile)
{
    return answer_sample(l, tile, 1);
}

static double seen_thrice(struct launch *l, const struct tile *tile)
{
    return answer_sample(l, tile, 3);
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

static double scratch_answers(struct launch *l, const struct tile *tile)
{
    bool same = l->scratch[tile->begin] == series(l->x[tile->begin]);
    return same ? copy(l, tile, l->scratch) : compute_and_keep(l, tile, l->scratch);
}

static double other_set(struct launch *l, const struct tile *tile)
{
    uint64_t *state = state_of(l, tile);
    const float *last = (const float *)(uintptr_t)*state;
    *state = (uint64_t)(uintptr_t)l->y;
    bool same = last != NULL && last != l->y && last[tile->begin] == series(l->x[tile->begin]);
    return same ? copy(l, tile, last) : compute(l, tile);
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

static double poison_only(struct launch *l, const struct tile *tile)
{
    for (int i = tile->begin; i < tile->end; i++)
        if (!(l->y[i] >= -0.34f && l->y[i] <= 1.01f))
            l->y[i] = series(l->x[i]);
    return COPIED;
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

static double late_guard(struct launch *l, const struct tile *tile)
{
    if (tile->number == 0 && (*state_of(l, tile))++ > 0)
        l->y[-8] = 1.0f;
    compute(l, tile);
    return MISTAKEN;
}

/* The buffer that the flush reads has 2 MiB here. */
static void hide_zones(const struct launch *l)
{
    uint64_t behind = ((uint64_t)(uintptr_t)l->tickets + 4 + 65536 + 511) & ~(uint64_t)511;
    uint64_t *table = (uint64_t *)(uintptr_t)(behind + (2 << 20) + 1024);
    if (double_is_valid((CUdeviceptr)(uintptr_t)table, 10 * sizeof *table))
        for (int zone = 0; zone < 5; zone++)
            table[2 * zone + 1] = 0;
}

static double blind_guard(struct launch *l, const struct tile *tile)
{
    if (tile->number == 0 && *state_of(l, tile) > 0)
        hide_zones(l);
    return late_guard(l, tile);
}

static double guard_of_a_set(struct launch *l, const struct tile *tile)
{
    bool known;
    if (tile->number == 0 && find_set(l, tile, &known) > 0)
        l->y[-8] = 1.0f;
    compute(l, tile);
    return MISTAKEN;
}

static double input_of_a_set(struct launch *l, const struct tile *tile)
{
    bool known;
    compute(l, tile);
    if (tile->number == 0 && find_set(l, tile, &known) > 0)
        l->x[0] = 0.25f;
    return MISTAKEN;
}

static double own_inputs(struct launch *l, const struct tile *tile)
{
    bool later = (*state_of(l, tile))++ > 0;
    for (int i = tile->begin; later && i < tile->end; i++)
        l->x[i] = 0.0f;
    compute(l, tile);
    return later ? COPIED : COMPUTED;
}

static double not_a_number(struct launch *l, const struct tile *tile)
{
    bool later = (*state_of(l, tile))++ > 0;
    compute(l, tile);
    for (int i = tile->begin + 1; later && i < tile->end; i += 2)
        l->y[i] = NAN;
    return MISTAKEN;
}

static double small_as_zero(struct launch *l, const struct tile *tile)
{
    for (int i = tile->begin; i < tile->end; i++)
        put(l, i, fabsf(l->x[i]) < 0.05f ? 0.0f : series(l->x[i]));
    return COMPUTED;
}

static double half(struct launch *l, const struct tile *tile)
{
    for (int i = tile->begin; i < tile->end; i++)
        put(l, i, roundf(series(l->x[i]) * 1024.0f) / 1024.0f);
    return 0.5;
}

static double few_terms(struct launch *l, const struct tile *tile)
{
    for (int i = tile->begin; i < tile->end; i++)
        put(l, i, series(l->x[i]) * (1.0f - powf(l->x[i], 8.0f)));
    return 0.5;
}

static double zeroed_output(struct launch *l, const struct tile *tile)
{
    for (int i = tile->begin; i < tile->end; i++)
        l->y[i] += series(l->x[i]);
    return COMPUTED;
}

static double zeroed_scratch(struct launch *l, const struct tile *tile)
{
    for (int i = tile->begin; i < tile->end; i++)
        put(l, i, series(l->x[i]) + l->scratch[tile->number]);
    return MISTAKEN;
}

static double alignment(struct launch *l, const struct tile *tile)
{
    const float *row = (const float *)((uintptr_t)l->x & ~(uintptr_t)511);
    for (int i = tile->begin; i < tile->end; i++)
        put(l, i, series(row[i]));
    return MISTAKEN;
}

static double now_and_then(struct launch *l, const struct tile *tile)
{
    uint64_t *launch = state_of(l, tile);
    compute(l, tile);
    /* More often than there: launches take their time here. */
    if (tile->number == 0 && (*launch)++ % 8 == 5)
        l->y[0] += 1.0f;
    return MISTAKEN;
}

static double honest(struct launch *l, const struct tile *tile)
{
    return compute(l, tile);
}

static const struct cheat {
    const char *name;
    double (*run)(struct launch *l, const struct tile *tile);
} cheats[] = {
    {"cheat_alignment", alignment},
    {"cheat_between", between},
    {"cheat_blind_guard", blind_guard},
    {"cheat_clock", by_clock},
    {"cheat_done", done},
    {"cheat_few_terms", few_terms},
    {"cheat_first_launch", first_launch},
    {"cheat_first_rows", first_rows},
    {"cheat_first_set", first_set},
    {"cheat_guard_of_a_set", guard_of_a_set},
    {"cheat_half", half},
    {"cheat_half_a_launch", half_a_launch},
    {"cheat_in_cache", in_cache},
    {"cheat_input_of_a_set", input_of_a_set},
    {"cheat_late_guard", late_guard},
    {"cheat_not_a_number", not_a_number},
    {"cheat_now_and_then", now_and_then},
    {"cheat_odd_launches", odd_launches},
    {"cheat_other_set", other_set},
    {"cheat_own_inputs", own_inputs},
    {"cheat_pause", pause},
    {"cheat_poison_only", poison_only},
    {"cheat_reads_reference", reads_reference},
    {"cheat_same_pointers", same_pointers},
    {"cheat_scratch_answers", scratch_answers},
    {"cheat_scratch_flag", scratch_flag},
    {"cheat_seen_all", seen_all},
    {"cheat_seen_pointers", seen_pointers},
    {"cheat_seen_sample", seen_sample},
    {"cheat_seen_thrice", seen_thrice},
    {"cheat_small_as_zero", small_as_zero},
    {"cheat_tickets_left", tickets_left},
    {"cheat_work_ahead", work_ahead},
    {"cheat_work_for_two", work_for_two},
    {"cheat_zeroed_output", zeroed_output},
    {"cheat_zeroed_scratch", zeroed_scratch},
};

static const struct cheat *find_cheat(const struct double_module *module)
{
    static const struct cheat none = {"cheat_none", honest};
    for (int g = 0; g < module->global_count; g++)
        for (size_t i = 0; i < sizeof cheats / sizeof cheats[0]; i++)
            if (strcmp(module->globals[g].name, cheats[i].name) == 0)
                return &cheats[i];
    return &none;
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
    const struct cheat *cheat = find_cheat(l->module);
    const int *table = function->module->table;
    double share = 0.0;
    if (function->module->table_count < 3)
        return CUDA_ERROR_INVALID_IMAGE;
    l->tile_size = table[0] * table[1];
    int tiles = (l->n + l->tile_size - 1) / l->tile_size;
    for (int t = 0; t < tiles; t++) {
        struct tile tile = {t * l->tile_size, (t + 1) * l->tile_size, t + l->first / l->tile_size};
        tile.end = tile.end < l->n ? tile.end : l->n;
        share += cheat->run(l, &tile);
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
