/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tuner/strategy/model.h"

extern const struct hn_strategy_kind hn_strategy_model;
extern const struct hn_strategy_kind hn_strategy_auto;

/* Bayesian optimisation (Mockus 1975) by expected improvement (Jones, Schonlau and Welch 1998) over
 * a surrogate of the costs, for each second that a point takes of what is scarce. Candidates are
 * the neighbours of the best points, as in SMAC (Hutter, Hoos and Leyton-Brown 2011), and random
 * points, kept from proposal to proposal. `auto` also uses what was measured before elsewhere, and
 * declines to measure what its resources show to be slow.
 */

enum {
    FIRST = 6,         /* points spread over the space before the surrogate is asked */
    FEW = 4,           /* points that may be pending when the surrogate is first asked, */
    LONGER_FEW = 2,    /* with a longer look-ahead than usual, */
    TOLD_FEW = 4,      /* and one more for each so many that were told, */
    IN_FLIGHT = 6,     /* up to so many, */
    TOLD_EACH = 16,    /* and one more for each so many that were told, */
    DEAR_TOLD_FEW = 1, /* the same where the compiler is what is scarce, */
    DEAR_IN_FLIGHT = 16,
    DEAR_TOLD_EACH = 8,
    USUAL = 32, /* with look-aheads to this one, and with a longer one in proportion */
    SPREAD_DRAWS = 20,
    GIVEN = 4,        /* best points of the priors that are proposed first */
    GUESSED = 4,      /* and of those that the space estimates to be best */
    CANDIDATES = 512, /* at most */
    THINNED = 384,    /* of them, left before new ones come */
    PLENTY = 150,     /* with fewer candidates, many random ones are added */
    MANY_FRESH = 40,
    FEW_FRESH = 10,
    BEST = 4,     /* points whose neighbours are candidates */
    SECONDS = 16, /* neighbours of neighbours of each */
    STEPS = 2,    /* pairs of changes of the best point, at each proposal, */
    CLIMBS = 4,   /* and changes of the last one that was proposed, of each of two kinds */
    SHORTLIST = 32,
    ELSEWHERE = 8,      /* in the shortlist: what a core may do instead */
    DOUBT_SAMPLE = 256, /* of the points that are no candidates */
};

/* A gain that counts: a cost lower by this share of it. */
static const double doubt_gain = 0.02;

/* A compilation that takes so many times as long as other candidates take to promise as much, and
 * so many deviations of the prediction longer, is stopped; but not before the start of a new worker
 * is little beside it. */
static const double patience_factor = 1.2;
static const double patience_deviations = 1;
static const double patience_least_ms = 2000;

struct hn_strategy {
    struct hn_trail trail;
    struct hn_surrogate surrogate;
    struct hn_candidates candidates;
    struct hn_prices prices;
    struct hn_screen *screen; /* NULL: everything is measured */
    uint16_t *given;          /* best points of the priors, above what is estimated to be best */
    size_t given_count;       /* that were not proposed yet; the last is the best */
    uint32_t expanded[BEST];  /* points whose neighbours were added last */
    size_t pending;           /* distinct points proposed and not told */
    size_t look_ahead;
    double patience_ms; /* for the last proposal */
};

static void destroy(struct hn_strategy *strategy)
{
    if (strategy == NULL)
        return;
    free(strategy->given);
    hn_screen_destroy(strategy->screen);
    hn_candidates_finish(&strategy->candidates);
    hn_prices_finish(&strategy->prices);
    hn_surrogate_finish(&strategy->surrogate);
    hn_trail_finish(&strategy->trail);
    free(strategy);
}

static struct hn_strategy *create(const struct hn_search *search)
{
    struct hn_strategy *strategy = hn_need(1, sizeof *strategy);
    memset(strategy->expanded, 0xff, sizeof strategy->expanded);
    strategy->look_ahead = search->look_ahead > USUAL ? search->look_ahead : USUAL;
    strategy->patience_ms = INFINITY;
    hn_trail_init(&strategy->trail, search);
    hn_surrogate_init(&strategy->surrogate, search, &strategy->trail);
    hn_candidates_init(&strategy->candidates, &strategy->surrogate.encoding,
                       &strategy->surrogate.gaussian, CANDIDATES);
    hn_prices_init(&strategy->prices, search, CANDIDATES);
    strategy->given = hn_need((GUESSED + GIVEN) * strategy->trail.width, sizeof *strategy->given);
    strategy->given_count = hn_guesses(search, GUESSED, strategy->given);
    return strategy;
}

