/* SPDX-License-Identifier: MIT */
#include "tuner/family/family.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/text.h"
#include "tuner/family/measuring.h"
#include "tuner/session/rule_code.h"

/* So many of the best points of a search join the others, as far as they are within so much of the
 * best, and some of all: what is slow has to be known, too. */
enum { JOINING_MOST = 12, JOINING_OTHERS = 8 };
static const double joining_loss = 0.3;

enum {
    FIRST_CELLS = 12, /* drawn sizes at which something is measured before anything is learnt */
    WANTED = 16,      /* sizes measured between two rules, where the last was least sure */
    DRAWN = 8,        /* and sizes that were drawn */
    QUICK_TREES = 160,
    QUICK_SAMPLES = 1500, /* of a rule that only says what to measure next */
    TREES = 400,
    SAMPLES = 16000, /* of one that is to stay */
    /* Times of QUICK_SAMPLES, at most: only what is picked is looked at in all of them. */
    SAMPLES_COST = 4,
    SMALL_SPACE = 768, /* all of its points are looked at */
    ORIGINS = 6,
    STEPS = 3,        /* from these in a large space, */
    MUTANTS = 60,     /* of each of which so many are looked at, */
    MUTANTS_JOIN = 4, /* and so many join */
    LOOKED_AT = 128,  /* sizes in whose spaces a prior is followed so many steps down */
    PRIOR_STEPS = 1000,
    OF_RULE = 32,      /* configurations of the rule at each size, those that save most */
    ANY = 3,           /* and points that nobody believes in */
    LADDER_MOST = 128, /* points before entries of the ladder are left out */
    FEWEST_TUNED = 6,
    FEWEST_HELD_OUT = 6
};
/* The share of the time for one size: a large one can take as long as a hundred others. */
static const double size_share = 0.01, size_least_s = 1;
static const uint64_t held_out_salt = 0x9e3779b97f4a7c15;

struct tuning {
    const struct hn_family_options *options;
    struct hn_measuring measuring;
    struct hn_learnt learnt;
    uint64_t drawn; /* place in the sequence of sizes */
    double budget_s, loss;
    int64_t kept;               /* the session that has the rule; 0: none has, yet */
    size_t tuned, searched;     /* sizes with a search of their own: wanted, so far */
    bool is_small;              /* the space: all points are in the matrix */
    struct hn_tuned_list given; /* rules that others learnt, of points that are in the space */
    struct hn_random random;
    struct hn_ranked gaps[LOOKED_AT]; /* of sizes where choices are not sure: the most first */
    struct hn_compile_pool *ahead;    /* what is compiled for sizes that are next */
    struct hn_family_outcome *outcome;
};

/* Adds sizes that are drawn, as far as there are any and there is room. How many. */
static size_t draw_sizes(struct tuning *tuning, size_t most, size_t *sizes, struct hn_error *err)
{
    const struct hn_config *config = tuning->measuring.config;
    size_t count = 0, place = 0;
    while (count < most && place != SIZE_MAX) {
        struct hn_bindings problem HN_ENDED_BY(hn_bindings_finish) = hn_family_draw(
            config->family, config->problems, tuning->options->search.seed, &tuning->drawn, err);
        place = hn_failed(err) ? SIZE_MAX
                               : hn_matrix_add_size(tuning->measuring.matrix, &problem, true);
        if (place != SIZE_MAX)
            sizes[count++] = place;
    }
    return count;
}

/* Those that the family names come first: the forecast counts on that. */
static void add_named(struct tuning *tuning, struct hn_error *err)
{
    const struct hn_family *family = tuning->measuring.config->family;
    if (family->size_count > HN_MATRIX_SIZES / 2)
        hn_fail(err, HN_ECONFIG, "the family names %zu sizes, a tune takes %d at most",
                family->size_count, HN_MATRIX_SIZES / 2);
    for (size_t i = 0; i < family->size_count && !hn_failed(err); i++) {
        struct hn_bindings whole HN_ENDED_BY(hn_bindings_finish) =
            hn_need_bindings(&tuning->measuring.config->problems[0], &family->sizes[i]);
        hn_matrix_add_size(tuning->measuring.matrix, &whole, true);
    }
}

/* Points that the author of the config would try: default points for some problems, then the ladder
 * from its end, since it gets better downwards. What cannot be launched costs no time. */
