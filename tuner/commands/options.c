/* SPDX-License-Identifier: MIT */
#include "tuner/commands/command.h"

#include <argp.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cache/record/gate.h"

/* The value of an option: its form, its limits, and how they are told. */
struct kind {
    enum {
        FLAG,     /* bool */
        TEXT,     /* const char * */
        WORD,     /* the same, an identifier of C */
        TEXTS,    /* struct hn_texts: it may be repeated */
        BINDINGS, /* struct hn_bindings, too */
        WHOLE,    /* uint64_t */
        POINTS,   /* the same, or all: UINT64_MAX */
        REAL,     /* double */
        PERCENT,  /* double: a hundredth; a % may stand behind it */
        SECONDS,  /* double: s, m or h may stand behind it */
        BUDGET,   /* budget_s or budget_count */
        CHOICE,   /* int: which of the choices */
    } form;
    double least, most;
    const char *expected;
    const char *const *choices;
    double otherwise; /* the value where none is given with the option; 0: it has to be */
};

static const char *const regimes[] = {"cold", "warm", "stream", "graph", "graph10", NULL};
static const char *const formats[] = {"header",       "json",  "source", "cubin",
                                      "cubin-header", "patch", NULL};
static const char *const recording_formats[] = {"recording", "t4", NULL};
static const char *const objectives[] = {"time", "energy", "energy_delay", NULL};

static const struct kind flag = {.form = FLAG};
static const struct kind text = {.form = TEXT, .expected = "a text that is not empty"};
static const struct kind texts = {.form = TEXTS};
static const struct kind bindings = {.form = BINDINGS};
static const struct kind word = {.form = WORD, .expected = "a C identifier"};
static const struct kind whole = {WHOLE, 0, 0x1p64, "a whole number from 0", NULL, 0};
static const struct kind points = {POINTS, 0, 0x1p64, "a whole number from 0 or all", NULL, 0};
static const struct kind workers = {WHOLE, 1, 4096, "a number from 1 to 4096", NULL, 0};
static const struct kind from_one = {WHOLE, 1, 0x1p40, "a whole number from 1", NULL, 0};
static const struct kind sizes = {WHOLE, 1, 1000, "a number from 1 to 1000", NULL, 0};
static const struct kind proposals = {WHOLE, 1, HN_LOOK_AHEAD_MOST, "a whole number from 1 to 4096",
                                      NULL,  0};
static const struct kind chance = {REAL, 0, 1 - DBL_EPSILON / 2, "a chance from 0 to below 1",
                                   NULL, 0};
static const struct kind window = {REAL, 0.2, 5, "seconds from 0.2 to 5", NULL, HN_ENERGY_SECONDS};
static const struct kind days = {REAL, DBL_MIN, INFINITY, "a number above 0", NULL, 0};
static const struct kind threshold = {PERCENT, 0, INFINITY, "a number of at least 0", NULL, 0};
static const struct kind slowdown = {PERCENT, 0, INFINITY, "a percentage such as 5%", NULL, 0};
static const struct kind loss = {PERCENT, DBL_MIN, 1000, "a percentage above 0, as 3%", NULL, 0};
static const struct kind seconds = {.form = SECONDS, .expected = "seconds, more than 0"};
static const struct kind budget = {
    .form = BUDGET, .expected = "a time such as 60s or 5m, or a number of evaluations such as 500"};
static const struct kind regime = {
    .form = CHOICE, .expected = HN_REGIMES_EXPECTED, .choices = regimes};
static const struct kind format = {.form = CHOICE,
                                   .expected = "header, json, source, cubin, cubin-header or patch",
                                   .choices = formats};
static const struct kind recording_format = {
    .form = CHOICE, .expected = "recording or t4", .choices = recording_formats};
static const struct kind objective = {
    .form = CHOICE, .expected = "time, energy or energy_delay", .choices = objectives};

enum group { OWN = 1, SPACE, SEARCH, DEVICE, COMPILING, CACHE, OUTPUT, GROUPS };
static const char *const headings[GROUPS] = {
    [SPACE] = "Space:",         [SEARCH] = "Search:", [DEVICE] = "Device:",
    [COMPILING] = "Compiling:", [CACHE] = "Cache:",   [OUTPUT] = "Output:"};

