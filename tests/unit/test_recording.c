/* SPDX-License-Identifier: MIT */
#include "cache/recording/recording.h"

#include <sys/stat.h>

#include "base/file.h"
#include "cache/record/record.h"
#include "tests/unit/bindings_fixture.h"

#define DATA HONE_TEST_DATA "/kernel_tuner/"

static char folder[] = "/tmp/hone-recording-XXXXXX";
static char path[64];
static char packed[64];

static int make_folder(void **state)
{
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/r.json", folder);
    snprintf(packed, sizeof packed, "%s/r.json.gz", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)unlink(path);
    (void)unlink(packed);
    return rmdir(folder);
}

ALL_TESTS(make_folder, remove_folder)

static struct hn_recording *load(const char *from)
{
    struct hn_recording *recording = keep_new(struct hn_recording, hn_recording_finish);
    assert_ok(hn_recording_load(from, recording, &said));
    return recording;
}

static void save(const char *to, const struct hn_recording *recording)
{
    assert_ok(hn_recording_save(to, recording, &said));
}

/* Samples whose milliseconds are exact (from the driver's floats), and thirds, which are not. */
static void fill_timing(struct hn_record *record, bool exact)
{
    record->timing = (struct hn_timing){.batch = exact ? 1 : 3,
                                        .resolution_us = 0.5,
                                        .clock_mhz = 1980,
                                        .dropped = 1,
                                        .sample_count = 9};
    record->timing.samples_us = calloc(9, sizeof(double));
    for (int i = 0; i < 9; i++) {
        float ms = 2.674123f + 0.001f * (float)i;
        record->timing.samples_us[i] = (double)ms * 1000 / record->timing.batch;
    }
    record->timing.median_us = record->timing.samples_us[4];
    record->timing.low_us = record->timing.samples_us[1];
    record->timing.high_us = record->timing.samples_us[7];
    record->objective = -51234.123;
    record->costs = (struct hn_costs){145.1, 0.1 + 0.2, 12};
    set(&record->metrics, "gflops", hn_real(51234.123));
    set(&record->metrics, "TILE", hn_real(1));
    record->verdict = (struct hn_verdict){HN_VERIFIED, 1e-6, 1e-5, 63.5, 2, 0, 0, 0};
    record->resources =
        (struct hn_resources){true, 128, 49152, exact ? 0 : 65536, 0, 0, 0, 0, 0.5, 0, 0};
    strcpy(record->code_hash, "0123456789abcdef0123456789abcdef");
    record->time = 1763697600.123457;
}

static void make_records(struct hn_recording *recording)
{
    struct hn_records *records = &recording->records;
    records->items = calloc(HN_OUTCOME_COUNT + 2, sizeof *records->items);
    for (int i = 0; i < HN_OUTCOME_COUNT + 2; i++) {
        struct hn_record *record = &records->items[records->count++];
        *record = (struct hn_record){0};
        set(&record->point, "TILE", hn_integer(1 << i));
        set(&record->point, "LOAD", hn_word(i % 2 == 0 ? "plain" : "ldg"));
        set(&record->point, "SCALE", hn_real(i / 3.0));
        set(&record->point, "ASYNC", hn_boolean(i % 3 == 0));
        if (i < HN_OUTCOME_COUNT)
            record->outcome = (enum hn_outcome)i;
        if (i > 2 && i < HN_OUTCOME_COUNT)
            hn_record_fail(record, (enum hn_outcome)i, "what went wrong \"%d\"", i);
        else
            fill_timing(record, i % 2 == 0);
        if (i == HN_OUTCOME_DUPLICATE)
            record->original = strdup("ASYNC=true,LOAD=plain,SCALE=0.0,TILE=1");
        record->final = i == 0;
    }
}

