/* SPDX-License-Identifier: MIT */
#include "runtime/plan/plan.h"

#include "bindings_fixture.h"
#include "plan_fixture.h"
#include "rule_fixture.h"
#include "tests/unit/unit.h"

static const char small[] =
    "{'format': 3, 'kernel': 'product', 'template': '/t/product.cu', 'parameters': ['TILE', "
    "'LOAD'],"
    " 'problem': ['N', 'M'], 'freeze': ['M'],"
    " 'words': [{'name': 'LOAD', 'words': ['plain', 'ldg']}],"
    " 'arguments': [{'name': 'A', 'type': 'float32x4', 'role': 'input', 'count': 'M * N',"
    "                'fill': {'kind': 'uniform', 'a': -1.0, 'b': 1.0}},"
    "               {'name': 'C', 'type': 'float32', 'role': 'output', 'count': 'M * N', 'length': "
    "'n',"
    "                'compare': {'mode': 'multiset'}},"
    "               {'name': 'n', 'type': 'int64', 'role': 'inout', 'count': '1',"
    "                'fill': {'kind': 'skewed', 'a': 'M + N', 'b': 0.5}},"
    "               {'name': 'x', 'type': 'int64', 'role': 'input', 'count': '1',"
    "                'fill': {'kind': 'file', 'a': 0.0, 'b': 0.0, 'file': '/t/x.npy'}},"
    "               {'name': 'image', 'type': 'uint8x4', 'role': 'input', 'width': 'N', 'height': "
    "'2',"
    "                'pitch': '4 * M + 4 * N', 'fill': {'kind': 'uniform', 'a': 0.0, 'b': 1.0}},"
    "               {'name': 'plane', 'type': 'uint8x4', 'role': 'texture', 'from': 'image',"
    "                'texture': {'dimensions': 2, 'address': ['wrap', 'mirror'], 'filter': "
    "'linear',"
    "                            'normalized': true, 'read': 'normalized_float'}},"
    "               {'name': 'hits', 'type': 'uint32', 'role': 'metric', 'count': '4'},"
    "               {'name': 'turn', 'type': 'uint32', 'role': 'counter', 'count': '1', 'zero': "
    "'inside'},"
    "               {'name': 'N', 'type': 'int32', 'role': 'value', 'value': 'N'},"
    "               {'name': 'table', 'type': 'float32x4', 'role': 'symbol', 'from': 'A',"
    "                'if': 'LOAD == ldg'},"
    "               {'name': 'turns', 'type': 'uint32', 'role': 'symbol', 'count': '1', 'changes': "
    "true,"
    "                'fill': {'kind': 'constant', 'a': 0.0, 'b': 0.0}}],"
    " 'steps': [{'entry': 'product', 'if': 'N > TILE', 'grid': ['ceil_div(N, TILE)', 'M'], "
    "'block': ['TILE'],"
    "            'shared_bytes': '4 * TILE', 'cluster': ['2', 'TILE'], 'carveout': '50',"
    "            'l2_window': {'argument': 0, 'bytes': '4 * N', 'hit_ratio': '0.5', 'hit': "
    "'normal',"
    "                          'miss': 'streaming', 'set_aside': '1024 * TILE'},"
    "            'cooperative': 'LOAD == ldg', 'arguments': [0, 1, 4, 8]}],"
    " 'options': [{'if': 'LOAD == ldg', 'option': '-DT={TILE}{N}'}],"
    " 'reference': {'kind': 'template', 'template': '/t/reference/product.cu', 'depends': ['LOAD'],"
    "   'step': {'entry': 'r', 'grid': ['1'], 'block': ['32'], 'arguments': [0, 1]}},"
    " 'compare': {'mode': 'max_norm', 'relative': '1e-5'},"
    " 'metrics': [{'name': 'flops', 'expression': '2 * M * N'},"
    "             {'name': 'rate', 'expression': 'flops / time_us + hits'}],"
    " 'objective': 'rate', 'maximize': true, 'defaults': {'TILE': 16, 'LOAD': 'plain'}}";

static json_t *parse(const char *text)
{
    return keep(parse_quoted(text), json_decref);
}

static struct hn_plan *read_small(void)
{
    return plan_of(parse(small));
}

