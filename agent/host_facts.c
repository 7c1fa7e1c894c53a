#include "agent/host_facts.h"

#include "agent/agent.h"
#include "native/ledger/process_facts.h"

#include <stdio.h>
#include <string.h>

/* What loaded us is no part of the program; the options stand in a field of their own. */
static bool is_our_own(const char *argument)
{
    if (strncmp(argument, "-J", 2) == 0)
        argument += 2;
    return strncmp(argument, "-agentpath:", 11) == 0 && strstr(argument, "libtreadle.so");
}

void host_facts__record(struct agent *agent, const char *options)
{
    struct ledger *ledger = &agent->ledger;
    struct ledger_header *header = ledger->header;

    process_facts__record(ledger, &agent->setup.time, is_our_own);
    header->options = agent->given_options = process_facts__options(ledger, options);
    header->clock_kind = agent->setup.clock;
    header->clock_forced = agent->options.clock == agent->setup.clock;
    header->metrics_charged = agent->setup.metrics_charged;
    header->metrics_totals = agent->setup.metrics_totals;
    header->reuse_new = agent->options.reuse_new;
    header->fold_none = agent->options.fold_none;
    header->recursion = agent->options.recursion;
    header->event_mode = agent->options.events;
}

void host_facts__record_start(struct agent *agent, const char *options)
{
    ledger_ref all = process_facts__options_since(&agent->ledger, agent->given_options, options);

    if (all)
        __atomic_store_n(&agent->ledger.header->options, all, __ATOMIC_RELEASE);
}

void host_facts__record_jvm(struct agent *agent)
{
    jvmtiEnv *jvmti = agent->jvmti;
    char *name = NULL, *version = NULL;
    char text[512];

    (*jvmti)->GetSystemProperty(jvmti, "java.vm.name", &name);
    (*jvmti)->GetSystemProperty(jvmti, "java.vm.version", &version);
    snprintf(text, sizeof(text), "%s %s", name ? name : "unknown JVM", version ? version : "");
    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)version);
    agent->ledger.header->jvm = ledger__string(&agent->ledger, text, strlen(text));
}
