/* SPDX-License-Identifier: MIT */
#include "tuner/family/family.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/text.h"
#include "cache/store/store.h"
#include "tuner/config/config.h"
#include "tuner/family/learn.h"
#include "tuner/family/measuring.h"

/* So many of the best points of a search join the others, as far as they are within so much of the
 * best, and some of all: what is slow has to be known, too. */
enum { JOINING_MOST = 12, JOINING_OTHERS = 8 };
static const double joining_loss = 0.3;
/* Points whose times at a size are so near to the best meet in one race, in turn. */
static const double racing_loss = 0.1;
/* And what the rule chose, unless it is out of the question. */
static const double racing_sides_loss = 3;

static void start_measuring(struct hn_measuring *measuring, const struct hn_family_options *options,
                            struct hn_error *err)
{
    *measuring = (struct hn_measuring){
        .options = options, .matrix = hn_matrix_create(), .started_ms = hn_now_ms()};
    if (!hn_failed(err) && options->load(options->context, &measuring->config, err) == HN_OK)
        hn_config_thaw(measuring->config, err);
}

static void finish_measuring(struct hn_measuring *measuring)
{
    hn_config_destroy(measuring->config);
    hn_config_destroy(measuring->cells);
    hn_matrix_destroy(measuring->matrix);
    *measuring = (struct hn_measuring){.cell_count = 0};
}

/* Spaces are built for each size anew: of the points alone that takes no time. */
static void narrow(struct hn_measuring *measuring, struct hn_error *err)
{
    const struct hn_matrix *matrix = measuring->matrix;
    const struct hn_bindings *points[HN_MATRIX_POINTS];
    if (measuring->cells != NULL && measuring->cells_points == matrix->point_count)
        return;
    hn_config_destroy(measuring->cells);
    measuring->cells = NULL;
    measuring->cells_points = matrix->point_count;
    for (size_t p = 0; p < matrix->point_count; p++)
        points[p] = &matrix->points[p].values;
    if (measuring->options->load(measuring->options->context, &measuring->cells, err) == HN_OK)
        hn_config_keep_points(measuring->cells, points, matrix->point_count);
}

struct compared {
    double chosen_us, default_us; /* of the rule's choice; of the default point for that problem */
    double own_us;                /* the least of the rule's configurations, */
    double shared_us;             /* of what serves all sizes, */
    double best_us;               /* of all */
};

/* A session that has run, for whoever reads what it found. */
struct visit {
    struct hn_task task;
    struct hn_backend *backend;
    struct hn_session *session;
};

static void watch_nothing(void *watcher, const struct hn_session_state *state)
{
    (void)watcher;
    (void)state;
}

static void end_visit(struct visit *visit)
{
    hn_session_destroy(visit->session);
    hn_backend_destroy(visit->backend);
    hn_task_finish(&visit->task);
}

/* A session of a problem that measures these points, or where none are asked for searches. False:
 * it failed, or nothing is valid for the problem, so that there is nothing to read; else end the
 * visit. */
static bool run(struct hn_measuring *measuring, struct hn_config *config,
                const struct hn_bindings *problem, const struct hn_session_options *asked,
                struct visit *visit, struct hn_error *err)
{
    const struct hn_family_options *options = measuring->options;
    struct hn_session_options own = *asked;
    struct hn_error reason;
    *visit = (struct visit){.session = NULL};
    /* Where the points are told there is nothing to choose, and no other problem to learn from. */
    own.strategy =
        asked->points != NULL ? hn_strategy_find("exhaustive") : options->search.strategy;
    if (hn_failed(err) || hn_config_take_problem(config, problem, err) != HN_OK)
        return false;
    if (hn_task_make(config, 0, options->regime,
                     own.strategy->needs_feedback ? HN_TASK_SEARCHES : HN_TASK_MEASURES,
                     &visit->task, &reason) != HN_OK) {
        if (reason.status != HN_ENOTFOUND)
            *err = reason;
        return false;
    }
    const struct hn_live_options live = {.seed = options->search.seed,
                                         .any_order = !own.strategy->needs_feedback,
                                         .stays_warm = true};
    if (hn_backend_live(&visit->task, options->workers, &live, &visit->backend, err) == HN_OK) {
        snprintf(measuring->nvrtc, sizeof measuring->nvrtc, "%s", visit->task.version.nvrtc);
        own.look_ahead = options->search.look_ahead;
        own.seed = options->search.seed;
        own.events = options->search.events;
        own.command = options->search.command;
        own.started_ms = hn_now_ms(); /* driver and compiler are up */
        own.brief = true;
        hn_session_create(visit->backend, options->store, &own, &visit->session, err);
    }
    if (!hn_failed(err))
        hn_session_run(visit->session, watch_nothing, NULL, err);
    if (!hn_failed(err) && hn_interrupted() != 0)
        hn_fail(err, HN_EINTERRUPTED, "interrupted");
    if (hn_failed(err))
        end_visit(visit);
    return !hn_failed(err);
}

/* The time of a point that ran, INFINITY of one that failed, NAN of one that was not evaluated. */
static double read_time(const struct hn_session *session, const struct hn_bindings *point,
                        double *occupancy, struct hn_error *err)
{
    struct hn_record record;
    size_t ticket = hn_session_find(session, point);
    if (ticket == SIZE_MAX || hn_failed(err) ||
        hn_session_record(session, ticket, &record, err) != HN_OK)
        return NAN;
    enum hn_outcome outcome = hn_session_outcome(session, ticket);
    double time_us = hn_measuring_time(outcome, &record);
    if (record.resources.occupancy > 0)
        *occupancy = record.resources.occupancy;
    hn_record_finish(&record);
    return isnan(time_us) && !hn_outcome_is_open(outcome) ? INFINITY : time_us;
}

static void read_cells(struct hn_measuring *measuring, size_t size,
                       const struct hn_session *session, struct hn_error *err)
{
    struct hn_matrix *matrix = measuring->matrix;
    for (size_t p = 0; p < matrix->point_count; p++) {
        struct hn_matrix_point *point = &matrix->points[p];
        double occupancy = 0, time_us = read_time(session, &point->values, &occupancy, err);
        if (isnan(time_us))
            continue;
        hn_matrix_see_occupancy(point, occupancy);
        measuring->cell_count += isnan(matrix->times[p][size]) ? 1 : 0;
        matrix->times[p][size] = time_us;
    }
}

