internal import ContractFiles
internal import Contracts
internal import Foundation
internal import Programs
internal import Replay
internal import Reports
internal import Values

/// The discovery of a backend's routes and settings, from which `init` and `doctor --write` create
/// a profile.
struct DiscoveryRun {
    let profile: Profile
    let addresses: [Exchange.Party: ReplaySession.Address]
    let survey: SourceSurvey
    /// The environment variables that the owner of the backend has set.
    var own = OwnVariables()
    /// The path of the profile to write.
    let path: String
    /// The path of a PEM file with additional CA certificates to trust for an https target.
    var authority: String?

    /// Checks, before the backend is started, that a new profile can be written to the path and
    /// that no file exists there.
    ///
    /// - Throws: A usage failure with the reason.
    static func checkPathIsFree(_ path: String, _ command: String) throws {
        guard FileManager.default.fileExists(atPath: path) else {
            _ = try ReportFiles.writablePath(path)
            return
        }
        throw CommandFailure(
            .usage,
            "'\(path)' exists already, and '\(command)' does not overwrite it; check it with "
                + "'assay doctor', or write another file with --write OTHER.yaml"
        )
    }

    /// Discovers the backend's profile and the clauses that can be tested, and then stops the
    /// backend.
    func discover() async throws -> (BackendDiscovery, [DoctorCommand.ClauseTestability]) {
        let workFolder = try WorkFolder.made()
        defer { workFolder.remove() }
        let folder = workFolder.path
        let interruption = Interruption()
        let addresses = addresses
        let (profile, survey, own) = (profile, survey, own)
        let discoveryAttemptCount = Locked(0)
        do {
            return try await interruption.run {
                let (discovery, session) = try await BackendDiscovery.discover(
                    profile,
                    survey,
                    own: own,
                    name: SuiteRun.nonce(),
                    onProgress: { Terminal.error("assay: \($0)\n") }
                ) { profile throws(ReplaySession.OpenError) in
                    let attemptNumber = discoveryAttemptCount.withLock { discoveryAttemptCount in
                        discoveryAttemptCount += 1
                        return discoveryAttemptCount
                    }
                    // Each start of the backend gets an empty data folder.
                    let folder = folder + "/\(attemptNumber)"
                    do {
                        try FileManager.default.createDirectory(
                            atPath: folder + "/data",
                            withIntermediateDirectories: true
                        )
                    } catch {
                        throw ReplaySession.OpenError(
                            kind: .configuration,
                            description: "cannot create '\(folder)': \(error.localizedDescription)"
                        )
                    }
                    var startedProfile = profile
                    // The backend was built before its first start.
                    if attemptNumber > 1 { startedProfile.start?.build = nil }
                    let session = try await ReplaySession(
                        profile: startedProfile,
                        addresses: addresses,
                        folder: folder,
                        base: DoctorCommand.base,
                        onBuild: Terminal.reportBuilding,
                        onStartupWait: Terminal.reportWaiting
                    )
                    interruption.onSecondSignal { session.killBackend() }
                    return session
                }
                let clauses = DoctorCommand.clauses(session, discovery)
                await session.close()
                return (discovery, clauses)
            }
        } catch let error as ReplaySession.OpenError {
            if interruption.hasReceivedSignal { throw CommandFailure(.interrupted, "interrupted") }
            throw CommandFailure(ExitStatus(error.kind), error.description)
        }
    }

    /// Prints the settings that the discovery has found or could not find, and writes the profile
    /// and its JSON schema.
    func write(_ discovery: BackendDiscovery) throws {
        let style = Terminal.style()
        for note in discovery.notes {
            let statusMark = note.isUnresolved ? style.yellow("?   ") : style.green("ok  ")
            let lines = "\(note.key): \(note.text)".printable.wrapped(92)
            Terminal.output(statusMark + " " + lines.joined(separator: "\n     ") + "\n")
        }
        let text = try text(discovery)
        let folder = PathName(path).folder
        let displayedFolder = folder.isEmpty ? "." : folder
        try GeneratedFolder.make(GeneratedFolder.path(nextTo: path))
        try OutputFile(displayedFolder + "/" + Self.schema).write(FileFormat.profile.schema)
        try OutputFile(path).write(text)
    }

    private static let schema = ".assay/profile.schema.json"

    /// Returns the discovered profile as the text of a file.
    func text(_ discovery: BackendDiscovery) throws -> String {
        let date = Date().formatted(.iso8601.year().month().day())
        let text = discovery.text(schema: Self.schema, date: date, authority: authority)
        if case .failure(let errors) = ProfileParser.parse(
            text,
            path: path,
            environment: [
                discovery.sharedSecretVariable: "x"
            ]
        ) {
            throw CommandFailure(
                .unparsable,
                "the discovered profile is not valid, which is a bug in Assay:\n\(errors)"
            )
        }
        return text
    }
}
