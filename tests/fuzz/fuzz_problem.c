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
    char *kernel FREED = NULL, *text FREED = NULL;
    struct hn_error err = {0};
    json_auto_t *root = NULL;
    if (!fuzz_fine(
            hn_import_load(fuzz_write_file("problem.json", data, size), &root, &kernel, &err),
            &err))
        return 0;
    text = hn_import_write(root, kernel, "problem.json", "../problems/");
    check_config(text);
    return 0;
}
