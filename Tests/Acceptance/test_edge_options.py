"""Edge values for every option and every argument of every command.

The list of options is read from the program itself. A command may end with a documented exit code
alone: never with 70, a signal, more than 5 s of processor time or more than 300 MB. `ASSAY_FUZZ` is
the number of values of each option; without it two are drawn from the seed.
"""

import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import requests
from serving import BINARY, NAMES, ROOT, Serving

DOCUMENTED = {0, 1, 2, 3, 4, 5, 6, 74, 130}
ADDRESS = re.compile(rb"(reference backend on|[a-z]+) +http://")
PROCESSOR_SECONDS = 5
MEMORY_KB = 300_000
VALUES = [
    b"", b"a", b".", b"..", b"/", b"-", b"a b", b" ", b"\xff\xfe", b"x" * 4096, b"d/" * 2048,
    b"0", b"-1", b"65536", b"2147483648", b"9223372036854775807", b"9223372036854775808",
    b"18446744073709551616", b"1e308", b"NaN", b"99999999999999ms", b"1157407407d", b"0/0",
    b"9223372036854775807/9223372036854775807", b"http://127.0.0.1:65536", b"http://[::1",
    b"http://", b"http://127.0.0.1:9223372036854775808/", b"control=127.0.0.1:65536", b"=", b"a=",
    b"=a", b"html=", b"json=/", b"onesignal.tagsMax=9223372036854775807", b"{{", b"${A}", b"\\",
    b"\xf0\x9f\x98\x80", b"0000-01-01T00:00:00Z", b"+292277026596-12-04T15:30:07Z",
]
LISTEN = [part for name in NAMES for part in ("--listen", f"{name}=127.0.0.1:0")]
# Arguments with which a command ends soon, or listens.
BASES = {
    "verify": [[], ["--target", "http://127.0.0.1:1"]],
    "explore": [[], ["--target", "http://127.0.0.1:1"]],
    "app": [["--url", "http://127.0.0.1:1", "--only", "no/such"]],
    "demo": [["--only", "no/such"]],
    "mutants": [["--only", "no/such"]],
    "doctor": [[], ["--target", "http://127.0.0.1:1"]],
    "init": [["--target", "http://127.0.0.1:1"]],
    "serve": [["--quiet", *LISTEN]],
    "backend": [["--port", "0"], []],
    "record": [["--target", "http://127.0.0.1:1", "g"]],
    "send": [["RENEWAL", "--print"], ["RENEWAL", "--to", "http://127.0.0.1:1"]],
    "resend": [["e", "--control", "http://127.0.0.1:1"]],
    "judge": [["f"]],
    "merge": [["f", "g"]],
    "distill": [["f"]],
    "import": [["f", "g"]],
    "export": [["f"]],
    "review": [["f"]],
    "explain": [["E201"]],
    "list": [[]],
    "mcp": [[]],
    "skill": [["skills"]],
    "lint": [[]],
}


def commands():
    """Each command with its options and the number of its arguments."""
    text = subprocess.run(
        [BINARY, "--experimental-dump-help"], capture_output=True, text=True, timeout=60, check=True
    ).stdout

    def walk(command, path):
        arguments = command.get("arguments", [])
        options = [
            "--" + item["preferredName"]["name"] for item in arguments if item["kind"] == "option"
        ]
        count = sum(item["kind"] == "positional" for item in arguments)
        if path and path[0] != "help":
            yield path, options, count
        for child in command.get("subcommands", []):
            yield from walk(child, path + [child["commandName"]])

    return list(walk(json.loads(text)["command"], []))


