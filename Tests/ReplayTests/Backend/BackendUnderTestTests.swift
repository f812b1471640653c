import Contracts
import FakeServers
internal import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// Starting a backend and waiting until it answers, and telling why it does not.
@Suite("Backend under test")
struct BackendUnderTestTests {
    private static func start(_ bench: SimulationBench) throws -> String? {
        try bench.run { bench in
            do throws(BackendUnderTest.UnreachableError) {
                try await bench.executor.backend.start()
                return nil
            } catch {
                return error.description
            }
        }
    }

    /// Answers the ready path with each of these in turn, and with the last one from then on.
    private static func responses(_ bench: SimulationBench, _ replies: [BackendDouble.Reply]) {
        bench.backend.respond = { backend, arrival in
            guard arrival.request.path == "/ready" else { return nil }
            return replies[min(backend.arrivals.count, replies.count) - 1]
        }
    }

    private static func bench(ready: Profile.ReadinessCheck?) -> SimulationBench {
        SimulationBench { $0.start = Profile.StartSettings(command: "run", ready: ready) }
    }

    @Test(
        "without 'ready' any response counts except a proxy's",
        arguments: [
            (200, true), (401, true), (404, true), (405, true), (500, true), (501, true),
            (502, false), (503, false), (504, false),
        ]
    )
    func anyAnswer(status: Int, isReady: Bool) throws {
        let bench = Self.bench(ready: nil)
        bench.backend.respond = { _, arrival in
            arrival.request.path == "/" ? .status(status) : nil
        }
        #expect((try Self.start(bench) == nil) == isReady)
    }

    @Test("a status named in 'ready' is waited for", arguments: [200, 401, 503])
    func namedStatus(wanted: Int) throws {
        let bench = Self.bench(ready: .init(method: "POST", path: "/ready", status: wanted))
        Self.responses(bench, [.status(wanted == 200 ? 204 : 200), .status(wanted)])
        #expect(try Self.start(bench) == nil)
        #expect(bench.backend.arrivals.count == 2)
        #expect(bench.backend.arrivals.allSatisfy { $0.request.method == "POST" })
    }

    @Test func `an unexpected readiness status is reported with the line to write`() throws {
        let bench = SimulationBench()
        Self.responses(bench, [.status(401)])
        let error = try #require(try Self.start(bench))
        #expect(error.contains("'ready: {get: /ready, status: 401}'"), "\(error)")
        Self.responses(bench, [Self.refused])
        #expect(try Self.start(bench)?.contains("'ready") == false)
    }

    @Test func `the profile's startup time is waited for and reported`() throws {
        let told = Locked<[BackendUnderTest.StartupWait]>([])
        let bench = SimulationBench {
            $0.start = Profile.StartSettings(command: "run")
            $0.start?.timeout = .seconds(7)
        } onStartupWait: { waiting in
            told.withLock { $0.append(waiting) }
        }
        bench.backend.address = "http://127.0.0.1:15001"
        bench.backend.process.listeningPorts = [3000]
        bench.backend.respond = { _, _ in Self.refused }
        let error = try #require(try Self.start(bench))
        #expect(error.hasPrefix("http://127.0.0.1:15001 was not ready after 7s: "), "\(error)")
        #expect(error.contains("listens on port 3000, not on port 15001"), "\(error)")
        #expect(error.contains("'target: http://127.0.0.1:3000'"), "\(error)")
        let waiting = told.withLock { $0 }
        #expect(waiting.map { $0.time.milliseconds / 1000 } == [3, 6])
        #expect(waiting.allSatisfy { $0.last.contains("refused") })
        #expect(waiting.allSatisfy { $0.portMismatchMessage?.contains("3000") == true })
    }

    @Test func `a backend on the right port gets no advice about ports`() throws {
        let bench = Self.bench(ready: nil)
        bench.backend.address = "http://127.0.0.1:15001"
        bench.backend.process.listeningPorts = [9229, 15001]
        bench.backend.respond = { _, _ in .status(503) }
        #expect(try Self.start(bench)?.contains("listens") == false)
    }

    private static let refused = BackendDouble.Reply.failure(
        .refused,
        "the connection was refused"
    )

    @Test func `a backend is launched and polled until it responds`() throws {
        let bench = SimulationBench()
        Self.responses(bench, [Self.refused, Self.refused, .status(503), .status(200)])
        #expect(try Self.start(bench) == nil)
        #expect(bench.backend.process.operations == ["launch"])
        #expect(bench.backend.arrivals.count == 4)
        #expect(bench.clock.now == .milliseconds(15), "five milliseconds between two questions")
        #expect(bench.executor.backend.processNumber == 1)
    }

