/* SPDX-License-Identifier: MIT */
#include "base/statistics.h"
#include "runtime/bench/measure.h"
#include "runtime/bench/trial.c"
#include "tests/unit/unit.h"

/* Of each card's honest variants, and of cheats: HONE_HONEST says another number. */
enum { HONEST = 20000, CHEATS = 1000 };

/* --- literal samples
 * ----------------------------------------------------------------------------------------------------
 */

/* Rounds of 0.6% noise around a time of each side and leg. */
static struct hn_trial made(enum hn_suspicion kind, int legs, const double *accused_us,
                            const double *control_us)
{
    static const double shape[5] = {-1.0, 0.4, 0.0, 1.0, -0.4};
    struct hn_trial trial = {
        .kind = kind, .sides = control_us != NULL ? 2 : 1, .legs = legs, .slack_us = {0.2, 0.2}};
    trial.rounds = trial.most = HN_TRIAL_ROUNDS;
    for (int side = 0; side < trial.sides; side++)
        for (int leg = 0; leg < legs; leg++)
            for (size_t i = 0; i < trial.rounds; i++)
                trial.times_us[side][leg][i] = (side == 0 ? accused_us : control_us)[leg] *
                                               (1.0 + 0.006 * shape[(i + 2 * (size_t)leg) % 5]);
    return trial;
}

static enum hn_suspicion checked(double poisoned_us, double rewritten_us, double left_us,
                                 double control_us, double control_left_us)
{
    const double accused[] = {poisoned_us, rewritten_us, left_us};
    const double control[] = {control_us, control_us, control_left_us};
    struct hn_trial trial = made(HN_SUSPICION_CHECKED, 3, accused, control);
    return hn_trial_judge(&trial);
}

/* Of y[i] = 2 * x[i] on an H100: launches that were compared took 16.75 us, the others 7.831 us. */
TEST(an_honest_variant_that_was_slow_once_is_acquitted)
{
    /* It does not happen again. */
    assert_int_equal(checked(7.831, 7.84, 7.82, 5.85, 5.84), HN_SUSPICION_ACQUITTED);
    /* It does, and to the control as well. */
    assert_int_equal(checked(16.75, 16.7, 7.831, 13.2, 5.85), HN_SUSPICION_CHECK_FAILED);
    /* To the accused alone, which then waits for something to come before it. */
    assert_int_equal(checked(16.75, 16.7, 7.831, 5.85, 5.84), HN_SUSPICION_CHECKED);
}

/* A clock that is lower for a third of the trial, and a process that changes its pace in the
 * middle. */
TEST(what_lasts_for_rounds_is_in_both_times)
{
    const double even[] = {7.83, 7.83, 7.83};
    for (size_t from = 0; from < HN_TRIAL_ROUNDS; from += 8) {
        struct hn_trial trial = made(HN_SUSPICION_CHECKED, 3, even, even);
        for (int side = 0; side < 2; side++)
            for (int leg = 0; leg < 3; leg++)
                for (size_t i = from; i < HN_TRIAL_ROUNDS && i < from + 16; i++)
                    trial.times_us[side][leg][i] *= 2.139;
        /* At its edges the step lies within a round. */
        trial.times_us[0][0][from > 0 ? from - 1 : 0] *= 2.139;
        assert_int_equal(hn_trial_judge(&trial), HN_SUSPICION_ACQUITTED);
    }
}

TEST(who_leaves_work_out_is_guilty)
{
    assert_int_equal(checked(103.7, 12.06, 12.1, 90.0, 90.0), HN_SUSPICION_CHECKED);
    assert_int_equal(checked(100.0, 90.0, 100.0, 90.0, 90.0), HN_SUSPICION_CHECKED);
    /* What it saves does not matter. */
    assert_int_equal(checked(100.0, 97.0, 97.0, 90.0, 90.0), HN_SUSPICION_ACQUITTED);
    /* Poison slows all launches by a tenth beside those over outputs that were left. */
    assert_int_equal(checked(110.0, 110.0, 100.0, 99.0, 90.0), HN_SUSPICION_ACQUITTED);
}

