/* SPDX-License-Identifier: MIT */
#include "tuner/init/draft.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "runtime/compile/code_scan.h"
#include "runtime/compile/template.h"

/* Names. */

struct hn_draft_name *hn_draft_find(const struct hn_draft *draft, const char *name)
{
    HN_EACH(each, draft->names)
        if ((!each->made && strcmp(each->name, name) == 0) || strcmp(each->own, name) == 0)
            return each;
    return NULL;
}

struct hn_draft_name *hn_draft_add(struct hn_draft *draft, const char *name, const char *own,
                                   bool is_size)
{
    struct hn_draft_name *added = HN_GROW(draft->unit, draft->names);
    added->name = name;
    added->own = own != NULL ? own : name;
    added->is_size = added->is_extent = is_size;
    added->has_preset = true;
    return added;
}

const char *hn_draft_replace(const struct hn_draft *draft, const char *text, const char *part,
                             const char *by)
{
    size_t length = strlen(part);
    const char *at = strstr(text, part);
    while (at != NULL && ((at > text && hn_is_word_char(at[-1])) || hn_is_word_char(at[length])))
        at = strstr(at + 1, part);
    return at == NULL ? text
                      : HN_DRAFT_TEXT(draft, "%.*s%s%s", (int)(at - text), text, by,
                                      hn_draft_replace(draft, at + length, part, by));
}

const char *hn_draft_free_name(const struct hn_draft *draft, const char *wish)
{
    char *upper = hn_need_kept(&draft->unit->memory, hn_need_copy(wish));
    for (char *c = upper; *c != '\0'; c++)
        *c = hn_upper(*c);
    bool taken = hn_is_like(upper, "reserved") || HN_HAS(draft->unit, HN_EVERYWHERE, upper) ||
                 hn_draft_find(draft, upper) != NULL;
    return taken ? hn_draft_free_name(draft, HN_DRAFT_TEXT(draft, "TUNE_%s", upper)) : upper;
}

/* Parameters. */

static const char same_results[] = "TODO: are results the same with each of these?";
/* Macros at least so large that sound like an extent are the problem's size; of a grid, too. */
static const int64_t least_size = 1024, least_side = 64;

void hn_draft_add_value(const struct hn_draft *draft, struct hn_draft_name *parameter,
                        struct hn_value value)
{
    HN_EACH(each, parameter->values)
        if (hn_value_equal(each, &value))
            return;
    *HN_GROW(draft->unit, parameter->values) = value;
    qsort(parameter->values.items, parameter->values.count, sizeof value, hn_value_compare);
}

void hn_draft_choose_values(const struct hn_draft *draft, struct hn_draft_name *parameter,
                            struct hn_value preset, bool alone)
{
    bool boolean = preset.type == HN_BOOLEAN;
    int64_t number = boolean ? preset.boolean : preset.integer;
    bool flag = boolean || number == 0 || (number == 1 && hn_is_like(parameter->name, "flag"));
    int64_t factor = parameter->override != NULL || (number & (number - 1)) != 0 ? 2 : 4;
    parameter->preset = preset;
    hn_draft_add_value(draft, parameter, preset);
    if (!alone && flag)
        hn_draft_add_value(draft, parameter,
                           boolean ? hn_boolean(number == 0) : hn_integer(1 - number));
    for (int64_t value = 1; !alone && !flag && value <= factor * number && value <= 1024;
         value *= 2)
        if (factor * value >= number)
            hn_draft_add_value(draft, parameter, hn_integer(value));
}

/* Where nothing tells what may be worth a try, one value stands for all. */
static void choose_unknown(const struct hn_draft *draft, struct hn_draft_name *parameter)
{
    const char *name = parameter->own;
    bool wide = hn_is_like(name, "block blocks") || hn_draft_launches(draft, HN_LAUNCH_BLOCK, name);
    int64_t preset = wide && draft->dimensions == 1          ? 256
                     : wide || hn_is_like(name, "tile side") ? 16
                                                             : 1;
    hn_draft_choose_values(draft, parameter, hn_integer(preset),
                           preset == 1 && !hn_is_like(name, "items"));
}

/* Whether a name is one of those of which a macro for whoever compiles is defined as one: "#define
 * LOAD_plain 1", "#define LOAD LOAD_plain". */
static bool has_word(const struct hn_unit *unit, const struct hn_meaning *macro, const char *name)
{
    size_t length = strlen(macro->name);
    return macro->guarded && strncmp(name, macro->name, length) == 0 && name[length] == '_' &&
           strncmp(name, hn_text_at(unit, macro->body.begin), length + 1) == 0;
}

