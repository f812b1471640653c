internal import Conformance
internal import ContractFiles
internal import FakeServers
internal import Foundation
internal import Replay
internal import Reports
internal import Programs

/// Looks at a backend that nobody has described, and writes what it found: `init`, and `doctor --write`.
struct IntroductionRun {
    let profile: Profile
    let addresses: [Exchange.Party: ReplaySession.Address]
    let survey: SourceSurvey
    /// Where the profile is written.
    let path: String
    /// Who signed an https target's certificate, where somebody said so.
    var authority: String?

    /// Checks before the backend is started that the profile can be written and overwrites nothing.
    ///
    /// - Throws: A failure of usage with the reason.
    static func checkFree(_ path: String, _ command: String) throws {
        guard FileManager.default.fileExists(atPath: path) else {
            _ = try ReportFiles.checked(path)
            return
        }
        throw Failure(
            .usage,
            "'\(path)' exists, and \(command) overwrites nothing; 'assay doctor' examines it, and "
                + "--write OTHER.yaml writes beside it"
        )
    }

    /// Looks, and says what is seen; the backend is stopped at the end.
    func meet() async throws -> (Introduction, [DoctorCommand.Provability]) {
        let work = try WorkFolder.made()
        defer { work.remove() }
        let folder = work.path
        let interruption = Interruption()
        let addresses = addresses
        let (profile, survey) = (profile, survey)
        let count = Locked(0)
        do {
            return try await interruption.run {
                let (introduction, session) = try await Introduction.meet(
                    profile,
                    survey,
                    name: SuiteRun.nonce()
                ) { profile throws(ReplaySession.OpenError) in
                    let number = count.withLock { count in
                        count += 1
                        return count
                    }
                    // Each backend that is tried has data of its own.
                    let folder = folder + "/\(number)"
                    do {
                        try FileManager.default.createDirectory(
                            atPath: folder + "/data",
                            withIntermediateDirectories: true
                        )
                    } catch {
                        throw ReplaySession.OpenError(
                            kind: .configuration,
                            description: "cannot make '\(folder)': \(error.localizedDescription)"
                        )
                    }
                    let session = try await ReplaySession(
                        profile: profile,
                        addresses: addresses,
                        folder: folder,
                        base: DoctorCommand.base,
                        onWaiting: Terminal.tellWaiting
                    )
                    interruption.onAbandon { session.abandon() }
                    return session
                }
                let clauses = DoctorCommand.clauses(session, introduction)
                await session.close()
                return (introduction, clauses)
            }
        } catch let error as ReplaySession.OpenError {
            if interruption.isRaised { throw Failure(.interrupted, "interrupted") }
            throw Failure(ExitStatus(error.kind), error.description)
        }
    }

    /// Says what was found and what stayed open, and writes the profile with its schema beside it.
    func write(_ introduction: Introduction) throws {
        let style = Terminal.style()
        for note in introduction.notes {
            let mark = note.isOpen ? style.yellow("?   ") : style.green("ok  ")
            let lines = "\(note.key): \(note.text)".printable.wrapped(92)
            Terminal.output(mark + " " + lines.joined(separator: "\n     ") + "\n")
        }
        let folder = PathName(path).folder
        let schema = ".assay/profile.schema.json"
        let date = Date().formatted(.iso8601.year().month().day())
        let text = introduction.text(schema: schema, date: date, authority: authority)
        if case .failure(let errors) = ProfileParser.parse(
            text,
            path: path,
            environment: [
                Introduction.sharedVariable: "x"
            ]
        ) {
            throw Failure(
                .unparsable,
                "what was found makes no profile, a fault of Assay's:\n\(errors)"
            )
        }
        let place = folder.isEmpty ? "." : folder
        try OutputFile.makeFolder(place + "/.assay", .ownerOnly)
        try OutputFile(place + "/" + schema).write(Language.profile.schema)
        try OutputFile(path).write(text)
    }
}