static void add_ladder(struct tuning *tuning)
{
    const struct hn_config *config = tuning->measuring.config;
    const struct hn_plan *plan = config->plan;
    struct hn_matrix *matrix = tuning->measuring.matrix;
    for (size_t i = 0; i < plan->other_default_count; i++)
        if (hn_plan_serves_all(plan, &plan->other_defaults[i].point))
            hn_matrix_add_point(matrix, &plan->other_defaults[i].point);
    for (size_t i = config->ladder_count; i-- > 0;)
        if (matrix->point_count < LADDER_MOST && hn_plan_serves_all(plan, &config->ladder[i]))
            hn_matrix_add_point(matrix, &config->ladder[i]);
}

/* What rules have that were learnt of the kernel before, on any device. */
static void add_rules(struct tuning *tuning, const struct hn_space *space, uint16_t *choice,
                      struct hn_error *err)
{
    const struct hn_plan *plan = tuning->measuring.config->plan;
    const struct hn_device *device = &tuning->options->workers->lead->device;
    struct hn_tuned_list *given = &tuning->given;
    hn_store_list(tuning->options->store, HN_STORE_RULES, plan->kernel, NULL, given, err);
    for (size_t i = given->count; i-- > 0;) {
        struct hn_tuned *tuned = &given->items[i];
        size_t added = 0;
        for (size_t c = 0; c < tuned->rule->configuration_count; c++) {
            const struct hn_bindings *point = &tuned->rule->configurations[c];
            added += hn_space_choice(space, point, choice, NULL) == HN_OK &&
                     hn_plan_serves_all(plan, point) &&
                     hn_matrix_add_point(tuning->measuring.matrix, point) != SIZE_MAX;
        }
        /* Of one that was learnt here, what was measured for it is known, too. */
        bool own = hn_device_identity_equal(&tuned->identity.device, &device->identity) &&
                   !hn_origin_is_foreign(&tuned->origin);
        if (own || added < tuned->rule->configuration_count ||
            added > (size_t)tuning->measuring.config->family->configurations) {
            hn_tuned_finish(tuned);
            *tuned = given->items[--given->count];
        }
    }
}

/* The default point, before all others, and all points of a space that has few there. */
static void add_space(struct tuning *tuning, size_t size, struct hn_error *err)
{
    struct hn_config *config = tuning->measuring.config;
    struct hn_matrix *matrix = tuning->measuring.matrix;
    struct hn_space *space = NULL;
    if (hn_failed(err) ||
        hn_config_take_problem(config, &matrix->sizes[size].problem, err) != HN_OK ||
        hn_config_space(config, 0, false, &space, err) != HN_OK)
        return;
    uint16_t *choice HN_FREED = hn_need(hn_space_parameter_count(space), sizeof *choice);
    if (matrix->point_count == 0) {
        struct hn_bindings point HN_ENDED_BY(hn_bindings_finish) = {0};
        hn_config_default_point(config, space, &point);
        hn_matrix_add_point(matrix, &point);
        add_rules(tuning, space, choice, err);
    }
    tuning->is_small = hn_space_enumerated(space) && hn_space_size(space) <= SMALL_SPACE;
    for (uint64_t i = 0; tuning->is_small && i < hn_space_size(space); i++) {
        struct hn_bindings point HN_ENDED_BY(hn_bindings_finish) = {0};
        hn_space_point(space, i, choice);
        hn_space_bindings(space, choice, &point);
        hn_matrix_add_point(matrix, &point);
    }
    hn_space_destroy(space);
}

static void read_cells(struct hn_measuring *measuring, size_t size,
                       const struct hn_session *session, struct hn_error *err)
{
    struct hn_matrix *matrix = measuring->matrix;
    for (size_t p = 0; p < matrix->point_count; p++) {
        struct hn_matrix_point *point = &matrix->points[p];
        double time_us = hn_visit_time(session, &point->values, point, err);
        if (isnan(time_us))
            continue;
        measuring->cell_count += isnan(matrix->times[p][size]) ? 1 : 0;
        matrix->times[p][size] = time_us;
    }
}

