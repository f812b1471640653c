import Foundation
import TestSupport
import Testing

/// What is in the temporary folder when a run ends in a way that nobody planned.
@Suite("Leftovers of a run")
struct LeftoverTests {
    /// A run whose backend never answers its readiness, with a temporary folder of its own.
    private static func hanging(_ folder: TemporaryFolder) throws -> Program {
        // Longer than a busy machine keeps a test from looking.
        try folder.write(
            "assay: 1\nstart: {command: exec sleep 3000, timeout: 50m}\n",
            to: "assay.yaml"
        )
        return try Program(
            ["verify"],
            folder: folder.path,
            environment: ["TMPDIR": folder.path + "/"]
        )
    }

    private static func left(_ folder: TemporaryFolder) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasPrefix("assay-") }
    }

    @Test(arguments: [1, 2])
    func `no process or folder remains after Ctrl-C, once or twice`(times: Int) async throws {
        let folder = try TemporaryFolder()
        let program = try Self.hanging(folder)
        let hasBegun = try await program.comesTo { !Self.left(folder).isEmpty }
        #expect(hasBegun)
        program.signal(SIGINT)
        if times == 2 {
            let isTold = try await program.tells("stopping")
            #expect(isTold)
            program.signal(SIGINT)
        }
        let result = await program.wait()
        #expect(result.status == 130)
        #expect(Self.left(folder) == [])
    }

    @Test func `leftovers of a killed run are removed at the next start`() async throws {
        let folder = try TemporaryFolder()
        let program = try Self.hanging(folder)
        let hasBegun = try await program.comesTo {
            Self.left(folder).contains { folder.read($0 + "/owner") != nil }
        }
        #expect(hasBegun)
        program.signal(SIGKILL)
        _ = await program.wait()
        #expect(Self.left(folder).count == 1)
        let next = try await Program.run(
            ["verify", "--start", "exit 3"],
            folder: folder.path,
            environment: ["TMPDIR": folder.path + "/"]
        )
        #expect(next.status == 6)
        #expect(Self.left(folder) == [])
    }
}