/* Groups of commands that take the same. */
enum {
    WITH_SPACE = HN_TUNE | HN_RUN | HN_SPACE | HN_INPUTS | HN_COMPILE | HN_EXPLAIN | HN_REPLAY,
    WITH_DEVICE = HN_TUNE | HN_RUN | HN_REPLAY,
    WITH_COMPILING = HN_TUNE | HN_COMPILE | HN_EXPORT | HN_REPLAY | HN_CACHE_COMPILE,
    WITH_WORKERS = HN_TUNE | HN_DEVICE,
    OF_CACHE = HN_CACHE_LIST | HN_CACHE_SHOW | HN_CACHE_EXPORT | HN_CACHE_IMPORT | HN_CACHE_MERGE |
               HN_CACHE_DIFF | HN_CACHE_PRUNE | HN_CACHE_CHECK | HN_CACHE_COMPILE,
    WITH_CACHE = HN_TUNE | HN_EXPLAIN | HN_EXPORT | HN_REPLAY | HN_REPORT | HN_DEVICE | OF_CACHE,
    WITH_OUTPUT = HN_TUNE | HN_RUN | HN_SPACE | HN_INPUTS | HN_COMPILE | HN_EXPLAIN | HN_REPLAY |
                  HN_DEVICE | OF_CACHE,
    WITH_FILTER = HN_CACHE_LIST | HN_CACHE_SHOW | HN_CACHE_EXPORT | HN_CACHE_DIFF,
    WITH_FILE = HN_CACHE_IMPORT | HN_CACHE_MERGE | HN_CACHE_DIFF, /* which may be a server */
};

#define AT(member) offsetof(struct hn_options, member)

