/// Whose account is whose, and which device has signed in to somebody else's.
///
/// Source: identity rules S-25 to S-28.
struct LifeAccounts: Sendable {
    /// Who has signed up.
    private(set) var owners: Set<String> = []
    /// Whose account a person's device signed in to: what was bought on it is one of both's since
    /// (S-28 leaves open whose).
    private(set) var joined: [String: String] = [:]

    /// The account that somebody signed up with, as contracts name it.
    static func name(of owner: String) -> String { "accountOf\(owner)" }

    var hasJoined: Bool { !joined.isEmpty }

    /// Whether it is open who has what the person's events tell of.
    func isJoined(_ person: String) -> Bool {
        joined[person] != nil || joined.values.contains(person)
    }

    mutating func signUp(_ person: String) throws(LifeModel.Illegal) {
        guard owners.insert(person).inserted else {
            throw LifeModel.Illegal(reason: "the account is there already")
        }
    }

    mutating func logIn(_ person: String, owner: String) throws(LifeModel.Illegal) {
        guard owners.contains(owner) else {
            throw LifeModel.Illegal(reason: "\(owner) has no account")
        }
        guard person != owner else { return }
        guard !owners.contains(person), joined.isEmpty else {
            throw LifeModel.Illegal(reason: "one of the accounts would have to go")
        }
        joined[person] = owner
    }
}
