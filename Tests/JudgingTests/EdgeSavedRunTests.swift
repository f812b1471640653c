import Contracts
import Judging
import Testing
import TestSupport
import Values

/// A saved run with values at the edge of their types is judged, or its line is named.
@Suite("Edge values of saved runs")
struct EdgeSavedRunTests {
    /// A run whose cases have deliveries, retries, pushes, probes and twins.
    private static func lines() throws -> [JSONValue] {
        let relations: [Expectation.BaselineRelation?] = [nil, .once, .faultFree]
        let cases = relations.map { relation -> CaseResult in
            var builder = EvidenceBuilder(expectation: SampleContract.expectation(relation))
            let id = builder.id(of: "ada")
            builder.contract.id = "test/case-\(relation.map { "\($0)" } ?? "plain")"
            builder.subject = [
                EvidenceBuilder.delivery(
                    "purchase",
                    .failed(.timedOut, "no answer"),
                    invoked: 5,
                    completed: 9
                ),
                EvidenceBuilder.delivery(attempt: 2, invoked: 300, completed: 900),
                EvidenceBuilder.push(to: id), EvidenceBuilder.push(to: id, key: nil),
                EvidenceBuilder.probe(["access": true, "until": 1_795_000_000_000]),
            ]
            builder.baselines = [
                [
                    EvidenceBuilder.delivery(invoked: 3, completed: 4),
                    EvidenceBuilder.push(to: id),
                    EvidenceBuilder.probe(["access": false, "until": 1_796_000_000_000]),
                ]
            ]
            return CaseResult(judging: builder.evidence)
        }
        return try SavedRun.lines(RunReport(of: cases), profile: Profile())
            .map { try JSONValue(parsing: Array($0.utf8)) }
    }

    @Test(
        "a modified saved run is judged, or refused with its line number",
        arguments: EdgeValues.seeds
    )
    func changed(seed: UInt64) async throws {
        var edges = EdgeValues(seed: seed, text: "saved run")
        let lines = try Self.lines()
        var judgedCount = 0
        for _ in 0..<EdgeValues.inputCount(150) {
            let chosen = edges.pick(Array(lines.indices))
            let bytes = lines.enumerated().map { index, line in
                (index == chosen ? edges.changed(line) : line.bytes) + [UInt8(ascii: "\n")]
            }.joined()
            let text = String(decoding: bytes, as: UTF8.self)
            let isInTime = await EdgeValues.run(Array(bytes)) {
                guard let saved = try? SavedRun(parsing: text) else { return }
                judgedCount += 1
                let report = saved.judged(knownFailures: KnownFailures())
                #expect(report.cases.count <= lines.count)
                _ = report.exitCode
            }
            #expect(isInTime)
        }
        #expect(judgedCount > 0)
        #expect(EdgeValues.isWithinMemory)
    }

    @Test(
        "a time beyond 10,000 years is refused with its line number",
        arguments: [Int64.min, -316_224_000_000_000_001, 316_224_000_000_000_001, .max]
    )
    func times(microseconds: Int64) throws {
        for key in ["invoked", "completed"] {
            var lines = try Self.lines().map(\.text)
            lines[1] = lines[1].replacing("\"\(key)\":5", with: "\"\(key)\":\(microseconds)")
            #expect(throws: SavedRun.ReadError.self) {
                try SavedRun(parsing: lines.joined(separator: "\n"))
            }
        }
    }
}
