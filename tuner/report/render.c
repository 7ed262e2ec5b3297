/* SPDX-License-Identifier: MIT */
#include "tuner/report/render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "cache/record/record.h"
#include "runtime/plan/launch.h"
#include "tuner/report/table.h"

/* "12.34 us", "1.234 ms", "2.1 s": four significant digits. */
static void format_time(double us, char text[HN_FORMAT_SIZE])
{
    static const struct {
        double scale;
        const char *unit;
    } units[] = {{1e6, "s"}, {1e3, "ms"}, {1, "us"}};
    /* The bounds are where the last digit shown rounds up to one more before the point. */
    size_t u = us >= 999.95e3 ? 0 : us >= 999.95 ? 1 : 2;
    double number = us / units[u].scale;
    int decimals = number >= 99.995 ? 1 : number >= 9.9995 ? 2 : 3;
    snprintf(text, HN_FORMAT_SIZE, "%.*f %s", decimals, number, units[u].unit);
}

/* "42 s", "3 min 20 s", "1 h 05 min". */
static void format_duration(double seconds, char text[HN_FORMAT_SIZE])
{
    long whole = lround(seconds);
    if (seconds < 9.95)
        snprintf(text, HN_FORMAT_SIZE, "%.1f s", seconds);
    else if (whole < 60)
        snprintf(text, HN_FORMAT_SIZE, "%ld s", whole);
    else if (whole < 3600)
        snprintf(text, HN_FORMAT_SIZE, "%ld min %02ld s", whole / 60, whole % 60);
    else
        snprintf(text, HN_FORMAT_SIZE, "%ld h %02ld min", whole / 3600, whole % 3600 / 60);
}

int hn_format_percent(double share)
{
    return (int)floor(share * 100 + 0.5);
}

/* "12.3 KiB". */
static void format_bytes(double bytes, char text[HN_FORMAT_SIZE])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t u = 0;
    for (; bytes >= 1024 && u + 1 < sizeof units / sizeof units[0]; u++)
        bytes /= 1024;
    snprintf(text, HN_FORMAT_SIZE, "%.*f %s", u == 0 || bytes >= 100 ? 0 : 1, bytes, units[u]);
}

json_t *hn_render_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

void hn_render_insert(json_t *list, const char *key, bool rises, json_t *item)
{
    size_t place = json_array_size(list);
    double own = json_number_value(json_object_get(item, key));
    for (; place > 0; place--) {
        double other = json_number_value(json_object_get(json_array_get(list, place - 1), key));
        if (rises ? other <= own : other >= own)
            break;
    }
    json_array_insert_new(list, place, item);
}

json_t *hn_render_text(struct hn_text *text)
{
    char *taken HN_FREED = hn_needed(hn_text_take(text));
    return taken[0] != '\0' ? hn_string_to_json(taken) : NULL;
}

json_t *hn_render_names(char *const *names, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, hn_string_to_json(names[i]));
    return array;
}

static const json_t *find(const struct hn_render_place *place, const char *path, size_t length)
{
    const json_t *value = place->item;
    const char *end = path + length;
    if (length > 0 && *path == '/') {
        value = place->document;
        path++;
    }
    while (path < end && value != NULL) {
        size_t step = strcspn(path, ".");
        step = path + step > end ? (size_t)(end - path) : step;
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)step, path);
        bool star = place->star != NULL && strcmp(name, "*") == 0;
        value = json_object_get(value, star ? place->star : name);
        path += step + 1;
    }
    return value;
}

/* Of an array its length; NaN: it is no number. */
static double number_of(const json_t *value)
{
    double real = NAN;
    if (json_is_number(value))
        return json_number_value(value);
    if (json_is_boolean(value))
        return json_is_true(value);
    if (json_is_array(value))
        return (double)json_array_size(value);
    return json_is_object(value) && hn_real_from_json(value, &real) ? real : (double)NAN;
}

/* A number, a path, or several of both. */
static double evaluate(const struct hn_render_place *place, const char *terms, size_t length)
{
    const char *end = terms + length;
    double result = 0;
    char sign = '+';
    if (length == 0)
        return number_of(place->item);
    for (bool first = true; terms < end; first = false) {
        size_t size = 1;
        while (terms + size < end && strchr("+-*/", terms[size]) == NULL)
            size++;
        double term = *terms == '#'                    ? (double)place->number
                      : *terms >= '0' && *terms <= '9' ? hn_c_strtod(terms, NULL)
                                                       : number_of(find(place, terms, size));
        /* Of a sum what is not there is nothing. */
        term = isnan(term) && !first && (sign == '+' || sign == '-') ? 0 : term;
        result = sign == '+'   ? result + term
                 : sign == '-' ? result - term
                 : sign == '*' ? result * term
                               : result / term;
        terms += size;
        sign = terms < end ? *terms++ : '\0';
    }
    return result;
}

