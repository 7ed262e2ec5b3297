/* SPDX-License-Identifier: MIT */
#include "runtime/plan/argument.h"
#include "tuner/init/draft.h"

/* A launch of the program in the place of what the source makes one guess: what was passed, block
 * and grid, and the contents of buffers before and after it. */

static void set_preset(const struct hn_draft *draft, struct hn_draft_name *name, int64_t number)
{
    name->preset = hn_integer(number);
    if (!name->is_size)
        hn_draft_add_value(draft, name, name->preset);
    if (name->comment != NULL && strncmp(name->comment, "TODO", 4) == 0)
        name->comment = NULL;
}

static void take_launch(struct hn_draft *draft, const struct hn_capture_head *head)
{
    for (int axis = draft->dimensions; axis < 3; axis++)
        if (head->block[axis] > 1 || head->grid[axis] > 1)
            draft->dimensions = axis + 1;
    for (int axis = 0; axis < draft->dimensions; axis++) {
        const char **block = &draft->block[axis];
        struct hn_draft_name *own = *block != NULL ? hn_draft_find(draft, *block) : NULL;
        if (own != NULL)
            set_preset(draft, own, head->block[axis]);
        else if (hn_draft_number(draft, *block, HN_OF_ALL) != head->block[axis])
            *block = HN_DRAFT_TEXT(draft, "%d", head->block[axis]);
    }
    /* As many blocks as there were; fewer where each does more and none goes on by the grid. */
    bool goes_on = HN_HAS(draft->unit, draft->kernel->body, "gridDim");
    for (int axis = 0; axis < draft->dimensions; axis++) {
        const char **grid = &draft->grid[axis], *by = strrchr(*grid != NULL ? *grid : "", ',');
        const char *work =
            by != NULL ? HN_DRAFT_TEXT(draft, "%.*s", (int)strlen(by) - 3, by + 2) : NULL;
        int64_t each = goes_on ? 0 : hn_draft_number(draft, work, HN_OF_ALL);
        if (hn_draft_number(draft, *grid, HN_OF_ALL) != head->grid[axis])
            *grid = each > 0 && strncmp(*grid, "ceil_div(", 9) == 0
                        ? HN_DRAFT_TEXT(draft, "ceil_div(%d * %lld, %s)", head->grid[axis],
                                        (long long)each, work)
                        : HN_DRAFT_TEXT(draft, "%d", head->grid[axis]);
    }
    /* Often a number for each thread. */
    const int bytes = head->shared_bytes, threads = head->block[0];
    if (hn_draft_number(draft, draft->shared_bytes != NULL ? draft->shared_bytes : "0",
                        HN_OF_ALL) != bytes)
        draft->shared_bytes =
            bytes % threads == 0 && bytes <= 8 * threads
                ? HN_DRAFT_TEXT(draft, "%d * %s", bytes / threads, draft->block[0])
                : HN_DRAFT_TEXT(draft, "%d", bytes);
}

/* Beside the config; returns what that calls it. */
static const char *write_file(const struct hn_draft *draft, const char *name, const char *end,
                              const void *data, uint64_t bytes, struct hn_error *err)
{
    const char *output = draft->output, *file = basename(output), *dot = strrchr(file, '.');
    size_t stem = dot != NULL ? (size_t)(dot - output) : strlen(output);
    const char *path = HN_DRAFT_TEXT(draft, "%.*s-%s%s.bin", (int)stem, output, name, end);
    if (!hn_failed(err))
        hn_file_write(path, data, bytes, err);
    return path + (file - output);
}

/* Of the elements as many as the source tells, else all that there are. A kernel may leave some of
 * an output as they were, which then have to be there; but were these most of them, what is missing
 * would not show. */
