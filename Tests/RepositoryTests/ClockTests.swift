import Foundation
import TestSupport
import Testing

/// Whoever plays cases knows no time but the one that is given, and starts no task behind its back: so
/// a seed can decide what happens when.
@Suite("Clocks")
struct ClockTests {
    private struct Way {
        let name: String
        let pattern: String

        init(_ name: String, _ pattern: String) {
            self.name = name
            self.pattern = pattern
        }
    }

    private static let ways = [
        Way("the time of this machine", #"\b(Continuous|Suspending)Clock\b"#),
        Way("the runner's real clock", #"\bRealClock\("#),
        Way("the date of this machine", #"\bDate(\(\)|\.now\b)|\bDate\(timeIntervalSinceNow"#),
        Way("a date's distance from now", #"timeIntervalSinceNow"#),
        Way("a deadline of a library", #"(?<![\w)])\.now\(\)|\b(DispatchTime|NIODeadline)\.now"#),
        Way("a clock of the C library", #"\b(clock_gettime|gettimeofday|time)\((nil|&|CLOCK)"#),
        Way("the time since start-up", #"systemUptime|mach_absolute_time"#),
        Way("a sleep of the library", #"\bTask(<[^>]*>)?\.sleep\("#),
        Way("a task of its own", #"\bTask(\.detached|\.immediate)?(<[^>]*>)?(\([^)]*\))? ?\{"#),
    ]

    /// Where real time comes in, and why.
    ///
    /// A file that needs none any more must leave the list.
    private static let allowed: [String: String] = [
        "Sources/Replay/RunClock.swift": "the one clock, and the one way to start a task",
        "Sources/Replay/ReplaySession.swift": "opens real ports and a real backend, in real time",
        "Sources/Replay/BackendClient.swift": "a socket's limit is the kernel's time",
        "Sources/Replay/BackendProcess.swift": "a process is given its time to end",
    ]

    /// The lines of what plays cases, without comments.
    private static let lines = Repository.lines(below: "Sources/Replay", "Sources/Phone")
        .filter { !$0.text.trimmingCharacters(in: .whitespaces).hasPrefix("//") }

    private static func finds(_ way: Way, in line: String) throws -> Bool {
        let range = NSRange(line.startIndex..., in: line)
        return try NSRegularExpression(pattern: way.pattern).firstMatch(in: line, range: range)
            != nil
    }

    @Test func `nobody who plays cases reads a clock that was not given`() throws {
        #expect(Self.lines.count > 4000, "the sources were not found")
        var needing: Set<String> = []
        for line in Self.lines {
            for way in Self.ways where try Self.finds(way, in: line.text) {
                needing.insert(line.path)
                #expect(
                    Self.allowed[line.path] != nil,
                    "\(line.path):\(line.number): \(way.name); take it from the RunClock"
                )
            }
        }
        for (path, reason) in Self.allowed {
            #expect(needing.contains(path), "'\(path)' needs no real time any more: \(reason)")
        }
    }

    @Test(
        "every way is found",
        arguments: [
            "let clock = ContinuousClock()", "let start = SuspendingClock.now",
            "clock: any RunClock = RealClock()", "let now = Date()", "if Date.now > end {",
            "Date(timeIntervalSinceNow: 5)", "date.timeIntervalSinceNow",
            "deadline: .now() + .milliseconds(5)", "DispatchTime.now()", "NIODeadline.now()",
            "clock_gettime(CLOCK_MONOTONIC, &time)", "gettimeofday(&value, nil)", "time(nil)",
            "ProcessInfo.processInfo.systemUptime", "mach_absolute_time()",
            "try await Task.sleep(for: time)", "try? await Task<Never, Never>.sleep(for: time)",
            "Task {", "let task = Task { [weak self] in", "Task.detached { work() }",
            "Task(priority: .high) { work() }", "Task.detached(priority: .low) {",
            "Task<Void, Never> {", "Task(executorPreference: executor) { await work() }",
        ]
    )
    func isFound(line: String) throws {
        #expect(try Self.ways.contains { try Self.finds($0, in: line) }, "\(line)")
    }

    @Test(
        "time that is given is no clock",
        arguments: [
            "let start = clock.now", "await patience.pause(pause)", "run.clock.task {",
            "var tasks: [RunPlan: Task<[TwinRun], Never>] = [:]", "let now: Instant",
            "await withTaskGroup(of: Void.self) { group in", "group.addTask {",
            "extension Task where Failure == Never {", "world.now", "let date = RealClock.self",
            "time(of: step)", "update()", "package var wall: Instant {",
        ]
    )
    func isNotFound(line: String) throws {
        #expect(try !Self.ways.contains { try Self.finds($0, in: line) }, "\(line)")
    }
}
