/* SPDX-License-Identifier: MIT */
#include "cache/record/gate.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "cache/record/record.h"

enum { SIGNATURE_MOST = 1 << 16, LINE_MOST = 1024 };
enum { JSON_MOST = 8000000, OBJECT_WEIGHT = 4 };

/* C0, DEL and, as UTF-8, C1. */
static bool is_control(const unsigned char *c)
{
    return c[0] < 0x20 || c[0] == 0x7f || (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0);
}

/* Sticky, as all of the gate. */
__attribute__((format(printf, 3, 4))) static void expect(struct hn_error *err, bool holds,
                                                         const char *format, ...)
{
    if (holds || hn_failed(err))
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    err->status = HN_EFORMAT;
}

void hn_gate_line(const char *what, const char *text, size_t most, struct hn_error *err)
{
    if (hn_failed(err))
        return;
    expect(err, strlen(text) <= most, "%s has %zu bytes, expected at most %zu", what, strlen(text),
           most);
    const char *c = text;
    while (*c != '\0' && !is_control((const unsigned char *)c))
        c++;
    expect(err, *c == '\0',
           "%s has a control character (0x%02x) at byte %td, expected one line of text", what,
           (unsigned char)*c, c - text);
}

void hn_gate_clean(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c != '\0'; c++) {
        if (*c != '\n' && *c != '\t' && is_control(c)) {
            if (*c == 0xc2)
                c[1] = '?';
            *c = '?';
        }
    }
}

char *hn_gate_escape(const char *text)
{
    struct hn_text shown = {0};
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\n' || *c == '\t' || !is_control((const unsigned char *)c)) {
            hn_text_append_bytes(&shown, c, 1);
            continue;
        }
        if ((unsigned char)*c == 0xc2)
            hn_text_printf(&shown, "\\x%02x", (unsigned char)*c++);
        hn_text_printf(&shown, "\\x%02x", (unsigned char)*c);
    }
    return hn_text_take(&shown);
}

/* The metric of "NAME minimize" or "NAME maximize"; false for anything else. */
static bool read_metric(const char *objective, char name[256], bool *maximize)
{
    const char *space = strchr(objective, ' ');
    if (space == NULL || space - objective > 255)
        return false;
    memcpy(name, objective, (size_t)(space - objective));
    name[space - objective] = '\0';
    *maximize = strcmp(space, " maximize") == 0;
    return hn_text_is_word(name) && (*maximize || strcmp(space, " minimize") == 0);
}

static bool is_objective(const char *objective)
{
    char name[256];
    bool maximize;
    return strcmp(objective, "time") == 0 || read_metric(objective, name, &maximize);
}

void hn_gate_identity(const struct hn_identity *identity, struct hn_error *err)
{
    const struct hn_device_identity *device = &identity->device;
    enum hn_regime regime;
    if (hn_failed(err))
        return;
    expect(err, hn_text_is_word(identity->kernel), "the kernel is named '%.60s', expected a word",
           identity->kernel);
    expect(err,
           hn_regime_parse(identity->regime, &regime) ||
               strcmp(identity->regime, HN_REGIME_UNKNOWN) == 0,
           "the regime is '%.60s', expected " HN_REGIMES_EXPECTED ", or unknown", identity->regime);
    expect(err, is_objective(identity->objective),
           "the objective is '%.60s', expected time, or a metric with minimize or maximize",
           identity->objective);
    expect(err,
           device->capability >= 0 && device->capability <= 1000 && device->sm_count >= 0 &&
               device->sm_count <= 1000000,
           "the device has compute capability %d and %d SMs, expected 0 to 1000 and 0 to 1000000",
           device->capability, device->sm_count);
    hn_gate_line("the signature", identity->signature, SIGNATURE_MOST, err);
    hn_gate_line("the device's name", device->name, sizeof device->name - 1, err);
    hn_gate_line("the MIG profile", device->mig_profile, LINE_MOST, err);
}

void hn_gate_hash(const char *what, const char *hash, struct hn_error *err)
{
    size_t length = strlen(hash);
    expect(err, (length == 0 || length == 32) && strspn(hash, "0123456789abcdef") == length,
           "the hash of the %s is '%.40s', expected 32 hexadecimal digits", what, hash);
}

void hn_gate_version(const struct hn_version *version, struct hn_error *err)
{
    hn_gate_hash("template", version->template_hash, err);
    hn_gate_hash("options", version->options_hash, err);
    hn_gate_hash("plan", version->plan_hash, err);
    hn_gate_line("the driver's version", version->driver, LINE_MOST, err);
    hn_gate_line("NVRTC's version", version->nvrtc, LINE_MOST, err);
}

static bool is_time(double us)
{
    return us >= 1e-3 && us <= 3.2e13;
}

/* 0 where it was not taken. */
static bool is_time_or_none(double us)
{
    return us == 0 || is_time(us);
}

static bool is_amount(double amount)
{
    return amount >= 0 && isfinite(amount);
}

void hn_gate_amount(const char *what, double amount, struct hn_error *err)
{
    expect(err, is_amount(amount), "'%s' is %g, expected a number that is not negative", what,
           amount);
}