static struct hn_recording *make_recording(void)
{
    struct hn_recording *recording = keep_new(struct hn_recording, hn_recording_finish);
    static const char *const names[] = {"TILE", "LOAD", "SCALE", "ASYNC"};
    *recording = (struct hn_recording){.from_hone = true, .parameter_count = 4};
    recording->identity = (struct hn_identity){0};
    recording->identity.kernel = strdup("matmul");
    recording->identity.signature = strdup("A:float32:input,C:float32:output");
    recording->identity.regime = strdup("cold");
    recording->identity.objective = strdup("gflops maximize");
    recording->identity.device = (struct hn_device_identity){"NVIDIA H200", 90, 132, "1g.18gb"};
    set(&recording->identity.problem, "N", hn_integer(4096));
    set(&recording->identity.problem, "LAYOUT", hn_word("row"));
    recording->version = (struct hn_version){.template_hash = "11111111111111111111111111111111",
                                             .driver = "580.159.04",
                                             .nvrtc = "13.0",
                                             .protocol = 1};
    recording->parameters = calloc(4, sizeof(char *));
    for (int i = 0; i < 4; i++)
        recording->parameters[i] = strdup(names[i]);
    recording->command = strdup("hone tune configs/matmul.yaml --full");
    recording->date = strdup("2026-11-21T09:54:05Z");
    make_records(recording);
    return recording;
}

static void assert_records_equal(const struct hn_record *a, const struct hn_record *b)
{
    json_auto_t *first = hn_record_to_json(a);
    json_auto_t *second = hn_record_to_json(b);
    char *first_text FREED = json_dumps(first, JSON_SORT_KEYS);
    char *second_text FREED = json_dumps(second, JSON_SORT_KEYS);
    assert_string_equal(first_text, second_text);
}

static void assert_recordings_equal(const struct hn_recording *a, const struct hn_recording *b)
{
    assert_true(hn_identity_equal(&a->identity, &b->identity));
    assert_true(hn_version_equal(&a->version, &b->version));
    assert_int_equal(a->from_hone, b->from_hone);
    assert_int_equal(a->parameter_count, b->parameter_count);
    for (size_t i = 0; i < a->parameter_count; i++)
        assert_string_equal(a->parameters[i], b->parameters[i]);
    assert_string_equal(a->command, b->command);
    assert_string_equal(a->date, b->date);
    assert_int_equal(a->records.count, b->records.count);
    for (size_t i = 0; i < a->records.count; i++)
        assert_records_equal(&a->records.items[i], &b->records.items[i]);
}

TEST(round_trip_is_exact)
{
    const char *const paths[] = {path, packed};
    struct hn_recording *recording = make_recording();
    for (int i = 0; i < 2; i++) {
        save(paths[i], recording);
        assert_recordings_equal(recording, load(paths[i]));
    }
    struct stat plain, small;
    assert_int_equal(stat(path, &plain), 0);
    assert_int_equal(stat(packed, &small), 0);
    assert_true(small.st_size < plain.st_size / 2);
}

static char *saved_text(void)
{
    char *text;
    save(path, make_recording());
    assert_ok(hn_file_read(path, 1 << 20, &text, NULL, NULL));
    return keep(text, free);
}

TEST(kernel_tuner_finds_its_members)
{
    char *text = saved_text();
    json_t *root = keep(json_loads(text, JSON_REJECT_DUPLICATES, NULL), json_decref);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "device_name")), "NVIDIA H200");
    assert_string_equal(json_string_value(json_object_get(root, "objective")), "gflops");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(root, "problem_size"), 0)),
                     4096);
    const json_t *values = json_object_get(json_object_get(root, "tune_params"), "LOAD");
    assert_int_equal(json_array_size(values), 2);
    const json_t *cache = json_object_get(root, "cache");
    assert_int_equal(json_object_size(cache), HN_OUTCOME_COUNT + 2);
    const json_t *row = json_object_get(cache, "1,plain,0.0,True");
    assert_non_null(row);
    assert_true(fabs(json_real_value(json_object_get(row, "time")) - 2.678) < 0.001);
    assert_int_equal(json_array_size(json_object_get(row, "times")), 9);
    assert_true(json_real_value(json_object_get(row, "compile_time")) == 145.1);
    assert_true(json_real_value(json_object_get(row, "gflops")) == 51234.123);
    /* The parameter, not the metric of the same name. */
    assert_int_equal(json_integer_value(json_object_get(row, "TILE")), 1);
    assert_string_equal(json_string_value(json_object_get(row, "timestamp")),
                        "2025-11-21 04:00:00.123457+00:00");
    /* Exact times stand in the row only. */
    assert_null(
        json_object_get(json_object_get(json_object_get(row, "hone"), "timing"), "samples_us"));
}

