#!/usr/bin/env python3
"""The interposer's generator: a list it cannot read is refused with file and line, and nothing is written."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = ROOT / "scripts" / "make_wrappers.py"
SYMBOLS = ROOT / "src" / "edge" / "preload" / "symbols.txt"


def make(text: str) -> tuple[subprocess.CompletedProcess, str]:
    with tempfile.TemporaryDirectory() as folder:
        symbols = pathlib.Path(folder) / "symbols.txt"
        symbols.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, TOOL, symbols, folder], capture_output=True, text=True, check=False)
        made = pathlib.Path(folder) / "edge" / "preload" / "wrappers.cc"
        return done, made.read_text(encoding="utf-8") if made.exists() else ""


class MakeWrappers(unittest.TestCase):
    def test_every_line_of_the_list_becomes_one_wrapper(self):
        text = SYMBOLS.read_text(encoding="utf-8")
        names = re.findall(r"^(nccl\w+) \|", text, re.M)
        done, made = make(text)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(re.findall(r"AUTOCCL_WRAPPER int (\w+)\(", made), names)

    def test_an_argument_is_passed_on_as_it_came(self):
        _, made = make("ncclSend | p2p | const void* buffer, size_t count, Comm comm, Stream stream\n")
        self.assertIn("(const void*, size_t, Comm, Stream)>(real)(buffer, count, comm, stream)", made)

    def test_a_line_that_cannot_be_read_is_named(self):
        for bad, why in {
            "ncclSend p2p": "want 'name | kind | arguments'",
            "send | p2p | int a": "'send' is no name of a call",
            "ncclSend | fast | int a": "kind 'fast' is unknown",
            "ncclSend | collective | int a": "kind 'collective' is unknown",
            "ncclSend | collective Sum | int a": "kind 'collective Sum' is unknown",
            "ncclSend | p2p | int": "argument 'int' is not 'TYPE NAME'",
            "ncclSend | p2p | int a\nncclSend | p2p | int a": "stands twice",
        }.items():
            done, made = make("# a comment\n" + bad + "\n")
            self.assertEqual((done.returncode, made), (2, ""), bad)
            self.assertRegex(done.stderr, r"symbols\.txt:[23]: ", bad)
            self.assertIn(why, done.stderr, bad)


if __name__ == "__main__":
    unittest.main()
