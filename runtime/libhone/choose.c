/* SPDX-License-Identifier: MIT */
#include "runtime/libhone/library.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/run.h"
#include "cache/recording/recording.h"
#include "runtime/device/device.h"

/* Plans, results and rules of kernels, each read from the cache when it is first asked for. */

static void read_plan(struct hn_lib_plan *plan, struct hn_error *err)
{
    if (!hn_failed(err) && plan->template.file_count == 0)
        hn_fail(err, HN_ENOTFOUND, "the cache keeps no template of this version");
    if (hn_failed(err) || hn_plan_from_json(plan->json, &plan->plan, err) != HN_OK)
        return;
    if (plan->plan->program != NULL)
        hn_fail(err, HN_ENOTFOUND, "it is a program that was tuned, which has no kernel to launch");
    plan->types = hn_allocate(plan->plan->argument_count, HN_TYPE_SIZE, err);
    for (size_t i = 0; plan->types != NULL && i < plan->plan->argument_count; i++)
        hn_argument_format_type(&plan->plan->arguments[i], plan->types + i * HN_TYPE_SIZE);
}

static void finish_plan(struct hn_lib_plan *plan)
{
    if (plan == NULL)
        return;
    hn_plan_destroy(plan->plan);
    hn_template_finish(&plan->template);
    json_decref(plan->json);
    free(plan->types);
    free(plan);
}

/* The plan with which it was tuned. NULL: err, which may be NULL, says why; HN_ENOTFOUND where the
 * cache has none: results that were imported without. Where it lay when it was tuned the template
 * may have changed; a recording does not say where. */
static const struct hn_lib_plan *get_plan(struct hone_cache *cache, const struct hn_tuned *tuned,
                                          struct hn_error *err)
{
    struct hn_error own;
    struct hn_stored_plan stored = {.json = NULL};
    struct hn_template now HN_ENDED_BY(hn_template_finish) = {0};
    const char *kernel = tuned->identity.kernel;
    const struct hn_lib_plan *known = cache->plans;
    while (known != NULL && (!hn_version_equal(&known->version, &tuned->version) ||
                             strcmp(known->plan->kernel, kernel) != 0))
        known = known->next;
    if (known != NULL)
        return known;
    err = hn_error_begin(err, &own);
    struct hn_lib_plan *made = hn_allocate(1, sizeof *made, err);
    if (made != NULL && cache->store != NULL)
        hn_store_get_plan(cache->store, kernel, &tuned->version, &stored, err);
    else if (made != NULL &&
             hn_recording_plan_find(cache->path, kernel, &tuned->version, &stored, err) == HN_OK &&
             stored.json == NULL)
        hn_fail(err, HN_ENOTFOUND,
                "the recordings in '%s' do not hold the plan they were made with: `hone cache "
                "import FILE... --config CONFIG` adds it, `hone cache export` writes them again",
                cache->path);
    if (made != NULL) {
        made->json = stored.json;
        made->template.files = stored.files;
        made->template.file_count = stored.file_count;
        read_plan(made, err);
    }
    if (hn_failed(err)) {
        finish_plan(made);
        return NULL;
    }
    made->version = tuned->version;
    const char *path = made->template.files->name;
    if (path[0] == '/' && hn_template_load(path, &now, made->plan, NULL) == HN_OK)
        made->changed = strcmp(now.hash.hex, tuned->version.template_hash) != 0;
    made->next = cache->plans;
    cache->plans = made;
    return made;
}

static void forget_results(struct hn_lib_known *known)
{
    hn_lookup_index_finish(&known->lookup);
    hn_tuned_list_free(&known->list);
}

static void forget_rules(struct hn_lib_known *known)
{
    for (size_t i = 0; known->rules != NULL && i < known->stored.count; i++) {
        struct hn_lib_rule *rule = &known->rules[i];
        size_t count = rule->configurations == NULL ? 0 : rule->stored->rule->configuration_count;
        for (size_t c = 0; c < count; c++)
            for (struct hn_lib_module *next, *module = rule->configurations[c].modules;
                 module != NULL; module = next) {
                next = module->next;
                hn_lib_module_destroy(module);
            }
        free(rule->configurations);
        hn_bindings_finish(&rule->names);
        hn_rule_program_destroy(rule->program);
        hn_known_problems_finish(&rule->known);
    }
    free(known->rules);
    known->rules = NULL;
    hn_tuned_list_free(&known->stored);
}

