import Contracts
import TestBackend
import TestSupport
import Values

@testable import Replay

extension ReplaySession {
    /// Starts the reference backend, which keeps its data in a folder.
    static func startingReferenceBackend(
        in folder: TemporaryFolder,
        _ changeProfile: (inout Profile) -> Void = { _ in }
    ) async throws -> ReplaySession {
        var profile = Profile()
        profile.start = Profile.StartSettings(
            command: "exec '\(Program.path)' backend --port {{port}} --data '{{data}}'",
            ready: Profile.ReadinessCheck(method: "GET", path: "/healthz"),
            environment: [:]
        )
        changeProfile(&profile)
        return try await ReplaySession(
            profile: profile,
            addresses: [:],
            folder: folder.path,
            base: Instant(milliseconds: 0)
        )
    }
}
