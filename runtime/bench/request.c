/* SPDX-License-Identifier: MIT */
#include "runtime/bench/request.h"

static const struct hn_field request_fields[] = {
    {.key = "verify", .kind = HN_FIELD_FLAG, HN_AT(hn_bench_request, verify)},
    {.key = "measure", .kind = HN_FIELD_FLAG, HN_AT(hn_bench_request, measure)},
    {.key = "full", .kind = HN_FIELD_FLAG, HN_AT(hn_bench_request, full)},
    {.key = "audit", .kind = HN_FIELD_FLAG, HN_AT(hn_bench_request, audit)},
    {.key = "audit_memory", .kind = HN_FIELD_FLAG, HN_AT(hn_bench_request, audit_memory)},
    {.key = "trial", HN_CHOICE(hn_bench_request, trial, hn_suspicion_names)},
    {.key = "repeat_ms", .kind = HN_FIELD_AMOUNT, HN_AT(hn_bench_request, repeat_ms)},
    {.key = "energy_s", .kind = HN_FIELD_AMOUNT, HN_AT(hn_bench_request, energy_s)},
    {.key = "parts", .kind = HN_FIELD_FLAG, HN_AT(hn_bench_request, parts)},
    {.key = "counters", .kind = HN_FIELD_FLAG, HN_AT(hn_bench_request, counters)},
    {.key = "censor_us", .kind = HN_FIELD_AMOUNT, HN_AT(hn_bench_request, censor_us)},
    {.key = "censor_clock_mhz", .kind = HN_FIELD_AMOUNT, HN_AT(hn_bench_request, censor_clock_mhz)},
    {.key = "target", .kind = HN_FIELD_AMOUNT, HN_AT(hn_bench_request, target)},
};
const struct hn_structure hn_bench_request_structure =
    HN_STRUCTURE(hn_bench_request, request_fields, NULL);

static void check_rules(struct hn_json_reader *reader, void *owner)
{
    const struct hn_race_rules *rules = owner;
    hn_json_expect(reader, rules->max_rounds > 0, "max_rounds", "at least 1");
}

static const struct hn_field rules_fields[] = {
    {.key = "min_rounds", .kind = HN_FIELD_COUNT, HN_AT(hn_race_rules, min_rounds)},
    {.key = "max_rounds",
     .needed = true,
     .kind = HN_FIELD_COUNT,
     .most = HN_RACE_MOST_ROUNDS,
     HN_AT(hn_race_rules, max_rounds)},
    {.key = "budget_ms", .kind = HN_FIELD_AMOUNT, HN_AT(hn_race_rules, budget_ms)},
};
const struct hn_structure hn_race_rules_structure =
    HN_STRUCTURE(hn_race_rules, rules_fields, check_rules);
