/* SPDX-License-Identifier: MIT */
#include "tuner/commands/tune_family.h"

#include <stdio.h>
#include <string.h>

#include "tuner/family/family_tune.h"
#include "tuner/family/held_out.h"

enum hn_status hn_tune_family_check(const struct hn_family_source *source,
                                    const struct hn_config *config, struct hn_error *err)
{
    enum hn_status status = hn_family_source_check(source, config, err);
    if (status == HN_OK && strcmp(config->plan->objective, "time") != 0)
        return hn_fail(err, HN_ECONFIG, "--family compares times, and the objective of %s is '%s'",
                       source->path, config->plan->objective);
    return status;
}

static void print_family(const struct hn_family_outcome *outcome)
{
    struct hn_text loss;
    hn_text_init(&loss);
    hn_rule_append_loss(&loss, &outcome->rule);
    hn_text_append(&loss, "\n");
    hn_held_out_append_default(&loss, &outcome->untuned);
    printf("%zu configuration%s for any size, chosen by a tree of %zu node%s\n"
           "%s\n"
           "learnt in %.0f s from %zu size%s, %zu of them tuned on their own, and %zu time%s of a "
           "configuration at a size\n",
           outcome->rule.configuration_count, hn_plural(outcome->rule.configuration_count),
           outcome->rule.node_count, hn_plural(outcome->rule.node_count),
           loss.data != NULL ? loss.data : "", outcome->elapsed_s, outcome->sizes,
           hn_plural(outcome->sizes), outcome->tuned, outcome->cells, hn_plural(outcome->cells));
    hn_text_finish(&loss);
}

static enum hn_status add_family(const struct hn_family_outcome *outcome, const char *kernel,
                                 json_t *results, struct hn_error *err)
{
    json_t *json =
        json_pack("{ss s{so sI sI sI sf sb so}}", "kernel", kernel, "family", "rule",
                  hn_rule_to_json(&outcome->rule), "sizes", (json_int_t)outcome->sizes, "tuned",
                  (json_int_t)outcome->tuned, "cells", (json_int_t)outcome->cells, "elapsed_s",
                  outcome->elapsed_s, "reached", (int)outcome->reached, "default",
                  hn_rule_loss_to_json(&outcome->untuned));
    return json != NULL && json_array_append_new(results, json) == 0 ? HN_OK : hn_fail_memory(err);
}

enum hn_status hn_tune_family(const struct hn_family_options *family, const char *kernel,
                              json_t *results, struct hn_error *err)
{
    struct hn_family_outcome outcome;
    enum hn_status status = hn_family_tune(family, &outcome, err);
    if (status == HN_OK && results != NULL)
        status = add_family(&outcome, kernel, results, err);
    else if (status == HN_OK)
        print_family(&outcome);
    hn_family_outcome_finish(&outcome);
    return status;
}