static enum hn_suspicion again(double fresh_us, double again_us, double slack_us)
{
    const double accused[] = {fresh_us, again_us};
    const double control[] = {50.0, 50.0};
    struct hn_trial trial = made(HN_SUSPICION_AGAIN, 2, accused, control);
    trial.slack_us[HN_TRIAL_ACCUSED] = slack_us;
    return hn_trial_judge(&trial);
}

TEST(who_remembers_is_guilty)
{
    assert_int_equal(again(106.0, 22.27, 1.5), HN_SUSPICION_AGAIN);
    assert_int_equal(again(100.0, 95.0, 1.5), HN_SUSPICION_AGAIN);
    /* Nor may one be slower where it finds its work done. */
    assert_int_equal(again(95.0, 100.0, 1.5), HN_SUSPICION_AGAIN);
    assert_int_equal(again(100.0, 98.5, 1.5), HN_SUSPICION_ACQUITTED);
    /* What single launches differ by is no difference, however short they are. */
    assert_int_equal(again(2.0, 1.5, 0.5), HN_SUSPICION_ACQUITTED);
}

/* The control's difference is allowed, of a longer one its share; where it alone is guilty, it is
 * nobody. */
TEST(what_the_control_shows_is_honest)
{
    const double accused[] = {112.0, 100.0, 112.0}, alike[] = {104.0, 100.0, 104.0};
    const double nearly[] = {108.0, 100.0, 108.0};
    const double longer[] = {1040.0, 1000.0, 1040.0};
    const double honest[] = {100.0, 100.0, 100.0}, guilty[] = {120.0, 100.0, 120.0};
    struct hn_trial trial = made(HN_SUSPICION_CHECKED, 3, accused, alike);
    assert_int_equal(hn_trial_judge(&trial), HN_SUSPICION_CHECKED);
    trial = made(HN_SUSPICION_CHECKED, 3, nearly, alike);
    assert_int_equal(hn_trial_judge(&trial), HN_SUSPICION_ACQUITTED);
    trial = made(HN_SUSPICION_CHECKED, 3, accused, longer);
    assert_int_equal(hn_trial_judge(&trial), HN_SUSPICION_CHECKED);
    trial = made(HN_SUSPICION_CHECKED, 3, accused, guilty);
    assert_int_equal(hn_trial_judge(&trial), HN_SUSPICION_CHECK_FAILED);
    trial = made(HN_SUSPICION_CHECKED, 3, honest, guilty);
    assert_int_equal(hn_trial_judge(&trial), HN_SUSPICION_ACQUITTED);
}

/* The bound that the fastest compared launch must not pass: 5% over the others' interval. */
TEST(compared_launches_may_be_a_little_slower)
{
    double others[] = {10.4, 10.0, 10.1, 10.2, 10.3, 10.5};
    assert_false(hn_measure_is_suspicious(1.05 * 10.5 + 0.09, others, 6, 0.1));
    assert_true(hn_measure_is_suspicious(1.05 * 10.5 + 0.11, others, 6, 0.1));
    /* Two others tell nothing. */
    assert_false(hn_measure_is_suspicious(100.0, others, 2, 0.1));
}

/* --- simulation
 * ----------------------------------------------------------------------------------------------------
 */

/* A trial that was recorded. */
struct noise {
    struct hn_trial trial;
    double median_us[HN_TRIAL_SIDES][HN_TRIAL_LEGS];
};

static struct noise *noises;
static size_t noise_count;

static bool read_noise(FILE *file, struct noise *noise)
{
    char kind[16];
    struct hn_trial *trial = &noise->trial;
    *trial = (struct hn_trial){.sides = 2};
    if (fscanf(file, "%15s %lf %lf %d %zu", kind, &trial->slack_us[0], &trial->slack_us[1],
               &trial->legs, &trial->rounds) != 5)
        return false;
    trial->kind = strcmp(kind, "checked") == 0 ? HN_SUSPICION_CHECKED : HN_SUSPICION_AGAIN;
    assert_true(trial->legs <= HN_TRIAL_LEGS && trial->rounds <= HN_TRIAL_ROUNDS);
    for (int side = 0; side < 2; side++)
        for (int leg = 0; leg < trial->legs; leg++) {
            double sorted_us[HN_TRIAL_ROUNDS];
            for (size_t i = 0; i < trial->rounds; i++) {
                assert_int_equal(fscanf(file, "%lf", &trial->times_us[side][leg][i]), 1);
                sorted_us[i] = trial->times_us[side][leg][i] *= 1e-3;
            }
            noise->median_us[side][leg] = hn_median(sorted_us, trial->rounds);
        }
    return true;
}

