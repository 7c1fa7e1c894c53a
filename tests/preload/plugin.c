/* A library for tests/preload/host.c: plugin_run() calls plugin_part() seven times. */
static volatile int parts;

void plugin_run(void);

static void plugin_part(void)
{
    parts++;
}

void plugin_run(void)
{
    for (int i = 0; i < 7; i++)
        plugin_part();
}
