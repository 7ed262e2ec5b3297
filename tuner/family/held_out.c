/* SPDX-License-Identifier: MIT */
#include "tuner/family/held_out.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/run.h"
#include "base/text.h"
#include "tuner/family/sizes.h"

enum { MOST_DRAWS = 200 }; /* until a size comes that was not used */

struct asked {
    const struct hn_held_out *held_out;
    const struct hn_bindings *problem;
};

static bool usable(int configuration, void *context)
{
    const struct asked *asked = context;
    const struct hn_held_out *held_out = asked->held_out;
    return hn_family_allows(&held_out->kernel, asked->problem,
                            &held_out->rule->configurations[(size_t)configuration]);
}

/* Behind the time since the start. */
static void say(const struct hn_held_out *held_out, const char *what)
{
    const struct hn_family_options *options = held_out->measuring->options;
    char *line = NULL;
    if (asprintf(&line, "%4.0f s  %s", (hn_now_ms() - held_out->started_ms) / 1e3, what) >= 0)
        options->say(options->context, line);
    free(line);
}

static void say_compared(const struct hn_held_out *held_out, const struct hn_bindings *problem,
                         const struct hn_compared *compared, bool sure)
{
    struct hn_text line;
    hn_text_init(&line);
    hn_text_append(&line, "not used ");
    hn_bindings_append(&line, problem);
    hn_text_printf(&line, ": %.4g us, tuned %.4g us, ", compared->chosen_us, compared->best_us);
    if (!isnan(compared->default_us))
        hn_text_printf(&line, "default %.4g us, ", compared->default_us);
    hn_text_printf(&line, "%.1f%% slower%s", 100 * (compared->chosen_us / compared->best_us - 1),
                   sure ? "" : " (not sure)");
    if (!line.failed)
        say(held_out, line.data);
    hn_text_finish(&line);
}

/* NAN: the rule says nothing, or nothing could be measured. */
static enum hn_status hold_against(const struct hn_held_out *held_out,
                                   const struct hn_bindings *problem, struct hn_compared *compared,
                                   struct hn_error *err)
{
    bool sure;
    const struct hn_rule *rule = held_out->rule;
    struct asked asked = {held_out, problem};
    int configuration = hn_rule_choose(rule, problem, usable, &asked, &sure);
    *compared = (struct hn_compared){.chosen_us = NAN, .default_us = NAN, .best_us = NAN};
    if (configuration < 0)
        return HN_OK;
    enum hn_status status =
        hn_measuring_compare(held_out->measuring, problem, rule, (size_t)configuration,
                             held_out->budget_s / held_out->count, compared, err);
    if (status == HN_OK)
        say_compared(held_out, problem, compared, sure);
    return status;
}

static bool is_used(const struct hn_held_out *held_out, const struct hn_bindings *held,
                    unsigned count, const struct hn_bindings *problem)
{
    bool used = held_out->is_used(held_out->context, problem);
    for (unsigned i = 0; i < count && !used; i++)
        used = hn_bindings_equal(&held[i], problem);
    return used;
}

/* Adds a size that was neither used nor held out; a small family may have none left. */
static enum hn_status hold_out(const struct hn_held_out *held_out, uint64_t *at,
                               struct hn_bindings *held, unsigned *count, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (int i = 0; i < MOST_DRAWS && status == HN_OK; i++) {
        struct hn_bindings problem, *whole = &held[*count];
        status = hn_family_next(held_out->kernel.family, held_out->seed, at, &problem, err);
        if (status != HN_OK)
            break;
        status = hn_measuring_complete(held_out->measuring, &problem, whole, err);
        hn_bindings_finish(&problem);
        if (status == HN_OK && !is_used(held_out, held, *count, whole)) {
            ++*count;
            break;
        }
        hn_bindings_finish(whole);
    }
    return status;
}

/* Of logarithms of losses. */
struct sums {
    double sum, squares, worst;
    size_t sizes;
};

static void add(struct sums *sums, double time_us, double best_us)
{
    double loss = log(time_us / best_us);
    if (isnan(loss) || isinf(loss))
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
    if (sums->sizes == 0)
        return 0;
    double variance =
        sums->sizes > 1 ? fmax(0, (sums->squares - sums->sum * sums->sum / n) / (n - 1)) : 0;
    return expm1(sums->sum / n - 1.96 * sqrt(variance / n));
}

static enum hn_status hold_against_all(const struct hn_held_out *held_out, struct hn_bindings *held,
                                       unsigned *count, struct hn_held_out_loss *found,
                                       struct hn_error *err)
{
    struct sums chosen = {.sizes = 0}, defaults = {.sizes = 0};
    uint64_t at = 0;
    enum hn_status status = HN_OK;
    for (unsigned i = 0; i < held_out->count && status == HN_OK; i++) {
        struct hn_compared compared = {.best_us = NAN};
        status = hold_out(held_out, &at, held, count, err);
        if (status == HN_OK && *count == i) {
            say(held_out, "the family has no more sizes that were not used");
            break;
        }
        if (status == HN_OK)
            status = hold_against(held_out, &held[i], &compared, err);
        if (status != HN_OK)
            break;
        add(&chosen, compared.chosen_us, compared.best_us);
        add(&defaults, compared.default_us, compared.best_us);
    }
    *found = (struct hn_held_out_loss){
        .loss = loss_of(&chosen), .untuned = loss_of(&defaults), .low = low_of(&chosen)};
    return status;
}

enum hn_status hn_held_out_measure(const struct hn_held_out *held_out,
                                   struct hn_held_out_loss *found, struct hn_error *err)
{
    unsigned count = 0;
    struct hn_bindings *held = calloc(held_out->count + 1, sizeof *held);
    *found = (struct hn_held_out_loss){.low = 0};
    if (held == NULL)
        return hn_fail_memory(err);
    enum hn_status status = hold_against_all(held_out, held, &count, found, err);
    for (unsigned i = 0; i < count; i++)
        hn_bindings_finish(&held[i]);
    free(held);
    return status;
}

void hn_held_out_append_default(struct hn_text *text, const struct hn_rule_loss *loss)
{
    if (loss->sizes > 0)
        hn_text_printf(text, "the default point there: %.1f%% slower in the mean, %.0f%% at worst",
                       100 * loss->mean, 100 * loss->worst);
}
