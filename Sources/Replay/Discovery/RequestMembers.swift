internal import Contracts
internal import Grammar
internal import Judging
internal import Values

/// The members of request and response bodies, by the names that backends give them.
enum RequestMembers {
    /// The names of the user and the device in the bodies that are tried if the code shows none.
    private static let commonBodyNames = [
        ["appUserId", "deviceId"], ["app_user_id", "device_id"], ["userId", "deviceId"],
        ["user_id", "device_id"], ["id"],
    ]

    /// Returns the bodies that are tried at a route: the one that its code reads, and common ones if
    /// the code does not show the name of the user.
    static func bodies(of route: SourceSurvey.Route) -> [JSONValue] {
        let body = body(route.bodyNames)
        let isKnown =
            body.templatePointersInJSON["id"] != nil || route.bodyNames.contains("password")
        return isKnown ? [body] : [body] + commonBodyNames.map(Self.body)
    }

    static let idWords = [
        "id", "userid", "appuserid", "uid", "customerid", "externalid", "accountid", "user",
    ]

    /// Returns the path and the value of an ID in a response, if the request did not contain the
    /// value.
    static func id(in registrationResponse: JSONValue, sentBody: String) -> (
        JSONPointer, JSONValue
    )? {
        let valuePaths = registrationResponse.valuePaths.filter { pointer in
            let name = (pointer.tokens.last ?? "").lowercased().filter { $0.isLetter }
            return idWords.contains(name)
        }
        for pointer in valuePaths {
            switch registrationResponse[pointer] {
            case .string(let text) where !text.isEmpty && !sentBody.contains(text):
                return (pointer, .string(text))
            case .number(let number): return (pointer, .number(number))
            default: continue
            }
        }
        return nil
    }

    /// Returns the path of a secret in a response that the request did not contain, with which a
    /// phone proves later that it registered the user; nil if there is none.
    static func proof(in response: JSONValue, sentBody: String) -> JSONPointer? {
        response.valuePaths.first { pointer in
            let name = (pointer.tokens.last ?? "").lowercased().filter(\.isLetter)
            guard case .string(let text) = response[pointer], text.count >= 16 else { return false }
            return ["token", "proof", "secret"].contains { name.hasSuffix($0) }
                && !sentBody.contains(text)
        }
    }

    /// Returns a JSON body with a plausible value for each name.
    static func body(_ names: [String]) -> JSONValue {
        var body: JSONObject = [:]
        for name in names where !isTokenOfPhone(name) { body[name] = .string(value(of: name)) }
        return .object(body)
    }

    /// Returns whether a member holds a token of the phone's push service, which a phone without
    /// pushes does not have.
    private static func isTokenOfPhone(_ name: String) -> Bool {
        let lowercaseName = name.lowercased().filter { $0.isLetter }
        return ["playerid", "pushtoken", "fcmtoken", "subscriptionid"]
            .contains(lowercaseName)
    }

    static func value(of name: String) -> String {
        let lowercaseName = name.lowercased().filter { $0.isLetter }
        if idWords.dropLast().contains(lowercaseName) || lowercaseName.hasSuffix("userid") {
            return "{{id}}"
        }
        if lowercaseName.contains("mail") { return "{{id}}@example.com" }
        if lowercaseName.contains("device") { return "{{device}}" }
        if lowercaseName == "platform" || lowercaseName == "os" { return "{{platform}}" }
        if lowercaseName.contains("time") || lowercaseName.hasSuffix("at") {
            return "{{timestamp}}"
        }
        if lowercaseName == "source" { return "{{source}}" }
        if lowercaseName.contains("password") { return "Pw-{{id}}" }
        return lowercaseName.contains("name") || lowercaseName == "account" ? "{{id}}" : "x"
    }

    /// Returns whether a member of a login names the user of the phone before the login, or proves
    /// that the phone belongs to this user.
    static func isOfEarlierUser(_ name: String) -> Bool {
        let words = [
            "current", "anonymous", "previous", "claim", "proof", "devicetoken", "appuser",
        ]
        return words.contains { name.lowercased().filter(\.isLetter).contains($0) }
    }
}