/* All options. One that means different things to commands has a row for each meaning. */
static const struct row {
    const char *name;
    char letter;
    const char *value; /* NULL: it takes none */
    const struct kind *kind;
    size_t at;
    enum group group;
    unsigned of; /* commands that take it */
    const char *help;
} options_of_all[] = {
    {"problem", 'p', "NAME=VALUE", &bindings, AT(problem), SPACE, WITH_SPACE,
     "Set a problem value (several as NAME=VALUE,NAME=VALUE); may be repeated"},
    {"set", 's', "NAME=V,V,...", &texts, AT(restrictions), SPACE, WITH_SPACE,
     "Restrict a parameter to these of its values (several as NAME=V,NAME=V); may be repeated"},

    {"strategy", 0, "NAME", &text, AT(strategy), SEARCH, HN_TUNE,
     "How to search; the default is auto, with --full exhaustive"},
    {"budget", 0, "60s|500", &budget, 0, SEARCH, HN_TUNE,
     "Stop after a time (s, m, h) or a number of evaluations"},
    {"budget", 0, "60s|500", &budget, 0, SEARCH, HN_REPLAY,
     "For a family: time for all searches (s, m, h), or a number of evaluations"},
    {"stop-chance", 0, "P", &chance, AT(search.stop_chance), SEARCH, HN_TUNE,
     "Stop when the chance that a point better by 2% exists is estimated to be below P (default "
     "0.05); 0: go on to the end of the space or budget"},
    {"full", 0, NULL, &flag, AT(search.full), SEARCH, HN_TUNE,
     "Measure every variant, and each in full"},
    {"look-ahead", 0, "N", &proposals, AT(search.look_ahead), SEARCH, HN_TUNE,
     "Proposals made before the result of one is known: more keep more cores compiling (default: "
     "look_ahead of the config, else 32)"},
    {"seed", 0, "S", &whole, AT(search.seed), SEARCH, HN_TUNE,
     "Seed of the search and the inputs (default 1)"},
    {"seed", 0, "S", &whole, AT(search.seed), OWN, HN_RUN,
     "Seed of the inputs (default 1); with --json a second, drawn one, too"},
    {"seed", 0, "S", &whole, AT(search.seed), OWN, HN_SPACE, "Seed of the sample (default 1)"},
    {"seed", 0, "S", &whole, AT(search.seed), OWN, HN_INPUTS,
     "Seed of the inputs, as of `hone tune` (default 1)"},
    {"simulate", 0, "PATH", &text, AT(simulate), SEARCH, HN_TUNE,
     "Take the times from a recorded tuning (a file or a folder) instead of a GPU"},
    {"simulate", 0, "PATH", &text, AT(simulate), OWN, HN_EXPLAIN,
     "Explain a recorded tuning (a file, or a folder with one file a problem) instead of the "
     "cache"},
    {"retry-failed", 0, NULL, &flag, AT(search.retry_failed), SEARCH, HN_TUNE,
     "Try points again that failed before"},

    {"device", 0, "N|UUID", &text, AT(device), DEVICE, WITH_DEVICE,
     "Which GPU (default 0); `hone device` lists them"},
    {"regime", 0, HN_REGIMES, &regime, AT(regime), DEVICE, WITH_DEVICE,
     "L2 cache flushed between launches (cold, the default) or left as it is; or as programs "
     "launch, and what that costs is in the time: in a stream, as a graph, as graphs of ten"},
    {"regime", 0, HN_REGIMES, &regime, AT(regime), OWN, HN_EXPLAIN,
     "Only this regime (default cold)"},
    {"regime", 0, HN_REGIMES, &regime, AT(regime), OWN, HN_EXPORT,
     "Only results of this regime (default: cold where there is a choice)"},
    {"run-timeout", 0, "SECONDS", &seconds, AT(run_timeout_s), DEVICE, HN_TUNE | HN_REPLAY,
     "Limit for running one variant (default 10)"},
    {"workers", 0, "WHERE", &text, AT(workers), DEVICE, WITH_WORKERS,
     "Where to compile and to measure: 'local: gpus=all', a file that lists hosts, slurm, or "
     "hostfile:FILE"},
    {"install", 0, NULL, &flag, AT(install), DEVICE, WITH_WORKERS,
     "Take this program to the hosts of --workers first, for as long as it is needed there"},

    {"jobs", 0, "N", &workers, AT(jobs), COMPILING, WITH_COMPILING,
     "Compile workers (default: as many as the machine allows)"},
    {"compile-timeout", 0, "SECONDS", &seconds, AT(compile_timeout_s), COMPILING, WITH_COMPILING,
     "Limit for compiling one variant (default 60)"},
    {"arch", 0, "sm_90", &text, AT(architecture), COMPILING, HN_COMPILE,
     "Architecture to compile for (default: the GPU's)"},
    {"arch", 0, "sm_90", &text, AT(architecture), COMPILING, HN_CACHE_COMPILE,
     "Architecture to compile for (default: that of the GPU that a rule was learnt on)"},
    {"arch", 0, "sm_80,sm_90", &text, AT(architecture), COMPILING, HN_EXPORT,
     "With cubin-header: the architectures to have machine code for (default: those that were "
     "tuned)"},

    {"cache", 0, "PATH", &text, AT(cache), CACHE, WITH_CACHE,
     "The cache: a file, or postgresql://… (default $HONE_CACHE, else "
     "$XDG_CACHE_HOME/hone/hone.db)"},
    {"base", 0, "PATH", &text, AT(base), CACHE, WITH_CACHE,
     "Another cache that is read beside it: look-ups and searches see both"},

    {"json", 0, NULL, &flag, AT(json), OUTPUT, WITH_OUTPUT, "One JSON document on standard output"},
    {"json", 0, NULL, &flag, AT(json), OWN, HN_EXPORT, "The same as --format json"},
    {"quiet", 'q', NULL, &flag, AT(quiet), OUTPUT, WITH_OUTPUT,
     "No progress, only results and errors"},
    {"quiet", 'q', NULL, &flag, AT(quiet), OWN, HN_INIT | HN_EXPORT | HN_REPORT,
     "Do not say where it went"},
    {"events", 0, "FILE", &text, AT(events), OUTPUT, HN_TUNE,
     "Write one JSON line an event to FILE"},

    {"output", 'o', "FILE", &text, AT(output), OWN, HN_EXPORT | HN_REPORT,
     "Write to FILE instead of standard output"},
    {"output", 'o', "FILE", &text, AT(output), OWN, HN_INIT,
     "Write to FILE; `-` is standard output (default: the kernel's name with .yaml beside the "
     "source)"},
    {"output", 'o', "FILE", &text, AT(output), OWN, HN_CAPTURE,
     "Write to FILE (default launch.honecap)"},
    {"output", 'o', "DIR", &text, AT(output), OWN, HN_INPUTS,
     "The folder to write to; made where missing"},
    {"problem", 'p', "NAME=VALUE", &bindings, AT(problem), OWN, HN_EXPORT,
     "Only configurations tuned for this problem value; may be repeated"},
    {"problem", 'p', "NAME=VALUE", &bindings, AT(problem), OWN, HN_REPORT | WITH_FILTER,
     "Only tunings with this problem value; may be repeated"},
    {"device-name", 0, "NAME", &text, AT(device_name), OWN, HN_EXPLAIN,
     "Only what was measured on this device, or on one with this in its name"},
    {"device-name", 0, "NAME", &text, AT(device_name), OWN, HN_EXPORT,
     "The device whose configuration is taken, or a part of its name; else this machine's GPU, "
     "else the only one"},
    {"device-name", 0, "NAME", &text, AT(device_name), OWN, HN_REPORT | WITH_FILTER,
     "Only tunings of this device"},
    {"device-name", 0, "NAME", &text, AT(device_name), OWN, HN_CACHE_COMPILE,
     "Only rules that were learnt on this device"},
    {"device-name", 0, "NAME", &text, AT(device_name), OWN, HN_CACHE_IMPORT,
     "The device of a cache file of Kernel Tuner, where it says none or another"},

    {"allow-run", 0, NULL, &flag, AT(allow_run), OWN, HN_TUNE,
     "Run the commands of a config that measures a program (`run`)"},
    {"capture", 0, "FILE", &text, AT(capture), OWN, HN_INIT | HN_TUNE | HN_REPLAY,
     "Take data and reference from a captured launch"},
    {"reference", 0, "NAME=FILE", &texts, AT(expected), OWN, HN_TUNE,
     "The expected contents of a result, as a NumPy array, instead of the config's reference; may "
     "be repeated"},
    {"family", 0, NULL, &flag, AT(family), OWN, HN_TUNE,
     "Tune the config's family: learn which configurations serve which sizes, tuned or not"},
    {"family", 0, NULL, &flag, AT(family), OWN, HN_REPLAY,
     "Hold the rule of the config's family against searches at sizes that nobody has measured"},
    {"loss", 0, "PERCENT", &loss, AT(loss), OWN, HN_TUNE,
     "For a family: the predicted loss at which no more is measured (default: the config's, or "
     "1%)"},
    {"held-out", 0, "COUNT", &sizes, AT(held_out), OWN, HN_TUNE,
     "For a family: sizes that are tuned each on its own at the end, to measure what the rule "
     "loses"},
    {"held-out", 0, "COUNT", &sizes, AT(held_out), OWN, HN_REPLAY,
     "For a family: at so many sizes"},
    {"counters", 0, NULL, &flag, AT(search.counters), OWN, HN_TUNE,
     "Read what the GPU counts of the finalists' launches: bytes, conflicts, stalls"},
    {"counters", 0, NULL, &flag, AT(search.counters), OWN, HN_RUN,
     "Read what the GPU counts of a launch, behind all that is timed"},
    {"counters", 0, NULL, &flag, AT(search.counters), OWN, HN_EXPLAIN,
     "First read what this machine's GPU counts of the best point, where that is not known"},
    {"energy", 0, "SECONDS", &window, AT(search.energy_s), OWN, HN_TUNE,
     "Measure what the fastest consume, in two windows of so many seconds each (default 2)"},
    {"energy", 0, "SECONDS", &window, AT(search.energy_s), OWN, HN_RUN,
     "Measure what launches consume, in two windows of so many seconds each (default 2)"},
    {"observe", 0, "NAMES", &text, AT(observe), OWN, HN_RUN,
     "Also record: clocks, the SM clock and the temperature under the samples"},
    {"verify-only", 0, NULL, &flag, AT(verify_only), OWN, HN_RUN,
     "Launch once and compare; take no times"},

    {"count", 0, NULL, &flag, AT(count), OWN, HN_SPACE, "Print the number of valid points"},
    {"list", 0, "N", &points, AT(list), OWN, HN_SPACE,
     "Print the first N valid points, a line each; `all` for all"},
    {"sample", 0, "N", &whole, AT(sample), OWN, HN_SPACE,
     "Print N different valid points drawn at random"},
    {"all", 0, NULL, &flag, AT(all), OWN, HN_COMPILE,
     "Compile every valid point; else only the default point with -s applied"},
    {"strict", 0, NULL, &flag, AT(strict), OWN, HN_COMPILE,
     "Exit code 1 when a point cannot be compiled and launched"},
    {"log", 0, NULL, &flag, AT(log), OWN, HN_COMPILE,
     "Also print the whole compiler log of each point"},
    {"sources", 0, "DIR", &text, AT(sources), OWN, HN_COMPILE,
     "Compile nothing: write what NVRTC would be given for each point into DIR, a JSON file each"},
    {"max-slowdown", 0, "PERCENT", &slowdown, AT(max_slowdown), OWN, HN_REPLAY,
     "How much slower than the record is still fine (default 5%)"},
    {"all", 0, NULL, &flag, AT(all), OWN, HN_REPLAY,
     "Race the best five of every stale tuning of these configs again, and store what comes of "
     "it"},
    {"measure", 0, NULL, &flag, AT(measure), OWN, HN_DEVICE,
     "Measure what each can do at best (bandwidth of copies and of the L2 cache, FP32, launches) "
     "and keep it in the cache"},
    {"entry", 0, "NAME", &text, AT(entry), OWN, HN_INIT,
     "The kernel, where the source has several"},

    {"kernel", 0, "NAME", &text, AT(kernel), OWN, HN_CAPTURE,
     "The kernel, as its source or the driver calls it (default: any)"},
    {"launch", 0, "N", &from_one, AT(launch), OWN, HN_CAPTURE, "Its N-th launch (default 1)"},
    {"limit", 0, "MIB", &from_one, AT(limit), OWN, HN_CAPTURE,
     "The most that its buffers may have (default 1024)"},

    {"format", 0, "FORMAT", &format, AT(format), OWN, HN_EXPORT,
     "header (the default), json, source, cubin, cubin-header, or patch: a diff of the source"},
    {"defaults", 0, NULL, &flag, AT(defaults), OWN, HN_EXPORT,
     "Where nothing was tuned yet, the default point of --config, with a warning"},
    {"no-family", 0, NULL, &flag, AT(no_family), OWN, HN_EXPORT,
     "All results, without the rule that was learnt of a family of problems"},
    {"prefix", 0, "NAME", &word, AT(prefix), OWN, HN_EXPORT,
     "Start names with NAME instead of HONE_<KERNEL>"},
    {"template", 0, "FILE", &text, AT(template), OWN, HN_EXPORT,
     "Fill FILE: lines with @{NAME} stand once for each result"},
    {"objective", 0, "time|energy|energy_delay", &objective, AT(objective), OWN, HN_EXPORT,
     "Choose by this among what was measured (default time); energy is measured by `hone tune "
     "--energy`"},
    {"config", 0, "CONFIG", &texts, AT(configs), OWN, HN_EXPORT,
     "Take plan and template from CONFIG: for imported and recorded results that have none"},
    {"recorded", 0, "PATH", &texts, AT(recorded), OWN, HN_EXPORT,
     "Take the results of a recording, or of a folder of them, not of the cache; may be repeated"},
    {"history", 0, NULL, &flag, AT(history), OWN, HN_REPORT,
     "Also what former versions of the template, driver or compiler measured"},
    {"config", 0, "PATH", &texts, AT(configs), OWN, HN_REPORT,
     "A config, or a folder of them: their ladders, and the path in command lines; may be "
     "repeated"},
    {"roofs", 0, "FILE", &text, AT(roofs), OWN, HN_REPORT,
     "Roofs of devices, as `hone device --json` prints them, for those that the cache "
     "does not know; else roofs.json beside a recording or its folder"},

    {"format", 0, "FORMAT", &recording_format, AT(format), OWN, HN_CACHE_EXPORT,
     "recording (the default), or t4: results for the autotuning community's tools"},
    {"own", 0, NULL, &flag, AT(own), OWN, HN_CACHE_IMPORT,
     "The recordings are your own, of this machine: hone tune reuses them"},
    {"config", 0, "CONFIG", &texts, AT(configs), OWN, HN_CACHE_IMPORT,
     "Complete recordings that were tuned with CONFIG: they take its plan and template"},
    {"images", 0, NULL, &flag, AT(images), OWN, HN_CACHE_IMPORT | HN_CACHE_MERGE,
     "Also take over compiled kernels, of a cache or of a family's rule: only from those whom you "
     "trust"},
    {"all", 0, NULL, &flag, AT(all), OWN, HN_CACHE_DIFF, "Also show what is the same"},
    {"threshold", 0, "PERCENT", &threshold, AT(threshold), OWN, HN_CACHE_MERGE | HN_CACHE_DIFF,
     "Medians that differ by less are as fast (default 2%)"},
    {"stale", 0, NULL, &flag, AT(prune.stale), OWN, HN_CACHE_PRUNE,
     "Sessions of another version (template, driver, NVRTC, protocol) than the newest"},
    {"simulated", 0, NULL, &flag, AT(prune.simulated), OWN, HN_CACHE_PRUNE,
     "Sessions whose times came from a recording"},
    {"older-than", 0, "DAYS", &days, AT(older_than_days), OWN, HN_CACHE_PRUNE,
     "Sessions started so long ago, but not those that hold the best of a tuning"},
    {"images", 0, NULL, &flag, AT(prune.images), OWN, HN_CACHE_PRUNE,
     "All compiled kernels: a replay compiles them again"},
    {"dry-run", 0, NULL, &flag, AT(prune.dry_run), OWN, HN_CACHE_PRUNE,
     "Only say what would be removed"},
};
enum { ROWS = sizeof options_of_all / sizeof *options_of_all };
_Static_assert((int)ROWS <= (int)HN_OPTION_ROWS, "a bool for each row");

