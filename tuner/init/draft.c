/* SPDX-License-Identifier: MIT */
#include "tuner/init/draft.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "runtime/compile/code_scan.h"

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

/* Whether the config has the name already. */
static bool is_taken(const struct hn_draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->parameters.count; i++)
        if (strcmp(draft->parameters.items[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < draft->sizes.count; i++)
        if (strcmp(draft->sizes.items[i].name, name) == 0)
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
                 is_taken(draft, upper + 5);
    return hn_need_format(&draft->unit->memory, "%s", taken ? upper : upper + 5);
}

struct hn_draft_size *hn_draft_add_size(struct hn_draft *draft, const char *name,
                                        const char *declared, int64_t value)
{
    struct hn_draft_size *size = HN_GROW(draft->sizes);
    *size = (struct hn_draft_size){
        .name = name, .declared = declared, .value = value, .is_extent = true};
    return size;
}

/* Arguments. */

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
static void choose_type(const struct hn_draft *draft, struct hn_draft_argument *argument)
{
    const struct hn_kernel_argument *declared = argument->declared;
    const char *instance = instance_of(draft, declared->type_name);
    const char *field = declared->field[0] != '\0' ? declared->field : "uint8";
    char type[HN_TYPE_SIZE];
    bool plain = declared->type[0] != '\0',
         of_template = instance != NULL && hn_type_of_c(instance, type);
    argument->type_is_known = plain || (instance != NULL && draft->instances_are_known);
    argument->multiple = 1;
    snprintf(argument->type, sizeof argument->type, "%s",
             plain                                   ? declared->type
             : of_template                           ? type
             : declared->pointer || instance != NULL ? "uint8"
                                                     : "uint64");
    if (plain || of_template || !declared->pointer || declared->bytes <= 0)
        return;
    argument->multiple = declared->bytes / hn_type_bytes(field);
    snprintf(argument->type, sizeof argument->type, "%sx%d", field, (int)argument->multiple);
    if (hn_type_bytes(argument->type) == declared->bytes)
        argument->multiple = 1;
    else
        snprintf(argument->type, sizeof argument->type, "%s", field);
}

static void choose_argument(const struct hn_draft *draft, struct hn_draft_argument *argument)
{
    const struct hn_kernel_argument *declared = argument->declared;
    const char *type = declared->type_name;
    bool map = strstr(type, "ensorMap") != NULL || strstr(type, "ensor_map") != NULL;
    bool structure =
        declared->type[0] == '\0' && instance_of(draft, type) == NULL && declared->bytes > 0;
    choose_type(draft, argument);
    argument->passed = declared->pointer ? HN_PASSED_BUFFER
                       : hn_draft_is_one_of(type, "cudaTextureObject_t CUtexObject")
                           ? HN_PASSED_TEXTURE
                       : map       ? HN_PASSED_MAP
                       : structure ? HN_PASSED_STRUCTURE
                                   : HN_PASSED_SCALAR;
    bool may_write = declared->pointer && !declared->constant;
    argument->role_is_known =
        !may_write || (!declared->passed && (declared->reads || declared->writes));
    if (may_write && (declared->writes || !argument->role_is_known))
        argument->role = declared->reads ? HN_DRAFT_INOUT : HN_DRAFT_OUTPUT;
}

static void choose_arguments(struct hn_draft *draft, struct hn_error *err)
{
    const struct hn_kernel *kernel = draft->kernel;
    struct hn_draft_argument *last = NULL;
    bool written = false;
    draft->arguments =
        hn_need_block(&draft->unit->memory, kernel->argument_count, sizeof *draft->arguments);
    for (size_t i = 0; i < kernel->argument_count; i++) {
        struct hn_draft_argument *argument = &draft->arguments[i];
        argument->declared = &kernel->arguments[i];
        choose_argument(draft, argument);
        written |= argument->passed == HN_PASSED_MAP || argument->role != HN_DRAFT_INPUT;
        last = argument->declared->pointer && !argument->declared->constant ? argument : last;
    }
    /* The last pointer that is not const, but only read by name, may be written where that does not
     * show. */
    if (!written && last != NULL) {
        last->role = HN_DRAFT_INOUT;
        last->role_is_known = false;
    } else if (!written) {
        hn_fail(err, HN_ECONFIG,
                "%s: kernel '%s' has no argument that it could write to; its results have to be "
                "there to be compared",
                draft->unit->path, kernel->name);
    }
}

/* Parameters. */

static struct hn_draft_parameter *add_parameter(struct hn_draft *draft, enum hn_draft_of of,
                                                const char *name, const char *own)
{
    struct hn_draft_parameter *parameter = HN_GROW(draft->parameters);
    *parameter = (struct hn_draft_parameter){.name = name, .own = own, .of = of};
    return parameter;
}

static void add_value(struct hn_draft_parameter *parameter, int64_t value)
{
    size_t k = parameter->value_count;
    for (size_t i = 0; i < k; i++)
        if (parameter->values[i] == value)
            return;
    if (k == sizeof parameter->values / sizeof *parameter->values)
        return;
    for (; k > 0 && parameter->values[k - 1] > value; k--)
        parameter->values[k] = parameter->values[k - 1];
    parameter->values[k] = value;
    parameter->value_count++;
}

/* Powers of two around what the source has, off and on of a flag. */
static void choose_values(struct hn_draft_parameter *parameter, int64_t preset)
{
    bool flag = parameter->boolean || preset == 0 || (preset == 1 && is_flag(parameter->name));
    bool near = parameter->of >= HN_OF_OWN_MACRO || (preset & (preset - 1)) != 0;
    int64_t factor = near ? 2 : 4;
    parameter->preset = preset;
    add_value(parameter, preset);
    if (flag)
        add_value(parameter, 1 - preset);
    for (int64_t value = 1; !flag && value <= factor * preset && value <= 1024; value *= 2)
        if (factor * value >= preset)
            add_value(parameter, value);
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
    parameter->guessed = true;
    parameter->preset = preset;
    add_value(parameter, preset);
    if (preset != 1 || hn_draft_has_part(name, "item per_thread vec coarsen unroll words"))
        choose_values(parameter, preset);
}

const char *hn_draft_add_launch(struct hn_draft *draft, const char *wish, int64_t preset,
                                bool guessed)
{
    struct hn_draft_parameter *parameter =
        add_parameter(draft, HN_OF_LAUNCH, hn_draft_free_name(draft, wish), NULL);
    parameter->guessed = guessed;
    parameter->preset = preset;
    add_value(parameter, preset);
    if (!guessed)
        choose_values(parameter, preset);
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
    struct hn_draft_parameter words = {.name = macro->name, .own = macro->name, .of = HN_OF_DEFINE};
    for (size_t i = 0; chosen != NULL && i < unit->meanings.count && words.word_count < 16; i++) {
        const char *word = word_of(macro->name, unit->meanings.items[i].name);
        if (word == NULL || !unit->meanings.items[i].macro)
            continue;
        if (is_taken(draft, word) || hn_unit_meaning(unit, word, 0) != NULL || hn_is_digit(word[0]))
            return;
        words.words[words.word_count++] = word;
        words.word = strcmp(word, chosen) == 0 ? word : words.word;
    }
    if (words.word != NULL)
        *HN_GROW(draft->parameters) = words;
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
            is_taken(draft, meaning->name) || is_word(unit, meaning->name))
            continue;
        bool is_number = hn_unit_number(unit, meaning->body, &number);
        enum hn_draft_of of = guarded          ? HN_OF_DEFINE
                              : meaning->macro ? HN_OF_OWN_MACRO
                                               : HN_OF_CONSTANT;
        if (guarded && !is_number)
            add_words(draft, meaning);
        else if (is_number && (guarded || may_override(draft, meaning, number)))
            choose_values(add_parameter(draft, of, meaning->name, meaning->name), number);
    }
}

