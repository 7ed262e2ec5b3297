/* SPDX-License-Identifier: MIT */
#include "tuner/family/learn.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/statistics.h"
#include "base/text.h"

/* What points lose at the first samples of a learning, in logarithms: measured, else predicted. */
struct forecast {
    struct hn_choice_tree_data data; /* of these points and samples; of candidates no features */
    double *losses;     /* [point][sample], but for a number of the sample; INFINITY: unusable */
    double *deviations; /* of these predictions */
};

struct learning {
    const struct hn_family_kernel *kernel;
    const struct hn_matrix *matrix;
    const struct hn_learn_options *options;
    struct hn_learnt *learnt;
    struct hn_blocks memory;     /* of what follows */
    struct hn_bindings *samples; /* problems of the family */
    double *weights;
    size_t sample_count;
    size_t count;             /* of configurations: of learnt->picked */
    struct forecast forecast; /* of the configurations */
    double *risks;            /* that the rule takes at each sample */
};

/* A size that was measured weighs as much as so many drawn ones. */
static const double measured_weight = 4;

/* Problems drawn from the family by seed, behind the sizes of the matrix: those that the family
 * names, which together weigh as much as what is drawn, and others. HN_ECONFIG: there are none. */
static void draw_samples(struct learning *learning, struct hn_error *err)
{
    const struct hn_family *family = learning->kernel->config->family;
    const struct hn_matrix *matrix = learning->matrix;
    size_t wanted = learning->options->samples, most = wanted + matrix->size_count;
    uint64_t at = 0;
    double named = 0;
    learning->samples = hn_need_block(&learning->memory, most, sizeof *learning->samples);
    learning->weights = hn_need_block(&learning->memory, most, sizeof *learning->weights);
    for (size_t i = 0; i < family->size_count; i++)
        named += family->weights[i];
    for (size_t i = 0; i < matrix->size_count; i++) {
        bool is_named = i < family->size_count;
        learning->weights[i] =
            is_named ? (double)wanted * family->weights[i] / named : measured_weight;
        learning->samples[learning->sample_count++] =
            hn_need_bindings(&matrix->sizes[i].problem, NULL);
    }
    for (size_t i = 0; i < wanted && !hn_failed(err); i++) {
        learning->weights[learning->sample_count] = 1;
        learning->samples[learning->sample_count++] = hn_family_draw(
            family, &learning->matrix->sizes[0].problem, learning->options->seed, &at, err);
    }
}

/* By how much what the model says of points at a size is more, in the mean, than what they lose to
 * that time; NAN: none was measured. */
static double find_shift(const struct hn_matrix *matrix, const size_t *points, size_t count,
                         size_t size, double best_us, const double *losses, size_t stride)
{
    double sum = 0, measured = 0;
    for (size_t p = 0; p < count; p++) {
        double shift = losses[p * stride] - log(matrix->times[points[p]][size] / best_us);
        sum += isfinite(shift) ? shift : 0;
        measured += isfinite(shift);
    }
    return measured > 0 ? sum / measured : NAN;
}

enum { MOST_LEAVES = 400, LEAST_SAMPLES = 4 };
/* The share of the mean time that one more leaf has to save. */
static const double least_split_gain = 0.0001;
/* Where the mean counts, a loss of 10% weighs as much as 13 of 1%; where the worst does, as 23. */
static const double mean_power = 4, worst_power = 16;
/* What is taken for a configuration that cannot be used may lose as much: in logarithms. */
static const double unusable_loss = 0.55;

/* Of the best of the points. */
static double least_loss(const struct forecast *forecast, size_t sample)
{
    double least = INFINITY;
    for (size_t p = 0; p < forecast->data.choices; p++)
        least = fmin(least, forecast->losses[p * forecast->data.samples + sample]);
    return least;
}

/* Losses of points against the best of them, as they count. */
static void find_costs(const struct forecast *forecast, double power, double *costs)
{
    size_t samples = forecast->data.samples;
    for (size_t s = 0; s < samples; s++) {
        double least = least_loss(forecast, s);
        for (size_t at = s; at < forecast->data.choices * samples; at += samples) {
            bool usable = !isinf(forecast->losses[at]);
            double loss = usable ? forecast->losses[at] - least : unusable_loss;
            costs[at] = expm1(power * fmin(loss, 4 / power)) / power + fmax(0, loss - 4 / power);
        }
    }
}

