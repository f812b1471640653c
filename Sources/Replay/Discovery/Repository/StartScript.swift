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
        let lines = source.text.split(whereSeparator: \.isNewline).map(String.init)
            .filter { !$0.trimmed.isEmpty && !$0.hasPrefix("#") && !$0.hasPrefix("set ") }
        let changesFolder = lines.first.map(Self.ownFolder.occurs(in:)) ?? false
        let steps = Array(changesFolder ? lines.dropFirst() : lines[...])
        guard
            let parts = Self.parts(of: steps.map(\.trimmed))
                ?? Self.parts(of: steps, in: source, changesFolder ? source.name : source.path)
        else { return nil }
        (build, command) = parts
        folder =
            changesFolder
            ? source.path.split(separator: "/").dropLast().joined(separator: "/") : ""
    }

    /// Returns the two parts of a script that only compiles and then starts the backend.
    private static func parts(of lines: [String]) -> (build: String, command: String)? {
        var buildLines = lines
        guard var last = buildLines.popLast(), !buildLines.isEmpty,
            buildLines.contains(where: compiler.occurs(in:)),
            !lines.contains(where: dependentLine.occurs(in:))
        else { return nil }
        if last.hasPrefix("exec ") { last = String(last.dropFirst("exec ".count)).trimmed }
        last = last.replacing(" \"$@\"", with: "").replacing(" $@", with: "")
        guard let command = StartFiles.command(last), !command.contains("$"),
            !buildLines.contains(where: { $0.contains("$") })
        else { return nil }
        return (buildLines.joined(separator: " && "), command)
    }

    /// Returns the parts of a script with other steps, such as one that reads a file with variables:
    /// its compiler, and the script without the line of the compiler.
    private static func parts(
        of lines: [String],
        in source: SourceText,
        _ path: String
    ) -> (build: String, command: String)? {
        let compilers = lines.filter { compiler.occurs(in: $0) }
        guard compilers.count == 1, let line = compilers.first, line != lines.last,
            !line.contains("$"), !dependentLine.occurs(in: line),
            let program = line.split(separator: " ").first,
            program.allSatisfy({ $0.isLetter || $0.isNumber }),
            lines.count(where: { $0.hasPrefix("\(program) ") }) == 1,
            // A pipe has no path of the script from which the shell could take its folder.
            !lines.contains(where: { $0.contains("$0") || $0.contains("BASH_SOURCE") })
        else { return nil }
        let folders = lines.prefix { $0 != line }.filter { $0.hasPrefix("mkdir -p ") }
        guard !folders.contains(where: { $0.contains("$") }) else { return nil }
        let shell = source.lines.first?.hasSuffix("bash") == true ? "bash" : "sh"
        return (
            (folders + [line]).joined(separator: " && "),
            "sed '/^\(program) /d' \(path) | \(shell)"
        )
    }
}
