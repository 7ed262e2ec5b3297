/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/run.h"
#include "base/text.h"
#include "bench/search/simulate/report.h"

enum {
    KEY_STRATEGY = 1,
    KEY_RUNS,
    KEY_SEED,
    KEY_TRACES,
    KEY_CHANCES,
    KEY_SCORE,
    KEY_LOOK_AHEAD,
    KEY_CORES,
    KEY_EVALUATIONS,
    KEY_PRIOR,
    KEY_ESTIMATE,
    KEY_JOBS,
    KEY_JSON,
    KEY_QUIET,
    KEYS
};
enum { RUNS_MOST = 1000000, LOOK_AHEAD_MOST = 65536, JOBS_MOST = 1024 };

static const struct argp_option own_options[] = {
    {"strategy", KEY_STRATEGY, "NAME", 0,
     "Which strategies: a name, several as a,b, or all; the default is the default of `hone tune`",
     1},
    {"runs", KEY_RUNS, "N", 0, "Runs of each strategy on each file (default 100)", 1},
    {"seed", KEY_SEED, "S", 0, "Seed that those of the runs are made from (default 1)", 1},
    {"look-ahead", KEY_LOOK_AHEAD, "L", 0,
     "Proposals made before a result is known: 1 (the default) as a tuner that measures one after "
     "the other, 32 as `hone tune`",
     1},
    {"cores", KEY_CORES, "N", 0,
     "Keep the clock of a machine with N cores that compile and one GPU, for how long it takes "
     "until "
     "within 5% of the optimum",
     1},
    {"evaluations", KEY_EVALUATIONS, "N", 0,
     "Evaluate N points at least in each run, even where the budget is used up before", 1},
    {"prior", KEY_PRIOR, "FILE", 0,
     "A recorded tuning that strategies know before they start, most relevant first; may be "
     "repeated. A space never knows itself",
     1},
    {"estimate", KEY_ESTIMATE, "EXPRESSION", 0,
     "What a point is expected to take, over the parameters of the files, as `prior` of a config "
     "says it",
     1},
    {"traces", KEY_TRACES, "FILE", 0, "Write what was evaluated, a JSON line a run; .gz packs", 1},
    {"chances", KEY_CHANCES, 0, 0,
     "Write with the traces what the strategy says of the chance that a point better by 2% exists",
     1},
    {"score", KEY_SCORE, 0, 0, "Print the scores; the default when there is no --traces", 1},
    {"jobs", KEY_JOBS, "N", 0, "Threads (default: as many as there are cores)", 1},
    {"json", KEY_JSON, 0, 0, "The scores as one JSON document", 1},
    {"quiet", 'q', 0, 0, "No progress, only scores and errors", 1},
    {0},
};

struct simulate {
    struct texts {
        const char **items;
        size_t count;
    } paths, priors;
    const char *strategies;
    const char *traces;
    const char *estimate;
    bool score;
    bool json;
    struct hn_batch batch;
};

#define AT(member) offsetof(struct simulate, member)

/* Where the value of each option goes, and the limits of a number. */
static const struct member {
    enum { NUMBER, TEXT, TEXTS, FLAG } form;
    size_t at;
    uint64_t least, most;
} members[KEYS] = {
    [KEY_STRATEGY] = {TEXT, AT(strategies), 0, 0},
    [KEY_RUNS] = {NUMBER, AT(batch.run_count), 1, RUNS_MOST},
    [KEY_SEED] = {NUMBER, AT(batch.seed), 0, UINT64_MAX},
    [KEY_LOOK_AHEAD] = {NUMBER, AT(batch.look_ahead), 1, LOOK_AHEAD_MOST},
    [KEY_CORES] = {NUMBER, AT(batch.cores), 1, JOBS_MOST},
    [KEY_EVALUATIONS] = {NUMBER, AT(batch.evaluations), 1, UINT32_MAX},
    [KEY_PRIOR] = {TEXTS, AT(priors), 0, 0},
    [KEY_ESTIMATE] = {TEXT, AT(estimate), 0, 0},
    [KEY_TRACES] = {TEXT, AT(traces), 0, 0},
    [KEY_CHANCES] = {FLAG, AT(batch.ask_chance), 0, 0},
    [KEY_SCORE] = {FLAG, AT(score), 0, 0},
    [KEY_JOBS] = {NUMBER, AT(batch.jobs), 1, JOBS_MOST},
    [KEY_JSON] = {FLAG, AT(json), 0, 0},
    [KEY_QUIET] = {FLAG, AT(batch.quiet), 0, 0},
};
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "numbers are of either type");

