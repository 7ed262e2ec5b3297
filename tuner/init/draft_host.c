/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/text.h"
#include "tuner/init/draft.h"

/* What the host's code tells: the first launch of the kernel, what it passes and what it allocates.
 */

/* The text of one token alone; "" where it is more. */
static const char *single(const struct hn_draft *draft, struct hn_tokens tokens)
{
    return tokens.end == tokens.begin + 1 ? hn_text_at(draft->unit, tokens.begin) : "";
}

/* "<<<grid, block, shared, stream>>>(arguments)" at a token. */
static void read_chevrons(struct hn_draft *draft, size_t open)
{
    struct hn_unit *unit = draft->unit;
    size_t close = hn_find(unit, (struct hn_tokens){open, SIZE_MAX}, ">>>");
    struct hn_tokens list = {open + 1, close};
    if (!hn_at(unit, open, "<<<") || close == SIZE_MAX)
        return;
    hn_next(unit, &list, &draft->launch.grid);
    hn_next(unit, &list, &draft->launch.block);
    hn_next(unit, &list, &draft->launch.shared);
    if (hn_at(unit, close + 1, "("))
        draft->launch.arguments = hn_inside(unit, close + 1);
}

/* "cudaLaunchKernel((void *)kernel, grid, block, arguments, shared, stream)" with the kernel at a
 * token. */
static void read_call(struct hn_draft *draft, size_t kernel)
{
    struct hn_unit *unit = draft->unit;
    size_t name = kernel > 8 ? kernel - 8 : 0;
    struct hn_tokens list, values;
    while (name < kernel && strncmp(hn_text_at(unit, name), "cudaLaunch", 10) != 0)
        name++;
    if (name == kernel || !hn_at(unit, name + 1, "("))
        return;
    list = hn_inside(unit, name + 1);
    if (!hn_next(unit, &list, &values) || kernel < values.begin || kernel >= values.end)
        return;
    draft->cooperative = strstr(hn_text_at(unit, name), "Cooperative") != NULL;
    hn_next(unit, &list, &draft->launch.grid);
    hn_next(unit, &list, &draft->launch.block);
    hn_next(unit, &list, &values);
    hn_next(unit, &list, &draft->launch.shared);
    const struct hn_meaning *array = hn_unit_meaning(unit, single(draft, values), name);
    if (array != NULL && hn_at(unit, array->body.begin, "{"))
        draft->launch.arguments = hn_inside(unit, array->body.begin);
}

void hn_draft_find_launch(struct hn_draft *draft)
{
    struct hn_unit *unit = draft->unit;
    const struct hn_tokens body = draft->kernel->body;
    for (size_t i = 0; i < unit->tokens.count; i++) {
        size_t next = i + 1;
        if (i == draft->kernel->head.end || (i >= body.begin && i < body.end) ||
            !hn_at(unit, i, draft->kernel->name))
            continue;
        if (hn_at(unit, next, "<")) {
            struct hn_tokens given = hn_inside(unit, next);
            next = given.end + 1;
            if (draft->template_arguments.end == 0)
                draft->template_arguments = given;
        }
        if (draft->launch.block.end == 0)
            read_chevrons(draft, next);
        if (draft->launch.block.end == 0)
            read_call(draft, i);
    }
    draft->cooperative |= hn_find(unit, body, "this_grid") != SIZE_MAX;
}

/* What the launch passes as an argument. */
static struct hn_tokens passed_at(const struct hn_draft *draft, size_t index)
{
    struct hn_tokens list = draft->launch.arguments, item = {0, 0};
    for (size_t i = 0; i <= index; i++)
        if (!hn_next(draft->unit, &list, &item))
            return (struct hn_tokens){0, 0};
    item.begin += hn_at(draft->unit, item.begin, "&");
    return item;
}

const char *hn_draft_host_name(const struct hn_draft *draft, const char *name)
{
    const struct hn_kernel *kernel = draft->kernel;
    struct hn_tokens list = draft->template_arguments, item;
    for (size_t i = 0; i < kernel->parameter_count && hn_next(draft->unit, &list, &item); i++)
        if (strcmp(single(draft, item), name) == 0 &&
            kernel->parameters[i].kind <= HN_PARAMETER_BOOLEAN)
            return draft->instances[i];
    for (size_t i = 0; i < kernel->argument_count; i++) {
        const struct hn_draft_size *size = hn_draft_find_size(draft, kernel->arguments[i].name);
        if (size != NULL && strcmp(single(draft, passed_at(draft, i)), name) == 0)
            return size->name;
    }
    return NULL;
}

