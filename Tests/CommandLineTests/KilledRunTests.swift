import Foundation
import TestSupport
import Testing

/// A run that ends by SIGKILL keeps the cases and histories that it has finished.
@Suite("Runs that are killed")
struct KilledRunTests {
    private static func lineCount(_ folder: TemporaryFolder, _ name: String) -> Int {
        (folder.read(name) ?? "").utf8.count { $0 == UInt8(ascii: "\n") }
    }

    private static func names(_ path: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    }

    @Test func `a saved run holds the finished cases, and judge names the missing ones`()
        async throws
    {
        let folder = try TemporaryFolder()
        try folder.write("yesterday\n", to: "run.ndjson")
        let program = try Program(
            ["verify", "--only", "revenuecat", "--jobs", "2", "--save", "run.ndjson"]
                + ExitCodeTests.start(),
            folder: folder.path
        )
        let isThere = try await program.comesTo {
            Self.lineCount(folder, "run.ndjson") >= 4
                && folder.read("run.ndjson")?.hasPrefix("yesterday") == false
        }
        program.signal(SIGKILL)
        let killed = await program.wait()
        #expect(isThere, "\(killed.output)\(killed.errors)")
        let judged = try await Program.run(["judge", "run.ndjson"], folder: folder.path)
        #expect(judged.status == 130, "\(judged.output)\(judged.errors)")
        let words = judged.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("cases are there; missing: revenuecat/"), "\(judged.output)")
    }

    @Test func `a run that ends by itself leaves a complete file for its owner alone`()
        async throws
    {
        let folder = try TemporaryFolder()
        let result = try await Program.run(
            ["verify", "--only", "revenuecat/idempotency", "--save", "run.ndjson"]
                + ExitCodeTests.start(),
            folder: folder.path
        )
        // Beside other tests a case may be inconclusive, but none fails.
        #expect([0, 5].contains(result.status), "\(result.output)\(result.errors)")
        let judged = try await Program.run(["judge", "run.ndjson"], folder: folder.path)
        #expect(judged.status == result.status, "\(judged.output)\(judged.errors)")
        #expect(!judged.output.contains("cases are there"))
        let attributes = try FileManager.default.attributesOfItem(
            atPath: folder.path + "/run.ndjson"
        )
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func `a campaign keeps its histories as it draws them`() async throws {
        let folder = try TemporaryFolder()
        let program = try Program(
            [
                "explore", "--lives", "100000", "--jobs", "2", "--corpus", "corpus", "--save",
                "run.ndjson",
            ] + ExitCodeTests.start("cancellation-revokes"),
            folder: folder.path
        )
        let isThere = try await program.comesTo {
            Self.names(folder.path + "/corpus/lives").count >= 5
                && Self.lineCount(folder, "run.ndjson") >= 2
        }
        program.signal(SIGKILL)
        let killed = await program.wait()
        #expect(isThere, "\(killed.output)\(killed.errors)")
        let judged = try await Program.run(["judge", "run.ndjson"], folder: folder.path)
        #expect(judged.status == 130, "\(judged.output)\(judged.errors)")
        #expect(judged.output.contains("FAIL"), "\(judged.output)")
        let next = try await Program.run(
            ["explore", "--lives", "5", "--jobs", "2", "--corpus", "corpus"]
                + ExitCodeTests.start(),
            folder: folder.path
        )
        #expect([0, 5].contains(next.status), "\(next.output)\(next.errors)")
    }
}
