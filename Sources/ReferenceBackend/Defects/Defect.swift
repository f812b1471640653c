/// A deviation that breaks exactly one promise of the reference backend.
///
/// It exchanges one of the backend's decisions for a wrong one; `assay mutants` runs the suite
/// against every one of them and expects it to be caught.
package struct Defect: Sendable {
    /// The name by which it is selected, `no-dedupe`.
    package let rawValue: String
    /// What goes wrong, in one line.
    package let summary: String
    /// The clauses it breaks, first the one it was made for.
    package let clauses: [String]
    /// The style of the backend in which the deviation exists.
    package let style: ReferenceBackend.Style
    let deviate: @Sendable (inout Policies) -> Void

    init(
        _ name: String,
        _ summary: String,
        breaks clauses: String...,
        style: ReferenceBackend.Style = .body,
        deviate: @escaping @Sendable (inout Policies) -> Void
    ) {
        rawValue = name
        self.summary = summary
        self.clauses = clauses
        self.style = style
        self.deviate = deviate
    }
}

extension Defect: Hashable, CaseIterable {
    /// In the order in which several at once deviate: the later one sees what the earlier one did.
    package static let allCases =
        authenticity + delivery + tolerance + identity + entitlement + reconciling + notification
        + accounts + tokens + purchasely

    package init?(rawValue: String) {
        guard let known = Self.allCases.first(where: { $0.rawValue == rawValue }) else {
            return nil
        }
        self = known
    }

    package static func == (left: Defect, right: Defect) -> Bool { left.rawValue == right.rawValue }

    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

    /// The defects of the published identity guide's webhook, registration and login code that this
    /// backend can show (X-01 to X-36 of the defect list; which is which: `Conformance.docc`).
    package static let guide = Set(
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
        for defect in Defect.allCases where defects.contains(defect) { defect.deviate(&self) }
    }
}

extension ReferenceBackend {
    /// The same backend with some of its decisions gone wrong; with none of them, the correct one.
    package init(_ configuration: Configuration, showing defects: Set<Defect>) {
        self.init(configuration, policies: Policies(showing: defects))
    }
}
