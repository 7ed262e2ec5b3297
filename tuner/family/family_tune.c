/* SPDX-License-Identifier: MIT */
#include "tuner/family/family_tune.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/run.h"
#include "cache/store/store.h"
#include "tuner/config/family.h"
#include "tuner/family/held_out.h"
#include "tuner/family/learn.h"
#include "tuner/family/measuring.h"
#include "tuner/family/recall.h"
#include "tuner/family/sizes.h"

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
    bool has_learnt;
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

__attribute__((format(printf, 2, 3))) static void say(const struct tuning *tuning,
                                                      const char *format, ...)
{
    char *line = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&line, format, arguments) >= 0)
        tuning->options->say(tuning->options->context, line);
    va_end(arguments);
    free(line);
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

/* --- sizes
 * ----------------------------------------------------------------------------------------------------
 */

static enum hn_status add_size(struct tuning *tuning, const struct hn_bindings *problem,
                               double weight, size_t *size, struct hn_error *err)
{
    struct hn_bindings whole;
    enum hn_status status = hn_measuring_complete(&tuning->measuring, problem, &whole, err);
    if (status == HN_OK)
        status = hn_matrix_add_size(tuning->measuring.matrix, &whole, weight, size, err);
    hn_bindings_finish(&whole);
    return status;
}

static enum hn_status draw_size(struct tuning *tuning, size_t *size, struct hn_error *err)
{
    struct hn_bindings problem;
    enum hn_status status =
        hn_family_next(family_of(tuning), tuning->options->seed, &tuning->drawn, &problem, err);
    if (status != HN_OK)
        return status;
    status = add_size(tuning, &problem, 0, size, err);
    if (status == HN_OK && *size != SIZE_MAX)
        tuning->measuring.matrix->sizes[*size].drawn = true;
    hn_bindings_finish(&problem);
    return status;
}

/* Those that the family names come first: hn_forecast_init counts on that. */
static enum hn_status add_named(struct tuning *tuning, struct hn_error *err)
{
    const struct hn_family *family = family_of(tuning);
    enum hn_status status = HN_OK;
    if (family->size_count > HN_MATRIX_SIZES / 2)
        return hn_fail(err, HN_ECONFIG, "the family names %zu sizes, a tune takes %d at most",
                       family->size_count, HN_MATRIX_SIZES / 2);
    for (size_t i = 0; i < family->size_count && status == HN_OK; i++) {
        size_t size;
        status = add_size(tuning, &family->sizes[i], family->weights[i], &size, err);
    }
    return status;
}

/* --- measuring
 * ----------------------------------------------------------------------------------------------------
 */

static void say_tuned(const struct tuning *tuning, size_t size, double each_s)
{
    const struct hn_matrix *matrix = tuning->measuring.matrix;
    char *text = hn_bindings_text(&matrix->sizes[size].problem);
    double best_us = hn_matrix_best(matrix, size);
    if (text != NULL && isinf(best_us))
        say(tuning, "%4.0f s  tuned %s: nothing was measured within %.0f s", elapsed_s(tuning),
            text, each_s);
    else if (text != NULL)
        say(tuning, "%4.0f s  tuned %s: best %.4g us, %zu configuration%s known", elapsed_s(tuning),
            text, best_us, matrix->point_count, hn_plural(matrix->point_count));
    free(text);
}

/* The default point is there before all others. */
static enum hn_status add_default(struct tuning *tuning, struct hn_error *err)
{
    size_t place;
    struct hn_bindings point;
    struct hn_space *space = NULL;
    struct hn_config *config = tuning->measuring.config;
    enum hn_status status =
        hn_config_take_problem(config, &tuning->measuring.matrix->sizes[0].problem, err);
    if (status == HN_OK)
        status = hn_config_space(config, 0, &space, err);
    if (status != HN_OK)
        return status;
    status = hn_config_default_point(config, space, &point, err);
    hn_space_destroy(space);
    if (status != HN_OK)
        return status;
    status = hn_matrix_add_point(tuning->measuring.matrix, &point, &place, err);
    hn_bindings_finish(&point);
    return status;
}

