/* SPDX-License-Identifier: MIT */
#include "runtime/compile/live_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "runtime/compile/condition.h"
#include "runtime/compile/host_headers.h"
#include "runtime/compile/include_scan.h"
#include "runtime/compile/plain_text.h"

enum { LEVELS_MOST = 64, FILES_DEEP = 32, FILES_MOST = 1024, TEXT_MOST = 32 << 20 };

/* Whether lines are compiled. */
enum region { DEAD, MAYBE, LIVE };

/* An #if with what follows up to its #endif. */
struct level {
    enum region around;
    enum region own; /* of the lines between the last of its directives and the next */
    bool taken;      /* one of its groups is the one, for sure */
    bool maybe;      /* one may be */
    bool ends;       /* its #else is behind */
};

struct walk {
    const struct hn_template *template;
    bool decides;
    struct hn_macro_table *macros;
    struct hn_live_text *live;
    struct level levels[LEVELS_MOST];
    size_t depth;
    int files_open; /* one within the other */
    int files_read;
    bool failed;
};

static enum region region_of(const struct walk *walk)
{
    return walk->depth > 0 ? walk->levels[walk->depth - 1].own : LIVE;
}

static void define(struct walk *walk, const char *name, size_t length, enum hn_macro_state state,
                   const char *value, size_t value_length)
{
    if (region_of(walk) != LIVE)
        state = HN_MACRO_UNSURE;
    if (!hn_macro_table_set(walk->macros, name, length, state, value, value_length))
        walk->failed = true;
}

/* What stands behind the name that #define, #undef or #ifdef speaks of; NULL: it is no plain name.
 */
static const char *behind_name(const char *at, const char *end, const char **name, size_t *length)
{
    *name = at;
    *length = hn_macro_name_length(at);
    at += *length;
    bool ends = at == end || hn_is_space(*at) || *at == '(';
    return *length > 0 && !hn_is_digit(**name) && ends ? at : NULL;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && hn_is_space(*at))
        at++;
    return at;
}

static void read_define(struct walk *walk, const char *at, const char *end)
{
    const char *name;
    size_t length;
    at = behind_name(at, end, &name, &length);
    if (at == NULL) {
        walk->live->certain = false;
        return;
    }
    enum hn_macro_state state = at < end && *at == '(' ? HN_MACRO_UNSURE : HN_MACRO_DEFINED;
    define(walk, name, length, state, at, (size_t)(end - at));
}

static void read_undef(struct walk *walk, const char *at, const char *end)
{
    const char *name;
    size_t length;
    if (behind_name(at, end, &name, &length) == NULL)
        walk->live->certain = false;
    else
        define(walk, name, length, HN_MACRO_NONE, "", 0);
}

/* Of #ifdef: whether it is defined. */
static enum hn_truth is_defined(const struct walk *walk, const char *at, const char *end)
{
    const char *name;
    size_t length;
    if (behind_name(at, end, &name, &length) == NULL)
        return HN_UNSURE;
    const struct hn_table_macro *macro = hn_macro_table_find(walk->macros, name, length);
    if (macro == NULL || macro->state == HN_MACRO_UNSURE)
        return HN_UNSURE;
    return macro->state == HN_MACRO_DEFINED ? HN_TRUE : HN_FALSE;
}

static enum hn_truth opposite(enum hn_truth truth)
{
    return truth == HN_UNSURE ? HN_UNSURE : truth == HN_TRUE ? HN_FALSE : HN_TRUE;
}

/* A line, which is not decided or no condition at all. */
static void keep_line(struct walk *walk, const char *line, const char *end)
{
    hn_text_append_bytes(&walk->live->text, line, (size_t)(end - line));
}

/* The group behind a condition of a level. */
static void begin_group(struct level *level, enum hn_truth truth)
{
    if (level->taken || truth == HN_FALSE)
        level->own = DEAD;
    else
        level->own = truth == HN_UNSURE || level->maybe ? MAYBE : LIVE;
    if (level->around < level->own)
        level->own = level->around;
    level->taken |= truth == HN_TRUE;
    level->maybe |= truth == HN_UNSURE;
}

