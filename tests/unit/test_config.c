/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <math.h>

#include "base/file.h"
#include "bindings_fixture.h"
#include "config_fixture.h"
#include "tuner/config/config_files.h"

static int set_up(void **state)
{
    return chdir(HONE_TEST_DATA "/config");
}

ALL_TESTS(set_up, NULL)

static struct hn_space *build(const struct hn_config *config, size_t problem)
{
    struct hn_space *space = NULL;
    assert_ok(hn_config_space(config, problem, false, &space, NULL));
    return keep(space, hn_space_destroy);
}

static void assert_bindings(const struct hn_bindings *bindings, const char *expected)
{
    struct hn_text text ENDED_BY(hn_text_finish) = {0};
    hn_bindings_append(&text, bindings);
    assert_string_equal(text.data == NULL ? "" : text.data, expected);
}

static void assert_text(const struct hn_expression *expression, const char *expected)
{
    assert_string_equal(hn_expression_text(expression), expected);
}

/* The plan as it is kept, read again. */
static struct hn_plan *read_again(const struct hn_plan *plan)
{
    struct hn_plan *again = NULL;
    json_auto_t *json = hn_plan_to_json(plan);
    assert_ok(hn_plan_from_json(json, &again, &said));
    return keep(again, hn_plan_destroy);
}

static void assert_ends(const char *path, const char *end)
{
    assert_int_equal(path[0], '/');
    assert_true(strlen(path) > strlen(end));
    assert_string_equal(path + strlen(path) - strlen(end), end);
}

TEST(values_are_read)
{
    struct hn_config *config = load("good/full.yaml");
    static const char *const expected[] = {"simple tiled ", "8 16 32 ",    "0 2 4 ",
                                           "0.5 1 2e+03 ",  "false true ", "plain ldg "};
    assert_int_equal(config->parameter_count, 6);
    for (size_t i = 0; i < 6; i++) {
        struct hn_text text ENDED_BY(hn_text_finish) = {0};
        for (size_t v = 0; v < config->parameters[i].count; v++) {
            hn_value_append(&text, &config->parameters[i].values[v]);
            hn_text_append(&text, " ");
        }
        assert_string_equal(text.data, expected[i]);
    }
    assert_int_equal(config->constraint_count, 3);
    assert_string_equal(config->constraints[1].where, "good/full.yaml:18:5");
}

/* The plan as JSON, but for the path of its config. */
static char *plan_text(const struct hn_plan *plan)
{
    json_auto_t *json = hn_plan_to_json(plan);
    json_object_del(json, "config");
    char *text = json_dumps(json, JSON_SORT_KEYS);
    return keep(text, free);
}

TEST(what_let_names_means_what_is_written_out)
{
    struct hn_config *with = load("good/let.yaml");
    struct hn_config *without = load("good/let_written_out.yaml");
    char *text = plan_text(with->plan);
    char *expected = plan_text(without->plan);
    assert_string_equal(text, expected);
    assert_non_null(strstr(text, "-DWARPS={(ceil_div((X * Y), 32)) * 2}"));
    assert_string_equal(with->constraints[0].text, "threads <= 32");
}

TEST(problems_multiply_out)
{
    struct hn_config *config = load("good/full.yaml");
    assert_int_equal(config->problem_count, 4);
    assert_bindings(&config->problems[0], "M=64,N=64,PATTERN=plain,SCALE=0.5");
    assert_bindings(&config->problems[1], "M=64,N=64,PATTERN=offset,SCALE=0.5");
    assert_bindings(&config->problems[3], "M=64,N=128,PATTERN=offset,SCALE=0.5");
}

