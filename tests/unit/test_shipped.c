/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"
#include <glob.h>
#include <math.h>

#include "cache/recording/recording.h"
#include "runtime/bench/roofs.h"
#include "tuner/config/config_files.h"

/* Every shipped recording and rule is of the template, config and plan that are shipped with it. */

#define RECORDED HONE_SOURCE_DIR "/cache/recorded/"

struct shipped {
    const char *path;
    struct hn_recording recording;
    struct hn_config *config; /* for the recorded problem; of a rule, for the config's own */
    size_t faults;
};

static void complain(struct shipped *shipped, const char *what)
{
    print_error("%s: %s\n", shipped->path, what);
    shipped->faults++;
}

/* A rule, or what was measured for one: its points serve all sizes. */
static bool is_of_family(const struct shipped *shipped)
{
    return strstr(shipped->path, "/families/") != NULL;
}

/* Whether the config has that problem among its own. */
static bool is_listed(const struct hn_config *config, const struct hn_bindings *problem)
{
    for (size_t i = 0; i < config->problem_count; i++)
        if (hn_bindings_equal(&config->problems[i], problem))
            return true;
    return false;
}

static void load_config(struct shipped *shipped)
{
    char path[1024];
    const struct hn_bindings *problem = &shipped->recording.identity.problem;
    bool is_rule = shipped->recording.rule != NULL;
    snprintf(path, sizeof path, HONE_SOURCE_DIR "/configs/%s.yaml",
             shipped->recording.identity.kernel);
    const struct hn_config_for use = {.problem = is_rule ? NULL : problem};
    if (hn_config_load(path, &use, &shipped->config, &said) != HN_OK)
        fail_msg("%s: %s", shipped->path, said.message);
    if (!is_of_family(shipped) && !is_listed(shipped->config, problem))
        complain(shipped, "is of a problem that the config does not have");
    if (!is_rule && hn_config_take_problem(shipped->config, problem, &said) != HN_OK)
        complain(shipped, said.message);
}

static void end_kept(struct hn_config_kept *kept)
{
    hn_stored_plan_free(&kept->plan);
}

static void compare_version(struct shipped *shipped)
{
    struct hn_config_kept kept ENDED_BY(end_kept);
    struct hn_text text ENDED_BY(hn_text_finish) = {0};
    const struct hn_version *was = &shipped->recording.version;
    if (hn_config_keep(shipped->config, &shipped->config->problems[0], &kept, &said) != HN_OK)
        fail_msg("%s: %s", shipped->path, said.message);
    /* Another driver or NVRTC makes no recording false. */
    snprintf(kept.version.driver, sizeof kept.version.driver, "%s", was->driver);
    snprintf(kept.version.nvrtc, sizeof kept.version.nvrtc, "%s", was->nvrtc);
    if (!hn_version_equal(was, &kept.version)) {
        hn_text_append(&text, "is stale, since these have changed: ");
        hn_version_append_difference(&text, was, &kept.version);
        complain(shipped, text.data);
    }
    if (shipped->recording.plan.json == NULL)
        complain(shipped, "has no plan and template of its own");
}

/* Of a family also points that do not promise much at one of its sizes. */
static bool is_point(const struct shipped *shipped, const struct hn_space *space,
                     const struct hn_bindings *point)
{
    uint16_t choice[256];
    bool allowed = shipped->recording.rule != NULL;
    assert_true(hn_space_parameter_count(space) <= sizeof choice / sizeof *choice);
    if (hn_space_choice(space, point, choice, NULL) != HN_OK)
        return false;
    if (!is_of_family(shipped))
        return hn_space_contains(space, choice);
    return allowed ||
           hn_plan_allows(shipped->config->plan, &shipped->config->problems[0], point, NULL);
}

/* The points of a rule serve other problems than that of the space. The first fault is enough. */
static void compare_points(struct shipped *shipped)
{
    struct hn_space *space = NULL;
    const struct hn_rule *rule = shipped->recording.rule;
    const struct hn_records *records = &shipped->recording.records;
    const struct hn_bindings *foreign = NULL;
    if (is_of_family(shipped) && hn_config_thaw(shipped->config, &said) != HN_OK)
        fail_msg("%s: %s", shipped->path, said.message);
    if (hn_config_space(shipped->config, 0, true, &space, &said) != HN_OK)
        fail_msg("%s: %s", shipped->path, said.message);
    for (size_t i = 0; i < records->count && foreign == NULL; i++)
        if (!is_point(shipped, space, &records->items[i].point))
            foreign = &records->items[i].point;
    for (size_t i = 0; rule != NULL && i < rule->configuration_count && foreign == NULL; i++)
        if (!is_point(shipped, space, &rule->configurations[i]))
            foreign = &rule->configurations[i];
    if (foreign != NULL) {
        struct hn_text text ENDED_BY(hn_text_finish) = {0};
        hn_bindings_append(&text, foreign);
        hn_text_append(&text, " is no point of the space as it is now");
        complain(shipped, text.data);
    }
    hn_space_destroy(space);
}

/* A rule that is learnt of the config as it is compares costs by its prior: in microseconds each,
 * and all of them, where that does not compile. */
