/* SPDX-License-Identifier: MIT */
#include "bench_fixture.h"

#include "runtime/bench/observe/observers.h"
#include "runtime/bench/support.h"
#include "runtime/compile/compile.h"
#include "tests/unit/unit.h"

static void must(enum hn_status status, const struct hn_error *err)
{
    if (status != HN_OK)
        fail_msg("%s", err->message);
}

int bench_fixture_capability = 90;

int bench_fixture_find_device(void)
{
    struct hn_driver driver;
    struct hn_device device = {0};
    struct hn_error err = {.message = ""};
    enum hn_status status = hn_driver_open(&driver, &err);
    if (status == HN_OK) {
        status = hn_driver_select(&driver, NULL, &device, &err);
        hn_driver_close(&driver);
    }
    if (status != HN_OK)
        fprintf(stderr, "SKIPPED: the GPU tests did not run: %s\n", err.message);
    bench_fixture_capability = status == HN_OK ? device.identity.capability : 0;
    return bench_fixture_capability;
}

static void compile(struct bench_fixture *fixture, const struct hn_source *source,
                    struct hn_image *image)
{
    char architecture[16];
    struct hn_error err = {.message = ""};
    snprintf(architecture, sizeof architecture, "sm_%d", fixture->device.identity.capability);
    must(hn_compile(&fixture->nvrtc, source, architecture, image, &err), &err);
    if (image->outcome != HN_OUTCOME_OK)
        fail_msg("%s does not compile: %s", source->template->files->name, image->message);
}

static void compile_reference(struct bench_fixture *fixture)
{
    const struct hn_plan *plan = fixture->config->plan;
    struct hn_error err = {.message = ""};
    struct hn_source source;
    if (!hn_reference_is_kernel(&plan->reference))
        return;
    if (plan->reference.kind == HN_REFERENCE_SELF) {
        must(hn_source_make(plan, &fixture->template, &fixture->config->problems[0],
                            &plan->defaults, &source, &err),
             &err);
    } else {
        must(hn_template_load(plan->reference.template_path, &fixture->reference_template, NULL,
                              &err),
             &err);
        must(hn_source_make_reference(plan, &fixture->reference_template,
                                      &fixture->config->problems[0], &plan->defaults, &source,
                                      &err),
             &err);
    }
    compile(fixture, &source, &fixture->reference);
    hn_source_finish(&source);
}

void bench_fixture_load(struct bench_fixture *fixture, const char *config, int capability)
{
    char path[1024];
    struct hn_error err = {.message = ""};
    *fixture = (struct bench_fixture){0};
    fixture->device.identity.capability = capability;
    fixture->support = HN_NO_IMAGE;
    fixture->reference = HN_NO_IMAGE;
    snprintf(path, sizeof path, "%s/%s", HONE_TEST_DATA, config);
    must(hn_nvrtc_open(&fixture->nvrtc, &err), &err);
    must(hn_config_load(path, NULL, &fixture->config, &err), &err);
    must(hn_template_load(fixture->config->plan->template_path, &fixture->template, NULL, &err),
         &err);
    const struct hn_source support = hn_support_program(NULL, NULL);
    compile(fixture, &support, &fixture->support);
    compile_reference(fixture);
}

void bench_fixture_unload(struct bench_fixture *fixture)
{
    hn_image_finish(&fixture->reference);
    hn_image_finish(&fixture->support);
    hn_template_finish(&fixture->reference_template);
    hn_template_finish(&fixture->template);
    hn_config_destroy(fixture->config);
    hn_nvrtc_close(&fixture->nvrtc);
}

enum hn_status bench_fixture_open(struct bench_fixture *fixture, enum hn_regime regime,
                                  struct hn_error *err)
{
    const struct hn_plan *plan = fixture->config->plan;
    const struct hn_bench_options options = {
        .regime = regime, .seed = 1, .observers = hn_observers};
    fixture->bench = NULL;
    enum hn_status status = hn_driver_open(&fixture->driver, err);
    if (status == HN_OK)
        status = hn_driver_select(&fixture->driver, NULL, &fixture->device, err);
    if (status == HN_OK)
        status = hn_bench_create(&fixture->driver, &fixture->device, &fixture->support, plan,
                                 &fixture->config->problems[0], &options, &fixture->bench, err);
    if (status == HN_OK && hn_reference_is_kernel(&plan->reference))
        status = hn_bench_set_reference(fixture->bench, &plan->defaults, &fixture->reference, err);
    return status;
}

void bench_fixture_close(struct bench_fixture *fixture)
{
    hn_bench_destroy(fixture->bench);
    fixture->bench = NULL;
    hn_driver_close(&fixture->driver);
}

void bench_fixture_set_reference(struct bench_fixture *fixture, const char *point)
{
    const struct hn_plan *plan = fixture->config->plan;
    struct hn_bindings bindings;
    struct hn_bindings depends = {0};
    struct hn_source source;
    struct hn_image image;
    struct hn_error err = {.message = ""};
    if (plan->reference.depends_count == 0)
        return;
    must(hn_bindings_parse(point, &bindings, &err), &err);
    for (size_t i = 0; i < plan->reference.depends_count; i++) {
        const char *name = plan->reference.depends[i];
        must(hn_bindings_set(&depends, name, hn_bindings_get(&bindings, name), &err), &err);
    }
    must(hn_source_make_reference(plan, &fixture->reference_template, &fixture->config->problems[0],
                                  &depends, &source, &err),
         &err);
    compile(fixture, &source, &image);
    must(hn_bench_set_reference(fixture->bench, &depends, &image, &err), &err);
    hn_image_finish(&image);
    hn_source_finish(&source);
    hn_bindings_finish(&depends);
    hn_bindings_finish(&bindings);
}

