/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "runtime/compile/code_scan.h"
#include "runtime/compile/template.h"
#include "tuner/init/draft.h"
#include "tuner/init/translate.h"

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

bool hn_draft_is_whole(const struct hn_draft *draft, const struct hn_kernel_argument *declared)
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

void hn_draft_add_arguments(struct hn_draft *draft, struct hn_error *err)
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
