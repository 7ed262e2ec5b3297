/* SPDX-License-Identifier: MIT */
#include "base/expression/expression_terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/expression/expression_internal.h"
#include "base/hash.h"

bool hn_terms_init(struct hn_terms *terms, const struct hn_domain *domains, size_t slot_count)
{
    *terms = (struct hn_terms){
        .domains = domains, .slot_count = slot_count, .slot_words = slot_count / 64 + 1};
    terms->values = calloc(slot_count + 1, sizeof *terms->values);
    terms->scratch = calloc(terms->slot_words, sizeof *terms->scratch);
    if (terms->values == NULL || terms->scratch == NULL) {
        hn_terms_finish(terms);
        return false;
    }
    return true;
}

void hn_terms_finish(struct hn_terms *terms)
{
    hn_blocks_finish(&terms->blocks);
    free(terms->items);
    free(terms->values);
    free(terms->scratch);
    free(terms->index);
    free(terms->words);
    *terms = (struct hn_terms){0};
}

enum { KEY_BYTES = offsetof(struct hn_term, high) };

static size_t table_bytes(const struct hn_terms *terms, const struct hn_term *term)
{
    bool is_table = term->operation == HN_OP_TABLE;
    return is_table ? terms->domains[term->slot].count * sizeof *term->table : 0;
}

/* Where the term is in the index, or is to be put. */
static size_t find_place(const struct hn_terms *terms, const struct hn_term *term)
{
    size_t bytes = table_bytes(terms, term);
    size_t place = hn_hash_number(term, KEY_BYTES);
    place += bytes > 0 ? hn_hash_number(term->table, bytes) : 0;
    for (place &= terms->index_size - 1; terms->index[place] >= 0;
         place = (place + 1) & (terms->index_size - 1)) {
        const struct hn_term *item = &terms->items[terms->index[place]];
        if (memcmp(item, term, KEY_BYTES) == 0 &&
            (bytes == 0 || memcmp(item->table, term->table, bytes) == 0))
            break;
    }
    return place;
}

static bool grow(struct hn_terms *terms)
{
    size_t capacity = terms->index_size == 0 ? 64 : terms->index_size;
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
    if (terms->count == terms->index_size / 2 && !grow(terms))
        return -1;
    size_t place = find_place(terms, term);
    if (terms->index[place] >= 0)
        return terms->index[place];
    size_t slot_bytes = terms->slot_words * sizeof(uint64_t);
    size_t bytes = table_bytes(terms, term);
    unsigned char *kept = hn_blocks_take(&terms->blocks, slot_bytes + bytes);
    if (kept == NULL) {
        terms->out_of_memory = true;
        return -1;
    }
    struct hn_term *added = &terms->items[terms->count];
    *added = *term;
    memcpy(kept, terms->scratch, slot_bytes);
    added->slots = (const uint64_t *)(const void *)kept;
    if (bytes > 0)
        added->table = memcpy(kept + slot_bytes, term->table, bytes);
    terms->index[place] = (int)terms->count;
    return (int)terms->count++;
}

/* A term without operands; slot -1: it depends on none. */
static int make_leaf(struct hn_terms *terms, struct hn_term *term)
{
    memset(term->operand, -1, sizeof term->operand);
    memset(terms->scratch, 0, terms->slot_words * sizeof *terms->scratch);
    if (term->slot >= 0)
        terms->scratch[term->slot / 64] |= (uint64_t)1 << (term->slot % 64);
    return intern(terms, term);
}

static int make_constant(struct hn_terms *terms, bool real, union hn_cell cell)
{
    struct hn_term term = {
        .operation = HN_OP_CONSTANT, .real = real, .slot = -1, .low = cell, .high = cell};
    return make_leaf(terms, &term);
}

