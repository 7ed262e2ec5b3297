/* SPDX-License-Identifier: MIT */
#include "runtime/compile/cubin.h"

#include <elf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"

/* A cubin's machine in ELF. */
enum { MACHINE_CUDA = 190 };
/* More than any program has; they bound the time that a hostile file can take. */
enum { MOST_SECTIONS = 8192, NAME_BYTES = 65536 };

/* The sections and symbols of a cubin (a 64-bit little-endian ELF file), checked once so that
 * readers need not check again. Borrows the bytes; names and data lie in them. */
struct cubin {
    const unsigned char *bytes;
    size_t size;
    Elf64_Ehdr header;
    Elf64_Shdr *sections;
    size_t section_count;
    Elf64_Sym *symbols;
    size_t symbol_count;
    size_t symbol_names; /* the section that has them */
};

static bool holds(const struct cubin *cubin, uint64_t offset, uint64_t size)
{
    return offset <= cubin->size && size <= cubin->size - offset;
}

/* HN_EFORMAT where it does not hold, and nothing failed before. Returns whether all is well. */
static bool expect(bool it_holds, const char *what, struct hn_error *err)
{
    if (!hn_failed(err) && !it_holds)
        hn_fail(err, HN_EFORMAT, "not a valid cubin: %s", what);
    return !hn_failed(err);
}

/* Whether it holds nothing in the file (.nv.shared). */
static bool is_empty(const Elf64_Shdr *section)
{
    return section->sh_type == SHT_NOBITS || section->sh_type == SHT_NULL;
}

/* That the string at the offset ends within the section and is not too long for a name. */
static void check_name(const struct cubin *cubin, size_t names, uint64_t offset, const char *what,
                       struct hn_error *err)
{
    const Elf64_Shdr *table = &cubin->sections[names];
    uint64_t left = offset < table->sh_size ? table->sh_size - offset : 0;
    expect(left > 0 && !is_empty(table) &&
               memchr(cubin->bytes + table->sh_offset + offset, '\0',
                      left < NAME_BYTES ? left : NAME_BYTES) != NULL,
           what, err);
}

static const char *name_at(const struct cubin *cubin, size_t names, uint64_t offset)
{
    return (const char *)cubin->bytes + cubin->sections[names].sh_offset + offset;
}

static const char *name_of(const struct cubin *cubin, const Elf64_Shdr *section)
{
    return name_at(cubin, cubin->header.e_shstrndx, section->sh_name);
}

static void read_header(struct cubin *cubin, struct hn_error *err)
{
    const Elf64_Ehdr *header = &cubin->header;
    if (!expect(cubin->bytes != NULL && cubin->size >= sizeof *header, "too short", err))
        return;
    memcpy(&cubin->header, cubin->bytes, sizeof cubin->header);
    expect(memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
               header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB,
           "no 64-bit ELF file", err);
    expect(header->e_machine == MACHINE_CUDA, "ELF, but not for a GPU", err);
    expect(header->e_shentsize == sizeof(Elf64_Shdr) && header->e_shnum > 0 &&
               header->e_shnum <= MOST_SECTIONS && header->e_shstrndx < header->e_shnum &&
               holds(cubin, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)),
           "its section table is damaged", err);
    expect(holds(cubin, header->e_phoff, (uint64_t)header->e_phnum * header->e_phentsize),
           "its program header is cut off", err);
}

static void read_sections(struct cubin *cubin, struct hn_error *err)
{
    size_t count = cubin->header.e_shnum;
    cubin->sections = hn_allocate(count, sizeof *cubin->sections, err);
    if (hn_failed(err))
        return;
    memcpy(cubin->sections, cubin->bytes + cubin->header.e_shoff, count * sizeof *cubin->sections);
    cubin->section_count = count;
    HN_EACH_OF(section, cubin->sections, count) {
        expect(is_empty(section) || holds(cubin, section->sh_offset, section->sh_size),
               "a section lies beyond its end", err);
    }
    for (size_t i = 0; i < count && !hn_failed(err); i++)
        check_name(cubin, cubin->header.e_shstrndx, cubin->sections[i].sh_name,
                   "a section has no name", err);
}

