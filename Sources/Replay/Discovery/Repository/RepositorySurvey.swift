internal import Providers

/// The projects of a repository, and the commands that seem to start a backend.
package struct RepositorySurvey: Sendable {
    /// An app with a user interface, which is not a backend.
    package struct FrontEnd: Hashable, Sendable {
        package let folder: String
        package let framework: String
    }

    /// The commands that seem to start a backend, the most likely one first.
    package let candidates: [StartCandidate]
    /// The most likely command of each program.
    package var programs: [StartCandidate] { candidates.uniqued(by: \.program) }
    package let frontEnds: [FrontEnd]
    private let files: [SurveyedFile]
    /// The facts about each project with a start command, by its folder.
    private let surveys: [String: SourceSurvey]

    package init(_ files: [SourceSurvey.File]) {
        let folders = Self.projectFolders(files)
        var candidates: [StartCandidate] = []
        var frontEnds: [FrontEnd] = []
        for folder in folders {
            let search = StartSearch(
                files.filter { Self.project(of: $0.path, folders) == folder },
                in: folder
            )
            candidates += search.candidates
            if let framework = search.frontEnd {
                frontEnds.append(FrontEnd(folder: folder, framework: framework))
            }
        }
        var surveys: [String: SourceSurvey] = [:]
        let files = files.map(SurveyedFile.init)
        let programFolders = Set(candidates.map(\.project) + frontEnds.map(\.folder))
        for folder in Set(candidates.map(\.project)) {
            // A library that several programs share belongs to each of them.
            let others = programFolders.filter {
                $0 != folder && !folder.hasPrefix($0 + "/") && !$0.isEmpty
            }
            surveys[folder] = SourceSurvey(
                searched: files.filter { file in
                    !others.contains { file.source.path.hasPrefix($0 + "/") }
                }
            )
        }
        for index in candidates.indices {
            let candidate = candidates[index]
            candidates[index].webhook = surveys[candidate.project].flatMap {
                WebhookRoutes($0.routes).best(in: candidate.scope)
            }
        }
        self.candidates = candidates.sorted {
            Self.rank($0).lexicographicallyPrecedes(Self.rank($1))
        }.uniqued(by: { "\($0.folder)\n\($0.command)" })
        self.frontEnds = frontEnds
        self.surveys = surveys
        self.files = files
    }

    /// Returns the facts about the project of a candidate; without one, those about all projects
    /// except apps with a user interface.
    package func survey(of candidate: StartCandidate?) -> SourceSurvey {
        if let candidate, let survey = surveys[candidate.project] { return survey }
        if surveys.count == 1, let survey = surveys.values.first { return survey }
        return SourceSurvey(
            searched: files.filter { file in
                !frontEnds.contains {
                    !$0.folder.isEmpty && file.source.path.hasPrefix($0.folder + "/")
                }
            }
        )
    }

    // MARK: Projects

    /// The names of files that mark the folder of a project.
    private static let manifests: Set<String> = [
        "package.json", "go.mod", "requirements.txt", "pyproject.toml", "Pipfile", "manage.py",
        "Gemfile", "composer.json", "artisan", "pom.xml", "build.gradle", "build.gradle.kts",
        "Cargo.toml", "mix.exs", "Package.swift", "deno.json", "Procfile",
    ]

    /// Returns the folders with a manifest, and the top folder.
    private static func projectFolders(_ files: [SourceSurvey.File]) -> [String] {
        let folders = files.compactMap { file -> String? in
            let parts = file.path.split(separator: "/").map(String.init)
            guard let name = parts.last, manifests.contains(name) else { return nil }
            return parts.dropLast().joined(separator: "/")
        }
        return ([""] + folders).uniqued()
    }

    /// Returns the innermost project that contains a file.
    private static func project(of path: String, _ folders: [String]) -> String {
        folders.filter { $0.isEmpty || path.hasPrefix($0 + "/") }.max { $0.count < $1.count } ?? ""
    }

    /// Returns the position of a candidate in the order in which the candidates are tried.
    private static func rank(_ candidate: StartCandidate) -> [Int] {
        [
            -(candidate.webhook.map(WebhookRoutes.score) ?? 0),
            candidate.isOtherProgram ? 1 : 0,
            candidate.hasUnknownVariable ? 1 : 0,
            candidate.source.rawValue,
            candidate.folder.isEmpty ? 0 : candidate.folder.count { $0 == "/" } + 1,
        ]
    }
}
