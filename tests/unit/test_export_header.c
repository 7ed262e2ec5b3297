/* SPDX-License-Identifier: MIT */
#include "tests/unit/export_fixture.h"

/* Headers are generated from a cache that the test fills, and compiled and run as a user would. */

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

static const char program_of_several[] =
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
    "    return 0;\n}\n";

static void test_header_of_several(void **state)
{
    const struct fixture *fixture = *state;
    fill_cache(fixture->path, matmuls, MATMULS);
    char *header = export_as(fixture->path, "matmul", "H200", "K=4096", hn_export_header);
    assert_null(strstr(header, "SIMULATED: from"));
    free(header);
    header = export_as(fixture->path, "matmul", "H200", "", hn_export_header);
    assert_non_null(strstr(header, "NVIDIA H200, compute capability 9.0, 132 SMs"));
    assert_non_null(strstr(header, "measured 2026-02-02"));
    write_file(fixture, "matmul_tuned.h", header);
    free(header);
    compile_and_run(fixture, program_of_several);
}

static const char program_of_steps[] =
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
    "    return 0;\n}\n";

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
    fill_cache(fixture->path, &result, 1);
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
    compile_and_run(fixture, program_of_steps);
}

/* The pitch of rows is a function of the header, which its other functions call. */
static void test_header_of_rows(void **state)
{
    static const struct result results[] = {
        {"rows", &h200, "HEIGHT=64,WIDTH=100", "PAD=28", 7.5, false, NULL},
        {"rows", &h200, "HEIGHT=64,WIDTH=500", "PAD=12", 9.5, false, NULL},
    };
    const struct fixture *fixture = *state;
    fill_cache(fixture->path, results, 2);
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

/* A parameter may not take a name that the header needs. */
static void test_reserved_name(void **state)
{
    const struct fixture *fixture = *state;
    fill_cache(fixture->path, matmuls, 1);
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
    fill_cache(fixture->path, matmuls, 2);
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
        TEST(test_header_of_several),  TEST(test_header_of_steps), TEST(test_header_of_rows),
        cmocka_unit_test(test_prefix), TEST(test_reserved_name),   TEST(test_nvcc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