/* What a variable of the host begins with, if configs have no name for it. */
static struct hn_tokens initial_value(const struct hn_draft *draft, struct hn_tokens tokens)
{
    const char *name = single(draft, tokens);
    const struct hn_meaning *meaning = hn_unit_meaning(draft->unit, name, tokens.begin);
    return meaning != NULL && hn_draft_host_name(draft, name) == NULL ? meaning->body : tokens;
}

/* The components of "dim3(a, b)", of a variable "dim3 block(a, b)" or "= {a, b}", or one number. */
static int read_dim3(const struct hn_draft *draft, struct hn_tokens tokens,
                     struct hn_tokens parts[3])
{
    int count = 0;
    for (int depth = 0; depth < 4; depth++) {
        size_t open = tokens.begin + hn_at(draft->unit, tokens.begin, "dim3");
        if (hn_at(draft->unit, open, "{") || (open > tokens.begin && hn_at(draft->unit, open, "(")))
            tokens = hn_inside(draft->unit, open);
        else
            tokens = initial_value(draft, tokens);
    }
    while (count < 3 && hn_next(draft->unit, &tokens, &parts[count]))
        count++;
    return count;
}

/* Where the kernel does not ask how large it is, a parameter that is the block by its name; else
 * one of the launch. */
static const char *add_block(struct hn_draft *draft, const char *wish, int64_t preset)
{
    bool asks = hn_draft_asks_for_block(draft);
    for (size_t i = 0; i < draft->parameters.count && !asks; i++) {
        const struct hn_draft_parameter *parameter = &draft->parameters.items[i];
        if (hn_draft_is_number(parameter) && parameter->preset.integer == preset &&
            parameter->own != NULL && hn_draft_is_block(parameter->own))
            return parameter->name;
    }
    return hn_draft_add_launch(draft, wish, preset, !asks);
}

/* Puts what is known of each axis into sizes, where all are numbers that a block or a grid may
 * have; a grid's may depend on sizes that are chosen later. */
static bool take(struct hn_draft *draft, const char *texts[3], int count, bool grid,
                 const char *sizes[3])
{
    struct hn_value value;
    for (int axis = 0; axis < count; axis++) {
        if (texts[axis] == NULL || !hn_draft_holds(draft, texts[axis], HN_OF_ALL, &value, NULL) ||
            value.type != HN_INTEGER || value.integer > (grid ? INT32_MAX : 1024))
            return false;
        if (value.integer < 1 && !(grid && hn_draft_has_size(draft, texts[axis])))
            return false;
    }
    for (int axis = 0; count > 0 && axis < 3; axis++) {
        sizes[axis] = axis < count ? texts[axis] : "1";
        if (axis >= draft->dimensions && strcmp(sizes[axis], "1") != 0)
            draft->dimensions = axis + 1;
    }
    return count > 0;
}

void hn_draft_take_block(struct hn_draft *draft)
{
    static const char *const wishes[] = {"BLOCK_X", "BLOCK_Y", "BLOCK_Z"};
    struct hn_tokens parts[3];
    const char *texts[3] = {NULL};
    char *end;
    int count = read_dim3(draft, draft->launch.block, parts);
    for (int axis = 0; axis < count; axis++)
        texts[axis] = hn_draft_translate(draft, parts[axis], -1);
    draft->block_is_known = take(draft, texts, count, false, draft->block);
    bool flat = draft->block_is_known && strcmp(draft->block[1], "1") == 0 &&
                strcmp(draft->block[2], "1") == 0;
    for (int axis = 0; draft->block_is_known && axis < count; axis++) {
        int64_t number = strtoll(texts[axis], &end, 10);
        if (*end != '\0' || number < 2)
            continue;
        draft->literal[axis] = number;
        draft->block[axis] = add_block(draft, flat ? "BLOCK" : wishes[axis], number);
    }
    /* There has to be something to tune. */
    if (draft->parameters.count == 0) {
        draft->block_is_known = false;
        memset(draft->block, 0, sizeof draft->block);
    }
}

