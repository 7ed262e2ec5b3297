/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "tuner/init/draft.h"

/* Values that names of the host stand for. */
enum { DEEPEST = 4 };

/* What the host's code tells: the first launch of the kernel, what it passes and allocates. */

/* The first items of a list, at most so many; returns how many. The others stay as they are. */
static size_t split(const struct hn_unit *unit, struct hn_tokens list, struct hn_tokens *items,
                    size_t most)
{
    size_t count = 0;
    struct hn_tokens item;
    while (count < most && hn_next(unit, ",", &list, &item))
        items[count++] = item;
    return count;
}

/* The text of one token alone, also of "Policy::token"; "" where it is more. */
static const char *single(const struct hn_draft *draft, struct hn_tokens tokens)
{
    while (hn_at(draft->unit, tokens.begin + 1, "::"))
        tokens.begin += 2;
    return tokens.end == tokens.begin + 1 ? hn_text_at(draft->unit, tokens.begin) : "";
}

/* What a field of a variable is given, "block.x = a;", the last before a token; else empty. */
static struct hn_tokens assigned(const struct hn_unit *unit, const char *name, const char *field,
                                 size_t end)
{
    struct hn_tokens value = {0, 0}, before = {0, end};
    HN_EACH_AT(i, unit, before, name)
        if (hn_at(unit, i + 1, ".") && hn_at(unit, i + 2, field) && hn_at(unit, i + 3, "="))
            value = HN_REST(unit, i + 4);
    return value;
}

/* The launch that a name of the kernel is part of: "<<<grid, block, shared, stream>>>(arguments)"
 * behind it and its template's arguments, or "launch(kernel, grid, block, shared, stream, ...)" of
 * a library around it. The runtime's has an array of addresses before the last two, or fields of
 * what comes before the kernel. */
static void read_launch(struct hn_draft *draft, size_t kernel, size_t behind)
{
    static const char *const config[] = {"gridDim", "blockDim", "dynamicSmemBytes"};
    struct hn_unit *unit = draft->unit;
    size_t wanted = draft->kernel->arguments.count, call = kernel, open = SIZE_MAX;
    if (draft->launch[HN_LAUNCH_BLOCK].end > 0)
        return;
    behind += hn_at(unit, behind, ","); /* "LAUNCH(kernel, <<<grid, block>>>(arguments))" */
    struct hn_tokens list = {behind + 1, SIZE_MAX}, given = {0, 0}, parts[5], item;
    list.end = hn_find(unit, list, ">>>");
    if (hn_at(unit, behind, "<<<") && list.end != SIZE_MAX) {
        split(unit, list, draft->launch, 3);
        open = list.end + 1;
    } else {
        while (--call > 0 && kernel - call < 12 &&
               (hn_find_letters(hn_text_at(unit, call), "launch") == NULL ||
                !hn_at(unit, call + 1, "(")))
            continue;
        const char *name = hn_text_at(unit, call);
        bool fields = strcmp(name, "cudaLaunchKernelEx") == 0;
        bool array = !fields && strncmp(name, "cudaLaunch", 10) == 0;
        list = hn_inside(unit, call + 1);
        for (int i = 0; i < (fields ? 2 : 5); i++)
            hn_next(unit, ",", &list, &parts[i]);
        given = list;
        while (hn_next(unit, ",", &list, &item))
            wanted--;
        if (!hn_at(unit, call + 1, "(") || !HN_WITHIN(parts[fields], kernel) ||
            (!array && wanted != 0))
            return;
        HN_DRAFT_FLAG(draft, "cooperative", strstr(name, "Cooperative") != NULL);
        for (int i = HN_LAUNCH_GRID; i <= HN_LAUNCH_SHARED; i++)
            draft->launch[i] =
                fields ? assigned(unit, hn_text_at(unit, parts[0].end - 1), config[i], call)
                       : parts[array && i == HN_LAUNCH_SHARED ? 4 : i + 1];
        open = array ? hn_unit_meaning(unit, single(draft, parts[3]), call)->body.begin : open;
        given.end = array ? given.begin : given.end;
    }
    if (hn_at(unit, open, "( {"))
        given = hn_inside(unit, open);
    HN_EACH(argument, draft->kernel->arguments)
        if (hn_next(unit, ",", &given, &item)) {
            bool address = hn_at(unit, item.end - 2, item.end - item.begin == 2 ? "& *" : "&");
            item.begin = address ? item.end - 1 : item.begin; /* "(void *)&n", "*n" */
            argument->given = item;
        }
}

void hn_draft_find_launch(struct hn_draft *draft)
{
    struct hn_unit *unit = draft->unit;
    HN_EACH_AT(i, unit, HN_EVERYWHERE, draft->kernel->name) {
        read_launch(draft, i, hn_at(unit, i + 1, "<") ? hn_behind(unit, i + 1, SIZE_MAX) : i + 1);
        /* "auto kernel = &k<128>; kernel<<<grid, block>>>(x);" */
        HN_EACH(alias, unit->meanings)
            if (!alias->macro && HN_WITHIN(alias->body, i))
                HN_EACH_AT(use, unit, alias->given ? alias->scope : HN_EVERYWHERE, alias->name)
                    read_launch(draft, use, use + 1);
    }
    HN_DRAFT_FLAG(draft, "cooperative", HN_HAS(unit, draft->kernel->body, "this_grid"));
    HN_DRAFT_FLAG(draft, "clusters", HN_HAS(unit, draft->kernel->body, "this_cluster"));
}

