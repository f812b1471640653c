/// A built-in defect of the reference backend that breaks at least one contract clause.
///
/// A defect replaces one of the backend's decisions (see `Policies`) with a wrong decision. `assay
/// mutants` runs the suite against each defect and expects it to detect the defect.
package struct Defect: Sendable {
    /// The name by which a user selects the defect, such as `no-dedupe`.
    package let rawValue: String
    /// A one-line description of the defect for reports.
    package let summary: String
    /// The IDs of the clauses that the defect breaks, with the intended clause first.
    package let clauses: [String]
    /// The style of the reference backend to which the defect applies: `body` (state from events)
    /// or `sync` (state from RevenueCat's REST API).
    package let style: ReferenceBackend.StateSource
    /// The proof of identity that logins of the defective backend require.
    package let loginProof: ReferenceBackend.LoginProof
    let changePolicies: @Sendable (inout Policies) -> Void

    init(
        _ name: String,
        _ summary: String,
        breaks clauses: String...,
        style: ReferenceBackend.StateSource = .body,
        loginProof: ReferenceBackend.LoginProof = .password,
        changePolicies: @escaping @Sendable (inout Policies) -> Void
    ) {
        rawValue = name
        self.summary = summary
        self.clauses = clauses
        self.style = style
        self.loginProof = loginProof
        self.changePolicies = changePolicies
    }
}

extension Defect: Hashable, CaseIterable {
    /// All built-in defects, in the order in which they are applied.
    ///
    /// A later defect sees the effect of an earlier defect.
    package static let allCases =
        authenticity + delivery + tolerance + identity + entitlement + entitlementPeriods
        + reconciliationDefects + notification + registrations + logins + tokenLogins
        + accounts + tokens
        + purchasely + valuesOfEvents + valuesOfIDs

    package init?(rawValue: String) {
        guard let knownDefect = Self.allCases.first(where: { $0.rawValue == rawValue }) else {
            return nil
        }
        self = knownDefect
    }

    package static func == (left: Defect, right: Defect) -> Bool { left.rawValue == right.rawValue }

    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

    /// The defects in the code of the published identity guide that this backend can reproduce in
    /// its webhook, registration and login.
    ///
    /// The identity rules (part D) give the defects of a backend the numbers.
    /// `Assay.docc` maps these numbers to the names used here.
    package static let identityGuideDefects = Set(
        [
            "no-authorization-check", "dedupe-check-then-write", "last-write-wins",
            "malformed-500", "unknown-type-overwrites", "transfer-fails", "aliases-ignored",
            "original-id-ignored", "test-event-grants", "push-result-ignored", "push-without-key",
            "status-from-type", "sandbox-counts", "sandbox-pushes", "billing-flag-recomputed",
            "grace-ignored", "blocked-ids-allowed", "long-ids-allowed", "register-nulls",
            "register-believes-clock", "login-without-password", "claim-without-proof",
            "claim-nothing", "billing-announced-twice", "refund-text-same",
        ].compactMap(Defect.init(rawValue:))
    )
}

extension Policies {
    init(showing defects: Set<Defect>) {
        self.init()
        for defect in Defect.allCases where defects.contains(defect) {
            defect.changePolicies(&self)
        }
    }
}

extension ReferenceBackend {
    /// Creates a reference backend with the given defects, or the correct backend when there are
    /// none.
    package init(_ configuration: Configuration, showing defects: Set<Defect>) {
        self.init(configuration, policies: Policies(showing: defects))
    }
}
