/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tuner/init/draft.h"

/* Macros of at least so much that sound like an extent are the size of the problem. */
static const int64_t least_size = 1024;

static bool has_part(const char *name, const char *part)
{
    return hn_find_letters(name, part) != NULL;
}

/* The number of blocks is something else. */
static bool is_block(const char *name)
{
    return (has_part(name, "block") && !has_part(name, "blocks")) || has_part(name, "threads") ||
           has_part(name, "work_group") || hn_draft_is_one_of(name, "bdim bx by bz tx ty");
}

static bool is_per_thread(const char *name)
{
    return has_part(name, "item") || has_part(name, "per_thread") || has_part(name, "coarsen") ||
           has_part(name, "unroll") || has_part(name, "vec") || has_part(name, "words");
}

static bool is_flag(const char *name)
{
    return has_part(name, "use_") || has_part(name, "pad") || has_part(name, "enable") ||
           has_part(name, "swizzle") || has_part(name, "has_");
}

/* Sizes that are no extents of the work: of a filter, a group, a window. */
static bool is_detail(const char *name)
{
    static const char *const parts[] = {"tile",   "filter", "radius", "mask",  "border", "halo",
                                        "window", "group",  "warp",   "chunk", "max_",   "min_"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (has_part(name, parts[i]))
            return true;
    return false;
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
    if (is_per_thread(name))
        return some;
    char last = hn_upper(name[strlen(name) - 1]);
    if (is_block(name) && draft->dimensions > 1 && (last == 'X' || last == 'Y'))
        return last == 'X' ? along : across;
    if (is_block(name) || has_part(name, "tile"))
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

/* What the source's conditions know of; a flag is on or off. */
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
    if (is_block(name))
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

/* The prelude must not define a name that the source declares, so the value gets one of its own. */
static enum hn_status add_template_parameters(struct hn_draft *draft, struct hn_error *err)
{
    const struct hn_kernel *kernel = draft->kernel;
    for (size_t i = 0; i < kernel->parameter_count; i++) {
        struct hn_draft_parameter *parameter;
        if (kernel->parameters[i].is_type || kernel->parameters[i].other_type != NULL)
            continue;
        enum hn_status status = hn_draft_add_parameter(
            draft, hn_draft_free_name(draft, kernel->parameters[i].name), &parameter, err);
        if (status != HN_OK)
            return status;
        parameter->template_name = strdup(kernel->parameters[i].name);
        if (parameter->template_name == NULL)
            return hn_fail_memory(err);
        choose_template_values(draft, &kernel->parameters[i], parameter);
    }
    return HN_OK;
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

enum hn_status hn_draft_parameters(struct hn_draft *draft, struct hn_error *err)
{
    for (size_t i = 0; i < draft->macros->count; i++) {
        const struct hn_macro *macro = &draft->macros->items[i];
        struct hn_draft_parameter *parameter;
        if (macro->kind == HN_MACRO_OTHER || is_size(draft, macro->name) ||
            (macro->kind == HN_MACRO_WORD && !words_are_free(draft, macro)))
            continue;
        enum hn_status status = hn_draft_add_parameter(draft, strdup(macro->name), &parameter, err);
        if (status != HN_OK)
            return status;
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
    return add_template_parameters(draft, err);
}

static bool is_whole(const char *type)
{
    return hn_draft_is_one_of(type, "int32 uint32 int64 uint64");
}

static bool has_extent(const struct hn_draft *draft)
{
    for (size_t i = 0; i < draft->size_count; i++)
        if (draft->sizes[i].is_extent)
            return true;
    return false;
}

/* Of a problem with so many dimensions: a few million elements. */
static int64_t usual_extent(const struct hn_draft *draft)
{
    return draft->dimensions == 1 ? 1 << 22 : draft->dimensions == 2 ? 2048 : 128;
}

static enum hn_status add_own_extents(struct hn_draft *draft, struct hn_error *err)
{
    static const char *const names[] = {"WIDTH", "HEIGHT", "DEPTH"};
    enum hn_status status = HN_OK;
    for (int d = 0; status == HN_OK && d < draft->dimensions; d++)
        status = hn_draft_add_size(
            draft, hn_draft_free_name(draft, draft->dimensions == 1 ? "SIZE" : names[d]), NULL,
            usual_extent(draft), false, true, err);
    return status;
}

enum hn_status hn_draft_sizes(struct hn_draft *draft, struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (size_t i = 0; status == HN_OK && i < draft->macros->count; i++) {
        const struct hn_macro *macro = &draft->macros->items[i];
        bool extent = hn_draft_is_extent(macro->name) && !is_block(macro->name) &&
                      !is_per_thread(macro->name);
        if (macro->kind == HN_MACRO_NUMBER && extent && macro->undefined &&
            macro->compared_count == 0 && !is_detail(macro->name))
            status = hn_draft_add_size(draft, strdup(macro->name), macro->name, usual_extent(draft),
                                       true, true, err);
        else if (macro->kind == HN_MACRO_NUMBER && macro->number >= least_size && extent)
            status = hn_draft_add_size(draft, strdup(macro->name), macro->name, macro->number, true,
                                       true, err);
    }
    for (size_t i = 0; status == HN_OK && i < draft->argument_count; i++) {
        const struct hn_draft_argument *argument = &draft->arguments[i];
        const char *name = argument->declared->name;
        bool extent = hn_draft_is_extent(name);
        if (argument->declared->pointer || !argument->type_is_known || !is_whole(argument->type) ||
            is_size(draft, name))
            continue;
        status = hn_draft_add_size(draft, hn_draft_size_name(draft, name), name,
                                   extent ? usual_extent(draft) : 1, false, extent, err);
    }
    if (status == HN_OK && !has_extent(draft) && draft->size_count > 0) {
        draft->sizes[0].is_extent = true;
        draft->sizes[0].value = usual_extent(draft);
    }
    return status == HN_OK && draft->size_count == 0 ? add_own_extents(draft, err) : status;
}