/* A parameter whose values are numbers: no words, no true and false. */
static bool is_numeric(const struct hn_draft_name *name)
{
    return name != NULL && name->values.count > 0 && name->values.items[0].type == HN_INTEGER;
}

/* Follows a name that stands alone to its value or to what a call gives it, at most so often. */
static struct hn_tokens value_of(const struct hn_draft *draft, struct hn_tokens tokens, int steps)
{
    const struct hn_meaning *own =
        hn_unit_meaning(draft->unit, single(draft, tokens), tokens.begin);
    bool stays = steps == 0 || own->body.begin >= own->body.end ||
                 (own->scope.begin == 0 && is_numeric(hn_draft_find(draft, own->name)));
    return stays ? tokens : value_of(draft, own->body, steps - 1);
}

/* What the config calls a name of the host that the kernel, its template or a caller is passed. */
static const char *host_name(const struct hn_draft *draft, const char *name, size_t token)
{
    const struct hn_meaning *own = HN_MEANING(draft->unit, token);
    HN_EACH(parameter, draft->kernel->parameters)
        if (strcmp(single(draft, parameter->given), name) == 0 &&
            parameter->kind <= HN_PARAMETER_BOOLEAN)
            return parameter->instance;
    /* A parameter of the whole source is no size, whatever is as large as it. */
    if (own->scope.begin == 0 && is_numeric(hn_draft_find(draft, name)))
        return NULL;
    HN_EACH(argument, draft->kernel->arguments) {
        const struct hn_draft_name *size = hn_draft_find(draft, argument->name);
        struct hn_tokens value = argument->given;
        for (int steps = 0; steps < DEEPEST; steps++, value = value_of(draft, value, 1))
            if (size != NULL && HN_MEANING(draft->unit, value.begin) == own &&
                strcmp(hn_unit_text(draft->unit, value), name) == 0)
                return size->name;
    }
    return NULL;
}

/* The components of "dim3(a, b)", of a variable "dim3 block(a, b)" or "= {a, b}", where "block.x =
 * a;" follows, the last one before the launch, or one number. */
static size_t read_dim3(const struct hn_draft *draft, struct hn_tokens tokens,
                        struct hn_tokens parts[3])
{
    static const char *const axes[] = {"x", "y", "z"};
    const struct hn_unit *unit = draft->unit;
    const struct hn_tokens whole = tokens;
    size_t count = 0;
    for (size_t axis = 0; axis < 3; axis++) {
        parts[axis] = assigned(unit, single(draft, tokens), axes[axis], tokens.begin);
        count = parts[axis].end > 0 ? axis + 1 : count;
    }
    for (int depth = 0; count == 0 && depth < DEEPEST;
         depth++, tokens = value_of(draft, tokens, 1)) {
        size_t open = tokens.begin + hn_at(unit, tokens.begin, "dim3");
        bool list = hn_at(unit, open, "{") || (open > tokens.begin && hn_at(unit, open, "("));
        if (list || split(unit, tokens, parts, 2) > 1)
            count = split(unit, list ? hn_inside(unit, open) : tokens, parts, 3);
    }
    return count > 0 ? count : split(unit, whole, parts, 3);
}

bool hn_draft_launches(const struct hn_draft *draft, enum hn_draft_launch part, const char *name)
{
    struct hn_tokens parts[3] = {{0}};
    bool found = false;
    for (size_t count = read_dim3(draft, draft->launch[part], parts); count > 0; count--)
        for (int steps = 0; steps < DEEPEST; steps++)
            found |= HN_HAS(draft->unit, value_of(draft, parts[count - 1], steps), name);
    return found;
}

/* What names of the source are in the config. */

static const char *named(const struct hn_draft *draft, const char *own, bool is_size)
{
    const struct hn_draft_name *found = hn_draft_find(draft, own);
    return found != NULL && (is_size ? found->is_size : is_numeric(found)) ? found->name : NULL;
}

const char *hn_draft_known(const struct hn_draft *draft, const char *name, size_t token)
{
    const struct hn_unit *unit = draft->unit;
    const char *dot = strpbrk(name, ".>");
    const struct hn_draft_name *own = hn_draft_find(draft, name);
    const bool inside = HN_WITHIN(draft->kernel->body, token);
    const char *found = inside ? NULL : host_name(draft, name, token);
    bool of_block = hn_at(unit, token, "blockDim") ||
                    hn_at(unit, token, single(draft, draft->launch[HN_LAUNCH_BLOCK]));
    size_t axis = dot != NULL ? (size_t)(dot[1] - 'x') : 0;
    /* Also "k<<<(n + threads - 1) / threads, threads>>>", whatever its value is. */
    if (found == NULL && of_block && (dot != NULL || own == NULL))
        return axis < 3 ? draft->block[axis] : NULL;
    HN_EACH(argument, draft->kernel->arguments)
        if (dot != NULL &&
            hn_at(unit, token, inside ? argument->name : single(draft, argument->given)))
            found = named(draft, dot + 1, true);
    if (found != NULL || own == NULL)
        return found;
    bool size =
        own->is_size &&
        (own->host ? !inside : own->frozen || inside || unit->tokens.items[token].directive);
    return size || is_numeric(own) ? own->name : NULL;
}