static void choose_missing(struct hn_draft *draft)
{
    for (size_t i = 0; i < draft->unit->missing.count; i++) {
        const struct hn_missing *missing = &draft->unit->missing.items[i];
        if (is_taken(draft, missing->name))
            continue;
        struct hn_draft_parameter *parameter =
            add_parameter(draft, HN_OF_DEFINE, missing->name, missing->name);
        parameter->missing = parameter->guessed = true;
        if (missing->compared_count == 0) {
            choose_unknown(draft, parameter);
            continue;
        }
        for (size_t k = 0; k < missing->compared_count; k++)
            add_value(parameter, missing->compared[k]);
        /* A flag is on or off. */
        if (missing->compared_count == 1 && (missing->compared[0] & ~1) == 0)
            add_value(parameter, 1 - missing->compared[0]);
        parameter->preset = parameter->values[0];
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
        struct hn_draft_parameter *parameter = add_parameter(
            draft, HN_OF_TEMPLATE, hn_draft_free_name(draft, declared->name), declared->name);
        const struct hn_meaning *own =
            given != NULL ? hn_unit_meaning(draft->unit, given, draft->template_arguments.begin)
                          : NULL;
        int64_t preset = given != NULL ? strcmp(given, "true") == 0 : 0;
        bool known = hn_unit_number(draft->unit, declared->preset, &preset);
        known = (own != NULL && hn_unit_number(draft->unit, own->body, &preset)) || known;
        if (given != NULL && hn_is_digit(given[0]))
            preset = strtoll(given, NULL, 0);
        parameter->boolean = declared->kind == HN_PARAMETER_BOOLEAN;
        if (parameter->boolean || known || (given != NULL && hn_is_digit(given[0])))
            choose_values(parameter, preset);
        else
            choose_unknown(draft, parameter);
        draft->instances[i] = parameter->name;
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
        const char *name = draft->arguments[i].declared->name, *type = draft->arguments[i].type;
        if (draft->arguments[i].passed != HN_PASSED_SCALAR || is_taken(draft, name) ||
            !hn_draft_is_one_of(type, "int32 uint32 int64 uint64"))
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

/* What an instantiation or a launch gives the template, and whether blocks wait for one another. */
static void find_instantiation(struct hn_draft *draft)
{
    const struct hn_kernel *kernel = draft->kernel;
    const struct hn_tokens body = kernel->body;
    struct hn_tokens *given = &draft->template_arguments;
    for (size_t i = 0; i < draft->unit->tokens.count && given->end <= given->begin; i++)
        if (i != kernel->head.end && (i < body.begin || i >= body.end) &&
            hn_at(draft->unit, i, kernel->name) && hn_at(draft->unit, i + 1, "<"))
            *given = (struct hn_tokens){i + 2, hn_behind(draft->unit, i + 1, SIZE_MAX) - 1};
    draft->cooperative = hn_find(draft->unit, body, "this_grid") != SIZE_MAX;
}

enum hn_status hn_draft_make(struct hn_unit *unit, const struct hn_kernel *kernel,
                             struct hn_draft *draft, struct hn_error *err)
{
    *draft = (struct hn_draft){.unit = unit, .kernel = kernel, .dimensions = 1};
    hn_error_init(err);
    for (size_t i = kernel->body.begin; i < kernel->body.end; i++) {
        int axis = hn_text_at(unit, i + 2)[0] - 'x';
        if (axis < 3 && axis >= draft->dimensions &&
            hn_draft_is_one_of(hn_text_at(unit, i), "threadIdx blockIdx blockDim"))
            draft->dimensions = axis + 1;
    }
    for (size_t i = 0; i < unit->functions.count; i++)
        draft->has_host_code = draft->has_host_code || !unit->functions.items[i].device;
    find_instantiation(draft);
    choose_instances(draft);
    choose_arguments(draft, err);
    if (hn_failed(err))
        return err->status;
    choose_sizes(draft);
    choose_declared(draft, true);
    choose_missing(draft);
    choose_declared(draft, false);
    choose_template(draft);
    hn_draft_read_launch(draft);
    choose_usual_sizes(draft);
    return HN_OK;
}

void hn_draft_finish(struct hn_draft *draft)
{
    free(draft->parameters.items);
    free(draft->sizes.items);
    free(draft->constraints.items);
    *draft = (struct hn_draft){.unit = NULL};
}
