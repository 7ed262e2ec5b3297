/* SPDX-License-Identifier: MIT */
#include "tuner/init/draft.h"

#include <stdlib.h>

#include "base/text.h"

enum { DEEPEST = 12, MOST_GIVEN = 8 };

struct translation {
    struct hn_draft *draft;
    int depth;                     /* of names that stand for others */
    struct hn_tokens names;        /* of the parameters of what is called, */
    const char *given[MOST_GIVEN]; /* and what each is given, NULL: that is not known */
};

static const char *translate(const struct translation *translation, struct hn_tokens tokens);

/* Behind the bracket that closes the one that begins the text; where there is none, the text. */
static const char *behind_bracket(const char *text)
{
    const char *at = text;
    for (int depth = 0; *at != '\0' && (at == text || depth > 0); at++)
        depth += (*at == '(') - (*at == ')');
    return *text == '(' ? at : text;
}

/* In brackets where it is more than a name, a number or a call. */
static const char *as_factor(struct hn_unit *unit, const char *text)
{
    const char *open = text + hn_word_length(text);
    return *behind_bracket(open) == '\0' ? text : HN_TEXT(unit, "(%s)", text);
}

const char *hn_times(struct hn_unit *unit, const char *left, const char *right)
{
    if (left == NULL || strcmp(left, "1") == 0)
        return right;
    if (strcmp(right, "1") == 0)
        return left;
    bool loose = strpbrk(left, "+-<>=%") != NULL || strstr(left, " if ") != NULL;
    return HN_TEXT(unit, "%s * %s", loose ? as_factor(unit, left) : left, as_factor(unit, right));
}

/* "(int)" and "static_cast<std::size_t>" say nothing; returns behind it. */
static size_t skip_cast(struct hn_unit *unit, size_t at)
{
    size_t open = at + hn_at(unit, at, "static_cast");
    struct hn_tokens type = hn_inside(unit, open);
    char known[HN_TYPE_SIZE];
    type.begin += hn_at(unit, type.begin, "std") ? 2 : 0;
    const struct hn_meaning *of = HN_MEANING(unit, type.begin); /* "typedef int number;" */
    bool cast = (open > at || hn_at(unit, at, "(")) && type.begin < type.end &&
                hn_type_of_c(hn_unit_text(unit, of->given ? of->body : type), known);
    return cast ? type.end + 1 : at;
}

/* Without brackets around all; "(N + B - 1) // B", "(N + (B - 1)) // B" and, for a number,
 * "(N + 255) // 256" as ceil_div(N, B). */
static const char *simplify(struct hn_unit *unit, const char *text)
{
    const char *behind = behind_bracket(text);
    if (behind == text)
        return text;
    const char *sum = HN_TEXT(unit, "%.*s", (int)(behind - text) - 2, text + 1);
    if (*behind == '\0')
        return simplify(unit, sum);
    if (strncmp(behind, " // ", 4) != 0 || as_factor(unit, behind + 4) != behind + 4)
        return text;
    const char *own = behind + 4, *by = simplify(unit, own);
    const char *const ends[] = {HN_TEXT(unit, " + %s - 1", by), HN_TEXT(unit, " + %s - 1", own),
                                HN_TEXT(unit, " + (%s - 1)", by),
                                HN_TEXT(unit, " + %lld", strtoll(by, NULL, 10) - 1)};
    for (size_t i = 0; i < (hn_is_digit(*by) ? 4 : 3); i++) {
        size_t length = strlen(sum), size = strlen(ends[i]);
        if (size < length && strcmp(sum + length - size, ends[i]) == 0)
            return HN_TEXT(unit, "ceil_div(%s, %s)",
                           simplify(unit, HN_TEXT(unit, "%.*s", (int)(length - size), sum)), by);
    }
    return text;
}

/* A macro or a function of that name, or what else it stands for; one that is called so divides and
 * rounds up. */
