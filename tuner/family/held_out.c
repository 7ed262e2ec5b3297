/* SPDX-License-Identifier: MIT */
#include "tuner/family/measuring.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/plan/launch.h"

struct compared {
    double chosen_us, default_us; /* of the rule's choice; of the default point for that problem */
    double own_us;                /* the least of the rule's configurations, */
    double shared_us;             /* of what serves all sizes, */
    double best_us;               /* of all */
};

/* What is compared: the rule's configurations, the default point and what searches found. */
struct comparison {
    const struct hn_held_out *held_out;
    const struct hn_bindings *problem;
    struct hn_bindings points[HN_RULE_CONFIGURATIONS_MOST + 3];
    double seen_us[HN_RULE_CONFIGURATIONS_MOST + 3]; /* by searches; 0, NAN: not by any */
    double least_us;                                 /* of these */
    size_t count;
};

static const double raced_within = 1.3; /* of the least that was seen */

/* The place of a side, which is added unless it is there. */
static size_t add_side(struct comparison *comparison, const struct hn_bindings *point)
{
    size_t place = 0;
    while (place < comparison->count && !hn_bindings_equal(&comparison->points[place], point))
        place++;
    if (place == comparison->count)
        comparison->points[comparison->count++] = hn_need_bindings(point, NULL);
    return place;
}

/* Searches a config's points, those of the rule and the matrix first; the best is a side. */
static void search(struct comparison *comparison, struct hn_config *config, double budget_s,
                   struct hn_error *err)
{
    struct hn_measuring *measuring = comparison->held_out->measuring;
    const struct hn_rule *rule = comparison->held_out->rule;
    struct hn_visit visit HN_ENDED_BY(hn_visit_end) = {0};
    struct hn_bindings known[HN_RULE_CONFIGURATIONS_MOST + HN_MATRIX_POINTS];
    size_t count = rule->configuration_count;
    memcpy(known, rule->configurations, count * sizeof *known);
    count += hn_measuring_borrow(measuring, comparison->problem, known + count);
    const struct hn_session_options asked = {
        .first = known, .first_count = count, .budget_s = budget_s, .hasty = true};
    if (!hn_visit_run(measuring, config, comparison->problem, &asked, &visit, err))
        return;
    for (size_t i = 0; i < rule->configuration_count; i++) {
        comparison->seen_us[i] = hn_visit_time(visit.session, &rule->configurations[i], NULL, err);
        comparison->least_us = fmin(comparison->least_us, comparison->seen_us[i]);
    }
    const struct hn_record *best = hn_session_state(visit.session)->best;
    if (best != NULL)
        (void)add_side(comparison, &best->point);
}

/* All but those of the rule's that searches saw to be far behind the best of these. */
static size_t pick_raced(const struct comparison *comparison, size_t chosen, size_t untuned,
                         struct hn_bindings *raced)
{
    size_t count = 0;
    for (size_t i = 0; i < comparison->count; i++)
        if (i == chosen || i == untuned ||
            !(comparison->seen_us[i] > raced_within * comparison->least_us))
            raced[count++] = comparison->points[i];
    return count;
}

static bool usable(int configuration, void *context)
{
    const struct comparison *asked = context;
    const struct hn_measuring *measuring = asked->held_out->measuring;
    return hn_launch_try(measuring->config->plan, &measuring->options->workers->lead->device,
                         asked->problem, &asked->held_out->rule->configurations[configuration],
                         NULL, NULL);
}

static void say_compared(const struct hn_measuring *measuring, const struct hn_bindings *problem,
                         const struct compared *compared, bool sure)
{
    char *text HN_FREED = hn_needed(hn_bindings_text(problem)), untuned[48] = "";
    if (!isnan(compared->default_us))
        snprintf(untuned, sizeof untuned, "default %.4g us, ", compared->default_us);
    if (!isfinite(compared->best_us))
        hn_measuring_say(measuring, "not used %s: no variant that was measured is valid", text);
    else
        hn_measuring_say(
            measuring,
            "not used %s: %.4g us, tuned %.4g us, %s%.1f%% slower: choice %.1f%%, coverage %.1f%%, "
            "freezing %.1f%%%s",
            text, compared->chosen_us, compared->best_us, untuned,
            100 * (compared->chosen_us / compared->best_us - 1),
            100 * (compared->chosen_us / compared->own_us - 1),
            100 * (compared->own_us / compared->shared_us - 1),
            100 * (compared->shared_us / compared->best_us - 1), sure ? "" : " (not sure)");
}

/* At a problem that is no size of the matrix, which is searched among all points of the space.
 * Where sizes may be constants, half of the time is spent on points without: else chance would say
 * how much the best of these loses. NAN: the rule says nothing, or nothing could be measured. */
