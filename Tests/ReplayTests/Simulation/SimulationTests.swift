import Contracts
import Foundation
import Judging
import TestBackend
import Testing

/// The runner proves itself: before a backend that is correct by construction it is never red, and
/// before one that is broken never green, whatever the seed lets happen when.
///
/// `ASSAY_SIMULATIONS=N` tries N times as many seeds; a failure names the seed that shows it. How fast
/// that goes says `SimulationSpeedTests`.
@Suite("Simulated runner")
struct SimulationTests {
    private static let factor = UInt64(
        ProcessInfo.processInfo.environment["ASSAY_SIMULATIONS"] ?? ""
    )
    private static let loads: [(String, SimulatedMachine.Load)] = [
        ("busy", .busy), ("starved", .starved),
    ]

    private static func seeds(_ count: UInt64) -> Range<UInt64> { 0..<count * (factor ?? 1) }

    @Test func `a correct backend passes on an idle machine`() {
        for seed in Self.seeds(8) {
            let outcome = SimulatedSuite(seed: seed).run()
            #expect(outcome.text.isEmpty, "seed \(seed): \(outcome.text)")
            #expect((outcome.results?.count ?? 0) >= SimulatedContracts.all.count, "seed \(seed)")
        }
    }

    @Test("a correct backend never fails on a busy machine", arguments: loads)
    func correctUnderLoad(name: String, load: SimulatedMachine.Load) {
        for seed in Self.seeds(8) {
            let outcome = SimulatedSuite(seed: seed, load: load).run()
            #expect(outcome.results != nil, "seed \(seed) never ended")
            #expect(outcome.cases(.failed).isEmpty, "seed \(seed): \(outcome.text)")
        }
    }

    @Test(
        "a broken backend fails on an idle machine and never passes on a busy one",
        arguments: SubscriptionModel.Defect.allCases
    )
    func broken(defect: SubscriptionModel.Defect) {
        for seed in Self.seeds(1) {
            let faultFree = SimulatedSuite(seed: seed, defect: defect).run()
            if defect == .showsAfterEightSeconds {
                // Effects that come after the settle timeout prove nothing, but nothing passes.
                #expect(faultFree.cases(.failed).isEmpty, "seed \(seed): \(faultFree.text)")
                #expect(!faultFree.cases(.inconclusive).isEmpty, "seed \(seed)")
            } else {
                #expect(!faultFree.cases(.failed).isEmpty, "seed \(seed): \(faultFree.text)")
            }
            for (name, load) in Self.loads {
                let outcome = SimulatedSuite(seed: seed, load: load, defect: defect).run()
                #expect(outcome.results != nil, "seed \(seed), \(name): never ended")
                #expect(!outcome.text.isEmpty, "seed \(seed), \(name): green")
            }
        }
    }

    @Test(
        "a seed reproduces a run exactly",
        arguments: [nil, .losesOneInFive, .checksBeforeItStores] as [SubscriptionModel.Defect?]
    )
    func reproduces(defect: SubscriptionModel.Defect?) throws {
        for (_, load) in Self.loads {
            var suite = SimulatedSuite(seed: 7, load: load, defect: defect)
            suite.keepsEvidence = true
            let (first, second) = (suite.run(), suite.run())
            #expect(first.time == second.time)
            #expect(first.stallCount == second.stallCount)
            #expect(first.journal == second.journal)
            #expect(first.journal.count > 200)
            let pairs = zip(try #require(first.results), try #require(second.results))
            for (left, right) in pairs {
                #expect(left.verdict == right.verdict)
                #expect(left.findings == right.findings)
                #expect(left.evidence == right.evidence, "\(left.contract.caseID)")
            }
            suite.seed = 8
            let other = suite.run()
            #expect(other.time != first.time)
            #expect(other.journal != first.journal)
        }
    }

    /// A case whose run a stall decided runs again.
    @Test func `a stall of Assay never fails a case`() {
        var (stallCount, busyRunCount) = (0, 0)
        for seed in Self.seeds(8) {
            let outcome = SimulatedSuite(seed: seed, load: .overloaded).run()
            #expect(outcome.cases(.failed).isEmpty, "seed \(seed): \(outcome.text)")
            stallCount += outcome.stallCount
            busyRunCount += (outcome.results ?? []).reduce(0) { $0 + $1.busyRunCount }
        }
        #expect(stallCount > 0, "no schedule stalled Assay, so nothing was tested")
        #expect(busyRunCount > 0, "no stall decided a run, so no case ran again")
    }
}
