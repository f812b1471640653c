"""Types what a page of the documentation prints, line by line, as a reader would.

    python walk.py PAGE

It runs in a network of its own (test_documentation.py sees to that), so that the addresses which the page
prints are free, and nothing beyond this machine can be reached. What is typed is what stands in the `sh`
blocks; a line that says where it is run instead is listed in ELSEWHERE, with the reason.
"""

import contextlib
import fcntl
import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from serving import BINARY, ROOT

HERE = pathlib.Path(__file__).resolve().parent
GUIDES = sorted((ROOT / "Sources/AssayCLI/Assay.docc/Guides").glob("*.md"))

# What is not typed here, and who does it.
ELSEWHERE = {
    r"swift run assay demo$": "its build is CI's own; 'assay mutants' plays more than the demo",
    r"^swift test$": "CI's last step",
    r"^apt-get install ": "test_packaging.py unpacks the package and looks at what is in it",
    r"^man assay": "test_packaging.py reads the page with mandoc",
    r"^docker ": "no engine is there; test_packaging.py checks the files",
    r"^buildah ": "it fetches a base image; tried by hand",
}
# What goes on until Ctrl-C, and what it says when it is there.
SERVING = {
    r"^assay serve": r"control .*9300",
    r"^assay record [^-]*--start": r"8081",
    r"^assay verify --watch": r"again when|watch",
    r"^assay verify --start .*--watch": r"again when|watch",
    r"^assay verify --keep": r"9300|Ctrl-C",
}
# The codes that are no fault of the page: the backend here has faults, and time is short.
STATUSES = {
    # On a busy machine the run before may have come to nothing that fails.
    r"^assay verify --rerun-failed": {0, 1, 4, 5},
    r"^assay (verify|explore|doctor|app|merge|judge|init .*--verify|init && )": {0, 1, 5},
    # What another's session left pending is told so.
    r"^assay review": {0, 1},
}
# What the reader answers where something is asked.
ANSWERS = {r"^assay review recordings": "accept\n" * 3}
# One run takes no longer; the page's own commands say nothing of it.
RUN_MAX = "3s"
HANG = 900


def up():
    """Loopback is down in a new network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        name = struct.pack("16sh", b"lo", 0x1 | 0x40)
        # Where it is the machine's own, it is up.
        with contextlib.suppress(PermissionError):
            fcntl.ioctl(probe, 0x8914, name)


def blocks(text):
    """The blocks of a page, each with its language."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)


def lines(block):
    """What one types: a line with those that it goes on in."""
    whole = re.sub(r"\\\n", " ", block)
    return [line.strip() for line in whole.split("\n") if line.strip() and not line.startswith("#")]


def bare(line):
    """The line without the remark behind it."""
    return re.sub(r"\s{2,}#\s.*$", "", line)


def match(table, line):
    return next((value for pattern, value in table.items() if re.search(pattern, line)), None)


