/* SPDX-License-Identifier: MIT */
#include "tuner/init/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "runtime/compile/code_scan.h"
#include "runtime/compile/template.h"
#include "runtime/device/library.h"
#include "tuner/init/clang.h"

enum { MOST_BYTES = 4 << 20, MOST_DEFINES = 2000, MOST_PASSES = 6, MOST_FIELDS = 64 };

/* What stands for a type that nothing declares. */
#define ASSUMED_TYPE "typedef float %s;\n"

struct reading {
    struct hn_unit *unit;
    CXTranslationUnit tree;
    struct hn_tokens function;
    bool host;                        /* what was read last */
    struct hn_kernel *kernel;         /* which that function is; NULL: none */
    struct hn_kernel_argument *whole; /* the structure whose fields are read; NULL: none */
    CXType record;                    /* its type */
    bool foreign;        /* a file of the source's own is missing, which may define anything */
    const char *defines; /* of the prelude: names that nothing declares */
    void *library;       /* libclang, to be closed by hn_library_close, and its functions */
#define X(type, name, arguments) type(*name) arguments;
    HN_CLANG_FUNCTIONS(X)
#undef X
};

void *hn_unit_room(struct hn_unit *unit, void *items, size_t count, size_t size)
{
    if ((count & (count - 1)) != 0)
        return items;
    void *more = hn_need_block(&unit->memory, 2 * count + 1, size);
    return count > 0 ? memcpy(more, items, count * size) : more;
}

/* Tokens. */

const char *hn_text_at(const struct hn_unit *unit, size_t token)
{
    return token < unit->tokens.count ? unit->tokens.items[token].text : "";
}

bool hn_at(const struct hn_unit *unit, size_t token, const char *texts)
{
    const char *text = hn_text_at(unit, token);
    size_t size = strcspn(texts, " ");
    bool same = strncmp(texts, text, size) == 0 && text[size] == '\0';
    return same || (texts[size] != '\0' && hn_at(unit, token, texts + size + 1));
}

size_t hn_find(const struct hn_unit *unit, struct hn_tokens within, const char *texts)
{
    for (size_t i = within.begin; i < within.end && i < unit->tokens.count; i++)
        if (hn_at(unit, i, texts))
            return i;
    return SIZE_MAX;
}

size_t hn_find_back(const struct hn_unit *unit, size_t end, const char *texts)
{
    while (end-- > 0 && !hn_at(unit, end, texts))
        continue;
    return end;
}

/* What reads and writes. */
static const char steps[] = "++ -- += -= *= /= %= &= |= ^= <<= >>=";

size_t hn_behind(const struct hn_unit *unit, size_t open, size_t end)
{
    bool angles = hn_at(unit, open, "<");
    size_t depth = 0;
    for (size_t i = open; i < end && i < unit->tokens.count; i++) {
        if (angles && hn_at(unit, i, "> >> >>>") && depth <= strlen(hn_text_at(unit, i)))
            return i + 1;
        depth += hn_at(unit, i, angles ? "( [ { <" : "( [ {");
        if (hn_at(unit, i, angles ? ") ] } >" : ") ] }") && --depth == 0)
            return i + 1;
    }
    return end < unit->tokens.count ? end : unit->tokens.count;
}

struct hn_tokens hn_inside(const struct hn_unit *unit, size_t open)
{
    return (struct hn_tokens){open + 1, hn_behind(unit, open, SIZE_MAX) - 1};
}

bool hn_next(const struct hn_unit *unit, const char *sign, struct hn_tokens *list,
             struct hn_tokens *item)
{
    size_t at = list->begin, end = list->end < unit->tokens.count ? list->end : unit->tokens.count;
    *item = (struct hn_tokens){at, at};
    while (item->end < end && !hn_at(unit, item->end, sign)) {
        size_t open = item->end++;
        bool angles = hn_at(unit, open, "<");
        if (!angles && !hn_at(unit, open, "( [ {"))
            continue;
        /* "pair<int, 2>", "const pair<int, 2> &x", but not "a < b, c > d". */
        size_t behind = hn_behind(unit, open, angles && end - open > 99 ? open + 99 : end);
        bool closed = hn_text_at(unit, behind - 1)[0] == '>' || hn_at(unit, behind, ">>");
        bool ends = behind == end || hn_at(unit, behind, "& *") || hn_at(unit, behind, sign);
        if (!angles || (closed && ends))
            item->end = behind;
    }
    list->begin = item->end + 1;
    return at < end;
}

const char *hn_unit_text(struct hn_unit *unit, struct hn_tokens tokens)
{
    const char *text = "";
    for (size_t i = tokens.begin; i < tokens.end && i < unit->tokens.count; i++) {
        const struct hn_token *token = &unit->tokens.items[i];
        bool apart = i > tokens.begin && token->begin > token[-1].end;
        text = HN_TEXT(unit, "%s%s%s", text, apart ? " " : "", token->text);
    }
    return text;
}

bool hn_unit_number(const struct hn_unit *unit, size_t token, int64_t *number)
{
    const char *text = hn_text_at(unit, token);
    char *end;
    errno = 0;
    text = strcmp(text, "true") == 0 ? "1" : hn_at(unit, token, "false nullptr NULL") ? "0" : text;
    *number = strtoll(text, &end, 0);
    return end != text && errno == 0 && end[strspn(end, "uUlL")] == '\0';
}

bool hn_is_like(const char *name, const char *kinds)
{
    bool within = false;
    size_t size;
    for (const char *at = hn_init_names; *at != '\0'; at += size + strspn(at + size, " \n")) {
        char word[32];
        bool other = *at == '-', part = at[other] == '*';
        size = strcspn(at, " \n");
        if (*at == '#' || at[size - 1] == ':')
            within = size > 1 && hn_text_find_word(kinds, at, size - 1) != NULL;
        snprintf(word, sizeof word, "%.*s", (int)size - other - part, at + other + part);
        bool fits = within && (part ? hn_find_letters(name, word) != NULL
                                    : hn_same_letters(name, word, SIZE_MAX));
        if (fits && !other)
            return true;
        within = within && !fits;
    }
    return false;
}

