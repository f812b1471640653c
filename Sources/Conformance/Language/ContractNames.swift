/// What a contract gives names to, read from its file before axes are replaced.
///
/// A user, an account, a delivery or a call exists when something other than a template names it. A
/// user also comes to exist by a template in a vault or in what is sent, since that may be the first
/// that a backend hears of them; unless the name is nearly one that exists, which is a misspelling.
struct ContractNames {
    private(set) var names = TemplateNames()
    private(set) var axisNodes: [String: [LocatedNode]] = [:]
    private var introduced: [String] = []

    /// - Parameter root: The tree of a contract file, with its axes unfilled.
    init(_ root: LocatedNode) {
        for axis in root["variants"]?.entries ?? [] {
            let values = axis.value.elements.filter { $0.scalar != nil }
            axisNodes[axis.key] = values
            names.axes.append(.init(name: axis.key, values: values.compactMap(\.scalar)))
        }
        for key in ["given", "steps"] {
            for stop in GrammarWalk.of(key, in: root) {
                collect(stop)
                if stop.place == .contract(.request) || stop.place == .contract(.phone) {
                    introduce(stop.node.scalar ?? "")
                }
            }
        }
        for stop in GrammarWalk.of("expect", in: root) { collect(stop) }
        for user in introduced where !names.users.contains(user) && !isMisspelt(user) {
            names.users.append(user)
        }
    }

    private mutating func collect(_ stop: GrammarWalk.Stop) {
        let texts = expanded(stop.node.scalar ?? "")
        switch stop.shape {
        case .name(.user, _): add(texts, to: \.users)
        case .anyOf(.user):
            add(texts.flatMap { $0.split(separator: "|").map(String.init) }, to: \.users)
        case .name(.account, _): add(texts, to: \.accounts)
        case .name(.holder, _):
            add(texts, to: \.accounts)
            add(texts, to: \.users)
        case .name(.delivery, .introduces): add(texts, to: \.deliveries)
        case .name(.call, .introduces): add(texts, to: \.calls)
        // Templates name no phones, and what only refers to a delivery or a call makes none.
        case .name(.phone, _), .name(.delivery, _), .name(.call, _), .anyOf: break
        case .text, .scalar, .verbatim, .secret, .pattern, .flag, .count, .duration, .words,
            .openWords,
            .json, .null, .pointer, .list, .map, .construct, .either, .templated:
            break
        }
    }

    private mutating func add(
        _ texts: [String],
        to list: WritableKeyPath<TemplateNames, [String]>
    ) {
        // An axis of a thousand values makes a thousand names.
        var known = Set(names[keyPath: list])
        names[keyPath: list] += texts.filter { known.insert($0).inserted }
    }

    /// The texts that a text becomes when its axes are replaced.
    private func expanded(_ text: String) -> [String] {
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

    /// Users whose ids a text asks for.
    private mutating func introduce(_ text: String) {
        for text in expanded(text) { introduced += TemplateValues.users(in: [text]) }
    }

    /// Whether a name is nearly one that exists; `user1` and `user2` are two users.
    private func isMisspelt(_ user: String) -> Bool {
        func letters(_ text: String) -> String { text.filter { !$0.isNumber } }
        return Suggestion.nearest(to: user, among: names.users).map {
            letters($0) != letters(user)
        } ?? false
    }
}

extension GrammarWalk {
    /// Every text below one key at the top of a contract.
    fileprivate static func of(_ key: String, in root: LocatedNode) -> [Stop] {
        guard let node = root[key], let shape = Contract.grammar.shape[key]?.shape else {
            return []
        }
        return GrammarWalk(node, shape).stops
    }
}
