"""The shell steps of the job files that the guide shows, run with an `assay` that ends in each way."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml

from serving import ROOT

GUIDE = ROOT / "Sources" / "AssayCLI" / "Assay.docc" / "ContinuousIntegration.md"
ACTION = ROOT / ".github" / "actions" / "assay"
CODES = (0, 1, 5, 6, 70)
# Writes what the options name, and ends as it is told to. A run that crashes may have saved nothing.
FAKE = """#!/usr/bin/env bash
command=$1
shift
while [ $# -gt 0 ]; do
    case $1 in
        --save) file=$2 ;;
        --report) case $2 in *=-) file= ;; *) file=${2#*=} ;; esac ;;
        *) shift; continue ;;
    esac
    [ -z "$file" ] || echo kept >"$file" || exit 74
    shift 2
done
[ "$command" = merge ] && exit "$MERGE_CODE"
exit "$CODE"
"""
# How each engine runs a script.
BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
SHELL = ["sh", "-e", "-c"]


def sections():
    parts = re.split(r"^### (.+)$", GUIDE.read_text(), flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2]))


def block(name, language="yaml", index=-1):
    """A job file of the engine: the last one runs on several machines if there are two."""
    return re.findall(rf"```{language}\n(.*?)```", sections()[name], re.S)[index]


def job(name, index=-1):
    return yaml.safe_load(block(name, index=index))


def scripts(steps, key="run"):
    return [step[key] for step in steps if isinstance(step, dict) and key in step
            and "assay " in str(step[key])]


def of_parts(name):
    """The steps that run a part, with their shell."""
    if name == "GitHub Actions":
        return BASH, scripts(job(name)["jobs"]["part"]["steps"])
    if name == "GitLab":
        return BASH, ["\n".join(job(name)["assay"]["script"])]
    if name == "CircleCI":
        return BASH, scripts(job(name)["jobs"]["part"]["steps"])
    if name == "Buildkite":
        # What the pipeline's upload fills in.
        return BASH, [text.replace("$$", "$") for text in scripts(job(name)["steps"], "command")]
    container = job(name)["spec"]["template"]["spec"]["containers"][0]
    # The volume of the pods.
    return container["command"], [container["args"][0].replace("/out/", "out/")]


def of_verdicts(name):
    """The steps whose end is the verdict, with their shell."""
    if name == "GitHub Actions":
        return BASH, scripts(job(name)["jobs"]["whole"]["steps"])
    if name == "GitLab":
        return BASH, ["\n".join(job(name)["assay-whole"]["script"])]
    if name == "CircleCI":
        return BASH, scripts(job(name)["jobs"]["whole"]["steps"])
    if name == "Buildkite":
        [last] = [step for step in job(name)["steps"] if "commands" in step]
        return BASH, ["\n".join(c for c in last["commands"] if c.startswith("assay"))]
    if name == "Azure Pipelines":
        return ["bash", "-c"], scripts(job(name)["steps"], "script")
    if name == "Jenkins":
        return SHELL, re.findall(r"sh '([^']+)'", block(name, "groovy"))
    [text] = re.findall(r"`(assay merge [^`]+)`", sections()[name])
    return SHELL, [text.replace("/out", "out")]


class Steps(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "assay").write_text(FAKE)
        (self.folder / "bin" / "assay").chmod(0o755)

    def run_steps(self, shell, steps, code, verdict=0):
        """The exit code of the first step that fails, and the files that were left."""
        self.assertTrue(steps)
        place = Path(tempfile.mkdtemp(dir=self.folder))
        environment = os.environ | {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "CODE": str(code),
            "MERGE_CODE": str(verdict), "CI_NODE_INDEX": "1", "CIRCLE_NODE_INDEX": "1",
            "BUILDKITE_PARALLEL_JOB": "1", "JOB_COMPLETION_INDEX": "1",
            "GITHUB_STEP_SUMMARY": str(place / "summary.md")}
        status = 0
        for step in steps:
            step = step.replace("${{ matrix.part }}", "1")
            self.assertNotIn("${{", step)
            # A volume is there before its pod.
            if "mkdir" not in step:
                (place / "out").mkdir(exist_ok=True)
            done = subprocess.run([*shell, step], cwd=place, env=environment, capture_output=True,
                                  text=True, timeout=60)
            status = status or done.returncode
            self.assertNotEqual(done.returncode, 74, done.stderr)
        return status, {path.name for path in place.rglob("*") if path.is_file()}

    def test_a_part_goes_on_when_the_whole_can_be_judged(self):
        for name in ("GitHub Actions", "GitLab", "CircleCI", "Buildkite", "Kubernetes"):
            for code in CODES:
                with self.subTest(name, code=code):
                    status, files = self.run_steps(*of_parts(name), code)
                    self.assertEqual(status, 0 if code in (0, 1, 5) else code)
                    self.assertIn("1.ndjson", files)

    def test_the_last_step_ends_as_the_verdict_says(self):
        for name in sections():
            for code in CODES:
                with self.subTest(name, code=code):
                    status, files = self.run_steps(*of_verdicts(name), code, code)
                    self.assertEqual(status, code)
                    self.assertTrue(files)

    def test_reports_are_kept_whatever_the_verdict(self):
        github = job("GitHub Actions")["jobs"]
        for name in ("part", "whole"):
            [upload] = [step for step in github[name]["steps"]
                        if step.get("uses", "").startswith("actions/upload-artifact")]
            self.assertEqual(upload["if"], "always()")
        self.assertEqual(github["whole"]["if"], "${{ !cancelled() }}")
        gitlab = job("GitLab")
        self.assertEqual([gitlab[name]["artifacts"]["when"] for name in ("assay", "assay-whole")],
                         ["always"] * 2)
        self.assertEqual(gitlab["assay-whole"]["when"], "always")
        # CircleCI stores artifacts after a failed step as well.
        for part in job("CircleCI")["jobs"].values():
            self.assertIn("store_artifacts", [key for step in part["steps"]
                                              if isinstance(step, dict) for key in step])
        self.assertIn({"wait": None, "continue_on_failure": True}, job("Buildkite")["steps"])
        for step in job("Azure Pipelines")["steps"][1:]:
            self.assertEqual(step["condition"], "succeededOrFailed()")
        jenkins = block("Jenkins", "groovy")
        self.assertRegex(jenkins, r"(?s)post \{\s*always \{.*allowEmptyResults: true")
        self.assertIn("allowEmptyArchive: true", jenkins)
        # One part that ends with an error leaves the others running.
        self.assertEqual(job("Kubernetes")["spec"]["backoffLimitPerIndex"], 0)
        self.assertNotIn("backoffLimit", job("Kubernetes")["spec"])

    def test_the_github_jobs_install_what_they_run(self):
        for name, steps in job("GitHub Actions")["jobs"].items():
            uses = [step.get("uses", "") for step in steps["steps"]]
            runs = ["assay " in step.get("run", "") for step in steps["steps"]]
            installed = [index for index, use in enumerate(uses) if "actions/assay@" in use]
            self.assertEqual(len(installed), 1, name)
            self.assertLess(installed[0], runs.index(True), name)

    def test_the_action_ends_as_the_verdict_says_and_keeps_the_report(self):
        self.run_action("verify", "assay.html")
        action = yaml.safe_load((ACTION / "action.yml").read_text())
        [upload] = [step for step in action["runs"]["steps"] if "uses" in step]
        self.assertIn("always()", upload["if"])

    def test_the_first_github_job_is_the_action_alone(self):
        [only] = job("GitHub Actions", 0)["jobs"].values()
        [step] = [step for step in only["steps"] if "assay" in str(step)]
        action = yaml.safe_load((ACTION / "action.yml").read_text())
        given = step["with"]
        self.assertLessEqual(set(given), set(action["inputs"]))
        # The action needs to know where the program comes from, and keeps the report.
        self.assertTrue({"version", "binary", "image"} & set(given))
        self.assertTrue(given["artifact"])
        self.run_action(given["run"], action["inputs"]["report"]["default"])

    def run_action(self, run, report):
        temporary = self.folder / "temp" / "assay"
        temporary.mkdir(parents=True, exist_ok=True)
        (temporary / "assay").write_text(FAKE)
        (temporary / "assay").chmod(0o755)
        for code in CODES:
            place = Path(tempfile.mkdtemp(dir=self.folder))
            done = subprocess.run(
                [ACTION / "judge"], cwd=place, capture_output=True, text=True, timeout=60,
                env=os.environ | {
                    "ASSAY_ACTION_RUN": run, "ASSAY_ACTION_REPORT": report,
                    "RUNNER_TEMP": str(temporary.parent), "CODE": str(code),
                    "GITHUB_STEP_SUMMARY": str(place / "summary.md")})
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertTrue((place / report).is_file())
            self.assertTrue((place / "summary.md").is_file())


if __name__ == "__main__":
    unittest.main()
