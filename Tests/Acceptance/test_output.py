"""Every write of a result is checked: exit 74 and the reason on a full disk, a quiet end when the reader
of a pipe has gone. And no other user reads what was seen in a run."""

import json
import os
import pathlib
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
import unittest

import requests

from serving import BINARY, ROOT, Serving

ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
START = f"exec '{BINARY}' backend --port {{{{port}}}} --data '{{{{data}}}}'"
SMOKE = "revenuecat/smoke/first-purchase"
RECORDING = str(ROOT / "recordings/revenuecat/first-purchase")
FORMATS = ["json", "junit", "html", "github", "markdown", "badge", "agent"]
LOST = "assay: cannot write to standard output: No space left on device\n"
FREE = [part for name in ["control", "revenuecat", "onesignal", "firebase", "purchasely", "despia"]
        for part in ("--listen", f"{name}=127.0.0.1:0")]

# Words of each command that prints a result, with the exit code that it has otherwise.
PRINTING = {
    "list": [(["list"], 0), (["list", "--json"], 0)],
    "explain": [(["explain", "E204"], 0), (["explain", "S-05"], 0), (["explain", "profile"], 0)],
    "lint": [(["lint", RECORDING + "/golden.yaml"], 0), (["lint", "--schema", "contract"], 0)],
    "coverage": [(["coverage"], 0), (["coverage", "--json"], 0)],
    "send": [(["send", "RENEWAL", "--print"], 0)],
    "backend": [(["backend", "--list-defects"], 0)],
    "export": [(["export", RECORDING], 0), (["export", RECORDING, "--format", "curl"], 0)],
    "distill": [(["distill", RECORDING, "--print"], 0)],
    "review": [(["review", "contracts"], 0)],
    "record": [(["record", "--check", RECORDING], 0)],
    "import": [(["import", "calls.txt", "{new}"], 0)],
    "judge": [(["judge", "saved.ndjson"], 0), (["judge", "saved.ndjson", "--report", "json=-"], 0)],
    "merge": [(["merge", "part.ndjson"], 0)],
    "verify": [(["verify", "--dry-run", "--start", START], 0),
               (["verify", "--only", SMOKE, "--start", START], 0)],
    "doctor": [(["doctor", "--start", START], 0)],
    "init": [(["init", "--start", START, "--write", "{new}.yaml"], 0)],
    "app": [(["app", "--scripted", "--only", "app/bridge/decoding"], 0)],
    "explore": [(["explore", "--histories", "3", "--start", START], 0)],
    "mutants": [(["mutants", "--defect", "no-dedupe", "--only", "revenuecat/idempotency"], 0)],
    "skill": [(["skill", "{new}"], 0)],
    "demo": [(["demo", "--only", "revenuecat/idempotency"], 0)],
    "": [(["--help"], 0), (["--version"], 0), (["help", "verify"], 0),
         (["--generate-completion-script", "bash"], 0), (["--experimental-dump-help"], 0)],
}
# 'serve' runs until it is interrupted, 'resend' needs it, and 'mcp' needs a client: all have tests
# of their own.
APART = {"serve", "resend", "mcp", "help"}