    @Test(
        "a backend started by Assay must become ready",
        arguments: [
            (200, true), (204, true), (302, true), (399, true), (400, false), (404, false),
            (500, false), (503, false),
        ]
    )
    func ready(status: Int, isReady: Bool) throws {
        let bench = SimulationBench()
        Self.responses(bench, [.status(status)])
        let error = try Self.start(bench)
        #expect((error == nil) == isReady)
        guard !isReady else { return }
        #expect(error?.hasPrefix("simulated was not ready after 30s: GET /ready") == true)
        #expect(error?.contains("returned \(status)") == true)
        #expect(bench.clock.now >= .seconds(30))
    }

    @Test(
        "a running backend may respond with 404 to the ready path",
        arguments: [200, 404, 405, 500]
    )
    func runsAlready(status: Int) throws {
        let bench = SimulationBench(isStarted: false)
        Self.responses(bench, [.status(status)])
        #expect(try Self.start(bench) == nil)
        #expect(bench.backend.process.operations.isEmpty)
    }

    @Test func `a backend that is not running is reported at once`() throws {
        let bench = SimulationBench(isStarted: false)
        Self.responses(bench, [Self.refused])
        #expect(try Self.start(bench) == "simulated: the connection was refused")
        #expect(bench.clock.now == .zero)
    }

    @Test func `a silent backend gets five seconds, and more if Assay started it`() throws {
        let mute = BackendDouble.Reply.hangUp
        for (isStarted, seconds) in [(false, 5), (true, 30)] {
            let bench = SimulationBench(isStarted: isStarted)
            Self.responses(bench, [mute])
            let error = try #require(try Self.start(bench))
            #expect(error.contains("after \(seconds)s: the connection was reset"))
            #expect(bench.clock.now >= .seconds(seconds))
            #expect(bench.clock.now < .seconds(seconds) + .milliseconds(10))
        }
    }

    @Test func `stalls of a busy machine do not count, up to ten times`() throws {
        // A pause of five milliseconds takes fifty there, so that a minute is six seconds of its own.
        let late = SimulatedMachine.Load.late(byAtMost: 95_000)
        for (load, isReady) in [(SimulatedMachine.Load.exact, false), (late, true)] {
            let bench = SimulationBench(load: load)
            bench.backend.respond = { _, _ in
                bench.clock.now < .seconds(60) ? Self.refused : .status(200)
            }
            #expect((try Self.start(bench) == nil) == isReady)
        }
        let bench = SimulationBench(load: .late(byAtMost: 9_000_000))
        bench.backend.respond = { _, _ in Self.refused }
        #expect(try Self.start(bench) != nil)
        #expect(bench.clock.now > .seconds(290))
        #expect(bench.clock.now < .seconds(310))
    }

    @Test func `a backend that exits is not waited for, and its last output is shown`() throws {
        let bench = SimulationBench()
        bench.backend.process.output = "no such table: users"
        bench.backend.respond = { backend, _ in
            backend.process.exitDescription = "it ended with 1"
            return Self.refused
        }
        let error = try Self.start(bench)
        #expect(error == "the backend did not start: it ended with 1\nno such table: users")
        #expect(bench.clock.now == .zero)
    }

    @Test func `a backend that cannot be launched is not polled`() throws {
        let bench = SimulationBench()
        bench.backend.process.launchError = "cannot start 'nodee': no such file"
        #expect(try Self.start(bench) == "cannot start 'nodee': no such file")
        #expect(bench.backend.arrivals.isEmpty)
    }

    @Test func `a cancellation ends the wait for readiness`() throws {
        let bench = SimulationBench()
        Self.responses(bench, [.status(503)])
        let error = try bench.run { bench in
            let starting = bench.clock.task { () -> String? in
                do throws(BackendUnderTest.UnreachableError) {
                    try await bench.executor.backend.start()
                    return nil
                } catch {
                    return error.description
                }
            }
            await bench.clock.pause(.milliseconds(52))
            starting.cancel()
            return await starting.value
        }
        #expect(error == "interrupted while waiting for the backend")
        #expect(bench.clock.now == .milliseconds(52))
    }

