/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_EXPORT_EXPORT_IMAGES_H
#define HONE_TUNER_EXPORT_EXPORT_IMAGES_H

#include "runtime/compile/image.h"
#include "tuner/export/export.h"

/* The machine code of an export: an image for each configuration and architecture. */
struct hn_export_image {
    size_t config;
    char architecture[16]; /* "sm_90", "sm_90a" */
    int capability;
    struct hn_image image; /* with its entries */
    bool compiled;         /* now; else the cache had it */
};

struct hn_export_images {
    struct hn_export_image *items; /* by configuration, then in the order of the architectures */
    size_t count;
};

struct hn_export_images_request {
    const char *architectures; /* "sm_80,sm_90"; NULL: those that were tuned */
    int jobs;                  /* compile workers; 0: as many as the machine allows */
    double compile_timeout_s;
    bool quiet;
};

/* Takes what the cache keeps (store may be NULL) and compiles the rest in worker processes. HN_EUSAGE: an architecture
 * that is not known; HN_ERUN: something does not compile. Finish it in any case. */
enum hn_status hn_export_gather_images(struct hn_store *store, const struct hn_export *export,
                                       const struct hn_export_images_request *request,
                                       struct hn_export_images *images, struct hn_error *err);
void hn_export_images_finish(struct hn_export_images *images);

/* One C file with the header, all images and what loads them. */
enum hn_status hn_export_embedded(const struct hn_export *export, const struct hn_export_images *images,
                                  struct hn_text *text, struct hn_error *err);

#endif
