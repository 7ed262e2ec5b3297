/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "double.h"

static const Elf64_Shdr *section(const unsigned char *file, unsigned int index)
{
    const Elf64_Ehdr *header = (const void *)file;
    if (index >= header->e_shnum)
        return NULL;
    return (const void *)(file + header->e_shoff + (size_t)index * header->e_shentsize);
}

/* {u32 0, u16 place, u16 offset, u32 with the size in its upper 14 bits}, as of
 * runtime/compile/cubin.c. */
static void read_parameter(const unsigned char *payload, struct double_function *function)
{
    size_t place = payload[4] + 256u * payload[5];
    function->parameter_count++;
    if (place >= DOUBLE_MAX_PARAMETERS)
        return;
    function->parameters[place].offset = payload[6] + 256u * payload[7];
    function->parameters[place].bytes = (payload[10] >> 2) + 64u * payload[11];
}

/* What .nv.info.<kernel> says: a list of {format, attribute, number or the bytes of a payload}. */
static void read_parameters(const unsigned char *file, const char *kernel,
                            struct double_function *function)
{
    enum { FORMAT_NUMBER = 3, FORMAT_PAYLOAD = 4, PARAMETER = 0x17, PARAMETER_BYTES = 0x19 };
    const Elf64_Ehdr *header = (const void *)file;
    const char *names = (const char *)(file + section(file, header->e_shstrndx)->sh_offset);
    char name[300];
    snprintf(name, sizeof name, ".nv.info.%s", kernel);
    for (unsigned int i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr *info = section(file, i);
        if (strcmp(names + info->sh_name, name) != 0)
            continue;
        for (uint64_t at = 0; at + 4 <= info->sh_size;) {
            const unsigned char *entry = file + info->sh_offset + at;
            int number = entry[2] + 256 * entry[3];
            if (entry[0] == FORMAT_NUMBER && entry[1] == PARAMETER_BYTES)
                function->parameter_bytes = number;
            if (entry[0] == FORMAT_PAYLOAD && entry[1] == PARAMETER)
                read_parameter(entry + 4, function);
            at += entry[0] == FORMAT_PAYLOAD ? 4 + (uint64_t)number : 4;
        }
    }
}

static void add_function(struct double_module *module, const unsigned char *file, const char *name)
{
    if (module->function_count == DOUBLE_MAX_NAMES)
        return;
    struct double_function *function = &module->functions[module->function_count++];
    function->module = module;
    function->max_shared_bytes = 48 * 1024;
    function->carveout = -1;
    read_parameters(file, name, function);
    snprintf(function->name, sizeof function->name, "%s", name);
}

static void add_global(struct double_module *module, const char *name, uint64_t bytes)
{
    if (module->global_count == DOUBLE_MAX_GLOBALS)
        return;
    struct double_global *global = &module->globals[module->global_count++];
    global->bytes = bytes;
    snprintf(global->name, sizeof global->name, "%s", name);
}

static void read_table(const unsigned char *file, const Elf64_Sym *symbol,
                       struct double_module *module)
{
    const Elf64_Shdr *data = section(file, symbol->st_shndx);
    size_t count = symbol->st_size / sizeof(int);
    if (data == NULL || data->sh_type == SHT_NOBITS)
        return;
    if (count > DOUBLE_MAX_TABLE)
        count = DOUBLE_MAX_TABLE;
    memcpy(module->table, file + data->sh_offset + symbol->st_value, count * sizeof(int));
    module->table_count = (int)count;
}

static void read_symbols(const unsigned char *file, const Elf64_Shdr *symbols,
                         struct double_module *module)
{
    const Elf64_Shdr *strings = section(file, symbols->sh_link);
    if (strings == NULL)
        return;
    const Elf64_Sym *table = (const void *)(file + symbols->sh_offset);
    enum { KERNEL = 0x10 }; /* and no function that kernels call */
    for (size_t i = 0; i < symbols->sh_size / sizeof *table; i++) {
        const char *name = (const char *)(file + strings->sh_offset + table[i].st_name);
        if (ELF64_ST_TYPE(table[i].st_info) == STT_FUNC && table[i].st_other & KERNEL)
            add_function(module, file, name);
        if (ELF64_ST_TYPE(table[i].st_info) == STT_OBJECT && table[i].st_shndx != SHN_UNDEF)
            add_global(module, name, table[i].st_size);
        if (strcmp(name, "hone_double") == 0)
            read_table(file, &table[i], module);
    }
}

CUresult double_module_read(const void *image, struct double_module *module)
{
    const unsigned char *file = image;
    const Elf64_Ehdr *header = image;
    if (memcmp(file, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
        return CUDA_ERROR_INVALID_IMAGE;
    for (unsigned int i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr *candidate = section(file, i);
        if (candidate != NULL && candidate->sh_type == SHT_SYMTAB)
            read_symbols(file, candidate, module);
    }
    return CUDA_SUCCESS;
}