static struct compared compare(const struct hn_held_out *held_out,
                               const struct hn_bindings *problem, bool *sure, struct hn_error *err)
{
    struct comparison comparison = {.held_out = held_out, .problem = problem, .least_us = INFINITY};
    struct compared compared = {NAN, NAN, NAN, NAN, NAN};
    const struct hn_rule *rule = held_out->rule;
    double budget_s = held_out->budget_s / held_out->count;
    struct hn_config *whole = held_out->measuring->whole;
    struct hn_visit visit HN_ENDED_BY(hn_visit_end) = {0};
    const struct hn_plan *plan = whole->plan;
    int chosen = hn_rule_choose(rule, problem, usable, &comparison, sure);
    if (chosen < 0)
        return compared;
    for (size_t i = 0; i < rule->configuration_count; i++)
        comparison.points[i] = hn_need_bindings(&rule->configurations[i], NULL);
    comparison.count = rule->configuration_count;
    bool freezes = plan->freeze_if != NULL;
    if (freezes)
        search(&comparison, held_out->measuring->config, budget_s / 2, err);
    search(&comparison, whole, freezes ? budget_s / 2 : budget_s, err);
    size_t untuned = add_side(&comparison, hn_plan_default(plan, problem));
    struct hn_bindings raced[HN_RULE_CONFIGURATIONS_MOST + 3];
    size_t raced_count = pick_raced(&comparison, (size_t)chosen, untuned, raced);
    const struct hn_session_options asked = {
        .points = raced, .point_count = raced_count, .race_within = HN_RACE_LOSS};
    hn_config_keep_points(whole, raced, raced_count);
    bool ran = hn_visit_run(held_out->measuring, whole, problem, &asked, &visit, err);
    struct hn_matrix *matrix = held_out->measuring->matrix;
    for (size_t i = 0; i < comparison.count; i++) {
        const struct hn_bindings *point = &comparison.points[i];
        size_t place = hn_matrix_add_point(matrix, point);
        struct hn_matrix_point *told = place == SIZE_MAX ? NULL : &matrix->points[place];
        double time_us = ran ? hn_visit_time(visit.session, point, told, err) : NAN;
        if (i == (size_t)chosen)
            compared.chosen_us = time_us;
        if (i == untuned)
            compared.default_us = time_us;
        compared.best_us = fmin(compared.best_us, time_us);
        if (hn_plan_serves_all(plan, point))
            compared.shared_us = fmin(compared.shared_us, time_us);
        if (i < rule->configuration_count)
            compared.own_us = fmin(compared.own_us, time_us);
    }
    for (size_t i = 0; i < comparison.count; i++)
        hn_bindings_finish(&comparison.points[i]);
    hn_config_keep_points(whole, NULL, 0);
    if (!hn_failed(err))
        say_compared(held_out->measuring, problem, &compared, *sure);
    return compared;
}

/* Holds a rule that was learnt, or is replayed, against searches at sizes it has not seen. */

enum { MOST_DRAWS = 200 }; /* until a size comes that was not used */

/* Whoever measured a size may have learnt from it. */
static bool is_used(const struct hn_held_out *held_out, const struct hn_bindings *held,
                    unsigned count, const struct hn_bindings *problem)
{
    bool used = held_out->known != NULL
                    ? hn_known_problems_may_have(held_out->known, problem)
                    : hn_matrix_find_size(held_out->measuring->matrix, problem) != SIZE_MAX;
    for (unsigned i = 0; i < count && !used; i++)
        used = hn_bindings_equal(&held[i], problem);
    return used;
}

