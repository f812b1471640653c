package import Judging
package import Redaction
internal import Values

/// Renders the JSON of a status badge for a README, in the format of shields.io: a label, a message
/// and a color.
///
/// The badge shows the grade only when the whole suite was selected. For a run of part of the
/// suite, it shows the number of proven clauses instead.
package enum BadgeReport {
    package static func render(_ report: Redacted<RunReport>) -> String {
        let scorecard = report.scorecard
        let clauses = "\(scorecard.count(.proven)) of \(scorecard.clauses.count) clauses"
        let isGreen = report.exitCode == 0
        let message: String
        let color: String
        switch scorecard.grade {
        case .complete? where isGreen: (message, color) = ("Complete · \(clauses)", "brightgreen")
        case let grade? where grade > .none:
            (message, color) = ("\(grade.rawValue) · \(clauses)", isGreen ? "green" : "yellow")
        case .none?: (message, color) = (clauses, "red")
        case nil, .some: (message, color) = (clauses, isGreen ? "green" : "red")
        }
        let badge: JSONObject = [
            "schemaVersion": 1, "label": "assay", "message": .string(message),
            "color": .string(color), "isError": .bool(!isGreen),
        ]
        return JSONValue.object(badge).printedText + "\n"
    }
}