void hn_lib_known_free(struct hone_cache *cache)
{
    for (struct hn_lib_known *known = cache->known; known != NULL; known = known->next) {
        forget_results(known);
        forget_rules(known);
    }
    for (struct hn_lib_compiled *compiled = cache->compiled; compiled != NULL;
         compiled = compiled->next)
        hn_image_finish(&compiled->image);
    for (struct hn_lib_plan *next, *plan = cache->plans; plan != NULL; plan = next) {
        next = plan->next;
        finish_plan(plan);
    }
}

/* Nothing is known of it yet where it is new. NULL where err has failed. */
static struct hn_lib_known *find_known(struct hone_cache *cache, const char *kernel,
                                       struct hn_error *err)
{
    struct hn_lib_known *known = cache->known;
    while (known != NULL && strcmp(known->kernel, kernel) != 0)
        known = known->next;
    if (known != NULL || hn_failed(err))
        return hn_failed(err) ? NULL : known;
    size_t bytes = strlen(kernel) + 1;
    known = hn_made(hn_blocks_take(&cache->memory, sizeof *known + bytes), err);
    if (known == NULL)
        return NULL;
    known->kernel = memcpy(known + 1, kernel, bytes);
    known->next = cache->known;
    cache->known = known;
    return known;
}

struct hn_lib_known *hn_lib_known_results(struct hone_cache *cache, const char *kernel,
                                          struct hn_error *err)
{
    struct hn_lib_known *known = find_known(cache, kernel, err);
    if (known == NULL || known->list.count > 0)
        return known;
    if (cache->store == NULL)
        hn_recording_list(cache->path, kernel, &known->list, err);
    else
        hn_store_list(cache->store, HN_STORE_UNCOUNTED, kernel, NULL, &known->list, err);
    if (!hn_failed(err) && known->list.count > 0)
        hn_lookup_index_make(&known->lookup, &known->list, err);
    if (!hn_failed(err) && known->list.count > 0)
        return known;
    forget_results(known);
    return NULL;
}

static void read_rule(struct hn_lib_known *known, size_t index, struct hn_error *err)
{
    const struct hn_tuned *stored = &known->stored.items[index];
    struct hn_lib_rule *rule = &known->rules[index];
    rule->stored = stored;
    rule->configurations =
        hn_allocate(stored->rule->configuration_count, sizeof *rule->configurations, err);
    if (rule->configurations == NULL)
        return;
    for (size_t i = 0; i < stored->rule->configuration_count; i++)
        rule->configurations[i].tuned = (struct hn_tuned){
            .identity = stored->identity,
            .version = stored->version,
            .best = {.point = stored->rule->configurations[i], .time = stored->begun},
            .origin = stored->origin,
            .simulated = stored->simulated,
            .stale = stored->stale,
        };
    hn_rule_set_end(stored->rule, false, &rule->names, err);
    for (size_t i = 0; i < HN_DEVICE_LIMITS; i++)
        rule->names_limits =
            rule->names_limits || hn_bindings_get(&rule->names, hn_device_limit_names[i]) != NULL;
}

struct hn_lib_known *hn_lib_known_rules(struct hone_cache *cache, const char *kernel,
                                        struct hn_error *err)
{
    struct hn_lib_known *known = find_known(cache, kernel, err);
    if (known == NULL || known->rules != NULL)
        return known;
    if (cache->store != NULL)
        hn_store_list(cache->store, HN_STORE_RULES, kernel, NULL, &known->stored, err);
    known->rules = hn_allocate(known->stored.count, sizeof *known->rules, err);
    for (size_t i = 0; !hn_failed(err) && i < known->stored.count; i++)
        read_rule(known, i, err);
    if (!hn_failed(err))
        return known;
    forget_rules(known);
    return NULL;
}

/* The rule of that device, else of one of its compute capability, else of any, for the regime and
 * objective of the options; NULL: there is none. *own: it is of that device. The regimes stand in
 * order: cold comes before the others. */
static struct hn_lib_rule *find_rule(const struct hn_lib_known *known,
                                     const struct hn_device *device,
                                     const struct hone_options *options, bool *own)
{
    struct hn_lib_rule *found = NULL;
    int best = 0;
    for (size_t i = 0; i < known->stored.count; i++) {
        const struct hn_identity *identity = &known->stored.items[i].identity;
        bool is_device = hn_device_identity_equal(&identity->device, &device->identity);
        bool is_alike = identity->device.capability == device->identity.capability;
        int rank = (is_device ? 6 : is_alike ? 4 : 2) + (strcmp(identity->objective, "time") == 0);
        if (rank > best &&
            (options->regime == NULL || strcmp(options->regime, identity->regime) == 0) &&
            hn_lookup_is_objective(options->objective, identity->objective)) {
            best = rank;
            found = &known->rules[i];
        }
    }
    *own = best >= 6;
    return found;
}