int hn_terms_constant(struct hn_terms *terms, int64_t integer)
{
    return make_constant(terms, false, (union hn_cell){.integer = integer});
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

/* The term that has cells[i] at position i of the slot: a constant where they are all the same, or
 * there is no slot (-1). Copies. */
static int make_table(struct hn_terms *terms, int slot, bool real, const union hn_cell *cells)
{
    size_t count = slot >= 0 ? terms->domains[slot].count : 1;
    size_t same = 1;
    while (same < count && cells[same].integer == cells[0].integer)
        same++;
    if (same == count)
        return make_constant(terms, real, cells[0]);
    struct hn_term term = {.operation = HN_OP_TABLE, .real = real, .slot = slot, .table = cells};
    bound_table(&term, count);
    return make_leaf(terms, &term);
}

/* The value of a slot of any integer. */
static int make_slot(struct hn_terms *terms, size_t slot)
{
    const struct hn_value *ends = terms->domains[slot].values;
    struct hn_term term = {.operation = HN_OP_NAME,
                           .slot = (int)slot,
                           .low.integer = ends[0].integer,
                           .high.integer = ends[1].integer};
    if (ends[0].integer == ends[1].integer)
        return hn_terms_constant(terms, ends[0].integer);
    return make_leaf(terms, &term);
}

/* Of two operands. */
static int pair(struct hn_terms *terms, int operation, int a, int b)
{
    return hn_terms_make(terms, operation, a, b, -1);
}

static int both(struct hn_terms *terms, int a, int b)
{
    return pair(terms, HN_OP_AND, a, b);
}

static int either(struct hn_terms *terms, int a, int b)
{
    return pair(terms, HN_OP_OR, a, b);
}

static int negation(struct hn_terms *terms, int a)
{
    return hn_terms_make(terms, HN_OP_NOT, a, -1, -1);
}

static int is_zero(struct hn_terms *terms, bool real, int a)
{
    int zero = make_constant(terms, real, (union hn_cell){0});
    return pair(terms, HN_OP_EQUAL + real * HN_OF_REALS, a, zero);
}

static int compare_cells(bool real, union hn_cell a, union hn_cell b)
{
    return real ? (a.real > b.real) - (a.real < b.real)
                : (a.integer > b.integer) - (a.integer < b.integer);
}

static bool is_comparison(int operation)
{
    int code = operation % HN_OF_REALS;
    return code >= HN_OP_LESS && code <= HN_OP_EQUAL;
}

/* The constant where the bounds decide a comparison, else -1. */
static int decide(struct hn_terms *terms, int operation, const struct hn_term *a,
                  const struct hn_term *b)
{
    bool real = operation >= HN_OF_REALS;
    if (real && !(hn_term_is_finite(a) && hn_term_is_finite(b)))
        return -1; /* nothing is known of NaN */
    int code = operation % HN_OF_REALS;
    int most = compare_cells(real, a->high, b->low), least = compare_cells(real, a->low, b->high);
    bool holds = code == HN_OP_LESS ? most < 0 : code == HN_OP_LESS_EQUAL && most <= 0;
    bool fails = code == HN_OP_LESS         ? least >= 0
                 : code == HN_OP_LESS_EQUAL ? least > 0
                                            : most < 0 || least > 0;
    return holds || fails ? hn_terms_constant(terms, holds) : -1;
}

static bool is_negation(const struct hn_terms *terms, int a, int of)
{
    return terms->items[a].operation == HN_OP_NOT && terms->items[a].operand[0] == of;
}

/* The term of the operation where an operand that is a constant, or the bounds, decide it; -1: they
 * do not. */
static int simplify(struct hn_terms *terms, int operation, int a, int b, int c)
{
    bool is_and = operation == HN_OP_AND;
    if (operation == HN_OP_SELECT)
        return hn_terms_is(terms, a, 1) ? b : hn_terms_is(terms, a, 0) ? c : b == c ? b : -1;
    if (is_and || operation == HN_OP_OR) {
        if (hn_terms_is(terms, a, is_and) || a == b || hn_terms_is(terms, b, !is_and))
            return b;
        if (is_negation(terms, a, b) || is_negation(terms, b, a))
            return hn_terms_constant(terms, !is_and);
        return hn_terms_is(terms, b, is_and) || hn_terms_is(terms, a, !is_and) ? a : -1;
    }
    if (operation == HN_OP_NOT && terms->items[a].operation == HN_OP_NOT)
        return terms->items[a].operand[0];
    int code = operation % HN_OF_REALS;
    bool adds = code == HN_OP_ADD, same = adds || code == HN_OP_MULTIPLY; /* 0 + x, or 1 * x */
    if (same && hn_terms_is(terms, a, !adds))
        return b;
    if ((same || operation == HN_OP_FLOOR_DIVIDE || operation == HN_OP_CEIL_DIV) &&
        hn_terms_is(terms, b, !adds))
        return a;
    bool compares = is_comparison(operation);
    return compares ? decide(terms, operation, &terms->items[a], &terms->items[b]) : -1;
}

static union hn_cell cell_at(const struct hn_terms *terms, int term, size_t position)
{
    if (term < 0)
        return (union hn_cell){0};
    const struct hn_term *item = &terms->items[term];
    return item->operation == HN_OP_TABLE ? item->table[position] : item->low;
}

/* The operands are constants or tables of one slot; -1: of none. */
static int tabulate(struct hn_terms *terms, int slot, const struct hn_term *term)
{
    size_t count = slot >= 0 ? terms->domains[slot].count : 1;
    union hn_cell *cells HN_FREED = malloc(count * sizeof *cells);
    const struct hn_instruction instruction = {
        .operation = term->operation, .result = 3, .operand = {0, 1, 2}};
    terms->out_of_memory = terms->out_of_memory || cells == NULL;
    for (size_t i = 0; i < count && cells != NULL; i++) {
        union hn_cell at[4];
        for (size_t j = 0; j < 3; j++)
            at[j] = cell_at(terms, term->operand[j], i);
        hn_instructions_run(&instruction, 1, NULL, at);
        cells[i] = at[3];
    }
    return cells == NULL ? -1 : make_table(terms, slot, term->real, cells);
}

/* Whether all operands are constants or tables of the same slot; slot is -1 without a table. */
static bool is_unary(const struct hn_terms *terms, const int *operands, int *slot)
{
    *slot = -1;
    for (size_t i = 0; i < 3 && operands[i] >= 0; i++) {
        const struct hn_term *operand = &terms->items[operands[i]];
        if (operand->operation == HN_OP_CONSTANT)
            continue;
        if (operand->operation != HN_OP_TABLE || (*slot >= 0 && operand->slot != *slot))
            return false;
        *slot = operand->slot;
    }
    return true;
}

int hn_terms_make(struct hn_terms *terms, int operation, int a, int b, int c)
{
    const struct hn_operation_form *form = &hn_operation_forms[operation % HN_OF_REALS];
    bool of_reals = operation >= HN_OF_REALS;
    int operands[3] = {a, b, c};
    for (int i = 0; i < form->operands; i++)
        if (operands[i] < 0)
            return -1;
    int simple = simplify(terms, operation, a, b, c);
    if (simple >= 0)
        return simple;
    bool is_select = operation == HN_OP_SELECT;
    bool makes_real = operation == HN_OP_POSITIVE || operation == HN_OP_DIVIDE;
    struct hn_term term = {
        .operation = operation, .real = makes_real, .slot = -1, .operand = {a, b, c}};
    if (is_select)
        term.real = terms->items[b].real;
    else if (of_reals)
        term.real = !is_comparison(operation);
    const struct hn_term *known[3] = {NULL, NULL, NULL};
    memset(terms->scratch, 0, terms->slot_words * sizeof *terms->scratch);
    for (size_t i = 0; i < 3 && operands[i] >= 0; i++) {
        known[i] = &terms->items[operands[i]];
        for (size_t word = 0; word < terms->slot_words; word++)
            terms->scratch[word] |= known[i]->slots[word];
    }
    /* the bounds must allow it where all are known, too: tables of one slot can overflow */
    if (!form->bound[of_reals](&term, known[is_select], known[is_select + 1]))
        return -1;
    int slot;
    if (is_unary(terms, operands, &slot))
        return tabulate(terms, slot, &term);
    if (!term.real && term.low.integer == term.high.integer)
        return hn_terms_constant(terms, term.low.integer);
    return intern(terms, &term);
}

struct hn_instruction hn_terms_instruction(const struct hn_terms *terms, int term)
{
    const struct hn_term *item = &terms->items[term];
    struct hn_instruction instruction = {
        .operation = item->operation, .result = term, .slot = item->slot, .table = item->table};
    for (size_t i = 0; i < 3; i++)
        instruction.operand[i] = item->operand[i] >= 0 ? item->operand[i] : 0;
    return instruction;
}

void hn_terms_set_constants(const struct hn_terms *terms, union hn_cell *cells)
{
    for (size_t i = 0; i < terms->count; i++)
        if (terms->items[i].operation == HN_OP_CONSTANT)
            cells[i] = terms->items[i].low;
}

/* Bounds of terms, as terms over the slots that have values. Those of a 0-or-1 term say whether it
 * is certain (the lower one) and whether it is possible (the upper one). */
enum side { LOW, HIGH };

static int limit(struct hn_terms *terms, int term, enum side side);

static bool is_bound(const struct hn_terms *terms, int term)
{
    const uint64_t *slots = terms->items[term].slots;
    for (size_t i = 0; i < terms->slot_words; i++)
        if ((slots[i] & ~terms->bound[i]) != 0)
            return false;
    return true;
}

static int constant_limit(struct hn_terms *terms, int term, enum side side)
{
    const struct hn_term *item = &terms->items[term];
    return make_constant(terms, item->real, side == LOW ? item->low : item->high);
}

/* Whether the signs of a term's operands are such that it rises and falls as its form says. */
static bool has_signs(const struct hn_terms *terms, const struct hn_term *item)
{
    const struct hn_operation_form *form = &hn_operation_forms[item->operation % HN_OF_REALS];
    for (int i = 0; i < 2 && form->positive; i++) {
        const struct hn_term *operand = &terms->items[item->operand[i]];
        bool positive = form->slope[i] < 0;
        if (operand->real ? !(positive ? operand->low.real > 0 : operand->low.real >= 0)
                          : operand->low.integer < positive)
            return false;
    }
    return true;
}

/* a divides b only if each known factor of a does: a * b == c needs c % a == 0. Of integers. */
static int divides(struct hn_terms *terms, int divisor, int number)
{
    int one = hn_terms_constant(terms, 1);
    if (!is_bound(terms, number))
        return one;
    if (is_bound(terms, divisor)) {
        int rest = pair(terms, HN_OP_MODULO, number, divisor);
        return either(terms, is_zero(terms, false, divisor), is_zero(terms, false, rest));
    }
    const struct hn_term *item = &terms->items[divisor];
    if (item->operation != HN_OP_MULTIPLY)
        return one;
    int a = item->operand[0];
    int b = item->operand[1];
    return both(terms, divides(terms, a, number), divides(terms, b, number));
}

/* The condition on divisors without which a and b cannot be equal. */
static int needed_divisors(struct hn_terms *terms, int a, int b)
{
    int needed = hn_terms_constant(terms, 1);
    for (size_t i = 0; i < 2; i++) {
        int operation = terms->items[a].operation;
        if (operation == HN_OP_MULTIPLY)
            needed = both(terms, needed, divides(terms, a, b));
        if (operation == HN_OP_MODULO && hn_terms_is(terms, b, 0)) {
            int number = terms->items[a].operand[0];
            int divisor = terms->items[a].operand[1];
            needed = both(terms, needed, divides(terms, divisor, number));
        }
        int swapped = a;
        a = b;
        b = swapped;
    }
    return needed;
}

static int limit_equality(struct hn_terms *terms, const struct hn_term *item, enum side side)
{
    int a = item->operand[0];
    int b = item->operand[1];
    enum side other = side == LOW ? HIGH : LOW;
    bool real = item->operation == HN_OF_REALS + HN_OP_EQUAL;
    int less_equal = item->operation - HN_OP_EQUAL + HN_OP_LESS_EQUAL;
    /* certain: both have one value only; possible: they meet */
    int limited =
        both(terms, pair(terms, less_equal, limit(terms, a, other), limit(terms, b, side)),
             pair(terms, less_equal, limit(terms, b, other), limit(terms, a, side)));
    return side == LOW || real ? limited : both(terms, limited, needed_divisors(terms, a, b));
}

/* A real that may be NaN has no bounds. */
static bool has_bounds(const struct hn_terms *terms, const struct hn_term *item)
{
    for (size_t i = 0; i < 3 && item->operand[i] >= 0; i++) {
        const struct hn_term *operand = &terms->items[item->operand[i]];
        if (operand->real && !hn_term_is_finite(operand))
            return false;
    }
    return !item->real || hn_term_is_finite(item);
}

static int find_limit(struct hn_terms *terms, int term, enum side side)
{
    const struct hn_term item = terms->items[term];
    const int *slope = hn_operation_forms[item.operation % HN_OF_REALS].slope;
    enum side other = side == LOW ? HIGH : LOW;
    if (is_bound(terms, term))
        return term;
    if (item.operation == HN_OP_TABLE || !has_bounds(terms, &item))
        return constant_limit(terms, term, side);
    if (item.operation % HN_OF_REALS == HN_OP_EQUAL)
        return limit_equality(terms, &item, side);
    if (item.operation == HN_OP_SELECT) {
        int b = limit(terms, item.operand[1], side);
        int c = limit(terms, item.operand[2], side);
        if (is_bound(terms, item.operand[0]))
            return hn_terms_make(terms, HN_OP_SELECT, item.operand[0], b, c);
        return item.real ? constant_limit(terms, term, side)
                         : pair(terms, side == LOW ? HN_OP_MIN : HN_OP_MAX, b, c);
    }
    if (slope[0] == 0 || !has_signs(terms, &item))
        return constant_limit(terms, term, side);
    int a = limit(terms, item.operand[0], slope[0] > 0 ? side : other);
    int b = item.operand[1] < 0 ? -1 : limit(terms, item.operand[1], slope[1] > 0 ? side : other);
    return pair(terms, item.operation, a, b);
}

static int limit(struct hn_terms *terms, int term, enum side side)
{
    if (term < 0)
        return term;
    struct hn_term *item = &terms->items[term];
    if (item->round != terms->round)
        item->limits[LOW] = item->limits[HIGH] = -1;
    item->round = terms->round;
    int found = item->limits[side] < 0 ? find_limit(terms, term, side) : item->limits[side];
    terms->items[term].limits[side] = found; /* terms may have moved */
    return found;
}

int hn_terms_possible(struct hn_terms *terms, int term, const uint64_t *bound)
{
    terms->bound = bound;
    terms->round++;
    return limit(terms, term, HIGH);
}

static enum hn_direction table_direction(const struct hn_terms *terms, const struct hn_term *item)
{
    unsigned direction = HN_CONSTANT;
    for (size_t i = 1; i < terms->domains[item->slot].count; i++) {
        union hn_cell a = item->table[i - 1];
        union hn_cell b = item->table[i];
        if (item->real ? !(b.real <= a.real) : b.integer > a.integer)
            direction |= HN_RISES;
        if (item->real ? !(b.real >= a.real) : b.integer < a.integer)
            direction |= HN_FALLS;
    }
    return (enum hn_direction)direction;
}

/* Terms share operands, so that walking over all paths could take forever: `left` bounds it. */
static enum hn_direction find_direction(const struct hn_terms *terms, int term, size_t slot,
                                        unsigned *left)
{
    const struct hn_term *item = &terms->items[term];
    if ((item->slots[slot / 64] >> (slot % 64) & 1) == 0)
        return HN_CONSTANT;
    if (*left == 0)
        return HN_UNKNOWN;
    --*left;
    if (item->operation == HN_OP_TABLE)
        return table_direction(terms, item);
    enum hn_direction directions[3] = {HN_CONSTANT, HN_CONSTANT, HN_CONSTANT};
    for (int i = 0; i < 3 && item->operand[i] >= 0; i++)
        directions[i] = find_direction(terms, item->operand[i], slot, left);
    if (item->operation == HN_OP_SELECT)
        return directions[0] == HN_CONSTANT ? (enum hn_direction)(directions[1] | directions[2])
                                            : HN_UNKNOWN;
    /* not of reals, which may be NaN */
    const int *slope = hn_operation_forms[item->operation % HN_OF_REALS].slope;
    if (item->operation >= HN_OF_REALS || item->real || slope[0] == 0 || !has_signs(terms, item))
        return HN_UNKNOWN;
    unsigned direction = HN_CONSTANT;
    for (int i = 0; i < 2; i++)
        direction |= slope[i] >= 0               ? directions[i]
                     : directions[i] == HN_RISES ? HN_FALLS
                     : directions[i] == HN_FALLS ? HN_RISES
                                                 : directions[i];
    return (enum hn_direction)direction;
}

enum hn_direction hn_terms_direction(const struct hn_terms *terms, int term, size_t slot)
{
    unsigned left = 1000;
    return find_direction(terms, term, slot, &left);
}

/* Expressions as terms. */

enum term_type { TYPE_INTEGER, TYPE_REAL, TYPE_WORD };

/* An operation of an expression. value -1: terms cannot say. fails: 1 where it has no value; value
 * is anything there. */
struct term_part {
    int value;
    int fails;
    enum term_type type;
    bool mixed; /* a real that is as large as an integer, where the evaluator may have that one */
};

/* Its number; -1: memory is out. */
static int64_t number_of_word(struct hn_terms *terms, const char *word)
{
    struct hn_error err = {.status = HN_OK};
    size_t bytes = strlen(word) + 1, place = hn_text_place(word, terms->words, terms->word_count);
    if (place < terms->word_count)
        return (int64_t)place;
    char *kept = hn_blocks_take(&terms->blocks, bytes);
    if (kept == NULL || !hn_make_room(&terms->words, place, sizeof *terms->words, &err)) {
        terms->out_of_memory = true;
        return -1;
    }
    terms->words[terms->word_count++] = memcpy(kept, word, bytes);
    return (int64_t)place;
}

/* False: memory is out. */
static bool cell_of(struct hn_terms *terms, const struct hn_value *value, bool truth,
                    enum term_type *type, union hn_cell *cell)
{
    *type = TYPE_INTEGER;
    if (truth) {
        cell->integer = hn_value_truth(value);
        return true;
    }
    if (value->type == HN_INTEGER || value->type == HN_BOOLEAN) {
        cell->integer = value->type == HN_INTEGER ? value->integer : value->boolean;
        return true;
    }
    if (value->type == HN_REAL) {
        *type = TYPE_REAL;
        cell->real = value->real;
        return true;
    }
    *type = TYPE_WORD;
    cell->integer = number_of_word(terms, value->word);
    return cell->integer >= 0;
}

/* How an expression becomes terms: each operation that depends on several slots is one, and its
 * operands that depend on one at most are tables. */
struct work {
    enum {
        UNUSED,
        VALUE,
        TRUTH
    } need;   /* of the operation: nothing, its value, or only its truth */
    int slot; /* that it depends on, or one of the following */
    struct term_part part;
};
enum { NO_SLOT = -1, SEVERAL_SLOTS = -2 };

/* By the evaluator, for each value of the slot; unsaid where the values have no common type, or
 * there is none. */
static struct term_part tabulate_operation(struct hn_terms *terms,
                                           const struct hn_expression *expression, int root,
                                           const struct work *work)
{
    struct term_part part = {.value = -1, .fails = -1};
    size_t count = work->slot >= 0 ? terms->domains[work->slot].count : 1;
    union hn_cell *cells HN_FREED = calloc(2 * count, sizeof *cells);
    union hn_cell *fails = cells != NULL ? cells + count : NULL;
    struct hn_expression *own = hn_expression_part(expression, root);
    bool typed = false, said = cells != NULL && own != NULL;
    terms->out_of_memory = terms->out_of_memory || !said;
    for (size_t i = 0; i < count && said; i++) {
        struct hn_value value;
        enum term_type found;
        if (work->slot >= 0)
            terms->values[work->slot] = terms->domains[work->slot].values[i];
        fails[i].integer = hn_expression_evaluate(own, terms->values, &value, NULL) != HN_OK;
        if (fails[i].integer)
            continue;
        said = cell_of(terms, &value, work->need == TRUTH, &found, &cells[i]) &&
               (!typed || found == part.type);
        part.type = found;
        typed = true;
    }
    if (said && typed) {
        part.value = make_table(terms, work->slot, part.type == TYPE_REAL, cells);
        part.fails = make_table(terms, work->slot, false, fails);
    }
    hn_expression_destroy(own);
    return part;
}

static const struct term_part unsaid = {.value = -1, .fails = -1};

static struct term_part truth_of(struct hn_terms *terms, struct term_part part)
{
    if (part.value < 0 || part.type == TYPE_WORD)
        return unsaid;
    const struct hn_term *term = &terms->items[part.value];
    if (part.type == TYPE_INTEGER && term->low.integer >= 0 && term->high.integer <= 1)
        return part;
    return (struct term_part){
        .value = negation(terms, is_zero(terms, part.type == TYPE_REAL, part.value)),
        .fails = part.fails};
}

/* A part as a real; -1: it is a word, or unsaid. */
static int to_real(struct hn_terms *terms, struct term_part part)
{
    if (part.value < 0 || part.type == TYPE_REAL)
        return part.value;
    return part.type == TYPE_WORD ? -1 : hn_terms_make(terms, HN_OP_POSITIVE, part.value, -1, -1);
}

/* Up to this, and down to its negative, a real has every integer. */
#define EXACT_MOST ((int64_t)1 << 53)

/* Whether no rounding can occur. */
static bool is_exact_real(const struct hn_terms *terms, struct term_part part)
{
    return part.value < 0 || part.type == TYPE_REAL ||
           (terms->items[part.value].low.integer >= -EXACT_MOST &&
            terms->items[part.value].high.integer <= EXACT_MOST);
}

/* Makes reals of an integer and a real of which one is taken. */
static bool share_type(struct hn_terms *terms, struct term_part *a, struct term_part *b)
{
    bool same = a->type == b->type;
    if (!same && (a->type == TYPE_WORD || b->type == TYPE_WORD || !is_exact_real(terms, *a) ||
                  !is_exact_real(terms, *b)))
        return false;
    a->mixed = b->mixed = !same || a->mixed || b->mixed;
    if (!same) {
        a->value = to_real(terms, *a);
        b->value = to_real(terms, *b);
        a->type = b->type = TYPE_REAL;
    }
    return true;
}

static int compare(struct hn_terms *terms, enum hn_operator code, struct term_part a,
                   struct term_part b)
{
    if (code == HN_OP_NOT_EQUAL)
        return negation(terms, compare(terms, HN_OP_EQUAL, a, b));
    if (code == HN_OP_GREATER || code == HN_OP_GREATER_EQUAL)
        return compare(terms, code == HN_OP_GREATER ? HN_OP_LESS : HN_OP_LESS_EQUAL, b, a);
    bool words = a.type == TYPE_WORD && b.type == TYPE_WORD;
    if (words ? code != HN_OP_EQUAL : a.type == TYPE_WORD || b.type == TYPE_WORD)
        return !words && code == HN_OP_EQUAL ? hn_terms_constant(terms, 0) : -1;
    if (a.type != TYPE_REAL && b.type != TYPE_REAL)
        return pair(terms, (int)code, a.value, b.value);
    if (!is_exact_real(terms, a) || !is_exact_real(terms, b))
        return -1;
    return hn_terms_make(terms, HN_OF_REALS + (int)code, to_real(terms, a), to_real(terms, b), -1);
}

/* What a condition that is decided takes. */
static struct term_part take(struct hn_terms *terms, struct term_part taken, int fails)
{
    taken.fails = either(terms, fails, taken.fails);
    return taken;
}

/* `and`, `or` and chains, where the second operand counts only as far as the first one goes on. */
static struct term_part logical(struct hn_terms *terms, enum hn_operator code, bool truth,
                                struct term_part a, struct term_part b)
{
    struct term_part first = truth_of(terms, a);
    bool is_and = code != HN_OP_OR;
    if (hn_terms_is(terms, first.value, 0) || hn_terms_is(terms, first.value, 1))
        return take(terms, hn_terms_is(terms, first.value, is_and) ? b : a, a.fails);
    if (first.value < 0 || !share_type(terms, &a, &b))
        return unsaid;
    int goes_on = is_and ? first.value : negation(terms, first.value);
    struct term_part result = {-1, either(terms, a.fails, both(terms, goes_on, b.fails)), a.type,
                               a.mixed};
    if (truth || code == HN_OP_CHAIN)
        result.value = is_and ? both(terms, a.value, b.value) : either(terms, a.value, b.value);
    else
        result.value = hn_terms_make(terms, HN_OP_SELECT, goes_on, b.value, a.value);
    return result;
}

static struct term_part select_part(struct hn_terms *terms, struct term_part condition,
                                    struct term_part a, struct term_part b)
{
    const struct hn_term *decided = &terms->items[condition.value];
    if (decided->operation == HN_OP_CONSTANT)
        return take(terms, decided->low.integer != 0 ? a : b, condition.fails);
    if (!share_type(terms, &a, &b))
        return unsaid;
    int fails = hn_terms_make(terms, HN_OP_SELECT, condition.value, a.fails, b.fails);
    return (struct term_part){hn_terms_make(terms, HN_OP_SELECT, condition.value, a.value, b.value),
                              either(terms, condition.fails, fails), a.type, a.mixed};
}

/* Whether an operation of integers has the same result as a real: the quotient that is rounded down
 * may have been rounded before, and large sums and products are. */
static bool is_same_mixed(const struct hn_terms *terms, enum hn_operator code, int value)
{
    bool grows = code == HN_OP_ADD || code == HN_OP_SUBTRACT || code == HN_OP_MULTIPLY;
    const struct hn_term *term = &terms->items[value];
    return grows ? term->low.real >= -EXACT_MOST && term->high.real <= EXACT_MOST
                 : code != HN_OP_FLOOR_DIVIDE && code != HN_OP_MODULO;
}

/* b NULL: of one operand. */
static struct term_part arithmetic(struct hn_terms *terms, enum hn_operator code,
                                   struct term_part a, const struct term_part *second)
{
    struct term_part b = second != NULL ? *second : a;
    bool real = a.type == TYPE_REAL || b.type == TYPE_REAL;
    bool extreme = code == HN_OP_MIN || code == HN_OP_MAX;
    if (a.type == TYPE_WORD || b.type == TYPE_WORD ||
        hn_operation_forms[code].bound[real] == NULL || (extreme && !share_type(terms, &a, &b)))
        return unsaid;
    bool may_be_integers =
        (a.mixed || a.type == TYPE_INTEGER) && (b.mixed || b.type == TYPE_INTEGER);
    if (real) {
        a.value = to_real(terms, a);
        b.value = to_real(terms, b);
    }
    int value = pair(terms, (int)code + real * HN_OF_REALS, a.value, second != NULL ? b.value : -1);
    struct term_part result = {value, a.fails,
                               real || code == HN_OP_DIVIDE ? TYPE_REAL : TYPE_INTEGER,
                               real && may_be_integers && code != HN_OP_DIVIDE};
    if ((a.mixed || b.mixed) && (value < 0 || !is_same_mixed(terms, code, value)))
        return unsaid;
    if (second != NULL)
        result.fails = either(terms, a.fails, b.fails);
    if (code == HN_OP_DIVIDE || code == HN_OP_FLOOR_DIVIDE || code == HN_OP_MODULO ||
        code == HN_OP_CEIL_DIV)
        result.fails = either(terms, result.fails, is_zero(terms, real, b.value));
    return result;
}

/* An operation that depends on several slots, or on one of any integer. */
static struct term_part make_part(struct hn_terms *terms, const struct hn_operation *operation,
                                  const struct work *work, bool truth)
{
    const struct term_part *operands[3] = {NULL, NULL, NULL};
    for (int i = 0; i < hn_operation_forms[operation->code].operands; i++) {
        operands[i] = &work[operation->operand[i]].part;
        if (operands[i]->value < 0)
            return unsaid;
    }
    enum hn_operator code = operation->code;
    if (code == HN_OP_NAME)
        return (struct term_part){.value = make_slot(terms, (size_t)operation->slot),
                                  .fails = hn_terms_constant(terms, 0)};
    struct term_part part = *operands[0];
    const struct term_part *b = operands[1];
    if (code == HN_OP_AND || code == HN_OP_OR || code == HN_OP_CHAIN)
        return logical(terms, code, truth, part, *b);
    if (code == HN_OP_SELECT)
        return select_part(terms, part, *b, *operands[2]);
    if (code == HN_OP_POSITIVE)
        return part.type == TYPE_WORD ? unsaid : part;
    if (code == HN_OP_ANY || code == HN_OP_ALL)
        part.value = pair(terms, code == HN_OP_ANY ? HN_OP_OR : HN_OP_AND, part.value, b->value);
    else if (code == HN_OP_NEVER || code == HN_OP_ALWAYS)
        part.value = hn_terms_constant(terms, code == HN_OP_ALWAYS);
    else if (code == HN_OP_NOT)
        part.value = negation(terms, part.value);
    else if (code >= HN_OP_LESS && code <= HN_OP_NOT_EQUAL)
        part.value = compare(terms, code, part, *b);
    else
        return arithmetic(terms, code, part, b);
    return (struct term_part){
        .value = part.value, .fails = b != NULL ? either(terms, part.fails, b->fails) : part.fails};
}

/* The slot that an operation depends on: those with one value do not count. */
static int find_slot(const struct hn_terms *terms, const struct hn_operation *operation,
                     const struct work *work)
{
    int slot = NO_SLOT;
    if (operation->slot >= 0 && terms->domains[operation->slot].count != 1)
        slot = terms->domains[operation->slot].count == 0 ? SEVERAL_SLOTS : operation->slot;
    for (int i = 0; i < hn_operation_forms[operation->code].operands; i++) {
        int other = work[operation->operand[i]].slot;
        slot = slot == NO_SLOT || slot == other ? other : other == NO_SLOT ? slot : SEVERAL_SLOTS;
    }
    return slot;
}

static struct term_part add(struct hn_terms *terms, const struct hn_expression *expression,
                            bool truth)
{
    int count = expression->count;
    struct work *work HN_FREED = calloc((size_t)count, sizeof *work);
    if (work == NULL) {
        terms->out_of_memory = true;
        return unsaid;
    }
    for (size_t i = 0; i < terms->slot_count; i++)
        terms->values[i] = terms->domains[i].values[0];
    for (int i = 0; i < count; i++)
        work[i] = (struct work){UNUSED, find_slot(terms, &expression->list[i], work), unsaid};
    work[count - 1].need = truth ? TRUTH : VALUE;
    for (int i = count; i-- > 0;) {
        const struct hn_operation *operation = &expression->list[i];
        bool needs = work[i].need != UNUSED && work[i].slot == SEVERAL_SLOTS;
        for (int j = 0; needs && j < hn_operation_forms[operation->code].operands; j++)
            work[operation->operand[j]].need =
                hn_wants_truth(operation->code, j, work[i].need == TRUTH) ? TRUTH : VALUE;
    }
    for (int i = 0; i < count; i++) {
        bool wants_truth = work[i].need == TRUTH;
        if (work[i].need == UNUSED)
            continue;
        work[i].part = work[i].slot != SEVERAL_SLOTS
                           ? tabulate_operation(terms, expression, i, &work[i])
                           : make_part(terms, &expression->list[i], work, wants_truth);
        if (wants_truth && work[i].slot == SEVERAL_SLOTS)
            work[i].part = truth_of(terms, work[i].part);
    }
    return work[count - 1].part;
}

struct hn_said hn_terms_add(struct hn_terms *terms, const struct hn_expression *expression,
                            bool is_condition)
{
    struct term_part part = add(terms, expression, is_condition);
    bool known = part.value >= 0 && part.fails >= 0 && (is_condition || part.type == TYPE_INTEGER);
    if (known && is_condition)
        part.value = both(terms, part.value, negation(terms, part.fails));
    return known && part.value >= 0 ? (struct hn_said){part.value, part.fails}
                                    : (struct hn_said){-1, -1};
}

/* For all terms that there are. */
static bool make_cells(struct hn_program *program)
{
    size_t bytes = (program->terms.count + 1) * sizeof *program->cells;
    union hn_cell *cells = realloc(program->cells, bytes);
    if (cells == NULL)
        return false;
    program->cells = cells;
    hn_terms_set_constants(&program->terms, cells);
    return true;
}

void hn_program_init(struct hn_program *program, const struct hn_domain *domains, size_t slot_count)
{
    *program = (struct hn_program){.valid = 0};
    program->slots = malloc((slot_count + 1) * sizeof *program->slots);
    program->positions = calloc(slot_count + 1, sizeof *program->positions);
    program->failed = program->slots == NULL || program->positions == NULL ||
                      !hn_terms_init(&program->terms, domains, slot_count);
    if (program->failed)
        return;
    for (size_t i = 0; i < slot_count; i++) {
        int term = domains[i].count == 0 ? make_slot(&program->terms, i) : -1;
        bool is_known = term < 0 || program->terms.items[term].operation == HN_OP_CONSTANT;
        program->slots[i] = is_known ? -1 : term;
    }
    program->valid = hn_terms_constant(&program->terms, 1);
    program->failed = !make_cells(program);
}

void hn_program_finish(struct hn_program *program)
{
    hn_terms_finish(&program->terms);
    free(program->cells);
    free(program->slots);
    free(program->positions);
    *program = (struct hn_program){.failed = true};
}

void hn_program_demand(struct hn_program *program, int term)
{
    program->failed = program->failed || term < 0;
    if (!program->failed)
        program->valid = pair(&program->terms, HN_OP_AND, program->valid, term);
}

int hn_program_number(struct hn_program *program, const struct hn_expression *expression, bool or_0)
{
    if (program->failed)
        return -1;
    struct hn_said number = hn_terms_add(&program->terms, expression, false);
    if (or_0)
        return hn_terms_make(&program->terms, HN_OP_SELECT, number.fails,
                             hn_terms_constant(&program->terms, 0), number.value);
    program->failed = number.value < 0;
    if (!program->failed)
        hn_program_demand(program, negation(&program->terms, number.fails));
    return number.value;
}

int hn_program_real(struct hn_program *program, const struct hn_expression *expression)
{
    if (program->failed)
        return -1;
    struct hn_terms *terms = &program->terms;
    struct term_part part = add(terms, expression, false);
    int zero = make_constant(terms, true, (union hn_cell){.real = 0});
    return hn_terms_make(terms, HN_OP_SELECT, part.fails, zero, to_real(terms, part));
}

int hn_program_want(struct hn_program *program, int term)
{
    program->failed = program->failed || term < 0;
    if (!program->failed)
        program->terms.items[term].wanted = true;
    return term;
}

/* Marks what the wanted terms are computed of. Operands stand in front of what they are used in. */
static size_t spread(struct hn_terms *terms)
{
    size_t count = 0;
    for (size_t i = terms->count; i-- > 0;) {
        const struct hn_term *term = &terms->items[i];
        for (size_t operand = 0; term->wanted && operand < 3; operand++)
            if (term->operand[operand] >= 0)
                terms->items[term->operand[operand]].wanted = true;
        count += term->wanted;
    }
    return count;
}

bool hn_program_compile(struct hn_program *program, struct hn_program_part *part)
{
    struct hn_terms *terms = &program->terms;
    hn_program_want(program, program->valid);
    *part = (struct hn_program_part){.count = 0};
    part->instructions =
        hn_blocks_take(&terms->blocks, (spread(terms) + 1) * sizeof *part->instructions);
    program->failed = program->failed || terms->out_of_memory || part->instructions == NULL ||
                      !make_cells(program);
    for (size_t i = 0; i < terms->count; i++) {
        struct hn_term *term = &terms->items[i];
        if (!program->failed && term->wanted && term->operation != HN_OP_CONSTANT &&
            term->operation != HN_OP_NAME)
            part->instructions[part->count++] = hn_terms_instruction(terms, (int)i);
        term->wanted = false;
    }
    return !program->failed;
}