class Area(unittest.TestCase):
    """A folder with a saved run, a part of one, and calls to import."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-output-"))
        (cls.folder / "contracts").mkdir()
        (cls.folder / "calls.txt").write_text("curl http://127.0.0.1:8080/healthz\n")
        for more in (["--save", "saved.ndjson"], ["--save", "part.ndjson", "--shard", "1/1"]):
            done = cls.run_assay("verify", "--only", SMOKE, "--start", START, *more)
            assert done.returncode == 0, done

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def run_assay(cls, *words, stdout=subprocess.PIPE, environment=(), **options):
        return subprocess.run(
            [BINARY, *words], cwd=cls.folder, env={**ENVIRONMENT, **dict(environment)}, stdout=stdout,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=600, **options)

    def words(self, words):
        """The words, with a name that no file has yet."""
        name = os.path.basename(tempfile.mktemp(dir=self.folder))
        return [word.replace("{new}", name) for word in words]

    def mode(self, path):
        return stat.S_IMODE(os.stat(self.folder / path).st_mode)


class StandardOutput(Area):
    def test_every_command_is_here(self):
        dump = json.loads(self.run_assay("--experimental-dump-help").stdout)
        names = {command["commandName"] for command in dump["command"]["subcommands"]}
        self.assertEqual(names, (set(PRINTING) - {""}) | APART)

    def test_serve_ends_when_its_addresses_cannot_be_printed(self):
        with open("/dev/full", "w") as full:
            done = self.run_assay("serve", *FREE, stdout=full)
        self.assertEqual(done.returncode, 74, done)
        self.assertEqual(done.stderr, LOST)

    def test_resend_reports_what_it_cannot_print(self):
        serving = Serving()
        try:
            words = ["resend", "RENEWAL", "--control", serving.urls["control"].removesuffix("/assay/v1")]
            usual = self.run_assay(*words)
            with open("/dev/full", "w") as full:
                done = self.run_assay(*words, stdout=full)
        finally:
            serving.stop()
        self.assertEqual(done.returncode, 74 if usual.stdout else usual.returncode, (usual, done))

    def test_a_closed_standard_output_is_not_another_file(self):
        done = subprocess.run(
            ["sh", "-c", '"$0" export "$1" >&-', BINARY, RECORDING], cwd=self.folder, env=ENVIRONMENT,
            capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 74, done)
        self.assertIn("cannot write to standard output: Bad file descriptor", done.stderr)

    def test_an_error_keeps_its_own_code(self):
        with open("/dev/full", "w") as full:
            self.assertEqual(self.run_assay("list", "--nonsense", stdout=full).returncode, 2)
            self.assertEqual(self.run_assay("explain", "E999", stdout=full).returncode, 4)
            done = self.run_assay("verify", "--start", "exit 3", stdout=full)
            self.assertEqual(done.returncode, 6, done)

    def test_a_red_run_whose_report_is_lost_is_74(self):
        words = ["verify", "--only", "revenuecat/idempotency/duplicate-initial-purchase", "--start",
                 START + " --defect no-dedupe"]
        self.assertEqual(self.run_assay(*words).returncode, 1)
        with open("/dev/full", "w") as full:
            self.assertEqual(self.run_assay(*words, stdout=full).returncode, 74)

    def test_the_locale_changes_nothing(self):
        for words in (["list"], ["explain", "S-05"], ["judge", "saved.ndjson", "--report", "json=-"]):
            outputs = {
                self.run_assay(*words, environment={"LC_ALL": name, "LANG": name}, encoding="utf-8").stdout
                for name in ("C", "C.UTF-8")}
            self.assertEqual(len(outputs), 1, words)


def full(words, usual):
    def test(self):
        with open("/dev/full", "w") as stream:
            done = self.run_assay(*self.words(words), stdout=stream)
        self.assertEqual(done.returncode, 74, done)
        self.assertEqual(done.stderr.count(LOST), 1, done.stderr)

    return test


def gone(words, usual):
    def test(self):
        reading, writing = os.pipe()
        os.close(reading)
        try:
            done = self.run_assay(*self.words(words), stdout=writing)
        finally:
            os.close(writing)
        self.assertEqual(done.returncode, usual, done)
        self.assertNotIn("cannot write", done.stderr)
        self.assertNotIn("pipe", done.stderr.lower())

    return test


for name, calls in PRINTING.items():
    for number, (words, usual) in enumerate(calls, 1):
        label = f"{name or 'assay'}_{number}"
        setattr(StandardOutput, f"test_{label}_to_a_full_disk", full(words, usual))
        setattr(StandardOutput, f"test_{label}_to_a_reader_that_has_gone", gone(words, usual))


class Files(Area):
    def test_every_format_to_a_full_disk(self):
        for format in FORMATS:
            other = "badge" if format == "json" else "json"
            done = self.run_assay("judge", "saved.ndjson", "--report", f"{format}=/dev/full", "--report",
                                  f"{other}=other.txt")
            self.assertEqual(done.returncode, 74, (format, done))
            self.assertEqual(done.stderr.count("assay: cannot write '/dev/full': No space left on device\n"), 1)
            # The other report and the summary for people are there all the same.
            self.assertTrue((self.folder / "other.txt").read_text(), format)
            self.assertIn("passed", done.stdout)

    def test_a_report_goes_to_a_fifo_and_to_a_descriptor(self):
        os.mkfifo(self.folder / "fifo")
        reader = subprocess.Popen(["cat", "fifo"], cwd=self.folder, stdout=subprocess.PIPE, text=True)
        self.assertEqual(self.run_assay("judge", "saved.ndjson", "--report", "json=fifo").returncode, 0)
        self.assertEqual(json.loads(reader.communicate(timeout=60)[0])["exit"], 0)
        with open(self.folder / "both", "w") as both:
            done = self.run_assay("judge", "saved.ndjson", "--report", "badge=/dev/stdout", stdout=both)
        self.assertEqual(done.returncode, 0, done)
        text = (self.folder / "both").read_text()
        self.assertTrue(text.startswith("{"), text)
        self.assertIn("passed", text)

    def limited(self, *words):
        """A run in which no file gets longer than 100 bytes, as on a full disk."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        return self.run_assay(*words, preexec_fn=limit)

    def test_a_file_that_does_not_fit_is_not_left_half_written(self):
        # The session's files are longer than the limit, so only commands without one are here.
        shutil.copytree(RECORDING, self.folder / "recordings/revenuecat/first-purchase")
        area = {"recordings/revenuecat/first-purchase/golden.yaml": "contract: old\n"}
        (self.folder / "recordings/revenuecat/first-purchase/golden.yaml").write_text("contract: old\n")
        before = self.names()
        for words, path in [
            (["judge", "saved.ndjson", "--report", "html=r.html"], "r.html"),
            (["distill", "recordings/revenuecat/first-purchase"], ".yaml.new"),
            (["distill", "recordings/revenuecat/first-purchase", "--accept"], "golden.yaml"),
        ]:
            done = self.limited(*words)
            self.assertEqual(done.returncode, 74, done)
            self.assertRegex(done.stderr, f"cannot write '[^']*{path}': File too large")
            self.assertEqual(self.names(), before)
            for path, text in area.items():
                self.assertEqual((self.folder / path).read_text(), text)
        done = self.limited("import", "calls.txt", "imported")
        self.assertEqual(done.returncode, 74, done)
        self.assertIn("File too large", done.stderr)

    def names(self):
        return sorted(str(path) for path in self.folder.rglob("*"))

    def test_the_state_of_serve_is_whole_or_the_earlier_one(self):
        (self.folder / "state.json").write_text("earlier")

        def served(*more, **options):
            process = subprocess.Popen(
                [BINARY, "serve", "--quiet", *FREE, "--export-on-exit", "state.json"], cwd=self.folder,
                env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
            while "control" not in process.stdout.readline():
                self.assertIsNone(process.poll())
            process.terminate()
            errors = process.communicate(timeout=60)[1]
            return process.returncode, errors

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        code, errors = served(preexec_fn=limit)
        self.assertEqual(code, 74, errors)
        self.assertIn("assay: cannot write 'state.json': File too large", errors)
        self.assertEqual((self.folder / "state.json").read_text(), "earlier")
        self.assertEqual([p.name for p in self.folder.glob(".assay-*")], [])
        code, errors = served()
        self.assertEqual(code, 0, errors)
        self.assertEqual(self.mode("state.json"), 0o600)
        json.loads((self.folder / "state.json").read_text())


class Private(Area):
    def assert_private(self, folder):
        self.assertEqual(self.mode(folder), 0o700, folder)
        files = [path for path in (self.folder / folder).rglob("*")]
        self.assertTrue(files)
        for path in files:
            self.assertEqual(self.mode(path), 0o700 if path.is_dir() else 0o600, path)

    def test_recordings(self):
        self.assertEqual(self.run_assay("import", "calls.txt", "imported/by/name").returncode, 0)
        self.assert_private("imported")
        recorder = subprocess.Popen(
            [BINARY, "record", "recorded/by/name", "--start", START, "--listen", "127.0.0.1:0", *FREE],
            cwd=self.folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        proxy = next(line.split()[1] for line in recorder.stdout if line.startswith("proxy "))
        self.assertEqual(requests.get(proxy + "/healthz", timeout=20).status_code, 200)
        recorder.send_signal(signal.SIGINT)
        self.assertEqual(recorder.wait(timeout=60), 0, recorder.stderr.read())
        recorder.stdout.close()
        recorder.stderr.close()
        self.assert_private("recorded")

    def test_the_folder_of_interception(self):
        serving = subprocess.Popen(
            [BINARY, "serve", "--quiet", "--intercept", "--listen", "intercept=127.0.0.1:0", *FREE],
            cwd=self.folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in serving.stdout:
            if line.startswith("intercept "):
                break
        serving.terminate()
        serving.communicate(timeout=60)
        self.assert_private(".assay/intercept")

    def test_what_failed_in_the_last_run(self):
        folder = self.folder / "apart"
        folder.mkdir()
        environment = {k: v for k, v in ENVIRONMENT.items() if k != "CI"}
        done = subprocess.run(
            [BINARY, "verify", "--only", "revenuecat/idempotency/duplicate-initial-purchase", "--start",
             START + " --defect no-dedupe", "--report", "json=out/r.json"],
            cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 1, done)
        self.assert_private("apart/.assay")
        # A report follows the umask, as the file of any tool.
        (folder / "usual").write_text("")
        self.assertEqual(self.mode("apart/out/r.json"), self.mode("apart/usual"))

    def test_a_folder_that_a_user_cannot_write_is_found_before_the_run(self):
        if os.geteuid() != 0:
            user = {}
        elif shutil.which("setpriv"):
            user = {"user": 65534, "group": 65534, "extra_groups": []}
        else:
            self.skipTest("there is no other user to become")
        tool = tempfile.mkdtemp(prefix="assay-output-tool-")
        try:
            os.chmod(tool, 0o755)
            shutil.copy(BINARY, tool + "/assay")
            (self.folder / "locked").mkdir(mode=0o555)
            os.chmod(self.folder, 0o755)
            os.chmod(self.folder / "saved.ndjson", 0o644)
            for words, part in [
                (["judge", "saved.ndjson", "--report", "html=locked/r.html"], "locked/r.html"),
                (["judge", "saved.ndjson", "--report", "html=locked/deep/r.html"], "locked/deep"),
                (["verify", "--start", "exit 3", "--baseline", "locked/b.txt"], "locked/b.txt"),
                (["verify", "--start", "exit 3", "--save", "locked/s.ndjson"], "locked/s.ndjson"),
                (["serve", *FREE, "--export-on-exit", "locked/state.json"], "--export-on-exit"),
                (["import", "calls.txt", "locked/recording"], "cannot write the recording"),
                (["init", "--start", "exit 3", "--write", "locked/assay.yaml"], "locked/assay.yaml"),
            ]:
                done = subprocess.run(
                    [tool + "/assay", *words], cwd=self.folder, env=ENVIRONMENT, capture_output=True,
                    text=True, timeout=120, **user)
                self.assertEqual(done.returncode, 2, (words, done))
                self.assertIn(part, done.stderr)
                self.assertIn("Permission denied", done.stderr)
            self.assertEqual(os.listdir(self.folder / "locked"), [])
        finally:
            shutil.rmtree(tool)


if __name__ == "__main__":
    unittest.main()
