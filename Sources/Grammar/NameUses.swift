package import Values

/// All uses of names in one variant of a contract, for finding misspelled names.
///
/// Without this check, an event for `adda` after `register: ada` would be delivered, would change
/// no user, and the case would pass.
package struct NameUses: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case user, account, phone, delivery, call
        /// The name of an account with which a user signs up or signs in to an app. The name
        /// denotes the account and its user.
        case holder = "account holder"
    }

    /// The role of a name at a place in the contract that uses the name.
    package enum Role: Hashable, Sendable {
        /// The name is introduced here, for example by a registration, a sign-up or a launch.
        case introduces
        /// The name may be unknown on purpose here, because an event may arrive before its user
        /// exists.
        case mentions
        /// The name must be known from a step, because an expectation about an unknown user proves
        /// nothing.
        case refers
    }

    private struct NameUse: Hashable {
        let kind: Kind
        let role: Role
        let name: String
        let location: SourceLocation
    }

    /// The name of the phone in steps that name no phone.
    package static let defaultPhoneName = "phone"

    private var nameUses: [NameUse] = []

    package init() {}

    package mutating func recordUse(
        _ kind: Kind,
        _ role: Role,
        _ name: String,
        at location: SourceLocation
    ) {
        nameUses.append(NameUse(kind: kind, role: role, name: name, location: location))
    }

    /// Records the users whose IDs occur as templates in a step, because the backend may first see
    /// these users there.
    ///
    /// ``TemplateChecks`` reports misspelled names in templates, because it knows the location of
    /// each template in its string.
    package mutating func recordTemplateUses(in node: LocatedNode) {
        switch node.content {
        case .scalar(let text, _):
            for user in Template.users(in: [text]) {
                recordUse(.user, .introduces, user, at: node.location)
            }
        case .sequence(let elements): for element in elements { recordTemplateUses(in: element) }
        case .mapping(let entries): for entry in entries { recordTemplateUses(in: entry.value) }
        }
    }

    /// Returns the names of one kind, such as all users, that the contract introduces, in the order
    /// of the file.
    package func introducedNames(_ kind: Kind) -> [String] {
        Self.unique(nameUses.filter { $0.kind == kind && $0.role == .introduces }.map(\.name))
    }

    // MARK: Checking

    /// Returns an error for every use of an unknown name, after the whole file has been read.
    ///
    /// The names of deliveries and calls are checked while the file is read, because only the names
    /// of earlier steps are known at that point.
    ///
    /// - Parameter unknownUsers: The users and accounts that are unknown on purpose (key
    ///   `unknown-users`).
    /// - Returns: The errors about users, then about accounts, then about phones.
    package func errors(unknownUsers: [String]) -> [ContractError] {
        errors(of: .user, unknownUsers) + errors(of: .account, unknownUsers)
            + errors(of: .phone, [Self.defaultPhoneName])
    }

    private func errors(of kind: Kind, _ unknownUsers: [String]) -> [ContractError] {
        let usesOfKind = nameUses.filter { $0.kind == kind }
        let introducedNames = Self.unique(
            unknownUsers + usesOfKind.filter { $0.role == .introduces }.map(\.name)
        )
        let knownNames = Self.unique(
            introducedNames + usesOfKind.filter { $0.role == .mentions }.map(\.name)
        )
        return usesOfKind.compactMap { use -> ContractError? in
            guard !introducedNames.contains(use.name) else { return nil }
            switch use.role {
            case .introduces: return nil
            case .refers:
                guard !knownNames.contains(use.name) else { return nil }
                return error(use, knownNames: knownNames)
            case .mentions:
                let likelyIntendedNames = likelyIntendedNames(
                    of: use,
                    among: usesOfKind,
                    introducedNames
                )
                return likelyIntendedNames.isEmpty
                    ? nil : error(use, knownNames: likelyIntendedNames)
            }
        }
    }

    private func error(_ use: NameUse, knownNames: [String]) -> ContractError {
        ContractError(
            .unknownName(use.name, valueKind: use.kind.rawValue, knownNames: knownNames),
            at: use.location
        )
    }

    /// Returns the similar names that the author probably meant instead of a name that no step
    /// introduces; empty when no name is similar.
    private func likelyIntendedNames(
        of use: NameUse,
        among usesOfKind: [NameUse],
        _ introducedNames: [String]
    )
        -> [String]
    {
        func count(_ name: String) -> Int {
            usesOfKind.count { $0.name == name && $0.role != .refers }
        }
        let others = usesOfKind.filter { $0.role == .mentions && count($0.name) > count(use.name) }
        return Self.unique(introducedNames + others.map(\.name))
            .filter { Self.isMisspelling(use.name, of: $0) }
    }

    /// Whether two names are so similar that one is a misspelling of the other.
    ///
    /// The difference may be one letter, two letters in names of five or more letters, the case of
    /// letters, or two swapped neighboring letters. `user1` and `user2` are two different users.
    package static func isMisspelling(_ word: String, of name: String) -> Bool {
        guard word != name else { return false }
        let (letters, others) = (word.filter { !$0.isNumber }, name.filter { !$0.isNumber })
        guard letters != others else { return false }
        return Suggestion.nearest(to: word, among: [name]) != nil || isLetterSwap(word, name)
    }

    private static func isLetterSwap(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.lowercased()), Array(right.lowercased()))
        guard left.count == right.count else { return false }
        let differingIndices = left.indices.filter { left[$0] != right[$0] }
        guard differingIndices.count == 2, differingIndices[1] == differingIndices[0] + 1 else {
            return false
        }
        return left[differingIndices[0]] == right[differingIndices[1]]
            && left[differingIndices[1]] == right[differingIndices[0]]
    }

    private static func unique(_ names: [String]) -> [String] {
        var seenNames: Set<String> = []
        return names.filter { seenNames.insert($0).inserted }
    }
}