static void compile_prior(struct shipped *shipped)
{
    double order[HN_RULE_CONFIGURATIONS_MOST];
    struct hn_rule *rule = shipped->recording.rule;
    const struct hn_config *config = shipped->config;
    uint64_t at = 0;
    if (rule == NULL || rule->cost == NULL)
        return;
    hn_expression_destroy(rule->cost);
    assert_ok(hn_expression_parse(hn_expression_text(config->prior), &rule->cost, &said));
    assert_ok(hn_rule_complete(rule, &said));
    struct hn_rule_program *program = hn_rule_program_make(rule);
    struct hn_bindings problem ENDED_BY(hn_bindings_finish) =
        hn_family_draw(config->family, config->problems, 1, &at, &said);
    if (program == NULL || hn_rule_program_find(program, &problem, order) == NULL)
        complain(shipped, "is of a config whose prior cannot be compiled");
    hn_rule_program_destroy(program);
}

static size_t look_at(const char *path)
{
    struct shipped shipped = {.path = path};
    if (hn_recording_load(path, &shipped.recording, &said) != HN_OK)
        fail_msg("%s: %s", path, said.message);
    load_config(&shipped);
    compare_version(&shipped);
    compare_points(&shipped);
    compile_prior(&shipped);
    hn_config_destroy(shipped.config);
    hn_recording_finish(&shipped.recording);
    return shipped.faults;
}

static size_t look_at_all(const char *pattern, size_t least)
{
    glob_t files;
    size_t faults = 0;
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= least);
    for (size_t i = 0; i < files.gl_pathc; i++)
        faults += look_at(files.gl_pathv[i]) > 0;
    globfree(&files);
    return faults;
}

TEST(every_recording_is_of_what_is_shipped)
{
    assert_int_equal(look_at_all(RECORDED "*/*.json.gz", 40), 0);
}

TEST(so_are_rules_and_what_lies_beside_them)
{
    assert_int_equal(look_at_all(RECORDED "*/families/*.gz", 3), 0);
}

struct known {
    double estimate, us;
};

static int by_estimate(const void *a, const void *b)
{
    const struct known *x = a;
    const struct known *y = b;
    return (x->estimate > y->estimate) - (x->estimate < y->estimate);
}

/* How much longer the best of the sixteen points that the config estimates to be best takes than
 * the best. */
static double loss_of_estimate(const char *path)
{
    enum { LOOKED_AT = 16 };
    struct shipped shipped = {.path = path};
    struct hn_space *space = NULL;
    uint16_t choice[256];
    double best = INFINITY, found = INFINITY;
    size_t count = 0;
    assert_ok(hn_recording_load(path, &shipped.recording, &said));
    load_config(&shipped);
    assert_ok(hn_config_space(shipped.config, 0, true, &space, &said));
    const struct hn_records *records = &shipped.recording.records;
    struct known *known = calloc(records->count, sizeof *known);
    for (size_t i = 0; i < records->count; i++) {
        const struct hn_record *record = &records->items[i];
        if (record->outcome != HN_OUTCOME_OK && record->outcome != HN_OUTCOME_SLOWER)
            continue;
        assert_ok(hn_space_choice(space, &record->point, choice, &said));
        known[count++] = (struct known){hn_space_estimate(space, choice), record->timing.median_us};
        best = fmin(best, record->timing.median_us);
    }
    qsort(known, count, sizeof *known, by_estimate);
    for (size_t i = 0; i < count && i < LOOKED_AT; i++)
        found = fmin(found, known[i].us);
    free(known);
    hn_space_destroy(space);
    hn_config_destroy(shipped.config);
    hn_recording_finish(&shipped.recording);
    return found / best;
}

TEST(products_are_estimated_as_they_were_measured)
{
    glob_t files;
    double sum = 0;
    assert_int_equal(glob(RECORDED "nvidia-h200/bgemm-*.gz", 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= 17);
    for (size_t i = 0; i < files.gl_pathc; i++)
        sum += log(loss_of_estimate(files.gl_pathv[i]));
    assert_true(sum / (double)files.gl_pathc < log(1.025));
    globfree(&files);
}

/* All that Hone measures now, of the device and driver of the recordings beside them. */
TEST(roofs_are_whole_and_of_the_same_device)
{
    json_error_t where;
    struct hn_roofs roofs = {0};
    struct hn_recording recording ENDED_BY(hn_recording_finish);
    json_t *document = keep(json_load_file(RECORDED "roofs.json", 0, &where), json_decref);
    json_t *device = json_array_get(json_object_get(document, "devices"), 0);
    json_t *written = json_object_get(device, "roofs");
    assert_int_equal(json_array_size(json_object_get(document, "devices")), 1);
    hn_fields_read("roofs", &hn_roofs_structure, written, &roofs, &said);
    assert_ok(said.status);
    for (size_t i = 0; i < HN_PIPE_COUNT; i++)
        assert_true(roofs.tensor.pipes[i].gflops > 0 && roofs.tensor.pipes[i].clock_mhz > 0);
    assert_ok(hn_recording_load(RECORDED "nvidia-h200/matmul-b_layout-row-k-32-m-4096-n-4096"
                                         "-nvidia-h200-cold.json.gz",
                                &recording, &said));
    const struct hn_device_identity *own = &recording.identity.device;
    assert_string_equal(json_string_value(json_object_get(device, "name")), own->name);
    assert_int_equal(json_integer_value(json_object_get(device, "capability")), own->capability);
    assert_int_equal(json_integer_value(json_object_get(device, "sm_count")), own->sm_count);
    assert_string_equal(roofs.driver, recording.version.driver);
}