/* Options that do not go together, or with another only. */
static const struct clash {
    unsigned of;
    const char *option; /* NULL: always */
    const char *with;   /* some, with blanks between them */
    bool needed;        /* the option says nothing without the other one; else nothing beside it */
    const char *reason; /* printf, of the other one and the command's name */
} clashes[] = {
    {HN_TUNE, "counters", "family simulate", false,
     "--counters reads what a GPU counts of one problem's finalists: leave --%s out"},
    {HN_TUNE, "reference", "capture", false, "--reference: a capture has its own"},
    {HN_TUNE, "loss", "family", true, "--loss is an option of --family"},
    {HN_TUNE | HN_REPLAY, "held-out", "family", true, "--held-out is an option of --family"},
    {HN_TUNE, "energy", "family simulate", false,
     "--energy is measured of one problem's finalists on a GPU: leave --%s out"},
    {HN_TUNE, "family", "simulate capture problem reference full stop-chance retry-failed", false,
     "--family draws sizes, and shares its time between short searches on a GPU: leave --%s out"},
    {HN_TUNE, "allow-run", "workers counters energy regime capture reference", false,
     "--allow-run runs programs on this machine, and takes their time alone: leave --%s out"},
    {HN_TUNE, "workers", "device jobs", false,
     "--workers says where to measure and to compile: leave --%s out"},
    {HN_TUNE | HN_DEVICE, "install", "workers", true, "--install is an option of --workers"},
    {HN_SPACE, "count", "list sample", false, "--count, --list and --sample exclude each other"},
    {HN_SPACE, "list", "sample", false, "--count, --list and --sample exclude each other"},
    {HN_INPUTS, NULL, "output", true, "expected a CONFIG, and a folder to write to: -o DIR"},
    {HN_EXPLAIN, "simulate", "counters device-name", false, "beside --simulate leave --%s out"},
    {HN_RUN, "verify-only", "energy", false, "--verify-only takes no times: leave --%s out"},
    {HN_EXPORT, "template", "format json", false, "--template is a format: leave --%s out"},
    {HN_EXPORT, "defaults", "config", true,
     "--defaults: name the config that has them with --config"},
    {HN_REPLAY, "capture", "all family", false, "--capture is of one tuning: leave --%s out"},
    {HN_REPLAY, "all", "family problem set regime max-slowdown", false,
     "--all races what is stale of all problems and regimes: leave --%s out"},
    {HN_REPLAY, "budget", "family", true, "--budget is the time of --family's searches"},
    {HN_REPLAY, "family", "problem", false, "--family draws sizes: leave --problem out"},
    {HN_DEVICE, "measure", "workers", false,
     "--measure is of this machine's GPUs: `hone tune --workers` measures the roofs of others "
     "where it needs them"},
    {HN_CACHE_IMPORT | HN_CACHE_MERGE | HN_CACHE_PRUNE | HN_CACHE_CHECK | HN_CACHE_COMPILE, NULL,
     "base", false, "`hone %2$s` is of one cache: --%1$s says nothing there"},
};

