/* SPDX-License-Identifier: MIT */
#include "tuner/init/draft.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

bool hn_draft_is_one_of(const char *name, const char *list)
{
    size_t length = strlen(name);
    for (const char *at = list; *at != '\0';) {
        size_t word = strcspn(at, " ");
        if (word == length && hn_same_letters(at, name, length))
            return true;
        at += word;
        at += strspn(at, " ");
    }
    return false;
}

/* Whether the name has one of the list in it, whatever the case. */
static bool has_part(const char *name, const char *list)
{
    char part[32];
    for (const char *at = list; *at != '\0'; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        snprintf(part, sizeof part, "%.*s", (int)length, at);
        if (hn_find_letters(name, part) != NULL)
            return true;
        at += length;
    }
    return false;
}

/* Whether the name sounds like the extent of some work: n, size, width, rows. */
static bool is_extent(const char *name)
{
    return hn_draft_is_one_of(name, "n m k w h d nx ny nz dim num N_elem numel nelem") ||
           has_part(name, "size len count width height rows cols columns elements depth total");
}

bool hn_draft_is_index(const char *name)
{
    return has_part(name, "index idx offset int");
}

bool hn_draft_is_reserved(const char *name)
{
    return hn_draft_is_one_of(name, "bytes flops gb_per_s time_us min max abs log2 sizeof ceil_div "
                                    "if else and or not in null true false");
}

/* A name that the source does not use: the wish in capitals, or with TUNE_ before it. */
static char *free_name(const struct hn_draft *draft, const char *wish)
{
    char *name = NULL;
    if (asprintf(&name, "TUNE_%s", wish) < 0)
        name = hn_needed(NULL);
    for (char *c = name; *c != '\0'; c++)
        *c = hn_upper(*c);
    if (!hn_draft_is_one_of(name + 5, "null true false if else and or not in") &&
        !hn_source_has(draft->source, name + 5) && hn_draft_get(draft, name + 5) == NULL)
        memmove(name, name + 5, strlen(name + 5) + 1);
    return name;
}

const struct hn_draft_parameter *hn_draft_get(const struct hn_draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->parameter_count; i++)
        if (strcmp(draft->parameters[i].name, name) == 0)
            return &draft->parameters[i];
    return NULL;
}

/* Takes the name over, as the next one does. */
static struct hn_draft_parameter *add_parameter(struct hn_draft *draft, char *name)
{
    size_t count = draft->parameter_count++;
    draft->parameters = hn_need_more(draft->parameters, count + 1, sizeof *draft->parameters);
    draft->parameters[count] = (struct hn_draft_parameter){.name = name};
    return &draft->parameters[count];
}

/* declared: what the source calls it; NULL: nothing. */
static void add_size(struct hn_draft *draft, char *name, const char *declared, int64_t value,
                     bool frozen, bool extent)
{
    draft->sizes = hn_need_more(draft->sizes, draft->size_count + 1, sizeof *draft->sizes);
    draft->sizes[draft->size_count++] =
        (struct hn_draft_size){name, declared, value, frozen, extent};
}

