#!/usr/bin/env python3
"""Tests of tables.py: python3 bench/tables_test.py"""
import contextlib
import io
import json
import os
import tempfile
import unittest

import tables


def row(who, us, **more):
    base = {"engine": "cpu", "who": who, "collective": "allreduce", "ranks": 2, "bytes": 1 << 20,
            "config": "c", "buffers": "registered", "compute": "none", "median_us": us, "wrong": 0,
            "share_of_limit": 0.5, "compute_gflops": 0, "ratios": {}, "behind": False}
    return {**base, **more}


def ratio(middle):
    return {"low": middle * 0.9, "middle": middle, "high": middle * 1.1}


class Tables(unittest.TestCase):
    def test_sizes_and_times_are_written_for_people(self):
        self.assertEqual([tables.size_text(s) for s in (1000, 1024, 3 << 20)], ["1000 B", "1 KiB", "3 MiB"])
        self.assertEqual([tables.time_text(t) for t in (0, 0.6, 12.34, 345.6, 20000)],
                         ["-", "0.60", "12.3", "346", "20.0 ms"])

    def test_peers_give_time_and_ratio_to_both_kinds_of_buffers(self):
        rows = [row("default", 10, ratios={"mpich": ratio(4)}),
                row("default", 20, buffers="ordinary", ratios={"mpich": ratio(2)}),
                row("mpich", 40, engine="mpich", buffers="ordinary")]
        text = tables.peers(rows, [])
        self.assertIn("| 1 MiB | 10.0 | 50 % | 20.0 | 40.0 (4.00x, 2.00x) |", text)
        self.assertIn("Rows behind a peer (upper 95 % bound below 0.95, marked !): 0", text)

    def test_a_row_behind_a_peer_is_marked_and_counted(self):
        rows = [row("default", 10, ratios={"mpich": ratio(0.5)}, behind=True), row("mpich", 5, engine="mpich")]
        text = tables.peers(rows, [])
        self.assertIn("0.50x!", text)
        self.assertIn("marked !): 1", text)

    def test_tuned_is_shown_as_share_of_the_oracle(self):
        rows = [row("default", 20), row("tuned", 10, ratios={"default": ratio(2)}), row("exhaustive", 9)]
        self.assertIn("| 20.0 | 10.0 | 2.00x [1.80, 2.20] | 9.00 | 90 % |", tables.tuned(rows, []))

    def test_interference_compares_with_the_config_tuned_alone(self):
        rows = [row("default", 10), row("tuned", 8),
                row("default", 40, compute="heavy"),
                row("tuned", 20, compute="heavy", ratios={"default": ratio(2)}, compute_gflops=17),
                row("pinned", 30, compute="heavy")]
        self.assertIn("| heavy | 40.0 | 20.0 | 2.00x [1.80, 2.20] | 2.00x | 30.0 | 1.50x | 17 |",
                      tables.interference(rows, []))

    def test_transfer_is_the_loss_against_the_tasks_own_best(self):
        small, large = {"bytes": 1024}, {"bytes": 2048}
        rows = [row("exhaustive", 1, config="a", **small), row("exhaustive", 2, config="b", **large),
                row("pinned", 10, config="a", **small), row("pinned", 15, config="b", **small),
                row("pinned", 20, config="b", **large)]
        text = tables.transfer(rows, [])
        self.assertIn("| allreduce 1 KiB x2 | +0 | - |", text)
        self.assertIn("| allreduce 2 KiB x2 | +50 | +0 |", text)

    def test_configs_are_read_with_their_subspace(self):
        self.assertEqual(tables.fields_of("twoshot/zero/shm nc=2 nt=1 c=64K wait=spin"),
                         ("twoshot/zero/shm wait=spin", {"nc": 2, "nt": 1, "c": 65536}))

    def test_a_second_valley_is_counted_and_noise_is_not(self):
        def line(*us):
            return list(enumerate(us))
        self.assertEqual(tables.reversals(line(9, 5, 3, 5, 9)), 0)
        self.assertEqual(tables.reversals(line(9, 5, 5.2, 5, 9)), 0)
        self.assertEqual(tables.reversals(line(9, 5, 8, 4, 9)), 1)
        self.assertEqual(tables.reversals(line(3, 5, 3, 5, 3)), 2)

    def test_many_cores_reports_the_best_value_of_each_parameter(self):
        grid = [{"collective": "allreduce", "ranks": 4, "bytes": 1024, "median_us": us,
                 "config": f"ring/simple/shm nc={nc} nt=1 c=4K wait=futex"}
                for nc, us in ((1, 8), (2, 4), (4, 6))]
        self.assertIn("| allreduce 1 KiB x4 | ring/simple/shm wait=futex | 4.00 | 2 (2.00x, 0) |",
                      tables.many_cores([], grid))

    def test_a_foreign_file_is_named(self):
        for content in ("{", '{"tasks": []}', '{"rows": 7}'):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "foreign.json")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(content)
                said = io.StringIO()
                with contextlib.redirect_stderr(said):
                    self.assertEqual(tables.main(["peers", path]), 2)
                self.assertIn(path, said.getvalue())

    def test_a_whole_document_becomes_a_table_with_machine_and_date(self):
        document = {"machine": "M", "date": "D", "rows": [row("default", 10)], "grid": []}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "result.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(document, file)
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                self.assertEqual(tables.main(["peers", path]), 0)
        self.assertIn("Measured on M, D.", said.getvalue())


if __name__ == "__main__":
    unittest.main()