/* Of these points of the matrix, whose sizes are the first samples. */
static struct forecast make_forecast(const struct learning *learning, const size_t *points,
                                     size_t point_count, size_t count, struct hn_blocks *memory)
{
    const struct hn_matrix *matrix = learning->matrix;
    const struct hn_family *family = learning->kernel->config->family;
    double *costs = hn_need_block(memory, point_count * count, sizeof *costs);
    struct forecast forecast = {
        .data = {.samples = count,
                 .choices = point_count,
                 .costs = costs,
                 .weights = learning->weights},
        .losses = hn_need_block(memory, point_count * count, sizeof(double)),
        .deviations = hn_need_block(memory, point_count * count, sizeof(double))};
    hn_model_ask(learning->learnt->model, matrix->points, points, point_count, learning->samples,
                 count, false, forecast.losses, forecast.deviations);
    for (size_t s = 0; s < count && s < matrix->size_count; s++) {
        double least = hn_matrix_least(matrix, s);
        double shift =
            find_shift(matrix, points, point_count, s, least, forecast.losses + s, count);
        for (size_t p = 0; p < point_count; p++) {
            double time = matrix->times[points[p]][s];
            if (isnan(time) || isnan(shift))
                continue;
            forecast.losses[p * count + s] = log(time / least) + shift;
            forecast.deviations[p * count + s] = 0;
        }
    }
    find_costs(&forecast, family->worst ? worst_power : mean_power, costs);
    return forecast;
}

/* The predicted loss: what those parts of the model choose that have not seen a size loses there,
 * or, where that is more, what the rule chooses. */

struct judged {
    double risk;     /* what the choice is believed to lose, and the deviation of that */
    double choice;   /* what it loses to the best configuration; NAN: it cannot be told */
    double coverage; /* and that one to the best that is known */
};

static struct judged judge_size(const struct learning *learning, const double *losses,
                                const double *deviations, size_t s)
{
    const struct hn_matrix *matrix = learning->matrix;
    const size_t *picked = learning->learnt->picked;
    double best = INFINITY, least = INFINITY, of_rule = 0, best_us = hn_matrix_best(matrix, s);
    double shift =
        find_shift(matrix, picked, learning->count, s, best_us, losses + s, matrix->size_count);
    struct judged judged = {INFINITY, NAN, NAN};
    bool sure;
    int chosen =
        hn_rule_choose(&learning->learnt->rule, &matrix->sizes[s].problem, NULL, NULL, &sure);
    for (size_t c = 0; c < learning->count && !isnan(shift); c++) {
        size_t at = c * matrix->size_count + s;
        if (isinf(losses[at]))
            continue;
        double time = matrix->times[picked[c]][s];
        double loss = isnan(time) ? losses[at] - shift : log(time / best_us);
        best = fmin(best, fmax(0, loss));
        of_rule = (int)c == chosen ? loss : of_rule;
        if (losses[at] < least) {
            least = losses[at];
            judged.risk = deviations[at];
            judged.choice = fmax(0, loss);
        }
    }
    double worse = judged.choice + fmax(0, of_rule - judged.choice);
    return isfinite(worse) ? (struct judged){judged.risk, worse - best, best}
                           : (struct judged){INFINITY, NAN, NAN};
}

/* What the parts of the model say of all configurations at the sizes that they have not seen. */
static void judge_sizes(const struct learning *learning, struct judged *judged)
{
    const struct hn_matrix *matrix = learning->matrix;
    double *losses HN_FREED = hn_need(2 * learning->count * matrix->size_count, sizeof *losses);
    double *deviations = losses + learning->count * matrix->size_count;
    hn_model_ask(learning->learnt->model, matrix->points, learning->learnt->picked, learning->count,
                 learning->samples, matrix->size_count, true, losses, deviations);
    for (size_t s = 0; s < matrix->size_count; s++)
        judged[s] = judge_size(learning, losses, deviations, s);
}

/* Sizes that were measured since the rule was least sure there say how bad it may get, not how it
 * does in the mean or how often it is wrong. Searches say what configurations lose to them. */
