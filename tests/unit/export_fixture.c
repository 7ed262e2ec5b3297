/* SPDX-License-Identifier: MIT */
#include "tests/unit/export_fixture.h"

#include "runtime/compile/template.h"
#include "tests/unit/plan_fixture.h"

static const char matmul_point[] =
    "ASYNC_BYTES=16,CORNER_TURN=0,LOAD=plain,MAX_REGISTERS=0,PAD=4,SYNC=block,"
    "TILE_WIDTH=32,UNROLL=8,VARIANT=tile_ab";
static const char small_point[] =
    "ASYNC_BYTES=0,CORNER_TURN=0,LOAD=ldg,MAX_REGISTERS=0,PAD=0,SYNC=warp,"
    "TILE_WIDTH=16,UNROLL=4,VARIANT=tile_a";
static const char registers_point[] =
    "ASYNC_BYTES=0,CORNER_TURN=0,LOAD=restrict,MAX_REGISTERS=32,PAD=1,SYNC=block,"
    "TILE_WIDTH=32,UNROLL=2,VARIANT=tile_ab";

const struct hn_device_identity h200 = {"NVIDIA H200", 90, 132, ""};
const struct hn_device_identity h100 = {"NVIDIA H100", 90, 114, ""};
const struct hn_device_identity odd = {"ODD \"GPU\"?\?/ */ \\", 80, 108, ""};

const struct result matmuls[MATMULS] = {
    {"matmul", &h200, "B_LAYOUT=row,K=4096,M=4096,N=4096", matmul_point, 2683.5, false, NULL},
    {"matmul", &h200, "B_LAYOUT=row,K=32,M=4096,N=4096", small_point, 60.25, false, NULL},
    {"matmul", &h200, "B_LAYOUT=row,K=32,M=4096,N=4096", registers_point, 9.25, true, NULL},
    {"matmul", &h200, "B_LAYOUT=row,K=32,M=4096,N=4096", registers_point, 9.25, false, "warm"},
    {"matmul", &h100, "B_LAYOUT=row,K=4096,M=1024,N=1024", registers_point, 70.5, false, NULL},
    {"matmul", &odd, "B_LAYOUT=column,K=4096,M=64,N=64", small_point, 5.5, true, NULL},
};

static json_t *plan_json(const char *kernel, const char *template_path)
{
    char name[64];
    snprintf(name, sizeof name, "%s.json", kernel);
    struct hn_plan *plan = load_plan(name);
    free(plan->template_path);
    plan->template_path = strdup(template_path);
    json_t *json = hn_plan_to_json(plan);
    assert_non_null(json);
    return json;
}

static int64_t begin_result(struct hn_store *store, const struct result *result)
{
    char path[512];
    struct hn_template template ENDED_BY(hn_template_finish);
    snprintf(path, sizeof path, "%s/%s.cu",
             strcmp(result->kernel, "matmul") == 0 ? HONE_SOURCE_DIR "/templates"
                                                   : HONE_TEST_DATA "/templates",
             result->kernel);
    assert_ok(hn_template_load(path, &template, NULL, &said));
    json_auto_t *json = plan_json(result->kernel, template.files->name);
    const struct hn_stored_plan plan = {json, template.files, template.file_count};

    struct hn_identity identity ENDED_BY(hn_identity_finish) = {.device = *result->device};
    identity.kernel = strdup(result->kernel);
    identity.signature = strdup("A:float32:input");
    identity.regime = strdup(result->regime == NULL ? "cold" : result->regime);
    identity.objective = strdup("time");
    parse_bindings(result->problem, &identity.problem);
    struct hn_version version = {
        .driver = "580.1", .nvrtc = "13.0", .protocol = HN_MEASURING_PROTOCOL};
    snprintf(version.template_hash, sizeof version.template_hash, "%s", template.hash.hex);
    snprintf(version.plan_hash, sizeof version.plan_hash, "%s", hn_hash_string(result->kernel).hex);
    const struct hn_store_session session = {.identity = &identity,
                                             .version = &version,
                                             .plan = &plan,
                                             .simulated = result->simulated,
                                             .started = 1770000000};
    int64_t id = 0;
    assert_ok(hn_store_begin(store, &session, NULL, &id, &said));
    return id;
}

static void put_result(struct hn_store *store, const struct result *result)
{
    int64_t session = begin_result(store, result);
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    struct hn_value gflops = hn_real(2e12 / result->time_us);
    hn_bindings_finish(&record.point);
    parse_bindings(result->point, &record.point);
    assert_ok(hn_bindings_set(&record.metrics, "gflops", &gflops, NULL));
    record.timing.median_us = result->time_us;
    record.timing.low_us = result->time_us * 0.999;
    record.timing.high_us = result->time_us * 1.001;
    record.objective = result->time_us;
    record.verdict = (struct hn_verdict){HN_VERIFIED, 1e-6, 1e-5, 1, 2, 0, 0, 0, 0, 0};
    record.time = 1770000000; /* 2026-02-02 */
    assert_ok(hn_store_put(store, session, &record, &said));
}

void fill_cache(const char *path, const struct result *results, size_t count)
{
    struct hn_store *store = open_store(path, HN_STORE_WRITE);
    for (size_t i = 0; i < count; i++)
        put_result(store, &results[i]);
    commit(store);
    drop(store);
}

enum hn_status open_export(const char *path, const char *kernel, const char *device,
                           const char *problem, struct hn_export *export, struct hn_error *err)
{
    struct hn_bindings wanted ENDED_BY(hn_bindings_finish);
    parse_bindings(problem, &wanted);
    struct hn_store *store = open_store(path, HN_STORE_READ);
    const struct hn_export_request request = {
        .kernel = kernel, .device_name = device, .problem = &wanted};
    enum hn_status status = hn_export_open(store, &request, export, err);
    drop(store);
    return status;
}

char *export_as(const char *path, const char *kernel, const char *device, const char *problem,
                enum hn_export_kind kind)
{
    struct hn_export export ENDED_BY(hn_export_finish);
    struct hn_text text = {0};
    if (open_export(path, kernel, device, problem, &export, &said) != HN_OK ||
        hn_export_formats[kind]->write(&export, &text, &said) != HN_OK)
        fail_msg("%s", said.message);
    return hn_text_take(&text);
}