/* The first of some options, with blanks between them, that is given; NULL: none is. */
static const char *find_given(const struct hn_options *options, const char *names)
{
    for (size_t length; *names != '\0'; names += length + (names[length] == ' ')) {
        length = strcspn(names, " ");
        for (size_t i = 0; i < ROWS; i++)
            if (options->given[i] && strncmp(options_of_all[i].name, names, length) == 0 &&
                options_of_all[i].name[length] == '\0')
                return options_of_all[i].name;
    }
    return NULL;
}

bool hn_options_given(const struct hn_options *options, const char *name)
{
    return find_given(options, name) != NULL;
}

void hn_options_misused(const struct hn_options *options, struct hn_error *err, const char *form,
                        ...)
{
    va_list arguments;
    va_start(arguments, form);
    const char *name = options->of->name;
    fprintf(stderr, "hone %s: ", name);
    vfprintf(stderr, form, arguments);
    fprintf(stderr, "\nTry `hone %s --help' or `hone %s --usage' for more information.\n", name,
            name);
    va_end(arguments);
    hn_fail(err, HN_EUSAGE, "%s", "");
}

static void find_clash(const struct hn_options *options, struct hn_error *err)
{
    for (size_t i = 0; !hn_failed(err) && i < sizeof clashes / sizeof *clashes; i++) {
        const struct clash *clash = &clashes[i];
        const char *with = find_given(options, clash->with);
        bool asked = clash->option == NULL || hn_options_given(options, clash->option);
        if ((clash->of & options->of->of) != 0 && asked && (with != NULL) != clash->needed)
            hn_fail(err, HN_EUSAGE, clash->reason, with, options->of->name);
    }
}