/* A parameter of words, which macros have behind "LOAD_", or enumerators behind "demo::Edge::", and
 * of which one is chosen: the latter where there are none. */
static const char *add_words(struct hn_draft *draft, const char *own, const char *name,
                             const char *prefix, const char *chosen)
{
    struct hn_draft_name words = {.name = name, .own = own, .has_preset = true};
    words.comment = strchr(prefix, ':') != NULL ? same_results : NULL;
    HN_EACH(each, draft->unit->meanings) {
        const char *space = each->macro || each->space == NULL ? "" : each->space;
        const char *full = HN_DRAFT_TEXT(draft, "%s%s", space, each->name);
        const char *word = full + strlen(prefix);
        if (strncmp(full, prefix, strlen(prefix)) != 0 || !hn_text_is_word(word) ||
            hn_draft_find(draft, word) != NULL)
            continue;
        word = hn_is_like(word, "yaml") ? HN_DRAFT_TEXT(draft, "\"%s\"", word) : word;
        *HN_GROW(draft->unit, words.values) = hn_word(word);
        /* "detail::Edge::open" of the space that it is in. */
        size_t outer = strlen(full) - strlen(chosen);
        if (words.values.count == 1 || (outer < strlen(full) && strcmp(full + outer, chosen) == 0))
            words.preset = hn_word(word);
    }
    if (words.values.count == 0)
        return chosen;
    *HN_GROW(draft->unit, draft->names) = words;
    return HN_DRAFT_TEXT(draft, "%s%s", prefix, name);
}

/* Whether the kernel, its head or block or a function of the device has the name. */
static bool is_used(const struct hn_draft *draft, const char *name)
{
    bool idle = hn_lower(name[strlen(name) - 1]) - 'x' >= draft->dimensions; /* "BLOCK_Y" */
    bool used = !idle && hn_draft_launches(draft, HN_LAUNCH_BLOCK, name);
    HN_EACH(body, draft->unit->device)
        used |= HN_HAS(draft->unit, *body, name);
    return used;
}

/* Whether it is a number that the source declares for itself, once or in branches of an #if, and no
 * fact of the hardware or the problem: "malloc(ROWS * COLUMNS)", where these are no threads. */
static bool may_override(const struct hn_draft *draft, const struct hn_meaning *meaning,
                         int64_t number)
{
    const struct hn_unit *unit = draft->unit;
    const char *name = meaning->name, *next = unit->text;
    bool refused = hn_is_like(name, "fact");
    struct hn_code_text value;
    bool once =
        hn_unit_meaning(unit, name, draft->kernel->body.end - 1) == meaning &&
        (meaning->macro || (meaning->constant && hn_code_next_value(&next, name, false, &value) &&
                            !hn_code_next_value(&next, name, false, &value)));
    HN_EACH_AT(i, unit, HN_EVERYWHERE, "__constant__") /* filled by the host */
        refused |= HN_HAS(unit, HN_REST(unit, i), name);
    bool own = hn_draft_launches(draft, HN_LAUNCH_BLOCK, name) &&
               !hn_at(unit, draft->launch[HN_LAUNCH_GRID].begin, "1");
    HN_EACH_AT(i, unit, HN_EVERYWHERE, "(") {
        bool call = !own && hn_find_letters(hn_text_at(unit, i - 1), "malloc") != NULL;
        size_t at = call ? hn_find(unit, hn_inside(unit, i), name) : SIZE_MAX;
        refused |= at != SIZE_MAX && (hn_at(unit, at - 1, "*") ||
                                      (hn_at(unit, at + 1, "*") && !hn_at(unit, at - 1, "/")));
    }
    return once && number >= 1 && number <= least_size && is_used(draft, name) && !refused;
}

/* Whether a number tells how work is split, which leaves results as they are: by its name, in the
 * launch, beside a block's index, or as the side of a tile. */
static bool splits_work(const struct hn_draft *draft, const char *name)
{
    bool splits = hn_draft_launches(draft, HN_LAUNCH_BLOCK, name) ||
                  hn_draft_launches(draft, HN_LAUNCH_GRID, name) ||
                  hn_is_like(name, "block items tile side");
    HN_EACH_AT(i, draft->unit, draft->kernel->body, name) /* "sums[i / BLOCK]", one for each */
        splits &= !hn_at(draft->unit, i - 1, "/") || !hn_at(draft->unit, i + 1, "]");
    return splits && !hn_is_like(name, "wide");
}

/* What the source leaves to whoever compiles, then what it declares itself: plain numbers before
 * what is made of them. */