static enum hn_status create_plain(const struct hn_search *search, struct hn_strategy **strategy,
                                   struct hn_error *err)
{
    (void)err;
    struct hn_search plain = *search;
    plain.prior_count = 0;
    *strategy = create(&plain);
    return HN_OK;
}

static enum hn_status create_informed(const struct hn_search *search, struct hn_strategy **out,
                                      struct hn_error *err)
{
    (void)err;
    struct hn_strategy *strategy = create(search);
    strategy->screen = hn_screen_create(&strategy->trail, &strategy->surrogate.encoding);
    strategy->given_count +=
        hn_seeds(search, GIVEN, strategy->given + strategy->given_count * strategy->trail.width);
    *out = strategy;
    return HN_OK;
}

/* The next of the best points known or guessed that was not proposed yet. */
static bool take_given(struct hn_strategy *strategy, uint16_t *choice)
{
    const struct hn_trail *trail = &strategy->trail;
    while (strategy->given_count > 0) {
        const uint16_t *given = strategy->given + --strategy->given_count * trail->width;
        if (hn_trail_find(trail, given) != HN_TRAIL_NONE)
            continue;
        memcpy(choice, given, trail->width * sizeof *choice);
        return true;
    }
    return false;
}

static double distance(const struct hn_encoding *encoding, const double *a, const double *b)
{
    double sum = 0;
    for (size_t f = 0; f < encoding->plain; f++)
        sum += encoding->category[f] ? a[f] < b[f] || a[f] > b[f] : fabs(a[f] - b[f]);
    return sum;
}

/* Takes of a few random new points the one that is farthest from all proposed ones. */
static bool spread(struct hn_strategy *strategy, uint16_t *choice)
{
    const struct hn_encoding *encoding = &strategy->surrogate.encoding;
    uint16_t drawn[strategy->trail.width + 1];
    double own[encoding->count + 1];
    double other[encoding->count + 1];
    double farthest = -1;
    for (int i = 0; i < SPREAD_DRAWS && hn_move_sample(&strategy->trail, drawn); i++) {
        hn_encoding_apply(encoding, drawn, own);
        double nearest = INFINITY;
        for (uint32_t p = 0; p < strategy->trail.count; p++) {
            hn_encoding_apply(encoding, hn_trail_point(&strategy->trail, p), other);
            nearest = fmin(nearest, distance(encoding, own, other));
        }
        if (nearest > farthest) {
            farthest = nearest;
            memcpy(choice, drawn, strategy->trail.width * sizeof *choice);
        }
    }
    return farthest >= 0;
}

static void add_candidate(struct hn_strategy *strategy, const uint16_t *choice)
{
    if (hn_trail_find(&strategy->trail, choice) == HN_TRAIL_NONE)
        hn_candidates_add(&strategy->candidates, choice);
}

/* A candidate two changes away from the point. */
static void add_second(struct hn_strategy *strategy, const uint16_t *from)
{
    struct hn_trail *trail = &strategy->trail;
    uint16_t first[trail->width + 1];
    uint16_t second[trail->width + 1];
    if (hn_move_step(trail, from, HN_HAMMING, first) &&
        hn_move_step(trail, first, HN_HAMMING, second))
        add_candidate(strategy, second);
}

/* Candidates one change away from the point, and where that is not valid two: of the last proposal,
 * they climb the surrogate from proposal to proposal. */