void hn_draft_take_grid(struct hn_draft *draft)
{
    struct hn_tokens parts[3];
    const char *texts[3] = {NULL};
    char *end;
    int count = read_dim3(draft, draft->launch.grid, parts);
    bool loops = hn_find(draft->unit, draft->kernel->body, "gridDim") != SIZE_MAX;
    for (int axis = 0; axis < count; axis++) {
        /* What is divided by the block's number is divided by the block. */
        texts[axis] = hn_draft_translate(draft, parts[axis], axis);
        if (texts[axis] != NULL && strstr(texts[axis], "//") == NULL &&
            strstr(texts[axis], "ceil_div") == NULL)
            texts[axis] = hn_draft_translate(draft, parts[axis], -1);
    }
    draft->grid_is_known = take(draft, texts, count, true, draft->grid);
    int64_t number = draft->grid_is_known ? strtoll(texts[0], &end, 10) : 0;
    if (number > 1 && *end == '\0' && loops && count == 1)
        draft->grid[0] = hn_draft_add_launch(draft, "BLOCKS", number, false);
}

/* What the source allocates for a pointer of the host: bytes. */
static struct hn_tokens find_allocation(const struct hn_draft *draft, const char *name)
{
    struct hn_unit *unit = draft->unit;
    struct hn_tokens list, first, second;
    for (size_t i = 0; i < unit->tokens.count; i++) {
        if (strncmp(hn_text_at(unit, i), "cudaMalloc", 10) != 0 || !hn_at(unit, i + 1, "("))
            continue;
        list = hn_inside(unit, i + 1);
        if (hn_next(unit, &list, &first) && hn_next(unit, &list, &second) &&
            hn_find(unit, first, name) != SIZE_MAX)
            return second;
    }
    return (struct hn_tokens){0, 0};
}

/* "n" of "n * sizeof(float)" and of "sizeof(float) * n"; NULL: bytes are told otherwise. */
static const char *count_elements(struct hn_draft *draft, struct hn_tokens passed)
{
    struct hn_unit *unit = draft->unit;
    struct hn_tokens bytes = find_allocation(draft, hn_text_at(unit, passed.begin));
    bytes = initial_value(draft, initial_value(draft, bytes));
    size_t at = hn_find(unit, bytes, "sizeof");
    size_t behind = at != SIZE_MAX ? hn_behind(unit, at + 1, bytes.end) : 0;
    if (at == bytes.begin && hn_at(unit, behind, "*"))
        bytes.begin = behind + 1;
    else if (at != SIZE_MAX && behind == bytes.end && hn_at(unit, at - 1, "*"))
        bytes.end = at - 1;
    else
        return NULL;
    return hn_draft_translate(draft, bytes, -1);
}

static void read_scalar(struct hn_draft *draft, size_t index, struct hn_tokens passed)
{
    struct hn_draft_size *size = hn_draft_find_size(draft, draft->kernel->arguments[index].name);
    struct hn_value value;
    /* What the host calls n is n here, and has the value that it has there. */
    const struct hn_meaning *own =
        hn_unit_meaning(draft->unit, single(draft, passed), passed.begin);
    const char *text = hn_draft_translate(draft, own != NULL ? own->body : passed, -1);
    if (text == NULL || !hn_draft_holds(draft, text, HN_OF_ALL, &value, NULL))
        return;
    if (size == NULL)
        draft->given[index] = text;
    else if (value.type == HN_INTEGER && value.integer > 0)
        size->value = value.integer;
    if (size != NULL && own == NULL && strstr(text, " * ") != NULL &&
        strpbrk(text, "+-/%<>") == NULL)
        size->passed = text;
}

void hn_draft_read_passed(struct hn_draft *draft)
{
    const struct hn_kernel *kernel = draft->kernel;
    draft->given =
        hn_need_block(&draft->unit->memory, kernel->argument_count, sizeof *draft->given);
    for (int pointers = 0; pointers < 2; pointers++)
        for (size_t i = 0; i < kernel->argument_count; i++) {
            struct hn_tokens passed = passed_at(draft, i);
            if (passed.end == passed.begin || kernel->arguments[i].pointer != (pointers == 1))
                continue;
            if (pointers == 0)
                read_scalar(draft, i, passed);
            else
                draft->given[i] = count_elements(draft, passed);
        }
}
