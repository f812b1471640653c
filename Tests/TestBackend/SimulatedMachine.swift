import Contracts
import Replay
package import Values

/// A machine with one core, whose seed decides what runs next, how long it takes, which timers fire
/// late and when a process stands still; its time is virtual.
///
/// Two processes share it: Assay's, to which the fakes belong, and the backend's. Everything
/// happens on the thread that calls `run`, so nothing needs a lock.
package final class SimulatedMachine: @unchecked Sendable {
    package enum Process: Int, CaseIterable, Sendable { case assay, backend }

    /// The delays that other programs on the machine cause.
    package struct Load: Sendable {
        /// The longest time of one job, in microseconds.
        package var jobMax: Int64 = 100
        /// The longest delay of a timer, in microseconds.
        package var lateMax: Int64 = 800
        /// The number of timers for each stall, on average; 0 for no stalls.
        package var stallOneIn: UInt64 = 0
        /// The longest stall, in milliseconds.
        package var stallMax: Int64 = 0
        /// The groups of processes that stall together.
        package var stalled: [[Process]] = [Process.allCases]

        package static let faultFree = Load()
        /// No timer is late, and no job takes any time.
        package static let exact = late(byAtMost: 0)
        /// Timers are late by at most this number of microseconds, and no job takes any time.
        package static func late(byAtMost lateMax: Int64) -> Load {
            Load(jobMax: 0, lateMax: lateMax)
        }
        /// Timers have delays that no verdict depends on, and short stalls are rare.
        package static let busy = Load(
            jobMax: 400,
            lateMax: 40_000,
            stallOneIn: 60,
            stallMax: 400,
            stalled: [[.assay], [.assay, .backend]]
        )
        /// Assay, or the whole machine, stalls for seconds.
        package static let starved = Load(
            jobMax: 800,
            lateMax: 60_000,
            stallOneIn: 120,
            stallMax: 9000,
            stalled: [[.assay], [.assay, .backend], [.assay, .backend]]
        )
        /// Long stalls are so frequent that no repeated check finds a quiet time.
        package static let overloaded = Load(
            jobMax: 800,
            lateMax: 60_000,
            stallOneIn: 25,
            stallMax: 9000,
            stalled: [[.assay], [.assay, .backend], [.assay, .backend]]
        )
    }

    /// The executor of one process.
    package final class Core: TaskExecutor, @unchecked Sendable {
        fileprivate var ready: [UnownedJob] = []

        package func enqueue(_ job: consuming ExecutorJob) { ready.append(UnownedJob(job)) }
    }

    private struct Timer {
        var time: Duration
        let order: Int
        let process: Process
        let action: () -> Void
    }

    package let load: Load
    package private(set) var now: Duration = .zero
    /// The sum of all changes of the machine's date.
    package var dateChange: Duration = .zero
    package private(set) var stallCount = 0
    private var random: SeededGenerator
    private let cores = Process.allCases.map { _ in Core() }
    private var timers: [Timer] = []
    private var cancelled: Set<Int> = []
    private var orderCount = 0
    private var wakes = Process.allCases.map { _ in Duration.zero }

    /// The number of steps after which a run counts as an endless loop.
    private static let stepCountMax = 5_000_000

    package init(seed: UInt64, load: Load = .faultFree) {
        random = SeededGenerator(seed: seed, text: "machine")
        self.load = load
    }

    package func core(_ process: Process) -> Core { cores[process.rawValue] }

    /// Returns a number from the seed.
    package func pick(_ range: ClosedRange<Int64>) -> Int64 {
        Int64.random(in: range, using: &random)
    }

    package func isOne(in count: UInt64) -> Bool { count > 0 && random.next() % count == 0 }

    // MARK: Timers

    /// Calls back at a time or later, in a process.
    @discardableResult
    package func at(_ time: Duration, _ process: Process, _ action: @escaping () -> Void) -> Int {
        orderCount += 1
        let late: Duration = .microseconds(pick(0...load.lateMax))
        push(
            Timer(time: max(time, now) + late, order: orderCount, process: process, action: action)
        )
        return orderCount
    }

    package func cancel(_ order: Int) { cancelled.insert(order) }

    private func push(_ timer: Timer) {
        timers.append(timer)
        var child = timers.count - 1
        while child > 0, isBefore(timers[child], timers[(child - 1) / 2]) {
            timers.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private func isBefore(_ left: Timer, _ right: Timer) -> Bool {
        (left.time, left.order) < (right.time, right.order)
    }

    private func pop() -> Timer? {
        guard !timers.isEmpty else { return nil }
        timers.swapAt(0, timers.count - 1)
        let first = timers.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < timers.count && isBefore(timers[child], timers[least]) {
                least = child
            }
            guard least != parent else { return first }
            timers.swapAt(parent, least)
            parent = least
        }
    }

    // MARK: Running

    /// Runs the work in Assay's process, and returns its value; nil when all tasks wait for an event
    /// that never comes.
    package func run<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Value? {
        nonisolated(unsafe) var result: Value?
        Task(executorPreference: core(.assay)) { result = await work() }
        var stepCount = 0
        while result == nil, stepCount < Self.stepCountMax {
            guard step() else { return nil }
            stepCount += 1
        }
        return result
    }

    /// Runs one job or advances to the next timer; false when nothing is left to do.
    private func step() -> Bool {
        let able = Process.allCases.filter {
            wakes[$0.rawValue] <= now && !core($0).ready.isEmpty
        }
        guard let process = able.randomElement(using: &random) else { return advance() }
        let chosen = core(process)
        let index = Int.random(in: chosen.ready.indices, using: &random)
        chosen.ready.swapAt(index, chosen.ready.count - 1)
        chosen.ready.removeLast().runSynchronously(on: chosen.asUnownedTaskExecutor())
        now += .microseconds(pick(0...load.jobMax))
        return true
    }

    /// Advances the time until a process can run.
    private func advance() -> Bool {
        let waking = Process.allCases.filter { !core($0).ready.isEmpty }
            .map { wakes[$0.rawValue] }.min()
        if let waking, timers.first.map({ waking <= $0.time }) ?? true {
            now = max(now, waking)
            return true
        }
        guard var timer = pop() else { return false }
        if cancelled.remove(timer.order) != nil { return true }
        if wakes[timer.process.rawValue] > timer.time {
            // The process of the timer is stalled.
            timer.time = wakes[timer.process.rawValue]
            push(timer)
            return true
        }
        now = max(now, timer.time)
        if isOne(in: load.stallOneIn), let stalled = load.stalled.randomElement(using: &random) {
            let end = now + .milliseconds(pick(1...load.stallMax))
            for process in stalled { wakes[process.rawValue] = end }
            stallCount += 1
            push(timer)
            return true
        }
        timer.action()
        return true
    }
}

/// The time of one process on a simulated machine.
package struct SimulatedClock: RunClock {
    package static let start = Instant(milliseconds: 1_790_003_600_000)

    package let machine: SimulatedMachine
    package let process: SimulatedMachine.Process

    package init(machine: SimulatedMachine, process: SimulatedMachine.Process = .assay) {
        self.machine = machine
        self.process = process
    }

    package var now: Duration { machine.now }
    package var wallTime: Instant { Self.start + machine.now + machine.dateChange }
    package var executor: (any TaskExecutor)? { machine.core(process) }

    package func sleep(until deadline: Duration) async throws(CancellationError) {
        let cell = SimulatedCell<Bool>()
        let order = machine.at(deadline, process) { cell.fill(true) }
        let isOver = await withTaskCancellationHandler {
            await cell.value
        } onCancel: {
            machine.cancel(order)
            cell.fill(false)
        }
        if !isOver { throw CancellationError() }
    }
}

/// A value that is set once; later values are ignored.
package final class SimulatedCell<Value: Sendable>: @unchecked Sendable {
    private var filled: Value?
    private var waiting: CheckedContinuation<Value, Never>?

    package init() {}

    package func fill(_ value: Value) {
        guard filled == nil else { return }
        filled = value
        waiting?.resume(returning: value)
        waiting = nil
    }

    package var value: Value {
        get async {
            await withCheckedContinuation { continuation in
                if let filled {
                    continuation.resume(returning: filled)
                } else {
                    waiting = continuation
                }
            }
        }
    }
}
