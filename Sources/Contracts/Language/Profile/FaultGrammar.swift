internal import Grammar

extension Profile.Fault {
    /// The grammar of the profile's key `fault: {break: …, heal: …}`; each value is a request or a
    /// command.
    static let grammar = Construct<Profile.Fault>(
        "fault",
        "'fault'",
        "Requests or commands that make the backend's database fail and repair it. While the "
            + "database fails, reads may work, but every write of an event must fail, for all "
            + "users.",
        makeEmptyOwner: { _ in Profile.Fault(breakAction: .register, repairAction: .register) }
    ) {
        Field.required(
            "break",
            \.breakAction,
            Profile.SetupAction.syntax("break", .none),
            "A request or a command after which every write fails."
        )
        Field.required(
            "heal",
            \.repairAction,
            Profile.SetupAction.syntax("heal", .none),
            "A request or a command after which writes succeed again. It is also executed when the "
                + "database does not fail."
        )
    }
}
