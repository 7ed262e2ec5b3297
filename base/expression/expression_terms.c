/* SPDX-License-Identifier: MIT */
#include "base/expression/expression_terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_terms_part.h"

enum hn_status hn_terms_init(struct hn_terms *terms, const struct hn_domain *domains,
                             size_t slot_count, struct hn_error *err)
{
    *terms = (struct hn_terms){
        .domains = domains, .slot_count = slot_count, .slot_words = slot_count / 64 + 1};
    terms->values = calloc(slot_count + 1, sizeof *terms->values);
    terms->scratch = calloc(terms->slot_words, sizeof *terms->scratch);
    if (terms->values == NULL || terms->scratch == NULL) {
        hn_terms_finish(terms);
        return hn_fail_memory(err);
    }
    for (size_t i = 0; i < slot_count; i++)
        terms->values[i] = domains[i].values[0];
    return HN_OK;
}

void hn_terms_finish(struct hn_terms *terms)
{
    hn_blocks_finish(&terms->blocks);
    free(terms->items);
    free(terms->values);
    free(terms->scratch);
    free(terms->index);
    free(terms->limits);
    free(terms->words);
    *terms = (struct hn_terms){0};
}

static uint64_t mix(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * 0x9e3779b97f4a7c15;
    return hash ^ (hash >> 29);
}

static size_t table_count(const struct hn_terms *terms, const struct hn_term *term)
{
    return term->operation == HN_TERM_TABLE ? terms->domains[term->slot].count : 0;
}

static uint64_t hash_term(const struct hn_terms *terms, const struct hn_term *term)
{
    uint64_t hash = mix((uint64_t)term->operation * 2 + term->real, (uint64_t)term->slot);
    for (size_t i = 0; i < 3; i++)
        hash = mix(hash, (uint64_t)term->operand[i]);
    if (term->operation == HN_TERM_CONSTANT)
        hash = mix(hash, (uint64_t)term->low.integer);
    for (size_t i = 0; i < table_count(terms, term); i++)
        hash = mix(hash, (uint64_t)term->table[i].integer);
    return hash;
}

static bool same_term(const struct hn_terms *terms, const struct hn_term *a,
                      const struct hn_term *b)
{
    if (a->operation != b->operation || a->real != b->real || a->slot != b->slot ||
        memcmp(a->operand, b->operand, sizeof a->operand) != 0)
        return false;
    if (a->operation == HN_TERM_CONSTANT)
        return a->low.integer == b->low.integer;
    return a->operation != HN_TERM_TABLE ||
           memcmp(a->table, b->table, table_count(terms, a) * sizeof *a->table) == 0;
}

/* Where the term is in the index, or is to be put. */
static size_t find_place(const struct hn_terms *terms, const struct hn_term *term)
{
    size_t place = hash_term(terms, term) & (terms->index_size - 1);
    while (terms->index[place] >= 0 && !same_term(terms, &terms->items[terms->index[place]], term))
        place = (place + 1) & (terms->index_size - 1);
    return place;
}

static bool grow(struct hn_terms *terms)
{
    size_t capacity = terms->capacity == 0 ? 64 : 2 * terms->capacity;
    struct hn_term *items = realloc(terms->items, capacity * sizeof *items);
    if (items != NULL)
        terms->items = items;
    int *index = malloc(2 * capacity * sizeof *index);
    if (items == NULL || index == NULL) {
        free(index);
        terms->out_of_memory = true;
        return false;
    }
    free(terms->index);
    terms->capacity = capacity;
    terms->index = index;
    terms->index_size = 2 * capacity;
    for (size_t i = 0; i < terms->index_size; i++)
        index[i] = -1;
    for (size_t i = 0; i < terms->count; i++)
        index[find_place(terms, &terms->items[i])] = (int)i;
    return true;
}

/* The number of the term, which is new or was there before. Its slots are those in scratch. */
static int intern(struct hn_terms *terms, const struct hn_term *term)
{
    if (terms->count == terms->capacity && !grow(terms))
        return -1;
    size_t place = find_place(terms, term);
    if (terms->index[place] >= 0)
        return terms->index[place];
    size_t slot_bytes = terms->slot_words * sizeof(uint64_t);
    size_t table_bytes = table_count(terms, term) * sizeof *term->table;
    unsigned char *kept = hn_blocks_take(&terms->blocks, slot_bytes + table_bytes);
    if (kept == NULL) {
        terms->out_of_memory = true;
        return -1;
    }
    struct hn_term *added = &terms->items[terms->count];
    *added = *term;
    memcpy(kept, terms->scratch, slot_bytes);
    added->slots = (const uint64_t *)(const void *)kept;
    if (table_bytes > 0) {
        memcpy(kept + slot_bytes, term->table, table_bytes);
        added->table = (const union hn_cell *)(const void *)(kept + slot_bytes);
    }
    terms->index[place] = (int)terms->count;
    return (int)terms->count++;
}

