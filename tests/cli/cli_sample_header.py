"""The header of logical stacks as each compiler and standard that is here takes it, with all warnings."""
import pathlib
import shutil
import subprocess

import bench

ROOT = pathlib.Path(__file__).resolve().parents[2]
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Wshadow", "-Werror", "-pthread", f"-I{ROOT}"]
CXX_STRICT = ["-Wold-style-cast", "-Wzero-as-null-pointer-constant"]
C_COMPILERS = [compiler for compiler in ("gcc", "clang") if shutil.which(compiler)]
CXX_COMPILERS = [compiler for compiler in ("g++", "clang++") if shutil.which(compiler)]


class Header(bench.Bench):
    def test_the_header_compiles_without_a_warning(self):
        (pathlib.Path(self.folder) / "one.c").write_text("""
#include "native/activity/treadle.h"
#include <stdlib.h>
#define BOTH(one, two) treadle_scope(one); treadle_scope(two)
static void work(void)
{
    treadle_scope("work");
    treadle_scope_with("scan", "ORDERS");
    treadle_scope_number("row", 7);
    treadle_mark mark = treadle_push("a");
    treadle_push_with("b", "c");
    treadle_push_number("d", -1);
    treadle_pop();
    treadle_pop_to(mark);
    treadle_scope_begin("request");
    treadle_scope_begin_with("request", "GET");
    struct treadle_chain id = treadle_id();
    char text[TREADLE_ID_TEXT_BYTES];
    treadle_id_text(id, text);
    treadle_adopt("serve", treadle_id_of_text(text));
    treadle_pop();
    treadle_scope_adopt("serve", id);
    treadle_scope_adopt_with("serve", "ORDERS", treadle_otel_id());
    const char *nothing = getenv("TREADLE_NO_SUCH_ID");
    BOTH("parse", "plan");
    { BOTH("plan", "step"); }
    treadle_adopt("serve", treadle_id_of_text(nothing));
    treadle_pop();
}
int main(void) { work(); return 0; }
""")
        shutil.copy(self.path("one.c"), self.path("one.cpp"))
        for compiler in C_COMPILERS + CXX_COMPILERS:
            is_c = compiler in C_COMPILERS
            for standard in ("c11", "gnu11", "c17", "c2x") if is_c else ("c++11", "c++17", "c++20", "c++2b"):
                for options in (["-O0"], ["-O2"], ["-O2", "-fPIC", "-fno-exceptions"]):
                    with self.subTest(compiler=compiler, standard=standard, options=options):
                        strict = STRICT if is_c else STRICT + CXX_STRICT
                        subprocess.run([compiler, f"-std={standard}", *strict, *options,
                                        self.path("one.c" if is_c else "one.cpp"), "-o", self.path("one")],
                                       check=True)
                        subprocess.run([self.path("one")], check=True)


if __name__ == "__main__":
    bench.SECONDS = 280  # most of it is the compiler's
    bench.main()