static const char *call(const struct translation *translation, const char *name, size_t at,
                        struct hn_tokens given)
{
    struct hn_unit *unit = translation->draft->unit;
    const struct hn_meaning *meaning = hn_unit_meaning(unit, name, at);
    const struct hn_meaning *of = HN_MEANING(unit, given.begin);
    struct translation inner = {
        .draft = translation->draft, .depth = translation->depth + 1, .names = meaning->parameters};
    struct hn_tokens list = given, item;
    const char *const *value = inner.given, *body = NULL;
    char type[HN_TYPE_SIZE];
    if (strcmp(name, "sizeof") == 0 &&
        hn_type_of_c(hn_unit_text(unit, of->given ? of->body : given), type))
        return HN_TEXT(unit, "%lld", (long long)hn_type_bytes(type));
    for (int i = 0; i < MOST_GIVEN && hn_next(unit, ",", &list, &item); i++)
        inner.given[i] = translate(translation, item);
    if (given.end > given.begin && hn_type_of_c(name, type)) /* "size_t(blocks)" */
        return value[0];
    if (inner.depth <= DEEPEST)
        body = translate(&inner, meaning->body);
    if (body != NULL)
        return body;
    bool rounds = hn_find_letters(name, "ceil") != NULL || hn_find_letters(name, "div") != NULL;
    if (value[0] != NULL && value[1] != NULL && (rounds || hn_at(unit, at, "min max")))
        return HN_TEXT(unit, "%s(%s, %s)", rounds ? "ceil_div" : name, value[0], value[1]);
    /* "ceil(n / 256.0)" */
    const char *slash = value[0] != NULL && rounds ? strchr(value[0], '/') : NULL;
    return slash == NULL ? NULL
                         : HN_TEXT(unit, "ceil_div(%.*s, %s)", (int)(slash - value[0] - 1),
                                   value[0], strchr(slash, ' ') + 1);
}

/* The size of the problem that a name that only the host has becomes, "rows" of "run(x, rows)";
 * NULL: it is none. Multiprocessors are the device's. */
static const char *open_size(struct hn_draft *draft, const char *name, size_t token)
{
    const struct hn_meaning *own = HN_MEANING(draft->unit, token);
    const char *last = name + strlen(name);
    while (last > name && hn_is_word_char(last[-1]))
        last--;
    bool device = hn_is_like(last, "processors");
    bool known = own->given || (last == name && own->body.end > own->body.begin);
    last = device ? "sm_count" : last;
    const struct hn_draft_name *same = hn_draft_find(draft, last);
    if (same != NULL && same->is_size && !same->made)
        return same->name;
    if (same != NULL || hn_is_like(last, "reserved") ||
        (!device && (!known || own->macro || own->pointer || own->members.end > 0 ||
                     !hn_text_is_word(last) || hn_find_letters(last, "grid") != NULL)))
        return NULL;
    struct hn_draft_name *size = hn_draft_add(draft, last, NULL, true);
    size->host = true;
    size->is_extent = !device;
    size->told = device;
    size->preset = hn_integer(device ? 132 : 0);
    return last;
}

/* What a name, "block.x" or "plan->batch" stands for. */
static const char *resolve(const struct translation *translation, const char *name, size_t at)
{
    struct hn_draft *draft = translation->draft;
    struct hn_tokens names = translation->names, own;
    for (int i = 0; i < MOST_GIVEN && hn_next(draft->unit, ",", &names, &own); i++)
        if (hn_at(draft->unit, own.end - 1, name))
            return translation->given[i];
    if (strcmp(name, "argc") == 0) /* programs are run without arguments */
        return "1";
    const char *value = hn_draft_known(draft, name, at);
    const size_t names_before = draft->names.count;
    if (value == NULL)
        value = call(translation, name, at, (struct hn_tokens){0, 0});
    if (value != NULL || !draft->opens)
        return value;
    draft->names.count = names_before; /* what it is made of is of no use alone */
    return open_size(draft, name, at);
}

