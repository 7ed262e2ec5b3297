/* SPDX-License-Identifier: MIT */
#include "runtime/plan/option_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* The kinds of text behind an option. */
enum value {
    NONE,
    WORD,     /* =value, without anything that could be a path */
    ATTACHED, /* a word, or one digit without '=' */
    TEXT,     /* anything, behind '=' or the option's letter */
    FOLDER,   /* the same */
    THREADS,  /* =0 to =64 */
    PTXAS,    /* =option */
};

struct option {
    const char *name;
    const char *brief; /* the same option; NULL: it has one name */
    enum value value;
};

/* The options of NVRTC 13.0, and one of nvcc alone. */
static const struct option compiler[] = {
    {"define-macro", "D", TEXT},
    {"undefine-macro", "U", TEXT},
    {"include-path", "I", FOLDER},
    {"no-source-include", NULL, NONE},
    {"std", NULL, WORD},
    {"gpu-architecture", "arch", WORD},
    {"maxrregcount", NULL, WORD},
    {"use_fast_math", NULL, NONE},
    {"ftz", NULL, WORD},
    {"prec-sqrt", NULL, WORD},
    {"prec-div", NULL, WORD},
    {"fmad", NULL, WORD},
    {"ptxas-options", "Xptxas", PTXAS},
    {"Ofast-compile", "Ofc", WORD},
    {"dopt", NULL, WORD},
    {"extra-device-vectorization", NULL, NONE},
    {"jump-table-density", "jtd", WORD},
    {"device-stack-protector", NULL, WORD},
    {"modify-stack-limit", NULL, WORD},
    {"restrict", NULL, NONE},
    {"device-as-default-execution-space", "default-device", NONE},
    {"device-int128", NULL, NONE},
    {"device-float128", NULL, NONE},
    {"builtin-move-forward", NULL, WORD},
    {"builtin-initializer-list", NULL, WORD},
    {"device-debug", "G", NONE},
    {"generate-line-info", "lineinfo", NONE},
    {"optimization-info", "opt-info", WORD},
    {"disable-warnings", "w", NONE},
    {"display-error-number", "err-no", NONE},
    {"no-display-error-number", "no-err-no", NONE},
    {"diag-error", NULL, WORD},
    {"diag-suppress", NULL, WORD},
    {"diag-warn", NULL, WORD},
    {"brief-diagnostics", "brief-diag", WORD},
    {"split-compile", NULL, THREADS},
    {"frandom-seed", NULL, WORD},
    {"minimal", NULL, NONE},
    {"expt-relaxed-constexpr", NULL, NONE},
    {NULL, NULL, NONE},
};

/* The options of ptxas 13.0, and one of 13.3. */
static const struct option assembler[] = {
    {"opt-level", "O", ATTACHED},
    {"Ofast-compile", "Ofc", WORD},
    {"allow-expensive-optimizations", NULL, WORD},
    {"apply-controls", NULL, TEXT},
    {"def-load-cache", "dlcm", WORD},
    {"def-store-cache", "dscm", WORD},
    {"force-load-cache", "flcm", WORD},
    {"force-store-cache", "fscm", WORD},
    {"fmad", NULL, WORD},
    {"maxrregcount", NULL, WORD},
    {"maxntid", NULL, WORD},
    {"minnctapersm", NULL, WORD},
    {"override-directive-values", NULL, NONE},
    {"register-usage-level", "regUsageLevel", WORD},
    {"device-function-maxrregcount", "func-maxrregcount", WORD},
    {"device-stack-protector", NULL, WORD},
    {"disable-optimizer-constants", "disable-optimizer-consts", NONE},
    {"dont-merge-basicblocks", "no-bb-merge", NONE},
    {"return-at-end", "ret-end", NONE},
    {"optimize-float-atomics", "opt-fp-atomics", NONE},
    {"legacy-bar-warp-wide-behavior", NULL, NONE},
    {"split-compile", NULL, THREADS},
    {"device-debug", "g", NONE},
    {"generate-line-info", "lineinfo", NONE},
    {"suppress-debug-info", NULL, NONE},
    {"sp-bounds-check", NULL, NONE},
    {"verbose", "v", NONE},
    {"disable-warnings", "w", NONE},
    {"warning-as-error", "Werror", NONE},
    {"warn-on-double-precision-use", "warn-double-usage", NONE},
    {"warn-on-local-memory-usage", "warn-lmem-usage", NONE},
    {"warn-on-spills", NULL, NONE},
    {"suppress-stack-size-warning", NULL, NONE},
    {"suppress-double-demote-warning", NULL, NONE},
    {NULL, NULL, NONE},
};

