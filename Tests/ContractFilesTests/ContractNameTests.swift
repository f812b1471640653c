import ContractFiles
import Contracts
import Grammar
import Testing

@Suite("Names")
struct ContractNameTests {
    /// What is wrong with a contract of these parts.
    private func errors(_ given: String, _ steps: String, _ expect: String) -> [String] {
        let text = """
            contract: a/b
            title: T
            clause: S-03
            source: a test
            \(given)
            steps:
            \(steps)
            expect:
              status: 200
              \(expect)
            """
        switch ContractParser.parse(text, path: "a/b.yaml", id: "a/b") {
        case .success: return []
        case .failure(let errors): return errors.errors.map { "\($0)" }
        }
    }

    @Test(
        "an expectation about the effects of steps compares with the given steps only",
        arguments: ["unlike: ben", "added: {at-most: 1}", "added-like: ben"]
    )
    func impliesBaseline(key: String) {
        let given = Self.registered + "\n  - register: ben"
        let effects = "effects: [{onesignal: notification, to: ada, \(key)}]"
        let text = """
            contract: a/b
            title: T
            clause: S-03
            source: a test
            \(given)
            steps:
            \(Self.event)
            expect:
              \(effects)
            """
        guard
            case .success(let contracts) = ContractParser.parse(text, path: "a/b.yaml", id: "a/b")
        else {
            Issue.record("the contract cannot be read")
            return
        }
        #expect(contracts.map(\.expectation.relation) == [.before])
        #expect(contracts.map(\.expectation.compared) == [[]])
        #expect(errors(given, Self.event, "like: before\n  \(effects)").isEmpty)
        let conflict = errors(given, Self.event, "like: once\n  \(effects)")
        #expect(conflict.count == 1 && conflict[0].contains("compare with 'like: before' only"))
    }

    private static let registered = "given:\n  - register: ada"
    private static let event = "  - deliver: p\n    event: {type: RENEWAL, user: ada}"