static void load_noise(const char *card)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/noise/%s.txt", HONE_TEST_DATA, card);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    noise_count = 0;
    noises = calloc(256, sizeof *noises);
    while (noise_count < 256 && read_noise(file, &noises[noise_count]))
        noise_count++;
    fclose(file);
    assert_true(noise_count >= 20);
}

/* A variant in a process: recorded rounds in an order that is drawn, and what a card and a host do
 * now and then. */
struct world {
    const struct noise *noise;
    struct hn_random random;
    size_t rounds[HN_TRIAL_ROUNDS + 1]; /* which of the recorded ones */
    size_t launch;                      /* so many so far */
    size_t pace_changes;                /* at this one */
    double paces[2];                    /* times before and from there on are longer by */
    size_t step_begins, step_ends;      /* a lower clock between these */
    double step;
    double outliers; /* of so many launches, each longer by a factor that has a heavy tail */
    double saves[HN_TRIAL_LEGS];
};

static void begin_process(struct world *world)
{
    struct hn_random *random = &world->random;
    static const double clocks[] = {1.0, 1.03, 1.25, 2.139};
    size_t all = HN_TRIAL_ROUNDS * HN_TRIAL_SIDES * (size_t)world->noise->trial.legs;
    for (size_t i = 0; i <= HN_TRIAL_ROUNDS; i++)
        world->rounds[i] = hn_random_below(random, world->noise->trial.rounds);
    world->launch = 0;
    world->pace_changes = hn_random_below(random, 2) ? hn_random_below(random, all) : all;
    world->paces[0] = hn_random_below(random, 2) ? 1.25 : 1.0;
    world->paces[1] = hn_random_below(random, 2) ? 1.25 : 1.0;
    world->step_begins = hn_random_below(random, all);
    world->step_ends = world->step_begins + hn_random_below(random, all / 2);
    world->step = clocks[hn_random_below(random, 4)];
    world->outliers = hn_random_below(random, 3) == 0 ? 0.15 * hn_random_unit(random) : 0.01;
}

static void hold(struct hn_trial *trial, trial_take *take_one, void *subject,
                 struct hn_random *secret)
{
    struct hn_error err;
    hn_error_init(&err);
    trial_run(trial, take_one, subject, secret, &err);
    assert_false(hn_failed(&err));
}

static void take_time(void *subject, int side, int leg, size_t round, double *time_us,
                      struct hn_error *err)
{
    struct world *world = subject;
    size_t launch = world->launch++;
    (void)err;
    /* The round that does not count is numbered as the first. */
    *time_us = world->noise->trial.times_us[side][leg][world->rounds[round]];
    *time_us *= world->paces[launch >= world->pace_changes];
    if (launch >= world->step_begins && launch < world->step_ends)
        *time_us *= world->step;
    if (hn_random_unit(&world->random) < world->outliers)
        *time_us *= pow(1.0 - hn_random_unit(&world->random), -0.7);
    if (side == HN_TRIAL_ACCUSED)
        *time_us *= 1.0 - world->saves[leg];
}

/* What a trial says of it: beside the measurement (no control), or the one that decides. */
static enum hn_suspicion try(struct world *world, int sides)
{
    struct hn_trial trial = world->noise->trial;
    trial.sides = sides;
    trial.most = HN_TRIAL_ROUNDS;
    begin_process(world);
    hold(&trial, take_time, world, &world->random);
    return hn_trial_judge(&trial);
}

static size_t honest_count(void)
{
    const char *text = getenv("HONE_HONEST");
    return text != NULL ? strtoul(text, NULL, 10) : HONEST;
}