/* Seconds with an optional s, m or h; false when it is something else. */
static bool read_seconds(const char *value, bool needs_unit, double *found)
{
    char *end = NULL;
    errno = 0;
    double number = hn_c_strtod(value, &end);
    if (end == value || errno != 0 || !isfinite(number) || number <= 0)
        return false;
    const char *unit = strchr("smh", *end == '\0' ? 's' : *end);
    if (unit == NULL || (*end != '\0' && end[1] != '\0') || (needs_unit && *end == '\0'))
        return false;
    *found = number * (*unit == 's' ? 1 : *unit == 'm' ? 60 : 3600);
    return true;
}

static bool read_whole(const char *value, const struct kind *kind, uint64_t *found)
{
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0 ||
        (double)number < kind->least || (double)number > kind->most)
        return false;
    *found = number;
    return true;
}

static bool read_real(const char *value, const struct kind *kind, double *found)
{
    char *end;
    *found = kind->otherwise;
    if (value == NULL)
        return true;
    *found = hn_c_strtod(value, &end);
    bool ends = *end == '\0' || (kind->form == PERCENT && strcmp(end, "%") == 0);
    bool fits = end != value && ends && *found >= kind->least && *found <= kind->most;
    *found /= kind->form == PERCENT ? 100 : 1;
    return fits;
}