/* A good point of a search joins the others. False: there is no room. */
static bool join(struct hn_matrix *matrix, size_t size, const struct hn_bindings *point)
{
    size_t known = matrix->point_count, place = hn_matrix_add_point(matrix, point);
    if (place == SIZE_MAX)
        return false;
    if (place == known)
        matrix->points[place].only_size = (int64_t)size;
    else if (matrix->points[place].only_size != (int64_t)size)
        matrix->points[place].only_size = -1;
    return true;
}

/* The best join the points, and others from the first to the last. */
static void read_search(struct hn_matrix *matrix, size_t size, const struct hn_session *session,
                        struct hn_error *err)
{
    struct hn_ranking ranking;
    double best_us = NAN;
    size_t joined = 0, others = 0;
    if (hn_session_ranking(session, &ranking, err) != HN_OK)
        return;
    for (size_t i = 0; i < ranking.count && !hn_failed(err); i++) {
        struct hn_record record;
        if (hn_session_record(session, ranking.tickets[i], &record, err) != HN_OK)
            break;
        double time_us =
            hn_measuring_time(hn_session_outcome(session, ranking.tickets[i]), &record);
        best_us = isnan(best_us) ? time_us : best_us;
        bool good = time_us <= best_us * (1 + joining_loss) && joined < JOINING_MOST;
        if (good)
            joined += join(matrix, size, &record.point);
        else if (!isnan(time_us) && i * JOINING_OTHERS >= others * ranking.count)
            others += join(matrix, size, &record.point);
        hn_record_finish(&record);
    }
    hn_ranking_finish(&ranking);
    matrix->sizes[size].tuned_us = best_us;
}

/* A point and how soon it is to be measured at a problem. */
struct belief {
    double loss;
    size_t point;
};

static int by_loss(const void *a, const void *b)
{
    const struct belief *x = a, *y = b;
    return x->loss != y->loss ? (x->loss > y->loss) - (x->loss < y->loss)
                              : (x->point > y->point) - (x->point < y->point);
}

/* The points of the matrix that may be the best at a problem, these first: by the model, where
 * there is one, less a deviation. How many, `most` at most. */
static size_t find_promising(const struct hn_measuring *measuring,
                             const struct hn_bindings *problem, size_t most, size_t *points)
{
    const struct hn_matrix *matrix = measuring->matrix;
    size_t all = matrix->point_count, count = 0;
    const struct hn_matrix_point *asked[HN_MATRIX_POINTS];
    struct belief beliefs[HN_MATRIX_POINTS];
    double losses[HN_MATRIX_POINTS] = {0}, deviations[HN_MATRIX_POINTS] = {0};
    for (size_t p = 0; p < all; p++)
        asked[p] = &matrix->points[p];
    if (measuring->model != NULL)
        hn_model_ask(measuring->model, asked, all, problem, 1, losses, deviations);
    for (size_t p = 0; p < all; p++)
        beliefs[p] = (struct belief){losses[p] - (isinf(losses[p]) ? 0 : deviations[p]), p};
    qsort(beliefs, all, sizeof *beliefs, by_loss);
    while (count < all && count < most && !isinf(beliefs[count].loss)) {
        points[count] = beliefs[count].point;
        count++;
    }
    return count;
}

enum { PROPOSED = 24 };

/* Those points, as a search begins with them. */
static size_t borrow_promising(const struct hn_measuring *measuring,
                               const struct hn_bindings *problem, struct hn_bindings *borrowed)
{
    size_t points[HN_MATRIX_POINTS];
    size_t most = measuring->model != NULL ? PROPOSED : HN_MATRIX_POINTS;
    size_t count = find_promising(measuring, problem, most, points);
    for (size_t i = 0; i < count; i++)
        borrowed[i] = measuring->matrix->points[points[i]].values;
    return count;
}

/* Searches at a size for so many seconds; what is good there joins the points. */
static void search_at(struct hn_measuring *measuring, size_t size, double budget_s,
                      struct hn_error *err)
{
    struct hn_matrix *matrix = measuring->matrix;
    struct visit visit;
    struct hn_bindings known[HN_MATRIX_POINTS];
    const struct hn_session_options asked = {
        .first = known,
        .first_count = borrow_promising(measuring, &matrix->sizes[size].problem, known),
        .budget_s = budget_s,
        .hasty = true};
    matrix->sizes[size].searched = true;
    if (!run(measuring, measuring->config, &matrix->sizes[size].problem, &asked, &visit, err))
        return;
    read_search(matrix, size, visit.session, err);
    read_cells(measuring, size, visit.session, err);
    end_visit(&visit);
}

/* Measures these points at a size, as far as they were not and `budget_s` (0: any) lasts: a session
 * takes longer to begin than most of them. */
static void fill_at(struct hn_measuring *measuring, size_t size, const size_t *points, size_t count,
                    double budget_s, struct hn_error *err)
{
    const struct hn_matrix *matrix = measuring->matrix;
    struct visit visit;
    struct hn_bindings wanted[HN_MATRIX_POINTS]; /* borrow theirs */
    size_t wanted_count = 0;
    for (size_t i = 0; i < count; i++)
        if (isnan(matrix->times[points[i]][size]))
            wanted[wanted_count++] = matrix->points[points[i]].values;
    if (wanted_count == 0 || hn_failed(err))
        return;
    narrow(measuring, err);
    const struct hn_session_options asked = {.points = wanted,
                                             .point_count = wanted_count,
                                             .budget_s = budget_s,
                                             .race_within = racing_loss,
                                             .hasty = true};
    if (!run(measuring, measuring->cells, &matrix->sizes[size].problem, &asked, &visit, err))
        return;
    read_cells(measuring, size, visit.session, err);
    end_visit(&visit);
}

/* The sides of a race: of the rule's configurations its choice and those that may be as good, then
 * the default point and what searches found. */
struct comparison {
    struct hn_bindings points[HN_RULE_CONFIGURATIONS_MOST + 3]; /* borrowed, but for `found` */
    size_t count, own_count;                                    /* the first are the rule's */
    struct hn_bindings found[2];                                /* with words of their own */
    size_t found_count;
    double times_us[HN_RULE_CONFIGURATIONS_MOST + 3];
};

/* The place of a side, which is added unless it is there. */
static size_t add_side(struct comparison *comparison, const struct hn_bindings *point)
{
    size_t place = 0;
    while (place < comparison->count && !hn_bindings_equal(&comparison->points[place], point))
        place++;
    if (place == comparison->count)
        comparison->points[comparison->count++] = *point;
    return place;
}

