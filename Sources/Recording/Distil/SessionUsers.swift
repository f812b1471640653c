internal import Conformance
internal import ContractFiles

/// Who is who in a recorded session: which texts are ids of users, and which of them belong together.
struct SessionUsers: Sendable {
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
    /// The ids and secrets that an exchange names, which tie it to others, by its number.
    private var links: [Int: [String]] = [:]
    private var groups = Groups()
    private var userCount = 0

    /// - Parameters:
    ///   - exchanges: The session; no two of them have the same number.
    ///   - knowsRefused: Whether an id that was only ever refused is somebody. In a recording it is
    ///     nobody: it is refused again under the same id only. The ids of a run are all its own.
    init(_ exchanges: [Exchange], knowsRefused: Bool = false) {
        var texts = NumberedTexts()
        var said: [[Int]] = []
        said.reserveCapacity(exchanges.count)
        var tokens: [(token: String, id: String)] = []
        // So many at once that every processor has some, and few enough to be held.
        for start in stride(from: 0, to: exchanges.count, by: 4096) {
            let some = exchanges[start..<min(start + 4096, exchanges.count)]
            for (exchange, found) in zip(some, some.concurrentMap(SessionTexts.init)) {
                said.append(found.texts.map { texts.number(of: $0) })
                if knowsRefused || !exchange.isRefused { learn(found.ids) }
                if let token = found.token { tokens.append(token) }
            }
        }
        // Firebase hands out a token together with its owner's id.
        for (token, id) in tokens {
            guard let user = userByID[id] else { continue }
            ownerOfToken[token] = user
            groups.join(id, token)
        }
        // What each text names; most name nothing.
        let keys = texts.all.map { text -> [String] in
            let own = userByID[text] != nil ? [text] : []
            return own + Placeholder.all(in: text).filter(\.ties).map(\.text)
        }
        for (exchange, numbers) in zip(exchanges, said) {
            var linked: [String] = []
            for key in numbers.lazy.flatMap({ keys[$0] }) where !linked.contains(key) {
                linked.append(key)
            }
            links[exchange.sequence] = linked
            for key in linked.dropFirst() { groups.join(linked[0], key) }
        }
    }

    // MARK: Ids

    private mutating func learn(_ found: [String]) {
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

    /// Whether what stands under that name is the id of a person.
    static func isID(_ member: String) -> Bool {
        let normal = SecretNames.normal(member).utf8.filter { (97...122).contains($0) }
        return idMembers.contains(String(decoding: normal, as: UTF8.self))
    }

    // MARK: Who belongs together

    /// The ids and secrets that an exchange names, which tie it to others.
    func linkKeys(of exchange: Exchange) -> [String] { links[exchange.sequence] ?? [] }

    /// Only the people of some exchanges, called anew in the order in which they appear there.
    ///
    /// The first of them gets the name at `first`: the second contract of a session is bob's.
    func narrowed(to exchanges: some Sequence<Exchange>, first: Int = 0) -> SessionUsers {
        var copy = SessionUsers([])
        var names: [String: String] = [:]
        var tokens: Set<String> = []
        for exchange in exchanges {
            for key in linkKeys(of: exchange) {
                if ownerOfToken[key] != nil { tokens.insert(key) }
                let wide = userByID[key] ?? ownerOfToken[key]
                guard let wide else { continue }
                let name = names[wide] ?? Self.name(first + names.count)
                names[wide] = name
                guard userByID[key] != nil else { continue }
                copy.userByID[key] = name
                if anonymous.contains(key) { copy.anonymous.insert(key) }
            }
        }
        for token in tokens { copy.ownerOfToken[token] = ownerOfToken[token].flatMap { names[$0] } }
        return copy
    }

    static func name(_ index: Int) -> String {
        index < names.count ? names[index] : "user\(index + 1)"
    }

    /// The group that an exchange belongs to; nil when it names nobody.
    func group(of exchange: Exchange) -> String? {
        linkKeys(of: exchange).first.map { groups.root(of: $0) }
    }

    /// Keys that belong together: a forest in which every tree is flat.
    private struct Groups: Sendable {
        private var parents: [String: String] = [:]
        private var members: [String: [String]] = [:]

        func root(of key: String) -> String { parents[key] ?? key }

        /// The smaller group goes into the larger one, so that no key moves often.
        mutating func join(_ left: String, _ right: String) {
            var (root, moved) = (root(of: left), self.root(of: right))
            guard root != moved else { return }
            if members[root, default: []].count < members[moved, default: []].count {
                swap(&root, &moved)
            }
            let own = (members.removeValue(forKey: moved) ?? []) + [moved]
            for key in own { parents[key] = root }
            members[root, default: []] += own
        }
    }
}

/// What an exchange says that may name somebody, read once.
private struct SessionTexts: Sendable {
    /// A longer text is nobody's id.
    private static let idLengthMax = 200

    /// What stands under the names of ids, in order.
    private(set) var ids: [String] = []
    /// Every text that may be an id or hold a placeholder.
    private(set) var texts: [String] = []
    /// A token that Firebase gave out, and to whom.
    private(set) var token: (token: String, id: String)?

    init(_ exchange: Exchange) {
        for part in exchange.request.target.targetParts { add(part) }
        for field in exchange.request.fields { add(field.value) }
        let answer = exchange.response?.body ?? []
        for (index, body) in [exchange.request.body, answer].enumerated() {
            guard let value = try? JSONValue(parsing: body) else { continue }
            collect(value, isID: false)
            if index == 1, exchange.to == .firebase, let id = value["localId"]?.string,
                let token = value["idToken"]?.string
            {
                self.token = (token, id)
            }
        }
        for field in exchange.response?.fields ?? [] { add(field.value) }
        for effect in exchange.effects {
            ids += effect.recipients
            for recipient in effect.recipients { add(recipient) }
        }
    }

    private mutating func collect(_ value: JSONValue, isID: Bool) {
        switch value {
        case .object(let object):
            for member in object.members {
                collect(member.value, isID: SessionUsers.isID(member.key))
            }
        case .array(let elements): for element in elements { collect(element, isID: isID) }
        case .string(let text):
            if isID { ids.append(text) }
            add(text)
        // Nobody is named by these.
        case .null, .bool, .number: break
        }
    }

    private mutating func add(_ text: String) {
        if text.utf8.count <= Self.idLengthMax || text.utf8.contains(0xe2) { texts.append(text) }
    }
}

/// Texts by numbers, equal ones by the same.
private struct NumberedTexts {
    private(set) var all: [String] = []
    private var numbers: [String: Int] = [:]

    mutating func number(of text: String) -> Int {
        if let number = numbers[text] { return number }
        numbers[text] = all.count
        all.append(text)
        return all.count - 1
    }
}

extension String {
    /// What stands between the signs that divide a path and a query, decoded.
    var targetParts: [String] {
        utf8.split { "/?&=".utf8.contains($0) }.map { String(Substring($0)).percentDecoded }
    }
}
