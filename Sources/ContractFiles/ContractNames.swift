internal import Conformance

/// What a contract gives names to, read from its file before axes are replaced.
///
/// A user, an account, a delivery or a call exists when something other than a template names it. A
/// user also comes to exist by a template in a vault or in a request, since that may be the first
/// that a backend hears of them; unless the name is nearly one that exists, which is a misspelling.
struct ContractNames {
    private(set) var names = TemplateNames()
    private(set) var axisNodes: [String: [LocatedNode]] = [:]
    private var introduced: [String] = []

    init(_ root: LocatedNode) {
        for axis in root["variants"]?.entries ?? [] {
            let values = axis.value.elements.filter { $0.scalar != nil }
            axisNodes[axis.key] = values
            names.axes.append(.init(name: axis.key, values: values.compactMap(\.scalar)))
        }
        for key in ["given", "steps"] {
            for step in root[key]?.elements ?? [] { collect(step: step) }
        }
        if let node = root["expect"] { collect(expectation: node) }
        for user in introduced where !names.users.contains(user) && !isMisspelt(user) {
            names.users.append(user)
        }
    }

    private mutating func collect(step: LocatedNode) {
        for entry in step.entries {
            let node = entry.value
            switch entry.key {
            case "register", "revoke", "disable", "user", "as": addUsers(node)
            case "name":
                for entry in node.entries { add(expanded(entry.key), to: \.users) }
            case "account":
                addTexts(node, to: \.accounts)
                if step["app"] != nil { addUsers(node) }
            case "deliver": addTexts(node, to: \.deliveries)
            case "call", "request": addTexts(node, to: \.calls)
            case "together": for call in node.elements { collect(step: call) }
            case "event", "purchasely":
                for key in ["user", "from", "to", "other"] { node[key].map { addUsers($0) } }
            case "phone":
                for purchase in node["history"]?.elements ?? [] {
                    purchase["user"].map { addUsers($0) }
                }
                introduce(node["vault"])
            case "backend":
                for route in node.entries {
                    for answer in [route.value] + route.value.elements {
                        answer["recovered"].map { addUsers($0) }
                    }
                }
            case "send", "body", "text", "raw": introduce(node)
            default: break
            }
        }
    }

    private mutating func collect(expectation node: LocatedNode) {
        for user in node["state"]?.entries ?? [] {
            for name in expanded(user.key) {
                add(name.split(separator: "|").map(String.init), to: \.users)
            }
        }
        for call in node["ids"]?.entries ?? [] { addUsers(call.value) }
        for effect in node["effects"]?.elements ?? [] {
            for key in ["to", "unlike"] { effect[key].map { addUsers($0) } }
        }
        node["forgets"].map { addUsers($0) }
        for phone in node["app"]?["id"]?.entries ?? [] {
            addUsers(phone.value)
            phone.value["not"].map { addUsers($0) }
        }
    }

    private mutating func addUsers(_ node: LocatedNode) { addTexts(node, to: \.users) }

    /// A text, or each of a list of texts.
    private mutating func addTexts(
        _ node: LocatedNode,
        to list: WritableKeyPath<TemplateNames, [String]>
    ) {
        add(([node] + node.elements).compactMap(\.scalar).flatMap(expanded), to: list)
    }

    private mutating func add(
        _ texts: [String],
        to list: WritableKeyPath<TemplateNames, [String]>
    ) {
        for text in texts where !names[keyPath: list].contains(text) {
            names[keyPath: list].append(text)
        }
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

    /// Users whose ids a tree of texts asks for.
    private mutating func introduce(_ node: LocatedNode?) {
        guard let node else { return }
        switch node.content {
        case .scalar(let text, _):
            for text in expanded(text) { introduced += TemplateValues.users(in: [text]) }
        case .sequence(let elements): for element in elements { introduce(element) }
        case .mapping(let entries):
            for entry in entries {
                introduced += TemplateValues.users(in: [entry.key])
                introduce(entry.value)
            }
        }
    }

    /// Whether a name is nearly one that exists; `user1` and `user2` are two users.
    private func isMisspelt(_ user: String) -> Bool {
        func letters(_ text: String) -> String { text.filter { !$0.isNumber } }
        return Suggestion.nearest(to: user, among: names.users).map {
            letters($0) != letters(user)
        } ?? false
    }
}