/* Those of the rule's configurations that may be the best of them, by their times in a search. */
static void add_own_sides(const struct hn_rule *rule, const struct hn_session *session,
                          struct comparison *comparison, struct hn_error *err)
{
    double times_us[HN_RULE_CONFIGURATIONS_MOST], best_us = INFINITY, occupancy;
    for (size_t i = 0; i < rule->configuration_count; i++) {
        times_us[i] = read_time(session, &rule->configurations[i], &occupancy, err);
        best_us = fmin(best_us, times_us[i]);
    }
    for (size_t i = 0; i < rule->configuration_count; i++)
        if (times_us[i] <= best_us * (1 + racing_loss) && isfinite(times_us[i]))
            (void)add_side(comparison, &rule->configurations[i]);
    comparison->own_count = comparison->count;
}

/* Searches among the points of a config, those of the rule and the matrix first; the best is a
 * side. */
static void search(struct hn_measuring *measuring, struct hn_config *config,
                   const struct hn_bindings *problem, const struct hn_rule *rule, double budget_s,
                   struct comparison *comparison, struct hn_error *err)
{
    struct visit visit;
    struct hn_bindings known[HN_RULE_CONFIGURATIONS_MOST + HN_MATRIX_POINTS];
    size_t count = rule->configuration_count;
    memcpy(known, rule->configurations, count * sizeof *known);
    count += borrow_promising(measuring, problem, known + count);
    const struct hn_session_options asked = {
        .first = known, .first_count = count, .budget_s = budget_s, .hasty = true};
    if (!run(measuring, config, problem, &asked, &visit, err))
        return;
    const struct hn_record *best = hn_session_state(visit.session)->best;
    if (best != NULL) {
        if (comparison->found_count == 0)
            add_own_sides(rule, visit.session, comparison, err);
        struct hn_bindings *found = &comparison->found[comparison->found_count++];
        *found = hn_need_bindings(&best->point, NULL);
        (void)add_side(comparison, found);
    }
    end_visit(&visit);
}

/* Points that cannot be told from the best meet it in a race, and so does the rule's choice. The
 * default point need not: it may take a hundred times as long. */
static void race(struct hn_measuring *measuring, struct hn_config *whole,
                 const struct hn_bindings *problem, struct comparison *comparison,
                 struct hn_error *err)
{
    const struct hn_bindings *points[sizeof comparison->points / sizeof *comparison->points];
    const struct hn_session_options asked = {.points = comparison->points,
                                             .point_count = comparison->count,
                                             .race_within = racing_sides_loss};
    struct visit visit;
    double occupancy;
    for (size_t i = 0; i < comparison->count; i++)
        points[i] = &comparison->points[i];
    if (hn_failed(err))
        return;
    hn_config_keep_points(whole, points, comparison->count);
    if (!run(measuring, whole, problem, &asked, &visit, err))
        return;
    for (size_t i = 0; i < comparison->count; i++)
        comparison->times_us[i] = read_time(visit.session, &comparison->points[i], &occupancy, err);
    end_visit(&visit);
}

/* Whether one program of the point is for any size: none is a constant of it. */
static bool serves_all_sizes(const struct hn_plan *plan, const struct hn_bindings *point)
{
    return plan->freeze_if == NULL || !hn_plan_freezes(plan, point);
}

/* At a problem that is no size of the matrix, which is searched among all points of the space.
 * Where sizes may be constants, half of the time is spent on points without: else chance would say
 * how much the best of these loses. NAN where there is no time. */
static void compare(struct hn_measuring *measuring, const struct hn_bindings *problem,
                    const struct hn_rule *rule, size_t chosen, double budget_s,
                    struct compared *compared, struct hn_error *err)
{
    struct hn_config *whole = NULL;
    const struct hn_family_options *options = measuring->options;
    struct comparison comparison = {.own_count = 1};
    if (hn_failed(err) || options->load(options->context, &whole, err) != HN_OK)
        return;
    const struct hn_plan *plan = whole->plan;
    size_t own = add_side(&comparison, &rule->configurations[chosen]);
    bool freezes = plan->freeze_if != NULL;
    if (freezes)
        search(measuring, measuring->config, problem, rule, budget_s / 2, &comparison, err);
    search(measuring, whole, problem, rule, freezes ? budget_s / 2 : budget_s, &comparison, err);
    size_t untuned = add_side(&comparison, hn_plan_default(plan, problem));
    for (size_t i = 0; i < comparison.count; i++)
        comparison.times_us[i] = NAN;
    race(measuring, whole, problem, &comparison, err);
    compared->chosen_us = comparison.times_us[own];
    compared->default_us = comparison.times_us[untuned];
    for (size_t i = 0; i < comparison.count; i++) {
        double time_us = comparison.times_us[i];
        compared->best_us = fmin(compared->best_us, time_us);
        if (serves_all_sizes(plan, &comparison.points[i]))
            compared->shared_us = fmin(compared->shared_us, time_us);
        if (i < comparison.own_count)
            compared->own_us = fmin(compared->own_us, time_us);
    }
    for (size_t i = 0; i < comparison.found_count; i++)
        hn_bindings_finish(&comparison.found[i]);
    hn_config_destroy(whole);
}

/* A rule is held against searches at sizes that it has not seen: when it was learnt, and later,
 * when a rule of the cache is replayed. */

enum { MOST_DRAWS = 200 }; /* until a size comes that was not used */

/* Shares of the time: searches at sizes of their own, cells of the matrix, and, at least, the sizes
 * that were not used. */
static const double tuned_share = 0.45, cells_share = 0.30, held_out_share = 0.25;

/* The effort that is spent on a family where nobody says. */
struct worth {
    double budget_s;
    size_t tuned;       /* sizes that are searched */
    unsigned held_out;  /* and sizes that are not used */
    size_t least_sizes; /* before a predicted loss is believed */
};

struct held_out {
    struct hn_measuring *measuring;
    const struct hn_rule *rule;
    uint64_t seed; /* of the sequence that sizes are drawn from */
    unsigned count;
    double budget_s;                 /* of all searches */
    struct hn_known_problems *known; /* which are passed over; NULL: the sizes of the matrix */
};

struct asked {
    const struct held_out *held_out;
    const struct hn_bindings *problem;
};

static struct worth worth_of(const struct hn_family *family)
{
    static const struct worth worths[] = {{60, 12, 10, 48}, {120, 20, 12, 96}, {600, 36, 20, 160}};
    size_t ranges = 0;
    for (size_t i = 0; i < family->value_count; i++)
        ranges += family->values[i].kind == HN_FAMILY_RANGE || family->values[i].count > 2;
    return worths[ranges < 2 ? 0 : ranges == 2 ? 1 : 2];
}

