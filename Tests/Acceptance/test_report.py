"""The HTML report in a real browser: its one script runs, nothing that was planted does, and hundreds of
cases open at once."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from serving import BINARY, ROOT

CHROMIUM = next(
    (name for name in ("chromium-headless-shell", "chromium") if shutil.which(name)), "chromium")
PROFILE = """assay: 1
start: {command: "%s %s", intercept: true}
endpoints: {revenuecat-webhook: POST /hook}
secrets: {revenuecat-authorization: Bearer assay-test-token, onesignal-key: assay-test-key}
users: {create: {post: /users, body: {id: "{{id}}"}}}
probes: {subscription: {get: "/plans/{{id}}", read: {product: /plan}}}
"""
CLOCK = """<script>document.title = 'planted'</script>"""


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-report-"))
        profile = cls.folder / "assay.yaml"
        profile.write_text(PROFILE % (sys.executable, ROOT / "Tests" / "Acceptance" / "fixed.py"))
        cls.path = cls.folder / "report.html"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
        done = subprocess.run(
            [BINARY, "verify", "--profile", str(profile), "--seed", "7", "--only",
             "revenuecat/idempotency", "--only", "revenuecat/entitlement", "--report", f"html={cls.path}"],
            capture_output=True, text=True, timeout=900, env=environment)
        assert done.returncode in (1, 5), done.stdout + done.stderr
        cls.text = cls.path.read_text()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def dom(self, text, fragment=""):
        page = self.folder / "page.html"
        page.write_text(text)
        done = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
             f"--user-data-dir={self.folder / 'profile'}", page.as_uri() + fragment],
            capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_its_script_opens_what_an_address_names(self):
        closed = re.findall(r"<details class=case id=(case-\d+) data-status=\w+ data-attention[^>]*(?<! open)>", self.text)
        self.assertTrue(closed, "every case of the page is open, so this shows nothing")
        self.assertNotRegex(self.dom(self.text), f'id="{closed[-1]}"[^>]* open="')
        self.assertRegex(self.dom(self.text, "#" + closed[-1]), f'id="{closed[-1]}"[^>]* open="')

    def test_nothing_that_was_planted_runs(self):
        planted = self.text.replace("</body>", CLOCK + "</body>")
        self.assertRegex(self.dom(planted), "<title>[^<]* cases? ")
        # Without the policy it would have: the test can see it.
        bare = re.sub(r"<meta http-equiv[^>]*>", "", planted)
        self.assertIn("<title>planted", self.dom(bare))

    def test_every_case_has_a_picture_of_what_was_said(self):
        dom = self.dom(self.text)
        blocks = dom.split('<details class="case"')[1:]
        drawn = [block for block in blocks if 'class="seq"' in block]
        self.assertTrue(drawn)
        for block in drawn:
            self.assertIn('class="arrow', block)
            self.assertIn("<b>backend</b>", block)
        self.assertIn('class="copy"', dom)

    def test_tabs_search_and_causes_choose_the_cases(self):
        from browsing import Browser

        browser = Browser()
        self.addCleanup(browser.close)
        browser.open(self.path.as_uri())
        browser.wait("document.readyState === 'complete'")
        shown = "[...document.querySelectorAll('.case')].filter(item => !item.hidden).length"
        every = browser.value("document.querySelectorAll('.case').length")
        reported = browser.value("document.querySelectorAll('details.case').length")
        self.assertEqual(browser.value(shown), reported, "the page opens with the cases to look at")
        self.assertLess(reported, every)
        browser.value("document.querySelector('.tabs [data-status=\"\"]').click()")
        self.assertEqual(browser.value(shown), every)
        self.assertEqual(browser.value("document.querySelector('#shown').textContent"), f"{every} of {every} cases")
        name = browser.value("document.querySelector('.case.quiet code').textContent")
        # The slash key leads to the search.
        browser.press("/", "/")
        browser.wait("document.activeElement.id === 'search'")
        browser.call("Input.insertText", text=name)
        browser.wait(shown + " < " + str(every))
        self.assertGreaterEqual(browser.value(shown), 1)
        self.assertTrue(browser.value("!document.querySelector('.case.quiet:not([hidden])').hidden"))
        # An address of a case that the filter hides shows the case.
        browser.value("location.hash = 'case-0'")
        browser.wait("!document.querySelector('#case-0').hidden")
        self.assertEqual(browser.problems(), [])

    def test_no_page_is_wider_than_a_phone(self):
        from browsing import Browser

        browser = Browser(width=390)
        self.addCleanup(browser.close)
        browser.call("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=True)
        browser.open(self.path.as_uri())
        browser.wait("document.readyState === 'complete'")
        width = "document.documentElement.scrollWidth"
        self.assertLessEqual(browser.value(width), 390)
        # Names of routes, fields and cases have no spaces.
        browser.value("""{
            const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            const nodes = [];
            while (walker.nextNode()) nodes.push(walker.currentNode);
            for (const node of nodes.filter(node => node.parentElement.closest('.causes li')))
                if (node.data.trim()) node.data = 'w'.repeat(200);
        }""")
        self.assertLessEqual(browser.value(width), 390)


if __name__ == "__main__":
    unittest.main()
