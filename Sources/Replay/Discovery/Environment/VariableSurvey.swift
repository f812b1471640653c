/// Reads the environment variables that source and configuration files name.
struct VariableSurvey: Sendable {
    /// The variables, each once, with the first default value that any file shows.
    let variables: [SourceSurvey.Variable]

    /// A row of the table of forms in which files read variables.
    ///
    /// The group `name` is the name and `default` the default value.
    private struct Form: Sendable {
        /// The extensions of the files; nil: every source file.
        var extensions: Set<String>?
        /// A part of the file without which the pattern is not tried.
        let requires: String
        let pattern: Pattern
        /// Whether the name of the variable is the name in upper case.
        var isUppercased = false
    }

    /// The default value after a name: `|| 'x'`, `?? "x"`, `, "x")`.
    private static let fallback =
        #"["'`]?\s*[\])]*(?:\s*(?:\|\||\?\?|,|or|\?:)\s*["'`](?<default>[^"'`\n]*)["'`])?"#
    private static let name = #"(?<name>[A-Z][A-Z0-9_]{2,})"#

    private static let forms: [Form] = [
        Form(
            requires: "env",
            pattern: .init(stringLiteral: #"\benv\."# + name + #"\b"# + fallback)
        ),
        Form(
            requires: "env",
            pattern: .init(stringLiteral: #"(?:env|environ|ENV)\[\s*["'`]"# + name + fallback)
        ),
        Form(
            requires: "ENV",
            pattern: .init(stringLiteral: #"ENV(?:\.fetch\(|\[)\s*["']"# + name + fallback)
        ),
        Form(
            requires: "nv",
            pattern: .init(
                stringLiteral: #"(?i:\w*env\w*(?:\.get)?)\(\s*["'`]"# + name + fallback
            )
        ),
        Form(
            extensions: ["js", "cjs", "mjs", "ts", "mts", "py"],
            requires: "define",
            pattern: .init(
                stringLiteral: #"\bdefine(?:Secret|String)\(\s*["'`]"# + name + #"["'`]"#
            )
        ),
        Form(
            requires: "env",
            pattern: .init(stringLiteral: #"environ\.get\(\s*["']"# + name + fallback)
        ),
        Form(
            extensions: ["py"],
            requires: "config(",
            pattern: .init(
                stringLiteral: #"\bconfig\(\s*["']"# + name
                    + #"["'](?:\s*,\s*default\s*=\s*["'](?<default>[^"']*)["'])?"#
            )
        ),
        Form(
            extensions: ["py"],
            requires: "BaseSettings",
            pattern:
                #"^[ \t]+(?<name>[A-Za-z][A-Za-z0-9_]{2,})[ \t]*:[ \t]*[\w\[\], |.]+(?:=[ \t]*(?:Field\([ \t]*)?(?:["'](?<default>[^"'\n]*)["']|(?<default>)None\b)?)?[^\n]*$"#,
            isUppercased: true
        ),
        Form(
            extensions: ["ts", "js", "mjs", "mts"],
            requires: "z.",
            pattern:
                #"^\s*(?<name>[A-Z][A-Z0-9_]{2,})\s*:\s*z\s*\.(?:[^\n]*?\.default\(\s*["'`](?<default>[^"'`\n]*)["'`])?"#
        ),
        Form(
            extensions: ["yml", "yaml", "properties", "java", "kt"],
            requires: "${",
            pattern: #"\$\{(?<name>[A-Z][A-Z0-9_]{2,})(?::-?(?<default>[^}\n]*))?\}"#
        ),
        Form(
            extensions: ["cs"],
            requires: "[\"",
            pattern: #"\b_?[cC]onfig(?:uration)?\w*\[\s*"(?<name>[A-Za-z][\w:]+)"\s*\]"#
        ),
    ]

    /// A read of a variable by a computed name: `process.env[name]`.
    private static let computedRead: Pattern =
        #"process\.env\[\s*[a-z_]|environ(?:\.get\(|\[)\s*[a-z_]|(?i:getenv)\(\s*[a-z_]|ENV(?:\.fetch\(|\[)\s*[a-z_]"#
    /// A name that is passed to a function of the backend: `required('API_KEY')`.
    private static let passedName: Pattern =
        #"\w+\(\s*["'`](?<name>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)["'`]"#

    /// - Parameters:
    ///   - files: The source and configuration files.
    ///   - listed: The variables that other files list, such as `.env.example`.
    init(_ files: [SurveyedFile], listed: [SourceSurvey.Variable]) {
        let read = files.flatMap(\.variables)
        let all = (read + listed).filter { !$0.name.hasPrefix("_") }
        var fallbacks: [String: String] = [:]
        for variable in all where fallbacks[variable.name] == nil {
            fallbacks[variable.name] = variable.fallback.flatMap { $0.isEmpty ? nil : $0 }
        }
        variables = all.uniqued(by: \.name).map {
            SourceSurvey.Variable(
                name: $0.name,
                fallback: $0.fallback ?? fallbacks[$0.name],
                location: $0.location
            )
        }
    }

    /// Returns the variables that a file reads.
    static func variables(of source: SourceText) -> [SourceSurvey.Variable] {
        // The variables of a compose file are listed by `ComposeServices`.
        guard !ComposeServices.names.contains(source.name) else { return [] }
        let fileExtension = source.path.split(separator: ".").last.map(String.init) ?? ""
        var found: [(line: Int, variable: SourceSurvey.Variable)] = []
        func add(_ match: SourceText.Match, isUppercased: Bool = false) {
            guard let name = match["name"] else { return }
            let variable = SourceSurvey.Variable(
                // The parts of a configuration key are separated by two underscores in a variable.
                name: isUppercased ? name.uppercased() : name.replacing(":", with: "__"),
                fallback: match.hasGroup("default") ? match["default"] ?? "" : nil,
                location: "\(source.path):\(match.line)"
            )
            found.append((match.line, variable))
        }
        let isSource = SourceSurvey.isSource(source.path)
        for form in forms
        where (form.extensions?.contains(fileExtension) ?? isSource)
            && source.text.contains(form.requires)
        {
            for match in source.matches(form.pattern) {
                add(match, isUppercased: form.isUppercased)
            }
        }
        if isSource, !source.matches(computedRead).isEmpty {
            for match in source.matches(passedName) { add(match) }
        }
        return found.sorted { $0.line < $1.line }.map(\.variable)
    }
}