/* Which point serves a problem: what the cache holds, else what the caller wants then. */
struct search {
    struct hn_lib_question asked;
    struct hn_lib_known *known; /* NULL: nothing is tuned of the kernel, or it was not asked for */
    struct hn_lib_rule *rule;   /* of a family; NULL: there is none */
    bool is_own_rule;           /* it was learnt on this device */
    struct hn_bindings whole;   /* the problem with what it has of the device */
    struct hn_launch launch;    /* of the point that was looked at last */
    struct hn_value *values;    /* with which it was made */
};

static const struct hn_device *find_device(struct hone_cache *cache, CUcontext context,
                                           struct hn_error *err)
{
    CUdevice handle = 0;
    struct hn_device device;
    struct hn_lib_device *known = cache->devices;
    while (known != NULL && known->context != context)
        known = known->next;
    if (known != NULL || hn_failed(err))
        return known == NULL ? NULL : &known->device;
    hn_lib_cuda(cache, cache->driver.p_cuCtxGetDevice(&handle), "cuCtxGetDevice", err);
    if (!hn_failed(err) && hn_driver_device(&cache->driver, handle, &device, err) != HN_OK)
        hn_lib_restate(err, HONE_CUDA);
    if (hn_failed(err))
        return NULL;
    struct hn_lib_device *made = hn_made(hn_blocks_take(&cache->memory, sizeof *made), err);
    if (made == NULL)
        return NULL;
    *made = (struct hn_lib_device){cache->devices, context, device};
    cache->devices = made;
    return &made->device;
}

static void forget_launch(struct search *search)
{
    hn_launch_finish(&search->launch);
    free(search->values);
    search->values = NULL;
}

/* Whether a point can be launched for the problem on the device. */
static bool can_launch(struct search *search, const struct hn_lib_plan *plan,
                       const struct hn_bindings *point)
{
    forget_launch(search);
    return hn_launch_try(plan->plan, search->asked.device, search->asked.problem, point,
                         &search->launch, &search->values);
}

static struct hn_lib_choice choice_of(struct search *search, const struct hn_lib_plan *plan,
                                      const struct hn_tuned *tuned)
{
    return (struct hn_lib_choice){
        .asked = &search->asked,
        .plan = plan,
        .tuned = tuned,
        .point =
            tuned == NULL ? hn_plan_default(plan->plan, search->asked.problem) : &tuned->best.point,
        .launch = &search->launch,
        .values = &search->values,
    };
}

static struct hn_lib_choice choice_of_rule(struct search *search, int configuration)
{
    struct hn_lib_configuration *own = &search->rule->configurations[configuration];
    struct hn_lib_choice choice = choice_of(search, search->rule->plan, &own->tuned);
    choice.rule = search->rule;
    choice.configuration = own;
    return choice;
}

/* Where compiling is forbidden, only what has machine code counts. */
static bool can_serve(struct search *search, const struct hn_lib_choice *choice)
{
    return can_launch(search, choice->plan, choice->point) &&
           (search->asked.options->forbid_compile == 0 || hn_lib_image_is_kept(choice));
}

static bool is_usable(const struct hn_tuned *tuned, void *context)
{
    struct search *search = context;
    const struct hn_lib_plan *plan = get_plan(search->asked.cache, tuned, NULL);
    if (plan == NULL)
        return false;
    const struct hn_lib_choice choice = choice_of(search, plan, tuned);
    return can_serve(search, &choice);
}

/* All configurations of a rule are of one version, which the cache may not have. */
static bool is_usable_by_rule(int configuration, void *context)
{
    struct search *search = context;
    struct hn_lib_rule *rule = search->rule;
    if (rule->plan == NULL)
        rule->plan = get_plan(search->asked.cache, &rule->configurations[0].tuned, NULL);
    if (rule->plan == NULL)
        return false;
    const struct hn_lib_choice choice = choice_of_rule(search, configuration);
    return can_serve(search, &choice);
}

static bool takes_nearest(const struct search *search)
{
    return search->asked.options->on_miss == HONE_MISS_NEAREST ||
           search->asked.options->on_miss == HONE_MISS_RACE;
}

/* What the rule says, where that is no miss or the nearest is asked for. A rule of another device
 * is never sure. False: it does not tell. */
static bool choose_by_rule(struct search *search, struct hn_lib_choice *choice)
{
    bool sure = false;
    if (search->rule == NULL)
        return false;
    int configuration = hn_rule_choose(search->rule->stored->rule, search->asked.problem,
                                       is_usable_by_rule, search, &sure);
    sure = sure && search->is_own_rule;
    if (configuration < 0 || (!sure && !takes_nearest(search)))
        return false;
    *choice = choice_of_rule(search, configuration);
    choice->sure = sure;
    return true;
}