/* The names of the element types in C and CUDA. */
static const struct {
    const char *names; /* separated by commas */
    const char *type;
} types[] = {
    {"float", "float32"},
    {"double", "float64"},
    {"int,signed,signed int,int32_t,std::int32_t", "int32"},
    {"unsigned,unsigned int,uint,uint32_t,std::uint32_t", "uint32"},
    {"long long,long,long int,long long int,signed long "
     "long,int64_t,std::int64_t,ptrdiff_t,ssize_t",
     "int64"},
    {"unsigned long long,unsigned long,unsigned long int,unsigned long long int,uint64_t,"
     "std::uint64_t,size_t,std::size_t",
     "uint64"},
    {"short,short int,int16_t,std::int16_t", "int16"},
    {"unsigned short,unsigned short int,ushort,uint16_t,std::uint16_t", "uint16"},
    {"char,signed char,int8_t,std::int8_t", "int8"},
    {"unsigned char,uchar,uint8_t,std::uint8_t,bool", "uint8"},
    {"half,__half", "float16"},
    {"__nv_bfloat16,nv_bfloat16", "bfloat16"},
    {"__nv_fp8_e4m3", "float8_e4m3"},
    {"half2,__half2", "float16x2"},
    {"__nv_bfloat162,nv_bfloat162", "bfloat16x2"},
    {"float2", "float32x2"},
    {"float3", "float32x3"},
    {"float4", "float32x4"},
    {"double2", "float64x2"},
    {"double4", "float64x4"},
    {"int2", "int32x2"},
    {"int3", "int32x3"},
    {"int4", "int32x4"},
    {"uint2", "uint32x2"},
    {"uint3", "uint32x3"},
    {"uint4", "uint32x4"},
    {"char4", "int8x4"},
    {"uchar2", "uint8x2"},
    {"uchar3", "uint8x3"},
    {"uchar4", "uint8x4"},
    {"short2", "int16x2"},
    {"ushort2", "uint16x2"},
};

static const char *find_type(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (hn_is_listed(name, types[i].names, ','))
            return types[i].type;
    return NULL;
}

static bool is_type_parameter(const struct hn_kernel *kernel, const char *name)
{
    for (size_t i = 0; i < kernel->parameter_count; i++)
        if (kernel->parameters[i].is_type && strcmp(kernel->parameters[i].name, name) == 0)
            return true;
    return false;
}

/* How the kernel's body uses a pointer by its own name. */
struct uses {
    bool reads;
    bool writes;
    bool other; /* passed on, or its address taken */
};

static size_t last_before(const char *code, size_t at)
{
    while (at > 0 && hn_is_space(code[at - 1]))
        at--;
    return at > 0 ? at - 1 : 0;
}

/* "= x" writes, "+= x" and "++" do both, all else reads; "==" compares. */
static void note_access(const char *code, size_t behind, struct uses *uses)
{
    size_t at = hn_skip_blanks(code, behind, SIZE_MAX);
    /* A member of a vector. */
    while (code[at] == '.' && hn_is_word_char(code[at + 1])) {
        at++;
        while (hn_is_word_char(code[at]))
            at++;
        at = hn_skip_blanks(code, at, SIZE_MAX);
    }
    bool assigned = code[at] == '=' && code[at + 1] != '=';
    bool combined =
        strchr("+-*/%&|^", code[at]) != NULL && code[at] != '\0' &&
        (code[at + 1] == '=' || (strchr("+-", code[at]) != NULL && code[at + 1] == code[at]));
    combined = combined || strncmp(code + at, "<<=", 3) == 0 || strncmp(code + at, ">>=", 3) == 0;
    uses->writes = uses->writes || assigned || combined;
    uses->reads = uses->reads || !assigned;
}

static void note_use(const struct hn_draft *draft, size_t at, size_t length, struct uses *uses)
{
    const char *code = draft->source->code;
    size_t next = hn_skip_blanks(code, at + length, SIZE_MAX);
    size_t before = last_before(code, at);
    if (code[before] == '&' && (before == 0 || code[before - 1] != '&')) {
        uses->other = true; /* atomics, mostly */
        uses->reads = uses->writes = true;
    } else if (code[next] == '[') {
        size_t close = hn_closing_bracket(code, next, draft->kernel->end);
        if (close != SIZE_MAX)
            note_access(code, close + 1, uses);
    } else if (code[before] == '*') {
        note_access(code, at + length, uses);
    } else {
        uses->other = true;
    }
}

static struct uses find_uses(const struct hn_draft *draft, const char *name)
{
    const struct hn_kernel *kernel = draft->kernel;
    struct uses uses = {false, false, false};
    for (size_t at = hn_find_identifier(draft->source->code, kernel->body, kernel->end, name);
         at != SIZE_MAX; at = hn_find_identifier(draft->source->code, at + 1, kernel->end, name))
        note_use(draft, at, strlen(name), &uses);
    return uses;
}

