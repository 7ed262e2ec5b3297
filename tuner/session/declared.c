/* SPDX-License-Identifier: MIT */
#include "tuner/session/declared.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "runtime/compile/code_scan.h"

struct word {
    const char *text;
    size_t length;
};

static bool is(const struct word *word, const char *text)
{
    return strlen(text) == word->length && strncmp(word->text, text, word->length) == 0;
}

/* The next that is no comment and no blank; of an identifier with its scopes, "std::size_t". Length
 * 0 at the end. */
static struct word next_word(const char **at)
{
    enum hn_code kind = HN_CODE_OTHER;
    struct word word;
    do {
        *at += strspn(*at, " \t\r\n");
        word.text = *at;
        *at = **at != '\0' ? hn_code_behind(*at, &kind) : *at;
    } while (kind == HN_CODE_COMMENT && **at != '\0');
    while (kind == HN_CODE_WORD && (hn_is_word_char(**at) || strncmp(*at, "::", 2) == 0))
        *at += **at == ':' ? 2 : 1;
    word.length = (size_t)(*at - word.text);
    return word;
}

/* Behind the bracket that closes the one before. */
static void skip_brackets(const char **at)
{
    int depth = 1;
    for (struct word word = next_word(at); word.length > 0 && depth > 0;) {
        depth += is(&word, "(") - is(&word, ")");
        if (depth > 0)
            word = next_word(at);
    }
}

static void append(char *text, size_t size, const struct word *word)
{
    size_t length = strlen(text), blank = length > 0;
    if (length + blank + word->length >= size)
        return;
    if (blank)
        text[length++] = ' ';
    memcpy(text + length, word->text, word->length);
    text[length + word->length] = '\0';
}

static bool is_qualifier(const struct word *word)
{
    static const char *const words[] = {
        "const", "volatile", "__restrict__",      "__restrict", "restrict", "struct",
        "class", "enum",     "__grid_constant__", "typename",   "constexpr"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is(word, words[i]))
            return true;
    return false;
}

/* "const float *__restrict__ x": the last word is the name, what stands before without qualifiers
 * the type. */
static void read_parameter(const struct word *words, size_t count,
                           struct hn_declared_parameter *parameter)
{
    size_t name = SIZE_MAX, types = 0;
    memset(parameter, 0, sizeof *parameter);
    for (size_t i = 0; i < count; i++) {
        bool type = hn_is_word_char(words[i].text[0]) && !is_qualifier(&words[i]);
        name = type ? i : name;
        types += type;
    }
    name = types > 1 ? name : SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct word *word = &words[i];
        parameter->constant = parameter->constant || (is(word, "const") && !parameter->pointer);
        parameter->pointer = parameter->pointer || is(word, "*") || is(word, "[");
        if (is(word, "[")) {
            append(parameter->spelled, sizeof parameter->spelled, &(struct word){"*", 1});
            break;
        }
        if (i == name)
            continue;
        if ((hn_is_word_char(word->text[0]) || word->text[0] == ':') && !is_qualifier(word))
            append(parameter->type, sizeof parameter->type, word);
        if (!is(word, "__restrict__") && !is(word, "__restrict") && !is(word, "restrict") &&
            !is(word, "__grid_constant__"))
            append(parameter->spelled, sizeof parameter->spelled, word);
    }
}

/* The list behind its opening bracket. False: directives are in it, or more than can be told. */
static bool read_list(const char **at, struct hn_declared *declared)
{
    struct word words[32];
    size_t count = 0;
    bool given = false;
    int depth = 0;
    declared->count = 0;
    for (struct word word = next_word(at); word.length > 0; word = next_word(at)) {
        bool ends = is(&word, ")") && depth == 0;
        if (is(&word, "#"))
            return false;
        if (ends || (is(&word, ",") && depth == 0)) {
            bool none = ends && declared->count == 0 &&
                        (count == 0 || (count == 1 && is(&words[0], "void")));
            if (!none && declared->count == HN_DECLARED_MOST)
                return false;
            if (!none)
                read_parameter(words, count, &declared->parameters[declared->count++]);
            if (ends)
                return true;
            count = 0;
            given = false;
            continue;
        }
        given = given || is(&word, "=");
        depth += is(&word, "(") + is(&word, "<") - is(&word, ")") - is(&word, ">");
        if (!given && count < sizeof words / sizeof *words)
            words[count++] = word;
    }
    return false;
}

bool hn_declared_find(const char *source, const char *name, size_t name_length,
                      struct hn_declared *declared)
{
    const char *at = source;
    bool found = false;
    for (struct word word = next_word(&at); word.length > 0; word = next_word(&at)) {
        if (!is(&word, "__global__"))
            continue;
        /* Attributes with brackets of their own are passed over. */
        for (word = next_word(&at); word.length > 0 && strchr(";{}", word.text[0]) == NULL;
             word = next_word(&at)) {
            const char *open = at;
            struct word next = next_word(&open);
            if (!is(&next, "(") || !hn_is_word_char(word.text[0]))
                continue;
            at = open;
            if (strncmp(word.text, "__", 2) == 0) {
                skip_brackets(&at);
                continue;
            }
            struct hn_declared own;
            bool plain = read_list(&at, &own);
            next = next_word(&at);
            if (word.length != name_length || strncmp(word.text, name, name_length) != 0 ||
                (plain && !is(&next, "{")))
                break;
            if (found || !plain)
                return false;
            *declared = own;
            found = true;
            break;
        }
    }
    return found;
}
