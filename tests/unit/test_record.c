/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "cache/record/record.h"

#include "tests/unit/bindings_fixture.h"

/* A record with something in every field, and reals that have no short decimal form. */
static void make_record(struct hn_record *record)
{
    *record = (struct hn_record){0};
    set(&record->point, "LOAD", hn_word("ldg"));
    set(&record->point, "PAD", hn_integer(INT64_MAX));
    set(&record->point, "SCALE", hn_real(2.0));
    set(&record->point, "FAST", hn_boolean(true));
    record->outcome = HN_OUTCOME_DUPLICATE;
    record->message = strdup("same code as PAD=1");
    record->original = strdup("PAD=1");
    strcpy(record->code_hash, "0123456789abcdef0123456789abcdef");
    record->resources = (struct hn_resources){
        true, 255, 49152, 131072, 16, 8, 4, 12, 0.1, 1u << HN_WARNING_SERIALISED, 0};
    record->verdict = (struct hn_verdict){HN_SELF_VERIFIED, 1e-300, 1.0 / 3,    7.25, 2,
                                          INT64_MAX,        57,     5000000000, 3,    4};
    record->timing = (struct hn_timing){2674.1 / 3, 890,  900, 0.5, 3,   1,   1980, 2700,
                                        true,       NULL, 3,   2,   889, 899, 910,  2400};
    record->timing.samples_us = calloc(3, sizeof(double));
    for (int i = 0; i < 3; i++)
        record->timing.samples_us[i] = 2674.1 / (3 + i);
    record->costs = (struct hn_costs){145.25, 3.5, 0.1};
    set(&record->observed, "staging.chunks", hn_integer(16));
    set(&record->observed, "staging.kernels_us", hn_real(700.5));
    set(&record->observed, "conditions.held_down_by.power_cap", hn_boolean(true));
    set(&record->observed, "conditions.power_w", hn_real(412.5));
    set(&record->metrics, "gflops", hn_real(51234.5));
    set(&record->observed, "counters.dram_read_bytes", hn_real(268445696));
    record->objective = 2674.1 / 3;
    record->final = true;
    record->time = 1763697600.123456;
}

static void assert_timing_equal(const struct hn_timing *a, const struct hn_timing *b)
{
    assert_true(a->median_us == b->median_us && a->low_us == b->low_us &&
                a->high_us == b->high_us && a->resolution_us == b->resolution_us);
    assert_true(a->batch == b->batch && a->dropped == b->dropped && a->clock_mhz == b->clock_mhz &&
                a->unstable == b->unstable && a->host_us == b->host_us);
    assert_true(a->processes == b->processes && a->fastest_us == b->fastest_us &&
                a->middle_us == b->middle_us && a->slowest_us == b->slowest_us &&
                a->copy_gb_per_s == b->copy_gb_per_s);
    assert_int_equal(a->sample_count, b->sample_count);
    for (size_t i = 0; i < a->sample_count; i++)
        assert_true(a->samples_us[i] == b->samples_us[i]);
}

static void assert_records_equal(const struct hn_record *a, const struct hn_record *b)
{
    assert_true(hn_bindings_equal(&a->point, &b->point));
    assert_true(hn_bindings_equal(&a->metrics, &b->metrics));
    assert_true(hn_bindings_equal(&a->observed, &b->observed));
    assert_int_equal(a->outcome, b->outcome);
    assert_string_equal(a->message, b->message);
    assert_string_equal(a->original, b->original);
    assert_string_equal(a->code_hash, b->code_hash);
    assert_true(a->resources.known == b->resources.known &&
                a->resources.registers == b->resources.registers &&
                a->resources.shared_bytes == b->resources.shared_bytes &&
                a->resources.dynamic_shared_bytes == b->resources.dynamic_shared_bytes &&
                a->resources.local_bytes == b->resources.local_bytes &&
                a->resources.stack_bytes == b->resources.stack_bytes &&
                a->resources.spill_store_bytes == b->resources.spill_store_bytes &&
                a->resources.spill_load_bytes == b->resources.spill_load_bytes &&
                a->resources.occupancy == b->resources.occupancy &&
                a->resources.warnings == b->resources.warnings);
    assert_true(
        a->verdict.kind == b->verdict.kind && a->verdict.max_error == b->verdict.max_error &&
        a->verdict.tolerance == b->verdict.tolerance &&
        a->verdict.max_reference == b->verdict.max_reference &&
        a->verdict.seeds == b->verdict.seeds && a->verdict.seed == b->verdict.seed &&
        a->verdict.launches == b->verdict.launches && a->verdict.compared == b->verdict.compared &&
        a->verdict.differed == b->verdict.differed);
    assert_timing_equal(&a->timing, &b->timing);
    assert_true(a->costs.compile_ms == b->costs.compile_ms &&
                a->costs.verify_ms == b->costs.verify_ms &&
                a->costs.measure_ms == b->costs.measure_ms);
    assert_true(a->objective == b->objective && a->final == b->final && a->time == b->time);
}