/* Those of libclang. */

static char *keep(struct reading *reading, CXString string)
{
    const char *text = reading->getCString(string);
    char *kept = hn_need_kept(&reading->unit->memory, hn_need_copy(text != NULL ? text : ""));
    reading->disposeString(string);
    return kept;
}

static const char *name_of(struct reading *reading, CXCursor cursor)
{
    return keep(reading, reading->getCursorSpelling(cursor));
}

static size_t offset_of(const struct reading *reading, CXSourceLocation location)
{
    unsigned offset = 0;
    reading->getFileLocation(location, NULL, NULL, NULL, &offset);
    return offset;
}

/* The first token that does not end before a place. */
static size_t token_at(const struct reading *reading, CXSourceLocation location)
{
    size_t low = 0, high = reading->unit->tokens.count, offset = offset_of(reading, location);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (reading->unit->tokens.items[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct hn_tokens extent_of(const struct reading *reading, CXCursor cursor)
{
    CXSourceRange range = reading->getCursorExtent(cursor);
    return (struct hn_tokens){token_at(reading, reading->getRangeStart(range)),
                              token_at(reading, reading->getRangeEnd(range))};
}

static size_t place_of(const struct reading *reading, CXCursor cursor)
{
    return token_at(reading, reading->getCursorLocation(cursor));
}

/* The namespaces that it is declared in, "demo::". */
static const char *scope_of(struct reading *reading, CXCursor cursor)
{
    CXCursor parent = reading->getCursorSemanticParent(cursor);
    if (parent.kind > CXCursor_LastDecl)
        return "";
    const char *outer = scope_of(reading, parent), *name = name_of(reading, parent);
    bool named = parent.kind == CXCursor_Namespace && hn_text_is_word(name);
    return named ? HN_TEXT(reading->unit, "%s%s::", outer, name) : outer;
}

static void read_tokens(struct reading *reading)
{
    struct hn_unit *unit = reading->unit;
    CXToken *tokens = NULL;
    unsigned count = 0;
    size_t behind = 0;
    CXCursor root = reading->getTranslationUnitCursor(reading->tree);
    reading->tokenize(reading->tree, reading->getCursorExtent(root), &tokens, &count);
    for (unsigned i = 0; i < count; i++) {
        if (reading->getTokenKind(tokens[i]) == CXToken_Comment)
            continue;
        struct hn_token *token = HN_GROW(unit, unit->tokens);
        char *text = keep(reading, reading->getTokenSpelling(reading->tree, tokens[i])), *mark;
        token->text = text;
        token->begin = offset_of(reading, reading->getTokenLocation(reading->tree, tokens[i]));
        token->end = token->begin + strlen(text);
        while (hn_is_digit(*text) && (mark = strchr(text, '\'')) != NULL) /* "10'000" */
            memmove(mark, mark + 1, strlen(mark));
        token->starts = behind == 0;
        for (size_t c = behind; c < token->begin; c++)
            token->starts |= unit->text[c] == '\n' && (c == 0 || unit->text[c - 1] != '\\');
        token->directive = token->starts ? strcmp(token->text, "#") == 0 : token[-1].directive;
        behind = token->end;
    }
    reading->disposeTokens(reading->tree, tokens, count);
}

/* What names stand for. */

/* Of several of a name the one that a structure has; NULL: of whichever. */
static const struct hn_meaning *find_meaning(const struct hn_unit *unit, const char *name,
                                             size_t at, const struct hn_meaning *of)
{
    const struct hn_meaning *found = NULL;
    /* What a macro names is known where it is used. */
    bool anywhere = at > 0 && at < unit->tokens.count && unit->tokens.items[at].directive;
    HN_EACH(each, unit->meanings) {
        bool known = (each->scope.begin == 0 || each->given || each->body.begin <= at) &&
                     HN_WITHIN(each->scope, at);
        bool better =
            found == NULL || ((known || !each->given) &&
                              (of == NULL || !HN_WITHIN(of->members, found->body.begin)) &&
                              each->scope.begin >= found->scope.begin);
        if ((known || anywhere) && better && strcmp(each->name, name) == 0)
            found = each;
    }
    return found;
}

const struct hn_meaning *hn_unit_meaning(const struct hn_unit *unit, const char *name, size_t at)
{
    const struct hn_meaning *of = NULL; /* "Policy::TILE" */
    size_t word = hn_at(unit, at - 1, "::") ? at - 2 : SIZE_MAX;
    for (int depth = 0; depth < 4 && word != SIZE_MAX; depth++) {
        of = find_meaning(unit, hn_text_at(unit, word), word, NULL);
        word = of != NULL && of->given ? of->body.begin : SIZE_MAX;
    }
    static const struct hn_meaning nothing = {.name = "", .scope = {SIZE_MAX, SIZE_MAX}};
    of = find_meaning(unit, name, at, of);
    return of != NULL ? of : &nothing;
}

/* Whether "run" at a token is that of "void run(float *x);", not of a call. */
static bool is_declared(const struct hn_unit *unit, size_t name)
{
    return hn_text_is_word(hn_text_at(unit, name - 1)) && !hn_at(unit, name - 1, "return else");
}

/* The parameters of a macro, a template or a function, whose name its scope begins with: "N" of
 * "run<128>(x)" is 128, or what N is preset to; "op" is that of "float (*op)(int)". */
static void read_given(struct hn_unit *unit, const char *open, struct hn_tokens parameters,
                       struct hn_tokens scope, bool class)
{
    struct hn_tokens list = {0, 0}, parameter, given;
    bool several = false;
    HN_EACH_AT(i, unit, HN_EVERYWHERE, hn_text_at(unit, scope.begin)) {
        bool call = open[0] == '(', angles = call && hn_at(unit, i + 1, "<");
        bool object = call && hn_text_is_word(hn_text_at(unit, i + 1)); /* "Solver solver(n);" */
        size_t at = angles ? hn_behind(unit, i + 1, SIZE_MAX) : i + 1 + object;
        if (HN_WITHIN(scope, i) || !hn_at(unit, at, open) || (call && is_declared(unit, i)))
            continue;
        /* Of a class that is given different ones the first may be another. */
        several |= class && list.begin < list.end &&
                   strcmp(hn_unit_text(unit, list), hn_unit_text(unit, hn_inside(unit, at))) != 0;
        list = list.begin < list.end ? list : hn_inside(unit, at);
    }
    while (hn_next(unit, ",", &parameters, &parameter)) {
        size_t equals = hn_find(unit, parameter, "=");
        size_t end = equals < parameter.end ? equals : parameter.end;
        size_t name = hn_at(unit, end - 1, ")") ? hn_find(unit, parameter, "*") + 1 : end - 1;
        if (!hn_next(unit, ",", &list, &given))
            given = (struct hn_tokens){end + 1, parameter.end};
        given.end = several ? given.begin : given.end;
        *HN_GROW(unit, unit->meanings) = (struct hn_meaning){
            .name = hn_text_at(unit, name), .body = given, .scope = scope, .given = true};
    }
}

/* Macros, and which are for whoever compiles: within the #ifndef or #if !defined() of one of them.
 * What may guard an inclusion, as FIELD_H, is one itself where it has a value, as BLOCK_H. */
static void read_macros(struct reading *reading)
{
    static const char *const ends[] = {"_H",  "_H_",  "_H__",  "_CUH", "_CUH_",
                                       "_CU", "_HPP", "_HPP_", NULL};
    struct hn_unit *unit = reading->unit;
    const char *guard[64] = {NULL};
    size_t depth = 0;
    HN_EACH_AT(i, unit, HN_EVERYWHERE, "#") {
        size_t end = i + 1;
        while (end < unit->tokens.count && !unit->tokens.items[end].starts)
            end++;
        if (!unit->tokens.items[i].starts)
            continue;
        bool lacks = hn_at(unit, i + 2, "!") && hn_at(unit, i + 3, "defined");
        size_t of = lacks ? i + 4 + hn_at(unit, i + 4, "(") : i + 2;
        if (hn_at(unit, i + 1, "if ifdef ifndef") && depth < 63)
            guard[++depth] = lacks || hn_at(unit, i + 1, "ifndef") ? hn_text_at(unit, of) : NULL;
        else if (hn_at(unit, i + 1, "else elif"))
            guard[depth] = NULL;
        else if (hn_at(unit, i + 1, "endif") && depth > 0)
            depth--;
        if (!hn_at(unit, i + 1, "define") || i + 2 >= end)
            continue;
        const struct hn_token *name = &unit->tokens.items[i + 2];
        bool takes = hn_at(unit, i + 3, "(") && name[1].begin == name->end;
        size_t body = takes ? hn_behind(unit, i + 3, end) : i + 3;
        const char *open = guard[depth];
        bool own = open != NULL && strcmp(open, name->text) == 0 && !hn_at(unit, body, "1");
        *HN_GROW(unit, unit->meanings) = (struct hn_meaning){
            .name = name->text,
            .body = {body, end},
            .scope = reading->function,
            .parameters = takes ? hn_inside(unit, i + 3) : (struct hn_tokens){0, 0},
            .macro = true,
            .guarded = open != NULL && body < end && (own || !hn_ends_in(open, ends))};
        *HN_GROW(unit, unit->device) = (struct hn_tokens){body, end};
        if (takes)
            read_given(unit, "(", hn_inside(unit, i + 3), (struct hn_tokens){i + 2, end}, false);
    }
}

/* Whether the host writes to a number again in the block that declares it. Programs are run without
 * arguments, loops by a head are at their first turn. */
static bool is_written(const struct hn_unit *unit, const struct hn_meaning *own, size_t begin)
{
    struct hn_tokens rest = {begin, own->scope.end}, known;
    hn_next(unit, "}", &rest, &known);
    HN_EACH_AT(i, unit, known, own->name) {
        rest = HN_REST(unit, i);
        bool turn = hn_find(unit, rest, ")") < hn_find(unit, rest, "("); /* "i++) {" */
        bool step = (hn_at(unit, i - 1, steps) || hn_at(unit, i + 1, steps)) && !turn;
        bool set = hn_at(unit, i + 1, "=") && hn_at(unit, i - 1, "; { } ) :");
        size_t open = hn_find_back(unit, i, "( { ;");
        /* A copy from there does not set it, nor does a list of addresses. */
        bool from = hn_find_letters(hn_text_at(unit, open - 1), "memcpy") != NULL && open + 2 < i;
        bool passed =
            hn_at(unit, i - 1, "&") && hn_at(unit, i - 2, "( ,") && hn_at(unit, open, "(") && !from;
        if ((step || set || passed) && !HN_HAS(unit, rest, "argv") && !HN_HAS(unit, rest, "optarg"))
            return true;
    }
    return false;
}

/* A variable's or an enumerator's value, from the name on: "= value", "(values)", "{values}". */
static void read_variable(struct reading *reading, CXCursor cursor)
{
    struct hn_unit *unit = reading->unit;
    size_t at = place_of(reading, cursor) + 1;
    const char *name = name_of(reading, cursor);
    CXType type = reading->getCanonicalType(reading->getCursorType(cursor));
    struct hn_tokens body = {at, at}, list, whole = extent_of(reading, cursor);
    bool listed = cursor.kind == CXCursor_EnumConstantDecl;
    if (!hn_at(unit, at - 1, name))
        return;
    while (hn_at(unit, at, "["))
        at = hn_behind(unit, at, SIZE_MAX);
    /* "int blocks; blocks = n / 64;", of a class, too, or by its constructor, "Solver() :
     * blocks(64)"; what begins as 0 is set: "get(&blocks);" */
    bool field = cursor.kind == CXCursor_FieldDecl;
    bool local = reading->function.begin > 0;
    bool host = local && reading->host;
    bool loop = host && hn_at(unit, whole.begin - 1, "("); /* "for (int k = 0;" */
    bool later = field || (local && !loop && !reading->isConstQualifiedType(type));
    CXCursor parent = reading->getCursorSemanticParent(cursor);
    struct hn_tokens all = {field ? extent_of(reading, parent).begin : at, reading->function.end};
    at += later && hn_at(unit, at, "=") && hn_at(unit, at + 1, "0") ? 2 : 0;
    if (later)
        HN_EACH_AT(i, unit, all, name) {
            bool built = field && hn_at(unit, i - 1, ": ,");
            bool set = hn_at(unit, i - 1, built ? ": ," : "; { } (");
            if (set && hn_at(unit, i + 1, built ? "( {" : "=") && hn_at(unit, at, ", ;"))
                at = i + 1;
        }
    if (hn_at(unit, at, "( {")) {
        body = hn_inside(unit, at);
    } else if (hn_at(unit, at, "=")) {
        list = listed ? (struct hn_tokens){at + 1, whole.end} : HN_REST(unit, at + 1);
        hn_next(unit, ",", &list, &body);
    } else if (!listed) {
        return;
    }
    bool number = type.kind >= CXType_Bool && type.kind < CXType_Int128;
    bool pointer = type.kind == CXType_Pointer;
    /* What depends on a template of its own is nobody's to choose, nor one of a type's kinds. */
    bool unnamed = hn_at(unit, place_of(reading, parent), "enum");
    bool of_template =
        parent.kind == CXCursor_ClassTemplate && !hn_unit_number(unit, body.begin, &(int64_t){0});
    bool constant = reading->isConstQualifiedType(pointer ? reading->getPointeeType(type) : type);
    const char *space = local ? NULL : scope_of(reading, cursor);
    if (listed && !unnamed)
        space = HN_TEXT(unit, "%s::", keep(reading, reading->getTypeSpelling(type)));
    struct hn_meaning own = {.name = name,
                             .space = space,
                             .body = body,
                             .scope = reading->function,
                             .pointer = pointer || type.kind == CXType_Auto,
                             .constant = (listed && unnamed) ||
                                         (!of_template && (number || pointer) && constant)};
    if (host && number && is_written(unit, &own, body.end))
        own.body.end = body.begin;
    *HN_GROW(unit, unit->meanings) = own;
}

/* How kernels use their pointers. */

static bool is_operand(const struct hn_unit *unit, size_t token)
{
    bool word = hn_is_word_char(hn_text_at(unit, token)[0]) && !hn_at(unit, token, "return");
    return word || hn_at(unit, token, ") ]");
}

/* Of a pointer, or of one that a structure of that name has as a field; all may be passed on. */
static void note_uses(const struct hn_unit *unit, const struct hn_kernel *kernel, const char *name,
                      const char *field, struct hn_kernel_argument *argument, int depth)
{
    HN_EACH_AT(i, unit, kernel->body, name) {
        const struct hn_meaning *alias = NULL;
        /* "view.row(y)[x]" is passed all of it. */
        bool member = field != NULL && hn_at(unit, i + 1, ".") && !hn_at(unit, i + 3, "(");
        size_t first = i, bare = i + (member ? 3 : 1), end = bare;
        if (hn_at(unit, i - 1, ".") ||
            (member &&
             !hn_text_find_word(field, hn_text_at(unit, i + 2), strlen(hn_text_at(unit, i + 2)))))
            continue;
        while (hn_at(unit, first - 1, "(") && !is_operand(unit, first - 2) &&
               !hn_at(unit, first - 2, ">"))
            first--;
        while (hn_at(unit, end, "["))
            end = hn_behind(unit, end, kernel->body.end);
        /* "*(out + i)", "reinterpret_cast<float4 *>(out)[i]", also of "&out[i]" */
        bool star =
            hn_at(unit, first - 1, "*") && (!is_operand(unit, first - 2) || hn_at(unit, end, "="));
        if (!star && hn_at(unit, end, "= += -=") && end == bare)
            continue;
        bool address = hn_at(unit, first - 1, "&") && !is_operand(unit, first - 2);
        size_t open = first - 1 - address;
        bool cast = hn_at(unit, open, "(") && hn_at(unit, open - 1, ">") && hn_at(unit, end, ")") &&
                    hn_at(unit, end + 1, "[");
        bool indexed = !address && (end > bare || hn_at(unit, end, "->"));
        size_t behind = hn_at(unit, first, "(") ? hn_behind(unit, first, kernel->body.end) : end;
        /* "T *row = out + 4;" is the pointer by another name. */
        HN_EACH(each, unit->meanings)
            if (each->pointer && HN_WITHIN(each->body, i) && depth < 3)
                alias = each;
        if (indexed || star || cast) {
            size_t at = indexed ? end : behind;
            while (hn_at(unit, at, "[ . ) ->"))
                at = hn_at(unit, at, "[") ? hn_behind(unit, at, SIZE_MAX)
                                          : at + (hn_at(unit, at, ")") ? 1 : 2);
            /* "= x" writes, "+= x" and "++" do both, all else reads. */
            bool assigned = hn_at(unit, at, "=");
            bool before = hn_at(unit, first - 1 - star, "++ --");
            argument->writes |= assigned || before || hn_at(unit, at, steps);
            argument->reads |= !assigned;
        } else if (alias != NULL && !alias->constant)
            note_uses(unit, kernel, alias->name, NULL, argument, depth + 1);
        else
            argument->reads = true;
        argument->passed |= !indexed && !star && !cast && alias == NULL;
        argument->writes |= argument->passed;
    }
}

/* Kernels. */

static const char *without_words(const char *spelled)
{
    size_t length = hn_word_length(spelled);
    bool more = spelled[length] == ' ' &&
                hn_text_find_word("const volatile struct enum class", spelled, length) != NULL;
    return more ? without_words(spelled + length + 1) : spelled;
}

static void read_type(struct reading *reading, CXType type, struct hn_kernel_argument *argument);

/* A number or a pointer of a structure, or each of those within one or an array, by its path. */
static void add_field(struct reading *reading, CXType type, const char *path)
{
    struct hn_kernel_argument field = {.name = path, .last = path}, *whole = reading->whole;
    CXType canonical = reading->getCanonicalType(type);
    if (canonical.kind == CXType_ConstantArray) {
        CXType element = reading->getArrayElementType(canonical);
        for (long long i = 0; i < reading->getArraySize(canonical) && !whole->hides; i++)
            add_field(reading, element, HN_TEXT(reading->unit, "%s[%lld]", path, i));
        return;
    }
    read_type(reading, type, &field);
    bool within =
        field.fields.items != NULL && (field.type[0] == '\0' || strchr(field.type, 'x') != NULL);
    size_t count = within ? field.fields.count : 1;
    whole->hides |= (within && field.hides) || whole->fields.count + count > MOST_FIELDS ||
                    canonical.kind == CXType_DependentSizedArray;
    for (size_t i = 0; i < count && whole->fields.count < MOST_FIELDS; i++) {
        struct hn_kernel_argument *added = &whole->fields.items[whole->fields.count++];
        *added = within ? field.fields.items[i] : field;
        if (within && path[0] != '\0')
            added->name = HN_TEXT(reading->unit, "%s.%s", path, added->name);
    }
}

/* Of a union the first one. What is not public or no whole number of bytes has no address. */
static int read_field(CXCursor cursor, CXCursor parent, void *data)
{
    struct reading *reading = data;
    bool base = cursor.kind == CXCursor_CXXBaseSpecifier;
    if (!base && cursor.kind != CXCursor_FieldDecl)
        return CXChildVisit_Continue;
    add_field(reading, reading->getCursorType(cursor), base ? "" : name_of(reading, cursor));
    reading->whole->hides |= reading->Cursor_isBitField(cursor) != 0 ||
                             reading->getCXXAccessSpecifier(cursor) > CX_CXXPublic;
    return parent.kind == CXCursor_UnionDecl ? CXChildVisit_Break : CXChildVisit_Continue;
}

/* Of an argument or a field. */
static void read_type(struct reading *reading, CXType type, struct hn_kernel_argument *argument)
{
    struct hn_kernel_argument *outer = reading->whole;
    CXType canonical = reading->getCanonicalType(type);
    bool array =
        canonical.kind >= CXType_ConstantArray && canonical.kind <= CXType_DependentSizedArray;
    argument->pointer = array || canonical.kind == CXType_Pointer;
    if (argument->pointer) {
        CXType (*within)(CXType) = array ? reading->getArrayElementType : reading->getPointeeType;
        type = within(type).kind != 0 ? within(type) : type;
        canonical = within(canonical);
        argument->constant = reading->isConstQualifiedType(canonical) != 0;
    }
    const char *spelled = without_words(keep(reading, reading->getTypeSpelling(canonical)));
    /* "T *data" of "View<float>", which is no other structure's field. */
    CXType given = {0}, record = reading->record;
    unsigned which;
    if (outer != NULL && outer->record[0] != '\0' &&
        sscanf(spelled, HN_TEMPLATE_TYPE "%u", &which) == 1)
        given = reading->Type_getTemplateArgumentAsType(record, which);
    if (given.kind != 0 && given.kind != CXType_Pointer) {
        type = canonical = given;
        argument->constant |= reading->isConstQualifiedType(canonical) != 0;
        spelled = without_words(keep(reading, reading->getTypeSpelling(canonical)));
    }
    argument->type_name = without_words(keep(reading, reading->getTypeSpelling(type)));
    argument->assumed =
        strstr(reading->defines, HN_TEXT(reading->unit, ASSUMED_TYPE, argument->type_name)) != NULL;
    /* Nobody tells here what its structure's template is given. */
    bool open = strchr(spelled, '(') != NULL ||
                (outer != NULL && strchr(outer->record, '<') && given.kind == 0);
    argument->record = open ? "" : spelled;
    argument->bytes = reading->Type_getSizeOf(canonical);
    if (!hn_type_of_c(argument->type_name, argument->type))
        hn_type_of_c(spelled, argument->type);
    if (canonical.kind == CXType_Enum && outer == NULL)
        snprintf(argument->type, sizeof argument->type, "int%d", 8 * (int)argument->bytes);
    /* What a field points to may be what it is in. */
    CXCursor declared = reading->getTypeDeclaration(canonical);
    if ((canonical.kind != CXType_Record && declared.kind != CXCursor_ClassTemplate) ||
        (argument->pointer && outer != NULL))
        return;
    argument->fields.items = hn_need_block(&reading->unit->memory, MOST_FIELDS, sizeof *argument);
    reading->whole = argument;
    reading->record = canonical;
    reading->visitChildren(declared, read_field, reading);
    /* An instance has no children of its own. */
    if (argument->fields.count == 0 && canonical.kind == CXType_Record)
        reading->visitChildren(reading->getSpecializedCursorTemplate(declared), read_field,
                               reading);
    reading->whole = outer;
    reading->record = record;
    /* Some versions of clang leave its namespaces out. */
    if (strstr(spelled, "::") == NULL)
        argument->record =
            HN_TEXT(reading->unit, "%s%s", scope_of(reading, declared), argument->record);
}

static void read_parameter(struct reading *reading, CXCursor cursor, struct hn_kernel *kernel)
{
    struct hn_kernel_parameter *parameter = HN_GROW(reading->unit, kernel->parameters);
    CXType type = reading->getCursorType(cursor);
    int kind = reading->getCanonicalType(type).kind;
    struct hn_tokens whole = extent_of(reading, cursor);
    size_t name = place_of(reading, cursor);
    parameter->name = name_of(reading, cursor);
    parameter->type = hn_unit_text(reading->unit, (struct hn_tokens){whole.begin, name});
    /* What is not known counts as int. */
    bool unknown = type.kind == CXType_Int && !hn_text_find_word(parameter->type, "int", 3);
    bool number = (kind >= CXType_Bool && kind < CXType_Int128 && !unknown) ||
                  strcmp(parameter->type, "auto") == 0;
    parameter->kind = cursor.kind == CXCursor_TemplateTypeParameter ? HN_PARAMETER_TYPE
                      : !number                                     ? HN_PARAMETER_OTHER
                      : kind == CXType_Bool                         ? HN_PARAMETER_BOOLEAN
                                                                    : HN_PARAMETER_NUMBER;
    if (kind == CXType_Enum)
        parameter->type = keep(reading, reading->getTypeSpelling(reading->getCanonicalType(type)));
    const struct hn_meaning *own =
        hn_unit_meaning(reading->unit, parameter->name, kernel->body.begin);
    if (own->body.begin < own->body.end)
        parameter->given = own->body;
}

/* Declarations. */

static int read_declaration(CXCursor cursor, CXCursor parent, void *data);

/* "k<Op><<<...>>>(params)" tells which structure a "typename Operator::Params" is, and "run(x)"
 * which types of its template are left out, unless they are assumed. */
static void read_instance(struct reading *reading, CXCursor function)
{
    size_t place = place_of(reading, reading->getSpecializedCursorTemplate(function));
    unsigned i = 0;
    HN_EACH(kernel, reading->unit->kernels)
        HN_EACH(argument, kernel->arguments) {
            unsigned which = (unsigned)(argument - kernel->arguments.items);
            CXType type = reading->getArgType(reading->getCursorType(function), which);
            bool record = strstr(argument->record, HN_TEMPLATE_TYPE) != NULL &&
                          reading->getCanonicalType(type).kind == CXType_Record;
            if (kernel->head.end == place && (record || strstr(argument->type_name, "typename ")))
                read_type(reading, type, argument);
        }
    HN_EACH(each, reading->unit->meanings) {
        if (place == 0 || !each->given || each->scope.begin != place)
            continue;
        CXType type = reading->Cursor_getTemplateArgumentType(function, i++);
        const char *spelled = keep(reading, reading->getTypeSpelling(type));
        if (each->deduced == NULL && *spelled != '\0' && strchr(spelled, '(') == NULL &&
            strstr(reading->defines, "typedef") == NULL)
            each->deduced = spelled;
    }
}

static void read_function(struct reading *reading, CXCursor cursor)
{
    struct hn_unit *unit = reading->unit;
    struct hn_tokens whole = extent_of(reading, cursor), outer = reading->function;
    struct hn_tokens head = {whole.begin, place_of(reading, cursor)}, body = whole;
    body.begin = hn_find(unit, (struct hn_tokens){head.end, whole.end}, "{");
    if (body.begin == SIZE_MAX || !reading->isCursorDefinition(cursor))
        return;
    while (head.begin > 0 && strchr(";{}", hn_text_at(unit, head.begin - 1)[0]) == NULL &&
           !unit->tokens.items[head.begin - 1].directive)
        head.begin--;
    bool kernel = HN_HAS(unit, head, "__global__"), device = HN_HAS(unit, head, "__device__");
    HN_EACH(macro, unit->meanings) { /* "#define KERNEL extern "C" __global__" */
        bool used = macro->macro && HN_HAS(unit, head, macro->name);
        kernel |= used && HN_HAS(unit, macro->body, "__global__");
        device |= used && HN_HAS(unit, macro->body, "__device__");
    }
    bool either = !device && HN_HAS(unit, head, "constexpr");
    unit->relaxed |= either || ((device || kernel) && HN_HAS(unit, body, "std"));
    device |= either;
    reading->host = !kernel && !device;
    if (!kernel)
        *(device ? HN_GROW(unit, unit->device) : HN_GROW(unit, unit->host)) = body;
    if (hn_at(unit, body.begin + 1, "return"))
        *HN_GROW(unit, unit->meanings) =
            (struct hn_meaning){.name = name_of(reading, cursor),
                                .body = HN_REST(unit, body.begin + 2),
                                .scope = outer,
                                .parameters = hn_inside(unit, head.end + 1)};
    reading->function = (struct hn_tokens){head.end, whole.end};
    if (!device && cursor.kind == CXCursor_FunctionTemplate)
        read_given(unit, "<", hn_inside(unit, head.begin + 1), reading->function, false);
    if (!kernel && !device)
        read_given(unit, "(", hn_inside(unit, head.end + 1), reading->function, false);
    reading->kernel = kernel ? HN_GROW(unit, unit->kernels) : NULL;
    if (kernel)
        *reading->kernel = (struct hn_kernel){
            .name = name_of(reading, cursor),
            .mangled = keep(reading, reading->Cursor_getMangling(cursor)),
            .scope = scope_of(reading, cursor),
            .type = keep(reading, reading->getTypeSpelling(reading->getCursorType(cursor))),
            .head = head,
            .body = body};
    reading->visitChildren(cursor, read_declaration, reading);
    reading->function = outer;
    reading->kernel = NULL;
}

static int read_declaration(CXCursor cursor, CXCursor parent, void *data)
{
    struct reading *reading = data;
    const int kind = cursor.kind;
    bool local = reading->function.begin > 0;
    bool own = reading->kernel != NULL &&
               (parent.kind == CXCursor_FunctionDecl || parent.kind == CXCursor_FunctionTemplate);
    /* A macro may begin what is linked as C, and is elsewhere. */
    if (kind == CXCursor_UnexposedDecl || kind == CXCursor_LinkageSpec)
        return CXChildVisit_Recurse;
    if (!local && !reading->Location_isFromMainFile(reading->getCursorLocation(cursor)))
        return CXChildVisit_Continue;
    const char *name = name_of(reading, cursor);
    const size_t place = place_of(reading, cursor);
    const struct hn_tokens whole = extent_of(reading, cursor);
    if (kind == CXCursor_ClassTemplate && !local)
        read_given(reading->unit, "<", hn_inside(reading->unit, whole.begin + 1),
                   (struct hn_tokens){place, whole.end}, true);
    /* Which of a template's specializations is meant is not known. */
    bool record = kind == CXCursor_ClassTemplate ||
                  (kind >= CXCursor_StructDecl && kind <= CXCursor_EnumDecl &&
                   !hn_at(reading->unit, whole.begin, "template"));
    bool alias = kind == CXCursor_TypeAliasDecl;
    bool named = (alias || kind == CXCursor_TypedefDecl) && hn_at(reading->unit, place, name);
    struct hn_meaning type = {
        .name = name, .scope = reading->function, .given = named, .members = whole};
    type.space = local ? NULL : scope_of(reading, cursor);
    if (named) /* "using N = float;", "typedef float N;" */
        type.body = alias ? (struct hn_tokens){place + 2, whole.end}
                          : (struct hn_tokens){whole.begin + 1, place};
    if (record || named)
        *HN_GROW(reading->unit, reading->unit->meanings) = type;
    if (record || kind == CXCursor_Namespace)
        return CXChildVisit_Recurse;
    if (kind == CXCursor_FunctionDecl || kind == CXCursor_FunctionTemplate ||
        kind == CXCursor_CXXMethod || kind == CXCursor_Constructor) {
        read_function(reading, cursor);
        return CXChildVisit_Continue;
    }
    if (kind == CXCursor_VarDecl || kind == CXCursor_FieldDecl || kind == CXCursor_EnumConstantDecl)
        read_variable(reading, cursor);
    else if (own && kind == CXCursor_ParmDecl) {
        struct hn_kernel_argument *argument = HN_GROW(reading->unit, reading->kernel->arguments);
        argument->name = name[0] != '\0' ? name
                                         : HN_TEXT(reading->unit, "argument_%zu",
                                                   reading->kernel->arguments.count);
        argument->last = argument->name;
        read_type(reading, reading->getCursorType(cursor), argument);
    } else if (own && kind >= CXCursor_TemplateTypeParameter &&
               kind <= CXCursor_TemplateTemplateParameter)
        read_parameter(reading, cursor, reading->kernel);
    else if (kind == CXCursor_DeclRefExpr)
        read_instance(reading, reading->getCursorReferenced(cursor));
    return local ? CXChildVisit_Recurse : CXChildVisit_Continue;
}

/* Names that nothing declares. */

/* A call, a scope, a structure and what headers of CUDA have is no number. */
static bool may_be_number(const struct hn_unit *unit, size_t token, const char *name)
{
    size_t next = token + 1;
    if (strncmp(name, "__", 2) == 0 || hn_same_letters(name, "cuda", 4) ||
        (hn_at(unit, next, "<") && hn_at(unit, hn_behind(unit, next, SIZE_MAX), "(")))
        return false;
    return next >= unit->tokens.count || unit->tokens.items[next].starts ||
           (!hn_at(unit, next, "( :: . -> [ { =") && !hn_text_is_word(hn_text_at(unit, next)));
}

/* "undeclared identifier 'X'", "'X' is not defined, evaluates to 0", "'x.h' file not found". */
static void read_diagnostic(struct reading *reading, void *diagnostic)
{
    struct hn_unit *unit = reading->unit;
    CXSourceLocation location = reading->getDiagnosticLocation(diagnostic);
    const char *message = keep(reading, reading->getDiagnosticSpelling(diagnostic));
    const char *quote = strchr(message, '\''), *name = quote != NULL ? quote + 1 : "";
    const char *kept = HN_TEXT(unit, "%.*s", (int)strcspn(name, "'"), name);
    size_t used = token_at(reading, location);
    if (strstr(message, "file not found") != NULL) {
        bool angles = reading->Location_isFromMainFile(location) && hn_at(unit, used, "<");
        const char *folder = HN_TEXT(unit, "%.*s", (int)strcspn(kept, "/"), kept);
        /* All others come with the toolkit or the host's compiler. */
        bool lacks = !hn_is_header_of_host(kept, strlen(kept)) && !hn_is_like(kept, "system") &&
                     !hn_is_like(folder, "folder");
        reading->foreign |= lacks && !angles && !hn_is_like(folder, "framework");
        if (lacks && strstr(unit->absent, kept) == NULL)
            unit->absent = HN_TEXT(unit, angles ? "%s <%s>" : "%s %s", unit->absent, kept);
    }
    bool host = false;
    HN_EACH(body, unit->host)
        host |= HN_WITHIN(*body, used);
    bool type = strstr(message, "unknown type name") != NULL;
    bool condition = strstr(message, "is not defined, evaluates to 0") != NULL;
    bool number = condition || strstr(message, "undeclared identifier") != NULL;
    if (quote == NULL || host || (!type && !number) || strlen(reading->defines) > MOST_DEFINES ||
        hn_text_find_word(reading->defines, kept, strlen(kept)))
        return;
    /* It may be a macro's. */
    size_t token = hn_at(unit, used, kept) ? used : hn_find(unit, HN_EVERYWHERE, kept);
    if (type ? hn_template_parameter_is_declared(unit->text, kept)
             : token == SIZE_MAX || !may_be_number(unit, token, kept) ||
                   !may_be_number(unit, used, kept))
        return;
    if (!type)
        *HN_GROW(unit, unit->missing) = (struct hn_missing){kept, condition};
    const char *more = type ? HN_TEXT(unit, ASSUMED_TYPE, kept)
                            : HN_TEXT(unit, "#define %s %d\n", kept, condition ? 1 : 8);
    reading->defines = HN_TEXT(unit, "%s%s", reading->defines, more);
}

static const char *const options[] = {"-xcuda",
                                      "--cuda-device-only",
                                      "--cuda-gpu-arch=sm_80",
                                      "-nocudainc",
                                      "-nocudalib",
                                      "-nostdinc",
                                      "-std=c++17",
                                      "-ferror-limit=0",
                                      "-fno-spell-checking",
                                      "-I/hone",
                                      "-include/hone/prelude.cuh"};

/* Reads it as it would be with the names that are missing so far; tells whether there are more. */
static bool parse(struct reading *reading)
{
    struct hn_unit *unit = reading->unit;
    const char *before = reading->defines;
    const char *prelude = HN_TEXT(unit, "%s%s", hn_init_prelude, before);
    struct CXUnsavedFile files[HN_HOST_HEADER_COUNT + 2] = {
        {"/hone/prelude.cuh", prelude, strlen(prelude)},
        {unit->path, unit->text, strlen(unit->text)}};
    unsigned count = 2;
    /* What cub/cub.cuh includes is not there. */
    for (size_t i = 0; i < HN_HOST_HEADER_COUNT; i++)
        if (strchr(hn_host_headers[i].name, '/') == NULL)
            files[count++] =
                (struct CXUnsavedFile){HN_TEXT(unit, "/hone/%s", hn_host_headers[i].name),
                                       hn_host_headers[i].text, strlen(hn_host_headers[i].text)};
    unit->tokens.count = unit->kernels.count = unit->meanings.count = 0;
    unit->device.count = unit->host.count = 0;
    void *index = reading->createIndex(0, 0);
    if (reading->parseTranslationUnit2(index, unit->path, options, sizeof options / sizeof *options,
                                       files, count, CXTranslationUnit_KeepGoing,
                                       &reading->tree) == 0) {
        read_tokens(reading);
        read_macros(reading);
        reading->visitChildren(reading->getTranslationUnitCursor(reading->tree), read_declaration,
                               reading);
        HN_EACH(kernel, unit->kernels)
            HN_EACH(each, kernel->arguments) {
                if (each->pointer)
                    note_uses(unit, kernel, each->name, NULL, each, 0);
                HN_EACH(field, each->fields)
                    if (field->pointer && !each->pointer)
                        note_uses(unit, kernel, each->name, field->name, field, 0);
            }
        for (unsigned i = 0; i < reading->getNumDiagnostics(reading->tree); i++) {
            void *diagnostic = reading->getDiagnostic(reading->tree, i);
            read_diagnostic(reading, diagnostic);
            reading->disposeDiagnostic(diagnostic);
        }
        reading->disposeTranslationUnit(reading->tree);
    }
    reading->disposeIndex(index);
    return reading->defines != before;
}

/* The file that $HONE_LIBCLANG names, or what distributions and wheels have. */
static const struct hn_toolkit_library libclang = {
    .variable = "HONE_LIBCLANG",
    .file = "libclang.so",
    .wheel = "clang/native",
    .also =
        (const char *const[]){"/usr/lib/{,*-linux-gnu/}libclang-[1-9][0-9].so.1",
                              "/usr/lib{64,}/{llvm*/lib{64,}/,}libclang{,-[1-9][0-9]}.so*", NULL},
};

enum hn_status hn_unit_read(const char *path, struct hn_unit *unit, struct hn_error *err)
{
    struct reading reading = {.unit = unit, .defines = "", .function = {0, SIZE_MAX}};
    struct hn_symbol symbols[] = {
#define X(type, name, arguments) {"clang_" #name, &reading.name, false},
        HN_CLANG_FUNCTIONS(X)
#undef X
    };
    struct hn_error why;
    size_t size;
    unit->path = hn_need_kept(&unit->memory, hn_need_copy(path));
    unit->absent = "";
    if (hn_file_read(path, MOST_BYTES, &unit->text, &size, err) != HN_OK)
        return err->status;
    unit->text = hn_need_kept(&unit->memory, unit->text);
    if (strlen(unit->text) != size)
        return hn_fail(err, HN_EFORMAT, "%s: found a NUL byte; expected a CUDA source", path);
    if (hn_toolkit_open(&libclang, symbols, sizeof symbols / sizeof *symbols, &reading.library,
                        &why) != HN_OK)
        return hn_fail(err, HN_ERUN,
                       "libclang, with which sources are read: %s; `apt-get install libclang1` or "
                       "`pip install libclang` brings it, HONE_LIBCLANG names its file",
                       why.message);
    for (int i = 0; i < MOST_PASSES && parse(&reading); i++)
        continue;
    if (reading.foreign)
        unit->missing.count = 0;
    hn_library_close(reading.library);
    return HN_OK;
}
