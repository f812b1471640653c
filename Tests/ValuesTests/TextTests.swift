import TestSupport
import Testing
import Values

/// Texts that arrive from outside: forms, bridge commands, dates, spans of time, names of secrets.
@Suite("Texts")
struct TextTests {
    // MARK: Forms

    private static let forms: [(String, [(String, String)])] = [
        ("a=1&b=2", [("a", "1"), ("b", "2")]), ("", []), ("a", [("a", "")]),
        ("a=", [("a", "")]), ("=1", [("", "1")]), ("a=1=2", [("a", "1=2")]),
        ("a+b=c+d", [("a b", "c d")]), ("a%20b=%26%3D", [("a b", "&=")]),
        ("a=1&&b=2", [("a", "1"), ("b", "2")]), ("a=%zz", [("a", "%zz")]), ("a=%", [("a", "%")]),
        ("a=%4", [("a", "%4")]), ("a=%C3%A9", [("a", "é")]), ("a=1&a=2", [("a", "1"), ("a", "2")]),
    ]

    @Test("forms are parsed", arguments: forms)
    func form(text: String, pairs: [(String, String)]) {
        let found = FormText.pairs(text)
        #expect(found.map(\.name) == pairs.map(\.0))
        #expect(found.map(\.value) == pairs.map(\.1))
    }

    @Test func `encoding and decoding round-trip`() {
        for seed in UInt64(0)..<1000 {
            var made = ArbitraryValues(seed: seed)
            let text = made.text(countMax: 20)
            let encoded = text.percentEncoded
            #expect(encoded.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }, "seed \(seed)")
            #expect(Array(FormText.decoded(encoded).utf8) == Array(text.utf8), "seed \(seed)")
            let pairs = FormText.pairs("k=\(encoded)&\(encoded)=v")
            #expect(pairs.first?.value == text, "seed \(seed)")
            #expect(pairs.last?.value == "v", "seed \(seed)")
        }
    }

    @Test func `invalid UTF-8 is replaced, and no string traps`() {
        #expect(FormText.decoded("%FF") == "\u{fffd}")
        for seed in UInt64(0)..<1000 {
            var made = ArbitraryValues(seed: seed)
            let text = String(decoding: made.bytes(30), as: UTF8.self)
            _ = FormText.pairs(text)
            _ = BridgeCommand(text)
            _ = Instant(iso8601: text)
            _ = Duration(contractText: text)
        }
    }