static void predict_loss(struct learning *learning, struct judged *judged)
{
    const struct hn_matrix *matrix = learning->matrix;
    struct hn_rule_loss *predicted = &learning->learnt->rule.predicted;
    double choice = 0, coverage = 0, drawn = 0, searched = 0;
    *predicted = (struct hn_rule_loss){0};
    judge_sizes(learning, judged);
    for (size_t s = 0; s < matrix->size_count; s++) {
        const struct hn_matrix_size *size = &matrix->sizes[s];
        if (isnan(judged[s].choice))
            continue;
        predicted->sizes++;
        predicted->worst = fmax(predicted->worst, expm1(judged[s].choice + judged[s].coverage));
        if (!size->drawn)
            continue;
        choice += judged[s].choice;
        drawn++;
        coverage += isfinite(size->tuned_us) ? judged[s].coverage : 0;
        searched += isfinite(size->tuned_us);
    }
    coverage /= fmax(1, searched);
    predicted->mean = expm1(choice / fmax(1, drawn) + coverage);
    for (size_t s = 0; s < matrix->size_count; s++) {
        const struct hn_matrix_size *size = &matrix->sizes[s];
        if (!isfinite(size->tuned_us))
            judged[s].coverage = fmax(judged[s].coverage, coverage);
        if (!size->drawn)
            judged[s].risk = INFINITY;
    }
}

/* The highest risk of a choice that is sure: few with up to this lost much. Below 0: none. */
static double find_sure_risk(const struct judged *judged, size_t count)
{
    double highest = -1, wrong = 0, seen = 0;
    struct hn_ranked order[HN_MATRIX_SIZES];
    for (size_t s = 0; s < count; s++)
        order[s] = (struct hn_ranked){judged[s].risk, s};
    qsort(order, count, sizeof *order, hn_ranked_compare);
    for (size_t i = 0; i < count && isfinite(order[i].key); i++) {
        const struct judged *size = &judged[order[i].place];
        seen++;
        wrong += size->choice + size->coverage >= HN_SURE_LOSS;
        /* One that was wrong may as well be one and a half. */
        if (wrong == 0 || wrong + 0.5 <= HN_SURE_WRONG * seen)
            highest = size->risk;
    }
    return highest;
}

/* What a sample's choice is believed to lose to the best one, and the deviation of that. */
static void find_risk(void *context, size_t sample)
{
    const struct learning *learning = context;
    const struct forecast *forecast = &learning->forecast;
    bool sure;
    int chosen =
        hn_rule_choose(&learning->learnt->rule, &learning->samples[sample], NULL, NULL, &sure);
    size_t at = (size_t)chosen * forecast->data.samples + sample;
    double loss = forecast->losses[at] - least_loss(forecast, sample);
    learning->risks[sample] = fmin(1, loss + forecast->deviations[at]);
}

static size_t find_leaf(const struct learning *learning, size_t sample)
{
    const struct hn_choice_tree_data *data = &learning->forecast.data;
    const struct hn_rule_node *nodes = learning->learnt->rule.nodes;
    size_t leaf = 0;
    while (nodes[leaf].feature >= 0) {
        int64_t value = data->values[(size_t)nodes[leaf].feature * data->samples + sample];
        leaf = (size_t)(value <= nodes[leaf].threshold ? nodes[leaf].left : nodes[leaf].right);
    }
    return leaf;
}

/* A leaf is sure where its risk, as the root of the mean square of its samples', is low: few that
 * may lose much count more than many that may lose little. */
static void mark_sure(struct learning *learning, double sure_risk)
{
    struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_choice_tree_data *data = &learning->forecast.data;
    struct {
        double sum, weight;
    } *squares HN_FREED = hn_need(rule->node_count, sizeof *squares);
    double sure = 0, all = 0;
    for (size_t s = 0; s < data->samples; s++) {
        size_t leaf = find_leaf(learning, s);
        double risk = learning->risks[s];
        squares[leaf].sum += data->weights[s] * risk * risk;
        squares[leaf].weight += data->weights[s];
    }
    for (size_t n = 0; n < rule->node_count; n++) {
        double weight = squares[n].weight;
        rule->nodes[n].sure = weight > 0 && sqrt(squares[n].sum / weight) <= sure_risk;
        sure += rule->nodes[n].sure ? weight : 0;
        all += weight;
    }
    learning->learnt->sure = all > 0 ? sure / all : 0;
}