static struct hn_lookup_query query_of(struct search *search, bool usable)
{
    const struct hn_device_identity *identity = &search->asked.device->identity;
    return (struct hn_lookup_query){
        .device_name = identity->name,
        .capability = identity->capability,
        .sm_count = identity->sm_count,
        .problem = search->asked.problem,
        .regime = search->asked.options->regime,
        .objective = search->asked.options->objective,
        .usable = usable ? is_usable : NULL,
        .context = search,
    };
}

static const struct hn_tuned *find_tuned(struct search *search, bool usable,
                                         struct hn_lookup_rank *rank)
{
    struct hn_lookup_query query = query_of(search, usable);
    *rank = (struct hn_lookup_rank){.grade = HN_GRADE_NONE};
    return search->known == NULL ? NULL
                                 : hn_lookup_index_find(&search->known->lookup, &query, rank);
}

/* The values of a problem that the kernel takes: those of the first tuned result, or of the rule.
 * NULL: nothing tells. */
static const struct hn_bindings *names_of(const struct search *search)
{
    return search->known != NULL  ? &search->known->list.items[0].identity.problem
           : search->rule != NULL ? &search->rule->names
                                  : NULL;
}

/* Says which name is wrong. */
static void fail_names(const struct search *search, struct hn_error *err)
{
    const char *kernel = search->asked.kernel;
    const struct hn_bindings *sides[] = {search->asked.problem, names_of(search)};
    for (int side = 0; side < 2 && sides[1] != NULL; side++)
        for (size_t i = 0; i < sides[side]->count; i++) {
            struct hn_text tuned HN_ENDED_BY(hn_text_finish) = {0};
            if (hn_bindings_get(sides[!side], sides[side]->names[i]) != NULL)
                continue;
            if (search->known != NULL)
                hn_bindings_append(&tuned, sides[1]);
            else
                hn_rule_append_values(&tuned, search->rule->stored->rule);
            hn_lib_fail(err, HONE_INVALID,
                        "problem value '%.100s' of %s is %s: it is tuned for %.500s",
                        sides[side]->names[i], kernel, side == 0 ? "unknown" : "missing",
                        tuned.length > 0 ? tuned.data : "no values");
            return;
        }
    if (search->known == NULL && search->rule != NULL && search->asked.options->forbid_compile != 0)
        hn_lib_fail(err, HONE_NEEDS_COMPILER,
                    "'%.300s' keeps no machine code of the rule of %s's family for this problem, "
                    "and options.forbid_compile is set; `hone cache compile` makes it",
                    search->asked.cache->path, kernel);
    else
        hn_lib_fail(err, HONE_INVALID,
                    "no tuned result of %s has problem values of these names, and this "
                    "regime and objective; `hone cache list` shows what there is",
                    kernel);
}

/* Any tuned result with the problem's names tells the plan, else the rule that was asked. NULL:
 * there is none, or err has failed; err may be NULL. */
static const struct hn_lib_plan *find_plan(struct search *search, struct hn_error *err)
{
    struct hn_lookup_rank rank;
    int64_t features[HN_RULE_FEATURES_MOST];
    bool inside;
    const struct hn_tuned *tuned = find_tuned(search, false, &rank);
    if (tuned != NULL)
        return get_plan(search->asked.cache, tuned, err);
    bool has_names =
        search->known == NULL && search->rule != NULL &&
        hn_rule_evaluate(search->rule->stored->rule, search->asked.problem, features, &inside);
    return has_names ? search->rule->plan : NULL;
}

static void choose_default(struct search *search, struct hn_lib_choice *choice,
                           struct hn_error *err)
{
    const struct hn_lib_plan *plan = find_plan(search, err);
    /* Where no configuration of a rule has machine code, the default point has none either. */
    if (search->known == NULL && search->asked.options->forbid_compile != 0)
        plan = NULL;
    if (plan == NULL && !hn_failed(err))
        fail_names(search, err);
    if (plan == NULL)
        return;
    *choice = choice_of(search, plan, NULL);
    if (!can_launch(search, plan, choice->point))
        choice->point = &plan->plan->defaults;
    if (!can_launch(search, plan, choice->point))
        hn_fail(err, HN_ENOTFOUND,
                "the default point of %s is not valid for this problem on %s, and "
                "nothing that is tuned is",
                search->asked.kernel, search->asked.device->identity.name);
}

static void choose_tuned(struct search *search, const struct hn_tuned *tuned, enum hn_grade grade,
                         struct hn_lib_choice *choice, struct hn_error *err)
{
    const struct hn_lib_plan *plan = get_plan(search->asked.cache, tuned, err);
    if (plan == NULL)
        return;
    *choice = choice_of(search, plan, tuned);
    choice->grade = grade;
    if (!can_launch(search, plan, choice->point))
        hn_fail_memory(err); /* it could when it was looked up */
}

