"""Mechanical mutants of a JavaScript program, made from its tokens.

Strings, templates, comments and regular expressions stay as they are. A mutant that `node --check`
rejects is left out when it is tried.
"""

import collections
import re

from mutants import Mutant

TOKEN = re.compile(r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)
  | (?P<regex>(?<=[=(,:?&|!])\s*/(?![/*])(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\\\n])+/[a-z]*)
  | (?P<number>\b\d[\d_]*(?:\.\d+)?n?\b)
  | (?P<word>[A-Za-z_$][\w$]*)
  | (?P<sign>=>|===|!==|==|!=|<=|>=|&&|\|\||\?\?=?|\?\.|\+\+|--|\+=|-=|[<>+\-*/%!])
""", re.VERBOSE | re.DOTALL)

SIGNS = {
    "===": "!==", "!==": "===", "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">",
    "&&": "||", "||": "&&", "??": "||", "+": "-", "-": "+", "*": "+", "+=": "-=", "-=": "+=",
    "!": "",
}
WORDS = {"true": "false", "false": "true", "max": "min", "min": "max", "continue": "", "break": ""}
STATEMENT = re.compile(r"^\s*(?!const |let |var |import |export |function |class |\}|\{|//|case )"
                       r"[^\s].*;\s*$")
CONDITION = re.compile(r"\bif \((.*)\) ?(\{|return|throw|continue|[a-z])")
FUNCTION = re.compile(r"(?:function\s+|^(?:const|let)\s+)([\w$]+)", re.MULTILINE)


def edits(source):
    """Yields the name of an operator, a range of the text, and its replacement."""
    for token in TOKEN.finditer(source):
        text, kind = token.group(), token.lastgroup
        if kind == "sign" and text in SIGNS:
            yield "operator", token.span(), SIGNS[text]
        elif kind == "word" and text in WORDS:
            yield "constant", token.span(), WORDS[text]
        elif kind == "number" and text.replace("_", "").isdigit():
            value = int(text.replace("_", ""))
            for changed in {value + 1, max(value - 1, 0)} - {value}:
                yield "constant", token.span(), str(changed)
    at = 0
    for line in source.splitlines(keepends=True):
        if STATEMENT.match(line) and line.count("(") == line.count(")") \
                and line.count("{") == line.count("}") and "`" not in line:
            indent = len(line) - len(line.lstrip())
            yield "drop", (at + indent, at + len(line.rstrip())), ";"
        condition = CONDITION.search(line)
        if condition and balanced(condition.group(1)):
            start, end = condition.span(1)
            yield "negate", (at + start, at + end), f"!({condition.group(1)})"
        at += len(line)


def balanced(text):
    """Returns true if no parenthesis closes before it opens, and all are closed."""
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return False
    return depth == 0


def mutants(source):
    """Returns every mutant of the text of a JavaScript program."""
    found, seen = [], collections.Counter()
    functions = [(match.start(), match.group(1)) for match in FUNCTION.finditer(source)]
    for operator, (start, end), replacement in edits(source):
        text = source[:start] + replacement + source[end:]
        if text == source:
            continue
        function = next((name for at, name in reversed(functions) if at <= start), "")
        first, last = source.rfind("\n", 0, start) + 1, source.find("\n", end)
        rest = len(source) - (last if last >= 0 else len(source))
        before = source[first:len(source) - rest].strip()
        after = text[first:len(text) - rest].strip()
        found.append(Mutant(operator, function, source.count("\n", 0, start) + 1, before, after,
                            seen, text=text))
    return found
