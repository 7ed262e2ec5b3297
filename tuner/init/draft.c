/* SPDX-License-Identifier: MIT */
#include "tuner/init/draft.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "runtime/compile/code_scan.h"
#include "runtime/compile/template.h"
#include "tuner/init/translate.h"

/* Whether a word of the list is the name, or a part of it. */
static bool is_listed(const char *name, const char *list, bool part)
{
    char word[32];
    for (const char *at = list; *at != '\0'; at += strspn(at, " ")) {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, " "), at);
        if (part ? hn_find_letters(name, word) != NULL : hn_same_letters(name, word, SIZE_MAX))
            return true;
        at += strlen(word);
    }
    return false;
}

bool hn_draft_is_one_of(const char *name, const char *list)
{
    return is_listed(name, list, false);
}

bool hn_draft_has_part(const char *name, const char *list)
{
    return is_listed(name, list, true);
}

bool hn_draft_is_reserved(const char *name)
{
    return hn_draft_is_one_of(name, "bytes flops gb_per_s time_us min max abs log2 sizeof ceil_div "
                                    "if else and or not in null true false");
}

/* The number of blocks, or of threads for a row, is something else. */
bool hn_draft_is_block(const char *name)
{
    return (hn_draft_has_part(name, "block threads work_group") &&
            !hn_draft_has_part(name, "blocks per_row per_warp")) ||
           hn_draft_is_one_of(name, "bdim bx by bz tx ty");
}

/* Whether the name sounds like the extent of some work, and not of a block, a filter or a group. */
static bool is_extent(const char *name)
{
    return (hn_draft_is_one_of(name, "n m k w h d nx ny nz dim num nelem numel") ||
            hn_draft_has_part(name,
                              "size len count width height rows cols columns elem depth total")) &&
           !hn_draft_is_block(name) &&
           !hn_draft_has_part(
               name,
               "item per_thread vec unroll tile filter radius mask border halo window group warp "
               "chunk max_ min_");
}

static bool is_flag(const char *name)
{
    return hn_draft_has_part(name, "use_ pad enable swizzle has_");
}

struct hn_draft_parameter *hn_draft_find_parameter(const struct hn_draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->parameters.count; i++) {
        struct hn_draft_parameter *parameter = &draft->parameters.items[i];
        if (strcmp(parameter->name, name) == 0 ||
            (parameter->own != NULL && strcmp(parameter->own, name) == 0))
            return parameter;
    }
    return NULL;
}

struct hn_draft_size *hn_draft_find_size(const struct hn_draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->sizes.count; i++) {
        struct hn_draft_size *size = &draft->sizes.items[i];
        if (strcmp(size->name, name) == 0 ||
            (size->declared != NULL && strcmp(size->declared, name) == 0))
            return size;
    }
    return NULL;
}

bool hn_draft_is_taken(const struct hn_draft *draft, const char *name)
{
    return hn_draft_find_parameter(draft, name) != NULL || hn_draft_find_size(draft, name) != NULL;
}

bool hn_draft_has_size(const struct hn_draft *draft, const char *text)
{
    for (size_t i = 0; i < draft->sizes.count; i++)
        if (hn_text_has_word(text, draft->sizes.items[i].name, strlen(draft->sizes.items[i].name)))
            return true;
    return false;
}

const char *hn_draft_free_name(const struct hn_draft *draft, const char *wish)
{
    char upper[128];
    snprintf(upper, sizeof upper, "TUNE_%s", wish);
    for (char *c = upper; *c != '\0'; c++)
        *c = hn_upper(*c);
    bool taken = hn_draft_is_reserved(upper + 5) || hn_unit_has(draft->unit, upper + 5) ||
                 hn_draft_is_taken(draft, upper + 5);
    const char *name = hn_need_format(&draft->unit->memory, "%s", taken ? upper : upper + 5);
    while (hn_draft_is_taken(draft, name))
        name = hn_need_format(&draft->unit->memory, "%s_", name);
    return name;
}

struct hn_draft_size *hn_draft_add_size(struct hn_draft *draft, const char *name,
                                        const char *declared, int64_t value)
{
    struct hn_draft_size *size = HN_GROW(draft->sizes);
    *size = (struct hn_draft_size){
        .name = name, .declared = declared, .value = value, .is_extent = true};
    return size;
}

/* Parameters. */

static struct hn_draft_parameter *add_parameter(struct hn_draft *draft, const char *name,
                                                const char *own)
{
    struct hn_draft_parameter *parameter = HN_GROW(draft->parameters);
    parameter->name = name;
    parameter->own = own;
    parameter->has_preset = true;
    return parameter;
}