static void read_symbols(struct cubin *cubin, const Elf64_Shdr *table, struct hn_error *err)
{
    size_t count = table->sh_size / sizeof *cubin->symbols;
    expect(table->sh_link < cubin->section_count, "its symbols have no names", err);
    cubin->symbols = hn_allocate(count, sizeof *cubin->symbols, err);
    if (hn_failed(err))
        return;
    memcpy(cubin->symbols, cubin->bytes + table->sh_offset, count * sizeof *cubin->symbols);
    cubin->symbol_count = count;
    cubin->symbol_names = table->sh_link;
    for (size_t i = 0; i < count && !hn_failed(err); i++)
        check_name(cubin, table->sh_link, cubin->symbols[i].st_name, "a symbol has no name", err);
}

static void close_cubin(struct cubin *cubin)
{
    free(cubin->symbols);
    free(cubin->sections);
    *cubin = (struct cubin){0};
}

/* Sticky; empty after a failure. */
static void open_cubin(const void *bytes, size_t size, struct cubin *cubin, struct hn_error *err)
{
    size_t table = 0;
    *cubin = (struct cubin){.bytes = bytes, .size = size};
    read_header(cubin, err);
    if (!hn_failed(err))
        read_sections(cubin, err);
    while (table < cubin->section_count && cubin->sections[table].sh_type != SHT_SYMTAB)
        table++;
    if (!hn_failed(err) && table < cubin->section_count)
        read_symbols(cubin, &cubin->sections[table], err);
    if (hn_failed(err))
        close_cubin(cubin);
}

/* Section "<prefix><name>", or NULL. */
static const Elf64_Shdr *find_section(const struct cubin *cubin, const char *prefix,
                                      const char *name)
{
    size_t length = strlen(prefix);
    for (size_t i = 0; i < cubin->section_count; i++) {
        const char *full = name_of(cubin, &cubin->sections[i]);
        if (strncmp(full, prefix, length) == 0 && strcmp(full + length, name) == 0)
            return &cubin->sections[i];
    }
    return NULL;
}

/* In st_other of a symbol. */
enum { SYMBOL_IS_KERNEL = 0x10 };

static bool is_kernel(const Elf64_Sym *symbol)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && (symbol->st_other & SYMBOL_IS_KERNEL) != 0;
}

static const char *symbol_name(const struct cubin *cubin, const Elf64_Sym *symbol)
{
    return name_at(cubin, cubin->symbol_names, symbol->st_name);
}

struct attribute {
    unsigned number;
    const unsigned char *payload;
    size_t size;
};

/* The next attribute of a section of attributes (.nv.info…), which may be NULL; false at its end
 * and where it is damaged. *offset begins with 0. */
static bool next_attribute(const struct cubin *cubin, const Elf64_Shdr *section, size_t *offset,
                           struct attribute *next)
{
    enum { FORMAT_SIZED = 4 };
    if (section == NULL || is_empty(section) || *offset + 4 > section->sh_size)
        return false;
    const unsigned char *record = cubin->bytes + section->sh_offset + *offset;
    bool sized = record[0] == FORMAT_SIZED;
    size_t size = (size_t)record[2] | (size_t)record[3] << 8;
    *offset += 4;
    *next = (struct attribute){record[1], sized ? record + 4 : record + 2, sized ? size : 2};
    if (sized && size > section->sh_size - *offset)
        return false;
    *offset += sized ? size : 0;
    return true;
}

