internal import Contracts
internal import Foundation
internal import Grammar
internal import Programs
internal import Providers
internal import Redaction

/// The command line and the environment with which a backend is started.
package struct BackendLaunch: Hashable, Sendable {
    package var command: String
    /// The environment variables of the backend, in addition to those of Assay.
    package var environment: [String: String]
    /// The names of the variables that the backend does not inherit from Assay.
    package var removedVariables: Set<String> = []

    package init(command: String, environment: [String: String]) {
        (self.command, self.environment) = (command, environment)
    }
}

/// Derives the start of a backend from its profile, with the profile's secrets or with others.
struct BackendLaunchPlan: Sendable {
    private let start: Profile.StartSettings
    private let placeholderValues: [String: String]
    private let setup: BackendSetup
    var interception: Interception?

    init(
        _ start: Profile.StartSettings,
        _ placeholderValues: [String: String],
        _ setup: BackendSetup
    ) {
        (self.start, self.placeholderValues, self.setup) = (start, placeholderValues, setup)
    }

    /// Returns the start of the backend with the given change of its secrets.
    ///
    /// A changed secret is replaced in each variable that contains it, as a template or literally.
    /// A missing secret removes these variables. In the command line, it becomes an empty string.
    ///
    /// - Throws: An error for a template without a value.
    func launch(_ change: SecretChange? = nil) throws -> BackendLaunch {
        var placeholders = placeholderValues
        var setup = setup
        var literals: [String: String] = [:]
        var templates: [String] = []
        for name in change?.secretNames ?? [] {
            let configured = setup.secrets[SecretName(rawValue: name)]?.exposed ?? ""
            let value = Self.changedValue(of: configured, change)
            setup.secrets[SecretName(rawValue: name)] = Secret(value)
            placeholders["secret." + name] = value
            templates.append("{{secret.\(name)}}")
            if !configured.isEmpty { literals[configured] = value }
        }
        let standard = Self.standardEnvironment(placeholders, setup)
        var launch = BackendLaunch(command: "", environment: standard)
        let originalNames = Self.standardEnvironment(placeholderValues, self.setup).keys
        for name in originalNames where standard[name] == nil {
            // A setup without a secret omits its variable.
            if change?.value == .missing {
                launch.removedVariables.insert(name)
            } else {
                launch.environment[name] = ""
            }
        }
        for (name, value) in start.fileVariables.mapValues(\.exposed)
        where start.environment[name] == nil && !originalNames.contains(name) {
            if change?.value == .missing, literals.keys.contains(where: value.contains) {
                launch.removedVariables.insert(name)
            } else {
                launch.environment[name] = Self.replacing(literals, in: value)
            }
        }
        let values = NamedValues(texts: placeholders)
        for (name, text) in start.environment {
            let expanded = start.expanded(text)
            let isChanged =
                templates.contains { text.contains($0) }
                || literals.keys.contains { expanded.contains($0) }
            if isChanged, change?.value == .missing {
                launch.environment[name] = nil
                launch.removedVariables.insert(name)
            } else {
                launch.environment[name] = try values.filled(Self.replacing(literals, in: expanded))
            }
        }
        launch.command = try values.filled(Self.replacing(literals, in: start.command))
        if let interception {
            let inherited = ProgramCommand.inheritedEnvironment.merging(launch.environment) { $1 }
            launch.environment.merge(interception.environment(inheriting: inherited)) { $1 }
        }
        return launch
    }

    /// Returns the environment variables that every backend gets, even if its profile lists none.
    static func standardEnvironment(
        _ placeholderValues: [String: String],
        _ setup: BackendSetup
    ) -> [String: String] {
        var environment: [String: String] = [:]
        environment["PORT"] = placeholderValues["port"]
        environment["DATA_DIR"] = placeholderValues["data"]
        for provider in Services.providers {
            environment.merge(provider.environment(setup)) { first, _ in first }
        }
        return environment
    }

    private static func changedValue(of configured: String, _ change: SecretChange?) -> String {
        switch change?.value {
        case .missing, .empty: return ""
        case .wrong:
            // The scheme of an Authorization value, such as Bearer, stays.
            let tokenStart = configured.lastIndex(of: " ").map(configured.index(after:))
            let token = configured[(tokenStart ?? configured.startIndex)...]
            return configured.dropLast(token.count) + String(token.map { $0 == "x" ? "y" : "x" })
        case nil: return configured
        }
    }

    private static func replacing(_ literals: [String: String], in text: String) -> String {
        literals.sorted { $0.key.count > $1.key.count }.reduce(text) {
            $0.replacingOccurrences(of: $1.key, with: $1.value)
        }
    }
}

/// The build of a backend, before its first start.
struct BackendBuild {
    let command: String
    /// The working folder of the command; nil for the folder of Assay.
    let folder: String?
    /// The path of the file that receives the output of the command.
    let outputPath: String

    /// The number of lines of the output in an error.
    private static let lineCountMax = 12

    /// Runs the command to its end.
    ///
    /// A cancellation kills it.
    ///
    /// - Throws: `OpenError` with the last lines of the output when the command fails.
    func run() async throws(ReplaySession.OpenError) {
        var shell = ProgramCommand("/bin/sh", ["-c", command])
        shell.folder = folder
        shell.output = .appending(path: outputPath)
        shell.errorOutput = .sameAsOutput
        shell.endsWithParent = true
        let program: StartedProgram
        do throws(StartedProgram.StartError) {
            program = try StartedProgram(shell)
        } catch {
            throw ReplaySession.OpenError(
                kind: .configuration,
                description: "cannot start the build '\(command)': \(error.reason)"
            )
        }
        let end = await withTaskCancellationHandler {
            await program.ended()
        } onCancel: {
            program.signal(SIGKILL)
        }
        program.finish()
        guard end != .exited(status: 0) else { return }
        // The exit status decides, so output that cannot be read is left out.
        let output = (try? Data(contentsOf: URL(fileURLWithPath: outputPath))) ?? Data()
        let lines = LogExcerpt.of(
            TerminalCodes.textWithoutCodes(from: String(decoding: output, as: UTF8.self)),
            lineCountMax: Self.lineCountMax
        )
        throw ReplaySession.OpenError(
            kind: .unreachable,
            description: "the build '\(command)' failed: \(end)"
                + (lines.isEmpty ? "" : "; its output ends with:\n\(lines)"),
            hasEnded: true
        )
    }
}
