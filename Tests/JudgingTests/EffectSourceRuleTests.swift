import Contracts
import Judging
import Providers
import TestSupport
import Testing
import Values

/// Messages that a route lists in place of pushes.
struct EffectSourceRuleTests {
    private static func source(_ name: String) -> Profile.EffectSource {
        Profile.EffectSource(
            probe: Profile.Probe(
                name: Profile.EffectSource.namePrefix + name,
                source: .get("/\(name)/{{id}}"),
                readings: [:],
                ignoredPointers: []
            ),
            listPointer: JSONPointer(tokens: ["items"]),
            keyPointer: JSONPointer(tokens: ["id"])
        )
    }

    /// A case that expects one message, with the responses of its sources in order.
    private static func evidence(
        _ reads: [(source: String, response: JSONValue?, status: Int)]
    ) -> CaseEvidence {
        var expectation = SampleContract.expectation()
        expectation.effects = [
            EffectExpectation(
                kind: "onesignal.notification",
                user: "ada",
                countMin: 1,
                countMax: 1,
                requiresSameIdempotencyKey: false,
                location: SampleContract.location
            )
        ]
        var builder = EvidenceBuilder(expectation: expectation)
        builder.profile.unsupportedFeatures = [.push]
        builder.profile.effectSources = Set(reads.map(\.source)).sorted().map(source)
        let id = builder.id(of: "ada")
        builder.subject =
            [EvidenceBuilder.delivery()]
            + reads.map { read in
                let source = source(read.source)
                var exchange = EvidenceBuilder.probe(
                    read.response,
                    status: read.status,
                    name: source.probe.name
                )
                exchange.effects = ListedEffects(exchange.outcome, of: source)
                    .effects(recipient: id)
                return exchange
            }
        for index in builder.subject.indices { builder.subject[index].sequence = index + 1 }
        return builder.evidence
    }

    private static func list(_ count: Int) -> JSONValue {
        ["items": .array((0..<count).map { ["id": .integer(Int64($0))] })]
    }

    private static func judged(
        _ reads: [(source: String, response: JSONValue?, status: Int)]
    ) -> [FindingCode] {
        Judge.judge(evidence(reads)).findings.map(\.code)
    }

    @Test("the last response counts", arguments: 0..<4, 0..<4)
    func lastResponse(first: Int, last: Int) {
        let codes = Self.judged([("mail", Self.list(first), 200), ("mail", Self.list(last), 200)])
        #expect(codes == (last == 1 ? [] : [.wrongEffectCount]))
    }

    @Test("each source is counted alone", arguments: 0..<3, 0..<3)
    func separateSources(mail: Int, outbox: Int) {
        let codes = Self.judged([
            ("mail", Self.list(mail), 200), ("outbox", Self.list(outbox), 200),
        ])
        let isEachCountRight = mail == 1 && outbox == 1
        #expect(Set(codes) == (isEachCountRight ? [] : [.wrongEffectCount]))
    }

    private static let unreadable: [(JSONValue?, Int)] = [
        (list(1), 403), (list(1), 500), (["rows": []], 200), (["items": ["a"]], 200),
        (["items": [["id": .null]]], 200), (["items": 5], 200),
    ]

    @Test("a source that cannot be read is no missing message", arguments: unreadable.indices)
    func isUnreadable(index: Int) {
        let (response, status) = Self.unreadable[index]
        let (verdict, findings) = Judge.judge(Self.evidence([("mail", response, status)]))
        #expect(findings.contains { $0.code == .unobservable }, "\(findings)")
        #expect(verdict == .inconclusive, "\(findings)")
    }

    @Test func `a user without messages may be unknown to the source`() {
        #expect(Self.judged([("mail", nil, 404)]) == [.wrongEffectCount])
    }

    @Test func `messages with one key count separately`() {
        let twice: JSONValue = ["items": [["id": 1], ["id": 1]]]
        #expect(Self.judged([("mail", twice, 200)]) == [.wrongEffectCount])
    }
}