/* The best join the points, and others from the first to the last. */
static void read_search(struct hn_matrix *matrix, size_t size, const struct hn_session *session,
                        struct hn_error *err)
{
    struct hn_ranking ranking HN_ENDED_BY(hn_ranking_finish) = {0};
    double best_us = NAN;
    size_t joined = 0, others = 0;
    if (hn_session_ranking(session, &ranking, err) != HN_OK)
        return;
    for (size_t i = 0; i < ranking.count && !hn_failed(err); i++) {
        struct hn_record record HN_ENDED_BY(hn_record_finish) = {0};
        if (hn_session_record(session, ranking.tickets[i], &record, err) != HN_OK)
            break;
        double time_us = hn_measuring_time(&record);
        best_us = isnan(best_us) ? time_us : best_us;
        bool good = time_us <= best_us * (1 + joining_loss) && joined < JOINING_MOST;
        if (good)
            joined += hn_matrix_add_point(matrix, &record.point) != SIZE_MAX;
        else if (!isnan(time_us) && i * JOINING_OTHERS >= others * ranking.count)
            others += hn_matrix_add_point(matrix, &record.point) != SIZE_MAX;
    }
    matrix->sizes[size].tuned_us = best_us;
}

/* Searches at a size for so many seconds; what is good there joins the points. */
static void search_size(struct hn_measuring *measuring, size_t size, double budget_s,
                        struct hn_error *err)
{
    struct hn_matrix *matrix = measuring->matrix;
    struct hn_visit visit HN_ENDED_BY(hn_visit_end) = {0};
    struct hn_bindings known[HN_MATRIX_POINTS];
    const struct hn_session_options asked = {
        .first = known,
        .first_count = hn_measuring_borrow(measuring, &matrix->sizes[size].problem, known),
        .budget_s = budget_s,
        .hasty = true};
    if (!hn_visit_run(measuring, measuring->config, &matrix->sizes[size].problem, &asked, &visit,
                      err))
        return;
    read_search(matrix, size, visit.session, err);
    read_cells(measuring, size, visit.session, err);
}

/* In one session, which takes longer to begin than most of them. */
static void fill(struct hn_measuring *measuring, size_t size, const size_t *points, size_t count,
                 double budget_s, struct hn_error *err)
{
    const struct hn_matrix *matrix = measuring->matrix;
    struct hn_visit visit HN_ENDED_BY(hn_visit_end) = {0};
    bool named = size < measuring->config->family->size_count;
    struct hn_bindings wanted[HN_MATRIX_POINTS], kept[HN_MATRIX_POINTS]; /* borrow theirs */
    bool keeps[HN_MATRIX_POINTS] = {true};                               /* the default point */
    size_t wanted_count = 0, kept_count = 0;
    for (size_t i = 0; i < count; i++) {
        keeps[points[i]] = true;
        if (isnan(matrix->times[points[i]][size]))
            wanted[wanted_count++] = matrix->points[points[i]].values;
    }
    if (wanted_count == 0 || hn_failed(err))
        return;
    /* Spaces are built for each size anew: of few points that takes no time. */
    for (size_t p = 0; p < matrix->point_count; p++)
        if (keeps[p] || !isnan(matrix->times[p][size]))
            kept[kept_count++] = matrix->points[p].values;
    hn_config_keep_points(measuring->whole, kept, kept_count);
    const struct hn_session_options asked = {.points = wanted,
                                             .point_count = wanted_count,
                                             .budget_s = budget_s,
                                             .race_within = named ? HN_RACE_LOSS : 0,
                                             .hasty = true};
    if (hn_visit_run(measuring, measuring->whole, &matrix->sizes[size].problem, &asked, &visit,
                     err))
        read_cells(measuring, size, visit.session, err);
    hn_config_keep_points(measuring->whole, NULL, 0);
}

/* Finds what is good at a size: among all points, or by a search. */
static void tune_size(struct tuning *tuning, size_t size, struct hn_error *err)
{
    double each_s = HN_TUNED_SHARE * tuning->budget_s / (double)tuning->tuned;
    struct hn_matrix *matrix = tuning->measuring.matrix;
    size_t points[HN_MATRIX_POINTS];
    if (matrix->sizes[size].searched)
        return;
    matrix->sizes[size].searched = true;
    if (tuning->is_small) {
        /* In an order by chance: the time may not be enough for the last ones. */
        for (size_t i = 0; i < matrix->point_count; i++) {
            size_t other = (size_t)hn_random_below(&tuning->random, i + 1);
            points[i] = points[other];
            points[other] = i;
        }
        fill(&tuning->measuring, size, points, matrix->point_count, each_s, err);
        matrix->sizes[size].tuned_us = hn_matrix_best(matrix, size);
    } else
        search_size(&tuning->measuring, size, each_s, err);
    tuning->searched++;
    if (hn_failed(err))
        return;
    char *text HN_FREED = hn_needed(hn_bindings_text(&matrix->sizes[size].problem));
    double best_us = hn_matrix_best(matrix, size);
    if (isinf(best_us))
        hn_measuring_say(&tuning->measuring,
                         "tuned %s: nothing was measured within its share of the budget", text);
    else
        hn_measuring_say(&tuning->measuring, "tuned %s: best %.4g us, %zu configuration%s known",
                         text, best_us, matrix->point_count, hn_plural(matrix->point_count));
}

