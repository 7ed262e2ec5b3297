/* SPDX-License-Identifier: MIT */
#include "runtime/compile/source.h"

#include "nvrtc_fixture.h"
#include "plan_fixture.h"
#include "tests/unit/bindings_fixture.h"

static const char problem_text[] = "K=-4,LAYOUT=column,M=64,N=128";
static const char point_text[] = "FAST=true,MAX_REGISTERS=64,PAD=1,SCALE=0.5,TILE=16,VARIANT=tile";

static const char frozen_defines[] = "#define K (-4)\n"
                                     "#define LAYOUT_row 1\n"
                                     "#define LAYOUT_column 2\n"
                                     "#define LAYOUT 2\n";
static const char variant_defines[] = "#define VARIANT_simple 1\n"
                                      "#define VARIANT_tile 2\n"
                                      "#define VARIANT_tile_ab 3\n"
                                      "#define VARIANT 2\n";
static const char other_defines[] = "#define TILE 16\n"
                                    "#define PAD 1\n"
                                    "#define FAST 1\n"
                                    "#define SCALE 0.5\n"
                                    "#define MAX_REGISTERS 64\n";

static struct subject {
    struct hn_plan *plan;
    struct hn_template template;
    struct hn_bindings problem, point;
} tiled;

static int set_up(void **state)
{
    tiled.plan = load_plan("tiled.json");
    assert_ok(hn_template_load(HONE_TEST_DATA "/templates/tiled.cu", &tiled.template, NULL, NULL));
    parse_bindings(problem_text, &tiled.problem);
    parse_bindings(point_text, &tiled.point);
    return 0;
}

static int tear_down(void **state)
{
    hn_template_finish(&tiled.template);
    hn_bindings_finish(&tiled.problem);
    hn_bindings_finish(&tiled.point);
    return 0;
}

ALL_TESTS(set_up, tear_down)

static void make(const struct subject *subject, struct hn_source *source)
{
    assert_ok(hn_source_make(subject->plan, &subject->template, &subject->problem, &subject->point,
                             source, &said));
}

static void make_reference(const struct hn_template *template, struct hn_source *source)
{
    assert_ok(
        hn_source_make_reference(tiled.plan, template, &tiled.problem, &tiled.point, source, NULL));
}

TEST(puts_prelude_before_the_template)
{
    struct hn_source source ENDED_BY(hn_source_finish);
    make(&tiled, &source);
    struct hn_text expected ENDED_BY(hn_text_finish) = {0};
    hn_text_printf(&expected, "%s%s%s#line 1\n%s", frozen_defines, variant_defines, other_defines,
                   tiled.template.files->text);
    assert_string_equal(source.text, expected.data);
}

TEST(gives_the_prelude_alone)
{
    struct hn_text text ENDED_BY(hn_text_finish) = {0};
    hn_error_init(&said);
    hn_source_append_macros(tiled.plan, &tiled.problem, &tiled.point, &text, NULL, &said);
    assert_ok(said.status);
    assert_int_equal(strncmp(text.data, frozen_defines, strlen(frozen_defines)), 0);
    assert_null(strstr(text.data, "#line"));
    assert_null(strstr(text.data, "#define M "));
}

static void make_template_parameter(struct hn_plan *plan, const char *name)
{
    plan->template_parameters = calloc(1, sizeof *plan->template_parameters);
    plan->template_parameters[plan->template_parameter_count++] = strdup(name);
}

TEST(types_stand_for_themselves)
{
    struct subject own = tiled;
    struct hn_source source ENDED_BY(hn_source_finish);
    own.plan = load_plan("tiled.json");
    struct hn_word_list *list = (struct hn_word_list *)hn_plan_find_words(own.plan, "VARIANT");
    list->types = true;
    make(&own, &source);
    char expected[600];
    snprintf(expected, sizeof expected, "%s#define VARIANT tile\n%s#line 1\n", frozen_defines,
             other_defines);
    assert_int_equal(strncmp(source.text, expected, strlen(expected)), 0);
    assert_string_equal(source.entries[0], "tiled<16, tile, (-4), 2, 7, 1>");
}

TEST(parameters_of_cpp_templates_are_no_macros)
{
    struct subject own = tiled;
    struct hn_source source ENDED_BY(hn_source_finish);
    own.plan = load_plan("tiled.json");
    make_template_parameter(own.plan, "TILE");
    make(&own, &source);
    char expected[600];
    snprintf(expected, sizeof expected, "%s%s%s#line 1\n", frozen_defines, variant_defines,
             other_defines + strlen("#define TILE 16\n"));
    assert_int_equal(strncmp(source.text, expected, strlen(expected)), 0);
    assert_string_equal(source.entries[0], "tiled<16, 2, (-4), 2, 7, 1>");
    struct hn_text hidden ENDED_BY(hn_text_finish) = {0}, prelude ENDED_BY(hn_text_finish) = {0};
    hn_error_init(&said);
    hn_source_append_macros(own.plan, &own.problem, &own.point, &prelude, &hidden, &said);
    assert_ok(said.status);
    assert_string_equal(hidden.data, "#define TILE 16\n");
}

TEST(replaces_names_in_name_expressions)
{
    struct hn_source source ENDED_BY(hn_source_finish);
    make(&tiled, &source);
    assert_int_equal(source.entry_count, 2);
    assert_string_equal(source.entries[0], "tiled<16, 2, (-4), 2, 7, 1>");
    assert_string_equal(source.entries[1], "finish");
}

