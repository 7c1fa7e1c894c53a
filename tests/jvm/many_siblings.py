"""Writes ManySiblings.java into the folder it is given: a method with 600 different callees."""

import sys
from pathlib import Path

COUNT = 600
ROUNDS = 3


def lines(template, numbers=range(COUNT)):
    return "\n".join(template.format(n) for n in numbers)


Path(sys.argv[1], "ManySiblings.java").write_text(f"""/*
 * A method that calls {COUNT} others, {ROUNDS} times, and one that calls them once, last to first.
 *
 * Expected:
 *   thread main
 *     1 ManySiblings.main
 *       {ROUNDS} ManySiblings.all
 *         {ROUNDS} ManySiblings.m{{000..{COUNT - 1}}}
 *       1 ManySiblings.backwards
 *         1 ManySiblings.m{{000..{COUNT - 1}}}
 */
public class ManySiblings {{
{lines("    static int m{0:03}(int n) {{ return n + {0}; }}")}

    static int all(int n) {{
{lines("        n = m{0:03}(n);")}
        return n;
    }}

    static int backwards(int n) {{
{lines("        n = m{0:03}(n);", reversed(range(COUNT)))}
        return n;
    }}

    public static void main(String[] args) {{
        int n = 0;
        for (int i = 0; i < {ROUNDS}; i++) {{
            n = all(n);
        }}
        System.out.println(backwards(n));
    }}
}}
""")
