/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "runtime/template.h"
#include "tests/unit/plan_fixture.h"
#include "tests/unit/store_fixture.h"
#include "tuner/export/export.h"

/* Headers are generated from a cache that the test fills, and compiled and run as a user would. */

static const char matmul_point[] =
    "ASYNC_BYTES=16,CORNER_TURN=0,LOAD=plain,MAX_REGISTERS=0,PAD=4,SYNC=block,"
    "TILE_WIDTH=32,UNROLL=8,VARIANT=tile_ab";
static const char small_point[] =
    "ASYNC_BYTES=0,CORNER_TURN=0,LOAD=ldg,MAX_REGISTERS=0,PAD=0,SYNC=warp,"
    "TILE_WIDTH=16,UNROLL=4,VARIANT=tile_a";
static const char registers_point[] =
    "ASYNC_BYTES=0,CORNER_TURN=0,LOAD=restrict,MAX_REGISTERS=32,PAD=1,SYNC=block,"
    "TILE_WIDTH=32,UNROLL=2,VARIANT=tile_ab";

static const struct hn_device_identity h200 = {"NVIDIA H200", 90, 132, ""};
static const struct hn_device_identity h100 = {"NVIDIA H100", 90, 114, ""};
static const struct hn_device_identity odd = {"ODD \"GPU\"?\?/ */ \\", 80, 108, ""};

/* One tuned result to put into the cache. */
struct result {
    const char *kernel;
    const struct hn_device_identity *device;
    const char *problem;
    const char *point;
    double time_us;
    bool simulated;
    const char *regime;
};

static char *plan_text(const char *kernel, const char *template_path)
{
    char name[64];
    snprintf(name, sizeof name, "%s.json", kernel);
    struct hn_plan *plan = load_plan(name);
    free(plan->template_path);
    plan->template_path = strdup(template_path);
    json_t *json = hn_plan_to_json(plan);
    char *text = json_dumps(json, JSON_SORT_KEYS);
    json_decref(json);
    hn_plan_destroy(plan);
    assert_non_null(text);
    return text;
}

static int64_t begin_result(struct hn_store *store, const struct result *result)
{
    char path[512];
    struct hn_template template;
    struct hn_error err = {""};
    snprintf(path, sizeof path, "%s/%s.cu",
             strcmp(result->kernel, "matmul") == 0 ? HONE_SOURCE_DIR "/templates"
                                                   : HONE_TEST_DATA "/templates",
             result->kernel);
    if (hn_template_load(path, &template, &err) != HN_OK)
        fail_msg("%s", err.message);
    struct hn_store_file files[8] = {{template.path, template.text}};
    assert_true(template.include_count < 8);
    for (size_t i = 0; i < template.include_count; i++)
        files[i + 1] = (struct hn_store_file){template.includes[i].name, template.includes[i].text};
    char *text = plan_text(result->kernel, template.path);
    const struct hn_store_plan plan = {text, files, template.include_count + 1};

    struct hn_identity identity = {.device = *result->device};
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
    if (hn_store_begin(store, &session, &id, &err) != HN_OK)
        fail_msg("%s", err.message);
    hn_identity_finish(&identity);
    hn_template_finish(&template);
    free(text);
    return id;
}

static void put_result(struct hn_store *store, const struct result *result)
{
    int64_t session = begin_result(store, result);
    struct hn_record record;
    struct hn_value gflops = hn_real(2e12 / result->time_us);
    hn_record_init(&record);
    hn_bindings_finish(&record.point);
    parse_bindings(result->point, &record.point);
    assert_int_equal(hn_bindings_set(&record.metrics, "gflops", &gflops, NULL), HN_OK);
    record.timing.median_us = result->time_us;
    record.timing.low_us = result->time_us * 0.999;
    record.timing.high_us = result->time_us * 1.001;
    record.objective = result->time_us;
    record.verdict = (struct hn_verdict){HN_VERIFIED, 1e-6, 1e-5, 1, 2};
    record.time = 1770000000; /* 2026-02-02 */
    struct hn_error err = {""};
    if (hn_store_put(store, session, &record, &err) != HN_OK)
        fail_msg("%s", err.message);
    hn_record_finish(&record);
}

static void fill(const char *path, const struct result *results, size_t count)
{
    struct hn_store *store = open_store(path, HN_STORE_WRITE);
    for (size_t i = 0; i < count; i++)
        put_result(store, &results[i]);
    commit(store);
    hn_store_close(store);
}