static struct hn_family_kernel kernel_of(const struct hn_measuring *measuring)
{
    return (struct hn_family_kernel){measuring->config->family, measuring->config->plan,
                                     &measuring->options->workers->lead->device};
}

static double elapsed_s(const struct hn_measuring *measuring)
{
    return (hn_now_ms() - measuring->started_ms) / 1e3;
}

/* A line behind the time since the start. */
__attribute__((format(printf, 2, 3))) static void say(const struct hn_measuring *measuring,
                                                      const char *format, ...)
{
    struct hn_text line = {0};
    va_list arguments;
    va_start(arguments, format);
    hn_text_printf(&line, "%4.0f s  ", elapsed_s(measuring));
    hn_text_vprintf(&line, format, arguments);
    va_end(arguments);
    measuring->options->say(measuring->options->context, line.data);
    hn_text_finish(&line);
}

static bool usable(int configuration, void *context)
{
    const struct asked *asked = context;
    const struct hn_family_kernel kernel = kernel_of(asked->held_out->measuring);
    return hn_family_allows(&kernel, asked->problem,
                            &asked->held_out->rule->configurations[(size_t)configuration]);
}

static void say_compared(const struct hn_measuring *measuring, const struct hn_bindings *problem,
                         const struct compared *compared, bool sure)
{
    char *text = hn_needed(hn_bindings_text(problem)), untuned[48] = "";
    if (!isnan(compared->default_us))
        snprintf(untuned, sizeof untuned, "default %.4g us, ", compared->default_us);
    say(measuring,
        "not used %s: %.4g us, tuned %.4g us, %s%.1f%% slower: choice %.1f%%, coverage %.1f%%, "
        "freezing %.1f%%%s",
        text, compared->chosen_us, compared->best_us, untuned,
        100 * (compared->chosen_us / compared->best_us - 1),
        100 * (compared->chosen_us / compared->own_us - 1),
        100 * (compared->own_us / compared->shared_us - 1),
        100 * (compared->shared_us / compared->best_us - 1), sure ? "" : " (not sure)");
    free(text);
}

/* NAN: the rule says nothing, or nothing could be measured. */
static struct compared hold_against(const struct held_out *held_out,
                                    const struct hn_bindings *problem, struct hn_error *err)
{
    bool sure;
    struct asked asked = {held_out, problem};
    struct compared compared = {NAN, NAN, NAN, NAN, NAN};
    int configuration = hn_rule_choose(held_out->rule, problem, usable, &asked, &sure);
    if (configuration < 0)
        return compared;
    compare(held_out->measuring, problem, held_out->rule, (size_t)configuration,
            held_out->budget_s / held_out->count, &compared, err);
    if (!hn_failed(err))
        say_compared(held_out->measuring, problem, &compared, sure);
    return compared;
}

/* Whoever measured a size may have learnt from it. */
static bool is_used(const struct held_out *held_out, const struct hn_bindings *held, unsigned count,
                    const struct hn_bindings *problem)
{
    const struct hn_matrix *matrix = held_out->measuring->matrix;
    bool used = held_out->known != NULL && hn_known_problems_may_have(held_out->known, problem);
    for (size_t s = 0; held_out->known == NULL && s < matrix->size_count && !used; s++)
        used = hn_bindings_equal(&matrix->sizes[s].problem, problem);
    for (unsigned i = 0; i < count && !used; i++)
        used = hn_bindings_equal(&held[i], problem);
    return used;
}

/* Finds a size that was neither used nor held out; a small family may have none left. */
static bool hold_out(const struct held_out *held_out, uint64_t *at, struct hn_bindings *held,
                     unsigned count, struct hn_error *err)
{
    for (int i = 0; i < MOST_DRAWS && !hn_failed(err); i++) {
        held[count] = hn_measuring_draw(held_out->measuring, held_out->seed, at, err);
        if (!hn_failed(err) && !is_used(held_out, held, count, &held[count]))
            return true;
        hn_bindings_finish(&held[count]);
    }
    return false;
}

/* Sums of logarithms of losses. */
struct sums {
    double sum, squares, worst;
    size_t sizes;
};

static void add_loss(struct sums *sums, double time_us, double best_us)
{
    double loss = log(time_us / best_us);
    if (!isfinite(loss))
        return;
    sums->sum += loss;
    sums->squares += loss * loss;
    sums->worst = fmax(sums->worst, loss);
    sums->sizes++;
}

static struct hn_rule_loss loss_of(const struct sums *sums)
{
    if (sums->sizes == 0)
        return (struct hn_rule_loss){.sizes = 0};
    return (struct hn_rule_loss){.mean = expm1(sums->sum / (double)sums->sizes),
                                 .worst = expm1(sums->worst),
                                 .sizes = sums->sizes};
}

/* The lower end of the mean's 95% interval. */
static double low_of(const struct sums *sums)
{
    double n = (double)sums->sizes;
    double variance = n > 1 ? fmax(0, (sums->squares - sums->sum * sums->sum / n) / (n - 1)) : 0;
    return n > 0 ? expm1(sums->sum / n - 1.96 * sqrt(variance / n)) : 0;
}

static struct hn_held_out_loss measure_held_out(const struct held_out *held_out,
                                                struct hn_error *err)
{
    struct sums chosen = {0}, defaults = {0}, choice = {0}, coverage = {0}, freezing = {0};
    struct hn_bindings *held = hn_need(held_out->count, sizeof *held);
    uint64_t at = 0;
    unsigned count = 0;
    while (count < held_out->count && hold_out(held_out, &at, held, count, err)) {
        struct compared compared = hold_against(held_out, &held[count++], err);
        if (hn_failed(err))
            break;
        add_loss(&chosen, compared.chosen_us, compared.best_us);
        add_loss(&defaults, compared.default_us, compared.best_us);
        add_loss(&choice, compared.chosen_us, compared.own_us);
        add_loss(&coverage, compared.own_us, compared.shared_us);
        add_loss(&freezing, compared.shared_us, compared.best_us);
    }
    if (count < held_out->count && !hn_failed(err))
        say(held_out->measuring, "the family has no more sizes that were not used");
    for (unsigned i = 0; i < count; i++)
        hn_bindings_finish(&held[i]);
    free(held);
    return (struct hn_held_out_loss){
        .loss = loss_of(&chosen),
        .parts = {loss_of(&choice), loss_of(&coverage), loss_of(&freezing)},
        .untuned = loss_of(&defaults),
        .low = low_of(&chosen)};
}

