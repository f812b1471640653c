import Foundation
import TestSupport
import Testing

/// Runs on a machine that gives less than ours.
@Suite("Machines with low limits")
struct ResourceLimitTests {
    private static let only = ["--only", "revenuecat/idempotency/duplicate-initial-purchase"]

    @Test("a low descriptor limit causes no finding", arguments: [64, 128])
    func fewDescriptors(limit: Int) async throws {
        let words = ["verify"] + ExitCodeTests.start() + Self.only
        let line = words.map { "\"\($0)\"" }.joined(separator: " ")
        let program = try Program(
            ["-c", "ulimit -n \(limit); exec '\(Program.path)' \(line)"],
            executable: "/bin/sh"
        )
        let result = await program.wait()
        #expect(result.status == 0 || result.status == 5, "\(result.output)\n\(result.errors)")
        #expect(result.errors.contains("may open \(limit) files"))
    }

    @Test func `an advertised host that leads elsewhere is reported as wrong usage`() async throws {
        let result = try await Program.run(
            ["verify"] + ExitCodeTests.start() + Self.only
                + ["--listen", "onesignal=127.0.0.2:0", "--advertise", "127.0.0.1"]
        )
        #expect(result.status == 2, "\(result.errors)")
        #expect(result.errors.contains("the fake onesignal does not respond at http://127.0.0.1:"))
        #expect(result.errors.contains("it responds at http://127.0.0.2:"))
    }
}