struct directive {
    const char *name;
    size_t length;
    const char *rest; /* what stands behind it */
    const char *line;
    const char *end;
};

static bool is(const struct directive *directive, const char *name)
{
    return directive->length == strlen(name) &&
           memcmp(directive->name, name, directive->length) == 0;
}

/* Of #if, #ifdef, #ifndef and #elif. */
static enum hn_truth decide(struct walk *walk, const struct directive *directive)
{
    enum hn_truth truth = HN_UNSURE;
    if (walk->decides && (is(directive, "ifdef") || is(directive, "ifndef")))
        truth = is_defined(walk, directive->rest, directive->end);
    else if (walk->decides)
        truth = hn_condition_decide(walk->macros, directive->rest,
                                    (size_t)(directive->end - directive->rest));
    if (is(directive, "ifndef"))
        truth = opposite(truth);
    if (truth == HN_UNSURE)
        keep_line(walk, directive->line, directive->end);
    return truth;
}

static void open_level(struct walk *walk, const struct directive *directive)
{
    enum region around = region_of(walk);
    if (walk->depth == LEVELS_MOST) {
        walk->live->certain = false;
        return;
    }
    enum hn_truth truth = around == DEAD ? HN_FALSE : decide(walk, directive);
    struct level *level = &walk->levels[walk->depth++];
    *level = (struct level){.around = around};
    begin_group(level, truth);
}

/* #elif, #else, #endif; base: levels around the file. */
static void go_on_level(struct walk *walk, const struct directive *directive, size_t base)
{
    struct level *level = walk->depth > base ? &walk->levels[walk->depth - 1] : NULL;
    if (level == NULL || (level->ends && !is(directive, "endif"))) {
        walk->live->certain = false;
        return;
    }
    if (is(directive, "endif")) {
        walk->depth--;
        return;
    }
    level->ends = is(directive, "else");
    bool asks = !level->ends && !level->taken && level->around != DEAD;
    begin_group(level, asks ? decide(walk, directive) : HN_TRUE);
}

/* The template's file of that name: 1 and more; 0: it is none of them. */
static size_t file_of(const struct walk *walk, const struct hn_include *include)
{
    const struct hn_template *template = walk->template;
    for (size_t i = 0; i < template->include_count; i++) {
        const char *name = template->includes[i].name;
        if (strlen(name) == include->length && memcmp(name, include->name, include->length) == 0)
            return i + 1;
    }
    return 0;
}

/* What a header of the host's names may be defined anew by it. */
static void doubt_words(struct walk *walk, const struct hn_host_header *header)
{
    struct hn_include_scan scan = {.next = header->text};
    struct hn_include include;
    for (const char *at = header->text; *at != '\0';) {
        size_t length = hn_macro_name_length(at);
        struct hn_table_macro *macro = hn_macro_table_find(walk->macros, at, length);
        if (macro != NULL)
            macro->state = HN_MACRO_UNSURE;
        at += length > 0 ? length : 1;
    }
    while (hn_include_next(&scan, &include)) {
        const struct hn_host_header *inner = hn_host_header_find(include.name, include.length);
        if (inner != NULL && inner->text != header->text)
            doubt_words(walk, inner);
    }
}

static void read_file(struct walk *walk, size_t file);

static void read_include(struct walk *walk, const struct directive *directive)
{
    char *line = strndup(directive->line, (size_t)(directive->end - directive->line));
    struct hn_include_scan scan = {.next = line};
    struct hn_include include;
    bool plain = line != NULL && hn_include_next(&scan, &include);
    size_t file = plain ? file_of(walk, &include) : 0;
    const struct hn_host_header *header =
        plain ? hn_host_header_find(include.name, include.length) : NULL;
    walk->failed |= line == NULL;
    free(line);
    if (file > 0) {
        read_file(walk, file);
        return;
    }
    keep_line(walk, directive->line, directive->end);
    if (header != NULL)
        doubt_words(walk, header);
}