void hn_family_append_default(struct hn_text *text, const struct hn_rule_loss *loss)
{
    if (loss->sizes > 0)
        hn_text_printf(text, "the default point there: %.1f%% slower in the mean, %.0f%% at worst",
                       100 * loss->mean, 100 * loss->worst);
}

/* Replays draw from a sequence of their own. */
static const uint64_t replay_salt = 0xd1b54a32d192ed03;

static bool is_same_family(const struct hn_identity *a, const struct hn_identity *b)
{
    return strcmp(a->signature, b->signature) == 0 && strcmp(a->regime, b->regime) == 0 &&
           strcmp(a->objective, b->objective) == 0;
}

static void fail_missing(const struct hn_family_replay *replay, const struct hn_identity *identity,
                         struct hn_error *err)
{
    const char *other = NULL;
    for (size_t i = 0; i < replay->rules.count; i++)
        if (is_same_family(&replay->rules.items[i].identity, identity))
            other = replay->rules.items[i].identity.device.name;
    hn_fail(err, HN_ENOTFOUND,
            "the cache holds no rule of %s's family for %s with a %s L2 cache%s%s; `hone tune "
            "--family` learns one",
            identity->kernel, identity->device.name, identity->regime,
            other != NULL ? ", but one for " : "", other != NULL ? other : "");
}

static void find_rule(struct hn_family_replay *replay, struct hn_store *store,
                      const struct hn_task *task, struct hn_error *err)
{
    const struct hn_identity *identity = &task->identity;
    replay->version = task->version;
    replay->device = identity->device;
    if (hn_store_list(store, HN_STORE_RULES, identity->kernel, NULL, &replay->rules, err) != HN_OK)
        return;
    for (size_t i = 0; i < replay->rules.count; i++) {
        const struct hn_tuned *stored = &replay->rules.items[i];
        if (is_same_family(&stored->identity, identity) &&
            hn_device_identity_equal(&stored->identity.device, &identity->device))
            replay->rule = stored;
    }
    if (replay->rule == NULL)
        fail_missing(replay, identity, err);
}

/* A task of the family tells the rule's identity. */
static void look_up(struct hn_measuring *measuring, struct hn_family_replay *replay,
                    struct hn_error *err)
{
    struct hn_task task;
    struct hn_bindings middle;
    if (hn_failed(err) || hn_family_middle(measuring->config->family, &middle, err) != HN_OK)
        return;
    struct hn_bindings whole = hn_need_bindings(&measuring->config->problems[0], &middle);
    if (hn_measuring_task(measuring, &whole, &task, err) == HN_OK) {
        find_rule(replay, measuring->options->store, &task, err);
        hn_task_finish(&task);
    }
    hn_bindings_finish(&whole);
    hn_bindings_finish(&middle);
}

static void replay_rule(struct hn_measuring *measuring, struct hn_family_replay *replay,
                        struct hn_error *err)
{
    const struct hn_family_options *options = measuring->options;
    const struct worth worth = worth_of(measuring->config->family);
    struct hn_known_problems known;
    if (hn_known_problems_read(options->store, replay->rule->identity.kernel, &known, err) != HN_OK)
        return;
    const struct held_out held_out = {
        .measuring = measuring,
        .rule = replay->rule->rule,
        .seed = options->search.seed ^ replay_salt,
        .count = options->held_out > 0 ? options->held_out : worth.held_out,
        .budget_s = options->search.budget_s > 0 ? options->search.budget_s
                                                 : held_out_share * worth.budget_s,
        .known = &known,
    };
    replay->found = measure_held_out(&held_out, err);
    hn_known_problems_finish(&known);
}

enum hn_status hn_family_replay(const struct hn_family_options *options,
                                struct hn_family_replay *replay, struct hn_error *err)
{
    struct hn_measuring measuring;
    *replay = (struct hn_family_replay){.rule = NULL};
    hn_error_init(err);
    start_measuring(&measuring, options, err);
    hn_workers_open_lead(options->workers, true, err);
    look_up(&measuring, replay, err);
    if (!hn_failed(err)) {
        options->workers->pool->keeps_all = true;
        replay_rule(&measuring, replay, err);
        snprintf(replay->version.nvrtc, sizeof replay->version.nvrtc, "%s", measuring.nvrtc);
    }
    if (err->status == HN_EINTERRUPTED)
        hn_fail(err, HN_EINTERRUPTED, "interrupted; what was measured is kept");
    finish_measuring(&measuring);
    return err->status;
}

enum {
    FIRST_CELLS = 12,     /* drawn sizes at which something is measured before anything is learnt */
    WANTED = 16,          /* sizes measured between two rules, where the last was least sure */
    DRAWN = 8,            /* and sizes that were drawn */
    QUICK_SAMPLES = 1500, /* of a rule that only says what to measure next */
    SAMPLES = 16000,
    /* Times of QUICK_SAMPLES, at most: only what is picked is looked at in all of them. */
    SAMPLES_COST = 3,
    SMALL_SPACE = HN_MATRIX_POINTS / 2, /* all of its points are looked at */
    ORIGINS = 6,
    MUTATED = 6,
    MUTANTS_MOST = 3000,
    MUTANTS_JOIN = 10,                  /* in a large space */
    ANY = 3,                            /* points at each size that nobody believes in */
    LADDER_MOST = HN_MATRIX_POINTS / 8, /* points before entries of the ladder are left out */
    SOME_SIZES = 256,                   /* what serves none of so many is not measured */
    FEWEST_TUNED = 6
};
/* How much of the time what is known may be measured at one size: a large one can take as long as a
 * hundred others. */
static const double size_share = 0.03, size_least_s = 1;
/* And what was found late, at sizes that were measured before. */
static const double late_share = 0.05;
static const uint64_t held_out_salt = 0x9e3779b97f4a7c15;

struct tuning {
    const struct hn_family_options *options;
    struct hn_measuring measuring;
    struct hn_learnt learnt;
    uint64_t drawn; /* place in the sequence of sizes */
    double budget_s, loss;
    double learn_s;         /* what the last rule took, of QUICK_SAMPLES */
    int64_t kept;           /* the session that has the rule; 0: none has, yet */
    size_t tuned, searched; /* sizes with a search of their own: wanted, so far */
    size_t least_sizes;
    bool is_small; /* the space: all points are in the matrix */
    struct hn_random random;
    unsigned held_out;
    struct hn_family_outcome *outcome;
};

