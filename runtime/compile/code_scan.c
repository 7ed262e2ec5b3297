/* SPDX-License-Identifier: MIT */
#include "runtime/compile/code_scan.h"

#include <stdint.h>
#include <string.h>

/* The bytes of a backslash and the line's end behind it, by which the line goes on; else 0. */
static size_t continuation(const char *at)
{
    if (*at != '\\')
        return 0;
    return at[1] == '\n' ? 2 : at[1] == '\r' && at[2] == '\n' ? 3 : 0;
}

static const char *behind_line(const char *at)
{
    while (*at != '\0' && *at != '\n')
        at += continuation(at) > 0 ? continuation(at) : 1;
    return at;
}

static const char *behind_literal(const char *at, enum hn_code *kind)
{
    const char quote = *at++;
    while (*at != quote && *at != '\n' && *at != '\0') {
        size_t joined = continuation(at);
        at += joined > 0 ? joined : at[0] == '\\' && at[1] != '\0' ? 2 : 1;
    }
    *kind = *at == quote ? HN_CODE_LITERAL : HN_CODE_OPEN;
    return at + (*at == quote);
}

static const char *behind_comment(const char *at, enum hn_code *kind)
{
    *kind = HN_CODE_COMMENT;
    if (at[1] == '/')
        return behind_line(at);
    const char *end = strstr(at + 2, "*/");
    if (end != NULL)
        return end + 2;
    *kind = HN_CODE_OPEN;
    return at + strlen(at);
}

const char *hn_code_behind(const char *at, enum hn_code *kind)
{
    if (*at == '/' && (at[1] == '/' || at[1] == '*'))
        return behind_comment(at, kind);
    if (*at == '"' || *at == '\'')
        return behind_literal(at, kind);
    *kind = HN_CODE_OTHER;
    if (!hn_is_word_char(*at))
        return at + 1;
    *kind = hn_is_digit(*at) ? HN_CODE_NUMBER : HN_CODE_WORD;
    /* 1'000.5e+3 */
    while (hn_is_word_char(*at) ||
           (*kind == HN_CODE_NUMBER && (*at == '.' || (*at == '\'' && hn_is_word_char(at[1])))))
        at++;
    return at;
}

const char *hn_code_next_line(const char *line, int *number)
{
    enum hn_code kind;
    const char *at = line;
    while (*at != '\0' && *at != '\n') {
        size_t joined = continuation(at);
        const char *behind = joined > 0 ? at + joined : hn_code_behind(at, &kind);
        for (; at < behind; at++)
            *number += *at == '\n';
    }
    ++*number;
    return at + (*at == '\n');
}

/* Behind blanks, joined lines, and comments that end before `end`. */
static const char *pass_blanks(const char *at, const char *end)
{
    enum hn_code kind;
    const char *behind = at;
    do {
        at = behind + strspn(behind, " \t");
        behind = strncmp(at, "/*", 2) == 0 ? behind_comment(at, &kind) : at + continuation(at);
    } while (at < behind && behind <= end);
    return at;
}

const char *hn_code_directive(const char *line, const char *end, const char *begins)
{
    const bool digraph = strncmp(pass_blanks(line, end), "%:", 2) == 0;
    const char *const tokens[] = {digraph ? "%:" : "#", begins};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        size_t length = strlen(tokens[i]);
        line = pass_blanks(line, end);
        if ((size_t)(end - line) < length || strncmp(line, tokens[i], length) != 0)
            return NULL;
        line += length;
    }
    return pass_blanks(line, end);
}

static bool includes_macro(const char *text, const char *macro, size_t length)
{
    static const char directive[] = "include";
    while ((text = strstr(text, directive)) != NULL) {
        text += strlen(directive);
        const char *name = text + strspn(text, " \t");
        if (name > text && hn_word_length(name) == length && strncmp(name, macro, length) == 0)
            return true;
    }
    return false;
}