/* In its place among those that are smaller and larger. */
static void add_value(struct hn_draft_parameter *parameter, struct hn_value value)
{
    struct hn_value *values;
    size_t k = parameter->values.count;
    for (size_t i = 0; i < k; i++)
        if (hn_value_equal(&parameter->values.items[i], &value))
            return;
    HN_GROW(parameter->values);
    for (values = parameter->values.items; k > 0 && hn_value_compare(&values[k - 1], &value) > 0;
         k--)
        values[k] = values[k - 1];
    values[k] = value;
}

/* Powers of two around what the source has, off and on of a flag. */
static void choose_values(struct hn_draft_parameter *parameter, int64_t preset, bool boolean)
{
    bool flag = preset == 0 || (preset == 1 && is_flag(parameter->name));
    bool near = parameter->override != NULL || (preset & (preset - 1)) != 0;
    int64_t factor = near ? 2 : 4;
    parameter->preset = boolean ? hn_boolean(preset != 0) : hn_integer(preset);
    add_value(parameter, parameter->preset);
    if (boolean)
        add_value(parameter, hn_boolean(preset == 0));
    else if (flag)
        add_value(parameter, hn_integer(1 - preset));
    for (int64_t value = 1; !boolean && !flag && value <= factor * preset && value <= 1024;
         value *= 2)
        if (factor * value >= preset)
            add_value(parameter, hn_integer(value));
}

/* Where nothing tells what may be worth a try, one value stands for all. */
static void choose_unknown(const struct hn_draft *draft, struct hn_draft_parameter *parameter)
{
    const char *name = parameter->name;
    bool wide = hn_draft_is_block(name), tile = hn_draft_has_part(name, "tile");
    int64_t preset = is_flag(name)                    ? 0
                     : wide && draft->dimensions == 1 ? 256
                     : wide || tile                   ? 16
                                                      : 1;
    parameter->preset = hn_integer(preset);
    add_value(parameter, parameter->preset);
    if (preset != 1 || hn_draft_has_part(name, "item per_thread vec coarsen unroll words"))
        choose_values(parameter, preset, false);
}

const char *hn_draft_add_launch(struct hn_draft *draft, const char *wish, int64_t preset,
                                bool guessed)
{
    struct hn_draft_parameter *parameter =
        add_parameter(draft, hn_draft_free_name(draft, wish), NULL);
    parameter->comment = guessed ? "TODO: which block? The kernel does not ask how large it is"
                                 : "of the launch alone";
    parameter->preset = hn_integer(preset);
    add_value(parameter, parameter->preset);
    if (!guessed)
        choose_values(parameter, preset, false);
    return parameter->name;
}

/* LOAD_ldg of LOAD; NULL when it has another beginning. */
static const char *word_of(const char *macro, const char *name)
{
    size_t length = strlen(macro);
    bool begins =
        strncmp(name, macro, length) == 0 && name[length] == '_' && name[length + 1] != '\0';
    return begins ? name + length + 1 : NULL;
}

/* Whether it is one of another macro's words: "#define X_plain 1", "#define X_ldg 2", "#define X
 * X_plain". */
static bool is_word(const struct hn_unit *unit, const char *name)
{
    for (size_t i = 0; i < unit->meanings.count; i++) {
        const struct hn_meaning *other = &unit->meanings.items[i];
        if (other->guarded && word_of(other->name, name) != NULL &&
            word_of(other->name, hn_text_at(unit, other->body.begin)) != NULL)
            return true;
    }
    return false;
}

/* A word must not be the name of something else. */
static void add_words(struct hn_draft *draft, const struct hn_meaning *macro)
{
    const struct hn_unit *unit = draft->unit;
    const char *chosen = word_of(macro->name, hn_text_at(unit, macro->body.begin));
    struct hn_draft_parameter words = {.name = macro->name, .own = macro->name};
    for (size_t i = 0; chosen != NULL && i < unit->meanings.count; i++) {
        const char *word = word_of(macro->name, unit->meanings.items[i].name);
        if (word == NULL || !unit->meanings.items[i].macro)
            continue;
        bool odd = hn_draft_is_taken(draft, word) || hn_unit_meaning(unit, word, 0) != NULL ||
                   hn_is_digit(word[0]);
        chosen = odd ? NULL : chosen;
        *HN_GROW(words.values) = hn_word(word);
        words.has_preset |= chosen != NULL && strcmp(word, chosen) == 0;
    }
    if (chosen != NULL && words.has_preset) {
        words.preset = hn_word(chosen);
        *HN_GROW(draft->parameters) = words;
    } else {
        free(words.values.items);
    }
}

