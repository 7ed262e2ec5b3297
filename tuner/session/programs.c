/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/run.h"
#include "runtime/bench/measure.h"
#include "runtime/process/process.h"
#include "tuner/config/yaml.h"
#include "tuner/session/session_internal.h"
#include "tuner/workers/turn.h"
#include "tuner/workers/workers.h"

/* Programs as what is measured. Points are built side by side, each in an empty folder of its own;
 * commands run one after another, under the GPU's lock, while builds go on. */

/* A race, or the measuring of one point, ends when decided or out of time, within these limits. */
enum { RUNS_LEAST = 2, RUNS_MOST = 3, ROUNDS_LEAST = 6, ROUNDS_MOST = 25 };
static const double measure_ms = 10e3;
static const double race_share = 0.1; /* of the time until then */
/* Who takes so much longer than the best, in the first run or in each of two, is slower. */
static const double slower_by[] = {1.3, 1.1};

enum {
    PRINTED_MOST = 16 << 20,
    STEP_MS = 5,
    GRACE_MS = 3000,
    UNITS = 15,
    GROUPS = 10,
    ROOM = 1 << 16
};

static const char *const units[] = {"us",      "ns",     "ms",      "s",     "\u00b5s",
                                    "\u03bcs", "micros", "millis",  "nanos", "min",
                                    "mins",    "minute", "minutes", "hour",  "hours"};
static const double units_us[] = {1,    1e-3, 1e3, 1e6, 1,   1,     1,    1e3,
                                  1e-3, 6e7,  6e7, 6e7, 6e7, 3.6e9, 3.6e9};

/* What a point is built on, and run where there are no workloads: no values beside its own. */
static const struct hn_yaml nothing = {.key = NULL};

/* A command under way in a folder, and what came of it: why it failed, "" where it did not. */
struct command {
    struct hn_process process;
    double since_ms, ended_ms, limit_s;
    char log[600];
    char *printed;
    bool late;
    char why[600];
};

/* A point that is built, and its folder until it is measured. */
struct build {
    struct build *next;
    uint64_t ticket;
    struct hn_bindings point;
    struct hn_bindings told; /* the names that commands know, with their values */
    struct hn_scratch folder;
    char workload[80]; /* that it runs on now, for messages; "": there are none */
    struct command command;
    enum { WAITING, UNDER_WAY, DONE, TAKEN } state;
};

struct programs {
    struct hn_backend base;
    const struct hn_yaml *run;       /* of the config */
    const struct hn_yaml *workloads; /* of it the first, or nothing */
    size_t workload_count;
    struct hn_workers_options options;
    regex_t regex;
    int lock; /* of the GPU */
    double started_ms;
    struct build *builds;   /* in the order asked for */
    struct build *measured; /* what is to be measured next; NULL: nothing is */
    struct hn_bench_request request;
    struct hn_meter building, measuring, working;
};

/* A word with values in the place of each ${NAME} that is told. */
static char *expand(const char *word, const struct hn_bindings *told)
{
    struct hn_text text = {0};
    for (const char *hole; (hole = strstr(word, "${")) != NULL;) {
        char *name HN_FREED = hn_needed(strndup(hole + 2, hn_word_length(hole + 2)));
        const char *behind = hole + 2 + strlen(name);
        const struct hn_value *value = *behind == '}' ? hn_bindings_get(told, name) : NULL;
        hn_text_append_bytes(&text, word, (size_t)((value != NULL ? hole : behind) - word));
        if (value != NULL)
            hn_value_append(&text, value);
        word = behind + (value != NULL);
    }
    hn_text_append(&text, word);
    return hn_needed(hn_text_take(&text));
}

