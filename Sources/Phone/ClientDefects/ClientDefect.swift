/// A built-in defect of the scripted app that violates one or more contract clauses.
///
/// A defect replaces one of the app's decisions (see `ScriptedApp.Policy`) with a wrong decision.
/// `assay mutants` runs the phone contracts against each defect and expects them to detect the
/// defect.
package struct ClientDefect: Sendable {
    /// The name by which a user selects the defect, such as `paywall-ungated`.
    package let rawValue: String
    /// A one-line description of the defect for reports.
    package let summary: String
    /// The IDs of the clauses whose contracts must detect the defect.
    package let clauses: [String]
    /// The number of the mistake in the client of the published guide (identity rules, D.3), such as
    /// `X-56`; nil for other defects.
    package let guideID: String?
    let changePolicy: @Sendable (inout ScriptedApp.Policy) -> Void

    init(
        _ name: String,
        _ summary: String,
        breaks clauses: String...,
        guideID: String? = nil,
        changePolicy: @escaping @Sendable (inout ScriptedApp.Policy) -> Void
    ) {
        rawValue = name
        self.summary = summary
        self.clauses = clauses
        self.guideID = guideID
        self.changePolicy = changePolicy
    }
}

extension ClientDefect: Hashable, CaseIterable {
    /// All built-in defects, in the order in which they are applied.
    ///
    /// The order is fixed, because one defect can change the effect of another.
    package static let allCases = start + registration + identity + selling

    /// The defects that `assay mutants` also runs with a correct backend and all fakes.
    package static let defectsToRunWithBackend = [
        "failure-counts", "write-unconfirmed", "never-unlocks",
    ].compactMap(ClientDefect.init(rawValue:))

    package init?(rawValue: String) {
        guard let knownDefect = Self.allCases.first(where: { $0.rawValue == rawValue }) else {
            return nil
        }
        self = knownDefect
    }

    package static func == (left: ClientDefect, right: ClientDefect) -> Bool {
        left.rawValue == right.rawValue
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}
