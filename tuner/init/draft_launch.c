/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tuner/init/draft.h"

static const char *const axes[] = {"X", "Y", "Z"};

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name);
    size_t tail = strlen(end);
    return length > tail && hn_same_letters(name + length - tail, end);
}

/* What the source calls a parameter. */
static const char *own_name(const struct hn_draft_parameter *parameter)
{
    return parameter->template_name != NULL ? parameter->template_name : parameter->name;
}

static bool has_part(const struct hn_draft_parameter *parameter, const char *part)
{
    return hn_find_letters(own_name(parameter), part) != NULL;
}

static bool is_number(const struct hn_draft_parameter *parameter)
{
    return parameter->value_count > 0;
}

static bool is_block(const struct hn_draft_parameter *parameter)
{
    return is_number(parameter) &&
           ((has_part(parameter, "block") && !has_part(parameter, "blocks")) ||
            has_part(parameter, "threads") || has_part(parameter, "work_group") ||
            hn_draft_is_one_of(own_name(parameter), "bdim bx by bz"));
}

static const struct hn_draft_parameter *find_axis(const struct hn_draft *draft, int axis)
{
    for (size_t i = 0; i < draft->parameter_count; i++) {
        const struct hn_draft_parameter *parameter = &draft->parameters[i];
        if (is_block(parameter) && (ends_with(own_name(parameter), axes[axis]) ||
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
        if (is_block(parameter) && !ends_with(own_name(parameter), "ROWS"))
            return parameter;
    }
    for (size_t i = 0; i < draft->parameter_count; i++)
        if (is_number(&draft->parameters[i]) && has_part(&draft->parameters[i], "tile"))
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
            char *digits = strndup(at, length);
            known = digits != NULL && hn_read_number(digits, &number);
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
    char *translated = hn_text_take(&text);
    if (known)
        return translated;
    free(translated);
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
            char *digits = strndup(value, strspn(value, "0123456789"));
            int64_t number;
            bool found = digits != NULL && hn_read_number(digits, &number) && number > 0;
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
static enum hn_status add_block(struct hn_draft *draft, int axis, struct hn_error *err)
{
    static const int64_t one[] = {64, 128, 256, 512, 1024};
    static const int64_t two[2][5] = {{8, 16, 32, 64, 128}, {1, 2, 4, 8, 16}};
    char wish[16];
    struct hn_draft_parameter *parameter;
    if (draft->dimensions == 1)
        snprintf(wish, sizeof wish, "BLOCK");
    else
        snprintf(wish, sizeof wish, "BLOCK_%s", axes[axis]);
    if (axis == 2) {
        draft->block[2] = strdup("1");
        return draft->block[2] != NULL ? HN_OK : hn_fail_memory(err);
    }
    enum hn_status status =
        hn_draft_add_parameter(draft, hn_draft_free_name(draft, wish), &parameter, err);
    if (status != HN_OK)
        return status;
    const int64_t *values = draft->dimensions == 1 ? one : two[axis];
    const char *bounds = draft->dimensions == 1 ? draft->kernel->bounds : NULL;
    int64_t bound = bounds != NULL && hn_text_is_word(bounds) ? find_constant(draft, bounds) : 0;
    parameter->preset = draft->dimensions == 1 ? 256 : axis == 0 ? 32 : 8;
    parameter->guessed = bound > 0 || !asks_for_block(draft);
    if (bound > 0)
        parameter->preset = bound;
    for (size_t i = 0; i < 5 && !parameter->guessed; i++)
        parameter->values[parameter->value_count++] = values[i];
    if (parameter->guessed)
        parameter->values[parameter->value_count++] = parameter->preset;
    draft->block[axis] = strdup(parameter->name);
    return draft->block[axis] != NULL ? HN_OK : hn_fail_memory(err);
}

static enum hn_status choose_block(struct hn_draft *draft, struct hn_error *err)
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
            draft->block[axis] = strdup("1");
        if (draft->block[axis] == NULL && found != NULL)
            draft->block[axis] = strdup(found->name);
    }
    for (int axis = 0; axis < draft->dimensions; axis++) {
        if (draft->block[axis] != NULL)
            continue;
        draft->block_is_known = false;
        enum hn_status status = add_block(draft, axis, err);
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

static bool is_per_thread(const struct hn_draft_parameter *parameter)
{
    return is_number(parameter) &&
           (has_part(parameter, "item") || has_part(parameter, "per_thread") ||
            has_part(parameter, "coarsen") || has_part(parameter, "vec"));
}

/* The elements of a block: its threads times what each of them does. BLOCK_ROWS lets fewer threads
 * work on a square tile. */
static enum hn_status choose_tiles(struct hn_draft *draft, struct hn_error *err)
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
            bool tile = is_number(parameter) && has_part(parameter, "tile_size") &&
                        strcmp(parameter->name, draft->block[axis]) != 0;
            if ((is_per_thread(parameter) || tile) && mine)
                hn_text_printf(&text, " * %s", parameter->name);
        }
        draft->tile[axis] = hn_text_take(&text);
        if (draft->tile[axis] == NULL)
            return hn_fail_memory(err);
    }
    return HN_OK;
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

static enum hn_status choose_extents(struct hn_draft *draft, struct hn_error *err)
{
    static const char *const names[] = {"width cols columns nx w N", "height rows ny h M",
                                        "depth nz d"};
    for (int axis = 0; axis < draft->dimensions; axis++) {
        const char *name = draft->dimensions > 1 ? find_extent(draft, names[axis]) : NULL;
        if (name == NULL)
            name = nth_extent(draft, axis);
        draft->extent[axis] = strdup(name != NULL ? name : "1");
        if (draft->extent[axis] == NULL)
            return hn_fail_memory(err);
    }
    return HN_OK;
}

enum hn_status hn_draft_launch(struct hn_draft *draft, struct hn_error *err)
{
    enum hn_status status = choose_block(draft, err);
    if (status == HN_OK)
        status = choose_tiles(draft, err);
    return status == HN_OK ? choose_extents(draft, err) : status;
}