/* Samples where the choice is least sure: the first of some, of as many others, and so on. */
static void find_wanted(struct learning *learning)
{
    struct hn_learnt *learnt = learning->learnt;
    size_t samples = learning->sample_count, each = samples / learning->options->wanted;
    for (size_t first = 0; each > 0 && first + each <= samples; first += each) {
        size_t best = first;
        double most = 0;
        for (size_t s = first; s < first + each; s++)
            if (learning->risks[s] > most &&
                hn_matrix_find_size(learning->matrix, &learning->samples[s]) == SIZE_MAX) {
                best = s;
                most = learning->risks[s];
            }
        if (most > 0 && learnt->wanted_count < learning->options->wanted)
            *HN_NEXT(learnt->wanted, learnt->wanted_count) =
                hn_need_bindings(&learning->samples[best], NULL);
    }
}

/* The share of the mean time that one more configuration has to save. */
static const double least_gain = 0.00005;
/* A point that is further from the best at each size where it was measured is no configuration. */
static const double most_candidate_loss = 0.15;
/* Enough to tell which points go together well: so many, or a share of all. */
enum { SAMPLES_OF_ALL = 500, OF_ALL = 8 };

/* The default point, and the points that are near to the best somewhere. */
static size_t find_candidates(const struct hn_matrix *matrix, size_t *candidates)
{
    size_t count = 1;
    double least[HN_MATRIX_SIZES];
    candidates[0] = 0;
    for (size_t s = 0; s < matrix->size_count; s++)
        least[s] = hn_matrix_least(matrix, s);
    for (size_t p = 1; p < matrix->point_count; p++) {
        bool is_near = false;
        for (size_t s = 0; s < matrix->size_count && !is_near; s++)
            is_near = matrix->times[p][s] < (1 + most_candidate_loss) * least[s];
        if (is_near && !matrix->points[p].wrong)
            candidates[count++] = p;
    }
    return count;
}

static void pick(struct learning *learning)
{
    size_t candidates[HN_MATRIX_POINTS], picked[HN_MATRIX_POINTS], programs[HN_MATRIX_POINTS];
    size_t count = find_candidates(learning->matrix, candidates);
    size_t known = learning->matrix->size_count, drawn = learning->sample_count - known;
    size_t some = drawn < SAMPLES_OF_ALL ? drawn : SAMPLES_OF_ALL;
    size_t samples = known + (drawn / OF_ALL > some ? drawn / OF_ALL : some);
    size_t most = (size_t)learning->kernel->config->family->configurations;
    struct hn_blocks memory HN_ENDED_BY(hn_blocks_finish) = {0};
    const struct forecast forecast = make_forecast(learning, candidates, count, samples, &memory);
    /* Each has the number of the first one with the same program. */
    for (size_t i = 0; i < count; i++)
        for (programs[i] = 0; programs[i] < i; programs[i]++) {
            const char *own = learning->matrix->points[candidates[i]].program.hex;
            const char *other = learning->matrix->points[candidates[programs[i]]].program.hex;
            if (*own != '\0' && strcmp(own, other) == 0)
                break;
        }
    learning->count =
        hn_pick(&forecast.data, programs, most, least_gain, picked, &learning->learnt->programs);
    for (size_t c = 0; c < learning->count; c++)
        learning->learnt->picked[c] = candidates[picked[c]];
}

/* The questions that a rule may ask of a problem: each size and what 2 and 4 leave of it, products
 * and quotients of two, the product of all, which value of a list it has, and tiles. */

