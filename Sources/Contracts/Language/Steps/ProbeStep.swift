internal import Grammar
internal import Providers

/// The step `probe`, which reads a user's state during a case.
///
/// If the backend caches this state, later probes detect that the backend serves it after it has
/// changed.
extension StepForm {
    static let probe = StepForm(
        "probe",
        .name(.user, .mentions),
        "Reads this user's state with every probe, without judging the responses. If the backend "
            + "caches the state at this point, later probes detect the outdated state.",
        embed: { .probe(user: $0) },
        extract: { if case .probe(let user) = $0 { user } else { nil } }
    )
}

extension StepTraits {
    /// Returns the traits of the step `probe`.
    ///
    /// A baseline run omits this step, so that the backend does not cache the state before the
    /// final probes of the run.
    static func probe(of user: String) -> StepTraits {
        var traits = StepTraits(.probe)
        traits.users = [user]
        traits.needs = [.subscription]
        return traits
    }
}
