/// The variables of the environment that a program missed when it ended, out of what it wrote.
enum MissingVariables {
    /// A line that speaks of such a variable has one of these words, whatever the language.
    private static let words = [
        "env", "missing", "require", "not set", "unset", "undefined", "must be", "keyerror",
        "not found", "not provided", "empty",
    ]
    /// What is written in the same letters and is none.
    private static let others = ["ERR_", "SIG", "HTTP_", "UV_"]

    static func named(in output: String) -> [SourceSurvey.Variable] {
        output.split(separator: "\n").flatMap { line in
            let plain = line.lowercased()
            guard words.contains(where: plain.contains) else { return [SourceSurvey.Variable]() }
            return SourceSurvey.captures(#"\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b"#, String(line))
                .map { $0[0] }
                .filter { name in !others.contains(where: name.hasPrefix) }
                .map { SourceSurvey.Variable(name: $0, fallback: nil, place: "what it wrote") }
        }
    }
}
