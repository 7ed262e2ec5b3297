/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "tuner/space/space_problem.h"

static size_t count_words(const struct hn_space *space)
{
    size_t count = space->constant_count + space->word_count;
    for (size_t i = 0; i < space->parameter_count; i++)
        count += space->parameters[i].count;
    return count;
}

/* The words that names in constraints can stand for; returns how many. */
static size_t list_words(const struct hn_space *space, const char **words)
{
    size_t count = 0;
    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct hn_space_parameter *parameter = &space->parameters[i];
        for (size_t j = 0; j < parameter->count; j++) {
            if (parameter->values[j].type == HN_WORD)
                words[count++] = parameter->values[j].word;
        }
    }
    for (size_t i = 0; i < space->constant_count; i++) {
        if (space->constants[i].value.type == HN_WORD)
            words[count++] = space->constants[i].value.word;
    }
    for (size_t i = 0; i < space->word_count; i++)
        words[count++] = space->words[i];
    return count;
}

static enum hn_status bind_all(struct hn_space *space, const struct hn_scope *scope,
                               struct hn_error *err)
{
    for (size_t i = 0; i < space->constraint_count; i++) {
        const struct hn_space_constraint *constraint = &space->constraints[i];
        struct hn_error reason;
        enum hn_status status = hn_expression_bind(constraint->expression, scope, &reason);
        if (status != HN_OK)
            return hn_fail(err, status, "%s%sconstraint '%s': %s",
                           constraint->where == NULL ? "" : constraint->where,
                           constraint->where == NULL ? "" : ": ",
                           hn_expression_text(constraint->expression), reason.message);
    }
    return HN_OK;
}

static enum hn_status bind_constraints(struct hn_space *space, struct hn_error *err)
{
    size_t name_count = space->parameter_count + space->constant_count;
    const char **names = calloc(name_count + 1, sizeof *names);
    const char **words = calloc(count_words(space) + 1, sizeof *words);
    enum hn_status status = HN_ENOMEM;
    if (names == NULL || words == NULL) {
        hn_fail_memory(err);
    } else {
        for (size_t i = 0; i < space->parameter_count; i++)
            names[i] = space->parameters[i].name;
        for (size_t i = 0; i < space->constant_count; i++)
            names[space->parameter_count + i] = space->constants[i].name;
        const struct hn_scope scope = {names, name_count, words, list_words(space, words)};
        status = bind_all(space, &scope, err);
    }
    free(words);
    free(names);
    return status;
}

enum hn_status hn_space_demands_init(struct hn_space_demands *demands, struct hn_space *space,
                                     struct hn_error *err)
{
    *demands = (struct hn_space_demands){
        .space = space, .slot_count = space->parameter_count + space->constant_count};
    demands->slot_words = demands->slot_count / 64 + 1;
    enum hn_status status = bind_constraints(space, err);
    for (size_t i = 0; i < space->constraint_count && status == HN_OK; i++)
        status = hn_conjuncts_add(&demands->conjuncts, space->constraints[i].expression, i, err);
    if (status == HN_OK) {
        demands->slots =
            calloc((demands->conjuncts.count + 1) * demands->slot_words, sizeof *demands->slots);
        if (demands->slots == NULL)
            status = hn_fail_memory(err);
    }
    if (status != HN_OK) {
        hn_space_demands_finish(demands);
        return status;
    }
    for (size_t i = 0; i < demands->conjuncts.count; i++)
        hn_conjunct_mark_slots(&demands->conjuncts.items[i],
                               demands->slots + i * demands->slot_words);
    return HN_OK;
}

void hn_space_demands_finish(struct hn_space_demands *demands)
{
    hn_conjuncts_finish(&demands->conjuncts);
    free(demands->slots);
    *demands = (struct hn_space_demands){0};
}