static uint64_t read_number(int key, const char *text, struct argp_state *state)
{
    const struct argp_option *option = own_options;
    const struct member *member = &members[key];
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    while (option->key != key)
        option++;
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number < member->least ||
        number > member->most)
        argp_error(state, "--%s: found '%s', expected a whole number from %llu to %llu",
                   option->name, text, (unsigned long long)member->least,
                   (unsigned long long)member->most);
    return number;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct simulate *simulate = state->input;
    if (key == ARGP_KEY_END && simulate->paths.count == 0)
        argp_error(state, "expected the path of a recorded tuning");
    if (key == ARGP_KEY_ARG)
        *HN_NEXT(simulate->paths.items, simulate->paths.count) = argument;
    if (key == ARGP_KEY_ARG || key == ARGP_KEY_END)
        return 0;
    key = key == 'q' ? KEY_QUIET : key;
    if (key <= 0 || key >= KEYS)
        return ARGP_ERR_UNKNOWN;
    void *member = (char *)simulate + members[key].at;
    struct texts *texts = member;
    switch (members[key].form) {
    case NUMBER:
        *(uint64_t *)member = read_number(key, argument, state);
        break;
    case TEXT:
        *(const char **)member = argument;
        break;
    case TEXTS:
        *HN_NEXT(texts->items, texts->count) = argument;
        break;
    case FLAG:
        *(bool *)member = true;
        break;
    }
    return 0;
}

static enum hn_status fail_unknown(const char *name, struct hn_error *err)
{
    const char *names[64];
    size_t count = 0;
    struct hn_text list HN_ENDED_BY(hn_text_finish) = {0};
    for (; hn_strategy_kinds[count] != NULL && count < 64; count++) {
        names[count] = hn_strategy_kinds[count]->name;
        hn_text_printf(&list, "%s%s", count > 0 ? ", " : "", names[count]);
    }
    const char *nearest = hn_text_nearest(name, names, count);
    enum hn_status status = hn_fail(
        err, HN_EUSAGE, "unknown strategy '%s'%s%s; there are: %s, and all for each of them", name,
        nearest != NULL ? "; nearest is " : "", nearest != NULL ? nearest : "",
        list.data != NULL ? list.data : "");
    return status;
}

static void add_strategy(struct hn_batch *batch, const struct hn_strategy_kind *kind)
{
    for (size_t i = 0; i < batch->strategy_count; i++)
        if (batch->strategies[i] == kind)
            return;
    *HN_NEXT(batch->strategies, batch->strategy_count) = kind;
}

static enum hn_status choose_strategies(struct simulate *simulate, struct hn_error *err)
{
    struct hn_batch *batch = &simulate->batch;
    enum hn_status status = HN_OK;
    bool all = simulate->strategies != NULL && strcmp(simulate->strategies, "all") == 0;
    if (simulate->strategies == NULL)
        add_strategy(batch, hn_strategy_kinds[0]);
    for (size_t i = 0; all && hn_strategy_kinds[i] != NULL; i++)
        add_strategy(batch, hn_strategy_kinds[i]);
    if (simulate->strategies == NULL || all)
        return HN_OK;
    char *names HN_FREED = hn_need_copy(simulate->strategies);
    char *rest = names;
    for (char *name = strsep(&rest, ","); status == HN_OK && name != NULL;
         name = strsep(&rest, ",")) {
        const struct hn_strategy_kind *kind = hn_strategy_find(name);
        if (kind != NULL)
            add_strategy(batch, kind);
        else
            status = fail_unknown(name, err);
    }
    return status;
}