const char **hn_cubin_kernels(const void *bytes, size_t size, size_t *count, struct hn_error *err)
{
    struct cubin cubin;
    open_cubin(bytes, size, &cubin, err);
    const char **names = hn_allocate(cubin.symbol_count, sizeof *names, err);
    *count = 0;
    for (size_t i = 0; i < cubin.symbol_count && names != NULL; i++)
        if (is_kernel(&cubin.symbols[i]))
            names[(*count)++] = symbol_name(&cubin, &cubin.symbols[i]);
    close_cubin(&cubin);
    if (names != NULL)
        qsort(names, *count, sizeof *names, hn_compare_strings);
    return names;
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

static void read_resources(const struct cubin *cubin, const char *entry,
                           struct hn_resources *resources, struct hn_error *err)
{
    const Elf64_Shdr *all = find_section(cubin, ".nv.info", "");
    const Elf64_Shdr *own = find_section(cubin, ".nv.info.", entry);
    const Elf64_Shdr *shared = find_section(cubin, ".nv.shared.", entry);
    bool is_reserved = find_section(cubin, ".nv.shared.reserved.0", "") != NULL;
    size_t reserved = is_reserved ? SHARED_RESERVED : 0;
    struct attribute attribute;
    size_t symbol = 0;
    while (symbol < cubin->symbol_count &&
           (!is_kernel(&cubin->symbols[symbol]) ||
            strcmp(symbol_name(cubin, &cubin->symbols[symbol]), entry) != 0))
        symbol++;
    if (symbol == cubin->symbol_count) {
        hn_fail(err, HN_ENOTFOUND, "no kernel '%.200s' in the machine code", entry);
        return;
    }
    for (size_t at = 0; next_attribute(cubin, all, &at, &attribute);) {
        if (attribute.size != 8 || read_u32(attribute.payload) != symbol)
            continue;
        int *largest = attribute.number == ATTRIBUTE_REGISTERS       ? &resources->registers
                       : attribute.number == ATTRIBUTE_FRAME         ? &resources->stack_bytes
                       : attribute.number == ATTRIBUTE_MINIMUM_STACK ? &resources->local_bytes
                                                                     : NULL;
        if (largest != NULL)
            raise_to(largest, read_u32(attribute.payload + 4));
    }
    /* the smallest bound of the entries */
    for (size_t at = 0; next_attribute(cubin, own, &at, &attribute);) {
        if (attribute.number != ATTRIBUTE_MAX_THREADS || attribute.size != 12)
            continue;
        uint64_t threads = 1;
        for (size_t i = 0; i < 3; i++)
            threads *= read_u32(attribute.payload + 4 * i) & 0xffff;
        if (threads > 0 && threads <= INT_MAX &&
            (resources->max_threads == 0 || (int)threads < resources->max_threads))
            resources->max_threads = (int)threads;
    }
    if (shared != NULL && shared->sh_size > reserved)
        raise_to(&resources->shared_bytes, shared->sh_size - reserved);
    resources->known = true;
}

/* Far more than the code of any kernel. */
enum { HASHED_BYTES = 256 << 20 };

/* Sections of code that are part of a kernel, in the order in which they were found. */
struct reached {
    const struct cubin *cubin;
    struct hn_text *text;
    size_t *sections;
    size_t count;
};

static void append_number(struct hn_text *text, uint64_t number)
{
    hn_text_append_bytes(text, &number, sizeof number);
}

/* Sections of a hostile file may lie over each other and be reached many times. */
static void append_data(struct reached *reached, const Elf64_Shdr *section)
{
    struct hn_text *text = reached->text;
    append_number(text, section->sh_size);
    size_t size = is_empty(section) ? 0 : section->sh_size;
    text->failed = text->failed || text->length > HASHED_BYTES || size > HASHED_BYTES;
    if (size > 0)
        hn_text_append_bytes(text, reached->cubin->bytes + section->sh_offset, size);
}

static size_t reach(struct reached *reached, size_t section)
{
    for (size_t i = 0; i < reached->count; i++)
        if (reached->sections[i] == section)
            return i;
    reached->sections[reached->count] = section;
    return reached->count++;
}

/* A place in memory by what it is, not by its name: names of kernels and of the variables in them
 * differ between variants that run the same. Only what the driver has to supply (vprintf) is known
 * by nothing but its name. */
static void append_target(struct reached *reached, const Elf64_Sym *symbol)
{
    const struct cubin *cubin = reached->cubin;
    append_number(reached->text, symbol->st_value);
    append_number(reached->text, symbol->st_size);
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= cubin->section_count) {
        const char *name = symbol_name(cubin, symbol);
        hn_text_append_bytes(reached->text, name, strlen(name) + 1);
        return;
    }
    const Elf64_Shdr *section = &cubin->sections[symbol->st_shndx];
    append_number(reached->text, section->sh_flags);
    if ((section->sh_flags & SHF_EXECINSTR) != 0)
        append_number(reached->text, reach(reached, symbol->st_shndx));
    else
        append_number(reached->text, section->sh_size);
}

