/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_SELECT_FIXTURE_H
#define HONE_TESTS_SELECT_FIXTURE_H

#include "base/file.h"
#include "cache/store/lookup.h"
#include "runtime/plan/launch.h"
#include "tests/unit/config_fixture.h"
#include "tests/unit/plan_fixture.h"
#include "tests/unit/rule_fixture.h"
#include "tests/unit/store_fixture.h"
#include "tuner/export/export.h"

/* A cache of drawn results, and who says of a point whether it can be used: what the library and
 * the exported header are asked about. */

enum { RESULTS = 60 };

static const struct hn_device_identity devices[] = {
    {"NVIDIA H200", 90, 132, ""},  {"NVIDIA H100 PCIe", 90, 114, ""}, {"NVIDIA A100", 80, 108, ""},
    {"NVIDIA A100", 80, 98, ""},   {"NVIDIA L4", 89, 58, ""},         {"NVIDIA T4", 75, 40, ""},
    {"NVIDIA B200", 100, 148, ""},
};
enum { TUNED_DEVICES = 5, DEVICES = sizeof devices / sizeof *devices };

static uint64_t random_state = 20261121;

/* xorshift64*, Vigna, "An experimental exploration of Marsaglia's xorshift generators". */
static inline size_t draw(size_t below)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (size_t)((random_state * 2685821657736338717u) >> 33) % below;
}

static inline int64_t draw_size(void)
{
    static const int64_t sizes[] = {1,    2,    7,    64,      100,     101,        512,       1000,
                                    1024, 2047, 4096, 1 << 20, 2097121, 2147483647, 3000000000};
    return draw(4) == 0 ? (int64_t)(1 + draw(5000)) : sizes[draw(sizeof sizes / sizeof *sizes)];
}

static inline void draw_problem(struct hn_text *text)
{
    static const char *const ks[] = {"64", "64", "128", "130", "1024", "16"};
    static const char *const offsets[] = {"0", "-5", "5", "-2000", "0"};
    static const char *const skews[] = {"0.0", "0.5", "1.5", "-0.25"};
    /* Compilers evaluate arguments in orders of their own. */
    const char *skew = skews[draw(4)], *offset = offsets[draw(5)];
    long long n = draw_size(), m = draw_size();
    const char *layout = draw(3) == 0 ? "column" : "row";
    hn_text_printf(text, "K=%s,LAYOUT=%s,M=%lld,N=%lld,OFFSET=%s,SKEW=%s", ks[draw(6)], layout, m, n, offset, skew);
}

static inline void draw_point(struct hn_text *text)
{
    int tile = 8 << draw(4);
    size_t stages = 1 + draw(4);
    int split = (const int[]){1, 2, 8}[draw(3)];
    const char *mode = draw(2) == 0 ? "plain" : "wide";
    hn_text_printf(text, "CLUSTER=%zu,MODE=%s,SPLIT=%d,STAGES=%zu,TILE=%d", 1 + draw(2), mode, split, stages, tile);
}

/* Whether the plan and the architecture take the point: what a library asks. */
struct judge {
    const struct hn_plan *plan;
    const struct hn_bindings *problem;
    struct hn_device device;
    bool as_compiled;
};

static inline bool accepts(const struct judge *judge, const struct hn_bindings *point)
{
    struct hn_launch launch;
    struct hn_record record = {0};
    if (!hn_plan_allows(judge->plan, judge->problem, point, NULL) ||
        hn_launch_make(judge->plan, judge->problem, point, &launch, NULL) != HN_OK)
        return false;
    bool fits = hn_launch_check(&launch, &judge->device, &record);
    hn_record_finish(&record);
    hn_launch_finish(&launch);
    return fits;
}

static inline void judge_on(struct judge *judge, const struct hn_device_identity *device)
{
    char name[16];
    snprintf(name, sizeof name, "sm_%d", device->capability);
    assert_ok(hn_device_for_architecture(name, &judge->device, NULL));
}

static inline int64_t begin_result(struct hn_store *store, const struct hn_device_identity *device,
                                   const struct hn_bindings *problem, const char *plan_text)
{
    struct hn_text_file file = {"select.cu", "// nothing\n"};
    json_auto_t *json = json_loads(plan_text, 0, NULL);
    const struct hn_stored_plan plan = {json, &file, 1};
    const struct hn_identity identity = {.kernel = (char *)"choose",
                                         .signature = (char *)"A:float32:inout",
                                         .problem = *problem,
                                         .regime = (char *)(draw(4) == 0 ? "warm" : "cold"),
                                         .objective = (char *)"time",
                                         .device = *device};
    const struct hn_store_session session = {.identity = &identity,
                                             .version = &version_1,
                                             .plan = &plan,
                                             .simulated = draw(4) == 0,
                                             .started = 1770000000};
    int64_t id = 0;
    assert_ok(hn_store_begin(store, &session, NULL, &id, &said));
    return id;
}

static inline void put_result(struct hn_store *store, int64_t session, struct hn_bindings *point,
                              double time_us)
{
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    hn_bindings_finish(&record.point);
    record.point = *point;
    record.timing.median_us = record.timing.low_us = record.timing.high_us = time_us;
    record.objective = time_us;
    record.verdict = (struct hn_verdict){HN_VERIFIED, 1e-6, 1e-5, 1, 2, 0, 0, 0, 0, 0};
    record.time = 1770000000 + time_us;
    assert_ok(hn_store_put(store, session, &record, &said));
}

/* Puts a drawn point for that problem where it can be used; false where it cannot. */
static inline bool put_point(struct hn_store *store, struct judge *judge,
                             const struct hn_device_identity *device, const char *problem,
                             const char *plan, int number)
{
    struct hn_text point ENDED_BY(hn_text_finish) = {0};
    struct hn_bindings problem_values, point_values;
    draw_point(&point);
    parse_bindings(problem, &problem_values);
    parse_bindings(point.data, &point_values);
    judge->problem = &problem_values;
    judge_on(judge, device);
    bool accepted = accepts(judge, &point_values);
    if (accepted)
        put_result(store, begin_result(store, device, &problem_values, plan), &point_values,
                   1 + number);
    else
        hn_bindings_finish(&point_values);
    hn_bindings_finish(&problem_values);
    return accepted;
}

/* Some problems are there several times: measured and simulated, cold and warm, on two devices. */
static inline void fill(const char *path, struct judge *judge)
{
    struct hn_store *store = open_store(path, HN_STORE_WRITE);
    json_auto_t *json = hn_plan_to_json(judge->plan);
    char *plan FREED = json_dumps(json, JSON_SORT_KEYS);
    for (int i = 0; i < RESULTS;) {
        struct hn_text problem ENDED_BY(hn_text_finish) = {0};
        const struct hn_device_identity *device = &devices[draw(TUNED_DEVICES)];
        draw_problem(&problem);
        for (size_t times = 1 + draw(3); times > 0; times--) {
            i += put_point(store, judge, device, problem.data, plan, i);
            device = draw(2) == 0 ? device : &devices[draw(TUNED_DEVICES)];
        }
    }
    commit(store);
    drop(store);
}

static inline void write_file(const char *name,
                              const struct hn_text *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", cache.folder, name);
    assert_ok(hn_file_write(path, text->data, text->length, NULL));
}

static inline void shell(const char *command)
{
    char line[512];
    snprintf(line, sizeof line, "cd %s && %s", cache.folder, command);
    if (system(line) != 0)
        fail_msg("failed: %s", command);
}

#endif