/* Whether the kernel, its declaration, other code of the device or another constant has the name.
 */
static bool is_used(const struct hn_draft *draft, const char *name)
{
    const struct hn_unit *unit = draft->unit;
    bool used = hn_find(unit, draft->kernel->head, name) != SIZE_MAX;
    for (size_t i = 0; i < unit->functions.count && !used; i++)
        used = unit->functions.items[i].device &&
               hn_find(unit, unit->functions.items[i].body, name) != SIZE_MAX;
    for (size_t i = 0; i < unit->meanings.count && !used; i++)
        used = unit->meanings.items[i].scope.begin == 0 &&
               hn_find(unit, unit->meanings.items[i].body, name) != SIZE_MAX;
    return used;
}

/* Macros at least so large that sound like an extent are the size of the problem. */
static const int64_t least_size = 1024;

/* Whether it is a number that the source declares for itself, once, and no fact of the hardware or
 * the problem. */
static bool may_override(const struct hn_draft *draft, const struct hn_meaning *meaning,
                         int64_t number)
{
    const char *name = meaning->name, *at = draft->unit->text;
    bool inner = meaning->scope.begin == 0 || draft->kernel->head.end == meaning->scope.begin;
    struct hn_code_value value;
    size_t count = 0;
    while (hn_code_next_value(&at, name, meaning->macro, &value))
        count++;
    return (meaning->macro || meaning->constant) && inner && count == 1 && number >= 1 &&
           number <= least_size && is_used(draft, name) &&
           !hn_draft_is_one_of(name, "warp kwarp") &&
           !hn_draft_has_part(
               name,
               "warp_size warpsize mask radius filter bins channel seed max_ min_ iter steps halo "
               "border");
}

/* What the source leaves to whoever compiles, then what it declares itself. */
static void choose_declared(struct hn_draft *draft, bool guarded)
{
    struct hn_unit *unit = draft->unit;
    for (size_t i = 0; i < unit->meanings.count; i++) {
        const struct hn_meaning *meaning = &unit->meanings.items[i];
        int64_t number;
        if (meaning->guarded != guarded || meaning->parameters.end > meaning->parameters.begin ||
            hn_draft_is_taken(draft, meaning->name) || is_word(unit, meaning->name))
            continue;
        bool is_number = hn_unit_number(unit, meaning->body, &number);
        if (guarded && !is_number)
            add_words(draft, meaning);
        if (!is_number || (!guarded && !may_override(draft, meaning, number)))
            continue;
        struct hn_draft_parameter *parameter = add_parameter(draft, meaning->name, meaning->name);
        parameter->override = guarded ? NULL : meaning->macro ? "define" : "constexpr";
        choose_values(parameter, number, false);
    }
}

static void choose_missing(struct hn_draft *draft)
{
    for (size_t i = 0; i < draft->unit->missing.count; i++) {
        const struct hn_missing *missing = &draft->unit->missing.items[i];
        if (hn_draft_is_taken(draft, missing->name))
            continue;
        struct hn_draft_parameter *parameter = add_parameter(draft, missing->name, missing->name);
        parameter->comment = "TODO: which values? The source defines it nowhere";
        if (missing->compared_count == 0) {
            choose_unknown(draft, parameter);
            continue;
        }
        for (size_t k = 0; k < missing->compared_count; k++)
            add_value(parameter, hn_integer(missing->compared[k]));
        /* A flag is on or off. */
        if (missing->compared_count == 1 && (missing->compared[0] & ~1) == 0)
            add_value(parameter, hn_integer(1 - missing->compared[0]));
        parameter->preset = parameter->values.items[0];
    }
}

/* What a launch or an instantiation of the source gives the template; types that sound like indices
 * are int, others float. */
static void choose_instances(struct hn_draft *draft)
{
    const struct hn_kernel *kernel = draft->kernel;
    struct hn_tokens list = draft->template_arguments, item;
    char known[HN_TYPE_SIZE];
    draft->instances =
        hn_need_block(&draft->unit->memory, kernel->parameter_count, sizeof *draft->instances);
    draft->instances_are_known = list.end > list.begin;
    for (size_t i = 0; i < kernel->parameter_count; i++) {
        const struct hn_kernel_parameter *parameter = &kernel->parameters[i];
        if (!hn_next(draft->unit, &list, &item))
            item = parameter->preset;
        const char *given = item.end > item.begin ? hn_unit_text(draft->unit, item) : NULL;
        /* A name that the launch has from its own template says nothing. */
        if (parameter->kind == HN_PARAMETER_TYPE &&
            (given == NULL || (strlen(given) < 3 && !hn_type_of_c(given, known)))) {
            given = hn_draft_has_part(parameter->name, "index idx offset int") ? "int" : "float";
            draft->instances_are_known = false;
        }
        draft->instances[i] = given;
    }
}

