/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_HOSTS_NODE_FILES_H
#define HONE_TUNER_HOSTS_NODE_FILES_H

#include "base/scratch.h"
#include "tuner/hosts/link.h"

/* The files that came over a link, each under its hash, in a folder that workers find in their environment. */
#define HN_NODE_FILES "HONE_HOST_FILES"

struct hn_node_files {
    struct hn_scratch folder;
    bool made; /* or there is no room for any */
    struct hn_hash hash; /* of the one that comes */
    int fd;              /* -1: none comes, or it can not be written */
};

/* Before workers are started. */
void hn_node_files_init(struct hn_node_files *files);
void hn_node_files_finish(struct hn_node_files *files);

/* Answers. False: it is no offer, or the connection is broken. */
bool hn_node_files_offered(struct hn_node_files *files, struct hn_link *link, const struct hn_link_frame *frame);
/* What does not become what was named is removed. */
void hn_node_files_take(struct hn_node_files *files, const struct hn_link_frame *frame);

#endif