/* The range or the words of a value; of one that is the same for the whole family its own. */
static void set_value(const struct hn_family *family, const char *name,
                      const struct hn_value *example, struct hn_rule_value *value)
{
    struct hn_value alone = *example;
    const struct hn_family_value fixed = {.kind = HN_FAMILY_LIST, .values = &alone, .count = 1};
    const struct hn_family_value *own = &fixed;
    for (size_t i = 0; i < family->value_count; i++)
        if (strcmp(family->values[i].name, name) == 0)
            own = &family->values[i];
    value->name = hn_need_copy(name);
    if (own->kind == HN_FAMILY_RANGE) {
        value->low = (double)own->low;
        value->high = (double)own->high;
    } else if (own->values[0].type == HN_WORD) {
        for (size_t i = 0; i < own->count; i++)
            *HN_NEXT(value->words, value->word_count) = hn_word(hn_need_copy(own->values[i].word));
    } else {
        value->real = own->values[0].type == HN_REAL;
        value->low = value->high = hn_value_number(&own->values[0]);
        for (size_t i = 1; i < own->count; i++) {
            value->low = fmin(value->low, hn_value_number(&own->values[i]));
            value->high = fmax(value->high, hn_value_number(&own->values[i]));
        }
    }
}

/* Adds a question that is new, as far as there is room. */
__attribute__((format(printf, 2, 3))) static void ask(struct hn_rule *rule, const char *format, ...)
{
    struct hn_text question HN_ENDED_BY(hn_text_finish) = {0};
    size_t count = rule->feature_count, same = 0;
    va_list arguments;
    va_start(arguments, format);
    hn_text_vprintf(&question, format, arguments);
    va_end(arguments);
    while (same < count && strcmp(rule->features[same].text, question.data) != 0)
        same++;
    if (same == count && count < HN_RULE_FEATURES_MOST)
        HN_NEXT(rule->features, rule->feature_count)->text = hn_needed(hn_text_take(&question));
}

static void add_sizes(const struct hn_family *family, struct hn_rule *rule)
{
    struct hn_text all HN_ENDED_BY(hn_text_finish) = {0};
    size_t sizes = 0;
    for (size_t i = 0; i < family->value_count; i++) {
        const struct hn_family_value *value = &family->values[i];
        const char *name = value->name;
        bool size = hn_family_is_size(value);
        for (size_t k = 0; !size && value->count > 1 && k < value->count; k++) {
            struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
            hn_value_append(&text, &value->values[k]);
            ask(rule, "%s == %s", name, text.data);
        }
        if (!size)
            continue;
        hn_text_printf(&all, "%s%s", sizes++ > 0 ? " * " : "", name);
        ask(rule, "%s", name);
        for (int power = 2; power <= 4; power *= 2)
            ask(rule, "%s %% %d", name, power);
        for (size_t k = 0; k < i; k++) {
            const char *other = family->values[k].name;
            if (!hn_family_is_size(&family->values[k]))
                continue;
            ask(rule, "%s * %s", other, name);
            ask(rule, "%s // %s", other, name);
            ask(rule, "%s // %s", name, other);
            /* 0 where both are whole lines of 4. */
            ask(rule, "%s %% 4 + %s %% 4", other, name);
        }
    }
    if (sizes > 2)
        ask(rule, "%s", all.data);
}

/* How many tiles configurations cut two sizes into: choices depend on how full these are. */
static void add_tiles(const struct hn_family_kernel *kernel, struct hn_rule *rule)
{
    struct hn_sight sight;
    hn_sight_init(&sight, kernel);
    for (size_t c = 0; c < rule->configuration_count; c++)
        for (size_t i = 0; i < sight.edge_count; i++)
            for (size_t k = 0; k < sight.edge_count; k++) {
                const struct hn_family_edge *one = &sight.edges[i], *other = &sight.edges[k];
                int64_t part = hn_edge_part(one, &rule->configurations[c]);
                int64_t beside = hn_edge_part(other, &rule->configurations[c]);
                if (one->of == HN_EDGE_OF_ONE && other->of == HN_EDGE_OF_ONE && part > 0 &&
                    beside > 0 && part * beside > 1 && strcmp(one->size, other->size) < 0)
                    ask(rule, "ceil_div(%s, %" PRId64 ") * ceil_div(%s, %" PRId64 ")", one->size,
                        part, other->size, beside);
            }
}

