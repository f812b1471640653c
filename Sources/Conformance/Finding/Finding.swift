/// One way in which the backend broke a clause, or in which a case could not be decided.
package struct Finding: Hashable, Codable, Sendable {
    package let code: FindingCode
    package let expected: String
    package let actual: String
    /// What to do about it; by default what the code says.
    package let remedy: String
    /// The expectation that was not met.
    package var location: SourceLocation?
    /// Journal numbers of the exchanges that show it.
    package let evidence: [Int]
    /// No waiting can mend it: something is there that cannot go away.
    package let isFinal: Bool
    /// What came closest to the expectation, and where it first differs; at most twelve lines.
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
        self.remedy = remedy ?? code.explanation.remedy
        self.location = location
        self.evidence = evidence
        self.isFinal = isFinal
    }

    package var rule: String { code.rule }
}
