import Foundation
import Testing
import TestSupport

/// Nobody waits for a time: whoever waits, waits for evidence, and a limit is only for what hangs.
@Suite("Waiting")
struct WaitingTests {
    /// A way to wait for a time that stands in the source, by what its line contains.
    private struct ForbiddenPattern {
        let name: String
        /// Lines without it need no closer look.
        let word: String
        let pattern: String

        init(_ name: String, _ word: String, _ pattern: String) {
            self.name = name
            self.word = word
            self.pattern = pattern
        }
    }

    /// The words are cut in two, so that this file does not find itself.
    private static let forbiddenPatterns = [
        ForbiddenPattern("a thread that sleeps", "sle" + "ep", #"\bThread\.sle"# + #"ep\("#),
        ForbiddenPattern(
            "a sleep of the C library",
            "sle" + "ep",
            #"(?<![.\w])(u|nano)?sle"# + #"ep\("#
        ),
        ForbiddenPattern("a sleep in nanoseconds", "sle" + "ep", #"\.sle"# + #"ep\(nanoseconds:"#),
        ForbiddenPattern(
            "a sleep for a number",
            "sle" + "ep",
            #"\.sle"# + #"ep\(.*\.(seconds|milliseconds|microseconds|nanoseconds)\([0-9]"#
        ),
        ForbiddenPattern("a block for later", "async" + "After", "async" + "After"),
        ForbiddenPattern("a condition with a limit", "(time" + "out", #"\.wait\(time"# + "out"),
        ForbiddenPattern("a condition with a limit", "wait(un" + "til", #"\bwait\(un"# + "til"),
        ForbiddenPattern("a poll with a limit", "po" + "ll(", #"\bp?po"# + #"ll\(&?\w+,"#),
        ForbiddenPattern(
            "a select with a limit",
            "sel" + "ect(",
            #"\bp?sel"# + #"ect\([^&)_ ]+, "#
        ),
        ForbiddenPattern("an epoll with a limit", "epoll" + "_wait", "epoll" + "_p?wait"),
        ForbiddenPattern("a socket with a limit", "TIMEO", "SO_(RCV|SND)" + "TIMEO"),
        ForbiddenPattern(
            "a task of an event loop",
            "schedule",
            #"schedule(Repeated)?Ta"# + #"sk\(.*\([0-9]"#
        ),
        ForbiddenPattern("a timer", "Timer", #"\bTimer[.(]|Timer"# + "Source"),
        ForbiddenPattern("a run loop", "Run" + "Loop", #"Run"# + #"Loop.*run\("#),
        ForbiddenPattern("a use of conditions", "use" + "conds(", "use" + "conds"),
    ]

    /// What is allowed to, and why: a folder or a file.
    ///
    /// One that waits no more must leave the list.
    private static let allowed: [String: String] = [
        "Sources/ReferenceBackend/Defects/DeliveryDefects.swift":
            "answers before it stores: nothing comes next that it could wait for but the crash",
        "Sources/FakeServers/HTTPHost.swift":
            "closing a port waits for its callers, but not for those that are held by plan",
        "Sources/Replay/Case/Waiting/RunClock.swift": "the one clock of the runner",
        "Tests/TestBackend/SimulatedMachine.swift": "the clock of a simulated machine",
        "Tests/ReplayTests/Case/HeartbeatTests.swift": "a clock whose time the test says",
        "Sources/AssayCLI/Commands/RecordCommand.swift": "how often a person is told how far it is",
        "Sources/Programs/SystemWrite.swift":
            "a descriptor that takes no more is waited for without a limit",
        "Tests/TestBackend/RawConnection.swift": "the hang guard of a bare socket",
    ]

    private static let lines = Repository.lines(below: "Sources", "Tests")

    private static func finds(_ forbiddenPattern: ForbiddenPattern, in line: String) throws -> Bool
    {
        guard line.utf8.count > 4, line.contains(forbiddenPattern.word) else { return false }
        return try matches(forbiddenPattern.pattern, line)
    }

    private static func matches(_ pattern: String, _ line: String) throws -> Bool {
        let range = NSRange(line.startIndex..., in: line)
        return try NSRegularExpression(pattern: pattern).firstMatch(in: line, range: range) != nil
    }

    @Test func `no test and no source waits for a fixed time`() throws {
        var waiting: Set<String> = []
        for line in Self.lines {
            for forbiddenPattern in Self.forbiddenPatterns
            where try Self.finds(forbiddenPattern, in: line.text) {
                let allowance = Self.allowed.keys.first { line.path.hasPrefix($0) }
                if let allowance { waiting.insert(allowance) }
                #expect(
                    allowance != nil,
                    "\(line.path):\(line.number): \(forbiddenPattern.name); wait for evidence"
                )
            }
        }
        for (path, reason) in Self.allowed {
            #expect(waiting.contains(path), "'\(path)' does not wait any more: \(reason)")
        }
    }

    @Test(
        "every way is found",
        arguments: [
            "Thread.sle#ep(forTimeInterval: 1)", "sle#ep(1)", "usle#ep(100)", "nanosle#ep(&a, nil)",
            "try await Task.sle#ep(for: .seconds(1))",
            "try? await clock.sle#ep(for: .milliseconds(5))",
            "Task.sle#ep(nanoseconds: 5)", "clock.sle#ep(until: .now + .seconds(2))",
            "DispatchQueue.main.async#After(deadline: .now() + 1) {",
            "semaphore.wait(time#out: .now())",
            "condition.wait(un#til: date)", "po#ll(&descriptors, 1, 100)",
            "sel#ect(4, nil, nil, nil, &t)",
            "epoll#_wait(e, &events, 1, 100)", "setsockopt(d, SOL_SOCKET, SO_RCV#TIMEO, &t, s)",
            "loop.scheduleTa#sk(in: .seconds(1)) {}", "Timer#.scheduledTimer(withTimeInterval: 1)",
            "Run#Loop.main.run(until: date)",
        ]
    )
    func isFound(line: String) throws {
        let text = line.replacing("#", with: "")
        #expect(try Self.forbiddenPatterns.contains { try Self.finds($0, in: text) }, "\(text)")
    }

    @Test(
        "waiting for an event is not a fixed delay",
        arguments: [
            "try await clock.sle#ep(for: pause)", "case .select: sel#ect(&flow)",
            "private mutating func sel#ect(_ flow: inout Flow) {",
            "for await _ in numbers { break }",
            "await program.wait()",
        ]
    )
    func isNotFound(line: String) throws {
        let text = line.replacing("#", with: "")
        #expect(try !Self.forbiddenPatterns.contains { try Self.finds($0, in: text) }, "\(text)")
    }

    /// A limit of a test is a guard against what hangs; it is in one place, and it is long.
    @Test func `tests use the shared time limits instead of their own`() throws {
        let pattern = #"(within: |now \+ |timeLimit\()\.(seconds|milliseconds)\([0-9]"#
        for line in Self.lines where line.path.hasPrefix("Tests/") {
            guard
                line.text.contains("within:") || line.text.contains("clock.now +")
                    || line.text.contains("timeLimit(")
            else { continue }
            #expect(
                try !Self.matches(pattern, line.text),
                "\(line.path):\(line.number): use Patience.hang"
            )
        }
    }
}
