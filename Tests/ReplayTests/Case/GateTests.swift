import TestBackend
import Testing
import Values

@testable import Replay

/// Bodies that are held back, and whoever waits until they have come that far.
@Suite("Gate")
struct GateTests {
    /// Lets everything happen that can, in an order that the seed chose.
    private static func run<Value: Sendable>(
        _ seed: UInt64 = 0,
        _ work: @escaping @Sendable (SimulatedClock) async -> Value
    ) throws -> Value {
        let machine = SimulatedMachine(seed: seed, load: .exact)
        let value = machine.run { await work(SimulatedClock(machine: machine)) }
        guard let value else { throw SimulationBench.Stuck() }
        return value
    }

    @Test("bodies pass when the gate opens, and not before", arguments: UInt64(0)..<20)
    func passes(seed: UInt64) throws {
        let passed = try Self.run(seed) { clock in
            let gate = Gate()
            let bodies = (0..<5).map { lane in
                clock.task {
                    await clock.pause(.milliseconds(lane))
                    return (await gate.pass(lane: lane), clock.now)
                }
            }
            await gate.reached(5)
            let reached = clock.now
            await clock.pause(.milliseconds(10))
            gate.open()
            var ends: [(Bool, Duration)] = []
            for body in bodies { ends.append(await body.value) }
            return (reached, ends.map(\.0), ends.map(\.1))
        }
        #expect(passed.0 == .milliseconds(4), "the last one came then")
        #expect(passed.1 == [true, true, true, true, true])
        #expect(passed.2.allSatisfy { $0 == .milliseconds(14) })
    }

    @Test func `a request at an open gate passes at once`() throws {
        let passed = try Self.run { _ in
            let gate = Gate()
            gate.open()
            let first = await gate.pass(lane: 1)
            await gate.reached(7)
            await gate.waitUntilOpen()
            return first
        }
        #expect(passed)
    }

    @Test("a broken gate lets nothing pass", arguments: UInt64(0)..<8)
    func breaks(seed: UInt64) throws {
        let passed = try Self.run(seed) { clock in
            let gate = Gate()
            let waiting = clock.task { await gate.pass(lane: 1) }
            await gate.reached(1)
            gate.open(breaking: true)
            return [await waiting.value, await gate.pass(lane: 2)]
        }
        #expect(passed == [false, false])
    }

    @Test func `a request that ended before it was held is not waited for`() throws {
        let count = try Self.run { clock in
            let gate = Gate()
            let held = clock.task { await gate.pass(lane: 1) }
            gate.countArrival(lane: 2)
            await gate.reached(2)
            gate.open()
            return await held.value
        }
        #expect(count)
    }

    @Test func `each lane counts once`() throws {
        let order = try Self.run { clock in
            let gate = Gate()
            let log = Log()
            let watcher = clock.task {
                await gate.reached(2)
                log.write("two")
            }
            gate.countArrival(lane: 1)
            gate.countArrival(lane: 1)
            let again = clock.task { await gate.pass(lane: 1) }
            await clock.pause(.milliseconds(1))
            log.write("still one")
            gate.countArrival(lane: 9)
            await watcher.value
            gate.open()
            _ = await again.value
            return log.lines
        }
        #expect(order == ["still one", "two"])
    }

    @Test func `requests that wait for fewer others pass first`() throws {
        let order = try Self.run { clock in
            let gate = Gate()
            let log = Log()
            let watchers = [3, 1, 2].map { count in
                clock.task {
                    await gate.reached(count)
                    log.write("\(count) at \(clock.now.milliseconds)")
                }
            }
            for lane in 1...3 {
                await clock.pause(.milliseconds(1))
                gate.countArrival(lane: lane)
            }
            for watcher in watchers { await watcher.value }
            return log.lines
        }
        #expect(order == ["1 at 1", "2 at 2", "3 at 3"])
    }

    @Test(
        "a request that waits for too many others passes when the gate opens",
        arguments: [true, false]
    )
    func opensForWatchers(isBroken: Bool) throws {
        let isOver = try Self.run { clock in
            let gate = Gate()
            let watchers = [
                clock.task { await gate.reached(99) }, clock.task { await gate.waitUntilOpen() },
            ]
            await clock.pause(.milliseconds(1))
            gate.open(breaking: isBroken)
            for watcher in watchers { await watcher.value }
            return true
        }
        #expect(isOver)
    }

    @Test func `opening a gate twice has no further effect`() throws {
        let passed = try Self.run { clock in
            let gate = Gate()
            let waiting = clock.task { await gate.pass(lane: 1) }
            await gate.reached(1)
            gate.open()
            gate.open()
            return await waiting.value
        }
        #expect(passed)
    }

    @Test func `a gate equals only itself`() {
        let (one, other) = (Gate(), Gate())
        #expect(one == one)
        #expect(one != other)
        #expect(AttemptFault.held(one, percent: 50) == .held(one, percent: 50))
        #expect(AttemptFault.held(one, percent: 50) != .held(one, percent: 100))
        #expect(Set([one, one, other]).count == 2)
    }
}

/// Lines in the order in which they were written, by tasks of one simulated machine.
final class Log: @unchecked Sendable {
    private(set) var lines: [String] = []

    func write(_ line: String) { lines.append(line) }
}