/* What was tuned for this very problem since results were read; false when nothing was. */
static bool choose_new(struct search *search, struct hn_lib_choice *choice, struct hn_error *err)
{
    struct hn_lookup_rank rank;
    if (hn_failed(err))
        return false;
    /* Results, and which problems have some, are read again. */
    struct hn_lib_known *known = find_known(search->asked.cache, search->asked.kernel, err);
    if (known != NULL)
        forget_results(known);
    for (size_t i = 0; known != NULL && known->rules != NULL && i < known->stored.count; i++) {
        hn_known_problems_finish(&known->rules[i].known);
        known->rules[i].first_on = NULL;
    }
    search->known = hn_lib_known_results(search->asked.cache, search->asked.kernel, err);
    const struct hn_tuned *tuned = find_tuned(search, true, &rank);
    if (tuned == NULL || rank.grade != HN_GRADE_EXACT)
        return false;
    choose_tuned(search, tuned, rank.grade, choice, err);
    return true;
}

/* What `hone tune` takes beside its budget to start, to finish and to race the best, before it is
 * killed. */
static const double GRACE_S = 120;
static const double DEFAULT_S = 30;

static void wait_for(struct hn_process *process, struct hn_error *err)
{
    bool in_time = process->output < 0;
    size_t past = process->tail_size > 900 ? process->tail_size - 900 : 0;
    int code = 0;
    pid_t waited;
    if (!in_time)
        kill(process->pid, SIGKILL);
    do
        waited = waitpid(process->pid, &code, 0);
    while (waited < 0 && errno == EINTR);
    /* A program that ignores SIGCHLD never learns how it ended; the cache tells. */
    if (!in_time)
        hn_lib_fail(err, HONE_TUNE_FAILED,
                    "`hone tune` did not end %.0f s after its budget, and was killed", GRACE_S);
    else if (waited >= 0 && WIFSIGNALED(code))
        hn_lib_fail(err, HONE_TUNE_FAILED, "`hone tune` was ended by signal %d", WTERMSIG(code));
    else if (waited >= 0 && WEXITSTATUS(code) != 0)
        hn_lib_fail(err, HONE_TUNE_FAILED, "`hone tune` ended with exit code %d: %s",
                    WEXITSTATUS(code), process->tail + past);
}

/* Until its stderr is closed, or the time is over. It is of the program's process group, so that a
 * signal from the terminal ends both. */
static void run_tune(const char **words, double seconds, struct hn_error *err)
{
    struct hn_process process;
    double until_ms = hn_now_ms() + 1000 * (seconds + GRACE_S), left_ms;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        hn_fail(err, HN_ERUN, "no pipe for `hone tune`: %s", strerror(errno));
        return;
    }
    hn_process_init(&process);
    process.output = ends[0];
    fcntl(process.output, F_SETFL, O_NONBLOCK);
    int code = hn_process_spawn(&process.pid, words[0], (char **)(uintptr_t)words,
                                (int[]){-1, -1, ends[1]}, 3, false);
    close(ends[1]);
    if (code != 0)
        hn_fail(err, HN_ERUN,
                "'%s' cannot be started: %s; set options.tune_command or HONE_COMMAND "
                "to where hone is",
                words[0], strerror(code));
    while (code == 0 && process.output >= 0 && (left_ms = until_ms - hn_now_ms()) > 0) {
        struct pollfd fds[2];
        poll(fds, hn_process_poll(&process, fds), left_ms > 1000 ? 1000 : (int)left_ms + 1);
        hn_process_drain(&process);
    }
    if (code == 0)
        wait_for(&process, err);
    if (process.output >= 0)
        close(process.output);
}

/* Runs `hone tune` for the problem. config: NULL where only the options can tell. Called without
 * the lock. */