static const struct result matmuls[] = {
    {"matmul", &h200, "B_LAYOUT=row,K=4096,M=4096,N=4096", matmul_point, 2683.5, false, NULL},
    {"matmul", &h200, "B_LAYOUT=row,K=32,M=4096,N=4096", small_point, 60.25, false, NULL},
    {"matmul", &h200, "B_LAYOUT=row,K=32,M=4096,N=4096", registers_point, 9.25, true, NULL},
    {"matmul", &h200, "B_LAYOUT=row,K=32,M=4096,N=4096", registers_point, 9.25, false, "warm"},
    {"matmul", &h100, "B_LAYOUT=row,K=4096,M=1024,N=1024", registers_point, 70.5, false, NULL},
    {"matmul", &odd, "B_LAYOUT=column,K=4096,M=64,N=64", small_point, 5.5, true, NULL},
};

static enum hn_status open_export(const char *path, const char *kernel, const char *device,
                                  const char *problem, struct hn_export *export,
                                  struct hn_error *err)
{
    struct hn_bindings wanted;
    parse_bindings(problem, &wanted);
    struct hn_store *store = open_store(path, HN_STORE_READ);
    const struct hn_export_request request = {
        .kernel = kernel, .device_name = device, .problem = &wanted};
    enum hn_status status = hn_export_open(store, &request, export, err);
    hn_store_close(store);
    hn_bindings_finish(&wanted);
    return status;
}

/* One format of a kernel as text. */
static char *
export_as(const char *path, const char *kernel, const char *device, const char *problem,
          enum hn_status (*format)(const struct hn_export *, struct hn_text *, struct hn_error *))
{
    struct hn_export export;
    struct hn_error err = {""};
    struct hn_text text = {0};
    if (open_export(path, kernel, device, problem, &export, &err) != HN_OK ||
        format(&export, &text, &err) != HN_OK)
        fail_msg("%s", err.message);
    hn_export_finish(&export);
    return hn_text_take(&text);
}

static void write_file(const struct fixture *fixture, const char *name, const char *text)
{
    char path[160];
    struct hn_error err = {""};
    snprintf(path, sizeof path, "%s/%s", fixture->folder, name);
    if (hn_text_write_file(path, text, strlen(text), &err) != HN_OK)
        fail_msg("%s", err.message);
}

/* Runs a command in the fixture's folder. */
static void shell(const struct fixture *fixture, const char *command)
{
    struct hn_text line = {0};
    hn_text_printf(&line, "cd %s && %s", fixture->folder, command);
    if (system(line.data) != 0)
        fail_msg("failed: %s", command);
    hn_text_finish(&line);
}

#define WARNINGS "-Wall -Wextra -Wpedantic -Wconversion -Werror"

static void compile_and_run(const struct fixture *fixture, const char *program)
{
    write_file(fixture, "program.c", program);
    shell(fixture, HONE_C_COMPILER " -std=c11 " WARNINGS " program.c -o c && ./c");
    shell(fixture, "cp program.c program.cpp && " HONE_CXX " -std=c++17 " WARNINGS
                   " program.cpp -o cpp && ./cpp");
}

