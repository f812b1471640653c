"""The job files that the guide shows, by the schema of the engine that reads each."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

from serving import BINARY, ROOT

GUIDE = ROOT / "Sources" / "AssayCLI" / "Assay.docc" / "ContinuousIntegration.md"
SCHEMAS = {
    "GitHub Actions": "vendor.github-workflows", "GitLab": "vendor.gitlab-ci",
    "CircleCI": "vendor.circle-ci", "Buildkite": "vendor.buildkite",
    "Azure Pipelines": "vendor.azure-pipelines"}


def sections():
    parts = re.split(r"^### (.+)$", GUIDE.read_text(), flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2]))


def blocks(text, language="yaml"):
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


def block(text, language="yaml"):
    return blocks(text, language)[0]


class JobFiles(unittest.TestCase):
    def test_every_engine_of_the_guide_is_tried(self):
        self.assertEqual(set(sections()), set(SCHEMAS) | {"Jenkins", "Kubernetes"})

    def test_each_is_valid_by_its_engines_schema(self):
        for name, schema in SCHEMAS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "job.yaml"
                # GitLab's has tags of its own.
                words = ["--data-transform", "gitlab-ci"] if name == "GitLab" else []
                for text in blocks(sections()[name]):
                    path.write_text(text)
                    done = subprocess.run(
                        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema,
                         *words, str(path)], capture_output=True, text=True, timeout=120)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                # A schema that takes anything shows nothing.
                path.write_text("steps: 7\njobs: 7\nassay: {script: {}}\n")
                done = subprocess.run(
                    [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *words,
                     str(path)], capture_output=True, text=True, timeout=120)
                self.assertNotEqual(done.returncode, 0, name)

    def test_the_job_of_kubernetes_is_one(self):
        import kubernetes_validate

        job = yaml.safe_load(block(sections()["Kubernetes"]))
        kubernetes_validate.validate(job, "1.30", strict=True)
        self.assertEqual(str(job["spec"]["completions"]),
                         job["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"])
        job["spec"]["completion"] = 4
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(job, "1.30", strict=True)

    def test_every_flag_that_a_job_uses_exists(self):
        flags = {"verify": set(), "merge": set()}
        for text in sections().values():
            for command, rest in re.findall(
                    r"(?:assay|run:) (verify|merge) ([^\n\]',]*)", text):
                flags[command] |= set(re.findall(r"--[a-z-]+", rest))
        for command, used in flags.items():
            help = subprocess.run(
                [BINARY, command, "--help"], capture_output=True, text=True, timeout=60).stdout
            self.assertTrue(used)
            for flag in used:
                self.assertIn(flag, help, command)


if __name__ == "__main__":
    unittest.main()
