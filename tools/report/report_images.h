/*
 * The code in which time was spent: compiled and interpreted Java, the JVM's stubs, each file of
 * native code, the kernel.
 */
#ifndef TREADLE_REPORT_IMAGES_H
#define TREADLE_REPORT_IMAGES_H

#include "tools/report/report_model.h"

enum image_kind {
    IMAGE_JAVA,        /* compiled */
    IMAGE_INTERPRETED, /* Java, too */
    IMAGE_JVM,         /* stubs and other code that the JVM made */
    IMAGE_NATIVE,      /* a file */
    IMAGE_KERNEL,
    IMAGE_NO_FRAME,   /* samples whose stack could not be seen */
    IMAGE_NO_SAMPLES, /* charged to nodes that no sample met on top */
};

struct image_row {
    enum image_kind kind;
    struct text name;            /* "Java, compiled", "libjvm.so", "[kernel]" */
    struct text path;            /* of a file; else empty */
    uint64_t base[COLUMN_COUNT]; /* samples, and what is charged to frames of this code on top */
    uint64_t error;              /* how far base may be off, in the metric asked for */
};

struct report_images {
    struct image_row *rows; /* those that have anything */
    uint32_t row_count;
};

/* Over the threads that are selected. The base of a Java frame is divided between compiled and
 * interpreted code in the proportion of the samples through that frame. `column`: the metric whose
 * errors are wanted. */
struct report_images *report_images__new(const struct report_model *model, const bool *selected,
                                         enum report_column column);
void report_images__free(struct report_images *images);

/* "java", "interpreted", "jvm", "native", "kernel", "no_frame", "no_samples". */
const char *image_kind__name(enum image_kind kind);

/* The name of the code that a method is in: "Java" for a Java method, else as in image_row. */
struct text report_images__of_method(const struct report_method *method);

#endif
