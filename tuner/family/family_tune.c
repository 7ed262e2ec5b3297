/* SPDX-License-Identifier: MIT */
#include "tuner/family/family.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "cache/store/store.h"
#include "tuner/config/config.h"
#include "tuner/family/learn.h"
#include "tuner/family/measuring.h"

enum {
    FIRST_CELLS = 12, /* sizes at which all that was found is measured before anything is learnt */
    WANTED = 12,      /* sizes measured between two rules, where the last was least sure */
    DRAWN = 6,        /* and sizes that were drawn */
    QUICK_SAMPLES = 1500, /* of a rule that only says what to measure next */
    SAMPLES = 16000,
    /* Times of QUICK_SAMPLES, at most: only what is picked is looked at in all of them. */
    SAMPLES_COST = 7,
    LADDER_MOST = HN_MATRIX_POINTS * 2 / 3, /* points before entries of the ladder are left out */
    SOME_SIZES = 256,                       /* what serves none of so many is not measured */
    FEWEST_TUNED = 6
};
/* Shares of the time: searches at sizes of their own, cells of the matrix, and the sizes that were
 * not used. */
static const double tuned_share = 0.45, cells_share = 0.30;
/* And how much of it what is known may be measured at one size: a large one can take as long as a
 * hundred others. */
static const double size_share = 0.03, size_least_s = 1;
/* And what was found late, at sizes that were measured before. */
static const double late_share = 0.05;
static const uint64_t held_out_salt = 0x9e3779b97f4a7c15;

struct tuning {
    const struct hn_family_options *options;
    struct hn_measuring measuring;
    struct hn_learnt learnt;
    struct hn_device device;
    uint64_t drawn; /* place in the sequence of sizes */
    double started_ms;
    double budget_s, loss;
    double learn_s;         /* what the last rule took, of QUICK_SAMPLES */
    int64_t kept;           /* the session that has the rule; 0: none has, yet */
    size_t tuned, searched; /* sizes with a search of their own: wanted, so far */
    size_t least_sizes;
    unsigned held_out;
    struct hn_family_outcome *outcome;
};

static const struct hn_family *family_of(const struct tuning *tuning)
{
    return tuning->measuring.config->family;
}

static struct hn_family_kernel kernel_of(const struct tuning *tuning)
{
    return (struct hn_family_kernel){family_of(tuning), tuning->measuring.config->plan,
                                     &tuning->device};
}

static double elapsed_s(const struct tuning *tuning)
{
    return (hn_now_ms() - tuning->started_ms) / 1e3;
}

/* A line behind the time since the start. */
__attribute__((format(printf, 2, 3))) static void say(const struct tuning *tuning,
                                                      const char *format, ...)
{
    struct hn_text line = {0};
    char *what = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&what, format, arguments);
    va_end(arguments);
    hn_needed(length < 0 ? NULL : what);
    hn_text_printf(&line, "%4.0f s  %s", elapsed_s(tuning), what);
    tuning->options->say(tuning->options->context, line.data);
    hn_text_finish(&line);
    free(what);
}

struct hn_family_worth hn_family_worth(const struct hn_family *family)
{
    static const struct hn_family_worth worths[] = {
        {60, 12, 10, 48}, {120, 20, 12, 96}, {600, 36, 20, 160}};
    size_t ranges = 0;
    for (size_t i = 0; i < family->value_count; i++)
        ranges += family->values[i].kind == HN_FAMILY_RANGE || family->values[i].count > 2;
    return worths[ranges < 2 ? 0 : ranges == 2 ? 1 : 2];
}

double hn_family_held_out_s(double budget_s)
{
    return (1 - tuned_share - cells_share) * budget_s;
}

