internal import Exploration
internal import Replay

/// What a campaign has played on a phone, for people.
struct PhoneCoverageText {
    private let outcome: Campaign.Outcome
    private let columns = TextColumns()

    init(_ outcome: Campaign.Outcome) {
        self.outcome = outcome
    }

    /// A few lines: how much was played, and which promises no life could be asked for.
    var summary: String {
        columns.text(
            columns.line(
                "coverage",
                "\(outcome.coverage.phoneStates.count) states of a phone · "
                    + "\(outcome.coverage.phoneCount) things that happened in them or behind another"
            ) + unasked
        )
    }

    /// What happened in each state and behind each act, and how much was covered when.
    var whole: String {
        var lines: [String] = []
        for state in outcome.coverage.phoneStates {
            let acts = outcome.coverage.phone(in: state).map { "\($0.what) \($0.count)" }
            lines += [state] + columns.line("", acts.joined(separator: " · "))
        }
        lines += ["", "how much was covered when"] + columns.grown(outcome.growth)
        return columns.text(lines + unasked)
    }

    private var unasked: [String] {
        let never = PhoneScript.clauses.filter { outcome.clauses[$0] == nil }
        return never.isEmpty ? [] : columns.line("not asked", never.joined(separator: ", "))
    }
}
