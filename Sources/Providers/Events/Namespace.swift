package import Values

/// The generator of one run's IDs (users, events, transactions), which no other run uses.
///
/// Because of these separate IDs, cases can run in parallel on a backend that keeps its data.
package struct Namespace: Hashable, Codable, Sendable {
    package let name: String
    package let idForm: UserIDForm
    /// The user IDs that the backend assigned when it created users, keyed by the user's name in
    /// the contract.
    package private(set) var assignedIDs: [String: String] = [:]

    /// The names of the users by the further IDs that logins returned to them; nil without any.
    package private(set) var usersByReturnedID: [String: String]?

    /// Two users whose IDs a backend may confuse; nil: no user of the run has such an ID.
    package let similarIDs: SimilarUserIDs?
    /// The form of the IDs of accounts; nil: email addresses.
    package let accountIDForm: AccountIDForm?

    package init(
        name: String,
        idForm: UserIDForm,
        accountIDForm: AccountIDForm? = nil,
        similarIDs: SimilarUserIDs? = nil
    ) {
        self.name = name
        self.idForm = idForm
        self.accountIDForm = accountIDForm
        self.similarIDs = similarIDs
    }

    package mutating func assign(_ id: String, to user: String) {
        assignedIDs[user] = id
    }

    /// Records that a login returned an ID to a user.
    ///
    /// Nothing changes if the ID is already an ID of one of the users. So each ID has one user.
    package mutating func addReturnedID(_ id: String, of user: String, among users: [String]) {
        guard usersByReturnedID?[id] == nil,
            !users.contains(where: { self.id(of: $0).isExactly(id) })
        else { return }
        usersByReturnedID = (usersByReturnedID ?? [:]).merging([id: user]) { known, _ in known }
    }

    /// Returns all IDs under which a backend may address a user: the ID of the device, and those
    /// that logins returned.
    package func ids(of user: String) -> Set<ExactText> {
        let returnedIDs = (usersByReturnedID ?? [:]).filter { $0.value == user }.keys
        return Set((returnedIDs + [id(of: user)]).map(ExactText.init))
    }

    private static let anonymousPrefix = "$RCAnonymousID:"

    /// Returns the ID under which the app registers the user of that name.
    package func id(of user: String) -> String {
        if let id = assignedIDs[user] ?? similarID(of: user) { return id }
        switch idForm {
        case .string: return "assay-\(name)-\(user)"
        case .uuid: return uuid("user", user).lowercased()
        case .integer: return digits(of: user)
        case .firebase: return uid("user", user)
        }
    }

    /// Returns an ID with the form of Firebase's uids.
    private func uid(_ purpose: String, _ text: String) -> String {
        var generator = seededGenerator(purpose, text)
        let idCharacters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        return String((0..<28).map { _ in idCharacters.randomElement(using: &generator) ?? "A" })
    }

    private func digits(of user: String) -> String {
        var generator = seededGenerator("user", user)
        return String(UInt32.random(in: 1_000_000_000..<2_147_483_647, using: &generator))
    }

    private func similarID(of user: String) -> String? {
        guard let similarIDs else { return nil }
        return similarIDs.id(
            of: user,
            in: name,
            uuid: uuid("user", similarIDs.first).lowercased(),
            digits: digits(of: similarIDs.first)
        )
    }

    /// Returns the anonymous ID that RevenueCat's SDK created before the user logged in.
    ///
    /// The ID consists of a prefix and 32 hexadecimal digits (RevenueCat fact sheet, section 5.1).
    package func anonymousID(of user: String) -> String {
        Self.anonymousPrefix + hex("anonymous", user, count: 32)
    }

    /// Returns the ID of the account of that name: the email address or the uid with which it signs
    /// in.
    package func accountID(of account: String) -> String {
        switch accountIDForm {
        case nil: emailAddress(of: account)
        case .uid: uid("account", account)
        }
    }

    /// Returns the email address of the account of that name.
    package func emailAddress(of account: String) -> String {
        "assay-\(name)-\(account)@example.com"
    }

    package func password(of account: String) -> String {
        "pw-" + hex("password", account, count: 24)
    }

    package func installID(of user: String) -> String { uuid("install", user) }

    /// Returns the event ID of a delivery, in upper case as in all observed webhooks (RevenueCat
    /// fact sheet, section 2.3).
    package func eventID(of delivery: String) -> String { uuid("event", delivery) }

    /// Returns a store transaction ID, which is the same for all events of a user's subscription to
    /// one product.
    package func transactionID(of user: String, _ product: String) -> String {
        var generator = seededGenerator("transaction", user + "/" + product)
        return "2000"
            + String(UInt64.random(in: 100_000_000_000..<1_000_000_000_000, using: &generator))
    }

    package func hex(_ purpose: String, _ text: String, count: Int) -> String {
        var generator = seededGenerator(purpose, text)
        let hexDigits = Array("0123456789abcdef".utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        var randomBits: UInt64 = 0
        for position in 0..<count {
            if position % 16 == 0 { randomBits = generator.next() }
            bytes.append(hexDigits[Int(randomBits & 0xf)])
            randomBits >>= 4
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns each ID of the run with the token that replaces it when two runs are compared,
    /// longest ID first.
    ///
    /// - Parameters:
    ///   - users: The users whose IDs are replaced.
    ///   - accounts: The accounts whose IDs are replaced.
    ///   - deliveries: The deliveries whose event IDs are replaced.
    ///   - reader: A user whose token does not contain the user's name, so that messages to two
    ///     users can be compared.
    /// - Returns: The IDs, each with its token.
    package func tokens(
        users: [String],
        accounts: [String] = [],
        deliveries: [String],
        reader: String? = nil
    ) -> [(id: String, token: String)] {
        var tokens: [(id: String, token: String)] = []
        for user in users {
            let name = user == reader ? "the reader" : user
            tokens.append((id(of: user), "‹\(name)›"))
            tokens.append((anonymousID(of: user), "‹\(name) anonymous›"))
            tokens.append((installID(of: user), "‹\(name) install›"))
        }
        for account in accounts { tokens.append((accountID(of: account), "‹account \(account)›")) }
        for delivery in deliveries { tokens.append((eventID(of: delivery), "‹\(delivery) id›")) }
        tokens.append((name, "‹namespace›"))
        return tokens.sorted { $0.id.utf8.count > $1.id.utf8.count }
    }

    private func seededGenerator(_ purpose: String, _ text: String) -> SeededGenerator {
        var textGenerator = SeededGenerator(seed: 0, text: "\(name)/\(purpose)/\(text)")
        return SeededGenerator(seed: textGenerator.next())
    }

    private func uuid(_ purpose: String, _ text: String) -> String {
        var bytes = Array(hex(purpose, text, count: 32).uppercased().utf8)
        bytes[12] = UInt8(ascii: "4")
        bytes[16] = UInt8(ascii: "A")
        for position in [20, 16, 12, 8] { bytes.insert(UInt8(ascii: "-"), at: position) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