TEST(copy_is_deep)
{
    struct hn_record record, copy ENDED_BY(hn_record_finish);
    make_record(&record);
    assert_ok(hn_record_copy(&copy, &record, &said));
    assert_records_equal(&record, &copy);
    assert_ptr_not_equal(record.timing.samples_us, copy.timing.samples_us);
    hn_record_finish(&record);
    assert_string_equal(copy.original, "PAD=1");
}

TEST(fail_replaces_outcome_and_message)
{
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    hn_record_fail(&record, HN_OUTCOME_COMPILE_ERROR, "line %d", 7);
    hn_record_fail(&record, HN_OUTCOME_WRONG_RESULT, "off by %g", 0.5);
    assert_int_equal(record.outcome, HN_OUTCOME_WRONG_RESULT);
    assert_string_equal(record.message, "off by 0.5");
}

TEST(json_text_round_trip_is_exact)
{
    struct hn_record record ENDED_BY(hn_record_finish), read ENDED_BY(hn_record_finish) = {0};
    make_record(&record);
    json_t *json = keep(hn_record_to_json(&record), json_decref);
    char *text = keep(json_dumps(json, JSON_COMPACT), free);
    json_t *parsed = keep(json_loads(text, 0, NULL), json_decref);
    assert_ok(hn_record_from_json(parsed, NULL, &read, &said));
    assert_records_equal(&record, &read);
    assert_int_equal(hn_bindings_get(&read.point, "SCALE")->type, HN_REAL);
}

/* As older versions wrote them, and as they are read by those. */
TEST(records_without_dynamic_shared_memory_do_not_speak_of_it)
{
    struct hn_record record ENDED_BY(hn_record_finish), read ENDED_BY(hn_record_finish) = {0};
    make_record(&record);
    record.resources.dynamic_shared_bytes = 0;
    json_t *json = keep(hn_record_to_json(&record), json_decref);
    const json_t *resources = json_object_get(json, "resources");
    assert_non_null(resources);
    assert_null(json_object_get(resources, "dynamic_shared_bytes"));
    assert_ok(hn_record_from_json(json, NULL, &read, &said));
    assert_records_equal(&record, &read);
    assert_int_equal(read.resources.shared_bytes + read.resources.dynamic_shared_bytes, 49152);
}

TEST(reals_that_json_can_not_say)
{
    const double reals[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        struct hn_value value = hn_real(reals[i]);
        struct hn_value read;
        json_auto_t *json = hn_value_to_json(&value);
        assert_ok(hn_value_from_json(json, &read, NULL));
        assert_int_equal(read.type, HN_REAL);
        assert_true(isnan(reals[i]) ? isnan(read.real) : read.real == reals[i]);
    }
}

TEST(message_that_is_no_utf8_is_kept_readable)
{
    struct hn_record record ENDED_BY(hn_record_finish) = {0};
    hn_record_fail(&record, HN_OUTCOME_COMPILE_ERROR, "bad \xff byte");
    json_t *json = keep(hn_record_to_json(&record), json_decref);
    assert_string_equal(json_string_value(json_object_get(json, "message")), "bad ? byte");
}

#define OUTCOMES                                                                                   \
    "record: 'outcome' is not one of ok, slower, duplicate, skipped, compile_stopped, "            \
    "invalid_launch, "                                                                             \
    "compile_error, compile_timeout, compile_crash, launch_error, wrong_result, out_of_bounds, "   \
    "device_fault, run_timeout, out_of_memory, worker_crash"

