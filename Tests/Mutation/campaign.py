"""A mutation score that nobody chose: every mechanical mutant of a backend before the contracts.

    python3 Tests/Mutation/campaign.py                      all mutants that have not been tried
    python3 Tests/Mutation/campaign.py --of reference       those of the reference backend
    python3 Tests/Mutation/campaign.py --shard 2/4          a quarter of them
    python3 Tests/Mutation/campaign.py --sample 10          every tenth
    python3 Tests/Mutation/campaign.py --mutant 3f9a01c2    one, with the whole output of assay
    python3 Tests/Mutation/campaign.py --list               what would be tried
    python3 Tests/Mutation/campaign.py --report             the score, the survivors
    python3 Tests/Mutation/campaign.py --by lives           before lives that nobody wrote down

`--of backend` (the usual) changes backend.py by Python's own syntax tree, one file a mutant. `--of
reference` changes Sources/ReferenceBackend: all mutants are compiled into one binary
(.build/mutation/assay) and chosen by ASSAY_MUTANT when it starts; the first time, and with
`--build`, it is built. `.build` holds the changed backend then, until the next ordinary build.

What was tried stands in .build/mutation, one line a mutant: a campaign that was ended goes on where it
was. `--by lives` asks `assay explore` in place of the contracts, for so many lives (`--lives`), and
keeps a state of its own. A mutant whose change nobody can see from outside stands in equivalent.txt with the reason;
everything else that survives is a contract that is missing. Not a part of CI.
"""

import argparse
import ast
import collections
import copy
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BINARY = os.environ.get("ASSAY_BINARY", str(ROOT / ".build" / "debug" / "assay"))
SOURCE = HERE / "backend.py"
STATE = ROOT / ".build" / "mutation"
MUTATED = STATE / "assay"

# The first tier that fails tells enough; who survives has been before every contract of its profile.
TIERS = [
    ["revenuecat/smoke", "revenuecat/entitlement", "revenuecat/ordering", "revenuecat/safety-net"],
    ["revenuecat/idempotency", "revenuecat/authenticity", "revenuecat/tolerance", "notification",
     "identity"],
    ["revenuecat/retry", "revenuecat/crash"],
]
MORE_TIERS = [["purchasely"], ["firebase", "revenuecat/reconciliation"], ["account", "together"]]

# Where a file of the reference backend is asked for first.
FIRST_TIERS = {
    "Purchasely": ["purchasely"], "TokenVerifier": ["firebase"], "SessionRoutes": ["firebase"],
    "Accounts": ["account"], "Registration": ["identity"], "Outbox": ["notification"],
    "Notification": ["notification"], "Reconciliation": ["revenuecat/reconciliation"],
    "Subscriber": ["revenuecat/reconciliation"], "Authenticity": ["revenuecat/authenticity"],
}

OPPOSITES = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Pow: ast.Mult,
}

DROPPABLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.Raise, ast.Return, ast.If, ast.For,
             ast.Continue)

# Parts of SQL that somebody forgets: text, and what stands there instead.
SQL = [
    (" OR IGNORE", ""), (" OR REPLACE", ""), (" UNIQUE", ""), (" ORDER BY told", ""),
    (" ORDER BY due", ""), (" AND sandbox = 0", ""), (" AND told > ?", " AND ? IS NOT NULL"),
    (" AND product = ?", " AND ? IS NOT NULL"), (" AND sandbox = ?", " AND ? IS NOT NULL"),
    ("BEGIN IMMEDIATE", "BEGIN"), ("COMMIT", "ROLLBACK"), ("ROLLBACK", "COMMIT"),
    ("tries = tries + 1, ", ""), (", sandbox)", ")"), (", product, sandbox)", ", product)"),
]


class Mutant:
    """One change of a backend, known by what it changes and not by where that stands."""

    def __init__(self, operator, function, place, before, after, seen):
        self.operator, self.function, self.place = operator, function, place
        self.before, self.after = before, after
        key = f"{function}|{before}|{after}"
        seen[key] += 1
        self.id = hashlib.sha1(f"{key}|{seen[key]}".encode()).hexdigest()[:8]


