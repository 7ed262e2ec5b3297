/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "bench/search/simulate/number.h"
#include "fuzz.h"
#include "runtime/plan/launch.h"
#include "tuner/config/config.h"

/* A config as a user may get it from anywhere: read, checked as a whole, its space built, its plan
 * stored and read back. */

static char *plan_text(const struct hn_plan *plan)
{
    json_auto_t *json = hn_plan_to_json(plan);
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    fuzz_require(text != NULL, "a plan has a JSON text");
    return text;
}

static void store_plan(const struct hn_plan *plan)
{
    struct hn_plan *again = NULL;
    struct hn_error err = {0};
    char *text FREED = plan_text(plan);
    json_auto_t *json = json_loads(text, 0, NULL);
    fuzz_require(json != NULL, "a plan's text is JSON");
    fuzz_require(hn_plan_from_json(json, &again, &err) == HN_OK, err.message);
    char *text_again FREED = plan_text(again);
    fuzz_require(strcmp(text, text_again) == 0, "a stored plan is the plan");
    hn_plan_destroy(again);
    free(hn_plan_signature(plan));
    (void)hn_plan_hash(plan);
    (void)hn_plan_options_hash(plan);
}

static void use_space(const struct hn_config *config, const struct hn_space *space)
{
    struct hn_bindings point ENDED_BY(hn_bindings_finish) = {0};
    struct hn_error err = {0};
    uint16_t *choice FREED = calloc(hn_space_parameter_count(space) + 1, sizeof *choice);
    fuzz_require(choice != NULL, "there is memory");
    struct hn_random random = hn_random_seeded(1);
    hn_space_sample(space, &random, choice);
    fuzz_require(hn_space_contains(space, choice), "a point that is drawn is valid");
    if (hn_space_enumerated(space)) {
        hn_space_point(space, hn_space_size(space) - 1, choice);
        fuzz_require(number_of_point(space, choice) == hn_space_size(space) - 1,
                     "the last point is found");
    }
    hn_config_default_point(config, space, &point);
    if (config->plan->template_path != NULL) {
        struct hn_launch launch;
        if (hn_launch_make(config->plan, &config->problems[0], &point, &launch, &err) == HN_OK)
            hn_launch_finish(&launch);
    }
    for (size_t i = 0; i < config->ladder_count && i < 4; i++) {
        struct hn_bindings step ENDED_BY(hn_bindings_finish) = {0};
        hn_config_complete(config, space, &point, &config->ladder[i], &step, &err);
    }
}

/* What was accepted can be drawn from, and has what is drawn. */
static void use_family(const struct hn_family *family)
{
    uint64_t at = 0;
    for (int i = 0; i < 4; i++) {
        const struct hn_bindings none = {0};
        struct hn_error err = {0};
        struct hn_bindings problem ENDED_BY(hn_bindings_finish) =
            hn_family_draw(family, &none, 1, &at, &err);
        bool drawn = fuzz_fine(err.status, &err);
        if (drawn)
            fuzz_require(hn_family_has(family, &problem, NULL), "what is drawn is of the family");
        if (!drawn)
            return;
    }
}

static void use_config(const struct hn_config *config)
{
    struct hn_space *space = NULL;
    struct hn_error err = {0};
    if (config->plan->template_path != NULL)
        store_plan(config->plan);
    if (config->family != NULL)
        use_family(config->family);
    if (fuzz_fine(hn_config_space(config, 0, false, &space, &err), &err))
        use_space(config, space);
    hn_space_destroy(space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hn_config *config = NULL;
    struct hn_error err = {0};
    const char *path = fuzz_write_file("config.yaml", data, size);
    if (fuzz_fine(hn_config_load(path, NULL, &config, &err), &err))
        use_config(config);
    if (config != NULL)
        hn_config_destroy(config);
    return 0;
}