static void append_relocations(struct reached *reached, size_t target)
{
    const struct cubin *cubin = reached->cubin;
    struct hn_text *text = reached->text;
    HN_EACH_OF(section, cubin->sections, cubin->section_count) {
        bool with_addend = section->sh_type == SHT_RELA;
        if ((!with_addend && section->sh_type != SHT_REL) || section->sh_info != target)
            continue;
        size_t stride = with_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
        for (size_t j = 0; j < section->sh_size / stride; j++) {
            Elf64_Rela entry = {0};
            memcpy(&entry, cubin->bytes + section->sh_offset + j * stride, stride);
            text->failed = text->failed || text->length > HASHED_BYTES;
            append_number(text, entry.r_offset);
            append_number(text, ELF64_R_TYPE(entry.r_info));
            append_number(text, (uint64_t)entry.r_addend);
            if (ELF64_R_SYM(entry.r_info) < cubin->symbol_count)
                append_target(reached, &cubin->symbols[ELF64_R_SYM(entry.r_info)]);
        }
    }
}

/* Constant banks that belong to `owner`: a function (".name"), or all (""). ".nv.constant2.kernel"
 * is bank 2 of ".kernel". */
static void append_constants(struct reached *reached, const char *owner)
{
    static const char prefix[] = ".nv.constant";
    for (size_t i = 0; i < reached->cubin->section_count; i++) {
        const Elf64_Shdr *section = &reached->cubin->sections[i];
        const char *name = name_of(reached->cubin, section), *bank = name + sizeof prefix - 1;
        char *end = NULL;
        if (strncmp(name, prefix, sizeof prefix - 1) != 0 || !hn_is_digit(*bank))
            continue;
        unsigned number = (unsigned)strtoul(bank, &end, 10);
        if (strcmp(end, owner) != 0)
            continue;
        append_number(reached->text, number);
        append_data(reached, section);
        append_relocations(reached, i);
    }
}

static void append_code(struct reached *reached, size_t index)
{
    const Elf64_Shdr *section = &reached->cubin->sections[index];
    const char *name = name_of(reached->cubin, section);
    append_number(reached->text, section->sh_flags);
    /* Up to sm_89 the upper byte of sh_info is the number of registers; the rest is a symbol's
     * index. */
    append_number(reached->text, section->sh_info >> 24);
    append_data(reached, section);
    append_relocations(reached, index);
    if (strncmp(name, ".text.", 6) == 0)
        append_constants(reached, name + 5);
}

static void append_kernel(struct reached *reached, const char *entry)
{
    /* attributes that decide which launches a kernel takes and how its arguments lie */
    static const unsigned kept[] = {
        0x05, /* largest block */
        0x10, /* required block */
        0x17, /* an argument */
        0x19, /* size of the arguments */
        0x45, /* an argument of a kernel that takes many bytes */
        0x3d, /* blocks of a cluster */
        0x3e, /* cluster given at the launch */
        0x3f, /* largest cluster */
    };
    const struct cubin *cubin = reached->cubin;
    const Elf64_Shdr *code = find_section(cubin, ".text.", entry);
    const Elf64_Shdr *shared = find_section(cubin, ".nv.shared.", entry);
    const Elf64_Shdr *own = find_section(cubin, ".nv.info.", entry);
    struct attribute attribute;
    reached->count = 0;
    if (code != NULL)
        reach(reached, (size_t)(code - cubin->sections));
    for (size_t i = 0; i < reached->count; i++)
        append_code(reached, reached->sections[i]);
    append_number(reached->text, shared != NULL ? shared->sh_size : 0);
    for (size_t at = 0; next_attribute(cubin, own, &at, &attribute);) {
        for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
            if (kept[i] != attribute.number)
                continue;
            append_number(reached->text, attribute.number);
            append_number(reached->text, attribute.size);
            hn_text_append_bytes(reached->text, attribute.payload, attribute.size);
        }
    }
}