/* With the block along an axis where the number is with which the launch tells it. */
static const char *with_block(const struct hn_draft *draft, const char *text, int axis)
{
    const long long number = hn_draft_number(draft, draft->block[axis], HN_OF_PARAMETERS);
    if (text == NULL || number <= 2 || strchr(draft->block[axis], ' ') != NULL)
        return text;
    return hn_draft_replace(draft, text, HN_DRAFT_TEXT(draft, "%lld", number), draft->block[axis]);
}

/* What the kernel does with its index. */

/* How many tokens are blockIdx along an axis, or a variable that is it; 0: it is something else. */
static size_t index_width(const struct hn_draft *draft, size_t token, int axis)
{
    const struct hn_meaning *own = HN_MEANING(draft->unit, token);
    if (hn_at(draft->unit, token, "blockIdx"))
        return hn_text_at(draft->unit, token + 2)[0] == 'x' + axis ? 3 : 0;
    return !own->given && own->body.end == own->body.begin + 3 &&
           index_width(draft, own->body.begin, axis) == 3;
}

/* Whether it is a block's index along an axis, or a variable of the kernel that begins with one. */
static bool is_index(const struct hn_draft *draft, size_t token, int axis, int depth)
{
    const struct hn_meaning *own = HN_MEANING(draft->unit, token);
    bool index = index_width(draft, token, axis) > 0;
    for (size_t i = own->body.begin;
         depth > 0 && i < own->body.end && HN_WITHIN(draft->kernel->body, i); i++)
        index |= is_index(draft, i, axis, depth - 1);
    return index;
}

/* "if (i < n)", "if (y + j >= height)": what bounds such a variable, of sizes; NULL: nothing. */
static const char *find_bound(struct hn_draft *draft, int axis)
{
    HN_EACH_AT(i, draft->unit, draft->kernel->body, "< >=") {
        const char *text = hn_draft_translate(draft, (struct hn_tokens){i + 1, i + 2});
        size_t left = i - (hn_at(draft->unit, i - 2, "+") ? 3 : 1);
        if (is_index(draft, left, axis, 3) && text != NULL &&
            !HN_DRAFT_IS(draft, text, HN_OF_PARAMETERS))
            return text;
    }
    return NULL;
}

/* What blockIdx is multiplied by in a function: the elements of a block, and no sizes of the
 * problem where it has other factors. NULL: nothing, or what is not known. */
static const char *find_tile(struct hn_draft *draft, int axis, struct hn_tokens body)
{
    static const char starts[] = "+ - ; , ( [ < > = ? : { += -= == <= >= << >>";
    static const char ends[] = "+ - ; , ) ] < > = ? : == <= >= << >>";
    struct hn_unit *unit = draft->unit;
    for (size_t i = body.begin; i < body.end; i++) {
        size_t width = index_width(draft, i, axis);
        if (width == 0)
            continue;
        /* "static_cast<int>(blockIdx.x) * blockDim.x" */
        bool cast = hn_at(unit, i - 1, "(") && hn_at(unit, i + width, ")");
        size_t begin = hn_find_back(unit, i - cast, starts) + 1, end = i + width + cast;
        const char *tile = NULL, *size = NULL;
        while (end < body.end && !hn_at(unit, end, ends))
            end = hn_at(unit, end, "(") ? hn_behind(unit, end, SIZE_MAX) : end + 1;
        struct hn_tokens product = {begin, end}, factor;
        while (hn_next(unit, "*", &product, &factor)) {
            const char *text = factor.begin == i ? NULL : hn_draft_translate(draft, factor);
            if (text != NULL && named(draft, single(draft, factor), true) != NULL)
                size = text;
            else if (text != NULL)
                tile = hn_times(unit, tile, text);
        }
        if (tile == NULL && size == NULL)
            continue;
        /* "(blockIdx.x * BLOCK + threadIdx.x) * ITEMS", "/ LANES" */
        end = hn_find(unit, (struct hn_tokens){end, body.end}, "; , ( ) { }");
        bool more = hn_at(unit, end, ")") && hn_at(unit, end + 1, "* /");
        const char *by = more ? named(draft, hn_text_at(unit, end + 2), false) : NULL;
        tile = tile != NULL ? tile : size;
        return by == NULL                  ? tile
               : hn_at(unit, end + 1, "*") ? hn_times(unit, tile, by)
                                           : HN_DRAFT_TEXT(draft, "%s // %s", tile, by);
    }
    return NULL;
}

/* The block. */