/* The prelude must not define a name that the source declares, so a value of the template gets one
 * of its own. */
static void choose_template(struct hn_draft *draft)
{
    for (size_t i = 0; i < draft->kernel->parameter_count; i++) {
        const struct hn_kernel_parameter *declared = &draft->kernel->parameters[i];
        const char *given = draft->instances[i];
        if (declared->kind != HN_PARAMETER_NUMBER && declared->kind != HN_PARAMETER_BOOLEAN)
            continue;
        struct hn_draft_parameter *parameter =
            add_parameter(draft, hn_draft_free_name(draft, declared->name), declared->name);
        const struct hn_meaning *own =
            given != NULL ? hn_unit_meaning(draft->unit, given, draft->template_arguments.begin)
                          : NULL;
        int64_t preset = given != NULL ? strcmp(given, "true") == 0 : 0;
        bool known = hn_unit_number(draft->unit, declared->preset, &preset);
        known = (own != NULL && hn_unit_number(draft->unit, own->body, &preset)) || known;
        if (given != NULL && hn_is_digit(given[0]))
            preset = strtoll(given, NULL, 0);
        bool boolean = declared->kind == HN_PARAMETER_BOOLEAN;
        known = known || boolean || (given != NULL && hn_is_digit(given[0]));
        if (known)
            choose_values(parameter, preset, boolean);
        else
            choose_unknown(draft, parameter);
        parameter->comment = hn_draft_line(draft, "the template's %s%s", declared->name,
                                           known ? "" : "; TODO: which values?");
        draft->instances[i] = parameter->name;
    }
}

/* How the kernel is asked for, compiled and passed its arguments. */

/* Whether NVRTC has the header, itself or of the toolkit, or might have it. */
static bool suits_nvrtc(const struct hn_include *include)
{
    return strncmp(include->name, "thrust/", 7) != 0 &&
           (include->quoted || hn_host_header_find(include->name, include->length) != NULL ||
            !hn_is_header_of_host(include->name, include->length));
}

/* Code that NVRTC cannot compile is for the host; where it is guarded there is a word for it. */
const char *hn_draft_why_nvcc(const struct hn_draft *draft)
{
    struct hn_include_scan lines = {.next = draft->unit->text};
    struct hn_include include;
    if (hn_unit_has(draft->unit, "__CUDACC_RTC__"))
        return NULL;
    while (hn_include_next(&lines, &include))
        if (!suits_nvrtc(&include))
            return hn_draft_line(draft, "NVRTC has no <%.*s>", (int)include.length, include.name);
    for (size_t i = 0; i < draft->unit->functions.count; i++)
        if (!draft->unit->functions.items[i].device)
            return "NVRTC compiles no code of the host";
    return NULL;
}

const char *hn_draft_entry(const struct hn_draft *draft)
{
    const struct hn_kernel *kernel = draft->kernel;
    struct hn_text text = {0};
    if (kernel->parameter_count > 0)
        return NULL;
    if (kernel->extern_c && !kernel->overloaded)
        return kernel->name;
    /* One of several of its name is told by its type. */
    hn_text_append(&text, kernel->overloaded ? "(void (*)(" : "");
    for (size_t i = 0; kernel->overloaded && i < kernel->argument_count; i++)
        hn_text_printf(&text, "%s%s", i > 0 ? ", " : "", kernel->arguments[i].spelled);
    hn_text_printf(&text, "%s&%s%s", kernel->overloaded ? "))" : "", kernel->scope, kernel->name);
    return hn_need_kept(&draft->unit->memory, hn_text_take(&text));
}

/* As configs have it. */
struct passed {
    enum { BUFFER, SCALAR, STRUCTURE, TEXTURE, MAP } as;
    const char *type; /* of an element */
    int64_t multiple; /* of it in an element of the source */
    bool type_is_known;
};

/* What the template's parameter is instantiated with, if the type is one. */
static const char *instance_of(const struct hn_draft *draft, const char *type)
{
    for (size_t i = 0; i < draft->kernel->parameter_count; i++)
        if (draft->kernel->parameters[i].kind == HN_PARAMETER_TYPE &&
            strcmp(draft->kernel->parameters[i].name, type) == 0)
            return draft->instances[i];
    return NULL;
}

