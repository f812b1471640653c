"""A real page in a real browser: the sample app is green, the guide's client is found out, and pages
that misbehave end in words."""

import functools
import html
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

import requests

from serving import BINARY, Serving

APP = pathlib.Path(__file__).resolve().parent / "App"
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"


class Pages(http.server.SimpleHTTPRequestHandler):
    """The files of the sample app, and pages that misbehave."""

    extra = {}
    # What takes so many seconds, and what it is then.
    slow = {}
    posted = []
    agents = []
    asked = {}

    def do_GET(self):
        path = self.path.split("?")[0]
        Pages.agents.append(self.headers.get("user-agent", ""))
        Pages.asked[path] = Pages.asked.get(path, 0) + 1
        if path == "/never.html":
            # Held until the browser gives up.
            self.rfile.read(1)
            return
        if path in self.slow:
            seconds, text = self.slow[path]
            # The subject of the test: a network that is slower than the app's whole start.
            time.sleep(seconds)
        if path in self.extra or path in self.slow:
            body = (self.extra.get(path) or text).encode()
            self.send_response(200)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        super().do_GET()

    def do_POST(self):
        Pages.posted.append(self.path)
        self.send_response(500)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


def serve_pages():
    handler = functools.partial(Pages, directory=str(APP))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"


def assay(*arguments, timeout=900, env=None):
    return subprocess.run(
        [BINARY, "app", *arguments], env=env or ENVIRONMENT, capture_output=True, text=True,
        timeout=timeout, cwd=tempfile.gettempdir(),
    )


def renderers(parent):
    """The processes below that one which show pages."""
    children = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            children.setdefault(int(fields[1]), []).append(int(entry.name))
        except (OSError, IndexError):
            continue
    found, waiting = set(), [parent]
    while waiting:
        for child in children.get(waiting.pop(), []):
            waiting.append(child)
            try:
                words = pathlib.Path(f"/proc/{child}/cmdline").read_bytes()
            except OSError:
                continue
            if b"--type=renderer" in words:
                found.add(child)
    return found


def dump(url, *arguments, budget=400000):
    """The page's document when its scripts are done; timers take no time."""
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}",
             f"--virtual-time-budget={budget}", "--dump-dom", *arguments, url],
            capture_output=True, text=True, timeout=120,
        )
    return result.stdout


class AppTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, cls.base = serve_pages()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def judge(self, page, *arguments, profile=APP / "assay.yaml", env=None):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            result = assay(
                "--url", f"{self.base}/{page}", "--profile", str(profile),
                "--report", f"json={report}", *arguments, env=env,
            )
            cases = []
            if os.path.exists(report) and os.path.getsize(report):
                with open(report) as file:
                    cases = json.load(file)["cases"]
        return result, cases


