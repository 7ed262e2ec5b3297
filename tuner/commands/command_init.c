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

/* NULL, with why, where none or several could be meant. */
static const struct hn_kernel *choose(const struct hn_given *given, struct hn_unit *unit,
                                      struct hn_error *err)
{
    const char *entry = given->options->entry, *names = "";
    const struct hn_kernel *chosen = NULL;
    if (entry == NULL && given->capture != NULL)
        entry = given->capture->head.kernel;
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
                "%s: found no __global__ function with a body; is it in a file that this includes? "
                "One that a macro makes cannot be read",
                given->path);
    else if (chosen == NULL && entry != NULL)
        hn_fail(err, HN_EUSAGE, "--%s: %s has no kernel '%s'; there are: %s",
                entry == given->options->entry ? "entry" : "capture", given->path, entry, names);
    else if (chosen == NULL)
        hn_fail(err, HN_EUSAGE, "%s has %zu kernels: %s; --entry NAME says which", given->path,
                unit->kernels.count, names);
    return chosen;
}

/* Never over a file that is there. A draft should be a config as it stands; where it is none, what
 * is wrong is the first thing to do. */
static void write_config(const struct hn_given *given, const char *output, const char *text,
                         struct hn_error *err)
{
    struct hn_config *config = NULL;
    struct hn_error wrong;
    const char *next = given->capture != NULL ? "tune" : "space";
    if (strcmp(output, "-") == 0)
        hn_output_data(text, strlen(text), err);
    else if (access(output, F_OK) == 0)
        hn_fail(err, HN_EUSAGE,
                "%s is there already and is not overwritten; -o FILE writes elsewhere", output);
    else if (hn_file_write(output, text, strlen(text), err) == HN_OK && !given->options->quiet)
        printf("wrote %s\nnext: %s`%s`\n", output,
               given->capture != NULL ? "" : "look at its lines marked TODO, then ",
               hn_follow_up(given->options, next, output));
    if (!hn_failed(err) && strcmp(output, "-") != 0 &&
        hn_config_load(output, NULL, &config, &wrong) != HN_OK)
        fprintf(stderr, "hone: warning: as it stands it is no config: %s\n", wrong.message);
    hn_config_destroy(config);
}

/* Names the output, after the kernel, and the template. */
static void name_files(struct hn_draft *draft, const char *path, struct hn_error *err)
{
    if (draft->output == NULL)
        draft->output =
            HN_DRAFT_TEXT(draft, "%.*s%s.yaml", (int)(basename(path) - path), path, draft->name);
    const char *output = draft->output;
    struct hn_text text = {0}, within HN_ENDED_BY(hn_text_finish) = {0};
    hn_text_printf(&within, "%.*s.", (int)(basename(output) - output), output);
    char *source HN_FREED = realpath(path, NULL);
    char *folder HN_FREED = realpath(hn_needed(within.data), NULL);
    if (source == NULL || folder == NULL) {
        hn_fail(err, HN_ERUN, "the folder of %s cannot be found: %s", output, strerror(errno));
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
    draft->template = hn_need_kept(&draft->unit->memory, hn_text_take(&text));
}

/* A config from what another tuner was told. */
static void import_problem(const struct hn_given *given, struct hn_draft *draft,
                           struct hn_error *err)
{
    if (hn_import_load(draft, err) != HN_OK)
        return;
    name_files(draft, given->path, err);
    const char *template = draft->template;
    draft->prefix = HN_DRAFT_TEXT(draft, "%.*s", (int)(basename(template) - template), template);
    hn_import_make(draft);
}

/* The lines `// %RANGE% NAME alias first:last:step` of a benchmark of CUB say what is tuned of the
 * program that it is. It prints as NVBench does, and has CUB's own tuning where TUNE_BASE is 1. */
static void draft_program(const struct hn_given *given, struct hn_draft *draft, const char *source,
                          struct hn_error *err)
{
    const char *file = basename(given->path), *firsts = "";
    draft->name = HN_DRAFT_TEXT(draft, "%.*s", (int)hn_word_length(file), file);
    name_files(draft, given->path, err);
    HN_DRAFT_NOTE(draft, "macros", "\"-DTUNE_BASE=${TUNE_BASE}\"");
    for (const char *at = source; (at = strstr(at, range_mark)) != NULL; at++) {
        char macro[HN_WORD_MOST + 1];
        long long first, last, step;
        if (sscanf(at + strlen(range_mark), " %255[A-Za-z0-9_] %*s %lld:%lld:%lld", macro, &first,
                   &last, &step) != 4)
            continue;
        HN_DRAFT_NOTE(draft, "ranges", "%s: {range: [%lld, %lld], step: %lld}", macro, first, last,
                      step);
        HN_DRAFT_NOTE(draft, "macros", "\"-D%s=${%s}\"", macro, macro);
        firsts = HN_DRAFT_TEXT(draft, "%s%s%s == %lld", firsts, *firsts != '\0' ? " and " : "",
                               macro, first);
    }
    hn_draft_note(draft, "firsts", firsts);
}

static void draft_source(const struct hn_given *given, struct hn_draft *draft, struct hn_error *err)
{
    if (hn_unit_read(given->path, draft->unit, err) == HN_OK)
        draft->kernel = choose(given, draft->unit, err);
    if (draft->kernel == NULL)
        return;
    hn_draft_make(draft);
    name_files(draft, given->path, err);
    if (draft->capture != NULL && !hn_failed(err) && access(draft->output, F_OK) != 0)
        hn_draft_take_capture(draft, err);
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
    struct hn_unit unit = {.path = NULL};
    struct hn_draft draft HN_ENDED_BY(hn_draft_finish) = {
        .unit = &unit, .capture = given->capture, .origin = given->path, .output = options->output};
    draft.document = hn_needed(json_object());
    bool program = text != NULL && strstr(text, range_mark) != NULL;
    if (program)
        draft_program(given, &draft, text, err);
    else if (!hn_failed(err))
        (problem ? import_problem : draft_source)(given, &draft, err);
    if (!hn_failed(err))
        write_config(given, draft.output,
                     hn_draft_write(&draft, program ? hn_init_program : hn_init_draft), err);
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