/* What a line defines as a macro, where there is an #include by its name; NULL. */
static const char *find_named(const struct hn_include_scan *scan, const char *line, const char *end)
{
    const char *macro = hn_code_directive(line, end, "define");
    size_t length = macro != NULL ? hn_word_length(macro) : 0;
    const char *mark = length > 0 ? pass_blanks(macro + length, end) : "";
    const size_t call = hn_word_length(mark); /* QUOTE(part.cuh) */
    bool names = *mark == '"' || *mark == '<' || (call > 0 && mark[call] == '(');
    bool found = names && includes_macro(line, macro, length);
    for (size_t i = 0; i < scan->text_count && !found && names; i++)
        found = includes_macro(scan->macros[i].text, macro, length);
    return found ? mark : NULL;
}

static bool read_include(const struct hn_include_scan *scan, const char *line, const char *end,
                         struct hn_include *include)
{
    const bool macros = scan->macros != NULL;
    const char *mark = hn_code_directive(line, end, "include");
    include->conditional = mark == NULL;
    if (mark == NULL && macros)
        mark = find_named(scan, line, end);
    /* #include QUOTE(part.cuh) */
    if (mark != NULL && macros && mark[hn_word_length(mark)] == '(')
        mark += hn_word_length(mark);
    if (mark == NULL || (*mark != '"' && *mark != '<' && *mark != '('))
        return false;
    include->conditional |= *mark == '(';
    include->quoted = *mark != '<';
    include->name = mark + 1;
    const char closing = *mark == '"' ? '"' : *mark == '<' ? '>' : ')';
    const char *close = memchr(mark + 1, closing, (size_t)(end - mark - 1));
    include->length = close != NULL ? (size_t)(close - include->name) : 0;
    return close != NULL;
}

static void follow_conditions(struct hn_include_scan *scan, const char *line, const char *end)
{
    if (hn_code_directive(line, end, "if") != NULL) {
        const char *name = hn_code_directive(line, end, "ifdef");
        scan->conditions++;
        if (scan->nvrtc == 0 && name != NULL && strncmp(name, "__CUDACC_RTC__", 14) == 0)
            scan->nvrtc = scan->conditions;
    } else if (scan->nvrtc > 0 && scan->conditions == scan->nvrtc &&
               hn_code_directive(line, end, "else") != NULL) {
        scan->host = true;
    } else if (hn_code_directive(line, end, "endif") != NULL && --scan->conditions < scan->nvrtc) {
        scan->nvrtc = 0;
        scan->host = false;
    }
}

bool hn_include_next(struct hn_include_scan *scan, struct hn_include *include)
{
    bool found = false;
    while (!found && *scan->next != '\0') {
        const char *line = scan->next, *end = behind_line(line);
        follow_conditions(scan, line, end);
        found = read_include(scan, line, end, include);
        include->conditional |= scan->conditions > 0;
        include->host = scan->host;
        include->line = scan->line + 1;
        scan->next = hn_code_next_line(line, &scan->line);
    }
    return found;
}

enum { MOST_DEPTH = 64 };

/* Where in a source, and what was read of the declaration there. */
struct scan {
    const char *at;
    struct hn_code_text scopes[MOST_DEPTH]; /* of the open braces; length 0: no namespace */
    size_t depth;
    struct hn_code_text next_scope;
    const char *parameters; /* behind "template <"; NULL: there was none */
    bool is_kernel;
};

static bool equals(const struct hn_code_text *word, const char *text)
{
    return strlen(text) == word->length && strncmp(word->text, text, word->length) == 0;
}

