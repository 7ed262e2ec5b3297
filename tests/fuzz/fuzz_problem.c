/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tuner/config/config.h"
#include "tuner/config/yaml.h"
#include "tuner/init/draft.h"

/* A tuning problem in JSON, as `hone init` reads it. Whatever it says, what is written has the keys
 * of a config and no others: nothing of the file stands where a key could. */

static void check_keys(const struct hn_yaml *root)
{
    static const char keys[] = " hone kernel template entry problem parameters defaults "
                               "constraints arguments symbols launch "
                               "compile metrics ";
    for (const struct hn_yaml *child = root->child; child != NULL; child = child->next) {
        const char *found = strstr(keys, child->key->text);
        size_t length = strlen(child->key->text);
        fuzz_require(found != NULL && found[-1] == ' ' && found[length] == ' ',
                     "a key of a config");
    }
}

static void check_config(const char *text)
{
    struct hn_yaml *yaml = NULL;
    struct hn_blocks blocks ENDED_BY(hn_blocks_finish) = {0};
    struct hn_config *config = NULL;
    struct hn_error err = {0};
    const char *path = fuzz_write_file("config.yaml", (const uint8_t *)text, strlen(text));
    if (fuzz_fine(hn_yaml_load(path, &blocks, &yaml, &err), &err))
        check_keys(yaml);
    if (fuzz_fine(hn_config_load(path, NULL, &config, &err), &err))
        hn_config_destroy(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hn_error err = {0};
    struct hn_unit unit = {.path = NULL};
    struct hn_draft draft HN_ENDED_BY(hn_draft_finish) = {
        .unit = &unit, .prefix = "../problems/", .document = hn_needed(json_object())};
    draft.origin = fuzz_write_file("problem.json", data, size);
    if (!fuzz_fine(hn_import_load(&draft, &err), &err))
        return 0;
    draft.origin = "problem.json";
    hn_import_make(&draft);
    check_config(hn_draft_write(&draft, hn_init_draft));
    return 0;
}