/* Of everything that decides how kernels run: their code and that of the functions which they refer
 * to, constant banks, initialised data, limits of the launch; no names, no compiler options. */
static void hash_code(const struct cubin *cubin, const char *const *entries, size_t entry_count,
                      const struct hn_resources *resources, char code_hash[33],
                      struct hn_error *err)
{
    static const char *const data[] = {".nv.global.init", ".nv.global"};
    const int numbers[] = {resources->registers, resources->shared_bytes, resources->stack_bytes,
                           resources->local_bytes};
    struct hn_text text HN_ENDED_BY(hn_text_finish) = {0};
    struct reached reached = {.cubin = cubin, .text = &text};
    reached.sections = hn_allocate(cubin->section_count, sizeof *reached.sections, err);
    if (reached.sections == NULL)
        return;
    for (size_t i = 0; i < entry_count && !text.failed; i++)
        append_kernel(&reached, entries[i]);
    /* What all kernels share: user constants and global data. */
    reached.count = 0;
    append_constants(&reached, "");
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
        const Elf64_Shdr *section = find_section(cubin, data[i], "");
        if (section == NULL)
            continue;
        append_data(&reached, section);
        append_relocations(&reached, (size_t)(section - cubin->sections));
    }
    /* Functions whose addresses stand in tables. */
    for (size_t i = 0; i < reached.count && !text.failed; i++)
        append_code(&reached, reached.sections[i]);
    free(reached.sections);
    hn_text_append_bytes(&text, numbers, sizeof numbers);
    if (text.failed)
        hn_fail_memory(err);
    else
        memcpy(code_hash, hn_hash_bytes(text.data, text.length).hex, 33);
}

enum hn_status hn_cubin_inspect(const void *bytes, size_t size, const char *const *entries,
                                size_t entry_count, struct hn_resources *resources,
                                char code_hash[33], struct hn_error *err)
{
    struct cubin cubin;
    hn_error_init(err);
    *resources = (struct hn_resources){0};
    open_cubin(bytes, size, &cubin, err);
    for (size_t i = 0; i < entry_count && !hn_failed(err); i++)
        read_resources(&cubin, entries[i], resources, err);
    hash_code(&cubin, entries, entry_count, resources, code_hash, err);
    close_cubin(&cubin);
    return err->status;
}

enum hn_status hn_cubin_read_parameters(const void *bytes, size_t size, const char *entry,
                                        struct hn_parameters *parameters, struct hn_error *err)
{
    struct cubin cubin;
    struct attribute attribute;
    hn_error_init(err);
    *parameters =
        (struct hn_parameters){.bytes = hn_allocate(MOST_PARAMETERS, sizeof(uint16_t), err)};
    open_cubin(bytes, size, &cubin, err);
    const Elf64_Shdr *info = find_section(&cubin, ".nv.info.", entry);
    for (size_t at = 0; next_attribute(&cubin, info, &at, &attribute);) {
        bool large = attribute.number == ATTRIBUTE_LARGE_PARAMETER;
        if (attribute.size != 12 || (attribute.number != ATTRIBUTE_PARAMETER && !large))
            continue;
        size_t place = read_u32(attribute.payload + 4) & 0xffff;
        uint32_t last = read_u32(attribute.payload + 8);
        if (place >= MOST_PARAMETERS)
            continue;
        if (place >= parameters->count)
            parameters->count = place + 1;
        parameters->bytes[place] = (uint16_t)(large ? last & 0xffff : last >> 18);
    }
    if (info == NULL && !hn_failed(err))
        hn_fail(err, HN_EFORMAT, "the cubin has no parameters of kernel '%.200s'", entry);
    close_cubin(&cubin);
    return err->status;
}

