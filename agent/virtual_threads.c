#include "agent/virtual_threads.h"

#include "agent/agent.h"
#include "agent/log.h"

#include <string.h>

void virtual_threads__ask(const struct agent *agent, jvmtiCapabilities *capabilities)
{
#ifdef JVMTI_VERSION_21
    jvmtiCapabilities potential;

    if ((*agent->jvmti)->GetPotentialCapabilities(agent->jvmti, &potential) == JVMTI_ERROR_NONE &&
        potential.can_support_virtual_threads)
        capabilities->can_support_virtual_threads = 1;
#else
    (void)agent, (void)capabilities;
#endif
}

static void JNICALL on_mount(jvmtiEnv *jvmti, ...)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    (void)jvmti;
    ledger__count(&treadle_agent.ledger.header->unfollowed_mounts, 1);
    if (mine && mine->thread)
        kernel_thread__pause(mine);
}

static void JNICALL on_unmount(jvmtiEnv *jvmti, ...)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    (void)jvmti;
    if (mine && mine->thread)
        kernel_thread__resume(mine);
}

static const struct {
    const char *id;
    jvmtiExtensionEvent callback;
} events[] = {
    {"com.sun.hotspot.events.VirtualThreadMount", on_mount},
    {"com.sun.hotspot.events.VirtualThreadUnmount", on_unmount},
};

static void drop(jvmtiEnv *jvmti, jvmtiExtensionEventInfo *info)
{
    for (jint i = 0; i < info->param_count; i++)
        (*jvmti)->Deallocate(jvmti, (unsigned char *)info->params[i].name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)info->params);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)info->id);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)info->short_description);
}

/* Extension events need to be switched on as well, by their index. */
static bool hear_one(jvmtiEnv *jvmti, const jvmtiExtensionEventInfo *info)
{
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        jint index = info->extension_event_index;

        if (strcmp(info->id, events[i].id) != 0)
            continue;
        return (*jvmti)->SetExtensionEventCallback(jvmti, index, events[i].callback) ==
                   JVMTI_ERROR_NONE &&
               (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, (jvmtiEvent)index, NULL) ==
                   JVMTI_ERROR_NONE;
    }
    return true;
}

void virtual_threads__hear(struct agent *agent)
{
    jvmtiEnv *jvmti = agent->jvmti;
    jvmtiExtensionEventInfo *infos;
    bool heard = true;
    jint count;

    if ((*jvmti)->GetExtensionEvents(jvmti, &count, &infos) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++) {
        heard &= hear_one(jvmti, &infos[i]);
        drop(jvmti, &infos[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)infos);
    if (!heard)
        log__line(LOG_WARN, "this JVM does not tell when virtual threads mount");
}