static void run_command(const struct hn_lib_question *asked, const char *config,
                        struct hn_error *err)
{
    const struct hone_options *options = asked->options;
    double seconds = options->tune_seconds > 0 ? options->tune_seconds : DEFAULT_S;
    char budget[32];
    if (options->tune_config != NULL)
        config = options->tune_config;
    if (asked->cache->store == NULL) {
        hn_lib_fail(err, HONE_UNSUPPORTED,
                    "'%s' is a folder of recordings, to which nothing is added: to tune on "
                    "a miss open a cache",
                    asked->cache->path);
        return;
    }
    if (config == NULL || access(config, R_OK) != 0) {
        hn_lib_fail(err, HONE_TUNE_FAILED,
                    "tuning needs the config, which is not at %.500s: set options.tune_config",
                    config == NULL ? "a place that the cache knows" : config);
        return;
    }
    snprintf(budget, sizeof budget, "%.3fs", seconds);
    char *command HN_FREED = hn_made(hn_lib_find_command(options), err);
    char *problem HN_FREED = hn_made(hn_bindings_text(asked->problem), err);
    const char *const given[][2] = {{"--cache", asked->cache->path},
                                    {"--device", asked->device->uuid},
                                    {"--budget", budget},
                                    {"-p", asked->problem->count > 0 ? problem : NULL},
                                    {"--regime", options->regime}};
    const char *words[16] = {command, "tune", config, "--quiet"};
    size_t count = 4;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        words[count] = given[i][1] == NULL ? NULL : given[i][0];
        words[count + 1] = given[i][1];
        count += given[i][1] == NULL ? 0 : 2;
    }
    if (!hn_failed(err))
        run_tune(words, seconds, err);
}

/* One at a time, and others go on meanwhile: the lock is let go of. */
static void tune(struct search *search, struct hn_lib_choice *choice, struct hn_error *err)
{
    struct hone_cache *cache = search->asked.cache;
    bool found = false;
    /* Another thread may be tuning this very problem. */
    while (cache->tuning && !found && !hn_failed(err)) {
        pthread_cond_wait(&cache->tuned, &cache->lock);
        found = choose_new(search, choice, err);
    }
    if (found || hn_failed(err))
        return;
    const struct hn_lib_plan *plan = find_plan(search, NULL);
    cache->tuning = true;
    pthread_mutex_unlock(&cache->lock);
    run_command(&search->asked, plan == NULL ? NULL : plan->plan->config, err);
    pthread_mutex_lock(&cache->lock);
    cache->tuning = false;
    pthread_cond_broadcast(&cache->tuned);
    if (!choose_new(search, choice, err) && !hn_failed(err))
        hn_lib_fail(err, HONE_TUNE_FAILED,
                    "`hone tune` ended well, but '%s' holds nothing for this problem", cache->path);
}

static void choose(struct search *search, struct hn_lib_choice *choice, struct hn_error *err)
{
    struct hn_lookup_rank rank;
    enum hone_miss on_miss = search->asked.options->on_miss;
    const struct hn_tuned *tuned = find_tuned(search, true, &rank);
    if ((tuned == NULL || rank.grade < HN_GRADE_PROBLEM) && choose_by_rule(search, choice))
        return;
    if (tuned != NULL && (rank.grade == HN_GRADE_EXACT || takes_nearest(search))) {
        choose_tuned(search, tuned, rank.grade, choice, err);
    } else if (on_miss == HONE_MISS_TUNE) {
        tune(search, choice, err);
    } else if (on_miss == HONE_MISS_FAIL) {
        struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
        hn_bindings_append(&text, search->asked.problem);
        hn_fail(err, HN_ENOTFOUND, "nothing is tuned of %s for %.300s on %s in '%.300s'",
                search->asked.kernel, text.data == NULL ? "this problem" : text.data,
                search->asked.device->identity.name, search->asked.cache->path);
    } else {
        choose_default(search, choice, err);
    }
}

/* Points that can be launched for the problem as it is, and need no compiler: of the rule that
 * chose the handle's own, or of results. False: there are none. */
static bool add_racers(struct search *search, struct hn_lib_race *race,
                       const struct hn_lib_choice *own)
{
    const struct hn_lookup_query query = query_of(search, false);
    const struct hn_tuned *results[HN_LIB_RACERS_LIKELY];
    int configurations[HN_LIB_RACERS_LIKELY];
    size_t count = 0, added = 0;
    if (own->configuration != NULL)
        count = hn_lib_racers_of_rule(search->rule->stored->rule, search->asked.problem,
                                      (int)(own->configuration - search->rule->configurations),
                                      configurations);
    else if (search->known != NULL)
        count = hn_lib_racers_of_results(&search->known->list, &query, own->tuned, results);
    for (size_t i = 0; i < count && added < HN_LIB_RACERS_MOST - 1; i++) {
        struct hn_lib_choice choice = own->configuration != NULL
                                          ? choice_of_rule(search, configurations[i])
                                          : choice_of(search, own->plan, results[i]);
        struct hn_image image HN_ENDED_BY(hn_image_finish) = {0};
        struct hn_error ignored;
        if (!can_launch(search, choice.plan, choice.point) || !hn_lib_image_is_kept(&choice))
            continue;
        hn_error_init(&ignored);
        struct hone_kernel *kernel = hn_lib_load(&choice, &image, &ignored);
        if (kernel != NULL && hn_lib_race_add(race, kernel, &image))
            added++;
        else
            hn_lib_kernel_destroy(kernel);
    }
    return added > 0;
}