class Walk:
    def __init__(self, folder, others):
        self.others = others
        self.folder = folder / "repository"
        shutil.copytree(HERE / "Repository", self.folder)
        (self.folder / ".github").symlink_to(ROOT / ".github")
        (self.folder / "recordings").mkdir()
        home, self.bin = folder / "home", folder / "bin"
        home.mkdir()
        self.bin.mkdir()
        (self.bin / "assay").symlink_to(BINARY)
        # A refusal of the control API is red here, which curl alone would not say.
        (home / ".curlrc").write_text("fail-with-body\nsilent\nshow-error\n")
        if shutil.which("npm") is None:
            (self.bin / "npm").write_text("#!/bin/sh\nexec node server.js\n")
            (self.bin / "npm").chmod(0o755)
        keep = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_") and k != "CI"}
        python = pathlib.Path(sys.executable).parent
        self.environment = keep | {
            "HOME": str(home), "PATH": f"{self.bin}:{python}:{keep['PATH']}", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Reader", "GIT_AUTHOR_EMAIL": "reader@localhost",
            "GIT_COMMITTER_NAME": "Reader", "GIT_COMMITTER_EMAIL": "reader@localhost",
        }
        subprocess.run(["git", "init", "-q"], cwd=self.folder, env=self.environment, check=True)
        self.variables = ""
        self.serving = None
        self.count = 0

    def type(self, line):
        line = bare(line)
        reason = match(ELSEWHERE, line)
        if reason:
            print(f"--  {line}\n    elsewhere: {reason}")
            return
        if line in self.others:
            print(f"--  {line}\n    elsewhere: a guide prints it, too")
            return
        self.count += 1
        if line.startswith("assay distill"):
            self.end()
        if re.match(r"\w+=\S+$", line):
            self.variables += line + "\n"
            return
        if line.startswith("assay init") and "--dry-run" not in line:
            (self.folder / "assay.yaml").unlink(missing_ok=True)
        begin = time.monotonic()
        told = match(SERVING, line)
        if told:
            self.serve(line, told)
        else:
            self.finish(line)
        print(f"{time.monotonic() - begin:5.1f} s  {line}", flush=True)

    def start(self, line):
        environment = dict(self.environment)
        if line.startswith(".github/packaging/build"):
            # As if it had been built: that takes minutes, and CI has done it.
            environment["ASSAY_BINARY"] = BINARY
        # Only what runs contracts reads it.
        if re.match(r"assay (verify|app|init|explore)", line):
            environment["ASSAY_MAX_TIME"] = RUN_MAX
            environment["ASSAY_FOR"] = RUN_MAX
        return subprocess.Popen(
            ["bash", "-c", self.variables + line], cwd=self.folder, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True)

    def finish(self, line):
        process = self.start(line)
        try:
            output, _ = process.communicate(match(ANSWERS, line), timeout=HANG)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        allowed = match(STATUSES, line) or {0}
        if process.returncode not in allowed:
            raise SystemExit(f"ended with {process.returncode}: {line}\n{output}")
        # What the page says that assay has is never unknown to it.
        if re.search(r"Unknown option|error: |Fatal error", output) and process.returncode not in {1, 5}:
            raise SystemExit(f"{line}\n{output}")

    def serve(self, line, told):
        self.end()
        process = self.start(line)
        output, seen = [], threading.Event()

        def read():
            for row in process.stdout:
                output.append(row)
                if re.search(told, row):
                    seen.set()
            seen.set()

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        seen.wait(HANG)
        if process.poll() is not None or not any(re.search(told, row) for row in output):
            raise SystemExit(f"it was never there: {line}\n{''.join(output)}")
        self.serving = (line, process, reader, output)

    def end(self):
        """Ctrl-C, and nothing is left behind."""
        if self.serving is None:
            return
        line, process, reader, output = self.serving
        self.serving = None
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(HANG)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        reader.join(HANG)
        if process.returncode not in {0, 1, 5, 130, -signal.SIGINT}:
            raise SystemExit(f"Ctrl-C ended it with {process.returncode}: {line}\n{''.join(output)}")

    def backend(self):
        """What runs already, where a page says so."""
        process = subprocess.Popen(
            ["node", "server.js"], cwd=self.folder,
            env=self.environment | {"PORT": "8080", "ONESIGNAL_API_KEY": "tea"},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", 8080)):
                return process
            # Looked again until it is there or has ended.
            time.sleep(0.02)
        raise SystemExit("the backend of the page did not start")

    def app(self):
        """The page that the guide of the phone judges."""
        handler = functools.partial(Quiet, directory=str(HERE / "App"))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 5173), handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def profile(self, text):
        """A whole profile or contract that a page prints is one."""
        name = self.folder / ("printed.yaml" if text.startswith("assay:") else "printed-contract.yaml")
        body = text
        if not text.startswith("assay:"):
            identity = re.match(r"contract: (\S+)", text)[1]
            name = self.folder / "my-contracts" / f"{identity}.yaml"
            name.parent.mkdir(parents=True, exist_ok=True)
        name.write_text(body)
        target = name if text.startswith("assay:") else self.folder / "my-contracts"
        done = subprocess.run([BINARY, "lint", str(target)], capture_output=True, text=True, timeout=HANG,
                              cwd=self.folder, env=self.environment)
        if done.returncode != 0:
            raise SystemExit(f"what is printed is not valid:\n{text}\n{done.stdout}{done.stderr}")
        self.count += 1


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def handle(self):
        # A browser that was closed in the middle is no fault.
        with contextlib.suppress(ConnectionError):
            super().handle()


def main(page):
    up()
    text = pathlib.Path(page).read_text()
    with tempfile.TemporaryDirectory() as folder:
        # The overview repeats what the guides say, where it stands among what it needs.
        others = set()
        if pathlib.Path(page).name == "README.md":
            for guide in GUIDES:
                others |= {bare(line) for language, block in blocks(guide.read_text()) if language == "sh"
                           for line in lines(block)}
        walk = Walk(pathlib.Path(folder), others)
        needs_app = "127.0.0.1:5173" in text
        if needs_app:
            walk.app()
        backend = walk.backend() if "127.0.0.1:8080" in text else None
        try:
            for language, block in blocks(text):
                if language == "yaml" and re.match(r"assay: |contract: ", block):
                    walk.profile(block)
                if language != "sh":
                    continue
                if "assay app --url" in block:
                    walk.end()
                    shutil.copy(HERE / "App" / "assay.yaml", walk.folder / "assay.yaml")
                for line in lines(block):
                    walk.type(line)
        finally:
            try:
                walk.end()
            finally:
                if backend is not None:
                    backend.kill()
                    backend.wait()
        print(json.dumps({"typed": walk.count}))


if __name__ == "__main__":
    main(sys.argv[1])
