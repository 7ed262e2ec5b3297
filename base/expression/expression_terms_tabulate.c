/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_terms_part.h"
#include "base/expression/expression_tree.h"

enum { FEW = 128 }; /* cells that need no allocation */

/* The slot with more than one value that a node depends on; count is 1 where there is none. */
struct slot {
    size_t number;
    size_t count; /* of its values */
};

/* False when there are several. */
static bool find_slot(struct hn_terms *terms, const struct hn_node *node, struct slot *slot)
{
    *slot = (struct slot){0, 1};
    memset(terms->scratch, 0, terms->slot_words * sizeof *terms->scratch);
    hn_node_mark_slots(node, terms->scratch);
    for (size_t i = 0; i < terms->slot_words; i++) {
        for (uint64_t bits = terms->scratch[i]; bits != 0; bits &= bits - 1) {
            size_t found = 64 * i + (size_t)__builtin_ctzll(bits);
            if (terms->domains[found].count == 1)
                continue;
            if (slot->count > 1)
                return false;
            *slot = (struct slot){found, terms->domains[found].count};
        }
    }
    return true;
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All words of the domains, sorted, so that a word's rank has its order. */
static bool sort_words(struct hn_terms *terms)
{
    if (terms->words != NULL)
        return true;
    size_t count = 0;
    for (size_t i = 0; i < terms->slot_count; i++)
        count += terms->domains[i].count;
    terms->words = malloc((count + 1) * sizeof *terms->words);
    if (terms->words == NULL) {
        terms->out_of_memory = true;
        return false;
    }
    for (size_t i = 0; i < terms->slot_count; i++) {
        for (size_t j = 0; j < terms->domains[i].count; j++) {
            const struct hn_value *value = &terms->domains[i].values[j];
            if (value->type == HN_WORD)
                terms->words[terms->word_count++] = value->word;
        }
    }
    qsort(terms->words, terms->word_count, sizeof *terms->words, compare_strings);
    return true;
}

/* Equal words have the same rank; -1 for one that no domain has. */
static int64_t rank_of(const struct hn_terms *terms, const char *word)
{
    size_t low = 0;
    size_t high = terms->word_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(terms->words[middle], word) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < terms->word_count && strcmp(terms->words[low], word) == 0 ? (int64_t)low : -1;
}

static bool cell_of(const struct hn_terms *terms, const struct hn_value *value, bool truth,
                    enum hn_term_type *type, union hn_cell *cell)
{
    *type = HN_TYPE_INTEGER;
    if (truth) {
        cell->integer = hn_value_truth(value);
        return true;
    }
    switch (value->type) {
    case HN_INTEGER:
        cell->integer = value->integer;
        return true;
    case HN_BOOLEAN:
        cell->integer = value->boolean;
        return true;
    case HN_REAL:
        *type = HN_TYPE_REAL;
        cell->real = value->real;
        return true;
    default:
        *type = HN_TYPE_WORD;
        cell->integer = rank_of(terms, value->word);
        return cell->integer >= 0;
    }
}

/* What a cell of one type becomes among others of another; false: there is no such type. */
static bool mix_cell(enum hn_term_type found, enum hn_term_type *type, union hn_cell *cell)
{
    if (found == *type)
        return true;
    if (found == HN_TYPE_WORD || *type == HN_TYPE_WORD)
        return false;
    *type = HN_TYPE_MIXED;
    if (found == HN_TYPE_INTEGER) {
        if (cell->integer < -HN_EXACT_INTEGER || cell->integer > HN_EXACT_INTEGER)
            return false;
        cell->real = (double)cell->integer;
    }
    return true;
}

/* The node's values by the evaluator; false where they have no common type, or there is none. */
static bool evaluate_all(struct hn_terms *terms, const struct hn_expression *expression,
                         const struct hn_node *node, const struct slot *slot, bool truth,
                         enum hn_term_type *type, union hn_cell *cells, union hn_cell *fails)
{
    bool typed = false;
    for (size_t i = 0; i < slot->count; i++) {
        struct hn_value value;
        enum hn_term_type found;
        if (slot->count > 1)
            terms->values[slot->number] = terms->domains[slot->number].values[i];
        fails[i].integer = hn_node_evaluate(expression, node, terms->values, &value) != HN_OK;
        cells[i].integer = 0;
        if (fails[i].integer)
            continue;
        if (value.type == HN_WORD && !truth && !sort_words(terms))
            return false;
        if (!cell_of(terms, &value, truth, &found, &cells[i]))
            return false;
        enum hn_term_type before = typed ? *type : found;
        *type = before;
        if (!mix_cell(found, type, &cells[i]))
            return false;
        for (size_t j = 0; j < i && before == HN_TYPE_INTEGER && *type == HN_TYPE_MIXED; j++) {
            enum hn_term_type mixed = HN_TYPE_MIXED;
            if (!fails[j].integer && !mix_cell(HN_TYPE_INTEGER, &mixed, &cells[j]))
                return false;
        }
        typed = true;
    }
    return typed;
}

static int keep_cells(struct hn_terms *terms, const struct slot *slot, bool real,
                      const union hn_cell *cells)
{
    if (slot->count > 1)
        return hn_terms_table(terms, slot->number, real, cells);
    return real ? hn_terms_constant_real(terms, cells->real)
                : hn_terms_constant(terms, cells->integer);
}

static struct hn_term_part tabulate(struct hn_terms *terms, const struct hn_expression *expression,
                                    const struct hn_node *node, const struct slot *slot, bool truth)
{
    struct hn_term_part part = {-1, -1, HN_TYPE_INTEGER};
    union hn_cell few[FEW];
    bool is_few = 2 * slot->count <= FEW;
    union hn_cell *cells = is_few ? few : malloc(2 * slot->count * sizeof *cells);
    if (cells == NULL) {
        terms->out_of_memory = true;
        return part;
    }
    union hn_cell *fails = cells + slot->count;
    if (evaluate_all(terms, expression, node, slot, truth, &part.type, cells, fails)) {
        part.value = keep_cells(terms, slot, hn_type_is_real(part.type), cells);
        part.fails = keep_cells(terms, slot, false, fails);
    }
    if (!is_few)
        free(cells);
    return part;
}

bool hn_terms_tabulate(struct hn_terms *terms, const struct hn_expression *expression,
                       const struct hn_node *node, bool truth, struct hn_term_part *part)
{
    struct slot slot;
    if (!find_slot(terms, node, &slot))
        return false;
    *part = tabulate(terms, expression, node, &slot, truth);
    return true;
}
