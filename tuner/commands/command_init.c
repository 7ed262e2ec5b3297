/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "tuner/commands/command.h"
#include "tuner/config/capture.h"
#include "tuner/init/draft.h"

enum { SOURCE_MOST = 16 << 20 };
static const char range_mark[] = "%RANGE%";

struct init {
    const char *path, *output; /* output: "-": standard output */
    char *template;            /* as a file in the output's folder names the source */
    const struct hn_options *options;
    const struct hn_capture *capture; /* NULL: there is none */
    struct hn_blocks memory;
};

/* NULL, with why, where none or several could be meant. */
static const struct hn_kernel *choose(const struct init *init, struct hn_unit *unit,
                                      struct hn_error *err)
{
    const char *entry = init->options->entry, *names = "";
    const struct hn_kernel *chosen = NULL;
    if (entry == NULL && init->capture != NULL)
        entry = init->capture->head.kernel;
    HN_EACH(each, unit->kernels) {
        size_t scope = strlen(each->scope);
        /* In the source, or by the driver. */
        bool named = entry == NULL ? unit->kernels.count == 1
                                   : hn_capture_is_of(entry, each->name) ||
                                         (strncmp(each->scope, entry, scope) == 0 &&
                                          strcmp(each->name, entry + scope) == 0);
        if (named && (chosen == NULL || strcmp(each->mangled, entry) == 0))
            chosen = each;
        names = hn_need_format(&unit->memory, "%s%s%s%s", names, *names != '\0' ? ", " : "",
                               each->scope, each->name);
    }
    if (unit->kernels.count == 0)
        hn_fail(err, HN_ECONFIG,
                "%s: found no __global__ function with a body; a kernel that a macro makes cannot "
                "be read",
                init->path);
    else if (chosen == NULL && entry != NULL)
        hn_fail(err, HN_EUSAGE, "--%s: %s has no kernel '%s'; there are: %s",
                entry == init->options->entry ? "entry" : "capture", init->path, entry, names);
    else if (chosen == NULL)
        hn_fail(err, HN_EUSAGE, "%s has %zu kernels: %s; --entry NAME says which", init->path,
                unit->kernels.count, names);
    return chosen;
}

/* Takes the text. Never over a file that is there. A draft should be a config as it stands; where
 * it is none, what is wrong is the first thing to do. */
static void write_config(const struct init *init, char *text, struct hn_error *err)
{
    struct hn_config *config = NULL;
    struct hn_error wrong;
    const char *next = init->capture != NULL ? "tune" : "space";
    bool file = strcmp(init->output, "-") != 0;
    if (!hn_failed(err) && !file)
        hn_output_data(text, strlen(text), err);
    else if (!hn_failed(err) && access(init->output, F_OK) == 0)
        hn_fail(err, HN_EUSAGE,
                "%s is there already and is not overwritten; -o FILE writes elsewhere",
                init->output);
    else if (!hn_failed(err) && hn_file_write(init->output, text, strlen(text), err) == HN_OK &&
             !init->options->quiet)
        printf("wrote %s\nnext: %s`%s`\n", init->output,
               init->capture != NULL ? "" : "look at its lines marked TODO, then ",
               hn_follow_up(init->options, next, init->output));
    if (file && !hn_failed(err) && hn_config_load(init->output, NULL, &config, &wrong) != HN_OK)
        fprintf(stderr, "hone: warning: as it stands it is no config: %s\n", wrong.message);
    hn_config_destroy(config);
    free(text);
}

/* Names the output, after the kernel, and the template. */
static void name_files(struct init *init, const char *kernel, struct hn_error *err)
{
    if (init->output == NULL)
        init->output = hn_need_format(&init->memory, "%.*s%s.yaml",
                                      (int)(basename(init->path) - init->path), init->path, kernel);
    struct hn_text text = {0}, within HN_ENDED_BY(hn_text_finish) = {0};
    hn_text_printf(&within, "%.*s.", (int)(basename(init->output) - init->output), init->output);
    char *source HN_FREED = realpath(init->path, NULL);
    char *folder HN_FREED = realpath(hn_needed(within.data), NULL);
    if (source == NULL || folder == NULL) {
        hn_fail(err, HN_ERUN, "the folder of %s cannot be found: %s", init->output,
                strerror(errno));
    } else {
        size_t common = 0, i = 0;
        within.length = 0;
        hn_text_printf(&within, "%s/", folder);
        for (; source[i] == within.data[i]; i++)
            common = source[i] == '/' ? i + 1 : common;
        for (i = common; i < within.length; i++)
            hn_text_append(&text, within.data[i] == '/' ? "../" : "");
        hn_text_append(&text, source + common);
    }
    init->template = hn_need_kept(&init->memory, hn_text_take(&text));
}

