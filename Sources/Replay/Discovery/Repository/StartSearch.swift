/// Searches the files of one project for commands that start it.
struct StartSearch: Sendable {
    private(set) var candidates: [StartCandidate] = []
    /// The framework of an app with a user interface, if the project contains nothing else.
    private(set) var frontEnd: String?

    private let folder: String
    private let paths: Set<String>

    /// Searches the files of a project.
    ///
    /// - Parameters:
    ///   - files: The files of the project, with paths relative to the repository.
    ///   - folder: The folder of the project, relative to the repository; empty for its top folder.
    init(_ files: [SourceSurvey.File], in folder: String) {
        self.folder = folder
        let prefixLength = folder.isEmpty ? 0 : folder.count + 1
        let sources = files.map {
            SourceText(path: String($0.path.dropFirst(prefixLength)), text: $0.text)
        }
        paths = Set(sources.map(\.path))
        for source in sources {
            if source.path == "package.json" { addScripts(of: source) }
            for entry in StartFiles(source).entries { add(entry, source) }
        }
        for framework in Framework.all {
            for rule in framework.starts {
                for source in sources { add(rule, framework, source) }
            }
        }
        candidates = candidates.filter { candidate in
            !Self.isTask(candidate.command)
                && script(of: candidate, sources).map(Self.controlsServices) != true
        }
        for index in candidates.indices { divideScript(of: &candidates[index], sources) }
        let installation = installation
        let environment = commonEnvironment
        for index in candidates.indices {
            candidates[index].installation = installation
            if [.hosting, .makefile, .container].contains(candidates[index].source) {
                candidates[index].environment = environment
            }
        }
    }

    // MARK: Commands

    private static let scriptCall: Pattern = #"^(?:(?:ba|z|da)?sh )?(?:\./)?(?<path>[\w./-]+\.sh)$"#

    /// Replaces the command of a candidate that runs a script, if the script also compiles the
    /// backend.
    private func divideScript(of candidate: inout StartCandidate, _ sources: [SourceText]) {
        guard let source = script(of: candidate, sources), let script = StartScript(source) else {
            return
        }
        candidate.divide(
            into: script,
            in: script.folder.isEmpty ? candidate.folder : below(script.folder)
        )
    }

    /// Returns the script that the command of a candidate runs; nil if it runs none.
    private func script(of candidate: StartCandidate, _ sources: [SourceText]) -> SourceText? {
        Self.scriptCall.first("path", in: candidate.command).flatMap { path in
            sources.first {
                below($0.path) == (candidate.folder.isEmpty ? path : candidate.folder + "/" + path)
            }
        }
    }

    private static let serviceManager: Pattern =
        #"^\s*(?:sudo\s+)?(?:supervisorctl|systemctl|service|launchctl|pm2|docker|docker-compose|podman|kubectl|helm|heroku|flyctl|gcloud|aws|ssh|rsync)\s"#

    /// Whether a script starts or stops services of the machine or of another one.
    ///
    /// `init` tries commands, so such a script could restart a backend in production.
    private static func controlsServices(_ script: SourceText) -> Bool {
        script.lines.contains(where: serviceManager.occurs(in:))
    }

    /// The first or last words of the names of files that change data or test a backend, and do not
    /// start one.
    private static let taskWords: Set<String> = [
        "test", "tests", "e2e", "spec", "seed", "seeds", "seeder", "migrate", "migration",
        "migrations", "import", "importer", "export", "backfill", "cleanup", "purge", "reset",
        "drop", "backup", "old", "setup", "check", "bench", "benchmark",
    ]

    /// Returns whether a command runs a file that is a task, such as a migration.
    ///
    /// `init` tries commands, so a task could change the owner's data.
    private static func isTask(_ command: String) -> Bool {
        command.split(separator: " ").contains { word in
            let parts = word.split(separator: "/")
            guard let file = parts.last, file.contains("."), !file.hasPrefix(".") else {
                return false
            }
            let stem = file.prefix { $0 != "." }.lowercased()
            let words = stem.split { $0 == "_" || $0 == "-" }.map(String.init)
            return words.contains(where: taskWords.contains)
                || parts.dropLast().contains { ["scripts", "tests", "migrations"].contains($0) }
                    && !stem.hasPrefix("start") && !stem.hasPrefix("serve")
                    && !stem.hasPrefix("run")
        }
    }

    private mutating func addScripts(of source: SourceText) {
        let scripts = PackageScripts(source.text, packageManager)
        frontEnd = scripts.frontEnd
        for entry in scripts.commands {
            candidates.append(
                StartCandidate(
                    command: entry.command,
                    folder: folder,
                    evidence: "\(entry.script) in \(below(source.path))",
                    source: .framework
                )
            )
        }
    }

