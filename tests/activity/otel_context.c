/* Publishes a context of OpenTelemetry's, as its SDKs do (OTEP 4947): a thread-local pointer that
 * the executable exports. Each thread has a trace of its own; says "ready". Ends with its standard
 * input. */
#include "native/activity/treadle.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct thread_context {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint8_t valid;
    uint8_t reserved;
    uint16_t attributes_bytes;
};

__attribute__((visibility("default"))) __thread struct thread_context *otel_thread_ctx_v1;

static void *serve(void *number)
{
    struct thread_context context = {{0x4b, 0xf9, 0x2f, 0x35}, {1}, 1, 0, 0};

    context.trace_id[15] = (uint8_t)(uintptr_t)number;
    for (;;) {
        otel_thread_ctx_v1 = &context;
        treadle_push("serve");
        treadle_push_with("render", "page");
        usleep(2000);
        treadle_pop();
        treadle_pop();
        otel_thread_ctx_v1 = NULL;
        treadle_push("idle");
        usleep(1000);
        treadle_pop();
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;
    char byte;

    for (uintptr_t number = 1; number <= 2; number++)
        if (pthread_create(&thread, NULL, serve, (void *)number) != 0)
            return 1;
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        continue;
    return 0;
}
