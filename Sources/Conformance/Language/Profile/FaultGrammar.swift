extension Profile.Fault {
    /// `fault: {break: …, heal: …}`, each a request or a command.
    static let grammar = Construct<Profile.Fault>(
        "fault",
        "'fault'",
        "How the backend's store is made to fail, and mended. Reads may go on; whatever would store "
            + "an event has to fail, for all users, until it is mended.",
        blank: { _ in Profile.Fault(breaking: .register, healing: .register) }
    ) {
        Field.required(
            "break",
            \.breaking,
            Profile.UserCreation.syntax("break", .none),
            "A request, or a command, after which nothing can be stored."
        )
        Field.required(
            "heal",
            \.healing,
            Profile.UserCreation.syntax("heal", .none),
            "A request, or a command, after which everything can be stored again; it is made even "
                + "where nothing was broken."
        )
    }
}
