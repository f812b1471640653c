"""Mechanical mutants of the reference backend, compiled into one binary."""

import collections
import json
import os
import pathlib
import shutil
import subprocess

from backends import ROOT, STATE
from mutants import Mutant

BINARY = STATE / "assay"
LISTING = STATE / "mutants.jsonl"


def swift(*words, stage):
    environment = {**os.environ, "ASSAY_MUTATION": stage}
    return subprocess.run(["swift", *words], cwd=ROOT, env=environment, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def build():
    """Writes the mutants and compiles them; `.build` holds the changed backend afterwards."""
    STATE.mkdir(parents=True, exist_ok=True)
    print("building the tool that makes mutants", flush=True)
    swift("build", "--product", "Mutator", stage="tool")
    tool = pathlib.Path(swift("build", "--show-bin-path", stage="tool").strip()) / "Mutator"
    lines = subprocess.run(
        [tool, ROOT / "Sources" / "ReferenceBackend", STATE / "ReferenceBackend"],
        check=True, text=True, stdout=subprocess.PIPE).stdout
    print(f"building one binary of {len(lines.splitlines())} mutants", flush=True)
    swift("build", "-c", "release", "--product", "assay", stage="mutants")
    built = swift("build", "-c", "release", "--show-bin-path", stage="mutants").strip()
    shutil.copy(pathlib.Path(built) / "assay", BINARY)
    LISTING.write_text(lines)


def mutants(is_fresh):
    """Returns every mutant of the reference backend; builds the binary if there is none."""
    if is_fresh or not BINARY.exists():
        build()
    found, seen = [], collections.Counter()
    for text in LISTING.read_text().splitlines():
        line = json.loads(text)
        found.append(Mutant(line["operator"], line["function"], f"{line['file']}:{line['line']}",
                            line["before"], line["after"], seen, number=line["number"]))
    return found