static size_t count_choices(const struct kind *kind)
{
    size_t count = 0;
    while (kind->choices != NULL && kind->choices[count] != NULL)
        count++;
    return count;
}

/* Puts the value into its member; false where it is none. */
static bool read_value(const struct row *row, const char *value, struct hn_options *options)
{
    void *member = (char *)options + row->at;
    struct hn_texts *list = member;
    const struct kind *kind = row->kind;
    switch (kind->form) {
    case FLAG:
        *(bool *)member = true;
        return true;
    case TEXT:
    case WORD:
        *(const char **)member = value;
        return value[0] != '\0' && (kind->form == TEXT || hn_text_is_word(value));
    case TEXTS:
        *HN_NEXT(list->items, list->count) = value;
        return true;
    case WHOLE:
    case POINTS:
        if (kind->form == WHOLE || strcmp(value, "all") != 0)
            return read_whole(value, kind, member);
        *(uint64_t *)member = UINT64_MAX;
        return true;
    case REAL:
    case PERCENT:
        return read_real(value, kind, member);
    case SECONDS:
        return read_seconds(value, false, member);
    case BUDGET:
        return (read_whole(value, &whole, &options->search.budget_count) &&
                options->search.budget_count > 0) ||
               read_seconds(value, true, &options->search.budget_s);
    case CHOICE:
        *(int *)member = (int)hn_text_place(value, kind->choices, count_choices(kind));
        return kind->choices[*(int *)member] != NULL;
    case BINDINGS:
        break;
    }
    return true;
}

/* argp_error ends the process with the exit code for wrong usage. */
static void take_option(const struct row *row, const char *value, struct hn_options *options,
                        struct argp_state *state)
{
    struct hn_error err;
    options->given[row - options_of_all] = true;
    if (row->kind->form == BINDINGS && hn_bindings_add(&options->problem, value, &err) != HN_OK)
        argp_error(state, "-%c: %s", row->letter, err.message);
    if (read_value(row, value, options))
        return;
    const char *nearest = hn_text_nearest(value, row->kind->choices, count_choices(row->kind));
    argp_error(state, "--%s: found '%s', expected %s%s%s%s", row->name, value, row->kind->expected,
               nearest == NULL ? "" : "; nearest is '", nearest == NULL ? "" : nearest,
               nearest == NULL ? "" : "'");
}

enum { FIRST_KEY = 1000 }; /* of options that have no letter, by row */

static int key_of(size_t row)
{
    char letter = options_of_all[row].letter;
    return letter != 0 ? letter : FIRST_KEY + (int)row;
}

