internal import Values

/// A filter on a tag of users: the tag's name, a relation and a value (OneSignal fact sheet,
/// section 3).
struct TagFilter {
    private enum Relation: String {
        case equals = "="
        case notEquals = "!="
        case exists
        case isMissing = "not_exists"
        case greaterThan = ">"
        case elapsedMoreThan = "time_elapsed_gt"
        case lessThan = "<"
        case elapsedLessThan = "time_elapsed_lt"
    }

    private let key: String
    /// The relation between the tag and the wanted value.
    ///
    /// Nil for an unknown relation, which holds for no user.
    private let relation: Relation?
    private let requiredValue: String

    /// Creates a tag filter.
    ///
    /// Returns nil for an operator, and for a filter on a field that this fake does not store. The
    /// caller ignores such a filter, so it excludes no user.
    init?(_ filter: JSONValue) {
        guard filter["operator"] == nil, filter["field"] == "tag" else { return nil }
        key = filter["key"]?.string ?? ""
        relation = filter["relation"]?.string.flatMap(Relation.init)
        requiredValue = filter["value"]?.scalarText ?? ""
    }

    /// Returns users from the tag index among whom are all users that match the filter.
    ///
    /// Returns nil when users outside the index may also match.
    func candidateUsers(_ app: OneSignalApp) -> [OneSignalApp.User]? {
        switch relation {
        case .equals: app.users(tagged: key, requiredValue)
        case .exists, .greaterThan, .elapsedMoreThan, .lessThan, .elapsedLessThan:
            app.users(tagged: key, nil)
        // These relations also match users without the tag.
        case .notEquals, .isMissing: nil
        case nil: []
        }
    }

    func holds(of user: OneSignalApp.User) -> Bool {
        let value = user.tags[key]?.string
        func satisfiesNumerically(_ holds: (Double, Double) -> Bool) -> Bool {
            guard let left = value.flatMap({ Double($0) }), let right = Double(requiredValue) else {
                return false
            }
            return holds(left, right)
        }
        return switch relation {
        case .equals: value == requiredValue
        case .notEquals: value != requiredValue
        case .exists: value != nil
        case .isMissing: value == nil
        case .greaterThan, .elapsedMoreThan: satisfiesNumerically(>)
        case .lessThan, .elapsedLessThan: satisfiesNumerically(<)
        case nil: false
        }
    }
}
