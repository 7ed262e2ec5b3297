/* SPDX-License-Identifier: MIT */
#include "tuner/family/held_out.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
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
                         double chosen_us, double best_us, bool sure)
{
    char *line = NULL;
    char *text = hn_bindings_text(problem);
    if (text != NULL &&
        asprintf(&line, "not used %s: %.4g us, tuned %.4g us, %.1f%% slower%s", text, chosen_us,
                 best_us, 100 * (chosen_us / best_us - 1), sure ? "" : " (not sure)") >= 0)
        say(held_out, line);
    free(line);
    free(text);
}

/* The logarithm of how much slower than tuned is what the rule says; NAN: it says nothing, or
 * neither could be measured. */
static enum hn_status hold_against(const struct hn_held_out *held_out,
                                   const struct hn_bindings *problem, double *loss,
                                   struct hn_error *err)
{
    bool sure;
    double chosen_us, best_us;
    const struct hn_rule *rule = held_out->rule;
    struct asked asked = {held_out, problem};
    int configuration = hn_rule_choose(rule, problem, usable, &asked, &sure);
    *loss = NAN;
    if (configuration < 0)
        return HN_OK;
    enum hn_status status = hn_measuring_compare(
        held_out->measuring, problem, &rule->configurations[(size_t)configuration],
        held_out->budget_s / held_out->count, &chosen_us, &best_us, err);
    if (status != HN_OK)
        return status;
    *loss = log(chosen_us / best_us);
    say_compared(held_out, problem, chosen_us, best_us, sure);
    return HN_OK;
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

/* The sums are of logarithms. */
static struct hn_held_out_loss summarise(double sum, double squares, double worst, size_t sizes)
{
    struct hn_held_out_loss found = {.loss = {.sizes = sizes}};
    double n = (double)sizes;
    if (sizes == 0)
        return found;
    double variance = sizes > 1 ? fmax(0, (squares - sum * sum / n) / (n - 1)) : 0;
    found.loss.mean = expm1(sum / n);
    found.loss.worst = expm1(worst);
    found.low = expm1(sum / n - 1.96 * sqrt(variance / n));
    return found;
}

static enum hn_status hold_against_all(const struct hn_held_out *held_out, struct hn_bindings *held,
                                       unsigned *count, struct hn_held_out_loss *found,
                                       struct hn_error *err)
{
    double sum = 0, squares = 0, worst = 0;
    size_t sizes = 0;
    uint64_t at = 0;
    enum hn_status status = HN_OK;
    for (unsigned i = 0; i < held_out->count && status == HN_OK; i++) {
        double loss = NAN;
        status = hold_out(held_out, &at, held, count, err);
        if (status == HN_OK && *count == i) {
            say(held_out, "the family has no more sizes that were not used");
            break;
        }
        if (status == HN_OK)
            status = hold_against(held_out, &held[i], &loss, err);
        if (status != HN_OK || isnan(loss) || isinf(loss))
            continue;
        sum += loss;
        squares += loss * loss;
        worst = fmax(worst, loss);
        sizes++;
    }
    *found = summarise(sum, squares, worst, sizes);
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
