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
    /// The first observed value that differs from the expected one; nil when the finding compares no
    /// values.
    package var firstDifference: ValueDifference? = nil

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

/// A value in the response of a probe that differs from the expected value.
package struct ValueDifference: Hashable, Codable, Sendable {
    /// The name of the probe and the JSON pointer of the value, such as `subscription/active`.
    package var path: String
    package var expected: String
    package var actual: String

    package init(path: String, expected: String, actual: String) {
        self.path = path
        self.expected = expected
        self.actual = actual
    }
}