/* Finds a size that was neither used nor held out; a small family may have none left. */
static bool hold_out(const struct hn_held_out *held_out, uint64_t *at, struct hn_bindings *held,
                     unsigned count, struct hn_error *err)
{
    const struct hn_config *config = held_out->measuring->config;
    for (int i = 0; i < MOST_DRAWS && !hn_failed(err); i++) {
        held[count] = hn_family_draw(config->family, config->problems, held_out->seed, at, err);
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
    return (struct hn_rule_loss){.mean = expm1(sums->sum / fmax(1, (double)sums->sizes)),
                                 .worst = expm1(sums->worst),
                                 .sizes = sums->sizes};
}

struct hn_held_out_loss hn_held_out_measure(const struct hn_held_out *held_out,
                                            struct hn_error *err)
{
    struct sums chosen = {0}, defaults = {0}, choice = {0}, coverage = {0}, freezing = {0};
    struct hn_bindings *held = hn_need(held_out->count, sizeof *held);
    uint64_t at = 0;
    struct hn_held_out_loss found = {.sure = 0};
    unsigned count = 0;
    while (count < held_out->count && hold_out(held_out, &at, held, count, err)) {
        bool sure = false;
        struct compared compared = compare(held_out, &held[count++], &sure, err);
        if (hn_failed(err))
            break;
        add_loss(&chosen, compared.chosen_us, compared.best_us);
        add_loss(&defaults, compared.default_us, compared.best_us);
        add_loss(&choice, compared.chosen_us, compared.own_us);
        add_loss(&coverage, compared.own_us, compared.shared_us);
        add_loss(&freezing, compared.shared_us, compared.best_us);
        found.failed += isinf(compared.chosen_us) != 0;
        found.sure += sure && isfinite(compared.chosen_us);
        found.wrong += sure && log(compared.chosen_us / compared.shared_us) >= HN_SURE_LOSS;
    }
    if (count < held_out->count && !hn_failed(err))
        hn_measuring_say(held_out->measuring, "the family has no more sizes that were not used");
    HN_FREE_EACH(problem, held, count, hn_bindings_finish(problem));
    found.loss = loss_of(&chosen);
    found.parts = (struct hn_rule_parts){loss_of(&choice), loss_of(&coverage), loss_of(&freezing)};
    found.untuned = loss_of(&defaults);
    double n = (double)chosen.sizes, mean = n > 0 ? chosen.sum / n : 0;
    double variance = n > 1 ? fmax(0, (chosen.squares - chosen.sum * chosen.sum / n) / (n - 1)) : 0;
    found.low = n > 0 ? expm1(mean - 1.96 * sqrt(variance / n)) : 0;
    return found;
}

/* Replays draw from a sequence of their own. */
static const uint64_t replay_salt = 0xd1b54a32d192ed03;

/* A task of the family tells the rule's identity. */
static void find_rule(struct hn_measuring *measuring, struct hn_family_replay *replay,
                      struct hn_error *err)
{
    struct hn_task task HN_ENDED_BY(hn_task_finish) = {0};
    struct hn_bindings middle HN_ENDED_BY(hn_bindings_finish) = {0};
    const char *other = NULL; /* device */
    if (hn_failed(err) || hn_family_middle(measuring->config->family, &middle, err) != HN_OK ||
        hn_measuring_task(measuring, &middle, &task, err) != HN_OK)
        return;
    struct hn_identity wanted = task.identity; /* a rule's has no problem */
    wanted.problem = (struct hn_bindings){0};
    replay->version = task.version;
    replay->device = wanted.device;
    hn_store_list(measuring->options->store, HN_STORE_RULES, wanted.kernel, NULL, &replay->rules,
                  err);
    for (size_t i = 0; i < replay->rules.count; i++) {
        const struct hn_tuned *stored = &replay->rules.items[i];
        wanted.device = stored->identity.device;
        if (!hn_identity_equal(&wanted, &stored->identity))
            continue;
        if (hn_device_identity_equal(&wanted.device, &replay->device))
            replay->rule = stored;
        else
            other = stored->identity.device.name;
    }
    if (replay->rule == NULL && !hn_failed(err))
        hn_fail(err, HN_ENOTFOUND,
                "the cache holds no rule of %s's family for %s with a %s L2 cache%s%s; `hone tune "
                "--family` learns one",
                wanted.kernel, replay->device.name, wanted.regime,
                other != NULL ? ", but one for " : "", other != NULL ? other : "");
}

static void replay_rule(struct hn_measuring *measuring, struct hn_family_replay *replay,
                        struct hn_error *err)
{
    const struct hn_family_options *options = measuring->options;
    const struct hn_family_worth *worth = &measuring->worth;
    struct hn_known_problems known HN_ENDED_BY(hn_known_problems_finish) = {0};
    if (hn_failed(err) ||
        hn_known_problems_read(options->store, replay->rule->identity.kernel, &known, err) != HN_OK)
        return;
    const struct hn_held_out held_out = {
        .measuring = measuring,
        .rule = replay->rule->rule,
        .seed = options->search.seed ^ replay_salt,
        .count = worth->held_out,
        .budget_s =
            measuring->budget_s > 0 ? measuring->budget_s : HN_HELD_OUT_SHARE * worth->budget_s,
        .known = &known,
    };
    replay->found = hn_held_out_measure(&held_out, err);
    snprintf(replay->version.nvrtc, sizeof replay->version.nvrtc, "%s", measuring->nvrtc);
}

void hn_family_replay(const struct hn_family_options *options, struct hn_family_replay *replay,
                      struct hn_error *err)
{
    struct hn_measuring measuring HN_ENDED_BY(hn_measuring_finish) = {0};
    *replay = (struct hn_family_replay){.rule = NULL};
    hn_measuring_start(&measuring, options, err);
    find_rule(&measuring, replay, err);
    replay_rule(&measuring, replay, err);
    if (err->status == HN_EINTERRUPTED)
        hn_fail(err, HN_EINTERRUPTED, "interrupted; what was measured is kept");
}
