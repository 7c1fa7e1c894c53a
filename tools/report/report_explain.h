/*
 * Why methods have the hooks they have: what a ledger knows of the methods that a glob matches,
 * from their calls, from samples, or only from the class that the agent looked at.
 */
#ifndef TREADLE_REPORT_EXPLAIN_H
#define TREADLE_REPORT_EXPLAIN_H

#include "tools/report/report_model.h"

enum explained_hook {
    EXPLAINED_NO_EVENTS,    /* events=none */
    EXPLAINED_JVMTI,        /* events=jvmti: no hooks are needed */
    EXPLAINED_ALWAYS,       /* recorded since its class got hooks */
    EXPLAINED_NEVER_CALLED, /* the same, and not called */
    EXPLAINED_AGAIN,        /* recorded, but was silent for some time */
    EXPLAINED_TAKEN_IN,     /* recorded, but include= and exclude= left it out for some time */
    EXPLAINED_MUTED,        /* silent for now */
    EXPLAINED_COUNTED,      /* its calls are only counted until its class is changed again */
    EXPLAINED_OFF,          /* silent until its class is changed again */
    EXPLAINED_PLANNED,      /* no hooks: plan= leaves it out */
    EXPLAINED_POSTPONED,    /* no hooks yet: the program has more methods than the budget bears */
    EXPLAINED_NOT_INCLUDED, /* no hooks, as all that follow: by include= */
    EXPLAINED_EXCLUDED,     /* by exclude= */
    EXPLAINED_JDK,          /* one of the JDK's own, without include= */
    EXPLAINED_TRIVIAL,      /* a trivial accessor, without include= */
    EXPLAINED_NATIVE,
    EXPLAINED_ABSTRACT,
    EXPLAINED_UNHOOKED,      /* hooks could not be put in */
    EXPLAINED_LEFT_SINCE,    /* looked at with an earlier filter; the present one leaves it out */
    EXPLAINED_NOT_LOOKED_AT, /* the agent never looked at its class */
    EXPLAINED_COUNT,
};

struct explanation {
    struct report_method names;
    uint32_t method; /* of the model, or REPORT_NONE: it has neither calls nor samples */
    enum explained_hook hook;
    bool is_named;                 /* include= names it, or all of its class */
    enum unhooked_reason unhooked; /* of EXPLAINED_UNHOOKED */
    uint64_t calls;
    uint64_t
        exact_ns; /* CPU time of its calls with all that they called; recursive calls count once */
    uint64_t sampled_ns; /* of its sampled frames, ditto */
    uint64_t error_ns;   /* how far sampled_ns may be off */
};

struct explanations {
    struct explanation *all; /* by name */
    size_t count;
    struct text nearest; /* if no method matches: the nearest names, ", " between them */
    struct text_store texts;
};

/* The Java methods whose full name matches, with parameters or without. The reader is the one that
 * the model was loaded from. Release with explanations__free. */
struct explanations *explanations__new(const struct report_model *model,
                                       const struct ledger_reader *reader, const char *glob);
void explanations__free(struct explanations *explanations);

/* One word for scripts: "always", "silent". */
const char *explained_hook__key(enum explained_hook hook);

#endif
