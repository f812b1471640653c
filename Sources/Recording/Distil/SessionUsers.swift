internal import Conformance

/// Who is who in a recorded session: which texts are ids of users, and which of them belong together.
struct SessionUsers {
    /// What the people of a contract are called, in order of appearance.
    private static let names = [
        "ada", "bob", "cleo", "dora", "emil", "fred", "gina", "hugo", "ines", "jack",
    ]

    /// Members whose value is a user's id, without case and punctuation.
    private static let idMembers: Set<String> = [
        "appuserid", "originalappuserid", "currentappuserid", "userid", "anonymoususerid", "uid",
        "localid", "externalid", "externaluserid", "customerid", "transferredfrom", "transferredto",
        "aliases",
    ]

    /// The user of each id.
    private(set) var userByID: [String: String] = [:]
    /// Ids that the SDK made before its user logged in.
    private(set) var anonymous: Set<String> = []
    /// Whose ID token a placeholder stands for.
    private(set) var ownerOfToken: [String: String] = [:]
    private var parents: [String: String] = [:]
    private var userCount = 0

    /// - Parameters:
    ///   - exchanges: The session.
    ///   - knowsRefused: Whether an id that was only ever refused is somebody. In a recording it is
    ///     nobody: it is refused again under the same id only. The ids of a run are all its own.
    init(_ exchanges: [Exchange], knowsRefused: Bool = false) {
        for exchange in exchanges where knowsRefused || !exchange.isRefused {
            learnIDs(from: exchange)
        }
        for exchange in exchanges { learnTokens(from: exchange) }
        for exchange in exchanges {
            let keys = linkKeys(of: exchange)
            for key in keys.dropFirst() { join(keys[0], key) }
        }
    }

    // MARK: Ids

    private mutating func learnIDs(from exchange: Exchange) {
        var found: [String] = []
        for body in [exchange.request.body, exchange.response?.body ?? []] {
            guard let value = try? JSONValue(parsing: body) else { continue }
            Self.collect(value, isID: false, &found)
        }
        for effect in exchange.effects { found += effect.recipients }
        let ids = found.filter { !$0.isEmpty && $0.utf8.count <= 200 }
        for id in ids where id.hasPrefix("$RCAnonymousID:") { anonymous.insert(id) }
        // An anonymous id is the other id of whoever is named beside it.
        let named = ids.first { !anonymous.contains($0) }
        for id in ids where userByID[id] == nil {
            if anonymous.contains(id), let named {
                userByID[id] = user(of: named)
            } else {
                _ = user(of: id)
            }
        }
    }

    private mutating func user(of id: String) -> String {
        if let user = userByID[id] { return user }
        let user = Self.name(userCount)
        userCount += 1
        userByID[id] = user
        return user
    }

    private static func collect(_ value: JSONValue, isID: Bool, _ found: inout [String]) {
        switch value {
        case .object(let object):
            for member in object.members {
                let name = member.key.lowercased().filter { $0.isLetter }
                collect(member.value, isID: idMembers.contains(name), &found)
            }
        case .array(let elements): for element in elements { collect(element, isID: isID, &found) }
        case .string(let text): if isID { found.append(text) }
        case .null, .bool, .number: break
        }
    }

    /// Firebase hands out a token together with its owner's id.
    private mutating func learnTokens(from exchange: Exchange) {
        guard exchange.to == .firebase, let body = exchange.response?.body,
            let value = try? JSONValue(parsing: body), let id = value["localId"]?.string,
            let token = value["idToken"]?.string, let user = userByID[id]
        else { return }
        ownerOfToken[token] = user
        parents[token] = root(of: id)
    }

    // MARK: Who belongs together

    /// The ids and secrets that an exchange names, which tie it to others.
    func linkKeys(of exchange: Exchange) -> [String] {
        var keys: [String] = []
        func add(_ text: String) {
            if userByID[text] != nil, !keys.contains(text) { keys.append(text) }
            for placeholder in Placeholder.all(in: text) where placeholder.ties {
                if !keys.contains(placeholder.text) { keys.append(placeholder.text) }
            }
        }
        for part in exchange.request.target.split(whereSeparator: { "/?&=".contains($0) }) {
            add(String(part).percentDecoded)
        }
        for field in exchange.request.fields { add(field.value) }
        for body in [exchange.request.body, exchange.response?.body ?? []] {
            guard let value = try? JSONValue(parsing: body) else { continue }
            for text in value.strings { add(text) }
        }
        for field in exchange.response?.fields ?? [] { add(field.value) }
        for effect in exchange.effects { for recipient in effect.recipients { add(recipient) } }
        return keys
    }

    private func root(of key: String) -> String {
        var key = key
        while let parent = parents[key], parent != key { key = parent }
        return key
    }

    /// Only the people of some exchanges, called anew in the order in which they appear there.
    ///
    /// The first of them gets the name at `first`: the second contract of a session is bob's.
    func narrowed(to exchanges: [Exchange], first: Int = 0) -> SessionUsers {
        var copy = self
        copy.userByID = [:]
        var names: [String: String] = [:]
        for exchange in exchanges {
            for key in linkKeys(of: exchange) {
                let wide = userByID[key] ?? ownerOfToken[key]
                guard let wide else { continue }
                let name = names[wide] ?? Self.name(first + names.count)
                names[wide] = name
                if userByID[key] != nil { copy.userByID[key] = name }
            }
        }
        copy.ownerOfToken = ownerOfToken.compactMapValues { names[$0] }
        return copy
    }

    static func name(_ index: Int) -> String {
        index < names.count ? names[index] : "user\(index + 1)"
    }

    /// The ids, longest first.
    var ids: [String] {
        userByID.keys.sorted { ($1.utf8.count, $0) < ($0.utf8.count, $1) }
    }

    private mutating func join(_ left: String, _ right: String) {
        let (left, right) = (root(of: left), root(of: right))
        if left != right { parents[right] = left }
    }

    /// The group that an exchange belongs to; nil when it names nobody.
    func group(of exchange: Exchange) -> String? {
        linkKeys(of: exchange).first.map(root)
    }
}