/* The parameter that is the block along an axis by its name; with -1, the tile or block of all. */
static const struct hn_draft_name *find_axis(const struct hn_draft *draft, int axis)
{
    bool asks = HN_HAS(draft->unit, draft->kernel->body, "blockDim");
    const struct hn_draft_name *tile = NULL;
    HN_EACH(each, draft->names) {
        bool rows = hn_is_like(each->own, "rowwise");
        char last = hn_lower(each->own[strlen(each->own) - 1]);
        if (!is_numeric(each))
            continue;
        if (hn_is_like(each->own, "block") &&
            (axis < 0 ? !rows : last == 'x' + axis || (axis == 1 && rows)))
            return each;
        if (axis < 0 && tile == NULL && !asks && hn_is_like(each->own, "tile"))
            tile = each;
    }
    return tile;
}

/* Where the kernel does not ask how large it is, a parameter that is the block by its name, or in
 * whose steps it goes on; else one of the launch. */
static const char *add_block(struct hn_draft *draft, bool flat, int axis, int64_t preset)
{
    const struct hn_unit *unit = draft->unit;
    const char *wish = flat ? "BLOCK" : HN_DRAFT_TEXT(draft, "BLOCK_%c", 'X' + axis);
    bool asks = HN_HAS(unit, HN_EVERYWHERE, "thread_rank");
    HN_EACH_AT(i, unit, HN_EVERYWHERE, "blockDim") /* "config.blockDim" is the host's */
        asks |= !hn_at(unit, i - 1, ".");
    const char *tile =
        flat && !draft->block_is_known ? find_tile(draft, axis, draft->kernel->body) : NULL;
    HN_EACH(each, draft->names) {
        /* "blockIdx.x * NT + threadIdx.x", and "blockIdx.x * NT * ITEMS" with "i += NT" */
        bool factor = tile != NULL && hn_text_find_word(tile, each->name, strlen(each->name));
        bool same = each->preset.integer == preset, owns = false;
        HN_EACH_AT(i, unit, draft->kernel->body, each->own)
            owns |= (same || factor) && hn_at(unit, i - 1, "+=");
        HN_EACH_AT(i, unit, draft->kernel->body, "threadIdx") {
            struct hn_tokens sum = HN_REST(unit, hn_find_back(unit, i, "; { }") + 1);
            bool whole = !hn_at(unit, i - 1, "* / %") && !hn_at(unit, i + 3, "/ % * >> &");
            owns |=
                factor && whole && strcmp(tile, each->name) == 0 && HN_HAS(unit, sum, each->own);
        }
        if (((same && hn_is_like(each->own, "block tile")) || owns) && !asks && is_numeric(each))
            return each->name;
    }
    struct hn_draft_name *own = hn_draft_add(draft, hn_draft_free_name(draft, wish), NULL, false);
    own->comment =
        asks ? "of the launch alone" : "TODO: which block? The kernel does not ask how large it is";
    HN_EACH(each, draft->kernel->parameters)
        if (asks && each->kind == HN_PARAMETER_NUMBER)
            own->comment = "TODO: does each fit the template's numbers?";
    hn_draft_choose_values(draft, own, hn_integer(preset), !asks);
    return own->name;
}

/* What the launch says of an axis, where it is a number that a block or a grid may have, which may
 * depend on sizes that are chosen later; NULL: it is to be guessed. */
static const char *take_axis(struct hn_draft *draft, bool grid, int axis, struct hn_tokens part)
{
    /* What the block's number divides is divided by the block along the kernel's axis. */
    const char *tile = grid ? find_tile(draft, axis, draft->kernel->body) : NULL;
    const char *bound = find_bound(draft, axis);
    int along = axis;
    for (int i = 0; tile != NULL && i < 3; i++)
        along = draft->block[i] != NULL && strcmp(tile, draft->block[i]) == 0 ? i : along;
    const size_t names_before = draft->names.count;
    draft->opens = grid;
    const char *text = hn_draft_translate(draft, part);
    draft->opens = false;
    if (text != NULL && draft->names.count > names_before && bound != NULL && tile != NULL &&
        !hn_text_find_word(text, "sm_count", strlen("sm_count")))
        text = NULL; /* the kernel says it better */
    draft->names.count = text != NULL ? draft->names.count : names_before;
    if (text != NULL && (strstr(text, "//") != NULL || strstr(text, "ceil_div") != NULL))
        text = with_block(draft, text, along);
    /* By what a block of the kernel does, where the launch's number is as much. */
    const char *by = tile != NULL && text != NULL ? strrchr(text, ',') : NULL;
    if (by != NULL && strncmp(text, "ceil_div(", 9) == 0 &&
        hn_draft_number(draft, HN_DRAFT_TEXT(draft, "(%s", by + 1), HN_OF_ALL) ==
            hn_draft_number(draft, tile, HN_OF_PARAMETERS))
        text = HN_DRAFT_TEXT(draft, "%.*s, %s)", (int)(by - text), text, tile);
    int64_t number = hn_draft_number(draft, text, HN_OF_ALL);
    bool fits = number <= (grid ? INT32_MAX : 1024) &&
                (number >= 1 ||
                 (number > INT64_MIN && grid && !HN_DRAFT_IS(draft, text, HN_OF_PARAMETERS)));
    /* Of as many threads as there is work, "n" or "min(n, 1024)", any number will do. */
    bool all = !grid && fits &&
               ((bound != NULL && strcmp(text, bound) == 0) || strncmp(text, "min(", 4) == 0);
    return fits && !all ? text : NULL;
}