class BackendMutant(Mutant):
    """One of backend.py: a text of its own."""

    def __init__(self, text, original, operator, function, line, seen):
        self.text = text
        before = collections.Counter(row.strip() for row in original.splitlines())
        after = collections.Counter(row.strip() for row in text.splitlines())
        super().__init__(operator, function, f"backend.py:{line}",
                         "\n".join((before - after).elements()),
                         "\n".join((after - before).elements()), seen)

    def runs(self, folder):
        """The profile and the environment of each run that may tell it."""
        path = folder / "backend.py"
        path.write_text(self.text)
        return [(HERE / "assay.yaml", {"BACKEND": str(path)})]

    @property
    def tiers(self):
        return TIERS


class ReferenceMutant(Mutant):
    """One of the reference backend: a number."""

    def __init__(self, line, seen):
        self.number = line["number"]
        super().__init__(line["operator"], line["function"], f"{line['file']}:{line['line']}",
                         line["before"], line["after"], seen)

    def runs(self, folder):
        chosen = {"ASSAY_MUTATED": str(MUTATED), "ASSAY_MUTANT": str(self.number)}
        # What comes from the event's own fields is neither read from REST nor compared with it.
        plain = folder / "body.yaml"
        plain.write_text((HERE / "reference.yaml").read_text()
                         + "features: {except: [subscriber-reads, reconcile]}\n")
        body = (plain, {**chosen, "STYLE": "body"})
        sync = (HERE / "reference.yaml", {**chosen, "STYLE": "sync"})
        reads = self.place.startswith(("Reconciliation.", "Subscriber."))
        return [sync] if reads else [body, sync]

    @property
    def tiers(self):
        first = [tier for name, tier in FIRST_TIERS.items() if self.place.startswith(name)]
        return first + TIERS + MORE_TIERS


def alternatives(node):
    """What may stand instead of a node: pairs of an operator's name and an edit of a copy."""
    if isinstance(node, (ast.If, ast.IfExp, ast.While)) and not isinstance(node.test, ast.Constant):
        yield ("negate", lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test)))
    if isinstance(node, ast.comprehension):
        for index in range(len(node.ifs)):
            yield ("unfilter", lambda n, i=index: n.ifs.pop(i))
    if isinstance(node, ast.BoolOp):
        yield ("and-or", lambda n: setattr(
            n, "op", ast.Or() if isinstance(n.op, ast.And) else ast.And()))
        for index in range(len(node.values)):
            if len(node.values) > 2:
                yield ("drop-operand", lambda n, i=index: n.values.pop(i))
            else:
                keep = 1 - index
                yield ("drop-operand", lambda n, k=keep: n.values.__setitem__(
                    slice(None), [n.values[k], n.values[k]]))
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            other = OPPOSITES.get(type(operator))
            if other:
                yield ("compare", lambda n, i=index, o=other: n.ops.__setitem__(i, o()))
        if any(isinstance(operator, (ast.Lt, ast.Gt)) for operator in node.ops):
            yield ("turn-around", lambda n: setattr(n, "ops", [
                {ast.Lt: ast.Gt, ast.Gt: ast.Lt}.get(type(o), type(o))() for o in n.ops]))
    if isinstance(node, ast.BinOp) and type(node.op) in OPPOSITES:
        yield ("arithmetic", lambda n: setattr(n, "op", OPPOSITES[type(n.op)]()))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield ("un-negate", lambda n: setattr(n, "operand", ast.UnaryOp(ast.Not(), n.operand)))
    if isinstance(node, ast.Constant) and type(node.value) is int:
        for step in (1, -1):
            yield ("constant", lambda n, s=step: setattr(n, "value", n.value + s))
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        for part, other in SQL:
            if part in node.value:
                yield ("sql", lambda n, p=part, o=other: setattr(
                    n, "value", n.value.replace(p, o, 1)))
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield ("constant", lambda n: setattr(n, "value", not n.value))
    if isinstance(node, (ast.Set, ast.List, ast.Tuple)) and len(node.elts) > 1 \
            and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        if all(isinstance(element, ast.Constant) for element in node.elts):
            for index in range(len(node.elts)):
                yield ("drop-element", lambda n, i=index: n.elts.pop(i))
    if isinstance(node, ast.Dict) and len(node.keys) > 1:
        for index in range(len(node.keys)):
            yield ("drop-entry", lambda n, i=index: (n.keys.pop(i), n.values.pop(i)))
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", "")
        if name in ("max", "min"):
            yield ("max-min", lambda n: setattr(
                n.func, "id", "min" if n.func.id == "max" else "max"))
        plain = [isinstance(argument, ast.Name) for argument in node.args]
        for index in range(len(plain) - 1):
            if plain[index] and plain[index + 1]:
                yield ("swap-arguments", lambda n, i=index: n.args.__setitem__(
                    slice(i, i + 2), [n.args[i + 1], n.args[i]]))
        for index in range(len(node.keywords)):
            yield ("drop-keyword", lambda n, i=index: n.keywords.pop(i))