static int make_constant(struct hn_terms *terms, bool real, union hn_cell cell)
{
    struct hn_term term = {.operation = HN_TERM_CONSTANT,
                           .real = real,
                           .slot = -1,
                           .operand = {-1, -1, -1},
                           .low = cell,
                           .high = cell};
    memset(terms->scratch, 0, terms->slot_words * sizeof *terms->scratch);
    return intern(terms, &term);
}

int hn_terms_constant(struct hn_terms *terms, int64_t integer)
{
    return make_constant(terms, false, (union hn_cell){.integer = integer});
}

int hn_terms_constant_real(struct hn_terms *terms, double real)
{
    return make_constant(terms, true, (union hn_cell){.real = real});
}

static void bound_table(struct hn_term *term, size_t count)
{
    term->low = term->high = term->table[0];
    bool finite = true;
    for (size_t i = 0; i < count; i++) {
        union hn_cell cell = term->table[i];
        if (term->real) {
            finite = finite && isfinite(cell.real);
            term->low.real = fmin(term->low.real, cell.real);
            term->high.real = fmax(term->high.real, cell.real);
        } else if (cell.integer < term->low.integer) {
            term->low = cell;
        } else if (cell.integer > term->high.integer) {
            term->high = cell;
        }
    }
    if (term->real && !finite) {
        term->low.real = -INFINITY;
        term->high.real = INFINITY;
    }
}

int hn_terms_table(struct hn_terms *terms, size_t slot, bool real, const union hn_cell *cells)
{
    size_t count = terms->domains[slot].count;
    size_t same = 1;
    while (same < count && cells[same].integer == cells[0].integer)
        same++;
    if (same == count)
        return make_constant(terms, real, cells[0]);
    struct hn_term term = {.operation = HN_TERM_TABLE,
                           .real = real,
                           .slot = (int)slot,
                           .operand = {-1, -1, -1},
                           .table = cells};
    bound_table(&term, count);
    memset(terms->scratch, 0, terms->slot_words * sizeof *terms->scratch);
    terms->scratch[slot / 64] |= (uint64_t)1 << (slot % 64);
    return intern(terms, &term);
}

int hn_terms_slot(struct hn_terms *terms, size_t slot)
{
    const struct hn_value *ends = terms->domains[slot].values;
    struct hn_term term = {.operation = HN_TERM_SLOT,
                           .slot = (int)slot,
                           .operand = {-1, -1, -1},
                           .low.integer = ends[0].integer,
                           .high.integer = ends[1].integer};
    if (ends[0].integer == ends[1].integer)
        return hn_terms_constant(terms, ends[0].integer);
    memset(terms->scratch, 0, terms->slot_words * sizeof *terms->scratch);
    terms->scratch[slot / 64] |= (uint64_t)1 << (slot % 64);
    return intern(terms, &term);
}

static bool gives_real(const struct hn_terms *terms, enum hn_term_operation operation, int b)
{
    return operation == HN_TERM_SELECT ? terms->items[b].real : operation >= HN_TERM_REAL_ADD;
}

/* The term of the operation where an operand that is a constant, or the bounds, decide it; -1: they
 * do not. */
static int simplify(struct hn_terms *terms, enum hn_term_operation operation, int a, int b, int c)
{
    if (operation == HN_TERM_SELECT)
        return hn_terms_is(terms, a, 1) ? b : hn_terms_is(terms, a, 0) ? c : b == c ? b : -1;
    bool is_and = operation == HN_TERM_AND;
    if (is_and || operation == HN_TERM_OR) {
        int neutral = is_and ? 1 : 0;
        if (hn_terms_is(terms, a, neutral) || a == b || hn_terms_is(terms, b, !neutral))
            return b;
        if (hn_terms_is(terms, b, neutral) || hn_terms_is(terms, a, !neutral))
            return a;
        return -1;
    }
    if (operation == HN_TERM_NOT && terms->items[a].operation == HN_TERM_NOT)
        return terms->items[a].operand[0];
    if (operation == HN_TERM_MULTIPLY && hn_terms_is(terms, a, 1))
        return b;
    if ((operation == HN_TERM_MULTIPLY || operation == HN_TERM_FLOOR_DIVIDE ||
         operation == HN_TERM_CEIL_DIVIDE) &&
        hn_terms_is(terms, b, 1))
        return a;
    if (operation >= HN_TERM_LESS && operation <= HN_TERM_REAL_EQUAL && b >= 0) {
        int decided = hn_term_decided(operation, &terms->items[a], &terms->items[b]);
        return decided < 0 ? -1 : hn_terms_constant(terms, decided);
    }
    return -1;
}

