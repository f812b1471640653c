/// Whom and what one variant of a contract names, and what gave each its name.
///
/// An event for `adda` beside `register: ada` would be delivered, would change nobody, and the case
/// would pass.
package struct Names: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case user, account, phone, delivery, call
        /// Who signs up or in with an app: an account, and the user that it belongs to.
        case holder = "account holder"
    }

    /// What a place does with the name that it holds.
    package enum Role: Hashable, Sendable {
        /// The bearer exists because of this place: it is registered, signs up, is opened.
        case introduces
        /// The bearer may be unknown on purpose: an event may come before its user.
        case mentions
        /// The bearer has to be known from a step: an expectation about nobody proves nothing.
        case refers
    }

    private struct Use: Hashable {
        let kind: Kind
        let role: Role
        let name: String
        let location: SourceLocation
    }

    /// The phone that a scenario has without saying so.
    package static let usualPhone = "phone"

    private var uses: [Use] = []

    package init() {}

    package mutating func note(
        _ kind: Kind,
        _ role: Role,
        _ name: String,
        at location: SourceLocation
    ) {
        uses.append(Use(kind: kind, role: role, name: name, location: location))
    }

    /// The users whose ids the texts of a step ask for; that is the first a backend hears of some.
    ///
    /// Whether such a name is misspelt is for ``TemplateChecks``, which know its place in the text.
    package mutating func noteTemplates(in node: LocatedNode) {
        switch node.content {
        case .scalar(let text, _):
            for user in TemplateValues.users(in: [text]) {
                note(.user, .introduces, user, at: node.location)
            }
        case .sequence(let elements): for element in elements { noteTemplates(in: element) }
        case .mapping(let entries): for entry in entries { noteTemplates(in: entry.value) }
        }
    }

    /// The names of that kind that are introduced, in the order of the file.
    package func introduced(_ kind: Kind) -> [String] {
        Self.unique(uses.filter { $0.kind == kind && $0.role == .introduces }.map(\.name))
    }

    // MARK: Checking

    /// An error for every place that names nobody, once the whole file has been read.
    ///
    /// Deliveries and calls are looked up where they are named, since only earlier ones count.
    ///
    /// - Parameter strangers: Users and accounts that the contract says are unknown on purpose.
    /// - Returns: The errors of users, then of accounts, then of phones.
    package func errors(strangers: [String]) -> [ContractError] {
        errors(of: .user, strangers) + errors(of: .account, strangers)
            + errors(of: .phone, [Self.usualPhone])
    }

    private func errors(of kind: Kind, _ strangers: [String]) -> [ContractError] {
        let all = uses.filter { $0.kind == kind }
        let introduced = Self.unique(
            strangers + all.filter { $0.role == .introduces }.map(\.name)
        )
        let known = Self.unique(introduced + all.filter { $0.role == .mentions }.map(\.name))
        return all.compactMap { use -> ContractError? in
            guard !introduced.contains(use.name) else { return nil }
            switch use.role {
            case .introduces: return nil
            case .refers:
                guard !known.contains(use.name) else { return nil }
                return error(use, known: known)
            case .mentions:
                let rivals = rivals(of: use, among: all, introduced)
                return rivals.isEmpty ? nil : error(use, known: rivals)
            }
        }
    }

    private func error(_ use: Use, known: [String]) -> ContractError {
        ContractError(
            .unknownName(use.name, what: use.kind.rawValue, known: known),
            at: use.location
        )
    }

    /// Who is probably meant by a name that nothing introduces; none when it stands for itself.
    private func rivals(of use: Use, among all: [Use], _ introduced: [String]) -> [String] {
        func count(_ name: String) -> Int {
            all.count { $0.name == name && $0.role != .refers }
        }
        let others = all.filter { $0.role == .mentions && count($0.name) > count(use.name) }
        return Self.unique(introduced + others.map(\.name))
            .filter { Self.isMisspelling(use.name, of: $0) }
    }

    /// Whether two names are so near that one of them is a slip of the other.
    ///
    /// Near is one letter, or two from five letters on, the case of letters, or two neighbours that
    /// changed places. `user1` and `user2` are two people.
    package static func isMisspelling(_ word: String, of name: String) -> Bool {
        guard word != name else { return false }
        let (letters, others) = (word.filter { !$0.isNumber }, name.filter { !$0.isNumber })
        guard letters != others else { return false }
        return Suggestion.nearest(to: word, among: [name]) != nil || isSwap(word, name)
    }

    private static func isSwap(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.lowercased()), Array(right.lowercased()))
        guard left.count == right.count else { return false }
        let places = left.indices.filter { left[$0] != right[$0] }
        guard places.count == 2, places[1] == places[0] + 1 else { return false }
        return left[places[0]] == right[places[1]] && left[places[1]] == right[places[0]]
    }

    private static func unique(_ names: [String]) -> [String] {
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted }
    }
}
