/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tuner/init/draft.h"

/* What C and CUDA call the element types. */
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

static bool lists(const char *names, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = names; *at != '\0';) {
        size_t word = strcspn(at, ",");
        if (word == length && strncmp(at, name, length) == 0)
            return true;
        at += word + (at[word] == ',');
    }
    return false;
}

static const char *find_type(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (lists(types[i].names, name))
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

/* What the kernel's body does with a pointer, as far as it uses it by its own name. */
struct uses {
    bool reads;
    bool writes;
    bool other; /* passed on, or its address taken */
};

static size_t skip_blanks(const char *code, size_t at)
{
    while (hn_is_space(code[at]))
        at++;
    return at;
}

static size_t last_before(const char *code, size_t at)
{
    while (at > 0 && hn_is_space(code[at - 1]))
        at--;
    return at > 0 ? at - 1 : 0;
}

/* "= x" writes, "+= x" and "++" do both, all else reads; "==" compares. */
static void note_access(const char *code, size_t behind, struct uses *uses)
{
    size_t at = skip_blanks(code, behind);
    /* A member of a vector. */
    while (code[at] == '.' && hn_is_word_char(code[at + 1])) {
        at++;
        while (hn_is_word_char(code[at]))
            at++;
        at = skip_blanks(code, at);
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
    size_t next = skip_blanks(code, at + length);
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

enum hn_status hn_draft_arguments(struct hn_draft *draft, struct hn_error *err)
{
    const struct hn_kernel *kernel = draft->kernel;
    bool written = false;
    draft->arguments = calloc(kernel->argument_count + 1, sizeof *draft->arguments);
    if (draft->arguments == NULL)
        return hn_fail_memory(err);
    draft->argument_count = kernel->argument_count;
    for (size_t i = 0; i < kernel->argument_count; i++) {
        struct hn_draft_argument *argument = &draft->arguments[i];
        argument->declared = &kernel->arguments[i];
        argument->texture = strcmp(argument->declared->type, "cudaTextureObject_t") == 0 ||
                            strcmp(argument->declared->type, "CUtexObject") == 0;
        argument->map = is_map(argument->declared);
        argument->type = find_type(argument->declared->type);
        argument->type_is_known = argument->type != NULL;
        if (argument->type == NULL && is_type_parameter(kernel, argument->declared->type))
            argument->type = hn_draft_is_index(argument->declared->type) ? "int32" : "float32";
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
    return written ? HN_OK
                   : hn_fail(err, HN_ECONFIG,
                             "%s: kernel '%s' has no argument that it could write to; its results "
                             "have to be there to be compared",
                             draft->source->path, kernel->name);
}