static void test_header_of_several(void **state)
{
    const struct fixture *fixture = *state;
    fill(fixture->path, matmuls, sizeof matmuls / sizeof matmuls[0]);
    char *header = export_as(fixture->path, "matmul", "H200", "K=4096", hn_export_header);
    assert_null(strstr(header, "SIMULATED: from"));
    free(header);
    header = export_as(fixture->path, "matmul", "H200", "", hn_export_header);
    assert_non_null(strstr(header, "NVIDIA H200, compute capability 9.0, 132 SMs"));
    assert_non_null(strstr(header, "measured 2026-02-02"));
    write_file(fixture, "matmul_tuned.h", header);
    free(header);
    compile_and_run(
        fixture,
        "#include <assert.h>\n"
        "#undef NDEBUG\n"
        "#include <string.h>\n"
        "#define HONE_MATMUL_CONFIG 1\n"
        "#include \"matmul_tuned.h\"\n"
        "#include \"matmul_tuned.h\"\n"
        "#ifdef TILE_WIDTH\n#error applied without being asked\n#endif\n"
        "#define HONE_MATMUL_APPLY\n"
        "#include \"matmul_tuned.h\"\n"
        "#if VARIANT != VARIANT_tile_ab || LOAD != LOAD_plain || TILE_WIDTH != 32 || K != "
        "4096\n#error values\n#endif\n"
        "static int hone_k(void) { return K; }\n"
        "#define HONE_MATMUL_UNAPPLY\n"
        "#include \"matmul_tuned.h\"\n"
        "#if defined K || defined LOAD_ldg || defined TILE_WIDTH\n#error still applied\n#endif\n"
        "#define COUNT(config, ...) + 1\n"
        "#define TILES(config, variant, tile, ...) + tile\n"
        "int main(void)\n{\n"
        "    int row = HONE_MATMUL_B_LAYOUT_row, column = HONE_MATMUL_B_LAYOUT_column;\n"
        "    struct hone_dim3 grid = hone_matmul_grid(4096, 1000, 4096, row);\n"
        "    struct hone_dim3 block = hone_matmul_block(4096, 1000, 4096, row);\n"
        "    assert(grid.x == 32 && grid.y == 128 && grid.z == 1);\n"
        "    assert(block.x == 32 && block.y == 32 && block.z == 1);\n"
        "    assert(hone_matmul_shared_bytes(4096, 1000, 4096, row) == 0);\n"
        "    grid = hone_matmul_config_grid(0, 4096, 1000, 32, row);\n"
        "    assert(grid.x == 63 && grid.y == 256);\n"
        "    assert(HONE_MATMUL_CONFIG_COUNT == 4 && 0 HONE_MATMUL_CONFIGS(COUNT) == 4);\n"
        "    assert(0 HONE_MATMUL_CONFIGS(TILES) == 16 + 32 + 32 + 16);\n"
        "    assert(strcmp(HONE_MATMUL_TUNED_DEVICE, \"NVIDIA H200\") == 0 && hone_k() == 4096);\n"
        "    assert(HONE_MATMUL_TUNED_TIME_US > 2683 && HONE_MATMUL_TUNED_M == 4096);\n"
        /* exact; the same device, nearest problem; the same capability; any device; a name that is
           not known */
        "    assert(hone_matmul_select(\"NVIDIA H200\", 90, 132, 4096, 4096, 4096, row) == 1);\n"
        "    assert(hone_matmul_select(\"NVIDIA H200\", 90, 132, 4096, 4096, 32, row) == 0);\n"
        "    assert(hone_matmul_select(\"NVIDIA H200\", 90, 132, 5000, 300, 4096, row) == 1);\n"
        "    assert(hone_matmul_select(\"NVIDIA H200\", 90, 132, 512, 300, 4096, row) == 1);\n"
        "    assert(hone_matmul_select(\"NVIDIA H800\", 90, 132, 900, 900, 4096, row) == 2);\n"
        "    assert(hone_matmul_select(\"NVIDIA H800\", 90, 132, 9000, 9000, 4096, row) == 1);\n"
        "    assert(hone_matmul_select(NULL, 90, 114, 9000, 9000, 4096, row) == 2);\n"
        "    assert(hone_matmul_select(NULL, 75, 40, 4096, 4096, 40, row) == -1);\n"
        "    assert(hone_matmul_nearest(NULL, 75, 40, 4096, 4096, 40, row) == 0);\n"
        "    assert(hone_matmul_lookup(NULL, 90, 132, 1, 4096, 4096, 4096, row).grade == 4);\n"
        "    assert(hone_matmul_lookup(NULL, 90, 132, 1, 4096, 4000, 4096, row).grade == 3);\n"
        "    assert(hone_matmul_lookup(NULL, 90, 99, 1, 4096, 4096, 4096, row).grade == 2);\n"
        "    assert(hone_matmul_select(NULL, 90, 132, 4096, 4096, 4096, column) == 3);\n"
        "    assert(hone_matmul_fits(1, 1, 2, 4096, row) && !hone_matmul_fits(1, 1, 2, 32, row));\n"
        "    assert(!hone_matmul_fits(7, 1, 2, 4096, row));\n"
        "    return 0;\n}\n");
}

