/* SPDX-License-Identifier: MIT */
#include "tuner/space/space_program.h"

#include <stdlib.h>
#include <string.h>

enum hn_status hn_space_gatherer_init(struct hn_space_gatherer *gatherer,
                                      const struct hn_terms *terms, struct hn_error *err)
{
    *gatherer = (struct hn_space_gatherer){.terms = terms};
    gatherer->seen = calloc(terms->count + 1, 1);
    gatherer->found = calloc(terms->count + 1, sizeof *gatherer->found);
    if (gatherer->seen != NULL && gatherer->found != NULL)
        return HN_OK;
    hn_space_gatherer_finish(gatherer);
    return hn_fail_memory(err);
}

void hn_space_gatherer_finish(struct hn_space_gatherer *gatherer)
{
    free(gatherer->seen);
    free(gatherer->found);
    *gatherer = (struct hn_space_gatherer){0};
}

static void visit(struct hn_space_gatherer *gatherer, int term)
{
    const struct hn_term *item = &gatherer->terms->items[term];
    if (item->operation == HN_TERM_CONSTANT || gatherer->seen[term])
        return;
    gatherer->seen[term] = 1;
    gatherer->found[gatherer->count++] = term;
    for (size_t i = 0; i < 3 && item->operand[i] >= 0; i++)
        visit(gatherer, item->operand[i]);
}

static int compare_terms(const void *a, const void *b)
{
    int x = *(const int *)a;
    int y = *(const int *)b;
    return (x > y) - (x < y);
}

void hn_space_gather(struct hn_space_gatherer *gatherer, int term)
{
    for (size_t i = 0; i < gatherer->count; i++)
        gatherer->seen[gatherer->found[i]] = 0;
    gatherer->count = 0;
    visit(gatherer, term);
    hn_space_gather_sort(gatherer);
}

void hn_space_gather_more(struct hn_space_gatherer *gatherer, int term)
{
    visit(gatherer, term);
}

void hn_space_gather_sort(struct hn_space_gatherer *gatherer)
{
    if (gatherer->count > 1)
        qsort(gatherer->found, gatherer->count, sizeof *gatherer->found, compare_terms);
}

enum hn_status hn_space_program_take(const struct hn_space_gatherer *gatherer, size_t slot,
                                     bool depends, struct hn_blocks *blocks,
                                     struct hn_space_program *program)
{
    const struct hn_terms *terms = gatherer->terms;
    struct hn_instruction *items = hn_blocks_take(blocks, gatherer->count * sizeof *items + 1);
    if (items == NULL)
        return HN_ENOMEM;
    size_t count = 0;
    for (size_t i = 0; i < gatherer->count; i++) {
        int term = gatherer->found[i];
        if (hn_has_slot(terms->items[term].slots, slot) == depends)
            items[count++] = hn_terms_instruction(terms, term);
    }
    *program = (struct hn_space_program){items, count};
    return HN_OK;
}