static void choose_declared(struct hn_draft *draft, bool guarded, bool derived)
{
    struct hn_unit *unit = draft->unit;
    HN_EACH(meaning, unit->meanings) {
        const char *name = meaning->name;
        int64_t number;
        bool word = false;
        HN_EACH(macro, unit->meanings)
            word |= has_word(unit, macro, name);
        if (meaning->guarded != guarded || meaning->parameters.end > meaning->parameters.begin ||
            hn_draft_find(draft, name) != NULL || word ||
            (!derived && meaning->body.end > meaning->body.begin + 1))
            continue;
        const char *chosen = hn_text_at(unit, meaning->body.begin);
        if ((has_word(unit, meaning, chosen) &&
             add_words(draft, name, name, HN_DRAFT_TEXT(draft, "%s_", name), chosen) != chosen) ||
            HN_HAS(unit, meaning->body, "?") ||
            (number = hn_draft_number(draft, hn_draft_translate(draft, meaning->body),
                                      HN_OF_NOTHING)) == INT64_MIN ||
            !(guarded ? hn_lower(name[strlen(name) - 1]) != 'z' || is_used(draft, name)
                      : may_override(draft, meaning, number)))
            continue;
        struct hn_draft_name *parameter = hn_draft_add(draft, name, NULL, false);
        parameter->override = guarded ? NULL : meaning->macro ? "define" : "constexpr";
        bool left = guarded && !hn_is_like(name, "fact");
        parameter->comment = left || splits_work(draft, name) ? NULL : same_results;
        hn_draft_choose_values(draft, parameter, hn_integer(number), false);
    }
}

static void choose_missing(struct hn_draft *draft)
{
    HN_EACH(missing, draft->unit->missing) {
        if (hn_draft_find(draft, missing->name) != NULL)
            continue;
        struct hn_draft_name *parameter = hn_draft_add(draft, missing->name, NULL, false);
        parameter->comment = "TODO: which values? The source defines it nowhere";
        choose_unknown(draft, parameter);
        if (missing->condition && parameter->values.count == 1)
            hn_draft_add_value(draft, parameter, hn_integer(0));
    }
}

/* A number that a template is given, by a name of its own: the prelude must not define one that the
 * source declares. */
static const char *add_number(struct hn_draft *draft, const char *own, struct hn_tokens given,
                              bool boolean)
{
    struct hn_draft_name *value = hn_draft_add(draft, hn_draft_free_name(draft, own), own, false);
    int64_t preset = hn_draft_number(draft, hn_draft_translate(draft, given), HN_OF_ALL);
    bool known = preset > INT64_MIN || boolean;
    if (known)
        hn_draft_choose_values(draft, value, boolean ? hn_boolean(preset > 0) : hn_integer(preset),
                               false);
    else
        choose_unknown(draft, value);
    const char *ask = hn_is_like(own, "extent") ? "TODO: which values? It may be a size"
                      : !known                  ? "TODO: which values?"
                      : splits_work(draft, own) ? ""
                                                : same_results;
    value->comment =
        HN_DRAFT_LINE(draft, "the template's %s%s%s", own, ask[0] != '\0' ? "; " : "", ask);
    return value->name;
}

/* What a type is given, "Scale<T>"; what it has of the launch's own template is `open`. Positive
 * numbers of a policy's, which is the type of no argument, have names. */