static void plan(struct tuning *tuning)
{
    const struct hn_family_options *options = tuning->options;
    const struct hn_family *family = tuning->measuring.config->family;
    const struct worth worth = worth_of(family);
    tuning->budget_s = options->search.budget_s > 0 ? options->search.budget_s : worth.budget_s;
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
        hn_measuring_draw(&tuning->measuring, tuning->options->search.seed, &tuning->drawn, err);
    size_t size = hn_failed(err) ? SIZE_MAX : hn_matrix_add_size(matrix, &problem, 0);
    if (size != SIZE_MAX)
        matrix->sizes[size].drawn = true;
    hn_bindings_finish(&problem);
    return size;
}

/* Those that the family names come first: the forecast counts on that. */
static void add_named(struct tuning *tuning, struct hn_error *err)
{
    const struct hn_family *family = tuning->measuring.config->family;
    if (family->size_count > HN_MATRIX_SIZES / 2) {
        hn_fail(err, HN_ECONFIG, "the family names %zu sizes, a tune takes %d at most",
                family->size_count, HN_MATRIX_SIZES / 2);
        return;
    }
    for (size_t i = 0; i < family->size_count; i++) {
        struct hn_bindings whole =
            hn_need_bindings(&tuning->measuring.config->problems[0], &family->sizes[i]);
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
        hn_config_space(config, 0, false, &space, err) != HN_OK)
        return;
    hn_config_default_point(config, space, &point);
    hn_matrix_add_point(tuning->measuring.matrix, &point);
    hn_bindings_finish(&point);
    hn_space_destroy(space);
}

/* Whether a point can be launched for some of the sizes as they may come. */
static bool serves_some(const struct tuning *tuning, const struct hn_bindings *some, size_t count,
                        const struct hn_bindings *point)
{
    const struct hn_family_kernel kernel = kernel_of(&tuning->measuring);
    bool serves = false;
    if (!serves_all_sizes(kernel.plan, point))
        return false;
    for (size_t i = 0; i < count && !serves; i++)
        serves = hn_family_allows(&kernel, &some[i], point);
    return serves;
}

/* Points that the author of the config would try: default points for some problems, then the
 * ladder, the last first, since a ladder gets better downwards. */
static void add_ladder(struct tuning *tuning, struct hn_error *err)
{
    struct hn_bindings some[SOME_SIZES];
    const struct hn_config *config = tuning->measuring.config;
    const struct hn_plan *plan = config->plan;
    struct hn_matrix *matrix = tuning->measuring.matrix;
    size_t count = 0;
    uint64_t at = 0;
    while (count < SOME_SIZES && !hn_failed(err))
        some[count++] =
            hn_measuring_draw(&tuning->measuring, tuning->options->search.seed, &at, err);
    for (size_t i = 0; i < plan->other_default_count && !hn_failed(err); i++)
        if (serves_some(tuning, some, count, &plan->other_defaults[i].point))
            hn_matrix_add_point(matrix, &plan->other_defaults[i].point);
    for (size_t i = config->ladder_count; i-- > 0 && !hn_failed(err);)
        if (matrix->point_count < LADDER_MOST &&
            serves_some(tuning, some, count, &config->ladder[i]))
            hn_matrix_add_point(matrix, &config->ladder[i]);
    for (size_t i = 0; i < count; i++)
        hn_bindings_finish(&some[i]);
}

/* All points of a space that has few, at that size. */
static void add_space(struct tuning *tuning, size_t size, struct hn_error *err)
{
    struct hn_config *config = tuning->measuring.config;
    struct hn_matrix *matrix = tuning->measuring.matrix;
    struct hn_space *space = NULL;
    struct hn_error reason;
    if (hn_failed(err) ||
        hn_config_take_problem(config, &matrix->sizes[size].problem, err) != HN_OK ||
        hn_config_space(config, 0, false, &space, &reason) != HN_OK)
        return;
    uint16_t *choice = hn_need(hn_space_parameter_count(space), sizeof *choice);
    tuning->is_small = hn_space_enumerated(space) && hn_space_size(space) <= SMALL_SPACE;
    for (uint64_t i = 0; tuning->is_small && i < hn_space_size(space); i++) {
        struct hn_bindings point;
        hn_space_point(space, i, choice);
        hn_space_bindings(space, choice, &point);
        hn_matrix_add_point(matrix, &point);
        hn_bindings_finish(&point);
    }
    free(choice);
    hn_space_destroy(space);
}

/* All points in an order by chance: the time may not be enough for the last ones. */
static size_t shuffle_points(struct tuning *tuning, size_t *points)
{
    size_t count = tuning->measuring.matrix->point_count;
    for (size_t i = 0; i < count; i++) {
        size_t other = (size_t)hn_random_below(&tuning->random, i + 1);
        points[i] = points[other];
        points[other] = i;
    }
    return count;
}

/* Finds what is good at a size: among all points, or by a search. */
static void tune_size(struct tuning *tuning, size_t size, struct hn_error *err)
{
    double each_s = tuned_share * tuning->budget_s / (double)tuning->tuned;
    struct hn_matrix *matrix = tuning->measuring.matrix;
    size_t points[HN_MATRIX_POINTS];
    if (matrix->sizes[size].searched)
        return;
    if (tuning->is_small) {
        fill_at(&tuning->measuring, size, points, shuffle_points(tuning, points), each_s, err);
        matrix->sizes[size].searched = true;
        matrix->sizes[size].tuned_us = hn_matrix_best(matrix, size);
        if (isinf(matrix->sizes[size].tuned_us))
            matrix->sizes[size].tuned_us = NAN;
    } else
        search_at(&tuning->measuring, size, each_s, err);
    tuning->searched++;
    if (hn_failed(err))
        return;
    char *text = hn_needed(hn_bindings_text(&matrix->sizes[size].problem));
    double best_us = hn_matrix_best(matrix, size);
    if (isinf(best_us))
        say(&tuning->measuring, "tuned %s: nothing was measured within %.0f s", text, each_s);
    else
        say(&tuning->measuring, "tuned %s: best %.4g us, %zu configuration%s known", text, best_us,
            matrix->point_count, hn_plural(matrix->point_count));
    free(text);
}

/* Searches at the first sizes, the named ones before all. The others are for sizes where the rule
 * is least sure. */