/* Makes the problem whole where results name values of the device and the caller does not: they are
 * those of this device. names: those of the values of a result's problem. */
static void complete(struct search *search, const struct hn_bindings *names, struct hn_error *err)
{
    for (size_t i = 0; i < HN_DEVICE_LIMITS && !hn_failed(err); i++) {
        const char *name = hn_device_limit_names[i];
        const struct hn_value value = hn_integer(hn_device_limit(search->asked.device, i));
        if (hn_bindings_get(names, name) == NULL ||
            hn_bindings_get(search->asked.problem, name) != NULL)
            continue;
        if (search->asked.problem != &search->whole)
            hn_bindings_copy(&search->whole, search->asked.problem, err);
        search->asked.problem = &search->whole;
        if (!hn_failed(err))
            hn_bindings_set(&search->whole, name, &value, err);
    }
}

/* What was tuned for this very problem, else what the rule of this device says, else the nearest.
 * The first is looked for among nothing else. */
static void choose_fast(struct search *search, struct hn_tuned_list *list,
                        struct hn_lib_choice *choice, struct hn_error *err)
{
    struct hone_cache *cache = search->asked.cache;
    const char *kernel = search->asked.kernel;
    const struct hn_tuned *exact = NULL;
    struct hn_lookup_rank rank = {.grade = HN_GRADE_NONE};
    struct hn_lib_rule *rule = search->rule;
    /* A kernel with a rule is asked for many problems that have no result. */
    if (rule != NULL && rule->known.hashes == NULL &&
        hn_known_problems_read(cache->store, rule->stored->identity.kernel, &rule->known, err) ==
            HN_OK &&
        rule->program == NULL)
        rule->program = hn_rule_program_make(rule->stored->rule);
    bool may_be = rule == NULL || hn_known_problems_may_have(&rule->known, search->asked.problem);
    if (cache->store != NULL && may_be && !hn_failed(err) &&
        hn_store_list(cache->store, HN_STORE_UNCOUNTED, kernel, search->asked.problem, list, err) ==
            HN_OK) {
        struct hn_lookup_query query = query_of(search, true);
        exact = hn_lookup(list, &query, &rank);
    }
    if (exact != NULL && rank.grade == HN_GRADE_EXACT) {
        choose_tuned(search, exact, HN_GRADE_EXACT, choice, err);
        return;
    }
    if (hn_failed(err) || (search->is_own_rule && choose_by_rule(search, choice)))
        return;
    search->known = hn_lib_known_results(cache, kernel, err);
    if (search->known != NULL)
        complete(search, &search->known->list.items[0].identity.problem, err);
    else if (!hn_failed(err) && search->asked.options->on_miss != HONE_MISS_TUNE &&
             search->rule == NULL)
        hn_fail(err, HN_ENOTFOUND,
                "'%s' holds nothing tuned of kernel '%s'; `hone cache list` shows what there is",
                cache->path, kernel);
    if (!hn_failed(err))
        choose(search, choice, err);
}

/* Whether nothing is to be preferred to the rule: it is this device's own, or nothing was tuned
 * here. */
static bool is_rule_first(struct search *search)
{
    struct hn_lookup_rank rank;
    struct hn_error reason;
    const struct hn_device *device = search->asked.device;
    if (search->is_own_rule || search->rule->first_on == device)
        return true;
    hn_error_init(&reason);
    search->known = hn_lib_known_results(search->asked.cache, search->asked.kernel, &reason);
    if (!hn_failed(&reason) &&
        (find_tuned(search, false, &rank) == NULL || rank.grade < HN_GRADE_PROBLEM))
        search->rule->first_on = device;
    return search->rule->first_on == device;
}

/* Of a rule, like others that were made of its configurations; NULL: that is not all that it takes,
 * or none was made of one that it could be like. */
static struct hone_kernel *make_like_others(struct search *search)
{
    const struct hone_options *options = search->asked.options;
    struct hn_lib_rule *rule = search->rule;
    if (rule == NULL || rule->known.hashes == NULL || rule->program == NULL || rule->plan == NULL ||
        !is_rule_first(search) || options->separate != 0 || options->graph != 0 ||
        search->asked.cache->capture_folder != NULL ||
        (search->asked.cache->freeze_after > 0 && rule->plan->plan->freeze_if != NULL))
        return NULL;
    double order[HN_RULE_CONFIGURATIONS_MOST];
    const struct hn_rule_node *leaf =
        hn_rule_program_find(rule->program, search->asked.problem, order);
    if (leaf == NULL || hn_known_problems_may_have(&rule->known, search->asked.problem))
        return NULL;
    const struct hn_rule *stored = rule->stored->rule;
    struct hone_kernel *made = NULL;
    for (size_t i = 0; made == NULL && i < stored->configuration_count; i++) {
        struct hn_lib_choice choice = choice_of_rule(search, hn_rule_take(stored, order));
        choice.sure = search->is_own_rule && leaf->sure && (i == 0 || stored->cost != NULL);
        if ((!choice.sure && options->on_miss != HONE_MISS_NEAREST) ||
            !hn_lib_make_like(&choice, &made))
            return NULL;
    }
    return made;
}

