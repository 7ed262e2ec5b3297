/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_COMMANDS_OPTIONS_H
#define HONE_TUNER_COMMANDS_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/record/regime.h"
#include "tuner/config/config.h"

/* The options that commands share, parsed by glibc's argp: a command's own parser names hn_options_argp among its
 * children and gives this struct as the child's input. Strings are borrowed from argv. */
struct hn_options {
    struct hn_bindings problem; /* -p */
    const char **restrictions; /* -s */
    size_t restriction_count;
    const char *strategy;
    double budget_s;       /* 0: none */
    uint64_t budget_count; /* 0: none */
    unsigned look_ahead;   /* 0: as the config says */
    double stop_chance;
    bool has_stop_chance;  /* it was given */
    bool full;
    bool counters; /* --counters, of the commands that have it */
    const char *device;
    const char *workers; /* --workers; NULL: here */
    bool install;        /* --install */
    int jobs; /* 0: as many as the machine allows */
    uint64_t seed;
    const char *cache;
    const char *base; /* --base; NULL: none */
    const char *simulate;
    bool json;
    const char *events;
    bool quiet;
    const char *architecture; /* --arch; NULL */
    enum hn_regime regime;    /* --regime */
    bool retry_failed;
    double compile_timeout_s;
    double run_timeout_s;
};

/* Which options a command takes: groups to OR together. */
enum hn_option_groups {
    HN_OPTIONS_SPACE = 1,   /* -p -s */
    HN_OPTIONS_SEARCH = 2,  /* --strategy --budget --stop-chance --full --look-ahead --seed --simulate --retry-failed */
    HN_OPTIONS_DEVICE = 4,  /* --device --regime --run-timeout */
    HN_OPTIONS_COMPILE = 8, /* --jobs --compile-timeout */
    HN_OPTIONS_CACHE = 16,  /* --cache --base */
    HN_OPTIONS_OUTPUT = 32, /* --json --quiet */
    HN_OPTIONS_ARCH = 64,   /* --arch, with HN_OPTIONS_COMPILE */
    HN_OPTIONS_EVENTS = 128, /* --events, with HN_OPTIONS_OUTPUT */
    HN_OPTIONS_TIME = 256,   /* --budget of what searches only for a time */
    HN_OPTIONS_WORKERS = 512, /* --workers, with HN_OPTIONS_DEVICE */
};

void hn_options_init(struct hn_options *options);
void hn_options_finish(struct hn_options *options);

/* A command's own options beside the shared ones, as argp has them; `parse` handles them and ARGP_KEY_ARG. */
struct hn_command_line {
    const char *name;       /* "tune" */
    const char *arguments;  /* "CONFIG" */
    const char *summary;    /* first line of --help */
    const char *details;    /* after the options; may be NULL */
    unsigned groups;        /* of enum hn_option_groups */
    const struct argp_option *own; /* may be NULL */
    error_t (*parse)(int key, char *argument, struct argp_state *state); /* state->input is `input` */
    void *input;
};

/* Parses argv (argv[0] is the command's name). HN_OK, or HN_EUSAGE after argp printed what was wrong; --help prints to
 * stdout and exits 0. */
enum hn_status hn_options_parse(const struct hn_command_line *line, int argc, char **argv, struct hn_options *options);

/* Loads the config and applies -p and -s. */
enum hn_status hn_options_config(const struct hn_options *options, const char *path, struct hn_config **config,
                                 struct hn_error *err);

/* follow_up.c: a command ("tune") that is printed for the user to run next, on a config or kernel (may be NULL). It runs as it is
 * printed: it is quoted for a shell, and has of the options that this command was given those that the other takes, too. Returns
 * line. */
enum { HN_FOLLOW_UP_SIZE = 2048 };
const char *hn_follow_up(const struct hn_options *options, const char *command, const char *subject,
                         char line[HN_FOLLOW_UP_SIZE]);

/* Adds a string to a list, for the parser of an option that may be repeated. */
error_t hn_options_append(const char ***strings, size_t *count, const char *string);

/* -p: adds "NAME=VALUE,...". argp_error where it is none, or where a name has a value already. */
void hn_options_add_problem(struct hn_bindings *problem, const char *argument, struct argp_state *state);
/* A whole number from 0; false for anything else. */
bool hn_options_read_count(const char *text, uint64_t *count);
/* What --held-out says; argp_error for what it can not. */
unsigned hn_options_held_out(const char *text, struct argp_state *state);
/* Seconds of a window in which energy is measured; argument may be NULL. */
double hn_options_energy(const char *argument, struct argp_state *state);

#endif
