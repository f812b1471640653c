internal import Contracts
package import Providers
package import Values

/// A built-in defect of the scripted app that violates one or more contract clauses.
///
/// Each defect replaces one or more of the app's decisions (see `ScriptedApp.Policy`) with wrong
/// decisions. `assay mutants` runs the phone contracts against each defect and expects them to
/// detect the defect.
package struct ClientDefect: Sendable {
    /// The name by which a user selects the defect, such as `never-retries`.
    package let rawValue: String
    /// A one-line description of the defect for reports.
    package let summary: String
    /// The IDs of the clauses whose contracts must detect the defect.
    package let clauses: [String]
    /// The `X-` number of the mistake in the client of the published guide (identity rules, D.3);
    /// nil for other defects.
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
    /// A later defect sees the effect of an earlier defect.
    package static let allCases = bridge + start + registration + identity + selling

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

extension ScriptedApp {
    /// Opens a page of the app with the given defects, or of the correct app when there are none.
    ///
    /// - Parameters:
    ///   - globals: The global variables that the Despia runtime provides on the window.
    ///   - userAgent: The user agent string of the page.
    ///   - keys: The names of the vault entries, by their role.
    ///   - storage: The web storage that an earlier page left on the phone.
    ///   - defects: The defects that the app has.
    ///   - seed: The seed of the random IDs that the app creates.
    package init(
        globals: JSONObject,
        userAgent: String,
        keys: [VaultRole: String],
        storage: Storage,
        defects: Set<ClientDefect>,
        seed: UInt64
    ) {
        var policy = Policy()
        // The defects are applied in a fixed order, because one defect can change the effect of
        // another.
        for defect in ClientDefect.allCases where defects.contains(defect) {
            defect.changePolicy(&policy)
        }
        self.init(
            globals: globals,
            userAgent: userAgent,
            keys: keys,
            storage: storage,
            policy: policy,
            seed: seed
        )
    }
}