/* Takes what the launch says; true: that is all. */
static bool take(struct hn_draft *draft, bool grid, const char *sizes[3])
{
    struct hn_tokens parts[3] = {{0}};
    size_t count = read_dim3(draft, draft->launch[grid ? HN_LAUNCH_GRID : HN_LAUNCH_BLOCK], parts);
    bool all = count > 0;
    for (int axis = 0; axis < 3 && count > 0; axis++) {
        bool told = axis < (int)count;
        if (told)
            sizes[axis] = take_axis(draft, grid, axis, parts[axis]);
        else if (count > 1 || all) /* what is not known as a whole may have more axes */
            sizes[axis] = "1";
        all &= sizes[axis] != NULL;
        if (told && axis >= draft->dimensions &&
            (sizes[axis] == NULL || strcmp(sizes[axis], "1") != 0))
            draft->dimensions = axis + 1;
    }
    return all;
}

/* False: it is to be guessed. */
static bool take_block(struct hn_draft *draft)
{
    const char **block = draft->block;
    struct hn_tokens parts[3] = {{0}};
    read_dim3(draft, draft->launch[HN_LAUNCH_BLOCK], parts);
    draft->block_is_known = take(draft, false, block);
    bool flat = draft->block_is_known && strcmp(block[1], "1") == 0 && strcmp(block[2], "1") == 0;
    for (int axis = 0; axis < 3; axis++) {
        if (block[axis] == NULL)
            continue;
        int64_t number = hn_draft_number(draft, block[axis], HN_OF_NOTHING);
        if (number <= 1 || strchr(block[axis], ' ') != NULL ||
            hn_is_like(single(draft, parts[axis]), "fact")) /* "dim3(WARP_SIZE, ROWS)" */
            continue;
        /* It may be what bounds the kernel at its default point. */
        bool bound = flat && hn_draft_number(draft, draft->bounds, HN_OF_PARAMETERS) == number;
        block[axis] = bound ? draft->bounds : add_block(draft, flat, axis, number);
    }
    /* There has to be something to tune. */
    HN_EACH(each, draft->names)
        if (!each->is_size)
            return draft->block_is_known;
    memset(draft->block, 0, sizeof draft->block);
    return false;
}

/* "n" of "n * sizeof(float)" or "sizeof(float) * n"; nothing of "sizeof(float)", which is one. 0
 * and 0: it is something else. */
static struct hn_tokens without_size(struct hn_unit *unit, struct hn_tokens bytes, int64_t element)
{
    size_t at = hn_find(unit, bytes, "sizeof");
    char type[HN_TYPE_SIZE];
    if (at == SIZE_MAX && element == 1)
        return bytes;
    HN_EACH_AT(array, unit, HN_EVERYWHERE, hn_text_at(unit, at + 2)) { /* "float s[9], t[9];" */
        const char *before = hn_text_at(unit, array - 1);
        struct hn_tokens side = hn_inside(unit, array + 1);
        if (hn_at(unit, at + 1, "(") && hn_at(unit, at + 3, ")") && hn_at(unit, array + 1, "[") &&
            (hn_text_is_word(before) ? strcmp(before, "new") != 0 : strchr(",*", *before) != NULL))
            return hn_at(unit, side.end + 1, "[") ? (struct hn_tokens){0, 0} : side;
    }
    if (element > 0 && hn_type_of_c(hn_unit_text(unit, hn_inside(unit, at + 1)), type) &&
        hn_type_bytes(type) != element)
        return (struct hn_tokens){0, 0};
    size_t behind = at == SIZE_MAX             ? bytes.end
                    : hn_at(unit, at + 1, "*") ? at + 3 /* "n * sizeof *x" */
                                               : hn_behind(unit, at + 1, bytes.end);
    bool first = at == bytes.begin, last = behind == bytes.end;
    if (first && (last || hn_at(unit, behind, "*")))
        return (struct hn_tokens){last ? behind : behind + 1, bytes.end};
    return last && hn_at(unit, at - 1, "*") ? (struct hn_tokens){bytes.begin, at - 1}
                                            : (struct hn_tokens){0, 0};
}

/* How many elements, of void bytes, the source allocates for "x", "(float *)x" or "x.data()": by
 * "cudaMalloc(&x, bytes)" or "vector<float> x(n)". Empty: it is unknown. */