static void evaluate_features(struct learning *learning, struct hn_error *err)
{
    const struct hn_rule *rule = &learning->learnt->rule;
    size_t samples = learning->sample_count;
    int64_t own[HN_RULE_FEATURES_MOST];
    int64_t *all = hn_need_block(&learning->memory, rule->feature_count * samples, sizeof *all);
    bool inside;
    learning->forecast.data.features = rule->feature_count;
    learning->forecast.data.values = all;
    for (size_t s = 0; s < samples && !hn_failed(err); s++)
        if (!hn_rule_evaluate(rule, &learning->samples[s], own, &inside))
            hn_fail(err, HN_ECONFIG, "the problems of the family have different names");
        else
            for (size_t f = 0; f < rule->feature_count; f++)
                all[f * samples + s] = own[f];
}

/* Features that no node asks for are left out. */
static void drop_unused(struct hn_rule *rule)
{
    size_t kept = 0;
    for (size_t f = 0; f < rule->feature_count; f++) {
        bool used = false;
        for (size_t n = 0; n < rule->node_count; n++)
            if (rule->nodes[n].feature == (int)f) {
                rule->nodes[n].feature = (int)kept;
                used = true;
            }
        if (used) {
            rule->features[kept++] = rule->features[f];
        } else {
            free(rule->features[f].text);
            hn_expression_destroy(rule->features[f].expression);
        }
    }
    rule->feature_count = kept;
}

/* Up to where features can be evaluated: a rule of one leaf. */
static void begin_rule(struct learning *learning, struct hn_error *err)
{
    struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_bindings *example = &learning->matrix->sizes[0].problem;
    rule->worst = learning->kernel->config->family->worst;
    for (size_t i = 0; i < learning->count; i++)
        *HN_NEXT(rule->configurations, rule->configuration_count) =
            hn_need_bindings(&learning->matrix->points[learning->learnt->picked[i]].values, NULL);
    HN_NEXT(rule->nodes, rule->node_count)->feature = -1;
    for (size_t i = 0; i < example->count; i++)
        set_value(learning->kernel->config->family, example->names[i], &example->values[i],
                  HN_NEXT(rule->values, rule->value_count));
    add_sizes(learning->kernel->config->family, rule);
    add_tiles(learning->kernel, rule);
    if (hn_rule_complete(rule, err) == HN_OK)
        evaluate_features(learning, err);
}

/* What the prior's logarithm is corrected by: least squares, points near the best counting most. */
static void fit_corrections(const struct learning *learning, size_t configuration,
                            double *corrections)
{
    static const double fade = 6, ridge = 0.01;
    const struct forecast *forecast = &learning->forecast;
    const struct hn_rule *rule = &learning->learnt->rule;
    double rows[(HN_RULE_VALUES_MOST + 1) * (HN_RULE_VALUES_MOST + 2)] = {0};
    size_t count = rule->value_count + 1, width = count + 1;
    size_t samples = learning->matrix->size_count + SAMPLES_OF_ALL;
    for (size_t s = 0; s < learning->sample_count && s < samples; s++) {
        const struct hn_bindings *problem = &learning->samples[s];
        double loss = forecast->losses[configuration * learning->sample_count + s];
        double weight =
            fmax(1, learning->weights[s]) * exp(fade * (least_loss(forecast, s) - loss));
        double seen[HN_RULE_VALUES_MOST + 2] = {1};
        for (size_t i = 0; i + 1 < count; i++)
            if (problem->values[i].type != HN_WORD)
                seen[1 + i] = log(fmax(1, hn_value_number(&problem->values[i])));
        seen[count] = loss - log(hn_config_estimate(learning->kernel->config, problem,
                                                    &rule->configurations[configuration], NULL));
        for (size_t i = 0; i < count * width && isfinite(loss); i++)
            rows[i] += weight * seen[i / width] * seen[i % width];
    }
    for (size_t i = 0; i < count; i++)
        rows[i * width + i] += ridge;
    /* They are symmetric and positive definite. */
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            double factor = k == i ? 0 : rows[k * width + i] / rows[i * width + i];
            for (size_t j = i; j < width; j++)
                rows[k * width + j] -= factor * rows[i * width + j];
        }
    for (size_t i = 0; i < count; i++)
        corrections[i] = rows[i * width + count] / rows[i * width + i];
}

/* What costs say of all configurations at more sizes, drawn beside the samples. */
struct comparing {
    const struct learning *learning;
    size_t count;                       /* of sizes */
    const struct hn_rule_node **leaves; /* of sizes; NULL: it cannot be told */
    double *costs;                      /* [configuration][size] */
};

