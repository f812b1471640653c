/// A user is known by an id that the contract gives.
extension StepForm {
    /// One user, and the id by which they are known.
    static let name = StepForm(
        "name",
        Syntax<[String: String]>(
            .map(
                key: .name(.user, .introduces),
                value: .templated(.text("an id"), .contract(.value)),
                countRange: 1...1
            ),
            read: { node, reader in
                guard let entries = reader.entries(node) else { return nil }
                guard let entry = entries.first, entries.count == 1 else {
                    reader.fail(
                        .wrongKind(
                            expected: "one user and one id",
                            found: entries.isEmpty ? "nothing" : "\(entries.count) users"
                        ),
                        at: entries.dropFirst().first?.keyLocation ?? node.location
                    )
                    return nil
                }
                guard let user = reader.name(entry.keyNode, .user, .introduces),
                    let id = reader.anyText(entry.value)
                else { return nil }
                return [user: id]
            },
            write: { ids in .flow(ids.map { .init($0.key, .text($0.value)) }) }
        ),
        "The user is known by this very id, whatever ids the run makes up; a scenario of an app "
            + "alone names it without templates.",
        embed: { ids in
            let only = ids.first ?? ("", "")
            return .name(user: only.key, id: only.value)
        },
        extract: { if case .name(let user, let id) = $0 { [user: id] } else { nil } }
    )
}

extension StepTraits {
    static func naming(of user: String, _ id: String) -> StepTraits {
        var traits = StepTraits(.name)
        traits.users = [user]
        traits.calm = .name(user: user, id: id)
        traits.makesSomebody = true
        return traits
    }
}