TEST(a_plan_reads_back)
{
    struct hn_plan *plan = read_small();
    json_t *first = keep(hn_plan_to_json(plan), json_decref);
    json_t *second = keep(hn_plan_to_json(plan_of(first)), json_decref);
    char *a = keep(json_dumps(first, JSON_SORT_KEYS), free);
    char *b = keep(json_dumps(second, JSON_SORT_KEYS), free);
    assert_string_equal(a, b);

    json_t *written = parse(small);
    assert_true(json_equal(first, written));
}

TEST(names_are_sorted_slots)
{
    struct hn_plan *plan = read_small();
    assert_int_equal(plan->name_count, 4);
    assert_string_equal(plan->names[0], "LOAD");
    assert_string_equal(plan->names[3], "TILE");
    assert_string_equal(plan->parameters[0], "TILE");
}

TEST(expressions_are_ready)
{
    struct hn_plan *plan = read_small();
    struct hn_value *values FREED = NULL;
    assert_ok(hn_plan_values(plan, parsed("M=3,N=100"), parsed("LOAD=ldg,TILE=16"), &values, NULL));

    int64_t blocks = 0;
    assert_true(hn_expression_integer(plan->steps[0].geometry.grid[0], values, &blocks, NULL));
    assert_int_equal(blocks, 7);
    struct hn_value holds;
    assert_ok(hn_expression_evaluate(plan->options[0].condition, values, &holds, NULL));
    assert_true(hn_value_truth(&holds));
    assert_int_equal(plan->options[0].hole_count, 2);

    /* Slots after the names: image_pitch, time_us, the metric argument hits, flops, rate. */
    double rate = 0;
    assert_int_equal(values[4].integer, 4 * 103);
    values[5] = hn_real(2.0);
    values[6] = hn_integer(5);
    values[7] = hn_integer(600);
    assert_true(hn_expression_number(plan->metrics[1].expression, values, &rate, NULL));
    assert_true(rate == 305.0);
}

TEST(a_missing_value_is_the_default)
{
    struct hn_plan *plan = read_small();
    const struct hn_bindings *point = parsed("LOAD=ldg");
    struct hn_value *values FREED = NULL;
    assert_ok(hn_plan_values(plan, parsed("M=3,N=100"), point, &values, NULL));
    assert_string_equal(values[0].word, "ldg");
    assert_int_equal(values[3].integer, 16);
    struct hn_value *none;
    assert_error(hn_plan_values(plan, parsed("M=3"), point, &none, &said), HN_ECONFIG,
                 "'N' has no value");
}

TEST(words_and_frozen_values_are_constants)
{
    struct hn_plan *plan = read_small();
    struct hn_value number = hn_integer(4);
    struct hn_value word = hn_word("plain");
    assert_true(hn_plan_is_frozen(plan, &plan->defaults, "M", &number));
    assert_false(hn_plan_is_frozen(plan, &plan->defaults, "N", &number));
    assert_true(hn_plan_is_frozen(plan, &plan->defaults, "N", &word));
    char *signature = keep(hn_plan_signature(plan), free);
    assert_string_equal(signature, "A:float32x4:input,C:float32:output,n:int64:inout,x:int64:input,"
                                   "image:uint8x4:input,plane:uint8x4:texture,"
                                   "hits:uint32:metric,turn:uint32:counter,N:int32:value,"
                                   "table:float32x4:symbol,turns:uint32:symbol");
}

/* Replaces `from` in the small plan by `to`. */
static json_t *changed(const char *from, const char *to)
{
    return parse(replaced(small, from, to));
}

static void assert_hashes(const char *from, const char *to, bool same_plan, bool same_options)
{
    struct hn_plan *plan = read_small();
    struct hn_plan *other = plan_of(changed(from, to));
    assert_int_equal(strcmp(hn_plan_hash(plan).hex, hn_plan_hash(other).hex) == 0, same_plan);
    assert_int_equal(strcmp(hn_plan_options_hash(plan).hex, hn_plan_options_hash(other).hex) == 0,
                     same_options);
}

