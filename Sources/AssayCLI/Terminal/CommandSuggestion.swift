internal import ContractFiles
internal import Contracts
internal import Grammar
internal import Judging

/// The suggestion for a command that does not exist.
enum CommandSuggestion {
    /// Words that other tools use for a command, by command.
    private static let synonyms: [(command: String, words: [String])] = [
        ("verify", ["test", "tests", "run", "check", "validate", "rerun", "retry"]),
        ("init", ["new", "create", "setup", "configure", "scaffold", "generate", "install"]),
        ("doctor", ["diagnose", "health", "status", "probe", "ping"]),
        ("serve", ["start", "server", "mock", "fake", "fakes", "emulator", "dev", "up"]),
        ("send", ["trigger", "fire", "emit", "webhook", "event"]),
        ("explain", ["docs", "doc", "describe", "info", "show", "man", "why", "schema"]),
        ("list", ["ls", "contracts", "cases", "clauses"]),
        ("explore", ["fuzz", "random", "monkey", "campaign"]),
        ("record", ["capture", "proxy"]),
        ("demo", ["example", "tour", "quickstart", "try"]),
        ("merge", ["join", "combine", "shards"]),
        ("judge", ["replay", "report", "results"]),
    ]

    /// Returns the arguments that the user probably meant; nil when nothing is similar.
    ///
    /// - Parameters:
    ///   - word: The first argument of the command line.
    ///   - names: The names of all commands.
    /// - Returns: A command, or `explain` and a name.
    static func command(for word: String, among names: [String]) -> String? {
        let word = word.lowercased()
        if let name = names.first(where: { $0 == word }) { return name }
        if let synonym = synonyms.first(where: { $0.words.contains(word) }) {
            return synonym.command
        }
        if let subject = explainableName(word) { return "explain \(subject)" }
        return Suggestion.nearest(to: word, among: names)
    }

    /// Returns the finding code, clause or contract with this name; nil without one.
    private static func explainableName(_ word: String) -> String? {
        let name = word.uppercased()
        if FindingCode(rawValue: name) != nil { return name }
        let headings = ContractLibrary.indexed.headings
        if headings.contains(where: { $0.clause == name }) { return name }
        return headings.first { $0.id == word }?.id
    }
}
