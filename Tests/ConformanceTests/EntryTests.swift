import Conformance
import Testing

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

    @Test func `a run of before names its phone in a header, which is gone afterwards`() throws {
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

    @Test func `what is no exchange says what it is`() throws {
        let tap = Gesture("upgrade", missing: "#buy")
        let gesture = Exchange.gesture(tap, on: "phone", namespace: "n", at: Self.now)
        #expect(gesture.entry == .gesture(tap, on: PhoneRef("phone")))
        let broken = Exchange.gesture(.pageError("no"), on: "p", namespace: "n", at: Self.now)
        #expect(broken.entry == .gesture(.pageError("no"), on: PhoneRef("p")))
        let screen = Exchange.screen(["access": true], on: "p", namespace: "n", at: Self.now)
        #expect(screen.entry == .screen(["access": true], on: PhoneRef("p")))
        let sighting = Exchange.sighting(of: "p", [:], namespace: "n", at: Self.now)
        #expect(sighting.entry == .sighting(probe: "phone", of: "p"))
        let restart = Exchange.restart(.kill, namespace: "n", at: Self.now)
        #expect(restart.entry == .restart("SIGKILL, then started again"))
        #expect(Self.call([], nil).entry == .exchange)
        for entry in [gesture, broken, screen, sighting, restart] {
            let read = try JSONValue(encoding: entry).decoded(as: Exchange.self)
            #expect(read.entry == entry.entry)
            var journal = Journal()
            let sequence = journal.append(entry)
            #expect(journal.exchange(sequence)?.entry == entry.entry)
        }
    }

    /// Contracts that differ in where their steps stand say the same.
    @Test func `places are no part of what a contract says, and old ones have none`() throws {
        var contract = EvidenceBuilder([], expectation: EvidenceBuilder.expectation()).contract
        let bare = contract
        contract.places = StepPlaces([EvidenceBuilder.location])
        #expect(contract == bare && contract.hashValue == bare.hashValue)
        let text = try JSONValue(encoding: contract)
        var saved = try #require(text.object)
        saved["places"] = nil
        #expect(try JSONValue.object(saved).decoded(as: Contract.self) == bare)
    }
}