static void guess_role(const struct hn_draft *draft, struct hn_draft_argument *argument)
{
    const struct hn_kernel_argument *declared = argument->declared;
    argument->role_is_known = true;
    argument->role = HN_DRAFT_INPUT;
    if (!declared->pointer || declared->constant)
        return;
    struct uses uses = find_uses(draft, declared->name);
    argument->role_is_known = !uses.other && (uses.reads || uses.writes);
    argument->role = uses.reads ? HN_DRAFT_INOUT : HN_DRAFT_OUTPUT;
    if (argument->role_is_known && !uses.writes)
        argument->role = HN_DRAFT_INPUT;
    /* Whoever takes it on may read it. */
    if (uses.other)
        argument->role = HN_DRAFT_INOUT;
}

/* CUtensorMap, or a structure of the source's that stands for it. */
static bool is_map(const struct hn_kernel_argument *declared)
{
    return !declared->pointer && (strstr(declared->type, "ensorMap") != NULL ||
                                  strstr(declared->type, "ensor_map") != NULL);
}

static void choose_arguments(struct hn_draft *draft, struct hn_error *err)
{
    const struct hn_kernel *kernel = draft->kernel;
    bool written = false;
    draft->arguments = hn_need(kernel->argument_count, sizeof *draft->arguments);
    draft->argument_count = kernel->argument_count;
    for (size_t i = 0; i < kernel->argument_count; i++) {
        struct hn_draft_argument *argument = &draft->arguments[i];
        const char *type = kernel->arguments[i].type;
        argument->declared = &kernel->arguments[i];
        argument->texture =
            strcmp(type, "cudaTextureObject_t") == 0 || strcmp(type, "CUtexObject") == 0;
        argument->map = is_map(argument->declared);
        argument->type = find_type(type);
        argument->type_is_known = argument->type != NULL;
        if (argument->type == NULL && is_type_parameter(kernel, type))
            argument->type = hn_draft_is_index(type) ? "int32" : "float32";
        if (argument->type == NULL)
            argument->type = argument->declared->pointer ? "uint8" : "uint64";
        guess_role(draft, argument);
        written = written || argument->map || argument->role != HN_DRAFT_INPUT;
    }
    /* Pointers that are not const but only read by name may be written where that does not show. */
    for (size_t i = draft->argument_count; !written && i > 0; i--) {
        struct hn_draft_argument *argument = &draft->arguments[i - 1];
        if (!argument->declared->pointer || argument->declared->constant)
            continue;
        argument->role = HN_DRAFT_INOUT;
        argument->role_is_known = false;
        written = true;
    }
    if (!written)
        hn_fail(err, HN_ECONFIG,
                "%s: kernel '%s' has no argument that it could write to; its results have to be "
                "there to be compared",
                draft->source->path, kernel->name);
}

/* Macros of at least so much that sound like an extent are the size of the problem. */
static const int64_t least_size = 1024;

/* The number of blocks is something else. */
static bool is_block(const char *name)
{
    return (has_part(name, "block") && !has_part(name, "blocks")) ||
           has_part(name, "threads work_group") || hn_draft_is_one_of(name, "bdim bx by bz");
}

static bool is_per_thread(const char *name)
{
    return has_part(name, "item per_thread coarsen vec");
}

static bool is_flag(const char *name)
{
    return has_part(name, "use_ pad enable swizzle has_");
}

/* The same of whatever has numbers of that kind. */
static bool is_wide(const char *name)
{
    return is_block(name) || hn_draft_is_one_of(name, "tx ty");
}

static bool is_repeated(const char *name)
{
    return is_per_thread(name) || has_part(name, "unroll words");
}

