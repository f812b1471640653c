internal import Exploration
internal import Replay

/// The coverage of an `assay explore --app` campaign as text.
struct PhoneCoverageText {
    private let outcome: Campaign.Outcome
    private let columns = TextColumns()

    init(_ outcome: Campaign.Outcome) {
        self.outcome = outcome
    }

    /// A short summary: the tested steps of the phone, and the clauses that no generated history
    /// tested.
    var summary: String {
        columns.text(
            columns.line(
                "coverage",
                "\(outcome.coverage.phoneStates.count) pairs of phone state and previous step · "
                    + "\(outcome.coverage.phoneSituationCount) different next steps"
            ) + untestedClauses
        )
    }

    /// The complete coverage: the tested steps for each state of the phone and previous step, and
    /// the coverage over time.
    var fullText: String {
        var lines: [String] = []
        for state in outcome.coverage.phoneStates {
            let coveredOperations = outcome.coverage.phone(in: state).map {
                "\($0.coverageLabel) \($0.count)"
            }
            lines += [state] + columns.line("", coveredOperations.joined(separator: " · "))
        }
        lines += ["", "coverage over time"] + columns.growthLines(outcome.progressSnapshots)
        return columns.text(lines + untestedClauses)
    }

    private var untestedClauses: [String] {
        let uncoveredClauses = PhoneScript.clauses.filter { outcome.clauses[$0] == nil }
        return uncoveredClauses.isEmpty
            ? [] : columns.line("not tested", uncoveredClauses.joined(separator: ", "))
    }
}
