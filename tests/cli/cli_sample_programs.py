"""What programs with treadle.h do to it: plugins that come and go, resources that are used up, users and roots that are
changed; and what `treadle sample` shows of it or says instead."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import bench
import cli_sample
from cli_sample import STRICT, below, segments

HEADER = pathlib.Path(__file__).resolve().parents[2] / "native/activity/treadle.h"
GENERATION = re.compile(r"^(#define TREADLE__NAMED\(name\) +treadle)(\d+)(__##name)$", re.M)

PLUGIN = """
#include "native/activity/treadle.h"
void work(void);
void work(void)
{
    treadle_push("plugin");
    treadle_pop();
}
"""

# host PLUGIN [first]: pushes, with a thread after the other, once the plugin is closed; or before that, too.
HOST = """
#include "native/activity/treadle.h"
#include <stdio.h>
#include <unistd.h>
static void *thread(void *name)
{
    treadle_push(name);
    usleep(2000);
    treadle_pop();
    return NULL;
}
int main(int argc, char **argv)
{
    void *plugin;
    if (argc > 2)
        thread(argv[2]);
    plugin = dlopen(argv[1], RTLD_NOW);
    if (!plugin || dlclose(plugin) != 0 || dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD))
        return 1;
    puts("ready");
    fflush(stdout);
    while (getppid() != 1) {
        pthread_t one;
        thread("after");
        if (pthread_create(&one, NULL, thread, "thread") != 0 || pthread_join(one, NULL) != 0)
            return 1;
    }
    return 0;
}
"""

LOOP = """
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < %d; i++) {
        treadle_push("work");
        usleep(1000);
        treadle_pop();
    }