/* Numbers that are worth a try for something that sounds like this, ended by 0. */
static const int64_t *suggest(const struct hn_draft *draft, const char *name, int64_t preset)
{
    static const int64_t wide[] = {64, 128, 256, 512, 1024, 0};
    static const int64_t along[] = {8, 16, 32, 64, 128, 0};
    static const int64_t across[] = {1, 2, 4, 8, 16, 0};
    static const int64_t narrow[] = {4, 8, 16, 32, 0};
    static const int64_t tiles[] = {8, 16, 32, 0};
    static const int64_t few[] = {1, 2, 4, 0};
    static const int64_t some[] = {1, 2, 4, 8, 0};
    static const int64_t none[] = {0};
    if (has_part(name, "vec"))
        return few;
    if (is_repeated(name))
        return some;
    char last = hn_upper(name[strlen(name) - 1]);
    if (is_wide(name) && draft->dimensions > 1 && (last == 'X' || last == 'Y'))
        return last == 'X' ? along : across;
    if (is_wide(name) || has_part(name, "tile"))
        return draft->dimensions == 1 && preset >= 32 ? wide
               : has_part(name, "tile")               ? tiles
                                                      : narrow;
    return none;
}

static void add_value(struct hn_draft_parameter *parameter, int64_t value)
{
    size_t room = sizeof parameter->values / sizeof parameter->values[0];
    size_t k = parameter->value_count;
    for (size_t i = 0; i < parameter->value_count; i++)
        if (parameter->values[i] == value)
            return;
    if (parameter->value_count == room)
        return;
    for (; k > 0 && parameter->values[k - 1] > value; k--)
        parameter->values[k] = parameter->values[k - 1];
    parameter->values[k] = value;
    parameter->value_count++;
}

static void choose_values(const struct hn_draft *draft, struct hn_draft_parameter *parameter,
                          int64_t preset)
{
    const char *name = parameter->name;
    bool power = preset > 0 && (preset & (preset - 1)) == 0;
    parameter->preset = preset;
    add_value(parameter, preset);
    if ((preset == 0 || preset == 1) && (is_flag(name) || preset == 0)) {
        add_value(parameter, 0);
        add_value(parameter, 1);
        return;
    }
    if (hn_upper(name[strlen(name) - 1]) == 'Z' && draft->dimensions < 3)
        return;
    const int64_t *values = suggest(draft, name, preset);
    bool suggested = *values != 0;
    for (; *values != 0; values++)
        add_value(parameter, *values);
    if (suggested || !power)
        return;
    if (preset > 1)
        add_value(parameter, preset / 2);
    add_value(parameter, preset * 2);
}

/* The values that the source's conditions know of; a flag is on or off. */
static void choose_compared(struct hn_draft_parameter *parameter, const struct hn_macro *macro)
{
    for (size_t i = 0; i < macro->compared_count; i++)
        add_value(parameter, macro->compared[i]);
    if (macro->compared_count == 1 && (macro->compared[0] == 0 || macro->compared[0] == 1)) {
        add_value(parameter, 0);
        add_value(parameter, 1);
    }
    parameter->preset = parameter->values[0];
}

/* Where nothing tells what may be worth a try, one value stands for all. */
static void choose_unknown(const struct hn_draft *draft, struct hn_draft_parameter *parameter,
                           int64_t preset)
{
    bool known = is_flag(parameter->name) || *suggest(draft, parameter->name, preset) != 0;
    parameter->guessed = true;
    if (known) {
        choose_values(draft, parameter, preset);
        return;
    }
    parameter->preset = preset;
    add_value(parameter, preset);
}

static int64_t preset_of(const struct hn_draft *draft, const char *name)
{
    if (is_flag(name))
        return 0;
    if (is_wide(name))
        return draft->dimensions == 1 ? 256 : 16;
    if (has_part(name, "tile"))
        return 16;
    return 1;
}

static void choose_template_values(const struct hn_draft *draft,
                                   const struct hn_kernel_parameter *declared,
                                   struct hn_draft_parameter *parameter)
{
    int64_t preset;
    bool given = declared->preset != NULL && hn_read_number(declared->preset, &preset);
    if (declared->is_boolean) {
        parameter->boolean = true;
        add_value(parameter, 0);
        add_value(parameter, 1);
        parameter->preset = declared->preset != NULL && strstr(declared->preset, "true") != NULL;
    } else if (given) {
        choose_values(draft, parameter, preset);
    } else {
        choose_unknown(draft, parameter, preset_of(draft, declared->name));
    }
}

