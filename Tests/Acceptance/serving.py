"""Starts `assay serve` on free ports for a test and ends it again."""

import json
import os
import pathlib
import subprocess
import threading

import requests

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("ASSAY_BINARY", str(ROOT / ".build" / "debug" / "assay"))
NAMES = ["control", "revenuecat", "onesignal", "firebase", "purchasely", "despia"]


class Serving:
    def __init__(self, *arguments, environment=()):
        names = NAMES + (["intercept"] if "--intercept" in arguments else [])
        listen = [part for name in names for part in ("--listen", f"{name}=127.0.0.1:0")]
        variables = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")}
        variables.update(environment)
        self.process = subprocess.Popen(
            [BINARY, "serve", "--quiet", *listen, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=variables,
        )
        # A program that never gets ready must not hang the suite.
        guard = threading.Timer(60, self.process.kill)
        guard.start()
        self.urls = {}
        for line in self.process.stdout:
            name, url = line.split()[:2]
            self.urls[name] = url
            if len(self.urls) == len(names):
                break
        guard.cancel()
        if len(self.urls) != len(names):
            raise RuntimeError("assay serve did not start: " + self.process.stderr.read())

    def control(self, method, path, body=None, expect=200):
        answer = requests.request(
            method, self.urls["control"] + path, json=body, timeout=30
        )
        assert answer.status_code == expect, (method, path, answer.status_code, answer.text)
        return answer.json()

    def settings(self, provider, **switches):
        return self.control("PATCH", "/settings", {provider: switches})

    def advance(self, by):
        return self.control("POST", "/clock/advance", {"by": by})

    def stop(self):
        self.process.terminate()
        status = self.process.wait(timeout=30)
        errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return status, errors


def pretty(value):
    return json.dumps(value, indent=1)
