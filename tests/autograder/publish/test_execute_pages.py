"""Executing pages side by side: the processes share one cache."""

import contextlib
import sqlite3
import subprocess

from autograder.publish import execute_pages


def test_the_cache_has_its_tables_before_a_page_is_executed(tmp_path, monkeypatch):
    # two processes that found an empty cache both made its tables, and the second failed
    found = []

    def run(command, **settings):
        database = execute_pages.cache_folder(tmp_path) / "global.db"
        with contextlib.closing(sqlite3.connect(database)) as opened:
            found.append({name for (name,) in opened.execute("SELECT name FROM sqlite_master")})
        return subprocess.CompletedProcess(command, 0, "", "")

    pages = [tmp_path / name for name in ("one.md", "two.md")]
    for page in pages:
        page.write_text("# A page\n")
    monkeypatch.setattr(execute_pages.subprocess, "run", run)
    execute_pages.execute_pages(tmp_path, pages, {})
    assert len(found) == len(pages)
    assert all({"settings", "nbcache"} <= tables for tables in found)
