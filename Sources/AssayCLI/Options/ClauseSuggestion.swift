internal import Grammar

/// The suggestion for the ID of a clause that does not exist, such as `S-99`, `s-3` or `S03`.
struct ClauseSuggestion {
    /// The suggestion for the reader, as the end of a sentence.
    let text: String

    /// Creates the suggestion for a misspelled clause.
    ///
    /// Returns nil for a word that does not look like the ID of a clause.
    ///
    /// - Parameters:
    ///   - word: The word that the user typed.
    ///   - clauses: The IDs of all clauses, in alphabetical order.
    init?(_ word: String, among clauses: [String]) {
        let name = word.uppercased()
        guard let letter = name.first, letter.isLetter, letter.isASCII, name.count <= 6,
            let number = Int(name.dropFirst().filter { $0 != "-" && $0 != "_" })
        else { return nil }
        let digits = String(number)
        let id = "\(letter)-" + String(repeating: "0", count: max(0, 2 - digits.count)) + digits
        let siblings = clauses.filter { $0.first == letter }
        if clauses.contains(id) {
            text = "did you mean '\(id)'?"
        } else if let first = siblings.first, let last = siblings.last {
            text = "the clauses with '\(letter)' are \(first) to \(last)"
        } else {
            let letters = Set(clauses.compactMap(\.first)).sorted().map { "'\($0)'" }
            text = "clauses begin with \(letters.joined(separator: ", "))"
        }
    }
}
