import Foundation
import TestSupport
import Testing

/// The file of a run that ended by itself.
@Suite("Saved run files")
struct SavedRunFileTests {
    @Test func `a completed run writes a complete file readable only by its owner`()
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
        #expect(!judged.output.contains("cases in the file"))
        let attributes = try FileManager.default.attributesOfItem(
            atPath: folder.path + "/run.ndjson"
        )
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
}
