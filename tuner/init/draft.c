/* SPDX-License-Identifier: MIT */
#include "tuner/init/draft.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tuner/init/device_code.h"

bool hn_draft_is_one_of(const char *name, const char *list)
{
    size_t length = strlen(name);
    for (const char *at = list; *at != '\0';) {
        size_t word = strcspn(at, " ");
        if (word == length && hn_same_letters_within(at, name, length))
            return true;
        at += word;
        at += strspn(at, " ");
    }
    return false;
}

bool hn_draft_is_extent(const char *name)
{
    static const char *const parts[] = {"size", "len",     "count",    "width", "height", "rows",
                                        "cols", "columns", "elements", "depth", "total"};
    if (hn_draft_is_one_of(name, "n m k w h d nx ny nz dim num N_elem numel nelem"))
        return true;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (hn_find_letters(name, parts[i]) != NULL)
            return true;
    return false;
}

bool hn_draft_is_index(const char *name)
{
    return hn_find_letters(name, "index") != NULL || hn_find_letters(name, "idx") != NULL ||
           hn_find_letters(name, "offset") != NULL || hn_find_letters(name, "int") != NULL;
}

/* Names that mean something in configs. */
static const char reserved[] = "bytes flops gb_per_s time_us min max abs log2 sizeof ceil_div if "
                               "else and or not in null true false";

bool hn_draft_is_reserved(const char *name)
{
    return hn_draft_is_one_of(name, reserved);
}

char *hn_draft_free_name(const struct hn_draft *draft, const char *wish)
{
    char *name = NULL;
    if (asprintf(&name, "TUNE_%s", wish) < 0)
        return NULL;
    for (char *c = name; *c != '\0'; c++)
        *c = hn_upper(*c);
    if (!hn_draft_is_one_of(name + 5, "null true false if else and or not in") &&
        !hn_source_has(draft->source, name + 5) && hn_draft_get(draft, name + 5) == NULL)
        memmove(name, name + 5, strlen(name + 5) + 1);
    return name;
}

char *hn_draft_size_name(const struct hn_draft *draft, const char *declared)
{
    return hn_draft_is_reserved(declared) ? hn_draft_free_name(draft, declared) : strdup(declared);
}

const struct hn_draft_parameter *hn_draft_get(const struct hn_draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->parameter_count; i++)
        if (strcmp(draft->parameters[i].name, name) == 0)
            return &draft->parameters[i];
    return NULL;
}

enum hn_status hn_draft_add_parameter(struct hn_draft *draft, char *name,
                                      struct hn_draft_parameter **parameter, struct hn_error *err)
{
    struct hn_draft_parameter *grown =
        name != NULL ? realloc(draft->parameters, (draft->parameter_count + 1) * sizeof *grown)
                     : NULL;
    if (grown == NULL) {
        free(name);
        return hn_fail_memory(err);
    }
    draft->parameters = grown;
    *parameter = &grown[draft->parameter_count++];
    **parameter = (struct hn_draft_parameter){.name = name};
    return HN_OK;
}

enum hn_status hn_draft_add_size(struct hn_draft *draft, char *name, const char *declared,
                                 int64_t value, bool frozen, bool is_extent, struct hn_error *err)
{
    struct hn_draft_size *grown =
        name != NULL ? realloc(draft->sizes, (draft->size_count + 1) * sizeof *grown) : NULL;
    if (grown == NULL) {
        free(name);
        return hn_fail_memory(err);
    }
    draft->sizes = grown;
    grown[draft->size_count++] = (struct hn_draft_size){name, declared, value, frozen, is_extent};
    return HN_OK;
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

static enum hn_status find_host_code(struct hn_draft *draft, struct hn_error *err)
{
    char *code = hn_device_code(draft->source, &draft->has_host_code);
    free(code);
    return code != NULL ? HN_OK : hn_fail_memory(err);
}

enum hn_status hn_draft_make(const struct hn_source_text *source, const struct hn_kernel *kernel,
                             const struct hn_macros *macros, struct hn_draft *draft,
                             struct hn_error *err)
{
    *draft = (struct hn_draft){.source = source, .kernel = kernel, .macros = macros};
    draft->dimensions = count_dimensions(draft);
    enum hn_status status = find_host_code(draft, err);
    if (status == HN_OK)
        status = hn_draft_arguments(draft, err);
    if (status == HN_OK)
        status = hn_draft_sizes(draft, err);
    if (status == HN_OK)
        status = hn_draft_parameters(draft, err);
    if (status == HN_OK)
        status = hn_draft_launch(draft, err);
    if (status != HN_OK)
        hn_draft_finish(draft);
    return status;
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