/* Sizes of the family as they may come. */
struct some_sizes {
    struct hn_bindings problems[SOME_SIZES];
    size_t count;
};

static enum hn_status draw_some(struct tuning *tuning, struct some_sizes *some,
                                struct hn_error *err)
{
    uint64_t at = 0;
    enum hn_status status = HN_OK;
    *some = (struct some_sizes){.count = 0};
    while (some->count < SOME_SIZES && status == HN_OK) {
        struct hn_bindings problem;
        status = hn_family_next(family_of(tuning), tuning->options->seed, &at, &problem, err);
        if (status != HN_OK)
            break;
        status =
            hn_measuring_complete(&tuning->measuring, &problem, &some->problems[some->count], err);
        some->count += status == HN_OK;
        hn_bindings_finish(&problem);
    }
    return status;
}

static void finish_some(struct some_sizes *some)
{
    for (size_t i = 0; i < some->count; i++)
        hn_bindings_finish(&some->problems[i]);
}

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

/* What who wrote the config would try: default points for some problems, then the ladder, the last
 * first, since a ladder gets better downwards. */
static enum hn_status add_ladder(struct tuning *tuning, struct hn_error *err)
{
    size_t place;
    struct some_sizes some;
    enum hn_status status = draw_some(tuning, &some, err);
    const struct hn_config *config = tuning->measuring.config;
    struct hn_matrix *matrix = tuning->measuring.matrix;
    for (size_t i = 0; i < config->plan->other_default_count && status == HN_OK; i++)
        if (serves_some(tuning, &some, &config->plan->other_defaults[i].point))
            status =
                hn_matrix_add_point(matrix, &config->plan->other_defaults[i].point, &place, err);
    for (size_t i = config->ladder_count; i-- > 0 && status == HN_OK;)
        if (matrix->point_count < LADDER_MOST && serves_some(tuning, &some, &config->ladder[i]))
            status = hn_matrix_add_point(matrix, &config->ladder[i], &place, err);
    finish_some(&some);
    return status;
}

static enum hn_status tune_size(struct tuning *tuning, size_t size, struct hn_error *err)
{
    double each_s = tuned_share * tuning->budget_s / (double)tuning->tuned;
    if (tuning->measuring.matrix->sizes[size].searched)
        return HN_OK;
    enum hn_status status = hn_measuring_tune(&tuning->measuring, size, each_s, err);
    if (status == HN_OK)
        say_tuned(tuning, size, each_s);
    tuning->searched++;
    return status;
}

/* Searches at the first sizes, the named ones before all. The others are for sizes where most may
 * be found beside what is known then. */
static enum hn_status tune_sizes(struct tuning *tuning, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    size_t named = family_of(tuning)->size_count, first = (tuning->tuned + 2) / 3;
    for (size_t i = 0; i < (named > first ? named : first) && status == HN_OK; i++) {
        size_t size = i;
        if (i >= named)
            status = draw_size(tuning, &size, err);
        if (status != HN_OK || size == SIZE_MAX)
            break;
        if (i == 0)
            status = add_default(tuning, err);
        if (status == HN_OK)
            status = tune_size(tuning, size, err);
    }
    if (status == HN_OK)
        status = add_ladder(tuning, err);
    for (size_t s = 0; s < tuning->measuring.matrix->size_count && status == HN_OK; s++)
        status = hn_measuring_fill(&tuning->measuring, s, 0, err);
    return status;
}

/* What tunes of this family have measured before, with whatever budget. */
static enum hn_status recall(struct tuning *tuning, struct hn_error *err)
{
    struct hn_matrix *matrix = tuning->measuring.matrix;
    size_t sizes = matrix->size_count, points = matrix->point_count;
    size_t times = tuning->measuring.cell_count;
    enum hn_status status = hn_recall(&tuning->measuring, err);
    if (status == HN_OK && tuning->measuring.cell_count > times)
        say(tuning, "%4.0f s  from the cache: %zu size%s, %zu configuration%s, %zu time%s",
            elapsed_s(tuning), matrix->size_count - sizes, hn_plural(matrix->size_count - sizes),
            matrix->point_count - points, hn_plural(matrix->point_count - points),
            tuning->measuring.cell_count - times, hn_plural(tuning->measuring.cell_count - times));
    return status;
}

