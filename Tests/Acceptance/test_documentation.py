"""The documentation is a site whose links lead somewhere, and what it prints can be typed."""

import fcntl
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import walk
from serving import BINARY, ROOT

HERE = pathlib.Path(__file__).resolve().parent
GUIDES = walk.GUIDES


def network():
    """The words that start a program in a network of its own, as root or as anybody; none where that cannot
    be had, and the page's ports are the machine's then."""
    for words in (["unshare", "-n"], ["unshare", "-rn"]):
        if shutil.which("unshare") and subprocess.run([*words, "true"], capture_output=True).returncode == 0:
            return words
    return []


class Printed(unittest.TestCase):
    """Each page is typed by one reader; they do not meet."""

    apart = True

    def typed(self, path, least):
        words = network()
        # One reader at a time where all have the same ports.
        with open(pathlib.Path(tempfile.gettempdir()) / "assay-readers.lock", "w") as lock:
            if not words:
                fcntl.flock(lock, fcntl.LOCK_EX)
            done = self.reader(words, path)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        count = json.loads(done.stdout.splitlines()[-1])["typed"]
        self.assertGreaterEqual(count, least, done.stdout)

    def reader(self, words, path):
        return subprocess.run(
            [*words, sys.executable, str(HERE / "walk.py"), str(path)], capture_output=True, text=True,
            cwd=HERE, timeout=1800)


def reader(path, least):
    return lambda self: self.typed(path, least)


for path, least in [(ROOT / "README.md", 2)] + [(path, 1) for path in GUIDES]:
    setattr(Printed, f"test_{path.stem.lower()}", reader(path, least))


class Reasons(unittest.TestCase):
    def test_every_reason_not_to_type_something_is_used(self):
        typed = [walk.bare(line) for path in [ROOT / "README.md", *GUIDES]
                 for language, block in walk.blocks(path.read_text()) if language == "sh"
                 for line in walk.lines(block)]
        self.assertGreater(len(typed), 60)
        for table in (walk.ELSEWHERE, walk.SERVING, walk.STATUSES):
            for pattern in table:
                self.assertTrue(any(re.search(pattern, line) for line in typed), pattern)


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.done = subprocess.run(
            [sys.executable, str(ROOT / ".github" / "site" / "build"), str(cls.folder / "site"), "--assay", BINARY],
            capture_output=True, text=True, timeout=600)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_every_link_leads_somewhere(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout + self.done.stderr)
        self.assertEqual(self.done.stderr, "")

    def test_the_home_page_is_about_the_product(self):
        home = (self.folder / "site/index.html").read_text()
        self.assertIn("<h1>Test your subscription backend from outside</h1>", home)
        self.assertNotIn("{{", home)
        cases = json.loads(subprocess.run([BINARY, "list", "--json"], capture_output=True, text=True, timeout=60).stdout)
        self.assertIn(f"<b>{len({case['contract'] for case in cases})}</b> contracts", home)
        self.assertIn("revenuecat/retry/push-response-lost", home, "the example of a finding")
        self.assertTrue((self.folder / "site/overview.html").is_file())

    def test_every_command_clause_code_and_contract_has_its_place(self):
        site = self.folder / "site"
        commands = (site / "reference/commands.html").read_text()
        listed = subprocess.run([BINARY, "--help"], capture_output=True, text=True, timeout=60).stdout
        names = re.findall(r"^  ([a-z]+) +\S", listed.split("OPTIONS:")[1], re.M)
        self.assertGreater(len(names), 15)
        for name in names:
            self.assertIn(f'id="assay-{name}"', commands)
        self.assertIn('id="e204-effect-count"', (site / "findingcodes.html").read_text())
        clauses = (site / "clauses.html").read_text()
        self.assertRegex(clauses, r'id="[\w-]+-s-05"')
        cases = json.loads(subprocess.run([BINARY, "list", "--json"], capture_output=True, text=True, timeout=60).stdout)
        pages = "".join(path.read_text() for path in (site / "contracts").glob("*.html"))
        for name in {case["contract"] for case in cases}:
            anchor = re.sub(r"[^\w-]", "", name.lower())
            self.assertIn(f'id="{anchor}"', pages)
            self.assertIn(f"#{anchor}", clauses)

    def test_it_is_opened_from_the_disk_and_searched_with_the_keyboard(self):
        from browsing import Browser

        browser = Browser()
        self.addCleanup(browser.close)
        browser.open((self.folder / "site/index.html").as_uri())
        browser.wait("document.querySelectorAll('.block').length > 0")
        browser.press("/", "/")
        browser.wait("document.activeElement.id === 'search'")
        browser.call("Input.insertText", text="push-response-lost")
        browser.wait("document.querySelectorAll('#found [role=option]').length > 0")
        browser.press("Enter", "\r")
        browser.wait("location.pathname.includes('/contracts/') && location.hash.includes('push-response-lost')"
                     " && document.querySelectorAll('.block').length > 0")
        outside = ("performance.getEntriesByType('resource')"
                   ".filter(each => !each.name.startsWith('file:')).map(each => each.name)")
        self.assertEqual(browser.value(outside), [])
        self.assertEqual(browser.problems(), [])

    def test_a_link_that_leads_nowhere_is_told(self):
        from importlib.machinery import SourceFileLoader

        builder = SourceFileLoader("site_build", str(ROOT / ".github/site/build")).load_module()
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "a.html").write_text(
                '<h1 id="top">a</h1><a href="b.html">b</a><a href="a.html#top">a</a><a href="#gone">c</a>'
                '<a href="http://example.com/">d</a><a href="https://example.com/">e</a>')
            found = list(builder.broken(folder))
        self.assertEqual(len(found), 3, found)
        for part in ("b.html leads nowhere", "#gone", "is not https"):
            self.assertTrue(any(part in line for line in found), found)


if __name__ == "__main__":
    unittest.main()
