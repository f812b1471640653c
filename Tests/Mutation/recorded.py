"""What goldens notice: single faults in the very backend that was recorded.

    .build/acceptance/bin/python Tests/Mutation/recorded.py              all mutants of what was recorded
    .build/acceptance/bin/python Tests/Mutation/recorded.py --sample 3   every third
    .build/acceptance/bin/python Tests/Mutation/recorded.py --mutant ID  one, with all that assay says
    .build/acceptance/bin/python Tests/Mutation/recorded.py --report     the share, the survivors

Sessions are recorded in front of the backend `events`, distilled, and played on each of its mutants whose changed
line ran while they were recorded. A golden that is red on the unchanged backend ends the campaign: it
would accuse a right one. Of what survives, the sessions are played again in front of the mutant: where
every answer and every push is the one that was recorded, the fault does not touch what was recorded.
That is judged here, without Assay's own comparison. Not a part of CI.
"""

import argparse
import datetime
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import requests

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Acceptance")]

import backends  # noqa: E402
import python_mutants  # noqa: E402
from sessions import Session  # noqa: E402
from serving import BINARY  # noqa: E402
from test_recording import Recorder, assay  # noqa: E402

EVENTS = backends.ROOT / "Tests" / "Backends" / "events"
PROGRAM = EVENTS / "backend.py"
FOLDER = backends.STATE / "recorded"

# Runs the backend and writes down which of its lines ran, when it is told to end.
TRACED = """
import os, runpy, signal, sys, threading
source, places, sys.argv = sys.argv[1], sys.argv[2], sys.argv[1:2] + sys.argv[3:]
lines = set()
def trace(frame, event, _):
    if frame.f_code.co_filename != source:
        return None
    lines.add(frame.f_lineno)
    return trace
def end(*_):
    with open(places, "a") as file:
        file.write("".join(f"{line}\\n" for line in sorted(lines)))
    os._exit(0)
signal.signal(signal.SIGTERM, end)
threading.settrace(trace)
sys.settrace(trace)
runpy.run_path(source, run_name="__main__")
"""


class Shop(Session):
    def register(self, user, device="6C6D4F7A-5B2B-4A0B-9C53-0B1B5B0D7A11", source="new"):
        return self.app("POST", "/register", {
            "id": user, "device": device, "platform": "ios", "source": source,
        })

    def subscription(self, user, expect=200):
        return self.app("GET", f"/subscriptions/{user}", expect=expect)

    def user(self, user, expect=200):
        return self.app("GET", f"/users/{user}", expect=expect)


def purchase(s):
    s.user("maria-1", expect=404)
    s.register("maria-1")
    s.subscription("maria-1", expect=404)
    s.store("purchase", "maria-1", environment="PRODUCTION")
    s.pushed()
    s.subscription("maria-1")
    s.user("maria-1")


def then(*actions, pushes=None):
    def play(s):
        s.register("maria-1")
        s.store("purchase", "maria-1", environment="PRODUCTION")
        s.pushed()
        for number, (action, more) in enumerate(actions):
            s.store(action, "maria-1", **more)
            s.pushed((pushes or [2 + index for index in range(len(actions))])[number])
            s.subscription("maria-1")
        s.user("maria-1")
    return play


def unknown_user(s):
    s.store("purchase", "never-seen-7", environment="PRODUCTION")
    s.pushed()
    s.subscription("never-seen-7")
    s.user("never-seen-7")
    s.register("never-seen-7", source="returning")
    s.user("never-seen-7")


def transfer(s):
    s.register("maria-1")
    s.register("nora-2", device="0A0E2E0C-5D0A-4F7E-8C3F-2D1C1B0A9F88")
    s.store("purchase", "maria-1", environment="PRODUCTION")
    s.pushed()
    s.control("/store/transfer", {"from": "maria-1", "user": "nora-2", "settle": True})
    s.subscription("maria-1", expect=404)
    s.subscription("nora-2")


def twice(s):
    s.register("maria-1")
    event = s.store("purchase", "maria-1", environment="PRODUCTION")["events"][0]["id"]
    s.pushed()
    s.control(f"/deliveries/{event}/resend")
    s.subscription("maria-1")