/* Searches at the first sizes, the named ones before all; others follow where a rule lacks most. */
static void tune_sizes(struct tuning *tuning, struct hn_error *err)
{
    size_t named = tuning->measuring.config->family->size_count, first = (tuning->tuned + 2) / 3;
    for (size_t i = 0; i < (named > first ? named : first) && !hn_failed(err); i++) {
        size_t size = i;
        if (i >= named && draw_sizes(tuning, 1, &size, err) == 0)
            break;
        if (i == 0 || tuning->is_small)
            add_space(tuning, size, err);
        if (i == 0)
            add_ladder(tuning);
        if (!hn_failed(err))
            tune_size(tuning, size, err);
    }
}

/* Valid points near others, each with the occupancy of where it comes from. */
struct mutants {
    struct hn_matrix_point items[ORIGINS * MUTANTS];
    size_t count;
};

/* The mutants that the model believes in most join the points. */
static void join_mutants(struct hn_measuring *measuring, size_t size, const struct mutants *mutants)
{
    struct hn_matrix *matrix = measuring->matrix;
    double *losses HN_FREED = hn_need(2 * mutants->count, sizeof *losses);
    double *deviations = losses + mutants->count;
    hn_model_ask(measuring->model, mutants->items, NULL, mutants->count,
                 &matrix->sizes[size].problem, 1, false, losses, deviations);
    for (size_t joined = 0; joined < MUTANTS_JOIN;) {
        size_t best = 0, known = matrix->point_count;
        for (size_t i = 1; i < mutants->count; i++)
            if (losses[i] - deviations[i] < losses[best] - deviations[best])
                best = i;
        if (isinf(losses[best]) ||
            hn_matrix_add_point(matrix, &mutants->items[best].values) == SIZE_MAX)
            break;
        if (matrix->point_count > known)
            matrix->points[known].occupancy = mutants->items[best].occupancy;
        joined += matrix->point_count - known;
        losses[best] = INFINITY;
    }
}

/* Points of a large space that nobody has measured, for a size: neighbours of those that may be the
 * best there, and then of the best of these, too. */
static void propose(struct tuning *tuning, size_t size)
{
    struct hn_measuring *measuring = &tuning->measuring;
    struct hn_matrix *matrix = measuring->matrix;
    const struct hn_bindings *problem = &matrix->sizes[size].problem;
    struct mutants mutants = {.count = 0};
    for (int step = 0; step < STEPS && !tuning->is_small && measuring->model != NULL; step++) {
        size_t origins[ORIGINS];
        size_t count = hn_measuring_promising(measuring, problem, ORIGINS, origins);
        for (size_t i = 0; i < count * MUTANTS; i++) {
            const struct hn_matrix_point *origin = &matrix->points[origins[i / MUTANTS]];
            struct hn_matrix_point *mutant = &mutants.items[mutants.count];
            *mutant = (struct hn_matrix_point){.values = hn_need_bindings(&origin->values, NULL),
                                               .occupancy = origin->occupancy};
            if (hn_config_mutate(measuring->config, problem, &tuning->random, &mutant->values))
                mutants.count++;
            else
                hn_bindings_finish(&mutant->values);
        }
        if (mutants.count > 0)
            join_mutants(measuring, size, &mutants);
        for (; mutants.count > 0; mutants.count--)
            hn_bindings_finish(&mutants.items[mutants.count - 1].values);
    }
}

