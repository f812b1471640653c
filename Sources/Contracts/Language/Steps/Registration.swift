internal import Grammar

/// The step `register`, in which the app registers a user with the request that the profile
/// defines.
extension StepForm {
    static let register = StepForm(
        "register",
        .name(.user, .introduces),
        "The app registers this user at the backend, with the request that the profile defines.",
        embed: { .register(user: $0) },
        extract: { if case .register(let user) = $0 { user } else { nil } }
    )
}

extension StepTraits {
    static func registrationTraits(of user: String) -> StepTraits {
        var traits = StepTraits(.register)
        traits.users = [user]
        traits.faultFreeForm = .register(user: user)
        traits.createsUserOrAccount = true
        return traits
    }
}