/* `timeout` ends the whole group of the command, at the limit and when this process is gone. */
static void start_command(const struct programs *programs, const struct build *build,
                          const char *which, double limit_s, struct command *command)
{
    struct hn_blocks memory HN_ENDED_BY(hn_blocks_finish) = {0};
    const struct hn_yaml *line = hn_yaml_get(programs->run, which);
    const struct hn_bindings *told = &build->told;
    /* In files, what it prints among them, a program writes 1 GiB at most. */
    static const char *const guards[] = {
        "setpriv", "--pdeathsig=TERM", "prlimit", "--fsize=1073741824", "timeout", "-k1"};
    const char **words =
        hn_need_block(&memory, told->count + (line != NULL ? line->count : 0) + 12, sizeof *words);
    size_t count = 0;
    words[count++] = "env";
    words[count++] = hn_need_format(&memory, "-C%s", build->folder.path);
    words[count++] = hn_need_format(&memory, "CUDA_VISIBLE_DEVICES=%s", programs->base.device.uuid);
    for (size_t i = 0; i < told->count; i++) {
        const char *name = told->names[i];
        const char *setting = hn_need_format(&memory, "HONE_%s=${%s}", name, name);
        words[count++] = hn_need_kept(&memory, expand(setting, told));
    }
    memcpy(words + count, guards, sizeof guards);
    count += sizeof guards / sizeof *guards;
    words[count++] = hn_need_format(&memory, "%g", limit_s);
    words[count] = "true";
    for (const struct hn_yaml *word = line != NULL ? line->child : NULL; word != NULL;
         word = word->next)
        words[count++] = hn_need_kept(&memory, expand(word->text, told));

    *command = (struct command){.since_ms = hn_now_ms(), .limit_s = limit_s};
    hn_process_init(&command->process);
    snprintf(command->log, sizeof command->log, "%s/hone.log", build->folder.path);
    int log = open(command->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    hn_process_spawn(&command->process.pid, "env", (char *const *)words, (int[]){-1, log, log}, 3,
                     true);
    hn_close(&log);
}

/* Whether it has ended, by itself or at once (or has stopped `timeout`, too): nothing of its group
 * is left then. Of what it printed the first line with an error says most, else the last. */
static bool end_command(struct command *command, bool at_once)
{
    struct hn_error ignored;
    siginfo_t info = {.si_pid = 0};
    pid_t pid = command->process.pid;
    at_once = at_once || hn_now_ms() - command->since_ms > 1e3 * command->limit_s + GRACE_MS;
    if (pid > 0 && !at_once && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == 0)
        return false;
    int status = hn_process_kill(&command->process);
    command->ended_ms = hn_now_ms();
    command->late = command->ended_ms - command->since_ms >= 1e3 * command->limit_s;
    size_t length;
    if (hn_file_read(command->log, PRINTED_MOST, &command->printed, &length, &ignored) != HN_OK)
        command->printed = hn_need_copy(ignored.message);
    const char *shown = command->printed, *error = hn_find_letters(shown, "error:");
    error = error != NULL ? error : hn_find_letters(shown, "error");
    while (error != NULL && error > shown && error[-1] != '\n')
        error--;
    length = error != NULL ? strcspn(error, "\n") : strlen(shown);
    /* "CMake Error at CMakeLists.txt:4 (project):" has the reason behind it. */
    if (status != 0 && error != NULL && error[length - 1] == ':' && error[length] == '\n') {
        command->printed[error + length - shown] = ' ';
        length = strcspn(error, "\n");
    }
    hn_process_note_output(&command->process, error != NULL ? error : shown, length);
    if (pid <= 0)
        snprintf(command->why, sizeof command->why, "it cannot be started");
    else if (status != 0 && command->late)
        snprintf(command->why, sizeof command->why, "did not end within %g s", command->limit_s);
    else if (status != 0)
        snprintf(command->why, sizeof command->why, "%s",
                 hn_process_describe_end(&command->process, status));
    return true;
}

/* One pass over all builds, without waiting. */
static void move_builds(struct programs *programs)
{
    for (struct build *build = programs->builds; build != NULL; build = build->next) {
        if (build->state == UNDER_WAY && end_command(&build->command, false)) {
            hn_meter_end(&programs->building, hn_now_ms());
            build->state = DONE;
        }
        if (build->state != WAITING || programs->building.active >= programs->options.jobs)
            continue;
        hn_meter_begin(&programs->building, hn_now_ms());
        start_command(programs, build, "build", programs->options.compile_timeout_s,
                      &build->command);
        build->state = UNDER_WAY;
    }
}

static void drop_build(struct programs *programs, struct build *build)
{
    struct build **at = &programs->builds;
    while (*at != build)
        at = &(*at)->next;
    *at = build->next;
    if (build->state == UNDER_WAY) {
        end_command(&build->command, true);
        hn_meter_end(&programs->building, hn_now_ms());
    }
    free(build->command.printed);
    hn_scratch_remove(&build->folder);
    hn_bindings_finish(&build->point);
    hn_bindings_finish(&build->told);
    free(build);
}

/* A signal came, or the time is up. */
static bool is_over(const struct programs *programs)
{
    return hn_interrupted() != 0 ||
           (programs->base.end_ms > 0 && hn_now_ms() >= programs->base.end_ms);
}

/* On a full disk no point is to blame for a command that fails. */
static void expect_room(const struct build *build, struct hn_error *err)
{
    int file = open(build->folder.path, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    int reason = file < 0 ? errno : posix_fallocate(file, 0, ROOM);
    hn_close(&file);
    if (!hn_failed(err) && (reason == ENOSPC || reason == EDQUOT))
        hn_fail(err, HN_ERUN,
                "a command failed in %s, where there is no room: set TMPDIR to a folder with room",
                build->folder.path);
}

static void wait_a_moment(struct programs *programs)
{
    nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
    move_builds(programs);
}

static void set(struct hn_bindings *told, const char *name, const char *text)
{
    const struct hn_value value = hn_word(text);
    hn_bindings_set(told, name, &value, NULL);
}

/* The names that commands know: those of the point, and of what it runs on. */
static void tell(const struct programs *programs, struct build *build,
                 const struct hn_yaml *workload)
{
    const struct hn_task *task = programs->base.task;
    hn_bindings_finish(&build->told);
    build->told = hn_need_bindings(task->problem, &build->point);
    set(&build->told, "BUILD_DIR", build->folder.path);
    set(&build->told, "CONFIG_DIR", task->config->folder);
    set(&build->told, "SOURCE", task->plan->template_path);
    build->workload[0] = '\0';
    if (workload->key != NULL) {
        set(&build->told, "WORKLOAD", workload->key->text);
        snprintf(build->workload, sizeof build->workload, "workload %s: ", workload->key->text);
    }
    for (const struct hn_yaml *at = workload->child; at != NULL; at = at->next)
        set(&build->told, at->key->text, at->text);
}

/* Runs it to its end, while builds go on. False: the record has failed, or it is over. */
static bool run_command(struct programs *programs, const struct build *build, const char *which,
                        enum hn_outcome failure, struct command *command, struct hn_record *record)
{
    while (!hn_turn_take(programs->lock, false) && !is_over(programs))
        wait_a_moment(programs);
    hn_meter_begin(&programs->measuring, hn_now_ms());
    start_command(programs, build, which, programs->options.run_timeout_s, command);
    while (!end_command(command, is_over(programs)))
        wait_a_moment(programs);
    hn_meter_end(&programs->measuring, hn_now_ms());
    hn_turn_end(programs->lock);
    if (command->why[0] != '\0' && !is_over(programs))
        hn_record_fail(record, command->late ? HN_OUTCOME_RUN_TIMEOUT : failure, "%s%s%s",
                       build->workload, strcmp(which, "check") == 0 ? "the check: " : "",
                       command->why);
    return command->why[0] == '\0';
}

/* In microseconds, by the unit that follows (950 us, 1.2 msec, 3 Seconds), or else by the config's.
 * No "," and more digits may follow, by which 1,234 means one or the other number; nor may those of
 * 1:23, 1m23 and 1h 2m, and within the length those of 1 000 us and 1 s 500 ms. Before another
 * number "min" is a word for the least. */
static double time_of(const char *text, size_t length, double unit_us)
{
    char *end;
    double number = hn_c_strtod(text, &end);
    bool goes_on = (size_t)(end - text) < length && *end != '\0' && strchr(",.':_hms", *end);
    size_t blanks = goes_on && strchr("hm", *end) ? strspn(end + 1, " ") : 0;
    if (end == text || (goes_on && hn_is_digit(end[1 + blanks])))
        return NAN;
    end += strspn(end, " \t[(");
    bool least = strncmp(end, "min", 3) == 0 && hn_is_digit(end[3 + strspn(end + 3, " \t:=")]);
    for (size_t i = 0; i < UNITS && !least; i++) {
        if (!hn_same_letters(end, units[i], strlen(units[i])))
            continue;
        const char *rest = end + strlen(units[i]);
        size_t left = hn_word_length(rest);
        if (hn_same_letters(rest, "econds", left) || hn_same_letters(rest, "ecs", left))
            unit_us = units_us[i];
    }
    end += least || hn_is_digit(*end) ? 0 : hn_word_length(end);
    end += strspn(end, " ");
    return (size_t)(end - text) < length && hn_is_digit(*end) ? NAN : number * unit_us;
}

/* The unit in front of a number: time_ms, "Time (ms): ". "min" is the least there. */
static double unit_before(const char *text, const char *end)
{
    char one[16];
    while (end > text && strchr(" \t:=])", end[-1]) != NULL)
        end--;
    const char *word = end;
    while (word > text && hn_is_word_char(word[-1]) && word[-1] != '_')
        word--;
    snprintf(one, sizeof one, "1 %.*s", end - word < 13 ? (int)(end - word) : 0, word);
    bool is_unit = word > text && strchr("_[(", word[-1]) != NULL && strncmp(word, "min", 3) != 0;
    return is_unit ? time_of(one, strlen(one), 1) : 1;
}

/* The place of an object by a member, "name=value", or by its number. */
static size_t find_item(const json_t *array, const char *key)
{
    size_t i = 0, length = strcspn(key, "=");
    if (key[length] == '\0')
        return hn_is_digit(*key) ? strtoul(key, NULL, 10) : SIZE_MAX;
    for (; i < json_array_size(array); i++) {
        json_t *member = json_object_getn(json_array_get(array, i), key, length);
        if (json_is_string(member) && strcmp(json_string_value(member), key + length + 1) == 0)
            break;
    }
    return i;
}

/* In the first JSON that begins a line and has it; a number, also one in quotes, with a time_unit
 * beside it as Google Benchmark prints. Python prints what JSON has not, for instance for the
 * deviation of one time: that becomes 0, which is no time. */
static double find_in_json(const char *place, char *text, double unit_us)
{
    static const char *const foreign[] = {"NaN", "Infinity"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        for (char *at = text; (at = strstr(at, foreign[i])) != NULL; *at = '0')
            memset(at, ' ', strlen(foreign[i]));
    const char *line, *next = text;
    size_t length;
    double time_us = NAN;
    char said[64];
    while (isnan(time_us) && hn_text_line(&next, &line, &length)) {
        json_auto_t *whole =
            strchr("{[", *line) != NULL ? json_loads(line, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
        const json_t *at = whole, *holder = NULL;
        char *rest = NULL, *keys HN_FREED = hn_need_copy(place);
        for (char *key = strtok_r(keys, ".", &rest); key != NULL;
             key = strtok_r(NULL, ".", &rest)) {
            holder = at;
            at = json_is_array(at) ? json_array_get(at, find_item(at, key))
                                   : json_object_get(at, key);
        }
        const char *unit = json_string_value(json_object_get(holder, "time_unit"));
        snprintf(said, sizeof said, "%.17g %s", json_number_value(at), unit != NULL ? unit : "");
        if (json_is_string(at) || json_is_number(at))
            time_us = time_of(json_is_string(at) ? json_string_value(at) : said, SIZE_MAX, unit_us);
    }
    return time_us;
}

/* In the first group with a digit, since others tell words apart. A "," that the expression has
 * behind it ends a column. */
static double find_by_regex(const regex_t *regex, const char *printed, double unit_us)
{
    regmatch_t groups[GROUPS];
    bool matches = regexec(regex, printed, GROUPS, groups, 0) == 0;
    for (const regmatch_t *group = groups + 1; matches && group < groups + GROUPS; group++) {
        size_t length = (size_t)(group->rm_eo - group->rm_so);
        if (length > 0 && strcspn(printed + group->rm_so, "0123456789") < length)
            return time_of(printed + group->rm_so, length + (group->rm_eo == groups->rm_eo),
                           unit_us > 0 ? unit_us : unit_before(printed, printed + group->rm_so));
    }
    return NAN;
}

/* The time that a run says, in microseconds; 0: the record has failed, or it is over. */
static double run_once(struct programs *programs, const struct build *build,
                       struct hn_record *record)
{
    const struct hn_yaml *time = hn_yaml_get(programs->run, "time");
    const struct hn_yaml *json = hn_yaml_get(time, "json"), *unit = hn_yaml_get(time, "unit");
    const struct hn_yaml *by = json != NULL ? json : hn_yaml_get(time, "regex");
    double unit_us = unit != NULL   ? units_us[hn_text_place(unit->text, units, UNITS)]
                     : json != NULL ? unit_before(json->text, strchr(json->text, '\0'))
                                    : 0;
    struct command command;
    char said[64] = "no time";
    double time_us = 0;
    if (run_command(programs, build, "command", HN_OUTCOME_WORKER_CRASH, &command, record)) {
        time_us = json != NULL ? find_in_json(json->text, command.printed, unit_us)
                               : find_by_regex(&programs->regex, command.printed, unit_us);
        if (!isnan(time_us))
            snprintf(said, sizeof said, "%g us, which is none of a run,", time_us);
        if (!(time_us >= 1e-3 && time_us <= 1e13))
            hn_record_fail(record, HN_OUTCOME_WORKER_CRASH, "%sit says %s by %s '%s'%s",
                           build->workload, said, by->key->text, by->text,
                           hn_process_describe_output(&command.process));
    }
    free(command.printed);
    return record->outcome == HN_OUTCOME_OK ? time_us : 0;
}

/* The time of a round: of workloads the geometric mean by weights, since its ratio to another
 * point's is the mean of their ratios. Their own times are kept, `apart` from one another. 0: the
 * record has failed, or it is over. */
static double run_round(struct programs *programs, struct build *build, double *times_us,
                        size_t apart, struct hn_record *record)
{
    double logarithms = 0, weights = 0, time_us = 0;
    for (const struct hn_yaml *at = programs->workloads; at != NULL; at = at->next) {
        const struct hn_yaml *given = hn_yaml_get(at, "weight");
        double weight = given != NULL ? hn_c_strtod(given->text, NULL) : 1;
        tell(programs, build, at);
        *times_us = time_us = run_once(programs, build, record);
        if (time_us == 0)
            return 0;
        logarithms += weight * log(time_us);
        weights += weight;
        times_us += apart;
    }
    return programs->workload_count > 1 ? exp(logarithms / weights) : time_us;
}

/* The median of each workload's times in the rounds that were run. */
static void note_workloads(const struct programs *programs, double *times_us, size_t apart,
                           struct hn_record *record)
{
    char name[80];
    size_t rounds = record->timing.sample_count;
    const struct hn_yaml *at = rounds > 0 ? programs->workloads : NULL;
    for (; at != NULL && at->key != NULL; at = at->next, times_us += apart) {
        struct hn_value median = hn_real(hn_interval_of(times_us, rounds, HN_OUTSIDE_USUAL).median);
        snprintf(name, sizeof name, "workloads.%.60s", at->key->text);
        hn_bindings_set(&record->observed, name, &median, NULL);
    }
}

static void check(struct programs *programs, struct build *build, struct hn_record *record)
{
    struct command command;
    const struct hn_yaml *at =
        hn_yaml_get(programs->run, "check") != NULL ? programs->workloads : NULL;
    for (; at != NULL && record->outcome == HN_OUTCOME_OK; at = at->next) {
        tell(programs, build, at);
        run_command(programs, build, "check", HN_OUTCOME_WRONG_RESULT, &command, record);
        free(command.printed);
        record->verdict = (struct hn_verdict){.kind = HN_VERIFIED, .seeds = 1, .launches = 1};
    }
}

/* The first in that state, of a point (NULL: of any); NULL: there is none. */
static struct build *find_build(const struct programs *programs, int state,
                                const struct hn_bindings *point)
{
    struct build *build = programs->builds;
    while (build != NULL && ((int)build->state != state ||
                             (point != NULL && !hn_bindings_equal(&build->point, point))))
        build = build->next;
    return build;
}

/* How long candidates are run in turn. */
struct rules {
    size_t least, most; /* rounds */
    double end_ms;
    double best_us; /* who is slower than that is stopped early; 0: nobody is */
};

static bool is_decided(const struct hn_run *run, const struct rules *rules, size_t rounds)
{
    const double *times[HN_FINALIST_LIMIT];
    size_t running = 0;
    for (size_t i = 0; i < run->racer_count; i++)
        if (run->racers[i].record.outcome == HN_OUTCOME_OK)
            times[running++] = run->racers[i].record.timing.samples_us;
    return running == 0 || rounds == rules->most ||
           (rounds >= rules->least &&
            (hn_now_ms() > rules->end_ms || hn_race_is_decided(times, running, rounds, 0)));
}

/* Round by round, each begun by another; whoever came to the end is checked. */
static void race(struct programs *programs, struct hn_run *run, const struct rules *rules,
                 struct hn_error *err)
{
    struct build *builds[HN_FINALIST_LIMIT];
    size_t done = 0, each = programs->workload_count * rules->most;
    for (size_t i = 0; i < run->racer_count; i++) {
        builds[i] = find_build(programs, TAKEN, run->racers[i].point);
        run->racers[i].record.timing.samples_us = hn_need(rules->most, sizeof(double));
        /* The time ended before it was built again. */
        if (builds[i] == NULL)
            return;
    }
    double *times_us HN_FREED = hn_need(run->racer_count * each, sizeof *times_us);
    while (!is_over(programs) && !is_decided(run, rules, done)) {
        for (size_t n = 0; n < run->racer_count && !is_over(programs); n++) {
            size_t i = (n + done) % run->racer_count;
            struct hn_record *record = &run->racers[i].record;
            double *samples_us = record->timing.samples_us;
            if (record->outcome == HN_OUTCOME_OK)
                samples_us[done] =
                    run_round(programs, builds[i], times_us + i * each + done, rules->most, record);
            if (record->outcome == HN_OUTCOME_OK && rules->best_us > 0 && done < 2 &&
                fmin(samples_us[0], samples_us[done]) > slower_by[done] * rules->best_us)
                hn_record_fail(record, HN_OUTCOME_SLOWER, "stopped early: it cannot win");
        }
        done += !is_over(programs);
    }
    for (size_t i = 0; i < run->racer_count; i++) {
        struct hn_record *record = &run->racers[i].record;
        if (!is_over(programs))
            check(programs, builds[i], record);
        if (record->outcome == HN_OUTCOME_OK || record->outcome == HN_OUTCOME_SLOWER)
            record->timing.sample_count = done;
        else
            expect_room(builds[i], err);
        note_workloads(programs, times_us + i * each, rules->most, record);
    }
}

/* What is cut short is no result. */
static void measure(struct programs *programs, struct hn_backend_event *event, struct hn_error *err)
{
    struct build *build = programs->measured;
    double sorted[RUNS_MOST], start_ms = hn_now_ms();
    const struct rules rules = {RUNS_LEAST, RUNS_MOST, start_ms + measure_ms,
                                programs->request.full ? 0 : programs->request.censor_us};
    struct hn_racer racer = {.point = &build->point,
                             .record = {.point = hn_need_bindings(&build->point, NULL)}};
    struct hn_run run = {.racers = &racer, .racer_count = 1};
    struct hn_timing *timing = &racer.record.timing;
    race(programs, &run, &rules, err);
    racer.record.costs.measure_ms = hn_now_ms() - start_ms;
    if (timing->sample_count > 0) {
        memcpy(sorted, timing->samples_us, timing->sample_count * sizeof *sorted);
        struct hn_interval interval =
            hn_interval_of(sorted, timing->sample_count, HN_OUTSIDE_USUAL);
        bool slower = racer.record.outcome == HN_OUTCOME_SLOWER;
        timing->batch = 1;
        timing->median_us = slower ? interval.low : interval.median;
        timing->low_us = interval.low;
        timing->high_us = interval.high;
    }
    *event = (struct hn_backend_event){HN_EVENT_EVALUATED, build->ticket, .record = racer.record};
    if (is_over(programs) || hn_failed(err))
        hn_backend_event_finish(event);
    programs->measured = NULL;
    drop_build(programs, build);
}

/* A build, with what its commands are told; or what is measured when next asks. */
static void start(struct hn_backend *backend, const struct hn_start *start, struct hn_error *err)
{
    struct programs *programs = (struct programs *)backend;
    struct build **last = &programs->builds;
    struct hn_scratch folder;
    if (!hn_failed(err) && start->request != NULL) {
        programs->measured = find_build(programs, TAKEN, start->point);
        programs->request = *start->request;
    }
    if (hn_failed(err) || start->request != NULL || hn_scratch_make(&folder, err) != HN_OK)
        return;
    while (*last != NULL)
        last = &(*last)->next;
    struct build *build = *last = hn_need(1, sizeof *build);
    *build = (struct build){
        .ticket = start->ticket, .point = hn_need_bindings(start->point, NULL), .folder = folder};
    tell(programs, build, &nothing);
}

static void take_built(struct programs *programs, struct build *build,
                       struct hn_backend_event *event)
{
    const struct command *command = &build->command;
    *event = (struct hn_backend_event){HN_EVENT_COMPILED, build->ticket, .image = {0}};
    event->image = HN_NO_IMAGE;
    event->image.compile_ms = command->ended_ms - command->since_ms;
    event->image.message = hn_need_copy(command->why[0] == '\0' ? "it is a program" : command->why);
    event->image.outcome = command->why[0] == '\0' ? HN_OUTCOME_OK
                           : command->late         ? HN_OUTCOME_COMPILE_TIMEOUT
                                                   : HN_OUTCOME_COMPILE_ERROR;
    build->state = TAKEN;
    if (event->image.outcome != HN_OUTCOME_OK)
        drop_build(programs, build);
}

static void next(struct hn_backend *backend, int timeout_ms, struct hn_backend_event *event,
                 struct hn_error *err)
{
    struct programs *programs = (struct programs *)backend;
    struct build *built;
    double end_ms = hn_now_ms() + timeout_ms;
    *event = (struct hn_backend_event){.kind = HN_EVENT_NONE};
    while ((built = find_build(programs, DONE, NULL)) == NULL && programs->measured == NULL &&
           !hn_failed(err) && hn_now_ms() < end_ms && hn_interrupted() == 0)
        wait_a_moment(programs);
    if (built != NULL)
        hn_template_check(&backend->task->template, backend->task->plan, err);
    if (built != NULL && built->command.why[0] != '\0')
        expect_room(built, err);
    if (!hn_failed(err) && built != NULL)
        take_built(programs, built, event);
    else if (!hn_failed(err) && programs->measured != NULL)
        measure(programs, event, err);
}

/* There is nothing to be prepared, and each run is a process of its own. */
static void run(struct hn_backend *backend, struct hn_run *run, struct hn_error *err)
{
    struct programs *programs = (struct programs *)backend;
    double now = hn_now_ms();
    const struct rules rules = {ROUNDS_LEAST, ROUNDS_MOST,
                                now + race_share * (now - programs->started_ms), 0};
    if (!hn_failed(err) && run->kind == HN_RUN_RACE)
        race(programs, run, &rules, err);
}

static void stop(struct hn_backend *backend)
{
    struct programs *programs = (struct programs *)backend;
    for (struct build *build = programs->builds, *after; build != NULL; build = after) {
        after = build->next;
        if (build->state <= DONE)
            drop_build(programs, build);
    }
}

static void look(const struct hn_backend *backend, uint64_t ticket, struct hn_backend_state *state)
{
    const struct programs *programs = (const struct programs *)backend;
    bool idle = programs->measured == NULL;
    *state = (struct hn_backend_state){
        .room = 2 * (size_t)programs->options.jobs, .idle = idle, .quiet = idle};
    for (const struct build *build = programs->builds; build != NULL; build = build->next) {
        state->room -= state->room > 0 && build->state <= UNDER_WAY;
        if (build->ticket == ticket && build->state == UNDER_WAY)
            state->age_ms = hn_now_ms() - build->command.since_ms;
    }
}

static void usage(const struct hn_backend *backend, struct hn_usage *usage)
{
    const struct programs *programs = (const struct programs *)backend;
    double now = hn_now_ms();
    *usage = (struct hn_usage){
        .compile_wall_s = hn_meter_total_ms(&programs->building, now) / 1e3,
        .gpu_busy_s = hn_meter_total_ms(&programs->measuring, now) / 1e3,
        .working_s = hn_meter_total_ms(&programs->working, now) / 1e3,
        .under_way = programs->building.active,
        .cores_busy = programs->building.active >= programs->options.jobs,
    };
}

static void close_programs(struct hn_backend *backend)
{
    struct programs *programs = (struct programs *)backend;
    while (programs->builds != NULL)
        drop_build(programs, programs->builds);
    regfree(&programs->regex);
    hn_close(&programs->lock);
    free(programs);
}

static const struct hn_backend_kind programs_kind = {
    .close = close_programs,
    .start = start,
    .next = next,
    .run = run,
    .stop = stop,
    .look = look,
    .usage = usage,
};

struct hn_backend *hn_backend_programs(struct hn_task *task, const struct hn_device *device,
                                       const struct hn_workers_options *options,
                                       struct hn_error *err)
{
    const struct hn_yaml *run = task->config->run;
    const struct hn_yaml *regex = hn_yaml_get(hn_yaml_get(run, "time"), "regex");
    const struct hn_yaml *workloads = hn_yaml_get(run, "workloads");
    struct programs *programs = hn_need(1, sizeof *programs);
    char reason[200];
    *programs = (struct programs){
        .base = {.kind = &programs_kind, .task = task, .device = *device, .unshared = true},
        .run = run,
        .workloads = workloads != NULL ? workloads->child : &nothing,
        .workload_count = workloads != NULL ? workloads->count : 1,
        .options = *options,
        .lock = hn_turn_open(device->uuid, NULL),
        .started_ms = hn_now_ms(),
        .building = {.whole = &programs->working},
        .measuring = {.whole = &programs->working}};
    int wrong =
        regcomp(&programs->regex, regex != NULL ? regex->text : "", REG_EXTENDED | REG_NEWLINE);
    hn_task_set_device(task, &device->identity, device->driver, "");
    if (wrong != 0) {
        regerror(wrong, &programs->regex, reason, sizeof reason);
        close_programs(&programs->base);
        hn_fail(err, HN_ECONFIG, "%s: run: regex '%s': %s", task->config->path, regex->text,
                reason);
        return NULL;
    }
    return &programs->base;
}