static void show_scores(const struct simulate *simulate)
{
    const struct hn_batch *batch = &simulate->batch;
    struct hn_score *scores HN_FREED =
        hn_need(batch->strategy_count * batch->space_count, sizeof *scores);
    hn_batch_score(batch, scores);
    if (simulate->json) {
        json_auto_t *json = hn_needed(hn_scores_to_json(batch, scores));
        json_dumpf(json, stdout, JSON_INDENT(1));
        putchar('\n');
    } else {
        hn_scores_print(batch, scores, stdout);
    }
}

/* Also what a signal left: finished runs are whole. */
static enum hn_status write_traces(const struct simulate *simulate, enum hn_status status,
                                   struct hn_error *err)
{
    if (simulate->traces == NULL || (status != HN_OK && status != HN_EINTERRUPTED))
        return status;
    enum hn_status written = hn_batch_write_traces(&simulate->batch, simulate->traces, err);
    if (written != HN_OK || status == HN_OK)
        return written;
    return hn_fail(err, status, "interrupted: '%s' holds the runs that were finished",
                   simulate->traces);
}

/* Told before the runs, not after them. */
static enum hn_status check_traces(const char *path, struct hn_error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder =
        hn_needed(slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1));
    bool fits = access(folder, W_OK | X_OK) == 0;
    free(folder);
    return fits ? HN_OK
                : hn_fail(err, HN_ERUN, "'%s' cannot be written: %s", path, strerror(errno));
}

static enum hn_status simulate_all(struct simulate *simulate, struct hn_error *err)
{
    struct hn_batch *batch = &simulate->batch;
    double start_ms = hn_now_ms();
    enum hn_status status = choose_strategies(simulate, err);
    if (status == HN_OK && simulate->traces != NULL)
        status = check_traces(simulate->traces, err);
    if (status == HN_OK)
        status = hn_batch_load(batch, simulate->paths.items, simulate->paths.count, err);
    if (status == HN_OK && simulate->estimate != NULL)
        status = hn_batch_set_estimate(batch, simulate->estimate, err);
    if (status == HN_OK && simulate->priors.count > 0)
        status = hn_batch_load_priors(batch, simulate->priors.items, simulate->priors.count, err);
    double loaded_ms = hn_now_ms();
    if (status != HN_OK)
        return status;
    status = write_traces(simulate, hn_batch_run(batch, err), err);
    double run_ms = hn_now_ms();
    if (status == HN_OK && (simulate->score || simulate->traces == NULL || simulate->json))
        show_scores(simulate);
    if (status == HN_OK && !batch->quiet)
        fprintf(stderr, "%zu runs in %.1f s, loading took %.1f s\n",
                batch->strategy_count * batch->space_count * batch->run_count,
                (run_ms - loaded_ms) / 1000, (loaded_ms - start_ms) / 1000);
    return status;
}

static int exit_code(enum hn_status status)
{
    switch (status) {
    case HN_OK:
        return 0;
    case HN_EUSAGE:
        return 2;
    case HN_ENOTFOUND:
        return 3;
    case HN_EINTERRUPTED:
        return 128 + hn_interrupted();
    default:
        return 1;
    }
}

int main(int argc, char **argv)
{
    static struct hn_error err;
    struct simulate simulate = {
        .batch = {.run_count = 100, .seed = 1, .look_ahead = 1, .jobs = hn_parallel_cores()}};
    const struct argp argp = {
        .options = own_options,
        .parser = parse,
        .args_doc = "FILE...",
        .doc = "Runs search strategies against recorded tunings; needs no GPU.\v"
               "A FILE is a cache file of Kernel Tuner or a recording of Hone, .gz too. Each run "
               "goes on until the budget of the autotuning methodology is used up."};
    argv[0] = program_invocation_short_name;
    argp_err_exit_status = exit_code(HN_EUSAGE);
    hn_interrupt_install();
    enum hn_status status = argp_parse(&argp, argc, argv, 0, NULL, &simulate) == 0
                                ? simulate_all(&simulate, &err)
                                : HN_EUSAGE;
    if (status != HN_OK && err.message[0] != '\0')
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, err.message);
    hn_batch_finish(&simulate.batch);
    free(simulate.paths.items);
    free(simulate.priors.items);
    return exit_code(status);
}
