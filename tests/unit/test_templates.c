/* SPDX-License-Identifier: MIT */
/* Every config of configs/ with its template: the template by itself is the default point of the
 * first problem, every step of the ladder stands in the space of a problem, and the reference
 * compiles. A family's problems can all be had at the default point. */
#include <glob.h>

#include "config_fixture.h"
#include "nvrtc_fixture.h"
#include "runtime/compile/source.h"
#include "runtime/plan/launch.h"
#include "tuner/config/config_files.h"

static glob_t configs;
static struct hn_error err;

static int set_up(void **state)
{
    keep(&configs, globfree);
    return open_nvrtc(state) || glob(HONE_SOURCE_DIR "/configs/*.yaml", 0, NULL, &configs);
}

ALL_TESTS(set_up, NULL)

#define ASSERT_OK(call)                                                                            \
    do {                                                                                           \
        err.message[0] = '\0';                                                                     \
        enum hn_status status_ = (call);                                                           \
        assert_string_equal(err.message, "");                                                      \
        assert_ok(status_);                                                                        \
    } while (0)

static void compile(const struct hn_source *source, const char *text, struct hn_image *image)
{
    struct hn_source shown = *source;
    shown.text = (char *)text;
    ASSERT_OK(hn_compile(&nvrtc, &shown, "sm_90", image, &err));
    if (image->outcome != HN_OUTCOME_OK)
        fail_msg("%s: %s", source->template->files->name, image->message);
}

/* Those that are for one architecture say what the others have instead; cli/architectures compiles
 * the rest. */
static void check_blackwell(const struct hn_source *source)
{
    static const char *const architectures[] = {"sm_100a", "sm_120a"};
    static const char advice[] = "; wgmma is of compute capability 9.0 alone, with `compile: "
                                 "{arch_specific: true}`; 10.0 has tcgen05";
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
        struct hn_image image ENDED_BY(hn_image_finish);
        ASSERT_OK(hn_compile(&nvrtc, source, architectures[i], &image, &err));
        const char *message = image.message != NULL ? image.message : "";
        if (strstr(message, advice) == NULL)
            fail_msg("%s for %s: %s", source->template->files->name, architectures[i], message);
    }
}

static void check_defaults(const struct hn_config *config, const struct hn_bindings *point)
{
    struct hn_template template ENDED_BY(hn_template_finish);
    struct hn_source source ENDED_BY(hn_source_finish);
    struct hn_image tuned ENDED_BY(hn_image_finish), alone ENDED_BY(hn_image_finish);
    ASSERT_OK(hn_template_load(config->plan->template_path, &template, NULL, &err));
    ASSERT_OK(hn_source_make(config->plan, &template, &config->problems[0], point, &source, &err));
    compile(&source, source.text, &tuned);
    compile(&source, template.files->text, &alone);
    if (source.arch_specific)
        check_blackwell(&source);
    assert_string_equal(tuned.code_hash, alone.code_hash);
    assert_int_equal(tuned.resources.spill_store_bytes, 0);
}

static void check_reference(const struct hn_config *config, const struct hn_bindings *point)
{
    struct hn_template template ENDED_BY(hn_template_finish);
    struct hn_source source ENDED_BY(hn_source_finish);
    struct hn_image image ENDED_BY(hn_image_finish);
    assert_int_equal(config->plan->reference.kind, HN_REFERENCE_TEMPLATE);
    ASSERT_OK(hn_template_load(config->plan->reference.template_path, &template, NULL, &err));
    ASSERT_OK(hn_source_make_reference(config->plan, &template, &config->problems[0], point,
                                       &source, &err));
    compile(&source, source.text, &image);
}

/* Its values are those of the space, and the constraints of one of the problems allow it: the
 * spaces of all of them would take long to build. */
static bool stands_somewhere(const struct hn_config *config, const struct hn_space *space,
                             const struct hn_bindings *step)
{
    struct hn_bindings point ENDED_BY(hn_bindings_finish);
    uint16_t choice[64];
    bool allowed = false;
    assert_true(hn_space_parameter_count(space) <= 64);
    ASSERT_OK(hn_bindings_copy(&point, &config->plan->defaults, &err));
    ASSERT_OK(hn_bindings_merge(&point, step, &err));
    ASSERT_OK(hn_space_choice(space, &point, choice, &err));
    for (size_t i = 0; !allowed && i < config->problem_count; i++)
        allowed = hn_plan_allows(config->plan, &config->problems[i], &point, NULL);
    return allowed;
}

/* No parameter is without effect. */
static void check_names(const struct hn_config *config)
{
    char *unused FREED = hn_config_find_unused(config);
    assert_non_null(unused);
    if (unused[0] != '\0')
        fail_msg("%s: no value of %s changes anything", config->plan->kernel, unused);
}