TEST(a_plan_holds_all_but_the_space)
{
    struct hn_config *config = load("good/full.yaml");
    const struct hn_plan *plan = config->plan;
    char *signature FREED = hn_plan_signature(plan);
    assert_string_equal(
        signature,
        "A:float32:input,B:int16x4:input,D:uint8:input,E:uint16:input,F:float64:input,order:int32:"
        "input,by_value:int16x4:value,image:float32:input,line:float32:texture,plane:float32:"
        "texture,bytes:uint8:scratch,C:float32:output,"
        "partial:float64:scratch,turns:uint32:counter,"
        "clocks:uint64:metric,kept:float32:output,halves:bfloat16:output,size:uint32:output,M:"
        "int32:value,scale:float32:value,"
        "coefficients:float32:symbol,table:int16:symbol,"
        "factor:float32:symbol,done:uint32:symbol");
    assert_string_equal(plan->kernel, "product");
    assert_ends(plan->template_path, "/config/good/product.cu");
    assert_string_equal(plan->names[0], "FACTOR");
    assert_string_equal(plan->names[9], "VARIANT");
    assert_string_equal(plan->freeze[0], "M");

    assert_int_equal(plan->arguments[1].fill.kind, HN_FILL_IOTA);
    assert_int_equal(plan->arguments[2].fill.kind, HN_FILL_UNIFORM);
    assert_int_equal((int)plan->arguments[2].fill.numbers[1], 100);

    assert_int_equal(plan->arguments[13].zero, HN_ZERO_INSIDE);
    assert_int_equal(plan->step_count, 2);
    assert_text(plan->steps[0].condition, "VARIANT == tiled");
    assert_string_equal(plan->steps[0].entry, "prepare");
    assert_int_equal(plan->steps[0].argument_count, 2);
    assert_int_equal(plan->steps[0].arguments[1], 13);
    assert_null(plan->steps[0].geometry.shared_bytes);
    assert_string_equal(plan->steps[1].entry, "product<TILE, PAD>");
    assert_int_equal(plan->steps[1].argument_count, 20);
    assert_null(plan->steps[1].geometry.grid[2]);
    assert_text(plan->steps[1].geometry.block[2], "1");

    assert_null(plan->options[0].condition);
    assert_int_equal(plan->options[1].hole_count, 1);
    assert_text(plan->options[1].holes[0], "32 * PAD");

    assert_int_equal(plan->reference.kind, HN_REFERENCE_TEMPLATE);
    assert_ends(plan->reference.template_path, "/config/good/reference/product.cu");
    assert_string_equal(plan->reference.depends[0], "LOAD");
    assert_int_equal(plan->metric_count, 3);
    assert_string_equal(plan->objective, "gflops");
    assert_true(plan->maximize);
    assert_int_equal(config->look_ahead, 128);
    assert_text(config->prior, "1.0 * M * N / (TILE * 132) * (1 if VARIANT == tiled else 2)");
    assert_bindings(&config->prior_limits, "sm_count=132");
    assert_null(hn_bindings_get(&config->problems[0], "sm_count"));
    assert_bindings(&plan->defaults, "FACTOR=1,FUSE=false,LOAD=plain,PAD=0,TILE=16,VARIANT=tiled");
}

TEST(a_result_may_be_compared_in_its_own_way)
{
    struct hn_config *config = load("good/full.yaml");
    const struct hn_argument *arguments = config->plan->arguments;
    assert_text(arguments[11].compare->relative, "1.0e-3");
    assert_int_equal(arguments[15].compare->mode, HN_COMPARE_MULTISET);
    assert_string_equal(arguments[15].length, "size");
    assert_int_equal(arguments[17].compare->mode, HN_COMPARE_EXACT);
    assert_null(arguments[17].length);
    /* Where there are no bounds for all, halves have their own. */
    assert_null(arguments[16].compare);
    drop(config);
    config = load("good/halves.yaml");
    arguments = config->plan->arguments;
    assert_null(arguments[0].compare);
    assert_text(arguments[1].compare->relative, "2.0e-3");
    assert_text(arguments[2].compare->relative, "1.6e-2");
    /* What else is said for all counts for them, too. */
    assert_true(config->plan->compare.partial && arguments[2].compare->partial);
    assert_true(fabs(arguments[2].compare->mismatch_share - 0.005) < 1e-12);
    const struct hn_compare *strict = arguments[1].compare;
    assert_true(!strict->partial && strict->mismatches == NULL && !(strict->mismatch_share > 0));
    assert_text(config->plan->compare.relative, "1.0e-5");
}

TEST(a_name_may_hold_that_of_the_clusters)
{
    struct hn_config *config = load("good/clusters_in_name.yaml");
    assert_true(hn_plan_asks_clusters(config->plan, &config->plan->steps[0]));
}

