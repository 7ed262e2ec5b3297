/* SPDX-License-Identifier: MIT */
#include "base/expression/expression_program.h"

#include <stdlib.h>
#include <string.h>

void hn_program_init(struct hn_program *program, const struct hn_domain *domains, size_t slot_count)
{
    *program = (struct hn_program){.failed = false};
    program->slots = malloc((slot_count + 1) * sizeof *program->slots);
    program->positions = calloc(slot_count + 1, sizeof *program->positions);
    program->failed = program->slots == NULL || program->positions == NULL ||
                      hn_terms_init(&program->terms, domains, slot_count, NULL) != HN_OK;
    if (program->failed)
        return;
    memset(program->slots, -1, slot_count * sizeof *program->slots);
    program->valid = hn_terms_constant(&program->terms, 1);
}

void hn_program_finish(struct hn_program *program)
{
    hn_terms_finish(&program->terms);
    free(program->instructions);
    free(program->cells);
    free(program->slots);
    free(program->positions);
    *program = (struct hn_program){.failed = true};
}

void hn_program_demand(struct hn_program *program, int term)
{
    program->failed = program->failed || term < 0;
    if (!program->failed)
        program->valid = hn_terms_make(&program->terms, HN_TERM_AND, program->valid, term, -1);
}

void hn_program_demand_between(struct hn_program *program, int term, int64_t low, int64_t high)
{
    if (program->failed || term < 0)
        return;
    int least = hn_terms_constant(&program->terms, low);
    int most = hn_terms_constant(&program->terms, high);
    hn_program_demand(program, hn_terms_make(&program->terms, HN_TERM_LESS_EQUAL, least, term, -1));
    hn_program_demand(program, hn_terms_make(&program->terms, HN_TERM_LESS_EQUAL, term, most, -1));
}

int hn_program_number(struct hn_program *program, const struct hn_expression *expression)
{
    if (program->failed)
        return -1;
    struct hn_number number = hn_terms_add_number(&program->terms, expression);
    program->failed = number.value < 0;
    if (!program->failed)
        hn_program_demand(program,
                          hn_terms_make(&program->terms, HN_TERM_NOT, number.fails, -1, -1));
    return number.value;
}

int hn_program_number_or_0(struct hn_program *program, const struct hn_expression *expression)
{
    if (program->failed)
        return -1;
    struct hn_number number = hn_terms_add_number(&program->terms, expression);
    return hn_terms_make(&program->terms, HN_TERM_SELECT, number.fails,
                         hn_terms_constant(&program->terms, 0), number.value);
}

/* Marks what the wanted terms are computed of. Operands stand in front of what they are used in. */
static size_t spread(const struct hn_terms *terms, bool *wanted)
{
    size_t count = 0;
    for (size_t i = terms->count; i-- > 0;) {
        const struct hn_term *term = &terms->items[i];
        for (size_t operand = 0; wanted[i] && operand < 3; operand++)
            if (term->operand[operand] >= 0)
                wanted[term->operand[operand]] = true;
        count += wanted[i];
    }
    return count;
}

static void write(struct hn_program *program, const bool *wanted)
{
    for (size_t i = 0; i < program->terms.count; i++) {
        const struct hn_term *term = &program->terms.items[i];
        if (term->operation == HN_TERM_SLOT)
            program->slots[term->slot] = (int)i;
        else if (wanted[i] && term->operation != HN_TERM_CONSTANT)
            program->instructions[program->count++] = hn_terms_instruction(&program->terms, (int)i);
    }
    hn_terms_set_constants(&program->terms, program->cells);
}

bool hn_program_compile(struct hn_program *program, const int *results, size_t count)
{
    size_t terms = program->terms.count;
    bool *wanted = calloc(terms + 1, sizeof *wanted);
    program->failed =
        program->failed || wanted == NULL || program->valid < 0 || program->terms.out_of_memory;
    for (size_t i = 0; i < count && !program->failed; i++) {
        program->failed = results[i] < 0;
        if (!program->failed)
            wanted[results[i]] = true;
    }
    if (!program->failed) {
        wanted[program->valid] = true;
        program->instructions =
            calloc(spread(&program->terms, wanted) + 1, sizeof *program->instructions);
        program->cells = calloc(terms + 1, sizeof *program->cells);
        program->failed = program->instructions == NULL || program->cells == NULL;
    }
    if (!program->failed)
        write(program, wanted);
    free(wanted);
    return !program->failed;
}

bool hn_program_run(struct hn_program *program)
{
    hn_instructions_run(program->instructions, program->count, program->positions, program->cells);
    return program->cells[program->valid].integer != 0;
}