/* What the model believes to be good at a size, some of the rule, and some by chance. */
static void fill_briefly(struct tuning *tuning, size_t size, struct hn_error *err)
{
    size_t points[2 * HN_MATRIX_POINTS];
    struct hn_measuring *measuring = &tuning->measuring;
    const struct hn_bindings *problem = &measuring->matrix->sizes[size].problem;
    size_t count = hn_measuring_promising(measuring, problem, HN_MEASURING_PROPOSED, points);
    for (size_t c = 0; c < tuning->learnt.rule.configuration_count && c < OF_RULE; c++)
        points[count++] = tuning->learnt.picked[c];
    for (size_t i = 0; i < ANY; i++)
        points[count++] = (size_t)hn_random_below(&tuning->random, measuring->matrix->point_count);
    fill(measuring, size, points, count, fmax(size_least_s, size_share * tuning->budget_s), err);
}

/* What the prior says of a point at a size; INFINITY: nothing, or it is not valid there. */
static double find_cost(const struct hn_config *config, const struct hn_bindings *problem,
                        const struct hn_bindings *point, bool valid)
{
    double cost = valid ? hn_config_estimate(config, problem, point, NULL) : 0;
    return cost > 0 ? cost : INFINITY;
}

/* At a size: the prior's least of the rule's configurations over that of points steps away. */
static void find_gap(void *context, size_t place)
{
    struct tuning *tuning = context;
    const struct hn_config *config = tuning->measuring.config;
    const struct hn_rule *rule = &tuning->learnt.rule;
    const struct hn_bindings *problem = &tuning->learnt.wanted[place];
    const struct hn_bindings *best = &rule->configurations[0];
    struct hn_random random = hn_random_seeded(place);
    double least = INFINITY;
    for (size_t c = 0; c < rule->configuration_count; c++) {
        const struct hn_bindings *own = &rule->configurations[c];
        bool valid = hn_config_find_broken(config, problem, own, NULL) == NULL;
        double cost = find_cost(config, problem, own, valid);
        best = cost < least ? own : best;
        least = fmin(least, cost);
    }
    const double of_rule = least;
    struct hn_bindings point HN_ENDED_BY(hn_bindings_finish) = hn_need_bindings(best, NULL);
    for (int step = 0; step < PRIOR_STEPS && isfinite(of_rule); step++) {
        struct hn_bindings mutant HN_ENDED_BY(hn_bindings_finish) = hn_need_bindings(&point, NULL);
        bool valid = hn_config_mutate(config, problem, &random, &mutant);
        double cost = find_cost(config, problem, &mutant, valid);
        if (cost > least)
            continue;
        const struct hn_bindings left = point;
        point = mutant;
        mutant = left;
        least = cost;
    }
    tuning->gaps[place] = (struct hn_ranked){isfinite(of_rule) ? -of_rule / least : -1, place};
}

/* Tells of points that are new whose program they have: as those have that differ in the launch
 * alone. One that was not loaded yet is compiled while there is nothing else to compile. */
static void take_programs(struct tuning *tuning, struct hn_error *err)
{
    struct hn_matrix *matrix = tuning->measuring.matrix;
    const struct hn_want want = {
        .client = tuning->ahead, .rank = HN_RANK_GUESSED, .patience_ms = INFINITY};
    const struct hn_device *device = &tuning->options->workers->lead->device;
    char architecture[16];
    snprintf(architecture, sizeof architecture, "sm_%d", device->identity.capability);
    for (size_t p = matrix->point_count;
         !hn_failed(err) && p-- > 0 && *matrix->points[p].program.hex == '\0';) {
        struct hn_matrix_point *point = &matrix->points[p];
        struct hn_source source HN_ENDED_BY(hn_source_finish) = {0};
        struct hn_source_key key;
        if (hn_source_make(tuning->measuring.config->plan, &tuning->measuring.template,
                           &matrix->sizes[0].problem, &point->values, &source, NULL) != HN_OK)
            continue;
        if (hn_source_key(&source, "", &key, err) == HN_OK)
            point->program = key.hash;
        if (!point->loaded && !hn_failed(err))
            hn_compile_pool_ask(&want, &source, architecture, err);
    }
}

/* Measures at sizes; the new programs for the next one are compiled meanwhile. */
static void fill_sizes(struct tuning *tuning, const size_t *sizes, size_t count,
                       struct hn_error *err)
{
    for (size_t i = 0; i <= count && !hn_failed(err); i++) {
        if (i < count)
            propose(tuning, sizes[i]);
        take_programs(tuning, err);
        if (i > 0)
            fill_briefly(tuning, sizes[i - 1], err);
    }
    hn_compile_pool_forget(tuning->ahead, HN_RANK_GUESSED, NULL);
}

