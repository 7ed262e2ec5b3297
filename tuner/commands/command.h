/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_COMMAND_H
#define HONE_TUNER_COMMANDS_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/record/record.h"
#include "cache/store/store.h"
#include "tuner/config/config.h"
#include "tuner/report/render.h"
#include "tuner/session/session.h"

struct hn_capture;
struct hn_device;
struct hn_family_options;
struct hn_server;
struct hn_task;
struct hn_workers_options;

/* A bit a command, and a part of `hone cache`. */
enum hn_command_bit {
    HN_INIT = 1 << 0,
    HN_TUNE = 1 << 1,
    HN_RUN = 1 << 2,
    HN_SPACE = 1 << 3,
    HN_INPUTS = 1 << 4,
    HN_COMPILE = 1 << 5,
    HN_EXPLAIN = 1 << 6,
    HN_EXPORT = 1 << 7,
    HN_REPLAY = 1 << 8,
    HN_REPORT = 1 << 9,
    HN_DEVICE = 1 << 10,
    HN_CACHE_LIST = 1 << 11,
    HN_CACHE_SHOW = 1 << 12,
    HN_CACHE_EXPORT = 1 << 13,
    HN_CACHE_IMPORT = 1 << 14,
    HN_CACHE_MERGE = 1 << 15,
    HN_CACHE_DIFF = 1 << 16,
    HN_CACHE_PRUNE = 1 << 17,
    HN_CACHE_CHECK = 1 << 18,
    HN_CACHE_COMPILE = 1 << 19,
    HN_CAPTURE = 1 << 20,
};

struct hn_texts {
    const char **items;
    size_t count;
};

enum { HN_OPTION_ROWS = 96 };

/* The contents of a command line: the members of all commands, of which options.c has a row each. Strings are borrowed
 * from argv. */
struct hn_options {
    bool given[HN_OPTION_ROWS]; /* by row */
    const struct hn_command *of;
    struct hn_blocks *memory;   /* of what is made of them */
    struct hn_texts arguments;  /* those that are no options */

    struct hn_bindings problem;   /* -p */
    struct hn_texts restrictions; /* -s */

    struct hn_session_options search; /* its command is the whole line, as it is kept and shown: without a password */
    const char *strategy;             /* NULL: the default */
    const char *simulate;

    const char *device;
    int regime; /* an enum hn_regime; of export: those that there are, where none is given */
    double run_timeout_s;
    const char *workers; /* NULL: here */
    bool install;

    uint64_t jobs; /* 0: as many as the machine allows */
    double compile_timeout_s;
    const char *architecture;

    const char *cache, *base;
    bool json, quiet;
    const char *events;

    const char *output; /* -o: a file, or a folder */
    const char *device_name;
    const char *observe; /* run: observers by name; NULL: none */
    bool family;
    uint64_t held_out; /* 0: as many as suit the family */
    bool all;

    bool allow_run; /* tune */
    const char *capture;
    struct hn_texts expected; /* --reference */
    double loss; /* relative; 0: the config's */
    bool verify_only; /* run */
    bool count; /* space */
    uint64_t list, sample; /* UINT64_MAX: all */
    bool strict, log; /* compile */
    const char *sources;
    double max_slowdown; /* replay, relative */
    bool measure; /* device */
    const char *entry; /* init */
    const char *kernel; /* capture */
    uint64_t launch, limit; /* in MiB */
    int format; /* export: an enum hn_export_kind; cache export: 1 is T4 */
    int objective; /* export: an enum hn_front_by */
    const char *prefix, *template; /* the latter: a text of the user's */
    bool defaults, no_family;
    struct hn_texts recorded;
    struct hn_texts configs; /* --config: report takes several */
    const char *roofs; /* report */
    bool history;
    bool own, images; /* cache */
    double threshold; /* relative */
    struct hn_prune prune;
    double older_than_days; /* 0: whatever its age */
};

/* The things that a command works on. They are closed when the command has run. Functions below that take one, or the
 * options, and an err are sticky (base/error.h). */
struct hn_given {
    const struct hn_options *options;
    const char *path; /* the first argument; NULL: there is none */
    struct hn_config *config;
    struct hn_capture *capture; /* whose launch the config is of; NULL: none */
    char *cache; /* the path of the cache as it is shown, once it was asked for */
    struct hn_store *store;
    struct hn_server *server; /* whose copy the store is; NULL: it is a file, or only read */
    struct hn_workers *workers;
    json_t *results; /* what was shown: an array */
};

/* A command of `hone`, or a part of `hone cache`: one in each command_<name>.c, listed in commands.c. run writes
 * results to stdout and everything else to stderr; err becomes the exit code (hn_exit_code), and holds the message,
 * which main prints; "" when the command has already said it. */