/* No message is to repeat it: it may have a password. */
static void refuse_server(const char *value, struct argp_state *state)
{
    if (value != NULL && hn_store_is_server(value))
        argp_error(state, "found a server's URI, which --cache and --base take");
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct hn_options *options = state->input;
    const struct hn_command *command = options->of;
    struct hn_texts *arguments = &options->arguments;
    bool takes_server = (command->of & WITH_FILE) != 0;
    if (key == ARGP_KEY_END && arguments->count < command->least &&
        (options->capture == NULL || command->of != HN_TUNE))
        argp_error(state, "%s", command->missing);
    if (key == ARGP_KEY_ARG) {
        if (!takes_server)
            refuse_server(value, state);
        if (arguments->count == command->most)
            argp_error(state, command->extra, value, command->most > 0 ? arguments->items[0] : "");
        *HN_NEXT(arguments->items, arguments->count) = value;
    }
    if (key == ARGP_KEY_ARG || key == ARGP_KEY_END)
        return 0;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &options_of_all[i];
        if ((row->of & command->of) == 0 || key_of(i) != key)
            continue;
        if (row->group != CACHE && !takes_server)
            refuse_server(value, state);
        if (value != NULL && strncmp(value, "~/", 2) == 0)
            argp_error(state, "--%s: found '%s', in which the shell left the ~; write $HOME",
                       row->name, value);
        take_option(row, value, options, state);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

/* Sorted by argp. */
static void list_options(const struct hn_command *command, struct argp_option list[ROWS + GROUPS])
{
    bool has_heading[GROUPS] = {[OWN] = true};
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &options_of_all[i];
        if ((row->of & command->of) == 0)
            continue;
        if (!has_heading[row->group])
            *list++ = (struct argp_option){.doc = headings[row->group], .group = (int)row->group};
        has_heading[row->group] = true;
        *list++ = (struct argp_option){.name = row->name,
                                       .key = key_of(i),
                                       .arg = row->value,
                                       .flags = row->kind->otherwise > 0 ? OPTION_ARG_OPTIONAL : 0,
                                       .doc = row->help,
                                       .group = (int)row->group};
    }
    *list = (struct argp_option){0};
}

/* Without a password, in one line, and without words that are very long: it is kept and shown. */
static char *join(int argc, char **argv)
{
    struct hn_text line = {0};
    hn_text_append(&line, "hone");
    for (int i = 0; i < argc && line.length < HN_COMMAND_MOST; i++) {
        size_t before = line.length;
        const char *uri = strstr(argv[i], "postgresql://");
        uri = uri != NULL ? uri : strstr(argv[i], "postgres://");
        char *shown HN_FREED = uri != NULL ? hn_cache_shown(uri) : NULL;
        hn_text_append(&line, " ");
        if (shown == NULL)
            hn_text_append_word(&line, argv[i]);
        else
            hn_text_printf(&line, "%.*s%s", (int)(uri - argv[i]), argv[i], shown);
        if (line.length > HN_COMMAND_MOST)
            line.length = before;
    }
    char *joined = hn_needed(hn_text_take(&line));
    hn_gate_clean(joined);
    for (char *at = joined; (at = strpbrk(at, "\n\t")) != NULL;)
        *at = ' ';
    return joined;
}

void hn_options_read(const struct hn_command *command, int argc, char **argv,
                     struct hn_options *options, struct hn_error *err)
{
    *options =
        (struct hn_options){.of = command,
                            .search = {.command = join(argc, argv), .stop_chance = 0.05, .seed = 1},
                            .max_slowdown = 0.05,
                            .threshold = 0.02,
                            .compile_timeout_s = 60,
                            .run_timeout_s = 10,
                            .launch = 1,
                            .limit = 1024};
    char program[64];
    struct argp_option list[ROWS + GROUPS];
    struct hn_text help HN_ENDED_BY(hn_text_finish) = {0};
    /* argp shows argv[0] as the program. */
    char **arguments HN_FREED = hn_need((size_t)argc + 1, sizeof *arguments);
    memcpy(arguments, argv, (size_t)argc * sizeof *arguments);
    snprintf(program, sizeof program, "hone %s", command->name);
    arguments[0] = program;
    list_options(command, list);
    hn_text_printf(&help, "%c%s\v%s", command->summary[0] & ~0x20, command->summary + 1,
                   command->details == NULL ? "" : command->details);
    if (command->examples != NULL)
        hn_text_printf(&help, "%sExample:\n  %s\n", command->details == NULL ? "" : "\n\n",
                       command->examples);
    const struct argp argp = {.options = list,
                              .parser = parse,
                              .args_doc = command->arguments,
                              .doc = hn_needed(help.data)};
    /* In order: POSIXLY_CORRECT would end the options at the first argument. */
    if (argp_parse(&argp, argc, arguments, ARGP_IN_ORDER, NULL, options) != 0)
        hn_fail(err, HN_EUSAGE, "%s", "");
    find_clash(options, err);
}
