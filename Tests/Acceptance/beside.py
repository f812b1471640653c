"""Runs acceptance tests in processes side by side: most of them wait, each for something of its own.

    python beside.py JOBS PATTERN...

A class is one piece, and where it says `apart = True` each of its tests is. Where it says `alone =
True`, its pieces come first and nobody plays beside them: they need the whole machine. What a piece
printed is shown when it failed; the last lines tell how many tests ran, and which failed.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def pieces(patterns):
    """The names that unittest takes, those that play alone and the others."""
    alone, found = [], []

    def collect(suite):
        for item in suite:
            if isinstance(item, unittest.TestSuite):
                collect(item)
                continue
            if isinstance(item, unittest.loader._FailedTest):
                raise SystemExit(f"{item.id()} cannot be imported: {item._exception}")
            name = item.id() if getattr(item, "apart", False) else item.id().rsplit(".", 1)[0]
            names = alone if getattr(item, "alone", False) else found
            if name not in names:
                names.append(name)

    for pattern in patterns:
        before = len(alone) + len(found)
        collect(unittest.TestLoader().discover(str(HERE), pattern=pattern))
        if len(alone) + len(found) == before:
            raise SystemExit(f"no test is in {pattern}")
    return alone, found


def run(name):
    begin = time.monotonic()
    result = subprocess.run(
        [sys.executable, "-m", "unittest", name], cwd=HERE, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    ran = re.search(r"^Ran (\d+) tests?", result.stdout, re.M)
    count = int(ran.group(1)) if ran else 0
    skipped = re.search(r"skipped=(\d+)", result.stdout)
    # A piece in which nothing ran proves nothing; CI has all that the tests need.
    isEmpty = count == (int(skipped.group(1)) if skipped else 0)
    passed = result.returncode == 0 and not (isEmpty and (count == 0 or os.environ.get("CI")))
    mark = "ok    " if passed else "FAILED"
    print(f"{mark} {time.monotonic() - begin:6.1f} s  {name}", flush=True)
    if not passed:
        print(result.stdout, flush=True)
    return name, count, passed


def main(jobs, patterns):
    alone, found = pieces(patterns)
    results = [run(name) for name in alone]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results += pool.map(run, found)
    failed = [name for name, _, passed in results if not passed]
    print(f"Ran {sum(count for _, count, _ in results)} tests, {len(failed)} of {len(results)} pieces failed")
    for name in failed:
        print(f"  {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3 or not sys.argv[1].isdigit() or int(sys.argv[1]) < 1:
        raise SystemExit(__doc__)
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
