internal import Contracts
package import Redaction
internal import Values

extension RunReport: Redactable {
    package func redacted(by redaction: Redaction) -> RunReport {
        var copy = self
        copy.target = redaction.text(target)
        copy.seed = redaction.words(seed)
        copy.notes = notes.map(redaction.text)
        copy.skipReasons = skipReasons.map(redaction.text)
        copy.cases = cases.map { $0.redacted(by: redaction) }
        return copy
    }
}

extension CaseResult: Redactable {
    package func redacted(by redaction: Redaction) -> CaseResult {
        var copy = self
        copy.contract.title = redaction.words(contract.title)
        copy.contract.location = contract.location.redacted(by: redaction)
        copy.contract.given = contract.given.map { $0.redacted(by: redaction) }
        copy.contract.steps = contract.steps.map { $0.redacted(by: redaction) }
        copy.findings = findings.map { $0.redacted(by: redaction) }
        copy.note = note.map(redaction.text)
        copy.namedIDs = namedIDs.map { NamedID(id: redaction.text($0.id), name: $0.name) }
        copy.volatilePaths = volatilePaths.map(redaction.text)
        copy.hints = hints.map(redaction.text)
        copy.unobservedChecks = unobservedChecks.map(redaction.words)
        copy.timeline = timeline.map(redaction.exchange)
        copy.backendOutput = backendOutput.map(redaction.text)
        return copy
    }
}

extension Finding {
    func redacted(by redaction: Redaction) -> Finding {
        var copy = Finding(
            code,
            expected: redaction.text(expected),
            actual: redaction.text(actual),
            remedy: redaction.words(remedy),
            location: location?.redacted(by: redaction),
            evidence: evidence,
            isFinal: isFinal
        )
        copy.nearMiss = nearMiss.map(redaction.text)
        copy.firstDifference = firstDifference.map { difference in
            ValueDifference(
                path: redaction.text(difference.path),
                expected: redaction.text(difference.expected),
                actual: redaction.text(difference.actual)
            )
        }
        return copy
    }
}

extension SourceLocation {
    /// Returns the source location with the secrets in its line of the contract masked.
    ///
    /// An author wrote this line, so a name such as `password` in it does not make the value after
    /// it a secret.
    func redacted(by redaction: Redaction) -> SourceLocation {
        let redactedText = redaction.words(text)
        guard redactedText != text else { return self }
        return SourceLocation(
            path: path,
            line: line,
            column: column,
            text: redactedText,
            length: length
        )
    }
}

extension RunReport {
    /// Returns the report without its secrets, including those that are declared in the report
    /// itself.
    package func redacted() -> Redacted<RunReport> { redacted(declared) }
}

extension Redacted where Value == RunReport {
    /// The results of the cases, which were redacted together with the report.
    package var cases: [Redacted<CaseResult>] { elements(of: \.cases) }

    package func count(_ outcome: CaseOutcome) -> Int { value.count(outcome) }
}