def at(tree, path):
    for field, index in path:
        tree = getattr(tree, field) if index is None else getattr(tree, field)[index]
    return tree


def mutants_of_backend():
    tree = ast.parse(SOURCE.read_text())
    original = ast.unparse(tree)
    found, seen = [], collections.Counter()

    def add(function, operator, line, change):
        copied = copy.deepcopy(tree)
        try:
            change(copied)
            text = ast.unparse(ast.fix_missing_locations(copied))
            compile(text, "mutant", "exec")
        except (ValueError, SyntaxError, TypeError):
            return
        if text != original:
            found.append(BackendMutant(text, original, operator, function, line, seen))

    def drop(copied, path):
        field, index = path[-1]
        getattr(at(copied, path[:-1]), field)[index] = ast.Pass()

    def walk(node, path, function, line):
        line = getattr(node, "lineno", line)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            function = f"{function}.{node.name}" if function else node.name
        for operator, change in alternatives(node):
            add(function, operator, line, lambda tree, change=change: change(at(tree, path)))
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if function and isinstance(node, DROPPABLE) and not is_docstring:
            add(function, "drop", line, lambda tree: drop(tree, path))
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                walk(value, [*path, (field, None)], function, line)
            elif isinstance(value, list):
                for index, child in enumerate(value):
                    if isinstance(child, ast.AST):
                        walk(child, [*path, (field, index)], function, line)

    for index, node in enumerate(tree.body):
        is_main = isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)
        if not is_main and not isinstance(node, (ast.Import, ast.Expr)):
            walk(node, [("body", index)], "", node.lineno)
    return found