static bool has_time(enum hn_outcome outcome)
{
    return outcome == HN_OUTCOME_OK || outcome == HN_OUTCOME_SLOWER;
}

static void gate_timing(const struct hn_record *record, bool timed, struct hn_error *err)
{
    /* Recordings have the time in milliseconds, and the interval in microseconds. */
    const double above = 1 + 1e-9;
    const struct hn_timing *timing = &record->timing;
    bool none = timing->low_us == 0 && timing->high_us == 0;
    expect(err, timed ? is_time(timing->median_us) : is_time_or_none(timing->median_us),
           "the time is %g us, expected 0.001 us to a year", timing->median_us);
    expect(err,
           none || (is_time_or_none(timing->low_us) && is_time(timing->high_us) &&
                    timing->low_us <= above * timing->median_us &&
                    timing->median_us <= above * timing->high_us),
           "the interval is %g to %g us, expected one around the time of %g us", timing->low_us,
           timing->high_us, timing->median_us);
    expect(err,
           is_time_or_none(timing->host_us) && is_amount(timing->resolution_us) &&
               is_amount(timing->clock_mhz),
           "host time, resolution or clock is %g us, %g us, %g MHz, expected numbers that are not "
           "negative",
           timing->host_us, timing->resolution_us, timing->clock_mhz);
    expect(err,
           timing->processes <= 0 ||
               (is_time(timing->fastest_us) && is_time(timing->slowest_us) &&
                timing->fastest_us <= timing->middle_us && timing->middle_us <= timing->slowest_us),
           "the times of %d processes are %g to %g us, expected 0.001 us to a year",
           timing->processes, timing->fastest_us, timing->slowest_us);
    for (size_t i = 0; i < timing->sample_count && !hn_failed(err); i++)
        expect(err, is_time(timing->samples_us[i]),
               "sample %zu is %g us, expected 0.001 us to a year", i, timing->samples_us[i]);
}

static void gate_objective(const struct hn_record *record, const char *objective,
                           struct hn_error *err)
{
    char name[256];
    bool maximize = false;
    double expected = record->timing.median_us;
    if (!has_time(record->outcome) || isnan(record->objective))
        return;
    if (read_metric(objective, name, &maximize)) {
        const struct hn_value *metric = hn_bindings_get(&record->metrics, name);
        enum hn_front_by by;
        if (metric == NULL && !maximize && hn_front_parse(name, &by))
            expected = hn_front_objective(record, by);
        else
            expected = metric == NULL ? NAN : hn_value_number(metric) * (maximize ? -1 : 1);
    }
    expect(err, fabs(record->objective - expected) <= 1e-9 * fabs(expected),
           "the objective (%s) is %.17g, expected %.17g", objective, record->objective, expected);
}

void hn_gate_resources(const struct hn_resources *resources, struct hn_error *err)
{
    expect(err, resources->occupancy >= 0 && resources->occupancy <= 1,
           "'occupancy' is %g, expected 0 to 1", resources->occupancy);
}

void hn_gate_record(const struct hn_record *record, const char *objective, struct hn_error *err)
{
    const struct hn_bindings *observed = &record->observed;
    gate_timing(record, objective != NULL && has_time(record->outcome), err);
    hn_gate_amount("compile_ms", record->costs.compile_ms, err);
    hn_gate_amount("verify_ms", record->costs.verify_ms, err);
    hn_gate_amount("measure_ms", record->costs.measure_ms, err);
    for (size_t i = 0; i < observed->count; i++)
        hn_gate_amount(strchr(observed->names[i], '.') + 1, hn_value_number(&observed->values[i]),
                       err);
    hn_gate_moment("time", record->time, err);
    hn_gate_resources(&record->resources, err);
    if (objective != NULL)
        gate_objective(record, objective, err);
}

void hn_gate_moment(const char *what, double seconds, struct hn_error *err)
{
    const double end_of_9999 = 253402300799;
    expect(err, seconds >= 0 && seconds <= end_of_9999,
           "'%s' is %g, expected seconds since 1970, at most %.0f", what, seconds, end_of_9999);
}

void hn_gate_date(double seconds, struct hn_error *err)
{
    enum { DAY = 24 * 3600 };
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    expect(err, seconds >= 0 && seconds <= (double)now.tv_sec + DAY,
           "its date is %.17g seconds since 1970, which is %s: is the clock of this machine right?",
           seconds, seconds < 0 ? "before all times" : "in the future");
}

void hn_gate_json(const char *text, size_t size, struct hn_error *err)
{
    size_t weight = 0;
    bool quoted = false;
    if (hn_failed(err) || size <= JSON_MOST / OBJECT_WEIGHT)
        return;
    for (size_t i = 0; i < size && weight <= JSON_MOST; i++) {
        if (text[i] == '"')
            quoted = !quoted;
        else if (quoted)
            i += text[i] == '\\';
        else if (text[i] == '{')
            weight += OBJECT_WEIGHT;
        else
            weight += text[i] == ',' || text[i] == '[';
    }
    expect(err, weight <= JSON_MOST, "it holds more than %d values, which would fill the memory",
           JSON_MOST);
}