static void tune_sizes(struct tuning *tuning, struct hn_error *err)
{
    size_t named = tuning->measuring.config->family->size_count, first = (tuning->tuned + 2) / 3;
    for (size_t i = 0; i < (named > first ? named : first) && !hn_failed(err); i++) {
        size_t size = i < named ? i : draw_size(tuning, err);
        if (size == SIZE_MAX)
            break;
        if (i == 0)
            add_default(tuning, err);
        if (i == 0 || tuning->is_small)
            add_space(tuning, size, err);
        if (i == 0)
            add_ladder(tuning, err);
        if (!hn_failed(err))
            tune_size(tuning, size, err);
    }
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
        say(&tuning->measuring, "from the cache: %zu size%s, %zu configuration%s, %zu time%s",
            sizes, hn_plural(sizes), points, hn_plural(points), times, hn_plural(times));
}

/* Neighbours of points that may be the best at a size, and neighbours of some of these: each with
 * the occupancy of where it comes from. */
struct mutants {
    struct hn_matrix_point *items;
    const struct hn_matrix_point **asked;
    size_t count;
};

static void add_mutants(struct tuning *tuning, const struct hn_space *space, const uint16_t *choice,
                        double occupancy, int depth, struct mutants *mutants)
{
    size_t width = hn_space_parameter_count(space);
    uint16_t *near = hn_need(hn_space_neighbour_limit(space, HN_HAMMING) * width, sizeof *near);
    size_t count = hn_space_neighbours(space, choice, HN_HAMMING, near);
    for (size_t i = 0; i < count && mutants->count < MUTANTS_MOST; i++) {
        struct hn_matrix_point *mutant = &mutants->items[mutants->count];
        hn_space_bindings(space, near + i * width, &mutant->values);
        mutant->occupancy = occupancy;
        mutants->asked[mutants->count++] = mutant;
    }
    for (int i = 0; i < MUTATED && depth > 0 && count > 0; i++) {
        size_t other = (size_t)hn_random_below(&tuning->random, count);
        add_mutants(tuning, space, near + other * width, occupancy, depth - 1, mutants);
    }
    free(near);
}

/* The mutants that the model believes in most join the points. */
static void join_mutants(struct hn_measuring *measuring, size_t size, const struct mutants *mutants)
{
    struct hn_matrix *matrix = measuring->matrix;
    double *losses = hn_need(2 * mutants->count, sizeof *losses);
    double *deviations = losses + mutants->count;
    hn_model_ask(measuring->model, mutants->asked, mutants->count, &matrix->sizes[size].problem, 1,
                 losses, deviations);
    for (int joined = 0; joined < MUTANTS_JOIN; joined++) {
        size_t best = 0, known = matrix->point_count;
        for (size_t i = 1; i < mutants->count; i++)
            if (losses[i] - deviations[i] < losses[best] - deviations[best])
                best = i;
        if (isinf(losses[best]) || !join(matrix, size, &mutants->items[best].values))
            break;
        if (matrix->point_count > known)
            matrix->points[known].occupancy = mutants->items[best].occupancy;
        losses[best] = INFINITY;
    }
    free(losses);
}

/* Points of a large space that nobody has measured, for a size. */
static void propose(struct tuning *tuning, size_t size, struct hn_error *err)
{
    struct hn_measuring *measuring = &tuning->measuring;
    struct hn_matrix *matrix = measuring->matrix;
    const struct hn_bindings *problem = &matrix->sizes[size].problem;
    struct hn_space *space = NULL;
    struct hn_error reason;
    size_t origins[ORIGINS], count;
    if (hn_failed(err) || tuning->is_small || measuring->model == NULL ||
        hn_config_take_problem(measuring->config, problem, err) != HN_OK ||
        hn_config_space(measuring->config, 0, true, &space, &reason) != HN_OK)
        return;
    struct mutants mutants = {.items = hn_need(MUTANTS_MOST, sizeof *mutants.items),
                              .asked = hn_need(MUTANTS_MOST, sizeof(void *))};
    uint16_t *choice = hn_need(hn_space_parameter_count(space), sizeof *choice);
    count = hn_space_wait(space, &reason) == HN_OK
                ? find_promising(measuring, problem, ORIGINS, origins)
                : 0;
    for (size_t i = 0; i < count; i++) {
        const struct hn_matrix_point *origin = &matrix->points[origins[i]];
        if (hn_space_choice(space, &origin->values, choice, &reason) == HN_OK)
            add_mutants(tuning, space, choice, origin->occupancy, 1, &mutants);
    }
    if (mutants.count > 0)
        join_mutants(measuring, size, &mutants);
    for (size_t i = 0; i < mutants.count; i++)
        hn_bindings_finish(&mutants.items[i].values);
    free(mutants.items);
    free(mutants.asked);
    free(choice);
    hn_space_destroy(space);
}

/* What the model believes to be good at a size, what the rule has, and some that nobody believes
 * in. */
static void fill_briefly(struct tuning *tuning, size_t size, struct hn_error *err)
{
    size_t points[2 * HN_MATRIX_POINTS], all[HN_MATRIX_POINTS];
    struct hn_measuring *measuring = &tuning->measuring;
    const struct hn_bindings *problem = &measuring->matrix->sizes[size].problem;
    propose(tuning, size, err);
    size_t count = find_promising(measuring, problem, PROPOSED, points);
    for (size_t c = 0; c < tuning->learnt.rule.configuration_count; c++)
        points[count++] = tuning->learnt.picked[c];
    size_t others = shuffle_points(tuning, all);
    for (size_t i = 0; i < others && i < ANY; i++)
        points[count++] = all[i];
    fill_at(measuring, size, points, count, fmax(size_least_s, size_share * tuning->budget_s), err);
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
    const struct hn_family_kernel kernel = kernel_of(&tuning->measuring);
    const struct hn_learn_options options = {
        .seed = ~tuning->options->search.seed, .samples = samples, .wanted = WANTED};
    if (hn_failed(err))
        return;
    tuning->measuring.model = NULL;
    hn_learnt_finish(&tuning->learnt);
    if (hn_learn(&kernel, tuning->measuring.matrix, &options, &tuning->learnt, err) == HN_OK)
        tuning->measuring.model = tuning->learnt.model;
}

/* Searches where the rule is least sure. */
static void tune_wanted(struct tuning *tuning, struct hn_error *err)
{
    if (tuning->searched >= tuning->tuned || tuning->learnt.wanted_count == 0)
        return;
    size_t size = hn_matrix_add_size(tuning->measuring.matrix, &tuning->learnt.wanted[0], 0);
    if (size != SIZE_MAX)
        tune_size(tuning, size, err);
}

/* Measures what the rule has at sizes that were measured before it was found, those that were
 * searched first: as long as there is time. */