static const char *given_type(struct hn_draft *draft, struct hn_tokens item, const char *open,
                              bool policy, int depth)
{
    const struct hn_unit *unit = draft->unit;
    const char *text = item.end == item.begin ? open : "";
    for (size_t i = item.begin; i < item.end; i++) {
        const struct hn_token *token = &unit->tokens.items[i];
        bool apart = i > item.begin && token->begin > token[-1].end;
        const struct hn_meaning *own = HN_MEANING(unit, i);
        bool has = own->body.end > own->body.begin;
        bool inside = has && (own->given || (own->constant && own->scope.begin > 0));
        /* No parameter of a template that nothing gives a value. */
        bool declared = hn_template_parameter_is_declared(unit->text, token->text);
        bool known = depth > 0;
        HN_EACH_AT(use, unit, HN_EVERYWHERE, token->text) /* "BOOL_SWITCH(flag, NAME, [&] {" */
            known &= !hn_at(unit, use + 1, ",") || !hn_at(unit, use + 2, "[");
        known = known &&
                (own->name[0] == '\0' || own->macro ? !declared
                                                    : has || !own->given || own->deduced != NULL);
        bool inner = known && !inside && own->space != NULL && !hn_at(unit, i - 1, "::");
        draft->instances_are_known &= known;
        text = HN_DRAFT_TEXT(draft, "%s%s%s%s", text, apart ? " " : "", inner ? own->space : "",
                             !known   ? hn_is_like(token->text, "truth") ? "true" : open
                             : inside ? given_type(draft, own->body, open, policy, depth - 1)
                             : own->deduced != NULL ? own->deduced
                                                    : token->text);
        if (!hn_at(unit, i + 1, "<") || i + 1 == item.end)
            continue;
        struct hn_tokens given = hn_inside(unit, i + 1), each, parameter, name;
        struct hn_tokens names = hn_inside(unit, own->members.begin + 1);
        i = given.end;
        for (const char *sign = "<"; hn_next(unit, ",", &given, &each); sign = ", ") {
            bool named = policy && hn_at(unit, own->members.begin, "template") &&
                         hn_next(unit, ",", &names, &parameter) &&
                         hn_next(unit, "=", &parameter, &name) &&
                         !hn_at(unit, name.begin, "bool class typename") &&
                         hn_draft_number(draft, hn_draft_translate(draft, each), HN_OF_ALL) > 0;
            text = HN_DRAFT_TEXT(
                draft, "%s%s%s", text, sign,
                named ? add_number(draft, hn_text_at(unit, name.end - 1), each, false)
                      : given_type(draft, each, *open == '(' ? "float" : open, false, depth - 1));
        }
        text = HN_DRAFT_TEXT(draft, "%s>", text);
    }
    return text;
}

/* What a launch or an instantiation of the source gives the template; types that sound like indices
 * are int, others float. */
static void choose_template(struct hn_draft *draft)
{
    const struct hn_kernel *kernel = draft->kernel;
    /* "5scaleIf": the types that a captured one begins with. */
    static const char letters[] = "fdij", *const types[] = {"float", "double", "int", "unsigned"};
    const char *own_name = HN_DRAFT_TEXT(draft, "%zu%sI", strlen(kernel->name), kernel->name);
    const char *captured =
        strstr(draft->capture != NULL ? draft->capture->head.kernel : "", own_name);
    captured = captured != NULL ? captured + strlen(own_name) : NULL;
    draft->instances_are_known = captured != NULL;
    /* Several policies may be of one class, where a name would mean two numbers. */
    const struct hn_kernel_parameter *policy = NULL;
    bool several = false;
    HN_EACH(each, kernel->parameters) {
        each->instance = hn_unit_meaning(draft->unit, each->name, kernel->body.begin)->deduced;
        bool given = each->given.end > 0 && !HN_WITHIN(kernel->head, each->given.begin);
        draft->instances_are_known |= given || each->instance != NULL;
        bool passed = hn_text_find_word(kernel->type, each->name, strlen(each->name)) != NULL;
        bool own = each->kind == HN_PARAMETER_TYPE && !passed;
        several |= own && policy != NULL;
        policy = own ? each : policy;
    }
    HN_EACH(declared, kernel->parameters) {
        struct hn_tokens item = declared->given;
        if (declared->kind <= HN_PARAMETER_BOOLEAN) {
            declared->instance =
                add_number(draft, declared->name, item, declared->kind == HN_PARAMETER_BOOLEAN);
            continue;
        }
        size_t i = (size_t)(declared - kernel->parameters.items);
        bool type = declared->kind == HN_PARAMETER_TYPE;
        const char *deduced = declared->instance;
        const char *open = deduced != NULL ? deduced
                           : !type         ? HN_DRAFT_TEXT(draft, "(%s)0", declared->type)
                           : hn_is_like(declared->name, "index") ? "int"
                                                                 : "float";
        declared->instance = type && captured != NULL && strspn(captured, letters) > i
                                 ? types[strchr(letters, captured[i]) - letters]
                                 : given_type(draft, item, open, declared == policy && !several, 6);
        draft->instances_are_known &= captured != NULL || item.end > item.begin || deduced != NULL;
        if (!type)
            declared->instance =
                add_words(draft, declared->name, hn_draft_free_name(draft, declared->name),
                          HN_DRAFT_TEXT(draft, "%s::", declared->type), declared->instance);
    }
}

/* How the kernel is asked for, compiled and passed its arguments. */

/* Code that NVRTC cannot compile is for the host; where it is guarded there is a word for it. It
 * has headers of its own and of the toolkit, and may have others. */
