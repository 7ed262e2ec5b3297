/* SPDX-License-Identifier: MIT */
/* Times of honest variants, as trials of runtime/bench/trial.h take them, as JSON a line:
 *     bench_trials SECONDS REGIME CONFIG PROBLEM [CONFIG PROBLEM...]
 * CONFIG relative to tests/data, its default point; PROBLEM changes values of its first problem
 * ("-": none). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/run.h"
#include "bench_fixture.h"
#include "runtime/bench/bench_parts.h"
#include "runtime/bench/trial.h"

enum { SINGLES = 96 };

static void must(enum hn_status status, const struct hn_error *err)
{
    if (status == HN_OK)
        return;
    fprintf(stderr, "bench_trials: %s\n", err->message);
    exit(1);
}

static void change_problem(struct hn_bindings *problem, const char *text)
{
    struct hn_bindings changes;
    struct hn_error err = {.status = HN_OK};
    if (strcmp(text, "-") == 0)
        return;
    must(hn_bindings_parse(text, &changes, &err), &err);
    must(hn_bindings_merge(problem, &changes, &err), &err);
    hn_bindings_finish(&changes);
}

static void print_times(const char *key, const double *times_us, size_t count)
{
    printf("%s[", key);
    for (size_t i = 0; i < count; i++)
        printf("%s%.0f", i == 0 ? "" : ",", 1e3 * times_us[i]);
    printf("]");
}

static void print_trial(struct hn_trial *trial)
{
    printf("{\"kind\":\"%s\",\"slack_us\":[%.3f,%.3f],\"verdict\":%d,\"times_ns\":[",
           trial->kind == HN_SUSPICION_CHECKED ? "checked" : "again", trial->slack_us[0],
           trial->slack_us[1], (int)hn_trial_judge(trial));
    for (int side = 0; side < HN_TRIAL_SIDES; side++) {
        for (int l = 0; l < trial->legs; l++)
            print_times(l == 0 ? "[" : ",", trial->times_us[side][l], trial->rounds);
        printf(side == 0 ? "]," : "]]}\n");
    }
}

/* A variant as a process that has just begun finds it. */
static void take_trials(struct bench_fixture *fixture, const struct hn_image *image,
                        enum hn_suspicion kind, double seconds)
{
    struct hn_bench *bench = fixture->bench;
    struct hn_error err = {.status = HN_OK};
    struct hn_trial trial;
    double started_ms = hn_now_ms();
    do {
        struct hn_variant variant HN_ENDED_BY(hn_variant_finish) = {0};
        struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
        record.outcome = HN_OUTCOME_OK;
        must(hn_bindings_copy(&record.point, &fixture->config->plan->defaults, &err), &err);
        hn_bench_prepare(bench, &record.point, image, &variant, &record, &err);
        must(err.status, &err);
        hn_bench_try(bench, &variant, kind, false, &trial, &err);
        must(err.status, &err);
        print_trial(&trial);
    } while (hn_now_ms() - started_ms < 1e3 * seconds);
}

/* Groups as a measurement takes them, and single samples as its suspicion does. */
static void take_singles(struct bench_fixture *fixture, const struct hn_image *image)
{
    struct hn_bench *bench = fixture->bench;
    struct hn_error err = {.status = HN_OK};
    struct hn_variant variant HN_ENDED_BY(hn_variant_finish) = {0};
    struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
    struct hn_sample samples[HN_MAX_STAMPS];
    double times_us[3][SINGLES], unclean[3] = {0};
    double estimate_us = 0;
    record.outcome = HN_OUTCOME_OK;
    must(hn_bindings_copy(&record.point, &fixture->config->plan->defaults, &err), &err);
    hn_bench_prepare(bench, &record.point, image, &variant, &record, &err);
    must(err.status, &err);
    struct hn_work work = hn_bench_work(bench, &variant);
    hn_sampler_choose_batch(&work, &estimate_us, &err);
    must(err.status, &err);
    for (size_t i = 0; i < SINGLES; i += 8) {
        hn_sampler_take(&work, 8, 0, samples, &err);
        must(err.status, &err);
        for (size_t j = 0; j < 8; j++)
            times_us[0][i + j] = samples[j].time_us;
        unclean[0] += samples[0].clean ? 0 : 8;
    }
    work.rewritten = true;
    for (size_t i = 0; i < SINGLES; i++)
        for (size_t compared = 0; compared < 2; compared++) {
            hn_sampler_take(&work, 1, compared, samples, &err);
            must(err.status, &err);
            times_us[1 + compared][i] = samples[0].time_us;
            unclean[1 + compared] += samples[0].clean ? 0 : 1;
        }
    printf("{\"kind\":\"singles\",\"batch\":%zu,\"unclean\":[%.0f,%.0f,%.0f],\"times_ns\":[",
           work.batch, unclean[0], unclean[1], unclean[2]);
    for (int i = 0; i < 3; i++)
        print_times(i == 0 ? "" : ",", times_us[i], SINGLES);
    printf("]}\n");
}

static void record(const char *config, const char *problem, enum hn_regime regime, double seconds,
                   int capability)
{
    struct bench_fixture fixture;
    struct hn_image image HN_ENDED_BY(hn_image_finish) = {0};
    struct hn_error err = {.status = HN_OK};
    bench_fixture_load(&fixture, config, capability);
    change_problem(&fixture.config->problems[0], problem);
    must(bench_fixture_open(&fixture, regime, &err), &err);
    char *point HN_FREED = hn_bindings_text(&fixture.config->plan->defaults);
    bench_fixture_compile(&fixture, point, &image);
    printf("{\"kind\":\"kernel\",\"config\":\"%s\",\"problem\":\"%s\",\"regime\":\"%s\","
           "\"device\":\"%s\"}\n",
           config, problem, hn_regime_names[regime], fixture.device.identity.name);
    take_trials(&fixture, &image, HN_SUSPICION_CHECKED, 0.5 * seconds);
    take_trials(&fixture, &image, HN_SUSPICION_AGAIN, 0.4 * seconds);
    take_singles(&fixture, &image);
    fflush(stdout);
    bench_fixture_close(&fixture);
    bench_fixture_unload(&fixture);
}

int main(int argc, char **argv)
{
    enum hn_regime regime;
    if (argc < 5 || argc % 2 == 0 || !hn_regime_parse(argv[2], &regime)) {
        fprintf(stderr, "usage: bench_trials SECONDS REGIME CONFIG PROBLEM [CONFIG PROBLEM...]\n");
        return 2;
    }
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    int capability = bench_fixture_find_device();
    if (capability == 0)
        return 77;
    for (int i = 3; i < argc; i += 2)
        record(argv[i], argv[i + 1], regime, strtod(argv[1], NULL), capability);
    return 0;
}