/* Where the program asks for that, what a rule chose is raced with its frozen program later. */
static void freeze_later(const struct search *search, struct hone_kernel *handle,
                         const struct hn_lib_choice *choice)
{
    const struct hone_options *options = search->asked.options;
    struct hn_image none = HN_NO_IMAGE;
    if (search->asked.cache->freeze_after <= 0 || options->forbid_compile != 0 ||
        handle->shared == NULL || handle->is_watched || handle->as_graph)
        return;
    struct hn_lib_freeze *freeze = hn_lib_freeze_make(handle, options);
    if (freeze != NULL)
        handle->race = hn_lib_race_make(handle, choice, freeze, &none);
    handle->is_watched = handle->race != NULL;
}

/* A constant of another kind makes another program than the one that was tuned: 100.0 / 3 is not
 * 100 / 3. */
static void check_constants(const struct search *search, const struct hn_lib_choice *choice,
                            struct hn_error *err)
{
    const struct hn_bindings *tuned = choice->tuned == NULL || choice->rule != NULL
                                          ? names_of(search)
                                          : &choice->tuned->identity.problem;
    for (size_t i = 0; i < tuned->count && !hn_failed(err); i++) {
        const char *name = tuned->names[i];
        const struct hn_value *own = hn_bindings_get(search->asked.problem, name);
        bool wants_real = tuned->values[i].type == HN_REAL;
        if (own != NULL && (own->type == HN_REAL) != wants_real &&
            hn_plan_is_frozen(choice->plan->plan, choice->point, name, own))
            hn_lib_fail(err, HONE_INVALID,
                        "problem value '%.100s' of %s is a constant of its program, as %s: found "
                        "%s",
                        name, search->asked.kernel, wants_real ? "a decimal number" : "an integer",
                        wants_real ? "an integer" : "a decimal number");
    }
}

/* Of the point that serves best, which is loaded. Where the choice is not sure, others are raced
 * with it; without memory for that there is no race. */
static struct hone_kernel *make_chosen(struct search *search, struct hn_error *err)
{
    struct hn_lib_choice choice = {.plan = NULL};
    struct hn_tuned_list list HN_ENDED_BY(hn_tuned_list_free) = {.items = NULL};
    struct hone_kernel *handle = NULL;
    struct hn_lib_race *race = NULL;
    struct hn_image image HN_ENDED_BY(hn_image_finish) = HN_NO_IMAGE;
    choose_fast(search, &list, &choice, err);
    if (!hn_failed(err))
        check_constants(search, &choice, err);
    if (!hn_failed(err))
        handle = hn_lib_load(&choice, &image, err);
    if (handle != NULL && search->asked.options->on_miss == HONE_MISS_RACE && !choice.sure &&
        choice.grade != HN_GRADE_EXACT && !handle->is_watched)
        race = hn_lib_race_make(handle, &choice, NULL, &image);
    if (race != NULL && add_racers(search, race, &choice)) {
        handle->race = race;
        handle->is_watched = true;
    } else {
        hn_lib_race_destroy(race);
        if (handle != NULL)
            freeze_later(search, handle, &choice);
    }
    return handle;
}

struct hone_kernel *hn_lib_choose(const struct hn_lib_question *asked, struct hn_error *err)
{
    struct search search = {.asked = *asked};
    struct hone_kernel *handle = NULL;
    search.asked.device = find_device(asked->cache, asked->context, err);
    const struct hn_lib_known *known = hn_lib_known_rules(asked->cache, asked->kernel, err);
    if (known != NULL) {
        search.asked.kernel = known->kernel; /* as long as the cache */
        search.rule = find_rule(known, search.asked.device, asked->options, &search.is_own_rule);
    }
    if (search.rule != NULL && search.rule->names_limits)
        complete(&search, &search.rule->names, err);
    if (!hn_failed(err))
        handle = make_like_others(&search);
    if (!hn_failed(err) && handle == NULL)
        handle = make_chosen(&search, err);
    forget_launch(&search);
    hn_bindings_finish(&search.whole);
    return handle;
}