/* The bytes of a variable, where it has so many; else NULL. */
static const unsigned char *find_data(const struct cubin *cubin, const char *name, size_t bytes)
{
    HN_EACH_OF(symbol, cubin->symbols, cubin->symbol_count) {
        const Elf64_Shdr *section =
            &cubin->sections[symbol->st_shndx < cubin->section_count ? symbol->st_shndx : 0];
        if (strcmp(symbol_name(cubin, symbol), name) == 0 && !is_empty(section) &&
            symbol->st_size == bytes && bytes <= section->sh_size &&
            symbol->st_value <= section->sh_size - bytes)
            return cubin->bytes + section->sh_offset + symbol->st_value;
    }
    return NULL;
}

/* A table's entry: offset, bytes, and what hone_kind of fields.cuh says. */
enum { ENTRY_BYTES = 12, IS_BOOL = 99, IS_ADDRESS = 100 };

static void set_member(const struct hn_argument *argument, size_t number,
                       const unsigned char *entry, const struct hn_value *values,
                       struct hn_passed *made, struct hn_error *err)
{
    const struct hn_member *member = &argument->members[number];
    uint32_t offset = read_u32(entry), is = read_u32(entry + 8);
    bool is_number = is < HN_ELEMENT_COUNT || is == IS_BOOL;
    const struct hn_argument scalar = {.name = member->name,
                                       .element = is == IS_BOOL ? HN_UINT8
                                                  : is_number   ? (enum hn_element)is
                                                                : HN_UINT64,
                                       .value = member->value};
    const size_t size = hn_element_size(scalar.element);
    uint64_t bits = 0;
    if (!hn_failed(err) && (member->value == NULL ? is != IS_ADDRESS : !is_number))
        hn_fail(err, HN_EVALUE, "field '%s' of '%s' is %s (%u bytes); expected %s", member->name,
                argument->name,
                is_number          ? hn_element_name(scalar.element)
                : is == IS_ADDRESS ? "a pointer"
                                   : "no number",
                (unsigned)read_u32(entry + 4),
                member->value == NULL ? "a pointer, since it has a buffer"
                : is == IS_ADDRESS    ? "{buffer: NAME}"
                                      : "a value for each part, as a.b or w[2]");
    if (!expect(offset <= made->bytes && size <= made->bytes - offset, "a field lies outside", err))
        return;
    hn_argument_evaluate_scalar(&scalar, values, &bits, err);
    if (is == IS_BOOL && bits > 1 && !hn_failed(err))
        hn_fail(err, HN_EVALUE, "argument '%s' is %d, which bool cannot hold", member->name,
                (int)bits);
    memcpy(made->data + offset, &bits, size);
    made->offsets[number] = offset;
}

struct hn_passed *hn_cubin_make_structure(const struct hn_image *image,
                                          const struct hn_argument *argument,
                                          const struct hn_value *values, struct hn_blocks *memory,
                                          struct hn_error *err)
{
    struct cubin cubin;
    char name[HN_WORD_MOST + 16];
    const size_t count = argument->member_count;
    snprintf(name, sizeof name, "hone_members_%s", argument->name);
    open_cubin(image->cubin, image->size, &cubin, err);
    const unsigned char *table = find_data(&cubin, name, (count + 1) * ENTRY_BYTES);
    uint32_t bytes = table == NULL ? 0 : read_u32(table + 4);
    struct hn_passed *made = NULL;
    if (expect(bytes > 0 && bytes <= UINT16_MAX, "it does not say where fields of a structure are",
               err))
        made = hn_made(hn_blocks_take(memory, sizeof *made + count * sizeof *made->offsets + bytes),
                       err);
    if (made != NULL)
        *made =
            (struct hn_passed){.bytes = bytes, .data = (unsigned char *)(made->offsets + count)};
    for (size_t i = 0; made != NULL && i < count; i++)
        set_member(argument, i, table + (i + 1) * ENTRY_BYTES, values, made, err);
    close_cubin(&cubin);
    return hn_failed(err) ? NULL : made;
}

