"""Mechanical mutants of a Python program, made from its syntax tree."""

import ast
import collections
import copy

from mutants import Mutant

OPPOSITES = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Pow: ast.Mult,
}

DROPPABLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.Raise, ast.Return, ast.If, ast.For,
             ast.Continue)

# Parts of SQL that a developer forgets, with their replacements.
SQL = [
    (" OR IGNORE", ""), (" OR REPLACE", ""), (" UNIQUE", ""), (" ORDER BY told", ""),
    (" ORDER BY due", ""), (" AND sandbox = 0", ""), (" AND told > ?", " AND ? IS NOT NULL"),
    (" AND product = ?", " AND ? IS NOT NULL"), (" AND sandbox = ?", " AND ? IS NOT NULL"),
    ("BEGIN IMMEDIATE", "BEGIN"), ("COMMIT", "ROLLBACK"), ("ROLLBACK", "COMMIT"),
    ("tries = tries + 1, ", ""), (", sandbox)", ")"), (", product, sandbox)", ", product)"),
]


def alternatives(node):
    """Yields the changes of a node: the name of the operator, and an edit of a copy."""
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


def changed(text, original, operator, function, line, seen):
    """Returns the mutant with this text; the lines that differ identify it."""
    before = collections.Counter(row.strip() for row in original.splitlines())
    after = collections.Counter(row.strip() for row in text.splitlines())
    return Mutant(operator, function, line, "\n".join((before - after).elements()),
                  "\n".join((after - before).elements()), seen, text=text)


def mutants(source):
    """Returns every mutant of the text of a Python program."""
    tree = ast.parse(source)
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
            found.append(changed(text, original, operator, function, line, seen))

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
