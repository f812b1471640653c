import FakeServers
import Grammar
import Providers
import Testing
import Values

/// What writes down, follows and taps a journal while a run is going on.
@Suite("The journal while it grows")
struct LiveJournalTests {
    /// A tap that remembers, and a clock that a test moves.
    private final class JournalRecorder: JournalObserver {
        let seen = Locked<[String]>([])

        func began(_ exchange: Exchange) {
            seen.withLock { $0.append("began \(exchange.sequence) \(exchange.request.path)") }
        }

        func sent(_ sequence: Int, _ fields: [HTTPMessage.Field], _ body: [UInt8]) {
            seen.withLock { $0.append("sent \(sequence) \(fields.count) \(body.count)") }
        }

        func completed(
            _ sequence: Int,
            _ outcome: Exchange.Outcome,
            _ effects: [Effect],
            namespace: String?,
            at microseconds: Int64
        ) {
            let status =
                if case .answered(let response) = outcome { response.status } else { 0 }
            seen.withLock {
                $0.append("completed \(sequence) \(status) \(effects.count) at \(microseconds)")
            }
        }

        func recordWebSocketMessage(_ message: WebSocketMessage, at microseconds: Int64) {
            seen.withLock { $0.append("said \(message.sequence) \(message.body.count)") }
        }
    }

    private func exchange(_ path: String, namespace: String = "") -> Exchange {
        Exchange(
            from: .backend,
            to: .oneSignal,
            namespace: namespace,
            purpose: .call,
            at: Instant(milliseconds: 1),
            request: HTTPMessage.Request("POST", path)
        )
    }

    private static let ok = Exchange.Outcome.answered(HTTPMessage.Response(200))

    @Test func `an exchange is numbered before the act, and ends at its own time`() {
        let time = Locked(Duration.zero)
        let journal = LiveJournal(bytesMax: 1 << 20) { time.withLock { $0 } }
        let first = journal.begin(exchange("/first"))
        time.withLock { $0 = .milliseconds(2) }
        let second = journal.begin(exchange("/second"))
        #expect(second == first + 1)
        time.withLock { $0 = .milliseconds(5) }
        journal.complete(first, Self.ok)
        let open = journal.read { $0.exchange(second) }
        #expect(open?.completed == nil)
        #expect(open?.invoked == 2000)
        let done = journal.read { $0.exchange(first) }
        #expect(done?.invoked == 0)
        #expect(done?.completed == 5000)
        #expect(done?.outcome == Self.ok)
    }

    @Test func `an exchange written in a single step keeps its start time`() {
        let time = Locked(Duration.milliseconds(9))
        let journal = LiveJournal(bytesMax: 1 << 20) { time.withLock { $0 } }
        var whole = exchange("/x")
        whole.outcome = Self.ok
        journal.write(whole, invoked: 4000)
        let found = journal.read { $0.exchanges }.first
        #expect(found?.invoked == 4000)
        #expect(found?.completed == 9000)
    }