/* A structure is a vector of what its fields are, or several elements; a function object without
 * fields one byte. */
static struct passed passed_as(const struct hn_draft *draft,
                               const struct hn_kernel_argument *declared)
{
    const char *name = declared->type_name, *instance = instance_of(draft, name);
    const char *field = declared->field[0] != '\0' ? declared->field : "uint8";
    char of_template[HN_TYPE_SIZE];
    struct passed passed = {.as = SCALAR, .multiple = 1, .type = declared->type};
    bool structure = declared->type[0] == '\0' && instance == NULL && declared->bytes > 0;
    passed.type_is_known =
        declared->type[0] != '\0' || (instance != NULL && draft->instances_are_known);
    if (declared->pointer)
        passed.as = BUFFER;
    else if (hn_draft_is_one_of(name, "cudaTextureObject_t CUtexObject"))
        passed.as = TEXTURE;
    else if (strstr(name, "ensorMap") != NULL || strstr(name, "ensor_map") != NULL)
        passed.as = MAP;
    else if (structure)
        passed.as = STRUCTURE;
    if (declared->type[0] != '\0')
        return passed;
    if (instance != NULL && hn_type_of_c(instance, of_template)) {
        passed.type = hn_need_format(&draft->unit->memory, "%s", of_template);
    } else if (declared->pointer && declared->bytes > 0) {
        int64_t count = declared->bytes / hn_type_bytes(field);
        passed.type = hn_need_format(&draft->unit->memory, "%sx%lld", field, (long long)count);
        passed.multiple = hn_type_bytes(passed.type) == declared->bytes ? 1 : count;
        passed.type = passed.multiple == 1 ? passed.type : field;
    } else {
        passed.type = declared->pointer || instance != NULL ? "uint8" : "uint64";
    }
    return passed;
}

/* Whether it is a whole number that is passed by value. */
static bool is_whole(const struct hn_draft *draft, const struct hn_kernel_argument *declared)
{
    struct passed passed = passed_as(draft, declared);
    return passed.as == SCALAR && hn_draft_is_one_of(passed.type, "int32 uint32 int64 uint64");
}

static bool may_write(const struct hn_kernel_argument *declared)
{
    return declared->pointer && !declared->constant;
}

static bool role_is_known(const struct hn_kernel_argument *declared)
{
    return !may_write(declared) || (!declared->passed && (declared->reads || declared->writes));
}

enum hn_draft_role hn_draft_role_of(const struct hn_kernel_argument *declared)
{
    return !may_write(declared) || (role_is_known(declared) && !declared->writes) ? HN_DRAFT_INPUT
           : declared->reads                                                      ? HN_DRAFT_INOUT
                                                                                  : HN_DRAFT_OUTPUT;
}

/* The last pointer that is not const, but only read by name, may be written where that does not
 * show; NULL: it shows of others. */
static const struct hn_kernel_argument *find_doubtful(const struct hn_draft *draft,
                                                      struct hn_error *err)
{
    const struct hn_kernel *kernel = draft->kernel;
    const struct hn_kernel_argument *last = NULL;
    for (size_t i = 0; i < kernel->argument_count; i++) {
        const struct hn_kernel_argument *declared = &kernel->arguments[i];
        if (passed_as(draft, declared).as == MAP || hn_draft_role_of(declared) != HN_DRAFT_INPUT)
            return NULL;
        last = may_write(declared) ? declared : last;
    }
    if (last == NULL)
        hn_fail(err, HN_ECONFIG,
                "%s: kernel '%s' has no argument that it could write to; its results have to be "
                "there to be compared",
                draft->unit->path, kernel->name);
    return last;
}

static const char *size_named(const struct hn_draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->sizes.count; i++)
        if (draft->sizes.items[i].is_extent &&
            hn_same_letters(draft->sizes.items[i].name, name, SIZE_MAX))
            return draft->sizes.items[i].name;
    return NULL;
}

/* Elements of a buffer: those of the whole problem; of matrices A, B and C their own. */
static const char *elements_of(const struct hn_draft *draft, const char *name)
{
    const char *m = size_named(draft, "M"), *n = size_named(draft, "N"),
               *k = size_named(draft, "K");
    if (m == NULL || n == NULL || k == NULL || !hn_draft_is_one_of(name, "a b c"))
        return draft->elements;
    return hn_times(draft->unit, hn_lower(name[0]) == 'b' ? k : m,
                    hn_lower(name[0]) == 'a' ? k : n);
}

