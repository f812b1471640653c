"""Runs of `assay` on one program, and the verdicts that its report contains."""

import contextlib
import json
import subprocess
import time

from backends import BINARY

# The first group that fails is enough for a mutant; a survivor has run all of its profile.
GROUPS = [
    ["revenuecat/smoke", "revenuecat/entitlement", "revenuecat/ordering", "revenuecat/safety-net"],
    ["revenuecat/idempotency", "revenuecat/authenticity", "revenuecat/tolerance", "notification",
     "identity"],
    ["revenuecat/retry", "revenuecat/crash"],
    ["purchasely"], ["firebase", "revenuecat/reconciliation"], ["account", "together"],
]


@contextlib.contextmanager
def load(processes):
    """Keeps that number of processes busy."""
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def run(words, profile, environment, folder, is_loud=False):
    """Returns the exit code of `assay` and the cases of its report."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    output = None if is_loud else subprocess.DEVNULL
    done = subprocess.run([BINARY, *words, "--profile", str(profile), "--report", f"json={report}"],
                          env=environment, cwd=folder, check=False, stdout=output, stderr=output)
    cases = json.loads(report.read_text())["cases"] if report.exists() else []
    return done.returncode, cases


def verify(backend, environment, folder, seed, is_loud=False, only=()):
    """Runs contracts of the profile and returns what failed: contract, clause, level, note.

    Without the IDs of contracts or clauses, all contracts run.
    """
    start = time.monotonic()
    selection = [word for name in only for word in ("--only", name)]
    code, cases = run(["verify", "--seed", str(seed), "--max-time", "20m", *selection],
                      backend.profile, environment, folder, is_loud)
    counts = {}
    for case in cases:
        counts[case["verdict"]] = counts.get(case["verdict"], 0) + 1
    return {
        "exit": code, "counts": counts, "seconds": round(time.monotonic() - start, 1),
        "failed": [{"contract": case["contract"], "case": case["id"], "clause": case["clause"],
                    "level": case["level"], "note": case.get("note", "")}
                   for case in cases if case["verdict"] == "failed"],
        "inconclusive": [case["contract"] for case in cases if case["verdict"] == "inconclusive"],
    }


def first_failure(backend, environment, folder, histories, known, is_loud=False):
    """Runs the groups of contracts, or generated histories, until one fails."""
    start = time.monotonic()
    commands = [["explore", "--histories", str(histories), "--for", "2m", "--fail-fast",
                 "--shrink-time", "10s"]]
    if not histories:
        commands = [["verify", "--max-time", "5m", *(word for only in group
                                                     for word in ("--only", only))]
                    for group in GROUPS]
    outcome = {"verdict": "survived", "clauses": [], "cases": []}
    for command in commands:
        code, cases = run([*command, "--seed", "campaign"], backend.profile, environment, folder,
                          is_loud)
        failed = [case for case in cases if case["verdict"] == "failed"
                  and case["contract"] not in known]
        if failed:
            outcome = {"verdict": "caught", "clauses": sorted({case["clause"] for case in failed}),
                       "cases": [case["id"] for case in failed][:3]}
            break
        if code in (2, 6):
            outcome["verdict"] = "broken"
            break
        if code not in (0, 1, 4, 5):
            raise SystemExit(f"assay ended with {code}: {' '.join(command)}")
        if any(case["verdict"] == "inconclusive" for case in cases):
            outcome["verdict"] = "inconclusive"
    outcome["seconds"] = round(time.monotonic() - start, 1)
    return outcome