/* Two steps, booleans, reals, a metric argument, dynamic shared memory. */
static void test_header_of_steps(void **state)
{
    static const struct result result = {
        "tiled",
        &odd,
        "K=64,LAYOUT=column,M=128,N=100",
        "FAST=true,MAX_REGISTERS=32,PAD=1,SCALE=-1.5,TILE=16,VARIANT=tile",
        7.5,
        true,
        NULL};
    const struct fixture *fixture = *state;
    fill(fixture->path, &result, 1);
    char *header = export_as(fixture->path, "tiled", NULL, "", hn_export_header);
    assert_non_null(strstr(header, "SIMULATED: from"));
    assert_non_null(strstr(header, "--maxrregcount=32"));
    assert_non_null(strstr(header,
                           "     table: the contents of A\n"
                           " *     turns: uint32_t, 4 * N elements, again before every launch\n"
                           " *     scale: float, SCALE (where VARIANT == tile_ab)\n"));
    assert_non_null(strstr(header, "     A: M * K elements of float (input)\n"));
    assert_non_null(strstr(header, "     M: int32_t, M\n"));
    assert_non_null(strstr(header, "     by_value: the contents of A by value\n"));
    /* What <<<>>> can not say is written out. */
    assert_non_null(strstr(header, "cudaFuncAttributePreferredSharedMemoryCarveout,\n"
                                   " *         hone_tiled_step2_carveout(M, N, K, LAYOUT));"));
    assert_non_null(strstr(header, "cluster = hone_tiled_step2_cluster(M, N, K, LAYOUT);"));
    assert_non_null(strstr(header, "cudaLaunchKernelEx(&config, finish, C, M);"));
    assert_null(strstr(header, "hone_tiled_step1_cluster"));
    assert_null(strstr(header, "hone_tiled_step1_window"));
    assert_non_null(strstr(header, "cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, "
                                   "hone_tiled_step2_set_aside_bytes(M, N, K, LAYOUT)); // once"));
    assert_non_null(strstr(header, "val.accessPolicyWindow = {C, "
                                   "hone_tiled_step2_window_bytes(M, N, K, LAYOUT),"));
    assert_non_null(
        strstr(header, "if (hone_tiled_step3_runs(M, N, K, LAYOUT)) {\n *     clear<TILE><<<"));
    assert_null(strstr(header, "hone_tiled_step1_runs"));
    write_file(fixture, "tiled_tuned.h", header);
    free(header);
    compile_and_run(fixture,
                    "#include <assert.h>\n"
                    "#define HONE_TILED_APPLY\n"
                    "#include \"tiled_tuned.h\"\n"
                    "#if FAST != 1 || VARIANT != 2\n#error values\n#endif\n"
                    "int main(void)\n{\n"
                    "    assert(hone_tiled_step1_grid(128, 100, 64, 2).x == 7);\n"
                    "    assert(hone_tiled_step2_grid(128, 100, 64, 2).x == 4);\n"
                    "    assert(hone_tiled_step2_block(128, 100, 64, 2).x == 32);\n"
                    "    assert(hone_tiled_step1_shared_bytes(128, 100, 64, 2) == 16 * 17 * 4);\n"
                    "    assert(hone_tiled_step2_cluster(128, 100, 64, 2).x == 2);\n"
                    "    assert(hone_tiled_step2_carveout(128, 100, 64, 2) == 75);\n"
                    "    assert(hone_tiled_step2_cooperative(128, 100, 64, 2) == 1);\n"
                    "    assert(hone_tiled_step2_window_bytes(128, 100, 64, 2) == 51200);\n"
                    "    assert(hone_tiled_step2_window_hit_ratio(128, 100, 64, 2) == 0.75);\n"
                    "    assert(hone_tiled_step2_window_hit(128, 100, 64, 2) == 2);\n"
                    "    assert(hone_tiled_step2_window_miss(128, 100, 64, 2) == 0);\n"
                    "    assert(hone_tiled_step2_set_aside_bytes(128, 100, 64, 2) == 256);\n"
                    "    assert(!hone_tiled_step3_runs(1000, 100, 64, 2));\n"
                    "    assert(hone_tiled_step3_runs(1001, 100, 64, 2) == 1);\n"
                    "    assert(SCALE < -1.4 && SCALE > -1.6);\n"
                    "    assert(HONE_TILED_TUNED_DEVICE[4] == '\"');\n"
                    "    assert(hone_tiled_select(0, 0, 0, 128, 100, 64, 2) == 0);\n"
                    "    assert(hone_tiled_select(0, 0, 0, 128, 100, 64, 1) == -1);\n"
                    "    assert(hone_tiled_nearest(0, 0, 0, 128, 100, 64, 1) == 0);\n"
                    "    return 0;\n}\n");
}