TEST(configs_and_templates_agree)
{
    assert_true(configs.gl_pathc >= 3);
    for (size_t i = 0; i < configs.gl_pathc; i++) {
        struct hn_config *config = load(configs.gl_pathv[i]);
        struct hn_space *space;
        struct hn_bindings point ENDED_BY(hn_bindings_finish);
        ASSERT_OK(hn_config_check_sources(config, &err));
        check_names(config);
        assert_true(config->ladder_count > 0);
        ASSERT_OK(hn_config_space(config, 0, false, &space, &err));
        hn_config_default_point(config, space, &point);
        check_defaults(config, &point);
        check_reference(config, &point);
        for (size_t step = 0; step < config->ladder_count; step++)
            if (!stands_somewhere(config, space, &config->ladder[step]))
                fail_msg("%s: step %zu of the ladder is valid for no problem", configs.gl_pathv[i],
                         step + 1);
        hn_space_destroy(space);
    }
}

/* The default point and the reference can be launched, and each buffer has an element. */
static void check_member(const struct hn_config *config, const struct hn_device *device,
                         const struct hn_bindings *problem)
{
    const struct hn_plan *plan = config->plan;
    struct hn_launch launch ENDED_BY(hn_launch_finish), reference = {0};
    struct hn_launch_step step;
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    struct hn_value *values FREED;
    char *text FREED = hn_bindings_text(problem);
    const struct hn_bindings *point = hn_plan_default(plan, problem);
    if (!hn_plan_allows(plan, problem, &plan->defaults, NULL) ||
        !hn_plan_allows(plan, problem, point, NULL))
        fail_msg("%s: the default point is not valid for %s", plan->kernel, text);
    ASSERT_OK(hn_launch_make(plan, problem, point, &launch, &err));
    ASSERT_OK(
        hn_launch_make_step(plan, &plan->reference.step, problem, &plan->defaults, &step, &err));
    reference.steps = &step;
    reference.step_count = 1;
    if (!hn_launch_check(&launch, device, &record) || !hn_launch_check(&reference, device, &record))
        fail_msg("%s: for %s: %s", plan->kernel, text, record.message);
    ASSERT_OK(hn_plan_values(plan, problem, &plan->defaults, &values, &err));
    for (size_t i = 0; i < plan->argument_count; i++) {
        int64_t count = 1;
        if (plan->arguments[i].count != NULL)
            assert_true(hn_expression_integer(plan->arguments[i].count, values, &count, &err));
        assert_in_range(count, 1, INT64_MAX);
    }
}

/* The ends of all ranges together, and one of each alone. */
static void check_ends(const struct hn_config *config, const struct hn_device *device)
{
    const struct hn_family *family = config->family;
    for (unsigned ends = 0; ends < 1u << family->value_count; ends++) {
        struct hn_bindings problem ENDED_BY(hn_bindings_finish) = {0};
        for (size_t i = 0; i < family->value_count; i++) {
            const struct hn_family_value *value = &family->values[i];
            bool high = ends >> i & 1;
            struct hn_value end = value->kind == HN_FAMILY_RANGE
                                      ? hn_integer(high ? value->high : value->low)
                                      : value->values[high ? value->count - 1 : 0];
            ASSERT_OK(hn_bindings_set(&problem, value->name, &end, &err));
        }
        if (hn_family_has(family, &problem, NULL))
            check_member(config, device, &problem);
    }
}

TEST(defaults_serve_all_of_a_family)
{
    struct hn_device device;
    size_t families = 0;
    ASSERT_OK(hn_device_for_architecture("sm_90", &device, &err));
    for (size_t i = 0; i < configs.gl_pathc; i++) {
        struct hn_config *config = load(configs.gl_pathv[i]);
        uint64_t at = 0;
        for (int n = 0; config->family != NULL && n < 1000; n++) {
            const struct hn_bindings none = {0};
            struct hn_bindings problem ENDED_BY(hn_bindings_finish) =
                hn_family_draw(config->family, &none, 1, &at, &err);
            ASSERT_OK(err.status);
            check_member(config, &device, &problem);
        }
        if (config->family != NULL)
            check_ends(config, &device);
        families += config->family != NULL;
    }
    assert_true(families >= 10);
}

/* More rows of tiles than a grid has. */
TEST(tall_products_have_a_default)
{
    struct hn_device device;
    struct hn_bindings problem ENDED_BY(hn_bindings_finish);
    ASSERT_OK(hn_device_for_architecture("sm_90", &device, &err));
    ASSERT_OK(hn_bindings_parse("K=4,M=4000000,N=40", &problem, &err));
    check_member(load(HONE_SOURCE_DIR "/configs/sgemm.yaml"), &device, &problem);
}
