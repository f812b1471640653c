internal import Values

/// The operations that list the accounts of a project (Firebase fact sheet, section 4.12).
enum FirebaseAccountLists {
    static func export(_ state: FirebaseState, _ call: FirebaseCall) -> JSONObject {
        let wanted = (call.query("maxResults") ?? call.fields["maxResults"]).flatMap { Int($0) }
        let pageSize = min(max(1, wanted ?? 20), 1000)
        let pageToken = call.query("nextPageToken") ?? call.fields.nonEmptyText("nextPageToken")
        let page = state.project(call).users.page(pageSize, after: pageToken)
        return .present([
            ("kind", "identitytoolkit#DownloadAccountResponse"),
            (
                "users",
                // An export contains the password hash and the salt, in production too.
                page.isEmpty ? nil : .array(page.map { $0.accountJSON(redactsPassword: false) })
            ),
            // A full page always has a token for the next page, even when no account follows (trap
            // T12 of the Firebase fact sheet).
            ("nextPageToken", page.count == pageSize ? page.last.map { .string($0.localID) } : nil),
        ])
    }

    /// The field by which a query sorts accounts.
    ///
    /// Section 4.12 of the Firebase fact sheet names the parameter. Its values come from the
    /// Identity Toolkit's reference.
    private enum SortField: String {
        case unspecified = "SORT_BY_FIELD_UNSPECIFIED"
        case id = "USER_ID"
        case name = "NAME"
        case created = "CREATED_AT"
        case lastLogin = "LAST_LOGIN_AT"
        case email = "USER_EMAIL"
    }

    private enum SortOrder: String {
        case unspecified = "ORDER_UNSPECIFIED"
        case ascending = "ASC"
        case descending = "DESC"
    }

    /// Returns a parameter of the request that must be one of the cases of an enumeration; nil when
    /// the request lacks the parameter.
    ///
    /// The text of the error for any other value is *inferred*.
    private static func parsedChoice<Choice: RawRepresentable<String>>(
        _: Choice.Type,
        _ call: FirebaseCall,
        _ name: String
    ) throws(FirebaseError) -> Choice? {
        guard let text = call.fields.nonEmptyText(name) else { return nil }
        guard let parsedChoice = Choice(rawValue: text) else {
            throw .invalidArgument("Invalid value at '\(name)', \"\(text)\"")
        }
        return parsedChoice
    }

    static func query(
        _ state: FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let project = state.project(call)
        var responseFields: JSONObject = ["recordsCount": .string(String(project.users.count))]
        guard call.fields.flag("returnUserInfo") != false else { return responseFields }
        var users = project.users.all
        switch try parsedChoice(SortField.self, call, "sortBy") {
        // The accounts are already sorted by ID.
        case nil, .unspecified, .id: break
        case .created: users.sort { $0.created < $1.created }
        case .lastLogin:
            let timeForMissingDate = Instant(milliseconds: 0)
            users.sort {
                ($0.lastLogin ?? timeForMissingDate) < ($1.lastLogin ?? timeForMissingDate)
            }
        case .name: users.sort { ($0.displayName ?? "") < ($1.displayName ?? "") }
        case .email: users.sort { ($0.email ?? "") < ($1.email ?? "") }
        }
        if try parsedChoice(SortOrder.self, call, "order") == .descending { users.reverse() }
        responseFields["userInfo"] = .array(
            users.map { $0.accountJSON(redactsPassword: state.settings.redactsPasswordHash) }
        )
        return responseFields
    }
}