    @Test func `a tap is notified before and after with the same number`() {
        let journal = LiveJournal(bytesMax: 1 << 20) { .milliseconds(3) }
        journal.write(exchange("/before the tap"), invoked: 0)
        let witness = JournalRecorder()
        journal.tap(witness)
        let number = journal.begin(exchange("/a"))
        journal.complete(
            number,
            Self.ok,
            effects: [Effect(kind: "k", recipients: [], content: .null)]
        )
        var whole = exchange("/b")
        whole.outcome = Self.ok
        journal.write(whole, invoked: 0)
        #expect(
            witness.seen.withLock { $0 } == [
                "began \(number) /a", "completed \(number) 200 1 at 3000",
                "began \(number + 1) /b", "completed \(number + 1) 200 0 at 3000",
            ]
        )
    }

    @Test func `a follower hears of every end from the moment on, and of no beginning`() async {
        let journal = LiveJournal(bytesMax: 1 << 20)
        let early = journal.begin(exchange("/early"))
        journal.write(exchange("/over"), invoked: 0)
        let (one, two) = (journal.follow(), journal.follow())
        let late = journal.begin(exchange("/late"))
        journal.complete(late, Self.ok)
        journal.complete(early, Self.ok)
        journal.endFollowing()
        for stream in [one, two] {
            var heard: [Int] = []
            for await number in stream { heard.append(number) }
            #expect(heard == [late, early])
        }
    }

    @Test func `a follower that stops does not block the others`() async {
        let journal = LiveJournal(bytesMax: 1 << 20)
        let kept = journal.follow()
        for _ in 0..<10 {
            let gone = journal.follow()
            journal.write(exchange("/x"), invoked: 0)
            for await _ in gone { break }
        }
        journal.endFollowing()
        var count = 0
        for await _ in kept { count += 1 }
        #expect(count == 10)
    }

    @Test func `many writers have one order, without a gap`() async {
        let journal = LiveJournal(bytesMax: 1 << 24)
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    for number in 0..<50 {
                        let sequence = journal.begin(exchange("/\(writer)/\(number)"))
                        journal.complete(sequence, Self.ok)
                    }
                }
            }
        }
        let all = journal.read { $0.exchanges }
        #expect(all.count == 400)
        let first = all.first?.sequence ?? 0
        #expect(all.map(\.sequence) == (0..<400).map { first + $0 })
        for writer in 0..<8 {
            let own = all.map(\.request.path).filter { $0.hasPrefix("/\(writer)/") }
            #expect(own == (0..<50).map { "/\(writer)/\($0)" }, "one writer's own order stays")
        }
        #expect(all.allSatisfy { $0.completed != nil })
    }

    @Test func `a full journal forgets the oldest, and says how many`() {
        let journal = LiveJournal(bytesMax: 8 << 10)
        for number in 0..<200 {
            var entry = exchange("/\(number)")
            entry.request.body = [UInt8](repeating: 0x78, count: 200)
            entry.outcome = Self.ok
            journal.write(entry, invoked: 0)
        }
        let (kept, forgotten) = journal.read { ($0.exchanges, $0.droppedEntryCount) }
        #expect(forgotten > 0)
        #expect(kept.count + forgotten == 200)
        #expect(kept.last?.request.path == "/199")
    }
}

@Suite("Namespaces and call ownership")
struct NamespaceTests {
    private func fixture() -> ControlFixture { ControlFixture() }

    @Test(
        "a call belongs to the namespace whose ID it contains",
        arguments: [
            ("GET", "/v1/subscribers/ruby", nil, "red"),
            ("GET", "/v1/subscribers/ruby%20red", nil, ""),
            ("GET", "/v1/subscribers/other?user=ruby", nil, "red"),
            ("POST", "/v1/receipts", ["app_user_id": "ruby", "fetch_token": "t"], "red"),
            ("POST", "/v1/receipts", ["deep": ["list": ["x", "ruby"]]], "red"),
            ("POST", "/v1/receipts", ["ruby": "x"], ""), ("GET", "/v1/subscribers/rub", nil, ""),
        ] as [(String, String, JSONValue?, String)]
    )
    func belongs(method: String, path: String, body: JSONValue?, namespace: String) {
        let fixture = fixture()
        fixture.fakes.assignUserIDs(["ruby"], namespace: "red")
        #expect(fixture.ask(.revenueCat, method, path, body).namespace == namespace)
    }

    @Test func `a header or a credential selects the namespace, an unknown header does not`() {
        let fixture = fixture()
        fixture.fakes.assignUserIDs(["ruby"], namespace: "red")
        fixture.fakes.assignUserIDs(["token-1"], namespace: "blue")
        func namespace(_ name: String, _ value: String) -> String {
            fixture.ask(
                .revenueCat,
                "GET",
                "/v1/subscribers/ruby",
                fields: [HTTPMessage.Field(name, value)]
            ).namespace
        }
        #expect(namespace("x-assay-namespace", "blue") == "blue", "what is said counts more")
        #expect(namespace("x-assay-namespace", "moon") == "red", "what is not there is nothing")
        let bearer = fixture.ask(
            .oneSignal,
            "GET",
            "/apps",
            fields: [HTTPMessage.Field("authorization", "Bearer token-1")]
        )
        #expect(bearer.namespace == "blue")
    }