class TestDouble(AppTest):
    """The double does what section 1 of the sheet says of the package."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        text = dump(cls.base + "/double.html", budget=900000)
        found = re.search(r'<pre id="result">(.*?)</pre>', text, re.S)
        cls.result = json.loads(html.unescape(found.group(1)))

    def test_it_is_a_function_that_checks_nothing(self):
        self.assertEqual(self.result["isFunction"], "function")
        self.assertIs(self.result["unwatched"], True)
        self.assertEqual(self.result["plainGlobal"], "first://")

    def test_commands_queue_and_the_first_is_synchronous(self):
        self.assertEqual(self.result["atOnce"], 1)
        self.assertEqual(self.result["order"], "n1:// n2:// n3:// n4:// n5://")

    def test_what_the_setter_throws_is_reported_and_swallowed(self):
        self.assertIs(self.result["throwing"], True)
        self.assertEqual(self.result["reported"], 1)

    def test_one_name_is_polled_every_tenth_of_a_second(self):
        for name, value in [("text", "x"), ("nothing", None), ("empty", ""), ("zero", 0), ("no", False)]:
            answer, time = self.result[name]
            self.assertEqual(answer, {"answer": value}, name)
            self.assertTrue(90 <= time < 250, (name, time))

    def test_placeholders_are_no_results_for_thirty_seconds(self):
        for name in ["placeholder", "emptyList", "emptyObject", "trap"]:
            answer, time = self.result[name]
            self.assertEqual(answer, {}, name)
            self.assertTrue(29_900 <= time < 30_500, (name, time))

    def test_a_stale_value_is_cleared_first(self):
        self.assertEqual(self.result["stale"], {"answer": "fresh"})

    def test_two_watchers_of_one_name_get_one_value(self):
        self.assertEqual(self.result["shared"], [{"shared": 2}, {"shared": 2}])

    def test_several_names_take_a_second_or_three_hundred(self):
        answer, time = self.result["several"]
        self.assertEqual(answer, {"left": [], "right": {}})
        self.assertTrue(900 <= time < 1_300, time)
        answer, time = self.result["severalNever"]
        self.assertEqual(answer, {})
        self.assertTrue(299_000 <= time < 301_500, time)

    def test_without_a_body_several_names_reject(self):
        self.assertEqual(self.result["noBody"], "TypeError")

    def test_properties_come_from_the_function_then_from_the_window(self):
        self.assertEqual(self.result["uuid"], "U-1")
        self.assertIs(self.result["has"], False)
        self.assertIs(self.result["then"], True)
        self.assertNotEqual(self.result["name"], "")
        self.assertIs(self.result["absent"], True)
        self.assertEqual(self.result["shadow"], 1)


# The contracts that say which of the guide's mistakes was made.
GUIDE = {
    "X-37": "app/paywall/unregistered/response:reset", "X-38": "app/registration/unconfirmed/response:500",
    "X-39": "app/registration/tried-again", "X-40": "app/registration/no-install-id",
    "X-41": "app/start/empty-history", "X-42": "app/logout/no-return",
    "X-43": "app/paywall/gated/flow:logout", "X-44": "app/bridge/hostile-history/id:x#y",
    "X-46": "app/bridge/lost-write-at-logout", "X-47": "app/status/product",
    "X-48": "app/status/silence-is-unknown/history:null",
    "X-49": "app/history/restore-chooses-alike", "X-50": "app/login/locked",
    "X-51": "app/history/anonymous-skipped", "X-52": "app/restore/another-person",
    "X-54": "app/login/registered", "X-55": "app/paywall/unregistered-after-logout",
    "X-56": "app/start/browser", "X-59": "app/start/backend-silent",
    "X-60": "app/paywall/double-tap", "X-61": "app/registration/platform/kind:unknown",
    "X-62": "app/logout/unguessable",
}


class TestJudging(AppTest):
    # Dozens of pages at once, none of which may starve.
    alone = True

    def test_the_sample_app_is_green(self):
        result, cases = self.judge("index.html")
        failed = [case["id"] for case in cases if case["verdict"] != "passed"]
        self.assertEqual(failed, [], result.stdout)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreaterEqual(len(cases), 110)
        # What a server sees is what the page sees.
        self.assertTrue(any("despia-iphone" in agent for agent in Pages.agents))

    def test_the_guides_client_is_found_out(self):
        # The same page with the guide's client in it.
        page = (APP / "index.html").read_text().replace('src="app.js"', 'src="guide.js"')
        self.assertIn("guide.js", page)
        Pages.extra["/guide.html"] = page
        verdicts, output = self.verdicts_of("guide.html", ["app/smoke/starts", *GUIDE.values()])
        self.assertEqual(verdicts.pop("app/smoke/starts"), "passed", output)
        missed = {number: verdicts[case] for number, case in GUIDE.items() if verdicts[case] != "failed"}
        self.assertEqual(missed, {}, output)

    def test_a_page_without_a_queue_is_found_out(self):
        # The same page, whose package assigns every command at once.
        package = (APP / "despia-double.js").read_text()
        queue = "if (isSending || queue.length === 0) return;"
        self.assertIn(queue, package)
        Pages.extra["/no-queue.js"] = package.replace(queue, "if (queue.length === 0) return;")
        page = (APP / "index.html").read_text().replace("despia-double.js", "no-queue.js")
        self.assertIn("no-queue.js", page)
        Pages.extra["/no-queue.html"] = page
        case = "app/bridge/one-command-per-task/flow:login"
        verdicts, output = self.verdicts_of("no-queue.html", ["app/smoke/starts", case])
        self.assertEqual(verdicts, {"app/smoke/starts": "passed", case: "failed"}, output)

    def verdicts_of(self, page, cases):
        """The verdict of each case. A machine that starves a page leaves its case undecided; such a
        case runs again, with fewer others beside it."""
        verdicts, undecided = {}, cases
        for _ in range(4):
            only = [part for case in undecided for part in ("--only", case)]
            result, reported = self.judge(page, *only)
            self.assertIn(result.returncode, (0, 1, 5), result.stderr)
            verdicts.update((case["id"], case["verdict"]) for case in reported)
            undecided = [case for case in cases if verdicts[case] in ("inconclusive", "notRun")]
            if not undecided:
                break
        return verdicts, result.stdout


class TestOtherApps(AppTest):
    """Correct apps that do it their own way, and faults that showed nowhere."""

    apart = True

    SCRIPT = '<script src="app.js"></script>'

    def variant(self, name, *changes, page=(), script=None):
        """The sample app with changes; each must fit exactly once."""
        source = (APP / "app.js").read_text()
        for old, new in changes:
            self.assertEqual(source.count(old), 1, old)
            source = source.replace(old, new)
        text = (APP / "index.html").read_text()
        for old, new in page:
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        self.assertEqual(text.count(self.SCRIPT), 1)
        Pages.extra[f"/{name}.html"] = text.replace(self.SCRIPT, script or f"<script>{source}</script>")
        return f"{name}.html"

    def profile(self, *changes):
        text = (APP / "assay.yaml").read_text()
        for old, new in changes:
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        path = pathlib.Path(tempfile.mkdtemp()) / "assay.yaml"
        path.write_text(text)
        return path

    def verdicts(self, page, *only, profile=APP / "assay.yaml"):
        arguments = [part for name in only for part in ("--only", name)]
        result, cases = self.judge(page, *arguments, profile=profile)
        return {case["id"]: case["verdict"] for case in cases}, result

    def test_scripts_that_come_late_are_waited_for(self):
        # Longer than the whole budget of a start.
        Pages.slow["/late.js"] = (5, (APP / "app.js").read_text())
        page = self.variant("late", script='<script src="late.js"></script>')
        profile = self.profile(("startup: 8s", "startup: 3s"))
        found, result = self.verdicts(
            page, "app/paywall/opens", "app/start/empty-history", "app/logout/unlocks", profile=profile
        )
        self.assertEqual(set(found.values()), {"passed"}, result.stdout)

    def test_an_app_may_load_itself_anew_after_a_logout(self):
        page = self.variant("anew", (
            'show("premium", false);\n    });', 'location.reload();\n    });'
        ))
        found, result = self.verdicts(page, "app/logout", "app/paywall/gated")
        self.assertEqual(set(found.values()), {"passed"}, result.stdout)

    def test_a_button_in_a_menu_is_reached_through_the_menu(self):
        button = re.search(r"<button[^>]*id=\"?upgrade\"?[^>]*>.*?</button>",
                           (APP / "index.html").read_text()).group(0)
        page = self.variant("menu", page=[(
            button, "<details><summary id=menu>Menu</summary>" + button + "</details>"
        )])
        found, result = self.verdicts(page, "app/paywall/opens")
        self.assertEqual(set(found.values()), {"failed"}, result.stdout)
        self.assertIn("hidden", result.stdout)
        self.assertIn('["#menu", "#upgrade"]', result.stdout)
        profile = self.profile(('upgrade: "#upgrade"', 'upgrade: ["#menu", "#upgrade"]'))
        found, result = self.verdicts(
            page, "app/paywall/opens", "app/paywall/after-cancel", profile=profile
        )
        self.assertEqual(set(found.values()), {"passed"}, result.stdout)

    def test_what_a_page_gives_up_is_over(self):
        # A first registration that is repeated after a blink, because the page gave it up.
        page = self.variant("given-up", (
            'async function register(id, source) {',
            'async function register(id, source) {\n    var first = new AbortController();\n'
            '    fetch("/api/user/register", {method: "POST", signal: first.signal, body: JSON.stringify({'
            'appUserId: id, deviceId: await installID(), platform: platform(), source: source})})'
            '.catch(function () {});\n    await new Promise(function (over) { setTimeout(function () { '
            'first.abort(); over(); }, 30); });'
        ))
        found, result = self.verdicts(page, "app/paywall/gated/flow:login", "app/start/backend-silent")
        self.assertEqual(set(found.values()), {"passed"}, result.stdout)

    def test_callbacks_that_are_not_there(self):
        page = self.variant("deaf", *[(f"  window.{name} = outcome;\n", "") for name in
                                      ("onRevenueCatPurchase", "onRevenueCatResult", "iapSuccess")])
        found, result = self.verdicts(page, "app/paywall/callback-with-text",
                                      "app/paywall/callback-grants-nothing")
        self.assertEqual(found["app/paywall/callback-with-text"], "failed", result.stdout)
        self.assertEqual(found["app/paywall/callback-grants-nothing"], "inconclusive", result.stdout)

    def test_a_tap_that_leads_to_nothing_proves_nothing(self):
        profile = self.profile(('login: "#login"', 'login: "#account"'))
        found, result = self.verdicts("index.html", "app/login/registered", "app/login/refused/status:401",
                                      profile=profile)
        self.assertEqual(set(found.values()), {"inconclusive"}, result.stdout)
        self.assertIn("app: taps: login", result.stdout)

    def test_a_profile_that_speaks_of_another_app(self):
        for change, word in [
            (('upgrade: "#upgrade"', 'upgrade: "#buy"'), "#upgrade"),
            (('upgrade: "#upgrade"', 'upgrade: "#a:nonsense"'), "not a valid CSS selector"),
            (("assay: 1\n", "assay: 1\nendpoints: {register: POST /v2/people}\n"),
             "POST /api/user/register"),
            (("startup: 8s", "vault: {id: uid}\n  startup: 8s"), "vault: id' to 'uid'"),
            (("assay: 1\n", 'assay: 1\nendpoints: {register: {post: /api/user/register, '
              'body: {user: "{{id}}", deviceId: "{{device}}"}}}\n'), "the body lacks /user"),
        ]:
            result, _ = self.judge("index.html", "--only", "app/smoke", profile=self.profile(change))
            self.assertEqual(result.returncode, 2, (change, result.stdout, result.stderr))
            self.assertIn(word, result.stderr)
        bare = pathlib.Path(tempfile.mkdtemp()) / "assay.yaml"
        bare.write_text("assay: 1\n")
        result, _ = self.judge("index.html", "--only", "app/smoke", profile=bare)
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertIn("app: {taps:", result.stderr)

    def test_nothing_reaches_a_backend_that_a_model_stands_for(self):
        Pages.posted.clear()
        self.verdicts("index.html", "app/start/backend-silent", "app/start/killed-after-registering",
                      "app/login/cut-short")
        self.assertEqual(Pages.posted, [])

    def test_purchases_are_not_asked_of_a_backend_that_hears_of_none(self):
        profile = self.profile(("  startup:", "  backend: own\n  startup:"))
        result, cases = self.judge("index.html", "--only", "app/paywall/confirmed-purchase",
                                   profile=profile)
        self.assertEqual(cases[0]["verdict"], "notRun", result.stdout)
        self.assertIn("backend: own", result.stdout)


class TestBadPages(AppTest):
    apart = True

    ONE = ("--only", "app/start/vault-hit")

    def page(self, name, text):
        Pages.extra["/" + name] = text
        return name

    def test_no_browser(self):
        environment = {**ENVIRONMENT, "PATH": "/nonexistent"}
        result, _ = self.judge("index.html", *self.ONE, env=environment)
        self.assertEqual(result.returncode, 6)
        self.assertIn("apt-get install chromium", result.stderr)
        self.assertIn("--scripted", result.stderr)
        scripted = assay("--scripted", *self.ONE, env=environment)
        self.assertEqual(scripted.returncode, 0, scripted.stderr)

    def test_every_kind_of_browser(self):
        """The shell without a user interface is taken first, and the whole browser does as well."""
        kinds = [name for name in ("chromium-headless-shell", "chromium") if shutil.which(name)]
        self.assertTrue(kinds)
        for name in kinds:
            result, cases = self.judge("index.html", "--only", "app/start/*", "--only",
                                       "app/login/*", "--browser", name)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertGreater(len(cases), 10)

    def test_a_program_that_is_no_browser(self):
        result, _ = self.judge("index.html", *self.ONE, "--browser", "/bin/true")
        self.assertEqual(result.returncode, 6)
        self.assertIn("does not respond like Chromium", result.stderr)

    def test_no_page(self):
        server, base = serve_pages()
        server.shutdown()
        server.server_close()
        result = assay("--url", base, *self.ONE)
        self.assertEqual(result.returncode, 6)
        self.assertIn("ERR_CONNECTION_REFUSED", result.stderr)

    def test_wrong_use(self):
        for arguments, status, word in [
            ((), 2, "--url"), (("--url", "nonsense"), 2, "not a URL"),
            (("--url", "https://example.org/"), 2, "--allow-host example.org"),
            (("--url", self.base, "--only", "S-03"), 4, "selects no case"),
            (("--scripted", "--defect", "double-tab"), 2, "double-tap"),
            (("--url", self.base, "--defect", "double-tap"), 2, "--scripted"),
            (("--scripted", "--jobs", "0"), 2, "--jobs"),
        ]:
            result = assay(*arguments)
            self.assertEqual(result.returncode, status, (arguments, result.stderr))
            self.assertIn(word, result.stderr)

    def test_a_page_that_never_loads(self):
        profile = pathlib.Path(tempfile.mkdtemp()) / "assay.yaml"
        profile.write_text("assay: 1\napp: {startup: 200ms}\n")
        result, _ = self.judge("never.html", *self.ONE, profile=profile)
        self.assertEqual(result.returncode, 6, result.stderr)
        self.assertIn("did not load", result.stderr)

    def test_a_page_that_spins(self):
        self.page("spin.html", "<body><script>setTimeout(function () { while (true) {} }, 50)</script>")
        result, cases = self.judge("spin.html", *self.ONE)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertEqual(cases[0]["verdict"], "failed")

    def test_a_page_that_crashes(self):
        self.page("crash.html", "<body>still here")
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            process = subprocess.Popen(
                [BINARY, "app", "--url", f"{self.base}/crash.html", "--profile", str(APP / "assay.yaml"),
                 "--only", "app/paywall/callback-without-argument", "--report", f"json={report}"],
                env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
            try:
                killed = set()
                # Whoever shows the page, for as long as there is one.
                while process.poll() is None:
                    for renderer in renderers(process.pid) - killed:
                        if Pages.asked.get("/crash.html", 0) >= 2:
                            killed.add(renderer)
                            try:
                                os.kill(renderer, 9)
                            except ProcessLookupError:
                                pass
                    try:
                        process.wait(0.05)
                    except subprocess.TimeoutExpired:
                        pass
            finally:
                process.kill()
            self.assertTrue(killed)
            self.assertEqual(process.returncode, 1)
            with open(report) as file:
                finding = json.load(file)["cases"][0]["findings"][0]
            self.assertEqual((finding["code"], finding["actual"]), ("E517", "the page crashed"))

    def test_a_page_that_opens_dialogs_and_goes_away(self):
        self.page(
            "dialogs.html",
            "<body><button id=upgrade>u</button><script>alert(1); confirm(2); prompt(3);"
            "setTimeout(function () { location.href = 'http://assay.invalid/'; }, 100);"
            "window.onbeforeunload = function () { return 'stay'; };</script>",
        )
        result, cases = self.judge("dialogs.html", "--only", "app/paywall/double-tap")
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertEqual(cases[0]["findings"][0]["code"], "E502")

    def test_a_page_without_the_elements(self):
        self.page("bare.html", "<body>nothing here")
        result, cases = self.judge("bare.html", "--only", "app/restore/nothing-found")
        self.assertEqual(result.returncode, 5, result.stdout)
        self.assertEqual(cases[0]["findings"][0]["code"], "E902")
        self.assertIn("#restore", cases[0]["findings"][0]["actual"])

    def test_hostile_commands_of_a_page(self):
        self.page(
            "hostile.html",
            "<body><script>['a&b#c%zz', '\\u0000', 'x'.repeat(1 << 20), '\\ud83e\\udd8a://', 'setvault://?key',"
            " '://', ''].forEach(function (text) { window.despia = text; });"
            " [5, null, {}, []].forEach(function (value) { window.despia = value; });"
            " location.href = 'setvault://?key=app_user_id&value=by-location&locked=false';</script>",
        )
        result, cases = self.judge(
            "hostile.html", "--only", "app/bridge/hostile-history/id:s p", "--only", "app/start/vault-hit",
        )
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual({case["verdict"] for case in cases}, {"failed"})
        self.assertIn("by-location", result.stdout)


class TestShim(AppTest):
    def test_a_person_moves_the_phone_on_the_panel(self):
        serving = Serving()
        try:
            despia = serving.urls["despia"]
            Pages.extra["/panel.html"] = (
                f"<body><script src='{despia}/despia/shim.js'></script><pre id=result></pre><script>"
                "function wait(time) { return new Promise(function (done) { setTimeout(done, time); }); }"
                "function press(label) { var root = document.querySelector('[data-assay]').shadowRoot;"
                " var all = Array.from(root.querySelectorAll('button'));"
                " all.filter(function (one) { return one.textContent === label; })[0].click(); }"
                "function say(values) { document.getElementById('result').textContent = JSON.stringify(values); }"
                "window.addEventListener('load', async function () {"
                " if (window.name) { say(Object.assign(JSON.parse(window.name), {after: window.uuid})); return; }"
                " var called = 0, result = null; window.onRevenueCatPurchase = function () { called += 1; };"
                " window.onRevenueCatResult = function (found) { result = found; };"
                " window.despia = 'revenuecat://launchPaywall?external_id=ada&offering=default'; await wait(500);"
                " press('purchase'); await wait(500);"
                " press('go offline'); var offline = await fetch('/index.html').then("
                " function () { return 'online'; }, function (error) { return error.name; });"
                " press('go online'); var online = await fetch('/index.html').then("
                " function (answer) { return answer.status; });"
                " window.name = JSON.stringify({called: called, ok: result && result.ok, before: window.uuid,"
                " offline: offline, online: online, isOnline: navigator.onLine}); press('reinstall'); });"
                "</script>"
            )
            text = dump(self.base + "/panel.html", budget=20000)
            found = re.search(r'<pre id="?result"?>(.*?)</pre>', text, re.S)
            result = json.loads(html.unescape(found.group(1)))
            self.assertEqual(result["called"], 1)
            self.assertIs(result["ok"], True)
            self.assertEqual((result["offline"], result["online"]), ("TypeError", 200))
            self.assertIs(result["isOnline"], True)
            self.assertNotEqual(result["after"], result["before"])
            shown = requests.get(despia + "/device", timeout=30).json()
            self.assertEqual(shown["history"][0]["externalUserId"], "ada")
            self.assertIs(shown["paywall"]["open"], False)
        finally:
            self.assertEqual(serving.stop()[0], 0)

    def test_a_page_that_loads_the_shim_runs_as_on_a_phone(self):
        serving = Serving()
        try:
            despia = serving.urls["despia"]
            script = requests.get(despia + "/despia/shim.js", timeout=30)
            self.assertEqual(script.headers["content-type"], "text/javascript; charset=utf-8")
            Pages.extra["/phone.html"] = (
                f"<body><script src='{despia}/despia/shim.js'></script>"
                "<script src='despia-double.js'></script><pre id=result></pre><script>"
                "(async function () { var send = despia;"
                " var absent = await send('readvault://?key=who', ['who']);"
                " await send('setvault://?key=who&value=ada&locked=false');"
                " var found = await send('readvault://?key=who', ['who']);"
                " document.getElementById('result').textContent = JSON.stringify({agent:"
                " navigator.userAgent, uuid: send.uuid, getter: typeof window.despia, absent: absent,"
                " found: found, os: window.native_os, panel: !!document.querySelector('[data-assay]')});"
                "})();</script>"
            )
            # Virtual time stands still while a request is open, so that the fake is waited for.
            text = dump(self.base + "/phone.html", budget=20000)
            found = re.search(r'<pre id="?result"?>(.*?)</pre>', text, re.S)
            result = json.loads(html.unescape(found.group(1)))
            self.assertIn("despia-iphone", result["agent"])
            self.assertEqual(result["absent"], {"who": None})
            self.assertEqual(result["found"], {"who": "ada"})
            self.assertEqual(result["os"], "ios")
            self.assertIs(result["panel"], True)
            shown = requests.get(despia + "/device", timeout=30).json()
            self.assertEqual(shown["installUuid"], result["uuid"])
            self.assertEqual(shown["vaultLocal"]["who"]["value"], "ada")
            commands = [entry["text"] for entry in requests.get(despia + "/log", timeout=30).json()["records"]
                        if entry["kind"] == "bridge"]
            self.assertEqual(commands[0], "readvault://?key=who")
        finally:
            self.assertEqual(serving.stop()[0], 0)


if __name__ == "__main__":
    unittest.main()