void hn_parameters_finish(struct hn_parameters *parameters)
{
    free(parameters->bytes);
    *parameters = (struct hn_parameters){.bytes = NULL};
}

/* What is passed by address, and the handle of a texture object; a CUtensorMap. */
enum { ADDRESS_BYTES = 8, TENSOR_MAP_BYTES = 128 };
/* Of the arguments that a message lists. */
enum { LISTED_BYTES = 1500 };

/* Bytes that the driver takes from an argument, and what it is in words. */
static void passed_bytes(const struct hn_plan *plan, size_t index, const struct hn_value *values,
                         const struct hn_image *image, uint64_t *bytes, char what[96],
                         struct hn_error *err)
{
    const struct hn_argument *argument = &plan->arguments[index];
    bool is_map = argument->role == HN_ROLE_TENSOR_MAP;
    const char *name = argument->role == HN_ROLE_TEXTURE ? "a texture object"
                       : is_map                          ? "a tensor map, passed by value"
                       : hn_argument_is_buffer(argument) ? "a buffer, passed as its address"
                                                         : NULL;
    *bytes = is_map ? TENSOR_MAP_BYTES : ADDRESS_BYTES;
    if (name != NULL) {
        snprintf(what, 96, "%s", name);
    } else if (argument->structure != NULL) {
        struct hn_blocks memory HN_ENDED_BY(hn_blocks_finish) = {0};
        struct hn_passed *passed = hn_cubin_make_structure(image, argument, values, &memory, err);
        err->status = err->status == HN_EVALUE ? HN_ECONFIG : err->status;
        *bytes = passed == NULL ? 0 : passed->bytes;
        snprintf(what, 96, "the structure %.60s", argument->structure);
    } else if (argument->value != NULL) {
        *bytes = hn_element_size(argument->element);
        snprintf(what, 96, "%s", hn_element_name(argument->element));
    } else {
        snprintf(what, 96, "the contents of '%.60s'", argument->from);
        hn_argument_buffer_bytes(&plan->arguments[hn_plan_source(plan, index)], values, bytes, err);
    }
}

static void fail_count(const struct hn_plan *plan, const struct hn_step *step,
                       const struct hn_parameters *declared, struct hn_error *err)
{
    struct hn_text sizes HN_ENDED_BY(hn_text_finish) = {0};
    struct hn_text passed HN_ENDED_BY(hn_text_finish) = {0};
    for (size_t i = 0; i < declared->count && sizes.length < LISTED_BYTES; i++)
        hn_text_printf(&sizes, "%s%u", i > 0 ? ", " : " of ", (unsigned)declared->bytes[i]);
    for (size_t i = 0; i < step->argument_count && passed.length < LISTED_BYTES; i++)
        hn_text_printf(&passed, "%s%s", i > 0 ? ", " : ": ",
                       plan->arguments[step->arguments[i]].name);
    hn_fail(
        err, HN_ECONFIG,
        "kernel '%.200s' takes %zu parameter%s%s%s, the plan passes %zu%s; give it one argument "
        "for each parameter, in the kernel's order",
        step->entry, declared->count, hn_plural(declared->count),
        sizes.data != NULL ? sizes.data : "", sizes.data != NULL ? " bytes" : "",
        step->argument_count, passed.data != NULL ? passed.data : "");
}

static void compare_step(const struct hn_plan *plan, const struct hn_value *values,
                         const struct hn_step *step, const struct hn_image *image,
                         const struct hn_parameters *declared, struct hn_error *err)
{
    if (declared->count != step->argument_count) {
        fail_count(plan, step, declared, err);
        return;
    }
    for (size_t i = 0; i < declared->count && !hn_failed(err); i++) {
        uint64_t bytes = 0;
        char what[96];
        size_t argument = step->arguments[i];
        passed_bytes(plan, argument, values, image, &bytes, what, err);
        if (!hn_failed(err) && bytes != declared->bytes[i])
            hn_fail(err, HN_ECONFIG,
                    "argument '%s' is %s (%llu byte%s); parameter %zu of kernel '%.200s' "
                    "has %u byte%s; expected arguments in the kernel's order, of the types "
                    "that it declares",
                    plan->arguments[argument].name, what, (unsigned long long)bytes,
                    hn_plural(bytes), i + 1, step->entry, (unsigned)declared->bytes[i],
                    hn_plural(declared->bytes[i]));
    }
}

