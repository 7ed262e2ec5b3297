/* SPDX-License-Identifier: MIT */
#ifndef HONE_TESTS_BENCH_FIXTURE_H
#define HONE_TESTS_BENCH_FIXTURE_H

#include "runtime/bench/bench.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/source.h"
#include "tests/unit/unit.h"
#include "tuner/config/config.h"

/* A config with what a bench of its first problem needs, compiled in this process. For tests, on a GPU or the driver
 * double: every function fails the running test with the message of what went wrong. */
struct bench_fixture {
    struct hn_nvrtc nvrtc;
    struct hn_config *config;
    struct hn_template template, reference_template;
    struct hn_driver driver;
    struct hn_device device;
    struct hn_image support, reference;
    struct hn_bench *bench;
};

/* What is asked of a bench. */
static const struct hn_bench_request verify_only = {.verify = true};
static const struct hn_bench_request both = {.verify = true, .measure = true};
static const struct hn_bench_request measured = {.verify = true, .measure = true, .full = true};

/* The compute capability of the first device, by which fixtures are used from then on (else by the double's sm_90); 0,
 * with the reason on standard error, when there is none. */
int bench_fixture_find_device(void);
extern int bench_fixture_capability;

/* `config` is relative to the folder of test data. Compiles the support kernels for "sm_<capability>". */
void bench_fixture_load(struct bench_fixture *fixture, const char *config, int capability);
void bench_fixture_unload(struct bench_fixture *fixture);

/* Driver, bench and reference. The status is that of the first that failed. */
enum hn_status bench_fixture_open(struct bench_fixture *fixture, enum hn_regime regime, struct hn_error *err);
void bench_fixture_close(struct bench_fixture *fixture);

/* The same for tests, of fixtures that outlive them (static): loads and opens, or fails, and undoes it
 * when the test ends, or behind the last one where it is called for all. Both return 0, as fixtures do. */
static inline int bench_fixture_use(struct bench_fixture *fixture, const char *config)
{
    bench_fixture_load(fixture, config, bench_fixture_capability);
    keep(fixture, bench_fixture_unload);
    return 0;
}

static inline int bench_fixture_start(struct bench_fixture *fixture, enum hn_regime regime)
{
    assert_ok(bench_fixture_open(fixture, regime, &said));
    keep(fixture, bench_fixture_close);
    return 0;
}

/* The reference for the values of a point that it depends on. */
void bench_fixture_set_reference(struct bench_fixture *fixture, const char *point);

/* A point in canonical text, compiled. */
void bench_fixture_compile(struct bench_fixture *fixture, const char *point, struct hn_image *image);
/* Compiles, evaluates and returns the record of the point; the caller finishes it. */
struct hn_record bench_fixture_evaluate(struct bench_fixture *fixture, const char *point,
                                        const struct hn_bench_request *request);

/* Whether a record's message begins as expected. Of a write of four bytes into a guard zone the first ones may be what
 * was there, each by a chance of 1 in 256, since guard zones follow from addresses: then the number is up to 3 off. */
bool bench_fixture_says(const char *message, const char *expected);
/* `message` NULL: any. */
void bench_fixture_check(const struct hn_record *record, enum hn_outcome outcome, const char *message);
/* Evaluates a point with its reference, and checks what came of it. */
void bench_fixture_expect(struct bench_fixture *fixture, const char *point, const struct hn_bench_request *request,
                          enum hn_outcome outcome, const char *message);
static inline void bench_fixture_release(struct hn_record *record)
{
    hn_record_finish(record);
    free(record);
}

/* Evaluates a point and checks what came of it; its record lasts as long as the test. */
static inline struct hn_record *bench_fixture_record(struct bench_fixture *fixture, const char *point,
                                                     const struct hn_bench_request *request,
                                                     enum hn_outcome outcome, const char *message)
{
    struct hn_record *record = malloc(sizeof *record);
    *record = bench_fixture_evaluate(fixture, point, request);
    keep(record, bench_fixture_release);
    bench_fixture_check(record, outcome, message);
    return record;
}

/* The same, with the point's reference and a part of the message, which is not NULL, wherever that is. */
static inline struct hn_record *bench_fixture_mentions(struct bench_fixture *fixture, const char *point,
                                                       const struct hn_bench_request *request,
                                                       enum hn_outcome outcome, const char *part)
{
    bench_fixture_set_reference(fixture, point);
    struct hn_record *record = bench_fixture_record(fixture, point, request, outcome, NULL);
    if (strstr(record->message == NULL ? "" : record->message, part) == NULL)
        fail_msg("%s: '%s' is not in '%s'", point, part, record->message);
    return record;
}

/* On the driver double: opens, evaluates and closes again and again, from call `first` on a later one of the driver's
 * calls failing each time, with a fault of the device and then with a plain rejection, until `passes` runs in a row
 * passed (the calls that only release something come last and fail without a trace). Each run has to end in a status or
 * an outcome with a message. Returns the smaller number of the call at which it ended. */
int bench_fixture_fail_calls(struct bench_fixture *fixture, enum hn_regime regime, const char *point,
                             const struct hn_bench_request *request, int first, int passes);

/* The first problem of its config becomes this one. */
void bench_fixture_set_problem(struct bench_fixture *fixture, const char *problem);

#endif