static void plan(struct tuning *tuning)
{
    const struct hn_family_options *options = tuning->options;
    const struct hn_family *family = family_of(tuning);
    const struct hn_family_worth worth = hn_family_worth(family);
    tuning->budget_s = options->budget_s > 0 ? options->budget_s : worth.budget_s;
    tuning->loss = options->loss > 0 ? options->loss : family->loss;
    tuning->held_out = options->held_out > 0 ? options->held_out : worth.held_out;
    /* A search has to last a while, too. */
    double share = sqrt(fmin(1, tuning->budget_s / worth.budget_s));
    tuning->tuned = (size_t)fmax(FEWEST_TUNED, round(share * (double)worth.tuned));
    tuning->least_sizes = worth.least_sizes;
}

/* SIZE_MAX: there is none, or no room for it. */
static size_t draw_size(struct tuning *tuning, struct hn_error *err)
{
    struct hn_matrix *matrix = tuning->measuring.matrix;
    struct hn_bindings problem =
        hn_measuring_draw(&tuning->measuring, tuning->options->seed, &tuning->drawn, err);
    size_t size = hn_failed(err) ? SIZE_MAX : hn_matrix_add_size(matrix, &problem, 0);
    if (size != SIZE_MAX)
        matrix->sizes[size].drawn = true;
    hn_bindings_finish(&problem);
    return size;
}

/* Those that the family names come first: hn_forecast_init counts on that. */
static void add_named(struct tuning *tuning, struct hn_error *err)
{
    const struct hn_family *family = family_of(tuning);
    if (family->size_count > HN_MATRIX_SIZES / 2) {
        hn_fail(err, HN_ECONFIG, "the family names %zu sizes, a tune takes %d at most",
                family->size_count, HN_MATRIX_SIZES / 2);
        return;
    }
    for (size_t i = 0; i < family->size_count; i++) {
        struct hn_bindings whole = hn_measuring_complete(&tuning->measuring, &family->sizes[i]);
        hn_matrix_add_size(tuning->measuring.matrix, &whole, family->weights[i]);
        hn_bindings_finish(&whole);
    }
}

/* The default point is there before all others. */
static void add_default(struct tuning *tuning, struct hn_error *err)
{
    struct hn_bindings point;
    struct hn_space *space = NULL;
    struct hn_config *config = tuning->measuring.config;
    if (hn_failed(err) ||
        hn_config_take_problem(config, &tuning->measuring.matrix->sizes[0].problem, err) != HN_OK ||
        hn_config_space(config, 0, &space, err) != HN_OK)
        return;
    hn_config_default_point(config, space, &point);
    hn_matrix_add_point(tuning->measuring.matrix, &point);
    hn_bindings_finish(&point);
    hn_space_destroy(space);
}

/* Sizes of the family as they may come. */
struct some_sizes {
    struct hn_bindings problems[SOME_SIZES];
    size_t count;
};

static bool serves_some(const struct tuning *tuning, const struct some_sizes *some,
                        const struct hn_bindings *point)
{
    const struct hn_family_kernel kernel = kernel_of(tuning);
    bool serves = false;
    if (kernel.plan->freeze_if != NULL && hn_plan_freezes(kernel.plan, point))
        return false;
    for (size_t i = 0; i < some->count && !serves; i++)
        serves = hn_family_allows(&kernel, &some->problems[i], point);
    return serves;
}

/* Points that the author of the config would try: default points for some problems, then the
 * ladder, the last first, since a ladder gets better downwards. */
static void add_ladder(struct tuning *tuning, struct hn_error *err)
{
    struct some_sizes some = {.count = 0};
    const struct hn_config *config = tuning->measuring.config;
    struct hn_matrix *matrix = tuning->measuring.matrix;
    uint64_t at = 0;
    while (some.count < SOME_SIZES && !hn_failed(err))
        some.problems[some.count++] =
            hn_measuring_draw(&tuning->measuring, tuning->options->seed, &at, err);
    for (size_t i = 0; i < config->plan->other_default_count && !hn_failed(err); i++)
        if (serves_some(tuning, &some, &config->plan->other_defaults[i].point))
            hn_matrix_add_point(matrix, &config->plan->other_defaults[i].point);
    for (size_t i = config->ladder_count; i-- > 0 && !hn_failed(err);)
        if (matrix->point_count < LADDER_MOST && serves_some(tuning, &some, &config->ladder[i]))
            hn_matrix_add_point(matrix, &config->ladder[i]);
    for (size_t i = 0; i < some.count; i++)
        hn_bindings_finish(&some.problems[i]);
}

