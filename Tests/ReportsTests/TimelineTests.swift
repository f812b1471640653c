import Contracts
import Judging
import Providers
import Redaction
import Reports
import Testing
import Values

/// A run in lines, as a person reads it beside a failure.
@Suite("Timeline")
struct TimelineTests {
    private func lines(_ exchanges: [Exchange], max: Int = 40) -> [String] {
        Timeline(exchanges, base: ReportFixtures.base).lines(lineMax: max)
    }

    private static let outcomes: [(Exchange.Outcome, String)] = [
        (.pending, "no response"), (.answered(HTTPMessage.Response(204)), "204"),
        (.answerLost(HTTPMessage.Response(200)), "lost (200)"), (.answerLost(nil), "disconnect"),
        (.requestCut, "truncated"), (.failed(.refused, ""), "refused"),
        (.failed(.closed, ""), "closed"), (.failed(.timedOut, ""), "timed out"),
        (.failed(.malformed, ""), "not HTTP"),
    ]

    @Test("every outcome has its word", arguments: outcomes)
    func outcome(outcome: Exchange.Outcome, word: String) {
        let line = lines([ReportFixtures.exchange(.app, .backend, outcome: outcome)]).first ?? ""
        #expect(line.contains("backend     \(word) "), "\(line)")
    }

    @Test func `an entry without a user is shown by arrival time`() {
        let base = ReportFixtures.base
        func call(_ namespace: String, at offset: Duration) -> Exchange {
            Exchange(
                from: .backend,
                to: .firebase,
                namespace: namespace,
                purpose: .call,
                at: base + offset,
                request: HTTPMessage.Request("GET", "/keys")
            )
        }
        let times = lines([
            call("", at: .seconds(3600)), call("n", at: .seconds(60)),
            call("", at: .seconds(3600)), call("n", at: .seconds(120)),
        ]).map { String($0.trimmingPrefix { $0 == " " }.prefix(6)) }
        #expect(times == ["+1m00.", "+1m00.", "+1m00.", "+2m00."])
        #expect(lines([call("", at: .seconds(3600))])[0].contains("+60m00"), "all are nobody's")
    }

    private static let purposes: [(Exchange, String)] = [
        (
            ReportFixtures.exchange(.revenueCat, .backend, .delivery(name: "buy", attempt: 3)),
            "buy #3 POST /x"
        ),
        (
            ReportFixtures.exchange(.app, .backend, .registration(user: "ada")),
            "register ada POST /x"
        ),
        (
            ReportFixtures.exchange(.assay, .backend, .probe(name: "user", user: "ada")),
            "probe user of ada POST /x"
        ),
        (ReportFixtures.exchange(.assay, .backend, .sentinel), "sentinel POST /x"),
        (
            ReportFixtures.exchange(.assay, .backend, .restart("SIGKILL"), "RESTART SIGKILL"),
            "SIGKILL RESTART SIGKILL"
        ),
        (ReportFixtures.exchange(.app, .backend, .appCall("login")), "login POST /x"),
        (ReportFixtures.exchange(.backend, .oneSignal), "call POST /x"),
        (
            ReportFixtures.exchange(.assay, .app, .userAction("launch"), phone: "second"),
            "launch second"
        ),
        (
            ReportFixtures.exchange(
                .assay,
                .app,
                .userAction("page-error"),
                body: ["text": "oops"],
                phone: "p"
            ),
            "page-error p oops"
        ),
        (
            ReportFixtures.exchange(.app, .despia, body: ["command": "setvault://?key=a"]),
            "bridge setvault://?key=a"
        ),
        (
            ReportFixtures.exchange(
                .app,
                .backend,
                .appCall("register"),
                body: ["a": "x", "b": 1],
                phone: "p"
            ),
            "register POST /x x 1"
        ),
    ]

    @Test("every kind of entry says what it is about", arguments: purposes)
    func purpose(exchange: Exchange, text: String) {
        let line = lines([exchange]).first ?? ""
        #expect(line.hasSuffix(text), "\(line)")
    }

    @Test func `a call is named by what it did`() {
        var push = ReportFixtures.exchange(.backend, .oneSignal)
        push.effects = [
            Effect(kind: "onesignal.notification", recipients: [], content: [:]),
            Effect(kind: "onesignal.tags", recipients: [], content: [:]),
        ]
        #expect(lines([push])[0].contains("onesignal.notification, onesignal.tags POST /x"))
    }

    @Test func `a screen record is one line`() {
        let screen = ReportFixtures.exchange(
            .assay,
            .app,
            .screen,
            outcome: .answered(HTTPMessage.Response(200, json: ["offer": true]))
        )
        #expect(lines([screen])[0].hasSuffix("screen {\"offer\":true}"))
    }

