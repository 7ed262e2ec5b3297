/* SPDX-License-Identifier: MIT */
#include "tuner/config/sites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "tuner/config/config_parts.h"

enum { NUMBER_MOST = 4096, ALL = -1 };

void hn_sites_finish(struct hn_sites *sites)
{
    for (size_t i = 0; i < sites->count; i++) {
        free((char *)sites->items[i].run);
        free((char *)sites->items[i].hone);
    }
    free(sites->items);
    *sites = (struct hn_sites){0};
}

static void add(struct hn_sites *sites, const char *run, const char *hone, int gpus, int compile,
                struct hn_error *err)
{
    if (hn_failed(err))
        return;
    if (sites->count == HN_SITES_MOST) {
        hn_fail(err, HN_ECONFIG, "--workers: more than %d hosts", HN_SITES_MOST);
        return;
    }
    *HN_NEXT(sites->items, sites->count) =
        (struct hn_host_options){hn_need_copy(run), hn_need_copy(hone), gpus, compile, false};
}

/* "all" or a whole number. */
static bool read_number(const char *text, int *number)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (strcmp(text, "all") == 0)
        value = ALL;
    else if (end == text || *end != '\0' || value < 0 || value > NUMBER_MOST)
        return false;
    *number = (int)value;
    return true;
}

static void fail_number(const char *key, const char *found, struct hn_error *err)
{
    hn_fail(err, HN_EUSAGE, "--workers: found %s=%s, expected all or a number from 0 to %d", key,
            found, NUMBER_MOST);
}

/* The text behind "local:". */
static void read_local(const char *text, struct hn_sites *sites, struct hn_error *err)
{
    int gpus = ALL, compile = ALL;
    char *rest = NULL, *copy HN_FREED = hn_need_copy(text);
    for (char *word = strtok_r(copy, " ,", &rest); word != NULL && !hn_failed(err);
         word = strtok_r(NULL, " ,", &rest)) {
        char *equals = strchr(word, '=');
        bool of_gpus = strncmp(word, "gpus=", 5) == 0;
        bool of_compile = strncmp(word, "compile=", 8) == 0;
        if (!of_gpus && !of_compile)
            hn_fail(err, HN_EUSAGE,
                    "--workers: found '%s', expected gpus=N or compile=N, or all as N", word);
        else if (!read_number(equals + 1, of_gpus ? &gpus : &compile))
            fail_number(of_gpus ? "gpus" : "compile", equals + 1, err);
    }
    add(sites, "", NULL, gpus, compile, err);
}

static int read_environment(const char *name, int otherwise)
{
    const char *text = getenv(name);
    int number;
    return text != NULL && read_number(text, &number) && number > 0 ? number : otherwise;
}

/* A step on each node, beside those that run there already. */
static void read_slurm(struct hn_sites *sites, struct hn_error *err)
{
    int nodes = read_environment("SLURM_JOB_NUM_NODES", read_environment("SLURM_NNODES", 0));
    int gpus = read_environment("SLURM_GPUS_ON_NODE", 0);
    int cores = read_environment("SLURM_CPUS_ON_NODE", 0);
    if (getenv("SLURM_JOB_ID") == NULL || nodes < 1)
        hn_fail(err, HN_EUSAGE,
                "--workers slurm: there is no SLURM_JOB_ID with SLURM_JOB_NUM_NODES in the "
                "environment; start hone by salloc or sbatch, or name the hosts in a file");
    for (int i = 0; i < nodes && !hn_failed(err); i++) {
        struct hn_text run HN_ENDED_BY(hn_text_finish) = {0};
        hn_text_printf(&run, "srun --overlap --nodes=1 --ntasks=1 --relative=%d --unbuffered", i);
        if (gpus > 0)
            hn_text_printf(&run, " --gpus-per-node=%d", gpus);
        if (cores > 0)
            hn_text_printf(&run, " --cpus-per-task=%d", cores);
        add(sites, hn_needed(run.data), NULL, ALL, ALL, err);
    }
}

/* "gpu7", "gpu7 slots=16", "gpu7:16" and comments, as Open MPI and MPICH have them. */
static void read_host_line(char *line, struct hn_sites *sites, struct hn_error *err)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_@";
    char run[320];
    int compile = ALL;
    line[strcspn(line, "#")] = '\0';
    char *rest = NULL;
    char *host = strtok_r(line, " \t\r", &rest);
    if (host == NULL)
        return;
    char *slots = strstr(rest, "slots=");
    if (slots != NULL && (slots == rest || slots[-1] != '_')) {
        slots += strlen("slots=");
        slots[strspn(slots, "0123456789")] = '\0';
    } else {
        slots = strchr(host, ':');
        if (slots != NULL)
            *slots++ = '\0';
    }
    if (slots != NULL && !read_number(slots, &compile))
        fail_number("slots", slots, err);
    else if (host[0] == '-' || strspn(host, allowed) != strlen(host) || strlen(host) > 255)
        hn_fail(err, HN_EUSAGE, "--workers hostfile: found '%.80s', expected a host's name", host);
    snprintf(run, sizeof run, "ssh -T %s", host);
    add(sites, run, NULL, ALL, compile, err);
}

