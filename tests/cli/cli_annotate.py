"""treadle annotate on the ledger that sampled_drawing.h draws."""
import os
import random

import bench

SOURCE = "package demo;\n" + "".join(f"\tline {number}\n" for number in range(2, 21))


LOSSES = """\
lost      3 samples dropped: there was no room for them
lost      2 samples of kernel threads that have no row

"""


class Annotate(bench.Bench):
    def setUp(self):
        super().setUp()
        self.make("sampled")

    def annotate(self, *arguments, status=0):
        """Behind the losses, which stand above the text."""
        text = self.treadle("annotate", *arguments, "sampled.ledger", status=status)
        if status or "--json" in arguments:
            return text
        self.assertTrue(text.startswith(LOSSES), text)
        return text[len(LOSSES):]

    def test_bytecode(self):
        self.assertEqual(self.annotate("demo.Inner.loop"), """\
demo.Inner.loop  (I)V, Demo.java
  10 samples: 6 interpreted, 4 compiled

Bytecode
  Samples    Share   Line     Bci  Bytecode
                       10       0  iconst_2
                       10       1  newarray int
                       10       3  astore_1
        4   40.0 %     11       4  iload_0
        5   50.0 %     11       5  goto 4
        1   10.0 %     12       8  return
""")

    def test_inlined_copies_count_where_they_come_from(self):
        text = self.annotate("demo.Inner.small")
        self.assertIn("  3 samples: 0 interpreted, 3 compiled, of which 3 inlined into other "
                      "methods\n", text)
        self.assertIn("        3  100.0 %     11       4  iload_0\n", text)
        text = self.annotate("demo.Main.work")
        self.assertIn("  2 samples: 0 interpreted, 2 compiled\n", text)

    def test_code(self):
        text = self.annotate("--code", "demo.Main.work")
        self.assertEqual(text[text.index("\nC2"):], """
C2, 11 bytes at 0x7f0000002000, 5 samples
  Samples    Share   Line  Offset  Machine code
                             +0x0  push rbp
                             +0x1  mov rbp, rsp
        2   40.0 %     11    +0x4  add edi, 1
        3   60.0 %           +0x7  mov eax, edi  ; demo.Inner.small:11
                             +0x9  pop rbp
                             +0xa  ret
""")

    def test_source(self):
        os.makedirs(self.path("src/demo"))
        for path in ("src/demo/Demo.java", "Demo.java"):
            with open(self.path(path), "w", encoding="utf-8") as file:
                file.write(SOURCE)
        expected = """
Source
  Samples    Share   Line  Source
                        8          line 8
                        9          line 9
                       10          line 10
        9   90.0 %     11          line 11
        1   10.0 %     12          line 12
                       13          line 13
                       14          line 14
"""
        for source in ("src", "src/demo", ".", "Demo.java"):
            text = self.annotate("--source", source, "demo.Inner.loop")
            self.assertEqual(text[text.index("\nSource\n"):], expected, source)

    def test_several_methods(self):
        text = self.annotate("demo.*")
        self.assertTrue(text.startswith("""\
4 methods match:
       10  demo.Inner.loop
        3  demo.Inner.small
        2  demo.Main.work
        1  demo.Main.main

demo.Inner.loop  (I)V, Demo.java
"""), text)
        self.assertEqual(text.count("\nBytecode\n"), 4)
        report = self.json("annotate", "*", "sampled.ledger")
        self.assertEqual([m["method"] for m in report["methods"]],
                         ["loop", "small", "work", "main"])

    def test_json(self):
        report = self.json("annotate", "demo.Main.work", "sampled.ledger", "--code")
        self.assertEqual(report["skipped_records"], 0)
        [method] = report["methods"]
        self.assertEqual((method["class"], method["method"], method["signature"],
                          method["samples"], method["compiled"], method["interpreted"]),
                         ("demo.Main", "work", "()V", 2, 2, 0))
        bytecode, code = method["listings"]
        self.assertEqual((bytecode["kind"], bytecode["samples"]), ("bytecode", 2))
        self.assertEqual(bytecode["rows"][3],
                         {"bci": 4, "line": 11, "samples": 2, "share_ppm": 1_000_000,
                          "text": "iload_0"})
        self.assertEqual((code["kind"], code["compiler"], code["address"], code["size"],
                          code["samples"]), ("code", "C2", 0x7f0000002000, 11, 5))
        self.assertEqual(code["rows"][3],
                         {"offset": 7, "line": None, "samples": 3, "share_ppm": 600_000,
                          "text": "mov eax, edi", "note": "demo.Inner.small:11"})

    def test_native_functions(self):
        for name in ("demo::Engine::spin", "demo::Engine::spin(int)",
                     r"demo::Engine::spin(int) \[libdemo.so\]", "*Engine*"):
            self.assertIn("demo::Engine::spin(int) [libdemo.so]\n  0 samples\n",
                          self.annotate(name))

    def test_a_function_out_of_its_file(self):
        self.make("native")
        text = self.treadle("annotate", "drawn_function", "native.ledger")
        self.assertTrue(text.startswith(LOSSES), text)
        lines = text[len(LOSSES):].splitlines()
        self.assertEqual(lines[:2], ["drawn_function [make_ledger]", "  9 samples"])
        self.assertEqual(lines[3], f"{os.path.realpath(bench.MAKE_LEDGER)}, 9 samples")
        self.assertRegex(lines[5], r"^ {8}7   77\.8 % +\d* +\+0x0  [a-z]")
        self.assertRegex(lines[-1], r"^ {8}2   22\.2 % +\+0x100000$")
        self.assertRegex(text, r"\n +\d* +\+0x[0-9a-f]+  ret")
        [method] = self.json("annotate", "drawn_f*", "native.ledger")["methods"]
        [code] = method["listings"]
        self.assertEqual((code["rows"][0]["offset"], code["rows"][0]["samples"]), (0, 7))
        report = self.json("report", "native.ledger", "--view", "procedures")
        self.assertEqual([(p["method"], p["image"], p["samples"]) for p in report["procedures"]],
                         [("drawn_function", "make_ledger", 9)])

    def test_a_file_of_another_build(self):
        self.make("native", number=1)
        text = self.treadle("annotate", "make_ledger+0x*", "native.ledger")
        self.assertRegex(text, r"make_ledger: not there, or of another build, 9 samples\n")
        self.assertRegex(text, r"\n {8}7   77\.8 % +\+0x0\n")

    def test_what_is_not_there(self):
        def refused(*arguments, status=1):
            complaint = self.annotate(*arguments, status=status)
            self.assertEqual(complaint.count("\n"), 1, complaint)
            return complaint
        self.assertEqual(refused("demo.Main.wrok"),
                         "treadle: sampled.ledger: has no method 'demo.Main.wrok'; did you mean "
                         "'demo.Main.work'?\n")
        self.assertIn("`treadle report --view procedures` lists", refused("zzzzzzzzzzzzzzzz"))
        self.assertIn("nowhere: cannot be read: No such file", refused("-s", "nowhere", "demo.*"))
        self.assertIn("tmp: has no source of demo.Inner; name its file",
                      refused("-s", "tmp", "demo.*"))
        os.mkfifo(self.path("pipe"))
        for special in ("pipe", "/dev/zero"):
            self.assertIn(f"{special}: is no regular file", refused("-s", special, "demo.*"))
        os.makedirs(self.path("pipes/demo"))
        os.rename(self.path("pipe"), self.path("pipes/demo/Demo.java"))
        self.assertIn("pipes: has no source of demo.Inner", refused("-s", "pipes", "demo.*"))
        with open(self.path("sparse"), "wb") as file:
            file.truncate(1 << 36)
        self.assertIn("sparse: cannot be read: File too large", refused("-s", "sparse", "demo.*"))
        self.make("plain")
        self.assertIn("has no samples: the agent's sample= did not ask for any",
                      self.treadle("annotate", "demo.*", "plain.ledger", status=1))
        self.assertIn("which METHOD?", self.treadle("annotate", status=2))
        self.assertIn("which METHOD of plain.ledger?", self.treadle("annotate", "plain.ledger", status=2))
        self.assertIn("not more", self.treadle("annotate", "a", "b", "c", status=2))
        self.assertIn("METHOD comes first: treadle annotate demo.Main.work plain.ledger",
                      self.treadle("annotate", "plain.ledger", "demo.Main.work", status=2))

    def test_damage(self):
        """Any bytes in place of any others: a report, or one line; never a crash."""
        with open(self.path("sampled.ledger"), "rb") as file:
            good = file.read()
        chance = random.Random(7)
        used = len(good.rstrip(b"\0"))
        for number in range(60):
            damaged = bytearray(good)
            for _ in range(chance.choice((1, 10, 300))):
                damaged[chance.randrange(64, used)] = chance.choice(
                    (0, 0xff, chance.randrange(256), chance.randrange(256)))
            with open(self.path("damaged.ledger"), "wb") as file:
                file.write(damaged)
            for arguments in (["annotate", "*", "damaged.ledger", "--code"],
                              ["annotate", "*", "damaged.ledger", "--json"],
                              ["report", "damaged.ledger", "-v", "tree", "--json"],
                              ["report", "damaged.ledger", "-v", "images"],
                              ["report", "damaged.ledger", "-v", "procedures"]):
                self.survives(number, *arguments)

    def survives(self, number, *arguments):
        done = self.run_treadle(*arguments)
        self.assertIn(done.returncode, (0, 1), f"damage {number}: {arguments}: {done.stderr}")
        if done.returncode == 1:
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)


if __name__ == "__main__":
    bench.main()