/* Passes over what comes next, and over lines of directives. */
static enum hn_code next_token(const char **at, struct hn_code_text *token)
{
    enum hn_code kind = HN_CODE_OTHER;
    token->text = *at;
    *at = **at == '#' ? behind_line(*at) : hn_code_behind(*at, &kind);
    token->length = (size_t)(*at - token->text);
    return kind;
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* The next that is no comment and no blank; of an identifier with its scopes, "std::size_t". Length
 * 0 at the end. */
static struct hn_code_text next_word(const char **at)
{
    enum hn_code kind = HN_CODE_OTHER;
    struct hn_code_text word;
    do {
        *at = skip_blanks(*at);
        word.text = *at;
        *at = **at != '\0' ? hn_code_behind(*at, &kind) : *at;
    } while (kind == HN_CODE_COMMENT && **at != '\0');
    while (kind == HN_CODE_WORD && (hn_is_word_char(**at) || strncmp(*at, "::", 2) == 0))
        *at += **at == ':' ? 2 : 1;
    word.length = (size_t)(*at - word.text);
    return word;
}

/* The name of the parameter at *at, which is then behind it: the last word before a comma, an end
 * or a default. False at the end of the list. `<` and `>` within parentheses compare. */
static bool next_parameter(const char **at, struct hn_code_text *name)
{
    int angles = 0;
    int parentheses = 0;
    bool given = false;
    enum hn_code kind = HN_CODE_OTHER;
    *name = (struct hn_code_text){.length = 0};
    while (**at != '\0' && !(**at == '>' && angles == 0 && parentheses == 0)) {
        const char *word = *at;
        *at = hn_code_behind(word, &kind);
        if (*word == ',' && angles == 0 && parentheses == 0)
            return true;
        bool shift = *word == '<' && **at == '<'; /* "1 << 3" */
        *at += shift;
        parentheses += (*word == '(') - (*word == ')');
        angles += parentheses == 0 && !shift ? (*word == '<') - (*word == '>') : 0;
        given = given || *word == '=';
        if (kind == HN_CODE_WORD && !given)
            *name = (struct hn_code_text){word, (size_t)(*at - word)};
    }
    return name->length > 0 && **at == '>';
}

/* "typename T, int N = 3" becomes "T, N". */
static void append_template(const struct scan *scan, const char *name, struct hn_text *found)
{
    const char *between = "";
    const char *at = scan->parameters;
    struct hn_code_text parameter;
    hn_text_append(found, found->length > 0 ? ", \"" : "\"");
    for (size_t i = 0; i < scan->depth && i < MOST_DEPTH; i++)
        if (scan->scopes[i].length > 0)
            hn_text_printf(found, "%.*s::", (int)scan->scopes[i].length, scan->scopes[i].text);
    hn_text_printf(found, "%s<", name);
    for (; next_parameter(&at, &parameter); between = ", ")
        hn_text_printf(found, "%s%.*s", between, (int)parameter.length, parameter.text);
    hn_text_append(found, ">\"");
}

static void end_declaration(struct scan *scan)
{
    scan->parameters = NULL;
    scan->is_kernel = false;
    scan->next_scope = (struct hn_code_text){.length = 0};
}

static void read_mark(struct scan *scan, char mark)
{
    if (mark == '{') {
        if (scan->depth < MOST_DEPTH)
            scan->scopes[scan->depth] = scan->next_scope;
        scan->depth++;
    } else if (mark == '}' && scan->depth > 0) {
        scan->depth--;
    }
    if (mark == '{' || mark == '}' || mark == ';')
        end_declaration(scan);
}

/* The word ends at scan->at. True: the template's name. */
static bool read_word(struct scan *scan, const struct hn_code_text *word, const char *name)
{
    const char *next = skip_blanks(scan->at);
    if (equals(word, "namespace")) {
        if (hn_is_word_char(*next))
            scan->next_scope = next_word(&scan->at);
    } else if (equals(word, "template") && *next == '<') {
        struct hn_code_text parameter;
        scan->parameters = scan->at = next + 1;
        while (next_parameter(&scan->at, &parameter))
            continue;
    } else if (equals(word, "__global__")) {
        scan->is_kernel = true;
    }
    return equals(word, name) && *next == '(' && scan->is_kernel && scan->parameters != NULL;
}

size_t hn_kernel_templates_append(const char *source, const char *name, struct hn_text *found)
{
    struct scan scan = {.at = source};
    size_t count = 0;
    while (*scan.at != '\0') {
        struct hn_code_text word;
        if (next_token(&scan.at, &word) != HN_CODE_WORD) {
            read_mark(&scan, *word.text);
        } else if (read_word(&scan, &word, name)) {
            append_template(&scan, name, found);
            end_declaration(&scan);
            count++;
        }
    }
    return count;
}

bool hn_template_parameter_is_declared(const char *source, const char *name)
{
    for (const char *at = source; *at != '\0';) {
        struct hn_code_text word, parameter;
        next_token(&at, &word);
        const char *list = skip_blanks(at);
        if (!equals(&word, "template") || *list != '<')
            continue;
        for (list++; next_parameter(&list, &parameter);)
            if (equals(&parameter, name))
                return true;
    }
    return false;
}

/* Without what stands around it: blanks, and a comment behind it. */
static void set_value(const char *text, const char *end, struct hn_code_text *value)
{
    enum hn_code kind = HN_CODE_OTHER;
    while (text < end && strchr(" \t\n", *text) != NULL)
        text++;
    const char *last = text;
    for (const char *at = text, *behind; at < end; at = behind) {
        behind = hn_code_behind(at, &kind);
        if (kind != HN_CODE_COMMENT && !hn_is_space(*at))
            last = behind;
    }
    *value = (struct hn_code_text){text, (size_t)(last - text)};
}

/* What a comma begins: another declaration, `NAME =` or NAME{. */
static bool is_declared_next(const char *at)
{
    const char *word = skip_blanks(at + 1), *next = skip_blanks(word + hn_word_length(word));
    return next > word && (*next == '{' || (*next == '=' && next[1] != '='));
}

/* Where the value ends that begins there, within brackets or up to a semicolon; one of a list that
 * is an enum's before the next. */
static const char *find_value_end(const char *at, bool braced, bool listed)
{
    enum hn_code kind;
    int depth = 0;
    for (; *at != '\0'; at = hn_code_behind(at, &kind)) {
        bool next = *at == ',' && (listed || is_declared_next(at));
        if (depth == 0 && (*at == '}' || (!braced && (*at == ';' || next))))
            break;
        depth += (strchr("([{", *at) != NULL) - (strchr(")]}", *at) != NULL);
    }
    return at;
}

static bool read_macro(const struct hn_code_text *line, const char *name,
                       struct hn_code_text *value)
{
    const char *end = line->text + line->length;
    const char *found = hn_code_directive(line->text, end, "define");
    const struct hn_code_text macro = {found, found != NULL ? hn_word_length(found) : 0};
    if (!equals(&macro, name) || found[macro.length] == '(')
        return false;
    set_value(found + macro.length, end, value);
    return true;
}

bool hn_code_next_value(const char **at, const char *name, bool is_macro,
                        struct hn_code_text *value)
{
    bool is_constant = false, listed = false, of_template = false;
    int depth = 0;
    while (**at != '\0') {
        struct hn_code_text token;
        enum hn_code kind = next_token(at, &token);
        const char mark = *token.text, *next = skip_blanks(*at);
        if (mark == '#' && is_macro && read_macro(&token, name, value))
            return true;
        depth += (mark == '(') - (mark == ')' && depth > 0);
        listed = (listed && strchr("};", mark) == NULL) || equals(&token, "enum");
        if (mark == '{' && is_constant && !listed) { /* of another value */
            *at = find_value_end(*at, true, false);
            *at += **at == '}';
        } else if (kind == HN_CODE_OTHER && strchr(";{}()", mark) != NULL) {
            is_constant = false;
        }
        /* "template <const int NAME = 64>" is the template's to give. */
        of_template = (of_template && strchr(">;", mark) == NULL) || equals(&token, "template");
        is_constant |=
            listed || equals(&token, "constexpr") || (equals(&token, "const") && !of_template);
        bool braced = *next == '{';
        if (is_macro || !is_constant || depth > 0 || !equals(&token, name) ||
            !(braced || (*next == '=' && next[1] != '=')))
            continue;
        *at = find_value_end(next + 1, braced, listed);
        set_value(next + 1, *at, value);
        return true;
    }
    return false;
}

/* What a kernel's parameters are. */

static void append_word(char *text, size_t size, const struct hn_code_text *word)
{
    size_t length = strlen(text), blank = length > 0;
    if (length + blank + word->length >= size)
        return;
    if (blank)
        text[length++] = ' ';
    memcpy(text + length, word->text, word->length);
    text[length + word->length] = '\0';
}

static bool is_qualifier(const struct hn_code_text *word)
{
    static const char *const words[] = {
        "const", "volatile", "__restrict__",      "__restrict", "restrict", "struct",
        "class", "enum",     "__grid_constant__", "typename",   "constexpr"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (equals(word, words[i]))
            return true;
    return false;
}

/* "const float *__restrict__ x": the last word is the name, what stands before without qualifiers
 * the type. */
static void read_parameter(const struct hn_code_text *words, size_t count,
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
        const struct hn_code_text *word = &words[i];
        parameter->constant = parameter->constant || (equals(word, "const") && !parameter->pointer);
        parameter->pointer = parameter->pointer || equals(word, "*") || equals(word, "[");
        if (equals(word, "[")) {
            append_word(parameter->spelled, sizeof parameter->spelled,
                        &(struct hn_code_text){"*", 1});
            break;
        }
        if (i == name)
            continue;
        if ((hn_is_word_char(word->text[0]) || word->text[0] == ':') && !is_qualifier(word))
            append_word(parameter->type, sizeof parameter->type, word);
        if (!equals(word, "__restrict__") && !equals(word, "__restrict") &&
            !equals(word, "restrict") && !equals(word, "__grid_constant__"))
            append_word(parameter->spelled, sizeof parameter->spelled, word);
    }
}

/* The list behind its opening bracket. False: directives are in it, or more than can be told. */
static bool read_list(const char **at, struct hn_declared *declared)
{
    struct hn_code_text words[32];
    size_t count = 0;
    bool given = false;
    int depth = 0;
    declared->count = 0;
    for (struct hn_code_text word = next_word(at); word.length > 0; word = next_word(at)) {
        bool ends = equals(&word, ")") && depth == 0;
        if (equals(&word, "#"))
            return false;
        if (ends || (equals(&word, ",") && depth == 0)) {
            bool none = ends && declared->count == 0 &&
                        (count == 0 || (count == 1 && equals(&words[0], "void")));
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
        given = given || equals(&word, "=");
        depth += equals(&word, "(") + equals(&word, "<") - equals(&word, ")") - equals(&word, ">");
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
    for (struct hn_code_text word = next_word(&at); word.length > 0; word = next_word(&at)) {
        if (!equals(&word, "__global__"))
            continue;
        /* Attributes with brackets of their own are passed over. */
        for (word = next_word(&at); word.length > 0 && strchr(";{}", word.text[0]) == NULL;
             word = next_word(&at)) {
            const char *open = at;
            struct hn_code_text next = next_word(&open);
            if (!equals(&next, "(") || !hn_is_word_char(word.text[0]))
                continue;
            at = open;
            if (strncmp(word.text, "__", 2) == 0) {
                for (int depth = 1; depth > 0 && *at != '\0';) {
                    next = next_word(&at);
                    depth += equals(&next, "(") - equals(&next, ")");
                }
                continue;
            }
            struct hn_declared own;
            bool plain = read_list(&at, &own);
            next = next_word(&at);
            if (word.length != name_length || strncmp(word.text, name, name_length) != 0 ||
                (plain && !equals(&next, "{")))
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
