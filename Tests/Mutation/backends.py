"""The backends of the campaign: the folders of Tests/Backends.

A folder contains the program (except for the reference backend, which is part of `assay`), its
profile `assay.yaml`, and optionally

- `findings.txt`: true findings, one line each: the ID of a contract and the reason;
- `faults.json`: faults that were written from the fact sheets alone;
- `equivalent.txt`: mutants without a visible effect, one line each: the ID and the reason;
- `requirements.txt`: Python packages that the program needs.
"""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
STATE = ROOT / ".build" / "mutation"
BINARY = os.environ.get("ASSAY_BINARY", str(ROOT / ".build" / "debug" / "assay"))


class Backend:
    """A backend that keeps all rules, as far as its own list of true findings does not differ."""

    def __init__(self, folder):
        self.folder, self.name = folder, folder.name
        self.profile = folder / "assay.yaml"
        programs = [*folder.glob("*.py"), *folder.glob("*.js"), *folder.glob("*.mjs")]
        if len(programs) > 1:
            raise SystemExit(f"{folder}: more than one program: {', '.join(map(str, programs))}")
        self.program = programs[0] if programs else None

    @property
    def language(self):
        if self.program is None:
            return "Swift"
        return "Python" if self.program.suffix == ".py" else "JavaScript"

    def environment(self, program=None):
        """Returns the variables that the start command of the profile reads."""
        chosen = {**os.environ, "UNDER_TEST": BINARY}
        if self.program is not None:
            chosen["BACKEND"] = str(program or self.program)
            chosen["PYTHON"] = str(self.python)
        return chosen

    @property
    def python(self):
        if not (self.folder / "requirements.txt").exists():
            return sys.executable
        return STATE / "python" / self.name / "bin" / "python"

    def prepare(self):
        """Installs the packages that the program needs, once."""
        requirements = self.folder / "requirements.txt"
        if not requirements.exists() or self.python.exists():
            return
        print(f"{self.name}: installing {requirements.relative_to(ROOT)}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", self.python.parents[1]], check=True)
        subprocess.run([self.python, "-m", "pip", "install", "--quiet",
                        "--disable-pip-version-check", "-r", requirements], check=True)

    def findings(self):
        return lines(self.folder / "findings.txt")

    def equivalents(self):
        return lines(self.folder / "equivalent.txt")

    def faults(self):
        """Returns the faults with the changed program of each; an edit that does not fit is an error."""
        path = self.folder / "faults.json"
        if not path.exists():
            return []
        source = self.program.read_text()
        faults = json.loads(path.read_text())
        for fault in faults:
            text = source
            for edit in fault["edits"]:
                if text.count(edit["find"]) != 1:
                    raise SystemExit(f"{path}: {fault['id']}: {text.count(edit['find'])} places "
                                     f"match {edit['find'][:60]!r}; one must")
                text = text.replace(edit["find"], edit["replace"])
            fault["text"] = text
        return faults


def lines(path):
    """Returns the entries of a file of names and reasons."""
    found = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(" ")
            if not reason.strip():
                raise SystemExit(f"{path}: {name} has no reason")
            found[name] = reason.strip()
    return found


def every():
    return [Backend(folder) for folder in sorted((ROOT / "Tests" / "Backends").iterdir())
            if (folder / "assay.yaml").exists()]
