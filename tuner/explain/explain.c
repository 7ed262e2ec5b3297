/* SPDX-License-Identifier: MIT */
#include "tuner/explain/explain.h"

#include <stdlib.h>

#include "base/memory.h"

/* Forests and samples are the same for the same records. */
static const uint64_t seed = 1;

/* False where no limits are known of such a device; then it has none but its name. */
static bool describe_device(const struct hn_task *task, struct hn_device *device)
{
    char architecture[16];
    struct hn_error ignored;
    const struct hn_device_identity *identity = &task->identity.device;
    snprintf(architecture, sizeof architecture, "sm_%d", identity->capability);
    bool known = hn_device_for_architecture(architecture, device, &ignored) == HN_OK;
    if (!known)
        *device = (struct hn_device){0};
    device->identity = *identity;
    return known;
}

struct lookup {
    const struct hn_evidence *evidence;
    uint16_t *choice;
};

static bool look_up(void *context, const struct hn_bindings *point, struct hn_edge_time *time)
{
    const struct lookup *lookup = context;
    const struct hn_evidence *evidence = lookup->evidence;
    if (hn_space_choice(evidence->space, point, lookup->choice, NULL) != HN_OK)
        return false;
    size_t found = hn_evidence_find(evidence, lookup->choice);
    if (found == SIZE_MAX || found >= evidence->count)
        return false;
    hn_edge_time_of(hn_evidence_record(evidence, found), time);
    return true;
}

static void find_edges(struct hn_explanation *explanation, bool device_known,
                       const struct hn_edge_compiler *compiler)
{
    const struct hn_evidence *evidence = &explanation->evidence;
    struct lookup lookup = {evidence, hn_need(evidence->parameters, sizeof *lookup.choice)};
    hn_edges_find(explanation->task, device_known ? &explanation->device : NULL,
                  hn_evidence_record(evidence, evidence->best), look_up, &lookup, compiler,
                  &explanation->edges);
    free(lookup.choice);
}

void hn_explain(const struct hn_explain_input *input, struct hn_explanation *explanation)
{
    *explanation = (struct hn_explanation){
        .task = input->task,
        .roofs = input->roofs,
        .measure = input->measure,
        .simulated = input->simulated,
        .stale = input->stale,
        .origin = input->origin,
    };
    bool known = describe_device(input->task, &explanation->device);
    struct hn_evidence *evidence = &explanation->evidence;
    hn_evidence_make(input->task->space, input->records, evidence);
    hn_warned_find(evidence, input->task->plan->refused, &explanation->warned);
    hn_effects_find(evidence, seed, &explanation->effects);
    hn_evidence_of_compiling(input->task->space, input->records, &explanation->compiling);
    hn_effects_find(&explanation->compiling, seed, &explanation->compile_effects);
    hn_common_find(evidence, &explanation->common);
    if (evidence->best != SIZE_MAX) {
        const struct hn_record *best = hn_evidence_record(evidence, evidence->best);
        hn_bounds_find(input->task, &explanation->device, input->roofs, best, &explanation->bounds);
        hn_findings_make(best, input->roofs, 0, &explanation->findings);
        find_edges(explanation, known, input->compiler);
    }
    hn_explain_advise(input, explanation);
}

void hn_explanation_finish(struct hn_explanation *explanation)
{
    hn_evidence_finish(&explanation->evidence);
    hn_effects_finish(&explanation->effects);
    hn_evidence_finish(&explanation->compiling);
    hn_effects_finish(&explanation->compile_effects);
    hn_common_finish(&explanation->common);
    hn_edges_finish(&explanation->edges);
    for (size_t i = 0; i < explanation->advice_count; i++)
        free(explanation->advice[i].text);
    free(explanation->advice);
    *explanation = (struct hn_explanation){0};
}
