import ContractFiles
import Contracts
import Exploration
import Testing
import Values

/// What is asked of an app by what happened to it.
@Suite("Phone histories")
struct PhoneScriptTests {
    /// The steps of a contract, and what must, or must not, be asked behind them.
    struct ScriptExample: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let steps: String
        var asked: [String] = []
        var open: [String] = []
    }

    private static let scriptExamples = [
        ScriptExample(
            testDescription: "who bought sees it",
            steps: "- app: launch\n- app: purchase",
            asked: ["C-23 access true", "C-16 revenuecat 1", "C-20 loading false"],
            open: ["C-23 access false", "C-31 id changed", "C-02 getpurchasehistory 0"]
        ),
        ScriptExample(
            testDescription: "what the backend never heard of unlocks nothing",
            steps: "- app: launch\n- backend: {learns-purchases: false}\n- app: purchase",
            asked: ["C-23 access false", "C-16 revenuecat 1"]
        ),
        ScriptExample(
            testDescription: "a callback unlocks nothing",
            steps: "- app: launch\n- app: callback",
            asked: ["C-23 access false", "C-24 called-back"]
        ),
        ScriptExample(
            testDescription: "a new page need not know at once what was bought",
            steps: "- app: launch\n- app: purchase\n- app: reload",
            open: ["C-23 access true", "C-23 access false"]
        ),
        ScriptExample(
            testDescription: "what one unlocked is not the next one's",
            steps: "- app: launch\n- app: purchase\n- app: logout",
            asked: ["C-30 access false", "C-30 id changed", "C-30 unlocks-first"]
        ),
        ScriptExample(
            testDescription: "with the bridge disturbed a logout may be ignored",
            steps: "- app: launch\n- app: purchase\n"
                + "- bridge: {drop: {command: readvault, key: id}}\n- app: logout",
            open: ["C-30 access false", "C-30 id changed", "C-30 unlocks-first"]
        ),
        ScriptExample(
            testDescription: "two sheets one after the other",
            steps: "- app: launch\n- app: upgrade\n- phone: cancel\n- app: upgrade-twice",
            asked: ["C-16 revenuecat 2", "C-19 single-paywall"]
        ),
        ScriptExample(
            testDescription: "without results a page does not know that its sheet is closed",
            steps: "- bridge: {result-channel: false}\n- app: launch\n- app: upgrade\n"
                + "- phone: cancel\n- app: upgrade",
            open: ["C-16 revenuecat 2", "C-16 revenuecat 1"]
        ),
        ScriptExample(
            testDescription: "where registrations fail nobody can tell what opens",
            steps: "- backend: {register: [500, ok]}\n- app: launch\n- app: upgrade",
            asked: ["C-16 registered-before-paywall"],
            open: ["C-16 revenuecat 1"]
        ),
        ScriptExample(
            testDescription: "the vault knows, and nobody else is asked",
            steps:
                "- phone: {vault: {id: \"{{user.ada}}\"}}\n- app: launch\n- app: kill\n- app: launch",
            asked: ["C-02 getpurchasehistory 0", "C-05 id ada", "C-08 same-id"]
        ),
        ScriptExample(
            testDescription: "of several purchases the latest active one names the user",
            steps: "- phone: {history: [{user: ben, active: false, purchased: -1d}, "
                + "{user: ada, purchased: -20d}, {user: cleo, purchased: -21d}]}\n- app: launch",
            asked: ["C-06 id ada", "C-07 locked-first"]
        ),
        ScriptExample(
            testDescription: "of those that ended the latest",
            steps: "- phone: {history: [{user: ben, active: false, purchased: -1d}, "
                + "{user: ada, active: false, purchased: -20d}]}\n- app: launch",
            asked: ["C-06 id ben"]
        ),
        ScriptExample(
            testDescription: "a purchase of the sandbox names nobody",
            steps: "- phone: {history: [{user: ben, environment: sandbox}]}\n- app: launch",
            asked: ["C-06 id not ben"]
        ),
        ScriptExample(
            testDescription: "two of one moment name either",
            steps: "- phone: {history: [{user: ben, purchased: -1d}, "
                + "{user: ada, purchased: -1d}]}\n- app: launch",
            open: ["C-06 id ben", "C-06 id ada"]
        ),
        ScriptExample(
            testDescription: "the button finds another person, who is locked",
            steps: "- phone: {vault: {id: \"{{user.ada}}\"}, history: [{user: ben}]}\n"
                + "- app: launch\n- app: restore",
            asked: ["C-06 id ben", "C-07 setvault 1"]
        ),
        ScriptExample(
            testDescription: "who is signed in is not replaced by the button",
            steps: "- phone: {vault: {id: \"{{user.ada}}\"}, history: [{user: ben}]}\n"
                + "- app: launch\n- backend: {login: claimed}\n- app: login\n  account: acc\n"
                + "- app: restore",
            asked: ["C-28 id ada"],
            open: ["C-07 setvault 1"]
        ),
        ScriptExample(
            testDescription: "a restore that finds nothing changes nothing",
            steps: "- phone: {vault: {id: \"{{user.ada}}\"}}\n- app: launch\n- app: restore",
            asked: ["C-26 unchanged", "C-05 id ada"]
        ),
        ScriptExample(
            testDescription: "a login that names nobody changes nothing",
            steps: "- phone: {vault: {id: \"{{user.ada}}\"}}\n- app: launch\n"
                + "- backend: {login: null-id}\n- app: login\n  account: acc",
            asked: ["C-27 unchanged", "C-05 id ada"]
        ),
        ScriptExample(
            testDescription: "what is locked is not replaced by a login",
            steps: "- phone: {vault: {id: \"{{user.ada}}\", lock: \"true\"}}\n- app: launch\n"
                + "- backend: {login: {recovered: ben}}\n- app: login\n  account: acc",
            asked: ["C-05 id ada"]
        ),
        ScriptExample(
            testDescription: "a login that was cut short is finished at the next launch",
            steps: "- phone: {vault: {id: \"{{user.ada}}\"}}\n- app: launch\n"
                + "- backend: {login: {recovered: ben}}\n"
                + "- app: login\n  account: acc\n  killed-at: id-written\n- app: launch",
            asked: ["C-28 id ben"]
        ),
        ScriptExample(
            testDescription: "who has logged out does not come back",
            steps: "- phone: {history: [{active: false}]}\n- app: launch\n"
                + "- backend: {login: claimed}\n- app: login\n  account: acc\n- app: logout\n"
                + "- app: kill\n- phone: lose-id\n- app: launch",
            asked: ["C-31 id changed"]
        ),
        ScriptExample(
            testDescription: "silence is no end of a subscription",
            steps: "- bridge: {history: silent}\n- app: launch\n- app: status",
            asked: ["C-25 status not none"]
        ),
        ScriptExample(
            testDescription: "what is active is shown with its product",
            steps: "- phone: {history: [{user: ada, product: premium_yearly}]}\n- app: launch\n"
                + "- app: status",
            asked: ["C-25 status active product premium_yearly"]
        ),
        ScriptExample(
            testDescription: "a browser hears nothing",
            steps: "- phone: {kind: browser}\n- app: launch\n- app: upgrade",
            asked: ["C-01 silent", "C-20 loading false"],
            open: ["C-16 revenuecat 1", "C-11 one-identity"]
        ),
        ScriptExample(
            testDescription: "attempts that fail for ever come at growing distances",
            steps:
                "- backend: {register: 500, forever: true}\n- app: launch\n- app: wait\n  for: 6s",
            asked: ["C-13 backs-off", "C-20 loading false"],
            open: ["C-11 one-identity", "C-12 registers-honestly"]
        ),
        ScriptExample(
            testDescription: "nobody waits long enough to see distances grow",
            steps:
                "- backend: {register: 500, forever: true}\n- app: launch\n- app: wait\n  for: 1s",
            open: ["C-13 backs-off"]
        ),
        ScriptExample(
            testDescription: "two pages that start at once are one user",
            steps: "- app: launch-twice",
            asked: ["C-08 same-id"],
            open: ["C-13 registers-once"]
        ),
        ScriptExample(
            testDescription: "without an install id no registration is whole",
            steps: "- phone: {install-id: missing}\n- app: launch",
            asked: ["C-15 steady-device", "C-20 loading false"],
            open: ["C-14 whole-registrations"]
        ),
        ScriptExample(
            testDescription: "a native side that decodes nothing has another id than the backend",
            steps: "- bridge: {vault-decode: raw}\n- app: launch\n"
                + "- backend: {login: {recovered: ben}}\n- app: login\n  account: acc",
            asked: ["C-21 encoded", "C-28 id ben"],
            open: ["C-11 one-identity"]
        ),
    ]

    @Test("operations determine the expectations", arguments: scriptExamples)
    func asks(example: ScriptExample) throws {
        let ids = example.steps.contains("raw") ? "given:\n- name: {ben: \"s p\"}\n" : ""
        let text =
            "contract: l\ntitle: t\nclause: C-11\nsource: s\n\(ids)steps:\n\(example.steps)\n"
            + "expect:\n  app:\n    invariants: [unbroken]\n"
        let contract = try #require(
            try ContractParser.parse(text, path: "l.yaml", id: "l").get().first
        )
        let history = PhoneScript.history(of: contract)
        let asked = Set(
            try #require(PhoneScript(history)).singleExpectationContracts.map(Self.words)
        )
        for word in example.asked { #expect(asked.contains(word), "\(asked.sorted())") }
        for word in example.open { #expect(!asked.contains(word), "\(word)") }
    }

    @Test(
        "an impossible phone history is invalid",
        arguments: [
            "- app: launch\n- phone: complete",
            "- app: launch-twice\n- app: logout",
            "- phone: {kind: browser}\n- app: launch\n- app: purchase",
            // Whether a sheet came while the identity changed, nobody knows.
            "- app: launch\n- app: logout\n  at-once: true\n- app: upgrade\n- phone: complete",
            "- app: launch\n- backend: {login: claimed}\n- app: login\n  account: a\n"
                + "  killed-at: id-written",
            "- app: launch\n- phone: lose-id\n- app: launch",
            "- app: launch\n- app: kill",
            "- bridge: {drop: {command: setvault, key: id, times: 2}}\n- app: launch\n"
                + "- bridge: {drop: {command: setvault, key: id, times: 2}}\n- app: logout",
        ]
    )
    func isNoHistory(steps: String) throws {
        let text =
            "contract: l\ntitle: t\nclause: C-11\nsource: s\nsteps:\n\(steps)\n"
            + "expect:\n  app:\n    invariants: [unbroken]\n"
        let contract = try #require(
            try ContractParser.parse(text, path: "l.yaml", id: "l").get().first
        )
        #expect(PhoneScript(PhoneHistory(contract.phoneSteps)) == nil)
    }

    private static func words(_ contract: Contract) -> String {
        var words = [contract.clause]
        guard let app = contract.expectation.app else { return contract.clause }
        words += app.requiredInvariants.map(\.name.rawValue)
        for screen in app.screens {
            let expectedValue =
                switch screen.expectedValue {
                case .string(let text): text
                default: screen.expectedValue.text
                }
            words.append(
                "\(screen.element.rawValue) \(screen.isNegated ? "not " : "")\(expectedValue)"
            )
        }
        words += app.commands.map { "\($0.name) \($0.countMin)" }
        for identity in app.identities {
            switch identity.expectedValue {
            case .user(let user): words.append("id \(user)")
            case .changed: words.append("id changed")
            case .notUser(let user): words.append("id not \(user)")
            case .sameAsPhone, .differentFromPhone: words.append("id ?")
            }
        }
        return words.joined(separator: " ")
    }
}
