/// A command that seems to start the backend, with the file that shows it.
package struct StartCandidate: Hashable, Sendable {
    /// How certain a candidate is; the most certain one first.
    enum Source: Int, Comparable, Sendable {
        /// A file with the start command for a hosting service, such as a Procfile.
        case hosting
        /// A script of the package manifest, or the form in which the framework is started.
        case framework
        case makefile
        /// A file that seems to open a port.
        case guess
        /// The command of a container, which may use files that exist only in the container.
        case container

        static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
    }

    /// The command, with `{{port}}` and `{{data}}`.
    package private(set) var command: String
    /// The folder in which the command runs, relative to the repository; empty for its top folder.
    package private(set) var folder: String
    /// The folder of the project that the command starts, if it runs in another folder.
    private(set) var ownProject: String?
    /// The reason for the command, such as `FastAPI in main.py:12`.
    package let evidence: String
    /// The environment variables that the framework needs, with `{{port}}` and `{{data}}`.
    package var environment: [String: String] = [:]
    /// A command that builds the backend, before it is started for the first time; nil if the start
    /// command needs none.
    package var build: String?
    /// A command that installs the packages of the backend; nil if none is known.
    package var installation: String?
    let source: Source
    /// The file or folder whose routes the program serves; empty for all files of the project.
    var scope = ""
    /// The route of the project that seems to receive webhooks; nil if there is none.
    package var webhook: SourceSurvey.Route?

    /// The folder of the project that the command starts, relative to the repository.
    package var project: String { ownProject ?? folder }
    /// The path from the folder of the command to the project; empty for the same folder.
    package var projectPath: String {
        let path = project.dropFirst(folder.count)
        return String(path.hasPrefix("/") ? path.dropFirst() : path)
    }

    /// Words in the names of programs that serve no requests, and of programs that restart the
    /// backend whenever a file changes.
    private static let otherProgramWords: Set<String> = [
        "seed", "seeds", "seeder", "migrate", "migration", "migrations", "worker", "workers",
        "cron", "job", "jobs", "script", "scripts", "tool", "tools", "cli", "test", "tests",
        "example", "examples", "mock", "mocks", "fake", "celery", "scheduler", "backfill", "bench",
        "admin", "docs", "gen", "generate", "e2e", "debug",
        "watch", "nodemon",
    ]

    /// The program that the command starts; several commands may start the same program.
    package var program: String { "\(folder)\n\(scope)\n\(Self.program(in: command))" }

    private static let file: Pattern = #"^(?:\./)?(?<name>[\w./-]+)\.(?:py|[cm]?[jt]s)$"#
    private static let module: Pattern = #"^(?<name>[\w.]+):\w+(?:\(\))?$"#

    /// Returns the main file of a command without its extension, the name of a tool that starts
    /// the project, or else the command.
    private static func program(in command: String) -> String {
        let words = command.split(separator: " ").map(String.init)
        for word in words {
            if let name = module.first("name", in: word) { return name.replacing(".", with: "/") }
            if let name = file.first("name", in: word) { return name }
        }
        let tools = [
            "rails": ["rails", "bin/rails", "rackup", "puma"],
            "package": ["npm", "yarn", "pnpm", "bun"], "maven": ["mvn", "./mvnw"],
            "gradle": ["gradle", "./gradlew"],
        ]
        return tools.first { !$0.value.allSatisfy { !words.contains($0) } }?.key ?? command
    }

    /// Replaces the script that the command runs by the two parts of the script.
    ///
    /// - Parameters:
    ///   - script: The parts of the script.
    ///   - scriptFolder: The folder of the script, relative to the repository.
    mutating func divide(into script: StartScript, in scriptFolder: String) {
        build = script.build
        command = script.command
        folder = scriptFolder
    }

    /// Runs the command in another folder than that of its project.
    mutating func run(in otherFolder: String) {
        ownProject = project
        folder = otherFolder
    }

    /// Whether the command seems to start another program than a server.
    var isOtherProgram: Bool {
        command.lowercased().split { !$0.isLetter && !$0.isNumber }
            .contains { Self.otherProgramWords.contains(String($0)) }
    }

    /// Whether a variable of the command is not known, so that the command may fail.
    var hasUnknownVariable: Bool { command.contains("$") }
}
