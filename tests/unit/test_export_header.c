/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "tests/unit/export_fixture.h"
#include "tuner/export/export.c"

EACH_TEST(set_up, tear_down)

/* Headers are generated from a cache that the test fills, and compiled and run as a user would. */

static void write_file(const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", cache.folder, name);
    assert_ok(hn_file_write(path, text, strlen(text), &said));
}

/* Runs a command in the fixture's folder. */
static void shell(const char *command)
{
    struct hn_text line ENDED_BY(hn_text_finish) = {0};
    hn_text_printf(&line, "cd %s && %s", cache.folder, command);
    if (system(line.data) != 0)
        fail_msg("failed: %s", command);
}

#define WARNINGS "-Wall -Wextra -Wpedantic -Wconversion -Werror -isystem " HONE_CUDA_INCLUDE

static void compile_and_run(const char *program)
{
    write_file("program.c", program);
    shell(HONE_C_COMPILER " -std=c11 " WARNINGS " program.c -o c && ./c");
    shell("cp program.c program.cpp && " HONE_CXX " -std=c++17 " WARNINGS
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
    "static struct hone_matmul_problem of(int64_t m, int64_t n, int64_t k, int64_t layout)\n{\n"
    "    struct hone_matmul_problem problem = HONE_MATMUL_TUNED_PROBLEM;\n"
    "    problem.M = m;\n    problem.N = n;\n    problem.K = k;\n    problem.B_LAYOUT = layout;\n"
    "    return problem;\n}\n"
    "static int grade(int sms, int64_t n)\n{\n"
    "    return hone_matmul_lookup(NULL, 90, sms, 1, of(4096, n, 4096, "
    "HONE_MATMUL_B_LAYOUT_row)).grade;\n}\n"
    "int main(void)\n{\n"
    "    int row = HONE_MATMUL_B_LAYOUT_row, column = HONE_MATMUL_B_LAYOUT_column;\n"
    "#ifdef __cplusplus\n"
    "    struct hone_matmul_problem tuned = {4096, 4096, 4096, row};\n"
    "#else\n"
    "    struct hone_matmul_problem tuned = {.K = 4096, .N = 4096, .M = 4096, .B_LAYOUT = row};\n"
    "#endif\n"
    "    struct hone_step s = hone_matmul_step(HONE_MATMUL_CONFIG, 0, of(4096, 1000, 4096, row));\n"
    "    assert(tuned.M == 4096 && tuned.K == 4096 && tuned.B_LAYOUT == row);\n"
    "    assert(s.runs && s.grid.x == 32 && s.grid.y == 128 && s.grid.z == 1);\n"
    "    assert(s.block.x == 32 && s.block.y == 32 && s.block.z == 1 && s.shared_bytes == 0);\n"
    "    s = hone_matmul_step(0, 0, of(4096, 1000, 32, row));\n"
    "    assert(s.grid.x == 63 && s.grid.y == 256);\n"
    /* what is out of range is no launch, and not one of what is left of it */
    "    s = hone_matmul_step(0, 0, of(16, INT64_C(16) << 32 | 16, 32, row));\n"
    "    assert(s.runs && s.grid.x == 0 && !hone_launches(s, 90));\n"
    "    s = hone_matmul_step(0, 0, of(16, -16, 32, row));\n"
    "    assert(s.runs && s.grid.x == 0);\n"
    "    assert(!hone_matmul_step(5, 0, tuned).runs && !hone_matmul_step(-1, 0, tuned).runs);\n"
    "    assert(!hone_matmul_step(0, 1, tuned).runs && !hone_matmul_step(0, -1, tuned).runs);\n"
    "    assert(hone_matmul_size(1, of(3, 5, 4096, row)).C_size == 60);\n"
    "    assert(hone_matmul_size(1, of(3, 5, 4096, row)).N_value == 5);\n"
    "    assert(HONE_MATMUL_CONFIG_COUNT == 4 && 0 HONE_MATMUL_CONFIGS(COUNT) == 4);\n"
    "    assert(0 HONE_MATMUL_CONFIGS(TILES) == 16 + 32 + 32 + 16);\n"
    "    assert(strcmp(HONE_MATMUL_TUNED_DEVICE, \"NVIDIA H200\") == 0 && hone_k() == 4096);\n"
    "    assert(HONE_MATMUL_TUNED_TIME_US > 2683 && HONE_MATMUL_TUNED_M == 4096);\n"
    /* exact; the same device, nearest problem; the same capability; any device; a name that is
       not known */
    "    assert(hone_matmul_select(\"NVIDIA H200\", 90, 132, of(4096, 4096, 4096, row)) == 1);\n"
    "    assert(hone_matmul_select(\"NVIDIA H200\", 90, 132, of(4096, 4096, 32, row)) == 0);\n"
    "    assert(hone_matmul_select(\"NVIDIA H200\", 90, 132, of(5000, 300, 4096, row)) == 1);\n"
    "    assert(hone_matmul_select(\"NVIDIA H200\", 90, 132, of(512, 300, 4096, row)) == 1);\n"
    "    assert(hone_matmul_select(\"NVIDIA H800\", 90, 132, of(900, 900, 4096, row)) == 2);\n"
    "    assert(hone_matmul_select(\"NVIDIA H800\", 90, 132, of(9000, 9000, 4096, row)) == 1);\n"
    "    assert(hone_matmul_select(NULL, 90, 114, of(9000, 9000, 4096, row)) == 2);\n"
    "    assert(hone_matmul_select(NULL, 75, 40, of(4096, 4096, 40, row)) == -1);\n"
    "    assert(hone_matmul_nearest(NULL, 75, 40, of(4096, 4096, 40, row)) == 0);\n"
    "    assert(grade(132, 4096) == 4 && grade(132, 4000) == 3 && grade(99, 4096) == 2);\n"
    "    assert(hone_matmul_select(NULL, 90, 132, of(4096, 4096, 4096, column)) == 3);\n"
    "    assert(hone_matmul_fits(1, of(1, 2, 4096, row)) && !hone_matmul_fits(1, of(1, 2, 32, "
    "row)));\n"
    "    assert(!hone_matmul_fits(7, of(1, 2, 4096, row)));\n"
    "    assert(hone_matmul_usable(1, 90, tuned) && !hone_matmul_usable(7, 90, tuned));\n"
    "    return 0;\n}\n";

TEST(test_header_of_several)
{
    fill_cache(cache.path, matmuls, MATMULS);
    char *header = export_as(cache.path, "matmul", "H200", "K=4096", HN_EXPORT_HEADER);
    assert_null(strstr(header, "SIMULATED: from"));
    free(header);
    header = export_as(cache.path, "matmul", "H200", "", HN_EXPORT_HEADER);
    assert_non_null(strstr(header, "NVIDIA H200, compute capability 9.0, 132 SMs"));
    assert_non_null(strstr(header, "measured 2026-02-02"));
    write_file("matmul_tuned.h", header);
    free(header);
    compile_and_run(program_of_several);
}

/* Configuration 0 takes N as an argument; 1 has it as a constant; 2 is the default point. */
static const struct result thawed[] = {
    {"thawed", &h200, "FACTOR=3,N=100,SIDE=left", "BLOCK=128,FROZEN=0", 5.5, false, NULL},
    {"thawed", &h200, "FACTOR=3,N=4096,SIDE=left", "BLOCK=256,FROZEN=1", 9.5, false, NULL},
};

static const char program_of_thawed[] =
    "#include <assert.h>\n"
    "#undef NDEBUG\n"
    "#define HONE_THAWED_CONFIG WANTED\n"
    "#define HONE_THAWED_APPLY\n"
    "#include \"thawed_tuned.h\"\n"
    "#if BLOCK != (FROZEN ? 256 : 128) || FROZEN != WANTED || SIDE != SIDE_left\n#error values\n"
    "#endif\n"
    "#if defined N && (!FROZEN || N != 4096)\n#error N\n#endif\n"
    "#if FROZEN && !defined N\n#error no N\n#endif\n"
    "#define HONE_THAWED_UNAPPLY\n"
    "#include \"thawed_tuned.h\"\n"
    "#if defined N || defined FROZEN\n#error still applied\n#endif\n"
    "int main(void)\n{\n"
    "    int left = HONE_THAWED_SIDE_left, right = HONE_THAWED_SIDE_right;\n"
    "    struct hone_thawed_problem small = {100, left, 3}, large = {4096, left, 3},\n"
    "        near = {4000, left, 3}, other = {100, right, 3}, scaled = {4096, left, 9};\n"
    "    assert(hone_thawed_fits(0, small) && hone_thawed_fits(0, large) && "
    "!hone_thawed_fits(0, other));\n"
    "    assert(!hone_thawed_fits(1, small) && hone_thawed_fits(1, large) && "
    "hone_thawed_fits(1, scaled));\n"
    "    assert(hone_thawed_select(\"NVIDIA H200\", 90, 132, large) == 1);\n"
    "    assert(hone_thawed_select(\"NVIDIA H200\", 90, 132, near) == 0);\n"
    "    assert(hone_thawed_nearest(\"NVIDIA H200\", 90, 132, near) == 1);\n"
    "    return 0;\n}\n";

TEST(test_header_of_thawed)
{
    struct hn_text program ENDED_BY(hn_text_finish) = {0};
    fill_cache(cache.path, thawed, sizeof thawed / sizeof *thawed);
    char *header FREED = export_as(cache.path, "thawed", "H200", "", HN_EXPORT_HEADER);
    write_file("thawed_tuned.h", header);
    for (int config = 0; config < 2; config++) {
        program.length = 0;
        hn_text_printf(&program, "#define WANTED %d\n%s", config, program_of_thawed);
        compile_and_run(program.data);
    }
}

static const char program_of_steps[] =
    "#include <assert.h>\n"
    "#define HONE_TILED_APPLY\n"
    "#include \"tiled_tuned.h\"\n"
    "#if FAST != 1 || VARIANT != 2\n#error values\n#endif\n"
    "int main(void)\n{\n"
    "    struct hone_tiled_problem problem = {128, 100, 64, 2}, large = {1001, 100, 64, 2},\n"
    "                              row = {128, 100, 64, 1};\n"
    "    struct hone_step first = hone_tiled_step(0, 0, problem);\n"
    "    struct hone_step second = hone_tiled_step(0, 1, problem);\n"
    "    assert(HONE_TILED_STEP_COUNT == 3 && first.grid.x == 7 && first.runs == 1);\n"
    "    assert(first.shared_bytes == 16 * 17 * 4 && first.carveout == -1 && !first.cooperative);\n"
    "    assert(first.cluster.x == 1 && first.window_bytes == 0 && first.set_aside_bytes == 0);\n"
    "    assert(second.grid.x == 4 && second.block.x == 32 && second.cluster.x == 2);\n"
    "    assert(second.carveout == 75 && second.cooperative == 1);\n"
    "    assert(second.window_bytes == 51200 && second.window_hit_ratio == 0.75);\n"
    "    assert(second.window_hit == 2 && second.window_miss == 0 && second.set_aside_bytes == "
    "256);\n"
    "    assert(!hone_tiled_step(0, 2, problem).runs && hone_tiled_step(0, 2, large).runs == 1);\n"
    /* kinds of launches came with compute capabilities */
    "    assert(hone_launches(first, 75) && !hone_launches(second, 89));\n"
    "    first.window_bytes = 4096;\n"
    "    assert(hone_launches(first, 80) && hone_launches(first, 0) && !hone_launches(first, "
    "75));\n"
    "    first.window_hit_ratio = 1.5;\n"
    "    assert(!hone_launches(first, 80));\n"
    "    first.window_bytes = 0, first.programmatic = 1;\n"
    "    assert(hone_launches(first, 90) && hone_launches(first, 0) && !hone_launches(first, "
    "89));\n"
    "    assert(SCALE < -1.4 && SCALE > -1.6);\n"
    "    assert(HONE_TILED_TUNED_DEVICE[4] == '\"');\n"
    "    assert(hone_tiled_select(0, 0, 0, problem) == 0);\n"
    "    assert(hone_tiled_select(0, 0, 0, row) == -1);\n"
    "    assert(hone_tiled_nearest(0, 0, 0, row) == 0);\n"
    "    return 0;\n}\n";

/* Two steps, booleans, reals, a metric argument, dynamic shared memory. */
TEST(test_header_of_steps)
{
    static const struct result result = {
        "tiled",
        &odd,
        "K=64,LAYOUT=column,M=128,N=100",
        "FAST=true,MAX_REGISTERS=32,PAD=1,SCALE=-1.5,TILE=16,VARIANT=tile",
        7.5,
        true,
        NULL};
    fill_cache(cache.path, &result, 1);
    char *header FREED = export_as(cache.path, "tiled", NULL, "", HN_EXPORT_HEADER);
    assert_non_null(strstr(header, "SIMULATED: from"));
    assert_non_null(strstr(header, "--maxrregcount=32"));
    assert_non_null(strstr(header,
                           "     table: the contents of A\n"
                           " *     turns: uint32_t, 4 * N elements, again before every launch\n"
                           " *     scale: float, SCALE (where VARIANT == tile_ab)\n"));
    assert_non_null(strstr(header, "     A: M * K elements of float (input)\n"));
    assert_non_null(strstr(header, "     M: int32_t, M\n"));
    assert_non_null(strstr(header, "     by_value: the contents of A by value\n"));
    /* What <<<>>> cannot say is written out. */
    assert_non_null(strstr(header, "cudaFuncAttributePreferredSharedMemoryCarveout, "
                                   "(int)s.carveout);"));
    assert_non_null(strstr(header, "clusterDim = {s.cluster.x, s.cluster.y, s.cluster.z};"));
    assert_non_null(strstr(header, "cudaLaunchKernelEx(&launch, finish, C, M);"));
    assert_non_null(strstr(header, "cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, "
                                   "s.set_aside_bytes); // once:"));
    assert_non_null(strstr(header, "val.accessPolicyWindow = {C, s.window_bytes,"));
    assert_non_null(strstr(header,
                           "s = hone_tiled_step(HONE_TILED_CONFIG, 2, problem);\n"
                           " *     if (s.runs)\n *         clear<HONE_TILED_TILE><<<s.grid"));
    write_file("tiled_tuned.h", header);
    compile_and_run(program_of_steps);
}

/* The pitch of rows is a function of the header, which its other functions call. */
TEST(test_header_of_rows)
{
    static const struct result results[] = {
        {"rows", &h200, "HEIGHT=64,WIDTH=100", "PAD=28", 7.5, false, NULL},
        {"rows", &h200, "HEIGHT=64,WIDTH=500", "PAD=12", 9.5, false, NULL},
    };
    fill_cache(cache.path, results, 2);
    char *header FREED = export_as(cache.path, "rows", NULL, "", HN_EXPORT_HEADER);
    assert_non_null(strstr(header, "     in: HEIGHT rows of WIDTH elements of float, "
                                   "in_pitch bytes apart (input)\n"));
    assert_non_null(strstr(header, "out_pitch bytes apart, at a multiple of 64 bytes (output)\n"));
    assert_non_null(strstr(header, "     plane: a cudaTextureObject_t over in, of "
                                   "cudaResourceTypePitch2D, address modes clamp, border, filter "
                                   "linear, unnormalized coordinates, read as element\n"));
    write_file("rows_tuned.h", header);
    compile_and_run("#include <assert.h>\n"
                    "#include \"rows_tuned.h\"\n"
                    "int main(void)\n{\n"
                    "    struct hone_rows_problem even = {128, 64}, odd = {129, 64}, "
                    "small = {10, 64};\n"
                    "    assert(hone_rows_size(0, even).in_pitch == 512);\n"
                    "    assert(hone_rows_size(0, odd).in_pitch == 1024);\n"
                    "    assert(hone_rows_size(0, odd).in_size == 64 * 1024);\n"
                    "    assert(hone_rows_size(0, odd).out_pitch == 8 * 129);\n"
                    "    assert(hone_rows_size(0, small).work_pitch == 38);\n"
                    "    assert(hone_rows_size(1, small).work_pitch == 22);\n"
                    "    assert(hone_rows_step(1, 0, small).shared_bytes == 512 + 22);\n"
                    "    assert(hone_rows_size(0, small).long_size == (size_t)2 << 30);\n"
                    "    assert(hone_rows_size(0, small).wide_size == (size_t)4 << 30);\n"
                    "    return 0;\n}\n");
}

TEST(test_prefix)
{
    struct hn_export export ENDED_BY(hn_export_finish) = {.kernel = "2d-conv"};
    assert_string_equal(make_identifier(&export, NULL, true), "HONE_2D_CONV");
    assert_string_equal(make_identifier(&export, "My_mm", false), "my_mm");
}

/* A parameter may not take a name that the header needs. */
static void refuse_parameter(const char *name)
{
    struct hn_export export ENDED_BY(hn_export_finish);
    struct hn_text text ENDED_BY(hn_text_finish) = {0};
    char message[128];
    assert_ok(open_export(cache.path, "matmul", NULL, "", &export, &said));
    struct hn_value value = hn_integer(1);
    assert_ok(
        hn_bindings_set((struct hn_bindings *)&export.configs[0]->best.point, name, &value, NULL));
    free(export.plan->parameters[0]);
    export.plan->parameters[0] = strdup(name);
    export.body_count = export.count; /* the default point has no such value */
    snprintf(message, sizeof message,
             "the name '%s' cannot be exported: HONE_MATMUL_%s has a meaning", name, name);
    assert_mentions(hn_export_formats[HN_EXPORT_HEADER]->write(&export, &text, &said), HN_ECONFIG,
                    message);
}

TEST(test_reserved_name)
{
    static const char *const names[] = {"CONFIG", "UNAPPLY", "TENSOR_MAP_COUNT", "TUNED_TIME_US",
                                        "TUNED_M"};
    fill_cache(cache.path, matmuls, 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        refuse_parameter(names[i]);
}

TEST(test_nvcc)
{
    if (strstr(HONE_NVCC, "NOTFOUND") != NULL) {
        print_message("no nvcc: the example is not compiled\n");
        skip();
    }
    fill_cache(cache.path, matmuls, 2);
    char *header FREED = export_as(cache.path, "matmul", NULL, "", HN_EXPORT_HEADER);
    write_file("matmul_tuned.h", header);
    shell(HONE_NVCC " -std=c++17 -arch=sm_90 -Werror all-warnings -Xcompiler -Wall,-Wextra -I. "
                    "-I" HONE_SOURCE_DIR "/templates -c -o example.o " HONE_SOURCE_DIR
                    "/examples/matmul/main.cu");
    char *source = export_as(cache.path, "matmul", NULL, "", HN_EXPORT_SOURCE);
    assert_null(strstr(source, "#include \"async_copy.cuh\""));
    write_file("matmul_source.cu", source);
    free(source);
    shell(HONE_NVCC
          " -std=c++17 -arch=sm_90 -Werror all-warnings -cubin -o source.cubin matmul_source.cu");
}

TEST(test_empty_cache)
{
    struct hn_export export ENDED_BY(hn_export_finish);
    drop(open_store(cache.path, HN_STORE_WRITE));
    assert_mentions(open_export(cache.path, "matmul", NULL, "", &export, &said), HN_ENOTFOUND,
                    "has no valid results yet; `hone tune CONFIG` makes them");
}
