/* SPDX-License-Identifier: MIT */
#include "tuner/commands/sharing.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/interrupt.h"
#include "cache/record/bindings_json.h"
#include "tuner/commands/cache_command.h"
#include "tuner/commands/open_cache.h"

/* Between questions whether another is ready. */
enum { ASK_MS = 500, STEP_MS = 50 };

static void say(const struct hn_sharing *sharing, const struct hn_task *task)
{
    char *problem = hn_cache_problem_text(&task->identity.problem);
    hn_progress_board_hold(sharing->board);
    if (!sharing->quiet)
        fprintf(stderr, "%s (%s) is being tuned on %s, for %.0f s so far: %s\n",
                task->identity.kernel, problem == NULL ? "" : problem, sharing->holder.machine,
                sharing->holder.for_s, sharing->waits ? "waiting" : "the next problem first");
    hn_progress_board_release(sharing->board);
    free(problem);
}

static enum hn_status wait_a_while(struct hn_error *err)
{
    enum hn_status status = HN_OK;
    for (int ms = 0; status == HN_OK && ms < ASK_MS; ms += STEP_MS) {
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
        status = hn_interrupt_check(err);
    }
    return status;
}

static enum hn_status claim(struct hn_sharing *sharing, const struct hn_task *task,
                            enum hn_claim_state *state, struct hn_error *err)
{
    const struct hn_server_wish wish = {&task->identity, &task->version, !sharing->takes};
    return hn_server_claim(sharing->server, &wish, &sharing->claim, state, &sharing->holder, err);
}

enum hn_status hn_sharing_claim(struct hn_sharing *sharing, const struct hn_task *task,
                                enum hn_sharing_turn *turn, struct hn_error *err)
{
    enum hn_claim_state state;
    bool waited = false;
    *turn = HN_TURN_NOW;
    if (sharing->server == NULL)
        return HN_OK;
    enum hn_status status = claim(sharing, task, &state, err);
    if (status == HN_OK && state == HN_CLAIM_TAKEN)
        say(sharing, task);
    while (status == HN_OK && state == HN_CLAIM_TAKEN && sharing->waits) {
        waited = true;
        status = wait_a_while(err);
        if (status == HN_OK)
            status = claim(sharing, task, &state, err);
    }
    if (status != HN_OK)
        return status;
    *turn = state == HN_CLAIM_TAKEN  ? HN_TURN_LATER
            : state == HN_CLAIM_DONE ? HN_TURN_OVER
            : waited                 ? HN_TURN_AGAIN
                                     : HN_TURN_NOW;
    if (*turn == HN_TURN_LATER)
        return HN_OK;
    return hn_cache_refresh(sharing->server, sharing->store, task->identity.kernel, err);
}

void hn_sharing_end(struct hn_sharing *sharing, const struct hn_task *task, bool finished)
{
    if (sharing->claim == NULL)
        return;
    bool held = hn_server_release(sharing->server, sharing->claim, finished);
    sharing->claim = NULL;
    if (held)
        return;
    char *problem = hn_cache_problem_text(&task->identity.problem);
    hn_progress_board_hold(sharing->board);
    fprintf(stderr,
            "hone: warning: the claim to tune %s (%s) was lost, with the connection to the cache's "
            "server or because this tuner stood still: another has begun it, too; what both found "
            "counts\n",
            task->identity.kernel, problem == NULL ? "" : problem);
    hn_progress_board_release(sharing->board);
    free(problem);
}

static const struct hn_tuned *find_tuned(const struct hn_tuned_list *list,
                                         const struct hn_task *task)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct hn_tuned *tuned = &list->items[i];
        if (!tuned->simulated && hn_identity_equal(&tuned->identity, &task->identity) &&
            hn_version_equal(&tuned->version, &task->version))
            return tuned;
    }
    return NULL;
}

static enum hn_status list_results(const struct hn_sharing *sharing, const struct hn_task *task,
                                   struct hn_tuned_list *list, const struct hn_tuned **tuned,
                                   struct hn_error *err)
{
    enum hn_status status = hn_store_list_problem(sharing->store, task->identity.kernel,
                                                  &task->identity.problem, list, err);
    *tuned = status == HN_OK ? find_tuned(list, task) : NULL;
    return status;
}

enum hn_status hn_sharing_print(const struct hn_sharing *sharing, const struct hn_task *task,
                                bool *found, struct hn_error *err)
{
    struct hn_text text;
    struct hn_tuned_list list;
    const struct hn_tuned *tuned;
    enum hn_status status = list_results(sharing, task, &list, &tuned, err);
    if (status != HN_OK)
        return status;
    *found = tuned != NULL;
    char *problem = hn_cache_problem_text(&task->identity.problem);
    hn_text_init(&text);
    hn_text_printf(&text, "%s (%s) on %s was tuned on %s meanwhile, ", task->identity.kernel,
                   problem == NULL ? "" : problem, task->identity.device.name,
                   sharing->holder.machine);
    if (tuned != NULL) {
        hn_text_printf(&text, "best %.4g us: ", tuned->best.timing.median_us);
        hn_bindings_append(&text, &tuned->best.point);
    } else {
        hn_text_append(&text, "without a valid variant");
    }
    status = text.failed || problem == NULL ? hn_fail_memory(err) : HN_OK;
    if (status == HN_OK)
        puts(text.data);
    hn_text_finish(&text);
    free(problem);
    hn_tuned_list_free(&list);
    return status;
}

enum hn_status hn_sharing_to_json(const struct hn_sharing *sharing, const struct hn_task *task,
                                  json_t **json, bool *found, struct hn_error *err)
{
    struct hn_tuned_list list;
    const struct hn_tuned *tuned;
    enum hn_status status = list_results(sharing, task, &list, &tuned, err);
    if (status != HN_OK)
        return status;
    *found = tuned != NULL;
    *json = json_pack("{s:s, s:o, s:s, s:s, s:o}", "kernel", task->identity.kernel, "problem",
                      hn_bindings_to_json(&task->identity.problem), "device",
                      task->identity.device.name, "tuned_by", sharing->holder.machine, "tuned",
                      tuned != NULL ? hn_cache_tuned_to_json(tuned) : json_null());
    hn_tuned_list_free(&list);
    return *json != NULL ? HN_OK : hn_fail_memory(err);
}
