import Foundation
import Testing
import TestSupport

/// Whoever plays cases knows no time but the one that is given, and starts no task behind its back: so
/// a seed can decide what happens when.
@Suite("Clocks")
struct ClockTests {
    private struct ForbiddenPattern {
        let name: String
        let pattern: String

        init(_ name: String, _ pattern: String) {
            self.name = name
            self.pattern = pattern
        }
    }

    private static let forbiddenPatterns = [
        ForbiddenPattern("the time of this machine", #"\b(Continuous|Suspending)Clock\b"#),
        ForbiddenPattern("the runner's real clock", #"\bRealClock\("#),
        ForbiddenPattern(
            "the date of this machine",
            #"\bDate(\(\)|\.now\b)|\bDate\(timeIntervalSinceNow"#
        ),
        ForbiddenPattern("a date's distance from now", #"timeIntervalSinceNow"#),
        ForbiddenPattern(
            "a deadline of a library",
            #"(?<![\w)])\.now\(\)|\b(DispatchTime|NIODeadline)\.now"#
        ),
        ForbiddenPattern(
            "a clock of the C library",
            #"\b(clock_gettime|gettimeofday|time)\((nil|&|CLOCK)"#
        ),
        ForbiddenPattern("the time since start-up", #"systemUptime|mach_absolute_time"#),
        ForbiddenPattern("a sleep of the library", #"\bTask(<[^>]*>)?\.sleep\("#),
        ForbiddenPattern(
            "a task of its own",
            #"\bTask(\.detached|\.immediate)?(<[^>]*>)?(\([^)]*\))? ?\{"#
        ),
    ]

    /// Where real time comes in, and why.
    ///
    /// A file that needs none any more must leave the list.
    private static let allowed: [String: String] = [
        "Sources/Replay/Case/Waiting/RunClock.swift":
            "the one clock, and the one way to start a task",
        "Sources/Replay/Backend/ReplaySession.swift":
            "opens real ports and a real backend, in real time",
        "Sources/Replay/Backend/BackendClient.swift": "a socket's limit is the kernel's time",
        "Sources/Replay/Backend/BackendProcess.swift": "a process is given its time to end",
    ]

    /// The lines of what plays cases, without comments.
    private static let lines = Repository.lines(below: "Sources/Replay", "Sources/Phone")
        .filter { !$0.text.trimmingCharacters(in: .whitespaces).hasPrefix("//") }

    private static func finds(_ forbiddenPattern: ForbiddenPattern, in line: String) throws -> Bool
    {
        let range = NSRange(line.startIndex..., in: line)
        return try NSRegularExpression(pattern: forbiddenPattern.pattern).firstMatch(
            in: line,
            range: range
        )
            != nil
    }

    @Test func `case execution reads only the injected clock`() throws {
        #expect(Self.lines.count > 4000, "the sources were not found")
        var needing: Set<String> = []
        for line in Self.lines {
            for forbiddenPattern in Self.forbiddenPatterns
            where try Self.finds(forbiddenPattern, in: line.text) {
                needing.insert(line.path)
                #expect(
                    Self.allowed[line.path] != nil,
                    "\(line.path):\(line.number): \(forbiddenPattern.name); take it from the RunClock"
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
        #expect(try Self.forbiddenPatterns.contains { try Self.finds($0, in: line) }, "\(line)")
    }

    @Test(
        "an injected clock is not reported",
        arguments: [
            "let start = clock.now", "await patience.pause(pause)", "run.clock.task {",
            "var tasks: [RunPlan: Task<[TwinRun], Never>] = [:]", "let now: Instant",
            "await withTaskGroup(of: Void.self) { group in", "group.addTask {",
            "extension Task where Failure == Never {", "world.now", "let date = RealClock.self",
            "time(of: step)", "update()", "package var wallTime: Instant {",
        ]
    )
    func isNotFound(line: String) throws {
        #expect(try !Self.forbiddenPatterns.contains { try Self.finds($0, in: line) }, "\(line)")
    }
}