def run(arguments, home):
    """Runs one command in a folder of its own; what is wrong with its end, or None."""
    folder = tempfile.mkdtemp(dir=home)
    variables = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
    variables["HOME"] = folder
    process = subprocess.Popen(
        [BINARY.encode(), *(os.fsencode(part) for part in arguments)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder,
        env=variables)
    # Nothing else may take the status of the process before `wait4`, so `Popen` sends no signal.
    guard = threading.Timer(300, os.kill, (process.pid, signal.SIGKILL))
    guard.start()
    output = b""
    for line in process.stdout:
        output = (output + line)[-4000:]
        # A program that listens goes on until a signal; an error may name an address as an example.
        if arguments[0] in ("serve", "backend", "record") and ADDRESS.match(line):
            os.kill(process.pid, signal.SIGTERM)
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    guard.cancel()
    process.returncode = code = os.waitstatus_to_exitcode(status)
    shutil.rmtree(folder, ignore_errors=True)
    seconds = usage.ru_utime + usage.ru_stime
    name = b" ".join(os.fsencode(part)[:80] for part in arguments)
    if code not in DOCUMENTED:
        return f"{name}: exit {code}: {output[-600:]}"
    if seconds > PROCESSOR_SECONDS or usage.ru_maxrss > MEMORY_KB:
        return f"{name}: {seconds:.1f} s of processor time, {usage.ru_maxrss} KB"
    return None


class EdgeOptions(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="assay-edge-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def check(self, calls):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            faults = list(pool.map(lambda call: run(call, self.folder), calls))
        self.assertEqual([fault for fault in faults if fault], [])

    def test_every_option_of_every_command(self):
        chooser = random.Random(46)
        count = min(len(VALUES), int(os.environ.get("ASSAY_FUZZ", "2")))
        found = commands()
        self.assertGreater(len(found), 15)
        calls = []
        for path, options, positional_count in found:
            for base in BASES.get(path[0], [[]]):
                for option in options:
                    for value in chooser.sample(VALUES, count):
                        calls.append([*path, *base, option, value])
                for value in chooser.sample(VALUES, count) if positional_count else []:
                    calls.append([*path, *[value] * positional_count])
        print(f"{len(calls)} calls", file=sys.stderr)
        self.check(calls)

    def test_names_of_one_letter(self):
        profile = pathlib.Path(self.folder) / "p"
        profile.write_text(
            'assay: 1\nstart: {command: "%s %s", intercept: true}\n'
            "endpoints: {revenuecat-webhook: POST /hook}\n"
            "secrets: {revenuecat-authorization: Bearer assay-test-token}\n"
            'users: {create: {post: /users, body: {id: "{{id}}"}}}\n'
            'probes: {subscription: {get: "/plans/{{id}}", read: {product: /plan}}}\n'
            % (sys.executable, ROOT / "Tests" / "Acceptance" / "fixed.py"))

        def assay(*arguments, codes):
            done = subprocess.run(
                [BINARY, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=600,
                env={k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")})
            self.assertIn(done.returncode, codes, f"{arguments}: {done.stdout}{done.stderr}")

        only = ["--only", "revenuecat/idempotency", "--seed", "7"]
        assay("verify", "--profile", "p", "--save", "s", "--report", "html=r", *only,
              codes={0, 1, 5})
        for name in ("s", "r"):
            self.assertTrue((pathlib.Path(self.folder) / name).exists(), name)
        assay("judge", "s", "--report", "json=j", codes={0, 1, 5})
        assay("merge", "s", "s", codes={0, 1, 2, 3, 5})
        (pathlib.Path(self.folder) / "h").write_text('{"method":"GET","url":"/a","status":200}\n')
        assay("import", "h", "i", codes={0})
        assay("export", "i", codes={0})
        assay("explore", "--corpus", "c", "--profile", "q", codes={2, 3})
        self.check([["record", "--target", "http://127.0.0.1:1", "g/x"], ["record", "--target",
                   "http://127.0.0.1:1", "r"], ["merge", "a", "b"], ["export", "r"]])


class LongMove(unittest.TestCase):
    """A move of the clock that renews thousands of times is ended by the first SIGTERM."""

    def test_advancing(self):
        self.check("POST", "/clock/advance", lambda now: {"by": "4900d"})

    def test_setting(self):
        self.check("PUT", "/clock", lambda now: {"now": now + 4900 * 86_400_000})

    def check(self, method, path, body):
        serving = Serving()
        self.addCleanup(serving.process.stdout.close)
        self.addCleanup(serving.process.stderr.close)
        self.addCleanup(serving.process.kill)
        serving.control("PUT", "/store/products/daily", {"days": 1, "entitlements": ["premium"]})
        serving.control("POST", "/store/purchase", {"user": "ada", "product": "daily"})
        body = body(serving.control("GET", "/clock")["now_ms"])
        ended = []
        mover = threading.Thread(target=self.move, args=(serving, method, path, body, ended))
        start = self.seconds(serving.process.pid)
        mover.start()
        # Nothing else works in the process: the move has begun.
        while self.seconds(serving.process.pid) < start + 0.1 and not ended:
            os.sched_yield()
        before = self.seconds(serving.process.pid)
        serving.process.send_signal(signal.SIGTERM)
        _, status, usage = os.wait4(serving.process.pid, 0)
        serving.process.returncode = os.waitstatus_to_exitcode(status)
        mover.join()
        self.assertEqual(ended, ["cut"], "the move was over before the signal")
        self.assertEqual(serving.process.returncode, 0)
        self.assertLess(usage.ru_utime + usage.ru_stime - before, 1)

    def move(self, serving, method, path, body, ended):
        try:
            requests.request(method, serving.urls["control"] + path, json=body, timeout=300)
            ended.append("whole")
        except requests.ConnectionError:
            ended.append("cut")

    def seconds(self, pid):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    unittest.main()