static struct hn_tokens allocated(const struct hn_draft *draft,
                                  const struct hn_kernel_argument *declared)
{
    bool sized = strcmp(declared->type_name, "void") != 0;
    struct hn_unit *unit = draft->unit;
    const struct hn_meaning *own = NULL;
    struct hn_tokens passed = declared->given, parts[2], count = {0, 0};
    bool owner = false;
    for (int depth = 0; depth < DEEPEST && (own == NULL || own->given || !owner); depth++) {
        size_t name = passed.begin;
        for (size_t i = name; i < passed.end && !strchr("+[", hn_text_at(unit, i)[0]); i++)
            if (hn_text_is_word(hn_text_at(unit, i)) && !hn_at(unit, i + 1, "("))
                name = i;
        HN_EACH_AT(i, unit, HN_EVERYWHERE, "(")
            if (hn_find_letters(hn_text_at(unit, i - 1), "malloc") != NULL &&
                split(unit, hn_inside(unit, i), parts, 2) == 2 &&
                HN_HAS(unit, parts[0], hn_text_at(unit, name)))
                return sized
                           ? without_size(unit, value_of(draft, parts[1], DEEPEST), declared->bytes)
                           : parts[1];
        own = HN_MEANING(unit, name);
        owner |= hn_at(unit, name + 1, ".");
        passed = own->body;
    }
    split(unit, passed, &count, owner);
    return count;
}

const char *hn_draft_given(struct hn_draft *draft, const struct hn_kernel_argument *argument)
{
    const struct hn_draft_name *size = hn_draft_find(draft, argument->name);
    struct hn_tokens told = argument->pointer ? allocated(draft, argument) : argument->given;
    if (told.end > 0 && told.end == told.begin)
        return "1";
    const char *given = hn_draft_translate(draft, told);
    if (!argument->pointer && (given == NULL || hn_draft_find(draft, given) == size))
        given = hn_draft_translate(draft, value_of(draft, argument->given, DEEPEST));
    if (!argument->pointer && strstr(argument->type, "int") == NULL && given != NULL)
        given = hn_draft_replace(draft, given, "//", "/"); /* of fractions */
    bool known = HN_DRAFT_IS(draft, given, HN_OF_ALL);
    draft->varies = argument->pointer && known && !HN_DRAFT_IS(draft, given, HN_OF_SIZES);
    /* Of sizes or blocks that are guessed a constant may be too small. */
    bool constant = argument->pointer && HN_DRAFT_IS(draft, given, HN_OF_NOTHING);
    HN_EACH(each, draft->names) {
        const char *open = given, *most = NULL;
        known = known && (!constant || (draft->grid_is_known && (!each->is_size || each->told)));
        /* Enough for all points, whose buffers are the same. */
        for (size_t i = 0; draft->varies && is_numeric(each) && i < each->values.count; i++) {
            const char *value = hn_draft_value(draft, &each->values.items[i]);
            given = hn_draft_replace(draft, open, each->name, value);
            bool more =
                hn_draft_number(draft, given, HN_OF_ALL) > hn_draft_number(draft, most, HN_OF_ALL);
            given = most = more ? given : most;
        }
    }
    return known ? given : NULL;
}

static void read_passed(struct hn_draft *draft)
{
    HN_EACH(argument, draft->kernel->arguments) {
        struct hn_draft_name *size = hn_draft_find(draft, argument->name);
        const char *text = size != NULL ? hn_draft_given(draft, argument) : NULL;
        int64_t number = hn_draft_number(draft, text, HN_OF_ALL);
        if (text == NULL || strcmp(text, size->name) == 0)
            continue;
        size->made |= number > INT64_MIN && !HN_DRAFT_IS(draft, text, HN_OF_NOTHING);
        size->told = number > 0 || size->made;
        /* Nor is what begins as 0, "for (int k = 0; ...) kernel<<<...>>>(x, k)". */
        size->is_extent &= number != 0 && (!size->made || HN_DRAFT_IS(draft, text, HN_OF_SIZES));
        if (size->made)
            size->name = hn_text_is_word(text) ? text : HN_DRAFT_TEXT(draft, "(%s)", text);
        size->preset = number > 0 ? hn_integer(number) : size->preset;
    }
}

/* By the parameters' names and __launch_bounds__; along x alone where only threadIdx.x is used. */
static void guess_block(struct hn_draft *draft)
{
    const int64_t most = hn_draft_number(draft, draft->bounds, HN_OF_NOTHING);
    const struct hn_draft_name *square = find_axis(draft, -1);
    bool along = square != NULL && hn_lower(square->own[strlen(square->own) - 1]) == 'x',
         flat = true;
    HN_EACH(body, draft->unit->device)
        HN_EACH_AT(i, draft->unit, *body, "threadIdx")
            flat &= !hn_at(draft->unit, i + 2, "y z");
    bool wide = !flat && !along && square != NULL && square->preset.integer > 32; /* for a side */
    const int64_t usual[] = {!flat ? 32 : most > 0 ? most : 256, 8, 1};
    draft->block_is_known = true;
    for (int axis = 0; axis < 3; axis++) {
        if (draft->block[axis] != NULL)
            continue;
        /* One that is named for x alone leaves one thread in y. */
        bool one = axis >= draft->dimensions || axis > (flat || along ? 0 : 1);
        const struct hn_draft_name *found = flat ? NULL : find_axis(draft, axis);
        found = found == NULL && !one && !wide ? square : found;
        draft->block[axis] = axis == 0 && flat && draft->bounds != NULL && most < 0 ? draft->bounds
                             : found != NULL                                        ? found->name
                             : one                                                  ? "1"
                                                                                    : NULL;
        draft->block_is_known &= draft->block[axis] != NULL;
        if (draft->block[axis] == NULL)
            draft->block[axis] = add_block(draft, flat, axis, usual[axis]);
    }
}

