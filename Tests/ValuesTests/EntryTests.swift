import Testing
import Values

/// Phones and gestures in the journal: typed, and read from runs of before.
@Suite("Entries of the journal")
struct EntryTests {
    private static let now = Instant(milliseconds: 1_790_000_000_000)

    private static func call(_ fields: [HTTPMessage.Field], _ phone: PhoneRef?) -> Exchange {
        Exchange(
            from: .app,
            to: .backend,
            namespace: "n",
            purpose: .appCall("register"),
            at: now,
            request: HTTPMessage.Request("POST", "/r", fields: fields),
            phone: phone
        )
    }

    @Test("the journal keeps the phone", arguments: [nil, PhoneRef("a"), PhoneRef("b", load: "2")])
    func packed(phone: PhoneRef?) {
        var journal = Journal()
        let sequence = journal.append(Self.call([], phone))
        #expect(journal.exchange(sequence)?.phone == phone)
        #expect(journal.exchange(sequence)?.request.fields == [])
    }

    @Test func `an old run stores its phone in a header, which is removed on reading`() throws {
        let old = Self.call(
            [
                HTTPMessage.Field("x-assay-phone", "second"),
                HTTPMessage.Field("content-type", "application/json"),
                HTTPMessage.Field("x-assay-load", "3"),
            ],
            nil
        )
        let read = try JSONValue(encoding: old).decoded(as: Exchange.self)
        #expect(read.phone == PhoneRef("second", load: "3"))
        #expect(read.request.fields.map(\.name) == ["content-type"])
        let again = try JSONValue(encoding: read).decoded(as: Exchange.self)
        #expect(again == read)
    }

    @Test func `an entry that is not an exchange names its kind`() throws {
        let tap = UserAction("upgrade", missingElement: "#buy")
        let userAction = Exchange.userAction(tap, on: "phone", namespace: "n", at: Self.now)
        #expect(userAction.entry == .userAction(tap, on: PhoneRef("phone")))
        let broken = Exchange.userAction(.pageError("no"), on: "p", namespace: "n", at: Self.now)
        #expect(broken.entry == .userAction(.pageError("no"), on: PhoneRef("p")))
        let screen = Exchange.screen(["access": true], on: "p", namespace: "n", at: Self.now)
        #expect(screen.entry == .screen(["access": true], on: PhoneRef("p")))
        let observation = Exchange.observation(of: "p", [:], namespace: "n", at: Self.now)
        #expect(observation.entry == .observation(probe: "phone", of: "p"))
        let restart = Exchange.restart("KILL", namespace: "n", at: Self.now)
        #expect(restart.entry == .restart("SIGKILL, then started again"))
        #expect(Self.call([], nil).entry == .exchange)
        for entry in [userAction, broken, screen, observation, restart] {
            let read = try JSONValue(encoding: entry).decoded(as: Exchange.self)
            #expect(read.entry == entry.entry)
            var journal = Journal()
            let sequence = journal.append(entry)
            #expect(journal.exchange(sequence)?.entry == entry.entry)
        }
    }
}