    @Test func `an event for a misspelt user is an error with its location and a suggestion`() {
        let step = "  - deliver: p\n    event: {type: RENEWAL, user: adda}"
        let state = "state: {ada: {access: true}}"
        #expect(
            errors(Self.registered, step, state) == [
                """
                a/b.yaml:9:34: error: unknown user 'adda'
                9 |     event: {type: RENEWAL, user: adda}
                  |                                  ^^^^
                Did you mean 'ada'? Known names: ada. If the name is correct, add\
                 'unknown-users: [adda]'.
                """
            ]
        )
        #expect(errors("unknown-users: [adda]\n" + Self.registered, step, state).isEmpty)
    }

    @Test(
        "an unknown name is an error at its location",
        arguments: [
            // An expectation makes nobody known.
            (event, "state: {bob: {access: true}}", "12:11", "unknown user 'bob'"),
            (event, "state: {ada|ben: {access: true}}", "12:11", "unknown user 'ben'"),
            (event, "forgets: [adda]", "12:13", "Did you mean 'ada'?"),
            (event, "effects: [{onesignal: tags, to: ben}]", "12:35", "user 'ben'"),
            (event, "effects: [{onesignal: tags, unlike: ben}]", "12:39", "user 'ben'"),
            ("  - call: c\n    route: login\n    user: ada", "ids: {c: ben}", "13:12", "'ben'"),
            ("  - app: launch", "app: {id: {phone: ben}}", "11:21", "user 'ben'"),
            ("  - app: launch", "app: {id: {phone: {not: ben}}}", "11:27", "user 'ben'"),
            // A step's name is one when it is nearly another's.
            ("  - store: renew\n    user: Ada", "", "9:11", "Did you mean 'ada'?"),
            ("  - revoke: adaa", "", "8:13", "Did you mean 'ada'?"),
            (
                "  - deliver: p\n    purchasely: {name: ACTIVATE, user: aad}", "", "9:40",
                "unknown user 'aad'"
            ),
            (
                "  - deliver: p\n    event: {type: TRANSFER, from: ada, to: adb}", "", "9:44",
                "Did you mean 'ada'?"
            ),
            // Phones and accounts have to be known.
            ("  - app: launch\n    on: phnoe", "", "9:9", "Did you mean 'phone'?"),
            ("  - app: launch", "app: {id: {phon: ada}}", "11:14", "Did you mean 'phone'?"),
            ("  - app: launch", "app: {id: {phone: {same-as: twin}}}", "11:31", "'twin'"),
            (
                "  - account: home\n  - call: c\n    route: login\n    account: hom", "", "11:14",
                "Did you mean 'home'?"
            ),
            (
                "  - call: c\n    route: login\n    account: home", "", "10:14",
                "add 'unknown-users: [home]'"
            ),
            // What is closed is closed.
            (
                "  - deliver: p\n    event: {type: CANCELLATION, user: ada, reason: UNSUBSCRIB}",
                "",
                "9:52", "Did you mean 'UNSUBSCRIBE'?"
            ),
            (
                "  - deliver: p\n    event: {type: BILLING_ISSUE, user: ada, reason: UNKNOWN}", "",
                "9:53", "has no reason"
            ),
            (event + "\n  - deliver: q\n    repeats: pp", "", "11:14", "Did you mean 'p'?"),
        ]
    )
    func isAnError(steps: String, expectation: String, place: String, part: String) {
        let found = errors(Self.registered, steps, expectation)
        #expect(found.count == 1, "\(found)")
        #expect(found.allSatisfy { $0.hasPrefix("a/b.yaml:\(place): ") }, "\(found)")
        #expect(found.allSatisfy { $0.contains(part) && $0.contains("^") }, "\(found)")
    }

    @Test(
        "a valid name is not an error",
        arguments: [
            // Nobody is registered: the safety net.
            ("", "  - deliver: p\n    event: {type: RENEWAL, user: ghost}", "state: {ghost: {}}"),
            // Short names that differ by more than a slip.
            (registered, "  - deliver: p\n    event: {type: RENEWAL, user: eve}", ""),
            (
                "given:\n  - register: bob",
                "  - deliver: p\n    event: {type: RENEWAL, user: ben}", ""
            ),
            (registered, "  - deliver: p\n    event: {type: TRANSFER, from: ada, to: bob}", ""),
            // Numbers count people.
            (
                "given:\n  - register: user1",
                "  - deliver: p\n    event: {type: RENEWAL, user: user2}", ""
            ),
            // What is registered is not misspelt.
            (
                "given:\n  - register: ada\n  - register: adda", event,
                "state: {adda: {access: false}}"
            ),
            (
                registered,
                "  - deliver: p\n    event: {type: CANCELLATION, user: ada, reason: FUTURE_REASON}",
                ""
            ),
            ("unknown-users: [home]", "  - call: c\n    route: login\n    account: home", ""),
            ("", "  - app: launch\n    as: guest\n    on: tablet", "app: {id: {tablet: guest}}"),
        ]
    )
    func isNoError(given: String, steps: String, expectation: String) {
        #expect(errors(given, steps, expectation) == [])
    }

    @Test func `of two similar names the more frequent one is correct`() {
        let step = """
              - deliver: p
                event: {type: RENEWAL, user: adda}
              - deliver: q
                event: {type: RENEWAL, user: ada}
              - deliver: r
                event: {type: RENEWAL, user: ada}
            """
        let found = errors("", step, "")
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("a/b.yaml:8:34: error: unknown user 'adda'") == true)
    }

    @Test(
        "no written key is silently dropped",
        arguments: [
            ("  - name: {ada: [x]}", "expected a string"),
            ("  - name: {}", "expected one user and one ID"),
            ("  - name: {ada: x, ben: y}", "expected one user and one ID, found 2 users"),
            ("  - call: c\n    route: register\n    with: {id: [x]}", "expected a string"),
            ("  - call: c\n    route: protected\n    token: {raw: [x]}", "expected a string"),
        ]
    )
    func isNotDropped(steps: String, part: String) {
        let found = errors(Self.registered, steps, "")
        #expect(found.contains { $0.contains(part) && $0.contains("^") }, "\(found)")
    }

    @Test func `unknown users are written as they are read`() throws {
        let text = """
            contract: a/b
            title: T
            clause: S-03
            source: a test
            unknown-users: [adda, home]

            steps:
              - deliver: p
                event: {type: RENEWAL, user: adda}
            expect:
              status: 200
            """
        let read = try ContractParser.parse(text, path: "a/b.yaml", id: "a/b").get()
        #expect(read.map(\.unknownUsers) == [["adda", "home"]])
        let written = ContractWriter.text(try #require(read.first), id: "a/b")
        let again = try ContractParser.parse(written, path: "a/b.yaml", id: "a/b").get()
        #expect(again.map(\.unknownUsers) == [["adda", "home"]])
    }
}
