internal import Contracts
internal import Foundation
internal import Redaction
internal import Replay
internal import Reports

/// A way to start the backend, which `init` tries.
struct InitAttempt {
    /// The candidate that the files show; nil for a command or an address that the user has typed.
    let candidate: StartCandidate?
    /// The command; nil for a backend that is already running.
    let command: String?

    /// The command as text for the user, with its folder.
    var text: String {
        let command = Redaction.forReports().command(command ?? "")
        let folder = candidate.map { $0.folder.isEmpty ? "" : " (in \($0.folder)/)" } ?? ""
        return "\(command)\(folder)"
    }

    /// Sets the command, its folder and its environment in a profile.
    ///
    /// - Parameters:
    ///   - profile: The profile that starts the backend.
    ///   - path: The path of the file to which the profile is written. The folder in the profile is
    ///     relative to it.
    ///   - environmentFile: The file with environment variables that the backend does not load
    ///     itself; nil if there is none.
    func apply(
        to profile: inout Profile,
        writtenTo path: String,
        environmentFile: EnvironmentFile?
    ) {
        guard let command else { return }
        var start = profile.start ?? Profile.StartSettings(command: command)
        start.command = command
        let depth = path.hasPrefix("/") ? 0 : path.split(separator: "/").count - 1
        let prefix = String(repeating: "../", count: max(depth, 0))
        if let environmentFile {
            start.environmentFile = prefix + environmentFile.path
            start.fileVariables = environmentFile.variables
        }
        if let candidate {
            let folder = prefix + candidate.folder
            if !folder.isEmpty {
                start.folder = folder.hasSuffix("/") ? String(folder.dropLast()) : folder
            }
            if let build = candidate.build { start.build = build }
            start.environment.merge(candidate.environment) { own, _ in own }
        }
        profile.start = start
    }

    /// A file with environment variables of the backend.
    struct EnvironmentFile {
        /// The path from the folder of the repository.
        let path: String
        let variables: [String: Secret]
    }

    /// Returns the `.env` file of the backend; nil if there is none.
    ///
    /// - Parameter folder: The folder of the repository.
    /// - Returns: The file next to the command, or in the folder of the project.
    func environmentFile(in folder: String) -> EnvironmentFile? {
        guard command != nil else { return nil }
        let folders = candidate.map { [$0.folder, $0.project] }?.uniqued() ?? [""]
        for path in folders.map({ $0.isEmpty ? ".env" : $0 + "/.env" }) {
            // A file that cannot be read is left to the backend.
            let variables = try? DotEnv.variables(
                ofFile: folder + "/" + path,
                ProcessInfo.processInfo.environment
            )
            if let variables, !variables.isEmpty {
                return EnvironmentFile(path: path, variables: variables)
            }
        }
        return nil
    }
}

/// The candidates of a repository as text for the user.
struct CandidateText {
    let repository: RepositorySurvey

    private static let listedMax = 6

    /// The list of the candidates with their evidence, at most 80 columns wide.
    var lines: [String] {
        let candidates = repository.programs
        var lines: [String] = []
        for (index, candidate) in candidates.prefix(Self.listedMax).enumerated() {
            let folder = candidate.folder.isEmpty ? "" : "  in \(candidate.folder)/"
            let command = Redaction.forReports().command(candidate.command)
            lines += wrapped("\(command)\(folder)", first: "  \(index + 1). ", "     ")
            if let build = candidate.build {
                let text = Redaction.forReports().command(build)
                lines += wrapped("built with: \(text)", first: "     ", "       ")
            }
            lines += wrapped("from \(candidate.evidence)", first: "     ", "     ")
            if let webhook = candidate.webhook {
                let method = webhook.method.isEmpty ? "" : webhook.method + " "
                lines += wrapped(
                    "webhook: \(method)\(webhook.path) (\(webhook.location))",
                    first: "     ",
                    "       "
                )
            }
        }
        if candidates.count > Self.listedMax {
            lines.append("     … and \(candidates.count - Self.listedMax) more")
        }
        for frontEnd in repository.frontEnds {
            let folder = frontEnd.folder.isEmpty ? "package.json" : frontEnd.folder + "/"
            lines.append("  –  \(folder) is an app with \(frontEnd.framework), not a backend")
        }
        return lines
    }

    private func wrapped(_ text: String, first: String, _ next: String) -> [String] {
        text.printable.wrapped(78 - next.count).enumerated().map { index, line in
            (index == 0 ? first : next) + line
        }
    }
}
