"""A mutation score that nobody chose: every mechanical mutant of backend.py before the contracts.

    python3 Tests/Mutation/campaign.py                      all mutants that have not been tried
    python3 Tests/Mutation/campaign.py --shard 2/4          a quarter of them
    python3 Tests/Mutation/campaign.py --sample 10          every tenth
    python3 Tests/Mutation/campaign.py --mutant 3f9a01c2    one, with the whole output of assay
    python3 Tests/Mutation/campaign.py --list               what would be tried
    python3 Tests/Mutation/campaign.py --report             the score, the survivors

What was tried stands in .build/mutation/results.jsonl, one line a mutant: a campaign that was ended
goes on where it was. A mutant whose change nobody can see from outside stands in equivalent.txt with
the reason; everything else that survives is a contract that is missing. Not a part of CI.
"""

import argparse
import ast
import collections
import copy
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BINARY = os.environ.get("ASSAY_BINARY", str(ROOT / ".build" / "debug" / "assay"))
SOURCE = HERE / "backend.py"
STATE = ROOT / ".build" / "mutation"

# The first tier that fails tells enough; who survives has been before every contract.
TIERS = [
    ["revenuecat/smoke", "revenuecat/entitlement", "revenuecat/ordering", "revenuecat/safety-net"],
    ["revenuecat/idempotency", "revenuecat/authenticity", "revenuecat/tolerance", "notification",
     "identity"],
    ["revenuecat/retry", "revenuecat/crash"],
]

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
    """One change of the backend, known by what it changes and not by where that stands."""

    def __init__(self, text, original, operator, function, line, seen):
        self.text, self.operator, self.function, self.line = text, operator, function, line
        before = collections.Counter(row.strip() for row in original.splitlines())
        after = collections.Counter(row.strip() for row in text.splitlines())
        self.before = "\n".join((before - after).elements())
        self.after = "\n".join((after - before).elements())
        key = f"{function}|{self.before}|{self.after}"
        seen[key] += 1
        self.id = hashlib.sha1(f"{key}|{seen[key]}".encode()).hexdigest()[:8]


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


def mutants():
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
            found.append(Mutant(text, original, operator, function, line, seen))

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


def judge(mutant, folder, is_loud):
    path = folder / "backend.py"
    path.write_text(mutant.text)
    environment = {**os.environ, "BACKEND": str(path)}
    start = time.monotonic()
    outcome = {"verdict": "survived", "clauses": [], "cases": []}
    for tier in TIERS:
        report = folder / "report.json"
        report.unlink(missing_ok=True)
        words = [BINARY, "verify", "--profile", str(HERE / "assay.yaml"), "--seed", "campaign",
                 "--max-time", "5m", "--report", f"json={report}",
                 *(word for only in tier for word in ("--only", only))]
        run = subprocess.run(words, env=environment, cwd=folder, check=False, text=True,
                             stdout=None if is_loud else subprocess.DEVNULL,
                             stderr=None if is_loud else subprocess.DEVNULL)
        if run.returncode == 1:
            failed = [case for case in json.loads(report.read_text())["cases"]
                      if case["verdict"] == "failed"]
            outcome = {"verdict": "caught",
                       "clauses": sorted({case["clause"] for case in failed}),
                       "cases": [case["id"] for case in failed][:3]}
            break
        if run.returncode in (2, 6):
            outcome["verdict"] = "broken"
            break
        if run.returncode not in (0, 5):
            raise SystemExit(f"assay ended with {run.returncode}: {' '.join(words)}")
        # Inconclusive is exit 5, and so is what this profile leaves out: the cases tell.
        verdicts = [case["verdict"] for case in json.loads(report.read_text())["cases"]]
        if "inconclusive" in verdicts:
            outcome["verdict"] = "inconclusive"
    outcome["seconds"] = round(time.monotonic() - start, 1)
    return outcome


def equivalents():
    path = HERE / "equivalent.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return dict(line.split(None, 1) for line in lines if line.strip() and line[0] != "#")


def report(tried, every):
    known = equivalents()
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
              f"backend.py:{mutant.line}  {mutant.function}")
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
    parser.add_argument("--state", type=pathlib.Path, default=STATE / "results.jsonl")
    options = parser.parse_args()
    part, parts = map(int, options.shard.split("/"))
    every = mutants()
    if options.list:
        for mutant in every:
            print(f"{mutant.id}  {mutant.operator:14} backend.py:{mutant.line}  {mutant.function}")
        print(f"{len(every)} mutants")
        return 0
    tried = {}
    if options.state.exists():
        for line in options.state.read_text().splitlines():
            result = json.loads(line)
            tried[result["id"]] = result
    if options.report:
        return report(tried, every)
    if options.mutant:
        chosen = [mutant for mutant in every if mutant.id == options.mutant]
        if not chosen:
            parser.error(f"there is no mutant {options.mutant}; see --list")
    else:
        chosen = [mutant for index, mutant in enumerate(every)
                  if index % options.sample == 0 and index % parts == part - 1
                  and mutant.id not in tried and mutant.id not in equivalents()]
    options.state.parent.mkdir(parents=True, exist_ok=True)
    for number, mutant in enumerate(chosen, 1):
        with tempfile.TemporaryDirectory() as folder:
            result = judge(mutant, pathlib.Path(folder), bool(options.mutant))
        tried[mutant.id] = {"id": mutant.id, **result}
        with options.state.open("a") as file:
            file.write(json.dumps(tried[mutant.id]) + "\n")
        print(f"{number}/{len(chosen)}  {mutant.id}  {result['verdict']:12} "
              f"{mutant.operator:14} :{mutant.line}  {' '.join(result['clauses'])}  "
              f"{result['seconds']} s", flush=True)
    return report(tried, every)


if __name__ == "__main__":
    sys.exit(main())
