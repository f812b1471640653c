import Foundation
import Judging
import TestBackend
import Testing

/// How many schedules of the runner can be tried in how much time; told, and judged only by their
/// verdicts.
///
/// `ASSAY_SIMULATION_SUITES=1000 swift test -c release -Xswiftc -enable-testing --filter "Simulation speed"`
/// tries so many seeds on all cores, a third of them on each kind of machine.
@Suite("Simulation speed")
struct SimulationSpeedTests {
    private static let suiteCount = UInt64(
        ProcessInfo.processInfo.environment["ASSAY_SIMULATION_SUITES"] ?? ""
    )
    private static let loads: [SimulatedMachine.Load] = [.faultFree, .busy, .starved]

    private struct RunCounts: Sendable {
        var cases = 0
        var runs = 0
        var exchanges = 0
        var virtual: Duration = .zero
        /// Seeds whose verdicts on a correct backend were red.
        var red: [UInt64] = []

        static func + (left: RunCounts, right: RunCounts) -> RunCounts {
            RunCounts(
                cases: left.cases + right.cases,
                runs: left.runs + right.runs,
                exchanges: left.exchanges + right.exchanges,
                virtual: left.virtual + right.virtual,
                red: left.red + right.red
            )
        }
    }

    private static func run(_ seed: UInt64) -> RunCounts {
        // Other seeds than those that every test run tries.
        let load = loads[Int(seed % 3)]
        let outcome = SimulatedSuite(seed: 1_000_000 + seed, load: load).run()
        let isRed = outcome.results == nil || !outcome.cases(.failed).isEmpty
        return RunCounts(
            cases: outcome.results?.count ?? 0,
            runs: outcome.runCount,
            exchanges: outcome.journal.count,
            virtual: outcome.time,
            red: isRed ? [1_000_000 + seed] : []
        )
    }

    @Test(.enabled(if: suiteCount != nil, "set ASSAY_SIMULATION_SUITES"))
    func `schedules are tried by the thousand`() async throws {
        let count = try #require(Self.suiteCount)
        let clock = ContinuousClock()
        let start = clock.now
        let total = await withTaskGroup(of: RunCounts.self) { group in
            let width = UInt64(max(1, ProcessInfo.processInfo.activeProcessorCount))
            var next: UInt64 = 0
            func add() {
                guard next < count else { return }
                let seed = next
                group.addTask { Self.run(seed) }
                next += 1
            }
            for _ in 0..<width { add() }
            var total = RunCounts()
            for await part in group {
                total = total + part
                add()
            }
            return total
        }
        let took = (clock.now - start).components
        let seconds = Double(took.seconds) + Double(took.attoseconds) / 1e18
        func rate(_ number: Int) -> String { String(format: "%.0f", Double(number) / seconds) }
        print(
            "simulated \(count) suites in \(String(format: "%.1f", seconds)) s: "
                + "\(total.cases) cases (\(rate(total.cases))/s), "
                + "\(total.runs) runs (\(rate(total.runs))/s), \(total.exchanges) exchanges; "
                + "\(total.virtual.components.seconds) s of virtual time"
        )
        #expect(total.red.isEmpty, "red on a correct backend: seeds \(total.red)")
        #expect(total.cases >= Int(count) * SimulatedContracts.all.count)
    }
}