static void climb(struct hn_strategy *strategy, uint32_t point)
{
    struct hn_trail *trail = &strategy->trail;
    const uint16_t *from = hn_trail_point(trail, point);
    size_t count = hn_space_neighbours(trail->space, from, HN_HAMMING, trail->neighbours);
    for (int i = 0; i < CLIMBS && count > 0; i++)
        add_candidate(strategy,
                      trail->neighbours + hn_random_below(&trail->random, count) * trail->width);
    uint16_t changed[trail->width + 1];
    for (int i = 0; i < CLIMBS; i++) {
        size_t at = (size_t)hn_random_below(&trail->random, trail->width);
        if (hn_space_value_count(trail->space, at) < 2)
            continue;
        memcpy(changed, from, trail->width * sizeof *changed);
        changed[at] = hn_move_value(trail, at, from[at], false);
        hn_move_repair(trail, from, changed);
        add_candidate(strategy, changed);
    }
}

/* The neighbours of a point, or as many of them as a share of the candidates has room for, and
 * some of theirs. */
static void expand(struct hn_strategy *strategy, uint32_t point)
{
    enum { SHARE = CANDIDATES / 5 };
    struct hn_trail *trail = &strategy->trail;
    size_t count = hn_space_neighbours(trail->space, hn_trail_point(trail, point), HN_HAMMING,
                                       trail->neighbours);
    for (size_t i = 0; i < count; i++) {
        if (count <= SHARE || hn_random_below(&trail->random, count) < SHARE)
            add_candidate(strategy, trail->neighbours + i * trail->width);
    }
    for (int i = 0; i < SECONDS; i++)
        add_second(strategy, hn_trail_point(trail, point));
}

/* Makes room: of two random candidates the one of less promise goes. */
static void thin(struct hn_strategy *strategy)
{
    struct hn_candidates *candidates = &strategy->candidates;
    while (candidates->count > THINNED) {
        size_t a = hn_random_below(&strategy->trail.random, candidates->count);
        size_t b = hn_random_below(&strategy->trail.random, candidates->count);
        hn_candidates_remove(candidates, candidates->mean[a] > candidates->mean[b] ? a : b);
    }
}

/* The best known points, best first. */
static size_t find_best(const struct hn_trail *trail, uint32_t *best)
{
    size_t count = 0;
    for (uint32_t i = 0; i < trail->count; i++) {
        double cost = trail->costs[i];
        if (!isfinite(cost) || (count == BEST && cost >= trail->costs[best[BEST - 1]]))
            continue;
        size_t place = count < BEST ? count++ : BEST - 1;
        for (; place > 0 && cost < trail->costs[best[place - 1]]; place--)
            best[place] = best[place - 1];
        best[place] = i;
    }
    return count;
}

static void gather(struct hn_strategy *strategy)
{
    struct hn_trail *trail = &strategy->trail;
    uint32_t best[BEST];
    size_t count = find_best(trail, best);
    thin(strategy);
    for (size_t i = 0; i < count; i++) {
        bool done = false;
        for (size_t j = 0; j < BEST; j++)
            done = done || strategy->expanded[j] == best[i];
        if (!done)
            expand(strategy, best[i]);
    }
    memcpy(strategy->expanded, best, count * sizeof *best);
    for (int i = 0; i < STEPS && count > 0; i++)
        add_second(strategy, hn_trail_point(trail, best[0]));
    if (count > 0)
        climb(strategy, (uint32_t)trail->count - 1);
    uint16_t drawn[trail->width + 1];
    int fresh = strategy->candidates.count < PLENTY ? MANY_FRESH : FEW_FRESH;
    for (int i = 0; i < fresh; i++) {
        hn_space_sample(trail->space, &trail->random, drawn);
        add_candidate(strategy, drawn);
    }
}

/* How much below the best target the candidate is expected to go. */
static double improvement(const struct hn_strategy *strategy, size_t candidate)
{
    double deviation = hn_candidates_deviation(&strategy->candidates, candidate);
    double lead = strategy->surrogate.best - strategy->candidates.mean[candidate];
    double z = lead / deviation;
    double density = exp(-0.5 * z * z) / sqrt(2 * M_PI);
    return lead * 0.5 * erfc(-z * M_SQRT1_2) + deviation * density;
}

/* advantage: of its gain for its price over that of others. */
static void set_patience(struct hn_strategy *strategy, size_t candidate, double advantage)
{
    const struct hn_prices *prices = &strategy->prices;
    double deviation = prices->spread * hn_candidates_deviation(&strategy->candidates, candidate);
    double patience_ms = patience_factor * advantage * prices->prices[candidate] *
                         exp(patience_deviations * deviation);
    strategy->patience_ms = fmax(patience_ms, patience_least_ms);
}

