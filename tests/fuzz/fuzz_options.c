/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "runtime/compile/source.h"
#include "runtime/plan/option_list.h"

/* Compile options that somebody else wrote, one a line: of those that are allowed none is known to
 * write or read a file, however it is written. What is known stands here, apart from the list that
 * allows. */

/* Of NVRTC and of ptxas 13.0, without dashes, and without what may stand behind. */
static const char files[] =
    " time fdevice-time-trace device-time-trace pch create-pch use-pch pch-dir "
    "pch-verbose pch-messages include pre-include options-file optf output-file o "
    "input-as-string ias compiler-stats compiler-stats-file keep keep-dir dryrun "
    "key-file gen-opt-lto dlto dlink-time-opt relocatable-device-code rdc device-c dc "
    "optix-ir link version-ident tool-name ";

/* Whether the word that begins there is the name of one: behind dashes, or of '@'. */
static bool names_file(const char *word)
{
    if (*word == '@')
        return true;
    const char *name = word + strspn(word, "-");
    char listed[80];
    snprintf(listed, sizeof listed, " %.*s ", (int)strcspn(name, "=, \t"), name);
    return name != word && strstr(files, listed) != NULL;
}

/* Macros and folders are one argument, whatever stands in them. */
static bool is_text(const char *option)
{
    static const char *const names[] = {
        "D", "U", "I", "define-macro=", "undefine-macro=", "include-path="};
    const char *name = option + strspn(option, "-");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static void look_at_allowed(const char *option)
{
    for (const char *c = option; *c != '\0'; c++)
        fuzz_require((unsigned char)*c >= ' ' && *c != 0x7f, "an option is one line");
    fuzz_require(option[0] == '-' && option[1] != '\0', "an option begins with a dash");
    if (is_text(option))
        return;
    fuzz_require(strpbrk(option, "/\\@\"'`$;&|<> \t") == NULL, "no path, no second argument");
    for (const char *word = option; *word != '\0';
         word += strcspn(word, "=,:"), word += *word != '\0')
        fuzz_require(!names_file(word), "no option that is allowed has to do with a file");
}

/* A plan of one option, whose holes may hold a number and a word. */
static struct hn_plan *make_plan(const char *option, struct hn_error *err)
{
    static const char rest[] =
        "{\"arguments\": [], \"compare\": {\"mode\": \"max_norm\", \"relative\": \"1e-5\"},"
        " \"defaults\": {\"N\": 1, \"W\": \"cg\"}, \"format\": 3, \"freeze\": [], \"kernel\": "
        "\"k\","
        " \"maximize\": false, \"metrics\": [], \"objective\": \"time\", \"parameters\": [\"N\", "
        "\"W\"],"
        " \"problem\": [], \"reference\": {\"kind\": \"none\"}, \"steps\": [{\"arguments\": [],"
        " \"block\": [\"32\"], \"entry\": \"k\", \"grid\": [\"1\"]}], \"template\": \"k.cu\","
        " \"words\": [{\"name\": \"W\", \"words\": [\"cg\", \"pch\"]}]}";
    struct hn_plan *plan = NULL;
    json_auto_t *json = json_loads(rest, 0, NULL);
    json_t *text = json_string(option);
    fuzz_require(json != NULL, "the rest of the plan is JSON");
    /* JSON has no text that is no UTF-8. */
    if (text != NULL) {
        (void)json_object_set_new(json, "options", json_pack("[{so}]", "option", text));
        enum hn_status status = hn_plan_from_json(json, &plan, err);
        fuzz_require(status == HN_OK || err->message[0] != '\0', "a failure has a message");
        fuzz_require(status == HN_OK || strstr(err->message, "option") != NULL ||
                         strpbrk(option, "{}") != NULL,
                     err->message);
    }
    return plan;
}

/* As it is, and as a plan gives it to the compiler. */
static void check(const char *option)
{
    struct hn_text_file file = {"k.cu", ""};
    struct hn_template template = {.files = &file, .file_count = 1};
    struct hn_bindings problem = {0};
    struct hn_source source;
    struct hn_error err = {0};
    if (fuzz_fine(hn_option_check(option, &err), &err))
        look_at_allowed(option);
    struct hn_plan *plan = make_plan(option, &err);
    if (plan != NULL &&
        hn_source_make(plan, &template, &problem, &plan->defaults, &source, &err) == HN_OK) {
        for (size_t i = 0; i < source.option_count; i++)
            look_at_allowed(source.options[i]);
        hn_source_finish(&source);
    }
    hn_plan_destroy(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text FREED = strndup((const char *)data, size);
    fuzz_require(text != NULL, "there is memory");
    char *rest = text;
    for (const char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n"))
        check(line);
    return 0;
}
