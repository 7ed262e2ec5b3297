/* SPDX-License-Identifier: MIT */
#include "runtime/compile/cubin_internal.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Far more than the code of any kernel. */
enum { HASHED_BYTES = 256 << 20 };

/* Sections of code that are part of a kernel, in the order in which they were found. */
struct reached {
    const struct hn_cubin *cubin;
    struct hn_text *text;
    size_t *sections;
    size_t count;
};

static void append_number(struct hn_text *text, uint64_t number)
{
    hn_text_append_bytes(text, &number, sizeof number);
}

/* Sections of a hostile file may lie over each other and be reached many times. */
static void append_data(struct hn_text *text, const struct hn_cubin_section *section)
{
    append_number(text, section->size);
    if (text->length > HASHED_BYTES || (section->data != NULL && section->size > HASHED_BYTES))
        text->failed = true;
    if (section->data != NULL)
        hn_text_append_bytes(text, section->data, section->size);
}

static size_t reach(struct reached *reached, size_t section)
{
    for (size_t i = 0; i < reached->count; i++) {
        if (reached->sections[i] == section)
            return i;
    }
    reached->sections[reached->count] = section;
    return reached->count++;
}

/* A place in memory by what it is, not by its name: names of kernels and of the variables in them
 * differ between variants that run the same. Only what the driver has to supply (vprintf) is known
 * by nothing but its name. */
static void append_target(struct reached *reached, const struct hn_cubin_symbol *symbol)
{
    const struct hn_cubin *cubin = reached->cubin;
    append_number(reached->text, symbol->value);
    append_number(reached->text, symbol->size);
    if (symbol->section >= cubin->section_count) {
        hn_text_append_bytes(reached->text, symbol->name, strlen(symbol->name) + 1);
        return;
    }
    const struct hn_cubin_section *section = &cubin->sections[symbol->section];
    append_number(reached->text, section->flags);
    if ((section->flags & SHF_EXECINSTR) != 0)
        append_number(reached->text, reach(reached, symbol->section));
    else
        append_number(reached->text, section->size);
}

static void append_relocation(struct reached *reached, const Elf64_Rela *entry)
{
    if (reached->text->length > HASHED_BYTES)
        reached->text->failed = true;
    append_number(reached->text, entry->r_offset);
    append_number(reached->text, ELF64_R_TYPE(entry->r_info));
    append_number(reached->text, (uint64_t)entry->r_addend);
    size_t symbol = ELF64_R_SYM(entry->r_info);
    if (symbol < reached->cubin->symbol_count)
        append_target(reached, &reached->cubin->symbols[symbol]);
}

static void append_relocations(struct reached *reached, size_t target)
{
    const struct hn_cubin *cubin = reached->cubin;
    for (size_t i = 0; i < cubin->section_count; i++) {
        const struct hn_cubin_section *section = &cubin->sections[i];
        bool with_addend = section->type == SHT_RELA;
        if ((!with_addend && section->type != SHT_REL) || section->info != target ||
            section->data == NULL)
            continue;
        size_t stride = with_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
        for (size_t j = 0; j < section->size / stride; j++) {
            Elf64_Rela entry = {0};
            memcpy(&entry, section->data + j * stride, stride);
            append_relocation(reached, &entry);
        }
    }
}

/* The rest of the name when this is a constant bank: ".nv.constant2.kernel" has ".kernel",
 * ".nv.constant3" "". */
static const char *constant_owner(const char *name, unsigned *bank)
{
    static const char prefix[] = ".nv.constant";
    if (strncmp(name, prefix, sizeof prefix - 1) != 0 || !hn_is_digit(name[sizeof prefix - 1]))
        return NULL;
    char *end = NULL;
    *bank = (unsigned)strtoul(name + sizeof prefix - 1, &end, 10);
    return end;
}

/* Constant banks that belong to `owner`: a function (".name"), or all ("") . */
static void append_constants(struct reached *reached, const char *owner)
{
    for (size_t i = 0; i < reached->cubin->section_count; i++) {
        const struct hn_cubin_section *section = &reached->cubin->sections[i];
        unsigned bank = 0;
        const char *whose = constant_owner(section->name, &bank);
        if (whose == NULL || strcmp(whose, owner) != 0)
            continue;
        append_number(reached->text, bank);
        append_data(reached->text, section);
        append_relocations(reached, i);
    }
}

static void append_code(struct reached *reached, size_t index)
{
    const struct hn_cubin_section *section = &reached->cubin->sections[index];
    append_number(reached->text, section->flags);
    /* Up to sm_89 the upper byte of sh_info is the number of registers; the rest is a symbol's
     * index. */
    append_number(reached->text, section->info >> 24);
    append_data(reached->text, section);
    append_relocations(reached, index);
    if (strncmp(section->name, ".text.", 6) == 0)
        append_constants(reached, section->name + 5);
}

/* Attributes that decide which launches a kernel takes and how its arguments lie. */
static void append_attribute(void *context, unsigned attribute, const unsigned char *payload,
                             size_t size)
{
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
    struct hn_text *text = context;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (kept[i] != attribute)
            continue;
        append_number(text, attribute);
        append_number(text, size);
        hn_text_append_bytes(text, payload, size);
    }
}

static void append_kernel(struct reached *reached, const char *entry)
{
    const struct hn_cubin *cubin = reached->cubin;
    const struct hn_cubin_section *code = hn_cubin_find(cubin, ".text.", entry);
    const struct hn_cubin_section *shared = hn_cubin_find(cubin, ".nv.shared.", entry);
    reached->count = 0;
    if (code != NULL)
        reach(reached, (size_t)(code - cubin->sections));
    for (size_t i = 0; i < reached->count; i++)
        append_code(reached, reached->sections[i]);
    append_number(reached->text, shared != NULL ? shared->size : 0);
    hn_cubin_each_attribute(hn_cubin_find(cubin, ".nv.info.", entry), append_attribute,
                            reached->text);
}

void hn_cubin_append_code(struct hn_text *text, const struct hn_cubin *cubin,
                          const char *const *entries, size_t entry_count)
{
    struct reached reached = {.cubin = cubin, .text = text};
    reached.sections = calloc(cubin->section_count, sizeof *reached.sections);
    text->failed = text->failed || reached.sections == NULL;
    for (size_t i = 0; i < entry_count && !text->failed; i++)
        append_kernel(&reached, entries[i]);
    if (text->failed) {
        free(reached.sections);
        return;
    }
    /* What all kernels share: user constants and global data. */
    reached.count = 0;
    append_constants(&reached, "");
    static const char *const data[] = {".nv.global.init", ".nv.global"};
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
        const struct hn_cubin_section *section = hn_cubin_find(cubin, data[i], "");
        if (section == NULL)
            continue;
        append_data(text, section);
        append_relocations(&reached, (size_t)(section - cubin->sections));
    }
    /* Functions whose addresses stand in tables. */
    for (size_t i = 0; i < reached.count; i++)
        append_code(&reached, reached.sections[i]);
    free(reached.sections);
}
