/// The accounts of the users in a generated customer history, and the devices that signed in to
/// another user's account.
///
/// Source: identity rules S-25 to S-28.
package struct HistoryAccounts: Sendable {
    /// The names of the users who signed up for an account.
    private(set) var accountOwners: Set<String> = []
    /// The owner of the account to which a user's device signed in, by the name of that user.
    ///
    /// Earlier purchases on the device then belong either to the user or to the account's owner.
    /// Clause S-28 leaves this open.
    private(set) var joinedUsers: [String: String] = [:]

    /// Returns the name of a user's account in the contract that a history becomes.
    static func name(of owner: String) -> String { "accountOf\(owner)" }

    var hasLoginToOtherAccount: Bool { !joinedUsers.isEmpty }

    /// Returns whether a login left the owner of the purchases in the user's events undetermined.
    package func hasUndeterminedOwner(_ person: String) -> Bool {
        joinedUsers[person] != nil || joinedUsers.values.contains(person)
    }

    mutating func signUp(_ person: String) throws(HistoryModel.ImpossibleOperation) {
        guard accountOwners.insert(person).inserted else {
            throw HistoryModel.ImpossibleOperation(reason: "the account already exists")
        }
    }

    mutating func logIn(_ person: String, owner: String) throws(HistoryModel.ImpossibleOperation) {
        guard accountOwners.contains(owner) else {
            throw HistoryModel.ImpossibleOperation(reason: "\(owner) has no account")
        }
        guard person != owner else { return }
        guard !accountOwners.contains(person), joinedUsers.isEmpty else {
            throw HistoryModel.ImpossibleOperation(
                reason: "the login would replace one of the accounts"
            )
        }
        joinedUsers[person] = owner
    }
}
