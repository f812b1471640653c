internal import Values

/// Reads the start commands in the files of hosting services, containers and `make`.
struct StartFiles: Sendable {
    /// A start command that a file contains.
    struct Entry: Sendable {
        let command: String
        /// The folder relative to the folder of the file; empty for the same folder.
        let folder: String
        let line: Int
        let source: StartCandidate.Source
    }

    /// A row of the table of start files: the pattern of a file name, and the pattern of the
    /// command in its group `command`.
    private struct Form: Sendable {
        let file: Pattern
        let command: Pattern
        let source: StartCandidate.Source
        /// Whether the last match counts; otherwise every match counts.
        var countsOnlyLast = false
    }

    private static let forms = [
        Form(
            file: #"(?:^|/)Procfile$"#,
            command: #"^web:[ \t]*(?<command>.+)$"#,
            source: .hosting
        ),
        Form(
            file: #"(?:^|/)render\.ya?ml$"#,
            command: #"^\s*(?:-\s*)?startCommand:\s*(?<command>[^\n]+)$"#,
            source: .hosting
        ),
        Form(
            file: #"(?:^|/)railway\.(?:json|toml)$"#,
            command: #""?startCommand"?\s*[:=]\s*"(?<command>(?:[^"\\]|\\.)*)""#,
            source: .hosting
        ),
        Form(
            file: #"(?:^|/)nixpacks\.toml$"#,
            command: #"^\[start\]\s*\n(?:[^\[\n]*\n)*?\s*cmd\s*=\s*["'](?<command>[^\n]*)["']\s*$"#,
            source: .hosting
        ),
        Form(
            file: #"(?:^|/)app\.ya?ml$"#,
            command: #"^entrypoint:\s*(?<command>[^\n]+)$"#,
            source: .hosting
        ),
        Form(
            file: #"(?:^|/)(?:GNU)?[Mm]akefile$"#,
            command:
                #"^(?:run|start|serve|server|dev|run-dev|api)\s*:(?!=)[^\n]*\n\t[@-]?(?<command>[^\n]+)"#,
            source: .makefile
        ),
        // A command in the documentation that begins with the variable of the port.
        Form(
            file: #"(?:^|/)(?:README|readme)\.md$"#,
            command:
                #"^[ \t]*(?:\$ )?(?:[A-Z][A-Z0-9_]*=\S* )*PORT=\S* (?:[A-Z][A-Z0-9_]*=\S* )*(?<command>[^\n`]+)$"#,
            source: .guess
        ),
        Form(
            file: #"(?:^|/)Dockerfile$"#,
            command: #"^(?:CMD|ENTRYPOINT)\s+(?<command>[^\n]+(?:\\\n[^\n]+)*)"#,
            source: .container,
            countsOnlyLast: true
        ),
    ]

    let entries: [Entry]

    /// Reads a file; the list is empty for a file of another name.
    init(_ source: SourceText) {
        var entries: [Entry] = []
        for form in Self.forms where form.file.occurs(in: source.path) {
            let matches = source.matches(form.command)
            for match in form.countsOnlyLast ? Array(matches.suffix(1)) : matches {
                guard let command = Self.command(match["command"] ?? "") else { continue }
                let folder = Self.rootFolder(in: source, around: match.line)
                entries.append(
                    Entry(
                        command: command,
                        folder: folder,
                        line: match.lastLine,
                        source: form.source
                    )
                )
            }
        }
        if ComposeServices.names.contains(source.name) {
            entries += ComposeServices(source.text).commands.compactMap { entry in
                Self.command(entry.command).map {
                    Entry(
                        command: $0,
                        folder: entry.folder,
                        line: entry.line,
                        source: .container
                    )
                }
            }
        }
        self.entries = entries
    }

    /// Returns a command with `{{port}}` in place of its port; nil for a command that Assay cannot
    /// run, such as one that starts containers.
    static func command(_ text: String) -> String? {
        var command = text.trimmed
        if let words = JSONValue(ifValid: Array(command.utf8))?.array?.compactMap(\.string),
            !words.isEmpty
        {
            // A shell that runs one string is not needed, because Assay uses a shell.
            command =
                words.count == 3 && words[1] == "-c" ? words[2] : words.joined(separator: " ")
        }
        for quotationMark in ["\"", "'"]
        where command.count > 1 && command.hasPrefix(quotationMark)
            && command.hasSuffix(quotationMark)
        {
            command = String(command.dropFirst().dropLast())
        }
        if let inner = innerShell.first("command", in: command) {
            command = inner
        }
        command = command.replacing("\\\n", with: " ").replacing("\\\"", with: "\"")
            .replacing(#/\s*&\s*$/#, with: "")
            .replacing(#/\s*--reload\b/#, with: "")
            .replacing(#/^\.?venv\/bin\//#, with: "")
            .replacing(#/\$\{PORT(?::?-[^}]*)?\}|\$\(PORT\)|\$PORT\b/#, with: "{{port}}")
            .replacing(#/(--port[ =]|\s-p[ =]?)\d{2,5}\b/#) { "\($0.1){{port}}" }
            .replacing(#/((?:--bind|-b)[ =]\S*?:)\d{2,5}\b/#) { "\($0.1){{port}}" }
            .replacing(#/(runserver\s+(?:[\w.]+:)?)\d{2,5}\b/#) { "\($0.1){{port}}" }
        let words = command.split(separator: " ").map(String.init)
        guard let program = words.first(where: { !$0.contains("=") }) else { return nil }
        let name = program.split(separator: "/").last.map(String.init) ?? program
        guard !isContainerTool(name), !words.contains("celery") else { return nil }
        return command
    }

    private static let innerShell: Pattern =
        #"^(?:/bin/)?(?:ba|z)?sh\s+-c\s+(?:"(?<command>[^"]*)"|'(?<command>[^']*)')$"#
    private static let rootFolder: Pattern = #"^\s*(?:-\s*)?rootDir:\s*["']?(?<folder>[\w./-]+)"#

    private static func isContainerTool(_ name: String) -> Bool {
        [
            "docker", "docker-compose", "podman", "kubectl", "nginx", "echo", "supervisord",
            "caddy", "make", "concurrently", "foreman", "tilt",
        ].contains(name)
    }

    /// Returns the root folder that the same service of a hosting file names.
    private static func rootFolder(in source: SourceText, around line: Int) -> String {
        guard source.name.hasPrefix("render.") else { return "" }
        let matches = source.matches(rootFolder)
        let nearest = matches.min { abs($0.line - line) < abs($1.line - line) }
        let folder = nearest?["folder"] ?? ""
        return folder == "." ? "" : folder.hasPrefix("./") ? String(folder.dropFirst(2)) : folder
    }
}
