/* SPDX-License-Identifier: MIT */
#include "runtime/compile/cubin.h"

#include <elf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "runtime/compile/cubin_internal.h"

/* A cubin's machine in ELF. */
enum { MACHINE_CUDA = 190 };
/* More than any program has; they bound the time that a hostile file can take. */
enum { MOST_SECTIONS = 8192, NAME_BYTES = 65536 };

struct file {
    const unsigned char *bytes;
    size_t size;
    Elf64_Ehdr header;
};

static bool holds(const struct file *file, uint64_t offset, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset;
}

static enum hn_status fail(const char *what, struct hn_error *err)
{
    return hn_fail(err, HN_EFORMAT, "not a valid cubin: %s", what);
}

/* The string at offset, or NULL when it does not end within the section, or is too long for a name.
 */
static const char *string_at(const struct hn_cubin_section *table, uint64_t offset)
{
    if (table->data == NULL || offset >= table->size)
        return NULL;
    size_t left = table->size - offset;
    if (memchr(table->data + offset, '\0', left < NAME_BYTES ? left : NAME_BYTES) == NULL)
        return NULL;
    return (const char *)table->data + offset;
}

static enum hn_status read_header(struct file *file, struct hn_error *err)
{
    if (file->bytes == NULL || file->size < sizeof file->header)
        return fail("too short", err);
    memcpy(&file->header, file->bytes, sizeof file->header);
    const Elf64_Ehdr *header = &file->header;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB)
        return fail("no 64-bit ELF file", err);
    if (header->e_machine != MACHINE_CUDA)
        return fail("ELF, but not for a GPU", err);
    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum == 0 ||
        header->e_shnum > MOST_SECTIONS || header->e_shstrndx >= header->e_shnum ||
        !holds(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)))
        return fail("its section table is damaged", err);
    if (!holds(file, header->e_phoff, (uint64_t)header->e_phnum * header->e_phentsize))
        return fail("its program header is cut off", err);
    return HN_OK;
}

static Elf64_Shdr section_header(const struct file *file, size_t index)
{
    Elf64_Shdr header;
    memcpy(&header, file->bytes + file->header.e_shoff + index * sizeof header, sizeof header);
    return header;
}

static enum hn_status read_section(const struct file *file, size_t index,
                                   struct hn_cubin_section *section, struct hn_error *err)
{
    Elf64_Shdr header = section_header(file, index);
    bool empty = header.sh_type == SHT_NOBITS || header.sh_type == SHT_NULL;
    if (!empty && !holds(file, header.sh_offset, header.sh_size))
        return fail("a section lies beyond its end", err);
    *section = (struct hn_cubin_section){
        .type = header.sh_type,
        .flags = header.sh_flags,
        .info = header.sh_info,
        .link = header.sh_link,
        .data = empty ? NULL : file->bytes + header.sh_offset,
        .size = (size_t)header.sh_size,
    };
    return HN_OK;
}

static enum hn_status read_sections(const struct file *file, struct hn_cubin *cubin,
                                    struct hn_error *err)
{
    cubin->sections = calloc((size_t)file->header.e_shnum + 1, sizeof *cubin->sections);
    if (cubin->sections == NULL)
        return hn_fail_memory(err);
    cubin->section_count = file->header.e_shnum;
    for (size_t i = 0; i < cubin->section_count; i++) {
        enum hn_status status = read_section(file, i, &cubin->sections[i], err);
        if (status != HN_OK)
            return status;
    }
    const struct hn_cubin_section *names = &cubin->sections[file->header.e_shstrndx];
    for (size_t i = 0; i < cubin->section_count; i++) {
        cubin->sections[i].name = string_at(names, section_header(file, i).sh_name);
        if (cubin->sections[i].name == NULL)
            return fail("a section has no name", err);
    }
    return HN_OK;
}