static void fill_late(struct tuning *tuning, struct hn_error *err)
{
    struct hn_measuring *measuring = &tuning->measuring;
    const struct hn_matrix *matrix = measuring->matrix;
    double end_s = elapsed_s(measuring) + late_share * tuning->budget_s;
    for (int searched = 1; searched >= 0; searched--)
        for (size_t s = 0; s < matrix->size_count && elapsed_s(measuring) < end_s; s++)
            if (matrix->sizes[s].searched == (searched > 0))
                fill_at(measuring, s, tuning->learnt.picked,
                        tuning->learnt.rule.configuration_count, 0, err);
}

static bool is_good(const struct tuning *tuning)
{
    const struct hn_rule_loss *predicted = &tuning->learnt.rule.predicted;
    double loss = tuning->measuring.config->family->worst ? predicted->worst : predicted->mean;
    return tuning->measuring.matrix->size_count >= tuning->least_sizes && predicted->sizes > 0 &&
           loss <= tuning->loss;
}

/* Whether half of a round like the last one, what comes late and the rule itself would take longer
 * than there is. */
static bool is_late(const struct tuning *tuning, double round_s)
{
    double left_s =
        (tuned_share + cells_share - late_share) * tuning->budget_s - elapsed_s(&tuning->measuring);
    return left_s < round_s / 2 + tuning->learn_s * SAMPLES_COST;
}

/* Measures where the rule is least sure, until it is good enough, or the time for that is used up.
 */
static void refine(struct tuning *tuning, struct hn_error *err)
{
    struct hn_matrix *matrix = tuning->measuring.matrix;
    const struct hn_learnt *learnt = &tuning->learnt;
    double began_s = elapsed_s(&tuning->measuring);
    draw_cells(tuning, FIRST_CELLS, err);
    while (!hn_failed(err)) {
        double measured_s = elapsed_s(&tuning->measuring);
        learn(tuning, QUICK_SAMPLES, err);
        if (hn_failed(err))
            break;
        tuning->learn_s = elapsed_s(&tuning->measuring) - measured_s;
        say(&tuning->measuring,
            "%zu sizes, %zu times measured: predicted loss %.1f%%, %.0f%% at worst, sure at %.0f%%",
            matrix->size_count, tuning->measuring.cell_count, 100 * learnt->rule.predicted.mean,
            100 * learnt->rule.predicted.worst, 100 * learnt->sure);
        size_t before = matrix->size_count;
        if (is_good(tuning) || is_late(tuning, elapsed_s(&tuning->measuring) - began_s) ||
            before == HN_MATRIX_SIZES)
            break;
        began_s = elapsed_s(&tuning->measuring);
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

/* Learns again with fewer configurations while their machine code is larger than the family allows.
 */
static void fit_bytes(struct tuning *tuning, struct hn_error *err)
{
    struct hn_family *family = tuning->measuring.config->family;
    struct hn_rule *rule = &tuning->learnt.rule;
    while (!hn_failed(err) && family->bytes > 0 && rule->bytes > (size_t)family->bytes &&
           rule->configuration_count > 1) {
        double count = (double)rule->configuration_count;
        double fitting = floor(count * (double)family->bytes / (double)rule->bytes);
        family->configurations = (int64_t)fmax(1, fmin(fitting, count - 1));
        say(&tuning->measuring, "%.0f configurations have %zu bytes of machine code: %lld at most",
            count, rule->bytes, (long long)family->configurations);
        learn(tuning, SAMPLES, err);
        hn_measuring_keep(&tuning->measuring, rule, &tuning->kept, err);
    }
}

static void measure_loss(struct tuning *tuning, struct hn_error *err)
{
    struct hn_rule *rule = &tuning->learnt.rule;
    double left_s = tuning->budget_s - elapsed_s(&tuning->measuring);
    const struct held_out held_out = {
        .measuring = &tuning->measuring,
        .rule = rule,
        .seed = tuning->options->search.seed ^ held_out_salt,
        .count = tuning->held_out,
        .budget_s = fmax(left_s, held_out_share * tuning->budget_s / 2),
    };
    const struct hn_held_out_loss found = measure_held_out(&held_out, err);
    rule->measured = found.loss;
    rule->parts = found.parts;
    tuning->outcome->untuned = found.untuned;
}

static void tune(struct tuning *tuning, struct hn_error *err)
{
    const struct hn_family_options *options = tuning->options;
    if (!hn_workers_open_lead(options->workers, true, err) || hn_failed(err))
        return;
    options->workers->pool->keeps_all = true;
    plan(tuning);
    tuning->random = hn_random_seeded(options->search.seed);
    add_named(tuning, err);
    tune_sizes(tuning, err);
    recall(tuning, err);
    refine(tuning, err);
    fill_late(tuning, err);
    if (hn_failed(err))
        return;
    tuning->outcome->reached = is_good(tuning);
    learn(tuning, SAMPLES, err);
    hn_measuring_keep(&tuning->measuring, &tuning->learnt.rule, &tuning->kept, err);
    fit_bytes(tuning, err);
    if (hn_failed(err))
        return;
    measure_loss(tuning, err);
    if (!hn_failed(err))
        hn_store_put_rule(options->store, tuning->kept, &tuning->learnt.rule, err);
}

enum hn_status hn_family_tune(const struct hn_family_options *options,
                              struct hn_family_outcome *outcome, struct hn_error *err)
{
    struct tuning tuning = {.options = options, .outcome = outcome};
    const struct hn_matrix *matrix;
    *outcome = (struct hn_family_outcome){.reached = false};
    hn_error_init(err);
    start_measuring(&tuning.measuring, options, err);
    tune(&tuning, err);
    matrix = tuning.measuring.matrix;
    if (!hn_failed(err)) {
        outcome->rule = tuning.learnt.rule;
        tuning.learnt.rule = (struct hn_rule){0};
        outcome->sizes = matrix->size_count;
        for (size_t s = 0; s < matrix->size_count; s++)
            outcome->tuned += isnan(matrix->sizes[s].tuned_us) ? 0 : 1;
        outcome->cells = tuning.measuring.cell_count;
        outcome->elapsed_s = elapsed_s(&tuning.measuring);
    }
    if (err->status == HN_EINTERRUPTED)
        hn_fail(err, HN_EINTERRUPTED,
                "interrupted; what was measured is kept%s, and the same command goes on from there",
                tuning.kept > 0 ? ", the rule too, with the predicted loss alone" : "");
    hn_learnt_finish(&tuning.learnt);
    finish_measuring(&tuning.measuring);
    return err->status;
}