    @Test func `a call with an ID token belongs to the namespace of the token's user`() throws {
        let fixture = fixture()
        fixture.fakes.assignUserIDs([], namespace: "red")
        let signUp = fixture.fakes.call(
            .firebase,
            HTTPMessage.Request("POST", "/v1/accounts:signUp?key=k", body: Array("{}".utf8)),
            namespace: "red"
        )
        let account = try #require(signUp.bodyJSON)
        let (id, token) = try #require(
            account["localId"]?.string.flatMap { id in
                account["idToken"]?.string.map { (id, $0) }
            }
        )
        fixture.fakes.assignUserIDs([id], namespace: "red")
        let lookup = fixture.ask(
            .firebase,
            "POST",
            "/v1/accounts:lookup?key=k",
            ["idToken": .string(token)]
        )
        #expect(lookup.namespace == "red")
        #expect(lookup.response.status == 200)
    }

    @Test func `an ID belongs to the namespace that used it last`() {
        let fixture = fixture()
        fixture.fakes.assignUserIDs(["ruby"], namespace: "red")
        fixture.fakes.assignUserIDs(["ruby"], namespace: "blue")
        #expect(fixture.fakes.ids(of: "red") == [])
        #expect(fixture.ask(.revenueCat, "GET", "/v1/subscribers/ruby").namespace == "blue")
    }

    @Test func `namespaces generate their own IDs, the same for the same seed`() {
        func id(_ seed: UInt64, _ namespace: String) -> String {
            let fakes = FakeRegistry(journalBytesMax: 1 << 16, seed: seed) { ControlFixture.start }
            fakes.assignUserIDs([], namespace: namespace)
            return fakes.edit(namespace) { services, _ in services.revenueCat.ids.newEventID() }
                ?? ""
        }
        #expect(id(1, "red") == id(1, "red"))
        #expect(id(1, "red") != id(1, "blue"))
        #expect(id(1, "red") != id(2, "red"))
    }

    @Test func `a waiting caller is notified of a change, and not of a silent one`() {
        let fixture = fixture()
        let count = Locked(0)
        fixture.fakes.setChangeListener { count.withLock { $0 += 1 } }
        fixture.fakes.edit("") { _, _ in }
        #expect(count.withLock { $0 } == 1)
        fixture.fakes.edit("", notifies: false) { _, _ in }
        fixture.fakes.edit("moon", notifies: false) { _, _ in }
        #expect(count.withLock { $0 } == 1)
        _ = fixture.fakes.read("") { services, _ in services.clock }
        #expect(count.withLock { $0 } == 1)
    }

    @Test func `a missing namespace can be neither read nor changed`() {
        let fixture = fixture()
        #expect(fixture.fakes.read("moon") { $1 } == nil)
        #expect(fixture.fakes.edit("moon") { $1 } == nil)
        #expect(!fixture.fakes.restore("none", into: "moon"))
        #expect(fixture.fakes.namespaces == [""])
        #expect(fixture.fakes.takeDueDeliveries("moon").isEmpty)
    }

    @Test func `a change that throws leaves what it did, and the namespace where it was`() {
        struct Broken: Error {}
        let fixture = fixture()
        #expect(throws: Broken.self) {
            try fixture.fakes.edit("") { services, _ in
                services.keepsEvents = true
                throw Broken()
            }
        }
        #expect(fixture.fakes.read("") { services, _ in services.keepsEvents } == true)
        #expect(fixture.fakes.namespaces == [""])
    }

    @Test func `a run's label is the journal's time, and no clock`() {
        let fixture = fixture()
        let later = ControlFixture.start + .seconds(3600)
        fixture.fakes.open("run", ids: ["ruby"], at: later)
        #expect(fixture.fakes.clock(of: "run") == later)
        fixture.ask(.revenueCat, "GET", "/v1/subscribers/ruby")
        #expect(fixture.fakes.journal.read { $0.exchanges(in: "run") }.first?.at == later)
        #expect(fixture.fakes.read("run") { $1 } == ControlFixture.start)
        fixture.fakes.remove("run")
        #expect(fixture.fakes.clock(of: "run") == ControlFixture.start)
    }
}
