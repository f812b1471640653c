"""Judges the verdicts of Assay: false failures on conforming backends, and faults that it misses.

    python3 Tests/Mutation/campaign.py                       everything that has not been run
    python3 Tests/Mutation/campaign.py conforming            all backends, seeds and loads
    python3 Tests/Mutation/campaign.py faults                faults written from the fact sheets
    python3 Tests/Mutation/campaign.py mutants               mechanical mutants
    python3 Tests/Mutation/campaign.py mutants --histories 6000    the same with `assay explore`
    python3 Tests/Mutation/campaign.py --backend worker --shard 2/4 --sample 10
    python3 Tests/Mutation/campaign.py mutants --only 3f9a01c2     one, with the output of assay
    python3 Tests/Mutation/campaign.py --list                what would run
    python3 Tests/Mutation/campaign.py --table               the results as Markdown

The backends are the folders of Tests/Backends (see backends.py). Each result is one line in
.build/mutation/results.jsonl, so an interrupted campaign continues. A result counts until its
backend or its profile changes. Mutants of the reference backend are compiled into one binary
(.build/mutation/assay); `--build` builds it again. CI does not run the campaign.
"""

import argparse
import collections
import functools
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

import backends
import javascript_mutants
import python_mutants
import runs
import swift_mutants

LOADS = {"idle": 0, "busy": 30}


class Trial:
    """One run of the campaign: what is run, and how its result is found again."""

    def __init__(self, kind, backend, name, execute, detail=None):
        self.kind, self.backend, self.name = kind, backend, name
        self.execute, self.detail = execute, detail
        parts = [backend.profile.read_text(),
                 backend.program.read_text() if backend.program else ""]
        content = hashlib.sha1("\0".join(parts).encode()).hexdigest()[:8]
        self.id = f"{kind}/{backend.name}/{name}/{content}"