TEST(contents_are_described)
{
    struct hn_config *config = load("good/full.yaml");
    const struct hn_argument *arguments = config->plan->arguments;
    const struct hn_fill *skewed = &arguments[3].fill;
    assert_int_equal(skewed->kind, HN_FILL_SKEWED);
    assert_text(skewed->expressions[0], "max(M, N) - 1");
    assert_text(skewed->expressions[1], "SCALE / 2");
    assert_int_equal(arguments[4].fill.kind, HN_FILL_FILE);
    assert_ends(arguments[4].fill.file, "/config/good/data/f.npy");
    assert_int_equal(arguments[5].fill.kind, HN_FILL_PERMUTATION);
    assert_int_equal(arguments[6].role, HN_ROLE_VALUE);
    assert_string_equal(arguments[6].from, "B");
    assert_true(arguments[7].shape.device);
    assert_text(arguments[7].count, "(N) * (M)");
    assert_int_equal(arguments[8].texture.dimensions, 1);
    assert_int_equal(arguments[9].texture.dimensions, 2);
    assert_int_equal(arguments[9].texture.address[1], HN_TEXTURE_WRAP);
    assert_true(arguments[9].texture.linear && arguments[9].texture.normalized);
    assert_text(arguments[10].shape.pitch, "2 * N");
}

TEST(a_reference_may_be_files)
{
    struct hn_config *config = load("good/files.yaml");
    const struct hn_reference *reference = &config->plan->reference;
    assert_int_equal(reference->kind, HN_REFERENCE_FILES);
    assert_false(hn_reference_is_kernel(reference));
    assert_int_equal(reference->file_count, 2);
    assert_int_equal(reference->files[0].argument, 2);
    assert_int_equal(reference->files[1].argument, 1);
    assert_ends(reference->files[1].file, "/config/good/data/c-{N}.npy");
    assert_ends(config->plan->arguments[0].fill.file, "/config/good/a-{N}.npy");
    assert_string_equal(read_again(config->plan)->reference.files[0].file,
                        reference->files[0].file);
}

TEST(symbols_stand_behind_the_arguments)
{
    struct hn_config *config = load("good/full.yaml");
    const struct hn_argument *symbols = &config->plan->arguments[20];
    assert_int_equal(config->plan->argument_count, 24);
    assert_string_equal(symbols[0].from, "A");
    assert_text(symbols[0].condition, "LOAD == ldg");
    assert_false(hn_argument_is_filled(&symbols[0]));
    assert_true(hn_argument_is_filled(&symbols[1]));
    assert_false(symbols[1].changes);
    assert_text(symbols[2].value, "FACTOR");
    assert_true(symbols[3].changes);
    assert_int_equal(symbols[3].fill.kind, HN_FILL_CONSTANT);
}

TEST(words_are_numbered_as_declared)
{
    struct hn_config *config = load("good/full.yaml");
    const struct hn_plan *plan = config->plan;
    assert_int_equal(plan->word_list_count, 3);
    assert_string_equal(plan->word_lists[1].name, "LOAD");
    assert_string_equal(plan->word_lists[1].words[1], "ldg");
    assert_string_equal(plan->word_lists[2].name, "PATTERN");
    assert_string_equal(plan->word_lists[2].words[1], "offset");
}

TEST(a_space_alone_is_enough)
{
    struct hn_config *config = load("good/space.yaml");
    assert_null(config->plan->template_path);
    assert_int_equal(config->problem_count, 1);
    assert_int_equal(hn_space_size(build(config, 0)), 8);
    assert_error(hn_config_check_files(config, &said), HN_ECONFIG,
                 "good/space.yaml: there is no 'template', so there is nothing to compile; only "
                 "`hone space` works with such a config");
}

TEST(what_is_left_out_has_a_default)
{
    struct hn_config *config = load("good/least.yaml");
    const struct hn_plan *plan = config->plan;
    assert_string_equal(plan->template_path, "/nowhere/product.cu");
    assert_int_equal(plan->reference.kind, HN_REFERENCE_SELF);
    assert_int_equal(plan->compare.mode, HN_COMPARE_MAX_NORM);
    assert_text(plan->compare.relative, "1.0e-5");
    assert_string_equal(plan->objective, "time");
    assert_false(plan->maximize);
    assert_int_equal(config->look_ahead, HN_LOOK_AHEAD);
    assert_null(config->prior);
    assert_bindings(&plan->defaults, "TILE=8");
    assert_error(hn_config_check_files(config, &said), HN_ECONFIG,
                 "good/least.yaml: template /nowhere/product.cu cannot be "
                 "read: No such file or directory");
}