static union hn_cell cell_at(const struct hn_terms *terms, int term, size_t position)
{
    if (term < 0)
        return (union hn_cell){0};
    const struct hn_term *item = &terms->items[term];
    return item->operation == HN_TERM_TABLE ? item->table[position] : item->low;
}

/* Of operands that are constants or tables of one slot. */
static int tabulate(struct hn_terms *terms, size_t slot, bool real,
                    enum hn_term_operation operation, const int *operands)
{
    size_t count = terms->domains[slot].count;
    union hn_cell *cells = malloc(count * sizeof *cells);
    if (cells == NULL) {
        terms->out_of_memory = true;
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        cells[i] = hn_cell_apply(operation, cell_at(terms, operands[0], i),
                                 cell_at(terms, operands[1], i), cell_at(terms, operands[2], i));
    int made = hn_terms_table(terms, slot, real, cells);
    free(cells);
    return made;
}

/* Whether all operands are constants or tables of the same slot; slot is -1 without a table. */
static bool is_unary(const struct hn_terms *terms, const int *operands, int *slot)
{
    *slot = -1;
    for (size_t i = 0; i < 3 && operands[i] >= 0; i++) {
        const struct hn_term *operand = &terms->items[operands[i]];
        if (operand->operation == HN_TERM_CONSTANT)
            continue;
        if (operand->operation != HN_TERM_TABLE || (*slot >= 0 && operand->slot != *slot))
            return false;
        *slot = operand->slot;
    }
    return true;
}

static int make_new(struct hn_terms *terms, enum hn_term_operation operation, const int *operands)
{
    struct hn_term term = {.operation = operation,
                           .real = gives_real(terms, operation, operands[1]),
                           .slot = -1,
                           .operand = {operands[0], operands[1], operands[2]}};
    const struct hn_term *known[3] = {NULL, NULL, NULL};
    memset(terms->scratch, 0, terms->slot_words * sizeof *terms->scratch);
    for (size_t i = 0; i < 3 && operands[i] >= 0; i++) {
        known[i] = &terms->items[operands[i]];
        for (size_t word = 0; word < terms->slot_words; word++)
            terms->scratch[word] |= known[i]->slots[word];
    }
    if (!hn_term_bound(&term, known[0], known[1], known[2]))
        return -1;
    if (!term.real && term.low.integer == term.high.integer)
        return hn_terms_constant(terms, term.low.integer);
    return intern(terms, &term);
}

static size_t operand_count(enum hn_term_operation operation)
{
    switch (operation) {
    case HN_TERM_NEGATE:
    case HN_TERM_INVERT:
    case HN_TERM_ABSOLUTE:
    case HN_TERM_IS_POWER_OF_2:
    case HN_TERM_NOT:
    case HN_TERM_REAL_NEGATE:
    case HN_TERM_REAL_ABSOLUTE:
    case HN_TERM_TO_REAL:
        return 1;
    case HN_TERM_SELECT:
        return 3;
    default:
        return 2;
    }
}

int hn_terms_make(struct hn_terms *terms, enum hn_term_operation operation, int a, int b, int c)
{
    int operands[3] = {a, b, c};
    for (size_t i = 0; i < operand_count(operation); i++) {
        if (operands[i] < 0)
            return -1;
    }
    int simple = simplify(terms, operation, a, b, c);
    if (simple >= 0)
        return simple;
    int slot;
    bool real = gives_real(terms, operation, b);
    if (is_unary(terms, operands, &slot)) {
        /* the bounds must allow it: tables of one slot can overflow too */
        struct hn_term term = {.operation = operation, .real = real};
        if (!hn_term_bound(&term, &terms->items[a], b < 0 ? NULL : &terms->items[b],
                           c < 0 ? NULL : &terms->items[c]))
            return -1;
        if (slot >= 0)
            return tabulate(terms, (size_t)slot, real, operation, operands);
        return make_constant(terms, real,
                             hn_cell_apply(operation, cell_at(terms, a, 0), cell_at(terms, b, 0),
                                           cell_at(terms, c, 0)));
    }
    return make_new(terms, operation, operands);
}

struct hn_instruction hn_terms_instruction(const struct hn_terms *terms, int term)
{
    const struct hn_term *item = &terms->items[term];
    struct hn_instruction instruction = {
        .operation = item->operation, .result = term, .slot = item->slot, .table = item->table};
    for (size_t i = 0; i < 3; i++)
        instruction.operand[i] = item->operand[i] >= 0   ? item->operand[i]
                                 : item->operand[0] >= 0 ? item->operand[0]
                                                         : 0;
    return instruction;
}

void hn_terms_set_constants(const struct hn_terms *terms, union hn_cell *cells)
{
    for (size_t i = 0; i < terms->count; i++) {
        if (terms->items[i].operation == HN_TERM_CONSTANT)
            cells[i] = terms->items[i].low;
    }
}