/* Each is tried as if it had been suspected, in both trials. */
static void accuse_honest(const char *card)
{
    size_t first = 0, second = 0, failed = 0, count = honest_count();
    struct world world = {.random = hn_random_seeded(20261125)};
    load_noise(card);
    for (size_t i = 0; i < count; i++) {
        world.noise = &noises[i % noise_count];
        enum hn_suspicion kind = world.noise->trial.kind;
        first += try(&world, 1) == kind;
        enum hn_suspicion verdict = try(&world, 2);
        second += verdict == kind;
        failed += verdict == HN_SUSPICION_CHECK_FAILED;
    }
    printf("%s: of %zu honest variants, all of them suspected, %zu were guilty beside the "
           "measurement, %zu beside a control; "
           "%zu checks failed\n",
           card, count, first, second, failed);
    free(noises);
    assert_int_equal(first, 0);
    assert_int_equal(second, 0);
    assert_int_equal(failed, 0);
}

TEST(no_honest_variant_is_accused)
{
    accuse_honest("h100");
    accuse_honest("h200");
}

/* Whether it is found by both trials, of so many that save this share where they are not checked
 * and as much again as the slack of samples. */
static double share_found(double saving)
{
    size_t found = 0, count = 0;
    struct world world = {.random = hn_random_seeded(4711), .saves = {0.0, saving, saving}};
    for (size_t i = 0; count < CHEATS; i++) {
        world.noise = &noises[i % noise_count];
        const struct hn_trial *recorded = &world.noise->trial;
        if (saving * world.noise->median_us[0][0] < 2.0 * recorded->slack_us[0])
            continue;
        count++;
        found += try(&world, 1) == recorded->kind && try(&world, 2) == recorded->kind;
    }
    return (double)found / (double)count;
}

TEST(cheats_are_found)
{
    static const char *const cards[] = {"h100", "h200"};
    for (int i = 0; i < 2; i++) {
        load_noise(cards[i]);
        double tenth = share_found(0.1), fifth = share_found(0.2), half = share_found(0.5);
        printf("%s: found %.1f%% of those that save 10%%, %.1f%% of 20%%, %.1f%% of 50%%\n",
               cards[i], 100 * tenth, 100 * fifth, 100 * half);
        free(noises);
        assert_true(tenth >= 0.5 && fifth >= 0.9 && half >= 0.99);
    }
}

/* --- how it is held
 * ----------------------------------------------------------------------------------------------------
 */

struct log {
    int taken[HN_TRIAL_SIDES][HN_TRIAL_LEGS];
    int order[2][HN_TRIAL_SIDES * HN_TRIAL_LEGS]; /* of the last two rounds */
    size_t count;
    double times_us[HN_TRIAL_LEGS];
};

static void note(void *subject, int side, int leg, size_t round, double *time_us,
                 struct hn_error *err)
{
    struct log *log = subject;
    (void)round;
    (void)err;
    log->taken[side][leg]++;
    log->order[log->count / 6 % 2][log->count % 6] = 3 * side + leg;
    log->count++;
    *time_us = log->times_us[leg];
}

TEST(a_round_has_each_launch_in_an_order_that_is_drawn)
{
    struct log log = {.times_us = {10.0, 10.0, 10.0}};
    struct hn_random secret = hn_random_seeded(1);
    struct hn_trial trial = {.kind = HN_SUSPICION_CHECKED, .sides = 2, .legs = 3, .most = 11};
    hold(&trial, note, &log, &secret);
    assert_int_equal(trial.rounds, 11);
    for (int side = 0; side < 2; side++)
        for (int leg = 0; leg < 3; leg++)
            assert_int_equal(log.taken[side][leg], 12); /* the first does not count */
    assert_memory_not_equal(log.order[0], log.order[1], sizeof log.order[0]);
}

TEST(without_a_control_it_ends_where_nothing_is_to_be_seen)
{
    struct log log = {.times_us = {10.0, 10.0, 10.0}};
    struct hn_random secret = hn_random_seeded(1);
    struct hn_trial trial = {.kind = HN_SUSPICION_AGAIN, .sides = 1, .legs = 2, .most = 48};
    hold(&trial, note, &log, &secret);
    assert_int_equal(trial.rounds, 4);
    log.times_us[1] = 9.0;
    hold(&trial, note, &log, &secret);
    assert_int_equal(trial.rounds, 48);
    assert_int_equal(hn_trial_judge(&trial), HN_SUSPICION_AGAIN);
    assert_true(trial.whole_us == 10.0 && trial.spared_us == 9.0);
}