struct hn_command {
    const char *name;      /* "tune", "cache list" */
    unsigned of;           /* its bit, by which options.c says what it takes */
    const char *arguments; /* "CONFIG" */
    const char *listed;    /* the same in the list of commands, where that is shorter; NULL: arguments */
    const char *summary;   /* in that list, and first line of --help */
    const char *details;   /* behind the options; NULL: none */
    const char *examples;  /* which --help ends with, a line each; NULL: none */
    size_t least, most;    /* arguments */
    const char *missing;   /* what is said where there are fewer, */
    const char *extra;     /* and where there are more: printf, of the argument and the first one */
    enum { HN_NO_CONFIG, HN_CONFIG, HN_POINT_CONFIG } config; /* the argument is one; a point takes -s later */
    enum { HN_NO_CACHE, HN_CACHE_READ, HN_CACHE_WRITE } cache; /* is opened before it runs */
    void (*run)(struct hn_given *given, struct hn_error *err);
    void (*parts)(int argc, char **argv, struct hn_error *err); /* instead of run: it reads its arguments itself */
};

/* For a command with one argument: the messages where there is none, and where there are two. */
#define HN_ONE_ARGUMENT(none, two) .least = 1, .most = 1, .missing = (none), .extra = (two)

extern const struct hn_command hn_command_capture;
extern const struct hn_command hn_command_tune;
extern const struct hn_command hn_command_run;
extern const struct hn_command hn_command_space;
extern const struct hn_command hn_command_inputs;
extern const struct hn_command hn_command_compile;
extern const struct hn_command hn_command_explain;
extern const struct hn_command hn_command_export;
extern const struct hn_command hn_command_init;
extern const struct hn_command hn_command_replay;
extern const struct hn_command hn_command_report;
extern const struct hn_command hn_command_device;
/* Parts of `hone cache`: that compile, bring tunings from one place to another or set them side by side, and all, NULL-terminated. */
extern const struct hn_command hn_command_cache_compile;
extern const struct hn_command hn_command_cache_export;
extern const struct hn_command hn_command_cache_import;
extern const struct hn_command hn_command_cache_merge;
extern const struct hn_command hn_command_cache_diff;
extern const struct hn_command *const hn_cache_parts[];

/* Defines a part. */
#define HN_CACHE_PART(part, bit, ...) \
    const struct hn_command hn_command_cache_##part = { \
        .name = "cache " #part, .of = bit, .extra = "found '%s', expected no more arguments", __VA_ARGS__}
#define HN_TOO_FEW "too few arguments, expected "

/* Finds the command that argv[0] names, reads its options and runs it. */
enum hn_status hn_run_command(int argc, char **argv, struct hn_error *err);

/* 0 done; 1 run failed; 2 usage or config; 3 nothing valid found; 4 replay; 128+n after a signal. */
int hn_exit_code(enum hn_status status);

/* Reads argv (argv[0] is the command's name). HN_EUSAGE, with a message or after one was printed; --help prints to
 * stdout and exits 0. */
void hn_options_read(const struct hn_command *command, int argc, char **argv, struct hn_options *options,
                     struct hn_error *err);
