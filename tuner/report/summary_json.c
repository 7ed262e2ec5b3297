/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "cache/record/front.h"
#include "cache/record/record_json.h"
#include "runtime/bench/roofs.h"
#include "tuner/report/findings.h"
#include "tuner/report/format.h"
#include "tuner/report/phases.h"
#include "tuner/report/roof.h"
#include "tuner/report/staging.h"
#include "tuner/report/summary.h"
#include "tuner/report/summary_edges.h"
#include "tuner/report/waits.h"

json_t *hn_health_to_json(const struct hn_health *health)
{
    char reasons[HN_FORMAT_SIZE * 2];
    hn_slowdowns_describe(health->reasons, reasons, sizeof reasons);
    return json_pack("{sb si si ss si}", "watching", health->watching, "checks",
                     (int)health->checks, "held_down", (int)health->held_down, "held_down_by",
                     reasons, "other_processes", (int)health->other_processes);
}

static json_t *time_to_json(const struct hn_session_state *state)
{
    const struct hn_usage *usage = &state->usage;
    return json_pack("{sf sf sf sf sf sf sf sf sf sf sf so so}", "elapsed_s", state->elapsed_s,
                     "compile_s", state->compile_s, "compile_cpu_s", usage->compile_cpu_s,
                     "compile_wall_s", usage->compile_wall_s, "verify_s", state->verify_s,
                     "measure_s", state->measure_s, "gpu_busy_s", state->gpu_busy_s, "gpu_idle_s",
                     fmax(state->elapsed_s - state->gpu_busy_s, 0), "overhead_s",
                     hn_phases_overhead_s(state), "overhead_ms_a_point",
                     hn_phases_overhead_ms_a_point(state), "noise", state->noise, "phases",
                     hn_phases_to_json(state), "waits", hn_waits_to_json(&state->waits));
}

/* A record with the share of its roof that it reaches. */
static json_t *record_to_json(const struct hn_backend *backend, const struct hn_roofs *roofs,
                              const struct hn_record *record)
{
    struct hn_roof roof;
    struct hn_findings findings;
    json_t *json = hn_record_to_json(record);
    hn_staging_add_json(record, json);
    hn_findings_make(record, roofs, 0, &findings);
    if (json != NULL && findings.known)
        json_object_set_new(json, "counted", hn_findings_to_json(&findings));
    if (json != NULL && roofs != NULL && hn_roof_of(roofs, backend, record, &roof))
        json_object_set_new(json, "roof",
                            json_pack("{ss sf ss*}", "name", roof.name, "share", roof.share,
                                      "beyond", hn_roof_beyond(roofs, backend, record)));
    return json;
}

static enum hn_status records_to_json(const struct hn_session *session,
                                      const struct hn_backend *backend,
                                      const struct hn_roofs *roofs,
                                      const struct hn_ranking *ranking, json_t *array,
                                      json_t *front, struct hn_error *err)
{
    /* Of each what decides on its place. */
    struct hn_record *all = calloc(ranking->count + 1, sizeof *all);
    enum hn_status status = all != NULL ? HN_OK : hn_fail_memory(err);
    for (size_t i = 0; status == HN_OK && i < ranking->count; i++) {
        struct hn_record record;
        status = hn_session_record(session, ranking->tickets[i], &record, err);
        if (status == HN_OK &&
            json_array_append_new(array, record_to_json(backend, roofs, &record)) != 0)
            status = hn_fail_memory(err);
        all[i] = (struct hn_record){.outcome = record.outcome, .observed = record.observed};
        hn_bindings_init(&record.observed);
        all[i].timing.median_us = record.timing.median_us;
        hn_record_finish(&record);
    }
    for (size_t i = 0; status == HN_OK && i < ranking->count; i++)
        if (hn_front_has(all, ranking->count, i))
            json_array_append_new(front, json_integer((json_int_t)i));
    for (size_t i = 0; all != NULL && i < ranking->count; i++)
        hn_record_finish(&all[i]);
    free(all);
    return status;
}

/* With --workers: where was measured. */
static json_t *cards_to_json(const struct hn_usage *usage)
{
    json_t *cards = json_array();
    for (size_t i = 0; i < usage->card_count; i++)
        json_array_append_new(
            cards, json_pack("{ss ss sI sf ss}", "host", usage->cards[i].host, "card",
                             usage->cards[i].card, "measured", (json_int_t)usage->cards[i].measured,
                             "ratio", usage->cards[i].ratio, "doing", usage->cards[i].doing));
    return cards;
}

static json_t *session_to_json(const struct hn_session *session, const struct hn_backend *backend,
                               const struct hn_roofs *roofs, const struct hn_edges *edges,
                               size_t tied, json_t *records, json_t *front)
{
    const struct hn_session_state *state = hn_session_state(session);
    const struct hn_identity *identity = &backend->task->identity;
    return json_pack(
        "{ss so ss ss ss si sb sb so sI sI so so sb sb si sf ss* so so sO so so so so sO}",
        "kernel", identity->kernel, "problem", hn_bindings_to_json(&identity->problem), "regime",
        identity->regime, "objective", identity->objective, "device", identity->device.name,
        "compute_capability", identity->device.capability, "simulated", backend->simulated, "stale",
        backend->task->stale, "points",
        state->points != UINT64_MAX ? json_integer((json_int_t)state->points) : json_null(),
        "reused", (json_int_t)state->reused, "cut", (json_int_t)state->cut, "outcomes",
        hn_session_counts_to_json(state), "chance",
        isnan(state->chance) ? json_null() : json_real(state->chance), "stopped", state->stopped,
        "unraced", state->unraced, "tied", (int)tied, "copy_gb_per_s", state->copy_gb_per_s,
        "no_counters", state->no_counters[0] != '\0' ? state->no_counters : NULL, "roofs",
        roofs != NULL ? hn_roofs_to_json(roofs) : json_null(), "best",
        tied > 0 ? json_incref(json_array_get(records, 0)) : json_null(), "records", records,
        "time", time_to_json(state), "health", hn_health_to_json(&state->usage.health), "edges",
        hn_edges_to_json(edges), "cards", cards_to_json(&state->usage), "front", front);
}

enum hn_status hn_summary_json(const struct hn_session *session, const struct hn_backend *backend,
                               const struct hn_roofs *roofs, json_t **json, struct hn_error *err)
{
    struct hn_ranking ranking;
    struct hn_edges edges = {0};
    json_t *records = json_array();
    json_t *front = json_array();
    *json = NULL;
    enum hn_status status = hn_session_ranking(session, &ranking, err);
    if (status == HN_OK)
        status = records_to_json(session, backend, roofs, &ranking, records, front, err);
    if (status == HN_OK)
        status = hn_summary_edges(session, backend, &edges, err);
    if (status == HN_OK) {
        *json = session_to_json(session, backend, roofs, &edges, ranking.tied, records, front);
        status = *json != NULL ? HN_OK : hn_fail_memory(err);
    }
    hn_edges_finish(&edges);
    hn_ranking_finish(&ranking);
    json_decref(records);
    json_decref(front);
    return status;
}
