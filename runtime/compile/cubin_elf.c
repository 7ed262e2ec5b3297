/* SPDX-License-Identifier: MIT */
#include "runtime/compile/cubin_elf.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

enum hn_status hn_cubin_open(const void *bytes, size_t size, struct hn_cubin *cubin,
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
        hn_cubin_close(cubin);
    return status;
}

void hn_cubin_close(struct hn_cubin *cubin)
{
    free(cubin->symbols);
    free(cubin->sections);
    *cubin = (struct hn_cubin){0};
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

bool hn_cubin_is_kernel(const struct hn_cubin_symbol *symbol)
{
    return symbol->type == STT_FUNC && (symbol->other & SYMBOL_IS_KERNEL) != 0;
}