def sandbox(s):
    s.register("maria-1")
    s.store("purchase", "maria-1", environment="SANDBOX")
    s.subscription("maria-1", expect=404)


def push_refused(s):
    s.control("/faults/onesignal", {"responses": [503, "ok"]}, method="PUT")
    s.register("maria-1")
    s.store("purchase", "maria-1", environment="PRODUCTION")
    s.pushed()
    s.subscription("maria-1")


def refused(s):
    body = {"event": {"type": "RENEWAL", "id": "E-1", "app_user_id": "maria-1"}}
    s.register("maria-1")
    s.app("POST", "/hooks/revenuecat", body, expect=401, headers={"Authorization": "wrong"})
    s.app("POST", "/register", {"id": "null", "device": "D-1", "platform": "ios", "source": "new"},
          expect=400)
    s.app("POST", "/register", [1], expect=400)
    s.app("POST", "/nowhere", {}, expect=404)
    s.subscription("maria-1", expect=404)


SESSIONS = {
    "purchase": purchase,
    "renewal": then(("renew", {})),
    "cancelled-and-back": then(("cancel", {}), ("uncancel", {})),
    "refund": then(("refund", {})),
    "billing-issue": then(("billing-issue", {"grace": "16d"}), ("renew", {})),
    "cancelled-and-over": then(("cancel", {}), ("expire", {})),
    "unknown-user": unknown_user,
    "transfer": transfer,
    "delivered-twice": twice,
    "sandbox": sandbox,
    "push-refused": push_refused,
    "refused": refused,
}


def profile(command):
    """The campaign's own profile with another way to start the backend."""
    text = (EVENTS / "assay.yaml").read_text()
    lines = [f"  command: {command}" if line.startswith("  command:") else line
             for line in text.splitlines()]
    return "\n".join(lines) + "\n"


def record():
    """Goldens of every session, and the lines of the backend that ran in them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "traced.py").write_text(TRACED)
    places = FOLDER / "lines.txt"
    python = sys.executable
    traced = (f"exec '{python}' '{FOLDER}/traced.py' '{PROGRAM}' '{places}' "
              "{{port}} '{{data}}/shop.db'")
    plain = f"exec '{python}' '{PROGRAM}' {{{{port}}}} '{{{{data}}}}/shop.db'"
    (FOLDER / "traced.yaml").write_text(profile(traced))
    (FOLDER / "plain.yaml").write_text(profile(plain))
    for name, play in SESSIONS.items():
        target = "recordings/" + name
        if (FOLDER / target / "golden.yaml").exists():
            continue
        shutil.rmtree(FOLDER / target, ignore_errors=True)
        recorder = Recorder(str(FOLDER), target, "--profile", "traced.yaml")
        try:
            play(Shop(recorder))
        finally:
            status = recorder.stop()
        assert status == 0, (name, status)
        print(name, assay(str(FOLDER), "distill", "--accept", "--profile", "plain.yaml", target)
              .splitlines()[-1], flush=True)
    assay(str(FOLDER), "verify", "--profile", "plain.yaml", "recordings", "--seed", "right")
    return {int(line) for line in places.read_text().split()}


def judge(mutant, is_loud=False):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "backend.py")
        path.write_text(mutant.text)
        command = f"exec '{sys.executable}' '{path}' {{{{port}}}} '{{{{data}}}}/shop.db'"
        pathlib.Path(folder, "assay.yaml").write_text(profile(command))
        words = [BINARY, "verify", "--profile", f"{folder}/assay.yaml", "recordings", "--seed",
                 "campaign", "--max-time", "2m", "--report", f"json={folder}/report.json"]
        pipe = None if is_loud else subprocess.DEVNULL
        run = subprocess.run(words, cwd=FOLDER, check=False, stdout=pipe, stderr=pipe, timeout=300)
        cases = []
        if run.returncode == 1:
            report = json.loads(pathlib.Path(folder, "report.json").read_text())
            cases = [case["id"] for case in report["cases"] if case["verdict"] == "failed"]
    verdict = {0: "survived", 1: "caught", 5: "inconclusive", 2: "broken", 6: "broken"}
    return {"id": mutant.id, "verdict": verdict[run.returncode], "cases": cases[:3]}


def plain(value, began):
    """A value without what differs by itself: ids and tokens of one session, the second it ran in."""
    if isinstance(value, dict):
        return {key: plain(member, began) for key, member in value.items()}
    if isinstance(value, list):
        return [plain(element, began) for element in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 1e11:
        return f"time {round((value - began) / 60_000)}"
    if isinstance(value, str):
        return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|‹[^›]*›", "id", value)
    return value


def transcript(folder):
    """Every answer of the backend and every push, in their order by what asked for them."""
    lines = [json.loads(line) for line in
             pathlib.Path(folder, "recording.ndjson").read_text().splitlines()]
    began = lines[0]["began"].replace("Z", "+00:00")
    began = datetime.datetime.fromisoformat(began).timestamp() * 1000
    begun = {line["begin"]: line for line in lines if "begin" in line}
    answers, pushes = [], []
    for line in lines:
        exchange = begun.get(line.get("end"))
        if exchange is None:
            continue
        if exchange["to"] == "backend":
            answer = line.get("response") or {}
            asked = f"{exchange['request']['method']} {exchange['request']['target']}"
            answers.append([asked, answer.get("status"), plain(answer.get("body"), began)])
        pushes += [[effect["to"], effect["content"]] for effect in line.get("effects", [])]
    return answers, sorted(pushes, key=json.dumps)


def touches(mutant):
    """Whether the sessions themselves go another way in front of the mutant."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "backend.py")
        path.write_text(mutant.text)
        command = f"exec '{sys.executable}' '{path}' {{{{port}}}} '{{{{data}}}}/shop.db'"
        pathlib.Path(folder, "assay.yaml").write_text(profile(command))
        for name, play in SESSIONS.items():
            recorder = Recorder(folder, name)
            try:
                play(Shop(recorder))
            except (AssertionError, KeyError, requests.RequestException):
                return name
            finally:
                recorder.stop()
            if transcript(f"{folder}/{name}") != transcript(FOLDER / "recordings" / name):
                return name
    return None