static void learn(struct tuning *tuning, size_t samples, struct hn_error *err)
{
    const struct hn_family_kernel kernel = {tuning->measuring.config,
                                            &tuning->options->workers->lead->device};
    const struct hn_learn_options options = {.seed = ~tuning->options->search.seed,
                                             .samples = samples,
                                             .trees = samples < SAMPLES ? QUICK_TREES : TREES,
                                             .wanted = kernel.config->prior ? LOOKED_AT : WANTED};
    if (!hn_failed(err) && tuning->measuring.matrix->points[0].wrong)
        hn_fail(err, HN_ECONFIG,
                "the default point is wrong at a size; name another by `defaults`");
    if (hn_failed(err))
        return;
    tuning->measuring.model = NULL;
    hn_learnt_finish(&tuning->learnt);
    if (hn_learn(&kernel, tuning->measuring.matrix, &options, &tuning->learnt, err) == HN_OK)
        tuning->measuring.model = tuning->learnt.model;
}

static bool is_good(const struct tuning *tuning)
{
    const struct hn_rule_loss *predicted = &tuning->learnt.rule.predicted;
    double loss = tuning->measuring.config->family->worst ? predicted->worst : predicted->mean;
    return tuning->measuring.matrix->size_count >= tuning->measuring.worth.least_sizes &&
           predicted->sizes > 0 && loss <= tuning->loss;
}

/* Measures where the rule is least sure, until it is good enough or time is used up. */
static void refine(struct tuning *tuning, struct hn_error *err)
{
    struct hn_matrix *matrix = tuning->measuring.matrix;
    const struct hn_learnt *learnt = &tuning->learnt;
    const double measured_until_s = (HN_TUNED_SHARE + HN_CELLS_SHARE) * tuning->budget_s;
    double began_s = hn_measuring_spent_s(&tuning->measuring);
    size_t sizes[FIRST_CELLS + WANTED + DRAWN];
    fill_sizes(tuning, sizes, draw_sizes(tuning, FIRST_CELLS, sizes, err), err);
    while (!hn_failed(err)) {
        double measured_s = hn_measuring_spent_s(&tuning->measuring);
        learn(tuning, QUICK_SAMPLES, err);
        if (hn_failed(err))
            break;
        double now_s = hn_measuring_spent_s(&tuning->measuring), learn_s = now_s - measured_s;
        hn_measuring_say(
            &tuning->measuring,
            "%zu sizes, %zu times measured: predicted loss %.1f%%, %.0f%% at worst, sure at %.0f%%",
            matrix->size_count, tuning->measuring.cell_count, 100 * learnt->rule.predicted.mean,
            100 * learnt->rule.predicted.worst, 100 * learnt->sure);
        size_t before = matrix->size_count;
        /* Half of a round like the last one and the rule itself have to fit into what is left. */
        if (is_good(tuning) || before == HN_MATRIX_SIZES ||
            measured_until_s - now_s < (now_s - began_s) / 2 + learn_s * SAMPLES_COST)
            break;
        began_s = now_s;
        hn_parallel_do(learnt->wanted_count, 0, find_gap, tuning);
        qsort(tuning->gaps, learnt->wanted_count, sizeof *tuning->gaps, hn_ranked_compare);
        size_t count = 0;
        for (size_t i = 0; i < learnt->wanted_count && count < WANTED; i++) {
            const struct hn_bindings *wanted = &learnt->wanted[tuning->gaps[i].place];
            sizes[count] = matrix->size_count;
            count += hn_matrix_add_size(matrix, wanted, false) == sizes[count]; /* a new one */
        }
        /* Searches at the first of these, as many as are due. */
        double due = (double)tuning->tuned * now_s / measured_until_s;
        for (size_t i = 0; i < count && (double)tuning->searched < due; i++)
            tune_size(tuning, sizes[i], err);
        count += draw_sizes(tuning, DRAWN, sizes + count, err);
        fill_sizes(tuning, sizes, count, err);
        if (matrix->size_count == before)
            break; /* the family has no more */
    }
}

