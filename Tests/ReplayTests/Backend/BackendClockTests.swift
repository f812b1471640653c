import Contracts
import FakeServers
import Judging
import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// A backend whose clock the profile can set: the days between two deliveries pass for it too.
@Suite("The backend's clock")
struct BackendClockTests {
    private enum Kind: CaseIterable {
        /// Keeps the marks of events for ever, and goes by its clock.
        case correct
        /// Keeps them for a day.
        case losesOldEvents
        /// Answers whoever sets its clock, and leaves it as it is.
        case ignoresClockChange
    }

    /// What a backend remembers, and how far its clock is ahead.
    private final class StoredEvents: Sendable {
        private struct State {
            var ahead: Duration = .zero
            var aheads: [Duration] = []
            var seen: [String: Instant] = [:]
            var ends: [String: Instant] = [:]
        }

        private let state = Locked(State())

        /// Every setting of the clock, in order.
        var aheads: [Duration] { state.withLock { $0.aheads } }
        var ahead: Duration { state.withLock { $0.ahead } }

        func set(_ ahead: Duration, takes: Bool) {
            state.withLock { state in
                state.aheads.append(ahead)
                if takes { state.ahead = ahead }
            }
        }

        /// Whether the event is new.
        func mark(_ event: JSONValue, at now: Instant, keeping span: Duration?) -> Bool {
            state.withLock { state in
                let id = event["id"]?.string ?? ""
                if let end = event["expiration_at_ms"]?.int64 {
                    state.ends[event["app_user_id"]?.string ?? ""] = Instant(milliseconds: end)
                }
                if let known = state.seen[id], span.map({ now - known < $0 }) ?? true {
                    return false
                }
                state.seen[id] = now
                return true
            }
        }

        func isOver(_ user: String, at now: Instant) -> Bool {
            state.withLock { $0.ends[user].map { $0 <= now } ?? false }
        }
    }

    private static func bench(_ kind: Kind, status: Int = 200) -> (SimulationBench, StoredEvents) {
        let memory = StoredEvents()
        let bench = SimulationBench {
            $0.clock = .request(
                Profile.Endpoint(method: "POST", path: "/clock", body: ["s": "{{ahead}}"])
            )
        }
        bench.backend.respond = { backend, arrival in
            let now = backend.clock.wallTime + memory.ahead
            if arrival.request.path == "/clock" {
                let seconds = (try? arrival.request.json())?["s"]?.int64 ?? -1
                memory.set(.seconds(seconds), takes: kind != .ignoresClockChange)
                return .status(status)
            }
            if let event = arrival.event {
                let span: Duration? = kind == .losesOldEvents ? .seconds(86_400) : nil
                let isNew = memory.mark(event, at: now, keeping: span)
                return isNew ? nil : .status(200)
            }
            let user = String(arrival.request.path.dropFirst("/test/".count))
            guard arrival.request.method == "GET", memory.isOver(user, at: now) else { return nil }
            return .response(
                HTTPMessage.Response(200, json: ["access": false, "refunded": false])
            )
        }
        return (bench, memory)
    }

    private static func again(
        _ id: String,
        after delay: Duration,
        needs: [Feature] = [.clock],
        _ more: [Step] = []
    ) -> Contract {
        var again = SimulatedContracts.again("a")
        again.delay = delay
        var contract = SimulatedContracts.contract(
            id,
            [SimulatedContracts.deliver("a")] + more + [.deliver(again)],
            like: .once
        )
        contract.needs = needs
        return contract
    }

    private static let days = again("days", after: .seconds(3 * 86_400))

    @Test func `an event days later reaches a backend whose clock was advanced`() throws {
        let (bench, memory) = Self.bench(.correct)
        let outcome = try bench.verify(Self.days)
        #expect(outcome.verdicts == [.passed])
        #expect(memory.aheads.contains(.seconds(3 * 86_400)))
        #expect(memory.aheads.last == .zero, "whoever comes next has the machine's time")
    }

    @Test func `a backend that forgets after a day is reported`() throws {
        let (bench, _) = Self.bench(.losesOldEvents)
        let outcome = try bench.verify(Self.days)
        #expect(outcome.verdicts == [.failed])
        #expect(outcome["days"]?.findings.map(\.code) == [.unexpectedEffect])
    }

    @Test func `a clock that does not move is inconclusive`() throws {
        let (bench, memory) = Self.bench(.ignoresClockChange)
        let short = Self.again("short", after: .seconds(300), needs: [])
        let outcome = try bench.verify(Self.days, short)
        #expect(outcome.verdicts == [.inconclusive, .passed])
        let text = try #require(outcome["days"]?.findings.first?.actual)
        #expect(text.contains("either the clock did not move, or the backend"))
        // The proof asks once; the other case is played with the machine's time.
        #expect(Set(memory.aheads) == [.zero, .seconds(3 * 3600)])
    }