static void add_buffer(struct hn_draft *draft, const struct hn_kernel_argument *declared,
                       struct passed passed, const char *given, bool doubtful)
{
    struct hn_draft_argument *argument = HN_GROW(draft->arguments);
    bool asked = doubtful || !role_is_known(declared);
    argument->name = declared->name;
    argument->type = passed.type;
    argument->count = given != NULL ? given : elements_of(draft, declared->name);
    if (passed.multiple > 1)
        argument->count = hn_need_format(&draft->unit->memory, "%lld * %s",
                                         (long long)passed.multiple, argument->count);
    argument->role = doubtful ? HN_DRAFT_INOUT : hn_draft_role_of(declared);
    argument->todo = asked ? "output, inout, scratch or counter?" : NULL;
    if (!passed.type_is_known)
        argument->todo = hn_draft_line(draft, "%s: which type?%s%s", declared->type_name,
                                       asked ? "  # TODO: " : "", asked ? argument->todo : "");
}

static void add_scalar(struct hn_draft *draft, const struct hn_kernel_argument *declared,
                       struct passed passed, const char *given)
{
    struct hn_draft_argument *argument = HN_GROW(draft->arguments);
    const struct hn_draft_size *size = hn_draft_find_size(draft, declared->name);
    argument->name = declared->name;
    argument->type = passed.type;
    argument->value = size != NULL ? size->name : given != NULL ? given : "1";
    if (size != NULL || (given != NULL && passed.type_is_known))
        return;
    argument->todo = passed.type_is_known
                         ? "which value?"
                         : hn_draft_line(draft,
                                         "which value, and how is %s passed (`from`, "
                                         "docs/config.md)?",
                                         declared->type_name);
}

/* A buffer, and what the kernel is passed in its place. */
static void add_pair(struct hn_draft *draft, const struct hn_kernel_argument *declared, bool map)
{
    static const char mapped[] = "65536"; /* until somebody says how many there are */
    const char *name = hn_need_format(&draft->unit->memory, "%s_data", declared->name);
    const char *bytes = hn_need_format(&draft->unit->memory, "%lld", (long long)declared->bytes);
    *HN_GROW(draft->arguments) = (struct hn_draft_argument){
        .name = name,
        .hidden = true,
        .type = map ? "float32" : "uint8",
        .count = map ? mapped : bytes,
        .role = map ? HN_DRAFT_INOUT : HN_DRAFT_INPUT,
        .todo = map ? hn_draft_line(draft, "what is the buffer under %s?", declared->name)
                    : hn_draft_line(draft,
                                    "which contents has %s? `file` or `fill`; a pointer in it "
                                    "cannot be described",
                                    declared->type_name)};
    struct hn_draft_argument *argument = HN_GROW(draft->arguments);
    argument->name = declared->name;
    argument->from = map ? NULL : name;
    argument->other = map ? hn_need_format(&draft->unit->memory,
                                           "tensor_map: %s, dims: %s, box: 32", name, mapped)
                          : NULL;
    argument->todo = map ? "dims, strides in bytes, box, swizzle (docs/tensor-maps.md)" : NULL;
}

/* The first buffer of floats that is read; NULL: there is none. */
static const char *first_input(const struct hn_draft *draft)
{
    for (size_t i = 0; i < draft->kernel->argument_count; i++) {
        const struct hn_kernel_argument *declared = &draft->kernel->arguments[i];
        struct passed passed = passed_as(draft, declared);
        if (passed.as == BUFFER && hn_draft_role_of(declared) == HN_DRAFT_INPUT &&
            passed.type_is_known && strcmp(passed.type, "float32") == 0)
            return declared->name;
    }
    return NULL;
}

static void add_arguments(struct hn_draft *draft, struct hn_error *err)
{
    const struct hn_kernel_argument *doubtful = find_doubtful(draft, err);
    const char *input = first_input(draft);
    for (size_t i = 0; !hn_failed(err) && i < draft->kernel->argument_count; i++) {
        const struct hn_kernel_argument *declared = &draft->kernel->arguments[i];
        struct passed passed = passed_as(draft, declared);
        if (passed.as == BUFFER)
            add_buffer(draft, declared, passed, draft->given[i], declared == doubtful);
        else if (passed.as == MAP || passed.as == STRUCTURE)
            add_pair(draft, declared, passed.as == MAP);
        else if (passed.as == TEXTURE && input != NULL)
            *HN_GROW(draft->arguments) = (struct hn_draft_argument){
                .name = declared->name,
                .other = hn_need_format(&draft->unit->memory, "texture: %s", input),
                .todo = "over which buffer?"};
        else
            add_scalar(draft, declared, passed, draft->given[i]);
    }
}

