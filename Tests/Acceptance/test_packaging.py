"""What is shipped beside the sources: the manual page, the Debian package, the action, the files of containers."""

import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

from serving import BINARY, ROOT

PACKAGING = ROOT / ".github" / "packaging"
ACTION = ROOT / ".github" / "actions" / "assay"


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600, **options)


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        environment = os.environ | {"ASSAY_BINARY": BINARY}
        built = run(PACKAGING / "build", cls.folder / "out", env=environment)
        assert built.returncode == 0, built.stderr
        made = run(PACKAGING / "debian", cls.folder / "out", cls.folder / "dist")
        assert made.returncode == 0, made.stdout + made.stderr
        [cls.package] = (cls.folder / "dist").glob("assay_*.deb")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_it_holds_what_runs_and_what_explains(self):
        tree = self.folder / "tree"
        self.assertEqual(run("dpkg-deb", "-x", self.package, tree).returncode, 0)
        version = run(BINARY, "--version").stdout.strip()
        self.assertEqual(run(tree / "usr/bin/assay", "--version").stdout.strip(), version)
        for path in ("man/man1/assay.1.gz", "bash-completion/completions/assay", "zsh/vendor-completions/_assay",
                     "fish/vendor_completions.d/assay.fish", "doc/assay/copyright", "doc/assay/changelog.gz"):
            self.assertGreater((tree / "usr/share" / path).stat().st_size, 100, path)
        fields = run("dpkg-deb", "-f", self.package).stdout
        self.assertIn(f"Version: {version}\n", fields)
        # What it needs is what the loader says, each with the version that it has to have.
        needs = re.search(r"^Depends: (.+)$", fields, re.M)[1]
        self.assertRegex(needs, r"libc6 \(>= \d")
        self.assertIn("libstdc++6", needs)
        listed = run("dpkg-deb", "-c", self.package).stdout
        self.assertRegex(listed, r"-rwxr-xr-x root/root .* \./usr/bin/assay\n")
        self.assertNotRegex(listed, r" (?!root/root)\w+/\w+ +\d+ ")

    def test_the_manual_page_says_what_help_says(self):
        page = gzip.decompress((self.folder / "out/usr/share/man/man1/assay.1.gz").read_bytes()).decode()
        path = self.folder / "assay.1"
        path.write_text(page)
        lint = run("mandoc", "-T", "lint", "-W", "warning", path)
        self.assertEqual(lint.stdout, "", lint.stderr)
        text = run("mandoc", "-T", "utf8", "-O", "width=100", path).stdout
        text = re.sub(r".\x08", "", text)
        tree = json.loads(run(BINARY, "--experimental-dump-help").stdout)["command"]
        commands = [c for c in tree["subcommands"] if c["shouldDisplay"] and c["commandName"] != "help"]
        self.assertGreater(len(commands), 15)
        words = " ".join(text.split())
        for command in commands:
            self.assertIn(f"assay {command['commandName']}", words)
            for argument in command["arguments"]:
                names = [name["name"] for name in argument.get("names", [])]
                if argument["shouldDisplay"] and not {"help", "version"} & set(names):
                    for name in names:
                        self.assertRegex(words, rf"-{re.escape(name)}\b")
        for code in ("0", "1", "2", "3", "4", "5", "6", "70", "130"):
            self.assertRegex(text.split("EXIT STATUS")[1], rf"(?m)^ +{code}\b")
        for variable in ("ASSAY_PROFILE", "ASSAY_CONTROL_TOKEN", "ASSAY_REDACTION_KEY"):
            self.assertIn(variable, text.split("ENVIRONMENT")[1])

    def test_a_wrong_call_says_how_it_is_called(self):
        for words in ([PACKAGING / "build"], [PACKAGING / "debian"], [PACKAGING / "debian", self.folder / "nowhere", "x"]):
            done = run(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(".github/packaging/", done.stderr)


class Bare(unittest.TestCase):
    def test_a_root_without_proc_is_told_as_that(self):
        words = next((words for words in (["unshare", "-m"], ["unshare", "-rm"]) if shutil.which("unshare")
                      and run(*words, "mount", "-t", "tmpfs", "none", "/proc").returncode == 0), None)
        if words is None:
            self.skipTest("no mounts of its own can be made here")
        for command in ("--version", "list", "verify --target http://127.0.0.1:1"):
            done = run(*words, "sh", "-c", f"mount -t tmpfs none /proc && exec {BINARY} {command}")
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertRegex(done.stderr, "/proc is not mounted.*mount -t proc proc /proc")


class Containers(unittest.TestCase):
    def check(self, schema, path):
        done = run(sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, path)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_compose_file_is_one_and_its_parts_fit(self):
        path = PACKAGING / "compose.yaml"
        self.check("vendor.compose-spec", path)
        services = yaml.safe_load(path.read_text())["services"]
        # What the backend is told is where the others listen.
        environment = services["backend"]["environment"]
        for name in ("fakes", "verify"):
            self.assertEqual(services[name]["networks"]["default"]["aliases"], ["assay"])
            self.assertIn("--advertise assay", services[name]["command"])
        self.assertEqual(environment["ONESIGNAL_API_BASE"], "http://assay:9320")
        self.assertEqual(environment["REVENUECAT_API_BASE"], "http://assay:9310")
        self.assertIn(environment["REVENUECAT_WEBHOOK_AUTH"], services["fakes"]["command"])
        # 'run' leaves a service's other names away unless it is told not to.
        for path in (PACKAGING / "compose.yaml", ROOT / "Sources/AssayCLI/Assay.docc/Guides/Install.md"):
            for line in re.findall(r"docker compose run.*", path.read_text()):
                self.assertIn("--use-aliases", line)
        # What listens for others demands a token.
        self.assertIn("ASSAY_CONTROL_TOKEN", services["fakes"]["environment"])
        self.assertEqual(services["verify"]["depends_on"]["backend"]["condition"], "service_healthy")
        self.assertIn("healthcheck", services["backend"])
        for service in services.values():
            for port in service.get("ports", []):
                self.assertTrue(port.startswith("127.0.0.1:"), port)

    def test_every_flag_of_the_files_exists(self):
        services = yaml.safe_load((PACKAGING / "compose.yaml").read_text())["services"]
        for name, command in (("fakes", "serve"), ("verify", "verify")):
            line = services[name]["command"]
            self.assertTrue(line.startswith(command + " "))
            help = run(BINARY, command, "--help").stdout
            for flag in re.findall(r"--[a-z-]+", line):
                self.assertIn(flag, help)

    def test_the_image_runs_as_nobody_in_particular(self):
        lines = (PACKAGING / "Dockerfile").read_text().splitlines()
        last = max(index for index, line in enumerate(lines) if line.startswith("FROM "))
        self.assertEqual(lines[last], "FROM scratch")
        self.assertIn("USER 10001:10001", lines[last:])
        stages = {line.split(" AS ")[1] for line in lines if " AS " in line}
        for stage in re.findall(r"--from=(\w+)", "\n".join(lines)):
            self.assertIn(stage, stages | {"assay"})


class Action(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "temp").mkdir()
        (self.folder / "bin").mkdir()
        for name in ("path", "output", "summary"):
            (self.folder / name).touch()
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")} | {
            "RUNNER_TEMP": str(self.folder / "temp"), "GITHUB_PATH": str(self.folder / "path"),
            "GITHUB_OUTPUT": str(self.folder / "output"), "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}

    def install(self, **inputs):
        variables = {f"ASSAY_ACTION_{name.upper()}": str(value) for name, value in inputs.items()}
        return run(ACTION / "install", env=self.environment | variables, cwd=self.folder)

    def assertInstalled(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        path = self.folder / "temp/assay/assay"
        self.assertTrue(os.access(path, os.X_OK))
        self.assertEqual((self.folder / "path").read_text(), f"{path.parent}\n")
        self.assertEqual((self.folder / "output").read_text(), f"path={path}\n")

    def test_the_files_are_valid_and_name_what_is_there(self):
        done = run(sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions",
                   ACTION / "action.yml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        action = yaml.safe_load((ACTION / "action.yml").read_text())
        for step in action["runs"]["steps"]:
            if "uses" in step:
                continue
            script = ACTION / step["run"].split("/")[-1]
            self.assertTrue(os.access(script, os.X_OK))
            text = script.read_text()
            # Every input is read, and nothing is read that no input gives.
            self.assertEqual(set(step["env"]), set(re.findall(r"ASSAY_ACTION_\w+", text)))
        used = set(re.findall(r"inputs\.([\w-]+)", (ACTION / "action.yml").read_text()))
        self.assertEqual(used, set(action["inputs"]))
        # What the guide shows is valid, too.
        guide = (ROOT / "Sources/AssayCLI/Assay.docc/Guides/Install.md").read_text()
        job = yaml.safe_load(re.search(r"```yaml\n(.*?)```", guide, re.S)[1])
        [step] = [s for s in job["jobs"]["assay"]["steps"] if "actions/assay" in s.get("uses", "")]
        self.assertEqual(set(step["with"]) - set(action["inputs"]), set())

    def test_a_binary_that_is_there_is_taken(self):
        self.assertInstalled(self.install(binary=BINARY))
        # Once more, from where it was put.
        for name in ("path", "output"):
            (self.folder / name).write_text("")
        self.assertInstalled(self.install(binary=self.folder / "temp/assay/assay"))

    def test_an_image_gives_it_up(self):
        docker = self.folder / "bin/docker"
        docker.write_text(f"""#!/bin/sh
case $1 in
    create) [ "$2" = good ] && echo 4711 ;;
    cp) [ "$2" = 4711:/usr/bin/assay ] && cp {BINARY} "$3" ;;
    rm) [ "$2" = 4711 ] ;;
esac
""")
        docker.chmod(0o755)
        self.assertInstalled(self.install(image="good"))
        done = self.install(image="bad")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the image bad cannot be had", done.stdout)

    def test_a_release_is_fetched_and_its_digest_compared(self):
        release = self.folder / "releases/v1.2.3"
        release.mkdir(parents=True)
        name = f"assay-linux-{os.uname().machine}"
        (release / name).symlink_to(BINARY)
        releases = (self.folder / "releases").as_uri()
        digest = run("sha256sum", BINARY).stdout.split()[0]
        self.assertInstalled(self.install(version="1.2.3", releases=releases, sha256=digest))
        for inputs, words in (
            ({"version": "1.2.3", "sha256": "0" * 64}, "digest"), ({"version": "9"}, "is 9 a release?"),
            ({}, "say where assay comes from"), ({"binary": "/nowhere"}, "is not there"),
        ):
            done = self.install(releases=releases, **inputs)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stdout, f"(?m)^::error title=assay::.*{re.escape(words)}")

    def test_what_is_run_reports_where_the_engine_looks(self):
        self.assertInstalled(self.install(binary=BINARY))
        line = f"verify --start '{BINARY} backend --port {{{{port}}}} --data {{{{data}}}}' --only S-01 --seed 1"
        done = run(ACTION / "judge", cwd=self.folder, env=self.environment | {
            "ASSAY_ACTION_RUN": line, "ASSAY_ACTION_REPORT": "assay.html"})
        # Without probes not all of it can be seen.
        self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
        self.assertIn("S-01", (self.folder / "summary").read_text())
        self.assertIn("<!doctype html>", (self.folder / "assay.html").read_text().lower())
        # What cannot be read is no green run.
        for line in ("'verify", "verify 'a\nb'", "", "  "):
            done = run(ACTION / "judge", cwd=self.folder, env=self.environment | {
                "ASSAY_ACTION_RUN": line, "ASSAY_ACTION_REPORT": "x"})
            self.assertEqual(done.returncode, 2, line)
            self.assertIn("::error title=assay::", done.stdout)
        # Words stay words: nothing of them is carried out.
        done = run(ACTION / "judge", cwd=self.folder, env=self.environment | {
            "ASSAY_ACTION_RUN": "list --only '$(touch planted)' ; touch planted", "ASSAY_ACTION_REPORT": "x"})
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse((self.folder / "planted").exists())


if __name__ == "__main__":
    unittest.main()
