/// The keys and values that contracts and profiles had before version 0.3 of the language.
///
/// A renamed word in a file is an error, like any unknown word; the error names the current word.
package enum RenamedWord {
    private static let currentNamesByOldName: [String: [String]] = [
        "along": ["retry"],
        "answer": ["response"],
        "answers": ["status", "responses"],
        "beside": ["concurrent-with"],
        "cut-requests": ["truncated-requests"],
        "half": ["truncated-response"],
        "hang-ups": ["disconnects"],
        "ladder": ["schedule"],
        "late": ["delayed"],
        "look": ["probe"],
        "lose-answer": ["lost-response"],
        "lose-answer-of": ["lost-response-of"],
        "lose-answers": ["lost-responses"],
        "moment": ["phase"],
        "never": ["no-response"],
        "pass": ["wait-for-end"],
        "patience": ["settle-timeout"],
        "promises": ["invariants"],
        "says": ["content"],
        "shuffled": ["reordered"],
        "store-fails": ["database-failures", "database-failure"],
        "strangers": ["unknown-users"],
        "told": ["store-event"],
        "text-ids": ["string-ids"],
        "undisturbed": ["fault-free"],
    ]

    /// The old words that were renamed.
    package static var allOldNames: [String] { currentNamesByOldName.keys.sorted() }

    /// Returns the current name of a renamed key or value.
    ///
    /// - Parameters:
    ///   - word: The unknown word in the file.
    ///   - allowed: The words that the language accepts at the place of the unknown word.
    /// - Returns: The current name, or nil when the word was not renamed.
    package static func name(of word: String, among allowed: [String]) -> String? {
        currentNamesByOldName[word]?.first { allowed.contains($0) }
    }
}
