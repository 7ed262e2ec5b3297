/* SPDX-License-Identifier: MIT */
#include "cache/record/gate.h"

#include <math.h>
#include <time.h>

#include "tests/unit/store_fixture.h"

/* Clears err, so that the gate can be asked anew. */
static void assert_says(struct hn_error *err, const char *expected)
{
    if (expected == NULL && hn_failed(err))
        fail_msg("refused: %s", err->message);
    if (expected != NULL) {
        assert_int_equal(err->status, HN_EFORMAT);
        if (strstr(err->message, expected) == NULL)
            fail_msg("'%s' does not say '%s'", err->message, expected);
    }
    hn_error_init(err);
}

TEST(times_are_what_times_can_be)
{
    static const struct {
        double median_us, low_us, high_us;
        const char *message;
    } cases[] = {
        {7, 6.5, 7.5, NULL},
        {7, 7, 7, NULL},
        {7, 0, 0, NULL}, /* no interval */
        {0, 0, 0, "the time is 0 us, expected 0.001 us to a year"},
        {-1, 0, 0, "the time is -1 us"},
        {1e-320, 0, 0, "the time is 9.99989e-321 us"},
        {INFINITY, 0, 0, "the time is inf us"},
        {NAN, 0, 0, "the time is nan us"},
        {1e308, 0, 0, "the time is 1e+308 us"},
        {7, 8, 9, "the interval is 8 to 9 us, expected one around the time of 7 us"},
        {7, 5, 6, "the interval is 5 to 6 us"},
        {7, 5, INFINITY, "the interval is 5 to inf us"},
        {7, NAN, 8, "the interval is nan to 8 us"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hn_record record ENDED_BY(hn_record_finish);
        struct hn_error err = {0};
        make_record(&record, 16, cases[i].median_us);
        record.timing.low_us = cases[i].low_us;
        record.timing.high_us = cases[i].high_us;
        hn_gate_record(&record, "time", &err);
        assert_says(&err, cases[i].message);
        record.outcome = HN_OUTCOME_COMPILE_ERROR;
        record.timing = (struct hn_timing){.median_us = 0};
        hn_gate_record(&record, "time", &err);
        assert_says(&err, NULL);
    }
}

TEST(objectives_follow_from_what_was_measured)
{
    static const struct {
        const char *objective;
        double value;
        const char *message;
    } cases[] = {
        {"time", 71, NULL},
        {"time", -5, "the objective (time) is -5, expected 71"},
        {"gflops maximize", -3.5, NULL},
        {"gflops maximize", -INFINITY, NULL}, /* as older versions kept it */
        {"gflops maximize", 3.5, "the objective (gflops maximize) is 3.5, expected -3.5"},
        {"gflops minimize", 3.5, NULL},
        {"energy minimize", 3.5, "the objective (energy minimize) is 3.5, expected nan"},
        {"joules minimize", 3.5, "the objective (joules minimize) is 3.5, expected nan"},
        {NULL, -5, NULL}, /* not known */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hn_record record ENDED_BY(hn_record_finish);
        struct hn_error err = {0};
        struct hn_value gflops = hn_real(isinf(cases[i].value) ? (double)INFINITY : 3.5);
        make_record(&record, 16, 71);
        assert_ok(hn_bindings_set(&record.metrics, "gflops", &gflops, NULL));
        record.objective = cases[i].value;
        hn_gate_record(&record, cases[i].objective, &err);
        assert_says(&err, cases[i].message);
    }
}

TEST(the_rest_of_a_record_is_in_range)
{
    struct hn_error err = {0};
    struct hn_record record ENDED_BY(hn_record_finish);
    double sample = 0;
    make_record(&record, 16, 7);
    record.costs.compile_ms = -1;
    hn_gate_record(&record, NULL, &err);
    assert_says(&err, "'compile_ms' is -1");
    record.costs.compile_ms = 1;
    record.time = NAN;
    hn_gate_record(&record, NULL, &err);
    assert_says(&err, "'time' is nan");
    record.time = 1e308;
    hn_gate_record(&record, NULL, &err);
    assert_says(&err, "'time' is 1e+308");
    record.time = 0;
    record.resources.occupancy = 1.5;
    hn_gate_record(&record, NULL, &err);
    assert_says(&err, "'occupancy' is 1.5");
    record.resources.occupancy = 1;
    record.timing.samples_us = &sample;
    record.timing.sample_count = 1;
    hn_gate_record(&record, NULL, &err);
    assert_says(&err, "sample 0 is 0 us");
    sample = 7;
    hn_gate_record(&record, NULL, &err);
    assert_says(&err, NULL);
    record.timing.samples_us = NULL;
    record.timing.sample_count = 0;
    record.timing.processes = 2;
    hn_gate_record(&record, NULL, &err);
    assert_says(&err, "the times of 2 processes are 0 to 0 us");
    record.timing.fastest_us = 7;
    record.timing.slowest_us = 6;
    hn_gate_record(&record, NULL, &err);
    assert_says(&err, "the times of 2 processes are 7 to 6 us");
    record.timing.slowest_us = record.timing.middle_us = 7;
    hn_gate_record(&record, NULL, &err);
    assert_says(&err, NULL);
}

static void set_name(char **name, const char *to)
{
    free(*name);
    *name = strdup(to);
}

TEST(identities_are_of_words_and_lines)
{
    static const struct {
        size_t part;
        const char *text, *message;
    } cases[] = {
        {0, "sgemm_2", NULL},
        {0, "k */ evil(); /*", "the kernel is named 'k */ evil(); /*', expected a word"},
        {0, "", "the kernel is named ''"},
        {1, "Kernel Tuner: a,b", NULL},
        {1, "x\033[2J", "the signature has a control character (0x1b) at byte 1"},
        {1, "x\xc2\x9b", "the signature has a control character (0xc2) at byte 1"},
        {2, "warm", NULL},
        {2, "unknown", NULL},
        {2, "hot",
         "the regime is 'hot', expected cold, warm, stream, graph or graph10, or unknown"},
        {3, "gflops maximize", NULL},
        {3, "gflops most", "the objective is 'gflops most'"},
        {3, "a b minimize", "the objective is 'a b minimize'"},
        {4, "NVIDIA H200\n", "the device's name has a control character (0x0a) at byte 11"},
        {4, "Gerät", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hn_identity identity ENDED_BY(hn_identity_finish);
        struct hn_error err = {0};
        make_identity(&identity, 4096);
        char **parts[] = {&identity.kernel, &identity.signature, &identity.regime,
                          &identity.objective};
        if (cases[i].part < 4)
            set_name(parts[cases[i].part], cases[i].text);
        else
            strcpy(identity.device.name, cases[i].text);
        hn_gate_identity(&identity, &err);
        assert_says(&err, cases[i].message);
    }
}

static void pass_version(const struct hn_version *version, struct hn_error *err)
{
    struct hn_version read = {.protocol = 0};
    json_auto_t *json = hn_fields_to_json(&hn_version_structure, version);
    hn_fields_read("version", &hn_version_structure, json, &read, err);
}

TEST(versions_are_of_hashes_and_lines)
{
    struct hn_error err = {0};
    struct hn_version version = version_1;
    pass_version(&version, &err);
    assert_says(&err, NULL);
    strcpy(version.plan_hash, "../../etc");
    pass_version(&version, &err);
    assert_says(&err, "the hash of the plan is '../../etc'");
    version = version_1;
    strcpy(version.driver, "580\r");
    pass_version(&version, &err);
    assert_says(&err, "the driver's version has a control");
}

TEST(dates_may_differ_by_a_day)
{
    struct hn_error err = {0};
    double now = (double)time(NULL);
    hn_gate_date(0, &err);
    assert_says(&err, NULL);
    hn_gate_date(now + 23 * 3600, &err);
    assert_says(&err, NULL);
    hn_gate_date(now + 25 * 3600, &err);
    assert_says(&err, "in the future");
    hn_gate_date(-1, &err);
    assert_says(&err, "is -1 seconds");
    hn_gate_date(NAN, &err);
    assert_says(&err, "seconds since 1970");
}

TEST(moments_have_a_calendar_date)
{
    struct hn_error err = {0};
    hn_gate_moment("imported", 0, &err);
    assert_says(&err, NULL);
    hn_gate_moment("imported", 253402300799, &err);
    assert_says(&err, NULL);
    hn_gate_moment("imported", 253402300801, &err);
    assert_says(&err, "at most 253402300799");
    hn_gate_moment("imported", -1, &err);
    assert_says(&err, "'imported' is -1");
    hn_gate_moment("imported", NAN, &err);
    assert_says(&err, "'imported' is nan");
}

TEST(control_characters_of_logs_are_replaced)
{
    char text[] = "a\tb\n\033[2J \x7f ä \xc2\x9b.";
    hn_gate_clean(text);
    assert_string_equal(text, "a\tb\n?[2J ? ä ??.");
}

TEST(json_is_weighed_before_it_is_parsed)
{
    struct hn_error err = {0};
    static char text[16000002];
    memset(text, ',', sizeof text);
    hn_gate_json(text, 8000000, &err);
    assert_says(&err, NULL);
    hn_gate_json(text, 8000001, &err);
    assert_says(&err, "more than 8000000 values");
    memset(text, '{', sizeof text);
    hn_gate_json(text, 2000000, &err);
    assert_says(&err, NULL);
    hn_gate_json(text, 2000001, &err);
    assert_says(&err, "more than 8000000 values");
    text[0] = '"';
    hn_gate_json(text, sizeof text, &err);
    assert_says(&err, NULL);
    memcpy(text, "\"\\\"", 3);
    hn_gate_json(text, sizeof text, &err);
    assert_says(&err, NULL);
}