TEST(a_hash_tells_what_was_measured)
{
    assert_hashes("'4 * TILE'", "'8 * TILE'", false, true);
    assert_hashes("'a': 'M + N'", "'a': 'M'", false, true);
    assert_hashes("/t/x.npy", "/elsewhere/x.npy", true, true);
    assert_hashes("/t/x.npy", "/t/y.npy", false, true);
    assert_hashes("'if': 'N > TILE'", "'if': 'N < TILE'", false, true);
    assert_hashes("'zero': 'inside'", "'zero': 'outside'", false, true);
    assert_hashes("4 * M + 4 * N", "4 * M + 8 * N", false, true);
    assert_hashes("'mirror'", "'clamp'", false, true);
    assert_hashes("'carveout': '50'", "'carveout': '60'", false, true);
    assert_hashes("'hit_ratio': '0.5'", "'hit_ratio': '0.6'", false, true);
    assert_hashes("'hit': 'normal'", "'hit': 'persisting'", false, true);
    assert_hashes("'a': -1.0", "'a': 0.0", false, true);
    assert_hashes("'relative': '1e-5'", "'relative': '1e-6'", false, true);
    assert_hashes("'entry': 'r'", "'entry': 's'", false, true);
    assert_hashes("'if': 'LOAD == ldg'}", "'if': 'LOAD == plain'}", false, true);
    assert_hashes("'freeze': ['M']", "'freeze': []", false, true);
    assert_hashes("'freeze': ['M']", "'freeze': ['M'], 'freeze_if': 'TILE == 8'", false, true);
    assert_hashes("-DT={TILE}{N}", "-DT={TILE}", true, false);
    assert_hashes("'options': [", "'arch_specific': true, 'options': [", true, false);
    assert_hashes("2 * M * N", "3 * M * N", true, true);
    assert_hashes("['plain', 'ldg']", "['plain', 'ldg', 'restrict']", true, true);
    assert_hashes("/t/reference/product.cu", "/elsewhere/product.cu", true, true);
}

/* What is replaced, by what, and the message. */
static const char *const no_plans[][3] = {
    {"'format': 3", "'format': 4",
     "plan: format 4 is newer than this Hone, which knows 3: use the newer Hone"},
    {"'format': 3", "'format': '1'", "plan: 'format' is not a version"},
    {"'kernel': 'product'", "'kernel': 7", "plan: 'kernel' is not a name"},
    {"['TILE', 'LOAD']", "['TILE', 'LO AD']", "plan: 'parameters' is not a name"},
    {"['TILE', 'LOAD']", "['TILE', 'LOAD', 'N']", "plan: 'N' is there twice"},
    {"'freeze': ['M']", "'freeze': ['K']", "plan: 'freeze' is not a list of problem values"},
    {"'freeze': ['M']", "'freeze': 'M'", "plan: 'freeze' is not a list"},
    {"'freeze': ['M']", "'freeze': ['M'], 'freeze_if': 'TILE < M'",
     "plan: 'freeze_if' is not an expression of parameters"},
    {"'name': 'LOAD'", "'name': 'STORE'", "plan: 'STORE' is not a parameter or problem value"},
    {"'type': 'float32x4'", "'type': 'float32x5'", "plan: 'type' is not an element type"},
    {"'type': 'int32', 'role': 'value'", "'type': 'int32x2', 'role': 'value'",
     "plan: 'N' is not an argument with either count or value"},
    {"'role': 'input'", "'role': 'in'",
     "plan: 'role' is not one of value, input, output, inout, scratch, counter, metric, texture, "
     "tensor_map, symbol"},
    {"'role': 'value', 'value': 'N'", "'role': 'value', 'count': 'N'",
     "plan: 'N' is not an argument with either count or value"},
    {"'kind': 'uniform'", "'kind': 'zero'",
     "plan: 'kind' is not one of uniform, normal, iota, constant, permutation, skewed, zipf, "
     "sorted, csr_rows, csr_columns, transposed, file"},
    {"'a': 'M + N'", "'a': 'M +'", "column 4: found the end of the expression, expected a value"},
    {"'a': 'M + N'", "'a': true", "plan: 'a' is not a number"},
    {", 'file': '/t/x.npy'", "", "plan: 'file' is not a string"},
    {"'length': 'n'", "'length': 'A'", "plan: 'A' is not an output of integers"},
    {"'mode': 'multiset'", "'mode': 'bag'", "plan: 'mode' is not one of max_norm, exact, multiset"},
    {"'role': 'output'", "'role': 'scratch'",
     "plan: 'compare' cannot stand here: only output and inout are compared"},
    {"'from': 'A'", "'from': 'C'", "plan: 'C' is not the name of an argument with role input"},
    {"'from': 'A'", "'value': 'N', 'count': '1'", "plan: 'fill' is not an object"},
    {"[0, 1, 4, 8]", "[0, 1, 4, 9]", "plan: 'arguments' is not a list of arguments' numbers"},
    {"[0, 1, 4, 8]", "[0, -1]", "plan: 'arguments' is not a number from 0 on"},
    {"'block': ['TILE']", "'block': []", "plan: 'block' is not a list of 1 to 3 expressions"},
    {"['2', 'TILE']", "'2'", "plan: 'cluster' is not a list of 1 to 3 expressions"},
    {"'zero': 'inside'", "'zero': true", "plan: 'zero' is not one of outside, inside, once"},
    {"'if': 'N > TILE'", "'if': 'N > '",
     "column 5: found the end of the expression, expected a value"},
    {"'height': '2',", "", "plan: 'height' is not an expression"},
    {"'from': 'image'", "'from': 'C'", "plan: 'C' is not a buffer that the texture can read"},
    {"'from': 'image'", "'from': 'N'", "plan: 'N' is not the name of an argument that is a buffer"},
    {"'dimensions': 2", "'dimensions': 3", "plan: 'dimensions' is not an integer of 1 to 2"},
    {"'wrap', 'mirror'", "'wrap', 'around'",
     "plan: 'address' is not one of wrap, clamp, mirror, border"},
    {"'role': 'input', 'width'", "'role': 'metric', 'width'",
     "plan: 'width' cannot stand here: only input, output, inout and scratch have rows"},
    {"4 * M + 4 * N", "image_pitch", "unknown name 'image_pitch'; there are LOAD, M, N, TILE"},
    {"'name': 'hits'", "'name': 'image_pitch'",
     "expressions know the pitch of argument 'image' as 'image_pitch', which is the name of "
     "something else; rename one"},
    {"'carveout': '50'", "'carveout': 50", "plan: 'carveout' is not an expression"},
    {"'argument': 0", "'argument': 99",
     "plan: 'l2_window' is not a window over an argument's buffer"},
    {"'argument': 0, 'bytes': '4 * N'", "'argument': 0", "plan: 'bytes' is not an expression"},
    {"'hit': 'normal'", "'hit': 'often'",
     "unknown name 'often'; there are LOAD, M, N, TILE, image_pitch"},
    {"-DT={TILE}", "-DT={TILE", "'{' without its '}' in option '-DT={TILE{N}'"},
    {"'depends': ['LOAD']", "'depends': ['M']", "plan: 'depends' is not a list of parameters"},
    {"'mode': 'max_norm'", "'mode': 'l2'", "plan: 'mode' is not one of max_norm, exact, multiset"},
    {"'objective': 'rate'", "'objective': 'speed'",
     "plan: 'objective' is not time, energy, energy_delay or a metric"},
    {"'4 * TILE'", "'4 * TIEL'", "unknown name 'TIEL'; nearest is 'TILE'"},
    {"flops / time_us", "rate / time_us",
     "unknown name 'rate'; there are LOAD, M, N, TILE, image_pitch, time_us, hits, flops"},
};