TEST(failures_have_kernel_tuners_names)
{
    static const struct {
        enum hn_outcome outcome;
        const char *name;
    } cases[] = {
        {HN_OUTCOME_COMPILE_ERROR, "CompilationFailedConfig"},
        {HN_OUTCOME_COMPILE_TIMEOUT, "CompilationFailedConfig"},
        {HN_OUTCOME_SKIPPED, "InvalidConfig"},
        {HN_OUTCOME_INVALID_LAUNCH, "InvalidConfig"},
        {HN_OUTCOME_WRONG_RESULT, "RuntimeFailedConfig"},
        {HN_OUTCOME_DEVICE_FAULT, "RuntimeFailedConfig"},
    };
    char *text = saved_text();
    json_t *root = keep(json_loads(text, 0, NULL), json_decref);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *key;
        json_t *row;
        json_object_foreach(json_object_get(root, "cache"), key, row)
        {
            const char *outcome =
                json_string_value(json_object_get(json_object_get(row, "hone"), "outcome"));
            if (strcmp(outcome, hn_outcome_names[cases[i].outcome]) == 0)
                assert_string_equal(json_string_value(json_object_get(row, "time")), cases[i].name);
        }
    }
}

TEST(one_row_a_line)
{
    char *text = saved_text();
    int rows = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        rows += strstr(line, "\"hone\": {\"outcome\"") != NULL;
    assert_int_equal(rows, HN_OUTCOME_COUNT + 2);
}

TEST(unfinished_file_of_kernel_tuner)
{
    struct hn_recording *recording = load(DATA "unfinished.json");
    assert_int_equal(recording->records.count, 2);
    const struct hn_record *record = &recording->records.items[0];
    assert_true(record->timing.median_us == 250);
    assert_true(record->timing.low_us == 125 && record->timing.high_us == 500);
    assert_true(record->time == 1703238845.5);
    assert_true(record->costs.compile_ms == 120.5 && record->costs.measure_ms == 1.25);
    assert_int_equal(record->metrics.count, 1);
    assert_true(hn_bindings_get(&record->metrics, "bandwidth")->real == 480);
    assert_string_equal(hn_bindings_get(&record->point, "layout")->word, "soa");
    assert_true(hn_bindings_get(&record->point, "fast")->boolean);
    assert_int_equal(recording->records.items[1].outcome, HN_OUTCOME_INVALID_LAUNCH);
}

static void assert_refused(const char *text, const char *part)
{
    struct hn_recording recording ENDED_BY(hn_recording_finish);
    assert_ok(hn_file_write(path, text, strlen(text), NULL));
    assert_mentions(hn_recording_load(path, &recording, &said), HN_EFORMAT, part);
}

#define HEAD                                                                                       \
    "{\"device_name\": \"A100\", \"kernel_name\": \"k\", \"problem_size\": [1],"                   \
    " \"tune_params_keys\": [\"a\"], \"cache\": {"

