/// The app announces a user, the way the profile says.
extension StepForm {
    static let register = StepForm(
        "register",
        .name(.user, .introduces),
        "The app announces this user, the way the profile says.",
        embed: { .register(user: $0) },
        extract: { if case .register(let user) = $0 { user } else { nil } }
    )
}

extension StepTraits {
    static func registration(of user: String) -> StepTraits {
        var traits = StepTraits(.register)
        traits.users = [user]
        traits.calm = .register(user: user)
        traits.makesSomebody = true
        return traits
    }
}