/* The pitch of rows is a function of the header, which its other functions call. */
static void test_header_of_rows(void **state)
{
    static const struct result results[] = {
        {"rows", &h200, "HEIGHT=64,WIDTH=100", "PAD=28", 7.5, false, NULL},
        {"rows", &h200, "HEIGHT=64,WIDTH=500", "PAD=12", 9.5, false, NULL},
    };
    const struct fixture *fixture = *state;
    fill(fixture->path, results, 2);
    char *header = export_as(fixture->path, "rows", NULL, "", hn_export_header);
    assert_non_null(strstr(header, "     in: HEIGHT rows of WIDTH elements of float, "
                                   "hone_rows_in_pitch() bytes apart (input)\n"));
    assert_non_null(strstr(header, "     plane: a cudaTextureObject_t over in, of "
                                   "cudaResourceTypePitch2D, address modes clamp, border, filter "
                                   "linear, unnormalized coordinates, read as element\n"));
    write_file(fixture, "rows_tuned.h", header);
    free(header);
    compile_and_run(fixture, "#include <assert.h>\n"
                             "#include \"rows_tuned.h\"\n"
                             "int main(void)\n{\n"
                             "    assert(hone_rows_in_pitch(128, 64) == 512);\n"
                             "    assert(hone_rows_in_pitch(129, 64) == 1024);\n"
                             "    assert(hone_rows_out_pitch(129, 64) == 8 * 129);\n"
                             "    assert(hone_rows_config_work_pitch(0, 10, 64) == 38);\n"
                             "    assert(hone_rows_config_work_pitch(1, 10, 64) == 22);\n"
                             "    assert(hone_rows_config_shared_bytes(1, 10, 64) == 512 + 22);\n"
                             "    return 0;\n}\n");
}

static void test_prefix(void **state)
{
    (void)state;
    char *name = hn_export_identifier("2d-conv", NULL, true);
    assert_string_equal(name, "HONE_2D_CONV");
    free(name);
    name = hn_export_identifier("matmul", "My_mm", false);
    assert_string_equal(name, "my_mm");
    free(name);
}

static void test_json(void **state)
{
    const struct fixture *fixture = *state;
    fill(fixture->path, matmuls, sizeof matmuls / sizeof matmuls[0]);
    char *text = export_as(fixture->path, "matmul", "H100", "", hn_export_json);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    const char *device, *load, *verification;
    json_int_t m;
    double median;
    int simulated;
    assert_int_equal(json_array_size(json_object_get(json, "configurations")), 4);
    const json_t *first = json_array_get(json_object_get(json, "configurations"), 0);
    assert_int_equal(json_unpack((json_t *)first, "{s:{s:s}, s:{s:I}, s:{s:s}, s:{s:f}, s:s, s:b}",
                                 "device", "name", &device, "problem", "M", &m, "parameters",
                                 "LOAD", &load, "time_us", "median", &median, "verification",
                                 &verification, "simulated", &simulated),
                     0);
    assert_string_equal(device, "NVIDIA H100");
    assert_string_equal(load, "restrict");
    assert_string_equal(verification, "verified");
    assert_int_equal(m, 1024);
    assert_true(median == 70.5);
    assert_false(simulated);
    json_decref(json);
    free(text);
}

static void test_csv(void **state)
{
    const struct fixture *fixture = *state;
    fill(fixture->path, matmuls, sizeof matmuls / sizeof matmuls[0]);
    char *text = export_as(fixture->path, "matmul", "ODD", "", hn_export_csv);
    const char *expected =
        "kernel,device,capability,sm_count,regime,objective,B_LAYOUT,K,M,N,ASYNC_BYTES,CORNER_TURN,"
        "LOAD,MAX_REGISTERS,"
        "PAD,SYNC,TILE_WIDTH,UNROLL,VARIANT,time_us,low_us,high_us,gflops,verification,simulated,"
        "date\n"
        "matmul,\"ODD \"\"GPU\"\"?\?/ */ "
        "\\\",80,108,cold,time,column,4096,64,64,0,0,ldg,0,0,warp,16,4,tile_a,5.5,";
    assert_memory_equal(text, expected, strlen(expected));
    size_t lines = 0;
    for (const char *c = text; *c != '\0'; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 5);
    free(text);
}

