/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/expression/expression_terms_part.h"

struct arranging {
    struct hn_terms *terms;
    const size_t *ranks;
    int *arranged; /* by term; -1 not yet */
};

struct operand {
    int term;
    size_t rank; /* of the last slot that it depends on, plus one; 0: a constant */
    size_t place;
};

static int arrange(struct arranging *arranging, int term);

static size_t rank_of(const struct arranging *arranging, int term)
{
    const uint64_t *slots = arranging->terms->items[term].slots;
    size_t last = 0;
    for (size_t i = 0; i < arranging->terms->slot_words; i++) {
        for (uint64_t bits = slots[i]; bits != 0; bits &= bits - 1) {
            size_t rank = arranging->ranks[64 * i + (size_t)__builtin_ctzll(bits)] + 1;
            last = rank > last ? rank : last;
        }
    }
    return last;
}

static size_t count_operands(const struct hn_terms *terms, enum hn_term_operation operation,
                             int term)
{
    const struct hn_term *item = &terms->items[term];
    if (item->operation != operation)
        return 1;
    return count_operands(terms, operation, item->operand[0]) +
           count_operands(terms, operation, item->operand[1]);
}

static struct operand *list_operands(const struct hn_terms *terms, enum hn_term_operation operation,
                                     int term, struct operand *to)
{
    const struct hn_term *item = &terms->items[term];
    if (item->operation != operation) {
        to->term = term;
        return to + 1;
    }
    to = list_operands(terms, operation, item->operand[0], to);
    return list_operands(terms, operation, item->operand[1], to);
}

static int compare_operands(const void *a, const void *b)
{
    const struct operand *x = a;
    const struct operand *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

/* The sum or product of all operands, in the order of their slots. -1: that might overflow on the
 * way, is too long, or memory is out. */
static int arrange_chain(struct arranging *arranging, int term)
{
    enum { MOST_OPERANDS = 1000 };
    struct hn_terms *terms = arranging->terms;
    enum hn_term_operation operation = terms->items[term].operation;
    size_t count = count_operands(terms, operation, term);
    struct operand *operands = count > MOST_OPERANDS ? NULL : calloc(count, sizeof *operands);
    if (operands == NULL)
        return -1;
    list_operands(terms, operation, term, operands);
    int chain = 0;
    for (size_t i = 0; i < count && chain >= 0; i++) {
        operands[i].term = chain = arrange(arranging, operands[i].term);
        operands[i].rank = chain < 0 ? 0 : rank_of(arranging, chain);
        operands[i].place = i;
    }
    qsort(operands, count, sizeof *operands, compare_operands);
    for (size_t i = 0; i < count && chain >= 0; i++)
        chain = i == 0 ? operands[i].term
                       : hn_terms_make(terms, operation, chain, operands[i].term, -1);
    free(operands);
    return chain;
}

static int arrange_operands(struct arranging *arranging, int term)
{
    const struct hn_term item = arranging->terms->items[term];
    int operands[3] = {-1, -1, -1};
    for (size_t i = 0; i < 3 && item.operand[i] >= 0; i++) {
        operands[i] = arrange(arranging, item.operand[i]);
        if (operands[i] < 0)
            return -1;
    }
    return hn_terms_make(arranging->terms, item.operation, operands[0], operands[1], operands[2]);
}

static int arrange(struct arranging *arranging, int term)
{
    enum hn_term_operation operation = arranging->terms->items[term].operation;
    if (operation == HN_TERM_CONSTANT || operation == HN_TERM_TABLE)
        return term;
    if (arranging->arranged[term] < 0) {
        int arranged = -1;
        if (operation == HN_TERM_ADD || operation == HN_TERM_MULTIPLY)
            arranged = arrange_chain(arranging, term);
        if (arranged < 0)
            arranged = arrange_operands(arranging, term);
        arranging->arranged[term] = arranged < 0 ? term : arranged;
    }
    return arranging->arranged[term];
}

bool hn_terms_arrange(struct hn_terms *terms, int *list, size_t count, const size_t *ranks)
{
    size_t known = terms->count;
    struct arranging arranging = {terms, ranks, malloc((known + 1) * sizeof(int))};
    if (arranging.arranged == NULL)
        return false;
    for (size_t i = 0; i < known; i++)
        arranging.arranged[i] = -1;
    for (size_t i = 0; i < count; i++)
        list[i] = list[i] < 0 ? -1 : arrange(&arranging, list[i]);
    free(arranging.arranged);
    return !terms->out_of_memory;
}