void hn_draft_choose_compiler(struct hn_draft *draft)
{
    struct hn_include_scan lines = {.next = draft->unit->text};
    struct hn_include include;
    const char *why = draft->unit->host.count > 0 ? "NVRTC compiles no code of the host" : "";
    bool suits = true;
    if (HN_HAS(draft->unit, HN_EVERYWHERE, "__CUDACC_RTC__"))
        return;
    while (suits && hn_include_next(&lines, &include)) {
        const char *name = HN_DRAFT_TEXT(draft, "%.*s", (int)include.length, include.name);
        suits = (include.quoted || hn_host_header_find(name, include.length) != NULL ||
                 !hn_is_header_of_host(name, include.length)) &&
                !hn_is_like(name, "library");
        why = suits ? why : HN_DRAFT_LINE(draft, "NVRTC has no <%s>", name);
    }
    hn_draft_note(draft, "nvcc", why);
    if (*why != '\0' && draft->unit->relaxed)
        hn_draft_note_scalar(draft, "options", "--expt-relaxed-constexpr");
}

const char *hn_draft_entry(const struct hn_draft *draft)
{
    const struct hn_kernel *kernel = draft->kernel;
    const struct hn_kernel_parameter *first = kernel->parameters.items;
    const char *text = "";
    if (strcmp(kernel->mangled, kernel->name) == 0)
        return kernel->name;
    if (first != NULL && first->instance == NULL)
        return NULL;
    /* One of several, also of the host, is told by its type, a template by its arguments. */
    HN_EACH_AT(i, draft->unit, HN_EVERYWHERE, kernel->name)
        if (i != kernel->head.end && hn_at(draft->unit, i - 1, "void") &&
            hn_at(draft->unit, i + 1, "("))
            text = HN_DRAFT_TEXT(draft, "(void (*)%s)", strchr(kernel->type, '('));
    text = HN_DRAFT_TEXT(draft, "%s%s%s%s", text, first == NULL ? "&" : "", kernel->scope,
                         kernel->name);
    HN_EACH(each, kernel->parameters)
        text = HN_DRAFT_TEXT(draft, "%s%s%s", text, each == first ? "<" : ", ", each->instance);
    return first != NULL ? HN_DRAFT_TEXT(draft, "%s>", text) : text;
}

/* As configs have it. */
struct passed {
    enum { BUFFER, SCALAR, FIELDS, STRUCTURE, MAP } as; /* FIELDS: each is set */
    const char *type, *field; /* of an element; of all its fields, or bytes */
    int64_t multiple;         /* of it in an element of the source */
    bool type_is_known;
};

/* A structure is a vector of what its fields are, or several elements; a function object without
 * fields one byte. */
static struct passed passed_as(const struct hn_draft *draft,
                               const struct hn_kernel_argument *declared)
{
    const char *instance = NULL;
    const struct hn_kernel_argument *first = declared->fields.items;
    bool common = declared->fields.count > 0; /* all fields are of one type */
    bool whole = common && !declared->hides;
    HN_EACH(each, declared->fields)
        common &= !each->pointer && each->type[0] != '\0' && strcmp(each->type, first->type) == 0;
    const char *field = common ? first->type : "uint8";
    char of_template[HN_TYPE_SIZE];
    struct passed passed = {.as = SCALAR, .multiple = 1, .type = declared->type, .field = field};
    size_t which;
    if (sscanf(declared->record, HN_TEMPLATE_TYPE "%zu", &which) == 1 &&
        which < draft->kernel->parameters.count)
        instance = draft->kernel->parameters.items[which].instance;
    passed.type_is_known =
        !declared->assumed && (declared->type[0] != '\0' || common || instance != NULL);
    if (declared->pointer)
        passed.as = BUFFER;
    else if (hn_is_like(declared->type_name, "map"))
        passed.as = MAP;
    else if ((declared->type[0] == '\0' || strchr(declared->type, 'x') != NULL) &&
             instance == NULL && (declared->bytes > 0 || whole)) /* a vector, too */
        passed.as =
            whole && declared->record[0] != '\0' && draft->capture == NULL ? FIELDS : STRUCTURE;
    if (declared->type[0] != '\0')
        return passed;
    if (instance != NULL && hn_type_of_c(instance, of_template)) {
        passed.type = HN_DRAFT_TEXT(draft, "%s", of_template);
    } else if (declared->pointer && declared->bytes > 0) {
        int64_t count = declared->bytes / hn_type_bytes(field);
        passed.type = HN_DRAFT_TEXT(draft, "%sx%lld", field, (long long)count);
        passed.multiple = hn_type_bytes(passed.type) == declared->bytes ? 1 : count;
        passed.type = passed.multiple == 1 ? passed.type : field;
    } else {
        passed.type = declared->pointer || instance != NULL ? "uint8" : "uint64";
        passed.type_is_known = false;
    }
    return passed;
}