enum { DRAWN_EACH = 4, CHUNK = 1024, MOST_COMPARED = 16 };
/* The share of a leaf's mean time that one more of those that it compares has to save. */
static const double comparing_gain = 0.0003;

static void cost_chunk(void *context, size_t chunk)
{
    const struct comparing *comparing = context;
    const struct learning *learning = comparing->learning;
    size_t end = (chunk + 1) * CHUNK;
    struct hn_rule_program *program = hn_rule_program_make(&learning->learnt->rule);
    struct hn_error err;
    uint64_t at = chunk * CHUNK;
    hn_error_init(&err);
    for (size_t s = chunk * CHUNK; program != NULL && s < end && s < comparing->count; s++) {
        struct hn_bindings problem HN_ENDED_BY(hn_bindings_finish) =
            hn_family_draw(learning->kernel->config->family, &learning->samples[0],
                           ~learning->options->seed, &at, &err);
        double order[HN_RULE_CONFIGURATIONS_MOST], least = INFINITY;
        comparing->leaves[s] = hn_rule_program_find(program, &problem, order);
        size_t count = comparing->leaves[s] != NULL ? learning->count : 0;
        for (size_t c = 0; c < count; c++)
            least = fmin(least, order[c]);
        for (size_t c = 0; c < count; c++)
            comparing->costs[c * comparing->count + s] =
                expm1(mean_power * fmin(order[c] - least, unusable_loss)) / mean_power;
    }
    hn_rule_program_destroy(program);
}

/* Those of a leaf that together cost least at its sizes, and first the one that does alone. */
static void name_leaf(void *context, size_t place)
{
    const struct comparing *comparing = context;
    size_t all = comparing->learning->count, count = 0, used;
    struct hn_rule_node *leaf = &comparing->learning->learnt->rule.nodes[place];
    struct hn_blocks memory HN_ENDED_BY(hn_blocks_finish) = {0};
    size_t *sizes = hn_need_block(&memory, comparing->count, sizeof *sizes);
    for (size_t s = 0; s < comparing->count; s++)
        if (comparing->leaves[s] == leaf)
            sizes[count++] = s;
    struct hn_ranked *ranked = hn_need_block(&memory, all, sizeof *ranked);
    for (size_t c = 0; c < all; c++) {
        ranked[c].place = c;
        for (size_t s = 0; s < count; s++)
            ranked[c].key += comparing->costs[c * comparing->count + sizes[s]];
    }
    qsort(ranked, all, sizeof *ranked, hn_ranked_compare);
    double *costs = hn_need_block(&memory, all * count, sizeof *costs);
    size_t *programs = hn_need_block(&memory, all, sizeof *programs);
    size_t picked[HN_RULE_CONFIGURATIONS_MOST];
    for (size_t c = 0; c < all; c++) {
        programs[c] = c;
        for (size_t s = 0; s < count; s++)
            costs[c * count + s] = comparing->costs[ranked[c].place * comparing->count + sizes[s]];
    }
    const struct hn_choice_tree_data data = {.samples = count, .choices = all, .costs = costs};
    size_t named =
        count == 0 ? 0 : hn_pick(&data, programs, MOST_COMPARED, comparing_gain, picked, &used);
    for (size_t i = 0; i < named; i++)
        *HN_NEXT(leaf->among, leaf->among_count) = (int)ranked[picked[i]].place;
}

/* What leaves compare. A leaf without any sizes compares all. */
static void name_compared(const struct learning *learning)
{
    struct hn_blocks memory HN_ENDED_BY(hn_blocks_finish) = {0};
    size_t count = DRAWN_EACH * learning->sample_count;
    struct comparing comparing = {
        .learning = learning,
        .count = count,
        .leaves = hn_need_block(&memory, count, sizeof *comparing.leaves),
        .costs = hn_need_block(&memory, count * learning->count, sizeof *comparing.costs)};
    hn_parallel_do((count + CHUNK - 1) / CHUNK, 0, cost_chunk, &comparing);
    hn_parallel_do(learning->learnt->rule.node_count, 0, name_leaf, &comparing);
}