static enum hn_status fill_briefly(struct tuning *tuning, size_t size, struct hn_error *err)
{
    return hn_measuring_fill(&tuning->measuring, size,
                             fmax(size_least_s, size_share * tuning->budget_s), err);
}

static enum hn_status draw_cells(struct tuning *tuning, size_t count, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; i < count && status == HN_OK; i++) {
        size_t size;
        status = draw_size(tuning, &size, err);
        if (status != HN_OK || size == SIZE_MAX)
            break;
        status = fill_briefly(tuning, size, err);
    }
    return status;
}

static enum hn_status learn(struct tuning *tuning, size_t samples, struct hn_error *err)
{
    const struct hn_family_kernel kernel = kernel_of(tuning);
    const struct hn_learn_options options = {
        .seed = ~tuning->options->seed, .samples = samples, .wanted = WANTED};
    if (tuning->has_learnt)
        hn_learnt_finish(&tuning->learnt);
    tuning->has_learnt = false;
    enum hn_status status =
        hn_learn(&kernel, tuning->measuring.matrix, &options, &tuning->learnt, err);
    tuning->has_learnt = status == HN_OK;
    return status;
}

/* Searches where most may be found. */
static enum hn_status tune_wanted(struct tuning *tuning, struct hn_error *err)
{
    size_t size;
    if (tuning->searched >= tuning->tuned || !tuning->learnt.has_search)
        return HN_OK;
    enum hn_status status =
        hn_matrix_add_size(tuning->measuring.matrix, &tuning->learnt.search, 0, &size, err);
    return status == HN_OK && size != SIZE_MAX ? tune_size(tuning, size, err) : status;
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

/* What was found since a size was measured. Where there was a search it says what a search of its
 * own finds beyond what was found elsewhere; at the others, as long as there is time, what little
 * is known of what was found last. */
static enum hn_status fill_late(struct tuning *tuning, struct hn_error *err)
{
    const struct hn_matrix *matrix = tuning->measuring.matrix;
    enum hn_status status = HN_OK;
    for (size_t s = 0; s < matrix->size_count && status == HN_OK; s++)
        if (matrix->sizes[s].searched)
            status = hn_measuring_fill(&tuning->measuring, s, 0, err);
    double end_s = elapsed_s(tuning) + late_share * tuning->budget_s;
    for (size_t s = 0; s < matrix->size_count && status == HN_OK && elapsed_s(tuning) < end_s; s++)
        if (lacks_times(tuning, s))
            status = fill_briefly(tuning, s, err);
    return status;
}

static enum hn_status fill_wanted(struct tuning *tuning, size_t at, struct hn_error *err)
{
    size_t size;
    enum hn_status status =
        hn_matrix_add_size(tuning->measuring.matrix, &tuning->learnt.wanted[at], 0, &size, err);
    return status == HN_OK && size != SIZE_MAX ? fill_briefly(tuning, size, err) : status;
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
static enum hn_status refine(struct tuning *tuning, struct hn_error *err)
{
    const struct hn_matrix *matrix = tuning->measuring.matrix;
    double began_s = elapsed_s(tuning);
    enum hn_status status = draw_cells(tuning, FIRST_CELLS, err);
    while (status == HN_OK) {
        double measured_s = elapsed_s(tuning);
        status = learn(tuning, QUICK_SAMPLES, err);
        if (status != HN_OK)
            break;
        tuning->learn_s = elapsed_s(tuning) - measured_s;
        say(tuning,
            "%4.0f s  %zu sizes, %zu times measured: predicted loss %.1f%%, %.0f%% at worst",
            elapsed_s(tuning), matrix->size_count, tuning->measuring.cell_count,
            100 * tuning->learnt.rule.predicted.mean, 100 * tuning->learnt.rule.predicted.worst);
        size_t before = matrix->size_count;
        if (is_good(tuning) || is_late(tuning, elapsed_s(tuning) - began_s) ||
            before == HN_MATRIX_SIZES)
            break;
        began_s = elapsed_s(tuning);
        status = tune_wanted(tuning, err);
        for (size_t i = 0; i < tuning->learnt.wanted_count && status == HN_OK; i++)
            status = fill_wanted(tuning, i, err);
        if (status == HN_OK)
            status = draw_cells(tuning, DRAWN, err);
        if (matrix->size_count == before)
            break; /* the family has no more */
    }
    return status;
}

/* --- held against searches
 * ----------------------------------------------------------------------------------------------------
 */

static bool is_of_matrix(void *context, const struct hn_bindings *problem)
{
    const struct hn_matrix *matrix = context;
    bool used = false;
    for (size_t s = 0; s < matrix->size_count && !used; s++)
        used = hn_bindings_equal(&matrix->sizes[s].problem, problem);
    return used;
}

static enum hn_status measure_loss(struct tuning *tuning, struct hn_error *err)
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
    enum hn_status status = hn_held_out_measure(&held_out, &found, err);
    rule->measured = found.loss;
    tuning->outcome->untuned = found.untuned;
    return status;
}

/* --- the whole
 * ----------------------------------------------------------------------------------------------------
 */

static enum hn_status tune(struct tuning *tuning, struct hn_error *err)
{
    enum hn_status status = hn_workers_open(tuning->options->workers, err);
    if (status != HN_OK)
        return status;
    tuning->device = tuning->options->workers->lead->device;
    hn_compile_pool_set(tuning->options->workers->pool, HN_COMPILE_KEEPS_ALL, true);
    plan(tuning);
    status = add_named(tuning, err);
    if (status == HN_OK)
        status = tune_sizes(tuning, err);
    if (status == HN_OK)
        status = recall(tuning, err);
    if (status == HN_OK)
        status = refine(tuning, err);
    if (status == HN_OK)
        status = fill_late(tuning, err);
    if (status == HN_OK)
        tuning->outcome->reached = is_good(tuning);
    if (status == HN_OK)
        status = learn(tuning, SAMPLES, err);
    if (status == HN_OK)
        status = hn_measuring_keep(&tuning->measuring, &tuning->learnt.rule, &tuning->kept, err);
    if (status == HN_OK)
        status = measure_loss(tuning, err);
    return status == HN_OK
               ? hn_store_put_rule(tuning->options->store, tuning->kept, &tuning->learnt.rule, err)
               : status;
}

static void tell(struct tuning *tuning)
{
    struct hn_family_outcome *outcome = tuning->outcome;
    const struct hn_matrix *matrix = tuning->measuring.matrix;
    outcome->rule = tuning->learnt.rule;
    hn_rule_init(&tuning->learnt.rule);
    outcome->sizes = matrix->size_count;
    for (size_t s = 0; s < matrix->size_count; s++)
        outcome->tuned += isnan(matrix->sizes[s].tuned_us) ? 0 : 1;
    outcome->cells = tuning->measuring.cell_count;
    outcome->elapsed_s = elapsed_s(tuning);
}

enum hn_status hn_family_tune(const struct hn_family_options *options,
                              struct hn_family_outcome *outcome, struct hn_error *err)
{
    struct tuning tuning = {.options = options, .outcome = outcome, .started_ms = hn_now_ms()};
    *outcome = (struct hn_family_outcome){.reached = false};
    hn_rule_init(&outcome->rule);
    enum hn_status status = hn_measuring_init(&tuning.measuring, options, err);
    if (status == HN_OK)
        status = tune(&tuning, err);
    if (status == HN_OK)
        tell(&tuning);
    if (status == HN_EINTERRUPTED)
        status = hn_fail(err, HN_EINTERRUPTED,
                         "interrupted; what was measured is kept%s, and the same command goes on "
                         "from there",
                         tuning.kept > 0 ? ", the rule too, with the predicted loss alone" : "");
    if (tuning.has_learnt)
        hn_learnt_finish(&tuning.learnt);
    hn_measuring_finish(&tuning.measuring);
    return status;
}

void hn_family_outcome_finish(struct hn_family_outcome *outcome)
{
    hn_rule_finish(&outcome->rule);
}
