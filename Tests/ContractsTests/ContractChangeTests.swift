import Contracts
internal import Providers
import Testing
import TestSupport
import Values

/// What two versions of a contract say differently: all of it, and whole.
@Suite("Contract changes")
struct ContractChangeTests {
    private static let place = SmallContracts.place

    private static func contract(
        _ steps: [Step],
        effects: [EffectExpectation] = [],
        _ change: (inout Contract) -> Void = { _ in }
    ) -> Contract {
        SmallContracts.contract(steps, effects: effects) { contract in
            contract.provenance = Provenance(
                recorded: Instant(milliseconds: 0),
                ageMax: nil,
                location: place
            )
            change(&contract)
        }
    }

    /// `place pointer: old → new`.
    private static func printed(_ change: ContractChange) -> String {
        let place =
            change.place.joined(separator: " › ")
            + (change.pointer.map { " \($0)" } ?? "")
        return "\(place): \(change.old ?? "nothing") → \(change.new ?? "nothing")"
            + (change.isMove ? " (moved)" : "")
    }

    private static let long = String(repeating: "x", count: 200)

    private static let changes: [(String, Contract, Contract, [String])] = [
        (
            "nothing", contract([SmallContracts.request("a")]),
            contract([SmallContracts.request("a")]), []
        ),
        (
            "words and dates", contract([SmallContracts.request("a")]),
            contract([SmallContracts.request("a")]) {
                $0.title = "Another"
                $0.source = "elsewhere"
                $0.provenance?.recorded = Instant(milliseconds: 86_400_000)
            }, []
        ),
        (
            "how long it is good for", contract([SmallContracts.request("a")]),
            contract([SmallContracts.request("a")]) { $0.provenance?.ageMax = .seconds(86_400) },
            ["max-age: nothing → 1d"]
        ),
        (
            "a step less", contract([SmallContracts.event("a"), SmallContracts.event("b")]),
            contract([SmallContracts.event("b")]),
            ["steps › deliver a: {deliver: a, body: {\"event\":{\"type\":\"RENEWAL\"}}} → nothing"]
        ),
        (
            "another order", contract([SmallContracts.event("a"), SmallContracts.event("b")]),
            contract([SmallContracts.event("b"), SmallContracts.event("a")]),
            ["steps › deliver a: 1. → 2. (moved)"]
        ),
        (
            "another target", contract([SmallContracts.request("a")]),
            contract([SmallContracts.request("a") { $0.target = "/z" }]),
            ["steps › request a › send: GET /a → GET /z"]
        ),
        (
            "a header", contract([SmallContracts.request("a")]),
            contract([SmallContracts.request("a") { $0.fields = [.init("x", "1")] }]),
            ["steps › request a › headers: nothing → {x: \"1\"}"]
        ),
        (
            "another text", contract([SmallContracts.request("a") { $0.body = .text("t") }]),
            contract([SmallContracts.request("a") { $0.body = .text("u") }]),
            ["steps › request a › text: \"t\" → \"u\""]
        ),
        (
            "members of a body",
            contract([SmallContracts.request("a") { $0.body = .json(["k": 1]) }]),
            contract([SmallContracts.request("a") { $0.body = .json(["k": 2, "l": true]) }]),
            [
                "steps › request a › body /k: 1 → 2",
                "steps › request a › body /l: nothing → true",
            ]
        ),
        (
            "another status", contract([SmallContracts.request("a")]),
            contract([SmallContracts.request("a") { $0.answer?.status = 404 }]),
            ["steps › request a › response › status: 200 → 404"]
        ),
        (
            "an answer of another kind", contract([SmallContracts.request("a")]),
            contract([SmallContracts.request("a") { $0.answer?.body = .json([]) }]),
            ["steps › request a › response › body: {\"a\":1,\"b\":{\"c\":2}} → []"]
        ),
        (
            "an event's body", contract([SmallContracts.event("e")]),
            contract([SmallContracts.event("e", .body(["event": ["type": "EXPIRATION"]]))]),
            ["steps › deliver e › body /event/type: \"RENEWAL\" → \"EXPIRATION\""]
        ),
        (
            "another kind of event", contract([SmallContracts.event("e")]),
            contract([SmallContracts.event("e", .repeats("d"))]),
            [
                "steps › deliver e › body: {\"event\":{\"type\":\"RENEWAL\"}} → nothing",
                "steps › deliver e › repeats: nothing → d",
            ]
        ),
        (
            "a message more", contract([], effects: [SmallContracts.effect(1)]),
            contract([], effects: [SmallContracts.effect(2)]),
            ["expect › effects › onesignal notification › count: 1 → 2"]
        ),
        (
            "the end of a message",
            contract(
                [],
                effects: [SmallContracts.effect(1, expectedContent: ["en": .string(long + ".")])]
            ),
            contract(
                [],
                effects: [SmallContracts.effect(1, expectedContent: ["en": .string(long + "!")])]
            ),
            [
                "expect › effects › onesignal notification › content /en: \"\(long).\" → \"\(long)!\""
            ]
        ),
        (
            "the second of two that bear one name",
            contract(
                [],
                effects: [
                    SmallContracts.effect(1, expectedContent: ["en": "a"]),
                    SmallContracts.effect(1, expectedContent: ["en": "b"]),
                ]
            ),
            contract(
                [],
                effects: [
                    SmallContracts.effect(1, expectedContent: ["en": "a"]),
                    SmallContracts.effect(1, expectedContent: ["en": "c"]),
                ]
            ),
            ["expect › effects › onesignal notification › content /en: \"b\" → \"c\""]
        ),
        (
            "what is expected beside them", contract([]),
            contract([]) {
                $0.needs = [.push]
                $0.expectation.within = .seconds(3)
                $0.expectation.responses = .statuses([200, 201])
            },
            [
                "needs: nothing → [push]", "expect › status: 200 → [200, 201]",
                "expect › within: nothing → +3s",
            ]
        ),
        (
            "values", contract([]) { $0.values = ["a": 1, "b": 2] },
            contract([]) { $0.values = ["b": 3, "c": 4] },
            ["values › a: 1 → nothing", "values › b: 2 → 3", "values › c: nothing → 4"]
        ),
    ]

    @Test("a change is printed", arguments: changes.indices)
    func change(index: Int) {
        let (name, old, new, printed) = Self.changes[index]
        #expect(ContractChange.changes(from: old, to: new).map(Self.printed) == printed, "\(name)")
        #expect(ContractChange.changes(from: old, to: old).isEmpty)
        #expect(
            ContractChange.changes(from: new, to: old).isEmpty == printed.isEmpty,
            "a change has a way back"
        )
    }
}