TEST(nonsense_is_refused_with_its_place)
{
    static const char *const cases[][2] = {
        {"", "line 1, column 0"},
        {"kernel: matmul\n", "it is no JSON: line 1, column 6: '[' or '{' expected"},
        {"{\"a\": 1}", "neither a recording of Hone nor a cache file of Kernel Tuner"},
        {"{\"cache\": {}}", "recording: 'kernel_name' is not a string"},
        {"{\"kernel_name\": \"k\", \"cache\": {}}", "recording: 'tune_params_keys' is not a list"},
        {"{\"kernel_name\": \"k\", \"tune_params_keys\": [\"a b\"], \"cache\": {}}",
         "recording: 'tune_params_keys' is not a name"},
        {HEAD "\"1\": {\"time\": 1}}}", "row '1': parameter 'a' is missing"},
        {HEAD "\"1\": 5}}", "row '1': the row is an integer, expected an object"},
        {HEAD "\"1\": {\"a\": \"x y\", \"time\": 1}}}", "row '1': found the string 'x y'"},
        {HEAD "\"1\": {\"a\": 1, \"time\": 1, \"times\": [1, \"2\"]}}}",
         "row '1': row: 'times' is not a number"},
        {HEAD "\"1\": {\"a\": 1, \"time\": 1}, \"2\": {\"a\": 1, \"time\": 2}}}",
         "row '2': the point a=1 is there twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i][0], cases[i][1]);
}

TEST(times_that_are_none_are_failures)
{
    static const char text[] =
        HEAD "\"1\": {\"a\": 1}, \"2\": {\"a\": 2, \"time\": -2},"
             "\"3\": {\"a\": 3, \"time\": \"Oops\"}, \"4\": {\"a\": 4, \"time\": 1e20},"
             "\"5\": {\"a\": 5, \"time\": NaN}, \"6\": {\"a\": 6, \"time\": 3, \"x\": Infinity},"
             "\"7\": {\"a\": 7, \"__error__\": \"CompilationFailedConfig\"}}}";
    assert_ok(hn_file_write(path, text, strlen(text), NULL));
    struct hn_recording *recording = load(path);
    assert_int_equal(recording->records.count, 7);
    assert_int_equal(recording->records.items[6].outcome, HN_OUTCOME_COMPILE_ERROR);
    assert_string_equal(recording->records.items[6].message, "CompilationFailedConfig");
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(recording->records.items[i].outcome, HN_OUTCOME_LAUNCH_ERROR);
    assert_string_equal(recording->records.items[0].message, "Kernel Tuner noted no time");
    assert_string_equal(recording->records.items[2].message, "Oops");
    assert_int_equal(recording->records.items[5].outcome, HN_OUTCOME_OK);
    assert_int_equal(recording->records.items[5].metrics.count, 0);
}

TEST(truncated_recording_of_hone_is_refused)
{
    char *text = saved_text();
    size_t length = strlen(text);
    for (size_t cut = length - 3; cut > 700; cut -= 211) {
        text[cut] = '\0';
        assert_refused(text, "it is truncated: ");
    }
}

/* A generator of its own (xorshift), so that every run sees the same damage. */
static uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

TEST(random_damage_is_refused_or_read)
{
    static const char marks[] = "{}[]\",:0-9eE.tfn\\ ";
    uint32_t seed = 1;
    char *text = saved_text();
    size_t length = strlen(text);
    char *damaged = keep(malloc(length + 1), free);
    for (int i = 0; i < 500; i++) {
        struct hn_recording recording ENDED_BY(hn_recording_finish);
        memcpy(damaged, text, length + 1);
        for (int k = 0; k < 3; k++)
            damaged[next_random(&seed) % length] = marks[next_random(&seed) % (sizeof marks - 1)];
        assert_ok(hn_file_write(path, damaged, length, NULL));
        enum hn_status status = hn_recording_load(path, &recording, &said);
        assert_true(status == HN_OK || status == HN_EFORMAT);
    }
}

TEST(damaged_gzip_is_refused)
{
    struct hn_recording recording;
    struct stat info;
    save(packed, make_recording());
    assert_int_equal(stat(packed, &info), 0);
    assert_int_equal(truncate(packed, info.st_size - 20), 0);
    assert_mentions(hn_recording_load(packed, &recording, &said), HN_EFORMAT, "is truncated");
    assert_error(hn_recording_load("/nowhere/r.json", &recording, &said), HN_ERUN,
                 "'/nowhere/r.json' cannot be read: No such file or directory");
}

TEST(point_that_does_not_fit_is_not_saved)
{
    struct hn_recording *recording = make_recording();
    set(&recording->records.items[2].point, "EXTRA", hn_integer(1));
    assert_error(hn_recording_save(path, recording, &said), HN_ECONFIG,
                 "point 2 of the recording has 5 parameters, expected 4");
}