static void assert_fails(const char *path, const char *kernel, const char *device,
                         const char *problem, enum hn_status expected, const char *message)
{
    struct hn_export export;
    struct hn_error err = {""};
    assert_int_equal(open_export(path, kernel, device, problem, &export, &err), expected);
    hn_export_finish(&export);
    assert_string_equal(err.message, message);
}

static void test_errors(void **state)
{
    const struct fixture *fixture = *state;
    hn_store_close(open_store(fixture->path, HN_STORE_WRITE));
    assert_fails(
        fixture->path, "matmul", NULL, "", HN_ENOTFOUND,
        "nothing tuned is cached for 'matmul': the cache is empty; run 'hone tune CONFIG' first");
    fill(fixture->path, matmuls, sizeof matmuls / sizeof matmuls[0]);
    assert_fails(fixture->path, "matmull", NULL, "", HN_ENOTFOUND,
                 "nothing tuned is cached for 'matmull'; the cache holds matmul");
    assert_fails(fixture->path, "matmul", NULL, "K=4096", HN_EUSAGE,
                 "'matmul' was tuned on 3 devices: NVIDIA H100, NVIDIA H200, ODD \"GPU\"?\?/ */ "
                 "\\; choose one with "
                 "--device-name");
    assert_fails(
        fixture->path, "matmul", "A100", "K=32", HN_ENOTFOUND,
        "'matmul' was not tuned on 'A100', or that names several; cached are: NVIDIA H200");
    struct hn_export export;
    struct hn_error err = {""};
    assert_int_equal(open_export(fixture->path, "matmul", NULL, "K=7", &export, &err),
                     HN_ENOTFOUND);
    hn_export_finish(&export);
    assert_non_null(strstr(
        err.message, "'matmul' was not tuned for that problem; cached are: B_LAYOUT=row,K=4096,"));
}

/* A parameter may not take a name that the header needs. */
static void test_reserved_name(void **state)
{
    const struct fixture *fixture = *state;
    fill(fixture->path, matmuls, 1);
    struct hn_export export;
    struct hn_text text = {0};
    struct hn_error err = {""};
    assert_int_equal(open_export(fixture->path, "matmul", NULL, "", &export, &err), HN_OK);
    struct hn_value value = hn_integer(1);
    assert_int_equal(hn_bindings_set((struct hn_bindings *)&export.configs[0]->best.point, "CONFIG",
                                     &value, NULL),
                     HN_OK);
    free(export.plan->parameters[0]);
    export.plan->parameters[0] = strdup("CONFIG");
    assert_int_equal(hn_export_header(&export, &text, &err), HN_ECONFIG);
    assert_non_null(strstr(
        err.message, "the name 'CONFIG' can not be exported: HONE_MATMUL_CONFIG has a meaning"));
    hn_text_finish(&text);
    hn_export_finish(&export);
}

static void test_nvcc(void **state)
{
    const struct fixture *fixture = *state;
    if (strstr(HONE_NVCC, "NOTFOUND") != NULL) {
        print_message("no nvcc: the example is not compiled\n");
        skip();
    }
    fill(fixture->path, matmuls, 2);
    char *header = export_as(fixture->path, "matmul", NULL, "", hn_export_header);
    write_file(fixture, "matmul_tuned.h", header);
    free(header);
    shell(fixture,
          HONE_NVCC " -std=c++17 -arch=sm_90 -Werror all-warnings -Xcompiler -Wall,-Wextra -I. "
                    "-I" HONE_SOURCE_DIR "/templates -c -o example.o " HONE_SOURCE_DIR
                    "/examples/matmul/main.cu");
    char *source = export_as(fixture->path, "matmul", NULL, "", hn_export_source);
    assert_null(strstr(source, "#include \"async_copy.cuh\""));
    write_file(fixture, "matmul_source.cu", source);
    free(source);
    shell(fixture, HONE_NVCC
          " -std=c++17 -arch=sm_90 -Werror all-warnings -cubin -o source.cubin matmul_source.cu");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_header_of_several),
        TEST(test_header_of_steps),
        TEST(test_header_of_rows),
        cmocka_unit_test(test_prefix),
        TEST(test_json),
        TEST(test_csv),
        TEST(test_errors),
        TEST(test_reserved_name),
        TEST(test_nvcc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