static void tune_size(struct tuning *tuning, size_t size, struct hn_error *err)
{
    double each_s = tuned_share * tuning->budget_s / (double)tuning->tuned;
    const struct hn_matrix *matrix = tuning->measuring.matrix;
    if (matrix->sizes[size].searched)
        return;
    hn_measuring_tune(&tuning->measuring, size, each_s, err);
    tuning->searched++;
    if (hn_failed(err))
        return;
    char *text = hn_needed(hn_bindings_text(&matrix->sizes[size].problem));
    double best_us = hn_matrix_best(matrix, size);
    if (isinf(best_us))
        say(tuning, "tuned %s: nothing was measured within %.0f s", text, each_s);
    else
        say(tuning, "tuned %s: best %.4g us, %zu configuration%s known", text, best_us,
            matrix->point_count, hn_plural(matrix->point_count));
    free(text);
}

/* Searches at the first sizes, the named ones before all. The others are for sizes where most may
 * be found beside what is known then. */
static void tune_sizes(struct tuning *tuning, struct hn_error *err)
{
    size_t named = family_of(tuning)->size_count, first = (tuning->tuned + 2) / 3;
    for (size_t i = 0; i < (named > first ? named : first) && !hn_failed(err); i++) {
        size_t size = i < named ? i : draw_size(tuning, err);
        if (size == SIZE_MAX)
            break;
        if (i == 0)
            add_default(tuning, err);
        if (!hn_failed(err))
            tune_size(tuning, size, err);
    }
    if (!hn_failed(err))
        add_ladder(tuning, err);
    for (size_t s = 0; s < tuning->measuring.matrix->size_count; s++)
        hn_measuring_fill(&tuning->measuring, s, 0, err);
}

/* Takes over what earlier tunes of this family have measured, with whatever budget. */
static void recall(struct tuning *tuning, struct hn_error *err)
{
    const struct hn_matrix *matrix = tuning->measuring.matrix;
    size_t sizes = matrix->size_count, points = matrix->point_count;
    size_t times = tuning->measuring.cell_count;
    hn_recall(&tuning->measuring, err);
    sizes = matrix->size_count - sizes;
    points = matrix->point_count - points;
    times = tuning->measuring.cell_count - times;
    if (!hn_failed(err) && times > 0)
        say(tuning, "from the cache: %zu size%s, %zu configuration%s, %zu time%s", sizes,
            hn_plural(sizes), points, hn_plural(points), times, hn_plural(times));
}

static void fill_briefly(struct tuning *tuning, size_t size, struct hn_error *err)
{
    hn_measuring_fill(&tuning->measuring, size, fmax(size_least_s, size_share * tuning->budget_s),
                      err);
}

static void draw_cells(struct tuning *tuning, size_t count, struct hn_error *err)
{
    size_t size = 0;
    for (size_t i = 0; i < count && size != SIZE_MAX; i++) {
        size = draw_size(tuning, err);
        if (size != SIZE_MAX)
            fill_briefly(tuning, size, err);
    }
}

static void learn(struct tuning *tuning, size_t samples, struct hn_error *err)
{
    const struct hn_family_kernel kernel = kernel_of(tuning);
    const struct hn_learn_options options = {
        .seed = ~tuning->options->seed, .samples = samples, .wanted = WANTED};
    if (hn_failed(err))
        return;
    hn_learnt_finish(&tuning->learnt);
    hn_learn(&kernel, tuning->measuring.matrix, &options, &tuning->learnt, err);
}