/* Puts the rule into the store, with its configurations' machine code. Session 0: begins one. */
static void keep(struct hn_measuring *measuring, struct hn_rule *rule, int64_t *session,
                 struct hn_error *err)
{
    const struct hn_family_options *options = measuring->options;
    struct hn_rule_programs programs;
    struct hn_task task HN_ENDED_BY(hn_task_finish) = {0};
    if (hn_failed(err) ||
        hn_measuring_task(measuring, &measuring->matrix->sizes[0].problem, &task, err) != HN_OK)
        return;
    /* A task of the family itself, whose identity has no problem. */
    hn_bindings_finish(&task.identity.problem);
    if (*session == 0)
        hn_task_begin(&task, options->store, options->search.command, NULL, session, err);
    const struct hn_rule_code code = {.store = options->store,
                                      .pool = options->workers->pool,
                                      .plan = task.plan,
                                      .template = &task.template,
                                      .session = {.identity = &task.identity,
                                                  .version = &task.version,
                                                  .command = options->search.command},
                                      .rule = rule};
    hn_rule_code_make(&code, &programs, err);
    rule->bytes = programs.bytes;
    if (!hn_failed(err))
        hn_store_put_rule(options->store, *session, rule, err);
}

/* Learns the rule, with fewer configurations while it has more bytes than the family allows. */
static void learn_rule(struct tuning *tuning, struct hn_error *err)
{
    struct hn_family *family = tuning->measuring.config->family;
    struct hn_rule *rule = &tuning->learnt.rule;
    for (;;) {
        learn(tuning, SAMPLES, err);
        keep(&tuning->measuring, rule, &tuning->kept, err);
        double count = (double)tuning->learnt.programs;
        if (hn_failed(err) || family->bytes == 0 || rule->bytes <= (size_t)family->bytes ||
            count <= 1)
            return;
        double fitting = floor(count * (double)family->bytes / (double)rule->bytes);
        family->configurations = (int64_t)fmax(1, fmin(fitting, count - 1));
        hn_measuring_say(&tuning->measuring,
                         "%.0f programs have %zu bytes of machine code: %lld at most", count,
                         rule->bytes, (long long)family->configurations);
    }
}

/* Whether a size that was learnt from later, or not at all, shows that a configuration is wrong. */
static bool is_wrong(struct hn_matrix *matrix, const struct hn_rule *rule)
{
    bool wrong = false;
    for (size_t c = 0; c < rule->configuration_count; c++) {
        size_t place = hn_matrix_add_point(matrix, &rule->configurations[c]);
        wrong = wrong || (place != SIZE_MAX && matrix->points[place].wrong);
    }
    return wrong;
}

/* A rule that was given stays where it loses less here than what little time has learnt. */
static void compete(struct tuning *tuning, struct hn_held_out held_out,
                    struct hn_held_out_loss *found, struct hn_error *err)
{
    struct hn_rule *rule = &tuning->learnt.rule;
    held_out.budget_s = 0.01; /* these sizes were searched */
    for (size_t i = 0; i < tuning->given.count && !hn_failed(err); i++) {
        const struct hn_tuned *given = &tuning->given.items[i];
        hn_measuring_say(&tuning->measuring,
                         "the rule of %s at these sizes:", given->identity.device.name);
        held_out.rule = given->rule;
        const struct hn_held_out_loss other = hn_held_out_measure(&held_out, err);
        if (other.loss.sizes < found->loss.sizes || other.loss.mean >= found->loss.mean ||
            is_wrong(tuning->measuring.matrix, given->rule))
            continue;
        hn_measuring_say(&tuning->measuring,
                         "it loses %.1f%%, what was learnt here %.1f%%: it is taken",
                         100 * other.loss.mean, 100 * found->loss.mean);
        const struct hn_rule learnt = *rule;
        *rule = *given->rule;
        *given->rule = learnt;
        rule->predicted = (struct hn_rule_loss){.sizes = 0};
        tuning->learnt.programs = rule->configuration_count; /* at most */
        *found = other;
        keep(&tuning->measuring, rule, &tuning->kept, err);
    }
}

static void measure_loss(struct tuning *tuning, struct hn_error *err)
{
    struct hn_rule *rule = &tuning->learnt.rule;
    double left_s = tuning->budget_s - hn_measuring_spent_s(&tuning->measuring);
    const struct hn_held_out held_out = {
        .measuring = &tuning->measuring,
        .rule = rule,
        .seed = tuning->options->search.seed ^ held_out_salt,
        .count = tuning->measuring.worth.held_out,
        .budget_s = fmax(left_s, HN_HELD_OUT_SHARE * tuning->budget_s / 2),
    };
    struct hn_held_out_loss found = hn_held_out_measure(&held_out, err);
    compete(tuning, held_out, &found, err);
    rule->measured = found.loss;
    rule->parts = found.parts;
    tuning->outcome->untuned = found.untuned;
    if (found.wrong <= HN_SURE_WRONG * found.sure)
        return;
    hn_measuring_say(&tuning->measuring,
                     "%u of %u choices called sure lose more than 10%%: none is called so",
                     found.wrong, found.sure);
    for (size_t n = 0; n < rule->node_count; n++)
        rule->nodes[n].sure = false;
}

