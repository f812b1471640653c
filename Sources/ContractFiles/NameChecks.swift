internal import Conformance

/// Whom one variant of a contract names, and what gave each its name.
///
/// An event for `adda` beside `register: ada` would be delivered, would change nobody, and the case
/// would pass.
struct NameChecks {
    enum Kind: String, CaseIterable {
        case user, account, phone
    }

    /// What a place does with the name that it holds.
    enum Role {
        /// The bearer exists because of this place: it is registered, signs up, is opened.
        case introduces
        /// The bearer may be unknown on purpose: an event may come before its user.
        case mentions
        /// The bearer has to be known from a step: an expectation about nobody proves nothing.
        case refers
    }

    private struct Use {
        let kind: Kind
        let role: Role
        let name: String
        let location: SourceLocation
    }

    /// The phone that a scenario has without saying so.
    static let usualPhone = "phone"

    private var uses: [Use] = []

    mutating func note(_ kind: Kind, _ role: Role, _ name: String, at location: SourceLocation) {
        uses.append(Use(kind: kind, role: role, name: name, location: location))
    }

    /// The users whose ids the texts of a step ask for; that is the first a backend hears of some.
    ///
    /// Whether such a name is misspelt is for ``TemplateChecks``, which know its place in the text.
    mutating func noteTemplates(in node: LocatedNode) {
        switch node.content {
        case .scalar(let text, _):
            for user in TemplateValues.users(in: [text]) {
                note(.user, .introduces, user, at: node.location)
            }
        case .sequence(let elements): for element in elements { noteTemplates(in: element) }
        case .mapping(let entries): for entry in entries { noteTemplates(in: entry.value) }
        }
    }

    // MARK: Checking

    /// An error for every place that names nobody, once the whole file has been read.
    ///
    /// - Parameter strangers: Users and accounts that the contract says are unknown on purpose.
    /// - Returns: The errors of users, then of accounts, then of phones.
    func errors(strangers: [String]) -> [ContractError] {
        Kind.allCases.flatMap { kind in
            errors(of: kind, strangers: kind == .phone ? [Self.usualPhone] : strangers)
        }
    }

    private func errors(of kind: Kind, strangers: [String]) -> [ContractError] {
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
    static func isMisspelling(_ word: String, of name: String) -> Bool {
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

extension VariantParser {
    /// A name, noted with what this place does with it.
    mutating func name(
        _ node: LocatedNode,
        _ kind: NameChecks.Kind,
        _ role: NameChecks.Role
    ) -> String? {
        guard let text = reader.text(node), let name = name(text, at: node.location) else {
            return nil
        }
        names.note(kind, role, name, at: node.location)
        return name
    }

    /// A user whom an event or a call names, who may be unknown to the backend.
    mutating func userName(_ node: LocatedNode) -> String? { name(node, .user, .mentions) }

    /// A user of whom something is expected.
    mutating func expectedUser(_ node: LocatedNode) -> String? { name(node, .user, .refers) }

    /// Names that stand as a key, `ada` or `ada|ben`.
    mutating func noteKey(
        _ entry: LocatedNode.Entry,
        _ kind: NameChecks.Kind,
        _ role: NameChecks.Role
    ) {
        for part in entry.key.split(separator: "|", omittingEmptySubsequences: false) {
            guard let name = name(String(part), at: entry.keyLocation) else { continue }
            names.note(kind, role, name, at: entry.keyLocation)
        }
    }

    private mutating func name(_ text: String, at location: SourceLocation) -> String? {
        let isName = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        guard isName, !text.isEmpty else {
            reader.fail(
                .wrongKind(expected: "a name of letters and digits", found: "'\(text)'"),
                at: location
            )
            return nil
        }
        return text
    }

    /// `{ada: some-id}`: one user and the id by which the backend is to know them.
    mutating func namedUser(_ node: LocatedNode) -> Step? {
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
        noteKey(entry, .user, .introduces)
        return reader.anyText(entry.value).map { .name(user: entry.key, id: $0) }
    }

    /// Why the event says it happened, out of the reasons that its type has.
    mutating func reason(_ node: LocatedNode, of type: String) -> String? {
        guard let reason = reader.text(node) else { return nil }
        let isFuture = reason.hasPrefix("FUTURE_") || type.lowercased().hasPrefix("future_")
        let allowed = EventSpec.reasons(of: type)
        guard !isFuture, !allowed.contains(reason), EventSpec.types.contains(type) else {
            return reason
        }
        if allowed.isEmpty {
            reader.fail(
                .conflict(
                    "an event of type \(type) says no reason",
                    remedy: "Remove 'reason': CANCELLATION and EXPIRATION have one."
                ),
                at: node.location
            )
        } else {
            reader.fail(
                .unknownValue(reason, what: "reason of \(type)", allowed: allowed),
                at: node.location
            )
        }
        return nil
    }
}

extension NodeReader {
    /// A text that may be empty.
    mutating func anyText(_ node: LocatedNode) -> String? {
        guard case .scalar(let text, _) = node.content else {
            fail(.wrongKind(expected: "a text", found: node.kind), at: node.location)
            return nil
        }
        return text
    }
}