static bool is_size(const struct hn_draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->size_count; i++)
        if (strcmp(draft->sizes[i].name, name) == 0)
            return true;
    return false;
}

/* A word must not be the name of something else. */
static bool words_are_free(const struct hn_draft *draft, const struct hn_macro *macro)
{
    for (size_t i = 0; i < macro->word_count; i++)
        if (hn_macros_get(draft->macros, macro->words[i]) != NULL ||
            is_size(draft, macro->words[i]) || hn_is_digit(macro->words[i][0]))
            return false;
    return true;
}

static void choose_parameters(struct hn_draft *draft)
{
    const struct hn_kernel *kernel = draft->kernel;
    for (size_t i = 0; i < draft->macros->count; i++) {
        const struct hn_macro *macro = &draft->macros->items[i];
        if (macro->kind == HN_MACRO_OTHER || is_size(draft, macro->name) ||
            (macro->kind == HN_MACRO_WORD && !words_are_free(draft, macro)))
            continue;
        struct hn_draft_parameter *parameter = add_parameter(draft, hn_need_copy(macro->name));
        parameter->macro = macro;
        if (macro->kind != HN_MACRO_NUMBER)
            continue;
        if (macro->compared_count > 0)
            choose_compared(parameter, macro);
        else if (macro->undefined)
            choose_unknown(draft, parameter, preset_of(draft, macro->name));
        else
            choose_values(draft, parameter, macro->number);
    }
    /* The prelude must not define a name that the source declares, so a value of the template gets
     * one of its own. */
    for (size_t i = 0; i < kernel->parameter_count; i++) {
        const struct hn_kernel_parameter *declared = &kernel->parameters[i];
        if (declared->is_type || declared->other_type != NULL)
            continue;
        struct hn_draft_parameter *parameter =
            add_parameter(draft, free_name(draft, declared->name));
        parameter->template_name = hn_need_copy(declared->name);
        choose_template_values(draft, declared, parameter);
    }
}

static bool has_extent(const struct hn_draft *draft)
{
    for (size_t i = 0; i < draft->size_count; i++)
        if (draft->sizes[i].is_extent)
            return true;
    return false;
}

/* A few million elements in so many dimensions. */
static int64_t usual_extent(const struct hn_draft *draft)
{
    return draft->dimensions == 1 ? 1 << 22 : draft->dimensions == 2 ? 2048 : 128;
}

static void choose_sizes(struct hn_draft *draft)
{
    static const char *const names[] = {"WIDTH", "HEIGHT", "DEPTH"};
    for (size_t i = 0; i < draft->macros->count; i++) {
        const struct hn_macro *macro = &draft->macros->items[i];
        const char *name = macro->name;
        /* No size of a filter, a group, a window is an extent of the work. */
        bool missing = macro->undefined && macro->compared_count == 0 &&
                       !has_part(name, "tile filter radius mask border halo window group warp "
                                       "chunk max_ min_");
        if (macro->kind == HN_MACRO_NUMBER && is_extent(name) && !is_wide(name) &&
            !is_repeated(name) && (missing || macro->number >= least_size))
            add_size(draft, hn_need_copy(name), name, missing ? usual_extent(draft) : macro->number,
                     true, true);
    }
    for (size_t i = 0; i < draft->argument_count; i++) {
        const struct hn_draft_argument *argument = &draft->arguments[i];
        const char *name = argument->declared->name;
        bool extent = is_extent(name);
        if (argument->declared->pointer || !argument->type_is_known ||
            !hn_draft_is_one_of(argument->type, "int32 uint32 int64 uint64") ||
            is_size(draft, name))
            continue;
        /* Or a free name where configs mean something by it. */
        add_size(draft, hn_draft_is_reserved(name) ? free_name(draft, name) : hn_need_copy(name),
                 name, extent ? usual_extent(draft) : 1, false, extent);
    }
    if (!has_extent(draft) && draft->size_count > 0) {
        draft->sizes[0].is_extent = true;
        draft->sizes[0].value = usual_extent(draft);
    }
    for (int axis = 0; draft->size_count <= (size_t)axis && axis < draft->dimensions; axis++)
        add_size(draft, free_name(draft, draft->dimensions == 1 ? "SIZE" : names[axis]), NULL,
                 usual_extent(draft), false, true);
}