static bool is_missing(const json_t *value)
{
    return value == NULL || json_is_null(value) ||
           (json_is_string(value) && json_string_length(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0);
}

static void append_value(struct hn_text *text, const json_t *json);

/* Of an array's items, so many, and how many more there are; or its places, counted from 1. */
static void append_items(struct hn_text *text, const json_t *items, const char *separator,
                         size_t most, bool places)
{
    size_t count = json_array_size(items);
    for (size_t i = 0; i < count && i < most; i++) {
        hn_text_append(text, i > 0 ? separator : "");
        if (places)
            hn_text_printf(text, "%.0f", number_of(json_array_get(items, i)) + 1);
        else
            append_value(text, json_array_get(items, i));
    }
    if (count > most)
        hn_text_printf(text, ", ... (%zu more)", count - most);
}

static void append_value(struct hn_text *text, const json_t *json)
{
    struct hn_value value;
    const char *name, *separator = "";
    json_t *item;
    if (json_is_string(json)) {
        hn_text_append(text, json_string_value(json));
    } else if (json_is_array(json)) {
        append_items(text, json, ", ", SIZE_MAX, false);
    } else if (hn_value_from_json(json, &value, NULL) == HN_OK) {
        hn_value_append(text, &value);
    } else {
        json_object_foreach((json_t *)(uintptr_t)json, name, item)
        {
            hn_text_printf(text, "%s%s=", separator, name);
            append_value(text, item);
            separator = ",";
        }
    }
}

/* Of an object of outcomes, how many there are of each, or what those that failed mean. */
static void append_outcomes(struct hn_text *text, const json_t *counts, bool means)
{
    const char *separator = "";
    for (int i = means ? HN_OUTCOME_OK + 1 : 0; i < HN_OUTCOME_COUNT; i++) {
        const char *name = hn_outcome_names[(enum hn_outcome)i];
        const json_t *count = json_object_get(counts, name);
        if (count == NULL)
            continue;
        if (means)
            hn_text_printf(text, "%s%s: %s", separator, name, hn_outcome_meanings[i]);
        else
            hn_text_printf(text, "%s%lld %s", separator, (long long)json_integer_value(count),
                           name);
        separator = means ? "; " : ", ";
    }
}

static void append_origin(struct hn_text *text, const json_t *json)
{
    struct hn_origin origin = {.imported = number_of(json_object_get(json, "imported"))};
    snprintf(origin.machine, sizeof origin.machine, "%s",
             json_string_value(json_object_get(json, "machine")));
    snprintf(origin.source, sizeof origin.source, "%s",
             json_string_value(json_object_get(json, "source")));
    char *shown HN_FREED = hn_needed(hn_origin_text(&origin));
    hn_text_append(text, shown);
}

/* Units of a GPU that do something to speak of. */
static void append_busy(struct hn_text *text, const json_t *units)
{
    const double least = 0.05;
    const char *name, *separator = "";
    json_t *share;
    json_object_foreach((json_t *)(uintptr_t)units, name, share)
    {
        if (number_of(share) < least)
            continue;
        hn_text_printf(text, "%s%s %d%%", separator, name, hn_format_percent(number_of(share)));
        separator = ", ";
    }
}

/* Half the interval over the median: "0.3%"; "?" when there is none. */
static void append_spread(struct hn_text *text, const json_t *json, bool with_time)
{
    char time[HN_FORMAT_SIZE];
    double median_us = number_of(json_object_get(json, "median_us"));
    double low_us = number_of(json_object_get(json, "low_us"));
    double spread = (number_of(json_object_get(json, "high_us")) - low_us) / 2 / median_us;
    format_time(median_us, time);
    hn_text_printf(text, "%s%s", with_time ? time : "", with_time ? " ±" : "");
    if (isfinite(spread) && spread > 0)
        hn_text_printf(text, "%.*f%%", spread < 0.01 ? 2 : 1, spread * 100);
    else
        hn_text_append(text, "?");
}

/* Formats of values that are no numbers. */
static const char *const value_formats[] = {"regime", "origin", "timing", "spread", "few",
                                            "places", "words",  "busy",   "counts", "meanings"};

static void append_regime(struct hn_text *text, const char *regime)
{
    static const char *const words[][2] = {{HN_REGIME_UNKNOWN, "L2 state not recorded"},
                                           {"stream", "back to back in a stream"},
                                           {"graph", "replayed as a graph"},
                                           {"graph10", "in graphs of ten"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(regime, words[i][0]) == 0) {
            hn_text_append(text, words[i][1]);
            return;
        }
    hn_text_printf(text, "%s L2", regime);
}

static void append_named(struct hn_text *text, const json_t *value, const char *format)
{
    enum { FEW = 12 };
    if (strcmp(format, "regime") == 0) {
        append_regime(text, json_string_value(value));
    } else if (strcmp(format, "origin") == 0) {
        append_origin(text, value);
    } else if (strcmp(format, "timing") == 0 || strcmp(format, "spread") == 0) {
        append_spread(text, value, *format == 't');
    } else if (strcmp(format, "few") == 0 || strcmp(format, "places") == 0) {
        append_items(text, value, ", ", *format == 'f' ? FEW : SIZE_MAX, *format == 'p');
    } else if (strcmp(format, "words") == 0) {
        append_items(text, value, " ", SIZE_MAX, false);
    } else if (strcmp(format, "busy") == 0) {
        append_busy(text, value);
    } else {
        append_outcomes(text, value, *format == 'm');
    }
}

/* "12.4 mJ"; "" for none. */
static void format_energy(double joules, char text[HN_FORMAT_SIZE])
{
    static const char *const units[] = {"J", "mJ", "uJ"};
    size_t unit = 0;
    for (; unit < 2 && joules < 1; unit++)
        joules *= 1e3;
    text[0] = '\0';
    if (joules > 0)
        snprintf(text, HN_FORMAT_SIZE, "%.4g %s", joules, units[unit]);
}

static void format_date(double seconds, char text[HN_FORMAT_SIZE])
{
    const time_t moment = (time_t)seconds;
    struct tm utc;
    if (gmtime_r(&moment, &utc) == NULL || strftime(text, HN_FORMAT_SIZE, "%Y-%m-%d", &utc) == 0)
        snprintf(text, HN_FORMAT_SIZE, "?");
}

static void format_merit(double number, char text[HN_FORMAT_SIZE])
{
    const double size = fabs(number);
    const char *format = size >= 100 ? "%.0f" : size >= 0.1 || size == 0 ? "%.2f" : "%.3g";
    snprintf(text, HN_FORMAT_SIZE, format, number);
}

/* ".1f", "+.2%", or a name. Operations a byte (intensity) and bytes a second have two digits, or
 * all of a whole number. */
static void format_number(double number, const char *format, char text[HN_FORMAT_SIZE])
{
    char own[16];
    size_t length = strlen(format);
    bool share = format[length - 1] == '%';
    snprintf(own, sizeof own, "%%%.*s%s", (int)(share ? length - 1 : length), format,
             share ? "f%%" : "");
    if (strcmp(format, "date") == 0)
        format_date(number, text);
    else if (strcmp(format, "time") == 0)
        format_time(number, text);
    else if (strcmp(format, "duration") == 0)
        format_duration(number, text);
    else if (strcmp(format, "bytes") == 0)
        format_bytes(number, text);
    else if (strcmp(format, "energy") == 0)
        format_energy(number, text);
    else if (strcmp(format, "s") == 0)
        snprintf(text, HN_FORMAT_SIZE, "%s", number == 1 ? "" : "s");
    else if (strcmp(format, "percent") == 0)
        snprintf(text, HN_FORMAT_SIZE, "%d%%", hn_format_percent(number));
    else if (strcmp(format, "merit") == 0)
        format_merit(number, text);
    else if (strcmp(format, "intensity") == 0)
        snprintf(text, HN_FORMAT_SIZE, number < 10 ? "%.2g" : "%.0f", number);
    else
        snprintf(text, HN_FORMAT_SIZE, own, share ? number * 100 : number);
}

/* False where the value is missing. */
static bool append_formatted(struct hn_text *text, const struct hn_render_place *place,
                             const char *path, size_t length, const char *format)
{
    char shown[HN_FORMAT_SIZE];
    const json_t *value = find(place, path, length);
    if (hn_text_is_among(format, value_formats, sizeof value_formats / sizeof *value_formats)) {
        size_t before = text->length;
        if (!is_missing(value))
            append_named(text, value, format);
        /* Of units that do nothing to speak of the line stays. */
        return text->length > before || (!is_missing(value) && strcmp(format, "busy") == 0);
    }
    double number = evaluate(place, path, length);
    if (isnan(number))
        return false;
    format_number(number, format, shown);
    hn_text_append(text, shown);
    return shown[0] != '\0' || strcmp(format, "energy") != 0;
}

/* "path", "path=word,word", "path>number" */
static bool holds(const struct hn_render_place *place, const char *test, size_t length)
{
    bool contrary = *test == '!';
    test += contrary;
    length -= contrary;
    size_t left = strcspn(test, "=<>}");
    bool found = false;
    if (left == length) {
        const json_t *value = find(place, test, length);
        found = !is_missing(value) && number_of(value) != 0;
    } else if (test[left] == '=') {
        const char *value = json_string_value(find(place, test, left));
        const char *word = test + left + 1;
        if (value == NULL)
            return (evaluate(place, test, left) == evaluate(place, word, length - left - 1)) !=
                   contrary;
        while (!found && word < test + length) {
            size_t size = strcspn(word, ",}");
            found = strlen(value) == size && memcmp(value, word, size) == 0;
            word += size + 1;
        }
    } else {
        double number = evaluate(place, test, left);
        double other = evaluate(place, test + left + 1, length - left - 1);
        found = test[left] == '<' ? number < other : number > other;
    }
    return found != contrary;
}

/* What stands between braces. A format that begins with "<" says how wide the value is at least. */
static bool append_field(struct hn_text *text, const struct hn_render_place *place,
                         const char *field, size_t length)
{
    char format[32] = "";
    const char *colon = memchr(field, ':', length);
    size_t before = text->length;
    if (place->part != NULL && place->part(place->context, field, length, text))
        return true;
    if (*field == '?')
        return holds(place, field + 1, length - 1);
    if (colon != NULL) {
        snprintf(format, sizeof format, "%.*s", (int)(field + length - colon - 1), colon + 1);
        length = (size_t)(colon - field);
    }
    if (format[0] != '\0' && format[0] != '<')
        return append_formatted(text, place, field, length, format);
    const json_t *value = find(place, field, length);
    if (*field == '#')
        hn_text_printf(text, "%zu", place->number);
    else if (*field == '@')
        hn_text_append(text, place->name);
    else if (is_missing(value))
        return false;
    else
        append_value(text, value);
    if (format[0] == '<') {
        size_t width = strtoul(format + 1, NULL, 10);
        size_t shown = hn_terminal_width(text->data + before, text->length - before);
        hn_text_printf(text, "%*s", shown < width ? (int)(width - shown) : 0, "");
    }
    return true;
}

static bool append_alternatives(struct hn_text *text, const struct hn_render_place *place,
                                const char **line);

/* How many characters the mark here has; 0: there is none. Only in brackets something ends. */
static size_t mark_at(const struct hn_render_place *place, const char *at, bool inside)
{
    if (*at == '\0' || strchr(inside ? "{[]|" : "{[", *at) == NULL)
        return 0;
    if (!place->doubled)
        return 1;
    return at[1] == *at && (*at != '{' || at[2] != '{') ? 2 : 0;
}

/* Up to what ends the part. False where it is left out: then nothing was appended. */
static bool append_part(struct hn_text *text, const struct hn_render_place *place,
                        const char **line, bool inside)
{
    size_t began = text->length, mark;
    bool whole = true;
    const char *at = *line;
    for (;; at += mark) {
        size_t plain = 0;
        while (at[plain] != '\0' && mark_at(place, at + plain, inside) == 0)
            plain++;
        hn_text_append_bytes(text, at, plain);
        at += plain;
        mark = mark_at(place, at, inside);
        if (mark == 0 || *at == ']' || *at == '|')
            break;
        if (*at == '{') {
            size_t length = strcspn(at + mark, "}");
            whole = append_field(text, place, at + mark, length) && whole;
            at += mark + length;
        } else {
            at += mark;
            (void)append_alternatives(text, place, &at);
            mark = 0;
        }
    }
    *line = at;
    if (!whole && text->data != NULL)
        text->data[text->length = began] = '\0';
    return whole;
}

/* Up to the bracket that closes them. */
static bool append_alternatives(struct hn_text *text, const struct hn_render_place *place,
                                const char **line)
{
    bool chosen = false;
    size_t mark = place->doubled ? 2 : 1;
    while (**line != '\0' && **line != ']') {
        struct hn_text ignored HN_ENDED_BY(hn_text_finish) = {0};
        chosen = append_part(chosen ? &ignored : text, place, line, true) || chosen;
        *line += **line == '|' ? mark : 0;
    }
    *line += **line == ']' ? mark : 0;
    return chosen;
}

bool hn_render_at(struct hn_text *text, const struct hn_render_place *place, const char *line)
{
    return append_part(text, place, &line, false);
}

bool hn_render_line(struct hn_text *text, const json_t *document, const char *line)
{
    const struct hn_render_place place = {.document = document, .item = document};
    return hn_render_at(text, &place, line);
}

static void print_line(const struct hn_view *view, const struct hn_render_place *place, FILE *file)
{
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    bool breaks = view->wraps || (file == stdout && isatty(STDOUT_FILENO) != 0);
    size_t columns = breaks ? hn_terminal_columns(file) : SIZE_MAX;
    if (hn_render_at(&text, place, view->line)) {
        char *line HN_FREED = hn_needed(hn_text_take(&text));
        for (char *at = line, *end; at != NULL;
             at = end != NULL && end[1] != '\0' ? end + 1 : NULL) {
            end = strchr(at, '\n');
            if (end != NULL)
                *end = '\0';
            size_t indent = breaks ? strspn(at, " ") : 0;
            if (breaks && at[indent] != '\0')
                hn_terminal_print(file, indent, columns, at + indent);
            else
                fprintf(file, "%s\n", at);
        }
    }
}

/* The headings, then the cells of each row. */
static void print_table(const struct hn_view *view, const json_t *document, FILE *file)
{
    struct hn_render_place place = {.document = document, .item = document};
    const json_t *rows = find(&place, view->at, strlen(view->at));
    const json_t *stars = json_object_get(document, "parameters");
    size_t count = json_array_size(rows);
    count = view->most > 0 && count > view->most ? view->most : count;
    struct hn_table *table = hn_table_create((const char *const[]){NULL});
    size_t tied = 0;
    if (view->tied != NULL)
        tied = (size_t)fmax(evaluate(&place, view->tied, strlen(view->tied)), 1);
    for (; place.number <= count; place.number++) {
        bool heads = place.number == 0;
        place.item = heads ? document : json_array_get(rows, place.number - 1);
        for (const struct hn_column *column = view->columns; column->heading != NULL; column++) {
            bool star = strcmp(column->heading, "=*") == 0;
            for (size_t s = 0; s < (star ? json_array_size(stars) : 1); s++) {
                struct hn_text text = {0};
                place.star = star ? json_string_value(json_array_get(stars, s)) : NULL;
                const char *heading = star ? place.star : column->heading;
                (void)hn_render_at(&text, &place, heads ? heading : column->cell);
                char *shown HN_FREED = hn_needed(hn_text_take(&text));
                if (heads)
                    hn_table_column(table, star ? "=" : "", shown);
                else
                    hn_table_cell(table, "%s", shown);
            }
        }
    }
    if (count > 0)
        hn_table_print(table, tied, file, view->indent);
    hn_table_destroy(table);
}

/* Of each item of an array, or member of an object. */
static void print_items(const struct hn_view *view, const json_t *document, FILE *file)
{
    struct hn_render_place place = {.document = document, .item = document};
    size_t length = strcspn(view->at, "*"), i;
    const json_t *items = find(&place, view->at, length - (view->at[length] == '*'));
    json_t *item;
    if (view->at[length] == '*') {
        json_object_foreach((json_t *)(uintptr_t)items, place.name, place.item)
        {
            print_line(view, &place, file);
        }
    } else if (json_is_object(items)) {
        place.item = items;
        print_line(view, &place, file);
    }
    json_array_foreach(items, i, item)
    {
        if (view->most > 0 && i == view->most)
            break;
        place.item = item;
        place.number = i + 1;
        print_line(view, &place, file);
    }
}

void hn_render(const json_t *document, const struct hn_view *views, FILE *file)
{
    const struct hn_render_place place = {.document = document, .item = document};
    for (; views->line != NULL || views->columns != NULL; views++) {
        if (views->columns != NULL)
            print_table(views, document, file);
        else if (views->at != NULL)
            print_items(views, document, file);
        else
            print_line(views, &place, file);
    }
}

const char *hn_format_merit_name(const struct hn_plan *plan)
{
    if (strcmp(plan->objective, "time") != 0 && !hn_plan_weighs(plan))
        return plan->objective;
    return plan->metric_count > 0 ? plan->metrics[plan->metric_count - 1].name : NULL;
}

double hn_format_merit_value(const struct hn_plan *plan, const struct hn_record *record)
{
    const char *name = hn_format_merit_name(plan);
    const struct hn_value *value = name != NULL ? hn_bindings_get(&record->metrics, name) : NULL;
    return value != NULL ? hn_value_number(value) : (double)NAN;
}

json_t *hn_merit_to_json(const struct hn_plan *plan, const struct hn_record *record)
{
    double value = hn_format_merit_value(plan, record);
    char text[HN_FORMAT_SIZE];
    if (!isfinite(value))
        return json_string("");
    format_merit(value, text);
    return json_sprintf("%s %s", hn_format_merit_name(plan), text);
}