/* A config from what another tuner was told. */
static void import_problem(struct init *init, struct hn_error *err)
{
    json_auto_t *root = NULL;
    char *kernel HN_FREED = NULL;
    if (hn_import_load(init->path, &root, &kernel, err) != HN_OK)
        return;
    name_files(init, kernel, err);
    *basename(init->template) = '\0';
    write_config(init, hn_import_write(root, kernel, init->path, init->template), err);
}

/* The lines `// %RANGE% NAME alias first:last:step` of a benchmark of CUB say what is tuned of the
 * program that it is. It prints as NVBench does, and has CUB's own tuning where TUNE_BASE is 1. */
static void draft_program(struct init *init, const char *source, struct hn_error *err)
{
    struct hn_unit unit = {.path = NULL};
    struct hn_draft draft = {.unit = &unit};
    const char *file = basename(init->path);
    const char *name = HN_DRAFT_TEXT(&draft, "%.*s", (int)hn_word_length(file), file);
    name_files(init, name, err);
    HN_DRAFT_NOTE(&draft, "name", "%s", name);
    hn_draft_note(&draft, "template", HN_DRAFT_TEXT(&draft, "\"%s\"", init->template));
    HN_DRAFT_NOTE(&draft, "macros", "\"-DTUNE_BASE=${TUNE_BASE}\"");
    const char *firsts = "";
    for (const char *at = source; (at = strstr(at, range_mark)) != NULL; at++) {
        char macro[HN_WORD_MOST + 1];
        long long first, last, step;
        if (sscanf(at + strlen(range_mark), " %255[A-Za-z0-9_] %*s %lld:%lld:%lld", macro, &first,
                   &last, &step) != 4)
            continue;
        HN_DRAFT_NOTE(&draft, "ranges", "%s: {range: [%lld, %lld], step: %lld}", macro, first, last,
                      step);
        HN_DRAFT_NOTE(&draft, "macros", "\"-D%s=${%s}\"", macro, macro);
        firsts = HN_DRAFT_TEXT(&draft, "%s%s%s == %lld", firsts, *firsts != '\0' ? " and " : "",
                               macro, first);
    }
    hn_draft_note(&draft, "firsts", firsts);
    write_config(init, hn_draft_write(&draft, hn_init_program), err);
    hn_draft_finish(&draft);
}

static void draft_source(struct init *init, struct hn_error *err)
{
    struct hn_unit unit = {.path = NULL};
    struct hn_draft draft = {.unit = &unit, .capture = init->capture};
    if (hn_unit_read(init->path, &unit, err) == HN_OK)
        draft.kernel = choose(init, &unit, err);
    if (draft.kernel != NULL) {
        hn_draft_make(&draft);
        name_files(init, draft.name, err);
        draft.template = init->template;
        draft.output = init->output;
        if (init->capture != NULL && !hn_failed(err) && access(init->output, F_OK) != 0)
            hn_draft_take_capture(&draft, err);
        write_config(init, hn_draft_write(&draft, hn_init_draft), err);
    }
    hn_draft_finish(&draft);
}

static void run(struct hn_given *given, struct hn_error *err)
{
    const struct hn_options *options = given->options;
    char *text HN_FREED = NULL;
    struct hn_error ignored;
    bool problem = hn_ends_in(given->path, (const char *const[]){".json", NULL});
    if (problem && (options->entry != NULL || options->capture != NULL))
        hn_options_misused(options, err,
                           "%s is for CUDA sources; a tuning problem names its kernel",
                           options->entry != NULL ? "--entry" : "--capture");
    else if (options->capture != NULL)
        hn_capture_open(options->capture, &given->capture, err);
    else if (options->entry == NULL)
        hn_file_read(given->path, SOURCE_MOST, &text, NULL, &ignored);
    struct init init = {given->path, options->output, NULL, options, given->capture, {NULL}};
    if (text != NULL && strstr(text, range_mark) != NULL)
        draft_program(&init, text, err);
    else if (!hn_failed(err))
        (problem ? import_problem : draft_source)(&init, err);
    hn_blocks_finish(&init.memory);
}

const struct hn_command hn_command_init = {
    .name = "init",
    .of = HN_INIT,
    .arguments = "KERNEL.cu|PROBLEM.json",
    .listed = "FILE",
    .summary = "write a first config for a kernel",
    .details =
        "As far as the source tells, or what another tuner was told (T1, CAFF). What has to be "
        "decided is marked TODO. A file that is there is not overwritten.",
    .examples = "hone init scale.cu",
    HN_ONE_ARGUMENT("expected the path of a CUDA source or of a tuning problem in JSON",
                    "found '%s' after '%s', expected one file"),
    .run = run,
};
