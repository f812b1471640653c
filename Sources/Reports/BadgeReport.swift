package import Conformance

/// The JSON that badge services draw: one label, one message, one colour.
///
/// The grade counts only when the whole suite was selected; a part of it shows its clauses.
package enum BadgeReport {
    package static func render(_ report: Redacted<RunReport>) -> String {
        let standing = report.standing
        let clauses = "\(standing.count(.proven)) of \(standing.clauses.count) clauses"
        let isGreen = report.exitCode == 0
        let message: String
        let color: String
        switch standing.grade {
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