static void take_buffer(const struct hn_draft *draft, const struct hn_capture_part *before,
                        const struct hn_capture_part *after, bool told,
                        struct hn_draft_argument *argument, struct hn_error *err)
{
    const int64_t size = hn_type_bytes(argument->type), all = (int64_t)before->bytes / size;
    int64_t count = hn_draft_number(draft, argument->count, HN_OF_ALL), changed = 0;
    if (count > all || count < (told ? 1 : all)) {
        count = all;
        argument->count = HN_DRAFT_TEXT(draft, "%lld", (long long)all);
    }
    const uint64_t bytes = (uint64_t)(count * size);
    bool is_output = argument->role == HN_DRAFT_OUTPUT && argument->todo == NULL;
    char *was HN_FREED = hn_capture_contents(draft->capture, before, err), *is HN_FREED = NULL;
    argument->todo = NULL;
    if (argument->role != HN_DRAFT_INPUT && after != NULL && after->bytes == before->bytes) {
        is = hn_capture_contents(draft->capture, after, err);
        for (int64_t i = 0; !hn_failed(err) && i < count; i++)
            changed += memcmp(was + i * size, is + i * size, (size_t)size) != 0;
        is_output = is_output && (changed == count || changed < count / 2);
        if (changed == 0 && !is_output)
            argument->todo = "the launch changed nothing, so that nothing is checked: another one?";
        argument->unread = argument->role == HN_DRAFT_OUTPUT;
        argument->role = is_output ? HN_DRAFT_OUTPUT : HN_DRAFT_INOUT;
        argument->expected = write_file(draft, argument->name, "-expected", is, bytes, err);
    }
    if (argument->role != HN_DRAFT_OUTPUT)
        argument->file = write_file(draft, argument->name, "", was, bytes, err);
}

/* What the kernel has at a place. */
static void take_parameter(struct hn_draft *draft, size_t place, struct hn_draft_argument *argument,
                           struct hn_error *err)
{
    const struct hn_capture_head *head = &draft->capture->head;
    const char *name = HN_DRAFT_TEXT(draft, "p%zu", place);
    const struct hn_capture_part *before = NULL, *after = NULL;
    const struct hn_value *scalar = hn_bindings_get(&head->scalars, name);
    HN_EACH_OF(part, head->inputs, head->input_count)
        before = strcmp(part->name, name) == 0 ? part : before;
    HN_EACH_OF(part, head->expected, head->expected_count)
        after = strcmp(part->name, name) == 0 ? part : after;
    if (scalar != NULL ? argument->count != NULL && scalar->integer != 0 : before == NULL)
        hn_fail(err, HN_ECONFIG, "'%s' has no %s %s, which is '%s' in the source",
                draft->capture->path, scalar == NULL ? "parameter" : "memory of the device for",
                name, argument->name);
    else if (argument->count != NULL && scalar == NULL)
        take_buffer(draft, before, after,
                    hn_draft_given(draft, &draft->kernel->arguments.items[place]) != NULL, argument,
                    err);
    else if (argument->count != NULL)
        *argument =
            (struct hn_draft_argument){.name = argument->name, .type = "uint64", .value = "0"};
    else if (argument->from != NULL && before != NULL && after == NULL)
        take_buffer(draft, before, NULL, true, argument - 1, err);
    if (argument->value == NULL || scalar == NULL)
        return;
    /* A size, or what the argument was. */
    struct hn_draft_name *own = hn_draft_find(draft, argument->value);
    uint64_t bits = (uint64_t)scalar->integer;
    enum hn_element element = HN_UINT64;
    unsigned lanes;
    char text[64];
    hn_type_parse(argument->type, &element, &lanes);
    hn_element_format(&bits, element, text, sizeof text);
    if (own != NULL && !hn_element_is_real(element))
        set_preset(draft, own, hn_element_value(bits, element).integer);
    else
        argument->value = HN_DRAFT_TEXT(draft, "%s", text);
    if (argument->todo != NULL && strcmp(argument->todo, "which value?") == 0)
        argument->todo = NULL;
}

void hn_draft_take_capture(struct hn_draft *draft, struct hn_error *err)
{
    /* What is passed by value says how many elements buffers have. */
    for (int buffers = 0; buffers < 2; buffers++) {
        size_t place = 0;
        HN_EACH(argument, draft->arguments)
            if (!argument->hidden && !hn_failed(err)) {
                if ((argument->count != NULL) == (buffers == 1))
                    take_parameter(draft, place, argument, err);
                place++;
            }
        if (buffers == 0 && !hn_failed(err))
            take_launch(draft, &draft->capture->head);
    }
}
