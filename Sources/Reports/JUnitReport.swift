internal import Contracts
package import Judging
package import Redaction
internal import Values

/// Renders a run as JUnit XML, with a test suite for every folder of contracts and a test case for
/// every case.
///
/// The properties of a suite contain the causes of its failures.
///
/// The output is valid according to the schema that Jenkins publishes. GitLab and Azure read this
/// format, too. Known failures are skipped with their reason, and unexpected passes are failures.
/// Inconclusive cases are errors. A case that did not run is skipped if the profile declares its
/// feature unsupported; otherwise it is an error.
package enum JUnitReport {
    /// Renders the JUnit report of a run.
    ///
    /// - Parameters:
    ///   - report: The report of the run.
    ///   - replay: The command that repeats the run; nil to show no command.
    /// - Returns: An XML document.
    package static func render(
        _ report: Redacted<RunReport>,
        replay: Redacted<ReplayCommand>? = nil
    ) -> String {
        let allCases: [Redacted<CaseResult>] = report.cases
        let causes = FailureCauses(report.value)
        let causesByIndex = causes.causesByCaseIndex
        let caseIDs = allCases.map(\.contract.caseID)
        let casesByFolder = Dictionary(
            grouping: allCases.enumerated(),
            by: { folder($0.element.contract.id) }
        )
        .sorted { $0.key < $1.key }
        var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        text +=
            "<testsuites name=\"assay\" \(countAttributes(allCases, withSkipped: false)) time=\"\(secondsText(report.seconds))\">\n"
        for (folder, cases) in casesByFolder {
            let seconds = cases.reduce(0) { $0 + $1.element.seconds }
            text +=
                "  <testsuite name=\"\(escaped(folder))\" \(countAttributes(cases.map(\.element))) "
            text +=
                "timestamp=\"\(report.began.description.dropLast())\" time=\"\(secondsText(seconds))\">\n"
            text += properties(causes, of: cases.map(\.offset), caseIDs)
            for (index, result) in cases {
                text += testCase(
                    result,
                    folder,
                    causesByIndex[index].map(causes.sentence(about:)),
                    replay
                )
            }
            text += "  </testsuite>\n"
        }
        return text + "</testsuites>\n"
    }

    /// Returns the causes of a folder's cases as properties of the suite; empty without a cause.
    ///
    /// The schema allows properties only in a suite. The name of a property contains the number of
    /// the cause in the run, which the texts of the failures name, too.
    private static func properties(
        _ causes: FailureCauses,
        of caseIndices: [Int],
        _ caseIDs: [String]
    ) -> String {
        let indices = Set(caseIndices)
        let lines = causes.all.enumerated().flatMap { offset, cause -> [(String, String)] in
            let ids = cause.caseIndices.filter(indices.contains).map { caseIDs[$0] }
            guard !ids.isEmpty else { return [] }
            let name = "assay.cause.\(offset + 1)"
            return [
                ("\(name).title", cause.title), ("\(name).share", causes.share(of: cause)),
                ("\(name).remedy", cause.remedy), ("\(name).cases", ids.joined(separator: " ")),
            ]
        }
        guard !lines.isEmpty else { return "" }
        return "    <properties>\n"
            + lines.map {
                "      <property name=\"\($0.0)\" value=\"\(escaped($0.1))\"/>\n"
            }.joined() + "    </properties>\n"
    }

    /// Returns the XML attributes with the numbers of cases.
    ///
    /// The schema allows no `skipped` attribute on the `testsuites` element.
    private static func countAttributes(_ cases: [Redacted<CaseResult>], withSkipped: Bool = true)
        -> String
    {
        let outcomes = cases.map(\.outcome)
        let failureCount = outcomes.count(where: \.isFailure)
        let errorCount = outcomes.count(where: \.isIncomplete)
        let skippedCount = outcomes.count { [.remark, .knownFailure, .notApplicable].contains($0) }
        return "tests=\"\(cases.count)\" failures=\"\(failureCount)\" errors=\"\(errorCount)\""
            + (withSkipped ? " skipped=\"\(skippedCount)\"" : "")
    }

    private static func testCase(
        _ result: Redacted<CaseResult>,
        _ folder: String,
        _ cause: String?,
        _ replay: Redacted<ReplayCommand>?
    ) -> String {
        let name = result.contract.caseID.dropFirst(folder.isEmpty ? 0 : folder.count + 1)
        let classname = folder.split(separator: "/").joined(separator: ".")
        let testCaseStartTag =
            "    <testcase classname=\"\(escaped(classname))\" name=\"\(escaped(String(name)))\" "
            + "time=\"\(secondsText(result.seconds))\""
        let first = result.findings.first
        let message = escaped(
            first.map { "\($0.code.rawValue) \($0.rule): \($0.actual)" } ?? result.note ?? ""
        )
        let detail = escaped(
            result.distinctFindings.map { repeated in
                let finding = repeated.finding
                return "\(finding.code.rawValue) \(finding.rule)\(repeated.countText)\n"
                    + "expected: \(finding.expected)\nactual: \(finding.actual)\n"
                    + "remedy: \(Diagnosis(finding, of: result.contract).remedy)"
            }.joined(separator: "\n\n")
                + (cause.map { "\n\n\($0)" } ?? "")
                + (replay.map {
                    "\n\nreplay: "
                        + $0.value.text(result.replayedCaseIDs ?? [result.contract.caseID])
                } ?? "")
        )
        let type = first?.code.rawValue ?? result.outcome.rawValue
        switch result.outcome {
        case .passed: return testCaseStartTag + "/>\n"
        case .remark:
            return testCaseStartTag + ">\n      <skipped message=\"remark: \(message)\"/>\n"
                + "    </testcase>\n"
        case .failed, .unexpectedPass:
            return testCaseStartTag
                + ">\n      <failure type=\"\(type)\" message=\"\(message)\">\(detail)"
                + "</failure>\n    </testcase>\n"
        case .knownFailure:
            return testCaseStartTag + ">\n      <skipped message=\"known failure: \(message)\"/>\n"
                + "    </testcase>\n"
        case .notApplicable:
            return testCaseStartTag
                + ">\n      <skipped message=\"\(message)\"/>\n    </testcase>\n"
        case .inconclusive, .notRun:
            return testCaseStartTag
                + ">\n      <error type=\"\(type)\" message=\"\(message)\">\(detail)"
                + "</error>\n    </testcase>\n"
        }
    }

    /// Returns a number of seconds in the notation of the JUnit schema.
    ///
    /// Swift writes values below 0.0001 with an exponent, which the schema does not allow. Such
    /// values become 0.0.
    private static func secondsText(_ seconds: Double) -> String {
        let text = "\(seconds)"
        return text.contains("e") ? "0.0" : text
    }

    private static func folder(_ id: String) -> String {
        id.split(separator: "/").dropLast().joined(separator: "/")
    }

    /// Returns text escaped for XML.
    ///
    /// XML 1.0 forbids most control characters even as references, so they are replaced with
    /// U+FFFD.
    private static func escaped(_ text: String) -> String {
        MarkupText.escaped(text) { scalar in
            switch scalar {
            case "\n": "&#10;"
            case "\t": "&#9;"
            case _ where scalar.value < 0x20 || scalar.value == 0xfffe || scalar.value == 0xffff:
                "\u{fffd}"
            default: nil
            }
        }
    }
}