/* Sizes. */

static void choose_sizes(struct hn_draft *draft)
{
    static const char *const names[] = {"WIDTH", "HEIGHT", "DEPTH"};
    struct hn_unit *unit = draft->unit;
    bool any = false;
    int64_t number;
    for (size_t i = 0; i < unit->meanings.count; i++) {
        const struct hn_meaning *macro = &unit->meanings.items[i];
        if (macro->guarded && is_extent(macro->name) &&
            hn_unit_number(unit, macro->body, &number) && number >= least_size)
            hn_draft_add_size(draft, macro->name, macro->name, number)->frozen = true;
    }
    for (size_t i = 0; i < unit->missing.count; i++)
        if (unit->missing.items[i].compared_count == 0 && is_extent(unit->missing.items[i].name))
            hn_draft_add_size(draft, unit->missing.items[i].name, unit->missing.items[i].name, 0)
                ->frozen = true;
    for (size_t i = 0; i < draft->kernel->argument_count; i++) {
        const char *name = draft->kernel->arguments[i].name;
        if (!is_whole(draft, &draft->kernel->arguments[i]) || hn_draft_is_taken(draft, name))
            continue;
        /* Or a free name where configs mean something by it. */
        struct hn_draft_size *size = hn_draft_add_size(
            draft, hn_draft_is_reserved(name) ? hn_draft_free_name(draft, name) : name, name,
            is_extent(name) ? 0 : 1);
        size->is_extent = is_extent(name);
    }
    for (size_t i = 0; i < draft->sizes.count; i++)
        any = any || draft->sizes.items[i].is_extent;
    if (!any && draft->sizes.count > 0) {
        draft->sizes.items[0].is_extent = true;
        draft->sizes.items[0].value = 0;
    }
    for (int axis = 0; draft->sizes.count <= (size_t)axis && axis < draft->dimensions; axis++)
        hn_draft_add_size(draft,
                          hn_draft_free_name(draft, draft->dimensions == 1 ? "SIZE" : names[axis]),
                          NULL, 0);
}

/* A few million elements in all. */
static void choose_usual_sizes(struct hn_draft *draft)
{
    size_t count = 0;
    for (size_t i = 0; i < draft->sizes.count; i++)
        count += draft->sizes.items[i].is_extent;
    for (size_t i = 0; i < draft->sizes.count; i++)
        if (draft->sizes.items[i].value == 0)
            draft->sizes.items[i].value = count == 1 ? 1 << 22 : count == 2 ? 2048 : 128;
}

/* "k<float, BM>" with what the template's parameters are called in the config. */
static void write_entry(struct hn_draft *draft)
{
    const struct hn_kernel *kernel = draft->kernel;
    struct hn_text text = {0};
    draft->entry = hn_draft_entry(draft);
    if (draft->entry != NULL)
        return;
    hn_text_printf(&text, "%s%s<", kernel->scope, kernel->name);
    for (size_t i = 0; i < kernel->parameter_count; i++) {
        const char *type = kernel->parameters[i].type;
        hn_text_append(&text, i > 0 ? ", " : "");
        if (draft->instances[i] == NULL)
            hn_text_printf(&text, "(%s%s)0", strchr(type, ':') == NULL ? kernel->scope : "", type);
        else
            hn_text_append(&text, draft->instances[i]);
    }
    hn_text_append(&text, ">");
    draft->entry = hn_need_kept(&draft->unit->memory, hn_text_take(&text));
    if (!draft->instances_are_known)
        draft->entry_todo = "are these the types and values to instantiate it with?";
}

bool hn_draft_holds(const struct hn_draft *draft, const char *text, enum hn_draft_names of,
                    struct hn_value *result, struct hn_error *err)
{
    struct hn_expression *expression = NULL;
    size_t parameters = draft->parameters.count, count = parameters + draft->sizes.count;
    size_t begin = of == HN_OF_SIZES ? parameters : 0;
    size_t end = of == HN_OF_SIZES || of == HN_OF_ALL ? count : parameters;
    const char **names = hn_need(count, sizeof *names);
    struct hn_value *values = hn_need(count, sizeof *values);
    struct hn_scope scope = {.names = names + begin, .name_count = end - begin};
    for (size_t i = 0; i < parameters; i++) {
        const struct hn_draft_parameter *parameter = &draft->parameters.items[i];
        names[i] = parameter->name;
        values[i] = of == HN_OF_LARGEST ? hn_draft_end(parameter, true) : parameter->preset;
    }
    for (size_t i = parameters; i < count; i++) {
        names[i] = draft->sizes.items[i - parameters].name;
        values[i] = hn_integer(draft->sizes.items[i - parameters].value);
    }
    bool holds = hn_expression_parse(text, &expression, err) == HN_OK &&
                 hn_expression_bind(expression, &scope, err) == HN_OK;
    if (result != NULL)
        holds = holds && (of == HN_OF_ALL || hn_expression_slots(expression) > 0) &&
                hn_expression_evaluate(expression, values + begin, result, err) == HN_OK;
    hn_expression_destroy(expression);
    free(names);
    free(values);
    return holds;
}

