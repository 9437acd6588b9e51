#!/usr/bin/env python3
"""Tests of table.py: python3 bench/search/table_test.py"""
import unittest

import table

PIECE = "autoccl-searches 1\npolicy paper 0.02 7 0.9 120 0 claims 0 3\npolicy paper 0.02 8 0.9 120 0 claims 0 3\n"


class Table(unittest.TestCase):
    def test_the_block_between_the_marks_is_replaced_and_nothing_else(self):
        page = f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n"
        text = table.replaced(page, "new rows\n\n", {7, 8}, "2026-12-01")
        self.assertEqual(text, f"before\n{table.BEGIN}\nSeeds 7 to 8, 2026-12-01.\n\n```\nnew rows\n```\n{table.END}\nafter\n")
        self.assertEqual(table.replaced(text, "new rows", {7, 8}, "2026-12-01"), text)

    def test_a_page_without_the_marks_is_refused(self):
        with self.assertRaises(table.BadInput):
            table.replaced("a page", "rows", {1}, "2026-12-01")

    def test_seeds_are_read_from_pieces_and_named_in_spans(self):
        self.assertEqual(table.seeds_of(PIECE, "p"), {7, 8})
        self.assertEqual(table.spans({1, 2, 3, 9, 11, 10}), "1 to 3, 9 to 11")

    def test_what_is_no_piece_is_named(self):
        for text in ("", "something", "autoccl-searches 1\npolicy paper\n"):
            with self.assertRaisesRegex(table.BadInput, "p.txt"):
                table.seeds_of(text, "p.txt")


if __name__ == "__main__":
    unittest.main()