/* The grid. */

/* The n-th size that is an extent, the last one where there are fewer; of a kind of names. */
static const char *find_extent(const struct hn_draft *draft, const char *kind, int n)
{
    const char *name = NULL;
    HN_EACH(each, draft->names)
        if (each->is_extent && (kind == NULL || hn_is_like(each->name, kind)) && n-- >= 0)
            name = each->name;
    return name;
}

static const char *extent_of(struct hn_draft *draft, int axis)
{
    static const char *const sides[] = {"width", "height", "depth"};
    const char *name = find_bound(draft, axis);
    if (name == NULL && draft->dimensions > 1)
        name = find_extent(draft, sides[axis], 0);
    return name != NULL ? name : find_extent(draft, NULL, axis);
}

static void guess_grid(struct hn_draft *draft)
{
    bool alone = draft->dimensions == 1;
    for (int axis = 0; axis < draft->dimensions; axis++) {
        if (draft->grid[axis] != NULL)
            continue;
        const char *tile = find_tile(draft, axis, draft->kernel->body), *rows = NULL;
        const char *extent = extent_of(draft, axis);
        bool rowwise = tile != NULL && !HN_DRAFT_IS(draft, tile, HN_OF_PARAMETERS);
        bool same = axis > 0 && strcmp(extent, extent_of(draft, axis - 1)) == 0;
        /* "blockIdx.x" alone, too. */
        HN_EACH_AT(i, draft->unit, draft->kernel->body, "blockIdx")
            rowwise |= tile == NULL && index_width(draft, i, axis) > 0 &&
                       hn_at(draft->unit, i + 3, "; , ) ]") && hn_at(draft->unit, i - 1, "= ( ==");
        HN_EACH(body, draft->unit->device)
            if (tile == NULL && !rowwise)
                tile = find_tile(draft, axis, *body);
        HN_EACH(each, draft->names)
            if (alone && is_numeric(each) && hn_is_like(each->own, "blocks"))
                rows = each->name;
        if (rows == NULL && rowwise && alone)
            rows = find_extent(draft, "rows", 0);
        /* Rows that no argument counts. */
        if (rows == NULL && rowwise && (alone || same)) {
            rows = hn_draft_free_name(draft, axis < 2 ? "ROWS" : "PLANES");
            hn_draft_add(draft, rows, NULL, true);
        }
        if (tile == NULL || rowwise)
            tile = draft->block[axis];
        if (rows == NULL && (rowwise || strcmp(tile, "1") == 0))
            rows = extent;
        draft->grid[axis] =
            rows != NULL ? rows : HN_DRAFT_TEXT(draft, "ceil_div(%s, %s)", extent, tile);
    }
}

/* Constraints. */

/* What does not hold at the default point is none. */
static void add_constraint(struct hn_draft *draft, const char *constraint)
{
    struct hn_value holds;
    HN_EACH(each, draft->constraints)
        if (strcmp(*each, constraint) == 0)
            return;
    if (hn_draft_holds(draft, constraint, HN_OF_PARAMETERS, &holds, NULL) && hn_value_truth(&holds))
        *HN_GROW(draft->unit, draft->constraints) = constraint;
}

void hn_draft_bound_threads(struct hn_draft *draft)
{
    const char *threads = NULL;
    long long most = hn_draft_number(draft, draft->bounds, HN_OF_NOTHING);
    most = most > 0 ? most : 1024;
    for (int axis = 0; axis < draft->dimensions; axis++)
        threads = hn_times(draft->unit, threads, draft->block[axis]);
    int64_t largest = hn_draft_number(draft, threads, HN_OF_LARGEST);
    if (largest > most || (largest > 0 && strchr(threads, '*') != NULL))
        add_constraint(draft, HN_DRAFT_TEXT(draft, "%s <= %lld", threads, most));
}

/* "BM / TM" of two parameters, and loops up to one in steps of another, leave nothing over. What
 * the launch gives the template by a constant that is a parameter, too, changes with it. */
static void read_divisions(struct hn_draft *draft)
{
    struct hn_unit *unit = draft->unit;
    HN_EACH(parameter, draft->kernel->parameters) {
        const char *given = named(draft, single(draft, parameter->given), false);
        if (given != NULL && strcmp(given, parameter->instance) != 0)
            add_constraint(draft, HN_DRAFT_TEXT(draft, "%s == %s", parameter->instance, given));
    }
    HN_EACH_AT(i, unit, draft->kernel->body, "< /") {
        bool divides = hn_at(unit, i, "/") && !hn_at(unit, i - 2, "+ - * -> -- ++ += -= *=");
        bool loop = hn_at(unit, i + 2, ";") && hn_at(unit, i + 4, "+=") && hn_at(unit, i + 6, ")");
        const char *whole = named(draft, hn_text_at(unit, divides ? i - 1 : i + 1), false);
        const char *part = named(draft, hn_text_at(unit, divides ? i + 1 : i + 5), false);
        if ((loop || divides) && whole != NULL && part != NULL && whole != part)
            add_constraint(draft, HN_DRAFT_TEXT(draft, "%s %% %s == 0", whole, part));
    }
}

