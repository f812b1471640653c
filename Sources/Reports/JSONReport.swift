internal import Contracts
package import Judging
package import Redaction
internal import Values

/// Renders a run as the JSON report, on whose format scripts rely (architecture page, section 6).
package enum JSONReport {
    /// Renders the JSON report of a run.
    ///
    /// - Parameters:
    ///   - report: The report of the run.
    ///   - replay: The command that repeats the run; nil to show no command. A case with findings
    ///     has the command for this case alone.
    /// - Returns: The JSON document, with a newline at its end.
    package static func render(
        _ report: Redacted<RunReport>,
        replay: Redacted<ReplayCommand>? = nil
    ) -> String {
        var root: JSONObject = [
            "assay": .string(report.version),
            "suite": .string(report.suite),
            "seed": .string(report.seed),
            "target": .string(report.target),
            "exit": .integer(Int64(report.exitCode)),
            "began": .string(report.began.description),
            "seconds": .number(JSONNumber(rounded(report.seconds))),
            "jobs": .integer(Int64(report.jobs)),
            "interrupted": .bool(report.isInterrupted),
        ]
        root["summary"] = .object(
            JSONObject(
                members: CaseOutcome.allCases.map {
                    .init(key: $0.rawValue, value: .integer(Int64(report.count($0))))
                }
            )
        )
        let scorecard = report.scorecard
        if let grade = scorecard.grade { root["grade"] = .string(grade.rawValue) }
        if let shard = report.shard { root["shard"] = .string(shard) }
        root["clauses"] = .object(
            JSONObject(
                members: scorecard.clauses.sorted { $0.key < $1.key }.map {
                    .init(key: $0.key, value: .string($0.value.rawValue))
                }
            )
        )
        if !report.skipReasons.isEmpty { root["stopped"] = .strings(report.skipReasons) }
        root["notes"] = .strings(report.notesWithSummaries)
        let caseIDs = report.cases.map(\.contract.caseID)
        root["causes"] = .array(FailureCauses(report.value).all.map { json($0, caseIDs) })
        root["cases"] = .array(report.cases.map { json($0, replay) })
        return JSONValue.object(root).printedText + "\n"
    }

    private static func json(_ cause: FailureCause, _ caseIDs: [String]) -> JSONValue {
        var fields: JSONObject = [
            "kind": .string(cause.kind.rawValue),
            "title": .string(cause.title),
            "remedy": .string(cause.remedy),
            "count": .integer(Int64(cause.caseCount)),
            "first": .string(caseIDs[cause.representativeIndex]),
            "cases": .strings(cause.caseIndices.map { caseIDs[$0] }),
        ]
        if let finding = cause.finding { fields["code"] = .string(finding.code.rawValue) }
        if !cause.otherDeviations.isEmpty {
            fields["deviations"] = .array(
                cause.otherDeviations.map { deviation in
                    .object([
                        "title": .string(deviation.title),
                        "count": .integer(Int64(deviation.caseCount)),
                        "first": .string(caseIDs[deviation.representativeIndex]),
                    ])
                }
            )
        }
        return .object(fields)
    }

    private static func json(_ result: Redacted<CaseResult>, _ replay: Redacted<ReplayCommand>?)
        -> JSONValue
    {
        var fields: JSONObject = [
            "id": .string(result.contract.caseID),
            "contract": .string(result.contract.id),
            "title": .string(result.contract.title),
            "clause": .string(result.contract.clause),
            "level": .string(result.contract.level.rawValue),
            "verdict": .string(result.outcome.rawValue),
            "seconds": .number(JSONNumber(rounded(result.seconds))),
        ]
        if let note = result.note { fields["note"] = .string(note) }
        if let overlap = result.overlap { fields["overlap"] = .integer(Int64(overlap)) }
        if let count = result.runCount { fields["runs"] = .integer(Int64(count)) }
        if !result.volatilePaths.isEmpty { fields["volatile"] = .strings(result.volatilePaths) }
        if !result.unobservedChecks.isEmpty { fields["unseen"] = .strings(result.unobservedChecks) }
        if let didInterruptDelivery = result.didKillInterruptDelivery {
            fields["killHits"] = .bool(didInterruptDelivery)
        }
        if result.settleEvidence != .notNeeded {
            fields["settled"] = .string(result.settleEvidence.description)
        }
        if !result.hints.isEmpty { fields["hints"] = .strings(result.hints) }
        if let replay, !result.findings.isEmpty {
            fields["replay"] = .string(replay.value.text(result.contract.caseID))
        }
        fields["findings"] = .array(result.findings.map { json($0, of: result.contract) })
        return .object(fields)
    }

    private static func json(_ finding: Finding, of contract: Contract) -> JSONValue {
        var fields: JSONObject = [
            "code": .string(finding.code.rawValue),
            "rule": .string(finding.rule),
            "expected": .string(finding.expected),
            "actual": .string(finding.actual),
            "remedy": .string(Diagnosis(finding, of: contract).remedy),
        ]
        if !finding.nearMiss.isEmpty { fields["nearMiss"] = .strings(finding.nearMiss) }
        if let location = finding.location {
            fields["file"] = .string(location.path)
            fields["line"] = .integer(Int64(location.line))
            fields["column"] = .integer(Int64(location.column))
        }
        return .object(fields)
    }

    private static func rounded(_ seconds: Double) -> Double {
        (seconds * 1000).rounded() / 1000
    }
}