/* A buffer, and what the kernel is passed in its place. */
static void add_pair(struct hn_draft *draft, const struct hn_kernel_argument *declared,
                     const struct passed *passed)
{
    const char *type = declared->type_name, *name = declared->name;
    const char *data = HN_DRAFT_TEXT(draft, "%s_data", name);
    long long count = declared->bytes / hn_type_bytes(passed->field);
    bool map = passed->as == MAP; /* whose buffer is open until somebody says it */
    *HN_GROW(draft->unit, draft->arguments) = (struct hn_draft_argument){
        .name = data,
        .hidden = true,
        .type = map ? "float32" : passed->field,
        .count = map ? "65536" : HN_DRAFT_TEXT(draft, "%lld", count),
        .role = map ? HN_DRAFT_INOUT : HN_DRAFT_INPUT,
        .todo = map ? HN_DRAFT_LINE(draft, "what is the buffer under %s?", name)
                    : HN_DRAFT_LINE(draft, "which contents has %s? `file` or `fill`", type)};
    *HN_GROW(draft->unit, draft->arguments) = (struct hn_draft_argument){
        .name = name,
        .from = map ? NULL : data,
        .other = map ? HN_DRAFT_TEXT(draft, "tensor_map: %s, dims: 65536, box: 32", data) : NULL,
        .todo = map ? "dims, strides in bytes, box, swizzle (docs/tensor-maps.md)" : NULL};
}

static const char open_role[] = "output, inout, scratch or counter?";

/* Behind an argument's line, after what is asked there already. */
static void ask(const struct hn_draft *draft, struct hn_draft_argument *argument,
                const char *question)
{
    if (argument->todo != NULL && strstr(argument->todo, question) != NULL)
        return;
    argument->todo = argument->todo == NULL
                         ? hn_draft_line(draft, question)
                         : HN_DRAFT_LINE(draft, "%s  # TODO: %s", argument->todo, question);
}

static void add_argument(struct hn_draft *draft, const struct hn_kernel_argument *declared,
                         const char *name, const char *given)
{
    struct passed passed = passed_as(draft, declared);
    struct hn_draft_argument argument = {.name = name, .type = passed.type};
    const struct hn_draft_name *size = hn_draft_find(draft, name);
    const char *question =
        declared->fields.count == 0
            ? ": which type?"
            : " has fields of several types; without a `file` its bytes are random";
    /* Whether the kernel's body tells its role. */
    bool known = declared->constant || (!declared->passed && (declared->reads || declared->writes));
    if (passed.as == MAP || passed.as == STRUCTURE) {
        add_pair(draft, declared, &passed);
        return;
    }
    if (passed.as == BUFFER) {
        argument.role = declared->constant || !declared->writes ? HN_DRAFT_INPUT
                        : declared->reads                       ? HN_DRAFT_INOUT
                                                                : HN_DRAFT_OUTPUT;
        argument.count =
            hn_times(draft->unit, HN_DRAFT_TEXT(draft, "%lld", (long long)passed.multiple),
                     given != NULL ? given : draft->elements);
        if (!passed.type_is_known)
            ask(draft, &argument, HN_DRAFT_TEXT(draft, "%s%s", declared->type_name, question));
        if (!known)
            ask(draft, &argument, open_role);
        if (argument.role != HN_DRAFT_OUTPUT && passed.type_is_known &&
            strstr(passed.type, "int") != NULL)
            ask(draft, &argument, "may its elements be any integers, or which `fill` or `file`?");
        bool sized = given != NULL && (passed.type_is_known || declared->bytes > 0);
        if (!sized && draft->capture == NULL)
            ask(draft, &argument, "how many elements?");
        else if (given != NULL && draft->varies)
            ask(draft, &argument, "how many the source has changes with the parameters");
        if (hn_at(draft->unit, declared->given.begin + 1, "+"))
            ask(draft, &argument, "the source passes a later element: are those before it read?");
    } else {
        argument.value = size != NULL && !size->made ? size->name : given != NULL ? given : "1";
        if (size == NULL && !passed.type_is_known)
            argument.todo =
                HN_DRAFT_LINE(draft, "which value, and how is %s passed (`from`, docs/config.md)?",
                              declared->type_name);
        else if (size != NULL ? !size->told && !size->is_extent : given == NULL)
            argument.todo = "which value?";
    }
    *HN_GROW(draft->unit, draft->arguments) = argument;
}