static void read_host_file(const char *path, struct hn_sites *sites, struct hn_error *err)
{
    char *text HN_FREED = NULL, *rest = NULL;
    if (hn_file_read(path, 1u << 20, &text, NULL, err) != HN_OK)
        return;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL && !hn_failed(err);
         line = strtok_r(NULL, "\n", &rest))
        read_host_line(line, sites, err);
    if (sites->count == 0 && !hn_failed(err))
        hn_fail(err, HN_ECONFIG, "%s names no host", path);
}

/* A count, or how many of those that are there. */
static void read_amount(struct hn_reader *reader, const struct hn_yaml *node, bool is_count,
                        int *number)
{
    const char *expected = is_count ? "a number from 1" : "all or a number from 0";
    if (!hn_config_expect_kind(reader, node, HN_YAML_SCALAR, expected) || node == NULL)
        return;
    bool valid = read_number(node->text, number);
    hn_config_expect(reader, valid && (!is_count || *number >= 1), node, expected);
}

static void read_line(struct hn_reader *reader, const struct hn_yaml *node, const char *expected,
                      const char **line)
{
    if (node != NULL && hn_config_expect_kind(reader, node, HN_YAML_SCALAR, expected) &&
        hn_config_expect(reader, strchr(node->text, '\n') == NULL, node, expected))
        *line = node->text;
}

static void read_entry(struct hn_reader *reader, const struct hn_yaml *entry,
                       struct hn_sites *sites)
{
    const char *run = "", *hone = NULL;
    int count = 1, gpus = ALL, compile = ALL;
    if (!hn_config_expect_kind(reader, entry, HN_YAML_MAPPING, "a host, as {run: ssh gpu7}"))
        return;
    hn_config_check_keys(reader, entry, "run hone count gpus compile");
    read_line(reader, hn_yaml_get(entry, "run"), "a launcher in one line", &run);
    read_line(reader, hn_yaml_get(entry, "hone"), "the path of a program", &hone);
    read_amount(reader, hn_yaml_get(entry, "count"), true, &count);
    read_amount(reader, hn_yaml_get(entry, "gpus"), false, &gpus);
    read_amount(reader, hn_yaml_get(entry, "compile"), false, &compile);
    for (int i = 0; i < count && !hn_failed(reader->err); i++)
        add(sites, run, hone, gpus, compile, reader->err);
}

static void read_file(const char *path, struct hn_sites *sites, struct hn_error *err)
{
    struct hn_yaml *root = NULL;
    struct hn_blocks blocks HN_ENDED_BY(hn_blocks_finish) = {0};
    if (hn_yaml_load(path, &blocks, &root, err) != HN_OK)
        return;
    struct hn_reader reader = {.path = path, .root = root, .err = err};
    if (hn_config_expect_kind(&reader, root, HN_YAML_MAPPING, "workers: and a list of hosts"))
        hn_config_check_keys(&reader, root, "workers");
    const struct hn_yaml *list = hn_config_need(&reader, root, "workers");
    const struct hn_yaml *entry = hn_config_list(&reader, list, "a list of hosts");
    hn_config_expect(&reader, entry != NULL, list, "a host at least");
    for (; entry != NULL; entry = entry->next)
        read_entry(&reader, entry, sites);
}

enum hn_status hn_sites_read(const char *text, bool install, bool compiles_here,
                             struct hn_sites *sites, struct hn_error *err)
{
    *sites = (struct hn_sites){0};
    hn_error_init(err);
    if (strcmp(text, "local") == 0 || strncmp(text, "local:", 6) == 0)
        read_local(text[5] == ':' ? text + 6 : "", sites, err);
    else if (strcmp(text, "slurm") == 0)
        read_slurm(sites, err);
    else if (strncmp(text, "hostfile:", 9) == 0)
        read_host_file(text + 9, sites, err);
    else
        read_file(text, sites, err);
    bool here = !compiles_here;
    HN_EACH(host, *sites) {
        bool elsewhere = host->run[0] != '\0';
        host->install = install && host->hone == NULL && elsewhere;
        host->compile = elsewhere && compiles_here ? 0 : host->compile;
        here |= host->compile != 0;
    }
    if (!here && !hn_failed(err))
        add(sites, "", NULL, 0, ALL, err);
    if (hn_failed(err))
        hn_sites_finish(sites);
    return err->status;
}
