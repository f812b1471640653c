/// What must follow: absolutes where a protocol fixes the value, relations everywhere else.
package struct Expectation: Hashable, Codable, Sendable {
    /// Another run of the same backend that this one must not differ from.
    package enum Relation: String, Hashable, Codable, Sendable, CaseIterable {
        /// Every event was delivered once.
        case once
        /// Users were registered first and events came in the order they happened.
        case inOrder = "in-order"
        /// Nothing failed, nothing was lost and nobody restarted.
        case undisturbed
        /// None of the steps took place, only what was given.
        case before
        /// Every event named its user by the registered id.
        case direct
        /// No event was edited: nothing unknown, nothing missing, nothing huge.
        case plain
    }

    package enum Aspect: String, Hashable, Codable, Sendable, CaseIterable {
        /// Whole answers of the probes.
        case state
        /// What the profile maps of them; whole answers where it maps nothing.
        case fields
        /// Every text in the answers of the probes: it still stands there, whatever came beside it.
        case kept
        case effects
    }

    package var answers: AnswerExpectation
    package var answersLocation: SourceLocation?
    /// Longest wait for an answer, in real time.
    package var within: Duration?
    package var relation: Relation?
    package var relationLocation: SourceLocation?
    package var compared: Set<Aspect>
    /// The only mapped fields that are compared; empty: all of them.
    package var comparedFields: [String] = []
    package var effects: [EffectExpectation]
    package var states: [StateExpectation]
    /// How many copies must have been in flight at one moment.
    package var overlapMin: Int?
    /// Which ids the backend's own routes answer.
    package var calls: [CallExpectation] = []
    /// Calls whose answers must not be told apart.
    package var alike: [String] = []
    /// Calls of which only so many may succeed; the others are denied below 500.
    package var race: RaceExpectation?
    /// No secret of the profile stands in any answer of the backend.
    package var hidesSecrets = false
    /// How often the backend may fetch Firebase's keys during the run.
    package var keyFetchesMax: Int?
    /// How long the run is watched, in real time, after everything has settled.
    package var watch: Duration?
    /// Users of whom no probe shows anything personal any more.
    package var forgotten: [String] = []
    package var forgottenLocation: SourceLocation?
    /// What must be true of the app, in a device scenario.
    package var app: AppExpectation?

    package init(answers: AnswerExpectation) {
        self.answers = answers
        compared = [.state, .effects]
        effects = []
        states = []
    }

    /// Whether judging needs to look behind the answers.
    package var needsSettling: Bool {
        relation != nil || !effects.isEmpty || !states.isEmpty || watch != nil || !forgotten.isEmpty
    }
}
