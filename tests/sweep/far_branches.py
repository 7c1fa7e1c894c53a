"""Writes FarBranches.java: loops just short of 32 KiB, whose jumps no longer reach once hooks are in.

    far_branches.py FOLDER

Both methods need trampolines, which may stand behind any return. `guarded_loop` is a try block:
there they stand between the exception ranges, which do not hold the returns."""

import pathlib
import sys

STEPS = 1940  # of 17 bytes each


def steps():
    return "\n".join(f"            x += {40000 + i}; if (x == {-100000 - i}) return {200000 + i};"
                     for i in range(STEPS))


SOURCE = f"""public class FarBranches {{
    static int open_loop(int limit) {{
        int x = 0;
        while (x < limit) {{
{steps()}
        }}
        return x;
    }}

    static int guarded_loop(int limit) {{
        int x = 0;
        try {{
        while (x < limit) {{
{steps()}
        }}
        return x;
        }} catch (RuntimeException e) {{
            return -1;
        }}
    }}

    public static void main(String[] args) {{
        System.out.println(open_loop(100000000) + " " + guarded_loop(100000000) + " "
                           + open_loop(-1));
    }}
}}
"""

pathlib.Path(sys.argv[1], "FarBranches.java").write_text(SOURCE)