def compiles(program):
    """Returns false if the language rejects the program before it runs."""
    if program.suffix == ".py":
        return True
    return subprocess.run(["node", "--check", program], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def failures_of_unchanged(backend, options):
    """Returns the contracts that the unchanged backend fails; they show nothing about a change.

    Without a result of the unchanged backend, one is made first.
    """
    unchanged = list(conforming(backend, options))
    results = read_results(options.state)
    if not any(trial.id in results for trial in unchanged):
        execute_and_save(unchanged[0], results, options, is_loud=False)
    return {found["contract"] for trial in unchanged if trial.id in results
            for found in results[trial.id]["failed"]} | set(backend.findings())


def execute_and_save(trial, results, options, is_loud):
    """Executes a trial and appends its result to the state of the campaign."""
    with tempfile.TemporaryDirectory() as folder:
        result = trial.execute(pathlib.Path(folder), is_loud)
    results[trial.id] = {"id": trial.id, **result}
    with options.state.open("a") as file:
        file.write(json.dumps(results[trial.id]) + "\n")
    return result


def conforming(backend, options):
    def execute(seed, load, folder, is_loud):
        with runs.load(LOADS[load]):
            return runs.verify(backend, backend.environment(), folder, seed, is_loud)

    for load in options.load or LOADS:
        for seed in range(1, options.seeds + 1):
            yield Trial("conforming", backend, f"{load}-{seed}",
                        functools.partial(execute, seed, load))


def faults(backend, options):
    def execute(fault, folder, is_loud):
        program = folder / backend.program.name
        program.write_text(fault["text"])
        known = failures_of_unchanged(backend, options)
        # The clause of the fault usually finds it, and takes a fraction of the time.
        for only in [[fault["clause"]], []]:
            result = runs.verify(backend, backend.environment(program), folder, 1, is_loud, only)
            result["failed"] = [found for found in result["failed"]
                                if found["contract"] not in known]
            if result["failed"] or result["exit"] in (2, 6):
                break
        return result

    for fault in backend.faults():
        yield Trial("faults", backend, fault["id"], functools.partial(execute, fault), fault)


def mutants(backend, options):
    def execute(mutant, folder, is_loud):
        environment = backend.environment()
        if mutant.number is not None:
            environment.update(UNDER_TEST=str(swift_mutants.BINARY), MUTANT=str(mutant.number))
        else:
            program = folder / backend.program.name
            program.write_text(mutant.text)
            if not compiles(program):
                return {"verdict": "invalid", "clauses": [], "cases": [], "seconds": 0}
            environment = backend.environment(program)
        known = failures_of_unchanged(backend, options)
        # Each style of the reference backend leaves some of its code unused.
        styles = ["sync", "body"] if mutant.number is not None else [""]
        outcome, seconds = None, 0
        for style in styles:
            outcome = runs.first_failure(backend, {**environment, "STYLE": style}, folder,
                                         options.histories, known, is_loud)
            seconds += outcome["seconds"]
            if outcome["verdict"] != "survived":
                break
        return {**outcome, "seconds": round(seconds, 1)}

    if backend.language == "Swift":
        found = swift_mutants.mutants(options.build)
    elif backend.language == "Python":
        found = python_mutants.mutants(backend.program.read_text())
    else:
        found = javascript_mutants.mutants(backend.program.read_text())
    kind = f"mutants-{options.histories}" if options.histories else "mutants"
    for index, mutant in enumerate(found):
        if index % options.sample == 0 and mutant.id not in backend.equivalents():
            yield Trial(kind, backend, mutant.id, functools.partial(execute, mutant), mutant)


KINDS = {"conforming": conforming, "faults": faults, "mutants": mutants}


def describe(trial, result):
    """Returns one line about a result."""
    if "verdict" in result:
        return f"{result['verdict']:12} {' '.join(result['clauses'])}"
    counts = " ".join(f"{count} {name}" for name, count in sorted(result["counts"].items()))
    clauses = sorted({found["clause"] for found in result["failed"]})
    return f"exit {result['exit']}  {counts}  {' '.join(clauses)}"


def false_failures(trial, result):
    """Returns the contracts that failed without a line in the backend's list of true findings."""
    known = trial.backend.findings()
    return sorted({found["contract"] for found in result["failed"]} - set(known))


def table(trials, results):
    """Prints the results of the campaign as Markdown."""
    done = [(trial, results[trial.id]) for trial in trials if trial.id in results]

    def rows(kind):
        grouped = collections.defaultdict(list)
        for trial, result in done:
            if trial.kind == kind:
                grouped[trial.backend.name].append((trial, result))
        return grouped.items()

    print("| conforming backend | language | runs | false failures | inconclusive | true findings |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, found in rows("conforming"):
        wrong = collections.Counter(contract for trial, result in found
                                    for contract in false_failures(trial, result))
        unclear = sum(len(result["inconclusive"]) for _, result in found)
        listed = ", ".join(f"`{contract}` ({count})" for contract, count in sorted(wrong.items()))
        backend = found[0][0].backend
        print(f"| {name} | {backend.language} | {len(found)} | {listed or 0} | {unclear} | "
              f"{len(backend.findings())} |")
    print("\n| faults from the fact sheets | tried | caught | right clause | missed |")
    print("| --- | --- | --- | --- | --- |")
    for name, found in rows("faults"):
        caught = [(t, r) for t, r in found if r["failed"] or r["exit"] in (2, 6)]
        right = [t for t, r in caught
                 if t.detail["clause"] in {finding["clause"] for finding in r["failed"]}]
        missed = [f"`{t.name}`" for t, r in found if (t, r) not in caught]
        print(f"| {name} | {len(found)} | {len(caught)} | {len(right)} | {', '.join(missed)} |")
    print("\n| mechanical mutants | tried | caught | does not start | inconclusive | survived |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, found in rows("mutants"):
        counts = collections.Counter(result["verdict"] for _, result in found)
        tried = len(found) - counts["invalid"]
        print(f"| {name} | {tried} | {counts['caught']} | {counts['broken']} | "
              f"{counts['inconclusive']} | {counts['survived']} |")
    for trial, result in done:
        if result.get("verdict") == "survived":
            print(f"\n    {trial.name}  {trial.detail.operator}  {trial.detail.function}:"
                  f"{trial.detail.line}\n    - {trial.detail.before}\n    + {trial.detail.after}")


def read_results(path):
    found = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        result = json.loads(line)
        found[result["id"]] = result
    return found


def parsed():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", nargs="*", choices=[*KINDS, []])
    parser.add_argument("--backend", action="append")
    parser.add_argument("--load", action="append", choices=LOADS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--histories", type=int, default=0)
    parser.add_argument("--shard", default="1/1")
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--state", type=pathlib.Path, default=backends.STATE / "results.jsonl")
    options = parser.parse_args()
    known = {backend.name for backend in backends.every()}
    for name in options.backend or []:
        if name not in known:
            parser.error(f"no backend {name}; these exist: {', '.join(sorted(known))}")
    return parser, options


def main():
    parser, options = parsed()
    part, parts = map(int, options.shard.split("/"))
    trials = [trial for backend in backends.every()
              if not options.backend or backend.name in options.backend
              for kind in options.kind or KINDS for trial in KINDS[kind](backend, options)]
    results = read_results(options.state)
    chosen = [trial for index, trial in enumerate(trials) if index % parts == part - 1]
    if options.only:
        chosen = [trial for trial in trials if trial.name == options.only]
        if not chosen:
            parser.error(f"nothing is called {options.only}; see --list")
    if options.list:
        for trial in chosen:
            print(trial.id, "" if trial.id not in results else describe(trial, results[trial.id]))
        return 0
    if options.table:
        table(trials, results)
        return 0
    options.state.parent.mkdir(parents=True, exist_ok=True)
    waiting = [trial for trial in chosen if options.only or trial.id not in results]
    for number, trial in enumerate(waiting, 1):
        trial.backend.prepare()
        result = execute_and_save(trial, results, options, bool(options.only))
        print(f"{number}/{len(waiting)}  {trial.kind}/{trial.backend.name}/{trial.name}  "
              f"{describe(trial, result)}  {result['seconds']} s", flush=True)
    table(trials, results)
    wrong = [trial for trial in chosen if trial.kind == "conforming" and trial.id in results
             and false_failures(trial, results[trial.id])]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
