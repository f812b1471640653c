package import Values

/// The request whose response contains the session of a user, which later requests carry in
/// place of `{{user-session}}`.
package enum UserSession: Hashable, Sendable {
    /// A login of the user.
    case login(Profile.Session)
    /// The creation of the user; the pointer is the location of the session.
    case creation(token: JSONPointer)

    /// The login; nil if the creation of a user returns the session.
    package var login: Profile.Session? {
        if case .login(let session) = self { session } else { nil }
    }

    /// The location of the session in the response.
    package var token: JSONPointer {
        switch self {
        case .login(let session): session.token
        case .creation(let token): token
        }
    }
}

extension UserSession: Codable {
    // A login is encoded like `Profile.Session`, which saved runs of earlier versions contain.
    private enum CodingKeys: String, CodingKey {
        case endpoint, token
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let token = try container.decode(JSONPointer.self, forKey: .token)
        let endpoint = try container.decodeIfPresent(Profile.Endpoint.self, forKey: .endpoint)
        self =
            endpoint.map { .login(Profile.Session(endpoint: $0, token: token)) }
            ?? .creation(token: token)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(token, forKey: .token)
        try container.encodeIfPresent(login?.endpoint, forKey: .endpoint)
    }
}