def swift(*words, stage):
    environment = {**os.environ, "ASSAY_MUTATION": stage}
    return subprocess.run(["swift", *words], cwd=ROOT, env=environment, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def mutants_of_reference(is_fresh):
    listing = STATE / "mutants.jsonl"
    if is_fresh or not MUTATED.exists():
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
        shutil.copy(pathlib.Path(built) / "assay", MUTATED)
        listing.write_text(lines)
    seen = collections.Counter()
    return [ReferenceMutant(json.loads(line), seen) for line in listing.read_text().splitlines()]


def judge(mutant, folder, is_loud, lives):
    start = time.monotonic()
    outcome = {"verdict": "survived", "clauses": [], "cases": []}
    # Whoever answers slowly is not waited for longer than whoever answers.
    words = [["explore", "--histories", str(lives), "--for", "2m", "--fail-fast",
              "--shrink-time", "10s"]]
    if not lives:
        words = [["verify", "--max-time", "5m", *(word for only in tier for word in ("--only", only))]
                 for tier in mutant.tiers]
    for profile, chosen in mutant.runs(folder):
        found = judge_run(words, profile, {**os.environ, **chosen}, folder, is_loud)
        if found["verdict"] != "survived":
            outcome = found
        if found["verdict"] in ("caught", "broken"):
            break
    outcome["seconds"] = round(time.monotonic() - start, 1)
    return outcome


def judge_run(commands, profile, environment, folder, is_loud):
    outcome = {"verdict": "survived", "clauses": [], "cases": []}
    for command in commands:
        report = folder / "report.json"
        report.unlink(missing_ok=True)
        words = [BINARY, *command, "--profile", str(profile), "--seed", "campaign",
                 "--report", f"json={report}"]
        run = subprocess.run(words, env=environment, cwd=folder, check=False, text=True,
                             stdout=None if is_loud else subprocess.DEVNULL,
                             stderr=None if is_loud else subprocess.DEVNULL)
        if run.returncode == 1:
            failed = [case for case in json.loads(report.read_text())["cases"]
                      if case["verdict"] == "failed"]
            return {"verdict": "caught",
                    "clauses": sorted({case["clause"] for case in failed}),
                    "cases": [case["id"] for case in failed][:3],
                    "notes": [case.get("note", "") for case in failed][:3]}
        if run.returncode in (2, 6):
            return {**outcome, "verdict": "broken"}
        if run.returncode not in (0, 4, 5):
            raise SystemExit(f"assay ended with {run.returncode}: {' '.join(words)}")
        # Inconclusive is exit 5, and so is what this profile leaves out: the cases tell.
        if run.returncode != 4:
            verdicts = [case["verdict"] for case in json.loads(report.read_text())["cases"]]
            if "inconclusive" in verdicts:
                outcome["verdict"] = "inconclusive"
    return outcome


def equivalents(of):
    """The ids below the backend's heading, with their reasons."""
    known, heading = {}, ""
    for line in (HERE / "equivalent.txt").read_text().splitlines():
        if line.startswith("["):
            heading = line.strip("[]")
        elif line.strip() and not line.startswith("#") and heading == of:
            name, reason = line.split(None, 1)
            known[name] = reason
    return known


def report(tried, every, of):
    known = equivalents(of)
    stale = sorted(set(known) - {mutant.id for mutant in every})
    counts = collections.Counter()
    survivors = []
    for mutant in every:
        result = tried.get(mutant.id)
        if result is None:
            counts["not tried"] += 1
        elif result["verdict"] == "survived" and mutant.id in known:
            counts["equivalent"] += 1
        else:
            counts[result["verdict"]] += 1
            if result["verdict"] == "survived":
                survivors.append((mutant, result))
    for mutant, result in survivors:
        print(f"{mutant.id}  {result['verdict']:12} {mutant.operator:14} "
              f"{mutant.place}  {mutant.function}")
        print(f"    - {mutant.before}\n    + {mutant.after}")
    told = counts["caught"] + counts["broken"]
    # Exit 5 is no green build either: the probes of such a mutant show nothing.
    red = told + counts["inconclusive"]
    judged = sum(counts.values()) - counts["not tried"] - counts["equivalent"]
    print("  ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    if judged:
        print(f"told {100 * told / judged:.1f} %, not green {100 * red / judged:.1f} % of {judged} "
              "that can be seen")
    for name in stale:
        print(f"equivalent.txt: there is no mutant {name} any more")
    return 1 if stale else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shard", default="1/1")
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--mutant")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--of", choices=["backend", "reference"], default="backend")
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--by", choices=["contracts", "histories"], default="contracts")
    parser.add_argument("--histories", type=int, default=6000)
    parser.add_argument("--state", type=pathlib.Path)
    options = parser.parse_args()
    kind = "" if options.by == "contracts" else "-lives"
    options.state = options.state or STATE / f"results-{options.of}{kind}.jsonl"
    part, parts = map(int, options.shard.split("/"))
    if options.of == "reference":
        every = mutants_of_reference(options.build)
    else:
        every = mutants_of_backend()
    if options.list:
        for mutant in every:
            print(f"{mutant.id}  {mutant.operator:14} {mutant.place}  {mutant.function}")
        print(f"{len(every)} mutants")
        return 0
    tried = {}
    if options.state.exists():
        for line in options.state.read_text().splitlines():
            result = json.loads(line)
            tried[result["id"]] = result
    if options.report:
        return report(tried, every, options.of)
    if options.mutant:
        chosen = [mutant for mutant in every if mutant.id == options.mutant]
        if not chosen:
            parser.error(f"there is no mutant {options.mutant}; see --list")
    else:
        chosen = [mutant for index, mutant in enumerate(every)
                  if index % options.sample == 0 and index % parts == part - 1
                  and mutant.id not in tried and mutant.id not in equivalents(options.of)]
    options.state.parent.mkdir(parents=True, exist_ok=True)
    for number, mutant in enumerate(chosen, 1):
        with tempfile.TemporaryDirectory() as folder:
            result = judge(mutant, pathlib.Path(folder), bool(options.mutant),
                           options.histories if options.by == "histories" else 0)
        tried[mutant.id] = {"id": mutant.id, **result}
        with options.state.open("a") as file:
            file.write(json.dumps(tried[mutant.id]) + "\n")
        print(f"{number}/{len(chosen)}  {mutant.id}  {result['verdict']:12} "
              f"{mutant.operator:14} {mutant.place}  {' '.join(result['clauses'])}  "
              f"{result['seconds']} s", flush=True)
    return report(tried, every, options.of)


if __name__ == "__main__":
    sys.exit(main())