static const char *const axes[] = {"X", "Y", "Z"};

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name);
    size_t tail = strlen(end);
    return length > tail && hn_same_letters(name + length - tail, end, SIZE_MAX);
}

/* The name of a parameter in the source. */
static const char *own_name(const struct hn_draft_parameter *parameter)
{
    return parameter->template_name != NULL ? parameter->template_name : parameter->name;
}

static bool is_number(const struct hn_draft_parameter *parameter)
{
    return parameter->value_count > 0;
}

static const struct hn_draft_parameter *find_axis(const struct hn_draft *draft, int axis)
{
    for (size_t i = 0; i < draft->parameter_count; i++) {
        const struct hn_draft_parameter *parameter = &draft->parameters[i];
        if (is_number(parameter) && is_block(own_name(parameter)) &&
            (ends_with(own_name(parameter), axes[axis]) ||
             (axis == 1 && ends_with(own_name(parameter), "ROWS"))))
            return parameter;
    }
    return NULL;
}

/* "BLOCK", then "TILE": one that stands for all directions. */
static const struct hn_draft_parameter *find_square(const struct hn_draft *draft)
{
    for (size_t i = 0; i < draft->parameter_count; i++) {
        const struct hn_draft_parameter *parameter = &draft->parameters[i];
        if (is_number(parameter) && is_block(own_name(parameter)) &&
            !ends_with(own_name(parameter), "ROWS"))
            return parameter;
    }
    for (size_t i = 0; i < draft->parameter_count; i++)
        if (is_number(&draft->parameters[i]) && has_part(own_name(&draft->parameters[i]), "tile"))
            return &draft->parameters[i];
    return NULL;
}

/* The expression with the names that configs have for it; NULL when it has others. */
static char *translate(const struct hn_draft *draft, const char *expression)
{
    struct hn_text text = {0};
    bool known = true;
    for (const char *at = expression; *at != '\0' && known;) {
        size_t length = 0;
        while (hn_is_word_char(at[length]))
            length++;
        if (length == 0) {
            known = strchr(" ()*+-/", *at) != NULL;
            hn_text_append_bytes(&text, at++, 1);
            continue;
        }
        if (hn_is_digit(*at)) {
            int64_t number;
            char *digits = hn_needed(strndup(at, length));
            known = hn_read_number(digits, &number);
            if (known)
                hn_text_printf(&text, "%lld", (long long)number);
            free(digits);
            at += length;
            continue;
        }
        known = false;
        for (size_t i = 0; i < draft->parameter_count && !known; i++) {
            const char *own = own_name(&draft->parameters[i]);
            known = strlen(own) == length && strncmp(own, at, length) == 0;
            if (known)
                hn_text_append(&text, draft->parameters[i].name);
        }
        at += length;
    }
    if (known)
        return hn_needed(hn_text_take(&text));
    hn_text_finish(&text);
    return NULL;
}

/* The number that a source gives a constant: "NAME = 256", "#define NAME 256"; 0 when it does not.
 */