    private mutating func add(_ entry: StartFiles.Entry, _ source: SourceText) {
        let words = entry.command.split(separator: " ").map(String.init)
        // A path of a container does not exist on this machine.
        let isMissing = words.first.map { program in
            program.contains("/") && !program.contains("=")
                && !paths.contains(program.hasPrefix("./") ? String(program.dropFirst(2)) : program)
        }
        guard isMissing != true else { return }
        // The folder in which the file is, unless the file names another one.
        let fileFolder = source.path.split(separator: "/").dropLast().joined(separator: "/")
        let entryFolder = entry.folder.isEmpty ? fileFolder : entry.folder
        candidates.append(
            StartCandidate(
                command: entry.command,
                folder: below(entryFolder),
                evidence: "\(below(source.path)):\(entry.line)",
                source: entry.source
            )
        )
    }

    private mutating func add(
        _ rule: Framework.StartRule,
        _ framework: Framework,
        _ source: SourceText
    ) {
        guard rule.file.occurs(in: source.path), rule.needs.map(paths.contains) ?? true else {
            return
        }
        guard let pattern = rule.text else { return add(rule, framework, source, nil) }
        let matches = source.matches(pattern)
        for match in rule.isOneProgramPerMatch ? matches : Array(matches.prefix(1)) {
            add(rule, framework, source, match)
        }
    }

    /// Adds the command of a rule for a match in a file; nil if the rule needs none.
    private mutating func add(
        _ rule: Framework.StartRule,
        _ framework: Framework,
        _ source: SourceText,
        _ match: SourceText.Match?
    ) {
        let parts = source.path.split(separator: "/").map(String.init)
        let stem = source.path.lastIndex(of: ".").map { String(source.path[..<$0]) } ?? source.path
        var modules = stem.split(separator: "/").map(String.init)
        if ["__init__", "__main__"].contains(modules.last) { modules.removeLast() }
        // A module that imports from its own folder as a package runs from the folder above.
        let package = rule.command.contains("{{module}}") ? self.package(importedBy: source) : nil
        if let package { modules.insert(package, at: 0) }
        let command = rule.command.replacing("{{app}}", with: match?["app"] ?? "")
            .replacing("{{file}}", with: source.path)
            .replacing("./{{folder}}", with: parts.count > 1 ? "./{{folder}}" : ".")
            .replacing("{{folder}}", with: parts.dropLast().joined(separator: "/"))
            .replacing("{{module}}", with: modules.joined(separator: "."))
        let location = below(source.path) + (match.map { ":\($0.line)" } ?? "")
        var candidate = StartCandidate(
            command: command,
            folder: folder,
            evidence: "\(framework.name) in \(location)",
            environment: framework.environment,
            build: rule.build?.replacing("{{file}}", with: source.path),
            source: rule.isWeak ? .guess : .framework,
            scope: rule.isOneProgramPerMatch
                ? location : rule.isOneProgramPerFile ? below(source.path) : ""
        )
        if package != nil {
            candidate.run(in: folder.split(separator: "/").dropLast().joined(separator: "/"))
        }
        candidates.append(candidate)
    }

    /// Returns the name of the project's folder if a Python file imports from it as from a package;
    /// nil otherwise.
    private func package(importedBy source: SourceText) -> String? {
        guard let name = folder.split(separator: "/").last else { return nil }
        let isImported = source.lines.contains { line in
            ["from \(name).", "from \(name) import ", "import \(name)."]
                .contains(where: line.trimmed.hasPrefix)
        }
        return isImported && !paths.contains { $0.hasPrefix("\(name)/") } ? String(name) : nil
    }

    // MARK: Packages

    private var packageManager: String {
        if paths.contains("pnpm-lock.yaml") { return "pnpm" }
        if paths.contains("yarn.lock") { return "yarn" }
        return paths.contains("bun.lock") || paths.contains("bun.lockb") ? "bun" : "npm"
    }

    /// The command that installs the packages, by a file of the project.
    private static let installations: KeyValuePairs = [
        "uv.lock": "uv sync", "poetry.lock": "poetry install",
        "requirements.txt":
            "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
        "pyproject.toml": "python3 -m venv .venv && .venv/bin/pip install -e .",
        "Gemfile": "bundle install", "composer.json": "composer install",
        "go.mod": "go mod download",
        "package.json": "npm install",
    ]

    private var installation: String? {
        Self.installations.first { paths.contains($0.key) }.map {
            $0.key == "package.json" ? "\(packageManager) install" : $0.value
        }
    }

    /// The environment variables of all frameworks that the project uses.
    private var commonEnvironment: [String: String] {
        candidates.filter { $0.source == .framework && $0.scope.isEmpty }
            .reduce(into: [:]) { $0.merge($1.environment) { own, _ in own } }
    }

    private func below(_ path: String) -> String {
        folder.isEmpty ? path : path.isEmpty ? folder : folder + "/" + path
    }
}