TEST(what_is_no_plan_is_refused)
{
    for (size_t i = 0; i < sizeof no_plans / sizeof no_plans[0]; i++) {
        json_t *json = changed(no_plans[i][0], no_plans[i][1]);
        struct hn_plan *plan = NULL;
        assert_error(hn_plan_from_json(json, &plan, &said), HN_EFORMAT, no_plans[i][2]);
        assert_null(plan);
    }
}

/* Every member of every object, replaced by each kind of JSON, is read or refused, never trusted.
 */
static void damage(json_t *root, json_t *node)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(node, next, key, value)
    {
        json_t *kept = json_incref(value);
        json_t *others[] = {json_null(),  json_true(),   json_integer(-1), json_real(1e300),
                            json_array(), json_object(), json_string(""),  json_string("((")};
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
            struct hn_plan *plan = NULL;
            json_object_set_new(node, key, others[i]);
            hn_plan_from_json(root, &plan, &said);
            hn_plan_destroy(plan);
        }
        json_object_set_new(node, key, kept);
        damage(root, kept);
    }
    size_t index;
    json_array_foreach(node, index, value) damage(root, value);
}

/* What the first Hone wrote; its hash is that under which results were stored. */
TEST(a_plan_of_format_1_is_read)
{
    struct hn_plan *plan = load_plan("matmul.json");
    json_t *json = keep(hn_plan_to_json(plan), json_decref);
    assert_int_equal(json_integer_value(json_object_get(json, "format")), 3);
    assert_string_equal(hn_plan_hash(plan).hex, "d806fe110adb62169920bf42727b5a65");
}

TEST(damaged_plans_are_survived)
{
    json_t *json = parse(small);
    damage(json, json);
}