    @Test("a long run shows its beginning and end", arguments: [1, 39, 40, 41, 100])
    func elided(count: Int) {
        let all = (0..<count).map {
            ReportFixtures.exchange(.backend, .oneSignal, .call, "POST /\($0)", number: $0)
        }
        let found = lines(all)
        #expect(found.count == (count <= 40 ? count : 41))
        #expect(found.first?.hasSuffix("/0") == true)
        #expect(found.last?.hasSuffix("/\(count - 1)") == true)
        if count > 40 { #expect(found[20] == "  … \(count - 40) more exchanges …") }
    }

    @Test func `the last response of a repeated request is shown`() {
        let probes = (0..<5).map {
            ReportFixtures.exchange(
                .assay,
                .backend,
                .probe(name: "s", user: "ada"),
                "GET /\($0)",
                number: $0
            )
        }
        let other = ReportFixtures.exchange(
            .assay,
            .backend,
            .probe(name: "s", user: "bob"),
            "GET /b",
            number: 5
        )
        #expect(lines(probes + [other]).map { $0.suffix(2) } == ["/4", "/b"])
        let calls = (0..<3).map {
            ReportFixtures.exchange(.app, .backend, .appCall("read"), "GET /\($0)", number: $0)
        }
        #expect(lines(calls).count == 1)
        let onPhone = (0..<3).map {
            ReportFixtures.exchange(
                .app,
                .backend,
                .appCall("register"),
                "GET /\($0)",
                phone: "p",
                number: $0
            )
        }
        #expect(lines(onPhone).count == 3, "each call of an app on a phone is a step")
        let deliveries = (0..<3).map {
            ReportFixtures.exchange(
                .revenueCat,
                .backend,
                .delivery(name: "a", attempt: 1),
                number: $0
            )
        }
        #expect(lines(deliveries).count == 3)
    }

    @Test(
        "times are relative to the base time",
        arguments: [
            (Duration.zero, "+0m00.000"), (.seconds(300), "+5m00.000"),
            (.milliseconds(-1500), "-0m01.500"), (.milliseconds(61_007), "+1m01.007"),
        ]
    )
    func times(offset: Duration, text: String) {
        let line = lines([ReportFixtures.exchange(.app, .backend, at: offset)])[0]
        #expect(line.hasPrefix("  " + text + " "), "\(line)")
    }

    @Test func `a long command is shown in full or cut, and nothing in it moves the cursor`() {
        let long = ReportFixtures.exchange(
            .app,
            .despia,
            body: ["command": .string(String(repeating: "a\u{1b}", count: 300))]
        )
        let told = lines([long])
        #expect(told.count == 6 && told.allSatisfy { $0.count <= 98 })
        #expect(told.last?.hasSuffix("…") == true)
        #expect(!told.joined().unicodeScalars.contains { $0.value < 0x20 })
        let whole = "setvault://?key=app_user_id&value=" + String(repeating: "b", count: 60)
        let exchange = ReportFixtures.exchange(.app, .despia, body: ["command": .string(whole)])
        let text = lines([exchange]).map { $0.dropFirst(50) }.joined()
        #expect(text.hasSuffix(whole))
    }

    // MARK: What was said

    private func line(_ delivery: Delivery, answer: JSONValue?) -> String {
        var result = ReportFixtures.result(.failed)
        result.base = ReportFixtures.base
        result.contract.steps = [.deliver(delivery)]
        let response =
            answer.map { HTTPMessage.Response(200, json: $0) } ?? HTTPMessage.Response(200)
        result.timeline = [
            ReportFixtures.exchange(
                .revenueCat,
                .backend,
                .delivery(name: delivery.name, attempt: 1),
                outcome: .answered(response)
            )
        ]
        return Timeline(result.redacted(SecretDeclaration())).lines().map {
            $0.trimmingPrefix { $0 == " " }
        }
        .joined(separator: " ")
    }

    @Test func `an event is shown with its type, relevant dates and response`() {
        var spec = EventSpec(type: .documented(.cancellation), user: "ada")
        spec.reason = "CUSTOMER_SUPPORT"
        spec.expires = .seconds(3600)
        let told = line(
            Delivery(name: "refund", subject: .event(spec)),
            answer: ["handled": "noop"]
        )
        #expect(told.contains("refund #1 CANCELLATION CUSTOMER_SUPPORT until +1h"))
        #expect(told.hasSuffix(" → {\"handled\":\"noop\"}"))
        #expect(!told.contains("POST"))
    }

    @Test func `a response without a body adds nothing after the event`() {
        var spec = PurchaselySpec(name: "ACTIVATE", user: "ada")
        spec.environment = "SANDBOX"
        let told = line(Delivery(name: "start", subject: .event(spec)), answer: nil)
        #expect(told.hasSuffix("start #1 ACTIVATE SANDBOX"))
    }

    @Test func `a repeat says what it repeats`() {
        var result = ReportFixtures.result(.failed)
        result.contract.steps = [
            .deliver(
                Delivery(
                    name: "a",
                    subject: .event(EventSpec(type: .documented(.renewal), user: "ada"))
                )
            ),
            .deliver(Delivery(name: "b", subject: .repeats("a"))),
        ]
        result.timeline = [
            ReportFixtures.exchange(.revenueCat, .backend, .delivery(name: "b", attempt: 1))
        ]
        #expect(
            Timeline(result.redacted(SecretDeclaration())).lines().first?.contains("b #1 RENEWAL")
                == true
        )
    }

    @Test("the first lines of a long response are shown", arguments: [1, 40, 96, 120, 190, 5000])
    func responses(length: Int) {
        var result = ReportFixtures.result(.failed)
        result.base = ReportFixtures.base
        result.timeline = [
            ReportFixtures.exchange(
                .assay,
                .backend,
                .probe(name: "user", user: "ada"),
                outcome: .answered(
                    HTTPMessage.Response(200, json: .string(String(repeating: "x", count: length)))
                )
            )
        ]
        let lines = Timeline(result.redacted(SecretDeclaration())).lines()
        #expect(lines.allSatisfy { $0.count <= 98 })
        #expect((2...4).contains(lines.count))
        #expect(lines[1].hasPrefix(String(repeating: " ", count: 50) + "→ \"x"))
        #expect(lines.last?.hasSuffix("…") == (length > 140))
        if length <= 140 { #expect(lines.last?.hasSuffix("\"") == true) }
    }
}