void bench_fixture_compile(struct bench_fixture *fixture, const char *point, struct hn_image *image)
{
    struct hn_bindings bindings ENDED_BY(hn_bindings_finish) = {0};
    struct hn_source source ENDED_BY(hn_source_finish);
    struct hn_error err = {.message = ""};
    *image = HN_NO_IMAGE;
    must(hn_bindings_parse(point, &bindings, &err), &err);
    must(hn_source_make(fixture->config->plan, &fixture->template, &fixture->config->problems[0],
                        &bindings, &source, &err),
         &err);
    compile(fixture, &source, image);
}

struct hn_record bench_fixture_evaluate(struct bench_fixture *fixture, const char *point,
                                        const struct hn_bench_request *request)
{
    struct hn_record record = {0};
    struct hn_image image ENDED_BY(hn_image_finish);
    struct hn_error err = {.message = ""};
    must(hn_bindings_parse(point, &record.point, &err), &err);
    bench_fixture_compile(fixture, point, &image);
    must(hn_bench_evaluate(fixture->bench, &image, request, &record, &err), &err);
    return record;
}

bool bench_fixture_says(const char *message, const char *expected)
{
    size_t same = strcspn(expected, "0123456789");
    char *rest, *expected_rest;
    if (strncmp(message, expected, strlen(expected)) == 0)
        return true;
    if (strncmp(expected, "wrote ", 6) != 0 || strncmp(message, expected, same) != 0)
        return false;
    long long off =
        strtoll(message + same, &rest, 10) - strtoll(expected + same, &expected_rest, 10);
    return llabs(off) < 4 && strncmp(rest, expected_rest, strlen(expected_rest)) == 0;
}

void bench_fixture_check(const struct hn_record *record, enum hn_outcome outcome,
                         const char *message)
{
    if (record->outcome != outcome) {
        char *point FREED = hn_bindings_text(&record->point);
        print_error("%s:\n", point == NULL ? "a point" : point);
        fail_msg("found %s (%s), expected %s", hn_outcome_names[record->outcome],
                 record->message == NULL ? "" : record->message, hn_outcome_names[outcome]);
    }
    if (message != NULL && !bench_fixture_says(record->message, message))
        fail_msg("found '%s', expected '%s'", record->message, message);
}

void bench_fixture_expect(struct bench_fixture *fixture, const char *point,
                          const struct hn_bench_request *request, enum hn_outcome outcome,
                          const char *message)
{
    bench_fixture_set_reference(fixture, point);
    struct hn_record record ENDED_BY(hn_record_finish) =
        bench_fixture_evaluate(fixture, point, request);
    bench_fixture_check(&record, outcome, message);
}

/* Whether the failure of call number `call` was noticed. */
static bool run_with_failing_call(struct bench_fixture *fixture, enum hn_regime regime,
                                  const char *point, const struct hn_image *image,
                                  const struct hn_bench_request *request, int call)
{
    char number[16];
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    struct hn_error err = {.message = ""};
    snprintf(number, sizeof number, "%d", call);
    setenv("HONE_DOUBLE_FAIL", number, 1);
    hn_bindings_parse(point, &record.point, NULL);
    enum hn_status status = bench_fixture_open(fixture, regime, &err);
    if (status == HN_OK)
        status = hn_bench_evaluate(fixture->bench, image, request, &record, &err);
    bench_fixture_close(fixture);
    unsetenv("HONE_DOUBLE_FAIL");
    bool failed = status != HN_OK || record.outcome != HN_OUTCOME_OK;
    if (status != HN_OK)
        assert_true(status == HN_ERUN && err.message[0] != '\0');
    else if (record.outcome != HN_OUTCOME_OK)
        assert_non_null(record.message);
    return failed;
}

int bench_fixture_fail_calls(struct bench_fixture *fixture, enum hn_regime regime,
                             const char *point, const struct hn_bench_request *request, int first,
                             int passes)
{
    enum { TOO_MANY = 2000 };
    static const char *const codes[] = {"999", "2"};
    int least = TOO_MANY;
    struct hn_image image ENDED_BY(hn_image_finish);
    bench_fixture_compile(fixture, point, &image);
    setenv("HONE_DOUBLE_STRICT", "0", 1);
    for (int c = 0; c < 2; c++) {
        int call = first;
        setenv("HONE_DOUBLE_ERROR", codes[c], 1);
        for (int passed = 0; passed < passes && call < TOO_MANY; call++)
            passed = run_with_failing_call(fixture, regime, point, &image, request, call)
                         ? 0
                         : passed + 1;
        assert_true(call < TOO_MANY);
        least = call < least ? call : least;
    }
    unsetenv("HONE_DOUBLE_ERROR");
    setenv("HONE_DOUBLE_STRICT", "1", 1);
    return least;
}

void bench_fixture_set_problem(struct bench_fixture *fixture, const char *problem)
{
    struct hn_error err;
    hn_bindings_finish(&fixture->config->problems[0]);
    must(hn_bindings_parse(problem, &fixture->config->problems[0], &err), &err);
}