/* Appends what stands at a token; returns behind it, 0 where that cannot be. */
static size_t append(const struct translation *translation, size_t at, struct hn_text *text)
{
    /* Signs of C++ that configs write otherwise. */
    static const char *const signs[][2] = {
        {"/", " // "}, {"!", "not "}, {"&&", " and "}, {"||", " or "}};
    struct hn_unit *unit = translation->draft->unit;
    const char *word = hn_text_at(unit, at), *value = NULL;
    bool bracket = hn_at(unit, at, "(");
    size_t open = bracket ? at : at + 1;
    open = hn_at(unit, open, "<") ? hn_behind(unit, open, at + 12) : open;
    bool called = hn_at(unit, open, "(");
    size_t behind = called ? hn_behind(unit, open, SIZE_MAX) : at + 1;
    while (!called && hn_at(unit, behind, ". ->"))
        behind += 2;
    char *end;
    int64_t number;
    double real = hn_is_digit(word[0]) ? hn_c_strtod(word, &end) : 0;
    if (skip_cast(unit, at) > at)
        return skip_cast(unit, at);
    if (hn_at(unit, at + 1, "::"))
        return at + 2;
    HN_EACH_OF(sign, signs, 4)
        value = strcmp(word, (*sign)[0]) == 0 ? (*sign)[1] : value;
    if (value == NULL && *word != '\0' && word[strspn(word, "*+-%<>=!&")] == '\0')
        value = HN_TEXT(unit, " %s ", word);
    else if (hn_unit_number(unit, at, &number))
        value = HN_TEXT(unit, "%lld", (long long)number);
    else if (hn_is_digit(word[0]) && end[strspn(end, "fF")] == '\0')
        value = HN_TEXT(unit, "%.15g", real); /* "256.0f" is as good as 256 */
    hn_text_append(text, value != NULL ? value : "");
    if (value != NULL)
        return at + 1;
    value = bracket  ? translate(translation, hn_inside(unit, at))
            : called ? call(translation, word, at, hn_inside(unit, open))
                     : resolve(translation, hn_unit_text(unit, (struct hn_tokens){at, behind}), at);
    hn_text_append(text, value != NULL ? as_factor(unit, value) : "");
    return value != NULL ? behind : 0;
}

/* "b : c" behind "a ?"; NULL: what is chosen is beyond configs. */
static const char *choose(const struct translation *translation, const char *when,
                          struct hn_tokens both)
{
    struct hn_unit *unit = translation->draft->unit;
    size_t colon = hn_find(unit, both, ":");
    const char *yes = translate(translation, (struct hn_tokens){both.begin, colon});
    const char *no = translate(translation, (struct hn_tokens){colon + 1, both.end});
    struct hn_value holds;
    if (hn_draft_holds(translation->draft, when, HN_OF_NOTHING, &holds, NULL))
        return hn_value_truth(&holds) ? yes : no;
    if (yes == NULL || no == NULL)
        return NULL;
    return HN_TEXT(unit, "%s if %s else %s", as_factor(unit, yes), when, as_factor(unit, no));
}

static const char *translate(const struct translation *translation, struct hn_tokens tokens)
{
    struct hn_unit *unit = translation->draft->unit;
    struct hn_expression *parsed = NULL;
    struct hn_text text = {0};
    size_t at = tokens.begin;
    while (at != 0 && at < tokens.end && !hn_at(unit, at, "?") && text.length < 400)
        at = append(translation, at, &text);
    const char *whole = hn_need_kept(&unit->memory, hn_text_take(&text));
    if (at < tokens.end && hn_at(unit, at, "?"))
        whole = choose(translation, simplify(unit, whole), (struct hn_tokens){at + 1, tokens.end});
    else if (at < tokens.end)
        return NULL;
    bool holds = whole != NULL && hn_expression_parse(whole, &parsed, NULL) == HN_OK;
    hn_expression_destroy(parsed);
    return holds ? simplify(unit, whole) : NULL;
}

const char *hn_draft_translate(struct hn_draft *draft, struct hn_tokens tokens)
{
    return translate(&(struct translation){.draft = draft}, tokens);
}