    @Test func `only the unreserved stay as they are`() {
        let unreserved = "abcXYZ019-._~"
        #expect(unreserved.percentEncoded == unreserved)
        #expect(
            ":/?#[]@!$&'()*+,;= %".percentEncoded.contains { !"%0123456789ABCDEF".contains($0) }
                == false
        )
        #expect("é".percentEncoded == "%C3%A9")
        #expect("\u{1}".percentEncoded == "%01")
    }

    // MARK: Bridge commands

    private static let commands: [(String, scheme: String, path: String, [(String, String)])] = [
        ("readvault://?key=id", "readvault", "", [("key", "id")]),
        (
            "setvault://?key=id&value=a%26b&locked=false", "setvault", "",
            [("key", "id"), ("value", "a&b"), ("locked", "false")]
        ),
        (
            "revenuecat://launchPaywall?external_id=x&offering=default", "revenuecat",
            "launchPaywall", [("external_id", "x"), ("offering", "default")]
        ),
        ("lighthaptic://", "lighthaptic", "", []),
        ("revenuecat://center", "revenuecat", "center", []),
        ("no scheme at all", "", "no scheme at all", []), ("", "", "", []),
        ("statusbarcolor://{1,2,3}?x=1", "statusbarcolor", "{1,2,3}?x=1", []),
        ("setvault://?key=a+b", "setvault", "", [("key", "a+b")]),
    ]

    @Test("a bridge command is parsed without loss", arguments: commands)
    func command(
        text: String,
        scheme: String,
        path: String,
        parameters: [(String, String)]
    ) {
        let command = BridgeCommand(text)
        #expect(command.text == text)
        #expect(command.scheme == scheme && command.path == path)
        #expect(command.parameters.map(\.name) == parameters.map(\.0))
        #expect(command.parameters.map(\.value) == parameters.map(\.1))
    }

    private static let odd: [(String, String?)] = [
        ("setvault://?key=a&value=b", nil), ("setvault://?key=a&b", "without '='"),
        ("setvault://?key=a&key=b", "duplicate"), ("setvault://?key=a#b", "fragment"),
        ("setvault://?key=a b", "URL cannot contain"), ("setvault://?key=ü", "URL cannot contain"),
        ("future://?key=a", "unknown scheme"), ("nothing", "no scheme"),
    ]

    @Test("unusual parts of a bridge command are noted", arguments: odd)
    func notes(text: String, note: String?) {
        let notes = BridgeCommand(text).notes
        if let note {
            #expect(notes.contains { $0.contains(note) }, "\(notes)")
        } else {
            #expect(notes.isEmpty)
        }
    }

    @Test(
        "native decoding is configurable",
        arguments: [
            (BridgeCommand.Decoding.once, "a b+c"), (.raw, "a%20b+c"), (.plusAsSpace, "a b c"),
        ]
    )
    func decoding(decoding: BridgeCommand.Decoding, value: String) {
        let command = BridgeCommand("setvault://?value=a%20b+c", decoding: decoding)
        #expect(command["value"] == value)
    }

    @Test("every scheme of the catalogue is known", arguments: BridgeCommand.schemes.sorted())
    func schemes(scheme: String) {
        #expect(!BridgeCommand(scheme + "://x").notes.contains("unknown scheme"))
        #expect(BridgeCommand(scheme + "x://x").notes.contains("unknown scheme"))
    }

    @Test func `a local push is positional`() {
        let command = BridgeCommand("sendlocalpushmsg://push.send?s=5=Hello&!#Title&!#https://x")
        #expect(command.parameters.map(\.value) == ["s=5=Hello", "Title", "https://x"])
        #expect(command.parameters.map(\.name) == ["s and msg", "title", "url"])
    }

    // MARK: Moments

    @Test func `a timestamp round-trips to the millisecond`() {
        for seed in UInt64(0)..<1000 {
            var made = ArbitraryValues(seed: seed)
            let milliseconds = Int64(made.int(0...4_000_000_000)) * 1000 + Int64(made.int(0...999))
            let moment = Instant(milliseconds: milliseconds)
            #expect(Instant(iso8601: moment.preciseText) == moment, "seed \(seed)")
            #expect(
                Instant(iso8601: moment.description)?.milliseconds == moment.seconds * 1000,
                "seed \(seed)"
            )
            let offset = made.int(-12 * 60...14 * 60)
            let local = (moment + .seconds(offset * 60)).preciseText.dropLast()
            let sign = offset < 0 ? "-" : "+"
            let (hours, minutes) = (abs(offset) / 60, abs(offset) % 60)
            func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
            let zone = "\(sign)\(two(hours)):\(two(minutes))"
            #expect(Instant(iso8601: local + zone) == moment, "seed \(seed): \(local)\(zone)")
        }
    }

    @Test func `the calendar is right from 1970 to 2100`() {
        // Counted day by day, with the rules for leap years in words.
        var (year, month, day) = (1970, 1, 1)
        for number in 0..<47_847 {
            let moment = Instant(milliseconds: Int64(number) * 86_400_000)
            func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
            let text = "\(year)-\(two(month))-\(two(day))T00:00:00Z"
            // The days around the end of a month are where calendars err.
            if day == 1 || day >= 28,
                moment.description != text || Instant(iso8601: text) != moment
            {
                Issue.record("\(moment) is not \(text)")
                return
            }
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            day += 1
            if day > lengths[month - 1] { (month, day) = (month + 1, 1) }
            if month > 12 { (year, month) = (year + 1, 1) }
        }
        #expect(year == 2101)
    }

    @Test func `timestamps are ordered like their numbers`() {
        for seed in UInt64(0)..<1000 {
            var made = ArbitraryValues(seed: seed)
            let one = Instant(milliseconds: Int64(made.int(-1_000_000...1_000_000)))
            let two = Instant(milliseconds: Int64(made.int(-1_000_000...1_000_000)))
            #expect((one < two) == (one.milliseconds < two.milliseconds))
            #expect(one + (two - one) == two)
            #expect(two - (two - one) == one)
            #expect(one.seconds * 1000 <= one.milliseconds, "seconds are cut downwards")
            #expect(one.milliseconds - one.seconds * 1000 < 1000)
        }
    }

    // MARK: Spans

    @Test func `a duration round-trips through text`() {
        for seed in UInt64(0)..<1000 {
            var made = ArbitraryValues(seed: seed)
            let unit = made.one(of: [1, 1000, 60_000, 3_600_000, 86_400_000])
            let span = Duration.milliseconds(made.int(-5000...5000) * unit)
            #expect(Duration(contractText: span.contractText) == span, "\(span.contractText)")
            if span >= .zero {
                #expect(Duration(contractText: span.unsignedText) == span)
                #expect(!span.unsignedText.hasPrefix("+"))
            }
        }
        #expect(Duration.zero.contractText == "0s")
        #expect(Duration.seconds(60).contractText == "+1m")
        #expect(Duration.seconds(61).contractText == "+61s")
    }

    @Test(
        "offsets are minutes and seconds",
        arguments: [
            (0, "+0m00.000"), (999, "+0m00.999"), (-1, "-0m00.001"), (60_000, "+1m00.000"),
            (3_600_000, "+60m00.000"), (-61_005, "-1m01.005"),
        ]
    )
    func offsets(milliseconds: Int, text: String) {
        #expect(Duration.milliseconds(milliseconds).offsetText == text)
    }

    // MARK: Messages

    @Test func `the first field of a name counts, in any case`() {
        let request = HTTPMessage.Request(
            "GET",
            "/a/b?c=d?e",
            fields: [.init("X-A", "1"), .init("x-a", "2"), .init("X-a ", "3")]
        )
        #expect(request[field: "x-A"] == "1")
        #expect(request[field: "X-B"] == nil)
        #expect(request.path == "/a/b")
        #expect(HTTPMessage.Request("GET", "").path == "")
    }

    @Test func `bodies of any bytes survive the coder`() throws {
        for seed in UInt64(0)..<300 {
            var made = ArbitraryValues(seed: seed)
            let request = HTTPMessage.Request(
                "POST",
                "/" + made.text(),
                fields: [.init("a", made.text())],
                body: made.bytes(30)
            )
            #expect(try JSONValue(encoding: request).decoded() == request, "seed \(seed)")
            let response = HTTPMessage.Response(
                made.int(100...599),
                fields: [.init("b", made.text())],
                body: made.bytes(30)
            )
            #expect(try JSONValue(encoding: response).decoded() == response, "seed \(seed)")
        }
    }

    // MARK: Journal

    @Test func `exchanges with any content are read back from the journal unchanged`() {
        let purposes: [Exchange.Purpose] = [
            .call, .sentinel, .delivery(name: "é/1", attempt: 7), .registration(user: ""),
            .probe(name: "p", user: "ada"), .restart("KILL"), .appCall("one"),
            .userAction("launch"),
            .screen,
        ]
        for seed in UInt64(0)..<300 {
            var made = ArbitraryValues(seed: seed)
            var journal = Journal()
            let response = HTTPMessage.Response(
                made.int(100...599),
                fields: [.init(made.text(), made.text())],
                body: made.bytes(50)
            )
            let outcomes: [Exchange.Outcome] = [
                .pending, .answered(response), .answerLost(nil), .answerLost(response),
                .requestCut, .failed(.refused, made.text()), .failed(.malformed, ""),
            ]
            let exchange = Exchange(
                from: made.one(of: Exchange.Party.nonProviders + [Exchange.Party("service")]),
                to: made.one(of: Exchange.Party.nonProviders + [Exchange.Party("service")]),
                namespace: made.text(),
                purpose: made.one(of: purposes),
                at: Instant(milliseconds: Int64(made.int(0...2_000_000_000_000))),
                request: HTTPMessage.Request(
                    made.text(),
                    made.text(),
                    fields: [.init(made.text(), made.text())],
                    body: made.bytes(200)
                ),
                invoked: Int64(made.int(0...1_000_000)),
                outcome: made.one(of: outcomes),
                effects: [
                    Effect(
                        kind: "k",
                        recipients: [made.text(), ""],
                        content: made.json(),
                        idempotencyKey: "key"
                    )
                ]
            )
            #expect(journal.append(exchange) == 0)
            #expect(journal.exchanges == [exchange], "seed \(seed)")
        }
    }
}