struct hn_value hn_draft_end(const struct hn_draft_parameter *parameter, bool largest)
{
    struct hn_value end = parameter->values.items[0];
    for (size_t i = 1; i < parameter->values.count; i++) {
        int order = hn_value_compare(&parameter->values.items[i], &end);
        if (largest ? order > 0 : order < 0)
            end = parameter->values.items[i];
    }
    return end;
}

/* Comments of a draft in which all is guessed. */
static void write_notes(struct hn_draft *draft)
{
    bool fixed = draft->grid_is_known;
    for (int axis = 0; axis < draft->dimensions; axis++)
        fixed = fixed && !hn_draft_has_size(draft, draft->grid[axis]);
    hn_draft_note(draft, HN_NOTE_SIZES,
                  "# TODO: the sizes that matter to you; a list tunes each of its values.");
    hn_draft_note(draft, HN_NOTE_PARAMETERS, "# TODO: which values are worth a try?");
    hn_draft_note(draft, HN_NOTE_CONSTRAINTS,
                  "# TODO: which combinations are valid? What fails to compile or run is found out "
                  "too, but costs time.");
    if (draft->constraints.count == 0)
        hn_text_append(&draft->notes[HN_NOTE_CONSTRAINTS],
                       "# constraints:\n#   - BLOCK * ITEMS <= 4096\n");
    hn_draft_note(draft, HN_NOTE_ARGUMENTS,
                  "# In the order of the signature. TODO: how many elements has each buffer?");
    hn_draft_note(draft, HN_NOTE_LAUNCH,
                  fixed                  ? "# TODO: as the source launches it, whatever the sizes?"
                  : draft->grid_is_known ? "# As the source launches it."
                  : draft->block_is_known
                      ? "# TODO: does the kernel want this many blocks?"
                      : "# TODO: is the block's size free, and does the kernel want this many "
                        "blocks?");
    if (!draft->block_is_known && draft->bounds != NULL)
        hn_draft_note(draft, HN_NOTE_LAUNCH, "# The source has __launch_bounds__(%s).",
                      draft->bounds);
}

enum hn_status hn_draft_make(struct hn_unit *unit, const struct hn_kernel *kernel,
                             struct hn_draft *draft, struct hn_error *err)
{
    *draft = (struct hn_draft){.unit = unit,
                               .kernel = kernel,
                               .origin = unit->path,
                               .name = kernel->name,
                               .dimensions = 1};
    hn_error_init(err);
    for (size_t i = kernel->body.begin; i < kernel->body.end; i++) {
        int axis = hn_text_at(unit, i + 2)[0] - 'x';
        if (axis < 3 && axis >= draft->dimensions &&
            hn_draft_is_one_of(hn_text_at(unit, i), "threadIdx blockIdx blockDim"))
            draft->dimensions = axis + 1;
    }
    draft->nvcc = hn_draft_why_nvcc(draft);
    hn_draft_find_launch(draft);
    choose_instances(draft);
    choose_sizes(draft);
    choose_declared(draft, true);
    choose_missing(draft);
    choose_declared(draft, false);
    choose_template(draft);
    hn_draft_read_launch(draft);
    choose_usual_sizes(draft);
    add_arguments(draft, err);
    write_entry(draft);
    write_notes(draft);
    return err->status;
}

void hn_draft_finish(struct hn_draft *draft)
{
    for (size_t i = 0; i < draft->parameters.count; i++)
        free(draft->parameters.items[i].values.items);
    free(draft->parameters.items);
    free(draft->sizes.items);
    free(draft->constraints.items);
    free(draft->arguments.items);
    free(draft->symbols.items);
    free(draft->options.items);
    for (size_t i = 0; i < HN_NOTE_COUNT; i++)
        hn_text_finish(&draft->notes[i]);
    *draft = (struct hn_draft){.unit = NULL};
}