def report(tried, every):
    judged = [tried[mutant.id] for mutant in every if mutant.id in tried]
    caught = [result for result in judged if result["verdict"] in ("caught", "broken")]
    missed = [m for m in every if m.id in tried and tried[m.id].get("touches")]
    for mutant in missed:
        print(f"survived  {mutant.id}  {mutant.line}  {mutant.function}, and changes "
              f"{tried[mutant.id]['touches']}\n  - {mutant.before}\n  + {mutant.after}")
    visible = len(caught) + len(missed)
    share = 100 * len(caught) / visible if visible else 0
    print(f"{len(caught)} of {visible} that touch what was recorded ({share:.1f} %), "
          f"{len(judged) - visible} that do not, {len(every)} in all")
    return 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--mutant")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    lines = record()
    every = [mutant for mutant in python_mutants.mutants(PROGRAM.read_text())
             if mutant.line in lines]
    state = FOLDER / "results.jsonl"
    tried = {}
    if state.exists():
        results = map(json.loads, state.read_text().splitlines())
        tried = {line["id"]: line for line in results
                 if line["verdict"] in ("caught", "broken") or "touches" in line}
    if options.mutant:
        chosen = [mutant for mutant in every if mutant.id == options.mutant]
        print(judge(chosen[0], is_loud=True) if chosen else f"no mutant {options.mutant} ran")
        return 0
    if not options.report:
        chosen = [m for index, m in enumerate(every)
                  if index % options.sample == 0 and m.id not in tried]
        for number, mutant in enumerate(chosen, 1):
            tried[mutant.id] = judge(mutant)
            if tried[mutant.id]["verdict"] in ("survived", "inconclusive"):
                tried[mutant.id]["touches"] = touches(mutant)
            with state.open("a") as file:
                file.write(json.dumps(tried[mutant.id]) + "\n")
            print(f"{number}/{len(chosen)}  {mutant.id}  {tried[mutant.id]['verdict']:10} "
                  f"{mutant.line}  {' '.join(tried[mutant.id]['cases'])}", flush=True)
    return report(tried, every)


if __name__ == "__main__":
    sys.exit(main())