/* The first whose condition holds; not one that the constraints do not allow; a plan that was kept
 * knows them too. */
TEST(a_default_point_may_be_for_some_problems)
{
    struct hn_config *config = load("good/defaults.yaml");
    const struct hn_plan *const plans[] = {config->plan, read_again(config->plan)};
    for (size_t i = 0; i < 2; i++) {
        assert_bindings(&plans[i]->defaults, "LOAD=plain,TILE=8");
        assert_bindings(hn_plan_default(plans[i], parsed("M=4,N=64")), "LOAD=ldg,TILE=8");
        assert_bindings(hn_plan_default(plans[i], parsed("M=64,N=64")), "LOAD=plain,TILE=16");
        assert_bindings(hn_plan_default(plans[i], parsed("M=64,N=1")), "LOAD=ldg,TILE=16");
        assert_bindings(hn_plan_default(plans[i], parsed("M=9,N=1")), "LOAD=plain,TILE=8");
        assert_bindings(hn_plan_default(plans[i], parsed("M=8,N=1")), "LOAD=plain,TILE=8");
    }
}

TEST(each_problem_has_its_space)
{
    struct hn_config *config = load("good/problem_list.yaml");
    assert_int_equal(config->problem_count, 2);
    assert_int_equal(hn_space_size(build(config, 0)), 4);
    assert_int_equal(hn_space_size(build(config, 1)), 1);
    assert_int_equal(config->plan->reference.kind, HN_REFERENCE_NONE);
    assert_int_equal(config->plan->compare.mode, HN_COMPARE_EXACT);
}

TEST(a_partial_point_is_completed)
{
    struct hn_config *config = load("good/full.yaml");
    struct hn_space *space = build(config, 0);
    struct hn_bindings whole = {0}, from ENDED_BY(hn_bindings_finish) = {0};
    hn_config_default_point(config, space, &from);
    assert_ok(hn_config_complete(config, space, &from, parsed("PAD=2"), &whole, NULL));
    assert_bindings(&whole, "FACTOR=1,FUSE=false,LOAD=plain,PAD=2,TILE=16,VARIANT=tiled");
    hn_bindings_finish(&whole);

    assert_error(
        hn_config_complete(config, space, &from, parsed("VARIANT=simple,FUSE=true"), &whole, &said),
        HN_ECONFIG,
        "point FACTOR=1,FUSE=true,LOAD=plain,PAD=0,TILE=16,VARIANT=simple is not valid: constraint "
        "'VARIANT == tiled or (PAD == 0 and not FUSE)' (good/full.yaml:18:5) does not hold");
    hn_bindings_finish(&whole);
}

/* In full.yaml only variant tiled may fuse and pad: what breaks that is mended by one of these. */
TEST(a_mutant_is_another_point_of_the_space)
{
    struct hn_config *config = load("good/full.yaml");
    struct hn_space *space = build(config, 0);
    struct hn_random random = hn_random_seeded(1);
    uint16_t choice[16];
    struct hn_bindings begun ENDED_BY(hn_bindings_finish) = {0};
    int valid = 0, simple = 0;
    hn_config_default_point(config, space, &begun);
    for (int i = 0; i < 200; i++) {
        struct hn_bindings point ENDED_BY(hn_bindings_finish) = hn_need_bindings(&begun, NULL);
        if (!hn_config_mutate(config, &config->problems[0], &random, &point))
            continue;
        assert_ok(hn_space_choice(space, &point, choice, NULL));
        assert_true(hn_space_contains(space, choice));
        valid++;
        simple += strcmp(hn_bindings_get(&point, "VARIANT")->word, "simple") == 0;
    }
    assert_in_range(valid, 150, 200);
    assert_in_range(simple, 10, 100);
}

TEST(a_restricted_parameter_keeps_some_values)
{
    struct hn_config *config = load("good/full.yaml");
    assert_ok(hn_config_restrict(config, "TILE=8,32,LOAD=plain", &said));
    assert_int_equal(config->parameters[1].count, 2);
    assert_int_equal(config->parameters[1].values[1].integer, 32);
    assert_int_equal(config->parameters[5].count, 1);
    assert_int_equal(config->plan->word_lists[1].count, 2);

    /* The default TILE=16 is gone: the first valid point serves. */
    struct hn_space *space = build(config, 0);
    struct hn_bindings whole ENDED_BY(hn_bindings_finish) = {0};
    hn_config_default_point(config, space, &whole);
    assert_bindings(&whole, "FACTOR=1,FUSE=false,LOAD=plain,PAD=0,TILE=8,VARIANT=tiled");
}