/* A structure of numbers that the problem has, others, and buffers that only it passes. */
static void add_structure(struct hn_draft *draft, const struct hn_kernel_argument *declared)
{
    const char *text = "fields: {";
    struct hn_draft_argument whole = {.name = declared->name, .type = declared->record};
    size_t which = 0, i = 0;
    HN_EACH(each, draft->kernel->parameters)
        whole.type =
            hn_draft_replace(draft, whole.type,
                             HN_DRAFT_TEXT(draft, HN_TEMPLATE_TYPE "%zu", which++), each->instance);
    HN_EACH(field, declared->fields) {
        const struct hn_draft_name *size =
            hn_is_like(field->type, "whole") ? hn_draft_find(draft, field->last) : NULL;
        const char *value = size != NULL ? size->name : "1",
                   *quote = strchr(field->name, '[') != NULL ? "\"" : "";
        if (field->pointer) {
            const char *name = hn_text_is_word(field->name)
                                   ? HN_DRAFT_TEXT(draft, "%s_%s", declared->name, field->name)
                                   : HN_DRAFT_TEXT(draft, "%s_%zu", declared->name, i);
            value = HN_DRAFT_TEXT(draft, "{buffer: %s}", name);
            add_argument(draft, field, name, NULL);
            draft->arguments.items[draft->arguments.count - 1].within = true;
        } else if (size != NULL && !size->told) {
            whole.todo = "which values, in `problem` too?";
        } else if (whole.todo == NULL) {
            whole.todo = "which values?";
        }
        text = HN_DRAFT_TEXT(draft, "%s%s%s%s%s: %s", text, i++ > 0 ? ", " : "", quote, field->name,
                             quote, value);
    }
    whole.other = HN_DRAFT_TEXT(draft, "%s}", text);
    *HN_GROW(draft->unit, draft->arguments) = whole;
}

/* The last pointer that is not const, but only read by name, may be written where that does not
 * show of any. */
static void add_arguments(struct hn_draft *draft)
{
    size_t last = SIZE_MAX;
    bool written = false;
    HN_EACH(each, draft->kernel->arguments) {
        if (passed_as(draft, each).as == FIELDS)
            add_structure(draft, each);
        else
            add_argument(draft, each, each->name, hn_draft_given(draft, each));
        last = each->pointer && !each->constant ? draft->arguments.count - 1 : last;
    }
    HN_EACH(argument, draft->arguments)
        written |= argument->role != HN_DRAFT_INPUT;
    if (!written && last != SIZE_MAX) {
        struct hn_draft_argument *open = &draft->arguments.items[last];
        open->role = HN_DRAFT_INOUT;
        ask(draft, open, open_role);
    }
    HN_DRAFT_FLAG(draft, "unwritten", !written && last == SIZE_MAX);
}

/* Sizes: macros, whole numbers that are passed by value, and one where none of these tells any. */

static void add_macro_sizes(struct hn_draft *draft, bool guarded)
{
    int64_t number;
    HN_EACH(macro, draft->unit->meanings)
        if ((macro->macro || (macro->constant && macro->scope.begin == 0)) &&
            macro->guarded == guarded && hn_is_like(macro->name, "extent") &&
            (number =
                 hn_draft_number(draft, hn_draft_translate(draft, macro->body), HN_OF_NOTHING)) >=
                (hn_draft_launches(draft, HN_LAUNCH_GRID, macro->name) ? least_side : least_size) &&
            !hn_draft_launches(draft, HN_LAUNCH_BLOCK, macro->name) &&
            (guarded || is_used(draft, macro->name))) {
            struct hn_draft_name *size = hn_draft_add(draft, macro->name, NULL, true);
            size->preset = hn_integer(number);
            size->frozen = guarded;
            hn_draft_note(draft, "own", guarded ? "" : macro->name);
            size->told = true;
        }
}

/* A whole number that is passed, or of a structure's fields each; one name is one size. */
static void add_size(struct hn_draft *draft, const struct hn_kernel_argument *declared)
{
    const char *name = declared->last;
    struct passed passed = passed_as(draft, declared);
    if (passed.as == FIELDS)
        HN_EACH(field, declared->fields)
            add_size(draft, field);
    if (passed.as != SCALAR || !passed.type_is_known || !hn_is_like(passed.type, "whole") ||
        hn_is_like(declared->type_name, "texture") || hn_draft_find(draft, name) != NULL ||
        !hn_text_is_word(name))
        return;
    /* Or a free name where configs mean something by it. */
    const char *own = hn_is_like(name, "reserved") ? hn_draft_free_name(draft, name) : name;
    struct hn_draft_name *size = hn_draft_add(draft, own, name, true);
    size->is_extent = hn_is_like(name, "extent");
    /* Where there are rows they follow one another. */
    size->preset = hn_integer(hn_is_like(name, "pitch") ? 0 : 1);
}

