internal import Redaction
internal import Providers
internal import Values

/// The users of a recorded session: which strings are their IDs, and which users are related.
struct SessionUsers: Sendable {
    /// The names of a contract's users in order of appearance.
    private static let userNames = [
        "ada", "bob", "cleo", "dora", "emil", "fred", "gina", "hugo", "ines", "jack",
    ]

    /// Names of JSON members whose value is a user ID, written in lowercase letters only:
    /// `appuserid` for `app_user_id`.
    private static let idMemberNames: Set<String> = [
        "appuserid", "originalappuserid", "currentappuserid", "userid", "anonymoususerid", "uid",
        "localid", "externalid", "externaluserid", "customerid", "transferredfrom", "transferredto",
        "aliases",
    ]

    /// The name of a user in the contract, such as `ada`, for each user ID in the session.
    private(set) var userByID: [String: String] = [:]
    /// The user IDs that an SDK generated before the user logged in, such as `$RCAnonymousID:…`.
    private(set) var anonymousIDs: Set<String> = []
    /// The name of the user who owns each Firebase ID token, by the placeholder of the redacted
    /// token.
    private(set) var userByToken: [String: String] = [:]
    /// The user IDs and secrets in each exchange, by exchange number.
    ///
    /// Exchanges that share a user ID or a secret belong to related users.
    private var linkKeysBySequence: [Int: [String]] = [:]
    private var groups = LinkedKeyGroups()
    private var userCount = 0

    /// Finds the users in the exchanges of a session.
    ///
    /// - Parameters:
    ///   - exchanges: The exchanges of the session, each with a unique number.
    ///   - includesRefusedRequests: Whether an ID that appears only in refused requests counts as a
    ///     user. Pass false for a recording: the backend refuses the request again only with the
    ///     same literal ID. Pass true for a run of a contract, in which all IDs are generated.
    init(_ exchanges: [Exchange], includesRefusedRequests: Bool = false) {
        var texts = NumberedTexts()
        var textNumbersByExchange: [[Int]] = []
        textNumbersByExchange.reserveCapacity(exchanges.count)
        var tokens: [(token: String, id: String)] = []
        // Each batch is large enough to use all processors and small enough for the memory.
        for start in stride(from: 0, to: exchanges.count, by: 4096) {
            let some = exchanges[start..<min(start + 4096, exchanges.count)]
            for (exchange, found) in zip(some, some.concurrentMapWithProviders(SessionTexts.init)) {
                textNumbersByExchange.append(found.texts.map { texts.number(of: $0) })
                if includesRefusedRequests || !exchange.isRefused { assignUsers(found.ids) }
                if let token = found.token { tokens.append(token) }
            }
        }
        // Firebase returns each token together with the ID of the user who owns it.
        for (token, id) in tokens {
            guard let user = userByID[id] else { continue }
            userByToken[token] = user
            groups.mergeGroups(id, token)
        }
        // The user IDs and placeholders in each string; most strings contain none.
        let keysByTextNumber = texts.all.map { text -> [String] in
            let ownKeys = userByID[text] != nil ? [text] : []
            return ownKeys + Placeholder.all(in: text).filter(\.linksExchanges).map(\.text)
        }
        for (exchange, numbers) in zip(exchanges, textNumbersByExchange) {
            var linkedKeys: [String] = []
            for key in numbers.lazy.flatMap({ keysByTextNumber[$0] })
            where !linkedKeys.contains(key) {
                linkedKeys.append(key)
            }
            linkKeysBySequence[exchange.sequence] = linkedKeys
            for key in linkedKeys.dropFirst() { groups.mergeGroups(linkedKeys[0], key) }
        }
    }

    // MARK: User IDs

