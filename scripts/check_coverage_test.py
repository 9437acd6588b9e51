#!/usr/bin/env python3
"""The check of docs/coverage.md, on a small project of its own."""
import pathlib
import tempfile
import unittest

import check_coverage as check

CLI = "## autoccl run\n\n  -n,--ranks N\n  --json FILE\n\n## autoccl profile show\n\n  --json FILE\n"


class CoverageTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.write("src/base/clock_test.cc", "TEST(Clock, Ticks) {}\nTEST_P(Clock, DISABLED_Stops) {}\n")
        self.write("tests/CMakeLists.txt", "add_test(NAME layers COMMAND x)\nadd_executable(looper looper.cc)\n")
        self.write("docs/cli.md", CLI)
        self.write("docs/settings.md", "| `AUTOCCL_LOG` | warn |\n")
        self.write("docs/plans.md", "# Plans\n## 1. How it is, really?\n")
        self.write("include/autoccl/autoccl.h", "int acclAllReduce(void);\n")
        self.rows, check.ROWS = check.ROWS, {"P": 1}

    def tearDown(self):
        check.ROWS = self.rows
        self.folder.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def faults(self, *rows):
        self.write("docs/coverage.md", "| | claim | state | shown by |\n|---|---|---|---|\n" + "\n".join(rows) + "\n")
        return check.check(check.Project(self.root, None))[0]

    def assert_shown(self, shown):
        self.assertEqual(self.faults(f"| P1 | a claim | done | {shown} |"), [], shown)

    def assert_fault(self, row, words):
        faults = self.faults(row)
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(words, faults[0])

    def test_what_exists_shows_a_row(self):
        for shown in ("`Clock.Ticks`", "`Clock.*`", "`ctest layers`", "`autoccl run --json`", "`autoccl profile show`",
                      "`AUTOCCL_LOG`", "`acclAllReduce`", "`looper --fast`", "`docs/cli.md`", "[plans](plans.md)",
                      "[how](plans.md#1-how-it-is-really)"):
            self.assert_shown(shown)

    def test_what_does_not_exist_is_named_with_its_row(self):
        for shown, words in (("`Clock.Tocks`", "no test is called Clock.Tocks"), ("`Clocks.*`", "Clocks.*"),
                             ("`Clock.Stops`", "Clock.Stops"), ("`ctest rooms`", "rooms"),
                             ("`autoccl sing`", "no command `autoccl sing`"),
                             ("`autoccl run --js`", "no option --js"), ("`AUTOCCL_LOUD`", "AUTOCCL_LOUD"),
                             ("`acclSing`", "acclSing"), ("`docs/x.md`", "docs/x.md"),
                             ("[plans](plan.md)", "plan.md leads to no file"),
                             ("[how](plans.md#how)", "plans.md#how leads to no heading")):
            self.assert_fault(f"| P1 | a claim | done | {shown} |", words)
            self.assertIn("docs/coverage.md:3: P1:", self.faults(f"| P1 | a claim | done | {shown} |")[0])

    def test_a_row_that_is_done_or_partly_names_something(self):
        self.assert_fault("| P1 | a claim | done | we are sure |", "names nothing that shows it")
        self.assert_fault("| P1 | a claim | partly (topology) | |", "names nothing that shows it")
        self.assertEqual(self.faults("| P1 | a claim | planned (topology) | |"), [])

    def test_a_planned_row_may_not_name_what_is_missing_either(self):
        self.assert_fault("| P1 | a claim | planned (topology) | `Clock.Tocks` |", "Clock.Tocks")

    def test_a_row_that_does_not_apply_says_why(self):
        self.assert_fault("| P1 | a claim | not applicable | |", "no reason")

    def test_states_and_parts_are_words_of_the_page(self):
        self.assert_fault("| P1 | a claim | nearly | `Clock.Ticks` |", "state 'nearly'")
        self.assert_fault("| P1 | a claim | planned (later) | |", "part 'later'")

    def test_a_missing_row_or_cell_is_a_fault(self):
        self.assert_fault("| P2 | a claim | done | `Clock.Ticks` |", "P1 to P1")
        self.assert_fault("| P1 | a claim | done |", "3 cells")

    def test_a_bar_inside_a_claim_is_no_cell(self):
        self.assertEqual(self.faults("| P1 | `A\\|B` | done | `Clock.Ticks` |"), [])


if __name__ == "__main__":
    unittest.main()
