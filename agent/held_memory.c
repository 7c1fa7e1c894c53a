#include "agent/held_memory.h"

#include "agent/agent.h"
#include "agent/native_frames.h"
#include "agent/threads/lock_waits.h"

/* Memory is taken as methods come. */
static size_t quota_bytes(const struct agent *agent)
{
    uint32_t methods = __atomic_load_n(&agent->class_hooks.methods.count, __ATOMIC_RELAXED);

    methods = methods < HOOK_METHODS_MAX ? methods : HOOK_METHODS_MAX;
    return agent->quotas.methods
               ? methods * (sizeof(*agent->quotas.methods) + sizeof(*agent->quotas.left))
               : 0;
}

static size_t buffer_bytes(const struct sampler *sampler)
{
    return 2 * SAMPLE_LANES * (size_t)sample_buffers__fill_bytes(sampler->buffers);
}

size_t held_memory__bytes(struct agent *agent)
{
    struct sampler *sampler = &agent->sampler;
    size_t bytes = generated_names__bytes(&agent->generated) +
                   method_numbers__bytes(&agent->class_hooks.methods) + quota_bytes(agent) +
                   thread_counters__bytes(&agent->quotas.counters);

    bytes += pushed_frames__bytes(&agent->pushed_frames) + native_frames__bytes(agent) +
             timeline__bytes(&agent->timeline) + kernel_thread_table__bytes(&agent->kernel_threads);
    if (agent->java_threads.locks)
        bytes += sizeof(*agent->java_threads.locks);
    if (sampler->ready)
        bytes += sample_merge__bytes(&sampler->merge) + code_images__count(sampler->images).bytes +
                 buffer_bytes(sampler);
    return bytes;
}