    private mutating func assignUsers(_ found: [String]) {
        let ids = found.filter { !$0.isEmpty && $0.utf8.count <= 200 }
        for id in ids where id.hasPrefix("$RCAnonymousID:") { anonymousIDs.insert(id) }
        // An anonymous ID belongs to the user whose ID appears in the same exchange.
        let registeredID = ids.first { !anonymousIDs.contains($0) }
        for id in ids where userByID[id] == nil {
            if anonymousIDs.contains(id), let registeredID {
                userByID[id] = user(of: registeredID)
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

    /// Returns whether JSON members with this name contain a user ID.
    static func isIDMember(_ member: String) -> Bool {
        let normalizedLetters = SecretNames.normalizedName(member).utf8.filter {
            (97...122).contains($0)
        }
        return idMemberNames.contains(String(decoding: normalizedLetters, as: UTF8.self))
    }

    // MARK: Related users

    /// Returns the user IDs and secrets in an exchange, which relate it to other exchanges.
    func linkKeys(of exchange: Exchange) -> [String] { linkKeysBySequence[exchange.sequence] ?? [] }

    /// Returns the users of some exchanges only, renamed in the order in which they appear in these
    /// exchanges.
    ///
    /// The first user gets the name with index `first`, such as ada for 0 and bob for 1. So the
    /// second contract of a session is about bob.
    func restricted(to exchanges: some Sequence<Exchange>, first: Int = 0) -> SessionUsers {
        var restrictedUsers = SessionUsers([])
        var userNames: [String: String] = [:]
        var tokens: Set<String> = []
        for exchange in exchanges {
            for key in linkKeys(of: exchange) {
                if userByToken[key] != nil { tokens.insert(key) }
                let originalUser = userByID[key] ?? userByToken[key]
                guard let originalUser else { continue }
                let name = userNames[originalUser] ?? Self.name(first + userNames.count)
                userNames[originalUser] = name
                guard userByID[key] != nil else { continue }
                restrictedUsers.userByID[key] = name
                if anonymousIDs.contains(key) { restrictedUsers.anonymousIDs.insert(key) }
            }
        }
        for token in tokens {
            restrictedUsers.userByToken[token] = userByToken[token].flatMap { userNames[$0] }
        }
        return restrictedUsers
    }

    static func name(_ index: Int) -> String {
        index < userNames.count ? userNames[index] : "user\(index + 1)"
    }

    /// Returns the group of related users to which an exchange belongs; nil when the exchange names
    /// no user.
    func group(of exchange: Exchange) -> String? {
        linkKeys(of: exchange).first.map { groups.root(of: $0) }
    }

    /// Groups of related user IDs and secrets (keys), stored as a forest of flat trees.
    private struct LinkedKeyGroups: Sendable {
        private var rootByKey: [String: String] = [:]
        private var members: [String: [String]] = [:]

        func root(of key: String) -> String { rootByKey[key] ?? key }

        /// Merges the groups of two keys, the smaller group into the larger one, so that each key
        /// moves rarely.
        mutating func mergeGroups(_ left: String, _ right: String) {
            var (root, joinedRoot) = (root(of: left), self.root(of: right))
            guard root != joinedRoot else { return }
            if members[root, default: []].count < members[joinedRoot, default: []].count {
                swap(&root, &joinedRoot)
            }
            let ownKeys = (members.removeValue(forKey: joinedRoot) ?? []) + [joinedRoot]
            for key in ownKeys { rootByKey[key] = root }
            members[root, default: []] += ownKeys
        }
    }
}

/// The strings of an exchange that may identify a user.
private struct SessionTexts: Sendable {
    /// The maximum length in bytes of a string that can be a user ID.
    private static let idLengthMax = 200

    /// The user IDs in the exchange, in order: values of members such as `app_user_id`, and
    /// recipients of messages.
    private(set) var ids: [String] = []
    /// The strings of the exchange that may be a user ID or contain the placeholder of a redacted
    /// secret.
    private(set) var texts: [String] = []
    /// The ID token that a provider issued in the exchange, and the ID of the user who owns the
    /// token.
    private(set) var token: (token: String, id: String)?

    init(_ exchange: Exchange) {
        for part in exchange.request.target.targetParts { add(part) }
        for field in exchange.request.fields { add(field.value) }
        let responseBody = exchange.response?.body ?? []
        for body in [exchange.request.body, responseBody] {
            guard let value = JSONValue(ifValid: body) else { continue }
            collect(value, isIDMember: false)
        }
        token = Services.provider(exchange.to)?.tokenIssuer?.issuedToken(in: exchange)
            .map { ($0.token, $0.userID) }
        for field in exchange.response?.fields ?? [] { add(field.value) }
        for effect in exchange.effects {
            ids += effect.recipients
            for recipient in effect.recipients { add(recipient) }
        }
    }

    private mutating func collect(_ value: JSONValue, isIDMember: Bool) {
        switch value {
        case .object(let object):
            for member in object.members {
                collect(member.value, isIDMember: SessionUsers.isIDMember(member.key))
            }
        case .array(let elements):
            for element in elements { collect(element, isIDMember: isIDMember) }
        case .string(let text):
            if isIDMember { ids.append(text) }
            add(text)
        // These values identify no user.
        case .null, .bool, .number: break
        }
    }

    private mutating func add(_ text: String) {
        if text.utf8.count <= Self.idLengthMax || text.utf8.contains(0xe2) { texts.append(text) }
    }
}

/// Assigns numbers to strings; equal strings have the same number.
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
    /// The percent-decoded parts of a request target between the separators `/`, `?`, `&` and `=`.
    var targetParts: [String] {
        utf8.split { "/?&=".utf8.contains($0) }.map { String(Substring($0)).percentDecoded }
    }
}