static enum hn_status read_symbols(struct hn_cubin *cubin, const struct hn_cubin_section *table,
                                   struct hn_error *err)
{
    if (table->link >= cubin->section_count || table->data == NULL)
        return fail("its symbols have no names", err);
    const struct hn_cubin_section *names = &cubin->sections[table->link];
    size_t count = table->size / sizeof(Elf64_Sym);
    cubin->symbols = calloc(count > 0 ? count : 1, sizeof *cubin->symbols);
    if (cubin->symbols == NULL)
        return hn_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, table->data + i * sizeof symbol, sizeof symbol);
        const char *name = string_at(names, symbol.st_name);
        if (name == NULL)
            return fail("a symbol has no name", err);
        cubin->symbols[i] = (struct hn_cubin_symbol){
            .name = name,
            .section = symbol.st_shndx == SHN_UNDEF ? SIZE_MAX : symbol.st_shndx,
            .value = symbol.st_value,
            .size = symbol.st_size,
            .type = ELF64_ST_TYPE(symbol.st_info),
            .other = symbol.st_other,
        };
    }
    cubin->symbol_count = count;
    return HN_OK;
}

static void close_cubin(struct hn_cubin *cubin)
{
    free(cubin->symbols);
    free(cubin->sections);
    *cubin = (struct hn_cubin){0};
}

static enum hn_status open_cubin(const void *bytes, size_t size, struct hn_cubin *cubin,
                                 struct hn_error *err)
{
    *cubin = (struct hn_cubin){0};
    struct file file = {.bytes = bytes, .size = size};
    enum hn_status status = read_header(&file, err);
    if (status == HN_OK)
        status = read_sections(&file, cubin, err);
    for (size_t i = 0; status == HN_OK && i < cubin->section_count; i++) {
        if (cubin->sections[i].type == SHT_SYMTAB) {
            status = read_symbols(cubin, &cubin->sections[i], err);
            break;
        }
    }
    if (status != HN_OK)
        close_cubin(cubin);
    return status;
}

const struct hn_cubin_section *hn_cubin_find(const struct hn_cubin *cubin, const char *prefix,
                                             const char *name)
{
    size_t length = strlen(prefix);
    for (size_t i = 0; i < cubin->section_count; i++) {
        const char *full = cubin->sections[i].name;
        if (strncmp(full, prefix, length) == 0 && strcmp(full + length, name) == 0)
            return &cubin->sections[i];
    }
    return NULL;
}

/* In st_other of a symbol. */
enum { SYMBOL_IS_KERNEL = 0x10 };

static bool is_kernel(const struct hn_cubin_symbol *symbol)
{
    return symbol->type == STT_FUNC && (symbol->other & SYMBOL_IS_KERNEL) != 0;
}