/* Searches where most may be found. */
static void tune_wanted(struct tuning *tuning, struct hn_error *err)
{
    if (tuning->searched >= tuning->tuned || !tuning->learnt.has_search)
        return;
    size_t size = hn_matrix_add_size(tuning->measuring.matrix, &tuning->learnt.search, 0);
    if (size != SIZE_MAX)
        tune_size(tuning, size, err);
}

/* Whether something that may serve a size was not measured there. */
static bool lacks_times(const struct tuning *tuning, size_t size)
{
    const struct hn_family_kernel kernel = kernel_of(tuning);
    const struct hn_matrix *matrix = tuning->measuring.matrix;
    bool lacks = false;
    for (size_t p = 0; p < matrix->point_count && !lacks; p++)
        lacks = isnan(matrix->times[p][size]) &&
                hn_family_allows(&kernel, &matrix->sizes[size].problem, &matrix->points[p].values);
    return lacks;
}

/* Measures what was found since a size was measured. Where there was a search it says what a search
 * of its own finds beyond what was found elsewhere; at the others, as long as there is time, what
 * little is known of what was found last. */
static void fill_late(struct tuning *tuning, struct hn_error *err)
{
    const struct hn_matrix *matrix = tuning->measuring.matrix;
    for (size_t s = 0; s < matrix->size_count; s++)
        if (matrix->sizes[s].searched)
            hn_measuring_fill(&tuning->measuring, s, 0, err);
    double end_s = elapsed_s(tuning) + late_share * tuning->budget_s;
    for (size_t s = 0; s < matrix->size_count && !hn_failed(err) && elapsed_s(tuning) < end_s; s++)
        if (lacks_times(tuning, s))
            fill_briefly(tuning, s, err);
}

static bool is_good(const struct tuning *tuning)
{
    const struct hn_rule_loss *predicted = &tuning->learnt.rule.predicted;
    double loss = family_of(tuning)->worst ? predicted->worst : predicted->mean;
    return tuning->measuring.matrix->size_count >= tuning->least_sizes && predicted->sizes > 0 &&
           loss <= tuning->loss;
}

/* Whether half of a round like the last one, what comes late and the rule itself would take longer
 * than there is. */
static bool is_late(const struct tuning *tuning, double round_s)
{
    double left_s = (tuned_share + cells_share - late_share) * tuning->budget_s - elapsed_s(tuning);
    return left_s < round_s / 2 + tuning->learn_s * SAMPLES_COST;
}

/* Measures where the rule is least sure, until it is good enough, or the time for that is used up.
 */
static void refine(struct tuning *tuning, struct hn_error *err)
{
    struct hn_matrix *matrix = tuning->measuring.matrix;
    const struct hn_learnt *learnt = &tuning->learnt;
    double began_s = elapsed_s(tuning);
    draw_cells(tuning, FIRST_CELLS, err);
    while (!hn_failed(err)) {
        double measured_s = elapsed_s(tuning);
        learn(tuning, QUICK_SAMPLES, err);
        if (hn_failed(err))
            break;
        tuning->learn_s = elapsed_s(tuning) - measured_s;
        say(tuning, "%zu sizes, %zu times measured: predicted loss %.1f%%, %.0f%% at worst",
            matrix->size_count, tuning->measuring.cell_count, 100 * learnt->rule.predicted.mean,
            100 * learnt->rule.predicted.worst);
        size_t before = matrix->size_count;
        if (is_good(tuning) || is_late(tuning, elapsed_s(tuning) - began_s) ||
            before == HN_MATRIX_SIZES)
            break;
        began_s = elapsed_s(tuning);
        tune_wanted(tuning, err);
        for (size_t i = 0; i < learnt->wanted_count && !hn_failed(err); i++) {
            size_t size = hn_matrix_add_size(matrix, &learnt->wanted[i], 0);
            if (size != SIZE_MAX)
                fill_briefly(tuning, size, err);
        }
        draw_cells(tuning, DRAWN, err);
        if (matrix->size_count == before)
            break; /* the family has no more */
    }
}

