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
    private func lines(_ exchanges: [Exchange], max: Int = 24) -> [String] {
        Timeline(exchanges, base: ReportFixtures.base).lines(exchangeMax: max).map(\.text)
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
        #expect(line.contains("app → backend  \(word) "), "\(line)")
    }

    @Test func `an entry without a user is shown by arrival time`() {
        let base = ReportFixtures.base
        func call(_ namespace: String, at offset: Duration, _ target: String = "/keys") -> Exchange
        {
            Exchange(
                from: .backend,
                to: .firebase,
                namespace: namespace,
                purpose: .call,
                at: base + offset,
                request: HTTPMessage.Request("GET", target)
            )
        }
        let times = lines([
            call("", at: .seconds(3600)), call("n", at: .seconds(60), "/a"),
            call("", at: .seconds(3600)), call("n", at: .seconds(120)),
        ]).filter { $0.contains("→") }.map {
            String($0.prefix(9).drop { $0 == " " }.prefix { $0 != " " })
        }
        #expect(times == ["+1m", "", "", "+2m"], "a time is shown where it changes")
        #expect(lines([call("", at: .seconds(3600))])[0].contains("+1h "), "all are nobody's")
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

    @Test("a long run shows its beginning and end", arguments: [1, 23, 24, 25, 100])
    func elided(count: Int) {
        let all = (0..<count).map {
            ReportFixtures.exchange(.backend, .oneSignal, .call, "POST /\($0)", number: $0)
        }
        let found = lines(all)
        #expect(found.count == (count <= 24 ? count : 25))
        #expect(found.first?.hasSuffix("/0") == true)
        #expect(found.last?.hasSuffix("/\(count - 1)") == true)
        if count > 24 {
            let plural = count == 25 ? "" : "s"
            #expect(found[12] == "          … \(count - 24) more exchange\(plural) …")
        }
    }

    @Test func `the cited exchanges are marked, and shown in the middle of a long run`() {
        var result = ReportFixtures.result(.failed)
        result.findings = [Finding(.unexpectedEffect, expected: "1", actual: "2", evidence: [50])]
        result.timeline = (0..<100).map {
            ReportFixtures.exchange(.backend, .oneSignal, .call, "POST /\($0)", number: $0)
        }
        let lines = Timeline(result.redacted(SecretDeclaration())).lines()
        #expect(lines.filter(\.isEvidence).map { $0.text.suffix(3) } == ["/50"])
        #expect(lines.filter { $0.text.hasPrefix("> ") }.count == 1)
        #expect(lines.filter { $0.text.contains("more exchanges") }.count == 2)
    }

    @Test func `equal exchanges in a row are one line`() {
        let targets = ["/a"] + Array(repeating: "/b", count: 70) + ["/a", "/b"]
        let found = lines(
            targets.enumerated().map {
                ReportFixtures.exchange(.app, .backend, .call, "GET \($1)", number: $0)
            }
        )
        let ends = ["/a", "/b (70 times)", "/a", "/b"]
        #expect(found.count == ends.count)
        for (line, end) in zip(found, ends) { #expect(line.hasSuffix(end), "\(line)") }
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
        let delivered = lines(deliveries)
        #expect(delivered.count == 1 && delivered[0].hasSuffix("(3 times)"), "\(delivered)")
    }

    @Test(
        "times are relative to the base time",
        arguments: [
            (Duration.zero, "+0s"), (.seconds(300), "+5m"), (.milliseconds(-1500), "-1.5s"),
            (.milliseconds(61_007), "+1m1s"), (.milliseconds(20), "+0.02s"),
            (.seconds(30 * 86_400), "+30d"), (.seconds(90_000), "+1d1h"),
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
        #expect(told.count == 7 && told.allSatisfy { $0.count <= 98 })
        #expect(told.last?.hasSuffix("…") == true)
        #expect(!told.joined().unicodeScalars.contains { $0.value < 0x20 })
        let whole = "setvault://?key=app_user_id&value=" + String(repeating: "b", count: 60)
        let exchange = ReportFixtures.exchange(.app, .despia, body: ["command": .string(whole)])
        let text = lines([exchange]).dropFirst().map { $0.drop { $0 == " " } }.joined()
        #expect(text == whole)
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
            $0.text.trimmingPrefix { $0 == " " }
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
        #expect(told.hasSuffix(" ← {\"handled\": \"noop\"}"))
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
            Timeline(result.redacted(SecretDeclaration())).lines().first?.text
                .contains("b #1 RENEWAL")
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
        let lines = Timeline(result.redacted(SecretDeclaration())).lines().map(\.text)
        #expect(lines.allSatisfy { $0.count <= 98 })
        #expect((2...6).contains(lines.count))
        #expect(lines[1].hasPrefix(String(repeating: " ", count: 12) + "← \"x"))
        #expect(lines.last?.hasSuffix("…") == (length > 198))
        if length <= 198 { #expect(lines.last?.hasSuffix("\"") == true) }
    }

    // MARK: Deciding values

    /// The lines of one exchange at the width of a narrow terminal, without indentation.
    private func facts(
        _ exchange: Exchange,
        _ change: (inout CaseResult) -> Void = { _ in }
    ) -> [String] {
        var result = ReportFixtures.result(.failed)
        result.base = ReportFixtures.base
        result.timeline = [exchange]
        change(&result)
        let lines = Timeline(result.redacted(SecretDeclaration())).lines(width: 80).map(\.text)
        #expect(lines.allSatisfy { $0.count <= 80 }, "\(lines)")
        return lines.map { String($0.trimmingPrefix { $0 == " " }) }
    }

    @Test func `an event is shown with its user, product, store, environment and dates`() {
        let end = ReportFixtures.base.milliseconds + 30 * 86_400_000
        let body: JSONValue = [
            "event": [
                "type": "INITIAL_PURCHASE", "app_user_id": "ada-4711",
                "product_id": "premium_monthly", "store": "PLAY_STORE", "environment": "SANDBOX",
                "expiration_at_ms": .integer(end),
                "grace_period_expiration_at_ms": .integer(end + 86_400_000),
            ]
        ]
        let lines = facts(
            ReportFixtures.exchange(
                .revenueCat,
                .backend,
                .delivery(name: "buy", attempt: 2),
                body: body
            )
        ) { $0.namedIDs = [.init(id: "ada-4711", name: "‹ada›")] }
        #expect(lines[0].hasSuffix("buy #2 INITIAL_PURCHASE"))
        #expect(
            lines[1...2].joined(separator: " ")
                == "user ‹ada›, premium_monthly, PLAY_STORE, SANDBOX, until +30d, grace until +31d"
        )
        #expect(lines.last == "users     ‹ada› is ada-4711")
    }

    @Test func `an event of the other sender is shown by its own members`() {
        let body: JSONValue = [
            "event_name": "DEACTIVATE", "user_id": "bob", "plan": "PLUS_MONTHLY",
            "store": "APPLE_APP_STORE", "environment": "PRODUCTION",
        ]
        let lines = facts(
            ReportFixtures.exchange(
                .purchasely,
                .backend,
                .delivery(name: "end", attempt: 1),
                body: body
            )
        )
        #expect(lines[0].hasSuffix("end #1 DEACTIVATE"))
        #expect(lines[1] == "user bob, PLUS_MONTHLY, APPLE_APP_STORE, PRODUCTION")
    }

    private static let calls: [(Exchange, String)] = [
        (
            ReportFixtures.exchange(
                .backend,
                .oneSignal,
                .call,
                "POST /notifications",
                body: [
                    "include_aliases": ["external_id": ["ada", "bob"]],
                    "headings": ["en": "Welcome"], "contents": ["en": "Pro is active"],
                    "idempotency_key": "k-17",
                ]
            ), "to ada, bob: \"Welcome · Pro is active\", key k-17"
        ),
        (
            ReportFixtures.exchange(
                .backend,
                .oneSignal,
                .call,
                "GET /apps/a/users/by/external_id/ada%2F1"
            ), "external_id ada/1"
        ),
        (
            ReportFixtures.exchange(
                .backend,
                .oneSignal,
                .call,
                "PATCH /apps/a/users/by/external_id/ada",
                body: ["properties": ["tags": ["plan": "pro"]]]
            ), "external_id ada, tags plan=pro"
        ),
        (
            ReportFixtures.exchange(.backend, .revenueCat, .call, "GET /v1/subscribers/ada"),
            "subscriber ada"
        ),
        (
            ReportFixtures.exchange(
                .backend,
                .firebase,
                .call,
                "POST /v1/projects/p/accounts:lookup",
                body: ["localId": ["ada"]]
            ), "localId ada"
        ),
        (
            ReportFixtures.exchange(.backend, .firebase, .call, "GET /keys"),
            "keys that verify ID tokens"
        ),
    ]

    @Test("a call is shown with the user that it names, or its message", arguments: calls)
    func callText(exchange: Exchange, text: String) {
        let lines = facts(exchange)
        #expect(lines.joined(separator: " ").hasSuffix("call " + text), "\(lines)")
    }

    @Test func `a refused call shows its path and the reason`() {
        let lines = facts(
            ReportFixtures.exchange(
                .backend,
                .revenueCat,
                .call,
                "GET /v1/subscribers/ada",
                outcome: .answered(HTTPMessage.Response(404, json: ["message": "no route"]))
            )
        )
        #expect(lines[0].hasSuffix("404  call subscriber ada"))
        #expect(lines[1...] == ["GET /v1/subscribers/ada", "← {\"message\": \"no route\"}"])
    }

    @Test func `a long response keeps the judged members`() {
        let filler = JSONValue.string(String(repeating: "x", count: 900))
        let body: JSONValue = [
            "filler": filler,
            "subscription": ["note": filler, "state": "active", "until": "2026-12-01"],
            "last": filler,
        ]
        let lines = facts(
            ReportFixtures.exchange(
                .assay,
                .backend,
                .probe(name: "user", user: "ada"),
                outcome: .answered(HTTPMessage.Response(200, json: body))
            )
        ) { result in
            result.findings = [Finding(.wrongStateValue, expected: "expired", actual: "active")]
            result.probedMembers = ["until"]
        }
        #expect(
            lines.joined(separator: " ").hasSuffix(
                "← {…, \"subscription\": {…, \"state\": \"active\", \"until\": \"2026-12-01\"}, …}"
            ),
            "\(lines)"
        )
    }
}