    @Test func `a restart stops and starts the backend and increments its process count`() throws {
        let bench = SimulationBench()
        let histories = try bench.run { bench in
            let backend = bench.executor.backend
            var histories = [backend.processNumber]
            for signal in [Restart.Signal.kill, .terminate] {
                try? await backend.restart(signal)
                histories.append(backend.processNumber)
            }
            return histories
        }
        #expect(histories == [0, 1, 2])
        #expect(bench.backend.process.operations == ["stop KILL", "launch", "stop TERM", "launch"])
    }

    @Test("a restart that finds its port in use is retried", arguments: [1, 3, 5, 6, 100])
    func portInUse(failures: Int) throws {
        let bench = SimulationBench()
        bench.backend.process.output = "Error: listen EADDRINUSE: address already in use"
        bench.backend.respond = { backend, _ in
            guard backend.process.operations.count(where: { $0 == "launch" }) <= failures else {
                return .status(200)
            }
            backend.process.exitDescription = "it exited with status 1"
            return Self.refused
        }
        let error = try bench.run { bench -> BackendUnderTest.UnreachableError? in
            do throws(BackendUnderTest.UnreachableError) {
                try await bench.executor.backend.restart(.kill)
                return nil
            } catch {
                return error
            }
        }
        #expect((error == nil) == (failures < 6))
        #expect(error?.isPortConflict ?? true)
        #expect(bench.backend.process.operations.count { $0 == "launch" } == min(failures + 1, 6))
    }

    @Test func `a restart that fails for another reason is not retried`() throws {
        let bench = SimulationBench()
        bench.backend.process.output = "no such table: users"
        bench.backend.respond = { backend, _ in
            backend.process.exitDescription = "it exited with status 1"
            return Self.refused
        }
        _ = try bench.run { bench in try? await bench.executor.backend.restart(.kill) }
        #expect(bench.backend.process.operations.count { $0 == "launch" } == 1)
    }

    @Test(
        "the other loopback address has the same port and path",
        arguments: [
            ("http://127.0.0.1:3000", "http://[::1]:3000"),
            ("http://[::1]:3000/api", "http://127.0.0.1:3000/api"),
            ("https://127.0.0.1", "https://[::1]"), ("http://localhost:3000", nil),
            ("http://127.0.0.10:3000", nil), ("http://example.org/127.0.0.1", nil), ("", nil),
        ]
    )
    func urlWithOtherLoopback(url: String, other: String?) {
        #expect(BackendClient.urlWithOtherLoopback(of: url) == other)
    }

    @Test("a backend on one loopback address is found from the other", arguments: [true, false])
    func loopback(listensOnSix: Bool) async throws {
        let fakes = FakeRegistry(
            journalBytesMax: 1 << 20,
            wallClock: { Instant(milliseconds: 1_790_000_000_000) }
        )
        let server: FakeServer
        do throws(StartError) {
            server = try await FakeServer(
                .oneSignal,
                fakes: fakes,
                host: listensOnSix ? "::1" : "127.0.0.1"
            )
        } catch {
            // A machine without IPv6 has nothing to find there.
            return
        }
        let (four, six) = ("http://127.0.0.1:\(server.port)", "http://[::1]:\(server.port)")
        let backend = BackendUnderTest(
            client: BackendClient(base: listensOnSix ? four : six),
            process: nil,
            clock: RealClock()
        )
        do throws(BackendUnderTest.UnreachableError) {
            try await backend.start()
            #expect(backend.target == (listensOnSix ? six : four))
            await server.stop()
            try await backend.start()
            Issue.record("nothing listens")
        } catch {
            #expect(error.description.contains("nothing responds at"), "\(error.description)")
        }
        await backend.stop()
    }

    @Test func `the shutdown stops, sweeps and closes in this order`() throws {
        let bench = SimulationBench()
        _ = try bench.run { bench in
            await bench.executor.backend.stop()
            return true
        }
        #expect(bench.backend.process.operations == ["stop TERM", "sweep", "close"])
    }

    @Test func `only a refused connection means that no backend is listening`() throws {
        let replies: [(BackendDouble.Reply, Bool)] = [
            (Self.refused, false), (.failure(.closed, ""), true), (.failure(.timedOut, ""), true),
            (.failure(.malformed, ""), true), (.status(500), true), (.status(200), true),
        ]
        for (reply, isThere) in replies {
            let bench = SimulationBench()
            Self.responses(bench, [reply])
            #expect(
                try bench.run { await $0.executor.backend.isReachable() } == isThere,
                "\(reply)"
            )
        }
    }
}