static bool is_of_matrix(void *context, const struct hn_bindings *problem)
{
    const struct hn_matrix *matrix = context;
    bool used = false;
    for (size_t s = 0; s < matrix->size_count && !used; s++)
        used = hn_bindings_equal(&matrix->sizes[s].problem, problem);
    return used;
}

static void measure_loss(struct tuning *tuning, struct hn_error *err)
{
    struct hn_held_out_loss found;
    struct hn_rule *rule = &tuning->learnt.rule;
    const struct hn_held_out held_out = {
        .measuring = &tuning->measuring,
        .kernel = kernel_of(tuning),
        .rule = rule,
        .seed = tuning->options->seed ^ held_out_salt,
        .count = tuning->held_out,
        .budget_s =
            fmax(tuning->budget_s - elapsed_s(tuning), hn_family_held_out_s(tuning->budget_s) / 2),
        .started_ms = tuning->started_ms,
        .is_used = is_of_matrix,
        .context = tuning->measuring.matrix,
    };
    hn_held_out_measure(&held_out, &found, err);
    rule->measured = found.loss;
    tuning->outcome->untuned = found.untuned;
}

static void tune(struct tuning *tuning, struct hn_error *err)
{
    const struct hn_family_options *options = tuning->options;
    if (hn_failed(err) || hn_workers_open(options->workers, err) != HN_OK)
        return;
    tuning->device = options->workers->lead->device;
    hn_compile_pool_set(options->workers->pool, HN_COMPILE_KEEPS_ALL, true);
    plan(tuning);
    add_named(tuning, err);
    tune_sizes(tuning, err);
    recall(tuning, err);
    refine(tuning, err);
    fill_late(tuning, err);
    if (hn_failed(err))
        return;
    tuning->outcome->reached = is_good(tuning);
    learn(tuning, SAMPLES, err);
    if (hn_failed(err))
        return;
    hn_measuring_keep(&tuning->measuring, &tuning->learnt.rule, &tuning->kept, err);
    if (hn_failed(err))
        return;
    measure_loss(tuning, err);
    if (!hn_failed(err))
        hn_store_put_rule(options->store, tuning->kept, &tuning->learnt.rule, err);
}

enum hn_status hn_family_tune(const struct hn_family_options *options,
                              struct hn_family_outcome *outcome, struct hn_error *err)
{
    struct tuning tuning = {.options = options, .outcome = outcome, .started_ms = hn_now_ms()};
    const struct hn_matrix *matrix;
    *outcome = (struct hn_family_outcome){.reached = false};
    hn_rule_init(&outcome->rule);
    hn_rule_init(&tuning.learnt.rule);
    hn_error_init(err);
    hn_measuring_init(&tuning.measuring, options, err);
    tune(&tuning, err);
    matrix = tuning.measuring.matrix;
    if (!hn_failed(err)) {
        outcome->rule = tuning.learnt.rule;
        hn_rule_init(&tuning.learnt.rule);
        outcome->sizes = matrix->size_count;
        for (size_t s = 0; s < matrix->size_count; s++)
            outcome->tuned += isnan(matrix->sizes[s].tuned_us) ? 0 : 1;
        outcome->cells = tuning.measuring.cell_count;
        outcome->elapsed_s = elapsed_s(&tuning);
    }
    if (err->status == HN_EINTERRUPTED)
        hn_fail(err, HN_EINTERRUPTED,
                "interrupted; what was measured is kept%s, and the same command goes on from there",
                tuning.kept > 0 ? ", the rule too, with the predicted loss alone" : "");
    hn_learnt_finish(&tuning.learnt);
    hn_measuring_finish(&tuning.measuring);
    return err->status;
}

void hn_family_outcome_finish(struct hn_family_outcome *outcome)
{
    hn_rule_finish(&outcome->rule);
}