void hn_signature_check(const struct hn_plan *plan, const struct hn_value *values,
                        const struct hn_launch *launch, const struct hn_image *image,
                        struct hn_error *err)
{
    if (!hn_failed(err) && image->entry_count != launch->step_count)
        hn_fail(err, HN_EFORMAT, "the image has %zu kernels; the plan launches %zu",
                image->entry_count, launch->step_count);
    for (size_t i = 0; i < launch->step_count && !hn_failed(err); i++) {
        struct hn_parameters declared HN_ENDED_BY(hn_parameters_finish) = {0};
        if (hn_cubin_read_parameters(image->cubin, image->size, image->entries[i], &declared,
                                     err) == HN_OK)
            compare_step(plan, values, launch->steps[i].step, image, &declared, err);
    }
}

/* The log. */

/* "    16 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads" */
static void read_spill_line(const char *line, struct hn_resources *resources)
{
    int frame = 0, stores = 0, loads = 0;
    const char *start = strstr(line, " bytes stack frame");
    while (start != NULL && start > line && hn_is_digit(start[-1]))
        start--;
    if (start == NULL ||
        sscanf(start, "%9d bytes stack frame, %9d bytes spill stores, %9d bytes spill loads",
               &frame, &stores, &loads) != 3)
        return;
    raise_to(&resources->spill_store_bytes, (uint64_t)stores);
    raise_to(&resources->spill_load_bytes, (uint64_t)loads);
}

/* The texts are ptxas's: C7506, C7510, C7511, C7514 and others of the first kind, C7517 and C7519
 * of the second, C7508 of the third. */
static unsigned warning_of(const char *line)
{
    static const struct {
        const char *texts[2];
        enum hn_warning warning;
    } kinds[] = {
        {{"wgmma", "serialized"}, HN_WARNING_SERIALISED},
        {{"warpgroup.", "is injected"}, HN_WARNING_INJECTED},
        {{"setmaxnreg", "ignored"}, HN_WARNING_SETMAXNREG},
        {{"Potential Performance Loss", ""}, HN_WARNING_OTHER},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(line, kinds[i].texts[0]) != NULL && strstr(line, kinds[i].texts[1]) != NULL)
            return 1u << kinds[i].warning;
    return 0;
}

void hn_cubin_read_log(const char *log, const char *const *entries, size_t entry_count,
                       struct hn_resources *resources)
{
    static const char compiling[] = "Compiling entry function '", mark[] = "function '";
    bool ours = false;
    const char *start, *next = log != NULL ? log : "";
    size_t length;
    while (hn_text_line(&next, &start, &length)) {
        char heading[600] = "";
        char *line HN_FREED = strndup(start, length);
        if (line == NULL)
            return;
        unsigned warning = warning_of(line);
        char *name = strstr(line, mark);
        if (name != NULL) {
            name += sizeof mark - 1;
            name[strcspn(name, "'")] = '\0';
            snprintf(heading, sizeof heading, "%s%.500s'", compiling, name);
        }
        bool asked = name != NULL && hn_text_is_among(name, entries, entry_count);
        if (strstr(line, compiling) != NULL)
            ours = asked;
        else if (warning == 0 && ours)
            read_spill_line(line, resources);
        /* It may be of another kernel, which nobody asked for. */
        else if (name == NULL || asked || strstr(log, heading) == NULL)
            resources->warnings |= warning;
    }
    if (resources->spill_store_bytes > 0 || resources->spill_load_bytes > 0)
        resources->warnings |= 1u << HN_WARNING_SPILLS;
}
