import Contracts
import FakeServers
import Foundation
import Programs
internal import Providers
import Testing
import TestSupport
import Values

@testable import Replay

/// What a profile says under `start` of the process: where it runs, and how it is asked to end.
@Suite("Backend process")
struct BackendProcessTests {
    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "assay-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder + "/a folder",
            withIntermediateDirectories: true
        )
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }

    @Test func `the command runs in its folder`() async throws {
        try await withFolder { folder in
            let process = BackendProcess(
                command: "pwd; exit 3",
                folder: folder + "/a folder",
                environment: [:],
                outputPath: folder + "/log"
            )
            try process.launch()
            #expect(await process.ended() == "it exited with status 3")
            #expect(process.outputTail().hasSuffix("/a folder"))
        }
    }

    @Test(
        "a working folder that does not exist is reported",
        arguments: [("/nowhere", "does not exist"), ("/log", "is not a folder")]
    )
    func noFolder(name: String, wanted: String) async throws {
        try await withFolder { folder in
            try Data().write(to: URL(fileURLWithPath: folder + "/log"))
            let process = BackendProcess(
                command: "true",
                folder: folder + name,
                environment: [:],
                outputPath: folder + "/log"
            )
            let error = #expect(throws: BackendProcess.StartError.self) { try process.launch() }
            #expect(error?.description.contains(wanted) == true, "\(error?.description ?? "")")
        }
    }

    @Test(
        "the backend receives the stop signal of its profile",
        arguments: Profile.StopSettings.Signal.allCases
    )
    func signal(signal: Profile.StopSettings.Signal) async throws {
        try await withFolder { folder in
            var stopSettings = Profile.StopSettings()
            stopSettings.signal = signal
            // All four are heard, so that the wrong one is told apart from none.
            let traps = Profile.StopSettings.Signal.allCases.map {
                "trap 'echo \($0.rawValue); exit 0' \($0.rawValue.dropFirst(3))"
            }
            let process = BackendProcess(
                command: (traps + ["echo up", "while :; do sleep 0.01; done"])
                    .joined(separator: "\n"),
                environment: [:],
                outputPath: folder + "/log",
                stopSettings: stopSettings
            )
            try process.launch()
            _ = try await SettleTimeout.until { process.outputTail() == "up" }
            await process.stop(.terminate)
            // A shell may have something to say of its own children before.
            let heard = process.outputTail().split(separator: "\n").map(String.init)
            #expect(heard.last == signal.rawValue, "\(heard)")
        }
    }

    @Test func `a backend that exceeds its stop timeout is killed`() async throws {
        try await withFolder { folder in
            var stopSettings = Profile.StopSettings()
            stopSettings.within = .milliseconds(1)
            let process = BackendProcess(
                command: "trap '' TERM; echo up; while :; do sleep 0.01; done",
                environment: [:],
                outputPath: folder + "/log",
                stopSettings: stopSettings
            )
            try process.launch()
            _ = try await SettleTimeout.until { process.outputTail() == "up" }
            await process.stop(.terminate)
            #expect(process.exitDescription == "signal 9 ended it")
        }
    }

    /// Listens, and leaves a child in a session of its own that keeps the socket and heeds no
    /// signal.
    private static let holder = """
        import os, signal, socket, sys, time
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", int(os.environ["PORT"])))
        listener.listen()
        if os.fork() == 0:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("up", flush=True)
        while True:
            time.sleep(60)
        """

    @Test("a stop waits until no backend process holds the port", arguments: ["KILL", "TERM"])
    func portIsFree(signal: String) async throws {
        let python = ProgramCommand.findExecutable(
            "python3",
            searchPath: "/usr/local/bin:/usr/bin:/bin"
        )
        guard let python else { return }
        try await withFolder { folder in
            let script = folder + "/holder.py"
            try Data(Self.holder.utf8).write(to: URL(fileURLWithPath: script))
            let port = LoopbackPort.findFree()
            var stopSettings = Profile.StopSettings()
            stopSettings.within = .milliseconds(50)
            let process = BackendProcess(
                command: "\(python) '\(script)'",
                environment: ["PORT": String(port)],
                outputPath: folder + "/log",
                stopSettings: stopSettings,
                port: port
            )
            for launch in 1...3 {
                try process.launch()
                let isUp = try await SettleTimeout.until {
                    // The two processes may print their line ends in any order.
                    process.outputTail().split(separator: "u", omittingEmptySubsequences: false)
                        .count == 2 * launch + 1
                }
                try #require(isUp, "launch \(launch): \(process.outputTail())")
                #expect(LoopbackPort.isInUse(port))
                await process.stop(signal == "KILL" ? .kill : .terminate)
                #expect(!LoopbackPort.isInUse(port), "launch \(launch)")
                #expect(!process.hasPortConflict)
            }
        }
    }

    @Test func `a backend inherits only the variables in its profile`()
        async throws
    {
        try await withFolder { folder in
            let process = BackendProcess(
                command: "env",
                environment: ["ASSAY_NAMED": "by the profile"],
                parentEnvironment: [
                    "ASSAY_REVENUECAT_KEY": "live", "PATH": "/usr/bin:/bin", "LANG": "C",
                ],
                outputPath: folder + "/log"
            )
            try process.launch()
            _ = await process.ended()
            let log = try String(contentsOfFile: folder + "/log", encoding: .utf8)
            let names = Set(
                log.split(separator: "\n").compactMap { $0.split(separator: "=").first }
                    .map(String.init)
            )
            let assayNames = names.filter { $0.hasPrefix("ASSAY_") }
            #expect(assayNames == ["ASSAY_NAMED", "ASSAY_PROCESS"])
            #expect(names.isSuperset(of: ["PATH", "LANG"]))
            let mode = try FileManager.default.attributesOfItem(atPath: folder + "/log")
            #expect(mode[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func `an excerpt of a long log begins with the first error in whole lines`()
        async throws
    {
        try await withFolder { folder in
            let long = String(repeating: "x", count: 200)
            let process = BackendProcess(
                command: "echo 'Error: no such table'; "
                    + "i=0; while [ $i -lt 300 ]; do echo \"$i \(long)\"; i=$((i+1)); done; echo end",
                environment: [:],
                outputPath: folder + "/log"
            )
            try process.launch()
            _ = await process.ended()
            let lines = process.output(since: 0, lineCountMax: 4).split(separator: "\n")
            #expect(lines.first == "Error: no such table")
            #expect(
                lines.dropFirst().map(String.init) == ["…", "298 " + long, "299 " + long, "end"]
            )
        }
    }

    @Test func `the listening ports of a process are found`() async throws {
        let fakes = FakeRegistry(
            journalBytesMax: 1 << 20,
            wallClock: { Instant(milliseconds: 1_790_000_000_000) }
        )
        // More than one piece of the kernel's table holds.
        var others: [FakeServer] = []
        for _ in 0..<40 { others.append(try await FakeServer(.oneSignal, fakes: fakes)) }
        let server = try await FakeServer(.oneSignal, fakes: fakes)
        #if os(Linux)
        // Beside a thousand sockets of other tests any one reading may miss it.
        let isKnown = try await SettleTimeout.until {
            ListeningPorts.of([getpid()]).contains(server.port)
        }
        #expect(isKnown)
        #expect(ListeningPorts.of([]).isEmpty)
        #endif
        await server.stop()
        for other in others { await other.stop() }
    }

    @Test func `only the backend's own listening sockets count`() {
        let table = """
              sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode
               0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 41 1 0
               1: 00000000:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 42 1 0
               2: 0100007F:1F91 0100007F:A000 01 00000000:00000000 00:00000000 00000000 0 0 43 1 0
               3: broken
            """
        #expect(ListeningPorts.ports(in: table, ["42", "43"]) == [3000])
        #expect(ListeningPorts.ports(in: "", ["42"]).isEmpty)
    }
}
