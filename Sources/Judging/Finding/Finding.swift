package import Values

/// One violation of a clause by the backend or app, or one reason why a case is inconclusive.
package struct Finding: Hashable, Codable, Sendable {
    package let code: FindingCode
    package let expected: String
    package let actual: String
    /// The suggested fix of the backend or the app; by default the remedy of the finding code.
    package let remedy: String
    /// The line of the contract file with the expectation that was not met.
    package var location: SourceLocation?
    /// The journal's sequence numbers of the exchanges that show the finding.
    package let evidence: [Int]
    /// Whether further waiting cannot change the finding, because something happened that must not
    /// happen.
    package let isFinal: Bool
    /// The observed value that is most similar to the expected one, with its first differences; at
    /// most twelve lines.
    package var nearMiss: [String] = []

    package init(
        _ code: FindingCode,
        expected: String,
        actual: String,
        remedy: String? = nil,
        location: SourceLocation? = nil,
        evidence: [Int] = [],
        isFinal: Bool = false
    ) {
        self.code = code
        self.expected = expected
        self.actual = actual
        self.remedy = remedy ?? code.facts.remedy
        self.location = location
        self.evidence = evidence
        self.isFinal = isFinal
    }

    package var rule: String { code.rule }
}
