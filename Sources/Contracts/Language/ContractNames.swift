internal import Grammar

/// The names of users, accounts, deliveries and calls that a contract file defines.
///
/// They are collected before the values of the contract's `variants` replace templates such as
/// `{{copies}}`.
///
/// A name is defined when the file contains it outside a template. The name of a user is also
/// defined by a template in a vault or a request, because the backend may first see the user there.
/// A name in such a template that is close to a defined name is a misspelling, and defines no user.
struct ContractNames {
    private(set) var names = TemplateNames()
    private(set) var axisNodes: [String: [LocatedNode]] = [:]
    private var introducedUsers: [String] = []

    /// - Parameter root: The tree of a contract file, before the values of `variants` replace their
    ///   templates.
    init(_ root: LocatedNode) {
        for axis in root["variants"]?.entries ?? [] {
            let values = axis.value.elements.filter { $0.scalar != nil }
            axisNodes[axis.key] = values
            names.axes.append(.init(name: axis.key, values: values.compactMap(\.scalar)))
        }
        for key in ["given", "steps"] {
            for shapedNode in GrammarWalk.shapedNodes(key, in: root) {
                collectNames(shapedNode)
                if shapedNode.place == .contract(.request) || shapedNode.place == .contract(.phone)
                {
                    recordIntroducedUsers(shapedNode.node.scalar ?? "")
                }
            }
        }
        for shapedNode in GrammarWalk.shapedNodes("expect", in: root) { collectNames(shapedNode) }
        for user in introducedUsers where !names.users.contains(user) && !isMisspelled(user) {
            names.users.append(user)
        }
    }

    private mutating func collectNames(_ shapedNode: GrammarWalk.ShapedNode) {
        let texts = axisExpansions(shapedNode.node.scalar ?? "")
        switch shapedNode.shape {
        case .name(.user, _): addNames(texts, to: \.users)
        case .nameAlternatives(.user):
            addNames(texts.flatMap { $0.split(separator: "|").map(String.init) }, to: \.users)
        case .name(.account, _): addNames(texts, to: \.accounts)
        case .name(.holder, _):
            addNames(texts, to: \.accounts)
            addNames(texts, to: \.users)
        case .name(.delivery, .introduces): addNames(texts, to: \.deliveries)
        case .name(.call, .introduces): addNames(texts, to: \.calls)
        // Templates cannot name phones. A reference to a delivery or a call does not define the
        // name.
        case .name(.phone, _), .name(.delivery, _), .name(.call, _), .nameAlternatives: break
        case .text, .scalar, .verbatim, .secret, .pattern, .flag, .count, .duration, .words,
            .openWords,
            .json, .null, .pointer, .list, .map, .construct, .either, .templated:
            break
        }
    }

    private mutating func addNames(
        _ texts: [String],
        to list: WritableKeyPath<TemplateNames, [String]>
    ) {
        // One key of `variants` may have a thousand values, so the lookup must be fast.
        var collectedNames = Set(names[keyPath: list])
        names[keyPath: list] += texts.filter { collectedNames.insert($0).inserted }
    }

    /// Returns every string that results from a string when the values of `variants` replace their
    /// templates.
    private func axisExpansions(_ text: String) -> [String] {
        names.axes.reduce([text]) { texts, axis in
            texts.flatMap { text in
                Template(text).names.contains(axis.name)
                    ? axis.values.map { value in
                        Template(text).replacing { $0 == axis.name ? Template(value) : nil }
                            .description
                    } : [text]
            }
        }
    }

    /// Records the users whose IDs a string contains as templates, such as `{{user.ada}}`.
    private mutating func recordIntroducedUsers(_ text: String) {
        for text in axisExpansions(text) { introducedUsers += Template.users(in: [text]) }
    }

    /// Whether the name of a user is a misspelling of a defined name.
    ///
    /// `user1` and `user2` are two different users, not misspellings.
    private func isMisspelled(_ user: String) -> Bool {
        func removingDigits(_ text: String) -> String { text.filter { !$0.isNumber } }
        return Suggestion.nearest(to: user, among: names.users).map {
            removingDigits($0) != removingDigits(user)
        } ?? false
    }
}

extension GrammarWalk {
    /// Returns every key and scalar value below a top-level key of a contract file.
    fileprivate static func shapedNodes(_ key: String, in root: LocatedNode) -> [ShapedNode] {
        guard let node = root[key], let shape = Contract.grammar.shape[key]?.shape else {
            return []
        }
        return GrammarWalk(node, shape).shapedNodes
    }
}