/* The text behind "--name" or "-name", or NULL. */
static const char *behind(const char *text, const char *name)
{
    if (name == NULL || *text != '-')
        return NULL;
    text += text[1] == '-' ? 2 : 1;
    size_t length = strlen(name);
    return strncmp(text, name, length) == 0 ? text + length : NULL;
}

/* The entry of an option, and what is behind its name: "" or "=…", or of -D, -U, -I the text. */
static const struct option *find(const struct option *list, const char *text, const char **rest)
{
    for (; list->name != NULL; list++) {
        const char *const names[] = {list->name, list->brief};
        for (size_t i = 0; i < 2; i++) {
            *rest = behind(text, names[i]);
            if (*rest == NULL)
                continue;
            bool attached = list->value == ATTACHED && **rest >= '0' && **rest <= '9';
            if (list->value == TEXT || list->value == FOLDER)
                attached = names[i] == list->brief;
            if (**rest == '\0' || **rest == '=' || attached)
                return list;
        }
    }
    return NULL;
}

static bool is_word(const char *text)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-.,:";
    return *text != '\0' && text[strspn(text, letters)] == '\0';
}

static bool is_text(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++)
        if (*at < ' ' || *at == 0x7f)
            return false;
    return *text != '\0' && *text != ' ' && strstr(text, " -") == NULL;
}

static bool fits(const struct option *option, const char *rest)
{
    const char *value = *rest == '=' ? rest + 1 : rest;
    switch (option->value) {
    case NONE:
        return *rest == '\0';
    case WORD:
        return *rest == '=' && is_word(value);
    case ATTACHED:
        return is_word(value);
    case THREADS:
        return *rest == '=' && strspn(value, "0123456789") == strlen(value) && strlen(value) <= 2 &&
               *value != '\0' && atoi(value) <= 64;
    default:
        return is_text(value);
    }
}

/* part: of the option, which is text as a whole. */
static enum hn_status refuse(const char *text, const char *part, const struct option *list,
                             struct hn_error *err)
{
    const char *rest;
    const struct option *known = find(list, part, &rest);
    struct hn_text names HN_ENDED_BY(hn_text_finish) = {0};
    for (; list->name != NULL; list++)
        hn_text_printf(&names, "%s--%s", names.length > 0 ? ", " : "", list->name);
    const char *why = known == NULL ? "is not one of those that do no more than change the code "
                                      "that is made (others write files or name some)"
                      : known->value == NONE ? "takes no value"
                                             : "needs a value right behind it, as -DN=1";
    if (known == NULL && strncmp(part, "-O", 2) == 0)
        why = "is for the host's code: device code is optimised unless --ptxas-options says less";
    if (known != NULL && known->value == WORD && *rest == '=')
        why = "needs a value of letters, digits and _+-.,: alone";
    if (known != NULL && known->value == THREADS)
        why = "needs a number of threads from 0 (as there are cores) to 64";
    if (strstr(text, " -") != NULL || (part != text && strchr(part, ',') != NULL))
        why = "holds another option: each is a text of its own";
    return hn_fail(err, HN_ECONFIG, "option '%.300s': '%.300s' %s; allowed are %s", text, part, why,
                   names.data != NULL ? names.data : "");
}

enum hn_status hn_option_check(const char *text, struct hn_error *err)
{
    const char *rest;
    const struct option *option = find(compiler, text, &rest);
    if (option == NULL || !fits(option, rest))
        return refuse(text, text, compiler, err);
    if (option->value != PTXAS)
        return HN_OK;
    const char *part = *rest == '=' ? rest + 1 : rest, *comma = part + strcspn(part, ",");
    /* nvcc takes anything but a number behind a comma for another option, or for a file. */
    option = comma[strspn(comma, ",0123456789")] == '\0' ? find(assembler, part, &rest) : NULL;
    return option != NULL && fits(option, rest) ? HN_OK : refuse(text, part, assembler, err);
}

const char *hn_option_value(const char *text, const char *name)
{
    const char *rest;
    const struct option *option = find(compiler, text, &rest);
    if (option != NULL && option->value == PTXAS)
        option = find(assembler, *rest == '=' ? rest + 1 : rest, &rest);
    if (option == NULL || strcmp(option->name, name) != 0)
        return NULL;
    return *rest == '=' ? rest + 1 : rest;
}

const char *hn_option_path(const char *text)
{
    const char *folder = hn_option_value(text, "include-path");
    return folder != NULL ? folder : hn_option_value(text, HN_OPTION_CONTROLS);
}
