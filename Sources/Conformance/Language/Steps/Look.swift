/// Somebody looks at a user while the case goes on: what is answered then must not be what is answered
/// for good.
extension StepForm {
    static let look = StepForm(
        "look",
        .name(.user, .mentions),
        "The app looks at this user: every probe is asked now, and what it answers is not judged. A "
            + "view that was kept from before an event is found by what is asked after it.",
        embed: { .look(user: $0) },
        extract: { if case .look(let user) = $0 { user } else { nil } }
    )
}

extension StepTraits {
    /// A twin does without it: its views are fresh.
    static func look(at user: String) -> StepTraits {
        var traits = StepTraits(.look)
        traits.users = [user]
        traits.needs = [.subscription]
        return traits
    }
}
