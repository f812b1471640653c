"""One mechanical change of a backend."""

import hashlib


class Mutant:
    """A changed program. Its ID depends on the changed lines and not on their line numbers.

    A mutant of one file has the whole changed text; a mutant of the reference backend has a number,
    which selects it when the binary starts.
    """

    def __init__(self, operator, function, line, before, after, seen, text=None, number=None):
        self.operator, self.function, self.line = operator, function, line
        self.before, self.after = before, after
        self.text, self.number = text, number
        key = f"{function}|{before}|{after}"
        seen[key] += 1
        self.id = hashlib.sha1(f"{key}|{seen[key]}".encode()).hexdigest()[:8]