static enum hn_status set_problem(struct hn_config *config, const char *assignment,
                                  struct hn_error *err)
{
    return hn_config_take_problem(config, parsed(assignment), err);
}

TEST(a_problem_value_is_replaced_everywhere)
{
    struct hn_config *config = load("good/full.yaml");
    assert_ok(set_problem(config, "N=32", &said));
    assert_int_equal(config->problem_count, 2);
    assert_bindings(&config->problems[0], "M=64,N=32,PATTERN=plain,SCALE=0.5");
    assert_ok(set_problem(config, "PATTERN=offset", &said));
    assert_int_equal(config->problem_count, 1);
    /* A constraint may still name the word that is left. */
    assert_int_equal(hn_space_size(build(config, 0)), 51);
}

TEST(a_new_word_joins_the_list)
{
    struct hn_config *config = load("good/full.yaml");
    assert_ok(set_problem(config, "PATTERN=stride", &said));
    assert_int_equal(config->problem_count, 2);
    assert_int_equal(config->plan->word_lists[2].count, 3);
    assert_string_equal(config->plan->word_lists[2].words[2], "stride");
    assert_int_equal(hn_space_size(build(config, 0)), 102);
}

/* What becomes of a config that cannot be loaded, or whose spaces cannot be built. */
static enum hn_status load_bad(const char *path, struct hn_error *err)
{
    struct hn_config *config = NULL;
    enum hn_status status = hn_config_load(path, NULL, &config, err);
    for (size_t i = 0; status == HN_OK && i < config->problem_count; i++) {
        struct hn_space *space = NULL;
        status = hn_config_space(config, i, false, &space, err);
        hn_space_destroy(space);
    }
    hn_config_destroy(config);
    return status;
}

/* `entry`: the name of a broken config, its message and its text, cut at its end. */
static void check_bad(char *entry)
{
    char *message = strchr(entry, '\n') + 1;
    char *text = strchr(message, '\n') + 1;
    message[-1] = text[-1] = '\0';
    char path[300];
    snprintf(path, sizeof path, "%s.yaml", entry);
    assert_ok(hn_file_write(path, text, strlen(text), NULL));
    enum hn_status status = load_bad(path, &said);
    unlink(path);
    assert_string_equal(said.message, message);
    enum hn_status expected =
        strstr(message, "no point is valid") != NULL ? HN_ENOTFOUND : HN_ECONFIG;
    if (status != expected)
        fail_msg("%s: status %d, expected %d", path, (int)status, (int)expected);
}

TEST(every_bad_config_has_its_message)
{
    static const char folder[] = HONE_TEST_DATA "/config/bad";
    static const char *const beside[] = {"product.cu", "family_calls.csv", "family_calls.txt"};
    static const char begin[] = "\n==== ";
    char *text FREED = NULL;
    struct hn_error err = {0};
    hn_file_read(HONE_TEST_DATA "/config/bad/configs.txt", 1 << 20, &text, NULL, &err);
    assert_string_equal(err.message, "");
    char source[PATH_MAX];
    char *real FREED = realpath(folder, NULL);
    char work[] = "/tmp/hone-test-XXXXXX";
    assert_non_null(real);
    assert_non_null(mkdtemp(work));
    assert_int_equal(chdir(work), 0);
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        snprintf(source, sizeof source, "%s/%s", real, beside[i]);
        assert_int_equal(symlink(source, beside[i]), 0);
    }
    size_t checked = 0;
    for (char *next, *entry = strstr(text, begin); entry != NULL; entry = next, checked++) {
        next = strstr(entry + strlen(begin), begin);
        if (next != NULL)
            next[1] = '\0';
        check_bad(entry + strlen(begin));
    }
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++)
        unlink(beside[i]);
    assert_int_equal(chdir(real), 0);
    assert_int_equal(chdir(".."), 0);
    rmdir(work);
    assert_true(checked >= 263);
}
