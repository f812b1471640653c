/// Finds the environment variables that a program reported as missing before it exited.
enum MissingVariables {
    /// Lowercase words that occur in messages about missing variables, in any programming
    /// language.
    private static let messageWords = [
        "env", "missing", "require", "not set", "unset", "undefined", "must be", "keyerror",
        "not found", "not provided", "empty",
    ]
    /// Prefixes of uppercase names in error messages that are not environment variables, such as
    /// error codes.
    private static let nonVariablePrefixes = ["ERR_", "SIG", "HTTP_", "UV_"]

    static func named(in output: String) -> [SourceSurvey.Variable] {
        output.split(separator: "\n").flatMap { line in
            let lowercaseLine = line.lowercased()
            guard messageWords.contains(where: lowercaseLine.contains) else {
                return [SourceSurvey.Variable]()
            }
            return SourceSurvey.captures(#"\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b"#, String(line))
                .map { $0[0] }
                .filter { name in !nonVariablePrefixes.contains(where: name.hasPrefix) }
                .map { SourceSurvey.Variable(name: $0, fallback: nil, location: "its output") }
        }
    }
}