"""


class Programs(bench.Bench):
    activity = cli_sample.Sample.activity
    sampled = cli_sample.Sample.sampled

    def compiled(self, name, text, *options):
        source = pathlib.Path(self.path(f"{pathlib.Path(name).stem}.c"))
        source.write_text(text)
        subprocess.run(["cc", *STRICT, "-D_GNU_SOURCE", "-O2", str(source), "-o", self.path(name), *options], check=True)
        return self.path(name)

    def start(self, *command, **more):
        """A program that says "ready"."""
        program = subprocess.Popen(command, stdout=subprocess.PIPE, **more)
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        self.assertEqual(program.stdout.readline(), b"ready\n")
        return program

    def older(self, text):
        """The program with a header of an earlier generation, which did not count who shares its state."""
        older, count = GENERATION.subn(rf"\g<1>{int(GENERATION.search(HEADER.read_text())[2]) - 1}\3", HEADER.read_text())
        self.assertEqual(count, 1)
        older, count = re.subn(r"(__atomic_sub_fetch\(&treadle__files, 1, \w+\)) > 0", r"\1 > 1000", older)
        self.assertEqual(count, 1)
        (pathlib.Path(self.folder) / "older.h").write_text(older)
        return text.replace("native/activity/treadle.h", self.path("older.h"))

    def test_what_is_shared_has_the_name_of_its_generation(self):
        plugin = self.compiled("plugin.so", PLUGIN, "-shared", "-fPIC")
        generation = int(GENERATION.search(HEADER.read_text())[2])
        for form in (("-D", plugin), (self.compiled("plugin.o", PLUGIN, "-c"),)):
            named = subprocess.run(["nm", "--defined-only", *form], capture_output=True, text=True, check=True).stdout
            shared = set(re.findall(r"^[0-9a-f]+ [VWu] (\w+)$", named, re.M))
            self.assertIn(f"treadle{generation}__process", shared)
            self.assertEqual({name for name in shared if not name.startswith(f"treadle{generation}__")}, set())

    def test_a_plugin_that_is_closed_leaves_the_programs_stacks(self):
        """Both share one state: the program exports its own, or has it from a library that has the header. With a header
        of another generation the plugin has its own."""
        plugin = self.compiled("plugin.so", PLUGIN, "-shared", "-fPIC")
        older = self.compiled("older.so", self.older(PLUGIN), "-shared", "-fPIC")
        self.compiled("liblinked.so", PLUGIN.replace("work(", "linked("), "-shared", "-fPIC")
        linked = ("-L.", f"-L{self.folder}", "-Wl,--no-as-needed", "-llinked", f"-Wl,-rpath,{self.folder}")
        for options in (("-rdynamic",), linked):
            host = self.compiled("host", HOST, *options)
            for closed, *first in ((plugin, "first"), (plugin,), (older, "first"), (older,)):
                with self.subTest(options=options, closed=closed, first=first):
                    program = self.start(host, closed, *first)
                    view = self.activity(self.sampled(program.pid, "--every", "5ms", "--for", "500ms"))
                    self.assertIsNotNone(below(view["activity"], "after"))
                    self.assertEqual(len(segments(program.pid)), 1)
                    # Each thread has given its slot back to the next: two were used.
                    self.assertEqual(int.from_bytes(segments(program.pid)[0].read_bytes()[72:76], sys.byteorder), 2)
                    program.kill()
                    program.wait()
                    segments(program.pid)[0].unlink()

    def test_frames_of_images_that_share_nothing_lie_where_they_were_pushed(self):
        """The program's, the plugin's and once more the program's: two states, each with a segment, as where the plugin
        finds the program's names, but has a header of an earlier or later generation."""
        plugin = """
            #include "native/activity/treadle.h"
            void work(void (*back)(void));
            void work(void (*back)(void)) { treadle_push("plugin"); back(); treadle_pop(); }"""
        host = """
            #include "native/activity/treadle.h"
            #include <stdio.h>
            #include <unistd.h>
            static void inside(void) { treadle_push("inner"); usleep(2000); treadle_pop(); }
            int main(int argc, char **argv)
            {
                void *plugin = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
                void (*work)(void (*back)(void));
                if (!plugin)
                    return 1;
                *(void **)&work = dlsym(plugin, "work");
                puts("ready");
                fflush(stdout);
                while (getppid() != 1) {
                    treadle_push("outer");
                    work(inside);
                    treadle_pop();
                }
                return 0;
            }"""
        for name, of_host, of_plugin, exports in (("nothing is exported", host, plugin, ()),
                                                  ("an older plugin", host, self.older(plugin), ("-rdynamic",)),
                                                  ("an older host", self.older(host), plugin, ("-rdynamic",))):
            with self.subTest(name):
                program = self.start(self.compiled("host", of_host, *exports),
                                     self.compiled("plugin.so", of_plugin, "-shared", "-fPIC"))
                view = self.activity(self.sampled(program.pid, "--every", "5ms", "--for", "500ms"))
                self.assertEqual(len(segments(program.pid)), 2)
                inner = below(view["activity"], "outer", "plugin", "inner")
                self.assertIsNotNone(inner, view["activity"])
                self.assertGreater(2 * inner["cum"]["samples"], sum(node["cum"]["samples"] for node in view["activity"]))
                program.kill()
                program.wait()
                for left in segments(program.pid):
                    left.unlink()

    def test_the_segment_goes_with_the_last_that_uses_it(self):
        plugin = self.compiled("plugin.so", PLUGIN, "-shared", "-fPIC")
        host = self.compiled("ending", HOST.replace("getppid() != 1", "argc < 0"), "-rdynamic")
        program = self.start(host, plugin, "first")
        self.assertEqual(program.wait(timeout=60), 0)
        self.assertEqual(segments(program.pid), [])

    def test_a_child_that_no_handler_is_told_of_has_stacks_of_its_own(self):
        """Both push and pop without end; the header is in the program, however that is linked, or in a plugin."""
        work = """
            #include "native/activity/treadle.h"
            #include <unistd.h>
            void work(const char *name);
            void work(const char *name) { treadle_push(name); usleep(2000); treadle_pop(); }"""
        host = """
            #include <dlfcn.h>
            #include <signal.h>
            #include <stdio.h>
            #include <sys/prctl.h>
            #include <sys/syscall.h>
            #include <unistd.h>
            extern void work(const char *name);
            int main(int argc, char **argv)
            {
                void (*run)(const char *name) = NULL;
                pid_t child;
                (void)argv;
            #ifdef PLUGIN
                *(void **)&run = dlsym(dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL), "work");
            #else
                run = argc ? work : NULL;
            #endif
                run("first");
                child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
                if (child == 0)
                    prctl(PR_SET_PDEATHSIG, SIGKILL);
                else
                    printf("ready\\n%d\\n", (int)child), fflush(stdout);
                while (getppid() != 1)
                    run(child ? "parent" : "child");
                return 0;
            }"""
        plugin = self.compiled("work.so", work, "-shared", "-fPIC")
        linked = self.compiled("work.o", work, "-c")
        for options in ((linked,), (linked, "-no-pie"), (linked, "-static"), ("-DPLUGIN",)):
            with self.subTest(options):
                program = self.start(self.compiled("host", host, *options), plugin)
                child = int(program.stdout.readline())
                for pid, name in ((program.pid, "parent"), (child, "child")):
                    view = self.activity(self.sampled(pid, "--every", "5ms", "--for", "300ms"))
                    self.assertEqual([node["identifier"] for node in view["activity"]], [name])
                    self.assertEqual(len(segments(pid)), 1)
                left = segments(program.pid) + segments(child)
                program.kill()
                program.wait()
                for segment in left:
                    segment.unlink()

    def test_what_cannot_be_recorded_costs_nothing_and_is_said(self):
        """A program that has no thread-specific key left; and one that pushes before the header's constructor ran."""
        keyless = self.compiled("keyless", """
#include "native/activity/treadle.h"
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor(101))) static void early(void)
{
    pthread_key_t key;
#ifdef KEYS
    while (pthread_key_create(&key, NULL) == 0)
        continue;
#else
    (void)key;
#endif
    treadle_push("early");
    treadle_pop();
}
int main(void)
{
    treadle_push("first");
    treadle_pop();
    if (treadle__watch_now() != 0) /* as before the first push: each one takes the long way */
        return 1;
""" + LOOP % 1000 + "    return 0;\n}\n", "-DKEYS")
        program = self.start(keyless)
        done = self.run_treadle("sample", str(program.pid), "--for", "200ms", "-o", "none.ledger")
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"process {program.pid} records no logical stacks: it had no thread-specific key left",
                      done.stderr.decode())
        self.assertNotIn("nothing was pushed", done.stderr.decode())
        self.assertEqual(program.wait(timeout=60), 0)
        self.assertEqual(segments(program.pid), [])
        subprocess.run(["cc", *STRICT, "-D_GNU_SOURCE", "-O2", self.path("keyless.c"), "-o", self.path("early")], check=True)
        program = self.start(self.path("early"))
        view = self.activity(self.sampled(program.pid, "--every", "5ms", "--for", "300ms"))
        self.assertIsNotNone(below(view["activity"], "work"))

    @unittest.skipUnless(os.geteuid() == 0, "takes root to change the root")
    def test_a_changed_root_takes_nothing_away(self):
        """Neither the stacks beyond the first 64, nor chains: the segment's path leads nowhere now."""
        if tuple(int(number) for number in os.uname().release.split(".")[:2] if number.isdigit()) < (5, 14):
            self.skipTest("no MADV_POPULATE_WRITE before Linux 5.14")
        root = pathlib.Path(self.path("root"))
        root.mkdir()
        program = self.start(self.compiled("chroot", """
#include "native/activity/treadle.h"
#include <stdio.h>
#include <unistd.h>
static void *thread(void *unused)
{
    for (;;) {
        treadle_begin("request");
        usleep(5000);
        treadle_pop();
    }
    return unused;
}
int main(int argc, char **argv)
{
    treadle_push("first");
    treadle_pop();
    if (chroot(argv[argc - 1]) != 0 || chdir("/") != 0)
        return 1;
    for (int i = 0; i < 100; i++) {
        pthread_t one;
        if (pthread_create(&one, NULL, thread, NULL) != 0)
            return 1;
    }
    puts("ready");
    fflush(stdout);
    pause();
    return 0;
}
"""), str(root))
        self.sampled(program.pid, "--every", "10ms", "--for", "500ms")
        view = self.activity("sampled.ledger")
        self.assertEqual(len([thread for thread in view["threads"] if thread["activity"]]), 100)
        self.assertEqual(view["stack_losses"]["lost_threads"], 0)
        chains = self.json("report", "sampled.ledger", "-v", "chains")
        # (Threads that begin one while another makes the ring lose it.)
        self.assertGreater(len(chains["chains"]), chains["lost_parts"])
        segments(program.pid)[0].unlink()

    @unittest.skipUnless(os.geteuid() == 0, "takes root to change the user")
    def test_a_process_that_changed_its_user_is_told_from_one_without_stacks(self):
        folder = tempfile.mkdtemp(prefix="treadle-user-")
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o777)
        treadle = shutil.copy(bench.TREADLE, folder)
        program = self.start(self.compiled("changed", """
#include "native/activity/treadle.h"
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    treadle_push("first");
    treadle_pop();
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return 1;
""" + LOOP % 100000 + "    return 0;\n}\n"))
        found = segments(program.pid)
        self.addCleanup(found[0].unlink)
        sleeper = subprocess.Popen(["sleep", "60"], user=65534, group=65534)
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        for pid, said in ((program.pid, f"{found[0]}: of user 0: process {program.pid} made it before it changed its user"),
                          (sleeper.pid, "no treadle.h in it, or nothing was pushed")):
            done = subprocess.run([treadle, "sample", str(pid), "--for", "100ms", "-o", "user.ledger"], cwd=folder,
                                  user=65534, group=65534, extra_groups=[], capture_output=True, text=True, timeout=60,
                                  check=True)
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "takes root to mount")
    def test_a_process_with_another_folder_of_segments_is_told_from_one_without_stacks(self):
        mount = "mount -t tmpfs none /dev/shm"
        if subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True, check=False).returncode:
            self.skipTest("no namespaces of mounts here")
        program = self.compiled("contained", """
#include "native/activity/treadle.h"
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    treadle_push("first");
    treadle_pop();
""" + LOOP % 100000 + "    return 0;\n}\n")
        contained = self.start("unshare", "-m", "sh", "-c", f"{mount} && exec {program}")
        done = self.run_treadle("sample", str(contained.pid), "--for", "100ms", "-o", "none.ledger")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr.decode(), f"process {contained.pid} has its logical stacks in "
                         f"/dev/shm/treadle-{contained.pid}-[a-z2-7]*.activity, in another namespace")

    def test_many_plugins_fit(self):
        """Each has a state of its own, and takes some of the static thread-local space that glibc has left."""
        plugin = self.compiled("plugin.so", PLUGIN, "-shared", "-fPIC")
        copies = [shutil.copy(plugin, self.path(f"plugin-{number}.so")) for number in range(40)]
        host = self.compiled("many", """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        void (*work)(void);
        if (!plugin)
            return printf("%d: %s\\n", i, dlerror()), 1;
        *(void **)&work = dlsym(plugin, "work");
        work();
    }
    return 0;
}
""")
        done = subprocess.run([host, *copies], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    bench.SECONDS = 280  # it compiles what it runs
    bench.main()