/* In lines that are, or may be, compiled. */
static void obey(struct walk *walk, const struct directive *directive)
{
    static const char *const others[] = {"", "pragma", "line", "error", "warning"};
    bool known = false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        known = known || is(directive, others[i]);
    if (is(directive, "include")) {
        read_include(walk, directive);
        return;
    }
    keep_line(walk, directive->line, directive->end);
    if (is(directive, "define"))
        read_define(walk, directive->rest, directive->end);
    else if (is(directive, "undef"))
        read_undef(walk, directive->rest, directive->end);
    else if (!known)
        walk->live->certain = false;
}

static void read_directive(struct walk *walk, const char *line, const char *sign, const char *end,
                           size_t base)
{
    const char *name = skip_blanks(sign + 1, end);
    size_t length = hn_macro_name_length(name);
    const struct directive directive = {name, length, skip_blanks(name + length, end), line, end};
    if (is(&directive, "if") || is(&directive, "ifdef") || is(&directive, "ifndef"))
        open_level(walk, &directive);
    else if (is(&directive, "elif") || is(&directive, "else") || is(&directive, "endif"))
        go_on_level(walk, &directive, base);
    else if (length > 4 && memcmp(name, "elif", 4) == 0)
        walk->live->certain = false; /* #elifdef, of later standards */
    else if (region_of(walk) != DEAD)
        obey(walk, &directive);
}

static void read_lines(struct walk *walk, const char *text)
{
    size_t base = walk->depth;
    while (*text != '\0' && walk->live->certain && !walk->failed) {
        const char *end = text + strcspn(text, "\n");
        const char *first = skip_blanks(text, end);
        if (first < end && *first == '#')
            read_directive(walk, text, first, end, base);
        else if (first < end && region_of(walk) != DEAD)
            keep_line(walk, text, end);
        hn_text_append(&walk->live->text, "\n");
        text = end + (*end == '\n');
    }
    if (walk->depth != base)
        walk->live->certain = false;
}

static bool make_plain(struct walk *walk, size_t file, const char *text)
{
    bool certain = true;
    walk->live->plain[file] = hn_plain_text(text, &certain);
    walk->live->certain = walk->live->certain && certain;
    walk->failed |= walk->live->plain[file] == NULL;
    return walk->live->plain[file] != NULL && certain;
}

/* A file that is included again may have something that leaves it out then. */
static void read_file(struct walk *walk, size_t file)
{
    const char *text = walk->template->includes[file - 1].text;
    bool again = walk->live->plain[file] != NULL;
    if (walk->files_open == FILES_DEEP || ++walk->files_read > FILES_MOST ||
        walk->depth == LEVELS_MOST || walk->live->text.length > TEXT_MOST) {
        walk->live->certain = false;
        return;
    }
    if (!again && !make_plain(walk, file, text))
        return;
    enum region around = region_of(walk);
    walk->levels[walk->depth++] =
        (struct level){.around = around, .own = again && around == LIVE ? MAYBE : around};
    hn_text_printf(&walk->live->text, "\f%zu\n", file);
    walk->files_open++;
    read_lines(walk, walk->live->plain[file]);
    walk->files_open--;
    hn_text_append(&walk->live->text, "\f");
    walk->depth--;
}

enum hn_status hn_live_text_make(const struct hn_template *template, const char *text, bool decides,
                                 struct hn_macro_table *macros, struct hn_live_text *live,
                                 struct hn_error *err)
{
    struct walk walk = {.template = template, .decides = decides, .macros = macros, .live = live};
    *live = (struct hn_live_text){.certain = true, .plain_count = template->include_count + 1};
    live->plain = calloc(live->plain_count, sizeof *live->plain);
    if (live->plain == NULL)
        return hn_fail_memory(err);
    if (make_plain(&walk, 0, text))
        read_lines(&walk, live->plain[0]);
    hn_text_append(&live->text, "");
    if (walk.failed || live->text.failed)
        return hn_fail_memory(err);
    /* What it gives back was defined where nobody looked. */
    if (strstr(live->text.data, "pop_macro") != NULL)
        live->certain = false;
    return HN_OK;
}

void hn_live_text_finish(struct hn_live_text *live)
{
    for (size_t i = 0; live->plain != NULL && i < live->plain_count; i++)
        free(live->plain[i]);
    free(live->plain);
    hn_text_finish(&live->text);
}
