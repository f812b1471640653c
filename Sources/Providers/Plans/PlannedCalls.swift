/// The properties of a provider's calls that a plan of responses needs to know.
package struct PlannedCalls: Sendable {
    /// Whether planned responses apply by default to calls that only read.
    ///
    /// The value is true for a provider from which backends mostly read.
    package var includesReads: Bool
    /// Whether a plan also affects the runs of other cases, because their calls are
    /// indistinguishable.
    package var affectsConcurrentRuns = false
    /// The features without which a backend makes no such call.
    package var requiredFeatures: [Feature] = []
    /// The word for a new signing key of the provider, as a contract writes it in place of a plan.
    ///
    /// Nil: the provider signs nothing that a contract can test.
    package var keyRotationWord: String?

    package init(
        includesReads: Bool,
        affectsConcurrentRuns: Bool = false,
        requiredFeatures: [Feature] = [],
        keyRotationWord: String? = nil
    ) {
        self.includesReads = includesReads
        self.affectsConcurrentRuns = affectsConcurrentRuns
        self.requiredFeatures = requiredFeatures
        self.keyRotationWord = keyRotationWord
    }
}