static int64_t find_constant(const struct hn_draft *draft, const char *name)
{
    const char *texts[] = {draft->source->code, draft->source->directives};
    for (size_t t = 0; t < 2; t++)
        for (size_t at = hn_find_identifier(texts[t], 0, draft->source->length, name);
             at != SIZE_MAX;
             at = hn_find_identifier(texts[t], at + 1, draft->source->length, name)) {
            const char *value = texts[t] + at + strlen(name);
            value += strspn(value, t == 0 ? " ={" : " ");
            char *digits = hn_needed(strndup(value, strspn(value, "0123456789")));
            int64_t number;
            bool found = hn_read_number(digits, &number) && number > 0;
            free(digits);
            if (found)
                return number;
        }
    return 0;
}

/* Whether the device's code asks how large a block is; else it has a size of its own. */
static bool asks_for_block(const struct hn_draft *draft)
{
    return hn_find_identifier(draft->source->code, 0, draft->source->length, "blockDim") !=
               SIZE_MAX ||
           hn_find_identifier(draft->source->code, 0, draft->source->length, "thread_rank") !=
               SIZE_MAX;
}

/* A parameter that only the launch has. */
static void add_block(struct hn_draft *draft, int axis)
{
    static const int64_t one[] = {64, 128, 256, 512, 1024};
    static const int64_t two[2][5] = {{8, 16, 32, 64, 128}, {1, 2, 4, 8, 16}};
    bool alone = draft->dimensions == 1;
    char wish[16];
    if (axis == 2) {
        draft->block[2] = hn_need_copy("1");
        return;
    }
    snprintf(wish, sizeof wish, alone ? "BLOCK" : "BLOCK_%s", axes[axis]);
    struct hn_draft_parameter *parameter = add_parameter(draft, free_name(draft, wish));
    const int64_t *values = alone ? one : two[axis];
    const char *bounds = alone ? draft->kernel->bounds : NULL;
    int64_t bound = bounds != NULL && hn_text_is_word(bounds) ? find_constant(draft, bounds) : 0;
    parameter->preset = bound > 0 ? bound : alone ? 256 : axis == 0 ? 32 : 8;
    parameter->guessed = bound > 0 || !asks_for_block(draft);
    for (size_t i = 0; i < 5 && !parameter->guessed; i++)
        parameter->values[parameter->value_count++] = values[i];
    if (parameter->guessed)
        parameter->values[parameter->value_count++] = parameter->preset;
    draft->block[axis] = hn_need_copy(parameter->name);
}

static void choose_block(struct hn_draft *draft)
{
    const struct hn_draft_parameter *square = find_square(draft);
    draft->block_is_known = true;
    if (draft->dimensions == 1 && draft->kernel->bounds != NULL)
        draft->block[0] = translate(draft, draft->kernel->bounds);
    for (int axis = 0; axis < draft->dimensions; axis++) {
        const struct hn_draft_parameter *found =
            draft->dimensions > 1 ? find_axis(draft, axis) : square;
        bool along = square != NULL && ends_with(own_name(square), axes[0]);
        if (found == NULL && axis < 2 && !along)
            found = square;
        /* One that is named for x alone leaves one thread in y. */
        if (found == NULL && axis > 0 && along && draft->block[axis] == NULL)
            draft->block[axis] = hn_need_copy("1");
        if (draft->block[axis] == NULL && found != NULL)
            draft->block[axis] = hn_need_copy(found->name);
    }
    for (int axis = 0; axis < draft->dimensions; axis++) {
        if (draft->block[axis] != NULL)
            continue;
        draft->block_is_known = false;
        add_block(draft, axis);
    }
}

/* The elements of a block: its threads times what each of them does. BLOCK_ROWS lets fewer threads
 * work on a square tile. */