void hn_cubin_each_attribute(const struct hn_cubin_section *section,
                             void (*visit)(void *context, unsigned attribute,
                                           const unsigned char *payload, size_t size),
                             void *context)
{
    enum { FORMAT_SIZED = 4 };
    size_t offset = 0;
    while (section != NULL && section->data != NULL && offset + 4 <= section->size) {
        const unsigned char *record = section->data + offset;
        size_t size = (size_t)record[2] | (size_t)record[3] << 8;
        offset += 4;
        if (record[0] != FORMAT_SIZED) {
            visit(context, record[1], record + 2, 2);
            continue;
        }
        if (size > section->size - offset)
            return;
        visit(context, record[1], record + 4, size);
        offset += size;
    }
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum hn_status hn_cubin_read_kernels(const void *bytes, size_t size,
                                     struct hn_kernel_names *kernels, struct hn_error *err)
{
    struct hn_cubin cubin;
    *kernels = (struct hn_kernel_names){.names = NULL};
    enum hn_status status = open_cubin(bytes, size, &cubin, err);
    if (status != HN_OK)
        return status;
    kernels->names = calloc(cubin.symbol_count + 1, sizeof *kernels->names);
    bool failed = kernels->names == NULL;
    for (size_t i = 0; i < cubin.symbol_count && !failed; i++) {
        if (!is_kernel(&cubin.symbols[i]))
            continue;
        char *name = strdup(cubin.symbols[i].name);
        failed = name == NULL;
        if (!failed)
            kernels->names[kernels->count++] = name;
    }
    close_cubin(&cubin);
    if (!failed) {
        qsort(kernels->names, kernels->count, sizeof *kernels->names, compare);
        return HN_OK;
    }
    hn_kernel_names_finish(kernels);
    return hn_fail_memory(err);
}

void hn_kernel_names_finish(struct hn_kernel_names *kernels)
{
    for (size_t i = 0; i < kernels->count; i++)
        free(kernels->names[i]);
    free(kernels->names);
    *kernels = (struct hn_kernel_names){.names = NULL};
}

/* Attributes of .nv.info with the payload {symbol, number}. */
enum { ATTRIBUTE_MAX_THREADS = 0x05 }; /* of .nv.info.<kernel>, with the payload {x, y, z} */
enum { ATTRIBUTE_FRAME = 0x11, ATTRIBUTE_MINIMUM_STACK = 0x12, ATTRIBUTE_REGISTERS = 0x2f };
/* A parameter, of .nv.info.<kernel>, with the payload {u32 0, u16 place, u16 offset, u32}: the last
 * has the size in its upper 14 bits, or where parameters may be larger in its lower 16. */
enum { ATTRIBUTE_PARAMETER = 0x17, ATTRIBUTE_LARGE_PARAMETER = 0x45 };
/* They take 32764 bytes together, and none takes less than one. */
enum { MOST_PARAMETERS = 32764 };
/* What the driver keeps of a block's shared memory; from sm_90 on the linker counts it in. */
enum { SHARED_RESERVED = 1024 };
/* The kernel's index, or symbol_count. */
static size_t find_kernel(const struct hn_cubin *cubin, const char *name)
{
    for (size_t i = 0; i < cubin->symbol_count; i++) {
        if (is_kernel(&cubin->symbols[i]) && strcmp(cubin->symbols[i].name, name) == 0)
            return i;
    }
    return cubin->symbol_count;
}

struct reading {
    uint32_t symbol;
    struct hn_resources *resources;
};

static uint32_t read_u32(const unsigned char *bytes)
{
    uint32_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

static void raise_to(int *largest, uint64_t number)
{
    int bounded = number > INT_MAX ? INT_MAX : (int)number;
    if (bounded > *largest)
        *largest = bounded;
}

static void read_attribute(void *context, unsigned attribute, const unsigned char *payload,
                           size_t size)
{
    const struct reading *reading = context;
    if (size != 8 || read_u32(payload) != reading->symbol)
        return;
    uint32_t number = read_u32(payload + 4);
    if (attribute == ATTRIBUTE_REGISTERS)
        raise_to(&reading->resources->registers, number);
    else if (attribute == ATTRIBUTE_FRAME)
        raise_to(&reading->resources->stack_bytes, number);
    else if (attribute == ATTRIBUTE_MINIMUM_STACK)
        raise_to(&reading->resources->local_bytes, number);
}

static void read_shared(const struct hn_cubin *cubin, const char *entry,
                        struct hn_resources *resources)
{
    const struct hn_cubin_section *section = hn_cubin_find(cubin, ".nv.shared.", entry);
    if (section == NULL)
        return;
    bool reserved = hn_cubin_find(cubin, ".nv.shared.reserved.0", "") != NULL;
    size_t size = section->size;
    if (reserved)
        size = size > SHARED_RESERVED ? size - SHARED_RESERVED : 0;
    raise_to(&resources->shared_bytes, size);
}

/* The smallest bound of the entries. */
static void read_bound(void *context, unsigned attribute, const unsigned char *payload, size_t size)
{
    struct hn_resources *resources = context;
    if (attribute != ATTRIBUTE_MAX_THREADS || size != 12)
        return;
    uint64_t threads = 1;
    for (size_t i = 0; i < 3; i++)
        threads *= read_u32(payload + 4 * i) & 0xffff;
    if (threads > 0 && threads <= INT_MAX &&
        (resources->max_threads == 0 || (int)threads < resources->max_threads))
        resources->max_threads = (int)threads;
}

static enum hn_status read_resources(const struct hn_cubin *cubin, const char *entry,
                                     struct hn_resources *resources, struct hn_error *err)
{
    size_t symbol = find_kernel(cubin, entry);
    if (symbol == cubin->symbol_count)
        return hn_fail(err, HN_ENOTFOUND, "no kernel '%.200s' in the machine code", entry);
    struct reading reading = {.symbol = (uint32_t)symbol, .resources = resources};
    hn_cubin_each_attribute(hn_cubin_find(cubin, ".nv.info", ""), read_attribute, &reading);
    hn_cubin_each_attribute(hn_cubin_find(cubin, ".nv.info.", entry), read_bound, resources);
    read_shared(cubin, entry, resources);
    resources->known = true;
    return HN_OK;
}

static enum hn_status hash_code(const struct hn_cubin *cubin, const char *const *entries,
                                size_t entry_count, const struct hn_resources *resources,
                                char code_hash[33], struct hn_error *err)
{
    struct hn_text text;
    hn_text_init(&text);
    hn_cubin_append_code(&text, cubin, entries, entry_count);
    const int numbers[] = {resources->registers, resources->shared_bytes, resources->stack_bytes,
                           resources->local_bytes};
    hn_text_append_bytes(&text, numbers, sizeof numbers);
    if (text.failed) {
        hn_text_finish(&text);
        return hn_fail_memory(err);
    }
    struct hn_hash hash = hn_hash_bytes(text.data, text.length);
    memcpy(code_hash, hash.hex, sizeof hash.hex);
    hn_text_finish(&text);
    return HN_OK;
}

enum hn_status hn_cubin_inspect(const void *cubin, size_t size, const char *const *entries,
                                size_t entry_count, struct hn_resources *resources,
                                char code_hash[33], struct hn_error *err)
{
    *resources = (struct hn_resources){0};
    struct hn_cubin file;
    enum hn_status status = open_cubin(cubin, size, &file, err);
    if (status != HN_OK)
        return status;
    for (size_t i = 0; status == HN_OK && i < entry_count; i++)
        status = read_resources(&file, entries[i], resources, err);
    if (status == HN_OK)
        status = hash_code(&file, entries, entry_count, resources, code_hash, err);
    close_cubin(&file);
    return status;
}

static void read_parameter(void *context, unsigned attribute, const unsigned char *payload,
                           size_t size)
{
    struct hn_parameters *parameters = context;
    bool large = attribute == ATTRIBUTE_LARGE_PARAMETER;
    if (size != 12 || (attribute != ATTRIBUTE_PARAMETER && !large))
        return;
    size_t place = read_u32(payload + 4) & 0xffff;
    uint32_t last = read_u32(payload + 8);
    if (place >= MOST_PARAMETERS)
        return;
    if (place >= parameters->count)
        parameters->count = place + 1;
    parameters->bytes[place] = (uint16_t)(large ? last & 0xffff : last >> 18);
}

enum hn_status hn_cubin_read_parameters(const void *cubin, size_t size, const char *entry,
                                        struct hn_parameters *parameters, struct hn_error *err)
{
    struct hn_cubin file;
    *parameters =
        (struct hn_parameters){.bytes = calloc(MOST_PARAMETERS, sizeof *parameters->bytes)};
    if (parameters->bytes == NULL)
        return hn_fail_memory(err);
    enum hn_status status = open_cubin(cubin, size, &file, err);
    if (status != HN_OK)
        return status;
    const struct hn_cubin_section *info = hn_cubin_find(&file, ".nv.info.", entry);
    if (info != NULL)
        hn_cubin_each_attribute(info, read_parameter, parameters);
    else
        status = hn_fail(err, HN_EFORMAT, "the cubin has no parameters of kernel '%.200s'", entry);
    close_cubin(&file);
    return status;
}

void hn_parameters_finish(struct hn_parameters *parameters)
{
    free(parameters->bytes);
    *parameters = (struct hn_parameters){.bytes = NULL};
}

static bool is_entry(const char *name, size_t length, const char *const *entries,
                     size_t entry_count)
{
    for (size_t i = 0; i < entry_count; i++) {
        if (strlen(entries[i]) == length && strncmp(entries[i], name, length) == 0)
            return true;
    }
    return false;
}

/* "    16 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads" */
static void read_spill_line(const char *line, struct hn_resources *resources)
{
    int frame = 0;
    int stores = 0;
    int loads = 0;
    const char *stack = strstr(line, " bytes stack frame");
    const char *start = stack;
    while (start != NULL && start > line && start[-1] >= '0' && start[-1] <= '9')
        start--;
    if (start == NULL ||
        sscanf(start, "%9d bytes stack frame, %9d bytes spill stores, %9d bytes spill loads",
               &frame, &stores, &loads) != 3)
        return;
    raise_to(&resources->spill_store_bytes, (uint64_t)stores);
    raise_to(&resources->spill_load_bytes, (uint64_t)loads);
}

static bool has(const char *line, const char *what)
{
    return strstr(line, what) != NULL;
}

/* The texts are ptxas's: C7506, C7510, C7511, C7514 and others of the first kind, C7517 and C7519
 * of the second, C7508 of the third. */
static unsigned warning_of(const char *line)
{
    if (has(line, "wgmma") && has(line, "serialized"))
        return 1u << HN_WARNING_SERIALISED;
    if (has(line, "warpgroup.") && has(line, "is injected"))
        return 1u << HN_WARNING_INJECTED;
    if (has(line, "setmaxnreg") && has(line, "ignored"))
        return 1u << HN_WARNING_SETMAXNREG;
    return has(line, "Potential Performance Loss") ? 1u << HN_WARNING_OTHER : 0;
}

static const char compiling[] = "Compiling entry function '";

/* Whether a line is of a kernel that nobody asked for. */
static bool is_of_another(const char *log, const char *line, const char *const *entries,
                          size_t entry_count)
{
    static const char mark[] = "function '";
    char heading[600];
    const char *name = strstr(line, mark);
    if (name == NULL)
        return false;
    name += sizeof mark - 1;
    size_t length = strcspn(name, "'");
    snprintf(heading, sizeof heading, "%s%.*s'", compiling, (int)(length < 500 ? length : 500),
             name);
    return strstr(log, heading) != NULL && !is_entry(name, length, entries, entry_count);
}

static void read_line(const char *log, const char *line, const char *const *entries,
                      size_t entry_count, bool *ours, struct hn_resources *resources)
{
    const char *name = strstr(line, compiling);
    unsigned warning = warning_of(line);
    if (name != NULL) {
        name += sizeof compiling - 1;
        *ours = is_entry(name, strcspn(name, "'"), entries, entry_count);
    } else if (warning != 0) {
        if (!is_of_another(log, line, entries, entry_count))
            resources->warnings |= warning;
    } else if (*ours) {
        read_spill_line(line, resources);
    }
}

void hn_cubin_read_log(const char *log, const char *const *entries, size_t entry_count,
                       struct hn_resources *resources)
{
    bool ours = false;
    for (const char *at = log; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, "\n");
        char *line = strndup(at, length);
        if (line == NULL)
            return;
        read_line(log, line, entries, entry_count, &ours, resources);
        free(line);
        at += length + (at[length] == '\n');
    }
    if (resources->spill_store_bytes > 0 || resources->spill_load_bytes > 0)
        resources->warnings |= 1u << HN_WARNING_SPILLS;
}