    @Test func `a refused clock change is reported with its response`() throws {
        let (bench, _) = Self.bench(.correct, status: 404)
        let outcome = try bench.verify(Self.days)
        #expect(outcome.verdicts == [.inconclusive])
        #expect(outcome["days"]?.findings.first?.actual.contains("returned 404") == true)
    }

    @Test func `a failed clock reset is tried again`() throws {
        let (bench, memory) = Self.bench(.correct)
        let usual = bench.backend.respond
        let failing = Locked(true)
        bench.backend.respond = { backend, arrival in
            let isReset = (try? arrival.request.json())?["s"]?.int64 == 0
            if arrival.request.path == "/clock", isReset, memory.aheads.count > 4,
                failing.withLock({
                    let was = $0; $0 = false; return was
                })
            {
                return .status(503)
            }
            return await usual(backend, arrival)
        }
        let more = Self.again("more", after: .seconds(86_400))
        let outcome = try bench.verify(Self.days, more)
        #expect(outcome.verdicts == [.passed, .passed])
        #expect(memory.aheads.last == .zero)
    }

    @Test func `an interrupted run resets the clock`() throws {
        let (bench, memory) = Self.bench(.correct)
        let cases = CaseRunnerFixture(
            bench: bench,
            contracts: [Self.days],
            interruptedAt: { _ in memory.ahead == .seconds(3 * 86_400) }
        )
        #expect(try cases.run().verdicts == [.notRun])
        #expect(memory.aheads.contains(.seconds(3 * 86_400)))
        #expect(memory.ahead == .zero, "a backend that goes on has the machine's time")
    }

    @Test func `without access no clock change is observable`() throws {
        let (bench, memory) = Self.bench(.correct)
        var profile = bench.executor.profile
        for index in profile.probes.indices { profile.probes[index].readings["access"] = nil }
        let unprovenReason = try SimulationBench.without(bench, profile) { executor in
            await ClockProof(
                executor: executor,
                name: "n-t",
                observability: SimulationBench.observability
            ).unprovenReason()
        }
        #expect(unprovenReason?.contains("no probe maps 'access'") == true)
        #expect(memory.aheads.isEmpty)
    }

    @Test(
        "the doctor checks whether the clock moves",
        arguments: [Kind.correct, .ignoresClockChange]
    )
    private func examined(kind: Kind) throws {
        let (bench, memory) = Self.bench(kind)
        let found = try bench.run { await DoctorChecks.checkBackend($0.executor, name: "d") }
        let line = try #require(found.checkResults.first { $0.topic == "clock" })
        #expect(line.state == (kind == .correct ? .good : .doubtful))
        #expect((line.hint == nil) == (kind == .correct))
        #expect(memory.aheads.last == .zero)
    }

    @Test func `a missing clock setting is reported with its profile line`() throws {
        let outcome = try SimulationBench().verify(Self.days)
        #expect(outcome.verdicts == [.notRun])
        #expect(outcome["days"]?.note?.contains("'clock'") == true)
    }

    @Test func `the clock is set along the retry schedule and for the baseline`() throws {
        let (bench, memory) = Self.bench(.correct)
        var contract = SimulatedContracts.contract(
            "ladder",
            [
                SimulatedContracts.deliver("a") {
                    $0.followsRetrySchedule = true
                    $0.lostResponses = 2
                }
            ],
            like: .faultFree
        )
        contract.needs = [.clock]
        let outcome = try bench.verify(contract)
        #expect(outcome.verdicts == [.passed])
        let minutes = memory.aheads.map { $0.milliseconds / 60_000 }
        // The proof, two twins that are looked at when the ladder is over, and the case.
        #expect(minutes == [180, 0, 155, 0, 155, 0, 5, 15, 155, 0])
    }

    @Test func `a backend without a clock setting uses the machine's clock`() {
        let restarted = Self.again("a", after: .seconds(300), [.restart(Restart(signal: .kill))])
        #expect(CasePlan(restarted).withClockTimes.subject.clock == nil)
        let timeless = Self.again("b", after: .zero)
        #expect(CasePlan(timeless).withClockTimes.subject.clock == nil)
        let plan = CasePlan(Self.days).withClockTimes
        #expect(plan.subject.clock == [.zero, .seconds(3 * 86_400)])
        #expect(plan.baseline?.clock == plan.subject.clock)
    }
}

extension SimulationBench {
    /// Work before the same backend with another profile.
    fileprivate static func without<Value: Sendable>(
        _ bench: SimulationBench,
        _ profile: Profile,
        _ work: @escaping @Sendable (RunExecutor) async -> Value
    ) throws -> Value {
        let executor = RunExecutor(
            backend: bench.executor.backend,
            fakes: bench.fakes,
            profile: profile,
            base: bench.executor.base,
            clock: bench.clock
        )
        return try bench.run { _ in await work(executor) }
    }
}
