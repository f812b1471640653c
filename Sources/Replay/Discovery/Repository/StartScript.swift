internal import Values

/// A shell script that compiles a backend and then starts it, divided into these two parts.
///
/// Assay starts a backend many times, and has to compile it only once.
struct StartScript: Hashable, Sendable {
    /// The command that compiles the backend.
    let build: String
    /// The command that starts the compiled backend.
    let command: String
    /// The folder of the script; empty for the top folder of the project.
    let folder: String

    private static let compiler: Pattern =
        #"(?:^|&&\s*)(?:\./|npx )?(?:javac|kotlinc|scalac|gcc|cc|g\+\+|clang|tsc|esbuild|(?:go|cargo|dotnet|swift|zig|mix) (?:build|publish|compile)|(?:mvnw?|gradlew?|sbt|lein|make|cmake)\b|(?:npm|pnpm|yarn|bun) run (?:build|compile))"#
    /// Lines that cannot be taken out of their script.
    private static let dependentLine: Pattern =
        #"^(?:if|for|while|until|case|function|trap|export|source|\.|cd|[A-Za-z_]\w*=|[A-Za-z_]\w*\s*\(\))(?:\s|$|(?<==))|\\$|<<|&$"#
    private static let ownFolder: Pattern =
        #"^cd\s+"?(?:\$\(\s*dirname\s+(?:--\s+)?"?\$\{?(?:0|BASH_SOURCE(?:\[0\])?)\}?"?\s*\)|\$\{0%/\*\})"?$"#

    /// Divides a script; nil if it compiles nothing, or if its parts depend on each other.
    init?(_ source: SourceText) {
        let lines = source.text.split(whereSeparator: \.isNewline).map(String.init).map(\.trimmed)
            .filter { !$0.isEmpty && !$0.hasPrefix("#") && !$0.hasPrefix("set ") }
        let changesFolder = lines.first.map(Self.ownFolder.occurs(in:)) ?? false
        var buildLines = Array(changesFolder ? lines.dropFirst() : lines[...])
        guard var last = buildLines.popLast(), !buildLines.isEmpty,
            buildLines.contains(where: Self.compiler.occurs(in:)),
            !(buildLines + [last]).contains(where: Self.dependentLine.occurs(in:))
        else { return nil }
        if last.hasPrefix("exec ") { last = String(last.dropFirst("exec ".count)).trimmed }
        last = last.replacing(" \"$@\"", with: "").replacing(" $@", with: "")
        guard let command = StartFiles.command(last), !command.contains("$"),
            !buildLines.contains(where: { $0.contains("$") })
        else { return nil }
        build = buildLines.joined(separator: " && ")
        self.command = command
        folder =
            changesFolder
            ? source.path.split(separator: "/").dropLast().joined(separator: "/") : ""
    }
}