bool hn_options_given(const struct hn_options *options, const char *name);
/* HN_EUSAGE, after what is wrong with the command line was printed, and where help is found. */
void hn_options_misused(const struct hn_options *options, struct hn_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* HN_EUSAGE where the file that a command writes for an option (NULL: it writes none) is a cache, or what it reads: named by its
 * options or arguments, or by a plan, which may be NULL. */
void hn_spare_inputs(const struct hn_options *options, const char *option, const char *file, const struct hn_plan *plan,
                     struct hn_error *err);
/* The config with -p and -s applied; NULL: it failed. HN_EUSAGE: with --family it has no family, or --budget is a number of points. */
struct hn_config *hn_options_config(const struct hn_options *options, const char *path, struct hn_error *err);
/* For a HN_POINT_CONFIG: -s gives values of the point, and what it leaves open comes from the default point. HN_ECONFIG
 * when the point is not valid; it goes into an initialised set. */
void hn_single_point(const struct hn_options *options, const struct hn_task *task, struct hn_bindings *point,
                     struct hn_error *err);

/* This machine's GPU of that name (NULL: the first). Begins afresh. */
enum hn_status hn_find_gpu(const char *selector, struct hn_device *device, struct hn_error *err);

/* A cache: a file, or the copy of a PostgreSQL server, which is brought up to date before. Records written to a copy
 * are sent while it is open, and the last of it when the store is closed. Says on stderr what the user should know,
 * also then. */
struct hn_cache_place {
    const char *path;   /* of a file, or a URI */
    const char *kernel; /* of a server: only what it has of it; NULL: of all */
    bool images;        /* of a server: machine code, too */
    bool quiet;
};
/* NULL: it failed. *server is the store's, for as long as that is open; NULL where it is a file, or is only read.
 * server may be NULL. */
struct hn_store *hn_cache_open_place(const struct hn_cache_place *place, enum hn_store_mode mode,
                                     struct hn_server **server, struct hn_error *err);
/* That of the options, into given; kernel: as of a place. */
void hn_open_cache(struct hn_given *given, enum hn_store_mode mode, const char *kernel, struct hn_error *err);
/* Another handle of the cache that is open, for another thread; NULL: it failed. */
struct hn_store *hn_cache_open_again(const struct hn_given *given, struct hn_error *err);
/* The path as messages and records have it: without a password. Free it. */
char *hn_cache_shown(const char *path);

/* Tunings of the cache that is open: -p chooses those with these values, --device-name those of a device. */

/* Whether it fits -p and --device-name; drops those that do not, or that are simulated where only what was measured is
 * wanted. */
bool hn_cache_fits(const struct hn_given *given, const struct hn_identity *identity);
void hn_cache_filter(const struct hn_given *given, bool measured, struct hn_tuned_list *list);
/* The tunings of a kernel (NULL: of all) that fit, with --history also former versions. HN_ENOTFOUND names what there
 * is. */
void hn_cache_select(const struct hn_given *given, const char *kernel, struct hn_tuned_list *list,
                     struct hn_error *err);

/* Below a table of tunings with a column of regimes. */
#define HN_CACHE_REGIMES_LINE "L2: what that cache holds when a launch begins; see docs/outcomes.md{?tunings}"
/* Identity, version and best of a tuning, and the remarks on it. */
json_t *hn_cache_tuned_to_json(const struct hn_tuned *tuned);

/* Workers of this machine, as the options have them; `useful` as in hn_workers_options. */
struct hn_workers_options hn_workers_of(const struct hn_options *options, double useful);
/* Starts them, into given, on the hosts of --workers where there are any. */
void hn_start_workers(struct hn_given *given, const struct hn_workers_options *options, struct hn_error *err);

/* Of `tune --family` and `replay --family`. */
struct hn_family_options hn_family_of(const struct hn_given *given, struct hn_error *err);

/* A command ("tune") that is printed for the user to run next, on a config or kernel (may be NULL). It runs as it is
 * printed: it is quoted for a shell, and has of the options that this command was given those that the other takes,
 * too. Lives as long as the options. */
const char *hn_follow_up(const struct hn_options *options, const char *command, const char *subject);

/* The verdict of `hone replay` on a time. */
enum hn_replay_verdict {
    HN_REPLAY_HOLDS, HN_REPLAY_VERIFIED_ONLY, HN_REPLAY_MACHINE, HN_REPLAY_SLOWER, HN_REPLAY_WRONG,
};

/* Standard output and standard error. Text goes through stdout and stderr, which show control bytes as \x1b: names of
 * devices, strings of configs and caches and what compilers say may hold what a terminal obeys. Data goes through the
 * functions below, as it is. Sequences that move the cursor are written to STDERR_FILENO. */

/* The first thing that main does. Descriptors 0 to 2 that are closed lead to /dev/null from here on, such that reading
 * and writing there fail: what is opened later never gets their numbers. SIGPIPE and SIGXFSZ become errors of the
 * calls. A program that would exit with 0, from wherever, exits with 1 and a message where not all text could be
 * written to standard output.
 *
 * With --json (NULL: without) one that ends with another exit code than 0, and has written nothing, writes {"error":
 * {"code", "message"}}. The message is read then; "" where standard error alone says what is wrong. */
void hn_output_init(const char *json_message);

/* HN_ERUN where standard output takes no more. */
void hn_output_data(const void *bytes, size_t size, struct hn_error *err);
/* To the file that -o names, else to standard output, which may be no terminal where not_shown says why ("a cubin is
 * binary"). Whether there is a line to be said about a file. */
bool hn_output_write(const struct hn_options *options, const struct hn_text *text, const char *not_shown,
                     struct hn_error *err);
/* Shows a part of the results, unless --json; takes it over, into the results. */
void hn_show(struct hn_given *given, json_t *document, const struct hn_view *views);
/* With --json all that was shown, in a list. */
void hn_show_results(const struct hn_given *given, struct hn_error *err);
/* With --json the document alone, else its views, of which there may be none; frees it. It may be NULL: what jansson could not make of
 * the results. */
void hn_show_alone(const struct hn_given *given, json_t *document, const struct hn_view *views, struct hn_error *err);

#endif
