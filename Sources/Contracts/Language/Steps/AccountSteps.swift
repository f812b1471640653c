internal import Grammar
internal import Providers

/// The YAML forms of the steps that create an account, or that revoke or disable a user in
/// Firebase.
extension StepForm {
    static let createAccount = StepForm(
        "account",
        .name(.account, .introduces),
        "Creates an account with this name, with which users can sign in.",
        embed: { .createAccount($0) },
        extract: { if case .createAccount(let account) = $0 { account } else { nil } }
    )

    static func account(_ change: AccountChange) -> StepForm {
        StepForm(
            change.rawValue,
            .name(.user, .mentions),
            change == .revoke
                ? "The fake Firebase revokes the user's sessions."
                : "The fake Firebase disables the user.",
            embed: { .account(user: $0, change) },
            extract: { step in
                guard case .account(let user, change) = step else { return nil }
                return user
            }
        )
    }
}

extension StepTraits {
    static func accountCreationTraits(of account: String) -> StepTraits {
        var traits = StepTraits(.createAccount)
        traits.needs = [.login]
        traits.faultFreeForm = .createAccount(account)
        traits.createsUserOrAccount = true
        return traits
    }

    static func change(of user: String, _ change: AccountChange) -> StepTraits {
        var traits = StepTraits(.accountChange)
        traits.users = [user]
        traits.faultFreeForm = .account(user: user, change)
        return traits
    }
}