static void choose_sizes(struct hn_draft *draft)
{
    bool any = false;
    const size_t before = draft->names.count;
    add_macro_sizes(draft, true);
    HN_EACH(missing, draft->unit->missing)
        if (!missing->condition && hn_is_like(missing->name, "extent"))
            hn_draft_add(draft, missing->name, NULL, true)->frozen = true;
    HN_EACH(each, draft->kernel->arguments)
        add_size(draft, each);
    /* What the source fixes stands for no more than itself. */
    HN_EACH(each, draft->names)
        any |= each->is_extent;
    if (!any)
        add_macro_sizes(draft, false);
    if (draft->names.count == before)
        hn_draft_add(draft, hn_draft_free_name(draft, "SIZE"), NULL, true);
}

bool hn_draft_holds(const struct hn_draft *draft, const char *text, enum hn_draft_names of,
                    struct hn_value *result, struct hn_error *err)
{
    struct hn_expression *expression = NULL;
    struct hn_blocks *memory = &draft->unit->memory;
    const char **names = hn_need_block(memory, draft->names.count, sizeof *names);
    struct hn_value *values = hn_need_block(memory, draft->names.count, sizeof *values);
    struct hn_scope scope = {.names = names};
    HN_EACH(each, draft->names) {
        if (of == HN_OF_NOTHING || each->made ||
            (of != HN_OF_ALL && each->is_size != (of == HN_OF_SIZES)))
            continue;
        values[scope.name_count] = each->preset;
        HN_EACH(value, each->values)
            if (of == HN_OF_LARGEST && hn_value_compare(value, &values[scope.name_count]) > 0)
                values[scope.name_count] = *value;
        names[scope.name_count++] = each->name;
    }
    bool holds = text != NULL && hn_expression_parse(text, &expression, err) == HN_OK &&
                 hn_expression_bind(expression, &scope, err) == HN_OK;
    if (result != NULL)
        holds = holds && (of <= HN_OF_ALL || hn_expression_slots(expression) > 0) &&
                hn_expression_evaluate(expression, values, result, err) == HN_OK;
    if (result != NULL && holds && result->type == HN_WORD)
        result->word = HN_DRAFT_TEXT(draft, "%s", result->word);
    hn_expression_destroy(expression);
    return holds;
}

int64_t hn_draft_number(const struct hn_draft *draft, const char *text, enum hn_draft_names of)
{
    struct hn_value value;
    bool whole = hn_draft_holds(draft, text, of, &value, NULL) && value.type == HN_INTEGER;
    return whole ? value.integer : INT64_MIN;
}

void hn_draft_make(struct hn_draft *draft)
{
    struct hn_unit *unit = draft->unit;
    draft->name = draft->kernel->name;
    draft->dimensions = 1;
    HN_EACH_AT(i, unit, draft->kernel->body, "threadIdx blockIdx blockDim") {
        int axis = hn_text_at(unit, i + 2)[0] - 'x';
        draft->dimensions = axis < 3 && axis >= draft->dimensions ? axis + 1 : draft->dimensions;
    }
    *HN_GROW(unit, unit->device) =
        (struct hn_tokens){draft->kernel->head.begin, draft->kernel->body.end};
    hn_draft_choose_compiler(draft);
    hn_draft_find_launch(draft);
    choose_template(draft);
    choose_sizes(draft);
    choose_declared(draft, true, true);
    choose_missing(draft);
    choose_declared(draft, false, false);
    choose_declared(draft, false, true);
    hn_draft_read_launch(draft);
    add_arguments(draft);
    if (unit->absent[0] != '\0')
        HN_DRAFT_NOTE(draft, "template_todo", "put beside it, or in a folder of -I:%s",
                      unit->absent);
    hn_draft_note_scalar(draft, "entry", hn_draft_entry(draft));
    if (draft->kernel->parameters.count > 0 && !draft->instances_are_known)
        hn_draft_note(draft, "entry_todo",
                      "are these the types and values to instantiate it with?");
}

void hn_draft_finish(struct hn_draft *draft)
{
    json_decref(draft->document);
    json_decref(draft->problem);
    hn_blocks_finish(&draft->unit->memory);
}