static void say_wrong(const struct tuning *tuning)
{
    const struct hn_matrix *matrix = tuning->measuring.matrix;
    size_t count = 0, last = 0;
    for (size_t p = 0; p < matrix->point_count; p++) {
        count += matrix->points[p].wrong;
        last = matrix->points[p].wrong ? p : last;
    }
    char *text HN_FREED = hn_needed(hn_bindings_text(&matrix->points[last].values));
    if (count > 0)
        hn_measuring_say(&tuning->measuring,
                         "left out, wrong at a size: %zu point%s, as %s; is a constraint missing?",
                         count, hn_plural(count), text);
}

static void tune(struct tuning *tuning, struct hn_error *err)
{
    const struct hn_family_options *options = tuning->options;
    if (hn_failed(err))
        return;
    tuning->ahead = hn_compile_pool_share(options->workers->pool, -1);
    tuning->ahead->keeps_all = true;
    struct hn_family_worth *worth = &tuning->measuring.worth;
    const double given_s = tuning->measuring.budget_s;
    tuning->budget_s = given_s > 0 ? given_s : worth->budget_s;
    tuning->loss = options->loss > 0 ? options->loss : tuning->measuring.config->family->loss;
    /* A search has to last a while, too. */
    double share = sqrt(fmin(1, tuning->budget_s / worth->budget_s));
    tuning->tuned = (size_t)fmax(FEWEST_TUNED, round(share * (double)worth->tuned));
    if (options->held_out == 0)
        worth->held_out = (unsigned)fmax(FEWEST_HELD_OUT, round(share * worth->held_out));
    tuning->random = hn_random_seeded(options->search.seed);
    add_named(tuning, err);
    tune_sizes(tuning, err);
    hn_recall(&tuning->measuring, err);
    refine(tuning, err);
    tuning->outcome->reached = is_good(tuning);
    /* A named size was searched when little was known, and what is known of it comes before the
     * rule: the rule's configurations are measured there, too. */
    const double until_s = (1 - HN_HELD_OUT_SHARE / 2) * tuning->budget_s;
    const size_t named = tuning->measuring.config->family->size_count;
    do {
        learn_rule(tuning, err);
        for (size_t i = 0; i < named && hn_measuring_spent_s(&tuning->measuring) < until_s; i++)
            fill_sizes(tuning, &i, 1, err);
        measure_loss(tuning, err);
    } while (!hn_failed(err) && is_wrong(tuning->measuring.matrix, &tuning->learnt.rule));
    say_wrong(tuning);
    if (!hn_failed(err))
        hn_store_put_rule(options->store, tuning->kept, &tuning->learnt.rule, err);
}

void hn_family_tune(const struct hn_family_options *options, struct hn_family_outcome *outcome,
                    struct hn_error *err)
{
    struct tuning tuning = {.options = options, .outcome = outcome};
    *outcome = (struct hn_family_outcome){.reached = false};
    hn_measuring_start(&tuning.measuring, options, err);
    tune(&tuning, err);
    if (!hn_failed(err)) {
        outcome->rule = tuning.learnt.rule;
        tuning.learnt.rule = (struct hn_rule){0};
        outcome->programs = tuning.learnt.programs;
        outcome->sizes = tuning.measuring.matrix->size_count;
        outcome->tuned = tuning.searched;
        outcome->cells = tuning.measuring.cell_count;
        outcome->elapsed_s = (hn_now_ms() - tuning.measuring.started_ms) / 1e3;
    }
    if (err->status == HN_EINTERRUPTED)
        hn_fail(err, HN_EINTERRUPTED,
                "interrupted; what was measured is kept%s, and the same command goes on from there",
                tuning.kept > 0 ? ", the rule too, with the predicted loss alone" : "");
    hn_compile_pool_destroy(tuning.ahead);
    hn_tuned_list_free(&tuning.given);
    hn_learnt_finish(&tuning.learnt);
    hn_measuring_finish(&tuning.measuring);
}