static void choose_tiles(struct hn_draft *draft)
{
    for (int axis = 0; axis < draft->dimensions; axis++) {
        struct hn_text text = {0};
        const struct hn_draft_parameter *rows = find_axis(draft, 1);
        bool squared = axis == 1 && rows != NULL && ends_with(own_name(rows), "ROWS");
        hn_text_append(&text, squared ? draft->block[0] : draft->block[axis]);
        for (size_t i = 0; i < draft->parameter_count; i++) {
            const struct hn_draft_parameter *parameter = &draft->parameters[i];
            bool mine = (draft->dimensions == 1 && !ends_with(own_name(parameter), axes[1])) ||
                        ends_with(own_name(parameter), axes[axis]);
            /* A tile that is not the block itself is what each thread does. */
            bool tile = is_number(parameter) && has_part(own_name(parameter), "tile_size") &&
                        strcmp(parameter->name, draft->block[axis]) != 0;
            if (((is_number(parameter) && is_per_thread(own_name(parameter))) || tile) && mine)
                hn_text_printf(&text, " * %s", parameter->name);
        }
        draft->tile[axis] = hn_needed(hn_text_take(&text));
    }
}

static const char *find_extent(const struct hn_draft *draft, const char *names)
{
    for (size_t i = 0; i < draft->size_count; i++)
        if (draft->sizes[i].is_extent && hn_draft_is_one_of(draft->sizes[i].name, names))
            return draft->sizes[i].name;
    return NULL;
}

/* The n-th extent, the last one where there are fewer. */
static const char *nth_extent(const struct hn_draft *draft, int n)
{
    const char *name = NULL;
    for (size_t i = 0; i < draft->size_count; i++) {
        if (!draft->sizes[i].is_extent)
            continue;
        name = draft->sizes[i].name;
        if (n-- == 0)
            break;
    }
    return name;
}

static void choose_extents(struct hn_draft *draft)
{
    static const char *const names[] = {"width cols columns nx w N", "height rows ny h M",
                                        "depth nz d"};
    for (int axis = 0; axis < draft->dimensions; axis++) {
        const char *name = draft->dimensions > 1 ? find_extent(draft, names[axis]) : NULL;
        name = name != NULL ? name : nth_extent(draft, axis);
        draft->extent[axis] = hn_need_copy(name != NULL ? name : "1");
    }
}

/* threadIdx.y and its kin in the kernel, or anywhere where helpers may have them. */
static int count_dimensions(const struct hn_draft *draft)
{
    static const char *const names[] = {"threadIdx", "blockIdx", "blockDim"};
    int dimensions = 1;
    const char *code = draft->source->code;
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        for (size_t at =
                 hn_find_identifier(code, draft->kernel->body, draft->kernel->end, names[n]);
             at != SIZE_MAX; at = hn_find_identifier(code, at + 1, draft->kernel->end, names[n])) {
            const char *member = code + at + strlen(names[n]);
            if (member[0] == '.' && member[1] == 'z')
                dimensions = 3;
            else if (member[0] == '.' && member[1] == 'y' && dimensions < 2)
                dimensions = 2;
        }
    }
    return dimensions;
}

enum hn_status hn_draft_make(const struct hn_source_text *source, const struct hn_kernel *kernel,
                             const struct hn_macros *macros, struct hn_draft *draft,
                             struct hn_error *err)
{
    *draft = (struct hn_draft){.source = source, .kernel = kernel, .macros = macros};
    hn_error_init(err);
    draft->dimensions = count_dimensions(draft);
    free(hn_device_code(source, &draft->has_host_code));
    choose_arguments(draft, err);
    if (hn_failed(err)) {
        hn_draft_finish(draft);
        return err->status;
    }
    choose_sizes(draft);
    choose_parameters(draft);
    choose_block(draft);
    choose_tiles(draft);
    choose_extents(draft);
    return HN_OK;
}

void hn_draft_finish(struct hn_draft *draft)
{
    for (size_t i = 0; i < draft->parameter_count; i++) {
        free(draft->parameters[i].name);
        free(draft->parameters[i].template_name);
    }
    for (size_t i = 0; i < draft->size_count; i++)
        free(draft->sizes[i].name);
    for (size_t i = 0; i < 3; i++) {
        free(draft->block[i]);
        free(draft->tile[i]);
        free(draft->extent[i]);
    }
    free(draft->parameters);
    free(draft->sizes);
    free(draft->arguments);
    *draft = (struct hn_draft){.source = NULL};
}
