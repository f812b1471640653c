"""The JSON Schemas of contracts and profiles, as an editor would use them.

They are made from the grammar that reads the files; here a validator that shares no code with it
says that they are schemas, that they take every file that ships, and that they refuse mistakes.
"""

import json
import pathlib
import re
import unittest

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Core(yaml.SafeLoader):
    """YAML 1.2's core schema: `on` and `2026-11-21` are texts."""


Core.yaml_implicit_resolvers = {
    letter: [
        (tag, form)
        for tag, form in resolvers
        if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")
    ]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Core.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))


def schema(name):
    text = (ROOT / "contracts" / f"{name}.schema.json").read_text()
    return jsonschema.Draft202012Validator(json.loads(text))


def errors(validator, value):
    return [f"{list(error.path)}: {error.message[:200]}" for error in validator.iter_errors(value)]


MINIMAL = """
contract: a/b
title: T
clause: S-03
source: a test
steps:
  - deliver: purchase
    event: {type: INITIAL_PURCHASE, user: ada}
expect: {status: 200}
"""


class SchemaTests(unittest.TestCase):
    def test_both_are_schemas(self):
        for name in ("contract", "profile"):
            jsonschema.Draft202012Validator.check_schema(schema(name).schema)

    def test_every_contract_and_golden_that_ships_is_taken(self):
        validator = schema("contract")
        files = [
            path
            for folder in ("contracts", "recordings")
            for path in sorted((ROOT / folder).rglob("*.yaml"))
            if path.parent != ROOT / "contracts/clauses"
        ]
        self.assertGreater(len(files), 300)
        for path in files:
            with self.subTest(path=path.relative_to(ROOT)):
                self.assertEqual(errors(validator, yaml.load(path.read_text(), Core)), [])

    def test_a_profile_is_taken(self):
        text = (ROOT / "Tests/Acceptance/App/assay.yaml").read_text()
        self.assertEqual(errors(schema("profile"), yaml.load(text, Core)), [])

    def test_mistakes_are_refused(self):
        validator = schema("contract")
        self.assertEqual(errors(validator, yaml.load(MINIMAL, Core)), [])
        for right, wrong in [
            ("title: T\n", ""),
            ("clause: S-03", "clause: Q-03"),
            ("status: 200", "response: 200"),
            ("status: 200", "status: 2000"),
            ("status: 200", "status: refussed"),
            ("deliver: purchase", "delivr: purchase"),
            ("INITIAL_PURCHASE", "INITIAL_PURCHSE"),
            ("user: ada", "user: [ada]"),
        ]:
            with self.subTest(wrong=wrong):
                self.assertIn(right, MINIMAL)
                value = yaml.load(MINIMAL.replace(right, wrong), Core)
                self.assertNotEqual(errors(validator, value), [])


if __name__ == "__main__":
    unittest.main()