/* How much work there is: sizes of a known grid, or those that bound an index; else the first. */
static void find_extents(struct hn_draft *draft)
{
    const char *all = "";
    bool fixed = draft->grid_is_known;
    for (int axis = 0; axis < draft->dimensions; axis++) {
        bool told =
            draft->grid[axis] != NULL && !HN_DRAFT_IS(draft, draft->grid[axis], HN_OF_PARAMETERS);
        const char *work = told ? draft->grid[axis] : find_bound(draft, axis);
        fixed = fixed && !told;
        all = HN_DRAFT_TEXT(draft, "%s %s", all, work != NULL ? work : "");
    }
    HN_DRAFT_FLAG(draft, "fixed", fixed);
    HN_EACH(size, draft->names)
        size->is_extent |= size->is_size && !size->made && !(size->host && size->told) &&
                           hn_text_find_word(all, size->name, strlen(size->name)) &&
                           strstr(all, HN_DRAFT_TEXT(draft, "- %s", size->name)) == NULL &&
                           strstr(all, HN_DRAFT_TEXT(draft, "+ 2 * %s", size->name)) == NULL &&
                           strstr(all, HN_DRAFT_TEXT(draft, "// %s", size->name)) == NULL;
    HN_EACH(size, draft->names)
        if (size->is_extent ||
            (size->is_size && !size->made && find_extent(draft, NULL, 0) == NULL &&
             !draft->grid_is_known && !hn_is_like(size->own, "pitch"))) {
            size->preset = size->told ? size->preset : hn_integer(0);
            size->is_extent = true;
        }
}

/* With a block that is guessed blocks that do not follow it may be too few. */
static void take_grid(struct hn_draft *draft, bool block_is_taken)
{
    const char **grid = draft->grid, *block = draft->block[0];
    const int dimensions = draft->dimensions;
    draft->grid_is_known = take(draft, true, grid);
    if (!block_is_taken && grid[0] != NULL && !hn_text_find_word(grid[0], block, strlen(block)) &&
        (HN_DRAFT_IS(draft, grid[0], HN_OF_NOTHING) || strpbrk(grid[0], "/(") != NULL)) {
        memset(draft->grid, 0, sizeof draft->grid);
        draft->grid_is_known = false;
        draft->dimensions = dimensions;
    }
}

void hn_draft_read_launch(struct hn_draft *draft)
{
    struct hn_tokens bounds = {0, 0};
    HN_EACH_AT(i, draft->unit, draft->kernel->head, "__launch_bounds__")
        split(draft->unit, hn_inside(draft->unit, i + 1), &bounds, 1);
    draft->bounds = hn_draft_translate(draft, bounds);
    read_passed(draft);
    bool taken = take_block(draft);
    if (!taken)
        guess_block(draft);
    take_grid(draft, taken);
    find_extents(draft);
    if (!draft->grid_is_known)
        guess_grid(draft);
    int count = 0;
    HN_EACH(each, draft->names)
        if (each->is_extent) {
            draft->elements = hn_times(draft->unit, draft->elements, each->name);
            count++;
        }
    draft->elements = count > 0 ? draft->elements : "4194304";
    /* A square or a cube has one extent. */
    for (int axis = 1; count == 1 && axis < draft->dimensions; axis++)
        if (strcmp(draft->grid[axis], "1") != 0)
            draft->elements = hn_times(draft->unit, draft->elements, extent_of(draft, axis));
    /* A few million elements in all. */
    count = count == 1 ? draft->dimensions : count;
    HN_EACH(size, draft->names)
        if (size->is_size && size->preset.integer == 0)
            size->preset = hn_integer(count > 1 || size->is_extent ? 1 << 22 / count : 1);
    HN_EACH_AT(i, draft->unit, HN_EVERYWHERE, "__constant__") /* some have their values there */
        if (!HN_HAS(draft->unit, HN_REST(draft->unit, i), "="))
            HN_DRAFT_FLAG(draft, "constants", true);
    /* Shared bytes of the launch; a function that the kernel calls may have the array. */
    const struct hn_tokens bytes = draft->launch[HN_LAUNCH_SHARED];
    const char *told = hn_draft_translate(draft, bytes);
    bool shares = bytes.end > bytes.begin && (told == NULL || strcmp(told, "0") != 0);
    HN_EACH_AT(i, draft->unit, draft->kernel->body, "__shared__")
        shares |= hn_at(draft->unit, i - 1, "extern");
    if (shares) {
        told = draft->dimensions == 1 ? with_block(draft, told, 0) : told;
        draft->shared_bytes = told != NULL ? told : "0";
        if (told == NULL && draft->capture == NULL)
            hn_draft_note(draft, "shared_todo", "the bytes of the extern __shared__ array");
    }
    hn_draft_bound_threads(draft);
    read_divisions(draft);
}
