/*
 * Calls whose CPU time is measured from entry to exit, a few of all: the tree knows what each
 * context took, but not how long one call of a method takes while its callees run in other nodes.
 * The entry hook marks the token of such a call, so that the exit hook of any other call needs no
 * look. A call that leaves without its exit hook is forgotten when an older one ends, or when the
 * next one begins. Only the thread itself uses its measured calls. Async-signal-safe.
 */
#ifndef TREADLE_MEASURED_CALLS_H
#define TREADLE_MEASURED_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the low half of a token, the depth, which is always smaller. */
#define CALL_TOKEN_MEASURED (UINT64_C(1) << 31)

#define MEASURED_CALLS_MAX 8u

struct measured_call {
    uint64_t token; /* without the mark */
    uint64_t cpu_ns;
    uint32_t key;
};

/* The open calls, the oldest first. */
struct measured_calls {
    uint32_t count;
    struct measured_call open[MEASURED_CALLS_MAX];
};

static inline bool call_token__is_measured(uint64_t token)
{
    return token != UINT64_MAX && token & CALL_TOKEN_MEASURED;
}

/* Drops calls that are not open any more when a call with that token begins or ends. */
static inline void measured_calls__drop(struct measured_calls *calls, uint64_t token)
{
    while (calls->count) {
        uint64_t youngest = calls->open[calls->count - 1].token;

        if (youngest >> 32 == token >> 32 && youngest < token)
            return;
        calls->count--;
    }
}

/* A call of that method has begun, when the thread had consumed so much CPU time. Returns the token
 * that its exit hook must get. */
static inline uint64_t measured_calls__begin(struct measured_calls *calls, uint64_t token,
                                             uint32_t key, uint64_t cpu_ns)
{
    measured_calls__drop(calls, token);
    if (calls->count == MEASURED_CALLS_MAX)
        return token;
    calls->open[calls->count++] = (struct measured_call){token, cpu_ns, key};
    return token | CALL_TOKEN_MEASURED;
}

/* The call with that token, without the mark, has ended. Its CPU time; *key is 0 if the call is not
 * known any more. */
static inline uint64_t measured_calls__end(struct measured_calls *calls, uint64_t token,
                                           uint64_t cpu_ns, uint32_t *key)
{
    const struct measured_call *call;

    measured_calls__drop(calls, token + 1);
    call = calls->count ? &calls->open[calls->count - 1] : NULL;
    *key = 0;
    if (!call || call->token != token || cpu_ns < call->cpu_ns)
        return 0;
    calls->count--;
    *key = call->key;
    return cpu_ns - call->cpu_ns;
}

#endif