/* By the prior, of what constraints allow. Costs choose where they are predicted to lose less than
 * the tree, whose leaves follow the model into its errors. */
static void try_costs(struct learning *learning, struct judged *judged)
{
    struct hn_rule *rule = &learning->learnt->rule;
    const struct hn_config *config = learning->kernel->config;
    struct hn_error reason;
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    double by_tree = rule->predicted.mean;
    if (config->prior == NULL)
        return;
    size_t numbers = rule->value_count + 1;
    rule->correction_count = learning->count * numbers;
    rule->corrections = hn_need(rule->correction_count, sizeof *rule->corrections);
    for (size_t c = 0; c < learning->count; c++)
        fit_corrections(learning, c, rule->corrections + c * numbers);
    hn_text_printf(&text, "1.0 * (%s) if True", hn_expression_text(config->prior));
    for (size_t i = 0; i < config->plan->constraint_count; i++)
        hn_text_printf(&text, " and (%s)", hn_expression_text(config->plan->constraints[i]));
    hn_text_append(&text, " else 0.0");
    bool made = hn_expression_parse(text.data, &rule->cost, &reason) == HN_OK &&
                hn_rule_complete(rule, &reason) == HN_OK;
    if (made) {
        name_compared(learning);
        predict_loss(learning, judged);
    }
    if (made && rule->predicted.mean < by_tree)
        return;
    for (size_t n = 0; n < rule->node_count; n++) {
        free(rule->nodes[n].among);
        rule->nodes[n].among = NULL;
        rule->nodes[n].among_count = 0;
    }
    hn_expression_destroy(rule->cost);
    free(rule->corrections);
    rule->cost = NULL;
    rule->corrections = NULL;
    rule->correction_count = 0;
    predict_loss(learning, judged);
}

/* From the model to the rule. */
static void learn(struct learning *learning, struct hn_error *err)
{
    struct hn_learnt *learnt = learning->learnt;
    const struct hn_matrix *matrix = learning->matrix;
    struct judged judged[HN_MATRIX_SIZES];
    learnt->model =
        hn_model_make(learning->kernel, matrix, learning->options->trees, learning->options->seed);
    pick(learning);
    /* What the tree has seen would tell nothing of it. */
    for (size_t i = learning->kernel->config->family->size_count; i < matrix->size_count; i++)
        learning->weights[i] = 0;
    learning->forecast = make_forecast(learning, learnt->picked, learning->count,
                                       learning->sample_count, &learning->memory);
    begin_rule(learning, err);
    if (hn_failed(err))
        return;
    free(learnt->rule.nodes);
    learnt->rule.nodes = hn_choice_tree_grow(&learning->forecast.data, MOST_LEAVES, LEAST_SAMPLES,
                                             least_split_gain, &learnt->rule.node_count);
    predict_loss(learning, judged);
    try_costs(learning, judged);
    learning->risks =
        hn_need_block(&learning->memory, learning->sample_count, sizeof *learning->risks);
    hn_parallel_do(learning->sample_count, 0, find_risk, learning);
    mark_sure(learning, find_sure_risk(judged, learning->matrix->size_count));
    find_wanted(learning);
    drop_unused(&learnt->rule);
    hn_rule_complete(&learnt->rule, err);
}

enum hn_status hn_learn(const struct hn_family_kernel *kernel, const struct hn_matrix *matrix,
                        const struct hn_learn_options *options, struct hn_learnt *learnt,
                        struct hn_error *err)
{
    struct learning learning = {
        .kernel = kernel, .matrix = matrix, .options = options, .learnt = learnt};
    *learnt = (struct hn_learnt){.wanted_count = 0};
    hn_error_init(err);
    draw_samples(&learning, err);
    if (!hn_failed(err))
        learn(&learning, err);
    for (size_t i = 0; i < learning.sample_count; i++)
        hn_bindings_finish(&learning.samples[i]);
    hn_blocks_finish(&learning.memory);
    return err->status;
}

void hn_learnt_finish(struct hn_learnt *learnt)
{
    hn_rule_finish(&learnt->rule);
    hn_model_destroy(learnt->model);
    for (size_t i = 0; i < learnt->wanted_count; i++)
        hn_bindings_finish(&learnt->wanted[i]);
    free(learnt->wanted);
}
