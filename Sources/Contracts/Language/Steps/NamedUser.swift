internal import Grammar

/// The step `name`, which gives a user a fixed ID.
extension StepForm {
    /// The YAML form of the step `name`: a mapping from the name of one user to the user's ID.
    static let name = StepForm(
        "name",
        Syntax<[String: String]>(
            .map(
                key: .name(.user, .introduces),
                value: .templated(.text("an ID"), .contract(.userID)),
                countRange: 1...1
            ),
            read: { node, reader in
                guard let entries = reader.entries(node) else { return nil }
                guard let entry = entries.first, entries.count == 1 else {
                    reader.fail(
                        .wrongValueKind(
                            expected: "one user and one ID",
                            found: entries.isEmpty ? "nothing" : "\(entries.count) users"
                        ),
                        at: entries.dropFirst().first?.keyLocation ?? node.location
                    )
                    return nil
                }
                guard let user = reader.name(entry.keyNode, .user, .introduces),
                    let id = reader.possiblyEmptyText(entry.value)
                else { return nil }
                return [user: id]
            },
            write: { ids in .flow(ids.map { .init($0.key, .text($0.value)) }) }
        ),
        "Gives the user exactly this ID instead of a generated one. `{{login.id}}` is the ID that the "
            + "response to the call `login` contains. In a contract that tests only "
            + "an app, the ID cannot contain templates.",
        embed: { ids in
            let nameAndID = ids.first ?? ("", "")
            return .name(user: nameAndID.key, id: nameAndID.value)
        },
        extract: { if case .name(let user, let id) = $0 { [user: id] } else { nil } }
    )
}

extension StepTraits {
    static func idAssignmentTraits(of user: String, _ id: String) -> StepTraits {
        var traits = StepTraits(.name)
        traits.users = [user]
        traits.faultFreeForm = .name(user: user, id: id)
        traits.createsUserOrAccount = true
        return traits
    }
}