TEST(nonsense_is_refused_with_its_reason)
{
    static const char *const cases[][2] = {
        {"[]", "record: found an array, expected an object"},
        {"{}", "found nothing, expected an object of names and values"},
        {"{\"point\": {}}", OUTCOMES},
        {"{\"point\": {}, \"outcome\": \"good\"}", OUTCOMES},
        {"{\"point\": {\"A\": null}, \"outcome\": \"ok\"}", "found null, expected a value"},
        {"{\"point\": {\"A B\": 1}, \"outcome\": \"ok\"}", "found the name 'A B', expected a word"},
        {"{\"point\": {\"A\": \"x,y\"}, \"outcome\": \"ok\"}",
         "found the string 'x,y', expected a word"},
        {"{\"point\": {\"A\": {\"real\": \"many\"}}, \"outcome\": \"ok\"}",
         "found an object, expected a value"},
        {"{\"point\": {}, \"outcome\": \"ok\", \"code_hash\": \"../../etc\"}",
         "record: 'code_hash' is not a hash of 32 hexadecimal digits"},
        {"{\"point\": {}, \"outcome\": \"ok\", \"resources\": {\"registers\": -1}}",
         "record: 'registers' is not an integer of 0 to 2147483647"},
        {"{\"point\": {}, \"outcome\": \"ok\", \"resources\": {\"dynamic_shared_bytes\": \"1\"}}",
         "record: 'dynamic_shared_bytes' is not an integer of 0 to 2147483647"},
        {"{\"point\": {}, \"outcome\": \"ok\", \"timing\": {\"samples_us\": [1, \"2\"]}}",
         "record: 'samples_us' is not a number"},
        {"{\"point\": {}, \"outcome\": \"ok\", \"timing\": {\"median_us\": \"fast\"}}",
         "record: 'median_us' is not a number"},
        {"{\"point\": {}, \"outcome\": \"ok\", \"verdict\": {\"kind\": \"sure\"}}",
         "record: 'kind' is not one of unverified, self-verified, verified, not recorded"},
        {"{\"point\": {}, \"outcome\": \"ok\", \"final\": 1}",
         "record: 'final' is not true or false"},
        {"{\"point\": {}, \"outcome\": \"ok\", \"message\": 1}",
         "record: 'message' is not a string"},
        {"{\"point\": {}, \"outcome\": \"ok\", \"timing\": []}",
         "record: 'timing' is not an object"},
        {"{\"point\": {}, \"outcome\": \"ok\", \"energy\": {\"joules\": \"few\"}}",
         "record: 'joules' is not a number"},
        {"{\"point\": {}, \"outcome\": \"ok\", \"energy\": {\"joules\": -1}}",
         "'joules' is -1, expected a number that is not negative"},
        {"{\"point\": {}, \"outcome\": \"ok\", \"new one\": {\"joules\": 1}}",
         "record: found 'joules' in 'new one', expected words"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hn_record record ENDED_BY(hn_record_finish) = {0};
        json_auto_t *json = json_loads(cases[i][0], 0, NULL);
        assert_non_null(json);
        assert_error(hn_record_from_json(json, NULL, &record, &said), HN_EFORMAT, cases[i][1]);
    }
}

TEST(the_best_is_ok_and_of_the_final_race)
{
    struct hn_record fast = {.outcome = HN_OUTCOME_OK, .objective = 1};
    struct hn_record raced = {.outcome = HN_OUTCOME_OK, .objective = 3, .final = true};
    struct hn_record slow = {.outcome = HN_OUTCOME_OK, .objective = 4, .final = true};
    struct hn_record bound = {.outcome = HN_OUTCOME_SLOWER, .objective = 0.5};
    struct hn_record none = {.outcome = HN_OUTCOME_OK, .objective = NAN};
    assert_true(hn_record_beats(&fast, NULL));
    assert_true(hn_record_beats(&raced, &fast));
    assert_false(hn_record_beats(&fast, &raced));
    assert_true(hn_record_beats(&raced, &slow));
    assert_false(hn_record_beats(&raced, &raced));
    assert_false(hn_record_beats(&bound, NULL));
    assert_false(hn_record_beats(&none, NULL));
    assert_true(hn_record_beats(&fast, &none));
    assert_true(hn_record_beats(&slow, &bound));
}

TEST(exact_ties_are_in_the_order_of_their_points)
{
    static const char *const ascending[] = {"BLOCK=64,LOAD=ldg", "BLOCK=128,LOAD=ldg",
                                            "BLOCK=256,LOAD=ldg", "BLOCK=64,LOAD=plain"};
    enum { COUNT = sizeof ascending / sizeof *ascending };
    struct hn_record records[COUNT] = {{.outcome = HN_OUTCOME_OK}};
    for (size_t i = 0; i < COUNT; i++)
        assert_ok(hn_bindings_parse(ascending[i], &records[i].point, &said));
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < COUNT; j++)
            assert_int_equal(hn_record_beats(&records[i], &records[j]), i < j);
    for (size_t i = 0; i < COUNT; i++)
        hn_record_finish(&records[i]);
}