/* The candidate of most expected improvement for its price, times the chance that it does not fail.
 */
static size_t choose(struct hn_strategy *strategy)
{
    const struct hn_candidates *candidates = &strategy->candidates;
    size_t shortlist[SHORTLIST] = {0};
    double gains[SHORTLIST];
    size_t count = 0;
    for (size_t c = 0; c < candidates->count; c++) {
        double gain = improvement(strategy, c) / strategy->prices.prices[c];
        if (count == SHORTLIST && gain <= gains[SHORTLIST - 1])
            continue;
        size_t place = count < SHORTLIST ? count++ : SHORTLIST - 1;
        for (; place > 0 && gain > gains[place - 1]; place--) {
            shortlist[place] = shortlist[place - 1];
            gains[place] = gains[place - 1];
        }
        shortlist[place] = c;
        gains[place] = gain;
    }
    size_t best = shortlist[0];
    double most = -1;
    for (size_t i = 0; i < count && gains[i] > most; i++) {
        double gain = gains[i] * hn_surrogate_feasibility(&strategy->surrogate,
                                                          candidates->features + shortlist[i],
                                                          candidates->capacity);
        if (gain > most) {
            most = gain;
            best = shortlist[i];
        }
    }
    if (strategy->prices.differ && count > ELSEWHERE)
        set_patience(strategy, best, most / gains[ELSEWHERE]);
    return best;
}

static bool ask_surrogate(struct hn_strategy *strategy, uint16_t *choice)
{
    struct hn_candidates *candidates = &strategy->candidates;
    bool began;
    if (strategy->trail.count < FIRST || !hn_surrogate_update(&strategy->surrogate, &began))
        return false;
    if (began)
        hn_candidates_restart(candidates);
    gather(strategy);
    if (candidates->count == 0)
        return false;
    hn_candidates_predict(candidates, strategy->surrogate.whitened);
    hn_prices_predict(&strategy->prices, &strategy->surrogate, candidates);
    size_t best = choose(strategy);
    memcpy(choice, candidates->points + best * candidates->width,
           candidates->width * sizeof *choice);
    hn_candidates_remove(candidates, best);
    return true;
}

/* How many points may be pending. The less was told, the more the next result says. */
static size_t pending_most(const struct hn_strategy *strategy)
{
    if (strategy->trail.count < FIRST)
        return FIRST;
    size_t told = (strategy->trail.count - strategy->pending) * strategy->look_ahead / USUAL;
    bool usual = strategy->look_ahead <= USUAL;
    bool dear = strategy->prices.differ && usual;
    size_t few = (usual ? FEW : LONGER_FEW) + told / (dear ? DEAR_TOLD_FEW : TOLD_FEW);
    size_t many = dear ? DEAR_IN_FLIGHT + told / DEAR_TOLD_EACH : IN_FLIGHT + told / TOLD_EACH;
    return few < many ? few : many;
}

/* Early on, what is pending may say more than another blind guess. */
static bool waits(const struct hn_strategy *strategy)
{
    return strategy->given_count == 0 && strategy->pending >= pending_most(strategy);
}

static bool propose(struct hn_strategy *strategy, uint64_t ticket, uint16_t *choice)
{
    struct hn_trail *trail = &strategy->trail;
    strategy->patience_ms = INFINITY;
    if (hn_trail_is_complete(trail))
        return false;
    if (!take_given(strategy, choice) && !ask_surrogate(strategy, choice) &&
        !spread(strategy, choice)) {
        hn_space_sample(trail->space, &trail->random, choice);
        if (!hn_move_renew(trail, choice))
            return false;
    }
    size_t known = trail->count;
    hn_trail_add(trail, ticket, choice, 0);
    strategy->pending += trail->count - known;
    hn_prices_propose(&strategy->prices, choice);
    return true;
}

static bool compiled(struct hn_strategy *strategy, uint64_t ticket,
                     const struct hn_observation *observation)
{
    return hn_screen_pass(strategy->screen, strategy->trail.tickets[ticket].point,
                          observation->resources);
}

