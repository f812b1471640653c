package import Values

/// The expected outcome of a test case.
///
/// Values that a protocol defines are fixed. All other values are compared with a baseline run,
/// which executes a simpler form of the same steps.
package struct Expectation: Hashable, Codable, Sendable {
    /// The relation of the baseline run to the tested run: how its steps differ from those of the
    /// contract.
    ///
    /// Both runs use the same backend, and must end with the same outcome.
    package enum BaselineRelation: String, Hashable, Codable, Sendable, CaseIterable {
        /// The baseline run delivers every event exactly once.
        case once
        /// The baseline run registers all users first, and delivers the events in the order in
        /// which they happened.
        case inOrder = "in-order"
        /// The baseline run executes the same steps without failures, losses, delays and restarts.
        case faultFree = "fault-free"
        /// The baseline run executes only the contract's `given` steps.
        case before
        /// In the baseline run, every event names its user by the registered ID.
        case direct
        /// In the baseline run, no event is edited: no fields are unknown, missing or oversized.
        case plain
    }

    package enum Aspect: String, Hashable, Codable, Sendable, CaseIterable {
        /// The complete responses of the profile's probes, which query a user's state.
        case state
        /// Only the state fields that the profile maps from probe responses; the complete responses
        /// when the profile maps no field.
        case fields
        /// Every string in the probe responses of the baseline run must be present in those of the
        /// tested run; additional strings are allowed.
        case kept
        case effects
    }

    package var responses: ResponseExpectation
    package var responseLocation: SourceLocation?
    /// The maximum real time that the backend has to respond to a delivery or a call; nil: the
    /// provider's timeout.
    package var within: Duration?
    package var relation: BaselineRelation?
    package var relationLocation: SourceLocation?
    package var compared: Set<Aspect>
    /// The names of the state fields to compare with the baseline run; empty: all fields that the
    /// profile maps.
    package var comparedFields: [String] = []
    package var effects: [EffectExpectation]
    package var states: [StateExpectation]
    /// The minimum number of requests that must be in flight to the backend at the same time; nil:
    /// not checked.
    package var concurrentRequestCountMin: Int?
    /// The expected user IDs in the responses to calls of the backend's own routes.
    package var calls: [CallExpectation] = []
    /// The names of calls whose responses must be indistinguishable from each other.
    package var callsWithSameResponse: [String] = []
    /// Competing calls, of which a fixed number must succeed and all others must fail with a status
    /// below 500; nil: not checked.
    package var race: RaceExpectation?
    /// Whether the case fails when a response of the backend contains a secret of the profile.
    package var hidesSecrets = false
    /// The maximum number of times that the backend may fetch Firebase's public keys during the
    /// run; nil: not checked.
    package var signingKeyFetchCountMax: Int?
    /// The additional real time for which the backend is observed after its state and effects have
    /// settled (stopped changing).
    package var extraObservationTime: Duration?
    /// The names of deleted users, whose personal data no probe (query of the backend's state) may
    /// show any more.
    package var deletedUserNames: [String] = []
    package var deletedUsersLocation: SourceLocation?
    /// The expected behavior of the app on a simulated phone; nil: not checked.
    package var app: AppExpectation?

    package init(responses: ResponseExpectation) {
        self.responses = responses
        compared = [.state, .effects]
        effects = []
        states = []
    }

    /// Whether the case is judged by the backend's final state or effects, not only by its
    /// responses.
    ///
    /// Such a run is judged only after the backend has settled (its state and effects have stopped
    /// changing).
    package var requiresSettling: Bool {
        relation != nil || !effects.isEmpty || !states.isEmpty || extraObservationTime != nil
            || !deletedUserNames.isEmpty
    }
}