TEST(words_are_enumerators_of_a_scope)
{
    struct subject own = tiled;
    struct hn_source source ENDED_BY(hn_source_finish);
    own.plan = load_plan("tiled.json");
    free(own.plan->steps[0].entry);
    own.plan->steps[0].entry = strdup("tiled<app::Kind::VARIANT, TILE, VARIANT>");
    make(&own, &source);
    assert_string_equal(source.entries[0], "tiled<app::Kind::tile, 16, 2>");
}

TEST(expands_options)
{
    struct hn_source source;
    make(&tiled, &source);
    assert_int_equal(source.option_count, 2);
    assert_string_equal(source.options[0], "--maxrregcount=64");
    assert_string_equal(source.options[1], "-DAREA=256_tile");
    hn_source_finish(&source);

    set(&tiled.point, "MAX_REGISTERS", hn_integer(0));
    make(&tiled, &source);
    assert_int_equal(source.option_count, 1);
    assert_string_equal(source.options[0], "-DAREA=256_tile");
    hn_source_finish(&source);
    set(&tiled.point, "MAX_REGISTERS", hn_integer(64));
}

TEST(shows_the_reference_only_what_it_depends_on)
{
    struct hn_source source ENDED_BY(hn_source_finish);
    make_reference(&tiled.template, &source);
    struct hn_text expected ENDED_BY(hn_text_finish) = {0};
    hn_text_printf(&expected, "%s%s#line 1\n", strstr(frozen_defines, "#define LAYOUT_row"),
                   variant_defines);
    assert_int_equal(strncmp(source.text, expected.data, expected.length), 0);
    assert_int_equal(source.entry_count, 1);
    assert_string_equal(source.entries[0], "tiled_reference");
    assert_int_equal(source.option_count, 0);
}

/* One program for all values that it is passed as arguments. Words and what may be pasted together
 * stay. */
TEST(spares_the_reference_numbers_that_it_does_not_name)
{
    struct hn_text_file files[] = {{(char *)"reference.cu", NULL}, {(char *)"part.cuh", NULL}};
    struct hn_template template = {.files = files, .file_count = 2};
    static const struct {
        const char *text, *included;
        bool defined;
    } cases[] = {{"int KEEP;", "int depth;", false},
                 {"int a = K;", "int depth;", true},
                 {"int KEEP;", "int depth = K;", true},
                 {"#define P(a) K ## a", "int depth;", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hn_source source ENDED_BY(hn_source_finish);
        files[0].text = (char *)cases[i].text;
        files[1].text = (char *)cases[i].included;
        make_reference(&template, &source);
        assert_int_equal(strstr(source.text, "#define K (-4)\n") != NULL, cases[i].defined);
        assert_non_null(strstr(source.text, "#define LAYOUT 2\n"));
    }
}

TEST(takes_the_defaults_as_its_own_reference)
{
    tiled.plan->reference.kind = HN_REFERENCE_SELF;
    struct hn_source source ENDED_BY(hn_source_finish);
    make_reference(&tiled.template, &source);
    assert_non_null(strstr(source.text, "#define PAD 0\n"));
    assert_string_equal(source.entries[0], "tiled<16, 3, (-4), 2, 7, 0>");
    tiled.plan->reference.kind = HN_REFERENCE_TEMPLATE;
}

static void fails_with(enum hn_status status, const char *message)
{
    struct hn_source source;
    assert_int_equal(
        hn_source_make(tiled.plan, &tiled.template, &tiled.problem, &tiled.point, &source, &said),
        status);
    assert_string_equal(said.message, message);
}

TEST(refuses_what_no_macro_can_hold)
{
    set(&tiled.point, "VARIANT", hn_word("tyle"));
    fails_with(HN_ECONFIG, "'tyle' is no word of VARIANT");
    set(&tiled.point, "VARIANT", hn_word("tile"));
    set(&tiled.point, "SCALE", hn_real(1e308 * 10));
    fails_with(HN_ECONFIG, "SCALE is not finite and cannot be a constant of the program");
    set(&tiled.point, "SCALE", hn_real(0.5));
}

TEST(keeps_the_least_integer_a_literal)
{
    set(&tiled.problem, "K", hn_integer(INT64_MIN));
    struct hn_source source ENDED_BY(hn_source_finish);
    make(&tiled, &source);
    assert_non_null(strstr(source.text, "#define K (-9223372036854775807 - 1)\n"));
    set(&tiled.problem, "K", hn_integer(-4));
}

TEST_WITH(compiles_to_all_steps, open_nvrtc, NULL)
{
    struct hn_source source ENDED_BY(hn_source_finish);
    make(&tiled, &source);
    struct hn_image *image = keep_new(struct hn_image, hn_image_finish);
    assert_ok(hn_compile(&nvrtc, &source, "sm_90", image, &said));
    assert_null(image->message);
    assert_int_equal(image->outcome, HN_OUTCOME_OK);
    assert_int_equal(image->entry_count, 2);
    assert_string_equal(image->entries[0], "_Z5tiledILi16ELi2ELin4ELi2ELi7ELi1EEvPKfPfPx");
    assert_string_equal(image->entries[1], "finish");
}