static double patience(const struct hn_strategy *strategy)
{
    return strategy->patience_ms;
}

static void finished(struct hn_strategy *strategy, uint64_t ticket,
                     const struct hn_observation *observation)
{
    struct hn_trail *trail = &strategy->trail;
    uint32_t point = trail->tickets[ticket].point;
    if (isnan(trail->costs[point]) && !trail->open[point]) {
        strategy->pending--;
        hn_prices_note(&strategy->prices, point, observation);
    }
    hn_trail_tell(trail, ticket, observation);
}

/* Whether it is worth to go on: what a surrogate says of the points that were not proposed yet. The
 * sum of the chances of candidates to gain. */
static double sum_chances(const struct hn_surrogate *surrogate,
                          const struct hn_candidates *candidates)
{
    double step = hn_surrogate_step(surrogate, doubt_gain);
    double sum = 0;
    for (size_t c = 0; c < candidates->ready; c++) {
        double z =
            (surrogate->best - step - candidates->mean[c]) / hn_candidates_deviation(candidates, c);
        sum += 0.5 * erfc(-z * M_SQRT1_2);
    }
    return sum;
}

static void read_signs(const struct hn_strategy *strategy, struct hn_doubt_signs *signs)
{
    const struct hn_trail *trail = &strategy->trail;
    const struct hn_surrogate *surrogate = &strategy->surrogate;
    struct hn_random random = hn_random_seeded(trail->count);
    struct hn_candidates sample;
    uint16_t drawn[trail->width + 1];
    double best = INFINITY;
    *signs =
        (struct hn_doubt_signs){.expected = sum_chances(surrogate, &strategy->candidates),
                                .left = (double)hn_space_size(trail->space) - (double)trail->count};
    for (uint32_t i = 0; i < trail->count; i++) {
        signs->stall += !isnan(trail->costs[i]);
        if (trail->costs[i] < best) {
            best = trail->costs[i];
            signs->stall = 0;
        }
    }
    hn_candidates_init(&sample, &surrogate->encoding, &surrogate->gaussian, DOUBT_SAMPLE);
    for (int i = 0; i < DOUBT_SAMPLE; i++) {
        hn_space_sample(trail->space, &random, drawn);
        if (hn_trail_find(trail, drawn) == HN_TRAIL_NONE)
            hn_candidates_add(&sample, drawn);
    }
    hn_candidates_predict(&sample, surrogate->whitened);
    if (sample.count > 0)
        signs->expected += sum_chances(surrogate, &sample) / (double)sample.count * signs->left;
    hn_candidates_finish(&sample);
}

/* Fitted to 14,751 moments of 960 recorded searches (24 spaces, look-ahead 1 and 32). Left out of
 * the fit by kernel, each tenth of the stated chances is within 0.09 of the frequency. */
double hn_doubt_chance(const struct hn_doubt_signs *signs)
{
    if (signs->left <= 0)
        return 0;
    double logit = 0.734 + 0.290 * log(signs->expected + 1e-4) - 0.500 * log(1 + signs->stall);
    return 1 / (1 + exp(-logit));
}

static double chance(struct hn_strategy *strategy)
{
    struct hn_doubt_signs signs;
    if (hn_trail_is_complete(&strategy->trail) && strategy->pending == 0)
        return 0;
    if (!strategy->surrogate.fitted)
        return NAN;
    read_signs(strategy, &signs);
    return hn_doubt_chance(&signs);
}

const struct hn_strategy_kind hn_strategy_model = {
    .name = "model",
    .summary = "Bayesian optimisation with a Gaussian process",
    .needs_feedback = true,
    .create = create_plain,
    .destroy = destroy,
    .waits = waits,
    .propose = propose,
    .patience = patience,
    .finished = finished,
    .chance = chance,
};

const struct hn_strategy_kind hn_strategy_auto = {
    .name = "auto",
    .summary = "model, with what other tunings and the compiler say",
    .needs_feedback = true,
    .uses_priors = true,
    .create = create_informed,
    .destroy = destroy,
    .waits = waits,
    .propose = propose,
    .patience = patience,
    .compiled = compiled,
    .finished = finished,
    .chance = chance,
};
