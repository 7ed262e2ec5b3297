/* SPDX-License-Identifier: MIT */
#include "tuner/init/translate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { DEEPEST = 12 };

const char *hn_as_factor(struct hn_unit *unit, const char *text)
{
    return hn_word_length(text) == strlen(text) ? text
                                                : hn_need_format(&unit->memory, "(%s)", text);
}

static bool is_type_word(const char *text)
{
    static const char *const words[] = {"int",     "unsigned",   "signed",   "long",   "short",
                                        "float",   "double",     "const",    "size_t", "uint32_t",
                                        "int32_t", "int64_t",    "uint64_t", "uint",   "std",
                                        "::",      "static_cast"};
    return hn_text_is_among(text, words, sizeof words / sizeof *words);
}

/* Signs of C++, and what configs write for them; NULL: nothing. */
static const char *sign_of(const char *text)
{
    static const char *const signs[][2] = {
        {"/", " // "},  {"*", " * "},   {"+", " + "},    {"-", " - "},   {"%", " % "},
        {"<<", " << "}, {">>", " >> "}, {"<", " < "},    {"<=", " <= "}, {">", " > "},
        {">=", " >= "}, {"==", " == "}, {"!=", " != "},  {"&", " & "},   {"!", "not "},
        {"(", "("},     {")", ")"},     {"&&", " and "}, {"||", " or "}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strcmp(text, signs[i][0]) == 0)
            return signs[i][1];
    return NULL;
}

/* "(int)" and "static_cast<int>" say nothing; returns behind it. */
static size_t skip_cast(const struct hn_unit *unit, size_t at)
{
    size_t open = at + hn_at(unit, at, "static_cast");
    struct hn_tokens types = hn_inside(unit, open);
    if (open == at && !hn_at(unit, at, "("))
        return at;
    for (size_t i = types.begin; i < types.end; i++)
        if (!is_type_word(hn_text_at(unit, i)))
            return at;
    return types.begin < types.end ? types.end + 1 : at;
}

/* Appends what stands at a token; returns behind it, 0 where that cannot be. */
static size_t append(const struct hn_translation *translation, size_t at, struct hn_text *text)
{
    struct hn_unit *unit = translation->unit;
    const char *word = hn_text_at(unit, at);
    bool member = hn_at(unit, at + 1, ".");
    char name[160];
    int64_t number;
    if (skip_cast(unit, at) > at)
        return skip_cast(unit, at);
    if (hn_at(unit, at + 1, "::"))
        return at + 2;
    if (sign_of(word) != NULL) {
        hn_text_append(text, sign_of(word));
        return at + 1;
    }
    if (hn_unit_number(unit, (struct hn_tokens){at, at + 1}, &number)) {
        hn_text_printf(text, "%lld", (long long)number);
        return at + 1;
    }
    if (!hn_text_is_word(word) || hn_at(unit, at + 1, "("))
        return 0;
    snprintf(name, sizeof name, "%.60s%s%.60s", word, member ? "." : "",
             member ? hn_text_at(unit, at + 2) : "");
    const char *value = translation->known(translation->data, name, at);
    const struct hn_meaning *meaning = hn_unit_meaning(unit, name, at);
    if (value == NULL && meaning != NULL && translation->depth < DEEPEST) {
        struct hn_translation inner = *translation;
        inner.depth++;
        value = hn_translate(&inner, meaning->body);
    }
    if (value == NULL)
        return 0;
    hn_text_append(text, hn_as_factor(unit, value));
    return at + (member ? 3 : 1);
}

const char *hn_translate(const struct hn_translation *translation, struct hn_tokens tokens)
{
    struct hn_expression *parsed = NULL;
    struct hn_text text = {0};
    size_t at = tokens.begin;
    while (at != 0 && at < tokens.end && text.length < 400)
        at = append(translation, at, &text);
    const char *whole = hn_need_kept(&translation->unit->memory, hn_text_take(&text));
    bool holds =
        at >= tokens.end && whole[0] != '\0' && hn_expression_parse(whole, &parsed, NULL) == HN_OK;
    hn_expression_destroy(parsed);
    return holds ? whole : NULL;
}
